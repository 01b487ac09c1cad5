#!/usr/bin/env bash
# What heap profiling costs a malloc and its free: procprof off and on (a sample every 512 KiB), beside jemalloc's profiler, gperftools
# (tcmalloc's sampling and its heap profiler) and heaptrack, each against its own allocator without profiling.
#   ROUNDS=5 PAIRS=200000 bench/agent/malloc.sh
set -euo pipefail
# shellcheck source=bench/agent/figures.sh
. "$(dirname "$0")/figures.sh"
gcc -O2 -fno-builtin -pthread -o "$work/malloc" bench/agent/malloc.c
run=("$work/malloc" "${PAIRS:-200000}" 100 1)
threads=("$work/malloc" "${PAIRS:-200000}" 30 4)
jemalloc=$(library_of libjemalloc.so.2) tcmalloc=$(library_of libtcmalloc.so.4)

figure glibc env "${run[@]}"
figure glibc-off env LD_PRELOAD="$library" "$(ours)" "${run[@]}"
figure glibc-on env LD_PRELOAD="$library" "$(ours heap=on)" "${run[@]}"
figure glibc-on-64k env LD_PRELOAD="$library" "$(ours heap=on,heap_interval=65536)" "${run[@]}"
figure threads env "${threads[@]}"
figure threads-off env LD_PRELOAD="$library" "$(ours)" "${threads[@]}"
figure threads-on env LD_PRELOAD="$library" "$(ours heap=on)" "${threads[@]}"
if [ -n "$jemalloc" ]; then
    figure jemalloc env LD_PRELOAD="$jemalloc" "${run[@]}"
    figure jemalloc-off env LD_PRELOAD="$library $jemalloc" "$(ours)" "${run[@]}"
    figure jemalloc-on env LD_PRELOAD="$library $jemalloc" "$(ours heap=on)" "${run[@]}"
    figure jemalloc-prof env LD_PRELOAD="$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:19 "${run[@]}"
    figure jemalloc-prof-64k env LD_PRELOAD="$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:16 "${run[@]}"
fi
if [ -n "$tcmalloc" ]; then
    figure tcmalloc env LD_PRELOAD="$tcmalloc" "${run[@]}"
    figure tcmalloc-off env LD_PRELOAD="$library $tcmalloc" "$(ours)" "${run[@]}"
    figure tcmalloc-on env LD_PRELOAD="$library $tcmalloc" "$(ours heap=on)" "${run[@]}"
    figure tcmalloc-sample env LD_PRELOAD="$tcmalloc" TCMALLOC_SAMPLE_PARAMETER=524288 "${run[@]}"
    figure tcmalloc-heapprofile env LD_PRELOAD="$tcmalloc" HEAPPROFILE="$work/hp" HEAP_PROFILE_ALLOCATION_INTERVAL=0 \
        HEAP_PROFILE_INUSE_INTERVAL=0 "$work/malloc" 20000 5 1
fi
if command -v heaptrack >/dev/null; then
    figure heaptrack heaptrack -o "$work/ht" "$work/malloc" 20000 5 1
fi
measure "${ROUNDS:-5}"

# Goals: off, nothing is added; on, no more is added than jemalloc's own profiler adds to jemalloc at the same interval.
goal_on=$(awk -v on="$(best jemalloc-prof)" -v off="$(best jemalloc)" 'BEGIN { if (on != "" && off != "") printf "%.2f", on - off }')

row() { # TEXT NAME BASE [GOAL]
    local got base
    got=$(best "$2") base=$(best "$3")
    if [ -z "$got" ] || [ -z "$base" ]; then printf '  %-58s %s\n' "$1" "not on this machine"; return; fi
    awk -v text="$1" -v got="$got" -v base="$base" -v goal="${4:-}" 'BEGIN {
        d = got - base; verdict = goal == "" ? "" : sprintf("   goal +%s: %s", goal, d <= goal + 0.15 ? "met" : "MISSED")
        printf "  %-58s %8.2f ns   %+8.2f ns%s\n", text, got, d, verdict }'
}
echo "malloc + free, 32 to 287 bytes, stack of 26 frames: CPU time of the pair, and what was added"
row "glibc" glibc glibc
row "  procprof in the process, heap profiling off" glibc-off glibc 0
row "  procprof on, every 512 KiB" glibc-on glibc "$goal_on"
row "  procprof on, every 64 KiB" glibc-on-64k glibc
row "  heaptrack (every call)" heaptrack glibc
row "glibc, 4 threads" threads threads
row "  procprof off" threads-off threads 0
row "  procprof on, every 512 KiB" threads-on threads "$goal_on"
row "jemalloc" jemalloc jemalloc
row "  procprof's sampler off" jemalloc-off jemalloc 0
row "  procprof's sampler on, every 512 KiB" jemalloc-on jemalloc "$goal_on"
row "  jemalloc prof:true, every 512 KiB" jemalloc-prof jemalloc
row "  jemalloc prof:true, every 64 KiB" jemalloc-prof-64k jemalloc
row "tcmalloc (gperftools)" tcmalloc tcmalloc
row "  procprof off" tcmalloc-off tcmalloc 0
row "  procprof on, every 512 KiB" tcmalloc-on tcmalloc "$goal_on"
row "  TCMALLOC_SAMPLE_PARAMETER, every 512 KiB" tcmalloc-sample tcmalloc
row "  HEAPPROFILE (every call)" tcmalloc-heapprofile tcmalloc

#!/usr/bin/env bash
# What CPU profiling costs: the handler by itself at 30 frames, and the CPU time a program needs for the same work while its profile is
# taken at 100 Hz and at 1 kHz, beside gperftools and async-profiler (preloaded, cstack=dwarf).
#   ROUNDS=5 MILLIONS=300 bench/agent/cpu.sh
set -euo pipefail
# shellcheck source=bench/agent/figures.sh
. "$(dirname "$0")/figures.sh"
gcc -O2 -g -fomit-frame-pointer -pthread -Iinclude -o "$work/cpu" bench/agent/cpu.c -ldl
make --no-print-directory B="$B" "$B/libagent.a" >/dev/null
gcc -std=gnu17 -D_GNU_SOURCE -Isrc -Iinclude -O2 -g -fomit-frame-pointer -pthread -o "$work/handler" bench/agent/handler.c "$B/libagent.a" -lm
run=("$work/cpu" "${MILLIONS:-300}")
gperftools=$(library_of libprofiler.so.0)
async=$(find "${XDG_CACHE_HOME:-$HOME/.cache}/procprof" -name libasyncProfiler.so 2>/dev/null | head -1)

for path in timer event; do
    for place in hot spread; do figure "handler-$path-$place" "$work/handler" $path $place; done
done
figure sleep "$work/cpu" idle
figure sleep-idle env LD_PRELOAD="$library" "$(ours)" "$work/cpu" idle
figure plain env "${run[@]}"
figure idle env LD_PRELOAD="$library" "$(ours)" "${run[@]}"
for hz in 100 1000; do
    figure "empty-$hz" "${run[@]}" empty "$hz"
    figure "events-$hz" env LD_PRELOAD="$library" "$(ours)" "${run[@]}" "$hz"
    figure "timers-$hz" env LD_PRELOAD="$library" "$(ours perf=0)" "${run[@]}" "$hz"
    figure "events-own-$hz" env LD_PRELOAD="$library" "$(ours)" "${run[@]}" "$hz" own
    figure "timers-own-$hz" env LD_PRELOAD="$library" "$(ours perf=0)" "${run[@]}" "$hz" own
    [ -z "$gperftools" ] || figure "gperftools-$hz" env LD_PRELOAD="$gperftools" CPUPROFILE="$work/prof" CPUPROFILE_FREQUENCY="$hz" "${run[@]}"
    [ -z "$gperftools" ] || figure "gperftools-threads-$hz" env LD_PRELOAD="$gperftools" CPUPROFILE="$work/prof" CPUPROFILE_FREQUENCY="$hz" \
        CPUPROFILE_PER_THREAD_TIMERS=1 "${run[@]}"
    [ -z "$async" ] || figure "async-$hz" env LD_PRELOAD="$async" \
        ASPROF_COMMAND="start,event=cpu,cstack=dwarf,interval=$((1000000000 / hz)),file=$work/async.collapsed" "${run[@]}"
done
measure "${ROUNDS:-5}"

echo "the handler by itself, 30 frames (delivery of the signal not counted; goal 1000 ns)"
for path in event timer; do
    for place in hot spread; do
        text="$([ $path = event ] && echo "perf event" || echo "CPU timer"), $([ $place = hot ] && echo "always the same stack" || echo "64 stacks in turn")"
        awk -v text="$text" -v got="$(best "handler-$path-$place")" 'BEGIN {
            printf "  %-58s %8.0f ns   goal 1000: %s\n", text, got, got == "" ? "no figure" : got <= 1000 ? "met" : "MISSED" }'
    done
done
echo "a process that sleeps: its CPU time a second"
for name in sleep sleep-idle; do
    awk -v text="$([ $name = sleep ] && echo plain || echo "  procprof in the process, nothing asked")" -v got="$(best $name)" 'BEGIN { printf "  %-58s %8.0f us\n", text, got }'
done
echo "the library's own threads while a profile is taken (they look for new threads; with CPU timers also for late ones)"
for hz in 100 1000; do
    for way in events timers; do
        awk -v text="  $hz Hz, $way" -v got="$(best "$way-own-$hz")" 'BEGIN { printf "  %-58s %8.0f us a second   %.2f %% of a CPU\n", text, got, got / 1e4 }'
    done
done
row() { # TEXT NAME
    local got base
    got=$(best "$2") base=$(best plain)
    if [ -z "$got" ]; then printf '  %-58s %s\n' "$1" "not on this machine"; return; fi
    awk -v text="$1" -v got="$got" -v base="$base" 'BEGIN { printf "  %-58s %8.3f ms   %+7.2f %%\n", text, got, 100 * (got / base - 1) }'
}
echo "CPU time for a million rounds of work, 30 frames deep, and what was added"
row "plain" plain
row "  procprof in the process, nothing asked" idle
for hz in 100 1000; do
    row "  $hz Hz: a timer with an empty handler" "empty-$hz"
    row "  $hz Hz: procprof, perf events where allowed" "events-$hz"
    row "  $hz Hz: procprof, CPU timers" "timers-$hz"
    row "  $hz Hz: gperftools" "gperftools-$hz"
    row "  $hz Hz: gperftools, a timer for each thread" "gperftools-threads-$hz"
    row "  $hz Hz: async-profiler, cstack=dwarf" "async-$hz"
done
echo "  (timers deliver at the kernel's tick, 250 Hz here as a rule; perf events and async-profiler's deliver every sample)"

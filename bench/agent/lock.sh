#!/usr/bin/env bash
# What lock profiling costs: a lock nobody else wants, and the throughput of one that four threads want.
#   ROUNDS=15 bench/agent/lock.sh
set -euo pipefail
# shellcheck source=bench/agent/figures.sh
. "$(dirname "$0")/figures.sh"
gcc -O2 -pthread -o "$work/lock" bench/agent/lock.c
gcc -O2 -pthread -o "$work/steps" bench/agent/steps.c
free=("$work/lock" free 200000 20) # short, and often: a process may meet a slow moment of the machine, or a fast one
busy=("$work/lock" busy 400)
figure steps env "$work/steps" lock
figure steps-try env "$work/steps" trylock
figure steps-off env LD_PRELOAD="$library" "$(ours)" "$work/steps" lock
figure steps-on env LD_PRELOAD="$library" "$(ours contention=on)" "$work/steps" lock
figure free env "${free[@]}"
figure try env "$work/lock" try 200000 20
figure free-off env LD_PRELOAD="$library" "$(ours)" "${free[@]}"
figure free-on env LD_PRELOAD="$library" "$(ours contention=on)" "${free[@]}"
figure busy env "${busy[@]}"
figure busy-off env LD_PRELOAD="$library" "$(ours)" "${busy[@]}"
figure busy-on env LD_PRELOAD="$library" "$(ours contention=on)" "${busy[@]}"
measure "${ROUNDS:-15}"

row() {
    awk -v text="$1" -v got="$(best "$2")" -v base="$(best "$3")" -v goal="${4:-}" 'BEGIN {
        d = got - base; verdict = goal == "" ? "" : sprintf("   goal +%s: %s", goal, d <= goal + 0.15 ? "met" : "MISSED")
        printf "  %-58s %8.2f ns   %+8.2f ns%s\n", text, got, d, verdict }'
}
rate() { awk -v text="$1" -v got="$(best "$2" -rn)" -v base="$(best "$3" -rn)" 'BEGIN {
    printf "  %-58s %8.2f M/s  %+8.1f %%\n", text, got, 100 * (got / base - 1) }'; }
echo "pthread_mutex_lock + unlock, free: CPU time of the pair, and what was added"
row "plain" free free
row "  procprof in the process, lock profiling off" free-off free 0
row "plain, trylock instead of lock" try free
row "  procprof on, which tries first: beside that" free-on try 0
echo "the same in instructions, counted one by one"
instructions() { printf '  %-58s %8.2f\n' "$1" "$(best "$2")"; }
instructions "plain" steps
instructions "  procprof off" steps-off
instructions "plain, trylock instead of lock" steps-try
instructions "  procprof on" steps-on
echo "one mutex, four threads: critical sections a second (varies by itself: who gets the lock is chance)"
rate "plain" busy busy
rate "  procprof off" busy-off busy
rate "  procprof on" busy-on busy

# shellcheck shell=bash
# Sourced by the benchmarks of this folder: every configuration is run several times, in turn, so that a busy moment of the machine
# meets all; the best run of each counts.
#
#     figure NAME COMMAND...      adds a configuration (its last line of output is the number)
#     measure ROUNDS              runs them all
#     best NAME                   its figure;   row NAME BASE UNIT   a line of the table, with what it adds to BASE
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
B=$(realpath "${B:-build}")
library=$B/libprocprof.so
[ -e "$library" ] || { echo "$library is not built: run make" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A commands results
names=()

figure() { local name=$1; shift; names+=("$name"); commands[$name]=$(printf '%q ' "$@"); }

measure() {
    local round name got
    for ((round = 0; round < $1; round++)); do
        for name in "${names[@]}"; do
            got=$(cd "$work" && eval "timeout 120 ${commands[$name]}" 2>"$work/err" </dev/null | grep -E '^[0-9.]+$' | tail -1) || true
            [ -n "$got" ] || { echo "$name: no figure: $(tail -2 "$work/err")" >&2; continue; }
            results[$name]+=" $got"
        done
    done
}

best() { tr ' ' '\n' <<<"${results[$1]:-}" | grep . | sort "${2:--n}" | head -1; }

# The library of a package, or nothing.
library_of() { find /usr/lib -name "$1" 2>/dev/null | head -1; }

ours() { echo "PROCPROF=listen=127.0.0.1:0${1:+,$1}"; }

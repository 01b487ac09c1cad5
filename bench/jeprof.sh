#!/usr/bin/env bash
# jeprof --text on jemalloc dumps of 12.5k, 25k and 50k stacks, and ours beside it: the same rows, the time of each.
#   bench/jeprof.sh            STACKS="50000" for one size
set -euo pipefail
cd "$(dirname "$0")/.."
ours=$(realpath "${B:-build}/procprof")
command -v jeprof >/dev/null || { echo "jeprof: not installed (Debian package: libjemalloc-dev), nothing to compare with"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat >make_dump.py <<'PYTHON'
"""A program of many functions, and dumps with stacks through them: make_dump.py STACKS..."""
import random, subprocess, sys
n_functions, rng = 4000, random.Random(1)
with open("prog.c", "w") as f:
    f.write("volatile int sink;\n")
    for i in range(n_functions):
        f.write(f"__attribute__((noinline)) int table_scan_operator_{i}(int x) {{ sink += x; sink ^= {i}; sink += x * {i}; return sink; }}\n")
    f.write("int main(void) { return " + " + ".join(f"table_scan_operator_{i}({i})" for i in range(0, n_functions, 50)) + "; }\n")
subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-o", "prog", "prog.c"], check=True)
functions = []
for line in subprocess.run(["nm", "-S", "prog"], check=True, capture_output=True, text=True).stdout.splitlines():
    part = line.split()
    if len(part) == 4 and part[3].startswith("table_scan_operator_"):
        functions.append((int(part[0], 16), int(part[1], 16)))
low, high = min(f[0] for f in functions) & ~0xfff, max(f[0] + f[1] for f in functions) + 0x1000 & ~0xfff
for n_stacks in map(int, sys.argv[1:]):
    with open(f"dump.{n_stacks}", "w") as f:
        f.write(f"heap_v2/524288\n  t*: {n_stacks}: {n_stacks * 4096} [0: 0]\n  t0: {n_stacks}: {n_stacks * 4096} [0: 0]\n")
        for _ in range(n_stacks):
            stack = []
            at = rng.randrange(n_functions)
            for _ in range(rng.randrange(15, 40)):  # callers lie near each other, as in a real call graph
                start, size = functions[at]
                stack.append(hex(start + 4 + rng.randrange(4) * 9 % size))
                at = (at * 7 + rng.randrange(8)) % n_functions
            n, size = rng.randrange(1, 50), rng.choice((64, 512, 4096, 1 << 20))
            f.write("@ " + " ".join(stack) + f"\n  t*: {n}: {n * size} [0: 0]\n  t0: {n}: {n * size} [0: 0]\n")
        f.write(f"\nMAPPED_LIBRARIES:\n{low:08x}-{high:08x} r-xp {low - 0x400000:08x} 08:01 1  {sys.path[0]}/prog\n")
PYTHON
# shellcheck disable=SC2086
python3 make_dump.py ${STACKS:-12500 25000 50000}
now() { date +%s.%N; }
echo
echo "jeprof --text, stacks of 15 to 39 frames, 4000 functions"
printf '%10s %10s %12s %12s %8s %10s\n' stacks MB jeprof ours ratio 'our RSS'
for dump in dump.*; do
    # ours several times: it is short; the first run warms the file cache for both
    "$ours" jeprof --text ./prog "$dump" >ours.txt 2>/dev/null
    best=999
    for _ in 1 2 3 4 5; do
        a=$(now)
        "$ours" jeprof --text ./prog "$dump" >ours.txt 2>/dev/null
        b=$(now)
        best=$(awk -v a="$a" -v b="$b" -v best="$best" 'BEGIN { t = b - a; print t < best ? t : best }')
    done
    rss=$(python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$ours" jeprof --text ./prog "$dump")
    a=$(now)
    jeprof --text ./prog "$dump" >peer.txt 2>/dev/null
    b=$(now)
    # Perl adds up in another order in every run: rows of equal weight may change places, and with them the running sum.
    for f in peer ours; do awk '{ $3 = ""; print }' $f.txt | sort >$f.rows; done
    same="the same rows"
    cmp -s peer.rows ours.rows || same="OTHER ROWS: $( (diff peer.rows ours.rows || true) | grep -c '^[<>]') lines"
    awk -v n="${dump#dump.}" -v mb="$(du -m "$dump" | cut -f1)" -v peer="$(awk -v a="$a" -v b="$b" 'BEGIN { print b - a }')" -v ours="$best" -v rss="$rss" -v same="$same" \
        'BEGIN { printf "%10d %10d %10.2f s %10.3f s %7.0fx %7d MB  %s\n", n, mb, peer, ours, peer / ours, rss / 1024, same }'
done

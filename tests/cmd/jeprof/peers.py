"""What the differential tests share: TAP, running a tool, its table and its graph as data."""
import difflib, os, pathlib, re, shutil, subprocess, sys, tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent))
from testlib import go_pprof

build = pathlib.Path(os.environ.get("B", "build")).resolve()
procprof = str(build / "procprof")


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, name, detail=""):
        self.n += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.n} - {name}", flush=True)
        if not good:
            for line in str(detail).splitlines()[:40]:
                print("#   " + line)

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # skip {why}", flush=True)

    def done(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.failed else 0)


def skip_all(why):
    print(f"1..0 # skip {why}")
    sys.exit(0)


def run(argv, cwd=None, stdin=None, env=None, timeout=120):
    merged = dict(os.environ, LC_ALL="C.UTF-8", **(env or {}))
    done = subprocess.run(argv, capture_output=True, cwd=cwd, input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                          env=merged, timeout=timeout)
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def compile_program(source, output, *flags):
    compiler = "g++" if source.endswith(".cc") else "gcc"
    rc, out, err = run([compiler, "-g", "-O0", "-fno-inline", "-o", output, str(here / source), *flags])
    if rc:
        skip_all(f"{source} does not build here: {err.splitlines()[0] if err else rc}")


NM = """#!/bin/bash
answer="$NM_ANSWERS/${*//\\//%}"
[ -e "$answer.status" ] || { nm "$@" >"$answer" 2>"$answer.errors"; echo $? >"$answer.status"; }
cat "$answer"
cat "$answer.errors" >&2
exit "$(<"$answer.status")"
"""


def remember_nm(folder):
    """Makes the Perl tools use an nm that stores its answers in files. The tools ask the same questions for each report, and nm takes half of their time."""
    os.mkdir(f"{folder}/nm-answers")
    tool = pathlib.Path(folder, "remembering-nm")
    tool.write_text(NM)
    tool.chmod(0o755)
    tools = f"nm:{tool},{os.path.dirname(shutil.which('nm'))}/"
    os.environ.update(NM_ANSWERS=f"{folder}/nm-answers", JEPROF_TOOLS=tools, PPROF_TOOLS=tools)


ROW = re.compile(r"\s*(-?[\d.]+)\s+(\S+)\s+(\S+)\s+(-?[\d.]+)\s+(\S+)\s(.*)")


def table(text):
    """(total line, {name: (flat, flat%, cum, cum%)}) of a --text report."""
    total, rows = "", {}
    for line in text.splitlines():
        found = ROW.fullmatch(line)
        if line.startswith("Total"):
            total = line
        elif found:
            rows[found[6]] = (found[1], found[2], found[4], found[5])
    return total, rows


def graph(text):
    """(title and legend, {label: attributes}, {(from label, to label): attributes}) of a DOT file."""
    label_of, nodes, edges, head = {}, {}, {}, []
    for line in text.splitlines():
        node = re.fullmatch(r'(N\d+) \[label="(.*)",(shape=.*)\];', line)
        edge = re.fullmatch(r"(N\d+) -> (N\d+) \[(.*)\];", line)
        if node:
            label_of[node[1]] = node[2]
            nodes[node[2]] = node[3]
        elif edge:
            edges[(label_of[edge[1]], label_of[edge[2]])] = edge[3]
        else:
            head.append(line)
    return head, nodes, edges


def difference(a, b):
    if isinstance(a, dict):
        return "\n".join(f"{k}: peer {a.get(k)}, ours {b.get(k)}" for k in sorted(set(a) | set(b), key=str) if a.get(k) != b.get(k))
    if isinstance(a, str):
        a, b = a.splitlines(), b.splitlines()
    return "\n".join(difflib.unified_diff(a, b, "peer", "ours", lineterm="", n=0))

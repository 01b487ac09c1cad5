"""What the test files in Python share: cases that run several at a time, and Java classes that are compiled once."""
import fcntl
import glob
import hashlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback

BUILD = pathlib.Path(os.environ.get("B", pathlib.Path(__file__).resolve().parent.parent / "build")).resolve()


class Skip(Exception):
    """Raised by a case that cannot run here; the text says why."""


def _run_in_child(function, clean_up, output, why_skipped):
    """The child's whole life: runs the case with its output in a file and exits with 0 when the case passed."""
    os.dup2(output.fileno(), 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that clean_up() still runs
    passed = False
    try:
        function()
        passed = True
    except Skip as why:
        os.write(why_skipped.fileno(), str(why).encode() or b"no reason")
        passed = True
    except BaseException:  # noqa: BLE001 a case may fail in any way
        for line in traceback.format_exc().splitlines():
            print("# " + line)
    finally:
        clean_up()
        sys.stdout.flush()
        os._exit(0 if passed else 1)


def run_cases(cases, at_a_time, clean_up):
    """Runs the cases, a list of (name, function), each in a process of its own, and prints TAP. The words of the command line choose cases by name. Exits.

    Cases mostly wait for servers and captures, so several run at a time. clean_up() runs in the child after its case.
    """
    words = sys.argv[1:]
    chosen = [c for c in cases if not words or any(w in c[1].__name__ for w in words)]
    print(f"1..{len(chosen)}", flush=True)
    left, running, failed = list(enumerate(chosen, 1)), {}, 0
    while left or running:
        while left and len(running) < at_a_time:
            number, (name, function) = left.pop(0)
            output, why_skipped = tempfile.TemporaryFile(), tempfile.TemporaryFile()
            pid = os.fork()
            if pid == 0:
                _run_in_child(function, clean_up, output, why_skipped)
            running[pid] = number, name, output, why_skipped
        pid, status = os.wait()
        if pid not in running:
            continue
        number, name, output, why_skipped = running.pop(pid)
        text, why = (os.pread(f.fileno(), 1 << 22, 0).decode(errors="replace") for f in (output, why_skipped))
        failed += status != 0
        sys.stdout.write(text + ("" if text.endswith("\n") or not text else "\n"))
        print(("not ok" if status else "ok") + f" {number} - {name}" + (f" # skip {why}" if why else ""), flush=True)
    sys.exit(1 if failed else 0)


def java_classes(javac, *sources):
    """Compiles Java sources, each the text of a public class or a path, once for all tests; returns the folder with the classes."""
    texts = [s.read_text() if isinstance(s, pathlib.Path) else s for s in sources]
    folder = BUILD / "tests" / "classes" / hashlib.sha256("\0".join([str(javac), *texts]).encode()).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=folder.parent) as own:
                files = []
                for text, source in zip(texts, sources):
                    name = source.name if isinstance(source, pathlib.Path) else text.split("public class ")[1].split()[0] + ".java"
                    files.append(pathlib.Path(own) / name)
                    files[-1].write_text(text)
                subprocess.run([str(javac), "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-g", "-d", f"{own}/classes", *files], check=True)
                os.chmod(f"{own}/classes", 0o755)
                shutil.move(f"{own}/classes", folder)
    return folder


def go_pprof():
    """The path of the program that `go tool pprof` runs, or None without Go. Newer Go builds it here. `go tool` spends 0.3 s of CPU time before it starts it."""
    if not shutil.which("go"):
        return None
    found = subprocess.run(["go", "tool", "-n", "pprof"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=800).stdout.strip()
    return found if os.path.exists(found) else None


# ---- a JVM that async-profiler records

def recording_of(pid):
    """The file into which async-profiler records this JVM for procprof, or None when no session has begun."""
    return next(iter(glob.glob(f"/tmp/.procprof-jvm-{pid}-*/recording.jfr")), None)


def has_closed_part(pid):
    """Whether the recording has a part that is whole, which stays when the JVM ends or hangs. async-profiler closes one every 5 seconds."""
    try:
        with open(recording_of(pid) or "/dev/null", "rb") as f:
            head = f.read(16)
    except OSError:
        return False
    return len(head) == 16 and struct.unpack(">Q", head[8:])[0] != 1 << 30  # that size stands for "not closed yet"


def cpu_seconds(pid):
    """User and system time of the process until now."""
    with open(f"/proc/{pid}/stat") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

"""For tests that preload libprocprof into a real program: start it, ask it over HTTP, end it; and TAP.

    with Folder() as folder, Host(["redis-server", ...], folder, settings="heap=on") as host:
        check("the profiler is on", "on" in host.get("/pprof/heap/status"))
    done()
"""
import os, pathlib, re, shutil, signal, subprocess, sys, tempfile, time, urllib.error, urllib.request

BUILD = pathlib.Path(os.environ.get("B", "build")).resolve()
LIBRARY = BUILD / "libprocprof.so"
n_done = n_failed = 0


def check(what, holds, *details):
    global n_done, n_failed
    n_done += 1
    n_failed += not holds
    print(f"{'ok' if holds else 'not ok'} {n_done} - {what}", flush=True)
    if not holds:
        for d in details:
            print("\n".join("# " + line for line in str(d).splitlines()[:30]), flush=True)
    return holds


def skip(what, why):
    global n_done
    n_done += 1
    print(f"ok {n_done} - {what} # skip {why}", flush=True)


def done():
    print(f"1..{n_done}")
    sys.exit(1 if n_failed else 0)


def near(got, want, tolerance):
    return want != 0 and abs(got / want - 1) <= tolerance


def run(arguments, timeout=60, **more):
    """Output (both streams) of a program; a failure is part of it."""
    try:
        r = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, timeout=timeout, **more)
        text = r.stdout.decode(errors="replace")
        return text if r.returncode == 0 else text + f"\n[exit status {r.returncode}]"
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace") + "\n[took too long]"


def compile_program(folder, name, source, *flags, compiler="gcc"):
    """A program from source text; its path."""
    file = folder / (name + (".c" if compiler == "gcc" else ".cc"))
    file.write_text(source)
    out = folder / name
    text = run([compiler, "-O2", "-g", "-o", out, file, *flags, "-pthread"])
    if not out.exists():
        sys.exit(f"# cannot build {name}: {text}")
    return out


class Folder:
    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="procprof-test."))
        os.environ["PPROF_TMPDIR"] = os.environ["JEPROF_TMPDIR"] = str(self.path / "fetched")  # where the clients keep copies
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Host:
    """A program with libprocprof in it. Its standard output and error go to `log`."""

    def __init__(self, arguments, folder, settings="", env={}, preload=True, stdin=subprocess.DEVNULL, cwd=None):
        self.port_file = folder / f"port.{time.monotonic_ns()}"
        self.log_file = folder / f"log.{time.monotonic_ns()}"
        wanted = {"PROCPROF": f"listen=127.0.0.1:0,portfile={self.port_file}" + ("," + settings if settings else "")}
        if preload:
            wanted["LD_PRELOAD"] = " ".join(filter(None, [str(LIBRARY), env.get("LD_PRELOAD")]))
        full = dict(os.environ, **{**env, **wanted})
        self.process = subprocess.Popen([str(a) for a in arguments], stdout=open(self.log_file, "wb"), stderr=subprocess.STDOUT,
                                        stdin=stdin, env=full, cwd=cwd or folder)
        self.url = None
        for _ in range(1200):
            if self.port_file.exists() and self.port_file.read_text().strip():
                self.url = f"http://127.0.0.1:{self.port_file.read_text().strip()}"
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        print(f"# {arguments[0]} did not open its port (status {self.process.poll()}):\n# " + self.log()[-2000:])

    def log(self):
        return self.log_file.read_text(errors="replace")

    def fetch(self, path, agent="curl/8", data=None):
        """(status, bytes); agent "Go-http-client/1.1" gets what Go's tool gets. Waits out 409."""
        for _ in range(100):
            request = urllib.request.Request(self.url + path, data=data, headers={"User-Agent": agent})
            try:
                with urllib.request.urlopen(request, timeout=60) as r:
                    return r.status, r.read()
            except urllib.error.HTTPError as e:
                if e.code != 409:
                    return e.code, e.read()
                time.sleep(0.1)
        return 409, b""

    def get(self, path):
        return self.fetch(path)[1].decode(errors="replace")

    def is_alive(self):
        return self.process.poll() is None

    def end(self, number=signal.SIGTERM, timeout=20):
        """Exit status after a signal (None: it had to be killed)."""
        if self.is_alive():
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def heap_totals(text):
    """The header of legacy heap text: (objects in use, bytes in use, objects allocated, bytes allocated)."""
    m = re.match(r"heap profile:\s*(-?\d+):\s*(-?\d+) \[\s*(\d+):\s*(\d+)\]", text)
    return tuple(int(x) for x in m.groups()) if m else (0, 0, 0, 0)


def heap_records(text):
    """[(values, addresses)] of legacy heap text."""
    found = []
    for m in re.finditer(r"^\s*(-?\d+):\s*(-?\d+) \[\s*(\d+):\s*(\d+)\] @((?: 0x[0-9a-f]+)*)$", text, re.M):
        found.append((tuple(int(m[i]) for i in range(1, 5)), [int(a, 16) for a in m[5].split()]))
    return found


def top(text, column=0):
    """{function: value} from `go tool pprof -top -unit=B` or Perl --text; column 0 flat, 1 cumulative."""
    rows = {}
    for line in text.splitlines():
        m = re.match(r"\s*(-?[\d.]+)([A-Za-z]*)\s+-?[\d.]+%\s+-?[\d.]+%\s+(-?[\d.]+)([A-Za-z]*)\s+-?[\d.]+%\s+(.+)", line)
        if m:
            rows[m[5].replace(" (inline)", "").strip()] = float(m[1] if column == 0 else m[3])
    return rows


def by_function(host, path="/pprof/heap"):
    """{function: values summed over the stacks it is on} of a legacy heap profile, names from the host itself."""
    records = heap_records(host.get(path))
    addresses = sorted({a - 1 for _, stack in records for a in stack})
    reply = host.fetch("/pprof/symbol", data="+".join(f"{a:#x}" for a in addresses).encode())[1].decode() if addresses else ""
    name = {int(line.split("\t")[0], 16): line.split("\t")[1] for line in reply.splitlines() if "\t" in line}
    sums = {}
    for values, stack in records:
        for function in {name.get(a - 1) for a in stack}:
            sums[function] = tuple(a + b for a, b in zip(sums.get(function, (0, 0, 0, 0)), values))
    return sums

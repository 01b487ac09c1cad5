"""What the JVM tests share: TAP, finding JDKs, starting a Java program, running procprof."""
import fcntl, glob, os, pathlib, re, shutil, signal, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from testlib import BUILD, Skip, cpu_seconds, has_closed_part, java_classes, run_cases

PROCPROF = str(BUILD / "procprof")
WORK = None  # The folder of the running case.
SHARED = None  # The folder of all cases of the file, for made_once().

_cases = []


def test(function):
    _cases.append(function)
    return function


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def _with_own_folder(case):
    """The case as it runs in a process of its own: WORK, in this module and in the test's, is a new folder."""
    def run():
        global WORK
        WORK = sys.modules["__main__"].WORK = pathlib.Path(tempfile.mkdtemp(prefix="procprof-jvm-test-"))
        case()
    run.__name__ = case.__name__
    return run


def _clean_up():
    for java in list(Java.running):
        java.end()
    shutil.rmtree(WORK, ignore_errors=True)


def main(at_a_time=3):
    named = [(c.__name__ + (": " + c.__doc__.strip().splitlines()[0] if c.__doc__ else ""), _with_own_folder(c)) for c in _cases]
    with tempfile.TemporaryDirectory(prefix="procprof-jvm-test-") as folder:
        global SHARED
        SHARED = pathlib.Path(folder)
        run_cases(named, at_a_time, _clean_up)


def made_once(name, make):
    """The file NAME, which make(path) writes for the first case that needs it; the other cases wait for it and share it."""
    path = SHARED / name
    with open(SHARED / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            make(WORK / name)
            shutil.move(WORK / name, path)
    return path


def jdks():
    """{major version: home} of every JDK (with a java program) on this machine, oldest first."""
    found = {}
    homes = glob.glob("/usr/lib/jvm/*") + glob.glob("/opt/*jdk*") + [os.environ.get("JAVA_HOME", "")]
    for home in sorted(set(homes)):
        java = pathlib.Path(home) / "bin" / "java"
        release = pathlib.Path(home) / "release"
        if not home or os.path.islink(home) or not java.exists() or not release.exists():
            continue
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text())
        if version:
            found.setdefault(int(version[1]), home)
    return dict(sorted(found.items()))


def wait_for(what, message, javas=(), timeout=300):
    """Until what() is true; the JVMs work meanwhile."""
    deadline = time.time() + timeout
    while not what():
        check(time.time() < deadline, message)
        for java in javas:
            java.work("cpu 20")
        time.sleep(0.1)


def need_jdk(at_least=0):
    for major, home in jdks().items():
        if major >= at_least:
            return home
    raise Skip(f"no JDK {at_least or ''} on this machine".replace("  ", " "))


def compile_java(name):
    """The folder with the classes of tests/collect/java/NAME.java, which the oldest JDK that has a compiler compiles once."""
    for home in jdks().values():
        javac = pathlib.Path(home) / "bin" / "javac"
        if javac.exists():
            return java_classes(javac, HERE / "java" / f"{name}.java")
    raise Skip("no javac on this machine")


class Java:
    """A running Java program of tests/collect/java; ready once it has printed "ready"."""
    running = []

    def __init__(self, name, *arguments, home=None, options=(), user=None, cwd=None, wait=True, classpath=None, main=None):
        classpath = classpath or compile_java(name)
        home = home or need_jdk()
        self.stdout = tempfile.TemporaryFile()
        extra = {"user": user, "group": user} if user is not None else {}
        self.process = subprocess.Popen(
            [f"{home}/bin/java", *options, "-cp", str(classpath), main or name, *map(str, arguments)],
            stdin=subprocess.PIPE, stdout=self.stdout, stderr=subprocess.STDOUT, cwd=cwd or WORK, **extra)
        self.pid = self.process.pid
        Java.running.append(self)
        deadline = time.time() + 90
        while wait and "ready" not in self.output():
            if self.process.poll() is not None or time.time() > deadline:
                raise AssertionError(f"the Java program did not start: {self.output()}")
            time.sleep(0.02)

    def output(self):
        self.stdout.flush()
        return os.pread(self.stdout.fileno(), 1 << 20, 0).decode(errors="replace")

    def alive(self):
        return self.process.poll() is None

    def end(self):
        if self in Java.running:
            Java.running.remove(self)
        if self.alive():
            try:
                self.process.send_signal(signal.SIGCONT)
                self.process.kill()
            except ProcessLookupError:
                pass
        self.process.wait()

    def say(self, text):
        self.process.stdin.write((text + "\n").encode())
        self.process.stdin.flush()

    def files(self):
        """Descriptors the JVM has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))


    def work(self, what, timeout=180):
        """Has a Work program do something, and returns the truth it tells: {name: number}."""
        before = self.output().count("done ")
        self.say("go " + what)
        deadline = time.time() + timeout
        while self.output().count("done ") == before:
            check(self.alive() and time.time() < deadline, "the Java program did not finish", what, self.output())
            time.sleep(0.02)
        last = self.output().split("done ")[-1].splitlines()[0] if self.output().split("done ")[-1].strip() else ""
        return {k: int(v) for k, v in (pair.split("=") for pair in last.split())}


class Collector:
    """procprof collect --jvm in the background; it samples once this is made."""

    def __init__(self, java, *options, duration=120, env=None, wait=True):
        self.process = subprocess.Popen(
            [PROCPROF, "collect", "--jvm", str(getattr(java, "pid", java)), "--duration", str(duration), *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL, cwd=WORK,
            env=dict(os.environ, **(env or {})))
        self.errors = ""
        while wait:
            line = self.process.stderr.readline()
            self.errors += line
            if line.startswith("sampling JVM"):
                return
            if not line:
                self.process.wait()
                raise AssertionError(f"collect did not start: {self.errors}")

    def end(self, signal_number=signal.SIGINT):
        """Ends it early; what it has is written. Returns what it said on standard error."""
        if signal_number:
            self.process.send_signal(signal_number)
        try:
            out, errors = self.process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.errors += errors
        check(self.process.returncode == 0, self.process.returncode, self.errors)
        return self.errors


def left_behind(java):
    """Files of ours in /tmp for this JVM, and descriptors it still has on them."""
    files = glob.glob(f"/tmp/.procprof-jvm-{java.pid}-*")
    for fd in os.listdir(f"/proc/{java.pid}/fd") if java.alive() else []:
        try:
            target = os.readlink(f"/proc/{java.pid}/fd/{fd}")
        except OSError:
            continue
        if "procprof" in target and "procprof-jvm-test" not in target:
            files.append(target)
    return files


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "procprof"


def async_profiler_library():
    return os.environ.get("PROCPROF_ASYNC_PROFILER") or str(cache() / "async-profiler-4.5" / "libasyncProfiler.so")


def need_async_profiler():
    need_jdk()
    if not os.path.exists(async_profiler_library()):
        raise Skip("async-profiler is not in the cache (tools/setup gets it)")


def collapsed(profile, sample, *options):
    """{stack: value} of one sample type; frames root first, joined by ';'."""
    done = procprof("convert", "--to", "collapsed", "-s", sample, *options, profile)
    check(done.returncode == 0, done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        stack, value = line.rsplit(" ", 1)
        found[stack] = found.get(stack, 0) + int(value)
    return found


def share(stacks, name, of=""):
    """What part of the stacks with a frame `of` has a frame `name`."""
    whole = sum(v for s, v in stacks.items() if of in s)
    return sum(v for s, v in stacks.items() if of in s and name in s.split(";")) / whole if whole else 0


def tries(times=3):
    """A measurement may fail on a busy machine: it is repeated, and the last failure counts."""
    def wrap(function):
        def again(*arguments):
            for left in range(times - 1, -1, -1):
                try:
                    return function(*arguments)
                except AssertionError as why:
                    if not left:
                        raise
                    print(f"# again: {why}")
        again.__name__, again.__doc__ = function.__name__, function.__doc__
        return again
    return wrap


def procprof(*arguments, timeout=120, user=None, program=None, env=None):
    extra = {"user": user, "group": user} if user is not None else {}
    return subprocess.run([program or PROCPROF, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=timeout, stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})), **extra)


def is_root():
    return os.geteuid() == 0


def public_copy():
    """procprof where another user can run it."""
    os.chmod(WORK, 0o755)
    target = WORK / "procprof"
    if not target.exists():
        shutil.copy(PROCPROF, target)
        os.chmod(target, 0o755)
    return str(target)

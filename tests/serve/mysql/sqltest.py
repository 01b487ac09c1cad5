"""What the tests of SQL share: a server, real processes to look at, Debian's mariadb client, and a client of
a few lines that speaks the protocol byte by byte (for what a good client never does)."""
import atexit, hashlib, os, pathlib, re, shutil, signal, socket, struct, subprocess, sys, tempfile, time

build = pathlib.Path(os.environ.get("B", "build")).resolve()
root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "tests"))
from testlib import java_classes


# ---- TAP ----

class Tap:
    def __init__(self):
        self.n = self.bad = 0

    def ok(self, good, name, *detail):
        self.n += 1
        print(("ok" if good else "not ok"), self.n, "-", name)
        if not good:
            self.bad += 1
            for d in detail:
                for line in str(d)[:3000].splitlines():
                    print("#", line)
        sys.stdout.flush()
        return good

    def same(self, got, want, name):
        return self.ok(got == want, name, f"got:  {got!r}", f"want: {want!r}")

    def has(self, text, part, name):
        return self.ok(part in text, name, f"got:  {text!r}", f"want in it: {part!r}")

    def matches(self, text, pattern, name):
        return self.ok(re.search(pattern, text) is not None, name, f"got:  {text!r}", f"want: {pattern}")

    def skip(self, name, why):
        self.n += 1
        print(f"ok {self.n} - {name} # skip {why}")

    def end(self):
        print(f"1..{self.n}")
        sys.exit(1 if self.bad else 0)


def skip_all(why):
    print(f"1..0 # skip {why}")
    sys.exit(0)


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            skip_all(f"no {p}")


# ---- processes ----

folder = pathlib.Path(tempfile.mkdtemp(prefix="procprof-sql-"))
running = []


def clean():
    for p in reversed(running):
        if p.poll() is None:
            p.kill()
            p.wait()
    shutil.rmtree(folder, ignore_errors=True)


atexit.register(clean)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def start(arguments, env=None, name="process", **more):
    log = open(folder / f"{name}.log", "ab")
    p = subprocess.Popen([str(a) for a in arguments], env=dict(os.environ, **(env or {})), stderr=log,
                         stdin=subprocess.PIPE, **{"stdout": log, **more})
    running.append(p)
    return p


def stop(p, how=signal.SIGTERM):
    if p.poll() is None:
        p.send_signal(how)
    p.wait(20)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(condition, seconds=20, what="it"):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = condition()
        if got:
            return got
        time.sleep(0.02)
    raise SystemExit(f"# {what} did not come within {seconds} s; see logs:\n" + logs())


def logs():
    return "\n".join(f"# {f.name}: {line}" for f in folder.glob("*.log")
                     for line in f.read_text(errors="replace").splitlines()[-15:])


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Preloaded:
    """A process with libprocprof in it; its endpoints are at self.port."""

    def __init__(self, arguments, name, env=None, settings=""):
        for _ in range(5):  # somebody else may take the port between asking for it and using it
            self.port = free_port()
            given = {"LD_PRELOAD": str(build / "libprocprof.so"),
                     "PROCPROF": f"listen=127.0.0.1:{self.port}{settings}", **(env or {})}
            self.process = start(arguments, env=given, name=name)
            end = time.monotonic() + 20
            while time.monotonic() < end and self.process.poll() is None:
                if answers(self.port):
                    return
                time.sleep(0.02)
            stop(self.process, signal.SIGKILL)
        raise SystemExit(f"# {name} does not answer\n" + logs())


class Redis(Preloaded):
    def __init__(self, name="redis", env=None, settings=""):
        self.socket_path = folder / f"{name}.sock"
        super().__init__(["redis-server", "--port", "0", "--unixsocket", self.socket_path, "--save", "", "--dir",
                          folder], name, env, settings)
        wait_for(self.socket_path.exists, what="redis' socket")

    def fill(self, n_keys, n_bytes, prefix="key"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(self.socket_path))
        value = b"v" * n_bytes
        for first in range(0, n_keys, 1000):
            keys = [f"{prefix}{i}".encode() for i in range(first, min(first + 1000, n_keys))]
            s.sendall(b"".join(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(k), k, n_bytes, value)
                               for k in keys))
            want = len(keys) * len(b"+OK\r\n")
            while want > 0:
                got = s.recv(1 << 16)
                if not got:
                    raise SystemExit("# redis closed the connection")
                want -= len(got)
        s.close()


class SqlServer:
    """tests/serve/mysql/sql_server: the MySQL side alone, without heartbeat and collector."""

    def __init__(self, *options, data=None):
        self.data = data or folder / "data"
        self.options = options
        self.begin()

    def begin(self):
        self.process = start([build / "tests/serve/mysql/sql_server", self.data, *self.options], name="sql_server",
                             stdout=subprocess.PIPE)
        line = self.process.stdout.readline().decode()
        if not line.startswith("port "):
            raise SystemExit("# sql_server did not start\n" + logs())
        self.port = int(line.split()[1])

    def end(self, seconds=20):
        self.process.stdin.close()
        self.process.wait(seconds)


class Server:
    """`procprof serve` on free ports, without this host's JVMs."""

    def __init__(self, *options, data=None):
        self.data = data or folder / "data"
        self.options = options
        self.begin()

    def begin(self):
        ports = folder / "ports"
        ports.unlink(missing_ok=True)
        self.process = start([build / "procprof", "serve", "--data", self.data, "--http-port", "0", "--mysql-port", "0", "--set", "fe_jvm=",
                              "--ports-file", ports, *self.options], name="server", env={"XDG_CACHE_HOME": str(folder / "cache")})
        wait_for(lambda: self.process.poll() is not None or (ports.exists() and "mysql=" in ports.read_text()), 60, "the server")
        if self.process.poll() is not None:
            raise SystemExit("# the server ended\n" + logs())
        found = dict(w.split("=") for w in ports.read_text().split())
        self.http_port, self.port = int(found["http"]), int(found["mysql"])

    def end(self):
        stop(self.process)
        return self.process.returncode

    def restart(self):
        self.end()
        self.begin()


# ---- the real client ----

def ask(port, sql, *options, user="root", password=None, timeout=60):
    """Everything the mariadb client prints. An error is "ERROR ..." without the statement's echo."""
    command = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{port}", f"-u{user}", *options]
    if password is not None:
        command.append(f"-p{password}")
    done = subprocess.run([*command, "-e", sql], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout,
                          stdin=subprocess.DEVNULL)
    text = done.stdout.decode(errors="replace")
    cut = re.search(r"^--------------\n.*?\n--------------\n\n(?=ERROR)", text, re.S | re.M)
    return text[:cut.start()] + text[cut.end():] if cut else text


def rows(port, sql, **more):
    """Rows of cells, unquoted as far as the client's raw mode goes."""
    return [line.split("\t") for line in ask(port, sql, "-N", "-r", **more).splitlines()]


# ---- the protocol, by hand ----

class Raw:
    """A client that does what it is told: packets in, packets out."""

    def __init__(self, port, timeout=20):
        self.s = socket.create_connection(("127.0.0.1", port), timeout)
        self.buffer = b""
        self.sequence = 0

    def take(self, n):
        while len(self.buffer) < n:
            got = self.s.recv(1 << 20)
            if not got:
                raise EOFError
            self.buffer += got
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def read(self):
        whole = b""
        while True:
            head = self.take(4)
            n = int.from_bytes(head[:3], "little")
            self.sequence = (head[3] + 1) & 255
            whole += self.take(n)
            if n < 0xffffff:
                return whole

    def write(self, payload, sequence=None):
        if sequence is not None:
            self.sequence = sequence
        self.s.sendall(len(payload).to_bytes(3, "little") + bytes([self.sequence]) + payload)
        self.sequence = (self.sequence + 1) & 255

    def command(self, code, payload=b""):
        self.write(bytes([code]) + payload, 0)

    def login(self, user="root", password="", plugin="mysql_native_password"):
        hello = self.read()
        end = hello.index(b"\0", 1)
        self.version = hello[1:end].decode()
        at = end + 1
        self.connection_id = struct.unpack_from("<I", hello, at)[0]
        salt = hello[at + 4:at + 12] + hello[at + 31:at + 43]
        answer = native_answer(password, salt)
        flags = 0x0038820C | 0x1  # PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH, ...; without a database
        flags &= ~0x8 & ~0x100000
        self.write(struct.pack("<IIB23x", flags, 1 << 24, 33) + user.encode() + b"\0" + bytes([len(answer)]) + answer
                   + plugin.encode() + b"\0")
        reply = self.read()
        if reply[:1] == b"\xfe":  # asked for another plugin
            name, rest = reply[1:].split(b"\0", 1)
            self.switched_to = name.decode()
            self.write(native_answer(password, rest[:20]))
            reply = self.read()
        return reply

    def query(self, sql):
        """Rows of a text result, or the first packet when there is none."""
        self.command(3, sql.encode())
        first = self.read()
        if first[:1] in (b"\0", b"\xff"):
            return first
        for _ in range(first[0] + 1):
            self.read()
        out = []
        while True:
            row = self.read()
            if row[:1] == b"\xfe" and len(row) < 9:
                return out
            out.append(row)

    def close(self):
        self.s.close()


def native_answer(password, salt):
    if not password:
        return b""
    once = hashlib.sha1(password.encode()).digest()
    mask = hashlib.sha1(salt + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, mask))


def error_of(packet):
    """(number, state, text) of an error packet."""
    if packet[:1] != b"\xff":
        return None
    return struct.unpack_from("<H", packet, 1)[0], packet[4:9].decode(), packet[9:].decode(errors="replace")

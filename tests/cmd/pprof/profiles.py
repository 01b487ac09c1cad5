"""Writes small profiles (profile.proto, gzip) with everything the format has: labels, inlines, several mappings and values, comments."""
import gzip, os, pathlib, random, re, shutil, subprocess, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from testlib import go_pprof


def find_peer():
    if os.environ.get("PPROF"):
        program, *arguments = os.environ["PPROF"].split()
        return [shutil.which(program) or program, *arguments]
    cached = pathlib.Path(os.environ.get("PROCPROF_PEERS", pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "procprof-dev/peers")) / "bin/pprof"
    if cached.exists():
        return [str(cached)]
    if shutil.which("go"):
        version = subprocess.run(["go", "version"], capture_output=True, text=True).stdout
        found = re.search(r"go1\.(\d+)", version)
        if found and int(found[1]) >= 24:
            path = go_pprof()
            return [path] if path else None
    return None


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, value):
    return b"" if value == 0 else varint(field << 3) + varint(value)


def blob(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field, values):
    return blob(field, b"".join(varint(v) for v in values)) if values else b""


class Profile:
    def __init__(self):
        self.strings, self.index, self.parts, self.last = [b""], {b"": 0}, [], []

    def text(self, s):
        s = s if isinstance(s, bytes) else s.encode()
        if s not in self.index:
            self.index[s] = len(self.strings)
            self.strings.append(s)
        return self.index[s]

    def value_type(self, field, kind, unit):
        self.parts.append(blob(field, num(1, self.text(kind)) + num(2, self.text(unit))))

    def mapping(self, id, start, limit, file, build_id="", flags=(1, 1, 1, 1)):
        body = num(1, id) + num(2, start) + num(3, limit) + num(5, self.text(file)) + num(6, self.text(build_id))
        for i, flag in enumerate(flags):
            body += num(7 + i, flag)
        self.parts.append(blob(3, body))

    def function(self, id, name, system_name, file, start_line):
        self.parts.append(blob(5, num(1, id) + num(2, self.text(name)) + num(3, self.text(system_name)) + num(4, self.text(file)) + num(5, start_line)))

    def location(self, id, mapping, address, lines, folded=0):
        body = num(1, id) + num(2, mapping) + num(3, address)
        for function, line, column in lines:
            body += blob(4, num(1, function) + num(2, line) + num(3, column))
        self.parts.append(blob(4, body + num(5, folded)))

    def sample(self, locations, values, labels=()):
        body = packed(1, locations) + packed(2, values)
        for key, value, unit in labels:
            body += blob(3, num(1, self.text(key)) + (num(2, self.text(value)) if isinstance(value, str) else num(3, value) + num(4, self.text(unit))))
        self.parts.append(blob(2, body))

    def write(self, path, **fields):
        tail = b""
        for name, field in (("drop", 7), ("keep", 8)):
            if fields.get(name):
                tail += num(field, self.text(fields[name]))
        tail += num(9, fields.get("time_ns", 0)) + num(10, fields.get("duration_ns", 0))
        if fields.get("period"):
            kind, unit, period = fields["period"]
            tail += blob(11, num(1, self.text(kind)) + num(2, self.text(unit))) + num(12, period)
        tail += packed(13, [self.text(c) for c in fields.get("comments", ())])
        if fields.get("default"):
            tail += num(14, self.text(fields["default"]))
        body = b"".join(self.parts) + tail
        body += b"".join(blob(6, s) for s in self.strings)
        with open(path, "wb") as out:
            out.write(gzip.compress(body, mtime=0))
        return path


NAMES = ["main", "work::run", "work::step(int)", "hash::find<std::string>", "hash::grow", "sort::quick", "std::__introsort", "alloc::take", "alloc::give",
         "io::read_block", "net::poll", "runtime.goexit", "(*Server).handle", "github.com/acme/store/v2.(*Table).Get", "com.acme.Table$Row.next", "lambda#1::operator()"]


def workload(path, seed, kinds, unit_values, labels=True, **fields):
    r = random.Random(seed)
    p = Profile()
    for kind, unit in kinds:
        p.value_type(1, kind, unit)
    p.mapping(1, 0x400000, 0x800000, "/usr/bin/server", "abcdef01")
    p.mapping(2, 0x7F0000000000, 0x7F0000400000, "/usr/lib/libstore.so.2")
    for i, name in enumerate(NAMES):
        p.function(i + 1, name, name, f"/src/{name.split('::')[0].split('.')[0].strip('(*')}/part{i % 5}.cc" if i % 7 else "", i * 10)
    next_id, locations = 1, []
    for i in range(len(NAMES)):
        for k in range(3):
            mapping = 2 if i % 4 == 3 else 1
            lines = [(i + 1, i * 10 + k, 0)]
            if k == 1:
                lines = [((i + 3) % len(NAMES) + 1, k + 100, 0)] + lines
            p.location(next_id, mapping, (0x7F0000000000 if mapping == 2 else 0x400000) + i * 0x1000 + k * 0x10, lines)
            locations.append(next_id)
            next_id += 1
    for s in range(fields.pop("n", 120)):
        depth = 1 + r.randrange(12)
        stack = [r.choice(locations) for _ in range(depth)] + [1]
        tags = []
        if labels:
            tags = [("thread", f"worker-{r.randrange(3)}", "")]
            if r.random() < 0.3:
                tags.append(("request", r.choice(["a", "b", "get"]), ""))
            if r.random() < 0.5:
                tags.append(("bytes", 1 << r.randrange(12), ""))
            if r.random() < 0.2:
                tags.append(("latency", r.randrange(1, 90), "milliseconds"))
        p.sample(stack, unit_values(r), tags)
    return p.write(path, **fields)


def make_all(folder):
    def path(name):
        return os.path.join(folder, name + ".pb.gz")

    def cpu(r):
        n = 1 + r.randrange(40)
        return [n, n * 10_000_000]

    def heap(r):
        n = r.randrange(50)
        return [n, n * 4096, n // 2, n // 2 * 4096]

    made = [
        ("cpu", workload(path("cpu"), 1, [("samples", "count"), ("cpu", "nanoseconds")], cpu, period=("cpu", "nanoseconds", 10_000_000),
                         time_ns=1_700_000_000_000_000_000, duration_ns=10_000_000_000, comments=["node=10001", "made by a test"])),
        ("cpu_before", workload(path("cpu_before"), 2, [("samples", "count"), ("cpu", "nanoseconds")], cpu, period=("cpu", "nanoseconds", 10_000_000),
                                time_ns=1_690_000_000_000_000_000, duration_ns=20_000_000_000, n=90)),
        ("heap", workload(path("heap"), 3, [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")], heap,
                          period=("space", "bytes", 524288), default="inuse_space", drop="alloc::.*", keep="alloc::give")),
        ("contention", workload(path("contention"), 4, [("contentions", "count"), ("delay", "microseconds")], lambda r: [1, r.randrange(100000)], False,
                                period=("contentions", "count", 100))),
        ("plain", workload(path("plain"), 5, [("objects", "things")], lambda r: [r.randrange(-5, 20)], False)),
        ("calm", workload(path("calm"), 8, [("samples", "count"), ("cpu", "nanoseconds")], cpu, False, duration_ns=10_000_000_000)),
        ("calm_before", workload(path("calm_before"), 9, [("samples", "count"), ("cpu", "nanoseconds")], cpu, False, duration_ns=20_000_000_000, n=90)),
        ("one", workload(path("one"), 6, [("samples", "count"), ("cpu", "nanoseconds")], cpu, n=1)),
        ("many", workload(path("many"), 7, [("samples", "count"), ("cpu", "nanoseconds")], cpu, n=3000, duration_ns=1_500_000_000)),
    ]
    return made

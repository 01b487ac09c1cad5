#!/usr/bin/env python3
"""make bench-symbols: our addr2line beside binutils', llvm-symbolizer and gimli's addr2line, on the same addresses of the same large
binaries, inlined frames and demangling on. Wall and CPU seconds, peak memory, and how many times faster than the best of the others.

    bench/symbols.py [WORD...]     only tables whose title has a word: ceph, compressed, jvm, rust, agreement, jeprof

What is needed is fetched once, by package name, into the cache folder; nothing is installed. Output goes to /dev/null."""
import bisect, collections, itertools, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

build = pathlib.Path(os.environ.get("B", "build")).resolve()
cache = pathlib.Path(os.environ.get("PROCPROF_PEERS", (os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")) + "/procprof-dev/symbols"))
words = sys.argv[1:]
OURS = build / "addr2line"
SIZES = [("1", 1), ("100", 100), ("10k", 10000), ("100k", 100000), ("hot 5k", None)]
LIMIT_S = 90  # a tool that needs longer is stopped, and not asked for more addresses
EXAMPLES = 3
ROUNDS, PEER_ROUNDS = 5, 2  # best of; a round of more than 4 s is the last
LLVM = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")


def sh(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, stdout=options.pop("stdout", subprocess.DEVNULL), **options)


def output(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, errors="replace", **options).stdout


def wanted(title):
    return not words or any(w.lower() in title.lower() for w in words)


def note(text):
    print(text, flush=True)


# ---- what is measured ----


def fetch_ceph():
    return pathlib.Path(output("bench/ceph-osd-up", "--fetch").strip().splitlines()[-1])


def fetch_jvm():
    """libjvm.so of openjdk-17 with the debug information of openjdk-17-dbg put back."""
    joined = cache / "libjvm.so"
    if joined.exists():
        return joined
    work = cache / "jdk"
    (work / "root").mkdir(parents=True, exist_ok=True)
    sh("apt-get", "download", "-q", "openjdk-17-dbg", "openjdk-17-jre-headless", cwd=work)
    for deb in work.glob("*.deb"):
        sh("dpkg-deb", "-x", deb, work / "root")
    stripped = next((work / "root").rglob("server/libjvm.so"))
    identity = re.search(r"Build ID: (\w+)", output("readelf", "-n", stripped)).group(1)
    debug = work / "root/usr/lib/debug/.build-id" / identity[:2] / (identity[2:] + ".debug")
    sh("eu-unstrip", "-o", work / "joined", stripped, debug)
    sh("objcopy", "--decompress-debug-sections", work / "joined", str(joined) + ".part")
    shutil.rmtree(work)
    pathlib.Path(str(joined) + ".part").rename(joined)
    return joined


def fetch_rust():
    """ripgrep with all debug information, from the crates' registry: the usual large Rust program."""
    binary = cache / "ripgrep/bin/rg"
    if not binary.exists():
        sh("cargo", "install", "-q", "--locked", "ripgrep", "--version", "14.1.1" if rust_is_new() else "13.0.0", "--root", cache / "ripgrep",
           env=dict(os.environ, CARGO_PROFILE_RELEASE_DEBUG="2", CARGO_PROFILE_RELEASE_STRIP="none", CARGO_PROFILE_RELEASE_LTO="off"))
    return binary


def rust_is_new():
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", output("rustc", "--version")).groups())) >= (1, 81)


def fetch_gimli():
    binary = cache / "gimli/bin/addr2line"
    if not binary.exists() and rust_is_new():
        sh("cargo", "install", "-q", "addr2line", "--version", "0.25.1", "--features", "bin", "--root", cache / "gimli")
    return binary if binary.exists() else None


def make_addresses(binary):
    """Uniform over the bytes of functions, and hot ones: 5000 in 500 functions."""
    symbols = set()
    for line in output("nm", "-S", "--defined-only", binary).splitlines():
        w = line.split()
        if len(w) >= 4 and w[2] in "tTwWi" and int(w[1], 16):
            symbols.add((int(w[0], 16), int(w[1], 16)))
    symbols = sorted(symbols)
    rest = random.Random(12345)
    ends = list(itertools.accumulate(s for _, s in symbols))

    def one():
        x = rest.randrange(ends[-1])
        i = bisect.bisect_right(ends, x)
        return symbols[i][0] + x - (ends[i] - symbols[i][1])

    uniform = [one() for _ in range(100000)]
    hot = rest.sample(symbols, min(500, len(symbols)))
    hot = [start + rest.randrange(size) for start, size in (rest.choice(hot) for _ in range(5000))]
    files = {}
    for name, n in SIZES:
        path = cache / f"addresses.{binary.name}.{name.replace(' ', '')}"
        path.write_text("".join(f"{a:#x}\n" for a in (uniform[:n] if n else hot)))
        files[name] = path
    return files


# ---- measuring ----

Figures = collections.namedtuple("Figures", "wall cpu rss_mb")


def measure(command, addresses, environment, rounds):
    """The best of some rounds by wall clock; a round that took more than 4 s is the last. None: failed. A tool that is not done after
    LIMIT_S gives figures with a wall time of that much."""
    best = None
    for _ in range(rounds):
        with open(addresses) as source:
            start = time.monotonic()
            process = subprocess.Popen([str(c) for c in command], stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            stop = threading.Timer(LIMIT_S, process.kill)
            stop.start()
            _, status, used = os.wait4(process.pid, 0)
            stop.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            figures = Figures(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        if process.returncode and figures.wall < LIMIT_S:
            return None
        best = figures if best is None or figures.wall < best.wall else best
        if figures.wall > 4:
            break
    return best


def tools_for(binary, caches):
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", DEBUGINFOD_URLS="")
    on = dict(os.environ, PROCPROF_SYMBOL_CACHE=str(caches), DEBUGINFOD_URLS="")
    tools = [("binutils addr2line", ["addr2line", "-a", "-f", "-i", "-C", "-e", binary], off, True)]
    if LLVM:
        tools.append(("llvm-symbolizer", [LLVM, f"--obj={binary}"], off, True))
    gimli = fetch_gimli()
    if gimli:
        tools.append(("gimli addr2line", [gimli, "-a", "-f", "-i", "-C", "-e", binary], off, True))
    ours = [OURS, "-a", "-f", "-i", "-C", "-e", binary]
    tools.append(("ours, cold", ours, off, False))
    if os.cpu_count() > 1 and shutil.which("taskset"):
        tools.append(("ours, cold, one core", ["taskset", "-c", "0", *ours], off, False))
    tools.append(("ours, from the cache", ours, on, False))
    return tools


def warm_cache(binary, addresses, caches):
    """The first lookup leaves a note, the second makes the file."""
    shutil.rmtree(caches, ignore_errors=True)
    environment = dict(os.environ, PROCPROF_SYMBOL_CACHE=str(caches))
    figures = max((measure([OURS, "-f", "-i", "-C", "-e", binary], addresses, environment, 1) for _ in range(2)), key=lambda f: f.wall)
    size = sum(f.stat().st_size for f in caches.glob("*.symbols"))
    note(f"  making the cache: {figures.wall:.2f} s wall, {figures.cpu:.2f} s CPU, {figures.rss_mb:.0f} MB; the file has {size / 1e6:.0f} MB")


def table(title, binary, sizes=None):
    if not wanted(title):
        return
    note(f"\n{title}: {binary.name}, {binary.stat().st_size / 1e6:.0f} MB")
    files = make_addresses(binary)
    subprocess.run(["cat", str(binary)], stdout=subprocess.DEVNULL)  # into the page cache
    caches = cache / ("cache." + binary.name)
    warm_cache(binary, files["1"], caches)
    note(f"  {'addresses':10} {'tool':22} {'wall s':>8} {'CPU s':>8} {'RSS MB':>8}  times the best peer (wall; CPU)")
    gone = set()
    for size in sizes or [name for name, _ in SIZES]:
        peers = []
        for name, command, environment, is_peer in tools_for(binary, caches):
            if name in gone:
                continue
            figures = measure(command, files[size], environment, ROUNDS if not is_peer else PEER_ROUNDS)
            if not figures:
                note(f"  {size:10} {name:22} failed")
                continue
            if figures.wall >= LIMIT_S:
                gone.add(name)
                note(f"  {size:10} {name:22} stopped after {LIMIT_S} s; not asked for more of this binary")
                continue
            ratio = ""
            if is_peer:
                peers.append(figures)
            elif peers:
                wall, cpu = min(p.wall for p in peers), min(p.cpu for p in peers)
                ratio = f"{wall / figures.wall:8.1f}x {cpu / max(figures.cpu, 0.001):7.1f}x"
            note(f"  {size:10} {name:22} {figures.wall:8.3f} {figures.cpu:8.3f} {figures.rss_mb:8.0f}  {ratio}")


# ---- agreement ----

CLONE = re.compile(r"\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)?(?=\.|$)|\.\d+$")


def clean(name):
    name = CLONE.sub("", CLONE.sub("", CLONE.sub("", name)))
    return re.sub(r"([CD])[0-9](?=[EI])", r"\1x", name)  # C1, C2 and C4 are one constructor


def parse_pairs(text):
    """addr2line's form: address, then name and place for each frame."""
    chains, chain, name = [], None, None
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            chain = []
            chains.append(chain)
            name = None
        elif name is None:
            name = line
        else:
            chain.append((clean(name), re.sub(r" \(discriminator \d+\)", "", line)))
            name = None
    return chains


def parse_llvm(text):
    chains = []
    for block in text.rstrip("\n").split("\n\n"):
        lines = block.splitlines()
        chains.append([(clean(lines[i]), ":".join(lines[i + 1].rsplit(":", 2)[:2])) for i in range(0, len(lines) - 1, 2)])
    return chains


def normal(place):
    """One spelling: a line that is not known has no file either (gimli gives none, others the unit's), "." and doubled slashes are
    dropped, and so is the compiler's folder where llvm-symbolizer puts a relative one in front of itself (x/y/x/y/file.c)."""
    path, _, line = place.rpartition(":")
    if line in ("?", "0"):
        return "??:0"
    return re.sub(r"^((?:[^/]+/)+)\1", r"\1", os.path.normpath(path)) + ":" + line


def aliases(binary):
    """Names that the symbol table gives to one and the same address, as one of them: functions with equal code that were merged. The peers
    take the name of a function from the symbol table, whichever comes up there; ours is the one that the debug information names."""
    at = collections.defaultdict(set)
    for line in output("nm", "--defined-only", binary).splitlines():
        w = line.split()
        if len(w) == 3 and w[1] in "tTwWi":
            at[w[0]].add(clean(w[2]))
    return {name: min(names) for names in at.values() if len(names) > 1 for name in names}


def compare(ours, theirs, known_aliases):
    """How many of the chains are the same: depth, names, files and lines, and names as they stand; with examples of those that are not."""
    same, examples = collections.Counter(), collections.defaultdict(list)
    one = lambda name: known_aliases.get(name, name)
    for address, (a, b) in zip(itertools.count(), zip(ours, theirs)):
        names = [x[0] for x in a], [x[0] for x in b]
        parts = {"depth": len(a) == len(b), "names as they stand": names[0] == names[1],
                 "names": [one(n) for n in names[0]] == [one(n) for n in names[1]],
                 "places": [normal(x[1]) for x in a] == [normal(x[1]) for x in b]}
        same.update(k for k, good in parts.items() if good)
        for k, good in parts.items():
            if good:
                continue
            differs = {"names": lambda x, y: one(x[0]) != one(y[0]), "places": lambda x, y: normal(x[1]) != normal(y[1])}.get(k, lambda x, y: x[0] != y[0])
            i = next((i for i, (x, y) in enumerate(zip(a, b)) if differs(x, y)), min(len(a), len(b)))
            field = 1 if k == "places" else 0
            examples[k].append((address, i, a[i][field] if i < len(a) else None, b[i][field] if i < len(b) else None))
    return same, examples


def agreement(binary, files):
    with open(files["10k"]) as f:
        addresses = f.read()
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="")
    ask = lambda command: subprocess.run([str(c) for c in command], input=addresses, capture_output=True, text=True, errors="replace", env=off).stdout
    ours = parse_pairs(ask([OURS, "-a", "-f", "-i", "-e", binary]))
    answers = {}
    gimli = fetch_gimli()
    if gimli:
        answers["gimli"] = parse_pairs(ask([gimli, "-a", "-f", "-i", "-e", binary]))
    if LLVM:
        answers["llvm-symbolizer"] = parse_llvm(ask([LLVM, "--no-demangle", f"--obj={binary}"]))
    known_aliases = aliases(binary)
    for peer, theirs in answers.items():
        n = len(ours)
        if len(theirs) != n:
            note(f"  {binary.name}: {peer} gave {len(theirs)} answers, not {n}")
            continue
        same, examples = compare(ours, theirs, known_aliases)
        note(f"  {binary.name:10} {peer:16} depth {same['depth'] / n:8.2%}  names {same['names'] / n:8.2%} ({same['names as they stand'] / n:.2%} as they stand)"
             f"  files and lines {same['places'] / n:8.2%}")
        for k, found in examples.items():
            for address, frame, mine, other in found[:EXAMPLES]:
                note(f"      {k}: {addresses.split()[address]} frame {frame}: ours {str(mine)[:150]}  {peer} {str(other)[:150]}")


# ---- jeprof ----


def spelled(name):
    """A name without what demanglers spell each in their own way."""
    return re.sub(r"[^0-9A-Za-z_:~]", "", re.sub(r"\[clone[^]]*\]", "", name))


def parse_frames(text):
    """addr2line -a: [address, [name, place], ...] for each address."""
    chains = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            chains.append([line])
        elif len(chains[-1]) == 1 or len(chains[-1][-1]) == 2:
            chains[-1].append([line])
        else:
            chains[-1][-1].append(line)
    return chains


def between(arguments):
    """Stands in for addr2line under jeprof: binutils' answers, but for two kinds of names in which binutils is known to differ. Each is
    counted in the file that PROCPROF_KINDS names. When the graph then is the same as with ours, nothing else differs."""
    if "--help" in arguments or "-h" in arguments:
        os.execvp("addr2line", ["addr2line", *arguments])
    addresses = sys.stdin.read()
    ask = lambda tool: parse_frames(subprocess.run([str(tool), "-a", *arguments], input=addresses, capture_output=True, text=True, errors="replace").stdout)
    theirs, ours = ask("addr2line"), ask(OURS)
    kinds = open(os.environ["PROCPROF_KINDS"], "a")
    for a, b in zip(theirs, ours):
        for i in range(1, len(a)):
            name, mine = a[i][0], b[i][0] if i < len(b) else None
            if mine is not None and spelled(name) != spelled(mine):
                if i == 1 and len(a) > 2:  # the innermost, inlined, without a linkage name: named after the function around it
                    a[i][0] = mine
                    kinds.write(f"inlined\t{a[0]}\t{name}\t{mine}\n")
                elif i == len(a) - 1 and len(a) > 2 and spelled(name) in spelled(mine):  # the function itself: only its short name
                    a[i][0] = mine
                    kinds.write(f"short\t{a[0]}\t{name}\t{mine}\n")
                else:
                    kind = "far" if mine == "??" and len(a) == 2 else "other"
                    kinds.write(f"{kind}\t{a[0]}\t{name}\t{mine}\n")
            print(a[i][0])
            print(a[i][1])


def graph(dot):
    """Nodes and edges of jeprof's DOT by name, however they are numbered."""
    nodes, edges, name_of = {}, {}, {}
    for line in dot.splitlines():
        node = re.match(r'(N\d+) \[label="(.*?)"', line)
        edge = re.match(r'(N\d+) -> (N\d+) \[label="?([^,"\]]*)', line)
        if edge:
            edges[name_of.get(edge[1]), name_of.get(edge[2])] = edge[3].strip()
        elif node:
            words = node[2].replace("\\r", "\\n").split("\\n")
            at = next(i for i, w in enumerate(words) if re.match(r"-?[\d.]+ \(", w) or re.match(r"-?\d", w))
            name_of[node[1]] = spelled("::".join(words[:at]))
            nodes[name_of[node[1]]] = " ".join(words[at:]).strip()
    return nodes, edges


def compare_graphs(title, one, other):
    counts, examples = [], []
    for what, a, b in zip(("nodes", "edges"), graph(one), graph(other)):
        differ = sorted(str(k) for k in a.keys() | b.keys() if a.get(k) != b.get(k))
        counts.append(f"{len(a)} {what}, {len(differ)} differ")
        examples += [f"      {what}: {k[:200]}" for k in differ[:EXAMPLES]]
    note("\n".join([f"  {title}: {'; '.join(counts)}", *examples]))


def take_dump():
    """A heap dump that jemalloc wrote in a live ceph-osd, and the binary."""
    pid = folder = None
    for old in cache.glob("jeprof.*.heap"):
        old.unlink()
    try:
        environment = dict(os.environ, SETTINGS="heap=off", MALLOC_CONF="prof:true,lg_prof_sample:8,lg_prof_interval:24,prof_prefix:" + str(cache / "jeprof"))
        facts = dict(line.split(" ", 1) for line in output("bench/ceph-osd-up", env=environment).splitlines() if " " in line)
        pid, folder = int(facts["pid"]), facts["folder"]
        for _ in range(600):
            dumps = sorted(cache.glob("jeprof.*.heap"), key=lambda p: p.stat().st_size)
            if dumps:
                return dumps[-1], facts["binary"]
            time.sleep(0.1)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    return None, None


def jeprof():
    """The Perl script on a heap dump of a live ceph-osd: with binutils' addr2line, with ours, and our own jeprof."""
    perl = shutil.which("jeprof")
    if not wanted("jeprof"):
        return
    if not perl:
        note("\njeprof: not installed (Debian package: libjemalloc-dev)")
        return
    dump, binary = take_dump()
    if not dump:
        note("\njeprof: ceph-osd wrote no dump")
        return
    note(f"\njeprof --dot --show_bytes on a dump of a live ceph-osd ({dump.stat().st_size / 1000:.0f} kB)")
    caches = cache / "cache.jeprof"
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", HOME=str(cache), DEBUGINFOD_URLS="")
    on = dict(off, PROCPROF_SYMBOL_CACHE=str(caches))
    options = ["--dot", "--show_bytes"]
    with tempfile.TemporaryDirectory() as work:
        middle = pathlib.Path(work, "addr2line")
        middle.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --between \"$@\"\n")
        middle.chmod(0o755)
        kinds_file = pathlib.Path(work, "kinds")
        with_tool = lambda tool: [perl, *options, f"--tools=addr2line:{tool},/usr/bin/", binary, dump]
        own = [build / "procprof", "jeprof", *options, binary, dump]
        rows = [("Perl, binutils' addr2line", [perl, *options, binary, dump], off), ("Perl, our addr2line", with_tool(OURS), off),
                ("Perl, ours from the cache", with_tool(OURS), on), ("procprof jeprof, cold", own, off), ("procprof jeprof, cache", own, on)]
        shutil.rmtree(caches, ignore_errors=True)
        for _ in range(2):
            subprocess.run([str(c) for c in own], env=on, capture_output=True)
        first, texts = None, {}
        for name, command, environment in rows:
            figures = measure(command, os.devnull, environment, 3)
            texts[name] = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", env=environment).stdout
            if not figures:
                note(f"  {name:26} failed")
                continue
            first = first or figures
            note(f"  {name:26} {figures.wall:8.3f} s wall {figures.cpu:8.3f} s CPU   {first.wall / figures.wall:6.1f}x wall {first.cpu / figures.cpu:6.1f}x CPU")
        settled = subprocess.run([str(c) for c in with_tool(middle)], capture_output=True, text=True, errors="replace",
                                 env=dict(off, PROCPROF_KINDS=str(kinds_file))).stdout
        found = collections.defaultdict(dict)
        for line in kinds_file.read_text(errors="replace").splitlines() if kinds_file.exists() else []:
            kind, address, name, mine = line.split("\t")
            found[kind].setdefault((name, mine), address)
        theirs, mine = texts["Perl, binutils' addr2line"], texts["Perl, our addr2line"]
        compare_graphs("the Perl script with binutils' addr2line and with ours", theirs, mine)
        for kind, title in (("inlined", "innermost frame, inlined, without a linkage name: binutils has the function around it"),
                            ("short", "function without a linkage name, around an inlined one: binutils has its short name, ours that of the symbol"),
                            ("far", "no debug information, and behind the end of every symbol: binutils has the symbol before"),
                            ("other", "other names")):
            note(f"  {title}: {len(found[kind])}")
            for (name, own_name), address in list(found[kind].items())[:EXAMPLES]:
                note(f"      {address}: binutils {name[:90]}  ours {own_name[:110]}")
        compare_graphs("with these names taken from ours", settled, mine)
        compare_graphs("the Perl script with our addr2line, and procprof jeprof", mine, texts["procprof jeprof, cold"])


def main():
    cache.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    note(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; best of {ROUNDS} rounds for ours, of {PEER_ROUNDS} for the others, one where a round takes more "
         f"than 4 s; a tool is stopped after {LIMIT_S} s")
    binaries = []
    if any(wanted(t) for t in ("ceph", "compressed", "agreement")):
        ceph = fetch_ceph()
        binaries.append(ceph)
        table("ceph", ceph)
        if wanted("compressed"):
            packed = cache / "ceph-osd.zlib"
            if not packed.exists():
                sh("objcopy", "--compress-debug-sections=zlib", ceph, str(packed) + ".part")
                pathlib.Path(str(packed) + ".part").rename(packed)
            table("ceph compressed", packed)
    for title, fetch in (("jvm", fetch_jvm), ("rust", fetch_rust)):
        if wanted(title) or wanted("agreement"):
            try:
                binary = fetch()
            except (subprocess.CalledProcessError, StopIteration, OSError) as problem:
                note(f"\n{title}: cannot be had here: {problem}")
                continue
            binaries.append(binary)
            table(title, binary)
    if wanted("agreement"):
        note("\nagreement on 10,000 addresses (linkage names; clone suffixes, constructor kinds and names of one address taken as one)")
        for binary in binaries:
            agreement(binary, make_addresses(binary))
    jeprof()
    note(f"\nall of it took {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--between"]:
        between(sys.argv[2:])
    else:
        main()

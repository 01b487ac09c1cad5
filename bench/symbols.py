#!/usr/bin/env python3
"""make bench-symbols: our addr2line beside binutils', llvm-symbolizer and gimli's addr2line, on the same addresses of the same large
binaries, inlined frames and demangling on. Wall and CPU seconds, peak memory, how many times faster than the best of the others, and
whether that meets the goal.

    bench/symbols.py [WORD...]     only tables whose title has a word: ceph, jvm, rust, joined, shipped, agreement, jeprof

Joined: the debug information is in the program, unpacked. Shipped: as Debian has it, zlib sections in a file of their own that is found
by build id, in .build-id beside the program. (binutils looks for .build-id in the current folder, llvm-symbolizer where an option says;
gimli's addr2line finds no such file and is given it by name.)

What is needed is fetched once, by package name, into the cache folder; nothing is installed. Output goes to /dev/null."""
import bisect, collections, itertools, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

build = pathlib.Path(os.environ.get("B", "build")).resolve()
cache = pathlib.Path(os.environ.get("PROCPROF_PEERS", (os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")) + "/procprof-dev/symbols"))
words = sys.argv[1:]
OURS = build / "addr2line"
SIZES = [("1", 1), ("100", 100), ("10k", 10000), ("100k", 100000), ("hot 5k", None)]
LIMIT_S = 90  # a tool that needs longer is stopped, and not asked for more addresses
EXAMPLES = 3
ROUNDS, ROUNDS_S = 5, 4  # best of so many, but no further one when they have taken so long
JEPROF_OPTIONS = ["--dot", "--show_bytes"]
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


Subject = collections.namedtuple("Subject", "title program debug sizes")  # debug: the file that has the debug information


def joined(title, program):
    return Subject(title + " joined", program, program, [name for name, _ in SIZES])


def shipped(title, program, sizes):
    return Subject(title + " shipped", program, next(program.parent.glob(".build-id/*/*.debug")), sizes)


def ceph_subjects():
    fetched = lambda option: pathlib.Path(output("bench/ceph-osd-up", option).strip().splitlines()[-1])
    yield joined("ceph", fetched("--fetch"))
    yield shipped("ceph", fetched("--fetch-shipped"), [name for name, _ in SIZES])


def jvm_subjects():
    """libjvm.so of openjdk-17: with the debug information of openjdk-17-dbg put back, and as it comes."""
    whole, folder = cache / "libjvm.so", cache / "libjvm-shipped"
    if not whole.exists() or not folder.exists():
        work = cache / "jdk"
        shutil.rmtree(work, ignore_errors=True)
        (work / "root").mkdir(parents=True)
        sh("apt-get", "download", "-q", "openjdk-17-dbg", "openjdk-17-jre-headless", cwd=work)
        for deb in work.glob("*.deb"):
            sh("dpkg-deb", "-x", deb, work / "root")
        stripped = next((work / "root").rglob("server/libjvm.so"))
        identity = re.search(r"Build ID: (\w+)", output("readelf", "-n", stripped)).group(1)
        file = pathlib.Path(".build-id", identity[:2], identity[2:] + ".debug")
        debug = work / "root/usr/lib/debug" / file
        sh("eu-unstrip", "-o", work / "joined", stripped, debug)
        sh("objcopy", "--decompress-debug-sections", work / "joined", work / "unpacked")
        (work / "shipped" / file).parent.mkdir(parents=True)
        debug.rename(work / "shipped" / file)
        stripped.rename(work / "shipped/libjvm.so")
        shutil.rmtree(folder, ignore_errors=True)
        (work / "unpacked").rename(whole)
        (work / "shipped").rename(folder)
        shutil.rmtree(work)
    yield joined("jvm", whole)
    yield shipped("jvm", folder / "libjvm.so", ["1", "10k"])


def rust_subjects():
    yield joined("rust", fetch_rust())


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


def make_addresses(subject):
    """Uniform over the bytes of functions, and hot ones: 5000 in 500 functions."""
    symbols = set()
    for line in output("nm", "-S", "--defined-only", subject.debug).splitlines():
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
        path = cache / f"addresses.{subject.program.name}.{name.replace(' ', '')}"
        path.write_text("".join(f"{a:#x}\n" for a in (uniform[:n] if n else hot)))
        files[name] = path
    return files


# ---- measuring ----

Figures = collections.namedtuple("Figures", "wall cpu rss_mb")
Tool = collections.namedtuple("Tool", "name command environment is_peer")


def measure(command, addresses, environment, folder=None, rounds=ROUNDS):
    """The best of some rounds by wall clock. None: failed. A tool that is not done after LIMIT_S gives figures with a wall time of that
    much."""
    best, begun = None, time.monotonic()
    for _ in range(rounds):
        with open(addresses) as source:
            start = time.monotonic()
            process = subprocess.Popen([str(c) for c in command], stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       env=environment, cwd=folder)
            stop = threading.Timer(LIMIT_S, process.kill)
            stop.start()
            _, status, used = os.wait4(process.pid, 0)
            stop.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            figures = Figures(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        if process.returncode and figures.wall < LIMIT_S:
            return None
        best = figures if best is None or figures.wall < best.wall else best
        if time.monotonic() - begun > ROUNDS_S:
            break
    return best


def tools_for(subject, caches):
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", DEBUGINFOD_URLS="")
    on = dict(os.environ, PROCPROF_SYMBOL_CACHE=str(caches), DEBUGINFOD_URLS="")
    options, program = ["-a", "-f", "-i", "-C", "-e"], subject.program
    tools = [Tool("binutils addr2line", ["addr2line", *options, program], off, True)]
    if LLVM:
        tools.append(Tool("llvm-symbolizer", [LLVM, f"--debug-file-directory={program.parent}", f"--obj={program}"], off, True))
    gimli = fetch_gimli()
    if gimli:
        tools.append(Tool("gimli addr2line", [gimli, *options, subject.debug], off, True))
    ours = [OURS, *options, program]
    tools.append(Tool("ours, cold", ours, off, False))
    if os.cpu_count() > 1 and shutil.which("taskset"):
        tools.append(Tool("ours, cold, one core", ["taskset", "-c", "0", *ours], off, False))
    tools.append(Tool("ours, from the cache", ours, on, False))
    return tools


def verdict(goal, good):
    return f"{goal}: {'met' if good else 'MISSED'}"


def goals(subject, size, name, figures, peers):
    """What is wanted of our figures, and whether it holds. peers: the figures of the others by name."""
    said = []
    if name == "ours, cold" and size == "1" and subject.debug == subject.program:
        said.append(verdict("<= 0.005 s", figures.wall <= 0.005))
    times = {("ours, cold", "10k"): 3.5, ("ours, cold", "100k"): 7, ("ours, cold, one core", "100k"): 4}.get((name, size))
    if times and peers and (size == "10k" or subject.debug == subject.program):
        said.append(verdict(f">= {times}x", min(p.wall for p in peers.values()) >= times * figures.wall))
    if name == "ours, from the cache" and size == "100k":
        said.append(verdict("<= 0.15 s", figures.wall <= 0.15))
    if name == "ours, cold" and "gimli addr2line" in peers:
        said.append(verdict("memory <= gimli's", figures.rss_mb <= peers["gimli addr2line"].rss_mb))
    return "; ".join(said)


def warm_cache(subject, addresses, caches):
    """The first lookup leaves a note (or makes the file, when sections are packed), the second makes the file."""
    shutil.rmtree(caches, ignore_errors=True)
    environment = dict(os.environ, PROCPROF_SYMBOL_CACHE=str(caches), DEBUGINFOD_URLS="")
    figures = max((measure([OURS, "-f", "-i", "-C", "-e", subject.program], addresses, environment, rounds=1) for _ in range(2)), key=lambda f: f.wall)
    size = sum(f.stat().st_size for f in caches.glob("*.symbols"))
    note(f"  making the cache: {figures.wall:.2f} s wall, {figures.cpu:.2f} s CPU, {figures.rss_mb:.0f} MB; the file has {size / 1e6:.0f} MB"
         if size else "  so small that no cache file is made")


def table(subject):
    if not wanted(subject.title):
        return
    file = subject.debug
    note(f"\n{subject.title}: {subject.program.name}, {file.stat().st_size / 1e6:.0f} MB")
    files = make_addresses(subject)
    subprocess.run(["cat", str(subject.program), str(file)], stdout=subprocess.DEVNULL)  # into the page cache
    caches = cache / ("cache." + subject.title.replace(" ", "."))
    warm_cache(subject, files["1"], caches)
    note(f"  {'addresses':10} {'tool':22} {'wall s':>8} {'CPU s':>8} {'RSS MB':>8}  times the best peer (wall; CPU)   goals")
    gone = set()
    for size in subject.sizes:
        peers = {}
        for tool in tools_for(subject, caches):
            if tool.name in gone:
                continue
            figures = measure(tool.command, files[size], tool.environment, subject.program.parent)
            if not figures:
                note(f"  {size:10} {tool.name:22} failed")
                continue
            if figures.wall >= LIMIT_S:
                gone.add(tool.name)
                note(f"  {size:10} {tool.name:22} stopped after {LIMIT_S} s; not asked for more of this program")
                continue
            ratio = ""
            if tool.is_peer:
                peers[tool.name] = figures
            elif peers:
                wall, cpu = min(p.wall for p in peers.values()), min(p.cpu for p in peers.values())
                ratio = f"{wall / figures.wall:8.1f}x {cpu / max(figures.cpu, 0.001):7.1f}x  {goals(subject, size, tool.name, figures, peers)}"
            note(f"  {size:10} {tool.name:22} {figures.wall:8.3f} {figures.cpu:8.3f} {figures.rss_mb:8.0f}  {ratio}".rstrip())


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


def compare(ours, theirs):
    """How many of the chains are the same: depth, names, files and lines, in one spelling and as they stand; with examples of those that
    are not."""
    same, examples = collections.Counter(), collections.defaultdict(list)
    views = {"depth": lambda frame: None, "names": lambda frame: frame[0], "places": lambda frame: normal(frame[1]), "places as they stand": lambda frame: frame[1]}
    for number, (a, b) in enumerate(zip(ours, theirs)):
        for what, view in views.items():
            mine, other = [view(f) for f in a], [view(f) for f in b]
            same[what] += mine == other
            if mine != other and what != "places as they stand":
                i = next((i for i, (x, y) in enumerate(zip(mine, other)) if x != y), min(len(a), len(b)))
                examples[what].append((number, i, a[i][what == "places"] if i < len(a) else None, b[i][what == "places"] if i < len(b) else None))
    return same, examples


def ask_all(binary, addresses):
    """The chains that we have for the addresses (text, a line each), and those of the others by name."""
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="")
    ask = lambda command: subprocess.run([str(c) for c in command], input=addresses, capture_output=True, text=True, errors="replace", env=off).stdout
    answers = {}
    gimli = fetch_gimli()
    if gimli:
        answers["gimli"] = parse_pairs(ask([gimli, "-a", "-f", "-i", "-e", binary]))
    if LLVM:
        answers["llvm-symbolizer"] = parse_llvm(ask([LLVM, "--no-demangle", f"--obj={binary}"]))
    return parse_pairs(ask([OURS, "-a", "-f", "-i", "-e", binary])), answers


def agreement(binary, files):
    with open(files["10k"]) as f:
        addresses = f.read()
    ours, answers = ask_all(binary, addresses)
    for peer, theirs in answers.items():
        n = len(ours)
        if len(theirs) != n:
            note(f"  {binary.name}: {peer} gave {len(theirs)} answers, not {n}")
            continue
        same, examples = compare(ours, theirs)
        note(f"  {binary.name:10} {peer:16} depth {same['depth'] / n:8.2%}  names {same['names'] / n:8.2%}"
             f"  files and lines {same['places'] / n:8.2%} ({same['places as they stand'] / n:.2%} as they stand)")
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
    """Stands in for addr2line under jeprof: binutils' answers, but for three kinds of names in which binutils is known to differ. Each is
    counted in the file that PROCPROF_KINDS names. When the graph then is the same as with ours, nothing else differs."""
    if "--help" in arguments or "-h" in arguments:
        os.execvp("addr2line", ["addr2line", *arguments])
    addresses = sys.stdin.read()
    ask = lambda tool: parse_frames(subprocess.run([str(tool), "-a", *arguments], input=addresses, capture_output=True, text=True, errors="replace").stdout)
    theirs, ours = ask("addr2line"), ask(OURS)
    kinds = open(os.environ["PROCPROF_KINDS"], "a")
    image = arguments[arguments.index("-e") + 1]
    for a, b in zip(theirs, ours):
        for i in range(1, len(a)):
            name, mine = a[i][0], b[i][0] if i < len(b) else None
            if mine is not None and spelled(name) != spelled(mine):
                if i == 1 and len(a) > 2:  # the innermost, inlined, without a linkage name: named after the function around it
                    a[i][0] = mine
                    kinds.write(f"inlined\t{a[0]}\t{image}\t{name}\t{mine}\n")
                elif i == len(a) - 1 and len(a) > 2 and spelled(name) in spelled(mine):  # the function itself: only its short name
                    a[i][0] = mine
                    kinds.write(f"short\t{a[0]}\t{image}\t{name}\t{mine}\n")
                elif i == len(a) - 1 and a[i][1] == b[i][1] != "??:0":  # the same function at the same place: another of its names
                    a[i][0] = mine
                    kinds.write(f"alias\t{a[0]}\t{image}\t{name}\t{mine}\n")
                else:
                    kind = "far" if mine == "??" and len(a) == 2 else "other"
                    kinds.write(f"{kind}\t{a[0]}\t{image}\t{name}\t{mine}\n")
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


def jeprof_rows(perl, subject, dump):
    """The Perl script with binutils' addr2line and with ours, and our own jeprof; the texts that they print, by row."""
    note(f"  {subject.title}")
    caches = cache / ("cache.jeprof." + subject.title.replace(" ", "."))
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", HOME=str(cache), DEBUGINFOD_URLS="")
    on = dict(off, PROCPROF_SYMBOL_CACHE=str(caches))
    plain = [perl, *JEPROF_OPTIONS, subject.program, dump]
    with_ours = [perl, *JEPROF_OPTIONS, f"--tools=addr2line:{OURS},/usr/bin/", subject.program, dump]
    own = [build / "procprof", "jeprof", *JEPROF_OPTIONS, subject.program, dump]
    rows = [("Perl, binutils' addr2line", plain, off, None), ("Perl, our addr2line", with_ours, off, None), ("Perl, ours from the cache", with_ours, on, None),
            ("procprof jeprof, cold", own, off, 30), ("procprof jeprof, cache", own, on, 50)]
    shutil.rmtree(caches, ignore_errors=True)
    for _ in range(2):
        subprocess.run([str(c) for c in own], env=on, capture_output=True, cwd=subject.program.parent)
    first, texts = None, {}
    for name, command, environment, goal in rows:
        figures = measure(command, os.devnull, environment, subject.program.parent)
        texts[name] = jeprof_text(command, subject, environment)
        if not figures:
            note(f"    {name:26} failed")
            continue
        first = first or figures
        times = first.wall / figures.wall
        note(f"    {name:26} {figures.wall:8.3f} s wall {figures.cpu:8.3f} s CPU   {times:6.1f}x wall {first.cpu / figures.cpu:6.1f}x CPU  "
             + (verdict(f">= {goal}x", times >= goal) if goal else ""))
    return texts


def jeprof_text(command, subject, environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", env=environment, cwd=subject.program.parent).stdout


def jeprof_differences(perl, subject, dump, texts):
    """Where the graph with our addr2line is another than with binutils', and of which kinds that is."""
    with tempfile.TemporaryDirectory() as work:
        middle, kinds_file = pathlib.Path(work, "addr2line"), pathlib.Path(work, "kinds")
        middle.write_text(f"#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --between \"$@\"\n")
        middle.chmod(0o755)
        settled = jeprof_text([perl, *JEPROF_OPTIONS, f"--tools=addr2line:{middle},/usr/bin/", subject.program, dump], subject,
                              dict(os.environ, PROCPROF_SYMBOL_CACHE="", HOME=str(cache), DEBUGINFOD_URLS="", PROCPROF_KINDS=str(kinds_file), B=str(build)))
        found = collections.defaultdict(dict)
        for line in kinds_file.read_text(errors="replace").splitlines() if kinds_file.exists() else []:
            kind, address, image, name, mine = line.split("\t")
            found[kind].setdefault((name, mine), (address, image))
    theirs, mine = texts["Perl, binutils' addr2line"], texts["Perl, our addr2line"]
    compare_graphs("the Perl script with binutils' addr2line and with ours", theirs, mine)
    for kind, title in (("inlined", "innermost frame, inlined, without a linkage name: binutils has the function around it"),
                        ("short", "function without a linkage name, around an inlined one: binutils has its short name, ours that of the symbol"),
                        ("alias", "function with several names: binutils has the one of the debug information, ours that of the symbol table"),
                        ("far", "no debug information, and behind the end of every symbol: binutils has the symbol before"),
                        ("other", "other names")):
        note(f"  {title}: {len(found[kind])}")
        for (name, own_name), (address, _) in list(found[kind].items())[:EXAMPLES]:
            note(f"      {address}: binutils {name[:90]}  ours {own_name[:110]}")
    differing = sorted({address for kind in ("inlined", "short") for address, image in found[kind].values() if image == str(subject.program)})
    chains, answers = ask_all(subject.program, "".join(a + "\n" for a in differing))
    for peer, others in answers.items():
        same = sum([n for n, _ in a] == [n for n, _ in b] for a, b in zip(chains, others))
        note(f"  of one address for each of these names, {peer} has the same as ours for {same} of {len(differing)}")
    compare_graphs("with these names taken from ours", settled, mine)
    compare_graphs("the Perl script with our addr2line, and procprof jeprof", mine, texts["procprof jeprof, cold"])


def jeprof():
    if not wanted("jeprof"):
        return
    perl = shutil.which("jeprof")
    if not perl:
        note("\njeprof: not installed (Debian package: libjemalloc-dev)")
        return
    dump, binary = take_dump()
    if not dump:
        note("\njeprof: ceph-osd wrote no dump")
        return
    note(f"\njeprof {' '.join(JEPROF_OPTIONS)} on a dump of a live ceph-osd ({dump.stat().st_size / 1000:.0f} kB)")
    whole, stripped = ceph_subjects()
    jeprof_differences(perl, whole, dump, jeprof_rows(perl, whole, dump))
    # the same process, had it been started from the program as it comes
    moved = dump.with_suffix(".shipped.heap")
    moved.write_text(dump.read_text().replace(binary, str(stripped.program)))
    jeprof_rows(perl, stripped, moved)
    moved.unlink()


def main():
    cache.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    note(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; best of up to {ROUNDS} rounds, of as many as start within {ROUNDS_S} s; a tool is stopped after "
         f"{LIMIT_S} s")
    subjects = []
    for title, fetch in (("ceph", ceph_subjects), ("jvm", jvm_subjects), ("rust", rust_subjects)):
        if any(wanted(f"{title} {kind}") for kind in ("joined", "shipped")) or wanted("agreement"):
            try:
                subjects += fetch()
            except (subprocess.CalledProcessError, StopIteration, OSError) as problem:
                note(f"\n{title}: cannot be had here: {problem}")
    for subject in subjects:
        table(subject)
    if wanted("agreement"):
        note("\nagreement on 10,000 addresses (linkage names without clone suffixes, constructors' kinds taken as one)")
        for subject in subjects:
            if subject.debug == subject.program:
                agreement(subject.program, make_addresses(subject))
    jeprof()
    note(f"\nall of it took {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--between"]:
        between(sys.argv[2:])
    else:
        main()

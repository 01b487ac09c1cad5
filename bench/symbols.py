#!/usr/bin/env python3
"""make bench-symbols: our addr2line beside binutils', llvm-symbolizer and gimli's addr2line, on the same addresses of the same large
binaries, inlined frames and demangling on. Wall and CPU seconds, peak memory, and how many times faster than the best of the others.

    bench/symbols.py [WORD...]     only tables whose title has a word: ceph, compressed, jvm, rust, agreement, jeprof

What is needed is fetched once, by package name, into the cache folder; nothing is installed. Output goes to /dev/null."""
import bisect, collections, itertools, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, time

build = pathlib.Path(os.environ.get("B", "build")).resolve()
cache = pathlib.Path(os.environ.get("PROCPROF_PEERS", (os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")) + "/procprof-dev/symbols"))
words = sys.argv[1:]
OURS = build / "addr2line"
SIZES = [("1", 1), ("100", 100), ("10k", 10000), ("100k", 100000), ("hot 5k", None)]
SLOW_S = 120  # a tool that needs longer is not asked for more addresses


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


def measure(command, addresses, environment, repeat):
    best = None
    for _ in range(repeat):
        with open(addresses) as source:
            start = time.monotonic()
            process = subprocess.Popen([str(c) for c in command], stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            figures = Figures(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        if process.returncode:
            return None
        best = figures if best is None or figures.wall < best.wall else best
        if figures.wall > 8:
            break
    return best


def tools_for(binary, caches):
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", DEBUGINFOD_URLS="")
    on = dict(os.environ, PROCPROF_SYMBOL_CACHE=str(caches), DEBUGINFOD_URLS="")
    tools = [("binutils addr2line", ["addr2line", "-a", "-f", "-i", "-C", "-e", binary], off, True)]
    llvm = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
    if llvm:
        tools.append(("llvm-symbolizer", [llvm, f"--obj={binary}"], off, True))
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
    for _ in range(2):
        figures = measure([OURS, "-f", "-i", "-C", "-e", binary], addresses, environment, 1)
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
            figures = measure(command, files[size], environment, 3)
            if not figures:
                note(f"  {size:10} {name:22} failed")
                continue
            if figures.wall > SLOW_S:
                gone.add(name)
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
    path, _, line = place.rpartition(":")
    return os.path.normpath(path) + ":" + ("0" if line == "?" else line)


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
    llvm = shutil.which("llvm-symbolizer") or shutil.which("llvm-symbolizer-14")
    if llvm:
        answers["llvm-symbolizer"] = parse_llvm(ask([llvm, "--no-demangle", f"--obj={binary}"]))
    for peer, theirs in answers.items():
        n = len(ours)
        if len(theirs) != n:
            note(f"  {binary.name}: {peer} gave {len(theirs)} answers, not {n}")
            continue
        same = collections.Counter()
        examples = {}
        for address, a, b in zip(addresses.split(), ours, theirs):
            parts = {"depth": len(a) == len(b), "names": [x[0] for x in a] == [x[0] for x in b],
                     "places": [normal(x[1]) for x in a] == [normal(x[1]) for x in b]}
            same.update(k for k, good in parts.items() if good)
            for k, good in parts.items():
                if not good and len(examples.setdefault(k, [])) < 3:
                    i = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
                    examples[k].append(f"{address} frame {i}: ours {a[i:i + 1]} {peer} {b[i:i + 1]}")
        note(f"  {binary.name} and {peer}: of {n} addresses the same depth {same['depth'] / n:.2%}, names {same['names'] / n:.2%}, files and lines {same['places'] / n:.2%}")
        for k, lines in examples.items():
            for line in lines:
                note(f"      {k}: {line[:260]}")


# ---- jeprof ----


def jeprof():
    """The Perl script on a heap dump of a live ceph-osd: with binutils' addr2line, with ours, and our own jeprof."""
    perl = shutil.which("jeprof")
    if not perl or not wanted("jeprof"):
        return
    folder = None
    pid = None
    try:
        environment = dict(os.environ, SETTINGS="heap=off", MALLOC_CONF="prof:true,lg_prof_sample:8,lg_prof_interval:24,prof_prefix:" + str(cache / "jeprof"))
        for old in cache.glob("jeprof.*.heap"):
            old.unlink()
        started = output("bench/ceph-osd-up", env=environment)
        facts = dict(line.split(" ", 1) for line in started.splitlines() if " " in line)
        pid, folder = int(facts["pid"]), facts["folder"]
        binary = facts["binary"]
        dumps = []
        for _ in range(300):
            dumps = sorted(cache.glob("jeprof.*.heap"), key=lambda p: p.stat().st_size)
            if dumps:
                break
            time.sleep(0.1)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
    if not dumps:
        note("\njeprof: ceph-osd wrote no dump")
        return
    dump = dumps[-1]
    note(f"\njeprof --dot --show_bytes on a dump of a live ceph-osd ({dump.stat().st_size / 1000:.0f} kB)")
    caches = cache / "cache.jeprof"
    off = dict(os.environ, PROCPROF_SYMBOL_CACHE="", HOME=str(cache))
    on = dict(off, PROCPROF_SYMBOL_CACHE=str(caches))
    rows = [("Perl, binutils' addr2line", [perl, "--dot", "--show_bytes", binary, dump], off),
            ("Perl, our addr2line", [perl, "--dot", "--show_bytes", f"--tools=addr2line:{OURS},/usr/bin/", binary, dump], off),
            ("Perl, ours from cache", [perl, "--dot", "--show_bytes", f"--tools=addr2line:{OURS},/usr/bin/", binary, dump], on),
            ("procprof jeprof, cold", [build / "procprof", "jeprof", "--dot", "--show_bytes", binary, dump], off),
            ("procprof jeprof, cache", [build / "procprof", "jeprof", "--dot", "--show_bytes", binary, dump], on)]
    shutil.rmtree(caches, ignore_errors=True)
    for _ in range(2):
        subprocess.run([str(OURS), "-e", binary, "0"], env=on, capture_output=True)
        subprocess.run([str(build / "procprof"), "jeprof", "--dot", binary, str(dump)], env=on, capture_output=True)
    first, texts = None, {}
    for name, command, environment in rows:
        figures = measure(command, os.devnull, environment, 2)
        texts[name] = subprocess.run([str(c) for c in command], capture_output=True, text=True, errors="replace", env=environment).stdout
        if not figures:
            note(f"  {name:26} failed")
            continue
        first = first or figures
        note(f"  {name:26} {figures.wall:8.3f} s wall {figures.cpu:8.3f} s CPU   {first.wall / figures.wall:6.1f}x")
    spell = lambda text: re.sub(r"[^0-9A-Za-z\n]", "", re.sub(r"\[clone[^]]*\]", "", text))
    a, b = spell(texts["Perl, binutils' addr2line"]).splitlines(), spell(texts["Perl, our addr2line"]).splitlines()
    n_different = sum(x != y for x, y in zip(a, b)) + abs(len(a) - len(b))
    note(f"  output of the Perl script with both: {len(a)} lines, {n_different} differ by more than a demangler's spelling")


def main():
    cache.mkdir(parents=True, exist_ok=True)
    note(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
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
            table("ceph compressed", packed, ["1", "100", "10k"])
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
        note("\nagreement on 10,000 addresses (linkage names; clone suffixes and constructor kinds taken as one)")
        for binary in binaries:
            agreement(binary, make_addresses(binary))
    jeprof()


if __name__ == "__main__":
    main()

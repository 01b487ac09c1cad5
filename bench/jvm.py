#!/usr/bin/env python3
"""make bench-jvm: what profiling costs a JVM (on and off in turns) beside async-profiler by itself, a question to a JVM beside jcmd,
and reading a 1 GB recording beside jfrconv.

  BENCH_SECONDS=20        how long each kind of profiling is measured, ours and the peer's together
  BENCH_JFR_MB=1024       size of the recording
"""
import math, os, pathlib, shutil, statistics, subprocess, sys, time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH.parent / "tests" / "collect")]
sys.argv[1:] = []
import side_by_side as bench  # noqa: E402
from jvmtest import *  # noqa: E402,F403

SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
JFR_MB = int(os.environ.get("BENCH_JFR_MB", "1024"))
CONFIGURATIONS = (  # name, our options, the same for async-profiler
    ("cpu, 10 ms", ["--event", "cpu"], "event=cpu,interval=10ms"),
    ("cpu, 1 ms", ["--event", "cpu", "--interval", "1ms"], "event=cpu,interval=1ms"),
    ("alloc, 2 MB (StarRocks)", ["--event", "alloc", "--alloc-interval", "2m"], "alloc=2m"),
    ("alloc, 512 KB", ["--event", "alloc"], "alloc=512k"),
    ("cpu + alloc + lock + wall", ["--event", "cpu,alloc,lock,wall"], "event=cpu,interval=10ms,alloc=512k,lock=10us,wall=50ms"))


PIECE_S = 0.25  # CPU time of one piece of work
MIN_SESSIONS = 3  # of each; the first one does not count


def cpu_s(pid):
    """CPU time of a whole process, by its own clock of nanoseconds."""
    return time.clock_gettime_ns(~pid << 3 | 2) / 1e9


def piece(java, batches):
    """CPU seconds of the whole JVM (its compiler, collector and profiler too) for a fixed amount of work."""
    before = cpu_s(java.pid)
    java.work(str(batches))
    return cpu_s(java.pid) - before


def warmed_up(home):
    """A JVM whose work is compiled, and how much work is a piece."""
    java = Java("Bench", home=home, options=("-Xms512m", "-Xmx512m"))
    batches, begin = 16, time.monotonic()
    while True:
        spent = piece(java, batches)
        if spent >= PIECE_S / 2 and time.monotonic() - begin > 4:
            return java, max(1, int(batches * PIECE_S / spent))
        if spent < PIECE_S / 2:
            batches *= 2


def interval_of_median(values):
    """Between which of the sorted values the true median is in 95 of 100 cases, whatever the distribution."""
    values, n = sorted(values), len(values)
    below, rank = 0.0, 0
    while rank < n // 2 and below + math.comb(n, rank) / 2 ** n <= 0.025:
        below += math.comb(n, rank) / 2 ** n
        rank += 1
    return values[max(0, rank - 1)], values[n - max(1, rank)]


class Alone:
    """async-profiler as its own launcher drives it: one command to start, one to stop."""

    def __init__(self, java, options):
        self.java = java
        self.command(f"start,{options},jfr,file={WORK}/peer.jfr")

    def command(self, text):
        done = procprof("jvm", "jcmd", self.java.pid, "JVMTI.agent_load", async_profiler_library(), f'"{text}"')
        check("return code: 0" in done.stdout, text, done.stdout, done.stderr)

    def end(self):
        self.command(f"stop,file={WORK}/peer.jfr")


def session(java, batches, begin):
    """How much more CPU time the same work takes while it is profiled: two pairs, off on on off. A machine that gets slower or faster
    in these seconds is not taken for overhead."""
    off = piece(java, batches)
    profiler = begin()
    on, on2 = piece(java, batches), piece(java, batches)
    profiler.end()
    off2 = piece(java, batches)
    return [on / off - 1, on2 / off2 - 1]


def told(ratios):
    low, high = interval_of_median(ratios)
    return f"{statistics.median(ratios) * 100:+7.1f}%  {low * 100:+6.1f} ..{high * 100:+6.1f}%"


def overhead(major, home):
    java, batches = warmed_up(home)
    print(f"\nWhat profiling costs: CPU time of the JVM for the same work, JDK {major}; pairs of {PIECE_S:g} s off and on, in turns")
    print(f"  {'':28}{'procprof':>9}{'95 % interval':>18}{'async-profiler':>18}{'95 % interval':>16}{'pairs of each':>15}")
    for name, options, peer in CONFIGURATIONS:
        begin_ours, begin_peer = lambda: Collector(java, *options, "-o", "bench.pb.gz"), lambda: Alone(java, peer)
        ours, theirs, end = [], [], time.monotonic() + SECONDS
        for begin in (begin_ours, begin_peer):  # compiles what the profiler runs in
            session(java, batches, begin)
        while len(theirs) < 2 * (MIN_SESSIONS - 1) or time.monotonic() < end:
            ours += session(java, batches, begin_ours)
            theirs += session(java, batches, begin_peer)
        print(f"  {name:28}{told(ours)}{'':9}{told(theirs)}{len(ours):12}", flush=True)
    java.end()


def asking():
    home = need_jdk()
    java = Java("Idle", home=home)
    bench.heading("A question to a running JVM (VM.version)")
    bench.compare("jvm jcmd; peer: jcmd of the JDK", [PROCPROF, "jvm", "jcmd", str(java.pid), "VM.version"],
                  [f"{home}/bin/jcmd", str(java.pid), "VM.version"], str(WORK), rounds=5)
    java.end()


def reading():
    converter = cache() / "maven" / "jfr-converter-4.5.jar"
    h2 = cache() / "maven" / "h2-2.4.240.jar"
    home = need_jdk()
    classes = WORK / "demo-fe"
    subprocess.run([f"{home}/bin/javac", "-g", "-d", str(classes), str(BENCH.parent / "examples/demo-fe/DemoFe.java")], check=True)
    java = Java(None, "--load", "0.9", "--sessions", "8", home=home, classpath=f"{classes}:{h2}", main="DemoFe")
    part, whole = WORK / "part.jfr", WORK / "whole.jfr"
    procprof("collect", "--jvm", java.pid, "--event", "cpu,wall,alloc,lock", "--interval", "200us", "--wall-interval", "2ms",
             "--alloc-interval", "4k", "--lock-interval", "1us", "--duration", "20", "--jfr", part)
    java.end()
    data = part.read_bytes()
    with open(whole, "wb") as out:  # chunks follow each other, as in a recording of many hours
        while out.tell() < JFR_MB << 20:
            out.write(data)
    bench.heading(f"Reading a recording of {whole.stat().st_size >> 20} MB ({len(data) >> 10} KB of a database under load, again and again)")
    for title, ours, theirs in (("CPU as collapsed", ["-s", "cpu"], ["--cpu"]),
                                ("allocations as collapsed", ["-s", "alloc_space"], ["--alloc", "--total"])):
        peer = [f"{home}/bin/java", "-jar", str(converter), *theirs, "-o", "collapsed", str(whole), str(WORK / "theirs.collapsed")]
        bench.compare(title + "; peer: jfrconv", [PROCPROF, "convert", "--to", "collapsed", *ours, str(whole)],
                      peer if converter.exists() else None, str(WORK), goal=5, rounds=3)
    usage = bench.run_once([PROCPROF, "convert", "--to", "collapsed", "-s", "cpu", str(whole)], str(WORK / "memory.out"))
    print(f"  memory: {usage.rss_mb:.0f} MB   goal 300 MB: {'met' if usage.rss_mb <= 300 else 'MISSED'}")


try:
    need_async_profiler()
    if "overhead" not in os.environ.get("BENCH_SKIP", ""):
        for major, home in jdks().items():
            overhead(major, home)
    asking()
    reading()
except Skip as why:
    print(f"left out: {why}")
finally:
    for java in list(Java.running):
        java.end()
    shutil.rmtree(WORK, ignore_errors=True)

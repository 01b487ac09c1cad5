#!/usr/bin/env python3
"""make bench-jvm: what profiling costs a JVM (on and off in turns), and reading a 1 GB recording beside jfrconv.

  BENCH_ROUNDS=12 BENCH_SECONDS=2    rounds of on and off, and how long each
  BENCH_JFR_MB=1024                  size of the recording
"""
import os, pathlib, shutil, statistics, subprocess, sys, time

BENCH = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH.parent / "tests" / "jvm")]
sys.argv[1:] = []
import side_by_side as bench  # noqa: E402
from jvmtest import *  # noqa: E402,F403

ROUNDS, SECONDS = int(os.environ.get("BENCH_ROUNDS", "12")), float(os.environ.get("BENCH_SECONDS", "2"))
JFR_MB = int(os.environ.get("BENCH_JFR_MB", "1024"))
CONFIGURATIONS = (("cpu, 10 ms", ["--event", "cpu"]), ("cpu, 1 ms", ["--event", "cpu", "--interval", "1ms"]),
                  ("alloc, 2 MB (StarRocks)", ["--event", "alloc", "--alloc-interval", "2m"]),
                  ("alloc, 512 KB", ["--event", "alloc"]),
                  ("cpu + alloc + lock + wall", ["--event", "cpu,alloc,lock,wall"]))


def mark(java):
    before = java.output().count("done ")
    java.say("mark")
    while java.output().count("done ") == before:
        time.sleep(0.01)
    words = dict(w.split("=") for w in java.output().split("done ")[-1].split())
    return int(words["ops"]), int(words["cpu"])


def cost(java):
    """CPU nanoseconds of the whole process for one operation, over SECONDS."""
    ops, cpu = mark(java)
    time.sleep(SECONDS)
    ops2, cpu2 = mark(java)
    return (cpu2 - cpu) / max(1, ops2 - ops)


def overhead(major, home):
    print(f"\nWhat profiling costs: CPU time for the same work, JDK {major}, {ROUNDS} rounds of {SECONDS:g} s off and on")
    print(f"  {'':42}{'median':>9}{'quartiles':>18}")
    java = Java("Bench", home=home)
    for name, options in CONFIGURATIONS:
        ratios = []
        for round_number in range(ROUNDS):
            # Off and on change places every round: a machine that gets slower is not taken for overhead.
            def on():
                collector = Collector(java, *options, "-o", "bench.pb.gz")
                value = cost(java)
                collector.end()
                return value
            if round_number % 2:
                with_it, without = on(), cost(java)
            else:
                without, with_it = cost(java), on()
            ratios.append(with_it / without - 1)
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"  {name:42}{middle * 100:+8.1f}%{low * 100:+9.1f} ..{high * 100:+6.1f}%", flush=True)
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
    peer = [f"{home}/bin/java", "-jar", str(converter), "--cpu", "-o", "collapsed", str(whole), str(WORK / "theirs.collapsed")]
    bench.compare("all events, CPU as collapsed", [PROCPROF, "convert", "--to", "collapsed", "-s", "cpu", str(whole)],
                  peer if converter.exists() else None, str(WORK), goal=5, rounds=3)
    usage = bench.run_once([PROCPROF, "convert", "--to", "collapsed", "-s", "cpu", str(whole)], str(WORK / "memory.out"))
    print(f"  memory: {usage.rss_mb:.0f} MB   goal 300 MB: {'met' if usage.rss_mb <= 300 else 'MISSED'}")


try:
    need_async_profiler()
    if "overhead" not in os.environ.get("BENCH_SKIP", ""):
        for major, home in jdks().items():
            overhead(major, home)
    reading()
except Skip as why:
    print(f"left out: {why}")
finally:
    for java in list(Java.running):
        java.end()
    shutil.rmtree(WORK, ignore_errors=True)

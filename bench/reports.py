#!/usr/bin/env python3
"""Reports and flame graphs beside google/pprof and inferno, and how the cost grows with the input."""
import os, pathlib, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(__file__))
from side_by_side import compare, heading, line, median, run_once, same_text

build = pathlib.Path(os.environ.get("B", "build")).resolve()
ours = str(build / "procprof")
gen = str(build / "bench" / "gen")
peers = pathlib.Path(os.environ["PROCPROF_PEERS"]) / "bin"
pprof = str(peers / "pprof") if (peers / "pprof").exists() else None
inferno = str(peers / "inferno-flamegraph") if (peers / "inferno-flamegraph").exists() else None


def make(path, *arguments):
    with open(path, "wb") as out:
        subprocess.run([gen, *map(str, arguments)], stdout=out, check=True)
    return path


def size_mb(path):
    return os.path.getsize(path) / 1e6


def totals(ours_path, peer_path):
    """Two merged profiles say the same when both are read by one reader and the tables agree."""
    tables = [subprocess.run([ours, "pprof", "-top", "-nodecount=50", p], capture_output=True).stdout.split(b"\n", 1)[-1]
              for p in (ours_path, peer_path)]
    return "same rows" if tables[0] == tables[1] else "ROWS DIFFER"


with tempfile.TemporaryDirectory() as work:
    big = make(f"{work}/big.pb.gz", "profile", 300_000, 60, 20_000)
    heading(f"profile of 300k samples, depth 30-60, 20k functions ({size_mb(big):.0f} MB gz), against the newest google/pprof")
    rounds = int(os.environ.get("ROUNDS", "3"))
    for flag, goal in (("-top", 40), ("-dot", 20), ("-raw", 20)):
        compare(f"pprof {flag}", [ours, "pprof", flag, big], pprof and [pprof, flag, big], work, goal, rounds, same_text)
    os.unlink(f"{work}/peer.out") if os.path.exists(f"{work}/peer.out") else None

    parts = [make(f"{work}/part{i}.pb.gz", "profile", 30_000, 60, 20_000, i) for i in range(32)]
    heading("-proto merge of 32 profiles of 30k samples")
    # pprof writes its table to a file, as ours does with -output.
    compare("merge", [ours, "pprof", "-proto", "-output", f"{work}/ours.pb.gz", *parts],
            pprof and [pprof, "-proto", "-output", f"{work}/peer.pb.gz", *parts], work, 10, rounds,
            lambda a, b: totals(f"{work}/ours.pb.gz", f"{work}/peer.pb.gz"))

    heading("cost by size of the input (ours alone): pprof -top")
    for factor in (1, 2, 4):
        grown = make(f"{work}/x{factor}.pb.gz", "profile", 300_000 * factor, 60, 20_000)
        runs = [run_once([ours, "pprof", "-top", grown], f"{work}/ours.out") for _ in range(rounds)]
        line(f"{factor}x: {300 * factor}k samples, {size_mb(grown):.0f} MB gz", median(runs))
        os.unlink(grown)

    heading("collapsed stacks to a flame graph SVG, against inferno-flamegraph")
    short = make(f"{work}/short.folded", "folded-short", 220_000, 160_000_000)
    compare(f"{size_mb(short):.0f} MB short names", [ours, "flame", short], inferno and [inferno, short], work, 4, rounds)
    cpp = make(f"{work}/cpp.folded", "folded-cpp", 20_000, 170_000_000)
    compare(f"{size_mb(cpp):.0f} MB long C++ names", [ours, "flame", cpp], inferno and [inferno, cpp], work, 2, rounds)

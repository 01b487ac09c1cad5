"""Runs ourselves and a peer on the same input in one run, and prints time, memory and the ratio.

Every benchmark script prints through here, so all tables look alike. A figure is the median of its rounds; ours and the peer's rounds
alternate, so that a busy moment of the machine meets both.
"""
import os, resource, signal, statistics, subprocess, sys, time


class Run:
    def __init__(self, wall_s, cpu_s, rss_mb, output):
        self.wall_s, self.cpu_s, self.rss_mb, self.output = wall_s, cpu_s, rss_mb, output


def high_water(pid):
    """Peak resident MB of the program that runs as pid; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(l.split()[1]) / 1024 for l in status if l.startswith("VmHWM")), 0)
    except OSError:
        return 0


def run_once(command, output_path):
    with open(output_path, "wb") as out, open(output_path + ".err", "wb") as err:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        high_water_mb = 0
        while True:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            if done:
                break
            high_water_mb = max(high_water_mb, high_water(child.pid))
            time.sleep(0.002)
        wall_s = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        tail = open(output_path + ".err", errors="replace").read()[-400:]
        raise RuntimeError(f"{' '.join(command)[:200]}: exit status {child.returncode}\n{tail}")
    # ru_maxrss begins with what this script had when it started the program: of use only where that is little
    return Run(wall_s, usage.ru_utime + usage.ru_stime, min(usage.ru_maxrss / 1024, high_water_mb or 1e9), output_path)


def median(runs):
    return Run(statistics.median(r.wall_s for r in runs), statistics.median(r.cpu_s for r in runs),
               statistics.median(r.rss_mb for r in runs), runs[-1].output)


def heading(text):
    print(f"\n{text}")
    print(f"{'':44}{'wall s':>9}{'cpu s':>9}{'RSS MB':>9}   ratio (wall)   goal")


def line(name, run, note=""):
    print(f"  {name:42}{run.wall_s:9.3f}{run.cpu_s:9.3f}{run.rss_mb:9.0f}   {note}", flush=True)


def compare(title, ours, peer, work_dir, goal=None, rounds=3, same=None):
    """ours, peer: command lines. same(ours_path, peer_path) -> text about the outputs. Returns the ratio, or None without a peer."""
    ours_runs, peer_runs = [], []
    for _ in range(rounds):
        ours_runs.append(run_once(ours, os.path.join(work_dir, "ours.out")))
        if peer:
            peer_runs.append(run_once(peer, os.path.join(work_dir, "peer.out")))
    us = median(ours_runs)
    if not peer:
        line(title + ": procprof", us, "no peer on this machine")
        return None
    them = median(peer_runs)
    ratio = them.wall_s / us.wall_s
    verdict = "" if goal is None else f"goal {goal:g}x: {'met' if ratio >= goal else 'MISSED'}"
    outputs = "" if same is None else "   " + same(us.output, them.output)
    line(title + ": procprof", us, f"{ratio:8.1f}x      {verdict}{outputs}")
    line(title + ": peer", them)
    return ratio


def same_text(ours, theirs):
    return "same text" if open(ours, "rb").read() == open(theirs, "rb").read() else "TEXT DIFFERS"

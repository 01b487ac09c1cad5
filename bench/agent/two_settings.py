#!/usr/bin/env python3
"""CPU seconds of real servers with the library in one setting against another, in paired rounds.

    bench/agent/two_settings.py [--rounds N] [--hosts redis,mariadbd] LIBRARY:SETTINGS LIBRARY:SETTINGS

Each round starts a new server for each setting, so the layout of one process and the state of one data folder do not decide the
result. Both servers warm up, then do the same amount of work in small pieces in turns, so a slow second of the machine meets
both. The servers have one core, the load generator the other. The result is the mean of ln(second / first) over the rounds with
its 95 % interval. Example:

    bench/agent/two_settings.py build/libprocprof.so:heap=off build/libprocprof.so:heap=on
"""
import argparse
import math
import os
import pathlib
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SERVER_CORE, LOAD_CORE = (["taskset", "-c", "1"], ["taskset", "-c", "0"]) if (os.cpu_count() or 1) > 1 else ([], [])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu_seconds(pid):
    """The time that all threads of a process have run. schedstat counts nanoseconds."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            total += int(pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
        except OSError:
            pass  # The thread has ended between the two calls; its time is lost, and both settings lose it alike.
    return total / 1e9


def wait_until(ready, what):
    until = time.monotonic() + 60
    while not ready():
        if time.monotonic() > until:
            raise SystemExit(f"{what} does not answer within 60 s")
        time.sleep(0.05)


class Redis:
    name = "redis"
    programs = ("redis-server", "redis-benchmark", "redis-cli")
    n_warm_up, n_piece, n_pieces = 20_000, 5_000, 20

    def __init__(self, folder):
        self.port = free_port()

    def command(self):
        return ["redis-server", "--port", str(self.port), "--save", "", "--appendonly", "no"]

    def is_ready(self):
        return subprocess.run(["redis-cli", "-p", str(self.port), "ping"], **QUIET).returncode == 0

    def work(self, n):
        subprocess.run([*LOAD_CORE, "redis-benchmark", "-p", str(self.port), "-t", "set,lpush,lpop,hset,get", "-n", str(n), "-r", "100000", "-d", "200", "-q", "-P", "8"], check=True, **QUIET)


class MariaDb:
    name = "mariadbd"
    programs = ("mariadbd", "mariadb-install-db", "mariadb-slap", "mariadb-admin")
    n_warm_up, n_piece, n_pieces = 1_000, 500, 12

    def __init__(self, folder):
        self.port, self.folder = free_port(), folder
        template = folder.parent / "mariadb_template"
        if not template.exists():
            subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={template}", "--auth-root-authentication-method=normal", "--user=root", "--skip-test-db"], check=True, **QUIET)
        shutil.copytree(template, folder / "data")

    def command(self):
        return ["mariadbd", "--no-defaults", f"--datadir={self.folder}/data", f"--port={self.port}", f"--socket={self.folder}/socket", "--bind-address=127.0.0.1", "--user=root",
                "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M"]

    def is_ready(self):
        return subprocess.run(["mariadb-admin", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "ping"], **QUIET).returncode == 0

    def work(self, n):
        subprocess.run([*LOAD_CORE, "mariadb-slap", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "--concurrency=2", "--iterations=1", "--auto-generate-sql",
                        "--auto-generate-sql-load-type=mixed", f"--number-of-queries={n}"], check=True, **QUIET)


def start(host, setting):
    library, _, settings = setting.partition(":")
    environment = {**os.environ, "LD_PRELOAD": str(pathlib.Path(library).resolve()), "PROCPROF": f"{settings},listen=127.0.0.1:{free_port()}"}
    # taskset replaces itself by the server, so the process id is the server's.
    return subprocess.Popen([*SERVER_CORE, *host.command()], env=environment, **QUIET)


def warm_up(host, server, setting):
    library = setting.partition(":")[0]
    wait_until(host.is_ready, host.name)
    if pathlib.Path(library).name not in pathlib.Path(f"/proc/{server.pid}/maps").read_text():
        raise SystemExit(f"{host.name} does not have {library} loaded")
    host.work(host.n_warm_up)


def one_round(kind, settings, folder):
    """CPU seconds of two new servers for the same amount of work, one for each setting."""
    hosts, servers, seconds = [], [], [0.0, 0.0]
    try:
        for setting in settings:
            place = pathlib.Path(tempfile.mkdtemp(dir=folder))
            hosts.append(kind(place))
            servers.append(start(hosts[-1], setting))
            warm_up(hosts[-1], servers[-1], setting)
        for _ in range(kind.n_pieces):
            for i in random.sample([0, 1], 2):
                before = cpu_seconds(servers[i].pid)
                hosts[i].work(kind.n_piece)
                seconds[i] += cpu_seconds(servers[i].pid) - before
        return seconds
    finally:
        for server in servers:
            server.kill()
            server.wait()


def student_t(n):
    """The factor of the 95 % interval of a mean of n values."""
    return next(t for most, t in ((5, 2.78), (10, 2.26), (20, 2.09), (30, 2.05), (60, 2.0), (math.inf, 1.98)) if n <= most)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=30)
    arguments.add_argument("--hosts", default="redis,mariadbd")
    arguments.add_argument("first", metavar="LIBRARY:SETTINGS")
    arguments.add_argument("second", metavar="LIBRARY:SETTINGS")
    given = arguments.parse_args()
    kinds = (Redis, MariaDb)
    if given.rounds < 5:
        arguments.error("an interval needs at least 5 rounds")
    for name in set(given.hosts.split(",")) - {kind.name for kind in kinds}:
        arguments.error(f"{name} is not one of {', '.join(kind.name for kind in kinds)}")
    for kind in kinds:
        if kind.name not in given.hosts.split(","):
            continue
        missing = [p for p in kind.programs if not shutil.which(p)]
        if missing:
            sys.exit(f"{missing[0]} is not installed; tools/setup bench installs it")
        with tempfile.TemporaryDirectory(prefix="two_settings.") as folder:
            logs = []
            for n in range(given.rounds):
                first, second = one_round(kind, (given.first, given.second), folder)
                logs.append(math.log(second / first))
                print(f"{kind.name} {n + 1}/{given.rounds}: {first:.3f} s, {second:.3f} s, {100 * math.expm1(logs[-1]):+.2f} %", flush=True)
        mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
        low, high = (100 * math.expm1(mean + sign * student_t(len(logs)) * error) for sign in (-1, 1))
        print(f"{kind.name}: {given.second} needs {100 * math.expm1(mean):+.2f} % CPU (95 % interval {low:+.2f} to {high:+.2f}, median {100 * math.expm1(statistics.median(logs)):+.2f} %, "
              f"{given.rounds} rounds) against {given.first}", flush=True)


main()

"""What the tests of the server share: TAP, a server in a folder of its own, nodes that behave well or badly, tiny profiles."""
import gzip
import http.client
import http.server
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from testlib import Skip, cpu_seconds, has_closed_part, java_classes, recording_of, run_cases

BUILD = os.path.join(ROOT, os.environ.get("B", "build"))
PROGRAM = os.path.join(BUILD, "procprof")

# ---- TAP

_tests = []


def test(f):
    _tests.append(f)
    return f


def run_tests(at_a_time=6):
    run_cases([(t.__name__.replace("_", " "), t) for t in _tests], at_a_time, clean_up)


_cleanups = []


def clean_up():
    while _cleanups:
        try:
            _cleanups.pop()()
        except Exception as why:
            print(f"# clean-up: {why}")


def temporary_folder():
    folder = tempfile.mkdtemp(prefix="procprof-test.")
    _cleanups.append(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def eventually(condition, seconds=20, what="it", every_s=0.05):
    """The first true value of condition(), which is asked again after every_s; an error when there is none in time."""
    until = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(every_s)


# ---- profiles

def _varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, value):
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, str):
        value = value.encode()
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def profile(stacks, types=(("samples", "count"), ("cpu", "nanoseconds")), duration_s=1):
    """profile.proto, packed. stacks: {("leaf", ..., "root"): (value, ...)}"""
    strings = [""]

    def text(s):
        if s not in strings:
            strings.append(s)
        return strings.index(s)

    names, out = [], b""
    for kind, unit in types:
        out += _field(1, _field(1, text(kind)) + _field(2, text(unit)))
    for stack, values in stacks.items():
        sample = b""
        for name in stack:
            if name not in names:
                names.append(name)
            sample += _field(1, names.index(name) + 1)
        for value in values:
            sample += _field(2, value)
        out += _field(2, sample)
    for i, name in enumerate(names, 1):
        out += _field(4, _field(1, i) + _field(4, _field(1, i)))
        out += _field(5, _field(1, i) + _field(2, text(name)) + _field(3, text(name)))
    for s in strings:
        out += _field(6, s)
    out += _field(9, time.time_ns()) + _field(10, int(duration_s * 1e9))
    return gzip.compress(out)


CPU = profile({("leaf", "main"): (3, 30000000), ("other", "main"): (1, 10000000)})
HEAP = profile({("alloc", "main"): (2, 4096)}, (("inuse_objects", "count"), ("inuse_space", "bytes")))
CONTENTION = profile({("lock", "main"): (5, 700)}, (("contentions", "count"), ("delay", "nanoseconds")))


# ---- nodes

class Node:
    """An HTTP server of one's own making: answers[path] is bytes, or a function of the handler."""

    def __init__(self, answers=None, seconds=0.05, port=0):
        node = self
        self.requests = []
        self.answers = {"/pprof/profile": CPU, "/pprof/heap": HEAP, "/pprof/contention": CONTENTION}
        self.answers.update(answers or {})

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                path = self.path.split("?")[0]
                node.requests.append((self.path, dict(self.headers)))
                answer = node.answers.get(path)
                if callable(answer):
                    return answer(self)
                if answer is None:
                    return self.reply(404, b"no such thing")
                if "seconds" in self.path:
                    time.sleep(seconds)
                self.reply(200, answer)

            do_POST = do_GET

            def reply(self, status, body, kind="application/octet-stream", length=None):
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body) if length is None else length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        _cleanups.append(self.stop)

    def stop(self):
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# ---- the server

class Server:
    def __init__(self, *options, folder=None, wait=True, env=None, program=None):
        self.folder = folder or temporary_folder()
        os.makedirs(self.folder, exist_ok=True)
        self.data = os.path.join(self.folder, "data")
        self.options = options
        self.process = None
        self.env = env
        self.program = program or [PROGRAM]
        self.session = None
        _cleanups.append(self.kill)
        self.start(wait)

    def start(self, wait=True):
        ports = os.path.join(self.folder, "ports")
        if os.path.exists(ports):
            os.unlink(ports)
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(
            [*self.program, "serve", "--data", self.data, "--http-port", "0", "--mysql-port", "0", "--ports-file", ports, *self.options],
            stderr=self.log, stdout=self.log, stdin=subprocess.DEVNULL, env={**os.environ, **(self.env or {})}, start_new_session=True)
        self.session = None
        if wait:
            self.wait_ports()

    def wait_ports(self):
        ports = os.path.join(self.folder, "ports")
        eventually(lambda: os.path.exists(ports) or self.process.poll() is not None, 120, "the start of the server")
        if self.process.poll() is not None:
            raise AssertionError("the server ended: " + self.read_log()[-2000:])
        words = dict(w.split("=") for w in open(ports).read().split())
        self.http_port, self.mysql_port = int(words["http"]), int(words["mysql"])

    def read_log(self):
        return open(os.path.join(self.folder, "log"), errors="replace").read()

    def request(self, method, path, body=None, headers=None, timeout=60):
        c = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=timeout)
        try:
            c.request(method, path, body, headers or {})
            r = c.getresponse()
            data = r.read()
            return r.status, {k.lower(): v for k, v in r.getheaders()}, data
        finally:
            c.close()

    def get(self, path, headers=None, status=200):
        got, _, body = self.request("GET", path, None, headers)
        assert got == status, f"GET {path}: {got}, not {status}: {body[:300]}"
        return body

    def json(self, path, headers=None):
        return json.loads(self.get(path, headers))

    def csrf(self):
        """Cookie and token, as the page has them."""
        if not self.session:
            _, headers, body = self.request("GET", "/api/v1/session")
            self.session = {"Cookie": headers["set-cookie"].split(";")[0], "X-CSRF-Token": json.loads(body)["csrf"]}
        return self.session

    def post(self, path, value, status=200, headers=None):
        got, _, body = self.request("POST", path, json.dumps(value), {"Content-Type": "application/json", **self.csrf(), **(headers or {})})
        assert got == status, f"POST {path}: {got}, not {status}: {body[:300]}"
        return json.loads(body)

    def profiles(self, query=""):
        return self.json("/api/v1/profiles?limit=10000&" + query)["profiles"]

    def node(self, node_id):
        return next(n for n in self.json("/api/v1/nodes")["nodes"] if n["id"] == node_id)

    def type_state(self, node_id, kind):
        """The state of a type at a node. The server lists a type when its collector has first looked at the node."""
        return eventually(lambda: next((t for t in self.node(node_id)["types"] if t["type"] == kind), None), 20, f"a state of {kind} at node {node_id}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(30)
        if status:
            for line in self.read_log()[-3000:].splitlines():
                print("#   " + line)
        return status

    def kill(self):
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)  # with what it was started through (faketime)
            except ProcessLookupError:
                pass
            self.process.wait()
        self.log.close()


def fast(*nodes, types="cpu", interval=1, seconds=1):
    """Options for a quick schedule and these nodes."""
    options = ["--set", f"be_profile_types={types}", "--set", f"COLLECT_BE_PROFILE_INTERVAL={interval}", "--set", f"be_collect_time_s={seconds}"]
    for i, n in enumerate(nodes):
        options += ["--node", n if isinstance(n, str) else f"BE 127.0.0.1:{n.port} name=n{i}"]
    return options

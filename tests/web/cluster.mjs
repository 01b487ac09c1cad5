// A real cluster for the page's tests: a demo backend with the library linked in, redis with the library preloaded, one node that does
// not answer, and the server that collects from them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { atEnd, build, folder, program, root, start, until } from "./browser.mjs";

function inPath(name) {
  for (const dir of (process.env.PATH ?? "").split(":")) if (existsSync(join(dir, name))) return join(dir, name);
  return null;
}

// A backend that waits for its log most of the time: it uses little CPU time, and every second has lock waits in it.
export async function startBackend() {
  const child = start(join(build, "demo_be"), ["--listen", "127.0.0.1:0", "--log-write", "250", "--threads", "2"]);
  const port = await until("the demo backend", () => /port (\d+)/.exec(child.output)?.[1]);
  return { child, port: Number(port) };
}

// Lets a process run a tenth of the time: it asks as fast as it can otherwise, and the tests beside this one need the cores too.
function nowAndThen(child) {
  let turn = 0;
  const signal = (name) => { try { process.kill(child.pid, name); } catch { /* gone */ } };
  const timer = setInterval(() => signal(turn++ % 10 ? "SIGSTOP" : "SIGCONT"), 25);
  atEnd(() => { clearInterval(timer); signal("SIGCONT"); });
  return child;
}

// redis with libprocprof preloaded, and somebody who asks it things; null where redis is not installed.
export async function startRedis() {
  const redis = inPath("redis-check-rdb") ?? inPath("redis-server"), benchmark = inPath("redis-benchmark");
  if (!redis || !benchmark) return null;
  const dir = folder(), server = join(dir, "redis-server"), portFile = join(dir, "port"), socket = join(dir, "redis.sock");
  symlinkSync(redis, server); // what it is depends on its name
  const child = start(server, ["--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir],
    { env: { ...process.env, LD_PRELOAD: join(build, "libprocprof.so"), PROCPROF: `listen=127.0.0.1:0,portfile=${portFile},heap=on` } });
  await until("redis", () => existsSync(socket) && existsSync(portFile) && readFileSync(portFile, "utf8").trim());
  nowAndThen(start(benchmark, ["-s", socket, "-l", "-q", "-c", "2", "-n", "2000", "-d", "200", "-t", "set,get,lpush,lrange_100"]));
  return { child, port: Number(readFileSync(portFile, "utf8").trim().split(":").pop()) };
}

const FRONTEND = `
public class WebFrontend {
    static volatile long sink;
    static void planQueries() { long x = 1; for (int i = 0; i < 300000; i++) x = x * 6364136223846793005L + i; sink += x; }
    public static void main(String[] a) throws Exception { System.out.println("ready"); while (true) { planQueries(); Thread.sleep(20); } }
}`;

// A JVM that works, for the server's setting fe_jvm; null where there is no JDK.
export async function startFrontend() {
  const java = inPath("java"), javac = inPath("javac");
  if (!java || !javac) return null;
  const compile = "import sys; sys.path.insert(0, sys.argv[1]); from testlib import java_classes; print(java_classes(*sys.argv[2:]))";
  const classes = execFileSync("python3", ["-c", compile, join(root, "tests"), javac, FRONTEND], { env: { ...process.env, B: build } }).toString().trim();
  const child = start(java, ["-Xmx64m", "-XX:+UseSerialGC", "-cp", classes, "WebFrontend"]);
  await until("the JVM", () => /ready/.test(child.output), 60);
  return { child, pid: child.pid };
}

export async function startServer({ nodes = [], settings = {}, more = [] } = {}) {
  const dir = folder(), ports = join(dir, "ports");
  const child = start(program, ["serve", "--data", join(dir, "data"), "--http-port", "0", "--mysql-port", "0", "--ports-file", ports,
    ...nodes.flatMap((n) => ["--node", n]), ...Object.entries(settings).flatMap(([k, v]) => ["--set", `${k}=${v}`]), ...more]);
  const text = await until("the server", () => {
    if (child.exitCode !== null) throw new Error("the server ended: " + child.output);
    return existsSync(ports) && /http/.test(readFileSync(ports, "utf8")) && readFileSync(ports, "utf8");
  });
  const http = Number(/http\D*(\d+)/.exec(text)[1]), mysql = Number(/mysql\D*(\d+)/.exec(text)?.[1] ?? 0);
  const url = `http://127.0.0.1:${http}`;
  const api = async (path) => (await fetch(`${url}/api/v1/${path}`)).json();
  const set = async (key, value) => {
    const session = await fetch(`${url}/api/v1/session`), Cookie = session.headers.get("set-cookie").split(";")[0];
    const answer = await fetch(`${url}/api/v1/settings`, { method: "POST", body: JSON.stringify({ key, value: String(value) }),
      headers: { "Content-Type": "application/json", Cookie, "X-CSRF-Token": (await session.json()).csrf } });
    if (!answer.ok) throw new Error(`${key} = ${value}: ${answer.status} ${await answer.text()}`);
  };
  return { child, url, mysql, api, set, dir };
}

export function sql(server, ...statements) {
  return execFileSync("mysql", ["-h", "127.0.0.1", "-P", String(server.mysql), "-u", "root", "--batch", "-e", statements.join(";")]).toString();
}

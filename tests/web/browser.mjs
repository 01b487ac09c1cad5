// What the page's tests share: Chromium with a fresh profile, TAP, pages whose console must stay silent, a real server.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const build = process.env.B ?? join(root, "build");
export const program = join(build, "procprof");
export const flameTool = join(build, "tests/web/flame_tool");
export const modules = join(process.env.PROCPROF_NODE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "procprof-dev/node"), "node_modules");

// ---- TAP

let count = 0, failed = 0;
export function ok(fine, name, detail) {
  count++;
  if (!fine) failed++;
  console.log(`${fine ? "ok" : "not ok"} ${count} - ${name}`);
  if (!fine && detail !== undefined) console.log("# " + (typeof detail === "string" ? detail : JSON.stringify(detail)).split("\n").join("\n# "));
  return !!fine;
}
export function is(got, wanted, name) {
  return ok(JSON.stringify(got) === JSON.stringify(wanted), name, { got, wanted });
}
export function note(text) {
  console.log("# " + String(text).split("\n").join("\n# "));
}

// ---- things to end and remove, whatever happens

const cleanups = [];
export function atEnd(f) {
  cleanups.push(f);
}
let ended = false;
async function end(status) {
  if (ended) return;
  ended = true;
  for (const f of cleanups.reverse()) {
    try {
      await f();
    } catch { /* the rest must still be cleaned up */ }
  }
  process.exit(status);
}
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "procprof-web-"));
  atEnd(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  return path;
}

// Runs a test file's body: plan, exit status, no leftovers.
export async function run(body) {
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => void end(1));
  const late = setTimeout(() => { ok(false, "the test ends within its time"); console.log(`1..${count}`); void end(1); }, Number(process.env.WEB_TEST_SECONDS ?? 700) * 1000);
  try {
    const missing = whatIsMissing();
    if (missing) {
      console.log(`1..0 # skip ${missing}`);
      clearTimeout(late);
      return end(0);
    }
    await body();
  } catch (why) {
    ok(false, "no exception", why?.stack ?? String(why));
  }
  clearTimeout(late);
  console.log(`1..${count}`);
  await end(failed ? 1 : 0);
}

// The shell is Chromium without its windows: a test takes half the CPU time.
function chromium() {
  for (const name of ["chromium-headless-shell", "chromium"])
    for (const dir of (process.env.PATH ?? "").split(":")) if (existsSync(join(dir, name))) return join(dir, name);
  return null;
}
function whatIsMissing() {
  if (!chromium()) return "no chromium-headless-shell and no chromium (tools/setup test installs the first)";
  if (!existsSync(join(modules, "playwright-core"))) return "no playwright-core (tools/setup test installs it)";
  return null;
}

// ---- the browser

let browser = null;
export async function launch() {
  if (browser) return browser;
  const require = createRequire(join(modules, "x.js"));
  const { chromium: playwright } = require("playwright-core");
  browser = await playwright.launch({
    executablePath: chromium(), headless: true, timeout: 60000,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
  });
  atEnd(() => browser.close());
  return browser;
}

// A page in a fresh context. Errors of the console, of scripts, and requests to other places are kept in page.problems.
export async function open(url, options = {}) {
  const { size = [1280, 800], dark = false, locale = "en-US", reduced = true, touch = false, context: more = {} } = options;
  const context = await (await launch()).newContext({
    viewport: { width: size[0], height: size[1] }, colorScheme: dark ? "dark" : "light", locale, reducedMotion: reduced ? "reduce" : "no-preference",
    hasTouch: touch, acceptDownloads: true, timezoneId: "UTC", ...more,
  });
  context.setDefaultTimeout(20000);
  const page = await context.newPage();
  page.problems = [];
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") page.problems.push(`${m.type()}: ${m.text()} ${m.location().url ?? ""}`); });
  page.on("pageerror", (e) => page.problems.push(`exception: ${e.message}`));
  const origin = url.startsWith("http") ? new URL(url).origin : "file://";
  page.on("request", (r) => { if (!/^(data|blob):/.test(r.url()) && !r.url().startsWith(origin)) page.problems.push(`asks elsewhere: ${r.url()}`); });
  await page.goto(url);
  return page;
}

// Serious findings of axe-core, as lines.
export async function axe(page) {
  const source = join(modules, "axe-core/axe.min.js");
  if (!existsSync(source)) return [];
  if (!(await page.evaluate(() => !!window.axe))) await page.evaluate(readFileSync(source, "utf8"));
  const found = await page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | ")}`));
  return found;
}

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export async function until(what, check, seconds = 20) {
  const stop = Date.now() + seconds * 1000;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > stop) throw new Error(`waited ${seconds} s for: ${what}`);
    await wait(50);
  }
}

// Starts a process in a group of its own and ends the whole group at the end.
export function start(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...options });
  child.output = "";
  child.stdout?.on("data", (d) => (child.output += d));
  child.stderr?.on("data", (d) => (child.output += d));
  atEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((done) => child.once("exit", done));
    try { process.kill(-child.pid, "SIGTERM"); } catch { /* gone */ }
    await Promise.race([gone, wait(5000)]);
    if (child.exitCode === null && child.signalCode === null) try { process.kill(-child.pid, "SIGKILL"); } catch { /* gone */ }
  });
  return child;
}

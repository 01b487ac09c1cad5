// make bench-web: the flame graph beside async-profiler's HTML, speedscope and d3-flame-graph, in one run, in the same Chromium, over
// the same call trees of 10k, 100k and 1M nodes.   [TOOLS=procprof,speedscope] [ROUNDS=3] node bench/web.mjs [SIZE...]
//
//   load    navigation to the drawn picture, from a local file or server: CPU time of the page's main thread, ms
//   data    ours: from the packed data in the page to the drawn picture (of a large tree: what can be seen of it; the whole follows),
//           CPU time of the main thread, ms
//   zoom    into a frame and back, all that follows from it: CPU time of the main thread, the mean of both, ms
//   search  a regular expression over all names, and drawing it: CPU time of the main thread, ms
//   memory  JavaScript heap and array buffers after a collection, MB
//   file    what is loaded, MB
//
// A tool that needs more than LIMIT seconds for one round is left there; no round begins when a tool has had half of that in all.
import { execFileSync } from "node:child_process";
import { createReadStream, createWriteStream, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { extname, join } from "node:path";
import { atEnd, flameTool, folder, open, root, run, wait } from "../tests/web/browser.mjs";

process.env.WEB_TEST_SECONDS = "3000";
const peers = join(process.env.PROCPROF_PEERS_WEB ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "procprof-dev/peers-web"), "node_modules");
const sizes = process.argv.slice(2).map(Number).filter(Boolean);
const dir = folder(), rounds = Number(process.env.ROUNDS ?? 3), limitS = Number(process.env.LIMIT ?? 60);

// ---- inputs: one tree in every tool's form

function decode(bytes) {
  execFileSync("esbuild", [join(root, "web/src/flame/data.ts"), "--bundle", "--platform=node", "--format=cjs", `--outfile=${join(dir, "data.cjs")}`, "--log-level=warning"]);
  const data = createRequire(import.meta.url)(join(dir, "data.cjs")).decodeFlame(bytes);
  return { ...data.shape, names: data.names, self: data.values(0, false) };
}

async function lines(path, make) {
  const out = createWriteStream(path), batch = [];
  let size = 0;
  for (const line of make) {
    batch.push(line);
    if ((size += line.length) > 1 << 20) {
      if (!out.write(batch.join(""))) await new Promise((done) => out.once("drain", done));
      batch.length = size = 0;
    }
  }
  await new Promise((done) => out.end(batch.join(""), done));
}

function* folded(t) {
  const path = [];
  for (let i = 1; i < t.n; i++) {
    path.length = t.depth[i] - 1;
    path.push(t.names[t.fn[i]]);
    if (t.self[i]) yield `${path.join(";")} ${t.self[i]}\n`;
  }
}

function totals(t) {
  const total = t.self.slice();
  for (let i = t.n - 1; i > 0; i--) total[t.parent[i]] += total[i];
  return total;
}

function* speedscope(t) {
  const total = totals(t), open = [], ends = [];
  yield `{"$schema":"https://www.speedscope.app/file-format-schema.json","name":"bench","shared":{"frames":${JSON.stringify(t.names.map((name) => ({ name })))}},"profiles":[{"type":"evented","name":"bench","unit":"none","startValue":0,"endValue":${total[0]},"events":[`;
  let first = true, at = 0;
  const event = (type, frame, when) => { const text = `${first ? "" : ","}{"type":"${type}","frame":${frame},"at":${when}}`; first = false; return text; };
  const start = new Float64Array(t.maxDepth + 2);
  for (let i = 1; i < t.n; i++) {
    while (open.length >= t.depth[i]) { at = ends.pop(); yield event("C", open.pop(), at); }
    const begin = Math.max(start[t.depth[i]], t.depth[i] > 1 ? start[t.depth[i]] : 0);
    yield event("O", t.fn[i], begin);
    open.push(t.fn[i]);
    ends.push(begin + total[i]);
    start[t.depth[i] + 1] = begin;
    start[t.depth[i]] = begin + total[i];
  }
  while (open.length) yield event("C", open.pop(), ends.pop());
  yield "]}]}";
}

function* nested(t) {
  const total = totals(t);
  let depth = 0;
  yield `{"name":"all","value":${total[0]}`;
  for (let i = 1; i < t.n; i++) {
    if (t.depth[i] > depth) yield `,"children":[`;
    else { for (; depth > t.depth[i]; depth--) yield "}]"; yield "},"; }
    depth = t.depth[i];
    yield `{"name":"${t.names[t.fn[i]]}","value":${total[i]}`;
  }
  for (; depth > 0; depth--) yield "}]";
  yield "}";
}

// ---- a server for what cannot be opened as a file

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".wasm": "application/wasm", ".woff2": "font/woff2" };
const server = createServer((request, answer) => {
  const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const file = path.startsWith("/peers/") ? join(peers, path.slice(7)) : join(dir, path);
  if (!existsSync(file)) return answer.writeHead(404).end();
  answer.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/octet-stream", "Content-Length": statSync(file).size });
  createReadStream(file).pipe(answer);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
atEnd(() => server.close());
const origin = `http://127.0.0.1:${server.address().port}`;

// ---- measuring

async function attach(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const idle = async () => {
    for (let last = await busy(); ; ) {
      await wait(150);
      const now = await busy();
      if (now - last < 4) return now;
      last = now;
    }
  };
  return {
    busy,
    idle,
    async cost(action) {
      const before = await idle();
      await action();
      return (await idle()) - before;
    },
    async memory() {
      await cdp.send("HeapProfiler.enable");
      for (let i = 0; i < 3; i++) await cdp.send("HeapProfiler.collectGarbage");
      const m = await cdp.send("Runtime.getHeapUsage");
      return (m.usedSize + (m.backingStorageSize ?? 0)) / 1e6;
    },
  };
}

// CPU time of the main thread between two marks of the page.
async function betweenMarks(url, from, to) {
  const page = await open("about:blank"), browser = page.context().browser();
  await browser.startTracing(page, { categories: ["blink.user_timing"] });
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForFunction((to) => performance.getEntriesByName(to).length, to, { polling: 50 });
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  await page.context().close();
  const at = (name) => traceEvents.find((e) => e.name === name && e.tts)?.tts;
  return (at(to) - at(from)) / 1000;
}

const best = (values) => Math.min(...values.filter((v) => v !== undefined && !Number.isNaN(v)));

async function once(tool, page, row) {
  const m = await attach(page), before = await m.busy();
  await page.goto(tool.url, { waitUntil: "commit" });
  await tool.ready(page);
  row.load = (await m.idle()) - before;
  row.zoom = ((await m.cost(() => tool.zoom(page, true))) + (await m.cost(() => tool.zoom(page, false)))) / 2;
  row.search = await m.cost(() => tool.search(page));
  row.memory = await m.memory();
  if (tool.inner) Object.assign(row, await tool.inner(page));
}

// Rows of the rounds; what a round did not come to is missing in its row.
async function measure(tool) {
  const all = [], begin = performance.now();
  let failed = "";
  for (let round = 0; round < rounds && !failed && performance.now() - begin < limitS * 500; round++) {
    const page = await open("about:blank"), row = {};
    page.setDefaultTimeout(limitS * 1000);
    all.push(row);
    let timer = 0;
    const late = new Promise((_, fail) => { timer = setTimeout(() => fail(new Error(`> ${limitS} s`)), limitS * 1000); });
    const died = new Promise((_, fail) => page.on("crash", () => fail(new Error("the tab died"))));
    const work = once(tool, page, row);
    try {
      await Promise.race([work, late, died]);
    } catch (why) {
      failed = /Timeout|> \d/.test(why.message) ? `> ${limitS} s` : String(why.message ?? why).split("\n")[0].slice(0, 60);
    }
    clearTimeout(timer);
    work.catch(() => {});
    late.catch(() => {});
    await Promise.race([page.context().close().catch(() => {}), wait(5000)]);
    if (!failed && tool.marks) row.data = await betweenMarks(tool.url, ...tool.marks);
  }
  if (failed && all.length > 1) all.pop();
  const out = { failed: all.length > 1 ? "" : failed };
  for (const key of Object.keys(all[0])) out[key] = best(all.map((r) => r[key]));
  return out;
}

const frames = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`;
const ours = (n) => ({
  name: "procprof", url: `file://${dir}/${n}.html`, file: `${n}.html`,
  ready: (page) => page.waitForFunction(() => window.procprof?.viewer?.current?.canvas?.lastBoxes > 0, null, { polling: "raf" }),
  marks: ["procprof-data", "procprof-drawn"],
  zoom: (page, into) => page.evaluate(`(async () => { const v = window.procprof.viewer, t = v.current.tree; let at = 0; if (${into}) for (let i = 1; i < t.n; i++) if (t.width[i] < t.width[0] / 3) { at = i; break; } v.current.zoomTo(at); await ${frames}; })()`),
  search: (page) => page.evaluate(`(async () => { window.procprof.viewer.set({ q: "HashJoiner_.*7" }); await ${frames}; })()`),
  // One frame of a zoom, and a search with its drawing, as the page itself sees them.
  inner: (page) => page.evaluate(() => {
    const v = window.procprof.viewer, c = v.current.canvas, t = v.current.tree, times = [], searches = [];
    let at = 0;
    for (let i = 1; i < t.n; i++) if (t.width[i] < t.width[0] / 3) { at = i; break; }
    v.set({ q: "" });
    for (let k = 0; k < 8; k++) { c.zoom(k % 2 ? 0 : at, false); const b = performance.now(); c.drawNow(); times.push(performance.now() - b); }
    for (let k = 0; k < 4; k++) { const b = performance.now(); v.set({ q: "Aggregator_.*" + k }); c.drawNow(); searches.push(performance.now() - b); }
    return { frame: Math.min(...times), find: Math.min(...searches) };
  }),
});
const asyncProfiler = (n) => ({
  name: "async-profiler", url: `file://${dir}/${n}.ap.html`, file: `${n}.ap.html`,
  ready: (page) => page.waitForFunction(() => document.readyState === "complete" && typeof root !== "undefined" && root, null, { polling: "raf" }),
  zoom: (page, into) => page.evaluate(`(async () => { let f = levels[0][0]; if (${into}) outer: for (const l of levels) for (const x of l) if (x.width < levels[0][0].width / 3) { f = x; break outer; } render(f); await ${frames}; })()`),
  search: (page) => page.evaluate(`(async () => { search("HashJoiner_.*7"); await ${frames}; })()`),
});
const speedscopeApp = (n) => ({
  name: "speedscope", url: `${origin}/peers/speedscope/dist/release/index.html#profileURL=${encodeURIComponent(`${origin}/${n}.speedscope.json`)}`, file: `${n}.speedscope.json`,
  ready: async (page) => { await page.waitForFunction(() => /bench/.test(document.title), null, { polling: "raf" }); await page.evaluate(frames); },
  zoom: async (page, into) => { await page.keyboard.press(into ? "=" : "-"); await page.evaluate(frames); },
  search: async (page) => { await page.keyboard.press("Control+f"); await page.keyboard.insertText("HashJoiner_17"); await page.evaluate(frames); },
});
const d3 = (n) => ({
  name: n > 100000 ? "d3-flame-graph, minFrameSize 1" : "d3-flame-graph", url: `${origin}/d3.html?${n}`, file: `${n}.d3.json`,
  ready: (page) => page.waitForFunction(() => window.drawn, null, { polling: "raf" }),
  zoom: (page, into) => page.evaluate(`(async () => { if (${into}) { const all = document.querySelectorAll("g.frame"); let at = all[0]; for (const g of all) if (g.__data__.value < all[0].__data__.data.value / 3) { at = g; break; } chart.zoomTo(at.__data__); } else chart.resetZoom(); await ${frames}; })()`),
  search: (page) => page.evaluate(`(async () => { chart.search("HashJoiner_17"); await ${frames}; })()`),
});

await run(async () => {
  const number = (v, digits = 0) => (v === undefined || !Number.isFinite(v) ? "–" : v.toFixed(digits)).padStart(8);
  const havePeers = existsSync(join(peers, "speedscope"));
  let jar = "";
  try {
    jar = execFileSync(join(root, "tools/maven-get"), ["tools.profiler:jfr-converter:4.5", "d8a5452b26adb11a2a0abf0c53799a6fd60dbccb0647efa5a734e3c46ced3df4"]).toString().trim();
  } catch { /* async-profiler is left out */ }
  writeFileSync(join(dir, "d3.html"), `<!doctype html><meta charset=utf-8><script src="/peers/d3/dist/d3.min.js"></script><script src="/peers/d3-flame-graph/dist/d3-flamegraph.umd.min.js"></script><div id=c></div>
<script>(async () => { const n = location.search.slice(1), data = await (await fetch("/" + n + ".d3.json")).json(); window.chart = (window.flamegraph.default ?? window.flamegraph)().width(1240).transitionDuration(0); if (n > 100000) chart.minFrameSize(1); d3.select("#c").datum(data).call(chart); window.drawn = true; })();</script>`);
  console.log(`# best of ${rounds}; ms, MB                        load     data     zoom   search   memory     file`);
  for (const n of sizes.length ? sizes : [10000, 100000, 1000000]) {
    writeFileSync(join(dir, `${n}.html`), execFileSync(flameTool, ["html", `short:${n}`], { maxBuffer: 1 << 28 }));
    const tools = [ours(n)], tree = havePeers || jar ? decode(execFileSync(flameTool, ["data", `short:${n}`], { maxBuffer: 1 << 28 })) : null;
    if (jar) {
      await lines(join(dir, `${n}.collapsed`), folded(tree));
      execFileSync("java", ["-Xmx4g", "-jar", jar, "--minwidth", "0", join(dir, `${n}.collapsed`), join(dir, `${n}.ap.html`)], { stdio: "ignore" });
      tools.push(asyncProfiler(n));
    }
    if (havePeers) {
      await lines(join(dir, `${n}.speedscope.json`), speedscope(tree));
      await lines(join(dir, `${n}.d3.json`), nested(tree));
      tools.push(speedscopeApp(n), d3(n));
    }
    for (const tool of tools) {
      if (process.env.TOOLS && !process.env.TOOLS.split(",").some((t) => tool.name.startsWith(t))) continue;
      const r = await measure(tool), size = statSync(join(dir, tool.file)).size / 1e6;
      const label = `${String(n).padStart(8)} nodes  ${tool.name}`.padEnd(45);
      console.log(`${label}${number(r.load)} ${number(r.data, 1)} ${number(r.zoom, 1)} ${number(r.search, 1)} ${number(r.memory, 1)} ${number(size, 1)}${r.frame !== undefined ? `   one frame ${r.frame.toFixed(1)}, search and draw ${r.find.toFixed(1)}` : ""}${r.failed ? `   then ${r.failed}` : ""}`);
    }
  }
});

// The page against the real server with real processes: every page and every control at 1280x800.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { join } from "node:path";
import { folder, is, note, ok, open, program, run, until, wait } from "./browser.mjs";
import { startBackend, startFrontend, startRedis, startServer } from "./cluster.mjs";
import { clickFrame, facts, ready, saved, totalOf } from "./flame_page.mjs";

await run(async () => {
  const dir = folder(), be = await startBackend(), redis = await startRedis(), frontend = await startFrontend();
  const server = await startServer({
    nodes: [`BE 127.0.0.1:${be.port}`, ...(redis ? [`BE 127.0.0.1:${redis.port} name=redis`] : []), "BE 127.0.0.1:1"],
    settings: { COLLECT_BE_PROFILE_INTERVAL: 3, be_collect_time_s: 1, be_profile_types: "cpu,heap,contention", heartbeat_interval_s: 1, proc_profile_collect_time_s: 3, ...(frontend ? { fe_jvm: frontend.pid } : {}) },
  });
  const node = async (port) => (await server.api("nodes")).nodes.find((n) => n.port === port);
  const id = (await until("the node", () => node(be.port))).id;
  const have = async (type, n) => (await server.api(`profiles?node=${id}&type=${type}`)).profiles.length >= n;

  // ---- proc profiles
  const page = await open(server.url + "/");
  await page.getByRole("heading", { name: "Process Profiles" }).waitFor();
  const tabs = await page.locator(".node-tab").allInnerTexts();
  ok(tabs[0] === "All nodes" && tabs[1].startsWith("FE") && tabs.includes(`BE: 127.0.0.1:${be.port}`) && (!redis || tabs.includes("BE: redis")), "a tab for the FE and each BE, under its name where it has one", tabs);
  await until("first profiles", () => have("cpu", 1), 40);
  await until("rows by themselves", async () => (await page.locator("#table_id tbody tr").count()) > 0, 20);
  ok(true, "profiles appear by themselves");
  is((await page.locator("#table_id th").allInnerTexts()).map((s) => s.toLowerCase()), ["type", "node", "timestamp", "duration", "samples", "file size", "view"], "columns");
  await until("some of each", async () => (await have("cpu", 3)) && (await have("heap", 2)) && (await have("contention", 1)), 60);
  await until("they are in the list", async () => (await page.locator("#table_id tbody tr").count()) >= 6);
  const stamps = await page.locator("#table_id .c-stamp").allInnerTexts();
  is(stamps, [...stamps].sort().reverse(), "newest first");
  ok(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(stamps[0]) && /^[\d.]+ (B|KB|MB)$/.test(await page.locator("#table_id .c-size").first().innerText()), "timestamps as StarRocks writes them, sizes with their unit");
  await page.getByLabel("Type").selectOption("heap");
  await until("only heap", async () => { const all = await page.locator("#table_id .c-type").allInnerTexts(); return all.length && all.every((x) => x === "Heap"); });
  ok(/type=heap/.test(page.url()), "filter by type, kept in the URL");
  await page.getByLabel("Timestamp").selectOption("custom");
  await page.getByLabel("From", { exact: true }).fill("2001-01-01T00:00:07");
  await page.getByLabel("To", { exact: true }).fill("2001-01-02T00:00:07");
  await page.getByText("None of this type in this time").waitFor();
  ok(true, "filter by time; the empty list says what to do");
  await page.getByLabel("Timestamp").selectOption("15m");
  await page.getByLabel("Type").selectOption("");
  await page.locator(".node-tab", { hasText: `BE: 127.0.0.1:${be.port}` }).click();
  await until("one node's list", async () => (await page.locator("#table_id .c-node").count()) === 0 && (await page.locator("#table_id tbody tr").count()) > 0);
  ok(new RegExp(`node=${id}`).test(page.url()), "a node's tab shows its profiles");
  await page.locator(".node-tab", { hasText: "BE: 127.0.0.1:1" }).last().click();
  await page.getByText("This node does not answer").waitFor();
  ok(true, "a node that does not answer: the page says so and why");
  const [raw] = await Promise.all([page.waitForEvent("download"), page.locator(".node-tab").nth(0).click().then(() => page.locator("#table_id tr", { hasText: "BE:" }).locator("[download]").first().click())]);
  const rawPath = await raw.path();
  ok(/-profile-\d{8}-\d{6}-pprof\.gz$/.test(raw.suggestedFilename()) && gunzipSync(readFileSync(rawPath)).length > 50, "download gives the profile under its name");

  // ---- collect now
  await page.locator(".node-tab", { hasText: `BE: 127.0.0.1:${be.port}` }).click();
  await page.getByRole("button", { name: "Collect now" }).click();
  const dialog = page.getByRole("dialog");
  is(await dialog.getByLabel("Node").inputValue(), String(id), "collect: the node that is shown is chosen");
  await dialog.getByLabel("Type").selectOption("wall");
  await dialog.getByLabel("Seconds").fill("3");
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.getByRole("progressbar").waitFor();
  ok(true, "collect: a progress bar");
  await page.locator(".job.good").waitFor({ timeout: 30000 });
  await page.locator(".job.good a").click();
  await ready(page);
  ok(/view\?ids=\d+/.test(page.url()) && /Wall/i.test(await page.locator(".head-line").innerText()), "collect: done, and its flame graph is one click away");

  // ---- view
  const cpu = (await server.api(`profiles?node=${id}&type=cpu`)).profiles;
  await page.goto(`${server.url}/#/view?ids=${cpu.map((p) => p.id).join(",")}`);
  await page.waitForFunction(() => window.procprof?.viewer?.data.names.includes("execute_query"));
  ok((await totalOf(page, "execute_query")) > 0, "the demo backend's own functions are in the picture");
  await clickFrame(page, "execute_query");
  is((await facts(page)).root, "execute_query", "zoom");
  await page.getByRole("searchbox").fill("hash");
  await until("matched", async () => /%/.test((await facts(page)).matched));
  const link = page.url();
  ok(/z=/.test(link) && /q=hash/.test(link), "the URL holds the picture");
  await page.locator("#tab-source").click();
  await until("an answer", async () => (await page.locator(".source .banner, .source table, .source .empty").count()) > 0);
  ok(true, "source: the lines, or why there are none");
  await page.locator("#tab-graph").click();
  ok(await page.locator('.graph-node[data-fn="execute_query"]').count(), "graph");
  await page.keyboard.press("?");
  ok(/1 – 6/.test(await page.getByRole("dialog").innerText()), "the help counts the views");
  await page.keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.locator("#tab-callers").click();
  const covered = await page.evaluate(() => [...document.querySelectorAll(".half")].some((half) => { const a = half.querySelector("h3").getBoundingClientRect(), b = half.querySelector("canvas").getBoundingClientRect(); return a.bottom > b.top + 1 && b.bottom > a.top + 1; }));
  ok(!covered, "callers: no heading covers a frame");
  await page.locator(".picker").fill("execute_query");
  await page.keyboard.press("Enter");
  ok(/query_worker/.test(await page.evaluate(() => { const v = window.procprof.viewer, t = v.current.upper.tree; return Array.from(t.fn).map((f) => v.data.names[f]).join(" "); })), "callers of a function");
  await page.getByRole("searchbox").fill("");
  await page.locator("#tab-top").click();
  await wait(150);
  ok((await page.locator(".table-row").count()) > 3, "top");
  await page.locator(".table-row .fn").first().click({ button: "right" });
  await page.getByRole("menuitem", { name: "Show in flame graph" }).click();
  is((await facts(page)).view, "flame", "from the table to the flame graph");
  const other = await open(link);
  await ready(other);
  is([(await facts(other)).root, await other.getByRole("searchbox").inputValue()], ["execute_query", "hash"], "a link shows the same picture to somebody else");
  await other.close();

  // ---- files to keep
  const html = await saved(page, "HTML");
  writeFileSync(join(dir, "saved.html"), html.bytes);
  const offline = await open(`file://${join(dir, "saved.html")}`);
  await ready(offline);
  ok((await totalOf(offline, "execute_query")) > 0, "the single HTML opens offline");
  is(offline.problems, [], "and asks for nothing");
  await offline.close();
  const pprof = await saved(page, "pprof");
  writeFileSync(join(dir, "saved.pb.gz"), pprof.bytes);
  ok(/execute_query/.test(execFileSync(program, ["top", "--cum", join(dir, "saved.pb.gz")]).toString()), "the pprof file is one");
  ok(/<svg/.test((await saved(page, "SVG")).bytes.toString()), "SVG");
  is((await saved(page, "PNG")).bytes.subarray(1, 4).toString(), "PNG", "PNG");
  const folded = (await saved(page, "Folded stacks")).bytes;
  ok(/execute_query;.* \d+\n/.test(folded.toString()), "folded stacks");
  ok(JSON.parse((await saved(page, "speedscope JSON")).bytes.toString()).profiles.length, "speedscope JSON");
  ok(/^function,self,total/.test((await saved(page, "CSV")).bytes.toString()), "CSV");

  // ---- compare, merge
  await page.goto(`${server.url}/#/profiles?node=${id}`);
  const row = (type) => page.locator("#table_id tbody tr", { hasText: type });
  await row("Heap").first().waitFor();
  await row("CPU").first().getByLabel("Compare").click();
  ok(/Two profiles of one type can be compared/.test(await page.locator(".pick-bar").innerText()), "compare: what can be compared is said");
  ok((await row("Heap").first().getByLabel("Compare").isDisabled()) && (await row("CPU").nth(1).getByLabel("Compare").isEnabled()), "compare: profiles of another type cannot be picked");
  is(await row("Heap").first().getByLabel("Compare").getAttribute("title"), "Two profiles of one type can be compared", "compare: and say why");
  await page.locator(".pick-bar").getByRole("button", { name: "Cancel" }).click();
  ok(await row("Heap").first().getByLabel("Compare").isEnabled(), "compare: after Cancel all can be picked");
  await page.goto(`${server.url}/#/profiles?node=${id}&type=cpu`);
  await until("rows", async () => { const all = await page.locator("#table_id .c-type").allInnerTexts(); return all.length >= 2 && all.every((x) => x === "CPU"); });
  const two = page.locator('#table_id [aria-label="Compare"]');
  await two.nth(1).click();
  ok(/Pick another/.test(await page.locator(".pick-bar").innerText()), "compare: pick another one");
  await two.nth(0).click();
  const pickBar = page.locator(".pick-bar");
  ok(await pickBar.getByText("Merge and view").isVisible(), "two picked: merge or compare");
  await pickBar.getByRole("link", { name: "Compare" }).click();
  await page.waitForFunction(() => window.procprof?.viewer?.model.isDiff);
  is(await page.locator(".head-label").allInnerTexts(), ["New", "Base"], "compare: both sides are named");
  const sides = await page.locator(".head-line strong").allInnerTexts();
  await page.getByRole("link", { name: "Swap" }).click();
  await until("swapped", async () => JSON.stringify(await page.locator(".head-line strong").allInnerTexts()) === JSON.stringify(sides.slice().reverse()));
  ok(true, "compare: the sides can be swapped");
  await page.goto(`${server.url}/#/view?ids=${cpu[0].id}`);
  await until("the profile", () => page.evaluate(() => window.procprof?.viewer && !window.procprof.viewer.model.isDiff));
  await page.locator(".menu > .button", { hasText: "Compare with" }).click();
  await page.getByText("the one before").click();
  await until("compared", () => page.evaluate(() => window.procprof.viewer.model.isDiff));
  is(new URLSearchParams(page.url().split("?")[1]).get("base_ids"), String(cpu[1].id), "compare with the one before");

  // ---- timeline
  await page.goto(`${server.url}/#/timeline?range=15m`);
  const lane = page.locator(".lane", { hasText: "CPU" }).filter({ hasText: `127.0.0.1:${be.port}` }).locator(".lane-body");
  await lane.waitFor();
  ok((await lane.locator("rect").count()) > 0, "timeline: what was collected");
  const heapLane = page.locator(".lane", { hasText: "Heap" }).filter({ hasText: `127.0.0.1:${be.port}` }).locator(".lane-body");
  ok(/^[\d.]+ (B|KB|MB) inuse_space$/.test(await heapLane.locator(".lane-scale").innerText()), "timeline: a heap lane is as high as the memory in use, and says how much", await heapLane.locator(".lane-scale").innerText());
  const heaps = (await server.api(`timeline?node=${id}&type=heap&buckets=1`)).series[0].buckets[0];
  ok(heaps.total > 0 && heaps.total_type === "inuse_space/bytes", "timeline: the newest heap's total", heaps);
  ok(/ (B|KB|MB) inuse_space · \d+ profiles?/.test(await heapLane.locator("rect title").first().textContent()), "timeline: a bar says its value", await heapLane.locator("rect title").first().textContent());
  const at = await lane.boundingBox();
  await page.mouse.move(at.x + at.width * 0.5, at.y + 30);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.8, at.y + 30, { steps: 3 });
  await page.mouse.move(at.x + at.width - 2, at.y + 30, { steps: 3 });
  await page.mouse.up();
  await until("the range", () => /from_ms=\d+&to_ms=\d+/.test(page.url()));
  const choice = await page.locator(".choice").boundingBox();
  ok(choice && choice.y >= 0 && choice.y + choice.height <= 800, "timeline: what can be done with the range is on the screen, however many lanes there are", choice);
  ok(/[1-9]\d* profiles?/.test(await page.locator(".choice").innerText()), "timeline: a dragged range says what is in it");
  await page.getByRole("link", { name: "Flame graph of the range" }).click();
  await until("the merged profile", () => page.evaluate(() => window.procprof?.viewer?.data.header.profile.duration_ms > 1900));
  ok((await totalOf(page, "execute_query")) > 0, "timeline: the range becomes one flame graph");
  await page.locator(".menu > .button", { hasText: "Compare with" }).click();
  await page.getByText("one hour before").click();
  await until("an answer", async () => (await page.getByText("No profile is left").count()) > 0);
  page.problems = page.problems.filter((p) => !/status of 404/.test(p)); // the browser's own note about the answer
  ok(/base_from_ms/.test(page.url()), "two time ranges are compared; nothing there is said");

  // ---- nodes
  await page.goto(`${server.url}/#/nodes`);
  const dead = page.locator(".card", { hasText: "127.0.0.1:1" }).last();
  await dead.getByText("not answering").waitFor();
  await until("the reason", async () => /connect/i.test(await dead.innerText()));
  ok(true, "nodes: state, last error, back-off");
  is((await dead.locator(".c-error").allInnerTexts()).filter(Boolean), [], "nodes: the reason why a node does not answer is said once");
  const box = page.locator(`#switch-${id}-contention`);
  ok(await box.isChecked(), "nodes: a type that is collected");
  await box.click();
  await until("switched off", async () => !(await node(be.port)).types.find((x) => x.type === "contention").enabled);
  await page.reload();
  await box.waitFor();
  ok(!(await box.isChecked()), "nodes: switched off, and it stays so");
  await box.click();
  await until("on again", async () => (await node(be.port)).types.find((x) => x.type === "contention").enabled);
  ok(true, "nodes: and on again");

  // ---- files of one's own
  writeFileSync(join(dir, "mine.folded"), "main;mine 70\nmain;other 30\n");
  await page.locator('input[type="file"]').setInputFiles(join(dir, "mine.folded"));
  await until("the file", () => page.evaluate(() => window.procprof?.viewer?.data.names.includes("mine")));
  is(await totalOf(page, "mine"), 70, "a file of one's own opens");
  ok(/^mine\.folded/.test(await page.title()), "under its name");
  const drop = (name, text) => page.evaluate(([name, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    for (const kind of ["dragenter", "dragover", "drop"]) dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, [name, text]);
  await drop("dropped.folded", "main;dropped 5\n");
  await until("the dropped one", () => page.evaluate(() => window.procprof?.viewer?.data.names.includes("dropped")));
  ok(true, "drag and drop opens a file");
  const again = await saved(page, "HTML");
  ok(/<!DOCTYPE html>/.test(again.bytes.toString().slice(0, 100)), "what was dropped can be kept as a single HTML", again.bytes.toString().slice(0, 200));
  is(page.problems, [], "no console error, nothing asked from elsewhere");
  await drop("bad.bin", "\u0000\u0001\u0002 this is no profile");
  await page.locator(".toast.shown").waitFor();
  ok(/bad\.bin/.test(await page.locator(".toast").innerText()), "what is no profile is refused with a reason");
  await page.close();

  // ---- the frontend, a JVM: from its tab to its flame graph
  if (!frontend) note("no JDK: the frontend is left out");
  else {
    const fe = (await server.api("nodes")).nodes.find((n) => n.role === "FE").id;
    await until("profiles of the frontend", async () => (await server.api(`profiles?node=${fe}&type=cpu`)).profiles.length > 0, 60);
    const java = await open(`${server.url}/#/profiles?node=${fe}&type=cpu`);
    await java.locator("#table_id tbody tr").first().waitFor();
    const [pprofFile] = await Promise.all([java.waitForEvent("download"), java.getByLabel("Download as pprof").first().click()]);
    ok(/^cpu-[\d-]+\.pb\.gz$/.test(pprofFile.suggestedFilename()) && /planQueries/.test(execFileSync(program, ["top", "--cum", await pprofFile.path()]).toString()), "frontend: a row can be had as pprof", pprofFile.suggestedFilename());
    const [pageFile] = await Promise.all([java.waitForEvent("download"), java.getByLabel("Download the archive").first().click()]);
    ok(/^cpu-profile-[\d-]+\.html\.tar\.gz$/.test(pageFile.suggestedFilename()), "frontend: and as StarRocks' archive", pageFile.suggestedFilename());
    await java.locator("#table_id tbody tr a", { hasText: "View" }).first().click();
    await ready(java);
    await java.waitForFunction(() => window.procprof.viewer.current?.canvas?.lastBoxes > 2);
    const method = await java.evaluate(() => window.procprof.viewer.data.names.find((name) => /WebFrontend[./]planQueries/.test(name)));
    ok(method && (await totalOf(java, method)) > 0, "frontend: its Java methods are in the picture", method ?? "no such name");
    await clickFrame(java, method);
    is((await facts(java)).root, method, "frontend: zoom into a Java frame");
    await java.evaluate(() => window.procprof.viewer.set({ color: "kind" }));
    ok(/Java/.test(await java.locator(".legend").innerText()), "frontend: Java frames are told by their colour");
    is(java.problems, [], "frontend: no console error");
    await java.close();
  }

  // ---- a link whose profile is gone, a server that is gone
  const gone = await open(`${server.url}/#/view?ids=999999`);
  await gone.getByText("No profile is left for this link").waitFor();
  ok(true, "a link to a removed profile says so");
  await gone.goto(`${server.url}/#/profiles`);
  await gone.locator("#table_id").waitFor();
  process.kill(-server.child.pid, "SIGTERM");
  await until("its end", () => server.child.exitCode !== null || server.child.signalCode !== null, 60); // it may be busy with a JVM
  await gone.getByLabel("Type").selectOption("cpu");
  await gone.getByText("The server does not answer").waitFor();
  ok(true, "a server that went away is said to be away");
  await gone.close();
});

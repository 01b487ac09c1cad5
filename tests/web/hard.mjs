// What is hard on a viewer: a million nodes, names of 100,000 characters, stacks 5,000 deep, no samples, negative values, names that
// are not UTF-8 or look like markup. The page must stay usable in every view.
import { execFileSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { flameTool, folder, is, ok, open, run, until, wait } from "./browser.mjs";
import { clickFrame, facts, overflow, ready } from "./flame_page.mjs";

const VIEWS = ["flame", "tree", "top", "callers", "graph"];

await run(async () => {
  const dir = folder(), file = (name) => join(dir, name);
  const make = (name, ...args) => writeFileSync(file(name), execFileSync(flameTool, ["html", ...args], { maxBuffer: 1 << 28 }));
  make("odd.html", "odd");
  make("odd_diff.html", "odd", "made:2000");
  make("none.html", "none");
  make("million.html", "made:1000000");

  let page = await open(`file://${file("odd.html")}`);
  await ready(page);
  let names = await page.evaluate(() => window.procprof.viewer.data.names);
  ok(names.some((n) => n.length === 100000), "a name of 100,000 characters is there");
  ok(names.includes("not\ufffd\ufffdutf8\ufffd"), "what is no UTF-8 is shown as such");
  ok(names.includes("<script>alert(1)</script>&\"'"), "markup is text");
  is(await page.evaluate(() => window.procprof.viewer.model.raw().maxDepth), 5000, "5,000 frames deep");
  for (const view of VIEWS) {
    await page.locator("#tab-" + view).click();
    await wait(60);
    ok((await overflow(page)) <= 0 && (await facts(page)).view === view, `${view} shows the odd profile`);
  }
  await page.locator("#tab-flame").click();
  // To the bottom of the deepest stack and back, by keys.
  await page.evaluate(() => { const v = window.procprof.viewer, t = v.current.tree; let deepest = 0; for (let i = 1; i < t.n; i++) if (t.depth[i] > t.depth[deepest]) deepest = i; v.current.zoomTo(deepest); v.current.canvas.select(deepest); });
  await wait(50);
  is((await facts(page)).root, "recurse(int)", "zoomed 5,000 frames deep");
  ok(/… \d+ …/.test(await page.locator(".crumbs").innerText()), "breadcrumbs of a deep path are cut in the middle");
  const deepLink = page.url();
  await page.keyboard.press("c");
  is((await facts(page)).nodes < 20, true, "collapsed recursion makes it flat");
  await page.getByRole("searchbox").fill("x{50}");
  await until("search", async () => /%/.test((await facts(page)).matched));
  ok(true, "search over long names answers");
  is(page.problems, [], "no console error");
  await page.close();
  page = await open(deepLink);
  await ready(page);
  is((await facts(page)).root, "recurse(int)", "a link into the depth shows it");
  await page.close();

  page = await open(`file://${file("odd_diff.html")}`);
  await ready(page);
  for (const view of VIEWS) {
    await page.locator("#tab-" + view).click();
    await wait(60);
    ok((await overflow(page)) <= 0, `${view} compares odd things`);
  }
  is(page.problems, [], "no console error in the odd comparison");
  await page.close();

  page = await open(`file://${file("none.html")}`);
  await ready(page);
  for (const view of VIEWS) {
    await page.locator("#tab-" + view).click();
    ok(await page.getByText("This profile has no samples.").isVisible(), `${view}: no samples, and the page says so and what to do`);
  }
  is(page.problems, [], "no console error without samples");
  await page.close();

  // ---- a million nodes. Nothing is timed here (bench/web.mjs does); everything must answer.
  ok(statSync(file("million.html")).size < 6e6, "a million nodes in one file of less than 6 MB", statSync(file("million.html")).size);

  // What comes first is a preview, and looks like the whole: row by row nearly as many pixels have a frame. Timers that never end hold it there.
  const painted = (page) => page.evaluate(() => {
    const c = document.querySelector("canvas"), pixels = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer), rows = [];
    for (let y = 12; y < c.height; y += 20) rows.push(pixels.subarray(y * c.width, (y + 1) * c.width).reduce((n, p) => n + (p !== 0xffffffff), 0));
    return rows;
  });
  const held = await open("about:blank");
  held.setDefaultTimeout(60000);
  await held.addInitScript(() => { window.setTimeout = () => 0; });
  await held.goto(`file://${file("million.html")}`);
  await held.waitForFunction(() => performance.getEntriesByName("procprof-drawn").length);
  ok(await held.evaluate(() => !window.procprof), "the preview is drawn before the whole is there");
  const before = await painted(held);
  is(held.problems, [], "no console error in the preview");
  await held.context().close();
  page = await open(`file://${file("million.html")}`);
  page.setDefaultTimeout(60000);
  await ready(page);
  const after = await painted(page);
  ok(before.length > 25 && before.length === after.length && before.every((n, i) => n > 200 && Math.abs(n - after[i]) < 0.06 * after[i]), "and looks like the whole", { before, after });
  is(await page.evaluate(() => [window.procprof.viewer.data.header.preview ?? 0, document.querySelector(".head-counts").textContent !== ""]), [0, true], "the whole takes its place");
  // What asks for more than the picture waits for the whole.
  const link = await open(`file://${file("million.html")}#v=top`);
  await ready(link);
  is(await link.evaluate(() => performance.getEntriesByType("mark").map((m) => m.name)), ["procprof-data", "procprof-drawn", "procprof-whole"], "a link to the table is shown once");
  ok(await link.evaluate(() => window.procprof.viewer.data.header.nodes > 990000), "with all");
  await link.context().close();
  ok((await facts(page)).nodes > 990000, "a million nodes are there");
  ok((await facts(page)).boxes > 1000, "and drawn");
  names = await page.evaluate(() => { const v = window.procprof.viewer, t = v.current.tree; for (let i = 1; i < t.n; i++) if (t.width[i] < t.width[0] / 4 && t.width[i] > t.width[0] / 100 && v.data.names.indexOf(v.data.names[t.fn[i]]) === t.fn[i] && Array.prototype.indexOf.call(t.fn, t.fn[i]) === i) return v.data.names[t.fn[i]]; return ""; });
  await clickFrame(page, names);
  is((await facts(page)).root, names, "zoom");
  await page.getByRole("searchbox").fill("hashjoiner.*build");
  await until("search", async () => /%/.test((await facts(page)).matched), 60);
  ok(true, "search");
  for (const view of VIEWS.slice(1)) {
    await page.locator("#tab-" + view).click();
    await page.waitForFunction((view) => window.procprof.viewer.state.v === view, view);
    ok(true, `${view} of a million nodes`);
  }
  await page.locator("#tab-flame").click();
  await page.keyboard.press("r");
  ok((await facts(page)).nodes > 1000, "reversed");
  is(page.problems, [], "no console error with a million nodes");
});

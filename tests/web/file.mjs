// The single-file HTML of `procprof flame --html` in a real browser: every control, both sizes, both themes, three languages.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, folder, flameTool, is, ok, open, program, run, until, wait } from "./browser.mjs";
import { boxOf, clickFrame, colours, facts, overflow, ready, saved, totalOf } from "./flame_page.mjs";

const STACKS = `main;parse;lex 100
main;parse;lex;read 50
main;exec;join;hash 300
main;exec;join;probe 200
main;exec;join;probe;memcmp 100
main;exec;recurse;recurse;recurse;leaf 150
main;gc 100
`;
const BASE = `main;parse;lex 1000
main;exec;join;hash 300
main;exec;join;probe 200
main;exec;sort;compare 400
main;gc 95
`;

await run(async () => {
  const dir = folder(), file = (name) => join(dir, name);
  writeFileSync(file("a.folded"), STACKS);
  writeFileSync(file("base.folded"), BASE);
  execFileSync(program, ["flame", "--html", "-o", file("a.html"), file("a.folded")]);
  execFileSync(program, ["diff", "--html", "-o", file("diff.html"), file("base.folded"), file("a.folded")]);
  writeFileSync(file("two.html"), execFileSync(flameTool, ["html", "made:3000"], { maxBuffer: 1 << 26 }));
  const at = (name, hash = "") => `file://${file(name)}${hash}`;

  // ---- looking, zooming, searching
  let page = await open(at("a.html"));
  await ready(page);
  is((await facts(page)).total, 1000, "all samples are there");
  ok((await colours(page)) > 3, "boxes are painted");
  is(await page.title(), "a.folded", "the title is the file's name");
  await clickFrame(page, "join");
  is((await facts(page)).root, "join", "a click zooms");
  is((await page.locator(".crumb").allTextContents()).join(" > "), "all > main > exec > join", "breadcrumbs show the way");
  ok((await boxOf(page, "join")).width > 1200, "the zoomed frame fills the width");
  const zoomedAddress = page.url();
  await page.locator(".crumb").nth(1).click();
  is((await facts(page)).root, "main", "a breadcrumb goes back");
  await page.goBack();
  await until("Back", async () => (await facts(page)).root === "join");
  ok(true, "the browser's Back goes back");
  await page.getByRole("searchbox").fill("^(hash|probe|memcmp)$");
  await until("matches", async () => (await facts(page)).matched === "60.0% matched");
  ok(true, "search: a regular expression, matched share without counting twice");
  await page.getByRole("searchbox").fill("ha[sh");
  ok(await until("plain text", () => page.locator(".search-box.bad").count()), "what is no regular expression is said to be none");
  await page.getByRole("searchbox").fill("");
  await page.keyboard.press("Escape");
  const box = await boxOf(page, "probe");
  await page.mouse.move(box.x, box.y);
  await page.locator(".tip").waitFor();
  const tip = await page.locator(".tip").innerText();
  ok(/probe/.test(tip) && /300/.test(tip) && /30\.0%/.test(tip) && /200/.test(tip) && /50\.0%/.test(tip), "tooltip: name, total, self, share of all and of the caller", tip);
  ok(/probe/.test(await page.locator(".status").innerText()), "the line of facts follows the pointer");

  // ---- ways to look
  await page.keyboard.press("0");
  is((await facts(page)).root, "all", "0 resets the zoom");
  const before = await boxOf(page, "main");
  await page.getByRole("button", { name: "Turn upside down" }).click();
  const after = await boxOf(page, "main");
  ok(before.y !== after.y, "icicle and flames");
  await page.getByRole("button", { name: "Reverse: leaves first" }).click();
  is(await totalOf(page, "hash"), 300, "reversed: leaves first");
  is(await page.evaluate(() => { const { tree, viewer } = { tree: window.procprof.viewer.current.tree, viewer: window.procprof.viewer }; return viewer.data.names[tree.fn[1]]; }), "hash", "reversed: the heaviest leaf is first");
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Collapse recursion" }).click();
  is(await page.evaluate(() => { const v = window.procprof.viewer, t = v.current.tree; let n = 0; for (let i = 1; i < t.n; i++) if (v.data.names[t.fn[i]] === "recurse") n++; return n; }), 1, "recursion collapses to one frame");
  await page.keyboard.press("c");
  const options = page.locator(".menu > .button", { hasText: "View" });
  const filter = async (label, text) => {
    await options.click();
    await page.locator(".options label", { hasText: label }).locator("input").fill(text);
    await page.keyboard.press("Enter");
    await wait(50);
  };
  await filter("Only stacks with", "join");
  is((await facts(page)).total, 600, "focus keeps the stacks with a match");
  is(await page.locator(".chip").count(), 1, "a chip says so");
  await page.locator(".chip button").click();
  is((await facts(page)).total, 1000, "and takes it away");
  await filter("No stacks with", "^probe$");
  is((await facts(page)).total, 700, "ignore drops the stacks with a match");
  await page.locator(".chip button").click();
  await filter("Hide frames", "^join$");
  is([await totalOf(page, "join"), await totalOf(page, "hash"), (await facts(page)).total], [-1, 300, 1000], "hide drops frames, not samples");
  await page.locator(".chip button").click();
  await options.click();
  for (const colour of ["kind", "module", "warm", "package"]) {
    await page.locator(".options label", { hasText: "Colour by" }).locator("select").selectOption(colour);
    ok((await colours(page)) >= 3, `colours by ${colour}`);
  }
  await page.locator(".options label", { hasText: "Order" }).locator("select").selectOption("name");
  is(await page.evaluate(() => { const v = window.procprof.viewer, t = v.current.tree; return v.data.names[t.fn[2]]; }), "exec", "order by name");
  await page.keyboard.press("Escape");
  is(await page.locator(".menu-panel").count(), 0, "Escape closes a menu");

  // ---- the menu of a frame
  await clickFrame(page, "probe", { button: "right" });
  is(await page.getByRole("menuitem").count(), 7, "a right click opens the frame's menu");
  await page.getByRole("menuitem", { name: "Callers and callees" }).click();
  is((await facts(page)).view, "callers", "callers and callees");
  ok(/200 \(20\.0%\).*300 \(30\.0%\)/.test(await page.locator(".table-bar").innerText()), "with what the function costs");
  is(await page.evaluate(() => { const v = window.procprof.viewer, c = v.current; return [c.upper.tree, c.lower.tree].map((t) => Array.from(t.fn).slice(1).map((f) => v.data.names[f]).join(" ")); }), ["probe join exec main", "probe memcmp"], "callers above, callees below");
  await page.locator(".half.upper .flame").focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  is(await page.locator(".picker").inputValue(), "join", "keys walk the callers, Enter takes one");
  await page.close();

  // ---- a link shows the same picture
  page = await open(zoomedAddress);
  await ready(page);
  is((await facts(page)).root, "join", "a link shows the same picture");
  is(page.problems, [], "no console error so far");
  await page.close();

  // ---- keyboard alone
  page = await open(at("a.html"));
  await ready(page);
  await page.locator(".flame").focus();
  for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp"]) await page.keyboard.press(key);
  is((await facts(page)).selected, "join", "arrow keys walk the frames");
  ok(/join.*600/.test(await page.locator(".flame-view [aria-live]").innerText()), "and say what they are");
  await page.keyboard.press("Enter");
  is((await facts(page)).root, "join", "Enter zooms");
  await page.keyboard.press("Escape");
  is((await facts(page)).root, "exec", "Escape goes to the caller");
  await page.keyboard.press("/");
  await page.keyboard.type("memcmp");
  await page.keyboard.press("Enter");
  await until("n", async () => (await facts(page)).selected === "memcmp");
  ok(true, "slash searches, Enter goes to the first match");
  await page.keyboard.press("Escape");
  await page.keyboard.press("m");
  is(await page.getByRole("menuitem").count(), 7, "m opens the menu");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Escape");
  await page.keyboard.press("y");
  await page.locator(".toast.shown").waitFor();
  ok(true, "y copies the name");
  await page.keyboard.press("?");
  ok(await page.getByRole("dialog").isVisible(), "? lists the keys");
  await page.keyboard.press("Escape"); // The dialog keeps the keys until it is removed, a moment after it is hidden.
  await page.locator("dialog").waitFor({ state: "detached" });
  await page.keyboard.press("2");
  is((await facts(page)).view, "tree", "2 is the call tree");
  ok((await page.getByRole("treegrid").getByRole("row").count()) > 4, "the call tree is a table that can be read");
  await page.keyboard.press("End");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowLeft");
  ok(/main/.test(await page.locator(".table-row.current").innerText()), "keys move in the call tree");
  await page.keyboard.press("Enter");
  is((await facts(page)).view, "flame", "Enter shows it in the flame graph");
  await page.keyboard.press("3");
  await page.keyboard.press("Tab");
  is((await facts(page)).view, "top", "3 is the table");
  await page.getByRole("columnheader", { name: "Total" }).getByRole("button").click();
  is((await page.locator(".table-row .fn").first().innerText()), "main", "sorted by total");
  await page.getByRole("columnheader", { name: "Self" }).getByRole("button").click();
  is((await page.locator(".table-row .fn").first().innerText()), "hash", "sorted by self");
  await page.getByRole("searchbox").fill("^l");
  await until("filter", async () => (await page.locator(".table-row").count()) === 2);
  ok(true, "the search filters the table");
  await page.getByRole("searchbox").fill("");
  await page.locator(".table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  is((await facts(page)).view, "callers", "Enter on a row: its callers");

  // ---- graph
  await page.locator("#tab-graph").click();
  is(await page.locator(".graph-node").count(), 12, "the graph has a box for each function");
  const names = await page.locator(".graph-node").evaluateAll((all) => all.map((n) => [n.dataset.fn, n.querySelector("rect").getBoundingClientRect()]).map(([n, r]) => [n, r.top]));
  const top = Object.fromEntries(names);
  ok(top.main < top.exec && top.exec < top.join && top.join < top.probe && top.probe < top.memcmp, "callers stand above callees", top);
  ok(await page.locator(".graph-node").evaluateAll((all) => { const r = all.map((n) => n.querySelector("rect").getBoundingClientRect()); return r.every((a, i) => r.every((b, k) => i === k || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top)); }), "no two boxes overlap");
  const transform = () => page.locator(".graph-svg > g").getAttribute("transform");
  const placed = await transform();
  await page.mouse.move(200, 600);
  await page.mouse.wheel(0, -200);
  ok((await transform()) !== placed, "the wheel zooms");
  const zoomed = await transform();
  await page.mouse.down();
  await page.mouse.move(260, 560, { steps: 4 });
  await page.mouse.up();
  ok((await transform()) !== zoomed, "dragging moves");
  await page.getByRole("button", { name: "Fit" }).click();
  is(await transform(), placed, "Fit fits");
  const line = await page.locator(".graph-edge .graph-line").first().evaluate((p) => { const m = p.getPointAtLength(p.getTotalLength() / 2), s = p.getScreenCTM(); return { x: m.x * s.a + s.e, y: m.y * s.d + s.f }; });
  await page.mouse.move(line.x, line.y);
  await page.locator(".graph-view .tip").waitFor();
  ok(/→/.test(await page.locator(".graph-view .tip").innerText()), "an edge says who calls whom and how much");
  await page.locator(".graph-svg").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  is(await page.locator(".graph-node.chosen").getAttribute("data-fn"), "exec", "keys follow the calls");
  await page.getByLabel("How many functions").selectOption("20");
  ok(/gn=20/.test(page.url()), "the URL holds the size of the graph");

  // ---- files to keep
  const svg = await saved(page, "SVG");
  ok(svg.name.endsWith(".svg") && /<svg[^>]*>.*hash/s.test(svg.bytes.toString()), "the graph as SVG");
  is((await saved(page, "PNG")).bytes.subarray(1, 4).toString(), "PNG", "the graph as PNG");
  await page.locator("#tab-flame").click();
  is((await saved(page, "PNG")).bytes.subarray(1, 4).toString(), "PNG", "the flame graph as PNG");
  ok(/<svg[^>]*>.*memcmp/s.test((await saved(page, "SVG")).bytes.toString()), "the flame graph as SVG");
  is((await saved(page, "Folded stacks")).bytes.toString().trim().split("\n").sort(), STACKS.trim().split("\n").sort(), "folded stacks come out as they went in");
  ok(/^function,self,total,unit,file,module\n"hash",300,300/.test((await saved(page, "CSV")).bytes.toString()), "CSV");
  const speedscope = JSON.parse((await saved(page, "speedscope JSON")).bytes.toString());
  is([speedscope.profiles[0].endValue, speedscope.profiles[0].samples.length], [1000, 7], "speedscope's JSON");
  is(page.problems, [], "no console error");
  await page.close();

  // ---- a comparison
  page = await open(at("diff.html"));
  await ready(page);
  is([await totalOf(page, "compare"), await totalOf(page, "leaf")], [0, 150], "a comparison has what vanished and what is new");
  const change = (a, b) => page.evaluate(([a, b]) => window.procprof.viewer.model.change(a, b), [a, b]);
  is([await change(100, 95), Math.sign(await change(100, 1000)), await change(150, 0), await change(0, 400)], [0, -1, 1, -1], "noise is grey, less is blue, new is red, gone is gone");
  const gone = await boxOf(page, "sort");
  await page.mouse.move(gone.x, gone.y);
  ok(/-400/.test(await page.locator(".tip").innerText()) && /-100%/.test(await page.locator(".tip").innerText()), "the tooltip tells both sides");
  ok(/more.*less.*removed.*within noise/s.test(await page.locator(".legend").innerText()), "the colours are explained");
  await page.locator("#tab-top").click();
  is(await page.locator(".table-row .fn").first().innerText(), "main", "the table of changes begins with the largest");
  for (const [only, wanted] of [["new", ["leaf", "memcmp", "read", "recurse"]], ["removed", ["compare", "sort"]]]) {
    await page.getByLabel("Show", { exact: true }).selectOption(only);
    is((await page.locator(".table-row .fn").allInnerTexts()).sort(), wanted, `only ${only} ones`);
  }
  await page.getByLabel("Show", { exact: true }).selectOption("changed");
  ok(!(await page.locator(".table-row .fn").allInnerTexts()).includes("gc"), "what is noise is not changed");
  await page.locator("#tab-flame").click();
  await page.locator(".menu > .button", { hasText: "View" }).click();
  await page.locator(".options label", { hasText: "Compare" }).locator("select").selectOption("relative");
  is(await page.evaluate(() => Math.round(window.procprof.viewer.model.raw().baseTotal[0])), 1000, "relative: both sides count the same");
  await page.locator(".options label", { hasText: "Compare" }).locator("select").selectOption("absolute");
  is(await page.evaluate(() => window.procprof.viewer.model.raw().baseTotal[0]), 1995, "absolute: as they are");
  for (const [mode, wanted] of [["new", 1000], ["base", 1995], ["max", 2300]]) {
    await page.locator(".options label", { hasText: "Width shows" }).locator("select").selectOption(mode);
    is(await page.evaluate(() => window.procprof.viewer.model.raw().width[0]), wanted, `width shows ${mode}`);
  }
  is(page.problems, [], "no console error in the comparison");
  // Two minutes of two processes against one minute of one: rates are per second and process, whatever was added up.
  is(await page.evaluate(() => {
    const { model } = window.procprof.viewer, { profile, base } = model.data.header;
    Object.assign(profile, { duration_ms: 240000, processes: 2 });
    Object.assign(base, { duration_ms: 60000, processes: 1 });
    model.state.norm = "rate";
    return model.baseScale();
  }), 4, "rates are per second and process");
  await page.close();

  // ---- sample types, sizes, themes, languages
  page = await open(at("two.html"));
  await ready(page);
  const shown = await page.locator(".head-total").innerText();
  await page.getByLabel("Sample type").selectOption("samples");
  ok((await page.locator(".head-total").innerText()) !== shown && /t=samples/.test(page.url()), "the sample type switches, and the URL holds it");
  await page.close();
  const words = { "en-US": "Flame graph", "ja-JP": "フレームグラフ", "zh-CN": "火焰图" };
  for (const [locale, size, dark] of [["en-US", [1280, 800], false], ["ja-JP", [390, 844], true], ["zh-CN", [390, 844], false], ["en-US", [1280, 800], true]]) {
    const what = `${locale} ${size.join("x")} ${dark ? "dark" : "light"}`;
    page = await open(at("diff.html"), { locale, size, dark, reduced: !dark });
    await ready(page);
    is(await page.locator("#tab-flame").innerText(), words[locale], `${what}: the language of the browser`);
    for (const view of ["flame", "tree", "top", "callers", "graph"]) {
      await page.locator("#tab-" + view).click();
      await wait(80);
      ok((await overflow(page)) <= 0, `${what}: ${view} fits`);
      is(await axe(page), [], `${what}: ${view}: nothing serious from axe-core`);
    }
    is(page.problems, [], `${what}: no console error`);
    await page.close();
  }
  page = await open(at("a.html"));
  await ready(page);
  await page.getByLabel("Language").selectOption("ja");
  await page.waitForFunction(() => document.documentElement.lang === "ja" && window.procprof?.viewer);
  is(await page.locator("#tab-top").innerText(), "トップ", "the language can be chosen");
  await page.getByRole("button", { name: "ライト・ダーク" }).click();
  is(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "and the theme");

  // ---- the whole thing asks for nothing and is small
  ok(readFileSync(file("a.html")).length < 200000, "the viewer itself is less than 200 KB");
});

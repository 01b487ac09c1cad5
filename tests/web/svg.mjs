// The flame-graph SVG of `procprof flame` in a real browser: zoom, search, reset, reversed, state in the URL.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, is, ok, open, program, run } from "./browser.mjs";

await run(async () => {
  const dir = folder(), file = (name) => join(dir, name);
  writeFileSync(file("a.folded"), "main;parse;lex 100\nmain;exec;join;hash 300\nmain;exec;join;probe 500\nmain;gc <x>&\"y\" 100\n");
  const make = (name, ...args) => execFileSync(program, ["flame", "-o", file(name), ...args, file("a.folded")]);
  make("a.svg");
  make("reversed.svg", "--reverse");
  make("icicle.svg", "--icicle");
  const frame = (page, name) => page.locator("g.f", { has: page.locator(`title:text-matches("^${name} \\\\(")`) });
  const box = async (page, name) => page.evaluate((name) => {
    for (const g of document.getElementsByClassName("f")) if (g.querySelector("title").textContent.startsWith(name + " (")) {
      const r = g.querySelector("rect").getBoundingClientRect();
      return { x: r.x + r.width / 2, y: r.y + r.height / 2, top: r.top, width: r.width, shown: g.style.display !== "none" };
    }
    return null;
  }, name);
  const click = async (page, name) => { const b = await box(page, name); await page.mouse.click(b.x, b.y); };
  const text = (page, id) => page.evaluate((id) => document.getElementById(id).textContent.trim(), id);

  let page = await open(`file://${file("a.svg")}`);
  const whole = (await box(page, "main")).width;
  ok(Math.abs((await box(page, "join")).width / whole - 0.8) < 0.01, "widths are shares");
  ok((await box(page, "main")).top > (await box(page, "hash")).top, "flames: the root is at the bottom");
  const at = await box(page, "probe");
  await page.mouse.move(at.x, at.y);
  ok(/^probe \(500 samples, 50(\.0+)?%\)$/.test(await text(page, "details")), "the line of details follows the pointer", await text(page, "details"));
  await click(page, "join");
  ok(Math.abs((await box(page, "join")).width - whole) < 2, "a click zooms");
  ok(!(await box(page, "parse")).shown && (await box(page, "main")).shown, "what is beside goes, callers stay");
  const address = page.url();
  ok(/#z=/.test(address), "the URL holds the zoom");
  const reset = await page.evaluate(() => { const r = document.getElementById("unzoom").getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; });
  await page.mouse.click(reset.x, reset.y);
  ok((await box(page, "parse")).shown && Math.abs((await box(page, "join")).width / whole - 0.8) < 0.01, "Reset Zoom resets");
  const searching = async (word) => {
    page.once("dialog", (d) => void d.accept(word));
    const b = await page.evaluate(() => { const r = document.getElementById("search").getBoundingClientRect(); return { x: r.x + r.width / 2, y: r.y + r.height / 2 }; });
    await page.mouse.click(b.x, b.y);
  };
  await searching("^(JOIN|hash)$");
  is(await text(page, "matched"), "Matched: 80.0%", "search: a regular expression, case ignored, nothing counted twice");
  is(await page.evaluate(() => document.querySelectorAll(".hit").length), 2, "matches are marked");
  is(await text(page, "search"), "Reset Search", "the button offers to reset");
  const both = page.url();
  await searching("must not be asked");
  is([await text(page, "matched"), await page.evaluate(() => document.querySelectorAll(".hit").length)], ["", 0], "and resets");
  is(page.problems, [], "no console error");
  await page.close();

  page = await open(address);
  ok(Math.abs((await box(page, "join")).width - whole) < 2, "a link shows the same zoom");
  await page.close();
  page = await open(both);
  is(await text(page, "matched"), "Matched: 80.0%", "a link shows the same search");
  await page.evaluate(() => { for (const g of document.getElementsByClassName("f")) if (g.querySelector("title").textContent.startsWith("main (")) g.focus(); });
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  ok(/#z=/.test(page.url()) && Math.abs((await box(page, "exec")).width - whole) < 2, "keys walk and zoom");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  ok(!/#/.test(page.url()), "Escape takes the search and the zoom back");
  await page.close();

  page = await open(`file://${file("reversed.svg")}`);
  ok(Math.abs((await box(page, "probe")).width / whole - 0.5) < 0.01 && (await box(page, "probe")).top > (await box(page, "join")).top, "reversed: leaves at the root");
  is(page.problems, [], "no console error when reversed");
  await page.close();
  page = await open(`file://${file("icicle.svg")}`);
  ok((await box(page, "main")).top < (await box(page, "hash")).top, "icicle: the root on top");
  ok(frame(page, "gc") !== null && (await box(page, 'gc <x>&"y"')), "names that look like markup are names");
});

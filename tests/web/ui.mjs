// `procprof ui FILE…`: the same page over files on disk. Source with what each line costs, since here the files can be made to fit.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { axe, flameTool, folder, is, ok, open, program, run, start, until } from "./browser.mjs";
import { facts, ready, totalOf } from "./flame_page.mjs";

await run(async () => {
  const dir = folder(), file = (name) => join(dir, name);
  writeFileSync(file("one.folded"), "main;a 5\nmain;b 7\n");
  writeFileSync(file("two.folded"), "main;a 9\nmain;c 7\n");
  writeFileSync(file("lines.pb"), execFileSync(flameTool, ["proto", "made:60"], { maxBuffer: 1 << 26 }));
  // The made profile's functions are in be/src/VERB/CLASS.cpp and all their samples on line 42.
  for (const verb of ["build", "probe", "next_chunk", "evaluate", "append", "decode", "merge", "flush", "prepare", "open", "seek", "compare"]) {
    mkdirSync(file(`be/src/${verb}`), { recursive: true });
    for (const name of ["HashJoiner", "Aggregator", "ChunkSource", "ColumnReader", "PageBuilder", "RuntimeFilter", "MemTracker", "Compaction", "ExprContext", "SegmentIterator"])
      writeFileSync(file(`be/src/${verb}/${name}.cpp`), Array.from({ length: 60 }, (_, i) => `/* ${name}::${verb}, line ${i + 1} */`).join("\n") + "\n");
  }
  const child = start(program, ["ui", "--no-browser", "one.folded", "two.folded", "lines.pb"], { cwd: dir });
  const url = await until("the page", () => /(http:\/\/[^#\s]*)/.exec(child.output)?.[1]);

  const page = await open(url);
  await page.locator("#table_id tbody tr").first().waitFor();
  is((await page.locator("#table_id .c-stamp").allInnerTexts()).sort(), ["lines.pb", "one.folded", "two.folded"], "the files are listed by name");
  is([await page.getByRole("button", { name: "Collect now" }).count(), await page.locator(".nav-item").count()], [0, 1], "without nodes, timeline and collecting");
  is(await axe(page), [], "nothing serious from axe-core");
  const row = (name) => page.locator("#table_id tr", { hasText: name });
  await row("one.folded").getByRole("link", { name: "View" }).click();
  await ready(page);
  is(await totalOf(page, "b"), 7, "a file's flame graph");
  ok(/one\.folded/.test(await page.locator(".head-line").innerText()), "under its name", await page.locator(".head-line").innerText());
  await page.goto(url);
  await row("one.folded").getByLabel("Compare").click();
  await row("two.folded").getByLabel("Compare").click();
  await page.locator(".pick-bar").getByRole("link", { name: "Compare" }).click();
  await until("a comparison", () => page.evaluate(() => window.procprof?.viewer?.model.isDiff));
  ok((await totalOf(page, "a")) >= 5, "two files compared");
  await page.goto(url);
  await row("lines.pb").getByRole("link", { name: "View" }).click();
  await until("the profile", () => page.evaluate(() => window.procprof?.viewer && !window.procprof.viewer.model.isDiff));
  await page.locator("#tab-source").click();
  await page.locator(".source-lines").first().waitFor();
  const hot = page.locator(".source-lines tr", { hasText: "line 42 */" }).first();
  ok(/\d/.test(await hot.locator("td").nth(1).innerText()), "source: the line that costs says how much", await hot.innerText());
  is((await facts(page)).view, "source", "and the URL holds it");
  is(page.problems, [], "no console error");
});

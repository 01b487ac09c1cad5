// Every page of the real server at both sizes, light and dark, in the three languages: it fits, says its things in that language,
// axe-core finds nothing serious, the console stays silent.
import { join } from "node:path";
import { axe, is, ok, open, run, until, wait } from "./browser.mjs";
import { startBackend, startServer } from "./cluster.mjs";
import { overflow } from "./flame_page.mjs";

// language, size, dark, heading: every theme at every size, and every language
const LOOKS = [
  ["en-US", [1280, 800], false, "Process Profiles"], ["ja-JP", [390, 844], true, "プロセスプロファイル"],
  ["zh-CN", [1280, 800], true, "进程剖析"], ["en-US", [390, 844], false, "Process Profiles"],
];

const shown = (page, view, diff) => page.waitForFunction(([view, diff]) => { const v = window.procprof?.viewer; return v?.element.isConnected && v.state.v === view && v.model.isDiff === diff; }, [view, diff]);

await run(async () => {
  const be = await startBackend(), shots = process.env.WEB_SHOTS;
  const server = await startServer({ nodes: [`BE 127.0.0.1:${be.port}`, "BE 127.0.0.1:1"], settings: { fe_jvm: "no.such.Frontend", COLLECT_BE_PROFILE_INTERVAL: 4, be_collect_time_s: 1, be_profile_types: "cpu,heap", heartbeat_interval_s: 1 } });
  // Colours depend on the theme, structure on the page, room on the size.
  const cpu = await until("profiles", async () => { const all = (await server.api("profiles?type=cpu")).profiles; return all.length >= 3 && (await server.api("profiles?type=heap")).profiles.length && all; }, 60);
  await server.set("COLLECT_BE_PROFILE_INTERVAL", 3600); // enough is there: a list that grows costs axe-core time on every page
  const now = Date.now(), range = `node=${cpu[0].node}&type=cpu&from_ms=${now - 600000}&to_ms=${now + 60000}`;
  const pages = [
    ["profiles", "#/profiles", (p) => p.locator("#table_id tbody tr").first().waitFor()],
    ["one node", `#/profiles?node=${cpu[0].node}`, (p) => p.locator("#table_id tbody tr").first().waitFor()],
    ["nodes", "#/nodes", (p) => p.locator(".card").first().waitFor()],
    ["timeline", "#/timeline?range=15m", (p) => p.locator(".lane rect").first().waitFor()],
    ["timeline range", `#/timeline?range=15m&type=cpu&lane=${cpu[0].node}&from_ms=${now - 600000}&to_ms=${now}`, (p) => p.locator(".choice .primary").waitFor()],
    ...["flame", "tree", "top", "callers", "graph", "source"].map((v) => [v, `#/view?${range}&v=${v}`, (p) => shown(p, v, false)]),
    ...["flame", "top"].map((v) => ["diff " + v, `#/view?ids=${cpu[0].id}&base_ids=${cpu[1].id}&v=${v}`, (p) => shown(p, v, true)]),
  ];
  for (const [locale, size, dark, heading] of LOOKS) {
    const what = `${locale} ${size.join("x")} ${dark ? "dark" : "light"}`;
    const page = await open(server.url + "/", { locale, size, dark });
    is(await page.locator("h1").first().innerText(), heading, `${what}: the language of the browser`);
    for (const [name, address, there] of pages) {
      await page.evaluate((address) => { location.hash = address; }, address);
      await there(page);
      await wait(100);
      ok((await overflow(page)) <= 0, `${what}: ${name} fits`, await overflow(page));
      is(await axe(page), [], `${what}: ${name}: nothing serious from axe-core`);
      if (shots) await page.screenshot({ path: join(shots, `${locale}-${size[0]}-${name.replace(" ", "_")}.png`) });
    }
    if (size[0] < 500) {
      await page.evaluate(() => { location.hash = "#/timeline?range=15m"; });
      await page.locator(".lane rect").first().waitFor();
      is(await page.evaluate(() => [...document.querySelectorAll(".lane-label")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.innerText)), [], `${what}: no label of a lane is cut`);
      is(await page.evaluate(() => [...document.querySelectorAll(".type")].map((e) => getComputedStyle(e, "::before").width).filter((w) => w !== "9px")), [], `${what}: every type has its square`);
      ok((await page.locator("#open-file").isVisible()) && (await page.locator(".language .icon").isVisible()) && (await page.locator(".language select").evaluate((e) => e.getBoundingClientRect().width)) >= 24, `${what}: a file can be opened, a language chosen`);
      await page.evaluate(() => { location.hash = "#/nodes"; });
      await page.locator(".card .switch").first().waitFor();
      is(await page.evaluate(() => new Set([...document.querySelectorAll(".switch")].map((e) => Math.round(e.getBoundingClientRect().right))).size), 1, `${what}: the switches stand in one line`);
    }
    is(page.problems, [], `${what}: no console error`);
    await page.close();
  }
  const page = await open(server.url + "/#/nodes");
  const frontend = page.locator(".card", { has: page.locator(".role-FE") });
  await frontend.locator(".state.warn", { hasText: "not profiled" }).waitFor();
  ok(/no JVM matches 'no\.such\.Frontend'/.test(await frontend.locator(".banner").innerText()), "a frontend that is not there is amber, with the reason");
  await page.goto(server.url + "/#/profiles");
  is(await page.locator(".node-tab .dot").first().getAttribute("class"), "dot warn", "on its tab too");
  // The switches.
  await page.locator("#language").selectOption("zh");
  await page.getByRole("heading", { name: "进程剖析" }).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: "进程剖析" }).waitFor();
  ok(true, "the language can be chosen, and is kept");
  await page.locator("#theme").click();
  await page.reload();
  is(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "the theme too");
});

// The page with a password, and a walk by keyboard alone: list, flame graph, zoom, search, comparison.
import { is, ok, open, run, until } from "./browser.mjs";
import { sql, startBackend, startServer } from "./cluster.mjs";
import { facts, ready } from "./flame_page.mjs";

await run(async () => {
  const be = await startBackend();
  const server = await startServer({ nodes: [`BE 127.0.0.1:${be.port}`], settings: { COLLECT_BE_PROFILE_INTERVAL: 2, be_collect_time_s: 1, be_profile_types: "cpu", heartbeat_interval_s: 1 } });
  await until("three profiles", async () => (await server.api("profiles?type=cpu")).profiles.length >= 3, 60);

  // ---- keyboard alone
  const page = await open(server.url + "/");
  await page.locator("#table_id tbody tr").first().waitFor();
  const focused = () => page.evaluate(() => { const e = document.activeElement; return `${e.tagName} ${e.className} ${e.getAttribute("aria-label") ?? ""} ${e.textContent.trim().slice(0, 40)}`; });
  const tabTo = async (what, most = 40) => {
    for (let i = 0; i < most; i++) {
      await page.keyboard.press("Tab");
      if (what.test(await focused())) return true;
    }
    return false;
  };
  await page.keyboard.press("Tab");
  ok(/skip/.test(await focused()), "the first stop skips to the content");
  ok(await tabTo(/BUTTON.*Collect now/), "Tab reaches: collect now");
  await page.keyboard.press("Enter");
  ok(await page.getByRole("dialog").isVisible(), "Enter opens its dialog");
  await page.keyboard.press("Escape");
  await until("closed", async () => (await page.getByRole("dialog").count()) === 0);
  ok(await tabTo(/^A .*button.*View/), "Tab reaches: view of the newest profile");
  await page.keyboard.press("Enter");
  await ready(page);
  ok(/view\?ids=/.test(page.url()), "list → flame graph");
  ok(await tabTo(/DIV flame/), "Tab reaches the flame graph");
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const root = (await facts(page)).root;
  ok(root !== "all" && root !== "", "flame graph → zoom", root);
  await page.keyboard.press("/");
  await page.keyboard.type("execute");
  await until("matches", async () => /%/.test((await facts(page)).matched));
  await page.keyboard.press("Enter");
  ok(/q=execute/.test(page.url()), "zoom → search");
  await page.keyboard.press("Escape"); // out of the box; the search is cleared
  await page.keyboard.press("0");
  let reached = false;
  for (let i = 0; i < 30 && !reached; i++) {
    await page.keyboard.press("Shift+Tab");
    reached = /Compare with/.test(await focused());
  }
  ok(reached, "Shift+Tab reaches: compare with");
  await page.keyboard.press("Enter");
  ok(/the one before/.test(await focused()), "its menu opens with the focus in it");
  await page.keyboard.press("Enter");
  await until("a comparison", () => page.evaluate(() => window.procprof?.viewer?.model.isDiff));
  ok(/base_ids=/.test(page.url()), "search → comparison");
  await page.keyboard.press("3");
  is((await facts(page)).view, "top", "and its table of changes");
  is(page.problems, [], "no console error on the walk");
  await page.close();

  // ---- a password
  sql(server, "SET PASSWORD = PASSWORD('pa55')", "CREATE USER looker IDENTIFIED BY 'l00k'", "GRANT NODE ON SYSTEM TO USER looker");
  const locked = await open(server.url + "/");
  await locked.getByRole("heading", { name: "Sign in" }).waitFor();
  ok(true, "with a password the page asks for it");
  await locked.getByLabel("Password").fill("wrong");
  await locked.keyboard.press("Enter");
  await locked.getByRole("alert").waitFor();
  ok((await locked.getByRole("alert").innerText()).length > 5, "a wrong one is refused with a reason");
  await locked.getByLabel("Password").fill("pa55");
  await locked.getByRole("button", { name: "Sign in" }).click();
  await locked.locator("#table_id tbody tr").first().waitFor();
  ok(await locked.getByRole("button", { name: "Collect now" }).isVisible(), "the right one opens the page");
  await locked.getByRole("button", { name: /root/ }).click();
  await locked.getByRole("heading", { name: "Sign in" }).waitFor();
  ok(true, "signing out");
  await locked.close();
});

// What tests do with the viewer, wherever it is shown: the server's page or a saved file.
import { wait } from "./browser.mjs";

export const ready = (page) => page.waitForFunction(() => window.procprof?.viewer?.current);

// What the picture shows, as data.
export const facts = (page) => page.evaluate(() => {
  const v = window.procprof.viewer, view = v.current, c = view.canvas, tree = view.tree;
  return {
    view: v.state.v, root: c && tree ? (c.root ? v.data.names[tree.fn[c.root]] : "all") : "", selected: c && tree && c.selected >= 0 ? (c.selected ? v.data.names[tree.fn[c.selected]] : "all") : "",
    nodes: tree?.n ?? 0, total: tree ? tree.total[0] : 0, matched: document.querySelector(".matched").textContent, boxes: c?.lastBoxes ?? 0,
  };
});

// The total of the first frame of that name in the tree shown; -1: there is none.
export const totalOf = (page, name) => page.evaluate((name) => {
  const v = window.procprof.viewer, tree = v.current.tree;
  for (let i = 1; i < tree.n; i++) if (v.data.names[tree.fn[i]] === name) return tree.total[i];
  return -1;
}, name);

// Where a frame's box is in the window; scrolls it into view.
export const boxOf = (page, name) => page.evaluate((name) => {
  const v = window.procprof.viewer, { tree, canvas } = v.current;
  for (let i = 0; i < tree.n; i++)
    if ((i ? v.data.names[tree.fn[i]] : "all") === name) {
      canvas.reveal(i);
      canvas.drawNow();
      const box = canvas.boxOf(i);
      return { x: box.left + box.width / 2, y: box.top + box.height / 2, width: box.width };
    }
  return null;
}, name);

export async function clickFrame(page, name, options) {
  const box = await boxOf(page, name);
  if (!box) throw new Error(`no frame ${name}`);
  await page.mouse.click(box.x, box.y, options);
  await wait(60);
}

export async function type(page, label, text) {
  await page.getByLabel(label, { exact: true }).fill(text);
  await page.waitForTimeout(150);
}

// Is any of the picture painted? Counts colours of the flame graph's canvas.
export const colours = (page) => page.evaluate(() => {
  const c = document.querySelector(".flame canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
  for (let i = 0; i < d.length; i += 4 * 37) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
  return seen.size;
});

// Does anything stick out sideways?
export const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

export async function saved(page, label) {
  await page.getByRole("button", { name: /^(Export|エクスポート|导出)$/ }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator(".items").getByText(label, { exact: true }).click()]);
  const stream = await download.createReadStream(), parts = [];
  for await (const part of stream) parts.push(part);
  return { name: download.suggestedFilename(), bytes: Buffer.concat(parts) };
}

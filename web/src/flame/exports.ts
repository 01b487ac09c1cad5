// What the page can save by itself: SVG, folded stacks, CSV, speedscope's JSON. Filters and the sample type are as shown.

import { css, diffScale, functionColors, makePalette, type ColorMode } from "./colors";
import { formatPercent, formatValue } from "./format";
import type { Model } from "./model";
import { shorterNames } from "./names";
import type { Tree } from "./tree";

const xml = (s: string): string => s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

export function exportSvg(model: Model, tree: Tree, dark: boolean): string {
  const palette = makePalette(dark), width = 1400, row = 18, up = model.state.dir === "up", all = tree.width[0] || 1, scale = width / all;
  const mode = model.state.color as ColorMode;
  const colors = mode === "diff" ? null : functionColors(model.data, mode, palette), steps = diffScale(palette);
  const boxes: string[] = [];
  let lowest = 0;
  for (let i = 0; i < tree.n;) {
    const w = tree.width[i] * scale;
    if (w < 0.1) {
      i = tree.end[i];
      continue;
    }
    lowest = Math.max(lowest, tree.depth[i]);
    i++;
  }
  for (let i = 0; i < tree.n;) {
    const w = tree.width[i] * scale, d = tree.depth[i];
    if (w < 0.1) {
      i = tree.end[i];
      continue;
    }
    const name = i ? model.data.names[tree.fn[i]] : "all", x = (tree.x[i] * scale).toFixed(2), y = 34 + (up ? lowest - d : d) * row;
    const color = colors ? colors(tree.fn[i]) : steps[32 + Math.round(32 * model.change(tree.total[i], tree.baseTotal?.[i] ?? 0))];
    const label = w > 30 ? shorterNames(name).find((s) => s.length * 6.6 < w - 8) ?? name.slice(0, Math.max(0, Math.floor((w - 14) / 6.6))) + "…" : "";
    boxes.push(`<g><title>${xml(name.slice(0, 2000))} (${xml(formatValue(tree.total[i], model.unit))}, ${formatPercent(tree.total[i] / tree.total[0])})</title>` +
      `<rect x="${x}" y="${y}" width="${Math.max(0.1, w - 0.5).toFixed(2)}" height="${row - 1}" fill="${css(color)}"/>` +
      (label ? `<text x="${(tree.x[i] * scale + 4).toFixed(2)}" y="${y + 12.5}">${xml(label)}</text>` : "") + "</g>");
    i++;
  }
  const height = 34 + (lowest + 1) * row + 10;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<style>text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:${palette.text}}</style><rect width="100%" height="100%" fill="${css(palette.background)}"/>` +
    `<text x="8" y="20" style="font-size:14px">${xml(model.data.header.profile.title || "procprof")} · ${xml(model.typeName())}</text>${boxes.join("\n")}</svg>\n`;
}

// "a;b;c value" for every stack; a comparison has the base's value before it.
export function exportFolded(model: Model, tree: Tree): string {
  const path: string[] = [], out: string[] = [];
  for (let i = 1; i < tree.n; i++) {
    path.length = tree.depth[i] - 1;
    path.push(model.data.names[tree.fn[i]].replace(/;/g, ":"));
    const value = Math.round(tree.self[i]), base = tree.baseSelf ? Math.round(tree.baseSelf[i]) : 0;
    if (value || base) out.push(path.join(";") + (tree.baseSelf ? ` ${base}` : "") + ` ${value}`);
  }
  return out.join("\n") + "\n";
}

export function exportCsv(model: Model): string {
  const top = model.top(), { names, files, fnFile, modules, fnModule } = model.data;
  // A cell that a spreadsheet would take for a formula gets a quote before it.
  const cell = (s: string): string => '"' + (/^[=+\-@\t]/.test(s) ? "'" + s : s).replace(/"/g, '""') + '"';
  const order = [...names.keys()].slice(1).filter((f) => top.total[f] || top.self[f] || top.baseTotal?.[f]).sort((a, b) => top.self[b] - top.self[a]);
  const head = ["function", "self", "total", ...(top.baseSelf ? ["base_self", "base_total"] : []), "unit", "file", "module"];
  return head.join(",") + "\n" + order.map((f) => [cell(names[f]), top.self[f], top.total[f], ...(top.baseSelf ? [top.baseSelf[f], top.baseTotal![f]] : []), model.unit,
    cell(files[fnFile[f]] ?? ""), cell(modules[fnModule[f]] ?? "")].join(",")).join("\n") + "\n";
}

export function exportSpeedscope(model: Model, tree: Tree): string {
  const units: Record<string, string> = { nanoseconds: "nanoseconds", microseconds: "microseconds", milliseconds: "milliseconds", seconds: "seconds", bytes: "bytes" };
  const { names, files, fnFile, fnLine } = model.data;
  const frames = names.map((name, f) => ({ name, ...(files[fnFile[f]] ? { file: files[fnFile[f]] } : {}), ...(fnLine[f] ? { line: fnLine[f] } : {}) }));
  const samples: number[][] = [], weights: number[] = [], path: number[] = [];
  let sum = 0;
  for (let i = 1; i < tree.n; i++) {
    path.length = tree.depth[i] - 1;
    path.push(tree.fn[i]);
    if (tree.self[i] > 0) {
      samples.push(path.slice());
      weights.push(tree.self[i]);
      sum += tree.self[i];
    }
  }
  return JSON.stringify({
    $schema: "https://www.speedscope.app/file-format-schema.json", exporter: "procprof", name: model.data.header.profile.title, shared: { frames },
    profiles: [{ type: "sampled", name: model.typeName(), unit: units[model.unit] ?? "none", startValue: 0, endValue: sum, samples, weights }],
  });
}

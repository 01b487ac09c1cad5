// The flame graph: the canvas with breadcrumbs above, a tooltip, a line of facts below, and words for those who do not see it.

import { h, icon } from "../dom";
import { t } from "../i18n";
import { FlameCanvas } from "./canvas";
import { css, diffScale, functionColors, kindColor, makePalette, type ColorMode } from "./colors";
import { formatPercent, formatSigned, formatValue } from "./format";
import type { State } from "./model";
import { KINDS, kindOf, type Kind } from "./names";
import { findPath, markedWidth, pathHash, type Tree } from "./tree";
import type { View, Viewer } from "./viewer";

export const isEmpty = (tree: Tree): boolean => tree.n <= 1 || tree.width[0] === 0;

export function whyEmpty(viewer: Viewer): HTMLElement[] {
  const raw = viewer.model.raw(), filtered = raw.n > 1 && raw.width[0] !== 0;
  const text = h("p", {}, h("strong", {}, filtered ? t("noStacksLeft") : raw.n > 1 ? t("typeIsZero") : t("noSamples")));
  return filtered || raw.n > 1 ? [text] : [text, h("p", { class: "muted" }, t("noSamplesHint"))];
}

export function describe(viewer: Viewer, tree: Tree, node: number): { name: string; lines: [string, string][]; place: string } {
  const { model, data } = viewer, unit = model.unit;
  const name = node === 0 ? t("all") : data.names[tree.fn[node]];
  const all = tree.total[0], total = tree.total[node], parent = tree.total[tree.parent[node]];
  const lines: [string, string][] = [];
  if (tree.baseTotal) {
    const base = tree.baseTotal[node], change = total - base;
    lines.push([t("now"), formatValue(total, unit)], [t("base"), formatValue(base, unit)]);
    lines.push([t("change"), formatSigned(formatValue(change, unit), change) +
      (base ? ` (${formatSigned(formatPercent(change / Math.abs(base)), change)})` : total ? ` (${t("isNew")})` : "") +
      (change && model.isNoise(total, base) ? ` · ${t("isNoise")}` : "")]);
    const self = tree.self[node] - tree.baseSelf![node];
    if (!model.state.rev) lines.push([t("changeSelf"), formatSigned(formatValue(self, unit), self)]);
  } else {
    lines.push([t("total"), `${formatValue(total, unit)}  ${formatPercent(total / all)} ${t("ofAll")}`]);
    if (!model.state.rev) lines.push([t("self"), `${formatValue(tree.self[node], unit)}  ${formatPercent(tree.self[node] / all)}`]);
  }
  if (node > 0) lines.push([t("ofParent"), formatPercent(total / parent)]);
  const fn = tree.fn[node], file = data.files[data.fnFile[fn]] ?? "", module = data.modules[data.fnModule[fn]] ?? "";
  const line = data.fnLine[fn];
  return { name, lines, place: node ? [file && file + (line ? ":" + line : ""), module].filter(Boolean).join("  ·  ") : "" };
}

// Where an arrow key leads: to the caller, the heaviest callee, or the next box of the row, across parents. up: the root is at the bottom.
export function neighbour(tree: Tree, at: number, key: string, up: boolean): number {
  const seen = (i: number): boolean => tree.width[i] > 0;
  if (key === (up ? "ArrowDown" : "ArrowUp")) return tree.parent[at];
  if (key === (up ? "ArrowUp" : "ArrowDown")) return at + 1 < tree.end[at] && seen(at + 1) ? at + 1 : at;
  const step = key === "ArrowRight" ? 1 : -1, d = tree.depth[at];
  for (let i = step > 0 ? tree.end[at] : at - 1; i > 0 && i < tree.n; i += step) if (tree.depth[i] === d && seen(i)) return i;
  return at;
}

export class FlameView implements View {
  readonly element: HTMLElement;
  readonly canvas: FlameCanvas;
  private readonly crumbs = h("nav", { class: "crumbs", "aria-label": "zoom" });
  private readonly status = h("div", { class: "status" });
  private readonly words = h("div", { class: "offscreen", "aria-live": "polite" });
  private readonly tip = h("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly empty = h("div", { class: "empty", hidden: true });
  private tree: Tree | null = null;
  private colorKey = "";
  private pointed = -1; // the frame under the pointer
  private kinds: Kind[] | null = null;
  private colors: (fn: number) => number = () => 0;

  constructor(private readonly viewer: Viewer) {
    this.canvas = new FlameCanvas(makePalette(viewer.dark), {
      onHover: (node, x, y) => this.hover(node, x, y),
      onSelect: (node) => this.canvas.select(node),
      onZoom: (node) => this.zoomTo(node),
      onMenu: (node, x, y) => { if (node > 0) viewer.functionMenu(this.tree!.fn[node], x, y, () => this.zoomTo(node)); },
    });
    this.canvas.element.setAttribute("role", "application");
    this.canvas.element.setAttribute("aria-label", t("flameHelp"));
    this.element = h("div", { class: "view flame-view" }, this.crumbs, h("div", { class: "flame-holder" }, this.canvas.element, this.empty, this.tip), this.status, this.words);
  }

  update(changed: Set<keyof State> | null): void {
    const { model } = this.viewer;
    const palette = makePalette(this.viewer.dark);
    const tree = this.shownTree();
    const marked = model.matches(model.state.q);
    this.showEmpty(tree);
    const color = this.sceneColors();
    if (tree !== this.tree) {
      this.tree = tree;
      this.pointed = -1;
      const zoomed = model.state.z ? findPath(tree, model.state.z, model.hashes()) : 0;
      this.canvas.recolor({}, palette);
      this.canvas.setDirection(model.state.dir === "up");
      this.canvas.setScene({ tree, names: this.names(), rootName: t("all"), ...color, marked, smaller: this.viewer.data.header.smaller, preview: this.viewer.data.header.preview ?? 0 }, zoomed);
    } else {
      this.canvas.recolor({ ...color, marked }, palette);
      if (changed?.has("dir")) this.canvas.setDirection(model.state.dir === "up");
      if (changed?.has("z")) this.canvas.zoom(model.state.z ? findPath(tree, model.state.z, model.hashes()) : 0, true);
    }
    if (marked) this.viewer.setMatched(t("matched", formatPercent(markedWidth(tree, marked) / (tree.width[0] || 1))));
    this.drawCrumbs();
    this.drawStatus(this.pointed >= 0 ? this.pointed : this.canvas.root);
  }

  // Other data, of the same profile: what was made of the old ones goes.
  dataChanged(): void {
    this.colorKey = "";
    this.kinds = null;
  }

  // A reversed tree is followed only as far as it can be seen; zooming into it asks for a finer one.
  private shownTree(): Tree {
    const { model } = this.viewer;
    const coarse = model.shown();
    if (!coarse.partial || !model.state.z) return coarse;
    const at = findPath(coarse, model.state.z, model.hashes());
    const share = coarse.width[at] / (coarse.width[0] || 1);
    return at && share < 0.2 ? model.shown(10 ** Math.floor(Math.log10(share / 5000))) : coarse;
  }

  private names(): string[] {
    const { header, names } = this.viewer.data;
    if (!header.smaller) return names;
    const own = names.slice();
    own[header.smaller] = `(${t("smaller")})`;
    return own;
  }

  private sceneColors(): { colors: (fn: number) => number; nodeColor: ((n: number) => number) | null; isVanished: ((n: number) => boolean) | null } {
    const { model, data, dark } = this.viewer, palette = makePalette(dark), mode = model.state.color as ColorMode;
    const key = mode + dark;
    if (key !== this.colorKey && mode !== "diff") {
      this.colors = functionColors(data, mode, palette);
      this.colorKey = key;
    }
    const vanished = model.isDiff ? (n: number) => this.tree!.total[n] === 0 && this.tree!.baseTotal![n] > 0 : null;
    if (mode !== "diff" || !model.isDiff) return { colors: this.colors, nodeColor: null, isVanished: vanished };
    const scale = diffScale(palette);
    const nodeColor = (n: number): number => scale[32 + Math.round(32 * model.change(this.tree!.total[n], this.tree!.baseTotal![n]))];
    return { colors: this.colors, nodeColor, isVanished: vanished };
  }

  private showEmpty(tree: Tree): void {
    const none = isEmpty(tree);
    this.empty.hidden = !none;
    this.canvas.element.hidden = none;
    if (none) this.empty.replaceChildren(...whyEmpty(this.viewer));
  }

  private zoomTo(node: number): void {
    const z = node > 0 ? pathHash(this.tree!, node, this.viewer.model.hashes()) : "";
    this.tip.hidden = true;
    if (z === this.viewer.state.z) this.canvas.zoom(node, true);
    else this.viewer.set({ z });
  }

  private drawCrumbs(): void {
    const tree = this.tree!, path: number[] = [];
    for (let i = this.canvas.root; i > 0; i = tree.parent[i]) path.unshift(i);
    const crumb = (node: number): HTMLElement =>
      h("button", { type: "button", class: "crumb", title: node ? this.viewer.data.names[tree.fn[node]].slice(0, 500) : t("resetZoom"), onClick: () => { this.zoomTo(node); this.canvas.element.focus(); } },
        node ? this.viewer.data.names[tree.fn[node]].slice(0, 200) : t("all"));
    // Deep paths: the beginning and the end say most.
    const shown = path.length > 9 ? [...path.slice(0, 3), -1, ...path.slice(-5)] : path;
    this.crumbs.replaceChildren(crumb(0), ...shown.flatMap((node) => [icon("right"), node < 0 ? h("span", { class: "muted" }, `… ${path.length - 8} …`) : crumb(node)]));
    this.crumbs.hidden = path.length === 0;
    if (path.length) requestAnimationFrame(() => { this.crumbs.scrollLeft = this.crumbs.scrollWidth; });
  }

  private drawStatus(node: number): void {
    const tree = this.tree!;
    if (node < 0 || node >= tree.n || tree.n <= 1) return this.status.replaceChildren();
    const { name, lines } = describe(this.viewer, tree, node);
    this.status.replaceChildren(h("span", { class: "status-name" }, name.slice(0, 400)), ...lines.map(([label, value]) => h("span", {}, h("span", { class: "muted" }, label + " "), value)), this.legend() ?? "");
  }

  // What the colours say, where they say something that can be said in a few words.
  private legend(): HTMLElement | null {
    const { model, dark, data } = this.viewer, palette = makePalette(dark), mode = model.state.color;
    const item = (color: number, label: string, className = ""): HTMLElement => {
      const patch = h("i", { class: className });
      patch.style.backgroundColor = css(color);
      return h("span", {}, patch, label);
    };
    if (mode === "diff" && model.isDiff) {
      const scale = diffScale(palette);
      return h("span", { class: "legend wide-only" }, item(scale[58], t("legendMore")), item(scale[6], t("legendLess")), item(scale[0], t("isRemoved"), "gone"), item(scale[32], t("isNoise")));
    }
    if (mode !== "kind") return null;
    if (!this.kinds) {
      const found = new Set(data.names.map((name, f) => (f ? kindOf(name, data.files[data.fnFile[f]] ?? "", data.modules[data.fnModule[f]] ?? "") : null)));
      this.kinds = KINDS.filter((k) => found.has(k)).slice(0, 6);
    }
    return h("span", { class: "legend wide-only" }, this.kinds.map((k) => item(kindColor(k, palette), t(`kind_${k}`))));
  }

  private hover(node: number, x: number, y: number): void {
    this.pointed = node;
    if (node < 0) {
      this.tip.hidden = true;
      this.drawStatus(this.canvas.selected >= 0 ? this.canvas.selected : this.canvas.root);
      return;
    }
    this.drawStatus(node);
    const { name, lines, place } = describe(this.viewer, this.tree!, node);
    this.tip.replaceChildren(h("div", { class: "tip-name" }, name.length > 600 ? name.slice(0, 600) + "…" : name),
      h("dl", {}, lines.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value)))), place ? h("div", { class: "tip-place" }, place.slice(0, 300)) : "");
    this.tip.hidden = false;
    const holder = this.element.querySelector(".flame-holder")!.getBoundingClientRect(), box = this.tip.getBoundingClientRect();
    let left = x - holder.left + 14, top = y - holder.top + 18;
    if (left + box.width > holder.width - 6) left = Math.max(6, holder.width - box.width - 6);
    if (top + box.height > holder.height - 6) top = Math.max(6, y - holder.top - box.height - 12);
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  private move(to: number): void {
    this.canvas.select(to);
    this.drawStatus(to);
    const { name, lines } = describe(this.viewer, this.tree!, to);
    this.words.textContent = `${name.slice(0, 300)}, ${t("depth")} ${this.tree!.depth[to]}, ${lines.map(([l, v]) => `${l} ${v}`).join(", ")}`;
  }

  key(e: KeyboardEvent): boolean {
    const tree = this.tree;
    if (!tree || tree.n <= 1) return false;
    const at = this.canvas.selected >= 0 ? this.canvas.selected : this.canvas.root, up = this.viewer.state.dir === "up";
    const inCanvas = e.target === this.canvas.element || !(e.target instanceof HTMLElement) || e.target === document.body;
    const tall = (i: number): boolean => tree.width[i] > 0;
    if (e.key.startsWith("Arrow")) {
      if (!inCanvas && (e.target as HTMLElement).closest(".tabs, .menu-panel")) return false;
      this.move(this.canvas.selected < 0 ? at : neighbour(tree, at, e.key, up));
      return true;
    }
    if (e.key === "Enter" && inCanvas) { this.zoomTo(at); return true; }
    if (e.key === "Escape" || e.key === "Backspace") { this.zoomTo(this.canvas.root ? tree.parent[this.canvas.root] : 0); return true; }
    if (e.key === "0") { this.zoomTo(0); return true; }
    if (e.key === "y") { this.viewer.copyName(tree.fn[at]); return true; }
    if (e.key === "s" && at > 0) { this.viewer.set({ v: "callers", fn: this.viewer.data.names[tree.fn[at]] }); return true; }
    if ((e.key === "m" || e.key === "ContextMenu") && at > 0) {
      const box = this.canvas.boxOf(at);
      this.viewer.functionMenu(tree.fn[at], (box?.left ?? 0) + 20, (box?.top ?? 0) + 20, () => this.zoomTo(at));
      return true;
    }
    if (e.key === "n" || e.key === "N") {
      const marked = this.viewer.model.matches(this.viewer.state.q);
      if (!marked) return false;
      const step = e.key === "n" ? 1 : -1, start = this.canvas.selected >= 0 ? this.canvas.selected : 0;
      for (let k = 1, i = start + step; k <= tree.n; k++, i += step) {
        if (i >= tree.n) i = 1;
        if (i < 1) i = tree.n - 1;
        if (marked[tree.fn[i]] && tall(i)) { this.move(i); break; }
      }
      return true;
    }
    return false;
  }

  canvasBlob(): Promise<Blob | null> {
    return this.canvas.toBlob();
  }
}

// One function between those who call it (above) and what it calls (below).

import { h } from "../dom";
import { t } from "../i18n";
import { FlameCanvas } from "./canvas";
import { diffScale, functionColors, makePalette, type ColorMode } from "./colors";
import { formatPercent, formatValue } from "./format";
import type { State } from "./model";
import { neighbour } from "./view_flame";
import type { Tree } from "./tree";
import type { View, Viewer } from "./viewer";

class Half {
  readonly canvas: FlameCanvas;
  tree: Tree | null = null;
  readonly element: HTMLElement;
  constructor(viewer: Viewer, title: string, up: boolean, tell: (half: Half, node: number) => void) {
    this.canvas = new FlameCanvas(makePalette(viewer.dark), {
      onHover: (node) => tell(this, node),
      onSelect: () => undefined,
      onZoom: (node) => { if (node > 0) viewer.set({ fn: viewer.data.names[this.tree!.fn[node]] }); },
      onMenu: (node, x, y) => { if (node > 0) viewer.functionMenu(this.tree!.fn[node], x, y, null); },
    });
    this.canvas.setDirection(up);
    this.canvas.element.setAttribute("role", "application");
    this.canvas.element.setAttribute("aria-label", title);
    this.element = h("section", { class: "half " + (up ? "upper" : "lower") }, h("h3", {}, title), h("div", { class: "half-body" }, this.canvas.element));
  }
}

export class CallersView implements View {
  readonly element: HTMLElement;
  private readonly upper: Half;
  private readonly lower: Half;
  private readonly picker: HTMLInputElement;
  private readonly facts = h("span", { class: "muted" });
  private readonly status = h("div", { class: "status", "aria-live": "polite" });
  private readonly empty = h("div", { class: "empty" }, h("p", {}, t("pickFunction")));
  private readonly halves: HTMLElement;
  private readonly tell: (half: Half, node: number) => void;

  constructor(private readonly viewer: Viewer) {
    const tell = this.tell = (half: Half, node: number): void => {
      if (node < 0 || !half.tree) return this.status.replaceChildren();
      const tree = half.tree, name = node ? viewer.data.names[tree.fn[node]] : t("all");
      this.status.replaceChildren(h("span", { class: "status-name" }, name.slice(0, 400)), h("span", {}, `${formatValue(tree.total[node], viewer.model.unit)} · ${formatPercent(tree.total[node] / tree.total[0])}`));
    };
    this.upper = new Half(viewer, t("whoCalls"), true, tell);
    this.lower = new Half(viewer, t("whatCalls"), false, tell);
    const names = h("datalist", { id: "function-names" });
    this.picker = h("input", { type: "text", class: "picker", list: "function-names", "aria-label": t("function"), placeholder: t("function"), spellcheck: "false", autocomplete: "off",
      onChange: () => { if (viewer.data.names.includes(this.picker.value, 1)) viewer.set({ fn: this.picker.value }); } });
    const top = viewer.model.top(), order = [...top.total.keys()].slice(1).sort((a, b) => top.total[b] - top.total[a]).slice(0, 300);
    names.append(...order.map((f) => h("option", { value: viewer.data.names[f].slice(0, 500) })));
    this.halves = h("div", { class: "halves" }, this.upper.element, this.lower.element);
    this.element = h("div", { class: "view callers-view" }, h("div", { class: "table-bar" }, h("label", { class: "grow" }, h("span", { class: "muted" }, t("function") + " "), this.picker), this.facts, names), this.empty, this.halves, this.status);
  }

  update(changed: Set<keyof State> | null): void {
    const { model, data, dark, state } = this.viewer, palette = makePalette(dark);
    if (changed && ![...changed].some((k) => !["z", "dir", "sort"].includes(k))) return;
    if (!state.fn) {
      // Without a choice: the function that spends most itself.
      const self = model.top().self;
      let best = 0;
      for (let f = 1; f < self.length; f++) if (Math.abs(self[f]) > Math.abs(self[best])) best = f;
      if (best) state.fn = data.names[best];
    }
    const fn = state.fn ? data.names.indexOf(state.fn, 1) : -1;
    if (this.picker.value !== state.fn) this.picker.value = state.fn;
    this.empty.hidden = fn > 0;
    this.halves.hidden = fn <= 0;
    this.facts.textContent = "";
    if (fn <= 0) return;
    const top = model.top(), all = model.filtered().total[0];
    this.facts.textContent = `${t("self")} ${formatValue(top.self[fn], model.unit)} (${formatPercent(top.self[fn] / all)}) · ${t("total")} ${formatValue(top.total[fn], model.unit)} (${formatPercent(top.total[fn] / all)})`;
    const mode = (state.color === "diff" && !model.isDiff ? "package" : state.color) as ColorMode;
    const colors = mode === "diff" ? () => 0 : functionColors(data, mode, palette);
    const scale = diffScale(palette);
    for (const [half, tree] of [[this.upper, model.callers(fn)], [this.lower, model.callees(fn)]] as [Half, Tree][]) {
      half.tree = tree;
      half.canvas.recolor({}, palette);
      const nodeColor = mode === "diff" ? (n: number) => scale[32 + Math.round(32 * model.change(tree.total[n], tree.baseTotal![n]))] : null;
      half.canvas.setScene({ tree, names: data.names, rootName: t("all"), colors, nodeColor, isVanished: null, marked: model.matches(state.q), smaller: data.header.smaller, preview: 0 }, 0);
    }
  }

  key(e: KeyboardEvent): boolean {
    const half = [this.upper, this.lower].find((x) => x.canvas.element === e.target), tree = half?.tree;
    if (!half || !tree) return false;
    const at = half.canvas.selected;
    if (e.key.startsWith("Arrow")) {
      const to = at < 0 ? Math.min(1, tree.n - 1) : neighbour(tree, at, e.key, half === this.upper);
      half.canvas.select(to);
      this.tell(half, to);
    } else if (at > 0 && e.key === "Enter") this.viewer.set({ fn: this.viewer.data.names[tree.fn[at]] });
    else if (at > 0 && e.key === "y") this.viewer.copyName(tree.fn[at]);
    else if (at > 0 && (e.key === "m" || e.key === "ContextMenu")) {
      const box = half.canvas.boxOf(at);
      this.viewer.functionMenu(tree.fn[at], (box?.left ?? 0) + 20, (box?.top ?? 0) + 20, null);
    } else return false;
    return true;
  }

  canvasBlob(): Promise<Blob | null> {
    return this.lower.canvas.toBlob();
  }
}

// The call tree as a table that opens and closes: the flame graph for those who read, search by keyboard or listen.

import { h, icon, RowList } from "../dom";
import { t } from "../i18n";
import { formatPercent, formatSigned, formatValue } from "./format";
import type { State } from "./model";
import { findPath, pathHash, type Tree } from "./tree";
import type { View, Viewer } from "./viewer";

export class TreeView implements View {
  readonly element: HTMLElement;
  private readonly rows: RowList;
  private readonly grid: HTMLElement;
  private tree: Tree | null = null;
  private open = new Set<number>();
  private list: number[] = []; // nodes in the order shown
  private current = 0;

  constructor(private readonly viewer: Viewer) {
    this.rows = new RowList(28, (i) => this.row(i), "table-rows");
    const diff = viewer.model.isDiff;
    this.grid = h("div", { class: "table tree-table", role: "treegrid", tabindex: "0", "aria-label": t("tree") + ". " + t("treeHelp") },
      h("div", { role: "rowgroup" }, h("div", { class: "table-head", role: "row" },
        h("span", { class: "cell-value", role: "columnheader" }, diff ? t("now") : t("total")), h("span", { class: "cell-value small", role: "columnheader" }, diff ? t("change") : t("self")),
        h("span", { class: "cell-name", role: "columnheader" }, t("function")))),
      this.rows.element);
    this.rows.scrollIn(this.grid, 34);
    this.grid.addEventListener("keydown", (e) => this.gridKey(e));
    this.element = h("div", { class: "view table-view" }, this.grid);
  }

  update(changed: Set<keyof State> | null): void {
    const { model } = this.viewer, tree = model.shown();
    if (tree !== this.tree) {
      this.tree = tree;
      this.open = new Set([0]);
      this.current = 0;
      // Open the heaviest path as far as it is the one that counts.
      const target = model.state.z ? findPath(tree, model.state.z, model.hashes()) : 0;
      if (target) {
        for (let i = target; i > 0; i = tree.parent[i]) this.open.add(i);
        this.current = target;
      } else {
        for (let i = 0; i + 1 < tree.end[i] && tree.width[i + 1] > 0.5 * tree.width[0] && this.open.size < 60; i++) this.open.add(i + 1);
      }
    }
    if (model.state.q && (!changed || changed.has("q") || changed.has("v"))) this.openMatches();
    this.flatten();
    this.rows.setCount(this.list.length);
    this.grid.setAttribute("aria-rowcount", String(this.list.length + 1));
    const at = this.list.indexOf(this.current);
    if (at > 0) requestAnimationFrame(() => this.rows.show(at));
  }

  private openMatches(): void {
    const tree = this.tree!, marked = this.viewer.model.matches(this.viewer.state.q)!;
    let budget = 400;
    for (let i = 1; i < tree.n && budget > 0;) {
      if (marked[tree.fn[i]]) {
        for (let p = tree.parent[i]; p > 0 && !this.open.has(p); p = tree.parent[p]) this.open.add(p);
        budget--;
        i = tree.end[i];
      } else i++;
    }
  }

  private flatten(): void {
    const tree = this.tree!, list: number[] = [];
    for (let i = 0; i < tree.n;) {
      if (tree.width[i] > 0 || i === 0) list.push(i);
      i = this.open.has(i) ? i + 1 : tree.end[i];
    }
    this.list = list;
  }

  private toggle(node: number, open = !this.open.has(node)): void {
    if (open) this.open.add(node);
    else this.open.delete(node);
    this.flatten();
    this.rows.setCount(this.list.length);
    this.grid.setAttribute("aria-rowcount", String(this.list.length + 1));
  }

  private row(i: number): HTMLElement {
    const node = this.list[i], tree = this.tree!, { data, model } = this.viewer, unit = model.unit;
    const has = node + 1 < tree.end[node], open = this.open.has(node), depth = tree.depth[node];
    const name = node ? data.names[tree.fn[node]] : t("all"), marked = model.matches(model.state.q);
    const change = tree.baseTotal ? tree.total[node] - tree.baseTotal[node] : 0;
    const second = tree.baseTotal ? formatSigned(formatValue(change, unit), change) : formatValue(tree.self[node], unit);
    const kind = tree.baseTotal ? (model.isNoise(tree.total[node], tree.baseTotal[node]) ? "same" : change > 0 ? "more" : "less") : "";
    const indent = h("span", { class: "indent" });
    indent.style.width = Math.min(depth, 40) * 14 + (depth > 40 ? 8 : 0) + "px";
    const fill = h("span", { class: "bar-fill" });
    fill.style.width = Math.max(0, Math.min(100, (tree.width[node] / (tree.width[0] || 1)) * 100)).toFixed(2) + "%";
    const row = h("div", { class: "table-row" + (node === this.current ? " current" : "") + (marked?.[tree.fn[node]] ? " marked" : ""), role: "row", id: "tree-row-" + i,
      "aria-level": depth + 1, "aria-expanded": has ? String(open) : null, "aria-selected": String(node === this.current), "aria-rowindex": i + 2 },
      h("span", { class: "cell-value", role: "gridcell" }, h("span", { class: "num" }, formatValue(tree.total[node], unit)), h("span", { class: "pct" }, formatPercent(tree.total[node] / tree.total[0])), h("span", { class: "bar-track", "aria-hidden": "true" }, fill)),
      h("span", { class: "cell-value small", role: "gridcell" }, h("span", { class: "num " + kind }, second)),
      h("span", { class: "cell-name", role: "gridcell" }, indent, depth > 40 ? h("span", { class: "muted" }, depth + " ") : null,
        has ? h("span", { class: "twist" }, icon(open ? "down" : "right")) : h("span", { class: "twist" }), h("span", { class: "fn", title: name.slice(0, 1000) }, name.slice(0, 400))));
    row.addEventListener("click", () => { this.current = node; this.grid.focus(); if (has) this.toggle(node); else this.rows.draw(); });
    row.addEventListener("dblclick", () => this.showFlame(node));
    row.addEventListener("contextmenu", (e) => { e.preventDefault(); if (node) this.viewer.functionMenu(tree.fn[node], e.clientX, e.clientY, () => this.showFlame(node)); });
    return row;
  }

  private showFlame(node: number): void {
    this.viewer.set({ v: "flame", z: node ? pathHash(this.tree!, node, this.viewer.model.hashes()) : "" });
  }

  private gridKey(e: KeyboardEvent): void {
    const tree = this.tree!, at = Math.max(0, this.list.indexOf(this.current));
    const go = (i: number): void => {
      this.current = this.list[Math.max(0, Math.min(this.list.length - 1, i))];
      const index = this.list.indexOf(this.current);
      this.rows.show(index);
      this.grid.setAttribute("aria-activedescendant", "tree-row-" + index);
    };
    if (e.key === "ArrowDown") go(at + 1);
    else if (e.key === "ArrowUp") go(at - 1);
    else if (e.key === "PageDown") go(at + 15);
    else if (e.key === "PageUp") go(at - 15);
    else if (e.key === "Home") go(0);
    else if (e.key === "End") go(this.list.length - 1);
    else if (e.key === "ArrowRight") { if (!this.open.has(this.current) && this.current + 1 < tree.end[this.current]) this.toggle(this.current, true); else go(at + 1); }
    else if (e.key === "ArrowLeft") { if (this.open.has(this.current) && this.current) this.toggle(this.current, false); else go(this.list.indexOf(tree.parent[this.current])); }
    else if (e.key === "Enter") this.showFlame(this.current);
    else if (e.key === "y" && this.current) this.viewer.copyName(tree.fn[this.current]);
    else if (e.key === "s" && this.current) this.viewer.set({ v: "callers", fn: this.viewer.data.names[tree.fn[this.current]] });
    else if ((e.key === "m" || e.key === "ContextMenu") && this.current) {
      const box = this.rows.element.querySelector(".current")?.getBoundingClientRect(), node = this.current;
      this.viewer.functionMenu(tree.fn[node], (box?.left ?? 0) + 240, box?.bottom ?? 100, () => this.showFlame(node));
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
}

// The table of functions: self and total, or what changed in a comparison. The search box filters it.

import { h, RowList } from "../dom";
import { t, type Key } from "../i18n";
import { formatPercent, formatSigned, formatValue } from "./format";
import type { State } from "./model";
import type { View, Viewer } from "./viewer";

interface Column {
  id: string;
  label: Key;
  value(fn: number): number;
  cell(fn: number): (Node | string)[];
}

export class TableView implements View {
  readonly element: HTMLElement;
  private readonly head = h("div", { class: "table-head", role: "row" });
  private readonly rows: RowList;
  private readonly note = h("div", { class: "table-note" });
  private order: number[] = [];
  private columns: Column[] = [];
  private current = -1;

  constructor(private readonly viewer: Viewer) {
    this.rows = new RowList(30, (i) => this.row(i), "table-rows");
    const diff = viewer.model.isDiff;
    const table = h("div", { class: "table" + (diff ? " diff" : ""), role: "table", tabindex: "0", "aria-label": diff ? t("difftable") : t("top") },
      h("div", { role: "rowgroup" }, this.head), this.rows.element);
    const only = h("select", { "aria-label": t("show"), onChange: () => viewer.set({ only: only.value }) },
      ([["", "all"], ["new", "isNew"], ["removed", "isRemoved"], ["changed", "isChanged"]] as [string, Key][]).map(([value, label]) => h("option", { value }, t(label))));
    only.value = viewer.state.only;
    this.element = h("div", { class: "view table-view" }, h("div", { class: "table-bar" }, diff ? h("label", {}, t("show") + " ", only) : null, this.note), table);
    this.rows.scrollIn(table, 34);
    table.addEventListener("keydown", (e) => this.tableKey(e));
  }

  update(changed: Set<keyof State> | null): void {
    if (changed && ![...changed].some((k) => ["v", "t", "q", "focus", "ignore", "hide", "rec", "sort", "only", "norm", "w"].includes(k))) return;
    this.columns = this.makeColumns();
    this.sort();
    this.drawHead();
    this.note.textContent = `${this.order.length} ${t("functions")}`;
    this.rows.setCount(this.order.length);
  }

  private makeColumns(): Column[] {
    const { model } = this.viewer, top = model.top(), unit = model.unit, all = model.filtered().total[0] || 1;
    const bar = (share: number, kind = ""): HTMLElement => {
      const fill = h("span", { class: "bar-fill " + kind });
      fill.style.width = Math.min(100, Math.abs(share) * 100).toFixed(2) + "%";
      return h("span", { class: "bar-track", "aria-hidden": "true" }, fill);
    };
    const plain = (id: string, label: Key, values: Float64Array): Column => ({
      id, label, value: (f) => values[f],
      cell: (f) => [h("span", { class: "num" }, formatValue(values[f], unit)), h("span", { class: "pct" }, formatPercent(values[f] / all)), bar(values[f] / all)],
    });
    if (!top.baseTotal || !top.baseSelf) return [plain("self", "self", top.self), plain("total", "total", top.total)];
    const baseTotal = top.baseTotal, baseSelf = top.baseSelf;
    const most = Math.max(1e-300, ...[1].map(() => { let m = 0; for (let f = 1; f < top.total.length; f++) m = Math.max(m, Math.abs(top.total[f] - baseTotal[f])); return m; }));
    const delta = (id: string, label: Key, a: Float64Array, b: Float64Array): Column => ({
      id, label, value: (f) => Math.abs(a[f] - b[f]),
      cell: (f) => {
        const change = a[f] - b[f], noise = model.isNoise(a[f], b[f]), kind = noise ? "same" : change > 0 ? "more" : "less";
        return [h("span", { class: "num " + kind }, formatSigned(formatValue(change, unit), change)),
          h("span", { class: "pct " + kind }, b[f] ? formatSigned(formatPercent(change / Math.abs(b[f])), change) : a[f] ? t("isNew") : ""), bar(change / most, kind)];
      },
    });
    const one = (id: string, label: Key, values: Float64Array): Column => ({ id, label, value: (f) => values[f], cell: (f) => [h("span", { class: "num" }, formatValue(values[f], unit))] });
    return [delta("dtotal", "change", top.total, baseTotal), delta("dself", "changeSelf", top.self, baseSelf), one("total", "now", top.total), one("base", "base", baseTotal)];
  }

  private sort(): void {
    const { model, state, data } = this.viewer, top = model.top(), q = model.matches(state.q);
    const list: number[] = [];
    for (let f = 1; f < data.names.length; f++) {
      const base = top.baseTotal ? top.baseTotal[f] : 0;
      if (top.total[f] === 0 && top.self[f] === 0 && base === 0) continue;
      if (q && !q[f]) continue;
      if (state.only === "new" && !(base === 0 && top.total[f] !== 0)) continue;
      if (state.only === "removed" && !(base !== 0 && top.total[f] === 0)) continue;
      if (state.only === "changed" && top.baseTotal && model.isNoise(top.total[f], base) && model.isNoise(top.self[f], top.baseSelf![f])) continue;
      list.push(f);
    }
    const up = state.sort.startsWith("-"), id = up ? state.sort.slice(1) : state.sort;
    if (id === "name") {
      list.sort((a, b) => (data.names[a] < data.names[b] ? -1 : 1) * (up ? -1 : 1));
    } else {
      const column = this.columns.find((c) => c.id === id) ?? this.columns[0];
      const second = this.columns.find((c) => c !== column)!;
      list.sort((a, b) => (column.value(b) - column.value(a) || second.value(b) - second.value(a)) * (up ? -1 : 1));
    }
    this.order = list;
  }

  private drawHead(): void {
    const { state } = this.viewer, sort = state.sort || this.columns[0].id;
    const head = (id: string, label: string, className: string): HTMLElement => {
      const on = sort === id ? "descending" : sort === "-" + id ? "ascending" : "none";
      return h("span", { class: className, role: "columnheader", "aria-sort": id === "name" && on !== "none" ? (on === "ascending" ? "descending" : "ascending") : on },
        h("button", { type: "button", onClick: () => this.viewer.set({ sort: sort === id ? "-" + id : id }) }, label, h("span", { class: "sort-mark", "aria-hidden": "true" }, on === "descending" ? "▾" : on === "ascending" ? "▴" : "")));
    };
    this.head.replaceChildren(...this.columns.map((c) => head(c.id, t(c.label), "cell-value")), head("name", t("function"), "cell-name"));
  }

  private row(i: number): HTMLElement {
    const f = this.order[i], { data } = this.viewer, name = data.names[f];
    const file = data.files[data.fnFile[f]] || data.modules[data.fnModule[f]] || "";
    const row = h("div", { class: "table-row" + (i === this.current ? " current" : ""), role: "row", "aria-rowindex": i + 2 },
      this.columns.map((c) => h("span", { class: "cell-value", role: "cell" }, c.cell(f))),
      h("span", { class: "cell-name", role: "cell" },
        h("a", { href: "#", class: "fn", title: name.slice(0, 1000), tabindex: "-1", onClick: (e: Event) => { e.preventDefault(); this.viewer.set({ v: "callers", fn: name }); } }, name.slice(0, 400)),
        h("span", { class: "file muted" }, file ? "\u200e" + file.slice(-80) + "\u200e" : "")));
    row.addEventListener("contextmenu", (e) => { e.preventDefault(); this.viewer.functionMenu(f, e.clientX, e.clientY, null); });
    return row;
  }

  private tableKey(e: KeyboardEvent): void {
    if ((e.target as HTMLElement).closest("button")) return;
    const last = this.order.length - 1;
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[e.key];
    if (move !== undefined) {
      this.current = Math.max(0, Math.min(last, this.current + move));
      this.rows.show(this.current);
    } else if (this.current >= 0 && e.key === "Enter") {
      this.viewer.set({ v: "callers", fn: this.viewer.data.names[this.order[this.current]] });
    } else if (this.current >= 0 && e.key === "y") {
      this.viewer.copyName(this.order[this.current]);
    } else if (this.current >= 0 && (e.key === "m" || e.key === "ContextMenu")) {
      const at = this.rows.element.querySelector(".current")?.getBoundingClientRect();
      this.viewer.functionMenu(this.order[this.current], (at?.left ?? 0) + 200, at?.bottom ?? 100, null);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  }
}

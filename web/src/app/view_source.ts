// The source of a function with what each line costs, where the server can read the file.

import { h } from "../dom";
import { t } from "../i18n";
import { formatValue } from "../flame/format";
import { exactRegex, type State } from "../flame/model";
import type { View, Viewer } from "../flame/viewer";
import { api } from "./api";
import { problem } from "./shell";

export class SourceView implements View {
  readonly element: HTMLElement;
  private readonly body = h("div", { class: "source", tabindex: "0" });
  private readonly picker: HTMLInputElement;
  private shown = "";

  constructor(private readonly viewer: Viewer, private readonly query: URLSearchParams) {
    const top = viewer.model.top(), order = [...top.self.keys()].slice(1).sort((a, b) => top.self[b] - top.self[a]).slice(0, 300);
    this.picker = h("input", { type: "text", class: "picker", list: "source-names", "aria-label": t("function"), spellcheck: "false", autocomplete: "off", onChange: () => viewer.set({ fn: this.picker.value }) });
    this.element = h("div", { class: "view source-view" }, h("div", { class: "table-bar" }, h("label", { class: "grow" }, h("span", { class: "muted" }, t("function") + " "), this.picker),
      h("datalist", { id: "source-names" }, order.map((f) => h("option", { value: viewer.data.names[f].slice(0, 500) })))), this.body);
  }

  update(changed: Set<keyof State> | null): void {
    if (!changed) return;
    const { state, model, data } = this.viewer;
    if (!state.fn) {
      const self = model.top().self;
      let best = 0;
      for (let f = 1; f < self.length; f++) if (self[f] > self[best]) best = f;
      if (best) state.fn = data.names[best];
    }
    this.picker.value = state.fn;
    const key = state.fn + "\n" + model.typeName();
    if (state.fn && key !== this.shown) void this.load(key);
  }

  private async load(key: string): Promise<void> {
    this.shown = key;
    const { state, model } = this.viewer;
    this.body.replaceChildren(h("p", { class: "muted loading" }, t("loading")));
    const q = new URLSearchParams(this.query);
    q.set("function", exactRegex(state.fn));
    q.set("sample", model.typeName());
    try {
      const { functions } = await api.source(q);
      if (this.shown !== key) return;
      if (!functions.length || functions.every((f) => f.lines.every((l) => !l.text))) return this.body.replaceChildren(this.without(functions.length > 0 ? functions[0].file : ""), ...functions.filter((f) => f.lines.length).map((f) => this.table(f)));
      this.body.replaceChildren(...functions.map((f) => this.table(f)));
    } catch (why) {
      if (this.shown === key) this.body.replaceChildren(problem(t("noSource"), why instanceof Error ? why.message : ""));
    }
  }

  private without(file: string): HTMLElement {
    return h("p", { class: "banner" }, t("noSource"), " ", h("span", { class: "muted" }, file ? file + " · " : "", t("noSourceHint")));
  }

  private table(f: { name: string; file: string; lines: { line: number; flat: number; cum: number; text: string }[] }): HTMLElement {
    const unit = this.viewer.model.unit, most = Math.max(1, ...f.lines.map((l) => l.cum));
    return h("section", {}, h("h3", { class: "source-file" }, f.file || f.name),
      h("table", { class: "source-lines" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("self")), h("th", { scope: "col" }, t("total")), h("th", { scope: "col" }, t("line")), h("th", { scope: "col" }, ""))),
        h("tbody", {}, f.lines.map((l) => {
          const row = h("tr", {}, h("td", { class: "num" }, l.flat ? formatValue(l.flat, unit) : ""), h("td", { class: "num" }, l.cum ? formatValue(l.cum, unit) : ""), h("td", { class: "num muted" }, String(l.line)), h("td", {}, h("code", {}, l.text)));
          if (l.cum) row.style.setProperty("--heat", String(Math.round((l.cum / most) * 45)) + "%");
          return row;
        }))));
  }
}

// The viewer of one profile or comparison: its bar of controls and the views below. The same in the server's page and in a saved file.

import { copyText, h, icon, menuButton, popupMenu, save, toast } from "../dom";
import { t, type Key } from "../i18n";
import type { FlameData } from "./data";
import { exportCsv, exportFolded, exportSpeedscope, exportSvg } from "./exports";
import { formatStamp, formatTime, formatValue } from "./format";
import { exactRegex, Model, searchRegex, type State } from "./model";
import { CallersView } from "./view_callers";
import { FlameView, isEmpty, whyEmpty } from "./view_flame";
import { GraphView } from "./view_graph";
import { TableView } from "./view_table";
import { TreeView } from "./view_tree";

export interface ViewerOptions {
  onState(state: State, asNewPage: boolean): void;
  exportLinks?: { label: string; url?: string; run?(name: string): void }[]; // what only the server can make
  extraViews?: { id: string; label: Key; make(viewer: Viewer): View }[];
  dark: boolean;
}

// A view draws itself from the model. `changed` says which choices changed; nothing: the theme did.
export interface View {
  element: HTMLElement;
  update(changed: Set<keyof State> | null): void;
  key?(e: KeyboardEvent): boolean;
  canvasBlob?(): Promise<Blob | null>; // as PNG
  svgText?(): string;                  // a picture other than the flame graph's
}

const VIEW_KEYS: { id: string; label: Key }[] = [
  { id: "flame", label: "flame" }, { id: "tree", label: "tree" }, { id: "top", label: "top" },
  { id: "callers", label: "callers" }, { id: "graph", label: "graph" },
];

export class Viewer {
  readonly element: HTMLElement;
  model: Model;
  dark: boolean;
  private readonly views = new Map<string, View>();
  private readonly tabs = new Map<string, HTMLButtonElement>();
  private readonly body = h("div", { class: "viewer-body" });
  private readonly emptyBox = h("div", { class: "empty viewer-empty" });
  private readonly chips = h("div", { class: "chips" });
  private readonly matched = h("output", { class: "matched", "aria-live": "polite" });
  private readonly searchBox: HTMLInputElement;
  private readonly typeBox: HTMLSelectElement;
  private current: View | null = null;
  private searchTimer = 0;
  private toggles: [keyof State, string, HTMLButtonElement][] = [];

  constructor(public data: FlameData, state: State, readonly options: ViewerOptions) {
    this.model = new Model(data, state);
    this.dark = options.dark;
    if (!state.color) state.color = this.model.isDiff ? "diff" : "package";
    this.typeBox = h("select", { class: "type-box", title: t("sampleType"), "aria-label": t("sampleType"), onChange: () => this.set({ t: this.typeBox.value }) },
      data.header.sample_types.map(([name, unit]) => h("option", { value: name }, unit && unit !== name ? `${name} (${unit})` : name)));
    this.searchBox = h("input", {
      type: "search", class: "search-box", placeholder: t("searchShort"), "aria-label": t("search"), title: t("search") + "  /", value: state.q, spellcheck: "false", autocomplete: "off",
      onInput: () => {
        clearTimeout(this.searchTimer);
        this.searchTimer = window.setTimeout(() => this.set({ q: this.searchBox.value }, false), 60);
      },
    });
    this.searchBox.addEventListener("keydown", (e) => {
      if (e.key === "Escape") {
        if (this.searchBox.value) { this.searchBox.value = ""; this.set({ q: "" }); }
        this.focusView();
      } else if (e.key === "Enter") {
        this.set({ q: this.searchBox.value });
        this.current?.key?.(new KeyboardEvent("keydown", { key: e.shiftKey ? "N" : "n" }));
      } else return;
      e.preventDefault();
      e.stopPropagation();
    });
    this.element = h("div", { class: "viewer" }, this.makeHead(), this.makeBar(), this.chips, this.body);
    document.addEventListener("keydown", this.onKey);
    this.typeBox.value = this.model.typeName();
    this.refresh(new Set(Object.keys(state) as (keyof State)[]));
  }

  // The whole in place of its preview.
  setData(data: FlameData): void {
    const state = this.state;
    this.data = data;
    this.model = new Model(data, state);
    for (const [id, view] of this.views) {
      if (view instanceof FlameView) view.dataChanged();
      else this.views.delete(id);
    }
    this.refresh(new Set(Object.keys(state) as (keyof State)[]));
  }

  // Draws at once, not with the browser's next frame.
  drawNow(): void {
    if (this.current instanceof FlameView) this.current.canvas.drawNow();
  }

  get state(): State {
    return this.model.state;
  }

  // Keys work wherever the focus is, as long as the viewer is there.
  private readonly onKey = (e: KeyboardEvent): void => {
    if (this.element.isConnected) this.key(e);
    else document.removeEventListener("keydown", this.onKey);
  };

  // Changes choices; asNewPage: the browser's Back returns to what was before.
  set(change: Partial<State>, asNewPage = true): void {
    const changed = new Set<keyof State>();
    for (const key of Object.keys(change) as (keyof State)[])
      if (this.state[key] !== change[key]) {
        this.state[key] = change[key]!;
        changed.add(key);
      }
    if (!changed.size) return;
    this.options.onState(this.state, asNewPage);
    this.refresh(changed);
  }

  // The URL changed under us (Back, or an edited address).
  setFromUrl(state: State): void {
    const changed = new Set<keyof State>();
    if (!state.color) state.color = this.model.isDiff ? "diff" : "package";
    for (const key of Object.keys(state) as (keyof State)[])
      if (this.state[key] !== state[key]) {
        this.state[key] = state[key];
        changed.add(key);
      }
    if (changed.has("q")) this.searchBox.value = state.q;
    if (changed.size) this.refresh(changed);
  }

  setDark(dark: boolean): void {
    this.dark = dark;
    for (const view of this.views.values()) view.update(null);
  }

  get hasSource(): boolean {
    return this.tabs.has("source");
  }

  focusView(): void {
    this.body.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }

  setMatched(text: string): void {
    this.matched.textContent = text;
  }

  // ---- commands for a function, used by every view

  functionMenu(fn: number, x: number, y: number, zoom: (() => void) | null): void {
    const name = this.data.names[fn];
    const both = (old: string): string => (old ? `${old}|${exactRegex(name)}` : exactRegex(name));
    popupMenu(x, y, [
      ...(zoom ? [{ label: t("zoomHere"), key: "Enter", run: zoom }] : [{ label: t("showInFlame"), run: () => this.set({ v: "flame", q: exactRegex(name) }) }]),
      { label: t("showCallers"), key: "s", run: () => this.set({ v: "callers", fn: name }) },
      ...(this.hasSource ? [{ label: t("showSource"), run: () => this.set({ v: "source", fn: name }) }] : []),
      { label: t("searchThis"), run: () => { this.searchBox.value = exactRegex(name); this.set({ q: exactRegex(name) }); } },
      { label: t("focusThis"), run: () => this.set({ focus: exactRegex(name), z: "" }) },
      { label: t("ignoreThis"), run: () => this.set({ ignore: both(this.state.ignore), z: "" }) },
      { label: t("hideThis"), run: () => this.set({ hide: both(this.state.hide), z: "" }) },
      { label: t("copyName"), key: "y", run: () => this.copyName(fn) },
    ]);
  }

  copyName(fn: number): void {
    void copyText(this.data.names[fn]).then(() => toast(t("copied")));
  }

  // ---- parts

  private makeHead(): HTMLElement {
    const { profile, base } = this.data.header;
    const facts = (f: typeof profile): string => [
      f.time_ms > 0 && !f.title.includes(formatStamp(f.time_ms)) ? formatStamp(f.time_ms) : "", f.duration_ms > 0 ? formatTime(f.duration_ms / 1000) : "",
      f.processes > 1 ? `× ${f.processes}` : "",
    ].filter(Boolean).join(" · ");
    const line = (f: typeof profile, label: string): HTMLElement =>
      h("div", { class: "head-line" }, label ? h("span", { class: "head-label" }, label) : null, h("strong", { title: f.title }, f.title || "procprof"), h("span", { class: "muted" }, facts(f)));
    return h("header", { class: "viewer-head" },
      h("div", { class: "head-lines" }, line(profile, base ? t("now") : ""), base ? line(base, t("base")) : null),
      h("div", { class: "head-total", id: "head-total" }));
  }

  private makeBar(): HTMLElement {
    const views = [...VIEW_KEYS, ...(this.options.extraViews ?? [])];
    const strip = h("div", { class: "tabs", role: "tablist" }, views.map(({ id, label }) => {
      const tab = h("button", { type: "button", role: "tab", class: "tab", id: "tab-" + id, "aria-controls": "viewer-panel", onClick: () => this.set({ v: id }) },
        id === "top" && this.model.isDiff ? t("difftable") : t(label));
      this.tabs.set(id, tab);
      return tab;
    }));
    strip.addEventListener("keydown", (e) => {
      const all = [...this.tabs.values()], at = all.indexOf(document.activeElement as HTMLButtonElement);
      if (at < 0 || (e.key !== "ArrowRight" && e.key !== "ArrowLeft")) return;
      const next = all[(at + (e.key === "ArrowRight" ? 1 : all.length - 1)) % all.length];
      next.click();
      next.focus();
      e.preventDefault();
      e.stopPropagation();
    });
    this.body.id = "viewer-panel";
    this.body.setAttribute("role", "tabpanel");
    const toggle = (key: keyof State, on: string, name: string, label: Key, shortcut: string): HTMLButtonElement => {
      const off = key === "dir" ? "down" : "";
      const button = h("button", { type: "button", class: "button square wide-only", title: `${t(label)}  ${shortcut}`, "aria-label": t(label), onClick: () => this.set({ [key]: this.state[key] === on ? off : on, ...(key === "dir" ? {} : { z: "" }) }) }, icon(name));
      this.toggles.push([key, on, button]);
      return button;
    };
    return h("div", { class: "bar" }, strip,
      h("div", { class: "bar-right" },
        this.data.header.sample_types.length > 1 ? this.typeBox : null,
        h("label", { class: "search" }, icon("search"), this.searchBox, this.matched),
        toggle("dir", "up", "flip", "flip", "i"), toggle("rev", "1", "reverse", "reverse", "r"), toggle("rec", "1", "loop", "collapse", "c"),
        menuButton([icon("sliders"), h("span", { class: "wide-only" }, t("view"))], t("view"), (close) => this.makeOptions(close)),
        menuButton([icon("download"), h("span", { class: "wide-only" }, t("export"))], t("export"), (close) => this.makeExports(close)),
        h("button", { type: "button", class: "button square wide-only", title: t("help") + "  ?", "aria-label": t("help"), onClick: () => this.showHelp() }, icon("help"))));
  }

  private makeOptions(close: () => void): HTMLElement {
    const select = (label: Key, key: keyof State, choices: [string, Key][]): HTMLElement => {
      const box = h("select", { onChange: () => this.set({ [key]: box.value, ...(key === "order" ? { z: "" } : {}) }) }, choices.map(([value, text]) => h("option", { value }, t(text))));
      box.value = this.state[key];
      return h("label", { class: "field" }, h("span", {}, t(label)), box);
    };
    const check = (label: Key, key: keyof State): HTMLElement => {
      const box = h("input", { type: "checkbox", onChange: () => this.set({ [key]: box.checked ? "1" : "", z: "" }) });
      box.checked = this.state[key] === "1";
      return h("label", { class: "field check" }, box, h("span", {}, t(label)));
    };
    const text = (label: Key, key: keyof State): HTMLElement => {
      const box = h("input", { type: "text", value: this.state[key], spellcheck: "false", onChange: () => this.set({ [key]: box.value, z: "" }) });
      box.addEventListener("keydown", (e) => {
        if (e.key === "Enter") { this.set({ [key]: box.value, z: "" }); close(); }
        e.stopPropagation();
        if (e.key === "Escape") close();
      });
      return h("label", { class: "field" }, h("span", {}, t(label)), box);
    };
    return h("div", { class: "options" },
      select("direction", "dir", [["down", "icicle"], ["up", "flames"]]),
      select("order", "order", [["", "byWeight"], ["name", "byName"]]),
      select("color", "color", [...(this.model.isDiff ? [["diff", "colorDiff"] as [string, Key]] : []), ["package", "colorPackage"], ["kind", "colorKind"], ["module", "colorModule"], ["warm", "colorWarm"]]),
      this.model.isDiff ? select("width", "w", [["max", "widthMax"], ["new", "widthNew"], ["base", "widthBase"], ["churn", "widthChurn"]]) : null,
      this.model.isDiff ? select("normalize", "norm", [["rate", "normRate"], ["absolute", "normAbsolute"], ["relative", "normRelative"]]) : null,
      check("reverse", "rev"), check("collapse", "rec"),
      h("div", { class: "field-title" }, t("filters")),
      text("focus", "focus"), text("ignore", "ignore"), text("hide", "hide"));
  }

  private makeExports(close: () => void): HTMLElement {
    const name = (this.data.header.profile.title || "profile").replace(/[^\w.-]+/g, "_").slice(0, 80);
    const item = (label: string, run: () => void): HTMLElement => h("button", { type: "button", class: "item", onClick: () => { close(); run(); } }, label);
    const tree = (): ReturnType<Model["shown"]> => this.model.shown();
    return h("div", { class: "items" },
      item(t("copyLink"), () => void copyText(location.href).then(() => toast(t("copied")))),
      this.current?.canvasBlob ? item("PNG", () => void this.current?.canvasBlob?.().then((blob) => blob && save(name + ".png", blob))) : null,
      item("SVG", () => save(name + ".svg", this.current?.svgText?.() ?? exportSvg(this.model, tree(), this.dark), "image/svg+xml")),
      item("Folded stacks", () => save(name + ".folded", exportFolded(this.model, this.model.filtered()))),
      item("CSV", () => save(name + ".csv", exportCsv(this.model), "text/csv")),
      item("speedscope JSON", () => save(name + ".speedscope.json", exportSpeedscope(this.model, this.model.filtered()), "application/json")),
      (this.options.exportLinks ?? []).map(({ label, url, run }) => (url ? h("a", { class: "item", href: url, download: "", onClick: close }, label) : item(label, () => run?.(name)))));
  }

  showHelp(): void {
    const rows: [string, Key][] = [
      ["← ↑ → ↓", "keyMove"], ["Enter", "keyZoom"], ["Esc  0", "keyBack"], ["/", "keySearch"], ["n  N", "keyNext"], [`1 – ${this.tabs.size}`, "keyViews"], ["i", "keyFlip"],
      ["r", "keyReverse"], ["c", "keyCollapse"], ["s", "keyCallers"], ["y", "keyCopy"], ["m", "keyMenu"], ["t", "keyType"], [t("keyWheel"), "keyWiden"], ["?", "keyHelp"],
    ];
    const back = document.activeElement as HTMLElement | null;
    const box = h("dialog", { class: "dialog", "aria-label": t("help") },
      h("h2", {}, t("help")),
      h("table", { class: "keys" }, h("tbody", {}, rows.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, key.split("  ").map((k) => h("kbd", {}, k))), h("td", {}, t(what)))))),
      h("button", { type: "button", class: "button", onClick: () => box.close() }, t("close")));
    box.addEventListener("close", () => { box.remove(); back?.focus(); });
    box.addEventListener("keydown", (e) => e.stopPropagation());
    document.body.append(box);
    box.showModal();
  }

  // ---- keeping the picture in step with the choices

  private makeView(id: string): View {
    const extra = this.options.extraViews?.find((v) => v.id === id);
    if (extra) return extra.make(this);
    if (id === "tree") return new TreeView(this);
    if (id === "top") return new TableView(this);
    if (id === "callers") return new CallersView(this);
    if (id === "graph") return new GraphView(this);
    return new FlameView(this);
  }

  private refresh(changed: Set<keyof State>): void {
    const id = this.tabs.has(this.state.v) ? this.state.v : "flame";
    for (const [key, tab] of this.tabs) {
      tab.setAttribute("aria-selected", String(key === id));
      tab.tabIndex = key === id ? 0 : -1;
    }
    this.body.setAttribute("aria-labelledby", "tab-" + id);
    for (const [key, on, button] of this.toggles) button.setAttribute("aria-pressed", String(this.state[key] === on));
    if (changed.has("t")) this.typeBox.value = this.model.typeName();
    const search = searchRegex(this.state.q);
    this.searchBox.classList.toggle("bad", !!search?.plain);
    this.searchBox.title = search?.plain ? t("badRegex") : t("search") + "  /";
    this.drawChips();
    const total = this.model.raw();
    const totalBox = this.element.querySelector("#head-total")!;
    totalBox.replaceChildren(h("strong", {}, formatValue(total.total[0], this.model.unit)), h("span", { class: "muted" }, ` ${this.model.typeName()}`),
      h("span", { class: "muted head-counts" }, this.data.header.preview ? "" : ` · ${this.data.header.functions - 1} ${t("functions")} · ${total.maxDepth} ${t("deep")}`));
    let view = this.views.get(id);
    const isNew = !view;
    if (!view) this.views.set(id, (view = this.makeView(id)));
    // A flame graph says by itself that it is empty; for all others it is said here.
    const none = !(view instanceof FlameView) && isEmpty(this.model.filtered());
    this.body.classList.toggle("is-empty", none);
    if (none) this.emptyBox.replaceChildren(...whyEmpty(this));
    if (this.current !== view) {
      this.current = view;
      this.body.replaceChildren(this.emptyBox, view.element);
      if (!isNew) changed = new Set(Object.keys(this.state) as (keyof State)[]);
    }
    if (!this.state.q) this.setMatched("");
    view.update(isNew ? new Set(Object.keys(this.state) as (keyof State)[]) : changed);
  }

  private drawChips(): void {
    const chip = (label: Key, key: "focus" | "ignore" | "hide"): HTMLElement | null => this.state[key]
      ? h("span", { class: "chip" }, h("span", { class: "muted" }, t(label)), h("code", {}, this.state[key]),
        h("button", { type: "button", "aria-label": `${t("clear")}: ${t(label)}`, onClick: () => this.set({ [key]: "", z: "" }) }, icon("close")))
      : null;
    const parts = [chip("focus", "focus"), chip("ignore", "ignore"), chip("hide", "hide")].filter((c): c is HTMLElement => !!c);
    if (this.data.header.left_out) parts.push(h("span", { class: "note" }, t("leftOut", this.data.header.left_out)));
    this.chips.replaceChildren(...parts);
    this.chips.hidden = parts.length === 0;
  }

  private key(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || target.closest("input, select, textarea, dialog, .menu-panel, .popup-shade")) return;
    if (this.current?.key?.(e)) {
      e.preventDefault();
      return;
    }
    const views = [...this.tabs.keys()];
    const flipped = (key: keyof State, on: string, off: string): string => (this.state[key] === on ? off : on);
    if (e.key === "/") { this.searchBox.focus(); this.searchBox.select(); }
    else if (e.key === "?") this.showHelp();
    else if (e.key === "i") this.set({ dir: flipped("dir", "up", "down") });
    else if (e.key === "r") this.set({ rev: flipped("rev", "1", ""), z: "" });
    else if (e.key === "c") this.set({ rec: flipped("rec", "1", ""), z: "" });
    else if (e.key === "t" && this.data.header.sample_types.length) this.set({ t: this.model.typeName((this.model.type + 1) % this.data.header.sample_types.length) });
    else if (/^[1-9]$/.test(e.key) && views[Number(e.key) - 1]) { this.set({ v: views[Number(e.key) - 1] }); this.focusView(); }
    else return;
    e.preventDefault();
  }
}

// A node over time: a lane for each type, bars as high as the samples taken; drag over a range to merge what is in it.

import { h, svg } from "../dom";
import { t, type Key } from "../i18n";
import { formatCount, formatStamp } from "../flame/format";
import { api, ApiError, listen, type Timeline } from "./api";
import { go, linkTo, nodeLabel, problem, typeBadge, typeLabel, type Page, type Route, type Shell } from "./shell";

const RANGES: [string, Key, number][] = [["15m", "last15m", 900e3], ["1h", "last1h", 3600e3], ["6h", "last6h", 6 * 3600e3], ["24h", "last24h", 86400e3], ["7d", "last7d", 7 * 86400e3]];
const LANE = 74;

export class TimelinePage implements Page {
  readonly element: HTMLElement;
  readonly title = t("timeline");
  private query: URLSearchParams;
  private data: Timeline | null = null;
  private readonly controls = h("div", { class: "filters" });
  private readonly lanes = h("div", { class: "lanes" }, h("p", { class: "muted loading" }, t("loading")));
  private readonly choice = h("div", { class: "choice" });
  private readonly stop: () => void;
  private timer = 0;
  private dragFrom = -1;

  constructor(private readonly shell: Shell, route: Route) {
    this.query = route.query;
    this.element = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", {}, h("h1", {}, t("timeline")), h("p", { class: "muted" }, t("timelineHint")))), this.controls, this.lanes, this.choice);
    this.stop = listen((kind) => { if (kind === "profile") this.later(1000); });
    addEventListener("resize", this.onResize);
    this.drawControls();
    void this.load();
  }

  leave(): void {
    this.stop();
    clearTimeout(this.timer);
    removeEventListener("resize", this.onResize);
  }

  private readonly onResize = (): void => this.drawLanes();

  route(route: Route): boolean {
    if (route.page !== "timeline") return false;
    const reload = ["node", "range"].some((k) => route.query.get(k) !== this.query.get(k));
    this.query = route.query;
    this.drawControls();
    if (reload) void this.load();
    else this.drawLanes();
    return true;
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { if (this.dragFrom < 0) void this.load(); }, ms);
  }

  private change(values: Record<string, string>, replace = false): void {
    const q = new URLSearchParams(this.query);
    for (const [key, value] of Object.entries(values)) if (value) q.set(key, value); else q.delete(key);
    go(linkTo("timeline", q), replace);
  }

  private drawControls(): void {
    const node = h("select", { "aria-label": t("node"), onChange: () => this.change({ node: node.value }) }, h("option", { value: "" }, t("allNodes")), this.shell.nodes.map((n) => h("option", { value: String(n.id) }, nodeLabel(n))));
    node.value = this.query.get("node") ?? "";
    const range = h("select", { "aria-label": t("timestamp"), onChange: () => this.change({ range: range.value, from_ms: "", to_ms: "" }) }, RANGES.map(([value, label]) => h("option", { value }, t(label))));
    range.value = this.query.get("range") ?? "1h";
    const stamp = (key: string, label: Key): HTMLElement => {
      const ms = Number(this.query.get(key) ?? 0);
      const box = h("input", { type: "datetime-local", step: "1", "aria-label": t(label), value: ms ? formatStamp(ms).replace(" ", "T") : "", onChange: () => this.change({ [key]: box.value ? String(new Date(box.value).getTime()) : "" }) });
      return h("label", {}, h("span", { class: "muted" }, t(label) + " "), box);
    };
    this.controls.replaceChildren(node, range, stamp("from_ms", "from"), stamp("to_ms", "to"));
  }

  private async load(): Promise<void> {
    const range = RANGES.find(([value]) => value === (this.query.get("range") ?? "1h")) ?? RANGES[1], now = Date.now();
    const q = new URLSearchParams({ from_ms: String(now - range[2]), to_ms: String(now), buckets: "120" });
    if (this.query.get("node")) q.set("node", this.query.get("node")!);
    try {
      this.data = await api.timeline(q);
      this.drawLanes();
    } catch (why) {
      if (why instanceof ApiError && why.status === 401) return;
      this.lanes.replaceChildren(problem(why instanceof ApiError && why.status ? why.message : t("cannotReach"), "", h("button", { type: "button", class: "button", onClick: () => void this.load() }, t("again"))));
      this.later(3000);
    }
  }

  private drawLanes(): void {
    const data = this.data;
    if (!data) return;
    if (!data.series.length) {
      this.lanes.replaceChildren(problem(t("nothingCollected")));
      this.choice.replaceChildren();
      return;
    }
    const many = new Set(data.series.map((s) => s.node)).size > 1;
    this.lanes.replaceChildren(this.axis(), ...data.series.map((s) => this.lane(s, many)));
    this.drawChoice();
  }

  private x(ms: number): number {
    const d = this.data!;
    return ((ms - d.from_ms) / (d.to_ms - d.from_ms)) * 100;
  }

  private axis(): HTMLElement {
    const d = this.data!, span = d.to_ms - d.from_ms, steps = [1, 5, 10, 30, 60, 180, 360, 720, 1440, 2880].map((m) => m * 60e3);
    const step = steps.find((s) => span / s <= Math.max(3, Math.min(10, this.lanes.clientWidth / 110))) ?? steps[steps.length - 1];
    const marks: HTMLElement[] = [], zone = new Date(d.from_ms).getTimezoneOffset() * 60e3;
    for (let at = Math.ceil((d.from_ms - zone) / step) * step + zone; at < d.to_ms; at += step) {
      const mark = h("span", { class: "tick" }, step >= 86400e3 ? formatStamp(at).slice(5, 10) : formatStamp(at).slice(11, 16));
      mark.style.left = this.x(at) + "%";
      marks.push(mark);
    }
    return h("div", { class: "lane axis" }, h("span", { class: "lane-label" }), h("div", { class: "lane-body", "aria-hidden": "true" }, marks));
  }

  private lane(s: Timeline["series"][number], many: boolean): HTMLElement {
    const d = this.data!, most = Math.max(1, ...s.buckets.map((b) => Math.max(b.samples, 0)));
    const width = Math.max(0.15, (d.bucket_ms / (d.to_ms - d.from_ms)) * 100 - 0.12);
    const bars = s.buckets.map((b) => {
      const high = 6 + (Math.max(b.samples, 0) / most) * (LANE - 22);
      return svg("rect", { x: `${this.x(b.t_ms)}%`, y: LANE - 8 - high, width: `${width}%`, height: high, rx: 1.5 }, svg("title", {}, `${formatStamp(b.t_ms)} · ${t("profilesIn", b.profiles)} · ${formatCount(b.samples)} ${t("samples")}`));
    });
    const body = h("div", { class: "lane-body type-" + s.type }, svg("svg", { width: "100%", height: LANE, role: "img", "aria-label": `${typeLabel(s.type)}: ${t("profilesIn", s.buckets.reduce((a, b) => a + b.profiles, 0))}` }, bars));
    const from = Number(this.query.get("from_ms") ?? 0), to = Number(this.query.get("to_ms") ?? 0), mine = (this.query.get("type") ?? s.type) === s.type && (this.query.get("lane") ?? String(s.node)) === String(s.node);
    const mark = h("div", { class: "range", hidden: !(from && to && mine) });
    const place = (a: number, b: number): void => {
      mark.hidden = false;
      mark.style.left = Math.max(0, this.x(a)) + "%";
      mark.style.width = Math.max(0.2, Math.min(100, this.x(b)) - Math.max(0, this.x(a))) + "%";
    };
    if (from && to && mine) place(from, to);
    body.append(mark);
    const timeAt = (e: PointerEvent): number => {
      const box = body.getBoundingClientRect();
      return d.from_ms + Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)) * (d.to_ms - d.from_ms);
    };
    body.addEventListener("pointerdown", (e) => {
      this.dragFrom = timeAt(e);
      body.setPointerCapture(e.pointerId);
      for (const other of this.lanes.querySelectorAll<HTMLElement>(".range")) other.hidden = true;
    });
    body.addEventListener("pointermove", (e) => { if (this.dragFrom >= 0) place(Math.min(this.dragFrom, timeAt(e)), Math.max(this.dragFrom, timeAt(e))); });
    body.addEventListener("pointerup", (e) => {
      if (this.dragFrom < 0) return;
      let a = Math.min(this.dragFrom, timeAt(e)), b = Math.max(this.dragFrom, timeAt(e));
      this.dragFrom = -1;
      if (b - a < d.bucket_ms) { a -= d.bucket_ms / 2; b += d.bucket_ms / 2; } // a click: what is there
      this.change({ from_ms: String(Math.round(a)), to_ms: String(Math.round(b)), type: s.type, lane: String(s.node) });
    });
    const node = this.shell.nodes.find((n) => n.id === s.node);
    return h("div", { class: "lane" }, h("span", { class: "lane-label" }, typeBadge(s.type), many ? h("span", { class: "muted" }, nodeLabel(node, s.node)) : null), body);
  }

  private drawChoice(): void {
    const from = Number(this.query.get("from_ms") ?? 0), to = Number(this.query.get("to_ms") ?? 0), d = this.data!;
    const type = this.query.get("type") ?? d.series[0].type, node = this.query.get("lane") || this.query.get("node") || String(d.series[0].node);
    if (!from || !to) return this.choice.replaceChildren(h("p", { class: "muted" }, t("rangeNone")));
    const lane = d.series.find((s) => s.type === type && String(s.node) === node);
    const count = lane ? lane.buckets.filter((b) => b.t_ms + d.bucket_ms > from && b.t_ms < to).reduce((a, b) => a + b.profiles, 0) : 0;
    const what = { node, type, from_ms: from, to_ms: to };
    this.choice.replaceChildren(
      h("p", {}, typeBadge(type), " ", h("strong", {}, `${formatStamp(from)} – ${formatStamp(to).slice(11)}`), " · ", t("profilesIn", count)),
      h("span", { class: "row-actions" }, h("a", { class: "button primary", href: linkTo("view", what) }, t("rangeFlame")),
        h("a", { class: "button", href: linkTo("view", { ...what, base_from_ms: 2 * from - to, base_to_ms: from }) }, t("rangeCompare"))));
  }
}

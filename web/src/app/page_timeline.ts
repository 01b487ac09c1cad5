// A node over time: a lane for each type, bars as high as what the profiles show (CPU time, bytes in use, time waited); drag over a range to merge what is in it.

import { h, icon, svg } from "../dom";
import { t, type Key } from "../i18n";
import { formatCount, formatStamp, formatValue } from "../flame/format";
import { api, ApiError, listen, type Timeline } from "./api";
import { go, linkTo, nodeLabel, problem, profilesIn, typeBadge, typeLabel, type Page, type Route, type Shell } from "./shell";

const RANGES: [string, Key, number][] = [["15m", "last15m", 900e3], ["1h", "last1h", 3600e3], ["6h", "last6h", 6 * 3600e3], ["24h", "last24h", 86400e3], ["7d", "last7d", 7 * 86400e3]];
const LANE = 74, BAR = LANE - 26; // high

// What the bars of a lane stand for: the total of the newest profile's sample type; where one lacks it (a record of an older server), the number of samples.
function measure(s: Timeline["series"][number]): { name: string; of: (b: (typeof s.buckets)[number]) => number | undefined; text: (value: number) => string } {
  const type = s.buckets.reduce((last, b) => b.total_type ?? last, "");
  if (!type || s.buckets.some((b) => !b.total_type)) return { name: t("samples"), of: (b) => Math.max(b.samples, 0), text: (value) => formatCount(value) };
  const [name, unit = ""] = type.split("/");
  return { name, of: (b) => (b.total_type === type ? b.total : undefined), text: (value) => formatValue(value, unit) };
}

export class TimelinePage implements Page {
  readonly element: HTMLElement;
  readonly title = t("timeline");
  private query: URLSearchParams;
  private data: Timeline | null = null;
  private readonly controls = h("div", { class: "filters" });
  private readonly lanes = h("div", { class: "lanes" }, h("p", { class: "muted loading" }, t("loading")));
  private readonly choice = h("div", { class: "pick-bar choice", role: "status", hidden: true });
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
      this.choice.hidden = true;
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
    const d = this.data!, { name, of, text } = measure(s), most = Math.max(0, ...s.buckets.map((b) => of(b) ?? 0));
    const width = Math.max(0.15, (d.bucket_ms / (d.to_ms - d.from_ms)) * 100 - 0.12);
    const bars = s.buckets.map((b) => {
      const value = of(b), high = Math.max(2, most > 0 ? ((value ?? 0) / most) * BAR : 0); // what is there is seen, also a zero
      return svg("rect", { x: `${this.x(b.t_ms)}%`, y: LANE - 8 - high, width: `${width}%`, height: high, rx: Math.min(1.5, high / 2) },
        svg("title", {}, [formatStamp(b.t_ms), value === undefined ? "" : `${text(value)} ${name}`, profilesIn(b.profiles), b.samples > 0 ? `${formatCount(b.samples)} ${t("samples")}` : ""].filter(Boolean).join(" · ")));
    });
    const scale = `${text(most)} ${name}`;
    const body = h("div", { class: "lane-body type-" + s.type }, h("span", { class: "lane-scale" }, scale),
      svg("svg", { width: "100%", height: LANE, role: "img", "aria-label": `${typeLabel(s.type)}: ${profilesIn(s.buckets.reduce((a, b) => a + b.profiles, 0))}, ${t("atMost", scale)}` },
        svg("line", { x1: 0, x2: "100%", y1: LANE - 8 - BAR, y2: LANE - 8 - BAR, class: "lane-top" }), bars));
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
    this.choice.hidden = !from || !to;
    if (this.choice.hidden) return;
    const type = this.query.get("type") ?? d.series[0].type, node = this.query.get("lane") || this.query.get("node") || String(d.series[0].node);
    const lane = d.series.find((s) => s.type === type && String(s.node) === node);
    const count = lane ? lane.buckets.filter((b) => b.t_ms + d.bucket_ms > from && b.t_ms < to).reduce((a, b) => a + b.profiles, 0) : 0;
    const what = { node, type, from_ms: from, to_ms: to };
    this.choice.replaceChildren(
      h("p", {}, typeBadge(type), " ", h("strong", {}, `${formatStamp(from)} – ${formatStamp(to).slice(11)}`), " · ", profilesIn(count)),
      h("span", { class: "row-actions" }, count ? h("a", { class: "button primary", href: linkTo("view", what) }, t("rangeFlame")) : null,
        count ? h("a", { class: "button", href: linkTo("view", { ...what, base_from_ms: 2 * from - to, base_to_ms: from }) }, t("rangeCompare")) : null,
        h("button", { type: "button", class: "button square", title: t("close"), "aria-label": t("close"), onClick: () => this.change({ from_ms: "", to_ms: "", type: "", lane: "" }) }, icon("close"))));
  }
}

// The call graph: boxes for functions, arrows for calls, laid out in the page. Drag to move, wheel to zoom, keys for both.

import { h, svg } from "../dom";
import { t } from "../i18n";
import { css, diffScale, makePalette, mix, oklch, type Palette } from "./colors";
import { formatPercent, formatSigned, formatValue } from "./format";
import { layOut, makeGraph, type Graph, type GraphEdge, type GraphNode } from "./graph";
import type { State } from "./model";
import { stripArguments } from "./names";
import { weigh } from "./tree";
import type { View, Viewer } from "./viewer";

const SIZES = ["20", "40", "80", "160", "320"];
const WATCHED: (keyof State)[] = ["v", "t", "focus", "ignore", "hide", "rec", "norm", "w", "gn", "color"];

function wrap(name: string): string[] {
  const plain = stripArguments(name).slice(0, 120), lines: string[] = [];
  let line = "";
  for (const part of plain.match(/.*?(?:::|\.|\/)|.+$/g) ?? [plain]) {
    if (line && line.length + part.length > 26) {
      lines.push(line);
      line = "";
    }
    line += part;
  }
  lines.push(line);
  const shown = lines.length > 4 ? ["…" + lines[lines.length - 4], ...lines.slice(-3)] : lines;
  return shown.map((l) => (l.length > 40 ? l.slice(0, 39) + "…" : l));
}

export class GraphView implements View {
  readonly element: HTMLElement;
  private readonly picture = svg("svg", { class: "graph-svg", tabindex: "0", role: "application" });
  private readonly scene = svg("g");
  private readonly note = h("span", { class: "graph-note" });
  private readonly tip = h("div", { class: "tip", role: "tooltip", hidden: true });
  private readonly words = h("div", { class: "offscreen", "aria-live": "polite" });
  private readonly size: HTMLSelectElement;
  private graph: Graph | null = null;
  private boxes: SVGGElement[] = [];
  private arrows: SVGGElement[] = [];
  private scale = 1;
  private x = 0;
  private y = 0;
  private chosen = -1;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = false;

  constructor(private readonly viewer: Viewer) {
    this.picture.setAttribute("aria-label", t("graphHelp"));
    this.picture.append(svg("defs", {}, svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0 1 9 5 0 9z", class: "arrow-head" }))), this.scene);
    this.size = h("select", { "aria-label": t("graphSize"), title: t("graphSize"), onChange: () => viewer.set({ gn: this.size.value }) }, SIZES.map((n) => h("option", { value: n }, n)));
    const button = (label: string, title: string, run: () => void): HTMLElement => h("button", { type: "button", class: "button small square", title, "aria-label": title, onClick: run }, label);
    this.element = h("div", { class: "view graph-view" }, this.note,
      h("div", { class: "graph-tools" }, this.size, button("+", t("zoomIn"), () => this.zoomBy(1.3)), button("−", t("zoomOut"), () => this.zoomBy(1 / 1.3)), h("button", { type: "button", class: "button small", onClick: () => this.fit() }, t("fit"))),
      this.picture, this.tip, this.words);
    this.listen();
    new ResizeObserver(() => { if (!this.moved) this.fit(0.7); }).observe(this.picture);
  }

  update(changed: Set<keyof State> | null): void {
    const { model, state } = this.viewer;
    if (!changed || !this.graph || WATCHED.some((k) => changed.has(k))) {
      this.size.value = SIZES.includes(state.gn) ? state.gn : "40";
      this.draw();
    }
    const marked = model.matches(state.q);
    this.graph!.nodes.forEach((n, i) => {
      this.boxes[i].classList.toggle("marked", !!marked?.[n.fn]);
      this.boxes[i].classList.toggle("back", !!marked && !marked[n.fn]);
    });
    if (marked) {
      const tree = model.filtered(), found = this.graph!.nodes.filter((n) => marked[n.fn]).length;
      this.viewer.setMatched(tree.n > 1 ? t("graphMatched", found) : "");
    }
  }

  private draw(): void {
    const { model, state, data, dark } = this.viewer, tree = model.filtered();
    const graph = makeGraph(tree, model.top(), Number(state.gn) || 40), palette = makePalette(dark);
    this.graph = graph;
    const all = tree.width[0] || 1, heaviest = Math.max(1e-300, ...graph.nodes.map((n) => weigh(n.self, n.baseSelf, "max")));
    const diff = diffScale(palette), font = (n: GraphNode): number => 11 + 7 * Math.sqrt(weigh(n.self, n.baseSelf, "max") / heaviest);
    const ink = document.createElement("canvas").getContext("2d")!;
    const labels = graph.nodes.map((n) => {
      const lines = wrap(data.names[n.fn]), size = font(n), values = this.values(n);
      ink.font = `600 ${size}px system-ui, sans-serif`;
      let wide = Math.max(...lines.map((l) => ink.measureText(l).width));
      ink.font = "11px system-ui, sans-serif";
      wide = Math.max(wide, ...values.map((l) => ink.measureText(l).width));
      n.width = Math.round(wide + 20);
      n.height = Math.round(lines.length * size * 1.2 + values.length * 14 + 12);
      return { lines, size, values };
    });
    layOut(graph);
    this.scene.replaceChildren();
    this.arrows = graph.edges.map((e) => this.arrow(e, all, palette));
    this.boxes = graph.nodes.map((n, i) => this.box(n, i, labels[i], n.total / (tree.total[0] || 1), model.isDiff ? diff[32 + Math.round(32 * model.change(n.total, n.baseTotal))] : null, palette));
    this.scene.append(...this.arrows, ...this.boxes);
    this.note.textContent = t("graphNodes", graph.nodes.length, graph.functions);
    this.chosen = -1;
    this.moved = false;
    this.fit(0.7);
  }

  private values(n: GraphNode): string[] {
    const { model } = this.viewer, unit = model.unit, all = model.filtered().total[0];
    if (model.isDiff) {
      const change = n.total - n.baseTotal;
      return [`${formatSigned(formatValue(change, unit), change)}${n.baseTotal ? ` (${formatSigned(formatPercent(change / Math.abs(n.baseTotal)), change)})` : ` (${t("isNew")})`}`];
    }
    const self = `${formatValue(n.self, unit)} (${formatPercent(n.self / all)})`;
    return n.self === n.total ? [self] : n.self ? [self, `${t("graphOf")} ${formatValue(n.total, unit)} (${formatPercent(n.total / all)})`] : [`${formatValue(n.total, unit)} (${formatPercent(n.total / all)})`];
  }

  private box(n: GraphNode, i: number, label: { lines: string[]; size: number; values: string[] }, share: number, change: number | null, palette: Palette): SVGGElement {
    const heat = Math.min(1, Math.abs(share)) ** 0.6;
    const fill = change ?? mix(palette.dark ? oklch(0.27, 0.01, 260) : oklch(0.975, 0.006, 80), palette.dark ? oklch(0.47, 0.13, 40) : oklch(0.8, 0.13, 45), heat);
    const left = n.x - n.width / 2, top = n.y - n.height / 2;
    const vanished = change !== null && n.total === 0 && n.baseTotal > 0;
    const texts = label.lines.map((line, k) => svg("text", { x: n.x, y: top + 6 + (k + 0.85) * label.size * 1.2, "font-size": label.size.toFixed(1), class: "graph-name" }, line));
    const below = top + 6 + label.lines.length * label.size * 1.2;
    texts.push(...label.values.map((line, k) => svg("text", { x: n.x, y: below + 12 + k * 14, "font-size": 11, class: "graph-value" }, line)));
    const name = this.viewer.data.names[n.fn];
    const g = svg("g", { class: "graph-node" + (vanished ? " vanished" : ""), "data-fn": name.slice(0, 300), role: "img", "aria-label": `${name.slice(0, 300)}, ${this.values(n).join(", ")}` },
      svg("rect", { x: left, y: top, width: n.width, height: n.height, rx: 6, fill: css(fill), stroke: css(mix(fill, palette.dark ? oklch(0.95, 0, 0) : oklch(0.2, 0, 0), 0.28)) }), texts);
    g.addEventListener("pointerenter", (e) => this.hoverNode(i, e));
    g.addEventListener("pointerleave", () => this.hoverEnd());
    g.addEventListener("click", () => { if (!this.dragged) this.choose(i); });
    g.addEventListener("dblclick", () => this.viewer.set({ v: "callers", fn: name }));
    g.addEventListener("contextmenu", (e) => { e.preventDefault(); this.viewer.functionMenu(n.fn, e.clientX, e.clientY, null); });
    return g;
  }

  private arrow(e: GraphEdge, all: number, palette: Palette): SVGGElement {
    const { model } = this.viewer, share = weigh(e.value, e.base, "max") / all;
    const p = e.points;
    let d = `M${p[0].x.toFixed(1)} ${p[0].y.toFixed(1)}`;
    if (e.from === e.to) {
      d += `C${p[1].x} ${p[1].y} ${p[2].x} ${p[2].y} ${p[3].x} ${p[3].y}`;
    } else {
      for (let k = 1; k < p.length; k++) {
        const a = p[k - 1], b = p[k], half = (b.y - a.y) / 2;
        d += `C${a.x.toFixed(1)} ${(a.y + half).toFixed(1)} ${b.x.toFixed(1)} ${(b.y - half).toFixed(1)} ${b.x.toFixed(1)} ${b.y.toFixed(1)}`;
      }
    }
    const color = model.isDiff ? css(diffScale(palette)[32 + Math.round(32 * model.change(e.value, e.base))])
      : css(mix(palette.dark ? oklch(0.45, 0.01, 260) : oklch(0.78, 0.01, 80), palette.dark ? oklch(0.62, 0.14, 40) : oklch(0.62, 0.16, 40), Math.min(1, share) ** 0.6));
    const g = svg("g", { class: "graph-edge" + (e.direct ? "" : " indirect") },
      svg("path", { d, class: "graph-line", stroke: color, "stroke-width": (0.8 + 7 * Math.min(1, share)).toFixed(2), "marker-end": "url(#arrow)" }), svg("path", { d, class: "graph-catch" }));
    g.addEventListener("pointerenter", (event) => {
      const { data } = this.viewer, names = data.names, nodes = this.graph!.nodes;
      g.classList.add("on");
      this.showTip(event, `${stripArguments(names[nodes[e.from].fn]).slice(0, 200)} → ${stripArguments(names[nodes[e.to].fn]).slice(0, 200)}`, this.edgeFacts(e));
    });
    g.addEventListener("pointerleave", () => { g.classList.remove("on"); this.hoverEnd(); });
    return g;
  }

  private edgeFacts(e: GraphEdge): [string, string][] {
    const { model } = this.viewer, unit = model.unit, all = model.filtered().total[0], nodes = this.graph!.nodes;
    const change = e.value - e.base;
    const facts: [string, string][] = model.isDiff ? [[t("now"), formatValue(e.value, unit)], [t("base"), formatValue(e.base, unit)], [t("change"), formatSigned(formatValue(change, unit), change)]]
      : [[t("total"), `${formatValue(e.value, unit)}  ${formatPercent(e.value / all)} ${t("ofAll")}`], [t("ofParent"), formatPercent(e.value / nodes[e.from].total)]];
    if (!e.direct) facts.push([t("graphIndirect"), ""]);
    return facts;
  }

  // ---- looking closer

  private showTip(e: { clientX: number; clientY: number }, name: string, facts: [string, string][]): void {
    this.tip.replaceChildren(h("div", { class: "tip-name" }, name), h("dl", {}, facts.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value)))));
    this.tip.hidden = false;
    const holder = this.element.getBoundingClientRect(), box = this.tip.getBoundingClientRect();
    const left = Math.max(6, Math.min(e.clientX - holder.left + 14, holder.width - box.width - 6));
    let top = e.clientY - holder.top + 18;
    if (top + box.height > holder.height - 6) top = Math.max(6, e.clientY - holder.top - box.height - 12);
    this.tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }

  private light(i: number): void {
    this.picture.classList.toggle("lit", i >= 0);
    this.graph!.edges.forEach((e, k) => this.arrows[k].classList.toggle("on", i >= 0 && (e.from === i || e.to === i)));
    this.boxes.forEach((b, k) => b.classList.toggle("near", i >= 0 && (k === i || this.graph!.edges.some((e) => (e.from === i && e.to === k) || (e.to === i && e.from === k)))));
  }

  private hoverNode(i: number, e: PointerEvent): void {
    if (this.pointers.size) return;
    const n = this.graph!.nodes[i], { data, model } = this.viewer, unit = model.unit, all = model.filtered().total[0];
    this.light(i);
    const change = n.total - n.baseTotal;
    this.showTip(e, data.names[n.fn].slice(0, 600), model.isDiff ? [[t("now"), formatValue(n.total, unit)], [t("base"), formatValue(n.baseTotal, unit)], [t("change"), formatSigned(formatValue(change, unit), change)]]
      : [[t("total"), `${formatValue(n.total, unit)}  ${formatPercent(n.total / all)}`], [t("self"), `${formatValue(n.self, unit)}  ${formatPercent(n.self / all)}`]]);
  }

  private hoverEnd(): void {
    this.tip.hidden = true;
    this.light(this.chosen);
  }

  private choose(i: number): void {
    this.boxes.forEach((b, k) => b.classList.toggle("chosen", k === i));
    this.chosen = i;
    this.light(i);
    if (i < 0) return;
    const n = this.graph!.nodes[i];
    this.words.textContent = `${this.viewer.data.names[n.fn].slice(0, 300)}, ${this.values(n).join(", ")}`;
    // Into view.
    const { width, height } = this.picture.getBoundingClientRect(), sx = n.x * this.scale + this.x, sy = n.y * this.scale + this.y;
    const by = (at: number, size: number, room: number): number => (at - size / 2 < 10 ? 10 - at + size / 2 : at + size / 2 > room - 10 ? room - 10 - at - size / 2 : 0);
    this.x += by(sx, n.width * this.scale, width);
    this.y += by(sy, n.height * this.scale, height);
    this.place();
  }

  key(e: KeyboardEvent): boolean {
    const graph = this.graph;
    if (!graph?.nodes.length || !(e.target === this.picture || e.target === document.body)) return false;
    if (e.key === "+" || e.key === "=") this.zoomBy(1.3);
    else if (e.key === "-") this.zoomBy(1 / 1.3);
    else if (e.key === "0") this.fit();
    else if (e.key === "Escape" && this.chosen >= 0) this.choose(-1);
    else if (e.key.startsWith("Arrow")) this.step(e.key);
    else if (this.chosen >= 0 && (e.key === "Enter" || e.key === "s")) this.viewer.set({ v: "callers", fn: this.viewer.data.names[graph.nodes[this.chosen].fn] });
    else if (this.chosen >= 0 && e.key === "y") this.viewer.copyName(graph.nodes[this.chosen].fn);
    else if (this.chosen >= 0 && (e.key === "m" || e.key === "ContextMenu")) {
      const at = this.boxes[this.chosen].getBoundingClientRect();
      this.viewer.functionMenu(graph.nodes[this.chosen].fn, at.left + 20, at.bottom, null);
    } else if (e.key === "n" || e.key === "N") {
      const marked = this.viewer.model.matches(this.viewer.state.q), all = graph.nodes.map((_, i) => i).filter((i) => marked?.[graph.nodes[i].fn]);
      if (all.length) this.choose(all[(all.indexOf(this.chosen) + (e.key === "n" ? 1 : all.length - 1 + (this.chosen < 0 ? 1 : 0))) % all.length]);
    } else return false;
    return true;
  }

  // Down to the heaviest callee, up to the heaviest caller, sideways along the row.
  private step(key: string): void {
    const { nodes, edges } = this.graph!, at = this.chosen;
    if (at < 0) return this.choose(nodes.reduce((best, n, i) => (n.layer < nodes[best].layer || (n.layer === nodes[best].layer && n.total > nodes[best].total) ? i : best), 0));
    if (key === "ArrowDown" || key === "ArrowUp") {
      const next = edges.filter((e) => e.from !== e.to && (key === "ArrowDown" ? e.from : e.to) === at).map((e) => (key === "ArrowDown" ? e.to : e.from));
      if (next.length) this.choose(next[0]);
      return;
    }
    const row = nodes.map((_, i) => i).filter((i) => nodes[i].layer === nodes[at].layer).sort((a, b) => nodes[a].x - nodes[b].x);
    const to = row[row.indexOf(at) + (key === "ArrowRight" ? 1 : -1)];
    if (to !== undefined) this.choose(to);
  }

  // ---- moving and zooming

  private place(): void {
    this.scene.setAttribute("transform", `translate(${this.x.toFixed(2)} ${this.y.toFixed(2)}) scale(${this.scale.toFixed(4)})`);
  }

  // All of it; at first, though, not so small that nothing can be read.
  private fit(least = 0): void {
    const { width, height } = this.picture.getBoundingClientRect(), g = this.graph;
    if (!g || !width || !height || !g.width) return;
    this.moved = false;
    this.scale = Math.min(1.2, Math.max(least, (width - 40) / g.width), Math.max(least, (height - 70) / g.height));
    // What is wider than the window begins with its roots.
    const roots = g.nodes.filter((n) => n.layer === 0), heaviest = roots.reduce((a, n) => (Math.abs(n.total) > Math.abs(a.total) ? n : a), roots[0]);
    this.x = g.width * this.scale <= width ? (width - g.width * this.scale) / 2 : width / 2 - heaviest.x * this.scale;
    this.y = Math.max(50, (height - g.height * this.scale) / 2);
    this.place();
  }

  private zoomBy(factor: number, atX?: number, atY?: number): void {
    const box = this.picture.getBoundingClientRect(), cx = atX === undefined ? box.width / 2 : atX - box.left, cy = atY === undefined ? box.height / 2 : atY - box.top;
    const to = Math.max(0.05, Math.min(6, this.scale * factor)), by = to / this.scale;
    this.x = cx - (cx - this.x) * by;
    this.y = cy - (cy - this.y) * by;
    this.scale = to;
    this.moved = true;
    this.place();
  }

  private dragged = false;
  private listen(): void {
    const p = this.picture;
    p.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoomBy(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0018)), e.clientX, e.clientY);
    }, { passive: false });
    p.addEventListener("pointerdown", (e) => {
      this.pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
      this.dragged = false;
    });
    p.addEventListener("pointermove", (e) => {
      const was = this.pointers.get(e.pointerId);
      if (!was) return;
      if (!this.dragged && Math.hypot(e.clientX - was.x, e.clientY - was.y) < 4) return;
      if (!this.dragged) p.setPointerCapture(e.pointerId);
      this.dragged = this.moved = true;
      this.tip.hidden = true;
      const others = [...this.pointers.entries()].filter(([id]) => id !== e.pointerId);
      if (others.length) {
        const o = others[0][1];
        const before = Math.hypot(was.x - o.x, was.y - o.y), after = Math.hypot(e.clientX - o.x, e.clientY - o.y);
        if (before > 10) this.zoomBy(after / before, (e.clientX + o.x) / 2, (e.clientY + o.y) / 2);
      } else {
        this.x += e.clientX - was.x;
        this.y += e.clientY - was.y;
        this.place();
      }
      this.pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
    });
    const end = (e: PointerEvent): void => { this.pointers.delete(e.pointerId); };
    p.addEventListener("pointerup", end);
    p.addEventListener("pointercancel", end);
    p.addEventListener("click", (e) => { if (e.target === p && !this.dragged) this.choose(-1); });
  }

  // The whole graph as a picture of its own.
  svgText(): string {
    const g = this.graph!, palette = makePalette(this.viewer.dark), copy = this.scene.cloneNode(true) as SVGGElement;
    copy.setAttribute("transform", "translate(20 20)");
    for (const e of copy.querySelectorAll(".graph-catch")) e.remove();
    const style = `.graph-name{font-weight:600}text{font-family:system-ui,sans-serif;text-anchor:middle;fill:${palette.text}}.graph-line{fill:none}.indirect .graph-line{stroke-dasharray:5 4}.arrow-head{fill:#8a8f98}.vanished rect{stroke-dasharray:4 3}`;
    const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: Math.ceil(g.width + 40), height: Math.ceil(g.height + 40), viewBox: `0 0 ${Math.ceil(g.width + 40)} ${Math.ceil(g.height + 40)}` },
      svg("style", {}, style), this.picture.querySelector("defs")!.cloneNode(true), svg("rect", { width: "100%", height: "100%", fill: css(palette.background) }), copy);
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(whole) + "\n";
  }

  canvasBlob(): Promise<Blob | null> {
    const g = this.graph!, ratio = Math.min(2, 8000 / Math.max(g.width + 40, g.height + 40));
    return new Promise((done) => {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = Math.ceil((g.width + 40) * ratio);
        canvas.height = Math.ceil((g.height + 40) * ratio);
        canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
        canvas.toBlob(done, "image/png");
      };
      image.onerror = () => done(null);
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(this.svgText());
    });
  }
}

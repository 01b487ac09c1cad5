// The flame graph on a canvas of the size of the window, whatever the size of the tree.
//
// Boxes of one row have one height, so a row is one line of pixels, repeated: boxes cost a few stores each and the whole picture one
// putImageData; only labels are drawn by the canvas. The tree is walked in preorder from the root; a subtree is skipped as soon as it
// is outside, below the window, or would paint a pixel that is painted already. So a draw costs what is seen, not what is there.

import { css, mix, type Palette, type Pixel } from "./colors";
import type { Tree } from "./tree";
import { shorterNames } from "./names";

export interface Scene {
  tree: Tree;
  names: string[];
  rootName: string;
  colors: (fn: number) => Pixel;
  nodeColor: ((node: number) => Pixel) | null; // instead, in a comparison
  isVanished: ((node: number) => boolean) | null;
  marked: Uint8Array | null;     // per function: found by the search
  smaller: number;               // function id of summed-up small frames, 0: none
  preview: number;               // 0, or how many pixels wide a picture this tree is enough for
}

export interface CanvasEvents {
  onHover(node: number, clientX: number, clientY: number): void; // -1: none
  onSelect(node: number): void;
  onZoom(node: number): void;
  onMenu(node: number, clientX: number, clientY: number): void;
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

export class FlameCanvas {
  readonly element: HTMLElement;
  private readonly canvas = document.createElement("canvas");
  private readonly overlay = document.createElement("canvas");
  private readonly spacer = document.createElement("div");
  private readonly ink: CanvasRenderingContext2D;
  private overInk: CanvasRenderingContext2D | null = null; // made when something is outlined for the first time
  private outlined = false; // something is on the overlay
  private scene: Scene | null = null;
  private palette: Palette;
  private up = false; // flames: the root at the bottom
  private rowHeight = matchMedia("(pointer: coarse)").matches ? 24 : 20;
  private x0 = 0;
  private x1 = 1;
  private zoomed = 0;
  selected = -1;
  private hovered = -1;
  private image: ImageData | null = null;
  private pixels: Uint32Array = new Uint32Array(0);
  private frame = 0;
  private animation = 0;
  private widths: Float64Array;
  private labels: string[][] = [];
  private cssWidth = 0;
  private cssHeight = 0;
  private ratio = 1;
  lastDrawMs = 0;
  lastBoxes = 0;

  constructor(palette: Palette, private readonly events: CanvasEvents) {
    this.palette = palette;
    this.element = document.createElement("div");
    this.element.className = "flame";
    this.element.tabIndex = 0;
    const stick = document.createElement("div");
    stick.className = "flame-stick";
    stick.append(this.canvas, this.overlay);
    this.canvas.setAttribute("aria-hidden", "true");
    this.overlay.setAttribute("aria-hidden", "true");
    this.element.append(stick, this.spacer);
    // Pixels are written from memory: a canvas in memory is the quicker place for them.
    this.ink = this.canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
    this.widths = new Float64Array(128);
    this.ink.font = FONT;
    for (let c = 32; c < 127; c++) this.widths[c] = this.ink.measureText(String.fromCharCode(c)).width;
    new ResizeObserver(() => this.resize()).observe(this.element);
    this.element.addEventListener("scroll", () => this.schedule(), { passive: true });
    this.overlay.addEventListener("pointermove", (e) => this.pointerMove(e));
    this.overlay.addEventListener("pointerleave", () => this.setHover(-1, 0, 0));
    this.overlay.addEventListener("click", (e) => {
      const node = this.nodeAt(e.clientX, e.clientY);
      if (node < 0) return;
      this.events.onSelect(node);
      this.events.onZoom(node);
    });
    this.overlay.addEventListener("contextmenu", (e) => {
      const node = this.nodeAt(e.clientX, e.clientY);
      if (node < 0) return;
      e.preventDefault();
      this.events.onSelect(node);
      this.events.onMenu(node, e.clientX, e.clientY);
    });
    this.element.addEventListener("wheel", (e) => this.wheel(e), { passive: false });
  }

  setScene(scene: Scene, zoomTo: number): void {
    const sameNames = this.scene?.names === scene.names;
    this.scene = scene;
    if (!sameNames) this.labels = new Array<string[]>(scene.names.length);
    this.selected = -1;
    this.hovered = -1;
    this.zoomed = zoomTo;
    [this.x0, this.x1] = this.rangeOf(zoomTo);
    this.place();
    this.scrollToStart();
    this.drawNow();
  }

  // The same tree with other colours, marks or theme.
  recolor(change: Partial<Scene>, palette?: Palette): void {
    if (!this.scene) return;
    this.scene = { ...this.scene, ...change };
    if (palette) this.palette = palette;
    this.schedule();
  }

  setDirection(up: boolean): void {
    this.up = up;
    this.place();
    this.scrollToStart();
    this.schedule();
  }

  get root(): number {
    return this.zoomed;
  }

  zoom(node: number, animate: boolean): void {
    if (!this.scene) return;
    this.zoomed = node;
    const [to0, to1] = this.rangeOf(node);
    const still = !animate || matchMedia("(prefers-reduced-motion: reduce)").matches;
    cancelAnimationFrame(this.animation);
    if (still) {
      this.x0 = to0;
      this.x1 = to1;
      this.schedule();
      return;
    }
    const from0 = this.x0, from1 = this.x1, begin = performance.now(), length = 160;
    const step = (now: number): void => {
      const t = Math.min(1, Math.max(0, (now - begin) / length)), e = 1 - (1 - t) ** 3;
      // The width shrinks by a factor a step, not by a difference: it looks even.
      const span = (from1 - from0) ** (1 - e) * (to1 - to0) ** e;
      const k = Math.abs(to1 - to0 - (from1 - from0)) < 1e-12 ? e : (span - (from1 - from0)) / (to1 - to0 - (from1 - from0));
      this.x0 = from0 + (to0 - from0) * k;
      this.x1 = this.x0 + span;
      if (t >= 1) {
        this.x0 = to0;
        this.x1 = to1;
      }
      this.drawNow();
      if (t < 1) this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }

  select(node: number): void {
    this.selected = node;
    if (node >= 0) this.reveal(node);
    this.drawOverlay();
  }

  // Where a node's box is, in pixels of the page; for tooltips and tests.
  boxOf(node: number): { left: number; top: number; width: number; height: number } | null {
    const tree = this.scene?.tree;
    if (!tree || node < 0 || node >= tree.n) return null;
    const at = this.canvas.getBoundingClientRect(), scale = this.cssWidth / (this.x1 - this.x0);
    const left = Math.max(0, (tree.x[node] - this.x0) * scale);
    const right = Math.min(this.cssWidth, (tree.x[node] + tree.width[node] - this.x0) * scale);
    return { left: at.left + left, top: at.top + this.rowTop(tree.depth[node]), width: Math.max(1, right - left), height: this.rowHeight };
  }

  nodeAt(clientX: number, clientY: number): number {
    const tree = this.scene?.tree;
    if (!tree) return -1;
    const at = this.canvas.getBoundingClientRect();
    const y = clientY - at.top + this.element.scrollTop, rows = tree.maxDepth + 1;
    let d = Math.floor((y - this.padding()) / this.rowHeight);
    if (this.up) d = rows - 1 - d;
    if (d < 0 || d >= rows) return -1;
    const value = this.x0 + ((clientX - at.left) / this.cssWidth) * (this.x1 - this.x0);
    let node = 0;
    while (tree.depth[node] < d) {
      let child = node + 1;
      const end = tree.end[node];
      while (child < end && value >= tree.x[child] + tree.width[child]) child = tree.end[child];
      if (child >= end || value < tree.x[child]) return -1;
      node = child;
    }
    return node;
  }

  toBlob(): Promise<Blob | null> {
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  // ---- geometry

  private rangeOf(node: number): [number, number] {
    const tree = this.scene!.tree, width = tree.width[node];
    const least = (tree.width[0] || 1) * 1e-12;
    return [tree.x[node], tree.x[node] + Math.max(width, least)];
  }

  private padding(): number {
    const rows = (this.scene?.tree.maxDepth ?? 0) + 1;
    return this.up ? Math.max(0, this.cssHeight - rows * this.rowHeight) : 0;
  }

  private rowTop(depth: number): number {
    const rows = this.scene!.tree.maxDepth + 1;
    return this.padding() + (this.up ? rows - 1 - depth : depth) * this.rowHeight - this.element.scrollTop;
  }

  private place(): void {
    if (!this.scene) return;
    const rows = this.scene.tree.maxDepth + 1;
    this.spacer.style.height = Math.max(0, rows * this.rowHeight - this.cssHeight) + "px";
  }

  private scrollToStart(): void {
    this.element.scrollTop = this.up ? this.element.scrollHeight : 0;
  }

  private reveal(node: number): void {
    const tree = this.scene!.tree;
    const top = this.rowTop(tree.depth[node]);
    if (top < 0) this.element.scrollTop += top - this.rowHeight;
    else if (top + this.rowHeight > this.cssHeight) this.element.scrollTop += top + 2 * this.rowHeight - this.cssHeight;
  }

  private resize(): void {
    if (this.fit()) this.drawNow();
  }

  // Takes the size that the page gives; false when it is the same, or none yet.
  private fit(): boolean {
    const width = this.element.clientWidth, height = this.element.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width || !height || (width === this.cssWidth && height === this.cssHeight && ratio === this.ratio)) return false;
    const first = this.cssWidth === 0;
    this.cssWidth = width;
    this.cssHeight = height;
    this.ratio = ratio;
    for (const c of [this.canvas, this.overlay]) {
      c.style.width = width + "px";
      c.style.height = height + "px";
    }
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.image = null;
    this.place();
    if (first) this.scrollToStart();
    return true;
  }

  // ---- drawing

  schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.cssWidth) this.fit();
    if (!this.scene || !this.cssWidth) return;
    const begin = performance.now();
    this.drawBoxes();
    this.drawOverlay();
    this.lastDrawMs = performance.now() - begin;
  }

  private drawBoxes(): void {
    const scene = this.scene!, tree = scene.tree, { fn, depth, end, x, width } = tree;
    const W = this.canvas.width, H = this.canvas.height;
    if (!this.image || this.image.width !== W || this.image.height !== H) {
      this.image = this.ink.createImageData(W, H);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const ratio = this.ratio, rowPx = this.rowHeight * ratio, background = this.palette.background;
    const topCss = this.rowTop(0), rowCount = Math.ceil(this.cssHeight / this.rowHeight) + 1;
    const firstRow = this.up ? Math.max(0, Math.floor((topCss + this.rowHeight - this.cssHeight) / this.rowHeight)) : Math.max(0, Math.floor(-topCss / this.rowHeight));
    const lastRow = Math.min(tree.maxDepth, firstRow + rowCount);
    const lines = new Uint32Array((lastRow - firstRow + 1) * W).fill(background);
    const painted = new Int32Array(lastRow + 2).fill(-1); // per row: the last pixel that has a box
    // A preview has what is seen on so many pixels: on others, which of its frames get one would be chance. So they are counted on its own.
    const grid = scene.preview || W, stretch = W / grid;
    const scale = grid / (this.x1 - this.x0), x0 = this.x0;
    const zoomDepth = depth[this.zoomed];
    const { colors, nodeColor, marked } = scene, mark = this.palette.mark;
    const stepBack = new Map<number, number>();
    const back = (c: number): number => {
      let faded = stepBack.get(c);
      if (faded === undefined) stepBack.set(c, (faded = mix(c, background, 0.55)));
      return faded;
    };
    const text: number[] = []; // node, left, right of boxes wide enough for a label
    const hatched: number[] = [];
    const leastLabel = 26 * ratio;
    let boxes = 0;
    const placeholder = scene.preview ? scene.smaller : -1; // what stands for others must not take a pixel from a frame with more below
    for (let i = 0; i < tree.n;) {
      const d = depth[i];
      const left = (x[i] - x0) * scale, right = left + width[i] * scale;
      if (d > lastRow || right <= 0 || left >= grid || right === left) {
        i = end[i];
        continue;
      }
      let px0 = left < 0 ? 0 : left | 0, px1 = right > grid ? grid : right | 0;
      if (px1 <= px0) px1 = px0 + 1;
      if (px1 - 1 <= painted[d]) {
        i = end[i];
        continue;
      }
      if (fn[i] !== placeholder) painted[d] = px1 - 1;
      if (d >= firstRow) {
        if (stretch !== 1) {
          px0 = (px0 * stretch) | 0;
          px1 = Math.max(px0 + 1, (px1 * stretch) | 0);
        }
        let color = nodeColor ? nodeColor(i) : colors(fn[i]);
        if (marked) color = marked[fn[i]] ? mark : back(color);
        else if (d < zoomDepth) color = back(color);
        const line = (d - firstRow) * W, wide = px1 - px0;
        const stop = wide > 2 * ratio && px1 < W ? px1 - Math.max(1, ratio | 0) : px1; // a gap between brothers
        if (wide < 24) for (let p = px0; p < stop; p++) lines[line + p] = color;
        else lines.fill(color, line + px0, line + stop);
        if (wide >= leastLabel) text.push(i, px0, stop);
        if (wide >= 3 && scene.isVanished?.(i)) hatched.push(d, px0, stop);
        boxes++;
      }
      i++;
    }
    this.lastBoxes = boxes;

    const pixels = this.pixels;
    pixels.fill(background);
    for (let row = firstRow; row <= lastRow; row++) {
      const top = Math.round(this.rowTop(row) * ratio), bottom = Math.min(H, Math.round((this.rowTop(row) + this.rowHeight) * ratio) - 1);
      const line = lines.subarray((row - firstRow) * W, (row - firstRow + 1) * W);
      for (let y = Math.max(0, top); y < bottom; y++) pixels.set(line, y * W);
    }
    this.ink.putImageData(this.image, 0, 0);
    this.drawHatching(hatched, rowPx);
    this.drawLabels(text, zoomDepth);
  }

  private drawHatching(hatched: number[], rowPx: number): void {
    if (!hatched.length) return;
    const ink = this.ink;
    ink.save();
    ink.strokeStyle = this.palette.dark ? "rgba(255,255,255,.45)" : "rgba(20,40,90,.45)";
    ink.lineWidth = this.ratio;
    ink.beginPath();
    for (let k = 0; k < hatched.length; k += 3) {
      const top = this.rowTop(hatched[k]) * this.ratio, left = hatched[k + 1], right = hatched[k + 2], high = rowPx - 1;
      for (let at = left - high; at < right; at += 6 * this.ratio) {
        const from = Math.max(at, left), to = Math.min(at + high, right);
        if (to <= from) continue;
        ink.moveTo(from, top + high - (from - at));
        ink.lineTo(to, top + high - (to - at));
      }
    }
    ink.stroke();
    ink.restore();
  }

  private drawLabels(text: number[], zoomDepth: number): void {
    const ink = this.ink, scene = this.scene!, tree = scene.tree, ratio = this.ratio;
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.font = FONT;
    ink.textBaseline = "middle";
    let faded = false;
    ink.fillStyle = this.palette.text;
    for (let k = 0; k < text.length; k += 3) {
      const node = text[k], f = tree.fn[node], room = (text[k + 2] - text[k + 1]) / ratio - 9;
      const label = node === 0 ? scene.rootName : this.label(f, room);
      if (!label) continue;
      const back = scene.marked ? !scene.marked[f] : tree.depth[node] < zoomDepth;
      if (back !== faded) {
        faded = back;
        ink.fillStyle = back ? this.palette.faded : this.palette.text;
      }
      ink.fillText(label, text[k + 1] / ratio + 5, this.rowTop(tree.depth[node]) + this.rowHeight / 2);
    }
    ink.setTransform(1, 0, 0, 1, 0, 0);
  }

  private textWidth(s: string, limit: number): number {
    let sum = 0;
    for (let i = 0; i < s.length && sum <= limit; i++) {
      const c = s.charCodeAt(i);
      sum += c < 127 ? this.widths[c] : c < 0x300 ? 7.5 : 12.2;
    }
    return sum;
  }

  // The longest way to write the name that fits; else its beginning.
  private label(f: number, room: number): string {
    const ways = (this.labels[f] ??= shorterNames(this.scene!.names[f]));
    for (const way of ways) if (this.textWidth(way, room) <= room) return way;
    const last = ways[ways.length - 1], dots = 10;
    let sum = 0, i = 0;
    for (; i < last.length; i++) {
      const c = last.charCodeAt(i);
      sum += c < 127 ? this.widths[c] : c < 0x300 ? 7.5 : 12.2;
      if (sum > room - dots) break;
    }
    return i >= 2 ? last.slice(0, i) + "…" : "";
  }

  // Hovered and selected boxes are outlined on a canvas of their own. It is touched only when an outline comes or goes: every touch
  // costs the browser a copy of the whole picture.
  private drawOverlay(): void {
    const wanted = !!this.scene && (this.hovered >= 0 || this.selected >= 0);
    if (!wanted && !this.outlined) return;
    this.outlined = wanted;
    const over = this.overlay, ratio = this.ratio, ink = (this.overInk ??= over.getContext("2d")!);
    if (over.width !== this.canvas.width || over.height !== this.canvas.height) {
      over.width = this.canvas.width;
      over.height = this.canvas.height;
    }
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.clearRect(0, 0, this.cssWidth, this.cssHeight);
    const outline = (node: number, color: string, line: number): void => {
      const box = this.boxOf(node);
      if (!box) return;
      const at = this.canvas.getBoundingClientRect();
      ink.strokeStyle = color;
      ink.lineWidth = line;
      ink.strokeRect(box.left - at.left + line / 2, box.top - at.top + line / 2 - 0.5, Math.max(1, box.width - line), box.height - line);
    };
    if (this.hovered >= 0) outline(this.hovered, this.palette.dark ? "#ffffffcc" : "#000000aa", 1);
    if (this.selected >= 0) outline(this.selected, this.palette.dark ? "#8ab4ff" : "#1a52de", 2);
  }

  // ---- pointers

  private pointerMove(e: PointerEvent): void {
    if (e.pointerType === "touch") return;
    this.setHover(this.nodeAt(e.clientX, e.clientY), e.clientX, e.clientY);
  }

  private setHover(node: number, clientX: number, clientY: number): void {
    if (node !== this.hovered) {
      this.hovered = node;
      this.overlay.style.cursor = node >= 0 ? "pointer" : "default";
      this.drawOverlay();
    }
    this.events.onHover(node, clientX, clientY);
  }

  // Ctrl or Alt with the wheel widens or narrows what is seen around the pointer; sideways scrolling moves it.
  private wheel(e: WheelEvent): void {
    const tree = this.scene?.tree;
    if (!tree) return;
    const all = tree.width[0] || 1, span = this.x1 - this.x0;
    if (e.ctrlKey || e.altKey || e.metaKey) {
      e.preventDefault();
      const at = this.canvas.getBoundingClientRect(), share = (e.clientX - at.left) / this.cssWidth;
      const wanted = Math.min(all, Math.max(all * 1e-9, span * Math.exp(e.deltaY * 0.003)));
      const center = this.x0 + share * span;
      this.x0 = Math.max(0, Math.min(all - wanted, center - share * wanted));
      this.x1 = this.x0 + wanted;
      this.schedule();
    } else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) && span < all) {
      e.preventDefault();
      const by = (e.deltaX / this.cssWidth) * span;
      this.x0 = Math.max(0, Math.min(all - span, this.x0 + by));
      this.x1 = this.x0 + span;
      this.schedule();
    }
  }

  backgroundCss(): string {
    return css(this.palette.background);
  }
}

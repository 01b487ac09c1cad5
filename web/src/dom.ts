// The few helpers that stand in for a framework.

type Child = Node | string | null | undefined | false | Child[];
type Attributes = Record<string, unknown>;

function append(parent: Element, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const c of child) append(parent, c);
  else parent.append(child);
}

function fill<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") element.addEventListener(name.slice(2).toLowerCase(), value as EventListener);
    else if (name === "value" && "value" in element) (element as unknown as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

// h("a", { class: "x", href: "#", onClick: f }, "text", other)
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

export function svg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// Line icons of 16 units, drawn by us.
const ICONS: Record<string, string> = {
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.3 10.3 14 14",
  close: "M4 4l8 8M12 4l-8 8",
  flip: "M5 13V3M2.5 5.5 5 3l2.5 2.5M11 3v10M8.5 10.5 11 13l2.5-2.5",
  reverse: "M2.5 4.5h7M2.5 8h10M2.5 11.5h4M11 10.5l2.5 2-2.5 2",
  loop: "M12.5 6.5A5 5 0 1 0 13 9M13 3v3.5H9.5",
  sliders: "M2 5h6M12 5h2M2 11h2M8 11h6M10 3.2v3.6M6 9.2v3.6",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  help: "M5.8 6a2.2 2.2 0 1 1 3.4 1.9c-.8.5-1.2.9-1.2 1.8M8 12.3v.2M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M13 3l-1.1 1.1M4.1 11.9 3 13",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7",
  globe: "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M1.5 8h13M8 1.5c2.3 2 2.3 11 0 13M8 1.5c-2.3 2-2.3 11 0 13",
  play: "M5 3l8 5-8 5z",
  compare: "M5.5 2v12M10.5 2v12M2 5h3.5M10.5 5H14M2 8h3.5M10.5 8H14M2 11h3.5M10.5 11H14",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8M8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  right: "M6 3.5 10.5 8 6 12.5",
  down: "M3.5 6 8 10.5 12.5 6",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  menu: "M2 4h12M2 8h12M2 12h12",
  folder: "M1.8 12.8V3.6h4.4l1.5 1.9h6.5v7.3zM1.8 7.5h12.4",
};

export function icon(name: string): SVGSVGElement {
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] ?? "" }));
}

// A button that opens a panel below it. The panel is made anew each time it opens.
export function menuButton(label: Child, title: string, make: (close: () => void) => HTMLElement, className = ""): HTMLElement {
  const button = h("button", { type: "button", class: "button " + className, "aria-haspopup": "true", "aria-expanded": "false", title }, label);
  const holder = h("div", { class: "menu" }, button);
  let panel: HTMLElement | null = null;
  const close = (): void => {
    if (!panel) return;
    panel.remove();
    panel = null;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside, true);
  };
  const outside = (e: Event): void => {
    if (!holder.contains(e.target as Node)) close();
  };
  holder.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !panel) return;
    e.stopPropagation();
    close();
    button.focus();
  });
  button.addEventListener("click", () => {
    if (panel) return close();
    panel = h("div", { class: "menu-panel" }, make(close));
    holder.append(panel);
    button.setAttribute("aria-expanded", "true");
    const at = panel.getBoundingClientRect();
    if (at.right > innerWidth - 8) panel.style.transform = `translateX(${Math.round(innerWidth - 8 - at.right)}px)`;
    panel.querySelector<HTMLElement>("button, input, select, a")?.focus();
    document.addEventListener("pointerdown", outside, true);
  });
  return holder;
}

// A list of commands at a place of the page (a context menu). Arrow keys, Enter, Esc.
export function popupMenu(x: number, y: number, items: { label: string; key?: string; run: () => void }[]): void {
  const back = document.activeElement as HTMLElement | null;
  const close = (): void => {
    shade.remove();
    back?.focus();
  };
  const list = h("div", { class: "menu-panel popup", role: "menu" }, items.map((item) =>
    h("button", { type: "button", role: "menuitem", onClick: () => { close(); item.run(); } }, h("span", {}, item.label), item.key ? h("kbd", {}, item.key) : null)));
  const shade = h("div", { class: "popup-shade", onPointerdown: (e: PointerEvent) => { if (e.target === shade) close(); } }, list);
  shade.addEventListener("keydown", (e) => {
    e.stopPropagation();
    const all = [...list.querySelectorAll("button")], at = all.indexOf(document.activeElement as HTMLButtonElement);
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") all[(at + 1) % all.length].focus();
    else if (e.key === "ArrowUp") all[(at + all.length - 1) % all.length].focus();
    else return;
    e.preventDefault();
  });
  document.body.append(shade);
  const box = list.getBoundingClientRect();
  list.style.left = Math.max(8, Math.min(x, innerWidth - box.width - 8)) + "px";
  list.style.top = Math.max(8, Math.min(y, innerHeight - box.height - 8)) + "px";
  list.querySelector("button")?.focus();
}

// Until what is there now can be seen; where nothing is painted (a tab in the background) for a moment only.
export function painted(): Promise<void> {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 200);
  });
}

export function save(name: string, content: Blob | string, type = "text/plain;charset=utf-8"): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

let toastTimer = 0;
export function toast(text: string): void {
  let box = document.querySelector<HTMLElement>(".toast");
  if (!box) document.body.append((box = h("div", { class: "toast", role: "status" })));
  box.textContent = text;
  box.classList.add("shown");
  clearTimeout(toastTimer);
  toastTimer = window.setTimeout(() => box!.classList.remove("shown"), 2600);
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages from a file or over plain HTTP have no clipboard of their own; the old way still works there.
    const area = h("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

// Rows of equal height of which only the visible ones exist.
export class RowList {
  readonly element: HTMLElement;
  private readonly spacer = h("div", { class: "rows-space", role: "presentation" });
  private readonly visible = h("div", { class: "rows-visible", role: "rowgroup" });
  private count = 0;
  private frame = 0;
  private scroller: HTMLElement | null = null;
  private headHeight = 0;
  constructor(readonly rowHeight: number, private readonly makeRow: (index: number) => HTMLElement, className = "") {
    this.element = h("div", { class: "rows " + className, role: "presentation" }, this.spacer, this.visible);
  }

  // The element that scrolls (it can have the focus), with a head of that height that stays.
  scrollIn(scroller: HTMLElement, headHeight: number): void {
    this.scroller = scroller;
    this.headHeight = headHeight;
    scroller.addEventListener("scroll", () => { if (!this.frame) this.frame = requestAnimationFrame(() => this.draw()); }, { passive: true });
    new ResizeObserver(() => this.draw()).observe(scroller);
  }

  setCount(count: number): void {
    this.count = count;
    // Browsers end at about 33 million pixels; nobody scrolls through more rows than that by hand.
    this.spacer.style.height = Math.min(30e6, count * this.rowHeight) + "px";
    this.draw();
  }

  show(index: number): void {
    const top = index * this.rowHeight, e = this.scroller!, room = e.clientHeight - this.headHeight;
    if (top < e.scrollTop) e.scrollTop = top;
    else if (top + this.rowHeight > e.scrollTop + room) e.scrollTop = top + this.rowHeight - room;
    this.draw();
  }

  draw(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const e = this.scroller!, first = Math.max(0, Math.floor(e.scrollTop / this.rowHeight) - 4);
    const last = Math.min(this.count, Math.ceil((e.scrollTop + (e.clientHeight || 600)) / this.rowHeight) + 4);
    const rows: HTMLElement[] = [];
    for (let i = first; i < last; i++) rows.push(this.makeRow(i));
    this.visible.style.transform = `translateY(${first * this.rowHeight}px)`;
    this.visible.replaceChildren(...rows);
  }
}

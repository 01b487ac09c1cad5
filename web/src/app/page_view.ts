// A profile, several merged, a time range, or two of these compared: fetches the call tree and shows the viewer.

import { h, icon, menuButton, painted, save, toast } from "../dom";
import { t, type Key } from "../i18n";
import { decodeFlame, decodeOne, type FlameData } from "../flame/data";
import { previewServes, readState, writeState } from "../flame/model";
import { Viewer } from "../flame/viewer";
import { api, ApiError } from "./api";
import { go, linkTo, problem, readRoute, type Page, type Route, type Shell } from "./shell";
import { SourceView } from "./view_source";

const SELECTORS = ["ids", "node", "type", "from_ms", "to_ms", "base_ids", "base_node", "base_type", "base_from_ms", "base_to_ms"];

export function selector(query: URLSearchParams): URLSearchParams {
  const out = new URLSearchParams();
  for (const key of SELECTORS) if (query.get(key)) out.set(key, query.get(key)!);
  return out;
}

export class ViewPage implements Page {
  readonly element = h("div", { class: "view-page" });
  title = "procprof";
  readonly wide = true;
  private viewer: Viewer | null = null;
  private key = "";

  // given: data that is already here (a dropped file); otherwise the address says what to fetch.
  constructor(private readonly shell: Shell, route: Route, given?: { data: FlameData; file: File }) {
    if (given) this.show(given.data, route, given.file);
    else void this.load(route);
  }

  route(route: Route): boolean {
    if (route.page !== "view" && route.page !== "open") return false;
    if (route.page === "open") return true;
    if (selector(route.query).toString() !== this.key) return false;
    this.viewer?.setFromUrl(readState(route.query));
    return true;
  }

  theme(dark: boolean): void {
    this.viewer?.setDark(dark);
  }

  private async load(route: Route): Promise<void> {
    this.key = selector(route.query).toString();
    this.element.replaceChildren(h("p", { class: "muted loading", role: "status" }, t("loading")));
    try {
      const key = this.key, take = async (data: FlameData): Promise<void> => {
        if (this.shell.session.file_mode) await this.nameByFile(data, route.query);
        if (key !== this.key) return;
        if (this.viewer?.data.header.preview) this.viewer.setData(data);
        else this.show(data, route, null);
      };
      const bytes = await api.flame(selector(route.query), async (preview) => {
        if (!previewServes(readState(route.query))) return;
        await take(decodeOne(preview));
        await painted();
      });
      await take(decodeFlame(bytes));
    } catch (why) {
      const gone = why instanceof ApiError && why.status === 404;
      const text = gone ? t("notFound") : why instanceof ApiError && !why.status ? t("cannotReach") : why instanceof Error ? why.message : String(why);
      this.element.replaceChildren(problem(text, "", h("span", { class: "row-actions center" },
        h("button", { type: "button", class: "button", onClick: () => void this.load(readRoute()) }, t("again")), h("a", { class: "button", href: linkTo("profiles") }, t("procProfiles")))));
    }
  }

  // Files on disk are called by their names.
  private async nameByFile(data: FlameData, query: URLSearchParams): Promise<void> {
    const { profiles } = await api.profiles(new URLSearchParams({ limit: "1000" }));
    const name = (ids: string | null): string => (ids ?? "").split(",").map((id) => profiles.find((r) => String(r.id) === id)?.file ?? "").filter(Boolean).join(" + ");
    data.header.profile.title = name(query.get("ids")) || data.header.profile.title;
    if (data.header.base) data.header.base.title = name(query.get("base_ids")) || data.header.base.title;
  }

  private show(data: FlameData, route: Route, file: File | null): void {
    const query = selector(route.query), fromServer = !file;
    this.title = data.header.profile.title || "procprof";
    const asFile = (format: string, ending: string, type: string) => (name: string): void => {
      api.open(file!, format).then((bytes) => save(name + ending, new Blob([bytes as Uint8Array<ArrayBuffer>], { type })), (why: unknown) => toast(why instanceof Error && why.message ? why.message : t("cannotReach")));
    };
    const exports = file ? [{ label: "HTML", run: asFile("html", ".html", "text/html") }, { label: "pprof", run: asFile("pprof", ".pb.gz", "application/gzip") }]
      : [{ label: "HTML", url: api.exportUrl(query, "html") }, { label: "pprof", url: api.exportUrl(query, "pprof") }];
    this.viewer = new Viewer(data, readState(route.query), {
      dark: this.shell.dark,
      exportLinks: exports,
      extraViews: fromServer && !data.header.base ? [{ id: "source", label: "source" as Key, make: (viewer) => new SourceView(viewer, query) }] : [],
      onState: (state, asNewPage) => {
        const now = readRoute(), q = new URLSearchParams(now.query);
        writeState(state, q);
        const address = linkTo(now.page, q);
        if (asNewPage) history.pushState(null, "", address);
        else history.replaceState(null, "", address);
      },
    });
    if (fromServer) this.viewer.element.querySelector(".viewer-head")!.append(this.tools(data, query));
    this.element.replaceChildren(this.viewer.element);
    this.viewer.drawNow();
    dispatchEvent(new CustomEvent("procprof-title", { detail: this.title }));
    (window as { procprof?: unknown }).procprof = { viewer: this.viewer };
  }

  private tools(data: FlameData, query: URLSearchParams): HTMLElement {
    if (data.header.base) {
      const swapped = new URLSearchParams(query);
      for (const key of ["ids", "node", "type", "from_ms", "to_ms"]) {
        const a = query.get(key), b = query.get("base_" + key);
        swapped.delete(key);
        swapped.delete("base_" + key);
        const shared = key === "node" || key === "type";
        if (b ?? (shared ? a : null)) swapped.set(key, (b ?? a)!);
        if (a && (!shared || b)) swapped.set("base_" + key, a);
      }
      return h("div", { class: "file-tools" }, h("a", { class: "button", href: linkTo("view", swapped) }, icon("compare"), t("swap")));
    }
    return h("div", { class: "file-tools" }, menuButton([icon("compare"), h("span", { class: "wide-only" }, t("compareWith"))], t("compareWith"), (close) => {
      const item = (label: Key, ago: number): HTMLElement => h("button", { type: "button", class: "item", onClick: () => { close(); void this.compare(data, query, ago); } }, t(label));
      return h("div", { class: "items" }, item("previousOne", 0), item("hourBefore", 3600e3), item("dayBefore", 86400e3), item("weekBefore", 7 * 86400e3));
    }));
  }

  // ago 0: with the newest one that is older; else with the same length of time so much earlier.
  private async compare(data: FlameData, query: URLSearchParams, ago: number): Promise<void> {
    const next = new URLSearchParams(query), from = Number(query.get("from_ms") ?? 0), to = Number(query.get("to_ms") ?? 0);
    if (from && to) {
      const back = ago || to - from;
      next.set("base_from_ms", String(from - back));
      next.set("base_to_ms", String(to - back));
      return go(linkTo("view", next));
    }
    try {
      const { ids = [], node, type, stored_ms = data.header.profile.time_ms } = data.header;
      const search = new URLSearchParams({ limit: String(ids.length + 1), to_ms: String(stored_ms - ago + (ago ? 0 : 1)) });
      if (node !== undefined) search.set("node", String(node));
      if (type) search.set("type", type);
      const found = (await api.profiles(search)).profiles.find((r) => !ids.includes(r.id));
      if (!found) return toast(t("noOlder"));
      next.set("base_ids", String(found.id));
      go(linkTo("view", next));
    } catch (why) {
      toast(why instanceof Error && why.message ? why.message : t("cannotReach"));
    }
  }
}

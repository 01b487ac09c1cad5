// "proc profiles": a tab a node, the list of what was collected, collecting one now, picking some to compare or merge.

import { h, icon, toast } from "../dom";
import { t, type Key } from "../i18n";
import { formatBytes, formatCount, formatSpan, formatStamp, formatTime } from "../flame/format";
import { api, ApiError, listen, type Job, type NodeState, type ProfileRow } from "./api";
import { go, linkTo, nodeAddress, nodeLabel, nodeState, problem, relative, typeBadge, typeHint, typeLabel, type Page, type Route, type Shell } from "./shell";

const RANGES: [string, Key, number][] = [["", "anyTime", 0], ["15m", "last15m", 900e3], ["1h", "last1h", 3600e3], ["6h", "last6h", 6 * 3600e3], ["24h", "last24h", 86400e3], ["7d", "last7d", 7 * 86400e3], ["custom", "customTime", 0]];
const PAGE = 50;

export class ProfilesPage implements Page {
  readonly element: HTMLElement;
  readonly title = t("processProfiles");
  private query: URLSearchParams;
  private rows: ProfileRow[] = [];
  private more = false;
  private picked = new Map<number, ProfileRow>();
  private readonly tabs = h("nav", { class: "node-tabs", "aria-label": t("nodes") });
  private readonly filters = h("div", { class: "filters" });
  private readonly jobs = h("div", { class: "jobs" });
  private readonly list = h("div", { class: "list" });
  private readonly pickBar = h("div", { class: "pick-bar", hidden: true, role: "status" });
  private readonly stop: () => void;
  private timer = 0;
  private asked = 0;
  private fresh = new Set<number>();
  private known = false;

  constructor(private readonly shell: Shell, route: Route) {
    this.query = route.query;
    this.element = h("div", { class: "page" },
      h("div", { class: "page-head" }, h("div", {}, h("h1", {}, t("processProfiles")), shell.session.file_mode ? null : h("p", { class: "muted" }, t("tableHint"))),
        shell.session.can.act && !shell.session.file_mode ? h("button", { type: "button", class: "button primary", id: "collect", onClick: () => this.askCollect() }, icon("play"), t("collectNow")) : null),
      this.tabs, this.filters, this.jobs, this.list, this.pickBar);
    this.list.append(h("p", { class: "muted loading" }, t("loading")));
    this.stop = shell.session.file_mode ? () => undefined : listen((kind, data) => this.event(kind, data));
    this.drawTabs();
    this.drawFilters();
    void this.load();
  }

  leave(): void {
    this.stop();
    clearTimeout(this.timer);
  }

  route(route: Route): boolean {
    if (route.page !== "profiles") return false;
    this.query = route.query;
    this.rows = [];
    this.known = false;
    this.drawTabs();
    this.drawFilters();
    void this.load();
    return true;
  }

  private get node(): NodeState | undefined {
    const wanted = this.query.get("node");
    if (!wanted) return undefined;
    return this.shell.nodes.find((n) => String(n.id) === wanted || (wanted === "FE" && n.role === "FE") || `${n.role}:${n.host}:${n.port}` === wanted);
  }

  private change(key: string, value: string): void {
    const q = new URLSearchParams(this.query);
    if (value) q.set(key, value);
    else q.delete(key);
    if (key === "range" && value !== "custom") { q.delete("from_ms"); q.delete("to_ms"); }
    go(linkTo("profiles", q));
  }

  private drawTabs(): void {
    const tab = (label: string, value: string, on: boolean, state: string, title: string): HTMLElement => {
      const q = new URLSearchParams(this.query);
      if (value) q.set("node", value);
      else q.delete("node");
      return h("a", { class: "node-tab", href: linkTo("profiles", q), "aria-current": on ? "page" : null, title }, state ? h("span", { class: "dot " + state, "aria-hidden": "true" }) : null, label);
    };
    this.tabs.hidden = !!this.shell.session.file_mode;
    if (this.shell.session.file_mode) return this.tabs.replaceChildren();
    this.tabs.replaceChildren(tab(t("allNodes"), "", !this.node, "", ""),
      ...this.shell.nodes.map((n) => tab(nodeLabel(n), String(n.id), this.node === n, nodeState(n), n.error || nodeAddress(n))));
  }

  private drawFilters(): void {
    if (this.shell.session.file_mode) return this.filters.replaceChildren();
    const types = [...new Set((this.node ? [this.node] : this.shell.nodes).flatMap((n) => n.types.map((x) => x.type)))];
    const type = h("select", { "aria-label": t("type"), onChange: () => this.change("type", type.value) }, h("option", { value: "" }, t("allTypes")), types.map((x) => h("option", { value: x }, typeLabel(x))));
    type.value = this.query.get("type") ?? "";
    const range = h("select", { "aria-label": t("timestamp"), onChange: () => this.change("range", range.value) }, RANGES.map(([value, label]) => h("option", { value }, t(label))));
    range.value = this.query.get("range") ?? "";
    const stamp = (key: string, label: Key): HTMLElement => {
      const ms = Number(this.query.get(key) ?? 0);
      const box = h("input", { type: "datetime-local", step: "1", "aria-label": t(label), value: ms ? formatStamp(ms).replace(" ", "T") : "", onChange: () => this.change(key, box.value ? String(new Date(box.value).getTime()) : "") });
      return h("label", {}, h("span", { class: "muted" }, t(label) + " "), box);
    };
    this.filters.replaceChildren(type, range, ...(range.value === "custom" ? [stamp("from_ms", "from"), stamp("to_ms", "to")] : []));
  }

  private apiQuery(): URLSearchParams {
    const q = new URLSearchParams();
    if (this.node) q.set("node", String(this.node.id));
    for (const key of ["type", "from_ms", "to_ms"]) if (this.query.get(key)) q.set(key, this.query.get(key)!);
    const range = RANGES.find(([value]) => value === this.query.get("range"));
    if (range?.[2]) q.set("from_ms", String(Date.now() - range[2]));
    q.set("limit", String(PAGE));
    return q;
  }

  private async load(older = false): Promise<void> {
    const q = this.apiQuery(), asked = ++this.asked;
    if (older && this.rows.length) q.set("before", String(this.rows[this.rows.length - 1].id));
    try {
      if (!this.shell.session.file_mode) this.shell.nodes = await api.nodes();
      const answer = await api.profiles(q);
      if (asked !== this.asked) return; // the filter changed meanwhile, or a newer answer is on its way
      const old = new Set(this.rows.map((r) => r.id));
      if (older) this.rows.push(...answer.profiles);
      else {
        this.fresh = new Set(this.known ? answer.profiles.filter((r) => !old.has(r.id)).map((r) => r.id) : []);
        // What was already loaded further down stays.
        const seen = new Set(answer.profiles.map((r) => r.id)), last = answer.profiles[answer.profiles.length - 1];
        const rest = this.known && last && old.has(last.id) ? this.rows.filter((r) => !seen.has(r.id) && (r.time_ms < last.time_ms || (r.time_ms === last.time_ms && r.id < last.id))) : [];
        this.rows = [...answer.profiles, ...rest];
      }
      this.more = answer.more ?? answer.profiles.length === PAGE;
      this.known = true;
      this.drawTabs();
      this.drawList();
    } catch (why) {
      if (asked !== this.asked || (why instanceof ApiError && why.status === 401)) return;
      this.list.replaceChildren(problem(why instanceof ApiError && why.status ? why.message : t("cannotReach"), "", h("button", { type: "button", class: "button", onClick: () => void this.load() }, t("again"))));
      this.later(3000);
    }
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), ms);
  }

  private event(kind: string, data: Record<string, unknown>): void {
    if (kind === "job") return this.showJob(data as unknown as Job);
    if (kind === "profile" && this.node && data["node"] !== this.node.id) return;
    if (kind === "profile-removed") {
      this.rows = this.rows.filter((r) => r.id !== data["id"]);
    }
    this.later(400);
  }

  // ---- the list

  private drawList(): void {
    this.drawPicked();
    if (!this.rows.length) return this.list.replaceChildren(this.drawEmpty());
    const many = !this.node && this.shell.nodes.length > 1;
    const head = (label: Key, className = ""): HTMLElement => h("th", { role: "columnheader", scope: "col", class: className }, t(label));
    const table = h("table", { class: "grid stacks", id: "table_id", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head("type"), many ? head("node") : null, head(this.shell.session.file_mode ? "file" : "timestamp"), head("duration", "right optional"), head("samples", "right optional"), head("fileSize", "right"), head("actions", "right"))),
      h("tbody", { role: "rowgroup" }, this.rows.map((r) => this.row(r, many))));
    this.list.replaceChildren(...(this.node && !this.node.alive ? [h("p", { class: "banner bad" }, t("nodeDown", this.node.error))] : []), table,
      ...(this.more ? [h("p", { class: "center" }, h("button", { type: "button", class: "button", onClick: () => void this.load(true) }, t("loadMore")))] : []));
  }

  private row(r: ProfileRow, many: boolean): HTMLElement {
    const node = this.shell.nodes.find((n) => n.id === r.node), viewable = r.has_data !== false;
    const url = viewable ? linkTo("view", { ids: r.id }) : `proc_profile/file?filename=${encodeURIComponent(r.file)}&node=${r.node}`;
    const picked = this.picked.has(r.id), fits = this.fits(r), isArchive = /\.tar\.gz$/.test(r.file);
    return h("tr", { class: (picked ? "picked " : fits ? "" : "unfit ") + (this.fresh.has(r.id) ? "fresh" : ""), role: "row", "data-id": r.id },
      h("td", { role: "cell", class: "c-type" }, typeBadge(r.type)), many ? h("td", { role: "cell", class: "c-node" }, nodeLabel(node, r.node)) : null,
      h("td", { role: "cell", class: "stamp c-stamp", title: this.shell.session.file_mode ? r.file : `${r.file}\n${relative(r.time_ms)}` }, this.shell.session.file_mode ? r.file : formatStamp(r.time_ms)),
      h("td", { role: "cell", class: "right optional" }, r.duration_ms > 0 ? formatTime(r.duration_ms / 1000) : "–"), h("td", { role: "cell", class: "right optional" }, r.samples >= 0 ? formatCount(r.samples) : "–"),
      h("td", { role: "cell", class: "right c-size" }, formatBytes(r.size_bytes)),
      h("td", { role: "cell", class: "right c-act" }, h("div", { class: "row-actions" },
        h("a", { class: "button small", href: url, target: viewable ? null : "_blank", "aria-label": t("viewIt") }, icon("eye"), h("span", {}, t("viewIt"))),
        viewable ? h("button", { type: "button", class: "button small", "aria-pressed": String(picked), disabled: !fits, title: fits ? t("compareIt") : t("oneType"), "aria-label": t("compareIt"), onClick: () => this.pick(r) }, icon("compare"), h("span", { class: "wide-only" }, t("compareIt"))) : null,
        isArchive && viewable ? h("a", { class: "button small", href: api.exportUrl(new URLSearchParams({ ids: String(r.id) }), "pprof"), download: "", title: t("downloadPprof"), "aria-label": t("downloadPprof") }, icon("download"), h("b", { class: "kind" }, "pprof")) : null,
        isArchive ? h("a", { class: "button small", href: api.rawUrl(r.id), download: r.file, title: t("downloadArchive"), "aria-label": t("downloadArchive") }, icon("download"), h("b", { class: "kind" }, "html"))
          : h("a", { class: "button small square", href: api.rawUrl(r.id), download: r.file, title: t("downloadIt"), "aria-label": t("downloadIt") }, icon("download")))));
  }

  private drawEmpty(): HTMLElement {
    if (!this.shell.nodes.length && !this.shell.session.file_mode) return problem(t("noNodes"), t("noNodesHint"));
    const node = this.node;
    if (node && !node.alive) return problem(t("noProfiles"), t("nodeDown", node.error || "–"));
    if (node?.error) return problem(t("noProfiles"), node.error);
    if (this.query.get("type") || this.query.get("range")) return problem(t("noProfiles"), t("noProfilesFilter"));
    const on = (node ? [node] : this.shell.nodes).flatMap((n) => n.types).filter((x) => x.enabled);
    if (!on.length) return problem(t("noProfiles"), t("noProfilesOff"));
    const next = Math.min(...on.map((x) => x.next_ms || Infinity));
    return problem(t("noProfiles"), t("noProfilesHint", isFinite(next) ? formatSpan(Math.max(1, (next - Date.now()) / 1000)) : "–"));
  }

  // Whether it can be compared with what is picked already.
  private fits(r: ProfileRow): boolean {
    return [...this.picked.values()].every((p) => p.type === r.type);
  }

  private pick(r: ProfileRow): void {
    if (!this.picked.delete(r.id)) this.picked.set(r.id, r);
    this.drawList();
    this.list.querySelector<HTMLElement>(`tr[data-id="${r.id}"] [aria-pressed]`)?.focus();
  }

  private drawPicked(): void {
    const list = [...this.picked.values()].sort((a, b) => a.time_ms - b.time_ms);
    this.pickBar.hidden = list.length === 0;
    if (!list.length) return;
    const compare = list.length === 2 ? h("a", { class: "button primary", href: linkTo("view", { ids: list[1].id, base_ids: list[0].id }) }, icon("compare"), t("compareIt")) : null;
    const merge = list.length > 1 ? h("a", { class: "button", href: linkTo("view", { ids: list.map((r) => r.id).join(",") }) }, t("mergeThem")) : null;
    this.pickBar.replaceChildren(h("span", {}, h("strong", {}, t("picked", list.length)), list.length < 2 ? ` · ${t("pickAnother", typeLabel(list[0].type))} ${t("oneType")}.` : ""),
      h("span", { class: "row-actions" }, compare ?? "", merge ?? "", h("button", { type: "button", class: "button", onClick: () => { this.picked.clear(); this.drawList(); } }, t("cancel"))));
  }

  // ---- collecting

  private askCollect(): void {
    const nodes = this.shell.nodes;
    if (!nodes.length) return toast(t("noNodes"));
    const node = h("select", { "aria-label": t("node") }, nodes.map((n) => h("option", { value: String(n.id) }, nodeLabel(n))));
    node.value = String((this.node ?? nodes.find((n) => n.alive) ?? nodes[0]).id);
    const type = h("select", { "aria-label": t("type"), "aria-describedby": "type-hint" }), hint = h("p", { class: "muted hint", id: "type-hint" });
    const explain = (): void => { hint.textContent = typeHint(type.value); };
    const fill = (): void => {
      type.replaceChildren(...(nodes.find((n) => String(n.id) === node.value)?.types ?? []).map((x) => h("option", { value: x.type }, typeLabel(x.type))));
      explain();
    };
    fill();
    if (this.query.get("type")) type.value = this.query.get("type")!;
    explain();
    node.addEventListener("change", fill);
    type.addEventListener("change", explain);
    const seconds = h("input", { type: "number", min: "1", max: "300", value: "10", "aria-label": t("seconds") });
    const error = h("p", { class: "error", role: "alert", hidden: true });
    const box = h("dialog", { class: "dialog", "aria-label": t("collectNow") }, h("h2", {}, t("collectNow")),
      h("form", { method: "dialog", class: "form" },
        h("label", { class: "field" }, h("span", {}, t("node")), node), h("label", { class: "field" }, h("span", {}, t("type")), type), hint, h("label", { class: "field" }, h("span", {}, t("seconds")), seconds), error,
        h("div", { class: "form-buttons" }, h("button", { type: "button", class: "button", onClick: () => box.close() }, t("cancel")), h("button", { type: "submit", class: "button primary" }, t("start")))));
    box.querySelector("form")!.addEventListener("submit", (e) => {
      e.preventDefault();
      api.collect(Number(node.value), type.value, Number(seconds.value)).then(({ job }) => {
        box.close();
        this.follow(job);
      }, (why: unknown) => {
        error.textContent = why instanceof Error ? why.message : String(why);
        error.hidden = false;
      });
    });
    box.addEventListener("close", () => box.remove());
    document.body.append(box);
    box.showModal();
  }

  private follow(id: number): void {
    const ask = async (): Promise<void> => {
      try {
        const job = await api.job(id);
        this.showJob({ ...job, id });
        if (job.state === "done" || job.state === "failed") return;
      } catch { /* asked again */ }
      if (this.element.isConnected) setTimeout(() => void ask(), 500);
    };
    void ask();
  }

  private showJob(job: Job): void {
    let line = this.jobs.querySelector<HTMLElement>(`[data-job="${job.id}"]`);
    if (!line) this.jobs.append((line = h("div", { class: "job", "data-job": job.id, role: "status" })));
    if (line.dataset["state"] === "done" || line.dataset["state"] === "failed") return;
    line.dataset["state"] = job.state;
    const node = nodeLabel(this.shell.nodes.find((n) => n.id === job.node), job.node);
    if (job.state === "failed") {
      line.className = "job bad";
      line.replaceChildren(h("span", {}, t("collectFailed", job.error)), h("button", { type: "button", class: "button small square", "aria-label": t("close"), onClick: () => line!.remove() }, icon("close")));
    } else if (job.state === "done") {
      line.className = "job good";
      line.replaceChildren(h("span", {}, t("collected")), job.profile_id ? h("a", { class: "button small", href: linkTo("view", { ids: job.profile_id }) }, icon("eye"), t("viewIt")) : "");
      setTimeout(() => line!.remove(), 12000);
      this.later(100);
    } else {
      const percent = Math.round(Math.max(0, Math.min(1, job.progress)) * 100);
      const fill = h("span", { class: "progress-fill" });
      fill.style.width = percent + "%";
      line.replaceChildren(h("span", {}, t("collecting", typeLabel(job.type), node)), h("span", { class: "progress", role: "progressbar", "aria-valuenow": percent, "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": t("collectNow") }, fill), h("span", { class: "num" }, percent + "%"));
    }
  }
}

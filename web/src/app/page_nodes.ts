// The nodes: who answers, what is collected, what went wrong, and the switches.

import { h, toast } from "../dom";
import { t } from "../i18n";
import { formatSpan, formatStamp } from "../flame/format";
import { api, ApiError, listen, type NodeState, type TypeState } from "./api";
import { linkTo, nodeAddress, nodeLabel, nodeState, problem, relative, typeBadge, typeHint, typeLabel, type Page, type Shell } from "./shell";

export class NodesPage implements Page {
  readonly element: HTMLElement;
  readonly title = t("nodes");
  private readonly list = h("div", { class: "cards" }, h("p", { class: "muted loading" }, t("loading")));
  private readonly stop: () => void;
  private timer = 0;
  private readonly clock: number;

  constructor(private readonly shell: Shell) {
    this.element = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", {}, h("h1", {}, t("nodes")), shell.session.can.act ? null : h("p", { class: "muted" }, t("mayNotAct")))), this.list);
    this.stop = listen((kind) => { if (kind === "node" || kind === "type" || kind === "profile") this.later(300); });
    this.clock = window.setInterval(() => this.later(0), 10000);
    void this.load();
  }

  leave(): void {
    this.stop();
    clearTimeout(this.timer);
    clearInterval(this.clock);
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.load(), ms);
  }

  private async load(): Promise<void> {
    try {
      this.shell.nodes = await api.nodes();
      const focused = (document.activeElement as HTMLElement | null)?.id;
      this.list.replaceChildren(...(this.shell.nodes.length ? this.shell.nodes.map((n) => this.card(n)) : [problem(t("noNodes"), t("noNodesHint"))]));
      if (focused) document.getElementById(focused)?.focus();
    } catch (why) {
      if (why instanceof ApiError && why.status === 401) return;
      this.list.replaceChildren(problem(why instanceof ApiError && why.status ? why.message : t("cannotReach"), "", h("button", { type: "button", class: "button", onClick: () => void this.load() }, t("again"))));
      this.later(3000);
    }
  }

  private card(n: NodeState): HTMLElement {
    const address = nodeAddress(n);
    return h("section", { class: "card", "aria-label": nodeLabel(n) },
      h("header", { class: "card-head" },
        h("span", { class: "role role-" + n.role }, n.role),
        h("div", { class: "card-title" }, h("h2", {}, h("a", { href: linkTo("profiles", { node: n.id }) }, n.name || address)), h("span", { class: "muted" }, [n.name && n.name !== address ? address : "", `id ${n.id}`, n.version].filter(Boolean).join(" · "))),
        h("span", { class: "state " + nodeState(n) }, t(n.alive ? (n.error ? "notProfiled" : "alive") : "down"), h("span", { class: "muted" }, ` · ${t("lastSeen")} ${relative(n.last_seen_ms)}`))),
      n.error ? h("p", { class: n.alive ? "banner" : "banner bad" }, `${t("lastError")}: ${n.error}`) : null,
      h("div", { class: "scroll-x" }, h("table", { class: "grid stacks node-table", role: "table" }, h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { role: "columnheader", scope: "col" }, t("enabled")), h("th", { role: "columnheader", scope: "col" }, t("type")), h("th", { role: "columnheader", scope: "col" }, t("schedule")), h("th", { role: "columnheader", scope: "col" }, t("lastOne")), h("th", { role: "columnheader", scope: "col" }, t("nextOne")), h("th", { role: "columnheader", scope: "col", class: "grow-cell" }, t("lastError")))),
        h("tbody", { role: "rowgroup" }, n.types.map((x) => this.typeRow(n, x))))));
  }

  private typeRow(n: NodeState, x: TypeState): HTMLElement {
    const box = h("input", { type: "checkbox", role: "switch", class: "switch", id: `switch-${n.id}-${x.type}`, "aria-label": `${t("enabled")}: ${typeLabel(x.type)}, ${nodeLabel(n)}`,
      onChange: () => {
        api.setType(n.id, x.type, box.checked).then(() => this.later(0), (why: unknown) => {
          box.checked = !box.checked;
          toast(why instanceof Error && why.message ? why.message : t("cannotReach"));
        });
      } });
    box.checked = x.enabled;
    box.disabled = !this.shell.session.can.act;
    const error = n.error ? "" : x.error; // why nothing can be had of the node stands above
    const now = Date.now(), waiting = x.backoff_until_ms > now;
    return h("tr", { role: "row" }, h("td", { role: "cell", class: "c-switch" }, box), h("td", { role: "cell", class: "c-type" }, typeBadge(x.type), h("span", { class: "hint muted" }, typeHint(x.type))),
      h("td", { role: "cell", class: "c-every muted" }, x.interval_s > 0 ? t("every", formatSpan(x.interval_s), formatSpan(x.duration_s)) : t("onDemand")),
      h("td", { role: "cell", class: "c-last", title: x.last_ms ? formatStamp(x.last_ms) : "" }, relative(x.last_ms)),
      h("td", { role: "cell", class: "c-next" }, x.running ? h("span", { class: "state good" }, t("runningNow")) : waiting ? h("span", { class: "state warn" }, t(x.failures === 1 ? "backOffOnce" : "backOff", formatStamp(x.backoff_until_ms).slice(11), x.failures ?? "?")) : x.enabled && x.next_ms ? (x.next_ms > now ? relative(x.next_ms) : t("dueNow")) : "–"),
      h("td", { role: "cell", class: "grow-cell error-text c-error", title: error }, error));
  }
}

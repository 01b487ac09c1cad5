// What the pages share: the route in the address, the session, small words for nodes, types and times.

import { h } from "../dom";
import { t, type Key } from "../i18n";
import { formatSpan } from "../flame/format";
import type { NodeState, Session } from "./api";
import { WORDS } from "./words";

export interface Route {
  page: string;
  query: URLSearchParams;
}

// The whole state is behind '#', so that the server gives the same file for every link and a prefix of a proxy does not matter.
export function readRoute(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const route = { page: path || "profiles", query: new URLSearchParams(query) };
  // StarRocks' own links: /proc_profile?node=BE:host:port
  const old = new URLSearchParams(location.search).get("node");
  if (!location.hash && old) route.query.set("node", old);
  return route;
}

export function linkTo(page: string, query: Record<string, string | number | undefined> | URLSearchParams = {}): string {
  const q = query instanceof URLSearchParams ? query : new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => [k, String(v)]));
  const text = q.toString();
  return `#/${page}${text ? "?" + text : ""}`;
}

export function go(address: string, replace = false): void {
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  dispatchEvent(new Event("procprof-route"));
}

export interface Shell {
  session: Session;
  nodes: NodeState[];
  dark: boolean;
}

// A page is shown in its element; leave is called when another one comes.
export interface Page {
  element: HTMLElement;
  title: string;
  wide?: boolean; // takes the whole window, scrolls by itself
  leave?(): void;
  route?(route: Route): boolean; // the address changed: true when the page took it
  theme?(dark: boolean): void;
}

export function nodeLabel(node: NodeState | undefined, id?: number): string {
  if (!node) return id === undefined ? "?" : String(id);
  const address = nodeAddress(node), named = node.name && node.name !== address && node.name !== node.role;
  if (node.role === "FE") return named ? `FE: ${node.name}` : "FE";
  return `${node.role}: ${named ? node.name : address}`;
}

export function nodeAddress(node: NodeState): string {
  return !node.port ? node.host : node.host.includes(":") ? `[${node.host}]:${node.port}` : `${node.host}:${node.port}`;
}

// Amber: this server answers, but there is no frontend beside it to profile.
export function nodeState(node: NodeState): "good" | "warn" | "bad" {
  return !node.alive ? "bad" : node.error ? "warn" : "good";
}

export function profilesIn(count: number): string {
  return count === 1 ? t("profileIn") : t("profilesIn", count);
}

// What a type of profile tells, in a sentence.
export function typeHint(type: string): string {
  const key = "hint_" + type;
  return key in WORDS ? t(key as Key) : "";
}

export function typeLabel(type: string): string {
  const key = "type_" + type;
  return key in WORDS ? t(key as Key) : type;
}

export function typeBadge(type: string): HTMLElement {
  return h("span", { class: "type type-" + type.replace(/\W/g, ""), title: typeHint(type) || null }, typeLabel(type));
}

export function relative(ms: number, now = Date.now()): string {
  if (!ms) return t("never");
  const seconds = Math.abs(now - ms) / 1000;
  const text = formatSpan(Math.max(1, seconds));
  return ms <= now ? t("ago", text) : t("inFuture", text);
}

export function problem(text: string, hint = "", action?: HTMLElement): HTMLElement {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, text)), hint ? h("p", { class: "muted" }, hint) : null, action ? h("p", {}, action) : null);
}

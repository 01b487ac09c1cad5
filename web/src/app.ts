// The server's page: a bar at the top, one page below it, the address decides which.

import { addWords, chooseLanguage, LANGUAGES, language, t, type Key } from "./i18n";
import { h, icon, toast } from "./dom";
import { decodeFlame } from "./flame/data";
import { api, ApiError, setOnLogin } from "./app/api";
import { LoginPage } from "./app/page_login";
import { NodesPage } from "./app/page_nodes";
import { ProfilesPage } from "./app/page_profiles";
import { TimelinePage } from "./app/page_timeline";
import { ViewPage } from "./app/page_view";
import { linkTo, readRoute, type Page, type Route, type Shell } from "./app/shell";
import { WORDS } from "./app/words";
import { applyTheme, isDark, onTheme, toggleTheme } from "./theme";

addWords(WORDS);

function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch { /* not kept */ }
}

class App {
  private shell!: Shell;
  private page: Page | null = null;
  private readonly main = h("main", { id: "main" });
  private readonly bar = h("header", { class: "app-bar" });

  async begin(): Promise<void> {
    chooseLanguage(readRoute().query.get("lang") ?? kept("procprof-lang"));
    applyTheme();
    document.body.replaceChildren(this.bar, this.main);
    setOnLogin(() => this.show(new LoginPage(() => void this.start())));
    addEventListener("popstate", () => this.follow());
    addEventListener("hashchange", () => this.follow());
    addEventListener("procprof-route", () => this.follow());
    addEventListener("procprof-title", (e) => this.setTitle((e as CustomEvent<string>).detail));
    onTheme((dark) => { this.shell.dark = dark; this.page?.theme?.(dark); });
    this.acceptFiles();
    await this.start();
  }

  private async start(): Promise<void> {
    try {
      const session = await api.session();
      this.shell = { session, nodes: [], dark: isDark() };
      this.drawBar();
      if (session.login_required && !session.can.look) return this.show(new LoginPage(() => void this.start()));
      if (!session.file_mode) this.shell.nodes = await api.nodes();
      this.follow(true);
    } catch (why) {
      if (why instanceof ApiError && why.status === 401) return this.show(new LoginPage(() => void this.start()));
      this.main.replaceChildren(h("div", { class: "empty" }, h("p", {}, h("strong", {}, why instanceof ApiError && why.status ? why.message : t("cannotReach")))));
      setTimeout(() => void this.start(), 3000);
    }
  }

  private last = "";
  private follow(force = false): void {
    if (!this.shell) return;
    const route = readRoute();
    if (!force && location.hash === this.last) return;
    this.last = location.hash;
    this.drawBar();
    if (!force && this.page?.route?.(route)) return;
    this.open(route);
  }

  private open(route: Route): void {
    if (route.page === "view") this.show(new ViewPage(this.shell, route));
    else if (route.page === "timeline") this.show(new TimelinePage(this.shell, route));
    else if (route.page === "nodes") this.show(new NodesPage(this.shell));
    else this.show(new ProfilesPage(this.shell, { page: "profiles", query: route.query }));
  }

  private show(page: Page): void {
    this.page?.leave?.();
    this.page = page;
    document.body.classList.toggle("wide", !!page.wide);
    this.main.replaceChildren(page.element);
    this.setTitle(page.title);
    if (!page.wide) scrollTo(0, 0);
  }

  private setTitle(title: string): void {
    document.title = title === "procprof" ? title : `${title} – procprof`;
  }

  private drawBar(): void {
    const { session } = this.shell, here = readRoute().page;
    const link = (page: string, label: Key, more: string[] = []): HTMLElement =>
      h("a", { href: linkTo(page), class: "nav-item", id: page === "profiles" ? "nav_proc_profile" : null, "aria-current": here === page || more.includes(here) ? "page" : null }, t(label));
    const languages = h("select", { class: "plain", id: "language", "aria-label": t("language"), onChange: () => { keep("procprof-lang", languages.value); chooseLanguage(languages.value); this.drawBar(); this.open(readRoute()); } },
      LANGUAGES.map(([code, name]) => h("option", { value: code }, name)));
    languages.value = language;
    const picker = h("input", { type: "file", class: "offscreen", tabindex: "-1", "aria-hidden": "true", onChange: () => { if (picker.files?.length) void this.openFile(picker.files[0]); } });
    this.bar.replaceChildren(
      h("a", { class: "skip", href: "#main", onClick: (e: Event) => { e.preventDefault(); this.main.querySelector<HTMLElement>("a, button, [tabindex='0']")?.focus(); } }, "↓"),
      h("a", { class: "brand", href: linkTo("profiles") }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), "procprof"),
      h("nav", { class: "nav", "aria-label": t("menu") }, link("profiles", "procProfiles", ["view", "open"]), session.file_mode ? null : [link("timeline", "timeline"), link("nodes", "nodes")]),
      h("div", { class: "bar-tools" }, picker,
        h("button", { type: "button", class: "button plain square", id: "open-file", title: t("openFile"), "aria-label": t("openFile"), onClick: () => picker.click() }, icon("folder")),
        h("span", { class: "language" }, icon("globe"), languages),
        h("button", { type: "button", class: "button plain square", id: "theme", title: t("theme"), "aria-label": t("theme"), onClick: () => { toggleTheme(); this.drawBar(); } }, icon(isDark() ? "sun" : "moon")),
        session.login_required && session.user ? h("button", { type: "button", class: "button plain", onClick: () => void api.logout().finally(() => this.start()) }, session.user, h("span", { class: "muted wide-only" }, ` · ${t("signOut")}`)) : null));
  }

  // ---- files dropped onto the page

  private acceptFiles(): void {
    const shade = h("div", { class: "drop", hidden: true }, h("div", {}, h("strong", {}, t("dropHere")), h("p", { class: "muted" }, t("dropKinds"))));
    document.body.append(shade);
    let depth = 0;
    const hasFiles = (e: DragEvent): boolean => !!e.dataTransfer && [...e.dataTransfer.types].includes("Files");
    addEventListener("dragenter", (e) => { if (hasFiles(e)) { depth++; shade.hidden = false; e.preventDefault(); } });
    addEventListener("dragover", (e) => { if (hasFiles(e)) e.preventDefault(); });
    addEventListener("dragleave", () => { if (--depth <= 0) { depth = 0; shade.hidden = true; } });
    addEventListener("drop", (e) => {
      if (!hasFiles(e)) return;
      e.preventDefault();
      depth = 0;
      shade.hidden = true;
      const file = e.dataTransfer!.files[0];
      if (file) void this.openFile(file);
    });
  }

  private async openFile(file: File): Promise<void> {
    try {
      const start = new Uint8Array(await file.slice(0, 4).arrayBuffer());
      const ours = start[0] === 0x50 && start[1] === 0x50 && start[2] === 0x46 && start[3] === 0x31;
      const data = decodeFlame(ours ? new Uint8Array(await file.arrayBuffer()) : await api.open(file));
      if (!data.header.profile.title) data.header.profile.title = file.name;
      const address = linkTo("open");
      history.pushState(null, "", address);
      this.last = location.hash;
      this.drawBar();
      this.show(new ViewPage(this.shell, readRoute(), { data, file }));
    } catch (why) {
      toast(t("cannotOpen", file.name, why instanceof Error && why.message ? why.message : t("cannotReach")));
    }
  }
}

void new App().begin();

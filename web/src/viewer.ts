// The saved file: data inside the page, no server. The state is in the part of the address behind '#'.

import { chooseLanguage, LANGUAGES, language, t } from "./i18n";
import { h, icon } from "./dom";
import { decodeFlame } from "./flame/data";
import { readState, writeState, type State } from "./flame/model";
import { fromBase64, gunzip } from "./flame/unpack";
import { Viewer } from "./flame/viewer";
import { applyTheme, isDark, onTheme, toggleTheme } from "./theme";

declare global {
  interface Window { procprof?: unknown }
}

function query(): URLSearchParams {
  return new URLSearchParams(location.hash.replace(/^#\??/, ""));
}

async function begin(): Promise<void> {
  chooseLanguage(query().get("lang"));
  applyTheme();
  const start = JSON.parse(document.getElementById("start")!.textContent!) as Partial<State>;
  const holder = document.getElementById("data")!;
  const bytes = await gunzip(fromBase64(holder.textContent!));
  holder.remove();
  const began = performance.now();
  const data = decodeFlame(bytes);
  const viewer = new Viewer(data, readState(query(), start), {
    dark: isDark(),
    onState: (state, asNewPage) => {
      const q = query();
      writeState(state, q);
      const address = "#" + q.toString();
      if (asNewPage) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    },
  });
  const languages = h("select", { "aria-label": t("language"), onChange: () => { const q = query(); q.set("lang", languages.value); location.hash = q.toString(); location.reload(); } },
    LANGUAGES.map(([code, name]) => h("option", { value: code }, name)));
  languages.value = language;
  const bar = h("div", { class: "file-tools" }, languages, h("button", { type: "button", class: "button square", title: t("theme"), "aria-label": t("theme"), onClick: toggleTheme }, icon("moon")));
  viewer.element.querySelector(".viewer-head")!.append(bar);
  document.body.replaceChildren(h("main", { class: "file-page" }, viewer.element));
  const follow = (): void => viewer.setFromUrl(readState(query(), {}));
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  onTheme((dark) => viewer.setDark(dark));
  window.procprof = { viewer, readyMs: performance.now() - began };
}

begin().catch((why: unknown) => {
  document.body.replaceChildren(h("main", { class: "file-page" }, h("div", { class: "empty" }, h("p", {}, h("strong", {}, String(why))))));
});

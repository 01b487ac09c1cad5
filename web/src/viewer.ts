// The saved file: data inside the page, no server. The state is in the part of the address behind '#'.

import { chooseLanguage, LANGUAGES, language, t } from "./i18n";
import { h, icon, painted } from "./dom";
import { decodeFlame, decodeOne, type FlameData } from "./flame/data";
import { previewServes, readState, writeState, type State } from "./flame/model";
import { fromBase64, gunzip } from "./flame/unpack";
import { Viewer } from "./flame/viewer";
import { applyTheme, isDark, onTheme, toggleTheme } from "./theme";

declare global {
  interface Window { procprof?: unknown }
}

function query(): URLSearchParams {
  return new URLSearchParams(location.hash.replace(/^#\??/, ""));
}

function show(data: FlameData, state: State): Viewer {
  const viewer = new Viewer(data, state, {
    dark: isDark(),
    onState: (now, asNewPage) => {
      const q = query();
      writeState(now, q);
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
  viewer.drawNow();
  performance.mark("procprof-drawn");
  const follow = (): void => viewer.setFromUrl(readState(query(), {}));
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);
  onTheme((dark) => viewer.setDark(dark));
  return viewer;
}

async function begin(): Promise<void> {
  performance.mark("procprof-data"); // all of them are here
  chooseLanguage(query().get("lang"));
  applyTheme();
  const state = readState(query(), JSON.parse(document.getElementById("start")!.textContent!) as Partial<State>);
  const holder = document.getElementById("data")!;
  const packed = fromBase64(holder.textContent!);
  holder.remove();
  let viewer: Viewer | null = null;
  const bytes = await gunzip(packed, async (preview) => {
    if (!previewServes(state)) return;
    viewer = show(decodeOne(preview), state);
    await painted();
  });
  const data = decodeFlame(bytes);
  if (viewer) (viewer as Viewer).setData(data);
  else viewer = show(data, state);
  performance.mark("procprof-whole");
  window.procprof = { viewer };
}

begin().catch((why: unknown) => {
  document.body.replaceChildren(h("main", { class: "file-page" }, h("div", { class: "empty" }, h("p", {}, h("strong", {}, String(why))))));
});

import { h } from "../dom";
import { t } from "../i18n";
import { api } from "./api";
import type { Page } from "./shell";

export class LoginPage implements Page {
  readonly element: HTMLElement;
  readonly title = t("signIn");

  constructor(done: () => void) {
    const user = h("input", { type: "text", name: "user", autocomplete: "username", value: "root", required: true, id: "user" });
    const password = h("input", { type: "password", name: "password", autocomplete: "current-password", id: "password" });
    const error = h("p", { class: "error", role: "alert", hidden: true });
    const form = h("form", { class: "form login" }, h("h1", {}, t("signIn")), h("p", { class: "muted" }, t("signInHint")),
      h("label", { class: "field" }, h("span", {}, t("user")), user), h("label", { class: "field" }, h("span", {}, t("password")), password), error,
      h("button", { type: "submit", class: "button primary" }, t("signIn")));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      api.login(user.value, password.value).then(done, (why: unknown) => {
        error.textContent = why instanceof Error && why.message ? why.message : t("cannotReach");
        error.hidden = false;
        password.select();
      });
    });
    this.element = h("div", { class: "page login-page" }, form);
    requestAnimationFrame(() => password.focus());
  }
}

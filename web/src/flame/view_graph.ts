import { h } from "../dom";
import type { State } from "./model";
import type { View, Viewer } from "./viewer";

export class GraphView implements View {
  readonly element: HTMLElement;
  constructor(_viewer: Viewer) {
    this.element = h("div", { class: "view" });
  }
  update(_changed: Set<keyof State> | null): void {}
}

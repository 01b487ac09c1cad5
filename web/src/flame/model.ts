// What is looked at and how: the data, the choices (which the URL holds), and the trees that follow from both, each made when needed.

import type { FlameData, ProfileFacts } from "./data";
import { callersTree, calleesTree, filterTree, hashNames, makeTree, reverseTree, topRows, type TopRows, type Tree, type WidthMode } from "./tree";

export interface State {
  v: string;      // view
  t: string;      // sample type, by name
  q: string;      // search
  z: string;      // zoomed frame, by a hash of its path
  dir: string;    // "down": root at the top, "up": at the bottom
  rev: string;    // "1": leaves first
  rec: string;    // "1": recursion collapsed
  order: string;  // "name"
  color: string;
  focus: string;
  ignore: string;
  hide: string;
  fn: string;     // function of callers/callees and source
  w: string;      // comparison: what the width shows
  norm: string;   // comparison: "rate", "absolute", "relative"
  sort: string;   // table: column, with - before it for ascending
  only: string;   // table of changes: "new", "removed", "changed"
  gn: string;     // graph: how many functions
}

export const DEFAULTS: State = {
  v: "flame", t: "", q: "", z: "", dir: "down", rev: "", rec: "", order: "", color: "", focus: "", ignore: "", hide: "", fn: "",
  w: "max", norm: "rate", sort: "", only: "", gn: "40",
};

export function readState(query: URLSearchParams, start: Partial<State> = {}): State {
  const state = { ...DEFAULTS, ...start };
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    const value = query.get(key);
    if (value !== null) state[key] = value;
  }
  return state;
}

export function writeState(state: State, query: URLSearchParams): void {
  for (const key of Object.keys(DEFAULTS) as (keyof State)[]) {
    if (state[key] !== DEFAULTS[key]) query.set(key, state[key]);
    else query.delete(key);
  }
}

// Small letters find large ones too; a large one asks for itself. What is no regular expression is taken as plain text.
export function searchRegex(text: string): { regex: RegExp; plain: boolean } | null {
  if (!text) return null;
  const flags = /[A-Z]/.test(text.replace(/\\./g, "")) ? "" : "i";
  try {
    return { regex: new RegExp(text, flags), plain: false };
  } catch {
    return { regex: new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags), plain: true };
  }
}

// May a preview stand for the whole? It has all that is seen of the flame graph as it opens; whatever counts, searches or reorders needs all.
export function previewServes(state: State): boolean {
  return state.v === "flame" && !state.q && !state.z && !state.rev && !state.rec && !state.order && !state.focus && !state.ignore && !state.hide;
}

export function exactRegex(name: string): string {
  return "^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$";
}

class Cache {
  private key = "";
  private value: unknown;
  get<T>(key: string, make: () => T): T {
    if (key !== this.key || this.value === undefined) {
      this.value = undefined; // let the old one go before the new one is made
      this.value = make();
      this.key = key;
    }
    return this.value as T;
  }
}

export class Model {
  private readonly caches = new Map<string, Cache>();
  readonly nameHash: Uint32Array;
  private marks = new Map<string, Uint8Array>();
  constructor(readonly data: FlameData, readonly state: State) {
    this.nameHash = new Uint32Array(0);
  }

  private cached<T>(name: string, key: string, make: () => T): T {
    let cache = this.caches.get(name);
    if (!cache) this.caches.set(name, (cache = new Cache()));
    return cache.get(key, make);
  }

  hashes(): Uint32Array {
    return this.cached("hashes", "-", () => hashNames(this.data.names));
  }

  get isDiff(): boolean {
    return !!this.data.header.base;
  }

  get type(): number {
    const types = this.data.header.sample_types;
    const at = types.findIndex(([name]) => name === this.state.t);
    return at >= 0 ? at : Math.min(this.data.header.default, Math.max(0, types.length - 1));
  }

  get unit(): string {
    return this.data.header.sample_types[this.type]?.[1] ?? "count";
  }

  typeName(type = this.type): string {
    return this.data.header.sample_types[type]?.[0] ?? "";
  }

  // In-use memory is a level, not an amount per time.
  private isLevel(): boolean {
    return /^inuse/.test(this.typeName());
  }

  // What the base's values are multiplied with to be comparable.
  baseScale(): number {
    const { profile, base } = this.data.header;
    if (!base || this.state.norm === "absolute") return 1;
    if (this.state.norm === "relative") {
      const sum = (v: Float64Array): number => v.reduce((a, b) => a + b, 0);
      const b = sum(this.data.values(this.type, true)), a = sum(this.data.values(this.type, false));
      return a > 0 && b > 0 ? a / b : 1;
    }
    // Durations of merged profiles are added up over all processes: they are process-seconds. A level is per process.
    const timed = !this.isLevel() && profile.duration_ms > 0 && base.duration_ms > 0;
    const load = (f: ProfileFacts): number => (timed ? f.duration_ms : Math.max(1, f.processes));
    return load(profile) / load(base);
  }

  get mode(): WidthMode {
    return (this.isDiff ? this.state.w : "max") as WidthMode;
  }

  private rawKey(): string {
    return [this.type, this.state.norm, this.mode].join("|");
  }

  raw(): Tree {
    return this.cached("raw", this.rawKey(), () => {
      const self = this.data.values(this.type, false);
      let base: Float64Array | null = null;
      if (this.isDiff) {
        base = this.data.values(this.type, true);
        const scale = this.baseScale();
        if (scale !== 1) for (let i = 0; i < base.length; i++) base[i] *= scale;
      }
      return makeTree(this.data.shape, self, base, this.mode);
    });
  }

  // Per function: does its name match? null when nothing is asked for.
  matches(text: string): Uint8Array | null {
    if (!text) return null;
    let found = this.marks.get(text);
    if (!found) {
      const { regex } = searchRegex(text)!, names = this.data.names;
      found = new Uint8Array(names.length);
      for (let i = 1; i < names.length; i++) if (regex.test(names[i])) found[i] = 1;
      if (this.marks.size > 8) this.marks.clear();
      this.marks.set(text, found);
    }
    return found;
  }

  private filterKey(): string {
    const s = this.state;
    return JSON.stringify([this.rawKey(), s.focus, s.ignore, s.hide, s.rec, s.order]);
  }

  isFiltered(): boolean {
    const s = this.state;
    return !!(s.focus || s.ignore || s.hide || s.rec || s.order);
  }

  filtered(): Tree {
    const s = this.state;
    if (!this.isFiltered()) return this.raw();
    return this.cached("filtered", this.filterKey(), () => {
      let ranks: Uint32Array | null = null;
      if (s.order === "name") {
        const order = this.data.names.map((_, i) => i).sort((a, b) => (this.data.names[a] < this.data.names[b] ? -1 : 1));
        ranks = new Uint32Array(order.length);
        order.forEach((f, place) => (ranks![f] = place));
      }
      return filterTree(this.raw(), {
        focus: this.matches(s.focus), ignore: this.matches(s.ignore), hide: this.matches(s.hide), collapseRecursion: !!s.rec, ranks,
      }, this.mode);
    });
  }

  // leastShare: branches of a reversed tree lighter than this are not followed.
  shown(leastShare = 1 / 20000): Tree {
    if (!this.state.rev) return this.filtered();
    return this.cached("reversed", this.filterKey() + leastShare, () => reverseTree(this.filtered(), this.data.names.length, leastShare, this.mode));
  }

  top(): TopRows {
    return this.cached("top", this.filterKey(), () => topRows(this.filtered(), this.data.names.length));
  }

  callers(fn: number): Tree {
    return this.cached("callers", this.filterKey() + fn, () => callersTree(this.filtered(), fn, this.data.names.length, 1 / 5000, this.mode));
  }

  callees(fn: number): Tree {
    return this.cached("callees", this.filterKey() + fn, () => calleesTree(this.filtered(), fn, this.mode));
  }

  // ---- comparisons

  // How much one sample is worth in the unit shown, for the noise limit.
  private perSample(): number {
    return this.cached("perSample", this.rawKey(), () => {
      const types = this.data.header.sample_types, total = this.raw().total[0] + (this.raw().baseTotal?.[0] ?? 0);
      if (this.unit === "count" && this.typeName() === "samples") return 1;
      const count = types.findIndex(([name, unit]) => unit === "count" && /^(samples|contentions)$/.test(name));
      if (count >= 0) {
        const sum = (v: Float64Array): number => v.reduce((a, b) => a + b, 0);
        const n = sum(this.data.values(count, false)) + sum(this.data.values(count, true)) * this.baseScale();
        if (n > 0) return total / n;
      }
      const { profile, base } = this.data.header;
      if (profile.period > 0 && profile.period_type[1] === this.unit) return profile.period;
      return total / Math.max(1, profile.samples + (base?.samples ?? 0));
    });
  }

  // Could chance alone explain the difference? Three standard deviations of two Poisson counts.
  isNoise(value: number, base: number): boolean {
    const per = this.perSample() || 1;
    return Math.abs(value - base) / per <= 3 * Math.sqrt(Math.max(0, (Math.abs(value) + Math.abs(base)) / per));
  }

  // -1 (gone) .. 0 (same or noise) .. 1 (new)
  change(value: number, base: number): number {
    if (value === base || this.isNoise(value, base)) return 0;
    const larger = Math.max(Math.abs(value), Math.abs(base));
    return larger ? (value - base) / larger : 0;
  }
}

// A call tree with values: totals, the place of every box, and the trees that are made from it (filtered, reversed, callers and
// callees of a function). Struct of arrays throughout; no recursion, since stacks may be thousands of frames deep.

import { makeShape, type Shape } from "./data";

// How two values of a comparison give a width.
export type WidthMode = "max" | "new" | "base" | "churn";

export interface Tree extends Shape {
  self: Float64Array;
  total: Float64Array;
  baseSelf: Float64Array | null; // scaled to be comparable; null: no comparison
  baseTotal: Float64Array | null;
  width: Float64Array; // of the box, and its left edge, in the unit of the values; never negative
  x: Float64Array;
  partial: boolean; // a reversed tree whose lightest branches were not followed
}

// Backwards over the preorder: what stands behind a node one level deeper, up to here, are its children.
function sumUp(shape: Shape, self: Float64Array): { total: Float64Array; negative: boolean } {
  let negative = false;
  const total = new Float64Array(shape.n), depth = shape.depth, below = new Float64Array(shape.maxDepth + 2);
  for (let i = shape.n - 1; i >= 0; i--) {
    const d = depth[i], own = self[i], sum = own + below[d + 1];
    if (own < 0) negative = true;
    below[d + 1] = 0;
    below[d] += sum;
    total[i] = sum;
  }
  return { total, negative };
}

export function weigh(value: number, base: number, mode: WidthMode): number {
  const a = value < 0 ? -value : value, b = base < 0 ? -base : base;
  if (mode === "new") return a;
  if (mode === "base") return b;
  if (mode === "max") return a > b ? a : b;
  return value > base ? value - base : base - value;
}

function boxWidths(shape: Shape, self: Float64Array, baseSelf: Float64Array | null, mode: WidthMode): Float64Array {
  const width = new Float64Array(shape.n);
  for (let i = 0; i < shape.n; i++) width[i] = baseSelf ? weigh(self[i], baseSelf[i], mode) : Math.abs(self[i]);
  for (let i = shape.n - 1; i > 0; i--) width[shape.parent[i]] += width[i];
  return width;
}

export function makeTree(shape: Shape, self: Float64Array, baseSelf: Float64Array | null, mode: WidthMode, partial = false): Tree {
  const { total, negative } = sumUp(shape, self);
  const baseTotal = baseSelf ? sumUp(shape, baseSelf).total : null;
  const width = baseSelf || negative ? boxWidths(shape, self, baseSelf, mode) : total;
  const x = new Float64Array(shape.n);
  const next = new Float64Array(shape.maxDepth + 2);
  const depth = shape.depth;
  for (let i = 0; i < shape.n; i++) {
    const d = depth[i], left = next[d];
    x[i] = left;
    next[d] = left + width[i];
    next[d + 1] = left;
  }
  return { ...shape, self, total, baseSelf, baseTotal, width, x, partial };
}

// ---- building a tree by merging equal frames under equal parents

class Builder {
  n = 1;
  private capacity: number;
  fn: Uint32Array;
  parent: Uint32Array;
  self: Float64Array;
  base: Float64Array | null;
  private slots: Uint32Array;
  private mask: number;

  constructor(hint: number, withBase: boolean) {
    this.capacity = Math.max(1024, hint);
    this.fn = new Uint32Array(this.capacity);
    this.parent = new Uint32Array(this.capacity);
    this.self = new Float64Array(this.capacity);
    this.base = withBase ? new Float64Array(this.capacity) : null;
    let size = 2048;
    while (size < this.capacity * 2) size *= 2;
    this.slots = new Uint32Array(size);
    this.mask = size - 1;
  }

  private hash(parent: number, fn: number): number {
    let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(fn + 1, 0x85ebca6b);
    h ^= h >>> 15;
    return Math.imul(h, 0x2c1b3c6d) >>> 0;
  }

  private grow(): void {
    this.capacity *= 2;
    const wider = <T extends Uint32Array | Float64Array>(old: T, made: T): T => { made.set(old); return made; };
    this.fn = wider(this.fn, new Uint32Array(this.capacity));
    this.parent = wider(this.parent, new Uint32Array(this.capacity));
    this.self = wider(this.self, new Float64Array(this.capacity));
    if (this.base) this.base = wider(this.base, new Float64Array(this.capacity));
    this.slots = new Uint32Array(this.slots.length * 2);
    this.mask = this.slots.length - 1;
    for (let i = 1; i < this.n; i++) {
      let at = this.hash(this.parent[i], this.fn[i]) & this.mask;
      while (this.slots[at]) at = (at + 1) & this.mask;
      this.slots[at] = i;
    }
  }

  child(parent: number, fn: number): number {
    let at = this.hash(parent, fn) & this.mask;
    for (let i: number; (i = this.slots[at]) !== 0; at = (at + 1) & this.mask)
      if (this.parent[i] === parent && this.fn[i] === fn) return i;
    if (this.n === this.capacity) {
      this.grow();
      at = this.hash(parent, fn) & this.mask;
      while (this.slots[at]) at = (at + 1) & this.mask;
    }
    const made = this.n++;
    this.fn[made] = fn;
    this.parent[made] = parent;
    this.slots[at] = made;
    return made;
  }

  // order: of brothers; by weight, or by name when ranks (function -> place in the alphabet) are given.
  finish(mode: WidthMode, ranks: Uint32Array | null, keepEmpty: boolean): Tree {
    const n = this.n, parent = this.parent, weight = new Float64Array(n);
    for (let i = 0; i < n; i++) weight[i] = this.base ? weigh(this.self[i], this.base[i], "max") : Math.abs(this.self[i]);
    for (let i = n - 1; i > 0; i--) weight[parent[i]] += weight[i]; // children come behind their parents here too
    const first = new Uint32Array(n + 2);
    for (let i = 1; i < n; i++) first[parent[i] + 2]++;
    for (let i = 2; i < n + 2; i++) first[i] += first[i - 1];
    const child = new Uint32Array(n);
    for (let i = 1; i < n; i++) child[first[parent[i] + 1]++] = i;
    const compare = ranks
      ? (a: number, b: number) => ranks[this.fn[a]] - ranks[this.fn[b]]
      : (a: number, b: number) => weight[b] - weight[a];
    for (let i = 0; i < n; i++) if (first[i + 1] - first[i] > 1) child.subarray(first[i], first[i + 1]).sort(compare);

    const outFn = new Uint32Array(n), outDepth = new Uint32Array(n), self = new Float64Array(n);
    const base = this.base ? new Float64Array(n) : null;
    const stack = new Uint32Array(n), stackDepth = new Uint32Array(n);
    let top = 1, count = 0, maxDepth = 0;
    while (top) {
      const node = stack[--top], d = stackDepth[top];
      outFn[count] = this.fn[node];
      outDepth[count] = d;
      self[count] = this.self[node];
      if (base) base[count] = this.base![node];
      count++;
      if (d > maxDepth) maxDepth = d;
      for (let k = first[node + 1] - 1; k >= first[node]; k--) {
        const c = child[k];
        if (!keepEmpty && weight[c] === 0) continue;
        stack[top] = c;
        stackDepth[top++] = d + 1;
      }
    }
    const shape = makeShape(count, outFn.slice(0, count), maxDepth < 65536 ? Uint16Array.from(outDepth.subarray(0, count)) : outDepth.slice(0, count), maxDepth);
    return makeTree(shape, self.slice(0, count), base ? base.slice(0, count) : null, mode);
  }
}

// ---- filters

export interface Filters {
  focus: Uint8Array | null;  // per function: only stacks that have one of these
  ignore: Uint8Array | null; // no stack that has one of these
  hide: Uint8Array | null;   // these frames disappear; what they called goes to their caller
  collapseRecursion: boolean;
  ranks: Uint32Array | null; // order by name
}

export function filterTree(tree: Tree, filters: Filters, mode: WidthMode): Tree {
  const out = new Builder(Math.min(tree.n, 1 << 20), !!tree.baseSelf);
  const { fn, depth, end } = tree, { focus, ignore, hide, collapseRecursion } = filters;
  const at = new Uint32Array(tree.maxDepth + 2), seen = new Uint8Array(tree.maxDepth + 2);
  seen[0] = focus ? 0 : 1;
  out.self[0] = focus ? 0 : tree.self[0];
  if (out.base) out.base[0] = focus ? 0 : tree.baseSelf![0];
  for (let i = 1; i < tree.n;) {
    const d = depth[i], f = fn[i];
    if (ignore && ignore[f]) {
      i = end[i];
      continue;
    }
    const above = at[d - 1];
    seen[d] = seen[d - 1] | (focus ? focus[f] : 1);
    const into = (hide && hide[f]) || (collapseRecursion && above !== 0 && out.fn[above] === f) ? above : out.child(above, f);
    at[d] = into;
    if (seen[d]) {
      out.self[into] += tree.self[i];
      if (out.base) out.base[into] += tree.baseSelf![i];
    }
    i++;
  }
  return out.finish(mode, filters.ranks, !focus);
}

// ---- reversed trees: from the leaves to the roots, or from a function to its callers

interface Entries {
  node: Uint32Array; // where in the tree this entry stands
  value: Float64Array;
  base: Float64Array | null;
}

// Groups entries by function, then moves each to its caller and goes on. A group lighter than `least` is not followed: it would be
// far less than a pixel; the tree says so (partial), and zooming makes it again with a finer limit.
function climb(tree: Tree, entries: Entries, rootFn: number, functions: number, leastShare: number, mode: WidthMode): Tree {
  const { node, value, base } = entries, count = node.length, { fn, parent } = tree;
  let sum = 0;
  for (let i = 0; i < count; i++) sum += weigh(value[i], base ? base[i] : 0, "max");
  const least = sum * leastShare;
  const order = new Uint32Array(count), scratch = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[i] = i;
  const outFn: number[] = [], outDepth: number[] = [], outSelf: number[] = [], outBase: number[] = [];
  const place = new Int32Array(functions).fill(-1);
  interface Group { lo: number; hi: number; depth: number; fn: number; weight: number }
  const stack: Group[] = [{ lo: 0, hi: count, depth: 0, fn: rootFn, weight: sum }];
  let maxDepth = 0, partial = false;
  while (stack.length) {
    const g = stack.pop()!;
    let endValue = 0, endBase = 0, lo = g.lo;
    if (g.depth > 0) {
      // Every entry of the group stands at a frame of g.fn: step to the caller. Those without one end here.
      const follow = g.weight >= least;
      if (!follow && g.hi - g.lo > 0) partial = true;
      for (let k = g.lo; k < g.hi; k++) {
        const e = order[k], up = parent[node[e]];
        if (up === 0 || !follow) {
          endValue += value[e];
          if (base) endBase += base[e];
          order[k] = order[lo];
          order[lo++] = e;
        } else {
          node[e] = up;
        }
      }
    }
    outFn.push(g.fn);
    outDepth.push(g.depth);
    outSelf.push(endValue);
    outBase.push(endBase);
    if (g.depth > maxDepth) maxDepth = g.depth;
    if (lo >= g.hi) continue;
    const groups: Group[] = [];
    for (let k = lo; k < g.hi; k++) {
      const e = order[k], f = fn[node[e]];
      let at = place[f];
      if (at < 0) {
        at = place[f] = groups.length;
        groups.push({ lo: 0, hi: 0, depth: g.depth + 1, fn: f, weight: 0 });
      }
      groups[at].hi++;
      groups[at].weight += weigh(value[e], base ? base[e] : 0, "max");
    }
    let start = lo;
    for (const group of groups) {
      const size = group.hi;
      group.lo = group.hi = start;
      start += size;
    }
    for (let k = lo; k < g.hi; k++) {
      const e = order[k];
      scratch[groups[place[fn[node[e]]]].hi++] = e;
    }
    order.set(scratch.subarray(lo, g.hi), lo);
    for (const group of groups) place[group.fn] = -1;
    groups.sort((a, b) => a.weight - b.weight); // the heaviest is taken first
    for (const group of groups) stack.push(group);
  }
  const depth = maxDepth < 65536 ? Uint16Array.from(outDepth) : Uint32Array.from(outDepth);
  const shape = makeShape(outFn.length, Uint32Array.from(outFn), depth, maxDepth);
  return makeTree(shape, Float64Array.from(outSelf), base ? Float64Array.from(outBase) : null, mode, partial);
}

export function reverseTree(tree: Tree, functions: number, leastShare: number, mode: WidthMode): Tree {
  const picked: number[] = [];
  for (let i = 1; i < tree.n; i++) if (tree.self[i] !== 0 || (tree.baseSelf && tree.baseSelf[i] !== 0)) picked.push(i);
  const node = Uint32Array.from(picked);
  const value = Float64Array.from(picked, (i) => tree.self[i]);
  const base = tree.baseSelf ? Float64Array.from(picked, (i) => tree.baseSelf![i]) : null;
  return climb(tree, { node, value, base }, 0, functions, leastShare, mode);
}

// The outermost frames of a function: each sample that has it is under exactly one of them.
export function outermost(tree: Tree, fn: number): number[] {
  const found: number[] = [];
  for (let i = 1; i < tree.n;) {
    if (tree.fn[i] === fn) {
      found.push(i);
      i = tree.end[i];
    } else {
      i++;
    }
  }
  return found;
}

// root > fn > its callers > their callers ...
export function callersTree(tree: Tree, fn: number, functions: number, leastShare: number, mode: WidthMode): Tree {
  const found = outermost(tree, fn);
  const base = tree.baseTotal ? Float64Array.from(found, (i) => tree.baseTotal![i]) : null;
  return climb(tree, { node: Uint32Array.from(found), value: Float64Array.from(found, (i) => tree.total[i]), base }, 0, functions, leastShare, mode);
}

// root > fn > what it calls > ...
export function calleesTree(tree: Tree, fn: number, mode: WidthMode): Tree {
  const out = new Builder(4096, !!tree.baseSelf);
  const at = new Uint32Array(tree.maxDepth + 2);
  for (const top of outermost(tree, fn)) {
    const lowest = tree.depth[top];
    for (let i = top; i < tree.end[top]; i++) {
      const d = tree.depth[i] - lowest;
      const into = (at[d] = out.child(d ? at[d - 1] : 0, tree.fn[i]));
      out.self[into] += tree.self[i];
      if (out.base) out.base[into] += tree.baseSelf![i];
    }
  }
  return out.finish(mode, null, true);
}

// ---- looking

// Share of the whole under boxes of marked functions; a marked box inside a marked box counts once.
export function markedWidth(tree: Tree, marked: Uint8Array): number {
  const { fn, end, width, n } = tree;
  let sum = 0;
  for (let i = 1; i < n;) {
    if (marked[fn[i]]) {
      sum += width[i];
      i = end[i];
    } else {
      i++;
    }
  }
  return sum;
}

export interface TopRows {
  self: Float64Array;
  total: Float64Array; // a function that calls itself is counted once
  baseSelf: Float64Array | null;
  baseTotal: Float64Array | null;
}

export function topRows(tree: Tree, functions: number): TopRows {
  const self = new Float64Array(functions), total = new Float64Array(functions);
  const baseSelf = tree.baseSelf ? new Float64Array(functions) : null, baseTotal = tree.baseSelf ? new Float64Array(functions) : null;
  const active = new Uint32Array(functions), open = new Uint32Array(tree.maxDepth + 2);
  const { fn, depth, n } = tree;
  let top = 0; // open[1..top]: functions of the path to the node
  for (let i = 1; i < n; i++) {
    const d = depth[i], f = fn[i];
    while (top >= d) active[open[top--]]--;
    self[f] += tree.self[i];
    if (baseSelf) baseSelf[f] += tree.baseSelf![i];
    if (active[f]++ === 0) {
      total[f] += tree.total[i];
      if (baseTotal) baseTotal[f] += tree.baseTotal![i];
    }
    open[++top] = f;
  }
  return { self, total, baseSelf, baseTotal };
}

// The node a path of names leads to is kept in links as a number made of the names, so that it survives other orders and other data.
function pathStep(hash: number, name: number): number {
  return (Math.imul(hash ^ name, 0x9e3779b1) + 0x7f4a7c15) >>> 0;
}
export function pathHash(tree: Tree, node: number, nameHash: Uint32Array): string {
  const path: number[] = [];
  for (let i = node; i > 0; i = tree.parent[i]) path.push(tree.fn[i]);
  let a = 7, b = 11;
  for (let k = path.length - 1; k >= 0; k--) {
    a = pathStep(a, nameHash[path[k]]);
    b = pathStep(b, Math.imul(nameHash[path[k]], 0x85ebca6b));
  }
  return path.length.toString(36) + "-" + a.toString(36) + b.toString(36).padStart(7, "0");
}

export function findPath(tree: Tree, hash: string, nameHash: Uint32Array): number {
  const length = parseInt(hash, 36);
  if (!(length > 0) || length > tree.maxDepth) return 0;
  const tail = hash.slice(hash.indexOf("-") + 1), wantedA = parseInt(tail.slice(0, -7), 36), wantedB = parseInt(tail.slice(-7), 36);
  const a = new Uint32Array(tree.maxDepth + 2).fill(7), b = new Uint32Array(tree.maxDepth + 2).fill(11), { depth, fn, end } = tree;
  for (let i = 1; i < tree.n;) {
    const d = depth[i], name = nameHash[fn[i]];
    a[d] = pathStep(a[d - 1], name);
    b[d] = pathStep(b[d - 1], Math.imul(name, 0x85ebca6b));
    if (d === length) {
      if (a[d] === wantedA && b[d] === wantedB) return i;
      i = end[i];
    } else i++;
  }
  return 0;
}

export function hashNames(names: string[]): Uint32Array {
  const out = new Uint32Array(names.length);
  for (let i = 0; i < names.length; i++) {
    const s = names[i];
    let h = 0x811c9dc5;
    for (let k = 0; k < s.length; k++) h = Math.imul(h ^ s.charCodeAt(k), 0x01000193);
    out[i] = h >>> 0;
  }
  return out;
}

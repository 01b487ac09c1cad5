// The call graph of the heaviest functions, and where to draw it: layers from callers down to callees (Sugiyama's way: break cycles,
// assign layers, order them with few crossings, then place). All by ourselves, so that no profile leaves the page to be laid out.

import type { TopRows, Tree } from "./tree";
import { weigh } from "./tree";

export interface GraphNode {
  fn: number;
  self: number;
  total: number;
  baseSelf: number;
  baseTotal: number;
  width: number; // of the box; set by the caller before layOut
  height: number;
  layer: number;
  x: number; // middle of the box
  y: number;
}

export interface GraphEdge {
  from: number; // index of nodes
  to: number;
  value: number;
  base: number;
  direct: boolean; // false: frames between the two are not shown
  points: { x: number; y: number }[]; // from the caller's lower edge to the callee's upper edge
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  functions: number; // that have a value at all
  width: number;
  height: number;
}

// Which functions: those that do much themselves, those that much passes through, half and half.
export function pickFunctions(top: TopRows, limit: number): { picked: number[]; functions: number } {
  const weight = (values: Float64Array, base: Float64Array | null, f: number): number => weigh(values[f], base ? base[f] : 0, "max");
  const alive: number[] = [];
  for (let f = 1; f < top.total.length; f++) if (weight(top.total, top.baseTotal, f) > 0 || weight(top.self, top.baseSelf, f) > 0) alive.push(f);
  const bySelf = alive.filter((f) => weight(top.self, top.baseSelf, f) > 0).sort((a, b) => weight(top.self, top.baseSelf, b) - weight(top.self, top.baseSelf, a));
  const byTotal = alive.slice().sort((a, b) => weight(top.total, top.baseTotal, b) - weight(top.total, top.baseTotal, a));
  const picked = new Set<number>(bySelf.slice(0, Math.ceil(limit / 2)));
  for (const f of byTotal) {
    if (picked.size >= limit) break;
    picked.add(f);
  }
  return { picked: [...picked], functions: alive.length };
}

export function makeGraph(tree: Tree, top: TopRows, limit: number): Graph {
  const { picked, functions } = pickFunctions(top, limit);
  const indexOf = new Int32Array(top.total.length).fill(-1);
  const nodes: GraphNode[] = picked.map((fn, i) => {
    indexOf[fn] = i;
    return { fn, self: top.self[fn], total: top.total[fn], baseSelf: top.baseSelf?.[fn] ?? 0, baseTotal: top.baseTotal?.[fn] ?? 0, width: 0, height: 0, layer: 0, x: 0, y: 0 };
  });
  // One walk over the tree. An edge that is on the path already (recursion) is not counted again.
  const edges: GraphEdge[] = [], edgeAt = new Map<number, number>(), active: number[] = [];
  const above = new Int32Array(tree.maxDepth + 2).fill(-1); // per depth: the nearest shown frame at or above
  const aboveDepth = new Int32Array(tree.maxDepth + 2);
  const edgeOf = new Int32Array(tree.maxDepth + 2).fill(-1); // per depth: the edge this frame opened
  let open = 0;
  for (let i = 1; i < tree.n; i++) {
    const d = tree.depth[i];
    for (; open >= d; open--) if (edgeOf[open] >= 0) active[edgeOf[open]]--;
    open = d;
    edgeOf[d] = -1;
    const to = indexOf[tree.fn[i]], from = above[d - 1];
    if (to < 0) {
      above[d] = from;
      aboveDepth[d] = aboveDepth[d - 1];
      continue;
    }
    above[d] = to;
    aboveDepth[d] = d;
    if (from < 0 || d === 1) continue;
    const key = from * 65536 + to;
    let e = edgeAt.get(key);
    if (e === undefined) {
      edgeAt.set(key, (e = edges.length));
      edges.push({ from, to, value: 0, base: 0, direct: false, points: [] });
      active.push(0);
    }
    const edge = edges[e];
    if (aboveDepth[d - 1] === d - 1) edge.direct = true;
    if (active[e]++ === 0) {
      edge.value += tree.total[i];
      if (tree.baseTotal) edge.base += tree.baseTotal[i];
    }
    edgeOf[d] = e;
  }
  return { nodes, edges: prune(nodes, edges, tree.width[0] || 1), functions, width: 0, height: 0 };
}

// Edges that nobody would see go, unless they are the only way to a function.
function prune(nodes: GraphNode[], edges: GraphEdge[], all: number): GraphEdge[] {
  const weight = (e: GraphEdge): number => weigh(e.value, e.base, "max");
  const sorted = edges.filter((e) => weight(e) > 0).sort((a, b) => weight(b) - weight(a));
  const reached = new Uint8Array(nodes.length), kept: GraphEdge[] = [];
  for (const e of sorted) {
    if (e.from !== e.to && !reached[e.to]) {
      reached[e.to] = 1;
      kept.push(e);
    } else if (weight(e) >= all * 0.002 && kept.length < nodes.length * 4) {
      kept.push(e);
    }
  }
  return kept;
}

// ---- layout

const GAP_X = 22, GAP_Y = 46, THREAD = 10; // THREAD: the room a passing edge takes

interface Cell {
  node: number; // index of nodes, -1: a point of a long edge
  layer: number;
  width: number;
  x: number;
  up: [number, number][];   // neighbours (cell, weight) one layer up
  down: [number, number][];
}

export function layOut(graph: Graph): void {
  const { nodes, edges } = graph;
  if (!nodes.length) return;
  const forward = breakCycles(nodes.length, edges);
  const layers = assignLayers(nodes.length, edges, forward);
  nodes.forEach((n, i) => (n.layer = layers[i]));

  const cells: Cell[] = nodes.map((n, i) => ({ node: i, layer: layers[i], width: n.width + GAP_X, x: 0, up: [], down: [] }));
  const heaviest = Math.max(1e-300, ...edges.map((e) => weigh(e.value, e.base, "max")));
  const chains: number[][] = edges.map(() => []);
  edges.forEach((e, k) => {
    if (e.from === e.to) return;
    const [a, b] = forward[k] ? [e.from, e.to] : [e.to, e.from];
    const weight = 0.5 + 12 * (weigh(e.value, e.base, "max") / heaviest);
    let last = a;
    chains[k].push(a);
    for (let layer = layers[a] + 1; layer < layers[b]; layer++) {
      const made = cells.push({ node: -1, layer, width: THREAD, x: 0, up: [], down: [] }) - 1;
      cells[last].down.push([made, weight * 2]);
      cells[made].up.push([last, weight * 2]);
      chains[k].push(made);
      last = made;
    }
    cells[last].down.push([b, weight]);
    cells[b].up.push([last, weight]);
    chains[k].push(b);
  });

  const rows: number[][] = [];
  cells.forEach((c, i) => (rows[c.layer] ??= []).push(i));
  for (let r = 0; r < rows.length; r++) rows[r] ??= [];
  orderRows(cells, rows);
  placeRows(cells, rows);

  let y = 0;
  const rowY: number[] = [];
  for (const row of rows) {
    const high = Math.max(8, ...row.map((c) => (cells[c].node >= 0 ? nodes[cells[c].node].height : 0)));
    rowY.push(y + high / 2);
    y += high + GAP_Y + Math.min(40, row.length * 1.2);
  }
  let left = Infinity, right = -Infinity;
  for (const c of cells) {
    left = Math.min(left, c.x - c.width / 2);
    right = Math.max(right, c.x + c.width / 2);
  }
  for (const c of cells) c.x -= left;
  for (const c of cells) {
    if (c.node < 0) continue;
    nodes[c.node].x = c.x;
    nodes[c.node].y = rowY[c.layer];
  }
  graph.width = right - left;
  graph.height = y - GAP_Y;
  edges.forEach((e, k) => {
    if (e.from === e.to) {
      const n = nodes[e.from], right = n.x + n.width / 2;
      e.points = [{ x: right, y: n.y - 7 }, { x: right + 18, y: n.y - 9 }, { x: right + 18, y: n.y + 9 }, { x: right, y: n.y + 7 }];
      return;
    }
    const path = forward[k] ? chains[k] : chains[k].slice().reverse(), down = forward[k];
    const from = nodes[e.from], to = nodes[e.to];
    e.points = path.map((c) => ({ x: cells[c].x, y: rowY[cells[c].layer] }));
    e.points[0] = { x: from.x, y: from.y + (down ? 1 : -1) * (from.height / 2) };
    e.points[e.points.length - 1] = { x: to.x, y: to.y - (down ? 1 : -1) * (to.height / 2) };
  });
}

// true: the edge goes down. Depth first from the functions that call most and are called least.
function breakCycles(count: number, edges: GraphEdge[]): boolean[] {
  const out: number[][] = Array.from({ length: count }, () => []), surplus = new Float64Array(count);
  edges.forEach((e, k) => {
    if (e.from === e.to) return;
    out[e.from].push(k);
    const w = weigh(e.value, e.base, "max");
    surplus[e.from] += w;
    surplus[e.to] -= w;
  });
  const forward = edges.map(() => true), state = new Uint8Array(count); // 1: on the path, 2: done
  const order = [...surplus.keys()].sort((a, b) => surplus[b] - surplus[a]);
  for (const start of order) {
    if (state[start]) continue;
    const path: [number, number][] = [[start, 0]];
    state[start] = 1;
    while (path.length) {
      const top = path[path.length - 1], [node, at] = top;
      if (at >= out[node].length) {
        state[node] = 2;
        path.pop();
        continue;
      }
      top[1]++;
      const k = out[node][at], to = edges[k].to;
      if (state[to] === 1) forward[k] = false;
      else if (!state[to]) {
        state[to] = 1;
        path.push([to, 0]);
      }
    }
  }
  return forward;
}

function assignLayers(count: number, edges: GraphEdge[], forward: boolean[]): number[] {
  const down: [number, number][][] = Array.from({ length: count }, () => []), up: [number, number][][] = Array.from({ length: count }, () => []);
  const degree = new Int32Array(count);
  edges.forEach((e, k) => {
    if (e.from === e.to) return;
    const [a, b] = forward[k] ? [e.from, e.to] : [e.to, e.from], w = weigh(e.value, e.base, "max");
    down[a].push([b, w]);
    up[b].push([a, w]);
    degree[b]++;
  });
  const layer: number[] = new Array<number>(count).fill(0), order: number[] = [];
  const ready: number[] = [];
  for (let i = 0; i < count; i++) if (!degree[i]) ready.push(i);
  while (ready.length) {
    const i = ready.pop()!;
    order.push(i);
    for (const [b] of down[i]) {
      layer[b] = Math.max(layer[b], layer[i] + 1);
      if (--degree[b] === 0) ready.push(b);
    }
  }
  // Longest paths pull everything up; let a node sink towards what it calls where that shortens more than it lengthens.
  for (let pass = 0; pass < 4; pass++)
    for (const i of order.slice().reverse()) {
      if (!down[i].length) continue;
      const lowest = Math.min(...down[i].map(([b]) => layer[b])) - 1;
      const pull = down[i].reduce((s, [, w]) => s + w, 0) - up[i].reduce((s, [, w]) => s + w, 0);
      if (lowest > layer[i] && (pull > 0 || !up[i].length)) layer[i] = lowest;
    }
  const least = Math.min(...layer);
  const used = [...new Set(layer.map((l) => l - least))].sort((a, b) => a - b);
  return layer.map((l) => used.indexOf(l - least));
}

function crossings(cells: Cell[], upper: number[], lower: number[]): number {
  const place = new Map(lower.map((c, i) => [c, i]));
  const ends: number[] = [];
  for (const c of upper) ends.push(...cells[c].down.map(([b]) => place.get(b)!).sort((a, b) => a - b));
  // Inversions, by a tree of counts.
  const tree = new Int32Array(lower.length + 1);
  let sum = 0;
  for (let k = 0; k < ends.length; k++) {
    let seen = 0;
    for (let i = ends[k] + 1; i > 0; i -= i & -i) seen += tree[i];
    sum += k - seen;
    for (let i = ends[k] + 1; i <= lower.length; i += i & -i) tree[i]++;
  }
  return sum;
}

function allCrossings(cells: Cell[], rows: number[][]): number {
  let sum = 0;
  for (let r = 0; r + 1 < rows.length; r++) sum += crossings(cells, rows[r], rows[r + 1]);
  return sum;
}

function orderRows(cells: Cell[], rows: number[][]): void {
  const place = new Float64Array(cells.length);
  const number = (row: number[]): void => row.forEach((c, i) => (place[c] = i));
  // Start: depth first from the top, so that what belongs together stands together.
  const seen = new Uint8Array(cells.length), fresh: number[][] = rows.map(() => []);
  const visit = (start: number): void => {
    const stack = [start];
    while (stack.length) {
      const c = stack.pop()!;
      if (seen[c]) continue;
      seen[c] = 1;
      fresh[cells[c].layer].push(c);
      for (const [b] of cells[c].down.slice().sort((x, y) => x[1] - y[1])) if (!seen[b]) stack.push(b);
    }
  };
  for (const row of rows) for (const c of row) if (!cells[c].up.length) visit(c);
  for (const row of rows) for (const c of row) visit(c);
  for (let r = 0; r < rows.length; r++) rows[r] = fresh[r];
  rows.forEach(number);

  let best = rows.map((r) => r.slice()), least = allCrossings(cells, rows);
  const began = performance.now();
  for (let sweep = 0, idle = 0; sweep < 28 && idle < 6 && least > 0 && performance.now() - began < 250; sweep++) {
    const downward = sweep % 2 === 0;
    for (let k = 1; k < rows.length; k++) {
      const r = downward ? k : rows.length - 1 - k, row = rows[r];
      const middle = new Map<number, number>();
      for (const c of row) {
        const near = (downward ? cells[c].up : cells[c].down).map(([b]) => place[b]).sort((a, b) => a - b);
        const half = near.length >> 1;
        middle.set(c, !near.length ? place[c] : near.length % 2 ? near[half] : sweep % 4 < 2 ? (near[half - 1] + near[half]) / 2 : near.reduce((a, b) => a + b, 0) / near.length);
      }
      row.sort((a, b) => middle.get(a)! - middle.get(b)! || place[a] - place[b]);
      number(row);
    }
    const now = allCrossings(cells, rows);
    if (now < least) {
      least = now;
      best = rows.map((r) => r.slice());
      idle = 0;
    } else idle++;
  }
  for (let r = 0; r < rows.length; r++) rows[r] = best[r];
}

// Each row in turn as near to its neighbours as its order and the widths allow: the exact solution of that small problem (least
// squares with a fixed order) by merging blocks that would overlap.
function placeRows(cells: Cell[], rows: number[][]): void {
  for (const row of rows) {
    let x = 0;
    for (const c of row) {
      cells[c].x = x + cells[c].width / 2;
      x += cells[c].width;
    }
    for (const c of row) cells[c].x -= x / 2;
  }
  for (let sweep = 0; sweep < 24; sweep++) {
    const downward = sweep % 2 === 0, both = sweep >= 20;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[downward ? k : rows.length - 1 - k];
      const wanted: number[] = [], force: number[] = [];
      for (const c of row) {
        const near = both ? [...cells[c].up, ...cells[c].down] : downward ? cells[c].up : cells[c].down;
        let sum = 0, weight = 0;
        for (const [b, w] of near) {
          sum += cells[b].x * w;
          weight += w;
        }
        wanted.push(weight ? sum / weight : cells[c].x);
        force.push(weight || 0.05);
      }
      spread(row.map((c) => cells[c].width), wanted, force).forEach((x, i) => (cells[row[i]].x = x));
    }
  }
}

function spread(widths: number[], wanted: number[], force: number[]): number[] {
  interface Block { from: number; to: number; sum: number; weight: number; wide: number }
  const offset: number[] = [];
  const blocks: Block[] = [];
  for (let i = 0; i < widths.length; i++) {
    let block: Block = { from: i, to: i, sum: force[i] * (wanted[i] - widths[i] / 2), weight: force[i], wide: widths[i] };
    offset[i] = 0;
    // A block's left edge wants to be at sum / weight.
    while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight + blocks[blocks.length - 1].wide > block.sum / block.weight) {
      const left = blocks.pop()!;
      for (let k = block.from; k <= block.to; k++) offset[k] += left.wide;
      block = { from: left.from, to: block.to, sum: left.sum + block.sum - block.weight * left.wide, weight: left.weight + block.weight, wide: left.wide + block.wide };
    }
    blocks.push(block);
  }
  const out: number[] = [];
  for (const b of blocks) for (let i = b.from; i <= b.to; i++) out[i] = b.sum / b.weight + offset[i] + widths[i] / 2;
  return out;
}

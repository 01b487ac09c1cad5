// The bytes of a profile's call tree (src/report/flame/flame_data.h says what they are) as typed arrays.

export interface ProfileFacts {
  title: string;
  time_ms: number;
  duration_ms: number;
  samples: number;
  processes: number;
  period: number;
  period_type: [string, string];
  comments: string[];
}

export interface Header {
  sample_types: [string, string][];
  default: number;
  nodes: number;
  functions: number;
  max_depth: number;
  left_out: number;
  smaller: number;
  columns: string;
  scales?: number[];
  preview?: number; // only the frames that a picture of so many pixels shows; the whole follows
  profile: ProfileFacts;
  base?: ProfileFacts;
  // Of what the server keeps: which profiles, and the newest one's node, type and time.
  ids?: number[];
  node?: number;
  type?: string;
  stored_ms?: number;
  base_ids?: number[];
}

// Nodes in preorder. depth, fn, parent, end never change once made; end[i] is the first node behind the subtree of i.
export interface Shape {
  n: number;
  fn: Uint32Array;
  depth: Uint16Array | Uint32Array;
  parent: Uint32Array;
  end: Uint32Array;
  maxDepth: number;
}

export interface FlameData {
  header: Header;
  names: string[];
  files: string[];
  modules: string[];
  fnFile: Uint32Array;
  fnModule: Uint32Array;
  fnLine: Uint32Array;
  shape: Shape;
  // Self values of one sample type; base: those of the profile compared with.
  values(type: number, base: boolean): Float64Array;
}

class Reader {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  varint(): number {
    let value = 0, scale = 1, b: number;
    do {
      if (this.at >= this.bytes.length) throw new Error("the data ends too early");
      b = this.bytes[this.at++];
      value += (b & 127) * scale;
      scale *= 128;
    } while (b > 127);
    return value;
  }

  section(): Uint8Array {
    const length = this.varint();
    if (length > this.bytes.length - this.at) throw new Error("the data ends too early");
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

function readUint32(bytes: Uint8Array, out: Uint32Array): void {
  const n = out.length;
  for (let i = 0, p = 0; i < n; i++) {
    let b = bytes[p++];
    if (b > 127) {
      let value = b & 127, shift = 7;
      do {
        b = bytes[p++];
        value |= (b & 127) << shift;
        shift += 7;
      } while (b > 127 && shift < 35);
      out[i] = value;
    } else {
      out[i] = b;
    }
  }
}

function readNumbers(bytes: Uint8Array, kind: string, scale: number, n: number): Float64Array {
  const out = new Float64Array(n);
  if (kind === "0") return out;
  const zigzag = kind === "z";
  for (let i = 0, p = 0; i < n; i++) {
    let b = bytes[p++];
    if (b < 128) { // nearly all
      if (b) out[i] = zigzag ? (b & 1 ? -(b >> 1) - 1 : b >> 1) * scale : b * scale;
      continue;
    }
    // Zigzag: the lowest bit is the sign. It is taken off first, so that large magnitudes lose low bits and never the sign.
    const negative = zigzag ? b & 1 : 0;
    let value = zigzag ? (b & 127) >> 1 : b & 127;
    for (let place = zigzag ? 64 : 128; b > 127; place *= 128) {
      b = bytes[p++];
      value += (b & 127) * place;
    }
    out[i] = (negative ? -value - 1 : value) * scale;
  }
  return out;
}

export function makeShape(n: number, fn: Uint32Array, depth: Uint16Array | Uint32Array, maxDepth: number): Shape {
  const parent = new Uint32Array(n), end = new Uint32Array(n);
  const open = new Uint32Array(maxDepth + 2);
  let top = -1;
  for (let i = 0; i < n; i++) {
    const d = depth[i];
    while (top >= d) end[open[top--]] = i;
    parent[i] = d ? open[d - 1] : 0;
    open[++top] = i;
  }
  while (top >= 0) end[open[top--]] = n;
  return { n, fn, depth, parent, end, maxDepth };
}

// Depths, functions, parents and ends in one go over the bytes: this is most of what opening a large profile costs.
function readShape(n: number, steps: Uint8Array, ids: Uint8Array, maxDepth: number): Shape {
  const depth = maxDepth < 65536 ? new Uint16Array(n) : new Uint32Array(n);
  const fn = new Uint32Array(n), parent = new Uint32Array(n), end = new Uint32Array(n);
  const open = new Uint32Array(maxDepth + 2);
  let d = 0;
  for (let i = 1, p = 1, q = 1; i < n; i++) {
    let b = steps[p++], up = b & 127;
    for (let shift = 7; b > 127; shift += 7) {
      b = steps[p++];
      up |= (b & 127) << shift;
    }
    const to = d + 1 - up;
    for (; d >= to; d--) end[open[d]] = i;
    d = to;
    depth[i] = d;
    parent[i] = open[d - 1];
    open[d] = i;
    b = ids[q++];
    let id = b & 127;
    for (let shift = 7; b > 127; shift += 7) {
      b = ids[q++];
      id |= (b & 127) << shift;
    }
    fn[i] = id;
  }
  for (; d >= 0; d--) end[open[d]] = n;
  return { n, fn, depth, parent, end, maxDepth };
}

function readHeader(reader: Reader, utf8: TextDecoder): Header {
  const b = reader.bytes, at = reader.at;
  if (b.length < at + 5 || b[at] !== 0x50 || b[at + 1] !== 0x50 || b[at + 2] !== 0x46 || b[at + 3] !== 0x31)
    throw new Error("this is not a call tree (it does not begin with PPF1)");
  reader.at += 4;
  return JSON.parse(utf8.decode(reader.section())) as Header;
}

// Where the preview at the beginning ends: 0 when there is none, -1 when more bytes are needed to tell.
export function previewEnd(bytes: Uint8Array): number {
  const reader = new Reader(bytes);
  try {
    const header = readHeader(reader, new TextDecoder());
    if (!header.preview) return 0;
    for (let i = 0; i < 8 + header.columns.length; i++) reader.section();
    return reader.at;
  } catch {
    return -1;
  }
}

// The whole tree: a preview before it is passed over.
export function decodeFlame(bytes: Uint8Array): FlameData {
  const end = previewEnd(bytes);
  return decodeOne(end > 0 ? bytes.subarray(end) : bytes);
}

// The tree at the beginning of the bytes, be it a preview.
export function decodeOne(bytes: Uint8Array): FlameData {
  const reader = new Reader(bytes);
  const utf8 = new TextDecoder();
  const header = readHeader(reader, utf8);
  const n = header.nodes;
  const names = utf8.decode(reader.section()).split("\n");
  const files = utf8.decode(reader.section()).split("\n");
  const modules = utf8.decode(reader.section()).split("\n");
  const perFunction = [0, 1, 2].map(() => {
    const out = new Uint32Array(header.functions);
    readUint32(reader.section(), out);
    return out;
  });

  const steps = reader.section(), ids = reader.section();
  const shape = readShape(n, steps, ids, header.max_depth);
  const columns: Uint8Array[] = [];
  for (let i = 0; i < header.columns.length; i++) columns.push(reader.section());

  const step = header.base ? 2 : 1;
  return {
    header, names, files, modules,
    fnFile: perFunction[0], fnModule: perFunction[1], fnLine: perFunction[2],
    shape,
    values(type, base) {
      const column = type * step + (base ? 1 : 0);
      if ((base && !header.base) || column >= columns.length) return new Float64Array(n);
      return readNumbers(columns[column], header.columns[column], header.scales?.[column] ?? 1, n);
    },
  };
}

// gzip to bytes: by the browser where it can, else by the small inflate below (RFC 1951, 1952).

import { previewEnd } from "./data";

type Pieces = ReadableStreamDefaultReader<Uint8Array>;

// Gathers bytes as they come. `size` is a guess. As soon as a preview is there `onPreview` gets it; the rest waits until it is done.
export async function gather(pieces: Pieces, size: number, onPreview: (bytes: Uint8Array) => Promise<void>): Promise<Uint8Array> {
  let out = new Uint8Array(size), n = 0, looking = true;
  for (;;) {
    const { done, value } = await pieces.read();
    if (done) break;
    if (n + value.length > out.length) {
      const wider = new Uint8Array(2 * (n + value.length));
      wider.set(out.subarray(0, n));
      out = wider;
    }
    out.set(value, n);
    n += value.length;
    const end = looking ? previewEnd(out.subarray(0, n)) : -1;
    if (end >= 0) looking = false;
    if (end > 0) await onPreview(out.slice(0, end));
  }
  return n < 0.8 * out.length ? out.slice(0, n) : out.subarray(0, n);
}

// Unpacking in one go would keep the preview waiting.
const PIECE = 1 << 18;

// The bytes stay in the page: a Blob of some megabytes would be kept by the browser's own store, which fails when the disk is full.
export async function gunzip(packed: Uint8Array, onPreview: (bytes: Uint8Array) => Promise<void>): Promise<Uint8Array> {
  if (typeof DecompressionStream !== "function") return inflateGzip(packed);
  try {
    const stream = new DecompressionStream("gzip"), writer = stream.writable.getWriter();
    const write = async (): Promise<void> => {
      for (let at = 0; at < packed.length; at += PIECE) await writer.write(packed.subarray(at, at + PIECE) as Uint8Array<ArrayBuffer>);
      await writer.close();
    };
    write().catch(() => undefined); // the reader fails too, and says it
    const tail = packed.length - 4, size = (packed[tail] | (packed[tail + 1] << 8) | (packed[tail + 2] << 16) | (packed[tail + 3] << 24)) >>> 0;
    return await gather(stream.readable.getReader(), Math.min(size, 1100 * packed.length), onPreview);
  } catch {
    return inflateGzip(packed);
  }
}

export function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as { fromBase64?(s: string): Uint8Array }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const raw = atob(text.trim());
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

interface Codes { counts: Uint16Array; symbols: Uint16Array }

function makeCodes(lengths: Uint8Array): Codes {
  const counts = new Uint16Array(16), offsets = new Uint16Array(16), symbols = new Uint16Array(lengths.length);
  for (const l of lengths) counts[l]++;
  counts[0] = 0;
  for (let i = 1; i < 15; i++) offsets[i + 1] = offsets[i] + counts[i];
  for (let i = 0; i < lengths.length; i++) if (lengths[i]) symbols[offsets[lengths[i]]++] = i;
  return { counts, symbols };
}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const CODE_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

export function inflateGzip(bytes: Uint8Array): Uint8Array {
  let at = 10;
  const flags = bytes[3];
  if (flags & 4) at += 2 + bytes[at] + bytes[at + 1] * 256;
  for (const f of [8, 16]) if (flags & f) while (bytes[at++] !== 0 && at < bytes.length);
  if (flags & 2) at += 2;
  const tail = bytes.length - 4;
  const size = (bytes[tail] | (bytes[tail + 1] << 8) | (bytes[tail + 2] << 16) | (bytes[tail + 3] << 24)) >>> 0;
  const out = new Uint8Array(size);
  let n = 0, hold = 0, held = 0;
  const bits = (count: number): number => {
    while (held < count) {
      if (at >= bytes.length) throw new Error("the packed data ends too early");
      hold |= bytes[at++] << held;
      held += 8;
    }
    const value = hold & ((1 << count) - 1);
    hold >>>= count;
    held -= count;
    return value;
  };
  const symbol = (codes: Codes): number => {
    let code = 0, first = 0, index = 0;
    for (let length = 1; length <= 15; length++) {
      code |= bits(1);
      const count = codes.counts[length];
      if (code - count < first) return codes.symbols[index + (code - first)];
      index += count;
      first = (first + count) << 1;
      code <<= 1;
    }
    throw new Error("the packed data is damaged");
  };
  let last = 0;
  while (!last) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      hold = held = 0;
      const length = bytes[at] | (bytes[at + 1] << 8);
      out.set(bytes.subarray(at + 4, at + 4 + length), n);
      at += 4 + length;
      n += length;
      continue;
    }
    if (kind === 3) throw new Error("the packed data is damaged");
    let literals: Codes, distances: Codes;
    if (kind === 1) {
      literals = makeCodes(Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)));
      distances = makeCodes(new Uint8Array(30).fill(5));
    } else {
      const nLiterals = bits(5) + 257, nDistances = bits(5) + 1, nCodes = bits(4) + 4;
      const lengths = new Uint8Array(320);
      for (let i = 0; i < nCodes; i++) lengths[CODE_ORDER[i]] = bits(3);
      const codes = makeCodes(lengths.slice(0, 19));
      lengths.fill(0);
      for (let i = 0; i < nLiterals + nDistances;) {
        const s = symbol(codes);
        if (s < 16) {
          lengths[i++] = s;
          continue;
        }
        const fillWith = s === 16 ? lengths[i - 1] : 0;
        let repeat = s === 16 ? 3 + bits(2) : s === 17 ? 3 + bits(3) : 11 + bits(7);
        while (repeat--) lengths[i++] = fillWith;
      }
      literals = makeCodes(lengths.slice(0, nLiterals));
      distances = makeCodes(lengths.slice(nLiterals, nLiterals + nDistances));
    }
    for (;;) {
      const s = symbol(literals);
      if (s < 256) {
        out[n++] = s;
      } else if (s === 256) {
        break;
      } else {
        const length = LENGTH_BASE[s - 257] + bits(LENGTH_EXTRA[s - 257]);
        const d = symbol(distances), extra = d < 4 ? 0 : (d >> 1) - 1;
        const distance = d < 4 ? d + 1 : ((2 + (d & 1)) << extra) + 1 + bits(extra);
        for (let k = 0; k < length; k++, n++) out[n] = out[n - distance];
      }
    }
  }
  return out.subarray(0, n);
}

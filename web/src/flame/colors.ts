// Colours of boxes. Chosen in OKLCH, where equal lightness looks equally light, so that text stays readable on every one of them.

import type { FlameData } from "./data";
import { groupKey, kindOf, languageOf, packageOf, type Kind } from "./names";
import { hashNames } from "./tree";

export type ColorMode = "package" | "kind" | "module" | "warm" | "diff";

// As the pixels of a canvas are stored on every machine that runs browsers: R in the lowest byte.
export type Pixel = number;

export function pixel(r: number, g: number, b: number): Pixel {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export function oklch(lightness: number, chroma: number, hue: number): Pixel {
  const h = (hue * Math.PI) / 180, a = chroma * Math.cos(h), b = chroma * Math.sin(h);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const gamma = (x: number): number => {
    const y = x <= 0.0031308 ? 12.92 * x : 1.055 * Math.max(x, 0) ** (1 / 2.4) - 0.055;
    return Math.max(0, Math.min(255, Math.round(y * 255)));
  };
  return pixel(
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s));
}

export function mix(a: Pixel, b: Pixel, share: number): Pixel {
  const part = (shift: number): number => Math.round(((a >>> shift) & 255) * (1 - share) + ((b >>> shift) & 255) * share);
  return pixel(part(0), part(8), part(16));
}

export function css(p: Pixel): string {
  return `rgb(${p & 255} ${(p >>> 8) & 255} ${(p >>> 16) & 255})`;
}

export interface Palette {
  dark: boolean;
  background: Pixel;
  text: string;
  faded: string; // text on boxes that step back
  mark: Pixel;   // found by the search
  neutral: Pixel;
}

export function makePalette(dark: boolean): Palette {
  return dark
    ? { dark, background: pixel(0x14, 0x17, 0x1c), text: "#f4f1ea", faded: "#a9adb5", mark: oklch(0.58, 0.19, 330), neutral: oklch(0.42, 0.008, 260) }
    : { dark, background: pixel(0xff, 0xff, 0xff), text: "#20242a", faded: "#6d737c", mark: oklch(0.78, 0.15, 330), neutral: oklch(0.88, 0.006, 260) };
}

const KIND_HUE: Record<Kind, number> = {
  java: 145, cpp: 62, rust: 38, go: 215, native: 92, jvm: 262, kernel: 22, python: 250, address: 290, other: 75,
};

export function kindColor(kind: Kind, palette: Palette): Pixel {
  return oklch(palette.dark ? 0.46 : 0.84, kind === "address" ? 0.03 : palette.dark ? 0.085 : 0.095, KIND_HUE[kind]);
}

function spread(hash: number): number {
  return ((Math.imul(hash, 0x9e3779b1) >>> 8) & 1023) / 1023;
}

// Functions of one group are told apart by shades of its colour.
const SHADES = 8;

function shadesOf(lightness: number, chroma: number, hue: number): Pixel[] {
  return Array.from({ length: SHADES }, (_, k) => oklch(lightness + 0.045 * (k / (SHADES - 1) - 0.5), chroma, hue + 9 * (((k * 5) % SHADES) / (SHADES - 1) - 0.5)));
}

// Which shade: anything that is cheap and the same each time.
function shadeOf(name: string): number {
  const n = name.length;
  return (n * 7 + name.charCodeAt(n - 1) * 3 + name.charCodeAt(n >> 1) + name.charCodeAt(n >> 2) * 5) & (SHADES - 1);
}

// One colour a function, found when it is asked for: of many functions few are ever seen.
export function functionColors(data: FlameData, mode: ColorMode, palette: Palette): (f: number) => Pixel {
  const out = new Uint32Array(data.names.length); // 0: not known yet
  const light = palette.dark ? 0.46 : 0.84, chroma = palette.dark ? 0.085 : 0.095;
  const groups = new Map<string, Pixel[]>(), alike = new Map<string, Pixel[]>(), languages = data.files.map(languageOf);
  const find = (f: number): Pixel => {
    const name = data.names[f];
    if (f === 0 || (data.header.smaller && f === data.header.smaller)) return palette.neutral;
    if (mode === "warm") {
      const h = hashNames([name])[0];
      return oklch(light + 0.03 * spread(h ^ 0x55), chroma * 1.2, 25 + 65 * spread(h));
    }
    const near = groupKey(name, languages[data.fnFile[f]], data.fnModule[f]);
    let shades = near ? alike.get(near) : undefined;
    if (!shades) {
      const module = data.modules[data.fnModule[f]] ?? "";
      const kind = kindOf(name, data.files[data.fnFile[f]] ?? "", module);
      const key = mode === "kind" ? kind : mode === "module" ? module : kind + " " + packageOf(name, module, kind);
      shades = groups.get(key);
      if (!shades) {
        const h = hashNames([key])[0];
        shades = mode === "kind" ? new Array<Pixel>(SHADES).fill(kindColor(kind, palette))
          : mode === "module" ? shadesOf(light + 0.04 * (spread(h ^ 0x3c) - 0.5), chroma, 360 * spread(h))
          : kind === "address" ? shadesOf(light, 0.02, 260 + 60 * spread(h))
          : shadesOf(light + 0.05 * (spread(h ^ 0x3c) - 0.5), chroma * (0.75 + 0.5 * spread(h ^ 0x91)), KIND_HUE[kind] - 42 + 84 * spread(h));
        groups.set(key, shades);
      }
      if (near) alike.set(near, shades);
    }
    return shades[shadeOf(name)];
  };
  return (f) => out[f] || (out[f] = find(f));
}

// Blue for less, orange to red for more, grey for the same: told apart by every kind of colour vision. Index 0..64, 32 is no change.
export function diffScale(palette: Palette): Uint32Array {
  const out = new Uint32Array(65);
  for (let i = 0; i <= 64; i++) {
    const t = (i - 32) / 32, a = Math.abs(t) ** 0.7;
    out[i] = t === 0 ? palette.neutral
      : palette.dark ? oklch(0.42 + 0.1 * a, 0.03 + 0.14 * a, t > 0 ? 38 : 252)
      : oklch(0.9 - 0.16 * a, 0.025 + 0.13 * a, t > 0 ? 42 : 250);
  }
  return out;
}

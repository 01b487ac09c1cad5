// Numbers for people. Units are those that profiles use ("nanoseconds", "bytes", "count", ...).

const TIME: Record<string, number> = { nanoseconds: 1e-9, microseconds: 1e-6, milliseconds: 1e-3, seconds: 1, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 };

function short(value: number): string {
  const a = Math.abs(value);
  return value.toFixed(a >= 100 ? 0 : a >= 10 ? 1 : 2);
}

export function formatTime(seconds: number): string {
  const a = Math.abs(seconds);
  if (a === 0) return "0 s";
  if (a < 1e-6) return short(seconds * 1e9) + " ns";
  if (a < 1e-3) return short(seconds * 1e6) + " µs";
  if (a < 1) return short(seconds * 1e3) + " ms";
  if (a < 120) return short(seconds) + " s";
  if (a < 7200) return short(seconds / 60) + " min";
  if (a < 172800) return short(seconds / 3600) + " h";
  return short(seconds / 86400) + " d";
}

// A length of time as people say it: whole units, at most two of them.
export function formatSpan(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 120) return `${s} s`;
  const minutes = Math.floor(s / 60), hours = Math.floor(s / 3600), days = Math.floor(s / 86400);
  if (s < 7200) return `${minutes} min` + (s % 60 && minutes < 10 ? ` ${s % 60} s` : "");
  if (s < 172800) return `${hours} h` + (minutes % 60 && hours < 10 ? ` ${minutes % 60} min` : "");
  return `${days} d`;
}

export function formatBytes(bytes: number): string {
  const names = ["B", "KB", "MB", "GB", "TB", "PB"];
  let value = bytes, i = 0;
  while (Math.abs(value) >= 1024 && i < names.length - 1) {
    value /= 1024;
    i++;
  }
  return (i ? short(value) : String(Math.round(value))) + " " + names[i];
}

export function formatCount(value: number): string {
  const a = Math.abs(value);
  if (a >= 1e12) return short(value / 1e12) + " T";
  if (a >= 1e9) return short(value / 1e9) + " G";
  if (a >= 1e6) return short(value / 1e6) + " M";
  if (a >= 1e4) return short(value / 1e3) + " k";
  return Number.isInteger(value) ? String(value) : short(value);
}

export function formatValue(value: number, unit: string): string {
  const time = TIME[unit];
  if (time !== undefined) return formatTime(value * time);
  if (unit === "bytes" || unit === "byte" || unit === "B") return formatBytes(value);
  return formatCount(value);
}

export function formatPercent(share: number): string {
  if (!isFinite(share)) return "–";
  const p = share * 100, a = Math.abs(p);
  if (a > 0 && a < 0.01) return "<0.01%";
  return p.toFixed(a >= 99.95 || a === 0 ? 0 : a >= 10 ? 1 : 2) + "%";
}

export function formatSigned(text: string, value: number): string {
  return value > 0 ? "+" + text : text;
}

const two = (n: number): string => String(n).padStart(2, "0");

// yyyy-MM-dd HH:mm:ss in the reader's own time zone, as StarRocks' page writes it.
export function formatStamp(ms: number): string {
  const d = new Date(ms);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

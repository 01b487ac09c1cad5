// Light or dark: what the system says, until somebody chooses. Storage may be forbidden (files, private windows): then it is not kept.

const dark = matchMedia("(prefers-color-scheme: dark)");
const listeners: ((dark: boolean) => void)[] = [];
let chosen: string | null = null;

try {
  chosen = localStorage.getItem("procprof-theme");
} catch {
  chosen = null;
}

export function isDark(): boolean {
  return chosen ? chosen === "dark" : dark.matches;
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
}

export function toggleTheme(): void {
  chosen = isDark() ? "light" : "dark";
  try {
    localStorage.setItem("procprof-theme", chosen);
  } catch { /* not kept */ }
  applyTheme();
  for (const f of listeners) f(isDark());
}

export function onTheme(f: (dark: boolean) => void): void {
  listeners.push(f);
}

dark.addEventListener("change", () => {
  applyTheme();
  if (!chosen) for (const f of listeners) f(isDark());
});

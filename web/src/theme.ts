// Light, dark, or as the system.

export type Theme = "system" | "light" | "dark";

const STORED = "toolcrib.theme";

export function chosenTheme(): Theme {
  const stored = localStorage.getItem(STORED);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function applyTheme(next?: Theme) {
  if (next === "system") localStorage.removeItem(STORED);
  else if (next) localStorage.setItem(STORED, next);
  const theme = chosenTheme();
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** The other one of what is seen now. */
export function toggleTheme() {
  const dark = chosenTheme() === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : chosenTheme() === "dark";
  applyTheme(dark ? "light" : "dark");
}

// The language of the page: chosen once, before anything is drawn.

import { en, type Messages } from "./en";

export type Language = "en" | "zh";

const STORED = "toolcrib.language";

export let m: Messages = en;
export let language: Language = "en";

export function chosenLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "en" || stored === "zh") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function chooseLanguage(next: Language) {
  localStorage.setItem(STORED, next);
  location.reload();
}

export async function loadMessages() {
  language = chosenLanguage();
  if (language === "zh") m = (await import("./zh")).zh;
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
}

const locale = () => (language === "zh" ? "zh-Hans" : "en");

export const format = {
  number: (n: number) => n.toLocaleString(locale()),
  /** A number with all its digits: a limit of a schema. */
  exact: (n: number) => n.toLocaleString(locale(), { maximumFractionDigits: 20 }),
  percent: (part: number) => new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: 1 }).format(part),
  short: (n: number) => new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(n),
  time: (at: string) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "medium" }).format(new Date(at)),
  day: (at: string) => new Intl.DateTimeFormat(locale(), { dateStyle: "medium" }).format(new Date(at)),
  shortDay: (at: string) => new Intl.DateTimeFormat(locale(), { month: "short", day: "numeric" }).format(new Date(at)),
  clock: (at: Date | string) => new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(new Date(at)),
  /** Milliseconds as people say them. */
  took(ms: number | null | undefined): string {
    if (ms === null || ms === undefined) return "–";
    if (ms < 1) return m.common.ms(`<${format.number(1)}`);
    if (ms < 1000) return m.common.ms(format.number(Math.round(ms)));
    if (ms < 60_000) return m.common.seconds((ms / 1000).toLocaleString(locale(), { minimumFractionDigits: 1, maximumFractionDigits: 1 }));
    const seconds = Math.round(ms / 1000);
    return m.common.minutes(Math.floor(seconds / 60), seconds % 60);
  },
  ago(at: string): string {
    const seconds = (Date.now() - new Date(at).getTime()) / 1000;
    const relative = new Intl.RelativeTimeFormat(locale(), { numeric: "auto", style: "short" });
    if (seconds < 60) return relative.format(-Math.round(Math.max(0, seconds)), "second");
    if (seconds < 3600) return relative.format(-Math.round(seconds / 60), "minute");
    if (seconds < 86_400) return relative.format(-Math.round(seconds / 3600), "hour");
    return relative.format(-Math.round(seconds / 86_400), "day");
  },
};

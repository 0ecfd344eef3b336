// Small parts that every page uses.

import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { Component, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { ApiError, reason } from "../api/client";
import { format, m } from "../messages";
import { Icon } from "./icons";

/** The gravest effect of a tool, as its punched tag. */
export function EffectTag({ effects }: { effects: string[] }) {
  const kind = effects.includes("run") ? "run" : effects.includes("write") ? "write" : effects.includes("read") ? "read" : null;
  const other = effects.find((effect) => !["run", "write", "read"].includes(effect));
  if (kind === null && other) return <span className="tag">{other}</span>;
  return <span className={`tag ${kind ?? "none"}`} title={effects.join(", ")}>{kind ?? m.tools.untagged.toLowerCase()}</span>;
}

export function Switch(props: { label: string; checked: boolean; disabled?: boolean; why?: string; onChange(checked: boolean): void }) {
  return (
    <BaseSwitch.Root className="sw" aria-label={props.label} title={props.why} checked={props.checked} disabled={props.disabled} onCheckedChange={props.onChange}>
      <BaseSwitch.Thumb />
    </BaseSwitch.Root>
  );
}

export function Segments<T extends string>(props: { label: string; value: T; choices: [T, string][]; onChange(value: T): void }) {
  return (
    <div className="seg" role="group" aria-label={props.label}>
      {props.choices.map(([value, name]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>{name}</button>
      ))}
    </div>
  );
}

export function Copy({ text, small = true }: { text: string; small?: boolean }) {
  const [copied, setCopied] = useState(false);
  return (
    <button type="button" className={small ? "btn sm" : "btn"} onClick={() => {
      void navigator.clipboard.writeText(text).then(() => {
        setCopied(true);
        setTimeout(() => setCopied(false), 1500);
      });
    }}>
      <span aria-live="polite">{copied ? m.common.copied : m.common.copy}</span>
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return <div className="cmd"><code>{text}</code><Copy text={text} /></div>;
}

export function Loading() {
  return <div className="empty" role="status">{m.common.loading}</div>;
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="note bad" role="alert">
      <Icon name="warn" />
      <div><b>{m.common.failed}.</b> {reason(error)}{error instanceof ApiError && error.code ? <> <code>{error.code}</code></> : null}</div>
      <span className="sp" />
      {retry ? <button type="button" className="btn sm" onClick={retry}>{m.common.retry}</button> : null}
    </div>
  );
}

/** A sentence of the server: what is between backticks is code. */
export function Words({ text, capital }: { text: string; capital?: boolean }) {
  const parts = text.split("`");
  return <>{parts.map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : at === 0 && capital ? part.charAt(0).toUpperCase() + part.slice(1) : part))}</>;
}

/** How a call stands, by shape and word. */
export function Status({ status, ok, code }: { status: string; ok?: boolean; code?: string | null }) {
  if (status === "waiting") return <span className="st wait"><Icon name="clock" size={14} />{m.calls.waiting}</span>;
  if (status === "running") return <span className="st run"><Icon name="play" size={14} />{m.calls.running}</span>;
  if (status === "lost") return <span className="st bad"><Icon name="warn" size={14} />{m.calls.lost}</span>;
  if (ok) return <span className="st ok"><Icon name="check" size={14} />{m.calls.ok}</span>;
  return <span className="st bad"><Icon name="cross" size={14} />{code ?? m.calls.failed}</span>;
}

export function Pretty({ value, className = "out" }: { value: unknown; className?: string }) {
  return <pre className={className} tabIndex={0}>{JSON.stringify(value, null, 2) ?? "undefined"}</pre>;
}

/** A pane that fails alone; with `columns`, a row of a table. */
export class Pane extends Component<{ children: ReactNode; name: string; columns?: number }, { error: unknown }> {
  override state = { error: null as unknown };
  static getDerivedStateFromError(error: unknown) {
    return { error };
  }
  override componentDidUpdate(before: { name: string }) {
    if (before.name !== this.props.name && this.state.error !== null) this.setState({ error: null });
  }
  override render() {
    if (this.state.error === null) return this.props.children;
    const note = (
      <div className="note bad" role="alert">
        <Icon name="warn" />
        <div><b>{m.common.broken}.</b> {m.common.brokenHint} <code>{reason(this.state.error)}</code></div>
        <span className="sp" />
        <button type="button" className="btn sm" onClick={() => this.setState({ error: null })}>{m.common.retry}</button>
      </div>
    );
    return this.props.columns === undefined ? note : <tr><td colSpan={this.props.columns}>{note}</td></tr>;
  }
}

/** The time now, every second, for what counts down. */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

export function Ago({ at }: { at: string }) {
  useNow(20_000);
  return <time dateTime={at} title={format.time(at)}>{format.ago(at)}</time>;
}

/** Whether the screen is as narrow as a phone. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia("(max-width: 720px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 720px)");
    const on = () => setNarrow(query.matches);
    query.addEventListener("change", on);
    return () => query.removeEventListener("change", on);
  }, []);
  return narrow;
}

let toasts: { id: number; text: string }[] = [];
let nextToast = 0;
const toastListeners = new Set<() => void>();
const toastsChanged = () => toastListeners.forEach((listener) => listener());

/** Says something without taking focus. */
export function say(text: string) {
  const id = nextToast++;
  toasts = [...toasts, { id, text }].slice(-4);
  toastsChanged();
  setTimeout(() => {
    toasts = toasts.filter((toast) => toast.id !== id);
    toastsChanged();
  }, 6000);
}

export function Toasts() {
  const shown = useSyncExternalStore((listener) => {
    toastListeners.add(listener);
    return () => void toastListeners.delete(listener);
  }, () => toasts);
  return <div className="toasts" role="status" aria-live="polite">{shown.map((toast) => <div key={toast.id} className="toast">{toast.text}</div>)}</div>;
}

/** Whether a dialog covers the page: keys then belong to it alone. */
const isCovered = () => document.querySelector('[role="dialog"], [role="alertdialog"]') !== null;

/** Calls a function on a key, when no dialog is open, and no field has the focus unless the key has Ctrl or Cmd. */
export function useKey(match: (event: KeyboardEvent) => boolean, run: (event: KeyboardEvent) => void) {
  const latest = useRef({ match, run });
  latest.current = { match, run };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || isCovered()) return;
      const inField = event.target instanceof HTMLElement && (event.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName));
      if (inField && !event.ctrlKey && !event.metaKey && event.key !== "Escape") return;
      if (latest.current.match(event)) latest.current.run(event);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

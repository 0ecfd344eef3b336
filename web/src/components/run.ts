// A call as it goes on: what its events make of it.

import { format, m } from "../messages";

export interface Step {
  name: string;
  state: "now" | "ok" | "failed" | "skipped" | "timeout" | "cancelled";
  /** What it says besides its state. */
  note: string;
  startedAt?: number;
  ms?: number;
}

export interface Run {
  callId: string;
  state: "running" | "waiting" | "stopping" | "done" | "lost";
  startedAt: number;
  endedAt?: number;
  log: { stream: string; text: string }[];
  steps: Step[];
  progress?: string;
  approval?: string;
  outcome?: Outcome;
  problem?: string;
}

export interface Outcome {
  ok: boolean;
  value?: unknown;
  error?: { code: string; message: string; details?: Record<string, unknown> };
  metadata?: { callId: string; durationMs: number; queueTimeMs: number; executionTimeMs: number; sandbox?: unknown; parameters?: unknown };
}

const MAX_LOG = 400_000;
const MAX_PARTS = 2000;

const OVER = new Set(["ok", "failed", "skipped", "timeout", "cancelled"]);

/** When the server saw an event; its arrival, if it does not say. */
function timeOf(event: Record<string, unknown>): number {
  const time = typeof event["time"] === "string" ? Date.parse(event["time"]) : NaN;
  return Number.isNaN(time) ? Date.now() : time;
}

/** A call that is over: a step that was heard of last as running ended with it. */
export function ended(run: Run, outcome: Outcome): Partial<Run> {
  const endedAt = Date.now();
  const steps = run.steps.map((step): Step => (step.state === "now" ? { ...step, state: outcome.error?.code === "TIMEOUT" ? "timeout" : "cancelled", ms: step.startedAt === undefined ? undefined : Math.max(0, endedAt - step.startedAt) } : step));
  return { state: "done", endedAt, outcome, steps };
}

/** What an event changes. */
export function heard(run: Run, kind: string, event: Record<string, unknown>): Partial<Run> {
  const text = (name: string) => (typeof event[name] === "string" ? event[name] : "");
  switch (kind) {
    case "output": {
      const [stream, chunk] = [text("stream"), text("chunk")];
      const last = run.log.at(-1);
      return { log: last?.stream === stream ? [...run.log.slice(0, -1), { stream, text: (last.text + chunk).slice(-MAX_LOG) }] : [...run.log, { stream, text: chunk }].slice(-MAX_PARTS) };
    }
    case "step": {
      const name = text("name") || "step";
      const status = text("status");
      const state = (OVER.has(status) ? status : "now") as Step["state"];
      const at = run.steps.findIndex((one) => one.name === name);
      const time = timeOf(event);
      const startedAt = state === "now" ? time : run.steps[at]?.startedAt;
      const step: Step = { name, state, note: text("message") || text("reason"), startedAt, ms: state === "now" || startedAt === undefined ? undefined : Math.max(0, time - startedAt) };
      return { steps: at < 0 ? [...run.steps, step] : run.steps.map((one, index) => (index === at ? step : one)) };
    }
    case "progress":
      return { progress: text("message") || (typeof event["progress"] === "number" ? (typeof event["total"] === "number" ? m.common.of(event["progress"], event["total"]) : format.number(event["progress"])) : "") };
    case "approval":
      return { state: text("status") === "pending" ? "waiting" : "running", approval: text("approvalId") || text("id") };
    case "outcome":
      return ended(run, event as unknown as Outcome);
    default:
      return {};
  }
}

// A call as it goes on: what its events make of it.

import { format, m } from "../messages";

export interface Step {
  name: string;
  note: string;
  state: "now" | "ok" | "failed" | "skipped";
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

const DONE = new Set(["finished", "done", "ok", "succeeded"]);

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
      const name = text("name") || text("step") || text("id") || "step";
      const status = text("status") || text("state");
      const state: Step["state"] = status === "failed" ? "failed" : status === "skipped" ? "skipped" : DONE.has(status) ? "ok" : "now";
      const step: Step = { name, note: text("message") || text("reason") || status, state, ms: typeof event["durationMs"] === "number" ? event["durationMs"] : undefined };
      const at = run.steps.findIndex((one) => one.name === name);
      return { steps: at < 0 ? [...run.steps, step] : run.steps.map((one, index) => (index === at ? step : one)) };
    }
    case "progress":
      return { progress: text("message") || (typeof event["progress"] === "number" ? (typeof event["total"] === "number" ? m.common.of(event["progress"], event["total"]) : format.number(event["progress"])) : "") };
    case "approval":
      return { state: text("status") === "pending" ? "waiting" : "running", approval: text("approvalId") || text("id") };
    case "outcome":
      return { state: "done", endedAt: Date.now(), outcome: event as unknown as Outcome };
    default:
      return {};
  }
}

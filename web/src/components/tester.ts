// The live tester of each tool: its arguments, its last run. Kept per tool for as long as the page is open, so that going elsewhere loses
// nothing and nothing of one tool reaches another.

import { useSyncExternalStore } from "react";
import { type Args, api, ApiError, data, placeOf, reason, type Schemas, type ToolRow } from "../api/client";
import { stream } from "../api/stream";
import { m } from "../messages";
import { heard, type Outcome, type Run } from "./run";

export interface Tester {
  view: "form" | "json";
  args: Args;
  /** The text of the JSON view, while it is no JSON object. */
  text: string | null;
  /** Fields that hold text which is no value, by their pointers. */
  blocked: Record<string, string>;
  asksFirst: boolean;
  run: Run | null;
  plan: { plan?: Schemas["Planned"]; problem?: string } | null;
}

export type { Outcome, Run } from "./run";

type Place = Pick<ToolRow, "bundle" | "slug" | "version">;

const testers = new Map<string, Tester>();
const listeners = new Set<() => void>();
const keyOf = (place: Place) => `${place.bundle}/${place.slug}@${place.version}`;

function get(place: Place): Tester {
  const key = keyOf(place);
  let tester = testers.get(key);
  if (!tester) testers.set(key, (tester = { view: "form", args: {}, text: null, blocked: {}, asksFirst: false, run: null, plan: null }));
  return tester;
}

export function change(place: Place, change: Partial<Tester>) {
  testers.set(keyOf(place), { ...get(place), ...change });
  for (const listener of listeners) listener();
}

export function useTester(place: Place): Tester {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, () => get(place));
}

function changeRun(place: Place, callId: string, with_: (run: Run) => Partial<Run>) {
  const run = get(place).run;
  // A newer run has taken the place of this one.
  if (run?.callId !== callId) return;
  change(place, { run: { ...run, ...with_(run) } });
}

/** Runs the tool with what is filled in. */
export async function start(place: Place) {
  const tester = get(place);
  const callId = `ui-${crypto.randomUUID()}`;
  change(place, { run: { callId, state: "running", startedAt: Date.now(), log: [], steps: [] }, plan: null });
  const end = (outcome: Outcome) => changeRun(place, callId, () => ({ state: "done", endedAt: Date.now(), outcome }));
  const { bundleID, toolSlug, v } = placeOf(place);
  const path = `/tools/bundles/${encodeURIComponent(bundleID)}/tools/${encodeURIComponent(toolSlug)}/version/${encodeURIComponent(v)}/invoke`;
  try {
    await stream(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ args: tester.args, callId, approvals: tester.asksFirst ? "wait" : "yes" }),
    }, {
      event: (event) => changeRun(place, callId, (run) => heard(run, event.event, JSON.parse(event.data) as Record<string, unknown>)),
      answered: (body) => end(body as Outcome),
    });
    const run = get(place).run;
    if (run?.callId === callId && run.state !== "done") await look(place, callId, end);
  } catch (error) {
    if (error instanceof ApiError && error.status !== 0) end({ ok: false, error: { code: error.code, message: error.message, details: error.details } });
    else changeRun(place, callId, () => ({ state: "lost", problem: reason(error) }));
  }
}

/** A stream broke off: the call goes on, so it is asked how it stands until it is over. */
export async function look(place: Place, callId: string, end?: (outcome: Outcome) => void) {
  for (;;) {
    const run = get(place).run;
    if (run?.callId !== callId || run.state === "done") return;
    try {
      const state = await data(api.GET("/api/calls/{id}", { params: { path: { id: callId }, query: { waitMs: 10_000 } } }));
      if (state.status === "done" || state.status === "lost") {
        const outcome = (state.outcome ?? { ok: false, error: { code: "LOST", message: m.tool.stopped } }) as Outcome;
        if (end) end(outcome);
        else changeRun(place, callId, () => ({ state: "done", endedAt: Date.now(), outcome }));
        return;
      }
    } catch (error) {
      changeRun(place, callId, () => ({ state: "lost", problem: reason(error) }));
      if (error instanceof ApiError && error.status !== 0) return;
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

export function stop(place: Place) {
  const run = get(place).run;
  if (!run || run.state === "done") return;
  changeRun(place, run.callId, () => ({ state: "stopping" }));
  void data(api.POST("/api/calls/{id}/cancel", { params: { path: { id: run.callId } } })).catch((error: unknown) => changeRun(place, run.callId, () => ({ problem: reason(error) })));
}

export async function preview(place: Place) {
  const { args } = get(place);
  try {
    change(place, { plan: { plan: await data(api.POST("/api/plan", { body: { tool: keyOf(place), args } as never })) } });
  } catch (error) {
    change(place, { plan: { problem: reason(error) } });
  }
}

// The live tester of each tool: its arguments, its last run. Kept per tool for as long as the page is open, so that going elsewhere loses
// nothing and nothing of one tool reaches another.

import { useSyncExternalStore } from "react";
import { type Args, api, ApiError, data, placeOf, reason, type Schemas, type ToolRow } from "../api/client";
import { stream } from "../api/stream";
import { m } from "../messages";
import { rounded } from "../schema/exact";
import { follow } from "./follow";
import { ended, heard, type Outcome, type Run } from "./run";

export interface Tester {
  view: "form" | "json";
  args: Args;
  /** The text of the JSON view, while it is no JSON object. */
  text: string | null;
  /** Fields that hold text which is no value, by their pointers. */
  blocked: Record<string, string>;
  asksFirst: boolean;
  /** How often all arguments were replaced: fields begin anew with each. */
  filled: number;
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
  if (!tester) testers.set(key, (tester = { view: "form", args: {}, text: null, blocked: {}, asksFirst: false, filled: 0, run: null, plan: null }));
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

/** Says that a field holds text which is no value, or no longer does. */
export function block(place: Place, pointer: string, why: string | null) {
  const { blocked } = get(place);
  if ((blocked[pointer] ?? null) === why) return;
  const { [pointer]: _, ...rest } = blocked;
  change(place, { blocked: why === null ? rest : { ...rest, [pointer]: why } });
}

/** Fills in other arguments. What was typed and is no value goes with the fields that held it. */
export function fill(place: Place, args: Args) {
  change(place, { args: structuredClone(args), text: null, blocked: {}, plan: null, filled: get(place).filled + 1 });
}

/** Why what is filled in cannot be sent. */
export function whyNot(tester: Tester): string | null {
  if (tester.text !== null) return m.form.notJson;
  const blocked = Object.values(tester.blocked)[0];
  if (blocked !== undefined) return blocked;
  return rounded(tester.args) === null ? null : m.form.tooLarge;
}

/** The runs whose stream broke off and that are followed by their id. */
const followed = new Map<string, AbortController>();

/** Runs the tool with what is filled in. */
export async function start(place: Place) {
  const tester = get(place);
  followed.get(keyOf(place))?.abort();
  const callId = `ui-${crypto.randomUUID()}`;
  change(place, { run: { callId, state: "running", startedAt: Date.now(), log: [], steps: [] }, plan: null });
  const end = (outcome: Outcome) => changeRun(place, callId, (run) => ended(run, outcome));
  const { bundleID, toolSlug, v } = placeOf(place);
  const path = `/tools/bundles/${encodeURIComponent(bundleID)}/tools/${encodeURIComponent(toolSlug)}/version/${encodeURIComponent(v)}/invoke`;
  let last: string | undefined;
  try {
    await stream(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ args: tester.args, callId, approvals: tester.asksFirst ? "wait" : "yes" }),
    }, {
      event: (event) => {
        if (event.id) last = event.id;
        changeRun(place, callId, (run) => heard(run, event.event, JSON.parse(event.data) as Record<string, unknown>));
      },
      answered: (body) => end(body as Outcome),
    });
  } catch (error) {
    if (error instanceof ApiError && error.status !== 0) return end({ ok: false, error: { code: error.code, message: error.message, details: error.details } });
    changeRun(place, callId, () => ({ state: "lost", problem: reason(error) }));
  }
  const run = get(place).run;
  if (run?.callId !== callId || run.state === "done") return;
  // The stream broke off; the call goes on.
  const stop = new AbortController();
  followed.set(keyOf(place), stop);
  await follow(callId, stop.signal, (with_) => changeRun(place, callId, with_), last);
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

// Follows a call that runs in the server to its end, by its id: one that someone else began, or one whose connection was lost.

import { ApiError, api, data, reason } from "../api/client";
import { stream } from "../api/stream";
import { m } from "../messages";
import { ended, heard, type Outcome, type Run } from "./run";

const PAUSE = 1000;

/** A stream that breaks off is taken up behind the last event. Ends with the call, when no call has the id, or when `stop` is aborted. */
export async function follow(callId: string, stop: AbortSignal, on: (change: (run: Run) => Partial<Run>) => void, last?: string) {
  let over = false;
  const end = (outcome: Outcome) => {
    over = true;
    on((run) => ({ ...ended(run, outcome), ...(outcome.metadata ? { endedAt: run.startedAt + outcome.metadata.durationMs } : {}) }));
  };
  while (!stop.aborted && !over) {
    try {
      await stream(`/api/calls/${encodeURIComponent(callId)}/events`, { signal: stop, headers: last ? { "Last-Event-ID": last } : {} }, {
        open: () => on((run) => (run.state === "lost" ? { state: "running", problem: undefined } : {})),
        event(event) {
          if (event.id) last = event.id;
          const body = JSON.parse(event.data || "{}") as Record<string, unknown>;
          if (event.event === "outcome") end(body as unknown as Outcome);
          else on((run) => heard(run, event.event, body));
        },
      });
    } catch {
      // It broke off, or the events are in another process: the call itself is asked.
    }
    if (over || stop.aborted) return;
    try {
      const state = await data(api.GET("/api/calls/{id}", { params: { path: { id: callId } } }));
      if (state.status === "lost") return on(() => ({ state: "lost", problem: m.tool.stopped }));
      if (state.status === "done") return end((state.outcome ?? { ok: state.ok ?? false }) as Outcome);
    } catch (error) {
      // No such call: it never reached the server.
      if (error instanceof ApiError && error.status === 404) return on(() => ({ state: "lost", problem: reason(error) }));
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

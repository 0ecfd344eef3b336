// A call of someone else as it goes on: its output, its steps, its end, and Stop.

import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, data, reason } from "../api/client";
import { stream } from "../api/stream";
import { m } from "../messages";
import { say } from "./basics";
import { heard, type Outcome, type Run } from "./run";
import { RunShown, RunState } from "./Tester";

const PAUSE = 1000;

export function LiveCall({ callId }: { callId: string }) {
  const [run, setRun] = useState<Run>(() => ({ callId, state: "running", startedAt: Date.now(), log: [], steps: [] }));
  useEffect(() => {
    const stop = new AbortController();
    void follow(callId, stop.signal, (change) => setRun((before) => ({ ...before, ...change(before) })));
    return () => stop.abort();
  }, [callId]);
  const cancel = useMutation({ mutationFn: () => data(api.POST("/api/calls/{id}/cancel", { params: { path: { id: callId } } })), onError: (error) => say(reason(error)) });
  return (
    <div className="panel" role="group" aria-label={m.approvals.live}>
      <div className="row pad"><h2>{m.approvals.live}</h2><span role="status"><RunState run={run} /></span><span className="sp" />
        {run.state === "running" ? <button type="button" className="btn bad sm" disabled={cancel.isPending} onClick={() => cancel.mutate()}>{m.tool.stop}</button> : null}</div>
      <RunShown run={run} />
    </div>
  );
}

/** Follows the events of a call to its end; a stream that breaks off is taken up behind the last event. */
async function follow(callId: string, stop: AbortSignal, on: (change: (run: Run) => Partial<Run>) => void) {
  let last: string | undefined;
  let ended = false;
  const end = (outcome: Outcome) => {
    ended = true;
    on((run) => ({ state: "done", endedAt: run.startedAt + (outcome.metadata?.durationMs ?? Date.now() - run.startedAt), outcome }));
  };
  while (!stop.aborted && !ended) {
    try {
      await stream(`/api/calls/${encodeURIComponent(callId)}/events`, { signal: stop, headers: last ? { "Last-Event-ID": last } : {} }, {
        event(event) {
          if (event.id) last = event.id;
          const body = JSON.parse(event.data || "{}") as Record<string, unknown>;
          if (event.event === "outcome") end(body as unknown as Outcome);
          else on((run) => heard(run, event.event, body));
        },
      });
      if (ended || stop.aborted) return;
      const state = await data(api.GET("/api/calls/{id}", { params: { path: { id: callId } } }));
      if (state.status === "lost") return on(() => ({ state: "lost" }));
      if (state.status === "done") return end((state.outcome ?? { ok: state.ok ?? false }) as Outcome);
    } catch {
      if (stop.aborted) return;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

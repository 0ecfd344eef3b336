// A call of someone else as it goes on: its output, its steps, its end, and Stop.

import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, data, reason } from "../api/client";
import { m } from "../messages";
import { say } from "./basics";
import { follow } from "./follow";
import type { Run } from "./run";
import { RunShown, RunState } from "./Tester";

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

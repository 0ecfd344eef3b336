// When a call did what: waiting, running, its steps, and the calls that its tool made, each where it was in time.

import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link } from "wouter";
import { api, data } from "../api/client";
import { format, m } from "../messages";
import { Status } from "./basics";
import type { Record_ } from "./CallDetail";
import type { Step } from "./run";
import { StepState } from "./Tester";

const MAX_DEPTH = 4;

/** How many calls inside a call are drawn. */
const MOST = 100;

export function Timeline({ call }: { call: Record_ }) {
  const [queued, ran, total] = [call.queueTimeMs ?? 0, call.executionTimeMs ?? 0, call.durationMs ?? 0];
  const begun = new Date(call.startTime!).getTime();
  return (
    <div>
      <h2>{m.calls.timeline}</h2>
      <div className="timeline" role="list" aria-label={m.calls.timeline}>
        <Bar name={call.tool ?? call.callId} from={0} queued={queued} ran={ran} total={total} />
        <Steps of={call} from={0} total={total} depth={1} />
        <Inside id={call.callId} begun={begun} total={total} depth={1} />
      </div>
      <p className="sub num">{m.calls.queued} {format.took(queued)} · {m.calls.executed} {format.took(ran)} · {m.calls.total} {format.took(total)}</p>
    </div>
  );
}

/** The steps of a call's tool, each where it was in time. */
function Steps({ of, from, total, depth }: { of: Record_; from: number; total: number; depth: number }) {
  return <>{(of.steps ?? []).map((step, at) => <Bar key={at} name={step.name} depth={depth} isStep from={from + step.startMs} queued={0} ran={step.durationMs} total={total} status={<StepState state={step.status as Step["state"]} />} />)}</>;
}

/** The calls that a call's tool made, and those that they made. */
function Inside({ id, begun, total, depth }: { id: string; begun: number; total: number; depth: number }) {
  const inside = useQuery({ queryKey: ["calls", "inside", id], queryFn: ({ signal }) => data(api.GET("/api/calls", { params: { query: { parent: id, pageSize: MOST } }, signal })) });
  const calls = [...(inside.data?.calls ?? [])].reverse();
  return <>{calls.map((one) => {
    const record = one as unknown as Record_;
    return (
      <Fragment key={one.callId}>
        <Bar depth={depth} name={one.tool ?? one.callId} href={`/calls/${encodeURIComponent(one.callId)}`} from={Math.max(0, new Date(one.startTime ?? begun).getTime() - begun)} queued={record.queueTimeMs ?? 0} ran={record.executionTimeMs ?? 0} total={total} status={<Status status={one.status} ok={one.ok} code={one.code} />} />
        <Steps of={record} from={Math.max(0, new Date(one.startTime ?? begun).getTime() - begun)} total={total} depth={depth + 1} />
        {depth < MAX_DEPTH ? <Inside id={one.callId} begun={begun} total={total} depth={depth + 1} /> : null}
      </Fragment>
    );
  })}{inside.data?.nextPageToken ? <p className="hint">{m.calls.onlyLast(calls.length)}</p> : null}</>;
}

function Bar({ name, depth = 0, href, isStep, from, queued, ran, total, status }: { name: string; depth?: number; href?: string; isStep?: boolean; from: number; queued: number; ran: number; total: number; status?: React.ReactNode }) {
  const scale = (ms: number) => (400 * Math.min(ms, Math.max(1, total))) / Math.max(1, total);
  return (
    <div className="tl" role="listitem">
      <span className="clip" style={{ paddingLeft: 14 * depth }} title={name}>{href ? <Link className="slug" href={href}>{name}</Link> : <span className={isStep ? "mono sub" : "slug"}>{name}</span>}</span>
      <svg viewBox="0 0 400 12" preserveAspectRatio="none" role="img" aria-label={`${m.calls.queued} ${format.took(queued)}, ${m.calls.executed} ${format.took(ran)}`}>
        <rect width="400" height="12" rx="2" fill="var(--sunk)" />
        <rect x={scale(from)} width={Math.max(0.5, scale(queued))} height="12" fill="var(--brass-fill)" />
        <rect x={scale(from + queued)} width={Math.max(1, scale(ran))} height="12" fill={isStep ? "var(--ink3)" : "var(--acc)"} />
      </svg>
      <span className="num sub">{format.took(queued + ran)}</span><span className="clip">{status}</span>
    </div>
  );
}

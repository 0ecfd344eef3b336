// One call: when it did what, with the calls inside it; what it was given, what came of it, who agreed, what left the machine.

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useSearchParams } from "wouter";
import { api, type Args, data, type Json, reason, toolPath } from "../api/client";
import { useTools } from "../api/queries";
import { format, m } from "../messages";
import { Copy, Failed, Loading, Pane, Pretty, say, Status, Words } from "./basics";
import { Comparison } from "./Comparison";
import { download } from "./download";
import { SaveAsTest } from "./SaveAsTest";
import { fill } from "./tester";
import { Timeline } from "./Timeline";

export interface Record_ {
  callId: string; tool?: string; bundle?: string; slug?: string; version?: string; parameters?: Args; parent?: string; message?: string; code?: string; ok?: boolean;
  startTime?: string; endTime?: string; durationMs?: number; queueTimeMs?: number; executionTimeMs?: number;
  approval?: { approved: boolean; by: string; reason: string; answer?: string; modified?: boolean; grant?: string };
  network?: { [name: string]: Json }[];
  steps?: { name: string; status: string; startMs: number; durationMs: number }[];
}

interface Outcome { ok: boolean; value?: Json; error?: Json; metadata?: Partial<Record_> & { sandbox?: Json } }

/** A call with its record and, as long as it is kept, its outcome. */
export function useCall(id: string) {
  const asked = useQuery({ queryKey: ["calls", "one", id], queryFn: ({ signal }) => data(api.GET("/api/calls/{id}", { params: { path: { id } }, signal })), retry: false });
  const record = useQuery({ queryKey: ["calls", "record", id], queryFn: ({ signal }) => data(api.GET("/api/calls/{id}", { params: { path: { id }, query: { record: true } }, signal })), retry: false, enabled: asked.data?.status === "done" });
  const outcome = asked.data?.outcome as Outcome | undefined;
  const full = { ...(record.data as unknown as Record_ | undefined), ...(asked.data as unknown as Record_ | undefined), ...outcome?.metadata } as Record_ & { sandbox?: Json };
  return { asked, record: record.data, outcome, full };
}

export function CallDetail({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const { asked, record, outcome, full } = useCall(id);
  const tools = useTools().data?.tools ?? [];
  const cancel = useMutation({ mutationFn: () => data(api.POST("/api/calls/{id}/cancel", { params: { path: { id } } })), onError: (error) => say(reason(error)), onSettled: () => asked.refetch() });
  if (asked.isPending) return <Loading />;
  if (asked.error) return <Failed error={asked.error} />;
  const call = asked.data;
  const other = params.get("with");
  const place = full.bundle && call.tool ? { bundle: full.bundle, slug: full.slug ?? call.tool.replaceAll("_", "-"), version: full.version ?? "v1" } : null;
  const row = place ? tools.find((tool) => tool.bundle === place.bundle && tool.slug === place.slug && tool.version === place.version) : undefined;
  const sent = full.network ?? [];
  return (
    <article className="panel det" aria-label={m.calls.detail}>
      <header className="stack gap">
        <div className="row wrap"><h2 className="slug">{call.tool}</h2><Status status={call.status} ok={call.ok} code={call.code} /><span className="sp" /><span className="sub">{call.caller}</span></div>
        <div className="sub"><code>{call.callId}</code>{call.startTime ? <> · {format.time(call.startTime)}</> : null}{full.parent ? <> · <Link href={`/calls/${encodeURIComponent(full.parent)}`}>{m.calls.inside}</Link></> : null}</div>
        <div className="row wrap">
          {place ? <button type="button" className="btn sm" onClick={() => { fill(place, full.parameters ?? {}); navigate(toolPath(place)); }}>{m.calls.again}</button> : null}
          {call.status === "running" || call.status === "waiting" ? <button type="button" className="btn sm bad" disabled={cancel.isPending} onClick={() => cancel.mutate()}>{m.calls.stop}</button> : null}
          {call.status === "waiting" ? <Link className="btn sm" href={`/approvals/${(call.approval as { id?: string } | undefined)?.id ?? ""}`}>{m.nav.approvals}</Link> : null}
          {row ? <SaveAsTest tool={row} file={row.file} args={full.parameters ?? {}} blocked={null} /> : null}
          <Compared tool={call.tool} id={id} value={other ?? ""} onChange={(next) => setParams((before) => { if (next === "") before.delete("with"); else before.set("with", next); return before; }, { replace: true })} />
          <span className="sp" />
          <button type="button" className="btn sm" onClick={() => download(`${call.callId}.json`, JSON.stringify({ ...call, record }, null, 2))}>{m.calls.export}</button>
          <Copy text={JSON.stringify(record ?? call, null, 2)} />
        </div>
      </header>
      {full.message ? <div className="failed"><b><Words text={full.message} /></b></div> : null}
      <div className="sec stack">
        {other ? <Comparison id={id} other={other} /> : null}
        {full.durationMs === undefined || !full.startTime ? null : <Pane name={id}><Timeline call={full} /></Pane>}
        {full.parameters ? <div><h2>{m.calls.arguments}</h2><Pretty value={full.parameters} /></div> : null}
        {outcome ? <div><h2>{m.calls.resultOf}</h2>{outcome.ok && outcome.value === undefined ? <p className="sub">{m.calls.fromRecord}</p> : <Pretty value={outcome.ok ? outcome.value : outcome.error} />}</div> : null}
        {full.approval && "approved" in full.approval ? (
          <div><h2>{m.calls.approval}</h2><p className="sub">{full.approval.approved ? m.calls.approvedBy : m.calls.deniedBy} <b>{full.approval.by}</b>{full.approval.modified ? ` · ${m.calls.edited}` : ""}{full.approval.answer ? ` · “${full.approval.answer}”` : ""}</p><p className="hint">{m.approvals.rule}: <Words text={full.approval.reason} />{full.approval.grant ? ` · ${m.tool.grants}: ${full.approval.grant}` : ""}</p></div>
        ) : null}
        <div><h2>{m.calls.left}</h2>{sent.length === 0 ? <p className="sub">{m.calls.leftNothing}</p> : <div className="scroll"><table><tbody>{sent.map((one, at) => <tr key={at}><td><code>{String(one["method"] ?? "")} {String(one["host"] ?? "")}</code></td><td>{one["status"] === undefined ? "–" : String(one["status"])}</td><td className="num sub">{m.calls.bytes(Number(one["sent"] ?? 0), Number(one["received"] ?? 0))}</td></tr>)}</tbody></table></div>}</div>
        {full.sandbox ? <div><h2>{m.calls.sandbox}</h2><Pretty value={full.sandbox} /></div> : null}
        {record ? <details><summary>{m.calls.raw}</summary><Pretty value={record} /></details> : null}
      </div>
    </article>
  );
}

/** Which other call of this tool it is compared with. */
function Compared({ tool, id, value, onChange }: { tool?: string | null; id: string; value: string; onChange(id: string): void }) {
  const others = useQuery({ queryKey: ["calls", "others", tool], enabled: Boolean(tool), queryFn: ({ signal }) => data(api.GET("/api/calls", { params: { query: { tool: tool!, pageSize: 30 } }, signal })).then((page) => page.calls) });
  const list = (others.data ?? []).filter((one) => one.callId !== id);
  if (list.length === 0) return null;
  return (
    <select className="chip" aria-label={m.calls.compare} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{m.calls.compare}</option>
      {value !== "" && !list.some((one) => one.callId === value) ? <option value={value}>{value}</option> : null}
      {list.map((one) => <option key={one.callId} value={one.callId}>{one.startTime ? format.time(one.startTime) : one.callId} · {one.ok ? m.calls.ok : one.code}</option>)}
    </select>
  );
}

import { useInfiniteQuery, useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { api, type Args, data, reason, toolPath } from "../api/client";
import { useStats } from "../api/queries";
import { Ago, Copy, Failed, Loading, Pane, Pretty, say, Status, Words } from "../components/basics";
import { change } from "../components/tester";
import { format, m } from "../messages";

type Result = "all" | "ok" | "failed" | "running" | "waiting";

export default function Calls() {
  const { id } = useParams<{ id?: string }>();
  const [params, setParams] = useSearchParams();
  const [status, tool, caller, hours] = [(params.get("status") ?? "all") as Result, params.get("tool") ?? "", params.get("caller") ?? "", params.get("hours") ?? ""];
  const set = (name: string, value: string) => setParams((before) => {
    if (value === "" || value === "all") before.delete(name);
    else before.set(name, value);
    return before;
  }, { replace: true });
  const stats = useStats(null).data;
  const list = useInfiniteQuery({
    queryKey: ["calls", "list", status, tool, caller, hours],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const since = hours === "" ? undefined : new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString();
      const query = pageParam !== "" ? { pageToken: pageParam } : { pageSize: 50, status: status === "all" ? undefined : status, tool: tool || undefined, caller: caller || undefined, since };
      return data(api.GET("/api/calls", { params: { query }, signal }));
    },
    getNextPageParam: (page) => page.nextPageToken || undefined,
  });
  const calls = list.data?.pages.flatMap((page) => page.calls) ?? [];
  const callers = Object.keys(stats?.total.callers ?? {});
  const isFiltered = status !== "all" || tool !== "" || caller !== "" || hours !== "";
  return (
    <>
      <div className="bar"><h1>{m.calls.title}</h1></div>
      <div className="bar wrap">
        {([["all", m.calls.all], ["ok", m.calls.ok], ["failed", m.calls.failed], ["running", m.calls.running], ["waiting", m.calls.waiting]] as [Result, string][]).map(([value, name]) => <button key={value} type="button" className="chip" aria-pressed={status === value} onClick={() => set("status", value)}>{name}</button>)}
        <span className="sp" />
        <select className="chip" aria-label={m.calls.tool} value={tool} onChange={(event) => set("tool", event.target.value)}><option value="">{m.calls.anyTool}</option>{(stats?.tools ?? []).map((row) => <option key={`${row.bundle}/${row.tool}`}>{row.tool}</option>)}</select>
        <select className="chip" aria-label={m.calls.caller} value={caller} onChange={(event) => set("caller", event.target.value)}><option value="">{m.calls.anyCaller}</option>{callers.map((one) => <option key={one}>{one}</option>)}</select>
        <select className="chip" aria-label={m.calls.since} value={hours} onChange={(event) => set("hours", event.target.value)}><option value="">{m.calls.ever}</option><option value="1">{m.calls.hour}</option><option value="24">{m.calls.day}</option><option value="168">{m.calls.week}</option></select>
      </div>
      {list.error ? <Failed error={list.error} retry={() => void list.refetch()} /> : null}
      <div className={id ? "two callsplit" : undefined}>
        <div>
          {list.isPending ? <Loading /> : calls.length === 0 ? <div className="panel"><div className="empty"><b>{m.calls.none}</b><span>{m.calls.noneHint}</span>{isFiltered ? <button type="button" className="btn" onClick={() => setParams({}, { replace: true })}>{m.tools.clear}</button> : null}</div></div> : (
            <div className="panel scroll"><table><thead><tr><th>{m.calls.tool}</th>{id ? null : <th>{m.calls.caller}</th>}<th>{m.calls.result}</th><th className="r">{m.calls.took}</th><th>{m.calls.when}</th></tr></thead>
              <tbody>{calls.map((call) => (
                <tr key={call.callId} aria-current={call.callId === id ? "true" : undefined}>
                  <td><Link className="slug" href={`/calls/${encodeURIComponent(call.callId)}${params.size > 0 ? `?${params}` : ""}`}>{call.tool ?? call.callId}</Link></td>
                  {id ? null : <td className="sub">{call.caller}</td>}
                  <td><Status status={call.status} ok={call.ok} code={call.code} /></td><td className="r num">{format.took(call.durationMs)}</td><td className="sub">{call.startTime ? <Ago at={call.startTime} /> : null}</td>
                </tr>
              ))}</tbody></table></div>
          )}
          {list.hasNextPage ? <p className="above"><button type="button" className="btn" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{m.common.more}</button></p> : null}
        </div>
        {id ? <Pane name={id}><Detail id={id} /></Pane> : null}
      </div>
    </>
  );
}

interface Detailed {
  bundle?: string; slug?: string; version?: string; tool?: string; parameters?: Args; queueTimeMs?: number; executionTimeMs?: number; parentId?: string; message?: string;
}

function Detail({ id }: { id: string }) {
  const [, navigate] = useLocation();
  const asked = useQuery({ queryKey: ["calls", "one", id], queryFn: ({ signal }) => data(api.GET("/api/calls/{id}", { params: { path: { id } }, signal })), retry: false });
  const record = useQuery({ queryKey: ["calls", "record", id], queryFn: ({ signal }) => data(api.GET("/api/calls/{id}", { params: { path: { id }, query: { record: true } }, signal })), retry: false, enabled: asked.data?.status === "done" });
  const cancel = useMutation({ mutationFn: () => data(api.POST("/api/calls/{id}/cancel", { params: { path: { id } } })), onError: (error) => say(reason(error)), onSettled: () => asked.refetch() });
  if (asked.isPending) return <Loading />;
  if (asked.error) return <Failed error={asked.error} />;
  const call = asked.data;
  const full = { ...(record.data as Detailed | undefined), ...(call as Detailed) };
  const outcome = call.outcome as { ok: boolean; value?: unknown; error?: unknown; metadata?: { parameters?: Args; bundle?: string; version?: string; sandbox?: unknown; queueTimeMs?: number; executionTimeMs?: number } } | undefined;
  const parameters = outcome?.metadata?.parameters ?? full.parameters;
  const bundle = outcome?.metadata?.bundle ?? full.bundle;
  const version = outcome?.metadata?.version ?? full.version;
  const place = bundle && call.tool ? { bundle, slug: full.slug ?? call.tool.replaceAll("_", "-"), version: version ?? "v1" } : null;
  const [queued, ran] = [outcome?.metadata?.queueTimeMs ?? full.queueTimeMs ?? 0, outcome?.metadata?.executionTimeMs ?? full.executionTimeMs ?? 0];
  return (
    <article className="panel det" aria-label={m.calls.detail}>
      <header className="stack gap">
        <div className="row wrap"><h2 className="slug">{call.tool}</h2><Status status={call.status} ok={call.ok} code={call.code} /><span className="sp" /><span className="sub">{call.caller}</span></div>
        <div className="sub"><code>{call.callId}</code>{call.startTime ? <> · {format.time(call.startTime)}</> : null}</div>
        <div className="row wrap">
          {place ? <button type="button" className="btn sm" onClick={() => { change(place, { args: structuredClone(parameters ?? {}), text: null, blocked: {} }); navigate(toolPath(place)); }}>{m.calls.again}</button> : null}
          {call.status === "running" || call.status === "waiting" ? <button type="button" className="btn sm bad" disabled={cancel.isPending} onClick={() => cancel.mutate()}>{m.calls.stop}</button> : null}
          {call.status === "waiting" ? <Link className="btn sm" href={`/approvals/${(call.approval as { id?: string } | undefined)?.id ?? ""}`}>{m.nav.approvals}</Link> : null}
          <Copy text={JSON.stringify(record.data ?? call, null, 2)} />
        </div>
      </header>
      {call.message ? <div className="failed"><b><Words text={call.message} /></b></div> : null}
      <div className="sec stack">
        {call.durationMs === undefined ? null : (
          <div><h2>{m.calls.timeline}</h2>
            <svg className="bars" viewBox="0 0 400 14" role="img" aria-label={`${m.calls.queued} ${format.took(queued)}, ${m.calls.executed} ${format.took(ran)}`}><rect width="400" height="14" rx="2" fill="var(--sunk)" /><rect width={(400 * queued) / Math.max(1, call.durationMs)} height="14" rx="2" fill="var(--brass-fill)" /><rect x={(400 * queued) / Math.max(1, call.durationMs)} width={(400 * ran) / Math.max(1, call.durationMs)} height="14" rx="2" fill="var(--acc)" /></svg>
            <p className="sub num">{m.calls.queued} {format.took(queued)} · {m.calls.executed} {format.took(ran)} · {m.calls.total} {format.took(call.durationMs)}</p></div>
        )}
        {parameters ? <div><h2>{m.calls.arguments}</h2><Pretty value={parameters} /></div> : null}
        {outcome ? <div><h2>{m.calls.resultOf}</h2>{outcome.ok && outcome.value === undefined ? <p className="sub">{m.calls.fromRecord}</p> : <Pretty value={outcome.ok ? outcome.value : outcome.error} />}</div> : null}
        {call.approval ? <div><h2>{m.calls.approval}</h2><Pretty value={call.approval} /></div> : null}
        {outcome?.metadata?.sandbox ? <div><h2>{m.calls.sandbox}</h2><Pretty value={outcome.metadata.sandbox} /></div> : null}
        {record.data ? <details><summary>{m.calls.raw}</summary><Pretty value={record.data} /></details> : null}
      </div>
    </article>
  );
}

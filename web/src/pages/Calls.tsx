import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation, useParams, useSearchParams } from "wouter";
import { api, data, reason } from "../api/client";
import { useBundles, useStats } from "../api/queries";
import { Ago, Failed, Loading, Pane, say, Status, useKey } from "../components/basics";
import { CallDetail } from "../components/CallDetail";
import { download } from "../components/download";
import { Icon } from "../components/icons";
import { format, m } from "../messages";

const MAX_EXPORT = 10_000;

interface Query { status?: "ok" | "error" | "refused" | "running" | "waiting"; tool?: string; bundle?: string; version?: string; caller?: string; text?: string; since?: string; until?: string }

/** What a person or a rule refused has not failed. */
type Result = "all" | "ok" | "failed" | "refused" | "running" | "waiting";

export default function Calls() {
  const { id } = useParams<{ id?: string }>();
  const [params, setParams] = useSearchParams();
  const [, navigate] = useLocation();
  const [status, tool, bundle, caller, hours, text] = [(params.get("status") ?? "all") as Result, params.get("tool") ?? "", params.get("bundle") ?? "", params.get("caller") ?? "", params.get("hours") ?? "", params.get("text") ?? ""];
  const version = params.get("version") ?? "";
  const [from, to] = [params.get("from") ?? "", params.get("to") ?? ""];
  const [words, setWords] = useState(text);
  const bundles = useBundles().data ?? [];
  const input = useRef<HTMLInputElement>(null);
  useKey((event) => event.key === "/", (event) => { event.preventDefault(); input.current?.focus(); });
  const set = (name: string, value: string) => setParams((before) => {
    if (value === "" || value === "all") before.delete(name);
    else before.set(name, value);
    return before;
  }, { replace: true });
  const stats = useStats(null).data;
  // A name that two bundles have is one choice here; the bundle is the next one.
  const toolNames = [...new Set([...(stats?.tools ?? []).map((row) => row.tool), ...(tool === "" ? [] : [tool])])];
  const query = (): Query => ({
    status: status === "all" ? undefined : status === "failed" ? "error" : status, tool: tool || undefined, bundle: bundle || undefined, version: version || undefined, caller: caller || undefined, text: text || undefined,
    since: from || (hours === "" ? undefined : new Date(Math.floor(Date.now() / 60_000) * 60_000 - Number(hours) * 3_600_000).toISOString()),
    until: to || undefined,
  });
  const list = useInfiniteQuery({
    queryKey: ["calls", "list", status, tool, bundle, version, caller, hours, text, from, to],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => data(api.GET("/api/calls", { params: { query: { ...query(), pageSize: 50, pageToken: pageParam || undefined } }, signal })),
    getNextPageParam: (page) => page.nextPageToken || undefined,
  });
  // The log is read for each text: it is asked when the person stops typing.
  useEffect(() => {
    if (words === text) return;
    const here = window.location.pathname;
    const timer = setTimeout(() => { if (window.location.pathname === here) set("text", words); }, 300);
    return () => clearTimeout(timer);
  }, [words]);
  const saveAll = useMutation({ mutationFn: () => exportCalls(query()), onSuccess: (cut) => { if (cut !== null) say(m.calls.exportCut(cut)); }, onError: (error) => say(reason(error)) });
  const calls = list.data?.pages.flatMap((page) => page.calls) ?? [];
  const at = calls.findIndex((call) => call.callId === id);
  const rows = useRef<HTMLTableSectionElement>(null);
  const hrefOf = (callId: string) => `/calls/${encodeURIComponent(callId)}${params.size > 0 ? `?${params}` : ""}`;
  useKey((event) => (event.key === "j" || event.key === "k") && !event.ctrlKey && !event.metaKey, (event) => {
    const links = [...(rows.current?.querySelectorAll<HTMLAnchorElement>("a.slug") ?? [])];
    const now = id ? at : links.findIndex((link) => link === document.activeElement);
    const next = now + (event.key === "j" ? 1 : -1);
    const call = calls[next];
    if (!call) return;
    links[next]?.focus();
    if (id) navigate(hrefOf(call.callId));
  });
  const callers = Object.keys(stats?.total.callers ?? {});
  const isFiltered = status !== "all" || from !== "" || to !== "" || tool !== "" || bundle !== "" || version !== "" || text !== "" || caller !== "" || hours !== "";
  return (
    <div className={id ? "open" : undefined}>
      {id ? <p className="crumbs sub callback"><Link href={`/calls${params.size > 0 ? `?${params}` : ""}`}>{m.calls.title}</Link></p> : null}
      <div className="bar"><h1>{m.calls.title}</h1><span className="sp" /><button type="button" className="btn sm" disabled={saveAll.isPending || calls.length === 0} onClick={() => saveAll.mutate()}>{m.calls.export}</button></div>
      <div className="bar wrap callfilters">
        <label className="seek narrow"><Icon name="search" /><span className="vh">{m.calls.text}</span><input ref={input} type="search" value={words} placeholder={m.calls.text} onChange={(event) => setWords(event.target.value)} /><kbd>/</kbd></label>
        {([["all", m.calls.all], ["ok", m.calls.ok], ["failed", m.calls.failed], ["refused", m.calls.refused], ["running", m.calls.running], ["waiting", m.calls.waiting]] as [Result, string][]).map(([value, name]) => <button key={value} type="button" className="chip" aria-pressed={status === value} onClick={() => set("status", value)}>{name}</button>)}
        <span className="sp" />
        <select className="chip" aria-label={m.calls.tool} value={tool} onChange={(event) => set("tool", event.target.value)}><option value="">{m.calls.anyTool}</option>{toolNames.map((name) => <option key={name}>{name}</option>)}</select>
        {version === "" ? null : <button type="button" className="chip" aria-pressed="true" onClick={() => set("version", "")}>{version} ×</button>}
        <select className="chip" aria-label={m.tools.bundle} value={bundle} onChange={(event) => set("bundle", event.target.value)}><option value="">{m.tools.anyBundle}</option>{bundles.map((one) => <option key={one.bundleID} value={one.slug}>{one.displayName}</option>)}</select>
        <select className="chip" aria-label={m.calls.caller} value={caller} onChange={(event) => set("caller", event.target.value)}><option value="">{m.calls.anyCaller}</option>{callers.map((one) => <option key={one}>{one}</option>)}</select>
        {from !== "" || to !== "" ? <button type="button" className="chip" aria-pressed="true" onClick={() => setParams((before) => { before.delete("from"); before.delete("to"); return before; }, { replace: true })}>{m.calls.between(from ? format.time(from) : "", to ? format.clock(to) : "")} ×</button> : null}
        <select className="chip" aria-label={m.calls.since} value={hours} onChange={(event) => set("hours", event.target.value)}><option value="">{m.calls.ever}</option><option value="1">{m.calls.hour}</option><option value="24">{m.calls.day}</option><option value="168">{m.calls.week}</option></select>
      </div>
      {list.error ? <Failed error={list.error} retry={() => void list.refetch()} /> : null}
      <div className={id ? "two callsplit" : undefined}>
        <div>
          {list.isPending ? <Loading /> : calls.length === 0 ? <div className="panel"><div className="empty"><b>{m.calls.none}</b><span>{m.calls.noneHint}</span>{isFiltered ? <button type="button" className="btn" onClick={() => { setWords(""); setParams({}, { replace: true }); }}>{m.tools.clear}</button> : null}</div></div> : (
            <div className="panel scroll"><table><thead><tr><th>{m.calls.tool}</th>{id ? null : <th className="c-caller">{m.calls.caller}</th>}<th>{m.calls.result}</th><th className="r c-took">{m.calls.took}</th><th>{m.calls.when}</th></tr></thead>
              <tbody ref={rows}>{calls.map((call) => (
                <Pane key={call.callId} name={call.callId} columns={5}><tr aria-current={call.callId === id ? "true" : undefined}>
                  <td><Link className="slug" href={hrefOf(call.callId)}>{call.tool ?? call.callId}</Link></td>
                  {id ? null : <td className="sub c-caller">{call.caller}</td>}
                  <td><Status status={call.status} ok={call.ok} code={call.code} /></td><td className="r num c-took">{format.took(call.durationMs)}</td><td className="sub">{call.startTime ? <Ago at={call.startTime} /> : null}</td>
                </tr></Pane>
              ))}</tbody></table></div>
          )}
          {list.hasNextPage ? <p className="above"><button type="button" className="btn" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{m.common.more}</button></p> : null}
        </div>
        {id ? <Pane name={id}><CallDetail id={id} /></Pane> : null}
      </div>
    </div>
  );
}

/** Downloads what matches, newest first, up to a bound: how many that are, if there are more. */
async function exportCalls(query: Query): Promise<number | null> {
  const calls: unknown[] = [];
  let token: string | undefined;
  do {
    const page = await data(api.GET("/api/calls", { params: { query: { ...query, pageSize: 500, pageToken: token } } }));
    calls.push(...page.calls);
    token = page.nextPageToken ?? undefined;
  } while (token && calls.length < MAX_EXPORT);
  download("calls.json", JSON.stringify(calls, null, 2));
  return token ? calls.length : null;
}

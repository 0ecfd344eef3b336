// All tools of every source in one list that draws only the rows in view.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { type BundleRow, type ToolRow, api, data, placeOf, reason, toolPath } from "../api/client";
import { useBundles, useSearch, useStats, useTools } from "../api/queries";
import { Ago, Command, EffectTag, Failed, Loading, Pane, say, Switch, useKey, useNarrow } from "../components/basics";
import { Confirm } from "../components/Dialog";
import { Icon } from "../components/icons";
import { isRefusal } from "../components/refusals";
import { FirstSteps } from "../components/FirstSteps";
import { format, m } from "../messages";
import { toggleTheme } from "../theme";

type State = "all" | "off" | "attention" | "failing" | "untagged";
type Row = { kind: "bundle"; bundle: string; tools: ToolRow[] } | { kind: "tool"; tool: ToolRow };
type Counts = { calls: number; failed: number; p95: number; lastAt?: string | null; lastCode?: string | null };

const isOn = (tool: ToolRow) => tool.availability.state === "ready";
const needsAttention = (tool: ToolRow) => ["broken", "untrusted", "unavailable"].includes(tool.state);
const countedAs = (tool: ToolRow) => `${tool.bundle}/${tool.name}`;
const referenceOf = (tool: { bundle: string; slug: string; version: string }) => `${tool.bundle}/${tool.slug}@${tool.version}`;
/** Why a tool cannot be called, in the server's words. */
const cause = (tool: ToolRow) => (tool.availability.state === "ready" ? (tool.behind ?? null) : tool.availability.reason);

export function Tools() {
  const [params, setParams] = useSearchParams();
  const state = (params.get("state") ?? "all") as State;
  const [bundle, effect] = [params.get("bundle") ?? "", params.get("effect") ?? ""];
  const [words, setWords] = useState(params.get("q") ?? "");
  const set = (name: string, value: string) => setParams((before) => {
    if (value === "" || value === "all") before.delete(name);
    else before.set(name, value);
    return before;
  }, { replace: true });
  const list = useTools();
  const bundles = useBundles();
  const stats = useStats(24);
  const asked = useDeferredValue(words.trim());
  const found = useSearch(asked, true);
  const input = useRef<HTMLInputElement>(null);
  useKey((event) => event.key === "/", (event) => { event.preventDefault(); input.current?.focus(); });

  const counts = useMemo(() => new Map<string, Counts>((stats.data?.tools ?? []).map((row) => [`${row.bundle}/${row.tool}`, { calls: row.calls, failed: row.failed - row.refused, p95: row.durationMs.p95, lastAt: row.lastAt, lastCode: row.lastCode }])), [stats.data]);
  const tools = list.data?.tools;
  const known = useMemo(() => new Map((tools ?? []).map((row) => [referenceOf(row), row])), [tools]);
  const filtered = useMemo(() => {
    if (!tools) return [];
    let rows = tools;
    if (asked !== "" && found.data) {
      rows = found.data.flatMap((row) => known.get(referenceOf(row)) ?? []);
    }
    return rows.filter((row) => (bundle === "" || row.bundle === bundle) && (effect === "" || row.effects.includes(effect))
      && (state === "all" || (state === "off" && !isOn(row)) || (state === "attention" && needsAttention(row)) || (state === "failing" && (counts.get(countedAs(row))?.failed ?? 0) > 0) || (state === "untagged" && row.effects.length === 0)));
  }, [tools, known, asked, found.data, bundle, effect, state, counts]);

  const rows = useMemo<Row[]>(() => {
    if (asked !== "") return filtered.map((tool) => ({ kind: "tool", tool }));
    const groups = new Map<string, ToolRow[]>();
    for (const tool of filtered) groups.get(tool.bundle)?.push(tool) ?? groups.set(tool.bundle, [tool]);
    return [...groups].flatMap(([name, of]): Row[] => [{ kind: "bundle", bundle: name, tools: of }, ...of.map((tool): Row => ({ kind: "tool", tool }))]);
  }, [filtered, asked]);

  const on = useMemo(() => tools?.filter(isOn) ?? [], [tools]);
  const tokens = useMemo(() => format.short(on.reduce((sum, tool) => sum + (tool.tokens ?? 0), 0)), [on]);
  const attention = useMemo(() => tools?.filter(needsAttention) ?? [], [tools]);
  // The address follows when the person stops typing.
  useEffect(() => {
    if ((params.get("q") ?? "") === words) return;
    const here = window.location.pathname;
    // Another page may be on its way already: its address is not touched.
    const timer = setTimeout(() => { if (window.location.pathname === here) set("q", words); }, 400);
    return () => clearTimeout(timer);
  }, [words]);
  const effects = useMemo(() => [...new Set((tools ?? []).flatMap((tool) => tool.effects))].sort(), [tools]);
  const isFiltered = asked !== "" || bundle !== "" || effect !== "" || state !== "all";
  const chips: [State, string, number?][] = [["all", m.tools.all, tools?.length], ["off", m.tools.off, (tools?.length ?? 0) - on.length], ["attention", m.tools.attention, attention.length], ["failing", m.tools.failing], ["untagged", m.tools.untagged]];
  return (
    <>
      <div className="bar head">
        <h1>{m.tools.title}</h1>
        {tools ? <span className="sub">{m.tools.summary(on.length, tools.length - on.length, tokens)}</span> : null}
        <span className="sp" />
        <Link className="btn pri" href="/author"><Icon name="plus" />{m.author.new}</Link>
        <button type="button" className="btn ghost icon" aria-label={m.common.theme} onClick={toggleTheme}><Icon name="theme" /></button>
      </div>
      {tools ? <Pane name="first"><FirstSteps tools={tools} /></Pane> : null}
      {attention.length > 0 && state !== "attention" ? (
        <div className="note"><Icon name="warn" /><div><b>{m.tools.attentionNote(attention.length)}</b> {attention.slice(0, 4).map((tool) => <code key={`${tool.bundle}${tool.slug}`}>{tool.slug} </code>)}</div><span className="sp" /><button type="button" className="btn sm" onClick={() => set("state", "attention")}>{m.tools.review}</button></div>
      ) : null}
      <div className="bar wrap">
        <label className="seek"><Icon name="search" /><span className="vh">{m.tools.filter}</span><input ref={input} type="search" value={words} placeholder={m.tools.filter} onChange={(event) => setWords(event.target.value)} /><kbd>/</kbd></label>
        {chips.map(([value, name, count]) => <button key={value} type="button" className="chip" aria-pressed={state === value} onClick={() => set("state", value)}>{name}{count === undefined ? null : <span className="num">{format.number(count)}</span>}</button>)}
        <span className="sp" />
        <select className="chip" aria-label={m.tools.effect} value={effect} onChange={(event) => set("effect", event.target.value)}><option value="">{m.tools.anyEffect}</option>{effects.map((one) => <option key={one}>{one}</option>)}</select>
        <select className="chip" aria-label={m.tools.bundle} value={bundle} onChange={(event) => set("bundle", event.target.value)}><option value="">{m.tools.anyBundle}</option>{bundles.data?.map((one) => <option key={one.bundleID} value={one.slug}>{one.displayName}</option>)}</select>
      </div>
      {list.error ? <Failed error={list.error} retry={() => void list.refetch()} /> : null}
      {found.error ? <Failed error={found.error} retry={() => void found.refetch()} /> : null}
      {isFiltered && filtered.length > 0 ? <Bulk tools={filtered} filter={{ q: asked, bundle, effect, state }} /> : null}
      {list.isPending ? <Loading /> : tools?.length === 0 ? (
        <div className="empty"><b>{m.tools.empty}</b><span>{m.tools.emptyHint}</span><Command text="toolcrib init" /></div>
      ) : rows.length === 0 ? (
        <div className="empty"><b>{m.tools.none}</b><button type="button" className="btn" onClick={() => { setWords(""); setParams({}, { replace: true }); }}>{m.tools.clear}</button></div>
      ) : <List rows={rows} counts={counts} bundles={bundles.data ?? []} />}
    </>
  );
}

/** Switches everything that matches the filter, also what is not in view. The server counts what that is before a person agrees. */
function Bulk({ tools, filter }: { tools: ToolRow[]; filter: { q: string; bundle: string; effect: string; state: State } }) {
  const queries = useQueryClient();
  const [asks, setAsks] = useState<boolean | null>(null);
  const [counted, setCounted] = useState(0);
  const send = (isEnabled: boolean, dryRun: boolean) => data(api.POST("/api/tools/switch", { body: { filter: { q: filter.q || undefined, bundle: filter.bundle || undefined, effect: filter.effect || undefined, state: filter.state === "all" ? undefined : filter.state }, isEnabled, dryRun } }));
  const ask = useMutation({
    mutationFn: (isEnabled: boolean) => send(isEnabled, true),
    onSuccess: (meant, isEnabled) => { setCounted(meant.changed.length); setAsks(isEnabled); },
    onError: (error) => say(reason(error)),
  });
  const change = useMutation({
    mutationFn: (isEnabled: boolean) => send(isEnabled, false),
    onSuccess: (done) => {
      say(m.tools.switched(done.changed.length));
      if (done.refused.length > 0) say(`${m.tools.refused(done.refused.length)} ${done.refused.slice(0, 3).map((one) => `${one.tool}: ${one.message}`).join("; ")}`);
      void queries.invalidateQueries({ queryKey: ["tools"] });
    },
    onError: (error) => say(reason(error)),
  });
  return (
    <div className="row">
      <span className="sub" role="status">{m.tools.shown(tools.length)}</span><span className="sp" />
      <button type="button" className="btn sm" disabled={change.isPending || ask.isPending} onClick={() => ask.mutate(true)}>{m.tools.switchOn(tools.length)}</button>
      <button type="button" className="btn sm" disabled={change.isPending || ask.isPending} onClick={() => ask.mutate(false)}>{m.tools.switchOff(tools.length)}</button>
      <Confirm open={asks !== null} title={asks ? m.tools.confirmOn(counted) : m.tools.confirmOff(counted)} text={m.tools.confirmText} yes={asks ? m.tools.switchOn(counted) : m.tools.switchOff(counted)} onClose={() => setAsks(null)} onYes={() => change.mutate(asks === true)} />
    </div>
  );
}

function List({ rows, counts, bundles }: { rows: Row[]; counts: Map<string, Counts>; bundles: BundleRow[] }) {
  const scroller = useRef<HTMLDivElement>(null);
  const [, navigate] = useLocation();
  const [at, setAt] = useState(-1);
  const narrow = useNarrow();
  const [top, setTop] = useState(0);
  // What is above the list comes and goes.
  useLayoutEffect(() => {
    const now = Math.round((scroller.current?.getBoundingClientRect().top ?? 0) + window.scrollY);
    if (now !== top) setTop(now);
  });
  const virtual = useWindowVirtualizer({ count: rows.length, estimateSize: (index) => (rows[index]!.kind === "bundle" ? (narrow ? 48 : 34) : narrow ? 76 : 52), overscan: 12, scrollMargin: top });
  useEffect(() => virtual.measure(), [rows, narrow]);
  const move = (by: number) => {
    let next = at + by;
    while (rows[next]?.kind === "bundle") next += by;
    if (next < 0 || next >= rows.length) return;
    setAt(next);
    virtual.scrollToIndex(next, { align: "auto" });
  };
  useKey((event) => (event.key === "j" || event.key === "k") && !event.ctrlKey && !event.metaKey, (event) => move(event.key === "j" ? 1 : -1));
  useKey((event) => event.key === "Enter" && at >= 0 && event.target === document.body, () => {
    const row = rows[at];
    if (row?.kind === "tool") navigate(toolPath(row.tool));
  });
  return (
    <div className="panel list-panel" role="table" aria-label={m.tools.list} aria-rowcount={rows.length}>
      <div className="list-head" role="row">
        <span role="columnheader">{m.tools.tool}</span><span role="columnheader" className="c-kind">{m.tools.kind}</span><span role="columnheader">{m.tools.risk}</span><span role="columnheader" className="c-asks">{m.tools.asks}</span><span role="columnheader" className="c-calls">{m.tools.calls}</span><span role="columnheader" className="c-p95 r">{m.tools.p95}</span><span role="columnheader" className="c-tokens r" title={m.tools.tokensHint}>{m.tools.tokens}</span><span role="columnheader" className="c-last">{m.tools.last}</span><span role="columnheader">{m.tools.on}</span>
      </div>
      <div className="list-body" ref={scroller} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index]!;
            const style = { top: item.start - top, height: item.size };
            return row.kind === "bundle"
              ? <BundleLine key={`b:${row.bundle}`} row={row} bundle={bundles.find((one) => one.slug === row.bundle)} style={style} index={item.index} />
              : <Pane key={referenceOf(row.tool)} name={referenceOf(row.tool)}><ToolLine tool={row.tool} counts={counts.get(countedAs(row.tool))} style={style} index={item.index} current={item.index === at} /></Pane>;
          })}
      </div>
    </div>
  );
}

type Place = { top: number; height: number };

function BundleLine({ row, bundle, style, index }: { row: Row & { kind: "bundle" }; bundle?: BundleRow; style: Place; index: number }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (isEnabled: boolean) => data(api.PATCH("/tools/bundles/{bundleID}", { params: { path: { bundleID: row.bundle } }, body: { isEnabled } })),
    onSettled: () => Promise.all(["tools", "bundles", "tool"].map((name) => queries.invalidateQueries({ queryKey: [name] }))),
    onError: (error) => say(reason(error)),
  });
  const on = row.tools.filter(isOn).length;
  const tokens = format.short(row.tools.reduce((sum, tool) => sum + (isOn(tool) ? (tool.tokens ?? 0) : 0), 0));
  const checked = change.isPending ? change.variables : (bundle?.isEnabled ?? true);
  return (
    <div className="bundle-row" role="row" aria-rowindex={index + 1} style={style}>
      <span role="cell"><b>{bundle?.displayName ?? row.bundle}</b><span className="sub">{bundle ? `${m.bundles.kinds[bundle.kind] ?? bundle.kind} · ` : ""}{checked ? m.tools.bundleLine(on, row.tools.length, tokens) : m.tools.bundleOff(row.tools.length)}</span></span>
      <span role="cell">{bundle ? <Switch label={m.tools.switchBundle(bundle.displayName)} checked={checked} disabled={change.isPending} onChange={(next) => change.mutate(next)} /> : null}</span>
    </div>
  );
}

/** How the last call of the last day ended, and when it was. */
function LastCall({ at, code }: { at: string; code?: string | null }) {
  const [look, icon, word] = !code ? ["ok", "check", m.calls.ok] as const : isRefusal(code) ? ["off", "dash", m.calls.refused] as const : ["bad", "cross", m.calls.failed] as const;
  return <span className="row" title={code ?? undefined}><span className={`st ${look}`}><Icon name={icon} size={14} />{word}</span><span className="clip"><Ago at={at} /></span></span>;
}

function ToolLine({ tool, counts, style, index, current }: { tool: ToolRow; counts?: Counts; style: Place; index: number; current: boolean }) {
  const queries = useQueryClient();
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => { if (current) link.current?.focus(); }, [current]);
  const change = useMutation({
    mutationFn: (isEnabled: boolean) => data(api.PATCH("/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}", { params: { path: placeOf(tool) }, body: { isEnabled } })),
    onSettled: () => Promise.all(["tools", "tool"].map((name) => queries.invalidateQueries({ queryKey: [name] }))),
    onError: (error) => say(reason(error)),
  });
  const why = cause(tool);
  const path = toolPath(tool);
  return (
    <div className={`tool-row${isOn(tool) ? "" : " off"}`} role="row" aria-rowindex={index + 1} style={style}>
      <span role="cell" className="row"><Link ref={link} className="what" href={path}><span className="slug">{tool.slug}</span>{tool.version === "v1" ? null : <span className="dim"> {tool.version}</span>}<span className={`desc${why && needsAttention(tool) ? " cause" : ""}`} title={why ?? tool.description}>{why ?? tool.description}</span></Link></span>
      <span role="cell" className="c-kind sub">{m.tools.kinds[tool.type] ?? tool.type}</span>
      <span role="cell"><EffectTag effects={tool.effects} /></span>
      <span role="cell" className="c-asks sub" title={tool.asks ?? undefined}>{tool.asks ? <span className="clip">{tool.asks}</span> : m.common.never}</span>
      <span role="cell" className="c-calls sub num">{counts ? (counts.failed > 0 ? m.tools.failedOf(counts.failed, counts.calls) : format.number(counts.calls)) : "–"}</span>
      <span role="cell" className="c-p95 num r">{format.took(counts?.p95)}</span>
      <span role="cell" className="c-tokens num r">{tool.tokens === null || tool.tokens === undefined ? "–" : format.number(tool.tokens)}</span>
      <span role="cell" className="c-last sub">{counts?.lastAt ? <LastCall at={counts.lastAt} code={counts.lastCode} /> : tool.lastCalledAt ? <Ago at={tool.lastCalledAt} /> : m.common.never}</span>
      <span role="cell" className="row"><Link className="btn sm try" href={path} tabIndex={-1} aria-label={`${m.tools.try} ${tool.slug}`}>{m.tools.try}</Link><Switch label={m.tools.switchTool(tool.slug)} checked={change.isPending ? change.variables : tool.isEnabled} disabled={change.isPending} why={why ?? undefined} onChange={(next) => change.mutate(next)} /></span>
    </div>
  );
}

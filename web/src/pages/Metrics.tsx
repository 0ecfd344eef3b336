import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { api, data } from "../api/client";
import { useStats } from "../api/queries";
import { Failed, Loading, Pane, Segments } from "../components/basics";
import { CallsChart, type Hour, HoursTable, LatencyChart, WaitChart } from "../components/Charts";
import { isRefusal } from "../components/refusals";
import { format, m } from "../messages";

type Stat = { codes: Record<string, number>; calls: number; failed: number; refused: number };
const broke = (stat: Stat) => stat.failed - stat.refused;

/** The calls of one hour. */
const hrefOf = (at: string) => `/calls?from=${encodeURIComponent(at)}&to=${encodeURIComponent(new Date(new Date(at).getTime() + HOUR).toISOString())}`;

const HOUR = 3_600_000;

/** The calls of one tool: two bundles may have tools of one name. */
const ofTool = (hours: string, { tool, bundle }: { tool: string; bundle?: string | null }, more = "") => `/calls?hours=${hours}${more}&tool=${encodeURIComponent(tool)}${bundle ? `&bundle=${encodeURIComponent(bundle)}` : ""}`;

/** Every hour of a time, those without calls too. */
function useHours(hours: number) {
  const asked = useQuery({
    queryKey: ["stats", "hours", hours],
    queryFn: ({ signal }) => data(api.GET("/api/stats/hours", { params: { query: { since: new Date(Date.now() - hours * HOUR).toISOString() } }, signal })),
  });
  const list = useMemo(() => {
    const known = new Map((asked.data?.hours ?? []).map((hour) => [new Date(hour.at).getTime(), hour]));
    const last = Math.floor(Date.now() / HOUR);
    return Array.from({ length: Math.max(2, hours) }, (_, at): Hour => {
      const begun = (last - Math.max(2, hours) + 1 + at) * HOUR;
      const hour = known.get(begun);
      return { at: new Date(begun).toISOString(), calls: hour?.calls ?? 0, failed: hour?.failed ?? 0, refused: hour?.refused ?? 0, p50: hour?.durationMs.p50 ?? 0, p95: hour?.durationMs.p95 ?? 0, wait: hour && hour.answers > 0 ? hour.approvalMs.p50 : null };
    });
  }, [asked.data, hours]);
  return { ...asked, list };
}

export default function Metrics() {
  const [hours, setHours] = useState("24");
  const [asTable, setAsTable] = useState(false);
  const stats = useStats(Number(hours));
  const byHour = useHours(Number(hours));
  if (stats.error) return <Failed error={stats.error} retry={() => void stats.refetch()} />;
  const figures = stats.data;
  const total = figures?.total as (Stat & { durationMs: { p50: number; p95: number } }) | undefined;
  const tools = figures?.tools ?? [];
  const most = Math.max(1, ...tools.map((tool) => tool.calls));
  const failing = tools.map((tool) => ({ tool, failed: broke(tool as Stat), cause: Object.entries(tool.codes as Record<string, number>).filter(([code]) => !isRefusal(code)).sort((a, b) => b[1] - a[1])[0]?.[0] })).filter((one) => one.failed > 0).sort((a, b) => b.failed - a.failed);
  const worst = Math.max(1, ...failing.map((one) => one.failed));
  return (
    <>
      <div className="bar"><h1>{m.metrics.title}</h1><span className="sp" /><Segments label={m.calls.since} value={hours} choices={[["1", m.metrics.hour], ["24", m.metrics.day], ["168", m.metrics.week]]} onChange={setHours} /><button type="button" className="btn" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>{asTable ? m.metrics.chart : m.metrics.table}</button></div>
      {!figures || !total ? <Loading /> : (
        <>
          <div className="figures num">
            <Link href={`/calls?hours=${hours}`}><b>{format.number(total.calls)}</b>{m.metrics.calls}</Link>
            <Link href={`/calls?hours=${hours}&status=failed`}><b>{total.calls === 0 ? "–" : format.percent(broke(total) / total.calls)}</b>{m.metrics.failed}</Link>
            <div><b>{format.took(total.durationMs.p50)}</b>{m.metrics.median}</div>
            <div><b>{format.took(total.durationMs.p95)}</b>{m.metrics.p95}</div>
            <div><b>{byHour.data && byHour.data.approvalMs.max > 0 ? format.took(byHour.data.approvalMs.p50) : "–"}</b>{m.metrics.waitMedian}</div>
            <Link href="/approvals"><b>{format.number(Number((figures.approvals as Record<string, number>)["pending"] ?? 0))}</b>{m.metrics.waits}</Link>
          </div>
          {byHour.error ? <Failed error={byHour.error} /> : null}
          {byHour.data && byHour.list.some((hour) => hour.calls > 0 || hour.wait !== null) ? (asTable ? <HoursTable hours={byHour.list} hrefOf={hrefOf} /> : <><Pane name={`calls ${hours}`}><CallsChart hours={byHour.list} hrefOf={hrefOf} /></Pane><Pane name={`latency ${hours}`}><LatencyChart hours={byHour.list} hrefOf={hrefOf} /></Pane><Pane name={`wait ${hours}`}><WaitChart hours={byHour.list} hrefOf={hrefOf} /></Pane></>) : null}
          {tools.length === 0 ? <div className="panel"><div className="empty">{m.metrics.none}</div></div> : (
            <section className="panel scroll"><table><caption className="vh">{m.metrics.byTool}</caption><thead><tr><th>{m.calls.tool}</th><th>{m.metrics.byTool}</th><th className="r">{m.metrics.calls}</th><th className="r">{m.metrics.median}</th><th className="r">{m.metrics.p95}</th></tr></thead>
              <tbody>{tools.map((tool) => <tr key={`${tool.bundle}/${tool.tool}`}><td><Link className="slug" href={ofTool(hours, tool)}>{tool.tool}</Link></td><td className="wide"><div className="meter ok"><i style={{ width: `${(100 * tool.calls) / most}%` }} /></div></td><td className="r num">{format.number(tool.calls)}</td><td className="r num">{format.took(tool.durationMs.p50)}</td><td className="r num">{format.took(tool.durationMs.p95)}</td></tr>)}</tbody></table></section>
          )}
          {failing.length > 0 ? (
            <section className="panel scroll"><table><caption className="vh">{m.metrics.failures}</caption><thead><tr><th>{m.metrics.failures}</th><th><span className="vh">{m.metrics.chart}</span></th><th className="r">{m.metrics.failed}</th><th>{m.metrics.cause}</th></tr></thead>
              <tbody>{failing.map(({ tool, failed, cause }) => <tr key={`${tool.bundle}/${tool.tool}`}><td><Link className="slug" href={ofTool(hours, tool, "&status=failed")}>{tool.tool}</Link></td><td className="wide"><div className="meter"><i style={{ width: `${(100 * failed) / worst}%` }} /></div></td><td className="r num">{failed} / {tool.calls}</td><td><code>{cause}</code></td></tr>)}</tbody></table></section>
          ) : null}
          <p className="sub num"><Link href={`/calls?hours=${hours}&status=refused`}>{m.metrics.denials}: {format.number(total.refused)}</Link></p>
        </>
      )}
    </>
  );
}

// Charts in plain SVG: bars and lines by the hour. Each has the same figures as a table; a bar leads to the calls of its hour.

import { Link } from "wouter";
import { format, m } from "../messages";
import { useNarrow } from "./basics";

export interface Hour { at: string; calls: number; failed: number; refused: number; p50: number; p95: number; wait: number | null }

const [HEIGHT, RIGHT, BOTTOM, TOP] = [170, 64, 24, 8];

/** The next round figure that holds a value, and the steps to it. */
export function scaleOf(most: number): { top: number; ticks: number[] } {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const top = [1, 2, 4, 5, 10].map((n) => n * power).find((n) => n >= most) ?? 10 * power;
  const step = top / 4 >= 1 && Number.isInteger(top / 4) ? top / 4 : top / 2 >= 1 && Number.isInteger(top / 2) ? top / 2 : top;
  return { top, ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step) };
}

function Frame({ title, legend, hours, most, shown, children }: { title: string; legend: React.ReactNode; hours: Hour[]; most: number; shown(n: number): string; children(x: (at: number) => number, y: (n: number) => number, width: number): React.ReactNode }) {
  const { top, ticks } = scaleOf(most);
  // A drawing that shrinks with the screen would shrink its words.
  const narrow = useNarrow();
  const whole = narrow ? 360 : 1000;
  const width = (whole - RIGHT) / hours.length;
  const y = (n: number) => TOP + (HEIGHT - BOTTOM - TOP) * (1 - n / top);
  const every = Math.max(1, Math.ceil(hours.length / (narrow ? 4 : 8)));
  return (
    <section className="panel chart" aria-label={title}>
      <div className="row pad"><h2>{title}</h2><span className="row sub">{legend}</span></div>
      <svg viewBox={`0 0 ${whole} ${HEIGHT}`} role="group" aria-label={title}>
        {ticks.map((tick) => <g key={tick}><line x1="0" x2={whole - RIGHT} y1={y(tick)} y2={y(tick)} stroke="var(--line)" /><text x={whole - RIGHT + 8} y={y(tick) + 4}>{shown(tick)}</text></g>)}
        {hours.map((hour, at) => (at % every === 0 ? <text key={hour.at} x={at * width + width / 2} y={HEIGHT - 6} textAnchor="middle">{hours.length > 48 ? format.shortDay(hour.at) : format.clock(hour.at)}</text> : null))}
        {children((at) => at * width, y, width)}
      </svg>
    </section>
  );
}

export function CallsChart({ hours, hrefOf }: { hours: Hour[]; hrefOf(at: string): string }) {
  const legend = <><i className="key ok" />{m.metrics.ok} <i className="key bad" />{m.metrics.failed}</>;
  return (
    <Frame title={m.metrics.perHour} legend={legend} hours={hours} most={Math.max(1, ...hours.map((hour) => hour.calls))} shown={(n) => format.number(n)}>
      {(x, y, width) => hours.map((hour, at) => (hour.calls === 0 ? null : (
        <Link key={hour.at} href={hrefOf(hour.at)} aria-label={`${format.time(hour.at)}: ${m.metrics.callsOf(hour.calls, hour.failed)}`}>
          <title>{`${format.time(hour.at)}: ${m.metrics.callsOf(hour.calls, hour.failed)}`}</title>
          <rect x={x(at) + width * 0.1} width={width * 0.8} y={y(hour.calls)} height={y(0) - y(hour.failed)} fill="var(--bad)" />
          <rect x={x(at) + width * 0.1} width={width * 0.8} y={y(hour.calls - hour.failed)} height={y(hour.failed) - y(hour.calls)} fill="var(--acc)" />
        </Link>
      )))}
    </Frame>
  );
}

/** The parts of a line where there is something. */
function path(points: (readonly [number, number] | null)[]): string {
  return points.map((point, at) => (point ? `${points[at - 1] ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "")).join("");
}

export function LatencyChart({ hours, hrefOf }: { hours: Hour[]; hrefOf(at: string): string }) {
  const legend = <><i className="key line" />p95 <i className="key dashed" />p50</>;
  return (
    <Frame title={m.metrics.latency} legend={legend} hours={hours} most={Math.max(1, ...hours.map((hour) => hour.p95))} shown={(n) => (n === 0 ? "0" : format.took(n))}>
      {(x, y, width) => {
        const at = (pick: (hour: Hour) => number) => hours.map((hour, index) => (hour.calls === 0 ? null : [x(index) + width / 2, y(pick(hour))] as const));
        const dots = (pick: (hour: Hour) => number, colour: string) => at(pick).map((point, index) => (point ? <circle key={index} cx={point[0]} cy={point[1]} r="2.5" fill={colour} /> : null));
        // The whole column of an hour leads to its calls: a dot is too small to hit.
        const links = hours.map((hour, index) => {
          const words = `${format.time(hour.at)}: p50 ${format.took(hour.p50)}, p95 ${format.took(hour.p95)}`;
          return hour.calls === 0 ? null : <Link key={hour.at} href={hrefOf(hour.at)} aria-label={words}><title>{words}</title><rect className="hit" x={x(index)} width={width} y={TOP} height={HEIGHT - BOTTOM - TOP} /></Link>;
        });
        return <>{links}<path d={path(at((hour) => hour.p95))} fill="none" stroke="var(--ink)" strokeWidth="2" /><path d={path(at((hour) => hour.p50))} fill="none" stroke="var(--acc)" strokeWidth="2" strokeDasharray="6 4" />{dots((hour) => hour.p95, "var(--ink)")}{dots((hour) => hour.p50, "var(--acc)")}</>;
      }}
    </Frame>
  );
}

export function WaitChart({ hours, hrefOf }: { hours: Hour[]; hrefOf(at: string): string }) {
  if (hours.every((hour) => hour.wait === null)) return null;
  return (
    <Frame title={m.metrics.wait} legend={<><i className="key wait" />{m.metrics.median}</>} hours={hours} most={Math.max(1, ...hours.map((hour) => hour.wait ?? 0))} shown={(n) => (n === 0 ? "0" : format.took(n))}>
      {(x, y, width) => hours.map((hour, at) => (hour.wait === null ? null : <Link key={hour.at} href={hrefOf(hour.at)} aria-label={`${format.time(hour.at)}: ${m.metrics.wait} ${format.took(hour.wait)}`}><rect x={x(at) + width * 0.25} width={width * 0.5} y={Math.min(y(hour.wait), y(0) - 2)} height={Math.max(2, y(0) - y(hour.wait))} fill="var(--brass-fill)"><title>{`${format.time(hour.at)}: ${format.took(hour.wait)}`}</title></rect></Link>))}
    </Frame>
  );
}

export function HoursTable({ hours, hrefOf }: { hours: Hour[]; hrefOf(at: string): string }) {
  return (
    <section className="panel scroll"><table><caption className="vh">{m.metrics.perHour}</caption><thead><tr><th>{m.metrics.at}</th><th className="r">{m.metrics.calls}</th><th className="r">{m.metrics.failed}</th><th className="r">{m.metrics.refused}</th><th className="r">{m.metrics.median}</th><th className="r">p95</th><th className="r">{m.metrics.wait}</th></tr></thead>
      <tbody>{hours.filter((hour) => hour.calls > 0 || hour.wait !== null).map((hour) => <tr key={hour.at}><td><Link href={hrefOf(hour.at)}>{format.time(hour.at)}</Link></td><td className="r num">{format.number(hour.calls)}</td><td className="r num">{format.number(hour.failed)}</td><td className="r num">{format.number(hour.refused)}</td><td className="r num">{format.took(hour.p50)}</td><td className="r num">{format.took(hour.p95)}</td><td className="r num">{format.took(hour.wait)}</td></tr>)}</tbody></table></section>
  );
}

// Two calls beside each other: what they were given, what came, how long it took.

import { format, m } from "../messages";
import { Failed, Loading, Status } from "./basics";
import { useCall } from "./CallDetail";
import { Diff } from "./Diff";
import { diffLines } from "./lines";

const shown = (value: unknown) => JSON.stringify(value, null, 2) ?? "";

export function Comparison({ id, other }: { id: string; other: string }) {
  const [one, two] = [useCall(other), useCall(id)];
  if (one.asked.error) return <Failed error={one.asked.error} />;
  if (!one.asked.data || !two.asked.data) return <Loading />;
  const result = (call: typeof one) => shown(call.outcome?.ok ? call.outcome.value : call.outcome?.error);
  const parts: [string, string][] = [[m.calls.arguments, diffLines(shown(one.full.parameters), shown(two.full.parameters))], [m.calls.resultOf, diffLines(result(one), result(two))]];
  return (
    <section aria-label={m.calls.compared}>
      <h2>{m.calls.compared}</h2>
      <table><thead><tr><th><span className="vh">{m.calls.compared}</span></th><th>{m.calls.when}</th><th>{m.calls.result}</th><th className="r">{m.calls.took}</th></tr></thead>
        <tbody>{([["-", one], ["+", two]] as const).map(([sign, call]) => <tr key={sign}><td><code>{sign}</code></td><td>{call.full.startTime ? format.time(call.full.startTime) : ""}</td><td><Status status={call.asked.data!.status} ok={call.asked.data!.ok} code={call.asked.data!.code} /></td><td className="r num">{format.took(call.full.durationMs)}</td></tr>)}</tbody></table>
      {parts.map(([title, diff]) => <div key={title}><h3 className="hint">{title}</h3>{diff === "" ? <p className="sub">{m.calls.same}</p> : <Diff text={diff} />}</div>)}
    </section>
  );
}

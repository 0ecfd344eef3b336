// What holds the programs of a tool back, and what keeps each promise on this machine.

import { useQuery } from "@tanstack/react-query";
import { api, data, type Tool } from "../api/client";
import { format, m } from "../messages";
import { Failed, Loading } from "./basics";
import { Icon } from "./icons";

export function SandboxPlan({ tool }: { tool: Tool }) {
  const plan = useQuery({ queryKey: ["tool", "wall", tool.digest], queryFn: ({ signal }) => data(api.GET("/api/sandbox-plan", { params: { query: { tool: `${tool.bundle}/${tool.slug}@${tool.version}` } }, signal })) });
  return (
    <>
      <h2>{m.tool.sandbox}</h2>
      {plan.error ? <Failed error={plan.error} /> : plan.isPending ? <Loading /> : (
        <>
          {plan.data.reasons.map((reason) => <div key={reason} className="note">{reason}</div>)}
          {plan.data.refused ? <div className="note bad"><span>{plan.data.refused}</span></div> : null}
          {plan.data.lines.length === 0 ? <p className="sub">{m.tool.sandboxNone}</p> : (
            <div className="panel scroll"><table><tbody>{plan.data.lines.map((line, at) => (
              <tr key={at}><td className="sub">{line.about}</td><td>{line.promise}{line.backedBy ? <div className={line.kept ? "hint" : "msg"}>{line.kept ? m.tool.keptBy : m.tool.notKept} {line.backedBy}</div> : null}</td><td className="r"><span className={`st ${line.kept ? "ok" : "bad"}`}><Icon name={line.kept ? "check" : "warn"} size={14} /></span></td></tr>
            ))}</tbody></table></div>
          )}
          <p className="sub num">{m.tool.planLimits(format.took(plan.data.timeoutMs), plan.data.maxConcurrent)}</p>
        </>
      )}
    </>
  );
}

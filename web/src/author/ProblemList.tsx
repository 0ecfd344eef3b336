// What the checker says of a text: how many problems, each with its place, and its fix where there is one.

import { Words } from "../components/basics";
import { Icon } from "../components/icons";
import { m } from "../messages";
import type { useCheck } from "./check";
import { fromBytes, type Problem } from "./problems";

export function Problems({ checked, onFix }: { checked: ReturnType<typeof useCheck>; onFix(text: string): void }) {
  const errors = checked.problems.filter((problem) => problem.severity === "error").length;
  const warnings = checked.problems.length - errors;
  return (
    <>
      <div className="row"><h2>{m.author.problems}</h2><span role="status" className={`st ${!checked.isCurrent ? "off" : errors > 0 ? "bad" : warnings > 0 ? "wait" : "ok"}`}><Icon name={errors > 0 ? "cross" : warnings > 0 ? "warn" : "check"} size={14} />{!checked.isCurrent ? m.author.checking : errors + warnings === 0 ? m.author.fine : m.author.found(errors, warnings)}</span></div>
      {checked.error ? <div className="note bad">{checked.error}</div> : null}
      {checked.problems.length > 0 ? <div className="panel">{checked.problems.map((problem, at) => <ProblemRow key={at} problem={problem} text={checked.text} isCurrent={checked.isCurrent} onFix={onFix} />)}</div> : null}
    </>
  );
}

function ProblemRow({ problem, text, isCurrent, onFix }: { problem: Problem; text: string; isCurrent: boolean; onFix(text: string): void }) {
  const { fix } = problem;
  return (
    <div className="line top">
      <span className={`st ${problem.severity === "error" ? "bad" : "wait"}`}><Icon name={problem.severity === "error" ? "cross" : "warn"} size={14} /><span className="num">{problem.line}:{problem.column}</span></span>
      <div className="grow"><span className="sub"><Words text={problem.message} /></span>{problem.help ? <div className="hint"><Words text={problem.help} /></div> : null}<code className="hint">{problem.code}</code></div>
      {fix ? <button type="button" className="btn sm" disabled={!isCurrent} onClick={() => onFix(text.slice(0, fromBytes(text, fix.span.start)) + fix.text + text.slice(fromBytes(text, fix.span.end)))}>{m.author.fix}</button> : null}
    </div>
  );
}

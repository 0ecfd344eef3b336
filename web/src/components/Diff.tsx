import { m } from "../messages";

/** A unified diff, line by line; added and removed lines are marked by sign as well as colour. */
export function Diff({ text }: { text: string }) {
  // Both heads with one name say what stands above already.
  const heads = /^--- (.*)\n\+\+\+ \1\n/.exec(text)?.[0].length ?? 0;
  return (
    <div className="diff" tabIndex={0} role="region" aria-label={m.approvals.diff}>
      {text.slice(heads).replace(/\n$/, "").split("\n").map((line, at) => <div key={at} className={line.startsWith("@@") || line.startsWith("---") || line.startsWith("+++") ? "at" : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : undefined}>{line}</div>)}
    </div>
  );
}

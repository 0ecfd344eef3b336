// From an empty home to a tool that a model calls, in three visible steps. Gone when all are done, or hidden by the person.

import { useState } from "react";
import { Link } from "wouter";
import type { ToolRow } from "../api/client";
import { useClients, useStats } from "../api/queries";
import { m } from "../messages";
import { Command } from "./basics";

/** Whether a program has called or can call: one that starts `toolcrib mcp` itself has no token. */
const isProgram = (caller: string) => /^(tool:)?(mcp|client:)/.test(caller);

const HIDDEN = "toolcrib.firstSteps";

export function FirstSteps({ tools }: { tools: ToolRow[] }) {
  const [hidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) === "hidden");
  const stats = useStats(null).data;
  const clients = useClients().data;
  if (hidden || !stats || !clients) return null;
  const steps: [string, string, boolean, React.ReactNode][] = [
    [m.first.one, m.first.oneText, stats.total.calls > 0, <Link key="1" className="btn" href="/tools/core/list-directory/v1">{m.first.oneGo}</Link>],
    [m.first.two, m.first.twoText, tools.some((tool) => !tool.isBuiltIn), <div key="2" className="row wrap"><Link className="btn" href="/author">{m.first.twoGo}</Link></div>],
    [m.first.three, m.first.threeText, clients.length > 0 || Object.keys(stats.total.callers ?? {}).some(isProgram), <div key="3" className="stack gap"><div className="row"><Link className="btn" href="/clients">{m.first.threeGo}</Link></div><Command text="toolcrib connect claude-code" /></div>],
  ];
  if (steps.every(([, , done]) => done)) return null;
  return (
    <section className="panel" aria-label={m.first.title}>
      <div className="row pad"><h2>{m.first.title}</h2><span className="sp" /><button type="button" className="btn ghost sm" onClick={() => { localStorage.setItem(HIDDEN, "hidden"); setHidden(true); }}>{m.first.hide}</button></div>
      <div className="steps3">
        {steps.map(([title, text, done, go], at) => (
          <div key={title} className={`step-card${done ? " done" : ""}`}>
            <span className="no">{done ? "✓" : at + 1}</span>
            <div className="stack"><div><b>{title}</b>{done ? <span className="dim"> · {m.first.done}</span> : null}<div className="sub">{text}</div></div>{done ? null : <div>{go}</div>}</div>
          </div>
        ))}
      </div>
    </section>
  );
}

// Arguments at the left, output at the right, always both. Run, Stop, progress and the result share one place.

import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Link } from "wouter";
import { type Args, api, data, type Json, type Tool } from "../api/client";
import { format, m } from "../messages";
import { checker } from "../schema/check";
import { rounded } from "../schema/exact";
import { SchemaForm } from "../schema/Form";
import { hasField, type Schema } from "../schema/resolve";
import { Copy, Pretty, Segments, Status, useKey, useNow, Words } from "./basics";
import { Diff } from "./Diff";
import { elsewhere, type Elsewhere } from "./elsewhere";
import { Icon } from "./icons";
import { SaveAsTest, useTests } from "./SaveAsTest";
import type { Run, Step } from "./run";
import { block, change, fill, preview, start, stop, type Tester as State, useTester, whyNot } from "./tester";

export function Tester({ tool, file }: { tool: Tool; file?: string | null }) {
  const tester = useTester(tool);
  const schema = tool.inputSchema as Schema;
  const check = useMemo(() => checker(schema), [schema]);
  const [tried, setTried] = useState(false);
  const problems = check(tester.args);
  // A field that is missing is a problem once the person wants to run; what is typed wrong is one at once.
  const shown = Object.fromEntries(Object.entries(problems).filter(([pointer, why]) => tried || (pointer === "" ? Object.keys(tester.args).length > 0 : why !== m.form.required)));
  const isRunning = tester.run !== null && ["running", "waiting", "stopping"].includes(tester.run.state);
  const off = tool.availability.state === "ready" ? null : tool.availability.reason;
  const blocked = whyNot(tester);
  const tooLarge = rounded(tester.args);
  // What is missing cannot be right. Everything else is a hint: the server's validator is the authority.
  // So it blocks where the form has a field for it.
  const missing = Object.entries(problems).filter(([pointer, why]) => why === m.form.required && hasField(schema, tester.args, pointer));
  const run = () => {
    setTried(true);
    if (off === null && blocked === null && missing.length === 0 && !isRunning) void start(tool);
  };
  useKey((event) => event.key === "Enter" && (event.ctrlKey || event.metaKey), run);
  useKey((event) => event.key === "Escape" && isRunning, () => stop(tool));
  const wrong = [...Object.entries(tester.blocked), ...(tooLarge === null || tooLarge in tester.blocked ? [] : [[tooLarge, m.form.tooLarge] as const]), ...(tried ? missing : [])];
  return (
    <div className="two">
      <section aria-label={m.tool.args}>
        <div className="bar"><h2>{m.tool.args}</h2><span className="sp" /><Segments label={m.tool.args} value={tester.view} choices={[["form", m.tool.form], ["json", m.tool.json]]} onChange={(view) => change(tool, { view })} /></div>
        <StartFrom tool={tool} file={file} />
        {tester.view === "form" && tester.text === null
          ? <SchemaForm key={tester.filled} schema={schema} value={tester.args} problems={shown} onChange={(args) => change(tool, { args })} onBlock={(pointer, why) => block(tool, pointer, why)} />
          : <JsonView tool={tool} tester={tester} />}
        <div className="row wrap">
          {isRunning
            ? <button type="button" className="btn bad" disabled={tester.run?.state === "stopping"} onClick={() => stop(tool)}>{tester.run?.state === "stopping" ? m.tool.stopping : m.tool.stop} <kbd>Esc</kbd></button>
            : <button type="button" className="btn pri" aria-disabled={off !== null || blocked !== null} title={off ?? blocked ?? undefined} onClick={run}><Icon name="play" />{m.tool.run} <kbd>Ctrl ⏎</kbd></button>}
          <button type="button" className="btn" disabled={blocked !== null || isRunning} title={blocked ?? undefined} onClick={() => { setTried(true); void preview(tool); }}>{m.tool.preview}</button>
          <span className="sp" />
          <SaveAsTest tool={tool} file={file} args={tester.args} blocked={blocked} />
        </div>
        <div className="stack gap">
          {off !== null ? <p className="msg" role="alert">{m.tool.off} {off}</p> : null}
          {wrong.length > 0 ? <p className="msg" role="alert">{m.tool.notSent} {m.tool.fix(wrong.length)} {wrong.map(([pointer, why]) => `${pointer.slice(1) || "/"} (${why})`).join(", ")}</p> : null}
          <label className="row sub"><input type="checkbox" checked={tester.asksFirst} onChange={(event) => change(tool, { asksFirst: event.target.checked })} />{m.tool.ask}</label>
          {tester.asksFirst ? null : <p className="hint">{m.tool.counts}{tool.asks ? ` ${m.tool.asks}: ${tool.asks}.` : ""}</p>}
        </div>
      </section>
      <section aria-label={m.tool.output}>
        <Output tool={tool} run={tester.run} plan={tester.plan} onAgain={run} isRunning={isRunning} />
        <SameElsewhere tool={tool} args={tester.args} />
      </section>
    </div>
  );
}

function StartFrom({ tool, file }: { tool: Tool; file?: string | null }) {
  const tests = useTests(tool, file);
  const last = useQuery({
    queryKey: ["calls", "last", tool.name, tool.bundle, tool.version],
    // Of this version: another one may have other arguments.
    queryFn: ({ signal }) => data(api.GET("/api/calls", { params: { query: { tool: tool.name, bundle: tool.bundle, version: tool.version, status: "done", pageSize: 1 } }, signal })),
  });
  const examples = (tool.examples ?? []) as Args[];
  const call = last.data?.calls[0] as { parameters?: Args } | undefined;
  const use = (args: Args) => fill(tool, args);
  return (
    <div className="row wrap sub startfrom">
      <span>{m.tool.startFrom}</span>
      <button type="button" className="chip" onClick={() => use({})}>{m.tool.empty}</button>
      {examples.slice(0, 3).map((example, at) => <button key={at} type="button" className="chip" title={JSON.stringify(example)} onClick={() => use(example)}>{m.tool.example(at)}</button>)}
      {call?.parameters ? <button type="button" className="chip" title={JSON.stringify(call.parameters)} onClick={() => use(call.parameters!)}>{m.tool.lastCall}</button> : null}
      {tests.slice(0, 4).map((test) => <button key={test.name} type="button" className="chip" title={JSON.stringify(test.parameters)} onClick={() => use(test.parameters as Args)}>{m.tool.fromTest(test.name)}</button>)}
    </div>
  );
}

/** The same value as text. What is no JSON object stays here as it was typed, and blocks Run. */
function JsonView({ tool, tester }: { tool: Tool; tester: State }) {
  const text = tester.text ?? JSON.stringify(tester.args, null, 2);
  const [typed, setTyped] = useState(text);
  useEffect(() => {
    try {
      if (tester.text === null && JSON.stringify(JSON.parse(typed)) !== JSON.stringify(tester.args)) setTyped(text);
    } catch {
      setTyped(text);
    }
  }, [text]);
  return (
    <div className="field">
      <label className="vh" htmlFor="json-args">{m.tool.args}, JSON</label>
      <textarea id="json-args" className={`in${tester.text === null ? "" : " err"}`} rows={10} spellCheck={false} value={typed} onChange={(event) => {
        setTyped(event.target.value);
        try {
          const value = JSON.parse(event.target.value) as Json;
          if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError();
          change(tool, { args: value, text: null });
        } catch {
          change(tool, { text: event.target.value });
        }
      }} />
      {tester.text === null ? null : <div className="msg" role="alert">{m.form.notJson}. {m.form.notObject}.</div>}
    </div>
  );
}

function Output({ tool, run, plan, onAgain, isRunning }: { tool: Tool; run: Run | null; plan: State["plan"]; onAgain(): void; isRunning: boolean }) {
  return (
    <>
      <div className="bar"><h2>{m.tool.output}</h2><span role="status">{run ? <RunState run={run} /> : null}</span><span className="sp" />
        {isRunning ? <button type="button" className="btn bad sm" onClick={() => stop(tool)}>{m.tool.stop} <kbd>Esc</kbd></button> : run ? <button type="button" className="btn sm" onClick={onAgain}>{m.tool.again}</button> : null}
      </div>
      {plan ? <PlanShown plan={plan} /> : null}
      <div className="panel">
        {run === null ? <div className="empty"><b>{m.tool.nothing}</b><span>{m.tool.nothingHint}</span></div> : <RunShown run={run} />}
      </div>
    </>
  );
}

export function RunState({ run }: { run: Run }) {
  const now = useNow(100);
  const took = format.took((run.endedAt ?? now) - run.startedAt);
  if (run.state === "waiting") return <span className="st wait"><Icon name="clock" size={14} />{m.tool.waits} <Link href="/approvals">{m.nav.approvals}</Link> · <span className="num">{took}</span></span>;
  if (run.state === "lost") return <span className="st bad"><Icon name="warn" size={14} />{m.tool.lost}</span>;
  if (run.state !== "done") return <span className="st run"><Icon name="play" size={14} />{m.tool.running} · <span className="num">{took}</span></span>;
  const ms = format.took(run.outcome?.metadata?.durationMs ?? run.endedAt! - run.startedAt);
  return run.outcome?.ok ? <span className="st ok"><Icon name="check" size={14} />{m.tool.ok} · <span className="num">{ms}</span></span> : <span className="st bad"><Icon name="cross" size={14} />{m.tool.failed} {m.tool.after} <span className="num">{ms}</span></span>;
}

/** How a step stands, by shape and word. */
export function StepState({ state }: { state: Step["state"] }) {
  const [look, icon] = ({ now: ["run", "play"], ok: ["ok", "check"], failed: ["bad", "cross"], skipped: ["off", "dash"], timeout: ["bad", "clock"], cancelled: ["off", "cross"] } as const)[state] ?? ["off", "dash"];
  return <span className={`st ${look}`}><Icon name={icon} size={14} />{m.tool.steps[state] ?? state}</span>;
}

/** How long a step took, or takes so far. */
function StepTime({ step }: { step: Step }) {
  const now = useNow(step.state === "now" ? 100 : 60_000);
  if (step.state === "now" && step.startedAt !== undefined) return <>{format.took(Math.max(0, now - step.startedAt))}</>;
  return <>{step.ms === undefined ? "" : format.took(step.ms)}</>;
}

export function RunShown({ run }: { run: Run }) {
  const log = useRef<HTMLPreElement>(null);
  const [follows, setFollows] = useState(true);
  useEffect(() => {
    if (follows && log.current) log.current.scrollTop = log.current.scrollHeight;
  }, [run.log, follows]);
  const { outcome } = run;
  return (
    <>
      {outcome && !outcome.ok && outcome.error ? (
        <div className="failed" role="alert"><b><Words text={outcome.error.message} /></b><div className="sub"><code>{outcome.error.code}</code></div></div>
      ) : null}
      {run.state === "lost" ? <div className="failed"><b>{m.tool.lost}</b> {m.tool.lostHint} <code>{run.callId}</code>{run.problem ? <div className="sub">{run.problem}</div> : null}</div> : null}
      {run.steps.length > 0 ? (
        <div className="steps">{run.steps.map((step) => (
          <div key={step.name} className={`step${step.state === "now" ? " now" : ""}`}>
            <StepState state={step.state} /><b className="mono">{step.name}</b><span className="sub">{step.note}</span><span className="num sub"><StepTime step={step} /></span>
          </div>
        ))}</div>
      ) : null}
      {run.log.length > 0 || !outcome ? <pre ref={log} className={`out${outcome ? "" : " log"}`} role="log" aria-label={m.tool.output} tabIndex={0}>{run.log.map((part, at) => <span key={at} className={part.stream === "stderr" ? "stderr" : undefined}>{part.text}</span>)}{run.progress && !outcome ? `\n${run.progress}` : ""}</pre> : null}
      {outcome && !(outcome.ok && outcome.value === undefined) ? <Pretty className="out result" value={outcome.ok ? outcome.value : { ok: false, error: outcome.error }} /> : null}
      <div className="outfoot">
        {outcome ? <span>{outcome.ok && outcome.value === undefined ? m.calls.fromRecord : m.tool.exact}</span> : <label className="row"><input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} />{m.tool.follow}</label>}
        <span className="sp" />
        <Link href={`/calls/${encodeURIComponent(outcome?.metadata?.callId ?? run.callId)}`}><code>{(outcome?.metadata?.callId ?? run.callId).slice(0, 13)}…</code></Link>
      </div>
    </>
  );
}

function PlanShown({ plan: { plan, problem } }: { plan: NonNullable<State["plan"]> }) {
  if (!plan) return <div className="note bad" role="alert"><Icon name="warn" /><div><b>{m.tool.preview}:</b> {problem}</div></div>;
  return (
    <div className={`note ${plan.verdict === "ask" ? "" : plan.verdict === "deny" ? "bad" : "info"}`}>
      <div className="grow"><b>{m.tool.would}: <Words text={plan.effect} /></b><div>{m.tool.verdicts[plan.verdict]}{plan.reason ? `: ${plan.reason}` : ""}</div>{plan.diff ? <Diff text={plan.diff} /> : null}</div>
    </div>
  );
}

function SameElsewhere({ tool, args }: { tool: Tool; args: Args }) {
  const [form, setForm] = useState<Elsewhere>("cli");
  const text = elsewhere(form, tool, args, window.location.origin);
  return (
    <>
      <div className="bar wrap above"><h2>{m.tool.elsewhere}</h2><span className="sp" /><Segments<Elsewhere> label={m.tool.elsewhere} value={form} choices={[["cli", "CLI"], ["curl", "curl"], ["mcp", "MCP"], ["openai", "OpenAI"], ["anthropic", "Anthropic"]]} onChange={setForm} /></div>
      <div className="panel elsewhere"><pre>{text}</pre><Copy text={text} /></div>
    </>
  );
}

export { Status };

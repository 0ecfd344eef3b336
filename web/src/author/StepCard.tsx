// One step of a tool: what it runs, on what condition, when, and what happens if it fails.

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, data, type Json, type ToolRow } from "../api/client";
import { EffectTag } from "../components/basics";
import { m } from "../messages";
import { kindOf as fieldKind, resolve, type Schema } from "../schema/resolve";
import type { Path } from "../yaml/document";
import { Row } from "./HttpForm";

export type Fields = { [name: string]: Json };
export const KINDS = ["bash", "run", "script", "use-tool", "cmd", "pwsh"] as const;
export type StepKind = (typeof KINDS)[number];

export const kindOf = (step: Fields): StepKind => KINDS.find((kind) => step[kind] !== undefined) ?? "bash";

const object = (value: Json | undefined): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const text = (value: Json | undefined) => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

interface Props {
  at: number;
  step: Fields;
  before: string[];
  count: number;
  parameters: string[];
  tools: ToolRow[];
  isOpen: boolean;
  onOpen(): void;
  onSet(path: Path, value: Json | undefined): void;
  onRename(name: string): void;
  onKind(kind: StepKind): void;
  onMove(by: number): void;
  onRemove(): void;
}

export function StepCard(props: Props) {
  const { at, step, before, isOpen, onSet } = props;
  const name = text(step["name"]);
  const kind = kindOf(step);
  const command = text(step[kind]);
  const used = kind === "use-tool" ? props.tools.find((tool) => tool.name === command || tool.slug === command) : undefined;
  const waits = Array.isArray(step["wait-for"]) ? step["wait-for"].map(text) : null;
  const handling = object(step["error-handling"]);
  const retry = object(handling["retry"]);
  const facts = [
    step["run-condition"] === undefined ? null : `${m.author.only} ${text(step["run-condition"])}`,
    step["parallel"] === true ? m.author.together : waits ? m.author.after(waits.join(", ")) : null,
    retry["attempts"] === undefined ? null : m.author.attempts(Number(retry["attempts"])),
    handling["fallback"] === undefined ? null : m.author.hasFallback,
    step["continue-on-error"] === true ? m.author.goesOn : null,
  ].filter((one) => one !== null);
  return (
    <li className="panel stepcard">
      <div className="line">
        <span className="no num">{at + 1}</span>
        <button type="button" className="grow steptitle" aria-expanded={isOpen} onClick={props.onOpen}>
          <b className="slug">{name}</b> <span className="sub">{m.author.kinds[kind]}</span> {used ? <EffectTag effects={used.effects} /> : null}
          <code className="clip">{command.split("\n")[0]}</code>
          {facts.length > 0 ? <span className="hint block">{facts.join(" · ")}</span> : null}
        </button>
        <button type="button" className="btn sm" disabled={at === 0} aria-label={`${m.author.up}: ${name}`} onClick={() => props.onMove(-1)}>↑</button>
        <button type="button" className="btn sm" disabled={at === props.count - 1} aria-label={`${m.author.down}: ${name}`} onClick={() => props.onMove(1)}>↓</button>
        <button type="button" className="btn sm" aria-label={`${m.common.remove}: ${name}`} onClick={props.onRemove}>×</button>
      </div>
      <div className="maydo"><MayDo kind={kind} command={command} used={used} /></div>
      {isOpen ? (
        <div className="pad stack">
          <div className="pairrow">
            <Named name={name} taken={before} onRename={props.onRename} />
            <Row label={m.author.kind}><select className="in" value={kind} onChange={(event) => props.onKind(event.target.value as StepKind)}>{KINDS.filter((one) => one === kind || (one !== "cmd" && one !== "pwsh")).map((one) => <option key={one} value={one}>{m.author.kinds[one]}</option>)}</select></Row>
          </div>
          {kind === "use-tool" ? <UseTool {...props} command={command} used={used} /> : (
            <Row label={m.author.command} hint={m.author.commandHint[kind]}><textarea className="in" rows={2} spellCheck={false} value={command} onChange={(event) => onSet([kind], event.target.value)} /></Row>
          )}
          {kind === "script" ? <Row label={m.author.shell}><input className="in" value={text(step["shell"])} placeholder="bash" onChange={(event) => onSet(["shell"], event.target.value || undefined)} /></Row> : null}
          {kind === "use-tool" ? null : <Inserts {...props} onInsert={(word) => onSet([kind], `${command}${command === "" || /\s$/.test(command) ? "" : " "}${word}`)} />}
          <div className="pairrow even">
            <Row label={m.author.condition} hint={m.author.conditionHint}><input className="in" spellCheck={false} placeholder={before.length > 0 ? `{${before.at(-1)}.exit-code} == 0` : ""} value={text(step["run-condition"])} onChange={(event) => onSet(["run-condition"], event.target.value || undefined)} /></Row>
            <Row label={m.author.timeout}><input className="in" placeholder="60s" value={text(step["timeout"])} onChange={(event) => onSet(["timeout"], event.target.value || undefined)} /></Row>
          </div>
          {before.length > 0 ? (
            <fieldset className="field"><legend className="name">{m.author.begins}</legend>
              <div className="row wrap">
                <label className="row sub"><input type="radio" name={`begins-${at}`} checked={step["parallel"] !== true && !waits} onChange={() => onSet(["parallel"], undefined)} disabled={waits !== null} />{m.author.afterLast}</label>
                <label className="row sub"><input type="radio" name={`begins-${at}`} checked={step["parallel"] === true} disabled={waits !== null} onChange={() => onSet(["parallel"], true)} />{m.author.together}</label>
                {before.map((other) => <label key={other} className="row sub"><input type="checkbox" checked={waits?.includes(other) ?? false} disabled={step["parallel"] === true} onChange={(event) => {
                  const next = event.target.checked ? [...(waits ?? []), other] : (waits ?? []).filter((one) => one !== other);
                  onSet(["wait-for"], next.length > 0 ? next : undefined);
                }} />{m.author.after(other)}</label>)}
              </div>
            </fieldset>
          ) : null}
          <fieldset className="field"><legend className="name">{m.author.ifFails}</legend>
            <div className="row wrap">
              <label className="row sub">{m.author.tries}<input className="in tiny" inputMode="numeric" value={text(retry["attempts"])} placeholder="1" onChange={(event) => { const n = Number(event.target.value); onSet(["error-handling", "retry", "attempts"], event.target.value === "" || !Number.isInteger(n) ? undefined : n); }} /></label>
              {retry["attempts"] === undefined ? null : <label className="row sub">{m.author.delay}<input className="in tiny" value={text(retry["delay"])} placeholder="1s" onChange={(event) => onSet(["error-handling", "retry", "delay"], event.target.value || undefined)} /></label>}
              <label className="row sub"><input type="checkbox" checked={step["continue-on-error"] === true} onChange={(event) => onSet(["continue-on-error"], event.target.checked ? true : undefined)} />{m.author.goesOn}</label>
            </div>
            <Row label={m.author.fallback}><input className="in" spellCheck={false} value={text(handling["fallback"])} onChange={(event) => onSet(["error-handling", "fallback"], event.target.value || undefined)} /></Row>
          </fieldset>
        </div>
      ) : null}
    </li>
  );
}

const PAUSE = 300;

/** What a step may do: the programs that its command starts and what the rules say to them, or the effects of the tool that it calls. */
function MayDo({ kind, command, used }: { kind: StepKind; command: string; used?: ToolRow }) {
  const isRead = kind === "bash" || kind === "run";
  const [typed, setTyped] = useState(command);
  useEffect(() => {
    const timer = setTimeout(() => setTyped(command), PAUSE);
    return () => clearTimeout(timer);
  }, [command]);
  const rules = useQuery({
    queryKey: ["rules", "command", typed],
    enabled: isRead && typed.trim() !== "",
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => data(api.POST("/api/rules/test", { body: { command: typed } as never, signal })),
  });
  if (kind === "use-tool") return used ? <p className="hint">{m.author.mayDo} {used.effects.map((effect) => (m.author.effects as Record<string, string>)[effect] ?? effect).join(", ") || m.tools.untagged} · {m.tools.asks}: {used.asks ?? m.common.never}</p> : null;
  if (!isRead) return <p className="hint">{m.author.mayDo} {m.author.mayDoAnything}</p>;
  if (!rules.data) return null;
  const programs = [...new Set(rules.data.commands.map((one) => one.words[0] ?? ""))].filter(Boolean);
  return (
    <p className={rules.data.verdict === "deny" ? "msg" : "hint"}>{m.author.mayDo} {programs.length === 0 ? m.common.none : programs.map((program) => <code key={program}>{program} </code>)} · {m.author.rulesSay[rules.data.verdict]}
      {rules.data.findings.map((finding) => <span key={finding.rule}> · <code>{finding.rule}</code> {finding.reason}</span>)}</p>
  );
}

function Named({ name, taken, onRename }: { name: string; taken: string[]; onRename(name: string): void }) {
  const [typed, setTyped] = useState(name);
  const bad = typed !== name && (taken.includes(typed) || !/^[A-Za-z0-9_-]+$/.test(typed));
  return <Row label={m.author.name}><input className={`in${bad ? " err" : ""}`} aria-invalid={bad} value={typed} onChange={(event) => setTyped(event.target.value)} onBlur={() => (bad || typed === name ? setTyped(name) : onRename(typed))} /></Row>;
}

/** Values that a command may name: parameters, and what earlier steps came to. */
function Inserts({ parameters, before, onInsert }: Props & { onInsert(word: string): void }) {
  const words = [...parameters.map((name) => `{${name}}`), ...before.flatMap((name) => [`{${name}.output}`, `{${name}.exit-code}`])];
  if (words.length === 0) return null;
  return <div className="row wrap sub"><span>{m.author.insert}</span>{words.map((word) => <button key={word} type="button" className="chip mono" onClick={() => onInsert(word)}>{word}</button>)}</div>;
}

/** A call of another tool: its arguments, each a value or a placeholder. */
function UseTool({ at, step, tools, command, used, parameters, before, onSet }: Props & { command: string; used?: ToolRow }) {
  const tool = useQuery({
    queryKey: ["tool", "used", used?.name],
    enabled: used !== undefined,
    queryFn: ({ signal }) => data(api.GET("/api/lookup", { params: { query: { tool: used!.name } }, signal })),
  });
  const schema = (tool.data?.inputSchema ?? true) as Schema;
  const kind = fieldKind(schema, resolve(schema, schema));
  const fields = kind.kind === "object" ? kind.properties.map(([name]) => name) : [];
  const given = object(step["with"]);
  const words = [...parameters.map((name) => `{${name}}`), ...before.map((name) => `{${name}.output}`)];
  return (
    <>
      <Row label={m.author.whichTool}><input className="in" list={`tools-${at}`} value={command} onChange={(event) => onSet(["use-tool"], event.target.value)} /></Row>
      <datalist id={`tools-${at}`}>{tools.map((one) => <option key={`${one.bundle}/${one.slug}@${one.version}`} value={one.name}>{one.description}</option>)}</datalist>
      <datalist id={`values-${at}`}>{words.map((word) => <option key={word} value={word} />)}</datalist>
      {command !== "" && !used ? <p className="msg">{m.author.noSuchTool}</p> : null}
      <div className="grid2">
        {[...fields, ...Object.keys(given).filter((name) => !fields.includes(name))].map((name) => (
          <Row key={name} label={`${name}${kind.kind === "object" && kind.required.includes(name) ? ` (${m.form.required})` : ""}`}>
            <input className="in" list={`values-${at}`} value={text(given[name])} placeholder={m.form.unset} onChange={(event) => onSet(["with", name], event.target.value === "" ? undefined : asValue(event.target.value))} />
          </Row>
        ))}
      </div>
    </>
  );
}

/** A text that is a number, a switch or JSON is that value; everything else is a text. */
function asValue(typed: string): Json {
  if (!/^(-?\d+(\.\d+)?|true|false|\[.*\])$/s.test(typed)) return typed;
  try {
    return JSON.parse(typed) as Json;
  } catch {
    return typed;
  }
}

// A tool of several steps for people who do not write YAML. The text is the value: each change edits it in place, so comments stay.

import { useState } from "react";
import type { Json } from "../api/client";
import { useTools } from "../api/queries";
import { m } from "../messages";
import { append, isBlock, move, type Path, read, removeItem, rename, renameKey, set } from "../yaml/document";
import { Effects, Row } from "./HttpForm";
import { type Fields, type StepKind, KINDS, kindOf, StepCard } from "./StepCard";

const TYPES = ["string", "number", "integer", "boolean", "array", "object"];

const object = (value: Json | undefined): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});
const text = (value: Json | undefined) => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));

/** A name that none of the others has. */
export function freeName(base: string, taken: string[]): string {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!taken.includes(name)) return name;
  }
}

/** Turns the one command of a tool into its first step, so that others can follow. */
function asSteps(content: string): string {
  for (const kind of KINDS) {
    const one = read(content, [kind]);
    if (one === undefined) continue;
    const without = set(content, [kind], undefined);
    return append(without, ["steps"], { name: "first", [kind]: one });
  }
  return append(content, ["steps"], { name: "first", bash: "echo hello" });
}

export default function Builder({ content, onChange }: { content: string; onChange(content: string): void }) {
  const tools = useTools().data?.tools ?? [];
  const [open, setOpen] = useState(0);
  const listed = read(content, ["steps"]);
  const steps = Array.isArray(listed) ? listed.map(object) : [];
  const parameters = Object.entries(object(read(content, ["parameters"])));
  const isAlias = read(content, ["type"]) === "alias";
  const edit = (path: Path, value: Json | undefined) => onChange(set(content, path, value));
  const names = steps.map((step) => text(step["name"]));
  const tags = read(content, ["tags"]);
  if (isAlias) return <div className="empty"><b>{m.author.aliasNoBuilder}</b></div>;
  return (
    <div className="stack form">
      <Row label={m.author.description}><input className="in" value={text(read(content, ["description"]))} onChange={(event) => edit(["description"], event.target.value)} /></Row>
      <section aria-label={m.author.parameters}>
        <div className="bar tight"><h2>{m.author.parameters}</h2><span className="sub">{m.author.parametersHint}</span></div>
        {parameters.map(([name, value]) => <Parameter key={name} name={name} value={object(value)} taken={parameters.map(([other]) => other)} path={["parameters", name]} content={content} onChange={onChange} />)}
        <button type="button" className="btn sm" onClick={() => edit(["parameters", freeName("VALUE", parameters.map(([name]) => name)).replace("-", "_"), "description"], m.author.newParameter)}>{m.author.addParameter}</button>
      </section>
      <section aria-label={m.author.steps}>
        <div className="bar tight"><h2>{m.author.steps}</h2><span className="sub">{m.author.stepsHint}</span></div>
        {steps.length === 0 ? <div className="panel pad stack gap"><p className="sub">{m.author.oneCommand}</p><div><button type="button" className="btn" onClick={() => onChange(asSteps(content))}>{m.author.toSteps}</button></div></div> : null}
        {steps.length > 0 && !isBlock(content, ["steps"]) ? <p className="msg">{m.author.flowSteps}</p> : null}
        <ol className="stepcards">
          {steps.map((step, at) => (
            <StepCard key={at} at={at} step={step} before={names.slice(0, at)} count={steps.length} parameters={parameters.map(([name]) => name)} tools={tools} isOpen={open === at}
              onOpen={() => setOpen(open === at ? -1 : at)}
              onSet={(path, value) => edit(["steps", at, ...path], value)}
              onRename={(name) => onChange(renamed(content, names, at, name))}
              onKind={(kind) => { onChange(rename(content, ["steps", at, kindOf(step)], kind, kind === "use-tool" ? "read_file" : kindOf(step) === "use-tool" ? "echo hello" : step[kindOf(step)] ?? "")); }}
              onMove={(by) => { onChange(move(content, ["steps"], at, at + by)); setOpen(at + by); }}
              onRemove={() => onChange(removeItem(content, ["steps"], at))} />
          ))}
        </ol>
        {steps.length > 0 ? <AddStep onAdd={(kind) => {
          const name = freeName(kind === "use-tool" ? "call" : "step", names);
          onChange(append(content, ["steps"], { name, [kind]: kind === "use-tool" ? "read_file" : kind === "script" ? "print(1)" : "echo hello", ...(kind === "script" ? { shell: "python" } : {}) }));
          setOpen(steps.length);
        }} /> : null}
      </section>
      <Effects value={Array.isArray(tags) ? tags : []} onChange={(next) => edit(["tags"], next.length > 0 ? next : undefined)} />
    </div>
  );
}

/** Other steps refer to a step by its name: they follow. */
function renamed(content: string, names: string[], at: number, name: string): string {
  const old = names[at]!;
  let next = set(content, ["steps", at, "name"], name);
  const steps = read(next, ["steps"]);
  for (const [place, step] of (Array.isArray(steps) ? steps : []).entries()) {
    for (const [field, value] of Object.entries(object(step))) {
      const path: Path = ["steps", place, field];
      if (field === "wait-for" && Array.isArray(value) && value.includes(old)) next = set(next, path, value.map((one) => (one === old ? name : one)));
      else if (typeof value === "string" && field !== "name" && value.includes(`{${old}.`)) next = set(next, path, value.replaceAll(`{${old}.`, `{${name}.`));
    }
  }
  return next;
}

function AddStep({ onAdd }: { onAdd(kind: StepKind): void }) {
  return <div className="row wrap above">{(["bash", "run", "script", "use-tool"] as const).map((kind) => <button key={kind} type="button" className="btn sm" onClick={() => onAdd(kind)}>+ {m.author.kinds[kind]}</button>)}</div>;
}

function Parameter(props: { name: string; value: Fields; taken: string[]; path: Path; content: string; onChange(content: string): void }) {
  const { name, value, path, content, onChange } = props;
  const [typed, setTyped] = useState(name);
  const bad = typed !== name && (props.taken.includes(typed) || !/^[A-Za-z_][A-Za-z0-9_-]*$/.test(typed));
  const edit = (field: string, to: Json | undefined) => onChange(set(content, [...path, field], to));
  const isRequired = value["required"] !== false && value["default"] === undefined;
  return (
    <div className="item wraprow">
      <input className={`in slug${bad ? " err" : ""}`} aria-label={`${m.author.name}: ${name}`} aria-invalid={bad} value={typed} onChange={(event) => setTyped(event.target.value)} onBlur={() => (bad || typed === name ? setTyped(name) : onChange(renameKey(content, path, typed)))} />
      <select className="in" aria-label={`${m.author.type}: ${name}`} value={text(value["type"]) || "string"} onChange={(event) => edit("type", event.target.value === "string" ? undefined : event.target.value)}>{TYPES.map((type) => <option key={type}>{type}</option>)}</select>
      <input className="in" aria-label={`${m.author.description}: ${name}`} placeholder={m.author.description} value={text(value["description"])} onChange={(event) => edit("description", event.target.value)} />
      <input className="in" aria-label={`${m.author.default}: ${name}`} placeholder={isRequired ? m.form.required : m.author.default} value={text(value["default"])} onChange={(event) => edit("default", event.target.value === "" ? undefined : text(value["type"]) === "number" || text(value["type"]) === "integer" ? (Number.isFinite(Number(event.target.value)) ? Number(event.target.value) : event.target.value) : event.target.value)} />
      <button type="button" className="btn sm" aria-label={`${m.common.remove}: ${name}`} onClick={() => onChange(set(content, path, undefined))}>×</button>
    </div>
  );
}

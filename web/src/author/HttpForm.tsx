// An HTTP tool as a form. The JSON is the value: what the form does not show stays in it.

import { useMemo } from "react";
import type { Args, Json } from "../api/client";
import { m } from "../messages";

type Fields = { [name: string]: Json };

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const TYPES = ["string", "number", "integer", "boolean", "array", "object"];

const object = (value: Json | undefined): Fields => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {});

/** The tool in a text; `null` where the form would lose something: comments, several requests. */
export function httpTool(text: string): Args | null {
  try {
    const tool = JSON.parse(text) as Json;
    return typeof tool === "object" && tool !== null && !Array.isArray(tool) && !Array.isArray(tool["impl"]) && typeof object(tool["impl"])["urlTemplate"] === "string" ? tool : null;
  } catch {
    return null;
  }
}

/** Names that a text has placeholders for: arguments and secrets. */
export function placeholders(...texts: string[]): string[] {
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\$\{([A-Za-z_]\w*)\}/g)].map((found) => found[1]!)))];
}

export function HttpForm({ content, onChange }: { content: string; onChange(content: string): void }) {
  const tool = useMemo(() => httpTool(content), [content]);
  if (!tool) return <div className="empty"><b>{m.author.noForm}</b></div>;
  const impl = object(tool["impl"]);
  const schema = object(tool["argSchema"]);
  const properties = object(schema["properties"]);
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const write = (change: Fields) => onChange(`${JSON.stringify({ ...tool, ...change }, null, 2)}\n`);
  const writeImpl = (change: Fields) => write({ impl: Object.fromEntries(Object.entries({ ...impl, ...change }).filter(([, value]) => value !== undefined)) as Fields });
  const writeArgs = (next: Fields, must: Json[]) => write({ argSchema: { ...schema, type: "object", properties: next, required: must } });
  const text = (value: Json | undefined) => (typeof value === "string" ? value : "");
  const headers = Object.entries(object(impl["headers"]));
  const named = placeholders(text(impl["urlTemplate"]), text(impl["bodyTemplate"]), JSON.stringify(impl["headers"] ?? {}));
  const missing = named.filter((name) => !Object.hasOwn(properties, name));
  return (
    <div className="stack form">
      <Row label={m.author.description}><input className="in" value={text(tool["description"])} onChange={(event) => write({ description: event.target.value })} /></Row>
      <div className="pairrow">
        <Row label={m.author.method}><select className="in" value={text(impl["method"]) || "GET"} onChange={(event) => writeImpl({ method: event.target.value })}>{METHODS.map((one) => <option key={one}>{one}</option>)}</select></Row>
        <Row label="URL" hint={m.author.urlHint}><input className="in" spellCheck={false} value={text(impl["urlTemplate"])} onChange={(event) => writeImpl({ urlTemplate: event.target.value })} /></Row>
      </div>
      <fieldset className="field"><legend className="name">{m.author.arguments}</legend>
        {Object.entries(properties).map(([name, one]) => (
          <div className="item wraprow" key={name}>
            <b className="slug">{name}</b>
            <select className="in" aria-label={`${m.author.type}: ${name}`} value={text(object(one)["type"]) || "string"} onChange={(event) => writeArgs({ ...properties, [name]: { ...object(one), type: event.target.value } }, required)}>{TYPES.map((type) => <option key={type}>{type}</option>)}</select>
            <input className="in" aria-label={`${m.author.description}: ${name}`} placeholder={m.author.description} value={text(object(one)["description"])} onChange={(event) => writeArgs({ ...properties, [name]: { ...object(one), description: event.target.value } }, required)} />
            <label className="row sub"><input type="checkbox" checked={required.includes(name)} onChange={(event) => writeArgs(properties, event.target.checked ? [...required, name] : required.filter((other) => other !== name))} />{m.form.required}</label>
            <button type="button" className="btn sm" aria-label={`${m.common.remove}: ${name}`} onClick={() => { const { [name]: _, ...rest } = properties; writeArgs(rest, required.filter((other) => other !== name)); }}>×</button>
          </div>
        ))}
        {missing.map((name) => <button type="button" className="chip" key={name} onClick={() => writeArgs({ ...properties, [name]: { type: "string", description: "" } }, [...required, name])}>{m.author.makeArgument(name)}</button>)}
        {missing.length > 0 ? <p className="hint">{m.author.elseSecret}</p> : null}
      </fieldset>
      <fieldset className="field"><legend className="name">{m.author.headers}</legend>
        {headers.map(([name, value], at) => (
          <div className="item wraprow" key={at}>
            <input className="in" aria-label={m.author.headerName} value={name} onChange={(event) => writeImpl({ headers: Object.fromEntries(headers.map(([key, one], index) => [index === at ? event.target.value : key, one])) })} />
            <input className="in" aria-label={`${m.author.headerValue}: ${name}`} value={text(value)} onChange={(event) => writeImpl({ headers: Object.fromEntries(headers.map(([key, one], index) => [key, index === at ? event.target.value : one])) })} />
            <button type="button" className="btn sm" aria-label={`${m.common.remove}: ${name}`} onClick={() => writeImpl({ headers: Object.fromEntries(headers.filter((_, index) => index !== at)) })}>×</button>
          </div>
        ))}
        <button type="button" className="btn sm" disabled={headers.some(([name]) => name === "")} onClick={() => writeImpl({ headers: { ...object(impl["headers"]), "": "" } })}>{m.author.addHeader}</button>
      </fieldset>
      {["POST", "PUT", "PATCH"].includes(text(impl["method"])) ? <Row label={m.author.body} hint={m.author.bodyHint}><textarea className="in" rows={4} spellCheck={false} value={text(impl["bodyTemplate"])} onChange={(event) => writeImpl({ bodyTemplate: event.target.value })} /></Row> : null}
      <div className="pairrow">
        <Row label={m.author.encoding}><select className="in" value={text(impl["responseEncoding"]) || "json"} onChange={(event) => writeImpl({ responseEncoding: event.target.value })}>{["json", "text"].map((one) => <option key={one}>{one}</option>)}</select></Row>
        <Row label={m.author.extract} hint={m.author.extractHint}><input className="in" spellCheck={false} value={text(impl["extractExpr"])} onChange={(event) => writeImpl({ extractExpr: event.target.value })} /></Row>
      </div>
      <Effects value={(Array.isArray(tool["tags"]) ? tool["tags"] : []) as Json[]} onChange={(tags) => write({ tags })} />
    </div>
  );
}

export function Row({ label, hint, children }: { label: string; hint?: string; children: React.ReactNode }) {
  return <label className="field"><span className="name">{label}</span>{hint ? <span className="hint block">{hint}</span> : null}{children}</label>;
}

/** What a tool may do: the security tags among its tags. */
export function Effects({ value, onChange }: { value: Json[]; onChange(value: string[]): void }) {
  const tags = value.filter((tag): tag is string => typeof tag === "string");
  return (
    <fieldset className="field"><legend className="name">{m.author.does}</legend>
      <div className="row wrap">{(["read", "write", "run"] as const).map((tag) => (
        <label key={tag} className="row sub"><input type="checkbox" checked={tags.includes(tag)} onChange={(event) => onChange(event.target.checked ? [...tags, tag] : tags.filter((one) => one !== tag))} /><span className={`tag ${tag}`}>{tag}</span>{m.author.effects[tag]}</label>
      ))}</div>
      {tags.some((tag) => ["read", "write", "run"].includes(tag)) ? null : <p className="hint">{m.author.untagged}</p>}
    </fieldset>
  );
}

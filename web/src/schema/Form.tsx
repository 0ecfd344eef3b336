// A form over one JSON value, by its schema. The value is the only state: what is not sent is not in it. Text that is not a value yet (a number
// half typed, broken JSON) stays in its field and is reported, so that nothing is sent that the person did not mean.

import { createContext, useContext, useEffect, useId, useRef, useState } from "react";
import type { Args, Json } from "../api/client";
import { Words } from "../components/basics";
import { format, m } from "../messages";
import type { Problems } from "./check";
import { isRounded, rounded } from "./exact";
import { changedTo, firstValue, fits, isNullable, type Kind, kindOf, type ObjectKind, resolve, rootKind, same, type Schema, schemaOfKey, typeWord, variantOf } from "./resolve";

interface FormContext {
  root: Schema;
  problems: Problems;
  /** What the value was before, where changes are marked. */
  before?: Args;
  /** Reports that a field holds text that is no value. */
  block(pointer: string, why: string | null): void;
}

const Context = createContext<FormContext>({ root: true, problems: {}, block: () => {} });

export function SchemaForm(props: { schema: Schema; value: Args; before?: Args; problems: Problems; onChange(value: Args): void; onBlock(pointer: string, why: string | null): void }) {
  const { schema, value, before } = props;
  const kind = rootKind(schema);
  const problem = props.problems[""];
  const isEmpty = kind.kind === "object" && kind.properties.length === 0 && kind.rest === null && Object.keys(value).length === 0 && before === undefined;
  return (
    <Context value={{ root: schema, problems: props.problems, before, block: props.onBlock }}>
      {isEmpty ? <p className="dim gapbelow">{m.tool.noArgs}</p> : kind.kind === "object"
        ? <Members kind={kind} value={value} pointer="" onChange={props.onChange} />
        : <RootVariants variants={kind.variants} value={value} onChange={props.onChange} />}
      {problem ? <p className="msg gapbelow" role="alert">{problem}</p> : null}
    </Context>
  );
}

/** Arguments that are of several kinds. They are an object in any case: until a kind is chosen, those that are given are shown. */
function RootVariants({ variants, value, onChange }: { variants: Schema[]; value: Args; onChange(value: Args): void }) {
  const { root } = useContext(Context);
  const id = useId();
  const given = Object.keys(value).length > 0;
  const [chosen, setChosen] = useState(-1);
  // What came from elsewhere (the JSON view, an example) may be of another kind.
  const index = given ? variantOf(root, variants, value, chosen) : chosen;
  const kind = variants[index] === undefined ? null : kindOf(root, resolve(root, variants[index]));
  return (
    <>
      <div className="field">
        <div className="head"><label htmlFor={id} className="name">{m.form.variant}</label><span className="t">{m.form.kinds(variants.length)}</span></div>
        <select id={id} className="in" value={index} onChange={(event) => {
          const next = Number(event.target.value);
          setChosen(next);
          onChange(changedTo(root, variants[next]!, value) as Args);
        }}>
          {index < 0 ? <option value={-1}>{m.form.choose}</option> : null}
          {variants.map((variant, place) => <option key={place} value={place}>{variantName(root, variant, place)}</option>)}
        </select>
      </div>
      <Members key={index} kind={kind?.kind === "object" ? kind : NO_KIND} value={value} pointer="" onChange={onChange} />
    </>
  );
}

const NO_KIND: ObjectKind = { kind: "object", properties: [], required: [], rest: null, patterns: [], more: true };

/** The place of an argument. */
export const pointerOf = (name: string) => `/${escape(name)}`;

/** One value in a line, without the head and hint of a field. Text that is no value is reported like that of a form. */
export function InlineValue(props: { root: Schema; schema: Schema; name: string; pointer: string; value: Json | undefined; onChange(value: Json | undefined): void; onBlock(pointer: string, why: string | null): void }) {
  return (
    <Context value={{ root: props.root, problems: {}, block: props.onBlock }}>
      <Value schema={props.schema} value={props.value} pointer={props.pointer} name={props.name} labelledBy="" onChange={props.onChange} />
    </Context>
  );
}

const brief = (text: string) => (text.length > 40 ? `${text.slice(0, 40)}…` : text);

const escape = (name: string) => name.replaceAll("~", "~0").replaceAll("/", "~1");

function without(value: Args, name: string): Args {
  const { [name]: _, ...rest } = value;
  return rest;
}

function Members(props: { kind: ObjectKind; value: Args; pointer: string; onChange(value: Args): void }) {
  const { kind, value, pointer, onChange } = props;
  const { root, before } = useContext(Context);
  const known = new Set(kind.properties.map(([name]) => name));
  // Every key that is sent is drawn, also one that the schema does not name; and one that was there, so that leaving it out can be undone.
  const extra = [...new Set([...Object.keys(value), ...(before !== undefined && pointer === "" ? Object.keys(before) : [])])].filter((name) => !known.has(name));
  const [key, setKey] = useState("");
  const set = (name: string, next: Json | undefined) => onChange(next === undefined ? without(value, name) : { ...value, [name]: next });
  const valueOf = (name: string) => (Object.hasOwn(value, name) ? value[name] : undefined);
  return (
    <>
      {kind.properties.map(([name, schema]) => (
        <Field key={name} name={name} schema={schema} required={kind.required.includes(name)} pointer={`${pointer}/${escape(name)}`} value={valueOf(name)} onChange={(next) => set(name, next)} />
      ))}
      {extra.map((name) => (
        <Field key={name} name={name} schema={schemaOfKey(kind, name)} required={false} isUnnamed={kind.rest === null} pointer={`${pointer}/${escape(name)}`} value={valueOf(name)} onChange={(next) => set(name, next)} />
      ))}
      {kind.rest === null || (kind.properties.length > 0 && kind.rest === true) ? null : (
        <div className="row">
          <input className="in" aria-label={m.form.key} placeholder={m.form.key} value={key} onChange={(event) => setKey(event.target.value)} />
          <button type="button" className="btn sm" disabled={key === "" || Object.hasOwn(value, key)} title={Object.hasOwn(value, key) ? m.form.duplicate : undefined}
            onClick={() => { onChange({ ...value, [key]: firstValue(root, schemaOfKey(kind, key)) }); setKey(""); }}>{m.form.addKey}</button>
        </div>
      )}
    </>
  );
}

function Field(props: { name: string; schema: Schema; required: boolean; isUnnamed?: boolean; pointer: string; value: Json | undefined; onChange(value: Json | undefined): void }) {
  const { root, problems, before } = useContext(Context);
  const id = useId();
  const schema = resolve(root, props.schema);
  const problem = problems[props.pointer];
  const { value } = props;
  const was = before === undefined || props.pointer.indexOf("/", 1) >= 0 ? undefined : before[props.name];
  const isChanged = before !== undefined && props.pointer.indexOf("/", 1) < 0 && !same(was, value);
  const title = typeof schema["title"] === "string" && schema["title"] !== props.name ? schema["title"] : null;
  return (
    <div className="field">
      <div className="head">
        <label id={`${id}-name`} htmlFor={id} className="name">{props.name === "" ? `""` : props.name}</label>
        <span className="t">{typeWord(root, schema)}</span>
        <span className="req">
          {isChanged ? <span className="st wait">{m.form.changed} · {m.form.was(was === undefined ? m.form.unset : brief(JSON.stringify(was)))} · <button type="button" className="link" onClick={() => props.onChange(was)}>{m.common.undo}</button></span> : null}
          {value === undefined ? (props.required ? m.form.required : m.form.unset) : null}
          {value === "" ? m.form.isEmpty : null}
          {value === null ? m.form.isNull : null}
          {isNullable(schema) && value !== null ? <button type="button" className="link" onClick={() => props.onChange(null)} aria-label={`${m.form.setNull}: ${props.name}`}>{m.form.setNull}</button> : null}
          {value !== undefined ? <button type="button" className="link" onClick={() => props.onChange(undefined)} aria-label={`${m.form.clear}: ${props.name}`}>{m.form.clear}</button> : null}
        </span>
      </div>
      {props.isUnnamed ? <div className="hint">{m.form.unnamed}</div> : null}
      {title || schema["description"] ? <div className="hint" id={`${id}-hint`}>{title}{title && schema["description"] ? ": " : ""}{typeof schema["description"] === "string" ? <Words text={schema["description"]} /> : null}</div> : null}
      <Value id={id} schema={props.schema} value={value} pointer={props.pointer} name={props.name} labelledBy={`${id}-name`} describedBy={problem ? `${id}-msg` : undefined} isChanged={isChanged} onChange={props.onChange} />
      {problem && !(problem === m.form.required && value === undefined) ? <div className="msg" id={`${id}-msg`}>{problem}</div> : null}
    </div>
  );
}

interface ValueProps {
  id?: string;
  schema: Schema;
  value: Json | undefined;
  pointer: string;
  name: string;
  labelledBy: string;
  describedBy?: string;
  isChanged?: boolean;
  onChange(value: Json | undefined): void;
}

function Value(props: ValueProps) {
  const { root, problems } = useContext(Context);
  const schema = resolve(root, props.schema);
  const kind = kindOf(root, schema);
  const { value, onChange } = props;
  const hasProblem = problems[props.pointer] !== undefined && value !== undefined;
  const className = `in${hasProblem ? " err" : ""}${props.isChanged ? " chg" : ""}`;
  const usual = schema["default"] === undefined ? undefined : m.form.default(JSON.stringify(schema["default"]));
  // An item of a list has no label of its own: it is named by the list and its place.
  const common = { id: props.id, className, "aria-label": props.id ? undefined : props.name, "aria-describedby": props.describedBy, "aria-invalid": hasProblem || undefined } as const;
  if (value !== undefined && !(value === null && isNullable(schema)) && !fits(kind, value)) return <RawJson {...props} note={m.form.mustFit} />;
  switch (kind.kind) {
    case "text": {
      const text = typeof value === "string" ? value : "";
      const rows = kind.long || text.includes("\n");
      return rows
        ? <textarea {...common} rows={1} spellCheck={false} value={text} placeholder={usual} onChange={(event) => onChange(event.target.value)} />
        : <input {...common} spellCheck={false} autoComplete="off" value={text} placeholder={usual} onChange={(event) => onChange(event.target.value)} />;
    }
    case "number": return <NumberInput {...props} whole={kind.whole} common={common} usual={usual} />;
    case "boolean": return (
      <select {...common} value={value === undefined || value === null ? "" : String(value)} onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.value === "true")}>
        <option value="">{usual ?? m.form.unset}</option><option value="true">true</option><option value="false">false</option>
      </select>
    );
    case "enum": {
      const at = value === undefined ? -1 : kind.values.findIndex((one) => same(one, value));
      return (
        <select {...common} value={at} onChange={(event) => onChange(event.target.value === "-1" ? undefined : kind.values[Number(event.target.value)])}>
          <option value={-1}>{usual ?? m.form.choose}</option>
          {kind.values.map((one, index) => <option key={index} value={index}>{typeof one === "string" ? one : JSON.stringify(one)}</option>)}
        </select>
      );
    }
    case "const": case "null": {
      const only = kind.kind === "const" ? kind.value : null;
      return (
        <select {...common} value={value === undefined ? "" : "set"} onChange={(event) => onChange(event.target.value === "" ? undefined : only)}>
          <option value="">{m.form.unset}</option><option value="set">{JSON.stringify(only)}</option>
        </select>
      );
    }
    case "array": return <Items {...props} kind={kind} />;
    case "object":
      // What is not there is not drawn: a schema that contains itself ends where the value does.
      if (value === undefined || value === null) return <button type="button" id={props.id} className="btn sm" onClick={() => onChange(firstValue(root, props.schema))}>{m.form.set}</button>;
      return <div className={`nest${props.isChanged ? " chgbox" : ""}`}><Members kind={kind} value={value as Args} pointer={props.pointer} onChange={onChange} /></div>;
    case "variants": return <Variants {...props} variants={kind.variants} />;
    case "json": return <RawJson {...props} />;
  }
}

/** A list. Each item keeps its fields while others come and go, with the text in them that is no value. */
function Items(props: ValueProps & { kind: Kind & { kind: "array" } }) {
  const { root, problems } = useContext(Context);
  const { kind, onChange } = props;
  const items = Array.isArray(props.value) ? props.value : [];
  const keys = useRef<number[]>([]);
  const next = useRef(0);
  while (keys.current.length < items.length) keys.current.push(next.current++);
  keys.current.length = items.length;
  const remove = (index: number) => {
    keys.current.splice(index, 1);
    onChange(items.filter((_, at) => at !== index));
  };
  return (
    <div className={`nest${props.isChanged ? " chgbox" : ""}`}>
      {items.map((item, index) => (
        <div className="item" key={keys.current[index]}>
          <div className="field">
            <Value schema={kind.prefix[index] ?? kind.items} value={item} pointer={`${props.pointer}/${index}`} name={`${props.name} ${m.form.item(index + 1)}`} labelledBy={props.labelledBy} onChange={(changed) => onChange(items.map((one, at) => (at === index ? (changed ?? null) : one)))} />
            {isNullable(resolve(root, kind.prefix[index] ?? kind.items)) ? (item === null ? <span className="hint">{m.form.isNull}</span>
              : <button type="button" className="link" aria-label={`${m.form.setNull}: ${props.name} ${m.form.item(index + 1)}`} onClick={() => onChange(items.map((one, at) => (at === index ? null : one)))}>{m.form.setNull}</button>) : null}
            {problems[`${props.pointer}/${index}`] ? <div className="msg">{problems[`${props.pointer}/${index}`]}</div> : null}
          </div>
          <button type="button" className="btn sm" aria-label={`${m.common.remove}: ${props.name} ${m.form.item(index + 1)}`} onClick={() => remove(index)}>×</button>
        </div>
      ))}
      <button type="button" id={props.id} className="btn sm" aria-label={`${m.form.addItem}: ${props.name}`} onClick={() => onChange([...items, firstValue(root, kind.prefix[items.length] ?? kind.items)])}>{m.form.addItem}</button>
    </div>
  );
}

/** Reports what is wrong with the text of a field for as long as it is there, wherever the field moves. */
function useBlock(pointer: string, why: string | null) {
  const { block } = useContext(Context);
  useEffect(() => {
    if (why === null) return;
    block(pointer, why);
    return () => block(pointer, null);
  }, [pointer, why]);
}

/** Why a text is not a number that can be sent. */
function numberProblem(text: string, whole: boolean): string | null {
  const number = Number(text);
  if (text === "") return null;
  if (!Number.isFinite(number) || /^[+-]?0[xbo]/i.test(text)) return m.form.notNumber;
  if (whole && !Number.isInteger(number)) return m.form.notInteger;
  return isRounded(number) ? m.form.tooLarge : null;
}

function NumberInput(props: ValueProps & { whole: boolean; usual?: string; common: object }) {
  const shown = typeof props.value === "number" ? String(props.value) : "";
  const [text, setText] = useState(shown);
  const why = numberProblem(text.trim(), props.whole);
  const sent = useRef(props.value);
  // The value changed elsewhere: in the JSON view, by an example.
  useEffect(() => {
    if (props.value !== sent.current) setText(shown);
    sent.current = props.value;
  }, [props.value]);
  useBlock(props.pointer, why);
  const change = (next: string) => {
    setText(next);
    const trimmed = next.trim();
    if (numberProblem(trimmed, props.whole) !== null) return;
    sent.current = trimmed === "" ? undefined : Number(trimmed);
    props.onChange(sent.current);
  };
  return (
    <>
      <input {...props.common} inputMode={props.whole ? "numeric" : "decimal"} autoComplete="off" value={text} placeholder={props.usual} onChange={(event) => change(event.target.value)} />
      {why ? <div className="msg" role="alert">{why}</div> : null}
    </>
  );
}

/** What a person chooses a kind by: its title, its constants, or its type. */
function variantName(root: Schema, variant: Schema, place: number): string {
  const schema = resolve(root, variant);
  const kind = kindOf(root, schema);
  const constants = kind.kind === "object" ? kind.properties.filter(([, property]) => "const" in resolve(root, property)) : [];
  const needed = kind.kind === "object" ? kind.required : [];
  const word = typeof schema["title"] === "string" ? schema["title"]
    : constants.length > 0 ? constants.map(([key, property]) => `${key} ${JSON.stringify(resolve(root, property)["const"])}`).join(", ")
      : needed.length > 0 ? `${typeWord(root, schema)}: ${needed.join(", ")}` : typeWord(root, schema);
  return `${format.number(place + 1)}. ${word}`;
}

function Variants(props: ValueProps & { variants: Schema[] }) {
  const { root } = useContext(Context);
  const [chosen, setChosen] = useState(-1);
  const isSet = props.value !== undefined && props.value !== null;
  const at = isSet ? variantOf(root, props.variants, props.value!, chosen) : -1;
  if (isSet && at < 0) return <RawJson {...props} />;
  return (
    <>
      <select id={props.id} className="in" aria-label={`${m.form.variant}: ${props.name}`} value={at}
        onChange={(event) => {
          const next = Number(event.target.value);
          setChosen(next);
          props.onChange(next < 0 ? undefined : changedTo(root, props.variants[next]!, props.value));
        }}>
        <option value={-1}>{m.form.unset}</option>
        {props.variants.map((variant, place) => <option key={place} value={place}>{variantName(root, variant, place)}</option>)}
      </select>
      {isSet ? <div className="nest"><Value {...props} key={at} id={undefined} schema={props.variants[at]!} /></div> : null}
    </>
  );
}

/** Why a text is not JSON that can be sent. */
function jsonProblem(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    return rounded(JSON.parse(text) as Json) === null ? null : m.form.tooLarge;
  } catch {
    return m.form.notJson;
  }
}

function RawJson(props: ValueProps & { note?: string }) {
  const shown = props.value === undefined ? "" : JSON.stringify(props.value, null, 2);
  const [text, setText] = useState(shown);
  const why = jsonProblem(text);
  const sent = useRef(shown);
  useEffect(() => {
    if (shown !== sent.current && !sameText(text, props.value)) setText(shown);
    sent.current = shown;
  }, [shown]);
  useBlock(props.pointer, why);
  const change = (next: string) => {
    setText(next);
    if (jsonProblem(next) !== null) return;
    const value = next.trim() === "" ? undefined : (JSON.parse(next) as Json);
    sent.current = value === undefined ? "" : JSON.stringify(value, null, 2);
    props.onChange(value);
  };
  return (
    <>
      {props.note ? <div className="hint">{props.note}</div> : null}
      <textarea id={props.id} className={`in${why ? " err" : ""}`} rows={2} spellCheck={false} aria-label={props.id ? undefined : `${m.form.asJson}: ${props.name}`} placeholder="JSON" value={text} onChange={(event) => change(event.target.value)} />
      {why ? <div className="msg" role="alert">{why}</div> : null}
    </>
  );
}

function sameText(text: string, value: Json | undefined): boolean {
  try {
    return text.trim() === "" ? value === undefined : same(JSON.parse(text) as Json, value);
  } catch {
    return false;
  }
}

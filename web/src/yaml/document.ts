// YAML that is edited in place: a field is set, added or removed, and every other byte, comments included, stays as it was. It reads what
// tools' files may have: no anchors, aliases or tags. The server's reader is the authority; what is not understood here is left to the text.

import { yamlLanguage } from "@codemirror/lang-yaml";
import type { SyntaxNode } from "@lezer/common";
import type { Json } from "../api/client";

export type Path = (string | number)[];

const VALUES = new Set(["Literal", "QuotedLiteral", "BlockLiteral", "BlockMapping", "FlowMapping", "BlockSequence", "FlowSequence"]);

function valueIn(node: SyntaxNode): SyntaxNode | null {
  for (let child = node.firstChild; child; child = child.nextSibling) if (VALUES.has(child.name)) return child;
  return null;
}

function all(node: SyntaxNode, name: string): SyntaxNode[] {
  return node.getChildren(name);
}

/** The value of the whole text. */
function root(text: string): SyntaxNode | null {
  const document = yamlLanguage.parser.parse(text).topNode.getChild("Document");
  return document ? valueIn(document) : null;
}

const keyOf = (text: string, pair: SyntaxNode): string => {
  const key = pair.getChild("Key");
  const inner = key ? valueIn(key) : null;
  return inner ? String(scalar(text, inner)) : "";
};

function step(text: string, node: SyntaxNode | null, name: string | number): SyntaxNode | null {
  if (!node) return null;
  if (typeof name === "number") {
    const item = all(node, "Item")[name];
    return item ? valueIn(item) : null;
  }
  const pair = all(node, "Pair").find((one) => keyOf(text, one) === name);
  return pair ? valueIn(pair) : null;
}

function find(text: string, path: Path): SyntaxNode | null {
  return path.reduce<SyntaxNode | null>((node, name) => step(text, node, name), root(text));
}

/** Text of a block literal, without its indentation. */
function block(text: string, node: SyntaxNode): string {
  const header = text.slice(node.from, text.indexOf("\n", node.from) < 0 ? node.to : text.indexOf("\n", node.from));
  const content = node.getChild("BlockLiteralContent");
  if (!content) return "";
  const lines = text.slice(content.from, content.to).split("\n");
  const indent = Math.min(...lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length));
  const bare = lines.map((line) => line.slice(Number.isFinite(indent) ? indent : 0));
  const joined = header.startsWith(">") ? bare.join(" ").trim() : bare.join("\n").replace(/\n+$/, "");
  return header.includes("-") ? joined : `${joined}\n`;
}

function scalar(text: string, node: SyntaxNode): Json {
  const raw = text.slice(node.from, node.to);
  if (node.name === "BlockLiteral") return block(text, node);
  if (node.name === "QuotedLiteral") {
    if (raw.startsWith("'")) return raw.slice(1, -1).replaceAll("''", "'");
    try {
      return JSON.parse(raw) as Json;
    } catch {
      return raw.slice(1, -1);
    }
  }
  if (/^(true|false)$/.test(raw)) return raw === "true";
  if (/^(null|~)$/.test(raw)) return null;
  if (/^-?(0|[1-9]\d*)(\.\d+)?$/.test(raw)) return Number(raw);
  return raw.replace(/\s*\n\s*/g, " ");
}

function value(text: string, node: SyntaxNode | null): Json {
  if (!node) return null;
  if (node.name.endsWith("Mapping")) return Object.fromEntries(all(node, "Pair").map((pair) => [keyOf(text, pair), value(text, valueIn(pair))]));
  if (node.name.endsWith("Sequence")) return all(node, "Item").map((item) => value(text, valueIn(item)));
  return scalar(text, node);
}

/** What the text says at a place; `undefined` where there is nothing. */
export function read(text: string, path: Path): Json | undefined {
  const node = find(text, path);
  return node ? value(text, node) : undefined;
}

/** Whether the text has a place that can be edited: YAML without mistakes of form there. */
export function isBlock(text: string, path: Path): boolean {
  const node = find(text, path);
  return node !== null && node.name.startsWith("Block");
}

const lineStart = (text: string, at: number) => text.lastIndexOf("\n", at - 1) + 1;
const lineEnd = (text: string, at: number) => (text.indexOf("\n", at) < 0 ? text.length : text.indexOf("\n", at));
const column = (text: string, at: number) => at - lineStart(text, at);
const splice = (text: string, from: number, to: number, by: string) => text.slice(0, from) + by + text.slice(to);

/** A scalar as YAML reads it back. `indent` is that of the key. */
export function written(value: Json, indent: number): string {
  if (Array.isArray(value)) return `[${value.map((one) => (typeof one === "string" ? flow(one) : JSON.stringify(one))).join(", ")}]`;
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  if (typeof value !== "string") return JSON.stringify(value);
  const text = value.replace(/\r\n?/g, "\n");
  if (text.includes("\n") && !/^\s|\n\n$/.test(text) && !/[^\P{C}\n\t]/u.test(text)) {
    const pad = " ".repeat(indent + 2);
    const body = text.replace(/\n+$/, "");
    return `${text.endsWith("\n") ? "|" : "|-"}\n${body.split("\n").map((line) => (line === "" ? "" : pad + line)).join("\n")}`;
  }
  return plain(text) ? text : JSON.stringify(text);
}

/** Whether a text is this text in YAML without quotes. */
function plain(text: string): boolean {
  return text !== "" && text.trim() === text && !/^[-?:,[\]{}#&*!|>'"%@`~]/.test(text) && !/: |:$| #|[\n\t]/.test(text) && !/^(true|false|null|yes|no|on|off|y|n|~)$/i.test(text) && !/^[-+.]?\d/.test(text) && !/\p{C}/u.test(text);
}

const flow = (text: string) => (/^[A-Za-z_][\w -]*$/.test(text) && plain(text) ? text : JSON.stringify(text));

/** Sets a field; `undefined` removes it, and the mapping around it if that is empty then. */
export function set(text: string, path: Path, to: Json | undefined): string {
  const name = path.at(-1);
  if (typeof name !== "string") return text;
  const around = path.slice(0, -1);
  const parent = find(text, around);
  const pair = parent ? all(parent, "Pair").find((one) => keyOf(text, one) === name) : undefined;
  if (to === undefined) return pair && parent ? remove(text, parent, pair, around) : text;
  if (pair && parent) {
    const old = valueIn(pair);
    const colon = pair.getChild(":")?.to ?? pair.to;
    const indent = column(text, pair.from);
    const next = parent.name === "FlowMapping" ? inFlow(to) : written(to, indent);
    return splice(text, old && !old.name.startsWith("BlockM") && !old.name.startsWith("BlockS") ? old.from : colon, old ? old.to : colon, old && !old.name.startsWith("BlockM") && !old.name.startsWith("BlockS") ? next : ` ${next}`);
  }
  if (!parent) {
    if (around.length === 0) return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${name}: ${written(to, 0)}\n`;
    // The mapping around it is missing: it is made with its one field.
    return nested(text, around, name, to);
  }
  if (parent.name === "FlowMapping") return splice(text, parent.to - 1, parent.to - 1, `${all(parent, "Pair").length > 0 ? ", " : ""}${name}: ${inFlow(to)}`);
  if (parent.name !== "BlockMapping") return text;
  const last = all(parent, "Pair").at(-1);
  const indent = column(text, all(parent, "Pair")[0]?.from ?? parent.from);
  return insertLine(text, last?.to ?? parent.to, `${" ".repeat(indent)}${name}: ${written(to, indent)}`);
}

const inFlow = (to: Json) => (typeof to === "string" ? flow(to) : Array.isArray(to) ? written(to, 0) : JSON.stringify(to));

function nested(text: string, around: Path, name: string, to: Json): string {
  const missing = around.at(-1);
  if (typeof missing !== "string") return text;
  const above = around.slice(0, -1);
  const parent = find(text, above);
  if (!parent && above.length > 0) {
    // A level more: the inner part is written as a flow mapping, which is one line.
    return nested(text, above, missing, { [name]: to });
  }
  if (parent?.name === "FlowMapping") return set(text, around, { [name]: to });
  if (parent && parent.name !== "BlockMapping") return text;
  const pair = parent ? all(parent, "Pair").find((one) => keyOf(text, one) === missing) : undefined;
  const first = parent ? all(parent, "Pair")[0] : undefined;
  const indent = first ? column(text, first.from) : 0;
  const pad = " ".repeat(indent + 2);
  const inner = typeof to === "object" && to !== null && !Array.isArray(to) ? `\n${Object.entries(to).map(([key, one]) => `${pad}  ${key}: ${written(one, indent + 4)}`).join("\n")}` : ` ${written(to, indent + 2)}`;
  const lines = `\n${pad}${name}:${inner}`;
  if (pair) return splice(text, pair.getChild(":")?.to ?? pair.to, pair.to, lines);
  const whole = `${" ".repeat(indent)}${missing}:${lines}`;
  const last = parent ? all(parent, "Pair").at(-1) : undefined;
  return last ? insertLine(text, last.to, whole) : `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${whole}\n`;
}

/** Puts a line behind the one that has a place. */
function insertLine(text: string, at: number, line: string): string {
  const end = lineEnd(text, at);
  return splice(text, end, end, `\n${line}`) + (end === text.length ? "\n" : "");
}

function remove(text: string, parent: SyntaxNode, pair: SyntaxNode, around: Path): string {
  const pairs = all(parent, "Pair");
  if (pairs.length === 1) return typeof around.at(-1) === "string" ? set(text, around, undefined) : text;
  const at = pairs.findIndex((one) => one.from === pair.from);
  if (parent.name === "FlowMapping") {
    return at === 0 ? splice(text, pair.from, pairs[1]!.from, "") : splice(text, pairs[at - 1]!.to, pair.to, "");
  }
  const start = lineStart(text, pair.from);
  // The first field of an item shares its line with the dash: the next one takes its place.
  if (text.slice(start, pair.from).trim() !== "") return splice(text, pair.from, pairs[1]!.from, "");
  return splice(text, start, Math.min(text.length, lineEnd(text, pair.to) + 1), "");
}

/** Renames a field and gives it another value, where it is. */
export function rename(text: string, path: Path, to: string, value_: Json): string {
  const parent = find(text, path.slice(0, -1));
  const pair = parent ? all(parent, "Pair").find((one) => keyOf(text, one) === path.at(-1)) : undefined;
  const key = pair?.getChild("Key");
  if (!pair || !key) return set(text, [...path.slice(0, -1), to], value_);
  return set(splice(text, key.from, key.to, to), [...path.slice(0, -1), to], value_);
}

/** Where an item of a list begins and ends, with the comments above it. */
function spans(text: string, list: SyntaxNode): [number, number][] {
  const dashes = all(list, "-").map((dash) => lineStart(text, dash.from));
  const items = all(list, "Item");
  const starts = dashes.map((start, at) => {
    const floor = at === 0 ? 0 : Math.min(text.length, lineEnd(text, items[at - 1]!.to) + 1);
    let from = start;
    while (from > floor) {
      const before = lineStart(text, from - 1);
      if (before < floor || !text.slice(before, from).trim().startsWith("#") || column(text, before + (text.slice(before).search(/\S/))) < column(text, dashes[at]! + text.slice(dashes[at]!).search(/\S/))) break;
      from = before;
    }
    return from;
  });
  return starts.map((start, at) => [start, at + 1 < starts.length ? starts[at + 1]! : Math.min(text.length, lineEnd(text, items[at]!.to) + 1)]);
}

/** Adds an item to a list of mappings; its fields are written line by line. */
export function append(text: string, path: Path, fields: Record<string, Json>): string {
  const list = find(text, path);
  const lines = (indent: number) => Object.entries(fields).map(([name, one], at) => `${" ".repeat(indent)}${at === 0 ? "- " : "  "}${name}: ${written(one, indent + 2)}`).join("\n");
  if (list?.name === "BlockSequence") {
    const last = all(list, "Item").at(-1);
    return insertLine(text, last?.to ?? list.to, lines(column(text, all(list, "-")[0]?.from ?? list.from)));
  }
  if (list || path.length !== 1) return text;
  const pair = (root(text) ? all(root(text)!, "Pair") : []).find((one) => keyOf(text, one) === path[0]);
  if (pair) return insertLine(text, pair.to, lines(2));
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${String(path[0])}:\n${lines(2)}\n`;
}

/** Moves an item of a list with the comments above it. */
export function move(text: string, path: Path, from: number, to: number): string {
  const list = find(text, path);
  if (list?.name !== "BlockSequence") return text;
  const parts = spans(text, list);
  const [part, other] = [parts[from], parts[to]];
  if (!part || !other || from === to) return text;
  const pieces = parts.map(([start, end]) => text.slice(start, end)).map((piece) => (piece.endsWith("\n") ? piece : `${piece}\n`));
  pieces.splice(to, 0, ...pieces.splice(from, 1));
  return splice(text, parts[0]![0], parts.at(-1)![1], pieces.join(""));
}

/** Removes an item of a list; the last one takes the list with it. */
export function removeItem(text: string, path: Path, at: number): string {
  const list = find(text, path);
  if (list?.name !== "BlockSequence") return text;
  const parts = spans(text, list);
  const part = parts[at];
  if (!part) return text;
  return parts.length === 1 ? set(text, path, undefined) : splice(text, part[0], part[1], "");
}

/** Renames the key of a mapping in a mapping, as the name of a parameter. */
export function renameKey(text: string, path: Path, to: string): string {
  const parent = find(text, path.slice(0, -1));
  const pair = parent ? all(parent, "Pair").find((one) => keyOf(text, one) === path.at(-1)) : undefined;
  const key = pair?.getChild("Key");
  return key ? splice(text, key.from, key.to, plain(to) ? to : JSON.stringify(to)) : text;
}

// Which field of a format a place in the text is about, and which fields may be there: from the JSON Schema that the server makes of its table.

import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { SyntaxNode } from "@lezer/common";
import type { Schema, SchemaObject } from "../schema/resolve";

const isObject = (value: unknown): value is SchemaObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema of what is inside another one: a field by its name, or an item of a list by a number. */
function inside(schema: Schema | undefined, name: string | number): Schema | undefined {
  if (!isObject(schema)) return undefined;
  const own = typeof name === "number" ? schema["items"] : isObject(schema["properties"]) && Object.hasOwn(schema["properties"], name) ? schema["properties"][name] : schema["additionalProperties"];
  if (isObject(own)) return own;
  for (const word of ["anyOf", "oneOf", "allOf"]) {
    for (const part of Array.isArray(schema[word]) ? (schema[word] as Schema[]) : []) {
      const found = inside(part, name);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

export function schemaAt(root: Schema, path: (string | number)[]): Schema | undefined {
  return path.reduce<Schema | undefined>(inside, root);
}

/** The fields that a mapping may have. */
export function fieldsOf(schema: Schema | undefined): [string, SchemaObject][] {
  if (!isObject(schema)) return [];
  const own = isObject(schema["properties"]) ? Object.entries(schema["properties"]).flatMap(([name, one]): [string, SchemaObject][] => (isObject(one) ? [[name, one]] : [])) : [];
  const others = ["anyOf", "oneOf", "allOf"].flatMap((word) => (Array.isArray(schema[word]) ? (schema[word] as Schema[]).flatMap(fieldsOf) : []));
  const seen = new Set<string>();
  return [...own, ...others].filter(([name]) => !seen.has(name) && seen.add(name));
}

/** The values that a field may have, if they can be listed. */
export function valuesOf(schema: Schema | undefined): string[] {
  if (!isObject(schema)) return [];
  if (Array.isArray(schema["enum"])) return schema["enum"].map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return schema["type"] === "boolean" ? ["true", "false"] : [];
}

const unquoted = (text: string) => text.replace(/^["']|["']$/g, "");

function keyOf(state: EditorState, pair: SyntaxNode): string | null {
  const key = pair.getChild("Key") ?? pair.getChild("PropertyName");
  return key ? unquoted(state.sliceDoc(key.from, key.to)) : null;
}

/** The path of the innermost field around a place. */
export function pathAt(state: EditorState, at: number): (string | number)[] {
  const path: (string | number)[] = [];
  let child: SyntaxNode | null = null;
  for (let node: SyntaxNode | null = syntaxTree(state).resolveInner(at, -1); node; child = node, node = node.parent) {
    if (node.name === "Pair" || node.name === "Property") {
      const key = keyOf(state, node);
      if (key !== null) path.unshift(key);
    } else if (/Sequence$|^Array$/.test(node.name) && child) {
      path.unshift(0);
    }
  }
  return path;
}

/** The path of the mapping that a new field of this line would be in, by the indentation of YAML. */
export function parentByIndent(lines: string[], row: number, indent: number): (string | number)[] {
  const path: (string | number)[] = [];
  let least = indent;
  for (let at = row - 1; at >= 0 && least > 0; at -= 1) {
    const line = lines[at]!;
    const found = /^(\s*)((?:- )*)([\w-]+|"[^"]*")\s*:/.exec(line);
    if (!found) continue;
    const [, space, dashes, name] = found as unknown as [string, string, string, string];
    const own = space.length + dashes.length;
    if (own < least) {
      path.unshift(unquoted(name));
      least = own;
    }
    if (dashes !== "" && space.length < least) {
      path.unshift(0);
      least = space.length;
    } else if (dashes !== "" && own === least) {
      path.unshift(0);
      least = space.length;
    }
  }
  return path;
}

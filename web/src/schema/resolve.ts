// What a JSON Schema asks for at one place, as far as a form needs to know. Whether a value is valid, the server decides.

import type { Json } from "../api/client";
import { format, m } from "../messages";

export type Schema = boolean | { [keyword: string]: Json };
export type SchemaObject = { [keyword: string]: Json };

/** How a value is filled in. */
export type Kind =
  | { kind: "text"; long: boolean }
  | { kind: "number"; whole: boolean }
  | { kind: "boolean" }
  | { kind: "enum"; values: Json[] }
  | { kind: "const"; value: Json }
  | { kind: "null" }
  | { kind: "array"; items: Schema; prefix: Schema[] }
  | ObjectKind
  | { kind: "variants"; variants: Schema[] }
  | { kind: "json" };

/** An object. `rest` is what a key that a person adds begins with, `null` where none is expected; `patterns` and `more` say what other keys hold. */
export interface ObjectKind { kind: "object"; properties: [string, Schema][]; required: string[]; rest: Schema | null; patterns: [string, Schema][]; more: Schema }

const MAX_HOPS = 64;

/** How many schemas are looked at for one place. References that lead to each other would double the work with each. */
const MAX_PARTS = 400;

interface Walk { left: number }

function isObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Follows `$ref`, `$dynamicRef` and `$anchor` within one document. An unknown reference resolves to nothing. */
function target(root: Schema, reference: string): Schema | undefined {
  if (reference === "#") return root;
  if (reference.startsWith("#/")) {
    let at: unknown = root;
    for (const part of reference.slice(2).split("/")) {
      let name: string;
      try {
        name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      } catch {
        return undefined;
      }
      if (Array.isArray(at)) at = at[Number(name)];
      else if (isObject(at) && Object.hasOwn(at, name)) at = at[name];
      else return undefined;
    }
    return typeof at === "boolean" || isObject(at) ? at : undefined;
  }
  if (!isObject(root)) return undefined;
  const wanted = reference.startsWith("#") ? reference.slice(1) : reference;
  const definitions = [root["$defs"], root["definitions"]].filter(isObject);
  for (const definition of definitions.flatMap((all) => Object.values(all))) {
    if (isObject(definition) && (definition["$anchor"] === wanted || definition["$dynamicAnchor"] === wanted || definition["$id"] === reference)) return definition;
  }
  return undefined;
}

/** A schema with its references followed, the parts of `allOf` joined, and what `if` and `dependentSchemas` may ask for beside the rest. */
export function resolve(root: Schema, schema: Schema, hops = 0, walk: Walk = { left: MAX_PARTS }): SchemaObject {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  if (!isObject(schema) || hops > MAX_HOPS || walk.left <= 0) return {};
  walk.left -= 1;
  const reference = schema["$ref"] ?? schema["$dynamicRef"];
  let merged: SchemaObject = schema;
  if (typeof reference === "string") {
    const found = target(root, reference);
    const { $ref: _, $dynamicRef: __, ...own } = schema;
    merged = found === undefined ? own : join(own, resolve(root, found, hops + 1, walk));
  }
  if (Array.isArray(merged["allOf"])) {
    const { allOf, ...own } = merged;
    merged = (allOf as Schema[]).reduce<SchemaObject>((sum, part) => {
      const other = resolve(root, part, hops + 1, walk);
      // Only one choice can be drawn as such: what the other one may ask for is offered beside it.
      return join(sum, optionsOf(sum) && optionsOf(other) ? withProperties(other, optionsOf(other)!.map((option) => resolve(root, option, hops + 1, walk))) : other);
    }, own);
  }
  const dependent = isObject(merged["dependentSchemas"]) ? Object.values(merged["dependentSchemas"]) : [];
  const conditional = [...("if" in merged ? [merged["then"], merged["else"]] : []), ...dependent].filter(isObject);
  return conditional.length === 0 ? merged : withProperties(merged, conditional.map((part) => resolve(root, part, hops + 1, walk)));
}

/** A schema that offers the properties of others too. Whether they are needed depends on the value, so that none is required. */
function withProperties(schema: SchemaObject, others: SchemaObject[]): SchemaObject {
  const own = isObject(schema["properties"]) ? schema["properties"] : {};
  const more = others.flatMap((other) => (isObject(other["properties"]) ? Object.entries(other["properties"]) : []));
  const properties: SchemaObject = { ...own };
  for (const [name, property] of more) {
    const before = properties[name];
    if (Object.hasOwn(own, name)) continue;
    // Two branches may ask for the same name in two ways: either will do.
    properties[name] = before === undefined ? property : same(before, property) ? before : { anyOf: [before, property] };
  }
  return more.length === 0 ? schema : { ...schema, properties };
}

const optionsOf = (schema: SchemaObject): Schema[] | undefined => {
  const options = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(options) && options.length > 0 ? (options as Schema[]) : undefined;
};

/** Both schemas at once, for the keywords that shape a form. */
function join(one: SchemaObject, other: SchemaObject): SchemaObject {
  const joined: SchemaObject = { ...other, ...one };
  if (isObject(one["properties"]) && isObject(other["properties"])) {
    const properties: SchemaObject = { ...other["properties"] };
    for (const [name, schema] of Object.entries(one["properties"])) {
      const before = Object.hasOwn(properties, name) ? properties[name] : undefined;
      properties[name] = before === undefined ? schema : { allOf: [schema, before] };
    }
    joined["properties"] = properties;
  }
  if (Array.isArray(one["required"]) && Array.isArray(other["required"])) joined["required"] = [...new Set([...one["required"], ...other["required"]])];
  return joined;
}

/** The names that all of these require. */
function requiredByAll(schemas: SchemaObject[]): string[] {
  const [first, ...others] = schemas.map(requiredOf);
  return (first ?? []).filter((name) => others.every((names) => names.includes(name)));
}

const requiredOf = (schema: SchemaObject): string[] => (Array.isArray(schema["required"]) ? schema["required"].filter((name) => typeof name === "string") : []);

/** Whether an option of an object only says more about what is there: it draws no field of its own. */
function onlyConstrains(option: SchemaObject, properties: SchemaObject): boolean {
  const own = option["properties"];
  return !("enum" in option || "const" in option || "patternProperties" in option || "additionalProperties" in option || optionsOf(option) !== undefined)
    && types(option).every((type) => type === "object")
    && (!isObject(own) || Object.keys(own).every((name) => Object.hasOwn(properties, name) && !("const" in resolve(true, own[name] as Schema))));
}

function types(schema: SchemaObject): string[] {
  const type = schema["type"];
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((name) => typeof name === "string");
  return [];
}

/** Whether `null` is a value here besides others. */
export function isNullable(schema: SchemaObject): boolean {
  const named = types(schema);
  if (named.length > 1 && named.includes("null")) return true;
  if (schema["nullable"] === true) return true;
  const variants = schema["anyOf"] ?? schema["oneOf"];
  return Array.isArray(variants) && variants.some((variant) => isObject(variant) && variant["type"] === "null");
}

/** How a value of this schema is filled in. `schema` is resolved. */
export function kindOf(root: Schema, schema: SchemaObject, hops = 0): Kind {
  if (hops > MAX_HOPS) return { kind: "json" };
  if ("const" in schema) return { kind: "const", value: schema["const"] as Json };
  if (Array.isArray(schema["enum"])) return { kind: "enum", values: schema["enum"] };
  const options = optionsOf(schema);
  if (options !== undefined) {
    const { anyOf, oneOf, ...own } = schema;
    const second = Array.isArray(anyOf) && Array.isArray(oneOf) ? (oneOf as Schema[]).map((option) => resolve(root, option)) : [];
    const rest = withProperties(own, second);
    const others = options.filter((option) => !(isObject(option) && option["type"] === "null"));
    const properties = rest["properties"];
    if (isObject(properties) && others.length > 0) {
      const known = others.map((option) => resolve(root, option));
      if (known.every((option) => onlyConstrains(option, properties))) return kindOf(root, { ...rest, required: [...new Set([...requiredOf(rest), ...requiredByAll(known)])] }, hops + 1);
    }
    const common = Object.keys(rest).some((key) => ["properties", "type", "items", "required", "additionalProperties"].includes(key));
    const whole = others.map((option): Schema => (common ? { allOf: [rest, option] } : option));
    if (whole.length === 1) return kindOf(root, resolve(root, whole[0]!), hops + 1);
    if (whole.every((option) => "const" in resolve(root, option))) return { kind: "enum", values: whole.map((option) => resolve(root, option)["const"] as Json) };
    return { kind: "variants", variants: whole };
  }
  const named = types(schema).filter((name) => name !== "null");
  if (named.length > 1) return { kind: "variants", variants: named.map((type) => ({ ...schema, type })) };
  switch (named[0] ?? guess(schema)) {
    case "string": {
      const most = typeof schema["maxLength"] === "number" ? schema["maxLength"] : Infinity;
      return { kind: "text", long: most > 200 && schema["format"] === undefined && schema["pattern"] === undefined };
    }
    case "integer": return { kind: "number", whole: true };
    case "number": return { kind: "number", whole: false };
    case "boolean": return { kind: "boolean" };
    case "null": return { kind: "null" };
    case "array": {
      const prefix = (Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : Array.isArray(schema["items"]) ? schema["items"] : []) as Schema[];
      const items = Array.isArray(schema["items"]) ? (schema["additionalItems"] ?? true) : (schema["items"] ?? true);
      return { kind: "array", items: items as Schema, prefix };
    }
    case "object": {
      const properties = Object.entries(isObject(schema["properties"]) ? schema["properties"] : {}) as [string, Schema][];
      const patterns = (isObject(schema["patternProperties"]) ? Object.entries(schema["patternProperties"]) : []) as [string, Schema][];
      const others = schema["additionalProperties"] ?? schema["unevaluatedProperties"];
      const more = (others === undefined || others === false ? true : others) as Schema;
      const required = requiredOf(schema);
      const rest = patterns.length > 0 ? patterns[0]![1] : others === undefined ? (properties.length === 0 ? true : null) : others === false ? null : more;
      const kind: ObjectKind = { kind: "object", properties, required, rest, patterns, more };
      // What is required has a field, also where nothing else is said of it.
      for (const name of required) if (!properties.some(([known]) => known === name)) properties.push([name, schemaOfKey(kind, name)]);
      return kind;
    }
    default: return { kind: "json" };
  }
}

/** What a key holds that has no property of its own. */
export function schemaOfKey(kind: ObjectKind, name: string): Schema {
  for (const [pattern, schema] of kind.patterns) {
    try {
      if (new RegExp(pattern, "u").test(name)) return schema;
    } catch {
      // No pattern of this language: the server reads it.
    }
  }
  return kind.more;
}

function guess(schema: SchemaObject): string | undefined {
  if ("properties" in schema || "additionalProperties" in schema || "patternProperties" in schema) return "object";
  if ("items" in schema || "prefixItems" in schema) return "array";
  if ("minLength" in schema || "maxLength" in schema || "pattern" in schema || "format" in schema) return "string";
  if ("minimum" in schema || "maximum" in schema || "multipleOf" in schema) return "number";
  return types(schema).includes("null") ? "null" : undefined;
}

/** Whether a value can be edited in the control of this kind; what cannot is shown as JSON. */
export function fits(kind: Kind, value: Json): boolean {
  switch (kind.kind) {
    case "text": return typeof value === "string";
    case "number": return typeof value === "number";
    case "boolean": return typeof value === "boolean";
    case "enum": return kind.values.some((one) => same(one, value));
    case "const": return same(kind.value, value);
    case "null": return value === null;
    case "array": return Array.isArray(value);
    // A key that the schema does not name is drawn, too.
    case "object": return isObject(value);
    case "variants": case "json": return true;
  }
}

/** How well a value fits a variant, by its shape; below zero if it does not. */
function scoreOf(root: Schema, variant: Schema, value: Json): number {
  const kind = kindOf(root, resolve(root, variant));
  if (!fits(kind, value)) return -1;
  if (kind.kind !== "object" || !isObject(value)) return 1000;
  const constants = kind.properties.filter(([, property]) => "const" in resolve(root, property));
  const matching = constants.filter(([name, property]) => same(resolve(root, property)["const"] as Json, value[name] as Json));
  if (matching.length < constants.filter(([name]) => Object.hasOwn(value, name)).length) return -1;
  const known = kind.properties.filter(([name]) => Object.hasOwn(value, name)).length;
  const unknown = kind.rest === null ? Object.keys(value).length - known : 0;
  return Math.max(1, 1000 + matching.length * 100 + known - unknown * 10);
}

/** The variant that a value belongs to; the chosen one, while no other fits better. */
export function variantOf(root: Schema, variants: Schema[], value: Json, chosen = -1): number {
  const scores = variants.map((variant) => scoreOf(root, variant, value));
  const best = Math.max(-1, ...scores);
  if (best < 0) return -1;
  return scores[chosen] === best ? chosen : scores.indexOf(best);
}

export function same(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null || one === undefined || other === undefined) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [a, b] = [one as Record<string, Json>, other as Record<string, Json>];
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name]));
}

/** A first value of a kind, when a person says that there is one. Never a default of the schema: that is for the server to fill in. */
export function firstValue(root: Schema, schema: Schema, hops = 0): Json {
  const whole = resolve(root, schema);
  const kind = kindOf(root, whole);
  switch (kind.kind) {
    case "text": return "";
    case "number": return 0;
    case "boolean": return false;
    case "enum": return kind.values[0] ?? null;
    case "const": return kind.value;
    case "array": return [];
    case "object": {
      const value: { [name: string]: Json } = {};
      for (const [name, property] of kind.properties) if (kind.required.includes(name) && "const" in resolve(root, property)) value[name] = resolve(root, property)["const"] as Json;
      return value;
    }
    case "variants": return hops > MAX_HOPS ? null : firstValue(root, kind.variants[0]!, hops + 1);
    case "null": case "json": return null;
  }
}

/** A first value of another kind, with what of the value before has a place in it. */
export function changedTo(root: Schema, schema: Schema, before: Json | undefined): Json {
  const first = firstValue(root, schema);
  const kind = kindOf(root, resolve(root, schema));
  if (kind.kind !== "object" || !isObject(first) || !isObject(before)) return first;
  const kept = Object.entries(before).filter(([name, value]) => {
    const property = kind.properties.find(([known]) => known === name)?.[1];
    return property === undefined ? kind.rest !== null : fits(kindOf(root, resolve(root, property)), value as Json);
  });
  return { ...Object.fromEntries(kept), ...first } as { [name: string]: Json };
}

/** What the arguments of a tool are: an object, or several kinds of objects; never anything else. */
export function rootKind(root: Schema): ObjectKind | (Kind & { kind: "variants" }) {
  const schema = resolve(root, root);
  const kind = kindOf(root, schema);
  if (kind.kind === "object") return kind;
  if (kind.kind === "variants") {
    const objects = kind.variants.filter((variant) => kindOf(root, resolve(root, variant)).kind === "object");
    if (objects.length > 1) return { kind: "variants", variants: objects };
    if (objects.length === 1) return kindOf(root, resolve(root, objects[0]!)) as ObjectKind;
  }
  const { anyOf: _, oneOf: __, enum: ___, const: ____, ...rest } = schema;
  const plain = kindOf(root, { ...rest, type: "object" });
  return plain.kind === "object" ? plain : { kind: "object", properties: [], required: [], rest: true, patterns: [], more: true };
}

/** Whether the form has a field at this pointer: what is missing there can be filled in. */
export function hasField(root: Schema, value: Json, pointer: string): boolean {
  let kind: Kind = rootKind(root);
  let at: Json | undefined = value;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    for (let hops = 0; kind.kind === "variants" && hops < MAX_HOPS; hops += 1) {
      const chosen: Schema | undefined = kind.variants[at === undefined ? -1 : variantOf(root, kind.variants, at)];
      if (chosen === undefined) return false;
      kind = kindOf(root, resolve(root, chosen));
    }
    let schema: Schema | undefined;
    if (kind.kind === "object") {
      const found = kind.properties.find(([known]) => known === name)?.[1];
      schema = found ?? (isObject(at) && Object.hasOwn(at, name) ? schemaOfKey(kind, name) : undefined);
    } else if (kind.kind === "array") schema = kind.prefix[Number(name)] ?? kind.items;
    if (schema === undefined) return false;
    kind = kindOf(root, resolve(root, schema));
    at = isObject(at) ? (Object.hasOwn(at, name) ? (at[name] as Json) : undefined) : Array.isArray(at) ? at[Number(name)] : undefined;
  }
  return true;
}

/** What a person reads as the type of a value. */
export function typeWord(root: Schema, schema: SchemaObject, depth = 0): string {
  const kind = kindOf(root, schema);
  const word = (() => {
    switch (kind.kind) {
      case "text": return typeof schema["format"] === "string" ? `string · ${schema["format"]}` : "string";
      case "number": return kind.whole ? "integer" : "number";
      case "array": return kind.prefix.length > 0 ? m.form.tuple : depth > 2 ? m.form.array : m.form.arrayOf(typeWord(root, resolve(root, kind.items), depth + 1));
      case "object": return kind.properties.length === 0 ? m.form.map : "object";
      case "variants": return m.form.kinds(kind.variants.length);
      case "json": return m.form.any;
      default: return kind.kind;
    }
  })();
  const bounds = typeof schema["minimum"] === "number" && typeof schema["maximum"] === "number" ? ` ${format.exact(schema["minimum"])}–${format.exact(schema["maximum"])}` : "";
  return word + bounds + (isNullable(schema) ? " · null" : "");
}

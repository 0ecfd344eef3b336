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
  | { kind: "object"; properties: [string, Schema][]; required: string[]; rest: Schema | null }
  | { kind: "variants"; variants: Schema[] }
  | { kind: "json" };

const MAX_HOPS = 64;

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

/** A schema with its references followed and the parts of `allOf` joined. */
export function resolve(root: Schema, schema: Schema, hops = 0): SchemaObject {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  if (!isObject(schema) || hops > MAX_HOPS) return {};
  const reference = schema["$ref"] ?? schema["$dynamicRef"];
  let merged: SchemaObject = schema;
  if (typeof reference === "string") {
    const found = target(root, reference);
    const { $ref: _, $dynamicRef: __, ...own } = schema;
    merged = found === undefined ? own : { ...resolve(root, found, hops + 1), ...own };
  }
  if (Array.isArray(merged["allOf"])) {
    const { allOf, ...own } = merged;
    merged = (allOf as Schema[]).reduce<SchemaObject>((sum, part) => join(sum, resolve(root, part, hops + 1)), own);
  }
  return merged;
}

/** Both schemas at once, for the keywords that shape a form. */
function join(one: SchemaObject, other: SchemaObject): SchemaObject {
  const joined: SchemaObject = { ...other, ...one };
  if (isObject(one["properties"]) && isObject(other["properties"])) {
    const properties: SchemaObject = { ...other["properties"] };
    for (const [name, schema] of Object.entries(one["properties"])) {
      const before = properties[name];
      properties[name] = before === undefined ? schema : { allOf: [schema, before] };
    }
    joined["properties"] = properties;
  }
  if (Array.isArray(one["required"]) && Array.isArray(other["required"])) joined["required"] = [...new Set([...one["required"], ...other["required"]])];
  return joined;
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
  const options = schema["anyOf"] ?? schema["oneOf"];
  if (Array.isArray(options) && options.length > 0) {
    const { anyOf: _, oneOf: __, ...rest } = schema;
    const others = (options as Schema[]).filter((option) => !(isObject(option) && option["type"] === "null"));
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
      const patterns = isObject(schema["patternProperties"]) ? Object.values(schema["patternProperties"]) : [];
      const more = schema["additionalProperties"] ?? schema["unevaluatedProperties"];
      const rest = patterns.length > 0 ? (patterns[0] as Schema) : more === undefined ? (properties.length === 0 ? true : null) : more === false ? null : (more as Schema);
      return { kind: "object", properties, required: Array.isArray(schema["required"]) ? (schema["required"] as string[]) : [], rest };
    }
    default: return { kind: "json" };
  }
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
    case "object": return isObject(value) && Object.keys(value).every((name) => kind.rest !== null || kind.properties.some(([known]) => known === name));
    case "variants": case "json": return true;
  }
}

/** The variant that a value belongs to, by its shape. */
export function variantOf(root: Schema, variants: Schema[], value: Json): number {
  const score = (variant: Schema): number => {
    const schema = resolve(root, variant);
    const kind = kindOf(root, schema);
    if (!fits(kind, value)) return -1;
    if (kind.kind === "object" && isObject(value)) {
      const constants = kind.properties.filter(([, property]) => "const" in resolve(root, property));
      const matching = constants.filter(([name, property]) => same(resolve(root, property)["const"] as Json, value[name] as Json));
      if (matching.length < constants.filter(([name]) => name in value).length) return -1;
      return 1 + matching.length * 10 + kind.properties.filter(([name]) => name in value).length;
    }
    return 1;
  };
  let best = -1;
  let bestScore = 0;
  variants.forEach((variant, index) => {
    const found = score(variant);
    if (found > bestScore) [best, bestScore] = [index, found];
  });
  return best;
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

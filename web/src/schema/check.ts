// Hints under fields while a person types. The server's validator is the authority; a schema that this one does not take gives no hints.

import { type OutputUnit, Validator } from "@cfworker/json-schema";
import type { Json } from "../api/client";
import { format, m } from "../messages";
import type { Schema } from "./resolve";

/** Problems by JSON pointer. */
export type Problems = Record<string, string>;

/** What says only that something inside it is wrong. */
const AROUND = new Set(["properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "prefixItems", "$ref", "$recursiveRef", "allOf", "if", "dependentSchemas"]);

export function checker(schema: Schema): (value: Json) => Problems {
  let validator: Validator;
  try {
    validator = new Validator(schema as never, "2020-12", false);
  } catch {
    return () => ({});
  }
  return (value) => {
    try {
      const problems: Problems = {};
      // What another kind of the value would have been: said only if nothing better is known.
      const weak: Problems = {};
      for (const error of validator.validate(value).errors) {
        if (AROUND.has(error.keyword)) continue;
        const missing = error.keyword === "required" ? /"(.*)"/s.exec(error.error)?.[1] : undefined;
        const place = error.instanceLocation.slice(1) + (missing === undefined ? "" : `/${missing.replaceAll("~", "~0").replaceAll("/", "~1")}`);
        const isKind = /\/(anyOf|oneOf)\//.test(error.keywordLocation) && ["type", "const", "required", "false"].includes(error.keyword);
        if (error.keyword === "anyOf" || error.keyword === "oneOf") weak[place] = m.form.hints["variant"]!("");
        else if (isKind) continue;
        else problems[place] ??= missing === undefined ? hint(error) : m.form.required;
      }
      return { ...weak, ...problems };
    } catch {
      return {};
    }
  };
}

/** The page's own words for a keyword. The validator's sentence gives the limit alone. */
function hint({ keyword, error }: OutputUnit): string {
  return m.form.hints[keyword]?.(limitOf(keyword, error)) ?? m.form.hint;
}

function limitOf(keyword: string, error: string): string {
  switch (keyword) {
    case "type": return [...error.slice(error.indexOf("Expected")).matchAll(/"(\w+)"/g)].map((found) => found[1]).join(", ");
    case "const": return /match (.*)\.$/s.exec(error)?.[1] ?? "";
    case "format": return /format "(.*)"/.exec(error)?.[1] ?? "";
    case "dependentRequired": return /have "(.*)"\.$/.exec(error)?.[1] ?? "";
    default: {
      const limit = /(-?\d[\d.e+-]*?)\)?\.$/.exec(error)?.[1] ?? /at (?:least|most) (\d+)/.exec(error)?.[1];
      return limit === undefined ? "" : format.exact(Number(limit));
    }
  }
}

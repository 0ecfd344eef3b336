// Hints under fields while a person types. The server's validator is the authority; a schema that this one does not take gives no hints.

import { Validator } from "@cfworker/json-schema";
import type { Json } from "../api/client";
import type { Schema } from "./resolve";

/** Problems by JSON pointer. */
export type Problems = Record<string, string>;

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
      for (const error of validator.validate(value).errors) {
        if (["properties", "items", "$ref", "allOf", "anyOf", "oneOf", "prefixItems"].includes(error.keyword)) continue;
        const missing = error.keyword === "required" ? /"([^"]+)"/.exec(error.error)?.[1] : undefined;
        const place = error.instanceLocation.slice(1) + (missing === undefined ? "" : `/${missing.replaceAll("~", "~0").replaceAll("/", "~1")}`);
        problems[place] ??= missing === undefined ? error.error : "required";
      }
      return problems;
    } catch {
      return {};
    }
  };
}

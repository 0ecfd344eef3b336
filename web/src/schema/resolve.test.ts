import { describe, expect, test } from "vitest";
import type { Json } from "../api/client";
import { checker } from "./check";
import { firstValue, fits, isNullable, kindOf, resolve, same, type Schema, typeWord, variantOf } from "./resolve";

const kind = (root: Schema, schema: Schema = root) => kindOf(root, resolve(root, schema));

describe("a schema becomes a form", () => {
  test("references are followed through $defs, anchors and escapes", () => {
    const root: Schema = { $defs: { "a/b~c": { type: "string" }, named: { $anchor: "here", type: "integer" }, loop: { $ref: "#/$defs/loop" } } };
    expect(kind(root, { $ref: "#/$defs/a~1b~0c" }).kind).toBe("text");
    expect(kind(root, { $ref: "#here" })).toEqual({ kind: "number", whole: true });
    expect(kind(root, { $ref: "#/$defs/loop" }).kind).toBe("json");
    expect(kind(root, { $ref: "#/$defs/gone", type: "boolean" }).kind).toBe("boolean");
    expect(kind(root, { $ref: "https://example.com/other" }).kind).toBe("json");
  });

  test("a schema that contains itself has a form of one level, and as many as the value has", () => {
    const root: Schema = { type: "object", properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#" } } } };
    const top = kind(root);
    if (top.kind !== "object") throw new Error(top.kind);
    const children = kind(root, top.properties[1]![1]);
    if (children.kind !== "array") throw new Error(children.kind);
    expect(kind(root, children.items).kind).toBe("object");
    expect(firstValue(root, children.items)).toEqual({});
  });

  test("allOf is joined", () => {
    const joined = kind({ allOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "number" } }, required: ["b"] }] });
    expect(joined).toMatchObject({ kind: "object", required: expect.arrayContaining(["a", "b"]) as unknown });
    if (joined.kind === "object") expect(joined.properties.map(([name]) => name).sort()).toEqual(["a", "b"]);
  });

  test("null beside one other kind is that kind, which may be null", () => {
    for (const schema of [{ type: ["string", "null"] }, { anyOf: [{ type: "string" }, { type: "null" }] }, { type: "string", nullable: true }] as Schema[]) {
      expect(kind(schema).kind).toBe("text");
      expect(isNullable(resolve(schema, schema))).toBe(true);
    }
    expect(kind({ type: "null" }).kind).toBe("null");
    expect(kind({ oneOf: [{ const: "a" }, { const: "b" }] })).toEqual({ kind: "enum", values: ["a", "b"] });
  });

  test("the variant of a value is the one that fits it best", () => {
    const variants: Schema[] = [
      { type: "object", properties: { kind: { const: "file" }, path: { type: "string" } } },
      { type: "object", properties: { kind: { const: "url" }, url: { type: "string" } } },
      { type: "string" },
    ];
    expect(variantOf(true, variants, { kind: "url", url: "x" })).toBe(1);
    expect(variantOf(true, variants, { kind: "file" })).toBe(0);
    expect(variantOf(true, variants, "x")).toBe(2);
    expect(variantOf(true, variants, 3)).toBe(-1);
  });

  test("no schema, however odd, throws or ends in a default that nobody chose", () => {
    const odd: Schema[] = [
      true, false, {}, { type: [] }, { type: "unheard" }, { type: 3 }, { enum: [] }, { const: null }, { anyOf: [] }, { anyOf: [true, false] }, { oneOf: [{}] },
      { allOf: [true] }, { allOf: [{ allOf: [{ $ref: "#" }] }] }, { $ref: "#" }, { $ref: "" }, { $ref: "#/%" }, { items: false }, { items: [true, { type: "string" }] }, { prefixItems: [{ type: "integer" }] },
      { properties: { "": { type: "string" }, __proto__: { type: "string" }, constructor: {} } }, { patternProperties: { "^x": { type: "string" } } }, { additionalProperties: { type: "integer" } },
      { additionalProperties: false }, { unevaluatedProperties: { type: "string" } }, { type: ["integer", "string", "null"] }, { not: {} }, { if: {}, then: {}, else: {} }, { dependentSchemas: { a: {} } },
      { type: "string", default: "x" }, { type: "object", properties: { a: { default: 1 } }, required: ["a"] }, { minimum: 3 }, { format: "date" }, { contains: {} }, { maxLength: 1e400 }, { type: "array", items: { $ref: "#" } },
    ];
    const values: Json[] = [null, true, 0, 1.5, "", "x", [], [1, [2]], {}, { a: { b: [null] } }];
    for (const schema of odd) {
      const found = kind(schema);
      for (const value of values) {
        expect(typeof fits(found, value)).toBe("boolean");
        checker(schema)(value);
        if (found.kind === "variants") variantOf(schema, found.variants, value);
      }
      expect(JSON.stringify(firstValue(schema, schema)) ?? "").not.toMatch(/"x"|"a":1/);
    }
  });
});

test("values are compared by what they are", () => {
  expect(same({ a: [1, { b: null }] }, { a: [1, { b: null }] })).toBe(true);
  expect(same({ a: 1 }, { b: 1 })).toBe(false);
  expect(same({}, { a: 1 })).toBe(false);
  expect(same([], {})).toBe(false);
  expect(same(undefined, null)).toBe(false);
});

test("hints name the field, missing ones by their own place", () => {
  const check = checker({ type: "object", required: ["a/b"], properties: { n: { type: "integer", minimum: 1 } } });
  const problems = check({ n: 0 });
  expect(problems["/a~1b"]).toBe("required");
  expect(problems["/n"]).toBe("at least 1");
});

test("a schema that contains itself ends, whatever is asked of it", () => {
  const itself: Schema[] = [
    { $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } }, $ref: "#/$defs/list" },
    { anyOf: [{ $ref: "#" }] },
    { oneOf: [{ $ref: "#" }, { $ref: "#" }] },
    { type: "array", items: { $ref: "#" } },
  ];
  for (const schema of itself) {
    expect(typeof typeWord(schema, resolve(schema, schema))).toBe("string");
    expect(() => firstValue(schema, schema)).not.toThrow();
  }
});

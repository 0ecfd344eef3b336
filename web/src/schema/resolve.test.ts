import { describe, expect, test } from "vitest";
import type { Json } from "../api/client";
import { checker } from "./check";
import { changedTo, firstValue, fits, hasField, isNullable, kindOf, resolve, rootKind, same, type Schema, typeWord, variantOf } from "./resolve";

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

describe("the arguments of a tool", () => {
  const either: Schema = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }, { not: { required: ["a"] }, properties: { b: { minLength: 2 } } }] };

  test("stay one form where the kinds only say what goes together", () => {
    expect(rootKind(either)).toMatchObject({ kind: "object", required: [] });
    expect(rootKind({ ...either, oneOf: either.anyOf!, anyOf: [{ required: ["b", "a"] }, { required: ["b"] }] })).toMatchObject({ kind: "object", required: ["b"] });
    // An option that draws a field, or names a constant, is a kind.
    for (const option of [{ properties: { c: {} } }, { properties: { a: { const: "x" } } }, { additionalProperties: false }] as Schema[]) {
      expect(rootKind({ ...either, anyOf: [option, { required: ["b"] }] }).kind).toBe("variants");
    }
  });

  test("are an object whatever the schema says", () => {
    const odd: Schema[] = [true, false, {}, { type: "string" }, { enum: [{ a: 1 }] }, { const: { a: 1 } }, { anyOf: [{ type: "string" }, { type: "integer" }] }, { $ref: "#" }, { type: ["object", "string"] }, { anyOf: [{ type: "object", properties: { a: {} } }, { type: "string" }] }];
    for (const schema of odd) expect(rootKind(schema).kind, JSON.stringify(schema)).toBe("object");
  });

  test("have a field for what a condition, a dependency, a list of requirements or a second choice asks for", () => {
    const names = (schema: Schema) => {
      const found = rootKind(schema);
      return found.kind === "object" ? [found.properties.map(([name]) => name), found.required] : found.kind;
    };
    expect(names({ type: "object", properties: { k: {} }, if: { required: ["k"] }, then: { properties: { n: { type: "integer" } }, required: ["n"] }, else: { properties: { s: {} } } })).toEqual([["k", "n", "s"], []]);
    expect(names({ type: "object", properties: { k: {} }, allOf: [{ if: {}, then: { properties: { n: {} } } }, { if: {}, then: { properties: { o: {} } } }] })).toEqual([expect.arrayContaining(["k", "n", "o"]), []]);
    expect(names({ type: "object", properties: { k: {} }, dependentSchemas: { k: { properties: { d: {} } } } })).toEqual([["k", "d"], []]);
    expect(names({ type: "object", required: ["x"], patternProperties: { "^x": { type: "integer" } } })).toEqual([["x"], ["x"]]);
    expect(names({ type: "object", properties: { k: {} }, anyOf: [{ required: ["k"] }], oneOf: [{ properties: { one: {} } }, { properties: { two: {} } }] })).toEqual([["k", "one", "two"], ["k"]]);
  });

  test("block a run only for what has a field", () => {
    const root: Schema = { type: "object", properties: { a: { type: "object", properties: { b: {} } }, list: { items: { type: "object", properties: { c: {} } } }, any: {} } };
    expect(["/a", "/a/b", "/list/0/c"].map((pointer) => hasField(root, {}, pointer))).toEqual([true, true, true]);
    expect(["/x", "/a/x", "/any/x"].map((pointer) => hasField(root, { a: {} }, pointer))).toEqual([false, false, false]);
    expect(hasField(root, { x: 1 }, "/x")).toBe(true);
  });

  test("keep what both kinds have when the kind changes", () => {
    const [one, two]: [Schema, Schema] = [
      { type: "object", properties: { k: { const: "x" }, name: { type: "string" }, n: { type: "integer" }, only: {} } },
      { type: "object", properties: { k: { const: "y" }, name: { type: "string" }, n: { type: "string" } }, required: ["k"] },
    ];
    expect(changedTo(true, two, { k: "x", name: "kept", n: 3, only: 1 })).toEqual({ k: "y", name: "kept" });
    expect(changedTo(true, { type: "string" }, { a: 1 })).toBe("");
    // The chosen kind stays while no other fits better.
    expect(variantOf(true, [one, two], { name: "x" }, 1)).toBe(1);
    expect(variantOf(true, [one, two], { name: "x", only: 1 }, 1)).toBe(0);
  });
});

test("references that lead to each other many times over do not hold the page", () => {
  const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`d${n}`, { allOf: [{ $ref: `#/$defs/d${n + 1}` }, { $ref: `#/$defs/d${n + 1}` }] }]));
  const root = { $defs: { ...$defs, d60: { type: "string" } }, type: "object", properties: { a: { $ref: "#/$defs/d0" } }, if: { $ref: "#" }, then: { $ref: "#" }, else: { $ref: "#" } } as unknown as Schema;
  // Followed one by one this would never end.
  const found = rootKind(root);
  if (found.kind !== "object") throw new Error(found.kind);
  expect(kind(root, found.properties[0]![1]).kind).toBe("json");
});

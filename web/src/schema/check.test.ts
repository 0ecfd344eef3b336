import { expect, test } from "vitest";
import { checker } from "./check";

const hint = (schema: object, value: unknown) => checker({ type: "object", properties: { a: schema } } as never)({ a: value } as never)["/a"];

test("each keyword has the page's own words, with the limit", () => {
  expect(hint({ type: "integer" }, "x")).toBe("takes integer");
  expect(hint({ type: ["integer", "null"] }, "x")).toBe("takes integer, null");
  expect(hint({ type: "string", minLength: 3 }, "ab")).toBe("at least 3 characters");
  expect(hint({ type: "string", maxLength: 1 }, "ab")).toBe("at most 1 characters");
  expect(hint({ type: "string", pattern: "^x" }, "ab")).toBe("does not have the form that is asked for");
  expect(hint({ type: "number", minimum: 1500 }, 2)).toBe("at least 1,500");
  expect(hint({ type: "number", exclusiveMaximum: 0.5 }, 2)).toBe("less than 0.5");
  expect(hint({ type: "number", multipleOf: 0.0001 }, 0.00015)).toBe("a multiple of 0.0001");
  expect(hint({ enum: ["a", "b"] }, "c")).toBe("is none of the values that are taken");
  expect(hint({ const: { x: 1 } }, 2)).toBe('has to be {"x":1}');
  expect(hint({ type: "array", minItems: 2 }, [1])).toBe("at least 2 items");
  expect(hint({ type: "array", uniqueItems: true }, [1, 1])).toBe("an item is there twice");
  expect(hint({ type: "object", minProperties: 2 }, { x: 1 })).toBe("at least 2 keys");
  expect(hint({ not: {} }, 1)).toBe("this value is not taken");
});

test("a missing field is named where it belongs", () => {
  expect(checker({ type: "object", required: ["a/b", 'say "x"', ""] } as never)({})).toEqual({ "/a~1b": "required", '/say "x"': "required", "/": "required" });
});

test("what another kind of the value would have needed is not said", () => {
  expect(hint({ anyOf: [{ type: "integer" }, { type: "string", maxLength: 1 }] }, "ab")).toBe("at most 1 characters");
  expect(hint({ anyOf: [{ type: "integer" }, { type: "boolean" }] }, "ab")).toBe("fits none of the kinds that are taken");
});

// Two hundred schemas that forms stumble over, each with a value that it takes. Shapes by keyword, as the JSON-Schema-Test-Suite sorts them;
// each shape is an argument itself, an item of a list, a value of a map, and one kind of value beside `null`; a shape of objects also all arguments.

const tree = { $ref: "#/$defs/tree" };

const DRAFT7 = { $schema: "http://json-schema.org/draft-07/schema#" };

/** Shape, value, what `$defs` it needs, and what else its root. */
const SHAPES = [
  ["boolean true", true, { any: ["thing"] }],
  ["empty schema", {}, [1, "two", null]],
  ["string", { type: "string" }, ""],
  ["long string", { type: "string", maxLength: 5000 }, "one\ntwo\n"],
  ["string with pattern", { type: "string", pattern: "^[a-z]+$", minLength: 1 }, "abc"],
  ["format date-time", { type: "string", format: "date-time" }, "2026-01-31T12:00:00Z"],
  ["format uri", { type: "string", format: "uri" }, "https://example.com/%C3%A4?q=1#f"],
  ["unknown format", { type: "string", format: "no-such-format" }, "x"],
  ["content", { type: "string", contentMediaType: "application/json", contentEncoding: "base64" }, "e30="],
  ["integer", { type: "integer" }, -7],
  ["bounds", { type: "integer", minimum: 1, maximum: 10 }, 3],
  ["exclusive bounds", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ["multipleOf", { type: "number", multipleOf: 0.01 }, 4.02],
  ["float that is whole", { type: "integer" }, 2],
  ["large number", { type: "number" }, 1e21],
  ["boolean", { type: "boolean" }, false],
  ["null", { type: "null" }, null],
  ["type list", { type: ["integer", "string", "null"] }, "x"],
  ["no type but bounds", { minimum: 2 }, 3],
  ["no type but length", { maxLength: 3 }, "abc"],
  ["enum of everything", { enum: [6, "foo", [], true, { foo: 12 }, null] }, { foo: 12 }],
  ["enum with 0 and false", { enum: [false, 0, ""] }, 0],
  ["const object", { const: { foo: "bar", baz: [1] } }, { foo: "bar", baz: [1] }],
  ["const null", { const: null }, null],
  ["const false", { const: false }, false],
  ["default that is not valid", { type: "integer", default: "none" }, 4],
  ["array", { type: "array", items: { type: "string" } }, ["a", ""]],
  ["array of anything", { type: "array" }, [1, [2], { three: 3 }]],
  ["tuple", { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false }, ["x", 1]],
  ["tuple with a rest", { type: "array", prefixItems: [{ type: "integer" }], items: { type: "string" } }, [1, "a", "b"]],
  ["contains", { type: "array", contains: { type: "integer", minimum: 5 }, minContains: 1, maxContains: 2 }, [1, 6]],
  ["uniqueItems", { type: "array", uniqueItems: true, minItems: 1 }, [1, true, "1"]],
  ["array of arrays", { type: "array", items: { type: "array", items: { type: "number" } } }, [[1, 2], []]],
  ["object", { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } }, required: ["a"] }, { a: "x" }],
  ["closed object", { type: "object", properties: { a: { type: "string" } }, additionalProperties: false }, {}],
  ["map", { type: "object", additionalProperties: { type: "integer" } }, { one: 1, "two/~ 2": 2 }],
  ["patternProperties", { type: "object", patternProperties: { "^x-": { type: "string" } }, additionalProperties: false }, { "x-a": "1" }],
  ["propertyNames", { type: "object", propertyNames: { maxLength: 3 } }, { abc: 1 }],
  ["names of prototypes", { type: "object", properties: { constructor: { type: "string" }, toString: { type: "integer" } } }, { constructor: "c", toString: 1 }],
  ["odd names", { type: "object", properties: { "": { type: "string" }, "a/b~c%d": { type: "string" }, "foo bar": { type: "integer" }, "ключ": { type: "boolean" } } }, { "": "e", "a/b~c%d": "f", "foo bar": 1, "ключ": true }],
  ["dependentRequired", { type: "object", properties: { card: { type: "string" }, street: { type: "string" } }, dependentRequired: { card: ["street"] } }, { card: "1", street: "x" }],
  ["dependentSchemas", { type: "object", properties: { foo: { type: "integer" } }, dependentSchemas: { foo: { properties: { bar: { type: "integer" } } } } }, { foo: 1, bar: 2 }],
  ["if then else", { type: "object", properties: { k: { enum: ["a", "b"] } }, if: { properties: { k: { const: "a" } }, required: ["k"] }, then: { properties: { n: { type: "integer" } } }, else: { properties: { s: { type: "string" } } } }, { k: "b", s: "x" }],
  ["allOf", { allOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: { type: "boolean" } } }] }, { a: "x", b: true }],
  ["allOf of the same property", { type: "object", allOf: [{ properties: { a: { minLength: 1 } } }, { properties: { a: { type: "string", maxLength: 3 } } }] }, { a: "ab" }],
  ["anyOf", { anyOf: [{ type: "integer" }, { type: "string", maxLength: 3 }] }, "abc"],
  ["oneOf by a constant", { oneOf: [{ type: "object", properties: { k: { const: "x" }, v: { type: "string" } }, required: ["k"] }, { type: "object", properties: { k: { const: "y" }, n: { type: "number" } }, required: ["k"] }] }, { k: "y", n: 2.5 }],
  ["not", { type: "string", not: { const: "no" } }, "yes"],
  ["tree of itself", tree, { label: "root", children: [{ label: "leaf", children: [] }] }, { tree: { type: "object", properties: { label: { type: "string" }, children: { type: "array", items: tree } } } }],
  ["list of itself", { $ref: "#/$defs/list" }, [[], [[]]], { list: { type: "array", items: { $ref: "#/$defs/list" } } }],
  ["two that refer to each other", { $ref: "#/$defs/one" }, { two: { one: { two: null } } }, { one: { type: "object", properties: { two: { $ref: "#/$defs/two" } } }, two: { anyOf: [{ type: "null" }, { type: "object", properties: { one: { $ref: "#/$defs/one" } } }] } }],
  ["nullable", { type: "string", nullable: true }, "x"],
  ["type list with null", { type: ["string", "null"] }, null],
  ["list of what may be null", { type: "array", items: { type: ["integer", "null"] } }, [1, null]],
  ["definitions of draft 7", { $ref: "#/definitions/point" }, { x: 1, y: 2 }, null, { definitions: { point: { type: "object", properties: { x: { type: "integer" }, y: { type: "integer" } }, required: ["x"] } } }],
  ["tuple of draft 7", { type: "array", items: [{ type: "string" }, { type: "boolean" }], additionalItems: { type: "integer" } }, ["x", true, 3], null, DRAFT7],
  ["if then else of draft 7", { type: "object", properties: { k: { type: "string" } }, if: { properties: { k: { const: "a" } } }, then: { properties: { n: { type: "integer" } }, required: ["n"] } }, { k: "a", n: 1 }, null, DRAFT7],
  ["$anchor on the way", { $ref: "#/$defs/named" }, 3, { named: { $anchor: "here", type: "integer" } }],
  ["unevaluatedProperties", { type: "object", properties: { a: { type: "string" } }, unevaluatedProperties: { type: "integer" } }, { a: "x", more: 2 }],
  ["minProperties", { type: "object", minProperties: 1, additionalProperties: { type: "boolean" } }, { on: true }],
  ["required without a property", { type: "object", properties: { a: { type: "string" } }, required: ["a", "b"] }, { a: "x", b: [1] }],
  ["kinds that only require", { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] }, { b: 2 }],
  ["kinds beside properties", { type: "object", properties: { a: { type: "string" } }, oneOf: [{ properties: { b: { type: "integer" } }, required: ["b"] }, { properties: { c: { type: "boolean" } }, required: ["c"] }] }, { a: "x", c: true }],
  ["kinds of kinds", { anyOf: [{ type: "array", items: { anyOf: [{ type: "integer" }, { type: "string" }] } }, { type: "string" }] }, [1, "x"]],
  ["two conditions", { type: "object", properties: { k: { type: "string" } }, allOf: [{ if: { required: ["k"] }, then: { properties: { one: { type: "integer" } } } }, { if: { required: ["k"] }, then: { properties: { two: { type: "integer" } } } }] }, { k: "x", one: 1, two: 2 }],
  ["defaults everywhere", { type: "object", properties: { a: { type: "string", default: "x" }, b: { type: "array", items: { type: "integer" }, default: [1] }, c: { type: "boolean", default: true } }, default: { a: "y" } }, { a: "", b: [], c: false }],
];

const WRAPS = {
  argument: (shape, value) => [{ a: shape }, { a: value }],
  item: (shape, value) => [{ a: { type: "array", items: shape } }, { a: [value, value] }],
  entry: (shape, value) => [{ a: { type: "object", additionalProperties: shape } }, { a: { first: value, "second one": value } }],
  "null beside it": (shape, value) => [{ a: { anyOf: [shape, { type: "null" }] }, b: { anyOf: [{ type: "null" }, shape] } }, { a: value, b: null }],
};

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** A shape of objects is the whole of the arguments, too: a root says that they are an object. */
const ROOTS = SHAPES.filter(([, shape, value]) => isObject(value) && isObject(shape) && Object.keys(shape).length > 0 && !("$ref" in shape) && !("$dynamicRef" in shape))
  .map(([name, shape, value, defs, more]) => ({ name: `${name}, root`, args: value, schema: { ...more, ...(defs ? { $defs: defs } : {}), ...shape, type: "object" } }));

export const CASES = Object.entries(WRAPS).flatMap(([wrap, around]) => SHAPES.map(([name, shape, value, defs, more]) => {
  const [properties, args] = around(shape, value);
  return { name: `${name}, ${wrap}`, args, schema: { ...more, type: "object", properties, ...(defs ? { $defs: defs } : {}) } };
})).concat(ROOTS);

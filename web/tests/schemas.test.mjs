// The corpus of awkward schemas: each is drawn, filled by the form where that draws fields, sent, and taken by the server's own validator.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, Crib, launch, sound, visit } from "./harness.mjs";
import { CASES } from "./schemas.mjs";

const PARTS = 4;
const PART = Math.ceil(CASES.length / PARTS);
/** How many the form alone can fill; a field that takes any value is a field for JSON. */
const BY_FORM = 280;

let [browser, crib, page] = [];
let byForm = 0;
const notByForm = [];

before(async () => {
  browser = await launch();
  crib = await new Crib().serve();
  await crib.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "odd", displayName: "Odd" });
  for (const [at, { name, schema }] of CASES.entries()) {
    const stored = await crib.api("PUT", `/tools/bundles/odd/tools/shape-${at}/version/v1`, { type: "http", displayName: name, description: "Asks a server that is not there", isEnabled: true, argSchema: schema, impl: { method: "GET", urlTemplate: "http://127.0.0.1:9/none" }, tags: ["read"] });
    assert.equal(stored.error, undefined, `${name}: ${JSON.stringify(stored.error)}`);
  }
  page = await crib.page(browser);
});

after(async () => {
  await browser?.close();
  await crib?.remove();
});

/** What a box of the form has, besides its head and its hints. */
const insideOf = (box) => box.evaluate((node) => {
  const control = node.querySelector(":scope > select, :scope > input, :scope > textarea, :scope > button.btn, :scope > .nest");
  const label = control?.getAttribute("aria-label") ?? "";
  const nest = node.querySelector(":scope > .nest");
  return {
    tag: control?.tagName, isKind: label.startsWith("Kind of value"), isJson: control?.placeholder === "JSON", text: control?.innerText,
    options: [...(control?.options ?? [])].map((option) => option.text), isList: nest?.querySelector(':scope > button[aria-label^="Add an item"]') != null,
  };
});

/** The kind of value that a person would choose. */
function kindFor(options, value) {
  const words = value === null ? /null/ : Array.isArray(value) ? /array|tuple/ : { string: /string|enum/, number: /integer|number/, boolean: /boolean/, object: /object|map| "|^\d+\. [a-z]+ / }[typeof value];
  const fitting = options.filter((option) => words.test(option));
  const keys = isObject(value) ? Object.keys(value) : [];
  return fitting.find((option) => keys.some((key) => option.includes(`${key} ${JSON.stringify(value[key])}`)))
    ?? fitting.find((option) => keys.some((key) => new RegExp(`: (.*, )?${key}(,|$)`).test(option))) ?? fitting[0];
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Fills in a value as a person would, without the JSON view of all arguments. False where the form has no way to it. */
async function fill(box, value) {
  const { tag, isKind, isJson, text, options, isList } = await insideOf(box);
  if (isKind) {
    const option = value === null ? undefined : kindFor(options, value);
    if (option === undefined) return setNull(box, value);
    await box.locator(":scope > select").selectOption({ label: option });
    return fill(box.locator(":scope > .nest"), value);
  }
  if (tag === "SELECT") {
    const option = typeof value === "string" && options.includes(value) ? value : JSON.stringify(value);
    if (!options.includes(option)) return setNull(box, value);
    await box.locator(":scope > select").selectOption({ label: option });
    return true;
  }
  if (tag === "INPUT" || tag === "TEXTAREA") {
    if (!isJson && typeof value !== "string" && typeof value !== "number") return setNull(box, value);
    const field = box.locator(":scope > input, :scope > textarea").first();
    // Empty text that is sent is another value than none.
    if (value === "" && !isJson) await field.fill("x");
    await field.fill(isJson ? JSON.stringify(value) : String(value));
    return true;
  }
  if (value === null) return setNull(box, value);
  const nest = box.locator(":scope > .nest");
  if (Array.isArray(value)) {
    if (!isList) return false;
    const add = nest.locator(':scope > button[aria-label^="Add an item"]');
    for (const [at, item] of value.entries()) {
      if ((await nest.locator(":scope > .item").count()) <= at) await add.click();
      if (!(await fill(nest.locator(":scope > .item").nth(at).locator(":scope > .field"), item))) return false;
    }
    if (value.length > 0) return true;
    // A list that is there and has nothing.
    await add.click();
    await nest.locator(':scope > .item > button[aria-label^="Remove"]').click();
    return true;
  }
  if (!isObject(value)) return false;
  if (tag === "BUTTON" && text === "Set") await box.locator(":scope > button").first().click();
  return fillMembers(nest, value);
}

async function setNull(box, value) {
  const button = box.locator(':scope > .head button[aria-label^="Set to null"], :scope > button[aria-label^="Set to null"]');
  if (value !== null || (await button.count()) !== 1) return false;
  await button.click();
  return true;
}

async function fillMembers(box, value) {
  const fields = box.locator(":scope > .field");
  const placeOf = async (key) => (await fields.evaluateAll((nodes) => nodes.map((node) => node.querySelector(":scope > .head > .name")?.innerText))).indexOf(key === "" ? '""' : key);
  if ((await placeOf("Kind of value")) === 0) {
    const kind = fields.first().locator("select");
    await kind.selectOption({ label: kindFor(await kind.locator("option").allInnerTexts(), value) });
  }
  for (const [key, one] of Object.entries(value)) {
    if ((await placeOf(key)) < 0) {
      const name = box.locator(':scope > .row > input[aria-label="Key"]');
      if ((await name.count()) !== 1) return false;
      await name.fill(key);
      await box.locator(":scope > .row > button").filter({ hasText: "Add a key" }).click();
    }
    if (!(await fill(fields.nth(await placeOf(key)), one))) return false;
  }
  return true;
}

const view = (name) => page.getByRole("group", { name: "Arguments", exact: true }).getByRole("button", { name, exact: true }).click();
const json = () => page.getByLabel("Arguments, JSON");

test("there are more than two hundred of them", () => assert.ok(CASES.length >= 280, String(CASES.length)));

for (let part = 0; part < PARTS; part += 1) {
  test(`awkward schemas are drawn, filled and sent, part ${part + 1}`, async () => {
    for (let at = part * PART; at < Math.min(CASES.length, (part + 1) * PART); at += 1) {
      const { name, args } = CASES[at];
      await visit(page, `tools/odd/shape-${at}/v1`);
      await page.getByRole("heading", { level: 1, name: `shape-${at}`, exact: true }).waitFor();
      // First empty: a schema that contains itself must end.
      await page.getByRole("button", { name: /^Run/ }).first().waitFor();
      assert.equal(await page.getByText("This part of the page failed").count(), 0, `${name}, empty`);
      const filled = await fillMembers(page.getByRole("region", { name: "Arguments", exact: true }), args);
      if (!filled) notByForm.push(name);
      await view("JSON");
      if (filled) {
        byForm += 1;
        assert.deepEqual(JSON.parse(await json().inputValue()), args, `${name}, by the form`);
      } else {
        await json().fill(JSON.stringify(args));
        await view("Form");
        assert.equal(await page.getByText("This part of the page failed").count(), 0, name);
        if (at % 10 === 0) await accessible(page);
        await view("JSON");
        assert.deepEqual(JSON.parse(await json().inputValue()), args, `${name} is changed by being drawn`);
      }
      await page.getByRole("button", { name: /^Run/ }).first().click();
      // The server took the arguments: only the address is not there.
      await page.locator(".failed code").first().waitFor();
      assert.match(await page.locator(".failed code").last().innerText(), /^(NETWORK_ERROR|HOST_NOT_ALLOWED|UPSTREAM_ERROR)$/, name);
    }
    sound(page);
  });
}

test("text, numbers, choices, lists, objects and maps are filled by the form alone", () => assert.ok(byForm >= BY_FORM, `${byForm} of ${CASES.length}; not: ${notByForm.join("; ")}`));

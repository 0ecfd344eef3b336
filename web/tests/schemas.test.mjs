// The corpus of awkward schemas: each is drawn, filled by the form where that draws fields, sent, and taken by the server's own validator.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, Crib, launch, sound, visit } from "./harness.mjs";
import { CASES } from "./schemas.mjs";

const PARTS = 4;
const PART = Math.ceil(CASES.length / PARTS);
/** How many the form alone can fill. The others have a part that is JSON, or kinds to choose from. */
const BY_FORM = 55;

let [browser, crib, page] = [];
let byForm = 0;

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

/** Fills the field of this name as a person would. False where the form has no field for the value: it is JSON, or a kind to be chosen. */
async function fill(label, value) {
  const kind = page.getByLabel(`Kind of value: ${label}`, { exact: true });
  if ((await kind.count()) === 1) {
    const words = Array.isArray(value) ? /array|tuple/ : { string: /string/, number: /integer|number/, boolean: /boolean/ }[typeof value];
    const options = await kind.locator("option").allInnerTexts();
    const fitting = words ? options.filter((option) => words.test(option)) : [];
    if (fitting.length !== 1) return false;
    await kind.selectOption({ label: fitting[0] });
  }
  const field = page.getByLabel(label, { exact: true });
  if ((await field.count()) !== 1) return false;
  const { tag, isJson, text, options } = await field.evaluate((node) => ({ tag: node.tagName, isJson: node.placeholder === "JSON", text: node.innerText, options: [...(node.options ?? [])].map((option) => option.text) }));
  if (tag === "SELECT") {
    const option = typeof value === "string" && options.includes(value) ? value : JSON.stringify(value);
    if (!options.includes(option)) return false;
    await field.selectOption({ label: option });
    return true;
  }
  if (tag === "BUTTON") {
    if (text === "Add an item" && Array.isArray(value)) {
      // A list that is there and empty has no field of its own.
      if (value.length === 0) return false;
      for (const [at, item] of value.entries()) {
        await field.click();
        if (!(await fill(`${label} item ${at + 1}`, item))) return false;
      }
      return true;
    }
    if (text !== "Set" || typeof value !== "object" || value === null || Array.isArray(value)) return false;
    await field.click();
    for (const [key, one] of Object.entries(value)) {
      if ((await page.getByLabel(key === "" ? '""' : key, { exact: true }).count()) === 0) {
        const name = page.getByLabel("Key", { exact: true });
        if ((await name.count()) !== 1) return false;
        await name.fill(key);
        await page.getByRole("button", { name: "Add a key" }).click();
      }
      if (!(await fill(key === "" ? '""' : key, one))) return false;
    }
    return true;
  }
  if (isJson || (typeof value !== "string" && typeof value !== "number")) return false;
  // Empty text that is sent is another value than none.
  if (value === "") await field.fill("x");
  await field.fill(String(value));
  return true;
}

const view = (name) => page.getByRole("group", { name: "Arguments", exact: true }).getByRole("button", { name, exact: true }).click();
const json = () => page.getByLabel("Arguments, JSON");

test("there are two hundred of them", () => assert.ok(CASES.length >= 200, String(CASES.length)));

for (let part = 0; part < PARTS; part += 1) {
  test(`awkward schemas are drawn, filled and sent, part ${part + 1}`, async () => {
    for (let at = part * PART; at < Math.min(CASES.length, (part + 1) * PART); at += 1) {
      const { name, args } = CASES[at];
      await visit(page, `tools/odd/shape-${at}/v1`);
      await page.getByRole("heading", { level: 1, name: `shape-${at}`, exact: true }).waitFor();
      // First empty: a schema that contains itself must end.
      await page.getByRole("button", { name: /^Run/ }).first().waitFor();
      assert.equal(await page.getByText("This part of the page failed").count(), 0, `${name}, empty`);
      let filled = true;
      for (const [key, value] of Object.entries(args)) filled &&= await fill(key, value);
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

test("text, numbers, choices, lists, objects and maps are filled by the form alone", () => assert.ok(byForm >= BY_FORM, `${byForm} of ${CASES.length}`));

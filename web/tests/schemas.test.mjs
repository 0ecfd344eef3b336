// The corpus of awkward schemas: each is drawn, filled, sent, and taken by the server's own validator.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { accessible, launch, sceneOf } from "./harness.mjs";
import { CASES } from "./schemas.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const QUARTER = Math.ceil(CASES.length / 4);

test("there are two hundred of them", () => assert.ok(CASES.length >= 200, String(CASES.length)));

for (const quarter of [0, 1, 2, 3]) {
  test(`awkward schemas are drawn, filled and sent, part ${quarter + 1}`, () => sceneOf(browser, null, async (crib, page) => {
    await crib.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "odd", displayName: "Odd" });
    for (const [at, { name, schema, args }] of CASES.slice(quarter * QUARTER, (quarter + 1) * QUARTER).entries()) {
      const stored = await crib.api("PUT", `/tools/bundles/odd/tools/shape-${at}/version/v1`, { type: "http", displayName: name, description: "Asks a server that is not there", isEnabled: true, argSchema: schema, impl: { method: "GET", urlTemplate: "http://127.0.0.1:9/none" }, tags: ["read"] });
      assert.equal(stored.error, undefined, `${name}: ${JSON.stringify(stored.error)}`);
      // Within the page: the router listens to the history.
      await page.evaluate((path) => { history.pushState(null, "", path); dispatchEvent(new PopStateEvent("popstate")); }, `/ui/tools/odd/shape-${at}/v1`);
      await page.getByRole("heading", { level: 1, name: `shape-${at}`, exact: true }).waitFor();
      // First empty: a schema that contains itself must end.
      await page.getByRole("button", { name: /^Run/ }).first().waitFor();
      assert.equal(await page.getByText("This part of the page failed").count(), 0, `${name}, empty`);
      await page.getByRole("button", { name: "JSON", exact: true }).click();
      await page.getByLabel("Arguments, JSON").fill(JSON.stringify(args));
      await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
      assert.equal(await page.getByText("This part of the page failed").count(), 0, name);
      if (at % 10 === 0) await accessible(page);
      await page.getByRole("button", { name: "JSON", exact: true }).click();
      assert.deepEqual(JSON.parse(await page.getByLabel("Arguments, JSON").inputValue()), args, `${name} is changed by being drawn`);
      await page.getByRole("button", { name: /^Run/ }).first().click();
      // The server took the arguments: only the address is not there.
      await page.locator(".failed code").first().waitFor();
      assert.match(await page.locator(".failed code").last().innerText(), /^(NETWORK_ERROR|HOST_NOT_ALLOWED|UPSTREAM_ERROR)$/, name);
    }
  }));
}

// A call that waits: in another window, and told to a person who looks elsewhere.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, sceneOf, shot, sound } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());
const scene = (prepare, run, options) => sceneOf(browser, prepare, run, options);

describe("two windows", () => {
  test("a call is edited and approved in one while it waits in the other", () => scene((crib) => { crib.file("notes.md", "old text\n"); }, async (crib, caller) => {
    await caller.goto(`${crib.url}/ui/tools/core/write-file/v1`);
    await caller.getByLabel("path", { exact: true }).fill("notes.md");
    await caller.getByLabel("content", { exact: true }).fill("from the tester");
    await caller.getByLabel("Ask me in Approvals first").check();
    await caller.getByRole("button", { name: /^Run/ }).click();
    await caller.getByRole("status").getByText("waits for an answer in").waitFor();
    await shot(caller, "tool-waiting");
    const person = await crib.page(browser);
    await person.goto(`${crib.url}/ui/approvals`);
    await person.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
    await person.getByLabel("content", { exact: true }).fill("from the person");
    await person.getByText("changed by you").waitFor();
    assert.equal(readFileSync(join(crib.work, "notes.md"), "utf8"), "old text\n");
    await person.getByRole("button", { name: /^Approve with 1 change/ }).click();
    // The window that called shows the result of what was approved.
    await caller.getByRole("region", { name: "Output" }).getByRole("status").getByText("ok").waitFor();
    assert.equal(readFileSync(join(crib.work, "notes.md"), "utf8"), "from the person");
    // What was typed there is still there.
    assert.equal(await caller.getByLabel("content", { exact: true }).inputValue(), "from the tester");
    sound(person);
    await person.context().close();
  }));
});

/** What the page knows of notifications and of being looked at, replaced before it loads. */
const ELSEWHERE = () => {
  globalThis.told = [];
  globalThis.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, options) { Object.assign(this, { title, ...options }); globalThis.told.push(this); }
    close() { this.isClosed = true; }
  };
  let hidden = false;
  Object.defineProperty(document, "hidden", { get: () => hidden });
  globalThis.lookAway = (next) => { hidden = next; document.dispatchEvent(new Event("visibilitychange")); };
};

describe("a person who looks elsewhere", () => {
  test("is told by title, icon and a notification that leads there; nothing takes the focus", () => scene((crib) => { crib.file("a.txt", "A\n").file("b.txt", "B\n"); }, async (crib, page) => {
    const ask = (path) => crib.api("POST", "/api/calls", { tool: "write_file", args: { path, content: "x" }, approvals: "wait" }).catch(() => {});
    const pending = async () => (await crib.api("GET", "/api/approvals?status=pending")).approvals;
    await page.addInitScript(ELSEWHERE);
    await page.goto(`${crib.url}/ui/tools`);
    const filter = page.getByRole("searchbox", { name: "Filter tools" });
    await filter.click();
    await filter.pressSequentially("rea");
    const quiet = await page.getAttribute("#favicon", "href");
    // In view: the count alone.
    void ask("a.txt");
    await page.waitForFunction(() => document.title === "(1) Toolcrib");
    assert.notEqual(await page.getAttribute("#favicon", "href"), quiet);
    assert.equal(await page.evaluate(() => globalThis.told.length), 0);
    // Out of view; one is answered as another comes, so the count stays what it was.
    await page.evaluate(() => globalThis.lookAway(true));
    const [first] = await pending();
    let release;
    const released = new Promise((resolve) => { release = resolve; });
    await page.route("**/api/approvals?*", async (route) => { await released; await route.continue(); });
    await crib.api("POST", `/api/approvals/${first.id}`, { approved: false, argsDigest: first.argsDigest, by: "test" });
    void ask("b.txt");
    await page.waitForRequest(/\/api\/approvals\?/);
    for (let deadline = Date.now() + 10_000; ; ) {
      const [now] = await pending();
      if (now && now.id !== first.id) break;
      assert.ok(Date.now() < deadline, "the second call waits");
    }
    release();
    await page.waitForFunction(() => globalThis.told.length === 1);
    await page.unroute("**/api/approvals?*");
    assert.equal(await page.title(), "(1) Toolcrib");
    const body = await page.evaluate(() => globalThis.told[0].body);
    assert.equal(body, "write_file waits for approval");
    // The person was typing: the field still has the focus, and takes what comes next.
    assert.ok(await filter.evaluate((node) => document.activeElement === node));
    await page.keyboard.type("d");
    assert.equal(await filter.inputValue(), "read");
    const [second] = await pending();
    await page.evaluate(() => { globalThis.lookAway(false); globalThis.told[0].onclick(); });
    await page.waitForURL(`**/ui/approvals/${second.id}`);
    await page.getByRole("article", { name: "write_file" }).waitFor();
    assert.equal(await page.evaluate(() => globalThis.told[0].isClosed), true);
    await crib.api("POST", `/api/approvals/${second.id}`, { approved: false, argsDigest: second.argsDigest, by: "test" });
    await page.waitForFunction(() => document.title === "Toolcrib");
    assert.equal(await page.getAttribute("#favicon", "href"), quiet);
  }));

  test("a question that comes moves neither the focus nor the one that is read", () => scene((crib) => { crib.file("a.txt", "A\n").file("b.txt", "B\n"); }, async (crib, page) => {
    const ask = (path) => crib.api("POST", "/api/calls", { tool: "write_file", args: { path, content: "x" }, approvals: "wait" }).catch(() => {});
    void ask("a.txt");
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    await page.goto(`${crib.url}/ui/approvals`);
    await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
    const field = page.getByLabel("content", { exact: true });
    await field.fill("half a sen");
    const place = await field.boundingBox();
    void ask("b.txt");
    await page.locator(".queue .card").nth(1).waitFor();
    assert.ok(await field.evaluate((node) => document.activeElement === node));
    assert.equal(await field.inputValue(), "half a sen");
    assert.deepEqual(await field.boundingBox(), place);
    await page.getByText("a.txt").first().waitFor();
  }));
});

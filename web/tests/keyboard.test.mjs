// The page with the keyboard alone, how soon it answers, and the picture of the README.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, dist, launch, sceneOf, shot, shots } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());
const scene = (prepare, run, options) => sceneOf(browser, prepare, run, options);

/** Tabs until something with this name has the focus. */
async function tabTo(page, name) {
  for (let n = 0; n < 80; n += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const at = document.activeElement;
      const label = at?.labels?.[0]?.innerText ?? "";
      return { name: at?.getAttribute("aria-label") || label || at?.innerText || "", ring: at ? getComputedStyle(at).outlineStyle : "" };
    });
    if (found.name.trim().startsWith(name)) return assert.notEqual(found.ring, "none", `${name} shows that it has the focus`);
  }
  assert.fail(`${name} is not reached with Tab`);
}

describe("the keyboard alone", () => {
  test("a call is found, edited and approved", () => scene((crib) => { crib.file("notes.md", "old\n"); }, async (crib, page) => {
    const call = crib.api("POST", "/api/calls", { tool: "write_file", args: { path: "notes.md", content: "new\n" }, approvals: "wait" });
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.locator(".diff .add").waitFor();
    await tabTo(page, "Form");
    await page.keyboard.press("Enter");
    await tabTo(page, "content");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Control+Enter");
    assert.equal((await call).ok, true);
  }));

  test("no key acts behind a dialog, and Ctrl Enter in the dialog that denies, denies", () => scene((crib) => { crib.file("notes.md", "old\n").file("other.md", "old\n"); }, async (crib, page) => {
    const ask = (path) => crib.api("POST", "/api/calls", { tool: "write_file", args: { path, content: "new\n" }, approvals: "wait" });
    const first = ask("notes.md");
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const second = ask("other.md");
    await page.locator(".rail .n.hot").getByText("2").waitFor();
    await page.goto(`${crib.url}/ui/approvals`);
    await page.locator(".effect").getByText("notes.md").waitFor();
    const here = page.url();
    const isOpen = async () => {
      const { approvals } = await crib.api("GET", "/api/approvals?status=pending");
      assert.equal(approvals.length, 2);
      assert.equal(page.url(), here);
    };
    /** Every key of the page, typed where the focus is on nothing that takes text. */
    const keys = async () => {
      for (const key of ["Control+Enter", "j", "k", "g", "a", "g", "t", "?", "+", "Control+k"]) await page.keyboard.press(key);
      assert.equal(await page.getByRole("dialog").count(), 1);
      await isOpen();
    };
    // The list of keys.
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).getByRole("button", { name: "Close" }).focus();
    await keys();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // The palette, with a tool whose arguments are complete.
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Call a tool" }).fill("read file");
    await page.locator(".palette .args").getByText("path").first().waitFor();
    await page.locator(".palette .args").getByRole("button", { name: "Run" }).focus();
    await keys();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    // The dialog that denies: its button does not approve, and its form denies.
    await page.getByRole("button", { name: "Deny…" }).focus();
    await page.keyboard.press("Control+Enter");
    await isOpen();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Deny this call?" }).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).focus();
    await page.keyboard.press("j");
    await isOpen();
    await page.getByLabel("Reason for the model (optional)").fill("do not do this");
    await page.keyboard.press("Control+Enter");
    const outcome = await first;
    assert.equal(outcome.error?.code, "APPROVAL_DENIED", JSON.stringify(outcome));
    assert.match(outcome.error.message, /do not do this/);
    assert.equal(readFileSync(join(crib.work, "notes.md"), "utf8"), "old\n");
    const { approvals: [other] } = await crib.api("GET", "/api/approvals?status=pending");
    await crib.api("POST", `/api/approvals/${other.id}`, { approved: false, argsDigest: other.argsDigest, by: "test" });
    assert.equal((await second).error.code, "APPROVAL_DENIED");
  }));

  test("a tool is filtered, opened and run, and the keys are listed", () => scene((crib) => { crib.file("a.txt", "from the file\n"); }, async (crib, page) => {
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await accessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.keyboard.type("read file");
    await page.locator(".tool-row").first().filter({ hasText: "read-file" }).waitFor();
    await tabTo(page, "read-file");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "read-file" }).waitFor();
    await tabTo(page, "path");
    await page.keyboard.type("a.txt");
    await page.keyboard.press("Control+Enter");
    await page.getByText("from the file").first().waitFor();
  }));

  test("tabs and the builder of steps are used without a mouse", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/author?kind=steps`);
    await page.getByRole("heading", { name: "New tool" }).waitFor();
    await tabTo(page, "Name");
    await page.keyboard.type("by-keys");
    await page.keyboard.press("Enter");
    await page.locator(".stepcard").nth(1).waitFor();
    await tabTo(page, "Later: write");
    await page.keyboard.press("Enter");
    await page.locator(".stepcard").nth(1).getByText("write", { exact: true }).first().waitFor();
    await page.getByText("no problems").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText(/^Saved /).waitFor();
  }));
});

describe("weight and time", () => {
  test("the first page can be used within a second in a browser that was never there", (t) => {
    // By the clock: where many other things run at once, it says nothing about the page.
    if (loadavg()[0] > 4 * availableParallelism()) return t.skip(`SKIPPED: the machine is busy (load ${loadavg()[0]})`);
    return scene(null, async (crib, page) => {
      // Signed in, and nothing else: no cache, no connection.
      const storageState = await page.context().storageState();
      const times = [];
      // Best of three: the machine does other work too.
      for (let round = 0; round < 3 && !(Math.min(...times) <= 1000); round += 1) {
        const context = await browser.newContext({ storageState, viewport: { width: 1440, height: 900 } });
        const fresh = await context.newPage();
        const begun = performance.now();
        await fresh.goto(`${crib.url}/ui/`, { waitUntil: "commit" });
        await fresh.locator(".tool-row").first().waitFor();
        await fresh.getByRole("searchbox", { name: "Filter tools" }).click();
        times.push(performance.now() - begun);
        await context.close();
      }
      assert.ok(Math.min(...times) <= 1000, `${times.map(Math.round).join(", ")} ms`);
    });
  });

  test("the editor, the builder, the charts and Chinese are not part of the first load", () => scene(null, async (crib, page) => {
    // By what is in the files: their names are the bundler's.
    const marks = { editor: "cm-content", builder: "stepcard", charts: "var(--brass-fill)", chinese: "审批" };
    const holding = (texts) => Object.keys(marks).filter((part) => texts.some((text) => text.includes(marks[part])));
    const built = readdirSync(join(dist, "assets")).filter((file) => file.endsWith(".js")).map((file) => readFileSync(join(dist, "assets", file), "utf8"));
    assert.deepEqual(holding(built), Object.keys(marks));
    await page.reload();
    await page.locator(".tool-row").first().waitFor();
    const loaded = await page.evaluate(() => performance.getEntriesByType("resource").map((one) => one.name).filter((url) => url.endsWith(".js")));
    assert.ok(loaded.length > 0);
    assert.deepEqual(holding(await Promise.all(loaded.map((url) => fetch(url).then((answer) => answer.text())))), []);
  }));
});

test("the picture of the README", () => scene((crib) => {
  crib.file("src/tax.rs", "pub fn total(&self) -> Cents {\n    let cents = (self.net * self.rate).round();\n    Cents(cents as i64)\n}\n").file("notes.md", "# Notes\n");
}, async (crib, page) => {
  const { token } = await crib.api("POST", "/api/clients", { name: "assistant" });
  const ask = (tool, args) => fetch(`${crib.url}/api/calls`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ tool, args }) }).catch(() => {});
  void ask("write_file", { path: "src/tax.rs", content: "pub fn total(&self) -> Cents {\n    let raw = self.net * self.rate;\n    let cents = round_half_even(raw);\n    Cents(cents as i64)\n}\n" });
  await page.locator(".rail .n.hot").getByText("1").waitFor();
  void ask("delete_file", { path: "notes.md" });
  await page.locator(".rail .n.hot").getByText("2").waitFor();
  await page.goto(`${crib.url}/ui/approvals`);
  await page.getByText("tax.rs").first().waitFor();
  await page.locator(".queue .card").filter({ hasText: "write_file" }).click();
  await page.locator(".diff .add").first().waitFor();
  // The name of a directory that is thrown away has no place in it.
  await page.locator(".rail .foot div").last().evaluate((node) => { node.textContent = "workspace: ~/shop"; });
  await shot(page, "readme");
  if (process.env.TOOLCRIB_README_SHOT) await page.screenshot({ path: join(dirname(fileURLToPath(import.meta.url)), "../../docs/web.png") });
  assert.ok(shots);
}, { viewport: { width: 1280, height: 720 } }));

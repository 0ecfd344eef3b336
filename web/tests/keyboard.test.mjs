// The page with the keyboard alone, how soon it answers, and the picture of the README.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, launch, sceneOf, shot, shots } from "./harness.mjs";

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
  test("the first page is there within a second of the page's own time", () => scene(null, async (crib, page) => {
    const meter = await page.context().newCDPSession(page);
    // Time of the page's own thread: how busy the machine is does not matter.
    await meter.send("Performance.enable", { timeDomain: "threadTicks" });
    const spent = async () => (await meter.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration").value * 1000;
    const begun = await spent();
    await page.reload();
    await page.locator(".tool-row").first().waitFor();
    await page.getByRole("searchbox", { name: "Filter tools" }).click();
    const took = (await spent()) - begun;
    assert.ok(took <= 1000, `${took.toFixed(0)} ms`);
  }));

  test("the editor, the builder and the charts are not part of the first load", () => scene(null, async (crib, page) => {
    const loaded = [];
    page.on("request", (request) => loaded.push(request.url()));
    await page.reload();
    await page.locator(".tool-row").first().waitFor();
    assert.deepEqual(loaded.filter((url) => /assets\/(Editor|Builder|Charts|Metrics|Author|New|dist)-/.test(url)), []);
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

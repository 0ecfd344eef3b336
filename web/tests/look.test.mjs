// Every page and dialog, with something in it: light, dark, 390 px wide, in Chinese. Each is checked by axe, and a picture of it is kept.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Crib, launch, looked, sound, visit } from "./harness.mjs";

let [browser, crib, failed, edited, written, archive] = [];

before(async () => {
  browser = await launch();
  // One home for all looks: they only look.
  crib = new Crib();
  crib.file("a.txt", "A\n").file("b.txt", "B\n").file("notes.md", "# Notes\n\nold text\n");
  await crib.serve();
  await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "a.txt" } });
  failed = (await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "gone.txt" } })).metadata.callId;
  await crib.api("PUT", "/api/files/local/greet.yaml", { content: "description: Greets\nsteps:\n  - name: greet\n    bash: echo hello\ntags: [read]\ntests:\n  - name: greets\n" });
  // An archive of another home: what it has is new here.
  const other = await new Crib().serve();
  await other.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "acme", displayName: "Acme" });
  await other.api("PUT", "/tools/bundles/acme/tools/now/version/v1", { type: "http", description: "Says the time", argSchema: { type: "object" }, impl: { method: "GET", urlTemplate: "https://api.example.com/now" }, tags: ["read"] });
  archive = Buffer.from(await (await fetch(`${other.url}/api/bundles/acme/export`, { headers: { authorization: `Bearer ${other.token}` } })).arrayBuffer());
  await other.remove();
  const { token } = await crib.api("POST", "/api/clients", { name: "assistant" });
  const ask = (tool, args) => fetch(`${crib.url}/api/calls`, { method: "POST", headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }, body: JSON.stringify({ tool, args }) }).then((answer) => answer.json()).catch(() => null);
  const waiting = async (n) => {
    for (const deadline = Date.now() + 10_000; ; ) {
      const { approvals } = await crib.api("GET", "/api/approvals?status=pending");
      if (approvals.length >= n) return approvals;
      assert.ok(Date.now() < deadline, `${n} calls wait`);
    }
  };
  // One that was edited and approved; then two that wait.
  const approved = ask("write_file", { path: "b.txt", content: "as the model wrote it\n" });
  const [one] = await waiting(1);
  await crib.api("POST", `/api/approvals/${one.id}`, { approved: true, argsDigest: one.argsDigest, by: "web admin", modifiedArgs: { path: "b.txt", content: "as a person wrote it\n" } });
  edited = (await approved).metadata.callId;
  void ask("write_file", { path: "notes.md", content: "# Notes\n\nnew text, and a line that is long enough to be broken where a screen is narrow\nand one more\n" });
  written = (await waiting(1))[0].id;
  void ask("delete_file", { path: "a.txt" });
  await waiting(2);
});

after(async () => {
  await browser?.close();
  await crib?.remove();
});

const PAGES = ["tools", "tools/core/shell/v1", "tools/local/greet/v1?tab=tests", "tools/core/shell/v1?tab=policy", "tools/core/shell/v1?tab=models", "author", "author/local/greet.yaml", "calls", "bundles", "metrics", "clients", "secrets", "settings"];
const LOOKS = {
  light: {},
  dark: { colorScheme: "dark" },
  narrow: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
  chinese: { locale: "zh-CN" },
};

describe("what people look at", () => {
  for (const [look, options] of Object.entries(LOOKS)) {
    const words = look === "chinese" ? { deny: "拒绝…", import: "导入…", pick: "选择 ZIP 文件", run: /^运行/, form: "表单" } : { deny: "Deny…", import: "Import…", pick: "Choose a ZIP archive", run: /^Run/, form: "Form" };
    const at = async (page, path) => {
      await visit(page, path);
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByText(/^(Loading…|正在加载…)$/).first().waitFor({ state: "detached" });
    };
    test(`every page is sound and accessible: ${look}`, async () => {
      const page = await crib.page(browser, options);
      for (const path of PAGES) {
        await at(page, path);
        await looked(page, `${look}-${path.replace("tools/core/shell/v1", "tool").replace(/[^a-z]+/g, "-")}`);
      }
      sound(page);
      await page.context().close();
    });

    test(`what waits, runs, ran and asks is sound and accessible: ${look}`, async () => {
      const page = await crib.page(browser, options);
      await at(page, `approvals/${written}`);
      await page.locator(".diff .add").first().waitFor();
      await looked(page, `${look}-approvals`);
      await page.getByRole("button", { name: words.deny }).click();
      await page.getByRole("dialog").waitFor();
      await looked(page, `${look}-approvals-deny`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.getByRole("article").getByRole("button", { name: words.form }).click();
      await page.getByLabel("content", { exact: true }).fill("my own text\n");
      await page.locator(".chg").waitFor();
      await looked(page, `${look}-approvals-edited`);

      await at(page, "tools/core/list-directory/v1");
      await page.getByLabel("path", { exact: true }).fill(".");
      await page.getByRole("button", { name: words.run }).first().click();
      await page.locator(".out.result").waitFor();
      await looked(page, `${look}-tool-ran`);

      await at(page, `calls/${failed}`);
      await page.getByRole("article").getByText("gone.txt").first().waitFor();
      await looked(page, `${look}-call-failed`);
      await at(page, `calls/${edited}`);
      await page.getByRole("article").getByText("as a person wrote it").first().waitFor();
      await looked(page, `${look}-call-edited`);

      await page.keyboard.press("+");
      await page.getByRole("combobox").first().waitFor();
      await page.keyboard.type("read file");
      await page.getByRole("option", { selected: true }).filter({ hasText: "read-file" }).waitFor();
      await page.locator(".palette .args").getByText("path").first().waitFor();
      await looked(page, `${look}-palette`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });

      await at(page, "bundles");
      await page.getByRole("button", { name: words.import }).click();
      await page.getByLabel(words.pick).setInputFiles({ name: "acme.zip", mimeType: "application/zip", buffer: archive });
      await page.getByRole("dialog").getByText("api.example.com").first().waitFor();
      await looked(page, `${look}-bundle-import`);
      sound(page);
      await page.context().close();
    });
  }
});

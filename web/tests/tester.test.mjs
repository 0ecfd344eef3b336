// The tester beyond filling in: where arguments come from, the same call elsewhere, tests from calls, what rules and grants say.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { accessible, launch, program, sceneOf, shot, write } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());
const scene = (prepare, run, options) => sceneOf(browser, prepare, run, options);

const GREET = "description: Greets\nbash: echo Hello, {WHO}\nparameters:\n  WHO: {description: Whom, default: world}\ntags: [read]\n";

const argsOf = async (page) => {
  await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "JSON" }).click();
  const args = JSON.parse(await page.getByLabel("Arguments, JSON").inputValue());
  await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
  return args;
};

describe("arguments to start from", () => {
  test("are an example, those of the last call, and those of a test", () => scene((crib) => { crib.file("a.txt", "A\n"); }, async (crib, page) => {
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "a.txt", start_line: 1 } });
    await page.goto(`${crib.url}/ui/tools/core/read-file/v1`);
    const from = page.locator(".startfrom");
    await from.getByRole("button", { name: "Last call" }).click();
    // As the tool was given them, with its defaults.
    assert.deepEqual(await argsOf(page), { path: "a.txt", start_line: 1, encoding: "utf-8" });
    await from.getByRole("button", { name: "Empty" }).click();
    assert.deepEqual(await argsOf(page), {});
    const { examples } = await crib.api("GET", "/tools/bundles/core/tools/read-file/version/v1");
    await from.getByRole("button", { name: "Example", exact: true }).click();
    assert.deepEqual(await argsOf(page), examples[0]);
    await crib.api("PUT", "/api/files/local/greet.yaml", { content: `${GREET}tests:\n  - name: greets-ada\n    parameters: {WHO: Ada}\n` });
    await page.goto(`${crib.url}/ui/tools/local/greet/v1`);
    await from.getByRole("button", { name: "Test: greets-ada" }).click();
    assert.deepEqual(await argsOf(page), { WHO: "Ada" });
  }));
});

describe("the same call elsewhere", () => {
  test("what is copied for a terminal does what the page did", () => scene((crib) => {
    crib.file("a.txt", "one\ntwo words' \"quoted\"\n").file("sub/b.txt", "B\n");
  }, async (crib, page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const below = join(crib.work, "sub");
    mkdirSync(below, { recursive: true });
    const env = { PATH: `${dirname(program)}:${process.env.PATH}`, HOME: crib.directory, TOOLCRIB_HOME: crib.home, TOOLCRIB_WORKSPACE: crib.work, TOKEN: crib.token };
    // Typed in another directory than the workspace, where `.` means something else.
    const typed = async (text) => JSON.parse((await promisify(execFile)("sh", ["-c", text], { cwd: below, env })).stdout);
    const copied = async (form) => {
      await page.getByRole("group", { name: "Same call elsewhere" }).getByRole("button", { name: form, exact: true }).click();
      await page.locator(".elsewhere").getByRole("button", { name: "Copy" }).click();
      await page.locator(".elsewhere").getByText("Copied").waitFor();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    for (const [slug, args] of [["list-directory", { path: ".", recursive: true }], ["read-file", { path: "a.txt", start_line: 2 }], ["search-code", { pattern: "two words' \"", path: "." }]]) {
      await page.goto(`${crib.url}/ui/tools/core/${slug}/v1`);
      await page.getByRole("button", { name: "JSON", exact: true }).click();
      await page.getByLabel("Arguments, JSON").fill(JSON.stringify(args));
      const name = slug.replaceAll("-", "_");
      const { ok, value } = await crib.api("POST", "/api/calls", { tool: name, args });
      assert.equal(ok, true, slug);
      const cli = await copied("CLI");
      assert.match(cli, new RegExp(`^toolcrib run core/${slug}@v1 `));
      assert.deepEqual((await typed(`${cli} --json`)).value, value, cli);
      const curl = await copied("curl");
      assert.deepEqual((await typed(curl)).value, value, curl);
      if (slug !== "read-file") continue;
      // A provider's words, as its model would send them: the server reads them as this call.
      const openai = await crib.api("POST", "/api/answer/openai", JSON.parse(await copied("OpenAI")));
      const anthropic = await crib.api("POST", "/api/answer/anthropic", [JSON.parse(await copied("Anthropic"))]);
      for (const answered of [openai, anthropic]) assert.deepEqual(answered.calls.map((call) => [call.tool, call.ok]), [[name, true]], JSON.stringify(answered));
      const { method, params } = JSON.parse(await copied("MCP"));
      assert.deepEqual([method, params.name, params.arguments], ["tools/call", name, args]);
    }
  }));
});

describe("tests of a tool", () => {
  test("a call of the log becomes a test, and is recorded anew", () => scene(null, async (crib, page) => {
    const saved = await crib.api("PUT", "/api/files/local/greet.yaml", { content: GREET });
    assert.equal(saved.isTrusted, true);
    const outcome = await crib.api("POST", "/api/calls", { tool: "greet", args: { WHO: "Ada" } });
    assert.equal(outcome.ok, true, JSON.stringify(outcome));
    await page.goto(`${crib.url}/ui/calls/${outcome.metadata.callId}`);
    await page.getByRole("article").getByRole("button", { name: "Save as test" }).click();
    await page.getByText("Saved as test from-a-call.").waitFor();
    const text = () => readFileSync(join(crib.work, ".toolcrib/tools/greet.yaml"), "utf8");
    assert.match(text(), /parameters: .*Ada/);
    assert.match(text(), /Hello, Ada/);
    // What it does changes; the test fails, and says how; recording takes the new output.
    const { digest } = await crib.api("GET", "/api/files/local/greet.yaml");
    await crib.api("PUT", "/api/files/local/greet.yaml", { content: text().replace("echo Hello,", "echo Good day,"), digest });
    await page.goto(`${crib.url}/ui/tools/local/greet/v1?tab=tests`);
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("0 of 1 passed").waitFor();
    await page.getByRole("button", { name: "Record" }).click();
    // What it showed is what it expects now: the failure is of the past.
    await page.getByText("not run").waitFor();
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("1 of 1 passed").waitFor();
    assert.match(text(), /Good day, Ada/);
  }));

  test("run from a text that is not saved, and the file stays as it was", () => scene(null, async (crib, page) => {
    const content = `${GREET}tests:\n  - name: greets\n    expected:\n      output-contains: Hello\n`;
    await crib.api("PUT", "/api/files/local/greet.yaml", { content });
    await page.goto(`${crib.url}/ui/author/local/greet.yaml`);
    const show = (view) => page.getByRole("group", { name: "View" }).getByRole("button", { name: view }).click();
    const run = page.getByRole("button", { name: "Run tests" });
    await show("Tests 1");
    await run.click();
    await page.getByText("1 of 1 passed").waitFor();
    await show("YAML");
    await page.locator(".cm-content").waitFor();
    await write(page, content.replace("echo Hello", "echo Good day"));
    await page.getByText("changed, not saved").waitFor();
    await show("Tests 1");
    await run.click();
    await page.getByText("0 of 1 passed").waitFor();
    assert.equal(readFileSync(join(crib.work, ".toolcrib/tools/greet.yaml"), "utf8"), content);
  }));
});

describe("policy", () => {
  test("rules are tried on the arguments, and only those that can match are listed", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/tools/core/shell/v1`);
    await page.getByLabel("command", { exact: true }).fill("sudo ls");
    await page.getByRole("tab", { name: "Policy" }).click();
    await page.getByRole("button", { name: "Check", exact: true }).click();
    await page.locator(".note").getByText("is refused by a rule").waitFor();
    await page.locator(".note").getByText("privileges").waitFor();
    const rule = (name) => page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
    await rule("privileges").waitFor();
    await accessible(page);
    await shot(page, "policy-simulated");
    // A tool that opens files runs no programs, so nothing about programs can touch it.
    await page.goto(`${crib.url}/ui/tools/core/read-file/v1?tab=policy`);
    await rule("ssh-keys").waitFor();
    assert.equal(await rule("privileges").count(), 0);
  }));

  test("a standing approval is revoked, and the next call is asked about again", () => scene((crib) => { crib.file("a.txt", "one\n"); }, async (crib, page) => {
    const write = (content) => crib.api("POST", "/api/calls", { tool: "write_file", args: { path: "a.txt", content }, approvals: "wait" });
    const first = write("two\n");
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const { approvals: [one] } = await crib.api("GET", "/api/approvals?status=pending");
    await crib.api("POST", `/api/approvals/${one.id}`, { approved: true, argsDigest: one.argsDigest, by: "test", grant: { shape: one.offers.at(-1).shape, scope: "project" } });
    assert.equal((await first).ok, true);
    assert.equal((await write("three\n")).ok, true);
    await page.goto(`${crib.url}/ui/tools/core/write-file/v1?tab=policy`);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByText("There are none: calls that ask are asked every time.").waitFor();
    const asked = write("four\n");
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const { approvals: [again] } = await crib.api("GET", "/api/approvals?status=pending");
    await crib.api("POST", `/api/approvals/${again.id}`, { approved: false, argsDigest: again.argsDigest, by: "test" });
    assert.equal((await asked).error.code, "APPROVAL_DENIED");
  }));
});

// Tools that are written in the page: a command, steps, an HTTP request, a curl command, a copy; with check, tests and fix.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { accessible, launch, sceneOf, shot, write } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());
const scene = (prepare, run, options) => sceneOf(browser, prepare, run, options);

const fileOf = (crib, name) => join(crib.work, ".toolcrib/tools", name);

async function begin(page, crib, kind, name, description = "") {
  await page.goto(`${crib.url}/ui/author`);
  await page.getByRole("radio", { name: kind }).click();
  await page.getByLabel("Name", { exact: false }).last().fill(name);
  if (description) await page.getByLabel("Description", { exact: false }).fill(description);
}

describe("writing a tool", () => {
  test("a command is created, run, fails, and is fixed", () => scene(null, async (crib, page) => {
    await page.getByRole("link", { name: "New tool" }).first().click();
    await page.getByRole("heading", { name: "New tool" }).waitFor();
    await accessible(page);
    await shot(page, "author-new");
    await page.getByLabel("Name", { exact: false }).last().fill("word-count");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.locator(".editor").or(page.getByText("Make it the first")).first().waitFor();
    await page.getByRole("button", { name: "YAML" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, "name: word-count\ndescription: Counts words\nbahs: wc -w < {FILE}\nparameters:\n  FILE: {description: Which file}\ntags: [read]\n");
    // The checker says what is wrong, where, and offers the fix.
    await page.getByText("unknown-key").waitFor();
    await page.locator(".cm-lintRange-error").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^Save/ }).getAttribute("aria-disabled"), "true");
    await accessible(page);
    await shot(page, "author-problem");
    await page.getByRole("button", { name: "Fix" }).first().click();
    await page.getByText("no problems").waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByText(/^Saved .*word-count\.yaml\.$/).waitFor();
    assert.match(readFileSync(fileOf(crib, "word-count.yaml"), "utf8"), /^bash: wc -w/m);
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByLabel("FILE", { exact: true }).fill("gone.txt");
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.getByText("EXECUTION_ERROR").first().waitFor();
    // Fixed where it failed: the definition.
    await page.getByRole("link", { name: "Edit", exact: true }).first().click();
    await page.getByRole("button", { name: "YAML" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, "name: word-count\ndescription: Counts words\nbash: cat {FILE} 2>/dev/null | wc -w\nparameters:\n  FILE: {description: Which file}\ntags: [read]\n");
    await page.getByText("no problems").waitFor();
    await page.keyboard.press("Control+s");
    await page.getByText("saved", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Try it" }).click();
    await page.getByRole("button", { name: /^Run/ }).first().click();
    await page.getByRole("status").getByText("ok").first().waitFor();
    // The call becomes a test that passes.
    await page.getByRole("button", { name: "Save as test" }).click();
    await page.getByText("Saved as test from-a-call.").waitFor();
    await page.getByRole("tab", { name: "Tests" }).click();
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("1 of 1 passed").waitFor();
    await accessible(page);
    await shot(page, "tool-tests");
  }));

  test("fields are completed and explained from the format's table", () => scene(null, async (crib, page) => {
    await begin(page, crib, /^One command/, "hints");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("button", { name: "YAML" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, "description: x\n");
    await page.keyboard.type("time");
    await page.locator(".cm-tooltip-autocomplete").getByText("timeout", { exact: true }).waitFor();
    await page.locator(".cm-completionInfo").waitFor();
    await shot(page, "author-completion");
    await page.keyboard.press("Escape");
    await page.locator(".cm-content").getByText("description").first().hover();
    await page.locator(".cm-tooltip-hover .help").waitFor();
  }));

  test("steps are built without YAML, and the comments of the text stay", () => scene((crib) => {
    crib.file(".toolcrib/tools/release.yaml", "# why this exists\ndescription: Makes a note\nsteps:\n  # the first one\n  - name: write\n    bash: echo one > note.txt # quick\nparameters:\n  TEXT: {description: What to keep}\ntags: [write]\n");
  }, async (crib, page) => {
    await crib.run("trust", "--yes").catch(() => {});
    await page.goto(`${crib.url}/ui/author/local/release.yaml`);
    await page.getByText("the first one", { exact: false }).first().waitFor({ state: "attached" });
    await page.getByRole("button", { name: "+ bash command" }).click();
    await page.getByLabel("Command", { exact: false }).last().fill("cat note.txt");
    await page.getByLabel("Only if", { exact: false }).last().fill("{write.exit-code} == 0");
    await page.getByLabel("attempts", { exact: true }).last().fill("3");
    await page.getByRole("button", { name: "+ another tool" }).click();
    await page.getByLabel("Which tool").fill("read_file");
    await page.getByLabel("path (required)").fill("note.txt");
    await accessible(page);
    await shot(page, "author-builder");
    await page.getByRole("button", { name: "Earlier: call" }).click();
    await page.getByLabel("Name", { exact: true }).fill("look");
    await page.getByLabel("Name", { exact: true }).blur();
    await page.getByText("no problems").or(page.getByText(/warning/)).first().waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByText(/^Saved .*release\.yaml\.$/).waitFor();
    const text = readFileSync(fileOf(crib, "release.yaml"), "utf8");
    for (const kept of ["# why this exists\n", "  # the first one\n", "> note.txt # quick\n"]) assert.ok(text.includes(kept), text);
    assert.ok(text.indexOf("name: look") < text.indexOf("name: step"), text);
    assert.match(text, /run-condition: "\{write\.exit-code\} == 0"/);
    // YAML is read back: the text is the value.
    await page.getByRole("button", { name: "YAML" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, text.replace("name: write", "name: begin").replace("{write.exit-code}", "{begin.exit-code}"));
    await page.getByRole("button", { name: "Builder" }).click();
    await page.locator(".stepcard").first().getByText("begin").waitFor();
    const outcome = await crib.api("POST", "/api/calls", { tool: "release", args: { TEXT: "x" }, approvals: "yes" });
    assert.equal(outcome.ok, true, JSON.stringify(outcome));
  }));

  test("an HTTP tool is a form, and what the form cannot say stays JSON", () => scene(null, async (crib, page) => {
    await begin(page, crib, /^An HTTP request/, "weather", "Fetches the weather");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByLabel("URL", { exact: false }).fill("https://api.example.com/v2/${country}/now?q=${city}");
    await page.getByRole("button", { name: "Make country an argument" }).click();
    await page.getByRole("button", { name: "Add a header" }).click();
    await page.getByLabel("Name of the header").last().fill("X-Trace");
    await page.getByLabel("Value of the header: X-Trace").fill("yes");
    await accessible(page);
    await shot(page, "author-http");
    await page.getByText(/no problems|warning/).first().waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByText(/^Saved .*weather\.json\.$/).waitFor();
    const tool = JSON.parse(readFileSync(fileOf(crib, "weather.json"), "utf8"));
    assert.deepEqual([tool.impl.urlTemplate, tool.impl.headers["X-Trace"], tool.argSchema.required], ["https://api.example.com/v2/${country}/now?q=${city}", "yes", ["city", "country"]]);
    await page.getByRole("button", { name: "JSON" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, `// a comment\n${JSON.stringify(tool, null, 2)}\n`);
    await page.getByRole("group", { name: "View" }).getByRole("button", { name: "Form" }).click();
    await page.getByText("the form would lose them").waitFor();
  }));

  test("a curl command becomes a tool, without its credential", () => scene(null, async (crib, page) => {
    await begin(page, crib, /^From curl/, "forecast");
    await page.getByLabel("curl command", { exact: false }).fill("curl -H 'X-Api-Key: hunter2hunter2' 'https://api.example.com/v1/now?q=Bern&days=3'");
    await page.getByLabel("What callers give", { exact: false }).fill("q");
    await page.getByRole("button", { name: "Read the command" }).click();
    await page.getByRole("heading", { name: "What the command becomes" }).waitFor();
    await accessible(page);
    await shot(page, "author-curl");
    await page.getByRole("button", { name: "Use this" }).click();
    await page.getByText(/no problems|warning/).first().waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByText(/^Saved .*forecast\.json\.$/).waitFor();
    assert.doesNotMatch(readFileSync(fileOf(crib, "forecast.json"), "utf8"), /hunter2/);
  }));

  test("a built-in tool is duplicated, and a file that changed meanwhile is not overwritten", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/tools/core/list-directory/v1`);
    await page.getByRole("link", { name: "Duplicate to edit" }).click();
    await page.getByLabel("Name", { exact: false }).last().fill("tree");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText(/no problems|warning/).first().waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByText(/^Saved .*tree\.yaml\.$/).waitFor();
    const path = fileOf(crib, "tree.yaml");
    assert.ok(existsSync(path));
    const outcome = await crib.api("POST", "/api/calls", { tool: "tree", args: { path: "." } });
    assert.equal(outcome.ok, true, JSON.stringify(outcome));
    writeFileSync(path, readFileSync(path, "utf8").replace("name: tree", "name: tree # theirs"));
    await page.getByRole("button", { name: "YAML" }).click();
    await page.locator(".cm-content").waitFor();
    await write(page, readFileSync(path, "utf8").replace("# theirs", "# mine"));
    await page.getByText(/no problems|warning/).first().waitFor();
    page.expected.push("409");
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByRole("alert").getByText("changed or removed meanwhile").waitFor();
    assert.match(readFileSync(path, "utf8"), /# theirs/);
    await page.getByRole("button", { name: "Open what is there now" }).click();
    await page.locator(".cm-content").getByText("# theirs").waitFor();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await accessible(page);
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted tree.yaml.").waitFor();
    assert.ok(!existsSync(path));
  }));

  test("a stored version is edited into a new one, with the form, help, tests and fixes of a new tool", () => scene(null, async (crib, page) => {
    await crib.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "acme", displayName: "Acme" });
    const test = { name: "greets", parameters: { name: "Ada" }, respond: { body: { text: "Hallo" } }, expected: { value: "Hallo" } };
    const definition = {
      type: "http", description: "Says hello", argSchema: { type: "object", properties: { name: { type: "string", description: "Whom to greet" } }, required: ["name"] },
      impl: { method: "GET", urlTemplate: "https://api.example.com/hello?name=${name}", extractExpr: "$.text" }, tests: [test], tags: ["read"],
    };
    const stored = await crib.api("PUT", "/tools/bundles/acme/tools/now/version/v1", definition);
    assert.equal(stored.error, undefined, JSON.stringify(stored));
    await page.goto(`${crib.url}/ui/tools/acme/now/v1`);
    await page.getByRole("link", { name: "Edit" }).click();
    const save = page.getByRole("button", { name: /^Save as new version/ });
    await page.getByText(/no problems|warning/).first().waitFor();
    // Nothing is new yet.
    assert.equal(await save.getAttribute("aria-disabled"), "true");
    await page.getByLabel("Description", { exact: true }).fill("Greets someone");
    await accessible(page);
    await shot(page, "author-version");
    // Looking at something else loses nothing.
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Calls/ }).click();
    await page.getByRole("heading", { name: "Calls" }).waitFor();
    await page.goBack();
    assert.equal(await page.getByLabel("Description", { exact: true }).inputValue(), "Greets someone");
    const show = (view) => page.getByRole("group", { name: "View" }).getByRole("button", { name: view }).click();
    await show("JSON");
    const editor = page.locator(".cm-content");
    await editor.waitFor();
    // Fields are explained and completed from the format's table.
    await editor.getByText("urlTemplate").first().hover();
    await page.locator(".cm-tooltip-hover .help").waitFor();
    await editor.click();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Home");
    await page.keyboard.type('"keyw');
    await page.locator(".cm-tooltip-autocomplete").getByText("keywords", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    // A misspelt field is found and fixed.
    await write(page, JSON.stringify({ slug: "now", ...definition, description: "Greets someone" }, null, 2).replace('"extractExpr"', '"extractExp"'));
    await page.getByRole("button", { name: "Fix" }).first().click();
    await page.getByText(/no problems|^\d+ warning/).first().waitFor();
    // Its tests run before it is saved.
    await show(/^Tests/);
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("1 of 1 passed").waitFor();
    await accessible(page);
    await save.click();
    await page.getByText("Saved as v2.").waitFor();
    await page.getByText("Greets someone").first().waitFor();
    const { description } = await crib.api("GET", "/tools/bundles/acme/tools/now/version/v1");
    assert.equal(description, "Says hello");
    assert.equal((await crib.api("GET", "/tools/bundles/acme/tools/now/version/v2")).impl.extractExpr, "$.text");
    // The draft is gone with its saving.
    await page.goto(`${crib.url}/ui/tools/acme/now/v1`);
    await page.getByRole("link", { name: "Edit" }).click();
    assert.equal(await page.getByLabel("Description", { exact: true }).inputValue(), "Says hello");
  }));
});

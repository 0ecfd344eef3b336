// What a tool page, the palette and the lists promise when something is odd, lost, large or small.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { accessible, launch, sceneOf, shot } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());
/** Answers that a test changes on their way are waited for before its page goes. */
const scene = (prepare, run, options) => sceneOf(browser, prepare, async (crib, page) => {
  await run(crib, page);
  await page.unrouteAll({ behavior: "wait" });
}, options);

const toolPage = (crib, bundle, slug) => `${crib.url}/ui/tools/${bundle}/${slug}/v1`;
const narrow = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const write = (crib, name, content) => crib.api("PUT", `/api/files/local/${name}.yaml`, { content });
const runOf = (page) => page.getByRole("button", { name: /^Run/ }).first();
const isBlocked = async (page, is) => assert.equal(await runOf(page).getAttribute("aria-disabled"), String(is));

/** Gives the page another input schema for a tool. */
const withSchema = (page, slug, inputSchema) => page.route(`**/tools/bundles/core/tools/${slug}/version/v1`, async (route) => {
  const answer = await route.fetch();
  await route.fulfill({ json: { ...(await answer.json()), inputSchema } });
});

describe("state", () => {
  test("nothing of one tool is left when the palette opens another", () => scene(null, async (crib, page) => {
    for (const name of ["alpha", "beta"]) await write(crib, name, `description: The tool ${name}\nparameters:\n  N:\n    type: integer\n    description: A number\nbash: echo {N}\ntags: [read]\n`);
    await page.goto(toolPage(crib, "local", "alpha"));
    await page.getByLabel("N", { exact: true }).fill("3x");
    await page.keyboard.press("Control+Enter");
    await page.getByText("This is not a number").first().waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("beta");
    await page.getByRole("option", { selected: true }).filter({ hasText: "beta" }).waitFor();
    await page.locator(".palette .args").getByText("beta").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", { name: "beta" }).waitFor();
    assert.equal(await page.getByLabel("N", { exact: true }).inputValue(), "");
    assert.equal(await page.getByText("This is not a number").count(), 0);
    await page.getByLabel("N", { exact: true }).fill("7");
    await runOf(page).click();
    await page.getByRole("log").getByText("7").waitFor();
  }));

  test("text that is no value blocks for as long as it is there, and no longer", () => scene(null, async (crib, page) => {
    await withSchema(page, "read-file", { type: "object", properties: { list: { type: "array", items: { type: "integer" } } } });
    await page.goto(toolPage(crib, "core", "read-file"));
    const add = page.getByRole("button", { name: "Add an item" });
    await add.click();
    await add.click();
    await page.getByLabel("list item 2", { exact: true }).fill("3x");
    await isBlocked(page, true);
    await page.getByRole("button", { name: "Remove: list item 2" }).click();
    await isBlocked(page, false);
    await add.click();
    await page.getByLabel("list item 2", { exact: true }).fill("4y");
    await page.getByRole("button", { name: "Remove: list item 1" }).click();
    // The text is still there, one place further up.
    assert.equal(await page.getByLabel("list item 1", { exact: true }).inputValue(), "4y");
    await isBlocked(page, true);
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    await isBlocked(page, false);
    await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
    await isBlocked(page, false);
    await page.getByLabel("list item 1", { exact: true }).fill("5z");
    await isBlocked(page, true);
    await page.getByRole("button", { name: "Empty", exact: true }).click();
    await isBlocked(page, false);
  }));

  test("the palette names what it sends and does not draw", () => scene(null, async (crib, page) => {
    await page.goto(toolPage(crib, "core", "read-file"));
    await argsView(page, "JSON");
    await page.getByLabel("Arguments, JSON").fill('{"path": "a.txt", "odd": [1]}');
    await page.keyboard.press("Control+k");
    await page.keyboard.type("read file");
    await page.locator(".palette .args").getByText("read-file").waitFor();
    await page.locator(".palette").getByText("Also sent, from the tester: odd.").waitFor();
  }));

  test("the palette sends no text where a number belongs", () => scene(null, async (crib, page) => {
    await withSchema(page, "read-file", { type: "object", properties: { start_line: { type: "integer" } } });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("read file");
    const args = page.locator(".palette .args");
    await args.getByText("read-file").waitFor();
    await args.getByLabel("start_line").fill("3x");
    await args.getByText("This is not a number").first().waitFor();
    const run = args.getByRole("button", { name: "Run" });
    assert.equal(await run.getAttribute("aria-disabled"), "true");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator(".palette .result").count(), 0);
    await args.getByLabel("start_line").fill("3");
    assert.equal(await run.getAttribute("aria-disabled"), "false");
  }));

  test("null is sent for a field that was not sent before, and a large number is not rounded", () => scene(null, async (crib, page) => {
    await withSchema(page, "read-file", { type: "object", properties: { id: { type: "integer" }, note: { type: ["string", "null"] } } });
    await page.goto(toolPage(crib, "core", "read-file"));
    await page.getByRole("button", { name: "Set to null: note" }).click();
    await page.getByText("null is sent").waitFor();
    await page.getByLabel("id", { exact: true }).fill("9007199254740993");
    await page.getByText("are rounded in a browser").first().waitFor();
    await isBlocked(page, true);
    await page.getByLabel("id", { exact: true }).fill("9007199254740991");
    await isBlocked(page, false);
    await page.getByRole("button", { name: "JSON", exact: true }).click();
    const json = page.getByLabel("Arguments, JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), { note: null, id: 9007199254740991 });
    await json.fill('{"id": 9007199254740993}');
    await page.getByText("are rounded in a browser").first().waitFor();
    await isBlocked(page, true);
  }));
});

/** A tool of the store with these arguments; calls of it fail, because its host is not there. */
async function stored(crib, slug, argSchema, version = "v1") {
  await crib.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "odd", displayName: "Odd" });
  const answer = await crib.api("PUT", `/tools/bundles/odd/tools/${slug}/version/${version}`, { type: "http", description: "Asks", isEnabled: true, argSchema, impl: { method: "GET", urlTemplate: "http://127.0.0.1:9/none" }, tags: ["read"] });
  assert.equal(answer.error, undefined, JSON.stringify(answer));
}
const argsView = (page, name) => page.getByRole("group", { name: "Arguments", exact: true }).getByRole("button", { name, exact: true }).click();
const sent = async (page) => {
  await argsView(page, "JSON");
  const args = JSON.parse(await page.getByLabel("Arguments, JSON").inputValue());
  await argsView(page, "Form");
  return args;
};

describe("the arguments as a whole", () => {
  test("a key that the schema does not name is in the form, as long as it is sent", () => scene(null, async (crib, page) => {
    await stored(crib, "open", { type: "object", properties: { a: { type: "string" } } });
    await page.goto(toolPage(crib, "odd", "open"));
    await argsView(page, "JSON");
    await page.getByLabel("Arguments, JSON").fill('{"a": "x", "more": [1]}');
    await argsView(page, "Form");
    const more = page.getByLabel("more", { exact: true });
    assert.deepEqual(JSON.parse(await more.inputValue()), [1]);
    await more.fill("[1");
    await isBlocked(page, true);
    await more.fill("[1, 2]");
    assert.deepEqual(await sent(page), { a: "x", more: [1, 2] });
    await accessible(page);
    await page.getByRole("button", { name: "Do not send: more" }).click();
    assert.deepEqual(await sent(page), { a: "x" });
    assert.equal(await more.count(), 0);
  }));

  test("kinds that only say what goes together leave the form as it is", () => scene(null, async (crib, page) => {
    await stored(crib, "either", { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] });
    await page.goto(toolPage(crib, "odd", "either"));
    await page.getByLabel("b", { exact: true }).fill("kept");
    assert.equal(await page.getByRole("region", { name: "Arguments" }).locator("select").count(), 0);
    assert.deepEqual(await sent(page), { b: "kept" });
    await runOf(page).click();
    await page.locator(".failed code").first().waitFor();
    // Nothing at all is what no kind takes: said, and left to the server.
    page.expected.push("400");
    await page.getByRole("button", { name: "Do not send: b" }).click();
    await runOf(page).click();
    await page.getByText("fits none of the kinds").waitFor();
    await page.locator(".failed code").getByText("INVALID_ARGUMENTS").waitFor();
  }));

  test("several kinds of arguments are chosen from, keep what they share, and are an object in any case", () => scene(null, async (crib, page) => {
    const name = { type: "string" };
    await stored(crib, "kinds", { type: "object", oneOf: [{ title: "By name", properties: { k: { const: "name" }, name, label: { type: "string" } }, required: ["k", "name"] }, { title: "By number", properties: { k: { const: "number" }, n: { type: "integer" }, label: { type: "string" } }, required: ["k", "n"] }], properties: {} });
    await page.goto(toolPage(crib, "odd", "kinds"));
    const kind = page.getByLabel("Kind of value", { exact: true });
    await kind.selectOption({ label: "1. By name" });
    await page.getByLabel("name", { exact: true }).fill("Ada");
    await page.getByLabel("label", { exact: true }).fill("shared");
    assert.deepEqual(await sent(page), { k: "name", name: "Ada", label: "shared" });
    await kind.selectOption({ label: "2. By number" });
    assert.deepEqual(await sent(page), { k: "number", label: "shared" });
    // There is no choice that sends nothing where the arguments belong.
    assert.deepEqual(await kind.locator("option").allInnerTexts(), ["1. By name", "2. By number"]);
    await page.getByLabel("n", { exact: true }).fill("3");
    await accessible(page);
    await page.getByRole("button", { name: "Empty", exact: true }).click();
    assert.deepEqual(await sent(page), {});
    assert.equal(await page.getByText("This part of the page failed").count(), 0);
    // What is filled in elsewhere chooses its kind.
    await argsView(page, "JSON");
    await page.getByLabel("Arguments, JSON").fill('{"k": "number", "n": 4}');
    await argsView(page, "Form");
    assert.equal(await kind.locator("option:checked").innerText(), "2. By number");
  }));

  test("a field that a condition asks for is drawn, and blocks while it is missing", () => scene(null, async (crib, page) => {
    await stored(crib, "cond", { type: "object", properties: { k: { enum: ["a", "b"] } }, if: { properties: { k: { const: "a" } }, required: ["k"] }, then: { properties: { n: { type: "integer" } }, required: ["n"] } });
    await page.goto(toolPage(crib, "odd", "cond"));
    await page.getByLabel("k", { exact: true }).selectOption({ label: "a" });
    await runOf(page).click();
    await page.getByText("Fix 1 field: n (required)").waitFor();
    await page.getByLabel("n", { exact: true }).fill("5");
    await runOf(page).click();
    await page.locator(".failed code").first().waitFor();
    assert.deepEqual(await sent(page), { k: "a", n: 5 });
  }));

  test("a default never comes back while its field is edited, and is not sent", () => scene(null, async (crib, page) => {
    await stored(crib, "usual", { type: "object", properties: { text: { type: "string", default: "usual" }, n: { type: "integer", default: 7 }, on: { type: "boolean", default: true }, one: { enum: ["x", "y"], default: "x" }, list: { type: "array", items: { type: "string" }, default: ["p"] }, any: { default: { deep: 1 } } } });
    await page.goto(toolPage(crib, "odd", "usual"));
    assert.deepEqual(await sent(page), {});
    const text = page.getByLabel("text", { exact: true });
    await text.pressSequentially("us");
    await text.press("Backspace");
    await text.press("Backspace");
    assert.equal(await text.inputValue(), "");
    assert.deepEqual(await sent(page), { text: "" });
    const n = page.getByLabel("n", { exact: true });
    await n.pressSequentially("71");
    await n.press("Backspace");
    await n.press("Backspace");
    assert.equal(await n.inputValue(), "");
    await n.pressSequentially("-");
    await isBlocked(page, true);
    await n.pressSequentially("2");
    await page.getByLabel("on", { exact: true }).selectOption("false");
    await page.getByLabel("one", { exact: true }).selectOption({ label: "y" });
    await page.getByRole("button", { name: "Add an item: list" }).click();
    await page.getByRole("button", { name: "Remove: list item 1" }).click();
    await page.getByLabel("any", { exact: true }).fill("{}");
    assert.deepEqual(await sent(page), { text: "", n: -2, on: false, one: "y", list: [], any: {} });
    await runOf(page).click();
    await page.locator(".failed code").first().waitFor();
    assert.deepEqual(await sent(page), { text: "", n: -2, on: false, one: "y", list: [], any: {} });
  }));
});

describe("what is odd", () => {
  test("an odd tool takes down the palette and not the page", () => scene(null, async (crib, page) => {
    page.expected.push("Objects are not valid", "An error occurred in", "Minified React error");
    await page.route("**/tools/search?*", async (route) => {
      const body = await (await route.fetch()).json();
      if (route.request().url().includes("odd")) body.results = [{ bundle: "core", slug: "shell", version: "v1", availability: { state: "ready" }, effects: null, description: {} }];
      await route.fulfill({ json: body });
    });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("odd");
    await page.getByRole("dialog").getByText("This part of the page failed").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.locator(".tool-row").first().waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Call a tool" }).waitFor();
  }));

  test("an odd question leaves the others answerable", () => scene((crib) => { crib.file("a.txt", "old\n"); }, async (crib, page) => {
    page.expected.push("TypeError", "An error occurred in");
    const call = crib.api("POST", "/api/calls", { tool: "write_file", args: { path: "a.txt", content: "new\n" }, approvals: "wait" });
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const odd = (one) => ({ ...one, id: "00000000-0000-7000-8000-000000000000", tool: "odd", effect: null, args: null, diff: null });
    await page.route("**/api/approvals?*", async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({ json: { ...body, approvals: [...body.approvals, ...body.approvals.slice(0, 1).map(odd)] } });
    });
    await page.route("**/api/approvals/00000000*", async (route) => {
      const { approvals } = await crib.api("GET", "/api/approvals?status=pending");
      await route.fulfill({ json: odd(approvals[0]) });
    });
    await page.goto(`${crib.url}/ui/approvals/00000000-0000-7000-8000-000000000000`);
    await page.getByText("This part of the page failed").nth(1).waitFor();
    await page.locator(".queue .card").filter({ hasText: "write_file" }).click();
    await page.getByRole("button", { name: /^Approve/ }).click();
    assert.equal((await call).ok, true);
  }));

  test("a part of the page that is gone after an upgrade loads the page again, once", () => scene(null, async (crib, page) => {
    page.expected.push("404", "dynamically imported module", "Unable to preload", "An error occurred in", "TypeError");
    let gone = 1;
    await page.route("**/assets/Metrics-*.js", (route) => (gone-- > 0 ? route.fulfill({ status: 404, body: "" }) : route.continue()));
    await page.getByRole("link", { name: "Metrics" }).click();
    await page.getByRole("heading", { name: "Metrics" }).waitFor();
    let loads = 0;
    page.on("load", () => { loads += 1; });
    await page.route("**/assets/Secrets-*.js", (route) => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("link", { name: "Secrets" }).click();
    // It was loaded again a moment ago: what is still gone is said.
    await page.getByText("This part of the page failed").waitFor();
    assert.equal(loads, 0);
  }));

  test("a message that is missing ends the build", () => {
    const here = dirname(fileURLToPath(import.meta.url));
    const copy = mkdtempSync(join(tmpdir(), "toolcrib-messages-"));
    try {
      for (const name of ["src", "index.html", "vite.config.ts", "tsconfig.json", "package.json"]) cpSync(join(here, "..", name), join(copy, name), { recursive: true });
      symlinkSync(join(here, "../node_modules"), join(copy, "node_modules"));
      const zh = join(copy, "src/messages/zh.ts");
      writeFileSync(zh, readFileSync(zh, "utf8").replace(/ retry: "[^"]*",/, ""));
      const { status, stdout, stderr } = spawnSync("npm", ["run", "build"], { cwd: copy, encoding: "utf8" });
      assert.notEqual(status, 0);
      assert.match(stdout + stderr, /zh\.common\.retry is missing/);
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});

const STEPS = "description: Two steps\nsteps:\n  - name: first\n    bash: echo one\n  - name: second\n    bash: sleep 60\n    timeout: 1s\ntags: [read]\n";

describe("steps", () => {
  test("a step that times out says so, with the time of each, while it runs and in the record", () => scene(null, async (crib, page) => {
    await write(crib, "steps", STEPS);
    await page.goto(toolPage(crib, "local", "steps"));
    await runOf(page).click();
    const second = page.locator(".steps .step").filter({ hasText: "second" });
    await second.getByText("running").waitFor();
    await second.getByText("timed out").waitFor();
    assert.match(await second.innerText(), /1\.\d s/);
    await page.locator(".steps .step").filter({ hasText: "first" }).getByText("ok").waitFor();
    await accessible(page);
    await shot(page, "steps-timeout");
    // A call of which only the record is left.
    const outcome = await crib.api("POST", "/api/calls", { tool: "steps", args: {} });
    await page.goto(`${crib.url}/ui/calls/${outcome.metadata.callId}`);
    const line = page.getByRole("list", { name: "Time" });
    await line.getByRole("listitem").filter({ hasText: "second" }).getByText("timed out").waitFor();
    await line.getByRole("listitem").filter({ hasText: "first" }).getByText("ok").waitFor();
    await accessible(page);
    await shot(page, "call-steps");
  }));

  test("a call with more calls inside than are drawn says so", () => scene(null, async (crib, page) => {
    await write(crib, "steps", STEPS.replace("sleep 60", "echo two"));
    const outcome = await crib.api("POST", "/api/calls", { tool: "steps", args: {} });
    const id = outcome.metadata.callId;
    await page.route(`**/api/calls?parent=${id}*`, async (route) => {
      const { calls } = await crib.api("GET", "/api/calls?tool=steps");
      await route.fulfill({ json: { calls: Array.from({ length: 100 }, (_, n) => ({ ...calls[0], callId: `inside-${n}` })), nextPageToken: "more" } });
    });
    await page.goto(`${crib.url}/ui/calls/${id}`);
    await page.getByText("Only the last 100 calls inside it are drawn.").waitFor();
  }));

  test("the builder says what each step may do", () => scene(null, async (crib, page) => {
    await write(crib, "steps", "description: Steps\nsteps:\n  - name: first\n    bash: git push | grep x\n  - name: second\n    use-tool: write_file\n    with:\n      path: a.txt\n      content: b\n");
    await page.goto(`${crib.url}/ui/author/local/steps.yaml`);
    const card = (name) => page.locator(".stepcard").filter({ hasText: name });
    await card("first").locator(".maydo").getByText("git", { exact: true }).waitFor();
    await card("first").locator(".maydo").getByText("grep", { exact: true }).waitFor();
    await card("second").locator(".maydo").getByText("changes something").waitFor();
    await shot(page, "builder-may-do");
  }));
});

test("a call whose connection is cut is picked up by its id, with the output that came meanwhile", () => scene(null, async (crib, page) => {
  page.expected.push("ERR_FAILED");
  await page.addInitScript(() => {
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => {
      if (!String(input.url ?? input).endsWith("/invoke")) return real(input, init);
      const stop = new AbortController();
      globalThis.cut = () => stop.abort(new TypeError("network error"));
      return real(input, { ...init, signal: stop.signal });
    };
  });
  await page.goto(toolPage(crib, "core", "shell"));
  await page.getByLabel("command", { exact: true }).fill("echo first; while [ ! -e go ]; do sleep 0.05; done; echo last");
  await runOf(page).click();
  await page.getByRole("log").getByText("first").waitFor();
  let tries = 0;
  await page.route("**/api/calls/*/events", (route) => (tries++ === 0 ? route.abort() : route.continue()));
  await page.evaluate(() => globalThis.cut());
  await page.getByText("The connection was lost while the call ran.").first().waitFor();
  crib.file("go", "");
  await page.getByRole("log").getByText("last").waitFor();
  await page.getByRole("region", { name: "Output" }).getByRole("status").first().getByText("ok").waitFor();
  assert.match(await page.getByRole("log").innerText(), /^first\s+last\s*$/);
}));

describe("lists", () => {
  test("a filter over more than one page shows all hits, and the server counts what a switch means", () => scene(null, async (crib, page) => {
    const list = await crib.api("GET", "/api/tools?all=true&tokens=true");
    const rows = Array.from({ length: 600 }, (_, at) => ({ ...list.tools[0], name: `made_${at}`, slug: `made-${at}` }));
    await page.route("**/api/tools?*", (route) => route.fulfill({ json: { tools: rows } }));
    await page.route("**/tools/search?*", (route) => (new URL(route.request().url()).searchParams.get("pageToken") === "next" ? route.fulfill({ json: { results: rows.slice(500) } }) : route.fulfill({ json: { results: rows.slice(0, 500), nextPageToken: "next" } })));
    const asked = [];
    await page.route("**/api/tools/switch", (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ json: { changed: Array.from({ length: 612 }, (_, n) => `x${n}`), refused: [] } });
    });
    await page.reload();
    await page.getByRole("searchbox", { name: "Filter tools" }).fill("made");
    await page.getByRole("status").getByText("600 tools").waitFor();
    await page.getByRole("button", { name: "Switch 600 off" }).click();
    await page.getByRole("dialog", { name: "Switch 612 tools off?" }).getByRole("button", { name: "Switch 612 off" }).click();
    await page.getByText("Switched 612 tools.").waitFor();
    assert.deepEqual(asked, [true, false].map((dryRun) => ({ filter: { q: "made" }, isEnabled: false, dryRun })));
  }));

  test("a tool shows its tokens and how its last call ended, and the failing are switched by the server's filter", () => scene((crib) => { crib.file("a.txt", "A\n"); }, async (crib, page) => {
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "a.txt" } });
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "gone.txt" } });
    await crib.api("POST", "/api/calls", { tool: "list_directory", args: { path: "." } });
    await page.reload();
    const { tools } = await crib.api("GET", "/api/tools?tools=read_file&tokens=true");
    const row = page.locator(".tool-row").filter({ has: page.getByText("read-file", { exact: true }) });
    await row.getByText("failed", { exact: true }).waitFor();
    await row.getByText(String(tools[0].tokens), { exact: true }).waitFor();
    await page.locator(".tool-row").filter({ has: page.getByText("list-directory", { exact: true }) }).getByText("ok", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Failing" }).click();
    await page.getByRole("button", { name: "Switch 1 off" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Switch 1 off" }).click();
    await page.getByText("Switched 1 tool.").waitFor();
    const after = await crib.api("GET", "/api/tools?tools=read_file,list_directory");
    assert.deepEqual(after.tools.map((tool) => [tool.name, tool.isEnabled]).sort(), [["list_directory", true], ["read_file", false]]);
  }));

  test("what models see is shown byte for byte, with the tokens of each provider", () => scene(null, async (crib, page) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${toolPage(crib, "core", "read-file")}?tab=models`);
    const { texts } = await crib.api("GET", "/api/definitions/anthropic?tools=read_file&texts=true");
    await page.getByRole("button", { name: `anthropic · ${texts[0].tokens}` }).click();
    await page.getByText(`${texts[0].tokens} tokens of schema`).last().waitFor();
    await page.getByRole("button", { name: "As sent" }).click();
    await page.locator("pre.out").getByText(texts[0].text.slice(0, 30)).waitFor();
    assert.equal(await page.locator("pre.out").textContent(), texts[0].text);
    await page.getByRole("button", { name: "Copy", exact: true }).first().click();
    await page.getByText("Copied").waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), texts[0].text);
    await accessible(page);
    await shot(page, "models");
  }));

  test("every provider of the API is there, with its strict mode where it has one", () => scene(null, async (crib, page) => {
    const { paths } = await crib.api("GET", "/api/openapi.json");
    const { schema } = paths["/api/definitions/{provider}"].get.parameters.find((one) => one.name === "provider");
    await page.goto(`${toolPage(crib, "core", "read-file")}?tab=models`);
    const buttons = page.getByRole("group", { name: "Provider" }).getByRole("button");
    await buttons.filter({ hasText: "mcp ·" }).waitFor();
    assert.deepEqual((await buttons.allInnerTexts()).map((text) => text.split(" ")[0]).sort(), schema.enum.filter((one) => one !== "plain").sort());
    for (const provider of schema.enum.filter((one) => one !== "plain")) {
      await buttons.filter({ hasText: new RegExp(`^${provider}( ·|$)`) }).click();
      const strict = page.getByLabel("Strict mode");
      const { texts, error } = await crib.api("GET", `/api/definitions/${provider}?tools=read_file&texts=true&strict=true`);
      assert.equal(await strict.count(), error ? 0 : 1, provider);
      if (error) continue;
      await strict.check();
      await page.getByRole("button", { name: "As sent" }).click();
      await page.waitForFunction((text) => document.querySelector("pre.out")?.textContent === text, texts[0].text);
      await strict.uncheck();
    }
  }));

  test("the calls of a version are its own", () => scene(null, async (crib, page) => {
    await stored(crib, "open", { type: "object", properties: { a: { type: "string" } } });
    await stored(crib, "open", { type: "object", properties: { zz: { type: "integer" } } }, "v2");
    await crib.api("POST", "/api/calls", { tool: "odd/open@v1", args: { a: "of v1" }, approvals: "yes" });
    await page.goto(`${crib.url}/ui/tools/odd/open/v2?tab=calls`);
    await page.getByText("This tool has not been called yet.").waitFor();
    await page.getByRole("tab", { name: "Try it" }).click();
    await page.getByRole("button", { name: "Empty", exact: true }).waitFor();
    await page.getByLabel("zz", { exact: true }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Last call" }).count(), 0);
    await page.goto(`${crib.url}/ui/tools/odd/open/v1`);
    await page.getByRole("button", { name: "Last call" }).click();
    assert.equal(await page.getByLabel("a", { exact: true }).inputValue(), "of v1");
    await page.getByRole("tab", { name: "Calls" }).click();
    await page.locator("main tbody tr").first().waitFor();
    assert.equal(await page.locator("main tbody tr").count(), 1);
    // From the figures the bundle goes along.
    await page.goto(`${crib.url}/ui/metrics`);
    assert.match(await page.getByRole("link", { name: "open" }).first().getAttribute("href"), /tool=[^&]*open&bundle=odd$/);
    await page.goto(`${crib.url}/ui/calls?tool=open&version=v2`);
    await page.getByText("No call matches these filters").waitFor();
    await page.getByRole("button", { name: "v2 ×" }).click();
    await page.getByRole("row").nth(1).waitFor();
  }));

  test("the next page of calls, and an export, keep the filters; an export that is cut says so", () => scene((crib) => { crib.file("a.txt", "A\n"); }, async (crib, page) => {
    const outcome = await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "a.txt" } });
    const { calls: [call] } = await crib.api("GET", "/api/calls");
    assert.equal(outcome.ok, true);
    const asked = [];
    await page.route("**/api/calls?*", (route) => {
      const query = new URL(route.request().url()).searchParams;
      asked.push(query);
      const size = Number(query.get("pageSize"));
      return route.fulfill({ json: { calls: Array.from({ length: size }, (_, n) => ({ ...call, callId: `c-${asked.length}-${n}` })), nextPageToken: `after-${asked.length}` } });
    });
    await page.goto(`${crib.url}/ui/calls?status=ok&bundle=core`);
    await page.getByRole("button", { name: "Show more" }).click();
    await page.getByRole("row").nth(100).waitFor();
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByText("The file has the newest 10,000 calls. There are more: narrow the filters.").waitFor();
    assert.equal(JSON.parse(readFileSync(await (await saving).path(), "utf8")).length, 10_000);
    for (const query of asked) assert.deepEqual([query.get("status"), query.get("bundle")], ["ok", "core"], String(query));
    assert.equal(asked.filter((query) => query.has("pageToken")).length, asked.length - 2);
  }));

  test("every question that waits is counted", () => scene((crib) => { crib.file("a.txt", "old\n"); }, async (crib, page) => {
    void crib.api("POST", "/api/calls", { tool: "write_file", args: { path: "a.txt", content: "new\n" }, approvals: "wait" }).catch(() => {});
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const { approvals: [one] } = await crib.api("GET", "/api/approvals?status=pending");
    await page.route("**/api/approvals?*", (route) => {
      const next = new URL(route.request().url()).searchParams.get("pageToken");
      return route.fulfill({ json: next === null ? { approvals: Array.from({ length: 500 }, (_, n) => ({ ...one, id: `many-${n}` })), nextPageToken: "rest" } : { approvals: [one] } });
    });
    await page.reload();
    await page.locator(".rail .n.hot").getByText("501").waitFor();
  }));

  test("a denial is no failure in figures, lists and links, and waits lead to their calls", () => scene((crib) => { crib.file("a.txt", "old\n"); }, async (crib, page) => {
    const call = crib.api("POST", "/api/calls", { tool: "write_file", args: { path: "a.txt", content: "new\n" }, approvals: "wait" });
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const { approvals } = await crib.api("GET", "/api/approvals?status=pending");
    await crib.api("POST", `/api/approvals/${approvals[0].id}`, { approved: false, argsDigest: approvals[0].argsDigest });
    assert.equal((await call).error.code, "APPROVAL_DENIED");
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "gone.txt" } });
    await page.goto(`${crib.url}/ui/metrics`);
    const failed = page.getByRole("link", { name: /50.*failed/ });
    await failed.waitFor();
    await page.getByRole("region", { name: "Wait for approval" }).getByRole("link").waitFor();
    await accessible(page);
    await shot(page, "metrics-denied");
    await failed.click();
    await page.getByText("FILE_NOT_FOUND").waitFor();
    assert.equal(await page.getByText("APPROVAL_DENIED").count(), 0);
    await page.goBack();
    await page.getByRole("link", { name: /not failures.*: 1$/ }).click();
    await page.getByText("APPROVAL_DENIED").waitFor();
    assert.equal(await page.getByText("FILE_NOT_FOUND").count(), 0);
    await page.goBack();
    await page.getByRole("region", { name: "Wait for approval" }).getByRole("link").click();
    await page.getByText("APPROVAL_DENIED").waitFor();
    await page.goBack();
    await page.getByRole("region", { name: "Latency" }).getByRole("link").first().click();
    await page.getByText("FILE_NOT_FOUND").waitFor();
  }));

  test("j and k go through calls, and through open ones", () => scene((crib) => { crib.file("a.txt", "A\n"); }, async (crib, page) => {
    for (const path of ["a.txt", "b.txt", "c.txt"]) await crib.api("POST", "/api/calls", { tool: "read_file", args: { path } });
    await page.goto(`${crib.url}/ui/calls`);
    await page.getByRole("row").nth(3).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("article", { name: "Call" }).getByText("b.txt").first().waitFor();
    await page.keyboard.press("j");
    await page.getByRole("article", { name: "Call" }).getByText("a.txt").first().waitFor();
    await page.keyboard.press("k");
    await page.getByRole("article", { name: "Call" }).getByText("b.txt").first().waitFor();
  }));
});

describe("by touch", () => {
  test("a tool is called from the palette, and stopped", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/calls`);
    await page.getByRole("button", { name: "Call a tool" }).tap();
    await page.getByRole("combobox", { name: "Call a tool" }).fill("shell");
    await page.getByRole("option").filter({ has: page.getByText("shell", { exact: true }) }).tap();
    const args = page.locator(".palette .args");
    await page.locator(".palette").getByText("Pressing Run counts as your approval.").waitFor();
    await args.getByLabel("command").fill("echo begun; sleep 60");
    await args.getByRole("button", { name: "Run" }).tap();
    const result = page.getByRole("region", { name: "Result" });
    await result.getByText("begun").waitFor();
    const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(width, 0);
    await accessible(page);
    await shot(page, "palette-narrow");
    await result.getByRole("button", { name: "Stop" }).tap();
    await result.getByText("CANCELLED").first().waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Close" }).tap();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }, narrow));

  test("questions are turned like pages", () => scene((crib) => { crib.file("a.txt", "A\n").file("b.txt", "B\n"); }, async (crib, page) => {
    const calls = [];
    for (const [n, path] of [[1, "a.txt"], [2, "b.txt"]]) {
      calls.push(crib.api("POST", "/api/calls", { tool: "write_file", args: { path, content: "new\n" }, approvals: "wait" }));
      await page.locator(".rail .n.hot").getByText(String(n)).waitFor();
    }
    await page.goto(`${crib.url}/ui/approvals`);
    await page.getByText("1 of 2").waitFor();
    await page.locator(".effect").getByText("a.txt").waitFor();
    await page.getByRole("button", { name: "Next" }).tap();
    await page.locator(".effect").getByText("b.txt").waitFor();
    await page.getByText("2 of 2").waitFor();
    await accessible(page);
    await shot(page, "approvals-narrow-turn");
    await page.getByRole("button", { name: "Previous" }).tap();
    await page.locator(".effect").getByText("a.txt").waitFor();
    for (const name of ["a", "b"]) {
      await page.locator(".effect").getByText(`${name}.txt`).waitFor();
      await page.getByRole("button", { name: /^Approve/ }).tap();
      assert.equal((await calls.shift()).ok, true);
      await page.goto(`${crib.url}/ui/approvals`);
    }
  }, narrow));
});

test("Ctrl K opens the palette from within a field", () => scene(null, async (crib, page) => {
  await page.getByRole("searchbox", { name: "Filter tools" }).click();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Call a tool" }).waitFor();
}));

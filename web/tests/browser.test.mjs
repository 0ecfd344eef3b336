// The web admin in a real browser, against a real server.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { accessible, launch, sceneOf, shot, sound } from "./harness.mjs";

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

const scene = (prepare, run, options) => sceneOf(browser, prepare, run, options);

const tool = (bundle, slug) => `/ui/tools/${bundle}/${slug}/v1`;

describe("signing in", () => {
  test("a link signs one browser in, once", () => scene(null, async (crib, first) => {
    await first.goto(crib.link);
    assert.equal(await first.evaluate(() => location.hash), "");
    const second = await crib.page(browser, { signIn: false });
    await second.getByRole("heading", { name: "Sign in to Toolcrib" }).waitFor();
    await accessible(second);
    await shot(second, "door");
    // The link of `serve` was used by the first browser.
    second.expected.push("410");
    await second.goto(`${crib.url}/ui/`);
    await second.goto(crib.link);
    await second.reload();
    await second.goto("about:blank");
    await second.goto(crib.link);
    await second.getByRole("alert").getByText("used already").waitFor();
    sound(second);
    await second.context().close();
  }));

  test("a stolen cookie or key alone opens nothing", () => scene(null, async (crib, page) => {
    const cookie = (await page.context().cookies())[0];
    assert.match(cookie.name, /^toolcrib-[0-9a-f]{12}$/);
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
    const key = await page.evaluate(() => localStorage.getItem("toolcrib.key"));
    const ask = (headers) => fetch(`${crib.url}/api/approvals`, { headers }).then((answer) => answer.status);
    assert.equal(await ask({ cookie: `${cookie.name}=${cookie.value}` }), 401);
    assert.equal(await ask({ "toolcrib-key": key }), 401);
    assert.equal(await ask({ cookie: `${cookie.name}=${cookie.value}`, "toolcrib-key": key }), 200);
  }));

  test("signing out in the settings closes the page", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/settings`);
    page.expected.push("401");
    await page.getByRole("button", { name: "Sign out" }).first().click();
    await page.getByRole("heading", { name: "Sign in to Toolcrib" }).waitFor();
  }));
});

describe("tools", () => {
  test("a tool is found, switched off and on again", () => scene(null, async (crib, page) => {
    await page.getByRole("searchbox", { name: "Filter tools" }).fill("read file");
    await page.getByRole("row").filter({ hasText: "read-file" }).waitFor();
    // The server's ranking, not the order of the list.
    await page.locator(".tool-row").first().filter({ hasText: "read-file" }).waitFor();
    const toggle = page.getByRole("switch", { name: "read-file is on", exact: true });
    await toggle.click();
    await page.locator(".tool-row.off").filter({ hasText: "read-file" }).waitFor();
    const { tools } = await crib.api("GET", "/api/tools?tools=read_file");
    assert.equal(tools[0].isEnabled, false);
    await toggle.click();
    await page.locator(".tool-row:not(.off)").filter({ hasText: "read-file" }).waitFor();
  }));

  test("a switch acts on everything that matches the filters", () => scene(null, async (crib, page) => {
    await page.getByRole("combobox", { name: "Effect" }).selectOption("run");
    await page.getByRole("button", { name: /^Switch \d+ off$/ }).click();
    const dialog = page.getByRole("dialog");
    await accessible(page);
    await dialog.getByRole("button", { name: /^Switch \d+ off$/ }).click();
    await page.getByText(/^Switched \d+ tools\.$/).waitFor();
    const { tools } = await crib.api("GET", "/api/tools");
    for (const one of tools) assert.equal(one.isEnabled, !one.effects.includes("run"), one.name);
  }));

  test("ten thousand tools are drawn by the rows in view, and a key in the filter is answered within 50 ms", async () => {
    await scene(async (crib) => {
      for (let n = 0; n < 10_000; n += 1) crib.file(`.toolcrib/tools/made-${n}.yaml`, `description: Says number ${n} of the ${["lamp", "river", "stone", "cloud"][n % 4]} register\nbash: echo ${n}\ntags: [read]\n`);
      await crib.run("trust", "--yes");
    }, async (crib, page) => {
      // The server of this test is not optimised, and other tests run beside it.
      page.setDefaultTimeout(60_000);
      await page.getByText(/^10,0\d\d$/).first().waitFor();
      const drawn = await page.locator(".tool-row").count();
      assert.ok(drawn < 80, `${drawn} rows are drawn`);
      await page.evaluate(() => {
        globalThis.keys = [];
        new PerformanceObserver((list) => globalThis.keys.push(...list.getEntries().filter((one) => one.name === "keydown" && one.target?.type === "search").map((one) => one.duration))).observe({ type: "event", durationThreshold: 16 });
      });
      const input = page.getByRole("searchbox", { name: "Filter tools" });
      const words = "river 99";
      // From the key to the next frame, as a person sees it. The slowest key counts, of the best of up to three rounds: the machine does other work too.
      const best = Array(words.length).fill(Infinity);
      for (let round = 0; round < 3 && Math.max(...best) > 50; round += 1) {
        await input.fill("");
        await input.focus();
        for (let at = 0; at < words.length; at += 1) {
          await page.evaluate(() => { globalThis.keys = []; });
          await page.keyboard.press(words[at]);
          // Two frames later the browser has told of all that took longer than one.
          const [slow = 16] = await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(globalThis.keys), 60))); }));
          best[at] = Math.min(best[at], slow);
        }
        await page.locator(".tool-row").first().filter({ hasText: "river register" }).waitFor();
      }
      assert.ok(Math.max(...best) <= 50, `${best.join(", ")} ms`);
      // What is seen is what matches, and the last one can be reached.
      await input.fill("made-9999");
      await page.locator(".tool-row").first().filter({ hasText: "made-9999" }).waitFor();
      await input.fill("");
      await page.getByText(/^10,0\d\d$/).first().waitFor();
      // From the top to the end in a hundred leaps: the work of each frame, by the middle one, of the best of up to three rounds.
      const scrolled = () => page.evaluate(async () => {
        const frame = () => new Promise(requestAnimationFrame);
        const step = document.documentElement.scrollHeight / 100;
        const took = [];
        for (let at = 0; at <= 100; at += 1) {
          scrollTo(0, at * step);
          // What scrolling asks for is drawn before the frame after the next.
          await frame();
          const begun = performance.now();
          await frame();
          took.push(performance.now() - begun);
        }
        return took.sort((a, b) => a - b)[50];
      });
      const rounds = [];
      for (let round = 0; round < 3 && !(Math.min(...rounds) <= 34); round += 1) rounds.push(await scrolled());
      assert.ok(Math.min(...rounds) <= 34, `${rounds.map(Math.round).join(", ")} ms a frame`);
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.locator(".tool-row").last().waitFor();
      assert.ok((await page.locator(".tool-row").count()) < 80);
    });
  });
});

describe("the tester", () => {
  test("form and JSON are two views of one value", () => scene(null, async (crib, page) => {
    await page.goto(crib.url + tool("core", "write-file"));
    await page.getByLabel("path", { exact: true }).fill("a.txt");
    await page.getByLabel("content", { exact: true }).fill("one");
    await page.getByRole("button", { name: "JSON" }).click();
    const json = page.getByLabel("Arguments, JSON");
    assert.deepEqual(JSON.parse(await json.inputValue()), { path: "a.txt", content: "one" });
    await json.fill('{"path": "b.txt", "content": ""');
    await page.getByText("Arguments are a JSON object").waitFor();
    assert.equal(await page.getByRole("button", { name: /^Run/ }).getAttribute("aria-disabled"), "true");
    await json.fill('{"path": "b.txt", "content": ""}');
    await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
    assert.equal(await page.getByLabel("path", { exact: true }).inputValue(), "b.txt");
    await page.getByText("empty text is sent").waitFor();
    await page.keyboard.press("Control+Enter");
    await page.getByRole("status").getByText("ok").first().waitFor();
    assert.equal(readFileSync(join(crib.work, "b.txt"), "utf8"), "");
    await page.goto(crib.url + tool("core", "read-file"));
    assert.equal(await page.getByLabel("path", { exact: true }).inputValue(), "");
  }));

  test("output streams, and Stop is where Run was", () => scene(null, async (crib, page) => {
    await page.goto(crib.url + tool("core", "shell"));
    await page.getByLabel("command", { exact: true }).fill("echo first; sleep 30; echo never");
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.getByRole("log").getByText("first").waitFor();
    await shot(page, "tool-running");
    await page.getByRole("button", { name: /^Stop/ }).first().click();
    await page.getByText("CANCELLED").first().waitFor();
    await page.getByRole("button", { name: /^Run/ }).first().waitFor();
  }));

  test("what is missing or wrong blocks the run and is named", () => scene(null, async (crib, page) => {
    await page.goto(crib.url + tool("core", "read-file"));
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.getByText("Fix 1 field: path (required)").waitFor();
    await page.getByLabel("path", { exact: true }).fill("gone.txt");
    await page.getByLabel("start_line", { exact: true }).fill("three");
    await page.getByText("This is not a number").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^Run/ }).getAttribute("aria-disabled"), "true");
    await page.getByLabel("start_line", { exact: true }).fill("");
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.getByText("FILE_NOT_FOUND").first().waitFor();
    await shot(page, "tool-error");
    await accessible(page);
  }));

  test("a preview says what the call would do and does nothing", () => scene((crib) => { crib.file("a.txt", "old\n"); }, async (crib, page) => {
    await page.goto(crib.url + tool("core", "write-file"));
    await page.getByLabel("path", { exact: true }).fill("a.txt");
    await page.getByLabel("content", { exact: true }).fill("new\n");
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("asks a person first").waitFor();
    await page.locator(".diff .del").getByText("-old").waitFor();
    assert.equal(readFileSync(join(crib.work, "a.txt"), "utf8"), "old\n");
  }));

  test("every tab of a tool opens", () => scene(null, async (crib, page) => {
    await page.goto(crib.url + tool("core", "shell"));
    for (const [tab, text] of [["Definition", "Input schema"], ["What models see", "bytes"], ["Policy", "Rules that apply to this tool"], ["Calls", "has not been called"]]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByText(text).first().waitFor();
      await accessible(page);
    }
  }));
});

describe("approvals", () => {
  const waiting = (crib) => {
    crib.file("notes.md", "old text\n");
    return crib.api("POST", "/tools/bundles/core/tools/write-file/version/v1/invoke", { args: { path: "notes.md", content: "new text\n" } });
  };

  test("a call of another program is counted, edited and approved", () => scene(null, async (crib, page) => {
    const call = waiting(crib);
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    assert.equal(await page.title(), "(1) Toolcrib");
    await page.goto(`${crib.url}/ui/approvals`);
    await page.locator(".diff .add").getByText("+new text").waitFor();
    await accessible(page);
    await shot(page, "approvals");
    await page.getByRole("group", { name: "Arguments" }).getByRole("button", { name: "Form" }).click();
    await page.getByLabel("content", { exact: true }).fill("my text\n");
    await page.getByText("changed by you").waitFor();
    await shot(page, "approvals-edited");
    await page.getByRole("button", { name: /^Approve with 1 change/ }).click();
    assert.equal((await call).ok, true);
    assert.equal(readFileSync(join(crib.work, "notes.md"), "utf8"), "my text\n");
    await page.getByText("approved", { exact: false }).first().waitFor();
  }));

  test("a question about an older version shows its arguments, and every key that would be sent", () => scene((crib) => { writeFileSync(join(crib.home, "config.toml"), 'allowedHosts = ["127.0.0.1:9"]\n'); }, async (crib, page) => {
    await crib.api("PUT", "/tools/bundles/0193d1a0-0000-7000-8000-00000000ac3e", { slug: "odd", displayName: "Odd" });
    const put = async (version, properties) => {
      const stored = await crib.api("PUT", `/tools/bundles/odd/tools/open/version/${version}`, { type: "http", description: "Asks", isEnabled: true, argSchema: { type: "object", properties }, impl: { method: "POST", urlTemplate: "http://127.0.0.1:9/none" } });
      assert.equal(stored.error, undefined, JSON.stringify(stored));
    };
    await put("v1", { a: { type: "string" } });
    await put("v2", { zz: { type: "integer" } });
    const call = crib.api("POST", "/api/calls", { tool: "odd/open@v1", args: { a: "of v1", hidden: { deep: "would be sent" } }, approvals: "wait" });
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    const simulated = page.waitForRequest((request) => request.url().includes("/api/grants") && request.method() === "POST");
    await page.goto(`${crib.url}/ui/approvals`);
    const article = page.getByRole("article");
    assert.equal(await article.getByLabel("a", { exact: true }).inputValue(), "of v1");
    assert.deepEqual(JSON.parse(await article.getByLabel("hidden", { exact: true }).inputValue()), { deep: "would be sent" });
    assert.equal(await article.getByLabel("zz", { exact: true }).count(), 0);
    assert.match(await article.getByRole("link", { name: "open" }).first().getAttribute("href"), /\/tools\/odd\/open\/v1$/);
    await accessible(page);
    await shot(page, "approvals-unnamed-argument");
    // A standing approval is tried on this version, too.
    await article.getByLabel("Ask again next time?").selectOption({ index: 1 });
    assert.equal((await simulated).postDataJSON().tool, "odd/open@v1");
    // What is left out is marked, and can be taken back.
    await article.getByRole("button", { name: "Do not send: hidden" }).click();
    await article.getByText("changed by you").waitFor();
    await article.getByRole("button", { name: "undo" }).click();
    await article.getByText("changed by you").waitFor({ state: "detached" });
    assert.deepEqual(JSON.parse(await article.getByLabel("hidden", { exact: true }).inputValue()), { deep: "would be sent" });
    await article.getByRole("button", { name: "Deny…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: /^Deny/ }).click();
    assert.equal((await call).error.code, "APPROVAL_DENIED");
  }));

  test("what a diff does not show of the arguments is beside it", () => scene((crib) => { crib.file("notes.md", "old\n"); }, async (crib, page) => {
    const { inputSchema } = await crib.api("GET", "/api/lookup?tool=write_file");
    const args = { path: "notes.md", content: "new\nlines\n", ...(inputSchema.properties.encoding ? { encoding: "utf-8" } : {}) };
    void crib.api("POST", "/api/calls", { tool: "write_file", args, approvals: "wait" }).catch(() => {});
    await page.locator(".rail .n.hot").getByText("1").waitFor();
    await page.goto(`${crib.url}/ui/approvals`);
    await page.locator(".diff .add").first().waitFor();
    const given = page.locator("dl.given");
    for (const name of Object.keys(args)) await given.getByText(name, { exact: true }).waitFor();
    await given.getByText("notes.md", { exact: true }).waitFor();
    await given.getByText("new…", { exact: true }).waitFor();
  }));

  test("the second browser to decide is told so", () => scene(null, async (crib, page) => {
    const other = await crib.page(browser);
    const call = waiting(crib);
    await page.goto(`${crib.url}/ui/approvals`);
    await other.goto(`${crib.url}/ui/approvals`);
    await page.getByRole("button", { name: /^Deny/ }).waitFor();
    await other.getByRole("button", { name: /^Deny/ }).waitFor();
    // The other browser does not hear of the answer before it decides.
    await other.route("**/api/approvals*", async (route) => { await new Promise(() => {}); });
    await other.route("**/api/approvals/*", (route) => (route.request().method() === "POST" ? route.continue() : new Promise(() => {})));
    await page.getByRole("button", { name: /^Deny/ }).click();
    await page.getByLabel("Reason for the model (optional)").fill("not now");
    await accessible(page);
    await page.getByRole("dialog").getByRole("button", { name: /^Deny/ }).click();
    assert.equal((await call).error.code, "APPROVAL_DENIED");
    other.expected.push("409");
    await other.getByRole("button", { name: /^Approve/ }).click();
    await other.getByText("decided already").first().waitFor();
    sound(other);
    await other.context().close();
  }));

  test("decisions pause when the server falls silent without closing anything, and go on when it speaks again", () => scene(null, async (crib, page) => {
    const call = waiting(crib);
    // Its own clock: forty seconds of silence take none.
    await page.clock.install();
    await page.goto(`${crib.url}/ui/approvals`);
    const approve = page.getByRole("button", { name: /^Approve/ });
    await approve.waitFor();
    await page.locator(".dot.live").waitFor();
    crib.server.kill("SIGSTOP");
    try {
      await page.clock.fastForward(45_000);
      await page.getByText("Decisions pause until the connection is back.").first().waitFor();
      assert.equal(await approve.getAttribute("aria-disabled"), "true");
      await accessible(page);
    } finally {
      crib.server.kill("SIGCONT");
    }
    await page.locator(".dot.live").waitFor();
    await page.locator('.btn.pri[aria-disabled="false"]').first().waitFor();
    await approve.click();
    assert.equal((await call).ok, true);
  }));

  test("decisions pause while the server is gone, and go on when it is back", () => scene(null, async (crib, page) => {
    waiting(crib).catch(() => {});
    await page.goto(`${crib.url}/ui/approvals`);
    await page.getByRole("button", { name: /^Approve/ }).waitFor();
    const [old] = (await crib.api("GET", "/api/approvals?status=pending")).approvals;
    page.expected.push("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE", "ERR_EMPTY", "ERR_CONNECTION_RESET");
    const address = new URL(crib.url).host;
    await crib.stop();
    await page.getByText("Decisions pause until the connection is back.").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /^Approve/ }).getAttribute("aria-disabled"), "true");
    await crib.serve(address);
    await page.locator(".dot.live").waitFor();
    // The call went with its server: its question is no longer to be answered.
    await page.getByRole("article").getByText("withdrawn").waitFor();
    assert.equal((await crib.api("GET", `/api/approvals/${old.id}`)).status, "withdrawn");
    assert.equal(await page.getByRole("button", { name: /^Approve/ }).count(), 0);
    await accessible(page);
    await shot(page, "approvals-withdrawn");
    // The same page, not loaded again, hears of a new call and decides it.
    const call = waiting(crib);
    const card = page.locator(".queue .card").filter({ hasText: "write_file" });
    await card.click();
    await page.getByRole("button", { name: /^Approve/ }).click();
    assert.equal((await call).ok, true);
    assert.equal(readFileSync(join(crib.work, "notes.md"), "utf8"), "new text\n");
  }));
});

describe("everywhere", () => {
  test("an address without a page says so, and leads back", () => scene(null, async (crib, page) => {
    await page.goto(`${crib.url}/ui/nothing/here`);
    await page.getByRole("heading", { name: "There is no page at this address" }).waitFor();
    await accessible(page);
    await shot(page, "not-found");
    await page.getByRole("link", { name: "Go to the tools" }).click();
    await page.locator(".tool-row").first().waitFor();
  }));

  test("a tool that no page expects takes down its own pane, and nothing else", () => scene(null, async (crib, page) => {
    page.expected.push("TypeError", "An error occurred in");
    await page.route("**/tools/bundles/core/tools/shell/version/v1", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), aliases: null } });
    });
    await page.goto(`${crib.url}${tool("core", "shell")}?tab=definition`);
    await page.getByText("This part of the page failed").waitFor();
    await page.getByRole("tab", { name: "What models see" }).click();
    await page.getByText(/bytes$/).waitFor();
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: /^Tools/ }).click();
    await page.locator(".tool-row").first().waitFor();
  }));

  test("the palette calls a tool with the keyboard alone", () => scene((crib) => { crib.file("hello.txt", "hello from a file\n"); }, async (crib, page) => {
    await page.goto(`${crib.url}/ui/metrics`);
    await page.getByRole("heading", { name: "Metrics" }).waitFor();
    await page.keyboard.press("+");
    await page.getByRole("combobox", { name: "Call a tool" }).waitFor();
    await page.keyboard.type("read file");
    await page.getByRole("option", { selected: true }).filter({ hasText: "read-file" }).waitFor();
    await page.locator(".palette .args").getByText("path").waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type("hello.txt");
    await page.keyboard.press("Enter");
    await page.locator(".palette .result").getByText("hello from a file").waitFor();
    await accessible(page);
    await shot(page, "palette");
    await page.keyboard.press("Escape");
    await page.locator(".palette").waitFor({ state: "detached" });
  }));

  test("calls are filtered, and one is called again", () => scene((crib) => { crib.file("a.txt", "A\n"); }, async (crib, page) => {
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "a.txt" } });
    await crib.api("POST", "/api/calls", { tool: "read_file", args: { path: "gone.txt" } });
    await page.goto(`${crib.url}/ui/calls`);
    await page.getByRole("button", { name: "failed" }).click();
    await page.getByText("FILE_NOT_FOUND").waitFor();
    assert.equal(await page.getByRole("row").count(), 2);
    await page.getByRole("link", { name: "read_file" }).click();
    await page.getByRole("button", { name: "Call again" }).waitFor();
    await accessible(page);
    await shot(page, "calls");
    await page.getByRole("button", { name: "Call again" }).click();
    await page.getByLabel("path", { exact: true }).waitFor();
    assert.equal(await page.getByLabel("path", { exact: true }).inputValue(), "gone.txt");
  }));
});

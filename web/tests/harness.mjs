// A server in a home that is thrown away, and browsers that are signed in to it. A console error, an uncaught error or a violation of the
// page's policy fails the test in which it happens.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
export const program = process.env.TOOLCRIB_BIN ?? join(here, "../../target/debug/toolcrib");
export const dist = process.env.TOOLCRIB_WEB_DIST ?? join(here, "../dist");
export const shots = process.env.TOOLCRIB_WEB_SHOTS ?? join(here, "../../target/web-shots");
mkdirSync(shots, { recursive: true });

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Starts a browser; each has a user-data-dir of its own. */
export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

export class Crib {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), "toolcrib-web-"));
    this.home = join(this.directory, "home");
    this.work = join(this.directory, "work");
    mkdirSync(this.home);
    mkdirSync(this.work);
  }

  file(name, text) {
    const path = join(this.work, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return this;
  }

  /** A command of the command line, in this home; its stdout. */
  run(...words) {
    return new Promise((resolve, reject) => {
      const child = spawn(program, ["--home", this.home, "--workspace", this.work, ...words], { cwd: this.work, env: { ...process.env, HOME: this.directory }, stdio: ["ignore", "pipe", "pipe"] });
      let [out, err] = ["", ""];
      child.stdout.on("data", (part) => (out += part));
      child.stderr.on("data", (part) => (err += part));
      child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(`toolcrib ${words.join(" ")}: ${code}\n${err}`))));
    });
  }

  async serve(addr = "127.0.0.1:0") {
    this.server = spawn(program, ["--home", this.home, "--workspace", this.work, "serve", "--addr", addr, "--json", "--web", dist], { cwd: this.work, env: { ...process.env, HOME: this.directory }, stdio: ["ignore", "pipe", "pipe"] });
    this.said = "";
    this.server.stderr.on("data", (part) => (this.said += part));
    const lines = createInterface({ input: this.server.stdout });
    const line = await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      this.server.once("exit", () => reject(new Error(`the server did not start: ${this.said}`)));
    });
    const told = JSON.parse(line);
    [this.url, this.link] = [told.url, told.ui];
    this.token = readFileSync(join(this.home, "token"), "utf8").trim();
    return this;
  }

  stop() {
    return new Promise((resolve) => {
      if (!this.server || this.server.exitCode !== null) return resolve();
      this.server.once("exit", resolve);
      this.server.kill("SIGTERM");
    });
  }

  async api(method, path, body) {
    const response = await fetch(this.url + path, { method, headers: { authorization: `Bearer ${this.token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) }, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    return text === "" ? null : JSON.parse(text);
  }

  /** A page of a browser that signs in with a link of its own. */
  async page(browser, { path = "/ui/", signIn = true, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: "reduce", locale: "en-GB", ...options });
    const page = await context.newPage();
    page.faults = [];
    page.expected = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.text().includes("Content Security Policy")) page.faults.push(`${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => page.faults.push(String(error)));
    const origin = this.url;
    page.on("request", (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith("data:") && !request.url().startsWith("blob:")) page.faults.push(`asked ${request.url()}`);
    });
    page.setDefaultTimeout(30_000);
    if (signIn) {
      const { path: link } = await this.api("POST", "/api/browser-codes");
      await page.goto(this.url + link);
      await page.getByRole("heading", { name: "Tools", level: 1 }).or(page.getByRole("heading", { name: "工具", level: 1 })).waitFor();
    }
    if (!signIn || path !== "/ui/") await page.goto(this.url + path);
    return page;
  }

  async remove() {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A crib and a page for a test, and both gone after it. */
export async function sceneOf(browser, prepare, run, options) {
  const crib = new Crib();
  try {
    await prepare?.(crib);
    await crib.serve();
    const page = await crib.page(browser, options);
    try {
      await run(crib, page);
    } catch (error) {
      await page.screenshot({ path: join(shots, `failed-${crib.directory.slice(-6)}.png`) }).catch(() => {});
      throw error;
    }
    sound(page);
    await page.context().close();
  } finally {
    await crib.remove();
  }
}

/** Fails if the page said something that it should not. A status that a test provokes is named in `page.expected`. */
export function sound(page) {
  const faults = page.faults.filter((fault) => !page.expected.some((part) => fault.includes(part)));
  assert.deepEqual(faults, []);
}

/** Looks for what axe knows to be wrong, as a person with a screen reader or weak eyes would meet it. */
export async function accessible(page) {
  // A function that the browser evaluates itself is not held by the policy of the page.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary.split("\n").slice(1, 2)}`).join(" | ")}`), []);
}

/** The text of the editor, typed anew. */
export async function write(page, text) {
  const editor = page.locator(".cm-content");
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  // As one paste: typing would close brackets.
  await editor.evaluate((node, pasted) => {
    const data = new DataTransfer();
    data.setData("text/plain", pasted);
    node.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}

/** Goes to another address without loading the page anew: the router listens to the history. */
export const visit = (page, path) => page.evaluate((to) => { history.pushState(null, "", to); dispatchEvent(new PopStateEvent("popstate")); }, `/ui/${path}`);

/** Nothing is wider than the screen, axe finds nothing, and a picture is kept. */
export async function looked(page, name) {
  const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(width, 0, `${name} is wider than the screen by ${width} px`);
  await accessible(page);
  await shot(page, name);
}

export const shot = (page, name) => page.screenshot({ path: join(shots, `${name}.png`) });

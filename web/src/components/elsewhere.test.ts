import { expect, test } from "vitest";
import { elsewhere } from "./elsewhere";

const properties = { command: { type: "string" }, count: { type: "integer" }, path: { type: "string" }, note: { type: ["string", "null"] }, labels: { type: "array" }, deep: { type: "boolean" } };
const tool = { name: "shell", bundle: "core", slug: "shell", version: "v1", inputSchema: { properties } };
const args = { command: "echo 'it''s' $HOME; ls\n", count: 2, labels: ["a b"] };
const cli = (given: object) => elsewhere("cli", tool, given as never, "");

test("the command line names the version, and quotes what a shell would read", () => {
  expect(cli({ command: "echo 'it''s' $HOME; ls", count: 2, deep: false })).toBe(`toolcrib run core/shell@v1 'command=echo '\\''it'\\'''\\''s'\\'' $HOME; ls' count=2 deep=false`);
  expect(cli({})).toBe("toolcrib run core/shell@v1");
});

test("what the command line would read as something else is given as JSON", () => {
  for (const given of [{ path: "." }, { path: "./a" }, { path: "../a" }, { path: "" }, { path: "-x" }, { note: "null" }, { note: null }, { labels: ["a b"] }, { other: "x" }, { command: "two\nlines" }]) {
    expect(cli(given)).toBe(`toolcrib run core/shell@v1 --args '${JSON.stringify(given)}'`);
  }
});

test("curl sends the arguments to the tool's own address", () => {
  const text = elsewhere("curl", tool, { n: 1 }, "http://127.0.0.1:7410");
  expect(text).toContain(`'{"args":{"n":1}}'`);
  expect(text).toContain("http://127.0.0.1:7410/tools/bundles/core/tools/shell/version/v1/invoke");
});

test("what models send is JSON", () => {
  for (const form of ["mcp", "openai", "anthropic"] as const) expect(JSON.stringify(JSON.parse(elsewhere(form, tool, args, "")))).toContain("echo");
});

import { expect, test } from "vitest";
import { elsewhere } from "./elsewhere";

const tool = { name: "shell", bundle: "core", slug: "shell", version: "v1" };
const args = { command: "echo 'it''s' $HOME; ls\n", count: 2, labels: ["a b"] };

test("the command line quotes what a shell would read", () => {
  expect(elsewhere("cli", tool, args, "")).toBe(`toolcrib run shell 'command=echo '\\''it'\\'''\\''s'\\'' $HOME; ls\n' count=2 'labels=["a b"]'`);
});

test("curl sends the arguments to the tool's own address", () => {
  const text = elsewhere("curl", tool, { n: 1 }, "http://127.0.0.1:7410");
  expect(text).toContain(`'{"args":{"n":1}}'`);
  expect(text).toContain("http://127.0.0.1:7410/tools/bundles/core/tools/shell/version/v1/invoke");
});

test("what models send is JSON", () => {
  for (const form of ["mcp", "openai", "anthropic"] as const) expect(JSON.stringify(JSON.parse(elsewhere(form, tool, args, "")))).toContain("echo");
});

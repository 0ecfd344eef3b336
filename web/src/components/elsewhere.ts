// The same call in other clients' words.

import type { Args, Json } from "../api/client";

export type Elsewhere = "cli" | "curl" | "mcp" | "openai" | "anthropic";

const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function word(name: string, value: Json): string {
  // `name=TEXT` for strings that the command line reads as themselves, `name:=JSON` would need a reader who knows it.
  return quote(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
}

export function elsewhere(form: Elsewhere, tool: { name: string; bundle: string; slug: string; version: string }, args: Args, origin: string): string {
  const json = JSON.stringify(args, null, 2);
  switch (form) {
    case "cli":
      return ["toolcrib run", quote(tool.name), ...Object.entries(args).map(([name, value]) => word(name, value))].join(" ");
    case "curl":
      return `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d ${quote(JSON.stringify({ args }))} \\\n  ${origin}/tools/bundles/${tool.bundle}/tools/${tool.slug}/version/${tool.version}/invoke`;
    case "mcp":
      return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool.name, arguments: args } }, null, 2);
    case "openai":
      return JSON.stringify({ role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: tool.name, arguments: JSON.stringify(args) } }] }, null, 2);
    case "anthropic":
      return `{\n  "type": "tool_use",\n  "id": "toolu_1",\n  "name": ${JSON.stringify(tool.name)},\n  "input": ${json.replaceAll("\n", "\n  ")}\n}`;
  }
}

// The same call in other clients' words. What is copied must be that call: this version, these values, wherever it is pasted.

import type { Args, Json } from "../api/client";

export type Elsewhere = "cli" | "curl" | "mcp" | "openai" | "anthropic";

interface Named { name: string; bundle: string; slug: string; version: string; inputSchema?: unknown }

const quote = (text: string) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Whether `name=value` on the command line is this value and nothing else: `.` counts from where it is typed, and a type that takes several kinds is a guess. */
function isPlain(tool: Named, name: string, value: Json): boolean {
  const { properties } = (tool.inputSchema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  const type = properties !== undefined && Object.hasOwn(properties, name) ? properties[name]?.type : undefined;
  if (!/^\w[\w-]*$/.test(name)) return false;
  if (typeof value === "string") return type === "string" && /^[^\s.@~-][^\n\r]*$/.test(value);
  if (typeof value === "number") return (type === "integer" || type === "number") && Number.isFinite(value);
  return typeof value === "boolean" && type === "boolean";
}

export function elsewhere(form: Elsewhere, tool: Named, args: Args, origin: string): string {
  const json = JSON.stringify(args, null, 2);
  switch (form) {
    case "cli": {
      const given = Object.entries(args);
      const words = given.every(([name, value]) => isPlain(tool, name, value)) ? given.map(([name, value]) => quote(`${name}=${String(value)}`)) : ["--args", quote(JSON.stringify(args))];
      return ["toolcrib run", quote(`${tool.bundle}/${tool.slug}@${tool.version}`), ...words].join(" ");
    }
    case "curl": {
      const [bundle, slug, version] = [tool.bundle, tool.slug, tool.version].map(encodeURIComponent);
      return `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d ${quote(JSON.stringify({ args }))} \\\n  ${origin}/tools/bundles/${bundle}/tools/${slug}/version/${version}/invoke`;
    }
    case "mcp":
      return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool.name, arguments: args } }, null, 2);
    case "openai":
      return JSON.stringify({ role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: tool.name, arguments: JSON.stringify(args) } }] }, null, 2);
    case "anthropic":
      return `{\n  "type": "tool_use",\n  "id": "toolu_1",\n  "name": ${JSON.stringify(tool.name)},\n  "input": ${json.replaceAll("\n", "\n  ")}\n}`;
  }
}

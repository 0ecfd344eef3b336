// Calls a tool through the types that openapi-typescript generated, and openapi-fetch.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { env: Record<string, string | undefined> };

const client = createClient<paths>({
  baseUrl: process.env["TOOLCRIB_SERVER"] ?? "",
  headers: { Authorization: `Bearer ${process.env["TOOLCRIB_TOKEN"]}` },
});

const listed = await client.GET("/tools", { params: { query: { pageSize: 2, recommendedPageSize: 3 } } });
if (listed.data?.tools.length !== 2) throw new Error(JSON.stringify(listed));

// Only what a call needs: `approvals` and `cancelOnDisconnect` are optional, and arguments are any object.
const made = await client.POST("/api/calls", { body: { tool: "read_file", args: { path: "hello.txt" } } });
if (made.response.status !== 200 || !JSON.stringify(made.data).includes("hello from a file")) {
  throw new Error(JSON.stringify(made));
}
console.log("openapi-typescript: a tool was called");

// Saving the file of a tool: a new one, or the one that was seen.

import type { QueryClient } from "@tanstack/react-query";
import { api, data, toolPath } from "../api/client";

export type Scope = "local" | "user";

export const fileOf = (scope: string, file: string) => data(api.GET("/api/files/{scope}/{file}", { params: { path: { scope, file } } }));

export async function saveFile(queries: QueryClient, scope: string, file: string, content: string, digest?: string) {
  const saved = await data(api.PUT("/api/files/{scope}/{file}", { params: { path: { scope, file } }, body: { content, digest } }));
  for (const name of ["tools", "tool", "files", "bundles"]) void queries.invalidateQueries({ queryKey: [name] });
  return saved;
}

/** Where the page of the tool of a file is. */
export function pathOfReference(reference: string): string {
  const [, bundle, slug, version] = /^([^/]+)\/([^@]+)@(.+)$/.exec(reference) ?? [];
  return bundle && slug && version ? toolPath({ bundle, slug, version }) : "/tools";
}

/** The scope and name of a tool's file, from how it is shown to people. */
export function placeOfFile(tool: { source: string }, shown: string | null | undefined): { scope: Scope; file: string } | null {
  if (!shown || (tool.source !== "local" && tool.source !== "user")) return null;
  return { scope: tool.source, file: shown.slice(shown.lastIndexOf("/") + 1) };
}

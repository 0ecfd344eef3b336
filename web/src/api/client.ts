// The one client of the API. Its types come from the description that the server's tests hold the routes against.

import createClient, { type Middleware } from "openapi-fetch";
import { m } from "../messages";
import type { components, paths } from "./schema";
import { session } from "./session";

export type Schemas = components["schemas"];
export type ToolRow = Schemas["ListedTool"];
export type Tool = Schemas["Tool"];
export type Approval = Schemas["Approval"];
export type CallState = Schemas["CallState"];
export type BundleRow = Schemas["BundleRow"];
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Args = { [name: string]: Json };

/** A request that was not carried out. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  constructor(status: number, body: unknown) {
    const error = (body as { error?: { code?: string; message?: string; details?: Record<string, unknown> } } | null)?.error;
    super(error?.message ?? (status === 0 ? m.common.noAnswer : m.common.answered(status)));
    this.status = status;
    this.code = error?.code ?? "";
    this.details = error?.details ?? {};
  }
}

export function headers(): Record<string, string> {
  const key = session.key();
  return key ? { "Toolcrib-Key": key } : {};
}

const signed: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(headers())) request.headers.set(name, value);
  },
  onResponse({ response }) {
    if (response.status === 401) session.set(null);
  },
};

export const api = createClient<paths>({ baseUrl: location.origin });
api.use(signed);

/** The data of an answer, or an error that says why there is none. */
export async function data<T>(asked: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  let answer;
  try {
    answer = await asked;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, null);
  }
  if (!answer.response.ok) throw new ApiError(answer.response.status, answer.error);
  return answer.data as T;
}

/** What went wrong, in words. */
export function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The parameters of a path that name a tool. */
export function placeOf(tool: { bundle: string; slug: string; version: string }) {
  return { bundleID: tool.bundle, toolSlug: tool.slug, v: tool.version };
}

/** Where the page of a tool is. */
export function toolPath(tool: { bundle: string; slug: string; version: string }): string {
  return `/tools/${encodeURIComponent(tool.bundle)}/${encodeURIComponent(tool.slug)}/${encodeURIComponent(tool.version)}`;
}

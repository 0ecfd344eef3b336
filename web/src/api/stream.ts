// Streams of events that are fetched, since only `fetch` can send the key and POST a call.

import { createParser } from "eventsource-parser";
import { ApiError, headers } from "./client";

export interface StreamEvent {
  id?: string;
  event: string;
  data: string;
}

/** Reads events until the stream ends. An answer that is no stream is given to `answered`. */
export async function stream(
  path: string,
  init: RequestInit & { headers?: Record<string, string> },
  on: { open?(): void; event(event: StreamEvent): void; answered?(body: unknown): void },
): Promise<void> {
  const response = await fetch(path, { ...init, headers: { ...headers(), accept: "text/event-stream", ...init.headers } });
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  if (!isStream) {
    const body: unknown = await response.json().catch(() => null);
    // A call that is refused answers with its outcome and the status of its code.
    const isOutcome = typeof body === "object" && body !== null && "metadata" in body;
    if (!response.ok && !(isOutcome && on.answered)) throw new ApiError(response.status, body);
    on.answered?.(body);
    return;
  }
  on.open?.();
  const parser = createParser({ onEvent: (event) => on.event({ id: event.id, event: event.event ?? "message", data: event.data }) });
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
  }
}

// Streams of events that are fetched, since only `fetch` can send the key and POST a call.

import { createParser } from "eventsource-parser";
import { ApiError, headers } from "./client";

export interface StreamEvent {
  id?: string;
  event: string;
  data: string;
}

/** How long a stream may be silent: the server says every 15 seconds that it is still there. A stopped machine or a dead network closes nothing. */
export const SILENCE = 40_000;

/** Reads events until the stream ends, or fails because nothing came for too long. An answer that is no stream is given to `answered`. */
export async function stream(
  path: string,
  init: RequestInit & { headers?: Record<string, string> },
  on: { open?(): void; event(event: StreamEvent): void; answered?(body: unknown): void },
): Promise<void> {
  const silent = new AbortController();
  const { signal } = init;
  const stop = () => silent.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(new ApiError(0, null)), SILENCE);
  };
  heard();
  try {
    const response = await fetch(path, { ...init, signal: silent.signal, headers: { ...headers(), accept: "text/event-stream", ...init.headers } });
    heard();
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
      heard();
      parser.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

// What happens in the server, as it happens: one stream for the whole page, taken up again where it broke off.

import type { QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ApiError } from "./client";
import { session } from "./session";
import { stream } from "./stream";

export type Connection = "connecting" | "live" | "lost";

let connection: Connection = "connecting";
const listeners = new Set<() => void>();

function set(next: Connection) {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => connection,
  );
}

/** Which lists an event changes. */
const CHANGES: Record<string, string[]> = {
  question: ["approvals"],
  approval: ["approvals", "calls"],
  started: ["calls"],
  finished: ["calls", "stats"],
  tools: ["tools", "tool", "bundles"],
};

/** Follows the server until `stop` is aborted, and marks what changed as old. */
export async function follow(queries: QueryClient, stop: AbortSignal): Promise<void> {
  let last: string | undefined;
  let pause = 250;
  const old = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Many events in one moment are one question to the server.
  const change = (names: string[]) => {
    for (const name of names) old.add(name);
    timer ??= setTimeout(() => {
      timer = undefined;
      for (const name of old) void queries.invalidateQueries({ queryKey: [name] });
      old.clear();
    }, 80);
  };
  while (!stop.aborted) {
    try {
      await stream("/api/events", { signal: stop, headers: last ? { "Last-Event-ID": last } : {} }, {
        open() {
          pause = 250;
          if (connection === "lost") void queries.invalidateQueries();
          set("live");
        },
        event(event) {
          if (event.id) last = event.id;
          if (event.event === "gap") void queries.invalidateQueries();
          else change(CHANGES[event.event] ?? []);
        },
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        session.set(null);
        return;
      }
    }
    if (stop.aborted) return;
    set("lost");
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 2, 4000);
  }
}

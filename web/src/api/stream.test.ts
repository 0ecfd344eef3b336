import { afterEach, beforeEach, expect, test, vi } from "vitest";

vi.stubGlobal("location", { origin: "http://127.0.0.1:1" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("addEventListener", () => {});
vi.stubGlobal("navigator", { language: "en" });
const { SILENCE, stream } = await import("./stream");

/** A server whose stream says what the test says, when it says it. */
function server() {
  let write!: (text: string) => void;
  const fetched = vi.fn((_: string, init: RequestInit) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        write = (text) => controller.enqueue(new TextEncoder().encode(text));
        init.signal!.addEventListener("abort", () => controller.error(init.signal!.reason));
      },
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  });
  vi.stubGlobal("fetch", fetched);
  return { say: (text: string) => write(text) };
}

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

test("a stream that says that it is there goes on, and one that falls silent fails", async () => {
  const { say } = server();
  const events: string[] = [];
  let end: unknown = "open";
  const reading = stream("/api/events", {}, { event: (event) => events.push(event.data) }).then(() => { end = "ended"; }, (error: unknown) => { end = error; });
  await vi.advanceTimersByTimeAsync(0);
  for (let at = 0; at < 8; at += 1) {
    await vi.advanceTimersByTimeAsync(15_000);
    say(": still here\n\n");
  }
  say("data: one\n\n");
  await vi.advanceTimersByTimeAsync(SILENCE - 1);
  expect([events, end]).toEqual([["one"], "open"]);
  await vi.advanceTimersByTimeAsync(1);
  await reading;
  expect(end).toMatchObject({ status: 0 });
  expect(vi.getTimerCount()).toBe(0);
});

test("a server that takes a connection and says nothing is not waited for", async () => {
  vi.stubGlobal("fetch", (_: string, init: RequestInit) => new Promise((_resolve, reject) => init.signal!.addEventListener("abort", () => reject(init.signal!.reason as Error))));
  const asked = stream("/api/events", {}, { event: () => {} });
  const failed = expect(asked).rejects.toMatchObject({ status: 0 });
  await vi.advanceTimersByTimeAsync(SILENCE);
  await failed;
});

test("the caller stops a stream", async () => {
  server();
  const stop = new AbortController();
  const reading = stream("/api/events", { signal: stop.signal }, { event: () => {} });
  const failed = expect(reading).rejects.toMatchObject({ name: "AbortError" });
  await vi.advanceTimersByTimeAsync(0);
  stop.abort();
  await failed;
  expect(vi.getTimerCount()).toBe(0);
});

// Calls tools of a Toolcrib server: lists them, calls one, streams one, and waits for an approval.
//
//   toolcrib serve                                     in another terminal
//   npm ci && npm run build && TOOLCRIB_TOKEN=… npm start
//
// Nothing but `fetch`. Run it with a token of `toolcrib clients add NAME`: it may call tools and approves nothing. The last part deletes a
// file, for which the server's owner is asked: `toolcrib approvals` answers.

const server = process.env["TOOLCRIB_SERVER"] ?? "http://127.0.0.1:7410";
const token = process.env["TOOLCRIB_TOKEN"];

interface ToolError {
  code: string;
  message: string;
  details?: Record<string, unknown>;
}

type Outcome<T> =
  | { ok: true; value: T; metadata: { callId: string; durationMs: number } }
  | { ok: false; error: ToolError; metadata: { callId: string; durationMs: number } };

interface Tool {
  name: string;
  description: string;
}

interface CallState {
  callId: string;
  status: string;
  outcome?: Outcome<unknown>;
}

interface CallEvent {
  event: string;
  data: Record<string, unknown>;
}

/** The server did not do what was asked; `code` says why to programs, the message to people. */
class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const request: RequestInit = { method, headers: { Authorization: `Bearer ${token}`, ...headers } };
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers = { ...request.headers, "Content-Type": "application/json" };
  }
  let answer: Response;
  try {
    answer = await fetch(server + path, request);
  } catch {
    throw new Refused(0, "NO_SERVER", `no server at ${server}: start one with \`toolcrib serve\`, or set TOOLCRIB_SERVER`);
  }
  if (!answer.ok) {
    const said = (await answer.json().catch(() => ({}))) as { error?: ToolError };
    const error = said.error ?? { code: "NOT_TOOLCRIB", message: `${server} answers ${answer.status}, but not as Toolcrib does` };
    throw new Refused(answer.status, error.code, error.message);
  }
  return answer;
}

async function ask<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  return (await (await send(method, path, body, headers)).json()) as T;
}

/** Every tool, page after page. */
async function* tools(): AsyncGenerator<Tool> {
  for (let next: string | undefined = ""; next !== undefined; ) {
    const query: string = next === "" ? "" : `&pageToken=${encodeURIComponent(next)}`;
    const page: { tools: Tool[]; nextPageToken?: string } = await ask("GET", `/tools?recommendedPageSize=100${query}`);
    yield* page.tools;
    next = page.nextPageToken;
  }
}

/** Calls a tool and returns its value. A call that needs approval waits here until somebody has decided. */
async function call<T>(tool: string, args: Record<string, unknown>): Promise<T> {
  const outcome = await ask<Outcome<T>>("POST", "/api/calls", { tool, args });
  if (!outcome.ok) {
    throw new Refused(200, outcome.error.code, outcome.error.message);
  }
  return outcome.value;
}

/** Calls a tool and yields its events as they happen, the outcome last. */
async function* stream(tool: string, args: Record<string, unknown>): AsyncGenerator<CallEvent> {
  const answer = await send("POST", "/api/calls", { tool, args }, { Accept: "text/event-stream" });
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    // An event ends with an empty line.
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = new Map(text.slice(0, end).split("\n").map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      text = text.slice(end + 2);
      const [event, data] = [fields.get("event"), fields.get("data")];
      if (event !== undefined && data !== undefined) {
        yield { event, data: JSON.parse(data) as Record<string, unknown> };
      }
    }
  }
}

/** Begins a call and returns its id at once. The id is ours: if the answer is lost, asking again starts nothing twice. */
async function callLater(tool: string, args: Record<string, unknown>): Promise<string> {
  const callId = `example-${crypto.randomUUID()}`;
  await ask("POST", "/api/calls", { tool, args, callId }, { Prefer: "respond-async" });
  return callId;
}

/** Waits until a call is over; who has other things to do looks at `/api/calls/{id}` now and then instead. */
async function outcomeOf(callId: string): Promise<Outcome<unknown>> {
  for (;;) {
    const state = await ask<CallState>("GET", `/api/calls/${callId}`);
    if (state.outcome !== undefined) {
      return state.outcome;
    }
    await new Promise((again) => setTimeout(again, 50));
  }
}

async function main(): Promise<void> {
  const names: string[] = [];
  for await (const tool of tools()) {
    names.push(tool.name);
  }
  console.log(`${names.length} tools, among them ${names.filter((name) => name.includes("file")).join(", ")}`);

  await call("write_file", { path: "hello.txt", content: "hello from TypeScript\n" });
  console.log("read_file:", (await call<{ content: string }>("read_file", { path: "hello.txt" })).content.trim());

  for await (const { event, data } of stream("shell", { command: "for n in one two; do echo $n; done" })) {
    if (event === "output") {
      console.log("shell:", String(data["chunk"]).trim().replaceAll("\n", " "));
    } else if (event === "outcome") {
      console.log("shell: exit", (data["value"] as { exitCode: number }).exitCode);
    }
  }

  try {
    await call("read_file", { path: "gone.txt" });
  } catch (refused) {
    console.log("read_file:", refused instanceof Refused ? refused.code : refused);
  }

  const callId = await callLater("delete_file", { path: "hello.txt" });
  console.log("delete_file: waits for approval");
  const outcome = await outcomeOf(callId);
  console.log("delete_file:", outcome.ok ? "done" : outcome.error.code);
}

if (token === undefined || token === "") {
  console.error("TOOLCRIB_TOKEN is not set: TOOLCRIB_TOKEN=$(toolcrib clients add example) makes a token");
  process.exit(1);
}
try {
  await main();
} catch (error) {
  if (!(error instanceof Refused)) {
    throw error;
  }
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}

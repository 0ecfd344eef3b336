#!/usr/bin/env python3
"""Calls tools of a Toolcrib server: lists them, calls one, streams one, and waits for an approval.

    toolcrib serve                     # in another terminal
    TOOLCRIB_TOKEN=… ./caller.py       # TOOLCRIB_SERVER if it is not http://127.0.0.1:7410

Nothing but the standard library. Run it with a token of `toolcrib clients add NAME`: it may call tools and approves nothing. The last part
deletes a file, for which the server's owner is asked: `toolcrib approvals` answers.
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

SERVER = os.environ.get("TOOLCRIB_SERVER", "http://127.0.0.1:7410")
TOKEN = os.environ.get("TOOLCRIB_TOKEN", "")


class Refused(Exception):
    """The server did not do what was asked; `code` says why to programs, the message to people."""

    def __init__(self, status: int, error: dict[str, Any]):
        super().__init__(error["message"])
        self.status, self.code = status, error["code"]


def send(method: str, path: str, body: Any = None, **headers: str):
    """Sends a request; the answer is open, for whoever reads it as a stream."""
    request = urllib.request.Request(SERVER + path, method=method)
    request.add_header("Authorization", f"Bearer {TOKEN}")
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    if body is not None:
        request.add_header("Content-Type", "application/json")
        request.data = json.dumps(body).encode()
    try:
        return urllib.request.urlopen(request, timeout=320)
    except urllib.error.HTTPError as refused:
        try:
            error = json.load(refused)["error"]
        except (ValueError, KeyError, TypeError):
            error = {"code": "NOT_TOOLCRIB", "message": f"{SERVER} answers {refused.code}, but not as Toolcrib does"}
        raise Refused(refused.code, error) from None


def ask(method: str, path: str, body: Any = None, **headers: str) -> Any:
    with send(method, path, body, **headers) as answer:
        return json.load(answer)


def tools() -> Iterator[dict[str, Any]]:
    """Every tool, page after page."""
    token = ""
    while True:
        page = ask("GET", "/tools?recommendedPageSize=100" + (token and f"&pageToken={token}"))
        yield from page["tools"]
        token = page.get("nextPageToken", "")
        if not token:
            return


def call(tool: str, **args: Any) -> Any:
    """Calls a tool and returns its value. A call that needs approval waits here until somebody has decided."""
    outcome = ask("POST", "/api/calls", {"tool": tool, "args": args})
    if not outcome["ok"]:
        raise Refused(200, outcome["error"])
    return outcome["value"]


def stream(tool: str, **args: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls a tool and yields its events as they happen, the outcome last."""
    body = {"tool": tool, "args": args}
    with send("POST", "/api/calls", body, Accept="text/event-stream") as events:
        name = ""
        for line in events:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                yield name, json.loads(value)


def call_later(tool: str, **args: Any) -> str:
    """Begins a call and returns its id at once. The id is ours: if the answer is lost, asking again starts nothing twice."""
    call_id = f"example-{uuid.uuid4()}"
    body = {"tool": tool, "args": args, "callId": call_id}
    ask("POST", "/api/calls", body, Prefer="respond-async")
    return call_id


def outcome_of(call_id: str) -> dict[str, Any]:
    """Waits until a call is over. A program with other things to do polls `/api/calls/{id}` now and then instead."""
    while True:
        state = ask("GET", f"/api/calls/{call_id}")
        if state["status"] not in ("running", "waiting"):
            return state["outcome"]
        time.sleep(0.05)


def main() -> None:
    names = [tool["name"] for tool in tools()]
    print(f"{len(names)} tools, among them {', '.join(name for name in names if 'file' in name)}")

    call("write_file", path="hello.txt", content="hello from Python\n")
    print("read_file:", call("read_file", path="hello.txt")["content"].strip())

    for event, data in stream("shell", command="for n in one two; do echo $n; done"):
        if event == "output":
            print("shell:", data["chunk"].strip().replace("\n", " "))
        elif event == "outcome":
            print("shell: exit", data["value"]["exitCode"])

    try:
        call("read_file", path="gone.txt")
    except Refused as refused:
        print(f"read_file: {refused.code}")

    call_id = call_later("delete_file", path="hello.txt")
    print("delete_file: waits for approval", flush=True)
    outcome = outcome_of(call_id)
    print("delete_file:", "done" if outcome["ok"] else outcome["error"]["code"])


if __name__ == "__main__":
    if not TOKEN:
        sys.exit("TOOLCRIB_TOKEN is not set: TOOLCRIB_TOKEN=$(toolcrib clients add example) makes a token")
    try:
        main()
    except Refused as refused:
        sys.exit(f"{refused.code}: {refused}")
    except urllib.error.URLError as unreachable:
        sys.exit(f"no server at {SERVER} ({unreachable.reason}): start one with `toolcrib serve`, or set TOOLCRIB_SERVER")

"""The Python client of MCP against `toolcrib`, over pipes and HTTP, in both eras.

    client.py TOOLCRIB

Every check runs in a home and a workspace of its own, which are thrown away, and has a deadline.
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

TOOLCRIB = os.path.abspath(sys.argv[1])
DEADLINE = 30
AT_ONCE = 4
COUNT = itertools.count()
TOKEN = "a-token-of-the-tests-that-is-long-enough"
MODERN = "2026-07-28"
BUILT_IN = """
    apply_patch delete_file edit_file format_code git_add git_branch git_commit git_diff git_log
    git_push git_status glob_files install_package list_directory move_file query_database read_file
    read_result run_code run_tests search_code shell web_fetch write_file
""".split()


class Place:
    """A home and a workspace, and how a client gets at them."""

    def __init__(self, transport: str, settings: str = "") -> None:
        self.transport = transport
        self.settings = settings

    def __enter__(self) -> "Place":
        self.directory = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.directory.name)
        self.home, self.work = root / ".toolcrib", root / "work"
        self.home.mkdir(mode=0o700)
        self.work.mkdir()
        (self.work / "notes.md").write_text("hello\n")
        (self.work / "more.md").write_text("more\n")
        (self.home / "config.toml").write_text(self.settings)
        self.everywhere = ["--home", str(self.home), "--workspace", str(self.work)]
        self.server = None
        if self.transport == "http":
            self.log = open(root / "log", "w+")
            self.server = subprocess.Popen(
                [TOOLCRIB, *self.everywhere, "serve", "--addr", "127.0.0.1:0"],
                stderr=self.log,
                env={**os.environ, "HOME": str(root), "TOOLCRIB_TOKEN": TOKEN},
            )
            self.url = wait_for(self.address, "the server to listen")
        return self

    def __exit__(self, *_: object) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(DEADLINE)
            self.log.close()
        self.directory.cleanup()

    def address(self) -> str | None:
        if self.server.poll() is not None:
            raise AssertionError("the server ended")
        found = re.search(r"^listening on (http\S+)$", pathlib.Path(self.log.name).read_text(), re.MULTILINE)
        return found and found[1] + "/mcp"

    @contextlib.asynccontextmanager
    async def client(self, mode: str, token: str = TOKEN, **options):
        async with contextlib.AsyncExitStack() as stack:
            if self.server:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=DEADLINE)
                )
                transport = streamable_http_client(self.url, http_client=http)
            else:
                command = StdioServerParameters(command=TOOLCRIB, args=[*self.everywhere, "mcp"], env={"HOME": str(self.home.parent)})
                transport = stdio_client(command)
            yield await stack.enter_async_context(Client(transport, mode=mode, read_timeout_seconds=DEADLINE, **options))


def wait_for(look, what: str):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


async def become(look, what: str):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if found := look():
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def text(result: types.CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")


def processes(words: list[str]) -> list[str]:
    """The processes of this machine with this command line."""
    wanted = b"\0".join(word.encode() for word in words) + b"\0"
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == wanted:
                found.append(entry.name)
    return found


def person(decision: str, asked: list):
    """Somebody who answers every question in the same way."""

    async def answer(_context, params):
        asked.append(params)
        if decision == "decline":
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"decision": decision})

    return answer


async def the_era_is_the_one_asked_for(place, mode):
    async with place.client(mode) as client:
        assert client.server_info.name == "toolcrib", client.server_info
        wanted = "2025-11-25" if mode == "legacy" else MODERN
        assert client.protocol_version == wanted, client.protocol_version


async def every_tool_is_listed_with_its_schemas(place, mode):
    async with place.client(mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == BUILT_IN, [tool.name for tool in tools]
        for tool in tools:
            assert tool.title and tool.description and tool.icons, tool
            assert tool.input_schema["type"] == "object", tool
            assert tool.output_schema["type"] == "object", tool
        hints = {tool.name: tool.annotations for tool in tools}
        assert hints["read_file"].read_only_hint is True, hints["read_file"]
        assert hints["delete_file"].destructive_hint is True, hints["delete_file"]


async def a_result_is_text_and_structured(place, mode):
    async with place.client(mode) as client:
        await client.list_tools()  # what comes back is held against the schema
        result = await client.call_tool("read_file", {"path": "notes.md"})
        assert not result.is_error and "hello" in text(result), result
        assert result.structured_content["content"] == "hello\n", result
        result = await client.call_tool("shell", {"command": "echo to out; echo to err >&2; exit 3"})
        assert not result.is_error and result.structured_content["exitCode"] == 3, result
        assert "to out" in text(result) and "to err" in text(result), result


async def what_goes_wrong_is_a_result_a_model_can_read(place, mode):
    async with place.client(mode) as client:
        missing = await client.call_tool("read_file", {"path": "absent.md"})
        assert missing.is_error and "absent.md" in text(missing), missing
        outside = await client.call_tool("read_file", {"path": "../../etc/passwd"})
        assert outside.is_error and "root:" not in text(outside), outside
        wrong = await client.call_tool("read_file", {"pfad": "notes.md"})
        assert wrong.is_error and "path" in text(wrong), wrong
        try:
            await client.call_tool("read_flie", {})
        except MCPError as error:
            assert error.code == -32602, error
        else:
            raise AssertionError("a tool that is not there was called")


async def what_a_call_prints_comes_as_progress(place, mode):
    told = []

    async def progress(done, _total, message):
        told.append((done, message or ""))

    async with place.client(mode) as client:
        await client.call_tool("shell", {"command": "for i in one two three; do echo $i; sleep 0.2; done"}, progress_callback=progress)
    assert told and [done for done, _ in told] == sorted({done for done, _ in told}), told
    assert any("one" in message for _, message in told), told


async def an_approval_is_asked_for_and_runs_the_call_once(place, mode):
    asked = []
    async with place.client(mode, elicitation_callback=person("approve", asked)) as client:
        result = await client.call_tool("delete_file", {"path": "notes.md"})
        assert not result.is_error, result
    assert len(asked) == 1 and "notes.md" in asked[0].message, asked
    assert not (place.work / "notes.md").exists()


async def a_no_is_a_no(place, mode):
    for decision, name in (("deny", "notes.md"), ("decline", "more.md")):
        asked = []
        async with place.client(mode, elicitation_callback=person(decision, asked)) as client:
            result = await client.call_tool("delete_file", {"path": name})
            assert result.is_error and len(asked) == 1, (result, asked)
            # The same call is not asked again: no one is worn down.
            result = await client.call_tool("delete_file", {"path": name})
            assert result.is_error and len(asked) == 1, (result, asked)
        assert (place.work / name).exists()


async def who_cannot_be_asked_is_told_what_is_waited_for(place, mode):
    async with place.client(mode) as client:
        result = await client.call_tool("delete_file", {"path": "notes.md"})
        assert result.is_error and "toolcrib approvals approve" in text(result), result
        approval = re.search(r"toolcrib approvals approve (\S+?)`", text(result))[1]
        answered = await asyncio.to_thread(
            subprocess.run, [TOOLCRIB, *place.everywhere, "--no-server", "approvals", "approve", approval], capture_output=True, text=True
        )
        assert answered.returncode == 0, answered
        again = await client.call_tool("delete_file", {"path": "notes.md"})
        assert not again.is_error, again
    assert not (place.work / "notes.md").exists()


async def a_new_tool_is_told_of_and_can_be_called(place, mode):
    changed = asyncio.Event()

    async def message(received):
        if isinstance(received, types.ToolListChangedNotification):
            changed.set()

    async with contextlib.AsyncExitStack() as stack:
        client = await stack.enter_async_context(place.client(mode, message_handler=message))
        await client.list_tools()
        if mode == "legacy":
            heard = changed.wait()
        else:
            heard = anext(await stack.enter_async_context(client.listen(tools_list_changed=True)))
        tools = place.home / "tools"
        tools.mkdir(mode=0o700, exist_ok=True)
        (tools / "greet.yaml").write_text("name: greet\ndescription: Greets\nbash: echo good morning\ntags: [run]\n")
        await asyncio.wait_for(heard, DEADLINE)
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == sorted([*BUILT_IN, "greet"]), names
        result = await client.call_tool("greet", {})
        assert "good morning" in text(result), result


async def a_cancelled_call_leaves_no_process(place, mode):
    number = f"3{os.getpid()}{next(COUNT):03}"
    command = ["sleep", number]
    async with place.client(mode) as client:
        call = asyncio.create_task(client.call_tool("shell", {"command": f"sleep {number} & sleep {number}; echo over"}))
        await become(lambda: len(processes(command)) == 2, "two processes")
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        await become(lambda: not processes(command), "the end of both processes")
        # The connection goes on.
        result = await client.call_tool("read_file", {"path": "notes.md"})
        assert not result.is_error, result


async def a_wrong_token_gets_nowhere(place, mode):
    try:
        async with place.client(mode, token="wrong" * 8) as client:
            await client.list_tools()
    except Exception as error:  # groups of the client's own, too
        assert "MCPError" in "".join(traceback.format_exception(error)), error
        return
    raise AssertionError("somebody without the token was let in")


async def a_client_of_its_own_token_calls_as_itself(place, mode):
    add = subprocess.run([TOOLCRIB, *place.everywhere, "--no-server", "clients", "add", "assistant"], capture_output=True, text=True, check=True)
    async with place.client(mode, token=add.stdout.strip()) as client:
        result = await client.call_tool("read_file", {"path": "notes.md"})
        assert not result.is_error, result

    def record():
        calls = subprocess.run([TOOLCRIB, *place.everywhere, "--no-server", "--json", "calls", "list"], capture_output=True, text=True)
        return "client:assistant" in calls.stdout

    await become(record, "the record of the client's call")


async def only_a_client_somebody_vouched_for_is_asked(place, mode):
    for name, options, path, questions in (("plain", [], "notes.md", 0), ("vouched", ["--elicitation"], "more.md", 1)):
        add = [TOOLCRIB, *place.everywhere, "--no-server", "clients", "add", name, *options]
        token = subprocess.run(add, capture_output=True, text=True, check=True).stdout.strip()
        asked = []
        async with place.client(mode, token=token, elicitation_callback=person("approve", asked)) as client:
            result = await client.call_tool("delete_file", {"path": path})
            assert bool(result.is_error) == (questions == 0), result
        assert len(asked) == questions, asked
        assert (place.work / path).exists() == (questions == 0)


CHECKS = [
    the_era_is_the_one_asked_for,
    every_tool_is_listed_with_its_schemas,
    a_result_is_text_and_structured,
    what_goes_wrong_is_a_result_a_model_can_read,
    what_a_call_prints_comes_as_progress,
    an_approval_is_asked_for_and_runs_the_call_once,
    a_no_is_a_no,
    who_cannot_be_asked_is_told_what_is_waited_for,
    a_new_tool_is_told_of_and_can_be_called,
    a_cancelled_call_leaves_no_process,
]
# No one answers the queue here: how long a client that cannot be asked waits for its answer.
WAITS = {who_cannot_be_asked_is_told_what_is_waited_for: 300, only_a_client_somebody_vouched_for_is_asked: 5_000}
OVER_HTTP = [a_wrong_token_gets_nowhere, a_client_of_its_own_token_calls_as_itself, only_a_client_somebody_vouched_for_is_asked]


def tried(transport: str, mode: str, check) -> str | None:
    """Why a check failed."""
    try:
        settings = f"[mcp]\napprovalWaitMs = {WAITS[check]}\n" if check in WAITS else ""
        with Place(transport, settings) as place:
            asyncio.run(asyncio.wait_for(check(place, mode), 2 * DEADLINE))
    except Exception as error:
        return "".join(traceback.format_exception(error))
    return None


def main() -> int:
    failed = 0
    for transport in ("stdio", "http"):
        checks = CHECKS + (OVER_HTTP if transport == "http" else [])
        legs = [(transport, mode, check) for mode in ("legacy", "auto") for check in checks]
        # They wait more than they work.
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            results = list(pool.map(lambda leg: tried(*leg), legs))
        for (_, mode, check), why in zip(legs, results):
            if why:
                failed += 1
                print(f"{why}FAILED python {transport} {mode}: {check.__name__}", file=sys.stderr)
        print(f"python over {transport}: {results.count(None)} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

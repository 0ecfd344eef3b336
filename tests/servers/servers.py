"""The reference MCP servers behind the wall of `toolcrib upstream add`.

    servers.py TOOLCRIB PLACE node|python

PLACE holds the servers. Every check has a home and directories of its own, which are thrown away. Nothing but loopback is spoken with:
where a package manager takes part, its registry is one of this script.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile

TOOLCRIB = os.path.abspath(sys.argv[1])
PLACE = pathlib.Path(sys.argv[2]).resolve()
LEG = sys.argv[3]
DEADLINE = 180


class Scene:
    """A home, a workspace and a directory beside them that only some servers may see."""

    def __init__(self, settings: str = "", **variables: str) -> None:
        self.settings, self.variables = settings, variables

    def __enter__(self) -> "Scene":
        self.directory = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.directory.name).resolve()
        self.user, self.home, self.work, self.data = (root / name for name in ("user", "home", "work", "data"))
        for path in (self.user, self.home, self.work, self.data):
            path.mkdir(mode=0o700)
        (self.home / "config.toml").write_text(self.settings)
        (self.data / "note.txt").write_text("buy milk\n")
        (self.user / "secret.txt").write_text("TOPSECRET\n")
        self.registry(None)
        return self

    def __exit__(self, *_: object) -> None:
        self.directory.cleanup()

    def registry(self, url: "str | None") -> None:
        (self.user / ".npmrc").write_text(f"registry={url}/npm/\n" if url else "")

    def toolcrib(self, *words: str, fails: bool = False) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.lower().startswith(("npm_", "pip_", "uv_"))}
        environment |= {"HOME": str(self.user), "PIP_CONFIG_FILE": "/dev/null", **self.variables}
        for name, below in (("PYENV_ROOT", ".pyenv"), ("NVM_DIR", ".nvm")):
            there = pathlib.Path.home() / below
            if there.is_dir():
                environment.setdefault(name, str(there))
        made = subprocess.run(
            [TOOLCRIB, "--home", str(self.home), "--workspace", str(self.work), *words],
            env=environment, cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE,
        )
        if (made.returncode != 0) != fails:
            raise AssertionError(f"{words}: exit code {made.returncode}\n{made.stdout}\n{made.stderr}")
        return made.stdout + made.stderr

    def add(self, name: str, *words: str, command: "list[str]") -> str:
        read = [] if "--read" in words else ["--read", str(PLACE), *(f"--read={path}" for path in toolchains())]
        return self.toolcrib("upstream", "add", name, "--yes", *read, *words, "--", *command)

    def call(self, tool: str, fails: bool = False, **arguments: object) -> str:
        return self.toolcrib("run", tool, "--yes", "--args", json.dumps(arguments), fails=fails)


def toolchains() -> "list[str]":
    """Where the interpreter of the virtual environments is, if that is not the system's."""
    real = pathlib.Path(sys.executable).resolve().parents[1]
    return [] if str(real).startswith("/usr") else [str(real)]


def node(server: str, *args: str) -> "list[str]":
    return [shutil.which("node") or "node", str(PLACE / f"npm/node_modules/@modelcontextprotocol/server-{server}/dist/index.js"), *args]


def python(name: str, *args: str, venv: str = "python") -> "list[str]":
    return [str(PLACE / venv / "bin" / name), *args]


def expect(text: str, *wanted: str) -> None:
    for one in wanted:
        assert one in text, f"`{one}` is not in: {text}"


def everything() -> None:
    with Scene() as scene:
        scene.add("everything", command=node("everything"))
        expect(scene.call("everything/echo", message="hello"), "hello")


def filesystem() -> None:
    with Scene() as scene:
        data = str(scene.data)
        scene.add("files", "--write", data, command=node("filesystem", data))
        expect(scene.call("files/read-text-file", path=f"{data}/note.txt"), "buy milk")
        scene.call("files/write-file", path=f"{data}/new.txt", content="written")
        assert (scene.data / "new.txt").read_text() == "written"
        # It does not see what it was not given, whatever it would do itself.
        scene.add("wide", command=node("filesystem", str(scene.data.parent)))
        scene.call("wide/read-text-file", path=str(scene.user / "secret.txt"), fails=True)


def memory() -> None:
    with Scene() as scene:
        own = scene.home / "upstream-state/memory/graph.jsonl"
        scene.add("memory", "--env", f"MEMORY_FILE_PATH={own}", command=node("memory"))
        entity = {"name": "milk", "entityType": "food", "observations": ["is white"]}
        scene.call("memory/create-entities", entities=[entity])
        expect(scene.call("memory/read-graph"), "is white")
        expect(own.read_text(), "is white")


def git() -> None:
    with Scene() as scene:
        repository = str(scene.data)
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
        for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
            subprocess.run(["git", "-C", repository, *words], check=True)
        scene.add("git", "--write", repository, command=python("mcp-server-git", "--repository", repository))
        expect(scene.call("git/git-log", repo_path=repository), "first")
        (scene.data / "more.txt").write_text("more\n")
        scene.call("git/git-add", repo_path=repository, files=["more.txt"])
        status = subprocess.run(["git", "-C", repository, "status", "--short"], capture_output=True, text=True, check=True)
        expect(status.stdout, "A  more.txt")


def fetch() -> None:
    with Pages({"/page": b"<html><body><p>hello from here</p></body></html>"}) as pages:
        with Scene(f'allowedHosts = ["{pages.host}"]\n') as scene:
            scene.add("web", "--host", pages.host, command=python("mcp-server-fetch", "--allow-private-ips"))
            expect(scene.call("web/fetch", url=f"{pages.url}/page", raw=True), "hello from here")
            before = len(pages.asked)
            scene.add("shut", command=python("mcp-server-fetch", "--allow-private-ips"))
            scene.call("shut/fetch", url=f"{pages.url}/page", raw=True, fails=True)
            assert len(pages.asked) == before, pages.asked


def clock() -> None:
    with Scene() as scene:
        scene.add("clock", command=python("mcp-server-time", "--local-timezone", "UTC"))
        expect(scene.call("clock/get-current-time", timezone="Asia/Tokyo"), "+09:00")


def sqlite() -> None:
    with Scene() as scene:
        database = scene.data / "x.db"
        scene.add("sqlite", "--write", str(scene.data), command=python("mcp-server-sqlite", "--db-path", str(database), venv="sqlite"))
        scene.call("sqlite/create-table", query="CREATE TABLE t (name TEXT)")
        scene.call("sqlite/write-query", query="INSERT INTO t VALUES ('milk')")
        expect(scene.call("sqlite/read-query", query="SELECT name FROM t"), "milk")
        assert database.exists()


class Pages:
    """A web server on loopback with some pages, which notes what it was asked for."""

    def __init__(self, pages: "dict[str, bytes]") -> None:
        self.pages, self.asked = pages, []

    def __enter__(self) -> "Pages":
        pages = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                pages.asked.append(self.path)
                body = pages.pages.get(self.path.rstrip("/") or "/")
                kind = "application/octet-stream" if self.path.endswith((".tgz", ".whl")) else "application/json"
                kind = "text/html" if body and body.startswith(b"<") else kind
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", kind)
                self.send_header("Cache-Control", "public, max-age=0")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


ANSWER = """
    import json, sys
    for line in sys.stdin:
        asked = json.loads(line)
        tool = {"name": "version", "description": "Says the version VERSION", "inputSchema": {"type": "object"}}
        answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "own", "version": "VERSION"}},
                   "tools/list": {"tools": [tool]}, "tools/call": {"content": [{"type": "text", "text": "VERSION"}]}}
        if "id" in asked:
            method = asked["method"]
            answer = {"result": answers[method]} if method in answers else {"error": {"code": -32601, "message": "unknown"}}
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
NODE_ANSWER = """#!/usr/bin/env node
const tool = {name: "version", description: "Says the version VERSION", inputSchema: {type: "object"}};
const answers = {initialize: {protocolVersion: "2025-06-18", capabilities: {tools: {}}, serverInfo: {name: "own", version: "VERSION"}},
  "tools/list": {tools: [tool]}, "tools/call": {content: [{type: "text", text: "VERSION"}]}};
require("readline").createInterface({input: process.stdin}).on("line", (line) => {
  const {id, method} = JSON.parse(line);
  if (id === undefined) return;
  const answer = method in answers ? {result: answers[method]} : {error: {code: -32601, message: "unknown"}};
  console.log(JSON.stringify({jsonrpc: "2.0", id, ...answer}));
});
"""


def publish_npm(pages: Pages, versions: "list[str]") -> None:
    packument = {"name": "own-server", "dist-tags": {"latest": versions[-1]}, "versions": {}}
    for version in versions:
        manifest = {"name": "own-server", "version": version, "bin": {"own-server": "server.js"}}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, text in (("package.json", json.dumps(manifest)), ("server.js", NODE_ANSWER.replace("VERSION", version))):
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size, entry.mode = len(text.encode()), 0o755
                archive.addfile(entry, io.BytesIO(text.encode()))
        path = f"/npm/own-server/-/own-server-{version}.tgz"
        pages.pages[path] = packed.getvalue()
        digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
        packument["versions"][version] = manifest | {"dist": {"tarball": pages.url + path, "integrity": f"sha512-{digest}"}}
    pages.pages["/npm/own-server"] = json.dumps(packument).encode()


def publish_wheel(pages: Pages, versions: "list[str]") -> None:
    links = ""
    for version in versions:
        name = f"own_server-{version}-py3-none-any.whl"
        info = f"own_server-{version}.dist-info"
        code = "def main():\n" + ANSWER.replace("VERSION", version)
        files = {
            "own_server.py": code,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: own-server\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: own\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/entry_points.txt": "[console_scripts]\nown-server = own_server:main\n",
        }
        files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        pages.pages[f"/files/{name}"] = packed.getvalue()
        digest = hashlib.sha256(packed.getvalue()).hexdigest()
        links += f'<a href="{pages.url}/files/{name}#sha256={digest}">{name}</a>\n'
    pages.pages["/simple/own-server"] = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()


def packaged(publish, command: "list[str]", **variables: str) -> None:
    """A server that its package manager fetches: within reach while it is added and updated, and at no other time."""
    with Pages({}) as pages, Scene(f'allowedHosts = ["{pages.host}"]\n') as scene:
        scene.registry(pages.url)
        scene.variables = {name: value.replace("URL", pages.url) for name, value in variables.items()}
        publish(pages, ["1.0.0"])
        expect(scene.add("own", command=command), f"it reached {pages.host}")
        assert pages.asked, "nothing was fetched"
        publish(pages, ["1.0.0", "1.1.0"])
        pages.asked.clear()
        expect(scene.call("own/version"), "1.0.0")
        scene.toolcrib("upstream", "test", "own")
        assert not pages.asked, pages.asked
        scene.toolcrib("upstream", "update", "own", "--yes")
        assert pages.asked, "nothing was fetched again"
        pages.asked.clear()
        expect(scene.call("own/version"), "1.1.0")
        assert not pages.asked, pages.asked
        # Its own files are behind the wall, those of the user are not touched.
        assert not (scene.user / ".npm").exists() and not (scene.user / ".cache").exists()


def npx() -> None:
    packaged(publish_npm, [shutil.which("npx") or "npx", "-y", "own-server"])


def uvx() -> None:
    packaged(publish_wheel, python("uvx", "own-server"), UV_DEFAULT_INDEX="URL/simple")


CHECKS = {"node": [everything, filesystem, memory, npx], "python": [git, fetch, clock, sqlite, uvx]}

failed = 0
for check in CHECKS[LEG]:
    try:
        check()
        print(f"server {check.__name__} ran behind the wall")
    except (AssertionError, subprocess.TimeoutExpired) as error:
        failed += 1
        print(f"server {check.__name__} FAILED: {error}", file=sys.stderr)
sys.exit(failed != 0)

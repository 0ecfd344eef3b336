"""What the tests of a release share: where the packages are, servers on loopback, clean roots, and a real MCP client."""

import asyncio
import contextlib
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts/release"))

import clean_root as clean  # noqa: E402
import texts  # noqa: E402
from settings import TOOLS, WORK, Settings  # noqa: E402

SETTINGS = Settings()
OUT = SETTINGS.out
VERSION = SETTINGS.version
HERE = clean.here()
ARCHIVE = f"{SETTINGS.archive_name(HERE)}.tar.gz"
# How these packages were made; the key that signed them need not be here any more.
IS_PUBLISHABLE = not (OUT / "UNPUBLISHABLE").exists()
DEADLINE = 60
# By its path: it is looked for with the environment of the program.
CHROOT = shutil.which("chroot") or "/usr/sbin/chroot"


def ran(*words, **options):
    options.setdefault("timeout", DEADLINE)
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)


def succeeds(*words, **options):
    done = ran(*words, **options)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@contextlib.contextmanager
def serving(answer):
    """A server on loopback: `answer(path)` gives (content type, bytes), or None for 404, or the path to go to. Gives its URL and the paths that were asked."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            found = answer(self.path)
            kind, content = ("text/plain", b"not found\n") if found is None or isinstance(found, str) else found
            self.send_response(404 if found is None else 302 if isinstance(found, str) else 200)
            if isinstance(found, str):
                self.send_header("Location", found)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()


# As the forge has it.
RELEASES = "/owner/toolcrib/releases"


def released(path):
    """The files of the release, at the addresses that GitHub gives them and at no others."""
    newest, of_version = f"{RELEASES}/latest/download/", f"{RELEASES}/download/v{VERSION}/"
    if path.startswith(newest):
        return of_version + path.removeprefix(newest)
    name = path.removeprefix(of_version)
    if name == path or "/" in name or not (OUT / name).is_file():
        return None
    return "application/octet-stream", (OUT / name).read_bytes()


@contextlib.contextmanager
def publishing():
    """A server with the release as it would be if the server's address were in release.toml. Gives the base URL."""
    where = {}

    def answer(path):
        if path == f"{RELEASES}/download/v{VERSION}/install.sh":
            public = (OUT / "toolcrib.pub").read_text().splitlines()[1]
            return "text/plain", texts.installer(SETTINGS, public, where["base"]).encode()
        return released(path)

    with serving(answer) as (url, _):
        where["base"] = f"{url}{RELEASES}"
        yield where["base"]


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="toolcrib-release-") as place:
        yield pathlib.Path(place)


needs_root = unittest.skipUnless(os.geteuid() == 0, "a clean root needs chroot, and so root")


@contextlib.contextmanager
def clean_root():
    """A directory to chroot into, thrown away afterwards."""
    with directory() as place:
        root = place / "root"
        root.mkdir()
        assert clean.file().is_file(), "there is no clean root: `./release.sh fetch` first"
        succeeds("tar", "-xpf", clean.file(), "-C", root, "--exclude=./dev/*", "--exclude=./usr/share/doc", "--exclude=./usr/share/man")
        for name in ["dev", "proc", "tmp", "root", "var/lib/dpkg"]:
            (root / name).mkdir(exist_ok=True, parents=True)
        if not (root / "bin/sh").exists():
            (root / "bin/sh").symlink_to("bash")
        for name in ["status", "available"]:
            (root / "var/lib/dpkg" / name).touch()
        (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n")
        (root / "etc/group").write_text("root:x:0:\nuser:x:1000:\n")
        (root / "home/user").mkdir(parents=True)
        os.chown(root / "home/user", 1000, 1000)
        (root / "tmp").chmod(0o1777)
        with mounted(root):
            yield root


@contextlib.contextmanager
def mounted(root):
    """/dev and /proc of this machine in a root."""
    taken = []
    try:
        for name in ["dev", "proc"]:
            (root / name).mkdir(exist_ok=True)
            succeeds("mount", "--bind", f"/{name}", root / name)
            taken.append(root / name)
        yield
    finally:
        for place in reversed(taken):
            subprocess.run(["umount", "--lazy", str(place)], check=False)


def in_root(root, *words, user="user", env=None, **options):
    """Runs a program in a root with nothing of this machine's environment."""
    home = "/root" if user == "root" else f"/home/{user}"
    numbers = "0:0" if user == "root" else "1000:1000"
    environment = {"HOME": home, "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", **(env or {})}
    return ran(CHROOT, f"--userspec={numbers}", root, *words, env=environment, **options)


def listing(root):
    """Every path of a root but what programs run in it leave for themselves."""
    found = set()
    for place, directories, files in os.walk(root):
        below = os.path.relpath(place, root)
        if below in ("dev", "proc"):
            directories.clear()
            continue
        found |= {os.path.normpath(os.path.join(below, name)) for name in files + directories}
    return found


def speaks_mcp(words, env, cwd):
    """Starts a server with the Python client of MCP, lists its tools and calls one. Gives the seconds to the first answer."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    (pathlib.Path(cwd) / "hello.txt").write_text("hello from a file\n")

    async def talk():
        started = time.monotonic()
        command = StdioServerParameters(command=str(words[0]), args=[str(word) for word in words[1:]], env=env, cwd=str(cwd))
        async with Client(stdio_client(command), read_timeout_seconds=DEADLINE) as client:
            listed = await client.list_tools()
            took = time.monotonic() - started
            names = {tool.name for tool in listed.tools}
            assert "read_file" in names, names
            said = await client.call_tool("read_file", {"path": "hello.txt"})
            assert "hello from a file" in str(said), said
            return took

    return asyncio.run(asyncio.wait_for(talk(), DEADLINE))


def fastest(*words, times=15, **options):
    """The median of the seconds that a command takes, once warm."""
    took = []
    for _ in range(times):
        started = time.monotonic()
        succeeds(*words, **options)
        took.append(time.monotonic() - started)
    return sorted(took)[len(took) // 2]


def say(text):
    print(f"  {text}", flush=True)

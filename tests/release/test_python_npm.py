"""The wheel and the npm packages: `uvx toolcrib mcp` and `npx toolcrib mcp`, from registries on loopback, with a real MCP client."""

import base64
import copy
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import unittest
import zipfile

from common import HERE, IS_PUBLISHABLE, OUT, SETTINGS, TOOLS, VERSION, directory, fastest, ran, say, serving, speaks_mcp, succeeds

import archive  # noqa: E402
import npm  # noqa: E402
import wheel  # noqa: E402
from archive import File  # noqa: E402

LIMIT_MS = 60
BIN = TOOLS / "python/bin"
PYPI, NPM = SETTINGS.names["pypi"], SETTINGS.names["npm"]


def empty_wheel():
    """A package whose program does nothing: what the launcher itself takes."""
    info = "nothing-1.0.dist-info"
    files = [
        File("nothing-1.0.data/scripts/nothing", b"#!/bin/sh\n", 0o755),
        File(f"{info}/METADATA", b"Metadata-Version: 2.1\nName: nothing\nVersion: 1.0\n"),
        File(f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    ]
    record = "".join(f"{file.path},sha256={wheel.digest(file.content)},{len(file.content)}\n" for file in files)
    files.append(File(f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    return "nothing-1.0-py3-none-any.whl", archive.zip_of(files, 0)


def python_index():
    """A simple index, as PyPI has one."""
    name = wheel.name(SETTINGS, HERE)
    files = {name: (OUT / name).read_bytes(), **dict([empty_wheel()])}

    def answer(path):
        parts = path.strip("/").split("/")
        if parts[0] == "simple" and len(parts) == 2:
            links = [f'<a href="/files/{file}">{file}</a>' for file in files if file.split("-")[0].replace("_", "-") == parts[1]]
            return ("text/html", "".join(links).encode()) if links else None
        if parts[0] == "files" and parts[1] in files:
            return "application/octet-stream", files[parts[1]]
        return None

    return answer


def npm_registry():
    """A registry of npm with the packages that were built."""
    nothing = {"name": "nothing", "version": "1.0.0", "bin": {"nothing": "nothing.js"}}
    packed = {
        "nothing": archive.tar_gz(
            [
                File("package/package.json", json.dumps(nothing).encode()),
                File("package/nothing.js", b"#!/usr/bin/env node\n", 0o755),
            ],
            0,
        )
    }
    for name in [NPM, npm.platform(SETTINGS, HERE)]:
        packed[name] = (OUT / npm.file_name(name, VERSION)).read_bytes()
    where = {}

    def answer(path):
        name = path.strip("/").replace("%2f", "/").replace("%2F", "/")
        if name in packed:
            content = packed[name]
            with tarfile.open(fileobj=io.BytesIO(content)) as opened:
                described = json.load(opened.extractfile("package/package.json"))
            digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
            described["dist"] = {"tarball": f"{where['url']}/-/{name}.tgz", "integrity": f"sha512-{digest}"}
            version = described["version"]
            document = {"name": name, "dist-tags": {"latest": version}, "versions": {version: described}}
            return "application/json", json.dumps(document).encode()
        if name.startswith("-/") and name[2:-4] in packed:
            return "application/octet-stream", packed[name[2:-4]]
        return None

    return answer, where


class Wheel(unittest.TestCase):
    def test_its_record_names_every_file_with_its_digest(self):
        with zipfile.ZipFile(OUT / wheel.name(SETTINGS, HERE)) as packed:
            names = packed.namelist()
            record = next(name for name in names if name.endswith("/RECORD"))
            lines = [line.rsplit(",", 2) for line in packed.read(record).decode().splitlines()]
            self.assertEqual([line[0] for line in lines], names)
            for name, digest, size in lines[:-1]:
                content = packed.read(name)
                self.assertEqual((digest, size), (f"sha256={wheel.digest(content)}", str(len(content))))
            metadata = packed.read(next(name for name in names if name.endswith("/METADATA"))).decode()
        self.assertIn(f"mcp-name: {SETTINGS.mcp_name}", metadata)
        self.assertEqual("Classifier: Private :: Do Not Upload" in metadata, not IS_PUBLISHABLE)

    def test_pip_installs_and_removes_it(self):
        with directory() as place:
            succeeds("python3", "-m", "venv", place / "venv")
            pip = [place / "venv/bin/pip", "--disable-pip-version-check", "--isolated"]
            succeeds(*pip, "install", "--no-index", OUT / wheel.name(SETTINGS, HERE), timeout=120)
            toolcrib = place / "venv/bin/toolcrib"
            self.assertEqual(succeeds(toolcrib, "--version").stdout, f"toolcrib {VERSION}\n")
            succeeds(*pip, "uninstall", "-y", PYPI)
            self.assertFalse(toolcrib.exists())

    def test_a_name_with_a_dash_is_spelt_as_file_names_spell_it(self):
        settings = copy.copy(SETTINGS)
        settings.names = {**SETTINGS.names, "pypi": "Example-tool.crib"}
        name = wheel.name(settings, HERE)
        self.assertTrue(name.startswith(f"example_tool_crib-{wheel.normal(VERSION)}-py3-none-"), name)
        with directory() as place:
            (place / name).write_bytes(wheel.build(settings, HERE, b"#!/bin/sh\necho started\n", b"{}", b"none\n"))
            with zipfile.ZipFile(place / name) as packed:
                tops = {path.split("/")[0] for path in packed.namelist()}
            stem = f"example_tool_crib-{wheel.normal(VERSION)}"
            self.assertEqual(tops, {f"{stem}.data", f"{stem}.dist-info"})
            succeeds("python3", "-m", "venv", place / "venv")
            pip = [place / "venv/bin/pip", "--disable-pip-version-check", "--isolated"]
            # By its name, found among the files of a directory as in an index.
            succeeds(*pip, "install", "--no-index", "--find-links", place, "Example-tool.crib", timeout=120)
            self.assertEqual(succeeds(place / "venv/bin/toolcrib").stdout, "started\n")
            self.assertIn("Name: Example-tool.crib\n", succeeds(*pip, "show", "example-tool-crib").stdout)

    def test_uvx_starts_it_for_an_mcp_client_and_soon(self):
        with serving(python_index()) as (url, _), directory() as place:
            env = {
                "PATH": f"{BIN}:{os.environ['PATH']}",
                "HOME": str(place),
                "UV_DEFAULT_INDEX": f"{url}/simple",
                "UV_PYTHON": sys.executable,
                "UV_PYTHON_DOWNLOADS": "never",
            }
            (place / "work").mkdir()
            # uvx takes the name for that of the program, too, if it is the same.
            uvx = ["uvx", "toolcrib"] if PYPI == "toolcrib" else ["uvx", "--from", PYPI, "toolcrib"]
            took = speaks_mcp([*uvx, "mcp"], env, place / "work")
            say(f"{' '.join(uvx)} mcp, cold, to the list of tools: {took * 1000:.0f} ms")
            succeeds("uvx", "nothing", env=env)
            empty = fastest("uvx", "nothing", env=env)
            ours = fastest(*uvx, "--version", env=env)
            say(f"uvx, warm: {ours * 1000:.0f} ms, with an empty package {empty * 1000:.0f} ms")
            self.assertLessEqual((ours - empty) * 1000, LIMIT_MS)


@unittest.skipUnless(shutil.which("npx"), "npx is not installed")
class Npm(unittest.TestCase):
    def env(self, place, url):
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "npm_config_registry": f"{url}/",
            "npm_config_cache": str(place / "cache"),
            "npm_config_update_notifier": "false",
            "npm_config_audit": "false",
            "npm_config_fund": "false",
        }

    def test_npx_starts_it_for_an_mcp_client_and_soon(self):
        answer, where = npm_registry()
        with serving(answer) as (url, _), directory() as place:
            where["url"] = url
            env = self.env(place, url)
            work = place / "work"
            work.mkdir()
            took = speaks_mcp(["npx", "-y", NPM, "mcp"], env, work)
            say(f"npx -y {NPM} mcp, cold, to the list of tools: {took * 1000:.0f} ms")
            succeeds("npx", "-y", "nothing", env=env, cwd=work)
            empty = fastest("npx", "-y", "nothing", env=env, cwd=work)
            ours = fastest("npx", "-y", NPM, "--version", env=env, cwd=work)
            say(f"npx, warm: {ours * 1000:.0f} ms, with an empty package {empty * 1000:.0f} ms")
            self.assertLessEqual((ours - empty) * 1000, LIMIT_MS)

    def test_the_shim_passes_words_exit_codes_and_signals_on(self):
        answer, where = npm_registry()
        with serving(answer) as (url, _), directory() as place:
            where["url"] = url
            env = self.env(place, url)
            succeeds("npm", "install", "--silent", "--prefix", place, NPM, env=env, cwd=place)
            shim = place / "node_modules/.bin/toolcrib"
            version = succeeds(shim, "--version", "--json", env=env)
            self.assertEqual(json.loads(version.stdout)["target"], HERE.triple)
            self.assertEqual(ran(shim, "run", "no_such_tool", env=env).returncode, 3)
            serve = ["timeout", "--signal=TERM", "--preserve-status", "2", shim, "serve", "--addr", "127.0.0.1:0"]
            ended = ran(*serve, env=env)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertIn("stopping", ended.stderr)

    def test_npm_installs_it_from_files_without_a_registry(self):
        names = [npm.platform(SETTINGS, HERE), NPM]
        files = [OUT / npm.file_name(name, VERSION) for name in names]
        with serving(lambda _: None) as (url, asked), directory() as place:
            env = {**self.env(place, url), "npm_config_offline": "true", "npm_config_prefix": str(place / "global")}
            succeeds("npm", "install", "--global", *files, env=env, cwd=place)
            self.assertEqual(succeeds(place / "global/bin/toolcrib", "--version", env=env).stdout, f"toolcrib {VERSION}\n")
            self.assertEqual(asked, [])

    def test_without_its_platform_package_the_shim_says_what_to_do(self):
        with directory() as place:
            with tarfile.open(OUT / npm.file_name(NPM, VERSION)) as packed:
                packed.extractall(place, filter="data")
            refused = ran("node", place / "package/bin/toolcrib.js", "--version")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is not installed; install without --omit=optional", refused.stderr)

    def test_the_registries_of_mcp_find_their_markers(self):
        entry = json.loads((OUT / "server.json").read_text())
        with tarfile.open(OUT / npm.file_name(NPM, VERSION)) as packed:
            described = json.load(packed.extractfile("package/package.json"))
        self.assertEqual(described["mcpName"], entry["name"])
        versions = {package["registryType"]: package["version"] for package in entry["packages"]}
        self.assertEqual(versions, {"npm": VERSION, "pypi": wheel.normal(VERSION)})

    def test_the_entry_of_the_mcp_registry_has_what_its_schema_requires(self):
        entry = json.loads((OUT / "server.json").read_text())
        self.assertLessEqual({"$schema", "name", "description", "version"}, set(entry))
        self.assertRegex(entry["name"], r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$")
        self.assertLessEqual(3, len(entry["name"]))
        self.assertLessEqual(len(entry["name"]), 200)
        for field, limit in [("description", 100), ("title", 100), ("version", 255)]:
            self.assertTrue(1 <= len(entry[field]) <= limit, field)
        if "repository" in entry:
            self.assertLessEqual({"url", "source"}, set(entry["repository"]))
        for package in entry["packages"]:
            self.assertLessEqual({"registryType", "identifier", "version", "transport"}, set(package))
            # A range of versions is refused.
            self.assertNotRegex(package["version"], r"[\^~<>=*x ]|latest")
            self.assertEqual(package["transport"], {"type": "stdio"})
            for argument in package["packageArguments"]:
                self.assertIn(argument["type"], ["positional", "named"])
                self.assertTrue({"value", "valueHint"} & set(argument))

    def test_versions_of_pre_releases_are_spelt_as_pypi_does(self):
        for version, normal in [("1.2.3", "1.2.3"), ("1.2.3-rc.1", "1.2.3rc1"), ("1.2.3-beta.2", "1.2.3b2"), ("1.2.3-alpha.3", "1.2.3a3")]:
            self.assertEqual(wheel.normal(version), normal)

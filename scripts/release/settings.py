"""release.toml, the version, and where things are."""

import functools
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "target/release-tools"
WORK = ROOT / "target/release-work"
# What can be uploaded, and nothing else, by version. Keys and tools are never below it.
PACKAGES = ROOT / "target/packages"


class Refused(Exception):
    """Something is missing; the text says what to do."""


@dataclass(frozen=True)
class Target:
    """A machine that binaries are built for, in the words of each packager."""

    triple: str
    deb: str
    rpm: str
    npm: str
    wheel: str
    oci: str

    @property
    def machine(self):
        return self.triple.split("-")[0]


TARGETS = {
    target.triple: target
    for target in [
        Target("x86_64-unknown-linux-gnu", "amd64", "x86_64", "x64", "x86_64", "amd64"),
        Target("aarch64-unknown-linux-gnu", "arm64", "aarch64", "arm64", "aarch64", "arm64"),
    ]
}


class Settings:
    def __init__(self, version=None):
        # Another file is for tests of what is published.
        with open(os.environ.get("RELEASE_TOML") or ROOT / "release.toml", "rb") as file:
            self.toml = tomllib.load(file)
        with open(ROOT / "Cargo.toml", "rb") as file:
            self.cargo_version = tomllib.load(file)["workspace"]["package"]["version"]
        self.version = version or self.cargo_version
        if self.version != self.cargo_version:
            raise Refused(
                f"the version is {self.cargo_version} in Cargo.toml, not {self.version}; change it there first"
            )
        if not re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", self.version):
            raise Refused(f"`{self.version}` is not a version")
        self.out = PACKAGES / self.version
        self.publisher = self.toml["publisher"]
        self.names = self.toml["names"]
        self.tools = self.toml["tools"]
        wanted = os.environ.get("RELEASE_TARGETS", "").split() or self.toml["build"]["targets"]
        unknown = [triple for triple in wanted if triple not in TARGETS]
        if unknown:
            raise Refused(
                f"there are no packages for {', '.join(unknown)}; known: {', '.join(TARGETS)}"
            )
        self.targets = [TARGETS[triple] for triple in wanted]

    @functools.cached_property
    def obstacles(self):
        """Why these packages must not be published."""
        if os.environ.get("RELEASE_SECRET_KEY"):
            return self.obstacles_of_source
        return [*self.obstacles_of_source, "RELEASE_SECRET_KEY is not set, so a throw-away key signs"]

    @functools.cached_property
    def obstacles_of_source(self):
        """Why nothing of this source must be published: what is not signed, either."""
        unset = [key for key, value in self.publisher.items() if not value]
        found = [f"release.toml does not set {', '.join(unset)}"] if unset else []
        if not self.is_clean:
            found.append("the source has changes that are not committed")
        rust = self.toml["build"]["rust"]
        if not (said := rustc()).startswith(f"rustc {rust} "):
            found.append(f"the compiler is {said}, not {rust} of release.toml")
        return found

    @property
    def publishable(self):
        return not self.obstacles

    @property
    def repository(self):
        return self.publisher["repository"] or "https://example.invalid/toolcrib"

    @property
    def base_url(self):
        return (self.publisher["base-url"] or "https://example.invalid/releases").rstrip("/")

    @property
    def owner(self):
        return self.publisher["owner"] or "unset"

    @property
    def maintainer(self):
        return self.publisher["maintainer"] or "Unset <unset@example.invalid>"

    @property
    def mcp_name(self):
        return self.names["mcp"].replace("OWNER", self.owner)

    @property
    def commit(self):
        return git("rev-parse", "HEAD")

    @functools.cached_property
    def is_clean(self):
        return not git("status", "--porcelain")

    @property
    def epoch(self):
        """The time of everything in the packages: that of the commit."""
        return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))

    def archive_name(self, target):
        return f"toolcrib-{self.version}-{target.triple}"

    def archive_url(self, triple):
        return f"{self.base_url}/download/v{self.version}/toolcrib-{self.version}-{triple}.tar.gz"


def rustc():
    return run("rustc", "--version", capture_output=True, text=True).stdout.strip()


def git(*words):
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode:
        raise Refused(f"git {words[0]}: {ran.stderr.strip()}")
    return ran.stdout.strip()


def run(*words, cwd=ROOT, env=None, **options):
    """Runs a program; its failure is a refusal with its words."""
    words = [str(word) for word in words]
    ran = subprocess.run(words, cwd=cwd, env=env, **options)
    if ran.returncode:
        said = (ran.stderr or b"") if options.get("capture_output") else b""
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        raise Refused(f"`{' '.join(words[:4])}` failed ({ran.returncode})\n{said}".rstrip())
    return ran


def say(text):
    print(f"release: {text}", flush=True)

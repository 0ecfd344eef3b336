"""release.toml, the version, and where things are."""

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "target/release-tools"
WORK = ROOT / "target/release-work"


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
        with open(ROOT / "release.toml", "rb") as file:
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
        self.out = ROOT / f"target/release-{self.version}"
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

    @property
    def unset(self):
        """What must be set before anything can be published."""
        return [key for key, value in self.publisher.items() if not value]

    @property
    def publishable(self):
        return not self.unset

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

    @property
    def is_clean(self):
        return not git("status", "--porcelain")

    @property
    def epoch(self):
        """The time of everything in the packages: that of the commit."""
        return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))

    def archive_name(self, target):
        return f"toolcrib-{self.version}-{target.triple}"


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

"""The crates: packed in the order in which they depend on each other, with the web admin ready-made in `toolcrib-server`.

cargo stands in for what is not published yet by a registry of its own, so the whole chain is tried before the first crate is. Without
RELEASE_VERIFY_CRATES=1 the packed crates are not compiled again.
"""

import enum
import os
import shutil

import binary
import fetch
from settings import ROOT, WORK, Refused, run, say

MADE = WORK / "crates-target/package"


class Upload(enum.Enum):
    NO = False
    YES = True


def publish(settings, upload=Upload.NO):
    if upload is Upload.YES and settings.obstacles_of_source:
        raise Refused(f"the crates cannot be published: {'; '.join(settings.obstacles_of_source)}")
    place = clone(settings)
    shutil.rmtree(MADE, ignore_errors=True)
    if settings.obstacles_of_source:
        words = ["cargo", "package", "--offline"]
    else:
        words = ["cargo", "publish", *(["--dry-run"] if upload is Upload.NO else [])]
    words += ["--workspace", "--allow-dirty"]
    if not os.environ.get("RELEASE_VERIFY_CRATES"):
        words.append("--no-verify")
    say(f"packs the crates: `{' '.join(words)}`")
    env = {**os.environ, "CARGO_TARGET_DIR": str(MADE.parent)}
    run(*words, cwd=place, env=env)
    # In more than one place, by what cargo was asked for.
    made = [file for _, file in sorted({file.name: file for file in MADE.rglob("*.crate")}.items())]
    say(f"{len(made)} crates: {', '.join(file.name for file in made)}")
    if settings.obstacles_of_source:
        # Only now: of crates that have this mark, cargo does not pack the chain.
        for manifest in manifests(place):
            insert(manifest, "[package]", "publish = false")
        say(f"unpublishable: {'; '.join(settings.obstacles_of_source)}")
    return made


def manifests(place):
    return sorted((place / "crates").glob("*/Cargo.toml"))


def clone(settings):
    """The source as it is committed, so that the crates name the commit, with the web admin and the publisher in it."""
    place = WORK / "crates"
    shutil.rmtree(place, ignore_errors=True)
    run("git", "clone", "--quiet", "--local", "--no-hardlinks", ROOT, place)
    page = WORK / "web"
    if not page.is_dir():
        fetch.web()
        page = binary.web()
    shutil.copytree(page, place / "crates/toolcrib-server/web-assets")
    if settings.publisher["repository"]:
        for manifest in manifests(place):
            insert(manifest, "[package]", f'repository = "{settings.repository}"')
    if settings.publisher["base-url"]:
        manifest = place / "crates/toolcrib-cli/Cargo.toml"
        insert(manifest, "[package.metadata.binstall]", f'pkg-url = "{settings.archive_url("{ target }")}"')
    return place


def insert(manifest, section, line):
    text = manifest.read_text()
    if text.count(f"{section}\n") != 1:
        raise Refused(f"{manifest.parent.name}/Cargo.toml has no {section} to complete")
    manifest.write_text(text.replace(f"{section}\n", f"{section}\n{line}\n"))

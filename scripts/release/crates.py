"""The crates: packed in the order in which they depend on each other, with the web admin ready-made in `toolcrib-server`.

cargo stands in for what is not published yet by a registry of its own, so the whole chain is tried before the first crate is. Without
RELEASE_VERIFY_CRATES=1 the packed crates are not compiled again.
"""

import os
import shutil

import binary
from settings import ROOT, WORK, run, say


def dry_run(settings):
    place = WORK / "crates"
    shutil.rmtree(place, ignore_errors=True)
    # A clone, so that the crates name the commit and have nothing that is not committed.
    run("git", "clone", "--quiet", "--local", "--no-hardlinks", ROOT, place)
    page = WORK / "web"
    if not page.is_dir():
        page = binary.web()
    shutil.copytree(page, place / "crates/toolcrib-server/web-assets")
    words = ["cargo", "publish", "--workspace", "--dry-run", "--allow-dirty"]
    if not os.environ.get("RELEASE_VERIFY_CRATES"):
        words.append("--no-verify")
    say("packs the crates and tries to publish them (dry run)")
    env = {**os.environ, "CARGO_TARGET_DIR": str(WORK / "crates-target")}
    run(*words, cwd=place, env=env)
    made = sorted({file.name for file in (WORK / "crates-target/package").rglob("*.crate")})
    say(f"{len(made)} crates: {', '.join(made)}")
    return made

"""`release.sh fetch`: everything that a build needs from elsewhere."""

import os
import shutil
import subprocess

import clean_root
import image
import toolchain
from settings import ROOT, TOOLS, Refused, run, say

# Debian's packages by the programs that are wanted of them.
PROGRAMS = {
    "dpkg-deb": "dpkg",
    "rpmbuild": "rpm",
    "minisign": "minisign",
    "mmdebstrap": "mmdebstrap",
    "xz": "xz-utils",
    "npm": "npm",
    "readelf": "binutils",
}


def fetch(settings):
    TOOLS.mkdir(parents=True, exist_ok=True)
    programs()
    python(settings)
    toolchain.fetch(settings)
    say("fetches crates")
    run("cargo", "fetch", "--locked", "--quiet")
    web()
    for target in settings.targets:
        image.fetch_base(target)
    clean_root.fetch()
    say(f"the tools are in {TOOLS.relative_to(ROOT)}")


def programs():
    missing = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Refused(f"install first: {' '.join(missing)} (the names are Debian's)")
    say(f"installs {' '.join(missing)}")
    run("apt-get", "update", "-qq")
    run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, stdout=subprocess.DEVNULL)


def python(settings):
    """zig and cargo-zigbuild; the others are for the tests."""
    wanted = [
        f"ziglang=={settings.tools['zig']}",
        f"cargo-zigbuild=={settings.tools['cargo-zigbuild']}",
        f"uv=={settings.tools['uv']}",
        f"mcp=={settings.tools['mcp']}",
        f"pyyaml=={settings.tools['pyyaml']}",
    ]
    venv = TOOLS / "python"
    complete = venv / "complete"
    if complete.is_file() and complete.read_text() == "\n".join(wanted):
        return
    shutil.rmtree(venv, ignore_errors=True)
    say("fetches zig, cargo-zigbuild and what the tests use from PyPI")
    run("python3", "-m", "venv", venv)
    run(venv / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
    complete.write_text("\n".join(wanted))


def web():
    """What the web admin is built with."""
    lock = ROOT / "web/package-lock.json"
    fetched = ROOT / "web/node_modules/.package-lock.json"
    if fetched.is_file() and fetched.stat().st_mtime >= lock.stat().st_mtime:
        return
    say("fetches what the web admin is built with")
    run("npm", "ci", "--include=dev", "--ignore-scripts", "--silent", "--no-audit", "--no-fund", cwd=ROOT / "web")

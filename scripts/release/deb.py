"""The Debian package, by dpkg-deb."""

import os
import shutil
import textwrap

import contents
import installed
from archive import File, gz
from settings import ROOT, WORK, run

# Nothing is switched on by installing it. What runs is stopped before its files go, and the manager hears of the units.
SCRIPTS = {
    "postinst": """\
        #!/bin/sh
        set -e
        if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
        """,
    "prerm": """\
        #!/bin/sh
        set -e
        if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
            systemctl --no-reload disable --now toolcrib.service toolcrib.socket || true
        fi
        """,
    "postrm": """\
        #!/bin/sh
        set -e
        if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
        # The tools, secrets and records of the system service.
        if [ "$1" = purge ]; then rm -rf /var/lib/private/toolcrib /var/lib/toolcrib; fi
        """,
}


def name(settings, target):
    return f"toolcrib_{version(settings)}_{target.deb}.deb"


def version(settings):
    # `~` sorts before the release.
    return settings.version.replace("-", "~") + "-1"


def build(settings, target, files, out):
    place = WORK / f"deb-{target.deb}"
    shutil.rmtree(place, ignore_errors=True)
    doc = "usr/share/doc/toolcrib"
    copyright = (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: toolcrib\n\n"
        "Files: *\n"
        "Copyright: the authors of Toolcrib; of its parts: see THIRD-PARTY.txt\n"
        "License: MIT or Apache-2.0\n"
        " The texts are in LICENSE-MIT and LICENSE-APACHE beside this file.\n"
    )
    files = [
        *files,
        File(f"{doc}/copyright", copyright.encode()),
        File(f"{doc}/changelog.gz", gz((ROOT / "CHANGELOG.md").read_bytes())),
    ]
    size = sum(len(file.content) for file in files) // 1024
    glibc = settings.toml["build"]["glibc"]
    control = [
        "Package: toolcrib",
        f"Version: {version(settings)}",
        f"Architecture: {target.deb}",
        f"Maintainer: {settings.maintainer}",
        f"Installed-Size: {size}",
        f"Depends: libc6 (>= {glibc})",
        "Recommends: ca-certificates, bash, git",
        "Section: devel",
        "Priority: optional",
        *([f"Homepage: {settings.repository}"] if settings.publishable else [f"Unpublishable: {'; '.join(settings.obstacles)}"]),
        f"Description: {contents.SUMMARY.rstrip('.')}",
        *[f" {line}" for line in textwrap.wrap(contents.DESCRIPTION, 76)],
    ]
    installed.write(files, place, settings.epoch)
    debian = place / "DEBIAN"
    debian.mkdir()
    (debian / "control").write_text("\n".join(control) + "\n")
    for script, text in SCRIPTS.items():
        (debian / script).write_text(textwrap.dedent(text))
        (debian / script).chmod(0o755)
    for path in [debian, *debian.iterdir()]:
        os.utime(path, (settings.epoch, settings.epoch))
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(settings.epoch)}
    made = out / name(settings, target)
    run("dpkg-deb", "--root-owner-group", "-Zxz", "--build", place, made, env=env, capture_output=True)
    shutil.rmtree(place)
    return made

"""Signatures, by minisign. Without a key of the publisher a throw-away key signs, which proves nothing but that signing works."""

import os
import shutil
import tempfile
from pathlib import Path

from settings import WORK, Refused, run


def key(settings):
    """The secret key's file and the public key, which belong together."""
    secret, public = find(settings)
    with tempfile.TemporaryDirectory() as place:
        probe = Path(place) / "probe"
        probe.write_text("probe\n")
        sign(settings, probe, secret, public)
    return secret, public


def find(settings):
    given = os.environ.get("RELEASE_SECRET_KEY")
    if given:
        if not settings.publisher["public-key"]:
            raise Refused("RELEASE_SECRET_KEY is set, and `public-key` in release.toml is not")
        return Path(given), settings.publisher["public-key"]
    place = WORK / "throw-away"
    secret, public = place / "toolcrib.key", place / "toolcrib.pub"
    if not secret.is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        run("minisign", "-G", "-W", "-f", "-p", public, "-s", secret, capture_output=True)
    return secret, public.read_text().splitlines()[1]


def sign(settings, file, secret, public):
    """Writes FILE.minisig, and verifies it. The comment has no time: the same file has the same signature."""
    comment = f"toolcrib {settings.version} {file.name}"
    run("minisign", "-S", "-s", secret, "-m", file, "-t", comment, "-x", f"{file}.minisig", stdout=-3)
    try:
        run("minisign", "-V", "-q", "-P", public, "-m", file, "-x", f"{file}.minisig", capture_output=True)
    except Refused:
        Path(f"{file}.minisig").unlink()
        raise Refused(f"the signature of {file.name} does not fit the public key; RELEASE_SECRET_KEY is another key than `public-key` in release.toml") from None

"""What makes packages publishable and what marks them: packed with a publisher that is made up for the test, a key that is thrown away, and a binary that is none."""

import contextlib
import io
import json
import os
import re
import tarfile
import tomllib
import unittest
import urllib.request
import zipfile
from unittest import mock

from common import HERE, ROOT, VERSION, WORK, directory, ran, succeeds

import archive  # noqa: E402
import build  # noqa: E402
import crates  # noqa: E402
import deb  # noqa: E402
import image  # noqa: E402
import npm  # noqa: E402
import rpm  # noqa: E402
import sign  # noqa: E402
import wheel  # noqa: E402
from settings import Refused, Settings  # noqa: E402

PUBLISHER = {
    "owner": "example",
    "repository": "https://github.com/example/toolcrib",
    "base-url": "https://github.com/example/toolcrib/releases",
    "maintainer": "Example <release@example.com>",
}


def key(place, name):
    """A secret key's file and its public key."""
    succeeds("minisign", "-G", "-W", "-p", place / f"{name}.pub", "-s", place / f"{name}.key")
    return place / f"{name}.key", (place / f"{name}.pub").read_text().splitlines()[1]


@contextlib.contextmanager
def publisher(place, secret=None, public="", clean=True, **changed):
    """Settings of that publisher, for packages in `place`."""
    text = (ROOT / "release.toml").read_text()
    for name, value in {**PUBLISHER, "public-key": public, **changed}.items():
        text, found = re.subn(rf'(?m)^{name} = ".*"$', lambda _: f"{name} = {json.dumps(value)}", text)
        assert found == 1, name
    (place / "release.toml").write_text(text)
    env = {"RELEASE_TOML": str(place / "release.toml"), "RELEASE_TARGETS": HERE.triple, "RELEASE_SECRET_KEY": str(secret or "")}
    with mock.patch.dict(os.environ, env):
        settings = Settings()
        settings.out = place / "packages"
        settings.is_clean = clean
        yield settings


def pack(settings, place):
    spoken = place / "spoken"
    for name in ["completions/toolcrib.bash", "completions/_toolcrib", "completions/toolcrib.fish", "man/toolcrib.1"]:
        (spoken / name).parent.mkdir(parents=True, exist_ok=True)
        (spoken / name).write_text("text\n")
    # The base of the image is large, and is the same for all.
    base = mock.patch.object(image, "base_layer", lambda *_: archive.tar([], settings.epoch))
    with base, contextlib.redirect_stdout(io.StringIO()):
        build.pack(settings, {HERE: b"#!/bin/sh\n"}, spoken, sign.key(settings))
    return settings.out


def marks(settings):
    """Which of the packages are marked, by their kind, and what each says of its source."""
    out, source = settings.out, {}
    found = {"UNPUBLISHABLE": (out / "UNPUBLISHABLE").exists()}
    for name in [settings.names["npm"], npm.platform(settings, HERE)]:
        with tarfile.open(out / npm.file_name(name, VERSION)) as packed:
            told = json.load(packed.extractfile("package/package.json"))
        found[name], source[name] = told.get("private", False), told.get("repository", {}).get("url")
    with zipfile.ZipFile(out / wheel.name(settings, HERE)) as packed:
        metadata = packed.read(next(name for name in packed.namelist() if name.endswith("/METADATA"))).decode()
    found["wheel"] = "Private :: Do Not Upload" in metadata
    source["wheel"] = re.search(r"Project-URL: Repository, (.*)|$", metadata)[1]
    told = succeeds("dpkg-deb", "--field", out / deb.name(settings, HERE)).stdout
    found["deb"], source["deb"] = "\nUnpublishable: " in told, re.search(r"Homepage: (.*)|$", told)[1]
    told = succeeds("rpm", "-qp", "--qf", "%{GROUP}\n%{URL}", out / rpm.name(settings, HERE)).stdout.splitlines()
    found["rpm"], source["rpm"] = told[0].startswith("unpublishable"), told[1]
    entry = json.loads((out / "server.json").read_text())
    found["server.json"] = "unpublishable" in str(entry.get("_meta"))
    source["server.json"] = entry.get("repository", {}).get("url")
    with tarfile.open(out / f"toolcrib-{VERSION}-oci.tar") as packed:
        read = lambda digest: json.load(packed.extractfile(f"blobs/sha256/{digest[7:]}"))  # noqa: E731
        manifest = read(json.load(packed.extractfile("index.json"))["manifests"][-1]["digest"])
        labels = read(manifest["config"]["digest"])["config"]["Labels"]
    found["image"] = labels.get("toolcrib.unpublishable") == "true"
    source["image"] = labels.get("org.opencontainers.image.source")
    return found, source, {told_by: name for told_by, name in [("server.json", entry["name"]), ("image", labels["io.modelcontextprotocol.server.name"])]}


class Publish(unittest.TestCase):
    def test_packages_of_a_publisher_name_it_and_have_no_mark(self):
        with directory() as place:
            secret, public = key(place, "own")
            with publisher(place, secret, public) as settings:
                self.assertEqual(settings.obstacles, [])
                out = pack(settings, place)
                found, source, names = marks(settings)
            self.assertEqual({kind for kind, marked in found.items() if marked}, set())
            repository = PUBLISHER["repository"]
            self.assertEqual({url.removeprefix("git+").removesuffix(".git") for url in source.values()}, {repository}, source)
            self.assertEqual(set(names.values()), {"io.github.example/toolcrib"})
            packed = f"toolcrib-{VERSION}-{HERE.triple}.tar.gz"
            for name in [packed, "SHA256SUMS"]:
                succeeds("minisign", "-V", "-P", public, "-m", out / name)
            script = (out / "install.sh").read_text()
            self.assertIn(f"base='{PUBLISHER['base-url']}'", script)
            self.assertIn(f"public_key='{public}'", script)
            # Where GitHub has the files of a release.
            for name in ["toolcrib.rb", "flake.nix"]:
                text = (out / name).read_text().replace("${build.triple}", HERE.triple)
                self.assertIn(f"{repository}/releases/download/v{VERSION}/{packed}", text)

    def test_packages_that_a_throw_away_key_signed_are_all_marked(self):
        with directory() as place, publisher(place, public=key(place, "own")[1]) as settings:
            pack(settings, place)
            found, source, _ = marks(settings)
            self.assertEqual({kind for kind, marked in found.items() if not marked}, set())
            self.assertEqual({kind for kind, url in source.items() if url}, {"rpm"})
            said = (settings.out / "UNPUBLISHABLE").read_text()
            self.assertEqual(said, "RELEASE_SECRET_KEY is not set, so a throw-away key signs\n")

    def test_each_obstacle_marks_the_packages(self):
        with directory() as place:
            secret, public = key(place, "own")
            for said, words in [
                ("release.toml does not set owner", {"owner": ""}),
                ("the source has changes that are not committed", {"clean": False}),
                ("the compiler is rustc", {"rust": "1.0.0"}),
            ]:
                with self.subTest(said), publisher(place, secret, public, **words) as settings:
                    self.assertEqual(len(settings.obstacles), 1)
                    self.assertIn(said, settings.obstacles[0])
                    self.assertFalse(settings.publishable)

    def test_a_key_that_does_not_fit_the_public_key_signs_nothing(self):
        with directory() as place:
            with publisher(place, key(place, "other")[0], key(place, "own")[1]) as settings:
                self.assertRaisesRegex(Refused, "RELEASE_SECRET_KEY is another key than", pack, settings, place)
                self.assertFalse(settings.out.exists())

    def test_a_key_without_a_public_key_is_refused(self):
        with directory() as place, publisher(place, key(place, "own")[0]) as settings:
            self.assertRaisesRegex(Refused, "`public-key` in release.toml is not", sign.key, settings)


class Crates(unittest.TestCase):
    def manifest(self, name):
        with open(WORK / "crates/crates" / name / "Cargo.toml", "rb") as file:
            return tomllib.load(file)

    def pack(self, settings, upload=crates.Upload.NO):
        with contextlib.redirect_stdout(io.StringIO()):
            return crates.publish(settings, upload)

    def assert_whole(self, made):
        sources = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))
        self.assertEqual([file.name for file in made], sorted(f"{name}-{VERSION}.crate" for name in sources))
        self.assertEqual(len(made), 11)
        with tarfile.open(next(file for file in made if file.name.startswith("toolcrib-server-"))) as packed:
            names = packed.getnames()
        self.assertIn(f"toolcrib-server-{VERSION}/web-assets/index.html", names)
        self.assertIn(f"toolcrib-server-{VERSION}/build.rs", names)

    def test_without_a_publisher_every_crate_is_packed_and_cargo_publishes_none(self):
        with directory() as place, publisher(place, owner="", repository="") as settings:
            self.assert_whole(self.pack(settings))
            self.assertRaisesRegex(Refused, "the crates cannot be published", self.pack, settings, crates.Upload.YES)
        for path in (ROOT / "crates").glob("*/Cargo.toml"):
            self.assertIs(self.manifest(path.parent.name)["package"]["publish"], False)
        words = ["cargo", "publish", "--dry-run", "--allow-dirty", "--offline", "-p", "toolcrib-sandbox"]
        refused = ran(*words, cwd=WORK / "crates", env={**os.environ, "CARGO_TARGET_DIR": str(crates.MADE.parent)})
        self.assertIn("`toolcrib-sandbox` cannot be published", refused.stderr)

    def test_with_a_publisher_cargo_would_publish_the_whole_chain(self):
        registry = os.environ.get("CARGO_REGISTRIES_CRATES_IO_INDEX", "https://index.crates.io/").removeprefix("sparse+")
        try:
            urllib.request.urlopen(f"{registry}config.json", timeout=20).close()
        except OSError as error:
            self.skipTest(f"`cargo publish --dry-run` needs the index of crates.io: {error}")
        with directory() as place, publisher(place, public="RWx") as settings:
            self.assert_whole(self.pack(settings))
        for path in (ROOT / "crates").glob("*/Cargo.toml"):
            told = self.manifest(path.parent.name)["package"]
            self.assertEqual((told["repository"], told.get("publish")), (PUBLISHER["repository"], None))
        told = self.manifest("toolcrib-cli")["package"]["metadata"]["binstall"]
        filled = {"{ version }": VERSION, "{ target }": HERE.triple, "{ bin }": "toolcrib", "{ binary-ext }": ""}

        def fill(text):
            for hole, value in filled.items():
                text = text.replace(hole, value)
            return text

        place = f"toolcrib-{VERSION}-{HERE.triple}"
        self.assertEqual(fill(told["pkg-url"]), f"{PUBLISHER['base-url']}/download/v{VERSION}/{place}.tar.gz")
        # The path in the archive, which test_archive.py finds there.
        self.assertEqual((fill(told["bin-dir"]), told["pkg-fmt"]), (f"{place}/toolcrib", "tgz"))

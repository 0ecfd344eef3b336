"""The archive: what is in it, how it is verified, and that it is the same each time."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import unittest

from common import ARCHIVE, HERE, OUT, ROOT, SETTINGS, VERSION, WORK, directory, ran, say, succeeds


class Archive(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = WORK / "unpacked"
        shutil.rmtree(cls.place, ignore_errors=True)
        cls.place.mkdir(parents=True)
        with tarfile.open(OUT / ARCHIVE) as packed:
            cls.names = packed.getnames()
            packed.extractall(cls.place, filter="data")
        cls.root = cls.place / ARCHIVE.removesuffix(".tar.gz")
        cls.toolcrib = cls.root / "toolcrib"

    def test_the_sizes_are_within_their_limits(self):
        for end, limit in [(".tar.gz", 10e6), (".whl", 11e6), (".tgz", 11e6)]:
            for file in OUT.glob(f"*{end}"):
                say(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
                self.assertLessEqual(file.stat().st_size, limit, file.name)

    def test_the_binary_says_what_it_is(self):
        told = json.loads(succeeds(self.toolcrib, "--version", "--json").stdout)
        self.assertEqual(told["version"], VERSION)
        self.assertEqual(told["target"], HERE.triple)
        self.assertEqual(told["commit"], SETTINGS.commit)
        self.assertEqual(told["features"], ["expr", "home", "tools", "urls", "web"])

    def test_it_has_what_a_person_needs(self):
        names = {name.split("/", 1)[1] for name in self.names if "/" in name}
        for name in [
            "toolcrib", "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt", "sbom.cdx.json",
            "completions/toolcrib.bash", "completions/_toolcrib", "completions/toolcrib.fish", "man/toolcrib.1", "man/toolcrib-run.1",
            "systemd/system/toolcrib.service", "systemd/user/toolcrib.socket",
        ]:  # fmt: skip
            self.assertIn(name, names)
        licences = (self.root / "THIRD-PARTY.txt").read_text()
        self.assertIn("tokio ", licences)
        self.assertIn("react ", licences)
        self.assertIn("Permission is hereby granted", licences)

    def test_completions_name_the_program_and_no_path(self):
        for file in (self.root / "completions").iterdir():
            self.assertNotIn(str(ROOT), file.read_text(), file.name)
        script = self.root / "completions/toolcrib.bash"
        self.assertEqual(ran("bash", "-n", script).returncode, 0)

    def test_the_list_of_parts_names_every_crate_once(self):
        sbom = json.loads((self.root / "sbom.cdx.json").read_text())
        self.assertEqual((sbom["bomFormat"], sbom["specVersion"]), ("CycloneDX", "1.5"))
        references = [part["bom-ref"] for part in sbom["components"]]
        self.assertEqual(len(references), len(set(references)))
        names = {part["name"] for part in sbom["components"]}
        self.assertLessEqual({"toolcrib-core", "tokio", "rusqlite", "rquickjs-sys", "react"}, names)
        # Only for tests.
        self.assertFalse({"proptest", "reqwest", "axum"} & names)
        known = {*references, sbom["metadata"]["component"]["bom-ref"]}
        for entry in sbom["dependencies"]:
            self.assertLessEqual({entry["ref"], *entry["dependsOn"]}, known)

    def test_the_binary_has_no_path_of_this_machine(self):
        content = self.toolcrib.read_bytes()
        home = os.path.expanduser("~").encode() + b"/"
        for path in [str(ROOT).encode(), home if home != b"//" else b"/home/"]:
            at = content.find(path)
            self.assertEqual(at, -1, content[max(at - 40, 0) : at + 120])

    def test_the_sums_and_the_signatures_are_right(self):
        for line in (OUT / "SHA256SUMS").read_text().splitlines():
            wanted, name = line.split("  ")
            self.assertEqual(hashlib.sha256((OUT / name).read_bytes()).hexdigest(), wanted, name)
        for name in [ARCHIVE, "SHA256SUMS"]:
            succeeds("minisign", "-V", "-p", OUT / "toolcrib.pub", "-m", OUT / name)
        with directory() as place:
            for name in [ARCHIVE, f"{ARCHIVE}.minisig"]:
                shutil.copy(OUT / name, place)
            with open(place / ARCHIVE, "ab") as file:
                file.write(b"!")
            self.assertNotEqual(ran("minisign", "-V", "-p", OUT / "toolcrib.pub", "-m", place / ARCHIVE).returncode, 0)

    def test_nothing_is_publishable_while_the_publisher_is_unset(self):
        if SETTINGS.publishable:
            self.skipTest("release.toml names a publisher")
        self.assertTrue((OUT / "UNPUBLISHABLE").is_file())
        for file in OUT.glob("*.tgz"):
            with tarfile.open(file) as packed:
                described = json.load(packed.extractfile("package/package.json"))
            self.assertIs(described["private"], True, file.name)

    def test_packing_again_gives_the_same_bytes(self):
        if os.environ.get("RELEASE_PREBUILT"):
            self.skipTest("the packages that are there stay as they are")
        before = (OUT / "SHA256SUMS").read_text()
        targets = " ".join(target.triple for target in SETTINGS.targets)
        env = {**os.environ, "RELEASE_TARGETS": targets}
        if os.environ.get("RELEASE_TWICE"):
            say("compiles everything again, too")
            shutil.rmtree(WORK / "cargo")
        succeeds(ROOT / "release.sh", "build", env=env, timeout=3600)
        self.assertEqual((OUT / "SHA256SUMS").read_text(), before)

    def test_the_manual_pages_have_no_errors(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        done = ran("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", self.root / "man/toolcrib.1", errors="replace")
        self.assertEqual(done.stderr, "")

"""The archive: what is in it, how it is verified, and that it is the same each time."""

import hashlib
import json
import os
import shutil
import tarfile
import unittest

from common import ARCHIVE, HERE, OUT, ROOT, SETTINGS, VERSION, WORK, directory, ran, say, succeeds

import binary  # noqa: E402
import image  # noqa: E402
import toolchain  # noqa: E402

# As `readelf` calls them.
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}


def crates_of_the_binary(target):
    """What cargo compiles into the binary, and what builds it: by name and version."""
    words = ["cargo", "tree", "--locked", "--offline", "-p", "toolcrib-cli", "-e", "normal,build", "--target", target.triple, "--prefix", "none"]
    told = succeeds(*words, cwd=ROOT, env=toolchain.environment(target.triple)).stdout
    return {(name, version.removeprefix("v")) for name, version in (line.split()[:2] for line in told.splitlines())}


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

    def test_the_list_of_parts_names_every_crate_in_the_binary_and_no_other(self):
        sbom = json.loads((self.root / "sbom.cdx.json").read_text())
        parts = [sbom["metadata"]["component"], *sbom["components"]]
        crates = {(part["name"], part["version"]) for part in parts if part["purl"].startswith("pkg:cargo/")}
        self.assertEqual(crates, crates_of_the_binary(HERE))
        pages = {part["name"] for part in parts if part["purl"].startswith("pkg:npm/")}
        self.assertIn("react", pages)
        licensed = (self.root / "THIRD-PARTY.txt").read_text().split("=" * 79)[0].splitlines()[2:]
        of_others = {f"{part['name']} {part['version']}" for part in parts if not part["name"].startswith("toolcrib")}
        self.assertEqual({line.split(":")[0] for line in licensed if line}, of_others)

    def test_the_list_of_parts_has_what_cyclonedx_requires(self):
        sbom = json.loads((self.root / "sbom.cdx.json").read_text())
        self.assertEqual((sbom["bomFormat"], sbom["specVersion"]), ("CycloneDX", "1.5"))
        self.assertGreaterEqual(sbom["version"], 1)
        parts = [sbom["metadata"]["component"], *sbom["components"]]
        for part in parts:
            self.assertIn(part["type"], ["application", "library"])
            self.assertTrue(part["name"] and part["version"], part)
            self.assertRegex(part["purl"], r"^pkg:(cargo|npm)/[^@]+@[0-9]", part)
            for digest in part.get("hashes", []):
                self.assertEqual(digest["alg"], "SHA-256")
                self.assertRegex(digest["content"], "^[0-9a-f]{64}$")
            # One expression, or licences by their ids; never both.
            self.assertEqual([set(licence) for licence in part.get("licenses", [{"expression": ""}])], [{"expression"}], part)
        for entry in sbom["metadata"]["properties"]:
            self.assertEqual(set(entry), {"name", "value"})
        references = [part["bom-ref"] for part in parts]
        self.assertEqual(len(references), len(set(references)))
        self.assertEqual(len({entry["ref"] for entry in sbom["dependencies"]}), len(sbom["dependencies"]))
        for entry in sbom["dependencies"]:
            self.assertLessEqual({entry["ref"], *entry["dependsOn"]}, set(references))
            self.assertEqual(len(entry["dependsOn"]), len(set(entry["dependsOn"])))

    def test_the_binary_of_every_target_is_for_its_machine_and_an_old_c_library(self):
        wanted = [int(part) for part in SETTINGS.toml["build"]["glibc"].split(".")]
        for target in SETTINGS.targets:
            with self.subTest(target.triple), directory() as place:
                name = SETTINGS.archive_name(target)
                with tarfile.open(OUT / f"{name}.tar.gz") as packed:
                    packed.extract(f"{name}/toolcrib", place, filter="data")
                toolcrib = place / name / "toolcrib"
                header = succeeds("readelf", "-h", toolcrib).stdout
                self.assertRegex(header, rf"Machine: +{MACHINES[target.machine]}\n")
                glibc = binary.oldest_glibc(toolcrib)
                say(f"{target.triple}: {toolcrib.stat().st_size / 1e6:.2f} MB, glibc {glibc}")
                self.assertLessEqual([int(part) for part in glibc.split(".")], wanted)
                if binary.is_runnable(target):
                    continue
                emulator = shutil.which(f"qemu-{target.machine}")
                if not emulator:
                    self.skipTest(f"the binary for {target.machine} was not run: qemu-{target.machine} is not installed")
                # Its C library and loader, from the base of the image.
                with tarfile.open(image.base_file(target)) as base:
                    libraries = [entry for entry in base if entry.name.startswith(("./lib", "./usr/lib")) and ".so" in entry.name or entry.name in ("./lib", "./lib64")]
                    base.extractall(place / "root", libraries, filter="tar")
                told = succeeds(emulator, "-L", place / "root", toolcrib, "--version", "--json")
                self.assertEqual(json.loads(told.stdout)["target"], target.triple)

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

    def test_packing_again_gives_the_same_bytes(self):
        if os.environ.get("RELEASE_PREBUILT"):
            self.skipTest("the packages that are there stay as they are")
        before = (OUT / "SHA256SUMS").read_text()
        targets = " ".join(target.triple for target in SETTINGS.targets)
        env = {**os.environ, "RELEASE_TARGETS": targets}
        if os.environ.get("RELEASE_TWICE"):
            say("compiles everything again, too")
            for cache in binary.CACHES:
                shutil.rmtree(cache, ignore_errors=True)
        succeeds(ROOT / "release.sh", "build", env=env, timeout=3600)
        self.assertEqual((OUT / "SHA256SUMS").read_text(), before)

    def test_the_manual_pages_have_no_errors(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        done = ran("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", self.root / "man/toolcrib.1", errors="replace")
        self.assertEqual(done.stderr, "")

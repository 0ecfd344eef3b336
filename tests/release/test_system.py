"""Packages of systems: Debian, RPM, service units, the container image."""

import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import time
import unittest
import urllib.request

from common import (
    CHROOT,
    HERE,
    OUT,
    ROOT,
    SETTINGS,
    VERSION,
    WORK,
    clean_root,
    directory,
    in_root,
    listing,
    mounted,
    needs_root,
    ran,
    say,
    speaks_mcp,
    succeeds,
)

import deb  # noqa: E402
import rpm  # noqa: E402

TOOLCRIB = WORK / "unpacked" / SETTINGS.archive_name(HERE) / "toolcrib"


def binary(place):
    """The binary as it was packed."""
    with tarfile.open(OUT / f"{SETTINGS.archive_name(HERE)}.tar.gz") as packed:
        packed.extractall(place, filter="data")
    return place / SETTINGS.archive_name(HERE) / "toolcrib"


INSTALLED = [
    "usr/bin/toolcrib",
    "usr/lib/systemd/system/toolcrib.service",
    "usr/lib/systemd/system/toolcrib.socket",
    "usr/lib/systemd/user/toolcrib.service",
    "usr/share/man/man1/toolcrib.1.gz",
    "usr/share/bash-completion/completions/toolcrib",
    "usr/share/doc/toolcrib/THIRD-PARTY.txt",
]


@needs_root
class Packages(unittest.TestCase):
    def test_the_debian_package_installs_runs_and_leaves_nothing(self):
        with clean_root() as root:
            # Made by the package manager itself.
            own = {"var/lib/dpkg", "var/log", "var/cache", "var/lib/systemd", "var/lib/private"}
            before = listing(root)
            shutil.copy(OUT / deb.name(SETTINGS, HERE), root / "tmp/toolcrib.deb")
            # The packages of the root were unpacked, not installed: dpkg does not know them.
            done = in_root(root, "dpkg", "--force-depends", "-i", "/tmp/toolcrib.deb", user="root")
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in INSTALLED:
                self.assertTrue((root / path).is_file(), path)
            self.assertEqual(in_root(root, "toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")
            self.assertTrue((root / "usr/share/zsh/vendor-completions/_toolcrib").is_file())
            (root / "tmp/toolcrib.deb").unlink()
            done = in_root(root, "dpkg", "--purge", "toolcrib", user="root")
            self.assertEqual(done.returncode, 0, done.stderr)
            left = {path for path in listing(root) - before if not any(path.startswith(place) for place in own)}
            self.assertEqual(left, set())

    def test_the_rpm_package_installs_runs_and_leaves_nothing(self):
        if not shutil.which("rpm"):
            self.skipTest("rpm is not installed")
        with clean_root() as root:
            before = listing(root)
            words = ["rpm", "--root", root, "--dbpath", "/var/lib/rpm"]
            succeeds(*words, "--nodeps", "-i", OUT / rpm.name(SETTINGS, HERE))
            for path in INSTALLED:
                self.assertTrue((root / path).is_file(), path)
            self.assertEqual(in_root(root, "toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")
            told = succeeds(*words, "-qi", "toolcrib").stdout
            self.assertIn("MIT OR Apache-2.0", told)
            succeeds(*words, "-e", "toolcrib")
            # Directories that packages share belong to the system's own packages, which this root does not have.
            left = [path for path in listing(root) - before if not path.startswith("var/lib") and not (root / path).is_dir()]
            self.assertEqual(left, [])
            self.assertFalse((root / "usr/share/doc/toolcrib").exists())

    def test_the_metadata_of_the_packages_is_whole(self):
        for target in SETTINGS.targets:
            told = succeeds("dpkg-deb", "--field", OUT / deb.name(SETTINGS, target)).stdout
            self.assertIn(f"Architecture: {target.deb}", told)
            self.assertIn("Depends: libc6 (>= 2.17)", told)
            self.assertEqual("Unpublishable" in told, not SETTINGS.publishable)
            owners = succeeds("dpkg-deb", "--contents", OUT / deb.name(SETTINGS, target)).stdout
            self.assertEqual({line.split()[1] for line in owners.splitlines()}, {"root/root"})


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
class Units(unittest.TestCase):
    def units(self, place, kind):
        """Copies that start the binary that was built."""
        made = []
        for name in ["toolcrib.service", "toolcrib.socket"]:
            text = (ROOT / "packaging/systemd" / kind / name).read_text()
            (place / name).write_text(text.replace("/usr/bin/toolcrib", str(binary(place))))
            made.append(place / name)
        return made

    def test_systemd_finds_nothing_wrong_with_the_units(self):
        for kind in ["system", "user"]:
            with self.subTest(kind), directory() as place:
                env = {**os.environ, "XDG_RUNTIME_DIR": str(place)}
                done = ran("systemd-analyze", "verify", f"--{kind}", "--man=no", *self.units(place, kind), env=env)
                mine = [line for line in done.stderr.splitlines() if "toolcrib" in line]
                self.assertEqual((done.returncode, mine), (0, []), done.stderr)

    def test_the_system_unit_is_hardened_as_far_as_the_sandbox_allows(self):
        with directory() as place:
            service, _ = self.units(place, "system")
            done = ran("systemd-analyze", "security", "--offline=true", "--no-pager", service)
            overall = re.search(r"Overall exposure level for toolcrib.service: ([\d.]+)", done.stdout)
            say(f"systemd-analyze security: {overall[1]} of 10")
            self.assertLessEqual(float(overall[1]), 4.2)
        text = (ROOT / "packaging/systemd/system/toolcrib.service").read_text()
        set_keys = {line.split("=")[0] for line in text.splitlines() if not line.startswith("#")}
        self.assertIn("Delegate", set_keys)
        forbidden = {"RestrictNamespaces", "ProtectKernelTunables", "ProtectProc", "ProtectControlGroups", "ProtectKernelLogs", "ProtectHostname", "PrivateDevices"}
        self.assertFalse(set_keys & forbidden)

    @unittest.skipUnless(shutil.which("systemd-socket-activate"), "systemd-socket-activate is not installed")
    def test_a_connection_starts_the_server_that_answers_it(self):
        with directory() as place:
            toolcrib = binary(place)
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            words = ["systemd-socket-activate", f"--listen=127.0.0.1:{port}", "--setenv=HOME", toolcrib, "serve"]
            env = {"HOME": str(place), "PATH": os.environ["PATH"]}
            activated = subprocess.Popen([str(word) for word in words], env=env, stderr=subprocess.PIPE, text=True)
            try:
                end = time.monotonic() + 20
                while True:
                    try:
                        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=20).read()
                        break
                    except OSError:
                        self.assertLess(time.monotonic(), end)
                self.assertEqual(json.loads(answer)["status"], "ok")
            finally:
                activated.terminate()
                said = activated.communicate(timeout=20)[1]
            self.assertIn(f"listening on http://127.0.0.1:{port}", said)


@needs_root
class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("umoci"):
            raise unittest.SkipTest("umoci is not installed")
        cls.place = WORK / "image"
        shutil.rmtree(cls.place, ignore_errors=True)
        (cls.place / "layout").mkdir(parents=True)
        succeeds("tar", "-xf", OUT / f"toolcrib-{VERSION}-oci.tar", "-C", cls.place / "layout")
        succeeds("umoci", "unpack", "--image", f"{cls.place / 'layout'}:{VERSION}-{HERE.oci}", cls.place / "bundle", timeout=300)
        cls.root = cls.place / "bundle/rootfs"

    def test_every_blob_has_the_digest_it_is_named_by_and_every_architecture_is_there(self):
        import hashlib

        index = json.loads((self.place / "layout/index.json").read_text())
        self.assertEqual({entry["platform"]["architecture"] for entry in index["manifests"]}, {target.oci for target in SETTINGS.targets})
        for blob in (self.place / "layout/blobs/sha256").iterdir():
            self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
        for entry in index["manifests"]:
            manifest = json.loads((self.place / "layout/blobs/sha256" / entry["digest"][7:]).read_text())
            config = json.loads((self.place / "layout/blobs/sha256" / manifest["config"]["digest"][7:]).read_text())
            self.assertEqual(config["config"]["Labels"]["io.modelcontextprotocol.server.name"], SETTINGS.mcp_name)

    def test_it_runs_from_its_root_and_says_which_level_of_the_sandbox_is_left(self):
        config = json.loads((self.place / "bundle/config.json").read_text())
        self.assertEqual((config["process"]["args"], config["process"]["cwd"]), (["/usr/bin/toolcrib", "mcp"], "/work"))
        user = config["process"]["user"]
        self.assertEqual((user["uid"], user["gid"]), (1000, 1000))
        env = dict(entry.split("=", 1) for entry in config["process"]["env"])
        with mounted(self.root):
            version = in_root(self.root, "toolcrib", "--version", user="toolcrib", env=env)
            self.assertEqual(version.stdout, f"toolcrib {VERSION}\n", version.stderr)
            doctor = in_root(self.root, "toolcrib", "doctor", "--plain", user="toolcrib", env=env)
            lines = [line for line in (doctor.stdout + doctor.stderr).splitlines() if "isolation" in line]
            self.assertTrue(lines, doctor.stdout + doctor.stderr)
            for line in lines:
                say(f"doctor in the image: {line}")
            done = in_root(self.root, "toolcrib", "run", "shell", "command=git --version && id -u", user="toolcrib", env=env)
            say(f"a command in the image: {done.stdout.split() or done.stderr.strip()}")
            (self.root / "work").chmod(0o777)
            words = [CHROOT, "--userspec=1000:1000", str(self.root), *config["process"]["args"]]
            speaks_mcp(words, env, self.root / "work")


class Elsewhere(unittest.TestCase):
    def test_the_formula_and_the_flake_name_the_archives_that_were_built(self):
        sums = dict(reversed(line.split("  ")) for line in (OUT / "SHA256SUMS").read_text().splitlines())
        for target in SETTINGS.targets:
            digest = sums[f"{SETTINGS.archive_name(target)}.tar.gz"]
            for name in ["toolcrib.rb", "flake.nix"]:
                self.assertIn(digest, (OUT / name).read_text(), name)
        if shutil.which("ruby"):
            succeeds("ruby", "-c", OUT / "toolcrib.rb")

    def test_cargo_binstall_finds_the_archive_where_it_is(self):
        import tomllib

        with open(ROOT / "crates/toolcrib-cli/Cargo.toml", "rb") as file:
            told = tomllib.load(file)["package"]["metadata"]["binstall"]
        filled = {"{ version }": VERSION, "{ target }": HERE.triple, "{ bin }": "toolcrib", "{ binary-ext }": "", "{ repo }": "R"}

        def fill(text):
            for hole, value in filled.items():
                text = text.replace(hole, value)
            return text

        self.assertEqual(fill(told["pkg-url"]).rsplit("/", 1)[1], f"{SETTINGS.archive_name(HERE)}.tar.gz")
        with tarfile.open(OUT / f"{SETTINGS.archive_name(HERE)}.tar.gz") as packed:
            self.assertIn(fill(told["bin-dir"]), packed.getnames())

"""Packages of systems: Debian, RPM, service units, the container image."""

import ctypes
import errno
import json
import os
import re
import shutil
import socket
import struct
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
    needs_root,
    ran,
    say,
    speaks_mcp,
    succeeds,
)

import deb  # noqa: E402
import image  # noqa: E402
import rpm  # noqa: E402


def binary(place):
    """The binary as it was packed."""
    with tarfile.open(OUT / f"{SETTINGS.archive_name(HERE)}.tar.gz") as packed:
        packed.extractall(place, filter="data")
    return place / SETTINGS.archive_name(HERE) / "toolcrib"


NOBODY = 65534
# What the sandbox makes namespaces, mounts and walls of, and what it starts and ends programs with.
NEEDED = {
    "clone", "clone3", "unshare", "setns", "mount", "umount2", "pivot_root", "open_tree", "move_mount", "mount_setattr", "fsopen", "fsconfig", "fsmount",
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "prctl", "capset", "setresuid", "setresgid", "setgroups",
    "prlimit64", "pidfd_open", "pidfd_send_signal", "close_range", "execve", "execveat", "sethostname", "wait4", "waitid", "openat", "ioctl", "memfd_create",
}  # fmt: skip


def settings_of(kind):
    """The settings of a service unit, each with its values."""
    found = {}
    for line in (ROOT / "packaging/systemd" / kind / "toolcrib.service").read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            found.setdefault(key, []).append(value)
    return found


def denied_calls():
    """The system calls that the system unit denies, as this systemd lists its sets."""
    (said,) = settings_of("system")["SystemCallFilter"]
    assert said.startswith("~"), said
    found, wanted = set(), said[1:].split()
    while wanted:
        name = wanted.pop()
        if not name.startswith("@"):
            found.add(name)
            continue
        listed = succeeds("systemd-analyze", "syscall-filter", "--no-pager", name).stdout.splitlines()[1:]
        wanted += [line.strip() for line in listed if line.strip() and not line.strip().startswith("#")]
    return found


def filter_of_the_unit():
    """Puts the filters of the system unit around the calling process, as systemd would: those calls fail, and `openat2` is not known."""
    told = succeeds("cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null").stdout
    numbers = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", told)}
    fails = [(numbers[name], errno.EPERM) for name in sorted(denied_calls()) if name in numbers]
    fails.append((numbers["openat2"], errno.ENOSYS))
    # Loads the number; compares it; answers; allows the rest.
    steps = [(0x20, 0, 0, 0)]
    for number, code in fails:
        steps += [(0x15, 0, 1, number), (0x06, 0, 0, 0x00050000 | code)]
    steps.append((0x06, 0, 0, 0x7FFF0000))
    packed = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(packed))
    libc = ctypes.CDLL(None, use_errno=True)

    def install(_keep=packed):
        new_privileges, seccomp, by_filter = 38, 22, 2
        if libc.prctl(new_privileges, 1, 0, 0, 0) or libc.prctl(seccomp, by_filter, program, 0, 0):
            raise OSError(ctypes.get_errno(), "the filter cannot be set")

    return install


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
                # Known from systemd 254 on.
                unknown = re.compile(r"\S+: Unknown key( name)? 'DelegateSubgroup' in section '?\[?Service\]?'?, ignoring\.")
                mine = [line for line in done.stderr.splitlines() if "toolcrib" in line and not unknown.fullmatch(line)]
                self.assertEqual((done.returncode, mine), (0, []), done.stderr)

    def test_the_system_unit_is_hardened_as_far_as_the_sandbox_allows(self):
        with directory() as place:
            service, _ = self.units(place, "system")
            done = ran("systemd-analyze", "security", "--offline=true", "--no-pager", service)
            overall = re.search(r"Overall exposure level for toolcrib.service: ([\d.]+)", done.stdout)
            say(f"systemd-analyze security: {overall[1]} of 10")
            self.assertLessEqual(float(overall[1]), 4.2)
        forbidden = {"RestrictNamespaces", "ProtectKernelTunables", "ProtectProc", "ProtectControlGroups", "ProtectKernelLogs", "ProtectHostname", "PrivateDevices"}
        for kind in ["system", "user"]:
            keys = settings_of(kind)
            self.assertEqual((keys["Delegate"], keys["DelegateSubgroup"]), (["yes"], ["main"]), kind)
            self.assertFalse(set(keys) & forbidden, kind)
        # Without it, programs have `openat2`; DynamicUser takes it from those of the system unit.
        self.assertNotIn("RestrictSUIDSGID", settings_of("user"))

    def test_the_calls_that_the_system_unit_denies_are_none_that_the_sandbox_needs(self):
        denied = denied_calls()
        self.assertIn("swapon", denied)
        self.assertFalse(denied & NEEDED, "the sandbox could not do this")

    @needs_root
    def test_every_level_of_the_sandbox_works_under_the_filters_of_the_system_unit(self):
        with directory() as place:
            toolcrib = binary(place)
            for made in [place / "home", place / "ws"]:
                made.mkdir()
                os.chown(made, NOBODY, NOBODY)
            place.chmod(0o755)
            env = {"HOME": str(place / "home"), "PATH": os.environ["PATH"]}
            levels = {}
            for filtered in [False, True]:
                options = {
                    "env": env, "cwd": place / "ws", "user": NOBODY, "group": NOBODY, "extra_groups": [],
                    "preexec_fn": filter_of_the_unit() if filtered else None,
                }  # fmt: skip
                found = ran(toolcrib, "doctor", "--plain", **options).stdout.splitlines()
                levels[filtered] = [line for line in found if "\tisolation " in line]
                paths = next(line for line in found if "\tpaths\t" in line)
                self.assertEqual("openat2 is not available" in paths, filtered, paths)
                for level in ["process", "container"]:
                    if any(line.startswith("ok") and f"`{level}`" in line for line in levels[False]):
                        succeeds(toolcrib, "sandbox", "--isolation", level, "--", "sh", "-c", "echo x > f && rm f", **options)
                (place / "ws/f.txt").write_text("kept\n")
                self.assertIn("kept", succeeds(toolcrib, "run", "read_file", "path=f.txt", **options).stdout)
            say(f"under the filters of the system unit: {levels[True]}")
            self.assertEqual(levels[True], levels[False])
            self.assertEqual(len(levels[True]), 2)

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
        for program in ["umoci", "bwrap"]:
            if not shutil.which(program):
                raise unittest.SkipTest(f"{program} is not installed")
        cls.place = WORK / "image"
        shutil.rmtree(cls.place, ignore_errors=True)
        (cls.place / "layout").mkdir(parents=True)
        succeeds("tar", "-xf", OUT / f"toolcrib-{VERSION}-oci.tar", "-C", cls.place / "layout")
        succeeds("umoci", "unpack", "--image", f"{cls.place / 'layout'}:{VERSION}-{HERE.oci}", cls.place / "bundle", timeout=300)
        cls.root = cls.place / "bundle/rootfs"

    def test_every_blob_has_the_digest_it_is_named_by_and_every_architecture_is_there(self):
        import hashlib

        index = json.loads((self.place / "layout/index.json").read_text())
        every, *single = index["manifests"]
        self.assertEqual(every["annotations"]["org.opencontainers.image.ref.name"], VERSION)
        nested = json.loads((self.place / "layout/blobs/sha256" / every["digest"][7:]).read_text())
        self.assertEqual([entry["digest"] for entry in nested["manifests"]], [entry["digest"] for entry in single])
        self.assertEqual({entry["platform"]["architecture"] for entry in nested["manifests"]}, {target.oci for target in SETTINGS.targets})
        for blob in (self.place / "layout/blobs/sha256").iterdir():
            self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
        for entry in single:
            manifest = json.loads((self.place / "layout/blobs/sha256" / entry["digest"][7:]).read_text())
            config = json.loads((self.place / "layout/blobs/sha256" / manifest["config"]["digest"][7:]).read_text())
            self.assertEqual(config["config"]["Labels"]["io.modelcontextprotocol.server.name"], SETTINGS.mcp_name)

    def test_skopeo_copies_every_architecture_by_the_version_alone(self):
        if not shutil.which("skopeo"):
            self.skipTest("skopeo is not installed")
        with directory() as place:
            archive = f"oci-archive:{OUT / f'toolcrib-{VERSION}-oci.tar'}:{VERSION}"
            succeeds("skopeo", "--tmpdir", place, "copy", "--all", archive, f"oci:{place / 'copied'}:x", timeout=300)
            index = json.loads((place / "copied/index.json").read_text())
            self.assertEqual(index["manifests"][0]["mediaType"], "application/vnd.oci.image.index.v1+json")
            copied = {blob.name for blob in (place / "copied/blobs/sha256").iterdir()}
            self.assertEqual(copied, {blob.name for blob in (self.place / "layout/blobs/sha256").iterdir()})

    def test_it_has_the_licences_of_every_package_in_it(self):
        with tarfile.open(image.base_file(HERE)) as base:
            names = [name.removeprefix("./") for name in base.getnames()]
        shipped = [name for name in names if re.fullmatch("usr/share/doc/[^/]+/copyright", name)]
        self.assertGreater(len(shipped), len(image.PACKAGES))
        named = [f"usr/share/doc/{name}/copyright" for name in image.PACKAGES]
        self.assertEqual([path for path in [*shipped, *named] if not (self.root / path).exists()], [])
        self.assertTrue((self.root / "usr/share/doc/toolcrib/THIRD-PARTY.txt").is_file())

    def test_it_runs_from_its_root_and_says_which_level_of_the_sandbox_is_left(self):
        config = json.loads((self.place / "bundle/config.json").read_text())
        self.assertEqual((config["process"]["args"], config["process"]["cwd"]), (["/usr/bin/toolcrib", "mcp"], "/work"))
        user = config["process"]["user"]
        self.assertEqual((user["uid"], user["gid"]), (1000, 1000))
        env = dict(entry.split("=", 1) for entry in config["process"]["env"])
        # Its root is the root, as an engine makes it: in a chroot the kernel allows no user namespaces. And nothing is mounted over /proc.
        inside = ["bwrap", "--bind", self.root, "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc", "--chdir", "/work", "--cap-add", "ALL"]
        inside += [CHROOT, f"--userspec={user['uid']}:{user['gid']}", "--skip-chdir", "/"]

        def runs(*words):
            return ran(*inside, "/usr/bin/env", "-i", *[f"{name}={value}" for name, value in env.items()], *words)

        version = runs("toolcrib", "--version")
        self.assertEqual(version.stdout, f"toolcrib {VERSION}\n", version.stderr)
        doctor = runs("toolcrib", "doctor", "--plain")
        self.assertEqual(doctor.returncode, 0, doctor.stdout + doctor.stderr)
        for level in ["process", "container"]:
            (line,) = [line for line in doctor.stdout.splitlines() if line.split("\t")[1] == level]
            say(f"doctor in the image: {line}")
            self.assertRegex(line, rf"^(ok|warning)\t{level}\tisolation `{level}`, ")
        done = runs("toolcrib", "run", "shell", "command=git --version && id -u")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1:]), (0, ["1000"]), done.stderr)
        self.assertRegex(done.stdout, "^git version ")
        (self.root / "work").chmod(0o777)
        speaks_mcp([*inside, *config["process"]["args"]], env, self.root / "work")


class Elsewhere(unittest.TestCase):
    def test_the_formula_and_the_flake_name_the_archives_that_were_built(self):
        sums = dict(reversed(line.split("  ")) for line in (OUT / "SHA256SUMS").read_text().splitlines())
        for target in SETTINGS.targets:
            digest = sums[f"{SETTINGS.archive_name(target)}.tar.gz"]
            for name in ["toolcrib.rb", "flake.nix"]:
                self.assertIn(digest, (OUT / name).read_text(), name)
        if shutil.which("ruby"):
            succeeds("ruby", "-c", OUT / "toolcrib.rb")

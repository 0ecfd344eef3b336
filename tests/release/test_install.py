"""install.sh, from a server on loopback into a clean root."""

import os
import shutil
import tarfile
import time
import unittest

from common import ARCHIVE, OUT, VERSION, clean_root, directory, in_root, needs_root, ran, released, say, serving


def install(root, url, *words, **options):
    """The one line, as it is pasted."""
    words = " ".join(["--from", url, *words])
    return in_root(root, "bash", "-c", f"set -o pipefail; curl -fsSL {url}/install.sh | sh -s -- {words}", cwd="/", **options)


@needs_root
class Install(unittest.TestCase):
    def test_one_line_installs_it_and_says_what_to_do_next(self):
        with serving(released) as (url, _), clean_root() as root:
            started = time.monotonic()
            done = install(root, url)
            version = in_root(root, "/home/user/.local/bin/toolcrib", "--version")
            took = time.monotonic() - started
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(version.stdout, f"toolcrib {VERSION}\n")
            say(f"from one line to --version: {took:.2f} s")
            self.assertLessEqual(took, 5)
            for part in ["verified by sha256 and signature", "put it on your path", "toolcrib doctor", "toolcrib connect"]:
                self.assertIn(part, done.stderr)
            # Again: an upgrade, over a program that runs.
            self.assertEqual(install(root, url, "--version", VERSION).returncode, 0)
            gone = in_root(root, "sh", "-c", "curl -fsSL $0/install.sh | sh -s -- --uninstall", url)
            self.assertEqual(gone.returncode, 0, gone.stderr)
            self.assertEqual(os.listdir(root / "home/user/.local/bin"), [])
            self.assertEqual(os.listdir(root / "tmp"), [])

    def test_without_minisign_the_digest_is_verified_and_the_rest_is_said(self):
        with serving(released) as (url, _), clean_root() as root:
            (root / "usr/bin/minisign").unlink()
            done = install(root, url)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("verified by sha256 only: minisign is not installed", done.stderr)
            refused = install(root, url, "--to", "/home/user/other", "--require-signature")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--require-signature is set; nothing was installed", refused.stderr)
            self.assertFalse((root / "home/user/other").exists())

    def test_what_was_changed_on_the_way_is_not_installed(self):
        def spoilt(end, change):
            def answer(path):
                found = released(path)
                if found and path.endswith(end):
                    return found[0], change(found[1])
                return found

            return answer

        other = b"untrusted comment: x\n" + b"RWQ" + b"A" * 97 + b"\n"
        for end, change, said in [
            (".tar.gz", lambda content: content[:-1] + b"!", "is not what was published"),
            (".sha256", lambda content: b"0" + content[1:], "is not what was published"),
            (".sha256", lambda content: b"", "is not what was published"),
            (".minisig", lambda content: other, "the signature of"),
        ]:
            with self.subTest(end), serving(spoilt(end, change)) as (url, _), clean_root() as root:
                refused = install(root, url)
                self.assertEqual(refused.returncode, 1, refused.stderr)
                self.assertIn(said, refused.stderr)
                self.assertIn("nothing was installed", refused.stderr)
                self.assertFalse((root / "home/user/.local").exists())

    def test_a_missing_signature_is_said_and_refused_if_it_is_required(self):
        def unsigned(path):
            return None if path.endswith(".minisig") else released(path)

        with serving(unsigned) as (url, _), clean_root() as root:
            refused = install(root, url, "--require-signature")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("there is no signature", refused.stderr)
            done = install(root, url)
            self.assertIn("verified by sha256 only: there is no signature", done.stderr)
            self.assertEqual(done.returncode, 0)

    def test_systems_without_a_build_are_refused_and_nothing_is_fetched(self):
        for system, machine, said in [
            ("Darwin", "arm64", "there is no build for Darwin yet"),
            ("Linux", "riscv64", "there is no build for riscv64"),
        ]:
            with self.subTest(machine), serving(released) as (url, asked), clean_root() as root:
                fake = root / "usr/local/bin/uname"
                fake.parent.mkdir(parents=True, exist_ok=True)
                fake.write_text(f'#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n')
                fake.chmod(0o755)
                refused = install(root, url)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(said, refused.stderr)
                self.assertEqual(asked, ["/install.sh"])

    def test_it_installs_from_files_without_a_network(self):
        with clean_root() as root:
            for name in [ARCHIVE, f"{ARCHIVE}.sha256", f"{ARCHIVE}.minisig", "install.sh"]:
                shutil.copy(OUT / name, root / "home/user" / name)
            done = in_root(root, "sh", "/home/user/install.sh", "--file", f"/home/user/{ARCHIVE}", "--to", "/home/user/bin")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("verified by sha256 and signature", done.stderr)
            self.assertEqual(in_root(root, "/home/user/bin/toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")

    def test_a_copy_that_names_no_server_says_so(self):
        with clean_root() as root:
            shutil.copy(OUT / "install.sh", root / "tmp/install.sh")
            refused = in_root(root, "sh", "/tmp/install.sh", "--version", VERSION)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--from URL or --file ARCHIVE", refused.stderr)

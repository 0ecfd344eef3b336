"""install.sh, from a server on loopback into a clean root."""

import os
import re
import shutil
import time
import unittest

from common import ARCHIVE, IS_PUBLISHABLE, OUT, RELEASES, ROOT, VERSION, clean_root, directory, in_root, needs_root, publishing, released, say, serving

SHELLS = ["bash", "dash"]


def install(root, url, *words, shell="sh", **options):
    """The one line, with another server."""
    base = f"{url}{RELEASES}"
    words = " ".join(["--from", base, *words])
    line = f"set -o pipefail; curl -fsSL {base}/latest/download/install.sh | {shell} -s -- {words}"
    return in_root(root, "bash", "-c", line, cwd="/", **options)


def without(root, *names):
    """A root where these programs are not installed."""
    for name in names:
        for place in ["usr/bin", "bin", "usr/local/bin"]:
            (root / place / name).unlink(missing_ok=True)


def script(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)
    (root / path).chmod(0o755)


@needs_root
class Install(unittest.TestCase):
    def test_the_line_of_the_readme_installs_it_and_says_what_to_do_next(self):
        line = re.search(r"`(curl [^`]*)`", (ROOT / "README.md").read_text())[1].replace("\\|", "|")
        with publishing() as base, clean_root() as root:
            started = time.monotonic()
            done = in_root(root, "bash", "-c", f"set -o pipefail; {line.replace('BASE-URL', base)}", cwd="/")
            version = in_root(root, "/home/user/.local/bin/toolcrib", "--version")
            took = time.monotonic() - started
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(version.stdout, f"toolcrib {VERSION}\n")
            say(f"from one line to --version: {took:.2f} s")
            self.assertLessEqual(took, 5)
            for part in ["verified by sha256 and signature", "put it on your path", "toolcrib doctor", "toolcrib connect"]:
                self.assertIn(part, done.stderr)
            # Again: an upgrade, over what is there.
            piped = f"curl -fsSL {base}/latest/download/install.sh | sh -s --"
            self.assertEqual(in_root(root, "sh", "-c", f"{piped} --version {VERSION}").returncode, 0)
            gone = in_root(root, "sh", "-c", f"{piped} --uninstall")
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

    def test_an_archive_without_its_signature_is_refused_where_it_could_be_verified(self):
        def unsigned(path):
            return None if path.endswith(".minisig") else released(path)

        def empty(path):
            found = released(path)
            return (found[0], b"") if found and path.endswith(".minisig") else found

        for answer in [unsigned, empty]:
            with self.subTest(answer.__name__), serving(answer) as (url, _), clean_root() as root:
                for words in [[], ["--require-signature"]]:
                    refused = install(root, url, *words)
                    self.assertEqual(refused.returncode, 1, refused.stderr)
                    self.assertIn(f"has no {ARCHIVE}.minisig, and every release is signed; nothing was installed", refused.stderr)
                    self.assertFalse((root / "home/user/.local").exists())

    def test_a_copy_without_a_public_key_says_that_it_verified_the_digest_only(self):
        def keyless(path):
            found = released(path)
            if found and not isinstance(found, str) and path.endswith("/install.sh"):
                return found[0], re.sub(rb"(?m)^public_key=.*$", b"public_key=''", found[1])
            return found

        with serving(keyless) as (url, _), clean_root() as root:
            done = install(root, url)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("verified by sha256 only: this copy of the installer has no public key", done.stderr)
            refused = install(root, url, "--to", "/home/user/other", "--require-signature")
            self.assertEqual(refused.returncode, 1)
            self.assertFalse((root / "home/user/other").exists())

    def test_systems_without_a_build_are_refused_and_nothing_is_fetched(self):
        for system, machine, said in [
            ("Darwin", "arm64", "there is no build for Darwin yet"),
            ("Linux", "riscv64", "there is no build for riscv64"),
        ]:
            with self.subTest(machine), serving(released) as (url, asked), clean_root() as root:
                script(root, "usr/local/bin/uname", f'#!/bin/sh\ncase $1 in -s) echo {system} ;; -m) echo {machine} ;; esac\n')
                refused = install(root, url)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(said, refused.stderr)
                self.assert_only_the_script_was_asked_for(asked)

    def assert_only_the_script_was_asked_for(self, asked):
        self.assertEqual({path.rsplit("/", 1)[1] for path in asked}, {"install.sh"})

    def test_a_system_with_another_c_library_is_refused(self):
        # Nothing but busybox, without any C library, as Alpine is without this one.
        with serving(released) as (url, asked), clean_root() as full, directory() as root:
            (root / "bin").mkdir()
            shutil.copy(full / "bin/busybox", root / "bin/busybox")
            for name in ["sh", "uname"]:
                (root / "bin" / name).symlink_to("busybox")
            script(root, "tmp/install.sh", (OUT / "install.sh").read_text())
            root.chmod(0o755)
            refused = in_root(root, "sh", "/tmp/install.sh", "--from", f"{url}{RELEASES}")
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("the builds need glibc, and this system has another C library", refused.stderr)
            self.assertEqual(asked, [])

    def test_any_shell_of_posix_runs_it(self):
        with serving(released) as (url, _), clean_root() as root:
            for shell in SHELLS:
                with self.subTest(shell):
                    done = install(root, url, "--to", f"/home/user/{shell}", shell=shell)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertTrue((root / f"home/user/{shell}/toolcrib").is_file())

    def test_a_script_that_was_cut_off_does_nothing(self):
        text = (OUT / "install.sh").read_text()
        with serving(released) as (url, asked), clean_root() as root:
            before = sorted((root / "home/user").iterdir())
            for part in range(1, 8):
                script(root, "tmp/cut.sh", text[: len(text) * part // 8])
                in_root(root, "sh", "/tmp/cut.sh", "--from", f"{url}{RELEASES}")
            script(root, "tmp/cut.sh", text.removesuffix('main "$@"\n'))
            in_root(root, "sh", "/tmp/cut.sh", "--from", f"{url}{RELEASES}")
            self.assertEqual((asked, sorted((root / "home/user").iterdir())), ([], before))

    def test_wget_will_do_and_without_either_it_says_what_is_missing(self):
        with serving(released) as (url, asked), clean_root() as root:
            script(root, "tmp/install.sh", (OUT / "install.sh").read_text())
            words = ["sh", "/tmp/install.sh", "--from", f"{url}{RELEASES}"]
            without(root, "curl")
            self.assertTrue((root / "usr/bin/wget").is_file())
            done = in_root(root, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(in_root(root, "/home/user/.local/bin/toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")
            del asked[:]
            without(root, "wget")
            refused = in_root(root, *words, "--to", "/home/user/other")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("curl or wget is needed", refused.stderr)
            self.assertEqual((asked, (root / "home/user/other").exists()), ([], False))

    def test_without_home_it_asks_where_to_install(self):
        with serving(released) as (url, _), clean_root() as root:
            script(root, "tmp/install.sh", (OUT / "install.sh").read_text())
            words = ["env", "-u", "HOME", "sh", "/tmp/install.sh", "--from", f"{url}{RELEASES}"]
            refused = in_root(root, *words)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("HOME is not set; say where to install with --to DIR", refused.stderr)
            done = in_root(root, *words, "--to", "/home/user/bin")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue((root / "home/user/bin/toolcrib").is_file())

    def test_it_installs_from_files_without_a_network(self):
        with clean_root() as root:
            for name in [ARCHIVE, f"{ARCHIVE}.sha256", f"{ARCHIVE}.minisig", "install.sh"]:
                shutil.copy(OUT / name, root / "home/user" / name)
            done = in_root(root, "sh", "/home/user/install.sh", "--file", f"/home/user/{ARCHIVE}", "--to", "/home/user/bin")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("verified by sha256 and signature", done.stderr)
            self.assertEqual(in_root(root, "/home/user/bin/toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")

    def test_a_file_without_its_signature_is_installed_and_that_is_said_unless_it_is_required(self):
        with clean_root() as root:
            for name in [ARCHIVE, f"{ARCHIVE}.sha256", "install.sh"]:
                shutil.copy(OUT / name, root / "home/user" / name)
            words = ["sh", "/home/user/install.sh", "--file", f"/home/user/{ARCHIVE}", "--to", "/home/user/bin"]
            refused = in_root(root, *words, "--require-signature")
            self.assertEqual(refused.returncode, 1)
            self.assertIn(f"there is no {ARCHIVE}.minisig beside it, and --require-signature is set; nothing was installed", refused.stderr)
            self.assertFalse((root / "home/user/bin").exists())
            done = in_root(root, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"verified by sha256 only: there is no {ARCHIVE}.minisig beside it", done.stderr)

    @unittest.skipIf(IS_PUBLISHABLE, "release.toml names a server")
    def test_a_copy_that_names_no_server_says_so(self):
        with clean_root() as root:
            shutil.copy(OUT / "install.sh", root / "tmp/install.sh")
            refused = in_root(root, "sh", "/tmp/install.sh", "--version", VERSION)
            self.assertEqual(refused.returncode, 1)
            self.assertIn("--from BASE-URL or --file ARCHIVE", refused.stderr)

"""The scripts and texts around the packages: syntax, what is refused, and that the pages show what is tested."""

import os
import re
import tempfile
import unittest

import yaml
from common import ROOT, ran

ONE_LINERS = ["curl -fsSL BASE-URL/install.sh | sh", "uvx toolcrib mcp", "npx -y toolcrib mcp"]


class Scripts(unittest.TestCase):
    def test_every_script_is_valid(self):
        for name in ["release.sh", "tests/release/run.sh", "crates/toolcrib-cli/tests/fixtures/homes/make"]:
            self.assertEqual(ran("bash", "-n", ROOT / name).stderr, "", name)
        # Any shell of POSIX.
        for shell in ["sh", "dash"]:
            self.assertEqual(ran(shell, "-n", ROOT / "install.sh").stderr, "")

    def test_the_jobs_of_ci_are_valid_and_call_scripts_that_are_there(self):
        for file in sorted((ROOT / ".github/workflows").glob("*.yml")):
            told = yaml.safe_load(file.read_text())
            # `on` is a word for true in YAML 1.1.
            self.assertIn(True, told)
            for job in told["jobs"].values():
                self.assertIn("runs-on", job)
                for step in job["steps"]:
                    self.assertEqual(len({"uses", "run"} & set(step)), 1, step)
                    script = re.sub(r"\$\{\{.*?\}\}", "x", step.get("run", ""))
                    self.assertEqual(ran("bash", "-n", "-c", script).stderr, "", script)
                    for name in re.findall(r"\./(\w+\.sh)", script):
                        self.assertTrue(os.access(ROOT / name, os.X_OK), name)

    def test_the_one_liners_of_the_pages_are_those_that_are_tested(self):
        for page in ["README.md", "docs/install.md"]:
            text = (ROOT / page).read_text().replace("\\|", "|")
            for line in ONE_LINERS:
                self.assertIn(line, text, page)

    def test_a_version_that_is_not_that_of_the_source_is_refused(self):
        refused = ran(ROOT / "release.sh", "build", "99.0.0")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("in Cargo.toml, not 99.0.0", refused.stderr)

    def test_a_target_without_packages_is_refused(self):
        refused = ran(ROOT / "release.sh", "build", env={**os.environ, "RELEASE_TARGETS": "riscv64gc-unknown-linux-gnu"})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("there are no packages for riscv64gc-unknown-linux-gnu", refused.stderr)

    def test_a_key_without_a_public_key_is_refused(self):
        import sign
        from settings import Refused, Settings

        with tempfile.NamedTemporaryFile() as file:
            os.environ["RELEASE_SECRET_KEY"] = file.name
            try:
                settings = Settings()
                if settings.publisher["public-key"]:
                    self.skipTest("release.toml names a public key")
                self.assertRaises(Refused, sign.key, settings)
            finally:
                del os.environ["RELEASE_SECRET_KEY"]

"""The scripts and texts around the packages: syntax, what is refused, and that the pages show what is tested."""

import contextlib
import copy
import fnmatch
import glob
import io
import os
import re
import unittest
from unittest import mock

import yaml
from common import HERE, OUT, ROOT, SETTINGS, VERSION, directory, ran, succeeds

import binary  # noqa: E402
import crates  # noqa: E402
import npm  # noqa: E402
from settings import PACKAGES, TARGETS, TOOLS, WORK  # noqa: E402

# test_install.py runs the first, test_python_npm.py the others, test_source.py the last.
ONE_LINERS = [
    "curl -fsSL BASE-URL/latest/download/install.sh | sh",
    f"uvx {SETTINGS.names['pypi']} mcp",
    f"npx -y {SETTINGS.names['npm']} mcp",
]
FROM_SOURCE = "cargo install --path crates/toolcrib-cli"


def workflow(name):
    return yaml.safe_load((ROOT / ".github/workflows" / name).read_text())


def steps(job, action):
    """What the steps of a job give to an action."""
    return [step.get("with", {}) for step in job["steps"] if step.get("uses", "").startswith(f"{action}@")]


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
        # No other line is offered.
        rows = re.search(r"\| you have \| type \|\n(?:\|.*\n)+", (ROOT / "README.md").read_text().replace("\\|", "!"))[0]
        offered = [line.replace("!", "|") for line in re.findall(r"`([^`]*)`", rows)]
        self.assertEqual(offered, [*ONE_LINERS, FROM_SOURCE])

    def test_apt_knows_its_packages_before_it_installs_any(self):
        for file in [ROOT / "test.sh", ROOT / "tests/release/run.sh", *(ROOT / ".github/workflows").glob("*.yml")]:
            for line in file.read_text().splitlines():
                if "apt-get install" in line:
                    self.assertRegex(line, "apt-get update -qq && apt-get install", file)

    def test_what_is_compiled_twice_finds_nothing_of_the_first_time(self):
        given = {}
        with mock.patch.object(binary, "run", lambda *_, env, **__: given.update(env)), contextlib.redirect_stdout(io.StringIO()):
            binary.build(SETTINGS, HERE, WORK / "web")
        caches = {value for name, value in given.items() if name.endswith(("_CACHE_DIR", "CARGO_TARGET_DIR"))}
        self.assertEqual(caches, {str(place) for place in binary.CACHES})

    def test_a_version_that_is_not_that_of_the_source_is_refused(self):
        refused = ran(ROOT / "release.sh", "build", "99.0.0")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("in Cargo.toml, not 99.0.0", refused.stderr)

    def test_a_target_without_packages_is_refused(self):
        refused = ran(ROOT / "release.sh", "build", env={**os.environ, "RELEASE_TARGETS": "riscv64gc-unknown-linux-gnu"})
        self.assertEqual(refused.returncode, 1)
        self.assertIn("there are no packages for riscv64gc-unknown-linux-gnu", refused.stderr)


class Workflows(unittest.TestCase):
    """The jobs of CI, held against the directories that the scripts write."""

    def setUp(self):
        self.jobs = workflow("release.yml")["jobs"]

    def paths(self):
        """What is attested and uploaded."""
        found = [steps(self.jobs["build"], "actions/attest-build-provenance")[0]["subject-path"]]
        found.append(steps(self.jobs["build"], "actions/upload-artifact")[0]["path"])
        return [str(ROOT / path.replace("${{ env.VERSION }}", VERSION)) for path in found]

    def test_what_is_uploaded_is_the_directory_of_the_packages_and_nothing_beside_it(self):
        subjects, uploaded = self.paths()
        # Without a wildcard, so the files are at the top of the artifact.
        self.assertEqual(uploaded, str(OUT))
        self.assertEqual(subjects, f"{OUT}/*")
        for place in [TOOLS, WORK, WORK / "throw-away/toolcrib.key", PACKAGES / "0.0.0-other/file"]:
            for pattern in [subjects, f"{uploaded}/*"]:
                self.assertFalse(fnmatch.fnmatch(str(place), pattern), place)
        self.assertEqual([name for name in os.listdir(OUT) if name.endswith(".key")], [])
        script = "\n".join(step.get("run", "") for step in self.jobs["build"]["steps"])
        self.assertIn('VERSION=${GITHUB_REF_NAME#v}" >>"$GITHUB_ENV"', script)

    def test_the_guard_refuses_marked_packages_and_a_directory_without_packages(self):
        (guard,) = [step for step in self.jobs["publish"]["steps"] if step.get("name") == "refuse what is marked unpublishable"]
        (download,) = steps(self.jobs["publish"], "actions/download-artifact")
        with directory() as place:
            packages = place / download["path"]
            packages.mkdir()
            passes = lambda: ran("bash", "-e", "-c", guard["run"], cwd=place).returncode == 0  # noqa: E731
            self.assertFalse(passes())
            (packages / "one").write_text("one")
            (packages / "SHA256SUMS").write_text(succeeds("sha256sum", "one", cwd=packages).stdout)
            self.assertTrue(passes())
            (packages / "UNPUBLISHABLE").write_text("why\n")
            self.assertFalse(passes())
            (packages / "UNPUBLISHABLE").unlink()
            (packages / "one").write_text("two")
            self.assertFalse(passes())

    def test_nothing_is_uploaded_before_the_guard(self):
        order = [step.get("name") or step.get("run") for step in self.jobs["publish"]["steps"] if "uses" not in step]
        self.assertEqual(order[0], "refuse what is marked unpublishable")
        for name, job in self.jobs.items():
            if name not in ("build", "publish"):
                self.assertEqual(job["needs"], "publish", name)

    def test_the_uploads_name_files_that_are_built(self):
        with directory() as place:
            (place / "packages").symlink_to(OUT)
            matched = {}
            for name in ["pypi", "image"]:
                script = "\n".join(step.get("run", "") for step in self.jobs[name]["steps"]).replace("$version", VERSION)
                patterns = re.findall(r"packages/[^\s:;\"]+", script)
                self.assertTrue(patterns, name)
                matched[name] = [[os.path.basename(file) for file in glob.glob(str(place / pattern))] for pattern in patterns]
            count = len(SETTINGS.targets)
            self.assertEqual([len(files) for files in matched["pypi"]], [count])
            self.assertEqual(matched["image"], [[f"toolcrib-{VERSION}-oci.tar"]])

    def test_the_packages_of_npm_are_published_by_any_name_and_those_of_the_platforms_first(self):
        (script,) = [step["run"] for step in self.jobs["npm"]["steps"] if "npm publish" in step.get("run", "")]
        with directory() as place:
            for name in ["bin", "packages"]:
                (place / name).mkdir()
            (place / "bin/npm").write_text('#!/bin/sh\necho "$2" >>published\n')
            (place / "bin/npm").chmod(0o755)
            settings = copy.copy(SETTINGS)
            settings.names = {**SETTINGS.names, "npm": "@example/tools", "npm-scope": "@example-tools"}
            platforms = [npm.file_name(npm.platform(settings, target), VERSION) for target in TARGETS.values()]
            main = npm.file_name(settings.names["npm"], VERSION)
            for name in [main, *platforms, f"toolcrib-{VERSION}-oci.tar", f"{SETTINGS.archive_name(HERE)}.tar.gz"]:
                (place / "packages" / name).touch()
            env = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
            succeeds("bash", "-e", "-c", script, cwd=place, env=env)
            published = (place / "published").read_text().split()
        self.assertEqual(published, [f"./packages/{name}" for name in [*sorted(platforms), main]])

    def test_the_crates_are_compiled_before_one_is_uploaded(self):
        (upload,) = [step for step in self.jobs["crates"]["steps"] if "crates upload" in step.get("run", "")]
        for env, verifies in [(upload["env"], True), ({}, False)]:
            words = []
            env = {name: value for name, value in env.items() if name.startswith("RELEASE_")}
            nothing = {"clone": lambda _: ROOT, "manifests": lambda _: [], "run": lambda *given, **_: words.extend(given), "MADE": WORK / "no-crates/package"}
            with mock.patch.multiple(crates, **nothing), mock.patch.dict(os.environ, env), contextlib.redirect_stdout(io.StringIO()):
                if not env:
                    os.environ.pop("RELEASE_VERIFY_CRATES", None)
                crates.publish(SETTINGS)
            self.assertEqual("--no-verify" not in words, verifies, words)

    def test_the_compiler_is_the_one_of_the_release(self):
        rust = SETTINGS.toml["build"]["rust"]
        images = {}
        for file in ["release.yml", "test.yml"]:
            for name, job in workflow(file)["jobs"].items():
                container = job.get("container", {})
                image = container if isinstance(container, str) else container.get("image")
                if any(re.search(r"\./(release|test)\.sh", step.get("run", "")) for step in job["steps"]):
                    images[f"{file} {name}"] = image
        self.assertEqual(set(images.values()), {f"rust:{rust}-trixie"}, images)
        self.assertIn(rust, SETTINGS.toml["rust-src"])
        with open(ROOT / "Cargo.toml") as file:
            self.assertIn(f'rust-version = "{rust.rpartition(".")[0]}"', file.read())
        script = "\n".join(step.get("run", "") for step in self.jobs["build"]["steps"])
        for triple in SETTINGS.toml["build"]["targets"]:
            self.assertRegex(script, f"rustup target add .*{triple}")

"""Installing from the source: the last line of the table in the README."""

import os
import unittest

from common import ROOT, VERSION, directory, succeeds
from test_scripts import FROM_SOURCE


class Source(unittest.TestCase):
    def test_cargo_installs_it_from_the_source(self):
        # Not optimised, and with what other tests have compiled: the line is tried, not the compiler.
        extra = ["--debug", "--locked", "--offline", "--no-track"]
        with directory() as place:
            words = [*FROM_SOURCE.split(), *extra, "--root", place, "--target-dir", os.environ.get("CARGO_TARGET_DIR") or ROOT / "target"]
            succeeds(*words, cwd=ROOT, timeout=3600)
            self.assertEqual(succeeds(place / "bin/toolcrib", "--version").stdout, f"toolcrib {VERSION}\n")

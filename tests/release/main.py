"""Runs the tests of a release, all or those whose names have one of the words given, and notes what was skipped where `test.sh` lists it."""

import os
import pathlib
import sys
import unittest

loader = unittest.TestLoader()
if words := sys.argv[1:]:
    loader.testNamePatterns = [f"*{word}*" for word in words]
tests = loader.discover(str(pathlib.Path(__file__).parent))
result = unittest.TextTestRunner(verbosity=2).run(tests)
if note := os.environ.get("TOOLCRIB_TEST_SKIPPED"):
    with open(note, "a") as file:
        file.writelines(f"{str(test).split()[0]}: {reason}\n" for test, reason in result.skipped)
sys.exit(not result.wasSuccessful())

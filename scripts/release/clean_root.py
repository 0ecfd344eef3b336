"""A Debian of a few packages, unpacked and never started: the tests install into copies of it."""

import os
import zlib

import image
from settings import TARGETS, TOOLS, run, say

# What `install.sh` and the package managers need in a root that has nothing else.
PACKAGES = ["bash", "busybox-static", "coreutils", "curl", "dash", "diffutils", "dpkg", "grep", "gzip", "libc-bin", "minisign", "sed", "tar", "wget"]


def here():
    """This machine, if there are packages for it."""
    return next((target for target in TARGETS.values() if target.machine == os.uname().machine), None)


def file():
    """Another list of packages is another file."""
    return TOOLS / f"test-root-{here().deb}-{zlib.crc32(' '.join(PACKAGES).encode()):08x}.tar"


def fetch():
    if here() is None or file().is_file():
        return
    say("fetches the clean root of the tests")
    part = file().with_suffix(".part.tar")
    run("mmdebstrap", "--quiet", "--variant=extract", f"--include={','.join(PACKAGES)}", image.SUITE, part)
    part.rename(file())

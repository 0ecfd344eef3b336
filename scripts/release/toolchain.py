"""The compiler of a release: the one of this machine, with a standard library for every target.

A target whose library the compiler has (`rustup target add`) uses that one. For others it is built from source that is pinned by its digest:
into a copy (by hard links) of the compiler's directory, so that the machine's own toolchain stays as it is. The crates themselves are
then built by the compiler as it is, without nightly features.
"""

import hashlib
import os
import shutil
import subprocess
import urllib.request

from settings import TOOLS, Refused, run, say

COPY = TOOLS / "toolchain"
PARTS = "std,panic_unwind,panic_abort,proc_macro,test"


def rustc_version():
    ran = run("rustc", "-vV", capture_output=True, text=True)
    words = dict(line.split(": ", 1) for line in ran.stdout.splitlines() if ": " in line)
    return words["release"], words["host"]


def sysroot():
    from pathlib import Path

    return Path(run("rustc", "--print", "sysroot", capture_output=True, text=True).stdout.strip())


def has_std(root, triple):
    place = root / "lib/rustlib" / triple / "lib"
    return place.is_dir() and any(place.glob("libstd-*.rlib"))


def place_for(triple):
    """The toolchain that can build for a target."""
    if has_std(COPY, triple):
        return COPY
    own = sysroot()
    if has_std(own, triple):
        return own
    raise Refused(
        f"there is no standard library for {triple} here: `rustup target add {triple}`, or `./release.sh fetch` builds it"
    )


def environment(triple):
    """What cargo needs to use that toolchain. Directly, not through rustup, which would put its own first."""
    place = place_for(triple)
    env = dict(os.environ)
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "LD_LIBRARY_PATH"]:
        env.pop(name, None)
    venv = TOOLS / "python/bin"
    env["PATH"] = f"{place}/bin:{venv}:{env['PATH']}"
    return env


def fetch(settings, extra=()):
    """Sees to it that every target has its library."""
    version, _ = rustc_version()
    own = sysroot()
    wanted = [target.triple for target in settings.targets] + list(extra)
    for triple in wanted:
        if has_std(own, triple) or has_std(COPY, triple):
            continue
        source(settings, version, own)
        build_std(triple)


def source(settings, version, own):
    """The compiler's directory with the source of its library."""
    if (COPY / "lib/rustlib/src/rust/library").is_dir():
        return
    known = settings.toml.get("rust-src", {}).get(version)
    if not known:
        raise Refused(
            f"rustc {version} has no standard library for every target, and release.toml names no source of it; `rustup target add` the targets"
        )
    deb = TOOLS / "rust-src.deb"
    download(mirror() + known["path"], known["sha256"], deb)
    unpacked = TOOLS / "rust-src"
    shutil.rmtree(unpacked, ignore_errors=True)
    run("dpkg-deb", "-x", deb, unpacked)
    library = next(unpacked.glob("usr/src/rustc-*/library"))
    shutil.rmtree(COPY, ignore_errors=True)
    say("copies the toolchain (by hard links, if it is on the same disk)")
    if subprocess.run(["cp", "-al", own, COPY], capture_output=True).returncode:
        shutil.rmtree(COPY, ignore_errors=True)
        run("cp", "-a", own, COPY)
    place = COPY / "lib/rustlib/src/rust"
    place.mkdir(parents=True)
    shutil.move(library, place / "library")
    shutil.rmtree(unpacked)


def build_std(triple):
    say(f"builds the standard library for {triple}")
    place = TOOLS / "std"
    (place / "src").mkdir(parents=True, exist_ok=True)
    (place / "Cargo.toml").write_text('[package]\nname = "nothing"\nedition = "2024"\n[workspace]\n')
    (place / "src/lib.rs").write_text("#![no_std]\n")
    env = dict(os.environ)
    for name in ["RUSTUP_TOOLCHAIN", "RUSTC", "LD_LIBRARY_PATH"]:
        env.pop(name, None)
    env |= {
        "PATH": f"{COPY}/bin:{env['PATH']}",
        # Only here: the library uses what it alone may use.
        "RUSTC_BOOTSTRAP": "1",
        # For link-time optimisation; and no path of this machine.
        "RUSTFLAGS": f"-Cembed-bitcode=yes --remap-path-prefix={COPY}/lib/rustlib/src/rust=/rust",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1",
        "CARGO_TARGET_DIR": str(place / "target"),
    }
    run("cargo", "build", "--quiet", f"-Zbuild-std={PARTS}", "--release", "--target", triple, cwd=place, env=env)
    library = COPY / "lib/rustlib" / triple / "lib"
    shutil.rmtree(library, ignore_errors=True)
    library.mkdir(parents=True)
    for file in (place / "target" / triple / "release/deps").glob("*.rlib"):
        if not file.name.startswith("libnothing-"):
            shutil.copy(file, library)
    shutil.rmtree(place / "target")


def mirror():
    """Where apt gets Debian's packages."""
    if not shutil.which("apt-get"):
        raise Refused("the source of the standard library is a package of Debian, and there is no apt-get: `rustup target add` the targets")
    listed = run("apt-get", "indextargets", "--format", "$(REPO_URI)", capture_output=True, text=True).stdout.split()
    own = [uri for uri in listed if uri.rstrip("/").endswith("/debian")]
    if not own:
        raise Refused("apt has no mirror of Debian: `rustup target add` the targets")
    return own[0].rstrip("/") + "/"


def download(url, sha256, to):
    if to.is_file() and hashlib.sha256(to.read_bytes()).hexdigest() == sha256:
        return
    say(f"fetches {url.rsplit('/', 1)[1]}")
    to.parent.mkdir(parents=True, exist_ok=True)
    with urllib.request.urlopen(url, timeout=120) as answer:
        content = answer.read()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise Refused(f"{url} has the sha256 {found}, not {sha256}")
    to.write_bytes(content)

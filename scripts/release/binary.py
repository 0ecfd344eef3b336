"""The binaries, and what they print for the packages: completions and manual pages."""

import os
import shutil
import subprocess

import toolchain
from settings import ROOT, TOOLS, WORK, Refused, run, say


# What compiling leaves for the next time; zig and its wrappers have their own.
CARGO, ZIG, ZIGBUILD = CACHES = [WORK / "cargo", WORK / "zig", WORK / "zigbuild"]


def cargo_home():
    return os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo")


def web():
    """Builds the page once for all targets."""
    if not (ROOT / "web/node_modules").is_dir():
        raise Refused("the web admin cannot be built: `./release.sh fetch` first")
    say("builds the web admin")
    # A build for development is not what people get, whatever the caller's environment says.
    env = {name: value for name, value in os.environ.items() if name != "NODE_ENV"}
    run("npm", "run", "--silent", "build", "--", "--logLevel", "warn", cwd=ROOT / "web", env=env)
    place = WORK / "web"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ROOT / "web/dist", place)
    return place


def build(settings, target, page):
    """Builds the binary of a target: the small profile, for an old C library, without paths of this machine. Gives its path."""
    if not (TOOLS / "python/bin/cargo-zigbuild").is_file():
        raise Refused("cargo-zigbuild is not here: `./release.sh fetch` first")
    say(f"builds toolcrib for {target.triple} (glibc {settings.toml['build']['glibc']})")
    env = toolchain.environment(target.triple)
    prefixes = {
        str(WORK): "/work",
        str(ROOT): "/toolcrib",
        cargo_home(): "/cargo",
        str(toolchain.place_for(target.triple)): "/rust",
    }
    env |= {
        "CARGO_TARGET_DIR": str(CARGO),
        "CARGO_NET_OFFLINE": "true",
        "RUSTFLAGS": " ".join(f"--remap-path-prefix={path}={name}" for path, name in prefixes.items()),
        "CFLAGS": " ".join(f"-ffile-prefix-map={path}={name}" for path, name in prefixes.items()),
        "SOURCE_DATE_EPOCH": str(settings.epoch),
        "TOOLCRIB_WEB": str(page),
        "TOOLCRIB_COMMIT": settings.commit,
        "ZIG_GLOBAL_CACHE_DIR": str(ZIG),
        "ZIG_LOCAL_CACHE_DIR": str(ZIG),
        "CARGO_ZIGBUILD_CACHE_DIR": str(ZIGBUILD),
    }
    triple = f"{target.triple}.{settings.toml['build']['glibc']}"
    run("cargo-zigbuild", "zigbuild", "--locked", "--release", "-p", "toolcrib-cli", "--target", triple, env=env)
    return CARGO / target.triple / "release/toolcrib"


def is_runnable(target):
    """Whether this machine runs programs of the target."""
    return os.uname().machine == target.machine


def spoken(binary, place):
    """Completions and manual pages, from a binary of this machine."""
    shutil.rmtree(place, ignore_errors=True)
    home = place / "home"
    (place / "man").mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "TOOLCRIB_HOME": str(home)}
    for shell, name in [
        ("bash", "toolcrib.bash"),
        ("zsh", "_toolcrib"),
        ("fish", "toolcrib.fish"),
        ("elvish", "toolcrib.elv"),
        ("powershell", "_toolcrib.ps1"),
    ]:
        words = run(binary, "completions", shell, env=env, capture_output=True).stdout
        (place / "completions").mkdir(exist_ok=True)
        # The script names the program by the path that it was asked by.
        (place / "completions" / name).write_bytes(words.replace(str(binary).encode(), b"toolcrib"))
    run(binary, "man", "--out", place / "man", env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(home, ignore_errors=True)
    return place


def oldest_glibc(binary):
    """The newest version of the C library that the binary asks for, by its symbols."""
    ran = run("readelf", "-V", "-W", binary, capture_output=True, text=True)
    versions = {word.split("GLIBC_")[1] for word in ran.stdout.split() if word.startswith("GLIBC_2")}
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])

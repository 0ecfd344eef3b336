"""`release.sh build`: every package of every target, and `release.sh check`."""

import shutil
import time

import binary
import contents
import deb
import image
import installed
import npm
import rpm
import sign
import texts
import wheel
from archive import File, sha256, tar_gz
from settings import WORK, Refused, say

MB = 1_000_000
LIMITS = {".tar.gz": 10 * MB, ".whl": 11 * MB, ".tgz": 11 * MB}


def build(settings):
    started = time.monotonic()
    for obstacle in settings.obstacles:
        say(f"the packages will be marked unpublishable: {obstacle}")
    # A wrong key is found before anything is compiled.
    keys = sign.key(settings)
    page = binary.web()
    binaries = {target: binary.build(settings, target, page) for target in settings.targets}
    for target, built in binaries.items():
        glibc, wanted = binary.oldest_glibc(built), settings.toml["build"]["glibc"]
        if [int(part) for part in glibc.split(".")] > [int(part) for part in wanted.split(".")]:
            raise Refused(f"the binary for {target.triple} needs glibc {glibc}, newer than {wanted}")
    runnable = [target for target in settings.targets if binary.is_runnable(target)]
    if not runnable:
        raise Refused("completions and manual pages are printed by the binary of this machine; build its target, too")
    spoken = binary.spoken(binaries[runnable[0]], WORK / "spoken")
    pack(settings, {target: built.read_bytes() for target, built in binaries.items()}, spoken, keys)
    check(settings)
    say(f"done in {time.monotonic() - started:.0f} s")


def pack(settings, binaries, spoken, keys):
    """Makes every package of these binaries."""
    out = settings.out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if settings.obstacles:
        # First, so that no state of the directory lacks it.
        (out / "UNPUBLISHABLE").write_text("".join(f"{obstacle}\n" for obstacle in settings.obstacles))
    for_image = []
    for target, content in binaries.items():
        say(f"packs {target.triple}")
        sbom, licences = contents.sbom(settings, target), contents.third_party(target)
        archive(settings, target, content, spoken, sbom, licences)
        files = installed.files(content, spoken, sbom, licences)
        (out / wheel.name(settings, target)).write_bytes(wheel.build(settings, target, content, sbom, licences))
        name, packed = npm.build_platform(settings, target, content, sbom, licences)
        (out / name).write_bytes(packed)
        deb.build(settings, target, files, out)
        rpm.build(settings, target, files, out)
        # Units and completions are of no use in a container.
        kept = ("usr/bin/", "usr/share/doc/")
        for_image.append((target, [file for file in files if file.path.startswith(kept)]))
    name, packed = npm.build_main(settings, list(binaries))
    (out / name).write_bytes(packed)
    image.build(settings, for_image, out)
    (out / "server.json").write_text(texts.server_json(settings))
    secret, public = keys
    (out / "toolcrib.pub").write_text(f"untrusted comment: minisign public key of toolcrib\n{public}\n")
    (out / "install.sh").write_text(texts.installer(settings, public))
    (out / "install.sh").chmod(0o755)
    sums = {file.name: sha256(file.read_bytes()) for file in sorted(out.iterdir())}
    (out / "toolcrib.rb").write_text(texts.formula(settings, sums))
    (out / "flake.nix").write_text(texts.flake(settings, sums))
    (out / "latest").write_text(f"{settings.version}\n")
    sums = {file.name: sha256(file.read_bytes()) for file in sorted(out.iterdir())}
    (out / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    for target in binaries:
        file = out / f"{settings.archive_name(target)}.tar.gz"
        (out / f"{file.name}.sha256").write_text(f"{sums[file.name]}  {file.name}\n")
        sign.sign(settings, file, secret, public)
    sign.sign(settings, out / "SHA256SUMS", secret, public)


def archive(settings, target, content, spoken, sbom, licences):
    """The archive that `install.sh`, Homebrew, Nix and `cargo binstall` unpack."""
    files = [
        File("toolcrib", content, 0o755),
        *contents.own(),
        File("THIRD-PARTY.txt", licences),
        File("sbom.cdx.json", sbom),
        *contents.units(),
    ]
    for kind in ["completions", "man"]:
        files += [File(f"{kind}/{file.name}", file.read_bytes()) for file in sorted((spoken / kind).iterdir())]
    name = settings.archive_name(target)
    files = [File(f"{name}/{file.path}", file.content, file.mode) for file in files]
    (settings.out / f"{name}.tar.gz").write_bytes(tar_gz(files, settings.epoch))


def check(settings):
    """Says what is there and how large it is; fails where something is over its limit."""
    out = settings.out
    if not out.is_dir():
        raise Refused("there is nothing yet: `./release.sh build` first")
    too_large = []
    for file in sorted(out.iterdir()):
        size = file.stat().st_size
        limit = next((limit for end, limit in LIMITS.items() if file.name.endswith(end)), None)
        print(f"{size / MB:8.2f} MB  {file.name}")
        if limit and size > limit:
            too_large.append(f"{file.name} is over {limit // MB} MB")
    if too_large:
        raise Refused("; ".join(too_large))
    mark = out / "UNPUBLISHABLE"
    if mark.exists():
        say(f"unpublishable: {'; '.join(mark.read_text().splitlines())}")

"""The wheel for PyPI: a ZIP with the binary among its scripts, so `uvx toolcrib` starts the binary itself."""

import base64
import hashlib
import re

import contents
from archive import File, zip_of
from settings import ROOT


def normal(version):
    """The version as PyPI spells it."""
    return version.replace("-alpha.", "a").replace("-beta.", "b").replace("-rc.", "rc")


def distribution(settings):
    """The name as file names spell it, where a dash ends it."""
    return re.sub(r"[-_.]+", "_", settings.names["pypi"]).lower()


def name(settings, target):
    glibc = settings.toml["build"]["glibc"].replace(".", "_")
    machine = target.wheel
    # 2.17 also has an older name, which older installers know.
    tags = f"manylinux2014_{machine}.manylinux_{glibc}_{machine}" if glibc == "2_17" else f"manylinux_{glibc}_{machine}"
    return f"{distribution(settings)}-{normal(settings.version)}-py3-none-{tags}.whl"


def build(settings, target, binary, sbom, licences):
    stem = f"{distribution(settings)}-{normal(settings.version)}"
    info = f"{stem}.dist-info"
    tags = name(settings, target).removesuffix(".whl").split("-", 2)[2]
    python, abi, platforms = tags.split("-")
    files = [
        File(f"{stem}.data/scripts/toolcrib", binary, 0o755),
        File(f"{info}/METADATA", metadata(settings)),
        File(
            f"{info}/WHEEL",
            "".join(
                ["Wheel-Version: 1.0\n", "Generator: toolcrib release.sh\n", "Root-Is-Purelib: false\n"]
                + [f"Tag: {python}-{abi}-{platform}\n" for platform in platforms.split(".")]
            ).encode(),
        ),
        File(f"{info}/sboms/toolcrib.cdx.json", sbom),
        File(f"{info}/licenses/THIRD-PARTY.txt", licences),
    ]
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"]:
        files.append(File(f"{info}/licenses/{licence}", (ROOT / licence).read_bytes()))
    record = "".join(
        f"{file.path},sha256={digest(file.content)},{len(file.content)}\n" for file in files
    )
    files.append(File(f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    return zip_of(files, settings.epoch)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def metadata(settings):
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {settings.names['pypi']}",
        f"Version: {normal(settings.version)}",
        f"Summary: {contents.SUMMARY}",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "License-File: THIRD-PARTY.txt",
        "Requires-Python: >=3.8",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
    ]
    if settings.publishable:
        lines.append(f"Project-URL: Repository, {settings.repository}")
    else:
        # PyPI refuses it.
        lines.append("Classifier: Private :: Do Not Upload")
    lines += [
        "Description-Content-Type: text/markdown",
        "",
        f"<!-- mcp-name: {settings.mcp_name} -->",
        "",
        (ROOT / "README.md").read_text(),
    ]
    return "\n".join(lines).encode()

"""The npm packages: one for each platform with the binary, and one with a small shim that starts it."""

import json

import contents
from archive import File, tar_gz
from settings import ROOT


def platform(settings, target):
    return f"{settings.names['npm-scope']}/linux-{target.npm}"


def file_name(name, version):
    """As `npm pack` names it."""
    return f"{name.lstrip('@').replace('/', '-')}-{version}.tgz"


def package(settings, files, described):
    described = {
        **described,
        "version": settings.version,
        "license": "MIT OR Apache-2.0",
        **(
            {"repository": {"type": "git", "url": f"git+{settings.repository}.git"}}
            if settings.publishable
            # npm refuses to publish it.
            else {"private": True}
        ),
    }
    text = (json.dumps(described, indent=2) + "\n").encode()
    files = [File("package.json", text), *files]
    return tar_gz([File(f"package/{file.path}", file.content, file.mode) for file in files], settings.epoch)


def build_platform(settings, target, binary, sbom, licences):
    name = platform(settings, target)
    described = {
        "name": name,
        "description": f"Toolcrib for Linux on {target.npm}; install `{settings.names['npm']}` instead",
        "os": ["linux"],
        "cpu": [target.npm],
        "libc": ["glibc"],
        "preferUnplugged": True,
    }
    files = [
        File("bin/toolcrib", binary, 0o755),
        File("README.md", f"The binary of `{settings.names['npm']}` for Linux on {target.npm}.\n".encode()),
        File("sbom.cdx.json", sbom),
        File("THIRD-PARTY.txt", licences),
        *[file for file in contents.own() if file.path.startswith("LICENSE")],
    ]
    return file_name(name, settings.version), package(settings, files, described)


def build_main(settings, targets):
    name, scope = settings.names["npm"], settings.names["npm-scope"]
    shim = (ROOT / "packaging/npm/toolcrib.js").read_text()
    shim = shim.replace("@SCOPE@", scope)
    shim = shim.replace("@KNOWN@", " ".join(f"linux-{target.npm}" for target in targets))
    described = {
        "name": name,
        "description": contents.SUMMARY,
        "mcpName": settings.mcp_name,
        "bin": {"toolcrib": "bin/toolcrib.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": {platform(settings, target): settings.version for target in targets},
    }
    files = [
        File("bin/toolcrib.js", shim.encode(), 0o755),
        *[file for file in contents.own() if file.path != "CHANGELOG.md"],
    ]
    return file_name(name, settings.version), package(settings, files, described)

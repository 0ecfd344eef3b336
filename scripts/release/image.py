"""The container image: an OCI image index over both architectures, written directly. It is a directory of JSON and tar files.

The base is a few packages of Debian, unpacked and never started; so it is made without a container engine, for any architecture.
"""

import io
import json
import re
import tarfile
from datetime import datetime, timezone

import contents
from archive import File, gz, sha256, tar
from settings import TOOLS, run, say

PACKAGES = ["bash", "ca-certificates", "coreutils", "findutils", "git", "grep", "sed"]
SUITE = "bookworm"
# Left out because no program needs it; but the licences of the packages are kept.
COPYRIGHT = re.compile(r"usr/share/doc(/[^/]+(/copyright)?)?")
LEFT_OUT = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "var/cache/", "var/lib/apt/", "var/log/", "dev/")
USER = 1000
INDEX = "application/vnd.oci.image.index.v1+json"


def base_file(target):
    return TOOLS / f"base-{target.oci}.tar"


def fetch_base(target):
    place = base_file(target)
    if place.is_file():
        return
    say(f"fetches the base of the image for {target.oci}")
    made = place.with_suffix(".part.tar")
    run(
        "mmdebstrap", "--quiet", "--variant=extract", f"--architectures={target.deb}",
        f"--include={','.join(PACKAGES)}", SUITE, made,
    )
    made.rename(place)


def base_layer(target, epoch):
    """The base without what no program needs, with what its packages would have made when they were configured."""
    made = io.BytesIO()
    roots, names = {}, set()
    with tarfile.open(base_file(target)) as packed, tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entries = {}
        for entry in packed:
            name = entry.name.removeprefix("./").rstrip("/")
            if name.startswith("usr/share/ca-certificates/mozilla/") and entry.isfile():
                roots[name] = packed.extractfile(entry).read()
            left_out = f"{name}/".startswith(LEFT_OUT) and not COPYRIGHT.fullmatch(name)
            wanted = name not in ("", ".") and not left_out
            if wanted and (entry.isfile() or entry.isdir() or entry.issym() or entry.islnk()):
                entries[name] = entry
        for name in sorted(entries, key=lambda name: (entries[name].islnk(), name)):
            entry = entries[name]
            content = packed.extractfile(entry) if entry.isfile() else None
            entry.name, entry.mtime, entry.uname, entry.gname, entry.pax_headers = name, epoch, "", "", {}
            if entry.islnk():
                entry.linkname = entry.linkname.removeprefix("./")
            archive.addfile(entry, content)
            names.add(name)
        more = [
            File("etc/passwd", f"root:x:0:0:root:/root:/bin/bash\ntoolcrib:x:{USER}:{USER}::/home/toolcrib:/bin/bash\n".encode()),
            File("etc/group", f"root:x:0:\ntoolcrib:x:{USER}:\n".encode()),
            File("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n"),
            File("etc/ssl/certs/ca-certificates.crt", b"".join(roots[name] for name in sorted(roots))),
        ]
        for file in more:
            if file.path not in names:
                entry = tarfile.TarInfo(file.path)
                entry.size, entry.mode, entry.mtime = len(file.content), file.mode, epoch
                archive.addfile(entry, io.BytesIO(file.content))
        directories = [("tmp", 0o1777, 0), ("root", 0o700, 0), ("home/toolcrib", 0o700, USER), ("work", 0o755, USER)]
        for path, mode, owner in directories:
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode, entry.mtime, entry.uid, entry.gid = tarfile.DIRTYPE, mode, epoch, owner, owner
            archive.addfile(entry)
        if "bin/sh" not in names:
            entry = tarfile.TarInfo("bin/sh")
            entry.type, entry.linkname, entry.mtime = tarfile.SYMTYPE, "bash", epoch
            archive.addfile(entry)
    return made.getvalue()


def build(settings, by_target, out):
    """Writes the image of these targets, each with the files of its package, as one tar."""
    say("writes the container image")
    blobs, manifests = [], []

    def blob(content):
        digest = sha256(content)
        blobs.append(File(f"blobs/sha256/{digest}", content))
        return {"digest": f"sha256:{digest}", "size": len(content)}

    created = f"{datetime.fromtimestamp(settings.epoch, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    labels = {
        "org.opencontainers.image.title": "toolcrib",
        "org.opencontainers.image.description": contents.SUMMARY,
        "org.opencontainers.image.version": settings.version,
        "org.opencontainers.image.revision": settings.commit,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
        "io.modelcontextprotocol.server.name": settings.mcp_name,
        **({"org.opencontainers.image.source": settings.repository} if settings.publishable else {"toolcrib.unpublishable": "true"}),
    }
    for target, files in by_target:
        layers = [base_layer(target, settings.epoch), tar(files, settings.epoch)]
        packed = [gz(layer) for layer in layers]
        config = {
            "created": created,
            "architecture": target.oci,
            "os": "linux",
            "config": {
                "User": f"{USER}:{USER}",
                "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/toolcrib", "TOOLCRIB_WORKSPACE=/work"],
                "Entrypoint": ["/usr/bin/toolcrib"],
                "Cmd": ["mcp"],
                "WorkingDir": "/work",
                "Volumes": {"/work": {}, "/home/toolcrib": {}},
                "Labels": labels,
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}" for layer in layers]},
            "history": [
                {"created": created, "created_by": f"packages of Debian {SUITE}: {', '.join(PACKAGES)}"},
                {"created": created, "created_by": "toolcrib release.sh"},
            ],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(document(config))},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **blob(layer)} for layer in packed],
        }
        manifests.append(
            {
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                **blob(document(manifest)),
                "platform": {"architecture": target.oci, "os": "linux"},
                # Tools that know no platforms take an image by its name.
                "annotations": {"org.opencontainers.image.ref.name": f"{settings.version}-{target.oci}"},
            }
        )
    # By its version, the image of every architecture: registries and engines choose theirs.
    plain = [{key: value for key, value in entry.items() if key != "annotations"} for entry in manifests]
    every = {"schemaVersion": 2, "mediaType": INDEX, "manifests": plain}
    named = {"mediaType": INDEX, **blob(document(every)), "annotations": {"org.opencontainers.image.ref.name": settings.version}}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [named, *manifests]}
    files = [
        File("oci-layout", document({"imageLayoutVersion": "1.0.0"})),
        File("index.json", document(index)),
        *{file.path: file for file in blobs}.values(),
    ]
    made = out / f"toolcrib-{settings.version}-oci.tar"
    made.write_bytes(tar(files, settings.epoch))
    return made


def document(value):
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode()

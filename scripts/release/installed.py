"""The files of an installed system, for Debian and RPM packages and the image."""

import gzip

import contents
from archive import File


def files(binary, spoken, sbom, licences):
    """By their paths from the root, without a leading slash."""
    listed = [File("usr/bin/toolcrib", binary, 0o755)]
    for name, to in [
        ("toolcrib.bash", "usr/share/bash-completion/completions/toolcrib"),
        ("_toolcrib", "usr/share/zsh/vendor-completions/_toolcrib"),
        ("toolcrib.fish", "usr/share/fish/vendor_completions.d/toolcrib.fish"),
    ]:
        listed.append(File(to, (spoken / "completions" / name).read_bytes()))
    for page in sorted((spoken / "man").iterdir()):
        packed = gzip.compress(page.read_bytes(), compresslevel=9, mtime=0)
        listed.append(File(f"usr/share/man/man1/{page.name}.gz", packed))
    for unit in contents.units():
        listed.append(File(f"usr/lib/{unit.path}", unit.content))
    place = "usr/share/doc/toolcrib"
    listed.append(File(f"{place}/sbom.cdx.json", sbom))
    listed.append(File(f"{place}/THIRD-PARTY.txt", licences))
    for file in contents.own():
        if file.path != "CHANGELOG.md":
            listed.append(File(f"{place}/{file.path}", file.content))
    return listed


def write(files, root, epoch):
    """Writes them below a directory, with one time."""
    import os

    for file in files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(file.mode)
    for path in [root, *root.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch), follow_symlinks=False)

"""Archives whose bytes depend on nothing but their content: sorted names, one time, one owner."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass(frozen=True)
class File:
    """A file of a package, by its path there."""

    path: str
    content: bytes
    mode: int = 0o644


def tar(files, epoch, links=()):
    """An uncompressed tar of files and symbolic links, with the directories that they need."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        directories = set()
        for path in [file.path for file in files] + [path for path, _ in links]:
            parts = path.split("/")[:-1]
            directories |= {"/".join(parts[: end + 1]) for end in range(len(parts))}
        entries = [(path, None) for path in directories]
        entries += [(file.path, file) for file in files] + [(path, to) for path, to in links]
        for path, what in sorted(entries, key=lambda entry: entry[0]):
            entry = tarfile.TarInfo(path)
            entry.mtime = epoch
            entry.uname = entry.gname = "root"
            if what is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            elif isinstance(what, str):
                entry.type, entry.mode, entry.linkname = tarfile.SYMTYPE, 0o777, what
                archive.addfile(entry)
            else:
                entry.size, entry.mode = len(what.content), what.mode
                archive.addfile(entry, io.BytesIO(what.content))
    return made.getvalue()


def gz(content):
    return gzip.compress(content, compresslevel=9, mtime=0)


def tar_gz(files, epoch, links=()):
    return gz(tar(files, epoch, links))


def zip_of(files, epoch):
    """A ZIP in the order of the files."""
    # The format knows no time before 1980.
    when = datetime.fromtimestamp(max(epoch, 315532800), timezone.utc)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, when.timetuple()[:6])
            entry.external_attr = (0o100000 | file.mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.content)
    return made.getvalue()


def sha256(content):
    return hashlib.sha256(content).hexdigest()

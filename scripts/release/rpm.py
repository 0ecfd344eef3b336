"""The RPM package, by rpmbuild, from files that are built already."""

import os
import shutil
import textwrap

import contents
import installed
from archive import File
from settings import WORK, run

SPEC = """\
Name: toolcrib
Version: {version}
Release: 1
Summary: {summary}
License: MIT OR Apache-2.0
URL: {url}
Packager: {packager}
AutoReqProv: no
Requires: glibc >= {glibc}
{mark}
%description
{description}

%prep
%build
%install
cp -a {tree}/. %{{buildroot}}/

%post
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi

%preun
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
    systemctl --no-reload disable --now toolcrib.service toolcrib.socket || :
fi

%postun
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi

%files
%defattr(-,root,root)
%dir /usr/share/doc/toolcrib
{files}
"""


def name(settings, target):
    return f"toolcrib-{version(settings)}-1.{target.rpm}.rpm"


def version(settings):
    return settings.version.replace("-", "~")


def build(settings, target, files, out):
    place = WORK / f"rpm-{target.rpm}"
    shutil.rmtree(place, ignore_errors=True)
    # Where these systems look for completions of zsh.
    files = [
        File(file.path.replace("zsh/vendor-completions", "zsh/site-functions"), file.content, file.mode) for file in files
    ]
    installed.write(files, place / "tree", settings.epoch)
    unmarked = "" if settings.publishable else f"Group: unpublishable: {'; '.join(settings.obstacles)}\n"
    spec = SPEC.format(
        version=version(settings),
        summary=contents.SUMMARY.rstrip("."),
        url=settings.repository,
        packager=settings.maintainer,
        glibc=settings.toml["build"]["glibc"],
        mark=unmarked,
        description="\n".join(textwrap.wrap(contents.DESCRIPTION, 76)),
        tree=place / "tree",
        files="\n".join(f"/{file.path}" for file in files),
    )
    (place / "toolcrib.spec").write_text(spec)
    defines = {
        "_topdir": place / "top",
        "_buildhost": "release",
        "use_source_date_epoch_as_buildtime": 1,
        "clamp_mtime_to_source_date_epoch": 1,
        "_build_id_links": "none",
        "__os_install_post": "%{nil}",
        "debug_package": "%{nil}",
        "_binary_payload": "w9.gzdio",
        "_dbpath": place / "db",
    }
    words = [word for key, value in defines.items() for word in ("--define", f"{key} {value}")]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(settings.epoch)}
    run(
        "rpmbuild", "-bb", "--quiet", "--target", f"{target.rpm}-linux", *words, place / "toolcrib.spec",
        env=env, capture_output=True,
    )
    built = next((place / "top/RPMS").rglob("*.rpm"))
    made = out / name(settings, target)
    shutil.move(built, made)
    shutil.rmtree(place)
    return made

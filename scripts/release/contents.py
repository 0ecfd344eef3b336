"""What every package carries beside the binary: licences, the list of parts (SBOM), service units."""

import functools
import json
import re
import tomllib
from pathlib import Path

from archive import File
from settings import ROOT, run
import toolchain

SUMMARY = "The tool system that LLM agents run on: define a tool once, run it safely anywhere."
# A longer one, for packages that have two.
DESCRIPTION = (
    "Toolcrib gives shells, programs, web pages and models one way to call tools: validated, judged by rules, "
    "approved by a person where needed, run in a sandbox that the kernel enforces, and recorded."
)


def own():
    """The files that say what this is."""
    names = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"]
    return [File(name, (ROOT / name).read_bytes()) for name in names]


def units():
    """The service units, by their paths below /usr/lib."""
    place = ROOT / "packaging/systemd"
    return [
        File(f"systemd/{kind}/{name}", (place / kind / name).read_bytes())
        for kind in ["system", "user"]
        for name in ["toolcrib.service", "toolcrib.socket"]
    ]


@functools.cache
def crates(target):
    """The crates in the binary of a target, and what its build scripts need: the root, the packages, and who needs whom, by id.

    `cargo tree` knows the features of the release; `cargo metadata` would join those that tests switch on.
    """
    env = toolchain.environment(target.triple)
    shared = ["--locked", "--offline"]
    told = run(
        "cargo", "metadata", "--format-version=1", *shared, "--filter-platform", target.triple, env=env, capture_output=True
    ).stdout
    packages = {(package["name"], package["version"]): package for package in json.loads(told)["packages"]}
    words = ["cargo", "tree", *shared, "-p", "toolcrib-cli", "-e", "normal,build", "--target", target.triple]
    told = run(*words, "--prefix", "depth", "--charset", "ascii", env=env, capture_output=True, text=True).stdout
    found, needs, above = {}, {}, []
    for line in told.splitlines():
        # `2serde v1.0.0 (*)`: how deep, and which; what it needs is below it where it is named first.
        depth, name, version = re.match(r"(\d+)(\S+) v(\S+)", line).groups()
        package = packages[name, version]
        found[package["id"]] = package
        needs.setdefault(package["id"], set())
        above[int(depth) :] = [package["id"]]
        if len(above) > 1:
            needs[above[-2]].add(package["id"])
    return above[0], found, {id: sorted(needed) for id, needed in needs.items()}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def sbom(settings, target):
    """CycloneDX 1.5: the crates in the binary and the packages in the web admin."""
    with open(ROOT / "Cargo.lock", "rb") as file:
        sums = {
            (package["name"], package["version"]): package.get("checksum")
            for package in tomllib.load(file)["package"]
        }
    root, found, needs = crates(target)

    def component(package, kind="library"):
        described = {
            "type": kind,
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
        }
        if package.get("license"):
            described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        checksum = sums.get((package["name"], package["version"]))
        if checksum:
            described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return described

    order = sorted((id for id in found if id != root), key=lambda id: purl(found[id]))
    pages = [
        {
            "type": "library",
            "bom-ref": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{version}",
            "licenses": [{"expression": licence}],
        }
        for name, version, licence, _ in npm_packages()
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": component(found[root], "application"),
            "properties": [
                {"name": "toolcrib:target", "value": target.triple},
                {"name": "toolcrib:commit", "value": settings.commit},
            ],
        },
        "components": [component(found[id]) for id in order] + pages,
        "dependencies": [
            {"ref": purl(found[id]), "dependsOn": [purl(found[needed]) for needed in needs[id]]}
            for id in [root, *order]
        ],
    }
    return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def npm_packages():
    """What the web admin is made of: name, version, licence, directory."""
    lock = json.loads((ROOT / "web/package-lock.json").read_text())
    listed = []
    for path, package in sorted(lock["packages"].items()):
        if not path or package.get("dev") or package.get("optional"):
            continue
        name = path.rsplit("node_modules/", 1)[1]
        licence = package.get("license") or "NOASSERTION"
        listed.append((name, package["version"], licence, ROOT / "web" / path))
    return listed


def texts(directory):
    """The licence texts of a package."""
    pattern = re.compile(r"^(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
    if not directory.is_dir():
        return []
    files = [file for file in sorted(directory.iterdir()) if file.is_file() and pattern.match(file.name)]
    return [file.read_text(errors="replace").strip() for file in files]


def third_party(target):
    """The licences of everything that others wrote, each text once."""
    _, found, _ = crates(target)
    parts = [
        (package["name"], package["version"], package.get("license") or "see its text", Path(package["manifest_path"]).parent)
        for package in found.values()
        if package.get("source")
    ] + npm_packages()
    by_text, lines = {}, []
    for name, version, licence, directory in sorted(parts, key=lambda part: (part[0], part[1])):
        lines.append(f"{name} {version}: {licence}")
        for text in texts(directory):
            by_text.setdefault(text, []).append(f"{name} {version}")
    out = ["Toolcrib contains these works of others, under these licences:", "", *lines]
    for text, names in sorted(by_text.items(), key=lambda entry: entry[1]):
        out += ["", "=" * 79, ", ".join(sorted(set(names))), "-" * 79, text]
    return ("\n".join(out) + "\n").encode()

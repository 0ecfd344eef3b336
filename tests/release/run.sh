#!/usr/bin/env bash
# Builds a release for this machine and tries every package of it. `./test.sh release` runs it; RELEASE_TWICE=1 also compiles twice and compares,
# RELEASE_TARGETS names other targets.
set -euo pipefail
cd "$(dirname "$0")/../.."
# With RELEASE_PREBUILT=1 the packages that are there are tried.
if [ -z "${RELEASE_PREBUILT:-}" ]; then
    export RELEASE_TARGETS=${RELEASE_TARGETS:-$(uname -m)-unknown-linux-gnu}
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    missing=()
    for program in umoci:umoci skopeo:skopeo bwrap:bubblewrap systemd-analyze:systemd qemu-aarch64:qemu-user; do
        command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
    done
    if [ ${#missing[@]} -ne 0 ]; then
        # A test without its program says so.
        apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || true
    fi
fi
[ -n "${RELEASE_PREBUILT:-}" ] || ./release.sh fetch
# No network but loopback, where that can be arranged.
if [ -n "${RELEASE_PREBUILT:-}" ]; then
    ./release.sh check
elif unshare --net true 2>/dev/null; then
    unshare --net ./release.sh build
else
    ./release.sh build
fi
PYTHONDONTWRITEBYTECODE=1 target/release-tools/python/bin/python tests/release/main.py "$@"

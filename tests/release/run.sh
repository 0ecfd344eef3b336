#!/usr/bin/env bash
# Builds a release for this machine and tries every package of it. `./test.sh release` runs it; RELEASE_TWICE=1 also compiles twice and compares.
set -euo pipefail
cd "$(dirname "$0")/../.."
RELEASE_TARGETS=${RELEASE_TARGETS:-$(uname -m)-unknown-linux-gnu}
export RELEASE_TARGETS
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    missing=()
    for program in umoci systemd-analyze; do command -v $program >/dev/null || missing+=("${program/systemd-analyze/systemd}"); done
    [ ${#missing[@]} -eq 0 ] || apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null || true
fi
./release.sh fetch
# No network but loopback, where that can be arranged.
if unshare --net true 2>/dev/null; then unshare --net ./release.sh build; else ./release.sh build; fi
PYTHONDONTWRITEBYTECODE=1 target/release-tools/python/bin/python -m unittest discover --start-directory tests/release --verbose

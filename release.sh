#!/usr/bin/env bash
# Builds what is released. CI uploads it and does nothing else.
#
#   ./release.sh fetch              gets the tools, into target/release-tools; needs the network
#   ./release.sh build [VERSION]    builds every package of every target in release.toml into target/packages/VERSION; needs no network
#   ./release.sh crates [upload]    packs every crate and tries to publish it, or publishes it; needs crates.io
#   ./release.sh check [VERSION]    says what is there and what keeps it from being published
#
# RELEASE_TARGETS="x86_64-unknown-linux-gnu" builds for fewer targets. RELEASE_SECRET_KEY names the minisign key that signs; without it a
# throw-away key signs, and the packages are marked so. `./test.sh release` builds for this machine and tries every package.
set -euo pipefail
cd "$(dirname "$0")"
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "release.sh needs python3, 3.11 or newer" >&2
    exit 1
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 scripts/release/main.py "$@"

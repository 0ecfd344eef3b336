#!/usr/bin/env bash
# Real MCP clients against the real program, over pipes and HTTP, in every era that each of them knows.
#
#   tests/clients/run.sh TOOLCRIB python VENV      the Python client, installed in VENV
#   tests/clients/run.sh TOOLCRIB node NODE_DIR    both TypeScript clients and the Inspector; NODE_DIR has `node` (22 or newer) and `npm`
#
# Downloads go below target/clients, as the lock file in npm/ says.
set -euo pipefail
toolcrib=$(realpath "$1")
readonly toolcrib leg=$2
tool_dir=$(realpath "$3")
cd "$(dirname "$0")/../.."
readonly from=tests/clients place=$PWD/target/clients

case $leg in
python)
    PYTHONDONTWRITEBYTECODE=1 "$tool_dir/bin/python" "$from/python/client.py" "$toolcrib"
    ;;
node)
    export PATH="$tool_dir:$PATH"
    if ! cmp -s "$from/npm/package-lock.json" "$place/fetched.json"; then
        rm -rf "$place"
        mkdir -p "$place"
        cp "$from/npm/package.json" "$from/npm/package-lock.json" "$from/npm/.npmrc" "$place/"
        # Not `npm ci`: it wants the builds of a bundler, which no one here uses, for every other machine to be in the lock file.
        (cd "$place" && npm install --ignore-scripts --silent)
        cp "$from/npm/package-lock.json" "$place/fetched.json"
    fi
    # Beside what they import.
    cp "$from"/node/*.mjs "$place/"
    node "$place/client.mjs" "$toolcrib" client
    node "$place/client.mjs" "$toolcrib" sdk
    node "$place/inspector.mjs" "$toolcrib"
    ;;
*)
    echo "no such leg: $leg" >&2
    exit 2
    ;;
esac

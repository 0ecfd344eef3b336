#!/usr/bin/env bash
# Fetches the reference MCP servers, as the lock files here say, below target/servers.
#
#   tests/servers/fetch.sh node NODE_DIR    everything, filesystem and memory, from npm
#   tests/servers/fetch.sh python           git, fetch, time and sqlite, from PyPI
set -euo pipefail
leg=$1 tool_dir=$(realpath "${2:-.}")
cd "$(dirname "$0")/../.."
readonly from=tests/servers place=$PWD/target/servers
mkdir -p "$place"

# A virtual environment with the packages of a file.
venv() {
    local venv=$place/$1 file=$from/$1.txt
    if ! cmp -s "$file" "$venv/fetched.txt"; then
        rm -rf "$venv"
        python3 -m venv "$venv" >/dev/null
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$file"
        cp "$file" "$venv/fetched.txt"
    fi
}

case $leg in
node)
    export PATH="$tool_dir:$PATH"
    if ! cmp -s "$from/npm/package-lock.json" "$place/npm/fetched.json"; then
        rm -rf "$place/npm"
        mkdir -p "$place/npm"
        cp "$from/npm/package.json" "$from/npm/package-lock.json" "$from/npm/.npmrc" "$place/npm/"
        (cd "$place/npm" && npm ci --ignore-scripts --silent)
        cp "$from/npm/package-lock.json" "$place/npm/fetched.json"
    fi
    ;;
python)
    venv python
    # It wants an older library than the others.
    venv sqlite
    ;;
*)
    echo "no such leg: $leg" >&2
    exit 2
    ;;
esac

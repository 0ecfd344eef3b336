#!/usr/bin/env bash
# The reference MCP servers, as they come from npm and PyPI, behind the wall of `toolcrib upstream add`.
#
#   tests/servers/run.sh TOOLCRIB node NODE_DIR    those of npm; NODE_DIR has `node` and `npm`
#   tests/servers/run.sh TOOLCRIB python           those of PyPI
#
# `fetch.sh` has fetched them. The checks speak with nothing but loopback.
set -euo pipefail
toolcrib=$(realpath "$1")
readonly toolcrib leg=$2
tool_dir=$(realpath "${3:-.}")
cd "$(dirname "$0")/../.."
if [ "$leg" = node ]; then export PATH="$tool_dir:$PATH"; fi
PYTHONDONTWRITEBYTECODE=1 python3 tests/servers/servers.py "$toolcrib" target/servers "$leg"

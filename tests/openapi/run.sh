#!/usr/bin/env bash
# Other people's tools read the served description: two linters find nothing, and two generators make clients that call a tool of a real server.
#
#   tests/openapi/run.sh TOOLCRIB python VENV      openapi-python-client, installed in VENV
#   tests/openapi/run.sh TOOLCRIB node NODE_DIR    redocly, spectral and openapi-typescript; NODE_DIR has `node` (22 or newer) and `npm`
#
# Downloads go below target/openapi, as the lock file in npm/ says.
set -euo pipefail
toolcrib=$(realpath "$1")
readonly toolcrib leg=$2
tool_dir=$(realpath "$3")
cd "$(dirname "$0")/../.."
readonly from=$PWD/tests/openapi fetched=$PWD/target/openapi

place=$(mktemp -d)
server=
end() {
    # It writes to its home until it has ended.
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$place"
}
trap end EXIT

# Starts a server in a home and a workspace that are thrown away, and takes its description from it.
serve() {
    mkdir "$place/project"
    echo 'hello from a file' >"$place/project/hello.txt"
    export TOOLCRIB_HOME=$place/home
    "$toolcrib" --workspace "$place/project" serve --addr 127.0.0.1:0 2>"$place/said" &
    server=$!
    for _ in $(seq 300); do
        TOOLCRIB_SERVER=$(sed -n 's/^listening on \(http.*\)$/\1/p' "$place/said")
        [ -n "$TOOLCRIB_SERVER" ] && break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    [ -n "$TOOLCRIB_SERVER" ] || { cat "$place/said" >&2; exit 1; }
    TOOLCRIB_TOKEN=$(cat "$TOOLCRIB_HOME/token")
    export TOOLCRIB_SERVER TOOLCRIB_TOKEN
    # By the address that people try first.
    curl -sfL -H "Authorization: Bearer $TOOLCRIB_TOKEN" -o "$place/openapi.json" "$TOOLCRIB_SERVER/openapi.json"
}

case $leg in
python)
    serve
    # It fails on every warning: what it cannot read, it leaves out.
    "$tool_dir/bin/openapi-python-client" generate --path "$place/openapi.json" --meta none --config "$from/python.yaml" \
        --output-path "$place/toolcrib_client" --fail-on-warning >"$place/printed" 2>&1 || { cat "$place/printed" >&2; exit 1; }
    PYTHONPATH=$place PYTHONDONTWRITEBYTECODE=1 "$tool_dir/bin/python" "$from/client.py"
    ;;
node)
    export PATH="$tool_dir:$PATH" REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
    if ! cmp -s "$from/npm/package-lock.json" "$fetched/fetched.json"; then
        rm -rf "$fetched"
        mkdir -p "$fetched"
        cp "$from/npm/package.json" "$from/npm/package-lock.json" "$from/npm/.npmrc" "$fetched/"
        (cd "$fetched" && npm ci --ignore-scripts --silent)
        cp "$from/npm/package-lock.json" "$fetched/fetched.json"
    fi
    serve
    cd "$fetched"
    bin=node_modules/.bin
    "$bin/redocly" lint "$place/openapi.json" --config "$from/redocly.yaml" --max-problems 50 >"$place/printed" 2>&1 || { cat "$place/printed" >&2; exit 1; }
    if grep -qE '^(error|warning) |^You have .* warning' "$place/printed"; then
        cat "$place/printed" >&2
        exit 1
    fi
    echo "redocly: no problem"
    "$bin/spectral" lint "$place/openapi.json" --ruleset "$from/spectral.yaml" --fail-severity hint >"$place/printed" 2>&1 || { cat "$place/printed" >&2; exit 1; }
    echo "spectral: no problem"
    "$bin/openapi-typescript" "$place/openapi.json" --output schema.ts >/dev/null 2>&1
    # Beside what it imports.
    cp "$from/client.ts" .
    "$bin/tsc" --strict --exactOptionalPropertyTypes --target es2022 --module nodenext --skipLibCheck --outDir built client.ts
    node built/client.js
    ;;
*)
    echo "no such leg: $leg" >&2
    exit 2
    ;;
esac

#!/usr/bin/env bash
# Runs the protocol's own conformance suites against what is built here.
#
#   tests/conformance/run.sh NODE_DIR LEG…       LEG is `server`, `serve` or `client`; NODE_DIR has `node` (22 or newer) and `npm` as commands
#
# Everything fetched and written goes below target/conformance. The lock files beside this script say which suites.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly node_dir=$1
shift
readonly place=$PWD/target/conformance
export PATH="$node_dir:$PATH"

# Fetches a suite if it is not there as its lock file says.
fetch() {
    local suite=$1 from=tests/conformance/npm/$1 to=$place/$1
    cmp -s "$from/package-lock.json" "$to/fetched.json" && return 0
    rm -rf "$to"
    mkdir -p "$to"
    cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$to/"
    (cd "$to" && npm ci --ignore-scripts --silent)
    cp "$from/package-lock.json" "$to/fetched.json"
}

# Scenarios of extensions that are not built here. The suites run them for information, and they are passed over.
readonly passed_over='^✗ (tasks-|auth/(client-credentials-jwt|cross-app-access|enterprise-managed-authorization|dpop|wif-jwt-bearer))'

# One run of a suite, of which every other scenario must be green.
run() {
    local suite=$1 name=$2 log=$place/$2.log status=0
    shift 2
    rm -rf "$place/results-$name"
    node "$place/$suite/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@" \
        --output-dir "$place/results-$name" >"$log" 2>&1 || status=$?
    if [ "$status" -eq 0 ] && ! grep -aE '^✗ ' "$log" | grep -avqE "$passed_over"; then
        grep -aE '^✓ .*: [0-9]+ passed' "$log" | grep -av '^✓ tasks-' |
            awk -v name="$name" '{ passed += $3 } END { printf "%s: %d scenarios, %d checks passed\n", name, NR, passed; exit NR == 0 }'
        return
    fi
    cat "$log"
    echo "$name: failed" >&2
    return 1
}

# The server: a fixture built on the code that serves a crib.
server_leg() {
    local fixture url status=0
    "${CARGO_TARGET_DIR:-target}/debug/examples/mcp-conformance" >"$place/fixture.url" &
    fixture=$!
    for _ in $(seq 200); do
        url=$(cat "$place/fixture.url")
        [ -n "$url" ] && break
        sleep 0.05
    done
    run legacy server-0.1.16-all server --url "$url" --suite all || status=1
    run modern server-2025-11-25 server --url "$url" --requirements 2025-11-25 || status=1
    run modern server-2026-07-28 server --url "$url" --requirements 2026-07-28 || status=1
    kill "$fixture" 2>/dev/null || status=1
    wait "$fixture" 2>/dev/null || true
    return "$status"
}

# The real `toolcrib serve` with its built-in tools: their list is what the schema of the protocol says, in both eras.
serve_leg() {
    local status=0
    rm -rf "$place/serve"
    mkdir -p "$place/serve/work"
    : >"$place/serve/said"
    (
        background=()
        # shellcheck disable=SC2317
        end() { for one in "${background[@]}"; do kill "$one" 2>/dev/null && wait "$one" 2>/dev/null || true; done; }
        trap end EXIT
        TOOLCRIB_HOME=$place/serve/home "${CARGO_TARGET_DIR:-target}/debug/toolcrib" --workspace "$place/serve/work" \
            serve --addr 127.0.0.1:0 2>"$place/serve/said" &
        background+=($!)
        printed "$place/serve/said" 's/^listening on \(http.*\)$/\1/p'
        : >"$place/serve/proxy"
        node tests/conformance/with-token.mjs "$url" "$(cat "$place/serve/home/token")" >"$place/serve/proxy" &
        background+=($!)
        printed "$place/serve/proxy" p
        for version in 2025-11-25 2026-07-28; do
            lists "$version" || status=1
        done
        exit "$status"
    )
}

# Waits for an address in a file, which then is in `url`.
printed() {
    for _ in $(seq 300); do
        url=$(sed -n "$2" "$1")
        [ -n "$url" ] && return 0
        sleep 0.1
    done
    cat "$1" >&2
    return 1
}

# One scenario, of which every check must be green; the check of the schema must be among them.
lists() {
    local results=$place/results-serve-$1 log=$place/serve-$1.log
    rm -rf "$results"
    if node "$place/modern/node_modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$url/mcp" --scenario tools-list \
        --spec-version "$1" --output-dir "$results" >"$log" 2>&1 &&
        node -e '
            const checks = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
            const isGreen = (check) => check.status === "SUCCESS" || check.status === "INFO";
            const hasSchema = checks.some((check) => check.id === "wire-schema-valid");
            if (!hasSchema || !checks.every(isGreen)) process.exit(1);
            console.log(`serve-${process.argv[2]}: 1 scenario, ${checks.length} checks passed`);
        ' "$results"/*/checks.json "$1"; then
        return 0
    fi
    cat "$log"
    echo "serve-$1: failed" >&2
    return 1
}

# The client: a fixture on the library's client, which the suite starts once a scenario. Extensions that are not built here are run for
# information: keys of clients (JWT), other people's identities, proofs of possession.
client_leg() {
    local client=${CARGO_TARGET_DIR:-$PWD/target}/debug/examples/conformance-client status=0
    run legacy client-0.1.16-all client --command "$client" --suite all \
        --expected-failures tests/conformance/extensions.yaml || status=1
    run modern client-2025-11-25 client --command "$client" --requirements 2025-11-25 || status=1
    run modern client-2026-07-28 client --command "$client" --requirements 2026-07-28 || status=1
    return "$status"
}

# With the features of the tests, so that nothing is compiled twice.
cargo build --quiet --locked --workspace --all-features --bins --examples
mkdir -p "$place"
fetch legacy
fetch modern
for leg in "$@"; do
    "${leg}_leg"
done

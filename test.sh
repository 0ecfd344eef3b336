#!/usr/bin/env bash
# The one test command: installs what is missing, runs everything, says how long each part took.
#
#   ./test.sh            everything but the fuzz targets, which need a nightly compiler and minutes
#   ./test.sh NAME…      only the parts named: fmt clippy test doctest docs examples schemathesis bench deny fuzzcheck fuzz
set -euo pipefail
cd "$(dirname "$0")"

readonly NEXTEST=0.9.143 DENY=0.20.2 SCHEMATHESIS=4.32.5
started=$SECONDS
skipped=()
timings=()

part() {
    local name=$1 begun=$SECONDS
    shift
    printf '\n==> %s: %s\n' "$name" "$*"
    "$@"
    timings+=("$(printf '%-9s %4d s' "$name" $((SECONDS - begun)))")
}

wanted() {
    [ "${#only[@]}" -eq 0 ] && return 0
    local name
    for name in "${only[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}

skip() {
    skipped+=("$1: $2")
    printf '\n==> SKIPPED %s: %s\n' "$1" "$2"
}

# Fetches a cargo command that is not there. A debug build: it is used once, and builds in a third of the time.
need() {
    command -v "cargo-$1" >/dev/null || cargo install "cargo-$1" --version "$2" --locked --debug
}

# Fetches programs that tests and benchmarks use. A test without its program says SKIPPED and why.
programs() {
    local program missing=()
    for program in bwrap:bubblewrap curl:curl git:git python3:python3 setpriv:util-linux script:bsdutils ps:procps; do
        command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
    done
    [ "${#missing[@]}" -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        skip "programs" "${missing[*]} cannot be installed here; tests that need them say so"
        return 0
    fi
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        skip "programs" "installing ${missing[*]} failed; tests that need them say so"
}

fuzz() {
    local target
    for target in $(sed -n 's/^name = "\(.*\)"$/\1/p' fuzz/Cargo.toml | tail -n +2); do
        cargo +nightly fuzz run "$target" -- -max_total_time=10 -max_len=65536 -timeout=10
    done
}

examples() {
    local example
    for example in embed custom_tool providers; do
        cargo run --quiet -p toolcrib --features testing --example "$example" >/dev/null
        echo "example $example ran"
    done
    cargo run --quiet -p toolcrib-sandbox --example walled -- process true 2>/dev/null
    echo "example walled ran"
    callers
}

# Programs in other languages that use the server, each against one of its own.
callers() {
    local try=examples/rest/try.sh toolcrib
    if ! command -v curl >/dev/null; then
        skip "examples of callers" "they need curl, to answer what they ask"
        return 0
    fi
    cargo build --quiet --locked -p toolcrib-cli
    toolcrib=${CARGO_TARGET_DIR:-target}/debug/toolcrib
    if python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        $try "$toolcrib" Python python3 examples/rest/python/caller.py
        echo "example caller.py ran"
    else
        skip "example caller.py" "needs Python 3.10 or newer"
    fi
    if ! command -v npm >/dev/null; then
        skip "example caller.ts" "needs npm (Node 20 or newer)"
    elif ! (cd examples/rest/typescript && npm ci --silent --no-audit --no-fund); then
        skip "example caller.ts" "npm could not fetch the compiler"
    else
        (cd examples/rest/typescript && npm run --silent build)
        $try "$toolcrib" TypeScript node examples/rest/typescript/dist/caller.js
        echo "example caller.ts ran"
    fi
}

# A Python of its own with schemathesis in it. What went wrong, if anything, is on stdout.
schemathesis_venv() {
    local venv=$1
    [ -x "$venv/bin/st" ] && return 0
    command -v python3 >/dev/null || { echo "needs python3"; return 1; }
    rm -rf "$venv"
    python3 -m venv "$venv" >/dev/null 2>&1 || { echo "python3 cannot make a venv (Debian: python3-venv)"; return 1; }
    "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$SCHEMATHESIS" >/dev/null 2>&1 ||
        { rm -rf "$venv"; echo "schemathesis $SCHEMATHESIS cannot be had from PyPI"; return 1; }
}

# A real server in a home that is thrown away, asked everything that its own description allows and much that it does not.
schemathesis() {
    local venv=$1 place server url token=schemathesis-throw-away-token status=0
    cargo build --quiet --locked -p toolcrib-cli
    place=$(mktemp -d)
    mkdir "$place/home" "$place/work"
    # Nobody answers here: what asks gives up soon.
    printf '[approvals]\nexpiresMs = 300\n' >"$place/home/config.toml"
    HOME=$place TOOLCRIB_TOKEN=$token target/debug/toolcrib --home "$place/home" --workspace "$place/work" \
        serve --addr 127.0.0.1:0 2>"$place/log" &
    server=$!
    for _ in $(seq 300); do
        url=$(sed -n 's/^listening on \(http.*\)$/\1/p' "$place/log")
        [ -n "$url" ] && break
        kill -0 "$server" 2>/dev/null || break
        sleep 0.1
    done
    if [ -z "$url" ]; then
        cat "$place/log" >&2
        echo "the server did not start" >&2
        kill "$server" 2>/dev/null || true
        return 1
    fi
    # `/api/events` never ends; the tests in process read it. The command line has no way to follow a stream, so it is left out here.
    SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=crates/toolcrib-server/tests PYTHONDONTWRITEBYTECODE=1 \
        "$venv/bin/st" run --no-color "$url/api/openapi.json" \
        --header "Authorization: Bearer $token" --exclude-path /api/events \
        --phases examples,coverage,fuzzing --max-examples 40 --seed 8 --workers 1 --request-timeout 20 --continue-on-failure --warnings off \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,missing_required_header,unsupported_method,allow_header_conformance,ignored_auth ||
        status=$?
    kill -0 "$server" 2>/dev/null || { echo "the server did not survive" >&2; status=1; }
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    if [ "$status" -ne 0 ]; then tail -n 50 "$place/log" >&2; fi
    rm -rf "$place"
    return "$status"
}

only=("$@")
export RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

if wanted fmt; then
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    part fmt cargo fmt --all --check
fi
if wanted clippy; then
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
    part clippy cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
fi
if wanted test || wanted bench; then programs; fi
if wanted test; then
    need nextest $NEXTEST
    # A test that could not run here passes; what it says is kept here.
    TOOLCRIB_TEST_SKIPPED=$(mktemp)
    export TOOLCRIB_TEST_SKIPPED
    part test cargo nextest run --workspace --all-features --locked
    while IFS= read -r line; do skip "${line%%: *}" "${line#*: }"; done < <(sort -u "$TOOLCRIB_TEST_SKIPPED")
    rm -f "$TOOLCRIB_TEST_SKIPPED"
fi
if wanted doctest; then part doctest cargo test --doc --workspace --all-features --locked; fi
if wanted docs; then part docs cargo doc --workspace --all-features --no-deps --locked; fi
if wanted examples; then part examples examples; fi
if wanted schemathesis; then
    venv=$PWD/target/schemathesis-$SCHEMATHESIS
    if why=$(schemathesis_venv "$venv"); then
        part schemathesis schemathesis "$venv"
    else
        skip schemathesis "$why; the tests in process hold the server against its description, too"
    fi
fi
# Benchmarks are run once through, so that they keep working; `cargo bench` measures.
if wanted bench; then part bench cargo test --benches --workspace --all-features --locked; fi
if wanted deny; then
    need deny $DENY
    part deny cargo deny --all-features check licenses bans sources
fi
# That the fuzz targets build, which a stable compiler can tell.
if wanted fuzzcheck; then part fuzzcheck cargo check --manifest-path fuzz/Cargo.toml --locked; fi
if [ "${#only[@]}" -eq 0 ]; then
    skip fuzz "./test.sh fuzz runs it; the property tests, which cover the same parsers, ran"
elif wanted fuzz; then
    if ! cargo +nightly --version >/dev/null 2>&1; then
        skip fuzz "needs a nightly compiler (rustup toolchain install nightly); the property tests ran"
    elif ! command -v cargo-fuzz >/dev/null && ! cargo install cargo-fuzz --locked --debug; then
        skip fuzz "cargo-fuzz could not be installed; the property tests ran"
    else
        part fuzz fuzz
    fi
fi

printf '\n'
printf '%s\n' "${timings[@]}"
for line in "${skipped[@]}"; do printf 'skipped   %s\n' "$line"; done
printf 'passed in %d s\n' $((SECONDS - started))

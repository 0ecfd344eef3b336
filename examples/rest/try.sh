#!/usr/bin/env bash
# Runs a caller against its own server, answers what it asks, and compares what it prints.
#
#   try.sh TOOLCRIB LANGUAGE COMMAND…
set -euo pipefail
toolcrib=$(realpath "$1") language=$2
shift 2

place=$(mktemp -d)
server=
end() {
    # It writes to its home until it has ended.
    [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
    rm -rf "$place"
}
trap end EXIT

mkdir "$place/project"
export TOOLCRIB_HOME=$place/home
cd "$place/project"
TOOLCRIB_SERVER_ACCESS_LOG=off "$toolcrib" serve --addr 127.0.0.1:0 2>"$place/said" &
server=$!
for _ in $(seq 300); do
    url=$(sed -n 's/^listening on //p' "$place/said")
    [ -n "$url" ] && break
    sleep 0.1
done
[ -n "$url" ] || { cat "$place/said" >&2; exit 1; }

ask() { curl -sf -H "Authorization: Bearer $(cat "$TOOLCRIB_HOME/token")" -H 'Content-Type: application/json' "$@"; }
field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d'"' -f4; }

token=$(ask -d '{"name": "example"}' "$url/api/clients" | field token)
(cd - >/dev/null && TOOLCRIB_SERVER=$url TOOLCRIB_TOKEN=$token exec timeout 60 "$@") >"$place/printed" &
caller=$!
for _ in $(seq 300); do
    kill -0 "$caller" 2>/dev/null || break
    question=$(ask "$url/api/approvals?status=pending")
    id=$(field id <<<"$question") || id=
    if [ -n "$id" ]; then
        digest=$(field argsDigest <<<"$question")
        ask -o /dev/null -d "{\"approved\": true, \"argsDigest\": \"$digest\"}" "$url/api/approvals/$id"
        break
    fi
    sleep 0.1
done
wait "$caller" || { cat "$place/printed" >&2; exit 1; }

expected="read_file: hello from $language
shell: one two
shell: exit 0
read_file: FILE_NOT_FOUND
delete_file: waits for approval
delete_file: done"
# What a shell prints may come in one piece or in two.
printed=$(sed -n '2,$p' "$place/printed" | sed 'N;s/shell: one\nshell: two/shell: one two/;P;D')
if [ "$printed" != "$expected" ]; then
    diff <(echo "$expected") <(echo "$printed") >&2
    exit 1
fi
[ ! -e hello.txt ] || { echo "hello.txt is still there" >&2; exit 1; }

# Without a token, and without a server, a caller says what to do, in one line.
for missing in TOOLCRIB_TOKEN= TOOLCRIB_SERVER=http://127.0.0.1:1; do
    if (cd - >/dev/null && env TOOLCRIB_TOKEN="$token" "$missing" timeout 60 "$@") >/dev/null 2>"$place/said"; then
        echo "with $missing it says nothing" >&2
        exit 1
    fi
    [ "$(wc -l <"$place/said")" = 1 ] || { cat "$place/said" >&2; exit 1; }
done

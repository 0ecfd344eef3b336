#!/bin/sh
# Installs Toolcrib for this user: finds the build for this machine, verifies it, and puts it into ~/.local/bin.
#
#   curl -fsSL BASE-URL/latest/download/install.sh | sh
#   sh install.sh [--version 1.2.3] [--to DIR] [--require-signature] [--from BASE-URL] [--file ARCHIVE] [--uninstall]
#
# The sha256 is always verified, the signature if minisign is installed: then an archive that was fetched without one is refused. --file installs
# an archive that is here already, with ARCHIVE.sha256 (and ARCHIVE.minisig) beside it, without a network. Nothing but DIR and the temporary
# directory is written.
set -eu

base='@BASE_URL@'
public_key='@PUBLIC_KEY@'
from_source='cargo install toolcrib-cli builds it from source where Rust 1.95 and Linux are'

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "toolcrib: $*"
    exit 1
}

# Everything is in functions that the last line starts: of a script that was cut off on its way, nothing runs.
main() {
    version='' to='' require='' file='' uninstall=''
    while [ $# -gt 0 ]; do
        case $1 in
        --version | --to | --from | --file)
            [ $# -ge 2 ] || fail "$1 needs a value"
            case $1 in
            --version) version=${2#v} ;;
            --to) to=$2 ;;
            --from) base=${2%/} ;;
            --file) file=$2 ;;
            esac
            shift
            ;;
        --require-signature) require=yes ;;
        --uninstall) uninstall=yes ;;
        -h | --help)
            say "usage: install.sh [--version VERSION] [--to DIR] [--require-signature] [--from BASE-URL] [--file ARCHIVE] [--uninstall]"
            exit 0
            ;;
        *) fail "unknown option $1; --help shows the options" ;;
        esac
        shift
    done
    if [ -z "$to" ]; then
        [ -n "${HOME:-}" ] || fail "HOME is not set; say where to install with --to DIR"
        to=$HOME/.local/bin
    fi

    if [ -n "$uninstall" ]; then
        [ -e "$to/toolcrib" ] || fail "there is no $to/toolcrib"
        rm -f "$to/toolcrib"
        say "removed $to/toolcrib; your tools, settings and records stay in ${TOOLCRIB_HOME:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/toolcrib}"
        exit 0
    fi

    find_target
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    fetch
    verify
    install
}

# The machine, as the archives name it.
find_target() {
    system=$(uname -s)
    machine=$(uname -m)
    case $system in
    Linux) ;;
    *) fail "there is no build for $system yet, only for Linux" ;;
    esac
    case $machine in
    x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
    *) fail "there is no build for $machine, only for x86_64 and aarch64; $from_source" ;;
    esac
    glibc=''
    for loader in /lib*/ld-linux* /lib/*/ld-linux* /usr/lib*/ld-linux*; do
        if [ -e "$loader" ]; then glibc=yes; fi
    done
    if [ -z "$glibc" ]; then
        fail "the builds need glibc, and this system has another C library; $from_source"
    fi
}

# Gets a URL into a file.
get() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 2 --connect-timeout 10 -o "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -T 30 -O "$2" "$1"
    else
        fail "curl or wget is needed"
    fi
}

# Puts the archive, its digest and its signature into $work.
fetch() {
    if [ -n "$file" ]; then
        name=$(basename "$file")
        cp "$file" "$work/$name" || fail "cannot read $file"
        cp "$file.sha256" "$work/$name.sha256" 2>/dev/null || fail "$file.sha256 must be beside it"
        cp "$file.minisig" "$work/$name.minisig" 2>/dev/null || :
        return 0
    fi
    [ -n "$base" ] || fail "this copy does not say where the builds are; use --from BASE-URL or --file ARCHIVE"
    if [ -z "$version" ]; then
        get "$base/latest/download/latest" "$work/latest" || fail "cannot reach $base"
        version=$(cat "$work/latest")
    fi
    case $version in
    '' | *[!0-9a-z.-]*) fail "\`$version\` is not a version" ;;
    esac
    name=toolcrib-$version-$target.tar.gz
    place=$base/download/v$version
    say "fetches $name"
    get "$place/$name" "$work/$name" || fail "$place has no $name"
    get "$place/$name.sha256" "$work/$name.sha256" || fail "$place has no $name.sha256"
    get "$place/$name.minisig" "$work/$name.minisig" 2>/dev/null || rm -f "$work/$name.minisig"
}

unsigned() {
    [ -z "$require" ] || fail "$1, and --require-signature is set; nothing was installed"
    say "verified by sha256 only: $1"
}

# The digest, always; the signature, where it can be.
verify() {
    wanted=$(cut -d' ' -f1 <"$work/$name.sha256")
    if command -v sha256sum >/dev/null 2>&1; then
        found=$(sha256sum "$work/$name" | cut -d' ' -f1)
    elif command -v shasum >/dev/null 2>&1; then
        found=$(shasum -a 256 "$work/$name" | cut -d' ' -f1)
    else
        fail "sha256sum is needed to verify the archive"
    fi
    [ "${#wanted}" -eq 64 ] && [ "$found" = "$wanted" ] ||
        fail "$name is not what was published: its sha256 is $found, not $wanted; nothing was installed"

    if ! command -v minisign >/dev/null 2>&1; then
        unsigned "minisign is not installed"
    elif [ "${public_key#RW}" = "$public_key" ]; then
        unsigned "this copy of the installer has no public key"
    elif [ ! -s "$work/$name.minisig" ]; then
        # Every release is signed: on its way, a signature is lost only if someone takes it away.
        [ -n "$file" ] || fail "$place has no $name.minisig, and every release is signed; nothing was installed"
        unsigned "there is no $name.minisig beside it"
    elif minisign -V -q -P "$public_key" -m "$work/$name" -x "$work/$name.minisig" >/dev/null 2>&1; then
        say "verified by sha256 and signature"
    else
        fail "the signature of $name is wrong; nothing was installed"
    fi
}

install() {
    tar -xzf "$work/$name" -C "$work" || fail "$name cannot be unpacked"
    binary=$work/${name%.tar.gz}/toolcrib
    [ -f "$binary" ] || fail "$name has no toolcrib in it"
    chmod 755 "$binary"
    said=$("$binary" --version) || fail "the new toolcrib does not run on this machine; nothing was installed"
    mkdir -p "$to" || fail "cannot make $to"
    # A rename: a toolcrib that runs keeps its file.
    cp "$binary" "$to/.toolcrib.$$" && mv -f "$to/.toolcrib.$$" "$to/toolcrib" || {
        rm -f "$to/.toolcrib.$$"
        fail "cannot write $to/toolcrib"
    }
    say "installed $said as $to/toolcrib"
    case ":${PATH:-}:" in
    *":$to:"*) ;;
    *) say "put it on your path: echo 'export PATH=\"$to:\$PATH\"' >> ~/.profile" ;;
    esac
    say "next:"
    say "  toolcrib doctor                  check this machine"
    say "  toolcrib connect claude-code     give an agent your tools (\`toolcrib connect\` lists the clients)"
    say "  toolcrib serve --open            the web page"
}

main "$@"

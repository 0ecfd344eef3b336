//! Paths that are readable besides the workspace: programs, libraries, the harmless part of `/etc`, and toolchains at home.
//!
//! These are lists of what is wanted; what does not exist is left out. Nothing here holds keys or credentials: of a
//! directory that mixes them with programs (`~/.cargo`) only the parts without are named.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// Directories of programs and libraries.
const PROGRAMS: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
];

/// What programs read of `/etc` to start, to find names, certificates and the time zone. No `shadow`, no keys.
const ETC: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "default/locale",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xdg",
];

/// Toolchains and settings beneath the home directory.
const HOME: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno/bin",
    ".gitconfig",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nix-profile",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman/candidates",
    ".volta",
    "go/bin",
    "go/pkg",
];

/// What of cargo's home is shown. Credentials are in none of these.
const CARGO: &[&str] = &[
    "bin",
    "env",
    "git/checkouts",
    "git/db",
    "registry/cache",
    "registry/index",
    "registry/src",
];

/// The system's part: programs, libraries and `/etc`, as far as they exist.
pub fn system() -> Vec<PathBuf> {
    let etc = ETC.iter().map(|name| Path::new("/etc").join(name));
    PROGRAMS
        .iter()
        .map(PathBuf::from)
        .chain(etc)
        .filter(|path| path.symlink_metadata().is_ok())
        .collect()
}

/// Toolchains beneath this home directory, as far as they exist.
pub fn toolchains(home: &Path) -> Vec<PathBuf> {
    HOME.iter()
        .map(|name| home.join(name))
        .chain(cargo(&home.join(".cargo")))
        .filter(|path| path.exists())
        .collect()
}

fn cargo(home: &Path) -> impl Iterator<Item = PathBuf> {
    CARGO.iter().map(|name| home.join(name))
}

/// Both, for the caller's home directory.
pub(crate) fn readable() -> Vec<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let mut paths = system();
    paths.extend(absolute("HOME").iter().flat_map(|home| toolchains(home)));
    // Where a toolchain of Rust is that is not in its usual place.
    let elsewhere = absolute("CARGO_HOME");
    let elsewhere = elsewhere.iter().flat_map(|home| cargo(home));
    let elsewhere = elsewhere.chain(absolute("RUSTUP_HOME"));
    paths.extend(elsewhere.filter(|path| path.exists()));
    paths
}

/// A readable path as the sandbox shows it: links as links, with what they lead to beside them.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// A symbolic link at the first path that says the second.
    Link(PathBuf, PathBuf),
    /// A file or directory at its own place.
    Real(PathBuf),
}

/// What has to be shown so that these paths can be used, without what lies beneath another of them anyway.
pub(crate) fn shown(paths: &[PathBuf]) -> Vec<Shown> {
    let mut links = BTreeSet::new();
    let mut real = BTreeSet::new();
    for path in paths {
        follow(path, &mut links, &mut real);
    }
    let covered = |path: &Path| path.ancestors().skip(1).any(|above| real.contains(above));
    let links = links
        .iter()
        .filter(|(path, _)| !covered(path))
        .cloned()
        .map(|(path, to)| Shown::Link(path, to));
    links
        .chain(
            real.iter()
                .filter(|path| !covered(path))
                .cloned()
                .map(Shown::Real),
        )
        .collect()
}

/// Follows links one by one; forty is the kernel's own bound.
fn follow(path: &Path, links: &mut BTreeSet<(PathBuf, PathBuf)>, real: &mut BTreeSet<PathBuf>) {
    let mut path = path.to_owned();
    for _ in 0..40 {
        // Links further up (`/var/run` in `/var/run/x`) are resolved by the system; only the last part stays as it is.
        if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
            && let Ok(parent) = parent.canonicalize()
        {
            path = parent.join(name);
        }
        let Ok(to) = path.read_link() else { break };
        let next = path.parent().unwrap_or(Path::new("/")).join(&to);
        links.insert((path, to));
        path = next;
    }
    if let Ok(path) = path.canonicalize() {
        real.insert(path);
    }
}
/// Why a place, given without links, cannot be writable behind a wall, in words that follow the place.
pub fn writable_refusal(place: &Path) -> Option<&'static str> {
    let is_system = ["/proc", "/sys", "/dev"]
        .iter()
        .any(|system| place.starts_with(system));
    (place == Path::new("/") || (is_system && !place.starts_with("/dev/shm")))
        .then_some("cannot be writable behind a wall; name a directory of files")
}

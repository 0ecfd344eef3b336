//! Passes the order of functions that `scripts/dist` found to the linker, and what `--version --json` says of the build to the compiler.
//!
//! The order not by RUSTFLAGS: those change the names of all functions, and compile everything again. The commit is `TOOLCRIB_COMMIT`, which
//! `release.sh` sets, or what cargo noted in a published crate. It is not asked of git: then each commit would link every build again.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TOOLCRIB_LINK_ORDER");
    if let Ok(file) = std::env::var("TOOLCRIB_LINK_ORDER") {
        println!("cargo::rerun-if-changed={file}");
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={file}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
    println!("cargo::rerun-if-env-changed=TOOLCRIB_COMMIT");
    let target = std::env::var("TARGET").expect("cargo sets it");
    println!("cargo::rustc-env=TOOLCRIB_TARGET={target}");
    let commit = std::env::var("TOOLCRIB_COMMIT").ok().or_else(published);
    println!(
        "cargo::rustc-env=TOOLCRIB_COMMIT={}",
        commit.unwrap_or_default()
    );
}

/// The commit that a published crate was made from.
fn published() -> Option<String> {
    let noted = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = noted.split_once("\"sha1\": \"")?;
    let commit: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    (commit.len() == 40).then_some(commit)
}

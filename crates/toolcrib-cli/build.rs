//! Passes the order of functions that `scripts/dist` found to the linker.
//!
//! Not by RUSTFLAGS: those change the names of all functions, and compile everything again.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TOOLCRIB_LINK_ORDER");
    if let Ok(file) = std::env::var("TOOLCRIB_LINK_ORDER") {
        println!("cargo::rerun-if-changed={file}");
        println!("cargo::rustc-link-arg-bins=-Wl,--symbol-ordering-file={file}");
        println!("cargo::rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
}

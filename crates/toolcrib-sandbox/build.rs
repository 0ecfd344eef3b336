//! Compiles `init/main.rs`, the first process of every sandbox, into a static program of a few hundred bytes of code.
//!
//! The library carries it as bytes and runs it from memory, so that an embedding program needs no helper file.

use std::{env, path::PathBuf, process::Command};

fn main() {
    println!("cargo::rerun-if-changed=init/main.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("init.elf");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let supported = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux")
        && env::var("CARGO_CFG_TARGET_ARCH")
            .is_ok_and(|arch| arch == "x86_64" || arch == "aarch64");
    println!("cargo::rustc-check-cfg=cfg(wall)");
    if !supported {
        // The library refuses to start anything there, with the reason.
        return;
    }
    println!("cargo::rustc-cfg=wall");
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc
        .args([
            "--edition=2024",
            "--crate-type=bin",
            "--crate-name=toolcrib_init",
        ])
        .args([
            "-Copt-level=s",
            "-Cpanic=abort",
            "-Crelocation-model=static",
            "-Cstrip=symbols",
            "-Cdebuginfo=0",
        ])
        .args([
            "-Cforce-unwind-tables=no",
            "-Ctarget-feature=+crt-static",
            "-Coverflow-checks=no",
        ])
        .arg(format!("--target={target}"));
    // One segment, no dynamic section, no notes: less to map, so the exec costs less.
    let wanted = [
        "-z",
        "noseparate-code",
        "-z",
        "norelro",
        "--build-id=none",
        "-static",
    ];
    let linker = env::var("RUSTC_LINKER").ok();
    match linker {
        // zig's linker takes a choice of options only. Nothing of C is linked in, so the compiler's own linker is enough.
        Some(linker) if linker.contains("zigcc") => {
            rustc.args(["-Clinker=rust-lld", "-Clinker-flavor=ld.lld"]);
            rustc.args(wanted.map(|arg| format!("-Clink-arg={arg}")));
        }
        other => {
            if let Some(linker) = other {
                rustc.arg(format!("-Clinker={linker}"));
            }
            let first = ["-nostartfiles", "-nostdlib", "-static", "-no-pie"];
            rustc.args(first.map(|arg| format!("-Clink-arg={arg}")));
            rustc.arg(format!("-Clink-arg=-Wl,{}", wanted[..5].join(",")));
        }
    }
    let status = rustc
        .arg("-o")
        .arg(&out)
        .arg("init/main.rs")
        .status()
        .expect("cannot run rustc for init/main.rs");
    assert!(
        status.success(),
        "init/main.rs does not compile for {target}: {status}"
    );
}

//! Compiles the plugin (`plugin.rs`), a shared object that `lib.rs` contains as bytes. Cargo itself cannot make it: the
//! programs of this workspace are linked statically, and a statically linked target has no shared objects.

use std::env;
use std::process::Command;

fn main() {
    for file in ["build.rs", "plugin.rs", "counting.rs", "layout.rs"] {
        println!("cargo::rerun-if-changed={file}");
    }
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"));
    let folder = variable("OUT_DIR");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["plugin.rs", "--crate-name=mcc_plugin", "--crate-type=cdylib", "--edition=2024"]);
    rustc.args(["-Copt-level=3", "-Cpanic=abort", "-Cstrip=symbols", "-Ctarget-feature=-crt-static"]);
    // No path of this computer is in the result.
    rustc.arg(format!("--remap-path-prefix={}=.", env::current_dir().expect("a folder").display()));
    rustc.arg(format!("--target={}", variable("TARGET"))).arg(format!("-o{folder}/plugin.so"));
    let status = rustc.status().expect("rustc starts");
    assert!(status.success(), "rustc cannot compile the plugin of QEMU: {status}");
}

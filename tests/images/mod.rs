//! Disks for tests that boot real machines; `scripts/setup` makes them under `build/`.

#![allow(dead_code, reason = "not every test uses everything")]

use mcc_harness::vm::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The image `build/<name>`. Its absence fails the test: `scripts/test` makes it first.
pub fn image(name: &str) -> Image {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join(name);
    Image::open(&folder).unwrap_or_else(|e| panic!("{e}; run scripts/test, which makes it"))
}

/// An image of this tool's folder on the reference disk.
pub fn with_tool(tool: &Path, out: &Path) {
    with_tool_and_packages(tool, "", out);
}

/// As `with_tool`, with these Debian packages, comma-separated, installed from Debian's mirror.
pub fn with_tool_and_packages(tool: &Path, packages: &str, out: &Path) {
    let reference = image("images/reference").folder;
    let mut build = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    build.args(["image", "build", "--reference"]).arg(reference).arg("--tool").arg(tool);
    if !packages.is_empty() {
        build.args(["--packages", packages]);
    }
    let build = build.arg("--out").arg(out).output().unwrap();
    assert!(build.status.success(), "{} (needs root)", String::from_utf8_lossy(&build.stderr));
}

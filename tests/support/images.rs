//! Disks for tests that boot real machines; `scripts/setup` builds them in `build/`.

use mcc_harness::vm::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The image `build/<name>`. Panics if it does not exist; `scripts/test` builds it before the tests.
pub fn image(name: &str) -> Image {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join(name);
    Image::open(&folder).unwrap_or_else(|e| panic!("{e}; run scripts/test, which builds it"))
}

/// Builds an image in `out` from the folder of a tool and the reference disk.
pub fn with_tool(tool: &Path, out: &Path) {
    let reference = image("images/reference").folder;
    let mut build = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    build.args(["image", "build", "--reference"]).arg(reference).arg("--tool").arg(tool);
    let build = build.arg("--out").arg(out).output().unwrap();
    assert!(build.status.success(), "{} (needs root)", String::from_utf8_lossy(&build.stderr));
}

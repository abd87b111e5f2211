//! Disks for tests that boot real machines; `scripts/setup` makes them under `build/`.

use mcc_harness::vm::Image;
use std::path::PathBuf;

/// The image `build/<name>`. Its absence fails the test: `scripts/test` makes it first.
pub fn image(name: &str) -> Image {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build").join(name);
    Image::open(&folder).unwrap_or_else(|e| panic!("{e}; run scripts/test, which makes it"))
}

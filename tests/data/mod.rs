//! Real contest data, which is read from its folder and never copied into the project.

use std::io::Write;
use std::path::PathBuf;

/// The file or folder `path` of the real data, below `MCC_HARNESS_DATA` or, without that variable, `../shared`.
///
/// Returns None and prints a line to stderr if it does not exist; the caller then returns without a test. With
/// `CI=true` missing data fails the test.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("MCC_HARNESS_DATA").map_or_else(
        || {
            let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
            package
                .ancestors()
                .find(|folder| folder.join("pnml-fixtures").is_dir())
                .unwrap()
                .join("../shared")
        },
        PathBuf::from,
    );
    let found = root.join(path);
    if found.exists() {
        return Some(found);
    }
    let advice = "set MCC_HARNESS_DATA to the folder of the real data";
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{} is missing; {advice}", found.display());
    // Not `eprintln!`, whose text the test harness hides if the test passes.
    let _ = writeln!(std::io::stderr(), "NOT RUN: {} is missing; {advice}", found.display());
    None
}

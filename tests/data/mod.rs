//! Real contest data, used by path and never copied into the project.

use std::io::Write;
use std::path::PathBuf;

/// The file or folder `path` of the real data: below `MCC_HARNESS_DATA`, else `../shared` beside the project.
///
/// None where there is no such data: the caller returns without testing anything, and this says so on stderr.
/// With `CI=true` missing data fails the test.
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
    // Past the test harness, which would swallow what a passing test says by `eprintln!`.
    let _ = writeln!(std::io::stderr(), "NOT RUN: {} is missing; {advice}", found.display());
    None
}

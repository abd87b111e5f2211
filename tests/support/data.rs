//! Real data: published facts of contests and recorded times in this folder, and larger data outside of the project.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of the project. A test of another package of the workspace has another `CARGO_MANIFEST_DIR`.
fn project() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("pnml-fixtures").is_dir()).unwrap()
}

/// The file or folder `path` of the published facts and recorded times in `tests/data`.
#[allow(dead_code, reason = "not every test program uses all functions")]
pub fn published(path: &str) -> PathBuf {
    let found = project().join("tests/data").join(path);
    assert!(found.exists(), "{} is missing", found.display());
    found
}

/// The file or folder `path` of the data outside of the project: below `MCC_HARNESS_DATA` or, without that variable, below
/// `build/data`, into which `scripts/data` fetches it, or `../shared`.
///
/// Returns None after `missing` if it does not exist; the caller then returns without a test.
#[allow(dead_code, reason = "not every test program uses all functions")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("MCC_HARNESS_DATA").map_or_else(
        || ["build/data", "../shared"].map(|folder| project().join(folder)).to_vec(),
        |folder| vec![PathBuf::from(folder)],
    );
    if let Some(found) = folders.iter().map(|folder| folder.join(path)).find(|found| found.exists()) {
        return Some(found);
    }
    let advice = "scripts/data fetches it, or set MCC_HARNESS_DATA to its folder";
    missing(&format!("{path} is missing; {advice}"));
    None
}

/// The files in the folder `path` of that data that `outside.sha256` names, by name. Other files may lie beside them.
pub fn listed(path: &str) -> Option<Vec<PathBuf>> {
    let folder = shared(path)?;
    let list = std::fs::read_to_string(published("outside.sha256")).unwrap();
    let names =
        list.lines().filter_map(|line| line.split_once("  ")?.1.strip_prefix(path)?.strip_prefix('/'));
    let mut files: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    files.sort();
    assert!(!files.is_empty(), "outside.sha256 names nothing in {path}");
    Some(files)
}

/// Like `not_run`, for something that scripts install or fetch: with `CI=true` the test fails.
#[allow(dead_code, reason = "not every test program uses all functions")]
pub fn missing(reason: &str) {
    assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "{reason}");
    not_run(reason);
}

/// States that the calling test lacks something and returns without testing. `scripts/test` counts it as not run.
#[allow(dead_code, reason = "not every test program uses all functions")]
pub fn not_run(reason: &str) {
    let line = not_run_line(reason);
    // Not `eprintln!`, whose text the test harness hides if the test passes.
    let _ = std::io::stderr().write_all(format!("NOT RUN: {line}").as_bytes());
    // Unlike the output of `cargo test`, this file has no mixed lines: each one is written by one call.
    if let Some(list) = std::env::var_os("MCC_HARNESS_NOT_RUN") {
        let mut list = File::options().append(true).open(list).unwrap();
        assert_eq!(list.write(line.as_bytes()).unwrap(), line.len());
    }
}

/// `TEST: REASON`, as `scripts/test-summary` reads it.
#[allow(dead_code, reason = "not every test program uses all functions")]
pub fn not_run_line(reason: &str) -> String {
    format!("{}: {reason}\n", std::thread::current().name().unwrap_or("a test"))
}

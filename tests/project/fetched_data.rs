//! `scripts/data` fetches data of others from a mirror and checks every file.

use assert_cmd::Command;
use mcc_harness::base::digest;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const GOOD: &str = "mcc/inputs/Good-PT-1.tgz";

/// A folder with a mirror that has the file `GOOD`, and a list of this file and of `more`.
fn mirror(more: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mirror").join(GOOD);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "model").unwrap();
    let digest = digest::bytes("model");
    fs::write(dir.path().join("list"), format!("{digest}  {GOOD}\n{more}")).unwrap();
    dir
}

fn fetch(dir: &Path) -> assert_cmd::assert::Assert {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/data");
    Command::new(script)
        .env("MCC_HARNESS_MIRROR", format!("file://{}", dir.join("mirror").display()))
        .args(["--list".as_ref(), dir.join("list").as_path(), "--to".as_ref(), dir.join("data").as_path()])
        .assert()
}

#[test]
fn files_are_fetched_from_a_mirror_once() {
    let dir = mirror("");
    let first = fetch(dir.path()).success();
    assert!(String::from_utf8_lossy(&first.get_output().stdout).contains("1 files fetched, 0 already there"));
    assert_eq!(fs::read_to_string(dir.path().join("data").join(GOOD)).unwrap(), "model");
    fs::remove_dir_all(dir.path().join("mirror")).unwrap();
    let again = fetch(dir.path()).success();
    assert!(String::from_utf8_lossy(&again.get_output().stdout).contains("0 files fetched, 1 already there"));
}

#[test]
fn a_file_with_another_digest_is_not_kept() {
    let digest = digest::bytes("another model");
    let dir = mirror(&format!("{digest}  mcc/inputs/Changed-PT-1.tgz\n"));
    fs::write(dir.path().join("mirror/mcc/inputs/Changed-PT-1.tgz"), "changed").unwrap();
    let failed = fetch(dir.path()).failure();
    let message = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(message.contains("Changed-PT-1.tgz has another digest"), "{message}");
    let names: Vec<_> = fs::read_dir(dir.path().join("data/mcc/inputs")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "only the good file: {names:?}");
}

#[test]
fn a_list_with_a_path_outside_of_its_folder_is_refused() {
    let digest = digest::bytes("model");
    let dir = mirror(&format!("{digest}  ../outside\n"));
    fs::write(dir.path().join("outside"), "model").unwrap();
    let failed = fetch(dir.path()).failure().code(2);
    assert!(
        String::from_utf8_lossy(&failed.get_output().stderr)
            .contains("not a path below a folder: ../outside")
    );
}

//! Building of disk images. It needs root and the Debian packages that scripts/setup installs.

use crate::support::images;

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn harness() -> Command {
    Command::cargo_bin("mcc-harness").unwrap()
}

fn tool(folder: &Path) {
    fs::create_dir_all(folder.join("bin")).unwrap();
    fs::write(folder.join("BenchKit_head.sh"), "#!/bin/bash\necho CANNOT_COMPUTE\n").unwrap();
    fs::write(folder.join("bin/data"), [0xff; 100_000]).unwrap();
}

#[test]
fn the_same_folders_give_identical_disks() {
    let work = tempfile::tempdir().unwrap();
    let reference = images::image("images/reference").folder;
    let digest =
        |out: &str, disk: &str| mcc_harness::base::digest::file(&work.path().join(out).join(disk)).unwrap();
    for out in ["first", "second"] {
        // The second folder has other file times and another order of creation.
        let folder = work.path().join(format!("tool-{out}"));
        tool(&folder);
        let mut build = harness();
        build.args(["image", "build", "--reference"]).arg(&reference).arg("--tool").arg(&folder);
        build.arg("--out").arg(work.path().join(out)).assert().success();
        let mut inputs = harness();
        inputs.args(["image", "inputs"]).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures"));
        inputs.arg("--out").arg(work.path().join(format!("inputs-{out}"))).assert().success();
    }
    assert_eq!(digest("first", "disk.qcow2"), digest("second", "disk.qcow2"));
    assert_eq!(digest("inputs-first", "inputs.ext4"), digest("inputs-second", "inputs.ext4"));
}

#[test]
fn folders_that_are_no_tool_or_no_image_are_rejected() {
    let work = tempfile::tempdir().unwrap();
    let reference = images::image("images/reference").folder;
    let out = work.path().join("out");
    let empty = work.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let mut build = harness();
    build
        .args(["image", "build", "--reference"])
        .arg(&reference)
        .arg("--tool")
        .arg(&empty)
        .arg("--out")
        .arg(&out);
    let said = String::from_utf8(build.assert().failure().get_output().stderr.clone()).unwrap();
    assert!(said.contains("it has no BenchKit_head.sh"), "{said}");
    assert!(!out.exists());

    tool(&work.path().join("tool"));
    let mut foreign = harness();
    foreign
        .args(["image", "build", "--reference"])
        .arg(&reference)
        .arg("--tool")
        .arg(work.path().join("tool"));
    let said = foreign.arg("--out").arg(&empty).assert().failure().get_output().stderr.clone();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("exists already and is not an image folder"), "{said}");
    let left: Vec<_> = fs::read_dir(work.path()).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the folders made here: {left:?}");
}

#[test]
fn an_image_of_version_0_1_is_read() {
    let work = tempfile::tempdir().unwrap();
    for file in ["vmlinux", "initrd"] {
        fs::write(work.path().join(file), file).unwrap();
    }
    let mut qemu_img = std::process::Command::new("qemu-img");
    let made =
        qemu_img.args(["create", "-q", "-f", "qcow2"]).arg(work.path().join("disk.qcow2")).arg("1M").status();
    assert!(made.unwrap().success());
    // The file that version 0.1 wrote for a reference image.
    let written = r#"{"format": 1, "kind": "reference", "built_by": "0.1.0", "disk": "disk.qcow2",
        "boot": {"kernel": "vmlinux", "initrd": "initrd"}, "packages": ["bash 5.2"], "rootfs_by": "ab", "instances": []}"#;
    fs::write(work.path().join("image.json"), written).unwrap();
    harness().args(["image", "inspect"]).arg(work.path()).assert().success();
}

#[test]
fn unknown_debian_packages_are_errors_with_a_remedy() {
    let work = tempfile::tempdir().unwrap();
    tool(&work.path().join("tool"));
    let mut build = harness();
    build.args(["image", "build", "--reference"]).arg(images::image("images/reference").folder);
    build.arg("--tool").arg(work.path().join("tool")).arg("--out").arg(work.path().join("out"));
    build.args(["--packages", "xz-utils,no-such-package"]);
    let said = String::from_utf8(build.assert().failure().get_output().stderr.clone()).unwrap();
    assert!(said.contains("installing the Debian packages xz-utils, no-such-package failed"), "{said}");
    assert!(said.contains("E: Unable to locate package no-such-package"), "{said}");
    assert!(said.contains("Debian 12 has no package no-such-package: correct the name"), "{said}");
    assert!(!said.contains("Reading package lists") && !work.path().join("out").exists(), "{said}");
}

#[test]
fn instances_with_errors_are_rejected_unless_accepted() {
    let work = tempfile::tempdir().unwrap();
    let models = work.path().join("models");
    fs::create_dir(&models).unwrap();
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures/TokenLoop-PT-03.tgz");
    let unpacked = work.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let run = |program: &str, args: &[&std::ffi::OsStr]| {
        assert!(std::process::Command::new(program).args(args).status().unwrap().success());
    };
    run("tar", &["-xzf".as_ref(), good.as_ref(), "-C".as_ref(), unpacked.as_ref()]);
    let model = unpacked.join("TokenLoop-PT-03/model.pnml");
    let pnml = fs::read_to_string(&model).unwrap();
    let place = pnml.split("source=\"").nth(1).unwrap().split('"').next().unwrap();
    fs::write(&model, pnml.replacen(&format!("source=\"{place}\""), "source=\"nowhere\"", 1)).unwrap();
    let archive = models.join("TokenLoop-PT-03.tgz");
    run(
        "tar",
        &["-czf".as_ref(), archive.as_ref(), "-C".as_ref(), unpacked.as_ref(), "TokenLoop-PT-03".as_ref()],
    );

    let out = work.path().join("inputs");
    let mut refused = harness();
    refused.args(["image", "inputs"]).arg(&models).arg("--out").arg(&out);
    let output = refused.assert().code(2).get_output().stderr.clone();
    let said = String::from_utf8(output).unwrap();
    let line = 1 + pnml[..pnml.find("source=\"").unwrap()].matches('\n').count();
    assert!(said.contains(&format!("model.pnml:{line}:")) && said.contains("nowhere"), "line {line}: {said}");
    assert!(said.contains("--accept-errors") && !out.exists(), "{said}");

    let mut accepted = harness();
    accepted
        .args(["image", "inputs"])
        .arg(&models)
        .arg("--out")
        .arg(&out)
        .arg("--accept-errors")
        .assert()
        .success();
    assert!(out.join("inputs.ext4").exists());
}

/// A sector that counts as a bootloader.
const BOOT_SECTOR: [u8; 512] = {
    let mut sector = [0; 512];
    (sector[0], sector[510], sector[511]) = (0xfa, 0x55, 0xaa);
    sector
};

#[test]
fn an_image_replaces_nothing_but_an_image() {
    let work = tempfile::tempdir().unwrap();
    let at = |path: &str| work.path().join(path);
    let refused = |folder: &Path, arguments: &[&str], problem: &str| {
        let output = harness().arg("image").args(arguments).current_dir(folder).assert().code(2);
        let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(error.contains(problem), "{arguments:?}: {error}");
    };
    let done = |arguments: &[&str]| {
        harness().arg("image").args(arguments).current_dir(work.path()).assert().success();
    };
    let list = |folder: &str| {
        let items = fs::read_dir(at(folder)).unwrap();
        let mut names: Vec<_> = items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let archive = "pnml-fixtures/TokenLoop-PT-03.tgz";
    fs::create_dir(at("models")).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(archive), at("models/TokenLoop-PT-03.tgz")).unwrap();
    for _ in ["new", "replaced"] {
        done(&["inputs", "models", "--out", "in"]);
    }
    let image = list("in");
    refused(&at("in"), &["inputs", "../models", "--out", "."], "contains the current folder");
    refused(&at("in/archives"), &["inputs", "../../models", "--out", ".."], "contains the current folder");
    refused(work.path(), &["inputs", "models", "--out", "new/.."], "is not the name of a new folder");
    refused(work.path(), &["inputs", "in/archives", "--out", "in"], "contains the input in/archives");
    fs::write(at("in/notes.txt"), "").unwrap();
    refused(
        work.path(),
        &["inputs", "models", "--out", "in"],
        "in/notes.txt, which is not a file of its image",
    );
    fs::remove_file(at("in/notes.txt")).unwrap();
    assert_eq!(list("in"), image);
    assert_eq!(list("."), ["in", "models"]);

    // The disk of an author, of which most is a hole.
    let disk = fs::File::create(at("raw.img")).unwrap();
    disk.set_len(1 << 30).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&disk, &BOOT_SECTOR, 0).unwrap();
    done(&["import", "raw.img", "--out", "author"]);
    let copies: Vec<_> = list("author").into_iter().filter(|name| name != "image.json").collect();
    let copy = format!("author/{}", copies[0]);
    let blocks = std::os::unix::fs::MetadataExt::blocks(&at(&copy).metadata().unwrap());
    assert!(copies.len() == 1 && blocks < 1000, "{copies:?} {blocks}");
    refused(work.path(), &["import", &copy, "--out", "author"], "contains the input");
    refused(work.path(), &["export", "author", "--vmdk", "sub/dir/"], "is the path of a folder");
    assert_eq!(list("."), ["author", "in", "models", "raw.img"]);

    tool(&at("tool"));
    let reference = images::image("images/reference").folder;
    for (size, reference, problem) in [
        ("1K", reference.to_str().unwrap(), "more than the disk of 1024"),
        ("1M", reference.to_str().unwrap(), "give a larger --size"),
        ("1G", "in", "give a reference image"),
    ] {
        let build = ["build", "--tool", "tool", "--out", "new", "--size", size, "--reference", reference];
        refused(work.path(), &build, problem);
    }
}

#[test]
fn an_export_that_cannot_fit_is_refused_before_it_is_written() {
    // It has less space than the data.
    let work = tempfile::tempdir_in("/dev/shm").unwrap();
    let disk = work.path().join("disk.qcow2");
    let mut qemu_img = std::process::Command::new("qemu-img");
    let made = qemu_img.args(["create", "-q", "-f", "qcow2"]).arg(&disk).arg("1T").status();
    assert!(made.unwrap().success());
    // All entries of a table name one cluster, and all tables are that one: a small file with 1 TiB of data.
    let mut bytes = fs::read(&disk).unwrap();
    let first = usize::try_from(u64::from_be_bytes(bytes[40..48].try_into().unwrap())).unwrap();
    let table = bytes.len().next_multiple_of(1 << 16);
    bytes.resize(table + (2 << 16), 0);
    let entry = |at: usize| ((1 << 63) | at as u64).to_be_bytes();
    let cluster = table + (1 << 16);
    bytes[table..cluster].copy_from_slice(&entry(cluster).repeat(1 << 13));
    // 1 TiB has 2048 tables of 512 MiB each.
    bytes[first..first + (1 << 14)].copy_from_slice(&entry(table).repeat(1 << 11));
    bytes[cluster..cluster + 512].copy_from_slice(&BOOT_SECTOR);
    fs::write(&disk, bytes).unwrap();
    let in_work =
        |arguments: &[&str]| harness().arg("image").args(arguments).current_dir(work.path()).assert();
    in_work(&["import", "disk.qcow2", "--out", "author"]).success();
    let failed = in_work(&["export", "author", "--vmdk", "out.vmdk"]).code(1);
    let error = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
    assert!(error.contains("bytes of data, and") && !work.path().join("out.vmdk").exists(), "{error}");
}

#[test]
fn the_facts_of_an_image_cannot_show_further_lines() {
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("disk"), "x").unwrap();
    let facts = r#"{"format":1,"kind":"inputs","built_by":"x","disk":"disk","boot":null,
        "instances":[{"instance":"a\n  Debian packages: 1","sha256":"b\nforged"}]}"#;
    fs::write(work.path().join("image.json"), facts).unwrap();
    let shown = harness().args(["image", "inspect"]).arg(work.path()).assert().success();
    let shown = String::from_utf8(shown.get_output().stdout.clone()).unwrap();
    assert!(shown.lines().count() == 3 && shown.contains("a⟨LF⟩  Debian packages"), "{shown}");
}

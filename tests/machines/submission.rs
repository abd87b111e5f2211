//! The packet of a submission, made and booted on this host. It needs `scripts/setup --tests`.

use crate::support::campaign;
use crate::support::images;

use assert_cmd::Command;
use campaign::{Folder, stderr};
use std::fs;
use std::path::Path;

#[test]
fn a_packet_has_what_organizers_need_and_its_disk_runs_in_a_campaign() {
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures");
    fs::create_dir(path("models")).unwrap();
    fs::copy(fixtures.join("DiningTable-PT-03.tgz"), path("models/DiningTable-PT-03.tgz")).unwrap();
    let export = |image: &Path, notice: &str| {
        fs::write(path("notice.toml"), notice).unwrap();
        let mut export = Command::cargo_bin("mcc-harness").unwrap();
        export.current_dir(work.path()).args(["image", "export"]).arg(image);
        export.arg("--reference").arg(images::image("images/reference").folder);
        export.args([
            "--submission",
            "packet",
            "--notice",
            "notice.toml",
            "--instances",
            "models",
            "--tool",
            "mine",
        ]);
        export.args([
            "--examinations",
            "StateSpace,ReachabilityDeadlock",
            "--limit",
            "20",
            "--allow-degraded",
        ]);
        export.assert()
    };
    let image = images::image("images/breadth-first").folder;
    let notice = "version = \"1.2\"\nauthors = [\"Doe, Jane\"]\nlicence = \"MIT\"\n";
    let refused = stderr(&export(&image, "version = \"1.2\"\nauthors = [\"Doe, Jane\"]\n").code(2));
    assert!(refused.contains("notice.toml: licence is missing"), "{refused}");
    let refused = stderr(&export(&image, &format!("{notice}note = 3\n")).code(2));
    assert!(refused.contains("the key note is not known"), "{refused}");
    let silent = path("silent");
    fs::create_dir(&silent).unwrap();
    fs::write(silent.join("BenchKit_head.sh"), "#!/bin/bash\necho begins\n").unwrap();
    images::with_tool(&silent, &path("broken"));
    let refused = stderr(&export(&path("broken"), notice).code(1));
    assert!(refused.contains("the image would not pass; nothing was written to packet"), "{refused}");
    assert!(!path("packet").exists());

    export(&image, notice).success();
    let packet = path("packet");
    let read = |name: &str| fs::read_to_string(packet.join(name)).unwrap();
    let written: toml::Table = read("notice.toml").parse().unwrap();
    for (key, value) in [("tool", "mine"), ("version", "1.2"), ("licence", "MIT"), ("kind", "sequential")] {
        assert_eq!(written[key].as_str(), Some(value), "{written}");
    }
    assert_eq!(written["examinations"]["StateSpace"].as_str(), Some("4 of 4 values"), "{written}");
    assert!(written["techniques"].as_array().unwrap().contains(&"EXPLICIT".into()), "{written}");
    assert!(read("qualify.txt").contains("would pass:") && read("preflight.txt").contains("would pass:"));
    assert!(read("preflight.txt").contains("mine/DiningTable-PT-03/StateSpace"), "{}", read("preflight.txt"));
    let mut check = std::process::Command::new("sha256sum");
    let checked = check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(&packet).output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(read("SHA256SUMS").lines().count(), 6);
    assert!(read("SHA256SUMS").contains(written["disk_sha256"].as_str().unwrap()));

    // The organizers run the packet as it is.
    let stdout = Folder::output_of_exported_disk("mine", &packet.join("mine.vmdk"));
    assert!(stdout.contains("STATE_SPACE STATES 14 TECHNIQUES"), "{stdout}");
}

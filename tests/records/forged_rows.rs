//! Rows that someone removed from a record, or made for a table of an archive.

use super::archives::{forge_sums, printed, text, unpacked};
use crate::support::contest;

use mcc_harness::archive::{ArchiveLimits, unpack};
use std::fs::{self, File};
use std::io::Write;

/// One run that is neither open nor in a listing must not hide that others are missing.
#[test]
fn a_recorded_run_without_an_attempt_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, out) = (folder.path().join("record"), folder.path().join("judged"));
    drop(contest::record(&contest::small(), &dir, |_| None));
    let db = rusqlite::Connection::open(dir.join("record.db")).unwrap();
    db.execute_batch("DELETE FROM attempts WHERE run IN (1, 2); DELETE FROM runs WHERE position = 2")
        .unwrap();
    drop(db);
    for command in
        [&["verify", text(&dir)][..], &["judge", text(&dir), "--unfinished", "--out", text(&out)][..]]
    {
        let said = printed(command, 2);
        assert!(said.contains("record.db") && said.contains("a recorded run has no attempt"), "{said}");
    }
    assert!(!out.exists());
}

#[test]
fn an_endless_row_in_the_archive_of_a_team_is_refused() {
    let (folder, original) = (tempfile::tempdir().unwrap(), unpacked());
    let (archive, team) = (folder.path().join("own.tar.zst"), folder.path().join("team"));
    let export = ["export", text(original.path()), "--tool", "breadth-first", "--archive", text(&archive)];
    printed(&export, 0);
    fs::create_dir(&team).unwrap();
    unpack(&archive, &team, ArchiveLimits::default()).unwrap();
    let said = printed(&["verify", text(&team)], 0);
    assert!(said.contains("proved: every row of values.csv"), "{said}");
    // Of an instance that the record does not have: names of `--names` are not in the archive.
    let row = format!("breadth-first,{}", "x".repeat((8 << 20) + (1 << 16)));
    let mut values = File::options().append(true).open(team.join("values.csv")).unwrap();
    values.write_all(row.as_bytes()).unwrap();
    drop(values);
    forge_sums(&team);
    let said = printed(&["verify", text(&team)], 2);
    assert!(said.contains("values.csv") && said.contains("has more than 8388608 bytes"), "{said}");
}

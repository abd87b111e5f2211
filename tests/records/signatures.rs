//! Archives of earlier versions, and their signatures.

use super::archives::{archive, printed, signers, text, unpacked};
use crate::support::data;

use mcc_harness::archive::{ArchiveLimits, unpack};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn archives_of_all_versions_are_complete_and_signed() {
    let folder = data::published("archives/signers").parent().unwrap().to_owned();
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let archives: Vec<PathBuf> = files.filter(|file| text(file).ends_with(".tar.zst")).collect();
    assert!(archives.len() >= 2 && archives.contains(&archive()), "{archives:?}");
    for archive in archives {
        let version = archive.display();
        let said = printed(&["verify", text(&archive), "--allowed-signers", &signers()], 0);
        for part in [
            "signed by organizers@mcc.example, ED25519 key SHA256:",
            "\nproved: every file is one that an archive can have, and has its digest in SHA256SUMS\n",
            "\nproved: record.db has the tables of its format and no other, and its indices agree with them\n",
            "\nproved: every run of the campaign is recorded, and every output has its digest in the record\n",
            "\nproved: answers.csv follows from the outputs\n",
            "\nproved: every answer, trusted value and point follows from the outputs by the rules\n",
            "\nnot proved: that the outputs, times and memory are those of the runs",
            "\nnot proved: what publication.json and the metadata state",
            "\nnot proved: which version of mcc-harness wrote the archive\n",
            "\ncomplete; runs: 36; ",
        ] {
            assert!(said.contains(part), "{version} {part}: {said}");
        }
        let folder = tempfile::tempdir().unwrap();
        unpack(&archive, folder.path(), ArchiveLimits::default()).unwrap();
        let said = printed(&["verify", text(folder.path())], 0);
        assert!(said.contains("not proved: who made the archive"), "{said}");
        let judged = tempfile::tempdir().unwrap();
        printed(&["judge", text(&archive), "--out", text(judged.path())], 0);
        for table in ["trusted.csv", "scores.csv", "podiums.csv"] {
            let read = |place: &Path| fs::read(place.join(table)).unwrap();
            assert_eq!(read(judged.path()), read(&folder.path().join("judgement")), "{version} {table}");
        }
    }
}

#[test]
fn an_archive_of_another_signer_is_complete_and_a_file_that_is_no_list_of_signers_is_refused() {
    let archive = archive();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let verify = |content: &str, code: i32| {
        fs::write(&file, content).unwrap();
        printed(&["verify", text(&archive), "--allowed-signers", text(&file)], code)
    };
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBfdnC5Ipz5YJm2DwGHFFNd3ZyNSC4A5jYbcFEjwm0M7";
    for signers in ["", &format!("# people\n\nx@y.example namespaces=\"a b\" {key} comment\n")] {
        let said = verify(signers, 1);
        assert!(said.contains("SHA256SUMS.sig was made by ED25519 key "), "{said}");
        assert!(said.contains("\ncomplete, but not signed by an accepted signer; runs: 36; "), "{said}");
    }
    for (content, line) in [("base = \"mcc-2018\"\n", 1), (&*format!("x@y.example {key}\n{key}\n"), 2)] {
        let said = verify(content, 2);
        let message = format!("file:{line}: not a line `NAME KEYTYPE KEY`; give a file of accepted signers");
        assert!(said.contains(&message), "{said}");
    }
}

#[test]
fn what_is_added_beside_signed_files_is_found() {
    let folder = unpacked();
    let verify = |code: i32| printed(&["verify", text(folder.path()), "--allowed-signers", &signers()], code);
    let added = folder.path().join("outputs/added");
    fs::create_dir(&added).unwrap();
    let said = verify(1);
    assert!(said.contains("outputs/added is an empty folder, which an archive never has"), "{said}");
    fs::remove_dir(&added).unwrap();
    verify(0);
    let signature = folder.path().join("SHA256SUMS.sig");
    let signed = fs::read_to_string(&signature).unwrap();
    fs::write(&signature, signed + "The winner is another tool.\n").unwrap();
    let said = verify(1);
    assert!(said.contains("SHA256SUMS.sig is not one signature"), "{said}");
}

//! Archives as inputs of commands: what is not written into them, and archives of runs on obfuscated instances.

use super::archives::{forge_sums, printed, signers, text, unpacked};

use mcc_harness::archive::{ArchiveLimits, unpack};
use std::fs;
use std::path::{Path, PathBuf};

/// For the archive of the demo, as if its instances were obfuscated. Two of them have the names of each other.
const NAMES: &str = "instance,kind,original,obfuscated\n\
                     SecretModel-PT-07,instance,SecretModel-PT-07,DiningTable-PT-05\n\
                     TokenLoop-PT-05,instance,TokenLoop-PT-05,SwitchBoard-PT-0040\n\
                     SwitchBoard-PT-0040,instance,SwitchBoard-PT-0040,TokenLoop-PT-05\n";
/// Original and recorded names of these instances.
const RENAMED: [[&str; 2]; 3] = [
    ["SecretModel-PT-07", "DiningTable-PT-05"],
    ["TokenLoop-PT-05", "SwitchBoard-PT-0040"],
    ["SwitchBoard-PT-0040", "TokenLoop-PT-05"],
];

/// A folder with this table, the archive `named.tar.zst` of the runs of `original` under these names, with a value that the
/// organizers set, and its files in `named`.
fn named(original: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let [names, overrides, archive, files] =
        ["names.csv", "overrides.csv", "named.tar.zst", "named"].map(|name| folder.path().join(name));
    fs::write(&names, NAMES).unwrap();
    let value = "instance,examination,position,value,reason\nSecretModel-PT-07,StateSpace,00,7,checked\n";
    fs::write(&overrides, value).unwrap();
    let export = ["export", text(original), "--names", text(&names), "--overrides", text(&overrides)];
    printed(&[&export[..], &["--archive", text(&archive)]].concat(), 0);
    fs::create_dir(&files).unwrap();
    unpack(&archive, &files, ArchiveLimits::default()).unwrap();
    folder
}

/// Asserts that a site has the outputs of these runs under the original names of their instances.
fn shows_outputs(site: &Path, outputs: &Path) {
    for [original, recorded] in RENAMED {
        let shown =
            fs::read(site.join(format!("runs/depth-first/{original}/StateSpace.1.stdout.txt"))).unwrap();
        let output = fs::read(outputs.join(format!("depth-first/{recorded}/StateSpace/1/stdout"))).unwrap();
        assert!(shown == output, "{original}");
        let page = fs::read_to_string(site.join(format!("instances/{original}.js"))).unwrap();
        assert!(page.contains(&format!("\"name\":\"depth-first/{recorded}/StateSpace\"")), "{original}");
    }
}

#[test]
fn no_command_writes_into_an_unpacked_archive() {
    let folder = unpacked();
    let archive = text(folder.path());
    let outputs = ["judgement", "answers.csv", "edition.json", "oracle", "new.tar.zst", "site", "again"];
    let outputs: Vec<PathBuf> = outputs.iter().map(|name| folder.path().join(name)).collect();
    let at = |number: usize| text(&outputs[number]);
    for command in [
        vec!["judge", archive, "--out", at(0)],
        vec!["export", archive, "--csv", at(1)],
        vec!["export", archive, "--classes", at(2)],
        vec!["export", archive, "--oracle", at(3)],
        vec!["export", archive, "--archive", at(4)],
        vec!["report", archive, "--out", at(5)],
        vec!["rate", archive, "--published", archive, "--out", at(5)],
        vec!["import", archive, "--out", at(6)],
    ] {
        let said = printed(&command, 2);
        assert!(said.contains("is in the unpacked archive ") && said.contains("give another path"), "{said}");
    }
    printed(&["verify", archive, "--allowed-signers", &signers()], 0);
}

#[test]
fn an_archive_with_names_is_judged_alike_packed_and_unpacked() {
    let original = unpacked();
    let folder = named(original.path());
    let at = |name: &str| folder.path().join(name);
    let judge = |input: &str, out: &str| {
        let (input, out) = (at(input), at(out));
        let said = printed(&["judge", text(&input), "--out", text(&out)], 0);
        assert!(said.contains("has values that the organizers set"), "{said}");
        ["judgement.json", "trusted.csv", "arrivals.csv"]
            .map(|file| fs::read_to_string(out.join(file)).unwrap())
    };
    let packed = judge("named.tar.zst", "judged-packed");
    assert!(
        packed[1].contains("\nSecretModel-PT-07,") && !packed[1].contains("\nDiningTable"),
        "{}",
        packed[1]
    );
    assert!(packed == judge("named", "judged-unpacked"));
    // An archive of an archive has the table, too.
    let again = at("again.tar.zst");
    printed(&["export", text(&at("named")), "--archive", text(&again)], 0);
    printed(&["verify", text(&again)], 0);
    let explain = ["explain", text(&again), "--instance", "SecretModel-PT-07", "--examination", "StateSpace"];
    printed(&explain, 0);
}

#[test]
fn a_site_shows_the_outputs_of_obfuscated_runs_under_their_original_names() {
    let original = unpacked();
    let folder = named(original.path());
    let at = |name: &str| folder.path().join(name);
    let said = printed(&["verify", text(&at("named"))], 0);
    // Who may have signed the archive decides whether its names are true.
    assert!(
        said.contains("not proved: that the rules in edition.json and the tables of models, tools, names"),
        "{said}"
    );
    for input in ["named.tar.zst", "named"] {
        let site = at(&format!("site-of-{input}"));
        printed(&["report", text(&at(input)), "--out", text(&site)], 0);
        shows_outputs(&site, &original.path().join("outputs"));
    }
    // Another table, with its digest in SHA256SUMS.
    fs::write(at("named/names.csv"), NAMES.replace("SecretModel", "OtherModel")).unwrap();
    forge_sums(&at("named"));
    let said = printed(&["report", text(&at("named")), "--out", text(&at("site"))], 2);
    assert!(said.contains("names.csv is not the table of names that was judged"), "{said}");
}

#[test]
fn a_site_of_an_obfuscated_record_needs_the_names_that_were_judged() {
    let (archive, folder) = (unpacked(), tempfile::tempdir().unwrap());
    let [record, names, other, judged, site] =
        ["record", "names.csv", "other.csv", "judged", "site"].map(|name| folder.path().join(name));
    fs::create_dir(&record).unwrap();
    for name in ["record.db", "outputs"] {
        fs::rename(archive.path().join(name), record.join(name)).unwrap();
    }
    fs::write(&names, NAMES).unwrap();
    fs::write(&other, NAMES.replace("SecretModel", "OtherModel")).unwrap();
    printed(&["judge", text(&record), "--names", text(&names), "--out", text(&judged)], 0);
    let report = ["report", text(&judged), "--record", text(&record), "--out", text(&site)];
    let said = printed(&report, 2);
    assert!(said.contains("and --names if it was judged with a table of names"), "{said}");
    let said = printed(&[&report[..], &["--names", text(&other)]].concat(), 2);
    assert!(said.contains("other.csv is not the table of names that was judged"), "{said}");
    assert!(!site.exists());
    printed(&[&report[..], &["--names", text(&names)]].concat(), 0);
    shows_outputs(&site, &record.join("outputs"));
}

#[test]
fn a_readme_that_is_not_text_is_found() {
    let folder = unpacked();
    let facts = folder.path().join("archive.json");
    let version = format!("\"made_by\": \"{}\"", env!("CARGO_PKG_VERSION"));
    let changed = fs::read_to_string(&facts).unwrap().replacen("\"made_by\": \"0.1.0\"", &version, 1);
    fs::write(&facts, changed).unwrap();
    fs::write(folder.path().join("README.txt"), b"\xff run this program").unwrap();
    forge_sums(folder.path());
    let said = printed(&["verify", text(folder.path())], 1);
    assert!(said.contains("README.txt is not what this version writes"), "{said}");
    assert!(said.contains("failed: README.txt is that of this version"), "{said}");
}

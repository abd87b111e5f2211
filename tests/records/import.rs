//! `import` of archives: campaigns that run again in another folder.

use crate::archives::{archive, forge_sums, packed, printed, text, unpacked};
use crate::support::campaign::{Folder, stderr};
use crate::support::tool::fixtures;

use assert_cmd::Command;
use mcc_harness::base::digest;
use std::fs;
use std::path::Path;

/// The campaign of the tests, with keys that are for the hosts of the archive and keys that are for its runs.
const MORE: &str = "not_competing = [\"CTL*\"]\nauthors = [\"Petri, Carl Adam\"]\n\
    [[tool.failure_class]]\nclass = \"too-many\"\npattern = \"^unfolding: (?P<places>[0-9]+)\"\n\
    [publication]\ntitle = \"Three machines\"\ndoi = \"10.5281/zenodo.1\"\ndate = \"2018-06-26\"\n\
    archive = \"https://example.org/a.tar.zst\"\n\
    [limits]\ncpu_s = 77\n[hosts]\njobs = 1\nretries = 1\n\
    [slurm]\npartition = \"theirs\"\noptions = [\"--wrap=touch /tmp/x\"]\n";

/// A finished campaign without machines in three examinations, and its archive with disks, `a.tar.zst`.
fn published() -> Folder {
    let folder = Folder::with_fake_qemu(2, &["StateSpace", "ReachabilityDeadlock", "CTLCardinality"], MORE);
    folder.fake_qemu(
        "whole_run $'STATE_SPACE STATES 18 TECHNIQUES EXPLICIT\\nFORMULA ReachabilityDeadlock TRUE TECHNIQUES EXPLICIT\\n'",
    );
    let campaign = folder.path().join("campaign.toml");
    let text = fs::read_to_string(&campaign).unwrap();
    fs::write(&campaign, format!("count_instructions = true\n{text}")).unwrap();
    folder.run(&[]).success();
    said(&folder, &["export", "results", "--archive", "a.tar.zst", "--with-disks"], 0);
    folder
}

/// What a command of the program, which starts the machines of the folder, printed.
fn said(folder: &Folder, arguments: &[&str], code: i32) -> String {
    let ended = Command::from(folder.harness(arguments)).assert().code(code);
    [String::from_utf8(ended.get_output().stdout.clone()).unwrap(), stderr(&ended)].concat()
}

#[test]
fn an_imported_campaign_gives_the_judgement_of_its_archive() {
    let folder = published();
    let again = folder.path().join("again");
    let written = said(&folder, &["import", "a.tar.zst", "--out", "again"], 0);
    assert!(written.contains("again (entries: 2, instances: 1)"), "{written}");
    let archive = "inputs/archives/DiningTable-PT-03.tgz";
    let packed = fixtures().join("DiningTable-PT-03.tgz");
    assert!(fs::read(again.join(archive)).unwrap() == fs::read(packed).unwrap());
    let campaign = fs::read_to_string(again.join("campaign.toml")).unwrap();
    for kept in [
        "title = \"Three machines\"",
        "count_instructions = true",
        "cpu_s = 77",
        "retries = 1",
        "Petri, Carl Adam",
        "class = \"too-many\"",
        "^unfolding: (?P<places>[0-9]+)",
    ] {
        assert!(campaign.contains(kept), "{kept}: {campaign}");
    }
    for of_others in
        ["slurm", "--wrap", "jobs", "zenodo", "2018-06-26", "example.org", "image\"", "pnml-fixtures"]
    {
        assert!(!campaign.contains(of_others), "{of_others}: {campaign}");
    }
    // Its own folder is enough.
    fs::rename(&again, folder.path().join("moved")).unwrap();
    fs::remove_dir_all(folder.path().join("image")).unwrap();
    fs::remove_dir_all(folder.results()).unwrap();
    assert!(said(&folder, &["plan", "moved/campaign.toml"], 0).contains("runs: 6; runs in a machine: 5"));
    let run = ["run", "moved/campaign.toml", "--out", "moved/results", "--allow-degraded"];
    said(&folder, &[&run[..], &["--only", "*/StateSpace"]].concat(), 0);
    said(&folder, &run, 0);
    let readme = fs::read_to_string(folder.path().join("moved/README.txt")).unwrap();
    assert!(!readme.contains("Missing") && readme.contains("address (`archive`)"), "{readme}");
    let judge =
        readme.lines().find_map(|line| line.trim().strip_prefix("mcc-harness judge results ")).unwrap();
    let options: Vec<&str> = judge.split(' ').collect();
    let mut judge = folder.harness(&[&["judge", "results"][..], &options].concat());
    Command::from({
        judge.current_dir(folder.path().join("moved"));
        judge
    })
    .assert()
    .success();
    let compared = said(&folder, &["judge", "--compare", "a.tar.zst", "moved/judged"], 0);
    for same in ["differ: 0 of ", "ranks or medals that change: 0\n", "runs with different points: 0 of 6\n"]
    {
        assert!(compared.contains(same), "{same}: {compared}");
    }
    // The runs of the second archive are those of the first.
    said(&folder, &["export", "moved/results", "--archive", "b.tar.zst", "--with-disks"], 0);
    said(&folder, &["import", "b.tar.zst", "--out", "third"], 0);
    let third = fs::read_to_string(folder.path().join("third/campaign.toml")).unwrap();
    assert_eq!(third, campaign);
    // No temporary folder is left.
    let hidden = fs::read_dir(folder.path())
        .unwrap()
        .filter(|item| item.as_ref().unwrap().file_name().to_string_lossy().starts_with(".importing"));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn what_an_archive_does_not_have_is_listed_by_digest() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("again");
    let said = printed(&["import", text(&archive()), "--out", text(&out)], 1);
    assert!(said.contains("further missing files: 3"), "{said}");
    let missing = fs::read_to_string(out.join("missing.sha256")).unwrap();
    assert_eq!(missing.lines().count(), 15, "{missing}");
    let disk = "18b0340dfe5f44023a313a31580c0f33aa58a801c6ba13982a070f28408b0d31";
    assert!(missing.contains(&format!("{disk}  images/breadth-first/disk.qcow2\n")), "{missing}");
    let readme = fs::read_to_string(out.join("README.txt")).unwrap();
    assert!(readme.contains("images/depth-first/vmlinux: kernel") && readme.contains(disk), "{readme}");
    // With the instances, which have their digests, the campaign is planned; its images are still missing.
    let out = folder.path().join("with-instances");
    let instances = fixtures();
    printed(&["import", text(&archive()), "--instances", text(&instances), "--out", text(&out)], 1);
    let missing = fs::read_to_string(out.join("missing.sha256")).unwrap();
    assert_eq!(missing.lines().count(), 12, "{missing}");
    let campaign = out.join("campaign.toml");
    let plan = printed(&["plan", text(&campaign)], 0);
    assert!(plan.contains("runs: 36; runs in a machine: 33"), "{plan}");
    let said = printed(&["run", text(&campaign), "--out", text(&out.join("results"))], 2);
    assert!(said.contains("disk.qcow2 is missing"), "{said}");
    // Another content under the name of an instance is not taken.
    let others = folder.path().join("others");
    fs::create_dir(&others).unwrap();
    fs::write(others.join("TokenLoop-PT-05.tgz"), "another").unwrap();
    let out = folder.path().join("with-others");
    printed(&["import", text(&archive()), "--instances", text(&others), "--out", text(&out)], 1);
    assert!(!out.join("inputs/TokenLoop-PT-05.tgz").exists());
    let readme = fs::read_to_string(out.join("README.txt")).unwrap();
    assert!(readme.contains("TokenLoop-PT-05.tgz has another content"), "{readme}");
}

#[test]
fn a_changed_archive_is_not_imported_and_nothing_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("again");
    let changed = unpacked();
    let stdout = changed.path().join("outputs/breadth-first/DiningTable-PT-05/StateSpace/1/stdout");
    fs::write(stdout, "STATE_SPACE STATES 1 TECHNIQUES EXPLICIT\n").unwrap();
    for input in [changed.path().to_owned(), packed(changed.path()).into_temp_path().keep().unwrap()] {
        let said = printed(&["import", text(&input), "--out", text(&out)], 2);
        assert!(said.contains("not intact") && said.contains("mcc-harness verify"), "{said}");
        if input.is_file() {
            fs::remove_file(input).unwrap();
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "mine").unwrap();
    let said = printed(&["import", text(&archive()), "--out", text(&out)], 2);
    assert!(said.contains("is not an empty folder"), "{said}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    // Nor one of other signers.
    let nobody = folder.path().join("nobody");
    fs::write(&nobody, "").unwrap();
    let new = folder.path().join("new");
    let signed = archive();
    let arguments = ["import", text(&signed), "--out", text(&new), "--allowed-signers", text(&nobody)];
    let said = printed(&arguments, 2);
    assert!(said.contains("SHA256SUMS.sig") && !new.exists(), "{said}");
}

/// Changes the campaign file in the record of an unpacked archive.
fn change_campaign(folder: &Path, from: &str, to: &str) {
    let path = folder.join("record.db");
    let db = rusqlite::Connection::open(path).unwrap();
    let facts: String =
        db.query_row("SELECT value FROM facts WHERE key = 'campaign'", [], |row| row.get(0)).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let campaign = facts["campaign"].as_str().unwrap();
    assert!(campaign.contains(from), "{campaign}");
    let changed = campaign.replacen(from, to, 1);
    // The judgement has its digest.
    let judgement = folder.join("judgement/judgement.json");
    let judged = fs::read_to_string(&judgement).unwrap();
    let [before, after] = [campaign, &changed].map(digest::bytes);
    assert!(judged.contains(&before));
    fs::write(&judgement, judged.replace(&before, &after)).unwrap();
    facts["campaign"] = changed.into();
    db.execute("UPDATE facts SET value = ?1 WHERE key = 'campaign'", [facts.to_string()]).unwrap();
    drop(db);
    forge_sums(folder);
}

#[test]
fn a_forged_campaign_file_gives_no_path_and_no_other_runs() {
    const ENTRY: &str = "entry = \"depth-first\"\n";
    const SSH: &str = "entry = \"depth-first\"\nchannel = \"ssh\"\nssh_key = \"/root/key\"\n";
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("again");
    let forged = unpacked();
    let paths = "inputs = \"/etc\"\nmodels = \"/etc/passwd\"\n[slurm]\noptions = [\"--wrap=id\"]\nstage = \"/etc\"\n[publication]";
    change_campaign(forged.path(), "inputs = \"../pnml-fixtures\"", "");
    change_campaign(forged.path(), "models = \"../pnml-fixtures/models.csv\"\n\n[publication]", paths);
    change_campaign(
        forged.path(),
        "image = \"../build/images/depth-first\"",
        "image = \"/etc\"\nauthors = [\"A\"]",
    );
    let instances = fixtures();
    let import = |out: &Path, code| {
        printed(&["import", text(forged.path()), "--out", text(out), "--instances", text(&instances)], code)
    };
    import(&out, 1);
    let campaign = fs::read_to_string(out.join("campaign.toml")).unwrap();
    assert!(!campaign.contains("/etc") && !campaign.contains("--wrap"), "{campaign}");
    for (from, to, reason) in [
        ("\"CTL*\"", "\"*\"", "its setting `not_competing of random-walk` is not that of its runs"),
        ("cpu_s = 12", "cpu_s = 13", "its limits are not those of its runs"),
        // A key that is missing hides nothing.
        (ENTRY, SSH, "its setting `channel of depth-first` is not that of its runs"),
        ("entry = \"depth-first\"", "entry = \"other\"", "no [[tool]] of the entry depth-first"),
    ] {
        let new = folder.path().join("new");
        change_campaign(forged.path(), from, to);
        let said = import(&new, 2);
        assert!(said.contains(reason) && !new.exists(), "{reason}: {said}");
        change_campaign(forged.path(), to, from);
    }
    // With the settings of an original disk, its key is missing.
    change_campaign(forged.path(), ENTRY, SSH);
    let db = rusqlite::Connection::open(forged.path().join("record.db")).unwrap();
    let set =
        "json_set(value, '$.settings.\"channel of depth-first\"', 'ssh as mcc, disk virtio, nic virtio')";
    db.execute(&format!("UPDATE facts SET value = {set} WHERE key = 'campaign'"), []).unwrap();
    drop(db);
    forge_sums(forged.path());
    let said = import(&folder.path().join("with-key"), 1);
    assert!(said.contains("images/depth-first/ssh_key: ssh_key of depth-first: a private key"), "{said}");
    change_campaign(forged.path(), "cpu_s = 12", "cpu_s = 13");
    let new = folder.path().join("new");
    let said = import(&new, 2);
    assert!(said.contains("its limits are not those of its runs") && !new.exists(), "{said}");
}

/// A million instances could share one file or have no blocks, and an import of a small archive would fill the disk.
#[test]
fn archives_on_an_inputs_disk_that_share_a_file_or_are_larger_than_it_are_refused() {
    refuses_archives(|first, other| fs::hard_link(first, other), "it is not a complete ext4 file system");
    let sparse = |_: &Path, other: &Path| fs::File::create_new(other)?.set_len(3 << 20);
    refuses_archives(sparse, "the archives on inputs.ext4 are larger than it");
}

fn refuses_archives(make: impl Fn(&Path, &Path) -> std::io::Result<()>, problem: &str) {
    let folder = tempfile::tempdir().unwrap();
    let (shared, disk) = (folder.path().join("shared"), folder.path().join("disk"));
    fs::create_dir(&shared).unwrap();
    let first = shared.join("DiningTable-PT-05.tgz");
    fs::write(&first, vec![7; 3 << 20]).unwrap();
    for other in ["TokenLoop-PT-05.tgz", "SwitchBoard-PT-0040.tgz"] {
        make(&first, &shared.join(other)).unwrap();
    }
    let mut made = std::process::Command::new("mke2fs");
    made.args(["-q", "-t", "ext4", "-O", "^has_journal", "-d"]).arg(&shared).arg(&disk).arg("6M");
    assert!(made.status().unwrap().success());
    let forged = unpacked();
    let db = rusqlite::Connection::open(forged.path().join("record.db")).unwrap();
    let facts: String =
        db.query_row("SELECT value FROM facts WHERE key = 'campaign'", [], |row| row.get(0)).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
    let disks = facts["disks"].as_array_mut().unwrap();
    let inputs = disks.iter_mut().find(|disk| disk["role"] == "inputs").unwrap();
    let (sha256, bytes) = digest::file(&disk).unwrap();
    (inputs["sha256"], inputs["bytes"]) = (sha256.into(), bytes.into());
    db.execute("UPDATE facts SET value = ?1 WHERE key = 'campaign'", [facts.to_string()]).unwrap();
    drop(db);
    forge_sums(forged.path());
    let out = folder.path().join("again");
    let said = printed(&["import", text(forged.path()), "--disk", text(&disk), "--out", text(&out)], 2);
    assert!(said.contains(problem) && !out.exists(), "{said}");
}

#[test]
fn commands_for_campaigns_name_import_when_given_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, out) = (archive(), folder.path().join("out"));
    let (packed, out, unpacked) = (text(&archive), text(&out), unpacked());
    for input in [packed, text(unpacked.path())] {
        for command in [
            vec!["plan", input],
            vec!["run", input, "--out", out],
            vec!["submit", input, "--out", out],
            vec!["certify", input, "--instances", "pnml-fixtures", "--out", out],
        ] {
            let said = printed(&command, 2);
            let named = format!("`mcc-harness import {input} --out FOLDER`");
            assert!(said.contains("is an archive, not") && said.contains(&named), "{command:?}: {said}");
        }
    }
    let said = printed(&["import", packed, "--out", out, "--edition", "mcc-2018", "--inputs", "x"], 2);
    assert!(said.contains("an archive has its edition and inputs"), "{said}");
    let said = printed(&["import", text(&fixtures().join("models.csv")), "--out", out], 2);
    assert!(said.contains("give --edition and --inputs"), "{said}");
}

#[test]
fn a_command_goes_on_if_stderr_is_closed() {
    let folder = published();
    let mut command = folder.harness(&["import", "a.tar.zst", "--out", "again"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(command.stdout(std::process::Stdio::null()).stderr(writer).status().unwrap().success());
    assert!(folder.path().join("again/campaign.toml").exists());
}

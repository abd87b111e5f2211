//! `certify`: ids of several years, archives that cannot be read, kills, changed results, own runs, and files of other tools.

use crate::certification::{Answer, FIXTURES, SMALL, answers, certify, judged, outvoted, wrong};
use crate::support::commands::harness;
use crate::support::data;
use crate::support::folders::files;
use crate::support::runs;
use crate::support::tables::rows;
use crate::support::tool;

use assert_cmd::Command;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// Its property files of CTL and UpperBounds begin with ids of 2025, and ids of 2023 are at their end.
const TWO_YEARS: &str = "ResAllocation-PT-R002C002";
const OF_TWO_YEARS: [&str; 4] =
    ["CTLCardinality", "CTLFireability", "ReachabilityFireability", "UpperBounds"];

fn archive_of_2025(instance: &str) -> PathBuf {
    data::published(&format!("mcc/2025/models/{instance}.tgz"))
}

/// Packs an archive again into `folder`, with its property files changed.
fn repack(archive: &Path, folder: &Path, change: &dyn Fn(&str) -> String) {
    fs::create_dir_all(folder).unwrap();
    let to = fs::File::create(folder.join(archive.file_name().unwrap())).unwrap();
    let mut packed = tar::Builder::new(GzEncoder::new(to, Compression::fast()));
    for entry in tar::Archive::new(GzDecoder::new(fs::File::open(archive).unwrap())).entries().unwrap() {
        let mut entry = entry.unwrap();
        let (mut header, path) = (entry.header().clone(), entry.path().unwrap().into_owned());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if path
            .file_name()
            .is_some_and(|name| OF_TWO_YEARS.iter().any(|stem| *name == *format!("{stem}.xml")))
        {
            content = change(std::str::from_utf8(&content).unwrap()).into_bytes();
        }
        header.set_size(content.len() as u64);
        packed.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    packed.into_inner().unwrap().finish().unwrap();
}

/// A property file with its properties in the opposite order.
fn reversed(file: &str) -> String {
    let (start, rest) = file.split_once("<property>").unwrap();
    let (properties, end) = rest.rsplit_once("</property>").unwrap();
    let properties: Vec<&str> = properties.split("</property>").map(str::trim_start).collect();
    let properties: Vec<&str> =
        properties.iter().map(|one| one.strip_prefix("<property>").unwrap_or(one)).rev().collect();
    format!("{start}<property>{}</property>{end}", properties.join("</property><property>"))
}

/// The words of a printed text, whose lines are wrapped.
fn words(text: &[u8]) -> String {
    String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Judges the native runs of the reference tool on this archive and on another instance. One entry gives wrong values.
fn judged_runs(folder: &Path) {
    let archives = [archive_of_2025(TWO_YEARS), Path::new(FIXTURES).join("TokenLoop-PT-03.tgz")];
    runs::record(&folder.join("results"), &archives, &OF_TWO_YEARS, runs::printed);
    harness(folder, "judge results --out judged").assert().success();
    for archive in archives {
        fs::create_dir_all(folder.join("models")).unwrap();
        fs::copy(&archive, folder.join("models").join(archive.file_name().unwrap())).unwrap();
    }
}

#[test]
fn ids_of_two_years_accuse_nobody_but_the_liar() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    judged_runs(folder.path());
    let certify = "certify judged --record results --instances";
    harness(folder.path(), &format!("{certify} models --out certified")).assert().success();
    let alarms = rows(&at("certified/alarms.csv"));
    let accused: BTreeSet<&str> = alarms.iter().map(|alarm| alarm["tool"].as_str()).collect();
    assert_eq!(accused.into_iter().collect::<Vec<_>>(), ["liar"]);
    assert!(alarms.iter().any(|alarm| alarm["id"].ends_with("CTLCardinality-2023-13")), "{alarms:?}");
    let certified = rows(&at("certified/certified.csv"));
    assert_eq!(certified.len(), 2 * 4 * 16);
    for row in certified {
        assert_eq!(row["value"], row["trusted"], "{row:?}");
    }
    // The same properties in another order of the file.
    repack(&archive_of_2025(TWO_YEARS), &at("reversed"), &reversed);
    fs::copy(at("models/TokenLoop-PT-03.tgz"), at("reversed/TokenLoop-PT-03.tgz")).unwrap();
    harness(folder.path(), &format!("{certify} reversed --out again")).assert().success();
    for table in ["certified.csv", "alarms.csv", "overrides.csv", "bundles/liar/answers.csv"] {
        let [first, again] =
            ["certified", "again"].map(|out| fs::read_to_string(at(out).join(table)).unwrap());
        assert_eq!(first, again, "{table}");
    }
    // A link in the place of an output puts no file of this host into a bundle.
    fs::write(at("secret"), "a secret").unwrap();
    let outputs = || walkdir::WalkDir::new(at("results/outputs/liar")).into_iter().map(Result::unwrap);
    for output in outputs().filter(|output| output.file_name() == "stdout") {
        fs::remove_file(output.path()).unwrap();
        std::os::unix::fs::symlink(at("secret"), output.path()).unwrap();
    }
    let linked = harness(folder.path(), &format!("{certify} models --out linked")).assert().failure();
    let stderr = words(&linked.get_output().stderr);
    assert!(stderr.contains("stdout: it is a symbolic link"), "{stderr}");
    let is_secret = |path: &Path| fs::read(path).is_ok_and(|content| content == b"a secret");
    assert!(!walkdir::WalkDir::new(at("linked")).into_iter().any(|file| is_secret(file.unwrap().path())));
}

#[test]
fn an_unknown_id_stops_its_instance_and_no_other() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    judged_runs(folder.path());
    repack(&archive_of_2025(TWO_YEARS), &at("models"), &|file| file.replace("-2023-13<", "-2024-13<"));
    let certify = "certify judged --instances models --out certified";
    let output = harness(folder.path(), certify).assert().code(1);
    let stdout = words(&output.get_output().stdout);
    let reason = format!("has no property {TWO_YEARS}-CTLCardinality-2023-13, which was judged");
    assert!(stdout.contains(&reason), "{stdout}");
    let skipped = rows(&at("certified/skipped.csv"));
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0]["instance"] == TWO_YEARS && skipped[0]["reason"].contains(&reason), "{skipped:?}");
    for table in ["certified.csv", "alarms.csv"] {
        let table = rows(&at("certified").join(table));
        assert!(
            !table.is_empty() && table.iter().all(|row| row["instance"] == "TokenLoop-PT-03"),
            "{table:?}"
        );
    }
}

#[test]
fn an_archive_that_cannot_be_read_is_skipped() {
    let honest = |_: &str, value: &str| value.to_owned();
    let (broken, good) = ("DiningTable-PT-03", "TokenLoop-PT-03");
    let folder = judged(&[("a", honest), ("b", honest)], &[broken, good], &["UpperBounds"]);
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("models")).unwrap();
    fs::write(at("models").join(format!("{broken}.tgz")), "no archive").unwrap();
    let good_archive = format!("{good}.tgz");
    fs::copy(Path::new(FIXTURES).join(&good_archive), at("models").join(&good_archive)).unwrap();
    let certify = "certify judged --instances models --out certified --format json";
    let output = harness(folder.path(), certify).assert().code(1);
    let summary: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(
        (&summary["skipped"][0]["instance"], &summary["examinations"][0]["values"]),
        (&broken.into(), &16.into())
    );
    let certified = rows(&at("certified/certified.csv"));
    assert!(certified.len() == 16 && certified.iter().all(|row| row["value"] == row["trusted"]));
    // The same command goes on when the archive is there.
    let archive = format!("{broken}.tgz");
    fs::copy(Path::new(FIXTURES).join(&archive), at("models").join(&archive)).unwrap();
    harness(folder.path(), certify).assert().success();
    assert_eq!(rows(&at("certified/certified.csv")).len(), 32);
    assert!(rows(&at("certified/skipped.csv")).is_empty());
}

/// Judges a table without ids in which three tools give these values, and certifies it with these archives.
fn certify_table(folder: &Path, values: &BTreeMap<String, Vec<String>>, models: &str) -> Command {
    let mut table = "tool,instance,examination,answers,wrong\n".to_owned();
    for (examination, values) in values {
        for tool in ["a", "b", "c"] {
            table += &answers(tool, TWO_YEARS, examination, values);
        }
    }
    fs::write(folder.join("answers.csv"), table).unwrap();
    for old in ["judged-table", "certified"] {
        let _ = fs::remove_dir_all(folder.join(old));
    }
    harness(folder, "judge answers.csv --edition mcc-2018 --out judged-table").assert().success();
    harness(folder, &format!("certify judged-table --instances {models} --out certified"))
}

#[test]
fn a_table_in_the_order_of_property_files_is_not_certified() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let archive = archive_of_2025(TWO_YEARS);
    repack(&archive, &at("same"), &str::to_owned);
    repack(&archive, &at("reversed"), &reversed);
    // The right values by id, from the reference tool.
    let unpacked = tool::unpack(&archive);
    let mut by_id: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for examination in OF_TWO_YEARS {
        let printed = tool::run(&unpacked.path, examination, "--strategy bfs");
        by_id.insert(examination.to_owned(), printed.answers.into_values().collect());
    }
    for models in ["same", "reversed"] {
        let output = certify_table(folder.path(), &by_id, models).assert().success();
        let stdout = words(&output.get_output().stdout);
        assert!(stdout.contains("matched by the order of the ids: 1"), "{stdout}");
        assert!(rows(&at("certified/alarms.csv")).is_empty());
        assert_eq!(rows(&at("certified/certified.csv")).len(), 64);
    }
    // The properties of these files are in the opposite order, and so are the values of the table.
    let by_file: BTreeMap<String, Vec<String>> = OF_TWO_YEARS
        .iter()
        .map(|examination| {
            let file = fs::read_to_string(unpacked.path.join(format!("{examination}.xml"))).unwrap();
            let ids = file.rsplit("<id>").filter_map(|rest| Some(rest.split_once("</id>")?.0));
            let printed = tool::run(&unpacked.path, examination, "--strategy bfs").answers;
            ((*examination).to_owned(), ids.map(|id| printed[id].clone()).collect())
        })
        .collect();
    let output = certify_table(folder.path(), &by_file, "reversed").assert().code(1);
    let stdout = words(&output.get_output().stdout);
    assert!(stdout.contains("and 0 in the order of the files;"), "{stdout}");
    assert!(rows(&at("certified/alarms.csv")).is_empty() && rows(&at("certified/certified.csv")).is_empty());
    // Values that no order explains give a warning, and all evidence.
    let wrong: BTreeMap<_, Vec<String>> = by_id
        .iter()
        .map(|(name, values)| (name.clone(), values.iter().map(|value| wrong(value)).collect()))
        .collect();
    let output = certify_table(folder.path(), &wrong, "reversed").assert().success();
    let stdout = words(&output.get_output().stdout);
    assert!(stdout.starts_with(&format!("warning: {TWO_YEARS} ")), "{stdout}");
    assert!(stdout.contains("CTLCardinality: evidence contradicts 16 of 16 trusted values"), "{stdout}");
    assert!(rows(&at("certified/alarms.csv")).len() >= 3 * 48);
}

#[test]
fn an_infinite_bound_is_compared_and_shown() {
    let unbounded = |_: &str, _: &str| "+inf".to_owned();
    let honest = |_: &str, value: &str| value.to_owned();
    let tools: [(&str, Answer); 4] = [("a", unbounded), ("b", unbounded), ("c", unbounded), ("d", honest)];
    let folder = judged(&tools, &["TokenLoop-PT-03"], &["UpperBounds"]);
    certify(folder.path(), "").assert().success();
    let alarms = rows(&folder.path().join("certified/alarms.csv"));
    assert_eq!(alarms.len(), 3 * 16);
    for alarm in alarms {
        assert!(alarm["tool"] != "d" && alarm["given"] == "inf" && alarm["trusted"] == "inf", "{alarm:?}");
        assert!(alarm["certified"].parse::<u64>().is_ok(), "{alarm:?}");
    }
}

/// `KILLS`: the number of kills; `scripts/soak certify` sets it.
#[test]
fn a_killed_certification_ends_with_the_same_results() {
    let kills: u32 = std::env::var("KILLS").map_or(4, |kills| kills.parse().unwrap());
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    let start = std::time::Instant::now();
    certify(folder.path(), "--jobs 2").assert().success();
    let whole = start.elapsed();
    fs::rename(at("certified"), at("undisturbed")).unwrap();
    let binary = assert_cmd::cargo::cargo_bin("mcc-harness");
    for kill in 0..kills {
        // The kills are spread over the whole run; each process continues the one before it.
        let mut process = std::process::Command::new(&binary)
            .current_dir(folder.path())
            .args(["certify", "judged", "--instances", FIXTURES, "--out", "certified", "--jobs", "2"])
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(f64::from(kill * 7 % kills + 1) / f64::from(kills + 1)));
        process.kill().unwrap();
        process.wait().unwrap();
        if kill % 5 == 4 {
            // Later kills need work to interrupt.
            for instance in SMALL {
                let _ = fs::remove_file(at("certified/results").join(format!("{instance}.json")));
            }
        }
    }
    certify(folder.path(), "--jobs 2").assert().success();
    let (undisturbed, killed) = (files(&at("undisturbed")), files(&at("certified")));
    assert_eq!(undisturbed.keys().collect::<Vec<_>>(), killed.keys().collect::<Vec<_>>());
    for (name, bytes) in undisturbed {
        assert!(killed[&name] == bytes, "{} differs", name.display());
    }
}

/// The remedy in the message gives the first results again.
#[test]
fn a_changed_result_or_evidence_is_not_continued() {
    let honest = |_: &str, value: &str| value.to_owned();
    let examinations = ["StateSpace", "ReachabilityDeadlock"];
    let folder = judged(&[("a", honest), ("b", honest)], &["DiningTable-PT-03"], &examinations);
    let at = |name: &str| folder.path().join("certified").join(name);
    certify(folder.path(), "").assert().success();
    let before = files(&at(""));
    certify(folder.path(), "").assert().success();
    assert!(files(&at("")) == before);
    let result = "results/DiningTable-PT-03.json";
    let evidence = "evidence/DiningTable-PT-03/ReachabilityDeadlock-00.witness.json";
    for (file, from, to, reason) in [
        (result, "\"value\": \"T\"", "\"value\": \"F\"", "states the value `TRUE`, not FALSE"),
        (result, "\"method\": \"re-explored\"", "\"method\": \"explored\"", "states two explorations"),
        (result, "\"method\": \"re-explored\"", "\"method\": null", "has no method"),
        (result, "\"position\": 3", "\"position\": 99", "does not have the values"),
        (evidence, "\"TRUE\"", "\"FALSE\"", "states the value `FALSE`, not TRUE"),
    ] {
        let text = fs::read_to_string(at(file)).unwrap();
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        fs::write(at(file), changed).unwrap();
        let done = certify(folder.path(), "").assert().code(2);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains(result) && said.contains(reason), "{said}");
        assert!(said.contains("remove this file, and its values are certified again"), "{said}");
        fs::remove_file(at(result)).unwrap();
        certify(folder.path(), "").assert().success();
        assert!(files(&at("")) == before, "{file} {from}");
    }
}

#[test]
fn a_wrong_folder_or_other_settings_are_refused() {
    let honest = |_: &str, value: &str| value.to_owned();
    let folder = judged(&[("a", honest), ("b", honest)], &["TokenLoop-PT-03"], &["ReachabilityDeadlock"]);
    let refused = |line: &str, message: &str| {
        let output = harness(folder.path(), line).timeout(Duration::from_secs(600)).assert().code(2);
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(stderr.contains(message), "{line}: {stderr}");
    };
    certify(folder.path(), "--budget-s 30").assert().success();
    let again = format!("certify judged --instances {FIXTURES} --out");
    refused(&format!("{again} certified --budget-s 40"), "was begun with --budget-s 30, not 40");
    refused(&format!("{again} judged"), "is not part of a certification");
    fs::create_dir(folder.path().join("empty")).unwrap();
    refused("certify judged --instances empty --out new", "no archive (INSTANCE.tgz) of a judged instance");
    let judge = "judge answers.csv --edition mcc-2018 --out again --certified";
    refused(&format!("{judge} empty"), "empty has no certified.csv; give the folder of `certify`");
    let table = folder.path().join("certified/certified.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.replace(",T,", ",maybe,").replace(",F,", ",maybe,")).unwrap();
    refused(&format!("{judge} certified"), "certified.csv:2: column value: `maybe` is not a certified value");
}

#[test]
fn a_wrong_value_of_own_runs_comes_with_its_evidence() {
    let right_tool = |_: &str, value: &str| value.to_owned();
    let wrong_deadlocks = |examination: &str, value: &str| {
        if examination == "ReachabilityDeadlock" { wrong(value) } else { value.to_owned() }
    };
    let examinations = ["ReachabilityDeadlock", "ReachabilityCardinality"];
    let published = judged(&[("a", right_tool), ("b", right_tool)], &SMALL, &examinations);
    let own = judged(&[("mine", wrong_deadlocks)], &SMALL, &examinations);
    let (own, out) = (own.path().join("answers.csv"), published.path().join("rated"));
    let line = format!(
        "rate {} --published answers.csv --edition mcc-2018 --models {FIXTURES}/models.csv --certify {FIXTURES} --format json \
         --out {}",
        own.display(),
        out.display()
    );
    let rated = harness(published.path(), &line).assert().success();
    let rating: serde_json::Value = serde_json::from_slice(&rated.get_output().stdout).unwrap();
    let notes: Vec<&str> =
        rating["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    for instance in SMALL {
        let start = format!("{instance} ReachabilityDeadlock 00 is ");
        let note = notes.iter().find(|note| note.starts_with(&start)).unwrap_or_else(|| panic!("{notes:#?}"));
        assert!(note.contains("; evidence: ") && !note.contains("not decided"), "{note}");
    }
    assert!(!notes.iter().any(|note| note.contains("ReachabilityCardinality")), "{notes:#?}");
}

/// Synthetic files in the formats of other tools, as their documentation describes them.
#[test]
fn files_of_tina_and_smpt_are_evidence_too() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let instance = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/evidence/instances/Switch-PT-1");
    let of_instance = |claim: &str| format!("{} --claim ReachabilityCardinality {claim}", instance.display());
    write("found.scn", "# from play\nt0 {t1}\nt0\n");
    write("timed.scn", "t0@0.5 t1@1\n");
    write("other.scn", "t0\nt1 t9\n");
    let witness = |file: &str, claim: &str| {
        harness(folder.path(), &format!("check-witness {file} --instances {}", of_instance(claim))).assert()
    };
    witness("found.scn", "f4 TRUE").success().stdout("accepted: f4 is TRUE with 3 firings\n");
    witness("timed.scn", "f1 TRUE").code(1).stdout(predicates::str::starts_with("refused: f1 TRUE"));
    let unknown = "other.scn: line 2: the net has no transition \"t9\"";
    witness("other.scn", "f4 TRUE").code(2).stderr(predicates::str::contains(unknown));
    let cert = |body: &str| {
        let places: String = (0..4).map(|place| format!("(p{place} Int)")).collect();
        format!("(set-logic LIA)\n\n; Certificate\n\n(define-fun cert ({places}) Bool {body})\n\n; Check\n")
    };
    write("invariant.smt2", &cert("(and (<= (+ p0 p1) 1) (= p2 0))"));
    write("weak.smt2", &cert("(<= p1 0)"));
    write("reduced.smt2", &cert("(<= a1 0)"));
    let convert = |file: &str, claim: &str| {
        let out = format!("--out {claim}.json").replace(' ', "-").replace("--out-", "--out ");
        harness(folder.path(), &format!("convert-proof {file} --instance {} {out}", of_instance(claim)))
            .assert()
    };
    convert("invariant.smt2", "f3 TRUE").success();
    let check = format!("check-certificate f3-TRUE.json --instances {}", instance.display());
    harness(folder.path(), &check)
        .assert()
        .success()
        .stdout(predicates::str::starts_with("accepted: f3 is TRUE"));
    let again = "f3-TRUE.json: cannot be written; give a new file";
    convert("invariant.smt2", "f3 TRUE").code(2).stderr(predicates::str::contains(again));
    let unproved = "weak.smt2: no proof was found that the clause \"-1 p1 >= 0\" still holds after t0";
    convert("weak.smt2", "f9 TRUE").code(1).stderr(predicates::str::contains(unproved));
    let unknown = "reduced.smt2: line 5: \"a1\" is neither a parameter of cert nor bound";
    convert("reduced.smt2", "f9 TRUE").code(2).stderr(predicates::str::contains(unknown));
    assert!(!folder.path().join("f9-TRUE.json").exists());
}

#[test]
fn a_file_for_another_command_and_a_missing_instance_are_named() {
    let folder = TempDir::new().unwrap();
    let statement = r#""version": 1, "instance": "F-PT-1", "examination": "CTLCardinality", "property": "p""#;
    for (name, rest) in [
        ("witness.json", r#""value": "TRUE", "runs": []"#),
        ("certificate.json", r#""value": "TRUE", "lemmas": [], "steps": []"#),
        ("explored.json", r#""value": "F", "complete": true"#),
        ("other.json", r#""podiums": []"#),
    ] {
        fs::write(folder.path().join(name), format!("{{{statement}, {rest}}}")).unwrap();
    }
    for (arguments, expected) in [
        (
            "check-witness certificate.json",
            "certificate.json: this is a certificate, which `check-certificate`",
        ),
        ("check-certificate witness.json", "witness.json: this is a witness, which `check-witness`"),
        ("check-witness explored.json", "explored.json: this is a report on an exploration"),
        ("check-witness other.json", "other.json: this is not a witness: it has no `runs`"),
        ("check-certificate other.json", "other.json: this is not a certificate: it has no `lemmas`"),
        ("check-witness witness.json", " has neither F-PT-1.tgz nor a folder F-PT-1"),
    ] {
        let refused = harness(folder.path(), &format!("{arguments} --instances .")).assert().code(2);
        let message = words(&refused.get_output().stderr);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}

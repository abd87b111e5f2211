//! Input files of `judge`, `report` and `export`: what is refused, what is flagged, and that no output replaces an input.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const COMPACT: &str = "tool,instance,examination,answers,wrong\n";
const RESULTS: &str = "tool,Input,Examination,results,time flag,memory flag,Status\n";

/// A folder with the files that a test writes, in which the commands run.
struct Folder(TempDir);

impl Folder {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs a command line and returns its stderr.
    fn run(&self, line: &str, code: i32) -> String {
        let mut harness = Command::cargo_bin("mcc-harness").unwrap();
        let done = harness.current_dir(self.path()).args(line.split_whitespace()).assert().code(code);
        String::from_utf8(done.get_output().stderr.clone()).unwrap()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }
}

/// Three tools with the same answer on one instance.
fn three(answer: &str) -> String {
    let rows = ["a", "b", "c"].map(|tool| format!("{tool},F-PT-1,ReachabilityDeadlock,{answer},\n"));
    COMPACT.to_owned() + &rows.concat()
}

#[test]
fn errors_in_tables_with_crlf_name_the_right_line() {
    for end in ["\n", "\r\n"] {
        let bad = format!("{}d,F-PT-1,ReachabilityDeadlock,Q,\n", three("T")).replace('\n', end);
        let models = "instance,family,status\nG-PT-1,G,known\nF-PT-1,F,odd\n".replace('\n', end);
        let tools = "entry,tool,status\na,a,competing\nzzz,z,competing\n".replace('\n', end);
        let good = three("T").replace('\n', end);
        let folder = Folder::with(&[
            ("bad.csv", &bad),
            ("good.csv", &good),
            ("models.csv", &models),
            ("tools.csv", &tools),
        ]);
        for (line, place) in [
            ("judge bad.csv", "bad.csv:5: "),
            ("judge good.csv --models models.csv", "models.csv:3: "),
            ("judge good.csv --tools tools.csv", "tools.csv:3: "),
        ] {
            let error = folder.run(&format!("{line} --edition mcc-2018 --out out"), 2);
            assert!(error.contains(place), "{error}");
        }
    }
}

#[test]
fn an_output_never_replaces_an_input() {
    let overrides = "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,00,T,checked\n";
    let table = three("T");
    let models = "instance,family,status\nF-PT-1,F,known\n";
    let folder =
        Folder::with(&[("in.csv", &table), ("overrides.csv", overrides), ("new.models.csv", models)]);
    for line in [
        "export in.csv --edition mcc-2018 --csv in.csv",
        "export in.csv --edition mcc-2018 --csv ./in.csv",
        "export in.csv --edition mcc-2018 --summary in.csv",
        "export in.csv --edition mcc-2018 --models new.models.csv --csv new.csv",
        "judge in.csv --edition mcc-2018 --overrides overrides.csv --out .",
    ] {
        let error = folder.run(line, 2);
        assert!(error.contains("would replace the input"), "{line}: {error}");
    }
    assert_eq!(folder.read("in.csv"), table);
    assert_eq!(folder.read("overrides.csv"), overrides);
    assert_eq!(folder.read("new.models.csv"), models);
    folder.run("export in.csv --edition mcc-2018 --csv out.csv", 0);
    // The name of an edition is not that of a folder.
    fs::create_dir(folder.path().join("mcc-2018")).unwrap();
    fs::write(folder.path().join("mcc-2018/out.csv"), "").unwrap();
    folder.run("export in.csv --edition mcc-2018 --csv mcc-2018/out.csv", 0);
}

#[test]
fn a_site_does_not_replace_the_judgement_in_it() {
    let folder = Folder::with(&[("answers.csv", &three("T"))]);
    folder.run("judge answers.csv --edition mcc-2018 --out judged", 0);
    let names = ["judgement.json", "trusted.csv"];
    for name in names {
        // Of such a length that a site has it packed.
        let long = folder.read(&format!("judged/{name}")) + &"\n".repeat(1 << 20);
        fs::write(folder.path().join("judged").join(name), long).unwrap();
    }
    folder.run("report judged --out site", 0);
    let packed = |site: &str| {
        names.map(|name| fs::read(folder.path().join(format!("{site}/data/{name}.gz"))).unwrap())
    };
    let before = packed("site");
    fs::copy(folder.path().join("answers.csv"), folder.path().join("site/data/answers.csv")).unwrap();
    for line in [
        "report site/data --out site",
        "report site/data --out site --embargo on",
        "report --years judged site/data --out site",
        "rate site/data/answers.csv --published answers.csv --edition mcc-2018 --out site",
    ] {
        let error = folder.run(line, 2);
        assert!(error.contains("site would replace the input site/data"), "{line}: {error}");
    }
    assert!(packed("site") == before);
    folder.run("report site/data --out other", 0);
    assert!(packed("other") == before);
}

#[test]
fn overrides_accept_the_words_of_the_protocol() {
    let overrides =
        "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,00,TRUE,checked\n";
    let folder = Folder::with(&[("in.csv", &three("F")), ("o.csv", overrides)]);
    folder.run("judge in.csv --edition mcc-2018 --overrides o.csv --out out", 0);
    assert!(folder.read("out/trusted.csv").contains("F-PT-1,ReachabilityDeadlock,00,,T,override"));
    fs::write(folder.path().join("o.csv"), overrides.replace("TRUE", "YES")).unwrap();
    let error = folder.run("judge in.csv --edition mcc-2018 --overrides o.csv --out out", 2);
    assert!(
        error.contains("o.csv:2: column value: `YES`; allowed are T, F, TRUE, FALSE and unknown"),
        "{error}"
    );
    fs::write(folder.path().join("o.csv"), overrides.replace(",00,", ",+0,")).unwrap();
    let error = folder.run("judge in.csv --edition mcc-2018 --overrides o.csv --out out", 2);
    assert!(error.contains("o.csv:2: column position: `+0`; ReachabilityDeadlock has 00 to 00"), "{error}");
}

#[test]
fn control_characters_in_notes_and_reasons_are_refused_with_their_line() {
    let tools = "entry,tool,status,note\na,a,withdrawn,\"P-3,\ntwo lines\"\n";
    let overrides =
        "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,00,T,\"in\ntwo lines\"\n";
    let folder = Folder::with(&[("in.csv", &three("T")), ("tools.csv", tools), ("overrides.csv", overrides)]);
    let judge = "judge in.csv --edition mcc-2018 --tools tools.csv --overrides overrides.csv --out out";
    folder.run(judge, 0);
    for (file, text, column) in [("tools.csv", tools, "note"), ("overrides.csv", overrides, "reason")] {
        fs::write(folder.path().join(file), text.replace("lines", "li\u{1b}[2Jnes")).unwrap();
        let error = folder.run(judge, 2);
        let part = format!("{file}:2: column {column} contains the control character ⟨ESC⟩; remove it");
        assert!(error.contains(&part), "{error}");
        fs::write(folder.path().join(file), text).unwrap();
    }
}

#[test]
fn a_contest_without_competing_entry_is_not_silent() {
    let tools = "entry,tool,status\na,a,resigned\nb,b,resigned\nc,c,resigned\n";
    let folder = Folder::with(&[("in.csv", &three("T")), ("tools.csv", tools)]);
    let message = folder.run("judge in.csv --edition mcc-2018 --tools tools.csv --out out", 1);
    assert!(message.contains("no entry competes, so no podium has a rank"), "{message}");
    fs::write(folder.path().join("tools.csv"), tools.replacen("resigned", "competing", 1)).unwrap();
    let message = folder.run("judge in.csv --edition mcc-2018 --tools tools.csv --out out", 0);
    assert!(!message.contains("no entry competes"), "{message}");
}

#[test]
fn paths_that_cannot_be_used_are_bad_input() {
    let folder = Folder::with(&[("in.csv", &three("T")), ("file", "")]);
    folder.run("judge in.csv --edition mcc-2018 --out out", 0);
    for line in [
        "judge in.csv --edition mcc-2018 --out file/out",
        "judge in.csv --edition mcc-2018 --out out --oracle no-such-folder",
        "export in.csv --edition mcc-2018 --csv no-such-folder/out.csv",
        "export in.csv --edition mcc-2018 --oracle file/oracle",
        "report out --out file/site",
        "man --out file/man",
    ] {
        let error = folder.run(line, 2);
        assert!(error.contains("file/") || error.contains("no-such-folder"), "{line}: {error}");
    }
}

#[test]
fn unusual_facts_of_a_table_are_noted() {
    let rows = [
        "a,F-PT-1,ReachabilityDeadlock,T,LATE,OK,normal\n",
        "b,F-PT-1,ReachabilityDeadlock,T,KO,OK,normal\n",
    ];
    let models = "instance,family,status\nF-PT-1,F,known\nF-PT-2,F,surprise\n";
    let second = "a,F-PT-2,ReachabilityDeadlock,T,OK,OK,normal\n";
    let table = RESULTS.to_owned() + &rows.concat() + second;
    let folder = Folder::with(&[("in.csv", &table), ("models.csv", models)]);
    let notes = folder.run("judge in.csv --edition mcc-2018 --models models.csv --out out", 0);
    assert!(notes.contains("column time flag has the unknown word `LATE` in 1 rows"), "{notes}");
    assert!(!notes.contains("`KO`"), "{notes}");
    assert!(
        notes.contains("family F has instances with the status `known` and others with `surprise`"),
        "{notes}"
    );
    assert!(!notes.contains("no column Status"), "{notes}");
}

#[test]
fn a_table_without_endings_is_noted() {
    let rows = "tool,Input,Examination,results\na,F-PT-1,ReachabilityDeadlock,T\n";
    let folder = Folder::with(&[("in.csv", rows)]);
    let notes = folder.run("judge in.csv --edition mcc-2018 --out out", 0);
    assert!(notes.contains("the table has no column Status"), "{notes}");
}

#[test]
fn a_count_with_decimals_is_refused() {
    let table = COMPACT.to_owned() + "a,F-PT-1,StateSpace,1.2345E+0002 ? ? ?,\n";
    let folder = Folder::with(&[("in.csv", &table)]);
    let error = folder.run("judge in.csv --edition mcc-2018 --out out", 2);
    assert!(error.contains("in.csv:2: column answers: `1.2345E+0002` is not an answer"), "{error}");
}

#[test]
fn a_missing_input_is_named_before_its_edition() {
    let message = Folder::with(&[]).run("judge nowhere --out out", 2);
    assert!(message.contains("cannot read nowhere: No such file"), "{message}");
}

#[test]
fn results_of_another_contest_are_named() {
    let answers = format!("{COMPACT}a,F-PT-03,ReachabilityDeadlock,T,\n");
    let folder = Folder::with(&[("answers.csv", &answers), ("scores.csv", "tool,A\n")]);
    let error = folder.run("judge answers.csv --edition svcomp-2013 --out out", 2);
    assert!(
        error.contains("no category is named `instance`") && error.contains("need the --edition"),
        "{error}"
    );
    let error = folder.run("judge . --edition mcc-2018 --out out", 2);
    assert!(error.contains("results of SV-COMP or CRV need an --edition of that contest"), "{error}");
    std::fs::write(folder.path().join("record.db"), "").unwrap();
    std::fs::write(folder.path().join("a.tar.zst"), [0x28, 0xb5, 0x2f, 0xfd]).unwrap();
    for edition in ["svcomp-2013", "crv-2014"] {
        let error = folder.run(&format!("judge . --edition {edition} --out out"), 2);
        assert!(error.contains(". is the record of a campaign of the MCC"), "{error}");
        let error = folder.run(&format!("judge a.tar.zst --edition {edition} --out out"), 2);
        assert!(error.contains("a.tar.zst is an archive of a campaign of the MCC"), "{error}");
    }
    folder.run("judge answers.csv --edition mcc-2018 --out judged", 0);
    let error = folder.run("compare-campaigns judged judged", 2);
    assert!(error.contains("judged is a judgement and not a record"), "{error}");
}

#[test]
fn a_site_or_trusted_values_are_not_written_among_the_outputs_of_a_record() {
    let folder = Folder::with(&[
        ("answers.csv", &format!("{COMPACT}a,F-PT-03,ReachabilityDeadlock,T,\n")),
        ("record.db", ""),
    ]);
    for command in
        ["export answers.csv --edition mcc-2018 --oracle outputs", "report judged --out outputs/site"]
    {
        let error = folder.run(command, 2);
        assert!(error.contains("is in the record"), "{command}: {error}");
        assert!(!folder.path().join("outputs").exists(), "{command}");
    }
}

#[test]
fn a_folder_of_instances_or_evidence_that_cannot_be_read_is_an_error() {
    let answers = format!("{COMPACT}a,F-PT-03,ReachabilityDeadlock,T,\n");
    let folder = Folder::with(&[("answers.csv", &answers)]);
    folder.run("judge answers.csv --edition mcc-2018 --out judged", 0);
    std::os::unix::fs::symlink("nowhere", folder.path().join("broken")).unwrap();
    for option in ["--instances", "--certified"] {
        for given in ["missing", "broken", "answers.csv", "answers.csv/inside"] {
            let said = folder.run(&format!("report judged --out site {option} {given}"), 2);
            assert!(said.contains(&format!("{option}: cannot read the folder {given}: ")), "{said}");
            assert!(said.contains("; correct the path") && !folder.path().join("site").exists(), "{said}");
        }
    }
}

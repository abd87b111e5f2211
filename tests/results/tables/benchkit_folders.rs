//! Folders of BenchKit's results, whose outputs are read.

use super::{done, refused};
use mcc_harness::judge::judgement::Judgement;
use std::fs;
use tempfile::TempDir;

/// The first line of a summary.
const SUMMARY: &str =
    "### tool,Input,Examination,max memory (MB),CPU (ms),Time (ms),i/o wait (ms),Status,run id\n";

#[test]
fn benchkit_results_ignore_stderr_and_resigned_tools() {
    let folder = TempDir::new().unwrap();
    for part in ["results/CSV", "results/OUTPUTS"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    let outputs = [
        ("bare", "normal", "FORMULA OneSafe TRUE TECHNIQUES A\n\nBK_STOP 12\n"),
        ("long", "normal", "FORMULA F-PT-1-OneSafe-00 TRUE TECHNIQUES A\n\nBK_STOP 12\n"),
        (
            "killed",
            "timeout",
            "log\nBK_TIME_CONFINEMENT_REACHED\n--- content from stderr:\nFORMULA OneSafe FALSE TECHNIQUES A\n",
        ),
        ("Zebra", "normal", "FORMULA OneSafe FALSE TECHNIQUES A\n\nBK_STOP 12\n"),
    ];
    for (tool, status, output) in outputs {
        let summary = format!("{SUMMARY}{tool},F-PT-1,OneSafe,12.5,1000,1000,0,{status},r1\n");
        fs::write(folder.path().join(format!("results/CSV/summary_{tool}.csv")), summary).unwrap();
        let stdout = format!("results/OUTPUTS/{tool}_F-PT-1_OneSafe_r1_host.stdout");
        fs::write(folder.path().join(stdout), format!("BK_START 1\n{output}")).unwrap();
    }
    let tools = "entry,tool,status\nZebra,Zebra,resigned\n";
    fs::write(folder.path().join("tools.csv"), tools).unwrap();
    let judge = ["judge", "results", "--edition", "mcc-2025", "--tools", "tools.csv", "--out", "out"];
    done(folder.path(), &judge);
    let judgement = Judgement::read(&folder.path().join("out")).unwrap();
    let [block] = &judgement.blocks[..] else { panic!("{judgement:?}") };
    let verdicts: Vec<(&str, String)> = block
        .cells
        .iter()
        .map(|cell| (judgement.entries[cell.entry].entry.as_str(), cell.verdicts.to_string()))
        .collect();
    assert_eq!(
        verdicts,
        [("bare", "+"), ("killed", "."), ("long", "+")].map(|(entry, word)| (entry, word.to_owned()))
    );
    for file in fs::read_dir(folder.path().join("out")).unwrap() {
        let path = file.unwrap().path();
        assert!(!fs::read_to_string(&path).unwrap().contains("Zebra"), "{}", path.display());
    }
    for tool in ["bare", "long", "killed", "Zebra"] {
        let path = folder.path().join(format!("results/CSV/summary_{tool}.csv"));
        let summary = fs::read_to_string(&path).unwrap();
        fs::write(path, summary.lines().next().unwrap()).unwrap();
    }
    refused(folder.path(), &judge, &["no summary has a row"]);
}

#[test]
fn an_output_belongs_to_one_row_whatever_the_names_of_entries() {
    let folder = TempDir::new().unwrap();
    for part in ["results/CSV", "results/OUTPUTS"] {
        fs::create_dir_all(folder.path().join(part)).unwrap();
    }
    let output = |entry: &str, run_id: &str, host: &str, value: &str| {
        let file = format!("results/OUTPUTS/{entry}_F-PT-1_OneSafe_{run_id}_{host}.stdout");
        let text = format!("BK_START 1\nFORMULA OneSafe {value} TECHNIQUES A\n\nBK_STOP 12\n");
        fs::write(folder.path().join(&file), text).unwrap();
        folder.path().join(file)
    };
    // Its outputs have names that begin like one of `honest`, and are before it in the alphabet.
    let hostile = "honest_F-PT-1_OneSafe_77_0";
    let rows = [("honest", "77", "TRUE"), ("other", "78", "TRUE"), (hostile, "79", "FALSE")];
    let mut summary = SUMMARY.to_owned();
    for (entry, run_id, value) in rows {
        summary += &format!("{entry},F-PT-1,OneSafe,12.5,1000,1000,0,normal,{run_id}\n");
        output(entry, run_id, "host", value);
    }
    fs::write(folder.path().join("results/CSV/summary_all.csv"), summary).unwrap();
    let judge = ["judge", "results", "--edition", "mcc-2025", "--out", "out"];
    done(folder.path(), &judge);
    let judgement = Judgement::read(&folder.path().join("out")).unwrap();
    let cells = judgement.blocks[0].cells.iter();
    let mut given: Vec<(&str, String)> = cells
        .map(|cell| (&*judgement.entries[cell.entry].entry, cell.values[0].as_ref().unwrap().to_string()))
        .collect();
    given.sort();
    assert_eq!(given, [("honest", "T"), (hostile, "F"), ("other", "T")].map(|(e, v)| (e, v.to_owned())));

    let second = output("honest", "77", "host2", "FALSE");
    refused(
        folder.path(),
        &judge,
        &["summary_all.csv:2:", "_77_host.stdout and honest_", "keep the one of the run"],
    );
    fs::remove_file(second).unwrap();
    output("unknown", "80", "host", "FALSE");
    let (_, notes) = done(folder.path(), &[&judge[..5], &["again"]].concat());
    assert!(
        notes.contains("1 output in OUTPUTS without a row in a summary, such as unknown_F-PT-1_"),
        "{notes}"
    );
}

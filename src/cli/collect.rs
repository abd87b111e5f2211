use super::terminal::{argument, next};
use super::{Exit, Failure, Format, print};
use mcc_runner::cluster::{Cluster, Collected, collect};
use mcc_store::Record;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Merge the records of a campaign's jobs into one record.
///
/// The command may be repeated while jobs run. Afterwards `judge` and `report` read RESULTS like the record of a local
/// campaign. It lists the models with missing runs, and exits with 1 while there are any.
#[derive(clap::Args)]
pub struct Args {
    /// The folder given to `submit --out`.
    results: PathBuf,
    /// Records of jobs (shards) that were copied by hand: a folder with a record.db, or a folder of such folders.
    #[arg(long, value_name = "DIR")]
    from: Vec<PathBuf>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct CollectReport {
    #[serde(flatten)]
    collected: Collected,
    planned: u64,
    recorded: u64,
    /// Runs without a record, by model.
    missing: BTreeMap<String, u64>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let cluster = Cluster::open(&args.results)?;
    // This connection is closed at once: SQLite leaves WAL mode, which `run` uses, only on its sole connection.
    let existing = Record::open_readonly(&args.results)?.facts().clone();
    let record = Record::create_or_open_shared(&args.results, &existing)?;
    let collected = collect(&record, &cluster, &args.from)?;
    let mut missing: BTreeMap<String, u64> = BTreeMap::new();
    for open in record.open_runs() {
        *missing.entry(open?.run.model).or_default() += 1;
    }
    let summary = record.summary()?;
    let report = CollectReport { collected, planned: summary.planned, recorded: summary.recorded, missing };
    print::result(args.format, &report, || {
        print::text(&as_text(&report))?;
        let results = argument(&args.results);
        if report.missing.is_empty() {
            next(&format!("mcc-harness judge {results} --out judged"));
        } else {
            next(&format!("`mcc-harness status {results}` shows which models are open"));
        }
        Ok(())
    })?;
    Ok(if report.missing.is_empty() { Exit::Done } else { Exit::Failed })
}

fn as_text(report: &CollectReport) -> String {
    let CollectReport { collected, planned, recorded, missing } = report;
    let mut out = format!(
        "records of jobs (shards) read: {}; new attempts: {}; newly recorded runs: {}\n{recorded} of {planned} runs are recorded\n",
        collected.shards, collected.merged.attempts, collected.merged.runs
    );
    for (model, runs) in missing {
        out += &format!("missing runs of {model}: {runs}\n");
    }
    out
}

use super::import::refuse_archive_to_certify;
use super::record_source::refuse_no_judgement;
use super::run::stop_on_signal;
use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use mcc_certify::command::{Input, Only, Progress, Share, Skipped, Summary, ToolEvidence, certify};
use mcc_judge::judgement::Judgement;
use mcc_judge::show::columns;
use mcc_store::Record;
use std::num::NonZero;
use std::path::PathBuf;

/// Check the values of a judgement by witnesses and proofs instead of votes.
///
/// Decides trusted values by firing sequences, certificates of invariants, and exploration, within a budget. Only witnesses
/// and certificates that a checker accepts are used; each is kept as a file. Writes certified.csv, alarms.csv (answers that
/// evidence contradicts), overrides.csv (values that the organizers may set) and a bundle for each tool with such answers.
/// Changes no points. After a kill the same command continues (docs/certification.md).
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote.
    judgement: PathBuf,
    /// Folder of instance archives (NAME.tgz). Values of instances without an archive are not examined.
    #[arg(long, value_name = "DIR")]
    instances: PathBuf,
    /// Folder for the results. The same folder continues an interrupted certification.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The values to decide: those on which voters differ; also those that rest on one voter or on one tool; or all.
    #[arg(long, value_enum, value_name = "WHICH", default_value_t)]
    only: Only,
    /// Seconds of CPU time for each examination on an instance. One exploration serves the examinations of an instance, so
    /// they share their time.
    #[arg(long, value_name = "N", default_value = "60")]
    budget_s: NonZero<u32>,
    /// Millions of steps (firings and work of similar cost) for each examination on an instance. The results are then the
    /// same on every host on which the time does not end first.
    #[arg(long, value_name = "N")]
    budget_msteps: Option<NonZero<u32>>,
    /// Memory for each instance that is examined, in MiB.
    #[arg(long, value_name = "M", default_value = "2048")]
    memory_mib: NonZero<u32>,
    /// Number of instances at once.
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZero<u32>,
    /// The record that was judged: bundles then contain the outputs of the tools.
    #[arg(long, value_name = "RESULTS")]
    record: Option<PathBuf>,
    /// Also check the witnesses and certificates that tools wrote, as far as the record has them (docs/evidence/README.md). The
    /// result is tool-evidence.csv; it changes no values and no points.
    #[arg(long, requires = "record")]
    tool_evidence: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    refuse_archive_to_certify(&args.judgement)?;
    refuse_no_judgement(&args.judgement)?;
    if mcc_other_contests::Judgement::read(&args.judgement).map_err(Failure::usage)?.is_some() {
        return Err(Failure::usage(anyhow!("certify is for judgements of the MCC")));
    }
    let judgement = Judgement::read(&args.judgement).map_err(Failure::usage)?;
    let record = args.record.as_deref().map(Record::open_readonly).transpose();
    let record = record.map_err(Failure::usage)?;
    let input = Input {
        judgement: &judgement,
        judgement_dir: &args.judgement,
        instances: &args.instances,
        record: record.as_ref(),
        tool_evidence: args.tool_evidence,
        only: args.only,
        budget_s: args.budget_s.get().into(),
        budget_msteps: args.budget_msteps.map(|steps| steps.get().into()),
        memory_mib: args.memory_mib.get().into(),
        jobs: args.jobs.get() as usize,
    };
    let stop = stop_on_signal()?;
    let summary = certify(&input, &args.out, &stop, show)?;
    print::result(args.format, &summary, || print::text(&text(&summary, &args)))?;
    Ok(if summary.skipped.is_empty() { Exit::Done } else { Exit::Failed })
}

fn show(progress: Progress) {
    let Progress { instance, done, all, decided, values, kept, skipped } = progress;
    let kept = if kept { ", already certified" } else { "" };
    match skipped {
        None => {
            eprintln!("certify: {done} of {all} instances; {instance}: {decided} of {values} values{kept}");
        }
        Some(reason) => {
            eprintln!("certify: {done} of {all} instances; {instance}: skipped: {}", print::escaped(&reason));
        }
    }
}

fn text(summary: &Summary, args: &Args) -> String {
    let mut rows = vec![
        ["examination", "values", "witness", "proof", "re-explored", "explored", "open", "decided"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut all = Share { examination: "all".to_owned(), ..Share::default() };
    for share in &summary.examinations {
        all.add(share);
    }
    for share in summary.examinations.iter().chain([&all]) {
        let numbers = [
            share.values,
            share.witness,
            share.proof,
            share.re_explored,
            share.explored,
            share.values - share.decided(),
        ];
        let mut row = vec![share.examination.clone()];
        row.extend(numbers.map(|number| number.to_string()));
        row.push(percent(share.decided(), share.values));
        rows.push(row);
    }
    let mut text = String::new();
    for warning in &summary.warnings {
        text += &format!("warning: {warning}\n");
    }
    for Skipped { instance, reason } in &summary.skipped {
        text += &format!("skipped: {instance}: {reason}\n");
    }
    text += &columns(&rows, &[1, 2, 3, 4, 5, 6]);
    let out = args.out.display();
    if summary.matched_by_order > 0 {
        text += &format!(
            "instances without property ids in the judgement, matched by the order of the ids: {}\n",
            summary.matched_by_order
        );
    }
    if all.at_least > 0 {
        text += &format!("open values with a lower bound: {}\n", all.at_least);
    }
    if summary.instances_without_archive > 0 {
        text +=
            &format!("instances without an archive, not examined: {}\n", summary.instances_without_archive);
    }
    text += &format!(
        "answers that evidence contradicts: {} ({out}/alarms.csv); trusted values: {}; proposed overrides: {} \
         ({out}/overrides.csv)\n",
        summary.alarms, summary.refuted, summary.overrides
    );
    if let Some(ToolEvidence { accepted, bound_only, refused, not_checked }) = summary.tool_evidence {
        text += &format!(
            "evidence of tools: accepted: {accepted}; bound only: {bound_only}; refused: {refused}; not checked: \
             {not_checked} ({out}/tool-evidence.csv)\n"
        );
    }
    text
}

/// A share in percent, rounded down to one decimal.
fn percent(part: u64, all: u64) -> String {
    let tenths = (part * 1000).checked_div(all).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

use super::import::refuse_archive_to_certify;
use super::record_source::refuse_no_judgement;
use super::run::stop_on_signal;
use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use mcc_certify::command::{
    ExaminationBudget, Input, Only, Progress, Share, Skipped, Summary, ToolEvidence, TotalInput, certify,
    certify_total,
};
use mcc_judge::judgement::Judgement;
use mcc_judge::show::{columns, plural};
use mcc_model::Total;
use mcc_store::Record;
use std::num::NonZero;
use std::path::PathBuf;

/// Check the values of a judgement by witnesses and proofs instead of votes.
///
/// Decides trusted values by firing sequences, certificates of invariants, and exploration, within a budget. Only witnesses
/// and certificates that a checker accepts are used; each is kept as a file. Writes certified.csv, alarms.csv (answers that
/// evidence contradicts), overrides.csv (values that the organizers may set) and a bundle for each tool with such answers.
/// Changes no points. If it is interrupted or killed, the same command continues the work (docs/certification.md).
///
/// With --total instead of a judgement: decides a question for each transition or place of the P/T nets, and writes total.csv,
/// the evidence, and the oracle files of these examinations (NAME-QLA.out, NAME-SMA.out, NAME-UBA.out).
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote.
    #[arg(required_unless_present = "total")]
    judgement: Option<PathBuf>,
    /// Instead of the values of a judgement, decide these examinations on all P/T nets: QuasiLivenessAll, StableMarkingAll,
    /// UpperBoundsAll.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = total,
        conflicts_with_all = ["judgement", "only", "record", "tool_evidence", "jobs"])]
    total: Vec<&'static Total>,
    /// Folder of instance archives (NAME.tgz). Values of instances without an archive are not examined.
    #[arg(long, value_name = "DIR")]
    instances: PathBuf,
    /// Folder for the results. The same folder continues an interrupted certification.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The values to decide.
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
    /// Also check the witnesses and certificates of tools that are in the record (docs/evidence/README.md). The
    /// result is tool-evidence.csv; it changes no values and no points.
    #[arg(long, requires = "record")]
    tool_evidence: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Args {
    fn budget(&self) -> ExaminationBudget {
        ExaminationBudget {
            budget_s: self.budget_s.get().into(),
            budget_msteps: self.budget_msteps.map(|steps| steps.get().into()),
            memory_mib: self.memory_mib.get().into(),
        }
    }
}

/// The total examination of a name.
fn total(name: &str) -> Result<&'static Total, String> {
    let known = Total::ALL.map(|total| total.examination);
    Total::named(name).ok_or_else(|| format!("allowed are {}", known.join(", ")))
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if !args.instances.is_dir() {
        return Err(Failure::usage(anyhow!(
            "--instances: {} is not a folder; give the folder of the instance archives (NAME.tgz)",
            args.instances.display()
        )));
    }
    let Some(folder) = &args.judgement else { return run_total(&args) };
    refuse_archive_to_certify(folder)?;
    refuse_no_judgement(folder)?;
    if mcc_other_contests::Judgement::read(folder).map_err(Failure::usage)?.is_some() {
        return Err(Failure::usage(anyhow!("certify is for judgements of the MCC")));
    }
    let judgement = Judgement::read(folder).map_err(Failure::usage)?;
    let record = args.record.as_deref().map(Record::open_readonly).transpose();
    let record = record.map_err(Failure::usage)?;
    let input = Input {
        judgement: &judgement,
        judgement_dir: folder,
        instances: &args.instances,
        record: record.as_ref(),
        tool_evidence: args.tool_evidence,
        only: args.only,
        budget: args.budget(),
        jobs: args.jobs.get() as usize,
    };
    let stop = stop_on_signal()?;
    let summary = certify(&input, &args.out, &stop, show)?;
    print::result(args.format, &summary, || print::text(&text(&summary, &args)))?;
    Ok(if summary.skipped.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Certifies total examinations.
fn run_total(args: &Args) -> Result<Exit, Failure> {
    let input = TotalInput { instances: &args.instances, examinations: &args.total, budget: args.budget() };
    let stop = stop_on_signal()?;
    let show = |instance: &str, decided, values| {
        stderr_line!("certify: {instance}: {decided} of {values} values decided");
    };
    let summary = certify_total(&input, &args.out, &stop, show)?;
    print::result(args.format, &summary, || {
        let mut text = skipped_lines(&summary.skipped) + &shares(&summary.examinations);
        if summary.coloured > 0 {
            text += &format!("coloured instances, which have no such questions: {}\n", summary.coloured);
        }
        print::text(&text)
    })?;
    Ok(if summary.skipped.is_empty() { Exit::Done } else { Exit::Failed })
}

fn show(progress: Progress) {
    let Progress { instance, done, all, decided, values, kept, skipped } = progress;
    let kept = if kept { ", already certified" } else { "" };
    match skipped {
        None => {
            stderr_line!(
                "certify: {done} of {all} instances; {instance}: {decided} of {values} values decided{kept}"
            );
        }
        Some(reason) => {
            stderr_line!(
                "certify: {done} of {all} instances; {instance}: skipped: {}",
                print::escaped(&reason)
            );
        }
    }
}

fn skipped_lines(skipped: &[Skipped]) -> String {
    skipped
        .iter()
        .map(|Skipped { instance, reason }| format!("skipped: {instance}: {}\n", print::escaped(reason)))
        .collect()
}

/// The table of the shares, with their number of lower bounds.
fn shares(examinations: &[Share]) -> String {
    let mut rows = vec![
        ["examination", "values", "witness", "proof", "re-explored", "explored", "open", "decided"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut all = Share { examination: "all".to_owned(), ..Share::default() };
    for share in examinations {
        all.add(share);
    }
    for share in examinations.iter().chain([&all]) {
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
    let mut text = columns(&rows, &[1, 2, 3, 4, 5, 6]);
    text += "re-explored: by two explorations; explored: by one exploration; open: none of these\n";
    if all.at_least > 0 {
        text += &format!("open values with a lower bound: {}\n", all.at_least);
    }
    text
}

fn text(summary: &Summary, args: &Args) -> String {
    let mut text = String::new();
    for warning in &summary.warnings {
        text += &format!("warning: {warning}\n");
    }
    text += &skipped_lines(&summary.skipped);
    text += &shares(&summary.examinations);
    let out = args.out.display();
    if summary.matched_by_order > 0 {
        text += &format!(
            "instances without property ids in the judgement, matched by the order of the ids: {}\n",
            summary.matched_by_order
        );
    }
    if summary.instances_without_archive > 0 {
        text +=
            &format!("instances without an archive, not examined: {}\n", summary.instances_without_archive);
    }
    let counted = |count: usize, one, many| format!("{count} {}", plural(count as u64, one, many));
    text += &format!(
        "Evidence contradicts {} ({out}/alarms.csv)\nand {}; {} proposed ({out}/overrides.csv)\n",
        counted(summary.alarms, "answer of a tool", "answers of tools"),
        counted(summary.refuted, "trusted value", "trusted values"),
        counted(summary.overrides, "override is", "overrides are")
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

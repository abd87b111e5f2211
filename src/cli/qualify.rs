use super::failure::qualify_failure;
use super::run::stop_on_signal;
use super::{Exit, Failure, Format, print, progress};
use crate::qualify::{Finding, Machines, Qualification, QualificationReport, Settings, counted};
use mcc_base::names::EntryName;
use mcc_edition::Edition;
use mcc_model::Severity;
use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Check whether a tool would pass the organizers' qualification.
///
/// Runs every examination on the first instance of each known model, with a short limit. Lists for each finding the
/// run, the line of output, the rule and the fix. Exits with 1 if the tool would not pass.
#[derive(clap::Args)]
pub struct Args {
    /// The tool's disk image, as `image build` makes it, or an original disk (with --ssh-key).
    #[arg(required_unless_present = "native", conflicts_with = "native")]
    image: Option<PathBuf>,
    /// Run the tool's folder (BenchKit_head.sh and bin/) on this host without a virtual machine, instead of an image.
    /// This is fast, but does not replace the qualification of the image.
    #[arg(long, value_name = "DIR")]
    native: Option<PathBuf>,
    /// The name of the entry (BK_TOOL).
    #[arg(long, value_name = "T")]
    tool: EntryName,
    /// Folder of instance archives (NAME.tgz). The first P/T and the first coloured instance of each known model are run.
    #[arg(long, value_name = "FOLDER")]
    instances: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// Only these examinations [default: all examinations of the edition].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    examinations: Vec<String>,
    /// The kind of submission: sequential has 1 core (E-5.3), concurrent 4 (E-5.4).
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    /// BK_TIME_CONFINEMENT and the limit of CPU time per core, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    limit: NonZero<u32>,
    /// Number of attempts at every run, to find answers that differ between them.
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZero<u32>,
    /// Known answers: trusted.csv of a judgement, or a folder of <Instance>.csv or <Instance>-<Examination>.out.
    #[arg(long, value_name = "FILE|FOLDER")]
    oracle: Option<PathBuf>,
    /// The private key for ssh on an original disk.
    #[arg(long, value_name = "FILE", conflicts_with = "native")]
    ssh_key: Option<PathBuf>,
    /// Keep the record of the runs in this folder, and the campaign in RESULTS.toml beside it. After an interruption the
    /// same command continues the qualification.
    #[arg(long, value_name = "RESULTS")]
    out: Option<PathBuf>,
    /// Largest number of simultaneous runs [default: as many as cores and memory allow].
    #[arg(long, value_name = "N", conflicts_with = "native")]
    jobs: Option<NonZero<u32>>,
    /// Run although this host does not meet the contest's machine requirements.
    #[arg(long, conflicts_with = "native")]
    allow_degraded: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    #[default]
    Sequential,
    Concurrent,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    let examinations = match args.examinations.as_slice() {
        [] => edition.examinations.clone(),
        names => names
            .iter()
            .map(|name| Ok(super::lint::examination(&edition, name)?.clone()))
            .collect::<Result<_, Failure>>()?,
    };
    let qualification = Qualification::new(Settings {
        entry: args.tool,
        edition,
        edition_source: args.edition,
        examinations,
        instances: args.instances,
        kind: match args.kind {
            Kind::Sequential => mcc_campaign::Kind::Sequential,
            Kind::Concurrent => mcc_campaign::Kind::Concurrent,
        },
        limit_s: args.limit,
        repeat: args.repeat,
        oracle: args.oracle,
    });
    let qualification = qualification.map_err(qualify_failure)?;
    let temporary = tempfile::tempdir()?;
    let out = args.out.unwrap_or_else(|| temporary.path().join("results"));
    let report = match (&args.native, &args.image) {
        (Some(folder), _) => {
            qualification.run_native(folder, &out, &|run| eprintln!("qualify: {run}, native run"))
        }
        (None, image) => {
            let machines = Machines {
                image: image.as_deref().unwrap_or(Path::new("")),
                ssh_key: args.ssh_key.as_deref(),
                jobs: args.jobs,
                allow_degraded: args.allow_degraded,
                stop: &*stop_on_signal()?,
                show_inputs: &print::inputs,
                run: &|runner| progress::watch(runner, &|_| true),
            };
            qualification.run_in_machines(&machines, &out)
        }
    };
    let report = report.map_err(qualify_failure)?;
    match args.format {
        Format::Text => print::text(&as_text(&report))?,
        Format::Json => print::raw(&format!("{}\n", serde_json::to_string_pretty(&report)?))?,
    }
    Ok(if report.passes { Exit::Done } else { Exit::Failed })
}

fn as_text(report: &QualificationReport) -> String {
    let mut out = format!(
        "qualification of {} by {}: {}, limit {} s\n",
        report.tool,
        report.edition,
        counted(report.runs.values().map(Vec::len).sum(), "run"),
        report.limit_s
    );
    let _ = writeln!(out, "instances: {}", report.instances.join(" "));
    for (role, sha256) in &report.disks {
        let _ = writeln!(out, "digest of {role}: sha256:{sha256}");
    }
    for line in &report.machine {
        let _ = writeln!(out, "machine: {line}");
    }
    for (name, value) in &report.environment {
        let _ = writeln!(out, "environment of the first run: {name}={value}");
    }
    for (run, outcomes) in &report.runs {
        let _ = writeln!(out, "{run}: {}", outcomes.join("; "));
    }
    let mut run = "";
    for finding in &report.findings {
        if run != finding.run {
            run = &finding.run;
            let _ = writeln!(out, "\n{run}");
        }
        let _ = write!(out, "{}", finding_text(finding));
    }
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let (errors, warnings) =
        (counted(count(Severity::Error), "error"), counted(count(Severity::Warning), "warning"));
    let verdict = if report.passes { "would pass" } else { "would NOT pass" };
    let native =
        if report.native { " (native run: does not replace the qualification of the image)" } else { "" };
    let _ = writeln!(out, "\n{verdict}: {errors}, {warnings}{native}");
    out
}

/// Two lines: place, severity, rule and problem; then the fix.
pub(super) fn finding_text(finding: &Finding) -> String {
    let place = finding.place();
    let place = if place.is_empty() { place } else { format!("{place}: ") };
    let severity = super::lint::severity_name(finding.severity);
    format!("  {place}{severity} ({}): {}\n    fix: {}\n", finding.rule, finding.problem, finding.fix)
}

use super::ci_reports::CiReports;
use super::evidence::Evidence;
use super::run::stop_on_signal;
use super::terminal::{ERROR, GOOD, HEADING, Page, argument, next, note};
use super::{Exit, Failure, Format, findings, print, progress, word_of};
use mcc_base::names::EntryName;
use mcc_base::temporary;
use mcc_base::text::counted;
use mcc_campaign::{Kind, Start};
use mcc_edition::Edition;
use mcc_runner::qualify::{
    Checked, Finding, Machines, Purpose, Qualification, QualificationReport, Settings,
};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Check whether a tool would pass the organizers' qualification.
///
/// Runs every examination on two instances of each known model: its first P/T instance and its first coloured instance, in the
/// order of their names. Each run has a short limit. Lists for each finding the run, the line of output, the rule and the fix.
/// Exits with 1 if the tool would not pass.
#[derive(clap::Args)]
#[command(
    override_usage = "mcc-harness qualify [OPTIONS] --instances <FOLDER> --tool <T> <IMAGE|--native <DIR>>"
)]
pub struct Args {
    /// The tool's disk image, as `image build` makes it, or an original disk (with --ssh-key).
    #[arg(required_unless_present = "native", conflicts_with = "native")]
    image: Option<PathBuf>,
    /// Run the tool's folder (BenchKit_head.sh and bin/) on this host without a virtual machine, instead of an image.
    /// This is fast, but does not replace the qualification of the image.
    #[arg(long, value_name = "DIR")]
    native: Option<PathBuf>,
    /// Folder of instance archives (NAME.tgz).
    #[arg(long, value_name = "FOLDER")]
    instances: PathBuf,
    #[command(flatten)]
    conditions: Conditions,
    /// Number of attempts at every run, to find answers that differ between them.
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZero<u32>,
    /// Known answers: trusted.csv of a judgement, or a folder of INSTANCE.csv or of oracle files (INSTANCE-SHORT.out, such
    /// as TokenRing-PT-005-CTLC.out).
    #[arg(long, value_name = "FILE|FOLDER")]
    oracle: Option<PathBuf>,
    /// Look for evidence of each wrong value on its instance, and show it: the firing sequence, and the tokens that it leaves
    /// in the places of the formula.
    #[arg(long)]
    certify: bool,
    /// The private key for ssh on an original disk.
    #[arg(long, value_name = "FILE", conflicts_with = "native")]
    ssh_key: Option<PathBuf>,
    /// Keep the record of the runs in this folder, and the campaign in RESULTS.toml beside it. After an interruption the
    /// same command continues the qualification. With --native, keep only the outputs; the same command makes all runs again.
    #[arg(long, value_name = "RESULTS")]
    out: Option<PathBuf>,
    /// Largest number of simultaneous runs [default: as many as cores and memory allow].
    #[arg(long, value_name = "N", conflicts_with = "native")]
    jobs: Option<NonZero<u32>>,
    /// Boot a machine for each run. Without this flag, machines start from a saved state, which is faster. One run is then
    /// repeated in a machine that boots, to compare the answers.
    #[arg(long, conflicts_with = "native")]
    boot: bool,
    /// Run although this host does not meet the contest's machine requirements.
    #[arg(long, conflicts_with = "native")]
    allow_degraded: bool,
    /// Also print the digests of the disks, the machines, the environment and the end of each run.
    #[arg(long)]
    details: bool,
    #[command(flatten)]
    ci_reports: CiReports,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The conditions of runs, in `qualify` and `compare-runs`.
#[derive(clap::Args)]
pub(super) struct Conditions {
    /// The name of the entry (BK_TOOL).
    #[arg(long, value_name = "T")]
    pub tool: EntryName,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    pub edition: String,
    /// Only these examinations, separated by commas [default: all examinations of the edition].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub examinations: Vec<String>,
    /// The kind of submission: sequential has 1 core (E-5.3), concurrent 4 (E-5.4).
    #[arg(long, value_parser = word_of::<Kind>(KINDS), default_value = "sequential")]
    pub kind: Kind,
    /// BK_TIME_CONFINEMENT and the limit of CPU time per core, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub limit: NonZero<u32>,
}

impl Conditions {
    /// The settings of these conditions.
    pub fn settings(
        &self,
        purpose: Purpose,
        instances: &Path,
        repeat: NonZero<u32>,
        oracle: Option<PathBuf>,
    ) -> Result<Settings, Failure> {
        let edition = Edition::load(&self.edition).map_err(Failure::usage)?;
        let examinations = match &*self.examinations {
            [] => edition.examinations.clone(),
            names => names
                .iter()
                .map(|name| Ok(super::lint::examination(&edition, name)?.clone()))
                .collect::<Result<_, Failure>>()?,
        };
        Ok(Settings {
            purpose,
            entry: self.tool.clone(),
            edition,
            edition_source: self.edition.clone(),
            examinations,
            instances: instances.to_owned(),
            kind: self.kind,
            limit_s: self.limit,
            start: Start::default(),
            deterministic: false,
            repeat,
            oracle,
        })
    }
}

/// The kinds of a submission.
pub(super) const KINDS: &[&str] = &["sequential", "concurrent"];

impl Args {
    /// The files and folders that are read, with the subfolders of those that are read as a whole.
    fn read_files(&self) -> Vec<PathBuf> {
        let whole = [self.native.as_ref(), self.image.as_ref(), Some(&self.instances)].into_iter().flatten();
        let mut read: Vec<_> =
            whole.flat_map(WalkDir::new).flatten().map(walkdir::DirEntry::into_path).collect();
        read.extend(self.oracle.iter().chain(&self.ssh_key).cloned());
        read.push(PathBuf::from(&self.conditions.edition));
        read
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    args.ci_reports.check(&args.read_files())?;
    let purpose = Purpose::Qualification;
    let settings = args.conditions.settings(purpose, &args.instances, args.repeat, args.oracle.clone())?;
    let qualification = Qualification::new(settings)?;
    if let Some((known, all)) = qualification.known_values() {
        stderr_line!("oracle: {known} of {all} values are known");
    }
    let temporary = temporary::folder("mcc-qualify-")?;
    let out = args.out.clone().unwrap_or_else(|| temporary.path().join("results"));
    let report = match (&args.native, &args.image) {
        (Some(folder), _) => {
            let show =
                |number: usize, all: usize, run: &str| stderr_line!("[{number}/{all}] {run}, native run");
            qualification.run_native(folder, &out, &show)
        }
        (None, image) => {
            let machines = Machines {
                image: image.as_deref().unwrap_or(Path::new("")),
                ssh_key: args.ssh_key.as_deref(),
                jobs: args.jobs,
                boot: args.boot,
                allow_degraded: args.allow_degraded,
                stop: &*stop_on_signal()?,
                show_inputs: &print::inputs,
                run: &|runner| progress::watch(runner, &|_| true),
            };
            qualification.run_in_machines(&machines, &out)
        }
    };
    let mut report = report?;
    if args.certify {
        add_evidence(&mut report, &args.instances)?;
    }
    args.ci_reports.write(&Checked {
        name: format!("qualify {}", report.tool),
        runs: report.runs.keys().cloned().collect(),
        findings: &report.findings,
        file: None,
    })?;
    print::result(args.format, &report, || {
        page(&report, args.details, &|finding| next_command(finding, &args)).print()?;
        next_steps(&report, &args);
        Ok(())
    })?;
    Ok(if report.passes { Exit::Done } else { Exit::Failed })
}

/// Adds evidence to the findings about values.
fn add_evidence(report: &mut QualificationReport, instances: &Path) -> Result<(), Failure> {
    let mut evidence = Evidence::new(instances)?;
    for finding in &mut report.findings {
        let (Some(value), Some((_, run))) = (&finding.value, finding.run.split_once('/')) else { continue };
        let Some((instance, examination)) = run.split_once('/') else { continue };
        let text = evidence.about(instance, examination, |_, found| found.id == value.id);
        finding.fix = format!("{}; {text}", finding.fix);
    }
    Ok(())
}

/// The text of the report: findings first, the verdict last. `details`: also digests, machines, environment and the end of
/// each run.
pub(super) fn page(
    report: &QualificationReport,
    details: bool,
    next_command: &dyn Fn(&Finding) -> Option<String>,
) -> Page {
    let mut page = Page::new();
    let runs = counted(report.runs.values().map(Vec::len).sum::<usize>(), "run");
    let QualificationReport { tool, edition, limit_s, findings, .. } = report;
    page.item(0, "qualification", HEADING, &format!("of {tool} by {edition}: {runs}, limit {limit_s} s"));
    page.gap();
    if !findings.is_empty() {
        findings::show(&mut page, findings, next_command);
        page.gap();
    }
    if details {
        page.item(0, "instances:", HEADING, &report.instances.join(" "));
        for (role, sha256) in &report.disks {
            page.item(0, "digest", HEADING, &format!("of {role}: sha256:{sha256}"));
        }
        for (name, value) in &report.environment {
            page.item(0, "environment", HEADING, &format!("of the first run: {name}={value}"));
        }
        for (run, outcomes) in &report.runs {
            page.item(0, "run", HEADING, &format!("{run}: {}", outcomes.join("; ")));
            if let Some(counts) = report.instructions.get(run) {
                page.item(
                    2,
                    "instructions",
                    HEADING,
                    &counts.iter().map(u64::to_string).collect::<Vec<_>>().join("; "),
                );
            }
        }
    }
    for line in report.machine.iter().filter(|_| details || report.native) {
        page.item(0, if report.native { "native run:" } else { "machine:" }, HEADING, line);
    }
    for (run, attempts) in &report.completion {
        let attempts: Vec<String> = attempts.iter().map(ToString::to_string).collect();
        page.item(0, "completion", HEADING, &format!("of {run}: {}", attempts.join("; ")));
    }
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    report.runs.values().flatten().for_each(|end| *ends.entry(end).or_default() += 1);
    let ends: Vec<String> = ends.iter().map(|(end, runs)| format!("{end}: {runs}")).collect();
    page.item(0, "ends of the runs:", HEADING, &ends.join("; "));
    let counts = || report.instructions.values().flatten();
    if let (Some(least), Some(most)) = (counts().min(), counts().max()) {
        let text = format!("{least} to {most} in a run, at user addresses (--details shows each)");
        page.item(0, "instructions:", HEADING, &text);
    }
    let (verdict, style) = if report.passes { ("would pass:", GOOD) } else { ("would NOT pass:", ERROR) };
    let native = if report.native { " (native run, not the image)" } else { "" };
    page.item(0, verdict, style, &format!("{}{native}", findings::counts(findings)));
    page
}

/// The command that usually follows a finding: a wrong value is easier to find on a small net; of another problem the
/// output is read line by line, or first kept.
fn next_command(finding: &Finding, args: &Args) -> Option<String> {
    let mut parts = finding.run.split('/');
    let (_, instance, examination) = (parts.next()?, parts.next()?, parts.next()?);
    let archive = argument(args.instances.join(format!("{instance}.tgz")));
    if let Some(value) = finding.value.as_ref().filter(|_| !instance.contains("-COL-")) {
        let tool = args.native.as_deref().map_or_else(|| "FOLDER".to_owned(), argument);
        let property = argument(&value.id);
        return Some(format!(
            "mcc-harness shrink {archive} --examination {examination} --property {property} --tool {tool} --out shrunk"
        ));
    }
    let Some(out) = &args.out else {
        return Some(format!(
            "repeat the command with --examinations {examination} --out RESULTS to keep the outputs"
        ));
    };
    let outputs = if args.native.is_some() { out.clone() } else { out.join("outputs") };
    let output = argument(outputs.join(&finding.run).join("1").join(finding.output.unwrap_or("stdout")));
    Some(format!("mcc-harness lint {output} --instance {archive} --examination {examination}"))
}

/// Prints what to do after the report.
fn next_steps(report: &QualificationReport, args: &Args) {
    match &args.out {
        Some(out) => {
            let folder = if report.native { out.clone() } else { out.join("outputs") };
            note(&format!("the outputs are in {}/ENTRY/INSTANCE/EXAMINATION/ATTEMPT", folder.display()));
        }
        None if !report.passes => note("the outputs of the runs were deleted; --out RESULTS keeps them"),
        None => {}
    }
    match (&args.native, report.passes) {
        (_, false) => {
            next("correct the errors, and repeat the command; --details shows each run and its machine");
        }
        (Some(folder), true) => {
            let folder = argument(folder);
            next(&format!(
                "mcc-harness image build --tool {folder} --out IMAGE (as root), then qualify IMAGE"
            ));
        }
        (None, true) => {
            let image = args.image.as_deref().map(argument).unwrap_or_default();
            next(&format!("submit {image}; `mcc-harness qualify --details` prints the digests of its disks"));
        }
    }
}

use super::{Exit, Failure, Format, print};
use crate::qualify::{
    AttemptOutputs, Finding, Oracle, PerTool, RunLimits, RunQuestions, check_run, counted, differing_values,
    native,
};
use anyhow::{Context, anyhow};
use mcc_base::digest;
use mcc_base::names::{BadName, EntryName, ExaminationName};
use mcc_benchkit::{Answers, Invocation, Reading};
use mcc_campaign::{InstanceFacts, Run, qualification_wall_s};
use mcc_edition::{Edition, Examination};
use mcc_model::{Archive, Severity};
use mcc_store::{CampaignFacts, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Find out whether a tool would pass the organizers' qualification, and if not, why.
///
/// Runs every examination on the first instance of each known model given, with a short limit, and names for
/// each finding the run, the line of output, the rule and the fix. Exits with 1 if it would not pass.
#[derive(clap::Args)]
pub struct Args {
    /// The tool's disk image, as `image build` makes it, or an original disk (with --ssh-key).
    #[arg(required_unless_present = "native", conflicts_with = "native")]
    image: Option<PathBuf>,
    /// Instead of an image, the tool's folder (BenchKit_head.sh and bin/), run on this machine without a virtual
    /// one. Quick, and no substitute: passing it does not mean that the image passes.
    #[arg(long, value_name = "DIR")]
    native: Option<PathBuf>,
    /// The entry's name, as BK_TOOL tells it.
    #[arg(long, value_name = "T")]
    tool: EntryName,
    /// Folder of instance archives (NAME.tgz); of each known model the first instance is run, P/T and coloured each.
    #[arg(long, value_name = "FOLDER")]
    instances: PathBuf,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// Only these examinations [default: all of the edition].
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    examinations: Vec<String>,
    /// What it is submitted as: 1 core, or 4 (E-5.3, E-5.4).
    #[arg(long, value_enum, default_value_t)]
    kind: Kind,
    /// BK_TIME_CONFINEMENT and the limit of CPU time, seconds.
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    limit: NonZero<u32>,
    /// Make every run so many times, to find answers that flip.
    #[arg(long, value_name = "N", default_value = "1")]
    repeat: NonZero<u32>,
    /// Known answers: trusted.csv of a judgement, or a folder of <Instance>.csv or <Instance>-<Examination>.out.
    #[arg(long, value_name = "FILE|FOLDER")]
    oracle: Option<PathBuf>,
    /// The private key that opens an original disk.
    #[arg(long, value_name = "FILE", conflicts_with = "native")]
    ssh_key: Option<PathBuf>,
    /// Keep the record of the runs, with their outputs, in this folder, and their campaign in RESULTS.toml beside it;
    /// asked again, it goes on there.
    #[arg(long, value_name = "RESULTS")]
    out: Option<PathBuf>,
    /// Runs at once [default: as many as cores and memory allow].
    #[arg(long, value_name = "N", conflicts_with = "native")]
    jobs: Option<NonZero<u32>>,
    /// Run although this host cannot honour the contest's machine.
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

/// What `--format json` prints.
#[derive(Serialize)]
struct Report {
    tool: String,
    edition: String,
    /// No machine was booted: this is no substitute for qualifying the image.
    native: bool,
    passes: bool,
    limit_s: u32,
    instances: Vec<String>,
    examinations: Vec<String>,
    environment: BTreeMap<String, String>,
    /// Digests of what was qualified, by role.
    disks: BTreeMap<String, String>,
    /// How the machines were: boot times, guest kernel, CPU flags, marks.
    machine: Vec<String>,
    /// How every attempt ended, by run.
    runs: BTreeMap<String, Vec<String>>,
    findings: Vec<Finding>,
}

/// What is asked, settled.
struct Job<'a> {
    args: &'a Args,
    edition: Edition,
    examinations: Vec<Examination>,
    /// Of the examinations.
    names: Vec<ExaminationName>,
    archives: BTreeMap<String, Archive>,
    oracle: Option<Oracle>,
    limits: RunLimits,
}

/// How long a tool is watched beyond its limit, to see answers that come too late.
fn grace(limit: u32) -> u32 {
    (limit / 4).clamp(3, 15)
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
    let archives = first_instances(&args.instances, &edition)?;
    let oracle = args.oracle.as_deref().map(Oracle::open).transpose().map_err(Failure::usage)?;
    let vcpus = match args.kind {
        Kind::Sequential => edition.machine.sequential_cores,
        Kind::Concurrent => edition.machine.concurrent_cores,
    };
    let cpu_s = u64::from(args.limit.get());
    let wall_s = qualification_wall_s(&edition, cpu_s);
    let limits = RunLimits { cpu_s, wall_s, vcpus, memory_mib: edition.machine.memory_mib };
    let names = examinations.iter().map(|known| known.name.parse());
    let names = names.collect::<Result<_, BadName>>().map_err(Failure::usage)?;
    let job = Job { args: &args, edition, examinations, names, archives, oracle, limits };
    // Before anything runs: a bad oracle is seen at once.
    let run_questions = job.run_questions()?;
    let kept;
    let out = match &args.out {
        Some(out) => out.clone(),
        None => {
            kept = tempfile::tempdir()?;
            kept.path().join("results")
        }
    };
    let report = match &args.native {
        Some(folder) => job.run_native(&run_questions, folder, &out)?,
        None => match job.run_in_machines(&run_questions, &out)? {
            Ok(report) => report,
            // It has said why.
            Err(exit) => return Ok(exit),
        },
    };
    match args.format {
        Format::Text => print::text(&as_text(&report))?,
        Format::Json => print::raw(&format!("{}\n", serde_json::to_string_pretty(&report)?))?,
    }
    Ok(if report.passes { Exit::Done } else { Exit::Failed })
}

/// First line of a campaign file that `qualify` wrote; only such a file is replaced.
const WRITTEN_HERE: &str = "# Written by `mcc-harness qualify`, which replaces this file.\n";

/// Writes the campaign to `RESULTS.toml` beside `out`, and returns that path.
///
/// # Errors
/// `out` has no file name; a file of that name exists that `qualify` did not write; it cannot be read or written.
fn write_campaign(out: &Path, campaign: &str) -> Result<PathBuf, Failure> {
    let unnamed = || Failure::usage(anyhow!("{}: not a folder name; give --out a name", out.display()));
    let mut name = out.file_name().ok_or_else(unnamed)?.to_owned();
    name.push(".toml");
    let file = out.with_file_name(name);
    let named = || file.display().to_string();
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let text = format!("{WRITTEN_HERE}{campaign}");
    match File::create_new(&file) {
        Ok(mut new) => new.write_all(text.as_bytes()).with_context(named)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let existing = fs::read(&file).with_context(named)?;
            // Version 0.1 wrote no first line.
            if !existing.starts_with(WRITTEN_HERE.as_bytes()) && existing != campaign.as_bytes() {
                return Err(Failure::usage(anyhow!(
                    "{}: `qualify` would write its campaign here, but did not write this file; give another --out",
                    file.display()
                )));
            }
            fs::write(&file, text).with_context(named)?;
        }
        Err(error) => return Err(anyhow::Error::new(error).context(named()).into()),
    }
    Ok(file)
}

/// Of every known model the first instance, P/T and coloured each, by name.
fn first_instances(folder: &Path, edition: &Edition) -> Result<BTreeMap<String, Archive>, Failure> {
    let found = mcc_campaign::archives_in(folder).with_context(|| folder.display().to_string());
    let found = found.map_err(Failure::usage)?;
    let mut seen = BTreeSet::new();
    let mut first = BTreeMap::new();
    // By name: the contest pads the numbers of instances.
    for (name, path) in found {
        let archive = Archive::open(&path).map_err(Failure::usage)?;
        let (family, stripped) = edition.unstripped(archive.instance.family());
        let known = !stripped && !archive.markers().new_model;
        if known && seen.insert((family.to_owned(), archive.instance.as_str().contains("-COL-"))) {
            first.insert(name, archive);
        }
    }
    match first.is_empty() {
        false => Ok(first),
        true => Err(Failure::usage(anyhow!(
            "{}: no instance of a known model in it; give a folder of archives (NAME.tgz)",
            folder.display()
        ))),
    }
}

impl Job<'_> {
    fn runs(&self) -> impl Iterator<Item = (Run, &Archive, &Examination)> {
        self.archives.values().flat_map(move |archive| {
            self.examinations.iter().zip(&self.names).map(move |(examination, name)| {
                let run = Run {
                    entry: self.args.tool.clone(),
                    instance: archive.instance.clone(),
                    examination: name.clone(),
                    model: archive.instance.family().to_owned(),
                    vcpus: self.limits.vcpus,
                    competes: true,
                };
                (run, archive, examination)
            })
        })
    }

    /// What every run is asked, in the order of `runs`.
    fn run_questions(&self) -> Result<Vec<RunQuestions>, Failure> {
        let of = |(_, archive, examination): (Run, &Archive, &Examination)| {
            let run_questions = RunQuestions::of(archive, examination).map_err(Failure::usage)?;
            match &self.oracle {
                Some(oracle) => run_questions.with(oracle, archive.instance.as_str()).map_err(Failure::usage),
                None => Ok(run_questions),
            }
        };
        self.runs().map(of).collect()
    }

    /// A warning for every file of the oracle with bad lines.
    fn of_oracle(&self, run_questions: &[RunQuestions]) -> Vec<Finding> {
        let unread = self.oracle.iter().flat_map(|oracle| &oracle.unread);
        let unread = unread.chain(run_questions.iter().flat_map(|run_questions| &run_questions.unread));
        let warning = |unread: &String| Finding {
            run: self.args.tool.to_string(),
            output: None,
            line: None,
            severity: Severity::Warning,
            rule: "E-4",
            problem: format!("bad line in the oracle: {unread}"),
            fix: "correct the oracle; a value that it does not give is not compared".to_owned(),
        };
        unread.map(warning).collect()
    }

    fn invocation<'a>(&'a self, run: &'a Run) -> Invocation<'a> {
        Invocation {
            tool: &run.entry,
            instance: &run.instance,
            examination: &run.examination,
            confinement_s: u64::from(self.args.limit.get()),
            memory_mib: self.edition.machine.memory_mib,
            original: self.args.ssh_key.is_some(),
        }
    }

    fn report(&self) -> Report {
        let environment = self.runs().next().map(|(run, ..)| {
            let job = self.invocation(&run).job(String::new(), 0, String::new());
            job.env.into_iter().filter(|(name, _)| name.starts_with("BK_") || name == "BIN_DIR").collect()
        });
        Report {
            tool: self.args.tool.to_string(),
            edition: self.edition.name.clone(),
            native: self.args.native.is_some(),
            passes: false,
            limit_s: self.args.limit.get(),
            instances: self.archives.keys().cloned().collect(),
            examinations: self.examinations.iter().map(|examination| examination.name.clone()).collect(),
            environment: environment.unwrap_or_default(),
            disks: BTreeMap::new(),
            machine: vec![],
            runs: BTreeMap::new(),
            findings: vec![],
        }
    }

    /// The attempts at one run, checked, and against each other.
    fn check(
        &self,
        report: &mut Report,
        per_tool: &mut PerTool,
        run: &Run,
        run_questions: &RunQuestions,
        attempts: &[AttemptOutputs],
    ) -> Result<(), Failure> {
        let id = run.id();
        let mut findings: Vec<Finding> = vec![];
        let mut printed = vec![];
        for left in attempts {
            let readable = || format!("reading the outputs of {id} in {}", left.outputs.display());
            for finding in check_run(left, run_questions, &self.limits).with_context(readable)? {
                // What every repetition does is said once.
                let known =
                    |known: &Finding| (known.rule, &known.problem) == (finding.rule, &finding.problem);
                if !findings.iter().any(known) {
                    findings.push(finding);
                }
            }
            if !left.outcome.is_infrastructure() {
                per_tool.add(&id, left, &self.limits);
                let stdout = File::open(left.outputs.join("stdout"))?;
                printed.push(Answers::read_file(&stdout, &run_questions.questions, Reading::default())?);
            }
            report.runs.entry(id.to_string()).or_default().push(super::outcome(left.outcome));
        }
        findings.extend(differing_values(&printed));
        report
            .findings
            .extend(findings.into_iter().map(|finding| Finding { run: id.to_string(), ..finding }));
        Ok(())
    }

    /// What is not about one run comes last.
    fn conclude(&self, report: &mut Report, per_tool: &PerTool, run_questions: &[RunQuestions]) {
        report.findings.extend(per_tool.findings(&self.args.tool, &self.limits));
        report.findings.extend(self.of_oracle(run_questions));
        report.passes = report.findings.iter().all(|finding| finding.severity != Severity::Error);
    }

    fn run_native(
        &self,
        run_questions: &[RunQuestions],
        folder: &Path,
        out: &Path,
    ) -> Result<Report, Failure> {
        if !folder.join("BenchKit_head.sh").is_file() {
            let missing = anyhow!("{}: no BenchKit_head.sh in it; give the tool's folder", folder.display());
            return Err(Failure::usage(missing));
        }
        let mut report = self.report();
        report
            .machine
            .push("none: a dry run on this machine is no substitute for qualifying the image".into());
        let (head, _) = digest::file(&folder.join("BenchKit_head.sh"))?;
        report.disks.insert("BenchKit_head.sh".to_owned(), head);
        let grace = Duration::from_secs(grace(self.args.limit.get()).into());
        let mut per_tool = PerTool::default();
        for ((run, archive, _), run_questions) in self.runs().zip(run_questions) {
            let mut ended = vec![];
            for n in 1..=self.args.repeat.get() {
                eprintln!("qualify: {}, natively", run.id());
                let outputs = out.join(run.id().as_str()).join(n.to_string());
                fs::create_dir_all(&outputs).with_context(|| outputs.display().to_string())?;
                let invocation = self.invocation(&run);
                let done = native::run(folder, archive, &invocation, &self.limits, grace, &outputs);
                ended.push((done.with_context(|| format!("running {}", folder.display()))?, outputs));
            }
            let left = ended.iter().map(|(ended, outputs)| AttemptOutputs {
                outcome: &ended.outcome,
                marks: &ended.marks,
                facts: Some(&ended.facts),
                samples: &ended.facts.samples,
                outputs,
            });
            self.check(&mut report, &mut per_tool, &run, run_questions, &left.collect::<Vec<_>>())?;
        }
        self.conclude(&mut report, &per_tool, run_questions);
        Ok(report)
    }

    /// With `run`, on a campaign of its own beside the record. Err: how that ended, where it did not come to an end.
    fn run_in_machines(
        &self,
        run_questions: &[RunQuestions],
        out: &Path,
    ) -> Result<Result<Report, Exit>, Failure> {
        let file = write_campaign(out, &self.campaign()?)?;
        // Ctrl-C is for `run`, which ends well; what it leaves open is seen below.
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)))?;
        for repetition in 1..=self.args.repeat.get() {
            if repetition > 1 {
                let existing = Record::open_readonly(out)?.facts().clone();
                let record = Record::create_or_open(out, &existing, |_| {})?;
                let reason = format!("repetition {repetition} of {}", self.args.repeat);
                let attempts = |run: &Run| record.attempts(&run.id()).map_or(0, |attempts| attempts.len());
                record.rerun(|run| attempts(run) < repetition as usize, &reason)?;
            }
            // A process of its own: `run` moves itself off the cores it leases, for good.
            let mut run = Command::new(std::env::current_exe()?);
            run.arg("run").arg(&file).arg("--out").arg(out);
            if self.args.allow_degraded {
                run.arg("--allow-degraded");
            }
            // Its own results go to stderr; stdout is the report's.
            let status = run.stdout(Stdio::null()).status().context("starting `mcc-harness run`")?;
            let summary = || Record::open_readonly(out).and_then(|record| record.summary());
            let exit = match status.code() {
                Some(0) => continue,
                Some(1) if summary().is_ok_and(|s| s.planned > 0 && s.recorded == s.planned) => continue,
                Some(1) => Exit::Failed,
                Some(2) => Exit::Usage,
                Some(69) => Exit::HostCannot,
                _ => Exit::Bug,
            };
            return Ok(Err(exit));
        }
        self.read(run_questions, out).map(Ok)
    }

    fn campaign(&self) -> Result<String, Failure> {
        let absolute = |path: &Path| -> Result<String, Failure> {
            let path = std::path::absolute(path).with_context(|| path.display().to_string())?;
            let unwritable = || Failure::usage(anyhow!("{}: the path is no text", path.display()));
            path.to_str().map(str::to_owned).ok_or_else(unwritable)
        };
        let edition = match self.args.edition.contains('/') || self.args.edition.ends_with(".toml") {
            true => absolute(Path::new(&self.args.edition))?,
            false => self.args.edition.clone(),
        };
        let mut tool = toml::Table::new();
        tool.insert("entry".into(), self.args.tool.to_string().into());
        tool.insert("image".into(), absolute(self.args.image.as_deref().unwrap_or(Path::new("")))?.into());
        let kind = if self.args.kind == Kind::Sequential { "sequential" } else { "concurrent" };
        tool.insert("kind".into(), kind.into());
        if let Some(key) = &self.args.ssh_key {
            tool.insert("channel".into(), "ssh".into());
            tool.insert("ssh_key".into(), absolute(key)?.into());
        }
        let (limit, more) = (self.args.limit.get(), grace(self.args.limit.get()));
        let seconds = |s: u64| toml::Value::from(i64::try_from(s).unwrap_or(i64::MAX));
        let mut limits = toml::Table::new();
        limits.insert("confinement_s".into(), seconds(limit.into()));
        limits.insert("cpu_s".into(), seconds(self.limits.cpu_s + u64::from(more)));
        limits.insert("wall_s".into(), seconds(self.limits.wall_s + u64::from(more)));
        let mut hosts = toml::Table::new();
        if let Some(jobs) = self.args.jobs {
            hosts.insert("jobs".into(), i64::from(jobs.get()).into());
        }
        let names = |names: &mut dyn Iterator<Item = &str>| -> toml::Value {
            names.map(toml::Value::from).collect::<Vec<_>>().into()
        };
        let mut campaign = toml::Table::new();
        campaign.insert("edition".into(), edition.into());
        campaign.insert("phase".into(), "qualification".into());
        campaign.insert("inputs".into(), absolute(&self.args.instances)?.into());
        campaign.insert("instances".into(), names(&mut self.archives.keys().map(String::as_str)));
        let mut examinations = self.examinations.iter().map(|examination| examination.name.as_str());
        campaign.insert("examinations".into(), names(&mut examinations));
        campaign.insert("limits".into(), limits.into());
        campaign.insert("hosts".into(), hosts.into());
        campaign.insert("tool".into(), vec![toml::Value::from(tool)].into());
        Ok(toml::to_string(&campaign)?)
    }

    fn read(&self, run_questions: &[RunQuestions], out: &Path) -> Result<Report, Failure> {
        let record = Record::open_readonly(out)?;
        let mut report = self.report();
        let CampaignFacts { disks, instances, .. } = record.facts();
        report.disks = disks.iter().map(|disk| (disk.role.clone(), disk.sha256.clone())).collect();
        let digests =
            instances.iter().map(|InstanceFacts { name, sha256, .. }| (name.to_string(), sha256.clone()));
        report.disks.extend(digests);
        let mut machine = BTreeSet::new();
        let mut boots = vec![];
        let mut per_tool = PerTool::default();
        for ((run, ..), run_questions) in self.runs().zip(run_questions) {
            let attempts = record.attempts(&run.id())?;
            // An attempt that failed and was made again says nothing of the tool.
            let last = attempts.len().saturating_sub(1);
            let kept = attempts.iter().enumerate();
            let kept = kept.filter(|(n, attempt)| *n == last || !attempt.outcome.is_infrastructure());
            let mut left = vec![];
            for (_, attempt) in kept {
                boots.extend(attempt.facts.as_ref().map(|facts| facts.boot_ms));
                machine.insert(format!("accelerator {}, {}", attempt.host.accelerator, attempt.host.qemu));
                if !attempt.environment.guest_kernel.is_empty() {
                    machine.insert(format!("guest kernel {}", attempt.environment.guest_kernel));
                    machine.insert(match attempt.environment.cpu_flags_missing.as_slice() {
                        [] if attempt.environment.cpu_flags.is_empty() => {
                            "CPU flags: unknown, the guest did not say".to_owned()
                        }
                        [] => "CPU flags: all that E-5.2 requires".to_owned(),
                        missing => format!("CPU flags of E-5.2 that this host lacks: {}", missing.join(" ")),
                    });
                }
                let degraded = attempt.marks.iter().filter(|mark| mark.is_degraded());
                machine.extend(degraded.map(|mark| format!("{mark} (this host, not the tool)")));
                left.push((attempt, record.samples(attempt)?, record.outputs_dir(&run.id(), attempt.number)));
            }
            let left = left.iter().map(|(attempt, samples, outputs)| AttemptOutputs {
                outcome: &attempt.outcome,
                marks: &attempt.marks,
                facts: attempt.facts.as_ref(),
                samples,
                outputs,
            });
            self.check(&mut report, &mut per_tool, &run, run_questions, &left.collect::<Vec<_>>())?;
        }
        self.conclude(&mut report, &per_tool, run_questions);
        if let (Some(shortest), Some(longest)) = (boots.iter().min(), boots.iter().max()) {
            let times = counted(boots.len(), "time");
            machine.insert(format!("booted {times}, in {shortest} to {longest} ms"));
        }
        report.machine = machine.into_iter().collect();
        Ok(report)
    }
}

fn as_text(report: &Report) -> String {
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
    let native = if report.native { " (natively: no substitute for qualifying the image)" } else { "" };
    let _ = writeln!(out, "\n{verdict}: {errors}, {warnings}{native}");
    out
}

/// Two lines: place, severity, rule and problem; then the fix.
pub(super) fn finding_text(finding: &Finding) -> String {
    let place = finding.place();
    let place = if place.is_empty() { place } else { format!("{place}: ") };
    let severity = super::lint::word(finding.severity);
    format!("  {place}{severity} ({}): {}\n    fix: {}\n", finding.rule, finding.problem, finding.fix)
}

//! Runs a tool in every examination on the first instance of each known model, and reports the findings.

use super::report::Checks;
use super::{
    AttemptOutputs, Oracle, PerTool, QualificationReport, QualifyError, RunLimits, RunQuestions,
    campaign_file, native,
};
use crate::{CampaignEnd, CampaignRunner, Host, InputsEvent, PreparedCampaign, RunSettings, RunnerError};
use mcc_base::OnFile;
use mcc_base::names::{EntryName, ExaminationName};
use mcc_base::text::counted;
use mcc_base::{Mark, digest, temporary};
use mcc_campaign::benchkit::Invocation;
use mcc_campaign::{
    self as campaign, Campaign, History, InstanceFacts, Kind, Run, Start, qualification_wall_s,
};
use mcc_edition::{Edition, Examination};
use mcc_model::Archive;
use mcc_store::{ARCHIVE_FILE, CampaignFacts, Instructions, Outcome, RECORD_FILE, Record};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What runs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A qualification: the first instance of each known model. Runs continue for some time after the limit, so that late
    /// answers are found.
    Qualification,
    /// A comparison of two images: all instances. Runs end at the limit.
    Comparison,
}

impl Purpose {
    /// The command for this purpose.
    fn command(self) -> &'static str {
        match self {
            Self::Qualification => "qualify",
            Self::Comparison => "compare-runs",
        }
    }
}

/// The settings of a qualification, or of one image of a comparison.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What the runs are for.
    pub purpose: Purpose,
    /// The name of the entry, BK_TOOL.
    pub entry: EntryName,
    /// The edition.
    pub edition: Edition,
    /// The name of the edition or the path of its file, as written to the campaign.
    pub edition_source: String,
    /// The examinations to run.
    pub examinations: Vec<Examination>,
    /// Folder of instance archives (NAME.tgz).
    pub instances: PathBuf,
    /// The kind of submission: sequential (E-5.3) or concurrent (E-5.4).
    pub kind: Kind,
    /// BK_TIME_CONFINEMENT and the limit of CPU time per core, seconds.
    pub limit_s: NonZero<u32>,
    /// How machines start in a comparison; a qualification decides it itself.
    pub start: Start,
    /// Whether guests place programs at the same addresses each time and hash seeds are fixed.
    pub deterministic: bool,
    /// Number of attempts at each run.
    pub repeat: NonZero<u32>,
    /// The path of known answers, see `Oracle`.
    pub oracle: Option<PathBuf>,
}

/// The machines of a qualification, and the functions of the caller.
pub struct Machines<'a> {
    /// The tool's disk image, or an original disk (with `ssh_key`).
    pub image: &'a Path,
    /// The private key for ssh on an original disk.
    pub ssh_key: Option<&'a Path>,
    /// Runs at once; None: as many as cores and memory allow.
    pub jobs: Option<NonZero<u32>>,
    /// Boot the machine of every run. Otherwise all are restored but one, which boots for a second attempt at a run, so that
    /// its answers are compared.
    pub boot: bool,
    /// Run although this host does not meet the contest's machine requirements.
    pub allow_degraded: bool,
    /// Stop request, see `RunSettings::stop`.
    pub stop: &'a AtomicBool,
    /// Called with the events of building the inputs disk.
    pub show_inputs: &'a dyn Fn(InputsEvent),
    /// Runs all open runs of a campaign and shows the progress.
    pub run: &'a dyn Fn(CampaignRunner) -> Result<CampaignEnd, RunnerError>,
}

/// A qualification with its instances and oracle. Nothing has run yet.
pub struct Qualification {
    pub(super) settings: Settings,
    archives: BTreeMap<String, Archive>,
    limits: RunLimits,
    pub(super) runs: Vec<(Run, RunQuestions)>,
    /// Texts about bad lines of the oracle's tables; those about its other files are in `runs`.
    unread: Vec<String>,
}

/// The grace period in seconds: a qualification continues for this time after the limit to detect late answers.
fn grace_s(limit_s: u32) -> u32 {
    (limit_s / 4).clamp(3, 15)
}

impl Qualification {
    /// Reads the instances and the oracle.
    ///
    /// # Errors
    /// They cannot be read, or there is no instance for this purpose.
    pub fn new(settings: Settings) -> Result<Self, QualifyError> {
        let Settings { edition, examinations, kind, .. } = &settings;
        let archives = instances(&settings.instances, edition, settings.purpose)?;
        let oracle = settings.oracle.as_deref().map(Oracle::open).transpose()?;
        let vcpus = kind.cores(&edition.machine);
        let cpu_s = u64::from(settings.limit_s.get());
        let wall_s = qualification_wall_s(edition, cpu_s);
        let limits = RunLimits { cpu_s, wall_s, vcpus, memory_mib: edition.machine.memory_mib };
        let names = examinations.iter().map(|known| known.name.parse());
        let names: Vec<ExaminationName> = names.collect::<Result<_, _>>()?;
        let mut runs = vec![];
        for (instance, archive) in &archives {
            for (examination, name) in examinations.iter().zip(&names) {
                let mut run_questions = RunQuestions::read(archive, examination)?;
                if let Some(oracle) = &oracle {
                    run_questions = run_questions.with(oracle, instance)?;
                }
                let run = Run {
                    entry: settings.entry.clone(),
                    instance: archive.instance.clone(),
                    examination: name.clone(),
                    model: archive.instance.family().to_owned(),
                    vcpus,
                    competes: true,
                };
                runs.push((run, run_questions));
            }
        }
        let unread = oracle.map(|oracle| oracle.unread).unwrap_or_default();
        Ok(Self { settings, archives, limits, runs, unread })
    }

    /// The number of values that the oracle knows, and of all; None without an oracle.
    pub fn known_values(&self) -> Option<(usize, usize)> {
        self.settings.oracle.as_ref()?;
        let expected = || self.runs.iter().flat_map(|(_, run_questions)| &run_questions.expected);
        Some((expected().flatten().count(), expected().count()))
    }

    /// Runs the tool's folder on this host without a virtual machine. The outputs are written to the folder `out`. `show`
    /// is called with the number of each attempt, the number of all of them, and its run when it starts.
    ///
    /// # Errors
    /// The edition limits instructions, `out` has a record, `folder` has no head script, the tool cannot be started, or its
    /// outputs cannot be written or read.
    pub fn run_native(
        &self,
        folder: &Path,
        out: &Path,
        show: &dyn Fn(usize, usize, &str),
    ) -> Result<QualificationReport, QualifyError> {
        let edition = &self.settings.edition;
        if let Some(limit) = edition.limits.instructions {
            return Err(QualifyError::Refused(format!(
                "edition {}: `limits.instructions` is {limit}, but a native run has no machine that counts instructions; \
                 qualify an image without --native, or give another --edition",
                edition.name
            )));
        }
        if [RECORD_FILE, ARCHIVE_FILE].iter().any(|file| out.join(file).exists()) {
            return Err(QualifyError::Refused(format!(
                "{} has a record or is an unpacked archive, into which a native run does not write; give another folder to \
                 --out",
                out.display()
            )));
        }
        let head = head_script(folder)?;
        let mut checks = self.checks(true, false);
        checks.report.machine = [
            "a native run does not replace the qualification of the image",
            "a temporary folder ($HOME) replaces /home/mcc, with a copy of the tool's folder; a tool that contains \
             the path /home/mcc works in the image only",
            "the tool has the programs, libraries, cores, memory and network of this host, and the login of the \
             caller, not mcc",
        ]
        .map(str::to_owned)
        .to_vec();
        for value in checks.report.environment.values_mut() {
            *value = value.replace(native::HOME, "$HOME");
        }
        let (sha256, _) = digest::file(&head).on("read", &head)?;
        checks.report.disks.insert("BenchKit_head.sh".to_owned(), sha256);
        let temporary = temporary::folder("mcc-qualify-")?;
        let home = temporary.path().join("home");
        let grace = Duration::from_secs(grace_s(self.settings.limit_s.get()).into());
        let (mut started, all) = (0, self.runs.len() * self.settings.repeat.get() as usize);
        for (run, run_questions) in &self.runs {
            let mut ended = vec![];
            for n in 1..=self.settings.repeat.get() {
                started += 1;
                show(started, all, run.id().as_str());
                let outputs = out.join(run.id().as_str()).join(n.to_string());
                fs::create_dir_all(&outputs).on("create", &outputs)?;
                let archive = &self.archives[run.instance.as_str()];
                let invocation = self.invocation(run, false);
                let done = native::run(&home, folder, archive, &invocation, &self.limits, grace, &outputs);
                ended.push((done.on("run", folder)?, outputs));
            }
            let attempts = ended.iter().map(|(ended, outputs)| AttemptOutputs {
                outcome: &ended.outcome,
                marks: &ended.marks,
                facts: Some(&ended.facts),
                samples: &ended.facts.samples,
                outputs,
            });
            checks.add(&run.id(), run_questions, &attempts.collect::<Vec<_>>())?;
        }
        let mut report = checks.finish(self.unread());
        for finding in &mut report.findings {
            finding.problem = finding.problem.replace(&*home.to_string_lossy(), "$HOME");
        }
        Ok(report)
    }

    /// Runs the image as a campaign, `OUT.toml`, with its record in the folder `out`. Continues an existing record.
    ///
    /// # Errors
    /// The campaign cannot be prepared or run, was stopped, or the record cannot be read.
    pub fn run_in_machines(
        &self,
        machines: &Machines,
        out: &Path,
    ) -> Result<QualificationReport, QualifyError> {
        let Machines { image, ssh_key, jobs, .. } = *machines;
        let prepared = self.prepare(image, ssh_key, jobs, out)?;
        let host = Host::prepare(prepared.campaign.hosts.backend, machines.allow_degraded)?;
        // Original disks cannot be restored.
        let restore = !machines.boot && ssh_key.is_none();
        let run_open = |reopen: &dyn Fn(&Record) -> Result<(), QualifyError>, restore| {
            let (record, disks) =
                prepared.record(out, false, Record::create_or_open, machines.show_inputs)?;
            reopen(&record)?;
            let settings = RunSettings {
                restore,
                jobs: jobs.map(|jobs| jobs.get() as usize),
                history: History::with_instances(),
                ..prepared.settings(&host, (&record, disks), machines.stop)
            };
            // A run that ended in infrastructure is a finding of the report.
            match (machines.run)(CampaignRunner::new(settings)?)? {
                CampaignEnd::Stopped => Err(QualifyError::Stopped),
                _ => Ok(()),
            }
        };
        for repetition in 1..=self.settings.repeat.get() {
            run_open(&|record| self.reopen_for_repetition(record, repetition), restore)?;
        }
        if restore {
            run_open(&|record| self.reopen_for_boot(record), false)?;
        }
        self.read(out, machines.ssh_key.is_some())
    }

    /// Reopens the runs with fewer attempts than this repetition.
    fn reopen_for_repetition(&self, record: &Record, repetition: u32) -> Result<(), QualifyError> {
        if repetition > 1 {
            let reason = format!("repetition {repetition} of {}", self.settings.repeat);
            let mut to_repeat = BTreeSet::new();
            for (run, _) in &self.runs {
                if record.attempts(&run.id())?.len() < repetition as usize {
                    to_repeat.insert(run.id());
                }
            }
            record.rerun(|run| to_repeat.contains(&run.id()), &reason)?;
        }
        Ok(())
    }

    /// Reopens a run for a machine that boots, so that its answers are compared with those of restored machines: the first
    /// run that the tool ended itself, else the first. Reopens none if a machine of the record booted already.
    fn reopen_for_boot(&self, record: &Record) -> Result<(), QualifyError> {
        let (mut first, mut finished) = (None, None);
        for (run, _) in &self.runs {
            let id = run.id();
            for attempt in record.attempts(&id)? {
                if attempt.facts.is_some() && !attempt.marks.contains(&Mark::RESTORED) {
                    return Ok(());
                }
                if matches!(attempt.outcome, Outcome::Finished { .. }) {
                    finished.get_or_insert(id.clone());
                }
            }
            first.get_or_insert(id);
        }
        let chosen = finished.or(first);
        let reason = "a machine that boots, to compare its answers with those of restored machines";
        record.rerun(|run| Some(run.id()) == chosen, reason)?;
        Ok(())
    }

    /// Writes the campaign of an image to `OUT.toml`, and reads it with the image.
    pub(super) fn prepare(
        &self,
        image: &Path,
        ssh_key: Option<&Path>,
        jobs: Option<NonZero<u32>>,
        out: &Path,
    ) -> Result<PreparedCampaign, QualifyError> {
        let has = |name: &str| image.join(name).is_file();
        if has("BenchKit_head.sh") && !has("image.json") {
            return Err(QualifyError::Refused(format!(
                "{path} is a tool's folder, not an image: `qualify --native {path}` runs it on this host, without a \
                 machine; `image build --tool {path} --out IMAGE` makes its image",
                path = image.display()
            )));
        }
        let campaign = self.campaign(image, ssh_key, jobs)?;
        let file = campaign_file::write(out, &campaign, self.settings.purpose.command())?;
        let campaign = Campaign::load(&file).map_err(QualifyError::of_campaign)?;
        PreparedCampaign::new(campaign).map_err(QualifyError::of_campaign)
    }

    /// Reads the record and returns its report.
    fn read(&self, out: &Path, original: bool) -> Result<QualificationReport, QualifyError> {
        let record = Record::open_readonly(out)?;
        let mut checks = self.checks(false, original);
        let CampaignFacts { disks, instances, .. } = record.facts();
        let instances =
            instances.iter().map(|InstanceFacts { name, sha256, .. }| (name.to_string(), sha256.clone()));
        checks.report.disks = disks.iter().map(|disk| (disk.role.clone(), disk.sha256.clone())).collect();
        checks.report.disks.extend(instances);
        let mut machine = BTreeSet::new();
        let (mut boots, mut restored) = (vec![], 0);
        for (run, run_questions) in &self.runs {
            let attempts = record.attempts(&run.id())?;
            // Infrastructure failures that were repeated are not about the tool.
            let last = attempts.len().saturating_sub(1);
            let kept = attempts.iter().enumerate();
            let kept = kept.filter(|(n, attempt)| *n == last || !attempt.outcome.is_infrastructure());
            let mut kept_outputs = vec![];
            for (_, attempt) in kept {
                match &attempt.facts {
                    Some(_) if attempt.marks.contains(&Mark::RESTORED) => restored += 1,
                    facts => boots.extend(facts.as_ref().map(|facts| facts.boot_ms)),
                }
                machine.insert(format!("accelerator {}, {}", attempt.host.accelerator, attempt.host.qemu));
                if !attempt.environment.guest_kernel.is_empty() {
                    machine.insert(format!("guest kernel {}", attempt.environment.guest_kernel));
                    machine.insert(match attempt.environment.cpu_flags_missing.as_slice() {
                        [] if attempt.environment.cpu_flags.is_empty() => {
                            "CPU flags: unknown, not reported by the guest".to_owned()
                        }
                        [] => "CPU flags: all that E-5.2 requires".to_owned(),
                        missing => format!("CPU flags of E-5.2 that this host lacks: {}", missing.join(" ")),
                    });
                }
                if let Some(Instructions::Absent { reason }) =
                    attempt.facts.as_ref().and_then(|facts| facts.instructions.as_ref())
                {
                    machine.insert(format!("instructions are not counted: {reason}"));
                }
                let degraded = attempt.marks.iter().filter(|mark| mark.is_degraded());
                machine.extend(degraded.map(|mark| format!("{mark} (this host, not the tool)")));
                kept_outputs.push((
                    attempt,
                    record.samples(attempt)?,
                    record.outputs_dir(&run.id(), attempt.number),
                ));
            }
            let attempts = kept_outputs.iter().map(|(attempt, samples, outputs)| AttemptOutputs {
                outcome: &attempt.outcome,
                marks: &attempt.marks,
                facts: attempt.facts.as_ref(),
                samples,
                outputs,
            });
            checks.add(&run.id(), run_questions, &attempts.collect::<Vec<_>>())?;
        }
        if let (Some(shortest), Some(longest)) = (boots.iter().min(), boots.iter().max()) {
            let times = counted(boots.len(), "time");
            let longest = if longest == shortest { String::new() } else { format!(" to {longest}") };
            machine.insert(format!("booted {times}, in {shortest}{longest} ms"));
        }
        if restored > 0 {
            let times = counted(restored, "time");
            machine.insert(format!("restored {times} from the saved state of a machine after its boot"));
        }
        checks.report.machine = machine.into_iter().collect();
        Ok(checks.finish(self.unread()))
    }

    fn invocation<'a>(&'a self, run: &'a Run, original: bool) -> Invocation<'a> {
        Invocation {
            tool: &run.entry,
            instance: &run.instance,
            examination: &run.examination,
            confinement_s: u64::from(self.settings.limit_s.get()),
            memory_mib: self.limits.memory_mib,
            memory_reserve_mib: 0,
            original,
            keeps_evidence: true,
        }
    }

    /// An empty report.
    fn checks(&self, native: bool, original: bool) -> Checks<'_> {
        let environment = self.runs.first().map(|(run, _)| {
            let job = self.invocation(run, original).job(String::new(), 0, String::new());
            job.env.into_iter().filter(|(name, _)| name.starts_with("BK_") || name == "BIN_DIR").collect()
        });
        let report = QualificationReport {
            tool: self.settings.entry.to_string(),
            edition: self.settings.edition.name.clone(),
            native,
            passes: false,
            limit_s: self.settings.limit_s.get(),
            instances: self.archives.keys().cloned().collect(),
            examinations: self
                .settings
                .examinations
                .iter()
                .map(|examination| examination.name.clone())
                .collect(),
            environment: environment.unwrap_or_default(),
            disks: BTreeMap::new(),
            machine: vec![],
            runs: BTreeMap::new(),
            instructions: BTreeMap::new(),
            completion: BTreeMap::new(),
            findings: vec![],
        };
        Checks { report, limits: &self.limits, per_tool: PerTool::default() }
    }

    /// The texts about bad lines of the oracle, one per file.
    fn unread(&self) -> impl Iterator<Item = &String> {
        self.unread
            .iter()
            .chain(self.runs.iter().filter_map(|(_, run_questions)| run_questions.unread.as_ref()))
    }

    /// The text of the campaign.
    fn campaign(
        &self,
        image: &Path,
        ssh_key: Option<&Path>,
        jobs: Option<NonZero<u32>>,
    ) -> Result<String, QualifyError> {
        let absolute = |path: &Path| -> Result<String, QualifyError> {
            let path = std::path::absolute(path).on("find", path)?;
            path.to_str().map(str::to_owned).ok_or_else(|| {
                QualifyError::Refused(format!("{}: the path is not UTF-8; use another path", path.display()))
            })
        };
        let Settings { edition_source, instances, examinations, kind, limit_s, .. } = &self.settings;
        let edition = if edition_source.contains('/') || edition_source.ends_with(".toml") {
            absolute(Path::new(edition_source))?
        } else {
            edition_source.clone()
        };
        let limit = u64::from(limit_s.get());
        let more = match self.settings.purpose {
            Purpose::Qualification => u64::from(grace_s(limit_s.get())),
            Purpose::Comparison => 0,
        };
        let examinations: Vec<&str> =
            examinations.iter().map(|examination| examination.name.as_str()).collect();
        let mut tool = json!({
            "entry": self.settings.entry.as_str(),
            "image": absolute(image)?,
            "kind": kind.word(),
        });
        if let Some(key) = ssh_key {
            (tool["channel"], tool["ssh_key"]) = ("ssh".into(), absolute(key)?.into());
        }
        let campaign = json!({
            "count_instructions": true,
            "edition": edition,
            "examinations": examinations,
            "guest": { "deterministic": self.settings.deterministic },
            "hosts": jobs.map_or(json!({ "canary": false }), |jobs| json!({ "canary": false, "jobs": jobs })),
            "inputs": absolute(instances)?,
            "instances": self.archives.keys().collect::<Vec<_>>(),
            "limits": {
                "confinement_s": limit,
                "cpu_s": self.limits.cpu_s + more,
                "wall_s": self.limits.wall_s + more,
            },
            "phase": "qualification",
            "start": self.settings.start,
            "tool": [tool],
        });
        Ok(toml::to_string(&campaign)?)
    }
}

/// The head script of a tool's folder.
pub(super) fn head_script(folder: &Path) -> Result<PathBuf, QualifyError> {
    let head = folder.join("BenchKit_head.sh");
    if head.is_file() {
        return Ok(head);
    }
    let problem = if folder.exists() { "contains no BenchKit_head.sh" } else { "does not exist" };
    Err(QualifyError::Refused(format!("{} {problem}; give the tool's folder", folder.display())))
}

/// The instances for a purpose by name; for a qualification the first P/T and the first coloured one of every known model.
fn instances(
    folder: &Path,
    edition: &Edition,
    purpose: Purpose,
) -> Result<BTreeMap<String, Archive>, QualifyError> {
    let found = campaign::archives_in(folder).on("read", folder).map_err(|error| {
        QualifyError::Refused(format!("{error}; give a folder of instance archives (NAME.tgz)"))
    })?;
    let mut seen = BTreeSet::new();
    let mut chosen = BTreeMap::new();
    // Sorted by name, which is the order of size: the numbers in names are padded with zeros.
    for (name, path) in found {
        let archive = Archive::open(&path)?;
        let (family, stripped) = edition.unstripped(archive.instance.family());
        let known = !stripped && !archive.markers().new_model;
        let mut is_first = || seen.insert((family.to_owned(), archive.instance.as_str().contains("-COL-")));
        if purpose == Purpose::Comparison || known && is_first() {
            chosen.insert(name, archive);
        }
    }
    if chosen.is_empty() {
        return Err(QualifyError::Refused(format!(
            "{} contains no instance of a known model; give a folder of archives (NAME.tgz)",
            folder.display()
        )));
    }
    Ok(chosen)
}

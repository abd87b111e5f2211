//! Campaigns and BenchKit's job files: the one made of the other.

use super::{Campaign, Kind, Plan};
use mcc_benchkit::{Job, JobFile};
use mcc_edition::Edition;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    #[error("{run_id}: no examination {name}; {edition} has {known}")]
    Examination { run_id: String, name: String, edition: String, known: String },
    #[error("{run_id}: tool {tool} has the images {first} and {second}; give each a name of its own")]
    Images { run_id: String, tool: String, first: String, second: String },
    #[error("{run_id}: {run} is there twice; keep one")]
    Twice { run_id: String, run: String },
    #[error("machines of {cores} cores; {edition} has {sequential} and {concurrent}: give another edition")]
    Cores { cores: u32, edition: String, sequential: u32, concurrent: u32 },
    #[error("machines of {memory_mb} MB; {edition} has {memory_mib}: give another edition")]
    Memory { memory_mb: u64, edition: String, memory_mib: u64 },
    #[error(
        "a job file has one number of cores, and the campaign has sequential and concurrent entries; choose with --kind"
    )]
    Kinds,
    #[error("no entry of the campaign is {0}")]
    NoEntry(&'static str),
    #[error("the images lie in {} and {}; a job file names one folder", .0.display(), .1.display())]
    Folders(PathBuf, PathBuf),
}

/// A campaign as text, and what of it the job file does not have.
#[derive(Debug, PartialEq, Eq)]
pub struct CampaignFromJobFile {
    pub text: String,
    /// Runs (`ENTRY/INSTANCE/EXAMINATION`) that the campaign has all the same: it runs every tool on every instance.
    pub added: Vec<String>,
}

/// Who executes a job file, and which entries it has.
#[derive(Clone, Debug)]
pub struct JobFileOptions<'a> {
    pub benchmark: &'a str,
    pub login: &'a str,
    pub host: &'a str,
    /// None: all, which must then be of one kind.
    pub kind: Option<Kind>,
}

impl CampaignFromJobFile {
    /// `edition` is how the campaign names its edition, `rules` that edition; `inputs` as the campaign names it.
    pub fn new(file: &JobFile, edition: &str, rules: &Edition, inputs: &Path) -> Result<Self, JobsError> {
        let name = || rules.name.clone();
        let mut tools: Vec<(&str, &str)> = Vec::new();
        let (mut instances, mut asked, mut there) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for Job { run_id, tool, image, input, examination } in &file.jobs {
            let run_id = || run_id.clone();
            if rules.examination(examination).is_none() {
                let known: Vec<_> = rules.examinations.iter().map(|known| known.name.as_str()).collect();
                let (known, asked) = (known.join(", "), examination.clone());
                return Err(JobsError::Examination { run_id: run_id(), name: asked, edition: name(), known });
            }
            match tools.iter().find(|(known, _)| known == tool) {
                None => tools.push((tool, image)),
                Some((_, first)) if first != image => {
                    let (tool, first, second) = (tool.clone(), (*first).to_owned(), image.clone());
                    return Err(JobsError::Images { run_id: run_id(), tool, first, second });
                }
                Some(_) => {}
            }
            instances.insert(input.as_str());
            asked.insert(examination.as_str());
            if !there.insert((tool.as_str(), input.as_str(), examination.as_str())) {
                let run = format!("{tool}/{input}/{examination}");
                return Err(JobsError::Twice { run_id: run_id(), run });
            }
        }
        let (machine, cores) = (&rules.machine, file.cores);
        let kind = match cores {
            cores if cores == machine.sequential_cores => "sequential",
            cores if cores == machine.concurrent_cores => "concurrent",
            _ => {
                let (sequential, concurrent) = (machine.sequential_cores, machine.concurrent_cores);
                return Err(JobsError::Cores { cores, edition: name(), sequential, concurrent });
            }
        };
        if file.memory_mb != machine.memory_mib {
            let (memory_mb, memory_mib) = (file.memory_mb, machine.memory_mib);
            return Err(JobsError::Memory { memory_mb, edition: name(), memory_mib });
        }
        let all = rules.examinations.iter().map(|known| known.name.as_str());
        let examinations: Vec<&str> = all.filter(|name| asked.contains(name)).collect();
        let mut added = Vec::new();
        for (tool, _) in &tools {
            for instance in &instances {
                let open = examinations.iter().filter(|name| !there.contains(&(*tool, *instance, **name)));
                added.extend(open.map(|name| format!("{tool}/{instance}/{name}")));
            }
        }
        let benchmark: String = file.benchmark.chars().filter(|c| !c.is_control()).collect();
        let mut text = format!("# From BenchKit's job file of the benchmark {benchmark}.\n");
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let list = |names: &mut dyn Iterator<Item = &str>| names.map(quoted).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "edition = {}", quoted(edition));
        let _ = writeln!(text, "inputs = {}", quoted(&inputs.to_string_lossy()));
        let _ = writeln!(text, "instances = [{}]", list(&mut instances.iter().copied()));
        let _ = writeln!(text, "examinations = [{}]", list(&mut examinations.iter().copied()));
        for (tool, image) in &tools {
            let image = Path::new(&file.images).join(image);
            let _ = writeln!(text, "\n[[tool]]\nentry = {}", quoted(tool));
            let _ = writeln!(text, "image = {}\nkind = \"{kind}\"", quoted(&image.to_string_lossy()));
        }
        // BenchKit confines by wall time alone.
        if file.seconds != rules.limits.confinement_s {
            let s = file.seconds;
            let _ =
                writeln!(text, "\n[limits]\ncpu_reading = \"benchkit\"\nwall_s = {s}\nconfinement_s = {s}");
        }
        let _ = writeln!(text, "\n[hosts]\njobs = {}", file.machines);
        Ok(Self { text, added })
    }
}

impl Campaign {
    /// The job file of the campaign's runs in machines; `effective` is its edition with its limits.
    pub fn job_file(
        &self,
        effective: &Edition,
        plan: &Plan,
        options: &JobFileOptions,
    ) -> Result<JobFile, JobsError> {
        let wanted = self.tools.iter().filter(|tool| options.kind.is_none_or(|kind| kind == tool.kind));
        let tools: Vec<_> = wanted.collect();
        let word = |kind| if kind == Kind::Sequential { "sequential" } else { "concurrent" };
        let Some(first) = tools.first() else {
            return Err(JobsError::NoEntry(options.kind.map_or("there", word)));
        };
        if tools.iter().any(|tool| tool.kind != first.kind) {
            return Err(JobsError::Kinds);
        }
        let folder = |image: &Path| image.parent().map(Path::to_owned).unwrap_or_default();
        let images = folder(&first.image);
        if let Some(other) = tools.iter().map(|tool| folder(&tool.image)).find(|other| *other != images) {
            return Err(JobsError::Folders(images, other));
        }
        let mut jobs = Vec::new();
        for tool in &tools {
            for run in plan.runs().filter(|run| run.entry == tool.entry && run.competes) {
                jobs.push(Job {
                    run_id: format!("{}-{:015}", options.benchmark, jobs.len() + 1),
                    tool: run.entry.to_string(),
                    image: tool.image.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                    input: run.instance.to_string(),
                    examination: run.examination.to_string(),
                });
            }
        }
        Ok(JobFile {
            benchmark: options.benchmark.to_owned(),
            login: options.login.to_owned(),
            host: options.host.to_owned(),
            machines: plan.jobs,
            vm_login: "mcc".to_owned(),
            seconds: effective.limits.confinement_s,
            memory_mb: effective.machine.memory_mib,
            cores: match first.kind {
                Kind::Sequential => effective.machine.sequential_cores,
                Kind::Concurrent => effective.machine.concurrent_cores,
            },
            images: images.to_string_lossy().into_owned(),
            jobs,
        })
    }
}

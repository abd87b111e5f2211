//! Converts campaigns to BenchKit's job files and back.

use super::{Campaign, Kind, Plan};
use mcc_base::names::{EntryName, check_name};
use mcc_benchkit::{Job, JobFile};
use mcc_edition::Edition;
use mcc_model::InstanceName;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// An error of the conversion of a job file or a campaign.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    /// The edition does not have the examination of a job.
    #[error("{run_id}: no examination {name} in edition {edition}; it has {known}")]
    Examination {
        /// The id of the job.
        run_id: String,
        /// The name of the examination.
        name: String,
        /// The name of the edition.
        edition: String,
        /// The examinations of the edition.
        known: String,
    },
    /// A name of a job cannot be used in a campaign.
    #[error("{run_id}: {problem}")]
    Name {
        /// The id of the job.
        run_id: String,
        /// The name and the problem.
        problem: String,
    },
    /// A tool has two images.
    #[error(
        "{run_id}: tool {tool} has the images {first} and {second}; use another tool name for each image"
    )]
    Images {
        /// The id of the job.
        run_id: String,
        /// The name of the tool.
        tool: String,
        /// The image of an earlier job.
        first: String,
        /// The image of this job.
        second: String,
    },
    /// Two jobs are the same run.
    #[error("{run_id}: {run} is listed twice; remove one of the two lines")]
    Twice {
        /// The id of the second job.
        run_id: String,
        /// The run: `TOOL/INSTANCE/EXAMINATION`.
        run: String,
    },
    /// The number of cores of the machines is not one of the edition's.
    #[error(
        "the job file is for machines of {cores} cores, but {edition} has {sequential} and {concurrent}; give another edition"
    )]
    Cores {
        /// Cores in the job file.
        cores: u32,
        /// The name of the edition.
        edition: String,
        /// Cores of the edition for sequential entries.
        sequential: u32,
        /// Cores of the edition for concurrent entries.
        concurrent: u32,
    },
    /// The memory of the machines is not that of the edition.
    #[error(
        "the job file is for machines of {memory_mb} MB, but {edition} has {memory_mib}; give another edition"
    )]
    Memory {
        /// Memory in the job file.
        memory_mb: u64,
        /// The name of the edition.
        edition: String,
        /// Memory of the edition, MiB.
        memory_mib: u64,
    },
    /// The entries have different kinds.
    #[error(
        "a job file has one number of cores, and the campaign has sequential and concurrent entries; choose with --kind"
    )]
    Kinds,
    /// The campaign has no entry of this kind.
    #[error(
        "no entry of the campaign is {0}, so the job file would be empty; give another campaign or --kind"
    )]
    NoEntry(&'static str),
    /// The images are in different folders.
    #[error("the images are in {} and {}, but a job file has one folder of images; move them to one", .0.display(), .1.display())]
    Folders(PathBuf, PathBuf),
}

/// A campaign made of a job file.
#[derive(Debug, PartialEq, Eq)]
pub struct CampaignFromJobFile {
    /// The text of campaign.toml.
    pub text: String,
    /// Runs (`ENTRY/INSTANCE/EXAMINATION`) that the job file does not have: a campaign runs every tool on every
    /// instance in every examination.
    pub added: Vec<String>,
}

/// The head of a job file, and its entries.
#[derive(Clone, Debug)]
pub struct JobFileOptions<'a> {
    /// Name of the benchmark.
    pub benchmark: &'a str,
    /// Login on the host that executes the jobs.
    pub login: &'a str,
    /// Name of that host.
    pub host: &'a str,
    /// The kind of the entries; None: all entries, which must be of one kind.
    pub kind: Option<Kind>,
}

impl CampaignFromJobFile {
    /// Makes a campaign of a job file. `edition` and `inputs` are the values of these keys, `rules` is the edition.
    ///
    /// # Errors
    /// The job file does not fit the edition, or a campaign cannot express it.
    pub fn new(file: &JobFile, edition: &str, rules: &Edition, inputs: &Path) -> Result<Self, JobsError> {
        let name = || rules.name.clone();
        let mut tools: Vec<(&str, &str)> = Vec::new();
        let (mut instances, mut asked, mut there) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for Job { run_id, tool, image, input, examination } in &file.jobs {
            let run_id = || run_id.clone();
            let bad_name = |problem: String| JobsError::Name { run_id: run_id(), problem };
            tool.parse::<EntryName>().map_err(|bad| bad_name(bad.to_string()))?;
            input.parse::<InstanceName>().map_err(|bad| bad_name(bad.to_string()))?;
            check_name("the image", image).map_err(|bad| bad_name(bad.to_string()))?;
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
        // BenchKit limits only the wall time.
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
    /// Makes a job file of the campaign's runs that have a machine; `effective` is the edition with the campaign's
    /// limits.
    ///
    /// # Errors
    /// The entries have different kinds or their images are in different folders.
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
            return Err(JobsError::NoEntry(options.kind.map_or("usable", word)));
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

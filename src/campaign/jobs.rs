//! Converts campaigns to BenchKit's job files and back.

use super::{Campaign, Kind, Plan};
use crate::benchkit::{Job, JobFile};
use mcc_base::names::{EntryName, check_name};
use mcc_edition::Edition;
use mcc_model::InstanceName;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// An error of the conversion of a job file or a campaign: what is wrong, and the remedy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JobsError(String);

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
        let edition_name = &rules.name;
        let mut tools: Vec<(&str, &str)> = Vec::new();
        let mut images = BTreeMap::new();
        let (mut instances, mut asked, mut there) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for Job { run_id, tool, image, input, examination } in &file.jobs {
            let wrong = |message: String| Err(JobsError(format!("{run_id}: {message}")));
            let bad_name = |problem: String| JobsError(format!("{run_id}: {problem}"));
            tool.parse::<EntryName>().map_err(|bad| bad_name(bad.to_string()))?;
            input.parse::<InstanceName>().map_err(|bad| bad_name(bad.to_string()))?;
            check_name("the image", image).map_err(|bad| bad_name(bad.to_string()))?;
            if rules.examination(examination).is_none() {
                let known: Vec<_> = rules.examinations.iter().map(|known| known.name.as_str()).collect();
                let known = known.join(", ");
                return wrong(format!(
                    "no examination {examination} in edition {edition_name}; it has {known}"
                ));
            }
            match images.insert(tool.as_str(), image) {
                None => tools.push((tool, image)),
                Some(first) if first != image => {
                    return wrong(format!(
                        "tool {tool} has the images {first} and {image}; use another tool name for each image"
                    ));
                }
                Some(_) => {}
            }
            instances.insert(input.as_str());
            asked.insert(examination.as_str());
            if !there.insert((tool.as_str(), input.as_str(), examination.as_str())) {
                let run = format!("{tool}/{input}/{examination}");
                return wrong(format!("{run} is listed twice; remove one of the two lines"));
            }
        }
        let (machine, cores, memory_mb) = (&rules.machine, file.cores, file.memory_mb);
        let other_machine = |wanted: String, has: String| {
            let message = format!(
                "the job file is for machines of {wanted}, but {edition_name} has {has}; give another edition"
            );
            Err(JobsError(message))
        };
        let kind = match cores {
            cores if cores == machine.sequential_cores => "sequential",
            cores if cores == machine.concurrent_cores => "concurrent",
            _ => {
                let has = format!("{} and {}", machine.sequential_cores, machine.concurrent_cores);
                return other_machine(format!("{cores} cores"), has);
            }
        };
        if memory_mb != machine.memory_mib {
            return other_machine(format!("{memory_mb} MB"), machine.memory_mib.to_string());
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
        let Some(first) = tools.first() else {
            return Err(JobsError(format!(
                "no entry of the campaign is {}, so the job file would be empty; give another campaign or --kind",
                options.kind.map_or("usable", Kind::word)
            )));
        };
        if tools.iter().any(|tool| tool.kind != first.kind) {
            let message = "a job file has one number of cores, and the campaign has sequential and concurrent entries; \
                           choose with --kind";
            return Err(JobsError(message.to_owned()));
        }
        let folder = |image: &Path| image.parent().map(Path::to_owned).unwrap_or_default();
        let images = folder(&first.image);
        if let Some(other) = tools.iter().map(|tool| folder(&tool.image)).find(|other| *other != images) {
            return Err(JobsError(format!(
                "the images are in {} and {}, but a job file has one folder of images; move them to one",
                images.display(),
                other.display()
            )));
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
            cores: first.kind.cores(&effective.machine),
            images: images.to_string_lossy().into_owned(),
            jobs,
        })
    }
}

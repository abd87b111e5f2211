//! The plan: every run of a campaign, in order.

use super::load::check_name;
use super::{ALL, Campaign, CampaignError, EXAMINATIONS, InstanceFacts, NOT_COMPETING, Tool};
use globset::{Glob, GlobSet};
use mcc_base::names::{EntryName, ExaminationName, ModelName, RunId, text_of};
use mcc_base::suggest;
use mcc_edition::{Edition, Examination};
use mcc_model::InstanceName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// One entry on one instance in one examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The entry.
    pub entry: EntryName,
    /// The instance.
    pub instance: InstanceName,
    /// The examination.
    pub examination: ExaminationName,
    /// The family of the instance: all runs of a model are made on one host (E-5.1).
    #[serde(deserialize_with = "text_of::<ModelName, _>")]
    pub model: String,
    /// Number of vCPUs of the machine.
    pub vcpus: u32,
    /// False if the entry does not compete (`not_competing`): the run is recorded without a machine.
    pub competes: bool,
}

impl Run {
    /// Its id: `ENTRY/INSTANCE/EXAMINATION`.
    pub fn id(&self) -> RunId {
        RunId::new(&self.entry, &self.instance, &self.examination)
    }
}

/// The examinations of a campaign and the entries that do not compete in them, by the settings in its record
/// (`Campaign::settings`).
#[derive(Clone, Debug)]
pub struct PlannedRuns {
    examinations: Vec<ExaminationName>,
    not_competing: BTreeMap<String, GlobSet>,
}

impl PlannedRuns {
    /// Reads the settings. `edition` is that of the record.
    ///
    /// # Errors
    /// The examinations are not stated, or a setting is not one of a campaign.
    pub fn from_settings(settings: &BTreeMap<String, String>, edition: &Edition) -> Result<Self, String> {
        let stated = settings.get(EXAMINATIONS).ok_or("its settings do not state the examinations")?;
        let all = || edition.examinations.iter().map(|known| known.name.as_str()).collect();
        let names: Vec<&str> = if stated == ALL { all() } else { stated.split(' ').collect() };
        let name = |name: &str| name.parse().map_err(|bad| format!("its examination \"{name}\" {bad}"));
        let examinations = names.into_iter().map(name).collect::<Result<_, String>>()?;
        let mut not_competing = BTreeMap::new();
        for (key, globs) in settings {
            if let Some(entry) = key.strip_prefix(NOT_COMPETING) {
                let globs: Vec<String> = globs.split_whitespace().map(str::to_owned).collect();
                let globs = glob_set(&globs).map_err(|bad| format!("its setting \"{key}\": {bad}"))?;
                not_competing.insert(entry.to_owned(), globs);
            }
        }
        Ok(Self { examinations, not_competing })
    }

    /// The examinations.
    pub fn examinations(&self) -> impl Iterator<Item = &ExaminationName> {
        self.examinations.iter()
    }

    /// Whether the entry of a run competes in it.
    pub fn competes(&self, run: &Run) -> bool {
        let globs = self.not_competing.get(run.entry.as_str());
        globs.is_none_or(|globs| !globs.is_match(run.examination.as_str()))
    }
}

/// Every run of a campaign, in order. Only the instances, examinations and entries are stored; runs are computed one by
/// one.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name and family, in the order of their runs.
    instances: Vec<(InstanceName, String)>,
    examinations: Vec<ExaminationName>,
    entries: Vec<Entry>,
    only: Option<RunFilter>,
    /// Runs in parallel that the worst case assumes.
    pub jobs: u32,
    /// The longest possible duration of an attempt, seconds: wall limit, and deadlines of boot, preparation and collection.
    pub longest_run_s: u64,
}

#[derive(Clone, Debug)]
struct Entry {
    entry: EntryName,
    vcpus: u32,
    not_competing: GlobSet,
}

impl Plan {
    /// The runs of a campaign, ordered by model (E-5.1: all tools and examinations of a model together), instance,
    /// examination (order of the edition) and tool (order of the campaign). Models and instances are sorted by name, so
    /// the order of `instances` does not matter.
    ///
    /// `edition` is the effective one (`Campaign::effective`).
    ///
    /// # Errors
    /// The campaign has an examination that the edition does not have, or a glob that matches nothing.
    pub fn new(
        campaign: &Campaign,
        edition: &Edition,
        instances: &[InstanceFacts],
    ) -> Result<Self, CampaignError> {
        let examinations = campaign.examinations_of(edition)?.into_iter().map(|known| {
            let name = known.name.parse::<ExaminationName>();
            name.map_err(|bad| campaign.wrong("examinations", format!("examinations: {bad}")))
        });
        for instance in instances {
            if let Err(problem) = check_name(&instance.name) {
                return Err(campaign.wrong_inputs(format!("instance \"{}\" {problem}", instance.name)));
            }
        }
        let names: Vec<&str> = instances.iter().map(|instance| instance.name.as_str()).collect();
        let selected = campaign.selected(&names)?;
        let mut instances: Vec<_> =
            instances.iter().filter(|instance| selected.contains(instance.name.as_str())).collect();
        instances.sort_by(|a, b| (&a.family, &a.name).cmp(&(&b.family, &b.name)));
        let entry = |tool: &Tool| {
            Ok(Entry {
                entry: tool.entry.clone(),
                vcpus: tool.kind.cores(&edition.machine),
                not_competing: not_competing(campaign, edition, tool)?,
            })
        };
        let hosts = &campaign.hosts;
        // To prepare the instance, and to start the tool.
        let preparations = 2;
        // Over ssh, evidence is collected after the output.
        let collections = if campaign.tool_evidence { 2 } else { 1 };
        let deadlines = hosts.boot_deadline
            + hosts.prepare_deadline * preparations
            + hosts.collect_deadline * collections;
        Ok(Self {
            instances: instances.into_iter().map(|one| (one.name.clone(), one.family.clone())).collect(),
            examinations: examinations.collect::<Result<_, _>>()?,
            entries: campaign.tools.iter().map(entry).collect::<Result<_, CampaignError>>()?,
            only: None,
            jobs: campaign.hosts.jobs.map_or(1, NonZeroU32::get),
            longest_run_s: deadlines.as_secs().saturating_add(edition.limits.wall_s),
        })
    }

    /// The runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + Clone {
        let rows = self
            .instances
            .iter()
            .flat_map(|instance| self.examinations.iter().map(move |examination| (instance, examination)));
        let all = rows.flat_map(|((instance, family), examination)| {
            self.entries.iter().map(move |entry| Run {
                entry: entry.entry.clone(),
                instance: instance.clone(),
                examination: examination.clone(),
                model: family.clone(),
                vcpus: entry.vcpus,
                competes: !entry.not_competing.is_match(examination.as_str()),
            })
        });
        all.filter(|run| self.only.as_ref().is_none_or(|filter| filter.matches(&run.id())))
    }

    /// Duration in seconds if every run takes `longest_run_s`, with `jobs` runs in parallel, without retries and
    /// canaries.
    pub fn worst_case_s(&self) -> u64 {
        let machines = self.runs().filter(|run| run.competes).count() as u64;
        machines.div_ceil(u64::from(self.jobs)).saturating_mul(self.longest_run_s)
    }

    /// The plan with only the runs whose id the filter matches.
    ///
    /// # Errors
    /// The filter matches no run.
    pub fn only(self, filter: RunFilter) -> Result<Self, CampaignError> {
        let glob = filter.glob.clone();
        let plan = Self { only: Some(filter), ..self };
        let has_runs = plan.runs().next().is_some();
        let near = {
            let entries: Vec<&str> = plan.entries.iter().map(|entry| entry.entry.as_str()).collect();
            let instances: Vec<&str> = plan.instances.iter().map(|(name, _)| name.as_str()).collect();
            let examinations: Vec<&str> = plan.examinations.iter().map(ExaminationName::as_str).collect();
            suggest::run_hint(&glob, &entries, &instances, &examinations)
        };
        let message =
            format!("matches no run; run ids are ENTRY/INSTANCE/EXAMINATION, and * also matches /{near}");
        if has_runs { Ok(plan) } else { Err(CampaignError::Filter { glob, message }) }
    }
}

/// A glob on run ids (`--only GLOB`); `*` also matches `/`.
#[derive(Clone, Debug)]
pub struct RunFilter {
    glob: String,
    set: GlobSet,
}

impl RunFilter {
    /// Parses a glob.
    ///
    /// # Errors
    /// The glob is not valid.
    pub fn new(glob: &str) -> Result<Self, CampaignError> {
        let wrong = |message: String| CampaignError::Filter { glob: glob.to_owned(), message };
        Glob::new(glob).map_err(|error| wrong(error.kind().to_string()))?;
        let too_large = "the glob is too large, or its braces are too deep in each other; write the names";
        let set = glob_set(&[glob.to_owned()]).map_err(|_| wrong(too_large.to_owned()))?;
        Ok(Self { glob: glob.to_owned(), set })
    }

    /// Whether the glob matches the id of a run.
    pub fn matches(&self, run: &str) -> bool {
        self.set.is_match(run)
    }
}

impl Campaign {
    /// The examinations of the campaign in the order of the edition.
    ///
    /// # Errors
    /// The edition does not have one of them, or the list is empty.
    pub fn examinations_of<'e>(&self, edition: &'e Edition) -> Result<Vec<&'e Examination>, CampaignError> {
        let all = || edition.examinations.iter();
        let wrong = |message: String| self.wrong("examinations", format!("examinations: {message}"));
        let Some(wanted) = &self.examinations else { return Ok(all().collect()) };
        if let Some(unknown) = wanted.iter().find(|name| all().all(|known| known.name != **name)) {
            let known = known_examinations(edition);
            let near = suggest::hint(unknown, all().map(|known| known.name.as_str()));
            return Err(wrong(format!("{} has no \"{unknown}\"; {known}{near}", edition.name)));
        }
        if wanted.is_empty() {
            return Err(wrong("the list is empty; remove the key to take all".to_owned()));
        }
        Ok(all().filter(|known| wanted.contains(&known.name)).collect())
    }

    /// The instances that the campaign's globs match.
    pub(super) fn selected<'n>(&self, instances: &[&'n str]) -> Result<BTreeSet<&'n str>, CampaignError> {
        if instances.is_empty() {
            let message = format!("{} holds no instance archive (NAME.tgz)", self.inputs.display());
            return Err(self.wrong_inputs(message));
        }
        let Some(globs) = &self.instances else { return Ok(instances.iter().copied().collect()) };
        let wrong = |message: String| self.wrong("instances", format!("instances: {message}"));
        for glob in globs {
            let matcher = compiled(self, "instances", std::slice::from_ref(glob))?;
            if !instances.iter().any(|instance| matcher.is_match(instance)) {
                let near = suggest::hint(glob, instances.iter().copied());
                let inputs = self.inputs.display();
                return Err(wrong(format!("\"{glob}\" matches no instance in {inputs}{near}")));
            }
        }
        if globs.is_empty() {
            return Err(wrong("the list is empty; remove the key to take all".to_owned()));
        }
        let matcher = compiled(self, "instances", globs)?;
        Ok(instances.iter().copied().filter(|instance| matcher.is_match(instance)).collect())
    }
}

fn known_examinations(edition: &Edition) -> String {
    let names: Vec<_> = edition.examinations.iter().map(|known| known.name.as_str()).collect();
    format!("allowed are {}", names.join(", "))
}

/// The examinations in which an entry does not compete (rule T-4). A glob that matches none of the edition's examinations
/// is an error.
fn not_competing(campaign: &Campaign, edition: &Edition, tool: &Tool) -> Result<GlobSet, CampaignError> {
    let key = format!("not_competing of {}", tool.entry);
    for glob in &tool.not_competing {
        let matcher = compiled(campaign, &key, std::slice::from_ref(glob))?;
        if !edition.examinations.iter().any(|known| matcher.is_match(&known.name)) {
            let near = suggest::hint(glob, edition.examinations.iter().map(|known| known.name.as_str()));
            let known = known_examinations(edition);
            let message = format!("{key}: \"{glob}\" matches no examination; {known}{near}");
            return Err(campaign.wrong(&key, message));
        }
    }
    compiled(campaign, &key, &tool.not_competing)
}

fn compiled(campaign: &Campaign, key: &str, globs: &[String]) -> Result<GlobSet, CampaignError> {
    // Each glob was checked by itself.
    let problem = "the globs are too large together, or braces are too deep in each other; write the names";
    glob_set(globs).map_err(|_| campaign.wrong(key, format!("{key}: {problem}")))
}

fn glob_set(globs: &[String]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSet::builder();
    for glob in globs {
        set.add(Glob::new(glob)?);
    }
    set.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_with_braces_that_are_too_deep_is_refused() {
        let nested = |depth: usize| format!("{}a{}", "{".repeat(depth), "}".repeat(depth));
        assert!(RunFilter::new(&nested(10)).unwrap().matches("a"));
        let error = RunFilter::new(&nested(400)).unwrap_err().to_string();
        assert!(error.ends_with("write the names"), "{error}");
    }
}

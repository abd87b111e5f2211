//! The plan: every run of a campaign, in order.

use super::load::check_name;
use super::{Campaign, CampaignError, InstanceFacts, Kind, Tool};
use crate::edition::{Edition, Examination};
use globset::{Glob, GlobMatcher, GlobSet};
use serde::{Deserialize, Serialize};

/// One entry on one instance in one examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub entry: String,
    pub instance: String,
    pub examination: String,
    /// The family of the instance: all runs of a model go to one host (E-5.1).
    pub model: String,
    pub vcpus: u32,
    /// False where the entry does not compete (`not_competing`): recorded without a machine.
    pub competes: bool,
}

impl Run {
    /// `entry/instance/examination`
    pub fn id(&self) -> String {
        format!("{}/{}/{}", self.entry, self.instance, self.examination)
    }
}

/// Every run of a campaign, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub runs: Vec<Run>,
    /// Runs at once that the worst case reckons with.
    pub jobs: u32,
    /// The longest one run can take, seconds: boot deadline and wall limit.
    pub longest_run_s: u64,
}

impl Plan {
    /// The runs of a campaign: model by model (E-5.1: all tools and examinations of a model together), in it
    /// instance by instance, examination by examination (the edition's order), tool by tool (the campaign's
    /// order). Models and instances are sorted by name, so the order of `instances` does not matter.
    ///
    /// `edition` is the effective one (`Campaign::effective`).
    pub fn new(
        campaign: &Campaign,
        edition: &Edition,
        instances: &[InstanceFacts],
    ) -> Result<Self, CampaignError> {
        let examinations = examinations(campaign, edition)?;
        let mut instances = selected(campaign, instances)?;
        instances.sort_by(|a, b| (&a.family, &a.name).cmp(&(&b.family, &b.name)));
        let tools = campaign
            .tools
            .iter()
            .map(|tool| Ok((tool, not_competing(campaign, edition, tool)?)))
            .collect::<Result<Vec<_>, CampaignError>>()?;

        let mut runs = Vec::with_capacity(instances.len() * examinations.len() * tools.len());
        for instance in &instances {
            for examination in &examinations {
                for (tool, not_competing) in &tools {
                    runs.push(Run {
                        entry: tool.entry.clone(),
                        instance: instance.name.clone(),
                        examination: examination.name.clone(),
                        model: instance.family.clone(),
                        vcpus: match tool.kind {
                            Kind::Sequential => edition.machine.sequential_cores,
                            Kind::Concurrent => edition.machine.concurrent_cores,
                        },
                        competes: !not_competing.is_match(&examination.name),
                    });
                }
            }
        }
        let longest_run_s = campaign.hosts.boot_deadline_s + edition.limits.wall_s;
        Ok(Self { runs, jobs: campaign.hosts.jobs.unwrap_or(1), longest_run_s })
    }

    /// Seconds it takes when every run boots at the last moment and runs into its wall limit, retries not
    /// counted: all runs being equally long, `jobs` at once in order.
    pub fn worst_case_s(&self) -> u64 {
        let machines = self.runs.iter().filter(|run| run.competes).count() as u64;
        machines.div_ceil(u64::from(self.jobs)) * self.longest_run_s
    }

    /// Only the runs whose id the filter takes.
    pub fn only(mut self, filter: &RunFilter) -> Result<Self, CampaignError> {
        self.runs.retain(|run| filter.takes(&run.id()));
        match self.runs.is_empty() {
            false => Ok(self),
            true => Err(CampaignError::Filter {
                glob: filter.0.glob().glob().to_owned(),
                message: "takes no run; run ids are ENTRY/INSTANCE/EXAMINATION, and * also stands for /"
                    .to_owned(),
            }),
        }
    }
}

/// `--only GLOB` on run ids; `*` also stands for `/`.
#[derive(Clone, Debug)]
pub struct RunFilter(GlobMatcher);

impl RunFilter {
    pub fn new(glob: &str) -> Result<Self, CampaignError> {
        let parsed = Glob::new(glob).map_err(|error| CampaignError::Filter {
            glob: glob.to_owned(),
            message: error.kind().to_string(),
        })?;
        Ok(Self(parsed.compile_matcher()))
    }

    pub fn takes(&self, run: &str) -> bool {
        self.0.is_match(run)
    }
}

/// The examinations of the campaign in the edition's order.
fn examinations<'e>(
    campaign: &Campaign,
    edition: &'e Edition,
) -> Result<Vec<&'e Examination>, CampaignError> {
    let all = || edition.examinations.iter();
    let Some(wanted) = &campaign.examinations else { return Ok(all().collect()) };
    if let Some(unknown) = wanted.iter().find(|name| all().all(|known| known.name != **name)) {
        return Err(campaign.wrong(
            "examinations",
            format!("examinations: {} has no \"{unknown}\"; {}", edition.name, known_examinations(edition)),
        ));
    }
    match wanted.is_empty() {
        false => Ok(all().filter(|known| wanted.contains(&known.name)).collect()),
        true => {
            Err(campaign.wrong("examinations", "examinations: none; leave the key out for all".to_owned()))
        }
    }
}

fn known_examinations(edition: &Edition) -> String {
    let names: Vec<_> = edition.examinations.iter().map(|known| known.name.as_str()).collect();
    format!("allowed are {}", names.join(", "))
}

fn selected<'i>(
    campaign: &Campaign,
    instances: &'i [InstanceFacts],
) -> Result<Vec<&'i InstanceFacts>, CampaignError> {
    for instance in instances {
        if let Err(problem) = check_name(&instance.name) {
            return Err(campaign.wrong_inputs(format!("instance \"{}\" {problem}", instance.name)));
        }
    }
    if instances.is_empty() {
        return Err(campaign.wrong_inputs(format!("{} holds no instance", campaign.inputs.display())));
    }
    let Some(globs) = &campaign.instances else { return Ok(instances.iter().collect()) };
    let nothing = |what: String| campaign.wrong("instances", format!("instances: {what} of inputs"));
    for glob in globs {
        let matcher = compiled(campaign, "instances", std::slice::from_ref(glob))?;
        if !instances.iter().any(|instance| matcher.is_match(&instance.name)) {
            return Err(nothing(format!("\"{glob}\" fits no instance")));
        }
    }
    if globs.is_empty() {
        return Err(nothing("none; leave the key out for all".to_owned()));
    }
    let matcher = compiled(campaign, "instances", globs)?;
    Ok(instances.iter().filter(|instance| matcher.is_match(&instance.name)).collect())
}

/// Rule T-4. A glob that fits none of the edition's examinations is a slip of the pen.
fn not_competing(campaign: &Campaign, edition: &Edition, tool: &Tool) -> Result<GlobSet, CampaignError> {
    let key = format!("not_competing of {}", tool.entry);
    for glob in &tool.not_competing {
        let matcher = compiled(campaign, &key, std::slice::from_ref(glob))?;
        if !edition.examinations.iter().any(|known| matcher.is_match(&known.name)) {
            let message = format!("{key}: \"{glob}\" fits no examination; {}", known_examinations(edition));
            return Err(campaign.wrong(&key, message));
        }
    }
    compiled(campaign, &key, &tool.not_competing)
}

fn compiled(campaign: &Campaign, key: &str, globs: &[String]) -> Result<GlobSet, CampaignError> {
    let build = || {
        let mut set = GlobSet::builder();
        for glob in globs {
            set.add(Glob::new(glob)?);
        }
        set.build()
    };
    build().map_err(|error| campaign.wrong(key, format!("{key}: {error}")))
}

//! Makes arrays of jobs of the plan of a campaign.

use mcc_base::names::{ModelName, text_of};
use mcc_campaign::{ClusterSettings, History, Run};
use mcc_vm::OVERHEAD_MIB;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The resources and the time that the runs of a model need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDemand {
    /// The model.
    #[serde(deserialize_with = "text_of::<ModelName, _>")]
    pub model: String,
    /// The resources that its job requests.
    pub resources: Resources,
    /// Number of its runs, including those without a machine.
    pub planned: u64,
    /// Duration in seconds if every run takes as long as possible.
    pub worst_case_s: u64,
    /// Expected duration in seconds, from earlier campaigns; 0: not known.
    #[serde(default)]
    pub expected_s: u64,
}

/// The resources that a job requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resources {
    /// Cores for all machines that run in parallel, and one for the controller.
    pub cores: u32,
    /// Memory for all machines that run in parallel, and for the controller.
    pub memory_mib: u64,
}

/// Memory of the controller.
const CONTROLLER_MIB: u64 = 512;

impl ModelDemand {
    /// Returns the demand of every model of the runs of a plan, sorted by name. `memory_mib` is the memory that one machine
    /// may need.
    pub fn of_runs(
        runs: impl Iterator<Item = Run>,
        longest_run_s: u64,
        memory_mib: u64,
        settings: &ClusterSettings,
        history: &History,
    ) -> Vec<Self> {
        let at_once = u64::from(settings.runs_at_once.get());
        let mut models: BTreeMap<String, (u64, u64, u32, u64)> = BTreeMap::new();
        for run in runs {
            let expected = history.expected_ms(&run).unwrap_or(0);
            let (planned, machines, vcpus, expected_ms) = models.entry(run.model).or_default();
            *expected_ms += expected;
            *planned += 1;
            *machines += u64::from(run.competes);
            *vcpus = (*vcpus).max(run.vcpus);
        }
        let need = |(model, (planned, machines, vcpus, expected_ms)): (String, (u64, u64, u32, u64))| Self {
            model,
            resources: Resources {
                cores: settings.runs_at_once.get() * vcpus + 1,
                memory_mib: at_once * (memory_mib + OVERHEAD_MIB) + CONTROLLER_MIB,
            },
            planned,
            worst_case_s: machines.div_ceil(at_once) * longest_run_s,
            expected_s: (expected_ms / at_once).div_ceil(1000),
        };
        models.into_iter().map(need).collect()
    }
}

/// One submission: an array of jobs with the same resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its name in the batch system, unique in the cluster.
    pub name: String,
    /// The model of each job of the array.
    pub models: Vec<String>,
    /// The resources of each job.
    pub resources: Resources,
    /// The time limit of each job, seconds.
    pub time_s: u64,
    /// The node to which the models are bound; None: any node.
    pub node: Option<String>,
}

/// Puts models with the same resources, time limit and node into one array, the longest first. `node` returns the node
/// to which a model is bound, `name` the name of the next batch. An array has at most `max_tasks` jobs.
///
/// `margin_s`: as in `ClusterSettings`. A model that needs more time than `limit_s` gets this limit; its job submits the next
/// job of the chain.
pub fn batches(
    needs: &[ModelDemand],
    node: impl Fn(&str) -> Option<String>,
    limit_s: Option<u64>,
    margin_s: u64,
    max_tasks: u32,
    mut name: impl FnMut() -> String,
) -> Vec<Batch> {
    let time = |need: &ModelDemand| {
        let wanted = (need.worst_case_s + margin_s).next_multiple_of(3600);
        limit_s.map_or(wanted, |limit| wanted.min(limit))
    };
    let mut alike: BTreeMap<_, Vec<&ModelDemand>> = BTreeMap::new();
    for need in needs {
        alike.entry((Reverse(time(need)), need.resources, node(&need.model))).or_default().push(need);
    }
    let mut made = vec![];
    for ((time_s, resources, node), mut needs) in alike {
        needs.sort_by_key(|need| (Reverse(need.expected_s), Reverse(need.worst_case_s), &need.model));
        for models in needs.chunks(max_tasks.max(1) as usize) {
            made.push(Batch {
                name: name(),
                models: models.iter().map(|need| need.model.clone()).collect(),
                resources,
                time_s: time_s.0,
                node: node.clone(),
            });
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn need(model: &str, cores: u32, worst_case_s: u64) -> ModelDemand {
        ModelDemand {
            model: model.into(),
            resources: Resources { cores, memory_mib: 17_000 },
            planned: 1,
            worst_case_s,
            expected_s: 0,
        }
    }

    fn made(
        needs: &[ModelDemand],
        limit_s: Option<u64>,
        most: u32,
    ) -> Vec<(Vec<String>, u64, Option<String>)> {
        let mut count = 0;
        let name = || {
            count += 1;
            format!("b{count}")
        };
        let node = |model: &str| (model == "Bound").then(|| "n7".to_owned());
        let made = batches(needs, node, limit_s, 600, most, name);
        made.into_iter().map(|batch| (batch.models, batch.time_s, batch.node)).collect()
    }

    fn names(models: &[&str]) -> Vec<String> {
        models.iter().map(|model| (*model).to_owned()).collect()
    }

    #[test]
    fn models_with_equal_demand_share_an_array_longest_first() {
        let needs = [need("A", 2, 4000), need("B", 2, 90_000), need("C", 5, 90_000), need("D", 2, 5000)];
        let expected =
            [(names(&["B"]), 93_600, None), (names(&["C"]), 93_600, None), (names(&["D", "A"]), 7200, None)];
        assert_eq!(made(&needs, None, 1000), expected);
        let mut expected = needs.clone();
        expected[0].expected_s = 3000;
        assert_eq!(made(&expected, None, 1000)[2].0, names(&["A", "D"]), "the longest expected is first");
        // With the limit of the partition all of them have the same time.
        let expected = [(names(&["B", "D", "A"]), 7200, None), (names(&["C"]), 7200, None)];
        assert_eq!(made(&needs, Some(7200), 1000), expected);
    }

    #[test]
    fn a_bound_model_goes_to_its_node_and_arrays_are_limited() {
        let needs = [need("A", 2, 100), need("Bound", 2, 100), need("C", 2, 100), need("D", 2, 100)];
        let expected = [
            (names(&["A", "C"]), 3600, None),
            (names(&["D"]), 3600, None),
            (names(&["Bound"]), 3600, Some("n7".to_owned())),
        ];
        assert_eq!(made(&needs, None, 2), expected);
    }

    #[test]
    fn a_model_demands_cores_of_its_widest_tool_and_controller() {
        let run = |model: &str, vcpus, competes| Run {
            entry: format!("t{vcpus}").parse().unwrap(),
            instance: format!("{model}-PT-1").parse().unwrap(),
            examination: "StateSpace".parse().unwrap(),
            model: model.into(),
            vcpus,
            competes,
        };
        let runs = vec![run("A", 1, true), run("A", 4, true), run("A", 1, false), run("B", 1, true)];
        let settings =
            ClusterSettings { runs_at_once: NonZeroU32::new(2).unwrap(), ..ClusterSettings::default() };
        let needs = ModelDemand::of_runs(runs.into_iter(), 4500, 16_384, &settings, &History::default());
        let asked = needs
            .iter()
            .map(|need| (need.model.as_str(), need.resources.cores, need.planned, need.worst_case_s));
        assert_eq!(asked.collect::<Vec<_>>(), [("A", 9, 3, 4500), ("B", 3, 1, 4500)]);
        assert_eq!(needs[0].resources.memory_mib, 2 * 18_432 + 512);
    }
}

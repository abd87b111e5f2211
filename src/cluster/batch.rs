//! The plan of a campaign as arrays of jobs: pure.

use mcc_campaign::{History, Plan, Run, SlurmSettings};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a model asks of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDemand {
    pub model: String,
    pub resources: Resources,
    /// Its runs, those without a machine too.
    pub planned: u64,
    /// Seconds, when every machine boots at the last moment and runs into its limits.
    pub worst_case_s: u64,
    /// Seconds, as runs took in earlier campaigns; 0 where nothing is known.
    #[serde(default)]
    pub expected_s: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Resources {
    /// Of all machines at once, and one for the controller.
    pub cores: u32,
    pub memory_mib: u64,
}

/// Beside its machines: the controller, and QEMU's own memory of each machine.
const CONTROLLER_MIB: u64 = 512;
const PER_MACHINE_MIB: u64 = 512;

impl ModelDemand {
    /// Of every model of a plan, by name. `memory_mib` is one machine's.
    pub fn of(plan: &Plan, memory_mib: u64, settings: &SlurmSettings, history: &History) -> Vec<Self> {
        Self::of_runs(plan.runs(), plan.longest_run_s, memory_mib, settings, history)
    }

    fn of_runs(
        runs: impl Iterator<Item = Run>,
        longest_run_s: u64,
        memory_mib: u64,
        settings: &SlurmSettings,
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
                memory_mib: at_once * (memory_mib + PER_MACHINE_MIB) + CONTROLLER_MIB,
            },
            planned,
            worst_case_s: machines.div_ceil(at_once) * longest_run_s,
            expected_s: (expected_ms / at_once).div_ceil(1000),
        };
        models.into_iter().map(need).collect()
    }
}

/// One submission: an array of jobs that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// In the batch system; ours alone in the cluster.
    pub name: String,
    pub models: Vec<String>,
    pub resources: Resources,
    pub time_s: u64,
    /// Where the models are bound to.
    pub node: Option<String>,
}

/// Seconds a job gets on top of its runs: disks staged, record brought to disk.
pub const MARGIN_S: u64 = 600;

/// Models that ask for the same go into one array, the longest first; `node` says what a model is bound to.
///
/// A model that needs more time than `limit_s` gets the limit; its job hands in the next of the chain itself.
/// `name(n)` names the n-th batch.
pub fn batches(
    needs: &[ModelDemand],
    node: impl Fn(&str) -> Option<String>,
    limit_s: Option<u64>,
    max_tasks: u32,
    mut name: impl FnMut() -> String,
) -> Vec<Batch> {
    let time = |need: &ModelDemand| {
        let wanted = (need.worst_case_s + MARGIN_S).next_multiple_of(3600);
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
        let made = batches(needs, node, limit_s, most, name);
        made.into_iter().map(|batch| (batch.models, batch.time_s, batch.node)).collect()
    }

    fn names(models: &[&str]) -> Vec<String> {
        models.iter().map(|model| (*model).to_owned()).collect()
    }

    #[test]
    fn models_that_ask_for_the_same_share_an_array_and_the_longest_begin() {
        let needs = [need("A", 2, 4000), need("B", 2, 90_000), need("C", 5, 90_000), need("D", 2, 5000)];
        let expected =
            [(names(&["B"]), 93_600, None), (names(&["C"]), 93_600, None), (names(&["D", "A"]), 7200, None)];
        assert_eq!(made(&needs, None, 1000), expected);
        let mut expected = needs.clone();
        expected[0].expected_s = 3000;
        assert_eq!(made(&expected, None, 1000)[2].0, names(&["A", "D"]), "the longest expected begins");
        // With the partition's limit all of them ask for the same time.
        let expected = [(names(&["B", "D", "A"]), 7200, None), (names(&["C"]), 7200, None)];
        assert_eq!(made(&needs, Some(7200), 1000), expected);
    }

    #[test]
    fn a_bound_model_goes_to_its_node_and_an_array_has_its_most() {
        let needs = [need("A", 2, 100), need("Bound", 2, 100), need("C", 2, 100), need("D", 2, 100)];
        let expected = [
            (names(&["A", "C"]), 3600, None),
            (names(&["D"]), 3600, None),
            (names(&["Bound"]), 3600, Some("n7".to_owned())),
        ];
        assert_eq!(made(&needs, None, 2), expected);
    }

    #[test]
    fn a_model_asks_for_its_widest_tool_and_the_controller() {
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
            SlurmSettings { runs_at_once: NonZeroU32::new(2).unwrap(), ..SlurmSettings::default() };
        let needs = ModelDemand::of_runs(runs.into_iter(), 4500, 16_384, &settings, &History::default());
        let asked = needs
            .iter()
            .map(|need| (need.model.as_str(), need.resources.cores, need.planned, need.worst_case_s));
        assert_eq!(asked.collect::<Vec<_>>(), [("A", 9, 3, 4500), ("B", 3, 1, 4500)]);
        assert_eq!(needs[0].resources.memory_mib, 2 * 16_896 + 512);
    }
}

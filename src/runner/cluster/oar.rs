//! OAR 2, used by its commands: oarsub, oarstat, oardel, oarnodes.

use super::job::{ended_command, failed, not_given, number, run_command, variable};
use super::{Batch, BatchSystem, Cluster, ClusterError, GivenJob, MAX_ARGUMENTS, Task, TaskEnd, TaskState};
use mcc_base::OnFile;
use mcc_base::text::shell_quoted;
use mcc_campaign::ClusterSettings;
use mcc_vm::host::keep_to_cpus;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// The OAR cluster to which this host belongs.
pub struct Oar {
    /// `[cluster]` of the campaign.
    pub settings: ClusterSettings,
}

/// OAR has no limit of its own; its database inserts the jobs of an array one by one.
const MAX_TASKS: u32 = 1000;

/// The condition of SQL that a job has not ended.
const UNFINISHED: &str = "state NOT IN ('Terminated', 'Error')";

/// A job, from `oarstat --full --json`.
#[derive(Deserialize)]
struct Job {
    #[serde(rename = "Job_Id")]
    id: u64,
    name: Option<String>,
    state: String,
    array_id: u64,
    /// From 1.
    array_index: u32,
    /// The status of `wait`: an exit code times 256, or a signal.
    exit_code: Option<u32>,
    #[serde(default)]
    assigned_network_address: Vec<String>,
    message: Option<String>,
    #[serde(default)]
    events: Vec<Event>,
    /// The command that submitted it. OAR leaves it empty for users other than that of the job, whom it alone knows: it may
    /// have another name for a user than the host.
    initial_request: Option<String>,
}

#[derive(Deserialize)]
struct Event {
    r#type: String,
}

/// A core of a node, from `oarnodes --json`.
#[derive(Deserialize)]
struct Resource {
    network_address: String,
    state: String,
}

impl Job {
    /// A job that OAR started again by itself has another number, but the array and the index of the first one.
    fn task(&self) -> Task {
        Task { job: self.array_id.to_string(), index: self.array_index.saturating_sub(1) }
    }

    fn has_ended(&self) -> bool {
        ["Terminated", "Error"].contains(&self.state.as_str())
    }

    /// The state of a job that has not ended, if these nodes respond.
    fn live_state(&self, alive: &BTreeSet<String>) -> TaskState {
        let node = self.assigned_network_address.first();
        match (self.state.as_str(), node) {
            ("toLaunch" | "Launching" | "Running" | "Suspended" | "Resuming" | "Finishing", Some(node)) => {
                if alive.contains(node) {
                    TaskState::Running { node: node.clone() }
                } else {
                    // OAR keeps the job of a lost node until the node responds or the job is deleted.
                    TaskState::Pending { reason: format!("its node {node} does not respond") }
                }
            }
            (state, _) => {
                let message = self.message.as_deref().unwrap_or_default();
                TaskState::Pending { reason: format!("{state} {message}").trim().to_owned() }
            }
        }
    }

    fn end(&self) -> TaskEnd {
        let has = |cause: &&str| self.events.iter().any(|event| event.r#type == *cause);
        // The first one is the cause of the others.
        let cause =
            ["WALLTIME", "BESTEFFORT_KILL", "EXTERMINATE_JOB", "FRAG_JOB_REQUEST"].into_iter().find(has);
        let cause = cause.or(self.events.last().map(|event| event.r#type.as_str()));
        let state = match cause.filter(|_| self.state == "Error") {
            Some(cause) => format!("{} ({cause})", self.state),
            None => self.state.clone(),
        };
        TaskEnd {
            state,
            exit_code: self.exit_code.map(|status| status >> 8),
            signal: self.exit_code.map_or(0, |status| status & 0x7f),
        }
    }
}

/// A text in SQL, for `--sql` and `--property`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The condition that a job is one of these tasks.
fn are_tasks(tasks: &[Task]) -> String {
    let pairs = tasks.iter().map(|task| format!("({}, {})", quoted(&task.job), task.index + 1));
    format!("(array_id, array_index) IN ({})", pairs.collect::<Vec<_>>().join(", "))
}

/// The output of a command with `--json`: an object by number, or nothing.
fn read_json<T: DeserializeOwned>(program: &'static str, args: &[String]) -> Result<Vec<T>, ClusterError> {
    let printed = run_command(program, args)?;
    if printed.trim().is_empty() {
        return Ok(vec![]);
    }
    let read: BTreeMap<String, T> =
        serde_json::from_str(&printed).map_err(|error| failed(program, args, error.to_string()))?;
    Ok(read.into_values().collect())
}

/// The jobs that meet a condition of SQL.
fn jobs(condition: String) -> Result<Vec<Job>, ClusterError> {
    read_json("oarstat", &["--full".into(), "--json".into(), "--sql".into(), condition])
}

/// The tasks of jobs that have not ended, without those of other users: the names of batches are no secret, so others could
/// submit jobs with them.
fn live_tasks(live: Vec<Job>, alive: &BTreeSet<String>) -> Vec<(String, Task, TaskState)> {
    let own = live.into_iter().filter(|job| job.initial_request.as_deref() != Some(""));
    own.filter_map(|job| Some((job.name.clone()?, job.task(), job.live_state(alive)))).collect()
}

/// The nodes that run jobs, now or after their present ones.
fn alive_nodes() -> Result<BTreeSet<String>, ClusterError> {
    let resources: Vec<Resource> = read_json("oarnodes", &["--json".into()])?;
    let alive = resources.into_iter().filter(|resource| resource.state == "Alive");
    Ok(alive.map(|resource| resource.network_address).collect())
}

/// The arguments of `oarsub` for a batch.
fn oarsub(batch: &Batch, cluster: &Cluster, settings: &ClusterSettings) -> Vec<String> {
    let cores = settings.memory_per_core_mib.map_or(String::new(), |per_core| {
        let for_memory = batch.resources.memory_mib.div_ceil(per_core.get().into());
        format!("/core={}", for_memory.max(batch.resources.cores.into()))
    });
    let time = batch.time_s;
    let walltime = format!("{}:{}:{}", time / 3600, time / 60 % 60, time % 60);
    let mut args = vec![
        format!("--name={}", batch.name),
        format!("--array={}", batch.models.len()),
        format!("--resource=/nodes=1{cores},walltime={walltime}"),
        format!("--checkpoint={}", cluster.facts().signal_before_s()),
        format!("--signal={}", nix::libc::SIGUSR1),
        format!("--directory={}", cluster.results().display()),
        // The script writes the log: OAR has no names with the index of a task.
        "--stdout=/dev/null".to_owned(),
        "--stderr=/dev/null".to_owned(),
    ];
    let node = batch.node.as_ref().map(|node| format!("network_address = {}", quoted(node)));
    let constraint = settings.constraint.as_ref().map(|constraint| format!("({constraint})"));
    let properties: Vec<String> = constraint.into_iter().chain(node).collect();
    let properties = (!properties.is_empty()).then(|| properties.join(" AND "));
    let optional =
        [("queue", &settings.partition), ("project", &settings.account), ("property", &properties)];
    args.extend(optional.iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
    args.extend(settings.options.iter().cloned());
    // One argument: the shell of the node splits it. Not executable: sbatch copies the script.
    args.push(format!("/bin/sh {} {}", shell_quoted(&cluster.script().display().to_string()), batch.name));
    args
}

impl BatchSystem for Oar {
    fn submit(&self, batch: &Batch, cluster: &Cluster) -> Result<String, ClusterError> {
        let args = oarsub(batch, cluster, &self.settings);
        let printed = run_command("oarsub", &args)?;
        // Admission rules print other lines before it.
        let array = printed.lines().find_map(|line| line.strip_prefix("OAR_ARRAY_ID="));
        let job = array.or_else(|| printed.lines().find_map(|line| line.strip_prefix("OAR_JOB_ID=")));
        match job.map(str::trim).filter(|job| job.parse::<u64>().is_ok()) {
            Some(job) => Ok(job.to_owned()),
            None => Err(failed("oarsub", &args, format!("printed {printed:?} without the number of a job"))),
        }
    }

    fn tasks(&self, names: &[&str]) -> Result<Vec<(String, Task, TaskState)>, ClusterError> {
        let mut live = vec![];
        for some in names.chunks(MAX_ARGUMENTS) {
            let names: Vec<String> = some.iter().map(|name| quoted(name)).collect();
            live.extend(jobs(format!("job_name IN ({}) AND {UNFINISHED}", names.join(", ")))?);
        }
        let alive = if live.is_empty() { BTreeSet::new() } else { alive_nodes()? };
        Ok(live_tasks(live, &alive))
    }

    fn ends(&self, tasks: &[Task]) -> Result<BTreeMap<Task, TaskEnd>, ClusterError> {
        let mut found = vec![];
        for some in tasks.chunks(MAX_ARGUMENTS) {
            found.extend(jobs(are_tasks(some))?);
        }
        // Of a job that OAR started again, the last end counts.
        found.sort_by_key(|job| job.id);
        Ok(found.iter().filter(|job| job.has_ended()).map(|job| (job.task(), job.end())).collect())
    }

    fn cancel(&self, tasks: &[Task]) -> Result<(), ClusterError> {
        /// The exit code of `oardel` if a job has ended or is deleted already.
        const ENDED: i32 = 6;
        for some in tasks.chunks(MAX_ARGUMENTS) {
            let args = ["--sql".to_owned(), format!("{} AND {UNFINISHED}", are_tasks(some))];
            let ended = ended_command("oardel", &args)?;
            if !ended.status.is_some_and(|status| [Some(0), Some(ENDED)].contains(&status.code())) {
                return Err(failed("oardel", &args, ended.describe()));
            }
        }
        Ok(())
    }

    fn given_job(&self) -> Result<GivenJob, ClusterError> {
        let read = |name: &str| {
            let path = std::path::PathBuf::from(variable(name)?);
            Ok::<_, ClusterError>(mcc_base::text::read(&path).on("read", &path)?)
        };
        let index: u32 = number("OAR_ARRAY_INDEX")?;
        let index = index.checked_sub(1).ok_or_else(|| not_given("OAR_ARRAY_INDEX is 0".to_owned()))?;
        let nodes = read("OAR_NODEFILE")?;
        let nodes: BTreeSet<&str> = nodes.lines().map(str::trim).filter(|node| !node.is_empty()).collect();
        let [node] = nodes.into_iter().collect::<Vec<_>>()[..] else {
            return Err(not_given("the job has not one node: see OAR_NODEFILE".to_owned()));
        };
        // A cluster without cpusets does not confine its jobs.
        let cpus = given_cpus(&read("OAR_RESOURCE_PROPERTIES_FILE")?).map_err(not_given)?;
        keep_to_cpus(&cpus).map_err(|error| {
            not_given(format!(
                "{error}: `oarnodes` states cpuset {cpus:?} for the cores of {node}; correct it with oarnodesetting"
            ))
        })?;
        Ok(GivenJob { index, node: node.to_owned(), limit_s: Some(number("OAR_JOB_WALLTIME_SECONDS")?) })
    }

    fn time_limit(&self) -> Result<Option<u64>, ClusterError> {
        // Admission rules can limit it, and cannot be queried: `time_limit_s`.
        Ok(None)
    }

    fn max_tasks(&self) -> Result<u32, ClusterError> {
        Ok(MAX_TASKS)
    }

    fn node_available(&self, node: &str) -> Result<bool, ClusterError> {
        Ok(alive_nodes()?.contains(node))
    }
}

/// The CPUs of a job, from the lines of its resources: `core = '7' , cpuset = '3' , ...`, in any order of the keys. None
/// if the cluster does not state them.
fn given_cpus(resources: &str) -> Result<BTreeSet<u32>, String> {
    let mut cpus = BTreeSet::new();
    for line in resources.lines() {
        let pairs = line.split(" , ").filter_map(|pair| pair.trim().split_once(" = "));
        let cpuset = pairs.filter(|(key, _)| *key == "cpuset").map(|(_, value)| value.trim_matches('\''));
        for cpu in cpuset.flat_map(|value| value.split([',', '+'])).filter(|cpu| !cpu.is_empty()) {
            cpus.insert(
                cpu.parse().map_err(|_| format!("the resource {line:?} has no CPU numbers in cpuset"))?,
            );
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str) -> Job {
        let base = r#"{"Job_Id": 6, "name": "b", "array_id": 3, "array_index": 2, "exit_code": null, "#;
        serde_json::from_str(&format!("{base}{text}}}")).unwrap()
    }

    #[test]
    fn a_job_on_a_node_that_does_not_respond_waits() {
        let running = job(r#""state": "Running", "assigned_network_address": ["n1"]"#);
        assert_eq!(running.task(), Task { job: "3".into(), index: 1 });
        assert_eq!(running.live_state(&["n1".into()].into()), TaskState::Running { node: "n1".into() });
        let reason = "its node n1 does not respond".into();
        assert_eq!(running.live_state(&["n2".into()].into()), TaskState::Pending { reason });
        let waiting = job(r#""state": "Waiting", "message": "R=2,W=1:0:0""#);
        let reason = "Waiting R=2,W=1:0:0".into();
        assert_eq!(waiting.live_state(&BTreeSet::new()), TaskState::Pending { reason });
    }

    #[test]
    fn a_job_of_another_user_is_none_of_the_batch_with_its_name() {
        let is_own = |more: &str| {
            let tasks = live_tasks(vec![job(&format!(r#""state": "Waiting"{more}"#))], &BTreeSet::new());
            !tasks.is_empty()
        };
        assert!(is_own(r#", "initial_request": "oarsub --name=b""#));
        assert!(!is_own(r#", "initial_request": """#));
        // Jobs of which OAR does not state it are known by their numbers.
        assert!(is_own("") && is_own(r#", "initial_request": null"#));
    }

    #[test]
    fn the_end_of_a_job_names_its_cause() {
        let events = |types: &[&str]| {
            let list = types.iter().map(|word| format!(r#"{{"type": "{word}", "event_id": 1}}"#));
            job(&format!(r#""state": "Error", "events": [{}]"#, list.collect::<Vec<_>>().join(",")))
        };
        let end = |state: &str, exit_code, signal| TaskEnd { state: state.into(), exit_code, signal };
        let limit = ["FRAG_JOB_REQUEST", "WALLTIME", "SEND_KILL_JOB", "SWITCH_INTO_ERROR_STATE"];
        assert_eq!(events(&limit).end(), end("Error (WALLTIME)", None, 0));
        let preempted = ["BESTEFFORT_KILL", "FRAG_JOB_REQUEST", "SWITCH_INTO_ERROR_STATE"];
        assert_eq!(events(&preempted).end(), end("Error (BESTEFFORT_KILL)", None, 0));
        assert_eq!(events(&["CPUSET_ERROR"]).end(), end("Error (CPUSET_ERROR)", None, 0));
        let mut failed = job(r#""state": "Terminated", "events": [{"type": "SWITCH_INTO_TERMINATE_STATE"}]"#);
        failed.exit_code = Some(69 << 8);
        assert_eq!(failed.end(), end("Terminated", Some(69), 0));
        failed.exit_code = Some(9);
        assert_eq!(failed.end(), end("Terminated", Some(0), 9));
    }

    #[test]
    fn the_cpus_of_a_job_are_those_of_its_resources() {
        let lines = " core = '1' , cpuset = '0' , network_address = 'n1' \n cpuset = '2,6' , core = '3' \n";
        assert_eq!(given_cpus(lines), Ok([0, 2, 6].into()));
        assert_eq!(given_cpus(" core = '1' \n"), Ok(BTreeSet::new()));
        assert!(given_cpus("cpuset = 'x' ").unwrap_err().contains("no CPU numbers"));
    }

    #[test]
    fn names_of_nodes_are_texts_of_sql() {
        assert_eq!(quoted("n'1"), "'n''1'");
        let tasks = [Task { job: "3".into(), index: 0 }, Task { job: "3".into(), index: 4 }];
        assert_eq!(are_tasks(&tasks), "(array_id, array_index) IN (('3', 1), ('3', 5))");
    }
}

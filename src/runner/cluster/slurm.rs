//! Slurm, used by its commands: sbatch, squeue, scancel, scontrol, sinfo.

use super::job::{failed, number, run_command, variable};
use super::{Batch, BatchSystem, Cluster, ClusterError, GivenJob, MAX_ARGUMENTS, Task, TaskEnd, TaskState};
use mcc_campaign::ClusterSettings;
use nix::unistd::geteuid;
use std::collections::{BTreeMap, BTreeSet};

/// The Slurm cluster to which this host belongs.
pub struct Slurm {
    /// `[cluster]` of the campaign.
    pub settings: ClusterSettings,
}

/// The arguments of `sbatch` for a batch.
fn sbatch(batch: &Batch, cluster: &Cluster, settings: &ClusterSettings) -> Vec<String> {
    let last = batch.models.len() - 1;
    let throttle = settings.throttle.map_or(String::new(), |most| format!("%{most}"));
    let logs = cluster.logs();
    let mut args = vec![
        "--parsable".to_owned(),
        format!("--job-name={}", batch.name),
        format!("--array=0-{last}{throttle}"),
        "--nodes=1".to_owned(),
        "--ntasks=1".to_owned(),
        format!("--cpus-per-task={}", batch.resources.cores),
        // Without it a job gets all memory of its node.
        format!("--mem={}M", batch.resources.memory_mib),
        format!("--time={}", batch.time_s.div_ceil(60)),
        format!("--signal=B:USR1@{}", cluster.facts().signal_before_s()),
        // A preempted job is started again. If it starts on another node, it submits a job for the node of its model.
        "--requeue".to_owned(),
        format!("--output={}/%x.%a.log", logs.display()),
        "--open-mode=append".to_owned(),
    ];
    let optional = [
        ("partition", &settings.partition),
        ("account", &settings.account),
        ("constraint", &settings.constraint),
        ("nodelist", &batch.node),
    ];
    args.extend(optional.iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
    args.extend(settings.options.iter().cloned());
    args.push(cluster.script().display().to_string());
    args.push(batch.name.clone());
    args
}

/// The arguments of `squeue` for the jobs of this user with these names, which are no secret: another user could submit jobs
/// with them.
fn squeue(names: &[&str]) -> Vec<String> {
    let args = ["--noheader", "--array", "--format=%j|%F|%K|%T|%N|%r"].map(str::to_owned);
    [args.as_slice(), &[format!("--user={}", geteuid()), format!("--name={}", names.join(","))]].concat()
}

impl BatchSystem for Slurm {
    fn submit(&self, batch: &Batch, cluster: &Cluster) -> Result<String, ClusterError> {
        let printed = run_command("sbatch", &sbatch(batch, cluster, &self.settings))?;
        // `--parsable`: JOB or JOB;CLUSTER
        let job = printed.trim().split(';').next().unwrap_or_default().to_owned();
        match job.parse::<u64>() {
            Ok(_) => Ok(job),
            Err(_) => {
                let problem = format!("printed {printed:?} instead of the number of a job");
                Err(failed("sbatch", &["--parsable".to_owned()], problem))
            }
        }
    }

    fn tasks(&self, names: &[&str]) -> Result<Vec<(String, Task, TaskState)>, ClusterError> {
        let mut found = vec![];
        for some in names.chunks(MAX_ARGUMENTS) {
            let printed = run_command("squeue", &squeue(some))?;
            found.extend(tasks(&printed).map_err(|problem| failed("squeue", &[], problem))?);
        }
        Ok(found)
    }

    fn ends(&self, tasks: &[Task]) -> Result<BTreeMap<Task, TaskEnd>, ClusterError> {
        let mut ends = BTreeMap::new();
        for some in tasks.chunks(MAX_ARGUMENTS) {
            let names: Vec<String> = some.iter().map(Task::to_string).collect();
            let options = ["--noheader", "--parsable2", "--allocations", "--format=JobID,State,ExitCode"]
                .map(str::to_owned);
            let sacct = [options.as_slice(), &[format!("--jobs={}", names.join(","))]].concat();
            match run_command("sacct", &sacct) {
                Ok(printed) => ends.extend(accounted_ends(&printed)),
                // A cluster without accounting remembers ended jobs for some minutes.
                Err(_) => {
                    // Each job alone: the name of another user's job can contain what looks like a line of its own.
                    let jobs: BTreeSet<&str> = some.iter().map(|task| task.job.as_str()).collect();
                    for job in jobs {
                        let show = ["--oneliner", "show", "job", job].map(str::to_owned);
                        // It is an error if the job is not remembered any more.
                        let known = run_command("scontrol", &show).map(|printed| remembered_ends(&printed));
                        let known = known.unwrap_or_default().into_iter();
                        ends.extend(known.filter(|(task, _)| some.contains(task)));
                    }
                }
            }
        }
        Ok(ends)
    }

    fn cancel(&self, tasks: &[Task]) -> Result<(), ClusterError> {
        for some in tasks.chunks(MAX_ARGUMENTS) {
            let tasks: Vec<String> = some.iter().map(Task::to_string).collect();
            run_command("scancel", &tasks)?;
        }
        Ok(())
    }

    fn given_job(&self) -> Result<GivenJob, ClusterError> {
        let time = |name| number::<u64>(name).ok();
        let limit_s = time("SLURM_JOB_END_TIME")
            .zip(time("SLURM_JOB_START_TIME"))
            .map(|(end, start)| in_minutes(end.saturating_sub(start)));
        Ok(GivenJob { index: number("SLURM_ARRAY_TASK_ID")?, node: variable("SLURMD_NODENAME")?, limit_s })
    }

    fn time_limit(&self) -> Result<Option<u64>, ClusterError> {
        let partition = self.settings.partition.as_deref();
        let mut args = ["--noheader", "--format=%P|%l"].map(str::to_owned).to_vec();
        args.extend(partition.map(|name| format!("--partition={name}")));
        // The first command of `submit`: it fails on a host that has Slurm's programs, but is not part of a cluster.
        let printed = run_command("sinfo", &args).map_err(|error| match error {
            ClusterError::Command { command, problem } => ClusterError::Unreachable {
                command,
                problem: format!(
                    "{}; use a host of the cluster, or `scripts/slurm-single-node` to try one; `submit --dry-run` \
                     needs none",
                    problem.trim_end()
                ),
            },
            other => other,
        })?;
        let wrong = || ClusterError::Command {
            command: format!("sinfo {}", args.join(" ")),
            problem: match partition {
                Some(name) => format!("there is no partition {name}: choose another in [cluster]"),
                None => "no partition is the default: name one in [cluster]".to_owned(),
            },
        };
        let limit = printed.lines().filter_map(|line| line.split_once('|')).find_map(|(found, limit)| {
            // A star marks the default partition.
            (partition.is_some() || found.ends_with('*')).then_some(limit)
        });
        match limit.ok_or_else(wrong)?.trim() {
            "infinite" | "UNLIMITED" => Ok(None),
            limit => seconds(limit).map(Some).ok_or_else(wrong),
        }
    }

    fn max_tasks(&self) -> Result<u32, ClusterError> {
        let printed = run_command("scontrol", &["show".to_owned(), "config".to_owned()])?;
        let size = printed.lines().filter_map(|line| line.split_once('=')).find_map(|(key, value)| {
            (key.trim() == "MaxArraySize").then(|| value.trim().parse::<u32>().ok()).flatten()
        });
        // The largest index is one less than MaxArraySize, and indexes begin with 0.
        Ok(size.unwrap_or(1001).saturating_sub(1).max(1))
    }

    fn node_available(&self, node: &str) -> Result<bool, ClusterError> {
        let args = [
            "--noheader".to_owned(),
            "--Node".to_owned(),
            format!("--nodes={node}"),
            "--format=%T".to_owned(),
        ];
        let printed = run_command("sinfo", &args)?;
        Ok(printed.lines().any(|state| is_available(state.trim())))
    }
}

/// A time limit, in whole minutes as Slurm's are. The times of start and end differ from it by some seconds, and a job that
/// asks for a minute more than its partition allows waits without end.
fn in_minutes(seconds: u64) -> u64 {
    ((seconds + 30) / 60).max(1) * 60
}

/// Whether jobs run on a node in this state, now or later. A `*` marks a node that does not respond.
fn is_available(state: &str) -> bool {
    let word = state.trim_end_matches(['*', '~', '#', '%', '@', '^', '+', '-', '$']);
    !state.contains('*')
        && ["idle", "mixed", "allocated", "completing", "reserved", "planned"].contains(&word)
}

/// Parses the output of squeue in the format `%j|%F|%K|%T|%N|%r`.
fn tasks(printed: &str) -> Result<Vec<(String, Task, TaskState)>, String> {
    let mut found = vec![];
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.trim().splitn(6, '|').collect();
        let &[name, job, index, state, node, reason] = fields.as_slice() else {
            return Err(format!("printed {line:?} instead of six fields"));
        };
        let index =
            index.parse().map_err(|_| format!("printed {line:?}: {index} is not an index of an array"))?;
        let state = match state {
            "RUNNING" | "COMPLETING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "SIGNALING"
            | "STAGE_OUT" => TaskState::Running { node: node.to_owned() },
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" | "RESV_DEL_HOLD" => {
                TaskState::Pending { reason: reason.to_owned() }
            }
            // squeue also lists tasks that ended recently.
            _ => continue,
        };
        found.push((name.to_owned(), Task { job: job.to_owned(), index }, state));
    }
    Ok(found)
}

/// Parses the output of sacct in the format `JobID,State,ExitCode`.
fn accounted_ends(printed: &str) -> BTreeMap<Task, TaskEnd> {
    let end = |line: &str| {
        let [name, state, exit] = line.split('|').collect::<Vec<_>>().try_into().ok()?;
        let (job, index) = name.split_once('_')?;
        task_end(job, index, state, exit)
    };
    printed.lines().filter_map(end).collect()
}

/// Parses the output of `scontrol --oneliner show job`. Job and task come before the name, which can contain such words.
fn remembered_ends(printed: &str) -> BTreeMap<Task, TaskEnd> {
    let end = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let job = words.next()?.strip_prefix("ArrayJobId=")?;
        let index = words.next()?.strip_prefix("ArrayTaskId=")?;
        let value = |key: &str| words.clone().find_map(|word| word.strip_prefix(key));
        task_end(job, index, value("JobState=")?, value("ExitCode=")?)
    };
    printed.lines().filter_map(end).collect()
}

/// None: the task did not end, or a field is not as expected.
fn task_end(job: &str, index: &str, state: &str, exit: &str) -> Option<(Task, TaskEnd)> {
    let ended = [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ];
    // `CANCELLED by 1000`
    let word = state.split_whitespace().next().filter(|word| ended.contains(word))?;
    let (exit_code, signal) = exit.split_once(':')?;
    Some((
        Task { job: job.to_owned(), index: index.parse().ok()? },
        TaskEnd {
            state: word.to_owned(),
            exit_code: Some(exit_code.parse().ok()?),
            signal: signal.parse().ok()?,
        },
    ))
}

/// Converts Slurm's `[D-]HH:MM:SS`, `MM:SS` or `MM` to seconds.
fn seconds(limit: &str) -> Option<u64> {
    let (days, clock) = match limit.split_once('-') {
        Some((days, clock)) => (days.parse::<u64>().ok()?, clock),
        None => (0, limit),
    };
    let parts = clock.split(':').map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    let (hours, minutes, seconds) = match (parts.as_slice(), limit.contains('-')) {
        (&[hours, minutes, seconds], _) => (hours, minutes, seconds),
        (&[hours, minutes], true) => (hours, minutes, 0),
        (&[hours], true) => (hours, 0, 0),
        (&[minutes, seconds], false) => (0, minutes, seconds),
        (&[minutes], false) => (0, minutes, 0),
        _ => return None,
    };
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_the_next_job_is_that_of_the_job() {
        assert_eq!(
            [0, 119, 120, 121, 149, 151, 86_401].map(in_minutes),
            [60, 120, 120, 120, 120, 180, 86_400]
        );
    }

    #[test]
    fn only_jobs_of_this_user_are_asked_for() {
        assert!(squeue(&["b", "c"]).contains(&format!("--user={}", geteuid())));
    }

    #[test]
    fn slurms_times_are_read_in_each_form() {
        for (text, expected) in [
            ("30", Some(1800)),
            ("5:00", Some(300)),
            ("1:00:00", Some(3600)),
            ("7-00:00:00", Some(604_800)),
            ("1-12", Some(129_600)),
            ("2-01:30", Some(178_200)),
            ("n/a", None),
            ("", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn waiting_and_running_tasks_of_squeue_are_read() {
        let printed = "b|12|0|RUNNING|n1|None\nb|12|1|PENDING||Resources\nb|12|2|COMPLETED|n1|None\n\
                       c|13|0|PENDING||Nodes required for job are DOWN, DRAINED|or so\n";
        let task = |job: &str, index| Task { job: job.into(), index };
        let row = |name: &str, task, state| (name.to_owned(), task, state);
        let expected = [
            row("b", task("12", 0), TaskState::Running { node: "n1".into() }),
            row("b", task("12", 1), TaskState::Pending { reason: "Resources".into() }),
            row(
                "c",
                task("13", 0),
                TaskState::Pending { reason: "Nodes required for job are DOWN, DRAINED|or so".into() },
            ),
        ];
        assert_eq!(tasks(printed).unwrap(), expected);
        assert!(tasks("slurm_load_jobs error").unwrap_err().contains("six fields"));
    }

    #[test]
    fn ends_of_tasks_are_read_from_accounts_and_controller() {
        let end = |index, state: &str, exit_code, signal| {
            (
                Task { job: "12".into(), index },
                TaskEnd { state: state.into(), exit_code: Some(exit_code), signal },
            )
        };
        let printed = "12_0|FAILED|69:0\n12_1|CANCELLED by 1000|0:15\n12_2|RUNNING|0:0\n12_[3-9]|PENDING|0:0\n\
                       13|COMPLETED|0:0\n";
        assert_eq!(accounted_ends(printed), [end(0, "FAILED", 69, 0), end(1, "CANCELLED", 0, 15)].into());
        let printed = "JobId=14 ArrayJobId=12 ArrayTaskId=0 JobName=mcc x JobState=TIMEOUT Reason=TimeLimit \
                       ExitCode=0:15 DerivedExitCode=0:0\n\
                       JobId=12 ArrayJobId=12 ArrayTaskId=1-9%2 JobState=PENDING ExitCode=0:0\n\
                       JobId=15 JobName=other JobState=FAILED ExitCode=1:0\n\
                       JobId=16 JobName=x ArrayJobId=12 ArrayTaskId=1 JobState=FAILED ExitCode=0:9\n";
        assert_eq!(remembered_ends(printed), [end(0, "TIMEOUT", 0, 15)].into());
        assert_eq!(remembered_ends("No jobs in the system\n"), BTreeMap::new());
    }

    #[test]
    fn a_node_that_is_down_or_does_not_respond_is_not_available() {
        for state in ["idle", "mixed", "allocated", "idle~", "completing", "planned"] {
            assert!(is_available(state), "{state}");
        }
        for state in ["down", "idle*", "down*", "drained", "draining", "fail", "", "unknown"] {
            assert!(!is_available(state), "{state}");
        }
    }
}

//! Campaigns whose jobs are cancelled, reach their time limit, are preempted or lose their node.

use crate::support::campaign::{self, Folder, until};
use crate::trial::Trial;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// The runs of a campaign.
pub(crate) struct Size {
    instances: &'static [&'static str],
    examinations: &'static [&'static str],
    entries: &'static [&'static str],
    runs: usize,
    restored: bool,
}

/// Two models.
pub(crate) const SMALL: Size = Size {
    instances: &["DiningTable-PT-0[35]", "TokenLoop-PT-0[35]"],
    examinations: &["ReachabilityCardinality", "CTLFireability"],
    entries: &["breadth-first", "random-walk"],
    runs: 16,
    restored: false,
};

/// Four models with ten instances.
const LARGE: Size = Size {
    instances: &["DiningTable-*", "TokenLoop-*", "LibraryRoom-*", "GreedyClerks-*"],
    examinations: &[
        "StateSpace",
        "UpperBounds",
        "ReachabilityDeadlock",
        "ReachabilityCardinality",
        "CTLFireability",
    ],
    entries: &["breadth-first", "depth-first", "random-walk", "wrong-on-purpose"],
    runs: 200,
    restored: true,
};

impl Size {
    pub(crate) fn campaign(&self, keys: &str) -> String {
        campaign::on_fixtures(
            self.instances,
            self.examinations,
            self.entries,
            &format!("[cluster]\nstage = \"{{stage}}\"\nlost_node = \"restart\"\n{keys}\n"),
        )
    }

    fn folder(&self, keys: &str) -> Folder {
        let campaign = self.campaign(keys);
        if !self.restored {
            return Folder::new(&campaign);
        }
        // There are two machines, and the saved state.
        let folder =
            Folder::new(&campaign.replace("\"mcc-2018\"", "\"./small.toml\"")).starting_by("restore");
        let small = "base = 'mcc-2018'\nname = 'small'\n[machine]\nmemory_mib = 2048\n";
        fs::write(folder.path().join("small.toml"), small).unwrap();
        folder
    }
}

/// The tables of a judgement without times (`arrivals.csv`, `awards.csv`) and kinds of hosts (`tools.csv`).
fn judged(folder: &Folder, results: &str, out: &str) -> Vec<String> {
    assert_cmd::Command::from(folder.harness(&["judge", results, "--out", out])).assert().code(0);
    let tables = [
        "confidence.csv",
        "flags.csv",
        "podiums.csv",
        "scores.csv",
        "trusted.csv",
        "virtual.csv",
        "weak.csv",
    ];
    tables.iter().map(|table| fs::read_to_string(folder.path().join(out).join(table)).unwrap()).collect()
}

#[test]
fn a_campaign_on_slurm_survives_cancels_limits_lost_nodes_and_preemptions() {
    survives_what_ends_jobs("slurm", &SMALL);
}

#[test]
#[ignore = "long: scripts/test --all"]
fn a_campaign_of_200_runs_on_slurm_survives_cancels_limits_lost_nodes_and_preemptions() {
    survives_what_ends_jobs("slurm", &LARGE);
}

#[test]
#[ignore = "long: scripts/test --all"]
fn a_campaign_of_200_runs_on_oar_survives_cancels_limits_lost_nodes_and_preemptions() {
    survives_what_ends_jobs("oar", &LARGE);
}

/// Machines wait while this file exists.
struct Hold(PathBuf);

impl Hold {
    fn hold(&self) {
        fs::write(&self.0, "").unwrap();
    }

    fn release(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// One job is cancelled, one reaches its time limit, one is preempted, and a node is lost. Machines wait meanwhile, so that
/// no model ends before.
fn survives_what_ends_jobs(system: &'static str, size: &Size) {
    // Without `--exclusive` two models run on one node of Slurm.
    let option = if system == "oar" { "--type=besteffort" } else { "--exclusive" };
    // With one limit all models are one array.
    let folder = size.folder(&format!(
        "system = \"{system}\"\noptions = [\"{option}\"]\ntime_limit_s = 86400\n[hosts]\nboot_deadline_s = 1800\n"
    ));
    let machines = Hold(folder.path().join("hold"));
    folder.qemu(&format!("while [ -e '{}' ]; do sleep 0.1; done", machines.0.display()));
    let cluster = Trial::start(&folder, system);
    let submit = ["submit", "campaign.toml", "--out", "results", "--allow-degraded"];
    let resume = [&submit[..], &["--resume"]].concat();
    let batches = || {
        let folder = fs::read_dir(folder.results().join("cluster/batches")).unwrap();
        let read = |path| serde_json::from_str(&fs::read_to_string(path).unwrap()).ok();
        folder.filter_map(|batch| read(batch.unwrap().path())).collect::<Vec<Value>>()
    };
    // By a job at its end.
    let is_continued = |model: &str| {
        batches().iter().any(|batch| batch["reason"] == "chain" && batch["models"] == json!([model]))
    };
    // How often jobs logged that they got this signal.
    let signals = |name: &str| {
        let logs = fs::read_dir(folder.results().join("cluster/logs")).unwrap();
        let text = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap()).collect::<String>();
        text.matches(&format!("mcc-harness: {name}: ")).count()
    };
    // The model whose job runs on a node; from then on machines wait.
    let held_on = |node: &str| {
        let mut found = None;
        until("a job runs on the node", || {
            found = cluster.running().into_iter().find(|(_, its_node)| its_node == node);
            found.is_some()
        });
        machines.hold();
        found.unwrap().0
    };

    let jobs = cluster.harness(&submit, 0);
    assert!(jobs.contains(&format!("{} jobs, one for each model (", size.instances.len())), "{jobs}");
    let mut running = vec![];
    until("two jobs have recorded runs", || {
        running = cluster.running();
        running.len() == 2
    });
    machines.hold();
    let ((cancelled, kept_node), (limited, lost_node)) = (running.remove(0), running.remove(0));
    assert_ne!(kept_node, lost_node, "each model has a node");
    eprintln!("{cancelled} on {kept_node} is cancelled");
    cluster.cancel(&cluster.job_on(&kept_node));
    until("the job is cancelled", || cluster.state(&cancelled) == "open");
    cluster.harness(&resume, 0);

    eprintln!("{limited} on {lost_node} reaches its time limit");
    cluster.shorten(&cluster.job_on(&lost_node));
    until("the signal is sent", || signals("SIGUSR1") == 1);
    machines.release();
    until("the next job is submitted", || is_continued(&limited));

    let preempted = held_on(&kept_node);
    eprintln!("{preempted} on {kept_node} is preempted");
    let (begun, end) = (folder.path().join("begun"), folder.path().join("end"));
    cluster.preempt(&kept_node, &begun, &end);
    until("the other job runs", || {
        // OAR waits for the end of the job.
        if signals("SIGUSR1") == 2 {
            machines.release();
        }
        begun.exists()
    });
    machines.release();
    assert_eq!(cluster.state(&preempted), "pending");
    assert_eq!(is_continued(&preempted), system == "oar", "Slurm starts the same job again");
    fs::write(&end, "").unwrap();

    let lost = held_on(&lost_node);
    eprintln!("{lost} on {lost_node} loses its node");
    cluster.kill_node(&lost_node);
    machines.release();
    until("the loss is seen", || ["open", "pending"].contains(&cluster.state(&lost).as_str()));
    cluster.harness(&["collect", "results"], 1);
    cluster.harness(&resume, 0);
    assert!(folder.results().join(format!("superseded/{lost}.1/record.db")).exists());

    // Each wait ends with a run.
    for run in 1..=size.runs as u64 {
        let recorded = |model: &Value| model["recorded"].as_u64().unwrap();
        until("a further run is recorded", || cluster.models().iter().map(recorded).sum::<u64>() >= run);
    }
    until("done", || cluster.models().iter().all(|model| model["state"] == "done"));
    for model in cluster.models() {
        let moved = [&lost, &limited].into_iter().any(|name| model["model"] == **name);
        assert!(
            model["nodes"] == json!([kept_node]) || !moved && model["nodes"] == json!([lost_node]),
            "{model}"
        );
    }

    let collected = cluster.harness(&["collect", "results"], 0);
    assert!(collected.contains(&format!("{0} of {0} runs are recorded", size.runs)), "{collected}");
    let again = cluster.harness(&["collect", "results"], 0);
    assert!(again.contains("new attempts: 0; newly recorded runs: 0"), "{again}");
    let runs = folder.runs();
    assert_eq!((runs.len(), folder.record().records().count()), (size.runs, size.runs));
    for (id, run) in &runs {
        assert_eq!(run.last.outcome.word(), "finished", "{id}");
    }

    let local = ["run", "campaign.toml", "--out", "local", "--allow-degraded", "--jobs", "2"];
    assert_cmd::Command::from(folder.harness(&local)).assert().code(0);
    assert_eq!(judged(&folder, "results", "by-cluster"), judged(&folder, "local", "here"));
    assert_eq!(folder.machines(), Vec::<i32>::new());
}

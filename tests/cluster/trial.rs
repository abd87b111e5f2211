//! A cluster of Slurm or OAR on this host.

use crate::support::campaign::Folder;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cluster of two nodes on this host; ended when it is dropped.
pub struct Trial<'a> {
    folder: &'a Folder,
    /// As in `[cluster]`.
    system: &'static str,
}

impl<'a> Trial<'a> {
    pub fn start(folder: &'a Folder, system: &'static str) -> Self {
        let trial = Self { folder, system };
        fs::create_dir_all(trial.path()).unwrap();
        // A job of Slurm has the variables of its submission, one of OAR those of its node.
        let harness = folder.harness(&[]);
        let variables =
            harness.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
        let lines = variables.map(|(name, value)| match name {
            "PATH" => format!("export PATH='{}/bin:{value}'\n", trial.path().display()),
            _ => format!("export {name}='{value}'\n"),
        });
        fs::write(trial.path().join("environment"), lines.collect::<String>()).unwrap();
        single_node(system, "up", &trial.path());
        trial
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.system)
    }

    /// A command of the batch system.
    pub fn command(&self, program: &str, args: &[&str]) -> String {
        let conf = self.path().join("slurm.conf");
        let own = self.path().join("bin").join(program);
        let program = if own.exists() { own } else { program.into() };
        let done = Command::new(&program).args(args).env("SLURM_CONF", conf).output().unwrap();
        assert!(done.status.success(), "{}: {done:?}", program.display());
        String::from_utf8(done.stdout).unwrap()
    }

    /// Runs mcc-harness on this cluster and returns its output.
    pub fn harness(&self, args: &[&str], exit: i32) -> String {
        let mut command = self.folder.harness(args);
        let path = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?)).unwrap();
        let path = format!("{}/bin:{}", self.path().display(), path.to_str().unwrap());
        command.env("PATH", path).env("SLURM_CONF", self.path().join("slurm.conf"));
        let done = assert_cmd::Command::from(command).assert().code(exit);
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    }

    /// The status of each model, from `status`.
    pub fn models(&self) -> Vec<Value> {
        let mut status: Value =
            serde_json::from_str(&self.harness(&["status", "results", "--format", "json"], 0)).unwrap();
        serde_json::from_value(status["models"].take()).unwrap()
    }

    /// The status of a model.
    pub fn model(&self, name: &str) -> Value {
        self.models().into_iter().find(|model| model["model"] == name).unwrap()
    }

    pub fn state(&self, name: &str) -> String {
        self.model(name)["state"].as_str().unwrap().to_owned()
    }

    /// The number of the job that runs on a node.
    pub fn job_on(&self, node: &str) -> String {
        if self.system == "oar" {
            let jobs: Value =
                serde_json::from_str(&self.command("oarstat", &["-f", "-J", "--sql", "state = 'Running'"]))
                    .unwrap();
            let runs = |job: &&Value| job["assigned_network_address"][0] == node;
            return jobs.as_object().unwrap().values().find(runs).unwrap()["Job_Id"].to_string();
        }
        let queue = self.command("squeue", &["--noheader", "--array", "--states=R", "--format=%F_%K %N"]);
        queue.lines().find_map(|line| line.strip_suffix(&format!(" {node}"))).unwrap().to_owned()
    }

    /// The models whose jobs run and have recorded a run, with their nodes. A third of their runs is open: they do not end
    /// while a test acts on them.
    pub fn running(&self) -> Vec<(String, String)> {
        let number = |model: &Value, key: &str| model[key].as_u64().unwrap();
        let is_amid = |model: &Value| {
            let (recorded, planned) = (number(model, "recorded"), number(model, "planned"));
            model["state"] == "running" && recorded > 0 && 3 * (planned - recorded) >= planned
        };
        let text = |model: &Value, key: &str| model[key].as_str().unwrap().to_owned();
        let models = self.models();
        models.iter().filter(|m| is_amid(m)).map(|m| (text(m, "model"), text(m, "node"))).collect()
    }

    /// Cancels a job by a command of the batch system.
    pub fn cancel(&self, job: &str) {
        match self.system {
            "oar" => self.command("oardel", &[job]),
            _ => self.command("scancel", &[job]),
        };
    }

    /// Sets the time limit of a job to ten minutes, so that it gets the signal before its limit.
    pub fn shorten(&self, job: &str) {
        match self.system {
            "oar" => self.command("oarwalltime", &[job, "0:10:0"]),
            _ => self.command("scontrol", &["update", &format!("JobId={job}"), "TimeLimit=10"]),
        };
    }

    /// Submits a job that preempts others on this node. It creates the file `begun`, and ends when `end` exists.
    pub fn preempt(&self, node: &str, begun: &Path, end: &Path) {
        let job =
            format!("touch '{}'; while [ ! -e '{}' ]; do sleep 0.1; done", begun.display(), end.display());
        match self.system {
            "oar" => {
                let node = format!("network_address = '{node}'");
                let output = ["--stdout=/dev/null", "--stderr=/dev/null"];
                let place = ["--resource=/nodes=1,walltime=1:0:0", "--property", &node, &job];
                self.command("oarsub", &[&output[..], &place].concat())
            }
            _ => {
                let place = ["--partition=urgent", "--exclusive", "--output=/dev/null"];
                self.command("sbatch", &[&place[..], &["--nodelist", node, "--wrap", &job]].concat())
            }
        };
    }

    /// Simulates a power failure of a node: kills all its processes.
    pub fn kill_node(&self, node: &str) {
        let path = self.path();
        let (variables, daemon) = if self.system == "oar" {
            fs::write(path.join(format!("down.{node}")), "").unwrap();
            (vec![format!("OAR_TRIAL_NODE={}/{node}", path.display())], None)
        } else {
            let conf = format!("SLURM_CONF={}", path.join("slurm.conf").display());
            (vec![conf, format!("SLURMD_NODENAME={node}")], Some(format!("\0-N\0{node}\0")))
        };
        for process in fs::read_dir("/proc").unwrap() {
            let path = process.unwrap().path();
            let Some(number) = path.file_name().and_then(|name| name.to_str()?.parse::<i32>().ok()) else {
                continue;
            };
            let read = |file: &str| {
                String::from_utf8_lossy(&fs::read(path.join(file)).unwrap_or_default()).into_owned()
            };
            let environment = read("environ");
            let is_set = |variable: &String| environment.split('\0').any(|set| set == variable);
            let is_daemon = || daemon.as_ref().is_some_and(|part| read("cmdline").contains(part));
            if is_set(&variables[0]) && (variables.iter().all(is_set) || is_daemon()) {
                let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
            }
        }
        if self.system == "slurm" {
            let node = format!("NodeName={node}");
            self.command("scontrol", &["update", &node, "State=DOWN", "Reason=lost"]);
        }
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        single_node(self.system, "down", &self.path());
    }
}

pub fn single_node(system: &str, verb: &str, folder: &Path) {
    let script = format!("{}/scripts/{system}-single-node", env!("CARGO_MANIFEST_DIR"));
    let done = Command::new(&script).arg(verb).arg(folder).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{script} {verb}: {said}");
}

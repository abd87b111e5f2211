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

    /// The status of a model, from `status`.
    pub fn model(&self, name: &str) -> Value {
        let status: Value =
            serde_json::from_str(&self.harness(&["status", "results", "--format", "json"], 0)).unwrap();
        let models = status["models"].as_array().unwrap();
        models.iter().find(|model| model["model"] == name).unwrap().clone()
    }

    pub fn state(&self, name: &str) -> String {
        self.model(name)["state"].as_str().unwrap().to_owned()
    }

    pub fn recorded(&self, name: &str) -> u64 {
        self.model(name)["recorded"].as_u64().unwrap()
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

    /// Sends a job the signal that it gets before its time limit.
    pub fn signal(&self, job: &str) {
        match self.system {
            "oar" => self.command("oardel", &["--checkpoint", job]),
            _ => self.command("scancel", &["--signal=USR1", "--batch", job]),
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

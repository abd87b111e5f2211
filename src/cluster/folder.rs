//! The files of a campaign on a cluster, all below RESULTS on the cluster's shared file system.

use super::{Batch, ClusterError, ModelDemand};
use mcc_campaign::SlurmSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// `cluster.json`: what `submit` decided, the same for every job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFacts {
    /// Format of this folder: 1.
    pub format: u32,
    /// In the names of our jobs, so that no other campaign's are taken for ours.
    pub id: String,
    /// campaign.toml, absolute.
    pub campaign: PathBuf,
    pub allow_degraded: bool,
    /// Boot deadline and wall limit of a run, seconds.
    pub longest_run_s: u64,
    pub settings: SlurmSettings,
    /// Records of earlier campaigns, for the order of work.
    #[serde(default)]
    pub history: Vec<PathBuf>,
    /// By model.
    pub needs: Vec<ModelDemand>,
}

pub const FORMAT: u32 = 1;

/// Why a batch was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    Submit,
    /// `submit --resume`
    Resume,
    /// By a job whose time was up, for the rest of its model.
    Chain,
    /// By a job that landed on another node than its model's.
    WrongNode,
}

/// `batches/NAME.json`: written before it is handed in, completed with the job's number after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchFacts {
    pub reason: Reason,
    /// RFC 3339; for people.
    pub at: String,
    /// None: handing it in failed, or was interrupted (the batch system knows it by its name then).
    pub job: Option<String>,
    pub node: Option<String>,
    /// The model of each task.
    pub models: Vec<String>,
    /// The model's earlier host is lost: it goes on elsewhere, marked `mixed-host`.
    pub mixed_host: bool,
}

/// `shards/MODEL/host.json`: the nodes a model ran on; more than one: `mixed-host`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelHosts {
    pub nodes: Vec<String>,
}

/// A campaign's folder on the cluster.
pub struct Cluster {
    results: PathBuf,
    facts: ClusterFacts,
}

impl Cluster {
    /// The campaign that was submitted with this `--out`.
    pub fn open(results: &Path) -> Result<Self, ClusterError> {
        let path = results.join("cluster/cluster.json");
        if !path.exists() {
            return Err(ClusterError::NotSubmitted(results.to_owned()));
        }
        let facts: ClusterFacts = read(&path)?;
        if facts.format != FORMAT {
            let problem = format!("format {} (this version reads {FORMAT})", facts.format);
            return Err(ClusterError::Bad { path, problem });
        }
        Ok(Self { results: absolute(results)?, facts })
    }

    /// Begins it: folders, facts, this very program and the script the jobs run.
    pub fn create(results: &Path, facts: ClusterFacts) -> Result<Self, ClusterError> {
        let cluster = Self { results: absolute(results)?, facts };
        for folder in [cluster.logs(), cluster.folder().join("batches"), cluster.results.join("shards")] {
            fs::create_dir_all(&folder).map_err(ClusterError::io("create", &folder))?;
        }
        // A copy: the program may be built anew while the campaign runs, and nodes may not see where it lies.
        let program = std::env::current_exe().map_err(ClusterError::io("find", "mcc-harness"))?;
        let (beside, place) = (cluster.folder().join(".program"), cluster.program());
        fs::copy(&program, &beside).map_err(ClusterError::io("copy", &program))?;
        fs::rename(&beside, &place).map_err(ClusterError::io("rename", &place))?;
        let script = format!(
            "#!/bin/sh\n# What a job runs: one model of the campaign. Its argument is the name of its batch.\n\
             exec {} shard {} --batch \"$1\"\n",
            quoted(&place),
            quoted(&cluster.results)
        );
        mcc_base::text::write(&cluster.script(), &script)
            .map_err(ClusterError::io("write", cluster.script()))?;
        cluster.write(&cluster.folder().join("cluster.json"), &cluster.facts)?;
        Ok(cluster)
    }

    pub fn results(&self) -> &Path {
        &self.results
    }

    pub fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    fn folder(&self) -> PathBuf {
        self.results.join("cluster")
    }

    pub fn program(&self) -> PathBuf {
        self.folder().join("mcc-harness")
    }

    pub fn script(&self) -> PathBuf {
        self.folder().join("job.sh")
    }

    pub fn logs(&self) -> PathBuf {
        self.folder().join("logs")
    }

    /// Where the record of a model's runs lies.
    pub fn shard(&self, model: &str) -> PathBuf {
        self.results.join("shards").join(model)
    }

    /// The record of the n-th lost host of a model, n = 1, 2, ...
    pub fn superseded(&self, model: &str, n: usize) -> PathBuf {
        self.results.join("superseded").join(format!("{model}.{n}"))
    }

    /// Nodes a model ran on so far; none: it has not begun.
    pub fn hosts(&self, model: &str) -> Result<ModelHosts, ClusterError> {
        let path = self.shard(model).join("host.json");
        if path.exists() { read(&path) } else { Ok(ModelHosts::default()) }
    }

    /// Notes that a model runs on `node` from now on.
    pub fn record_node(&self, model: &str, node: &str) -> Result<ModelHosts, ClusterError> {
        let mut hosts = self.hosts(model)?;
        if hosts.nodes.last().is_none_or(|last| last != node) {
            hosts.nodes.push(node.to_owned());
            let shard = self.shard(model);
            fs::create_dir_all(&shard).map_err(ClusterError::io("create", &shard))?;
            self.write(&shard.join("host.json"), &hosts)?;
        }
        Ok(hosts)
    }

    /// The host of a model is lost: its shard is put aside, the model begins anew.
    pub fn supersede(&self, model: &str) -> Result<(), ClusterError> {
        let shard = self.shard(model);
        let free = (1..).map(|n| self.superseded(model, n)).find(|folder| !folder.exists());
        let place = free.expect("numbers do not end");
        let folder = self.results.join("superseded");
        fs::create_dir_all(&folder).map_err(ClusterError::io("create", &folder))?;
        fs::rename(&shard, &place).map_err(ClusterError::io("rename", &shard))
    }

    /// A name for a batch, ours alone in the cluster.
    pub fn new_name(&self) -> String {
        let name = random_name().unwrap_or_else(|_| std::process::id().to_string());
        format!("mcc-{}-{name}", self.facts.id)
    }

    /// The batches handed in so far, by name.
    pub fn batches(&self) -> Result<Vec<(String, BatchFacts)>, ClusterError> {
        let folder = self.folder().join("batches");
        let mut found = vec![];
        for item in fs::read_dir(&folder).map_err(ClusterError::io("list", &folder))? {
            let path = item.map_err(ClusterError::io("list", &folder))?.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            {
                found.push((name.to_owned(), read(&path)?));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    pub fn batch(&self, name: &str) -> Result<BatchFacts, ClusterError> {
        read(&self.batch_path(name))
    }

    fn batch_path(&self, name: &str) -> PathBuf {
        self.folder().join("batches").join(format!("{name}.json"))
    }

    /// Hands a batch in. What is planned is written before, the job's number after: killed in between, the
    /// batch is found again by its name.
    pub fn submit_batch(
        &self,
        batch_system: &dyn super::BatchSystem,
        batch: &Batch,
        reason: Reason,
        mixed_host: bool,
    ) -> Result<String, ClusterError> {
        let mut facts = BatchFacts {
            reason,
            at: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            job: None,
            node: batch.node.clone(),
            models: batch.models.clone(),
            mixed_host,
        };
        let path = self.batch_path(&batch.name);
        self.write(&path, &facts)?;
        let job = batch_system.submit(batch, self)?;
        facts.job = Some(job.clone());
        self.write(&path, &facts)?;
        Ok(job)
    }

    fn write(&self, path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
        let text = serde_json::to_string_pretty(value).expect("plain data");
        mcc_base::text::write(path, &(text + "\n")).map_err(ClusterError::io("write", path))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ClusterError> {
    let text = mcc_base::text::read(path).map_err(ClusterError::io("read", path))?;
    serde_json::from_str(&text)
        .map_err(|error| ClusterError::Bad { path: path.to_owned(), problem: error.to_string() })
}

/// Eight hex digits that nobody else has drawn.
pub fn random_name() -> std::io::Result<String> {
    let mut bytes = [0; 4];
    fs::File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes))?;
    Ok(mcc_base::digest::hex(&bytes))
}

fn absolute(path: &Path) -> Result<PathBuf, ClusterError> {
    std::path::absolute(path).map_err(ClusterError::io("find", path))
}

/// For a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

//! The files of a campaign on a cluster, all below RESULTS on the shared file system.

use super::{Batch, ClusterError, ModelDemand, Task};
use mcc_base::files::{self, LockedFile};
use mcc_base::text::shell_quoted;
use mcc_base::{OnFile, clock, random};
use mcc_campaign::ClusterSettings;
use mcc_store::SealKey;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// `cluster.json`: the settings of all jobs, written by `submit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFacts {
    /// Format of this folder: 2.
    pub format: u32,
    /// Part of the names of the campaign's jobs; distinguishes them from jobs of other campaigns.
    pub id: String,
    /// Absolute path of campaign.toml.
    pub campaign: PathBuf,
    /// Whether degraded runs are allowed.
    pub allow_degraded: bool,
    /// The longest possible duration of an attempt, seconds.
    pub longest_run_s: u64,
    /// `[cluster]` of the campaign.
    pub settings: ClusterSettings,
    /// Records of earlier campaigns, for the order of runs.
    #[serde(default)]
    pub history: Vec<PathBuf>,
    /// Entries and tools that `submit --release` named: their runs start although they seem to fail.
    #[serde(default)]
    pub released: Vec<String>,
    /// The demand of each model.
    pub needs: Vec<ModelDemand>,
}

impl ClusterFacts {
    /// How long before its time limit a job gets the signal, seconds. Early enough for the running runs to end: after it the
    /// controller starts no run and submits the next job.
    pub fn signal_before_s(&self) -> u64 {
        self.longest_run_s + u64::from(self.settings.margin_s.get()) / 2
    }
}

/// The format of the folder that this version reads and writes. 2: the jobs seal what they record (`keys/`).
pub const FORMAT: u32 = 2;

/// The reason why a batch was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// `submit`
    Submit,
    /// `submit --resume`
    Resume,
    /// A job at its time limit submitted it for the open runs of its model.
    Chain,
    /// A job that started on another node than that of its model submitted it.
    WrongNode,
}

/// `batches/NAME.json`: written before the submission, and again with the number of the job after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchFacts {
    /// The reason of the submission.
    pub reason: Reason,
    /// The time of the submission (RFC 3339), for display.
    pub at: String,
    /// The number of the job. None: the submission failed or was interrupted; in that case the batch system may have
    /// a job of this name.
    pub job: Option<String>,
    /// The node to which the models are bound; None: any node.
    pub node: Option<String>,
    /// The model of each task.
    pub models: Vec<String>,
    /// Whether the earlier host of the models is lost and their runs continue on another, marked `mixed-host`.
    pub mixed_host: bool,
}

impl BatchFacts {
    /// Whether a task with the name of this batch is one of its tasks. Names are no secret: another user could submit a job
    /// with the same name, which has another number.
    pub fn has(&self, task: &Task) -> bool {
        self.job.as_ref().is_none_or(|job| *job == task.job)
    }
}

/// `shards/MODEL/host.json`: the nodes on which a tool had an outcome other than an infrastructure failure. If there are
/// several, runs are marked `mixed-host`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelHosts {
    /// Names of the nodes; the last one is that of the next job.
    pub nodes: Vec<String>,
}

/// A campaign's folder on the cluster.
pub struct Cluster {
    results: PathBuf,
    facts: ClusterFacts,
}

impl Cluster {
    /// Opens the folder of a submitted campaign.
    ///
    /// # Errors
    /// No campaign was submitted with this folder, or its facts are not valid.
    pub fn open(results: &Path) -> Result<Self, ClusterError> {
        let not_submitted = || ClusterError::NotSubmitted(results.to_owned());
        Self::open_if_submitted(results)?.ok_or_else(not_submitted)
    }

    /// As `open`; None: no campaign was submitted with `results`.
    ///
    /// # Errors
    /// The files cannot be read.
    pub fn open_if_submitted(results: &Path) -> Result<Option<Self>, ClusterError> {
        let path = results.join("cluster/cluster.json");
        if !path.exists() {
            return Ok(None);
        }
        let facts: ClusterFacts = read(&path)?;
        if facts.format != FORMAT {
            let problem = format!(
                "the file has format {}, but this version reads format {FORMAT}: use the version that submitted the campaign \
                 (cluster/mcc-harness in its folder is a copy)",
                facts.format
            );
            return Err(ClusterError::Bad { path, problem });
        }
        Ok(Some(Self { results: absolute(results)?, facts }))
    }

    /// Creates the folders, the facts, a copy of this program and the script of the jobs.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn create(results: &Path, facts: ClusterFacts) -> Result<Self, ClusterError> {
        let cluster = Self { results: absolute(results)?, facts };
        for folder in [cluster.logs(), cluster.folder().join("batches"), cluster.results.join("shards")] {
            files::create_own_folders(&cluster.results, &folder).on("create", &folder)?;
        }
        let facts = cluster.folder().join("cluster.json");
        cluster.create_keys(facts.is_file())?;
        // A copy: the program may be rebuilt while the campaign runs, and nodes may not have its folder.
        let program = std::env::current_exe().on("find", "mcc-harness")?;
        let (beside, place) = (cluster.folder().join(".program"), cluster.program());
        files::clear_own_place(&cluster.results, &beside).on("remove", &beside)?;
        files::copy_to_new(&program, &beside).on("copy", &program)?;
        fs::rename(&beside, &place).on("rename", &place)?;
        let script = format!(
            "#!/bin/sh\n# A job: the runs of one model. The argument is the name of the batch.\n\
             [ -z \"$OAR_ARRAY_INDEX\" ] || exec >> {}/\"$1.$((OAR_ARRAY_INDEX - 1)).log\" 2>&1\n\
             exec {} shard {} --batch \"$1\"\n",
            shell_quoted(&cluster.logs().to_string_lossy()),
            shell_quoted(&place.to_string_lossy()),
            shell_quoted(&cluster.results.to_string_lossy())
        );
        mcc_base::text::write(&cluster.script(), &script).on("write", cluster.script())?;
        write(&facts, &cluster.facts)?;
        Ok(cluster)
    }

    /// The folder RESULTS.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// The settings of all jobs.
    pub fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    fn folder(&self) -> PathBuf {
        self.results.join("cluster")
    }

    /// The copy of mcc-harness that the jobs run.
    pub fn program(&self) -> PathBuf {
        self.folder().join("mcc-harness")
    }

    /// The script of the jobs.
    pub fn script(&self) -> PathBuf {
        self.folder().join("job.sh")
    }

    /// The folder of the logs of the jobs.
    pub fn logs(&self) -> PathBuf {
        self.folder().join("logs")
    }

    /// The log of the task `index` of a batch.
    pub fn log(&self, batch: &str, index: u32) -> PathBuf {
        self.logs().join(format!("{batch}.{index}.log"))
    }

    /// The folder of the record of a model's runs.
    pub fn shard(&self, model: &str) -> PathBuf {
        self.results.join("shards").join(model)
    }

    /// The folder of the record of the n-th lost host of a model, n = 1, 2, ...
    pub fn superseded(&self, model: &str, n: usize) -> PathBuf {
        self.results.join("superseded").join(format!("{model}.{n}"))
    }

    /// The nodes on which a model ran so far; none before the first outcome of a tool.
    ///
    /// # Errors
    /// The file `host.json` is not valid.
    pub fn hosts(&self, model: &str) -> Result<ModelHosts, ClusterError> {
        let path = self.shard(model).join("host.json");
        if path.exists() { read(&path) } else { Ok(ModelHosts::default()) }
    }

    /// Adds `node` to the nodes of a model, unless it is the last one already.
    ///
    /// # Errors
    /// The file `host.json` is not valid or cannot be written.
    pub fn record_node(&self, model: &str, node: &str) -> Result<(), ClusterError> {
        let mut hosts = self.hosts(model)?;
        if hosts.nodes.last().is_none_or(|last| last != node) {
            hosts.nodes.push(node.to_owned());
            let shard = self.shard(model);
            files::create_own_folders(&self.results, &shard).on("create", &shard)?;
            write(&shard.join("host.json"), &hosts)?;
        }
        Ok(())
    }

    /// Creates the keys that do not exist yet, readable by this user only. Before the first submission none is kept: who made
    /// the folder could know it.
    fn create_keys(&self, is_submitted: bool) -> Result<(), ClusterError> {
        let folder = self.folder().join("keys");
        if !is_submitted {
            files::clear_own_place(&self.results, &folder).on("remove", &folder)?;
        }
        if !folder.exists() {
            fs::DirBuilder::new().mode(0o700).create(&folder).on("create", &folder)?;
        }
        files::create_own_folders(&self.results, &folder).on("create", &folder)?;
        for need in &self.facts.needs {
            let path = self.key_path(&need.model);
            let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
            let mut file = match file {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                file => file.on("create", &path)?,
            };
            let key = random::hex_digits(32)?;
            let written = writeln!(file, "{key}").and_then(|()| file.sync_all());
            written.on("write", &path)?;
        }
        Ok(())
    }

    fn key_path(&self, model: &str) -> PathBuf {
        self.folder().join("keys").join(model)
    }

    /// The key with which the jobs of a model seal what they record.
    ///
    /// # Errors
    /// The file of the key cannot be read, is not one that `create` wrote, or other users can read it.
    pub fn key(&self, model: &str) -> Result<SealKey, ClusterError> {
        let path = self.key_path(model);
        let mode = fs::metadata(&path).on("read", &path)?.mode();
        let text = mcc_base::text::read(&path).on("read", &path)?;
        let bad = |problem: &str| ClusterError::Bad { path: path.clone(), problem: problem.to_owned() };
        if mode & 0o077 != 0 {
            return Err(bad(
                "other users may have read this key, so its shard may be forged: `chmod 600` it, and collect the model only if \
                 you trust these users",
            ));
        }
        match text.trim() {
            key if key.len() == 64 && key.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                Ok(SealKey(key.to_owned()))
            }
            _ => Err(bad(
                "it is not a key of 64 hexadecimal digits; restore it from a copy, without it no job of the model is collected",
            )),
        }
    }

    /// Moves the shard of a model whose host is lost to `superseded`: the model starts again with an empty shard.
    ///
    /// # Errors
    /// The folder cannot be moved.
    pub fn supersede(&self, model: &str) -> Result<(), ClusterError> {
        let shard = self.shard(model);
        let free = (1..).map(|n| self.superseded(model, n)).find(|folder| !folder.exists());
        let place = free.expect("some number is free");
        let folder = self.results.join("superseded");
        files::create_own_folders(&self.results, &folder).on("create", &folder)?;
        Ok(fs::rename(&shard, &place).on("rename", &shard)?)
    }

    /// Returns a name for a batch that is unique in the cluster.
    pub fn new_name(&self) -> String {
        let name = random::hex_digits(4).unwrap_or_else(|_| std::process::id().to_string());
        format!("mcc-{}-{name}", self.facts.id)
    }

    /// The submitted batches, sorted by name.
    ///
    /// # Errors
    /// A file in `batches` is not valid.
    pub fn batches(&self) -> Result<Vec<(String, BatchFacts)>, ClusterError> {
        let folder = self.folder().join("batches");
        let mut found = vec![];
        for item in fs::read_dir(&folder).on("list", &folder)? {
            let path = item.on("list", &folder)?.path();
            if path.extension().is_some_and(|extension| extension == "json")
                && let Some(name) = path.file_stem().and_then(|stem| stem.to_str())
            {
                found.push((name.to_owned(), read(&path)?));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// The batch of this name.
    ///
    /// # Errors
    /// There is no such batch, or its file is not valid.
    pub fn batch(&self, name: &str) -> Result<BatchFacts, ClusterError> {
        read(&self.batch_path(name))
    }

    fn batch_path(&self, name: &str) -> PathBuf {
        self.folder().join("batches").join(format!("{name}.json"))
    }

    /// Submits a batch and returns the number of its job. The batch is written before the submission and the number
    /// after it: after an interruption, the job is found by the name of the batch.
    ///
    /// # Errors
    /// A file cannot be written, or the batch system refuses the batch.
    pub fn submit_batch(
        &self,
        batch_system: &dyn super::BatchSystem,
        batch: &Batch,
        reason: Reason,
        mixed_host: bool,
    ) -> Result<String, ClusterError> {
        let mut facts = BatchFacts {
            reason,
            at: clock::now_text(),
            job: None,
            node: batch.node.clone(),
            models: batch.models.clone(),
            mixed_host,
        };
        let path = self.batch_path(&batch.name);
        write(&path, &facts)?;
        let _turn = self.wait_for_turn()?;
        let job = batch_system.submit(batch, self)?;
        facts.job = Some(job.clone());
        write(&path, &facts)?;
        Ok(job)
    }
}

impl Cluster {
    /// Waits until `submissions_per_minute` of `[cluster]` permits a submission. Until the returned file is dropped, no
    /// other process submits for this campaign.
    fn wait_for_turn(&self) -> Result<Option<LockedFile>, ClusterError> {
        let Some(most) = self.facts.settings.submissions_per_minute else { return Ok(None) };
        let path = self.folder().join("last-submission");
        let lock = files::wait_for_lock(&path).on("lock", &path)?;
        let mut file = &lock.file;
        let empty = file.metadata().on("read", &path)?.len() == 0;
        let last = file.metadata().and_then(|metadata| metadata.modified()).on("read", &path)?;
        let distance = Duration::from_secs(60) / most.get();
        // A time in the future is that of another host, whose clock differs.
        let since = SystemTime::now().duration_since(last).unwrap_or_default();
        if !empty {
            std::thread::sleep(distance.saturating_sub(since));
        }
        file.write_all(b".").on("write", &path)?;
        Ok(Some(lock))
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), ClusterError> {
    let text = serde_json::to_string_pretty(value).expect("plain data");
    Ok(mcc_base::text::write(path, &(text + "\n")).on("write", path)?)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ClusterError> {
    let text = mcc_base::text::read(path).on("read", path)?;
    serde_json::from_str(&text).map_err(|error| {
        let problem = format!("{error}; restore this file from a copy");
        ClusterError::Bad { path: path.to_owned(), problem }
    })
}

fn absolute(path: &Path) -> Result<PathBuf, ClusterError> {
    Ok(std::path::absolute(path).on("find", path)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Resources;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_job_of_another_user_with_the_name_of_a_batch_is_not_its_job() {
        let batch = |job: Option<&str>| BatchFacts {
            reason: Reason::Submit,
            at: String::new(),
            job: job.map(str::to_owned),
            node: None,
            models: vec!["Model".to_owned()],
            mixed_host: false,
        };
        let task = Task { job: "7".to_owned(), index: 0 };
        assert!(batch(Some("7")).has(&task));
        assert!(!batch(Some("8")).has(&task));
        assert!(batch(None).has(&task), "an interrupted submission may have a job");
    }

    fn facts(model: &str) -> ClusterFacts {
        let resources = Resources { cores: 1, memory_mib: 1 };
        let need =
            ModelDemand { model: model.to_owned(), resources, planned: 1, worst_case_s: 1, expected_s: 0 };
        ClusterFacts {
            format: FORMAT,
            id: "id".to_owned(),
            campaign: PathBuf::new(),
            allow_degraded: false,
            longest_run_s: 1,
            settings: ClusterSettings::default(),
            history: Vec::new(),
            released: Vec::new(),
            needs: vec![need],
        }
    }

    #[test]
    fn no_link_in_a_folder_that_others_made_is_followed() {
        for link in [".program", "last-submission", "keys", "batches", "logs", "../shards", "../cluster"] {
            let folder = tempfile::tempdir().unwrap();
            let (results, other) = (folder.path().join("results"), folder.path().join("other"));
            fs::create_dir_all(results.join("cluster")).unwrap();
            let is_file = [".program", "last-submission"].contains(&link);
            if is_file {
                fs::write(&other, "kept").unwrap();
            } else {
                fs::create_dir(&other).unwrap();
            }
            let place = match link.strip_prefix("../") {
                None => results.join("cluster").join(link),
                Some(beside) => results.join(beside),
            };
            if place == results.join("cluster") {
                fs::remove_dir(&place).unwrap();
            }
            symlink(&other, &place).unwrap();
            let created = Cluster::create(&results, facts("M"));
            if is_file {
                let mut cluster = created.unwrap();
                assert_eq!(fs::read_to_string(&other).unwrap(), "kept", "{link}");
                cluster.facts.settings.submissions_per_minute = Some(std::num::NonZero::<u32>::MAX);
                assert_eq!(cluster.wait_for_turn().is_err(), link == "last-submission");
                assert_eq!(fs::read_to_string(&other).unwrap(), "kept", "{link}");
            } else {
                // The folder of keys is made again.
                assert_eq!(created.is_ok(), link == "keys");
                assert_eq!(fs::read_dir(&other).unwrap().count(), 0, "{link}");
            }
        }
    }

    #[test]
    fn a_broken_file_is_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let cluster = Cluster::create(folder.path(), facts("M")).unwrap();
        fs::create_dir_all(cluster.shard("M")).unwrap();
        fs::write(cluster.shard("M").join("host.json"), "{").unwrap();
        let error = cluster.hosts("M").unwrap_err().to_string();
        assert!(
            error.contains("M/host.json: ") && error.ends_with("restore this file from a copy"),
            "{error}"
        );
    }

    #[test]
    fn a_key_is_kept_only_after_a_submission() {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("cluster/keys");
        fs::create_dir_all(&keys).unwrap();
        let known = "0".repeat(64);
        fs::write(keys.join("M"), &known).unwrap();
        fs::set_permissions(keys.join("M"), fs::Permissions::from_mode(0o600)).unwrap();
        let create = || Cluster::create(folder.path(), facts("M")).unwrap().key("M").unwrap().0;
        let first = create();
        assert_ne!(first, known);
        assert_eq!(create(), first);
        assert_eq!(fs::metadata(keys).unwrap().mode() & 0o777, 0o700);
    }
}

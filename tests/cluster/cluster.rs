//! `submit`, `status`, `cancel`, `collect`: a campaign on a real Slurm and a real OAR, and failures of the cluster.

use crate::ended_jobs::SMALL;
use crate::support::campaign;
use crate::support::recorded_runs;
use crate::trial::{Trial, single_node};

use campaign::{EXAMINATIONS, Folder, until};
use mcc_harness::cluster::Cluster;
use mcc_harness::store::{Record, SealKey};
use recorded_runs::{FINISHED, make};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

fn campaign() -> String {
    SMALL.campaign("options = [\"--exclusive\"]")
}

#[test]
fn a_stopped_trial_cluster_ends_no_process_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    // A daemon had the same process id, and was started at another time.
    fs::write(folder.path().join("munged.process"), format!("{} 1\n", other.id())).unwrap();
    single_node("slurm", "down", folder.path());
    assert_eq!(other.try_wait().unwrap(), None, "it still runs");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_job_cancelled_three_times_uses_up_no_attempt() {
    cancelled_three_times("slurm", "CANCELLED");
}

#[test]
#[ignore = "long: scripts/test --all"]
fn a_job_of_oar_cancelled_three_times_uses_up_no_attempt() {
    cancelled_three_times("oar", "Error (FRAG_JOB_REQUEST)");
}

fn cancelled_three_times(system: &'static str, state: &str) {
    let keys = format!("[cluster]\nsystem = \"{system}\"\nstage = \"{{stage}}\"\n[hosts]\nretries = 2\n");
    let folder = Folder::with_fake_qemu(1, &["ReachabilityDeadlock"], &keys);
    let cluster = Trial::start(&folder, system);
    let begun = folder.path().join("begun");
    let running =
        format!("power_on; ready; prepared; started; : > '{}'; while :; do linger 1; done", begun.display());
    folder.fake_qemu(&running);
    let submit = ["submit", "campaign.toml", "--out", "results", "--allow-degraded"];
    let resume = [&submit[..], &["--resume"]].concat();
    cluster.harness(&submit, 0);
    for _ in 0..3 {
        until("the tool runs", || begun.exists());
        cluster.harness(&["cancel", "results"], 0);
        until("the job has ended", || cluster.state("DiningTable") == "open");
        assert_eq!(cluster.model("DiningTable")["ended"]["state"], *state);
        fs::remove_file(&begun).unwrap();
        cluster.harness(&resume, 0);
    }
    until("the tool runs", || begun.exists());
    folder.fake_qemu("whole_run x");
    cluster.harness(&["cancel", "results"], 0);
    until("the job has ended", || cluster.state("DiningTable") == "open");
    cluster.harness(&resume, 0);
    until("done", || cluster.state("DiningTable") == "done");
    cluster.harness(&["collect", "results"], 0);
    let runs = folder.runs();
    assert!(runs.len() == 1 && runs.values().all(|run| run.attempts == 1), "{runs:?}");
}

#[test]
fn a_model_longer_than_the_time_limit_is_a_chain_of_jobs() {
    chain_of_jobs("slurm", "margin_s = 10");
}

#[test]
#[ignore = "long: scripts/test --all"]
fn a_model_longer_than_the_time_limit_is_a_chain_of_jobs_of_oar() {
    // OAR sends the signal up to 11 s late.
    chain_of_jobs("oar", "margin_s = 40\ntime_limit_s = 180");
}

fn chain_of_jobs(system: &'static str, keys: &str) {
    let examinations = &EXAMINATIONS[..8];
    let more = format!(
        "[cluster]\nsystem = \"{system}\"\nstage = \"{{stage}}\"\n{keys}\n[hosts]\nboot_deadline_s = 15\n\
         prepare_deadline_s = 10\ncollect_deadline_s = 10\n[limits]\nwall_s = 35\n"
    );
    let folder = Folder::with_fake_qemu(1, examinations, &more);
    // Eight runs of 20 s do not fit into a job of three minutes, which starts no run in its last 85 s.
    folder.fake_qemu("power_on; ready; prepared; started; linger 20; ended; drained; answer_until quit");
    let cluster = Trial::start(&folder, system);
    if system == "slurm" {
        cluster.command("scontrol", &["update", "PartitionName=here", "MaxTime=3"]);
    }
    cluster.harness(&["submit", "campaign.toml", "--out", "results", "--allow-degraded"], 0);
    until("done", || cluster.state("DiningTable") == "done");
    let batches = fs::read_dir(folder.results().join("cluster/batches")).unwrap();
    let batches: Vec<Value> = batches
        .map(|batch| serde_json::from_str(&fs::read_to_string(batch.unwrap().path()).unwrap()).unwrap())
        .collect();
    let count = |reason: &str| batches.iter().filter(|batch| batch["reason"] == reason).count();
    assert!(
        count("chain") > 0 && count("submit") == 1 && count("chain") + 1 == batches.len(),
        "{batches:#?}"
    );
    cluster.harness(&["collect", "results"], 0);
    let runs = folder.runs();
    assert_eq!(runs.len(), examinations.len());
    for run in runs.values() {
        assert_eq!((run.attempts, run.last.outcome.word()), (1, "finished"), "{run:?}");
    }
}

/// Puts shell scripts with the names of Slurm's commands on PATH.
fn fakes(folder: &Folder, scripts: &[(&str, &str)]) {
    for (name, script) in scripts {
        let path = folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
}

/// Runs mcc-harness and returns what it printed.
fn harness(folder: &Folder, args: &[&str], exit: i32) -> String {
    let done = assert_cmd::Command::from(folder.harness(args)).assert().code(exit);
    let output = done.get_output();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn submit(folder: &Folder, exit: i32) -> String {
    harness(folder, &["submit", "campaign.toml", "--out", "results", "--allow-degraded"], exit)
}

/// The names of the submitted batches with their content, in the order of submission by the fake `sbatch`.
fn batches(folder: &Folder) -> Vec<(String, Value)> {
    let files = fs::read_dir(folder.results().join("cluster/batches")).unwrap();
    let read = |file: fs::DirEntry| {
        let name = file.path().file_stem().unwrap().to_str().unwrap().to_owned();
        (name, serde_json::from_str(&fs::read_to_string(file.path()).unwrap()).unwrap())
    };
    let mut batches: Vec<(String, Value)> = files.map(|file| read(file.unwrap())).collect();
    batches.sort_by_key(|(_, batch)| batch["job"].as_str().unwrap().parse::<u64>().unwrap());
    batches
}

/// Runs the first job of a batch on a node, and appends what it prints to its log, as Slurm does.
fn job(folder: &Folder, batch: &str, node: &str, exit: i32) {
    let mut command = folder.harness(&["shard", "results", "--batch", batch]);
    command.env("SLURM_ARRAY_TASK_ID", "0").env("SLURMD_NODENAME", node);
    let done = assert_cmd::Command::from(command).assert().code(exit);
    let log = folder.results().join(format!("cluster/logs/{batch}.0.log"));
    let mut log = fs::File::options().create(true).append(true).open(log).unwrap();
    log.write_all(&[done.get_output().stdout.as_slice(), &done.get_output().stderr].concat()).unwrap();
}

/// The status of the only model.
fn only_model(folder: &Folder) -> Value {
    let args = ["status", "results", "--format", "json"];
    let done = assert_cmd::Command::from(folder.harness(&args)).assert().code(0);
    let mut status: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    status["models"][0].take()
}

const UNLIMITED: (&str, &str) = ("sinfo", "echo 'here*|infinite'");
const ARRAYS: (&str, &str) = ("scontrol", "echo 'MaxArraySize = 1001'");
const EMPTY: (&str, &str) = ("squeue", "");
const NO_ACCOUNTS: (&str, &str) = ("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
/// Gives jobs the numbers 1, 2, ... and keeps the arguments.
const NUMBERED: (&str, &str) =
    ("sbatch", "echo \"$@\" >> \"$(dirname \"$0\")/asked\"; wc -l < \"$(dirname \"$0\")/asked\"");
/// Job 1 has failed.
const FAILED: (&str, &str) = (
    "scontrol",
    "case $* in *'show job'*) echo 'JobId=2 ArrayJobId=1 ArrayTaskId=0 JobState=FAILED Reason=NonZeroExitCode \
     ExitCode=69:0';; *) echo 'MaxArraySize = 1001';; esac",
);

/// A campaign of one run in a fake machine, submitted to a fake Slurm.
fn one_run() -> Folder {
    let folder = Folder::with_fake_qemu(1, &["ReachabilityDeadlock"], "[slurm]\nstage = \"{stage}\"\n");
    fakes(&folder, &[UNLIMITED, FAILED, EMPTY, NO_ACCOUNTS, NUMBERED]);
    folder
}

#[test]
fn a_node_that_refuses_a_job_does_not_keep_the_model() {
    let folder = one_run();
    // The fake QEMU has no KVM.
    harness(&folder, &["submit", "campaign.toml", "--out", "results"], 0);
    job(&folder, &batches(&folder)[0].0, "n1", 69);
    let model = only_model(&folder);
    assert_eq!((&model["nodes"], &model["state"]), (&json!([]), &json!("open")), "{model}");

    // The options of the last submission count.
    let resume = ["submit", "campaign.toml", "--out", "results", "--resume", "--allow-degraded"];
    harness(&folder, &resume, 0);
    let (name, batch) = &batches(&folder)[1];
    assert_eq!((&batch["node"], &batch["reason"]), (&Value::Null, &json!("resume")));
    assert!(!fs::read_to_string(folder.path().join("bin/asked")).unwrap().contains("--nodelist"));
    job(&folder, name, "n2", 0);
    let model = only_model(&folder);
    assert_eq!((&model["nodes"], &model["state"]), (&json!(["n2"]), &json!("done")), "{model}");
    assert_eq!(model["outcomes"], json!({"finished": 1}));
}

#[test]
fn a_node_where_only_the_host_failed_does_not_keep_the_model() {
    let folder = one_run();
    submit(&folder, 0);
    folder.fake_qemu("exit 1");
    job(&folder, &batches(&folder)[0].0, "n1", 1);
    let model = only_model(&folder);
    assert_eq!((&model["nodes"], &model["outcomes"]), (&json!([]), &json!({"infrastructure": 1})), "{model}");
}

#[test]
fn a_complete_model_gets_no_further_job() {
    let folder = one_run();
    submit(&folder, 0);
    let name = &batches(&folder)[0].0;
    job(&folder, name, "n1", 0);
    // Slurm starts the job again on another node, because it was preempted at its end.
    job(&folder, name, "n2", 0);
    let log = fs::read_to_string(folder.results().join(format!("cluster/logs/{name}.0.log"))).unwrap();
    assert!(log.ends_with("DiningTable: all 1 runs are recorded already\n"), "{log}");
    // Its node is lost while such a job waits: the recorded runs are not repeated.
    let waiting = format!("echo '{name}|1|0|PENDING||Resources'");
    fakes(&folder, &[("squeue", &waiting)]);
    assert_eq!(only_model(&folder)["state"], "done");
    let said = harness(&folder, &["submit", "campaign.toml", "--out", "results", "--resume"], 0);
    assert!(said.contains("nothing to submit: every model is recorded or has a job"), "{said}");
    assert_eq!(batches(&folder).len(), 1);
    assert!(folder.results().join("shards/DiningTable/record.db").exists());
}

#[test]
fn status_shows_why_a_job_ended() {
    let folder = one_run();
    harness(&folder, &["submit", "campaign.toml", "--out", "results"], 0);
    job(&folder, &batches(&folder)[0].0, "n1", 69);
    let said = harness(&folder, &["status", "results"], 0);
    let ended = "  job 1_0 ended: FAILED, exit code 69; the last line of its log: ";
    let line = said.lines().find_map(|line| line.strip_prefix(ended)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains("KVM is not usable on this host"), "{line}");
    let ended = &only_model(&folder)["ended"];
    assert_eq!(ended["task"], json!({"job": "1", "index": 0}));
    assert_eq!((&ended["state"], &ended["exit_code"]), (&json!("FAILED"), &json!(69)));
    // With accounts, and when Slurm does not know the job any more.
    fakes(&folder, &[("sacct", "echo '1_0|CANCELLED by 0|0:15'")]);
    let said = harness(&folder, &["status", "results"], 0);
    assert!(said.contains("job 1_0 ended: CANCELLED, signal 15; the last line of its log: "), "{said}");
    fakes(&folder, &[("sacct", "")]);
    let said = harness(&folder, &["status", "results"], 0);
    assert!(said.contains("job 1_0 ended; the last line of its log: "), "{said}");
}

#[test]
fn a_dry_run_of_a_resumption_changes_nothing() {
    let folder = one_run();
    submit(&folder, 0);
    let before = batches(&folder);
    let dry = ["submit", "campaign.toml", "--out", "results", "--resume", "--dry-run"];
    let said = harness(&folder, &dry, 0);
    assert!(said.starts_with("job 1: DiningTable, with "), "{said}");
    assert_eq!(batches(&folder), before);
    let facts = fs::read_to_string(folder.results().join("cluster/cluster.json")).unwrap();
    assert!(facts.contains("\"allow_degraded\": true"), "{facts}");
    let said =
        harness(&folder, &dry.map(|word| if word == "--resume" { "--allow-degraded" } else { word }), 2);
    assert!(said.contains("was already submitted"), "{said}");
}

#[test]
fn a_refused_submission_leaves_nothing() {
    let folder = one_run();
    fs::create_dir(folder.results()).unwrap();
    fs::write(folder.results().join("measured-host.json"), "{}").unwrap();
    let left = || {
        let files = fs::read_dir(folder.results()).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    fakes(&folder, &[("sinfo", "echo 'here*|1:00:00'")]);
    submit(&folder, 2);
    assert_eq!(left(), ["measured-host.json"]);
    // With smaller limits the same folder can be used.
    let path = folder.path().join("campaign.toml");
    let campaign = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{campaign}[limits]\nwall_s = 600\n")).unwrap();
    fakes(&folder, &[("sbatch", "echo 'Invalid account' >&2; exit 1")]);
    let said = submit(&folder, 1);
    assert!(said.contains("Invalid account"), "{said}");
    assert_eq!(left(), ["measured-host.json"]);
    // A job that may have been submitted is kept.
    fakes(&folder, &[("squeue", "exit 1")]);
    submit(&folder, 1);
    assert!(folder.results().join("record.db").exists());
    let said = submit(&folder, 2);
    assert!(said.contains("use --resume to submit its open models"), "{said}");
}

#[test]
fn a_partition_that_ends_jobs_before_a_run_can_end_is_refused() {
    let folder = Folder::new(&campaign());
    fakes(&folder, &[("sinfo", "echo 'here*|1:00:00'"), ARRAYS, EMPTY, ("sbatch", "exit 1")]);
    let printed = submit(&folder, 2);
    assert!(
        printed.contains("ends jobs after 3600 s")
            && printed.contains("a job needs 600 s in addition")
            && printed.contains("choose another partition"),
        "{printed}"
    );
}

#[test]
fn what_slurm_refuses_is_reported_and_submitted_again() {
    let folder = Folder::new(&campaign());
    let refused = "echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1";
    fakes(&folder, &[UNLIMITED, ARRAYS, EMPTY, ("sbatch", refused)]);
    let printed = submit(&folder, 1);
    assert!(printed.contains("Invalid account"), "{printed}");
    assert!(!folder.results().exists());
    fakes(&folder, &[("sbatch", "echo \"$@\" >> \"$(dirname \"$0\")/asked\"; echo 77")]);
    let printed = submit(&folder, 0);
    assert!(
        printed.contains(
            "job array 77: 2 jobs, one for each model (DiningTable, ...), each with 2 cores, 18944 MiB"
        ),
        "{printed}"
    );
    let arguments = fs::read_to_string(folder.path().join("bin/asked")).unwrap();
    for part in ["--array=0-1", "--cpus-per-task=2", "--mem=18944M", "--exclusive", "--signal=B:USR1@"] {
        assert!(arguments.contains(part), "{part} in {arguments}");
    }
}

/// A campaign of one run, submitted to a fake OAR.
fn one_run_on_oar(keys: &str) -> Folder {
    let keys = format!("[cluster]\nsystem = \"oar\"\nstage = \"{{stage}}\"\n{keys}\n");
    let folder = Folder::with_fake_qemu(1, &["ReachabilityDeadlock"], &keys);
    let asked = "echo \"$@\" >> \"$(dirname \"$0\")/asked\"; echo '[ADMISSION RULE] text'; echo OAR_JOB_ID=7; \
                 echo OAR_ARRAY_ID=7";
    fakes(&folder, &[("oarsub", asked), ("oarstat", ""), ("oarnodes", "")]);
    folder
}

/// The arguments of each call of the fake `oarsub`.
fn asked(folder: &Folder) -> Vec<String> {
    let asked = fs::read_to_string(folder.path().join("bin/asked")).unwrap();
    asked.lines().map(str::to_owned).collect()
}

#[test]
fn oar_is_asked_for_a_node_and_the_signal_of_slurm() {
    let folder = one_run_on_oar("partition = \"night\"\nconstraint = \"kvm = 'YES'\"\ntime_limit_s = 90000");
    let printed = submit(&folder, 0);
    assert!(printed.contains("job 7: DiningTable"), "{printed}");
    let asked = &asked(&folder)[0];
    for part in [
        "--array=1 --resource=/nodes=1,walltime=",
        " --signal=10 ",
        "--queue=night",
        "--property=(kvm = 'YES')",
        " /bin/sh '",
        "/results/cluster/job.sh' mcc-",
    ] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
    // By memory: 18,944 MB. A folder holds all cores of the tests until it is dropped.
    drop(folder);
    let folder = one_run_on_oar("memory_per_core_mib = 4096");
    submit(&folder, 0);
    assert!(self::asked(&folder)[0].contains("--resource=/nodes=1/core=5,walltime="));
}

#[test]
fn submissions_keep_their_distance() {
    let folder = one_run_on_oar("submissions_per_minute = 30");
    let begin = Instant::now();
    submit(&folder, 0);
    for _ in 0..2 {
        harness(&folder, &["submit", "campaign.toml", "--out", "results", "--resume"], 0);
    }
    assert_eq!(asked(&folder).len(), 3);
    assert!(begin.elapsed() >= Duration::from_secs(4), "two distances of 2 s: {:?}", begin.elapsed());
}

#[test]
fn a_job_of_oar_logs_what_it_was_not_given() {
    let folder = one_run_on_oar("");
    submit(&folder, 0);
    let name = batches(&folder)[0].0.clone();
    let write = |file: &str, text: &str| {
        fs::write(folder.path().join(file), text).unwrap();
        folder.path().join(file)
    };
    let job = |nodes: &str, exit: i32| {
        let mut job = folder.command("/bin/sh");
        job.arg(folder.results().join("cluster/job.sh"))
            .arg(&name)
            .env("OAR_ARRAY_INDEX", "1")
            .env("OAR_JOB_WALLTIME_SECONDS", "3600");
        job.env("OAR_NODEFILE", write("nodes", nodes));
        job.env(
            "OAR_RESOURCE_PROPERTIES_FILE",
            write("resources", " core = '1' , network_address = 'n1' \n"),
        );
        assert_cmd::Command::from(job).assert().code(exit);
        fs::read_to_string(folder.results().join(format!("cluster/logs/{name}.0.log"))).unwrap()
    };
    let log = job("n1\nn2\n", 2);
    assert!(log.contains("the job has not one node"), "{log}");
    let log = job("n1\nn1\n", 0);
    assert!(log.ends_with("DiningTable on n1: 1 of 1 runs recorded\n"), "{log}");
}

#[test]
fn collect_works_after_run_on_the_same_results() {
    let folder = Folder::new(&campaign());
    fakes(&folder, &[UNLIMITED, ARRAYS, EMPTY, ("sbatch", "echo 77")]);
    submit(&folder, 0);
    let facts = Record::open_readonly(&folder.results()).unwrap().facts().clone();
    // As `run` opens it, which leaves the file in WAL mode.
    drop(Record::create_or_open(&folder.results(), &facts).unwrap());
    let done = assert_cmd::Command::from(folder.harness(&["collect", "results"])).assert().code(1);
    let printed = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(printed.contains("0 of 16 runs are recorded"), "{printed}");
}

#[test]
fn collect_takes_only_what_jobs_of_the_campaign_recorded() {
    let folder = Folder::new(&campaign());
    fakes(&folder, &[UNLIMITED, ARRAYS, EMPTY, ("sbatch", "echo 77")]);
    submit(&folder, 0);
    let cluster = Cluster::open(&folder.results()).unwrap();
    let keys = folder.results().join("cluster/keys");
    for (path, mode) in [(keys.clone(), 0o700), (keys.join("DiningTable"), 0o600)] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }
    let key = |model: &str| cluster.key(model).unwrap();
    assert_ne!(key("DiningTable").0, key("TokenLoop").0);
    let whole = Record::open_readonly(&folder.results()).unwrap();
    let recorded = |dir: &std::path::Path, model: &str, key: SealKey| {
        let shard = Record::create_or_open_shared(dir, &whole.facts().shard(model)).unwrap().sealed_with(key);
        let runs = whole.runs_of(model).unwrap();
        shard.plan_runs(&runs).unwrap();
        make(&shard, &runs[0].id(), FINISHED, "an answer");
        runs[0].id()
    };
    let forged = recorded(&cluster.shard("DiningTable"), "DiningTable", key("TokenLoop"));
    recorded(&cluster.shard("TokenLoop"), "TokenLoop", key("TokenLoop"));
    let copy = folder.path().join("copy");
    recorded(&copy, "DiningTable", SealKey("0".repeat(64)));
    let collect = |more: &[&str], exit: i32| {
        let collect = folder.harness(&[&["collect", "results"], more].concat());
        let done = assert_cmd::Command::from(collect).assert().code(exit);
        let output = done.get_output();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let refused = format!("attempt 1 at {forged} in the record ");
    let printed = collect(&[], 2);
    assert!(
        printed.contains(&refused) && printed.contains("has no seal of the key of its model"),
        "{printed}"
    );
    // What the other job recorded was collected.
    fs::remove_dir_all(cluster.shard("DiningTable")).unwrap();
    let printed = collect(&[], 1);
    assert!(
        printed.contains("new attempts: 0;") && printed.contains("1 of 16 runs are recorded"),
        "{printed}"
    );
    assert!(collect(&["--from", "copy"], 2).contains(&refused));
    fs::remove_dir_all(&copy).unwrap();
    recorded(&copy, "DiningTable", key("DiningTable"));
    assert!(collect(&["--from", "copy"], 1).contains("2 of 16 runs are recorded"));
    // A file beside shards is none, but what may be a shard must be readable.
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    fs::write(copies.join("notes"), "").unwrap();
    fs::rename(&copy, copies.join("shard")).unwrap();
    assert!(collect(&["--from", "copies"], 1).contains("2 of 16 runs are recorded"));
    for unreadable in ["copies/link", "results/superseded/TokenLoop.1", "results/shards/DiningTable"] {
        let path = folder.path().join(unreadable);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(path.file_name().unwrap(), &path).unwrap();
        let printed = collect(&["--from", "copies"], 2);
        assert!(printed.contains(unreadable) && printed.contains("Too many levels"), "{printed}");
        fs::remove_file(path).unwrap();
    }
    fs::set_permissions(keys.join("TokenLoop"), PermissionsExt::from_mode(0o644)).unwrap();
    let readable =
        "keys/TokenLoop: other users may have read this key, so its shard may be forged: `chmod 600` it";
    assert!(collect(&[], 2).contains(readable));
}

#[test]
fn status_and_judge_work_on_a_host_without_batch_system() {
    let folder = Folder::new(&campaign());
    fakes(&folder, &[UNLIMITED, ARRAYS, EMPTY, ("sbatch", "echo 77")]);
    submit(&folder, 0);
    // The job of a model was killed during its first run.
    let whole = Record::open_readonly(&folder.results()).unwrap();
    let shard = folder.results().join("shards/DiningTable");
    let record = Record::create_or_open_shared(&shard, &whole.facts().shard("DiningTable")).unwrap();
    let runs = whole.runs_of("DiningTable").unwrap();
    record.plan_runs(&runs).unwrap();
    std::mem::forget(record.begin_attempt(&runs[0].id()).unwrap());
    drop(record);
    let harness = |args: &[&str], exit: i32| {
        let mut command = assert_cmd::Command::from(folder.harness(args));
        let done = command.env("PATH", folder.path().join("bin")).assert().code(exit);
        let output = done.get_output();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let printed = harness(&["status", "results"], 0);
    let interrupted = format!("started, without a running job (1):\n  {}\n", runs[0].id());
    assert!(printed.contains(&interrupted) && !printed.contains("\nrunning ("), "{printed}");
    let json: Value = serde_json::from_str(&harness(&["status", "results", "--format", "json"], 0)).unwrap();
    assert_eq!(json["interrupted"][0]["run"], runs[0].id().as_str());
    fs::remove_file(folder.path().join("bin/squeue")).unwrap();
    let printed = harness(&["status", "results"], 0);
    assert!(printed.contains("open; its job is unknown: no batch system here"), "{printed}");
    let printed = harness(&["judge", "results", "--out", "judged"], 1);
    assert!(printed.contains("0 of 16 runs are collected: `mcc-harness collect results`"), "{printed}");
}

#[test]
fn without_a_submission_or_slurm_the_remedy_is_named() {
    let folder = Folder::new(&campaign());
    for verb in ["cancel", "collect"] {
        let done = assert_cmd::Command::from(folder.harness(&[verb, "results"])).assert().code(2);
        let printed = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(printed.contains("give the folder of `mcc-harness submit CAMPAIGN.toml --out`"), "{printed}");
    }
    let args = ["submit", "campaign.toml", "--out", "results"];
    let mut command = assert_cmd::Command::from(folder.harness(&args));
    let done = command.env("PATH", folder.path().join("bin")).assert().code(69);
    let printed = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(printed.contains("sinfo is not on PATH") && printed.contains("slurm-client"), "{printed}");
}

#[test]
fn a_dry_run_prints_the_jobs_without_slurm_and_writes_nothing() {
    let folder = Folder::new(&campaign());
    let mut command = assert_cmd::Command::from(folder.harness(&[
        "submit",
        "campaign.toml",
        "--out",
        "results",
        "--dry-run",
    ]));
    let done = command.env("PATH", folder.path().join("bin")).assert().code(0);
    let printed = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(printed.starts_with("job array 1: ") && printed.contains("for each model"), "{printed}");
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_host_outside_of_a_cluster_is_named() {
    let folder = Folder::new(&campaign());
    fakes(&folder, &[("sinfo", "echo 'Could not establish a configuration source' >&2; exit 1"), ARRAYS]);
    let printed = submit(&folder, 69);
    assert!(printed.contains("configuration source") && printed.contains("`submit --dry-run`"), "{printed}");
}

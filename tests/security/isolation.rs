//! Cores and leases, measurements that a guest cannot forge, and the isolation of QEMU from the host.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;
use crate::support::script;

use campaign::{Folder, stderr, until};
use mcc_harness::campaign::Disturbance;
use mcc_harness::edition::{CpuReading, Limits};
use mcc_harness::executor::disturbance::{reasons, repeat_reasons};
use mcc_harness::executor::{AttemptResult, State};
use mcc_harness::host::{Survey, find_program};
use mcc_harness::store::{MemorySource, Outcome, Record};
use mcc_harness::vm::{Machine, MachineSpec};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Far longer than any step of these tests: only a machine that hangs reaches it.
const TIMEOUT: Duration = Duration::from_secs(600);

fn spec(memory_mib: u64) -> MachineSpec {
    script::machine(&images::image("images/reference"), memory_mib, 1)
}

/// Runs a script as the guest's root. A tool on an original disk may be root; on other disks it is not.
fn as_root(script: &str, limits: &Limits) -> AttemptResult {
    let folder = tempfile::tempdir().unwrap();
    let job = script::job("root", "/", script);
    script::attempt(&spec(512), job, limits, folder.path(), &mut |_| {})
}

/// The CPU of a core that others use as little as possible: the last one that this process may use.
fn last_cpu() -> u32 {
    *Survey::take().unwrap().cores.allowed.last().unwrap()
}

#[test]
fn a_run_beside_a_busy_process_on_its_core_shows_it_and_is_marked_by_the_speed_of_its_core_alone() {
    let cpu = last_cpu();
    let machine = MachineSpec { vcpu_cpus: vec![cpu], ..spec(512) };
    let folder = tempfile::tempdir().unwrap();
    let thresholds = Disturbance::default();
    let job = script::job("mcc", "/home/mcc", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done");
    // Its priority is high if this test runs as root. It starts with the tool, so that the guest boots quickly.
    let mut neighbour = None;
    let ended = script::attempt(&machine, job, &LIMITS, folder.path(), &mut |state| {
        if state == State::Examining {
            let mut busy = Command::new("taskset");
            busy.args(["-c", &cpu.to_string(), "nice", "-n", "-10", "sh", "-c", "while :; do :; done"]);
            neighbour = Some(busy.stderr(Stdio::null()).spawn().unwrap());
        }
    });
    if let Some(mut neighbour) = neighbour {
        neighbour.kill().unwrap();
        neighbour.wait().unwrap();
    }
    assert!(matches!(ended.outcome, Outcome::Finished { exit_code: 0 }), "{:?}", ended.outcome);
    let state = ended.environment.host_state.unwrap();
    let load = state.load.clone().unwrap();
    assert_eq!(
        ended.marks.iter().any(|mark| mark == "disturbed"),
        !reasons(&load, &thresholds).is_empty(),
        "{load:?}"
    );
    assert_eq!(state.disturbed, reasons(&load, &thresholds));
    let repeats = repeat_reasons(&load, &[], &thresholds);
    let caused = "the guest did not cause it";
    assert!(repeats.iter().any(|reason| reason.starts_with("others used the cores")), "{caused}: {load:?}");
    assert!(load.starved_ms.is_some_and(|ms| ms > 0), "{load:?}");
    assert!(
        load.calibration.is_some_and(|speed| speed.before.is_some() && speed.during.is_some()),
        "{state:?}"
    );
    assert!(state.settings.contains_key("kernel") && state.settings.contains_key("swap"), "{state:?}");
}

const LIMITS: Limits = Limits {
    cpu_s: 60,
    cpu_reading: CpuReading::PerVcpu,
    wall_s: 900,
    confinement_s: 900,
    output_bytes: 1,
    memory_reserve_mib: 128,
    disk_gib: None,
    instructions: None,
};

/// The attempt of a guest that sets its clock, signals its first process, leaves processes, fills its disk and exhausts
/// its memory, with the time it took in milliseconds. The tests share it.
fn hostile() -> &'static (AttemptResult, u64) {
    static ATTEMPT: OnceLock<(AttemptResult, u64)> = OnceLock::new();
    ATTEMPT.get_or_init(|| {
        let script = "date -s 2001-01-01; kill -STOP 1; kill -KILL 1
            for n in 1 2 3 4 5; do setsid sleep 1000 & done
            (while :; do :; done) &
            fallocate -l 100G /home/mcc/all; echo full > /home/mcc/more
            tail /dev/zero; sleep 2; exit 7";
        let start = Instant::now();
        let ended = as_root(script, &LIMITS);
        (ended, start.elapsed().as_millis() as u64)
    })
}

#[test]
fn a_hostile_guest_changes_only_its_own_outcome() {
    let (ended, _) = hostile();
    assert_eq!(
        ended.outcome,
        Outcome::MemoryLimit,
        "it failed, and processes were killed for lack of memory"
    );
    for mark in ["oom-kills", "left-behind", "degraded:cpu-flags"] {
        assert!(ended.marks.iter().any(|known| known == mark), "{mark} in {:?}", ended.marks);
    }
}

#[test]
fn the_clock_of_a_guest_does_not_change_its_measured_times() {
    let (ended, elapsed) = hostile();
    let (facts, elapsed) = (ended.facts.as_ref().unwrap(), *elapsed);
    assert!((2000..elapsed).contains(&facts.wall_ms), "{} of {elapsed}", facts.wall_ms);
    assert!(facts.cpu_ms > 500 && facts.cpu_ms < elapsed, "{} of {elapsed}", facts.cpu_ms);
    // At most one in each second of the host's clock; a busy host misses some.
    assert!(facts.samples.is_sorted_by(|a, b| a.at_ms / 1000 < b.at_ms / 1000 && a.cpu_ms <= b.cpu_ms));
    assert!(facts.samples.len() > 1, "{:?}", facts.samples);
    assert!(facts.io_wait_ms.is_some());
}

#[test]
fn memory_is_measured_from_three_sources_and_kills_are_logged() {
    let facts = hostile().0.facts.as_ref().unwrap();
    assert!(facts.kernel_log.iter().any(|line| line.starts_with("oom-kill:") && line.contains("task=tail")));
    assert_eq!(facts.memory_source, Some(MemorySource::GuestCgroup));
    let (guest, host) = (facts.memory_kib.unwrap(), facts.host_memory_kib.unwrap());
    assert!(guest > 300 * 1024 && guest < 512 * 1024, "{guest}");
    assert!(host > guest, "{host} of {guest}");
    let balloon = facts.balloon_memory_kib.expect("the guest's kernel reports its memory");
    assert!(balloon < 512 * 1024, "{balloon}");
}

#[test]
fn an_attempt_records_cpu_flags_and_isolation() {
    let environment = &hostile().0.environment;
    assert_eq!(environment.cpu_flags_missing, ["x2apic", "tsc_deadline_timer"], "TCG has neither");
    assert!(environment.cpu_flags.iter().any(|flag| flag == "avx"));
    assert_eq!(environment.confined[0], "sandbox on");
}

#[test]
fn a_guest_that_starves_its_agent_is_still_limited() {
    // A real-time process without throttling: on one vCPU no other process of the guest runs again.
    let script = "date -s 2030-01-01; echo -1 > /proc/sys/kernel/sched_rt_runtime_us
        exec chrt -f 99 bash -c 'while :; do :; done'";
    let ended = as_root(script, &Limits { cpu_s: 4, ..LIMITS });
    assert_eq!(ended.outcome, Outcome::CpuLimit);
    let facts = ended.facts.unwrap();
    assert!((4000..20_000).contains(&facts.cpu_ms), "{}", facts.cpu_ms);
    assert!(facts.samples.len() >= 2, "{:?}", facts.samples);
    assert!(facts.samples.last().unwrap().cpu_ms > 1000, "{:?}", facts.samples);
}

/// Returns a field of /proc/PID/status.
fn status(pid: u32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{field} in {status}")).split_whitespace().next().unwrap().to_owned()
}

#[test]
fn qemu_is_isolated_and_its_threads_run_on_their_cpus() {
    let folder = tempfile::tempdir().unwrap();
    // All users may enter the folder with the results.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let cpus: Vec<u32> = {
        let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap();
        (0..1024).filter(|cpu| set.is_set(*cpu as usize).unwrap_or(false)).collect()
    };
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let spec = MachineSpec { vcpu_cpus: vec![last], housekeeping_cpus: vec![first], ..spec(512) };
    let machine = Machine::start(&spec, folder.path(), 1, TIMEOUT).unwrap();
    let pid = machine.pid();
    assert_eq!((status(pid, "Seccomp"), status(pid, "NoNewPrivs")), ("2".into(), "1".into()));
    let active = machine.isolation().active();
    let of_user = active.iter().find(|word| word.contains("user"));
    if nix::unistd::geteuid().is_root() && of_user.is_some() {
        assert_ne!(status(pid, "Uid"), "0");
        assert_eq!(status(pid, "CapEff"), "0000000000000000");
    } else {
        let missing = machine.isolation().missing();
        assert!(
            of_user.is_some() || missing.iter().any(|text| text.contains("is not open to")),
            "{missing:?}"
        );
    }
    let group = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let has_group = active.iter().any(|word| word.starts_with("cgroup v") && word.contains("2560 MiB"));
    assert_eq!(has_group, group.contains("/mcc-harness-"), "{active:?}");
    assert!(has_group || machine.isolation().missing().iter().any(|text| text.starts_with("no cgroup: ")));
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().map(|thread| {
        let thread = thread.unwrap().file_name().to_str().unwrap().parse::<u32>().unwrap();
        status(thread, "Cpus_allowed_list")
    });
    let (vcpus, others): (Vec<String>, Vec<String>) = threads.partition(|list| *list == last.to_string());
    assert!(first == last || (vcpus.len() == 1 && !others.is_empty()));
    assert!(others.iter().all(|list| *list == first.to_string()), "{others:?}");
    // QEMU's private folder and the name of its overlay have been removed.
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "only stdout, stderr, console and qemu.log: {left:?}");
    machine.halt().unwrap();
    let name = group.split("/mcc-harness-").nth(1).map(|rest| rest.lines().next().unwrap().to_owned());
    if let Some(name) = name {
        let whole = group.lines().find(|line| line.ends_with(&name)).unwrap();
        let path = whole.splitn(3, ':').nth(2).unwrap();
        for mount in ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"] {
            assert!(!Path::new(&format!("{mount}{path}")).exists(), "{path} is left behind");
        }
    }
}

#[test]
fn qemu_sees_only_the_files_of_its_machine() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("result-of-another-run"), "secret").unwrap();
    let spec = spec(512);
    let machine = Machine::start(&spec, folder.path(), 1, TIMEOUT).unwrap();
    if let Some(missing) = machine.isolation().missing().iter().find(|text| text.starts_with("no namespaces"))
    {
        return data::not_run(missing);
    }
    let of_qemu = |file: &str| format!("/proc/{}/{file}", machine.pid());
    for namespace in ["mnt", "ipc", "net", "uts"] {
        let [own, host] = [of_qemu("ns/"), "/proc/self/ns/".to_owned()]
            .map(|folder| fs::read_link(folder + namespace).unwrap());
        assert_ne!(own, host, "{namespace}");
    }
    // Field 5 is the place of a mount, field 6 has its options.
    let mounts = fs::read_to_string(of_qemu("mountinfo")).unwrap();
    for mount in mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
        assert!(mount[5].starts_with("ro,"), "{mount:?}");
    }
    let root = |path: &Path| Path::new(&of_qemu("root")).join(path.strip_prefix("/").unwrap());
    // Its files are descriptors.
    for file in spec.files() {
        assert!(!root(&std::path::absolute(file).unwrap()).exists());
    }
    assert!(!root(&folder.path().join("result-of-another-run")).exists());
    // A checkout may lie below one of these folders.
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hidden = ["/proc", "/run", "/var", "/etc/passwd", "/dev/shm", "/.host", "/usr/bin/sh"];
    for hidden in hidden.into_iter().filter(|folder| !checkout.starts_with(folder)) {
        let place = root(Path::new(hidden));
        assert!(fs::read_dir(&place).map_or(!place.exists(), |mut files| files.next().is_none()), "{hidden}");
    }
    // Of the host's files it has only its disks, its log and its overlay, which has no name.
    let files = spec.files();
    for open in fs::read_dir(of_qemu("fd")).unwrap() {
        let Ok(open) = fs::read_link(open.unwrap().path()) else { continue };
        let text = open.to_str().unwrap();
        let is_known = ["socket:", "anon_inode:", "pipe:", "/dev/null", "/dev/urandom"]
            .iter()
            .any(|known| text.starts_with(known));
        let is_overlay = text.ends_with(" (deleted)") && text.starts_with(folder.path().to_str().unwrap());
        let is_disk = files.iter().any(|file| file.file_name() == open.file_name());
        assert!(is_known || is_overlay || is_disk || open.ends_with("qemu.log"), "{text}");
    }
    let limits = fs::read_to_string(of_qemu("limits")).unwrap();
    let limit = |name: &str| {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        (limit("Max core file size"), limit("Max open files")),
        (vec!["0".into(); 2], vec!["1024".into(); 2])
    );
    machine.halt().unwrap();
}

/// Returns the text of a campaign. `scripts/setup` makes the images of both tools.
fn campaign(entry: &str, instance: &str, examination: &str, limits: &str) -> String {
    images::image(&format!("images/{entry}"));
    campaign::on_fixtures(
        &[instance],
        &[examination],
        &[entry],
        &format!("[limits]\n{limits}\n[hosts]\njobs = 1\n"),
    )
}

#[test]
fn two_controllers_of_a_host_do_not_use_the_same_core() {
    // This run reaches its limit, so it is running during all other runs.
    let folder =
        Folder::new(&campaign("depth-first", "SwitchBoard-PT-0040", "CTLCardinality", "cpu_s = 600"));
    let root = env!("CARGO_MANIFEST_DIR");
    let quick = campaign("breadth-first", "DiningTable-PT-03", "ReachabilityDeadlock", "");
    let quick = quick.replace("{build}", &format!("{root}/build"));
    let quick = quick.replace("{fixtures}", &format!("{root}/pnml-fixtures"));
    fs::write(folder.path().join("quick.toml"), quick).unwrap();
    let leases = folder.path().join("leases");
    // The CPUs of QEMU before it pins its threads.
    let prepared = folder.path().join("prepared");
    folder.qemu(&format!("grep Cpus_allowed_list /proc/$$/status >> {}", prepared.display()));
    let harness = |args: &[&str]| folder.harness(args);
    let first = &["run", "campaign.toml", "--out", "results", "--allow-degraded"];
    let mut first = harness(first).stderr(Stdio::null()).spawn().unwrap();
    until("output of the tool", || {
        let stdout = |attempt: &std::path::PathBuf| fs::metadata(attempt.join("outputs/stdout"));
        folder.running_folders().iter().any(|attempt| stdout(attempt).is_ok_and(|stdout| stdout.len() > 0))
    });
    let doctor = harness(&["doctor", "--allow-degraded", "--format", "json"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    let held = format!("campaign.toml (process {}, since ", first.id());
    let held =
        doctor.lines().find(|line| line.contains(&held)).unwrap_or_else(|| panic!("{held} in {doctor}"));
    let cpu: u32 = held.split("has leased CPU ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(held.contains(&format!("has leased CPU {cpu} and 16384 MiB")), "{held}");
    let of_controller = status(first.id(), "Cpus_allowed_list");
    assert_ne!(of_controller, cpu.to_string(), "the controller must not run on leased cores");
    for thread in fs::read_dir(format!("/proc/{}/task", first.id())).unwrap() {
        let thread = thread.unwrap().path();
        // The first measures the speed of the leased core, in at most 0.05 % of its time; the second waits for a signal.
        let name = fs::read_to_string(thread.join("comm")).unwrap();
        if ["calibration", "signals"].contains(&name.trim()) {
            continue;
        }
        let thread = thread.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(status(thread, "Cpus_allowed_list"), of_controller, "nor may its threads");
    }

    let second = |out: &str| {
        let run = harness(&["run", "quick.toml", "--out", out, "--allow-degraded"]).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let record = Record::open_readonly(&folder.path().join(out)).unwrap();
        let attempt = record.records().next().unwrap().unwrap().last;
        assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 0 });
        attempt
    };
    let beside = second("beside");
    assert_eq!(beside.environment.cpus.len(), 1);
    assert_ne!(beside.environment.cpus, [cpu], "the other controller holds that core");
    first.kill().unwrap();
    first.wait().unwrap();
    let after = second("after");
    assert_eq!(after.environment.cpus, [cpu], "the core is free after the end of its controller");
    assert!(after.marks.iter().all(|mark| mark != "degraded:shared-cores"), "{:?}", after.marks);
    let prepared = fs::read_to_string(prepared).unwrap();
    let off = prepared.lines().filter(|line| line.ends_with(&format!(":\t{of_controller}"))).count();
    assert_eq!(
        (off, prepared.lines().count()),
        (3, 3),
        "no machine is prepared on a pinned core: {prepared}"
    );
    // On a host with little memory, the number of overcommitments remains too.
    let files = fs::read_dir(&leases).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = files.filter(|name| !name.starts_with("overcommits-")).collect();
    assert_eq!(left, ["turn"], "no lease is left");
}

/// The command on a host without swap space whose CPUs have this governor. The host of the tests may not report one.
fn with_governor(governor: &str, command: &Command) -> Command {
    let script = "mount -t tmpfs tmpfs /mnt
        cp -r /sys/devices/system/cpu /mnt/ 2>/dev/null
        for cpu in /mnt/cpu/cpu[0-9]*; do
            rm -rf $cpu/cpufreq; mkdir $cpu/cpufreq; echo $GOVERNOR > $cpu/cpufreq/scaling_governor
        done
        # The user of QEMU can open this KVM.
        [ ! -e /dev/kvm ] || mount --bind /dev/null /dev/kvm
        sed 's/^Swap\\(Total\\|Free\\):.*/Swap\\1: 0 kB/' /proc/meminfo > /mnt/meminfo
        mount --bind /mnt/cpu /sys/devices/system/cpu && mount --bind /mnt/meminfo /proc/meminfo && exec \"$0\" \"$@\"";
    let mut wrapped = Command::new("unshare");
    wrapped.args(["--mount", "sh", "-c", script]).arg(command.get_program()).args(command.get_args());
    wrapped
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("GOVERNOR", governor);
    wrapped.current_dir(command.get_current_dir().unwrap());
    wrapped
}

#[test]
fn a_contest_run_without_a_required_cpu_flag_is_refused() {
    let limits = "cpu_s = 60";
    let folder = Folder::new(&campaign("breadth-first", "DiningTable-PT-03", "ReachabilityDeadlock", limits));
    // A fake KVM that lacks the flags that TCG lacks: the probe succeeds, but machines run under TCG.
    let real = find_program("qemu-system-x86_64").unwrap();
    let script = format!(
        "#!/bin/bash\nfor word; do\n  shift\n  case \"$word\" in\n    *accel=kvm*) exit 33;;\n    kvm) word=tcg;;\n  \
         esac\n  set -- \"$@\" \"$word\"\ndone\nexec {} \"$@\"\n",
        real.display()
    );
    fs::write(folder.path().join("bin/qemu-system-x86_64"), script).unwrap();
    // Memory that every host of the tests has.
    let edition = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("editions/mcc-2018.toml"));
    let edition = edition.unwrap().replace("memory_mib = 16384", "memory_mib = 1024");
    fs::write(folder.path().join("small.toml"), edition).unwrap();
    let path = folder.path().join("campaign.toml");
    let campaign = fs::read_to_string(&path).unwrap().replace("\"mcc-2018\"", "\"./small.toml\"");
    fs::write(path, campaign).unwrap();
    let run = |governor: &str| {
        let command = folder.harness(&["run", "campaign.toml", "--out", "results"]);
        assert_cmd::Command::from(with_governor(governor, &command)).assert()
    };
    let slow = stderr(&run("powersave").code(69));
    assert!(slow.contains("powersave") && slow.contains("echo performance | tee"), "{slow}");
    let refused = run("performance").code(69);
    let words = stderr(&refused);
    if words.contains("this host has 0 available") {
        return data::not_run("a contest run needs two cores");
    }
    assert!(words.contains("x2apic tsc_deadline_timer") && words.contains("--allow-degraded"), "{words}");
    let record = folder.record();
    let attempts =
        record.attempts(&"breadth-first/DiningTable-PT-03/ReachabilityDeadlock".parse().unwrap()).unwrap();
    let [attempt] = &attempts[..] else { panic!("{attempts:?}") };
    assert!(attempt.outcome.is_infrastructure(), "not a failure of the tool: {:?}", attempt.outcome);
    assert_eq!(attempt.environment.cpu_flags_missing, ["x2apic", "tsc_deadline_timer"]);
}

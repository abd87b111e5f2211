//! Checks whether this host can run a campaign, and what would be degraded.

use mcc_base::Mark;
use mcc_base::OnFile;
use mcc_base::setting_in_words;
use mcc_base::text::counted;
use mcc_edition::Machine;
use mcc_vm::Isolation;
use mcc_vm::build::{DISK_PROGRAMS, PROGRAMS};
use mcc_vm::host::{
    Accelerator, ControllerLeases, HostError, HostLeases, HostSettings, LEASE_USERS_VARIABLE, LeaseError,
    LeaseRegistry, Leases, Policy, Probe, Qemu, Survey, UnmetSetting, find_program,
};
use mcc_vm::{export, kit};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The name of the check.
    pub name: &'static str,
    /// The result.
    pub state: CheckState,
    /// What was found.
    pub found: String,
    /// What to do about it; empty if nothing.
    pub remedy: String,
    /// Whether the check counts for the verdict. It does not if only some commands need the result, such as building
    /// images.
    pub blocking: bool,
}

/// The state of what was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// The requirement is met.
    Ok,
    /// The requirement is not met; runs need `--allow-degraded` and are marked.
    Degraded,
    /// The requirement is not met, and no run is possible.
    Missing,
}

/// Which campaigns the host can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostVerdict {
    /// Contest campaigns.
    Contest,
    /// Only campaigns with `--allow-degraded`.
    DegradedOnly,
    /// None.
    Cannot,
}

/// The requirements of a campaign on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequirements {
    /// The machine of the edition.
    pub machine: Machine,
    /// The folder in which the record will be written.
    pub folder: PathBuf,
}

/// The results of all checks of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReport {
    /// The results.
    pub checks: Vec<Check>,
    /// Which campaigns the host can run.
    pub verdict: HostVerdict,
}

/// A step of a tool's author, and what this computer lacks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuthorStep {
    /// The command.
    pub command: &'static str,
    /// What is missing, with the remedy; empty: the step is possible.
    pub missing: Vec<String>,
    /// The checks that are not met, so that the step needs `--allow-degraded`.
    pub degraded: Vec<&'static str>,
}

/// Free space for overlays, raw outputs and the disks of a small campaign, or for building a reference disk.
const FREE_MIB: u64 = 8 * 1024;

impl HostReport {
    /// Checks this host. It takes less than 1 second, or about 10 seconds if KVM cannot boot a guest.
    ///
    /// # Errors
    /// The cores, memory or free space of the host cannot be read.
    pub fn of_this_host(needs: &HostRequirements) -> Result<Self, HostError> {
        let survey = Survey::take()?;
        let mut checks = Vec::new();
        match Qemu::find() {
            Ok(qemu) => {
                checks.push(ok("qemu", format!("{} {}", qemu.program.display(), qemu.version)));
                let mut kvm = Accelerator::Kvm.probe(&qemu);
                if let (true, Err(evidence)) = (kvm.usable, mcc_vm::check_kvm_access()) {
                    kvm = Probe { usable: false, evidence, ..kvm };
                }
                let tcg = Accelerator::Tcg.probe(&qemu);
                checks.extend(accelerators(&kvm, &tcg));
                let (accelerator, probe) =
                    if kvm.usable { (Accelerator::Kvm, &kvm) } else { (Accelerator::Tcg, &tcg) };
                checks.push(cpu_flags(&needs.machine, accelerator, probe));
            }
            Err(HostError::NotInstalled { program, package }) => {
                let remedy = format!("apt-get install --no-install-recommends {package}");
                checks.push(check("qemu", CheckState::Missing, format!("{program} is not on PATH"), &remedy));
            }
            Err(error) => {
                let remedy = "reinstall qemu-system-x86";
                checks.push(check("qemu", CheckState::Missing, error.to_string(), remedy));
            }
        }
        checks.push(cpu_time(mcc_vm::probe_cpu_time().map_err(|error| error.to_string())));
        checks.extend(capacity_checks(&survey, &needs.machine));
        checks.extend(settings(&survey.settings(Path::new("/"))));
        checks.push(leases(LeaseRegistry::controllers_of_this_host()));
        let isolation_here = Isolation::of_this_host(needs.machine.memory_mib, &needs.folder);
        checks.push(isolation(isolation_here.active(), isolation_here.missing()));
        checks.push(disk(&needs.folder)?);
        checks.extend(PROGRAMS.map(|program| build_program(program, find_program(program.0))));
        Ok(Self::new(checks))
    }

    fn new(checks: Vec<Check>) -> Self {
        let worst = checks.iter().filter(|check| check.blocking).map(|check| check.state).max();
        let verdict = match worst {
            Some(CheckState::Missing) => HostVerdict::Cannot,
            Some(CheckState::Degraded) => HostVerdict::DegradedOnly,
            Some(CheckState::Ok) | None => HostVerdict::Contest,
        };
        Self { checks, verdict }
    }

    /// The verdict as a sentence.
    pub fn sentence(&self) -> String {
        let names = |state| {
            let checks = self.checks.iter().filter(|check| check.blocking && check.state == state);
            checks.map(|check| check.name).collect::<Vec<_>>().join(", ")
        };
        match self.verdict {
            HostVerdict::Contest => "this host can run a contest campaign".to_owned(),
            HostVerdict::DegradedOnly => format!(
                "this host runs campaigns only with --allow-degraded (degraded: {}); their runs are marked",
                names(CheckState::Degraded)
            ),
            HostVerdict::Cannot => {
                format!("this host cannot run a campaign (missing: {})", names(CheckState::Missing))
            }
        }
    }

    /// The steps of a tool's author in their order. `root`: whether they are made as root.
    pub fn author_steps(&self, root: bool) -> Vec<AuthorStep> {
        let programs = |command, needed: &[&str], needs_root: bool| {
            let missing = self.checks.iter().filter(|check| check.state == CheckState::Missing);
            let missing = missing.filter(|check| needed.contains(&check.name));
            let mut missing: Vec<String> =
                missing.map(|check| format!("{}: {}", check.name, check.remedy)).collect();
            if needs_root && !root {
                missing.push("root: run the command with sudo".to_owned());
            }
            AuthorStep { command, missing, degraded: vec![] }
        };
        let blocking = |state| self.checks.iter().filter(move |check| check.blocking && check.state == state);
        let machines = |command| AuthorStep {
            command,
            missing: blocking(CheckState::Missing)
                .map(|check| format!("{}: {}", check.name, check.remedy))
                .collect(),
            degraded: blocking(CheckState::Degraded).map(|check| check.name).collect(),
        };
        vec![
            programs("lint, qualify --native", &["bash"], false),
            programs("image build", &DISK_PROGRAMS, true),
            programs("image build --kit", &kit::NEEDED, true),
            machines("qualify, compare-runs"),
            programs("image export", &export::NEEDED, false),
        ]
    }

    /// Whether the host can run a campaign under `policy`.
    pub fn allows(&self, policy: Policy) -> bool {
        match policy {
            Policy::Contest => self.verdict == HostVerdict::Contest,
            Policy::AllowDegraded => self.verdict <= HostVerdict::DegradedOnly,
        }
    }
}

fn check(name: &'static str, state: CheckState, found: String, remedy: &str) -> Check {
    Check { name, state, found, remedy: remedy.to_owned(), blocking: true }
}

fn ok(name: &'static str, found: String) -> Check {
    check(name, CheckState::Ok, found, "")
}

fn accelerators(kvm: &Probe, tcg: &Probe) -> [Check; 2] {
    let kvm_check = match (kvm.usable, tcg.usable) {
        (true, _) => ok("kvm", kvm.evidence.clone()),
        (false, true) => {
            let remedy = format!(
                "use a host whose KVM runs guests (/dev/kvm, nested virtualization), or --allow-degraded \
                 (TCG; runs are marked {})",
                Mark::TCG
            );
            check("kvm", CheckState::Degraded, format!("unusable: {}", kvm.evidence), &remedy)
        }
        (false, false) => {
            let found = format!("unusable: {}", kvm.evidence);
            check("kvm", CheckState::Missing, found, "use a host whose KVM runs guests")
        }
    };
    let mut tcg_check = if tcg.usable {
        ok("tcg", tcg.evidence.clone())
    } else {
        let remedy = "reinstall qemu-system-x86; it is needed where KVM is not usable";
        check("tcg", CheckState::Missing, format!("unusable: {}", tcg.evidence), remedy)
    };
    tcg_check.blocking = !kvm.usable;
    [kvm_check, tcg_check]
}

/// The CPU flags of rule E-5.2, as the boot sector of the probe reads them.
fn cpu_flags(machine: &Machine, accelerator: Accelerator, probe: &Probe) -> Check {
    let name = accelerator.word();
    let remedy = format!(
        "use a host and an accelerator that offer them, or --allow-degraded (runs are marked {})",
        Mark::CPU_FLAGS
    );
    let Some(seen) = &probe.cpu_flags else {
        let found = format!("unknown: the probe under {name} reported no CPU flags");
        return check("cpu-flags", CheckState::Degraded, found, &remedy);
    };
    let seen: Vec<&str> = seen.iter().copied().collect();
    let (missing, enabled) = (machine.cpu_flags.missing(&seen), machine.cpu_flags.enabled(&seen));
    let required = machine.cpu_flags.required.len();
    let mut found = format!("{} of {required} required flags under {name}", required - missing.len());
    if !missing.is_empty() {
        found += &format!("; missing: {}", missing.join(" "));
    }
    if !enabled.is_empty() {
        found += &format!("; optional flags present: {}", enabled.join(" "));
    }
    if missing.is_empty() {
        ok("cpu-flags", found)
    } else {
        check("cpu-flags", CheckState::Degraded, found, &remedy)
    }
}

/// Whether the CPU time of a machine can be measured and limited.
fn cpu_time(probed: Result<(), String>) -> Check {
    match probed {
        Ok(()) => ok("cpu-time", "the kernel counts it per thread (schedstat)".to_owned()),
        Err(problem) => {
            let remedy = "boot a kernel with CONFIG_SCHEDSTATS; mount /proc without hidepid, or give the controller \
                           CAP_SYS_PTRACE";
            check("cpu-time", CheckState::Missing, problem, remedy)
        }
    }
}

/// The settings of the host: those that a contest requires, and all others together.
fn settings(settings: &HostSettings) -> Vec<Check> {
    let unmet = settings.unmet();
    let required = ["governor", "swap"].map(|name| match unmet.iter().find(|unmet| unmet.name == name) {
        None => ok(name, settings.known.get(name).cloned().unwrap_or_default()),
        Some(UnmetSetting { found, remedy, mark, .. }) => {
            let remedy = format!("{remedy}; or --allow-degraded (runs are marked {mark})");
            check(name, CheckState::Degraded, found.clone(), &remedy)
        }
    });
    let others = settings.known.iter().filter(|(name, _)| !["governor", "swap"].contains(*name));
    let mut found: Vec<String> =
        others.map(|(name, value)| format!("{name}: {}", setting_in_words(value))).collect();
    if !settings.unknown.is_empty() {
        let names: Vec<&str> = settings.unknown.iter().copied().collect();
        found.push(format!("unknown: {}", names.join(", ")));
    }
    let others = Check { blocking: false, ..check("settings", CheckState::Ok, found.join("; "), "") };
    required.into_iter().chain([others]).collect()
}

/// The cores and memory that other controllers have leased. Runs may have to wait for them. Ignored files are named:
/// they may be those of controllers that use the same cores.
fn leases(of_host: Result<HostLeases, LeaseError>) -> Check {
    let HostLeases { controllers, ignored } = match of_host {
        Ok(leases) => leases,
        Err(error) => {
            let remedy = "make the folder usable as described; campaigns cannot start before";
            return check("leases", CheckState::Missing, error.to_string(), remedy);
        }
    };
    let describe = |controller: &ControllerLeases| {
        let cpus: Vec<String> =
            controller.held.iter().flat_map(|held| &held.cpus).map(ToString::to_string).collect();
        let memory_mib = controller.held.iter().map(|held| held.memory_mib).fold(0, u64::saturating_add);
        let (pid, campaign, since) = (controller.pid, &controller.campaign, &controller.since);
        format!(
            "{campaign} (process {pid}, since {since}) has leased {} {} and {memory_mib} MiB",
            if cpus.len() == 1 { "CPU" } else { "CPUs" },
            cpus.join(",")
        )
    };
    let mut found = match &controllers[..] {
        [] => "no cores or memory are leased".to_owned(),
        controllers => controllers.iter().map(describe).collect::<Vec<_>>().join("; "),
    };
    for file in &ignored {
        found += &format!("; ignored: {file}");
    }
    let (state, remedy) = if ignored.is_empty() {
        (CheckState::Ok, String::new())
    } else {
        (
            CheckState::Degraded,
            format!("remove the ignored files, or list the numbers of their users in {LEASE_USERS_VARIABLE}"),
        )
    };
    Check { blocking: false, ..check("leases", state, found, &remedy) }
}

/// The isolation of machines. It does not affect the results of runs, but the safety of the host.
fn isolation(words: Vec<String>, missing: Vec<String>) -> Check {
    let remedy = "run as root with MCC_HARNESS_QEMU_IDS=200000-200999 (a range of unused user numbers), in a memory cgroup in which cgroups \
                  can be created; results do not depend on it, and no run is marked for it";
    let found = words.into_iter().chain(missing.iter().cloned()).collect::<Vec<_>>().join("; ");
    let (state, remedy) =
        if missing.is_empty() { (CheckState::Ok, "") } else { (CheckState::Degraded, remedy) };
    Check { blocking: false, ..check("isolation", state, found, remedy) }
}

/// The checks of cores and memory.
fn capacity_checks(survey: &Survey, machine: &Machine) -> [Check; 2] {
    let cores = &survey.cores;
    let leases = Leases::new(cores, &survey.memory);
    let at_once = |vcpus| leases.capacity(vcpus, 0);
    let (sequential, concurrent) = (at_once(machine.sequential_cores), at_once(machine.concurrent_cores));
    let found = format!(
        "{} of {} cores usable as whole cores, {} socket{}; without shared cores, at most {sequential} sequential \
         or {concurrent} concurrent runs fit at once",
        cores.usable_cores().count(),
        cores.cores.len(),
        cores.sockets(),
        if cores.sockets() == 1 { "" } else { "s" },
    );
    let remedy = |runs: &str, vcpus: u32| {
        format!(
            "{runs} runs need a host with {} in one socket, and one more core for the controller; or use --allow-degraded (cores are shared, runs are marked {})",
            counted(vcpus, "whole core"),
            Mark::SHARED_CORES
        )
    };
    let cores = if sequential == 0 {
        check("cores", CheckState::Degraded, found, &remedy("all", machine.sequential_cores))
    } else if concurrent == 0 {
        check("cores", CheckState::Degraded, found, &remedy("concurrent", machine.concurrent_cores))
    } else {
        ok("cores", found)
    };

    let memory = &survey.memory;
    let limit = memory.limited_by.as_ref().map(|group| format!(" (limited by {})", group.display()));
    let found = format!(
        "{} of {} MiB available{}; simultaneous machines: {} of {} MiB each",
        memory.available_mib,
        memory.total_mib,
        limit.unwrap_or_default(),
        memory.available_mib / machine.memory_mib.max(1),
        machine.memory_mib
    );
    let memory = if memory.available_mib >= machine.memory_mib {
        ok("memory", found)
    } else {
        let remedy = format!(
            "end other programs to free memory, or use --allow-degraded (memory is overcommitted, runs are marked {})",
            Mark::OVERCOMMITTED_MEMORY
        );
        check("memory", CheckState::Degraded, found, &remedy)
    };
    [cores, memory]
}

/// The free space in the folder of the record.
fn disk(folder: &Path) -> Result<Check, HostError> {
    let free_mib = mcc_vm::free_bytes_of_folder(folder).on("read", folder)? >> 20;
    let found = format!("{free_mib} MiB free in {}", folder.display());
    Ok(if free_mib >= FREE_MIB {
        ok("disk", found)
    } else {
        let remedy = format!("free {FREE_MIB} MiB, or give another folder with --dir");
        check("disk", CheckState::Missing, found, &remedy)
    })
}

/// A program that is needed only to build disks.
fn build_program((name, package): (&'static str, &str), path: Option<PathBuf>) -> Check {
    let (state, found, remedy) = match path {
        Some(path) => (CheckState::Ok, path.display().to_string(), String::new()),
        None => (
            CheckState::Missing,
            "not on PATH; needed for building disks".to_owned(),
            format!("apt-get install --no-install-recommends {package}"),
        ),
    };
    Check { name, state, found, remedy, blocking: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::CpuFlags;
    use mcc_vm::host::{Core, Cores, MachineLease, Memory};

    fn machine() -> Machine {
        Machine {
            cpu_model: "SandyBridge".into(),
            cpu_flags: CpuFlags { required: vec!["sse".into(), "avx".into()], possible: vec!["vme".into()] },
            memory_mib: 16384,
            sequential_cores: 1,
            concurrent_cores: 4,
        }
    }

    fn survey(cores: u32, available_mib: u64) -> Survey {
        Survey {
            name: "host".into(),
            kernel: "6.1".into(),
            cpu: "some cpu".into(),
            cores: Cores {
                cores: (0..cores).map(|cpu| Core { cpus: vec![cpu], ..Core::default() }).collect(),
                allowed: (0..cores).collect(),
            },
            memory: Memory { total_mib: 65536, available_mib, limited_by: None },
        }
    }

    fn probe(usable: bool) -> Probe {
        Probe { usable, evidence: "seen".into(), cpu_flags: Some(["avx", "sse"].into()) }
    }

    fn verdict(kvm: bool, tcg: bool, cores: u32, available_mib: u64) -> HostVerdict {
        let mut checks = accelerators(&probe(kvm), &probe(tcg)).to_vec();
        checks.extend(capacity_checks(&survey(cores, available_mib), &machine()));
        HostReport::new(checks).verdict
    }

    #[test]
    fn an_author_sees_what_is_missing_for_which_step() {
        let found = Some(PathBuf::from("/usr/bin/x"));
        let missing = ["mmdebstrap", "extlinux", "dropbear"];
        let program = |program: (&'static str, &str)| {
            build_program(program, found.clone().filter(|_| !missing.contains(&program.0)))
        };
        let mut checks = accelerators(&probe(false), &probe(true)).to_vec();
        checks.extend(PROGRAMS.map(program));
        let report = HostReport::new(checks);
        let lacks = |root| {
            let names = |missing: &String| missing.split(':').next().unwrap_or_default().to_owned();
            let steps = report.author_steps(root).into_iter();
            steps.map(|step| (step.missing.iter().map(names).collect(), step.degraded)).collect::<Vec<_>>()
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        let expected = |root: &[&str]| {
            let with_root = |more: &[&str]| words(&[more, root].concat());
            vec![
                (vec![], vec![]),
                (with_root(&["mmdebstrap"]), vec![]),
                (with_root(&["mmdebstrap", "extlinux"]), vec![]),
                (vec![], vec!["kvm"]),
                (words(&["dropbear"]), vec![]),
            ]
        };
        assert_eq!(lacks(true), expected(&[]));
        assert_eq!(lacks(false), expected(&["root"]));
    }

    #[test]
    fn a_host_with_kvm_needs_no_tcg() {
        assert_eq!(verdict(true, true, 8, 60000), HostVerdict::Contest);
        assert_eq!(verdict(true, false, 8, 60000), HostVerdict::Contest);
    }

    #[test]
    fn unmet_requirements_need_allow_degraded() {
        assert_eq!(verdict(false, true, 8, 60000), HostVerdict::DegradedOnly);
        assert_eq!(
            verdict(true, true, 4, 60000),
            HostVerdict::DegradedOnly,
            "4 vCPUs and the controller need 5"
        );
        assert_eq!(verdict(true, true, 8, 16000), HostVerdict::DegradedOnly);
        for check in capacity_checks(&survey(1, 100), &machine()) {
            assert!(check.remedy.contains("--allow-degraded"), "{check:?}");
        }
    }

    #[test]
    fn missing_cpu_flags_need_allow_degraded_and_are_listed() {
        let check_of = |flags: Option<&[&'static str]>| {
            let cpu_flags = flags.map(|flags| flags.iter().copied().collect());
            cpu_flags_check(&Probe { cpu_flags, ..probe(true) })
        };
        let complete = check_of(Some(&["sse", "avx", "vme"]));
        assert_eq!(
            (complete.state, &*complete.found),
            (CheckState::Ok, "2 of 2 required flags under kvm; optional flags present: vme")
        );
        let lacking = check_of(Some(&["sse"]));
        assert_eq!(lacking.state, CheckState::Degraded);
        assert!(lacking.found.contains("missing: avx") && lacking.remedy.contains("--allow-degraded"));
        assert_eq!(check_of(None).state, CheckState::Degraded, "unknown flags count as missing");
    }

    fn cpu_flags_check(probe: &Probe) -> Check {
        cpu_flags(&machine(), Accelerator::Kvm, probe)
    }

    #[test]
    fn a_host_without_readable_cpu_time_cannot_run_campaigns() {
        assert_eq!(cpu_time(Ok(())).state, CheckState::Ok);
        let unreadable = cpu_time(Err("/proc/7/task/7/schedstat: No such file".into()));
        assert!(unreadable.found.contains("schedstat") && unreadable.remedy.contains("hidepid"));
        assert_eq!(HostReport::new(vec![unreadable]).verdict, HostVerdict::Cannot);
    }

    #[test]
    fn leases_of_other_controllers_are_listed() {
        let held = vec![MachineLease { cpus: vec![2, 3], memory_mib: 16384, shared: false }];
        let controller = ControllerLeases {
            pid: 7,
            since: "2018-05-11T10:00:00Z".into(),
            campaign: "may.toml".into(),
            held,
        };
        let found = leases(Ok(HostLeases { controllers: vec![controller], ignored: vec![] })).found;
        assert_eq!(
            found,
            "may.toml (process 7, since 2018-05-11T10:00:00Z) has leased CPUs 2,3 and 16384 MiB"
        );
    }

    #[test]
    fn the_governor_and_swap_of_a_host_are_required() {
        let examine = |governor: Option<&str>, swap: &str| {
            let known = [("governor", governor), ("swap", Some(swap)), ("SMT", Some("off"))];
            let known = known.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned())));
            let checks = settings(&HostSettings { known: known.collect(), unknown: ["turbo"].into() });
            assert_eq!((checks[2].name, checks[2].found.as_str()), ("settings", "SMT: off; unknown: turbo"));
            (checks[0].clone(), checks[1].clone(), HostReport::new(checks).verdict)
        };
        assert_eq!(examine(Some("performance"), "0 KiB").2, HostVerdict::Contest);
        let (governor, swap, verdict) = examine(Some("powersave"), "4 KiB");
        assert_eq!(verdict, HostVerdict::DegradedOnly);
        assert!(governor.remedy.contains("echo performance") && swap.remedy.contains("swapoff -a"));
        let (unknown, _, verdict) = examine(None, "0 KiB");
        assert_eq!(verdict, HostVerdict::DegradedOnly, "an unknown governor counts as unmet");
        assert!(unknown.found.starts_with("unknown"), "{}", unknown.found);
    }

    #[test]
    fn missing_isolation_is_listed() {
        let check = isolation(vec!["sandbox on".into()], vec!["no cgroup: none here".into()]);
        assert_eq!((check.state, &*check.found), (CheckState::Degraded, "sandbox on; no cgroup: none here"));
        assert!(!check.blocking && !check.remedy.is_empty());
    }

    #[test]
    fn a_host_without_accelerator_cannot_run_campaigns() {
        assert_eq!(verdict(false, false, 8, 60000), HostVerdict::Cannot);
    }

    #[test]
    fn missing_build_programs_do_not_change_the_verdict() {
        let report = HostReport::new(PROGRAMS.map(|program| build_program(program, None)).into());
        assert_eq!(report.verdict, HostVerdict::Contest);
        for check in report.checks {
            assert_eq!(check.state, CheckState::Missing);
            assert!(check.remedy.contains("apt-get install"), "{}", check.remedy);
        }
    }
}

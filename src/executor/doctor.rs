//! Can this machine run a campaign, and what would be degraded.

use mcc_base::Mark;
use mcc_edition::Machine;
use mcc_host::{
    Accelerator, ControllerLeases, HostError, LeaseRegistry, Leases, Policy, Probe, Qemu, Survey,
    find_program,
};
use mcc_vm::Isolation;
use mcc_vm::build::PROGRAMS;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub state: State,
    /// What was found.
    pub found: String,
    /// Empty where all is well.
    pub remedy: String,
    /// False: only some commands need it (images are built elsewhere as well), so it does not decide the verdict.
    pub blocking: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ok,
    /// Not as the contest promises; `--allow-degraded` goes on without it.
    Degraded,
    Missing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostVerdict {
    Contest,
    DegradedOnly,
    Cannot,
}

/// What a campaign wants of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequirements {
    pub machine: Machine,
    /// Where results are going to be written.
    pub folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    pub checks: Vec<Check>,
    pub verdict: HostVerdict,
}

/// For overlays, raw outputs and the disks of a small campaign; a build of the reference disk takes about as much.
const FREE_MIB: u64 = 8 * 1024;

impl Report {
    /// Looks at this host; takes about 10 seconds where KVM does not boot, less than 1 where it does.
    pub fn of_this_host(needs: &HostRequirements) -> Result<Self, HostError> {
        let survey = Survey::take()?;
        let mut checks = Vec::new();
        match Qemu::find() {
            Ok(qemu) => {
                checks.push(check(
                    "qemu",
                    State::Ok,
                    format!("{} {}", qemu.program.display(), qemu.version),
                    "",
                ));
                let kvm = Accelerator::Kvm.probe(&qemu);
                let tcg = Accelerator::Tcg.probe(&qemu);
                checks.extend(accelerators(&kvm, &tcg));
                let (accelerator, probe) = match kvm.usable {
                    true => (Accelerator::Kvm, &kvm),
                    false => (Accelerator::Tcg, &tcg),
                };
                checks.push(cpu_flags(&needs.machine, accelerator, probe));
            }
            Err(HostError::NotInstalled { program, package }) => {
                let remedy = format!("apt-get install --no-install-recommends {package}");
                checks.push(check("qemu", State::Missing, format!("{program} is not on PATH"), &remedy));
            }
            Err(error) => {
                checks.push(check("qemu", State::Missing, error.to_string(), "reinstall qemu-system-x86"));
            }
        }
        checks.push(cpu_time(mcc_vm::probe_cpu_time().map_err(|error| error.to_string())));
        checks.extend(capacity_checks(&survey, &needs.machine));
        checks.push(leases(&LeaseRegistry::controllers_of_this_host()));
        let confinement = Isolation::of_this_host(needs.machine.memory_mib, &needs.folder);
        checks.push(isolation(confinement.active(), confinement.missing()));
        checks.push(disk(&needs.folder)?);
        checks.extend(PROGRAMS.map(|program| build_program(program, find_program(program.0))));
        Ok(Self::new(checks))
    }

    fn new(checks: Vec<Check>) -> Self {
        let worst = checks.iter().filter(|check| check.blocking).map(|check| check.state).max();
        let verdict = match worst {
            Some(State::Missing) => HostVerdict::Cannot,
            Some(State::Degraded) => HostVerdict::DegradedOnly,
            Some(State::Ok) | None => HostVerdict::Contest,
        };
        Self { checks, verdict }
    }

    /// One sentence for people.
    pub fn sentence(&self) -> String {
        let names = |state| {
            let checks = self.checks.iter().filter(|check| check.blocking && check.state == state);
            checks.map(|check| check.name).collect::<Vec<_>>().join(", ")
        };
        match self.verdict {
            HostVerdict::Contest => "this host can run a contest campaign".to_owned(),
            HostVerdict::DegradedOnly => format!(
                "this host runs campaigns only with --allow-degraded ({}); their runs are marked",
                names(State::Degraded)
            ),
            HostVerdict::Cannot => format!("this host cannot run a campaign ({})", names(State::Missing)),
        }
    }

    /// Whether a campaign would run under that policy.
    pub fn allows(&self, policy: Policy) -> bool {
        match policy {
            Policy::Contest => self.verdict == HostVerdict::Contest,
            Policy::AllowDegraded => self.verdict <= HostVerdict::DegradedOnly,
        }
    }
}

fn check(name: &'static str, state: State, found: String, remedy: &str) -> Check {
    Check { name, state, found, remedy: remedy.to_owned(), blocking: true }
}

fn accelerators(kvm: &Probe, tcg: &Probe) -> [Check; 2] {
    let kvm_check = match (kvm.usable, tcg.usable) {
        (true, _) => check("kvm", State::Ok, kvm.evidence.clone(), ""),
        (false, true) => {
            let remedy = format!(
                "use a host whose KVM runs guests (/dev/kvm, nested virtualization), or --allow-degraded: \
                 TCG, marked {}",
                Mark::TCG
            );
            check("kvm", State::Degraded, format!("unusable: {}", kvm.evidence), &remedy)
        }
        (false, false) => {
            let found = format!("unusable: {}", kvm.evidence);
            check("kvm", State::Missing, found, "use a host whose KVM runs guests")
        }
    };
    let mut tcg_check = match tcg.usable {
        true => check("tcg", State::Ok, tcg.evidence.clone(), ""),
        false => {
            let remedy = "reinstall qemu-system-x86; without it there is no way around KVM";
            check("tcg", State::Missing, format!("unusable: {}", tcg.evidence), remedy)
        }
    };
    tcg_check.blocking = !kvm.usable;
    [kvm_check, tcg_check]
}

/// E-5.2, as the probe's boot sector sees it.
fn cpu_flags(machine: &Machine, accelerator: Accelerator, probe: &Probe) -> Check {
    let name = accelerator.word();
    let remedy = format!(
        "use a host and an accelerator that offer them, or --allow-degraded: without them, marked {}",
        Mark::CPU_FLAGS
    );
    let Some(seen) = &probe.cpu_flags else {
        let found = format!("not seen: no guest told of its processor under {name}");
        return check("cpu-flags", State::Degraded, found, &remedy);
    };
    let seen: Vec<&str> = seen.iter().copied().collect();
    let (missing, enabled) = (machine.cpu_flags.missing(&seen), machine.cpu_flags.enabled(&seen));
    let required = machine.cpu_flags.required.len();
    let mut found = format!("{} of {required} required flags under {name}", required - missing.len());
    if !missing.is_empty() {
        found += &format!("; missing: {}", missing.join(" "));
    }
    if !enabled.is_empty() {
        found += &format!("; also: {}", enabled.join(" "));
    }
    match missing.is_empty() {
        true => check("cpu-flags", State::Ok, found, ""),
        false => check("cpu-flags", State::Degraded, found, &remedy),
    }
}

/// Whether the CPU time of a machine can be measured, and so limited.
fn cpu_time(probed: Result<(), String>) -> Check {
    match probed {
        Ok(()) => check("cpu-time", State::Ok, "the kernel counts it per thread (schedstat)".to_owned(), ""),
        Err(problem) => {
            let remedy = "boot a kernel with CONFIG_SCHEDSTATS; mount /proc without hidepid, or give the controller \
                           CAP_SYS_PTRACE";
            check("cpu-time", State::Missing, problem, remedy)
        }
    }
}

/// What other controllers hold now: not a fault of this host, but runs may wait for it.
fn leases(pages: &[ControllerLeases]) -> Check {
    let of = |page: &ControllerLeases| {
        let cpus: Vec<String> =
            page.held.iter().flat_map(|held| &held.cpus).map(ToString::to_string).collect();
        let memory_mib: u64 = page.held.iter().map(|held| held.memory_mib).sum();
        let (pid, campaign, since) = (page.pid, &page.campaign, &page.since);
        format!(
            "{campaign} (process {pid}, since {since}) holds CPUs {} and {memory_mib} MiB",
            cpus.join(",")
        )
    };
    let found = match pages {
        [] => "no controller holds cores or memory".to_owned(),
        pages => pages.iter().map(of).collect::<Vec<_>>().join("; "),
    };
    Check { blocking: false, ..check("leases", State::Ok, found, "") }
}

/// What would surround a machine started now. What is missing makes a run no worse, but its host less safe.
fn isolation(words: Vec<String>, missing: Vec<String>) -> Check {
    let remedy =
        "run as root (it starts QEMU as an unprivileged user) in a memory cgroup that may be divided";
    let found = words.into_iter().chain(missing.iter().cloned()).collect::<Vec<_>>().join("; ");
    let (state, remedy) = if missing.is_empty() { (State::Ok, "") } else { (State::Degraded, remedy) };
    Check { blocking: false, ..check("isolation", state, found, remedy) }
}

fn capacity_checks(survey: &Survey, machine: &Machine) -> [Check; 2] {
    let cores = &survey.cores;
    let leases = Leases::new(cores, &survey.memory);
    let at_once = |vcpus| leases.capacity(vcpus, 0);
    let (sequential, concurrent) = (at_once(machine.sequential_cores), at_once(machine.concurrent_cores));
    let found = format!(
        "{} of {} cores usable whole, {} socket{}; at once without sharing: {sequential} sequential or \
         {concurrent} concurrent runs",
        cores.usable_cores().count(),
        cores.cores.len(),
        cores.sockets(),
        if cores.sockets() == 1 { "" } else { "s" },
    );
    let remedy = |runs: &str, vcpus: u32| {
        format!(
            "{runs} runs need {vcpus} whole cores of one socket and one more for the controller; or \
             --allow-degraded: shared, marked {}",
            Mark::SHARED_CORES
        )
    };
    let cores = if sequential == 0 {
        check("cores", State::Degraded, found, &remedy("all", machine.sequential_cores))
    } else if concurrent == 0 {
        check("cores", State::Degraded, found, &remedy("concurrent", machine.concurrent_cores))
    } else {
        check("cores", State::Ok, found, "")
    };

    let memory = &survey.memory;
    let limit = memory.limited_by.as_ref().map(|group| format!(" (limited by {})", group.display()));
    let found = format!(
        "{} of {} MiB available{}: {} machines of {} MiB at once",
        memory.available_mib,
        memory.total_mib,
        limit.unwrap_or_default(),
        memory.available_mib / machine.memory_mib.max(1),
        machine.memory_mib
    );
    let memory = match memory.available_mib >= machine.memory_mib {
        true => check("memory", State::Ok, found, ""),
        false => {
            let remedy = format!(
                "free some, or --allow-degraded: overcommitted, marked {}",
                Mark::OVERCOMMITTED_MEMORY
            );
            check("memory", State::Degraded, found, &remedy)
        }
    };
    [cores, memory]
}

fn disk(folder: &Path) -> Result<Check, HostError> {
    let space = nix::sys::statvfs::statvfs(folder)
        .map_err(|source| HostError::Read { path: folder.to_owned(), source: source.into() })?;
    // Block counts and sizes differ in width by platform.
    #[allow(clippy::unnecessary_cast)]
    let free_mib = (space.blocks_available() as u64).saturating_mul(space.fragment_size() as u64) >> 20;
    let found = format!("{free_mib} MiB free in {}", folder.display());
    Ok(match free_mib >= FREE_MIB {
        true => check("disk", State::Ok, found, ""),
        false => {
            let remedy = format!("free {FREE_MIB} MiB, or give another folder with --dir");
            check("disk", State::Missing, found, &remedy)
        }
    })
}

/// A program that only building disks needs.
fn build_program((name, package): (&'static str, &str), path: Option<PathBuf>) -> Check {
    let (state, found, remedy) = match path {
        Some(path) => (State::Ok, path.display().to_string(), String::new()),
        None => (
            State::Missing,
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
    use mcc_host::{Core, Cores, MachineLease, Memory};

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
        Report::new(checks).verdict
    }

    #[test]
    fn a_host_with_everything_is_fit_for_a_contest_even_without_tcg() {
        assert_eq!(verdict(true, true, 8, 60000), HostVerdict::Contest);
        assert_eq!(verdict(true, false, 8, 60000), HostVerdict::Contest);
    }

    #[test]
    fn what_can_be_degraded_needs_the_flag_and_names_it() {
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
    fn a_missing_cpu_flag_is_named_and_needs_the_flag() {
        let told = |flags: Option<&[&'static str]>| {
            let cpu_flags = flags.map(|flags| flags.iter().copied().collect());
            cpu_flags_check(&Probe { cpu_flags, ..probe(true) })
        };
        let usable_cores = told(Some(&["sse", "avx", "vme"]));
        assert_eq!(
            (usable_cores.state, &*usable_cores.found),
            (State::Ok, "2 of 2 required flags under kvm; also: vme")
        );
        let lacking = told(Some(&["sse"]));
        assert_eq!(lacking.state, State::Degraded);
        assert!(lacking.found.contains("missing: avx") && lacking.remedy.contains("--allow-degraded"));
        assert_eq!(told(None).state, State::Degraded, "what nobody saw is not there");
    }

    fn cpu_flags_check(probe: &Probe) -> Check {
        cpu_flags(&machine(), Accelerator::Kvm, probe)
    }

    #[test]
    fn a_host_whose_cpu_time_cannot_be_read_cannot_run_campaigns() {
        assert_eq!(cpu_time(Ok(())).state, State::Ok);
        let unreadable = cpu_time(Err("/proc/7/task/7/schedstat: No such file".into()));
        assert!(unreadable.found.contains("schedstat") && unreadable.remedy.contains("hidepid"));
        assert_eq!(Report::new(vec![unreadable]).verdict, HostVerdict::Cannot);
    }

    #[test]
    fn who_holds_what_is_named() {
        let held = vec![MachineLease { cpus: vec![2, 3], memory_mib: 16384, shared: false }];
        let page = ControllerLeases {
            pid: 7,
            since: "2018-05-11T10:00:00Z".into(),
            campaign: "may.toml".into(),
            held,
        };
        let found = leases(&[page]).found;
        assert_eq!(found, "may.toml (process 7, since 2018-05-11T10:00:00Z) holds CPUs 2,3 and 16384 MiB");
    }

    #[test]
    fn what_is_missing_of_the_isolation_is_named() {
        let check = isolation(vec!["sandbox on".into()], vec!["no cgroup: none here".into()]);
        assert_eq!((check.state, &*check.found), (State::Degraded, "sandbox on; no cgroup: none here"));
        assert!(!check.blocking && !check.remedy.is_empty());
    }

    #[test]
    fn without_any_accelerator_there_is_no_way() {
        assert_eq!(verdict(false, false, 8, 60000), HostVerdict::Cannot);
    }

    #[test]
    fn programs_that_only_build_images_do_not_decide() {
        let report = Report::new(PROGRAMS.map(|program| build_program(program, None)).into());
        assert_eq!(report.verdict, HostVerdict::Contest);
        for check in report.checks {
            assert_eq!(check.state, State::Missing);
            assert!(check.remedy.contains("apt-get install"), "{}", check.remedy);
        }
    }
}

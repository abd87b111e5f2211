//! Reads the state of a host from `/sys` and `/proc`: settings that change how fast its cores are, and counters of what used
//! them. A file that does not exist or is not readable is no error: its setting or counter is unknown.

use mcc_base::Mark;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The longest text of a setting, in characters.
const MAX_TEXT: usize = 1000;

/// The unit of `/proc/stat` and of the times in `/proc/PID/stat` on Linux (USER_HZ is 100), ms.
pub const TICK_MS: u64 = 10;

/// The settings of a host by name, and the names of those that are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// The known settings.
    pub known: BTreeMap<&'static str, String>,
    /// The settings for which the host has no source.
    pub unknown: BTreeSet<&'static str>,
}

/// A setting that does not meet the requirements of a contest, or is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetSetting {
    /// The name of the setting.
    pub name: &'static str,
    /// What was found.
    pub found: String,
    /// The command that corrects it, or what to do instead.
    pub remedy: String,
    /// The mark of runs on this host.
    pub mark: Mark,
}

const GOVERNOR: &str = "governor";
const SWAP: &str = "swap";

impl HostSettings {
    /// Reads the settings below `root` (`/` on a real host). Those of CPUs are read of `cpus`; different values of
    /// several CPUs are separated by commas.
    pub fn read(root: &Path, cpus: &[u32]) -> Self {
        let of_cpus = |file: &str| of_cpus(root, cpus, file);
        let limits = || {
            let range = |cpu: &u32| {
                let limit = |end: &str| cpu_text(root, *cpu, &format!("cpufreq/scaling_{end}_freq"));
                Some(format!("{} to {} kHz", limit("min")?, limit("max")?))
            };
            distinct(cpus.iter().map(range))
        };
        let turbo = || {
            let on = |file: &str, on: &str| {
                let value = text(root, &format!("sys/devices/system/cpu/{file}"))?;
                Some(if value == on { "on" } else { "off" }.to_owned())
            };
            on("intel_pstate/no_turbo", "0").or_else(|| on("cpufreq/boost", "1"))
        };
        let kernel = || {
            let part = |name: &str| text(root, &format!("proc/sys/kernel/{name}"));
            Some(format!("{} {}", part("osrelease")?, part("version")?))
        };
        let pages = |file: &str| {
            let value = text(root, &format!("sys/kernel/mm/transparent_hugepage/{file}"))?;
            let chosen = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
            Some(chosen.map_or(value.clone(), |(chosen, _)| chosen.to_owned()))
        };
        let transparent = || Some(format!("{}, defragmentation {}", pages("enabled")?, pages("defrag")?));
        let all = [
            (GOVERNOR, of_cpus("cpufreq/scaling_governor")),
            ("frequency limits", limits()),
            ("turbo", turbo()),
            ("SMT", text(root, "sys/devices/system/cpu/smt/control")),
            ("microcode", of_cpus("microcode/version").or_else(|| microcode(root))),
            ("NUMA balancing", text(root, "proc/sys/kernel/numa_balancing")),
            ("huge pages", text(root, "proc/sys/vm/nr_hugepages")),
            ("transparent huge pages", transparent()),
            ("kernel", kernel()),
            ("mitigations", mitigations(root)),
            (SWAP, swap_kib(root).map(|(total, _)| format!("{total} KiB"))),
        ];
        let mut settings = Self::default();
        for (name, value) in all {
            match value {
                Some(value) => drop(settings.known.insert(name, value.chars().take(MAX_TEXT).collect())),
                None => drop(settings.unknown.insert(name)),
            }
        }
        settings
    }

    /// Returns the settings that differ, with their later value.
    pub fn changes(&self, later: &Self) -> BTreeMap<String, String> {
        let names: BTreeSet<_> = self.known.keys().chain(later.known.keys()).collect();
        let differs = |name: &&&str| self.known.get(**name) != later.known.get(**name);
        let value = |name: &str| later.known.get(name).map_or("unknown", String::as_str).to_owned();
        names.into_iter().filter(differs).map(|name| ((*name).to_owned(), value(name))).collect()
    }

    /// Returns the settings that a contest does not accept: a governor other than `performance`, and swap space.
    pub fn unmet(&self) -> Vec<UnmetSetting> {
        let mut unmet = vec![];
        let governor = self.known.get(GOVERNOR).map(String::as_str);
        if governor != Some("performance") {
            let (found, remedy) = match governor {
                Some(found) => (
                    found.to_owned(),
                    "as root: echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
                ),
                None => (
                    "unknown: this host does not report it (cpufreq/scaling_governor in /sys/devices/system/cpu/cpu0)"
                        .to_owned(),
                    "use a host that reports it; virtual machines usually do not",
                ),
            };
            unmet.push(UnmetSetting {
                name: GOVERNOR,
                found,
                remedy: remedy.to_owned(),
                mark: Mark::GOVERNOR,
            });
        }
        let swap = self.known.get(SWAP).map(String::as_str);
        if swap != Some("0 KiB") {
            let found = swap.unwrap_or("unknown: /proc/meminfo does not report it").to_owned();
            unmet.push(UnmetSetting {
                name: SWAP,
                found,
                remedy: "as root: swapoff -a".into(),
                mark: Mark::SWAP,
            });
        }
        unmet
    }
}

/// Counters of a host since its start. None: the host has no source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// User time of all processes on the cores, guests included, ms.
    pub user_ms: Option<u64>,
    /// System time on the cores, without interrupts, ms.
    pub system_ms: Option<u64>,
    /// Time of the cores that the hypervisor below gave to others, ms.
    pub steal_ms: Option<u64>,
    /// Time in which a task waited for a CPU, us.
    pub cpu_pressure_us: Option<u64>,
    /// Time in which a task waited for memory, us.
    pub memory_pressure_us: Option<u64>,
    /// Time in which a task waited for a disk, us.
    pub io_pressure_us: Option<u64>,
    /// How often the cores and their packages were slowed because of their temperature.
    pub throttled: Option<u64>,
    /// Swap space in use, KiB.
    pub swap_used_kib: Option<u64>,
}

impl HostCounters {
    /// Reads the counters below `root`. Those of cores are sums over `cpus`.
    pub fn read(root: &Path, cpus: &[u32]) -> Self {
        let stat = fs::read_to_string(root.join("proc/stat")).unwrap_or_default();
        // The fields: user, nice, system, idle, iowait, irq, softirq, steal. User time contains guest time.
        let fields = |cpu: &u32| {
            let line = stat.lines().find_map(|line| line.strip_prefix(&format!("cpu{cpu} ")))?;
            let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
            fields.filter(|fields| fields.len() >= 8)
        };
        let lines: Option<Vec<Vec<u64>>> = cpus.iter().map(fields).collect();
        let lines = lines.filter(|lines| !lines.is_empty());
        let sum = |wanted: &[usize]| {
            let ticks =
                |line: &Vec<u64>| wanted.iter().map(|field| line[*field]).fold(0, u64::saturating_add);
            let lines = lines.as_ref()?;
            Some(lines.iter().map(ticks).fold(0, u64::saturating_add).saturating_mul(TICK_MS))
        };
        let pressure = |resource: &str| {
            let text = text(root, &format!("proc/pressure/{resource}"))?;
            let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
            line.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
        };
        let count = |cpu: &u32| {
            let throttle_count =
                |unit: &str| cpu_text(root, *cpu, &format!("thermal_throttle/{unit}_throttle_count"));
            let number = |unit: &str| throttle_count(unit)?.parse::<u64>().ok();
            Some(number("core")?.saturating_add(number("package")?))
        };
        let throttled = cpus.iter().map(count).try_fold(0_u64, |sum, n| Some(sum.saturating_add(n?)));
        Self {
            user_ms: sum(&[0, 1]),
            system_ms: sum(&[2]),
            steal_ms: sum(&[7]),
            cpu_pressure_us: pressure("cpu"),
            memory_pressure_us: pressure("memory"),
            io_pressure_us: pressure("io"),
            throttled: throttled.filter(|_| !cpus.is_empty()),
            swap_used_kib: swap_kib(root).map(|(_, used)| used),
        }
    }
}

/// Returns all hardware threads of the cores of these CPUs. A CPU without topology is a core of its own.
pub fn threads_of_cores(root: &Path, cpus: &[u32]) -> Vec<u32> {
    let threads = |cpu: &u32| {
        let list = cpu_text(root, *cpu, "topology/thread_siblings_list");
        list.and_then(|list| super::cores::parse_list(&list)).unwrap_or_default().into_iter().chain([*cpu])
    };
    cpus.iter().flat_map(threads).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The text of a file without white space at its ends; None if there is none.
fn text(root: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(root.join(path)).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn cpu_text(root: &Path, cpu: u32, file: &str) -> Option<String> {
    text(root, &format!("sys/devices/system/cpu/cpu{cpu}/{file}"))
}

/// The different values of a file of these CPUs; None if one of them has none.
fn of_cpus(root: &Path, cpus: &[u32], file: &str) -> Option<String> {
    distinct(cpus.iter().map(|cpu| cpu_text(root, *cpu, file)))
}

fn distinct(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let values: BTreeSet<String> = values.collect::<Option<_>>()?;
    let text = values.into_iter().collect::<Vec<_>>().join(", ");
    Some(text).filter(|text| !text.is_empty())
}

/// The microcode of the first CPU. The rest of the file is not read: it takes long on hosts with many CPUs.
fn microcode(root: &Path) -> Option<String> {
    let file = fs::File::open(root.join("proc/cpuinfo")).ok()?;
    let mut lines = BufReader::new(file).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let line = lines.find(|line| line.starts_with("microcode"))?;
    line.split_once(':').map(|(_, version)| version.trim().to_owned())
}

/// The vulnerabilities of the processor with their mitigations.
fn mitigations(root: &Path) -> Option<String> {
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let names = fs::read_dir(root.join(folder)).ok()?.flatten().map(|entry| entry.file_name());
    let names: BTreeSet<String> = names.filter_map(|name| name.into_string().ok()).collect();
    let mitigation = |name: &String| {
        let state = text(root, &format!("{folder}/{name}"))?;
        (state != "Not affected").then(|| format!("{name}: {state}"))
    };
    let affected: Vec<String> = names.iter().filter_map(mitigation).collect();
    Some(if affected.is_empty() { "not affected".to_owned() } else { affected.join("; ") })
}

/// The swap space and the part of it in use, KiB.
fn swap_kib(root: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let total = kib("SwapTotal:")?;
    Some((total, total.saturating_sub(kib("SwapFree:")?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostError;
    use std::path::PathBuf;

    /// Files of a host: `virtual-machine` was recorded, `server` is written after the documentation of the kernel.
    fn recorded(host: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/hosts").join(host)
    }

    /// A copy of a recorded host whose files can be changed.
    fn copy(host: &str) -> tempfile::TempDir {
        fn copy_folder(from: &Path, to: &Path) {
            fs::create_dir_all(to).unwrap();
            for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
                let to = to.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    copy_folder(&entry.path(), &to);
                } else {
                    fs::copy(entry.path(), to).unwrap();
                }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        copy_folder(&recorded(host), folder.path());
        folder
    }

    #[test]
    fn the_settings_of_a_server_are_read() {
        let settings = HostSettings::read(&recorded("server"), &[1, 3]);
        let expected = [
            (GOVERNOR, "performance"),
            ("NUMA balancing", "1"),
            ("SMT", "on"),
            ("frequency limits", "800000 to 3500000 kHz"),
            ("huge pages", "0"),
            ("kernel", "6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)"),
            ("microcode", "0x5003604"),
            ("mitigations", "mds: Mitigation: Clear CPU buffers; SMT vulnerable; meltdown: Mitigation: PTI"),
            (SWAP, "0 KiB"),
            ("transparent huge pages", "madvise, defragmentation madvise"),
            ("turbo", "off"),
        ];
        assert_eq!(settings.known, expected.map(|(name, value)| (name, value.to_owned())).into());
        assert!(settings.unknown.is_empty() && settings.unmet().is_empty());
    }

    #[test]
    fn sources_that_a_virtual_machine_lacks_are_named() {
        let host = recorded("virtual-machine");
        let settings = HostSettings::read(&host, &[1]);
        assert_eq!(settings.unknown, [GOVERNOR, "frequency limits", "turbo"].into());
        assert_eq!(settings.known["microcode"], "0x1000065", "from /proc/cpuinfo");
        assert_eq!(settings.known["SMT"], "notsupported");
        let counters = HostCounters::read(&host, &[1]);
        assert_eq!((counters.throttled, counters.steal_ms), (None, Some(1910)));
    }

    #[test]
    fn an_empty_root_has_only_unknown_settings() {
        let folder = tempfile::tempdir().unwrap();
        let settings = HostSettings::read(folder.path(), &[0]);
        assert!(settings.known.is_empty());
        assert_eq!(settings.unknown.len(), 11);
        assert_eq!(HostCounters::read(folder.path(), &[0]), HostCounters::default());
        assert_eq!(threads_of_cores(folder.path(), &[2, 0]), [0, 2]);
    }

    #[test]
    fn a_contest_requires_the_governor_performance_and_no_swap() {
        let host = copy("server");
        let governor = "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor";
        fs::write(host.path().join(governor), "powersave\n").unwrap();
        let meminfo = host.path().join("proc/meminfo");
        fs::write(meminfo, "SwapTotal:  2097148 kB\nSwapFree:   2097148 kB\n").unwrap();
        let unmet = HostSettings::read(host.path(), &[1, 3]).unmet();
        let found: Vec<_> = unmet.iter().map(|unmet| (unmet.name, unmet.found.as_str())).collect();
        assert_eq!(found, [(GOVERNOR, "performance, powersave"), (SWAP, "2097148 KiB")]);
        let messages: Vec<String> =
            unmet.into_iter().map(|unmet| HostError::Setting(unmet).to_string()).collect();
        assert!(messages[0].contains("echo performance | tee"), "{}", messages[0]);
        assert!(
            messages[1].contains("swapoff -a") && messages[1].contains("--allow-degraded"),
            "{}",
            messages[1]
        );
        let of_vm = HostSettings::read(&recorded("virtual-machine"), &[1]).unmet();
        assert_eq!(of_vm.len(), 1);
        assert!(of_vm[0].found.starts_with("unknown"), "{}", of_vm[0].found);
    }

    #[test]
    fn a_changed_or_lost_setting_is_found() {
        let host = copy("server");
        let before = HostSettings::read(host.path(), &[1]);
        assert_eq!(before.changes(&HostSettings::read(host.path(), &[1])), BTreeMap::new());
        fs::write(host.path().join("sys/devices/system/cpu/intel_pstate/no_turbo"), "0\n").unwrap();
        fs::remove_file(host.path().join("proc/sys/kernel/numa_balancing")).unwrap();
        let changes = before.changes(&HostSettings::read(host.path(), &[1]));
        assert_eq!(
            changes,
            [("NUMA balancing", "unknown"), ("turbo", "on")].map(|(k, v)| (k.into(), v.into())).into()
        );
    }

    #[test]
    fn counters_are_summed_over_the_hardware_threads() {
        let host = recorded("server");
        let threads = threads_of_cores(&host, &[1]);
        assert_eq!(threads, [1, 3]);
        let expected = HostCounters {
            user_ms: Some(2 * (100 + 10) * 10),
            system_ms: Some(2 * 50 * 10),
            steal_ms: Some(0),
            cpu_pressure_us: Some(1000),
            memory_pressure_us: Some(2000),
            io_pressure_us: Some(3000),
            throttled: Some(4 * 2),
            swap_used_kib: Some(0),
        };
        assert_eq!(HostCounters::read(&host, &threads), expected);
    }

    #[test]
    fn invalid_counters_are_unknown() {
        let host = copy("server");
        fs::write(host.path().join("proc/stat"), "cpu1 1 2 3\ncpu3 x\n").unwrap();
        fs::write(host.path().join("proc/pressure/cpu"), "some total=-1\n").unwrap();
        let counters = HostCounters::read(host.path(), &[1, 3]);
        assert_eq!((counters.user_ms, counters.cpu_pressure_us), (None, None));
        assert_eq!(counters.io_pressure_us, Some(3000));
    }
}

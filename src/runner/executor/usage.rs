//! Measures the resource usage of a run. Times are those of the host's monotonic clock and of the vCPU threads in the
//! host's kernel, which a guest cannot forge. Memory has three sources, and the record names the one that was used.

use mcc_store::{MemorySource, Sample};
use mcc_vm::{Machine, VmError};
use std::time::{Duration, Instant};

/// Time between samples, as in the contest's monitoring (E-5.6).
pub(super) const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);

/// Memory that a guest may use in addition to the cgroup of the tool. A guest of 16 GiB with the agent uses 210 to 220 MiB.
const MAX_UNCOUNTED_KIB: u64 = 320 << 10;

pub(super) struct UsageMeter {
    pub started: Instant,
    cpu_before: Duration,
    next_sample: Instant,
    /// The moment until which the machine is certainly within its limits.
    pub within_until: Instant,
    /// Memory of the tool's cgroup, as last reported by the guest.
    memory_kib: u64,
    /// Peak memory, reported by the guest at the end of the tool.
    peak_kib: Option<u64>,
    /// Runnable threads, as last reported by the guest.
    runnable: u32,
    pub io_wait_ms: Option<u64>,
    pub kernel_log: Vec<String>,
    pub samples: Vec<Sample>,
    wall_time: WallTime,
}

/// The wall time of a run that is not the tool's, because QEMU was stopped by a signal or a debugger of the host.
///
/// In all other time a vCPU runs, waits for a core, waits for QEMU's devices, or is idle. These states depend on the guest,
/// so they are the tool's. Only a process of the host with the right to do so can stop another process.
#[derive(Default)]
struct WallTime {
    /// Wall time and CPU time at the last check, and whether QEMU was stopped then.
    last: (Duration, Duration, bool),
    held: Duration,
}

impl WallTime {
    /// Takes a check, and returns the time for which QEMU was stopped until now: the intervals between checks at whose
    /// start or end it was, less the CPU time that it used in them.
    fn held_until(&mut self, wall: Duration, cpu: Duration, is_held: bool) -> Duration {
        let (last_wall, last_cpu, was_held) = std::mem::replace(&mut self.last, (wall, cpu, is_held));
        if was_held || is_held {
            self.held += wall.saturating_sub(last_wall).saturating_sub(cpu.saturating_sub(last_cpu));
        }
        self.held
    }
}

impl UsageMeter {
    /// Starts a measurement.
    ///
    /// # Errors
    /// `VmError::CpuTime`: the host does not report the CPU time of the machine.
    pub fn start(machine: &mut Machine) -> Result<Self, VmError> {
        let started = Instant::now();
        let cpu_before = machine.cpu_time()?;
        if cpu_before.is_zero() {
            return Err(VmError::CpuTime {
                path: format!("/proc/{}/task", machine.pid()).into(),
                problem: "0 ns for a guest that has booted".to_owned(),
            });
        }
        Ok(Self {
            started,
            cpu_before,
            next_sample: started + SAMPLE_INTERVAL,
            within_until: started,
            memory_kib: 0,
            peak_kib: None,
            runnable: 0,
            io_wait_ms: None,
            kernel_log: vec![],
            samples: vec![],
            wall_time: WallTime::default(),
        })
    }

    /// Returns the time of the run for which QEMU was stopped until now. To be called at each check.
    pub fn held(&mut self, machine: &Machine, wall: Duration, cpu: Duration) -> Duration {
        self.wall_time.held_until(wall, cpu, machine.is_held())
    }

    /// Returns wall time and CPU time (summed over the vCPUs) since the start.
    pub fn read(&self, machine: &mut Machine) -> Result<(Duration, Duration), VmError> {
        let cpu = machine.cpu_time()?;
        Ok((self.started.elapsed(), cpu.saturating_sub(self.cpu_before)))
    }

    pub fn record_guest_sample(&mut self, memory_kib: u64, io_wait_ms: u64, runnable: u32) {
        self.memory_kib = memory_kib;
        self.runnable = runnable;
        self.io_wait_ms = Some(io_wait_ms);
    }

    pub fn record_guest_end(&mut self, peak_kib: u64, io_wait_ms: u64, kernel_log: Vec<String>) {
        // A guest without cgroups reports 0.
        self.peak_kib = (peak_kib > 0).then_some(peak_kib);
        self.io_wait_ms = Some(io_wait_ms);
        self.kernel_log = kernel_log;
    }

    /// Takes a sample if one is due, and returns when the next one is due. The host takes samples even if the guest no
    /// longer reports.
    pub fn sample(&mut self, machine: &mut Machine) -> Result<Instant, VmError> {
        let now = Instant::now();
        if now >= self.next_sample {
            let (wall, cpu) = self.read(machine)?;
            let instructions = machine.instructions().ok();
            self.samples.push(Sample {
                at_ms: wall.as_millis() as u64,
                cpu_ms: cpu.as_millis() as u64,
                memory_kib: self.memory_kib,
                balloon_memory_kib: machine.balloon_kib()?,
                host_memory_kib: machine.rss_kib().map_or(0, |(now, _)| now),
                io_wait_ms: self.io_wait_ms.unwrap_or(0),
                runnable: self.runnable,
                stdout_bytes: machine.received().0,
                instructions_user: instructions.map(|counted| counted.user),
                instructions_kernel: instructions.map(|counted| counted.kernel),
            });
            // Multiples of the interval after the start. After a stall one sample is taken, not all that are missing.
            while self.next_sample <= now {
                self.next_sample += SAMPLE_INTERVAL;
            }
        }
        Ok(self.next_sample)
    }

    /// Peak memory of the guest, from the balloon.
    pub fn balloon(&self) -> Option<u64> {
        self.samples.iter().filter_map(|sample| sample.balloon_memory_kib).max()
    }

    /// Peak memory of the tool, from the best available source. Some memory of the guest's kernel, such as messages between
    /// netlink sockets, belongs to no cgroup. If the guest used much more than the cgroup, that of the guest counts.
    pub fn memory(&self) -> (Option<u64>, Option<MemorySource>) {
        let sampled = || self.samples.iter().map(|sample| sample.memory_kib).max().filter(|kib| *kib > 0);
        let from_cgroup = self.peak_kib.map(|kib| (kib, MemorySource::GuestCgroup));
        let counted = from_cgroup.or_else(|| sampled().map(|kib| (kib, MemorySource::GuestCgroupSamples)));
        let least = counted.map_or(0, |(kib, _)| kib + MAX_UNCOUNTED_KIB);
        let of_guest = self.balloon().filter(|kib| *kib > least).map(|kib| (kib, MemorySource::Balloon));
        of_guest.or(counted).unzip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(samples: &[(u64, Option<u64>)]) -> UsageMeter {
        let sample = |&(memory_kib, balloon_memory_kib): &(u64, Option<u64>)| Sample {
            memory_kib,
            balloon_memory_kib,
            ..Sample::default()
        };
        UsageMeter {
            started: Instant::now(),
            cpu_before: Duration::ZERO,
            next_sample: Instant::now(),
            within_until: Instant::now(),
            memory_kib: 0,
            peak_kib: None,
            runnable: 0,
            io_wait_ms: None,
            kernel_log: vec![],
            samples: samples.iter().map(sample).collect(),
            wall_time: WallTime::default(),
        }
    }

    #[test]
    fn time_of_a_stopped_qemu_is_counted_and_idle_time_is_not() {
        const S: Duration = Duration::from_secs(1);
        let mut wall_time = WallTime::default();
        assert_eq!(wall_time.held_until(S, S, false), Duration::ZERO);
        assert_eq!(wall_time.held_until(300 * S, S, false), Duration::ZERO, "an idle guest");
        assert_eq!(wall_time.held_until(301 * S, S + S / 4, true), S - S / 4);
        assert_eq!(wall_time.held_until(303 * S, S + S / 4, true), 3 * S - S / 4);
        assert_eq!(wall_time.held_until(304 * S, S + S / 2, false), 4 * S - S / 2);
        assert_eq!(wall_time.held_until(900 * S, S + S / 2, false), 4 * S - S / 2);
        // Four vCPUs use more CPU time than wall time.
        assert_eq!(wall_time.held_until(901 * S, 6 * S, true), 4 * S - S / 2);
    }

    #[test]
    fn peak_memory_comes_from_the_best_source_and_names_it() {
        let both = [(10, Some(100)), (30, Some(90)), (20, None)];
        let mut ended = meter(&both);
        ended.record_guest_end(35, 0, vec![]);
        assert_eq!(ended.memory(), (Some(35), Some(MemorySource::GuestCgroup)));
        assert_eq!(ended.balloon(), Some(100));
        assert_eq!(
            meter(&both).memory(),
            (Some(30), Some(MemorySource::GuestCgroupSamples)),
            "no report at the end of the tool"
        );
        let mut evading = meter(&[(10, Some(35 + MAX_UNCOUNTED_KIB)), (10, Some(36 + MAX_UNCOUNTED_KIB))]);
        evading.record_guest_end(36, 0, vec![]);
        assert_eq!(evading.memory(), (Some(36), Some(MemorySource::GuestCgroup)));
        evading.record_guest_end(35, 0, vec![]);
        assert_eq!(evading.memory(), (Some(36 + MAX_UNCOUNTED_KIB), Some(MemorySource::Balloon)));
        let mut without_cgroups = meter(&[(0, Some(100))]);
        without_cgroups.record_guest_end(0, 0, vec![]);
        assert_eq!(without_cgroups.memory(), (Some(100), Some(MemorySource::Balloon)));
        assert_eq!(meter(&[(0, None)]).memory(), (None, None));
    }
}

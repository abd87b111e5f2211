//! What a machine uses, as the host measures it and the guest's kernel reports it.

use super::{BALLOON, Machine};
use crate::error::VmError;
use crate::instructions::{Counters, InstructionSource, Instructions};
use crate::{cpu_time, vcpu_load};
use serde_json::json;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Memory statistics of the guest's kernel, queried over QMP.
#[derive(Debug, Default)]
pub(super) struct Balloon {
    query_pending: bool,
    used_kib: Option<u64>,
}

impl Balloon {
    /// Takes a value from an answer in bytes. Missing values are -1; values above the machine's memory are impossible.
    /// Both are ignored. A guest without the driver reports nothing.
    pub(super) fn update(&mut self, answer: &serde_json::Value, most_kib: u64) {
        self.query_pending = false;
        let stat = |name: &str| answer["return"]["stats"][name].as_u64().filter(|bytes| *bytes < u64::MAX);
        if let (Some(total), Some(available)) = (stat("stat-total-memory"), stat("stat-available-memory")) {
            let used = total.saturating_sub(available) / 1024;
            self.used_kib = (used <= most_kib).then_some(used).or(self.used_kib);
        }
    }
}

/// Since when a vCPU thread is known to have ended while its process still exists.
#[derive(Debug, Default)]
pub(super) struct ThreadEnd(Option<Instant>);

impl ThreadEnd {
    /// Takes a check at which a thread has ended, and returns whether its process has existed for longer than it needs to give
    /// back its memory. It runs then, and only a guest that has taken QEMU over can end a thread alone.
    fn is_outlived(&mut self, now: Instant) -> bool {
        now.duration_since(*self.0.get_or_insert(now)) > Duration::from_secs(30)
    }
}

impl Machine {
    /// Returns the user and system time of the vCPU threads since their start. The guest cannot forge it. After the
    /// end of these threads it is the value that was read last.
    ///
    /// # Errors
    /// `VmError::CpuTime`: QEMU runs and the time cannot be read. If a vCPU thread ended and QEMU did not: the end of QEMU,
    /// which is killed then.
    pub fn cpu_time(&mut self) -> Result<Duration, VmError> {
        let process = self.qemu.id();
        let threads = self.vcpu_threads.iter();
        let proc = Path::new("/proc");
        let read = threads.clone().map(|thread| cpu_time::of_thread(proc, process, *thread)).sum();
        match read {
            Ok(ns) => self.cpu_time = Duration::from_nanos(ns),
            Err(_) if threads.clone().any(|thread| cpu_time::has_ended(proc, process, *thread)) => {
                if self.thread_end.is_outlived(Instant::now()) {
                    return Err(self.with_cause(VmError::Gone("after one of its vCPU threads".to_owned())));
                }
            }
            Err(_) if self.qemu.ends_within(Duration::from_secs(1)) => {}
            Err(error) => return Err(error),
        }
        Ok(self.cpu_time)
    }

    /// Counts instructions from now on. The guest should wait, so that the moment does not depend on the host.
    pub fn restart_instructions(&mut self) {
        self.instructions_before = self.all_instructions().unwrap_or_default();
    }

    /// Lets the guest execute so many instructions from now on, together on all vCPUs: at user addresses, or with the channel
    /// `ssh` all. The block that would exceed them is not executed, and its vCPU waits.
    ///
    /// # Errors
    /// `VmError::InstructionLimit`: instructions are not counted by the plugin.
    pub fn apply_instruction_limit(&self, instructions: u64) -> Result<(), VmError> {
        let applied = match &self.counters {
            Ok(Counters::Plugin(counters)) => {
                counters.apply_limit(instructions).map_err(|error| error.to_string())
            }
            Ok(Counters::Perf(_)) => Err("perf events count after the fact".to_owned()),
            Err(reason) => Err(reason.clone()),
        };
        applied.map_err(VmError::InstructionLimit)
    }

    /// Ends the limit of instructions, if one applies.
    ///
    /// # Errors
    /// `VmError::InstructionLimit`: the file of the counters cannot be written.
    pub fn lift_instruction_limit(&self) -> Result<(), VmError> {
        match &self.counters {
            Ok(Counters::Plugin(counters)) => {
                counters.lift_limit().map_err(|error| VmError::InstructionLimit(error.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Whether a vCPU waits because the limit of instructions is reached.
    ///
    /// # Errors
    /// `VmError::InstructionLimit`: the file of the counters cannot be read.
    pub fn has_reached_instruction_limit(&self) -> Result<bool, VmError> {
        match &self.counters {
            Ok(Counters::Plugin(counters)) => {
                counters.is_limit_reached().map_err(|error| VmError::InstructionLimit(error.to_string()))
            }
            _ => Ok(false),
        }
    }

    /// Returns the instructions that the guest executed since `restart_instructions`, else since the start of QEMU; also
    /// after the end of QEMU. The guest cannot change their sum; one with a kernel of its own can execute code at addresses
    /// of the other kind.
    ///
    /// # Errors
    /// Why they are not counted.
    pub fn instructions(&self) -> Result<Instructions, String> {
        Ok(self.all_instructions()?.since(self.instructions_before))
    }

    /// What counts the instructions; None: nothing.
    pub fn instructions_source(&self) -> Option<InstructionSource> {
        self.counters.as_ref().ok().map(Counters::source)
    }

    fn all_instructions(&self) -> Result<Instructions, String> {
        self.counters.as_ref().map_err(String::clone)?.read().map_err(|error| error.to_string())
    }

    /// Returns the last reported memory in use by the whole guest, KiB; None if the guest reports nothing. Sends the
    /// next query, whose answer is read in `wait`.
    ///
    /// # Errors
    /// QEMU has ended.
    pub fn balloon_kib(&mut self) -> Result<Option<u64>, VmError> {
        // One query at a time: a QEMU that hangs does not read them.
        if !self.balloon.query_pending {
            self.balloon.query_pending = true;
            let sent = self.qmp.send(&json!({
                "execute": "qom-get",
                "arguments": {"path": BALLOON, "property": "guest-stats"},
                "id": BALLOON
            }));
            sent.map_err(|error| self.with_cause(error))?;
        }
        Ok(self.balloon.used_kib)
    }

    /// Returns QEMU's resident memory in KiB, now and at its peak. The peak is at least the memory that the guest used.
    pub fn rss_kib(&self) -> Option<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.qemu.id())).ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some((kib("VmRSS:")?, kib("VmHWM:")?))
    }

    /// Returns the space that the writes of the guest to its disks take on the host, KiB.
    pub fn disk_kib(&self) -> u64 {
        let blocks = self.overlays.iter().filter_map(|overlay| overlay.metadata().ok());
        blocks.map(|overlay| overlay.blocks() / 2).sum()
    }

    /// Whether QEMU is stopped by a signal or a debugger of the host. No guest can cause it.
    pub fn is_held(&self) -> bool {
        vcpu_load::any_is_held(Path::new("/proc"), self.pid(), &self.vcpu_threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qemu_that_outlives_a_vcpu_thread_by_seconds_has_not_ended() {
        let (mut thread_end, seen) = (ThreadEnd::default(), Instant::now());
        let after = |s| seen + Duration::from_secs(s);
        assert_eq!([0, 1, 30, 31].map(|s| thread_end.is_outlived(after(s))), [false, false, false, true]);
    }
}

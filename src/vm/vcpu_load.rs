//! What the vCPU threads of a machine used and waited for, as the host's kernel counts it.

use super::Machine;
use crate::host::TICK_MS;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Times of the vCPU threads of a machine since their start, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VcpuLoad {
    /// CPU time, user and system.
    pub cpu: Duration,
    /// Time in which a thread could run and had no CPU.
    pub waited: Duration,
    /// User time, guest time included; in steps of 10 ms.
    pub user: Duration,
}

impl VcpuLoad {
    /// Reads the times of these threads; None if one of them has ended.
    fn read(proc: &Path, process: u32, threads: &[i32]) -> Option<Self> {
        let mut sum = Self::default();
        for thread in threads {
            let text =
                |file: &str| fs::read_to_string(proc.join(format!("{process}/task/{thread}/{file}"))).ok();
            let schedstat = text("schedstat")?;
            let mut times =
                schedstat.split_whitespace().map(|time| time.parse().ok().map(Duration::from_nanos));
            sum.cpu = sum.cpu.checked_add(times.next()??)?;
            sum.waited = sum.waited.checked_add(times.next()??)?;
            // User time is the 12th field after the name.
            let ticks: u64 = stat_field(proc, process, *thread, 11)?.parse().ok()?;
            sum.user = sum.user.checked_add(Duration::from_millis(ticks.checked_mul(TICK_MS)?))?;
        }
        Some(sum)
    }
}

/// Reads field `number` after the name of the thread, which is in parentheses and may contain blanks.
fn stat_field(proc: &Path, process: u32, thread: i32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(proc.join(format!("{process}/task/{thread}/stat"))).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number).map(str::to_owned)
}

/// Whether one of these threads is stopped by a signal (`T`) or a debugger (`t`), as SIGSTOP stops all of a process.
pub(super) fn any_is_held(proc: &Path, process: u32, threads: &[i32]) -> bool {
    let state = |thread: &i32| stat_field(proc, process, *thread, 0);
    threads.iter().filter_map(state).any(|state| state.eq_ignore_ascii_case("t"))
}

impl Machine {
    /// Reads the times of the vCPU threads; None after the end of QEMU.
    pub fn vcpu_load(&self) -> Option<VcpuLoad> {
        VcpuLoad::read(Path::new("/proc"), self.pid(), self.vcpu_threads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_over_the_threads_and_bad_ones_are_unknown() {
        let proc = tempfile::tempdir().unwrap();
        let write = |thread: i32, file: &str, text: &str| {
            let task = proc.path().join(format!("7/task/{thread}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join(file), text).unwrap();
        };
        for thread in [7, 8] {
            write(thread, "schedstat", "2000000 3000000 9\n");
            write(thread, "stat", "8 (CPU 0) KVM) S 1 1 1 0 -1 4194304 1 0 0 0 250 30 0 0 20 0 4\n");
        }
        let ms = Duration::from_millis;
        let sum = VcpuLoad { cpu: ms(4), waited: ms(6), user: ms(5000) };
        assert_eq!(VcpuLoad::read(proc.path(), 7, &[7, 8]), Some(sum));
        for (file, text) in [("schedstat", "1"), ("schedstat", "1 -1 0"), ("stat", "8 (CPU) S 1")] {
            write(9, "schedstat", "1 1 1");
            write(9, "stat", "8 (CPU) S 1 1 1 0 -1 4194304 1 0 0 0 250 30");
            assert!(VcpuLoad::read(proc.path(), 7, &[9]).is_some());
            write(9, file, text);
            assert_eq!(VcpuLoad::read(proc.path(), 7, &[9]), None, "{file}: {text}");
        }
        assert_eq!(VcpuLoad::read(proc.path(), 7, &[7, 10]), None);
    }

    #[test]
    fn a_thread_is_held_if_a_signal_or_debugger_stopped_it() {
        let proc = tempfile::tempdir().unwrap();
        for (thread, state) in [(1, "S"), (2, "R"), (3, "D"), (4, "T"), (5, "t"), (6, "Z")] {
            let task = proc.path().join(format!("7/task/{thread}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("stat"), format!("{thread} (CPU 0/T (T) T) {state} 1 1\n")).unwrap();
        }
        let held = |threads: &[i32]| any_is_held(proc.path(), 7, threads);
        assert!(!held(&[]) && !held(&[1, 2, 3, 6, 9]));
        assert!(held(&[1, 4]) && held(&[5, 1]));
    }
}

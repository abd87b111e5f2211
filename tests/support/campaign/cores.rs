//! The cores of the host, shared by the campaigns of one test program.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use std::process::Command;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

/// The cores that no campaign holds.
static FREE: LazyLock<Mutex<Vec<usize>>> = LazyLock::new(|| Mutex::new(allowed()));
static RELEASED: Condvar = Condvar::new();

/// The cores that this process may use.
fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap()).collect()
}

/// Cores that a campaign holds; dropping it releases them.
pub struct HeldCores(Vec<usize>);

impl HeldCores {
    /// Waits until all cores are free.
    pub fn all() -> Self {
        Self::take(allowed().len())
    }

    /// Waits until a core is free.
    pub fn one() -> Self {
        Self::take(1)
    }

    fn take(count: usize) -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            RELEASED.wait_while(free, |free| free.len() < count).unwrap_or_else(PoisonError::into_inner);
        Self(free.drain(..count).collect())
    }

    /// A command that may use only these cores.
    pub fn command(&self, program: &str) -> Command {
        let cores: Vec<String> = self.0.iter().map(usize::to_string).collect();
        // By its path: a test may set PATH.
        let mut command = Command::new("/usr/bin/taskset");
        command.args(["--cpu-list", &cores.join(","), program]);
        command
    }
}

impl Drop for HeldCores {
    fn drop(&mut self) {
        FREE.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.0);
        RELEASED.notify_all();
    }
}

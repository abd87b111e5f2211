//! Counts the instructions that a guest executes under KVM, by perf events on the vCPU threads: two counters of the processor
//! for each thread, in guest mode only, user and kernel apart (`perf_event_open(2)`).
//!
//! **Untested**: no host with such counters has tried it. What kernels refuse is known, and tested with their answers.

use super::instructions::{Instructions, add};
use nix::errno::Errno;
use perf_event_open_sys::bindings::{
    PERF_COUNT_HW_INSTRUCTIONS, PERF_FLAG_FD_CLOEXEC, PERF_TYPE_HARDWARE, perf_event_attr,
};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// Where a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The guest's user mode.
    User,
    /// Its kernel mode.
    Kernel,
}

/// What makes counters: the kernel, and in tests its recorded answers.
pub(super) trait PerfEvents {
    /// Makes a counter of the instructions of one thread in guest mode, which counts from now on.
    fn open(&self, thread: i32, side: Side) -> io::Result<Box<dyn PerfCounter>>;
}

/// A counter.
pub(super) trait PerfCounter: Send {
    /// Reads the count, and the times in ns for which it was enabled and did count, each as 8 bytes. Fewer bytes: the
    /// kernel took the counter of the processor away.
    fn read(&self) -> io::Result<Vec<u8>>;
}

/// The kernel of this host.
pub(super) struct HostKernel;

impl PerfEvents for HostKernel {
    fn open(&self, thread: i32, side: Side) -> io::Result<Box<dyn PerfCounter>> {
        let mut event = perf_event_attr {
            type_: PERF_TYPE_HARDWARE,
            size: size_of::<perf_event_attr>() as u32,
            config: u64::from(PERF_COUNT_HW_INSTRUCTIONS),
            read_format: 0b11,
            ..Default::default()
        };
        event.set_exclude_host(1);
        // A counter that takes turns with others would give an estimate.
        event.set_pinned(1);
        match side {
            Side::User => event.set_exclude_kernel(1),
            Side::Kernel => event.set_exclude_user(1),
        }
        let flags = PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: `event` is valid and says its size; a result above -1 is a new descriptor, which nobody else owns.
        let counter = unsafe {
            let fd = perf_event_open_sys::perf_event_open(&raw mut event, thread, -1, -1, flags);
            File::from_raw_fd(Errno::result(fd)?)
        };
        Ok(Box::new(counter))
    }
}

impl PerfCounter for File {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 24];
        let length = Read::read(&mut &*self, &mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// The counters of a machine: of the user mode and the kernel mode of each vCPU.
pub(super) struct PerfCounters(Vec<[Box<dyn PerfCounter>; 2]>);

impl PerfCounters {
    /// Starts counting.
    ///
    /// # Errors
    /// Why it cannot be counted.
    pub fn new(kernel: &impl PerfEvents, threads: &[i32]) -> Result<Self, String> {
        let of_thread = |thread: &i32| -> io::Result<_> {
            Ok([kernel.open(*thread, Side::User)?, kernel.open(*thread, Side::Kernel)?])
        };
        threads.iter().map(of_thread).collect::<io::Result<_>>().map(Self).map_err(|error| refusal(&error))
    }

    /// Returns the sum over all vCPUs.
    ///
    /// # Errors
    /// A counter did not count all the time, or the numbers are impossible.
    pub fn read(&self) -> io::Result<Instructions> {
        let mut sum = Instructions::default();
        for [user, kernel] in &self.0 {
            sum = add(sum, count(user.as_ref())?, count(kernel.as_ref())?)?;
        }
        // A guest's first step is an instruction. Zero is what the kernel reads while the guest has the counters itself.
        if sum == Instructions::default() {
            return Err(io::Error::other("the counters of the processor counted nothing in the guest"));
        }
        Ok(sum)
    }
}

/// Reads one counter, which must have counted whenever its thread ran.
fn count(counter: &dyn PerfCounter) -> io::Result<u64> {
    let bytes = counter.read()?;
    let numbers: Vec<u64> = bytes.as_chunks().0.iter().map(|number| u64::from_ne_bytes(*number)).collect();
    match numbers[..] {
        [count, enabled, counted] if enabled == counted => Ok(count),
        [_, _, _] => Err(io::Error::other("a counter of the processor did not count all the time")),
        _ => Err(io::Error::other("the kernel took a counter of the processor away")),
    }
}

/// Why the kernel makes no counter.
fn refusal(error: &io::Error) -> String {
    let paranoid = || fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENODEV) => "this host has no counters of the processor".to_owned(),
        Some(Errno::EOPNOTSUPP) => "the counters of the processor cannot count in guests here".to_owned(),
        Some(Errno::EACCES | Errno::EPERM) => format!(
            "the kernel does not permit perf events: start the controller as root (kernel.perf_event_paranoid is {})",
            paranoid().trim()
        ),
        Some(Errno::ENOSYS) => "the kernel has no perf events, or does not permit them".to_owned(),
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    type Answer = Result<Vec<[u64; 3]>, Errno>;

    /// Gives the recorded answers one after the other; a counter then gives its reading each time.
    struct Recorded(Mutex<Vec<Answer>>);

    impl PerfEvents for Recorded {
        fn open(&self, _: i32, _: Side) -> io::Result<Box<dyn PerfCounter>> {
            Ok(Box::new(Reading(self.0.lock().unwrap().remove(0)?)))
        }
    }

    struct Reading(Vec<[u64; 3]>);

    impl PerfCounter for Reading {
        fn read(&self) -> io::Result<Vec<u8>> {
            Ok(self.0.iter().flatten().flat_map(|number| number.to_ne_bytes()).collect())
        }
    }

    fn counted(vcpus: usize, answers: Vec<Answer>) -> Result<Instructions, String> {
        let threads: Vec<i32> = (0..vcpus as i32).collect();
        let counters = PerfCounters::new(&Recorded(Mutex::new(answers)), &threads)?;
        counters.read().map_err(|error| error.to_string())
    }

    #[test]
    fn counters_of_all_vcpus_are_added_and_faults_are_reasons() {
        let reading = |count| Ok(vec![[count, 50, 50]]);
        let sum = counted(2, vec![reading(7), reading(1), reading(0), reading(3)]).unwrap();
        assert_eq!(sum, Instructions { user: 7, kernel: 4 });
        for (second, reason) in [
            (Err(Errno::ENOENT), "this host has no counters"),
            (Err(Errno::EOPNOTSUPP), "cannot count in guests"),
            (Err(Errno::EACCES), "kernel.perf_event_paranoid is "),
            (Err(Errno::ENOSYS), "no perf events"),
            (Err(Errno::EMFILE), "perf_event_open: Too many open files"),
            (Ok(vec![]), "took a counter of the processor away"),
            (Ok(vec![[9, 50, 49]]), "did not count all the time"),
            (Ok(vec![[u64::MAX, 50, 50]]), "impossible counters"),
        ] {
            let found = counted(1, vec![reading(7), second]).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
        assert!(counted(1, vec![reading(0), reading(0)]).unwrap_err().contains("counted nothing"));
    }

    #[test]
    fn a_thread_that_is_no_vcpu_has_a_reason_instead_of_a_count_on_any_host() {
        let thread = nix::unistd::gettid().as_raw();
        let counters = PerfCounters::new(&HostKernel, &[thread]);
        let read = counters.and_then(|counters| counters.read().map_err(|error| error.to_string()));
        eprintln!("{read:?}");
        assert!(read.is_err());
    }
}

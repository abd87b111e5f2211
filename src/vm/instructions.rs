//! Counts the instructions that a guest executes: under TCG by a plugin of QEMU (`mcc_plugin`), under KVM by `perf.rs`.
//!
//! Plugin and counters are files without a name (memfd), which QEMU inherits. A guest cannot change the sum of its
//! counters; one that has taken QEMU over can write any number, so each number is checked when it is read.

use super::memory_file::{in_memory, seal};
use super::perf::PerfCounters;
use super::spec::MachineSpec;
use crate::host::{Accelerator, HostError, Qemu};
use mcc_base::figures::MAX_INSTRUCTIONS;
use mcc_base::machine::Backend;
use mcc_plugin::{COUNTERS_ARGUMENT, LIMIT_USER, Limit, PLUGIN, SLOT_BYTES, file_bytes, limit_at};
use nix::fcntl::{FcntlArg, FdFlag, SealFlag, fcntl};
use std::fs::File;
use std::io::{self, Write};
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;

/// Instructions that a guest executed. The plugin counts blocks of code as wholes, by their address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// At user addresses, or in user mode.
    pub user: u64,
    /// At addresses of the kernel, or in kernel mode.
    pub kernel: u64,
}

impl Instructions {
    /// Returns the instructions since an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            kernel: self.kernel.saturating_sub(earlier.kernel),
        }
    }
}

/// What counts instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSource {
    /// The plugin of QEMU, under TCG.
    Plugin,
    /// Perf events of the host's kernel, under KVM.
    Perf,
}

/// What counts the instructions of this machine, if QEMU or the host support it; Err: why they are not counted.
pub(super) fn source(spec: &MachineSpec) -> Result<InstructionSource, &'static str> {
    if !spec.count_instructions {
        return Err("not asked for");
    }
    match (spec.backend, spec.accelerator) {
        (Backend::Libvirt, _) => Err("machines of libvirt are not counted"),
        (Backend::Qemu, Accelerator::Kvm) => Ok(InstructionSource::Perf),
        (Backend::Qemu, Accelerator::Tcg) => Ok(InstructionSource::Plugin),
    }
}

/// The counters of a machine.
pub(super) enum Counters {
    Plugin(PluginCounters),
    Perf(PerfCounters),
}

impl Counters {
    /// Returns the sum over all vCPUs since their start.
    ///
    /// # Errors
    /// The counters cannot be read, or have numbers that no machine reaches.
    pub fn read(&self) -> io::Result<Instructions> {
        match self {
            Self::Plugin(counters) => counters.read(),
            Self::Perf(counters) => counters.read(),
        }
    }

    /// What counts.
    pub fn source(&self) -> InstructionSource {
        match self {
            Self::Plugin(_) => InstructionSource::Plugin,
            Self::Perf(_) => InstructionSource::Perf,
        }
    }
}

/// Checks that machines of this host can have a limit of instructions: a guest under TCG is started with the plugin.
///
/// # Errors
/// `HostError::Unusable`: they cannot.
pub fn check_instruction_limit(
    backend: Backend,
    accelerator: Accelerator,
    qemu: &Qemu,
) -> Result<(), HostError> {
    let obstacle = match (backend, accelerator) {
        (Backend::Libvirt, _) => "instructions are not counted in machines that libvirt starts".to_owned(),
        (Backend::Qemu, Accelerator::Kvm) => {
            "under KVM instructions are counted after the fact, and no machine is stopped at a count"
                .to_owned()
        }
        (Backend::Qemu, Accelerator::Tcg) => {
            let started = PluginCounters::new(1).map(|counters| {
                Accelerator::Tcg.probe_with(qemu, |command| {
                    let [plugin, slots] = [&counters.plugin, &counters.slots].map(AsRawFd::as_raw_fd);
                    command.args([
                        "-plugin",
                        &format!("/dev/fd/{plugin},{COUNTERS_ARGUMENT}{slots},{LIMIT_USER}"),
                    ]);
                    let inherit = move || {
                        for file in [plugin, slots] {
                            // SAFETY: the files are open until the program has ended.
                            let file = unsafe { BorrowedFd::borrow_raw(file) };
                            fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
                        }
                        Ok(())
                    };
                    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
                    unsafe { command.pre_exec(inherit) };
                })
            });
            match started {
                Ok(probe) if probe.usable => return Ok(()),
                Ok(probe) => format!("{} with the plugin: {}", Qemu::NAME, probe.evidence),
                Err(error) => format!("no files for the plugin: {error}"),
            }
        }
    };
    Err(HostError::Unusable(format!(
        "this host cannot enforce the limit of instructions (`instructions` below [limits]): {obstacle}; remove the limit, or \
         use a host that runs machines by QEMU under TCG with version 1 of its plugin interface"
    )))
}

/// Why QEMU cannot load the plugin: it supports only another version of the interface, or was built without it. None: it
/// ended for another reason. `cause`: how QEMU ended before its guest ran, with the end of its log. The reason is the same
/// for all machines, because it has neither the moment of the end nor the number of the plugin's descriptor.
pub(super) fn refusal(cause: &str) -> Option<String> {
    let log = cause.rsplit_once("qemu.log: ").map_or(cause, |(_, log)| log);
    let words = log.split_whitespace().filter(|word| !word.starts_with("/dev/fd/"));
    log.contains("plugin").then(|| words.collect::<Vec<_>>().join(" "))
}

/// The files of the plugin and its counters.
pub(super) struct PluginCounters {
    /// The shared object, which nobody can change.
    pub plugin: File,
    /// A slot per vCPU, and the limit.
    pub slots: File,
    vcpus: usize,
}

impl PluginCounters {
    /// Makes the files for a machine. QEMU opens the plugin by the name of its descriptor, as its user, who may read it: the
    /// kernel gives such files a mode that is open to all.
    pub fn new(vcpus: u32) -> io::Result<Self> {
        let (mut plugin, slots) = (in_memory(c"mcc-plugin")?, in_memory(c"mcc-counters")?);
        plugin.write_all(PLUGIN)?;
        seal(&plugin, SealFlag::F_SEAL_WRITE)?;
        let vcpus = vcpus as usize;
        slots.set_len(file_bytes(vcpus) as u64)?;
        seal(&slots, SealFlag::empty())?;
        Ok(Self { plugin, slots, vcpus })
    }

    /// Returns the sum over all vCPUs since the start of QEMU.
    ///
    /// # Errors
    /// The file cannot be read, or has numbers that no machine reaches.
    pub fn read(&self) -> io::Result<Instructions> {
        let mut bytes = vec![0; self.vcpus * SLOT_BYTES];
        self.slots.read_exact_at(&mut bytes, 0)?;
        sum(&bytes)
    }

    /// Lets the vCPUs execute so many instructions from now on.
    pub fn apply_limit(&self, instructions: u64) -> io::Result<()> {
        self.write(offset_of!(Limit, left), instructions)?;
        self.write(offset_of!(Limit, applies), 1)
    }

    /// Ends the limit; vCPUs that wait continue.
    pub fn lift_limit(&self) -> io::Result<()> {
        self.write(offset_of!(Limit, applies), 0)
    }

    /// Whether a vCPU waits because the limit is reached.
    pub fn is_limit_reached(&self) -> io::Result<bool> {
        let mut word = [0; 8];
        self.slots.read_exact_at(&mut word, self.place(offset_of!(Limit, reached)))?;
        Ok(u64::from_ne_bytes(word) == 1)
    }

    fn write(&self, offset: usize, word: u64) -> io::Result<()> {
        self.slots.write_all_at(&word.to_ne_bytes(), self.place(offset))
    }

    fn place(&self, offset: usize) -> u64 {
        (limit_at(self.vcpus) + offset) as u64
    }
}

/// Adds up the slots of the vCPUs.
fn sum(slots: &[u8]) -> io::Result<Instructions> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let mut slots = slots.chunks_exact(SLOT_BYTES);
    slots.try_fold(Instructions::default(), |sum, slot| add(sum, number(&slot[..8]), number(&slot[8..16])))
}

/// Adds the counts of a vCPU.
///
/// # Errors
/// No machine reaches such numbers.
pub(super) fn add(sum: Instructions, user: u64, kernel: u64) -> io::Result<Instructions> {
    let add = |sum: u64, count: u64| sum.checked_add(count).filter(|sum| *sum <= MAX_INSTRUCTIONS);
    let added = || Some(Instructions { user: add(sum.user, user)?, kernel: add(sum.kernel, kernel)? });
    added().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "impossible counters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_all_vcpus_are_added_and_impossible_ones_refused() {
        let counters = PluginCounters::new(3).unwrap();
        assert_eq!(counters.read().unwrap(), Instructions::default());
        for (vcpu, (user, kernel)) in [(5_u64, 1_u64), (0, 0), (70, 10)].into_iter().enumerate() {
            let slot = [user.to_ne_bytes(), kernel.to_ne_bytes()].concat();
            counters.slots.write_all_at(&slot, (vcpu * SLOT_BYTES) as u64).unwrap();
        }
        let read = counters.read().unwrap();
        assert_eq!(read, Instructions { user: 75, kernel: 11 });
        let earlier = Instructions { user: 70, kernel: 20 };
        assert_eq!(read.since(earlier), Instructions { user: 5, kernel: 0 });
        assert!(!counters.is_limit_reached().unwrap());
        counters.apply_limit(7).unwrap();
        assert_eq!(counters.read().unwrap(), read, "the limit is no counter");
        counters.write(offset_of!(Limit, reached), 1).unwrap();
        assert!(counters.is_limit_reached().unwrap());
        counters.slots.write_all_at(&u64::MAX.to_ne_bytes(), 0).unwrap();
        assert!(counters.read().is_err());
    }

    #[test]
    fn a_limit_of_instructions_is_refused_under_kvm_and_libvirt() {
        let qemu = Qemu { version: "7.2".to_owned(), program: "/no/qemu".into() };
        for (backend, accelerator, obstacle) in [
            (Backend::Qemu, Accelerator::Kvm, "under KVM"),
            (Backend::Libvirt, Accelerator::Tcg, "libvirt"),
            (Backend::Qemu, Accelerator::Tcg, "/no/qemu does not start"),
        ] {
            let error = check_instruction_limit(backend, accelerator, &qemu).unwrap_err().to_string();
            assert!(error.contains(obstacle), "{error}");
        }
    }

    #[test]
    fn the_files_keep_their_length_and_the_plugin_its_content() {
        let counters = PluginCounters::new(1).unwrap();
        assert!(counters.slots.set_len(0).is_err() && counters.plugin.set_len(0).is_err());
        assert!(counters.plugin.write_at(b"x", 0).is_err());
        assert_eq!(&PLUGIN[..4], b"\x7fELF");
    }

    #[test]
    fn refusals_of_the_plugin_are_recognized() {
        for (cause, reason) in [
            (
                "before it answered \"greeting\" (exit status: 1) qemu.log: qemu: Could not load plugin /dev/fd/20: \
                 /dev/fd/20: undefined symbol: qemu_plugin_inline",
                Some("qemu: Could not load plugin undefined symbol: qemu_plugin_inline"),
            ),
            ("qemu: -plugin: invalid option", Some("qemu: -plugin: invalid option")),
            ("qemu.log: qemu: cannot set up guest memory 'pc.ram': Cannot allocate memory", None),
        ] {
            assert_eq!(refusal(cause).as_deref(), reason);
        }
    }
}

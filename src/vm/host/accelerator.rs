//! Accelerators of QEMU and the probe whether one works. An accelerator is usable only if a boot sector ran under it:
//! there are hosts where `/dev/kvm` opens and creates machines in which no Linux boots.

use super::cpuid;
use super::program::run_with_deadline;
use super::{HostError, Policy, Qemu};
use mcc_base::Mark;
use mcc_base::child_process::{self, Purpose};
use mcc_base::temporary;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// How QEMU executes guest code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accelerator {
    /// Hardware virtualization.
    Kvm,
    /// Binary translation by QEMU; much slower than KVM.
    Tcg,
}

/// The result of an accelerator probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Whether the boot sector ran.
    pub usable: bool,
    /// What was observed, for messages.
    pub evidence: String,
    /// The flags of the guest's processor, of those that `cpuid` lists. None: the boot sector did not report them.
    pub cpu_flags: Option<BTreeSet<&'static str>>,
}

/// Iterations of the boot sector's loop. They take about 10 ms on hardware and 100 ms under TCG. Where a hypervisor
/// interprets the guest's instructions they take minutes, and the probe fails.
const LOOP_COUNT: u32 = 20_000_000;

/// From exec to the end of QEMU, BIOS included. A working accelerator needs less than 0.5 s on an idle host. TCG may have
/// more, because nothing replaces it, and on a busy host it waits for a core.
const KVM_DEADLINE: Duration = Duration::from_secs(5);
const TCG_DEADLINE: Duration = Duration::from_secs(60);

/// QEMU's exit code after the boot sector wrote 16 to isa-debug-exit: 2 * value + 1.
const BOOTED: i32 = 33;

impl Accelerator {
    /// Returns the name that QEMU and the record use.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }

    /// Returns the marks of runs under this accelerator.
    pub fn marks(self) -> Vec<Mark> {
        match self {
            Self::Kvm => vec![],
            Self::Tcg => vec![Mark::TCG],
        }
    }

    /// Chooses KVM if it works, else TCG if `policy` allows it.
    ///
    /// # Errors
    /// No usable accelerator is allowed.
    pub fn choose(qemu: &Qemu, policy: Policy) -> Result<Self, HostError> {
        let kvm = Self::Kvm.probe(qemu);
        if kvm.usable {
            return Ok(Self::Kvm);
        }
        if policy == Policy::Contest {
            return Err(HostError::NoKvm { evidence: kvm.evidence });
        }
        let tcg = Self::Tcg.probe(qemu);
        if tcg.usable {
            Ok(Self::Tcg)
        } else {
            Err(HostError::Unusable(format!(
                "neither KVM nor TCG boots a machine on this host: KVM: {}; TCG: {}",
                kvm.evidence, tcg.evidence
            )))
        }
    }

    /// Runs a boot sector of 512 bytes under QEMU. It takes at most 5 seconds with KVM and 60 with TCG.
    pub fn probe(self, qemu: &Qemu) -> Probe {
        self.probe_with(qemu, |_| {})
    }

    /// As `probe`; `change` adds to the command.
    pub(crate) fn probe_with(self, qemu: &Qemu, change: impl FnOnce(&mut Command)) -> Probe {
        let unusable = |evidence: String| Probe { usable: false, evidence, cpu_flags: None };
        let folder = match temporary::folder("mcc-probe-") {
            Ok(folder) => folder,
            Err(error) => return unusable(error.to_string()),
        };
        let disk = folder.path().join("disk.img");
        if let Err(error) = write_disk(&disk) {
            return unusable(format!("cannot write {}: {error}", disk.display()));
        }
        let mut command = child_process::command(&qemu.program, Purpose::Local);
        command
            .args(["-nodefaults", "-no-user-config", "-display", "none", "-m", "64", "-cpu", "SandyBridge"])
            .args(["-machine", &format!("pc,accel={}", self.word())])
            .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=4"])
            .args(["-debugcon", "file:cpuid"])
            .args(["-drive", "file=disk.img,if=none,id=disk,format=raw,readonly=on"])
            .args(["-device", "virtio-blk-pci,drive=disk,bootindex=0"])
            // A comma in the temporary folder's path would be read as an option.
            .current_dir(folder.path());
        change(&mut command);
        let deadline = match self {
            Self::Kvm => KVM_DEADLINE,
            Self::Tcg => TCG_DEADLINE,
        };
        match run_with_deadline(&mut command, deadline) {
            Err(error) => unusable(format!("{} does not start: {error}", qemu.program.display())),
            Ok(ended) if ended.status.and_then(|status| status.code()) == Some(BOOTED) => Probe {
                usable: true,
                evidence: format!("a boot sector ran in {:.2} s", ended.took.as_secs_f64()),
                cpu_flags: std::fs::read(folder.path().join("cpuid"))
                    .ok()
                    .and_then(|answer| cpuid::flags(&answer)),
            },
            Ok(ended) => unusable(format!("a boot sector did not run: QEMU {}", ended.describe())),
        }
    }
}

/// Writes a disk of 1 MiB with the boot sector. SeaBIOS finds no geometry on a disk of one sector and does not boot it.
fn write_disk(path: &Path) -> io::Result<()> {
    let mut disk = File::create(path)?;
    disk.write_all(&boot_sector(LOOP_COUNT))?;
    disk.set_len(1 << 20)
}

/// Returns a boot sector that runs a loop, writes the processor's CPUID leaves to port 0xe9 and ends QEMU. Its 16-bit
/// code:
/// `cli; cld; xor ax, ax; mov ss, ax; mov sp, 0x7c00; mov ecx, loops; 1: dec ecx; jnz 1b`, for each leaf
/// `mov eax, leaf; xor ecx, ecx; cpuid; push edx, ecx, ebx, eax; mov si, sp; mov cx, 16; mov dx, 0xe9;
/// rep ss outsb; add sp, 16`, then `mov dx, 0xf4; mov al, 0x10; out dx, al; 2: hlt; jmp 2b`.
fn boot_sector(loops: u32) -> [u8; 512] {
    let mut code = vec![0xfa, 0xfc, 0x31, 0xc0, 0x8e, 0xd0, 0xbc, 0x00, 0x7c, 0x66, 0xb9];
    code.extend(loops.to_le_bytes());
    code.extend([0x66, 0x49, 0x75, 0xfc]);
    for leaf in cpuid::LEAVES {
        code.extend([0x66, 0xb8]);
        code.extend(leaf.to_le_bytes());
        code.extend([0x66, 0x31, 0xc9, 0x0f, 0xa2, 0x66, 0x52, 0x66, 0x51, 0x66, 0x53, 0x66, 0x50]);
        code.extend([0x89, 0xe6, 0xb9, 0x10, 0x00, 0xba, 0xe9, 0x00, 0x36, 0xf3, 0x6e, 0x83, 0xc4, 0x10]);
    }
    code.extend([0xba, 0xf4, 0x00, 0xb0, 0x10, 0xee, 0xf4, 0xeb, 0xfd]);
    let mut sector = [0; 512];
    sector[..code.len()].copy_from_slice(&code);
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

#[cfg(test)]
mod tests {
    use super::super::program::tests::fake;
    use super::*;

    fn qemu(folder: &Path, script: &str) -> Qemu {
        Qemu { program: fake(folder, "qemu", script), version: "7.2".into() }
    }

    #[test]
    fn only_the_exit_code_of_the_boot_sector_counts() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Accelerator::Kvm.probe(&qemu(folder.path(), "exit 33")).usable);
        assert!(!Accelerator::Kvm.probe(&qemu(folder.path(), "exit 0")).usable);
        let denied = "echo 'warning: no x2apic' >&2; echo 'Could not access KVM kernel module' >&2; exit 1";
        let probe = Accelerator::Kvm.probe(&qemu(folder.path(), denied));
        assert!(!probe.usable);
        assert!(probe.evidence.contains("Could not access KVM kernel module"), "{}", probe.evidence);
    }

    #[test]
    fn tcg_is_chosen_and_marked_only_with_allow_degraded() {
        let folder = tempfile::tempdir().unwrap();
        let tcg_only = r#"case "$*" in *accel=kvm*) exit 1;; *) exit 33;; esac"#;
        let qemu = qemu(folder.path(), tcg_only);
        let error = Accelerator::choose(&qemu, Policy::Contest).unwrap_err().to_string();
        assert!(error.contains("--allow-degraded"), "{error}");
        let chosen = Accelerator::choose(&qemu, Policy::AllowDegraded).unwrap();
        assert_eq!(chosen.marks(), ["degraded:tcg"]);
    }

    #[test]
    fn the_evidence_for_both_unusable_accelerators_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let qemu = qemu(folder.path(), "echo nothing works >&2; exit 1");
        let error = Accelerator::choose(&qemu, Policy::AllowDegraded).unwrap_err().to_string();
        assert_eq!(error.matches("nothing works").count(), 2, "{error}");
    }
}

//! System calls that QEMU and its guests never need, denied before QEMU starts, in addition to QEMU's own sandbox: they reach
//! other processes, change what a process sees, or are parts of the kernel in which many vulnerabilities were found.

use nix::libc::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

/// The denied calls. A call fails with EPERM.
const DENIED: [c_long; 70] = [
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    // Namespaces, mounts and files of other roots.
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_mknodat,
    // Shared objects of the kernel, and its keys.
    SYS_shmget,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    // Large parts of the kernel.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_setup,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_lookup_dcookie,
    SYS_nfsservctl,
    SYS_quotactl,
    SYS_quotactl_fd,
    SYS_personality,
    SYS_vhangup,
    SYS_acct,
    SYS_syslog,
    // The kernel itself, its clocks and its name.
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    // Access to ports and segments of the processor, and a call of before.
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_mknod,
    SYS_uselib,
];

/// The calls that send signals, or set the limit of CPU time at which the kernel sends SIGKILL, are denied to a QEMU that is
/// known; a program in its place may signal and limit itself.
const SIGNALS: [c_long; 5] = [SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setrlimit];

/// Signals that QEMU, which wakes its threads by tgkill(2), never sends to them: to kill or stop itself would look like the act
/// of somebody else.
const ENDING_SIGNALS: [c_int; 5] = [SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU];

/// FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE of linux/falloc.h, which allocate blocks as fallocate(2) does.
const BLOCKS_BEYOND_END: [u64; 3] = [0x4030_5828, 0x4030_582a, 0x4030_5839];

/// The families of sockets that QEMU may make: it inherits sockets of the first, and forwards a port with the second.
const FAMILIES: [c_int; 2] = [AF_UNIX, AF_INET];

/// The filter, compiled once; `signals`: also the calls that send signals are denied.
///
/// # Errors
/// The crate does not know this processor.
pub(super) fn filter(signals: bool) -> Result<&'static BpfProgram, String> {
    static FILTERS: [OnceLock<Result<BpfProgram, String>>; 2] = [const { OnceLock::new() }; 2];
    let filter =
        FILTERS[usize::from(signals)].get_or_init(|| compile(signals).map_err(|error| error.to_string()));
    filter.as_ref().map_err(Clone::clone)
}

fn compile(signals: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let condition = |argument, op, value: u64| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value).map(|condition| vec![condition])
    };
    let rule = |conditions: Vec<Vec<SeccompCondition>>| SeccompRule::new(conditions.concat());
    let other_families =
        FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = DENIED.map(|call| (call, vec![])).into();
    rules.insert(SYS_socket, vec![rule(other_families.into_iter().collect::<Result<_, _>>()?)?]);
    let death_signal = condition(0, SeccompCmpOp::Eq, u64::from(PR_SET_PDEATHSIG.unsigned_abs()))?;
    rules.insert(SYS_prctl, vec![rule(vec![death_signal])?]);
    // The limit of a file's size does not count blocks beyond the end of a file.
    let keep_size = u64::from(FALLOC_FL_KEEP_SIZE.unsigned_abs());
    let keep_or_punch = keep_size | u64::from(FALLOC_FL_PUNCH_HOLE.unsigned_abs());
    let beyond_end = condition(1, SeccompCmpOp::MaskedEq(keep_or_punch), keep_size)?;
    rules.insert(SYS_fallocate, vec![rule(vec![beyond_end])?]);
    let mut requests = vec![];
    for request in BLOCKS_BEYOND_END {
        requests.push(rule(vec![condition(1, SeccompCmpOp::Eq, request)?])?);
    }
    rules.insert(SYS_ioctl, requests);
    if signals {
        rules.extend(SIGNALS.map(|call| (call, vec![])));
        // It also reads limits, and QEMU raises that of its open files.
        let other_limits = condition(1, SeccompCmpOp::Ne, u64::from(RLIMIT_NOFILE))?;
        let new_limit = vec![SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?];
        rules.insert(SYS_prlimit64, vec![rule(vec![other_limits, new_limit])?]);
        let mut ends = vec![];
        for signal in ENDING_SIGNALS {
            ends.push(rule(vec![condition(2, SeccompCmpOp::Eq, u64::from(signal.unsigned_abs()))?])?);
        }
        rules.insert(SYS_tgkill, ends);
    }
    let errno = SeccompAction::Errno(EPERM.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, errno, std::env::consts::ARCH.try_into()?)?.try_into()
}

/// Denies the calls to this process and its children for ever. It makes system calls only.
pub(super) fn deny(filter: &BpfProgram) -> io::Result<()> {
    apply_filter(filter).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// Root would get other errors for these invalid arguments.
    #[test]
    fn each_denied_call_fails_for_root_too() {
        let (mut read, write) = std::io::pipe().unwrap();
        let filter = filter(true).unwrap();
        let mut process = Command::new("true");
        // SAFETY: between fork and exit only system calls are made, with arguments that change nothing.
        unsafe {
            process.pre_exec(move || {
                nix::unistd::setsid()?;
                deny(filter)?;
                let calls = DENIED.into_iter().chain(SIGNALS).map(|call| (call, [-1_i64; 3])).chain([
                    (SYS_socket, [AF_NETLINK.into(), -1, -1]),
                    (SYS_socket, [AF_PACKET.into(), -1, -1]),
                    (SYS_socket, [AF_VSOCK.into(), -1, -1]),
                    (SYS_socket, [AF_ALG.into(), -1, -1]),
                    (SYS_prlimit64, [0, RLIMIT_CPU.into(), -1]),
                    (SYS_prctl, [PR_SET_PDEATHSIG.into(), 0, 0]),
                    (SYS_fallocate, [-1, FALLOC_FL_KEEP_SIZE.into(), 0]),
                    (SYS_fallocate, [-1, 0x11, 0]),
                    (SYS_ioctl, [-1, 0x4030_5828, 0]),
                    (SYS_ioctl, [-1, 0x4030_582a, 0]),
                    (SYS_ioctl, [-1, 0x4030_5839, 0]),
                    (SYS_tgkill, [-1, -1, SIGKILL.into()]),
                    (SYS_tgkill, [-1, -1, SIGSTOP.into()]),
                ]);
                for (position, (call, [first, second, third])) in calls.enumerate() {
                    let result = syscall(call, first, second, third, -1_i64, -1_i64);
                    if result != -1 || *__errno_location() != EPERM {
                        let position = position as u8;
                        nix::libc::write(write.as_raw_fd(), (&raw const position).cast(), 1);
                    }
                }
                // What QEMU needs of these calls.
                let punch = i64::from(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE);
                let mut limit = rlimit { rlim_cur: 0, rlim_max: 0 };
                let is_denied = |result: c_long| result == -1 && *__errno_location() == EPERM;
                if socket(AF_UNIX, SOCK_STREAM, 0) < 0
                    || socket(AF_INET, SOCK_STREAM, 0) < 0
                    || getrlimit(RLIMIT_CPU, &raw mut limit) < 0
                    || is_denied(syscall(SYS_fallocate, -1_i64, punch, 0_i64, 1_i64))
                    || is_denied(syscall(SYS_tgkill, -1_i64, -1_i64, i64::from(SIGUSR1)))
                {
                    nix::libc::write(write.as_raw_fd(), [255_u8].as_ptr().cast(), 1);
                }
                _exit(0)
            });
        }
        process.status().unwrap();
        drop(process);
        let mut allowed = vec![];
        std::io::Read::read_to_end(&mut read, &mut allowed).unwrap();
        assert!(allowed.is_empty(), "{allowed:?} of the list are not as they should be");
    }
}

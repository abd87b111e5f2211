//! System calls that QEMU and its guests never need, denied before QEMU starts, in addition to QEMU's own sandbox: they reach
//! other processes, change what a process sees, or are parts of the kernel in which many vulnerabilities were found.

use nix::libc::*;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};
use std::io;
use std::sync::OnceLock;

/// The denied calls. A call fails with EPERM.
const DENIED: [c_long; 69] = [
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

/// The calls that send signals are denied to a QEMU that is known; a program in its place may signal itself.
const SIGNALS: [c_long; 3] = [SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo];

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
    let (len, op) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Ne);
    let other = FAMILIES.map(|family| SeccompCondition::new(0, len.clone(), op.clone(), family as u64));
    let other = SeccompRule::new(other.into_iter().collect::<Result<_, _>>()?)?;
    let signals = SIGNALS.into_iter().filter(|_| signals);
    let denied = DENIED.into_iter().chain(signals).map(|call| (call, vec![]));
    let rules = denied.chain([(SYS_socket, vec![other])]).collect();
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
                let calls = DENIED.into_iter().chain(SIGNALS).map(|call| (call, -1)).chain([
                    (SYS_socket, AF_NETLINK),
                    (SYS_socket, AF_PACKET),
                    (SYS_socket, AF_VSOCK),
                    (SYS_socket, AF_ALG),
                ]);
                for (position, (call, argument)) in calls.enumerate() {
                    let result = syscall(call, argument, -1_i64, -1_i64, -1_i64, -1_i64);
                    if result != -1 || *__errno_location() != EPERM {
                        let position = position as u8;
                        nix::libc::write(write.as_raw_fd(), (&raw const position).cast(), 1);
                    }
                }
                if socket(AF_UNIX, SOCK_STREAM, 0) < 0 || socket(AF_INET, SOCK_STREAM, 0) < 0 {
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

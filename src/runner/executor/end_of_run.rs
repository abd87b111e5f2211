//! The outcome and the mark of a run, by how it ended.

use mcc_base::Mark;
use mcc_base::guest::Exit;
use mcc_store::Outcome;
use mcc_vm::{GuestEnd, VmError};

/// The mark of a run that the guest ended with this error (`VmError::is_by_guest`, or a crash that counts for the tool).
pub(super) fn mark_of_end(error: &VmError) -> Mark {
    match error {
        _ if error.is_crash() => Mark::QEMU_CRASH,
        VmError::MemoryLimit(_) => Mark::QEMU_CRASH,
        _ if error.is_of_tools_disk() => Mark::DISK_ERROR,
        VmError::Disk { .. } => Mark::QEMU_CRASH,
        VmError::GuestEnded { how: GuestEnd::Panic, .. } => Mark::GUEST_PANIC,
        VmError::GuestEnded { how: GuestEnd::Shutdown, .. } => Mark::GUEST_SHUTDOWN,
        VmError::GuestEnded { how: GuestEnd::Reset, .. } => Mark::GUEST_RESET,
        VmError::PortClosed => Mark::CONNECTION_LOST,
        _ => Mark::GUEST_MESSAGES,
    }
}

/// Bash reports a program that was ended by a signal as 128 plus the number of the signal; head scripts return that.
const BASH_SIGNAL: u8 = 128;

pub(super) const SIGKILL: u8 = 9;

pub(super) fn outcome_of(exit: Exit, oom_kills: u64) -> Outcome {
    let signal = match exit {
        Exit::Signal(signal) => Some(signal),
        // Only signals of crashes, because a program may use these exit codes itself: SIGILL, TRAP, ABRT, BUS, FPE, KILL,
        // SEGV, SYS.
        Exit::Code(code) => {
            code.checked_sub(BASH_SIGNAL).filter(|signal| [4, 5, 6, 7, 8, 9, 11, 31].contains(signal))
        }
    };
    match (signal, exit) {
        (Some(SIGKILL), _) if oom_kills > 0 => Outcome::MemoryLimit,
        (Some(signal), _) | (None, Exit::Signal(signal)) => Outcome::ToolCrash { signal: i32::from(signal) },
        (None, Exit::Code(code)) if code != 0 && oom_kills > 0 => Outcome::MemoryLimit,
        (None, Exit::Code(code)) => Outcome::Finished { exit_code: i32::from(code) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_qemu_or_its_accelerator_that_ends_a_run_is_marked_as_a_crash() {
        let text = || "x".to_owned();
        for error in [
            VmError::Crashed(text()),
            VmError::InternalError,
            VmError::Gone(text()),
            // A QEMU that a guest controls can cause these at will.
            VmError::Qmp(text()),
            VmError::Stopped(text()),
            VmError::ReportedKill(text()),
            VmError::InstructionLimit(text()),
        ] {
            assert!(error.is_crash());
            assert_eq!(mark_of_end(&error), Mark::QEMU_CRASH, "{error}");
        }
        assert!(!VmError::Killed(text()).is_crash(), "a signal of the host");
        assert!(VmError::ReportedKill(text()).is_by_signal(), "it may be one of the host");
        assert_eq!(mark_of_end(&VmError::Agent("unexpected message".to_owned())), Mark::GUEST_MESSAGES);
        assert_eq!(mark_of_end(&VmError::PortClosed), Mark::CONNECTION_LOST);
    }

    #[test]
    fn exit_codes_and_signals_give_the_outcome() {
        for (exit, oom_kills, outcome) in [
            (Exit::Code(0), 0, Outcome::Finished { exit_code: 0 }),
            (Exit::Code(1), 0, Outcome::Finished { exit_code: 1 }),
            (Exit::Code(139), 0, Outcome::ToolCrash { signal: 11 }),
            (Exit::Signal(6), 0, Outcome::ToolCrash { signal: 6 }),
            (Exit::Code(137), 1, Outcome::MemoryLimit),
            (Exit::Signal(9), 1, Outcome::MemoryLimit),
            (Exit::Code(1), 1, Outcome::MemoryLimit),
            // A portfolio tool that continued after one of its processes was killed.
            (Exit::Code(0), 1, Outcome::Finished { exit_code: 0 }),
            (Exit::Code(200), 0, Outcome::Finished { exit_code: 200 }),
        ] {
            assert_eq!(outcome_of(exit, oom_kills), outcome, "{exit:?} {oom_kills}");
        }
    }
}

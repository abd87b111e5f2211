//! Decides whether an attempt counts.

use mcc_store::Outcome;
use std::time::Duration;

/// A batch system or an operator ends all processes of a job one after the other: the machine may end this long before
/// the controller receives its signal.
pub const GRACE: Duration = Duration::from_secs(2);

/// False if a signal ended the machine, or QEMU reported one, while there is a stop request (preemption, requeue, `cancel`):
/// such an attempt is not recorded and uses no retry.
pub fn counts(outcome: &Outcome, by_signal: bool, stopping: bool) -> bool {
    // An end that counts as the tool's after several attempts may be by a signal of the host this time: QEMU only
    // reported it.
    let is_end_of_machine = outcome.is_infrastructure() || matches!(outcome, Outcome::ToolCrash { .. });
    !(is_end_of_machine && by_signal && stopping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_ended_by_a_signal_during_a_stop_does_not_count() {
        let failure = Outcome::Infrastructure { state: "examining".into(), reason: "QEMU ended".into() };
        let by_tool = Outcome::ToolCrash { signal: 9 };
        assert!(!counts(&failure, true, true) && !counts(&by_tool, true, true));
        assert!(counts(&by_tool, true, false) && counts(&by_tool, false, true));
        assert!(counts(&failure, false, true), "a failure without a signal during a stop request");
        assert!(counts(&failure, true, false), "a machine was killed without a stop request");
        for outcome in [Outcome::Finished { exit_code: 0 }, Outcome::CpuLimit, Outcome::MemoryLimit] {
            assert!(counts(&outcome, true, true), "{outcome:?}");
        }
    }
}

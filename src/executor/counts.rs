//! Whether an attempt counts.

use mcc_store::Outcome;
use std::time::Duration;

/// A batch system or an operator ends all processes of a job, one after the other: the machine may be gone this long
/// before the controller gets its own signal.
pub const GRACE: Duration = Duration::from_secs(2);

/// False where a signal ended the machine while the controller was asked to stop (preemption, requeue, `cancel`): such
/// an attempt was never made, and uses up no retry.
pub fn counts(outcome: &Outcome, by_signal: bool, stopping: bool) -> bool {
    !(outcome.is_infrastructure() && by_signal && stopping)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_ended_by_signal_while_stopping_is_no_attempt() {
        let trouble = Outcome::Infrastructure { state: "examining".into(), reason: "QEMU ended".into() };
        assert!(!counts(&trouble, true, true));
        assert!(counts(&trouble, false, true), "trouble of its own while the running runs end");
        assert!(counts(&trouble, true, false), "somebody killed a machine");
        for outcome in [Outcome::Finished { exit_code: 0 }, Outcome::CpuLimit, Outcome::MemoryLimit] {
            assert!(counts(&outcome, true, true), "{outcome:?}");
        }
    }
}

//! Checks that the outcome of a recorded run agrees with its plan, its measurements and the limits of its edition.

use super::{Attempt, Outcome};
use mcc_base::figures::MAX_BYTES;
use mcc_campaign::Run;
use mcc_edition::Limits;
use serde::Deserialize;

/// The part of an edition that has the limits.
#[derive(Deserialize)]
struct EditionLimits {
    limits: Limits,
}

/// The limits of the edition that a record has; None: this version cannot read them, which the readers of the edition report.
pub(super) fn limits_of(edition: &str) -> Option<Limits> {
    serde_json::from_str::<EditionLimits>(edition).ok().map(|edition| edition.limits)
}

/// Checks the attempt that is judged. A run at a limit has reached it. The converse is not checked: a tool that ends by itself
/// while its host is suspended has longer times than the limits.
///
/// # Errors
/// What contradicts the outcome.
pub(super) fn check_outcome(run: &Run, attempt: &Attempt, limits: Option<&Limits>) -> Result<(), String> {
    let word = attempt.outcome.word();
    if (attempt.outcome == Outcome::NotCompeting) == run.competes {
        let plan = if run.competes { "competes" } else { "does not compete" };
        return Err(format!("its outcome is {word}, but the run {plan} by the plan"));
    }
    let facts = match (&attempt.outcome, &attempt.facts) {
        (Outcome::Infrastructure { .. }, _) | (Outcome::NotCompeting, None) => return Ok(()),
        (Outcome::NotCompeting, Some(_)) => {
            return Err(format!("its outcome is {word}, but it has measurements"));
        }
        (_, None) => return Err(format!("its outcome is {word}, but it has no measurements")),
        (_, Some(facts)) => facts,
    };
    if facts.vcpus != run.vcpus {
        return Err(format!("it has {} vCPUs, but {} by the plan", facts.vcpus, run.vcpus));
    }
    let Some(limits) = limits else { return Ok(()) };
    // Seconds in milliseconds; both are at most a year.
    let reached = |ms: u64, limit_s: u64| ms >= limit_s.saturating_mul(1000);
    let contradiction = match &attempt.outcome {
        Outcome::CpuLimit => match limits.cpu_limit_s(facts.vcpus) {
            Some(limit_s) if reached(facts.cpu_ms, limit_s) => None,
            Some(limit_s) => Some(format!("its CPU time is {} ms and the limit {limit_s} s", facts.cpu_ms)),
            None => Some("the edition has no limit of CPU time".to_owned()),
        },
        Outcome::WallLimit if !reached(facts.wall_ms, limits.wall_limit_s()) => {
            Some(format!("its wall time is {} ms and the limit {} s", facts.wall_ms, limits.wall_limit_s()))
        }
        Outcome::OutputLimit if facts.stdout_bytes.max(facts.stderr_bytes) <= limits.output_bytes => {
            let (stdout, stderr) = (facts.stdout_bytes, facts.stderr_bytes);
            Some(format!("it wrote {stdout} and {stderr} bytes and the limit is {}", limits.output_bytes))
        }
        Outcome::InstructionLimit if limits.instructions.is_none() => {
            Some("the edition has no limit of instructions".to_owned())
        }
        _ => None,
    };
    if let Some(problem) = contradiction {
        return Err(format!("its outcome is {word}, but {problem}"));
    }
    let longest =
        |role: &str| if ["stdout", "stderr"].contains(&role) { limits.output_bytes } else { MAX_BYTES };
    match attempt.outputs.iter().find(|output| output.bytes > longest(&output.role)) {
        Some(long) => Err(format!(
            "{} has {} bytes, but at most {} are kept",
            long.role,
            long.bytes,
            longest(&long.role)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, Environment, HostFacts, RunFacts};

    fn limits() -> Limits {
        let text = r#"{"limits": {"cpu_s": 10, "cpu_reading": "per-vcpu", "wall_s": 20, "confinement_s": 10, "output_bytes": 100}}"#;
        limits_of(text).unwrap()
    }

    fn run() -> Run {
        Run {
            entry: "lola".parse().unwrap(),
            instance: "Philosophers-PT-000005".parse().unwrap(),
            examination: "UpperBounds".parse().unwrap(),
            model: "Philosophers".into(),
            vcpus: 4,
            competes: true,
        }
    }

    fn attempt(outcome: Outcome, change: impl FnOnce(&mut RunFacts)) -> Attempt {
        let mut facts = RunFacts { vcpus: 4, ..RunFacts::default() };
        change(&mut facts);
        Attempt {
            run: run().id(),
            number: 1,
            outcome,
            marks: vec![],
            started_at: String::new(),
            host: HostFacts {
                name: "node".into(),
                cpu: "cpu".into(),
                cores: 4,
                usable_cores: None,
                memory_mib: 1,
                kernel: "6.1".into(),
                accelerator: "kvm".into(),
                qemu: "7.2".into(),
            },
            disks: vec![],
            machine: vec![],
            environment: Environment::default(),
            facts: Some(facts),
            outputs: vec![],
        }
    }

    #[test]
    fn an_outcome_that_contradicts_its_measurements_is_refused() {
        let finished = || Outcome::Finished { exit_code: 0 };
        let problem = |attempt: Attempt| check_outcome(&run(), &attempt, Some(&limits())).unwrap_err();
        let fits = |attempt: Attempt| check_outcome(&run(), &attempt, Some(&limits())).unwrap();

        fits(attempt(Outcome::CpuLimit, |facts| facts.cpu_ms = 40_000));
        assert_eq!(
            problem(attempt(Outcome::CpuLimit, |facts| facts.cpu_ms = 39_999)),
            "its outcome is cpu-limit, but its CPU time is 39999 ms and the limit 40 s"
        );
        fits(attempt(Outcome::WallLimit, |facts| facts.wall_ms = 20_000));
        assert_eq!(
            problem(attempt(Outcome::WallLimit, |facts| facts.wall_ms = 19_999)),
            "its outcome is wall-limit, but its wall time is 19999 ms and the limit 20 s"
        );
        fits(attempt(Outcome::OutputLimit, |facts| facts.stderr_bytes = 101));
        assert_eq!(
            problem(attempt(Outcome::OutputLimit, |facts| facts.stdout_bytes = 100)),
            "its outcome is output-limit, but it wrote 100 and 0 bytes and the limit is 100"
        );
        assert_eq!(
            problem(attempt(Outcome::InstructionLimit, |_| {})),
            "its outcome is instruction-limit, but the edition has no limit of instructions"
        );
        // While the host is suspended, no limit is enforced.
        fits(attempt(finished(), |facts| (facts.wall_ms, facts.cpu_ms) = (90_000, 90_000)));
        assert_eq!(
            problem(attempt(finished(), |facts| facts.vcpus = 1)),
            "it has 1 vCPUs, but 4 by the plan"
        );
        assert_eq!(
            problem(Attempt { facts: None, ..attempt(finished(), |_| {}) }),
            "its outcome is finished, but it has no measurements"
        );
        let stdout = Disk { role: "stdout".into(), sha256: String::new(), bytes: 101 };
        assert_eq!(
            problem(Attempt { outputs: vec![stdout], ..attempt(finished(), |_| {}) }),
            "stdout has 101 bytes, but at most 100 are kept"
        );

        assert_eq!(
            problem(attempt(Outcome::NotCompeting, |_| {})),
            "its outcome is not-competing, but the run competes by the plan"
        );
        let idle = Run { competes: false, ..run() };
        let problem = |attempt: Attempt| check_outcome(&idle, &attempt, None).unwrap_err();
        assert_eq!(
            problem(attempt(finished(), |_| {})),
            "its outcome is finished, but the run does not compete by the plan"
        );
        assert_eq!(
            problem(attempt(Outcome::NotCompeting, |_| {})),
            "its outcome is not-competing, but it has measurements"
        );
        check_outcome(&idle, &Attempt { facts: None, ..attempt(Outcome::NotCompeting, |_| {}) }, None)
            .unwrap();
    }

    #[test]
    fn limits_of_an_edition_that_this_version_cannot_read_are_unknown() {
        assert_eq!(limits_of("{}"), None);
        assert_eq!(limits_of("no JSON"), None);
    }
}

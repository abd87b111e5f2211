//! From what a verifier said of a task to its points (the contest's section on definitions and scores).

use super::benchexec::RawRun;
use crate::other_contests::RunVerdict;
use mcc_edition::fits;
use mcc_edition::svcomp::{SvcompEdition, Unconfirmed};
use num_rational::BigRational;
use num_traits::Zero;

/// What a verifier says: the property holds, or it is violated, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    True,
    False(Option<String>),
}

impl Answer {
    /// Of a status such as `true`, `false(valid-deref)`; None for anything else, which is UNKNOWN.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "true" | "safe" => return Some(Self::True),
            "false" | "unsafe" => return Some(Self::False(None)),
            _ => {}
        }
        let property = text.strip_prefix("false(")?.strip_suffix(')')?;
        Some(Self::False(Some(plain(property).to_owned())))
    }

    pub fn witness(&self) -> Witness {
        match self {
            Self::True => Witness::Correctness,
            Self::False(_) => Witness::Violation,
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::True => out.write_str("true"),
            Self::False(None) => out.write_str("false"),
            Self::False(Some(property)) => write!(out, "false({property})"),
        }
    }
}

/// What is validated of an answer: a witness that the property holds (of TRUE), or that it is violated (of FALSE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    Correctness,
    Violation,
}

impl Witness {
    /// As files write it: answers `true` or `false`, and the kind.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Self::Correctness => ["true", "correctness"],
            Self::Violation => ["false", "violation"],
        }
    }
}

/// The parts of memory safety: an answer must say which one is violated.
const SUB_PROPERTIES: [&str; 3] = ["valid-deref", "valid-free", "valid-memtrack"];

/// One name for what the years called differently.
fn plain(property: &str) -> &str {
    match property.trim() {
        "reach" | "unreach-label" | "label" | "error-call" => "unreach-call",
        "overflow" => "no-overflow",
        "data-race" => "no-data-race",
        "deadlock" => "no-deadlock",
        other => other,
    }
}

/// Whether a run's properties include this one.
fn asked(properties: &str, property: &str) -> bool {
    let mut names = properties.split_ascii_whitespace().map(plain);
    let whole = |name: &str| matches!(name, "valid-memsafety" | "memsafety" | "memory-safety");
    names.any(|name| name == property || whole(name) && SUB_PROPERTIES.contains(&property))
}

/// The right answer: what the file says, else what the task's name says (`_false-unreach-call`, `_true`, `_unsafe`).
pub fn expected(run: &RawRun) -> Option<Answer> {
    if !run.expected.is_empty() {
        return Answer::parse(&run.expected);
    }
    let name = run.name.rsplit('/').next().unwrap_or_default();
    let mut found = None;
    for part in name.split('_').skip(1) {
        let part = part.split('.').next().unwrap_or_default();
        let (answer, property) =
            part.split_once('-').map_or((part, ""), |(answer, rest)| (answer, plain(rest)));
        let of_this_run = property.is_empty()
            || run.properties.is_empty()
            || asked(&run.properties, property)
            || property == "valid-memsafety" && run.properties.contains("valid-");
        if !of_this_run {
            continue;
        }
        match answer {
            "false" | "unsafe" => {
                let sub = SUB_PROPERTIES.contains(&property).then(|| property.to_owned());
                return Some(Answer::False(sub));
            }
            "true" | "safe" => found = Some(Answer::True),
            _ => {}
        }
    }
    found
}

/// What validators made of a right answer's witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    Confirmed,
    Unconfirmed,
    /// No validator's results are at hand; the result file's own word stands.
    NotStated,
}

/// A run judged.
pub struct RunScore {
    pub verdict: RunVerdict,
    pub points: BigRational,
    pub why: String,
    /// Seconds of CPU time; a verifier that hung has the limit.
    pub cpu_s: Option<BigRational>,
}

impl RunScore {
    /// Of a run that gets no points.
    fn none(run: &RawRun, verdict: RunVerdict, why: String) -> Self {
        Self { verdict, points: BigRational::zero(), why, cpu_s: run.cputime.clone() }
    }
}

/// Judges one run of a category.
pub fn judge(edition: &SvcompEdition, category: &str, run: &RawRun, confirmation: Confirmation) -> RunScore {
    let limits = &edition.limits;
    let reached = |time: &Option<BigRational>, limit: u64| {
        time.as_ref().is_some_and(|time| *time >= BigRational::from_integer(limit.into()))
    };
    let none = |verdict, why: String| RunScore::none(run, verdict, why);
    if run.status.is_empty() || fits(&edition.qualification.not_started, &run.status) {
        return none(RunVerdict::NotStarted, String::new());
    }
    if reached(&run.cputime, limits.cpu_s) {
        return none(RunVerdict::Timeout, format!("its CPU time reached {} s", limits.cpu_s));
    }
    if reached(&run.walltime, limits.wall_s) {
        let hung = none(RunVerdict::Timeout, format!("it hung and was killed after {} s", limits.wall_s));
        return RunScore { cpu_s: Some(BigRational::from_integer(limits.wall_s.into())), ..hung };
    }
    let Some(answer) = Answer::parse(&run.status) else {
        let timeout = run.status.to_ascii_lowercase().starts_with("timeout");
        return none(if timeout { RunVerdict::Timeout } else { RunVerdict::Unknown }, String::new());
    };
    let (verdict, why) = compare(run, &answer);
    let points = &edition.points;
    match (verdict, answer.witness()) {
        (RunVerdict::Right, witness) => right(edition, category, run, witness, confirmation),
        (RunVerdict::Wrong, Witness::Correctness) => {
            RunScore { points: points.true_wrong.clone(), ..none(verdict, why) }
        }
        (RunVerdict::Wrong, Witness::Violation) => {
            RunScore { points: points.false_wrong.clone(), ..none(verdict, why) }
        }
        _ => none(verdict, why),
    }
}

/// An answer against the right one: right, wrong, unknown or unjudged, and why.
fn compare(run: &RawRun, answer: &Answer) -> (RunVerdict, String) {
    let wrong = |why: &str| (RunVerdict::Wrong, why.to_owned());
    match (expected(run), answer) {
        (None, _) if run.category.starts_with("correct") => {}
        (None, _) if run.category == "wrong" => return wrong("as the result file says"),
        (None, _) => return (RunVerdict::Unjudged, String::new()),
        (Some(Answer::True), Answer::True) => {}
        (Some(Answer::True), Answer::False(_)) => return wrong("false alarm"),
        (Some(Answer::False(_)), Answer::True) => return wrong("missed bug"),
        (Some(Answer::False(Some(of))), Answer::False(None)) if SUB_PROPERTIES.contains(&of.as_str()) => {
            return (RunVerdict::Unknown, "it does not say which sub-property is violated".to_owned());
        }
        (Some(Answer::False(Some(of))), Answer::False(Some(said))) if of != *said => {
            return wrong(&format!("{of} is violated, not {said}: scores as a wrong FALSE"));
        }
        (Some(Answer::False(None)), Answer::False(Some(said)))
            if !run.properties.is_empty() && !asked(&run.properties, said) =>
        {
            return wrong(&format!("{said} was not asked: scores as a wrong FALSE"));
        }
        (Some(Answer::False(_)), Answer::False(_)) => {}
    }
    (RunVerdict::Right, String::new())
}

/// What a right answer is worth, confirmed or not.
fn right(
    edition: &SvcompEdition,
    category: &str,
    run: &RawRun,
    witness: Witness,
    confirmation: Confirmation,
) -> RunScore {
    let points = &edition.points;
    let (right, unconfirmed) = match witness {
        Witness::Correctness => (&points.true_right, &points.true_unconfirmed),
        Witness::Violation => (&points.false_right, &points.false_unconfirmed),
    };
    let none = |verdict, why: &str| RunScore::none(run, verdict, why.to_owned());
    let right = |why| RunScore { points: right.clone(), ..none(RunVerdict::Right, why) };
    let exempt = edition.witnesses.as_ref().is_none_or(|of| match witness {
        Witness::Correctness => fits(&of.exempt_correctness, category),
        Witness::Violation => fits(&of.exempt_violation, category),
    });
    let open = match confirmation {
        Confirmation::Confirmed => false,
        Confirmation::Unconfirmed => true,
        Confirmation::NotStated => run.category == "correct-unconfirmed",
    };
    match (open, exempt, unconfirmed) {
        (false, ..) if expected(run).is_none() => right("as the result file says"),
        (false, ..) => right(""),
        (true, true, _) if edition.witnesses.is_none() => right(""),
        (true, true, _) => right("not confirmed, but the category is exempt from validation"),
        (true, false, Unconfirmed::AsRight) => right("not confirmed, which this edition does not ask for"),
        (true, false, Unconfirmed::Unknown) => {
            none(RunVerdict::Unknown, "right, but no validator confirmed it: counts as unknown")
        }
        (true, false, Unconfirmed::Points(points)) => RunScore {
            points: points.clone(),
            ..none(RunVerdict::Unconfirmed, "right, but no validator confirmed it")
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::{OtherEdition, Rules, fraction};

    fn edition(name: &str) -> SvcompEdition {
        let Ok(Rules::Other(edition)) = Rules::load(name) else { panic!("{name}") };
        let OtherEdition::Svcomp(edition) = *edition else { panic!("{name}") };
        edition
    }

    fn run(name: &str, properties: &str, expected: &str, status: &str) -> RawRun {
        let (name, properties) = (name.to_owned(), properties.to_owned());
        let (expected, status) = (expected.to_owned(), status.to_owned());
        RawRun { name, properties, expected, status, ..RawRun::default() }
    }

    fn shown(edition: &SvcompEdition, category: &str, run: &RawRun, confirmation: Confirmation) -> String {
        let judged = judge(edition, category, run, confirmation);
        format!("{} {}", judged.verdict.word(), judged.points)
    }

    #[test]
    fn the_right_answer_is_what_the_file_says_else_what_the_tasks_name_says() {
        for (name, properties, of, answer) in [
            ("a/x.yml", "unreach-call", "false(unreach-call)", "false(unreach-call)"),
            ("a/x_true-unreach-call.c", "unreach-call", "", "true"),
            (
                "a/x_false-unreach-call_true-valid-memsafety.c",
                "valid-deref valid-free valid-memtrack",
                "",
                "true",
            ),
            ("a/x_false-unreach-call_false-termination.c", "termination", "", "false"),
            ("a/x_false-valid-free.c", "valid-deref valid-free valid-memtrack", "", "false(valid-free)"),
            ("a/x_false-unreach-label.i", "unreach-label", "", "false"),
            ("ssh/s3_unsafe.cil.c", "", "", "false"),
            ("ssh_true/x.c", "", "", "-"),
        ] {
            let expected = expected(&run(name, properties, of, ""));
            assert_eq!(expected.map_or("-".to_owned(), |answer| answer.to_string()), answer, "{name}");
        }
    }

    #[test]
    fn a_wrong_sub_property_scores_as_a_wrong_false_and_an_unnamed_one_as_unknown() {
        let edition = edition("svcomp-2013");
        let said = |status| {
            let run = run("m_false-valid-free.c", "valid-memsafety", "", status);
            shown(&edition, "MemorySafety", &run, Confirmation::NotStated)
        };
        assert_eq!(said("false(valid-free)"), "right 1");
        assert_eq!(said("false(valid-deref)"), "wrong -4");
        assert_eq!(said("false"), "unknown 0");
        assert_eq!(said("true"), "wrong -8");
        assert_eq!(said("TIMEOUT"), "timeout 0");
        assert_eq!(said("ERROR (parsing failed)"), "not-started 0");
        assert_eq!(said("OUT OF MEMORY"), "unknown 0");
    }

    #[test]
    fn a_run_at_the_limit_is_a_timeout_and_has_the_limit_as_time() {
        let edition = edition("svcomp-2013");
        let judged = |cpu: &str, wall: &str| {
            let mut run = run("x_true.c", "", "", "true");
            (run.cputime, run.walltime) = (fraction::parse(cpu), fraction::parse(wall));
            let of = judge(&edition, "Loops", &run, Confirmation::NotStated);
            format!("{} {} {}", of.verdict.word(), of.points, of.cpu_s.unwrap())
        };
        assert_eq!(judged("899.5", "899"), "right 2 1799/2");
        assert_eq!(judged("900", "450"), "timeout 0 900");
        assert_eq!(judged("3", "900.25"), "timeout 0 900");
    }

    #[test]
    fn an_unconfirmed_answer_gets_what_its_year_gives_and_exempt_categories_need_no_witness() {
        let of = |year: &str, category: &str, holds: bool| {
            let answer = if holds { "true" } else { "false" };
            let run = run("x.yml", "", answer, answer);
            shown(&edition(year), category, &run, Confirmation::Unconfirmed)
        };
        assert_eq!(of("svcomp-2014", "Loops", true), "right 2");
        assert_eq!(of("svcomp-2015", "Loops", false), "unknown 0");
        assert_eq!(of("svcomp-2015", "Loops", true), "right 2");
        assert_eq!(of("svcomp-2016", "Loops", false), "unconfirmed 0");
        assert_eq!(of("svcomp-2018", "Loops", true), "unconfirmed 1");
        assert_eq!(of("svcomp-2024", "ReachSafety-Loops", true), "unconfirmed 0");
        assert_eq!(of("svcomp-2024", "ReachSafety-Arrays", true), "right 2");
        assert_eq!(of("svcomp-2024", "ReachSafety-Arrays", false), "unconfirmed 0");
        assert_eq!(of("svcomp-2024", "ConcurrencySafety-NoDataRace-Main", false), "right 1");
    }
}

//! Computes verdict and points of a run from the answer of the verifier (section on definitions and scores of the rules).

use super::benchexec::RawRun;
use crate::RunVerdict;
use mcc_edition::fits;
use mcc_edition::svcomp::{SubProperty, SvcompEdition, Unconfirmed};
use num_rational::BigRational;
use num_traits::Zero;

/// The answer of a verifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// The property holds.
    True,
    /// The property is violated; the sub-property, if the verifier names one.
    False(Option<String>),
}

impl Answer {
    /// Parses a status such as `true` or `false(valid-deref)`. None for any other status, which counts as UNKNOWN.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        match text.as_str() {
            "true" | "safe" => return Some(Self::True),
            "false" | "unsafe" => return Some(Self::False(None)),
            _ => {}
        }
        let property = text.strip_prefix("false(")?.strip_suffix(')')?;
        Some(Self::False(Some(present_name(property).to_owned())))
    }

    /// The kind of witness that belongs to the answer.
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

/// The kind of a witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Witness {
    /// Evidence that the property holds (answer TRUE).
    Correctness,
    /// Evidence that the property is violated (answer FALSE).
    Violation,
}

impl Witness {
    /// The words of the files: the answer (`true` or `false`) and the kind of witness.
    pub fn words(self) -> [&'static str; 2] {
        match self {
            Self::Correctness => ["true", "correctness"],
            Self::Violation => ["false", "violation"],
        }
    }
}

/// The sub-properties of memory safety; an answer must name the one that is violated.
const SUB_PROPERTIES: [&str; 3] = ["valid-deref", "valid-free", "valid-memtrack"];

/// The present name of a property that was named differently in earlier years.
fn present_name(property: &str) -> &str {
    match property.trim() {
        "reach" | "unreach-label" | "label" | "error-call" => "unreach-call",
        "overflow" => "no-overflow",
        "data-race" => "no-data-race",
        "deadlock" => "no-deadlock",
        other => other,
    }
}

/// Whether a run's properties include this one.
fn is_checked(properties: &str, property: &str) -> bool {
    let mut names = properties.split_ascii_whitespace().map(present_name);
    let whole = |name: &str| matches!(name, "valid-memsafety" | "memsafety" | "memory-safety");
    names.any(|name| name == property || whole(name) && SUB_PROPERTIES.contains(&property))
}

/// The expected answer: that of the file, else that of the name of the task (`_false-unreach-call`, `_true`, `_unsafe`).
pub fn expected(run: &RawRun) -> Option<Answer> {
    if !run.expected.is_empty() {
        return Answer::parse(&run.expected);
    }
    let name = run.name.rsplit('/').next().unwrap_or_default();
    let mut found = None;
    for part in name.split('_').skip(1) {
        let part = part.split('.').next().unwrap_or_default();
        let (answer, property) =
            part.split_once('-').map_or((part, ""), |(answer, rest)| (answer, present_name(rest)));
        let of_this_run = property.is_empty()
            || run.properties.is_empty()
            || is_checked(&run.properties, property)
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

/// Whether validators confirmed the witness of a right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// A validator confirmed it.
    Confirmed,
    /// Validators checked such witnesses in its category, and none confirmed this one.
    Unconfirmed,
    /// Its entry has no validation results, or its category has none; the category that the result file gives the run
    /// counts.
    NotStated,
}

/// Verdict and points of a run.
pub struct RunScore {
    /// The comparison with the expected answer, after witnesses and limits.
    pub verdict: RunVerdict,
    /// Points by the scoring schema of the edition; 0 for most verdicts.
    pub points: BigRational,
    /// The comparison with the expected answer alone, before witnesses: `Right`, `Wrong`, or a verdict without points.
    pub compared: RunVerdict,
    /// The reason for the verdict; may be empty.
    pub why: String,
    /// CPU time in seconds. A run that reached the wall limit has the wall limit.
    pub cpu_s: Option<BigRational>,
}

impl RunScore {
    /// The score of a run without points.
    fn none(run: &RawRun, verdict: RunVerdict, why: String) -> Self {
        Self { verdict, points: BigRational::zero(), compared: verdict, why, cpu_s: run.cputime.clone() }
    }

    /// Whether the run's own category in the result file contradicts the comparison with the expected answer. A run without
    /// a category, and the confirmation of witnesses, contradict nothing.
    pub fn contradicts(&self, category: &str) -> bool {
        let own = match category {
            "" => return false,
            "correct" | "correct-unconfirmed" => Some(RunVerdict::Right),
            "wrong" => Some(RunVerdict::Wrong),
            _ => None,
        };
        let compared =
            Some(self.compared).filter(|verdict| matches!(verdict, RunVerdict::Right | RunVerdict::Wrong));
        own != compared
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
        return none(RunVerdict::Timeout, format!("its CPU time reached the limit of {} s", limits.cpu_s));
    }
    if reached(&run.walltime, limits.wall_s) {
        let hung =
            none(RunVerdict::Timeout, format!("its wall time reached the limit of {} s", limits.wall_s));
        return RunScore { cpu_s: Some(BigRational::from_integer(limits.wall_s.into())), ..hung };
    }
    let Some(answer) = Answer::parse(&run.status) else {
        let timeout = run.status.to_ascii_lowercase().starts_with("timeout");
        return none(if timeout { RunVerdict::Timeout } else { RunVerdict::Unknown }, String::new());
    };
    let points = &edition.points;
    let (verdict, why) = compare(points.sub_property, run, &answer);
    match (verdict, answer.witness()) {
        (RunVerdict::Right, witness) => {
            RunScore { compared: RunVerdict::Right, ..right(edition, category, run, witness, confirmation) }
        }
        (RunVerdict::Wrong, Witness::Correctness) => {
            RunScore { points: points.true_wrong.clone(), ..none(verdict, why) }
        }
        (RunVerdict::Wrong, Witness::Violation) => {
            RunScore { points: points.false_wrong.clone(), ..none(verdict, why) }
        }
        _ => none(verdict, why),
    }
}

/// Compares an answer with the expected one: right, wrong, unknown or unjudged, and the reason.
fn compare(sub_property: SubProperty, run: &RawRun, answer: &Answer) -> (RunVerdict, String) {
    let wrong = |why: &str| (RunVerdict::Wrong, why.to_owned());
    match (expected(run), answer) {
        (None, _) if run.category.starts_with("correct") => {}
        (None, _) if run.category == "wrong" => return wrong("according to the result file"),
        (None, _) => return (RunVerdict::Unjudged, String::new()),
        (Some(Answer::True), Answer::True) => {}
        (Some(Answer::True), Answer::False(_)) => return wrong("false alarm"),
        (Some(Answer::False(_)), Answer::True) => return wrong("missed bug"),
        (Some(Answer::False(expected)), Answer::False(named)) if sub_property == SubProperty::Benchexec => {
            if let Some(expected) = expected.filter(|property| named.as_ref() != Some(property)) {
                let why =
                    format!("the answer does not name the violated property {expected}: counts as unknown");
                return (RunVerdict::Unknown, why);
            }
        }
        (Some(Answer::False(Some(expected))), Answer::False(None))
            if SUB_PROPERTIES.contains(&expected.as_str()) =>
        {
            return (RunVerdict::Unknown, "the answer does not name the violated sub-property".to_owned());
        }
        (Some(Answer::False(Some(expected))), Answer::False(Some(property))) if expected != *property => {
            return wrong(&format!("{expected} is violated, not {property}: counts as a wrong FALSE"));
        }
        (Some(Answer::False(None)), Answer::False(Some(property)))
            if !run.properties.is_empty() && !is_checked(&run.properties, property) =>
        {
            return wrong(&format!("{property} is no property of the task: counts as a wrong FALSE"));
        }
        (Some(Answer::False(_)), Answer::False(_)) => {}
    }
    (RunVerdict::Right, String::new())
}

/// Whether answers with this kind of witness need no confirmation in a category.
pub fn is_exempt(edition: &SvcompEdition, category: &str, witness: Witness) -> bool {
    // The rules name the categories without the property that precedes the name in a category structure.
    let short = category.rsplit('.').next().unwrap_or_default();
    let fits_either = |patterns| fits(patterns, category) || fits(patterns, short);
    edition.witnesses.as_ref().is_none_or(|witnesses| match witness {
        Witness::Correctness => fits_either(&witnesses.exempt_correctness),
        Witness::Violation => fits_either(&witnesses.exempt_violation),
    })
}

/// Verdict and points of a right answer, confirmed or not.
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
    let exempt = is_exempt(edition, category, witness);
    let open = match confirmation {
        Confirmation::Confirmed => false,
        Confirmation::Unconfirmed => true,
        Confirmation::NotStated => run.category == "correct-unconfirmed",
    };
    match (open, exempt, unconfirmed) {
        (false, ..) if expected(run).is_none() => right("according to the result file"),
        (false, ..) => right(""),
        (true, true, _) if edition.witnesses.is_none() => right(""),
        (true, true, _) => right("not confirmed, but the category is exempt from validation"),
        (true, false, Unconfirmed::AsRight) => right("not confirmed, which this edition does not require"),
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
        format!("{} {}", judged.verdict, judged.points)
    }

    #[test]
    fn the_expected_answer_is_read_from_the_file_or_the_task_name() {
        for (name, properties, own, answer) in [
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
            let expected = expected(&run(name, properties, own, ""));
            assert_eq!(expected.map_or("-".to_owned(), |answer| answer.to_string()), answer, "{name}");
        }
    }

    #[test]
    fn a_wrong_sub_property_is_wrong_and_an_unnamed_one_unknown() {
        let edition = edition("svcomp-2013");
        let scored = |status| {
            let run = run("m_false-valid-free.c", "valid-memsafety", "", status);
            shown(&edition, "MemorySafety", &run, Confirmation::NotStated)
        };
        assert_eq!(scored("false(valid-free)"), "right 1");
        assert_eq!(scored("false(valid-deref)"), "wrong -4");
        assert_eq!(scored("false"), "unknown 0");
        assert_eq!(scored("true"), "wrong -8");
        assert_eq!(scored("TIMEOUT"), "timeout 0");
        assert_eq!(scored("ERROR (parsing failed)"), "not-started 0");
        assert_eq!(scored("OUT OF MEMORY"), "unknown 0");
    }

    /// The results of `get_result_category` of BenchExec 3.35: `None` where it is `unknown`.
    #[test]
    fn sub_properties_are_compared_as_benchexec_does_from_2016_on() {
        for (expected, answer, right) in [
            ("false(valid-memtrack)", "false(valid-deref)", None),
            ("false(valid-memtrack)", "false(valid-memtrack)", Some(true)),
            ("false(valid-memtrack)", "false", None),
            ("false(valid-memtrack)", "true", Some(false)),
            ("false(no-overflow)", "false(unreach-call)", None),
            ("false(no-overflow)", "false", None),
            ("false", "false(no-overflow)", Some(true)),
            ("false", "false(valid-deref)", Some(true)),
            ("true", "false(valid-deref)", Some(false)),
            ("true", "false", Some(false)),
        ] {
            for year in 2016..=2026 {
                let run = run("x.yml", "valid-memsafety", expected, answer);
                let edition = edition(&format!("svcomp-{year}"));
                let points = match (right, answer) {
                    (None, _) => "unknown 0",
                    (Some(true), _) => "right 1",
                    (Some(false), "true") => "wrong -32",
                    (Some(false), _) => "wrong -16",
                };
                let shown = shown(&edition, "Memory", &run, Confirmation::Confirmed);
                assert_eq!(shown, points, "{year}: {answer} where {expected} is expected");
            }
        }
        let unknown = |year: &str| edition(year).unknown.contains_key("points.sub_property");
        assert_eq!(["svcomp-2013", "svcomp-2018", "svcomp-2021"].map(unknown), [true, true, false]);
    }

    #[test]
    fn a_category_that_contradicts_the_comparison_is_found() {
        let edition = edition("svcomp-2024");
        let contradicts = |expected: &str, status: &str, category: &str| {
            let run = run("x.yml", "unreach-call", expected, status);
            judge(&edition, "Loops", &run, Confirmation::Unconfirmed).contradicts(category)
        };
        for (expected, status, category, contradicted) in [
            ("true", "true", "correct", false),
            ("true", "true", "correct-unconfirmed", false),
            ("true", "true", "wrong", true),
            ("true", "true", "unknown", true),
            ("true", "true", "", false),
            ("true", "false", "wrong", false),
            ("true", "false", "correct", true),
            ("true", "TIMEOUT", "error", false),
            ("true", "unknown", "wrong", true),
            ("", "true", "missing", false),
        ] {
            let found = contradicts(expected, status, category);
            assert_eq!(found, contradicted, "{status} with {category}, expected {expected}");
        }
    }

    #[test]
    fn a_run_at_a_limit_is_a_timeout() {
        let edition = edition("svcomp-2013");
        let judged = |cpu: &str, wall: &str| {
            let mut run = run("x_true.c", "", "", "true");
            (run.cputime, run.walltime) = (fraction::parse(cpu), fraction::parse(wall));
            let result = judge(&edition, "Loops", &run, Confirmation::NotStated);
            format!("{} {} {}", result.verdict, result.points, result.cpu_s.unwrap())
        };
        assert_eq!(judged("899.5", "899"), "right 2 1799/2");
        assert_eq!(judged("900", "450"), "timeout 0 900");
        assert_eq!(judged("3", "900.25"), "timeout 0 900");
    }

    #[test]
    fn unconfirmed_answers_get_the_points_of_their_year() {
        let judged = |year: &str, category: &str, holds: bool| {
            let answer = if holds { "true" } else { "false" };
            let run = run("x.yml", "", answer, answer);
            shown(&edition(year), category, &run, Confirmation::Unconfirmed)
        };
        assert_eq!(judged("svcomp-2014", "Loops", true), "right 2");
        assert_eq!(judged("svcomp-2015", "Loops", false), "unknown 0");
        assert_eq!(judged("svcomp-2015", "Loops", true), "right 2");
        assert_eq!(judged("svcomp-2016", "Loops", false), "unconfirmed 0");
        assert_eq!(judged("svcomp-2018", "Loops", true), "unconfirmed 1");
        assert_eq!(judged("svcomp-2024", "ReachSafety-Loops", true), "unconfirmed 0");
        assert_eq!(judged("svcomp-2024", "ReachSafety-Arrays", true), "right 2");
        assert_eq!(judged("svcomp-2024", "ReachSafety-Arrays", false), "unconfirmed 0");
        assert_eq!(judged("svcomp-2024", "no-data-race.NoDataRace-Main", false), "right 1");
        assert_eq!(judged("svcomp-2024", "unreach-call.ConcurrencySafety-Main", true), "right 2");
    }

    #[test]
    fn violation_witnesses_are_required_for_data_races_except_in_2024() {
        for year in 2021..=2026 {
            let run = run("x.yml", "", "false", "false");
            let edition = edition(&format!("svcomp-{year}"));
            let shown = shown(&edition, "no-data-race.NoDataRace-Main", &run, Confirmation::Unconfirmed);
            assert_eq!(shown, if year == 2024 { "right 1" } else { "unconfirmed 0" }, "{year}");
        }
    }
}

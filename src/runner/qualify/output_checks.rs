//! Checks of the output of a tool.

use super::{Finding, JudgedValue, RunQuestions};
use mcc_campaign::benchkit::{Answers, Value, abridged};
use mcc_edition::AnswerKind;
use num_bigint::BigUint;
use std::collections::BTreeSet;

/// Returns the findings of one output, by line. Checks the form of every line, and compares the values with each other,
/// with the initial marking and with known values.
pub fn check_output(answers: &Answers, run_questions: &RunQuestions) -> Vec<Finding> {
    // Tools print the same techniques with every value, so an unusual one is reported once.
    let mut unusual = BTreeSet::new();
    let mut findings: Vec<_> = answers
        .anomalies
        .iter()
        .filter(|anomaly| anomaly.technique.as_ref().is_none_or(|word| unusual.insert(word)))
        .map(|anomaly| {
            // With another examination or instance every id is unknown: another value would not help.
            let finding = match &anomaly.unknown_id {
                Some(id) => {
                    let (problem, fix) = run_questions.questions.no_id(id);
                    Finding::new("E-1.8", problem, fix)
                }
                None => Finding::new(anomaly.rule, &anomaly.problem, &anomaly.fix),
            };
            Finding { severity: anomaly.severity, ..finding.at("stdout", Some(anomaly.line)) }
        })
        .collect();
    for position in 0..answers.ids.len() {
        let finding = impossible_value(answers, run_questions, position)
            .or_else(|| wrong(answers, run_questions, position))
            .or_else(|| wrong_interval(answers, run_questions, position))
            .or_else(|| overflow(answers, position));
        if let Some(finding) = finding {
            findings.push(finding.at("stdout", answers.line(position)));
        }
    }
    findings.sort_by_key(|finding| finding.line);
    if answers.anomalies_dropped > 0 {
        let more = format!("further lines that violate the protocol: {}", answers.anomalies_dropped);
        findings.push(
            Finding::new("E-1.7", more, "correct the reported lines first; then check the output again")
                .at("stdout", None),
        );
    }
    // Of total examinations, tools print only what they know.
    findings.extend(run_questions.questions.total.is_none().then(|| missing(answers)).flatten());
    findings
}

/// An interval without the known value, or below the initial marking.
fn wrong_interval(answers: &Answers, run_questions: &RunQuestions, position: usize) -> Option<Finding> {
    let interval = answers.intervals.get(position)?.as_ref()?;
    let known = run_questions.expected.get(position).and_then(Option::as_ref);
    let (known, source) = match (known, run_questions.least.get(position)) {
        (Some(known), _) if !interval.contains(known) => (short(known), run_questions.oracle.as_deref()?),
        (_, Some(Some(least))) if interval.most.as_ref().is_some_and(|most| most < least) => {
            (short(least), "the initial marking")
        }
        _ => return None,
    };
    let problem = format!("{} is {interval}, but {source} has {known}", answers.ids[position]);
    Some(Finding::new("E-1.3", problem, "correct the tool, or print no interval"))
}

/// A value that differs from the known value.
fn wrong(answers: &Answers, run_questions: &RunQuestions, position: usize) -> Option<Finding> {
    let (given, known) =
        (answers.values[position].as_ref()?, run_questions.expected.get(position)?.as_ref()?);
    let agrees = given.is_same(known);
    (!agrees).then(|| {
        let problem = format!("{}, but the known value is {}", is(answers, position, given), short(known));
        let oracle = run_questions.oracle.as_deref();
        let oracle = oracle.map_or_else(|| VERDICTS_FILE.to_owned(), str::to_owned);
        let fix = "correct the tool, or do not answer: a wrong value costs twice the points of a right one";
        Finding::new("E-4", problem, fix).about(judged(answers, position, given, known.to_string(), &oracle))
    })
}

/// The file of an archive with the known properties of its net.
const VERDICTS_FILE: &str = "GenericPropertiesVerdict.xml";

/// A value with its id, for the text of a finding.
fn is(answers: &Answers, position: usize, given: &Value) -> String {
    format!("{} is {}", answers.ids[position], short(given))
}

fn judged(answers: &Answers, position: usize, given: &Value, known: String, oracle: &str) -> JudgedValue {
    let (id, oracle) = (answers.ids[position].clone(), oracle.to_owned());
    JudgedValue { position: format!("{position:02}"), id, given: given.to_string(), known, oracle }
}

/// `+inf` as a StateSpace count. Each of the four counts is infinite if and only if a place is unbounded; tools also print
/// it where a count overflows.
fn overflow(answers: &Answers, position: usize) -> Option<Finding> {
    let is_overflow = answers.values[position] == Some(Value::Overflow);
    is_overflow.then(|| {
        let problem =
            format!("{} is infinite, which is right only if a place is unbounded", answers.ids[position]);
        let fix =
            "if every place is bounded, print all digits; if the tool does not have the number, print -1";
        Finding::new("E-1.2", problem, fix).warning()
    })
}

/// A number that no marking graph can have.
fn impossible_value(answers: &Answers, run_questions: &RunQuestions, position: usize) -> Option<Finding> {
    let id = &answers.ids[position];
    let given = answers.values[position].as_ref()?;
    let Value::Number(number) = given else { return None };
    let fix = "count the initial marking, which is reachable";
    if let Some(Some(least)) = run_questions.least.get(position)
        && number < least
    {
        let problem =
            format!("{}, but the initial marking has {}", is(answers, position, given), short(least));
        let value = judged(answers, position, given, least.to_string(), "the initial marking");
        return Some(Finding::new(rule(run_questions), problem, fix).about(value));
    }
    if run_questions.questions.answers != AnswerKind::StateSpace {
        return None;
    }
    match id.as_str() {
        "STATES" if *number == BigUint::ZERO => Some(Finding::new("E-1.2", "STATES is 0", fix)),
        "MAX_TOKEN_IN_PLACE" if run_questions.safe && *number > BigUint::from(1_u8) => {
            let problem = format!("{}, but the model is known to be safe", is(answers, position, given));
            let fix = format!("correct the tool: {VERDICTS_FILE} states SAFE");
            let value = judged(answers, position, given, "1".to_owned(), VERDICTS_FILE);
            Some(Finding::new("E-1.2", problem, fix).about(value))
        }
        "MAX_TOKEN_IN_PLACE" => {
            let marking = answers.ids.iter().position(|id| id == "MAX_TOKEN_PER_MARKING")?;
            let Some(Value::Number(total)) = &answers.values[marking] else { return None };
            (number > total).then(|| {
                let given_here = is(answers, position, given);
                let problem = format!("{given_here}, but MAX_TOKEN_PER_MARKING is only {}", short(total));
                let fix = "correct the tool: a marking has at least the tokens of each of its places";
                let value = judged(answers, position, given, total.to_string(), "MAX_TOKEN_PER_MARKING");
                Finding::new("E-1.2", problem, fix).about(value)
            })
        }
        _ => None,
    }
}

/// Values that are neither given nor CANNOT_COMPUTE although others are (E-1.7).
fn missing(answers: &Answers) -> Option<Finding> {
    let given = |position: usize| answers.values[position].is_some();
    let missing = |position: &usize| !given(*position) && !answers.cannot_compute[*position];
    // An id in a rejected line is part of that finding.
    let missing: Vec<_> = (0..answers.ids.len())
        .filter(|position| missing(position) && !answers.is_rejected(*position))
        .collect();
    let is_state_space = answers.ids.len() == 4 && answers.ids.iter().all(|id| !id.contains('-'));
    let others = match answers.declared {
        None => answers.values.iter().any(Option::is_some),
        // Without STATES no other number is given.
        Some(_) => answers.declared_by_position && !is_state_space,
    };
    let first = missing.first().filter(|_| others)?;
    let (n, all, id) = (missing.len(), answers.ids.len(), &answers.ids[*first]);
    let problem = format!("no answer for {n} of {all} values; the first is {id}");
    let fix = format!("print for each of them: FORMULA {id} CANNOT_COMPUTE");
    let fix = if is_state_space {
        "print every metric, with -1 if the tool does not compute it".to_owned()
    } else {
        fix
    };
    Some(Finding::new("E-1.7", problem, fix).at("stdout", None).warning())
}

/// Returns a finding for each value that differs between attempts at one run.
pub fn differing_values(attempts: &[Answers]) -> Vec<Finding> {
    if attempts.len() < 2 {
        return Vec::new();
    }
    let ids: BTreeSet<_> = attempts.iter().flat_map(|answers| &answers.ids).collect();
    let positions: Vec<_> = attempts.iter().map(Answers::positions).collect();
    let answer = |n: usize, id: &String| {
        let (answers, position) = (&attempts[n], *positions[n].get(id.as_str())?);
        Some((answers.values[position].as_ref()?, answers.lines[position]))
    };
    let mut findings = vec![];
    for id in ids {
        let given = (0..attempts.len()).filter_map(|n| Some((n + 1, answer(n, id)?)));
        let given: Vec<_> = given.collect();
        let Some((first, (value, _))) = given.first() else { continue };
        if let Some((n, (other, line))) = given.iter().find(|(_, (other, _))| other != value) {
            let problem = format!(
                "{id} differs between repetitions: {} in attempt {first}, {} in attempt {n}",
                short(value),
                short(other)
            );
            let fix = "the same input must give the same value: check random seeds, threads and uninitialized memory";
            findings.push(Finding::new("E-3.1", problem, fix).at("stdout", *line));
        }
    }
    findings
}

fn rule(run_questions: &RunQuestions) -> &'static str {
    match run_questions.questions.answers {
        AnswerKind::StateSpace => "E-1.2",
        AnswerKind::Number => "E-1.3",
        AnswerKind::Boolean => "E-1.7",
    }
}

/// A value for display, abbreviated: a number can have 24,000 digits.
fn short(value: &impl ToString) -> String {
    abridged(&value.to_string())
}

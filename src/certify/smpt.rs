//! Reads the invariant in a proof that SMPT exports (`--export-proof`): SMT-LIB 2 with a function `cert` of the tokens of all
//! places (module `certificate` of SMPT 5.0), or without it and with the negated invariant as the last assertion (module `pdr`).
//! Only the invariant is read, and nothing of the file is executed.

use crate::proof::Condition;
use crate::proof_lp::{Linear, MAX_CONDITION_NUMBERS};
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of bytes of a file.
pub(crate) const MAX_BYTES: usize = 64 << 20;
/// Most parentheses inside of each other.
const MAX_DEPTH: usize = 200;
/// Most inequalities of all clauses.
const MAX_LITERALS: usize = 5_000;
/// Most terms in them: linear programs refuse more.
const MAX_TERMS: usize = MAX_CONDITION_NUMBERS;
/// Most words and parentheses of one part of the file, and of all declarations together. Each needs about 100 bytes of memory.
const MAX_WORDS: usize = 4_000_000;

/// A problem of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) line: usize,
    pub(crate) what: String,
}

type Result<T> = std::result::Result<T, Problem>;

/// A part of the text, with its line.
enum Part {
    Word(String, usize),
    List(Vec<Part>, usize),
}

impl Part {
    fn line(&self) -> usize {
        let (Self::Word(_, line) | Self::List(_, line)) = self;
        *line
    }

    fn word(&self) -> Option<&str> {
        if let Self::Word(word, _) = self { Some(word) } else { None }
    }

    fn list(&self) -> Option<&[Part]> {
        if let Self::List(parts, _) = self { Some(parts) } else { None }
    }

    fn problem<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Problem { line: self.line(), what: what.into() })
    }
}

/// The words of a text: parentheses, symbols and numbers, with their lines. Comments are left out.
struct Words<'a> {
    text: &'a str,
    line: usize,
    /// Number of words and parentheses of the last part.
    in_part: usize,
}

impl<'a> Words<'a> {
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.text.split_at(bytes);
        self.line += taken.bytes().filter(|byte| *byte == b'\n').count();
        self.text = rest;
        taken
    }

    fn next(&mut self) -> Result<Option<(&'a str, usize)>> {
        loop {
            let blanks = self.text.len() - self.text.trim_start().len();
            self.take(blanks);
            if !self.text.starts_with(';') {
                break;
            }
            let comment = self.text.find('\n').unwrap_or(self.text.len());
            self.take(comment);
        }
        let line = self.line;
        let Some(first) = self.text.chars().next() else { return Ok(None) };
        let length = match first {
            '(' | ')' => 1,
            '|' | '"' => match self.text[1..].find(first) {
                Some(end) => end + 2,
                None => return Err(Problem { line, what: format!("{first} is not closed") }),
            },
            _ => {
                let is_end = |next: char| next.is_whitespace() || matches!(next, '(' | ')' | ';' | '|' | '"');
                self.text.find(is_end).unwrap_or(self.text.len())
            }
        };
        Ok(Some((self.take(length), line)))
    }

    /// The next part; None at the end of the text.
    fn part(&mut self) -> Result<Option<Part>> {
        let mut open: Vec<(Vec<Part>, usize)> = Vec::new();
        self.in_part = 0;
        while let Some((word, line)) = self.next()? {
            self.in_part += 1;
            if self.in_part > MAX_WORDS {
                return Err(Problem { line, what: format!("a part has more than {MAX_WORDS} words") });
            }
            let part = match word {
                "(" if open.len() == MAX_DEPTH => {
                    return Err(Problem {
                        line,
                        what: format!("more than {MAX_DEPTH} parentheses are open"),
                    });
                }
                "(" => {
                    open.push((Vec::new(), line));
                    continue;
                }
                ")" => match open.pop() {
                    Some((parts, line)) => Part::List(parts, line),
                    None => return Err(Problem { line, what: "a ')' without '('".into() }),
                },
                word => Part::Word(word.trim_matches('|').to_owned(), line),
            };
            match open.last_mut() {
                Some((parts, _)) => parts.push(part),
                None => return Ok(Some(part)),
            }
        }
        match open.pop() {
            Some((_, line)) => Err(Problem { line, what: "a '(' is not closed".into() }),
            None => Ok(None),
        }
    }
}

/// The spelling of a name in a file of SMPT, which replaces characters that SMT-LIB does not allow.
pub(crate) fn spelled(name: &str) -> String {
    name.chars()
        .filter(|next| !matches!(next, '{' | '}'))
        .map(|next| if matches!(next, '#' | ',') { '.' } else { next })
        .collect()
}

/// The name of a place without the number of its marking (`p@0`).
fn place_name(name: &str) -> &str {
    let numbered =
        name.rsplit_once('@').filter(|(_, number)| number.bytes().all(|byte| byte.is_ascii_digit()));
    numbered.map_or(name, |(name, _)| name)
}

/// An invariant of a file.
pub(crate) struct Invariant {
    /// The line where its formula begins.
    pub(crate) line: usize,
    /// In each clause, one inequality holds. None: they have more than `MAX_LITERALS` inequalities or `MAX_TERMS` terms.
    pub(crate) clauses: Option<Vec<Vec<Linear>>>,
}

impl Invariant {
    /// The problem of a file whose clauses are needed and too many.
    pub(crate) fn too_long(&self) -> Problem {
        let what = format!(
            "the invariant has more than {MAX_LITERALS} inequalities or {MAX_TERMS} terms in its clauses"
        );
        Problem { line: self.line, what }
    }
}

/// Reads the invariant as clauses. `place` finds a place by its name as in `spelled`. Parts of the invariant with firing
/// counts of transitions (bound by `exists`) are left out: proofs have the state equation anyway.
pub(crate) fn read(text: &str, place: impl Fn(&str) -> Option<u32>) -> Result<Invariant> {
    read_within(text, place, MAX_WORDS)
}

/// `read` with the most words of all declarations.
fn read_within(text: &str, place: impl Fn(&str) -> Option<u32>, most: usize) -> Result<Invariant> {
    let mut words = Words { text, line: 1, in_part: 0 };
    let (mut declared, mut in_declared) = (Vec::new(), 0);
    let mut asserted = None;
    let (parameters, body, truth) = loop {
        let Some(part) = words.part()? else {
            // The module `pdr` asserts that the invariant is false.
            let Some(assertion) = asserted.take() else {
                let what =
                    "there is neither a function cert, (define-fun cert (...) Bool ...), nor an assertion";
                return Err(Problem { line: words.line, what: what.into() });
            };
            break (declared, assertion, false);
        };
        let Part::List(parts, line) = part else { continue };
        let first = parts.first().and_then(Part::word).unwrap_or_default().to_owned();
        let is_cert = first == "define-fun" && parts.get(1).and_then(Part::word) == Some("cert");
        match <[Part; 5]>::try_from(parts) {
            Ok([_, _, Part::List(parameters, _), Part::Word(sort, _), body]) if is_cert && sort == "Bool" => {
                break (parameters, body, true);
            }
            _ if is_cert => {
                let what = "cert is not of the form (define-fun cert ((place Int) ...) Bool formula)";
                return Err(Problem { line, what: what.into() });
            }
            // Of more constants none is known, so a formula with one is refused.
            Err(mut parts) if first == "declare-const" && in_declared + words.in_part - 1 <= most => {
                // All but the word declare-const.
                in_declared += words.in_part - 1;
                declared.push(Part::List(parts.split_off(1), line));
            }
            Err(mut parts) if first == "assert" && parts.len() == 2 => asserted = parts.pop(),
            _ => {}
        }
    };
    let mut places = BTreeMap::new();
    for parameter in &parameters {
        let name = variable(parameter)?;
        match place(place_name(name)) {
            Some(number) => _ = places.insert(place_name(name), number),
            None => {
                let what = format!(
                    "\"{name}\" is not a place of the net, or several have this name; proofs of reduced nets \
                     cannot be read: use SMPT without reductions"
                );
                return parameter.problem(what);
            }
        }
    }
    let line = body.line();
    let formula = Reader { places }.formula(&body, truth, &Bound::default())?;
    let clauses = clauses(&formula.unwrap_or(Condition::All(Vec::new())), &mut [0, 0]);
    Ok(Invariant { line, clauses })
}

/// The name in `(name Int)`.
fn variable(part: &Part) -> Result<&str> {
    match part.list() {
        Some([Part::Word(name, _), Part::Word(sort, _)]) if sort == "Int" => Ok(name),
        _ => part.problem("a variable of another form than (name Int)"),
    }
}

/// A sum of weighted tokens and a constant.
#[derive(Clone, Default)]
struct Sum {
    terms: BTreeMap<u32, i128>,
    constant: i128,
}

impl Sum {
    /// The sum of two sums, the second one multiplied by a factor; None: a number is too large.
    fn plus(mut self, other: &Self, factor: i128) -> Option<Self> {
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (place, weight) in &other.terms {
            let known = self.terms.entry(*place).or_default();
            *known = known.checked_add(weight.checked_mul(factor)?)?;
        }
        Some(self)
    }
}

/// The variables that quantifiers bind: those of the innermost one, and those around it.
#[derive(Default)]
struct Bound<'a> {
    names: BTreeSet<&'a str>,
    outer: Option<&'a Bound<'a>>,
}

impl Bound<'_> {
    fn contains(&self, name: &str) -> bool {
        self.names.contains(name) || self.outer.is_some_and(|outer| outer.contains(name))
    }
}

struct Reader<'a> {
    places: BTreeMap<&'a str, u32>,
}

impl Reader<'_> {
    /// The condition that a formula has this truth; None: it depends on variables in `bound`.
    fn formula(&self, part: &Part, truth: bool, bound: &Bound<'_>) -> Result<Option<Condition>> {
        let Part::List(parts, _) = part else {
            return match part.word() {
                Some(word @ ("true" | "false")) => Ok(Some(constant((word == "true") == truth))),
                word => part.problem(format!("\"{}\" is not a formula", word.unwrap_or_default())),
            };
        };
        let Some((operator, operands)) = parts.split_first() else {
            return part.problem("() is not a formula");
        };
        match (operator.word().unwrap_or_default(), operands) {
            ("and", operands) => self.junction(operands.iter().map(|part| (part, truth)), truth, bound),
            ("or", operands) => self.junction(operands.iter().map(|part| (part, truth)), !truth, bound),
            ("=>", [first, second]) => {
                self.junction([(first, !truth), (second, truth)].into_iter(), !truth, bound)
            }
            ("not", [operand]) => self.formula(operand, !truth, bound),
            ("exists", [Part::List(variables, _), operand]) if truth => {
                let names = variables.iter().map(variable).collect::<Result<_>>()?;
                self.formula(operand, truth, &Bound { names, outer: Some(bound) })
            }
            ("exists" | "forall", _) => part.problem(
                "a quantifier over other numbers than firing counts (saturation), which is not read: use SMPT without it",
            ),
            (relation @ ("<=" | "<" | ">=" | ">" | "=" | "distinct"), [left, right]) => {
                let (Some(left), Some(right)) = (self.sum(left, bound)?, self.sum(right, bound)?) else {
                    return Ok(None);
                };
                relate(relation, &left, &right, truth).map_or_else(|| part.problem(TOO_LARGE), |known| Ok(Some(known)))
            }
            (operator, operands) => part.problem(format!("\"{operator}\" with {} operands is not read", operands.len())),
        }
    }

    /// A conjunction or disjunction. A conjunction may lose parts, a disjunction may not.
    fn junction<'p>(
        &self,
        parts: impl Iterator<Item = (&'p Part, bool)>,
        all: bool,
        bound: &Bound<'_>,
    ) -> Result<Option<Condition>> {
        let parts: Vec<Option<Condition>> =
            parts.map(|(part, truth)| self.formula(part, truth, bound)).collect::<Result<_>>()?;
        Ok(if all {
            Some(Condition::All(parts.into_iter().flatten().collect()))
        } else {
            parts.into_iter().collect::<Option<_>>().map(Condition::One)
        })
    }

    /// A sum; None: it has variables in `bound`.
    fn sum(&self, part: &Part, bound: &Bound<'_>) -> Result<Option<Sum>> {
        let parts = match part {
            // SMPT writes negative numbers as -1, where SMT-LIB has (- 1).
            Part::Word(word, _)
                if word.strip_prefix('-').unwrap_or(word).bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                return match word.parse::<i64>() {
                    Ok(number) => Ok(Some(Sum { constant: number.into(), ..Sum::default() })),
                    Err(_) => part.problem(TOO_LARGE),
                };
            }
            Part::Word(word, _) if bound.contains(word) => return Ok(None),
            Part::Word(word, _) => {
                return match self.places.get(place_name(word)) {
                    Some(place) => Ok(Some(Sum { terms: BTreeMap::from([(*place, 1)]), constant: 0 })),
                    None => part.problem(format!("\"{word}\" is neither a parameter of cert nor bound")),
                };
            }
            Part::List(parts, _) => parts,
        };
        let operator = parts.first().and_then(Part::word).unwrap_or_default();
        let sums = parts.iter().skip(1).map(|part| self.sum(part, bound));
        let Some(sums) = sums.collect::<Result<Option<Vec<Sum>>>>()? else { return Ok(None) };
        let sum = match (operator, sums.as_slice()) {
            ("+", [first, rest @ ..]) => rest.iter().try_fold(first.clone(), |sum, next| sum.plus(next, 1)),
            ("-", [one]) => Sum::default().plus(one, -1),
            ("-", [first, rest @ ..]) => rest.iter().try_fold(first.clone(), |sum, next| sum.plus(next, -1)),
            ("*", [left, right]) if left.terms.is_empty() => Sum::default().plus(right, left.constant),
            ("*", [left, right]) if right.terms.is_empty() => Sum::default().plus(left, right.constant),
            _ => return part.problem(format!("\"{operator}\" with {} operands is not a sum", sums.len())),
        };
        sum.map_or_else(|| part.problem(TOO_LARGE), |sum| Ok(Some(sum)))
    }
}

const TOO_LARGE: &str = "a number is too large";

fn constant(truth: bool) -> Condition {
    if truth { Condition::All(Vec::new()) } else { Condition::One(Vec::new()) }
}

/// The condition that a comparison has this truth. None: a number is too large.
fn relate(relation: &str, left: &Sum, right: &Sum, truth: bool) -> Option<Condition> {
    // More minus less is at least the gap.
    let at_least = |more: &Sum, less: &Sum, gap: i128| {
        let Sum { terms, constant } = more.clone().plus(less, -1)?;
        let bound = gap.checked_sub(constant)?;
        let mut weights = terms.values().map(|weight| weight.unsigned_abs());
        let all = weights.try_fold(0, u128::checked_add)?;
        // So that sums with token counts of 64 bits do not exceed 128 bits, nor do the changes by `convert::MAX_DEPTH` firings.
        (bound.unsigned_abs() <= 1 << 62 && all <= 1 << 61)
            .then(|| Condition::Linear(Linear::new(terms, bound)))
    };
    match (relation, truth) {
        ("<=", true) | (">", false) => at_least(right, left, 0),
        ("<", true) | (">=", false) => at_least(right, left, 1),
        (">=", true) | ("<", false) => at_least(left, right, 0),
        (">", true) | ("<=", false) => at_least(left, right, 1),
        ("=", true) | ("distinct", false) => {
            Some(Condition::All(vec![at_least(left, right, 0)?, at_least(right, left, 0)?]))
        }
        _ => Some(Condition::One(vec![at_least(left, right, 1)?, at_least(right, left, 1)?])),
    }
}

/// The number of clauses and their inequalities, and that of the terms in them.
type Size = [usize; 2];

const MAX_SIZE: Size = [MAX_LITERALS, MAX_TERMS];

fn size(clauses: &[Vec<Linear>]) -> Size {
    let literals = clauses.iter().map(|clause| clause.len() + 1).sum();
    [literals, clauses.iter().flatten().map(|linear| linear.terms.len()).sum()]
}

/// The clauses of a formula by distribution; None: there are too many. Clauses that are always true are left out. `all` is the
/// size of the clauses of all parts.
fn clauses(formula: &Condition, all: &mut Size) -> Option<Vec<Vec<Linear>>> {
    let made = match formula {
        Condition::Linear(linear) if linear.terms.is_empty() && linear.bound <= 0 => Vec::new(),
        Condition::Linear(linear) if linear.terms.is_empty() => vec![Vec::new()],
        Condition::Linear(linear) => vec![vec![linear.clone()]],
        Condition::All(parts) => {
            let mut made = Vec::new();
            for part in parts {
                made.extend(clauses(part, all)?);
            }
            return Some(made);
        }
        Condition::One(parts) => {
            let mut product: Vec<Vec<Linear>> = vec![Vec::new()];
            for part in parts {
                let choices = clauses(part, all)?;
                let (before, added) = (size(&product), size(&choices));
                for (number, most) in MAX_SIZE.into_iter().enumerate() {
                    let more = (before[number].saturating_mul(choices.len()))
                        .saturating_add(added[number].saturating_mul(product.len()));
                    if more > most {
                        return None;
                    }
                }
                let with = |clause: &Vec<Linear>| {
                    choices.iter().map(|choice| [clause.as_slice(), choice].concat()).collect::<Vec<_>>()
                };
                product = product.iter().flat_map(with).collect();
            }
            product
        }
    };
    for (sum, added) in all.iter_mut().zip(size(&made)) {
        *sum += added;
    }
    (all[0] <= MAX_LITERALS && all[1] <= MAX_TERMS).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clauses_of(body: &str) -> std::result::Result<Vec<Vec<Linear>>, String> {
        let text = format!(
            "(set-logic LIA)\n\n; Certificate\n\n(define-fun cert ((p Int)(q@0 Int)) Bool {body})\n(assert (boom"
        );
        let place = |name: &str| ["p", "q"].iter().position(|known| *known == name).map(|place| place as u32);
        let read = read(&text, place)
            .and_then(|invariant| invariant.clauses.clone().ok_or_else(|| invariant.too_long()));
        read.map_err(|problem| format!("line {}: {}", problem.line, problem.what))
    }

    #[test]
    fn the_body_of_cert_is_read_as_clauses_and_nothing_after_it() {
        let p = |weight, bound| Linear::new([(0, weight)], bound);
        let q = |weight, bound| Linear::new([(1, weight)], bound);
        for (body, expected) in [
            ("(<= p 3)", vec![vec![p(-1, -3)]]),
            ("(< p@0 |q|)", vec![vec![Linear::new([(0, -1), (1, 1)], 1)]]),
            (
                "(and (>= p 1) (> (+ p q) (- 2)))",
                vec![vec![p(1, 1)], vec![Linear::new([(0, 1), (1, 1)], -1)]],
            ),
            ("(>= (* p -2) -7)", vec![vec![p(-2, -7)]]),
            ("(= (* 2 p) 4)", vec![vec![p(2, 4)], vec![p(-2, -4)]]),
            ("(not (= p 0))", vec![vec![p(1, 1), p(-1, 1)]]),
            ("(=> (> p 0) (and (< q 1) true))", vec![vec![p(-1, 0), q(-1, 0)]]),
            ("(or (and (>= p 1) (>= p 2)) (>= q 1))", vec![vec![p(1, 1), q(1, 1)], vec![p(1, 2), q(1, 1)]]),
            ("(not (or (>= p 1) false))", vec![vec![p(-1, 0)]]),
            ("(or)", vec![vec![]]),
            // The state equation with a trap: what has firing counts is left out.
            (
                "(exists ((t Int)(p Int)) (and (and (>= t 0)(>= p 0) (and (= q (+ t (* p (- 1)) 1)))) (or (> q 0)(> q 1))))",
                vec![vec![q(1, 1), q(1, 2)]],
            ),
            ("(exists ((t Int)) (or (>= t 0) (>= p 0)))", vec![]),
            // Variables of both quantifiers, one of which hides a place.
            (
                "(exists ((t Int)(p Int)) (exists ((u Int)) (and (>= t 0) (>= u 0) (>= p 1) (>= q 1))))",
                vec![vec![q(1, 1)]],
            ),
        ] {
            assert_eq!(clauses_of(body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn a_long_inequality_is_not_copied_into_very_many_clauses() {
        let long = Linear::new((0..6_000).map(|place| (place, -1)), 0);
        let copied = |copies: i128| {
            let others = (0..copies).map(|bound| Condition::Linear(Linear::new([(0, 1)], bound))).collect();
            let either = Condition::One(vec![Condition::Linear(long.clone()), Condition::All(others)]);
            clauses(&either, &mut [0, 0]).map(|clauses| clauses.len())
        };
        assert_eq!((copied(10), copied(1_000)), (Some(10), None));
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line() {
        let deep = format!("{}(<= p 1){}", "(not ".repeat(300), ")".repeat(300));
        let pairs: String = (0..40).map(|n| format!("(and (>= p {n}) (>= q {n}))")).collect();
        let long = "1 ".repeat(MAX_WORDS);
        let wide = format!("(or {pairs})");
        for (body, message) in [
            ("\n(<= r 3)", "line 6: \"r\" is neither a parameter"),
            ("(forall ((k Int)) (<= p k))", "line 5: a quantifier"),
            ("(not (exists ((k Int)) (<= p k)))", "line 5: a quantifier"),
            ("(let ((x 1)) (<= p x))", "line 5: \"let\" with 2 operands is not read"),
            ("(<= (* p q) 3)", "line 5: \"*\" with 2 operands is not a sum"),
            ("(<= (div p 2) 3)", "line 5: \"div\" with 2 operands is not a sum"),
            ("(<= p 18446744073709551616)", "line 5: a number is too large"),
            ("(<= p -)", "line 5: a number is too large"),
            ("(<= (* p 9223372036854775807) 1)", "line 5: a number is too large"),
            // Each is small enough alone.
            (
                "(>= (+ (* p 1152921504606846976) (* q -1152921504606846977)) 1)",
                "line 5: a number is too large",
            ),
            ("p", "line 5: \"p\" is not a formula"),
            ("()", "line 5: () is not a formula"),
            ("(<= p 1) extra", "line 5: cert is not of the form"),
            ("\n\n(<= p |q", "line 7: | is not closed"),
            ("(<= p 1", "line 6: a '(' is not closed"),
            (&deep, "line 5: more than 200 parentheses are open"),
            (&long, "line 5: a part has more than 4000000 words"),
            (&wide, "line 5: the invariant has more than 5000 inequalities"),
        ] {
            let error = clauses_of(body).map_or_else(|error| error, |clauses| format!("{clauses:?}"));
            assert!(error.starts_with(message), "{error}\nexpected: {message}");
        }
        let read =
            |text: &str| read(text, |name| (name == "p").then_some(0)).map(|invariant| invariant.clauses);
        let other = read("(define-fun cert ((x Int)) Bool true)").unwrap_err();
        assert!(other.what.starts_with("\"x\" is not a place of the net"), "{other:?}");
        assert_eq!(read("(check-sat)\n)").unwrap_err().line, 2);
        assert!(read("(check-sat)\n").unwrap_err().what.starts_with("there is neither a function cert"));
        // The form of SMPT's module pdr.
        let pdr = "(declare-const p@0 Int)\n(assert (>= p@0 0))\n(assert (or (not (<= p@0 3)) (not (or (> p@0 5) (< p@0 2)))))\n";
        let p = |weight, bound| Linear::new([(0, weight)], bound);
        assert_eq!(read(pdr), Ok(Some(vec![vec![p(-1, -3)], vec![p(1, 6), p(-1, -1)]])));
        assert!(
            read(&pdr.replace("p@0 Int", "x@0 Int")).unwrap_err().what.starts_with("\"x@0\" is not a place")
        );
        assert!(read(&pdr.replace("p@0 5", "q 5")).unwrap_err().what.starts_with("\"q\" is neither"));
        // Declarations beyond the limit are not kept: the second one has 9 words beside declare-const.
        let long = format!("(declare-const p@0 Int)(declare-const p a b c d e f)\n{pdr}");
        let within = |most| read_within(&long, |name| (name == "p").then_some(0), most).map(|_| ());
        assert!(within(12).is_ok() && within(13).unwrap_err().what.starts_with("a variable of another form"));
    }
}

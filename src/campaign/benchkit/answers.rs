//! Reads the answers of a tool: the result lines of the answer protocol in its standard output.
//!
//! ```text
//! FORMULA <id> TRUE|FALSE|<n>|inf TECHNIQUES <word>...
//! STATE_SPACE STATES|TRANSITIONS|MAX_TOKEN_IN_PLACE|MAX_TOKEN_PER_MARKING <n>|+inf TECHNIQUES <word>...
//! FORMULA <id> CANNOT_COMPUTE          for one value
//! CANNOT_COMPUTE                       alone on its line: for the whole examination
//! DO_NOT_COMPETE                       alone on its line: for the whole examination
//! ```
//!
//! Total examinations have answers of another form (`total_answers.rs`).
//!
//! Other text may precede these lines and the keyword of a line. The last value of a position counts, because a tool may
//! print values before it ends (E-5.1). A contradiction is recorded.

use super::anomaly::Anomaly;
use super::grammar::{
    MAX_TECHNIQUES, MAX_TECHNIQUES_BYTES, StatedResult, Statement, is_result, is_technique, kept_techniques,
    statements, words,
};
use super::interval::Interval;
use super::keywords::{self, DECLARATIONS, FORMULA, RESULTS, STATE_SPACE, bytes};
use super::lines::{Line, MAX_RESULT_BYTES, Truncation, for_each_candidate};
use super::{MAX_BOUND_DIGITS, Questions, Value};
use mcc_edition::AnswerKind;
use mcc_model::{Severity, position_order};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};

/// How lines are read where the protocol leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Whether a value without TECHNIQUES is ignored.
    pub strict: bool,
    /// Whether numbers in the published form `d.ddddE+dddd` count. For files of the contest, not for outputs of tools.
    pub published: bool,
}

/// A declaration for a whole examination (E-1.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declaration {
    /// `DO_NOT_COMPETE`: the tool does not take part.
    DoNotCompete,
    /// `CANNOT_COMPUTE`: the tool cannot compute a value.
    CannotCompute,
}

impl Declaration {
    /// The keyword of the declaration.
    pub fn keyword(self) -> &'static str {
        match self {
            Declaration::DoNotCompete => keywords::DO_NOT_COMPETE,
            Declaration::CannotCompute => keywords::CANNOT_COMPUTE,
        }
    }
}

/// How a value was repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repeat {
    /// Always with the same value.
    Same,
    /// At least once with another value; this is a contradiction.
    Differs,
}

/// The answers of one run. All lists except `anomalies` are by position and have the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The property ids. Without an archive of the instance these are the printed ids in the order of the contest (sorted by
    /// bytes).
    pub ids: Vec<String>,
    /// The values; None if the position has no value.
    pub values: Vec<Option<Value>>,
    /// The techniques of the line whose value counts (E-1.10).
    pub techniques: Vec<Vec<String>>,
    /// The line whose value counts, from 1. If the value was repeated without change, the first line with it.
    pub lines: Vec<Option<u64>>,
    /// Whether `FORMULA id CANNOT_COMPUTE` or a negative number was printed.
    pub cannot_compute: Vec<bool>,
    /// Whether and how a value was printed more than once.
    pub repeated: Vec<Option<Repeat>>,
    /// What is known about a number without a value, in `UpperBoundsAll`.
    pub intervals: Vec<Option<Interval>>,
    /// The last declaration. It is `CannotCompute` for a tool without values that printed CANNOT_COMPUTE for single positions.
    pub declared: Option<Declaration>,
    /// Whether `declared` follows from CANNOT_COMPUTE of single positions: no line declares it.
    pub declared_by_position: bool,
    /// The first `MAX_ANOMALIES` anomalies, by line.
    pub anomalies: Vec<Anomaly>,
    /// Number of further anomalies.
    pub anomalies_dropped: u64,
}

/// Limit for the number of anomalies that are kept. Further ones are counted only, so that an output of 10 GB does not fill
/// memory.
pub const MAX_ANOMALIES: usize = 1000;

impl Answers {
    /// Whether a value has no place in the answers because the line with its id is an error.
    pub fn is_rejected(&self, position: usize) -> bool {
        let id = self.ids[position].as_str();
        let mut errors = self.anomalies.iter().filter(|anomaly| anomaly.severity == Severity::Error);
        self.values[position].is_none() && errors.any(|anomaly| anomaly.is_about(id))
    }

    /// Reads the output of a tool, which may contain any bytes.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn read(source: impl BufRead, questions: &Questions, reading: Reading) -> io::Result<Answers> {
        let mut reader = Reader::new(questions, reading);
        for_each_candidate(source, questions.total.is_some(), |line| reader.take(&line))?;
        Ok(reader.finish())
    }

    /// Reads a file, or a source of one, from its current position to its end; see `read`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read_file(file: impl Read, questions: &Questions, reading: Reading) -> io::Result<Answers> {
        /// Number of bytes per read: small enough for the cache of a core.
        const BLOCK: usize = 64 << 10;
        Self::read(BufReader::with_capacity(BLOCK, file), questions, reading)
    }

    /// The line of the value that counts, or else of the interval.
    pub fn line(&self, position: usize) -> Option<u64> {
        let interval = || self.intervals.get(position)?.as_ref().map(|interval| interval.line);
        self.lines[position].or_else(interval)
    }

    /// The positions by id.
    pub fn positions(&self) -> BTreeMap<&str, usize> {
        self.ids.iter().enumerate().map(|(position, id)| (id.as_str(), position)).collect()
    }

    /// Whether there is no well-formed answer: neither a value, an interval nor a declaration (E-1.7).
    pub fn is_empty(&self) -> bool {
        self.declared.is_none()
            && self.values.iter().all(Option::is_none)
            && self.intervals.iter().all(Option::is_none)
    }
}

/// The state of one position.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    id: String,
    given: Option<StatedValue>,
    cannot_compute: bool,
    repeated: Option<Repeat>,
    pub interval: Option<Interval>,
}

/// A value as text, numbers without leading zeros. Long numbers are compared and kept without being converted.
#[derive(Clone, Debug, Default)]
pub(super) struct StatedValue {
    text: String,
    line: u64,
    /// The techniques as printed, with a space before each.
    techniques: Vec<u8>,
}

impl StatedValue {
    fn techniques(&self) -> Vec<String> {
        let words = self.techniques.split(|byte| *byte == b' ').skip(1);
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }
}

pub(super) struct Reader<'a> {
    pub questions: &'a Questions,
    reading: Reading,
    pub positions: Vec<Position>,
    declared: Option<Declaration>,
    /// The line of the last declaration.
    declared_line: u64,
    anomalies: Vec<Anomaly>,
    dropped: u64,
    pub(super) line: u64,
}

impl<'a> Reader<'a> {
    fn new(questions: &'a Questions, reading: Reading) -> Self {
        Self {
            questions,
            reading,
            positions: questions
                .ids
                .iter()
                .flatten()
                .map(|id| Position { id: id.clone(), ..Position::default() })
                .collect(),
            declared: None,
            declared_line: 0,
            anomalies: Vec::new(),
            dropped: 0,
            line: 0,
        }
    }

    fn take(&mut self, line: &Line<'_>) {
        self.line = line.number;
        let words = self.usual_form(words(line.text));
        let alone = line.cut == Truncation::Complete;
        match words.as_slice() {
            [bytes::DO_NOT_COMPETE] if alone => return self.declare(Declaration::DoNotCompete),
            [bytes::CANNOT_COMPUTE] if alone => return self.declare(Declaration::CannotCompute),
            [b"DO", b"NOT", b"COMPETE"] | [b"DO_NOT", b"COMPETE"] | [b"DO", b"NOT_COMPETE"] => {
                let found = String::from_utf8_lossy(&words.join(&b' ')).into_owned();
                return self.keyword_split(&found, Declaration::DoNotCompete);
            }
            [b"CANNOT", b"COMPUTE"] => {
                return self.keyword_split("CANNOT COMPUTE", Declaration::CannotCompute);
            }
            [word] if alone => {
                if let Some(keyword) = misspelt(word, &DECLARATIONS) {
                    return self.misspelt(word, keyword);
                }
            }
            _ => {}
        }
        let statements = statements(&words, self.questions.answers, self.reading.published);
        let mut results = 0;
        for (at, statement) in statements.iter().enumerate() {
            let cut_off = line.cut == Truncation::End && at + 1 == statements.len();
            results += u32::from(self.statement(statement, cut_off));
        }
        if results > 1 {
            self.warning(
                "E-1.7",
                "more than one result in this line: all of them count",
                "print one result per line",
            );
        }
        if statements.is_empty() {
            self.misspelt_result(&words);
            for keyword in DECLARATIONS {
                if words.contains(&keyword.as_bytes()) {
                    self.warning(
                        "E-1.7",
                        format!("{keyword} is not alone on its line: the declaration is ignored"),
                        format!("print {keyword} alone on a line of its own"),
                    );
                }
            }
        }
    }

    /// Reads `FORMULA ...` or `STATE_SPACE ...`. Returns true if it is a result.
    fn statement(&mut self, statement: &Statement<'_>, cut_off: bool) -> bool {
        let Some(subject) = statement.subject else { return false };
        let known = self.find(subject);
        // Tools also log text about formulas: without a value, the statement counts only if its id is known, or if it has
        // the form of a result of another kind.
        let meant = known.is_some() || statement.stated.is_value() || statement.is_like_a_result();
        if !meant || (statement.in_word && known.is_none()) {
            return false;
        }
        let keyword = self.keyword();
        if statement.in_word {
            let keyword = statement.keyword;
            let problem = format!("`{keyword}` is part of a longer word: the line is ignored");
            self.error(problem, "begin a new line before the keyword");
            return false;
        }
        if statement.keyword != keyword {
            let found = statement.keyword;
            let problem = format!("a {found} line, which is not for this examination: the line is ignored");
            self.error(problem, format!("{} is answered by {keyword} lines", self.questions.examination));
            return false;
        }
        if cut_off {
            let problem = format!("a result longer than {MAX_RESULT_BYTES} bytes: the result is ignored");
            self.error(problem, "print the number in plain decimal digits, nothing else");
            return false;
        }
        match &statement.stated {
            StatedResult::Value(text) => return self.value(known, subject, text, statement),
            StatedResult::Negative => {
                let id = self.shown(known, subject);
                let problem = format!("{id} is a negative number: it counts as not given");
                match (self.questions.answers, id.as_str()) {
                    (AnswerKind::StateSpace, "STATES") => self.warning(
                        "E-1.2",
                        format!("{problem}, although {id} is mandatory"),
                        "write CANNOT_COMPUTE alone on its line",
                    ),
                    // The protocol has -1 for a metric other than STATES that is not given.
                    (AnswerKind::StateSpace, _) => {}
                    _ => self.warning("E-1.7", problem, format!("write FORMULA {id} CANNOT_COMPUTE")),
                }
                return self.set_cannot_compute(known, subject);
            }
            StatedResult::CannotCompute { more } => {
                if *more || keyword == STATE_SPACE {
                    let form = match known {
                        Some(_) if keyword == FORMULA => {
                            format!("FORMULA {} CANNOT_COMPUTE", self.shown(known, subject))
                        }
                        // Without STATES no other number is given.
                        Some(_) if subject != b"STATES" => {
                            format!("{STATE_SPACE} {} -1", self.shown(known, subject))
                        }
                        _ => "CANNOT_COMPUTE".to_owned(),
                    };
                    let problem = "CANNOT_COMPUTE inside a result line: the value counts as not computed";
                    self.error(problem, format!("write {form} and nothing else in the line"));
                }
                return self.set_cannot_compute(known, subject);
            }
            StatedResult::DoNotCompete => {
                let instead =
                    if keyword == STATE_SPACE { "-1 for one number" } else { "CANNOT_COMPUTE for one value" };
                self.error(
                    "DO_NOT_COMPETE for one value: the value counts as not computed",
                    format!("use DO_NOT_COMPETE for a whole examination only; write {instead}"),
                );
                return self.set_cannot_compute(known, subject);
            }
            StatedResult::KeywordSplit(found) => {
                self.keyword_split(found, Declaration::CannotCompute);
                return self.set_cannot_compute(known, subject);
            }
            StatedResult::Missing => {
                self.error(format!("{} has no value", self.shown(known, subject)), self.expected());
            }
            StatedResult::Other(text) => match misspelt(text, &DECLARATIONS) {
                Some(keyword) => self.misspelt(text, keyword),
                None => {
                    let id = self.shown(known, subject);
                    let problem = format!("`{}` is not a value for {id}", cut(text));
                    let unknown_id = (known.is_none() && self.questions.ids.is_some()).then_some(id);
                    if let Some(anomaly) = self.anomaly(Severity::Error, "E-1.7", problem, self.expected()) {
                        anomaly.unknown_id = unknown_id;
                    }
                }
            },
        }
        false
    }

    fn value(&mut self, known: Option<usize>, subject: &[u8], text: &str, statement: &Statement<'_>) -> bool {
        const ADD_TECHNIQUES: &str = "end the line with TECHNIQUES and at least one technique";
        let techniques = match statement.techniques() {
            Ok(Some(words)) if !words.is_empty() => words,
            Ok(_) if self.reading.strict => {
                let id = self.shown(known, subject);
                let problem = format!("{id} has no TECHNIQUES: the value is ignored (strict)");
                self.anomaly(Severity::Error, "E-1.10", problem, ADD_TECHNIQUES);
                return false;
            }
            Ok(_) => &[],
            Err(word) => {
                if known.is_some() {
                    let id = self.shown(known, subject);
                    let problem = format!("`{}` follows the value of {id}: the line is ignored", cut(word));
                    self.error(problem, "write TECHNIQUES directly after the value");
                }
                return false;
            }
        };
        let Some(position) = self.position(known, subject) else {
            self.unknown_id(subject);
            return false;
        };
        if statement.has_cannot_compute() {
            let id = self.shown(known, subject);
            let problem = format!("{id} has a value and CANNOT_COMPUTE: the value counts");
            self.warning(
                "E-1.7",
                problem,
                "print either the value or CANNOT_COMPUTE, and TECHNIQUES after a value",
            );
        } else if techniques.is_empty() {
            let id = self.shown(known, subject);
            self.warning("E-1.10", format!("{id} has no TECHNIQUES: the value counts"), ADD_TECHNIQUES);
        }
        if let Some(word) = techniques.iter().find(|word| !is_technique(word)) {
            let (id, word) = (self.shown(known, subject), cut(word));
            let problem = format!(
                "the technique `{word}` of {id} has characters other than A-Z, 0-9 and _: it is kept unchanged"
            );
            let fix = "spell techniques as the submission manual does";
            if let Some(anomaly) = self.anomaly(Severity::Warning, "E-1.10", problem, fix) {
                anomaly.technique = Some(word);
            }
        }
        let kept = kept_techniques(techniques);
        if kept < techniques.len() {
            let id = self.shown(known, subject);
            let problem = format!(
                "{id} has more than {MAX_TECHNIQUES} techniques, or more than {MAX_TECHNIQUES_BYTES} bytes of them: {kept} of \
                 {} are kept",
                techniques.len()
            );
            self.warning("E-1.10", problem, "state the techniques that were used, each once");
        }
        self.set_value(position, text, &techniques[..kept]);
        true
    }

    /// Sets the value of a position to that of this line, and records how it was repeated.
    fn set_value(&mut self, position: usize, text: &str, techniques: &[&[u8]]) {
        let Position { id, given, repeated, .. } = &mut self.positions[position];
        let mut line = self.line;
        if let Some(before) = given {
            let repeat = if before.text == text { Repeat::Same } else { Repeat::Differs };
            *repeated = (*repeated).max(Some(repeat));
            if repeat == Repeat::Same {
                line = before.line;
            } else {
                let (line, before, after) = (before.line, abridged(&before.text), abridged(text));
                let problem =
                    format!("{id} was {before} in line {line} and is {after} now: the last value counts");
                self.error(problem, "print a value only when it is final");
            }
        }
        let given = self.positions[position].given.get_or_insert_default();
        given.line = line;
        given.text.clear();
        given.text.push_str(text);
        given.techniques.clear();
        for word in techniques {
            given.techniques.push(b' ');
            given.techniques.extend_from_slice(word);
        }
    }

    fn set_cannot_compute(&mut self, known: Option<usize>, subject: &[u8]) -> bool {
        if subject == Declaration::CannotCompute.keyword().as_bytes() {
            self.declare(Declaration::CannotCompute);
            return true;
        }
        let Some(position) = self.position(known, subject) else {
            self.unknown_id(subject);
            return false;
        };
        let position = &mut self.positions[position];
        position.cannot_compute = true;
        if let Some(given) = &position.given {
            let (id, line) = (&position.id, given.line);
            let problem = format!("CANNOT_COMPUTE for {id} after its value in line {line}: the value counts");
            self.error(problem, "print either the value or CANNOT_COMPUTE");
        }
        true
    }

    fn declare(&mut self, declared: Declaration) {
        self.declared_line = self.line;
        if let Some(before) = self.declared.replace(declared)
            && before != declared
        {
            let (keyword, before) = (declared.keyword(), before.keyword());
            let problem = format!("{keyword} is printed after {before}: the last declaration counts");
            self.error(problem, "print one declaration, for the whole examination");
        }
    }

    fn keyword_split(&mut self, found: &str, meant: Declaration) {
        let fix = format!("write {} with underscores, alone on its line", meant.keyword());
        self.error(format!("`{found}` is not a keyword: it is ignored"), fix);
    }

    fn misspelt(&mut self, word: &[u8], keyword: &str) {
        let problem = format!("`{}` is not a keyword: the line is ignored", cut(word));
        self.error(problem, format!("write {keyword}"));
    }

    /// Reports a result whose first keyword is misspelt or split: `STATESPACE STATES 14`, `STATE SPACE STATES 14`. Only if
    /// the rest is a result of a known id, because tools also log text about formulas.
    fn misspelt_result(&mut self, words: &[&[u8]]) {
        let has_techniques = words.contains(&bytes::TECHNIQUES);
        let has_result = |rest: &[&[u8]]| {
            let [subject, rest @ ..] = rest else { return false };
            self.find(subject).is_some()
                && (has_techniques || rest.first().is_some_and(|word| is_result(word)))
        };
        let mut compared = 0;
        let found = (0..words.len()).find_map(|at| match &words[at..] {
            [b"STATE", b"SPACE", rest @ ..] if has_result(rest) => Some(("STATE SPACE".into(), STATE_SPACE)),
            [word, rest @ ..] if compared < MAX_COMPARED && has_result(rest) => {
                compared += 1;
                Some((cut(word), misspelt(word, &RESULTS)?))
            }
            _ => None,
        });
        if let Some((found, keyword)) = found {
            self.error(
                format!("`{found}` is not a keyword: the line is ignored"),
                format!("write {keyword}"),
            );
        }
    }

    pub(super) fn unknown_id(&mut self, subject: &[u8]) {
        let (problem, fix) = self.questions.no_id(&cut(subject));
        self.anomaly(Severity::Error, "E-1.8", problem, fix);
    }

    /// The position of an id. In an examination with one position, the name of the examination is an id too.
    pub(super) fn find(&self, subject: &[u8]) -> Option<usize> {
        if let Some(total) = self.questions.total {
            let number = str::from_utf8(subject).ok().and_then(|id| total.number(id));
            return number.filter(|number| *number < self.positions.len());
        }
        let exactly = self.positions.iter().position(|position| position.id.as_bytes() == subject);
        exactly.or_else(|| {
            let sole = self.positions.len() == 1 && self.questions.values == 1;
            (sole && self.answers_alone(subject)).then_some(0)
        })
    }

    fn answers_alone(&self, subject: &[u8]) -> bool {
        let name = self.questions.examination.as_str();
        // Without an archive the id `<Instance>-<Examination>-0` is recognized by its form.
        let has_form = || {
            let subject = str::from_utf8(subject).unwrap_or_default();
            let number = subject.rsplit_once('-').filter(|(_, end)| end.bytes().all(|b| b.is_ascii_digit()));
            number.is_some_and(|(start, _)| start.ends_with(&format!("-{name}")))
        };
        subject == name.as_bytes() || (self.questions.ids.is_none() && has_form())
    }

    /// The known position; without an archive a new id gets a new position while there are fewer than the examination has.
    fn position(&mut self, known: Option<usize>, subject: &[u8]) -> Option<usize> {
        let may_add = self.questions.ids.is_none() && self.positions.len() < self.questions.values;
        if known.is_some() || !may_add {
            return known;
        }
        let id = str::from_utf8(subject).ok().filter(|id| id.len() <= 1000)?.to_owned();
        self.positions.push(Position { id, ..Position::default() });
        Some(self.positions.len() - 1)
    }

    fn shown(&self, known: Option<usize>, subject: &[u8]) -> String {
        known.map_or_else(|| cut(subject), |position| self.positions[position].id.clone())
    }

    fn keyword(&self) -> &'static str {
        match self.questions.answers {
            AnswerKind::StateSpace => STATE_SPACE,
            AnswerKind::Boolean | AnswerKind::Number => FORMULA,
        }
    }

    fn expected(&self) -> String {
        match self.questions.answers {
            AnswerKind::Boolean => "write TRUE or FALSE".to_owned(),
            AnswerKind::Number => {
                format!("write a number in decimal digits, at most {MAX_BOUND_DIGITS}, or inf")
            }
            AnswerKind::StateSpace => "write a number in decimal digits, or -1 for \"not given\"".to_owned(),
        }
    }

    pub(super) fn error(&mut self, problem: impl Into<String>, fix: impl Into<String>) {
        self.anomaly(Severity::Error, "E-1.7", problem, fix);
    }

    fn warning(&mut self, rule: &'static str, problem: impl Into<String>, fix: impl Into<String>) {
        self.anomaly(Severity::Warning, rule, problem, fix);
    }

    /// Adds an anomaly of this line and returns it; None if it is counted only.
    fn anomaly(
        &mut self,
        severity: Severity,
        rule: &'static str,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Option<&mut Anomaly> {
        if self.anomalies.len() == MAX_ANOMALIES {
            self.dropped += 1;
            return None;
        }
        let (problem, fix, line) = (problem.into(), fix.into(), self.line);
        let anomaly = Anomaly { line, severity, rule, problem, fix, technique: None, unknown_id: None };
        Some(self.anomalies.push_mut(anomaly))
    }

    fn finish(mut self) -> Answers {
        if self.questions.ids.is_none() {
            self.positions.sort_by(|a, b| position_order(&a.id, &b.id));
        }
        let answered = self.positions.iter().any(|position| position.given.is_some());
        let mut declared_by_position = false;
        match self.declared {
            Some(declared) if answered => {
                let keyword = declared.keyword();
                self.line = self.declared_line;
                let single = match self.questions.answers {
                    AnswerKind::StateSpace => "write -1 for single numbers, or print no value",
                    _ => "write FORMULA id CANNOT_COMPUTE for single values, or print no value",
                };
                self.error(
                    format!("{keyword} for the whole examination, but values are printed: the values count"),
                    single,
                );
                self.anomalies.sort_by_key(|anomaly| anomaly.line);
            }
            None if !answered && self.positions.iter().any(|position| position.cannot_compute) => {
                self.declared = Some(Declaration::CannotCompute);
                declared_by_position = true;
            }
            _ => {}
        }
        let mut answers = Answers {
            declared: self.declared,
            declared_by_position,
            anomalies: self.anomalies,
            anomalies_dropped: self.dropped,
            ..Answers::default()
        };
        for position in self.positions {
            answers.ids.push(position.id);
            answers.cannot_compute.push(position.cannot_compute);
            answers.repeated.push(position.repeated);
            answers.intervals.push(position.interval.filter(|_| position.given.is_none()));
            answers.lines.push(position.given.as_ref().map(|given| given.line));
            let given = position.given.unwrap_or_default();
            answers.values.push(given.text.parse().ok());
            answers.techniques.push(given.techniques());
        }
        answers
    }
}

/// Most words of a line that are compared with the keywords: one takes a microsecond, and a line can have 100,000.
const MAX_COMPARED: usize = 64;

/// The keyword of which a word is a misspelling: other case, `-` for `_`, or a few letters added, missing or different.
fn misspelt(word: &[u8], keywords: &[&'static str]) -> Option<&'static str> {
    let written = str::from_utf8(word).ok().filter(|word| (5..20).contains(&word.len()))?;
    let plain = written.to_ascii_uppercase().replace('-', "_");
    let letters = plain.chars().count();
    let near = |keyword: &&&str| {
        let most = keyword.len() / 5;
        letters.abs_diff(keyword.len()) <= most && strsim::damerau_levenshtein(&plain, keyword) <= most
    };
    keywords.iter().find(near).copied().filter(|keyword| written != *keyword)
}

/// A word of the output without control characters, truncated for display.
pub(super) fn cut(word: &[u8]) -> String {
    String::from_utf8_lossy(&word[..word.len().min(400)])
        .chars()
        .filter(|c| !c.is_control())
        .take(100)
        .collect()
}

/// Returns a value for display, as tools print it, and truncated: a number can have 24,000 digits.
pub fn abridged(value: &str) -> String {
    match value.get(..20) {
        _ if value == "T" => "TRUE".to_owned(),
        _ if value == "F" => "FALSE".to_owned(),
        Some(start) if value.len() > 40 => format!("{start}... ({} digits)", value.len()),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::Examination;

    fn read(ids: &[&str], output: &str) -> Answers {
        let examination = Examination { name: "X".to_owned(), answers: AnswerKind::Boolean, values: 16 };
        let ids = Some(ids.iter().map(|id| (*id).to_owned()).collect());
        let questions = Questions { ids, ..Questions::as_printed(&examination) };
        Answers::read(output.as_bytes(), &questions, Reading::default()).unwrap()
    }

    #[test]
    fn techniques_beyond_the_limit_are_left_out_with_a_warning() {
        let line = |techniques: usize| format!("FORMULA a TRUE TECHNIQUES{}\n", " A".repeat(techniques));
        let whole = read(&["a"], &line(64));
        assert_eq!((whole.techniques[0].len(), whole.anomalies.len()), (64, 0));
        let cut = read(&["a"], &line(65));
        assert_eq!((cut.techniques[0].len(), &cut.values[0]), (64, &Some(Value::True)));
        let problem = cut.anomalies[0].problem.as_str();
        assert!(problem.starts_with("a has more than 64 techniques, or"), "{problem}");
    }

    #[test]
    fn an_error_in_the_line_of_a_longer_id_does_not_reject_an_id() {
        let answers = read(&["X-1", "X-10", "B-X-1"], "FORMULA X-10 7 TECHNIQUES A\n");
        assert_eq!([0, 1, 2].map(|position| answers.is_rejected(position)), [false, true, false]);
    }
}

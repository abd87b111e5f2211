//! Failure classes: what the output of a run says about why its tool failed. They change no points.

use crate::parse;
use mcc_base::names::EntryName;
use mcc_base::text::visible;
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::sync::LazyLock;

/// The classes of what common runtimes print. A line belongs to the first class that matches it.
const BUILT_IN: [(&str, &str); 18] = [
    ("missing-library", r"error while loading shared libraries|version `GLIBC\S*' not found"),
    ("missing-library", r"ModuleNotFoundError: |\bNoClassDefFoundError\b|\bUnsatisfiedLinkError\b"),
    ("missing-library", r"\bClassNotFoundException\b"),
    ("missing-program", r": line \d+: .*: (command not found|No such file or directory)\s*$"),
    ("missing-program", r"^Error: Unable to access jarfile "),
    (
        "licence",
        r"(?i)\blicen[cs]e (has |is )?(expired|not found|invalid|missing)\b|\bno (valid )?licen[cs]e\b",
    ),
    ("out-of-memory", r"\bOutOfMemoryError\b|\bstd::bad_alloc\b|^MemoryError\b|\bCannot allocate memory\b"),
    ("out-of-memory", r"\bThere is insufficient memory for the Java Runtime\b"),
    ("out-of-memory", r"^Fatal error: exception Out_of_memory"),
    ("stack-overflow", r"\bStackOverflowError\b|\bRecursionError\b|\bstack overflow\b"),
    ("segmentation-fault", r"\bSegmentation fault\b|\bSIGSEGV\b"),
    ("assertion", r"\bAssertion .*failed\b"),
    ("assertion", r"\bAssertionError\b"),
    ("assertion", r"^thread '.*' (\(\d+\) )?panicked at "),
    ("python-traceback", r"^Traceback \(most recent call last\):"),
    ("java-exception", r#"^Exception in thread ""#),
    ("java-exception", r"^\s+at [\w.$/]+\([\w$]+\.java:\d+\)"),
    ("java-exception", r"^Caused by: [\w.$]+(Exception|Error)\b"),
];

/// The compiled `BUILT_IN`.
static BUILT_IN_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    let patterns = BUILT_IN.map(|(_, pattern)| pattern);
    RegexSetBuilder::new(patterns).unicode(false).build().expect("a few short patterns")
});

/// Bytes of an output that are read.
const MAX_OUTPUT: u64 = 64 << 20;
/// Bytes of an output that are compared with the patterns of an entry.
const MAX_OWN_OUTPUT: u64 = 1 << 20;
/// Bytes of a line that are compared.
const MAX_LINE: u64 = 8 << 10;

/// The most patterns that an entry declares, and the compiled size of each of them and of all together. The time of a search can
/// be the product of this size and the length of the output, and a pattern takes several times as much memory.
const MAX_PATTERNS: usize = 100;
const MAX_PATTERN_BYTES: usize = 16 << 10;
const MAX_OWN_BYTES: usize = 256 << 10;

/// The most patterns of all entries of a campaign together, because a text of others can have any number of entries. One pattern
/// for each of 1000 entries took 0.7 GB.
const MAX_CAMPAIGN_PATTERNS: usize = 1000;

/// The longest value of a named group, in bytes.
const MAX_VALUE: usize = 100;

/// `[[tool.failure_class]]` of a campaign: a class of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureClass {
    /// The name of the class; empty: the pattern has values only.
    #[serde(default)]
    pub class: String,
    /// A regular expression on a line of the output. Its named groups are values.
    pub pattern: String,
}

/// The patterns of an entry, which come before those that are built in.
#[derive(Debug)]
pub struct FailureClasses {
    set: RegexSet,
    /// Name of the class of each pattern; empty: it has none.
    names: Vec<String>,
    /// The patterns with named groups, by their index.
    with_values: Vec<(usize, Regex)>,
}

/// What the outputs of a run say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFailure {
    /// The class.
    pub class: Option<String>,
    /// The line with which it was found: `stderr:12`.
    pub line: Option<String>,
    /// The last value of each named group.
    pub values: BTreeMap<String, String>,
    /// Index of the pattern of the class, those that are built in after the own ones.
    pattern: Option<usize>,
}

/// The part of a campaign file that has failure classes. Other keys are not looked at.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    tool: Vec<EntryClasses>,
}

#[derive(Deserialize)]
struct EntryClasses {
    entry: EntryName,
    #[serde(default)]
    failure_class: Vec<FailureClass>,
}

impl FailureClasses {
    /// The classes of each entry that declares some, from the text of a campaign file such as the one that a record keeps.
    ///
    /// # Errors
    /// A value is not valid, and the message has the entry; or there are too many patterns.
    pub fn of_campaign(text: &str) -> Result<BTreeMap<EntryName, Self>, String> {
        let file: File =
            parse::campaign(text).map_err(|(line, problem)| format!("line {line}: {problem}"))?;
        Self::check_number(file.tool.iter().map(|tool| tool.failure_class.len()).sum())?;
        let compiled = |EntryClasses { entry, failure_class }| {
            let classes = Self::new(&failure_class).map_err(|problem| format!("entry {entry}: {problem}"))?;
            Ok((entry, classes))
        };
        // The built-in patterns alone are compiled once, not for each entry.
        file.tool.into_iter().filter(|tool| !tool.failure_class.is_empty()).map(compiled).collect()
    }

    /// Checks the number of patterns of all entries of a campaign.
    ///
    /// # Errors
    /// There are too many.
    pub fn check_number(patterns: usize) -> Result<(), String> {
        if patterns > MAX_CAMPAIGN_PATTERNS {
            return Err(format!(
                "more than {MAX_CAMPAIGN_PATTERNS} patterns of all entries together; join some with |"
            ));
        }
        Ok(())
    }

    /// Compiles the patterns of an entry.
    ///
    /// # Errors
    /// A pattern or a name is not valid, or there are too many; the message says what to change.
    pub fn new(declared: &[FailureClass]) -> Result<Self, String> {
        if declared.len() > MAX_PATTERNS {
            return Err(format!("{} patterns; give at most {MAX_PATTERNS}", declared.len()));
        }
        let mut with_values = vec![];
        for (index, FailureClass { class, pattern }) in declared.iter().enumerate() {
            let wrong = |problem: String| format!("pattern \"{}\": {problem}", visible(pattern));
            let regex = RegexBuilder::new(pattern).unicode(false).size_limit(MAX_PATTERN_BYTES).build();
            let regex = regex.map_err(|error| match error {
                regex::Error::CompiledTooBig(most) => {
                    wrong(format!("compiled, it needs more than {most} bytes; shorten its repetitions"))
                }
                error => wrong(error.to_string().replace('\n', " ")),
            })?;
            let has_values = regex.capture_names().any(|name| name.is_some());
            let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
            if class.len() > MAX_VALUE || !class.chars().all(is_word) {
                let message =
                    "its class has other characters than letters, digits, - and _, or more than 100";
                return Err(wrong(message.to_owned()));
            }
            if class.is_empty() && !has_values {
                return Err(wrong(
                    "it has neither a class nor a named group such as (?P<states>[0-9]+)".to_owned(),
                ));
            }
            if has_values {
                with_values.push((index, regex));
            }
        }
        let patterns = declared.iter().map(|declared| &declared.pattern);
        let set = RegexSetBuilder::new(patterns).unicode(false).size_limit(MAX_OWN_BYTES).build();
        let set = set.map_err(|error| match error {
            regex::Error::CompiledTooBig(most) => {
                format!(
                    "compiled, its patterns need more than {most} bytes together; shorten their repetitions"
                )
            }
            error => error.to_string().replace('\n', " "),
        })?;
        let names = declared.iter().map(|declared| declared.class.clone()).collect();
        Ok(Self { set, names, with_values })
    }

    /// Adds what one output says to `found`. A class of an earlier pattern replaces one of a later pattern. The first 64 MiB of
    /// the output count, for the patterns of the entry 1 MiB, and the first 8 KiB of each line.
    ///
    /// # Errors
    /// The output cannot be read.
    pub fn read(&self, stream: &str, output: impl BufRead, found: &mut FoundFailure) -> io::Result<()> {
        let mut output = output.take(MAX_OUTPUT);
        let mut line = vec![];
        let mut compared = 0;
        for number in 1_u64.. {
            line.clear();
            if (&mut output).take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            if !line.ends_with(b"\n") {
                output.skip_until(b'\n')?;
            }
            let text = line.trim_ascii_end();
            compared += line.len() as u64;
            let own = if compared <= MAX_OWN_OUTPUT { self.own(text, found) } else { None };
            let built_in = || Some(self.names.len() + BUILT_IN_SET.matches(text).iter().next()?);
            if let Some(index) = own.or_else(built_in)
                && found.pattern.is_none_or(|known| index < known)
            {
                let built_in = || BUILT_IN[index - self.names.len()].0.to_owned();
                found.pattern = Some(index);
                found.class = Some(self.names.get(index).cloned().unwrap_or_else(built_in));
                found.line = Some(format!("{stream}:{number}"));
            }
        }
        Ok(())
    }

    /// Adds the values in a line, and returns the first pattern of the entry with a class that matches it.
    fn own(&self, text: &[u8], found: &mut FoundFailure) -> Option<usize> {
        let matches = self.set.matches(text);
        for (_, regex) in self.with_values.iter().filter(|(index, _)| matches.matched(*index)) {
            let Some(groups) = regex.captures(text) else { continue };
            for name in regex.capture_names().flatten() {
                if let Some(value) = groups.name(name) {
                    let value = &value.as_bytes()[..value.len().min(MAX_VALUE)];
                    found.values.insert(name.to_owned(), String::from_utf8_lossy(value).into_owned());
                }
            }
        }
        matches.iter().find(|index| !self.names[*index].is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(declared: &[(&str, &str)], outputs: &[(&str, &str)]) -> FoundFailure {
        let declared: Vec<FailureClass> = declared
            .iter()
            .map(|(class, pattern)| FailureClass { class: (*class).into(), pattern: (*pattern).into() })
            .collect();
        let classes = FailureClasses::new(&declared).unwrap();
        let mut found = FoundFailure::default();
        for (stream, text) in outputs {
            classes.read(stream, text.as_bytes(), &mut found).unwrap();
        }
        found
    }

    #[test]
    fn what_runtimes_print_has_a_class() {
        for (class, text) in [
            ("out-of-memory", "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space"),
            ("out-of-memory", "terminate called after throwing an instance of 'std::bad_alloc'"),
            (
                "missing-library",
                "./tool: error while loading shared libraries: libz.so.1: cannot open shared object file",
            ),
            (
                "missing-library",
                "Traceback (most recent call last):\n  File \"a\"\nModuleNotFoundError: No module named 'z3'",
            ),
            ("missing-program", "BenchKit_head.sh: line 3: lola: command not found"),
            ("segmentation-fault", "BenchKit_head.sh: line 3:    17 Segmentation fault      ./tool"),
            ("stack-overflow", "Exception in thread \"main\" java.lang.StackOverflowError"),
            ("assertion", "tool: a.c:3: main: Assertion `x' failed."),
            ("python-traceback", "Traceback (most recent call last):\n  File \"a\""),
            (
                "java-exception",
                "Exception in thread \"main\" java.lang.NullPointerException\n\tat a.B.c(B.java:3)",
            ),
            ("licence", "Error: License expired on 2020-01-01"),
        ] {
            let found = found(&[], &[("stderr", text)]);
            assert_eq!(found.class.as_deref(), Some(class), "{text}");
        }
        assert_eq!(
            found(&[], &[("stdout", "FORMULA a TRUE TECHNIQUES X\nmemory: 12 MB\n")]),
            FoundFailure::default()
        );
    }

    #[test]
    fn a_declared_class_is_before_a_built_in_one_and_values_are_kept() {
        let declared = [
            ("too-many-colours", "^unfolding: too large"),
            ("", "^(?P<states>[0-9]+) states, (?P<config>\\w+)"),
        ];
        let stdout = "7 states, dfs\n12 states, bfs\nunfolding: too large";
        let found = found(&declared, &[("stdout", stdout), ("stderr", "Segmentation fault\n")]);
        assert_eq!(
            (found.class.as_deref(), found.line.as_deref()),
            (Some("too-many-colours"), Some("stdout:3"))
        );
        let values =
            [("config", "bfs"), ("states", "12")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found.values, BTreeMap::from(values));
    }

    #[test]
    fn patterns_are_bounded() {
        let wrong = |class: &str, pattern: &str| {
            FailureClasses::new(&[FailureClass { class: class.into(), pattern: pattern.into() }]).unwrap_err()
        };
        assert!(wrong("a", "(").contains("pattern \"(\""));
        assert!(wrong("a", "((a{1000}){1000}){1000}").contains("shorten its repetitions"));
        assert!(wrong("a", "a[ab]{2000}c").contains("shorten its repetitions"));
        assert!(wrong("", "a").contains("neither a class"));
        assert!(wrong("a,b", "a").contains("other characters"));
        // A pattern that takes quadratic time with backtracking, a line that is longer than what counts.
        let long = format!("{}\nx\n", "a".repeat(1 << 20));
        let found = found(&[("evil", "(a+)+b"), ("last", "^x$")], &[("stdout", &long)]);
        assert_eq!(found.line.as_deref(), Some("stdout:2"));
    }

    #[test]
    fn the_patterns_of_an_entry_are_bounded_together() {
        let declared = |repetitions: usize| {
            let pattern = format!("a[ab]{{{repetitions}}}c");
            vec![FailureClass { class: "a".into(), pattern }; 100]
        };
        assert!(FailureClasses::new(&declared(20)).is_ok());
        assert!(FailureClasses::new(&declared(200)[..1]).is_ok());
        let problem = FailureClasses::new(&declared(200)).unwrap_err();
        assert!(
            problem.starts_with("compiled, its patterns need more than 262144 bytes together"),
            "{problem}"
        );
    }

    #[test]
    fn after_a_megabyte_of_output_only_built_in_patterns_are_searched() {
        let line = format!("{}\n", "x".repeat(4095));
        let output = |lines: usize| line.repeat(lines) + "many colours\nSegmentation fault\n";
        let class = |lines: usize| found(&[("colours", "colours")], &[("stdout", &output(lines))]).class;
        assert_eq!(class(255).as_deref(), Some("colours"));
        assert_eq!(class(256).as_deref(), Some("segmentation-fault"));
    }

    #[test]
    fn a_pattern_with_a_line_feed_does_not_begin_a_line_of_the_message() {
        let declared = FailureClass { class: "a".into(), pattern: "(\nverify: all is right\n".into() };
        let problem = FailureClasses::new(&[declared]).unwrap_err();
        assert!(problem.starts_with("pattern \"(⟨LF⟩verify: ") && !problem.contains('\n'), "{problem}");
    }

    #[test]
    fn the_patterns_of_all_entries_of_a_campaign_are_bounded() {
        let entry = |number: usize, patterns: usize| {
            let list = vec![r#"{ class = "c", pattern = "a" }"#; patterns].join(", ");
            format!("[[tool]]\nentry = \"e{number}\"\nfailure_class = [{list}]\n")
        };
        let text = |entries: usize| (0..entries).map(|number| entry(number, 100)).collect::<String>();
        let most = text(10) + &entry(10, 0);
        assert_eq!(
            FailureClasses::of_campaign(&most).unwrap().len(),
            10,
            "entries with patterns of their own"
        );
        let problem = FailureClasses::of_campaign(&(most + &entry(11, 1))).unwrap_err();
        assert!(problem.starts_with("more than 1000 patterns of all entries"), "{problem}");
    }

    #[test]
    fn outputs_without_an_end_and_bytes_that_are_no_text_are_bounded() {
        let declared = FailureClass { class: "big".into(), pattern: "^n=(?P<n>.*)$".into() };
        let classes = FailureClasses::new(&[declared]).unwrap();
        let read = |output: &mut dyn io::Read| {
            let mut found = FoundFailure::default();
            classes.read("stdout", io::BufReader::new(output), &mut found).unwrap();
            found
        };
        assert_eq!(read(&mut io::repeat(0xff)), FoundFailure::default(), "one line without an end");
        let mut lines = b"\xff\0Segmentation fault\nn=\xc3\x28\xff".to_vec();
        lines.extend(b"9".repeat(1000));
        let found = read(&mut lines.as_slice());
        assert_eq!((found.class.as_deref(), found.line.as_deref()), (Some("big"), Some("stdout:2")));
        let value = &found.values["n"];
        assert!(value.starts_with("\u{fffd}(\u{fffd}9") && value.chars().count() == MAX_VALUE, "{value}");
    }
}

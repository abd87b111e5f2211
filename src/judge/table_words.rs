//! The contest's table of results (`raw-result-analysis.csv`) to ballots and back.
//!
//! What the contest's own form has no room for stands in ours where its readers don't look: the ending's own word
//! as Status, marks of a run in the sub-field `flags`, techniques by position apart by ` ; `, the host in the run id.
//! So a judgement, exported and read again, comes out the same, but for what has no place: property ids, remarks, and
//! values given more than once.

use crate::judgement::Ending;
use mcc_benchkit::contest_table::{Form, Results};

/// The header of a table of overrides.
pub(crate) const OVERRIDES_HEADER: [&str; 5] = ["instance", "examination", "position", "value", "reason"];

/// The endings that `Status` names themselves; the others are `normal` and told by `results`.
pub(crate) const ENDINGS: [(&str, Ending); 7] = [
    ("cpu-limit", Ending::CpuLimit),
    ("wall-limit", Ending::WallLimit),
    ("memory-limit", Ending::MemoryLimit),
    ("output-limit", Ending::OutputLimit),
    ("tool-crash", Ending::ToolCrash),
    ("infrastructure", Ending::Infrastructure),
    ("not-stated", Ending::NotStated),
];

/// `kept`: whether the confinements of time and memory were respected.
pub(crate) fn ending(status: &str, said: Results, answered: bool, kept: [bool; 2]) -> Result<Ending, String> {
    if let Some((_, ending)) = ENDINGS.iter().find(|(word, _)| *word == status) {
        return Ok(*ending);
    }
    let [in_time, in_memory] = kept;
    Ok(match (status, said) {
        (_, Results::DidNotCompete) => Ending::DidNotCompete,
        ("normal" | "", _) if !in_memory => Ending::MemoryLimit,
        ("normal" | "", _) if !in_time => Ending::WallLimit,
        ("normal" | "", Results::CannotCompute) => Ending::CannotCompute,
        ("normal" | "", _) if answered => Ending::Answered,
        ("normal" | "", _) => Ending::NoAnswer,
        // BenchKit's confinement is `timeout`, a matter of wall time.
        ("timeout", _) => Ending::WallLimit,
        _ => {
            let own = ENDINGS.map(|(word, _)| word).join(", ");
            let shown: String = status.chars().take(40).collect();
            return Err(format!("column Status: `{shown}`; allowed are normal, timeout, {own}"));
        }
    })
}

pub(crate) fn status(ending: Ending, form: Form) -> &'static str {
    match (ENDINGS.iter().find(|(_, known)| *known == ending), form) {
        (Some((word, _)), Form::Exact) => word,
        // The contest has no such word, but by any other the tool would be blamed, and the judgement be final.
        (Some((word, Ending::Infrastructure)), Form::Contest) => word,
        (Some((_, Ending::CpuLimit | Ending::WallLimit)), Form::Contest) => "timeout",
        _ => "normal",
    }
}

/// Our sub-field `flags`; what the contest writes there is not known and not taken.
pub(crate) const MARKS: &str = "marks/";

/// Words of the column that are no techniques: what splits it by position, and none at all.
pub(crate) const SPLIT: &str = ";";
pub(crate) const NO_TECHNIQUE: &str = "-";

/// Techniques that are such a word are written with a `\` before, and with one more if they have some.
pub(crate) fn is_separator_word(word: &str) -> bool {
    matches!(word.trim_start_matches('\\'), SPLIT | NO_TECHNIQUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_words_say_how_a_run_ended() {
        let kept = [true, true];
        let word = |status, said, answered, kept| ending(status, said, answered, kept).unwrap();
        assert_eq!(word("normal", Results::Vector, true, kept), Ending::Answered);
        assert_eq!(word("normal", Results::Nothing, false, kept), Ending::NoAnswer);
        assert_eq!(word("normal", Results::CannotCompute, false, kept), Ending::CannotCompute);
        assert_eq!(word("timeout", Results::DidNotCompete, false, kept), Ending::DidNotCompete);
        assert_eq!(word("timeout", Results::Vector, true, kept), Ending::WallLimit);
        assert_eq!(word("normal", Results::Vector, true, [true, false]), Ending::MemoryLimit);
        for (word_of, of) in ENDINGS {
            assert_eq!(word(word_of, Results::Nothing, false, kept), of);
            assert_eq!(status(of, Form::Exact), word_of);
        }
        assert!(
            ending("gone", Results::Nothing, false, kept)
                .unwrap_err()
                .contains("allowed are normal, timeout")
        );
    }
}

//! Words of the contest's table of results (`raw-result-analysis.csv`), shared by its reader and its writer.
//!
//! The contest's table has no columns for some facts. An exported table has them where readers of the contest's table
//! ignore them: the word of the ending in `Status`, the marks of a run in the sub-field `flags`, the techniques of a
//! position separated by ` ; `, the host in the run id. So an exported table gives the same judgement when it is read
//! again, except for what `export --help` lists.

use crate::judgement::Ending;
use mcc_campaign::benchkit::contest_table::{Form, Results};

/// The header of a table of overrides.
pub const OVERRIDES_HEADER: [&str; 5] = ["instance", "examination", "position", "value", "reason"];

/// The header of the table of certified values. `trusted` and `basis` are of the judgement that was certified.
pub const CERTIFIED_HEADER: [&str; 10] = [
    "instance",
    "examination",
    "position",
    "id",
    "trusted",
    "basis",
    "method",
    "value",
    "evidence",
    "detail",
];

/// The endings that have their own word in `Status`. The others are `normal` there; `results` distinguishes them.
pub(crate) const ENDINGS: [(&str, Ending); 9] = [
    ("cpu-limit", Ending::CpuLimit),
    ("wall-limit", Ending::WallLimit),
    ("memory-limit", Ending::MemoryLimit),
    ("output-limit", Ending::OutputLimit),
    ("disk-limit", Ending::DiskLimit),
    ("instruction-limit", Ending::InstructionLimit),
    ("tool-crash", Ending::ToolCrash),
    ("infrastructure", Ending::Infrastructure),
    ("not-stated", Ending::NotStated),
];

/// The word of `Ending::NotStated` in tables of earlier versions; it is read, but not written.
const OLD_NOT_STATED: &str = "unsaid";

/// Returns the ending of a row with the content `results` and, if `answered`, at least one value. `kept`: whether the
/// limits on time and on memory were kept.
///
/// # Errors
/// `Status` has an unknown word.
pub(crate) fn ending(
    status: &str,
    results: Results,
    answered: bool,
    kept: [bool; 2],
) -> Result<Ending, String> {
    if status == OLD_NOT_STATED {
        return Ok(Ending::NotStated);
    }
    if let Some((_, ending)) = ENDINGS.iter().find(|(word, _)| *word == status) {
        return Ok(*ending);
    }
    let [in_time, in_memory] = kept;
    Ok(match (status, results) {
        (_, Results::DidNotCompete) => Ending::DidNotCompete,
        ("normal" | "", _) if !in_memory => Ending::MemoryLimit,
        ("normal" | "", _) if !in_time => Ending::WallLimit,
        ("normal" | "", Results::CannotCompute) => Ending::CannotCompute,
        ("normal" | "", _) if answered => Ending::Answered,
        ("normal" | "", _) => Ending::NoAnswer,
        // BenchKit limits wall time.
        ("timeout", _) => Ending::WallLimit,
        _ => {
            let own = ENDINGS.map(|(word, _)| word).join(", ");
            let shown: String = status.chars().take(40).collect();
            return Err(format!("column Status: `{shown}`; allowed are normal, timeout, {own}"));
        }
    })
}

/// Returns the word of an ending in `Status`.
pub(crate) fn status(ending: Ending, form: Form) -> &'static str {
    match (ENDINGS.iter().find(|(_, known)| *known == ending), form) {
        (Some((word, _)), Form::Exact) => word,
        // The contest's table has no such word, but any other would attribute the failure to the tool, and the
        // judgement would be final.
        (Some((word, Ending::Infrastructure)), Form::Contest) => word,
        (Some((_, Ending::CpuLimit | Ending::WallLimit)), Form::Contest) => "timeout",
        _ => "normal",
    }
}

/// Start of the sub-field `flags` where it has the marks of a run. Other content, which the contest writes there, is
/// ignored: its meaning is not documented.
pub(crate) const MARKS: &str = "marks/";

/// The word of the column `techniques` that separates positions.
pub(crate) const SPLIT: &str = ";";
/// The word of the column `techniques` for a row without techniques.
pub(crate) const NO_TECHNIQUE: &str = "-";

/// Returns whether a technique is written with one more `\` before it: it is `SPLIT` or `NO_TECHNIQUE` after any
/// number of `\`.
pub(crate) fn is_separator_word(word: &str) -> bool {
    matches!(word.trim_start_matches('\\'), SPLIT | NO_TECHNIQUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_column_status_give_the_ending_of_a_run() {
        let kept = [true, true];
        let word = |status, results, answered, kept| ending(status, results, answered, kept).unwrap();
        assert_eq!(word("normal", Results::Vector, true, kept), Ending::Answered);
        assert_eq!(word("normal", Results::Nothing, false, kept), Ending::NoAnswer);
        assert_eq!(word("normal", Results::CannotCompute, false, kept), Ending::CannotCompute);
        assert_eq!(word("timeout", Results::DidNotCompete, false, kept), Ending::DidNotCompete);
        assert_eq!(word("timeout", Results::Vector, true, kept), Ending::WallLimit);
        assert_eq!(word("normal", Results::Vector, true, [true, false]), Ending::MemoryLimit);
        for (word_of, ending) in ENDINGS {
            assert_eq!(word(word_of, Results::Nothing, false, kept), ending);
            assert_eq!(status(ending, Form::Exact), word_of);
        }
        assert_eq!(word("unsaid", Results::Nothing, false, kept), Ending::NotStated);
        let read = |word: &str| serde_json::from_str::<Ending>(&format!("\"{word}\"")).unwrap();
        assert_eq!([read("unsaid"), read("not-stated")], [Ending::NotStated; 2]);
        assert_eq!(serde_json::to_string(&Ending::NotStated).unwrap(), "\"not-stated\"");
        assert!(
            ending("gone", Results::Nothing, false, kept)
                .unwrap_err()
                .contains("allowed are normal, timeout")
        );
    }
}

//! The settings of an edition in words, and warnings on those that the contest did not publish (`[unknown]`).

use super::ConfidenceReading;
use std::collections::BTreeMap;

/// A setting as part of a sentence, such as `the factor of all points`. A setting without words of its own is named by
/// its key.
pub fn setting_words(key: &str) -> String {
    match known_words(key) {
        Some(words) => words.to_owned(),
        None => format!("the value of the setting `{key}`"),
    }
}

/// As `setting_words`, followed by the key in brackets.
pub fn setting_words_and_key(key: &str) -> String {
    match known_words(key) {
        Some(words) => format!("{words} (`{key}`)"),
        None => setting_words(key),
    }
}

/// A line on a setting that was not published, and the reason for its value.
pub fn unpublished(key: &str, why: &str) -> String {
    format!("not published: {}: {}", setting_words_and_key(key), without_repetition(why))
}

/// The reason for a value in a sentence that says already that the contest did not publish it.
fn without_repetition(why: &str) -> String {
    why.replacen("; the contest did not publish it", "", 1)
}

/// The words of a setting that a built-in edition does not state as published, or that a rule names.
pub fn known_words(key: &str) -> Option<&'static str> {
    Some(match key {
        "aliases" => "the names of a tool in other years",
        "category" => "the categories and their tasks",
        "category.parent" => "the meta category to which a category belongs",
        "category.participants" => "the entries that take part in a meta category",
        "category.role" => "whether a category is ranked",
        "correctness.crash_offline" => "the points of a crash in offline monitoring",
        "correctness.crash_online" => "the points of a crash in online monitoring",
        "correctness.inexpressible" => "the points where a tool cannot express the property",
        "correctness.right" => "the points of a right verdict",
        "correctness.timeout_online" => "the points of a timeout in online monitoring",
        "correctness.wrong" => "the points of a wrong verdict",
        "entry" => "the attribute of a result file that names the entry",
        "examination.answers" => "the kind of answers",
        "examination.values" => "the number of positions",
        "false_only" => "the categories in which only answers FALSE count",
        "judging.awards" => "the awards that are given",
        "judging.bonuses" => "the bonus points",
        "judging.bonuses.memory" => "the bonus points for the least memory",
        "judging.bonuses.time" => "the bonus points for the least time",
        "judging.confidence" => "how confidence is computed",
        "judging.cost_comparison" => "over which runs time and memory are compared",
        "judging.family_factors" => "the weights of single models",
        "judging.infrastructure" => "what an infrastructure failure means for points",
        "judging.majority" => "the share of confidence that a majority exceeds",
        "judging.min_agreeing" => "how many tools must agree on a common value",
        "judging.multipliers" => "the multipliers of known, surprise and stripped models",
        "judging.multipliers.known" => "the multiplier of known models",
        "judging.multipliers.surprise" => "the multiplier of surprise models",
        "judging.normalization" => "the formula of the weights of instances",
        "judging.not_kept" => "the points of answers where no value is trusted",
        "judging.penalty" => "the cost of a wrong value",
        "judging.points_per_examination" => "the points of an examination on an instance",
        "judging.scale" => "the factor of all points",
        "judging.single_threshold" => "the confidence from which a value of one tool is trusted",
        "judging.strict" => "whether a value without techniques is ignored",
        "judging.tie_margin" => "the points within which entries share a rank",
        "judging.votes" => "whether each variant or each tool votes",
        "limits" => "the limits of a run",
        "limits.confinement_s" => "the time limit that is stated to the tool",
        "limits.cpu_reading" => "whether the limit of CPU time counts per vCPU",
        "limits.cpu_s" => "the limit of CPU time",
        "limits.disk_gib" => "the disk space for the writes of a run",
        "limits.instructions" => "the limit of instructions",
        "limits.memory_reserve_mib" => "the memory that the tool cannot use",
        "limits.wall_s" => "the limit of wall-clock time",
        "machine.concurrent_cores" => "the vCPUs of concurrent tools",
        "machine.cpu_flags.possible" => "processor features that the guest may have",
        "machine.cpu_flags.required" => "processor features that the guest must have",
        "machine.cpu_model" => "the processor model",
        "machine.memory_mib" => "the memory of the machine",
        "machine.sequential_cores" => "the vCPUs of sequential tools",
        "podium" => "the categories of the podiums",
        "podium.category" => "the name of a podium",
        "podium.examinations" => "the examinations that a podium sums",
        "points" => "the points of each kind of answer",
        "points.false_right" => "the points of a right FALSE",
        "points.false_unconfirmed" => "what a FALSE without a confirmed witness counts",
        "points.false_wrong" => "the points of a wrong FALSE",
        "points.sub_property" => "the points of a FALSE that names another violated property than expected",
        "points.true_right" => "the points of a right TRUE",
        "points.true_unconfirmed" => "what a TRUE without a confirmed witness counts",
        "points.true_wrong" => "the points of a wrong TRUE",
        "qualification" => "when an entry qualifies for a category",
        "qualification.more_than" => "the share of tasks on which an entry must have started",
        "qualification.not_started" => "how results state that a verifier did not start",
        "qualification.teams_for_a_new_category" => "how many teams a new category needs",
        "shared_points" => "the points that the tools share on a benchmark",
        "status.note" => "the reason for a status",
        "status.status" => "whether an entry competes",
        "suffix_tools" => "the tool of all entries with a suffix",
        "tie_margin" => "the points within which entries share a rank",
        "timeout_factor" => "after how many times the program's own time a verdict is late",
        "tolerance.memory" => "the allowed difference of printed memory scores",
        "tolerance.overhead" => "the allowed difference of printed overhead scores",
        "tolerance.total" => "the allowed difference of printed totals",
        "track.monitoring" => "whether monitoring is online or offline",
        "track.name" => "the name of a track",
        "true_only" => "the categories in which only answers TRUE count",
        "variants" => "which entries are variants of one tool",
        "witnesses" => "the limits of witness validators, and the categories that need no witness",
        "witnesses.correctness_s" => "the time limit for the validation of a correctness witness",
        "witnesses.exempt_correctness" => "the categories that need no correctness witness",
        "witnesses.exempt_violation" => "the categories that need no violation witness",
        "witnesses.memory_gb" => "the memory of a witness validator",
        "witnesses.processing_units" => "the processing units of a witness validator",
        "witnesses.violation_s" => "the time limit for the validation of a violation witness",
        "without_medals" => "the categories without medals",
        _ => return None,
    })
}

/// What follows the words of a key, before the reason: what the settings that the reason names mean. `confidence`: the
/// setting that is used.
fn explanation(key: &str, confidence: Option<ConfidenceReading>) -> &'static str {
    match (key, confidence) {
        ("judging.confidence", Some(ConfidenceReading::Answered)) => {
            ". `answered` is used: the confidence of an entry is its share of agreeing values among the common values that \
             it answered. With `all-trusted`, it would be its share among all common values. "
        }
        ("judging.confidence", Some(ConfidenceReading::AllTrusted)) => {
            ". `all-trusted` is used: the confidence of an entry is its share of agreeing values among all common values. \
             With `answered`, it would be its share among those that it answered. "
        }
        _ => ": ",
    }
}

/// A sentence for every setting of an edition that was not published: its key in words, and the reason for its value.
pub(crate) fn warnings(
    edition: &str,
    unknown: &BTreeMap<String, String>,
    confidence: Option<ConfidenceReading>,
) -> impl Iterator<Item = String> {
    unknown.iter().map(move |(key, why)| {
        let (words, then) = (setting_words_and_key(key), explanation(key, confidence));
        let why = without_repetition(why);
        format!("edition {edition}: the contest did not publish {words}{then}{why}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rules;
    use crate::builtin::{MCC, OTHER_EDITIONS};

    #[test]
    fn every_setting_that_is_unpublished_or_named_by_a_rule_has_words() {
        for rule in crate::rule_sections().iter().flat_map(|section| &section.rules) {
            for key in rule.key.split('`').skip(1).step_by(2) {
                assert!(known_words(key).is_some(), "{}: {key}", rule.code);
            }
        }
        for (name, _) in MCC.iter().chain(OTHER_EDITIONS) {
            let unknown = match Rules::load(name).unwrap() {
                Rules::Mcc(edition) => edition.unknown,
                Rules::Other(edition) => edition.unknown().cloned().unwrap_or_default(),
            };
            for key in unknown.keys() {
                assert!(known_words(key).is_some(), "{name}: {key}");
            }
        }
        assert_eq!(setting_words_and_key("judging.scale"), "the factor of all points (`judging.scale`)");
        assert_eq!(setting_words("judging.new"), "the value of the setting `judging.new`");
    }

    #[test]
    fn a_warning_explains_the_readings_of_confidence() {
        let unknown = [
            ("judging.confidence", "two readings"),
            ("judging.scale", "2 is used; the contest did not publish it. Fitted"),
        ];
        let unknown = unknown.map(|(key, why)| (key.to_owned(), why.to_owned())).into();
        let warnings: Vec<String> = warnings("mine", &unknown, Some(ConfidenceReading::Answered)).collect();
        assert!(warnings[0].starts_with(
            "edition mine: the contest did not publish how confidence is computed (`judging.confidence`). \
             `answered` is used: "
        ));
        assert!(warnings[0].ends_with("among all common values. two readings"), "{warnings:?}");
        assert_eq!(
            warnings[1],
            "edition mine: the contest did not publish the factor of all points (`judging.scale`): 2 is used. Fitted"
        );
    }
}

//! `contest.js`: the names to which data of pages refer by number.

use super::contest::{self, Contest};
use super::plots;
use super::show::{self, visible};
use mcc_edition::Votes;
use mcc_judge::explain;
use mcc_judge::judgement::{Basis, Weak};
use mcc_judge::show::ENDINGS;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The content of `contest.js`.
#[derive(Serialize)]
pub struct SiteNames {
    contest: String,
    entries: Vec<EntryName>,
    /// Name, family, status, and the stem of its data file if that differs from the name.
    instances: Vec<Vec<String>>,
    examinations: Vec<Value>,
    /// Code and text.
    endings: Vec<(&'static str, &'static str)>,
    /// Sets of marks.
    marks: Vec<String>,
    /// The words and the meaning of each mark.
    mark_words: BTreeMap<String, (&'static str, &'static str)>,
    /// The words and the meaning of each basis (E-3.1).
    bases: BTreeMap<Basis, (&'static str, String)>,
    /// The words of each kind of weak evidence.
    weak: [(Weak, &'static str); 2],
    /// The file name of the archive and its SHA-256, if the site was made from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<(String, String)>,
    /// Whether a table was judged, so that there is no archive, and the site has the judgement.
    is_of_table: bool,
    /// Points of an examination (exact number).
    points: String,
    /// Penalty of a wrong value, as a multiple of the points of a right one (exact number).
    penalty: String,
    /// Whether each variant has a vote of its own.
    variants_vote: bool,
    /// The style sheet of pictures.
    style: &'static str,
    /// Limits of the CPU time of a run, in ms.
    time_limits: Vec<u64>,
    /// Limit of the memory of a run, in KiB.
    memory_limits: [u64; 1],
}

#[derive(Serialize)]
struct EntryName {
    name: String,
    /// The path of the file of its runs.
    data: String,
    status: &'static str,
    votes: bool,
    /// Limits of the CPU time of its runs, in ms; left out without a record, where the number of its cores is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limits: Option<Vec<u64>>,
    /// The exact number, and the text to show.
    confidence: (String, String),
}

/// Collects the content of `contest.js`.
pub fn names(contest: &Contest) -> SiteNames {
    let judgement = contest.judgement;
    let judging = &judgement.edition.judging;
    let entry = |&number: &usize| {
        let entry = contest.entry(number);
        let confidence = &judgement.confidence[number].confidence;
        EntryName {
            name: visible(&entry.entry),
            data: contest.tool_path(number, "js"),
            status: contest::status_text(entry.status),
            votes: entry.status.votes(),
            time_limits: contest
                .kinds
                .get(&entry.entry)
                .map(|&kind| plots::time_limits(&judgement.edition, |known| known == kind)),
            confidence: (confidence.to_string(), show::percent(confidence)),
        }
    };
    let instance = |&number: &usize| {
        let instance = &judgement.instances[number];
        let mut parts =
            vec![visible(&instance.instance), visible(&instance.family), visible(&instance.status)];
        let file = contest.instance_file(number);
        if file != instance.instance {
            parts.push(file.to_owned());
        }
        parts
    };
    let mut bases = BTreeMap::new();
    for trusted in contest.shown_blocks().flat_map(|block| &block.trusted) {
        // Each override has its own reason, which is shown with its value.
        bases.entry(trusted.basis).or_insert_with(|| {
            let meaning = match trusted.basis {
                Basis::Override => "set by the organizers".to_owned(),
                _ => visible(&explain::rule(trusted, &judgement.edition)),
            };
            (show::basis(trusted.basis), meaning)
        });
    }
    let examination = |(number, name): (usize, &String)| json!({ "name": visible(name), "positions": contest.position_names(number), "judged": contest.examinations.contains(&number) });
    let known = contest.marks.keys().flatten().filter_map(|mark| Some((visible(mark), mark.in_words()?)));
    let mark_words = known.collect();
    let mut marks: Vec<_> = contest.marks.iter().collect();
    marks.sort_by_key(|(_, number)| **number);
    SiteNames {
        contest: contest.title(),
        entries: contest.entries.iter().map(entry).collect(),
        instances: contest.instances.iter().map(instance).collect(),
        examinations: judgement.examinations.iter().enumerate().map(examination).collect(),
        endings: ENDINGS.map(|(_, code, text)| (code, text)).into(),
        marks: marks.into_iter().map(|(set, _)| visible(&set.join(" "))).collect(),
        mark_words,
        bases,
        weak: [Weak::SingleBacker, Weak::SingleFamily].map(|weak| (weak, show::weak(weak))),
        archive: contest.input.archive.map(|(name, sha256)| (visible(name), sha256.to_owned())),
        is_of_table: !judgement.is_of_record() && !contest.input.embargo,
        points: judging.points_per_examination.to_string(),
        penalty: judging.penalty.to_string(),
        variants_vote: judging.votes == Votes::PerVariant,
        style: plots::STYLE,
        time_limits: plots::time_limits(&judgement.edition, |_| true),
        memory_limits: [judgement.edition.machine.memory_mib.saturating_mul(1024)],
    }
}

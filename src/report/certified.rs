//! Certified values on the site: the share by examination, and the answers that evidence contradicts.

use super::contest::{Contest, in_fragment};
use super::show::{self, visible};
use mcc_judge::certified::{Certified, CertifiedValue, Method, REFUTED};
use mcc_judge::explain::CertifiedPosition;
use mcc_judge::judgement::{Block, Podium, PodiumPlace, Trusted};
use std::collections::BTreeMap;

/// Largest number of alarms on the page; the table of `certify` has all.
const MAX_ALARMS: usize = 300;

/// What the page of evidence shows of certified values.
pub struct CertifiedPart {
    pub shares: Vec<ShareRow>,
    /// The number of certified values that may or may not be the published `Inf`.
    pub incomparable: u64,
    pub alarms: Vec<AlarmRow>,
    /// Whether the site has the files of the evidence.
    pub has_files: bool,
    /// Number of contradicted values that are not shown.
    pub more: usize,
    /// By category: the places by the rules, and as they would be if evidence replaced votes.
    pub categories: Vec<(String, Vec<PlaceRow>)>,
}

/// The two places of an entry in a category.
pub struct PlaceRow {
    pub entry: String,
    pub link: String,
    /// By votes and by evidence.
    pub places: [Place; 2],
    /// Points by evidence minus points by votes; empty if they are equal.
    pub difference: String,
}

/// A place for display.
pub struct Place {
    pub rank: String,
    pub medal: String,
    pub points: String,
    /// The exact points.
    pub exact: String,
}

impl Place {
    fn new(place: &PodiumPlace) -> Self {
        Self {
            rank: place.rank.map_or_else(String::new, |rank| rank.to_string()),
            medal: place.medal.to_string(),
            points: show::points(&place.points),
            exact: place.points.to_string(),
        }
    }
}

/// The places of all judged categories, in the order of those by the rules.
fn categories(contest: &Contest) -> Vec<(String, Vec<PlaceRow>)> {
    let by_evidence = &contest.judgement.evidence_podiums;
    let row = |by_votes: &PodiumPlace, by_evidence: &PodiumPlace| PlaceRow {
        entry: visible(&contest.entry(by_votes.entry).entry),
        link: contest.tool_path(by_votes.entry, "html"),
        places: [Place::new(by_votes), Place::new(by_evidence)],
        difference: if by_evidence.points == by_votes.points {
            String::new()
        } else {
            show::signed(&(&by_evidence.points - &by_votes.points))
        },
    };
    let of_category = |(_, podium): (usize, &Podium)| {
        let other = by_evidence.iter().find(|other| other.category == podium.category)?;
        let rows =
            podium.places.iter().filter(|place| contest.entries.contains(&place.entry)).filter_map(|place| {
                Some(row(place, other.places.iter().find(|other| other.entry == place.entry)?))
            });
        Some((visible(&podium.category), rows.collect()))
    };
    contest.judged_podiums().filter_map(of_category).collect()
}

/// Counts of one examination, for display.
pub struct ShareRow {
    pub examination: String,
    pub values: String,
    /// By method, in the order of `Method::ALL`.
    pub methods: Vec<String>,
    pub refuted: String,
    pub percent: String,
}

/// A value with contradicted answers.
pub struct AlarmRow {
    /// Instance, examination and position.
    pub value: String,
    /// The link to the page of the value.
    pub link: String,
    pub trusted: String,
    /// The entries with a contradicted answer, each with it.
    pub against: String,
    /// The certified value.
    pub certified: String,
    /// By what it is certified, with the evidence in words.
    pub how: String,
    /// Name and path of each file; the path is empty if the site does not have the file.
    pub evidence: Vec<(String, String)>,
}

/// None if the judgement was made without certified values.
pub fn part(contest: &Contest) -> Option<CertifiedPart> {
    if !contest.judgement.is_certified() {
        return None;
    }
    let mut counts: BTreeMap<usize, (u64, BTreeMap<&str, u64>)> = BTreeMap::new();
    let mut alarms = Vec::new();
    let mut incomparable = 0;
    for block in contest.shown_blocks() {
        let (values, labels) = counts.entry(block.examination).or_default();
        for (position, trusted) in block.trusted.iter().enumerate() {
            *values += 1;
            incomparable += u64::from(trusted.is_incomparable());
            *labels.entry(trusted.certified_label()).or_default() += 1;
            alarms.extend(
                trusted.certified.as_ref().and_then(|certified| alarm(contest, block, position, certified)),
            );
        }
    }
    let more = alarms.len().saturating_sub(MAX_ALARMS);
    alarms.truncate(MAX_ALARMS);
    let shares = counts.into_iter().map(|(examination, (values, labels))| {
        let count = |label: &str| labels.get(label).copied().unwrap_or_default();
        let methods = Method::ALL.map(|method| count(method.word()));
        let tenths = methods.iter().sum::<u64>() * 1000 / values.max(1);
        ShareRow {
            examination: visible(&contest.judgement.examinations[examination]),
            values: show::thousands(values),
            methods: methods.map(show::thousands).into(),
            refuted: show::thousands(count(REFUTED)),
            percent: format!("{}.{} %", tenths / 10, tenths % 10),
        }
    });
    let has_files = contest.input.certified.is_some();
    Some(CertifiedPart {
        shares: shares.collect(),
        incomparable,
        alarms,
        has_files,
        more,
        categories: categories(contest),
    })
}

fn alarm(contest: &Contest, block: &Block, position: usize, certified: &Certified) -> Option<AlarmRow> {
    let judgement = contest.judgement;
    let against: Vec<String> = block
        .cells
        .iter()
        .filter(|cell| contest.entry_number(cell.entry).is_some())
        .filter_map(|cell| {
            let given = cell.values[position].as_ref().filter(|given| certified.value.contradicts(given))?;
            Some(format!("{}: {}", visible(&contest.entry(cell.entry).entry), show::value(given)))
        })
        .collect();
    if against.is_empty() {
        return None;
    }
    let trusted: &Trusted = &block.trusted[position];
    let (instance, examination) =
        (&judgement.instances[block.instance].instance, &judgement.examinations[block.examination]);
    Some(AlarmRow {
        value: visible(&format!(
            "{instance}, {examination} {}",
            contest.position_name(block.examination, position)
        )),
        link: format!(
            "instance.html#instance={}&examination={}&position={position}",
            in_fragment(instance),
            in_fragment(examination)
        ),
        trusted: trusted.value.as_ref().map_or_else(|| "unknown".to_owned(), show::value),
        against: against.join(", "),
        certified: match &certified.value {
            CertifiedValue::Exactly(value) => show::value(value),
            CertifiedValue::AtLeast(least) => format!("at least {least}"),
        },
        how: visible(&certified.how()),
        evidence: {
            let names = certified.evidence.split(' ').filter(|name| !name.is_empty());
            let path = |name: &str| match contest.input.certified {
                Some(_) => contest.evidence_path(block.instance, name),
                None => String::new(),
            };
            names.map(|name| (visible(name), path(name))).collect()
        },
    })
}

/// Position, label and explanation of a value, whether evidence shows it, and what the evidence states.
pub type Label = (usize, String, String, bool, String);

/// The labels of a block; empty if the judgement was made without certified values.
pub fn labels(contest: &Contest, block: &Block) -> Vec<Label> {
    if !contest.judgement.is_certified() {
        return Vec::new();
    }
    let label = |(position, trusted): (usize, &Trusted)| {
        let certified = CertifiedPosition::from_trusted(trusted);
        let stated = certified.certified.as_ref().map_or_else(String::new, Certified::stated);
        let (words, explanation) = (certified.label_words(), visible(&certified.to_string()));
        (position, words, explanation, certified.shows_value(), stated)
    };
    block.trusted.iter().enumerate().map(label).collect()
}

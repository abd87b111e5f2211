//! Certified values on the site: the share by examination, and the answers that evidence contradicts.

use super::contest::{Contest, in_fragment};
use super::show::{self, visible};
use mcc_judge::certified::{Certified, CertifiedValue, Method, REFUTED};
use mcc_judge::explain::CertifiedPosition;
use mcc_judge::judgement::{Block, Trusted};
use std::collections::BTreeMap;

/// Largest number of alarms on the page; the table of `certify` has all.
const MAX_ALARMS: usize = 300;

/// What the page of evidence shows of certified values.
pub struct CertifiedPart {
    pub shares: Vec<ShareRow>,
    pub alarms: Vec<AlarmRow>,
    /// Number of contradicted values that are not shown.
    pub more: usize,
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
    pub method: &'static str,
    /// The evidence in words, and its files.
    pub detail: String,
    pub evidence: String,
}

/// None if the judgement was made without certified values.
pub fn part(contest: &Contest) -> Option<CertifiedPart> {
    if !contest.judgement.is_certified() {
        return None;
    }
    let mut counts: BTreeMap<usize, (u64, BTreeMap<&str, u64>)> = BTreeMap::new();
    let mut alarms = Vec::new();
    for block in contest.shown_blocks() {
        let (values, labels) = counts.entry(block.examination).or_default();
        for (position, trusted) in block.trusted.iter().enumerate() {
            *values += 1;
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
    Some(CertifiedPart { shares: shares.collect(), alarms, more })
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
        method: certified.method.word(),
        detail: visible(&certified.detail),
        evidence: visible(&certified.evidence),
    })
}

/// Position, label and explanation of each value of a block; empty if the judgement was made without certified values.
pub fn labels(contest: &Contest, block: &Block) -> Vec<(usize, &'static str, String)> {
    if !contest.judgement.is_certified() {
        return Vec::new();
    }
    let label = |(position, trusted): (usize, &Trusted)| {
        let certified = CertifiedPosition::from_trusted(trusted);
        (position, certified.label, visible(&certified.to_string()))
    };
    block.trusted.iter().enumerate().map(label).collect()
}

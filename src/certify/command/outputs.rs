//! The tables of a certification: certified values, alarms, overrides, and the share of certified values.

use super::CertificationError;
use super::results::{InstanceResult, ResultsFolder, ValueResult};
use super::tool_evidence::ToolEvidence;
use mcc_campaign::benchkit::Value;
use mcc_judge::certified::{CERTIFIED_FILE, CertifiedValue, Method};
use mcc_judge::judgement::{Basis, Block, Judgement};
use mcc_judge::{CERTIFIED_HEADER, OVERRIDES_HEADER};
use serde::Serialize;
use std::collections::BTreeMap;

/// The tables and their summary.
pub struct Outputs {
    /// The contradicted answers.
    pub alarms: Vec<Alarm>,
    /// How many values are certified, contradicted or skipped.
    pub summary: Summary,
}

/// An answer that certified evidence contradicts.
pub struct Alarm {
    /// The number of the entry.
    pub entry: usize,
    /// The number of the instance.
    pub instance: usize,
    /// The number of the examination.
    pub examination: usize,
    /// The answer of the entry, as it was judged.
    pub given: String,
    /// The trusted value, or `unknown`.
    pub trusted: String,
    /// The certified value and its evidence.
    pub result: ValueResult,
    /// The method as a word.
    pub method: Method,
}

/// An instance that was skipped.
#[derive(Debug, Serialize)]
pub struct Skipped {
    /// The instance as the judgement names it.
    pub instance: String,
    /// Why, with the remedy.
    pub reason: String,
}

/// Counts of a certification.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// What should be checked before the results are used: examinations of which evidence contradicts many trusted values.
    pub warnings: Vec<String>,
    /// Instances whose archive cannot be read or is not the judged one, or that find a bug of this program; their values are in
    /// no table.
    pub skipped: Vec<Skipped>,
    /// Instances without property ids in the judgement; their positions were matched by the order of the ids.
    pub matched_by_order: usize,
    /// By examination, in the order of the edition.
    pub examinations: Vec<Share>,
    /// Instances that have values to decide and no archive; these values are not examined.
    pub instances_without_archive: usize,
    /// Answers that certified evidence contradicts.
    pub alarms: usize,
    /// Trusted values that certified evidence contradicts.
    pub refuted: usize,
    /// Rows of `overrides.csv`.
    pub overrides: usize,
    /// Evidence that tools wrote, if it was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_evidence: Option<ToolEvidence>,
}

/// How many values of an examination are certified.
#[derive(Debug, Default, Serialize)]
pub struct Share {
    /// Name of the examination; empty for all together.
    pub examination: String,
    /// The number of examined values.
    pub values: u64,
    /// Decided by a witness.
    pub witness: u64,
    /// Decided by a proof.
    pub proof: u64,
    /// Decided by two independent explorations.
    pub re_explored: u64,
    /// Decided by exploration.
    pub explored: u64,
    /// Known only from below, by a witness.
    pub at_least: u64,
}

impl Share {
    /// The number of decided values.
    pub fn decided(&self) -> u64 {
        self.witness + self.proof + self.re_explored + self.explored
    }

    /// Counts a value.
    pub(super) fn count(&mut self, value: &ValueResult) {
        self.values += 1;
        match value.certified() {
            None => {}
            Some((_, CertifiedValue::AtLeast(_))) => self.at_least += 1,
            Some((Method::Witness, _)) => self.witness += 1,
            Some((Method::Proof, _)) => self.proof += 1,
            Some((Method::ReExplored, _)) => self.re_explored += 1,
            Some((Method::Explored, _)) => self.explored += 1,
        }
    }

    /// Adds the counts of another examination.
    pub fn add(&mut self, other: &Self) {
        self.values += other.values;
        self.witness += other.witness;
        self.proof += other.proof;
        self.re_explored += other.re_explored;
        self.explored += other.explored;
        self.at_least += other.at_least;
    }
}

/// Writes `certified.csv`, `alarms.csv` and `overrides.csv`, each in the order of the judgement's blocks, and `skipped.csv`.
/// `results` are by number of the instance; an error is the reason why it was skipped.
pub fn write(
    judgement: &Judgement,
    results: &BTreeMap<usize, Result<InstanceResult, String>>,
    folder: &ResultsFolder,
) -> Result<Outputs, CertificationError> {
    let mut certified = table(&CERTIFIED_HEADER)?;
    let mut overrides = table(&OVERRIDES_HEADER)?;
    let mut alarms = Vec::new();
    let mut shares: BTreeMap<usize, Share> = BTreeMap::new();
    let mut summary = Summary::default();
    for block in &judgement.blocks {
        let Some(Ok(result)) = results.get(&block.instance) else { continue };
        let examination = &judgement.examinations[block.examination];
        let decided = result.examinations.iter().find(|decided| decided.examination == *examination);
        let instance = &judgement.instances[block.instance].instance;
        let (mut compared, mut contradictions) = (0, 0);
        for value in decided.map_or(&[][..], |decided| &decided.values) {
            let share = shares.entry(block.examination).or_default();
            share.count(value);
            let trusted = &block.trusted[value.position];
            let shown = trusted.value.as_ref().map_or("unknown".to_owned(), ToString::to_string);
            let position = format!("{:02}", value.position);
            let method = value.method.map_or("", Method::word);
            row(
                &mut certified,
                [
                    instance,
                    examination,
                    &position,
                    &value.id,
                    &shown,
                    trusted.basis.word(),
                    method,
                    &value.value,
                    &value.evidence,
                    &value.detail,
                ],
            )?;
            let Some((method, known)) = value.certified() else { continue };
            let refutes = trusted.value.as_ref().is_some_and(|trusted| known.contradicts(trusted));
            compared += usize::from(trusted.value.is_some());
            contradictions += usize::from(refutes);
            let is_unknown = trusted.value.is_none();
            if let Some(set) = overriding(&known, examination, refutes, is_unknown, trusted.basis) {
                let reason = format!("{}: {} ({})", method.word(), value.detail, value.evidence);
                row(&mut overrides, [instance, examination, &position, &set, &reason])?;
                summary.overrides += 1;
            }
            alarms.extend(contradicted(block, value, &known).map(|(entry, given)| Alarm {
                entry,
                instance: block.instance,
                examination: block.examination,
                given,
                trusted: shown.clone(),
                result: value.clone(),
                method,
            }));
        }
        summary.refuted += contradictions;
        if contradictions >= MANY && contradictions * MANY >= compared {
            summary.warnings.push(format!(
                "{instance} {examination}: evidence contradicts {contradictions} of {compared} trusted values; check that \
                 the archive is that of the contest, and the evidence with check-witness and check-certificate"
            ));
        }
    }
    folder.write(CERTIFIED_FILE, &text(certified)?)?;
    folder.write("overrides.csv", &text(overrides)?)?;
    folder.write("alarms.csv", &alarm_table(judgement, &alarms)?)?;
    summary.examinations = shares
        .into_iter()
        .map(|(number, share)| Share { examination: judgement.examinations[number].clone(), ..share })
        .collect();
    summary.alarms = alarms.len();
    let mut skipped = table(&["instance", "reason"])?;
    for (number, result) in results {
        match result {
            Ok(result) => summary.matched_by_order += usize::from(result.by_order),
            Err(reason) => {
                let instance = judgement.instances[*number].instance.clone();
                row(&mut skipped, [&instance, reason])?;
                summary.skipped.push(Skipped { instance, reason: reason.clone() });
            }
        }
    }
    folder.write("skipped.csv", &text(skipped)?)?;
    Ok(Outputs { alarms, summary })
}

/// An examination gets a warning if at least this number of its values are contradicted, and at least one in this number.
const MANY: usize = 4;

/// The value that an organizer may set: the certified value where another one is trusted or votes gave none, and `unknown`
/// where it is known only that the trusted value is wrong.
fn overriding(
    known: &CertifiedValue,
    examination: &str,
    refutes: bool,
    is_unknown: bool,
    basis: Basis,
) -> Option<String> {
    match known {
        // Without an answer an override changes nothing.
        _ if is_unknown && basis == Basis::UnknownNone => None,
        // `inf` as an answer in StateSpace stands for a number that is too large (`Value::Overflow`), which agrees with none.
        CertifiedValue::Exactly(Value::Infinite) if examination == "StateSpace" => {
            refutes.then(|| "unknown".to_owned())
        }
        CertifiedValue::Exactly(value) if refutes || is_unknown => Some(value.to_string()),
        CertifiedValue::AtLeast(_) if refutes => Some("unknown".to_owned()),
        _ => None,
    }
}

/// The entries whose answers a certified value contradicts, with the answers.
fn contradicted(
    block: &Block,
    value: &ValueResult,
    known: &CertifiedValue,
) -> impl Iterator<Item = (usize, String)> {
    block.cells.iter().filter_map(|cell| {
        let given = cell.values[value.position].as_ref()?;
        known.contradicts(given).then(|| (cell.entry, given.to_string()))
    })
}

const ALARMS_HEADER: [&str; 11] = [
    "instance",
    "examination",
    "position",
    "id",
    "tool",
    "given",
    "trusted",
    "certified",
    "method",
    "evidence",
    "detail",
];

fn alarm_table(judgement: &Judgement, alarms: &[Alarm]) -> Result<String, CertificationError> {
    let mut table = table(&ALARMS_HEADER)?;
    for Alarm { entry, instance, examination, given, trusted, result, method, .. } in alarms {
        row(
            &mut table,
            [
                &judgement.instances[*instance].instance,
                &judgement.examinations[*examination],
                &format!("{:02}", result.position),
                &result.id,
                &judgement.entries[*entry].entry,
                given,
                trusted,
                &result.value,
                method.word(),
                &result.evidence,
                &result.detail,
            ],
        )?;
    }
    text(table)
}

pub(super) type Table = csv::Writer<Vec<u8>>;

pub(super) fn table(header: &[&str]) -> Result<Table, CertificationError> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(header).map_err(|error| CertificationError::Json(error.to_string()))?;
    Ok(table)
}

pub(super) fn row<const N: usize>(table: &mut Table, row: [&str; N]) -> Result<(), CertificationError> {
    table.write_record(row).map_err(|error| CertificationError::Json(error.to_string()))
}

pub(super) fn text(table: Table) -> Result<String, CertificationError> {
    let bytes = table.into_inner().map_err(|error| CertificationError::Json(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| CertificationError::Json(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_number_of_state_space_is_set_to_unknown() {
        let infinite = CertifiedValue::Exactly(Value::Infinite);
        let set =
            |examination, refutes| overriding(&infinite, examination, refutes, !refutes, Basis::Majority);
        assert_eq!(set("StateSpace", true).as_deref(), Some("unknown"));
        assert_eq!(set("StateSpace", false), None);
        assert_eq!(set("UpperBounds", true).as_deref(), Some("inf"));
    }
}

//! Reads the certified values of a folder that `certify` wrote.

use super::run_results::RunResults;
use super::values::{SourceError, digest, is_padded, position_of};
use crate::certified::{CERTIFIED_FILE, Certified, check_evidence};
use crate::evidence_statements::Evidenced;
use crate::table_words::CERTIFIED_HEADER;
use mcc_campaign::benchkit::published::Table;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Certified values by (examination, instance), then position.
pub(crate) type CertifiedValues = HashMap<(usize, String), HashMap<usize, Certified>>;

/// Reads `certified.csv` of a folder, and compares each value with the files of its evidence. The rows are the values of one
/// judgement; those of instances without answers here are ignored.
///
/// # Errors
/// The table cannot be read, a row is wrong, its property id differs from that of the answers, or no row is of an instance
/// with answers, or the files of evidence of a value do not state it. The message has file, line and column.
pub fn read_certified(results: &mut RunResults, folder: &Path) -> Result<(), SourceError> {
    let path = &folder.join(CERTIFIED_FILE);
    let mut table = Table::open(path)?;
    if table.header() != CERTIFIED_HEADER {
        return Err(table.wrong_header(CERTIFIED_HEADER.join(",")).into());
    }
    let judged: BTreeSet<String> = results.instance_names().map(str::to_owned).collect();
    let mut certified = CertifiedValues::new();
    let mut of_judged = 0_u64;
    table.each_row(|row| {
        let [instance, examination, position, id, _, _, method, value, evidence, detail] =
            std::array::from_fn(|column| &row[column]);
        let examination = results.examination(examination).map_err(|error| error.to_string())?;
        let (name, values) = &results.examinations[examination];
        let position = position_of(position, name, *values)?;
        if !judged.contains(instance) {
            return Ok(());
        }
        of_judged += 1;
        let ids = results.ids_of(examination, instance);
        if let Some(known) = ids.and_then(|ids| ids.get(position)).filter(|known| *known != id) {
            return Err(format!(
                "column id: `{id}` is certified, but the answers are to `{known}`; certify the judgement of these answers"
            ));
        }
        if value.is_empty() {
            return Ok(());
        }
        let method = method.parse().map_err(|()| {
            let shown: String = method.chars().take(60).collect();
            format!("column method: `{shown}`; a row with a value has witness, proof, re-explored or explored")
        })?;
        if is_padded(value.trim_start_matches(">=")) {
            return Err(format!("column value: `{value}` begins with 0; certify again"));
        }
        let value = value.parse().map_err(|error| format!("column value: {error}"))?;
        check_evidence(evidence).map_err(|problem| format!("column evidence: {problem}"))?;
        let evidenced = Evidenced { instance, examination: name, position, id, method, value: &value, evidence };
        evidenced.compare(folder).map_err(|problem| format!("column evidence: {problem}; certify again"))?;
        let (evidence, detail) = (evidence.to_owned(), detail.to_owned());
        let block = certified.entry((examination, instance.to_owned())).or_default();
        match block.insert(position, Certified { method, value, evidence, detail }) {
            None => Ok(()),
            Some(_) => Err(format!("{instance} {name} {position:02} is certified twice; certify again")),
        }
    })?;
    if of_judged == 0 {
        return Err(SourceError::NotCertified { path: path.clone() });
    }
    results.certified = Some(certified);
    results.inputs.push(digest(path)?);
    Ok(())
}

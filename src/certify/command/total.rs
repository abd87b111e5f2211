//! Certifies the values of total examinations: one for each transition or place of the P/T nets of a folder. They need no
//! judgement, because no contest has one. The vectors of values are oracle files.

use super::examine::keep;
use super::outputs::{Share, Skipped, row, table, text};
use super::results::{ExaminationResult, InstanceResult, ResultsFolder, ValueResult};
use super::{
    CertificationError, ExaminationBudget, Only, Settings, archives, unless_panic, with_large_stack,
};
use crate::Finding;
use mcc_base::{OnFile, digest};
use mcc_judge::certified::Method;
use mcc_judge::vector;
use mcc_model::{Archive, ArchiveError, NetKind, Total};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The table of all values.
const FILE: &str = "total.csv";
const HEADER: [&str; 7] = ["instance", "examination", "id", "method", "value", "evidence", "detail"];

/// What values of total examinations are certified with.
pub struct TotalInput<'a> {
    /// The folder of the archives (`INSTANCE.tgz`).
    pub instances: &'a Path,
    /// The examinations.
    pub examinations: &'a [&'static Total],
    /// The budget of each examination.
    pub budget: ExaminationBudget,
}

/// Counts of the values.
#[derive(Debug, serde::Serialize)]
pub struct TotalSummary {
    /// By examination.
    pub examinations: Vec<Share>,
    /// Instances that are coloured, and therefore not examined.
    pub coloured: usize,
    /// Instances whose archive cannot be read, or that find a bug of this program.
    pub skipped: Vec<Skipped>,
}

/// Certifies the total examinations of all P/T nets, and writes an oracle file for each, the evidence, and `total.csv`. A
/// killed certification is continued. `progress` is called with each instance and the numbers of its decided and all values.
///
/// # Errors
/// The folder of archives cannot be read, `out` cannot be written or was begun with other settings, or `stop` was set.
pub fn certify_total(
    input: &TotalInput<'_>,
    out: &Path,
    stop: &AtomicBool,
    progress: impl Fn(&str, usize, usize),
) -> Result<TotalSummary, CertificationError> {
    let archives = archives(input.instances)?;
    if archives.is_empty() {
        return Err(CertificationError::no_instance(input.instances));
    }
    let names: Vec<&str> = input.examinations.iter().map(|total| total.examination).collect();
    let settings = Settings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        judgement_sha256: format!("none ({})", names.join(", ")),
        only: Only::All,
        budget: input.budget,
    };
    let folder = ResultsFolder::open(out, &settings)?;
    let mut rows = table(&HEADER)?;
    let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
    let (mut coloured, mut skipped) = (0, Vec::new());
    for (name, path) in &archives {
        if stop.load(Ordering::Relaxed) {
            return Err(CertificationError::Stopped);
        }
        let work = || unless_panic(|| instance(input, &names, &folder, path, stop));
        let result = match with_large_stack(work).on("write", out)? {
            Ok(None) => {
                coloured += 1;
                continue;
            }
            Ok(Some(result)) => result,
            Err(error) if error.is_of_instance() => {
                skipped.push(Skipped { instance: name.clone(), reason: error.to_string() });
                continue;
            }
            Err(error) => return Err(error),
        };
        let values = || result.examinations.iter().flat_map(|examination| &examination.values);
        progress(name, values().filter(|value| value.method.is_some()).count(), values().count());
        for (total, ExaminationResult { examination, values }) in
            input.examinations.iter().zip(&result.examinations)
        {
            let exact = |value: &ValueResult| value.certified()?.1.exact().cloned();
            let vector: Vec<_> = values.iter().map(exact).collect();
            folder.write(&format!("{name}-{}.out", total.short), &vector::text(name, total, &vector))?;
            let share = shares.entry(total.examination).or_default();
            share.examination = total.examination.to_owned();
            for value in values {
                share.count(value);
                let method = value.method.map_or("", Method::word);
                row(
                    &mut rows,
                    [name, examination, &value.id, method, &value.value, &value.evidence, &value.detail],
                )?;
            }
        }
    }
    folder.write(FILE, &text(rows)?)?;
    Ok(TotalSummary { examinations: shares.into_values().collect(), coloured, skipped })
}

/// The result of an instance, of this or an earlier process; None if its net is coloured.
fn instance(
    input: &TotalInput<'_>,
    names: &[&str],
    folder: &ResultsFolder,
    path: &Path,
    stop: &AtomicBool,
) -> Result<Option<InstanceResult>, CertificationError> {
    let archive = Archive::open(path)?;
    if archive.instance.kind() == NetKind::Coloured {
        return Ok(None);
    }
    let (archive_sha256, _) = digest::file(path).on("read", path).map_err(ArchiveError::from)?;
    let name = archive.instance.as_str();
    let mut questions: Vec<(&str, Vec<(usize, String)>)> = Vec::new();
    for examination in names {
        let ids =
            archive.properties(examination)?.unwrap_or_default().into_iter().map(|property| property.id);
        questions.push((*examination, ids.enumerate().collect()));
    }
    if let Some(result) = folder.of_instance(name, &archive_sha256, &questions)? {
        return Ok(Some(result));
    }
    let budget = input.budget.for_all(names.len(), stop);
    let findings = match crate::certify(&archive, names, &budget) {
        Err(crate::EngineError::Archive(error)) => return Err(error.into()),
        // Not even the net fits into the budget.
        Err(crate::EngineError::Stop(_)) => Vec::new(),
        Ok(findings) => findings,
    };
    if stop.load(Ordering::Relaxed) {
        return Err(CertificationError::Stopped);
    }
    let mut examinations = Vec::new();
    for (examination, positions) in questions {
        // They are in the order of the questions.
        let found = findings.iter().filter(|finding| finding.examination == examination);
        let found: Vec<&Finding> = found.collect();
        let mut values = Vec::new();
        for (position, id) in positions {
            let mut result = ValueResult {
                position,
                id,
                method: None,
                value: String::new(),
                evidence: String::new(),
                detail: "the budget ended before it was examined".to_owned(),
            };
            if let Some(finding) = found.get(position) {
                keep(folder, name, finding, &mut result)?;
            }
            values.push(result);
        }
        examinations.push(ExaminationResult { examination: examination.to_owned(), values });
    }
    let instance = name.to_owned();
    let result = InstanceResult { instance, archive_sha256, by_order: false, examinations };
    folder.keep(&result)?;
    Ok(Some(result))
}

//! Oracle files: values that are held to be right, in the form of the answer protocol. There is one file per instance
//! and examination, `INSTANCE-SHORT.out`; its first line has the names of both. Those of total examinations have a vector
//! (`vector.rs`).

use super::atomic_file::AtomicFile;
use super::{schema, vector};
use crate::judgement::Block;
use crate::mcc::Judge;
use mcc_base::names::MAX_NAME_BYTES;
use mcc_base::{FileError, OnFile, files};
use mcc_campaign::benchkit::contest_table::spelled;
use mcc_campaign::benchkit::{Answers, Questions, Reading, STATE_SPACE, Value};
use mcc_edition::{AnswerKind, Examination};
use mcc_model::Total;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The short names of examinations in file names.
const SHORT: [(&str, &str); 14] = [
    ("StateSpace", "SS"),
    ("UpperBounds", "UB"),
    ("ReachabilityDeadlock", "RD"),
    ("ReachabilityCardinality", "RC"),
    ("ReachabilityFireability", "RF"),
    ("CTLCardinality", "CTLC"),
    ("CTLFireability", "CTLF"),
    ("LTLCardinality", "LTLC"),
    ("LTLFireability", "LTLF"),
    ("GlobalProperties", "GP"),
    ("QuasiLiveness", "QL"),
    ("StableMarking", "SM"),
    ("Liveness", "L"),
    ("OneSafe", "OS"),
];

/// Returns the path of an oracle file in a folder; None where the name of the instance cannot be part of a file name.
pub fn file(folder: &Path, instance: &str, examination: &str) -> Option<PathBuf> {
    let short = SHORT.iter().find(|(name, _)| *name == examination).map(|(_, short)| *short);
    let short = short.or_else(|| Some(Total::named(examination)?.short)).unwrap_or(examination);
    let name = format!("{instance}-{short}.out");
    (!name.contains(['/', '\0']) && name.len() <= MAX_NAME_BYTES).then(|| folder.join(name))
}

/// Why an oracle cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The name of an instance contains `/` or NUL, or is too long for a file name.
    #[error(
        "instance `{0}` cannot be part of a file name of at most {MAX_NAME_BYTES} bytes; rename it before its oracle is written"
    )]
    Name(String),
    /// No judged block has a file in the folder.
    #[error(
        "{} has no oracle file for a judged instance and examination; its name is INSTANCE-SHORT.out, such as \
         TokenRing-PT-005-CTLC.out (`mcc-harness export RESULTS --oracle FOLDER` writes such files)",
        .0.display()
    )]
    NoFile(PathBuf),
    /// A line of an oracle file is wrong.
    #[error("{}:{line}: {message}; an oracle file has lines of the answer protocol", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

/// The values of a file by position, and an `OracleError::Line` for each bad line.
pub type GoodLines = (Vec<Option<Value>>, Vec<OracleError>);

/// Reads an oracle file and returns its values by position, None where it has none, and its bad lines, whose values are
/// left out. Returns None if there is no file.
///
/// `ids` are the property ids by position, as far as they are known. Numbers of 5 digits are read as rounded.
///
/// # Errors
/// The file cannot be read.
pub fn read(
    folder: &Path,
    instance: &str,
    examination: &Examination,
    ids: &[&str],
) -> Result<Option<GoodLines>, OracleError> {
    let Some(path) = file(folder, instance, &examination.name) else { return Ok(None) };
    let file = match files::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.on("read", &path)?,
    };
    let total = Total::named(&examination.name);
    let bad_line = |line, message| OracleError::Line { path: path.clone(), line, message };
    if !has_names(&file, instance, &examination.name).on("read", &path)? {
        let values = if total.is_some() { ids.len() } else { examination.values };
        let message =
            format!("the names {instance} and {} are missing, so no value counts", examination.name);
        return Ok(Some((vec![None; values], vec![bad_line(1, message)])));
    }
    if let Some(total) = total {
        return vector::read(file, &path, total, ids.len()).map(Some);
    }
    let questions = Questions::as_printed(examination);
    let reading = Reading { published: true, ..Reading::default() };
    let answers = Answers::read_file(&file, &questions, reading).on("read", &path)?;
    let mut bad: Vec<_> =
        answers.anomalies.iter().map(|anomaly| bad_line(anomaly.line, anomaly.to_string())).collect();
    let mut values = vec![None; examination.values];
    let known = |id: &String| ids.iter().position(|known| known == id);
    // Some files have other ids than `ids`, and some do not have all positions. In a file with all positions the ids
    // are in the order of the positions, which may differ from the order of their numbers: `-0`, `-1`, `-10` (2017);
    // `-2023-12`, `-2025-00` (2025).
    let (named, whole) =
        (answers.ids.iter().any(|id| known(id).is_some()), answers.ids.len() == values.len());
    for (at, (id, value)) in answers.ids.iter().zip(answers.values).enumerate() {
        let position = match known(id) {
            None if named => {
                let message = format!("{id} is none of the ids of {}, such as {}", examination.name, ids[0]);
                bad.push(bad_line(answers.lines[at].unwrap_or(1), message));
                None
            }
            None if whole => Some(at),
            None => {
                let numbered = position_by_number(id);
                if numbered.is_none() {
                    let message =
                        format!("{id} does not state its position, and the file has not all positions");
                    bad.push(bad_line(answers.lines[at].unwrap_or(1), message));
                }
                numbered
            }
            known => known,
        };
        if let Some(place) = position.and_then(|position: usize| values.get_mut(position)) {
            *place = value;
        }
    }
    Ok(Some((values, bad)))
}

/// Whether the first line has both names, such as `./runatest.sh oracle/INSTANCE StateSpace`. Other files could be those of
/// other instances.
fn has_names(file: &fs::File, instance: &str, examination: &str) -> io::Result<bool> {
    let mut start = [0; 4096];
    let length = file.read_at(&mut start, 0)?;
    let start = String::from_utf8_lossy(&start[..length]);
    let words: Vec<&str> = start.lines().next().unwrap_or_default().split([' ', '\t', '/']).collect();
    Ok(words.contains(&instance) && words.contains(&examination))
}

/// The number at the end of an id as its position. None: it has none, or a number of one of several years (`-2023-12`).
fn position_by_number(id: &str) -> Option<usize> {
    let mut parts = id.rsplit('-');
    let number = parts.next()?.parse().ok()?;
    parts.next().is_none_or(|before| before.parse::<u32>().is_err()).then_some(number)
}

/// Judges, and writes an oracle file for every block with a trusted value that a tool can print. Returns the number of
/// files.
///
/// # Errors
/// A file cannot be written, or the name of an instance cannot be part of a file name.
pub fn write(judge: &Judge, folder: &Path) -> Result<u64, OracleError> {
    for (examination, instance, _) in judge.block_ids() {
        let (instance, examination) =
            (&judge.header.instances[instance].instance, &judge.header.edition.examinations[examination]);
        if file(folder, instance, &examination.name).is_none() {
            return Err(OracleError::Name(instance.clone()));
        }
    }
    fs::create_dir_all(folder).on("create", folder)?;
    let mut written = 0;
    judge.judge_blocks(|block| {
        let instance = &judge.header.instances[block.instance].instance;
        let examination = &judge.header.edition.examinations[block.examination];
        let lines = lines(instance, examination, &block);
        if !lines.is_empty() {
            let path = file(folder, instance, &examination.name);
            let mut oracle = AtomicFile::new(&path.ok_or_else(|| OracleError::Name(instance.clone()))?)?;
            oracle.text(&format!("{instance} {}\n{lines}", examination.name))?;
            oracle.rename()?;
            written += 1;
        }
        Ok::<(), OracleError>(())
    })?;
    Ok(written)
}

/// The values of an oracle for the blocks of a judgement.
#[derive(Debug)]
pub struct Oracle {
    /// By number of examination and instance: the values by position.
    values: HashMap<(usize, usize), Vec<Option<Value>>>,
    /// An error for each line that could not be read; its value is left out.
    pub bad_lines: Vec<OracleError>,
}

impl Oracle {
    /// Reads the files of all blocks that will be judged.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or no block has a file.
    pub fn read(judge: &Judge, folder: &Path) -> Result<Self, OracleError> {
        fs::read_dir(folder).on("read", folder)?;
        let mut oracle = Self { values: HashMap::new(), bad_lines: Vec::new() };
        for (examination, instance, ids) in judge.block_ids() {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let name = &judge.header.instances[instance].instance;
            let file = read(folder, name, &judge.header.edition.examinations[examination], &ids)?;
            if let Some((values, bad)) = file {
                oracle.values.insert((examination, instance), values);
                oracle.bad_lines.extend(bad);
            }
        }
        // Nothing would be compared, which looks like agreement.
        if oracle.values.is_empty() {
            return Err(OracleError::NoFile(folder.to_owned()));
        }
        Ok(oracle)
    }
}

/// Numbers of values in the comparison of a judgement with an oracle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OracleComparison {
    /// The trusted value equals that of the oracle.
    pub same: u64,
    /// The trusted value differs from that of the oracle.
    pub different: u64,
    /// The oracle has a value, but the trusted value is unknown.
    pub only_oracle: u64,
    /// One of the two is `Inf`, a number that was too large for its writer, and the other is a number.
    pub not_comparable: u64,
}

/// Compares the trusted values with an oracle and writes the values that are not the same to the table `out`, with the
/// columns `instance`, `examination`, `position`, `trusted` (empty where unknown), `oracle` and `result` (`different`,
/// `only-oracle`, `not-comparable`). Where one of two numbers is rounded, both are compared by 5 digits.
///
/// # Errors
/// The table cannot be written.
pub fn compare(judge: &Judge, oracle: &Oracle, out: &Path) -> Result<OracleComparison, FileError> {
    let mut table = AtomicFile::new(out)?;
    table.text(&schema::ORACLE.header())?;
    let mut compared = OracleComparison::default();
    judge.judge_blocks(|block| {
        let instance = &judge.header.instances[block.instance].instance;
        let examination = &judge.header.edition.examinations[block.examination];
        let Some(expected) = oracle.values.get(&(block.examination, block.instance)) else { return Ok(()) };
        for (position, (trusted, expected)) in block.trusted.iter().zip(expected).enumerate() {
            let Some(expected) = expected else { continue };
            let (count, result) = match &trusted.value {
                Some(value) if value.is_same(expected) => {
                    compared.same += 1;
                    continue;
                }
                Some(Value::Overflow) => (&mut compared.not_comparable, "not-comparable"),
                Some(_) if *expected == Value::Overflow => (&mut compared.not_comparable, "not-comparable"),
                Some(_) => (&mut compared.different, "different"),
                None => (&mut compared.only_oracle, "only-oracle"),
            };
            *count += 1;
            let shown = trusted.value.as_ref().map_or(String::new(), Value::to_string);
            let position = format!("{position:02}");
            table.row([instance, &examination.name, &position, &shown, &expected.to_string(), result])?;
        }
        Ok::<(), FileError>(())
    })?;
    table.rename()?;
    Ok(compared)
}

/// The lines of an oracle file, one for each trusted value that a tool can print.
fn lines(instance: &str, examination: &Examination, block: &Block) -> String {
    let mut lines = String::new();
    for (position, trusted) in block.trusted.iter().enumerate() {
        let value = match &trusted.value {
            None | Some(Value::NotKept) => continue,
            Some(Value::Overflow) if examination.answers == AnswerKind::StateSpace => "+inf".to_owned(),
            Some(Value::Overflow) => continue,
            // `inf` would be read again as an overflow.
            Some(Value::Infinite) if examination.answers == AnswerKind::StateSpace => continue,
            Some(Value::True) => "TRUE".to_owned(),
            Some(Value::False) => "FALSE".to_owned(),
            Some(number) => spelled(&number.to_string()).to_owned(),
        };
        let id = match (examination.answers, trusted.id.as_str()) {
            (AnswerKind::StateSpace, _) => format!("STATE_SPACE {}", STATE_SPACE[position]),
            (_, "") => format!("FORMULA {instance}-{}-{position:02}", examination.name),
            (_, id) => format!("FORMULA {id}"),
        };
        let _ = writeln!(lines, "{id} {value} TECHNIQUES ORACLE");
    }
    lines
}

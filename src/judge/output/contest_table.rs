//! Writes judged results as the contest's table of results (`raw-result-analysis.csv`); see also `table_words`.

use super::atomic_file::{AtomicFile, remove};
use super::schema;
use super::write::override_rows;
use crate::input::run_results::{RunKey, RunResults};
use crate::judgement::{Block, Cell, Cost, Ending, Judgement, ValueVerdict};
use crate::mcc::Judge;
use crate::table_words::{MARKS, SPLIT, is_separator_word, status};
use mcc_base::FileError;
use mcc_campaign::benchkit::contest_table::{Form, HEADER, megabytes};
use mcc_edition::{AnswerKind, Edition};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Number of cores of the machines, by entry. The table has it, a judgement does not.
pub type Cores = BTreeMap<String, u32>;

/// Judges results and writes the table to `path`. In addition to a table of results it writes `STEM.models.csv`,
/// `STEM.tools.csv` and, if the organizers set values, `STEM.overrides.csv`; with these files `judge` gives the same
/// judgement. Resigned entries are in none of the files (P-4).
///
/// # Errors
/// The results cannot be judged, a file cannot be written, or there is a `STEM.overrides.csv` although the organizers set no
/// values.
pub fn export(
    edition: &Edition,
    results: RunResults,
    cores: &Cores,
    layout: Layout,
    path: &Path,
) -> Result<Exported, ExportError> {
    let hosts: HashMap<RunKey, String> = results.hosts().collect();
    let judge = Judge::new(edition, results)?;
    let mut writer = Writer { header: &judge.header, hosts: &hosts, cores, form: layout.form(), rows: 0 };
    let columns = layout.columns();
    let mut table = AtomicFile::new(path)?;
    // Column names of a summary have one blank where those of the contest's table have two.
    table.row(columns.iter().map(|column| match layout {
        Layout::Summary => HEADER[*column].replace("  ", " "),
        Layout::Results(_) => HEADER[*column].to_owned(),
    }))?;
    let mut overrides = String::new();
    let mut write = |block: Block| {
        override_rows(&judge.header, &block, &mut overrides);
        block.cells.iter().try_for_each(|cell| {
            let row = writer.row(&block, cell);
            table.row(columns.iter().map(|column| &row[*column]))
        })
    };
    judge.judge_blocks(&mut write)?;
    // The table contains them, so that they are excluded and listed when it is read again.
    judge.excluded_blocks().try_for_each(write)?;
    let rows = writer.rows;
    if layout == Layout::Summary {
        return Ok(Exported { rows, paths: vec![table.rename()?] });
    }
    let companion = |what: &str| AtomicFile::new(&path.with_extension(format!("{what}.csv")));
    let mut models = companion("models")?;
    models.row(schema::INSTANCES.columns)?;
    for known in &judge.header.instances {
        models.row([&known.instance, &known.family, &known.status])?;
    }
    let mut tools = companion("tools")?;
    tools.row(schema::ENTRIES.columns)?;
    for known in &judge.header.entries {
        tools.row([&known.entry, &known.tool, known.status.word(), &known.note])?;
    }
    let mut beside = vec![models, tools];
    let mut overrides_file = companion("overrides")?;
    if !overrides.is_empty() {
        overrides_file.row(schema::OVERRIDES.columns)?;
        overrides_file.text(&overrides)?;
        beside.push(overrides_file);
    } else if overrides_file.path().exists() {
        return Err(ExportError::OtherOverrides(overrides_file.path().to_owned()));
    }
    beside.iter_mut().chain([&mut table]).try_for_each(AtomicFile::flush)?;
    // So that after a kill no table is beside the files of another one.
    remove(path)?;
    let beside = beside.into_iter().map(AtomicFile::rename).collect::<Result<Vec<_>, _>>()?;
    let paths = [vec![table.rename()?], beside].concat();
    Ok(Exported { rows, paths })
}

/// What `export` wrote.
#[derive(Debug)]
pub struct Exported {
    /// Number of rows of the table.
    pub rows: u64,
    /// The files: the table, then models, tools and overrides, if they were written.
    pub paths: Vec<PathBuf>,
}

/// The kind of table that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The contest's table of results with its 17 columns.
    Results(Form),
    /// A summary as BenchKit writes it: time and memory without answers.
    Summary,
}

impl Layout {
    fn form(self) -> Form {
        match self {
            Self::Results(form) => form,
            Self::Summary => Form::Contest,
        }
    }

    /// The numbers of its columns among the 17 of the contest's table.
    fn columns(self) -> Vec<usize> {
        match self {
            Self::Results(_) => (0..HEADER.len()).collect(),
            Self::Summary => vec![0, 1, 2, 8, 9, 10, 11, 12, 13],
        }
    }
}

/// Why a table cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The results cannot be judged.
    #[error(transparent)]
    Judge(#[from] crate::mcc::JudgeError),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] FileError),
    /// The file of overrides beside the table is of another one.
    #[error("{}: belongs to another table, because the organizers set no values of this one; give another path for the table, or \
             remove this file if it is not needed", .0.display())]
    OtherOverrides(PathBuf),
}

struct Writer<'a> {
    header: &'a Judgement,
    hosts: &'a HashMap<RunKey, String>,
    cores: &'a Cores,
    form: Form,
    rows: u64,
}

impl Writer<'_> {
    fn row(&mut self, block: &Block, cell: &Cell) -> [String; 17] {
        self.rows += 1;
        let header = self.header;
        let entry = &header.entries[cell.entry].entry;
        let instance = &header.instances[block.instance].instance;
        let examination = &header.edition.examinations[block.examination];
        let (form, kind) = (self.form, examination.answers);
        let limit = |limits: &[Ending]| if limits.contains(&cell.ending) { "KO" } else { "OK" }.to_owned();
        let cost =
            |value: fn(&Cost) -> Option<String>| cell.cost.as_ref().and_then(value).unwrap_or_default();
        let run = (entry.clone(), instance.clone(), examination.name.clone());
        let host = self.hosts.get(&run).map_or("", String::as_str);
        let backers = |position: usize| {
            let right = block.cells.iter().filter(|cell| cell.verdicts[position] == ValueVerdict::Right);
            right.count().to_string()
        };
        [
            entry.clone(),
            instance.clone(),
            examination.name.clone(),
            self.cores.get(entry).map_or(String::new(), u32::to_string),
            limit(&[Ending::CpuLimit, Ending::WallLimit]),
            limit(&[Ending::MemoryLimit]),
            results(cell, form, kind),
            written_techniques(cell, form),
            match cell.cost.and_then(|cost| cost.memory_kib) {
                Some(kib) => megabytes(kib, form),
                None => String::new(),
            },
            cost(|cost| Some(cost.cpu_ms.to_string())),
            cost(|cost| Some(cost.wall_ms.to_string())),
            String::new(),
            status(cell.ending, form).to_owned(),
            format!("mcc-{host}-{:015}", self.rows),
            format!("{}::{}:{}", flags(cell, form), cell.points, mask(&cell.verdicts)),
            form.vector(block.trusted.iter().map(|trusted| trusted.value.as_ref()), kind),
            (0..block.trusted.len()).map(backers).collect::<Vec<_>>().join(" "),
        ]
    }
}

/// The column `results`: the values, or the word for a run without values.
fn results(cell: &Cell, form: Form, kind: AnswerKind) -> String {
    let vector = || form.vector(cell.values.iter().map(Option::as_ref), kind);
    match cell.ending {
        _ if cell.values.iter().any(Option::is_some) => vector(),
        Ending::DidNotCompete => "DNC".to_owned(),
        Ending::CannotCompute => "CC".to_owned(),
        Ending::NoAnswer | Ending::Answered | Ending::NotStated | Ending::Infrastructure => vector(),
        _ => "DNF".to_owned(),
    }
}

/// The column `techniques`: one list where all values have the same, otherwise one list per position, or in the
/// contest's form all words of the run.
fn written_techniques(cell: &Cell, form: Form) -> String {
    let escaped = |word: &String| if is_separator_word(word) { format!("\\{word}") } else { word.clone() };
    let list = |words: &Vec<String>| words.iter().map(escaped).collect::<Vec<_>>().join(" ");
    let lists: Vec<String> = cell.techniques.iter().map(list).collect();
    let mut given = lists.iter().zip(&cell.values).filter(|(_, value)| value.is_some()).map(|(list, _)| list);
    let alike = given.next().is_some_and(|first| {
        let where_given = lists.len() == cell.values.len()
            && lists.iter().zip(&cell.values).all(|(list, value)| value.is_some() || list.is_empty());
        where_given && !first.is_empty() && given.all(|list| list == first)
    });
    match form {
        _ if lists.is_empty() => String::new(),
        Form::Exact if !alike => lists.join(&format!(" {SPLIT} ")),
        _ if alike => lists.into_iter().find(|list| !list.is_empty()).unwrap_or_default(),
        _ => {
            let mut seen = HashSet::new();
            let words = lists.iter().flat_map(|list| list.split_ascii_whitespace());
            words.filter(|word| seen.insert(*word)).collect::<Vec<_>>().join(" ")
        }
    }
}

/// The sub-field `flags`: the marks of the run.
fn flags(cell: &Cell, form: Form) -> String {
    match form {
        Form::Exact if !cell.marks.is_empty() => {
            MARKS.to_owned()
                + &cell.marks.iter().map(|mark| mark.replace(':', "=")).collect::<Vec<_>>().join("/")
        }
        _ => String::new(),
    }
}

/// The sub-field `mask`: `T` right, `X` wrong, `?` not judged, `-` not computed.
fn mask(verdicts: &[ValueVerdict]) -> String {
    let letter = |verdict: &ValueVerdict| match verdict {
        ValueVerdict::Right => 'T',
        ValueVerdict::Wrong => 'X',
        ValueVerdict::Unjudged => '?',
        ValueVerdict::NotComputed => '-',
    };
    verdicts.iter().map(letter).collect()
}

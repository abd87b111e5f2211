//! Ballots to the contest's table of results (`raw-result-analysis.csv`); `table_words` says how it is read again.

use super::atomic_file::{AtomicFile, WriteError};
use super::write::override_rows;
use crate::input::ballots::{Ballots, RunKey};
use crate::judgement::{Block, Cell, Cost, Ending, ValueVerdict};
use crate::mcc::{Judge, JudgementHeader};
use crate::table_words::{MARKS, OVERRIDES_HEADER, SPLIT, is_separator_word, status};
use mcc_benchkit::contest_table::{Form, HEADER, megabytes};
use mcc_edition::{AnswerKind, Edition};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// What a judgement does not keep of its runs and the table has: how many cores an entry's machines had.
pub type Cores = BTreeMap<String, u32>;

/// Judges and writes `PATH` (the table), and beside one of results `STEM.models.csv`, `STEM.tools.csv` and, where the
/// organizers set values, `STEM.overrides.csv`, with which `judge` comes to the same judgement. A resigned entry is in
/// none of them (P-4).
pub fn export(
    edition: &Edition,
    ballots: Ballots,
    cores: &Cores,
    layout: Layout,
    path: &Path,
) -> Result<Exported, ExportError> {
    let hosts: HashMap<RunKey, String> = ballots.hosts().collect();
    let judge = Judge::new(edition, ballots)?;
    let mut writer = Writer { header: &judge.header, hosts: &hosts, cores, form: layout.form(), rows: 0 };
    let columns = layout.columns();
    let mut table = AtomicFile::new(path)?;
    // A summary has one blank in the name where the contest's table has two.
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
    // They stand in the table too, so that they are dropped and named again.
    judge.excluded_blocks().try_for_each(write)?;
    let rows = writer.rows;
    if layout == Layout::Summary {
        return Ok(Exported { rows, paths: vec![table.rename()?] });
    }
    let beside = |what: &str| AtomicFile::new(&path.with_extension(format!("{what}.csv")));
    let mut models = beside("models")?;
    models.row(["instance", "family", "status"])?;
    for known in &judge.header.instances {
        models.row([&known.instance, &known.family, &known.status])?;
    }
    let mut tools = beside("tools")?;
    tools.row(["entry", "tool", "status", "note"])?;
    for known in &judge.header.entries {
        tools.row([&known.entry, &known.tool, known.status.word(), &known.note])?;
    }
    let mut files = vec![table, models, tools];
    if !overrides.is_empty() {
        let mut file = beside("overrides")?;
        file.row(OVERRIDES_HEADER)?;
        file.text(&overrides)?;
        files.push(file);
    }
    files.iter_mut().try_for_each(AtomicFile::flush)?;
    let paths = files.into_iter().map(AtomicFile::rename).collect::<Result<_, _>>()?;
    Ok(Exported { rows, paths })
}

/// What `export` wrote: rows of the table; the table and, beside it, the models, the tools and perhaps overrides.
#[derive(Debug)]
pub struct Exported {
    pub rows: u64,
    pub paths: Vec<PathBuf>,
}

/// Which table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The contest's 17 columns.
    Results(Form),
    /// The summary of a host as BenchKit writes it: time and memory, no answers.
    Summary,
}

impl Layout {
    fn form(self) -> Form {
        match self {
            Self::Results(form) => form,
            Self::Summary => Form::Contest,
        }
    }

    /// Of the 17.
    fn columns(self) -> Vec<usize> {
        match self {
            Self::Results(_) => (0..HEADER.len()).collect(),
            Self::Summary => vec![0, 1, 2, 8, 9, 10, 11, 12, 13],
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    Judge(#[from] crate::mcc::JudgeError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

struct Writer<'a> {
    header: &'a JudgementHeader,
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
            |figure: fn(&Cost) -> Option<String>| cell.cost.as_ref().and_then(figure).unwrap_or_default();
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

fn written_techniques(cell: &Cell, form: Form) -> String {
    let escaped = |word: &String| if is_separator_word(word) { format!("\\{word}") } else { word.clone() };
    let lists: Vec<Vec<String>> =
        cell.techniques.iter().map(|list| list.iter().map(escaped).collect()).collect();
    let lists: Vec<String> = lists.iter().map(|list| list.join(" ")).collect();
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
            let mut words: Vec<&str> = Vec::new();
            for word in lists.iter().flat_map(|list| list.split_ascii_whitespace()) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            words.join(" ")
        }
    }
}

fn flags(cell: &Cell, form: Form) -> String {
    match form {
        Form::Exact if !cell.marks.is_empty() => {
            MARKS.to_owned()
                + &cell.marks.iter().map(|mark| mark.replace(':', "=")).collect::<Vec<_>>().join("/")
        }
        _ => String::new(),
    }
}

/// `T` right, `X` wrong, `?` not judged, `-` not computed.
fn mask(verdicts: &[ValueVerdict]) -> String {
    let letter = |totals: &ValueVerdict| match totals {
        ValueVerdict::Right => 'T',
        ValueVerdict::Wrong => 'X',
        ValueVerdict::Unjudged => '?',
        ValueVerdict::NotComputed => '-',
    };
    verdicts.iter().map(letter).collect()
}

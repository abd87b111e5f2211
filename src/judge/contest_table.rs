//! The contest's table of results (`raw-result-analysis.csv`) to ballots and back.
//!
//! What the contest's own form has no room for stands in ours where its readers don't look: the ending's own word
//! as Status, marks of a run in the sub-field `flags`, techniques by position apart by ` ; `, the host in the run id.
//! So a judgement, exported and read again, comes out the same, but for what has no place: property ids, remarks, and
//! values given more than once.

use super::ballots::{Ballots, NONE, RunFacts};
use super::draft::{Draft, WriteError};
use super::judgement::{Block, Cell, Cost, Ending};
use super::mcc::{Jury, Opening};
use super::overrides;
use super::source::{self, SourceError};
use super::write::override_rows;
use mcc_benchkit::contest_table::{Form, HEADER, Results, column, decimal, megabytes, spelled};
use mcc_benchkit::published::Table;
use mcc_edition::{AnswerKind, Edition};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The columns that are read; a table without the optional ones is read all the same.
pub(super) struct Columns {
    tool: usize,
    input: usize,
    examination: usize,
    results: usize,
    time_flag: Option<usize>,
    memory_flag: Option<usize>,
    techniques: Option<usize>,
    memory: Option<usize>,
    cpu: Option<usize>,
    time: Option<usize>,
    status: Option<usize>,
    run_id: Option<usize>,
    flags: Option<usize>,
}

impl Columns {
    /// None: the header is another table's.
    pub fn find(header: &[String]) -> Option<Self> {
        let at = |name| column(header, name);
        Some(Self {
            tool: at("tool")?,
            input: at("Input")?,
            examination: at("Examination")?,
            results: at("results")?,
            time_flag: at("time flag"),
            memory_flag: at("memory flag"),
            techniques: at("techniques"),
            memory: at("max memory (MB)"),
            cpu: at("CPU (ms)"),
            time: at("Time (ms)"),
            status: at("Status"),
            run_id: at("run id"),
            flags: at("flags:bonus:scores:mask"),
        })
    }

    /// Adds one row of the table.
    pub fn take(
        &self,
        edition: &Edition,
        row: &csv::StringRecord,
        ballots: &mut Ballots,
    ) -> Result<(), String> {
        let (entry, instance, name) =
            (row[self.tool].trim(), row[self.input].trim(), row[self.examination].trim());
        if entry.is_empty() || instance.is_empty() {
            return Err("tool and Input must not be empty".to_owned());
        }
        let number = ballots.examination(name).map_err(|error| error.to_string())?;
        let examination = &edition.examinations[number];
        let (kind, count) = (examination.answers, examination.values);
        let mut cells = Vec::with_capacity(count);
        let said = Results::read(&row[self.results], kind, count, &mut cells)
            .map_err(|error| format!("column results: {error}"))?;
        let mut values = Vec::with_capacity(count);
        for cell in cells {
            let cell = if kind == AnswerKind::Boolean { cell } else { spelled(cell) };
            values.push(source::value_number(ballots, cell, kind, "results")?);
        }
        let optional = |column: Option<usize>| column.map_or("", |column| row[column].trim());
        let answered = values.iter().any(|value| *value != NONE);
        let flags = [self.time_flag, self.memory_flag].map(|flag| matches!(optional(flag), "" | "OK"));
        let ending = ending(optional(self.status), said, answered, flags)?;
        ballots.add_row(entry, instance, number, ending, &values);
        let number_in = |column: Option<usize>, name: &str, factor| {
            decimal(optional(column), factor).map_err(|error| format!("column {name}: {error}"))
        };
        let cpu_ms = number_in(self.cpu, "CPU (ms)", 1)?;
        let wall_ms = number_in(self.time, "Time (ms)", 1)?;
        // 0 is what BenchKit writes where its monitor saw nothing.
        let memory_kib = number_in(self.memory, "max memory (MB)", 1024)?.filter(|kib| *kib > 0);
        let ran = ending != Ending::DidNotCompete;
        let cost = match (cpu_ms, wall_ms) {
            (Some(cpu_ms), Some(wall_ms)) if ran => Some(Cost { cpu_ms, wall_ms, memory_kib }),
            _ => None,
        };
        let given: Vec<bool> = values.iter().map(|value| *value != NONE).collect();
        ballots.state_facts(RunFacts {
            cost,
            marks: marks(optional(self.flags)),
            techniques: techniques(self.techniques.map_or("", |column| &row[column]), &given),
            remarks: vec![],
            // The table has one value per position, however often it was printed.
            repeated: vec![],
            host: host(optional(self.run_id)).to_owned(),
        });
        Ok(())
    }
}

/// The endings that `Status` names themselves; the others are `normal` and told by `results`.
const ENDINGS: [(&str, Ending); 7] = [
    ("cpu-limit", Ending::CpuLimit),
    ("wall-limit", Ending::WallLimit),
    ("memory-limit", Ending::MemoryLimit),
    ("output-limit", Ending::OutputLimit),
    ("tool-crash", Ending::ToolCrash),
    ("infrastructure", Ending::Infrastructure),
    ("unsaid", Ending::Unsaid),
];

/// `kept`: whether the confinements of time and memory were respected.
fn ending(status: &str, said: Results, answered: bool, kept: [bool; 2]) -> Result<Ending, String> {
    if let Some((_, ending)) = ENDINGS.iter().find(|(word, _)| *word == status) {
        return Ok(*ending);
    }
    let [in_time, in_memory] = kept;
    Ok(match (status, said) {
        (_, Results::DidNotCompete) => Ending::DidNotCompete,
        ("normal" | "", _) if !in_memory => Ending::MemoryLimit,
        ("normal" | "", _) if !in_time => Ending::WallLimit,
        ("normal" | "", Results::CannotCompute) => Ending::CannotCompute,
        ("normal" | "", _) if answered => Ending::Answered,
        ("normal" | "", _) => Ending::NoAnswer,
        // BenchKit's confinement is `timeout`, a matter of wall time.
        ("timeout", _) => Ending::WallLimit,
        _ => {
            let own = ENDINGS.map(|(word, _)| word).join(", ");
            let shown: String = status.chars().take(40).collect();
            return Err(format!("column Status: `{shown}`; allowed are normal, timeout, {own}"));
        }
    })
}

/// Our sub-field `flags`; what the contest writes there is not known and not taken.
const MARKS: &str = "marks/";

fn marks(field: &str) -> Vec<String> {
    let flags = field.split(':').next().and_then(|flags| flags.strip_prefix(MARKS));
    flags.map_or(vec![], |marks| marks.split('/').map(|mark| mark.replace('=', ":")).collect())
}

/// Words of the column that are no techniques: what splits it by position, and none at all.
const SPLIT: &str = ";";
const NO_TECHNIQUE: &str = "-";

/// Techniques that are such a word are written with a `\` before, and with one more if they have some.
fn own_word(word: &str) -> bool {
    matches!(word.trim_start_matches('\\'), SPLIT | NO_TECHNIQUE)
}

/// By position. A list that is not split was stated for the run, so for each of its values.
fn techniques(field: &str, given: &[bool]) -> Vec<Vec<String>> {
    // As tools' words are split: other blanks are a part of them.
    let words: Vec<&str> = field.split_ascii_whitespace().collect();
    let technique =
        |word: &&str| word.strip_prefix('\\').filter(|rest| own_word(rest)).unwrap_or(word).to_owned();
    let list = |words: &[&str]| words.iter().map(technique).collect::<Vec<_>>();
    if words.contains(&SPLIT) {
        return words.split(|word| *word == SPLIT).map(list).collect();
    }
    match list(&words) {
        _ if words.is_empty() || words == [NO_TECHNIQUE] || !given.contains(&true) => vec![],
        all => given.iter().map(|given| if *given { all.clone() } else { vec![] }).collect(),
    }
}

/// `r001-tall-174853726600008`: benchmark, host, time and counter.
fn host(run_id: &str) -> &str {
    let inner = run_id.split_once('-').map_or("", |(_, rest)| rest);
    inner.rsplit_once('-').map_or("", |(host, _)| host)
}

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
    let jury = Jury::new(edition, ballots)?;
    let mut writer = Writer { opening: &jury.opening, hosts: &hosts, cores, form: layout.form(), rows: 0 };
    let columns = layout.columns();
    let mut table = Draft::new(path)?;
    // A summary has one blank in the name where the contest's table has two.
    table.row(columns.iter().map(|column| match layout {
        Layout::Summary => HEADER[*column].replace("  ", " "),
        Layout::Results(_) => HEADER[*column].to_owned(),
    }))?;
    let mut overrides = String::new();
    let mut write = |block: Block| {
        override_rows(&jury.opening, &block, &mut overrides);
        block.cells.iter().try_for_each(|cell| {
            let row = writer.row(&block, cell);
            table.row(columns.iter().map(|column| &row[*column]))
        })
    };
    jury.judge_blocks(&mut write)?;
    // They stand in the table too, so that they are dropped and named again.
    jury.excluded_blocks().try_for_each(write)?;
    let rows = writer.rows;
    if layout == Layout::Summary {
        return Ok(Exported { rows, paths: vec![table.rename()?] });
    }
    let beside = |what: &str| Draft::new(&path.with_extension(format!("{what}.csv")));
    let mut models = beside("models")?;
    models.row(["instance", "family", "status"])?;
    for known in &jury.opening.instances {
        models.row([&known.instance, &known.family, &known.status])?;
    }
    let mut tools = beside("tools")?;
    tools.row(["entry", "tool", "status", "note"])?;
    for known in &jury.opening.entries {
        tools.row([&known.entry, &known.tool, known.status.word(), &known.note])?;
    }
    let mut drafts = vec![table, models, tools];
    if !overrides.is_empty() {
        let mut draft = beside("overrides")?;
        draft.row(overrides::HEADER)?;
        draft.text(&overrides)?;
        drafts.push(draft);
    }
    drafts.iter_mut().try_for_each(Draft::flush)?;
    let paths = drafts.into_iter().map(Draft::rename).collect::<Result<_, _>>()?;
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
    Judge(#[from] super::mcc::JudgeError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Entry, instance, examination.
pub(super) type RunKey = (String, String, String);

struct Writer<'a> {
    opening: &'a Opening,
    hosts: &'a HashMap<RunKey, String>,
    cores: &'a Cores,
    form: Form,
    rows: u64,
}

impl Writer<'_> {
    fn row(&mut self, block: &Block, cell: &Cell) -> [String; 17] {
        self.rows += 1;
        let opening = self.opening;
        let entry = &opening.entries[cell.entry].entry;
        let instance = &opening.instances[block.instance].instance;
        let examination = &opening.edition.examinations[block.examination];
        let (form, kind) = (self.form, examination.answers);
        let limit = |limits: &[Ending]| if limits.contains(&cell.ending) { "KO" } else { "OK" }.to_owned();
        let cost =
            |figure: fn(&Cost) -> Option<String>| cell.cost.as_ref().and_then(figure).unwrap_or_default();
        let run = (entry.clone(), instance.clone(), examination.name.clone());
        let host = self.hosts.get(&run).map_or("", String::as_str);
        let backers = |position: usize| {
            let right = block.cells.iter().filter(|cell| cell.verdicts.as_bytes()[position] == b'+');
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
        Ending::NoAnswer | Ending::Answered | Ending::Unsaid | Ending::Infrastructure => vector(),
        _ => "DNF".to_owned(),
    }
}

fn status(ending: Ending, form: Form) -> &'static str {
    match (ENDINGS.iter().find(|(_, known)| *known == ending), form) {
        (Some((word, _)), Form::Exact) => word,
        // The contest has no such word, but by any other the tool would be blamed, and the judgement be final.
        (Some((word, Ending::Infrastructure)), Form::Contest) => word,
        (Some((_, Ending::CpuLimit | Ending::WallLimit)), Form::Contest) => "timeout",
        _ => "normal",
    }
}

fn written_techniques(cell: &Cell, form: Form) -> String {
    let escaped = |word: &String| if own_word(word) { format!("\\{word}") } else { word.clone() };
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
fn mask(verdicts: &str) -> String {
    verdicts
        .chars()
        .map(|verdict| match verdict {
            '+' => 'T',
            '-' => 'X',
            '?' => '?',
            _ => '-',
        })
        .collect()
}

/// Reads the table; `source::read_answers` calls it when the header is this one.
pub(super) fn read(
    edition: &Edition,
    columns: &Columns,
    table: &mut Table,
    ballots: &mut Ballots,
    lines: &mut Vec<u64>,
) -> Result<(), SourceError> {
    table.each_row(|row| {
        columns.take(edition, row, ballots)?;
        source::refuse_too_many(ballots)?;
        lines.push(row.position().map_or(0, csv::Position::line));
        Ok(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contests_words_and_ours_tell_how_a_run_ended() {
        let kept = [true, true];
        let word = |status, said, answered, kept| ending(status, said, answered, kept).unwrap();
        assert_eq!(word("normal", Results::Vector, true, kept), Ending::Answered);
        assert_eq!(word("normal", Results::Nothing, false, kept), Ending::NoAnswer);
        assert_eq!(word("normal", Results::CannotCompute, false, kept), Ending::CannotCompute);
        assert_eq!(word("timeout", Results::DidNotCompete, false, kept), Ending::DidNotCompete);
        assert_eq!(word("timeout", Results::Vector, true, kept), Ending::WallLimit);
        assert_eq!(word("normal", Results::Vector, true, [true, false]), Ending::MemoryLimit);
        for (word_of, of) in ENDINGS {
            assert_eq!(word(word_of, Results::Nothing, false, kept), of);
            assert_eq!(status(of, Form::Exact), word_of);
        }
        assert!(
            ending("gone", Results::Nothing, false, kept)
                .unwrap_err()
                .contains("allowed are normal, timeout")
        );
    }

    #[test]
    fn hosts_and_marks_are_found_where_they_were_put() {
        assert_eq!(host("r001-tall-174853726600008"), "tall");
        assert_eq!(host("mcc-node-17.lab-000000000000001"), "node-17.lab");
        assert_eq!(host("drid"), "");
        assert_eq!(marks("marks/degraded=tcg/mixed-host::0:T"), ["degraded:tcg", "mixed-host"]);
        assert_eq!(marks("FFFF:--:0:?"), [""; 0]);
    }
}

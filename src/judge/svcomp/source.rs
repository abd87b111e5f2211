//! Filling `Results` from files: BenchExec results, tables of scores, a categories file; one or a folder of them.

use super::benchexec::{self, RawRun, ResultError, ResultHeader};
use super::results::{GivenScore, Results, Run, unlisted_category};
use super::tables;
use super::verdict::{Answer, Confirmation, Witness};
use crate::input::values::digest;
use mcc_benchkit::published::{Table, TableError, open};
use mcc_edition::Status;
use mcc_edition::svcomp::{EntryName, SvcompEdition};
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SvcompError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Result(#[from] ResultError),
    #[error("{path}: {source}")]
    Folder { path: PathBuf, source: walkdir::Error },
    #[error(
        "{path}: no result file (*.xml, also .gz or .bz2) and no table of scores (*.csv) is in it",
        path = path.display()
    )]
    Nothing { path: PathBuf },
    #[error(
        "{place}: {run} has a result in {first} already; keep one of the files, or name entries otherwise (key `entry` \
         of the edition)"
    )]
    Twice { place: String, run: String, first: String },
    #[error(
        "category {category} is a part of {parent}, but nobody says how many tasks it has; give --categories \
         (category,tasks,parent)"
    )]
    Tasks { category: String, parent: String },
    #[error("{first} and {second} both are categories files; keep one, or name it with --categories",
            first = first.display(), second = second.display())]
    TwoCategories { first: PathBuf, second: PathBuf },
    #[error(
        "{path}: the result file names no {what}; give its <result> element the attribute `benchmarkname` or `name`",
        path = path.display()
    )]
    Unnamed { path: PathBuf, what: &'static str },
    #[error("more than {0} entries; check what names them (key `entry` of the edition)")]
    Entries(usize),
    #[error("a run of {run} belongs to entry {entry} and category {category}, which the results do not have")]
    UnknownRun { run: String, entry: usize, category: usize },
}

/// A file of the input, and what it is.
enum FileKind {
    Result(ResultHeader),
    Categories,
    Scores,
    /// Sub-categories of one category as columns.
    Wide,
}

/// More are a wrong name of entries.
const MOST_ENTRIES: usize = 1000;

/// Reads everything at `path`; a categories file given by name goes before one in the folder and the edition's own.
pub fn read(edition: &SvcompEdition, path: &Path, categories: Option<&Path>) -> Result<Results, SvcompError> {
    let mut results = Results { categories: edition.categories.clone(), ..Results::default() };
    let mut files = files(path, &mut results.notes)?;
    remove_resigned(edition, &mut files);
    let found = files.iter().filter(|(_, kind)| matches!(kind, FileKind::Categories));
    let found: Vec<PathBuf> = found.map(|(path, _)| path.clone()).collect();
    if let (None, [first, second, ..]) = (categories, found.as_slice()) {
        return Err(SvcompError::TwoCategories { first: first.clone(), second: second.clone() });
    }
    if let Some(path) = categories.or(found.first().map(PathBuf::as_path)) {
        results.categories = tables::read_categories(path)?;
        results.inputs.push(digest(path)?);
    }
    let whole_definitions = skip_superseded(&mut files, &mut results.notes);
    let mut archive = ResultFiles::default();
    for (path, kind) in &files {
        match kind {
            FileKind::Categories => continue,
            FileKind::Scores => results.given.extend(tables::read_scores(path, &mut results.categories)?),
            FileKind::Wide => results.given.extend(tables::read_wide(path, &results.categories)?),
            FileKind::Result(header) => archive.add(edition, path, header, &mut results)?,
        }
        results.inputs.push(digest(path)?);
    }
    for (path, header) in &whole_definitions {
        check_whole_definition(edition, path, header, &mut results)?;
    }
    archive.confirm(&mut results);
    results.check_given()?;
    Ok(results)
}

/// The files to read, sorted by path, with their kinds.
fn files(path: &Path, notes: &mut Vec<String>) -> Result<Vec<(PathBuf, FileKind)>, SvcompError> {
    if !path.is_dir() {
        let kind = kind(path)?;
        return kind.map(|kind| vec![(path.to_owned(), kind)]).ok_or_else(|| {
            let expected = "tool,category,opted_out,score,success_cpu_s, or a result file of BenchExec";
            match Table::open(path) {
                Ok(table) => table.wrong_header(expected).into(),
                Err(error) => error.into(),
            }
        });
    }
    let mut files = Vec::new();
    for file in walkdir::WalkDir::new(path).sort_by_file_name() {
        let file = file.map_err(|source| SvcompError::Folder { path: path.to_owned(), source })?;
        let name = file.file_name().to_string_lossy().into_owned();
        let endings =
            [".xml", ".csv"].into_iter().flat_map(|of| ["", ".gz", ".bz2"].map(|zip| format!("{of}{zip}")));
        if !file.file_type().is_file() || !endings.into_iter().any(|ending| name.ends_with(&ending)) {
            continue;
        }
        match kind(file.path()) {
            Ok(Some(kind)) => files.push((file.into_path(), kind)),
            Ok(None) => notes.push(format!("{name} is no table of scores or categories: not read")),
            // Archives hold benchmark definitions and tables in XML too.
            Err(ResultError::OtherXml { root, .. }) => {
                notes.push(format!("{name} is no result file but <{root}>: not read"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    match files.iter().any(|(_, kind)| !matches!(kind, FileKind::Categories)) {
        true => Ok(files),
        false => Err(SvcompError::Nothing { path: path.to_owned() }),
    }
}

/// XML by its first character, tables by their header; None for another table.
fn kind(path: &Path) -> Result<Option<FileKind>, ResultError> {
    let mut beginning = Vec::new();
    let read = open(path)?.take(64).read_to_end(&mut beginning);
    read.map_err(|source| TableError::Read { path: path.to_owned(), source })?;
    let text = String::from_utf8_lossy(&beginning);
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        return Ok(Some(FileKind::Result(benchexec::header(path)?)));
    }
    let table = Table::open(path)?;
    let has = |name: &str| table.header().iter().any(|column| column == name);
    Ok(match table.header() {
        header if header == tables::SCORES => Some(FileKind::Scores),
        _ if has("category") && has("tasks") && has("parent") => Some(FileKind::Categories),
        [tool, rest @ ..] if tool == "tool" && !rest.is_empty() && !has("category") => Some(FileKind::Wide),
        _ => None,
    })
}

/// Who resigned vanishes from everything (P-4): no file of theirs is read, digested or named in a note.
fn remove_resigned(edition: &SvcompEdition, files: &mut Vec<(PathBuf, FileKind)>) {
    let entry = |(_, kind): &(PathBuf, FileKind)| match kind {
        FileKind::Result(header) if validated(&header.benchmarkname).is_none() => {
            Some(entry_name(edition, header).to_owned())
        }
        _ => None,
    };
    let entries: Vec<String> = files.iter().filter_map(entry).collect();
    files.retain(|(_, kind)| {
        let FileKind::Result(header) = kind else { return true };
        let entry = match validated(&header.benchmarkname) {
            Some((_, of)) => entry_validated(&entries, of),
            None => Some(entry_name(edition, header)),
        };
        entry.is_none_or(|entry| edition.status_of(entry) != Status::Resigned)
    });
}

/// A contest's archive holds results in several states: as run, corrected and merged with validation (`X.xml.bz2`,
/// `X.xml.bz2.fixed.xml.bz2`, ...: the longest name counts), and a run definition whole as well as by block. Drops
/// the earlier states; returns the files that hold a definition whole beside its blocks.
fn skip_superseded(
    files: &mut Vec<(PathBuf, FileKind)>,
    notes: &mut Vec<String>,
) -> Vec<(PathBuf, ResultHeader)> {
    let mut names: Vec<String> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    // In byte order what begins with a name follows it.
    names.sort();
    let earlier: BTreeSet<String> =
        names.windows(2).filter(|pair| pair[1].starts_with(&pair[0])).map(|pair| pair[0].clone()).collect();
    files.retain(|(path, kind)| {
        let is = matches!(kind, FileKind::Result(_)) && earlier.contains(&path.display().to_string());
        if is {
            notes.push(format!("{} is passed over: a later state of it is there", file_name(path)));
        }
        !is
    });
    let definition = |of: &ResultHeader| {
        let whole = of.name.strip_suffix(of.block.as_str()).unwrap_or(&of.name);
        let whole = whole.strip_suffix('.').unwrap_or(whole);
        (of.benchmarkname.clone(), of.date.clone(), whole.to_owned())
    };
    let result = |kind: &FileKind| match kind {
        FileKind::Result(header) => Some(header.clone()),
        _ => None,
    };
    let blocks = files.iter().filter_map(|(_, kind)| result(kind)).filter(|of| !of.block.is_empty());
    let blocks: BTreeSet<_> = blocks.map(|of| definition(&of)).collect();
    let mut whole_definitions = Vec::new();
    files.retain(|(path, kind)| match result(kind) {
        Some(header) if header.block.is_empty() && blocks.contains(&definition(&header)) => {
            whole_definitions.push((path.clone(), header));
            false
        }
        _ => true,
    });
    whole_definitions
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A whole run definition is judged by its blocks; runs that none of them has must not vanish in silence.
fn check_whole_definition(
    edition: &SvcompEdition,
    path: &Path,
    header: &ResultHeader,
    results: &mut Results,
) -> Result<(), SvcompError> {
    let name = entry_name(edition, header);
    let runs = results.runs.iter().filter(|run| results.entries[run.entry] == name);
    let known: HashSet<(&str, &str)> =
        runs.map(|run| (run.raw.name.as_str(), run.raw.properties.as_str())).collect();
    let mut left = 0;
    let each = |raw: RawRun| {
        left += u64::from(!known.contains(&(raw.name.as_str(), raw.properties.as_str())));
        Ok(())
    };
    benchexec::read(path, each, |_| true)?;
    let file = file_name(path);
    results.notes.push(match left {
        0 => format!("{file} is passed over: its blocks are there"),
        _ => format!("{file}: {left} of its runs are in no block's file and are not judged; add these files"),
    });
    Ok(())
}

/// A task of an entry: entry, run name, properties.
type TaskKey = (String, String, String);

#[derive(Default)]
struct ResultFiles {
    /// By entry, category, task and properties: which run, and in which file it stood.
    seen: HashMap<(usize, usize, String, String), usize>,
    files: Vec<PathBuf>,
    /// By run: its file.
    file_of: Vec<usize>,
    /// What validators confirmed, by the entry they validated; the entries that were validated at all, and which of
    /// their witnesses.
    confirmed: HashMap<TaskKey, Vec<Answer>>,
    validated: BTreeMap<String, BTreeSet<Witness>>,
}

impl ResultFiles {
    fn add(
        &mut self,
        edition: &SvcompEdition,
        path: &Path,
        header: &ResultHeader,
        results: &mut Results,
    ) -> Result<(), SvcompError> {
        let file = file_name(path);
        for (what, name) in
            [("entry", entry_name(edition, header)), ("category", category_name(header, results))]
        {
            if name.is_empty() {
                return Err(SvcompError::Unnamed { path: path.to_owned(), what });
            }
        }
        if !header.error.is_empty() {
            results.notes.push(format!("{file} says of itself: {}", header.error));
        }
        if let Some((witness, entry)) = validated(&header.benchmarkname) {
            return self.add_validation(edition, path, witness, entry);
        }
        let limit = header.timelimit.trim_end_matches('s').trim();
        if !limit.is_empty() && limit != edition.limits.cpu_s.to_string() {
            let limit_s = edition.limits.cpu_s;
            let note =
                format!("{file} had a time limit of {}, the edition has {limit_s} s", header.timelimit);
            results.notes.push(note);
        }
        let entry = results.entry(entry_name(edition, header));
        if results.entries.len() > MOST_ENTRIES {
            return Err(SvcompError::Entries(MOST_ENTRIES));
        }
        let category = results.category(category_name(header, results));
        let number = self.files.len();
        self.files.push(path.to_owned());
        let mut twice = None;
        benchexec::read(
            path,
            |raw| {
                let key = (entry, category, raw.name.clone(), raw.properties.clone());
                if let Some(first) = self.seen.insert(key, results.runs.len()) {
                    let (line, task) = (raw.line, raw.name);
                    twice.get_or_insert((first, line, task));
                    return Ok(());
                }
                self.file_of.push(number);
                results.runs.push(Run::new(entry, category, raw));
                Ok(())
            },
            |_| true,
        )?;
        match twice {
            None => Ok(()),
            Some((first, line, task)) => Err(SvcompError::Twice {
                place: format!("{}:{line}", path.display()),
                run: format!("{} on {task} in {}", results.entries[entry], results.categories[category].name),
                first: self.files[self.file_of[first]].display().to_string(),
            }),
        }
    }

    /// A validator of one kind of witness confirms an answer of that kind by giving it too, within its time.
    fn add_validation(
        &mut self,
        edition: &SvcompEdition,
        path: &Path,
        witness: Witness,
        entry: &str,
    ) -> Result<(), SvcompError> {
        self.validated.entry(entry.to_owned()).or_default().insert(witness);
        let Some(rules) = &edition.witnesses else { return Ok(()) };
        let limit = match witness {
            Witness::Correctness => rules.correctness_s,
            Witness::Violation => rules.violation_s,
        };
        let limit = BigRational::from_integer(limit.into());
        let each = |raw: RawRun| {
            let answer = Answer::parse(&raw.status).filter(|answer| answer.witness() == witness);
            let Some(answer) = answer else { return Ok(()) };
            if raw.cputime.is_none_or(|time| time < limit) {
                self.confirmed.entry((entry.to_owned(), raw.name, raw.properties)).or_default().push(answer);
            }
            Ok(())
        };
        Ok(benchexec::read(path, each, |_| true)?)
    }

    /// Says of every run whether a validator confirmed it, where the entry's witnesses of that kind were validated.
    fn confirm(&self, results: &mut Results) {
        let mut known: HashMap<(&str, Witness), Vec<&str>> = HashMap::new();
        for (validated, witnesses) in &self.validated {
            let Some(entry) = entry_validated(&results.entries, validated) else {
                results.notes.push(format!("validation of {validated}: no such entry is judged"));
                continue;
            };
            for witness in witnesses {
                known.entry((entry, *witness)).or_default().push(validated);
            }
        }
        for run in &mut results.runs {
            let Some(said) = Answer::parse(&run.raw.status) else { continue };
            let entry = results.entries[run.entry].as_str();
            let Some(validated) = known.get(&(entry, said.witness())) else { continue };
            let confirms = |answer: &Answer| match (answer, &said) {
                (Answer::False(Some(a)), Answer::False(Some(b))) => a == b,
                (Answer::False(_), Answer::False(_)) => true,
                (a, b) => a == b,
            };
            let confirmed = validated.iter().any(|entry| {
                let key = ((*entry).to_owned(), run.raw.name.clone(), run.raw.properties.clone());
                self.confirmed.get(&key).is_some_and(|answers| answers.iter().any(confirms))
            });
            run.confirmation = match confirmed {
                true => Confirmation::Confirmed,
                false => Confirmation::Unconfirmed,
            };
        }
    }
}

/// Which witnesses a file's runs validated, and of which entry: `cpachecker-validate-violation-witnesses-2ls` is about
/// violations that `2ls` found.
fn validated(benchmarkname: &str) -> Option<(Witness, &str)> {
    let (_, of) = benchmarkname.split_once("-validate-")?;
    [Witness::Correctness, Witness::Violation].into_iter().find_map(|witness| {
        let [_, kind] = witness.words();
        Some((witness, of.strip_prefix(kind)?.strip_prefix("-witnesses-")?))
    })
}

/// Of these entries the one that was validated; `-1.0-`, `-2.0-`, the version of the witness, may stand before its name.
fn entry_validated<'a>(entries: &'a [String], validated: &str) -> Option<&'a str> {
    let names = entries.iter().map(String::as_str);
    let fitting = names.filter(|name| {
        validated.strip_suffix(name).is_some_and(|version| version.is_empty() || version.ends_with('-'))
    });
    fitting.max_by_key(|name| name.len())
}

/// Empty: the file names none.
fn entry_name<'a>(edition: &SvcompEdition, header: &'a ResultHeader) -> &'a str {
    let definition = header.name.split('.').next().unwrap_or_default();
    let name = match edition.entry {
        EntryName::Benchmarkname => header.benchmarkname.as_str(),
        EntryName::Tool => &header.tool,
        EntryName::Name => definition,
    };
    [name, &header.benchmarkname, &header.tool].into_iter().find(|name| !name.is_empty()).unwrap_or("")
}

/// The block's name, or what follows the run definition's last `.`; a known category goes first. Empty: the file names
/// none.
fn category_name<'a>(header: &'a ResultHeader, results: &Results) -> &'a str {
    let last = header.name.rsplit('.').next().unwrap_or_default();
    let names = [header.block.as_str(), &header.name, last, &header.benchmarkname];
    let known = |name: &&str| results.categories.iter().any(|of| of.name == **name);
    let named =
        [header.block.as_str(), last, &header.benchmarkname].into_iter().find(|name| !name.is_empty());
    names.into_iter().find(known).or(named).unwrap_or("")
}

impl Results {
    /// The number of an entry.
    fn entry(&mut self, name: &str) -> usize {
        let found = self.entries.iter().position(|entry| entry == name);
        found.unwrap_or_else(|| {
            self.entries.push(name.to_owned());
            self.entries.len() - 1
        })
    }

    /// The number of a category; one that nobody named before stands alone.
    fn category(&mut self, name: &str) -> usize {
        let found = self.categories.iter().position(|category| category.name == name);
        found.unwrap_or_else(|| {
            if !self.categories.is_empty() {
                self.notes.push(format!("category {name} is in no categories file: it is a part of none"));
            }
            self.categories.push(unlisted_category(name));
            self.categories.len() - 1
        })
    }

    /// No entry may have two given scores in one category.
    fn check_given(&self) -> Result<(), TableError> {
        let mut seen: HashMap<(&str, &str), &GivenScore> = HashMap::new();
        for given in &self.given {
            if let Some(first) = seen.insert((&given.entry, &given.category), given) {
                let (entry, category) = (&given.entry, &given.category);
                let place = format!("{}:{}", first.path.display(), first.line);
                let message = format!("{entry} in {category} again, as in {place}; keep one");
                return Err(TableError::Row { path: given.path.clone(), line: given.line, message });
            }
        }
        Ok(())
    }
}

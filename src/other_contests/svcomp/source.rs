//! Reads `Results` from a file or a folder: result files of BenchExec, tables of scores, a table of categories.

use super::benchexec::{self, RawRun, ResultError, ResultHeader};
use super::results::{GivenScore, Results, Run};
use super::tables;
use super::verdict::{Answer, Confirmation, Witness, is_exempt};
use crate::MAX_CATEGORIES;
use mcc_base::{OnFile, files};
use mcc_campaign::benchkit::published::{Table, TableError, open};
use mcc_edition::svcomp::{Category, EntryName, SvcompEdition};
use mcc_edition::{CategoryStructure, Status, StructureError};
use mcc_judge::judgement::MAX_ENTRIES;
use mcc_judge::shared::digest;
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Why results of SV-COMP cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum SvcompError {
    /// A table cannot be read or has a wrong row.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A result file cannot be read.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The category structure cannot be used.
    #[error(transparent)]
    Structure(#[from] StructureError),
    /// The files of a folder cannot be used, or contradict each other or the edition: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
}

/// The kind of an input file.
enum FileKind {
    Result(ResultHeader),
    Categories,
    Scores,
    /// Scores with the sub-categories of one category as columns.
    Wide,
}

/// Whether `--categories` names the contest's category structure (`.yml`, `.yaml`), not a table.
fn is_structure(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml")
}

/// The edition with the categories, opt-outs, opt-ins and statuses of the given category structure; the edition itself if
/// the file is a table of categories.
///
/// # Errors
/// The file cannot be read or has wrong content.
pub fn with_categories(edition: &SvcompEdition, path: &Path) -> Result<SvcompEdition, SvcompError> {
    if is_structure(path) {
        Ok(edition.clone().with_structure(CategoryStructure::read(path)?))
    } else {
        Ok(edition.clone())
    }
}

/// A note if a category structure is that of another year than the edition.
fn other_year(edition: &SvcompEdition, structure: &CategoryStructure, path: &Path) -> Option<String> {
    let year = structure.year.filter(|year| !edition.name.ends_with(&year.to_string()))?;
    Some(format!("{} is the category structure of {year}; the edition is {}", file_name(path), edition.name))
}

/// Reads all results at `path`. The table of categories is the given one, else the one in the folder, else that of the
/// edition. `edition` has the categories of a category structure already (`with_categories`).
///
/// # Errors
/// A file cannot be read or has wrong content, an entry has two results for a task or two scores in a category, or the
/// folder has no results.
pub fn read(edition: &SvcompEdition, path: &Path, categories: Option<&Path>) -> Result<Results, SvcompError> {
    let mut results = Results { categories: edition.categories.clone(), ..Results::default() };
    let mut files = find_files(edition, path, &mut results.notes)?;
    remove_resigned(edition, &mut files);
    let found = files.iter().filter(|(_, kind)| matches!(kind, FileKind::Categories));
    let found: Vec<PathBuf> = found.map(|(path, _)| path.clone()).collect();
    if let (None, [first, second, ..]) = (categories, found.as_slice()) {
        return Err(SvcompError::Refused(format!(
            "{} and {} both are categories files; keep one, or name it with --categories",
            first.display(),
            second.display()
        )));
    }
    if let Some(path) = categories.or(found.first().map(PathBuf::as_path)) {
        if is_structure(path) {
            results.notes.extend(other_year(edition, &CategoryStructure::read(path)?, path));
        } else {
            results.categories = tables::read_categories(path)?;
        }
        results.inputs.push(digest(path)?);
    }
    let whole_definitions = skip_superseded(edition, &mut files, &mut results.notes);
    let mut archive = ResultFiles { given_categories: results.categories.len(), ..ResultFiles::default() };
    for (path, kind) in &files {
        match kind {
            FileKind::Categories => continue,
            FileKind::Scores => results.given.extend(tables::read_scores(path, &mut results.categories)?),
            FileKind::Wide => results.given.extend(tables::read_wide(path, &results.categories)?),
            FileKind::Result(header) => archive.add(edition, path, header, &mut results)?,
        }
        results.inputs.push(digest(path)?);
    }
    let notes = check_whole_definitions(edition, &whole_definitions, &results)?;
    results.notes.extend(notes);
    archive.confirm(edition, &mut results);
    results.check_given()?;
    Ok(results)
}

/// The files to read, sorted by path, with their kinds.
fn find_files(
    edition: &SvcompEdition,
    path: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<(PathBuf, FileKind)>, SvcompError> {
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
    let mut found = Vec::new();
    let folder = path.display();
    for file in walkdir::WalkDir::new(path).sort_by_file_name() {
        let file = file.map_err(|error| format!("cannot read the folder {folder}: {error}"));
        let file = file.map_err(SvcompError::Refused)?;
        let name = file.file_name().to_string_lossy().into_owned();
        let endings = [".xml", ".csv"]
            .into_iter()
            .flat_map(|ending| ["", ".gz", ".bz2"].map(|zip| format!("{ending}{zip}")));
        if file.file_type().is_dir() || !endings.into_iter().any(|ending| name.ends_with(&ending)) {
            continue;
        }
        let no_file = |error| format!("{}: {error}, or remove it from the folder", file.path().display());
        files::open_own(file.path()).map_err(|error| SvcompError::Refused(no_file(error)))?;
        // A benchmark definition is often named after its entry.
        let entry = name.split('.').next().unwrap_or_default();
        match kind(file.path()) {
            Ok(Some(kind)) => found.push((file.into_path(), kind)),
            Ok(None) | Err(ResultError::OtherXml { .. }) if has_resigned(edition, entry) => {}
            Ok(None) => notes.push(format!("{name} is not read: it is no table of scores or categories")),
            // Archives contain benchmark definitions and tables in XML too.
            Err(ResultError::OtherXml { root, .. }) => {
                notes.push(format!("{name} is not read: it is no result file, its root element is <{root}>"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if found.iter().any(|(_, kind)| !matches!(kind, FileKind::Categories)) {
        Ok(found)
    } else {
        // An error is printed without notes, and these say why.
        let unread: String = notes.iter().take(3).map(|note| format!("; {note}")).collect();
        Err(SvcompError::Refused(format!(
            "{folder}: no result file (*.xml, also .gz or .bz2) and no table of scores (*.csv) is in it{unread}"
        )))
    }
}

/// The kind of a file: XML by its first character, a table by its header. None for another table.
fn kind(path: &Path) -> Result<Option<FileKind>, ResultError> {
    let mut beginning = Vec::new();
    open(path)?.take(64).read_to_end(&mut beginning).on("read", path).map_err(TableError::from)?;
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

fn has_resigned(edition: &SvcompEdition, entry: &str) -> bool {
    edition.status_of(entry) == Status::Resigned
}

/// Removes the files of resigned entries (P-4), so that none is read, listed with a digest or named in a note.
fn remove_resigned(edition: &SvcompEdition, files: &mut Vec<(PathBuf, FileKind)>) {
    let entry = |(_, kind): &(PathBuf, FileKind)| match kind {
        FileKind::Result(header) if validated(&header.benchmarkname).is_none() => {
            Some(entry_name(edition, header).to_owned())
        }
        _ => None,
    };
    let entries: BTreeSet<String> = files.iter().filter_map(entry).collect();
    let entries = Vec::from_iter(entries);
    files.retain(|(_, kind)| {
        let FileKind::Result(header) = kind else { return true };
        let Some((_, validator)) = validated(&header.benchmarkname) else {
            return !has_resigned(edition, entry_name(edition, header));
        };
        match entry_validated(&entries, validator) {
            Some(entry) => !has_resigned(edition, entry),
            // Its own result file may have been deleted already.
            None => ![validator, without_version(validator)].iter().any(|name| has_resigned(edition, name)),
        }
    });
}

/// Removes superseded files of the same results. The archive of a contest has results in several states: as run, corrected, and merged with
/// validation (`X.xml.bz2`, `X.xml.bz2.fixed.xml.bz2`, ...: the longest name counts). It may have a run definition in one
/// file as well as by block; returns the files with whole definitions whose blocks have files too.
fn skip_superseded(
    edition: &SvcompEdition,
    files: &mut Vec<(PathBuf, FileKind)>,
    notes: &mut Vec<String>,
) -> Vec<(PathBuf, ResultHeader)> {
    let result = |kind: &FileKind| match kind {
        FileKind::Result(header) => Some(header.clone()),
        _ => None,
    };
    let named = files.iter().filter_map(|(path, kind)| Some((path.display().to_string(), result(kind)?)));
    let mut named: Vec<(String, ResultHeader)> = named.collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut earlier = BTreeSet::new();
    for (number, (name, header)) in named.iter().enumerate() {
        // In byte order a name is followed by the names that begin with it.
        let mut longer = named[number + 1..].iter().take_while(|(other, _)| other.starts_with(name));
        if longer.any(|(_, other)| other.same_results(header)) {
            earlier.insert(name);
        }
    }
    files.retain(|(path, _)| {
        let is = earlier.contains(&path.display().to_string());
        if is {
            notes.push(format!("{} is not read: the folder has a later state of this file", file_name(path)));
        }
        !is
    });
    let definition = |header: &ResultHeader| {
        let whole = header.name.strip_suffix(header.block.as_str()).unwrap_or(&header.name);
        let whole = whole.strip_suffix('.').unwrap_or(whole);
        let entry = entry_name(edition, header).to_owned();
        (entry, header.benchmarkname.clone(), header.date.clone(), whole.to_owned())
    };
    let blocks = files.iter().filter_map(|(_, kind)| result(kind)).filter(|header| !header.block.is_empty());
    let blocks: BTreeSet<_> = blocks.map(|header| definition(&header)).collect();
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

/// Notes on the files with a whole run definition, which is judged by the files of its blocks. They count the runs that no
/// block has.
fn check_whole_definitions(
    edition: &SvcompEdition,
    whole_definitions: &[(PathBuf, ResultHeader)],
    results: &Results,
) -> Result<Vec<String>, SvcompError> {
    let mut notes = Vec::new();
    if whole_definitions.is_empty() {
        return Ok(notes);
    }
    let mut known: HashMap<&str, HashSet<(&str, &str)>> = HashMap::new();
    for run in &results.runs {
        known.entry(&results.entries[run.entry]).or_default().insert(run.task());
    }
    for (path, header) in whole_definitions {
        let known = known.get(entry_name(edition, header));
        let mut left = 0;
        let each = |raw: RawRun| {
            let task = (raw.name.as_str(), raw.properties.as_str());
            left += u64::from(known.is_none_or(|known| !known.contains(&task)));
            Ok(())
        };
        benchexec::read(path, each, |_| true)?;
        let file = file_name(path);
        notes.push(match left {
            0 => format!("{file} is not judged: the folder has the files of its blocks, which are judged"),
            _ => format!(
                "{file}: {left} of its runs are in no file of a block and are not judged; add the missing files"
            ),
        });
    }
    Ok(notes)
}

/// The answers of validators within their time, by task (name, properties); empty if they gave none.
type CheckedTasks = HashMap<(String, String), HashSet<Answer>>;

/// The same of all files of one validated entry.
type MergedTasks<'a> = HashMap<(&'a str, &'a str), HashSet<&'a Answer>>;

/// The result files read so far.
#[derive(Default)]
struct ResultFiles {
    /// How many of the categories were known before the files were read. Names are compared with these only: a file must not
    /// change the category of another.
    given_categories: usize,
    /// Index of the run by entry, category, task and properties.
    seen: HashMap<(usize, usize, String, String), usize>,
    files: Vec<PathBuf>,
    /// Index of the file of each run.
    file_of: Vec<usize>,
    /// What validators checked, by validated entry and kind of witness.
    checked: BTreeMap<(String, Witness), CheckedTasks>,
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
            [("entry", entry_name(edition, header)), ("category", self.category_name(header, results))]
        {
            if name.is_empty() {
                return Err(SvcompError::Refused(format!(
                    "{}: the result file names no {what}; give its <result> element the attribute `benchmarkname` or `name`",
                    path.display()
                )));
            }
        }
        if !header.error.is_empty() {
            results.notes.push(format!("{file} states an error: {}", header.error));
        }
        if let Some((witness, entry)) = validated(&header.benchmarkname) {
            return self.add_validation(edition, path, witness, entry);
        }
        let limit = header.timelimit.trim_end_matches('s').trim();
        if !limit.is_empty() && limit != edition.limits.cpu_s.to_string() {
            let limit_s = edition.limits.cpu_s;
            let note =
                format!("{file} has a time limit of {}, the edition has {limit_s} s", header.timelimit);
            results.notes.push(note);
        }
        let entry = results.entry(entry_name(edition, header));
        if results.entries.len() > MAX_ENTRIES {
            return Err(SvcompError::Refused(format!(
                "more than {MAX_ENTRIES} entries; check which attribute names them (key `entry` of the edition)"
            )));
        }
        let name = self.category_name(header, results).to_owned();
        let category = results.category(&name);
        if results.categories.len() > MAX_CATEGORIES {
            return Err(SvcompError::Refused(format!(
                "{}: more than {MAX_CATEGORIES} categories; check which attribute names them (`block` or `name`)",
                path.display()
            )));
        }
        let number = self.files.len();
        self.files.push(path.to_owned());
        let mut repeated = None;
        benchexec::read(
            path,
            |raw| {
                let key = (entry, category, raw.name.clone(), raw.properties.clone());
                if let Some(first) = self.seen.insert(key, results.runs.len()) {
                    let (line, task) = (raw.line, raw.name);
                    repeated.get_or_insert((first, line, task));
                    return Ok(());
                }
                self.file_of.push(number);
                results.runs.push(Run::new(entry, category, raw));
                Ok(())
            },
            |_| true,
        )?;
        match repeated {
            None => Ok(()),
            Some((first, line, task)) => Err(SvcompError::Refused(format!(
                "{}:{line}: {} on {task} in {} has a result in {} already; keep one of the files, or name the entries by \
                 another attribute (key `entry` of the edition)",
                path.display(),
                results.entries[entry],
                results.categories[category].name,
                self.files[self.file_of[first]].display()
            ))),
        }
    }

    /// The category of a file: the name of the block, or what follows the last `.` of the run definition. A name of a given
    /// category has precedence. Empty if the file names none.
    fn category_name<'a>(&self, header: &'a ResultHeader, results: &'a Results) -> &'a str {
        let given = &results.categories[..self.given_categories];
        let last = header.name.rsplit('.').next().unwrap_or_default();
        let names = [header.block.as_str(), &header.name, last, &header.benchmarkname];
        let known = |name: &&str| given.iter().any(|category| category.name == **name);
        // `SV-COMP24_unreach-call.ReachSafety-Arrays` with the block `ReachSafety-Arrays`: the category structure has the name
        // with the property.
        let with_property = |category: &Category| {
            let before = header.name.strip_suffix(category.name.as_str());
            before.is_some_and(|before| before.ends_with(['_', '.']))
                || !header.block.is_empty()
                    && category
                        .name
                        .strip_suffix(header.block.as_str())
                        .is_some_and(|before| before.ends_with('.'))
        };
        let named =
            [header.block.as_str(), last, &header.benchmarkname].into_iter().find(|name| !name.is_empty());
        let qualified = || {
            let mut fitting = given.iter().filter(|category| with_property(category));
            // Several properties can have a category of the same name.
            fitting.next().filter(|_| fitting.next().is_none()).map(|category| category.name.as_str())
        };
        names.into_iter().find(known).or_else(qualified).or(named).unwrap_or("")
    }

    /// Adds the results of a validator. It confirms an answer by giving the same one within its time limit.
    fn add_validation(
        &mut self,
        edition: &SvcompEdition,
        path: &Path,
        witness: Witness,
        entry: &str,
    ) -> Result<(), SvcompError> {
        let tasks = self.checked.entry((entry.to_owned(), witness)).or_default();
        let Some(rules) = &edition.witnesses else { return Ok(()) };
        let limit = match witness {
            Witness::Correctness => rules.correctness_s,
            Witness::Violation => rules.violation_s,
        };
        let limit = BigRational::from_integer(limit.into());
        let each = |raw: RawRun| {
            let answers = tasks.entry((raw.name, raw.properties)).or_default();
            let answer = Answer::parse(&raw.status).filter(|answer| answer.witness() == witness);
            let in_time = raw.cputime.is_none_or(|time| time < limit);
            answers.extend(answer.filter(|_| in_time));
            Ok(())
        };
        Ok(benchexec::read(path, each, |_| true)?)
    }

    /// Sets the confirmation of each run whose entry has validation results for its kind of witness. Where validators
    /// checked no such witness of any entry in its category, nothing is stated, unless the category is exempt.
    fn confirm(&self, edition: &SvcompEdition, results: &mut Results) {
        let mut known: HashMap<(&str, Witness), MergedTasks<'_>> = HashMap::new();
        for ((validated, witness), tasks) in &self.checked {
            let Some(entry) = entry_validated(&results.entries, validated) else {
                results.notes.push(format!(
                    "validation of {validated}: no entry has this name, so the validation is not used"
                ));
                continue;
            };
            let merged = known.entry((entry, *witness)).or_default();
            for ((name, properties), answers) in tasks {
                merged.entry((name.as_str(), properties.as_str())).or_default().extend(answers);
            }
        }
        // Kind of witness, category and properties: of all entries, because an entry without any witness in a category has
        // no validation results there, and no confirmed answer either (SV-6).
        let mut validated: HashSet<(Witness, usize, &str)> = HashSet::new();
        for run in &results.runs {
            for witness in [Witness::Correctness, Witness::Violation] {
                let tasks = known.get(&(results.entries[run.entry].as_str(), witness));
                if tasks.is_some_and(|tasks| tasks.contains_key(&run.task())) {
                    validated.insert((witness, run.category, run.raw.properties.as_str()));
                }
            }
        }
        let confirmation = |run: &Run| {
            let answer = Answer::parse(&run.raw.status);
            let Some(given) = answer.as_ref() else { return Confirmation::NotStated };
            let witness = given.witness();
            let Some(tasks) = known.get(&(results.entries[run.entry].as_str(), witness)) else {
                return Confirmation::NotStated;
            };
            if !validated.contains(&(witness, run.category, run.raw.properties.as_str()))
                && !is_exempt(edition, &results.categories[run.category].name, witness)
            {
                return Confirmation::NotStated;
            }
            let unnamed = &Answer::False(None);
            let confirms = |answers: &HashSet<&Answer>| {
                let any_is_equal = given == unnamed && !answers.is_empty();
                any_is_equal || answers.contains(given) || answers.contains(unnamed)
            };
            if tasks.get(&run.task()).is_some_and(confirms) {
                Confirmation::Confirmed
            } else {
                Confirmation::Unconfirmed
            }
        };
        let confirmations: Vec<Confirmation> = results.runs.iter().map(confirmation).collect();
        for (run, confirmation) in results.runs.iter_mut().zip(confirmations) {
            run.confirmation = confirmation;
        }
    }
}

/// The kind of witness and the entry that a file validated: `cpachecker-validate-violation-witnesses-2ls` has the
/// violation witnesses of `2ls`.
fn validated(benchmarkname: &str) -> Option<(Witness, &str)> {
    let (_, kind_and_tool) = benchmarkname.split_once("-validate-")?;
    [Witness::Correctness, Witness::Violation].into_iter().find_map(|witness| {
        let [_, kind] = witness.words();
        Some((witness, kind_and_tool.strip_prefix(kind)?.strip_prefix("-witnesses-")?))
    })
}

/// Whether a text is the version of a witness, such as `2.0`.
fn is_version(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// The name of a validated entry without the version of the witness that may precede it.
fn without_version(validated: &str) -> &str {
    let parts = validated.split_once('-').filter(|(version, _)| is_version(version));
    parts.map_or(validated, |(_, name)| name)
}

/// The entry that was validated. The version of the witness (`1.0-`, `2.0-`) may precede its name.
fn entry_validated<'a>(entries: &'a [String], validated: &str) -> Option<&'a str> {
    let names = entries.iter().map(String::as_str);
    let fitting = names.filter(|name| {
        let before = validated.strip_suffix(name);
        before.is_some_and(|before| before.is_empty() || before.strip_suffix('-').is_some_and(is_version))
    });
    fitting.max_by_key(|name| name.len())
}

/// The name of the entry of a file; empty if the file names none.
fn entry_name<'a>(edition: &SvcompEdition, header: &'a ResultHeader) -> &'a str {
    let definition = header.name.split('.').next().unwrap_or_default();
    let name = match edition.entry {
        EntryName::Benchmarkname => header.benchmarkname.as_str(),
        EntryName::Tool => &header.tool,
        EntryName::Name => definition,
    };
    [name, &header.benchmarkname, &header.tool].into_iter().find(|name| !name.is_empty()).unwrap_or("")
}

impl Results {
    /// The index of an entry, which is added if it is new.
    fn entry(&mut self, name: &str) -> usize {
        let found = self.entries.iter().position(|entry| entry == name);
        found.unwrap_or_else(|| {
            self.entries.push(name.to_owned());
            self.entries.len() - 1
        })
    }

    /// The index of a category. A new one is added as part of no other category.
    fn category(&mut self, name: &str) -> usize {
        let found = self.categories.iter().position(|category| category.name == name);
        found.unwrap_or_else(|| {
            if !self.categories.is_empty() {
                self.notes.push(format!(
                    "category {name} is not in the table of categories: it is part of no meta category"
                ));
            }
            self.categories.push(Category::named(name));
            self.categories.len() - 1
        })
    }

    /// Checks that no entry has two given scores in one category.
    fn check_given(&self) -> Result<(), TableError> {
        let mut seen: HashMap<(&str, &str), &GivenScore> = HashMap::new();
        for given in &self.given {
            if let Some(first) = seen.insert((&given.entry, &given.category), given) {
                let (entry, category) = (&given.entry, &given.category);
                let place = format!("{}:{}", first.path.display(), first.line);
                let message = format!("{entry} has a score in {category} already, in {place}; keep one");
                return Err(TableError::Row { path: given.path.clone(), line: given.line, message });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::{OtherEdition, Rules};

    #[test]
    fn a_folder_with_too_many_categories_is_refused_where_they_are_read() {
        let Ok(Rules::Other(edition)) = Rules::load("svcomp-2013") else { panic!("not another contest") };
        let OtherEdition::Svcomp(edition) = *edition else { panic!("not of SV-COMP") };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.xml");
        std::fs::write(&path, "<result benchmarkname=\"t\" name=\"SV.New\" tool=\"T\"></result>").unwrap();
        let header = benchexec::header(&path).unwrap();
        let added = |known: usize| {
            let categories = (0..known).map(|number| Category::named(&number.to_string())).collect();
            let mut results = Results { categories, ..Results::default() };
            ResultFiles::default().add(&edition, &path, &header, &mut results)
        };
        added(MAX_CATEGORIES - 1).unwrap();
        let refused = added(MAX_CATEGORIES).unwrap_err().to_string();
        assert!(refused.contains("t.xml: more than 2000 categories; check which attribute"), "{refused}");
    }
}

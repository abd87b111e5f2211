//! Verifies that a record or an archive is complete and unchanged, and that its judgement follows from it.

use super::ArchiveError;
use super::layout::{self, Kind, LAYOUT, Part, part};
use super::paths::{ArchiveFacts, ArchivePaths, cores, is_archive};
use super::stage;
use mcc_base::names::{ExaminationName, RunId};
use mcc_base::{OnFile, digest, files, temporary, text};
use mcc_campaign::PlannedRuns;
use mcc_campaign::benchkit::contest_table::Form;
use mcc_judge::contest_table::{Layout, export};
use mcc_judge::mcc::Judge;
use mcc_judge::record::{edition_of, has_output, read_record};
use mcc_judge::schema::{OVERRIDES_OF_ANSWERS, TEAM_VALUES};
use mcc_store::{Attempt, CampaignFacts, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use walkdir::WalkDir;

/// The longest line of a file that is compared, bytes; those of contests are far shorter.
const MAX_LINE: u64 = 64 << 20;
/// About the longest row of `values.csv` that is read, bytes. A text of commas needs up to 25 times its length in memory.
const MAX_ROW: u64 = 8 << 20;
/// Further differences are only counted.
const MAX_DIFFERENCES: usize = 1000;
/// Characters of a line that are shown.
pub(super) const MAX_LINE_CHARS: usize = 160;

/// A difference that a verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A run, or a file (with its line).
    pub place: String,
    /// The difference, as predicate of the place.
    pub what: String,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Number of files whose digest was compared.
    pub files: u64,
    /// Number of recorded runs.
    pub runs: u64,
    /// Whether every point was recomputed from the raw outputs.
    pub recomputed: bool,
    /// Who signed the archive, with the key; None: not checked, or a difference says why there is no valid signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Whether no accepted signer signed the archive: it has no signature, or one that fits, of another key.
    #[serde(skip)]
    pub not_accepted: bool,
    /// What the verification showed, as statements.
    pub proved: Vec<String>,
    /// What it did not show: where it found differences, and what the files cannot show.
    pub not_proved: Vec<String>,
    /// Those of `not_proved` whose check found a difference or failed.
    #[serde(skip)]
    pub failed: Vec<String>,
    /// The differences, at most 1000.
    pub differences: Vec<Difference>,
    /// Number of further differences.
    pub more: u64,
}

/// What no file of a record shows.
const RUNS: &str = "that the outputs, times and memory are those of the runs (`replay` repeats a run)";
const SIGNER: &str = "who made the archive (--allowed-signers checks its signature)";
const RULES: &str = "that the rules in edition.json and the tables of models, tools, names and overrides are those of the contest";
const METADATA: &str =
    "what publication.json and the metadata state about title, people, licences, disks and columns";
const VERSION: &str = "which version of mcc-harness wrote the archive";
const OF_TEAM: &str = "what datapackage.json and edition.json state, and the verdicts in values.csv, which depend on the answers of all tools";
const README: &str = "what README.txt states, which another version of mcc-harness wrote";

impl Verified {
    /// Adds a difference.
    pub fn differs(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.differences.len() < MAX_DIFFERENCES {
            self.differences.push(Difference { place: place.into(), what: what.into() });
        } else {
            self.more += 1;
        }
    }

    /// Whether the only difference is that no accepted signer signed the archive.
    pub fn differs_in_signer_only(&self) -> bool {
        self.not_accepted && self.differences.len() == 1
    }

    /// Makes a check, and notes its statement as proved if it found no difference and no error.
    pub(super) fn check<T>(
        &mut self,
        statement: &str,
        check: impl FnOnce(&mut Self) -> Result<T, ArchiveError>,
    ) -> Result<T, ArchiveError> {
        let found = |verified: &Self| verified.differences.len() as u64 + verified.more;
        let before = found(self);
        let checked = check(self);
        let is_proved = checked.is_ok() && found(self) == before;
        if is_proved {
            self.proved.push(statement.to_owned());
        } else {
            self.not_proved.push(statement.to_owned());
            self.failed.push(statement.to_owned());
        }
        checked
    }

    pub(super) fn does_not_prove(&mut self, statements: &[&str]) {
        self.not_proved.extend(statements.iter().map(|&statement| statement.to_owned()));
    }

    /// Looks for the rows of `values.csv` in those that the record of a team alone gives, without what depends on the answers
    /// of others. There, blocks can be missing that others excluded.
    fn team_values(&mut self, record: &Record, paths: &ArchivePaths) -> Result<(), ArchiveError> {
        const OF_ALL: [usize; 3] = [6, 7, 8];
        let path = paths.0.join(TEAM_VALUES.file);
        let (hasher, mut hashes, mut renamed) = (RandomState::new(), HashSet::new(), 0_u64);
        let hash = |row: &mut dyn Iterator<Item = &str>| {
            let own = row.enumerate().filter(|(column, _)| !OF_ALL.contains(column));
            hasher.hash_one(own.map(|(_, field)| field).collect::<Vec<_>>())
        };
        let edition = paths.edition()?;
        let judge = Judge::new(&edition, read_record(&edition, record)?)?;
        stage::team_values(
            &judge,
            |_| true,
            |row| {
                hashes.insert(hash(&mut row.iter().map(String::as_str)));
                Ok(())
            },
        )?;
        let file = files::open_own(&path).on("read", &path)?;
        let file = file.take(MAX_ROW);
        let mut table = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
        let mut row = csv::StringRecord::new();
        let known: HashSet<&str> = record.facts().instances.iter().map(|known| known.name.as_str()).collect();
        for number in 1_u64.. {
            table.get_mut().set_limit(MAX_ROW);
            let is_row = table.read_record(&mut row);
            if table.get_ref().limit() == 0 {
                let reason =
                    format!("row {number} has more than {MAX_ROW} bytes; download the archive again");
                return Err(ArchiveError::Bad { path, reason });
            }
            let is_row = is_row.on("read", &path)?;
            if !is_row && number > 1 {
                break;
            }
            let place = format!("{} line {number}", TEAM_VALUES.file);
            if number == 1 {
                if row != *TEAM_VALUES.columns {
                    self.differs(place, "has other columns");
                }
            } else if !row.get(1).is_some_and(|name| known.contains(name)) {
                renamed += 1;
            } else if !hashes.remove(&hash(&mut row.iter())) {
                self.differs(place, "does not follow from the outputs, or is there twice");
            }
        }
        // The names of `--names` are not in the bundle.
        if renamed > 0 {
            let rows =
                format!("rows of values.csv ({renamed}), whose instances have other names in the record");
            self.does_not_prove(&[&rows]);
        }
        let missing = (hashes.len() as u64).saturating_sub(renamed);
        if missing > 0 {
            let rows = format!(
                "that values.csv is complete: {missing} of the rows that follow from the outputs are not in it; their \
                 blocks were excluded because of other tools, or someone removed them"
            );
            self.does_not_prove(&[&rows]);
        }
        Ok(())
    }

    /// Compares every file of SHA256SUMS with its digest, and looks for files that are not listed or not of the layout.
    fn files(&mut self, paths: &ArchivePaths, facts: &ArchiveFacts) -> Result<(), ArchiveError> {
        let (folder, path) = (paths.0, paths.sums());
        let hashes = RandomState::new();
        // Hashes of names: 8 MB for a million files; the names would take 100 MB.
        let mut listed: HashSet<u64> = HashSet::new();
        let file = match files::open_own(&path) {
            Ok(file) => file,
            Err(error) => {
                self.differs("SHA256SUMS", format!("is missing or cannot be read: {error}"));
                return Ok(());
            }
        };
        let mut disks: BTreeSet<&str> = facts.disks.iter().map(|disk| disk.sha256.as_str()).collect();
        let mut lines = BufReader::new(file);
        for number in 1.. {
            let Some(line) = next_line(&mut lines, &path, number)? else { break };
            let line = String::from_utf8_lossy(&line);
            let Some((sha256, name)) = line.split_once("  ") else {
                self.differs(
                    "SHA256SUMS",
                    format!("has a line without digest and name: `{}`", truncated(&line)),
                );
                continue;
            };
            if part(name).is_none() {
                self.differs(
                    "SHA256SUMS",
                    format!("lists `{}`, which an archive never has", truncated(name)),
                );
                continue;
            }
            if !listed.insert(hashes.hash_one(name)) {
                self.differs("SHA256SUMS", format!("lists `{}` more than once", truncated(name)));
                continue;
            }
            if let Some(disk) = name.strip_prefix("disks/")
                && (disk != sha256 || !disks.remove(disk))
            {
                self.differs(name, "has another digest in its name, or is not in archive.json");
            }
            self.digest(&folder.join(name), sha256, "SHA256SUMS", name);
        }
        for disk in disks {
            self.differs(format!("disks/{disk}"), "is in archive.json, but missing");
        }
        for file in WalkDir::new(folder).sort_by_file_name() {
            let file = file.on("read", folder)?;
            let name = file.path().strip_prefix(folder).unwrap_or(file.path()).to_string_lossy();
            if file.file_type().is_dir() {
                if fs::read_dir(file.path()).on("read", file.path())?.next().is_none() {
                    self.differs(name, "is an empty folder, which an archive never has");
                }
                continue;
            }
            // The signature is one of SHA256SUMS.
            let is_unlisted = ["SHA256SUMS", "SHA256SUMS.sig"].contains(&&*name);
            match part(&name) {
                None => self.differs(name, "is not a file that an archive can have"),
                Some(part) if !part.is_of(facts.kind()) => self.differs(name, facts.kind().lacks()),
                Some(_) if !is_unlisted && !listed.contains(&hashes.hash_one(&*name)) => {
                    self.differs(name, "is not listed in SHA256SUMS");
                }
                Some(_) => {}
            }
        }
        for part in LAYOUT.iter().filter(|part| part.is_needed && part.is_of(facts.kind())) {
            if !folder.join(part.path()).exists() {
                self.differs(part.path(), "is missing");
            }
        }
        Ok(())
    }

    /// Checks that every planned run is recorded, and that every output has its recorded digest and is the output of an
    /// attempt. A record that is not `archived` may have folders of further attempts, of a controller that was killed.
    fn record(&mut self, record: &Record, archived: bool) -> Result<(), ArchiveError> {
        let hashes = RandomState::new();
        let mut outputs: HashSet<u64> = HashSet::new();
        let mut has_open = false;
        for open in record.open_runs() {
            has_open = true;
            self.differs(open?.run.id().to_string(), "is planned but not recorded");
        }
        let rules = PlannedRuns::from_settings(&record.facts().settings, &edition_of(record)?);
        let rules = rules.map_err(|reason| ArchiveError::Bad { path: record.dir().to_owned(), reason })?;
        let mut ids = BTreeSet::new();
        let mut examinations: BTreeSet<ExaminationName> = rules.examinations().cloned().collect();
        for run in record.records() {
            let run = run?;
            self.runs += 1;
            if run.run.competes != rules.competes(&run.run) {
                let what = "has another setting than its campaign in whether its entry competes";
                self.differs(run.run.id().to_string(), what);
            }
            for attempt in record.attempts(&run.run.id())? {
                self.outputs(record, &attempt, |path| {
                    outputs.insert(hashes.hash_one(path));
                });
                if !archived {
                    let folder = record.outputs_dir(&attempt.run, attempt.number);
                    self.no_others(&folder, |path| outputs.contains(&hashes.hash_one(path)))?;
                }
            }
            ids.insert(run.run.id());
            examinations.insert(run.run.examination);
        }
        if archived {
            self.no_others(&record.dir().join("outputs"), |path| outputs.contains(&hashes.hash_one(path)))?;
        }
        // The open runs, which are reported, would be missing.
        if has_open {
            return Ok(());
        }
        let (first, further) = missing_runs(record.facts(), &examinations, &ids);
        for id in first {
            self.differs(id.to_string(), "is missing: the campaign has it, the record does not");
        }
        self.more = self.more.saturating_add(further);
        Ok(())
    }

    /// Checks that `folder` has no file that is not an output of an attempt.
    fn no_others(&mut self, folder: &Path, is_output: impl Fn(&Path) -> bool) -> Result<(), ArchiveError> {
        for file in WalkDir::new(folder).sort_by_file_name().into_iter().filter(|_| folder.exists()) {
            let file = file.on("read", folder)?;
            if !file.file_type().is_dir() && !is_output(file.path()) {
                self.differs(file.path().display().to_string(), "is not an output of a recorded attempt");
            }
        }
        Ok(())
    }

    /// Compares the outputs of an attempt; calls `see` with the path of each.
    fn outputs(&mut self, record: &Record, attempt: &Attempt, mut see: impl FnMut(&Path)) {
        let folder = record.outputs_dir(&attempt.run, attempt.number);
        for output in &attempt.outputs {
            let place = format!("{} attempt {} {}", attempt.run, attempt.number, output.role);
            let path = folder.join(&output.role);
            see(&path);
            // A file that was made longer can take days to read.
            let length = path.symlink_metadata().map_or(0, |facts| facts.len());
            if length > output.bytes {
                self.differs(place, format!("has {length} bytes, but {} in the record", output.bytes));
                continue;
            }
            let length = self.digest(&path, &output.sha256, "the record", &place);
            if let Some(length) = length.filter(|length| *length != output.bytes) {
                self.differs(place, format!("has {length} bytes, but {} in the record", output.bytes));
            }
        }
        if has_output(&attempt.outcome) && attempt.outputs.iter().all(|output| output.role != "stdout") {
            let place = format!("{} attempt {} stdout", attempt.run, attempt.number);
            self.differs(place, "has no digest in the record");
        }
    }

    /// Compares a file with the digest that it has in `list`, and returns its length if they are equal.
    fn digest(&mut self, path: &Path, sha256: &str, list: &str, place: &str) -> Option<u64> {
        self.files += 1;
        match digest::own_file(path) {
            Ok((found, length)) if found == sha256 => return Some(length),
            Ok((found, _)) => self.differs(place, format!("has sha256 {found}, but {sha256} in {list}")),
            Err(error) => self.differs(place, format!("cannot be read: {error}")),
        }
        None
    }
}

/// Returns the first runs of a campaign that are not in `recorded`, at most 1000, and the number of the further ones. A
/// campaign has a run of every entry on every instance in every examination.
fn missing_runs(
    facts: &CampaignFacts,
    examinations: &BTreeSet<ExaminationName>,
    recorded: &BTreeSet<RunId>,
) -> (Vec<RunId>, u64) {
    let entries: HashSet<&str> = facts.entries.iter().map(|entry| entry.entry.as_str()).collect();
    let instances: HashSet<&str> = facts.instances.iter().map(|instance| instance.name.as_str()).collect();
    let is_planned = |id: &&RunId| {
        let mut names = id.split('/');
        names.next().is_some_and(|entry| entries.contains(entry))
            && names.next().is_some_and(|instance| instances.contains(instance))
    };
    let found = recorded.iter().filter(is_planned).count() as u64;
    // The numbers of entries and instances are those that an archive states: a few megabytes of them have so many runs that
    // looking at each would take days.
    let planned = [facts.entries.len(), facts.instances.len(), examinations.len()]
        .into_iter()
        .fold(1, |product: u64, count| product.saturating_mul(count as u64));
    let missing = planned - found;
    let runs = facts.entries.iter().flat_map(|entry| {
        facts.instances.iter().flat_map(move |instance| {
            examinations.iter().map(move |examination| RunId::new(&entry.entry, &instance.name, examination))
        })
    });
    // Ends at the last one that is missing, so it passes each recorded run at most once.
    let shown = missing.min(MAX_DIFFERENCES as u64);
    let first = runs.filter(|id| !recorded.contains(id)).take(shown as usize).collect();
    (first, missing - shown)
}

/// Verifies digests and completeness of a record or an unpacked archive; for an archive also its judgement, its table of
/// answers and, if a file of `allowed` signers is given, its signature.
///
/// # Errors
/// The folder is not a record, or a file cannot be read. Damage is reported as a difference.
pub fn verify(folder: &Path, allowed: Option<&Path>) -> Result<Verified, ArchiveError> {
    let mut verified = Verified::default();
    let paths = ArchivePaths(folder);
    let facts = is_archive(folder).then(|| paths.facts()).transpose()?;
    if let Some(allowed) = allowed {
        verified.check("who signed SHA256SUMS", |verified| verified.signature(folder, allowed))?;
    }
    if let Some(facts) = &facts {
        let statement = "every file is one that an archive can have, and has its digest in SHA256SUMS";
        verified.check(statement, |verified| verified.files(&paths, facts))?;
    }
    match verified.content(&paths, facts.as_ref()) {
        // Damaged files, which are listed already, may be unreadable.
        Err(error) if !verified.differences.is_empty() => {
            verified.differs(folder.display().to_string(), format!("could not be judged again: {error}"));
        }
        checked => checked?,
    }
    match facts {
        Some(facts) => {
            if facts.made_by == env!("CARGO_PKG_VERSION") {
                verified.check("README.txt is that of this version", |verified| {
                    let text = text::read(&folder.join("README.txt"));
                    if !text.is_ok_and(|text| text == layout::readme()) {
                        verified.differs("README.txt", "is not what this version writes");
                    }
                    Ok(())
                })?;
            } else {
                verified.does_not_prove(&[README]);
            }
            if allowed.is_none() {
                verified.does_not_prove(&[SIGNER]);
            }
            verified.does_not_prove(&[RUNS]);
            verified.does_not_prove(match facts.kind() {
                Kind::Contest => &[RULES, METADATA, VERSION],
                Kind::Team => &[OF_TEAM, VERSION],
            });
        }
        None => verified.does_not_prove(&[RUNS]),
    }
    // Paths relative to the archive: the folder of unpacking has no meaning for readers.
    for difference in &mut verified.differences {
        let inside = Path::new(&difference.place).strip_prefix(folder).map(|path| path.display().to_string());
        if let Some(inside) = inside.ok().filter(|inside| !inside.is_empty()) {
            difference.place = inside;
        }
    }
    Ok(verified)
}

/// Compares the files of an unpacked archive for whose path `wanted` returns true with SHA256SUMS, but no outputs, which the
/// record has digests of, and no disks.
///
/// # Errors
/// A file has another digest or is not listed, or cannot be read.
pub fn check_digests(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<(), ArchiveError> {
    let is_compared = |name: &str| {
        let is_single = part(name).is_some_and(|part| part.path() == name);
        is_single && !name.starts_with("SHA256SUMS") && wanted(Path::new(name))
    };
    let sums = ArchivePaths(folder).sums();
    let file = files::open_own(&sums).map_err(|error| {
        let reason = format!("it is missing or cannot be read: {error}; download the archive again");
        ArchiveError::Bad { path: sums.clone(), reason }
    })?;
    let mut lines = BufReader::new(file);
    let mut listed = BTreeMap::new();
    for number in 1.. {
        let Some(line) = next_line(&mut lines, &sums, number)? else { break };
        let line = String::from_utf8_lossy(&line);
        if let Some((sha256, name)) = line.split_once("  ").filter(|(_, name)| is_compared(name)) {
            listed.entry(name.to_owned()).or_insert_with(|| sha256.to_owned());
        }
    }
    let mut verified = Verified::default();
    for name in LAYOUT.iter().map(Part::path).filter(|name| is_compared(name)) {
        let path = folder.join(&name);
        match listed.get(&name) {
            Some(sha256) => {
                verified.digest(&path, sha256, "SHA256SUMS", &name);
            }
            None if path.exists() => verified.differs(&name, "is not listed in SHA256SUMS"),
            None => {}
        }
    }
    match verified.differences.first() {
        None => Ok(()),
        Some(Difference { place, what }) => {
            let reason =
                format!("it {what}; the archive is not intact, `mcc-harness verify` lists all differences");
            Err(ArchiveError::Bad { path: folder.join(place), reason })
        }
    }
}

impl Verified {
    /// Checks the record and, in the archive of a contest, what follows from it.
    fn content(&mut self, paths: &ArchivePaths, facts: Option<&ArchiveFacts>) -> Result<(), ArchiveError> {
        let statement =
            "record.db has the tables of its format and no other, and its indices agree with them";
        let record = self.check(statement, |_| {
            let record = Record::open_readonly(paths.0)?;
            // Opening the record of an archive has checked it.
            if facts.is_none() {
                record.check_integrity()?;
            }
            Ok(record)
        })?;
        let statement =
            "every run of the campaign is recorded, and every output has its digest in the record";
        self.check(statement, |verified| verified.record(&record, facts.is_some()))?;
        let Some(facts) = facts else { return Ok(()) };
        self.check("archive.json names the edition of edition.json", |verified| {
            if facts.edition != paths.edition()?.name {
                verified.differs("archive.json", "names another edition than edition.json");
            }
            Ok(())
        })?;
        if let Some(tool) = &facts.tool {
            let entries = &record.facts().entries;
            let is_of_record =
                entries.iter().all(|entry| [entry.entry.as_str(), &entry.tool].contains(&tool.as_str()));
            // A table of `--tools` may have named it.
            if is_of_record {
                self.proved.push(format!("every entry of the record is one of the tool {tool}"));
            } else {
                let statement =
                    format!("that the runs are of {tool}, which archive.json names and the record does not");
                self.does_not_prove(&[&statement]);
            }
            let statement = "every row of values.csv of an instance of the record follows from the outputs, but for its verdict";
            return self.check(statement, |verified| verified.team_values(&record, paths));
        }
        let (edition, results) = paths.results()?;
        self.check("answers.csv follows from the outputs", |verified| {
            let recomputed = temporary::folder("mcc-verify-")?;
            let answers = recomputed.path().join("answers.csv");
            let layout = Layout::Results(Form::Exact);
            export(&edition, results.clone(), &cores(&record)?, layout, &answers)?;
            verified.same_files(recomputed.path(), paths.0, &[OVERRIDES_OF_ANSWERS])
        })?;
        self.recompute(&edition, results, &paths.judgement(), false)
    }
}

/// Returns line `number` of the file `path` without its end. None: the file has no more lines.
pub(super) fn next_line(
    lines: &mut impl BufRead,
    path: &Path,
    number: u64,
) -> Result<Option<Vec<u8>>, ArchiveError> {
    let mut line = vec![];
    lines.take(MAX_LINE + 1).read_until(b'\n', &mut line).on("read", path)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() as u64 > MAX_LINE {
        let reason = format!("line {number} has more than {MAX_LINE} bytes; download the archive again");
        return Err(ArchiveError::Bad { path: path.to_owned(), reason });
    }
    Ok(Some(line))
}

/// A text of at most `MAX_LINE_CHARS` characters.
pub(super) fn truncated(text: &str) -> String {
    let start: String = text.chars().take(MAX_LINE_CHARS).collect();
    if start.len() < text.len() { start + "..." } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Without bounds, the second campaign would take weeks.
    #[test]
    fn missing_runs_are_counted_and_the_first_ones_are_named() {
        let examinations = |count: u32| -> BTreeSet<ExaminationName> {
            (0..count).map(|number| format!("X{number:04}").parse().unwrap()).collect()
        };
        let facts = |count: u32| -> CampaignFacts {
            let entries: Vec<_> = (0..count)
                .map(|number| json!({ "entry": format!("e{number}"), "tool": "t", "kind": "sequential" }))
                .collect();
            let digest = digest::bytes("");
            let instances: Vec<_> = (0..count)
                .map(|number| {
                    let name = format!("M-PT-{number}");
                    json!({ "name": name, "family": "M", "status": "known", "sha256": digest, "questions": {} })
                })
                .collect();
            CampaignFacts {
                entries: serde_json::from_value(entries.into()).unwrap(),
                instances: serde_json::from_value(instances.into()).unwrap(),
                ..CampaignFacts::default()
            }
        };
        let ids = |ids: &[&str]| ids.iter().map(|id| id.parse().unwrap()).collect::<BTreeSet<RunId>>();
        let all = ids(&["e0/M-PT-0/X0000", "e0/M-PT-1/X0000", "e1/M-PT-0/X0000", "e1/M-PT-1/X0000"]);
        assert_eq!(missing_runs(&facts(2), &examinations(1), &all), (vec![], 0));
        // A run that is not planned does not stand for one that is missing.
        let other = ids(&["e0/M-PT-0/X0000", "e1/M-PT-0/X0000", "e1/M-PT-1/X0000", "e2/M-PT-1/X0000"]);
        let (first, further) = missing_runs(&facts(2), &examinations(1), &other);
        assert_eq!((first, further), (vec!["e0/M-PT-1/X0000".parse().unwrap()], 0));
        // Without recorded runs there is no examination.
        assert_eq!(missing_runs(&facts(30_000), &examinations(0), &ids(&[])), (vec![], 0));
        let (first, further) = missing_runs(&facts(30_000), &examinations(1000), &all);
        assert_eq!((first.len(), further), (MAX_DIFFERENCES, 900_000_000_000 - 4 - 1000));
        assert_eq!((first[0].as_str(), first[999].as_str()), ("e0/M-PT-0/X0001", "e0/M-PT-1/X0001"));
    }
}

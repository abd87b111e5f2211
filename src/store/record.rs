//! `record.db`: the plan, every attempt, and the facts needed for judging.

use super::attempt_dir::{AttemptDir, sync_dir};
use super::campaign_facts::InstanceChanges;
use super::format::{
    FORMAT, INSERT_ATTEMPT, INSERT_RUN, begin, check_archived, check_integrity, check_rows, connect,
    connect_immutable, each_instance, format_of, json, limit_work, read_campaign, read_facts, upgrade,
};
use super::lock::{Lock, restrict};
use super::measured_host::MEASURED_HOST;
use super::seal::SealKey;
use super::{Attempt, CampaignFacts, RunFacts, StoreError, samples};
use mcc_base::digest::hex;
use mcc_base::files::{self, BUILD_PREFIX, FileStamp};
use mcc_base::names::RunId;
use mcc_base::{HostState, OnFile};
use mcc_campaign::Run;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// The record of a campaign. Threads may share it.
pub struct Record {
    dir: PathBuf,
    pub(super) path: PathBuf,
    db: Mutex<Connection>,
    format: i64,
    facts: CampaignFacts,
    /// None: the record was opened for reading only.
    lock: Option<Lock>,
    /// The files that must stay in their place while this controller writes, with device and inode.
    held: Vec<(PathBuf, (u64, u64))>,
    /// The key with which attempts are sealed; None: they are not.
    seal_key: Option<SealKey>,
}

/// A row of a table, in messages.
#[derive(Clone, Copy)]
pub(super) struct Row(pub &'static str, pub i64);

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "row {} of {}", self.1, self.0)
    }
}

/// The state of a run after an attempt was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// The run has its record: no further attempt is made.
    Recorded,
    /// The attempt ended in an infrastructure failure, and the run has retries left.
    Open {
        /// Number of attempts that may still be made.
        attempts_left: u32,
    },
}

/// The database of a record, in its folder.
pub const RECORD_FILE: &str = "record.db";
/// The file that marks a folder as an unpacked archive.
pub const ARCHIVE_FILE: &str = "archive.json";

impl Record {
    /// Opens the record in `dir` for writing and takes its lock; creates the record if there is none.
    ///
    /// Removes the private directories that a killed controller left.
    ///
    /// # Errors
    /// The record was created with other facts, another controller has its lock, `dir` has other files but no
    /// record or is an unpacked archive, or a file cannot be read or written.
    pub fn create_or_open(dir: &Path, facts: &CampaignFacts) -> Result<Self, StoreError> {
        Self::create_or_open_with("WAL", dir, facts)
    }

    /// Like `create_or_open`, for a file system that several hosts share. SQLite's write-ahead log works on one host
    /// only; with the rollback journal other hosts can read while this one writes.
    pub fn create_or_open_shared(dir: &Path, facts: &CampaignFacts) -> Result<Self, StoreError> {
        Self::create_or_open_with("DELETE", dir, facts)
    }

    /// Checks that `dir` can have the record of a campaign: it is missing, empty, or has a record or what a controller left that
    /// was killed before it created one.
    ///
    /// # Errors
    /// `dir` has other files but no record, is an unpacked archive, can be changed by other users, or cannot be read.
    pub fn check_folder(dir: &Path) -> Result<(), StoreError> {
        if files::is_shared(dir).on("read", dir)? {
            return Err(StoreError::Refused(format!(
                "{0} belongs to another user, or other users can write to it, who could replace results: give a new folder to \
                 --out, or change owner and mode (chown, chmod go-w {0})",
                dir.display()
            )));
        }
        if dir.join(ARCHIVE_FILE).exists() {
            return Err(StoreError::Refused(format!(
                "{} is an unpacked archive, which is not changed; give another folder to --out",
                dir.display()
            )));
        }
        if dir.join(RECORD_FILE).exists() || !dir.exists() {
            return Ok(());
        }
        for item in fs::read_dir(dir).on("list", dir)? {
            let name = item.on("list", dir)?.file_name();
            let name = name.to_string_lossy();
            let expected = ["lock", "inputs", "host.json", MEASURED_HOST].contains(&&*name)
                || name.starts_with(BUILD_PREFIX);
            if !expected {
                return Err(StoreError::Refused(format!(
                    "{} is not empty and holds no record; give a new or an empty folder to --out",
                    dir.display()
                )));
            }
        }
        Ok(())
    }

    fn create_or_open_with(journal: &str, dir: &Path, facts: &CampaignFacts) -> Result<Self, StoreError> {
        let path = dir.join(RECORD_FILE);
        Self::check_folder(dir)?;
        fs::create_dir_all(dir).on("create", dir)?;
        check_files(dir)?;
        refuse_super_journal(dir)?;
        let lock = Lock::take(dir)?;
        // SQLite gives its other files the mode of this one.
        restrict(&path).on("make", &path)?;
        let mut db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let format = format_of(&db, &path)?;
        let database = |source| StoreError::database(&path, source);
        db.pragma_update(None, "journal_mode", journal).map_err(database)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(database)?;
        db.pragma_update(None, "foreign_keys", true).map_err(database)?;
        let facts = if format.is_none() {
            begin(&mut db, facts).map_err(database)?;
            facts.clone()
        } else {
            let stored = read_campaign(&db, &path)?;
            let mut changes = facts.changes_since(&stored);
            let mut instances = InstanceChanges::now(&facts.instances);
            each_instance(&db, &path, |stored| instances.stored(&stored))?;
            changes.extend(instances.changes());
            if !changes.is_empty() {
                return Err(StoreError::Changed { dir: dir.to_owned(), changes });
            }
            if let Some(older) = format.filter(|format| *format < FORMAT) {
                upgrade(&mut db, older).map_err(database)?;
            }
            // Equal to those stored, which are not parsed again: they are by far the largest part.
            CampaignFacts { retries: facts.retries, instances: facts.instances.clone(), ..stored }
        };

        // Unfinished inputs disks of killed controllers.
        for item in fs::read_dir(dir).on("list", dir)? {
            let left = item.on("list", dir)?;
            if left.file_name().to_string_lossy().starts_with(BUILD_PREFIX) {
                fs::remove_dir_all(left.path()).on("remove", left.path())?;
            }
        }
        let running = dir.join("running");
        files::create_own_folders(dir, &running).on("create", &running)?;
        for left in fs::read_dir(&running).on("list", &running)? {
            let left = left.on("list", &running)?;
            let is_folder = left.file_type().on("read", left.path())?.is_dir();
            let remove = if is_folder { fs::remove_dir_all::<PathBuf> } else { fs::remove_file::<PathBuf> };
            remove(left.path()).on("remove", left.path())?;
        }
        sync_dir(dir)?;
        let held = [dir.join("lock"), path.clone()].map(|path| {
            let facts = fs::symlink_metadata(&path).on("read", &path)?;
            Ok::<_, StoreError>((path, FileStamp::from_metadata(&facts).file))
        });
        Ok(Self {
            held: held.into_iter().collect::<Result<_, _>>()?,
            dir: dir.to_owned(),
            path,
            db: Mutex::new(db),
            format: FORMAT,
            facts,
            lock: Some(lock),
            seal_key: None,
        })
    }

    /// Opens a record for reading. A controller may write to it meanwhile; the medium may be read-only. The record of an
    /// unpacked archive (a folder with `ARCHIVE_FILE`) has one file, which nobody writes.
    ///
    /// # Errors
    /// `dir` has no record, or one of a newer format, or its content is not valid, or SQLite's other files are beside the
    /// record of an archive.
    pub fn open_readonly(dir: &Path) -> Result<Self, StoreError> {
        Self::open_readonly_with(read_facts, dir)
    }

    /// `open_readonly` without the instances, which a summary does not need.
    pub(super) fn open_without_instances(dir: &Path) -> Result<Self, StoreError> {
        Self::open_readonly_with(read_campaign, dir)
    }

    fn open_readonly_with(
        read: fn(&Connection, &Path) -> Result<CampaignFacts, StoreError>,
        dir: &Path,
    ) -> Result<Self, StoreError> {
        let path = dir.join(RECORD_FILE);
        if dir.is_file() || !path.try_exists().on("read", &path)? {
            return Err(StoreError::no_record(dir));
        }
        check_files(dir)?;
        let is_archived = dir.join(ARCHIVE_FILE).exists();
        let db = if is_archived { open_archived(dir, &path)? } else { open_shared(dir, &path)? };
        limit_work(&db, &path)?;
        let Some(format) = format_of(&db, &path)? else {
            return Err(StoreError::no_record(dir));
        };
        if is_archived {
            check_integrity(&db, &path)?;
        }
        let facts = read(&db, &path)?;
        if is_archived {
            check_archived(&db, &path)?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            path,
            db: Mutex::new(db),
            format,
            facts,
            lock: None,
            held: vec![],
            seal_key: None,
        })
    }

    pub(super) fn format(&self) -> i64 {
        self.format
    }

    /// Seals each attempt that is committed to this record with the key.
    pub fn sealed_with(self, key: SealKey) -> Self {
        Self { seal_key: Some(key), ..self }
    }

    /// Checks the whole database: that each page of the file has one place, that the indices agree with their tables, and that
    /// no row is invalid.
    /// Opening the record of an archive has done this already.
    ///
    /// # Errors
    /// They do not, or the database cannot be read.
    pub fn check_integrity(&self) -> Result<(), StoreError> {
        check_integrity(&self.connection(), &self.path)
    }

    /// Checks that no row is invalid, as `check_integrity` does, without reading the indices.
    ///
    /// # Errors
    /// One is, or the database cannot be read.
    pub fn check_rows(&self) -> Result<(), StoreError> {
        check_rows(&self.connection(), &self.path)
    }

    /// The folder of the record.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The facts with which the record was created; only `retries` is that of the campaign that resumed it.
    pub fn facts(&self) -> &CampaignFacts {
        &self.facts
    }

    /// Adds the runs that are not planned yet, in this order. The same plan again changes nothing; a digest of the plan
    /// saves the look-up of each run.
    ///
    /// # Errors
    /// The record is read-only, or the database cannot be written.
    pub fn plan_runs<I>(&self, runs: I) -> Result<(), StoreError>
    where
        I: IntoIterator<Item: Borrow<Run>> + Clone,
    {
        self.writable()?;
        let mut digest = Sha256::new();
        for run in runs.clone() {
            let run: &Run = run.borrow();
            for word in [run.entry.as_str(), run.instance.as_str(), run.examination.as_str(), &run.model] {
                digest.update(word);
                digest.update("/");
            }
            digest.update(run.vcpus.to_le_bytes());
            digest.update([u8::from(run.competes)]);
        }
        let digest = hex(&digest.finalize());
        let planned: Vec<(String,)> = self.rows("SELECT value FROM facts WHERE key = 'plan'", [])?;
        if planned == [(digest.clone(),)] {
            return Ok(());
        }
        self.write(|transaction| {
            let mut insert = transaction.prepare(INSERT_RUN)?;
            for run in runs {
                let run: &Run = run.borrow();
                insert.execute((run.id().as_str(), json(run)?))?;
            }
            let note = "INSERT INTO facts (key, value) VALUES ('plan', ?1)
                        ON CONFLICT DO UPDATE SET value = excluded.value";
            transaction.execute(note, [digest]).map(drop)
        })
    }

    /// The folder of the raw outputs of a committed attempt; `Attempt::outputs` has their names and digests.
    pub fn outputs_dir(&self, run: &RunId, number: u32) -> PathBuf {
        self.dir.join("outputs").join(run.as_str()).join(number.to_string())
    }

    /// Starts the next attempt at a run. The number is used only when the attempt is committed: a dropped or killed
    /// attempt leaves no row and no number.
    ///
    /// # Errors
    /// The run is not planned or is recorded already, another attempt at it is running, or the record is read-only.
    pub fn begin_attempt(&self, run: &RunId) -> Result<AttemptDir, StoreError> {
        self.writable()?;
        let (position, attempts, _) = self.find_open(run)?;
        let number = attempts + 1;
        AttemptDir::create(self.dir.join("running").join(format!("{position}-{number}")), run, number)
    }

    /// Records an attempt: syncs its outputs to the disk, moves them to their place, then inserts the attempt in one
    /// transaction. If the controller is killed before the transaction, the attempt does not count, and the next one
    /// replaces the outputs.
    ///
    /// # Errors
    /// `dir` is not that of `attempt`, the run is recorded already, or a file cannot be written.
    pub fn commit(&self, attempt: Attempt, dir: AttemptDir) -> Result<RunState, StoreError> {
        self.commit_attempt(attempt, dir, None)
    }

    /// Records an attempt as `commit` does, and supersedes it and those before it for this reason: the run stays open, with
    /// new retries. At no time is the run recorded with the attempt.
    ///
    /// # Errors
    /// As `commit`.
    pub fn commit_superseded(
        &self,
        attempt: Attempt,
        dir: AttemptDir,
        reason: &str,
    ) -> Result<RunState, StoreError> {
        self.commit_attempt(attempt, dir, Some(reason))
    }

    fn commit_attempt(
        &self,
        mut attempt: Attempt,
        dir: AttemptDir,
        superseded_for: Option<&str>,
    ) -> Result<RunState, StoreError> {
        self.writable()?;
        let (position, attempts, superseded) = self.find_open(&attempt.run)?;
        if (&attempt.run, attempt.number) != (dir.run(), dir.number()) || attempt.number != attempts + 1 {
            return Err(StoreError::WrongAttempt {
                attempt: format!("{} at {}", attempt.number, attempt.run),
                dir: format!("{} at {}", dir.number(), dir.run()),
            });
        }
        if let Some(facts) = &mut attempt.facts {
            samples::write(&std::mem::take(&mut facts.samples), &dir.outputs())?;
        }
        attempt.outputs = dir.sync_outputs()?;
        self.move_outputs(&dir)?;

        let superseded = if superseded_for.is_some() { attempt.number } else { superseded };
        let attempts_left = attempt.attempts_left(superseded, self.facts.retries);
        let facts = self.json("an attempt", &attempt)?;
        let seal = self.seal_key.as_ref();
        let seal = seal.map(|key| key.row(&attempt.run, attempt.number, &facts, superseded_for));
        self.write(|transaction| {
            transaction.prepare_cached(INSERT_ATTEMPT)?.execute((
                position,
                attempt.number,
                attempt.outcome.word(),
                &facts,
                attempt.total_ms(),
            ))?;
            if let Some(seal) = seal {
                transaction
                    .prepare_cached("INSERT INTO facts (key, value) VALUES (?1, ?2)")?
                    .execute(seal)?;
            }
            if let Some(reason) = superseded_for {
                transaction
                    .prepare_cached("INSERT INTO reruns (run, after, reason) VALUES (?1, ?2, ?3)")?
                    .execute((position, attempt.number, reason))?;
            }
            transaction
                .prepare_cached("UPDATE runs SET recorded = ?2 WHERE position = ?1")?
                .execute((position, attempts_left == 0))
                .map(drop)
        })?;
        Ok(if attempts_left == 0 { RunState::Recorded } else { RunState::Open { attempts_left } })
    }

    fn move_outputs(&self, dir: &AttemptDir) -> Result<(), StoreError> {
        let place = self.outputs_dir(dir.run(), dir.number());
        // Moved by a controller that was killed before its transaction: these outputs belong to no attempt.
        files::clear_own_place(&self.dir, &place).on("replace", &place)?;
        fs::rename(dir.outputs(), &place).on("move outputs to", &place)?;
        let new_names = place.ancestors().skip(1).take_while(|ancestor| *ancestor != self.dir);
        new_names.chain([self.dir.as_path()]).try_for_each(sync_dir)
    }

    pub(super) fn writable(&self) -> Result<(), StoreError> {
        if self.lock.is_none() {
            return Err(StoreError::ReadOnly { dir: self.dir.clone() });
        }
        // SQLite would write on to a removed database, and another controller can take the lock of another file.
        for (path, file) in &self.held {
            let found = fs::symlink_metadata(path).ok().map(|facts| FileStamp::from_metadata(&facts).file);
            if found != Some(*file) {
                return Err(StoreError::Replaced { path: path.clone() });
            }
        }
        Ok(())
    }

    /// Returns the position of a run, the number of attempts at it, and whether it is recorded.
    pub(super) fn find(&self, run: &RunId) -> Result<(i64, u32, bool), StoreError> {
        let attempts = "(SELECT count(*) FROM attempts WHERE run = position)";
        self.one(&format!("SELECT position, {attempts}, recorded FROM runs WHERE id = ?1"), run)
    }

    /// Returns the position of a run, the number of attempts at it, and how many of them are superseded.
    fn find_open(&self, run: &RunId) -> Result<(i64, u32, u32), StoreError> {
        let query = "SELECT position, (SELECT count(*) FROM attempts WHERE run = position),
                            (SELECT coalesce(max(after), 0) FROM reruns WHERE run = position), recorded
                     FROM runs WHERE id = ?1";
        match self.one(query, run)? {
            (_, _, _, true) => Err(StoreError::AlreadyRecorded { run: run.clone() }),
            (position, attempts, superseded, false) => Ok((position, attempts, superseded)),
        }
    }

    pub(super) fn one<T>(&self, query: &str, run: &RunId) -> Result<T, StoreError>
    where
        T: for<'r> TryFrom<&'r rusqlite::Row<'r>, Error = rusqlite::Error>,
    {
        let db = self.connection();
        let mut statement = db.prepare_cached(query).map_err(|source| self.database(source))?;
        statement
            .query_row([run.as_str()], |row| T::try_from(row))
            .optional()
            .map_err(|source| self.database(source))?
            .ok_or_else(|| StoreError::UnknownRun { run: run.to_string() })
    }

    /// The connection, also after a thread panicked with it: its transaction was rolled back when it was dropped.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn write(
        &self,
        change: impl FnOnce(&rusqlite::Transaction) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let mut db = self.connection();
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate);
        transaction
            .and_then(|transaction| {
                change(&transaction)?;
                transaction.commit()
            })
            .map_err(|source| self.database(source))
    }

    /// The rows of a query, as tuples.
    pub(super) fn rows<T>(&self, query: &str, params: impl rusqlite::Params) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> TryFrom<&'r rusqlite::Row<'r>, Error = rusqlite::Error>,
    {
        let db = self.connection();
        let mut statement = db.prepare_cached(query).map_err(|source| self.database(source))?;
        let rows = statement.query_map(params, |row| T::try_from(row)).and_then(Iterator::collect);
        rows.map_err(|source| self.database(source))
    }

    pub(super) fn database(&self, source: rusqlite::Error) -> StoreError {
        StoreError::database(&self.path, source)
    }

    pub(super) fn json(&self, what: &str, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|source| StoreError::content(&self.path, what, source))
    }

    pub(super) fn parse<'t, T: Deserialize<'t>>(
        &self,
        what: impl fmt::Display,
        text: &'t str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|source| StoreError::content(&self.path, what, source))
    }

    pub(super) fn run_id(&self, id: String) -> Result<RunId, StoreError> {
        let bad = |bad| StoreError::content(&self.path, "the id of a run", serde::de::Error::custom(bad));
        RunId::try_from(id).map_err(bad)
    }

    /// A run from its row. Its id and its facts must agree: the id names the folder of its outputs.
    pub(super) fn run_of_row(&self, position: i64, id: &str, facts: &str) -> Result<Run, StoreError> {
        let row = Row("runs", position);
        let run: Run = self.parse(row, facts)?;
        if run.id() == id {
            Ok(run)
        } else {
            Err(self.bad_row(row, format!("its id is {id:?}, but its facts are of {}", run.id())))
        }
    }

    /// An attempt from its row, which is number `number` at `run`. Its figures must be possible measurements.
    pub(super) fn attempt_of_row(
        &self,
        run: &RunId,
        number: u32,
        facts: &str,
    ) -> Result<Attempt, StoreError> {
        let row = format!("attempt {number} at {run}");
        let attempt: Attempt = self.parse(&row, facts)?;
        if attempt.run != *run || attempt.number != number {
            let problem = format!("its facts are of attempt {} at {}", attempt.number, attempt.run);
            return Err(self.bad_row(row, problem));
        }
        let roles: BTreeSet<_> =
            attempt.outputs.iter().map(|output| output.role.to_ascii_lowercase()).collect();
        if roles.len() < attempt.outputs.len() {
            return Err(self.bad_row(row, "two outputs have the same name"));
        }
        let figures = attempt.facts.as_ref().map_or(Ok(()), RunFacts::check);
        let host_state = attempt.environment.host_state.as_ref();
        figures
            .and_then(|()| host_state.map_or(Ok(()), HostState::check))
            .map_err(|bad| self.bad_row(row, bad))?;
        Ok(attempt)
    }

    pub(super) fn bad_row(&self, row: impl fmt::Display, problem: impl fmt::Display) -> StoreError {
        StoreError::Integrity { path: self.path.clone(), problem: format!("{row}: {problem}") }
    }
}

/// The files that SQLite keeps in the folder of the database.
const SQLITE_FILES: [&str; 3] = ["record.db-wal", "record.db-shm", "record.db-journal"];

/// Opens the record of an archive. SQLite would apply a log in its folder, which no digest in the record shows.
fn open_archived(dir: &Path, path: &Path) -> Result<Connection, StoreError> {
    match SQLITE_FILES.iter().map(|name| dir.join(name)).find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(StoreError::Refused(format!(
            "{} does not belong to an archive: with this file, SQLite would change the record; do not trust this archive, \
             download it again",
            path.display()
        ))),
        None => connect_immutable(path),
    }
}

/// Opens a record to which a controller may write.
fn open_shared(dir: &Path, path: &Path) -> Result<Connection, StoreError> {
    let readable = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|db| {
        let read = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        read.map(|_| db).map_err(|source| StoreError::database(path, source))
    });
    let unopenable = |error: &StoreError| match error {
        StoreError::Database { source, .. } => {
            source.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen)
        }
        _ => false,
    };
    let busy = |error: &StoreError| match error {
        StoreError::Database { source, .. } => {
            source.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        }
        _ => false,
    };
    let journal = dir.join("record.db-journal");
    match readable {
        // SQLite would first undo the write that the journal belongs to, which a reader must not do.
        Err(error) if !busy(&error) && journal.exists() => Err(StoreError::Refused(format!(
            "the record in {} cannot be read with the journal {}, which a killed controller leaves in a write; resume the \
             campaign with `run`, which completes the record; if the journal is not of this record, remove it",
            dir.display(),
            journal.display()
        ))),
        // SQLite cannot read a write-ahead log without writing an index into its folder.
        Err(error) if unopenable(&error) && dir.join("record.db-wal").exists() => {
            Err(StoreError::Refused(format!(
                "the record in {} was left by a killed controller, and SQLite can read it in a writable folder only; copy \
                 it to a writable folder and read it there",
                dir.display()
            )))
        }
        // Without such a log no controller writes, so the database is immutable.
        Err(error) if unopenable(&error) => connect_immutable(path),
        other => other,
    }
}

/// Refuses a journal that names a journal of several databases: SQLite removes the named file. No record has one, because
/// its transactions change one database (https://www.sqlite.org/fileformat.html, section 3).
fn refuse_super_journal(dir: &Path) -> Result<(), StoreError> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let path = dir.join("record.db-journal");
    let mut end = [0; MAGIC.len()];
    let mut file = match files::open_own(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.on("read", &path)?,
    };
    let bytes = file.metadata().on("read", &path)?.len();
    if bytes >= 2 * MAGIC.len() as u64 {
        file.seek(io::SeekFrom::Start(bytes - MAGIC.len() as u64)).on("read", &path)?;
        file.read_exact(&mut end).on("read", &path)?;
    }
    if end == MAGIC {
        return Err(StoreError::Refused(format!(
            "{} names another file, which SQLite would remove; no record has such a journal: do not trust this folder",
            path.display()
        )));
    }
    Ok(())
}

/// Checks that the files of a record that are opened by path are regular: SQLite would wait for the writer of a pipe.
fn check_files(dir: &Path) -> Result<(), StoreError> {
    [RECORD_FILE, "lock"].into_iter().chain(SQLITE_FILES).try_for_each(|name| {
        let path = dir.join(name);
        let refused = |error| format!("the record cannot be read: {}: {error}", path.display());
        files::check_if_regular(&path).map_err(|error| StoreError::Refused(refused(error)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_of_an_unfinished_write_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RECORD_FILE);
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        assert!(open_shared(folder.path(), &path).is_ok());
        fs::write(folder.path().join("record.db-journal"), "x").unwrap();
        let error = open_shared(folder.path(), &path).map(drop).unwrap_err().to_string();
        assert!(error.contains("record.db-journal, which a killed controller leaves"), "{error}");
        assert!(error.contains("resume the campaign with `run`"), "{error}");
    }
}

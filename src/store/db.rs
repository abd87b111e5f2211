//! `record.db`: what was planned, every attempt, and the facts to judge them by.

use super::attempt_dir::{AttemptDir, sync_dir};
use super::lock::Lock;
use super::{Attempt, CampaignFacts, StoreError};
use crate::campaign::Run;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// `MCCH`, SQLite's application id: tells a record from any other database.
const APPLICATION: i64 = 0x4d43_4348;
/// SQLite's user version. A record of a newer format is refused, never misread.
const FORMAT: i64 = 1;

const SCHEMA: &str = "
    CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE instances (position INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;
    CREATE TABLE runs (
        position INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        facts TEXT NOT NULL,
        recorded INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX open_runs ON runs (position) WHERE recorded = 0;
    CREATE TABLE attempts (
        run INTEGER NOT NULL REFERENCES runs (position),
        number INTEGER NOT NULL,
        outcome TEXT NOT NULL,
        facts TEXT NOT NULL,
        PRIMARY KEY (run, number)
    ) STRICT;
";

/// How many rows are fetched at once while listing: the database is never locked for a whole listing.
const PAGE: usize = 500;

/// The record of a campaign. May be shared by threads.
pub struct Record {
    dir: PathBuf,
    path: PathBuf,
    db: Mutex<Connection>,
    facts: CampaignFacts,
    /// None: opened for reading only.
    lock: Option<Lock>,
}

/// A planned run that has no record yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    pub run: Run,
    /// Attempts made so far; all of them ended in infrastructure.
    pub attempts: u32,
}

/// A recorded run: its last attempt is the one that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    pub run: Run,
    pub attempts: u32,
    pub last: Attempt,
}

/// Where a run stands after an attempt was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Recorded,
    /// The attempt ended in infrastructure; so many more may be made.
    Open {
        attempts_left: u32,
    },
}

/// Counts for `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    pub planned: u64,
    pub recorded: u64,
    /// Recorded runs by the outcome of their last attempt.
    pub outcomes: BTreeMap<String, u64>,
    /// Attempts that were retried, or will be.
    pub retried: u64,
}

impl Record {
    /// Opens the record in `dir` to write to it, begins it where there is none, and takes its lock.
    ///
    /// A record that was begun with other facts is not resumed. Private directories left by a killed
    /// controller are removed; `reap` is called with each of them first, to end a machine that outlived its
    /// controller.
    pub fn create_or_open(
        dir: &Path,
        facts: &CampaignFacts,
        mut reap: impl FnMut(&Path),
    ) -> Result<Self, StoreError> {
        let io = |action, path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { action, path, source }
        };
        let path = dir.join("record.db");
        if !path.exists() && dir.exists() {
            let mut items = fs::read_dir(dir).map_err(io("list", dir))?.filter_map(Result::ok);
            // A controller killed before it wrote anything leaves its lock, and the inputs disk it made first.
            let expected = |name: &str| ["lock", "inputs"].contains(&name) || name.starts_with(".building-");
            if items.any(|item| !expected(&item.file_name().to_string_lossy())) {
                return Err(StoreError::NotEmpty { dir: dir.to_owned() });
            }
        }
        fs::create_dir_all(dir).map_err(io("create", dir))?;
        let lock = Lock::take(dir)?;
        let mut db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        let fresh = !check_format(&db, &path)?;
        let database = |source| StoreError::Database { path: path.clone(), source };
        db.pragma_update(None, "journal_mode", "WAL").map_err(database)?;
        db.pragma_update(None, "synchronous", "FULL").map_err(database)?;
        db.pragma_update(None, "foreign_keys", true).map_err(database)?;
        let facts = if fresh {
            begin(&mut db, facts).map_err(database)?;
            facts.clone()
        } else {
            let begun = read_facts(&db, &path)?;
            let changes = facts.changes_since(&begun);
            if !changes.is_empty() {
                return Err(StoreError::Changed { dir: dir.to_owned(), changes });
            }
            CampaignFacts { retries: facts.retries, ..begun }
        };

        let running = dir.join("running");
        fs::create_dir_all(&running).map_err(io("create", &running))?;
        for left in fs::read_dir(&running).map_err(io("list", &running))? {
            let left = left.map_err(io("list", &running))?.path();
            reap(&left);
            fs::remove_dir_all(&left).map_err(io("remove", &left))?;
        }
        sync_dir(dir)?;
        Ok(Self { dir: dir.to_owned(), path, db: Mutex::new(db), facts, lock: Some(lock) })
    }

    /// Opens a record for reading, also while a controller writes to it and from a read-only medium.
    pub fn open_readonly(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("record.db");
        if !path.exists() {
            return Err(StoreError::NoRecord { dir: dir.to_owned() });
        }
        let readable = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).and_then(|db| {
            check_format(&db, &path)?;
            Ok(db)
        });
        let db = match readable {
            // SQLite can't read a write-ahead log it may not index. A record at rest has none, and nobody
            // writes to it where there is none, so it may be taken as immutable.
            Err(StoreError::Database { source, .. })
                if source.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen)
                    && !dir.join("record.db-wal").exists() =>
            {
                connect_immutable(&path)?
            }
            other => other?,
        };
        if !check_format(&db, &path)? {
            return Err(StoreError::NoRecord { dir: dir.to_owned() });
        }
        let facts = read_facts(&db, &path)?;
        Ok(Self { dir: dir.to_owned(), path, db: Mutex::new(db), facts, lock: None })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// As the record was begun; only `retries` is the resuming campaign's.
    pub fn facts(&self) -> &CampaignFacts {
        &self.facts
    }

    /// Adds the runs that are not planned yet, in this order. Planning the same again changes nothing.
    pub fn plan_runs(&self, runs: &[Run]) -> Result<(), StoreError> {
        self.writable()?;
        let rows = runs.iter().map(|run| Ok((run.id(), self.json("a run", run)?)));
        let rows = rows.collect::<Result<Vec<_>, StoreError>>()?;
        self.write(|transaction| {
            let mut insert =
                transaction.prepare("INSERT INTO runs (id, facts) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?;
            rows.iter().try_for_each(|(id, facts)| insert.execute((id, facts)).map(drop))
        })
    }

    /// The runs without a record, in the order they were planned.
    pub fn open_runs(&self) -> impl Iterator<Item = Result<OpenRun, StoreError>> {
        let page = "SELECT position, facts, (SELECT count(*) FROM attempts WHERE run = position)
                    FROM runs WHERE recorded = 0 AND position > ?1 ORDER BY position LIMIT ?2";
        pages(0_i64, move |after| {
            let rows: Vec<(i64, String, u32)> = self
                .rows(page, params![after, PAGE as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.into_iter()
                .map(|(position, run, attempts)| {
                    Ok((position, OpenRun { run: self.parse("a run", &run)?, attempts }))
                })
                .collect()
        })
    }

    /// The recorded runs with the attempt that counts, sorted by run id.
    pub fn records(&self) -> impl Iterator<Item = Result<RunRecord, StoreError>> {
        let page = "SELECT id, runs.facts, number, attempts.facts FROM runs JOIN attempts
                    ON run = position AND number = (SELECT max(number) FROM attempts WHERE run = position)
                    WHERE recorded = 1 AND id > ?1 ORDER BY id LIMIT ?2";
        pages(String::new(), move |after| {
            let rows: Vec<(String, String, u32, String)> =
                self.rows(page, params![after, PAGE as i64], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?;
            rows.into_iter()
                .map(|(id, run, attempts, last)| {
                    let record = RunRecord {
                        run: self.parse("a run", &run)?,
                        attempts,
                        last: self.parse("an attempt", &last)?,
                    };
                    Ok((id, record))
                })
                .collect()
        })
    }

    /// Every committed attempt at a run, oldest first.
    pub fn attempts(&self, run: &str) -> Result<Vec<Attempt>, StoreError> {
        let (position, ..) = self.find(run)?;
        let attempts: Vec<String> =
            self.rows("SELECT facts FROM attempts WHERE run = ?1 ORDER BY number", [position], |row| {
                row.get(0)
            })?;
        attempts.iter().map(|text| self.parse("an attempt", text)).collect()
    }

    pub fn summary(&self) -> Result<Summary, StoreError> {
        let counts = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM runs WHERE recorded = 1),
                             (SELECT count(*) FROM attempts)";
        let counts: Vec<(u64, u64, u64)> = self.rows(counts, [], |row| {
            let count = |column| row.get::<_, i64>(column).map(|count| count.unsigned_abs());
            Ok((count(0)?, count(1)?, count(2)?))
        })?;
        let outcomes = "SELECT outcome, count(*) FROM runs JOIN attempts
                        ON run = position AND number = (SELECT max(number) FROM attempts WHERE run = position)
                        WHERE recorded = 1 GROUP BY outcome";
        let outcomes: Vec<(String, i64)> = self.rows(outcomes, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut summary = Summary::default();
        for (planned, recorded, attempts) in counts {
            summary = Summary { planned, recorded, retried: attempts - recorded, ..summary };
        }
        summary.outcomes = outcomes.into_iter().map(|(word, count)| (word, count.unsigned_abs())).collect();
        Ok(summary)
    }

    /// Where the raw outputs of a committed attempt lie; `Attempt::outputs` names and digests them.
    pub fn outputs_dir(&self, run: &str, number: u32) -> PathBuf {
        self.dir.join("outputs").join(run).join(number.to_string())
    }

    /// Starts the next attempt at a run. Its number is taken only when it is committed: a dropped or killed
    /// attempt leaves nothing.
    pub fn begin_attempt(&self, run: &str) -> Result<AttemptDir, StoreError> {
        self.writable()?;
        let (position, attempts) = self.find_open(run)?;
        let number = attempts + 1;
        AttemptDir::create(self.dir.join("running").join(format!("{position}-{number}")), run, number)
    }

    /// Records an attempt: its outputs are brought to the disk and moved to their place, then one transaction
    /// makes it true. Killed in between, the attempt was never made, and the outputs are replaced by the next.
    pub fn commit(&self, mut attempt: Attempt, dir: AttemptDir) -> Result<Standing, StoreError> {
        self.writable()?;
        let (position, attempts) = self.find_open(&attempt.run)?;
        if (attempt.run.as_str(), attempt.number) != (dir.run(), dir.number())
            || attempt.number != attempts + 1
        {
            return Err(StoreError::WrongAttempt {
                attempt: format!("{} at {}", attempt.number, attempt.run),
                dir: format!("{} at {}", dir.number(), dir.run()),
            });
        }
        attempt.outputs = dir.sync_outputs()?;
        self.move_outputs(&dir)?;

        let recorded = !attempt.outcome.is_infrastructure() || attempt.number > self.facts.retries;
        let facts = self.json("an attempt", &attempt)?;
        self.write(|transaction| {
            transaction.execute(
                "INSERT INTO attempts (run, number, outcome, facts) VALUES (?1, ?2, ?3, ?4)",
                (position, attempt.number, attempt.outcome.word(), &facts),
            )?;
            transaction
                .execute("UPDATE runs SET recorded = ?2 WHERE position = ?1", (position, recorded))
                .map(drop)
        })?;
        Ok(match recorded {
            true => Standing::Recorded,
            false => Standing::Open { attempts_left: self.facts.retries + 1 - attempt.number },
        })
    }

    /// Opens the runs again that are recorded as infrastructure: each gets one more attempt (P2). How many.
    pub fn reopen_infrastructure(&self) -> Result<usize, StoreError> {
        self.writable()?;
        let mut reopened = 0;
        self.write(|transaction| {
            reopened = transaction.execute(
                "UPDATE runs SET recorded = 0 WHERE recorded = 1 AND 'infrastructure' =
                     (SELECT outcome FROM attempts WHERE run = position ORDER BY number DESC LIMIT 1)",
                [],
            )?;
            Ok(())
        })?;
        Ok(reopened)
    }

    fn move_outputs(&self, dir: &AttemptDir) -> Result<(), StoreError> {
        let place = self.outputs_dir(dir.run(), dir.number());
        let io = |action| {
            let path = place.clone();
            move |source| StoreError::Io { action, path, source }
        };
        // Moved by a controller that was killed before it could commit them: never true, so replaced.
        if place.exists() {
            fs::remove_dir_all(&place).map_err(io("replace"))?;
        }
        let parent = place.parent().unwrap_or(&self.dir);
        fs::create_dir_all(parent).map_err(io("create"))?;
        fs::rename(dir.outputs(), &place).map_err(io("move outputs to"))?;
        let new_names = parent.ancestors().take_while(|ancestor| *ancestor != self.dir);
        new_names.chain([self.dir.as_path()]).try_for_each(sync_dir)
    }

    fn writable(&self) -> Result<(), StoreError> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(StoreError::ReadOnly { dir: self.dir.clone() }),
        }
    }

    /// Position, attempts made, whether recorded.
    fn find(&self, run: &str) -> Result<(i64, u32, bool), StoreError> {
        let query = "SELECT position, (SELECT count(*) FROM attempts WHERE run = position), recorded
                     FROM runs WHERE id = ?1";
        self.connection()
            .query_row(query, [run], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()
            .map_err(|source| self.database(source))?
            .ok_or_else(|| StoreError::UnknownRun { run: run.to_owned() })
    }

    fn find_open(&self, run: &str) -> Result<(i64, u32), StoreError> {
        match self.find(run)? {
            (_, _, true) => Err(StoreError::AlreadyRecorded { run: run.to_owned() }),
            (position, attempts, false) => Ok((position, attempts)),
        }
    }

    /// A thread that panicked while it held the connection left no open transaction (it was rolled back when
    /// it was dropped), so the connection can be used on.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.db.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(
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

    fn rows<T>(
        &self,
        query: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&rusqlite::Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let db = self.connection();
        let mut statement = db.prepare_cached(query).map_err(|source| self.database(source))?;
        let rows = statement.query_map(params, read).and_then(Iterator::collect);
        rows.map_err(|source| self.database(source))
    }

    fn database(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { path: self.path.clone(), source }
    }

    fn json(&self, what: &str, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|source| self.content(what, source))
    }

    fn parse<T: DeserializeOwned>(&self, what: &str, text: &str) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|source| self.content(what, source))
    }

    fn content(&self, what: &str, source: serde_json::Error) -> StoreError {
        StoreError::Content { path: self.path.clone(), what: what.to_owned(), source }
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let open = || {
        let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // Another connection to the same record holds it only for moments.
        db.busy_timeout(Duration::from_secs(30))?;
        Ok(db)
    };
    open().map_err(|source| StoreError::Database { path: path.to_owned(), source })
}

/// A database of which nobody can change a byte, its folder being read-only.
fn connect_immutable(path: &Path) -> Result<Connection, StoreError> {
    use std::os::unix::ffi::OsStrExt;
    let absolute = std::path::absolute(path).map_err(|source| StoreError::Io {
        action: "find",
        path: path.to_owned(),
        source,
    })?;
    let escaped = absolute.as_os_str().as_bytes().iter().map(|&byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => (byte as char).to_string(),
        _ => format!("%{byte:02x}"),
    });
    let uri = format!("file://{}?immutable=1", escaped.collect::<String>());
    connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Whether a record was begun in this database; an error where it is something else, or too new.
fn check_format(db: &Connection, path: &Path) -> Result<bool, StoreError> {
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let found = || -> rusqlite::Result<(i64, i64, i64)> {
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((number("application_id")?, number("user_version")?, tables))
    };
    match found() {
        Ok((APPLICATION, FORMAT, _)) => Ok(true),
        Ok((APPLICATION, found, _)) => Err(StoreError::Newer { path: path.to_owned(), found, known: FORMAT }),
        // A controller was killed before it began the record.
        Ok((0, 0, 0)) => Ok(false),
        Ok(_) => Err(StoreError::NotARecord { path: path.to_owned() }),
        Err(source) => match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Err(StoreError::NotARecord { path: path.to_owned() }),
            _ => Err(StoreError::Database { path: path.to_owned(), source }),
        },
    }
}

/// All of it in one transaction, the mark of a record included: a record is begun whole or not at all.
fn begin(db: &mut Connection, facts: &CampaignFacts) -> rusqlite::Result<()> {
    let json = |error: serde_json::Error| rusqlite::Error::ToSqlConversionFailure(error.into());
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(SCHEMA)?;
    for instance in &facts.instances {
        let text = serde_json::to_string(instance).map_err(json)?;
        transaction.execute("INSERT INTO instances (facts) VALUES (?1)", [text])?;
    }
    // The instances have rows of their own: with their ids they are by far the largest part.
    let rest = CampaignFacts { instances: Vec::new(), ..facts.clone() };
    let text = serde_json::to_string(&rest).map_err(json)?;
    transaction.execute("INSERT INTO facts (key, value) VALUES ('campaign', ?1)", [text])?;
    let version = env!("CARGO_PKG_VERSION");
    transaction.execute("INSERT INTO facts (key, value) VALUES ('mcc-harness', ?1)", [version])?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

fn read_facts(db: &Connection, path: &Path) -> Result<CampaignFacts, StoreError> {
    let database = |source| StoreError::Database { path: path.to_owned(), source };
    let content = |what: &str| {
        let (path, what) = (path.to_owned(), what.to_owned());
        move |source| StoreError::Content { path, what, source }
    };
    let text: String = db
        .query_row("SELECT value FROM facts WHERE key = 'campaign'", [], |row| row.get(0))
        .map_err(database)?;
    let mut facts: CampaignFacts = serde_json::from_str(&text).map_err(content("the campaign"))?;
    let mut statement = db.prepare("SELECT facts FROM instances ORDER BY position").map_err(database)?;
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).map_err(database)?;
    for text in rows {
        let text = text.map_err(database)?;
        facts.instances.push(serde_json::from_str(&text).map_err(content("an instance"))?);
    }
    Ok(facts)
}

/// Lists page by page: `fetch` gives what follows a key; ends at the first error.
fn pages<K: Clone, T>(
    start: K,
    mut fetch: impl FnMut(&K) -> Result<Vec<(K, T)>, StoreError>,
) -> impl Iterator<Item = Result<T, StoreError>> {
    let mut after = Some(start);
    let mut page = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if page.len() == 0 {
            match fetch(after.as_ref()?) {
                Ok(rows) => {
                    after = rows.last().map(|(key, _)| key.clone());
                    page = rows.into_iter();
                }
                Err(error) => {
                    after = None;
                    return Some(Err(error));
                }
            }
        }
        page.next().map(|(_, item)| Ok(item))
    })
}

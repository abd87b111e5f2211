//! `record.db` as a file: application id, format, tables, how it is opened.

use super::{CampaignFacts, StoreError};
use mcc_base::OnFile;
use mcc_base::text::percent_encoded;
use mcc_campaign::InstanceFacts;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

/// `MCCH`, SQLite's application id: distinguishes a record from other databases.
const APPLICATION_ID: i64 = 0x4d43_4348;
/// The newest format that this program reads, SQLite's user version. A record of a newer format is refused.
///
/// 5: the outcomes `disk-limit` and `instruction-limit`; the tables are those of 4.
/// 4: an attempt's `room` is named `environment`; the old key is still read, and rows keep it.
/// 3: what the summary of a million runs needs is indexed; the content is that of 2.
/// 2: table `reruns`; samples are files in the folder of the outputs.
/// 1: samples are in the attempts' facts.
///
/// Older records are read as they are, and upgraded when they are opened for writing.
pub(super) const FORMAT: i64 = 5;

/// The tables of format 1.
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

/// The table that format 2 added.
const RERUNS: &str = "
    CREATE TABLE reruns (
        run INTEGER NOT NULL REFERENCES runs (position),
        after INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (run, after)
    ) STRICT;
";

/// The columns and indices that format 3 added. Summaries read indices only, not the facts of each run and attempt,
/// which have some kilobytes. Not generated columns: SQLite does not use an index of them as covering.
const INDICES: &str = "
    ALTER TABLE runs ADD COLUMN model TEXT;
    CREATE INDEX runs_of_model ON runs (model, recorded);
    ALTER TABLE attempts ADD COLUMN ms INTEGER;
    CREATE INDEX ends ON attempts (run, number, outcome, ms);
    CREATE INDEX troubles ON attempts (outcome) WHERE outcome = 'infrastructure';
";

/// Fills the columns that format 3 added.
const FILL_INDICES: &str = "
    UPDATE runs SET model = json_extract(facts, '$.model');
    UPDATE attempts SET ms = json_extract(facts, '$.facts.boot_ms') + json_extract(facts, '$.facts.wall_ms');
";

/// Inserts a planned run (id, facts) unless it is planned already.
pub(super) const INSERT_RUN: &str = "
    INSERT INTO runs (id, facts, model) VALUES (?1, ?2, json_extract(?2, '$.model')) ON CONFLICT DO NOTHING";

/// Inserts an attempt: position of its run, number, word of its outcome, facts, `Attempt::total_ms`.
pub(super) const INSERT_ATTEMPT: &str =
    "INSERT INTO attempts (run, number, outcome, facts, ms) VALUES (?1, ?2, ?3, ?4, ?5)";

/// What made the tables and indices of a record, each with the first format that has it.
const STATEMENTS: [(i64, &str); 3] = [(1, SCHEMA), (2, RERUNS), (3, INDICES)];

/// The longest text or row that is read, in bytes. The longest of a record, the facts of a campaign or of an attempt of format
/// 1, have some megabytes. A text of short words needs up to ten times its length in memory.
const MAX_LENGTH: i32 = 32 << 20;

pub(super) fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let open = || {
        let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // Other connections to the same record lock it for milliseconds only.
        db.busy_timeout(Duration::from_secs(30))?;
        // A record may come from others: what is in the file must not run functions or change how it is read.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        db.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_LENGTH)?;
        Ok(db)
    };
    open().map_err(|source| StoreError::database(path, source))
}

/// Instructions of SQLite between two checks of the budget.
const BUDGET_STEP: u64 = 100_000;
/// Instructions that a reader of any record may use.
const MIN_BUDGET: u64 = 100_000_000;
/// Further instructions for each byte of the record. Verifying and judging a record take less than one for each byte.
const BUDGET_PER_BYTE: u64 = 100;

/// Bounds the work of all queries of a reader: in a file that was made for it, a short table can have rows without end.
pub(super) fn limit_work(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let bytes = path.metadata().on("read", path)?.len();
    let mut left = MIN_BUDGET.saturating_add(bytes.saturating_mul(BUDGET_PER_BYTE)) / BUDGET_STEP;
    let is_used_up = move || {
        left = left.saturating_sub(1);
        left == 0
    };
    db.progress_handler(BUDGET_STEP as i32, Some(is_used_up))
        .map_err(|source| StoreError::database(path, source))
}

/// Opens a database that no program changes: that of an archive, or one in a read-only folder. No other file is read with
/// it, such as a write-ahead log.
pub(super) fn connect_immutable(path: &Path) -> Result<Connection, StoreError> {
    use std::os::unix::ffi::OsStrExt;
    let absolute = std::path::absolute(path).on("find", path)?;
    let uri = format!("file://{}?immutable=1", percent_encoded(absolute.as_os_str().as_bytes(), b"/-_."));
    connect(Path::new(&uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

/// Returns the format of the record in this database, or None if the database is empty.
///
/// # Errors
/// The database is not a record, has a newer format, or its tables and indices are not those of its format.
pub(super) fn format_of(db: &Connection, path: &Path) -> Result<Option<i64>, StoreError> {
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let found = || -> rusqlite::Result<(i64, i64, BTreeSet<SchemaItem>)> {
        Ok((number("application_id")?, number("user_version")?, schema(db)?))
    };
    match found() {
        Ok((APPLICATION_ID, format @ 1..=FORMAT, found)) => {
            let expected = schema_of(format).map_err(|source| StoreError::database(path, source))?;
            match found.symmetric_difference(&expected).next() {
                Some(item) => {
                    Err(StoreError::Schema { path: path.to_owned(), format, item: item.name.clone() })
                }
                None => Ok(Some(format)),
            }
        }
        Ok((APPLICATION_ID, found, _)) => Err(StoreError::Refused(format!(
            "the record {} has format {found}, this mcc-harness reads formats up to {FORMAT}; use a newer mcc-harness",
            path.display()
        ))),
        // A controller was killed before it created the record.
        Ok((0, 0, items)) if items.is_empty() => Ok(None),
        Ok(_) => Err(StoreError::not_a_record(path)),
        Err(source) => Err(StoreError::database(path, source)),
    }
}

/// Rows that no version writes, each with the formats that have its columns: listings, summaries and counts would treat them
/// differently. Facts that are no JSON are refused where they are read. Facts of attempts, by far the largest part of a record,
/// are read once.
const INVALID_ROWS: [(RangeInclusive<i64>, &str, &str); 12] = [
    (1..=FORMAT, "SELECT 1 FROM pragma_foreign_key_check", "an attempt or a rerun is of no run"),
    (1..=FORMAT, "SELECT 1 FROM runs WHERE position < 1", "the position of a run is less than 1"),
    (
        1..=FORMAT,
        "SELECT 1 FROM runs WHERE recorded NOT IN (0, 1)",
        "the column `recorded` of a run is neither 0 nor 1",
    ),
    (
        1..=FORMAT,
        "SELECT 1 FROM runs WHERE recorded = 1 AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = position)",
        "a recorded run has no attempt",
    ),
    (
        1..=FORMAT,
        "SELECT 1 FROM attempts WHERE number NOT BETWEEN 1 AND 4294967295",
        "the number of an attempt is less than 1 or too large",
    ),
    (
        1..=2,
        "SELECT 1 FROM attempts
         WHERE CASE WHEN json_valid(facts) THEN outcome IS NOT json_extract(facts, '$.outcome') END",
        "the column `outcome` of an attempt differs from its facts",
    ),
    (
        3..=FORMAT,
        "SELECT 1 FROM attempts
         WHERE CASE WHEN json_valid(facts) THEN
             outcome IS NOT json_extract(facts, '$.outcome')
             OR ms IS NOT json_extract(facts, '$.facts.boot_ms') + json_extract(facts, '$.facts.wall_ms') END",
        "the column `outcome` or `ms` of an attempt differs from its facts",
    ),
    (
        2..=FORMAT,
        "SELECT 1 FROM reruns WHERE after NOT BETWEEN 1 AND 4294967295",
        "the number of an attempt before a rerun is less than 1 or too large",
    ),
    (
        2..=FORMAT,
        "SELECT 1 FROM reruns JOIN runs ON position = run
         WHERE recorded = 1 AND NOT EXISTS (SELECT 1 FROM attempts WHERE attempts.run = reruns.run AND number > after)",
        "a recorded run has no attempt after its rerun",
    ),
    (
        3..=FORMAT,
        "SELECT 1 FROM runs
         WHERE CASE WHEN json_valid(facts) THEN model IS NOT json_extract(facts, '$.model') END",
        "the column `model` of a run differs from its facts",
    ),
    (
        1..=FORMAT,
        "SELECT 1 FROM (SELECT json_extract(facts, '$.name') AS name FROM instances WHERE json_valid(facts))
         GROUP BY name HAVING count(*) > 1",
        "an instance is listed twice",
    ),
    (
        1..=FORMAT,
        "SELECT 1 FROM facts,
             json_each(CASE WHEN json_valid(facts.value) THEN facts.value ELSE '{}' END, '$.entries') AS entry
         WHERE facts.key = 'campaign' GROUP BY json_extract(entry.value, '$.entry') HAVING count(*) > 1",
        "an entry is listed twice",
    ),
];

/// Checks that each page of the file has one place, that indices agree with their tables, and that no row is invalid. In a
/// file that was made for it, one page can be many rows, or an index can list other rows than its table.
///
/// # Errors
/// They do not, or one is.
pub(super) fn check_integrity(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let found = db
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        .map_err(|source| StoreError::database(path, source))?;
    if found != "ok" {
        return Err(StoreError::Integrity { path: path.to_owned(), problem: found });
    }
    check_rows(db, path)
}

/// Checks that an archived record has no other facts than those of the campaign.
///
/// # Errors
/// It has some.
pub(super) fn check_archived(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let facts = "SELECT 1 FROM facts WHERE key NOT IN ('campaign', 'mcc-harness')";
    check_absent(db, path, facts, "the table `facts` has a row that no archive has")
}

fn check_absent(db: &Connection, path: &Path, query: &str, problem: &str) -> Result<(), StoreError> {
    let is_found = db.prepare(query).and_then(|mut query| query.exists([]));
    if is_found.map_err(|source| StoreError::database(path, source))? {
        return Err(StoreError::Integrity { path: path.to_owned(), problem: problem.to_owned() });
    }
    Ok(())
}

/// Checks that no row is one of `INVALID_ROWS`.
///
/// # Errors
/// One is.
pub(super) fn check_rows(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::database(path, source);
    let format: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    for (_, query, problem) in INVALID_ROWS.into_iter().filter(|(formats, ..)| formats.contains(&format)) {
        check_absent(db, path, query, problem)?;
    }
    Ok(())
}

/// A table, index, view or trigger of a database.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SchemaItem {
    name: String,
    kind: String,
    table: String,
    /// What made it, without the blanks that SQLite ignores; empty for an index that SQLite makes for a key.
    statement: String,
}

fn schema(db: &Connection) -> rusqlite::Result<BTreeSet<SchemaItem>> {
    let mut items = db.prepare("SELECT name, type, tbl_name, sql FROM sqlite_schema")?;
    let item = |row: &rusqlite::Row| {
        let statement: Option<String> = row.get(3)?;
        let statement = without_blanks(&statement.unwrap_or_default());
        Ok(SchemaItem { name: row.get(0)?, kind: row.get(1)?, table: row.get(2)?, statement })
    };
    items.query_map([], item)?.collect()
}

/// The schema of a record of this format, which is that of a database that its statements made.
fn schema_of(format: i64) -> rusqlite::Result<BTreeSet<SchemaItem>> {
    let db = Connection::open_in_memory()?;
    for (_, statements) in STATEMENTS.iter().filter(|(since, _)| *since <= format) {
        db.execute_batch(statements)?;
    }
    schema(&db)
}

/// A statement with one blank between two words and none elsewhere. The statements of a record quote no blanks.
fn without_blanks(statement: &str) -> String {
    let is_mark = |c: char| matches!(c, '(' | ')' | ',');
    let mut out = String::with_capacity(statement.len());
    for word in statement.split_ascii_whitespace() {
        if !out.is_empty() && !out.ends_with(is_mark) && !word.starts_with(is_mark) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The content of a JSON column.
pub(super) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Creates a record in one transaction, with the application id: a record is complete or absent.
pub(super) fn begin(db: &mut Connection, facts: &CampaignFacts) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, statements) in STATEMENTS {
        transaction.execute_batch(statements)?;
    }
    for instance in &facts.instances {
        transaction.execute("INSERT INTO instances (facts) VALUES (?1)", [json(instance)?])?;
    }
    // Each instance is a row of its own: with the property ids they are by far the largest part.
    let rest = CampaignFacts { instances: Vec::new(), ..facts.clone() };
    transaction.execute("INSERT INTO facts (key, value) VALUES ('campaign', ?1)", [json(&rest)?])?;
    let version = env!("CARGO_PKG_VERSION");
    transaction.execute("INSERT INTO facts (key, value) VALUES ('mcc-harness', ?1)", [version])?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Upgrades a record of the older format `from` to `FORMAT`.
pub(super) fn upgrade(db: &mut Connection, from: i64) -> rusqlite::Result<()> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, statements) in STATEMENTS.iter().filter(|(since, _)| *since > from) {
        transaction.execute_batch(statements)?;
    }
    if from < 3 {
        transaction.execute_batch(FILL_INDICES)?;
    }
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Reads all facts but the instances.
pub(super) fn read_campaign(db: &Connection, path: &Path) -> Result<CampaignFacts, StoreError> {
    let text: String = db
        .query_row("SELECT value FROM facts WHERE key = 'campaign'", [], |row| row.get(0))
        .map_err(|source| StoreError::database(path, source))?;
    serde_json::from_str(&text).map_err(|source| StoreError::content(path, "the campaign", source))
}

pub(super) fn read_facts(db: &Connection, path: &Path) -> Result<CampaignFacts, StoreError> {
    let mut facts = read_campaign(db, path)?;
    each_instance(db, path, |instance| facts.instances.push(instance))?;
    Ok(facts)
}

/// Calls `take` with one instance after the other, in the order of their rows.
pub(super) fn each_instance(
    db: &Connection,
    path: &Path,
    mut take: impl FnMut(InstanceFacts),
) -> Result<(), StoreError> {
    let database = |source| StoreError::database(path, source);
    let mut statement = db.prepare("SELECT facts FROM instances ORDER BY position").map_err(database)?;
    let mut rows = statement.query([]).map_err(database)?;
    while let Some(row) = rows.next().map_err(database)? {
        let text = row.get_ref(0).and_then(|text| Ok(text.as_str()?)).map_err(database)?;
        take(serde_json::from_str(text).map_err(|source| StoreError::content(path, "an instance", source))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Record;

    #[test]
    fn an_endless_query_is_interrupted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let db = connect(file.path(), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        limit_work(&db, file.path()).unwrap();
        let endless =
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let error = db.query_row(endless, [], |row| row.get::<_, i64>(0)).unwrap_err();
        let error = StoreError::database(file.path(), error);
        assert!(matches!(error, StoreError::Endless { .. }) && error.is_usage(), "{error}");
    }

    /// It would be neither open nor recorded: no listing has it.
    #[test]
    fn a_recorded_run_without_an_attempt_is_refused_in_every_format() {
        let path = Path::new("record.db");
        for format in 1..=FORMAT {
            let db = Connection::open_in_memory().unwrap();
            for (_, statements) in STATEMENTS.iter().filter(|(since, _)| *since <= format) {
                db.execute_batch(statements).unwrap();
            }
            db.pragma_update(None, "user_version", format).unwrap();
            db.execute_batch(
                "INSERT INTO runs (position, id, facts, recorded) VALUES (1, 'a', '{}', 1), (2, 'b', '{}', 0);
                 INSERT INTO attempts (run, number, outcome, facts) VALUES (1, 1, 'finished', '{\"outcome\":\"finished\"}')",
            )
            .unwrap();
            check_rows(&db, path).unwrap();
            db.execute("DELETE FROM attempts", []).unwrap();
            let error = check_rows(&db, path).unwrap_err().to_string();
            assert!(error.contains("a recorded run has no attempt"), "{format}: {error}");
        }
    }

    #[test]
    fn a_record_at_rest_is_read_as_immutable_from_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("2018 #1, 100 %?é");
        let facts = CampaignFacts {
            campaign: "edition = \"mcc-2018\"".into(),
            retries: 2,
            ..CampaignFacts::default()
        };
        drop(Record::create_or_open(&dir, &facts).unwrap());
        let path = dir.join("record.db");
        assert!(!dir.join("record.db-wal").exists(), "a closed record is one file");
        let db = connect_immutable(&path).unwrap();
        assert_eq!(format_of(&db, &path).unwrap(), Some(FORMAT));
        assert_eq!(read_facts(&db, &path).unwrap(), facts);
        db.execute("DELETE FROM facts", []).unwrap_err();
    }
}

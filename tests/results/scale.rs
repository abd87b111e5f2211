//! Results do not depend on the number of threads or on block sizes, and memory is bounded for large input.

use crate::support::data;
mod generated_record;
#[path = "../../benches/scale/synthetic.rs"]
mod synthetic;

use mcc_harness::benchkit::published::open;
use mcc_harness::benchkit::{Answers, Questions, Reading, Value};
use mcc_harness::edition::Edition;
use mcc_harness::judge::mcc::Judge;
use mcc_harness::judge::{record, source, write};
use mcc_harness::model::Net;
use mcc_harness::store::Record;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An allocator that counts the allocations of each thread.
struct Counting;

#[derive(Clone, Copy, Default)]
struct Counted {
    calls: usize,
    live: isize,
    peak: isize,
}

thread_local! {
    static COUNTED: Cell<Counted> = const { Cell::new(Counted { calls: 0, live: 0, peak: 0 }) };
}

fn count(calls: usize, bytes: isize) {
    let _ = COUNTED.try_with(|counted| {
        let Counted { calls: before, live, peak } = counted.get();
        let live = live + bytes;
        counted.set(Counted { calls: before + calls, live, peak: peak.max(live) });
    });
}

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as isize);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, -(layout.size() as isize));
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The result of `work` and the allocations of this thread in it.
fn counted<T>(work: impl FnOnce() -> T) -> (T, Counted) {
    COUNTED.set(Counted::default());
    let done = work();
    (done, COUNTED.get())
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

/// Judges with 1, 2 and 7 threads and asserts that all files are the same. Returns them.
fn judged_with_any_threads(judge: impl Fn(NonZeroUsize, &Path)) -> BTreeMap<String, Vec<u8>> {
    let mut judged = [1, 2, 7].map(|threads| {
        let dir = TempDir::new().unwrap();
        judge(NonZeroUsize::new(threads).unwrap(), dir.path());
        files(dir.path())
    });
    assert_eq!(judged[0].len(), 12);
    assert!(judged[0] == judged[1] && judged[0] == judged[2]);
    std::mem::take(&mut judged[0])
}

/// Writes a table twice, the second time with other names of instances, families and so other blocks.
fn twice(table: &Path, to: &Path) -> PathBuf {
    let mut rows = csv::Reader::from_reader(open(table).unwrap());
    let header = rows.headers().unwrap().clone();
    let rows: Vec<_> = rows.records().map(|row| row.unwrap()).collect();
    let mut doubled = csv::Writer::from_path(to).unwrap();
    doubled.write_record(&header).unwrap();
    for prefix in ["", "E001"] {
        for row in &rows {
            let cells = header.iter().zip(row).map(|(column, cell)| match column {
                "instance" | "family" => format!("{prefix}{cell}"),
                _ => cell.to_owned(),
            });
            doubled.write_record(cells).unwrap();
        }
    }
    doubled.flush().unwrap();
    to.to_owned()
}

#[test]
fn a_table_is_judged_to_the_same_bytes_on_any_thread_count() {
    let (answers, models) =
        (data::published("mcc/2018/answers.csv.gz"), data::published("mcc/2018/models.csv"));
    let made = TempDir::new().unwrap();
    let (answers, models) = [("answers.csv", answers), ("models.csv", models)]
        .map(|(name, table)| twice(&table, &made.path().join(name)))
        .into();
    let edition = Edition::load("mcc-2018").unwrap();
    let mut results = source::read_answers(&edition, &answers).unwrap();
    source::read_models(&edition, &mut results, &models).unwrap();
    let judge = Judge::new(&edition, results).unwrap();
    let files = judged_with_any_threads(|threads, dir| drop(write::write_by(&judge, dir, threads).unwrap()));
    let values = files["trusted.csv"].iter().filter(|byte| **byte == b'\n').count() - 1;
    assert_eq!(values, 2 * 110_799);
}

#[test]
fn a_record_is_judged_to_the_same_bytes_on_any_thread_count() {
    let folder = TempDir::new().unwrap();
    let results = folder.path().join("results");
    generated_record::make(&results, 200, 7);
    let made = Record::open_readonly(&results).unwrap();
    let edition = record::edition_of(&made).unwrap();
    let files = judged_with_any_threads(|threads, dir| {
        let results = record::read_record_by(&edition, &made, threads).unwrap();
        write::write_by(&Judge::new(&edition, results).unwrap(), dir, threads).unwrap();
    });
    assert_eq!(files["trusted.csv"].iter().filter(|byte| **byte == b'\n').count(), 1 + 5 * 4 * 16);
}

fn questions() -> Questions {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut questions = Questions::as_printed(edition.examination("CTLCardinality").unwrap().1);
    questions.ids = Some(synthetic::ids());
    questions
}

#[test]
fn the_block_size_does_not_change_the_answers_of_a_noisy_log() {
    let Some(real) = data::shared("mcc/real-output") else { return };
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    let made = synthetic::log(&real, 1 << 20, 100, 7, &path).unwrap();
    for block in [1, 7, 64, 4096, 1 << 16, 1 << 22] {
        let log = BufReader::with_capacity(block, File::open(&path).unwrap());
        let answers = Answers::read(log, &questions(), Reading::default()).unwrap();
        let found = answers.values.iter().zip(&answers.lines);
        let found: Vec<_> = found.map(|(v, line)| Some((*v.as_ref()? == Value::True, (*line)?))).collect();
        assert_eq!(found, made.last, "blocks of {block} bytes");
    }
}

#[test]
fn a_long_output_read_in_larger_blocks_gives_the_same_answers() {
    let Some(real) = data::shared("mcc/real-output") else { return };
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log");
    synthetic::log(&real, 1 << 20, 100, 7, &path).unwrap();
    // The last line is continued by the next copy of the part.
    let odd = "DO NOT COMPETE\nFORMULA Synthetic-PT-1-CTLCardinality-00 MAYBE\nFORMULA Synthetic-PT-1-CTL";
    let part = fs::read_to_string(&path).unwrap() + odd;
    fs::write(&path, part.repeat(33)).unwrap();
    let questions = questions();
    let at_once =
        Answers::read(BufReader::new(File::open(&path).unwrap()), &questions, Reading::default()).unwrap();
    assert!(at_once.anomalies_dropped > 0 && at_once.values.iter().all(Option::is_some));
    let from_file = Answers::read_file(&File::open(&path).unwrap(), &questions, Reading::default()).unwrap();
    assert_eq!(from_file, at_once);
}

#[test]
fn a_line_of_noise_costs_no_allocation() {
    let questions = questions();
    let allocated = |lines: usize| {
        let log = "parallel: This job succeeded:\nQuery is NOT satisfied.\n\n".repeat(lines / 3);
        // Small blocks, so that many lines continue in the next block.
        let log = BufReader::with_capacity(1 << 10, log.as_bytes());
        let (answers, counted) = counted(|| Answers::read(log, &questions, Reading::default()).unwrap());
        assert!(answers.is_empty());
        counted.calls
    };
    allocated(30);
    assert_eq!(allocated(300_000), allocated(3_000));
}

#[test]
fn memory_for_a_net_is_bounded_by_the_net_not_its_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("model.pnml");
    let read = |padding: u64| {
        let size = synthetic::net(500 * (400 + 12 * 62 + padding), padding as usize, 7, &path).unwrap();
        assert_eq!((size.places, size.transitions, size.arcs), (500, 500, 6000));
        let file = BufReader::with_capacity(1 << 16, File::open(&path).unwrap());
        let (net, counted) = counted(|| Net::read(file, "model.pnml").unwrap());
        (fs::metadata(&path).unwrap().len(), net, counted.peak)
    };
    let ((_, net, least), (bytes, padded, peak)) = (read(0), read(20_000));
    assert_eq!(net, padded);
    assert!(bytes > 10_000_000);
    assert!(
        peak < least + 100_000,
        "{peak} bytes at most for {bytes} of file, {least} without tool sections"
    );
}

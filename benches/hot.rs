//! Single steps of judging and reading, measured with criterion: `cargo bench --bench hot`.
//! The benchmark `scale` measures the ratios of docs/performance.md.

#[path = "scale/synthetic.rs"]
#[expect(dead_code, reason = "the benchmark `scale` uses whole editions")]
mod synthetic;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mcc_harness::benchkit::{Answers, Questions, Reading, Value};
use mcc_harness::edition::Edition;
use mcc_harness::judge::mcc::Judge;
use mcc_harness::judge::mcc::sensitivity::sensitivity;
use mcc_harness::judge::source;
use mcc_harness::model::Net;
use std::convert::Infallible;
use std::path::PathBuf;

fn published(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

fn data(path: &str) -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared");
    std::env::var_os("MCC_HARNESS_DATA").map_or_else(beside, PathBuf::from).join(path)
}

fn judging(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10);
    // The throughput is in positions, so that the years can be compared: 2025 is as fast as 2018 for each position.
    for (year, positions) in [(2018, 110_799), (2025, 224_455)] {
        let edition = Edition::load(&format!("mcc-{year}")).unwrap();
        let folder = published(&format!("mcc/{year}"));
        let read = || {
            let mut ballots = source::read_answers(&edition, &folder.join("answers.csv.gz")).unwrap();
            source::read_models(&edition, &mut ballots, &folder.join("models.csv")).unwrap();
            ballots
        };
        group.throughput(Throughput::Elements(positions));
        group.bench_function(format!("read the answers of {year}"), |bench| bench.iter(read));
        group.bench_function(format!("confidences and weights of {year}"), |bench| {
            bench.iter_batched(read, |ballots| Judge::new(&edition, ballots).unwrap(), BatchSize::PerIteration);
        });
        let judge = Judge::new(&edition, read()).unwrap();
        group.bench_function(format!("trusted values and points of {year}"), |bench| {
            bench.iter(|| judge.judge_blocks(|_| Ok::<(), Infallible>(())));
        });
        let judged = judge.judge_blocks(|_| Ok::<(), Infallible>(()));
        let Ok(totals) = judged;
        group.bench_function(format!("sensitivity of {year}"), |bench| {
            bench.iter(|| sensitivity(&judge, &totals, 16).unwrap());
        });
    }
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made");
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10);
    let edition = Edition::load("mcc-2018").unwrap();
    let mut questions = Questions::as_printed(edition.examination("CTLCardinality").unwrap().1);
    questions.ids = Some(synthetic::ids());
    for every in [12, 1000] {
        synthetic::log(&data("mcc/real-output"), 4 << 20, every, 1, &path).unwrap();
        let log = std::fs::read(&path).unwrap();
        group.throughput(Throughput::Bytes(log.len() as u64));
        group.bench_function(format!("a log, one result in {every} lines"), |bench| {
            bench.iter(|| Answers::read(&log[..], &questions, Reading::default()).unwrap());
        });
    }
    synthetic::net(4 << 20, 0, 1, &path).unwrap();
    let net = std::fs::read(&path).unwrap();
    group.throughput(Throughput::Bytes(net.len() as u64));
    group.bench_function("a net", |bench| bench.iter(|| Net::read(&net[..], "model.pnml").unwrap()));
    group.throughput(Throughput::Elements(1));
    let long = "9".repeat(24_000);
    group.bench_function("a number of 24,000 digits", |bench| bench.iter(|| long.parse::<Value>().unwrap()));
    group.finish();
}

criterion_group!(hot, judging, reading);
criterion_main!(hot);

use super::qualify::{Conditions, KINDS};
use super::run::stop_on_signal;
use super::terminal::{ERROR, GOOD, HEADING, Page, WARNING, note};
use super::{Exit, Failure, Format, print, word_of};
use mcc_base::names::EntryName;
use mcc_base::temporary;
use mcc_base::text::counted;
use mcc_campaign::benchkit::abridged;
use mcc_campaign::{Kind, Start};
use mcc_runner::qualify::paired::{CONFIDENCE, INSTRUCTIONS_LEVEL, POWER, PairedTest};
use mcc_runner::qualify::{
    Comparison, ComparisonReport, Contender, DifferentValues, Purpose, Qualification, RunComparison,
    Settings, Tests, ValueCount,
};
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Compare two images, or two settings of one, on the same runs: answers, instructions, times and memory.
///
/// A and B run one after the other on the same cores, with one run at a time. The report lists values that differ, and
/// tests whether instructions (if they can be counted), times and memory differ. Exits with 1 if a value differs. A against A (twice
/// the same image) shows how much measurements on this host differ by chance.
#[derive(clap::Args)]
pub struct Args {
    /// The first disk image, such as the version before a change.
    a: PathBuf,
    /// The second disk image.
    b: PathBuf,
    #[command(flatten)]
    conditions: Conditions,
    /// BK_TOOL of B, if it differs.
    #[arg(long, value_name = "T")]
    tool_b: Option<EntryName>,
    /// Folder of instance archives (NAME.tgz). Every instance is run.
    #[arg(long, value_name = "FOLDER")]
    instances: PathBuf,
    /// Number of repetitions of each run by each image.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u32).range(2..=1000))]
    repeat: u32,
    /// The kind of B, if it differs.
    #[arg(long, value_parser = word_of::<Kind>(KINDS))]
    kind_b: Option<Kind>,
    /// The private key for ssh, if A and B are original disks.
    #[arg(long, value_name = "FILE")]
    ssh_key: Option<PathBuf>,
    /// Keep the records in the folders A and B of this folder. After an interruption the same command continues.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// How machines start: each run boots, or each is restored from the saved state of a machine after its boot.
    #[arg(long, value_parser = word_of::<Start>(&["boot", "restore"]), default_value = "boot")]
    start: Start,
    /// Switch address randomization off in the guests and fix hash seeds (PYTHONHASHSEED=0), so that tools that depend on
    /// them have equal instructions. Not as in a contest; the runs are marked.
    #[arg(long)]
    deterministic: bool,
    /// Run although this host does not meet the contest's machine requirements.
    #[arg(long)]
    allow_degraded: bool,
    /// Also print the tests of every run.
    #[arg(long)]
    details: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let repetitions = NonZero::new(args.repeat).unwrap_or(NonZero::<u32>::MIN);
    let a = args.conditions.settings(Purpose::Comparison, &args.instances, repetitions, None)?;
    let a = Settings { start: args.start, deterministic: args.deterministic, ..a };
    let b = Settings {
        entry: args.tool_b.clone().unwrap_or_else(|| a.entry.clone()),
        kind: args.kind_b.unwrap_or(a.kind),
        ..a.clone()
    };
    let contender = |image, settings| {
        let runs = Qualification::new(settings)?;
        Ok::<_, Failure>(Contender { runs, image, ssh_key: args.ssh_key.as_deref() })
    };
    let comparison = Comparison {
        contenders: [contender(&args.a, a)?, contender(&args.b, b)?],
        allow_degraded: args.allow_degraded,
        stop: &*stop_on_signal()?,
        show_inputs: &print::inputs,
        show: &|number, all, run| stderr_line!("compare-runs: [{number}/{all}] {run}"),
    };
    let temporary = args.out.is_none().then(|| temporary::folder("mcc-compare-")).transpose()?;
    let out = args.out.as_deref().or(temporary.as_ref().map(tempfile::TempDir::path));
    let report = comparison.run(repetitions, out.unwrap_or(Path::new("")))?;
    print::result(args.format, &report, || {
        page(&report, args.details).print()?;
        if args.out.is_none() {
            note("the outputs of the runs were deleted; --out FOLDER keeps them");
        }
        Ok(())
    })?;
    Ok(if report.same_answers { Exit::Done } else { Exit::Failed })
}

/// Largest number of values that are shown without `--details`.
const MAX_VALUES: usize = 20;

fn page(report: &ComparisonReport, details: bool) -> Page {
    let mut page = Page::new();
    let ComparisonReport { edition, limit_s, repetitions, a, b, runs, .. } = report;
    let runs_text = counted(runs.len(), "run");
    let made = format!("by {edition}: {runs_text}, {repetitions} repetitions of each, limit {limit_s} s");
    page.item(0, "comparison", HEADING, &made);
    for (name, side) in [("A", a), ("B", b)] {
        page.item(0, name, HEADING, &format!("{}, {} ({})", side.image.display(), side.tool, side.kind));
    }
    if a == b {
        page.item(0, "note:", HEADING, "A and B are the same: every difference is by chance");
    }
    page.gap();
    let shown = if details { usize::MAX } else { MAX_VALUES };
    for different in report.different_values.iter().take(shown) {
        page.item(0, "error", ERROR, &values(different));
    }
    if let Some(more) = report.different_values.len().checked_sub(shown).filter(|more| *more > 0) {
        page.line(&format!("and {more} more; --details shows all"));
    }
    for run in runs {
        if let Some(reason) = run.not_compared {
            let ends = format!("A: {}; B: {}", run.a.ends.join(", "), run.b.ends.join(", "));
            page.item(0, "not timed", WARNING, &format!("{}: {reason}: {ends}", run.run));
        }
    }
    let compared = runs.iter().filter(|run| run.not_compared.is_none()).count();
    add_tests(&mut page, &format!("all {} together", counted(compared, "timed run")), &report.tests, 1);
    for run in runs.iter().filter(|run| details || differs(run, compared)) {
        add_tests(&mut page, &run.run, &run.tests, compared);
    }
    page.line(&format!(
        "In {:.0} % of comparisons, the intervals of times and memory all contain the true change; the interval of \
         instructions does in {:.2} %. Of single runs, only those are listed whose difference is too large to be expected by \
         chance among {}.",
        CONFIDENCE * 100.0,
        (1.0 - INSTRUCTIONS_LEVEL) * 100.0,
        counted(compared, "run")
    ));
    for reason in &report.not_counted {
        page.item(0, "condition", WARNING, &format!("instructions are not compared: {reason}"));
    }
    for (mark, count) in &report.conditions {
        page.item(0, "condition", WARNING, &format!("{mark} in {}", counted(*count, "repetition")));
    }
    if report.pairs_on_different_cores > 0 {
        let pairs = counted(report.pairs_on_different_cores, "pair");
        page.item(0, "condition", WARNING, &format!("A and B had different cores in {pairs}"));
    }
    let (label, style, text) = match report.different_values.len() {
        0 => ("same answers:", GOOD, format!("{} in all repetitions", counted(report.values, "value"))),
        n => ("different answers:", ERROR, format!("{n} of {}", counted(report.values, "value"))),
    };
    page.item(0, label, style, &text);
    page
}

/// Whether a metric of a run differs, as one of the tests of `compared` runs.
fn differs(run: &RunComparison, compared: usize) -> bool {
    let Tests { instructions, cpu_time, wall_time, memory } = run.tests;
    instructions.is_some_and(|test| test.instructions_differ(compared))
        || [cpu_time, wall_time, memory].into_iter().flatten().any(|test| test.differs(compared))
}

/// Adds the tests of the metrics. `compared`: the number of runs that are tested.
fn add_tests(page: &mut Page, scope: &str, tests: &Tests, compared: usize) {
    page.item(0, "instructions, times and memory", HEADING, &format!("of {scope}"));
    let text = tests.instructions.map_or("not known".to_owned(), |test| instructions(&test, compared));
    page.item(2, "instructions", HEADING, &text);
    for (name, test) in
        [("CPU time", tests.cpu_time), ("wall time", tests.wall_time), ("memory", tests.memory)]
    {
        let text = test.map_or("not known".to_owned(), |test| sentence(&test, compared));
        page.item(2, &format!("{name:<12}"), HEADING, &text);
    }
    page.gap();
}

/// The text about instructions at user addresses, which hardly depend on the load of the host.
fn instructions(test: &PairedTest, compared: usize) -> String {
    let PairedTest { pairs, change, interval: [low, high], p, spread, .. } = *test;
    let found = if test.instructions_differ(compared) { "" } else { "no difference found: " };
    format!(
        "{found}B executes {:.4} % {} (interval {:+.4} to {:+.4} %, {}). The spread of {pairs} pairs is {:.4} %; changes up \
         to {:.1} % are not reported",
        change.abs() * 100.0,
        more(change),
        low * 100.0,
        high * 100.0,
        probability(p),
        spread * 100.0,
        test.least_change() * 100.0
    )
}

fn more(change: f64) -> &'static str {
    if change < 0.0 { "less" } else { "more" }
}

fn probability(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

fn sentence(test: &PairedTest, compared: usize) -> String {
    let PairedTest { pairs, change, interval: [low, high], p, spread, detectable } = *test;
    let found = if test.differs(compared) { "" } else { "no difference found: " };
    let (more, p) = (more(change), probability(p));
    format!(
        "{found}B needs {:.1} % {more} (interval {:+.1} to {:+.1} %, {p}). With {pairs} pairs and this spread \
         ({:.1} %), {:.0} % of comparisons would find an increase of {:.1} %",
        change.abs() * 100.0,
        low * 100.0,
        high * 100.0,
        spread * 100.0,
        POWER * 100.0,
        detectable * 100.0
    )
}

fn values(different: &DifferentValues) -> String {
    let DifferentValues { run, position, difference, a, b } = different;
    let side = |counts: &[ValueCount]| {
        let count = |group: &ValueCount| {
            let value = group.value.as_deref().map_or("no value".to_owned(), abridged);
            format!("{value} ({})", counted(group.times, "time"))
        };
        counts.iter().map(count).collect::<Vec<_>>().join(", ")
    };
    format!("{run} {position}: {difference}. A: {}. B: {}", side(a), side(b))
}

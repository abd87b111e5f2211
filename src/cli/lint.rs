use super::{Exit, Failure, Format, print};
use crate::benchkit::{Answers, Questions, Reading};
use crate::edition::Edition;
use crate::model::{Archive, Severity};
use anyhow::anyhow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::PathBuf;

/// Check a tool's output against the answer protocol.
///
/// Prints what counts at every position, and every line that does not follow the protocol with the way out.
/// Exits with 1 if a line is wrong or there is no answer at all.
#[derive(clap::Args)]
pub struct Args {
    /// What the tool printed; `-` reads standard input.
    stdout: PathBuf,
    /// The instance it ran on: its archive (.tgz) or the archive unpacked. Without it ids are taken as printed.
    #[arg(long, value_name = "ARCHIVE")]
    instance: Option<PathBuf>,
    /// The examination, such as UpperBounds.
    #[arg(long, value_name = "NAME")]
    examination: String,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// Refuse values without TECHNIQUES.
    #[arg(long)]
    strict: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    let (_, examination) = edition.examination(&args.examination).ok_or_else(|| {
        let known: Vec<_> =
            edition.examinations.iter().map(|examination| examination.name.as_str()).collect();
        Failure::usage(anyhow!(
            "{} has no examination {}; it has {}",
            edition.name,
            args.examination,
            known.join(", ")
        ))
    })?;
    let questions = match &args.instance {
        Some(path) => {
            let archive = Archive::open(path).map_err(Failure::usage)?;
            Questions::of(&archive, examination).map_err(Failure::usage)?
        }
        None => Questions::as_printed(examination),
    };
    let source: Box<dyn BufRead> = match args.stdout.to_str() {
        Some("-") => Box::new(io::stdin().lock()),
        _ => Box::new(BufReader::new(File::open(&args.stdout).map_err(|e| unreadable(&args, e))?)),
    };
    let reading = Reading { strict: args.strict, published: false };
    let answers = Answers::read(source, &questions, reading).map_err(|e| unreadable(&args, e))?;
    match args.format {
        Format::Text => print::text(&as_text(&answers))?,
        Format::Json => print::raw(&as_json(&answers, &args.examination))?,
    }
    let wrong = answers.anomalies.iter().any(|anomaly| anomaly.kind.severity() == Severity::Error);
    Ok(if wrong || answers.is_empty() { Exit::Failed } else { Exit::Done })
}

fn unreadable(args: &Args, error: io::Error) -> Failure {
    let error = anyhow!(error)
        .context(format!("{}: cannot be read; name a tool's saved output", args.stdout.display()));
    Failure::usage(error)
}

fn as_text(answers: &Answers) -> String {
    let mut out = String::new();
    let width = answers.ids.iter().map(String::len).max().unwrap_or(0);
    for (position, id) in answers.ids.iter().enumerate() {
        let given_up = if answers.given_up[position] { "given up" } else { "not answered" };
        let value = answers.values[position].as_ref().map_or(given_up.to_owned(), |value| value.to_string());
        let line = answers.lines[position].map_or(String::new(), |line| format!("line {line}"));
        let techniques = answers.techniques[position].join(" ");
        let row = format!("{position:02}  {id:width$}  {value:12}  {line:11}  {techniques}");
        let _ = writeln!(out, "{}", row.trim_end());
    }
    if let Some(declared) = answers.declared {
        let _ = writeln!(out, "declared: {}", declared.keyword());
    }
    for anomaly in &answers.anomalies {
        let _ = writeln!(out, "line {}: {}: {}", anomaly.line, word(anomaly.kind.severity()), anomaly.kind);
    }
    if answers.anomalies_dropped > 0 {
        let _ = writeln!(out, "and {} more lines of this sort", answers.anomalies_dropped);
    }
    if answers.is_empty() {
        let _ = writeln!(out, "error: no well-formed answer: it counts as not computed (E-1.7)");
    }
    out
}

fn as_json(answers: &Answers, examination: &str) -> String {
    let values: Vec<_> = (0..answers.ids.len())
        .map(|position| {
            serde_json::json!({
                "position": format!("{position:02}"),
                "id": answers.ids[position],
                "value": answers.values[position],
                "given_up": answers.given_up[position],
                "line": answers.lines[position],
                "techniques": answers.techniques[position],
            })
        })
        .collect();
    let anomalies: Vec<_> = answers
        .anomalies
        .iter()
        .map(|anomaly| {
            serde_json::json!({
                "line": anomaly.line,
                "severity": anomaly.kind.severity(),
                "message": anomaly.kind.to_string(),
            })
        })
        .collect();
    let report = serde_json::json!({
        "examination": examination,
        "declared": answers.declared,
        "values": values,
        "anomalies": anomalies,
        "anomalies_dropped": answers.anomalies_dropped,
    });
    format!("{report:#}\n")
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

use super::{Exit, Failure, Format, print};
use crate::qualify::{Finding, Oracle, RunQuestions, check_output};
use anyhow::anyhow;
use mcc_benchkit::{Answers, Reading};
use mcc_edition::{Edition, Examination};
use mcc_model::{Archive, Severity};
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// Check a tool's output against the answer protocol.
///
/// Prints the value that counts at every position, and every line that violates the protocol with the fix.
/// Exits with 1 if there is an error or no answer. `qualify` makes the same checks on every run of a tool.
#[derive(clap::Args)]
pub struct Args {
    /// The file with the tool's output; `-` is standard input.
    stdout: PathBuf,
    /// The instance: its archive (.tgz), or the folder of the unpacked archive. Without it the ids of properties are not checked.
    #[arg(long, value_name = "ARCHIVE")]
    instance: Option<PathBuf>,
    /// The examination, such as UpperBounds.
    #[arg(long, value_name = "NAME")]
    examination: String,
    /// The rules: the name of an edition, or the path of an edition file.
    #[arg(long, value_name = "NAME|FILE", default_value = "mcc-2018")]
    edition: String,
    /// Known answers: trusted.csv of a judgement, or a folder of <Instance>.csv or <Instance>-<Examination>.out.
    #[arg(long, value_name = "FILE|FOLDER", requires = "instance")]
    oracle: Option<PathBuf>,
    /// Reject values without TECHNIQUES.
    #[arg(long)]
    strict: bool,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let edition = Edition::load(&args.edition).map_err(Failure::usage)?;
    let examination = examination(&edition, &args.examination)?;
    let run_questions = match &args.instance {
        Some(path) => {
            let archive = Archive::open(path).map_err(Failure::usage)?;
            let run_questions = RunQuestions::of(&archive, examination).map_err(Failure::usage)?;
            match args.oracle.as_deref().map(Oracle::open).transpose().map_err(Failure::usage)? {
                Some(oracle) => {
                    let run_questions =
                        run_questions.with(&oracle, archive.instance.as_str()).map_err(Failure::usage)?;
                    for unread in oracle.unread.iter().chain(&run_questions.unread) {
                        eprintln!("oracle: bad line: {}", print::escaped(unread));
                    }
                    let known = run_questions.expected.iter().flatten().count();
                    eprintln!("oracle: {known} of {} values are known", run_questions.expected.len());
                    run_questions
                }
                None => run_questions,
            }
        }
        None => RunQuestions::as_printed(examination),
    };
    let reading = Reading { strict: args.strict, published: false };
    let answers = match args.stdout.to_str() {
        Some("-") => Answers::read(io::stdin().lock(), &run_questions.questions, reading),
        _ => File::open(&args.stdout)
            .and_then(|file| Answers::read_file(&file, &run_questions.questions, reading)),
    };
    let answers = answers.map_err(|e| unreadable(&args, e))?;
    let findings = check_output(&answers, &run_questions);
    match args.format {
        Format::Text => print::text(&as_text(&answers, &findings))?,
        Format::Json => print::raw(&as_json(&answers, &findings, &args.examination))?,
    }
    let wrong = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if wrong || answers.is_empty() { Exit::Failed } else { Exit::Done })
}

/// The examination with this name.
pub(super) fn examination<'e>(edition: &'e Edition, name: &str) -> Result<&'e Examination, Failure> {
    edition.examination(name).map(|(_, examination)| examination).ok_or_else(|| {
        let known: Vec<_> =
            edition.examinations.iter().map(|examination| examination.name.as_str()).collect();
        Failure::usage(anyhow!("{} has no examination {name}; it has {}", edition.name, known.join(", ")))
    })
}

fn unreadable(args: &Args, error: io::Error) -> Failure {
    let error = anyhow!(error)
        .context(format!("{}: cannot be read; give a file with the output of a tool", args.stdout.display()));
    Failure::usage(error)
}

fn as_text(answers: &Answers, findings: &[Finding]) -> String {
    let mut out = String::new();
    let width = answers.ids.iter().map(String::len).max().unwrap_or(0);
    for (position, id) in answers.ids.iter().enumerate() {
        let no_value = if answers.cannot_compute[position] { "given up" } else { "not answered" };
        let value =
            answers.values[position].as_ref().map_or(no_value.to_owned(), std::string::ToString::to_string);
        let line = answers.lines[position].map_or(String::new(), |line| format!("line {line}"));
        let techniques = answers.techniques[position].join(" ");
        let row = format!("{position:02}  {id:width$}  {value:12}  {line:11}  {techniques}");
        let _ = writeln!(out, "{}", row.trim_end());
    }
    if let Some(declared) = answers.declared {
        let _ = writeln!(out, "declared: {}", declared.keyword());
    }
    for Finding { line, severity, rule, problem, fix, .. } in findings {
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        let _ = writeln!(out, "{place}{}: {problem}; {fix} ({rule})", severity_name(*severity));
    }
    if answers.is_empty() {
        let _ = writeln!(out, "error: no well-formed answer: it counts as not computed (E-1.7)");
    }
    out
}

fn as_json(answers: &Answers, findings: &[Finding], examination: &str) -> String {
    let values: Vec<_> = (0..answers.ids.len())
        .map(|position| {
            serde_json::json!({
                "position": format!("{position:02}"),
                "id": answers.ids[position],
                "value": answers.values[position],
                "given_up": answers.cannot_compute[position],
                "line": answers.lines[position],
                "techniques": answers.techniques[position],
            })
        })
        .collect();
    let report = serde_json::json!({
        "examination": examination,
        "declared": answers.declared,
        "values": values,
        "findings": findings,
    });
    format!("{report:#}\n")
}

pub(super) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

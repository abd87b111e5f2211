use super::ci_reports::CiReports;
use super::findings::label;
use super::record_source::{self, RecordSource};
use super::terminal::{ERROR, Page, next, note};
use super::{Exit, Failure, Format, print};
use anyhow::anyhow;
use mcc_base::files;
use mcc_base::names::RunId;
use mcc_base::suggest::hint;
use mcc_campaign::benchkit::{Answers, Reading, abridged};
use mcc_edition::{Edition, Examination};
use mcc_judge::record::{edition_of, run_hint_of};
use mcc_model::{Archive, Severity};
use mcc_runner::qualify::{Checked, Finding, Oracle, RunQuestions, check_output};
use mcc_store::{Outcome, Record, RecordedOutput, StoreError};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Check a tool's output against the answer protocol.
///
/// Prints the value that counts at every position, and every line that violates the protocol, with a fix.
/// Exits with 1 if there is an error or no answer. `qualify` makes the same checks on every run of a tool.
#[derive(clap::Args)]
pub struct Args {
    /// The file with the tool's output; `-` is standard input. With --run: a record (RESULTS) or an archive (`export
    /// --archive`).
    stdout: PathBuf,
    /// Check the output of this recorded run, ENTRY/INSTANCE/EXAMINATION. Edition and ids of properties are those of the
    /// record.
    #[arg(long, value_name = "ID", conflicts_with = "examination")]
    run: Option<RunId>,
    /// The instance: its archive (.tgz), or the folder of the unpacked archive. Without it the ids of properties are not checked.
    #[arg(long, value_name = "ARCHIVE")]
    instance: Option<PathBuf>,
    /// The examination, such as UpperBounds.
    #[arg(long, value_name = "NAME")]
    examination: Option<String>,
    /// The rules: the name of an edition, or the path of an edition file [default: mcc-2018; with --run that of the record].
    #[arg(long, value_name = "NAME|FILE")]
    edition: Option<String>,
    /// Known answers: trusted.csv of a judgement, or a folder of INSTANCE.csv or of oracle files (INSTANCE-SHORT.out, such
    /// as TokenRing-PT-005-CTLC.out). Needs --instance: answers are matched by its ids of properties.
    #[arg(long, value_name = "FILE|FOLDER", requires = "instance")]
    oracle: Option<PathBuf>,
    /// Reject values without TECHNIQUES.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    ci_reports: CiReports,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if args.run.is_none() && (args.stdout.is_dir() || record_source::is_archive(&args.stdout)) {
        return Err(Failure::usage(anyhow!(
            "{} is not the output of a tool; of a record or an archive give the run with --run ENTRY/INSTANCE/EXAMINATION",
            args.stdout.display()
        )));
    }
    Failure::usage_if(
        args.run.is_none() && args.examination.is_none(),
        "give the examination with --examination NAME",
    )?;
    let recorded = args.run.as_ref().map(|run| Recorded::open(&args.stdout, run)).transpose()?;
    let read = [
        args.instance.as_ref(),
        args.oracle.as_ref(),
        recorded.as_ref().map(|recorded| &recorded.stdout.path),
    ];
    let mut read: Vec<_> = read.into_iter().flatten().chain([&args.stdout]).cloned().collect();
    read.extend(args.edition.as_ref().map(PathBuf::from));
    args.ci_reports.check(&read)?;
    let edition = match (&args.edition, &recorded) {
        (Some(name), _) => Edition::load(name).map_err(Failure::usage)?,
        (None, Some(recorded)) => recorded.edition.clone(),
        (None, None) => Edition::load("mcc-2018").map_err(Failure::usage)?,
    };
    // One of the two is given.
    let of_run = args.run.as_ref().and_then(|run| run.rsplit('/').next());
    let name = args.examination.as_deref().or(of_run).unwrap_or_default();
    let examination = examination(&edition, name)?;
    let run_questions = match &args.instance {
        Some(path) => {
            let archive = Archive::open(path).map_err(Failure::usage)?;
            let run_questions = RunQuestions::read(&archive, examination).map_err(Failure::usage)?;
            match args.oracle.as_deref().map(Oracle::open).transpose().map_err(Failure::usage)? {
                Some(oracle) => {
                    let run_questions =
                        run_questions.with(&oracle, archive.instance.as_str()).map_err(Failure::usage)?;
                    for unread in oracle.unread.iter().chain(&run_questions.unread) {
                        stderr_line!("oracle: bad line: {}", print::escaped(unread));
                    }
                    let known = run_questions.expected.iter().flatten().count();
                    stderr_line!("oracle: {known} of {} values are known", run_questions.expected.len());
                    run_questions
                }
                None => run_questions,
            }
        }
        None => {
            let mut run_questions = RunQuestions::as_printed(examination);
            let ids = recorded.as_ref().and_then(|recorded| recorded.ids.clone());
            run_questions.questions.ids = run_questions.questions.ids.or(ids);
            if run_questions.questions.total.is_some() && run_questions.questions.ids.is_none() {
                return Err(Failure::usage(anyhow!(
                    "{name} has a question for each transition or place, so its ids are those of the net; give the archive \
                     of the instance (.tgz), or its unpacked folder, with --instance ARCHIVE"
                )));
            }
            run_questions
        }
    };
    let reading = Reading { strict: args.strict, published: false };
    // In a contest, an output can be as long as this limit.
    let most = edition.limits.output_bytes;
    let read = |source: &mut dyn Read| {
        let mut output = source.take(most.saturating_add(1));
        let answers = Answers::read_file(&mut output, &run_questions.questions, reading)?;
        if output.limit() == 0 {
            return Err(io::Error::other(format!(
                "it is longer than {most} bytes, the limit of {}",
                edition.name
            )));
        }
        Ok(answers)
    };
    let path = recorded.as_ref().map_or(&args.stdout, |recorded| &recorded.stdout.path);
    let remedy =
        if recorded.is_some() { "restore the file" } else { "give a file with the output of a tool" };
    let answers = match &recorded {
        None if args.stdout.as_os_str() == "-" => read(&mut io::stdin()),
        None => files::open(&args.stdout).and_then(|mut file| read(&mut file)),
        Some(recorded) => recorded.stdout.read(read),
    };
    let answers = answers.map_err(|error| {
        Failure::usage(anyhow!(error).context(format!("{}: cannot be read; {remedy}", path.display())))
    })?;
    let findings = check_output(&answers, &run_questions);
    match args.format {
        Format::Text => {
            let ids_are_known = run_questions.questions.ids.is_some();
            page(&answers, &findings, ids_are_known).print()?;
            if !ids_are_known {
                note(
                    "without the instance, ids of properties and missing answers are not checked; give its archive (.tgz), or \
                     its unpacked folder, with --instance ARCHIVE",
                );
            }
            if let Some(finding) = findings.first() {
                next(&format!("`mcc-harness rule {}` prints a rule by its code", finding.rule));
            }
        }
        Format::Json => print::raw(&as_json(&answers, &findings, name))?,
    }
    let file = if args.stdout.as_os_str() == "-" { "stdin".into() } else { args.stdout.to_string_lossy() };
    args.ci_reports.write(&Checked {
        name: "lint".to_owned(),
        runs: vec![args.run.as_ref().map_or_else(|| name.to_owned(), ToString::to_string)],
        findings: &findings,
        file: recorded.is_none().then_some(&*file),
    })?;
    let wrong = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if wrong || answers.is_empty() { Exit::Failed } else { Exit::Done })
}

/// The output of a recorded run.
struct Recorded {
    stdout: RecordedOutput,
    edition: Edition,
    /// The ids of the properties.
    ids: Option<Vec<String>>,
    /// The files of an archive, which are removed with this value.
    _source: RecordSource,
}

impl Recorded {
    fn open(input: &Path, run: &RunId) -> Result<Self, Failure> {
        let outputs = Path::new("outputs").join(&**run);
        let wanted = |path: &Path| path == Path::new("record.db") || path.starts_with(&outputs);
        let source = record_source::open_part(input, &wanted)?;
        let record = Record::open_readonly(&source.folder).map_err(Failure::usage)?;
        let edition = edition_of(&record).map_err(Failure::usage)?;
        let attempts = match record.attempts(run) {
            Err(error @ StoreError::UnknownRun { .. }) => {
                let hint = run_hint_of(&record, run).map_err(Failure::usage)?;
                return Err(Failure::usage(anyhow!("{error}{hint}")));
            }
            attempts => attempts.map_err(Failure::usage)?,
        };
        let last =
            attempts.iter().rfind(|attempt| attempt.outputs.iter().any(|output| output.role == "stdout"));
        let Some(last) = last else {
            let outcome = match attempts.last().map(|attempt| &attempt.outcome) {
                None => "it is not recorded yet".to_owned(),
                Some(Outcome::NotCompeting) => "the entry did not compete in it".to_owned(),
                Some(outcome) => format!("its outcome is {outcome}"),
            };
            return Err(Failure::usage(anyhow!(
                "{}: {run} has no output: {outcome}; `mcc-harness export RECORD --classes FILE` lists the runs with an \
                 output",
                input.display()
            )));
        };
        let mut names = run.split('/').skip(1);
        let (instance, examination) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        let facts = record.facts().instances.iter().find(|facts| facts.name.as_str() == instance);
        let ids = facts.and_then(|facts| facts.questions.get(examination)).cloned();
        let stdout = record.output(last, "stdout").map_err(Failure::usage)?;
        Ok(Self { stdout, edition, ids, _source: source })
    }
}

/// The examination with this name.
pub(super) fn examination<'e>(edition: &'e Edition, name: &str) -> Result<&'e Examination, Failure> {
    edition.examination(name).map(|(_, examination)| examination).ok_or_else(|| {
        let known: Vec<_> =
            edition.examinations.iter().map(|examination| examination.name.as_str()).collect();
        let near = hint(name, known.iter().copied());
        Failure::usage(anyhow!(
            "{} has no examination {name}; it has {}{near}",
            edition.name,
            known.join(", ")
        ))
    })
}

/// `ids_are_known`: without the ids of the contest, the printed ones have no positions.
fn page(answers: &Answers, findings: &[Finding], ids_are_known: bool) -> Page {
    let mut page = Page::new();
    let mut out = String::new();
    let width = answers.ids.iter().map(String::len).max().unwrap_or(0);
    for (position, id) in answers.ids.iter().enumerate() {
        let no_value = if answers.cannot_compute[position] {
            "not computed"
        } else if answers.is_rejected(position) {
            "rejected"
        } else {
            "not answered"
        };
        let interval = answers.intervals[position].as_ref().map(ToString::to_string);
        let value = answers.values[position].as_ref().map(ToString::to_string);
        let value = value.or(interval);
        let value = value.map_or_else(|| no_value.to_owned(), |value| abridged(&value));
        let line = answers.line(position).map_or(String::new(), |line| format!("line {line}"));
        let techniques = answers.techniques[position].join(" ");
        let position = if ids_are_known { format!("{position:02}  ") } else { String::new() };
        let row = format!("{position}{id:width$}  {value:12}  {line:11}  {techniques}");
        let _ = writeln!(out, "{}", row.trim_end());
    }
    page.lines(&out);
    match answers.declared {
        Some(_) if answers.declared_by_position => {
            let given_up = answers.cannot_compute.iter().filter(|is_given_up| **is_given_up).count();
            let rest = match answers.ids.len() - given_up {
                0 => String::new(),
                rest => format!("; not answered: {rest}"),
            };
            page.line(&format!(
                "no value computed; CANNOT_COMPUTE: {given_up} of {}{rest}",
                answers.ids.len()
            ));
        }
        Some(declared) => page.line(&format!("declared: {}", declared.keyword())),
        None => {}
    }
    for Finding { line, severity, rule, problem, fix, .. } in findings {
        let place = line.map_or(String::new(), |line| format!("line {line}: "));
        let (label, style) = label(*severity);
        page.item(0, &format!("{place}{label}:"), style, &format!("{problem}; {fix} ({rule})"));
    }
    if answers.is_empty() {
        page.item(0, "error:", ERROR, "no well-formed answer: the run counts as not computed (E-1.7)");
    }
    page
}

fn as_json(answers: &Answers, findings: &[Finding], examination: &str) -> String {
    let values: Vec<_> = (0..answers.ids.len())
        .map(|position| {
            serde_json::json!({
                "position": format!("{position:02}"),
                "id": answers.ids[position],
                "value": answers.values[position],
                "interval": answers.intervals[position],
                "given_up": answers.cannot_compute[position],
                "line": answers.line(position),
                "techniques": answers.techniques[position],
            })
        })
        .collect();
    let report = serde_json::json!({
        "examination": examination,
        "declared": answers.declared.filter(|_| !answers.declared_by_position),
        "values": values,
        "findings": findings,
    });
    format!("{report:#}\n")
}

use super::record_source::open_judgement;
use super::terminal::{argument, next};
use super::{Exit, Failure, Format, TOO_LARGE, print};
use anyhow::anyhow;
use mcc_base::suggest::hint;
use mcc_campaign::benchkit::STATE_SPACE;
use mcc_judge::explain::{ExplainError, Explanation, PositionAnswer, ToolExplanation, explain, explain_tool};
use mcc_judge::judgement::{Judgement, ValueVerdict};
use serde::Serialize;
use std::fmt::Display;
use std::num::IntErrorKind;
use std::path::PathBuf;

/// Explain a trusted value, or the points of a tool.
///
/// With --instance and --examination: the answer and confidence of every entry, the case of rule E-3.1 that decided, and
/// the points. With --tool: the points of the tool, its wrong values, the models on which it lost most points, and the
/// right values that no other tool gave.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that `judge --out` wrote, or an archive (`export --archive`).
    #[arg(value_name = "DIR|ARCHIVE")]
    dir: PathBuf,
    /// The instance, such as TokenRing-PT-005 (SV-COMP: the task; CRV: the benchmark).
    #[arg(long, value_name = "NAME", requires = "examination")]
    instance: Option<String>,
    /// The examination, such as UpperBounds (SV-COMP: the category; CRV: the track).
    #[arg(long, value_name = "NAME", requires = "instance", conflicts_with = "tool")]
    examination: Option<String>,
    /// The position, counted from 00, or its name, such as STATES [default: all].
    #[arg(long, value_name = "N", value_parser = position, requires = "instance", conflicts_with = "tool")]
    position: Option<usize>,
    /// The tool or variant as submitted, such as LoLA.
    #[arg(long, value_name = "NAME", conflicts_with = "instance")]
    tool: Option<String>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn position(text: &str) -> Result<usize, String> {
    let named = STATE_SPACE.iter().position(|name| *name == text);
    let near = hint(text, STATE_SPACE.iter().copied());
    let problem = || format!("it is neither a whole number nor one of {}{near}", STATE_SPACE.join(", "));
    match (named, text.parse::<usize>()) {
        (Some(named), _) => Ok(named),
        (None, Ok(number)) => Ok(number),
        (None, Err(error)) if *error.kind() == IntErrorKind::PosOverflow => Err(TOO_LARGE.to_owned()),
        _ => Err(problem()),
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    if args.instance.is_none() && args.tool.is_none() {
        return Err(Failure::usage(anyhow!(
            "nothing to explain is named; give --instance NAME and --examination NAME for a value, or --tool NAME for the \
             points of a tool"
        )));
    }
    // Without --tool both are given: the options require each other.
    let (instance, examination) = (args.instance.unwrap_or_default(), args.examination.unwrap_or_default());
    let source = open_judgement(&args.dir, &|path| path.starts_with("judgement"))?;
    if let Some(judgement) = mcc_other_contests::Judgement::read(&source.folder).map_err(Failure::usage)? {
        if args.position.is_some() {
            return Err(Failure::usage(anyhow!(
                "--position is for judgements of the MCC; an instance has one verdict here"
            )));
        }
        if let Some(tool) = &args.tool {
            return show(mcc_other_contests::explain_tool(&judgement, tool), args.format);
        }
        return show(mcc_other_contests::explain(&judgement, &instance, &examination), args.format);
    }
    let judgement = Judgement::read(&source.folder).map_err(Failure::usage)?;
    let folder = argument(&args.dir);
    if let Some(tool) = &args.tool {
        let explained = explain_tool(&judgement, tool).map_err(Failure::usage)?;
        let question = after_tool(&folder, &explained);
        return show(Ok(explained), args.format).inspect(|_| question.iter().for_each(|text| next(text)));
    }
    let explained = explain(&judgement, &instance, &examination, args.position).map_err(Failure::usage)?;
    let question = after_value(&folder, &explained, args.position);
    show(Ok(explained), args.format).inspect(|_| question.iter().for_each(|text| next(text)))
}

/// The question that usually follows the points of a tool: why its most costly value is wrong, or else a value that no
/// other tool gave.
fn after_tool(folder: &str, explained: &ToolExplanation) -> Option<String> {
    let wrong = explained.wrong.first().map(|value| (&value.instance, &value.examination, value.position));
    let unique = explained.unique.first().map(|value| (&value.instance, &value.examination, value.position));
    let (instance, examination, position) = wrong.or(unique)?;
    Some(format!(
        "mcc-harness explain {folder} --instance {} --examination {} --position {position}",
        argument(instance),
        argument(examination)
    ))
}

/// The question that usually follows a value: what else the first entry with a wrong value lost. After all values of an
/// examination: the first of them that an entry has wrong.
fn after_value(folder: &str, explained: &Explanation, position: Option<usize>) -> Option<String> {
    let wrong = |answer: &&PositionAnswer| answer.verdict == ValueVerdict::Wrong;
    let mut found = explained.positions.iter();
    let (at, answer) = found.find_map(|value| Some((value.position, value.answers.iter().find(wrong)?)))?;
    Some(match position {
        Some(_) => format!("mcc-harness explain {folder} --tool {}", argument(&answer.entry)),
        None => format!(
            "mcc-harness explain {folder} --instance {} --examination {} --position {at}",
            argument(&explained.instance),
            argument(&explained.examination)
        ),
    })
}

fn show<T: Display + Serialize>(explained: Result<T, ExplainError>, format: Format) -> Result<Exit, Failure> {
    let explained = explained.map_err(Failure::usage)?;
    print::result(format, &explained, || print::text(&explained.to_string()))?;
    Ok(Exit::Done)
}

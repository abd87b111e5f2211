//! A small explicit-state checker for P/T nets: an example of a tool, and a tool with known answers for tests.
//!
//! BenchKit starts it in the folder of the unpacked instance. It reads the variables BK_EXAMINATION and BK_INPUT, the
//! files `model.pnml` and `<Examination>.xml`, and prints each answer as soon as it is found.

mod answers;
mod check;
mod ctl;
mod global;
mod net;
mod query;
mod space;
mod walk;

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mcc_model::{Expr, Formula, ModelError, Net, NetKind, Property};

use answers::{Answer, Answers};
use global::Global;
use net::{Compiled, TooManyTokens};
use query::{Queries, QueryError};
use space::Order;

const USAGE: &str = "\
An explicit-state checker for P/T nets

Usage: mcc-reference-tool --strategy <STRATEGY> [--max-states N] [--seed N] [--steps N]

  --strategy <STRATEGY>  bfs: breadth-first; dfs: depth-first; walk: a random walk, which prints only proven answers;
                         liar: breadth-first, with wrong answers at positions 01, 05, 09 and 13
  --max-states <N>       Stop when more markings than this are reachable; 0: no limit [default: 2000000]
  --seed <N>             Seed of the random walk [default: 1]
  --steps <N>            Length of the random walk, in firings [default: 100000]
";

struct Args {
    strategy: Strategy,
    /// 0: no limit.
    max_states: usize,
    seed: u64,
    steps: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Bfs,
    Dfs,
    Walk,
    Liar,
}

impl Args {
    /// Reads `--NAME VALUE` pairs. None: `--help`.
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut strategy = None;
        let (mut max_states, mut seed, mut steps) = (2_000_000, 1, 100_000);
        while let Some(option) = words.next() {
            if ["-h", "--help"].contains(&option.as_str()) {
                return Ok(None);
            }
            let value = words.next().ok_or_else(|| format!("{option} has no value"))?;
            let wrong = || format!("{option} {value}: not a valid value");
            match option.as_str() {
                "--strategy" => {
                    strategy = Some(match value.as_str() {
                        "bfs" => Strategy::Bfs,
                        "dfs" => Strategy::Dfs,
                        "walk" => Strategy::Walk,
                        "liar" => Strategy::Liar,
                        _ => return Err(wrong()),
                    });
                }
                "--max-states" => max_states = value.parse().map_err(|_| wrong())?,
                "--seed" => seed = value.parse().map_err(|_| wrong())?,
                "--steps" => steps = value.parse().map_err(|_| wrong())?,
                _ => return Err(format!("unknown option {option}")),
            }
        }
        let strategy = strategy.ok_or("--strategy is missing")?;
        Ok(Some(Self { strategy, max_states, seed, steps }))
    }
}

#[derive(Debug, thiserror::Error)]
enum ToolError {
    #[error("BK_EXAMINATION is not set: start this tool as BenchKit does")]
    NoExamination,
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    TooManyTokens(#[from] TooManyTokens),
    #[error("cannot print: {0}")]
    Print(#[from] io::Error),
}

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(Some(args)) => args,
        Ok(None) => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprint!("mcc-reference-tool: {problem}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mcc-reference-tool: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), ToolError> {
    let examination = std::env::var("BK_EXAMINATION").map_err(|_| ToolError::NoExamination)?;
    let instance = std::env::var("BK_INPUT").unwrap_or_default();
    let mut out = io::stdout().lock();
    writeln!(out, "mcc-reference-tool: {examination} of {instance}")?;
    let supported = match examination.as_str() {
        // A walk proves neither a maximum nor a number.
        "StateSpace" | "UpperBounds" => args.strategy != Strategy::Walk,
        "ReachabilityDeadlock" | "ReachabilityCardinality" | "ReachabilityFireability" => true,
        // In 2019 all of them were GlobalProperties, with the deadlock only; from 2020 on one examination each.
        "GlobalProperties" | "OneSafe" | "StableMarking" | "QuasiLiveness" | "Liveness" => true,
        "CTLCardinality" | "CTLFireability" => true,
        _ => false,
    };
    if !supported {
        return decline(out);
    }
    let path = Path::new("model.pnml");
    let file = File::open(path).map_err(|error| ToolError::File { path: path.to_owned(), error })?;
    let net = Net::read(BufReader::new(file), "model.pnml")?;
    if net.kind == NetKind::Coloured {
        return decline(out);
    }
    let compiled = Compiled::new(&net);
    let order = if args.strategy == Strategy::Dfs { Order::Depth } else { Order::Breadth };
    let liar = args.strategy == Strategy::Liar;
    if examination == "StateSpace" {
        return check::state_space(&compiled, order, args.max_states, Answers::of_state_space(out, liar));
    }
    if let Some(mut global) = Global::for_examination(&examination, &compiled) {
        let answers = Answers::of_formulas(out, [examination.as_str()], liar);
        return match args.strategy {
            Strategy::Walk => {
                walk::walk(&compiled, args.seed, args.steps, answers, |marking, enabled, out| {
                    match global.visit(marking, enabled) {
                        Some(truth) => out.give(0, Answer::Truth(truth)),
                        None => Ok(()),
                    }
                })
            }
            _ => check::global(&compiled, global, order, args.max_states, answers),
        };
    }
    let properties = properties(&examination)?;
    let queries = Queries::new(&net, &properties)?;
    let ids = properties.iter().map(|property| property.id.as_str());
    let answers = Answers::of_formulas(out, ids, liar);
    match args.strategy {
        Strategy::Walk => walk::walk(&compiled, args.seed, args.steps, answers, |marking, enabled, out| {
            walk::give_found(&queries, marking, enabled, out)
        }),
        _ => check::properties(&compiled, &queries, order, args.max_states, answers),
    }
}

fn decline(mut out: impl Write) -> Result<(), ToolError> {
    Ok(writeln!(out, "DO_NOT_COMPETE")?)
}

/// Reads `<Examination>.xml`. From 2020 on there is none for ReachabilityDeadlock, whose id is the examination's name.
fn properties(examination: &str) -> Result<Vec<Property>, ToolError> {
    let name = format!("{examination}.xml");
    match fs::read_to_string(&name) {
        Ok(text) => Ok(Property::read_set(&text, &name)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound && examination == "ReachabilityDeadlock" => {
            let deadlock = Expr::ExistsPath(Box::new(Expr::Finally(Box::new(Expr::Deadlock))));
            Ok(vec![Property { id: examination.to_owned(), formula: Formula::Boolean(Box::new(deadlock)) }])
        }
        Err(error) => Err(ToolError::File { path: name.into(), error }),
    }
}

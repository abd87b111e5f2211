//! The command line. One file per command: it parses arguments, calls the library and prints the result.

// `eprintln!` panics where stderr was closed; `stderr_line!` does not.
#![deny(clippy::print_stderr)]

/// Prints a line to stderr. A command must go on where stderr was closed, as by a lost connection.
macro_rules! stderr_line {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($text)*);
    }};
}

mod accept;
mod cancel;
mod certify;
mod check;
mod ci_reports;
mod collect;
mod compare_campaigns;
mod compare_runs;
mod completions;
mod convert_proof;
mod demo;
mod doctor;
mod edition;
mod evidence;
mod examples;
mod explain;
mod export;
mod failure;
mod findings;
mod image;
mod import;
mod judge;
mod judge_inputs;
mod judge_other;
mod judge_print;
mod lint;
mod man;
mod measure;
mod outputs;
mod plan;
mod print;
mod progress;
mod qualify;
mod rate;
mod record_source;
mod replay;
mod report;
mod rule;
mod run;
mod shard;
mod shrink;
mod status;
mod submission;
mod submit;
mod terminal;
mod verify;

pub use failure::Failure;
pub use mcc_checker::command::Format;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use mcc_checker::command::{CertificateArgs, WitnessArgs};
use mcc_runner::CampaignEnd;
use nix::sys::stat::Mode;
use serde::de::DeserializeOwned;
use serde::de::value::StringDeserializer;
use std::num::{IntErrorKind, ParseIntError};

/// Runs and scores the Model Checking Contest.
///
/// The program mcc-check, which is installed beside it, contains only the checkers of evidence and an
/// explorer that decides values again.
#[derive(Parser)]
#[command(name = "mcc-harness", version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a check failed or the result is incomplete; 2 wrong usage or bad \
                          input; 69 this host cannot run it; 70 a bug of the program; 130 ended at once by \
                          a second signal.\n\
                          A code such as E-1.7 is a rule of the contest: `mcc-harness rule E-1.7` prints it. Terms and \
                          messages are explained in docs/glossary.md and docs/troubleshooting.md; the Debian package \
                          has docs in /usr/share/doc/mcc-harness.";

#[derive(Subcommand)]
enum Command {
    Doctor(doctor::Args),
    Edition(edition::Args),
    Rule(rule::Args),
    Plan(plan::Args),
    Run(run::Args),
    Submit(submit::Args),
    Status(status::Args),
    Cancel(cancel::Args),
    Collect(collect::Args),
    #[command(hide = true)]
    Shard(shard::Args),
    Judge(judge::Args),
    Certify(certify::Args),
    CheckWitness(WitnessArgs),
    CheckCertificate(CertificateArgs),
    ConvertProof(convert_proof::Args),
    Report(report::Args),
    Explain(explain::Args),
    Qualify(qualify::Args),
    CompareRuns(compare_runs::Args),
    CompareCampaigns(compare_campaigns::Args),
    Shrink(shrink::Args),
    Rate(rate::Args),
    Lint(lint::Args),
    Image(image::Args),
    Export(export::Args),
    Import(import::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    Demo(demo::Args),
    Man(man::Args),
    Completions(completions::Args),
}

/// The exit codes of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what was requested.
    Done = 0,
    /// A check failed, or the result is incomplete.
    Failed = 1,
    /// Wrong arguments or bad input.
    Usage = 2,
    /// This host cannot run the command (EX_UNAVAILABLE).
    HostCannot = 69,
    /// A bug of the program, such as a panic (EX_SOFTWARE).
    Bug = 70,
}

impl From<CampaignEnd> for Exit {
    /// A script that judges next needs to know whether all requested runs are recorded.
    fn from(end: CampaignEnd) -> Self {
        match end {
            CampaignEnd::Complete => Exit::Done,
            CampaignEnd::Infrastructure | CampaignEnd::Stopped | CampaignEnd::Held => Exit::Failed,
        }
    }
}

impl Command {
    fn run(self) -> Result<Exit, Failure> {
        match self {
            Self::Doctor(args) => doctor::run(args),
            Self::Edition(args) => edition::run(args),
            Self::Rule(args) => rule::run(args),
            Self::Plan(args) => plan::run(args),
            Self::Run(args) => run::run(args),
            Self::Submit(args) => submit::run(args),
            Self::Status(args) => status::run(args),
            Self::Cancel(args) => cancel::run(args),
            Self::Collect(args) => collect::run(args),
            Self::Shard(args) => shard::run(args),
            Self::Judge(args) => judge::run(args),
            Self::Certify(args) => certify::run(args),
            Self::CheckWitness(args) => check::show(args.check()),
            Self::CheckCertificate(args) => check::show(args.check()),
            Self::ConvertProof(args) => convert_proof::run(args),
            Self::Report(args) => report::run(args),
            Self::Explain(args) => explain::run(args),
            Self::Qualify(args) => qualify::run(args),
            Self::CompareRuns(args) => compare_runs::run(args),
            Self::CompareCampaigns(args) => compare_campaigns::run(args),
            Self::Shrink(args) => shrink::run(args),
            Self::Rate(args) => rate::run(args),
            Self::Lint(args) => lint::run(args),
            Self::Image(args) => image::run(args),
            Self::Export(args) => export::run(args),
            Self::Import(args) => import::run(args),
            Self::Verify(args) => verify::run(args),
            Self::Replay(args) => replay::run(args),
            Self::Demo(args) => demo::run(args),
            Self::Man(args) => man::run(args),
            Self::Completions(args) => completions::run(args),
        }
    }

    /// Whether it makes a folder of results, or files in one.
    fn writes_a_record(&self) -> bool {
        matches!(
            self,
            Self::Run(_)
                | Self::Submit(_)
                | Self::Shard(_)
                | Self::Collect(_)
                | Self::Replay(_)
                | Self::Qualify(_)
                | Self::CompareRuns(_)
        )
    }
}

/// Parses an option whose value is one of `words`, which a `T` has in files.
fn word_of<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    words: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    let parsed = |word| T::deserialize(StringDeserializer::<serde::de::value::Error>::new(word));
    PossibleValuesParser::new(words.iter().copied()).try_map(parsed)
}

/// The clap command, with the examples of each command.
fn command() -> clap::Command {
    fn add(command: clap::Command, path: &[&str], examples: &str) -> clap::Command {
        match path {
            [] => command.after_help(format!("Examples:\n{examples}")),
            [name, rest @ ..] => command.mut_subcommand(name, |command| add(command, rest, examples)),
        }
    }
    let add_examples = |command: clap::Command, (name, examples): &(&str, &str)| {
        add(command, &name.split(' ').collect::<Vec<_>>(), examples)
    };
    examples::EXAMPLES.iter().fold(Cli::command(), add_examples)
}

/// The error with a message of our own if it has one of Rust's on a number, if a number belongs to the option before it, or
/// if `edition` got the name of an edition only.
fn in_plain_words(error: clap::Error, given: impl Iterator<Item = String>) -> clap::Error {
    let given: Vec<String> = given.collect();
    if error.kind() == ErrorKind::UnknownArgument {
        let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
        let option =
            given.windows(2).find(|two| two[1] == unknown && two[0].starts_with("--")).map(|two| &two[0]);
        if let Some(option) = option.filter(|_| unknown.parse::<u64>().is_ok()) {
            let message = format!(
                "{unknown}: unexpected argument; if it is the value of {option}, write {option}={unknown}\n"
            );
            return clap::Error::raw(ErrorKind::UnknownArgument, message);
        }
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && error.get(ContextKind::SuggestedSubcommand).is_none()
        && given.get(1).is_some_and(|command| command == "edition")
    {
        let unknown = error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default();
        let is_year = unknown.parse::<u16>().is_ok();
        let name = if is_year { format!("mcc-{unknown}") } else { unknown.clone() };
        let message = format!(
            "{unknown}: unrecognized subcommand; to show an edition: `mcc-harness edition show {name}`\n"
        );
        return clap::Error::raw(ErrorKind::InvalidSubcommand, message);
    }
    let problem =
        match std::error::Error::source(&error).and_then(|source| source.downcast_ref::<ParseIntError>()) {
            None => return error,
            Some(number) if matches!(number.kind(), IntErrorKind::PosOverflow) => TOO_LARGE,
            Some(number) if matches!(number.kind(), IntErrorKind::Zero) => "give a whole number, at least 1",
            Some(_) => "give a whole number",
        };
    let part = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let message =
        format!("{} {}: {problem}\n", part(ContextKind::InvalidArg), part(ContextKind::InvalidValue));
    clap::Error::raw(ErrorKind::ValueValidation, message)
}

/// The problem of a number that its type cannot hold.
const TOO_LARGE: &str = "the number is too large";

/// Runs the command line and returns its exit code; errors are printed to stderr with their causes.
pub fn main() -> Exit {
    mcc_vm::host::close_inherited_in_children();
    // Warnings of the library crates, such as a folder that could not be removed.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        // It would panic as `eprintln!` does.
        .log_internal_errors(false)
        .init();
    let matches = command().try_get_matches().unwrap_or_else(|error| {
        let given = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
        in_plain_words(error, given).exit()
    });
    let parsed = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if parsed.command.writes_a_record() {
        // Models under embargo (M-6) and outputs of tools are not for other users of the host. They can enter folders, because
        // QEMU may run as one of them, but can neither list them nor read a file.
        let group = Mode::S_IRGRP | Mode::S_IWGRP;
        nix::sys::stat::umask(group | Mode::S_IROTH | Mode::S_IWOTH);
    }
    let outcome = parsed.command.run();
    outcome.unwrap_or_else(|failure| {
        terminal::message("mcc-harness", terminal::ERROR, &print::error(&failure.error));
        failure.exit
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// The lines of code in a page; a line that ends in `\` continues in the next one.
    fn code(page: &str) -> Vec<String> {
        let mut is_fenced = false;
        let mut lines: Vec<String> = vec![];
        for line in page.lines() {
            is_fenced ^= line.starts_with("```");
            if !is_fenced && !line.starts_with("    ") {
                continue;
            }
            match lines.last_mut().filter(|last| last.ends_with('\\')) {
                Some(last) => {
                    last.pop();
                    last.push_str(line.trim());
                }
                None => lines.push(line.trim().to_owned()),
            }
        }
        lines
    }

    /// A page whose lines are wrapped again would have parts of commands.
    #[test]
    fn commands_in_the_documentation_are_accepted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = ["", "docs", "docs/tutorials", "editions", "vm-images"].map(|folder| root.join(folder));
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let paths = files.map(|file| file.unwrap().path());
        let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
        let mut accepted = 0;
        for page in pages {
            let lines = code(&fs::read_to_string(&page).unwrap());
            // `[` and `|` show what can be left out and what can be chosen.
            let commands =
                lines.iter().filter(|line| line.starts_with("mcc-harness ") && !line.contains(['[', '|']));
            for line in commands {
                // A comment or an explanation in a second column.
                let line = line.split(" #").next().and_then(|line| line.split("  ").next()).unwrap();
                let words = line.split_whitespace().map(|word| word.trim_matches('\''));
                if let Err(error) = command().try_get_matches_from(words) {
                    panic!("{}: {line}: {error}", page.display());
                }
                accepted += 1;
            }
        }
        assert!(accepted > 60, "{accepted}");
    }

    #[test]
    fn a_number_behind_an_option_that_takes_it_after_an_equals_sign_gets_a_hint() {
        let line = ["mcc-harness", "status", "results", "--watch", "5"];
        let error = command().try_get_matches_from(line).unwrap_err();
        let message = in_plain_words(error, line.into_iter().map(str::to_owned)).to_string();
        assert!(message.contains("write --watch=5"), "{message}");
    }

    #[test]
    fn an_edition_without_a_subcommand_gets_a_hint() {
        for (given, shown) in [("mcc-2018", Some("mcc-2018")), ("2018", Some("mcc-2018")), ("lst", None)] {
            let line = ["mcc-harness", "edition", given];
            let error = command().try_get_matches_from(line).unwrap_err();
            let message = in_plain_words(error, line.into_iter().map(str::to_owned)).to_string();
            let hint = shown.map(|name| format!("`mcc-harness edition show {name}`"));
            assert_eq!(message.contains("edition show"), hint.is_some(), "{message}");
            assert!(hint.is_none_or(|hint| message.contains(&hint)), "{message}");
        }
    }

    #[test]
    fn the_usage_of_qualify_names_both_kinds_of_tools() {
        let line = "mcc-harness qualify a --native b --tool t --instances i";
        let message = command().try_get_matches_from(line.split(' ')).unwrap_err().to_string();
        assert!(message.contains("<IMAGE|--native <DIR>>"), "{message}");
    }

    #[test]
    fn an_option_that_another_one_makes_useless_is_refused() {
        for line in [
            "export r --csv f --with-disks",
            "export r --csv f --disk d",
            "export r --summary f --sign k",
            "export r --oracle f --tool t",
            "export r --archive f --contest-rounding",
            "export r --csv f --login a@b",
            "export r --archive f --kind sequential",
            "image build --out o --reference r --inputs i",
            "image export i --vmdk v --notice n",
            "image export i --vmdk v --limit 3",
            "doctor --author --campaign c",
            "doctor --accept f --machines 2",
            "judge --compare a b --oracle o",
            "judge --compare a b --edition mcc-2018",
            "verify a --allowed-signers s --certified c",
            "certify --total QuasiLivenessAll --instances i --out o --tool-evidence",
        ] {
            let error = command().try_get_matches_from(["mcc-harness"].into_iter().chain(line.split(' ')));
            let kind = error.map(|_| ()).map_err(|error| error.kind());
            assert_eq!(kind, Err(ErrorKind::ArgumentConflict), "{line}");
        }
    }
}

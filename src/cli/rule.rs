use super::{Exit, Failure, Format, print};
use crate::edition::{RuleText, nearest_rule, rule_sections, rules_of};
use crate::judge::show::wrapped;

/// Characters per line.
const WIDTH: usize = 100;
/// Column at which the text of a field begins.
const INDENT: usize = 10;

/// Show a rule of a contest: its text, its reading, and the edition key, source file and test for it.
///
/// Without a code, lists all rules.
#[derive(clap::Args)]
pub struct Args {
    /// The code of a rule, such as E-4.1; E-1.7 prints all rules with that number, E-4 all rules of the section.
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let Some(code) = args.code else {
        match args.format {
            Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(rule_sections())?))?,
            Format::Text => print::text(&list())?,
        }
        return Ok(Exit::Done);
    };
    let rules = rules_of(&code);
    if rules.is_empty() {
        let hint = nearest_rule(&code).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let all = "`mcc-harness rule` lists all rules";
        return Err(Failure::usage(anyhow::anyhow!("no rule `{code}`{hint}; {all}")));
    }
    match args.format {
        Format::Json => print::raw(&format!("{:#}\n", serde_json::to_value(&rules)?))?,
        Format::Text => print::text(&rules.iter().map(entry).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::Done)
}

fn list() -> String {
    let mut out = String::new();
    for section in rule_sections() {
        out += &format!("{} {}\n", section.code, section.title);
        for rule in section.rules {
            out += &format!("  {:<7} {}\n", rule.code, rule.title);
        }
    }
    out
}

/// The text of a rule, wrapped.
fn entry(rule: &RuleText) -> String {
    let mut out = format!("{} {}\n{}\n", rule.code, rule.title, wrapped(&plain(rule.content), WIDTH, 0));
    for (name, text) in rule.fields() {
        out += &format!("{name:<INDENT$}{}\n", wrapped(&plain(text), WIDTH - INDENT, INDENT));
    }
    out
}

/// Markdown without the backticks around code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

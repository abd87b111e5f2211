use super::terminal::{HEADING, Page};
use super::{Exit, Failure, Format, print};
use mcc_edition::{RuleText, nearest_rule, rule_sections, rules_of};

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
        print::result(args.format, &rule_sections(), || print::text(&list()))?;
        return Ok(Exit::Done);
    };
    let rules = rules_of(&code);
    if rules.is_empty() {
        let near = nearest_rule(&code).filter(|near| {
            let start = |code: &str| code.trim().chars().next().map(|c| c.to_ascii_uppercase());
            start(near) == start(&code) && near.contains('.') == code.contains('.')
        });
        let similar = near.map_or(String::new(), |near| {
            format!("; `mcc-harness rule {near}` shows the rule with the most similar code")
        });
        return Err(Failure::usage(anyhow::anyhow!(
            "there is no rule with the code `{code}`{similar}; `mcc-harness rule` lists all rules"
        )));
    }
    print::result(args.format, &rules, || {
        let mut page = Page::new();
        for (number, rule) in rules.iter().enumerate() {
            if number > 0 {
                page.gap();
            }
            show(&mut page, rule);
        }
        page.print()
    })?;
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

/// Adds a rule to a page.
fn show(page: &mut Page, rule: &RuleText) {
    page.item(0, rule.code, HEADING, rule.title);
    page.line(&plain(rule.content));
    for (name, text) in rule.fields() {
        page.item(0, &format!("{name:<9}"), HEADING, &plain(text));
    }
}

/// Markdown in one line, without the backticks around code.
fn plain(text: &str) -> String {
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

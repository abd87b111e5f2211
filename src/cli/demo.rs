use super::terminal::{HEADING, argument, message, next};
use super::{Cli, Exit, Failure};
use anyhow::{Context, anyhow};
use clap::Parser;
use std::path::{Path, PathBuf};

/// Judge the published answers of 2018 and write their site, with the files of the installed package.
///
/// Shows each command before it runs it. Needs neither machines nor root, and takes some seconds.
#[derive(clap::Args)]
pub struct Args {
    /// The folder for the judgement and the site.
    #[arg(long, value_name = "FOLDER", default_value = "mcc-demo")]
    out: PathBuf,
    /// The folder with answers.csv.gz and models.csv [default: that of the package].
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let data = args.data.map_or_else(installed, Ok)?;
    let (answers, models) = (data.join("answers.csv.gz"), data.join("models.csv"));
    let (judged, site) = (args.out.join("judged"), args.out.join("site"));
    if !answers.is_file() {
        return Err(Failure::usage(anyhow!(
            "{} does not have the published answers (answers.csv.gz); give their folder with --data (tests/data/mcc/2018 in a clone)",
            data.display()
        )));
    }
    let [answers, models, judged, site] =
        [&answers, &models, &judged, &site].map(|path| path.display().to_string());
    let commands: [&[&str]; 3] = [
        &["judge", &answers, "--edition", "mcc-2018", "--models", &models, "--out", &judged],
        &["report", &judged, "--out", &site],
        &["explain", &judged, "--tool", "TINA.tedd"],
    ];
    for command in commands {
        let words: Vec<String> = command.iter().map(argument).collect();
        message("demo", HEADING, &format!("mcc-harness {}", words.join(" ")));
        let line = ["mcc-harness"].iter().chain(command);
        let parsed = Cli::try_parse_from(line).context("a command of the demo is wrong")?;
        let end = parsed.command.run()?;
        if end != Exit::Done {
            return Ok(end);
        }
    }
    message("demo", HEADING, &format!("open {site}/index.html in a browser"));
    next(
        "docs/tutorials of the package: a campaign of your own (organizer), your tool (author), an archive (reviewer)",
    );
    Ok(Exit::Done)
}

/// The folder of the data beside the installed program: `bin/mcc-harness` and `share/mcc-harness/2018`.
fn installed() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe().context("cannot find the path of this program; give --data")?;
    let prefix = program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    Ok(prefix.join("share/mcc-harness/2018"))
}

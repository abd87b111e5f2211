use super::{Exit, Failure, print};
use anyhow::Context;
use clap::CommandFactory;
use mcc_base::OnFile;
use std::path::PathBuf;

/// Write the man pages of mcc-harness and mcc-check: one page for each program and each command.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the pages; created if missing.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let failed = || format!("cannot write the man pages to {}", args.out.display());
    std::fs::create_dir_all(&args.out).on("create", &args.out)?;
    // clap adds a command `help`, which has no page.
    let programs = [super::command(), mcc_checker::command::Command::command()];
    let mut pages = programs.map(|program| program.disable_help_subcommand(true)).to_vec();
    pages.iter_mut().for_each(clap::Command::build);
    let shown = |command: &&clap::Command| !command.is_hide_set() && command.get_name() != "help";
    let mut written = 0;
    while let Some(page) = pages.pop() {
        let mut text = Vec::new();
        clap_mangen::Man::new(page.clone()).render(&mut text).with_context(failed)?;
        let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
        let text = String::from_utf8(text).with_context(failed)?;
        print::file(&args.out.join(format!("{name}.1")), &text)?;
        written += 1;
        pages.extend(page.get_subcommands().filter(shown).cloned());
    }
    print::text(&format!(
        "{}: {written} pages; read one with `man {0}/mcc-harness.1`\n",
        args.out.display()
    ))?;
    Ok(Exit::Done)
}

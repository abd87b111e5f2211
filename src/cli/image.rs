use super::{Exit, Failure, print};
use crate::campaign;
use crate::digest;
use crate::edition::Edition;
use crate::model::{Archive, Severity, validate};
use crate::vm::Image;
use crate::vm::build::{self, BuildDisk};
use anyhow::{Context, anyhow};
use std::path::PathBuf;

/// Build reference, tool and inputs disks, or show what one is.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// The reference disk, or with --reference a tool's disk on it (needs root).
    Build {
        /// Folder that becomes the image; an image of ours that is there is replaced.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Build on this reference image.
        #[arg(long, value_name = "IMAGE")]
        reference: Option<PathBuf>,
        /// The tool: a folder with BenchKit_head.sh and bin/, copied to /home/mcc/BenchKit.
        #[arg(long, value_name = "FOLDER", requires = "reference")]
        tool: Option<PathBuf>,
        /// Debian packages to install, by name.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        packages: Vec<String>,
        /// Fetch Debian anew although the reference image that --out replaces has it.
        #[arg(long)]
        refresh: bool,
        /// Size of the disk as the guest sees it.
        #[arg(long, default_value = "8G")]
        size: String,
        /// The guest agent [default: mcc-guest-agent beside this program].
        #[arg(long, value_name = "PROGRAM")]
        agent: Option<PathBuf>,
    },
    /// The inputs disk of a folder of instance archives; first they are validated (rule M-4).
    Inputs {
        /// Folder with the archives, `NAME.tgz`.
        archives: PathBuf,
        /// Folder that becomes the image; an image of ours that is there is replaced.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// The edition it is made for, such as mcc-2018: a campaign of another one refuses the disk.
        #[arg(long, value_name = "EDITION")]
        edition: Option<String>,
        /// Pack although there are errors.
        #[arg(long)]
        accept: bool,
    },
    /// What an image is, and the digests of its files.
    Inspect {
        /// Folder of the image.
        image: PathBuf,
    },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let progress = |step: &str| eprintln!("image: {step}");
    match args.command {
        Command::Build { out, reference, tool, packages, refresh, size, agent } => {
            let agent = match agent {
                Some(agent) => agent,
                None => std::env::current_exe()?.with_file_name("mcc-guest-agent"),
            };
            if reference.is_none() && !agent.is_file() {
                let missing = anyhow!(
                    "{} is missing: build it (cargo build --release) or name it with --agent",
                    agent.display()
                );
                return Err(Failure::usage(missing));
            }
            let what = BuildDisk {
                out: &out,
                agent: &agent,
                reference: reference.as_deref(),
                tool: tool.as_deref(),
                packages: &packages,
                refresh,
                size: &size,
            };
            let image =
                build::disk(&what, &progress).with_context(|| format!("building {}", out.display()))?;
            show(&image)?;
        }
        Command::Inputs { archives, out, edition, accept } => {
            let edition =
                edition.map(|edition| Edition::load(&edition)).transpose().map_err(Failure::usage)?;
            let found = campaign::archives_in(&archives).with_context(|| archives.display().to_string());
            let named: Vec<_> = found.map_err(Failure::usage)?.into_iter().collect();
            if named.is_empty() {
                let empty = anyhow!("no instance archive (NAME.tgz) in {}", archives.display());
                return Err(Failure::usage(empty));
            }
            check_inputs(&named, accept)?;
            show(
                &build::inputs(
                    &named,
                    edition.as_ref().map(|edition| edition.name.as_str()),
                    &out,
                    &progress,
                )
                .with_context(|| format!("building {}", out.display()))?,
            )?;
        }
        Command::Inspect { image } => show(&Image::open(&image).map_err(Failure::usage)?)?,
    }
    Ok(Exit::Done)
}

fn show(image: &Image) -> Result<(), Failure> {
    let mut out = format!("{} image {}\n", image.facts.kind, image.folder.display());
    for (role, path) in image.files() {
        let (digest, bytes) = digest::file(&path).with_context(|| path.display().to_string())?;
        out += &format!("  {role:<7} sha256:{digest} {bytes:>11} bytes  {}\n", path.display());
    }
    if let Some(edition) = &image.facts.edition {
        out += &format!("  of edition {}\n", print::shown(edition));
    }
    for packed in &image.facts.instances {
        out += &format!("  {} sha256:{}\n", packed.instance, packed.sha256);
    }
    if !image.facts.packages.is_empty() {
        out += &format!("  {} Debian packages (image.json lists them)\n", image.facts.packages.len());
    }
    print::text(&out)
}

/// Rule M-4, before archives are packed: prints every finding by file and line; errors refuse the archives
/// unless `accept`.
pub(super) fn check_inputs(archives: &[(String, PathBuf)], accept: bool) -> Result<(), Failure> {
    let mut errors = 0;
    for (_, path) in archives {
        let archive = Archive::open(path).map_err(Failure::usage)?;
        for finding in validate(&archive) {
            eprintln!("{}", print::shown(&finding.to_string()));
            errors += u32::from(finding.severity == Severity::Error);
        }
    }
    match errors {
        0 => Ok(()),
        n if accept => {
            eprintln!("{n} errors accepted");
            Ok(())
        }
        n => Err(Failure::usage(anyhow!(
            "{n} errors in the instances (rule M-4); correct them, or pack them as they are with --accept"
        ))),
    }
}

use super::{Exit, Failure};
use crate::vm::build::{self, BuildDisk};
use crate::vm::{Image, sha256};
use anyhow::Context;
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
        #[arg(long)]
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
        /// Size of the disk as the guest sees it.
        #[arg(long, default_value = "8G")]
        size: String,
        /// The guest agent [default: mcc-guest-agent beside this program].
        #[arg(long, value_name = "PROGRAM")]
        agent: Option<PathBuf>,
    },
    /// What an image is, and the digests of its files.
    Inspect { image: PathBuf },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let progress = |step: &str| eprintln!("image: {step}");
    match args.command {
        Command::Build { out, reference, tool, packages, size, agent } => {
            let agent = match agent {
                Some(agent) => agent,
                None => std::env::current_exe()?.with_file_name("mcc-guest-agent"),
            };
            if reference.is_none() && !agent.is_file() {
                let missing = anyhow::anyhow!(
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
                size: &size,
            };
            let image =
                build::disk(&what, &progress).with_context(|| format!("building {}", out.display()))?;
            show(&image)?;
        }
        Command::Inspect { image } => show(&Image::open(&image).map_err(Failure::usage)?)?,
    }
    Ok(Exit::Done)
}

fn show(image: &Image) -> Result<(), Failure> {
    println!("{} image {}", image.facts.kind, image.folder.display());
    for (role, path) in image.files() {
        let (digest, bytes) = sha256(&path)?;
        println!("  {role:<7} sha256:{digest} {bytes:>11} bytes  {}", path.display());
    }
    for packed in &image.facts.instances {
        println!("  {} sha256:{}", packed.instance, packed.sha256);
    }
    if !image.facts.packages.is_empty() {
        println!("  {} Debian packages (image.json lists them)", image.facts.packages.len());
    }
    Ok(())
}

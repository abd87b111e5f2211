use super::{Exit, Failure, print};
use crate::runner::check_archives;
use anyhow::{Context, anyhow};
use mcc_base::digest;
use mcc_edition::Edition;
use mcc_judge::source::NAMES_HEADER;
use mcc_model::{Archive, obfuscate};
use mcc_vm::build::{self, BuildDisk};
use mcc_vm::kit::{self, BuildKit};
use mcc_vm::{Image, Partition};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

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
        #[arg(long, value_name = "FOLDER", required_unless_present = "kit")]
        out: Option<PathBuf>,
        /// Instead, the kit for tool authors (E-5.6) in this folder: the reference disk as a .vmdk that boots by
        /// itself, with sshd, and what belongs to it.
        #[arg(long, value_name = "FOLDER", requires = "reference", conflicts_with = "out")]
        kit: Option<PathBuf>,
        /// The kit's models: a folder of instance archives.
        #[arg(long, value_name = "FOLDER", requires = "kit")]
        inputs: Option<PathBuf>,
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
        #[arg(long, alias = "accept")]
        accept_errors: bool,
        /// Under other names, drawn from this seed: places, transitions, nets, instances (evidence for rule T-5).
        /// FOLDER.names.csv says what became of each; `judge --names` gives instances their own names back.
        #[arg(long, value_name = "SEED")]
        obfuscate: Option<String>,
    },
    /// Takes an original contest disk over (.vmdk, .qcow2 or raw): checks it, copies it, digests it.
    Import {
        /// The disk, one file.
        disk: PathBuf,
        /// Folder that becomes the image; an image of ours that is there is replaced.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// What an image is, and the digests of its files.
    Inspect {
        /// Folder of an image, or an original disk.
        image: PathBuf,
    },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let progress = |step: &str| eprintln!("image: {step}");
    match args.command {
        Command::Build { kit: Some(out), reference, tool, packages, size, inputs, .. } => {
            let archives = inputs.map_or(Ok(vec![]), |folder| checked_archives(&folder, false))?;
            let what = BuildKit {
                out: &out,
                reference: reference.as_deref().unwrap_or(Path::new("")),
                tool: tool.as_deref(),
                packages: &packages,
                archives: &archives,
                size: &size,
            };
            show(&kit::kit(&what, &progress).with_context(|| format!("building {}", out.display()))?)?;
        }
        Command::Build { out, reference, tool, packages, refresh, size, agent, .. } => {
            let out = out.unwrap_or_default();
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
        Command::Inputs { archives, out, edition, accept_errors, obfuscate } => {
            let edition =
                edition.map(|edition| Edition::load(&edition)).transpose().map_err(Failure::usage)?;
            let edition = edition.as_ref().map(|edition| edition.name.as_str());
            let named = checked_archives(&archives, accept_errors)?;
            let build = |named: &[_]| {
                let image = build::inputs(named, edition, &out, &progress);
                image.with_context(|| format!("building {}", out.display()))
            };
            let Some(seed) = obfuscate else {
                show(&build(&named)?)?;
                return Ok(Exit::Done);
            };
            progress("renaming");
            let renamed = tempfile::tempdir()?;
            let (named, names) = obfuscated(&named, &seed, renamed.path(), &out)?;
            check_archives(&named, accept_errors, &print::inputs)?;
            show(&build(&named)?)?;
            names.persist(names_beside(&out))?;
        }
        Command::Import { disk, out } => show(&kit::import(&disk, &out).map_err(Failure::usage)?)?,
        Command::Inspect { image } => {
            let opened = if image.is_dir() {
                Image::open(&image).map_err(Failure::usage)
            } else {
                Image::of_file(&image).map_err(Failure::usage)
            };
            show(&opened?)?;
        }
    }
    Ok(Exit::Done)
}

/// The archives of a folder by name, after rule M-4.
fn checked_archives(folder: &Path, accept_errors: bool) -> Result<Vec<(String, PathBuf)>, Failure> {
    let found = mcc_campaign::archives_in(folder).with_context(|| folder.display().to_string());
    let named: Vec<_> = found.map_err(Failure::usage)?.into_iter().collect();
    if named.is_empty() {
        return Err(Failure::usage(anyhow!("no instance archive (NAME.tgz) in {}", folder.display())));
    }
    check_archives(&named, accept_errors, &print::inputs)?;
    Ok(named)
}

/// Not in the folder: what is there is published with the results.
fn names_beside(out: &Path) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(".names.csv");
    path.into()
}

/// The archives under other names, written into `folder`, and the file of names, beside its place.
fn obfuscated(
    archives: &[(String, PathBuf)],
    seed: &str,
    folder: &Path,
    out: &Path,
) -> Result<(Vec<(String, PathBuf)>, NamedTempFile), Failure> {
    let place = names_beside(out);
    let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    let names = NamedTempFile::new_in(parent).with_context(|| place.display().to_string())?;
    let mut csv = csv::Writer::from_writer(std::io::BufWriter::new(names.as_file()));
    csv.write_record(NAMES_HEADER)?;
    let mut renamed = Vec::new();
    for (name, path) in archives {
        let archive = Archive::open(path).map_err(Failure::usage)?;
        let made = obfuscate(&archive, seed, folder, &mut |new| {
            Ok(csv.write_record([name, new.kind, new.original, new.obfuscated])?)
        })
        .map_err(Failure::usage)?;
        if renamed.iter().any(|(known, _)| known == made.instance.as_str()) {
            let twice =
                anyhow!("{} and another instance get the same name; choose another seed", archive.instance);
            return Err(Failure::usage(twice));
        }
        renamed.push((made.instance.to_string(), made.path));
    }
    csv.flush()?;
    drop(csv);
    renamed.sort();
    Ok((renamed, names))
}

fn show(image: &Image) -> Result<(), Failure> {
    let mut out = format!("{} image {}\n", image.facts.kind, image.folder.display());
    for (role, path) in image.files() {
        let (digest, bytes) = digest::file(&path).with_context(|| path.display().to_string())?;
        out += &format!("  {role:<7} sha256:{digest} {bytes:>11} bytes  {}\n", path.display());
    }
    if let Some(edition) = &image.facts.edition {
        out += &format!("  of edition {}\n", print::escaped(edition));
    }
    if let Some(original) = &image.facts.original {
        let bootable = if original.bootable { "boots by BIOS" } else { "NOT bootable by BIOS" };
        out += &format!(
            "  {}, {} bytes as the guest sees it, {bootable}\n",
            original.format, original.virtual_bytes
        );
        for Partition { kind, active, first, sectors } in &original.partitions {
            let active = if *active { ", active" } else { "" };
            out += &format!("  partition of type {kind} from sector {first}, {sectors} sectors{active}\n");
        }
    }
    for packed in &image.facts.instances {
        out += &format!("  {} sha256:{}\n", packed.instance, packed.sha256);
    }
    if !image.facts.packages.is_empty() {
        out += &format!("  {} Debian packages (image.json lists them)\n", image.facts.packages.len());
    }
    print::text(&out)
}

use super::{Exit, Failure, TOO_LARGE, print, submission};
use anyhow::{Context, anyhow};
use mcc_base::files::{BUILD_PREFIX, FileStamp, check_replaceable};
use mcc_base::temporary::{self, folder_of};
use mcc_base::text::visible;
use mcc_base::{OnFile, digest};
use mcc_edition::Edition;
use mcc_judge::source::NAMES_HEADER;
use mcc_model::{Archive, obfuscate};
use mcc_runner::check_archives;
use mcc_vm::build::{self, BuildDisk};
use mcc_vm::export::{self, Exported};
use mcc_vm::kit::{self, BuildKit};
use mcc_vm::{Image, Partition, Source};
use std::collections::BTreeMap;
use std::num::IntErrorKind;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Build, import and inspect disk images.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Build the reference disk, or with --reference a tool's disk (needs root).
    Build {
        /// Folder of the new image; an existing image of mcc-harness is replaced.
        #[arg(long, value_name = "FOLDER", required_unless_present = "kit")]
        out: Option<PathBuf>,
        /// Build the kit for tool authors (E-5.6) in this folder instead: the reference disk as a bootable .vmdk with
        /// sshd, and its files.
        #[arg(long, value_name = "FOLDER", requires = "reference", conflicts_with = "out")]
        kit: Option<PathBuf>,
        /// Folder of instance archives for the kit.
        #[arg(long, value_name = "FOLDER", requires = "kit", conflicts_with = "out")]
        inputs: Option<PathBuf>,
        /// The reference image on which the tool's disk or the kit is built.
        #[arg(long, value_name = "IMAGE")]
        reference: Option<PathBuf>,
        /// The tool: a folder with BenchKit_head.sh and bin/, copied to /home/mcc/BenchKit.
        #[arg(long, value_name = "FOLDER", requires = "reference")]
        tool: Option<PathBuf>,
        /// A container to use instead of Debian: an OCI layout or the output of `docker save`, as a folder or a tar archive
        /// (also .gz, .zst). The tool is in its folder /home/mcc/BenchKit, or in the folder of --tool.
        #[arg(long, value_name = "FILE", requires = "reference", conflicts_with_all = ["packages", "kit"])]
        container: Option<PathBuf>,
        /// Debian packages to install, by name.
        #[arg(long, value_name = "NAME", value_delimiter = ',')]
        packages: Vec<String>,
        /// Download the Debian packages again, even if the reference image in --out contains them.
        #[arg(long)]
        refresh: bool,
        /// Size of the disk as the guest sees it: a number of bytes, or one with K, M, G or T (powers of 1024).
        #[arg(long, default_value = "8G", value_parser = disk_size)]
        size: u64,
        /// The guest agent [default: mcc-guest-agent in the folder of this program].
        #[arg(long, value_name = "PROGRAM")]
        agent: Option<PathBuf>,
    },
    /// Build an inputs disk from a folder of instance archives, after validating them (rule M-4).
    Inputs {
        /// Folder with the archives, `NAME.tgz`.
        archives: PathBuf,
        /// Folder of the new image; an existing image of mcc-harness is replaced.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// The edition for which the disk is made, such as mcc-2018; campaigns of other editions reject it.
        #[arg(long, value_name = "EDITION")]
        edition: Option<String>,
        /// Pack instances even if their archives have errors.
        #[arg(long, alias = "accept")]
        accept_errors: bool,
        /// Replace the names of instances, nets, places and transitions by pseudonyms from this seed (rule T-5).
        /// FOLDER.names.csv lists them; `judge --names` restores the names of instances and property ids.
        #[arg(long, value_name = "SEED")]
        obfuscate: Option<String>,
    },
    /// Import an original contest disk (.vmdk, .qcow2 or raw): check, copy and digest it.
    Import {
        /// The disk file.
        disk: PathBuf,
        /// Folder of the new image; an existing image of mcc-harness is replaced.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Export an image as a .vmdk that boots by itself, and make a key for ssh; both can be submitted. Needs no root.
    ///
    /// --submission qualifies the image, boots the exported disk once over ssh with one examination, and writes a folder with
    /// the disk, its keys, the notice, the reports of qualification and boot, and SHA256SUMS. Exit code 1: an error was
    /// found, and nothing is written.
    /// An inputs image becomes a data disk without bootloader and key.
    Export {
        /// Folder of an image.
        image: PathBuf,
        /// The disk to write; an existing file is not replaced. The keys for ssh are written beside it, to FILE.key and
        /// FILE.key.pub.
        #[arg(long, value_name = "FILE", required_unless_present = "submission")]
        vmdk: Option<PathBuf>,
        /// Write all files of a submission to this new folder.
        #[arg(long, value_name = "FOLDER", conflicts_with = "vmdk")]
        submission: Option<PathBuf>,
        /// The reference image on which a tool's image was built; it has the kernel.
        #[arg(long, value_name = "IMAGE")]
        reference: Option<PathBuf>,
        #[command(flatten)]
        packet: submission::Args,
    },
    /// Show the properties of an image and the digests of its files.
    Inspect {
        /// Folder of an image, or an original disk.
        image: PathBuf,
    },
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let progress = |step: &str| stderr_line!("image: {step}");
    match args.command {
        Command::Build { kit: Some(out), reference, tool, packages, size, inputs, .. } => {
            let archives = match inputs {
                Some(folder) => checked_archives(&folder, false)?.0,
                None => vec![],
            };
            let what = BuildKit {
                out: &out,
                reference: reference.as_deref().unwrap_or(Path::new("")),
                tool: tool.as_deref(),
                packages: &packages,
                archives: &archives,
                size,
            };
            show(&kit::kit(&what, &progress).with_context(|| format!("building {}", out.display()))?)?;
        }
        Command::Build { out, reference, tool, container, packages, refresh, size, agent, .. } => {
            let out = out.unwrap_or_default();
            let agent = match agent {
                Some(agent) => agent,
                None => guest_agent(&std::env::current_exe()?),
            };
            if reference.is_none() && !agent.is_file() {
                let missing = anyhow!(
                    "{} is missing; build it (cargo build --release) or give its path with --agent",
                    agent.display()
                );
                return Err(Failure::usage(missing));
            }
            let what = BuildDisk {
                out: &out,
                agent: &agent,
                reference: reference.as_deref(),
                tool: tool.as_deref(),
                container: container.as_deref(),
                packages: &packages,
                refresh,
                size,
            };
            let image =
                build::disk(&what, &progress).with_context(|| format!("building {}", out.display()))?;
            show(&image)?;
        }
        Command::Inputs { archives, out, edition, accept_errors, obfuscate } => {
            let edition =
                edition.map(|edition| Edition::load(&edition)).transpose().map_err(Failure::usage)?;
            let edition = edition.as_ref().map(|edition| edition.name.as_str());
            build::place(&out, &[&archives], &[])?;
            let (named, stamps) = checked_archives(&archives, accept_errors)?;
            let copy = |from: &Path, to: &Path| {
                let sha256 = build::copy_archive(from, to)?;
                stamps.get(from).map_or(Ok(()), |stamp| stamp.check_if_unchanged(from))?;
                Ok(sha256)
            };
            let build = |named: &[_], out: &Path| {
                let image = build::inputs(named, edition, (None, &copy), out, &progress);
                image.with_context(|| format!("building {}", out.display()))
            };
            let Some(seed) = obfuscate else {
                show(&build(&named, &out)?)?;
                return Ok(Exit::Done);
            };
            progress("renaming");
            let renamed = temporary::folder("mcc-inputs-")?;
            let (named, names) = obfuscated(&named, &seed, renamed.path(), &out)?;
            check_archives(&named, accept_errors, &print::inputs)?;
            // The image and the names take their places together.
            let made = temporary::folder_beside(&out, BUILD_PREFIX)?;
            let image = build(&named, &made.path().join("image"))?;
            persist(names, &names_file(&out), &image, &build::place(&out, &[&archives], &[])?)?;
            show(&Image::open(&out)?)?;
        }
        Command::Import { disk, out } => show(&kit::import(&disk, &out).map_err(Failure::usage)?)?,
        Command::Export { image, submission: Some(out), reference, packet, .. } => {
            return submission::write(&image, reference.as_deref(), &out, packet, &progress);
        }
        Command::Export { image, vmdk, reference, .. } => {
            let vmdk = vmdk.unwrap_or_default();
            let written = export::vmdk(&image, reference.as_deref(), &vmdk, &progress)
                .with_context(|| format!("exporting {}", image.display()))?;
            print::text(&exported(&vmdk, &written)?)?;
        }
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

/// Reads the size of a disk: a number of bytes, with a unit such as `G` if it ends with one.
fn disk_size(text: &str) -> Result<u64, String> {
    let units = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];
    let with_unit = units.into_iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, bytes)));
    let (number, unit) = with_unit.unwrap_or((text, 1));
    match number.parse::<u64>() {
        Ok(0) => Err("expected a number of bytes such as 8G or 512M".to_owned()),
        Ok(number) => number.checked_mul(unit).ok_or_else(|| TOO_LARGE.to_owned()),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(TOO_LARGE.to_owned()),
        Err(_) => Err("expected a number of bytes such as 8G or 512M".to_owned()),
    }
}

/// The text about an exported disk.
fn exported(vmdk: &Path, written: &Exported) -> Result<String, Failure> {
    let (digest, bytes) = digest::file(vmdk).with_context(|| vmdk.display().to_string())?;
    let (what, note) = if written.boots { ("disk", "") } else { ("data disk", " (does not boot)") };
    let mut out = format!("{what} {}{note}\n  sha256:{digest} {bytes} bytes\n", vmdk.display());
    if let Some(key) = &written.key {
        out += &format!("  key for mcc and root: {}\n", key.display());
    }
    if written.boots {
        out += "next: in a campaign, give it as `image` with channel = \"ssh\" and the key as ssh_key and ssh_root_key; or \
                submit both files\n";
    }
    Ok(out)
}

/// The guest agent of this program: beside it as cargo builds it, otherwise in ../libexec/mcc-harness as packages install
/// it.
fn guest_agent(program: &Path) -> PathBuf {
    let beside = program.with_file_name("mcc-guest-agent");
    let prefix = program.parent().and_then(Path::parent);
    let installed = prefix.map(|prefix| prefix.join("libexec/mcc-harness/mcc-guest-agent"));
    installed.filter(|installed| !beside.is_file() && installed.is_file()).unwrap_or(beside)
}

/// Names and paths of archives, and the stamp of each path.
type Archives = (Vec<(String, PathBuf)>, BTreeMap<PathBuf, FileStamp>);

/// The archives of a folder by name, checked by rule M-4, and their stamps from before this check.
fn checked_archives(folder: &Path, accept_errors: bool) -> Result<Archives, Failure> {
    let found = mcc_campaign::archives_in(folder).map_err(|error| {
        anyhow!("cannot read {}: {error}; give the folder of the instance archives", folder.display())
    });
    let named: Vec<_> = found.map_err(Failure::usage)?.into_iter().collect();
    if named.is_empty() {
        return Err(Failure::usage(anyhow!("no instance archive (NAME.tgz) in {}", folder.display())));
    }
    let mut stamps = BTreeMap::new();
    for (_, path) in &named {
        stamps.insert(path.clone(), FileStamp::of(path).with_context(|| path.display().to_string())?);
    }
    check_archives(&named, accept_errors, &print::inputs)?;
    Ok((named, stamps))
}

/// The file of names. It is not in the folder of the image, whose files are published with the results.
fn names_file(out: &Path) -> PathBuf {
    // Without a slash at the end.
    let mut path = out.components().as_path().as_os_str().to_owned();
    path.push(".names.csv");
    path.into()
}

/// Puts the file of names and the image in their places, or neither.
fn persist(names: NamedTempFile, place: &Path, image: &Image, out: &Path) -> Result<(), Failure> {
    let earlier = place.exists().then(|| temporary::file_beside(place)).transpose()?;
    if let Some(earlier) = &earlier {
        std::fs::rename(place, earlier.path())?;
    }
    let done = names.persist(place).map_err(|error| error.error).on("write", place);
    let done = done.and_then(|_| temporary::replace_folder(&image.folder, out));
    if done.is_err() {
        match earlier {
            Some(earlier) => earlier.persist(place).map(drop)?,
            None => std::fs::remove_file(place).unwrap_or(()),
        }
    }
    Ok(done?)
}

/// Writes the archives under other names into `folder`, and the file of names under a temporary name.
fn obfuscated(
    archives: &[(String, PathBuf)],
    seed: &str,
    folder: &Path,
    out: &Path,
) -> Result<(Vec<(String, PathBuf)>, NamedTempFile), Failure> {
    let place = names_file(out);
    if place.exists() && !out.exists() {
        let problem =
            anyhow!("{} exists, but not its image; move that file, or choose another --out", place.display());
        return Err(Failure::usage(problem));
    }
    let parent = folder_of(&place);
    std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    check_replaceable(&place).on("write", &place)?;
    let names = NamedTempFile::new_in(parent).on("write", &place)?;
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
            let same_name =
                anyhow!("{} and another instance have the same new name; use another seed", archive.instance);
            return Err(Failure::usage(same_name));
        }
        renamed.push((made.instance.to_string(), made.path));
    }
    csv.flush()?;
    drop(csv);
    renamed.sort();
    Ok((renamed, names))
}

fn show(image: &Image) -> Result<(), Failure> {
    let mut out = String::new();
    // Each line is one, also if the image contains line feeds.
    let mut line = |text: String| out += &(visible(&text) + "\n");
    line(format!("{} image {}", image.facts.kind, image.folder.display()));
    for (role, path) in image.files() {
        let (digest, bytes) = digest::file(&path).with_context(|| path.display().to_string())?;
        line(format!("  {role:<7} sha256:{digest} {bytes:>11} bytes  {}", path.display()));
    }
    if let Some(edition) = &image.facts.edition {
        line(format!("  of edition {edition}"));
    }
    if let Some(original) = &image.facts.original {
        let bootable = if original.bootable { "boots by BIOS" } else { "NOT bootable by BIOS" };
        line(format!(
            "  {}, {} bytes as the guest sees it, {bootable}",
            original.format, original.virtual_bytes
        ));
        for Partition { kind, active, first, sectors } in &original.partitions {
            let active = if *active { ", active" } else { "" };
            line(format!("  partition of type {kind} from sector {first}, {sectors} sectors{active}"));
        }
    }
    for packed in &image.facts.instances {
        line(format!("  {} sha256:{}", packed.instance, packed.sha256));
    }
    if let Some(from) = &image.facts.made_from {
        let source = |source: &Source| format!("{} sha256:{}", source.name, source.sha256);
        if let Some(reference) = &from.reference {
            line(format!("  made on the reference {}", source(reference)));
        }
        if let Some(tool) = &from.tool {
            line(format!("  tool folder {}", source(tool)));
        }
        if let Some(container) = &from.container {
            let name = container.name.as_deref().map_or(String::new(), |name| format!(" {name}"));
            line(format!("  container{name} in {}", source(&container.archive)));
        }
        if !from.packages_asked.is_empty() {
            line(format!("  packages asked for: {}", from.packages_asked.join(" ")));
        }
    }
    if !image.facts.packages.is_empty() {
        line(format!("  Debian packages: {} (image.json lists them)", image.facts.packages.len()));
    }
    print::text(&out)
}

//! The inputs disk of a campaign.

use super::RunnerError;
use mcc_base::digest;
use mcc_base::files::ARCHIVES;
use mcc_campaign::{Campaign, GenericProperties, InstanceFacts};
use mcc_edition::Edition;
use mcc_model::{Archive, Finding, Severity, VERDICTS, copy_without_verdicts, validate};
use mcc_vm::{Image, build};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// An event while an inputs disk is built.
pub enum InputsEvent<'a> {
    /// An instance violates rule M-4.
    Finding(&'a Finding),
    /// The number of errors in instances that were accepted.
    Accepted(u32),
    /// A step of the build.
    Step(&'a str),
}

/// Opens the inputs disk of the campaign, or builds one from its archives in the folder of the record.
pub(super) fn inputs_disk(
    campaign: &Campaign,
    edition: &Edition,
    facts: &[InstanceFacts],
    results: &Path,
    accept: bool,
    show: &dyn Fn(InputsEvent),
) -> Result<Image, RunnerError> {
    let planned: Vec<_> = facts.iter().map(|facts| (&facts.name, &facts.sha256)).collect();
    let packed = |image: &Image| -> Vec<(String, String)> {
        image.facts.instances.iter().map(|p| (p.instance.clone(), p.sha256.clone())).collect()
    };
    let left_out = match campaign.generic_properties {
        GenericProperties::Keep => None,
        GenericProperties::Remove => Some(VERDICTS),
    };
    let fits = |image: Image| {
        if image.facts.left_out.as_deref() == left_out {
            Ok(image)
        } else {
            Err(RunnerError::Refused(format!(
                "the inputs disk {} does not fit generic_properties of the campaign: its archives were packed with \
                 GenericPropertiesVerdict.xml for \"keep\", without it for \"remove\"; give the folder of the archives as \
                 inputs, and a new --out",
                image.folder.display()
            )))
        }
    };
    if campaign.inputs.join(ARCHIVES).is_dir() {
        let image = fits(Image::open(&campaign.inputs)?)?;
        let on_disk: BTreeMap<_, _> = packed(&image).into_iter().collect();
        let different = planned.iter().find(|(name, sha256)| on_disk.get(name.as_str()) != Some(sha256));
        let folder = image.folder.display();
        return match (&image.facts.edition, different) {
            (Some(found), _) if *found != edition.name => Err(RunnerError::Refused(format!(
                "the inputs disk {folder} is of edition {found}, but the campaign is of {}; give inputs of that edition",
                edition.name
            ))),
            (_, Some((instance, _))) => Err(RunnerError::Refused(format!(
                "the inputs disk {folder} does not contain {instance} as in its folder {ARCHIVES}; build the disk again \
                 (`mcc-harness image inputs`)"
            ))),
            _ => Ok(image),
        };
    }
    let own_disk = results.join("inputs");
    if let Ok(image) = Image::open(&own_disk) {
        if packed(&image)
            .iter()
            .map(|(name, sha256)| (name.as_str(), sha256))
            .eq(planned.iter().map(|(name, sha256)| (name.as_str(), *sha256)))
        {
            return fits(image);
        }
        return Err(RunnerError::Refused(format!(
            "the archives in {} changed after {} was built from them; use another --out",
            campaign.inputs.display(),
            own_disk.display()
        )));
    }
    let archives: Vec<_> = campaign.archives()?.into_iter().collect();
    check_archives(&archives, accept, show)?;
    let step = |step: &str| show(InputsEvent::Step(step));
    let copy = |from: &Path, to: &Path| {
        let sha256 = match left_out {
            // Not `fs::copy`, which also copies the permissions: the copy is private if the record is.
            None => {
                let mut reader = digest::Reader::new(File::open(from)?);
                io::copy(&mut reader, &mut File::create(to)?)?;
                reader.digest()
            }
            Some(_) => {
                copy_without_verdicts(from, to).map_err(io::Error::other)?;
                digest::file(from)?.0
            }
        };
        let is_planned = |(name, path): &(String, PathBuf)| {
            path == from
                && planned.iter().any(|(known, planned)| known.as_str() == name && **planned == sha256)
        };
        if !archives.iter().any(is_planned) {
            return Err(io::Error::other(
                "it was changed after the campaign was planned; run the command again",
            ));
        }
        Ok(sha256)
    };
    build::inputs(&archives, Some(&edition.name), (left_out, &copy), &own_disk, &step)
        .map_err(RunnerError::Inputs)
}

/// Opens the inputs disk that an earlier command built for a campaign.
///
/// # Errors
/// There is no such disk.
pub fn packed_inputs(campaign: &Campaign, results: &Path) -> Result<Image, RunnerError> {
    let folder =
        if campaign.inputs.join(ARCHIVES).is_dir() { &campaign.inputs } else { &results.join("inputs") };
    Ok(Image::open(folder)?)
}

/// Checks archives by rule M-4. `show` is called with every finding.
///
/// # Errors
/// An archive cannot be read, or instances have errors and `accept` is false.
pub fn check_archives(
    archives: &[(String, PathBuf)],
    accept: bool,
    show: &dyn Fn(InputsEvent),
) -> Result<(), RunnerError> {
    let mut errors = 0;
    for (_, path) in archives {
        for finding in validate(&Archive::open(path)?) {
            show(InputsEvent::Finding(&finding));
            errors += u32::from(finding.severity == Severity::Error);
        }
    }
    match errors {
        0 => {}
        n if accept => show(InputsEvent::Accepted(n)),
        n => {
            return Err(RunnerError::Refused(format!(
                "errors in the instances (rule M-4): {n}; correct them, or pack them unchanged with --accept-errors"
            )));
        }
    }
    Ok(())
}

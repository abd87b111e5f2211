//! `REUSE.toml` and `LICENSES/`: the licence of each part of an archive, as REUSE 3.3 defines it.

use super::{Description, write_text};
use crate::ArchiveError;
use mcc_base::OnFile;
use mcc_campaign::{Licence, Publication};
use mcc_store::Disk;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The folder of the texts.
pub const FOLDER: &str = "LICENSES";
/// The file that says which licence holds for which file.
pub const FILE: &str = "REUSE.toml";
const DISKS: &str = "LicenseRef-disks";

/// Writes the files, if the campaign states its licence.
pub fn write(to: &Path, description: &Description, disks: &[Disk]) -> Result<(), ArchiveError> {
    let Some(licence) = description.publication.and_then(|publication| publication.licence) else {
        return Ok(());
    };
    let folder = to.join(FOLDER);
    fs::create_dir(&folder).on("create", &folder)?;
    let text = match licence {
        Licence::CcBy => include_str!("../licences/CC-BY-4.0.txt"),
        Licence::Cc0 => include_str!("../licences/CC0-1.0.txt"),
    };
    write_text(&folder.join(format!("{}.txt", licence.spdx())), text)?;
    let holders = match description.organizers() {
        [] => format!("the organizers of {}", description.title()),
        names => names.join("; "),
    };
    let year = description.day_or_year().and_then(|date| date.get(..4));
    let holders = year.map_or(String::new(), |year| year.to_owned() + " ") + &holders;
    let mut parts = vec![("**", holders, licence.spdx())];
    if !disks.is_empty() {
        write_text(&folder.join(format!("{DISKS}.txt")), &about_disks(disks, description.publication))?;
        parts.push(("disks/**", "the authors of the software on the disks".to_owned(), DISKS));
    }
    let annotation = |(path, holders, licence): (&str, String, &str)| {
        toml::Table::from_iter([
            ("path".to_owned(), path.into()),
            // Outputs of tools may contain texts that look like statements of a licence.
            ("precedence".to_owned(), "override".into()),
            ("SPDX-FileCopyrightText".to_owned(), holders.into()),
            ("SPDX-License-Identifier".to_owned(), licence.into()),
        ])
    };
    let annotations: Vec<toml::Value> = parts.into_iter().map(|part| annotation(part).into()).collect();
    let file = toml::Table::from_iter([
        ("version".to_owned(), 1.into()),
        ("annotations".to_owned(), annotations.into()),
    ]);
    write_text(&to.join(FILE), &toml::to_string(&file).expect("plain data is TOML"))
}

/// What is known about the licences of the disks.
fn about_disks(disks: &[Disk], publication: Option<&Publication>) -> String {
    let mut text = "The disks contain software and models of many authors, each under its own licence.\n\
        On a disk with Debian, the licences of its packages are in /usr/share/doc/PACKAGE/copyright.\n\
        The models on an inputs disk have the licences of their authors.\n\n"
        .to_owned();
    for disk in disks {
        let entry = disk.role.strip_prefix("disk ").and_then(|entry| publication?.entries.get(entry));
        let stated = match entry.and_then(|entry| entry.licence.as_deref()) {
            Some(licence) => format!("the authors of the tool state {licence}"),
            None => "no licence is stated".to_owned(),
        };
        let _ = writeln!(text, "disks/{} ({}): {stated}", disk.sha256, disk.role);
    }
    text
}

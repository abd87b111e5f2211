//! `[publication]` and the keys of `[[tool]]` for it: what a campaign is called, who made it, and how it is cited. No
//! result depends on it.

use super::CampaignError;
use crate::parse;
use mcc_base::names::EntryName;
use mcc_base::text::line_of_byte;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;

/// Title, date, people, licence and DOI of a campaign, and the authors of its entries. Every field is optional. Texts are
/// short and without control characters, also when they are read from a judgement or an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Publication {
    /// The title: `Model Checking Contest 2018`.
    #[serde(deserialize_with = "text::<200, _>", skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The day of publication: `2018-06-26`.
    #[serde(deserialize_with = "date", skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// The organizers: `Family, Given` for a person, any other text for a group.
    #[serde(deserialize_with = "people", skip_serializing_if = "Vec::is_empty")]
    pub organizers: Vec<String>,
    /// The licence of everything that the campaign made: tables, judgement, record, outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<Licence>,
    /// The DOI, without the address of a resolver: `10.5281/zenodo.1234567`.
    #[serde(deserialize_with = "doi", skip_serializing_if = "Option::is_none")]
    pub doi: Option<String>,
    /// The address from which the archive can be fetched: `https://...`.
    #[serde(deserialize_with = "link", skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// Authors, affiliation, link and licence of the entries that state one of them, by name of the entry.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub entries: BTreeMap<EntryName, EntryPublication>,
}

/// The authors of an entry, and where it comes from. Every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryPublication {
    /// The authors: `Family, Given` for a person, any other text for a group.
    #[serde(deserialize_with = "people", skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// Their university or company.
    #[serde(deserialize_with = "text::<200, _>", skip_serializing_if = "Option::is_none")]
    pub affiliation: Option<String>,
    /// The address of the tool's page: `https://...`.
    #[serde(deserialize_with = "link", skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The licence of the tool, as an SPDX expression: `GPL-3.0-or-later`.
    #[serde(deserialize_with = "spdx", skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// A licence of published results: those whose text an archive can include.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Licence {
    /// Creative Commons Attribution 4.0.
    #[serde(rename = "CC-BY-4.0")]
    CcBy,
    /// Creative Commons Zero 1.0: no rights reserved.
    #[serde(rename = "CC0-1.0")]
    Cc0,
}

impl Licence {
    /// Its identifier in the list of SPDX.
    pub fn spdx(self) -> &'static str {
        match self {
            Self::CcBy => "CC-BY-4.0",
            Self::Cc0 => "CC0-1.0",
        }
    }

    /// The address of its text.
    pub fn address(self) -> &'static str {
        match self {
            Self::CcBy => "https://creativecommons.org/licenses/by/4.0/",
            Self::Cc0 => "https://creativecommons.org/publicdomain/zero/1.0/",
        }
    }
}

/// The part of a campaign file that is about its publication. Other keys are not looked at.
#[derive(Deserialize)]
struct File {
    publication: Option<Spanned<Publication>>,
    #[serde(default)]
    tool: Vec<EntryPublication>,
}

/// The names of the entries. Read separately: serde's `flatten` would lose the lines of errors.
#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    tool: Vec<NameOfTool>,
}

#[derive(Deserialize)]
struct NameOfTool {
    entry: EntryName,
}

impl Publication {
    /// Reads `[publication]` and `[[tool]]` of a campaign file; other keys are not looked at. None: nothing is stated.
    ///
    /// # Errors
    /// The file cannot be read, or a value is not valid.
    pub fn load(path: &Path) -> Result<Option<Self>, CampaignError> {
        let text = super::load::read(path)?;
        Self::of_text(&text).map_err(|(line, message)| CampaignError::wrong(path, line, &message))
    }

    /// `load` of the text of a campaign file, such as the one that a record keeps.
    ///
    /// # Errors
    /// A value is not valid. The error is its line, from 1, and the problem with the remedy.
    pub fn of_text(text: &str) -> Result<Option<Self>, (usize, String)> {
        let file: File = parse::campaign(text)?;
        let names: Names = parse::campaign(text)?;
        if let Some(publication) =
            file.publication.as_ref().filter(|publication| !publication.get_ref().entries.is_empty())
        {
            let message = "publication: `entries` is not a key; write authors, affiliation, link and licence into \
                           [[tool]]";
            return Err((line_of_byte(text.as_bytes(), publication.span().start), message.to_owned()));
        }
        let mut publication = file.publication.map(Spanned::into_inner).unwrap_or_default();
        let entries = names.tool.into_iter().map(|tool| tool.entry).zip(file.tool);
        publication.entries = entries.filter(|(_, entry)| *entry != EntryPublication::default()).collect();
        Ok(Some(publication).filter(|publication| *publication != Self::default()))
    }

    /// Returns the publication with the entries for which `keep` returns true; None: nothing is stated then.
    #[must_use]
    pub fn with_entries(mut self, keep: impl Fn(&str) -> bool) -> Option<Self> {
        self.entries.retain(|entry, _| keep(entry));
        Some(self).filter(|publication| *publication != Self::default())
    }
}

/// Most people in a list.
const MAX_PEOPLE: usize = 100;

/// Checks a text that is shown: not empty, at most `most` characters, in one line, without characters that hide or
/// reorder others.
fn check_text(text: &str, most: usize) -> Result<(), String> {
    match text.chars().count() {
        _ if text.trim().is_empty() => Err("the text is empty; write it or remove the key".to_owned()),
        count if count > most => {
            Err(format!("the text has {count} characters, {most} are allowed; shorten it"))
        }
        _ if text.trim() != text => Err("the text begins or ends with a blank; remove it".to_owned()),
        _ => match text.chars().find(|c| mcc_base::text::control(*c).is_some()) {
            Some(c) => Err(format!("the text contains the control character U+{:04X}; remove it", c as u32)),
            None => Ok(()),
        },
    }
}

/// Reads a text that `check` accepts; null is None.
fn checked<'de, D: Deserializer<'de>>(
    from: D,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    text.as_deref().map_or(Ok(()), check).map_err(D::Error::custom)?;
    Ok(text)
}

fn text<'de, const MAX: usize, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    checked(from, |text| check_text(text, MAX))
}

fn people<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let people = Vec::<String>::deserialize(from)?;
    if people.len() > MAX_PEOPLE {
        return Err(D::Error::custom(format!("more than {MAX_PEOPLE} names; shorten the list")));
    }
    people.iter().try_for_each(|name| check_text(name, 100)).map_err(D::Error::custom)?;
    Ok(people)
}

fn date<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    checked(from, |text| match text.parse::<jiff::civil::Date>() {
        // Other spellings of ISO 8601 are dates too.
        Ok(date) if date.to_string() == text => Ok(()),
        _ => Err(format!(
            "`{}` is not a date; write it like 2018-06-26",
            text.chars().take(40).collect::<String>()
        )),
    })
}

fn doi<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    checked(from, |text| {
        let parts = text.strip_prefix("10.").and_then(|rest| rest.split_once('/'));
        let is_doi = parts.is_some_and(|(registrant, suffix)| {
            let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let plain = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\{}|^`".contains(&byte);
            registrant.split('.').all(number) && !suffix.is_empty() && suffix.bytes().all(plain)
        });
        if is_doi && text.len() <= 200 {
            Ok(())
        } else {
            Err("not a DOI; write it like 10.5281/zenodo.1234567, without https://doi.org/".to_owned())
        }
    })
}

fn link<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    checked(from, |text| {
        let host = ["https://", "http://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\{}|^`".contains(&byte);
        let is_link = host.is_some_and(|host| host.starts_with(|c: char| c.is_ascii_alphanumeric()));
        if is_link && text.len() <= 500 && text.bytes().all(plain) {
            Ok(())
        } else {
            Err("not an address; write https://..., at most 500 characters of ASCII \
                 without blanks"
                .to_owned())
        }
    })
}

fn spdx<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    checked(from, |text| {
        let part = |byte: u8| byte.is_ascii_alphanumeric() || b" .-+()".contains(&byte);
        if !text.is_empty() && text.len() <= 200 && text.bytes().all(part) {
            Ok(())
        } else {
            Err("not an SPDX expression of at most 200 characters; write it like GPL-3.0-or-later, or \
                 LicenseRef-NAME for another licence"
                .to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publication_is_read_and_written_unchanged() {
        let text = r#"
            edition = "mcc-2018"
            [publication]
            title = "A demo"
            date = "2018-06-26"
            organizers = ["Petri, Carl Adam", "The committee"]
            licence = "CC-BY-4.0"
            doi = "10.5281/zenodo.1234567"
            archive = "https://example.org/demo.tar.zst"
            [[tool]]
            entry = "LoLA"
            kind = "sequential"
            authors = ["Wolf, Karsten"]
            affiliation = "Universität Rostock"
            link = "https://theo.informatik.uni-rostock.de/lola"
            licence = "AGPL-3.0-or-later"
            [[tool]]
            entry = "silent"
        "#;
        let publication = Publication::of_text(text).unwrap().unwrap();
        assert_eq!(publication.organizers, ["Petri, Carl Adam", "The committee"]);
        assert_eq!(publication.licence.map(Licence::spdx), Some("CC-BY-4.0"));
        assert_eq!(publication.entries.len(), 1);
        assert_eq!(publication.entries["LoLA"].affiliation.as_deref(), Some("Universität Rostock"));
        // JSON and TOML share the types of serde; the crate has only TOML.
        let written = toml::to_string(&publication).unwrap();
        assert_eq!(toml::from_str::<Publication>(&written).unwrap(), publication);
        assert!(publication.clone().with_entries(|_| false).unwrap().entries.is_empty());
        assert_eq!(Publication::of_text("edition = \"x\"").unwrap(), None);
    }

    #[test]
    fn wrong_values_are_refused_with_line_and_remedy() {
        let long = "x".repeat(201);
        for (line, remedy) in [
            (format!("title = \"{long}\""), "201 characters, 200 are allowed; shorten it"),
            ("title = \"\"".into(), "the text is empty"),
            ("title = \"a\\u0007b\"".into(), "control character U+0007; remove it"),
            ("title = \"a\\u202eb\"".into(), "control character U+202E; remove it"),
            ("title = \"a\\u061cb\"".into(), "control character U+061C; remove it"),
            ("title = \"a\\U000E0041b\"".into(), "control character U+E0041; remove it"),
            ("date = \"26.6.2018\"".into(), "`26.6.2018` is not a date; write it like 2018-06-26"),
            ("date = \"2018-06-31\"".into(), "is not a date"),
            ("organizers = [\"a\\nb\"]".into(), "control character U+000A"),
            ("licence = \"MIT\"".into(), "expected `CC-BY-4.0` or `CC0-1.0`"),
            ("doi = \"https://doi.org/10.5281/x\"".into(), "without https://doi.org/"),
            ("doi = \"10.5281/a b\"".into(), "not a DOI"),
            ("archive = \"demo.tar.zst\"".into(), "write https://"),
            ("website = \"x\"".into(), "unknown field `website`"),
            ("entries.LoLA.authors = [\"a\"]".into(), "into [[tool]]"),
            ("[[tool]]\nentry = \"a\"\nlink = \"javascript:alert(1)\"".into(), "write https://"),
            ("[[tool]]\nentry = \"a\"\nlicence = \"<b>\"".into(), "not an SPDX expression"),
            ("[[tool]]\nentry = \"a\"\nauthors = \"me\"".into(), "expected a list"),
        ] {
            let text = format!("[publication]\n{line}\n");
            let (at, message) = Publication::of_text(&text).unwrap_err();
            assert!(message.contains(remedy), "{line}: {message}");
            assert!((1..=4).contains(&at), "{line}: line {at}");
        }
        let (at, _) = Publication::of_text("\n\n[publication]\ntitle = \"a\\tb\"\n").unwrap_err();
        assert_eq!(at, 4);
    }
}

//! Names of entries, examinations, models and other things, and identities of runs.
//!
//! They become parts of paths and texts of tables, so they are checked when they are parsed or deserialized. There are
//! two kinds:
//!
//! - names of folders (`EntryName`, `ExaminationName`, `ModelName`, and instances): letters and digits of ASCII, `.`,
//!   `_`, `+`, `-`;
//! - other names (`Name`: tools, hosts, statuses, roles of disks, and all names in tables): printable characters of ASCII
//!   without `/`.
//!
//! Other letters are refused because Unicode has several spellings of one name that look the same.

use super::{digest, text};
use serde::Deserialize;
use std::collections::HashMap;

/// Length limit of a name in bytes: that of a Linux file name.
pub const MAX_NAME_BYTES: usize = 255;

/// Length limit of the name of a folder in bytes.
const MAX_FOLDER_NAME_BYTES: usize = 200;

/// The error for a text that is not a valid name or identity of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {text:?} {problem}")]
pub struct BadName {
    what: &'static str,
    /// The first 100 characters of the text.
    text: String,
    problem: &'static str,
}

impl BadName {
    fn new(what: &'static str, text: &str, problem: &'static str) -> Self {
        Self { what, text: text.chars().take(100).collect(), problem }
    }
}

/// Checks a name that is shown and compared, and that can be one part of a path.
fn check(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("is empty; give it a name"),
        "." | ".." => Err("has a special meaning in paths; give it another name"),
        _ if name.len() > MAX_NAME_BYTES => Err("is longer than 255 bytes; give it a shorter name"),
        _ if name.contains('/') => Err("contains a slash; leave it out"),
        _ => check_characters(name),
    }
}

fn check_characters(name: &str) -> Result<(), &'static str> {
    // First the common case, which is fast.
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    if name.chars().any(char::is_control) {
        Err("contains a control character; leave it out")
    } else {
        Err("contains a character that is not in ASCII; write it with ASCII characters")
    }
}

/// Empty where no property file is known. Lines of a table or a message must not end in an id.
fn check_property_id(id: &str) -> Result<(), &'static str> {
    if id.chars().any(|c| text::control(c).is_some()) {
        Err("contains a control or invisible character; leave it out")
    } else {
        Ok(())
    }
}

/// Checks a name that is used as the name of a folder.
///
/// # Errors
/// The problem, as predicate of the name.
pub fn check_folder(name: &str) -> Result<(), &'static str> {
    let safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    match name.as_bytes() {
        [] => Err("is empty; give it a name"),
        bytes if bytes.len() > MAX_FOLDER_NAME_BYTES => {
            Err("is longer than 200 bytes; give it a shorter name")
        }
        [first, ..] if !first.is_ascii_alphanumeric() => Err("must begin with a letter or a digit"),
        bytes if !bytes.iter().copied().all(safe) => {
            Err("is used as the name of a folder: allowed are letters, digits, `.`, `_`, `+` and `-`")
        }
        _ => Ok(()),
    }
}

/// Checks the name of a task of another contest, which may be a path such as `c/loops/a.yml`. It must not be used as a
/// path here.
///
/// # Errors
/// The name is empty, too long, or has characters that are not allowed. The error names it `what`.
pub fn check_task(what: &'static str, name: &str) -> Result<(), BadName> {
    let problem = match name {
        "" => Err("is empty; give it a name"),
        _ if name.len() > 4096 => Err("is longer than 4096 bytes; give it a shorter name"),
        _ => check_characters(name),
    };
    problem.map_err(|problem| BadName::new(what, name, problem))
}

/// Checks a name in a table, without a copy of it. The error names it `what`.
///
/// # Errors
/// The text is not a valid `Name`.
pub fn check_name(what: &'static str, name: &str) -> Result<(), BadName> {
    check(name).map_err(|problem| BadName::new(what, name, problem))
}

/// Device names of Windows. A file has no such name there, with or without an extension.
const DEVICES: [&str; 4] = ["CON", "PRN", "AUX", "NUL"];

/// Whether some systems reserve a name, or change it when a file of this name is created: names of devices of Windows
/// (`CON`, `aux.x`, `COM1`), and names with a dot or blank at the end.
pub fn is_reserved(name: &str) -> bool {
    is_device(name) || name.ends_with(['.', ' '])
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_ascii_uppercase();
    let numbered = |device: &str| {
        let number = stem.strip_prefix(device).map(str::as_bytes);
        number.is_some_and(|number| matches!(number, [digit] if digit.is_ascii_digit()))
    };
    DEVICES.contains(&stem.as_str()) || numbered("COM") || numbered("LPT")
}

/// The file name of a page, file or folder that is named after something: readable, at most 120 bytes long, allowed on all
/// systems and in URLs, and different for different names. Bytes other than letters, digits, `-`, `_` and `.` become
/// `~` and two hexadecimal digits.
///
/// Names that differ only in upper and lower case have file names that do so too; see `file_names`.
pub fn file_name(name: &str) -> String {
    let last = name.len().saturating_sub(1);
    let device = is_device(name);
    let mut file = String::with_capacity(name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            // The first letter of the name of a device is escaped.
            _ if device && at == 0 => file.push_str(&format!("~{byte:02X}")),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => file.push(char::from(byte)),
            b'.' if at > 0 && at < last => file.push('.'),
            _ => file.push_str(&format!("~{byte:02X}")),
        }
    }
    if file.is_empty() || file.len() > 120 {
        file.truncate(80);
        file.push_str("~~");
        file.push_str(&digest::bytes(name)[..24]);
    }
    file
}

/// The file names (`file_name`) of the names of one folder, in their order. Where two differ only in upper and lower
/// case, which some systems do not distinguish, a part of the digest of the name is added to both.
pub fn file_names<'n>(names: impl IntoIterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut counts: HashMap<String, (&str, bool)> = HashMap::new();
    for name in names.clone() {
        let known = counts.entry(file_name(name).to_ascii_lowercase()).or_insert((name, false));
        known.1 |= known.0 != name;
    }
    let unique = |name: &str| {
        let file = file_name(name);
        if counts[&file.to_ascii_lowercase()].1 {
            format!("{file}~~{}", &digest::bytes(name)[..24])
        } else {
            file
        }
    };
    names.into_iter().map(unique).collect()
}

/// Implements the usual traits of a type for checked text: values are compared with texts, hashed, displayed and
/// serialized as their text. The type must have `as_str` and a `TryFrom<String>` that checks the text, and derive its
/// comparisons with the text as the first field.
#[macro_export]
macro_rules! checked_text {
    ($type:ident, $error:ty) => {
        impl std::str::FromStr for $type {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                text.to_owned().try_into()
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl std::ops::Deref for $type {
            type Target = str;

            fn deref(&self) -> &str {
                self.as_str()
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl PartialEq<str> for $type {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        impl PartialEq<&str> for $type {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl PartialEq<String> for $type {
            fn eq(&self, text: &String) -> bool {
                self.as_str() == text
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

macro_rules! name_type {
    ($(#[$doc:meta])* $type:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $type(String);

        impl $type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = BadName;

            fn try_from(text: String) -> Result<Self, BadName> {
                match $check(&text) {
                    Ok(()) => Ok(Self(text)),
                    Err(problem) => Err(BadName::new($what, &text, problem)),
                }
            }
        }

        checked_text!($type, BadName);
    };
}

name_type!(
    /// The name of an entry as submitted, such as `ITS-Tools.L`.
    EntryName,
    "the entry",
    check_folder
);
name_type!(
    /// The name of an examination, such as `CTLCardinality`.
    ExaminationName,
    "the examination",
    check_folder
);
name_type!(
    /// The name of a model (family), such as `Philosophers`.
    ModelName,
    "the model",
    check_folder
);
name_type!(
    /// A name of something else: a tool, a host, a status, the role of a disk or output.
    Name,
    "the name",
    check
);
name_type!(
    /// The id of a property, such as `Philosophers-PT-000010-UpperBounds-00`: any text, but of visible characters.
    PropertyId,
    "the property id",
    check_property_id
);
name_type!(
    /// The identity of a run: `ENTRY/INSTANCE/EXAMINATION`.
    RunId,
    "the run",
    check_run_id
);

fn check_run_id(id: &str) -> Result<(), &'static str> {
    let mut names = id.split('/');
    match (names.next(), names.next(), names.next(), names.next()) {
        (Some(entry), Some(instance), Some(examination), None) => {
            [entry, instance, examination].into_iter().try_for_each(check_folder)
        }
        _ => Err("does not have three parts; write ENTRY/INSTANCE/EXAMINATION"),
    }
}

/// Reads a text that must be a valid `T`; for fields that keep it as a `String`.
///
/// # Errors
/// The text is not a valid `T`.
pub fn text_of<'de, T, D>(from: D) -> Result<String, D::Error>
where
    T: TryFrom<String, Error = BadName> + AsRef<str>,
    D: serde::Deserializer<'de>,
{
    let name = T::try_from(String::deserialize(from)?).map_err(serde::de::Error::custom)?;
    Ok(name.as_ref().to_owned())
}

impl RunId {
    /// Returns the identity of a run. `instance` is not checked here: its own type allows no slash.
    pub fn new(entry: &EntryName, instance: &impl AsRef<str>, examination: &ExaminationName) -> Self {
        Self(format!("{entry}/{}/{examination}", instance.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_with_invisible_characters_is_refused() {
        for id in ["", "x-00", "two words", "é"] {
            assert_eq!(id.parse::<PropertyId>().unwrap(), id);
        }
        for id in
            ["a\nb", "a\rb", "a\tb", "\0", "\u{1b}[31m", "a\u{85}b", "a\u{2028}b", "a\u{202e}b", "\u{feff}a"]
        {
            assert!(id.parse::<PropertyId>().is_err(), "{id:?}");
        }
    }

    #[test]
    fn a_name_that_cannot_be_part_of_a_path_is_refused() {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for (name, problem) in [
            ("", "is empty"),
            (".", "special meaning"),
            ("..", "special meaning"),
            ("../results", "contains a slash"),
            ("/etc", "contains a slash"),
            ("a\nb", "contains a control character"),
            ("a\0", "contains a control character"),
            ("a\u{9b}", "contains a control character"),
            ("a\u{202e}", "not in ASCII"),
            ("\u{e9}", "not in ASCII"),
            ("e\u{301}", "not in ASCII"),
            (&long, "is longer than 255 bytes"),
        ] {
            let error = name.parse::<Name>().unwrap_err().to_string();
            assert!(error.contains("the name") && error.contains(problem), "{error}");
            assert!(name.parse::<EntryName>().is_err() && name.parse::<ExaminationName>().is_err(), "{name}");
            let run = format!("tool/{name}/CTLFireability");
            assert!(run.parse::<RunId>().is_err(), "{run}");
        }
        for name in [".hidden", "-rf", "a b", "a:b", "a\\b", "~", "a*"] {
            assert!(name.parse::<Name>().is_ok() && name.parse::<EntryName>().is_err(), "{name}");
        }
        for run in ["tool", "tool/A-PT-1", "/A-PT-1/X", "tool/A-PT-1/X/1", "tool/../X"] {
            assert!(run.parse::<RunId>().is_err(), "{run}");
        }
    }

    #[test]
    fn reserved_names_of_other_systems_are_recognized() {
        for name in ["CON", "con", "aux.x", "Nul.tar.gz", "COM1", "lpt9.L", "a.", "a ", "prn ."] {
            assert!(is_reserved(name), "{name}");
        }
        for name in ["Con-Tool", "LoLA", "COM", "COM10", "auxiliary", "ITS-Tools.L", "x.aux"] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn names_become_file_names_of_all_systems() {
        for (name, file) in [
            ("ITS-Tools.L", "ITS-Tools.L"),
            ("../../etc", "~2E.~2F..~2Fetc"),
            ("..", "~2E~2E"),
            ("a b\"<:", "a~20b~22~3C~3A"),
            ("CON", "~43ON"),
            ("aux.x", "~61ux.x"),
            ("a.", "a~2E"),
        ] {
            assert_eq!(file_name(name), file);
            assert!(!is_reserved(&file_name(name)), "{name}");
        }
        assert!(!file_name("").is_empty());
    }

    #[test]
    fn file_names_differ_in_more_than_case() {
        let names = file_names(["A", "a", "LoLA", "A"]);
        assert_eq!((names[0].as_str(), names[2].as_str()), (names[3].as_str(), "LoLA"));
        assert!(names[0].starts_with("A~~") && names[1].starts_with("a~~"), "{names:?}");
        assert_ne!(names[0].to_lowercase(), names[1].to_lowercase());
    }

    proptest::proptest! {
        #[test]
        fn different_names_have_different_file_names(
            names in proptest::collection::vec("[aA.~ é]{0,4}|(con|CON|x)[.]?|.{0,200}", 2..6)
        ) {
            let files = file_names(names.iter().map(String::as_str));
            for (name, file) in names.iter().zip(&files) {
                proptest::prop_assert!(file.len() <= 146 && !is_reserved(file));
                for (other, its) in names.iter().zip(&files) {
                    proptest::prop_assert_eq!(name == other, file.eq_ignore_ascii_case(its));
                }
            }
        }
    }

    #[test]
    fn names_are_plain_strings_in_json() {
        let (entry, examination): (EntryName, ExaminationName) =
            ("ITS-Tools.L".parse().unwrap(), "CTLFireability".parse().unwrap());
        let id = RunId::new(&entry, &"A-PT-1", &examination);
        assert_eq!(serde_json::to_string(&id).unwrap(), "\"ITS-Tools.L/A-PT-1/CTLFireability\"");
        assert_eq!(serde_json::from_str::<RunId>("\"ITS-Tools.L/A-PT-1/CTLFireability\"").unwrap(), id);
        let error = serde_json::from_str::<RunId>("\"ITS-Tools.L/../x/..\"").unwrap_err().to_string();
        assert!(error.contains("ENTRY/INSTANCE/EXAMINATION"), "{error}");
    }
}

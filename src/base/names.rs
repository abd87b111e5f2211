//! Names of entries and examinations, and identities of runs.
//!
//! They become parts of paths, so they are checked when they are parsed or deserialized.

use serde::Deserialize;

/// Length limit of a name in bytes: that of a Linux file name.
pub const LONGEST_NAME: usize = 255;

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

/// Checks that a name can be one part of a path.
fn check(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("is empty; give it a name"),
        "." | ".." => Err("has a special meaning in paths; give it another name"),
        _ if name.len() > LONGEST_NAME => Err("is longer than 255 bytes; give it a shorter name"),
        _ if name.contains('/') => Err("contains a slash; leave it out"),
        _ if name.chars().any(char::is_control) => Err("contains a control character; leave it out"),
        _ => Ok(()),
    }
}

/// Implements the usual traits of a type for checked text: values are compared, hashed, displayed and serialized as
/// their text. The type must have `as_str` and a `TryFrom<String>` that checks the text.
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

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.as_str().cmp(other.as_str())
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
        #[derive(Clone, Debug, Deserialize)]
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
    check
);
name_type!(
    /// The name of an examination, such as `CTLCardinality`.
    ExaminationName,
    "the examination",
    check
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
            [entry, instance, examination].into_iter().try_for_each(check)
        }
        _ => Err("does not have the form ENTRY/INSTANCE/EXAMINATION; write it in this form"),
    }
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
    fn a_name_that_cannot_be_part_of_a_path_is_refused() {
        let long = "x".repeat(LONGEST_NAME + 1);
        for (name, problem) in [
            ("", "is empty"),
            (".", "special meaning"),
            ("..", "special meaning"),
            ("../results", "contains a slash"),
            ("a/b", "contains a slash"),
            ("a\nb", "contains a control character"),
            ("a\0", "contains a control character"),
            ("a\u{9b}", "contains a control character"),
            (&long, "is longer than 255 bytes"),
        ] {
            let error = name.parse::<EntryName>().unwrap_err().to_string();
            assert!(error.contains("the entry") && error.contains(problem), "{error}");
            assert!(name.parse::<ExaminationName>().is_err(), "{name}");
            let run = format!("tool/{name}/CTLFireability");
            assert!(run.parse::<RunId>().is_err(), "{run}");
        }
        for run in ["tool", "tool/A-PT-1", "/A-PT-1/X", "tool/A-PT-1/X/1", "tool/../X"] {
            assert!(run.parse::<RunId>().is_err(), "{run}");
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

//! Names of instances: `Family-PT-scale` or `Family-COL-scale`.

use super::NetKind;
use serde::Deserialize;

/// The name of an instance.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct InstanceName {
    name: String,
    family_end: usize,
    scale_start: usize,
}

/// The error of a text that is not the name of an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not an instance name; write it as Family-PT-scale or Family-COL-scale (letters, digits, . _ + -)"
)]
pub struct BadInstanceName(pub String);

impl InstanceName {
    /// The whole name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The family: `Philosophers` for `Philosophers-PT-000010`.
    pub fn family(&self) -> &str {
        &self.name[..self.family_end]
    }

    /// The scale parameter: `000010`, `R002C002`, `none`.
    pub fn scale(&self) -> &str {
        &self.name[self.scale_start..]
    }

    /// The kind of the net.
    pub fn kind(&self) -> NetKind {
        if self.name[self.family_end..].starts_with("-PT-") {
            NetKind::PlaceTransition
        } else {
            NetKind::Coloured
        }
    }
}

impl TryFrom<String> for InstanceName {
    type Error = BadInstanceName;

    /// Names are used as folders in guests and records: only letters, digits and `._+-` are allowed.
    fn try_from(name: String) -> Result<Self, BadInstanceName> {
        let bad = || BadInstanceName(name.chars().take(100).collect());
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+-".contains(&b));
        let (family_end, length) = kind_in(&name).ok_or_else(bad)?;
        let scale_start = family_end + length;
        let complete = family_end > 0 && scale_start < name.len() && name.len() <= 200;
        if !plain || !complete || !name.as_bytes()[0].is_ascii_alphanumeric() {
            return Err(bad());
        }
        Ok(Self { name, family_end, scale_start })
    }
}

mcc_base::checked_text!(InstanceName, BadInstanceName);

/// Position and length of the first `-PT-` or `-COL-` in a name.
fn kind_in(name: &str) -> Option<(usize, usize)> {
    ["-PT-", "-COL-"].iter().filter_map(|kind| Some((name.find(kind)?, kind.len()))).min()
}

/// The family of a name in a table: `InstanceName::family` for the name of an instance, the whole name if it has neither
/// `-PT-` nor `-COL-`.
pub fn family_of(name: &str) -> &str {
    kind_in(name).map_or(name, |(end, _)| if end == 0 { name } else { &name[..end] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_family_kind_and_scale() {
        let name: InstanceName = "GPPP-PT-C0010N1000000000".parse().unwrap();
        assert_eq!(
            (name.family(), name.kind(), name.scale()),
            ("GPPP", NetKind::PlaceTransition, "C0010N1000000000")
        );
        let name: InstanceName = "Referendum-COL-0010".parse().unwrap();
        assert_eq!((name.family(), name.kind(), name.scale()), ("Referendum", NetKind::Coloured, "0010"));
        assert_eq!(name.to_string(), "Referendum-COL-0010");
    }

    #[test]
    fn a_family_ends_at_the_first_kind() {
        for (name, family) in [
            ("A-COL-B-PT-1", "A"),
            ("A-PT-B-COL-1", "A"),
            ("Bridge-and-vehicles-PT-V4", "Bridge-and-vehicles"),
        ] {
            assert_eq!(family_of(name), family);
            assert_eq!(name.parse::<InstanceName>().unwrap().family(), family);
        }
        assert_eq!((family_of("A B-PT-1"), family_of("A")), ("A B", "A"));
        assert_eq!(family_of("-PT-1"), "-PT-1");
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "",
            "Referendum",
            "-PT-1",
            "A-PT-",
            "A-pt-1",
            "../A-PT-1",
            "A-PT-1/..",
            "A-PT-\u{e9}",
            "A B-PT-1",
            ".A-PT-1",
        ] {
            let error = name.parse::<InstanceName>().unwrap_err().to_string();
            assert!(error.contains("Family-PT-scale"), "{error}");
        }
    }
}

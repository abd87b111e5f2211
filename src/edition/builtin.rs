//! The built-in editions, and edition files by path.

use super::error::EditionError;
use mcc_base::OnFile;
use mcc_base::suggest::nearest;
use std::path::Path;

/// The names and the texts of editions.
macro_rules! built_in {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../editions/", $name, ".toml")))),*] };
}

/// The built-in editions of the MCC: name and text.
pub(super) const MCC: &[(&str, &str)] = built_in!(
    "mcc-2017" "mcc-2018" "mcc-2019" "mcc-2020" "mcc-2021" "mcc-2022" "mcc-2023" "mcc-2024" "mcc-2025" "mcc-2026"
);

/// The names of the built-in editions of the MCC.
pub fn known() -> impl Iterator<Item = &'static str> {
    MCC.iter().map(|(name, _)| *name)
}

/// The built-in editions of other contests: name and text.
pub(super) const OTHER_EDITIONS: &[(&str, &str)] = built_in!(
    "svcomp-2012" "svcomp-2013" "svcomp-2014" "svcomp-2015" "svcomp-2016" "svcomp-2017" "svcomp-2018"
    "svcomp-2019" "svcomp-2020" "svcomp-2021" "svcomp-2022" "svcomp-2023" "svcomp-2024" "svcomp-2025"
    "svcomp-2026" "crv-2014"
);

/// The names of the built-in editions of other contests.
pub fn other_edition_names() -> impl Iterator<Item = &'static str> {
    OTHER_EDITIONS.iter().map(|(name, _)| *name)
}

/// Whether an argument is a path: it contains `/` or ends in `.toml`. Any other argument is a name.
pub(super) fn is_path(name_or_path: &str) -> bool {
    name_or_path.contains('/') || name_or_path.ends_with(".toml")
}

/// The newest edition of the contest of `name`, if `name` has a later year.
fn newest_before<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (contest, year) = contest_and_year(name)?;
    let known = names.filter_map(|name| Some((contest_and_year(name)?, name)));
    let newest = known.filter(|((known, _), _)| *known == contest).max_by_key(|((_, year), _)| *year);
    newest.filter(|((_, newest), _)| *newest < year).map(|(_, name)| name)
}

/// The contest and the year in the name of an edition: `svcomp` and `2013` of `svcomp-2013`. None: it has no year.
pub fn contest_and_year(name: &str) -> Option<(&str, &str)> {
    let (contest, year) = name.rsplit_once('-')?;
    (year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit())).then_some((contest, year))
}

/// The text of a built-in edition, and the file name for errors.
pub(super) fn builtin(name: &str) -> Result<(&'static str, String), EditionError> {
    let all = || MCC.iter().chain(OTHER_EDITIONS);
    let names = || all().map(|(name, _)| *name);
    match all().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((text, format!("editions/{name}.toml"))),
        None => Err(EditionError::Unknown {
            name: name.to_owned(),
            meant: match (newest_before(name, names()), nearest(name, names())) {
                (Some(newest), _) => format!(" (the newest is `{newest}`)"),
                (None, Some(near)) => format!(" (did you mean `{near}`?)"),
                (None, None) => String::new(),
            },
            known: names().collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The text of the edition with this name or path, and the file name for errors.
pub(super) fn text_of(name_or_path: &str) -> Result<(String, String), EditionError> {
    if is_path(name_or_path) {
        let path = Path::new(name_or_path);
        let text = mcc_base::text::read(path).on("read", path)?;
        return Ok((text, name_or_path.to_owned()));
    }
    builtin(name_or_path).map(|(text, file)| (text.to_owned(), file))
}

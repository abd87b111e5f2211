//! The category structure of SV-COMP: the contest's own file `category-structure.yml`.

use super::svcomp::{Category, CategoryRole, OptOut, SvcompEdition, check_categories};
use super::{Pattern, Status, StatusRule};
use mcc_base::names::check_name;
use mcc_base::{FileError, OnFile};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::Path;

macro_rules! structures {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../editions/categories/", $name, ".yml")))),*]
    };
}

/// The built-in structures: name and text.
const BUILTIN: &[(&str, &str)] =
    structures!("svcomp-2020" "svcomp-2021" "svcomp-2022" "svcomp-2023" "svcomp-2024" "svcomp-2025");

/// The value of the edition's key `structure` that removes the structure of the base.
const NONE: &str = "none";

/// Limit for the size of a file in bytes; the largest one of the contest has about 40 KB.
const MAX_FILE_BYTES: usize = 4 << 20;

/// The largest number of names in a mapping and of categories. A contest has about a hundred; each name is compared with all
/// others.
const MAX_NAMES: usize = 2000;

/// Why a category structure cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StructureError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file has wrong content.
    #[error(
        "{file}:{line}: {message}; give the contest's category-structure.yml, or a table category,tasks,parent"
    )]
    Content {
        /// The path of the file, or the name of a built-in structure.
        file: String,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

/// A category structure with checked content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryStructure {
    /// The year of the contest, if the file states it.
    pub year: Option<u64>,
    categories: Vec<Category>,
    opt_outs: Vec<OptOut>,
    opt_ins: Vec<OptOut>,
    hors_concours: Vec<String>,
}

/// The keys that are read. The file of the contest has more, such as names of people and colours of plots.
#[derive(Deserialize)]
struct Written {
    year: Option<u64>,
    categories: Names<MetaCategory>,
    opt_out: Option<Names<Vec<String>>>,
    opt_in: Option<Names<Vec<String>>>,
    hors_concours: Option<Vec<String>>,
    demo_categories: Option<Vec<String>>,
    validation_only: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct MetaCategory {
    categories: Vec<String>,
    #[serde(default)]
    verifiers: Vec<String>,
}

/// A mapping in the order of the file.
struct Names<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Names<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> serde::de::Visitor<'de> for Pairs<T> {
            type Value = Names<T>;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a mapping with names as keys")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Names<T>, M::Error> {
                let mut pairs: Vec<(String, T)> = Vec::new();
                while let Some((name, value)) = map.next_entry()? {
                    if pairs.iter().any(|(known, _)| *known == name) {
                        return Err(serde::de::Error::custom(format!("`{name}` is named twice")));
                    }
                    pairs.push((name, value));
                    if pairs.len() > MAX_NAMES {
                        return Err(serde::de::Error::custom(format!("more than {MAX_NAMES} names")));
                    }
                }
                Ok(Names(pairs))
            }
        }
        from.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

impl CategoryStructure {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read or has wrong content.
    pub fn read(path: &Path) -> Result<Self, StructureError> {
        let text = mcc_base::text::read(path).on("read", path)?;
        Self::parse(&text, &path.display().to_string())
    }

    /// Parses the text of a file. `file` is its name in errors.
    ///
    /// # Errors
    /// The text is not YAML, a key has the wrong type, a category is a part of itself, or a name is empty or repeated.
    pub fn parse(text: &str, file: &str) -> Result<Self, StructureError> {
        let content = |line, message| StructureError::Content { file: file.to_owned(), line, message };
        if text.len() > MAX_FILE_BYTES {
            return Err(content(1, format!("the file is larger than {MAX_FILE_BYTES} bytes")));
        }
        let written: Written = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map_or(0, |location| location.line());
            content(line, first_line(&error.to_string()))
        })?;
        let structure = Self::from_written(written).map_err(|message| content(0, message))?;
        structure.check_names().map_err(|message| content(0, message))?;
        match check_categories(&structure.categories) {
            Ok(()) => Ok(structure),
            Err((_, message)) => Err(content(0, message)),
        }
    }

    /// Checks that no name has a control character or another content that pages and files cannot show. An empty name of a
    /// category is reported by `check_categories`.
    fn check_names(&self) -> Result<(), String> {
        let categories =
            self.categories.iter().map(|category| category.name.as_str()).filter(|name| !name.is_empty());
        let choices = self.opt_outs.iter().chain(&self.opt_ins).map(|choice| choice.entry.as_str());
        let participants =
            self.categories.iter().flat_map(|category| &category.participants).map(String::as_str);
        let entries = choices.chain(participants).chain(self.hors_concours.iter().map(String::as_str));
        let named =
            categories.map(|name| ("the category", name)).chain(entries.map(|name| ("the tool", name)));
        for (what, name) in named {
            check_name(what, name).map_err(|bad| bad.to_string())?;
        }
        Ok(())
    }

    fn from_written(written: Written) -> Result<Self, String> {
        let Written { year, categories: Names(metas), .. } = written;
        let list = |names: Option<Vec<String>>| names.unwrap_or_default();
        let (demo, validation) = (list(written.demo_categories), list(written.validation_only));
        let role = |name: &str| match () {
            () if validation.iter().any(|known| known == name) => CategoryRole::ValidationOnly,
            () if demo.iter().any(|known| known == name) => CategoryRole::Demo,
            () => CategoryRole::Ranked,
        };
        let mut categories: Vec<Category> = Vec::new();
        for (name, MetaCategory { verifiers, .. }) in &metas {
            let (role, participants) = (role(name), verifiers.clone());
            categories.push(Category { role, participants, ..Category::named(name) });
        }
        for (meta, MetaCategory { categories: parts, .. }) in &metas {
            let mut seen = BTreeSet::new();
            for part in parts {
                if !seen.insert(part) {
                    return Err(format!("category {meta} names its part {part} twice"));
                }
                let at = categories.iter().position(|category| category.name == *part).unwrap_or_else(|| {
                    categories.push(Category { role: role(part), ..Category::named(part) });
                    categories.len() - 1
                });
                categories[at].parents.push(meta.clone());
                if categories.len() > MAX_NAMES {
                    return Err(format!("more than {MAX_NAMES} categories"));
                }
            }
        }
        let choices = |names: Option<Names<Vec<String>>>| {
            let Names(pairs) = names.unwrap_or(Names(Vec::new()));
            let choice = |(entry, categories): (String, Vec<String>)| {
                let categories = categories.iter().map(|name| Pattern::exact(name)).collect();
                OptOut { entry, categories, from_structure: true }
            };
            pairs.into_iter().map(choice).collect()
        };
        Ok(Self {
            year,
            categories,
            opt_outs: choices(written.opt_out),
            opt_ins: choices(written.opt_in),
            hors_concours: list(written.hors_concours),
        })
    }
}

/// The first line of an error of the YAML reader; the others draw the place.
fn first_line(message: &str) -> String {
    message.lines().next().unwrap_or_default().trim_end_matches(':').to_owned()
}

impl SvcompEdition {
    /// The edition with the categories, opt-outs, opt-ins and entries hors concours of a structure instead of its own. The
    /// statuses of the edition have precedence.
    pub fn with_structure(mut self, structure: CategoryStructure) -> Self {
        let CategoryStructure { categories, opt_outs, opt_ins, hors_concours, .. } = structure;
        (self.categories, self.opt_outs, self.opt_ins) = (categories, opt_outs, opt_ins);
        self.statuses.retain(|rule| rule.note != HORS_CONCOURS);
        self.statuses.extend(hors_concours.iter().map(|entry| StatusRule {
            pattern: Pattern::exact(entry),
            status: Status::OutOfCompetition,
            note: HORS_CONCOURS.to_owned(),
        }));
        self
    }

    /// Replaces the key `structure` by its content. Categories, opt-outs and opt-ins that an edition file sets itself have
    /// precedence.
    ///
    /// # Errors
    /// There is no built-in structure of this name.
    pub(super) fn resolve_structure(mut self) -> Result<Self, String> {
        let Some(name) = self.structure.take().filter(|name| name != NONE) else { return Ok(self) };
        let Some((_, text)) = BUILTIN.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = BUILTIN.iter().map(|(known, _)| *known).collect();
            return Err(format!("`{name}`; allowed are {}, {NONE}", known.join(", ")));
        };
        let file = format!("editions/categories/{name}.yml");
        let structure = CategoryStructure::parse(text, &file).map_err(|error| error.to_string())?;
        self.unknown.remove("category");
        let own = self.clone();
        let mut edition = self.with_structure(structure);
        if !own.categories.is_empty() {
            edition.categories = own.categories;
        }
        if !own.opt_outs.is_empty() {
            edition.opt_outs = own.opt_outs;
        }
        if !own.opt_ins.is_empty() {
            edition.opt_ins = own.opt_ins;
        }
        Ok(edition)
    }
}

/// The note of the status of an entry that the category structure lists as hors concours.
const HORS_CONCOURS: &str = "hors concours (category structure of the contest)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OtherEdition, Rules};
    use std::collections::BTreeMap;

    /// The meta categories with their parts.
    fn parts(categories: &[Category]) -> BTreeMap<&str, Vec<&str>> {
        let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for category in categories {
            for parent in &category.parents {
                parts.entry(parent.as_str()).or_default().push(&category.name);
            }
        }
        parts
    }

    fn edition(year: u32) -> SvcompEdition {
        let Ok(Rules::Other(edition)) = Rules::load(&format!("svcomp-{year}")) else { panic!("{year}") };
        let OtherEdition::Svcomp(edition) = *edition else { panic!("{year}") };
        edition
    }

    #[test]
    fn a_structure_with_very_many_categories_is_refused() {
        let metas = |n: usize| {
            let metas = (0..n).map(|n| format!("  M{n}:\n    categories: [P{n}]\n    verifiers: [v]\n"));
            format!("year: 2024\ncategories:\n{}", metas.collect::<String>())
        };
        let error = |n| CategoryStructure::parse(&metas(n), "x.yml").err().map(|error| error.to_string());
        assert!(error(30_000).unwrap().contains("more than 2000 names"));
        assert!(error(1500).unwrap().contains("more than 2000 categories"));
        assert_eq!(error(50), None);
    }

    #[test]
    fn the_editions_of_2020_to_2025_have_their_categories() {
        // Meta categories and base categories of each file.
        for (year, metas, base) in
            [(2020, 9, 28), (2021, 9, 36), (2022, 9, 37), (2023, 9, 44), (2024, 9, 46), (2025, 10, 50)]
        {
            let edition = edition(year);
            let parts = parts(&edition.categories);
            assert_eq!(parts.len(), metas, "{year}");
            assert_eq!(edition.categories.len() - metas, base, "{year}");
            assert!(parts["Overall"].contains(&"ReachSafety") && parts["Overall"].contains(&"Termination"));
            assert!(!parts["FalsificationOverall"].contains(&"Termination"));
        }
        let of_2025 = edition(2025);
        let role =
            |name: &str| of_2025.categories.iter().find(|category| category.name == name).unwrap().role;
        assert_eq!(role("ValidationCrafted"), CategoryRole::ValidationOnly);
        assert_eq!(role("runtime-exception.RuntimeException-Java"), CategoryRole::Demo);
        assert_eq!(of_2025.status_of("cbmc"), Status::OutOfCompetition);
        assert_eq!(of_2025.status_of("cpachecker"), Status::Competing);
        assert!(of_2025.has_opted_out("graves", "MemSafety"));
        assert!(!of_2025.has_opted_out("graves", "ReachSafety"));
        let of_2021 = edition(2021);
        let demo = of_2021
            .categories
            .iter()
            .find(|category| category.name == "no-data-race.NoDataRace-Main")
            .unwrap();
        assert_eq!(
            (demo.role, demo.parents.as_slice()),
            (CategoryRole::Demo, &["ConcurrencySafety".to_owned()][..])
        );
    }

    #[test]
    fn a_structure_of_2026_is_readable_and_unknown_keys_are_ignored() {
        let text = "year: 2026\ncompetition: SV-COMP\ncategories_table_order: [C.Arrays]\ncategories:\n  \
                    C.ReachSafety:\n    properties: unreach-call\n    categories: [C.unreach-call.Arrays]\n    \
                    verifiers: [a]\n  C.Overall:\n    categories: [C.ReachSafety]\n    verifiers: [a]\nopt_in: null\n";
        let structure = CategoryStructure::parse(text, "c.yml").unwrap();
        assert_eq!(structure.year, Some(2026));
        assert_eq!(parts(&structure.categories)["C.ReachSafety"], ["C.unreach-call.Arrays"]);
    }

    #[test]
    fn a_wrong_structure_is_an_error_with_its_place() {
        for (text, part) in [
            ("", "c.yml"),
            ("categories: [a]\n", "c.yml:1: "),
            ("categories:\n  A:\n    categories: x\n", "c.yml:3: "),
            ("categories:\n  A: {categories: [b]}\n  A: {categories: [c]}\n", "c.yml:"),
            ("categories:\n  A: {categories: [A]}\n", "category `A` is a part of itself"),
            ("categories:\n  A: {categories: [b, b]}\n", "names its part b twice"),
            ("categories:\n  A: {categories: ['']}\n", "a category needs a name"),
            ("categories:\n  A: {categories: [b]}\nopt_out: 7\n", "c.yml:3: "),
            ("a: &a [x, x]\nb: &b [*a, *a]\ncategories: *b\n", "c.yml:"),
            ("<result/>", "c.yml:1: "),
        ] {
            let error = CategoryStructure::parse(text, "c.yml").unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains('\n'), "{text:?}: {error}");
        }
    }

    #[test]
    fn an_edition_may_replace_or_drop_the_structure_of_its_base() {
        let load = |text: &str| {
            let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
            std::fs::write(file.path(), text).unwrap();
            match Rules::load(file.path().to_str().unwrap()) {
                Ok(Rules::Other(edition)) => match *edition {
                    OtherEdition::Svcomp(edition) => Ok(edition),
                    OtherEdition::Crv(_) => panic!(),
                },
                Ok(Rules::Mcc(_)) => panic!(),
                Err(error) => Err(error.to_string()),
            }
        };
        assert!(load("base = \"svcomp-2024\"\nstructure = \"none\"\n").unwrap().categories.is_empty());
        let own = load("base = \"svcomp-2024\"\n[[category]]\nname = \"Mine\"\n").unwrap();
        assert_eq!(own.categories.len(), 1);
        assert!(!own.opt_outs.is_empty());
        let error = load("base = \"svcomp-2024\"\nstructure = \"svcomp-1999\"\n").unwrap_err();
        assert!(error.contains(":2: key `structure`: `svcomp-1999`; allowed are svcomp-2020"), "{error}");
    }
}

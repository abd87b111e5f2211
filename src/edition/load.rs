//! Reads and checks an edition file of the MCC.

use super::Edition;
use super::builtin::{other_edition_names, text_of};
use super::error::EditionError;
use super::layers::Layers;

impl Edition {
    /// Loads an edition by name, or by the path of its file.
    ///
    /// # Errors
    /// There is no such edition, it is one of another contest, or its file cannot be read or is wrong.
    pub fn load(name_or_path: &str) -> Result<Self, EditionError> {
        if other_edition_names().any(|name| name == name_or_path) {
            let contest = if name_or_path.starts_with("crv-") { "CRV" } else { "SV-COMP" };
            return Err(EditionError::OtherContest { name: name_or_path.to_owned(), contest });
        }
        let (text, file) = text_of(name_or_path)?;
        Self::parse(&text, &file)
    }

    /// Parses and checks the text of an edition. `file` is its name in errors; a base that is a path is relative to it.
    ///
    /// # Errors
    /// The text is wrong, or a base cannot be loaded.
    pub fn parse(text: &str, file: &str) -> Result<Self, EditionError> {
        Layers::read(text, file)?.checked(Self::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::MCC;
    use crate::{Normalization, Status};
    use num_rational::BigRational;
    use num_traits::One;

    const MCC_2018: &str = include_str!("../../editions/mcc-2018.toml");

    fn error(from: &str, to: &str) -> String {
        assert!(MCC_2018.contains(from), "{from}");
        Edition::parse(&MCC_2018.replacen(from, to, 1), "mine.toml").unwrap_err().to_string()
    }

    fn line(containing: &str) -> usize {
        MCC_2018.lines().position(|line| line.contains(containing)).unwrap() + 1
    }

    #[test]
    fn every_edition_of_the_mcc_survives_a_round_trip() {
        for (name, _) in MCC {
            let edition = Edition::load(name).unwrap();
            assert_eq!(edition.name, *name);
            let text = serde_json::to_string(&edition).unwrap();
            assert_eq!(serde_json::from_str::<Edition>(&text).unwrap(), edition);
            edition.check_recorded().unwrap();
        }
    }

    #[test]
    fn an_edition_of_a_record_has_only_content_that_a_file_can_have() {
        let recorded = |change: fn(&mut Edition)| {
            let mut edition = Edition::load("mcc-2018").unwrap();
            change(&mut edition);
            edition.check_recorded().unwrap_err()
        };
        for (message, part) in [
            (recorded(|edition| edition.examinations[1].values = usize::MAX), "key `examination.1.values`: "),
            (recorded(|edition| edition.variant_suffixes = vec![String::new()]), "must not be empty"),
            (recorded(|edition| edition.title = "x".repeat(8 << 20)), "at most 8388608 are read"),
            (
                recorded(|edition| {
                    let others = (0..1000).map(|number| number.to_string()).collect();
                    edition.aliases = [("a".to_owned(), others)].into();
                }),
                "key `aliases`: has 1001 items, and at most 1000 are read",
            ),
            (
                recorded(|edition| edition.podiums[0].examinations = vec!["StateSpace".to_owned(); 2]),
                "examination `StateSpace` is named twice",
            ),
        ] {
            assert!(message.contains(part), "{message}");
        }
        // The keys of resigned entries are left out.
        let mut edition = Edition::load("mcc-2018").unwrap();
        edition.unknown.insert("suffix_tools".to_owned(), "Not published: none is used.".to_owned());
        edition.check_recorded().unwrap();
    }

    #[test]
    fn the_edition_of_2018_is_complete() {
        let edition = Edition::load("mcc-2018").unwrap();
        assert_eq!(
            edition.examinations.iter().map(|e| e.values).collect::<Vec<_>>(),
            [4, 16, 1, 16, 16, 16, 16, 16, 16]
        );
        assert_eq!(edition.podiums.len(), 5);
        assert_eq!(edition.judging.normalization, Normalization::FamilyLinear);
        assert_eq!(edition.judging.single_threshold, BigRational::new(97.into(), 100.into()));
        assert_eq!(edition.tool_of("ITS-Tools.L"), "ITS-Tools");
        assert_eq!(edition.tool_of("LoLA"), "LoLA");
        for (entry, status) in [
            ("BVT-2018", Status::Virtual),
            ("2017-Gold", Status::OutOfCompetition),
            ("2017-gold", Status::OutOfCompetition),
            ("GreatSPN", Status::Competing),
        ] {
            assert_eq!(edition.status_of(entry), status, "{entry}");
        }
        for year in 2019..=2026 {
            let edition = Edition::load(&format!("mcc-{year}")).unwrap();
            let statuses = ["2018-Gold", "2024-gold", "BVT"].map(|entry| edition.status_of(entry));
            assert_eq!(statuses, [Status::VotingOnly, Status::VotingOnly, Status::Virtual], "{year}");
        }
    }

    #[test]
    fn an_unknown_name_or_missing_file_is_an_error_with_remedy() {
        let message = Edition::load("mcc-1999").unwrap_err().to_string();
        assert!(
            message.contains("`mcc-1999`") && message.contains("mcc-2018") && message.contains(".toml"),
            "{message}"
        );
        assert!(Edition::load("no/such.toml").unwrap_err().to_string().contains("no/such.toml"));
    }

    #[test]
    fn a_wrong_word_is_an_error_with_place_and_allowed_words() {
        let message = error("\"family-linear\"", "\"quadratic\"");
        let place = format!("mine.toml:{}: ", line("family-linear"));
        assert!(message.starts_with(&place), "{message}");
        for part in ["normalization", "quadratic", "family-linear", "none"] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn unknown_keys_floats_and_broken_toml_are_errors_with_line() {
        let message = error("penalty = 2", "penality = 2");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("penalty ="))), "{message}");
        assert!(message.contains("`penality`") && message.contains("`penalty`"), "{message}");
        let message = error("\"97/100\"", "0.97");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("single_threshold"))), "{message}");
        assert!(message.contains("exact number in quotes"), "{message}");
        let message = error("[machine]", "[machine");
        assert!(message.starts_with(&format!("mine.toml:{}: ", line("[machine]"))), "{message}");
        let message = error("single_threshold = \"97/100\"", "single_threshold = \"1/0\"");
        assert!(message.contains("exact number in quotes"), "{message}");
    }

    #[test]
    fn invalid_content_is_an_error_with_line_and_key() {
        let message = error("[\"CTLCardinality\", \"CTLFireability\"]", "[\"CTLCardinality\", \"CTLFoo\"]");
        let place = format!("mine.toml:{}: key `podium.3.examinations.1`: ", line("[\"CTLCardinality\""));
        assert!(message.starts_with(&place), "{message}");
        assert!(message.contains("`CTLFoo`") && message.contains("LTLFireability"), "{message}");
        for (from, to, part) in [
            ("\"97/100\"", "\"97/10\"", "from 0 to 1"),
            ("infrastructure = \"provisional\"", "infrastructure = \"exclude\"", "infrastructure_reason"),
            ("penalty = 2", "penalty = -2", "0 or more"),
            ("tie_margin = 0", "tie_margin = \"-1/2\"", "0 or more"),
            ("penalty = 2", "scale = 0\npenalty = 2", "more than 0"),
            ("cost_comparison = \"penalized\"", "cost_comparison = \"par-2\"", "common-runs"),
            ("title = ", "variant_suffixes = [\"\"]\ntitle = ", "must not be empty"),
            ("majority = \"1/2\"", "majority = \"1/3\"", "from 1/2 to below 1"),
            ("majority = \"1/2\"", "majority = 1", "from 1/2 to below 1"),
            ("\"camel\"]", "\"road-runner\"]", "named twice"),
            ("\"judging.confidence\" = ", "\"judging.trust\" = ", "no key of this edition"),
            ("surprise = 4", "surprise = -4", "0 or more"),
            ("name = \"UpperBounds\"", "name = \"../x\"", "letters and digits only"),
            ("category = \"LTL\"", "category = \"CTL\"", "category `CTL` is named twice"),
            ("wall_s = 4500", "wall_s = 0", "0 is not from 1 to 31622400"),
            ("cpu_s = 3600", "cpu_s = 18446744073709551", "is not from 0 to"),
            ("concurrent_cores = 4", "concurrent_cores = 0", "0 is not from 1 to 4096"),
            ("\"97/100\"", &format!("\"0.{}\"", "9".repeat(30_000)), "exact number in quotes"),
            ("min_agreeing = 3", "min_agreeing = 1", "at least 2"),
            ("pattern = \"BVT*\"", "pattern = \"BVT[\"", "glob 'BVT[': unclosed character class"),
            (
                "[[status]]",
                "[[status]]\nnote = \"a\\u001bb\"",
                "the `note` contains the control character ⟨ESC⟩; remove it",
            ),
            ("values = 4", "values = 5", "4 values"),
            ("name = \"UpperBounds\"", "name = \"StateSpace\"", "twice"),
            ("Irma = [\"Irma.full\"", "Irma = [\"ITS-Tools\"", "already"),
            (
                "cpu_model = \"SandyBridge\"",
                "cpu_model = \"SandyBridge,+evil -drive ..\"",
                "is not the name of a CPU model",
            ),
        ] {
            let message = error(from, to);
            assert!(message.contains(part) && message.contains("mine.toml:"), "{message}");
            assert!(message.contains(&format!(":{}:", line(from))), "{message}");
        }
    }

    #[test]
    fn a_misspelt_word_gets_a_suggestion() {
        for (from, to, meant) in [
            ("single_threshold", "single_treshold", "did you mean `single_threshold`?"),
            ("\"family-linear\"", "\"family-liner\"", "did you mean `family-linear`?"),
            ("\"per-variant\"", "\"per-varient\"", "did you mean `per-variant`?"),
            ("\"road-runner\"", "\"roadrunner\"", "did you mean `road-runner`?"),
            ("[[examination]]", "[[examinations]]", "did you mean `examination`?"),
        ] {
            let message = error(from, to);
            assert!(message.contains(meant), "{message}");
            assert!(message.starts_with(&format!("mine.toml:{}: ", line(from))), "{message}");
        }
        let message = Edition::load("mcc2018").unwrap_err().to_string();
        assert!(message.contains("did you mean `mcc-2018`?"), "{message}");
        let message = Edition::load("svcomp-2099").unwrap_err().to_string();
        assert!(message.contains("no edition `svcomp-2099` (the newest is `svcomp-2026`)"), "{message}");
    }

    fn based(text: &str) -> Result<Edition, String> {
        Edition::parse(text, "mine.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_with_a_base_changes_only_the_keys_it_sets() {
        let text = "base = \"mcc-2018\"\nname = \"custom\"\n[judging]\npenalty = 8\n[judging.multipliers]\nsurprise = 1\n";
        let custom = based(text).unwrap();
        let mut expected = Edition::load("mcc-2018").unwrap();
        expected.name = "custom".to_owned();
        expected.judging.penalty = BigRational::from_integer(8.into());
        expected.judging.multipliers.insert("surprise".to_owned(), BigRational::one());
        assert_eq!(custom, expected);
        // Lists and the table of variants replace those of the base.
        let text = "base = \"mcc-2018\"\nname = \"custom\"\n[variants]\na = [\"a.x\", \"a.y\"]\n";
        assert_eq!(based(text).unwrap().variants.keys().collect::<Vec<_>>(), ["a"]);
        let text = "base = \"mcc-2018\"\npodium = []\n";
        assert_eq!(based(text).unwrap().podiums, []);
    }

    #[test]
    fn a_setting_of_the_file_is_not_unknown() {
        let unknown = |edition: &Edition| edition.unknown.keys().cloned().collect::<Vec<_>>();
        let base = Edition::load("mcc-2018").unwrap();
        assert_eq!(unknown(&base), ["judging.confidence"]);
        let own = based("base = \"mcc-2018\"\n[judging]\nconfidence = \"answered\"\n").unwrap();
        assert_eq!(unknown(&own), [""; 0]);
        // The multiplier is known for 2020 to 2024, but not for 2019 and 2025.
        let surprise = "judging.multipliers.surprise".to_owned();
        for (name, open) in [("mcc-2019", true), ("mcc-2020", false), ("mcc-2024", false), ("mcc-2025", true)]
        {
            assert_eq!(unknown(&Edition::load(name).unwrap()).contains(&surprise), open, "{name}");
        }
    }

    #[test]
    fn an_error_in_a_base_names_the_file_of_the_base() {
        let message = based("base = \"mcc-2018\"\n\n[judging]\npenalty = -1\n").unwrap_err();
        assert!(message.starts_with("mine.toml:4: key `judging.penalty`: "), "{message}");
        let message = based("base = \"mcc-2018\"\n[judging]\n\nvotes = \"all\"\n").unwrap_err();
        assert!(message.starts_with("mine.toml:4: `votes = \"all\"`: "), "{message}");
        assert!(message.contains("per-variant") && message.contains("per-tool"), "{message}");
        // The podium of the base has an examination that this file does not have.
        let text = "base = \"mcc-2018\"\n[[examination]]\nname = \"A\"\nanswers = \"boolean\"\nvalues = 1\n";
        let message = based(text).unwrap_err();
        let place =
            format!("editions/mcc-2018.toml:{}: key `podium.0", line("examinations = [\"StateSpace\"]"));
        assert!(message.starts_with(&place), "{message}");
    }

    #[test]
    fn an_empty_list_of_examinations_is_an_error_in_its_own_file() {
        let message = based("base = \"mcc-2018\"\nname = \"x\"\nexamination = []\n").unwrap_err();
        assert!(message.starts_with("mine.toml:3: key `examination`: "), "{message}");
        assert!(message.contains("at least one examination"), "{message}");
    }

    #[test]
    fn an_invalid_base_is_an_error_with_its_place() {
        for (text, part) in [
            ("\nbase = \"mcc-2o18\"", "no edition `mcc-2o18` (did you mean `mcc-2018`?)"),
            ("\nbase = \"./nowhere.toml\"", "cannot read ./nowhere.toml"),
            ("\nbase = 2018", "name or the path"),
        ] {
            let message = based(text).unwrap_err();
            assert!(message.starts_with("mine.toml:2: key `base`: ") && message.contains(part), "{message}");
        }
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own.toml");
        std::fs::write(&own, "base = \"./own.toml\"").unwrap();
        let message = Edition::load(own.to_str().unwrap()).unwrap_err().to_string();
        assert!(
            message.contains("own.toml:1: key `base`: ") && message.contains("its own base"),
            "{message}"
        );
        // A path is relative to the file with the key `base`.
        std::fs::write(&own, "base = \"mcc-2018\"\nname = \"own\"").unwrap();
        std::fs::write(folder.path().join("next.toml"), "base = \"./own.toml\"\ntitle = \"Next\"").unwrap();
        let next = Edition::load(folder.path().join("next.toml").to_str().unwrap()).unwrap();
        assert_eq!((next.name.as_str(), next.title.as_str()), ("own", "Next"));
    }

    #[test]
    fn later_editions_have_thirteen_examinations_and_six_podiums() {
        for year in 2020..=2026 {
            let edition = Edition::load(&format!("mcc-{year}")).unwrap();
            let values: usize = edition.examinations.iter().map(|e| e.values).sum();
            assert_eq!((edition.examinations.len(), edition.podiums.len(), values), (13, 6, 4 + 5 + 7 * 16));
            let surprise = match year {
                2020 | 2021 => 4,
                2022 => 6,
                2023 | 2024 => 10,
                _ => 13,
            };
            let multiplier = &edition.judging.multipliers["surprise"];
            assert_eq!(*multiplier, BigRational::from_integer(surprise.into()), "{year}");
            let named: usize = edition.podiums.iter().map(|podium| podium.examinations.len()).sum();
            assert_eq!(named, 13, "every examination counts on one podium");
        }
        let edition = Edition::load("mcc-2017").unwrap();
        assert_eq!(edition.examinations, Edition::load("mcc-2018").unwrap().examinations);
        assert!(edition.judging.multipliers.contains_key("stripped"));
        assert_eq!(edition.judging.bonuses.time, BigRational::from_integer(2.into()));
        let edition = Edition::load("mcc-2019").unwrap();
        assert_eq!(edition.examination("GlobalProperties").unwrap().1.values, 1);
        assert!(edition.examination("ReachabilityDeadlock").is_none());
    }
}

//! The rules of a judgement: an edition of the MCC or of another contest (SV-COMP, CRV).

use super::Edition;
use super::builtin::{contest_and_year, text_of};
use super::check::check_recorded;
use super::crv::CrvEdition;
use super::error::{EditionError, Fault, ensure};
use super::layers::Layers;
use super::setting_words::warnings;
use super::svcomp::SvcompEdition;
use super::{Status, StatusRule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An edition of any contest. Its key `contest` determines the contest.
#[derive(Clone, Debug)]
pub enum Rules {
    /// An edition of the MCC.
    Mcc(Box<Edition>),
    /// An edition of another contest.
    Other(Box<OtherEdition>),
}

/// An edition of another contest. It is serialized as part of a judgement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OtherEdition {
    /// An edition of SV-COMP.
    Svcomp(SvcompEdition),
    /// An edition of CRV.
    Crv(CrvEdition),
}

impl Rules {
    /// Loads an edition by name, or by the path of its file (which contains `/` or ends in `.toml`).
    ///
    /// # Errors
    /// There is no such edition, or its file cannot be read or is wrong.
    pub fn load(name_or_path: &str) -> Result<Self, EditionError> {
        #[derive(Deserialize)]
        struct ContestKey {
            contest: Option<String>,
        }
        let (text, file) = text_of(name_or_path)?;
        let layers = Layers::read(&text, &file)?;
        let contest = layers.typed::<ContestKey>()?.contest;
        let other_contest = |edition| Self::Other(Box::new(edition));
        Ok(match contest.as_deref() {
            Some("sv-comp") => {
                let check =
                    |edition: &SvcompEdition| no_votes(&edition.statuses).and_then(|()| edition.check());
                let edition = layers.checked(check)?.resolve_structure().map_err(|message| {
                    layers.content(layers.place_of(&["structure".to_owned()]), "structure", message)
                })?;
                other_contest(OtherEdition::Svcomp(edition))
            }
            Some("crv") => {
                let check = |edition: &CrvEdition| no_votes(&edition.statuses).and_then(|()| edition.check());
                other_contest(OtherEdition::Crv(layers.checked(check)?))
            }
            None | Some("mcc") => Self::Mcc(Box::new(Edition::parse(&text, &file)?)),
            Some(other) => {
                let place = layers.place_of(&["contest".to_owned()]);
                let message = format!("`{other}`; allowed are mcc, sv-comp, crv");
                return Err(layers.content(place, "contest", message));
            }
        })
    }
}

/// Refuses the status of entries that only vote: only the MCC has votes.
fn no_votes(statuses: &[StatusRule]) -> Result<(), Fault> {
    let number = statuses.iter().position(|rule| rule.status == Status::VotingOnly).unwrap_or(statuses.len());
    let message = "`voting-only` is a status of the MCC; this contest has no votes: use out-of-competition";
    ensure(number == statuses.len(), &["status", &number.to_string(), "status"], message)
}

impl OtherEdition {
    /// Checks an edition that was read from a judgement, which anyone can write.
    ///
    /// # Errors
    /// It is too long, or a key has content that an edition file cannot have.
    pub fn check_recorded(&self) -> Result<(), String> {
        match self {
            Self::Svcomp(edition) => check_recorded(edition, |edition: &SvcompEdition| {
                no_votes(&edition.statuses).and_then(|()| edition.check_content())
            }),
            Self::Crv(edition) => check_recorded(edition, |edition: &CrvEdition| {
                no_votes(&edition.statuses).and_then(|()| edition.check())
            }),
        }
    }

    /// Name, such as `svcomp-2013`.
    pub fn name(&self) -> &str {
        match self {
            Self::Svcomp(edition) => &edition.name,
            Self::Crv(edition) => &edition.name,
        }
    }

    /// Settings that the contest did not publish, by key, each with a sentence on the value used.
    pub fn unknown(&self) -> Option<&BTreeMap<String, String>> {
        match self {
            Self::Svcomp(edition) => Some(&edition.unknown),
            Self::Crv(_) => None,
        }
    }

    /// Warnings for readers of results: a sentence for every setting that was not published.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.unknown().into_iter().flat_map(|unknown| warnings(self.name(), unknown, None))
    }

    /// The year of the contest: `2013`. None: its name has none.
    pub fn year(&self) -> Option<&str> {
        contest_and_year(self.name()).map(|(_, year)| year)
    }

    /// Title for display.
    pub fn title(&self) -> &str {
        match self {
            Self::Svcomp(edition) => &edition.title,
            Self::Crv(edition) => &edition.title,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::OTHER_EDITIONS;

    #[test]
    fn every_svcomp_and_crv_edition_survives_a_round_trip() {
        for (name, _) in OTHER_EDITIONS {
            let Rules::Other(edition) = Rules::load(name).unwrap() else { panic!("{name}") };
            assert_eq!(edition.name(), *name);
            assert!(edition.year().is_some_and(|year| edition.title().ends_with(year)), "{name}");
            let text = serde_json::to_string(&edition).unwrap();
            assert_eq!(serde_json::from_str::<OtherEdition>(&text).unwrap(), *edition);
            edition.check_recorded().unwrap();
        }
        assert!(matches!(Rules::load("mcc-2018"), Ok(Rules::Mcc(_))));
    }

    #[test]
    fn an_edition_of_a_contest_without_votes_refuses_the_status_voting_only() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        for base in ["svcomp-2020", "crv-2014"] {
            let text =
                format!("base = {base:?}\n[[status]]\npattern = \"*-gold\"\nstatus = \"voting-only\"\n");
            std::fs::write(&file, text).unwrap();
            let message = Rules::load(file.to_str().unwrap()).unwrap_err().to_string();
            assert!(
                message.contains("mine.toml:4: key `status.0.status`: `voting-only` is a status of the MCC"),
                "{message}"
            );
        }
    }

    #[test]
    fn the_old_key_of_the_timeout_factor_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        std::fs::write(&file, "base = \"crv-2014\"\nname = \"mine\"\npatience = 3\n").unwrap();
        let Rules::Other(edition) = Rules::load(file.to_str().unwrap()).unwrap() else { panic!() };
        let OtherEdition::Crv(own) = *edition else { panic!() };
        assert_eq!(own.timeout_factor, num_rational::BigRational::from_integer(3.into()));
        // The edition in a judgement of an earlier version.
        let json = serde_json::to_string(&own).unwrap().replace("timeout_factor", "patience");
        assert!(json.contains("patience"));
        assert_eq!(serde_json::from_str::<CrvEdition>(&json).unwrap(), own);
    }

    /// The points of docs/rules.md, SV-COMP: FALSE right and wrong, TRUE right and wrong, unconfirmed FALSE and TRUE.
    #[test]
    fn every_year_of_sv_comp_has_the_points_of_its_rules() {
        let printed = |name: &str| {
            let Ok(Rules::Other(edition)) = Rules::load(name) else { panic!("{name}") };
            let OtherEdition::Svcomp(edition) = *edition else { panic!("{name}") };
            let points = edition.points;
            format!(
                "{} {} {} {} {} {}",
                points.false_right,
                points.false_wrong,
                points.true_right,
                points.true_wrong,
                points.false_unconfirmed,
                points.true_unconfirmed
            )
        };
        for year in 2012..=2026 {
            let expected = match year {
                2012 => "1 -2 2 -4 as-right as-right",
                2013 | 2014 => "1 -4 2 -8 as-right as-right",
                2015 => "1 -6 2 -12 unknown as-right",
                2016 => "1 -16 2 -32 0 as-right",
                2017..=2020 => "1 -16 2 -32 0 1",
                _ => "1 -16 2 -32 0 0",
            };
            assert_eq!(printed(&format!("svcomp-{year}")), expected, "{year}");
        }
    }
}

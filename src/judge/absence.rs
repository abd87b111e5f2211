//! The detail of a flag on runs that are absent: what `judge` writes as a sentence, and pages read again.

use std::fmt;

/// What is absent, and where the entry has runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Whether the results list runs, with neither a value nor an ending.
    pub has_empty_runs: bool,
    /// Number of instances that other tools ran.
    pub instances: u64,
    /// Number of instances on which the entry did not compete. Others need not have run these.
    pub declined: u64,
    /// Where the entry has runs.
    pub elsewhere: Elsewhere,
}

/// Where an entry has runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// On other models.
    Models,
    /// In some of the examinations of the contest.
    Examinations {
        /// Number of examinations in which the entry ran.
        ran: u64,
        /// Number of examinations with runs.
        held: u64,
    },
}

const NO_RUN: &str = "no run";
const EMPTY_RUNS: &str = "neither value nor ending";
const OTHERS_RAN: &str = " on instances that other tools ran: ";
const DECLINED: &str = "did-not-compete on ";
const OTHER_MODELS: &str = "the entry ran on other models";

impl fmt::Display for Absence {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { has_empty_runs, instances, declined, elsewhere } = self;
        let missing = if *has_empty_runs { EMPTY_RUNS } else { NO_RUN };
        write!(out, "{missing}{OTHERS_RAN}{instances}; ")?;
        if *declined > 0 {
            write!(out, "{DECLINED}{declined}; ")?;
        }
        match elsewhere {
            Elsewhere::Models => out.write_str(OTHER_MODELS),
            Elsewhere::Examinations { ran, held } => {
                write!(out, "the entry ran in {ran} of {held} examinations")
            }
        }
    }
}

impl Absence {
    /// Reads the detail of a flag. None if it has another form, as in a judgement that was edited.
    pub fn parse(detail: &str) -> Option<Self> {
        let (missing, rest) = detail.split_once(OTHERS_RAN)?;
        let has_empty_runs = match missing {
            NO_RUN => false,
            EMPTY_RUNS => true,
            _ => return None,
        };
        let (instances, rest) = rest.split_once("; ")?;
        let (declined, rest) = match rest.strip_prefix(DECLINED) {
            Some(rest) => rest.split_once("; ")?,
            None => ("0", rest),
        };
        let elsewhere = if rest == OTHER_MODELS {
            Elsewhere::Models
        } else {
            let counts = rest.strip_prefix("the entry ran in ")?.strip_suffix(" examinations")?;
            let (ran, held) = counts.split_once(" of ")?;
            Elsewhere::Examinations { ran: ran.parse().ok()?, held: held.parse().ok()? }
        };
        let (instances, declined) = (instances.parse().ok()?, declined.parse().ok()?);
        Some(Self { has_empty_runs, instances, declined, elsewhere })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_detail_of_a_flag_is_read_as_it_was_written() {
        let details = [
            "no run on instances that other tools ran: 1; the entry ran on other models",
            "no run on instances that other tools ran: 3; did-not-compete on 2; the entry ran in 1 of 3 examinations",
            "neither value nor ending on instances that other tools ran: 9; the entry ran in 2 of 3 examinations",
        ];
        for detail in details {
            assert_eq!(Absence::parse(detail).unwrap().to_string(), detail);
        }
        for other in
            ["", "no run", "no run on instances that other tools ran: many; the entry ran on other models"]
        {
            assert_eq!(Absence::parse(other), None);
        }
    }
}

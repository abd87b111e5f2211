//! What an examination asks on an instance: the ids of its values, in the contest's order.

use mcc_edition::{AnswerKind, Examination};
use mcc_model::{Archive, ArchiveError};

/// The metrics of StateSpace, in the order of the contest's result vectors.
pub const STATE_SPACE: [&str; 4] = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];

/// The values asked for, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    pub examination: String,
    pub answers: AnswerKind,
    /// By position. None: there is no archive to tell, ids are taken as printed.
    pub ids: Option<Vec<String>>,
    /// How many values the examination has; `ids` may be of another number where an archive has another.
    pub values: usize,
}

impl Questions {
    /// The questions of `examination` on an instance. Ids are those of its property file, never synthesized
    /// (they differ from the instance's name in some), in the order in which BenchKit lists them: bytewise, as
    /// `sort -u` does. Where the archive has no file (the global properties of later editions), the one id is
    /// the examination's name.
    ///
    /// Errors: the property file is there but cannot be read.
    pub fn of(archive: &Archive, examination: &Examination) -> Result<Questions, ArchiveError> {
        let mut questions = Self::as_printed(examination);
        if questions.ids.is_none() {
            let mut ids: Vec<_> = match archive.properties(&examination.name)? {
                Some(properties) => properties.into_iter().map(|property| property.id).collect(),
                None if examination.values == 1 => vec![examination.name.clone()],
                None => return Ok(questions),
            };
            ids.sort();
            questions.ids = Some(ids);
        }
        Ok(questions)
    }

    /// The questions where no archive is at hand: ids are taken as printed.
    pub fn as_printed(examination: &Examination) -> Questions {
        let metrics = || STATE_SPACE.map(str::to_owned).to_vec();
        Questions {
            examination: examination.name.clone(),
            answers: examination.answers,
            ids: (examination.answers == AnswerKind::StateSpace).then(metrics),
            values: examination.values,
        }
    }
}

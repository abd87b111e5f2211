//! The questions of an examination on an instance: the property ids, in the order of the contest.

use mcc_edition::{AnswerKind, Examination};
use mcc_model::{Archive, ArchiveError, Total};

/// The metrics of StateSpace, in the order of the result vectors of the contest.
pub const STATE_SPACE: [&str; 4] = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];

/// The questions of an examination on an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Questions {
    /// Name of the examination.
    pub examination: String,
    /// The form of its values.
    pub answers: AnswerKind,
    /// The property ids by position. None without an archive; then the printed ids are used.
    pub ids: Option<Vec<String>>,
    /// Number of positions of the examination in the edition. An archive may have another number of `ids`.
    pub values: usize,
    /// The total examination, whose answers have another form.
    pub total: Option<&'static Total>,
}

impl Questions {
    /// The questions of `examination` on an instance. The ids are those of the property file (in some archives they do not
    /// begin with the name of the instance) by position. If the archive has no property file (global
    /// properties of later editions), the name of the examination is the only id.
    ///
    /// # Errors
    /// The property file cannot be read.
    pub fn read(archive: &Archive, examination: &Examination) -> Result<Questions, ArchiveError> {
        let mut questions = Self::as_printed(examination);
        if questions.ids.is_none() {
            let ids: Vec<_> = match archive.properties(&examination.name)? {
                Some(properties) => properties.into_iter().map(|property| property.id).collect(),
                None if examination.values == 1 => vec![examination.name.clone()],
                None => return Ok(questions),
            };
            questions.ids = Some(ids);
        }
        Ok(questions)
    }

    /// The questions without an archive; the printed ids are used.
    pub fn as_printed(examination: &Examination) -> Questions {
        let metrics = || STATE_SPACE.map(str::to_owned).to_vec();
        Questions {
            examination: examination.name.clone(),
            answers: examination.answers,
            ids: (examination.answers == AnswerKind::StateSpace).then(metrics),
            values: examination.values,
            total: Total::named(&examination.name),
        }
    }

    /// The problem of a line with an id that the examination does not have, and the remedy.
    pub fn no_id(&self, id: &str) -> (String, String) {
        let fix = match self.ids.as_ref().and_then(|ids| ids.first()) {
            Some(first) => format!("the ids are those of the property file, such as {first}"),
            None => format!("{} has {} values", self.examination, self.values),
        };
        (format!("the examination has no id {id}: the line is ignored"), fix)
    }
}

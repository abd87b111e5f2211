//! The keywords of the answer protocol.

pub(super) const FORMULA: &str = "FORMULA";
pub(super) const STATE_SPACE: &str = "STATE_SPACE";
pub(super) const TECHNIQUES: &str = "TECHNIQUES";
pub(super) const CANNOT_COMPUTE: &str = "CANNOT_COMPUTE";
pub(super) const DO_NOT_COMPETE: &str = "DO_NOT_COMPETE";

/// The keywords that begin a result.
pub(super) const RESULTS: [&str; 2] = [FORMULA, STATE_SPACE];

/// The keywords that are alone on a line.
pub(super) const DECLARATIONS: [&str; 2] = [DO_NOT_COMPETE, CANNOT_COMPUTE];

/// A line without any of these words is ignored. COMPUTE and COMPETE are part of declarations, also of misspelt ones.
/// TECHNIQUES is part of results whose first keyword is misspelt, SPACE of a misspelt STATE_SPACE.
pub(super) const CANDIDATE_WORDS: [&str; 6] =
    [FORMULA, STATE_SPACE, "COMPUTE", "COMPETE", TECHNIQUES, "SPACE"];

/// The words of the answers to total examinations, in addition to the candidate words.
pub(super) const TOTAL_WORDS: [&str; 4] = ["TOTAL", "QLIVE", "STABLE", "BOUND"];

/// Keywords as words of a line.
pub(super) mod bytes {
    pub const TECHNIQUES: &[u8] = super::TECHNIQUES.as_bytes();
    pub const CANNOT_COMPUTE: &[u8] = super::CANNOT_COMPUTE.as_bytes();
    pub const DO_NOT_COMPETE: &[u8] = super::DO_NOT_COMPETE.as_bytes();
}

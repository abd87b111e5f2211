//! The jury. Knows nothing of machines: ballots in, a judgement out.

mod ballots;
pub mod benchkit_results;
pub mod contest_table;
pub mod explain;
pub mod judgement;
pub mod mcc;
pub mod oracle;
pub mod record;
pub mod source;
pub mod write;

pub use ballots::{Ballot, BallotError, Ballots, EntryFacts, InstanceFacts};

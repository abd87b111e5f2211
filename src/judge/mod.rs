//! The jury. Knows nothing of machines: ballots in, a judgement out.

mod ballots;
pub mod compare;
pub mod explain;
pub mod judgement;
pub mod mcc;
pub mod overrides;
pub mod record;
pub mod show;
pub mod source;
pub mod write;

pub use ballots::{Ballot, BallotError, Ballots, EntryFacts, InstanceFacts};

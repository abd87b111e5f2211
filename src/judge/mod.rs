//! The jury. Knows nothing of machines: ballots in, a judgement out.

mod ballots;
pub mod explain;
mod in_order;
pub mod judgement;
pub mod mcc;
pub mod record;
pub mod source;
pub mod write;

pub use ballots::{Ballot, BallotError, Ballots, EntryFacts, InstanceFacts};
pub use in_order::all_cores;

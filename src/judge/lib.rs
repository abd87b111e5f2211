//! The jury. Knows nothing of machines: ballots in, a judgement out.

mod ballots;
pub mod benchkit_results;
pub mod compare;
pub mod contest_table;
pub mod crv;
mod draft;
pub mod explain;
pub mod judgement;
pub mod mcc;
pub mod oracle;
pub mod overrides;
pub mod record;
pub mod show;
pub mod sister;
pub mod source;
pub mod svcomp;
pub mod write;

pub use ballots::{Ballot, BallotError, Ballots, EntryFacts, InstanceFacts};
pub use draft::WriteError;

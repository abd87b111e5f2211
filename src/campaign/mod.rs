//! campaign.toml, the plan made of it, run ids.

mod facts;
mod plan;

pub use facts::{EntryFacts, InstanceFacts, Kind};
pub use plan::Run;

//! mcc-harness: the machine room and the jury of the Model Checking Contest.
//!
//! Data flows one way through the rooms:
//! `campaign -> plan -> executor -> vm -> store -> benchkit answers -> judge -> report`.
//! `judge` knows nothing of machines, `vm` nothing of contests, `report` reads only what `judge` and
//! `store` hand it.

pub mod archive;
pub mod benchkit;
pub mod campaign;
pub mod cli;
pub mod cluster;
pub mod digest;
pub mod edition;
pub mod executor;
pub mod host;
pub mod in_order;
pub mod judge;
pub mod model;
pub mod qualify;
pub mod report;
pub mod store;
pub mod text;
pub mod vm;

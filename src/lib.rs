//! mcc-harness runs and scores the Model Checking Contest.
//!
//! Data flows one way: `campaign -> plan -> executor -> vm -> store -> benchkit -> judge -> report`.
//! Each of these modules is a crate in the folder of its name; docs/architecture.md lists what each may depend on.

#![warn(missing_docs)]

pub mod archive;
pub mod certification;
pub mod cli;
pub mod cluster;
pub mod qualify;
pub mod runner;

pub use mcc_base as base;
pub use mcc_benchkit as benchkit;
pub use mcc_campaign as campaign;
pub use mcc_checker as checker;
pub use mcc_container as container;
pub use mcc_edition as edition;
pub use mcc_executor as executor;
pub use mcc_host as host;
pub use mcc_judge as judge;
pub use mcc_model as model;
pub use mcc_report as report;
pub use mcc_store as store;
pub use mcc_vm as vm;

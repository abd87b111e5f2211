//! mcc-harness runs and scores the Model Checking Contest.
//!
//! Data flows one way: `campaign -> plan -> runner -> vm -> store -> benchkit -> judge -> report`. Each folder of `src` is a
//! crate; the manifests list what each depends on, and docs/architecture.md what each contains.

pub use mcc_archive as archive;
pub use mcc_base as base;
pub use mcc_campaign as campaign;
pub use mcc_campaign::benchkit;
pub use mcc_certify as certify;
pub use mcc_checker as checker;
pub use mcc_cli as cli;
pub use mcc_edition as edition;
pub use mcc_judge as judge;
pub use mcc_model as model;
pub use mcc_other_contests as other_contests;
pub use mcc_report as report;
pub use mcc_runner as runner;
pub use mcc_runner::{cluster, executor, qualify};
pub use mcc_store as store;
pub use mcc_vm as vm;
pub use mcc_vm::{container, host};

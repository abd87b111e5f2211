//! Campaigns on a real Slurm.

mod cluster;
#[path = "../support/mod.rs"]
mod support;

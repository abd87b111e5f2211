//! Campaigns on a real Slurm and a real OAR.

mod cluster;
#[path = "../support/mod.rs"]
mod support;
mod trial;

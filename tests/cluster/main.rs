//! Campaigns on a real Slurm and a real OAR.

mod cluster;
mod ended_jobs;
#[path = "../support/mod.rs"]
mod support;
mod trial;

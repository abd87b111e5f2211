//! Instances, evidence, qualification and comparison of tools.

mod certification;
mod certified_site;
mod certify_runs;
mod compare_runs;
mod container_archives;
mod fixtures;
mod fuzz_corpus;
mod model;
mod obfuscate;
mod qualify;
mod run_findings;
mod shrink;
#[path = "../support/mod.rs"]
mod support;
mod total;

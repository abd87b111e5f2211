//! Plans, records, shards and archives.

mod archive_grammar;
mod archive_inputs;
mod archives;
mod executor;
mod forged_rows;
mod hostile;
mod import;
mod judgements;
mod plan;
mod replay;
mod shards;
mod signatures;
mod store;
#[path = "../support/mod.rs"]
mod support;
mod terminal;

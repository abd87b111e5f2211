//! The files that a judgement is written to.

pub mod contest_table;
pub mod file;
pub mod oracle;
pub mod write;

//! The files that a judgement is written to.

pub mod atomic_file;
pub mod contest_table;
pub mod oracle;
pub mod write;

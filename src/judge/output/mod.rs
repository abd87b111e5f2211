//! Writers of the files of a judgement.

pub mod atomic_file;
pub mod contest_table;
pub mod oracle;
pub mod schema;
pub mod vector;
pub mod write;

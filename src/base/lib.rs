//! Basic modules that every other crate may use: digests, text files, ordered parallel work, names of shared files,
//! names of entries, examinations and runs, marks of runs, and the messages between host and guest.

#![warn(missing_docs)]

pub mod digest;
pub mod files;
pub mod guest;
pub mod guest_kernel_log;
mod mark;
pub mod names;
pub mod ordered_map;
pub mod text;

pub use mark::Mark;

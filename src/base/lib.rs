//! Basic modules that every other crate may use: digests, text files, opening of inputs, ordered parallel work, graphs
//! of states, orders of points, names of entries, examinations and runs, files of evidence, suggestions for misspelt
//! words, bounds of figures, marks of runs, the state of a host, the files of cgroups, the wall clock, random numbers,
//! child processes, and the messages between host and guest.

#![warn(missing_docs)]

pub mod budgets;
pub mod cgroup_files;
pub mod child_process;
pub mod clock;
pub mod digest;
pub mod evidence;
pub mod figures;
mod file_error;
pub mod files;
pub mod guest;
pub mod guest_kernel_log;
mod host_state;
pub mod line_order;
pub mod machine;
mod mark;
pub mod names;
pub mod ordered_map;
pub mod random;
pub mod state_graph;
pub mod suggest;
pub mod temporary;
pub mod text;
mod words;

pub use file_error::{FileError, OnFile};
pub use host_state::{Calibration, HostLoad, HostState, SLOWER_DURING, setting_in_words};
pub use mark::Mark;

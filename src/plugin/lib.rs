//! A plugin of QEMU that counts the instructions of a guest under TCG, as a file to load, and the layout of the file with
//! its counters. `plugin.rs` is the root of the plugin itself; `build.rs` compiles it.

#![warn(missing_docs)]

// Lints and documentation see the code of the plugin only here.
#[cfg(any(clippy, doc))]
mod counting;
mod layout;

pub use layout::{
    COUNTERS_ARGUMENT, LIMIT_ALL, LIMIT_USER, Limit, SHARE, SLOT_BYTES, Slot, file_bytes, limit_at,
};

/// The plugin, a shared object.
pub const PLUGIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/plugin.so"));

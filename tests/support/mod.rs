//! What the test programs share. Each program compiles this module and uses a part of it.
#![allow(dead_code, reason = "each program uses a part")]

pub mod campaign;
pub mod commands;
pub mod container_layers;
pub mod contest;
pub mod data;
pub mod deadlock_answers;
pub mod folders;
pub mod images;
pub mod recorded_runs;
pub mod runs;
pub mod script;
pub mod site_data;
pub mod tables;
pub mod tool;

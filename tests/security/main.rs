//! Hostile tools, guests and users.

mod hostile_tools;
mod isolation;
mod jail;
mod ssh_attacks;
#[path = "../support/mod.rs"]
mod support;

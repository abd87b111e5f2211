//! Faults of hosts, machines, guests and controllers.

mod controller_kills;
mod guest_ends;
mod host_faults;
mod machine_faults;
mod neighbours;
#[path = "../support/mod.rs"]
mod support;

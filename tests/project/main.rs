//! The project itself: documents, structure, scripts.

mod architecture;
mod docs;
mod fetched_data;
mod rules;
mod summary;
#[path = "../support/mod.rs"]
mod support;

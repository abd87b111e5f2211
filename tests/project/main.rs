//! The project itself: documents, language, structure, scripts.

mod architecture;
mod docs;
mod fetched_data;
mod language;
mod rules;
mod summary;
#[path = "../support/mod.rs"]
mod support;

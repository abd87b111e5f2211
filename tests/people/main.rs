//! What people see: pages in a browser, tutorials, packages, standard formats, the demo.

mod browser;
mod chromium;
mod demo;
mod package;
mod shown_site;
mod standards;
#[path = "../support/mod.rs"]
mod support;
mod tutorials;

//! The static site.

//! What BenchKit fixes between the contest and a tool: how it is invoked, what it may print, and the
//! published tables of answers.

pub mod published;
mod value;

pub use value::{NotAValue, Value};

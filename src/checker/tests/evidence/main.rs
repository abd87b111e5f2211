//! Tests of the checkers of witnesses and certificates.

mod exploration;
mod mutants;
mod nets;
mod proofs;
mod vector_mutants;
mod vectors;

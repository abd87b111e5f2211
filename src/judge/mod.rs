//! The jury. Knows nothing of machines: ballots in, a judgement out.

pub mod judgement;
pub mod mcc;

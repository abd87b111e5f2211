//! Instances as the contest distributes them: an archive per instance with a PNML model, the property
//! files and small markers (rule M-4, E-1.8; `notes` of the PNML standard, ISO/IEC 15909-2).

mod error;
mod net;
mod pnml;
mod property;
mod xml;

pub use error::{ModelError, Problem};
pub use net::{Arc, Net, NetKind, Place, Transition};
pub use property::{Count, Expr, Formula, Property};

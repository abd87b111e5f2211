//! Instances as the contest distributes them: one archive per instance with a PNML model (ISO/IEC 15909-2), property
//! files and marker files (rules M-4, E-1.8).

#![warn(missing_docs)]

mod archive;
mod ctl;
mod error;
mod graph;
mod instance;
mod names;
mod net;
mod nupn;
mod obfuscate;
mod pnml;
mod property;
mod repack;
mod symmetric;
mod symmetric_read;
mod symmetric_xml;
mod tar_entries;
mod total;
mod validate;
mod validate_xml;
mod verdict;
mod write;
pub mod xml;

pub use archive::{Archive, ArchiveError, MODEL, Markers, VERDICTS};
pub use ctl::Ctl;
pub use error::{ModelError, Problem};
pub use instance::{BadInstanceName, InstanceName, family_of};
pub use names::NodeNames;
pub use net::{Arc, Net, NetKind, Place, Transition};
pub use nupn::{Nupn, Unit};
pub use obfuscate::{ObfuscateError, Obfuscated, Renamed, instance_name, obfuscate};
pub use property::{Count, Expr, Formula, Property, document, position_order};
pub use repack::copy_without_verdicts;
pub use symmetric::{
    Bag, BagError, Colour, ColourName, ColouredPlace, ColouredTransition, Comparison, Guard, MAX_COLOURS,
    Multiset, Sort, SortKind, SymmetricNet, Term, Variable,
};
pub use total::{QUASI_LIVENESS_ALL, STABLE_MARKING_ALL, Total, UPPER_BOUNDS_ALL};
pub use validate::{Finding, Severity, validate};
pub use verdict::GenericVerdict;
pub use write::escaped_xml;

//! What can be wrong with the XML of a model: PNML, property files, NUPN sections, generic verdicts.

/// A fault of a model file: where, what, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}; {}", .problem.remedy())]
pub struct ModelError {
    /// As the caller named it, such as `TokenRing-PT-005/model.pnml`.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    pub problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("cannot be read: {0}")]
    Io(String),
    #[error("not well-formed XML: {0}")]
    Malformed(String),
    #[error("a document type declaration")]
    DocumentType,
    #[error("an XML item longer than {0} bytes")]
    ItemTooLong(u64),
    #[error("elements nested deeper than {0}")]
    TooDeep(usize),
    #[error("more than {0} elements and texts")]
    TooMany(u32),
    #[error("<{found}> where {expected} is expected")]
    Unexpected { found: String, expected: String },
    #[error("<{element}> without {missing}")]
    Missing { element: String, missing: String },
    #[error("a second <{element}> in {within}")]
    Repeated { element: String, within: String },
    #[error("the id \"{id}\" was already used in line {first}")]
    DuplicateId { id: String, first: u64 },
    #[error("{what} is \"{text}\", not a natural number")]
    NotANumber { what: String, text: String },
    #[error("{what} is {text}, more than 18446744073709551615 (2^64-1)")]
    TooLarge { what: String, text: String },
    #[error("the inscription of arc {arc} is 0")]
    ZeroWeight { arc: String },
    #[error("arc {arc} refers to \"{id}\", which is neither a place nor a transition")]
    Dangling { arc: String, id: String },
    #[error("arc {arc} connects two {nodes}")]
    NotBipartite { arc: String, nodes: &'static str },
    #[error("the net type \"{0}\"")]
    NetType(String),
    #[error("<{element}> is not read")]
    Unsupported { element: String },
}

impl Problem {
    /// What the owner of the file can do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Problem::Io(_) => "check the file, or unpack the archive again",
            Problem::Malformed(_) => "check it with an XML validator, or unpack the archive again",
            Problem::DocumentType => "remove it; entities are never expanded here",
            Problem::ItemTooLong(_) | Problem::TooDeep(_) | Problem::TooMany(_) => {
                "no contest file comes near this; check how it was made"
            }
            Problem::Unexpected { .. } => "see the grammar of the contest's files (rule E-1.8)",
            Problem::Missing { .. } => "add it",
            Problem::Repeated { .. } => "keep one",
            Problem::DuplicateId { .. } => "rename one of them",
            Problem::NotANumber { .. } => "write a natural number in decimal digits",
            Problem::TooLarge { .. } => "use a smaller one",
            Problem::ZeroWeight { .. } => "remove the arc or give it a weight of at least 1",
            Problem::Dangling { .. } => "correct the id or declare the node",
            Problem::NotBipartite { .. } => "an arc joins one place and one transition",
            Problem::NetType(_) => {
                "contest models are \"ptnet\" or \"symmetricnet\" (http://www.pnml.org/version-2009/grammar/...)"
            }
            Problem::Unsupported { .. } => "flatten the net to plain places, transitions and arcs",
        }
    }
}

//! Errors in the XML of a model: PNML, property files, NUPN sections, generic verdicts.

use super::xml::MAX_ID_BYTES;
use mcc_base::names::BadName;

/// An error in a file of a model, with its place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}; {}", .problem.remedy())]
pub struct ModelError {
    /// The name of the file as given by the caller, such as `TokenRing-PT-005/model.pnml`.
    pub file: String,
    /// The line: 1, 2, ...
    pub line: u64,
    /// What is wrong, without the place.
    pub problem: Problem,
}

/// A problem in a file of a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(String),
    /// The file is not well-formed XML.
    #[error("not well-formed XML: {0}")]
    Malformed(String),
    /// The file has a document type declaration.
    #[error("the file has a document type declaration")]
    DocumentType,
    /// A tag or text has more bytes than allowed.
    #[error("a tag or text is longer than {0} bytes")]
    ItemTooLong(u64),
    /// An id, or an attribute beside it, has more bytes than allowed.
    #[error("the attribute {0} is longer than {most} bytes", most = MAX_ID_BYTES)]
    IdTooLong(String),
    /// Elements are nested deeper than allowed.
    #[error("elements are nested deeper than {0}")]
    TooDeep(usize),
    /// The file has more elements and texts, or its tuples of sums copy more terms, than allowed.
    #[error("the file has more than {0} elements and texts, or copied terms in tuples of sums")]
    TooMany(u32),
    /// The NUPN section has more ids than are permitted for its net.
    #[error("the NUPN section has more than {0} units and ids in them")]
    TooManyIds(usize),
    /// An element is not allowed at its place.
    #[error("<{found}> where {expected} is expected")]
    Unexpected {
        /// The element.
        found: String,
        /// What the grammar expects.
        expected: String,
    },
    /// A part of an element is missing.
    #[error("<{element}> without {missing}")]
    Missing {
        /// The element.
        element: String,
        /// The missing part.
        missing: String,
    },
    /// An element is repeated where one is allowed.
    #[error("{within} has a second <{element}>")]
    Repeated {
        /// The element.
        element: String,
        /// The element around it.
        within: String,
    },
    /// Two elements have the same id.
    #[error("the id \"{id}\" was already used in line {first}")]
    DuplicateId {
        /// The id.
        id: String,
        /// The line of its first use.
        first: u64,
    },
    /// The id of a property is not valid.
    #[error("{0}")]
    PropertyId(BadName),
    /// A text is not a natural number.
    #[error("{what} is \"{text}\", not a natural number")]
    NotANumber {
        /// The meaning of the number.
        what: String,
        /// The text.
        text: String,
    },
    /// A number does not fit into 64 bits.
    #[error("{what} is {text}, more than 18446744073709551615 (2^64-1)")]
    TooLarge {
        /// The meaning of the number.
        what: String,
        /// Its text.
        text: String,
    },
    /// An arc has the weight 0.
    #[error("the inscription of arc {arc} is 0")]
    ZeroWeight {
        /// The id of the arc.
        arc: String,
    },
    /// An end of an arc is not a node.
    #[error("arc {arc} refers to \"{id}\", which is neither a place nor a transition")]
    Dangling {
        /// The id of the arc.
        arc: String,
        /// The id to which it refers.
        id: String,
    },
    /// An arc connects two places or two transitions.
    #[error("arc {arc} connects two {nodes}")]
    NotBipartite {
        /// The id of the arc.
        arc: String,
        /// `places` or `transitions`.
        nodes: &'static str,
    },
    /// The type of the net is unknown.
    #[error("the net type \"{0}\" is not supported")]
    NetType(String),
    /// An expression of a coloured net has no value.
    #[error("{0}")]
    NoValue(super::BagError),
    /// A sort, constant, variable or partition is used but not declared.
    #[error("the {what} \"{id}\" is not declared")]
    NotDeclared {
        /// `sort`, `constant`, `variable` or `partition`.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// An element of a coloured net has an unknown meaning.
    #[error("<{element}> is not known in coloured nets")]
    UnknownConstruct {
        /// The element and the one around it, without the outer brackets: `x> in <y`.
        element: String,
    },
    /// An element or attribute of PNML is not supported.
    #[error("<{element}> is not supported")]
    Unsupported {
        /// The element, without the outer brackets: `x> in <y`, or `y x="value"`.
        element: String,
    },
    /// An id begins or ends with white space, which some readers remove.
    #[error("the id \"{0}\" begins or ends with white space")]
    IdWithBlank(String),
    /// There is text where the grammar has elements only.
    #[error("<{0}> has text outside of its elements")]
    Text(String),
}

impl Problem {
    /// The remedy, for the owner of the file.
    pub fn remedy(&self) -> &'static str {
        match self {
            Problem::Io(_) => "check the file, or unpack the archive again",
            Problem::Malformed(_) => "check it with an XML validator, or unpack the archive again",
            Problem::DocumentType => "remove it; entities are not expanded here",
            Problem::ItemTooLong(_)
            | Problem::IdTooLong(_)
            | Problem::TooDeep(_)
            | Problem::TooMany(_)
            | Problem::TooManyIds(_) => "contest files are far below this limit; check how the file was made",
            Problem::Unexpected { .. } => "see the grammar of the contest's files (rule E-1.8)",
            Problem::Missing { .. } => "add it",
            Problem::Repeated { .. } => "keep one",
            Problem::DuplicateId { .. } => "rename one of them",
            Problem::PropertyId(_) => "ids are visible text in one line",
            Problem::NotANumber { .. } => "write a natural number in decimal digits",
            Problem::TooLarge { .. } => "use a smaller one",
            Problem::ZeroWeight { .. } => "remove the arc or give it a weight of at least 1",
            Problem::Dangling { .. } => "correct the id or declare the node",
            Problem::NotBipartite { .. } => "connect a place and a transition",
            Problem::NetType(_) => {
                "contest models are \"ptnet\" or \"symmetricnet\" (http://www.pnml.org/version-2009/grammar/...)"
            }
            Problem::NoValue(_) => "correct the expression",
            Problem::NotDeclared { .. } => "declare it, or correct the id",
            Problem::UnknownConstruct { .. } => {
                "see docs/formats.md (coloured nets) for the sorts, terms and guards that are read"
            }
            Problem::Unsupported { .. } => "flatten the net to plain places, transitions and arcs",
            Problem::IdWithBlank(_) => "remove the white space",
            Problem::Text(_) => "remove it; it has no meaning there",
        }
    }
}

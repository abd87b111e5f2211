//! A Petri net as read from PNML.

/// P/T (`ptnet`) or coloured (`symmetricnet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetKind {
    PlaceTransition,
    Coloured,
}

/// A net. Places and transitions are numbered in document order; arcs refer to them by number.
///
/// For a coloured net only the graph is kept: places (marking 0), transitions and arcs (weight 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Net {
    /// The `id` of `<net>`; the instance's name in contest models.
    pub id: String,
    pub kind: NetKind,
    pub places: Vec<Place>,
    pub transitions: Vec<Transition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub id: String,
    /// Tokens of the initial marking. Contest models pass 2^32 (GPPP), none known passes 2^64;
    /// a larger one is an error of the reader, never a wrapped number.
    pub initial: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    pub id: String,
    pub inputs: Vec<Arc>,
    pub outputs: Vec<Arc>,
}

/// One side of a transition: `weight` tokens of place number `place`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    pub place: usize,
    pub weight: u64,
}

//! Petri nets.

/// The kind of a net.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetKind {
    /// P/T net (`ptnet`).
    PlaceTransition,
    /// Coloured net (`symmetricnet`).
    Coloured,
}

/// A net. Places and transitions are numbered 0, 1, ... in document order; arcs refer to places by number.
///
/// For a coloured net only the graph is kept: places (marking 0), transitions and arcs (weight 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Net {
    /// The `id` of `<net>`; in contest models the name of the instance.
    pub id: String,
    /// From the attribute `type` of `<net>`.
    pub kind: NetKind,
    /// All places, from all pages.
    pub places: Vec<Place>,
    /// All transitions, from all pages, each with its arcs.
    pub transitions: Vec<Transition>,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its id.
    pub id: String,
    /// Tokens of the initial marking. Contest models have more than 2^32 (GPPP); 2^64 or more is an error of reading.
    pub initial: u64,
}

/// A transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Its id.
    pub id: String,
    /// Arcs from places; at most one per place.
    pub inputs: Vec<Arc>,
    /// Arcs to places; at most one per place.
    pub outputs: Vec<Arc>,
}

/// An arc of a transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arc {
    /// The number of its place.
    pub place: usize,
    /// Its weight in tokens, at least 1.
    pub weight: u64,
}

//! Properties of an examination (`UpperBounds.xml`, ...), the reference form of formulas (rule E-1.8).

/// One `<property>`: its id as written and its formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    pub id: String,
    pub formula: Formula,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    /// `place-bound`: the largest sum of tokens over these places (ids as written).
    PlaceBound(Vec<String>),
    /// Everything else: a state or path formula.
    Boolean(Box<Expr>),
}

/// The grammar of Reachability, CTL and LTL formulas, one type for all three.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    AllPaths(Box<Expr>),
    ExistsPath(Box<Expr>),
    Globally(Box<Expr>),
    Finally(Box<Expr>),
    Next(Box<Expr>),
    Until(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `integer-le(left, right)`
    Le(Count, Count),
    /// `is-fireable`: at least one of these transitions (ids as written) is enabled.
    Fireable(Vec<String>),
    Deadlock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    Constant(u64),
    /// `tokens-count`: the sum of tokens over these places (ids as written).
    Tokens(Vec<String>),
}

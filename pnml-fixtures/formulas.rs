//! Random formulas, the same for the same instance and examination.

use mcc_harness::base::random::SplitMix;
use mcc_harness::model::{Count, Expr, Net};

use super::naive::Graph;

/// The kind of atoms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atoms {
    Cardinality,
    Fireability,
}

/// Draws formulas about a net; a seed determines them.
pub struct Draw<'a> {
    /// The nodes that may be named.
    net: &'a Net,
    /// Constants are token counts of its states, so that comparisons are not trivial.
    graph: &'a Graph<'a>,
    random: SplitMix,
}

impl<'a> Draw<'a> {
    pub fn new(net: &'a Net, graph: &'a Graph<'a>, seed: &str) -> Self {
        // FNV-1a of the seed.
        let random = seed.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Self { net, graph, random: SplitMix(random) }
    }

    /// A random number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.random.below(n)
    }

    pub fn places(&mut self) -> Vec<String> {
        self.ids(self.net.places.iter().map(|place| &place.id).collect())
    }

    /// One to three different ids, in the order of the net.
    fn ids(&mut self, all: Vec<&String>) -> Vec<String> {
        let wanted = 1 + self.below(3.min(all.len()));
        let mut chosen = std::collections::BTreeSet::new();
        while chosen.len() < wanted {
            chosen.insert(self.below(all.len()));
        }
        chosen.into_iter().map(|number| all[number].clone()).collect()
    }

    pub fn atom(&mut self, atoms: Atoms) -> Expr {
        if atoms == Atoms::Fireability {
            return Expr::Fireable(self.ids(self.net.transitions.iter().map(|t| &t.id).collect()));
        }
        let places = self.places();
        let tokens = Count::Tokens(places.clone());
        match self.below(5) {
            0 => Expr::Le(tokens, Count::Tokens(self.places())),
            1 | 2 => Expr::Le(tokens, self.constant(&places)),
            _ => Expr::Le(self.constant(&places), tokens),
        }
    }

    /// The sum of tokens of these places in a random state, or one more.
    fn constant(&mut self, places: &[String]) -> Count {
        let state = self.below(self.graph.states.len());
        let sum = self.graph.tokens(state, places) + self.below(2);
        Count::Constant(u64::try_from(sum).unwrap_or(u64::MAX))
    }

    /// A formula about one marking.
    fn state(&mut self, atoms: Atoms, depth: usize) -> Expr {
        match if depth == 0 { 3 } else { self.below(6) } {
            0 => Expr::Not(Box::new(self.state(atoms, depth - 1))),
            1 => Expr::And((0..2 + self.below(2)).map(|_| self.state(atoms, depth - 1)).collect()),
            2 => Expr::Or((0..2 + self.below(2)).map(|_| self.state(atoms, depth - 1)).collect()),
            _ => self.atom(atoms),
        }
    }

    pub fn reachability(&mut self, atoms: Atoms) -> Expr {
        let state = Box::new(self.state(atoms, 3));
        if self.below(2) == 0 {
            Expr::ExistsPath(Box::new(Expr::Finally(state)))
        } else {
            Expr::AllPaths(Box::new(Expr::Globally(state)))
        }
    }

    pub fn ctl(&mut self, atoms: Atoms, depth: usize) -> Expr {
        let inner = |draw: &mut Self| {
            let choice = if depth == 0 { 2 } else { draw.below(3) };
            Box::new(if choice == 2 { draw.state(atoms, 1) } else { draw.ctl(atoms, depth - 1) })
        };
        let path = match self.below(8) {
            0 => return Expr::Not(inner(self)),
            1 => return Expr::And(vec![*inner(self), *inner(self)]),
            2 => return Expr::Or(vec![*inner(self), *inner(self)]),
            3 => Expr::Globally(inner(self)),
            4 => Expr::Finally(inner(self)),
            5 => Expr::Next(inner(self)),
            _ => Expr::Until(inner(self), inner(self)),
        };
        if self.below(2) == 0 { Expr::AllPaths(Box::new(path)) } else { Expr::ExistsPath(Box::new(path)) }
    }

    /// An LTL formula that is equivalent to a CTL formula (`as_ctl`).
    pub fn ltl(&mut self, atoms: Atoms) -> Expr {
        let last = match self.below(4) {
            0 => self.atom(atoms),
            1 => Expr::Finally(Box::new(self.atom(atoms))),
            2 => Expr::Globally(Box::new(self.atom(atoms))),
            _ => Expr::Until(Box::new(self.atom(atoms)), Box::new(self.atom(atoms))),
        };
        // Next only at the front: the initial markings of all fixtures have a next marking.
        let path = match self.below(4) {
            0 => Expr::Next(Box::new(last)),
            1 => Expr::Next(Box::new(Expr::Next(Box::new(last)))),
            2 => Expr::Globally(Box::new(last)),
            _ => last,
        };
        Expr::AllPaths(Box::new(path))
    }
}

/// Converts an LTL formula to an equivalent CTL formula: A G p is AG of (A p), A X p is AX of (A p), and F and U of atoms are
/// AF and AU.
pub fn as_ctl(ltl: &Expr) -> Expr {
    let Expr::AllPaths(path) = ltl else { panic!("an LTL formula begins with all-paths") };
    let all = |inner: &Expr| Box::new(as_ctl(&Expr::AllPaths(Box::new(inner.clone()))));
    let path = match &**path {
        Expr::Globally(inner) => Expr::Globally(all(inner)),
        Expr::Next(inner) => Expr::Next(all(inner)),
        Expr::Finally(atom) if is_atom(atom) => Expr::Finally(atom.clone()),
        Expr::Until(before, reach) if is_atom(before) && is_atom(reach) => {
            Expr::Until(before.clone(), reach.clone())
        }
        atom if is_atom(atom) => return atom.clone(),
        other => panic!("no equivalent CTL formula is implemented: {other:?}"),
    };
    Expr::AllPaths(Box::new(path))
}

fn is_atom(expr: &Expr) -> bool {
    matches!(expr, Expr::Le(..) | Expr::Fireable(_))
}

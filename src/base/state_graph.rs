//! Graphs of states, which are numbered 0, 1, ...: sets of states, predecessors, strongly connected components. A graph is
//! given by a function that returns the successors of a state, one entry for each edge.

/// A set of states, with one bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    words: Vec<u64>,
}

impl States {
    /// The empty set, with memory for this number of states.
    pub fn none(states: usize) -> Self {
        Self { words: vec![0; states.div_ceil(64)] }
    }

    /// Whether the set has a state.
    pub fn contains(&self, state: u32) -> bool {
        self.words.get(state as usize / 64).is_some_and(|word| word >> (state % 64) & 1 == 1)
    }

    /// Adds a state.
    pub fn insert(&mut self, state: u32) {
        let word = state as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (state % 64);
    }

    /// The states in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.words).flat_map(|(number, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word: u64| number * 64 + word.trailing_zeros())
        })
    }

    /// Combines the words of two sets that have memory for the same number of states.
    #[must_use]
    pub fn zip(mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = combine(*word, *other);
        }
        self
    }

    /// The other ones of this number of states.
    #[must_use]
    pub fn complement(mut self, states: usize) -> Self {
        self.words.resize(states.div_ceil(64), 0);
        self.words.iter_mut().for_each(|word| *word = !*word);
        if let (Some(last), rest @ 1..) = (self.words.last_mut(), states % 64) {
            *last &= (1 << rest) - 1;
        }
        self
    }
}

/// The predecessors of each state.
pub struct Predecessors {
    /// Those of state 0, then those of state 1, ...; one entry for each edge.
    sources: Vec<u32>,
    /// By state: the end of its part of `sources`.
    ends: Vec<usize>,
}

impl Predecessors {
    /// Makes the table for a graph with this number of states.
    pub fn new<'g>(states: usize, successors: impl Fn(u32) -> &'g [u32]) -> Self {
        let mut ends = vec![0; states];
        for target in (0..states as u32).flat_map(&successors) {
            ends[*target as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            let count = *end;
            *end = total;
            total += count;
        }
        // `ends` has the starts here; each is increased to the end while the predecessors are added.
        let mut sources = vec![0; total];
        for state in 0..states as u32 {
            for target in successors(state) {
                let end = &mut ends[*target as usize];
                sources[*end] = state;
                *end += 1;
            }
        }
        Self { sources, ends }
    }

    /// The predecessors of a state, one entry for each edge.
    pub fn before(&self, state: u32) -> &[u32] {
        let state = state as usize;
        let start = state.checked_sub(1).map_or(0, |previous| self.ends[previous]);
        &self.sources[start..self.ends[state]]
    }
}

/// The bottom components of a graph with this number of states: its strongly connected components that no edge leaves.
/// From every state one of them can be reached.
pub fn bottom_components<'g>(states: usize, successors: impl Fn(u32) -> &'g [u32]) -> Vec<Vec<u32>> {
    let component = components(states, &successors);
    let mut is_bottom = vec![true; component.iter().max().map_or(0, |last| *last as usize + 1)];
    for (state, own) in (0..).zip(&component) {
        is_bottom[*own as usize] &= successors(state).iter().all(|to| component[*to as usize] == *own);
    }
    let mut members: Vec<u32> = (0..states as u32).collect();
    members.retain(|state| is_bottom[component[*state as usize] as usize]);
    members.sort_by_key(|state| component[*state as usize]);
    let groups = members.chunk_by(|a, b| component[*a as usize] == component[*b as usize]);
    groups.map(<[u32]>::to_vec).collect()
}

/// The number of the strongly connected component of each state (Tarjan: Depth-First Search and Linear Graph Algorithms,
/// 1972, without recursion).
fn components<'g>(states: usize, successors: impl Fn(u32) -> &'g [u32]) -> Vec<u32> {
    const NOT_YET: u32 = u32::MAX;
    let mut component = vec![NOT_YET; states];
    let mut order = vec![NOT_YET; states];
    // The smallest order of a state on the stack `open` that is known to be reachable.
    let mut low = vec![0; states];
    let (mut next, mut components) = (0, 0);
    let mut open: Vec<u32> = Vec::new();
    let mut path: Vec<(u32, usize)> = Vec::new();
    for root in 0..states as u32 {
        if order[root as usize] == NOT_YET {
            path.push((root, 0));
        }
        while let Some(&mut (state, ref mut edge)) = path.last_mut() {
            let at = state as usize;
            if *edge == 0 {
                (order[at], low[at]) = (next, next);
                next += 1;
                open.push(state);
            }
            if let Some(&target) = successors(state).get(*edge) {
                *edge += 1;
                if order[target as usize] == NOT_YET {
                    path.push((target, 0));
                } else if component[target as usize] == NOT_YET {
                    low[at] = low[at].min(order[target as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                low[before as usize] = low[before as usize].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member as usize] = components;
                    if member == state {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: [&[u32]; 6] = [&[1, 3], &[2], &[1, 4], &[3, 0], &[], &[4]];

    #[test]
    fn states_that_reach_each_other_are_one_component() {
        let found = components(6, |state| GRAPH[state as usize]);
        assert!(found[0] == found[3] && found[1] == found[2]);
        let distinct: std::collections::BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), 4, "{found:?}");
        assert_eq!(bottom_components(6, |state| GRAPH[state as usize]), [[4]]);
    }

    #[test]
    fn predecessors_have_one_entry_for_each_edge() {
        let graph: [&[u32]; 3] = [&[1, 2, 2], &[], &[2]];
        let predecessors = Predecessors::new(3, |state| graph[state as usize]);
        assert_eq!([0, 1, 2].map(|state| predecessors.before(state)), [&[][..], &[0], &[0, 0, 2]]);
    }

    #[test]
    fn a_set_and_its_complement_share_no_state() {
        let mut set = States::default();
        [0, 63, 64, 69].into_iter().for_each(|state| set.insert(state));
        let other = set.clone().complement(70);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 69]);
        assert_eq!(other.iter().count(), 66);
        assert!((0..70).all(|state| set.contains(state) != other.contains(state)));
        assert!(!other.contains(70));
    }
}

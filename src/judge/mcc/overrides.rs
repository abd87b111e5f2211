//! The values that the organizers set, by the block they belong to.

use crate::input::ballots::Override;
use std::collections::HashMap;

/// Overrides by examination and instance number.
#[derive(Debug, Default)]
pub(super) struct Overrides(HashMap<(usize, usize), Vec<Override>>);

impl Overrides {
    /// `instances` are the names by number; an override of an instance that is judged no more has no effect.
    pub fn new(overrides: &[Override], instances: &[String]) -> Self {
        let mut found: HashMap<(usize, usize), Vec<Override>> = HashMap::new();
        for of in overrides {
            if let Ok(instance) = instances.binary_search(&of.instance) {
                found.entry((of.examination, instance)).or_default().push(of.clone());
            }
        }
        Self(found)
    }

    /// Those of one block.
    pub fn of(&self, examination: usize, instance: usize) -> &[Override] {
        // Most contests have none: no hashing then.
        if self.0.is_empty() {
            return &[];
        }
        self.0.get(&(examination, instance)).map_or(&[], Vec::as_slice)
    }
}

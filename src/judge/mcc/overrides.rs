//! The values that the organizers set, by block.

use crate::input::run_results::Override;
use std::collections::HashMap;

/// Overrides by examination and instance number.
#[derive(Debug, Default)]
pub(super) struct Overrides(HashMap<(usize, usize), Vec<Override>>);

impl Overrides {
    /// Groups overrides by block. `instances` are the sorted names, by number. An override of an instance that is not
    /// judged, because all its entries resigned or were withdrawn, has no effect.
    pub fn new(overrides: &[Override], instances: &[String]) -> Self {
        let mut found: HashMap<(usize, usize), Vec<Override>> = HashMap::new();
        for change in overrides {
            if let Ok(instance) = instances.binary_search(&change.instance) {
                found.entry((change.examination, instance)).or_default().push(change.clone());
            }
        }
        Self(found)
    }

    /// Returns the overrides of one block.
    pub fn for_block(&self, examination: usize, instance: usize) -> &[Override] {
        self.0.get(&(examination, instance)).map_or(&[], Vec::as_slice)
    }
}

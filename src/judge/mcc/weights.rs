//! Normalization weights of instances (E-4.4).

use mcc_edition::Normalization;
use num_rational::BigRational;
use num_traits::{One, Zero};
use std::collections::HashMap;

/// Returns the normalization weight of each instance. `families` has the family of each; None for an instance without
/// a value of a competing entry, which has the weight 0 and does not count in its family.
///
/// Another normalization needs a match arm here and a word in `mcc_edition::Normalization`.
pub(super) fn weights(normalization: Normalization, families: &[Option<&str>]) -> Vec<BigRational> {
    match normalization {
        Normalization::None => families.iter().map(|family| one_or_zero(family.is_some())).collect(),
        Normalization::FamilyLinear => family_linear(families),
    }
}

fn one_or_zero(counts: bool) -> BigRational {
    if counts { BigRational::one() } else { BigRational::zero() }
}

/// The weight (1 + (n-1)/(nmax-1)) / n: the instances of a family together have from 1 (one instance) to 2 (the largest
/// family). If nmax is 1 every weight is 1.
fn family_linear(families: &[Option<&str>]) -> Vec<BigRational> {
    let mut sizes: HashMap<&str, i64> = HashMap::new();
    for family in families.iter().flatten() {
        *sizes.entry(family).or_default() += 1;
    }
    let largest = sizes.values().copied().max().unwrap_or_default();
    let weight = |n: i64| match largest {
        1 => BigRational::one(),
        _ => BigRational::new((largest - 1 + n - 1).into(), ((largest - 1) * n).into()),
    };
    families
        .iter()
        .map(|family| family.map_or_else(BigRational::zero, |family| weight(sizes[family])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_a_family_is_from_one_to_two() {
        let families = [Some("a"), Some("b"), Some("b"), Some("c"), Some("c"), Some("c"), None];
        let weights = weights(Normalization::FamilyLinear, &families);
        let sum = |from: usize, to: usize| weights[from..to].iter().sum::<BigRational>();
        assert_eq!(sum(0, 1), BigRational::one());
        assert_eq!(sum(1, 3), BigRational::new(3.into(), 2.into()));
        assert_eq!(sum(3, 6), BigRational::from_integer(2.into()));
        assert_eq!(weights[6], BigRational::zero());
    }

    #[test]
    fn weights_are_one_for_single_instances_or_no_normalization() {
        assert_eq!(
            weights(Normalization::FamilyLinear, &[Some("a"), Some("b")]),
            [one_or_zero(true), one_or_zero(true)]
        );
        assert_eq!(
            weights(Normalization::None, &[Some("a"), Some("a"), None]),
            [1, 1, 0].map(|n| one_or_zero(n == 1))
        );
    }
}

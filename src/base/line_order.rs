//! An order of points in which the points of each group are close to each other.

/// Orders of which the best is taken.
const ROUNDS: usize = 100;

/// Largest sum of the sizes of the groups for which an order is sought: some seconds for thousands of points.
const MAX_SIZE: usize = 1_000_000;

/// Whether the groups are too large to seek an order.
fn are_too_large(groups: &[Vec<usize>]) -> bool {
    groups.iter().map(Vec::len).sum::<usize>() > MAX_SIZE
}

/// Orders the points 0, 1, ..., `points` - 1 by centres of gravity (the heuristic FORCE: Aloul, Markov and Sakallah, *FORCE: a
/// fast and easy-to-implement variable-ordering heuristic*, 2003; here a group counts less the larger it is). Returns a
/// permutation of the points; of very large groups the order of the numbers. The same input gives the same order.
pub fn line_order(points: usize, groups: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points).collect();
    if are_too_large(groups) {
        return order;
    }
    let mut position = order.clone();
    let mut best = (f64::INFINITY, order.clone());
    for _ in 0..ROUNDS {
        order.iter().enumerate().for_each(|(at, point)| position[*point] = at);
        let (mut span, mut sums) = (0.0, vec![(0.0, 0.0); points]);
        for group in groups.iter().filter(|group| group.len() > 1) {
            let places = || group.iter().map(|point| position[*point]);
            let weight = 1.0 / (group.len() - 1) as f64;
            span += weight
                * places().max().zip(places().min()).map_or(0.0, |(last, first)| (last - first) as f64);
            let centre = places().map(|at| at as f64).sum::<f64>() / group.len() as f64;
            for point in group {
                sums[*point] = (sums[*point].0 + weight * centre, sums[*point].1 + weight);
            }
        }
        if span < best.0 {
            best = (span, order.clone());
        }
        let centre = |point: usize| match sums[point] {
            (_, 0.0) => position[point] as f64,
            (sum, weight) => sum / weight,
        };
        order.sort_by(|one, other| centre(*one).total_cmp(&centre(*other)));
    }
    best.1
}

/// Orders the points 0, 1, ..., `points` - 1 one by one: next is the point whose groups have, on average, the largest share of
/// points in the order already (after Noack, *A ZBDD package for efficient model checking of Petri nets*, 1999; here a group
/// that the point completes counts one more); of very large groups the order of the numbers. The same input gives the same order.
pub fn greedy_order(points: usize, groups: &[Vec<usize>]) -> Vec<usize> {
    /// What a group without a point in the order counts, in points.
    const BEGINNING: f64 = 0.1;
    if are_too_large(groups) {
        return (0..points).collect();
    }
    let mut groups_by_point = vec![Vec::new(); points];
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|point| groups_by_point[*point].push(number));
    }
    let mut ordered_points = vec![0_usize; groups.len()];
    let mut left: Vec<usize> = (0..points).collect();
    let mut order = Vec::new();
    while !left.is_empty() {
        let mut best = (f64::NEG_INFINITY, 0);
        for (at, point) in left.iter().enumerate() {
            let value = |number: &usize| {
                let (ordered, all) = (ordered_points[*number], groups[*number].len());
                let completes = if ordered + 1 == all { 1.0 } else { 0.0 };
                (ordered as f64 + BEGINNING) / all as f64 + completes
            };
            let groups = &groups_by_point[*point];
            let value = groups.iter().map(value).sum::<f64>() / groups.len().max(1) as f64;
            if value > best.0 {
                best = (value, at);
            }
        }
        let point = left.remove(best.1);
        groups_by_point[point].iter().for_each(|number| ordered_points[*number] += 1);
        order.push(point);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_chain_become_neighbours() {
        // The chain 0, 4, 1, 5, 2, 6, 3, 7.
        let groups: Vec<Vec<usize>> =
            [[0, 4], [4, 1], [1, 5], [5, 2], [2, 6], [6, 3], [3, 7]].map(Vec::from).into();
        for method in [line_order, greedy_order] {
            let order = method(9, &groups);
            let at = |point| order.iter().position(|known| *known == point).unwrap();
            assert!(groups.iter().all(|group| at(group[0]).abs_diff(at(group[1])) == 1), "{order:?}");
            assert!(method(0, &[]).is_empty());
        }
    }

    #[test]
    fn no_order_is_sought_for_very_large_groups() {
        let mut groups = vec![Vec::from_iter(0..2000); MAX_SIZE / 2000];
        groups.push(vec![0, 1999]);
        for method in [line_order, greedy_order] {
            assert!(method(2000, &groups).is_sorted());
        }
    }
}

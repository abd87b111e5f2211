//! Why entries have their places: sums by model status and family, values that only one tool has right, comparisons of
//! neighbours on a podium, and the least number of trusted values that decide a place. Everything is computed from the
//! verdicts of a judgement.

use crate::judgement::*;
use crate::mcc::sensitivity::{examinations_of_podiums, holders_and_rivals, nearest_rivals};
use crate::mcc::{ValuePoints, Weights};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// For margins of at most this many values the values that decide are listed.
const FEW_VALUES: u64 = 5;

/// The sums of a judgement by which places are explained. Points are with weights and without bonuses.
pub struct Places<'j> {
    judgement: &'j Judgement,
    /// The instances of one family, status and weight are one class.
    classes: Vec<Class<'j>>,
    /// By instance.
    class_of: Vec<usize>,
    weights: Weights,
    /// By entry, examination and class.
    counts: Vec<ClassCounts>,
    /// Number of positions and of trusted values, by examination and class.
    positions: Vec<(u64, u64)>,
    unique: Vec<Vec<Position>>,
    wrong: Vec<Vec<Position>>,
    margins: Vec<DecidedPlace>,
    neighbours: Vec<Neighbours>,
}

struct Class<'j> {
    family: &'j str,
    status: &'j str,
    weight: &'j BigRational,
    instance: usize,
}

#[derive(Clone, Copy, Default)]
struct ClassCounts {
    right: u64,
    wrong: u64,
    /// Wrong values whose trusted value is known; a table of 2024 marks others as wrong too.
    wrong_known: u64,
    unjudged: u64,
    unique: u64,
}

/// A value of the judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Number of the examination.
    pub examination: usize,
    /// Number of the instance.
    pub instance: usize,
    /// Position in the block, from 0.
    pub position: usize,
}

/// Counts and points of an entry in some examinations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right values.
    pub right: u64,
    /// Wrong values.
    pub wrong: u64,
    /// Given values whose trusted value is unknown.
    pub unjudged: u64,
    /// Values that it did not give.
    pub not_computed: u64,
    /// Trusted values that it did not give.
    pub missed: u64,
    /// Right values that no other competing tool has.
    pub unique: u64,
    /// Points of its right values, minus the penalties.
    pub points: BigRational,
    /// Points of the values that no other competing tool has right.
    pub unique_points: BigRational,
    /// Penalties of its wrong values: 0 or more.
    pub penalties: BigRational,
    /// Points that it would have in addition with every trusted value right.
    pub missing: BigRational,
}

/// The points that an entry misses on one family.
#[derive(Debug)]
pub struct Loss<'j> {
    /// Name of the family.
    pub family: &'j str,
    /// Number of one of its instances.
    pub instance: usize,
    /// What the entry has there.
    pub tally: Tally,
}

/// How a rank up to 3 could be lost.
#[derive(Debug)]
pub struct DecidedPlace {
    /// Number of the podium.
    pub podium: usize,
    /// Number of the entry with the rank.
    pub holder: usize,
    /// Number of the entry that would pass it with the fewest changed trusted values.
    pub rival: usize,
    /// The least number of changed values; None where no number is enough.
    pub values: Option<u64>,
    /// If few are enough: the values of which the last one could be changed, in the order of the judgement.
    pub decisive: Vec<Position>,
}

/// Two neighbours on a podium: what one has and the other does not.
#[derive(Debug)]
pub struct Neighbours {
    /// Number of the podium.
    pub podium: usize,
    /// Number of the entry with the better place.
    pub ahead: usize,
    /// Number of the next entry.
    pub behind: usize,
    /// Values that only the first, only the second has right: number and points.
    pub only: [(u64, BigRational); 2],
    /// Wrong values of the first and of the second: number and penalties.
    pub wrong: [(u64, BigRational); 2],
}

impl<'j> Places<'j> {
    /// Sums up a judgement that `Judgement::check` accepts.
    pub fn from_judgement(judgement: &'j Judgement) -> Self {
        let mut numbers: BTreeMap<(&str, &str, &BigRational), usize> = BTreeMap::new();
        let mut classes = Vec::new();
        let mut class_of = Vec::new();
        for (instance, instance_facts) in judgement.instances.iter().enumerate() {
            let (family, status, weight) =
                (instance_facts.family.as_str(), instance_facts.status.as_str(), &instance_facts.weight);
            let class = *numbers.entry((family, status, weight)).or_insert_with(|| {
                classes.push(Class { family, status, weight, instance });
                classes.len() - 1
            });
            class_of.push(class);
        }
        let weights: Vec<BigRational> = classes.iter().map(|class: &Class| class.weight.clone()).collect();
        let (entries, examinations) = (judgement.entries.len(), judgement.examinations.len());
        let mut places = Self {
            judgement,
            counts: vec![ClassCounts::default(); entries * examinations * classes.len()],
            positions: vec![(0, 0); examinations * classes.len()],
            classes,
            class_of,
            weights: Weights::new(&weights),
            unique: vec![Vec::new(); entries],
            wrong: vec![Vec::new(); entries],
            margins: Vec::new(),
            neighbours: Vec::new(),
        };
        judgement.blocks.iter().for_each(|block| places.add(block));
        places.compare();
        places
    }

    fn index(&self, entry: usize, examination: usize, class: usize) -> usize {
        (entry * self.judgement.examinations.len() + examination) * self.classes.len() + class
    }

    /// Counts the values of a block.
    fn add(&mut self, block: &Block) {
        let entries = &self.judgement.entries;
        let class = self.class_of[block.instance];
        let Block { examination, instance, .. } = *block;
        let positions = &mut self.positions[examination * self.classes.len() + class];
        positions.0 += block.trusted.len() as u64;
        positions.1 += block.trusted.iter().filter(|trusted| trusted.value.is_some()).count() as u64;
        for position in 0..block.trusted.len() {
            // The competing tools that have the value right: none, one or several.
            let (mut right, mut several) = (None, false);
            for cell in block.cells.iter().filter(|cell| cell.verdicts[position] == ValueVerdict::Right) {
                let Entry { tool, status, .. } = &entries[cell.entry];
                if *status == Status::Competing {
                    several |= *right.get_or_insert(tool) != tool;
                }
            }
            for cell in &block.cells {
                let at = self.index(cell.entry, examination, class);
                let counts = &mut self.counts[at];
                let value = Position { examination, instance, position };
                match cell.verdicts[position] {
                    ValueVerdict::Right => {
                        counts.right += 1;
                        if !several && right.is_none_or(|tool| *tool == entries[cell.entry].tool) {
                            counts.unique += 1;
                            self.unique[cell.entry].push(value);
                        }
                    }
                    ValueVerdict::Wrong => {
                        counts.wrong += 1;
                        counts.wrong_known += u64::from(block.trusted[position].value.is_some());
                        self.wrong[cell.entry].push(value);
                    }
                    ValueVerdict::Unjudged => counts.unjudged += 1,
                    ValueVerdict::NotComputed => {}
                }
            }
        }
    }

    /// Computes neighbours and margins.
    fn compare(&mut self) {
        let judgement = self.judgement;
        let edition = &judgement.edition;
        let within = examinations_of_podiums(edition);
        let weights: Vec<BigRational> = self.classes.iter().map(|class| class.weight.clone()).collect();
        let class_of = |block: &Block| self.class_of[block.instance];
        let mut nearest = Vec::new();
        for mut of_holder in holders_and_rivals(&judgement.podiums, &judgement.entries) {
            let podium = of_holder.first().map(|pair| pair.podium);
            let Some(podium) = podium.filter(|podium| *podium < within.len()) else { continue };
            let wanted = |block: &&Block| within[podium].contains(&block.examination);
            for block in judgement.blocks.iter().filter(wanted) {
                of_holder.iter_mut().for_each(|pair| pair.count_gains(block, class_of(block) as u32));
            }
            nearest.extend(nearest_rivals(of_holder, edition, &weights));
        }
        for (pair, values) in nearest {
            let mut decisive = Vec::new();
            if let Some(values) = values.filter(|&values| values <= FEW_VALUES) {
                let least = pair.last_gain(edition, &weights, values);
                for block in
                    judgement.blocks.iter().filter(|block| within[pair.podium].contains(&block.examination))
                {
                    let Block { examination, instance, .. } = *block;
                    let found = pair.positions_above(edition, &weights[class_of(block)], block, &least);
                    decisive.extend(found.into_iter().map(|position| Position {
                        examination,
                        instance,
                        position,
                    }));
                }
            }
            self.margins.push(DecidedPlace {
                podium: pair.podium,
                holder: pair.holder.entry,
                rival: pair.rival.entry,
                values,
                decisive,
            });
        }
        for (number, podium) in judgement.podiums.iter().enumerate().take(within.len()) {
            let ranked: Vec<&PodiumPlace> =
                podium.places.iter().filter(|place| place.rank.is_some()).collect();
            for pair in ranked.windows(2) {
                self.neighbours.push(self.compare_neighbours(
                    number,
                    pair[0].entry,
                    pair[1].entry,
                    &within[number],
                ));
            }
        }
    }

    fn compare_neighbours(
        &self,
        podium: usize,
        ahead: usize,
        behind: usize,
        examinations: &[usize],
    ) -> Neighbours {
        let mut counts: BTreeMap<(usize, usize), [u64; 2]> = BTreeMap::new();
        let blocks = self.judgement.blocks.iter();
        for block in blocks.filter(|block| examinations.contains(&block.examination)) {
            let cells = [block.cell(ahead), block.cell(behind)];
            let right = |side: usize, position: usize| {
                cells[side].is_some_and(|cell| cell.verdicts[position] == ValueVerdict::Right)
            };
            let at = counts.entry((block.examination, self.class_of[block.instance])).or_default();
            for position in 0..block.trusted.len() {
                match (right(0, position), right(1, position)) {
                    (true, false) => at[0] += 1,
                    (false, true) => at[1] += 1,
                    _ => {}
                }
            }
        }
        let only = [0, 1].map(|side| {
            let sum_over = |examination: usize| {
                let counted = counts.iter().filter(move |((at, _), _)| *at == examination);
                self.worth(examination).right
                    * self.weights.sum(counted.map(|((_, class), count)| (*class, count[side])))
            };
            let count = counts.values().map(|count| count[side]).sum();
            (count, examinations.iter().map(|&examination| sum_over(examination)).sum())
        });
        let wrong = [ahead, behind].map(|entry| {
            let tally = self.tally(entry, examinations, &self.classes_of_status(None));
            (tally.wrong, tally.penalties)
        });
        Neighbours { podium, ahead, behind, only, wrong }
    }

    fn worth(&self, examination: usize) -> ValuePoints {
        let edition = &self.judgement.edition;
        ValuePoints::new(&edition.judging, edition.examinations[examination].values)
    }

    /// The model statuses of the judged instances, such as `known` and `surprise`, in this order.
    pub fn statuses(&self) -> Vec<&'j str> {
        let judged = |class: &usize| {
            (0..self.judgement.examinations.len())
                .any(|examination| self.positions[examination * self.classes.len() + class].0 > 0)
        };
        let judged = (0..self.classes.len()).filter(judged);
        let mut statuses: Vec<&str> = judged.map(|class| self.classes[class].status).collect();
        statuses.sort_unstable();
        statuses.dedup();
        statuses
    }

    /// What an entry has in some examinations on the models of a status; of all models without a status.
    pub fn of_status(&self, entry: usize, examinations: &[usize], status: Option<&str>) -> Tally {
        self.tally(entry, examinations, &self.classes_of_status(status))
    }

    /// The numbers of the classes of a model status; of all without a status.
    fn classes_of_status(&self, status: Option<&str>) -> Vec<usize> {
        let wanted = |class: &usize| status.is_none_or(|status| status == self.classes[*class].status);
        (0..self.classes.len()).filter(wanted).collect()
    }

    fn tally(&self, entry: usize, examinations: &[usize], classes: &[usize]) -> Tally {
        let mut tally = Tally::default();
        for &examination in examinations {
            let worth = self.worth(examination);
            // The counts by class of which the weights are summed: right, wrong, known and not right, unique.
            let mut weighted: [Vec<(usize, u64)>; 4] = Default::default();
            for &class in classes {
                let counts = self.counts[self.index(entry, examination, class)];
                tally.right += counts.right;
                tally.wrong += counts.wrong;
                tally.unjudged += counts.unjudged;
                let (all, known) = self.positions[examination * self.classes.len() + class];
                tally.not_computed += all.saturating_sub(counts.right + counts.wrong + counts.unjudged);
                let not_right = known.saturating_sub(counts.right);
                tally.missed += not_right.saturating_sub(counts.wrong_known);
                tally.unique += counts.unique;
                for (list, count) in
                    weighted.iter_mut().zip([counts.right, counts.wrong, not_right, counts.unique])
                {
                    list.push((class, count));
                }
            }
            let [right, wrong, not_right, unique] = weighted.map(|list| self.weights.sum(list.into_iter()));
            let penalties = -&worth.wrong * &wrong;
            tally.points += &worth.right * right - &penalties;
            tally.unique_points += &worth.right * unique;
            tally.missing += &worth.right * not_right + &penalties;
            tally.penalties += penalties;
        }
        tally
    }

    /// The points with every value right, of the models of a status; of all models without a status.
    pub fn maximum(&self, examinations: &[usize], status: Option<&str>) -> BigRational {
        let mut maximum = BigRational::zero();
        let classes = self.classes_of_status(status);
        for &examination in examinations {
            let positions =
                |class: &usize| (*class, self.positions[examination * self.classes.len() + class].0);
            maximum += self.worth(examination).right * self.weights.sum(classes.iter().map(positions));
        }
        maximum
    }

    /// The families on which an entry misses points, most first. Examinations in which it has no score are left out.
    pub fn losses(&self, entry: usize) -> Vec<Loss<'j>> {
        let scores = self.judgement.scores.iter().filter(|score| score.entry == entry);
        let examinations: Vec<usize> = scores.map(|score| score.examination).collect();
        let mut families: BTreeMap<&str, (usize, Vec<usize>)> = BTreeMap::new();
        for (number, class) in self.classes.iter().enumerate() {
            let (instance, classes) = families.entry(class.family).or_default();
            *instance = class.instance;
            classes.push(number);
        }
        let loss = |(family, (instance, classes)): (&'j str, (usize, Vec<usize>))| {
            let tally = self.tally(entry, &examinations, &classes);
            Loss { family, instance, tally }
        };
        let mut losses: Vec<Loss> = families.into_iter().map(loss).collect();
        losses.retain(|loss| loss.tally.missing.is_positive());
        losses.sort_by_key(|loss| Reverse(loss.tally.missing.clone()));
        losses
    }

    /// The right values of an entry that no other competing tool has, in the order of the judgement.
    pub fn unique(&self, entry: usize) -> &[Position] {
        &self.unique[entry]
    }

    /// The wrong values of an entry, in the order of the judgement.
    pub fn wrong(&self, entry: usize) -> &[Position] {
        &self.wrong[entry]
    }

    /// The penalty of a wrong value: 0 or more.
    pub fn penalty(&self, position: Position) -> BigRational {
        -self.worth(position.examination).wrong * &self.judgement.instances[position.instance].weight
    }

    /// How each rank up to 3 of a podium could be lost, in the order of the places.
    pub fn margins(&self, podium: usize) -> impl Iterator<Item = &DecidedPlace> {
        self.margins.iter().filter(move |margin| margin.podium == podium)
    }

    /// The pairs of neighbours with a rank on a podium, best first.
    pub fn neighbours(&self, podium: usize) -> impl Iterator<Item = &Neighbours> {
        self.neighbours.iter().filter(move |pair| pair.podium == podium)
    }

    /// Numbers of the examinations of each podium.
    pub fn examinations(&self) -> Vec<Vec<usize>> {
        examinations_of_podiums(&self.judgement.edition)
    }
}

//! The nets of the fixtures: well-known families, constructed again, with names that no contest model has.

use mcc_harness::model::{Arc, Net, NetKind, Place, Transition};
use num_bigint::BigUint;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    DiningTable,
    TokenLoop,
    LibraryRoom,
    CrateDepot,
    GreedyClerks,
    SwitchBoard,
    CoinVault,
}

impl Family {
    pub fn name(self) -> &'static str {
        match self {
            Self::DiningTable => "DiningTable",
            Self::TokenLoop => "TokenLoop",
            Self::LibraryRoom => "LibraryRoom",
            Self::CrateDepot => "CrateDepot",
            Self::GreedyClerks => "GreedyClerks",
            Self::SwitchBoard => "SwitchBoard",
            Self::CoinVault => "CoinVault",
        }
    }

    pub fn is_surprise(self) -> bool {
        self == Self::GreedyClerks
    }
}

/// The values of StateSpace, in the contest's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSpace {
    pub states: BigUint,
    pub firings: BigUint,
    pub max_in_place: BigUint,
    pub max_per_marking: BigUint,
}

pub struct Instance {
    pub family: Family,
    pub scale: String,
    pub net: Net,
    /// The number of states by a formula of the parameters.
    pub states: BigUint,
    /// For a net that is too large to explore: how its answers are computed instead.
    pub shortcut: Option<Shortcut>,
}

/// How the answers of a huge net are computed.
pub struct Shortcut {
    pub state_space: StateSpace,
    /// The part of the net whose nodes formulas may name.
    pub named: Net,
    /// A small net in which these formulas have the same truth values.
    pub equivalent: Net,
}

impl Instance {
    pub fn name(&self) -> String {
        format!("{}-PT-{}", self.family.name(), self.scale)
    }
}

/// All fixtures, in the order of `models.csv`.
pub fn instances() -> Vec<Instance> {
    let mut all = Vec::new();
    all.extend([3, 5, 8].map(dining_table));
    all.extend([3, 5, 8].map(token_loop));
    all.extend([(5, 2), (20, 5)].map(|(readers, writers)| readers_and_writers(readers, writers)));
    all.extend(
        [(3, 2, 12), (5, 3, 40)].map(|(crate_size, order, slots)| crate_depot(crate_size, order, slots)),
    );
    all.extend([3, 6].map(greedy_clerks));
    all.extend([8, 40, 1000].map(|switches| instance_of_switches(switches, switches > 8)));
    all.extend([(4, 1_000_000_000), (9, 2_000_000_000_000_000_000)].map(|(n, unit)| coin_vault(n, unit)));
    all
}

/// Philosophers who take the left fork first. In the deadlock each one has one fork. A state is a circle of
/// thinking, waiting and eating philosophers in which the one after an eating philosopher thinks. Their number is the
/// Pell-Lucas number: q(n) = 2 q(n-1) + q(n-2), q(0) = q(1) = 2.
fn dining_table(n: usize) -> Instance {
    let mut net = Builder::new();
    let seats: Vec<_> = (1..=n)
        .map(|i| ["Thinking", "Waiting", "Eating", "Fork"].map(|role| net.place(&format!("{role}_{i}"), 0)))
        .collect();
    for (i, &[thinking, waiting, eating, fork]) in seats.iter().enumerate() {
        let right = seats[(i + 1) % n][3];
        net.mark(thinking, 1);
        net.mark(fork, 1);
        net.transition(&format!("TakeLeft_{}", i + 1), &[(thinking, 1), (fork, 1)], &[(waiting, 1)]);
        net.transition(&format!("TakeRight_{}", i + 1), &[(waiting, 1), (right, 1)], &[(eating, 1)]);
        net.transition(
            &format!("PutDown_{}", i + 1),
            &[(eating, 1)],
            &[(thinking, 1), (fork, 1), (right, 1)],
        );
    }
    let (mut q, mut next) = (2_u32, 2_u32);
    for _ in 0..n {
        (q, next) = (next, 2 * next + q);
    }
    net.instance(Family::DiningTable, format!("{n:02}"), q)
}

/// A token circulates among stations. A station that is to send waits for the token and keeps it while it sends.
/// States: the token travels (n places, 2^n sets of waiting stations) or is used (n places, 2^(n-1) sets of the others).
fn token_loop(n: usize) -> Instance {
    let mut net = Builder::new();
    let stations: Vec<_> = (1..=n)
        .map(|i| ["Quiet", "Ready", "Sending", "Token"].map(|role| net.place(&format!("{role}_{i}"), 0)))
        .collect();
    net.mark(stations[0][3], 1);
    for (i, &[quiet, ready, sending, token]) in stations.iter().enumerate() {
        let next = stations[(i + 1) % n][3];
        let i = i + 1;
        net.mark(quiet, 1);
        net.transition(&format!("Ask_{i}"), &[(quiet, 1)], &[(ready, 1)]);
        net.transition(&format!("Start_{i}"), &[(ready, 1), (token, 1)], &[(sending, 1)]);
        net.transition(&format!("Finish_{i}"), &[(sending, 1)], &[(quiet, 1), (next, 1)]);
        net.transition(&format!("Pass_{i}"), &[(quiet, 1), (token, 1)], &[(quiet, 1), (next, 1)]);
    }
    net.instance(Family::TokenLoop, format!("{n:02}"), 3 * n * (1 << (n - 1)))
}

/// Readers and writers: a writer excludes all readers, because it takes as many permits as there are readers.
/// States: no writer writes (readers out, waiting, reading; writers out, waiting), or one does.
fn readers_and_writers(readers: u64, writers: u64) -> Instance {
    let mut net = Builder::new();
    let [out, waiting, reading] =
        [("ReadersOut", readers), ("ReadersWaiting", 0), ("Reading", 0)].map(|(id, n)| net.place(id, n));
    let [writers_out, writers_waiting, writing] =
        [("WritersOut", writers), ("WritersWaiting", 0), ("Writing", 0)].map(|(id, n)| net.place(id, n));
    let permits = net.place("Permits", readers);
    net.transition("ReaderComes", &[(out, 1)], &[(waiting, 1)]);
    net.transition("ReaderEnters", &[(waiting, 1), (permits, 1)], &[(reading, 1)]);
    net.transition("ReaderLeaves", &[(reading, 1)], &[(out, 1), (permits, 1)]);
    net.transition("WriterComes", &[(writers_out, 1)], &[(writers_waiting, 1)]);
    net.transition("WriterEnters", &[(writers_waiting, 1), (permits, readers)], &[(writing, 1)]);
    net.transition("WriterLeaves", &[(writing, 1)], &[(writers_out, 1), (permits, readers)]);
    let states = (readers + 1) * (readers + 2) / 2 * (writers + 1) + (readers + 1) * writers;
    net.instance(Family::LibraryRoom, format!("R{readers:02}W{writers:02}"), states)
}

/// Three producers fill a depot crate by crate, three consumers empty it order by order. The sizes of crate and order
/// have no common divisor, and the depot has space for both, so every level can be reached.
fn crate_depot(crate_size: u64, order: u64, slots: u64) -> Instance {
    let mut net = Builder::new();
    let [packing, packed] = [("Packing", 3), ("Packed", 0)].map(|(id, n)| net.place(id, n));
    let [waiting, served] = [("Waiting", 3), ("Served", 0)].map(|(id, n)| net.place(id, n));
    let [items, free] = [("Items", 0), ("Free", slots)].map(|(id, n)| net.place(id, n));
    net.transition("Pack", &[(packing, 1)], &[(packed, 1)]);
    net.transition("Deliver", &[(packed, 1), (free, crate_size)], &[(packing, 1), (items, crate_size)]);
    net.transition("Fetch", &[(waiting, 1), (items, order)], &[(served, 1), (free, order)]);
    net.transition("Consume", &[(served, 1)], &[(waiting, 1)]);
    net.instance(Family::CrateDepot, format!("K{crate_size}M{order}B{slots}"), 4 * 4 * (slots + 1))
}

/// n clerks and n stamps; each clerk takes two, one after the other. In the deadlock each one has one stamp.
/// States: the clerks with no, one and two stamps, with at most n stamps in all.
fn greedy_clerks(n: usize) -> Instance {
    let mut net = Builder::new();
    let stamps = net.place("Stamps", n as u64);
    for i in 1..=n {
        let idle = net.place(&format!("Idle_{i}"), 1);
        let [one, two] = ["One", "Two"].map(|role| net.place(&format!("{role}_{i}"), 0));
        net.transition(&format!("TakeFirst_{i}"), &[(idle, 1), (stamps, 1)], &[(one, 1)]);
        net.transition(&format!("TakeSecond_{i}"), &[(one, 1), (stamps, 1)], &[(two, 1)]);
        net.transition(&format!("Return_{i}"), &[(two, 1)], &[(idle, 1), (stamps, 2)]);
    }
    let factorial = |n: usize| (1..=n).product::<usize>();
    let pairs = (0..=n).flat_map(|twos| (0..=n - twos).map(move |ones| (ones, twos)));
    let states = pairs
        .filter(|(ones, twos)| ones + 2 * twos <= n)
        .map(|(ones, twos)| factorial(n) / factorial(ones) / factorial(twos) / factorial(n - ones - twos))
        .sum::<usize>();
    net.instance(Family::GreedyClerks, format!("{n:02}"), states)
}

/// n independent switches, each on or off.
pub fn switch_board(n: usize) -> Net {
    let mut net = Builder::new();
    for i in 1..=n {
        let off = net.place(&format!("Off_{i}"), 1);
        let on = net.place(&format!("On_{i}"), 0);
        net.transition(&format!("TurnOn_{i}"), &[(off, 1)], &[(on, 1)]);
        net.transition(&format!("TurnOff_{i}"), &[(on, 1)], &[(off, 1)]);
    }
    net.net(format!("SwitchBoard-PT-{n:04}"))
}

/// 2^n states, n firings in each. The truth of a formula about some switches does not depend on the number of others, if
/// there is at least one: their firings are always possible and change no atom (the boards are bisimilar).
fn instance_of_switches(n: usize, huge: bool) -> Instance {
    const NAMED: usize = 5;
    let states = BigUint::from(2_u32).pow(n as u32);
    let shortcut = huge.then(|| Shortcut {
        state_space: StateSpace {
            states: states.clone(),
            firings: &states * n,
            max_in_place: 1_u32.into(),
            max_per_marking: n.into(),
        },
        named: switch_board(NAMED),
        equivalent: switch_board(NAMED + 1),
    });
    let net = switch_board(n);
    Instance { family: Family::SwitchBoard, scale: format!("{n:04}"), net, states, shortcut }
}

/// n chunks of `unit` coins move from vault to counter to purse and back. A reserve has the same number of coins and is
/// only counted. The number of tokens exceeds 32 bits, and in the larger instance their sum exceeds 64 bits.
fn coin_vault(n: u64, unit: u64) -> Instance {
    let mut net = Builder::new();
    let all = n * unit;
    let [vault, counter, purse, reserve] =
        [("Vault", all), ("Counter", 0), ("Purse", 0), ("Reserve", all)].map(|(id, n)| net.place(id, n));
    net.transition("Withdraw", &[(vault, unit)], &[(counter, unit)]);
    net.transition("Pay", &[(counter, unit)], &[(purse, unit)]);
    net.transition("Deposit", &[(purse, unit)], &[(vault, unit)]);
    net.transition("Audit", &[(reserve, all), (counter, unit)], &[(reserve, all), (vault, unit)]);
    net.instance(Family::CoinVault, format!("N{n}U{unit}"), (n + 2) * (n + 1) / 2)
}

struct Builder {
    places: Vec<Place>,
    transitions: Vec<Transition>,
}

impl Builder {
    fn new() -> Self {
        Self { places: Vec::new(), transitions: Vec::new() }
    }

    fn place(&mut self, id: &str, initial: u64) -> usize {
        self.places.push(Place { id: id.to_owned(), initial });
        self.places.len() - 1
    }

    fn mark(&mut self, place: usize, initial: u64) {
        self.places[place].initial = initial;
    }

    fn transition(&mut self, id: &str, inputs: &[(usize, u64)], outputs: &[(usize, u64)]) {
        let arcs =
            |side: &[(usize, u64)]| side.iter().map(|&(place, weight)| Arc { place, weight }).collect();
        self.transitions.push(Transition { id: id.to_owned(), inputs: arcs(inputs), outputs: arcs(outputs) });
    }

    fn net(self, id: String) -> Net {
        Net { id, kind: NetKind::PlaceTransition, places: self.places, transitions: self.transitions }
    }

    fn instance(self, family: Family, scale: String, states: impl Into<BigUint>) -> Instance {
        let net = self.net(format!("{}-PT-{scale}", family.name()));
        Instance { family, scale, net, states: states.into(), shortcut: None }
    }
}

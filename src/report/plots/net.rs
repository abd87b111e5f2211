//! The picture of a small net. The crate `layout-rs` chooses the level of each place and transition, and their order.

use super::drawing::{Drawing, fitting};
use super::{Picture, csv};
use layout::adt::dag::NodeHandle;
use layout::core::base::Orientation;
use layout::core::geometry::Point;
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use mcc_model::{Arc, Net, NetKind, SortKind, SymmetricNet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

/// A net with this number of places and transitions is too large for a picture.
const TOO_MANY_NODES: usize = 60;
/// More arcs would be a tangle, and their layout slow.
const MAX_ARCS: usize = 150;
/// Characters of a name in the picture.
const MAX_NAME: usize = 18;
/// Colours of a sort that the picture names.
const MAX_COLOURS: u64 = 12;
/// Pixels from one level to the next, between two nodes of a level, and around the net.
const LEVEL: i32 = 78;
const GAP: f64 = 18.;
const MARGIN: f64 = 24.;
/// The height of the title, and of a line below the net.
const TOP: i32 = 66;
const LINE: i32 = 18;

/// Whether a net has a picture: it is not empty and not too large.
pub fn net_is_drawn(net: &Net) -> bool {
    let nodes = net.places.len() + net.transitions.len();
    let arcs: usize =
        net.transitions.iter().map(|transition| transition.inputs.len() + transition.outputs.len()).sum();
    nodes > 0 && nodes < TOO_MANY_NODES && arcs <= MAX_ARCS
}

/// The picture of a net; None if it is empty or too large. `coloured`: its sorts and markings, if it is coloured and they are
/// known.
pub fn net(name: String, instance: &str, net: &Net, coloured: Option<&SymmetricNet>) -> Option<Picture> {
    if !net_is_drawn(net) {
        return None;
    }
    let mut net = net.clone();
    let (mut sorts, mut legend) = (Vec::new(), Vec::new());
    if let Some(coloured) = coloured {
        for (place, known) in net.places.iter_mut().zip(&coloured.places) {
            place.initial = known.initial.values().fold(0, |sum, count| sum.saturating_add(*count));
            sorts.push(sort_name(coloured, known.sort));
        }
        let used: BTreeSet<usize> = coloured.places.iter().map(|place| place.sort).collect();
        legend = used.into_iter().map(|sort| sort_text(coloured, sort)).collect();
    }
    let net = &net;
    let drawing = draw(net, &sorts, &legend);
    let marked = net.places.iter().filter(|place| place.initial > 0);
    let marked: Vec<String> = marked.map(|place| format!("{} {}", place.initial, place.id)).collect();
    let tokens = if marked.is_empty() {
        "No place has a token initially.".to_owned()
    } else {
        format!("Tokens initially: {}.", marked.join(", "))
    };
    let description = match (net.kind, coloured) {
        (NetKind::PlaceTransition, _) => {
            format!(
                "Places are rounded, transitions are rectangles, arcs are arrows with their weights above 1. {tokens}"
            )
        }
        (NetKind::Coloured, Some(_)) => format!(
            "Places are rounded, with their sort and the number of their tokens; transitions are rectangles, arcs are \
             arrows. Expressions of arcs and conditions are not shown. Sorts: {}. {tokens}",
            legend.join("; ")
        ),
        (NetKind::Coloured, None) => {
            "Places are rounded, transitions are rectangles, arcs are arrows. The net is \
             coloured: tokens, colours and conditions are not shown."
                .to_owned()
        }
    };
    let rows = net.transitions.iter().flat_map(|transition| {
        let place = |number: usize| net.places[number].id.clone();
        // The reader of the graph does not read the expressions of a coloured net.
        let weight =
            |weight: u64| if net.kind == NetKind::Coloured { String::new() } else { weight.to_string() };
        let inputs = transition
            .inputs
            .iter()
            .map(move |arc| [place(arc.place), transition.id.clone(), weight(arc.weight)]);
        let outputs = transition
            .outputs
            .iter()
            .map(move |arc| [transition.id.clone(), place(arc.place), weight(arc.weight)]);
        inputs.chain(outputs)
    });
    let table = csv(["from", "to", "weight"], rows);
    Some(drawing.finish(name, format!("Net of {instance}"), description, table))
}

/// The name of a sort: its id, or the names of its components.
fn sort_name(net: &SymmetricNet, sort: usize) -> String {
    let sort = &net.sorts[sort];
    match &sort.kind {
        _ if !sort.id.is_empty() => sort.id.clone(),
        SortKind::Dot => "dot".to_owned(),
        SortKind::Product(sorts) => {
            let names: Vec<String> = sorts.iter().map(|sort| sort_name(net, *sort)).collect();
            format!("({})", names.join(" × "))
        }
        SortKind::Enumeration(_) | SortKind::Range { .. } | SortKind::Partition(_) => {
            format!("{} colours", sort.colours)
        }
    }
}

/// A sort with the names of its first colours: `Phil: p1, p2, p3`.
fn sort_text(net: &SymmetricNet, sort: usize) -> String {
    let colours = net.sorts[sort].colours;
    let names = (0..colours.min(MAX_COLOURS)).map(|colour| net.colour_name(sort, colour).to_string());
    let names: Vec<String> = names.collect();
    let more = if colours > MAX_COLOURS { format!(", … ({colours} colours)") } else { String::new() };
    format!("{}: {}{more}", sort_name(net, sort), names.join(", "))
}

/// By node, places first and then transitions: the other ends of its arcs, with the weights to and from them.
type Neighbours = Vec<BTreeMap<usize, (u64, u64)>>;

fn neighbours(net: &Net) -> Neighbours {
    let places = net.places.len();
    let mut all: Neighbours = vec![BTreeMap::new(); places + net.transitions.len()];
    // Of a coloured net the number of arcs is not a weight: their expressions are not read here.
    let weight = |arc: &Arc| if net.kind == NetKind::Coloured { arc.weight.min(1) } else { arc.weight };
    for (number, transition) in (places..).zip(&net.transitions) {
        for arc in &transition.inputs {
            all[arc.place].entry(number).or_default().0 = weight(arc);
            all[number].entry(arc.place).or_default().1 = weight(arc);
        }
        for arc in &transition.outputs {
            all[number].entry(arc.place).or_default().0 = weight(arc);
            all[arc.place].entry(number).or_default().1 = weight(arc);
        }
    }
    all
}

/// All nodes: those with tokens first, then along the arcs, nearest first.
fn order(net: &Net, neighbours: &Neighbours) -> Vec<usize> {
    let marked = (0..net.places.len()).filter(|&place| net.places[place].initial > 0);
    let mut order: Vec<usize> = Vec::new();
    let mut seen = vec![false; neighbours.len()];
    let mut first: VecDeque<usize> = marked.chain(0..neighbours.len()).collect();
    let mut next: VecDeque<usize> = VecDeque::new();
    while let Some(node) = next.pop_front().or_else(|| first.pop_front()) {
        if !std::mem::replace(&mut seen[node], true) {
            order.push(node);
            next.extend(neighbours[node].iter().filter(|(_, (to, _))| *to > 0).map(|(other, _)| *other));
        }
    }
    order
}

/// The levels of the nodes, which are numbered by `order`, and the bends of arcs over several levels as further nodes.
fn layout(neighbours: &Neighbours, order: &[usize]) -> VisualGraph {
    let mut graph = VisualGraph::new(Orientation::TopToBottom);
    // The crate follows all paths from the end of each arc that it is given, and again in this check, to find cycles. There
    // are none, and no path to follow, because arcs lead from earlier to later nodes in the order of their beginnings.
    graph.dag.set_validate(false);
    let mut at = vec![0; order.len()];
    for (number, &node) in order.iter().enumerate() {
        at[node] = number;
        graph.add_node(Element::create(
            ShapeKind::None,
            StyleAttr::simple(),
            Orientation::TopToBottom,
            Point::zero(),
        ));
    }
    for (number, &node) in order.iter().enumerate() {
        for other in neighbours[node].keys().map(|&other| at[other]).filter(|&other| other > number) {
            graph.add_edge(Arrow::simple(""), NodeHandle::new(number), NodeHandle::new(other));
        }
    }
    graph.to_valid_dag();
    graph.split_long_edges(false);
    graph
}

/// Draws the net. `sorts` has the sort of each place and is empty for a P/T net; `legend` has the lines below the net.
fn draw(net: &Net, sorts: &[String], legend: &[String]) -> Drawing {
    let neighbours = neighbours(net);
    let order = order(net, &neighbours);
    let graph = layout(&neighbours, &order);
    let mut texts = Vec::new();
    let mut widths = Vec::new();
    for &node in &order {
        let (name, tokens) = match node.checked_sub(net.places.len()) {
            None => (&net.places[node].id, net.places[node].initial),
            Some(transition) => (&net.transitions[transition].id, 0),
        };
        let sort = sorts.get(node).filter(|_| node < net.places.len()).map(|sort| fitting(sort, MAX_NAME));
        let marking = match sort {
            None => (tokens > 0).then(|| tokens.to_string()),
            Some(sort) if tokens > 0 => Some(format!("{tokens} {sort}")),
            sort => sort,
        };
        let lines: Vec<String> = std::iter::once(fitting(name, MAX_NAME)).chain(marking).collect();
        let letters = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
        widths.push((letters as f64 * 7.5 + 24.).max(46.));
        texts.push(lines);
    }
    // An arc over several levels has a bend, without a width, on each level between.
    widths.resize(graph.num_nodes(), 0.);
    let rows: Vec<Vec<usize>> = (0..graph.dag.num_levels())
        .map(|level| graph.dag.row(level).iter().map(NodeHandle::get_index).collect())
        .collect();
    let x = across(&graph, &rows, &widths);
    let mut y = vec![0; x.len()];
    for (level, &node) in (0..).zip(&rows).flat_map(|(level, row)| row.iter().map(move |node| (level, node)))
    {
        y[node] = TOP + LEVEL * level;
    }
    let right = x.iter().zip(&widths).map(|(x, width)| x + width / 2.).fold(0., f64::max) + MARGIN;
    let (width, bottom) = ((right.ceil() as i32).max(420), TOP + LEVEL * (rows.len() as i32 - 1) + 40);
    let mut drawing = Drawing::new(width, bottom + (LINE + 2) * legend.len() as i32);
    for (number, line) in (0..).zip(legend) {
        drawing.text((16, bottom + 8 + LINE * number), "s", &fitting(line, (width / 7 - 4) as usize));
    }
    let x: Vec<i32> = x.into_iter().map(|x| x.round() as i32).collect();
    let half_height = |node: usize| texts.get(node).map_or(0, |lines| 6 + 8 * lines.len() as i32);
    let mut weights = Vec::new();
    for (number, &node) in order.iter().enumerate() {
        for &second in graph.succ(NodeHandle::new(number)) {
            let mut bends = vec![number, second.get_index()];
            while let Some(next) = bends.last().filter(|&&last| last >= order.len()) {
                let Some(next) = graph.dag.single_succ(NodeHandle::new(*next)) else { break };
                bends.push(next.get_index());
            }
            let last = bends[bends.len() - 1];
            let (to, from) = neighbours[node][&order[last]];
            // Heads are 9 pixels long; the line ends inside of them.
            let start = (x[number], y[number] + half_height(number));
            let end = (x[last], y[last] - half_height(last));
            let mut line = format!("M{} {}", start.0, start.1);
            let mut before = start;
            for (step, &bend) in bends.iter().enumerate().skip(1) {
                let point = if step + 1 == bends.len() { end } else { (x[bend], y[bend]) };
                let middle = (before.1 + point.1) / 2;
                let _ = write!(line, "C{} {middle} {} {middle} {} {}", before.0, point.0, point.0, point.1);
                before = point;
            }
            drawing.path("a", &line);
            let mut heads = String::new();
            if to > 0 {
                let _ = write!(heads, "M{} {}l-4-9h8z", end.0, end.1);
            }
            if from > 0 {
                let _ = write!(heads, "M{} {}l-4 9h8z", start.0, start.1);
            }
            drawing.path("f t", &heads);
            let weight = match (to, from) {
                (0 | 1, 0 | 1) => continue,
                (weight, 0) | (0, weight) => weight.to_string(),
                (to, from) if to == from => to.to_string(),
                (to, from) => format!("{to} ↓ {from} ↑"),
            };
            let second = bends[1];
            let to = if second == last { end } else { (x[second], y[second]) };
            weights.push((((start.0 + to.0) / 2 + 4, (start.1 + to.1) / 2 + 4), weight));
        }
    }
    for (number, lines) in texts.iter().enumerate() {
        let (w, h) = (widths[number].round() as i32, 2 * half_height(number));
        let (left, top) = (x[number] - w / 2, y[number] - h / 2);
        if order[number] < net.places.len() {
            let r = h / 2;
            let flat = w - h;
            let data = format!("M{} {top}h{flat}a{r} {r} 0 0 1 0 {h}h-{flat}a{r} {r} 0 0 1 0-{h}z", left + r);
            drawing.path("t", &data);
        } else {
            drawing.path("s0 q", &format!("M{left} {top}h{w}v{h}h-{w}z"));
        }
        for (line, text) in (0..).zip(lines) {
            drawing.text((x[number], y[number] + 5 - 8 * (lines.len() as i32 - 1) + 16 * line), "m", text);
        }
    }
    for (point, weight) in weights {
        drawing.text(point, "", &weight);
    }
    drawing
}

/// The centre of each node in its row: as near to the middle of its neighbours as the order and the widths of the row allow.
fn across(graph: &VisualGraph, rows: &[Vec<usize>], widths: &[f64]) -> Vec<f64> {
    let mut x = vec![0.; widths.len()];
    for pass in 0..12 {
        let up = pass % 2 == 1;
        let levels: Box<dyn Iterator<Item = &Vec<usize>>> =
            if up { Box::new(rows.iter().rev()) } else { Box::new(rows.iter()) };
        for row in levels {
            let wanted = |&node: &usize| {
                let handle = NodeHandle::new(node);
                let others = if up { graph.succ(handle) } else { graph.preds(handle) };
                let sum: f64 = others.iter().map(|other| x[other.get_index()]).sum();
                if others.is_empty() { x[node] } else { sum / others.len() as f64 }
            };
            let wanted: Vec<f64> = row.iter().map(wanted).collect();
            let mut free = f64::NEG_INFINITY;
            let mut moved = 0.;
            for (&node, &wanted) in row.iter().zip(&wanted) {
                let half = widths[node] / 2.;
                x[node] = wanted.max(free + half);
                moved += x[node] - wanted;
                free = x[node] + half + GAP;
            }
            row.iter().for_each(|&node| x[node] -= moved / row.len() as f64);
        }
    }
    let left = x.iter().zip(widths).map(|(x, width)| x - width / 2.).fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|x| *x += MARGIN - left);
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::{ColouredPlace, Multiset, Place, Sort, Transition};
    use proptest::prelude::*;

    fn place(id: &str, initial: u64) -> Place {
        Place { id: id.into(), initial }
    }

    /// Arcs as (place, weight).
    fn transition(id: &str, inputs: &[(usize, u64)], outputs: &[(usize, u64)]) -> Transition {
        let arcs = |all: &[(usize, u64)]| all.iter().map(|&(place, weight)| Arc { place, weight }).collect();
        Transition { id: id.into(), inputs: arcs(inputs), outputs: arcs(outputs) }
    }

    fn net_with(places: Vec<Place>, transitions: Vec<Transition>) -> Net {
        Net { id: "net".into(), kind: NetKind::PlaceTransition, places, transitions }
    }

    fn drawn(drawn: &Net) -> Option<Picture> {
        net("n".into(), "n", drawn, None)
    }

    fn texts(picture: &Picture) -> Vec<String> {
        let document = roxmltree::Document::parse(&picture.svg).expect("XML");
        let texts = document.descendants().filter(|node| node.has_tag_name("text"));
        texts.filter_map(|node| node.text().map(str::to_owned)).collect()
    }

    #[test]
    fn a_coloured_net_is_drawn_with_its_sorts_and_colours() {
        let graph = |kind| Net {
            kind,
            ..net_with(
                vec![place("think", 0), place("fork", 0)],
                vec![transition("take", &[(0, 7), (1, 1)], &[])],
            )
        };
        let enumeration =
            |names: &[&str]| SortKind::Enumeration(names.iter().map(|name| (*name).to_owned()).collect());
        let sort =
            |id: &str, kind, colours| Sort { id: id.to_owned(), kind, colours, numbers: Default::default() };
        let coloured = SymmetricNet {
            id: "net".into(),
            sorts: vec![
                sort("Phil", enumeration(&["<p1>", "p2"]), 2),
                sort("", SortKind::Range { start: 5, end: 44 }, 40),
                sort("", SortKind::Product(vec![0, 1]), 80),
                sort("Unused", SortKind::Dot, 1),
            ],
            variables: vec![],
            places: vec![
                ColouredPlace { id: "think".into(), sort: 0, initial: [(0, 1), (1, 2)].into() },
                ColouredPlace { id: "fork".into(), sort: 2, initial: Multiset::new() },
            ],
            transitions: vec![],
        };
        let picture = net("n".into(), "n", &graph(NetKind::Coloured), Some(&coloured)).expect("a picture");
        let shown = texts(&picture);
        for text in ["think", "3 Phil", "fork", "(Phil × 40 colour…", "take", "Phil: <p1>, p2"] {
            assert!(shown.iter().any(|known| known == text), "{text}: {shown:?}");
        }
        let not_shown = |text: &String| text.contains("Unused") || text == "7";
        assert!(!shown.iter().any(not_shown), "{shown:?}");
        assert!(
            picture.description.contains("(Phil × 40 colours): (<p1>,5), (<p1>,6), "),
            "{}",
            picture.description
        );
        assert!(
            picture.description.contains(", … (80 colours). Tokens initially: 3 think."),
            "{}",
            picture.description
        );
        assert_eq!(picture.csv, "from,to,weight\nthink,take,\nfork,take,\n");
        // Without sorts nothing is said of tokens.
        let graph_only = net("n".into(), "n", &graph(NetKind::Coloured), None).expect("a picture");
        assert!(graph_only.description.ends_with("tokens, colours and conditions are not shown."));
        assert_eq!(texts(&graph_only), ["Net of n", "think", "take", "fork"]);
    }

    #[test]
    fn a_net_is_drawn_with_its_tokens_and_weights_and_the_same_bytes() {
        let small = net_with(
            vec![place("<p>&\u{202e}", 3), place("q", 0)],
            vec![transition("t\"", &[(0, 2)], &[(1, 1)]), transition("back", &[(1, 1)], &[(0, 7), (1, 1)])],
        );
        let picture = net("n".into(), "Net<1>", &small, None).expect("a picture");
        let texts = texts(&picture);
        for text in ["Net of Net<1>", "<p>&⟨U+202E⟩", "3", "q", "t\"", "back", "2", "7"] {
            assert!(texts.iter().any(|known| known == text), "{text}: {texts:?}");
        }
        assert!(
            picture.description.ends_with("Tokens initially: 3 <p>&⟨U+202E⟩."),
            "{}",
            picture.description
        );
        assert!(picture.csv.contains("back,q,1"), "{}", picture.csv);
        assert_eq!(net("n".into(), "Net<1>", &small, None).expect("a picture"), picture);
    }

    #[test]
    fn a_net_that_is_empty_or_too_large_is_not_drawn() {
        assert_eq!(drawn(&net_with(vec![], vec![])), None);
        let many = |count: usize| (0..count).map(|number| place(&format!("p{number}"), 1)).collect();
        assert!(drawn(&net_with(many(59), vec![])).is_some());
        assert_eq!(drawn(&net_with(many(60), vec![])), None);
        let dense = (0..20).map(|_| transition("t", &[(0, 1), (1, 1), (2, 1), (3, 1)], &[(4, 1)])).collect();
        assert!(drawn(&net_with(many(5), dense)).is_some());
        let tangle: Vec<(usize, u64)> = (0..20).map(|place| (place, 1)).collect();
        let tangle = (0..20).map(|_| transition("t", &tangle, &[])).collect();
        assert_eq!(drawn(&net_with(many(20), tangle)), None);
    }

    #[test]
    fn a_net_with_very_many_paths_has_few_bends() {
        // Between the first and the last of these places there are 3^9 paths each way, and arcs over all levels.
        let places = (0..30).map(|number| place(&format!("p{number}"), u64::from(number == 0))).collect();
        let transitions = (0..28).map(|number| {
            transition(
                &format!("t{number}"),
                &[(number, 1), (29 - number, 1)],
                &[(number + 1, 1), (number + 2, 1), (0, 1)],
            )
        });
        let tangled = net_with(places, transitions.collect());
        let neighbours = neighbours(&tangled);
        let order = order(&tangled, &neighbours);
        let graph = layout(&neighbours, &order);
        // No arc leads back, so that the crate has no path to follow.
        let back = (0..order.len())
            .filter(|&node| graph.succ(NodeHandle::new(node)).iter().any(|to| to.get_index() < node));
        assert_eq!(back.count(), 0);
        // Each of the 140 arcs has at most one bend on each level.
        let levels = graph.dag.num_levels();
        assert!(levels <= order.len() && graph.num_nodes() <= order.len() + 140 * levels, "{levels}");
        assert!(drawn(&tangled).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]
        #[test]
        fn every_small_net_is_drawn_or_refused(
            places in 1..30usize,
            arcs in prop::collection::vec((0..29usize, 0..30usize, any::<bool>(), 1..4u64), 0..150),
        ) {
            let mut transitions: Vec<Transition> =
                (0..29).map(|number| transition(&format!("t{number}"), &[], &[])).collect();
            for (number, place, is_input, weight) in arcs {
                let arc = Arc { place: place % places, weight };
                let transition = &mut transitions[number];
                let arcs = if is_input { &mut transition.inputs } else { &mut transition.outputs };
                if arcs.iter().all(|other| other.place != arc.place) {
                    arcs.push(arc);
                }
            }
            let all = (0..places).map(|number| place(&format!("p{number}"), number as u64 % 3)).collect();
            let picture = drawn(&net_with(all, transitions)).expect("a picture");
            prop_assert!(roxmltree::Document::parse(&picture.svg).is_ok());
        }
    }
}

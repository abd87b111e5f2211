//! Nets with every construct, and with errors, as text.

use super::*;
use crate::{ColourName, Term};

/// A net with all kinds of sorts: a place `p` of the given type and a transition with the given guard and arcs.
fn net(place_type: &str, marking: &str, guard: &str, inscription: &str) -> String {
    format!(
        "<pnml><net id='n' type='symmetricnet'>
<declaration><structure><declarations>
<namedsort id='Pair' name='Pair'><productsort><usersort declaration='C'/><usersort declaration='R'/></productsort></namedsort>
<namedsort id='C' name='C'><cyclicenumeration><feconstant id='c0' name='0'/><feconstant id='c1' name='1'/><feconstant id='c2' name='2'/></cyclicenumeration></namedsort>
<namedsort id='R' name='R'><finiteintrange start='-1' end='2'/></namedsort>
<namedsort id='D' name='D'><dot/></namedsort>
<partition id='Half' name='Half'><usersort declaration='C'/>
<partitionelement id='low' name='l'><useroperator declaration='c0'/><useroperator declaration='c1'/></partitionelement>
<partitionelement id='high' name='h'><useroperator declaration='c2'/></partitionelement></partition>
<variabledecl id='x' name='x'><usersort declaration='C'/></variabledecl>
<variabledecl id='y' name='y'><usersort declaration='C'/></variabledecl>
<variabledecl id='r' name='r'><usersort declaration='R'/></variabledecl>
</declarations></structure></declaration>
<page id='g'><place id='p'><type><structure>{place_type}</structure></type>
<hlinitialMarking><structure>{marking}</structure></hlinitialMarking></place>
<transition id='t'><condition><structure>{guard}</structure></condition></transition>
<arc id='a' source='p' target='t'><hlinscription><structure>{inscription}</structure></hlinscription></arc>
</page></net></pnml>"
    )
}

#[test]
fn each_kind_of_sort_has_one_number() {
    let pair = "<productsort><usersort declaration='C'/><finiteintrange start='-1' end='2'/></productsort>";
    let read = |place_type: &str| {
        read(&net(place_type, &term("tuple(*C,*R)"), &term(GUARD), &term("tuple(x,r)"))).unwrap()
    };
    let (named, anonymous) = (read(&user("Pair")), read(pair));
    assert_eq!(named.places[0].sort, anonymous.places[0].sort);
    assert_eq!(named.sorts, anonymous.sorts);
    let kinds: std::collections::HashSet<&SortKind> = named.sorts.iter().map(|sort| &sort.kind).collect();
    assert_eq!(kinds.len(), named.sorts.len());
}

fn read(text: &str) -> Result<SymmetricNet, String> {
    SymmetricNet::read(text.as_bytes(), "m").map_err(|error| error.to_string())
}

fn user(sort: &str) -> String {
    format!("<usersort declaration='{sort}'/>")
}

/// `<a><subterm>b</subterm>...</a>`, written a(b, ...); `x` is a variable, `'c` a constant, a number itself a count.
fn term(text: &str) -> String {
    let text = text.trim();
    let Some(open) = text.find('(') else {
        return match text.split_at_checked(1) {
            Some(("'", constant)) => format!("<useroperator declaration='{constant}'/>"),
            Some(("#", number)) => {
                format!("<numberconstant value='{number}'><positive/></numberconstant>")
            }
            Some(("*", sort)) => format!("<all>{}</all>", user(sort)),
            Some(("=", value)) => {
                format!(
                    "<finiteintrangeconstant value='{value}'><finiteintrange start='-1' end='2'/></finiteintrangeconstant>"
                )
            }
            _ => format!("<variable refvariable='{text}'/>"),
        };
    };
    let (name, inside) = (&text[..open], &text[open + 1..text.len() - 1]);
    let (mut depth, mut parts, mut start) = (0, Vec::new(), 0);
    for (at, character) in inside.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let parts: String = parts.iter().map(|part| format!("<subterm>{}</subterm>", term(part))).collect();
    match name {
        "half" => format!("<partitionelementof refpartition='Half'>{parts}</partitionelementof>"),
        _ => format!("<{name}>{parts}</{name}>"),
    }
}

const GUARD: &str = "equality(x,x)";

#[test]
fn multisets_of_tuples_ranges_and_all_are_evaluated() {
    let text = net(
        &user("Pair"),
        &term("add(numberof(#3,tuple('c1,=2)),numberof(#2,tuple(*C,=-1)))"),
        &term(GUARD),
        &term("subtract(tuple(*C,*R),scalarproduct(#1,tuple(successor(x),predecessor(r))))"),
    );
    let net = read(&text).unwrap();
    // Pair = C x R with 3 * 4 colours; (c1, 2) is 1 * 4 + 3.
    assert_eq!(net.places[0].initial, Multiset::from([(0, 2), (4, 2), (7, 3), (8, 2)]));
    let transition = &net.transitions[0];
    let names: Vec<_> = transition.variables.iter().map(|v| net.variables[*v].id.as_str()).collect();
    assert_eq!(names, ["x", "r"]);
    // x = c2, r = -1: (c0, 2) is missing.
    let taken = transition.inputs[0].1.evaluate(&[2, 0]).unwrap();
    assert_eq!(taken.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
    let name = net.colour_name(net.places[0].sort, 7);
    let simple = |text: &str| ColourName::Simple(text.to_owned());
    assert_eq!(name, ColourName::Tuple(vec![simple("c1"), simple("2")]));
    for colour in 0..12 {
        let sort = net.places[0].sort;
        assert_eq!(net.colour(sort, &net.colour_name(sort, colour)), Some(colour));
    }
    assert_eq!(net.colour(net.places[0].sort, &simple("c1")), None);
}

#[test]
fn guards_compare_colours_and_classes_in_their_order() {
    let holds = |guard: &str, binding: &[Colour]| {
        let net = read(&net(&user("C"), &term("*C"), &term(guard), &term("x"))).unwrap();
        net.transitions[0].guard.holds(binding)
    };
    let cases = [
        ("lessthan(x,'c2)", [true, true, false]),
        ("lessthanorequal(x,'c1)", [true, true, false]),
        ("greaterthan(x,'c1)", [false, false, true]),
        ("greaterthanorequal(x,'c1)", [false, true, true]),
        ("equality(half(x),'low)", [true, true, false]),
        ("gtp(half(x),'low)", [false, false, true]),
        ("ltp(half(x),'high)", [true, true, false]),
        ("inequality(tuple(x,'c0),tuple('c1,'c0))", [true, false, true]),
        ("and(inequality(x,'c0),not(equality(x,'c1)))", [false, false, true]),
        ("or(equality(x,'c0),equality(successor(x),'c0))", [true, false, true]),
        ("imply(equality(x,'c0),equality(x,'c1))", [false, true, true]),
    ];
    for (guard, expected) in cases {
        assert_eq!([0, 1, 2].map(|x| holds(guard, &[x])), expected, "{guard}");
    }
}

#[test]
fn sums_inside_of_a_tuple_are_sums_of_tuples() {
    let bag = |text: &str| {
        let net = read(&net(&user("Pair"), &term("tuple(*C,*R)"), &term(GUARD), &term(text))).unwrap();
        net.transitions[0].inputs[0].1.evaluate(&[2, 0])
    };
    // The colour of (c, number) is 4 times that of c and the place of the number in -1..2.
    let expected = Multiset::from([(0, 1), (1, 1), (8, 2), (9, 2)]);
    assert_eq!(bag("tuple(add('c0,numberof(#2,x)),add(=-1,=0))"), Ok(expected));
    assert_eq!(bag("tuple(subtract(*C,x,'c1),r)"), Ok(Multiset::from([(0, 1)])));
    assert_eq!(bag("tuple(subtract(x,*C),r)"), Err(crate::BagError::Negative));
    // A component without tokens hides no negative one.
    for negative in
        ["tuple(subtract('c0,'c1),numberof(#0,r))", "tuple(add(x,subtract('c0,'c1)),subtract(r,r))"]
    {
        assert_eq!(bag(negative), Err(crate::BagError::Negative), "{negative}");
    }
    assert_eq!(bag("tuple(subtract(x,x),subtract(r,r))"), Ok(Multiset::new()));
    // An element of a partition is the sum of its colours.
    assert_eq!(bag("tuple('low,r)"), Ok(Multiset::from([(0, 1), (4, 1)])));
    let sums = "add(".to_owned() + &["=0"; 1001].join(",") + ")";
    let error = read(&net(
        &user("Pair"),
        &term("tuple(*C,*R)"),
        &term(GUARD),
        &term(&format!("tuple({},{sums})", sums.replace("=0", "x"))),
    ));
    assert!(error.unwrap_err().contains("more than 1000000"), "a product of two sums is limited");
}

#[test]
fn all_colours_are_not_a_constant_of_a_partition() {
    let text = net(&user("C"), &term("*C"), &term(GUARD), &term("x"));
    let class = term("'c0") + &term("'c1");
    let changed = text.replacen(&class, &(term("*C") + &term("'c1")), 1);
    assert!(read(&text).is_ok() && changed != text);
    let error = read(&changed).unwrap_err();
    assert!(error.contains("<all>") && error.contains("a constant"), "{error}");
}

#[test]
fn a_tuple_of_one_component_is_that_component() {
    let text = net(&user("C"), &term("tuple(*C)"), &term("equality(tuple(x),y)"), &term("tuple(x)"));
    let read_again = read(&text).unwrap();
    assert_eq!(read_again, read(&net(&user("C"), &term("*C"), &term("equality(x,y)"), &term("x"))).unwrap());
    let single = format!("<productsort>{}</productsort>", user("C"));
    assert_eq!(
        read(&text.replace(
            &format!("<structure>{}</structure></type>", user("C")),
            &format!("<structure>{single}</structure></type>")
        ))
        .unwrap(),
        read_again
    );
}

#[test]
fn subtractions_and_counts_never_wrap() {
    use crate::BagError;
    let bag = |text: &str| {
        let net = read(&net(&user("C"), &term("*C"), &term(GUARD), &term(text))).unwrap();
        net.transitions[0].inputs[0].1.evaluate(&[0, 1])
    };
    assert_eq!(bag("subtract(*C,x)"), Ok(Multiset::from([(1, 1), (2, 1)])));
    assert_eq!(bag("subtract(x,*C)"), Err(BagError::Negative));
    assert_eq!(bag("subtract(*C,x,y)"), Ok(Multiset::from([(2, 1)])));
    assert_eq!(bag("subtract(*C,x,x)"), Err(BagError::Negative));
    assert_eq!(bag("numberof(#18446744073709551615,add(x,y))").map(|bag| bag.len()), Ok(2));
    assert_eq!(bag("numberof(#18446744073709551615,add(x,x))"), Err(BagError::TooLarge));
    assert_eq!(bag("numberof(#4294967296,numberof(#4294967296,x))"), Err(BagError::TooLarge));
    assert_eq!(bag("numberof(#0,*C)"), Ok(Multiset::new()));
}

#[test]
fn a_colour_has_at_most_a_hundred_names() {
    // Each product has one colour, whose name is twice as long as the one before.
    let pairs = (1..=7).map(|n| {
        let part = format!("<usersort declaration='s{}'/>", n - 1);
        format!("<namedsort id='s{n}' name='s'><productsort>{part}{part}</productsort></namedsort>\n")
    });
    let one = "<namedsort id='s0' name='s'><dot/></namedsort>\n";
    let net = |sorts: &str| {
        format!(
            "<pnml><net id='n' type='symmetricnet'>\n<declaration><structure><declarations>\n{one}{sorts}\
             </declarations></structure></declaration></net></pnml>"
        )
    };
    let pairs: Vec<String> = pairs.collect();
    assert!(read(&net(&pairs[..6].concat())).is_ok());
    let error = read(&net(&pairs.concat())).unwrap_err();
    assert!(error.contains("the number of names in a tuple") && error.contains("128"), "{error}");
}

#[test]
fn the_colours_of_all_initial_markings_have_one_limit() {
    let range = |end: u64| format!("<finiteintrange start='1' end='{end}'/>");
    let place = |id: &str, end: u64| {
        let (sort, all) = (range(end), format!("<all>{}</all>", range(end)));
        format!(
            "<place id='{id}'><type><structure>{sort}</structure></type>\n\
             <hlinitialMarking><structure>{all}</structure></hlinitialMarking></place>\n"
        )
    };
    let nodes = |nodes: String| format!("<pnml><net id='n' type='symmetricnet'>{nodes}</net></pnml>");
    assert!(read(&nodes(place("p", 3) + &place("q", 4))).is_ok());
    let error = read(&nodes(place("p", 3) + &place("q", crate::MAX_COLOURS))).unwrap_err();
    assert!(error.starts_with("m:4: multisets list more than 5000000 colours (each"), "{error}");
}

/// `inside` in this number of `<successor>`.
fn successors(number: usize, inside: &str) -> String {
    let [open, close] = ["<successor><subterm>", "</subterm></successor>"].map(|tag| tag.repeat(number));
    open + inside + &close
}

#[test]
fn the_terms_that_all_tuples_of_sums_copy_have_one_limit() {
    let sum = |parts| format!("<add>{}</add>", format!("<subterm>{}</subterm>", term("=0")).repeat(parts));
    let tuple = |first: &str, second: &str| {
        format!("<tuple><subterm>{first}</subterm><subterm>{second}</subterm></tuple>")
    };
    let read = |arc: &str| read(&net(&user("Pair"), &term("tuple(*C,*R)"), &term(GUARD), arc));
    let large = successors(400, &term("x"));
    assert!(read(&tuple(&large, &sum(10))).is_ok());
    let error = read(&tuple(&large, &sum(2500))).unwrap_err();
    assert!(
        error.starts_with("m:17: the file has more than 1000000 elements and texts, or copied terms"),
        "{error}"
    );
    let part = format!("<subterm>{}</subterm>", tuple(&large, &sum(500)));
    assert!(read(&format!("<add>{}</add>", part.repeat(4))).is_ok());
    let error = read(&format!("<add>{}</add>", part.repeat(5))).unwrap_err();
    assert!(
        error.starts_with("m:17: the file has more than 1000000 elements and texts, or copied terms"),
        "{error}"
    );
}

#[test]
fn a_colour_of_a_large_term_counts_more() {
    let marking = |colours: u64, terms: usize| {
        let all = format!("<all><finiteintrange start='1' end='{colours}'/></all>");
        let sort =
            format!("<productsort><finiteintrange start='1' end='{colours}'/>{}</productsort>", user("C"));
        let tuple = format!(
            "<tuple><subterm>{all}</subterm><subterm>{}</subterm></tuple>",
            successors(terms, &term("'c0"))
        );
        read(&net(&sort, &tuple, &term(GUARD), &term("*C")))
    };
    // The marking is read before the arc, which does not fit.
    assert!(marking(10, 400).unwrap_err().contains("the sort"));
    let error = marking(4_900_000, 400).unwrap_err();
    assert!(error.contains(": multisets list more than 5000000 colours (each 1 + n/64 times "), "{error}");
}

#[test]
fn differences_within_sums_list_their_colours_again() {
    let bag = |bag, levels| {
        (0..levels).fold(bag, |bag, _| {
            let taken = Bag::Each(Term::Constant(0));
            Bag::Add(vec![taken.clone(), Bag::Subtract(Box::new(bag), Box::new(taken))])
        })
    };
    let left = |bag: Bag| {
        let mut left = MAX_COLOURS;
        assert_eq!(bag.evaluate_within(&[], &mut left).unwrap().len(), 1000);
        MAX_COLOURS - left
    };
    let all = Bag::Each(Term::All(1000));
    assert_eq!(left(all.clone()), 1000);
    assert_eq!(left(bag(all, 10)), 1000 + 10 * (2 + 999));
}

#[test]
fn expressions_can_share_the_limit_of_colours() {
    let net = read(&net(&user("C"), &term("*C"), &term(GUARD), &term("add(*C,*C,x)"))).unwrap();
    let (bag, mut left) = (&net.transitions[0].inputs[0].1, 13);
    assert_eq!(bag.evaluate_within(&[0], &mut left).map(|bag| bag.len()), Ok(3));
    assert_eq!(left, 6, "each colour counts as often as it is listed");
    assert_eq!(bag.evaluate_within(&[0], &mut left), Err(crate::BagError::TooManyColours));
}

#[test]
fn many_terms_share_one_list_of_classes() {
    // With a list for each term, the net would need 8 GB.
    let constants: String = (0..50_000).map(|id| format!("<feconstant id='k{id}' name='k'/>")).collect();
    let class: String = (0..50_000).map(|id| format!("<useroperator declaration='k{id}'/>")).collect();
    let declared = format!(
        "<namedsort id='K' name='K'><cyclicenumeration>{constants}</cyclicenumeration></namedsort>\
         <partition id='One' name='One'>{}<partitionelement id='one' name='o'>{class}</partitionelement></partition>\
         <variabledecl id='k' name='k'>{}</variabledecl>",
        user("K"),
        user("K"),
    );
    let element = term("equality(half(k),'one)").replace("Half", "One");
    let guard = format!("<and>{}</and>", format!("<subterm>{element}</subterm>").repeat(20_000));
    let text = net(&user("C"), &term("*C"), &guard, &term("x"));
    let text = text.replace("</declarations>", &format!("{declared}</declarations>"));
    let net = read(&text).unwrap();
    assert!(net.transitions[0].guard.holds(&[49_999, 0]));
    let sort = net.variables[3].sort;
    for colour in 0..50_000 {
        assert_eq!(net.colour(sort, &net.colour_name(sort, colour)), Some(colour));
    }
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let with =
        |marking: &str, guard: &str, arc: &str| net(&user("C"), &term(marking), &term(guard), &term(arc));
    let good = with("*C", GUARD, "x");
    assert!(read(&good).is_ok());
    let line_of = |text: &str, part: &str| text[..text.find(part).unwrap()].lines().count();
    let cases = [
        (with("x", GUARD, "x"), "<hlinitialMarking>", "<variable> where a term without variables"),
        (with("=1", GUARD, "x"), "<hlinitialMarking>", "of the sort <R> where the sort C is expected"),
        (with("=7", GUARD, "x"), "<hlinitialMarking>", "where a number of its range is expected"),
        (with("*C", GUARD, "z"), "<arc", "the variable \"z\" is not declared;"),
        (with("*C", GUARD, "'c9"), "<arc", "the constant \"c9\" is not declared;"),
        (with("*C", "equality(x,r)", "x"), "<condition>", "of the sort <R> where the sort C is expected"),
        (with("*C", "equality(x,*C)", "x"), "<condition>", "<all> where a term with one colour"),
        (with("*C", "contains(x,x)", "x"), "<condition>", "<contains> in <structure> is not known"),
        (with("*C", "lessthan(tuple(x,x),tuple(x,x))", "x"), "<condition>", "colours that have an order"),
        (
            good.replace("<condition>", "<priority/><condition>"),
            "<priority",
            "<priority> in <transition> is not",
        ),
        (
            with("*C", GUARD, "x").replace("'c0'/><user", "'c0'><x/></useroperator><user"),
            "<partitionelement id='low'",
            "<x> where the end of <useroperator>",
        ),
        (good.replace("<dot/>", "<dot><x/></dot>"), "<dot", "<x> where the end of <dot> is expected"),
        (
            good.replace("<equality>", "<equality>not"),
            "<equality",
            "<equality> has text outside of its elements",
        ),
        (good.replace("<dot/>", "<dot>x</dot>"), "<dot", "<dot> has text outside of its elements"),
        (
            with("numberof(#1,*C)", GUARD, "x").replace("<positive/>", "<negative/>"),
            "<numberconstant",
            "<negative> in <numberconstant> is not known",
        ),
        (good.replace("<dot/>", "<integer/>"), "<integer", "<integer> in <namedsort> is not known"),
        (
            good.replace("declaration='R'/></productsort>", "declaration='Pair'/></productsort>"),
            "'Pair' ",
            "a sort that does not contain itself",
        ),
        (good.replace("id='c2'", "id='c1'"), "id='C'", "the id \"c1\" was already used in line"),
        (
            good.replace(
                "<partitionelement id='high' name='h'><useroperator declaration='c2'/></partitionelement>",
                "",
            ),
            "<partition",
            "<partition> without some of the constants",
        ),
        (good.replace("hlinscription", "inscription"), "<arc", "<inscription> in <arc> is not supported"),
        (good.replace("symmetricnet", "ptnet"), "<declaration", "<declaration> in <net> is not supported"),
    ];
    for (text, at, message) in cases {
        let error = read(&text).unwrap_err();
        assert!(error.contains(message), "{error}\nexpected: {message}");
        let line = line_of(&text, at);
        assert!(
            error.starts_with(&format!("m:{line}:")) || error.starts_with(&format!("m:{}:", line + 1)),
            "{error} {line}"
        );
    }
}

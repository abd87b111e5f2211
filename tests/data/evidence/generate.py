#!/usr/bin/env python3
"""Writes the conformance vectors of docs/evidence.   tests/data/evidence/generate.py [FOLDER]

FOLDER (default: the folder of this script) gets `instances/NAME/` (nets and formulas), `files/NAME.json` (evidence) and
`index.csv`: file, kind, instance, verdict (`accepted`, `refused`; `unreadable`: file or net is not valid) and the reason.
Verdicts and reasons are written here by hand, no checker computes them. The same script gives the same bytes. The net of
Colours-COL-1 is not generated.
"""
import copy
import csv
import itertools
import json
import pathlib
import sys

# --- Instances -------------------------------------------------------------------------------------------------------


def element(name, *inside):
    return f"<{name}>{''.join(inside)}</{name}>"


def named(name, kind):
    return lambda *ids: element(name, *(element(kind, one) for one in ids))


tokens, fireable, bound = named("tokens-count", "place"), named("is-fireable", "transition"), named("place-bound", "place")
DEADLOCK = "<deadlock/>"


def number(value):
    return element("integer-constant", str(value))


def le(left, right):
    return element("integer-le", *(number(side) if isinstance(side, int) else side for side in (left, right)))


def operator(name):
    return lambda *inside: element(name, *inside)


no, both, either = operator("negation"), operator("conjunction"), operator("disjunction")
some, every = operator("exists-path"), operator("all-paths")
later, always, following = operator("finally"), operator("globally"), operator("next")


def until(before, reach):
    return element("until", element("before", before), element("reach", reach))


def reachable(formula):
    return some(later(formula))


def invariant(formula):
    return every(always(formula))


def properties(formulas):
    return element("property-set", *(element("property", element("id", key), element("formula", value))
                                     for key, value in formulas.items()))


def plain_net(name, places, transitions):
    """places: tokens by id; transitions: by id the arcs to it and from it, as lists of (place, weight)."""
    parts = [f"<place id='{place}'><initialMarking><text>{count}</text></initialMarking></place>" if count
             else f"<place id='{place}'/>" for place, count in places.items()]
    number = 0
    for transition, sides in transitions.items():
        parts.append(f"<transition id='{transition}'/>")
        for is_output, arcs in enumerate(sides):
            for place, weight in arcs:
                source, target = (transition, place) if is_output else (place, transition)
                label = "" if weight == 1 else f"<inscription><text>{weight}</text></inscription>"
                parts.append(f"<arc id='a{number}' source='{source}' target='{target}'>{label}</arc>")
                number += 1
    inside = "\n".join(parts)
    return f"<pnml><net id='{name}' type='ptnet'><page id='g'>\n{inside}\n</page></net></pnml>"


def symmetric_net(name, declarations, places, transitions):
    """places: by id the sort and the marking, as texts; transitions: by id the guard and the arcs to it and from it, as lists of
    (place, term)."""
    parts = [element("declaration", element("structure", element("declarations", declarations))), "<page id='g'>"]
    for place, (sort, marking) in places.items():
        marking = element("hlinitialMarking", element("structure", marking)) if marking else ""
        parts.append(f"<place id='{place}'>{element('type', element('structure', sort))}{marking}</place>")
    number = 0
    for transition, (guard, *sides) in transitions.items():
        condition = element("condition", element("structure", guard)) if guard else ""
        parts.append(f"<transition id='{transition}'>{condition}</transition>")
        for is_output, arcs in enumerate(sides):
            for place, term in arcs:
                source, target = (transition, place) if is_output else (place, transition)
                label = element("hlinscription", element("structure", term))
                parts.append(f"<arc id='a{number}' source='{source}' target='{target}'>{label}</arc>")
                number += 1
    inside = "\n".join(parts)
    return f"<pnml><net id='{name}' type='symmetricnet'>\n{inside}\n</page></net></pnml>"


def usersort(name):
    return f"<usersort declaration='{name}'/>"


def enumeration(name, constants, kind="cyclicenumeration"):
    inside = "".join(f"<feconstant id='{constant}' name='{constant}'/>" for constant in constants)
    return named_sort(name, element(kind, inside))


def named_sort(name, sort):
    return f"<namedsort id='{name}' name='{name}'>{sort}</namedsort>"


def declared_variable(name, sort):
    return f"<variabledecl id='{name}' name='{name}'>{usersort(sort)}</variabledecl>"


def coloured_net(name, places, transitions):
    """One sort C with the colours a, b, c, and variables x and y. places: the colours of the tokens by id."""
    marking = lambda colours: element("add", *(element("subterm", CONSTANT[colour]) for colour in colours)) if colours else ""
    declarations = enumeration("C", "abc") + declared_variable("x", "C") + declared_variable("y", "C")
    places = {place: (usersort("C"), marking(colours)) for place, colours in places.items()}
    return symmetric_net(name, declarations, places, transitions)


CONSTANT = {colour: f"<useroperator declaration='{colour}'/>" for colour in "abc"}


def variable(name):
    return f"<variable refvariable='{name}'/>"


def times(count, term):
    constant = f"<numberconstant value='{count}'><positive/></numberconstant>"
    return element("numberof", element("subterm", constant), element("subterm", term))


def of_terms(name, *terms):
    return element(name, *(element("subterm", term) for term in terms))


X, Y = variable("x"), variable("y")


def terms_net():
    """A net with the sorts and operators that the other nets do not have. Each transition moves a token from src to out, if its
    guard allows the colour. The places and arcs in `toolspecific` are no part of the net."""
    usersort = lambda sort: f"<usersort declaration='{sort}'/>"
    truth = lambda value: f"<booleanconstant value='{value}'/>"
    e, b, (e0, e1, e2) = variable("e"), variable("b"), (f"<useroperator declaration='e{n}'/>" for n in range(3))
    all_of, nothing = element("all", usersort("E")), element("empty", usersort("E"))
    equal = lambda colour: of_terms("equality", e, colour)
    two = of_terms("scalarproduct", "<numberconstant value='2'><positive/></numberconstant>", e)
    # By id: the guard, what is taken from src and put on out.
    moves = {
        "below": (of_terms("ltp", e, e1), e, e), "upto": (of_terms("lessthanorequal", e, e1), e, e),
        "above": (of_terms("greaterthan", e, e1), e, e), "over": (of_terms("gtp", e, e0), e, e),
        "ends": (of_terms("or", equal(e0), equal(e2)), e, e), "other": (of_terms("not", equal(e1)), e, e),
        "always": (truth("true"), e, e), "never": (truth("false"), e, e), "pair": ("", two, e),
        "middle": ("", of_terms("subtract", all_of, e0, e2), e1), "none": ("", nothing, nothing),
    }
    constants = "".join(f"<feconstant id='e{n}' name='e{n}'/>" for n in range(3))
    parts = [f"<declaration><structure><declarations><namedsort id='E' name='E'><finiteenumeration>{constants}</finiteenumeration></namedsort>"
             f"<variabledecl id='e' name='e'>{usersort('E')}</variabledecl><variabledecl id='b' name='b'><bool/></variabledecl>"
             "</declarations></structure></declaration>",
             "<toolspecific tool='other' version='1'><place id='ghost'/><transition id='spook'/></toolspecific>", "<page id='g'>"]
    place = lambda name, sort, marking: f"<place id='{name}'><type>{element('structure', sort)}</type>" + (
        element("hlinitialMarking", element("structure", marking)) if marking else "") + "<toolspecific tool='other' version='1'><transition id='spook'/></toolspecific></place>"
    parts += [place("src", usersort("E"), all_of), place("out", usersort("E"), ""), place("flag", "<bool/>", truth("false"))]
    arc = lambda number, source, target, term: (
        f"<arc id='a{number}' source='{source}' target='{target}'>{element('hlinscription', element('structure', term))}</arc>")
    for number, (name, (guard, taken, put)) in enumerate(moves.items()):
        condition = element("condition", element("structure", guard)) if guard else ""
        parts += [f"<transition id='{name}'>{condition}</transition>", arc(2 * number, "src", name, taken), arc(2 * number + 1, name, "out", put)]
    guard = element("condition", element("structure", of_terms("lessthan", b, truth("true"))))
    parts += [f"<transition id='flip'>{guard}</transition>", arc(90, "flag", "flip", b), arc(91, "flip", "flag", truth("true"))]
    inside = "\n".join(parts)
    return f"<pnml><net id='Terms-COL-1' type='symmetricnet'>\n{inside}\n</page></net></pnml>"


def parts_net():
    """A partition as a sort: its element `rest` is a colour of `part`, and stands for b and c on `one`."""
    sort = lambda name: element("type", element("structure", f"<usersort declaration='{name}'/>"))
    label = lambda kind, name: element(kind, element("structure", f"<useroperator declaration='{name}'/>"))
    constants = "".join(f"<feconstant id='{colour}' name='{colour}'/>" for colour in "abc")
    classes = (f"<partitionelement id='first'>{CONSTANT['a']}</partitionelement>"
               f"<partitionelement id='rest'>{CONSTANT['b']}{CONSTANT['c']}</partitionelement>")
    inside = "\n".join([
        f"<declaration><structure><declarations><namedsort id='E' name='E'><cyclicenumeration>{constants}</cyclicenumeration></namedsort>"
        f"<partition id='Q' name='Q'><usersort declaration='E'/>{classes}</partition></declarations></structure></declaration>", "<page id='g'>",
        *(f"<place id='{place}'>{sort(name)}{label('hlinitialMarking', 'rest')}</place>" for place, name in (("part", "Q"), ("one", "E"))),
        "<transition id='take'/>",
        *(f"<arc id='{place}-take' source='{place}' target='take'>{label('hlinscription', 'rest')}</arc>" for place in ("part", "one"))])
    return f"<pnml><net id='Parts-COL-1' type='symmetricnet'>\n{inside}\n</page></net></pnml>"


# p0 and p1 share one token. t2 needs a token on p2, which only t3 could put there; t3 needs two tokens on p0.
# Finish: two tokens move from s to d, one after the other; then nothing is enabled.
# Large: numbers above 2^63 and sums above 2^64; two arcs join a and t. Empty: no transition. Source: one that needs nothing.
MODELS = {
    "Switch-PT-1": plain_net(
        "Switch-PT-1", {"p0": 1, "p1": 0, "p2": 0, "p3": 1},
        {"t0": ([("p0", 1)], [("p1", 1)]), "t1": ([("p1", 1)], [("p0", 1)]),
         "t2": ([("p2", 1)], [("p3", 1)]), "t3": ([("p0", 2)], [("p2", 1)])}),
    "Finish-PT-1": plain_net("Finish-PT-1", {"s": 2, "d": 0}, {"t": ([("s", 1)], [("d", 1)])}),
    "Large-PT-1": plain_net(
        "Large-PT-1", {"a": 2**64 - 1, "b": 2**64 - 1}, {"t": ([("a", 2**32), ("a", 2**32)], [("b", 2**64 - 1)])}),
    "Empty-PT-1": plain_net("Empty-PT-1", {"p": 1}, {}),
    "Source-PT-1": plain_net(
        "Source-PT-1", {"p": 0, "q": 1}, {"make": ([], [("p", 1)]), "take": ([("p", 1), ("q", 1)], [("q", 1)])}),
    # A token that chooses one of two ways. Pair: a transition that takes two tokens. Both: no asymmetric choice, because t takes from
    # p and q, from which u and v take alone. Turn: one token runs around; in Never, one transition has no binding.
    "Choice-PT-1": plain_net(
        "Choice-PT-1", {"a": 1, "b": 0, "c": 0},
        {"t0": ([("a", 1)], [("b", 1)]), "t1": ([("b", 1)], [("a", 1)]), "t2": ([("a", 1)], [("c", 1)]), "t3": ([("c", 1)], [("a", 1)])}),
    "Pair-PT-1": plain_net("Pair-PT-1", {"p": 1}, {"t": ([("p", 2)], [("p", 2)])}),
    "Both-PT-1": plain_net(
        "Both-PT-1", {"p": 1, "q": 1},
        {"t": ([("p", 1), ("q", 1)], [("p", 1), ("q", 1)]), "u": ([("p", 1)], [("p", 1)]), "v": ([("q", 1)], [("q", 1)])}),
    # One token goes from a to b and back; c and bad are never marked, because nothing puts a token on d. In Steps-COL-1, swap moves the
    # token between the colours a and b, and fall takes a token of the colour c.
    "Steps-PT-1": plain_net(
        "Steps-PT-1", {"a": 1, "b": 0, "c": 0, "d": 0, "bad": 0},
        {"t0": ([("a", 1)], [("b", 1)]), "t1": ([("b", 1)], [("a", 1)]), "t2": ([("d", 1)], [("c", 1)]), "t3": ([("c", 1)], [("bad", 1)])}),
    "Steps-COL-1": coloured_net(
        "Steps-COL-1", {"at": "a", "bad": ""},
        {"swap": (of_terms("and", of_terms("inequality", X, Y), of_terms("inequality", X, CONSTANT["c"]), of_terms("inequality", Y, CONSTANT["c"])),
                  [("at", X)], [("at", Y)]),
         "fall": (of_terms("equality", X, CONSTANT["c"]), [("at", X)], [("bad", X)])}),
    "Turn-COL-1": coloured_net("Turn-COL-1", {"at": "a"}, {"move": ("", [("at", X)], [("at", of_terms("successor", X))])}),
    "Never-COL-1": coloured_net(
        "Never-COL-1", {"at": "a"},
        {"move": ("", [("at", X)], [("at", of_terms("successor", X))]), "never": (of_terms("inequality", X, X), [("at", X)], [("at", X)])}),
    # In Ring, one token runs around. meet and cross need two tokens of one colour on `at`, three and cross three on `still`. The
    # variables of cross are y, x, in the order of its guard.
    # `at` runs around and leaves a token of its colour on `store`.
    "Pump-COL-1": coloured_net(
        "Pump-COL-1", {"at": "a", "store": ""},
        {"pump": ("", [("at", X)], [("at", of_terms("successor", X)), ("store", X)]), "drain": ("", [("store", CONSTANT["a"])], [])}),
    "Terms-COL-1": terms_net(),
    "Parts-COL-1": parts_net(),
    # A transition that is always enabled, and no place.
    "Bare-PT-1": plain_net("Bare-PT-1", {}, {"t": ([], [])}),
    "Ring-COL-1": coloured_net(
        "Ring-COL-1", {"at": "a", "seen": "", "still": "bc"},
        {"move": ("", [("at", X)], [("at", of_terms("successor", X))]),
         "meet": ("", [("at", times(2, X))], [("seen", X)]),
         "three": ("", [("still", times(3, X))], [("seen", X)]),
         "cross": (of_terms("inequality", Y, X), [("at", times(2, X)), ("still", times(3, Y))], [("seen", X)]),
         "look": (of_terms("equality", X, CONSTANT["a"]), [("at", X), ("still", CONSTANT["b"])],
                  [("at", X), ("still", CONSTANT["b"])])}),
}

FORMULAS = {
    "Switch-PT-1": {
        "ReachabilityCardinality": {
            "f0": invariant(no(both(le(1, tokens("p0")), either(le(1, tokens("p1")), le(1, tokens("p2")))))),
            "f1": reachable(le(1, tokens("p2"))),
            "f2": reachable(both(le(1, tokens("p0", "p0")), no(le(2, tokens("p0", "p0"))))),
            "f3": no(reachable(le(1, tokens("p2")))),
            "f4": reachable(le(tokens("p3"), tokens("p1"))),
            "f5": invariant(le(tokens("p1"), 0)),
            "f6": no(no(reachable(le(1, tokens("p1"))))),
            "f7": reachable(le(1, tokens())),
            "f8": invariant(le(0, tokens("p0"))),
            "f9": invariant(either(le(tokens("p0"), 0), le(tokens("p1"), 0))),
            "f10": reachable(both(le(1, tokens("p0")), le(1, tokens("p1")), le(tokens("p3"), 0))),
        },
        "ReachabilityFireability": {
            "g0": reachable(fireable("t1")), "g1": reachable(fireable("t2", "t3")), "g2": invariant(no(fireable())),
            "g3": invariant(either(fireable("t0"), fireable("t1"))), "g4": reachable(no(fireable("t0"))),
        },
        "ReachabilityDeadlock": {"dead": reachable(DEADLOCK)},
        "UpperBounds": {"u0": bound("p0"), "u1": bound("p0", "p1"), "u2": bound("p3", "p3"), "u3": bound("p2")},
        "CTLCardinality": {
            "c0": some(following(le(1, tokens("p1")))), "c1": every(following(le(1, tokens("p0")))),
            "c2": some(always(le(1, tokens("p3")))), "c3": every(later(le(1, tokens("p2")))),
            "c4": some(until(le(1, tokens("p0")), le(1, tokens("p1")))),
            "c5": both(le(1, tokens("p0")), no(le(1, tokens("p1")))),
            "c6": reachable(invariant(le(1, tokens("p1")))), "c7": invariant(reachable(le(1, tokens("p0")))),
            "c8": every(later(le(1, tokens("p0")))), "c9": every(until(le(1, tokens("p0")), le(1, tokens("p2")))),
            "c10": some(following(some(following(le(1, tokens("p0")))))),
            # Several parts: a state formula is none, AG and EF are distributed, AX too.
            "c11": both(le(1, tokens("p0")), reachable(le(1, tokens("p1"))), no(reachable(le(1, tokens("p2"))))),
            "c12": either(every(later(le(1, tokens("p2")))), invariant(both(le(tokens("p2"), 0), le(tokens("p0"), 1)))),
            "c13": reachable(either(le(1, tokens("p2")), some(always(le(1, tokens("p3")))))),
            "c14": every(following(both(le(1, tokens("p1")), every(later(le(1, tokens("p2"))))))),
            # Disjunctions: EX is distributed; EG and AF are not. A conjunction in EF is not.
            "c15": some(following(either(le(1, tokens("p2")), every(later(le(1, tokens("p1"))))))),
            "c16": some(always(either(le(1, tokens("p3")), invariant(le(1, tokens("p2")))))),
            "c17": every(later(either(le(1, tokens("p2")), invariant(le(1, tokens("p0")))))),
            "c18": both(no(reachable(both(le(1, tokens("p0")), le(1, tokens("p1"))))), some(following(le(1, tokens("p1"))))),
        },
        "CTLFireability": {"d0": reachable(fireable("t1")), "d1": invariant(fireable("t0"))},
        "LTLCardinality": {
            "l0": every(later(le(1, tokens("p2")))), "l1": every(always(later(le(1, tokens("p2"))))),
            "l2": always(le(1, tokens("p0"))), "l3": some(always(later(le(1, tokens("p1"))))),
            "l4": every(following(following(le(1, tokens("p1"))))), "l5": every(until(le(1, tokens("p0")), le(1, tokens("p2")))),
            "l6": every(later(le(1, tokens("p0")))), "l7": every(later(always(le(1, tokens("p0"))))),
            "l8": every(always(le(1, tokens("p3")))),
            "l9": both(always(le(1, tokens("p3"))), le(1, tokens("p0")), always(le(tokens("p2"), 0))),
            "l10": every(both(always(le(1, tokens("p3"))), always(later(le(1, tokens("p2")))))),
            "l11": some(both(later(le(1, tokens("p1"))), always(le(1, tokens("p3"))))),
            "l12": some(either(always(le(1, tokens("p2"))), later(le(1, tokens("p1"))))),
            "l13": every(either(always(le(1, tokens("p0"))), later(le(1, tokens("p2"))))),
            "l14": either(always(le(1, tokens("p0"))), later(le(1, tokens("p2")))),
        },
        "LTLFireability": {"m0": every(always(later(fireable("t0")))), "m1": every(later(always(fireable("t1"))))},
    },
    "Finish-PT-1": {
        "ReachabilityCardinality": {"a0": reachable(le(2, tokens("d"))), "a1": invariant(le(tokens("d"), 2))},
        "CTLCardinality": {
            "b0": reachable(no(some(following(le(0, tokens("d")))))), "b1": reachable(every(following(le(3, tokens("d"))))),
            "b2": some(always(le(tokens("d"), 2))), "b3": every(later(le(2, tokens("d")))),
            "b4": reachable(invariant(le(2, tokens("d")))),
        },
        "LTLCardinality": {
            "n0": every(always(later(le(1, tokens("s"))))), "n1": every(following(following(following(le(1, tokens("s")))))),
            "n2": some(following(following(following(le(2, tokens("d")))))),
        },
        "UpperBounds": {"v0": bound("d")},
    },
    "Large-PT-1": {
        "ReachabilityCardinality": {
            "h0": reachable(both(le(2**64 - 1, tokens("b")), no(le(tokens("b"), 2**64 - 1)))),
            "h1": invariant(le(tokens("a"), 2**64 - 1)),
        },
        "UpperBounds": {"w0": bound("b"), "w1": bound("a", "b"), "w2": bound("a")},
    },
    "Bare-PT-1": {}, "Empty-PT-1": {}, "Pair-PT-1": {},
    "Terms-COL-1": {
        "ReachabilityCardinality": {"a": reachable(le(1, tokens("out"))), "b": invariant(le(tokens("flag"), 1)), "c": reachable(le(2, tokens("out")))},
        "ReachabilityFireability": {"d": reachable(both(no(fireable("flip")), le(1, tokens("flag")))), "e": invariant(no(fireable("never"))),
                                    "f": reachable(fireable("pair"))},
        "UpperBounds": {"g": bound("src", "out")},
    },
 "Both-PT-1": {}, "Never-COL-1": {}, "Parts-COL-1": {},
    "Choice-PT-1": {"ReachabilityDeadlock": {"dead": invariant(no(DEADLOCK))}, "ReachabilityFireability": {"j0": reachable(fireable("t0"))}},
    "Steps-PT-1": {
        "ReachabilityCardinality": {
            "k0": reachable(le(1, tokens("c"))), "k1": reachable(le(1, tokens("bad"))), "k2": reachable(le(1, tokens("b"))),
            "k3": invariant(le(tokens("c", "bad", "bad"), 0))},
        "CTLCardinality": {"k4": both(no(reachable(le(1, tokens("c")))), some(following(le(1, tokens("b")))))},
    },
    "Steps-COL-1": {"ReachabilityCardinality": {"k5": reachable(le(1, tokens("bad"))), "k6": invariant(le(tokens("at"), 1))}},
    "Turn-COL-1": {"ReachabilityCardinality": {"t0": invariant(le(tokens("at"), 1))}, "UpperBounds": {"t1": bound("at")}},
    "Source-PT-1": {
        "ReachabilityFireability": {
            "e0": invariant(fireable("make")), "e1": reachable(fireable("take")), "e2": reachable(no(fireable("take")))},
        "LTLFireability": {"y0": every(always(no(fireable("take")))), "y1": some(always(later(fireable("take"))))},
        "UpperBounds": {"x0": bound("p"), "x1": bound("q"), "x2": bound("p", "q")},
    },
    "Pump-COL-1": {"UpperBounds": {"o0": bound("store"), "o1": bound("at", "store"), "o2": bound("at")}},
    "Ring-COL-1": {
        "ReachabilityCardinality": {
            "q0": reachable(le(1, tokens("seen"))), "q1": invariant(le(tokens("at"), 1)), "q2": reachable(le(tokens("at"), 0))},
        "ReachabilityFireability": {
            "r0": reachable(fireable("meet")), "r1": reachable(fireable("look")), "r2": reachable(no(fireable("look"))),
            "r3": invariant(fireable("move")), "r4": reachable(fireable("three")), "r5": reachable(fireable("cross"))},
        "CTLFireability": {"i0": some(following(no(fireable("look")))), "i1": some(always(no(fireable("meet"))))},
        "LTLFireability": {"k0": every(later(always(fireable("look")))), "k1": every(always(fireable("look")))},
        "UpperBounds": {"z0": bound("at", "still"), "z1": bound("still")},
    },
    "Colours-COL-1": {
        "ReachabilityCardinality": {"s0": reachable(le(2, tokens("others")))},
        "ReachabilityFireability": {"s1": reachable(fireable("gather")), "s4": reachable(both(fireable("raise"), le(4, tokens("pairs"))))},
        "UpperBounds": {"s2": bound("others"), "s3": bound("pairs")},
    },
}

# --- Evidence --------------------------------------------------------------------------------------------------------

FILES = {}  # by name: kind, instance, verdict, reason, text


def add(name, file, verdict, reason, text=None, instance=None):
    assert name not in FILES, name
    kind = "witness" if "runs" in file else "certificate"
    text = json.dumps(file, separators=(",", ":")) if text is None else text
    FILES[name] = kind, instance or file["instance"], verdict, reason, text


def changed(file, *changes):
    """A copy with other values: pairs of a path (keys and numbers, the last one may be new) and a value."""
    file = copy.deepcopy(file)
    for path, value in changes:
        at = file
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    return file


def wrong_value(file):
    """The value that the file does not show: the other truth; a number one above a lower bound, or below an upper bound; any
    number instead of inf."""
    value = file["value"]
    if value == "inf":
        return "1"
    if value in ("TRUE", "FALSE"):
        return "FALSE" if value == "TRUE" else "TRUE"
    return str(int(value) + (1 if "runs" in file else -1))


def evidence(name, instance, examination, key, value, reason, needs_all=True, **rest):
    """An accepted file, and files derived from it that must be refused. needs_all: without its last step, or node of its
    proof, it shows nothing."""
    file = {"version": 1, "instance": instance, "examination": examination, "property": key, "value": value, **rest}
    add(name, file, "accepted", reason)
    if wrong_value(file) != "-1":
        add(f"{name}-other-value", changed(file, (["value"], wrong_value(file))), "refused", "another value than it shows")
    if "runs" in file:
        steps = file["runs"][-1]["steps"] if file["runs"] else []
        if needs_all and steps:
            shorter = changed(file, (["runs", len(file["runs"]) - 1, "steps"], steps[:-1]))
            add(f"{name}-shorter", shorter, "refused", "the last step is missing")
    elif "parts" in file:
        add(f"{name}-fewer-parts", changed(file, (["parts"], file["parts"][1:] or [part(99, "TRUE", [])])), "refused", "a part is missing")
    else:
        add(f"{name}-shorter", changed(file, (["proof"], file["proof"][:-1])), "refused", "an open case")
        add(f"{name}-longer", changed(file, (["proof"], file["proof"] + [closed([], [])])), "refused", "a node after the end")
    return file


def run(*steps, **parts):
    return {"steps": list(steps), **{name: part for name, part in parts.items() if part is not None}}


def witness(name, instance, examination, key, value, reason, *runs, needs_all=True):
    return evidence(name, instance, examination, key, value, reason, needs_all, runs=list(runs))


def not_shown(name, instance, examination, key, value, reason, *runs):
    file = {"version": 1, "instance": instance, "examination": examination, "property": key, "value": value, "runs": list(runs)}
    add(name, file, "refused", reason)


def certificate(name, instance, examination, key, value, reason, lemmas, proof, **rest):
    return evidence(name, instance, examination, key, value, reason, **rest, lemmas=lemmas, proof=proof)


def weight(place, factor=1, colour=None):
    entry = {"place": place, "weight": str(factor)}
    return entry if colour is None else {**entry, "colour": colour}


def at_most(limit, *weights):
    return {"inequality": {"weights": list(weights), "bound": str(limit)}}


def trap(*places):
    return {"trap": [{"place": place} if isinstance(place, str) else {"place": place[0], "colour": place[1]} for place in places]}


def closed(lemmas, assumptions):
    pairs = [[[entry, "1"] if isinstance(entry, int) else list(entry) for entry in side] for side in (lemmas, assumptions)]
    return {"contradiction": {"lemmas": pairs[0], "assumptions": pairs[1]}}


def cases(disjunction):
    return {"cases": disjunction}


def global_witnesses():
    finish = lambda exam, value: ("Finish-PT-1", exam, exam, value)
    witness("finish-quasi-live", *finish("QuasiLiveness", "TRUE"), "each transition fires", run("t"))
    witness("finish-quasi-live-two-runs", *finish("QuasiLiveness", "TRUE"), "several runs are allowed", run("t"), run(), needs_all=False)
    not_shown("finish-not-quasi-live", *finish("QuasiLiveness", "FALSE"), "no witness shows this value", run())
    not_shown("finish-quasi-live-no-run", *finish("QuasiLiveness", "TRUE"), "no transition fires")
    witness("finish-no-stable-place", *finish("StableMarking", "FALSE"), "both places change", run("t"))
    witness("finish-no-stable-place-two-runs", *finish("StableMarking", "FALSE"), "several runs are allowed", run("t"), run(), needs_all=False)
    not_shown("finish-stable", *finish("StableMarking", "TRUE"), "no witness shows this value", run("t"))
    witness("finish-not-live", *finish("Liveness", "FALSE"), "a deadlock", run("t", "t"))
    not_shown("finish-not-live-twice", *finish("Liveness", "FALSE"), "exactly one run is allowed", run("t", "t"), run("t", "t"))
    witness("finish-not-safe", *finish("OneSafe", "FALSE"), "two tokens in the initial marking", run())
    not_shown("finish-safe", *finish("OneSafe", "TRUE"), "no witness shows this value", run())
    not_shown("finish-not-safe-later", *finish("OneSafe", "FALSE"), "the last marking counts, and has one token on each place", run("t"))
    not_shown("finish-not-enabled", *finish("QuasiLiveness", "TRUE"), "the third firing is not enabled", run("t", "t", "t"))
    empty = lambda exam, value: ("Empty-PT-1", exam, exam, value)
    witness("empty-quasi-live", *empty("QuasiLiveness", "TRUE"), "there is no transition", run())
    witness("empty-quasi-live-no-run", *empty("QuasiLiveness", "TRUE"), "there is no transition, and no run is needed")
    not_shown("empty-not-live", *empty("Liveness", "FALSE"), "there is no transition")
    not_shown("empty-not-live-run", *empty("Liveness", "FALSE"), "there is no transition", run())
    witness("empty-deadlock", *empty("ReachabilityDeadlock", "TRUE"), "a net without transitions is dead", run())
    parts = lambda exam, value: ("Parts-COL-1", exam, exam, value)
    witness("parts-deadlock", *parts("ReachabilityDeadlock", "TRUE"), "an element of a partition, as a colour and as its colours", run("take"))
    not_shown("parts-no-deadlock", *parts("ReachabilityDeadlock", "TRUE"), "take is enabled", run())
    witness("parts-per-marking", "Parts-COL-1", "StateSpace", "MAX_TOKEN_PER_MARKING", "3", "one token on `part`, two on `one`", run(), needs_all=True)
    source = lambda exam, value: ("Source-PT-1", exam, exam, value)
    witness("source-quasi-live", *source("QuasiLiveness", "TRUE"), "each transition fires", run("make", "take"))
    witness("source-not-safe", *source("OneSafe", "FALSE"), "two tokens on p", run("make", "make"))
    not_shown("source-no-stable-place", *source("StableMarking", "FALSE"), "q keeps its token", run("make", "take"))
    ring = lambda exam, value: ("Ring-COL-1", exam, exam, value)
    witness("ring-not-safe", *ring("OneSafe", "FALSE"), "two tokens on `still`, of different colours", run())
    not_shown("ring-no-stable-place", *ring("StableMarking", "FALSE"), "`at` changes its colour only", run(MOVE_A))
    not_shown("ring-quasi-live", *ring("QuasiLiveness", "TRUE"), "meet does not fire", run(MOVE_A))
    witness("colours-quasi-live", "Colours-COL-1", "QuasiLiveness", "QuasiLiveness", "TRUE", "each transition fires with some binding",
            run(RAISE, SPREAD, step("gather", x="c0", y="c2")))
    witness("colours-quasi-live-other-colour", "Colours-COL-1", "QuasiLiveness", "QuasiLiveness", "TRUE",
            "the other order of the same two tokens", run(RAISE, SPREAD, step("gather", x="c2", y="c0")))


def step(transition, **binding):
    return {"transition": transition, "binding": binding}


MOVE_A, MOVE_B, MOVE_C = (step("move", x=colour) for colour in "abc")
LOOK = step("look", x="a")
RAISE, SPREAD = step("raise", r="-1", x="c0"), step("spread", x="c1", r="-1")
MOST = 2**64 - 1


def number_witnesses():
    for name, instance, examination, key, value, reason, *steps in [
        ("switch-bound", "Switch-PT-1", "UpperBounds", "u0", 1, "the initial marking"),
        ("switch-bound-two-places", "Switch-PT-1", "UpperBounds", "u1", 1, "a sum", "t0"),
        ("switch-bound-place-twice", "Switch-PT-1", "UpperBounds", "u2", 2, "a place that is listed twice counts twice"),
        ("switch-bound-zero", "Switch-PT-1", "UpperBounds", "u3", 0, "every marking has at least 0 tokens"),
        ("switch-in-place", "Switch-PT-1", "StateSpace", "MAX_TOKEN_IN_PLACE", 1, "one token"),
        ("switch-per-marking", "Switch-PT-1", "StateSpace", "MAX_TOKEN_PER_MARKING", 2, "two tokens"),
        ("finish-bound", "Finish-PT-1", "UpperBounds", "v0", 2, "after two firings", "t", "t"),
        ("large-bound", "Large-PT-1", "UpperBounds", "w0", 2 * MOST, "a place with more than 2^64 tokens", "t"),
        ("large-bound-two-places", "Large-PT-1", "UpperBounds", "w1", 2 * MOST, "a sum above 2^64"),
        ("large-bound-one-place", "Large-PT-1", "UpperBounds", "w2", MOST, "2^64 - 1 tokens"),
        ("large-in-place", "Large-PT-1", "StateSpace", "MAX_TOKEN_IN_PLACE", 2 * MOST, "b after a firing", "t"),
        ("large-per-marking", "Large-PT-1", "StateSpace", "MAX_TOKEN_PER_MARKING", 3 * MOST - 2**33, "two arcs join a and t", "t"),
        ("source-bound", "Source-PT-1", "UpperBounds", "x0", 3, "three firings", "make", "make", "make"),
        ("ring-bound", "Ring-COL-1", "UpperBounds", "z0", 3, "summed over colours"),
        ("ring-bound-one-place", "Ring-COL-1", "UpperBounds", "z1", 2, "summed over colours"),
        ("ring-in-place", "Ring-COL-1", "StateSpace", "MAX_TOKEN_IN_PLACE", 1, "of one colour"),
        ("ring-per-marking", "Ring-COL-1", "StateSpace", "MAX_TOKEN_PER_MARKING", 3, "all colours"),
        ("colours-bound", "Colours-COL-1", "UpperBounds", "s2", 4, "`subtract` in an arc", SPREAD, step("spread", x="c2", r="-1")),
        ("colours-in-place", "Colours-COL-1", "StateSpace", "MAX_TOKEN_IN_PLACE", 2, "two tokens of the colour dot"),
        ("colours-per-marking", "Colours-COL-1", "StateSpace", "MAX_TOKEN_PER_MARKING", 6, "a firing that adds one token", SPREAD, ),
    ]:
        shown = value if name != "colours-per-marking" else 5
        witness(name, instance, examination, key, str(shown), reason, run(*steps), needs_all=name not in ("switch-bound-two-places", "colours-per-marking"))
    not_shown("switch-bound-two-runs", "Switch-PT-1", "UpperBounds", "u0", "1", "exactly one run is allowed", run(), run())
    not_shown("switch-states", "Switch-PT-1", "StateSpace", "STATES", "2", "no witness shows this property", run("t0"))
    not_shown("switch-bound-other-marking", "Switch-PT-1", "UpperBounds", "u0", "1", "the last marking counts", run("t0"))


def formula_witnesses():
    switch = lambda exam, key, value: ("Switch-PT-1", exam, key, value)
    rc, rf, ctl, ltl = "ReachabilityCardinality", "ReachabilityFireability", "CTLCardinality", "LTLCardinality"
    witness("switch-reachable", *switch(rc, "f4", "TRUE"), "two places are compared", run("t0"))
    witness("switch-no-invariant", *switch(rc, "f5", "FALSE"), "a marking that violates it", run("t0"))
    witness("switch-two-negations", *switch(rc, "f6", "TRUE"), "negations before the quantifier", run("t0"))
    witness("switch-fireable", *switch(rf, "g0", "TRUE"), "t1 is enabled", run("t0"))
    witness("switch-not-fireable", *switch(rf, "g4", "TRUE"), "t0 is not enabled", run("t0"))
    not_shown("switch-invariant-by-run", *switch(rc, "f8", "TRUE"), "a run does not show an invariant", run("t0", "t1", loop=0))
    not_shown("switch-unreachable-by-run", *switch(rc, "f1", "FALSE"), "a run does not show what is unreachable", run("t0", "t1", loop=0))
    not_shown("switch-empty-list", *switch(rf, "g2", "FALSE"), "an empty list is never fireable", run())
    not_shown("switch-empty-sum", *switch(rc, "f7", "TRUE"), "an empty sum is 0", run())
    not_shown("switch-deadlock", *switch("ReachabilityDeadlock", "dead", "TRUE"), "the last marking is no deadlock", run("t0"))
    not_shown("switch-deadlock-by-examination", *switch("ReachabilityDeadlock", "ReachabilityDeadlock", "TRUE"),
              "the property file has another id", run("t0"))
    witness("switch-ex", *switch(ctl, "c0", "TRUE"), "the next marking", run("t0"))
    witness("switch-ax", *switch(ctl, "c1", "FALSE"), "the next marking violates it", run("t0"))
    witness("switch-eg", *switch(ctl, "c2", "TRUE"), "a loop", run("t0", "t1", loop=0))
    not_shown("switch-eg-open", *switch(ctl, "c2", "TRUE"), "the run is not infinite", run("t0", "t1"))
    witness("switch-af", *switch(ctl, "c3", "FALSE"), "a loop", run("t0", "t1", loop=0))
    witness("switch-af-long-loop", *switch(ctl, "c3", "FALSE"), "a loop after two steps", run("t0", "t1", "t0", "t1", loop=2))
    not_shown("switch-af-open", *switch(ctl, "c3", "FALSE"), "the run is not infinite", run("t0", "t1"))
    witness("switch-eu", *switch(ctl, "c4", "TRUE"), "before, then reach", run("t0"))
    witness("switch-state-formula", *switch(ctl, "c5", "TRUE"), "the initial marking decides it", run())
    not_shown("switch-ef-ag", *switch(ctl, "c6", "TRUE"), "a run does not show AG of its last marking", run("t0"))
    not_shown("switch-ef-ag-loop", *switch(ctl, "c6", "FALSE"), "other markings may satisfy it", run("t0", "t1", loop=0))
    not_shown("switch-ag-ef", *switch(ctl, "c7", "TRUE"), "a run does not show AG", run("t0", "t1", loop=0))
    witness("switch-af-alone", *switch(ctl, "c8", "TRUE"), "the initial marking decides it for all paths", run())
    not_shown("switch-af-first", *switch(ctl, "c3", "TRUE"), "not every path", run())
    witness("switch-au", *switch(ctl, "c9", "FALSE"), "neither before nor reach holds in the second marking", run("t0"))
    witness("switch-ex-ex", *switch(ctl, "c10", "TRUE"), "nested quantifiers", run("t0", "t1"))
    witness("switch-ctl-fireability", *switch("CTLFireability", "d0", "TRUE"), "a formula of reachability in CTL", run("t0"))
    witness("switch-ctl-invariant", *switch("CTLFireability", "d1", "FALSE"), "a marking that violates it", run("t0"))
    witness("switch-f", *switch(ltl, "l0", "FALSE"), "a loop without p2", run("t0", "t1", loop=0))
    not_shown("switch-f-open", *switch(ltl, "l0", "FALSE"), "p2 may be marked later", run("t0", "t1"))
    witness("switch-gf", *switch(ltl, "l1", "FALSE"), "a loop without p2", run("t0", "t1", loop=0))
    witness("switch-g-no-quantifier", *switch(ltl, "l2", "FALSE"), "a formula without a quantifier is about all paths", run("t0"))
    witness("switch-e-gf", *switch(ltl, "l3", "TRUE"), "one path", run("t0", "t1", loop=0))
    witness("switch-xx", *switch(ltl, "l4", "FALSE"), "a finite run is enough", run("t0", "t1"))
    witness("switch-u", *switch(ltl, "l5", "FALSE"), "a finite run is enough", run("t0"))
    witness("switch-f-alone", *switch(ltl, "l6", "TRUE"), "the initial marking decides it", run())
    witness("switch-fg", *switch(ltl, "l7", "FALSE"), "p0 is empty again and again", run("t0", "t1", loop=0))
    not_shown("switch-fg-open", *switch(ltl, "l7", "FALSE"), "the run is finite", run("t0", "t1"))
    not_shown("switch-g-true", *switch(ltl, "l8", "TRUE"), "one run does not show it for all paths", run("t0", "t1", loop=0))
    not_shown("switch-gf-true", *switch("LTLFireability", "m0", "TRUE"), "one run does not show it for all paths", run("t0", "t1", loop=0))
    witness("switch-fg-fireable", *switch("LTLFireability", "m1", "FALSE"), "t1 is not enabled again and again", run("t0", "t1", loop=0))

    finish = lambda exam, key, value: ("Finish-PT-1", exam, key, value)
    witness("finish-reachable", *finish(rc, "a0", "TRUE"), "after two firings", run("t", "t"))
    not_shown("finish-invariant", *finish(rc, "a1", "FALSE"), "no marking violates it", run("t", "t"))
    witness("finish-deadlock", *finish("ReachabilityDeadlock", "ReachabilityDeadlock", "TRUE"), "there is no property file", run("t", "t"))
    witness("finish-no-next", *finish(ctl, "b0", "TRUE"), "EX is false in a deadlock", run("t", "t"))
    witness("finish-all-next", *finish(ctl, "b1", "TRUE"), "AX is true in a deadlock", run("t", "t"))
    witness("finish-eg", *finish(ctl, "b2", "TRUE"), "a path ends in a deadlock", run("t", "t"))
    not_shown("finish-af", *finish(ctl, "b3", "TRUE"), "one run does not show it for all paths", run("t", "t"))
    witness("finish-ag-in-deadlock", *finish(ctl, "b4", "TRUE"), "a deadlock has one path only", run("t", "t"))
    witness("finish-gf", *finish(ltl, "n0", "FALSE"), "the last marking is repeated for ever", run("t", "t"))
    witness("finish-xxx", *finish(ltl, "n1", "FALSE"), "the last marking is repeated for ever", run("t", "t"))
    witness("finish-e-xxx", *finish(ltl, "n2", "TRUE"), "the last marking is repeated for ever", run("t", "t"))

    witness("large-reachable", "Large-PT-1", rc, "h0", "TRUE", "more than 2^64 - 1 tokens", run("t"))
    not_shown("large-invariant", "Large-PT-1", rc, "h1", "FALSE", "a has at most 2^64 - 1 tokens", run("t"))
    witness("source-fireable", "Source-PT-1", rf, "e1", "TRUE", "take is enabled", run("make"))
    witness("source-not-fireable", "Source-PT-1", rf, "e2", "TRUE", "take is not enabled", run())
    witness("source-g", "Source-PT-1", "LTLFireability", "y0", "FALSE", "a finite run is enough", run("make"))
    witness("source-e-gf", "Source-PT-1", "LTLFireability", "y1", "TRUE", "a loop", run("make", "take", loop=0))
    ring = lambda exam, key, value: ("Ring-COL-1", exam, key, value)
    witness("ring-fireable", *ring(rf, "r1", "TRUE"), "look is enabled with a", run())
    witness("ring-not-fireable", *ring(rf, "r2", "TRUE"), "look is enabled with no colour", run(MOVE_A))
    witness("ring-ex", *ring("CTLFireability", "i0", "TRUE"), "the next marking", run(MOVE_A))
    witness("ring-eg", *ring("CTLFireability", "i1", "TRUE"), "a loop of one step", run(LOOK, loop=0))
    witness("ring-fg", *ring("LTLFireability", "k0", "FALSE"), "successor wraps around", run(MOVE_A, MOVE_B, MOVE_C, loop=0))
    witness("ring-g", *ring("LTLFireability", "k1", "FALSE"), "a finite run is enough", run(MOVE_A))
    witness("colours-reachable", "Colours-COL-1", rc, "s0", "TRUE", "`all` without one colour", run(SPREAD))
    witness("colours-fireable", "Colours-COL-1", rf, "s1", "TRUE", "gather takes two colours", run(SPREAD))


def unbounded_witnesses():
    source = lambda exam, key, value: ("Source-PT-1", exam, key, value)
    good = witness("source-inf", *source("UpperBounds", "x0", "inf"), "make adds a token to p", run("make", repeat=0))
    witness("source-inf-two-places", *source("UpperBounds", "x2", "inf"), "a sum", run("make", repeat=0))
    witness("source-inf-in-place", *source("StateSpace", "MAX_TOKEN_IN_PLACE", "inf"), "a place", run("make", repeat=0))
    witness("source-inf-per-marking", *source("StateSpace", "MAX_TOKEN_PER_MARKING", "inf"), "all places", run("make", repeat=0))
    witness("source-inf-not-safe", *source("OneSafe", "OneSafe", "FALSE"), "an unbounded place is not safe", run("make", repeat=0))
    add("source-inf-late", changed(good, (["runs"], [run("make", "take", "make", repeat=2)])), "accepted", "a repeated part after two steps")
    add("source-inf-null", changed(good, (["runs", 0, "loop"], None)), "accepted", "null means no loop")
    add("source-inf-part", changed(good, (["runs"], [run("make", "make", "take", repeat=0)])), "accepted", "two tokens more, one less")
    for name, path, value, reason in [
        ("other-place", ["property"], "x1", "q gets no token"), ("no-part", ["runs"], [run("make")], "no repeated part"),
        ("part-null", ["runs", 0, "repeat"], None, "no repeated part"), ("loop", ["runs"], [run("make", "take", loop=0)], "a loop adds nothing"),
        ("nothing", ["runs"], [run("make", "take", repeat=0)], "the part adds no token"),
        ("lost", ["runs"], [run("make", "make", "take", repeat=2)], "the part takes a token away"),
        ("at-end", ["runs"], [run("make", repeat=1)], "a part without steps"), ("behind", ["runs"], [run("make", repeat=7)], "a part behind the end"),
        ("both", ["runs"], [{"steps": ["make"], "loop": 0, "repeat": 0}], "a loop and a repeated part"),
        ("two-runs", ["runs"], [run("make", repeat=0)] * 2, "exactly one run is allowed"), ("no-run", ["runs"], [], "exactly one run is allowed"),
        ("not-enabled", ["runs"], [run("take", repeat=0)], "take is not enabled"),
    ]:
        add(f"source-inf-{name}", changed(good, (path, value)), "refused", reason)
    for name, path, value, reason in [
        ("case", ["value"], "Inf", "no value"), ("plus", ["value"], "+inf", "no value"), ("word", ["value"], "infinity", "no value"),
        ("part-negative", ["runs", 0, "repeat"], -1, "no natural number"), ("part-text", ["runs", 0, "repeat"], "0", "no number"),
    ]:
        add(f"source-inf-{name}", changed(good, (path, value)), "unreadable", reason)
    not_shown("source-number-by-part", *source("UpperBounds", "x0", "1"), "a number is shown without a repeated part", run("make", repeat=0))
    not_shown("source-safe-by-part", *source("OneSafe", "OneSafe", "TRUE"), "no witness shows this value", run("make", repeat=0))
    not_shown("source-not-safe-by-other-part", *source("OneSafe", "OneSafe", "FALSE"), "the part adds no token", run("make", "take", repeat=0))
    not_shown("source-formula-by-part", *source("ReachabilityFireability", "e1", "TRUE"), "a formula is shown without a repeated part", run("make", repeat=0))
    not_shown("source-formula-inf", *source("ReachabilityFireability", "e1", "inf"), "a value of another kind", run("make", repeat=0))
    for key in ("STATES", "TRANSITIONS"):
        claim, word = source("StateSpace", key, "inf"), key.lower()
        good = witness(f"source-{word}-inf", *claim, "each repetition leads to another marking", run("make", repeat=0))
        for name, path, value, reason in [
            ("finite", ["value"], "2", "no witness shows a number of this property"), ("zero", ["value"], "0", "no witness shows a number of this property"),
            ("truth", ["value"], "TRUE", "a value of another kind"), ("nothing", ["runs"], [run("make", "take", repeat=0)], "the part adds no token"),
            ("lost", ["runs"], [run("make", "make", "take", repeat=2)], "the part takes a token away"), ("no-part", ["runs"], [run("make")], "no repeated part"),
            ("loop", ["runs"], [run("make", "take", loop=0)], "a loop adds nothing"), ("two-runs", ["runs"], [run("make", repeat=0)] * 2, "exactly one run is allowed"),
        ]:
            add(f"source-{word}-{name}", changed(good, (path, value)), "refused", reason)
        file = {"version": 1, "instance": "Source-PT-1", "examination": "StateSpace", "property": key, "lemmas": [], "proof": [closed([], [])]}
        for value in ("inf", "2"):
            add(f"source-{word}-certificate-{value}", {**file, "value": value}, "refused", "no certificate shows this property")
        witness(f"pump-{word}-inf", "Pump-COL-1", "StateSpace", key, "inf", "after three steps `at` has its colour again",
                run(*(step("pump", x=colour) for colour in "abc"), repeat=0))
    not_shown("bare-states-inf", "Bare-PT-1", "StateSpace", "STATES", "inf", "no token is added", run("t", repeat=0))
    not_shown("source-global-inf", *source("OneSafe", "OneSafe", "inf"), "a value of another kind", run("make", repeat=0))
    not_shown("source-quasi-live-by-part", *source("QuasiLiveness", "QuasiLiveness", "TRUE"), "this value is shown without a repeated part",
              run("make", "take", "make", repeat=2))
    not_shown("source-stable-by-part", *source("StableMarking", "StableMarking", "FALSE"), "this value is shown without a repeated part", run("make", repeat=0))
    not_shown("finish-inf", "Finish-PT-1", "UpperBounds", "v0", "inf", "s loses a token", run("t", repeat=0))
    pump, one, two, three = ("Pump-COL-1", "UpperBounds"), *(step("pump", x=colour) for colour in "abc")
    good = witness("pump-inf", *pump, "o0", "inf", "after three steps `at` has its colour again", run(one, two, three, repeat=0))
    witness("pump-inf-two-places", *pump, "o1", "inf", "a sum", run(one, two, three, repeat=0))
    witness("pump-inf-in-place", "Pump-COL-1", "StateSpace", "MAX_TOKEN_IN_PLACE", "inf", "one colour is enough", run(one, two, three, repeat=0))
    witness("pump-inf-not-safe", "Pump-COL-1", "OneSafe", "OneSafe", "FALSE", "an unbounded place is not safe", run(one, two, three, repeat=0))
    add("pump-inf-late", changed(good, (["runs"], [run(one, step("drain"), two, three, one, repeat=0)])), "refused", "`at` has another colour")
    add("pump-inf-drained", changed(good, (["runs"], [run(one, two, three, one, "drain", two, three, repeat=3)])), "accepted", "tokens of two colours are added")
    add("pump-inf-at", changed(good, (["property"], "o2")), "refused", "`at` gets no token")
    add("pump-inf-one-step", changed(good, (["runs"], [run(one, repeat=0)])), "refused", "`at` lost its colour a")
    add("pump-inf-lost", changed(good, (["runs"], [run(one, two, three, "drain", repeat=3)])), "refused", "the part takes a token away")
    for name in ("large-bound-a", "ring-bound-certificate"):
        add(f"{name}-inf", changed(json.loads(FILES[name][4]), (["value"], "inf")), "refused", "no certificate shows this value")


def wrong_steps():
    good = witness("steps", "Switch-PT-1", "LTLCardinality", "l3", "TRUE", "a loop after one step", run("t0", "t1", "t0", loop=1), needs_all=False)
    for name, steps, loop, reason in [
        ("unknown", ["t0", "t1", "t9"], None, "no such transition"), ("order", ["t1", "t0"], 0, "t1 is not enabled"),
        ("place", ["p0"], None, "a place is no transition"), ("not-closed", ["t0"], 0, "the loop does not end where it begins"),
        ("loop-at-end", ["t0", "t1"], 2, "a loop without steps"), ("loop-behind", ["t0", "t1"], 9, "a loop behind the end"),
        ("loop-empty", [], 0, "a loop without steps"), ("loop-late", ["t0", "t1", "t0", "t1"], 3, "the loop does not close"),
        ("dead-transition", ["t3"], None, "one token is not two"), ("binding", [step("t0", x="a")], None, "t0 has no variable"),
    ]:
        add(f"steps-{name}", changed(good, (["runs"], [run(*steps, loop=loop)])), "refused", reason)
    add("steps-object", changed(good, (["runs"], [run(step("t0"), "t1", loop=0)])), "accepted", "an object without variables means the same as its id")
    add("steps-loop-null", changed(good, (["value"], "TRUE"), (["property"], "l3"), (["runs"], [{"steps": ["t0", "t1", "t0"], "loop": None}])),
        "refused", "null means a finite run")
    ring = FILES["ring-ex"]
    good = json.loads(ring[4])
    for name, one, reason in [
        ("no-binding", "move", "move has a variable"), ("empty-binding", step("move"), "move has a variable"),
        ("other-variable", step("move", y="a"), "move has another variable"), ("two-variables", step("move", x="a", y="a"), "move has one variable"),
        ("unknown-colour", step("move", x="d"), "no such colour"), ("number", step("move", x="0"), "colours are named by their ids"),
        ("tuple", step("move", x=["a"]), "a colour is no list of one component"), ("other-colour", step("move", x="b"), "not enabled with b"),
        ("guard", step("look", x="b"), "the guard is false"), ("case", step("move", x="A"), "ids are compared exactly"),
    ]:
        add(f"binding-{name}", changed(good, (["runs"], [run(one)])), "refused", reason)
    good = json.loads(FILES["colours-reachable"][4])
    for name, one, reason in [
        ("range-sign", step("spread", x="c1", r="+1"), "a number of a range has one spelling"),
        ("range-zero", step("spread", x="c1", r="-01"), "a number of a range has one spelling"),
        ("range-end", step("spread", x="c1", r="2"), "a number outside of the range"),
        ("partition", step("spread", x="low", r="-1"), "an element of a partition is no colour of x"),
        ("imply", step("spread", x="c0", r="-1"), "the guard is false"), ("low", step("raise", x="c2", r="-1"), "the guard is false"),
        ("not-there", step("spread", x="c1", r="0"), "no such token"), ("gather-first", step("gather", x="c0", y="c1"), "no token on `others`"),
    ]:
        add(f"binding-{name}", changed(good, (["runs"], [run(one)])), "refused", reason)


SHARED, NO_P2, ONE_P3 = at_most(1, weight("p0"), weight("p1")), at_most(0, weight("p2")), at_most(1, weight("p3"))


def plain_certificates():
    switch = lambda exam, key, value: ("Switch-PT-1", exam, key, value)
    rc, rf = "ReachabilityCardinality", "ReachabilityFireability"
    two, three = [SHARED, NO_P2], [SHARED, NO_P2, ONE_P3]
    exclusive = certificate("switch-exclusion", *switch(rc, "f0", "TRUE"), "a disjunction in a conjunction", two,
                            [cases(0), closed([0], [0, 1]), closed([1], [1])])
    certificate("switch-unreachable", *switch(rc, "f1", "FALSE"), "the second lemma needs that t3 is never enabled", two, [closed([1], [0])])
    certificate("switch-split", *switch(rc, "f2", "FALSE"), "only integers", [],
                [{"split": {"weights": [weight("p0")], "bound": "0"}}, closed([], [0, (2, "2")]), closed([], [1, (2, "2")])])
    certificate("switch-negation", *switch(rc, "f3", "TRUE"), "a negation before the quantifier", two, [closed([1], [0])])
    certificate("switch-empty-sum-certificate", *switch(rc, "f7", "FALSE"), "an empty sum is 0", [], [closed([], [0])])
    certificate("switch-not-negative", *switch(rc, "f8", "TRUE"), "tokens are not negative", [], [closed([], [0])])
    certificate("switch-never-fireable", *switch(rf, "g1", "FALSE"), "a case for each transition, in the order of the list", two,
                [cases(0), closed([1], [0]), closed([0], [0])])
    certificate("switch-empty-list-certificate", *switch(rf, "g2", "TRUE"), "a disjunction without cases", [], [cases(0)])
    live = [SHARED, trap("p0", "p1")]
    certificate("switch-always-fireable", *switch(rf, "g3", "TRUE"), "a trap", live, [closed([1], [0, 1])])
    dead = certificate("switch-no-deadlock", *switch("ReachabilityDeadlock", "dead", "FALSE"), "a trap", live, [closed([1], [0, 1])])
    certificate("switch-bound-certificate", *switch("UpperBounds", "u0", "1"), "an invariant", [SHARED], [closed([0], [0])])
    certificate("switch-bound-sum", *switch("UpperBounds", "u1", "1"), "an invariant", [SHARED], [closed([0], [0])])
    certificate("switch-bound-twice", *switch("UpperBounds", "u2", "2"), "a place that is listed twice counts twice", three,
                [closed([(2, "2")], [0])])
    certificate("switch-bound-none", *switch("UpperBounds", "u3", "0"), "never marked", two, [closed([1], [0])])
    each = [cases(0), closed([0], [0]), closed([0], [0]), closed([1], [0]), closed([2], [0])]
    certificate("switch-in-place-certificate", *switch("StateSpace", "MAX_TOKEN_IN_PLACE", "1"), "a case for each place", three, each)
    certificate("switch-per-marking-certificate", *switch("StateSpace", "MAX_TOKEN_PER_MARKING", "2"), "a rational factor",
                [SHARED, NO_P2, at_most("1/2", weight("p3", "1/2"))], [closed([0, 1, (2, "2")], [0])])
    certificate("switch-safe", *switch("OneSafe", "OneSafe", "TRUE"), "a case for each place", three, each)
    never = certificate("switch-not-quasi-live", *switch("QuasiLiveness", "QuasiLiveness", "FALSE"), "t3 needs two tokens", [SHARED],
                        [closed([0], [0])], subject="t3")
    certificate("switch-not-live", *switch("Liveness", "Liveness", "FALSE"), "t2 is never enabled", two, [closed([1], [0])], subject="t2")
    stable = certificate("switch-stable", *switch("StableMarking", "StableMarking", "TRUE"), "fewer, then more tokens",
                         three + [at_most(-1, weight("p3", -1))], [cases(0), closed([3], [0]), closed([2], [0])], subject="p3")
    certificate("switch-stable-empty", *switch("StableMarking", "StableMarking", "TRUE"), "fewer than 0 tokens is impossible", two,
                [cases(0), closed([], [0]), closed([1], [0])], subject="p2")
    certificate("finish-bound-certificate", "Finish-PT-1", "UpperBounds", "v0", "2", "an invariant",
                [at_most(2, weight("s"), weight("d"))], [closed([0], [0])])
    certificate("finish-invariant-certificate", "Finish-PT-1", rc, "a1", "TRUE", "an invariant",
                [at_most(2, weight("s"), weight("d"))], [closed([0], [0])])
    total = MOST * 2**33 + MOST**2
    certificate("large-bound-certificate", "Large-PT-1", "UpperBounds", "w0", str(total // 2**33), "numbers of 128 bits",
                [at_most(total, weight("b", 2**33), weight("a", MOST))], [closed([(0, f"1/{2**33}")], [0])])
    certificate("large-bound-a", "Large-PT-1", "UpperBounds", "w2", str(MOST), "a rational weight",
                [at_most(MOST // 3, weight("a", "1/3"))], [closed([(0, "3")], [0])])
    certificate("large-invariant-certificate", "Large-PT-1", rc, "h1", "TRUE", "a constant of 2^64 - 1", [at_most(MOST, weight("a"))], [closed([0], [0])])
    certificate("empty-stable", "Empty-PT-1", "StableMarking", "StableMarking", "TRUE", "no transition changes p",
                [at_most(1, weight("p")), at_most(-1, weight("p", -1))], [cases(0), closed([1], [0]), closed([0], [0])], subject="p")
    certificate("source-no-deadlock", "Source-PT-1", "ReachabilityDeadlock", "ReachabilityDeadlock", "FALSE",
                "make needs nothing: a disjunction without cases", [], [cases(0)])
    certificate("source-always-fireable", "Source-PT-1", rf, "e0", "TRUE", "make needs nothing", [], [cases(0)])
    certificate("source-bound-certificate", "Source-PT-1", "UpperBounds", "x1", "1", "take does not change q", [at_most(1, weight("q"))], [closed([0], [0])])
    certificate("source-stable", "Source-PT-1", "StableMarking", "StableMarking", "TRUE", "take does not change q",
                [at_most(1, weight("q")), at_most(-1, weight("q", -1))], [cases(0), closed([1], [0]), closed([0], [0])], subject="q")

    # Further proofs of the same values.
    add("proof-factor-zero", changed(exclusive, (["proof", 1], closed([0, (1, "0")], [0, 1]))), "accepted", "a factor may be 0")
    add("proof-number-twice", changed(exclusive, (["proof", 1], closed([(0, "1/2"), (0, "1/2")], [0, 1]))), "accepted", "a number may occur twice")
    add("proof-unused-lemma", changed(exclusive, (["lemmas"], [SHARED, NO_P2, ONE_P3])), "accepted", "a lemma need not be used")
    add("proof-other-lemma", changed(never, (["lemmas"], [at_most(1, weight("p0"), weight("p1"), weight("p2"))])), "accepted", "another invariant shows it too")
    add("proof-zero-weight", changed(never, (["lemmas"], [at_most(1, weight("p0"), weight("p1"), weight("p3", 0))])), "accepted", "a weight may be 0")
    add("proof-dot", changed(never, (["lemmas"], [at_most(1, weight("p0", 1, "dot"), weight("p1"))])), "accepted", "dot is the colour of a place of a P/T net")
    add("proof-colour-null", changed(never, (["lemmas", 0, "inequality", "weights", 0, "colour"], None)), "accepted", "null means all colours")
    add("proof-needless-split", changed(never, (["proof"], [{"split": {"weights": [], "bound": "7"}}, closed([0], [0]), closed([0], [0])])),
        "accepted", "a split of nothing")
    add("proof-split-once", changed(never, (["proof"], [{"split": {"weights": [], "bound": "7"}}, closed([0], [0])])), "refused", "a split has two cases")
    add("proof-split-assumed", changed(never, (["lemmas"], []), (["proof"], [
        {"split": {"weights": [weight("p0")], "bound": "1"}}, closed([], [0, 1]), closed([], [0])])), "refused", "the second case is not refuted")
    add("trap-place-twice", changed(dead, (["lemmas", 1], trap("p0", "p1", "p0"))), "accepted", "a trap may name a place twice")
    for name, base, path, value, reason in [
        ("proof-negative-factor", exclusive, ["proof", 1], closed([(0, "-1")], [0, 1]), "a negative factor"),
        ("proof-unknown-lemma", exclusive, ["proof", 1], closed([2], [0, 1]), "no such lemma"),
        ("proof-unknown-assumption", exclusive, ["proof", 1], closed([0], [0, 2]), "no such assumption"),
        ("proof-unknown-disjunction", exclusive, ["proof", 0], cases(1), "no such disjunction"),
        ("proof-forgotten-case", exclusive, ["proof", 2], closed([1], [0, 1, 2]), "the assumption of another case"),
        ("proof-bound-zero", exclusive, ["proof", 1], closed([0], [0]), "the bound of the sum is not negative"),
        ("proof-nothing", exclusive, ["proof", 1], closed([], []), "0 <= 0 is no contradiction"),
        ("proof-negative-weight", exclusive, ["proof", 1], closed([], [0, 1]), "a negative weight"),
        ("proof-no-nodes", exclusive, ["proof"], [], "an open case"),
        ("proof-third-case", exclusive, ["proof"], exclusive["proof"] + [closed([1], [1])], "a third case of two"),
        ("split-half", json.loads(FILES["switch-split"][4]), ["proof", 0, "split", "bound"], "1/2", "a bound that is no integer"),
        ("split-half-weight", json.loads(FILES["switch-split"][4]), ["proof", 0, "split", "weights", 0, "weight"], "1/2", "a weight that is no integer"),
        ("split-other-bound", json.loads(FILES["switch-split"][4]), ["proof", 0, "split", "bound"], "1", "the first case has a solution"),
        ("split-place-twice", json.loads(FILES["switch-split"][4]), ["proof", 0, "split", "weights"], [weight("p0"), weight("p0")], "a place twice in a sum"),
        ("lemma-initially", exclusive, ["lemmas", 0, "inequality", "bound"], "0", "false in the initial marking"),
        ("lemma-fraction-initially", exclusive, ["lemmas", 0, "inequality", "bound"], "1/2", "false in the initial marking"),
        ("lemma-increased", exclusive, ["lemmas", 0, "inequality", "weights"], [weight("p1")], "t0 increases the sum"),
        ("lemma-weaker", exclusive, ["lemmas", 0, "inequality", "bound"], "2", "t3 is not shown to be never enabled"),
        ("lemma-order", exclusive, ["lemmas"], [NO_P2, SHARED], "a lemma uses only those before it"),
        ("lemma-itself", exclusive, ["lemmas"], [NO_P2], "t3 increases the sum"),
        ("lemma-negative-weight", exclusive, ["lemmas", 0, "inequality", "weights"], [weight("p0"), weight("p1"), weight("p3", -1)],
         "a lemma with a negative weight shows no transition to be never enabled"),
        ("lemma-place-twice", exclusive, ["lemmas", 0, "inequality", "weights"], [weight("p0"), weight("p1"), weight("p0")], "a place twice in a sum"),
        ("lemma-unknown-place", exclusive, ["lemmas", 0, "inequality", "weights", 0, "place"], "p9", "no such place"),
        ("lemma-transition", exclusive, ["lemmas", 0, "inequality", "weights", 0, "place"], "t0", "a transition is no place"),
        ("lemma-unknown-colour", exclusive, ["lemmas", 0, "inequality", "weights", 0, "colour"], "red", "no such colour"),
        ("trap-left", dead, ["lemmas", 1], trap("p0"), "t0 takes a token from the trap"),
        ("trap-empty", dead, ["lemmas", 1], trap(), "no token initially"),
        ("trap-unmarked", dead, ["lemmas", 1], trap("p2"), "no token initially"),
        ("trap-unknown-place", dead, ["lemmas", 1], trap("p9"), "no such place"),
        ("trap-without-lemma", dead, ["lemmas", 0], at_most(2, weight("p0"), weight("p1")), "t3 takes a token from the trap"),
        ("trap-shows-nothing-dead", dead, ["lemmas"], [trap("p0", "p1", "p2", "p3"), trap("p0", "p1")], "a trap shows no transition to be never enabled"),
        ("subject-missing", never, ["subject"], None, "no subject"),
        ("subject-unknown", never, ["subject"], "t9", "no such transition"),
        ("subject-enabled", never, ["subject"], "t0", "t0 is enabled"),
        ("subject-place", never, ["subject"], "p0", "a place is no transition"),
        ("subject-needless", exclusive, ["subject"], "p0", "this value has no subject"),
        ("stable-transition", stable, ["subject"], "t0", "a transition is no place"),
        ("stable-other-place", stable, ["subject"], "p0", "p0 changes"),
        ("stable-order", stable, ["proof"], [cases(0), closed([2], [0]), closed([3], [0])], "fewer comes before more"),
        ("bound-as-lower", json.loads(FILES["switch-bound-certificate"][4]), ["value"], "0", "the bound is 1"),
    ]:
        add(name, changed(base, (path, value)), "refused", reason)
    for name, exam, key, value, reason in [
        ("certificate-reachable", rc, "f4", "TRUE", "no certificate shows that a marking is reachable"),
        ("certificate-ctl", "CTLCardinality", "c2", "TRUE", "EG has no certificate"),
        ("certificate-nested", "CTLCardinality", "c7", "TRUE", "a path operator inside"),
        ("certificate-ltl", "LTLCardinality", "l1", "FALSE", "no certificate for a path"),
        ("certificate-state-formula", "CTLCardinality", "c5", "TRUE", "a state formula has a witness only"),
        ("certificate-not-safe", "OneSafe", "OneSafe", "FALSE", "no certificate shows this value"),
        ("certificate-states", "StateSpace", "STATES", "2", "no certificate shows this property"),
    ]:
        add(name, changed(exclusive, (["examination"], exam), (["property"], key), (["value"], value)), "refused", reason)
    for name, exam, key, value, subject, reason in [
        ("certificate-quasi-live", "QuasiLiveness", "QuasiLiveness", "TRUE", "t3", "no certificate shows this value"),
        ("certificate-live", "Liveness", "Liveness", "TRUE", "t3", "no certificate shows this value"),
        ("certificate-not-stable", "StableMarking", "StableMarking", "FALSE", "p3", "no certificate shows this value"),
    ]:
        add(name, changed(never, (["examination"], exam), (["property"], key), (["value"], value), (["subject"], subject)), "refused", reason)


def coloured_certificates():
    ring = lambda exam, key, value: ("Ring-COL-1", exam, key, value)
    rc, rf = "ReachabilityCardinality", "ReachabilityFireability"
    still = [at_most(0 if colour == "a" else 1, weight("still", 1, colour)) for colour in "abc"]
    lemmas = [at_most(1, weight("at")), *still, at_most(0, weight("seen"))]
    least = [at_most(-1, weight("still", -1, colour)) for colour in "bc"]
    live = [lemmas[0], trap("at")]
    unseen = certificate("ring-unreachable", *ring(rc, "q0", "FALSE"), "three lemmas show that nothing puts tokens on `seen`", lemmas, [closed([4], [0])])
    certificate("ring-invariant", *ring(rc, "q1", "TRUE"), "a weight without colour stands for all colours", lemmas[:1], [closed([0], [0])])
    certificate("ring-invariant-by-colour", *ring(rc, "q1", "TRUE"), "a weight for each colour",
                [at_most(1, *(weight("at", 1, colour) for colour in "cab"))], [closed([0], [0])])
    trapped = certificate("ring-trap", *ring(rc, "q2", "FALSE"), "a trap without colour has all colours", live, [closed([1], [0])])
    certificate("ring-trap-by-colour", *ring(rc, "q2", "FALSE"), "a trap of three colours", [lemmas[0], trap(("at", "a"), ("at", "b"), ("at", "c"))],
                [closed([1], [0])])
    meets = certificate("ring-meet", *ring(rf, "r0", "FALSE"), "a case for each binding", lemmas[:1], [cases(0)] + [closed([0], [0])] * 3)
    certificate("ring-always-fireable", *ring(rf, "r3", "TRUE"), "not enabled with any binding", live, [closed([1], [0, 1, 2])])
    certificate("ring-no-deadlock", *ring("ReachabilityDeadlock", "ReachabilityDeadlock", "FALSE"), "there is no property file", live, [closed([1], [0, 1, 2])])
    certificate("ring-no-deadlock-by-case", *ring("ReachabilityDeadlock", "ReachabilityDeadlock", "FALSE"),
                "look is the only transition with two input places", live, [cases(0), closed([1], [0, 1, 2]), closed([1], [0, 1, 2])])
    threes = certificate("ring-three", *ring(rf, "r4", "FALSE"), "bindings in the order of the colours", still, [cases(0), *(closed([n], [0]) for n in range(3))])
    crosses = certificate("ring-cross", *ring(rf, "r5", "FALSE"), "bindings of y, then x; `at`, then `still`", still,
                          [cases(0)] + [closed([n], [1]) for n in (0, 0, 1, 1, 2, 2)])
    certificate("ring-not-quasi-live", *ring("QuasiLiveness", "QuasiLiveness", "FALSE"), "three with all bindings", still,
                [cases(0), *(closed([n], [0]) for n in range(3))], subject="three")
    certificate("ring-not-live", *ring("Liveness", "Liveness", "FALSE"), "meet with all bindings", lemmas[:1], [cases(0)] + [closed([0], [0])] * 3, subject="meet")
    certificate("ring-stable", *ring("StableMarking", "StableMarking", "TRUE"), "by colour: fewer, then more", still + least,
                [cases(0), closed([], [0]), closed([0], [0]), closed([3], [0]), closed([1], [0]), closed([4], [0]), closed([2], [0])], subject="still")
    certificate("ring-stable-empty", *ring("StableMarking", "StableMarking", "TRUE"), "by colour: fewer, then more", lemmas,
                [cases(0)] + [closed([], [0]), closed([4], [0])] * 3, subject="seen")
    certificate("ring-bound-certificate", *ring("UpperBounds", "z0", "3"), "summed over colours", lemmas[:4], [closed([0, 1, 2, 3], [0])])
    certificate("ring-in-place-certificate", *ring("StateSpace", "MAX_TOKEN_IN_PLACE", "1"), "a case for each place and colour", lemmas,
                [cases(0), *(closed([n], [0]) for n in (0, 0, 0, 4, 4, 4, 1, 2, 3))])
    certificate("ring-per-marking-certificate", *ring("StateSpace", "MAX_TOKEN_PER_MARKING", "3"), "all places and colours", lemmas,
                [closed([0, 1, 2, 3, 4], [0])])
    for name, base, path, value, reason in [
        ("ring-colour-and-all", unseen, ["lemmas", 0], at_most(1, weight("at"), weight("at", 1, "a")), "a colour twice in a sum"),
        ("ring-colour-twice", unseen, ["lemmas", 0], at_most(1, weight("at", 1, "a"), weight("at", 1, "a")), "a colour twice in a sum"),
        ("ring-one-colour", unseen, ["lemmas", 0], at_most(1, weight("at", 1, "a")), "move increases the sum"),
        ("ring-unknown-colour", unseen, ["lemmas", 0], at_most(1, weight("at", 1, "d")), "no such colour"),
        ("ring-colour-dot", unseen, ["lemmas", 0], at_most(1, weight("at", 1, "dot")), "no such colour"),
        ("ring-colour-list", unseen, ["lemmas", 0], at_most(1, weight("at", 1, ["a"])), "a colour is no list of one component"),
        ("ring-lemma-order", unseen, ["lemmas"], [lemmas[4], *lemmas[:4]], "meet puts tokens on `seen`"),
        ("ring-trap-left", trapped, ["lemmas", 1], trap(("at", "a"), ("at", "b")), "move takes the last token from b"),
        ("ring-trap-first", trapped, ["lemmas"], [trap("at"), lemmas[0]], "meet takes tokens from the trap"),
        ("ring-two-bindings", meets, ["proof"], [cases(0)] + [closed([0], [0])] * 2, "a binding is missing"),
        ("ring-four-bindings", meets, ["proof"], [cases(0)] + [closed([0], [0])] * 4, "a binding too many"),
        ("ring-binding-order", threes, ["proof"], [cases(0), *(closed([n], [0]) for n in (2, 1, 0))], "bindings in another order"),
        ("ring-variable-order", crosses, ["proof"], [cases(0)] + [closed([n], [1]) for n in (1, 2, 0, 2, 0, 1)], "x before y"),
        ("ring-guard-ignored", crosses, ["proof"], [cases(0)] + [closed([n], [1]) for n in (0, 0, 0, 1, 1, 1, 2, 2, 2)], "bindings whose guard is false"),
        ("ring-input-order", crosses, ["proof"], [cases(0)] + [closed([n], [0]) for n in (0, 0, 1, 1, 2, 2)], "`at` before `still`"),
    ]:
        add(name, changed(base, (path, value)), "refused", reason)
    colours = lambda exam, key, value: ("Colours-COL-1", exam, key, value)
    others = at_most(4, weight("others"), weight("lock", 2))
    pairs = at_most(1, *(weight("pairs", 1, [first, second]) for first in ("c0", "c1", "c2") for second in ("-1", "0", "1")), weight("lock", -1))
    certificate("colours-bound-certificate", *colours("UpperBounds", "s2", "4"), "an invariant over several places", [others], [closed([0], [0])])
    tuples = certificate("colours-tuples", *colours("UpperBounds", "s3", "3"), "colours of a product", [others, pairs], [closed([(0, "1/2"), 1], [0])])
    certificate("colours-cases", *colours(rf, "s4", "FALSE"), "raise has four bindings", [others, pairs], [cases(0)] + [closed([(0, "1/2"), 1], [0])] * 4)
    for name, colour, reason in [
        ("short", ["c0"], "a tuple of one component"), ("long", ["c0", "-1", "-1"], "a tuple of three components"),
        ("nested", [["c0"], "-1"], "a nested list"), ("plain", "c0", "no tuple"), ("order", ["-1", "c0"], "components in another order"),
        ("range", ["c0", "2"], "a number outside of the range"),
    ]:
        add(f"colours-tuple-{name}", changed(tuples, (["lemmas", 1, "inequality", "weights", 0, "colour"], colour)), "refused", reason)


def closed_set(places, *markings):
    names = [{"place": place} if isinstance(place, str) else {"place": place[0], "colour": place[1]} for place in places]
    return {"closed": {"places": names, "markings": [list(marking) for marking in markings]}}


def clause(*literals):
    return [literal["inequality"] for literal in literals]


def invariants():
    """Inductive invariants and closed sets."""
    switch = lambda key, value: ("Switch-PT-1", "ReachabilityCardinality", key, value)
    zero = {place: at_most(0, weight(place)) for place in ("p0", "p1")}
    one = {place: at_most(1, weight(place)) for place in ("p0", "p1")}
    exclusive = clause(zero["p0"], zero["p1"])
    shared = at_most(1, weight("p0"), weight("p1"))
    # t0 and t1 increase a sum of the clause.
    kept = [closed([0], [1]), closed([0], [2])]
    lemma = {"invariant": {"clauses": [exclusive], "proof": kept}}
    final = [cases(0), closed([], [0, 2]), closed([], [1, 2])]
    good = certificate("invariant", *switch("f9", "TRUE"), "a clause that a lemma helps to keep", [shared, lemma], final)
    alone = {"invariant": {"clauses": [clause(one["p0"]), exclusive, clause(one["p1"])], "proof": [
        cases(0), closed([], [1, 4]), closed([], [0, 4]), closed([], [1, 3]), closed([], [2, 4]), cases(0), closed([], [0, 4]), closed([], [1, 4])]}}
    final_alone = [cases(0), closed([], [0, 4]), closed([], [1, 4])]
    three = certificate("invariant-alone", *switch("f9", "TRUE"), "three clauses that keep each other", [alone], final_alone)
    certificate("invariant-disjunctions", *switch("f10", "FALSE"), "the clauses follow the condition", [alone],
                [cases(0), closed([], [0, 5]), closed([], [1, 5])])
    unneeded = {"invariant": {"clauses": [clause(at_most(3, weight("p1", -1)))], "proof": []}}
    for name, lemmas, proof, verdict, reason in [
        ("trivial", [shared, unneeded, {"invariant": {"clauses": [exclusive], "proof": [closed([0], [1]), closed([0], [2])]}}],
         [cases(0), closed([], [0, 3]), closed([], [1, 3])], "refused", "t0 decreases p1, so the first invariant needs a proof for t1"),
        ("two", [shared, {"invariant": {"clauses": [], "proof": []}}, lemma], final, "accepted", "an invariant without clauses"),
        ("later", [lemma, shared], final, "refused", "the inequality comes later"),
        ("as-inequality", [shared, lemma], [closed([1], [0])], "refused", "an invariant counts as 0 <= 0"),
        ("in-sum", [shared, lemma], [cases(0), closed([1], [0, 2]), closed([1], [1, 2])], "accepted", "0 <= 0 may be added"),
        ("number", [lemma, shared], [cases(0), closed([], [0, 2]), closed([], [1, 2])], "refused", "lemma 0 is the invariant itself"),
    ]:
        add(f"invariant-{name}", changed(good, (["lemmas"], lemmas), (["proof"], proof)), verdict, reason)
    at = ["lemmas", 1, "invariant"]
    for name, base, path, value, reason in [
        ("no-proof", good, [*at, "proof"], [], "t0 and t1 must be refuted"), ("one-proof", good, [*at, "proof"], kept[:1], "t1 must be refuted"),
        ("more-proof", good, [*at, "proof"], kept + [closed([], [])], "a node after the end"), ("order", good, [*at, "proof"], kept[::-1], "t0 before t1"),
        ("initially", good, [*at, "clauses"], [clause(zero["p0"])], "initially p0 has a token"), ("empty-clause", good, [*at, "clauses"], [[]], "an empty clause is false"),
        ("fraction", good, [*at, "clauses", 0, 0, "bound"], "1/2", "not an integer"), ("fraction-weight", good, [*at, "clauses", 0, 0, "weights", 0, "weight"], "1/2", "not an integer"),
        ("place", good, [*at, "clauses", 0, 0, "weights", 0, "place"], "p9", "an unknown place"), ("forgotten", three, ["lemmas", 0, "invariant", "clauses"], [exclusive], "the clauses alone are not kept"),
        ("clause-order", three, ["lemmas", 0, "invariant", "clauses"], [exclusive, clause(one["p0"]), clause(one["p1"])], "clauses in another order"),
        ("strict", good, [*at, "clauses", 0, 1, "bound"], "-1", "t0 falsifies it"),
    ]:
        add(f"invariant-{name}", changed(base, (path, value)), "refused", reason)
    for name, path, value, reason in [
        ("clauses", [*at, "clauses"], {}, "no list"), ("clause", [*at, "clauses", 0], {}, "no list"), ("literal", [*at, "clauses", 0, 0], [[], "0"], "no object"),
        ("field", [*at, "name"], "", "an unknown field"), ("missing", at, {"clauses": []}, "a field is missing"), ("list", at, [[], []], "no object"),
        ("wrapped", [*at, "clauses", 0, 0], zero["p0"], "an inequality without its name"),
    ]:
        add(f"invariant-form-{name}", changed(good, (path, value)), "unreadable", reason)

    pair = closed_set(["p0", "p1"], (1, 0), (0, 1))
    good = certificate("closed", *switch("f9", "TRUE"), "two markings of two places", [pair], [{"closed": 0}])
    certificate("closed-bound", "Switch-PT-1", "UpperBounds", "u1", "1", "a bound", [pair], [{"closed": 0}])
    certificate("closed-case", *switch("f0", "TRUE"), "a disjunction that is false in a marking", [pair, shared, at_most(0, weight("p2"))],
                [cases(0), {"closed": 0}, closed([2], [1])])
    certificate("closed-lemma", *switch("f0", "TRUE"), "a transition that a lemma shows to be dead", [shared, closed_set(["p2"], (0,)), pair],
                [cases(0), {"closed": 2}, {"closed": 1}])
    certificate("closed-one-safe", "Switch-PT-1", "OneSafe", "OneSafe", "TRUE", "a case for each place", [closed_set(["p0", "p1", "p2", "p3"], (1, 0, 0, 1), (0, 1, 0, 1))], [{"closed": 0}])
    certificate("closed-transition", "Switch-PT-1", "QuasiLiveness", "QuasiLiveness", "FALSE", "a transition that is never enabled", [pair], [{"closed": 0}], subject="t3")
    certificate("closed-stable", "Switch-PT-1", "StableMarking", "StableMarking", "TRUE", "other places may do what they want", [closed_set(["p0", "p1", "p2", "p3"], (1, 0, 0, 1), (0, 1, 0, 1))], [{"closed": 0}], subject="p3")
    turn = lambda exam, key, value: ("Turn-COL-1", exam, key, value)
    around = closed_set(["at"], (1, 0, 0), (0, 1, 0), (0, 0, 1))
    col = certificate("closed-colours", *turn("ReachabilityCardinality", "t0", "TRUE"), "all colours of a place", [around], [{"closed": 0}])
    certificate("closed-colours-listed", *turn("UpperBounds", "t1", "1"), "colours in another order",
                [closed_set([("at", "c"), ("at", "a"), ("at", "b")], (0, 1, 0), (0, 0, 1), (1, 0, 0))], [{"closed": 0}])
    at = ["lemmas", 0, "closed"]
    for name, base, path, value, reason in [
        ("missing", good, [*at, "markings"], [[1, 0]], "t0 leads to another marking"), ("initial", good, [*at, "markings"], [[0, 1]], "the initial marking is missing"),
        ("empty", good, [*at, "markings"], [], "the initial marking is missing"), ("short", good, [*at, "markings", 1], [0], "a place is missing"),
        ("long", good, [*at, "markings", 1], [0, 1, 0], "a place too many"), ("large", good, [*at, "markings"], [[1, 0], [0, 1], [2**64 - 1, 0]], "t3 and t0 lead to other markings"),
        ("twice", good, [*at, "places"], [{"place": "p0"}, {"place": "p0"}], "a place twice"), ("unknown", good, [*at, "places", 0, "place"], "p9", "an unknown place"),
        ("one-place", good, ["lemmas"], [closed_set(["p0"], (1,), (0,))], "t1 puts on p0 without end, as far as p0 is concerned"),
        ("other-places", good, ["lemmas"], [closed_set([], ())], "the places of the condition are missing"),
        ("number", good, ["proof"], [{"closed": 1}], "no such lemma"), ("no-closed", good, ["lemmas"], [at_most(1, weight("p0"), weight("p1"))], "the lemma is no closed set"),
        ("reachable", good, ["property"], "f4", "the condition is reachable"), ("contradiction", good, ["proof"], [closed([0], [0])], "a closed set counts as 0 <= 0"),
        ("colour", col, [*at, "places", 0, "colour"], "a", "one colour only"), ("colour-order", col, [*at, "markings"], [[1, 0, 0], [0, 0, 1]], "a marking is missing"),
    ]:
        add(f"closed-{name}", changed(base, (path, value)), "refused", reason)
    add("closed-more", changed(good, ([*at, "markings"], [[1, 0], [0, 1], [0, 0]])), "accepted", "more markings than are reachable")
    add("closed-repeated", changed(good, ([*at, "markings"], [[1, 0], [0, 1], [1, 0]])), "accepted", "a marking may be repeated")
    for name, path, value, reason in [
        ("negative", [*at, "markings", 0], [1, -1], "no natural number"), ("text", [*at, "markings", 0], ["1", "0"], "no number"), ("huge", [*at, "markings", 0], [2**64, 0], "above 2^64 - 1"),
        ("field", [*at, "name"], "", "an unknown field"), ("list", at, [[], []], "no object"), ("place-text", [*at, "places", 0], "p0", "a place is an object"),
        ("node-text", ["proof", 0, "closed"], "0", "no number"), ("missing", at, {"places": []}, "a field is missing"),
    ]:
        add(f"closed-form-{name}", changed(good, (path, value)), "unreadable", reason)


def siphons():
    """Siphons with marked traps."""
    all_of = trap("a", "b", "c")
    dead = lambda value="FALSE": ("Choice-PT-1", "ReachabilityDeadlock", "dead", value)
    no_dead = certificate("siphons-deadlock", *dead("TRUE"), "each transition has an empty input place, but the trap has a token", [all_of],
                          [closed([], [3, 4, 6, 7])], method="siphons")
    split = lambda place: {"split": {"weights": [weight(place)], "bound": "0"}}
    live = certificate("siphons-live", "Choice-PT-1", "Liveness", "Liveness", "TRUE", "a free-choice net, and integers are needed", [all_of],
                       [split("a"), closed([], [3, 4, 6, (9, "3")]), closed([], [5, 7, 8, (9, "3")])], method="siphons")
    turn = certificate("siphons-colours", "Turn-COL-1", "Liveness", "Liveness", "TRUE", "a coloured net", [trap("at")],
                       [{"split": {"weights": [weight("at", 1, "a")], "bound": "0"}}, closed([], [3, (4, "2"), 5, (8, "3")]), closed([], [7, (6, "2"), 5, (8, "3")])], method="siphons")
    certificate("siphons-inequality", "Choice-PT-1", "Liveness", "Liveness", "TRUE", "other lemmas are allowed", [at_most(1, weight("a"), weight("b"), weight("c")), all_of],
                [split("a"), closed([], [3, 4, 6, (9, "3")]), closed([], [5, 7, 8, (9, "3")])], method="siphons")
    for name, base, path, value, reason in [
        ("no-method", live, ["method"], None, "without a method no certificate shows Liveness"), ("no-method-deadlock", no_dead, ["method"], None, "the assumptions are others"),
        ("no-trap", live, ["lemmas"], [], "the trap is missing"), ("inequality-only", live, ["lemmas"], [at_most(1, weight("a"), weight("b"), weight("c"))], "an inequality is no trap"),
        ("unmarked", live, ["lemmas"], [trap("b", "c")], "the trap has no token"), ("small", live, ["lemmas"], [trap("a", "b")], "t2 takes the token from the trap"),
        ("lemma-in-proof", no_dead, ["proof"], [closed([0], [3, 4, 6])], "the proof has no lemmas"), ("subject", live, ["subject"], "t0", "a subject"),
        ("other-order", live, ["proof"], [split("a"), closed([], [3, 4, 5, (9, "3")]), closed([], [6, 7, 8, (9, "3")])], "another order"),
        ("other-formula", no_dead, ["examination"], "ReachabilityFireability", "no such property"),
        ("quasi", live, ["examination"], "QuasiLiveness", "another examination"),
    ]:
        add(f"siphons-{name}", changed(base, (path, value)), "refused", reason)
    add("siphons-formula", changed(no_dead, (["examination"], "ReachabilityFireability"), (["property"], "j0"), (["value"], "FALSE")), "refused", "siphons do not show such a formula")
    file = lambda instance, lemmas, proof, exam="Liveness", value="TRUE": {
        "version": 1, "instance": instance, "examination": exam, "property": exam, "value": value, "method": "siphons", "lemmas": lemmas, "proof": proof}
    add("siphons-weight", file("Pair-PT-1", [trap("p")], [closed([], [1, 2])], "ReachabilityDeadlock", "FALSE"), "refused", "t takes two tokens; the net is dead")
    add("siphons-weight-live", file("Pair-PT-1", [trap("p")], [closed([], [1, 3])]), "refused", "t takes two tokens")
    add("siphons-class", file("Both-PT-1", [trap("p"), trap("q")], [closed([], [2, 7, 8])]), "refused", "no asymmetric-choice net")
    add("siphons-class-deadlock", file("Both-PT-1", [trap("p"), trap("q")], [closed([], [3, 5])], "ReachabilityDeadlock", "FALSE"), "accepted", "deadlocks need no class")
    add("siphons-binding", {**turn, "instance": "Never-COL-1"}, "refused", "a transition has no binding")
    add("siphons-parts", changed(json.loads(FILES["parts-conjunction"][4]), (["method"], "siphons")), "refused", "parts have no method")
    for name, value, reason in [("text", "traps", "an unknown method"), ("number", 1, "no text"), ("list", ["siphons"], "no text"), ("object", {"siphons": None}, "no text")]:
        add(f"siphons-form-{name}", changed(live, (["method"], value)), "unreadable", reason)
    add("siphons-null", changed(json.loads(FILES["switch-exclusion"][4]), (["method"], None)), "accepted", "null means that it is absent")


def part(number, value, evidence):
    return {"part": number, "value": value, ("run" if isinstance(evidence, dict) else "proof"): evidence}


def compositions():
    """Formulas by evidence for their parts."""
    switch = lambda exam, key, value: ("Switch-PT-1", exam, key, value)
    shared, no_p2, p3 = at_most(1, weight("p0"), weight("p1")), at_most(0, weight("p2")), at_most(-1, weight("p3", -1))
    lemmas, unmarked = [shared, no_p2, p3], [closed([1], [0])]
    compose = lambda name, exam, key, value, reason, lemmas, *parts: certificate(
        name, *switch(exam, key, value), reason, lemmas, [], parts=list(parts))
    ctl, ltl = "CTLCardinality", "LTLCardinality"
    good = compose("parts-conjunction", ctl, "c11", "TRUE", "a run and a proof; the state formula is no part", lemmas,
                   part(0, "TRUE", run("t0")), part(1, "FALSE", unmarked))
    compose("parts-disjunction", ctl, "c12", "TRUE", "a part may be unknown; AG of a conjunction has two parts", lemmas,
            part(1, "TRUE", unmarked), part(2, "TRUE", [closed([0], [0])]))
    compose("parts-order", ctl, "c12", "TRUE", "parts may be listed in any order", lemmas, part(2, "TRUE", [closed([0], [0])]), part(1, "TRUE", unmarked))
    compose("parts-finally", ctl, "c13", "TRUE", "EF of a disjunction has two parts; no lemma is needed", [], part(1, "TRUE", run("t0", "t1", loop=0)))
    compose("parts-next", ctl, "c14", "FALSE", "AX of a conjunction has two parts", [], part(1, "FALSE", run("t0", "t1", "t0", loop=1)))
    single = compose("parts-ltl", ltl, "l9", "TRUE", "a formula without quantifier is behind all-paths", lemmas, part(0, "TRUE", unmarked3()), part(1, "TRUE", unmarked))
    compose("parts-ltl-false", ltl, "l10", "FALSE", "one part is enough", [], part(1, "FALSE", run("t0", "t1", loop=0)))
    for name, base, path, value, reason in [
        ("value", good, ["parts", 0, "value"], "FALSE", "the run shows another value"), ("other", good, ["parts", 0, "part"], 1, "a part twice"),
        ("unknown", good, ["parts", 0, "part"], 2, "no such part"), ("number", good, ["parts", 1, "value"], "1", "no truth"),
        ("repeat", good, ["parts", 0, "run", "repeat"], 0, "a repeated part of a run"), ("both", good, ["parts", 0, "proof"], unmarked, "a run and a proof"),
        ("none", good, ["parts", 0], {"part": 0, "value": "TRUE"}, "neither a run nor a proof"), ("proof", good, ["proof"], unmarked, "a proof besides the parts"),
        ("subject", good, ["subject"], "p0", "a subject"), ("open", good, ["parts", 1, "proof"], [], "an open case"),
        ("lemmas", good, ["lemmas"], [shared, p3], "another lemma"), ("lemma-false", good, ["lemmas", 2], at_most(0, weight("p0")), "a lemma that is false"),
        ("not-enabled", good, ["parts", 0, "run", "steps"], ["t0", "t0"], "a step that is not enabled"),
        ("extra-false", good, ["parts"], good["parts"] + [part(2, "TRUE", run())], "a part too many"),
        ("ltl-state", single, ["parts", 1, "part"], 2, "the state formula is no part"),
    ]:
        add(f"parts-{name}", changed(base, (path, value)), "refused", reason)
    add("parts-null-run", changed(good, (["parts", 1, "run"], None)), "accepted", "null means that it is absent")
    add("parts-empty", changed(good, (["parts"], [])), "refused", "no parts, and no certificate shows such a formula")
    add("parts-empty-proof", changed(json.loads(FILES["switch-exclusion"][4]), (["parts"], [])), "accepted", "an empty list means that it is absent")
    bound = changed(good, (["examination"], "UpperBounds"), (["property"], "u0"), (["value"], "1"))
    add("parts-bound", bound, "refused", "a bound has no parts")
    for name, path, value, reason in [
        ("null", ["parts"], None, "no list"), ("field", ["parts", 0, "name"], "", "an unknown field"), ("negative", ["parts", 0, "part"], -1, "no natural number"),
        ("text", ["parts", 0, "part"], "0", "no number"), ("no-value", ["parts", 0], {"part": 0, "run": run()}, "a field is missing"),
        ("list", ["parts", 0], [0, "TRUE"], "no object"), ("run-list", ["parts", 0, "run"], [["t0"]], "no object"), ("proof-object", ["parts", 1, "proof"], {}, "no list"),
    ]:
        add(f"parts-form-{name}", changed(good, (path, value)), "unreadable", reason)


def unmarked3():
    """Refutes that p3 has no token."""
    return [closed([2], [0])]


def totals():
    """Questions about each transition or place, which follow from the net."""
    fires = lambda key, value: ("Switch-PT-1", "QuasiLivenessAll", key, value)
    stable = lambda key, value: ("Switch-PT-1", "StableMarkingAll", key, value)
    bounds = lambda key, value: ("Switch-PT-1", "UpperBoundsAll", key, value)
    all_places = closed_set(["p0", "p1", "p2", "p3"], (1, 0, 0, 1), (0, 1, 0, 1))
    witness("total-fires", *fires("t1", "TRUE"), "t1 is enabled after t0", run("t0"))
    witness("total-not-stable", *stable("p1", "FALSE"), "t0 puts a token on p1", run("t0"))
    witness("total-bound", *bounds("p1", "1"), "one token after t0", run("t0"))
    not_shown("total-fires-too-early", *fires("t1", "TRUE"), "t1 is not enabled initially", run())
    not_shown("total-still-the-same", *stable("p3", "FALSE"), "p3 keeps its token", run("t0"))
    not_shown("total-bound-too-large", *bounds("p1", "2"), "one token", run("t0"))
    not_shown("total-bound-truth", *bounds("p1", "TRUE"), "a truth of a number", run("t0"))
    for name, examination, key, reason in [
        ("place", "QuasiLivenessAll", "p1", "a place"), ("too-many", "QuasiLivenessAll", "t99", "no such transition"),
        ("leading-zero", "QuasiLivenessAll", "t01", "another spelling"), ("sign", "QuasiLivenessAll", "t+1", "a sign"),
        ("no-number", "QuasiLivenessAll", "t", "no number"), ("transition", "StableMarkingAll", "t1", "a transition"),
    ]:
        not_shown(f"total-{name}", "Switch-PT-1", examination, key, "FALSE" if key == "t1" else "TRUE", reason, run("t0"))
    not_shown("total-coloured", "Ring-COL-1", "StableMarkingAll", "p0", "FALSE", "only P/T nets have these questions", run(MOVE_A))
    certificate("total-never-fires", *fires("t3", "FALSE"), "t3 is never enabled", [all_places], [{"closed": 0}])
    certificate("total-stable", *stable("p3", "TRUE"), "p3 always has its token", [all_places], [{"closed": 0}])
    certificate("total-least-bound", *bounds("p0", "1"), "at most one token", [all_places], [{"closed": 0}])
    for name, (instance, examination, key, value), reason in [
        ("can-fire", fires("t1", "FALSE"), "t1 is enabled in one of the markings"), ("not-always", stable("p1", "TRUE"), "p1 changes"),
        ("bound-too-small", bounds("p0", "0"), "the initial marking has a token"),
    ]:
        file = {"version": 1, "instance": instance, "examination": examination, "property": key, "value": value}
        add(f"total-{name}", {**file, "lemmas": [all_places], "proof": [{"closed": 0}]}, "refused", reason)


def headers():
    """What both kinds have in common, and the form of the files."""
    for kind, name in (("witness", "switch-reachable"), ("certificate", "switch-exclusion")):
        good = json.loads(FILES[name][4])
        for what, path, value, reason in [
            ("instance", ["instance"], "Finish-PT-1", "for another instance"), ("instance-case", ["instance"], "switch-PT-1", "ids are compared exactly"),
            ("examination", ["examination"], "ReachabilityFireability", "the property is of another examination"),
            ("no-examination", ["examination"], "Reachability", "no such examination"), ("property", ["property"], "f99", "no such property"),
            ("property-space", ["property"], " f4", "ids are compared exactly"), ("number-for-truth", ["value"], "1", "a value of another kind"),
            ("global", ["examination"], "OneSafe", "the property is the name of the examination"),
        ]:
            add(f"{kind}-{what}", changed(good, (path, value)), "refused", reason, instance="Switch-PT-1")
        add(f"{kind}-truth-for-number", changed(good, (["examination"], "UpperBounds"), (["property"], "u0"), (["value"], "TRUE")), "refused", "a value of another kind")
        add(f"{kind}-truth-for-state-space", changed(good, (["examination"], "StateSpace"), (["property"], "MAX_TOKEN_IN_PLACE"), (["value"], "TRUE")), "refused", "a value of another kind")
        for what, path, value, reason in [
            ("version-0", ["version"], 0, "an unknown version"), ("version-99", ["version"], 99, "an unknown version"),
            ("version-text", ["version"], "1", "no number"), ("version-null", ["version"], None, "no number"), ("version-fraction", ["version"], 1.5, "no integer"),
            ("value-case", ["value"], "true", "no value"), ("value-boolean", ["value"], True, "no text"), ("value-number", ["value"], 1, "no text"),
            ("value-zeros", ["value"], "01", "leading zeros"), ("value-sign", ["value"], "-1", "no natural number"), ("value-plus", ["value"], "+1", "a sign"),
            ("value-space", ["value"], "TRUE ", "white space"), ("value-empty", ["value"], "", "no value"), ("value-exponent", ["value"], "1e3", "no decimal digits"),
            ("unknown-field", ["comment"], "", "an unknown field"), ("instance-number", ["instance"], 1, "no text"), ("property-null", ["property"], None, "no text"),
        ]:
            add(f"{kind}-{what}", changed(good, (path, value)), "unreadable", reason, instance="Switch-PT-1")
        text = json.dumps(good)
        for what, changed_text, reason in [
            ("cut", text[:-9], "the file is cut"), ("empty", "", "an empty file"), ("two", text + text, "two objects"), ("comma", text[:-1] + ",}", "no JSON"),
            ("twice", text[:-1] + ", \"version\": 1}", "a field twice"), ("list", f"[{text}]", "no object"),
            ("float", text.replace("\"version\": 1,", "\"version\": 1.0,"), "a number with a fraction"),
            ("minus-zero", text.replace("\"version\": 1,", "\"version\": -0,"), "a number with a sign"),
            ("deep", f"{text[:-1]}, \"more\": {'[' * 900}{']' * 900}}}", "an unknown field"),
        ]:
            add(f"{kind}-text-{what}", good, "unreadable", reason, changed_text)
        add(f"{kind}-text-spaces", good, "accepted", "white space between tokens", json.dumps(good, indent=1) + "\n")
        add(f"{kind}-text-order", good, "accepted", "fields in another order", json.dumps(dict(reversed(good.items()))))
        add(f"{kind}-text-escape", good, "accepted", "an escape in a text", text.replace("Switch-PT-1", "Switch\\u002dPT-1"))
    good = json.loads(FILES["switch-reachable"][4])
    for what, path, value, reason in [
        ("runs-null", ["runs"], None, "no list"), ("run-list", ["runs", 0], ["t0"], "no object"), ("run-field", ["runs", 0, "name"], "", "an unknown field"),
        ("step-number", ["runs", 0, "steps", 0], 0, "a step is a text or an object"), ("step-field", ["runs", 0, "steps", 0], {"transition": "t0", "binding": {}, "at": 0}, "an unknown field"),
        ("step-no-binding", ["runs", 0, "steps", 0], {"transition": "t0"}, "a field is missing"), ("loop-text", ["runs", 0, "loop"], "0", "no number"),
        ("loop-negative", ["runs", 0, "loop"], -1, "no natural number"), ("loop-fraction", ["runs", 0, "loop"], 0.5, "no integer"), ("loop-true", ["runs", 0, "loop"], True, "no number"),
        ("colour-number", ["runs", 0, "steps", 0], {"transition": "t0", "binding": {"x": 1}}, "a colour is a text or a list"),
        ("run-as-list", ["runs", 0], [["t0"], None, None], "no object"), ("step-as-list", ["runs", 0, "steps", 0], ["t0", {}], "no object"),
        ("colour-object", ["runs", 0, "steps", 0], {"transition": "t0", "binding": {"x": {}}}, "a colour is a text or a list"),
    ]:
        add(f"witness-{what}", changed(good, (path, value)), "unreadable", reason)
    add("witness-no-run", changed(good, (["runs"], [])), "refused", "exactly one run is allowed")
    add("witness-two-runs", changed(good, (["runs"], good["runs"] * 2)), "refused", "exactly one run is allowed")
    add("witness-text-variable-twice", good, "unreadable", "a field twice",
        json.dumps(good).replace('"t0"', '{"transition": "t0", "binding": {"x": "a", "x": "a"}}'))
    add("witness-as-list", good, "unreadable", "no object", json.dumps(list(good.values())))
    add("witness-no-steps", changed(good, (["runs", 0], {})), "unreadable", "a field is missing")
    good = json.loads(FILES["switch-exclusion"][4])
    first = ["lemmas", 0, "inequality"]
    for what, path, value, reason in [
        ("lemmas-null", ["lemmas"], None, "no list"), ("lemma-name", ["lemmas", 0], {"siphon": []}, "an unknown lemma"),
        ("lemma-two", ["lemmas", 0, "trap"], [], "two lemmas in one object"), ("lemma-empty", ["lemmas", 0], {}, "no lemma"),
        ("inequality-field", [*first, "name"], "", "an unknown field"), ("weight-number", [*first, "weights", 0, "weight"], 1, "no text"),
        ("weight-decimal", [*first, "weights", 0, "weight"], "0.5", "no rational number"), ("weight-terms", [*first, "weights", 0, "weight"], "2/2", "not in lowest terms"),
        ("weight-terms-2", [*first, "weights", 0, "weight"], "2/4", "not in lowest terms"), ("weight-one", [*first, "weights", 0, "weight"], "1/1", "a denominator of 1"),
        ("weight-zero", [*first, "weights", 0, "weight"], "1/0", "a denominator of 0"), ("weight-minus-zero", [*first, "weights", 0, "weight"], "-0", "0 has no sign"),
        ("weight-denominator", [*first, "weights", 0, "weight"], "1/-2", "a sign in the denominator"), ("weight-plus", [*first, "weights", 0, "weight"], "+1", "a sign"),
        ("weight-zeros", [*first, "weights", 0, "weight"], "01", "leading zeros"), ("weight-field", [*first, "weights", 0, "color"], "dot", "an unknown field"),
        ("weight-colour-number", [*first, "weights", 0, "colour"], 0, "a colour is a text or a list"), ("bound-missing", first, {"weights": []}, "a field is missing"),
        ("bound-empty", [*first, "bound"], "", "no rational number"), ("trap-text", ["lemmas", 0], {"trap": ["p0"]}, "a place is an object"),
        ("trap-field", ["lemmas", 0], {"trap": [{"place": "p0", "weight": "1"}]}, "an unknown field"),
        ("node-name", ["proof", 0], {"case": 0}, "an unknown node"), ("node-two", ["proof", 0, "split"], {"weights": [], "bound": "0"}, "two nodes in one object"),
        ("cases-negative", ["proof", 0], cases(-1), "no natural number"), ("cases-text", ["proof", 0], cases("0"), "no number"),
        ("pair-long", ["proof", 1, "contradiction", "lemmas", 0], [0, "1", "1"], "no pair"), ("pair-short", ["proof", 1, "contradiction", "lemmas", 0], [0], "no pair"),
        ("pair-number", ["proof", 1, "contradiction", "lemmas", 0], [0, 1], "a factor is a text"), ("pair-index", ["proof", 1, "contradiction", "lemmas", 0], ["0", "1"], "a number of a lemma is a number"),
        ("weight-as-list", [*first, "weights", 0], ["p0", None, "1"], "no object"), ("inequality-as-list", first, [[], "1"], "no object"),
        ("place-as-list", ["lemmas", 0], {"trap": [["p0", None]]}, "no object"), ("split-as-list", ["proof", 0], {"split": [[], "1"]}, "no object"),
        ("contradiction-as-list", ["proof", 1], {"contradiction": [[], []]}, "no object"),
        ("contradiction-field", ["proof", 1, "contradiction"], {"lemmas": []}, "a field is missing"), ("subject-number", ["subject"], 0, "no text"),
    ]:
        add(f"certificate-{what}", changed(good, (path, value)), "unreadable", reason)
    add("certificate-subject-null", changed(good, (["subject"], None)), "accepted", "null means that it is absent")


def sharper():
    """Files that only one rule refuses: without this rule, a checker would accept them. A reader of the specification found
    that no other vector decides these rules."""
    other, repeat = json.loads(FILES["parts-other"][4]), json.loads(FILES["parts-repeat"][4])
    shown = {"part": 0, "value": "TRUE", "run": {"steps": ["t0"]}}
    part = other["parts"][1]
    half, weight = json.loads(FILES["split-half"][4]), json.loads(FILES["split-half-weight"][4])
    assumption = ["contradiction", "assumptions", 1, 1]
    for name, file, reason, *changes in [
        ("parts-same-twice", other, "a part has two claims", (["parts"], [shown, part, part])),
        ("parts-repeat-valid", repeat, "a run of a part has no repeated end", (["parts", 0, "run"], {"steps": ["t0", "t1", "t0"], "repeat": 1})),
        ("split-quarter", half, "a bound that is no integer", (["proof", 0, "split", "bound"], "1/4")),
        ("split-half-weight-4", weight, "a weight that is no integer", (["proof", 1, *assumption], "4"), (["proof", 2, *assumption], "4")),
        ("inf-loop-and-repeat", json.loads(FILES["source-inf-both"][4]), "a run has a loop or a repeated end",
         (["runs"], [{"steps": ["make", "take", "make"], "loop": 1, "repeat": 2}])),
        ("global-name-witness", json.loads(FILES["finish-not-safe"][4]), "the property of a global examination has its name", (["property"], "s")),
        ("global-name-certificate", json.loads(FILES["switch-safe"][4]), "the property of a global examination has its name", (["property"], "f0")),
        ("siphons-quasi-live", json.loads(FILES["siphons-quasi"][4]), "siphons show no other property", (["property"], "QuasiLiveness")),
        ("siphons-elsewhere", json.loads(FILES["switch-bound-certificate"][4]), "siphons show no bound", (["method"], "siphons")),
        ("siphons-deadlock-subject", json.loads(FILES["siphons-deadlock"][4]), "a deadlock has no subject", (["subject"], "t0")),
        ("never-no-stable-place", json.loads(FILES["ring-no-stable-place"][4]), "the sum of a place over all colours must change", (["instance"], "Never-COL-1")),
        ("ring-safe-by-colour", json.loads(FILES["ring-in-place-certificate"][4]), "a place is safe by its sum over all colours",
         (["examination"], "OneSafe"), (["property"], "OneSafe"), (["value"], "TRUE")),
    ]:
        add(name, changed(file, *changes), "refused", reason)


def undecided():
    """Files that decide rules which no other vector decides."""
    switch = lambda exam, key, value: ("Switch-PT-1", exam, key, value)
    ctl, ltl = "CTLCardinality", "LTLCardinality"
    around = run("t0", "t1", loop=0)
    # By name: a formula, the only part with evidence, its value, and its run; then another number that the part does not have.
    for name, exam, key, value, number, shown, wrong, reason in [
        ("ex-or", ctl, "c15", "TRUE", 1, run("t0"), 0, "EX of a disjunction has two parts"),
        ("eg-or", ctl, "c16", "TRUE", 0, around, 1, "EG of a disjunction is one part"),
        ("af-or", ctl, "c17", "FALSE", 0, around, 1, "AF of a disjunction is one part"),
        ("e-and", ltl, "l11", "TRUE", 0, around, 1, "a conjunction behind exists-path is one part"),
        ("e-or", ltl, "l12", "TRUE", 1, run("t0"), 0, "a disjunction behind exists-path has two parts"),
        ("a-or", ltl, "l13", "FALSE", 0, around, 1, "a disjunction behind all-paths is one part"),
        ("ltl-or", ltl, "l14", "FALSE", 0, around, 1, "a formula without quantifier is behind all-paths"),
    ]:
        file = certificate(f"parts-{name}", *switch(exam, key, value), reason, [], [], parts=[part(number, value, shown)])
        add(f"parts-{name}-number", changed(file, (["parts", 0, "part"], wrong)), "refused", reason)
    # Clauses of an invariant in the proof of a part, of siphons, and for a dead transition.
    exclusive = clause(at_most(0, weight("p0")), at_most(0, weight("p1")))
    shared = at_most(1, weight("p0"), weight("p1"))
    lemma = {"invariant": {"clauses": [exclusive], "proof": [closed([0], [1]), closed([0], [2])]}}
    by_clause = [cases(0), closed([], [0, 2]), closed([], [1, 2])]
    file = certificate("parts-invariant", *switch(ctl, "c18", "TRUE"), "clauses follow the condition of each part", [shared, lemma], [],
                       parts=[part(0, "FALSE", by_clause), part(1, "TRUE", run("t0"))])
    add("parts-invariant-first", changed(file, (["parts", 0, "proof"], [cases(0), closed([], [1, 0]), closed([], [2, 0])])), "refused",
        "the assumption of a case follows those of the condition")
    add("parts-invariant-none", changed(file, (["lemmas"], [shared])), "refused", "no invariant, so no disjunction")
    dead = {"invariant": {"clauses": [clause(at_most(0, weight("p2")))], "proof": []}}
    file = certificate("invariant-dead", *switch("ReachabilityCardinality", "f1", "FALSE"), "the lemma shows that t3 is dead, so no firing is left to refute",
                       [shared, dead], [closed([], [0, 1])])
    at = ["lemmas", 1, "invariant", "proof"]
    add("invariant-dead-refuted", changed(file, (at, [closed([0], [0])])), "refused", "a node for a transition that is left out")
    add("invariant-dead-later", changed(file, (["lemmas"], [dead, shared])), "refused", "only the lemmas before count")
    siphon = json.loads(FILES["siphons-deadlock"][4])
    add("siphons-with-closed", changed(siphon, (["lemmas"], [closed_set(["a", "b", "c"], (1, 0, 0), (0, 1, 0), (0, 0, 1)), *siphon["lemmas"]])),
        "accepted", "lemmas may have any kind")
    add("siphons-closed-node", changed(siphon, (["lemmas"], [closed_set(["a", "b", "c"], (1, 0, 0), (0, 1, 0), (0, 0, 1)), *siphon["lemmas"]]),
                                       (["proof"], [{"closed": 0}])), "refused", "the proof has no lemmas")
    kept = {"invariant": {"clauses": [], "proof": []}}
    add("siphons-with-invariant", changed(siphon, (["lemmas"], [kept, *siphon["lemmas"]])), "accepted", "lemmas may have any kind")
    never = {"invariant": {"clauses": [clause(at_most(2, *(weight(place) for place in "abc")))], "proof": []}}
    add("siphons-invariant-clause", changed(siphon, (["lemmas"], [never, *siphon["lemmas"]])), "accepted", "no transition increases the sum")
    add("siphons-invariant-assumption", changed(siphon, (["lemmas"], [never, *siphon["lemmas"]]), (["proof"], [closed([], [3, 4, 6, 7, (8, "1/9")])])),
        "refused", "the clause of an invariant is no assumption of a proof by siphons")
    # Colours: StableMarking by each colour, OneSafe by the sum of a place.
    turn = lambda exam, value: ("Turn-COL-1", exam, exam, value)
    certificate("turn-safe", *turn("OneSafe", "TRUE"), "a disjunction of one part is that part; a sum over the colours", [at_most(1, weight("at"))], [closed([0], [0])])
    file = {"version": 1, "instance": "Turn-COL-1", "value": "TRUE"}
    add("turn-safe-by-colour", {**file, "examination": "OneSafe", "property": "OneSafe", "lemmas": [at_most(1, weight("at"))],
                                "proof": [cases(0)] + [closed([0], [0])] * 3}, "refused", "a place is safe by its sum over all colours")
    add("turn-stable-by-sum", {**file, "examination": "StableMarking", "property": "StableMarking", "subject": "at",
                               "lemmas": [at_most(1, weight("at")), at_most(-1, weight("at", -1))],
                               "proof": [cases(0), closed([1], [0]), closed([0], [0])]}, "refused", "the number of tokens of each colour must stay the same")
    # No places.
    for key in ("MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"):
        word = key[10:].lower().replace("_", "-")
        witness(f"bare-{word}", "Bare-PT-1", "StateSpace", key, "0", "without places, the largest number is 0", run())
        proof = [cases(0)] if key == "MAX_TOKEN_IN_PLACE" else [closed([], [0])]
        certificate(f"bare-{word}-certificate", "Bare-PT-1", "StateSpace", key, "0", "without places, no marking has a token", [], proof)
    not_shown("bare-inf", "Bare-PT-1", "StateSpace", "MAX_TOKEN_PER_MARKING", "inf", "no token is added", run("t", repeat=0))
    certificate("bare-safe", "Bare-PT-1", "OneSafe", "OneSafe", "TRUE", "no place", [], [cases(0)])
    witness("bare-not-stable", "Bare-PT-1", "StableMarking", "StableMarking", "FALSE", "no place has to change", run(), needs_all=False)
    # Operators of PNML.
    terms = lambda exam, key, value: ("Terms-COL-1", exam, key, value)
    for name, colours in [("below", "0"), ("upto", "01"), ("above", "2"), ("over", "12"), ("ends", "02"), ("other", "02"), ("always", "012"), ("never", "")]:
        for colour in "012":
            file = {"version": 1, "instance": "Terms-COL-1", "examination": "ReachabilityCardinality", "property": "a", "value": "TRUE",
                    "runs": [run(step(name, e=f"e{colour}"))]}
            fires = colour in colours
            add(f"terms-{name}-{colour}", file, "accepted" if fires else "refused", f"the guard of {name} is {str(fires).lower()}")
    witness("terms-middle", *terms("ReachabilityCardinality", "c", "TRUE"), "all colours but two, then another", run("middle", step("always", e="e0")))
    not_shown("terms-middle-taken", *terms("ReachabilityCardinality", "c", "TRUE"), "the colour that is left was taken", run(step("always", e="e1"), "middle"))
    not_shown("terms-none", *terms("ReachabilityCardinality", "a", "TRUE"), "no token is taken and put", run("none"))
    not_shown("terms-pair", *terms("ReachabilityCardinality", "a", "TRUE"), "two tokens of a colour are needed", run(step("pair", e="e0")))
    witness("terms-flip", *terms("ReachabilityFireability", "d", "TRUE"), "false comes before true", run(step("flip", b="false")))
    not_shown("terms-flip-true", *terms("ReachabilityFireability", "d", "TRUE"), "the guard is false for true", run(step("flip", b="false"), step("flip", b="true")))
    not_shown("terms-flip-name", *terms("ReachabilityFireability", "d", "TRUE"), "no such colour", run(step("flip", b="0")))
    all_e = [at_most(1, weight("src", 1, f"e{n}")) for n in range(3)]
    certificate("terms-never", *terms("ReachabilityFireability", "e", "TRUE"), "no binding satisfies the guard", [], [cases(0)])
    certificate("terms-pair-certificate", *terms("ReachabilityFireability", "f", "FALSE"), "a case for each colour", all_e, [cases(0)] + [closed([n], [0]) for n in range(3)])
    certificate("terms-flag", *terms("ReachabilityCardinality", "b", "TRUE"), "both colours of bool", [at_most(1, weight("flag", 1, "true"), weight("flag", 1, "false"))], [closed([0], [0])])
    certificate("terms-bound", *terms("UpperBounds", "g", "3"), "each transition moves one token, takes two or none", [at_most(3, weight("src"), weight("out"))], [closed([0], [0])])
    quasi = terms("QuasiLiveness", "QuasiLiveness", "FALSE")
    for name, shown, reason in [("never", True, "never has no binding"), ("spook", False, "an element in toolspecific is no transition")]:
        file = {"version": 1, "instance": quasi[0], "examination": quasi[1], "property": quasi[2], "value": quasi[3], "subject": name, "lemmas": [], "proof": [cases(0)]}
        add(f"terms-quasi-{name}", file, "accepted" if shown else "refused", reason)


def deep_invariants():
    """Invariants with a depth: k-induction."""
    rc = "ReachabilityCardinality"
    steps = lambda key, value, exam=rc: ("Steps-PT-1", exam, key, value)
    deep = lambda depth, clauses, proof: {"invariant": {"clauses": clauses, "proof": proof, "depth": depth}}
    none = lambda *weights: clause(at_most(0, *weights))
    shared = at_most(1, *(weight(place) for place in ("a", "b", "c", "d", "bad")))
    final = [closed([], [0, 1])]
    # Two firings: the assumptions 0 and 1 are the enabled transitions, 2 the violated clause, 3 and 4 the clause before each firing.
    two = closed([0], [0, 1])
    kept = [two, two, closed([], [4]), closed([], [0, 3])]
    good = certificate("invariant-depth", *steps("k0", "FALSE"), "t2 after each transition; before t2 alone, d may have a token",
                       [shared, deep(2, [none(weight("c"))], kept)], final)
    # Three firings: 0 to 2 are the enabled transitions, 3 the violated clause, 4 to 6 the clause before each firing.
    ends = closed([0], [0, 2])
    three = [ends, ends, two, two] * 2 + [two, two, closed([0], [1]), closed([], [6])] + [closed([], [5])] * 4
    thrice = certificate("invariant-depth-3", *steps("k1", "FALSE"), "t3 after each two transitions", [shared, deep(3, [none(weight("bad"))], three)], final)
    # Two transitions increase the sum.
    sums, after = none(weight("c"), weight("bad", 2)), closed([], [1, 4])
    pairs = [two, after, two, after, closed([], [4]), after, closed([], [0, 3]), after]
    ordered = certificate("invariant-depth-order", *steps("k3", "TRUE"), "t2 and t3 after t0, then both after t1",
                          [shared, deep(2, [sums], pairs)], final)
    by_marking = [two, two, closed([], [5]), closed([], [0, 3])] + [closed([], [1, 5])] * 4
    several = certificate("invariant-depth-clauses", *steps("k1", "FALSE"), "all clauses before the first firing, then all before the second one",
                          [shared, deep(2, [none(weight("c")), none(weight("bad"))], by_marking)], [closed([], [0, 2])])
    earlier = certificate("invariant-depth-earlier", *steps("k1", "FALSE"), "clauses of earlier invariants hold before each firing, too",
                          [shared, good["lemmas"][1], deep(2, [none(weight("bad"))], [closed([], [1, 6])] * 4)], [closed([], [0, 2])])
    # A clause of two inequalities, the second one of which is never true, is a disjunction before each firing.
    options = clause(at_most(0, weight("c")), at_most(-1, weight("b")))
    certificate("invariant-depth-disjunction", *steps("k0", "FALSE"), "t0 and t2 increase a sum of the clause",
                [shared, deep(2, [options], [closed([0], [1, 2]), two, ends, two, two, cases(1), closed([], [4]), closed([], [4]),
                                             two, cases(0), closed([], [0, 4]), closed([], [4])])],
                [cases(0), closed([], [0, 1]), closed([], [1])])
    certificate("invariant-depth-closed", *steps("k0", "FALSE"), "a closed set is about the marking before the first firing",
                [closed_set(["a", "b", "c", "d"], (1, 0, 0, 0), (0, 1, 0, 0)), deep(2, [none(weight("c"))], [{"closed": 0}] * 4)], final)
    unmarked = at_most(0, weight("d"))
    dead = certificate("invariant-depth-dead", *steps("k1", "FALSE"), "sequences with t2, which is never enabled, are left out",
                       [shared, unmarked, deep(2, [none(weight("bad"))], [two, two, closed([], [4])])], final)
    file = certificate("parts-invariant-depth", *steps("k4", "TRUE", "CTLCardinality"), "in the proof of a part", good["lemmas"], [],
                       parts=[part(0, "FALSE", final), part(1, "TRUE", run("t0"))])
    add("parts-invariant-depth-1", changed(file, (["lemmas", 1, "invariant", "depth"], 1)), "refused", "with one firing, the clause is not kept")
    finish = lambda key, value: ("Finish-PT-1", rc, key, value)
    moved = at_most(2, weight("s"), weight("d"))
    last = certificate("invariant-depth-chain", *finish("a1", "TRUE"), "before the third firing, s had three tokens",
                       [moved, deep(3, [clause(at_most(2, weight("d")))], [closed([0], [2])])], final)
    most = 2**31 * MOST + MOST
    certificate("invariant-depth-large", "Large-PT-1", "UpperBounds", "w0", str(most), "sums above 2^64",
                [at_most(MOST * (MOST + 2**33), weight("a", MOST), weight("b", 2**33)),
                 deep(2, [clause(at_most(most, weight("b")))], [closed([0], [(1, str(MOST)), (2, str(2**33))])])], final)
    certificate("invariant-depth-empty", "Empty-PT-1", "OneSafe", "OneSafe", "TRUE", "no transition", [deep(3, [clause(at_most(1, weight("p")))], [])], final)
    col = lambda key, value: ("Steps-COL-1", rc, key, value)
    total = at_most(1, weight("at"), weight("bad"))
    colours = certificate("invariant-depth-colours", *col("k5", "FALSE"), "fall after each binding of swap, then after itself",
                          [total, deep(2, [none(weight("bad"))], [two, two, closed([], [4])])], final)
    later = certificate("invariant-depth-bindings", *col("k6", "TRUE"), "swap from a to b after a to b, b to a, and fall",
                        [total, deep(2, [clause(at_most(1, weight("at", 1, "b"), weight("at", 1, "c")))], [closed([0], [1]), closed([0], [2]), two])],
                        [closed([0], [0])])
    swapped = [closed([], [5]), closed([], [0, 3]), two]
    add("invariant-depth-colours-base", changed(colours, (["lemmas"], [*colours["lemmas"], deep(2, [none(weight("at", 1, "b"))], swapped)])), "refused",
        "swap puts a token of the colour b, after which the clause is kept")
    # A clause that fails after few firings, and is kept after firings between which it holds.
    kept_late = [closed([], [4]), closed([], [0, 3]), two, two]
    for name, claim, lemmas, reason in [
        ("base", steps("k2", "FALSE"), [shared, deep(2, [none(weight("b"))], kept_late)], "t0 puts a token on b"),
        ("base-2", finish("a0", "FALSE"), [moved, deep(3, [clause(at_most(1, weight("d")))], [closed([0], [2])])], "two firings put two tokens on d"),
        ("initially", steps("k0", "FALSE"), [shared, deep(2, [none(weight("c")), clause(at_most(-1, weight("d")))], by_marking[:4])], "initially false, and no transition increases d"),
        ("empty-clause", steps("k0", "FALSE"), [shared, deep(2, [[]], [])], "an empty clause is false"),
    ]:
        instance, exam, key, value = claim
        add(f"invariant-depth-{name}", {"version": 1, "instance": instance, "examination": exam, "property": key, "value": value, "lemmas": lemmas, "proof": final},
            "refused", reason)
    plain = json.loads(FILES["invariant"][4])
    at = ["lemmas", 1, "invariant"]
    depth, proof, clauses = [*at, "depth"], [*at, "proof"], [*at, "clauses"]
    for name, base, changes, verdict, reason in [
        ("one", plain, [(depth, 1)], "accepted", "the default"), ("null", plain, [(depth, None)], "accepted", "null means that the field is absent"),
        ("two", plain, [(depth, 2)], "refused", "two sequences of 16"),
        ("too-small", good, [(depth, 1), (proof, [two])], "refused", "before t2 alone, d may have a token"),
        ("default", good, [(at, {"clauses": [none(weight("c"))], "proof": [two]})], "refused", "the default is 1"),
        ("too-large", good, [(depth, 3)], "refused", "4 sequences of 16"),
        ("3-too-small", thrice, [(depth, 2), (proof, [two, two, two, closed([], [4])])], "refused", "t2 puts a token on c"),
        ("zero", good, [(depth, 0), (proof, [])], "refused", "no firing"), ("zero-proof", good, [(depth, 0)], "refused", "no firing"),
        ("above", thrice, [(depth, 4)], "refused", "above the limit"), ("above-trivial", good, [(depth, 4), (clauses, []), (proof, [])], "refused", "above the limit"),
        ("most", good, [(depth, MOST)], "refused", "above the limit"),
        ("no-clause", good, [(["lemmas"], [*good["lemmas"], deep(2, [], [])])], "accepted", "an invariant without clauses"),
        ("never", good, [(["lemmas"], [*good["lemmas"], deep(3, [none(weight("d"))], [])])], "accepted", "no transition increases d"),
        ("never-proof", good, [(["lemmas"], [*good["lemmas"], deep(2, [none(weight("d"))], [closed([], [0, 3])] * 4)])], "refused", "t2 decreases d, so no sequence ends with it"),
        ("missing", good, [(proof, kept[:-1])], "refused", "t2 after t3 is missing"), ("more", good, [(proof, [*kept, two])], "refused", "a node after the end"),
        ("first", good, [(proof, kept[1:])], "refused", "t2 after t0 is missing"), ("reverse", good, [(proof, kept[::-1])], "refused", "t0 before t3"),
        ("exchanged", good, [(proof, [two, two, kept[3], kept[2]])], "refused", "t2 before t3"),
        ("by-last", ordered, [(proof, pairs[::2] + pairs[1::2])], "refused", "ordered by the first transition, then by the last one"),
        ("unshifted-clause", good, [([*proof, 2], closed([], [3]))], "refused", "before the first firing, c may be empty"),
        ("unshifted-enabled", last, [([*proof, 0], closed([0], [1]))], "refused", "before the second firing, s had two tokens"),
        ("unshifted-large", last, [([*clauses, 0, 0, "bound"], "1")], "refused", "two firings put two tokens on d"),
        ("by-clause", several, [(proof, by_marking[4:] + by_marking[:4])], "refused", "the sequences of the first clause come first"),
        ("earlier-first", earlier, [(["lemmas", 2, "invariant", "proof"], [closed([], [1, 4])] * 4)], "refused", "t2 puts a token on c after it held"),
        ("earlier-own", earlier, [(["lemmas", 2, "invariant", "proof"], [closed([], [1, 5])] * 4)], "refused", "its own clauses come first"),
        ("earlier-later", earlier, [(["lemmas"], [earlier["lemmas"][0], earlier["lemmas"][2], earlier["lemmas"][1]])], "refused", "only the lemmas before count"),
        ("dead-refuted", dead, [(["lemmas", 2, "invariant", "proof"], [two, two, two, closed([], [4])])], "refused", "a node for a sequence that is left out"),
        ("dead-later", dead, [(["lemmas"], [dead["lemmas"][0], dead["lemmas"][2], dead["lemmas"][1]])], "refused", "only the lemmas before count"),
        ("fraction", good, [([*clauses, 0, 0, "bound"], "1/2")], "refused", "not an integer"),
        ("colours-order", colours, [([*proof], [closed([], [4]), two, two])], "refused", "swap comes before fall"),
        ("colours-missing", colours, [([*proof], [two, closed([], [4])])], "refused", "swap has two bindings"),
        ("bindings-order", later, [([*proof], [closed([0], [2]), closed([0], [1]), two])], "refused", "the binding a, b comes before b, a"),
        ("bindings-alone", later, [(depth, 1), (proof, [closed([0], [1])])], "refused", "with one firing the second assumption is another one"),
    ]:
        add(f"invariant-depth-{name}", changed(base, *changes), verdict, reason)
    for name, path, value, reason in [
        ("text", depth, "2", "a text"), ("fraction", depth, 1.5, "no integer"), ("negative", depth, -1, "below 0"), ("truth", depth, True, "no number"),
        ("list", depth, [2], "a list"), ("large", depth, 2**64, "above 2^64 - 1"), ("other", ["lemmas", 0, "inequality", "depth"], 2, "an inequality has no depth"),
    ]:
        add(f"invariant-depth-form-{name}", changed(good, (path, value)), "unreadable", reason)
    add("text-invariant-depth", good, "unreadable", "a number with a fraction", json.dumps(changed(good, (depth, 2.0)), separators=(",", ":")))


def products_net():
    """A tuple of a multiple, a colour that two ranges have, and nodes in a name and in graphics, which are no part of the net."""
    usersort = lambda sort: f"<usersort declaration='{sort}'/>"
    constant = lambda value: f"<finiteintrangeconstant value='{value}'><finiteintrange start='2' end='5'/></finiteintrangeconstant>"
    place = lambda name, sort, marking: (
        f"<place id='{name}'><name><transition id='spook'/></name>{element('type', element('structure', usersort(sort)))}"
        + element("hlinitialMarking", element("structure", marking)) + "<graphics><place id='ghost'/></graphics></place>")
    sorts = "".join(f"<namedsort id='{name}' name='{name}'>{sort}</namedsort>" for name, sort in {
        "C": "<finiteenumeration><feconstant id='a' name='a'/></finiteenumeration>",
        "P": element("productsort", usersort("C"), usersort("C")),
        "R": "<finiteintrange start='1' end='3'/>", "S": "<finiteintrange start='2' end='5'/>"}.items())
    guard = of_terms("greaterthan", variable("s"), constant(3))
    return "\n".join([
        "<pnml><net id='Products-COL-1' type='symmetricnet'>", f"<declaration><structure><declarations>{sorts}"
        f"<variabledecl id='s' name='s'>{usersort('S')}</variabledecl></declarations></structure></declaration>", "<page id='g'>",
        place("pairs", "P", of_terms("tuple", times(3, CONSTANT["a"]), CONSTANT["a"])),
        place("at", "S", of_terms("successor", constant(3))),
        f"<transition id='take'>{element('condition', element('structure', guard))}</transition>",
        f"<arc id='a0' source='at' target='take'>{element('hlinscription', element('structure', variable('s')))}</arc>", "</page></net></pnml>"])


MODELS["Products-COL-1"], FORMULAS["Products-COL-1"] = products_net(), {}


def products():
    witness("products-tuple", "Products-COL-1", "StateSpace", "MAX_TOKEN_IN_PLACE", "3", "a tuple has the multiple of its component", run())
    witness("products-range", "Products-COL-1", "QuasiLiveness", "QuasiLiveness", "TRUE", "4 follows 3 in the range of the term", run(step("take", s="4")))


# One token, which t takes away and u keeps. In CTL and reachability a path operator below no quantifier has no meaning.
MODELS["Fork-PT-1"] = plain_net("Fork-PT-1", {"p": 1, "q": 0}, {"t": ([("p", 1)], [("q", 1)]), "u": ([("p", 1)], [("p", 1)]), "v": ([("q", 1)], [("q", 1)])})
FREE = {"f0": always(le(1, tokens("p"))), "f1": no(later(le(1, tokens("q")))), "f2": both(reachable(le(1, tokens("q"))), until(le(1, tokens("p")), le(1, tokens("q"))))}
FORMULAS["Fork-PT-1"] = {"ReachabilityCardinality": FREE, "CTLCardinality": FREE, "LTLCardinality": FREE}


def free_path_operators():
    by = {True: run("t", "v", loop=1), False: run("u", loop=0)}
    for logic in ("Reachability", "CTL"):
        for key, value in itertools.product(FREE, (True, False)):
            for name, leaves in (("t", True), ("u", False)):
                not_shown(f"fork-{logic.lower()}-{key}-{value}-{name}".lower(), "Fork-PT-1", f"{logic}Cardinality", key, str(value).upper(),
                          "a path operator below no quantifier", by[leaves])
    fork = lambda key: ("Fork-PT-1", "LTLCardinality", key, "FALSE")
    witness("fork-ltl-globally", *fork("f0"), "LTL: on all paths", run("t"))
    witness("fork-ltl-not-finally", *fork("f1"), "LTL: on all paths", run("t"))
    witness("fork-ltl-until", *fork("f2"), "LTL: on all paths", by[False])


# Spellings, and names that several sorts or objects share.
def spelled_nets():
    constant = lambda name: f"<useroperator declaration='{name}'/>"
    truth = lambda value: f"<booleanconstant value='{value}'/>"
    ranged = lambda start, end: f"<finiteintrange start='{start}' end='{end}'/>"
    in_range = lambda value, sort: f"<finiteintrangeconstant value='{value}'>{sort}</finiteintrangeconstant>"
    product = lambda *sorts: element("productsort", *sorts)
    short = enumeration("C", "ab") + declared_variable("x", "C")
    every_c = element("all", usersort("C"))
    one = ("", [("p", X)], [])
    # Numbers with a sign and zeros.
    yield "Signs-COL-1", named_sort("R", ranged(1, 2)) + declared_variable("x", "R"), {
        "p": (usersort("R"), in_range("+1", ranged("01", "+2")))}, {
        "t": (of_terms("equality", X, in_range(" 01", ranged(1, 2))), [("p", X)], [])}
    # A range that is declared before an enumeration with the same names: 1 follows 3.
    yield "Digits-COL-1", named_sort("N", ranged(1, 5)) + enumeration("E", "123") + declared_variable("x", "E"), {
        "p": (usersort("E"), constant("1"))}, {"t": (of_terms("equality", X, of_terms("successor", constant("3"))), [("p", X)], [])}
    # An enumeration with the names of bool in another order; a partition of bool whose elements have the names of the other colours.
    classes = "".join(f"<partitionelement id='{name}' name='{name}'>{truth(value)}</partitionelement>"
                      for name, value in (("false", "true"), ("true", "false")))
    split = f"<partition id='Q' name='Q'>{usersort('B')}{classes}</partition>"
    bool_and_x = named_sort("B", "<bool/>") + declared_variable("x", "B")
    yield "Truths-COL-1", enumeration("E", ["true", "false"]) + bool_and_x, {"p": (usersort("B"), truth("false"))}, {
        "t": (of_terms("lessthan", X, truth("true")), [("p", X)], [])}
    yield "Classes-COL-1", bool_and_x + split, {"p": (usersort("B"), constant("true"))}, {"t": one}
    # Tuples of one component, in a product of one sort and without one.
    yield "Single-COL-1", short + named_sort("P", product(usersort("C"))) + named_sort("Q", product(usersort("P"), usersort("C"))), {
        "p": (usersort("P"), of_terms("tuple", constant("a"))), "q": (usersort("C"), constant("a")),
        "r": (usersort("Q"), of_terms("tuple", of_terms("tuple", constant("a")), constant("b")))}, {
        "t": (of_terms("equality", of_terms("tuple", X), constant("a")),
              [("p", of_terms("tuple", X)), ("q", of_terms("tuple", X)), ("r", of_terms("tuple", X, constant("b")))], [])}
    yield "Each-COL-1", short, {"p": (usersort("C"), of_terms("successor", every_c))}, {"t": one}
    # a - x is negative if x is b.
    yield "Below-COL-1", short, {"p": (usersort("C"), of_terms("add", constant("a"), constant("b")))}, {
        "t": ("", [("p", X)], [("p", of_terms("subtract", constant("a"), X))])}
    pairs = named_sort("P", product(usersort("C"), usersort("C")))
    less = of_terms("subtract", constant("a"), constant("b"))
    yield "Beside-COL-1", short + pairs, {"p": (usersort("P"), "")}, {
        "left": ("", [], [("p", of_terms("tuple", less, times(0, constant("a"))))]),
        "right": ("", [], [("p", of_terms("tuple", times(0, constant("a")), less))]),
        "none": ("", [], [("p", of_terms("tuple", less, element("empty", usersort("C"))))]),
        "same": ("", [], [("p", of_terms("tuple", constant("a"), of_terms("subtract", constant("a"), constant("a"))))])}
    yield "Names-COL-1", enumeration("C", "a") + named_sort("P", product(*[usersort("C")] * 100)) + declared_variable("x", "P"), {
        "p": (usersort("P"), element("all", usersort("P")))}, {"t": one}
    nested = "".join(named_sort(f"S{n}", product(usersort("S0"), usersort(f"S{n - 1}"))) for n in range(1, 101))
    yield "Nested-COL-1", enumeration("S0", "a") + nested + declared_variable("x", "S100"), {
        "p": (usersort("S100"), element("all", usersort("S100")))}, {"t": one}


for net in spelled_nets():
    MODELS[net[0]], FORMULAS[net[0]] = symmetric_net(*net), {}
# White space that is not of XML is a part of an id.
MODELS["Blank-PT-1"] = plain_net("Blank-PT-1", {"p": 1, "p&#160;": 0, "q&#13;r": 1}, {})
FORMULAS["Blank-PT-1"] = {"ReachabilityCardinality": {
    "f0": reachable(le(1, tokens("p&#160;"))), "f1": reachable(le(1, tokens(" p\n"))), "x": reachable(le(2, tokens("p"))),
    "x&#160;": reachable(le(1, tokens("p")))}}


def spellings():
    live = lambda name, reason, *steps: witness(f"spelled-{name}", f"{name.capitalize()}-COL-1", "QuasiLiveness", "QuasiLiveness", "TRUE", reason, run(*steps))
    not_live = lambda name, reason, *steps: not_shown(f"spelled-{name}", f"{name.split('-')[0].capitalize()}-COL-1", "QuasiLiveness", "QuasiLiveness", "TRUE", reason, run(*steps))
    live("signs", "+1, 01 and 1 are one number", step("t", x="1"))
    live("digits", "the first colour of the enumeration follows the last one", step("t", x="1"))
    live("truths", "false is before true in bool", step("t", x="false"))
    live("classes", "the element true has the colour false", step("t", x="false"))
    live("single", "a tuple of one component is that component", step("t", x="a"))
    live("each", "the successors of all colours", step("t", x="a"))
    live("below", "nothing is negative for this binding", step("t", x="a"))
    live("names", "a colour with 100 names", step("t", x=["a"] * 100))
    not_live("signs-name", "a name of a colour has one spelling", step("t", x="01"))
    not_live("below-b", "a negative number", step("t", x="b"))
    beside = "Beside-COL-1", "StateSpace", "MAX_TOKEN_IN_PLACE", "0"
    for name in ("left", "right", "none"):
        not_shown(f"spelled-beside-{name}", *beside, "a negative component", run(name))
    witness("spelled-beside-same", *beside, "a component without tokens", run("same"), needs_all=False)
    for name in ("signs", "digits", "truths"):
        file = {"version": 1, "instance": f"{name.capitalize()}-COL-1", "examination": "QuasiLiveness", "property": "QuasiLiveness", "value": "FALSE"}
        add(f"spelled-{name}-certificate", {**file, "subject": "t", "lemmas": [], "proof": [cases(0)]}, "refused", "t has a binding")
    nested = "a"
    for _ in range(100):
        nested = ["a", nested]
    file = {"version": 1, "instance": "Nested-COL-1", "examination": "QuasiLiveness", "property": "QuasiLiveness", "value": "TRUE"}
    add("text-names", {**file, "runs": [run(step("t", x=nested))]}, "unreadable", "a colour of the net has 101 names")
    for _ in range(22):
        nested = [nested]
    add("text-nested", {**file, "instance": "Names-COL-1", "runs": [run(step("t", x=nested))]}, "unreadable", "objects and lists that are nested 128 deep")
    blank = lambda exam, key, value: ("Blank-PT-1", exam, key, value)
    witness("spelled-blank", *blank("ReachabilityCardinality", "f1", "TRUE"), "white space of XML around an id", run())
    witness("spelled-blank-total", *blank("UpperBoundsAll", "p2", "1"), "an id with a carriage return", run())
    not_shown("spelled-blank-other", *blank("ReachabilityCardinality", "f0", "TRUE"), "another place has the token", run())
    not_shown("spelled-blank-total-other", *blank("UpperBoundsAll", "p1", "1"), "another place has the token", run())
    not_shown("spelled-blank-property", *blank("ReachabilityCardinality", "x", "TRUE"), "the formula of another property", run())


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, formulas in FORMULAS.items():
        instance = folder / "instances" / name
        instance.mkdir(parents=True, exist_ok=True)
        if name in MODELS:
            (instance / "model.pnml").write_text(MODELS[name] + "\n")
        for examination, content in formulas.items():
            (instance / f"{examination}.xml").write_text(properties(content) + "\n")
    number_witnesses()
    formula_witnesses()
    global_witnesses()
    wrong_steps()
    plain_certificates()
    coloured_certificates()
    unbounded_witnesses()
    invariants()
    compositions()
    siphons()
    totals()
    headers()
    sharper()
    undecided()
    deep_invariants()
    free_path_operators()
    products()
    spellings()
    files = folder / "files"
    files.mkdir(exist_ok=True)
    with (folder / "index.csv").open("w", newline="") as table:
        rows = csv.writer(table, lineterminator="\n")
        rows.writerow(["file", "kind", "instance", "verdict", "reason"])
        for name, (kind, instance, verdict, reason, text) in sorted(FILES.items()):
            (files / f"{name}.json").write_text(text)
            rows.writerow([f"files/{name}.json", kind, instance, verdict, reason])


main()

#!/usr/bin/env python3
"""A second checker of the evidence that docs/evidence specifies. It shares no code with `mcc-check`.

    scripts/replayer.py INSTANCE FILE...
    scripts/replayer.py INSTANCE < FILES

INSTANCE is an archive (NAME.tgz) or its unpacked folder. Each FILE, or without files each line of the input, is a witness or a
certificate. Prints a line for each: `accepted`, or `refused` or `unreadable` and the reason. For small nets: it tries all
bindings of coloured transitions, and has no limits.
"""
import collections
import html
import itertools
import json
import math
import pathlib
import re
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from fractions import Fraction


class Refused(Exception):
    """The file does not show its value."""


class Unreadable(Exception):
    """The file is not as in docs/evidence/evidence.schema.json."""


def demand(condition, why):
    if not condition:
        raise Refused(why)


# --- The form of files -----------------------------------------------------------------------------------------------


def form(condition, why):
    if not condition:
        raise Unreadable(why)


def is_text(value):
    form(isinstance(value, str), "no text")


def is_index(value):
    form(type(value) is int and value >= 0, "no natural number")


def is_count(value):
    is_index(value)
    form(value < 2**64, "too large a number")


def is_method(value):
    form(value == "siphons", "no method")


def is_value(value):
    is_text(value)
    form(re.fullmatch("TRUE|FALSE|inf|0|[1-9][0-9]{0,4095}", value), "no value")


def is_rational(value):
    is_text(value)
    parts = re.fullmatch("(0|-?[1-9][0-9]{0,4095})(?:/([1-9][0-9]{0,4095}))?", value)
    form(parts, "no rational number")
    form(parts[2] is None or int(parts[2]) > 1 and math.gcd(int(parts[1]), int(parts[2])) == 1, "not in lowest terms")


def is_colour(value):
    form(isinstance(value, (str, list)), "no colour")
    if isinstance(value, list):
        each(is_colour)(value)


def is_binding(value):
    form(isinstance(value, dict), "no binding")
    each(is_colour)(list(value.values()))


def is_pair(value):
    form(isinstance(value, list) and len(value) == 2, "no pair")
    is_index(value[0])
    is_rational(value[1])


def optional(check):
    return lambda value: value is None or check(value)


def each(check):
    def is_list(value):
        form(isinstance(value, list), "no list")
        for inside in value:
            check(inside)
    return is_list


def record(needed, **others):
    """A check of an object with fields that it must have, given by names and checks, and others that it may have."""
    def is_record(value):
        form(isinstance(value, dict), "no object")
        form(needed.keys() <= value.keys() <= needed.keys() | others.keys(), "a field is missing or unknown")
        for key, inside in value.items():
            (needed | others)[key](inside)
    return is_record


def one_of(**variants):
    """A check of an object with one field, whose name says what its value is."""
    def is_variant(value):
        form(isinstance(value, dict) and len(value) == 1 and value.keys() <= variants.keys(), "not one known field")
        for key, inside in value.items():
            variants[key](inside)
    return is_variant


def is_version(value):
    form(type(value) is int and value == 1, "an unknown version")


def is_step(value):
    if not isinstance(value, str):
        record({"transition": is_text, "binding": is_binding})(value)


HEAD = {"version": is_version, "instance": is_text, "examination": is_text, "property": is_text, "value": is_value}
SUM = record({"weights": each(record({"place": is_text, "weight": is_rational}, colour=optional(is_colour))), "bound": is_rational})
TRAP = each(record({"place": is_text}, colour=optional(is_colour)))
FACTORS = record({"lemmas": each(is_pair), "assumptions": each(is_pair)})
RUN = record({"steps": each(is_step)}, loop=optional(is_index), repeat=optional(is_index))
PROOF = each(one_of(contradiction=FACTORS, cases=is_index, split=SUM, closed=is_index))
LEMMA = one_of(inequality=SUM, trap=TRAP, invariant=record({"clauses": each(each(SUM)), "proof": PROOF}, depth=optional(is_count)),
               closed=record({"places": TRAP, "markings": each(each(is_count))}))
PART = record({"part": is_index, "value": is_value}, run=optional(RUN), proof=optional(PROOF))
WITNESS = record({**HEAD, "runs": each(RUN)})
CERTIFICATE = record({**HEAD, "lemmas": each(LEMMA), "proof": PROOF},
                     subject=optional(is_text), method=optional(is_method), parts=each(PART))


def read(text):
    """The object of a file, after a check of its form."""
    def fields(pairs):
        form(len(dict(pairs)) == len(pairs), "a field twice")
        return dict(pairs)
    def integer(digits):
        form(digits != "-0", "-0")
        return int(digits)
    def depth(value):
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return 0 if parts is None else 1 + max(map(depth, parts), default=0)
    try:
        file = json.loads(text, object_pairs_hook=fields, parse_int=integer)
        form(depth(file) <= 127, "nested too deep")
        (WITNESS if isinstance(file, dict) and "runs" in file else CERTIFICATE)(file)
    except (ValueError, RecursionError) as error:
        raise Unreadable(error)
    return file


# --- PNML ------------------------------------------------------------------------------------------------------------


def tag(node):
    return node.tag.rsplit("}", 1)[-1]


def child(node, name):
    found = [inside for inside in node if tag(inside) == name]
    return found[0] if found else None


def structure(node, name):
    label = child(node, name)
    return None if label is None else child(label, "structure")[0]


def inside(node):
    """The terms in the subterms of a node."""
    return [part[0] for part in node if tag(part) == "subterm"]


def integer(text):
    digits = re.fullmatch("[ \t\r\n]*([+-]?[0-9]+)[ \t\r\n]*", text)
    form(digits, f"no number: {text}")
    return int(digits[1])


def trimmed(node):
    """The text of a node without white space of XML at its ends."""
    return node.text.strip(" \t\r\n")


class Net:
    """A net; markings are dictionaries of (place, colour) with positive counts. The colour of a P/T net is `dot`."""

    def __init__(self, root):
        net = child(root, "net")
        for node in list(net.iter()):
            for part in [part for part in node if tag(part) in ("name", "graphics", "toolspecific")]:
                node.remove(part)
        self.coloured = net.get("type").endswith("symmetricnet")
        self.sorts, self.partitions, self.classes, self.variables = {}, {}, {}, {}
        self.places, self.sort_of_place, self.transitions, arcs = {}, {}, {}, []
        self.colours_of = {}
        # The colours of the enumeration or partition of each constant.
        self.beside = {part.get("id"): self.colours(node) for node in net.iter() if tag(node) in ENUMERATIONS for part in node}
        self.declare([part for node in net.iter() if tag(node) == "declarations" for part in node])
        self.initial = {}
        for node in net.iter():
            if tag(node) == "place":
                self.add_place(node)
            elif tag(node) == "transition":
                guard = structure(node, "condition")
                names = [] if guard is None else [v.get("refvariable") for v in guard.iter() if tag(v) == "variable"]
                self.transitions[node.get("id")] = {"guard": guard, "in": [], "out": [], "variables": names}
            elif tag(node) == "arc":
                arcs.append(node)
        for node in arcs:
            source, target = node.get("source"), node.get("target")
            side, place, transition = ("in", source, target) if source in self.places else ("out", target, source)
            transition = self.transitions[transition]
            if self.coloured:
                bag = structure(node, "hlinscription")
                transition["variables"] += [v.get("refvariable") for v in bag.iter() if tag(v) == "variable"]
            else:
                weight = child(node, "inscription")
                bag = integer(child(weight, "text").text) if weight is not None else 1
            transition[side].append((place, bag))
        for transition in self.transitions.values():
            transition["variables"] = list(dict.fromkeys(transition["variables"]))

    def declare(self, declarations):
        for node in declarations:
            if tag(node) == "namedsort":
                self.sorts[node.get("id")] = node[0]
            elif tag(node) == "variabledecl":
                self.variables[node.get("id")] = node[0]
        for node in declarations:
            if tag(node) == "partition":
                elements = node[1:]
                self.sorts[node.get("id")] = node
                names = [element.get("id") for element in elements]
                self.beside |= dict.fromkeys(names, names)
                self.partitions |= dict.fromkeys(names, node)
                self.classes[node.get("id")] = {
                    self.term(constant, {}): element.get("id") for element in elements for constant in element
                }

    def declared(self, sort):
        """The sort itself: not a name of it, and not a product of it alone."""
        while tag(sort) == "usersort" or tag(sort) == "productsort" and len(sort) == 1:
            sort = self.sorts[sort.get("declaration")] if tag(sort) == "usersort" else sort[0]
        return sort

    def colours(self, sort):
        """The colours of a sort in their order: strings, and tuples for products."""
        sort = self.declared(sort)
        kind = tag(sort)
        if kind == "dot":
            return ["dot"]
        if kind == "bool":
            return ["false", "true"]
        if kind in (*ENUMERATIONS, "partition"):
            return [part.get("id") for part in sort if tag(part) in ("feconstant", "partitionelement")]
        if kind == "finiteintrange":
            return [str(number) for number in range(integer(sort.get("start")), integer(sort.get("end")) + 1)]
        assert kind == "productsort", kind
        colours = list(itertools.product(*map(self.colours, sort)))
        form(names_in(colours[0]) <= 100, "too many names in a colour")
        return colours

    def sort_of(self, node):
        """The colours of the sort of a term; its sort is not a product."""
        kind = tag(node)
        if kind in ("successor", "predecessor", "tuple"):
            return self.sort_of(inside(node)[0])
        if kind == "variable":
            return self.colours(self.variables[node.get("refvariable")])
        if kind == "partitionelementof":
            return self.colours(self.sorts[node.get("refpartition")])
        if kind in ("finiteintrangeconstant", "all"):
            return self.colours(node[0])
        return ["false", "true"] if kind == "booleanconstant" else self.beside[node.get("declaration")]

    def add_place(self, node):
        place = node.get("id")
        if self.coloured:
            sort = self.sort_of_place[place] = structure(node, "type")
            self.places[place] = self.colours(sort)
            marking = structure(node, "hlinitialMarking")
            tokens = {} if marking is None else self.bag(marking, sort, {})
        else:
            self.places[place] = ["dot"]
            marking = child(node, "initialMarking")
            tokens = {"dot": integer(child(marking, "text").text)} if marking is not None else {}
        self.colours_of[place] = frozenset(self.places[place])
        for colour, count in tokens.items():
            self.check_colour(place, colour)
            if count:
                self.initial[place, colour] = count

    def check_colour(self, place, colour):
        demand(colour in self.colours_of[place], f"{place} has no colour {colour}")

    def each(self, node, binding):
        """The colours of a term: one, or with `all` any number."""
        kind = tag(node)
        if kind == "variable":
            return [binding[node.get("refvariable")]]
        if kind == "useroperator":
            return [node.get("declaration")]
        if kind == "dotconstant":
            return ["dot"]
        if kind == "booleanconstant":
            return [node.get("value")]
        if kind == "finiteintrangeconstant":
            return [str(integer(node.get("value")))]
        if kind == "all":
            return self.colours(node[0])
        parts = [self.each(part, binding) for part in inside(node)]
        if kind == "tuple":
            return parts[0] if len(parts) == 1 else list(itertools.product(*parts))
        if kind == "partitionelementof":
            return [self.classes[node.get("refpartition")][colour] for colour in parts[0]]
        step, colours = {"successor": 1, "predecessor": -1}[kind], self.sort_of(node)
        return [colours[(colours.index(colour) + step) % len(colours)] for colour in parts[0]]

    def term(self, node, binding):
        colour, = self.each(node, binding)
        return colour

    def bag(self, node, sort, binding):
        """The tokens of an expression of this sort."""
        kind = tag(node)
        if kind in ("numberof", "scalarproduct"):
            number, bag = inside(node)
            return {colour: integer(number.get("value")) * n for colour, n in self.bag(bag, sort, binding).items()}
        if kind == "empty":
            return {}
        if kind == "add":
            total = {}
            for part in inside(node):
                for colour, count in self.bag(part, sort, binding).items():
                    total[colour] = total.get(colour, 0) + count
            return total
        if kind == "subtract":
            total, *others = (dict(self.bag(part, sort, binding)) for part in inside(node))
            for colour, count in (item for taken in others for item in taken.items()):
                demand(total.get(colour, 0) >= count, "a subtraction below 0")
                total[colour] -= count
            return total
        if kind == "tuple":
            parts, sorts = inside(node), self.declared(sort)
            if len(parts) == 1:
                return self.bag(parts[0], sort, binding)
            demand(len(parts) == len(sorts), "a tuple of another length")
            parts = [self.bag(*part, binding).items() for part in zip(parts, sorts)]
            return {tuple(colour for colour, _ in chosen): math.prod(n for _, n in chosen) for chosen in itertools.product(*parts)}
        colours, partition = self.each(node, binding), self.partitions.get(node.get("declaration"))
        # An element of a partition stands for its colours where the partitioned sort is expected.
        if kind == "useroperator" and partition not in (None, self.declared(sort)):
            colours = [colour for colour, element in self.classes[partition.get("id")].items() if element == colours[0]]
        return collections.Counter(colours)

    def guard(self, node, binding):
        kind = tag(node)
        if kind == "and":
            return all(self.guard(part, binding) for part in inside(node))
        if kind == "or":
            return any(self.guard(part, binding) for part in inside(node))
        if kind == "not":
            return not self.guard(inside(node)[0], binding)
        if kind == "imply":
            condition, conclusion = inside(node)
            return not self.guard(condition, binding) or self.guard(conclusion, binding)
        if kind == "booleanconstant":
            return node.get("value") == "true"
        left, right = (self.term(part, binding) for part in inside(node))
        if kind in ("equality", "inequality"):
            return (left == right) == (kind == "equality")
        left, right = (self.sort_of(part).index(colour) for part, colour in zip(inside(node), (left, right)))
        return {
            "lessthan": left < right, "ltp": left < right, "lessthanorequal": left <= right,
            "greaterthan": left > right, "gtp": left > right, "greaterthanorequal": left >= right,
        }[kind]

    def side(self, transition, side, binding):
        tokens = {}
        for place, bag in transition[side]:
            bag = self.bag(bag, self.sort_of_place[place], binding) if self.coloured else {"dot": bag}
            for colour, count in bag.items():
                self.check_colour(place, colour)
                if count:
                    tokens[place, colour] = tokens.get((place, colour), 0) + count
        places = [place for place, _ in transition[side]]
        return dict(sorted(tokens.items(), key=lambda item: places.index(item[0][0])))

    def sides(self, transition, colours):
        """What is taken and put with these colours of the variables; None if the guard is false."""
        known = transition.setdefault("sides", {})
        if colours not in known:
            binding = dict(zip(transition["variables"], colours))
            holds = transition["guard"] is None or self.guard(transition["guard"], binding)
            known[colours] = tuple(self.side(transition, side, binding) for side in ("in", "out")) if holds else None
        return known[colours]

    def bindings(self, transition):
        """The bindings that satisfy the guard, in lexicographic order, with what is taken and put."""
        if "bound" not in transition:
            each = itertools.product(*(self.colours(self.variables[name]) for name in transition["variables"]))
            bound = {colours: self.sides(transition, colours) for colours in each}
            transition["bound"] = {colours: sides for colours, sides in bound.items() if sides is not None}
        return transition["bound"]

    def enabled(self, marking, transition):
        sides = self.bindings(self.transitions[transition]).values()
        return any(all(marking.get(at, 0) >= n for at, n in taken.items()) for taken, _ in sides)

    def known_places(self, node):
        names = [trimmed(name) for name in node]
        demand(all(name in self.places for name in names), "an unknown place")
        return names

    def known_transitions(self, node):
        names = [trimmed(name) for name in node]
        demand(all(name in self.transitions for name in names), "an unknown transition")
        return names

    def deadlock(self, marking):
        return not any(self.enabled(marking, transition) for transition in self.transitions)

    def tokens(self, marking, place):
        return sum(marking.get((place, colour), 0) for colour in self.places[place])

    def fire(self, marking, step):
        name, binding = (step, {}) if isinstance(step, str) else (step["transition"], step["binding"])
        demand(name in self.transitions, "an unknown transition")
        transition = self.transitions[name]
        demand(set(binding) == set(transition["variables"]), "other variables")
        colours = tuple(as_colour(binding[variable]) for variable in transition["variables"])
        for variable, colour in zip(transition["variables"], colours):
            demand(colour in self.colours(self.variables[variable]), "an unknown colour")
        sides = self.sides(transition, colours)
        demand(sides is not None, "the guard is false")
        marking = dict(marking)
        taken, put = sides
        for at, count in taken.items():
            demand(marking.get(at, 0) >= count, "not enabled")
            marking[at] -= count
        for at, count in put.items():
            marking[at] = marking.get(at, 0) + count
        return {at: count for at, count in marking.items() if count}


ENUMERATIONS = "cyclicenumeration", "finiteenumeration"


def names_in(colour):
    return sum(map(names_in, colour)) if isinstance(colour, tuple) else 1


def as_colour(name):
    return tuple(map(as_colour, name)) if isinstance(name, list) else name


# --- Formulas: truth is True, False or None (unknown) ----------------------------------------------------------------


def negated(truth):
    return None if truth is None else not truth


def conjunction(truths):
    truths = list(truths)
    return False if False in truths else None if None in truths else True


def disjunction(truths):
    return negated(conjunction(map(negated, truths)))


class Path:
    """A run: its markings, and what follows the last one: a position, "dead" or "open"."""

    def __init__(self, net, markings, end, linear):
        self.net, self.markings, self.end, self.linear = net, markings, end, linear
        self.known = {}

    def atom(self, node, marking):
        kind = tag(node)
        if kind == "deadlock":
            return self.net.deadlock(marking)
        if kind == "is-fireable":
            return any(self.net.enabled(marking, name) for name in self.net.known_transitions(node))
        left, right = (self.number(part, marking) for part in node)
        return left <= right

    def number(self, node, marking):
        if tag(node) == "integer-constant":
            return integer(node.text)
        return sum(self.net.tokens(marking, place) for place in self.net.known_places(node))

    def truths(self, node, mode, alone):
        """The truth at each position. `mode` is the value of "next" in a deadlock: True, False, None or "repeat"."""
        key = id(node), mode, alone
        if key not in self.known:
            self.known[key] = self.compute(node, mode, alone)
        return self.known[key]

    def compute(self, node, mode, alone):
        kind, count = tag(node), len(self.markings)
        each = range(count)
        if kind in ("all-paths", "exists-path"):
            return self.quantified(node[0], kind == "exists-path")
        if kind in ("integer-le", "is-fireable", "deadlock"):
            return [self.atom(node, marking) for marking in self.markings]
        if kind in ("before", "reach"):
            return self.truths(node[0], mode, alone)
        parts = [self.truths(part, mode, alone) for part in node]
        if kind == "negation":
            return [negated(parts[0][at]) for at in each]
        if kind == "conjunction":
            return [conjunction(part[at] for part in parts) for at in each]
        if kind == "disjunction":
            return [disjunction(part[at] for part in parts) for at in each]
        if kind == "next":
            return [self.following(parts[0], at, mode, alone) for at in each]
        before, reach = [True] * count, parts[-1]
        if kind == "globally":
            reach = [negated(truth) for truth in reach]
        if kind == "until":
            before = parts[0]
        # The least fixed point, by iteration from "false".
        result = [False] * count
        while True:
            after = [self.following(result, at, False, alone) for at in each]
            new = [disjunction([reach[at], conjunction([before[at], after[at]])]) for at in each]
            if new == result:
                return [negated(truth) for truth in result] if kind == "globally" else result
            result = new

    def following(self, truths, at, mode, alone):
        last = at == len(self.markings) - 1
        if last and self.end == "dead":
            return truths[at] if mode == "repeat" else mode
        if alone or last and self.end == "open":
            return None
        return truths[self.end if last else at + 1]

    def quantified(self, node, exists):
        mode = "repeat" if self.linear else (not exists) if tag(node) == "next" else None
        here, alone = self.truths(node, mode, False), self.truths(node, mode, True)
        result = []
        for at in range(len(self.markings)):
            if here[at] is exists:
                result.append(exists)
            elif at == len(self.markings) - 1 and self.end == "dead":
                result.append(here[at])
            else:
                result.append((not exists) if alone[at] is (not exists) else None)
        return result

    def initially(self, node):
        if self.linear and tag(node) not in ("all-paths", "exists-path"):
            return self.quantified(node, False)[0]
        return self.truths(node, None, False)[0]


# --- Instances and claims --------------------------------------------------------------------------------------------


TOTAL = ("QuasiLivenessAll", "StableMarkingAll", "UpperBoundsAll")


def total_question(net, examination, name):
    """The formula of a total examination about the object with this number, such as `t12` or `p3`."""
    letter, objects = ("t", net.transitions) if examination == "QuasiLivenessAll" else ("p", net.places)
    match = re.fullmatch(letter + "(0|[1-9][0-9]{0,18})", name)
    demand(match and not net.coloured and int(match[1]) < len(objects), "an unknown property")
    key = list(objects)[int(match[1])]
    # A reader of XML takes another line end for a carriage return that is not a reference.
    name = html.escape(key).replace("\r", "&#13;")
    place = f"<place>{name}</place>"
    if examination == "QuasiLivenessAll":
        state = f"<is-fireable><transition>{name}</transition></is-fireable>"
        return f"<exists-path><finally>{state}</finally></exists-path>"
    if examination == "UpperBoundsAll":
        return f"<place-bound>{place}</place-bound>"
    tokens = f"<tokens-count>{place}</tokens-count>"
    number = f"<integer-constant>{net.initial.get((key, 'dot'), 0)}</integer-constant>"
    sides = f"<integer-le>{tokens}{number}</integer-le><integer-le>{number}{tokens}</integer-le>"
    return f"<all-paths><globally><conjunction>{sides}</conjunction></globally></all-paths>"


class Instance:
    def __init__(self, path):
        self.formulas = {}
        for folder, name, content in files(path):
            if name == "model.pnml":
                self.name, self.net = folder, Net(ElementTree.fromstring(content))
            elif name.endswith(".xml") and not name.startswith("Generic"):
                self.formulas[name[:-4]] = {
                    trimmed(child(node, "id")): child(node, "formula")[0] for node in ElementTree.fromstring(content)
                }

    def check(self, file):
        demand(file["instance"] == self.name, "for another instance")
        kind = re.search("-(PT|COL)-", self.name)
        demand(kind and self.net.coloured == (kind[1] == "COL"), "a net of another kind than its name says")
        if "runs" in file:
            check_witness(self.net, self.claim(file), file)
        else:
            check_certificate(self.net, self.claim(file), file)

    def claim(self, file):
        """The kind of claim, its formula or places, and the value: a truth, a number, or infinity."""
        examination, name = file["examination"], file["property"]
        value = {"TRUE": True, "FALSE": False, "inf": math.inf}.get(file["value"])
        value = int(file["value"]) if value is None else value
        number = not isinstance(value, bool)
        if examination == "StateSpace" and number:
            known = ("MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING", *(("STATES", "TRANSITIONS") if value == math.inf else ()))
            demand(name in known, "an unknown property")
            return ("Bound", list(self.net.places), value) if name.endswith("MARKING") else ("MostInPlace", None, value)
        if examination in ("OneSafe", "QuasiLiveness", "StableMarking", "Liveness") and not number:
            demand(name == examination, "an unknown property")
            return examination, None, value
        if examination == name == "ReachabilityDeadlock" and examination not in self.formulas and not number:
            formula = "<exists-path><finally><deadlock/></finally></exists-path>"
            return "Formula", ElementTree.fromstring(formula), value
        if examination in TOTAL:
            formula = ElementTree.fromstring(total_question(self.net, examination, name))
        else:
            demand(name in self.formulas.get(examination, {}), "an unknown property")
            formula = self.formulas[examination][name]
        is_bound = tag(formula) == "place-bound"
        demand(is_bound == number, "a value of another kind")
        if is_bound:
            return "Bound", self.net.known_places(formula), value
        demand(examination.startswith("LTL") or below_quantifiers(formula), "a path operator below no quantifier")
        return "Formula", formula, value


def below_quantifiers(node):
    kind = tag(node)
    if kind in ("all-paths", "exists-path"):
        return True
    return kind not in ("globally", "finally", "next", "until") and all(map(below_quantifiers, node))


def files(path):
    """The files of an archive or folder: folder, name, content."""
    if path.is_dir():
        for file in path.iterdir():
            yield path.name, file.name, file.read_bytes()
        return
    with tarfile.open(path) as archive:
        for member in archive:
            folder, _, name = member.name.removeprefix("./").partition("/")
            if member.isfile():
                yield folder, name, archive.extractfile(member).read()


# --- Witnesses: one function for each claim. `runs` are the markings, `last` is the last one of the only run ----------


def check_witness(net, claim, file):
    kind, what, value = claim
    runs = [replay(net, run) for run in file["runs"]]
    if kind not in ("QuasiLiveness", "StableMarking"):
        demand(len(runs) == 1, "another number of runs")
    last = runs[0][-1] if runs else None
    if value == math.inf or (kind, value) == ("OneSafe", False) and file["runs"][0].get("repeat") is not None:
        return witness_growth(net, what, runs[0], file["runs"][0].get("repeat"))
    demand(all(run.get("repeat") is None for run in file["runs"]), "a repeated part does not show this value")
    if kind == "Formula":
        witness_formula(net, what, value, runs[0], file["runs"][0].get("loop"), file["examination"].startswith("LTL"))
    elif kind == "Bound":
        demand(sum(net.tokens(last, place) for place in what) >= value, "fewer tokens")
    elif kind == "MostInPlace":
        demand(max(last.values(), default=0) >= value, "fewer tokens")
    else:
        demand((kind, value) in WITNESSES, "no run shows this value")
        WITNESSES[kind, value](net, runs, file["runs"])


def replay(net, run):
    markings, start, steps = [net.initial], run.get("loop"), run["steps"]
    demand(all(run.get(part) is None or run[part] < len(steps) for part in ("loop", "repeat")), "a part without steps")
    demand(start is None or run.get("repeat") is None, "a loop and a repeated part")
    for step in steps:
        markings.append(net.fire(markings[-1], step))
    demand(start is None or markings[start] == markings[-1], "the loop does not close")
    return markings


def witness_formula(net, formula, value, markings, start, linear):
    end = start if start is not None else "dead" if net.deadlock(markings[-1]) else "open"
    path = Path(net, markings if start is None else markings[:-1], end, linear)
    demand(path.initially(formula) is value, "not shown")


def witness_growth(net, places, markings, repeat):
    """The repeated part adds tokens to the sum of the places, or to one of all, and takes none from any place and colour."""
    demand(repeat is not None, "no repeated part")
    start, last = markings[repeat], markings[-1]
    demand(all(last.get(at, 0) >= count for at, count in start.items()), "fewer tokens on a place")
    more = start != last if places is None else sum(net.tokens(last, place) - net.tokens(start, place) for place in places) > 0
    demand(more, "no more tokens")


def witness_not_safe(net, runs, _):
    demand(any(net.tokens(runs[0][-1], place) > 1 for place in net.places), "no place with 2 tokens")


def witness_quasi_live(net, _, files):
    steps = [step for run in files for step in run["steps"]]
    fired = {step if isinstance(step, str) else step["transition"] for step in steps}
    demand(fired == set(net.transitions), "some transitions do not fire")


def witness_not_stable(net, runs, _):
    def changes(place):
        initial = net.tokens(net.initial, place)
        return any(net.tokens(marking, place) != initial for run in runs for marking in run)
    demand(all(map(changes, net.places)), "some places do not change")


def witness_not_live(net, runs, _):
    demand(net.transitions and net.deadlock(runs[0][-1]), "no deadlock")


WITNESSES = {
    ("OneSafe", False): witness_not_safe, ("QuasiLiveness", True): witness_quasi_live,
    ("StableMarking", False): witness_not_stable, ("Liveness", False): witness_not_live,
}

# --- Certificates ----------------------------------------------------------------------------------------------------
# An inequality has weights by (place, colour) and a bound. A condition is ("at most", an inequality), or ("all" or "any", a
# list of conditions).


def check_certificate(net, claim, file):
    runs_only = not file["lemmas"] and file.get("parts") and all(part.get("proof") is None for part in file["parts"])
    facts = None if runs_only else Facts(net, file["lemmas"])
    if file.get("parts"):
        check_parts(net, claim, file, facts)
    elif file.get("method"):
        demand(file.get("subject") is None, "a subject")
        check_proof(net, [siphons(net, claim, facts)], Facts(net, []), file["proof"])
    else:
        check_proof(net, [("all", [refuted(net, claim, file.get("subject")), *facts.clauses])], facts, file["proof"])


def check_proof(net, conditions, facts, proof):
    # Depth first without recursion: proofs may be deep.
    left = [(condition, [], []) for condition in reversed(conditions)]
    for node in proof:
        demand(left, "a node after the end")
        condition, assumptions, disjunctions = left.pop()
        assumptions, disjunctions = list(assumptions), list(disjunctions)
        assume(condition, assumptions, disjunctions)
        if "contradiction" in node:
            node_contradiction(node["contradiction"], facts.inequalities, assumptions)
            parts = []
        elif "closed" in node:
            node_closed(node["closed"], facts, assumptions, disjunctions)
            parts = []
        elif "cases" in node:
            parts = node_cases(node["cases"], disjunctions)
        else:
            parts = node_split(net, node["split"])
        left += [(part, assumptions, disjunctions) for part in reversed(parts)]
    demand(not left, "open cases")


def check_parts(net, claim, file, facts):
    """The truth of a formula from that of its parts."""
    kind, formula, value = claim
    demand(kind == "Formula" and file.get("subject") is None and file.get("method") is None and not file["proof"], "parts of another value, or a proof too")
    evidence = {part["part"]: part for part in file["parts"]}
    demand(len(evidence) == len(file["parts"]), "a part twice")
    linear, counter = file["examination"].startswith("LTL"), itertools.count()

    def is_state(node):
        kind = tag(node)
        inner = kind in ("negation", "conjunction", "disjunction")
        return all(map(is_state, node)) if inner else kind in ("integer-le", "is-fireable", "deadlock")

    def initially(node):
        return Path(net, [net.initial], "open", False).truths(node, None, True)[0]

    def state(node):
        kind = tag(node)
        if is_state(node):
            return initially(node)
        if kind == "negation":
            return negated(state(node[0]))
        if kind in ("conjunction", "disjunction"):
            return (conjunction if kind == "conjunction" else disjunction)([state(part) for part in node])
        return behind(node[0], kind, None) if kind in ("all-paths", "exists-path") else None

    def behind(node, quantifier, operator):
        kind = tag(node)
        if (quantifier, kind) in (("all-paths", "conjunction"), ("exists-path", "disjunction")):
            truths = [behind(part, quantifier, operator) for part in node]
            return conjunction(truths) if quantifier == "all-paths" else disjunction(truths)
        distributes = "next", "globally" if quantifier == "all-paths" else "finally"
        if operator is None and kind in distributes:
            return behind(node[0], quantifier, kind)
        if operator is None and is_state(node):
            return state(node)
        for name in filter(None, (operator, quantifier)):
            outer = ElementTree.Element(name)
            outer.append(node)
            node = outer
        return part(next(counter), node)

    def part(number, node):
        if number not in evidence:
            return None
        shown = evidence.pop(number)
        demand(shown["value"] in ("TRUE", "FALSE"), "no truth")
        truth, run, proof = shown["value"] == "TRUE", shown.get("run"), shown.get("proof")
        demand((run is None) != (proof is None) and (run is None or run.get("repeat") is None), "not a run or a proof")
        if run is None:
            check_proof(net, [("all", [refuted(net, ("Formula", node, truth), None), *facts.clauses])], facts, proof)
        else:
            witness_formula(net, node, truth, replay(net, run), run.get("loop"), linear)
        return truth

    implicit = linear and tag(formula) not in ("all-paths", "exists-path")
    truth = behind(formula, "all-paths", None) if implicit else state(formula)
    demand(not evidence, "an unknown part")
    demand(truth is value, "the parts do not show it")


def assume(condition, assumptions, disjunctions):
    kind, inside = condition
    if kind == "at most":
        assumptions.append(inside)
    elif kind == "all" or len(inside) == 1:
        for part in inside:
            assume(part, assumptions, disjunctions)
    else:
        disjunctions.append(inside)


def node_contradiction(factors, lemmas, assumptions):
    total, bound = {}, 0
    for kind, known in (("lemmas", lemmas), ("assumptions", assumptions)):
        for number, factor in factors[kind]:
            factor = Fraction(factor)
            demand(number < len(known) and factor >= 0, "a wrong number or factor")
            weights, limit = known[number]
            bound += factor * limit
            for at, weight in weights.items():
                total[at] = total.get(at, 0) + factor * weight
    demand(all(weight >= 0 for weight in total.values()) and bound < 0, "no contradiction")


def node_cases(number, disjunctions):
    demand(number < len(disjunctions), "an unknown disjunction")
    return disjunctions[number]


def node_split(net, split):
    weights, bound = named_weights(net, split["weights"]), Fraction(split["bound"])
    demand(all(number.denominator == 1 for number in [bound, *weights.values()]), "not an integer")
    return [("at most", (weights, bound)), ("at most", ({at: -weight for at, weight in weights.items()}, -bound - 1))]


def node_closed(number, facts, assumptions, disjunctions):
    demand(number in facts.closed, "an unknown closed set")
    places, markings = facts.closed[number]
    for marking in markings:
        tokens = dict(zip(places, marking))
        known = [("at most", inequality) for inequality in assumptions] + [("any", cases) for cases in disjunctions]
        demand(any(is_false(condition, tokens) for condition in known), "a marking satisfies the assumptions")


def is_false(condition, tokens):
    """Whether a condition is false with these tokens, whatever those of other places are."""
    kind, inside = condition
    if kind == "at most":
        weights, bound = inside
        return all(weight >= 0 for at, weight in weights.items() if at not in tokens) and weighted(weights, tokens) > bound
    return (any if kind == "all" else all)(is_false(part, tokens) for part in inside)


class Facts:
    """What lemmas show: inequalities, clauses of invariants, closed sets by number, and traps."""

    def __init__(self, net, lemmas):
        """`dead` are the transitions that the lemmas before show to be never enabled."""
        self.inequalities, self.clauses, self.closed, self.traps = [], [], {}, []
        flats = [sides for transition in net.transitions.values() for sides in net.bindings(transition).values()]
        dead = set()
        for number, lemma in enumerate(lemmas):
            living = [sides for number, sides in enumerate(flats) if number not in dead]
            inequality = {}, 0
            if "trap" in lemma:
                inequality = lemma_trap(net, lemma["trap"], living)
                self.traps.append(set(inequality[0]))
            elif "invariant" in lemma:
                self.clauses += lemma_invariant(net, lemma["invariant"], living, self)
            elif "closed" in lemma:
                self.closed[number] = lemma_closed(net, lemma["closed"], living)
            else:
                inequality = lemma_inequality(net, lemma["inequality"], living)
            weights, bound = inequality
            if all(weight >= 0 for weight in weights.values()):
                dead |= {number for number, (taken, _) in enumerate(flats) if weighted(weights, taken) > bound}
            self.inequalities.append(inequality)


def lemma_invariant(net, invariant, living, facts):
    depth = 1 if invariant.get("depth") is None else invariant["depth"]
    demand(1 <= depth <= 3, "a depth that is not 1 to 3")
    clauses = [[(named_weights(net, part["weights"]), Fraction(part["bound"])) for part in clause] for clause in invariant["clauses"]]
    known = [("any", [("at most", literal) for literal in clause]) for clause in clauses]
    markings = [net.initial]
    for firings in range(depth):
        if firings > 0:
            markings = [{at: marking.get(at, 0) - taken.get(at, 0) + put.get(at, 0) for at in {**marking, **put}}
                        for marking in markings for taken, put in living
                        if all(marking.get(at, 0) >= count for at, count in taken.items())]
        for clause, marking in itertools.product(clauses, markings):
            demand(any(weighted(weights, marking) <= bound for weights, bound in clause), "false after fewer firings than the depth")
    refuted = []
    for clause in clauses:
        demand(all(number.denominator == 1 for weights, bound in clause for number in [bound, *weights.values()]), "not an integer")
        for run in itertools.product(living, repeat=depth):
            taken, put = run[-1]
            if any(weighted(weights, put) > weighted(weights, taken) for weights, _ in clause):
                before = [run[:length] for length in range(depth)]
                enabled = [after(start, at_least([at], count)) for start, (taken, _) in zip(before, run) for at, count in in_order(net, taken)]
                violated = [after(run, ("at most", ({at: -weight for at, weight in weights.items()}, -bound - 1))) for weights, bound in clause]
                holding = [after(start, condition) for start in before for condition in known + facts.clauses]
                refuted.append(("all", enabled + violated + holding))
    check_proof(net, refuted, facts, invariant["proof"])
    return known


def after(run, condition):
    """The condition on a marking that a condition holds after the firings of a run from it."""
    kind, inside = condition
    if kind == "at most":
        weights, bound = inside
        return kind, (weights, bound - sum(weighted(weights, put) - weighted(weights, taken) for taken, put in run))
    return kind, [after(run, part) for part in inside]


def lemma_closed(net, closed, living):
    places = [at for name in closed["places"] for at in named_places(net, name)]
    demand(len(set(places)) == len(places), "a place twice")
    markings = set(map(tuple, closed["markings"]))
    demand(all(len(marking) == len(places) for marking in markings), "another number of places")
    project = lambda tokens: tuple(tokens.get(at, 0) for at in places)
    demand(project(net.initial) in markings, "the initial marking is missing")
    sides = {(project(taken), project(put)) for taken, put in living}
    for marking in markings:
        for taken, put in sides:
            if all(map(int.__ge__, marking, taken)):
                following = tuple(n - less + more for n, less, more in zip(marking, taken, put))
                demand(following in markings, "a firing leads to a marking that is missing")
    return places, markings


def siphons(net, claim, facts):
    """The condition on a vector of 0 and 1 for the places that contradicts liveness, or the absence of deadlocks."""
    kind, formula, value = claim
    live = (kind, value) == ("Liveness", True)
    demand(live or kind == "Formula" and no_deadlock(formula, value), "siphons do not show this value")
    flats = [sides for transition in net.transitions.values() for sides in net.bindings(transition).values()]
    demand(all(count == 1 for taken, _ in flats for count in taken.values()), "more than one token from a place")
    places = [(place, colour) for place, colours in net.places.items() for colour in colours]
    conditions = [("at most", ({at: 1}, 1)) for at in places]
    if live:
        demand(all(map(net.bindings, net.transitions.values())), "a transition without a binding")
        outputs = {at: {number for number, (taken, _) in enumerate(flats) if at in taken} for at in places}
        for taken, _ in flats:
            for one, other in itertools.combinations(taken, 2):
                demand(outputs[one] <= outputs[other] or outputs[one] >= outputs[other], "no asymmetric-choice net")
        conditions.append(at_least(places, 1))
    for taken, put in flats:
        if not live:
            conditions.append(at_least(list(taken), 1))
            continue
        for at in filter(put.__contains__, places):
            weights = {other: -1 for other in taken}
            weights[at] = weights.get(at, 0) + 1
            conditions.append(("at most", (weights, 0)))
    conditions += [("at most", ({at: 1 for at in trap}, len(trap) - 1)) for trap in facts.traps]
    return "all", conditions


def no_deadlock(node, value):
    while tag(node) == "negation":
        node, value = node[0], not value
    if (tag(node), tag(node[0])) != (("all-paths", "globally") if value else ("exists-path", "finally")):
        return False
    node, value = node[0][0], not value
    while tag(node) == "negation":
        node, value = node[0], not value
    return value and tag(node) == "deadlock"


def weighted(weights, tokens):
    return sum(weights.get(at, 0) * count for at, count in tokens.items())


def lemma_inequality(net, inequality, living):
    weights, bound = named_weights(net, inequality["weights"]), Fraction(inequality["bound"])
    demand(weighted(weights, net.initial) <= bound, "initially false")
    for taken, put in living:
        demand(weighted(weights, put) <= weighted(weights, taken), "a transition increases the sum")
    return weights, bound


def lemma_trap(net, names, living):
    trap = {at for name in names for at in named_places(net, name)}
    demand(trap & set(net.initial), "no token initially")
    for taken, put in living:
        demand(not trap & set(taken) or trap & set(put), "a transition takes from the trap and puts nothing there")
    return {at: -1 for at in trap}, -1


def named_places(net, name):
    place, colour = name["place"], name.get("colour")
    demand(place in net.places, "an unknown place")
    colours = net.places[place] if colour is None else [as_colour(colour)]
    demand(all(colour in net.places[place] for colour in colours), "an unknown colour")
    return [(place, colour) for colour in colours]


def named_weights(net, weights):
    result = {}
    for weight in weights:
        for at in named_places(net, weight):
            demand(at not in result, "a place twice")
            result[at] = Fraction(weight["weight"])
    return result


def at_least(ats, number):
    return "at most", ({at: -ats.count(at) for at in ats}, -number)


def refuted(net, claim, subject):
    """The condition that contradicts a claim."""
    kind, what, value = claim
    demand(value != math.inf, "no certificate shows this value")
    demand((subject is not None) == ((kind, value) in SUBJECTS), "a subject too much or too few")
    colours_of = lambda place: [(place, colour) for colour in net.places[place]]
    if kind == "Formula":
        while tag(what) == "negation":
            what, value = what[0], not value
        wanted = ("all-paths", "globally") if value else ("exists-path", "finally")
        demand((tag(what), tag(what[0])) == wanted, "no certificate shows this formula")
        return condition(net, what[0][0], not value)
    if kind == "Bound":
        return at_least([at for place in what for at in colours_of(place)], value + 1)
    if kind == "MostInPlace":
        return "any", [at_least([at], value + 1) for place in net.places for at in colours_of(place)]
    if (kind, value) == ("OneSafe", True):
        return "any", [at_least(colours_of(place), 2) for place in net.places]
    demand((kind, value) in SUBJECTS, "no certificate shows this value")
    if kind == "StableMarking":
        demand(subject in net.places, "an unknown place")
        initial = [(at, net.initial.get(at, 0)) for at in colours_of(subject)]
        return "any", [part for at, count in initial for part in (("at most", ({at: 1}, count - 1)), at_least([at], count + 1))]
    demand(subject in net.transitions, "an unknown transition")
    return is_fireable(net, [subject], True)


SUBJECTS = {("StableMarking", True), ("QuasiLiveness", False), ("Liveness", False)}


def condition(net, node, holds):
    """The condition that a state formula holds, or does not hold."""
    kind = tag(node)
    if kind == "negation":
        return condition(net, node[0], not holds)
    if kind in ("conjunction", "disjunction"):
        return ("all" if (kind == "conjunction") == holds else "any"), [condition(net, part, holds) for part in node]
    if kind == "is-fireable":
        return is_fireable(net, net.known_transitions(node), holds)
    if kind == "deadlock":
        return is_fireable(net, net.transitions, not holds)
    demand(kind == "integer-le", "a path operator")
    sides = [node[0], node[1]] if holds else [node[1], node[0]]
    weights, bound = {}, 0 if holds else -1
    for side, sign in zip(sides, (1, -1)):
        if tag(side) == "integer-constant":
            bound -= sign * integer(side.text)
            continue
        for place in net.known_places(side):
            for colour in net.places[place]:
                weights[place, colour] = weights.get((place, colour), 0) + sign
    return "at most", (weights, bound)


def in_order(net, taken):
    """What a transition takes, in the order of its places, of one place in that of the colours."""
    places = list(dict.fromkeys(place for place, _ in taken))
    return sorted(taken.items(), key=lambda item: (places.index(item[0][0]), net.places[item[0][0]].index(item[0][1])))


def is_fireable(net, names, holds):
    parts = []
    for name in names:
        transition = net.transitions[name]
        for taken, _ in net.bindings(transition).values():
            needs = in_order(net, taken)
            if holds:
                parts.append(("all", [at_least([at], count) for at, count in needs]))
            else:
                parts.append(("any", [("at most", ({at: 1}, count - 1)) for at, count in needs]))
    return ("any" if holds else "all"), parts


def main():
    instance = None
    for text in map(lambda name: pathlib.Path(name).read_text(), sys.argv[2:]) if sys.argv[2:] else sys.stdin:
        try:
            file = read(text)
            instance = instance or Instance(pathlib.Path(sys.argv[1]))
            instance.check(file)
            print("accepted")
        except Refused as why:
            print("refused:", why)
        except Unreadable as why:
            print("unreadable:", why)


main()

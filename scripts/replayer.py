#!/usr/bin/env python3
"""Checks witnesses and certificates like `check-witness` and `check-certificate`, but shares no code with them.

    scripts/replayer.py INSTANCE.tgz < FILES

Each line of the input is a witness (with "runs") or a certificate (with "lemmas") as JSON on one line. Prints a line for
each: `accepted`, or `refused` and the reason. For comparisons on small nets: it tries all bindings of coloured transitions.
"""
import itertools
import json
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from fractions import Fraction


class Refused(Exception):
    pass


def demand(condition, why):
    if not condition:
        raise Refused(why)


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


class Net:
    """A net; markings are dictionaries of (place, colour) with positive counts. The colour of a P/T net is `dot`."""

    def __init__(self, root):
        net = child(root, "net")
        self.coloured = net.get("type").endswith("symmetricnet")
        self.sorts, self.enumerations, self.classes, self.variables = {}, {}, {}, {}
        self.places, self.transitions, arcs = {}, {}, []
        for node in net.iter():
            if tag(node) == "declarations":
                self.declare(node)
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
                bag = int(child(weight, "text").text) if weight is not None else 1
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
                self.enumerations[node.get("id")] = [element.get("id") for element in elements]
                self.classes[node.get("id")] = {
                    self.term(constant, {}): element.get("id") for element in elements for constant in element
                }

    def colours(self, sort):
        """The colours of a sort in their order: strings, and tuples for products."""
        kind = tag(sort)
        if kind == "usersort":
            return self.colours(self.sorts[sort.get("declaration")])
        if kind == "dot":
            return ["dot"]
        if kind == "bool":
            return ["false", "true"]
        if kind in ("cyclicenumeration", "finiteenumeration"):
            return [constant.get("id") for constant in sort]
        if kind == "finiteintrange":
            return [str(number) for number in range(int(sort.get("start")), int(sort.get("end")) + 1)]
        if kind == "partition":
            return self.enumerations[sort.get("id")]
        assert kind == "productsort", kind
        return list(itertools.product(*map(self.colours, sort)))

    def sort_with(self, colour):
        """The colours of the enumeration or range that has this colour. Ranges differ by their terms."""
        for sort in self.sorts.values():
            if tag(sort) in ("cyclicenumeration", "finiteenumeration", "finiteintrange"):
                colours = self.colours(sort)
                if colour in colours:
                    return colours
        raise AssertionError(colour)

    def add_place(self, node):
        place = node.get("id")
        if self.coloured:
            self.places[place] = self.colours(structure(node, "type"))
            marking = structure(node, "hlinitialMarking")
            tokens = {} if marking is None else self.bag(marking, {})
        else:
            self.places[place] = ["dot"]
            marking = child(node, "initialMarking")
            tokens = {"dot": int(child(marking, "text").text)} if marking is not None else {}
        for colour, count in tokens.items():
            if count:
                self.initial[place, colour] = count

    def term(self, node, binding):
        kind = tag(node)
        if kind == "variable":
            return binding[node.get("refvariable")]
        if kind == "useroperator":
            return node.get("declaration")
        if kind == "dotconstant":
            return "dot"
        if kind in ("finiteintrangeconstant", "booleanconstant"):
            return node.get("value")
        if kind == "tuple":
            return tuple(self.term(part, binding) for part in inside(node))
        if kind == "partitionelementof":
            return self.classes[node.get("refpartition")][self.term(inside(node)[0], binding)]
        assert kind in ("successor", "predecessor"), kind
        colour = self.term(inside(node)[0], binding)
        colours = self.sort_with(colour)
        return colours[(colours.index(colour) + (1 if kind == "successor" else -1)) % len(colours)]

    def bag(self, node, binding):
        kind = tag(node)
        if kind in ("numberof", "scalarproduct"):
            number, bag = inside(node)
            return {colour: int(number.get("value")) * n for colour, n in self.bag(bag, binding).items()}
        if kind == "all":
            return {colour: 1 for colour in self.colours(node[0])}
        if kind == "empty":
            return {}
        if kind == "add":
            total = {}
            for part in inside(node):
                for colour, count in self.bag(part, binding).items():
                    total[colour] = total.get(colour, 0) + count
            return total
        if kind == "subtract":
            total, taken = (dict(self.bag(part, binding)) for part in inside(node))
            for colour, count in taken.items():
                demand(total.get(colour, 0) >= count, "a subtraction below 0")
                total[colour] -= count
            return total
        if kind == "tuple":
            parts = [self.bag(part, binding) for part in inside(node)]
            return {colours: 1 for colours in itertools.product(*parts)}
        return {self.term(node, binding): 1}

    def order(self, colour):
        for elements in self.enumerations.values():
            if colour in elements:
                return elements.index(colour)
        return self.sort_with(colour).index(colour)

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
        left, right = (self.term(part, binding) for part in inside(node))
        if kind in ("equality", "inequality"):
            return (left == right) == (kind == "equality")
        left, right = self.order(left), self.order(right)
        return {
            "lessthan": left < right, "ltp": left < right, "lessthanorequal": left <= right,
            "greaterthan": left > right, "gtp": left > right, "greaterthanorequal": left >= right,
        }[kind]

    def side(self, transition, side, binding):
        tokens = {}
        for place, bag in transition[side]:
            bag = self.bag(bag, binding) if self.coloured else {"dot": bag}
            for colour, count in bag.items():
                if count:
                    tokens[place, colour] = tokens.get((place, colour), 0) + count
        return tokens

    def bindings(self, transition):
        """The bindings that satisfy the guard, in lexicographic order, with what is taken and put."""
        if "bound" not in transition:
            sizes = [self.colours(self.variables[name]) for name in transition["variables"]]
            transition["bound"] = {}
            for colours in itertools.product(*sizes):
                binding = dict(zip(transition["variables"], colours))
                if transition["guard"] is None or self.guard(transition["guard"], binding):
                    sides = self.side(transition, "in", binding), self.side(transition, "out", binding)
                    transition["bound"][colours] = sides
        return transition["bound"]

    def enabled(self, marking, transition):
        sides = self.bindings(self.transitions[transition]).values()
        return any(all(marking.get(at, 0) >= n for at, n in taken.items()) for taken, _ in sides)

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
        bound = self.bindings(transition)
        demand(colours in bound, "the guard is false")
        marking = dict(marking)
        taken, put = bound[colours]
        for at, count in taken.items():
            demand(marking.get(at, 0) >= count, "not enabled")
            marking[at] -= count
        for at, count in put.items():
            marking[at] = marking.get(at, 0) + count
        return {at: count for at, count in marking.items() if count}


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
            names = [name.text.strip() for name in node]
            demand(all(name in self.net.transitions for name in names), "an unknown transition")
            return any(self.net.enabled(marking, name) for name in names)
        left, right = (self.number(part, marking) for part in node)
        return left <= right

    def number(self, node, marking):
        if tag(node) == "integer-constant":
            return int(node.text)
        return sum(self.net.tokens(marking, place.text.strip()) for place in node)

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


# --- Checks ----------------------------------------------------------------------------------------------------------


class Instance:
    def __init__(self, path):
        self.formulas = {}
        with tarfile.open(path) as archive:
            for member in archive:
                folder, _, name = member.name.removeprefix("./").partition("/")
                if name == "model.pnml":
                    self.name = folder
                    self.net = Net(ElementTree.parse(archive.extractfile(member)).getroot())
                elif name.endswith(".xml") and not name.startswith("Generic"):
                    root = ElementTree.parse(archive.extractfile(member)).getroot()
                    self.formulas[name[:-4]] = {
                        child(node, "id").text.strip(): child(node, "formula")[0] for node in root
                    }

    def claim(self, file):
        """The kind of claim, its formula or places, and the value (a truth or a number)."""
        demand(file["version"] == 1 and file["instance"] == self.name, "another version or instance")
        examination, name, value = file["examination"], file["property"], file["value"]
        value = {"TRUE": True, "FALSE": False}.get(value, value)
        number = not isinstance(value, bool)
        value = int(value) if number else value
        if examination == "StateSpace" and number:
            demand(name in ("MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"), "an unknown property")
            return ("bound", list(self.net.places), value) if name.endswith("MARKING") else ("place", None, value)
        if examination in ("OneSafe", "QuasiLiveness", "StableMarking", "Liveness") and not number:
            demand(name == examination, "an unknown property")
            return examination, None, value
        if examination == name == "ReachabilityDeadlock" and examination not in self.formulas and not number:
            ef = ElementTree.fromstring("<exists-path><finally><deadlock/></finally></exists-path>")
            return "formula", ef, value
        demand(name in self.formulas.get(examination, {}), "an unknown property")
        formula = self.formulas[examination][name]
        is_bound = tag(formula) == "place-bound"
        demand(is_bound == number, "a value of another kind")
        if is_bound:
            places = [place.text.strip() for place in formula]
            demand(all(place in self.net.places for place in places), "an unknown place")
            return "bound", places, value
        return "formula", formula, value

    def run(self, run):
        markings = [self.net.initial]
        start, steps = run.get("loop"), run["steps"]
        demand(start is None or start < len(steps), "a loop without steps")
        for step in steps:
            markings.append(self.net.fire(markings[-1], step))
        demand(start is None or markings[start] == markings[-1], "the loop does not close")
        return markings

    def witness(self, file):
        kind, what, value = self.claim(file)
        net, runs = self.net, [self.run(run) for run in file["runs"]]
        if kind == "QuasiLiveness" and value:
            steps = [step for run in file["runs"] for step in run["steps"]]
            fired = {step if isinstance(step, str) else step["transition"] for step in steps}
            return demand(fired == set(net.transitions), "some transitions do not fire")
        if kind == "StableMarking" and not value:
            changed = (
                any(net.tokens(marking, place) != net.tokens(net.initial, place) for run in runs for marking in run)
                for place in net.places
            )
            return demand(all(changed), "some places do not change")
        demand(len(runs) == 1, "another number of runs")
        run, last = runs[0], runs[0][-1]
        if kind == "formula":
            start = file["runs"][0].get("loop")
            end = start if start is not None else "dead" if net.deadlock(last) else "open"
            path = Path(net, run if start is None else run[:-1], end, file["examination"].startswith("LTL"))
            return demand(path.initially(what) is value, "not shown")
        if kind == "bound":
            return demand(sum(net.tokens(last, place) for place in what) >= value, "fewer tokens")
        if kind == "place":
            return demand(max(last.values(), default=0) >= value, "fewer tokens")
        if kind == "OneSafe" and not value:
            return demand(any(net.tokens(last, place) > 1 for place in net.places), "no place with 2 tokens")
        demand(kind == "Liveness" and not value and net.transitions, "not shown by runs")
        demand(net.deadlock(last), "no deadlock")

    # Certificates. An inequality is a dictionary of weights by (place, colour), and a bound.

    def flats(self, names):
        return [sides for name in names for sides in self.net.bindings(self.net.transitions[name]).values()]

    def at(self, name):
        place, colour = name["place"], name.get("colour")
        demand(place in self.net.places, "an unknown place")
        colours = self.net.places[place] if colour is None else [as_colour(colour)]
        demand(all(colour in self.net.places[place] for colour in colours), "an unknown colour")
        return [(place, colour) for colour in colours]

    def weights(self, weights):
        result = {}
        for weight in weights:
            for at in self.at(weight):
                demand(at not in result, "a place twice")
                result[at] = Fraction(weight["weight"])
        return result

    def condition(self, node, holds):
        kind = tag(node)
        if kind == "negation":
            return self.condition(node[0], not holds)
        if kind in ("conjunction", "disjunction"):
            parts = [self.condition(part, holds) for part in node]
            return ("all" if (kind == "conjunction") == holds else "any", parts)
        if kind == "integer-le":
            sides = [node[0], node[1]] if holds else [node[1], node[0]]
            weights, bound = {}, 0 if holds else -1
            for side, sign in zip(sides, (1, -1)):
                if tag(side) == "integer-constant":
                    bound -= sign * int(side.text)
                else:
                    for place in side:
                        place = place.text.strip()
                        demand(place in self.net.places, "an unknown place")
                        for colour in self.net.places[place]:
                            weights[place, colour] = weights.get((place, colour), 0) + sign
            return "at most", (weights, bound)
        if kind == "is-fireable":
            names = [name.text.strip() for name in node]
            demand(all(name in self.net.transitions for name in names), "an unknown transition")
            return self.fireable(names, holds)
        demand(kind == "deadlock", "a path operator")
        return self.fireable(self.net.transitions, not holds)

    def fireable(self, names, holds):
        order = {(place, colour): (number, index) for number, place in enumerate(self.net.places)
                 for index, colour in enumerate(self.net.places[place])}
        parts = []
        for name in names:
            arcs = list(dict.fromkeys(place for place, _ in self.net.transitions[name]["in"]))
            for taken, _ in self.flats([name]):
                needs = sorted(taken.items(), key=lambda item: (arcs.index(item[0][0]), order[item[0]]))
                if holds:
                    parts.append(("all", [("at most", ({at: -1}, -count)) for at, count in needs]))
                else:
                    parts.append(("any", [("at most", ({at: 1}, count - 1)) for at, count in needs]))
        return ("any" if holds else "all"), parts

    def refuted(self, file):
        kind, what, value = self.claim(file)
        subject = file.get("subject")
        all_at = [(place, colour) for place, colours in self.net.places.items() for colour in colours]
        over = lambda ats, bound: ("at most", ({at: -1 * ats.count(at) for at in ats}, -bound - 1))
        needs_subject = (kind, value) in (("StableMarking", True), ("QuasiLiveness", False), ("Liveness", False))
        demand((subject is not None) == needs_subject, "a subject too much or too few")
        if kind == "formula":
            while tag(what) == "negation":
                what, value = what[0], not value
            wanted = ("all-paths", "globally") if value else ("exists-path", "finally")
            demand((tag(what), tag(what[0])) == wanted, "another formula")
            return self.condition(what[0][0], not value)
        if kind == "bound":
            return over([(place, colour) for place in what for colour in self.net.places[place]], value)
        if kind == "place":
            return "any", [over([at], value) for at in all_at]
        if kind == "OneSafe":
            demand(value, "not shown by certificates")
            return "any", [over([(p, c) for c in colours], 1) for p, colours in self.net.places.items()]
        demand(needs_subject, "not shown by certificates")
        if kind == "StableMarking":
            demand(subject in self.net.places, "an unknown place")
            parts = []
            for colour in self.net.places[subject]:
                at, initial = (subject, colour), self.net.initial.get((subject, colour), 0)
                parts += [("at most", ({at: 1}, initial - 1)), ("at most", ({at: -1}, -initial - 1))]
            return "any", parts
        demand(subject in self.net.transitions, "an unknown transition")
        return self.fireable([subject], True)

    def lemmas(self, lemmas):
        flats, dead, known = self.flats(self.net.transitions), set(), []
        for lemma in lemmas:
            if "trap" in lemma:
                trap = {at for name in lemma["trap"] for at in self.at(name)}
                demand(any(at in self.net.initial for at in trap), "an empty trap")
                for number, (taken, put) in enumerate(flats):
                    if number not in dead and trap & set(taken):
                        demand(trap & set(put), "not a trap")
                weights, bound = {at: Fraction(-1) for at in trap}, Fraction(-1)
            else:
                weights = self.weights(lemma["inequality"]["weights"])
                bound = Fraction(lemma["inequality"]["bound"])
                value = lambda tokens: sum(weights.get(at, 0) * count for at, count in tokens.items())
                demand(value(self.net.initial) <= bound, "initially false")
                for number, (taken, put) in enumerate(flats):
                    demand(number in dead or value(put) <= value(taken), "not inductive")
                if all(weight >= 0 for weight in weights.values()):
                    dead |= {number for number, (taken, _) in enumerate(flats) if value(taken) > bound}
            known.append((weights, bound))
        return known

    def certificate(self, file):
        condition, lemmas = self.refuted(file), self.lemmas(file["lemmas"])
        steps = iter(file["proof"])

        def assume(condition, assumptions, disjunctions):
            kind, of = condition
            if kind == "at most":
                assumptions.append(of)
            elif kind == "all" or len(of) == 1:
                for part in of:
                    assume(part, assumptions, disjunctions)
            else:
                disjunctions.append(of)

        # Depth first without recursion: proofs may be deep.
        left = [(condition, [], [])]
        for step in steps:
            demand(left, "too many steps")
            condition, assumptions, disjunctions = left.pop()
            assumptions, disjunctions = list(assumptions), list(disjunctions)
            assume(condition, assumptions, disjunctions)
            if "contradiction" in step:
                total, bound = {}, 0
                for kind, known in (("lemmas", lemmas), ("assumptions", assumptions)):
                    for number, factor in step["contradiction"][kind]:
                        demand(number < len(known) and Fraction(factor) >= 0, "a wrong number or factor")
                        weights, limit = known[number]
                        bound += Fraction(factor) * limit
                        for at, weight in weights.items():
                            total[at] = total.get(at, 0) + Fraction(factor) * weight
                demand(all(weight >= 0 for weight in total.values()) and bound < 0, "no contradiction")
            elif "cases" in step:
                demand(step["cases"] < len(disjunctions), "an unknown disjunction")
                cases = disjunctions[step["cases"]]
                left += [(case, assumptions, disjunctions) for case in reversed(cases)]
            else:
                weights, bound = self.weights(step["split"]["weights"]), Fraction(step["split"]["bound"])
                demand(all(w.denominator == 1 for w in [bound, *weights.values()]), "not an integer")
                high = {at: -weight for at, weight in weights.items()}
                left.append((("at most", (high, -bound - 1)), assumptions, disjunctions))
                left.append((("at most", (weights, bound)), assumptions, disjunctions))
        demand(not left, "open cases")


def main():
    instance = Instance(sys.argv[1])
    for line in sys.stdin:
        file = json.loads(line)
        try:
            if "runs" in file:
                instance.witness(file)
            else:
                instance.certificate(file)
            print("accepted")
        except Refused as why:
            print("refused:", why)


main()

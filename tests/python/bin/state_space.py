"""Counts the reachable markings of the P/T net in model.pnml and prints the four answers of StateSpace.

It uses only modules of the Debian package python3-minimal, which has no XML parser.
"""

import re
from collections import Counter


def elements(net, kind):
    """The attributes and the content of each element of this kind."""
    for attributes, content in re.findall(rf"<{kind}\s([^>]*?)(?:/>|>(.*?)</{kind}>)", net, re.DOTALL):
        yield dict(re.findall(r'(\w+)="([^"]*)"', attributes)), content


def number(content, element, default):
    """The number in the text of an element."""
    found = re.search(rf"<{element}>\s*<text>\s*(\d+)", content)
    return int(found[1]) if found else default


with open("model.pnml", encoding="utf-8") as file:
    net = file.read()
places = {place["id"]: number(content, "initialMarking", 0) for place, content in elements(net, "place")}
consumed = {transition["id"]: Counter() for transition, _ in elements(net, "transition")}
produced = {transition: Counter() for transition in consumed}
for arc, content in elements(net, "arc"):
    weight = number(content, "inscription", 1)
    if arc["source"] in places:
        consumed[arc["target"]][arc["source"]] += weight
    else:
        produced[arc["source"]][arc["target"]] += weight

initial = tuple(places.values())
reached, to_explore, firings = {initial}, [initial], 0
while to_explore:
    marking = dict(zip(places, to_explore.pop()))
    for transition, needed in consumed.items():
        if any(marking[place] < tokens for place, tokens in needed.items()):
            continue
        firings += 1
        effect = produced[transition]
        after = tuple(tokens - needed[place] + effect[place] for place, tokens in marking.items())
        if after not in reached:
            reached.add(after)
            to_explore.append(after)

answers = {
    "STATES": len(reached),
    "TRANSITIONS": firings,
    "MAX_TOKEN_IN_PLACE": max(map(max, reached)),
    "MAX_TOKEN_PER_MARKING": max(map(sum, reached)),
}
for metric, value in answers.items():
    print(f"STATE_SPACE {metric} {value} TECHNIQUES EXPLICIT SEQUENTIAL_PROCESSING", flush=True)

"""Judging by the rules of the MCC 2018 (E-2 to E-4) in plain Python: csv module, dicts, fractions.

    python3 benches/judge.py ANSWERS.csv.gz MODELS.csv EDITION.toml OUT

It exists only to be compared with `mcc-harness judge`: the same input, the same seven result files, the same content.
It does not read costs, marks and techniques, because the published tables of 2018 do not contain them.
"""

import csv
import fnmatch
import gzip
import hashlib
import json
import os
import sys
import tomllib
from collections import defaultdict
from fractions import Fraction


def read_value(text):
    """The value in its canonical text form, or None if no value was given."""
    if text == "?" or (text.startswith("-") and text[1:].isdigit()):
        return None
    if text.isdigit():
        return text.lstrip("0") or "0"
    if text in ("T", "F", "inf", "Inf", "X") or "E+" in text:
        return text
    raise SystemExit(f"`{text}` is no value")


def is_rounded(value):
    return "E+" in value


def rounded(value, known={}):
    """A number with 5 significant digits, half up."""
    if value in known:
        return known[value]
    result = value
    if value.isdigit() and value != "0":
        digits = int(value[:5].ljust(5, "0")) + (value[5:6] >= "5")
        exponent = len(value) - 1
        if digits == 100000:
            digits, exponent = 10000, exponent + 1
        result = f"{digits // 10000}.{digits % 10000:04}E+{exponent:04}"
    known[value] = result
    return result


def agree(a, b, any_rounded):
    if a == "X" or b == "X":
        return False
    return a == b or (any_rounded and rounded(a) == rounded(b))


def read_answers(path, examinations):
    """(examination, instance) -> entry -> values by position."""
    blocks = defaultdict(dict)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            number, examination = examinations[row["examination"]]
            if examination["answers"] == "boolean":
                cells = row["answers"]
            else:
                cells = row["answers"].split()
            values = [read_value(cell) for cell in cells]
            if len(values) != examination["values"]:
                raise SystemExit(f"line of {row['tool']} on {row['instance']}: {len(values)} answers")
            block = blocks[number, row["instance"]]
            if row["tool"] in block:
                raise SystemExit(f"{row['tool']} on {row['instance']} is there twice")
            block[row["tool"]] = values
    return blocks


def common_value(votes, min_agreeing):
    """The value by which a position belongs to V (E-2.2)."""
    for value in votes.values():
        if value != "X":
            agreeing = sum(1 for other in votes.values() if other == value)
            if agreeing >= min_agreeing and 2 * agreeing > len(votes):
                return value
    return None


def trusted_value(votes, confidence, threshold):
    """E-3.1: the trusted value and its basis."""
    voters = list(votes)
    if not voters:
        return None, "unknown:none"
    if len(voters) == 1:
        value = votes[voters[0]]
        if value != "X" and confidence[voters[0]] >= threshold:
            return value, "single"
        return None, "unknown:single"
    first = votes[voters[0]]
    if first != "X" and all(value == first for value in votes.values()):
        return first, "unanimous"
    if len(voters) == 2:
        a, b = voters
        if confidence[a] == confidence[b]:
            return None, "unknown:tie"
        value, basis = votes[a if confidence[a] > confidence[b] else b], "confidence"
    else:
        half = sum(confidence[voter] for voter in voters) / 2
        for voter in voters:
            backers = [o for o in voters if o == voter or (votes[o] == votes[voter] != "X")]
            if sum(confidence[backer] for backer in backers) > half:
                value, basis = votes[voter], "majority"
                break
        else:
            return None, "unknown:split"
    return (None, "unknown:split") if value == "X" else (value, basis)


def votes_of(block, position, voting):
    """The votes on a position, and whether one of them is rounded (then all are)."""
    votes = {}
    for entry, values in block.items():
        if entry in voting and values[position] is not None:
            votes[entry] = values[position]
    any_rounded = any(is_rounded(value) for value in votes.values())
    if any_rounded:
        votes = {entry: rounded(value) for entry, value in votes.items()}
    return votes, any_rounded


def equals(given, value, any_rounded):
    return agree(given, value, any_rounded or is_rounded(given))


def unrounded(block, position, voting, value):
    """The exact trusted value if all its backers gave the same number, otherwise the rounded one."""
    given = [values[position] for entry, values in block.items() if entry in voting]
    backers = {one for one in given if one is not None and rounded(one) == rounded(value)}
    return backers.pop() if len(backers) == 1 else value


def weights_of(blocks, models, multipliers):
    """E-4.4 with the normalization family-linear."""
    answered = set()
    for (_, instance), block in blocks.items():
        if any(value is not None for values in block.values() for value in values):
            answered.add(instance)
    sizes = defaultdict(int)
    for instance in answered:
        sizes[models[instance]["family"]] += 1
    largest = max(sizes.values(), default=0)
    weights = {}
    for _, instance in blocks:
        if instance not in answered:
            weights[instance] = Fraction(0)
            continue
        n = sizes[models[instance]["family"]]
        weight = Fraction(1) if largest == 1 else Fraction(largest - 1 + n - 1, (largest - 1) * n)
        weights[instance] = weight * multipliers[models[instance]["status"]]
    return weights


def podium(category, points, tool_of, competing):
    order = sorted(points, key=lambda entry: (-points[entry], entry))
    variants = defaultdict(list)
    for entry in order:
        if entry in competing:
            variants[tool_of[entry]].append(entry)
    ranked, others = [], []
    for entry in order:
        siblings = variants[tool_of[entry]] if entry in competing else []
        variant = "" if len(siblings) < 2 else "best" if siblings[0] == entry else "other"
        place = {"rank": None, "entry": entry, "variant": variant, "points": points[entry], "medal": ""}
        (ranked if entry in competing and variant != "other" else others).append(place)
    for at, place in enumerate(ranked):
        tied = at > 0 and ranked[at - 1]["points"] == place["points"]
        place["rank"] = ranked[at - 1]["rank"] if tied else at + 1
        place["medal"] = {1: "gold", 2: "silver", 3: "bronze"}.get(place["rank"], "")
    return {"category": category, "places": ranked + others}


def write_table(out, name, header, rows):
    with open(os.path.join(out, name), "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(rows)


def digest(path):
    with open(path, "rb") as file:
        return {"file": os.path.basename(path), "sha256": hashlib.sha256(file.read()).hexdigest()}


def main(answers_path, models_path, edition_path, out):
    with open(edition_path, "rb") as file:
        edition = tomllib.load(file)
    judging = edition["judging"]
    exact = lambda value: Fraction(value) if isinstance(value, (str, int)) else Fraction(repr(value))
    examinations = {e["name"]: (number, e) for number, e in enumerate(edition["examination"])}
    names = list(examinations)
    blocks = read_answers(answers_path, examinations)
    with open(models_path, encoding="utf-8", newline="") as file:
        models = {row["instance"]: row for row in csv.DictReader(file)}

    entries = sorted({entry for block in blocks.values() for entry in block})
    instances = sorted({instance for _, instance in blocks})
    status = {}
    for entry in entries:
        fitting = (rule["status"] for rule in edition["status"] if fnmatch.fnmatchcase(entry, rule["pattern"]))
        status[entry] = next(fitting, "competing")
    tool_of = {entry: entry for entry in entries}
    for tool, variants in edition["variants"].items():
        tool_of.update({variant: tool for variant in variants if variant in tool_of})
    voting = {entry for entry in entries if status[entry] == "competing"}
    multipliers = {word: exact(value) for word, value in judging["multipliers"].items()}
    weights = weights_of(blocks, models, multipliers)
    order = sorted(blocks)

    # E-2: confidence
    common, answered, agreed = 0, defaultdict(int), defaultdict(int)
    for number, instance in order:
        block = blocks[number, instance]
        for position in range(examinations[names[number]][1]["values"]):
            votes, any_rounded = votes_of(block, position, voting)
            value = common_value(votes, judging["min_agreeing"])
            if value is None:
                continue
            common += 1
            for entry, values in block.items():
                if values[position] is not None:
                    answered[entry] += 1
                    agreed[entry] += equals(values[position], value, any_rounded)
    confidence = {e: Fraction(agreed[e], answered[e]) if answered[e] else Fraction(0) for e in entries}

    # E-3, E-4: trusted values and points
    threshold, penalty = exact(judging["single_threshold"]), exact(judging["penalty"])
    per_examination = exact(judging["points_per_examination"])
    entry_number = {entry: number for number, entry in enumerate(entries)}
    instance_number = {instance: number for number, instance in enumerate(instances)}
    known_points = {}

    def points_of(number, weight, right, wrong):
        key = number, weight, right, wrong
        if key not in known_points:
            share = per_examination / examinations[names[number]][1]["values"]
            known_points[key] = share * (right - penalty * wrong) * weight
        return known_points[key]

    scores, json_blocks, trusted_rows = {}, [], []
    for number, instance in order:
        block = blocks[number, instance]
        count = examinations[names[number]][1]["values"]
        trusted, verdicts = [], {entry: "" for entry in block}
        for position in range(count):
            votes, any_rounded = votes_of(block, position, voting)
            value, basis = trusted_value(votes, confidence, threshold)
            backers, against = [], []
            for entry in sorted(block):
                given = block[entry][position]
                if given is None:
                    verdicts[entry] += "."
                elif value is None:
                    verdicts[entry] += "?"
                elif equals(given, value, any_rounded):
                    verdicts[entry] += "+"
                    if entry in voting:
                        backers.append(entry)
                else:
                    verdicts[entry] += "-"
                    if entry in voting:
                        against.append(entry)
            if value is not None:
                value = unrounded(block, position, voting, value)
            trusted.append({"id": "", "value": value, "basis": basis})
            shown = value or ""
            trusted_rows.append(
                [instance, names[number], f"{position:02}", "", shown, basis, " ".join(backers), " ".join(against)]
            )
        known = all(one["value"] is not None for one in trusted)
        cells = []
        for entry in sorted(block):
            letters = verdicts[entry]
            right, wrong, unjudged = letters.count("+"), letters.count("-"), letters.count("?")
            points = points_of(number, weights[instance], right, wrong)
            score = scores.setdefault((entry, number), [0, 0, 0, defaultdict(lambda: [0, 0])])
            score[0] += right
            score[1] += wrong
            score[2] += unjudged
            by_weight = score[3][weights[instance]]
            by_weight[0] += right
            by_weight[1] += wrong
            cells.append(
                {
                    "entry": entry_number[entry],
                    "ending": "not-stated",
                    "values": block[entry],
                    "verdicts": letters,
                    "points": str(points),
                    "complete": known and right == count,
                    "cost": None,
                }
            )
        json_blocks.append(
            {"examination": number, "instance": instance_number[instance], "trusted": trusted, "cells": cells}
        )

    table = []
    for number in range(len(names)):
        for entry in entries:
            if (entry, number) in scores:
                right, wrong, unjudged, by_weight = scores[entry, number]
                points = points_of(number, Fraction(1), right, wrong)
                normalized = sum(points_of(number, weight, *counts) for weight, counts in by_weight.items())
                table.append([entry, number, right, wrong, unjudged, points, normalized])

    competing = {entry for entry in entries if status[entry] == "competing"}
    podiums = []
    for rule in edition["podium"]:
        points = defaultdict(Fraction)
        for entry, number, _, _, _, _, normalized in table:
            if names[number] in rule["examinations"]:
                points[entry] += normalized
        podiums.append(podium(rule["category"], points, tool_of, competing))

    os.makedirs(out, exist_ok=True)
    write_table(
        out,
        "trusted.csv",
        ["instance", "examination", "position", "id", "value", "basis", "backers", "against"],
        trusted_rows,
    )
    write_table(
        out,
        "confidence.csv",
        ["tool", "agreed", "answered", "confidence"],
        [[entry, agreed[entry], answered[entry], confidence[entry]] for entry in entries],
    )
    write_table(
        out,
        "scores.csv",
        ["tool", "examination", "right", "wrong", "unjudged", "points", "normalized"],
        [[row[0], names[row[1]], *row[2:]] for row in sorted(table, key=lambda row: (row[0], row[1]))],
    )
    write_table(
        out,
        "podiums.csv",
        ["category", "rank", "tool", "variant", "points", "medal"],
        [
            [podium["category"], place["rank"], place["entry"], place["variant"], place["points"], place["medal"]]
            for podium in podiums
            for place in podium["places"]
        ],
    )
    # Road-runner and camel need costs, which these tables do not contain.
    write_table(out, "awards.csv", ["category", "award", "rank", "tool", "runs_compared", "value", "unit"], [])
    variant = lambda entry: entry.removeprefix(tool_of[entry]).lstrip(".-_+")
    write_table(
        out,
        "tools.csv",
        ["entry", "tool", "variant", "status", "host_kind", "note"],
        [[entry, tool_of[entry], variant(entry), status[entry], "", ""] for entry in entries],
    )
    judgement = {
        "edition": edition,
        "inputs": [digest(answers_path), digest(models_path)],
        "entries": [{"entry": e, "tool": tool_of[e], "status": status[e], "note": ""} for e in entries],
        "instances": [
            {
                "instance": instance,
                "family": models[instance]["family"],
                "status": models[instance]["status"],
                "weight": str(weights[instance]),
            }
            for instance in instances
        ],
        "examinations": names,
        "unresolved": [],
        "common_values": common,
        "confidence": [
            {"entry": n, "agreed": agreed[e], "answered": answered[e], "confidence": str(confidence[e])}
            for n, e in enumerate(entries)
        ],
        "blocks": json_blocks,
        "scores": [
            {
                "entry": entry_number[entry],
                "examination": number,
                "right": right,
                "wrong": wrong,
                "unjudged": unjudged,
                "points": str(points),
                "normalized": str(normalized),
            }
            for entry, number, right, wrong, unjudged, points, normalized in table
        ],
        "podiums": [
            {
                "category": podium["category"],
                "places": [
                    {**place, "entry": entry_number[place["entry"]], "points": str(place["points"])}
                    for place in podium["places"]
                ],
            }
            for podium in podiums
        ],
        "awards": [],
    }
    with open(os.path.join(out, "judgement.json"), "w", encoding="utf-8") as file:
        # json.dumps uses the encoder written in C; json.dump to a file does not.
        file.write(json.dumps(judgement, separators=(",", ":")))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])

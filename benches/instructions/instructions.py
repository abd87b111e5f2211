#!/usr/bin/env python3
"""Measures the spread of instructions in equal runs, by `compare-runs` of an image with itself.

benches/instructions/instructions.py HARNESS BUILD OUT [WORK[:START[:deterministic]] ...]     needs root and cc

BUILD is the folder `build` of `scripts/setup`. OUT receives the images and a table OUT/WORK-START[-deterministic].csv for
each series, with a line per run in the order of the runs. PAIRS sets the number of pairs (10).
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, stdev

harness, build, out = (Path(word).resolve() for word in sys.argv[1:4])
pairs = os.environ.get("PAIRS", "10")
root = Path(__file__).resolve().parents[2]

# Instance, memory in MiB, further options of `image build`.
works = {
    "c": ("DiningTable-PT-03", 512, []),
    "threads": ("DiningTable-PT-03", 512, []),
    "reference-tool": ("SwitchBoard-PT-0040", 512, []),
    "python": ("TokenLoop-PT-08", 512, ["--packages", "python3-minimal"]),
    "java": ("TokenLoop-PT-08", 1024, ["--packages", "openjdk-17-jre-headless"]),
    "minisat": ("DiningTable-PT-03", 512, ["--packages", "minisat"]),
    "z3": ("DiningTable-PT-03", 512, ["--packages", "z3"]),
}


# Solvers of Debian, which get a problem in DIMACS CNF.
solvers = {"minisat": "minisat", "z3": "z3 -dimacs"}


def pigeons(holes: int) -> str:
    """One pigeon more than holes, each in a hole of its own: an unsatisfiable problem."""
    variable = lambda pigeon, hole: pigeon * holes + hole + 1
    clauses = [[variable(pigeon, hole) for hole in range(holes)] for pigeon in range(holes + 1)]
    for hole in range(holes):
        for one in range(holes + 1):
            clauses += [[-variable(one, hole), -variable(other, hole)] for other in range(one)]
    lines = [" ".join(map(str, clause)) + " 0" for clause in clauses]
    return "\n".join([f"p cnf {holes * (holes + 1)} {len(lines)}", *lines, ""])


def image(work: str) -> Path:
    """The image of a workload, which is built if it is missing."""
    if work == "reference-tool":
        return build / "images/breadth-first"
    folder = out / "images" / work
    if not folder.exists():
        tool = out / "tools" / work
        shutil.rmtree(tool, ignore_errors=True)
        if work in solvers:
            (tool / "bin").mkdir(parents=True)
            (tool / "bin/pigeons.cnf").write_text(pigeons(8 if work == "minisat" else 9))
            head = tool / "BenchKit_head.sh"
            # Exit code 20: unsatisfiable.
            head.write_text(f'#!/bin/bash\n{solvers[work]} "$BK_BIN_PATH/pigeons.cnf"\necho CANNOT_COMPUTE\n')
            head.chmod(0o755)
        elif work in ("python", "java"):
            shutil.copytree(root / "tests" / work, tool)
        else:
            (tool / "bin").mkdir(parents=True)
            compiler = ["cc", "-O2", "-static", "-pthread", "-o", tool / "bin/compute"]
            subprocess.run([*compiler, root / "benches/instructions/compute.c"], check=True)
            head = tool / "BenchKit_head.sh"
            head.write_text(f'#!/bin/bash\n"$BK_BIN_PATH/compute" {4 if work == "threads" else 1}\n')
            head.chmod(0o755)
        command = [harness, "image", "build", "--reference", build / "images/reference", "--tool", tool]
        folder.parent.mkdir(exist_ok=True)
        subprocess.run([*command, *works[work][2], "--out", folder], check=True)
    return folder


def measure(work: str, start: str, deterministic: bool) -> None:
    instance, memory, _ = works[work]
    name = f"{work}-{start}" + ("-deterministic" if deterministic else "")
    path = image(work)
    with tempfile.TemporaryDirectory() as temporary:
        edition, instances = Path(temporary, "small.toml"), Path(temporary, "instances")
        edition.write_text(f"base = 'mcc-2018'\nname = 'small'\n[machine]\nmemory_mib = {memory}\n")
        instances.mkdir()
        shutil.copy(root / f"pnml-fixtures/{instance}.tgz", instances)
        command = [harness, "compare-runs", path, path, "--tool", work, "--edition", edition]
        command += ["--instances", instances, "--examinations", "StateSpace", "--repeat", pairs, "--start", start]
        command += ["--kind", "concurrent" if work == "threads" else "sequential", "--limit", "900"]
        command += ["--allow-degraded", "--format", "json"] + (["--deterministic"] if deterministic else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, cwd=temporary)
    report = json.loads(done.stdout)
    run = report["runs"][0]
    assert run["not_compared"] is None, run
    columns = ("instructions", "cpu_ms", "wall_ms")
    sides = [list(zip(*(run[side][column] for column in columns))) for side in "ab"]
    # A is first in the first pair, B in the second, and so on.
    in_order = [
        figures
        for number, pair in enumerate(zip(*sides))
        for figures in (pair if number % 2 == 0 else pair[::-1])
    ]
    with open(out / f"{name}.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("instructions_user", *columns[1:]))
        table.writerows(in_order)
    shown = [f"{name}: {len(in_order)} runs"]
    for column, figures in zip(columns, zip(*in_order)):
        shown.append(f"{column} {min(figures)} to {max(figures)}, SD {100 * stdev(figures) / mean(figures):.5f} %")
    print("; ".join(shown), flush=True)


for word in sys.argv[4:] or [f"{w}:{s}{d}" for w in works for s in ("boot", "restore") for d in ("", ":deterministic")]:
    measure(*(word.split(":") + ["boot"])[:2], word.endswith(":deterministic"))

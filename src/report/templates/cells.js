"use strict";
// Cells of tables of runs. A run is a list of numbers: right, wrong, unjudged and not computed values, ending, marks,
// CPU ms, wall-clock ms, memory KiB. The last three are missing if they were not measured.

const [RIGHT, WRONG, UNJUDGED, MISSING, ENDING, MARKS, CPU, WALL, MEMORY] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const all = run => run[RIGHT] + run[WRONG] + run[UNJUDGED] + run[MISSING];

/** The text of a run: `✓12 ✗2 ?1 CPU°`. Colours repeat it, so that the table is readable without colours. */
function verdictText(run) {
  const signs = [["✓", RIGHT], ["✗", WRONG], ["?", UNJUDGED]].filter(([, at]) => run[at] > 0);
  // A single value needs no number.
  const given = signs.map(([sign, at]) => sign + (all(run) > 1 ? run[at] : ""));
  const code = names.endings[run[ENDING]][0];
  if (code) given.push(code);
  return (given.join(" ") || "–") + (run[MARKS] ? "°" : "");
}

/** The words of the filter that find a run, besides the code of its ending and its marks. */
const RUN_WORDS = {
  right: run => run[RIGHT] > 0,
  wrong: run => run[WRONG] > 0,
  unjudged: run => run[UNJUDGED] > 0,
  complete: run => run[RIGHT] === all(run),
  nothing: run => !(run[RIGHT] || run[WRONG] || run[UNJUDGED]),
  marked: run => run[MARKS] > 0,
};

/** A function that returns whether `word` finds a run; `no-run` finds a cell without a run. */
function runTest(word) {
  const endings = names.endings.map(([code]) => (code.toLowerCase() || "answered") === word);
  const marks = names.marks.map(set => set !== "" && set.toLowerCase().split(" ").includes(word));
  const own = Object.hasOwn(RUN_WORDS, word) ? RUN_WORDS[word] : () => false;
  return run => run ? endings[run[ENDING]] || marks[run[MARKS]] || own(run) : word === "no-run";
}

/** Sets the colours of a cell: its class, and the shares of right, wrong and unjudged values. */
function colour(cell, run) {
  const code = names.endings[run[ENDING]][0];
  const given = run[RIGHT] + run[WRONG] + run[UNJUDGED];
  if (code === "INFRA") cell.className = "i";
  else if (run[RIGHT] === all(run)) cell.className = "k";
  else if (given === 0) cell.className = code === "DNC" || (code === "" && run[ENDING] > 0) ? "d" : "n";
  else {
    cell.className = run[WRONG] ? "w" : "p";
    const reach = values => `${Math.floor(values * 100 / all(run))}%`;
    cell.style.setProperty("--r", reach(run[RIGHT]));
    cell.style.setProperty("--w", reach(run[RIGHT] + run[WRONG]));
    cell.style.setProperty("--u", reach(given));
  }
}

/** The words after a colon that find runs. */
const runWords = () => [...new Set([...Object.keys(RUN_WORDS), "answered", "no-run",
  ...names.endings.map(([code]) => code.toLowerCase()), ...names.marks.flatMap(set => set.toLowerCase().split(" "))])].filter(word => word);

const seconds = list => duration(list.reduce((sum, ms) => sum + ms, 0));
/** What cells can show: name, text of a run (null if it was not measured), sort key, figure for ranges with its unit, and
 * the text of several figures. */
const MEASURES = {
  verdict: { name: "Verdicts", text: verdictText, key: run => run[RIGHT] * 1e6 - run[WRONG] * 1e3 - run[ENDING],
    figure: run => run[RIGHT], unit: "right values", summed: "their right values" },
  cpu: { name: "CPU time", text: run => run.length > CPU ? duration(run[CPU]) : null, key: run => run[CPU],
    figure: run => run.length > CPU ? run[CPU] / 1000 : null, unit: "s", sum: seconds, summed: "their CPU time" },
  wall: { name: "Wall-clock time", text: run => run.length > WALL ? duration(run[WALL]) : null, key: run => run[WALL],
    figure: run => run.length > WALL ? run[WALL] / 1000 : null, unit: "s", sum: seconds, summed: "their wall-clock time" },
  memory: { name: "Memory", text: run => run.length > MEMORY ? size(run[MEMORY]) : null, key: run => run[MEMORY],
    figure: run => run.length > MEMORY ? run[MEMORY] / 1024 : null, unit: "MiB",
    sum: list => size(list.reduce((most, kib) => Math.max(most, kib), 0)), summed: "the most memory of a run" },
};

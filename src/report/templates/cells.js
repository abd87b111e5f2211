"use strict";
// A run in a cell of a table. As numbers: right, wrong, unjudged, not computed, ending, marks, CPU ms, wall ms, KiB.

const [RIGHT, WRONG, UNJUDGED, MISSING, ENDING, MARKS, CPU, WALL, MEMORY] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const all = run => run[RIGHT] + run[WRONG] + run[UNJUDGED] + run[MISSING];

/** `✓12 ✗2 ?1 CPU°`: never told by colour alone. */
function verdictText(run) {
  const signs = [["✓", RIGHT], ["✗", WRONG], ["?", UNJUDGED]].filter(([, at]) => run[at] > 0);
  // One value in all needs no number.
  const given = signs.map(([sign, at]) => sign + (all(run) > 1 ? run[at] : ""));
  const code = names.endings[run[ENDING]][0];
  if (code) given.push(code);
  return (given.join(" ") || "–") + (run[MARKS] ? "°" : "");
}

/** The words a run is found by, beside the code of its ending and its marks. */
const RUN_WORDS = {
  right: run => run[RIGHT] > 0,
  wrong: run => run[WRONG] > 0,
  unjudged: run => run[UNJUDGED] > 0,
  complete: run => run[RIGHT] === all(run),
  nothing: run => !(run[RIGHT] || run[WRONG] || run[UNJUDGED]),
  marked: run => run[MARKS] > 0,
};

/** Tells whether `word` finds a run, or that there is none. */
function runTest(word) {
  const endings = names.endings.map(([code]) => (code.toLowerCase() || "answered") === word);
  const marks = names.marks.map(set => set !== "" && set.toLowerCase().split(" ").includes(word));
  const own = Object.hasOwn(RUN_WORDS, word) ? RUN_WORDS[word] : () => false;
  return run => run ? endings[run[ENDING]] || marks[run[MARKS]] || own(run) : word === "no-run";
}

/** Colours of a cell: its class, and how far the right, wrong and unjudged values reach. */
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

/** What cells can show: name, text and order of a run; null where it was not measured. */
const MEASURES = {
  verdict: ["Verdicts", verdictText, run => run[RIGHT] * 1e6 - run[WRONG] * 1e3 - run[ENDING]],
  cpu: ["CPU time", run => run.length > CPU ? duration(run[CPU]) : null, run => run[CPU]],
  wall: ["Wall-clock time", run => run.length > WALL ? duration(run[WALL]) : null, run => run[WALL]],
  memory: ["Memory", run => run.length > MEMORY ? size(run[MEMORY]) : null, run => run[MEMORY]],
};

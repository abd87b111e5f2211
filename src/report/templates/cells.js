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

/** The words a run is found by. */
function runWords(run) {
  if (!run) return ["no-run"];
  const words = [names.endings[run[ENDING]][0].toLowerCase() || "answered"];
  if (run[RIGHT]) words.push("right");
  if (run[WRONG]) words.push("wrong");
  if (run[UNJUDGED]) words.push("unjudged");
  if (run[RIGHT] === all(run)) words.push("complete");
  if (!(run[RIGHT] || run[WRONG] || run[UNJUDGED])) words.push("nothing");
  if (run[MARKS]) words.push("marked", ...names.marks[run[MARKS]].toLowerCase().split(" "));
  return words;
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

"use strict";
// Scatter plot of two entries, run by run: CPU time or memory on logarithmic axes, with the limits. It has the style
// sheet of the other pictures. It can be saved as SVG, and its figures as CSV.

const LEFT = 84, TOP = 56, SIDE = 440, BOTTOM = TOP + SIDE;
const BOX = document.getElementById("compare");
/** The figures by which runs are compared, by the beginning of the saved file's name; ticks are the powers of `base`. */
const FIGURES = {
  time: { at: CPU, limits: () => names.time_limits, base: 10, text: ms => `${thousands(ms / 1000)} s` },
  memory: { at: MEMORY, limits: () => names.memory_limits, base: 4, text: size },
};
/** The page has the names of the figures that were measured in this contest. */
for (const [what, name, column] of JSON.parse(BOX.dataset.figures)) Object.assign(FIGURES[what], { name, column });
const MEASURED = Object.keys(FIGURES).filter(what => FIGURES[what].name);
/** Which of the two entries gave a right value, and the colour of such runs. */
const KINDS_OF_PAIRS = { both: "c0", x: "c3", y: "c2", neither: "c7" };

const tools = new Map();
let saved = [];

const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** The runs of an entry by `INSTANCE/EXAMINATION`; its data are loaded once. */
function runsOf(entry) {
  if (!tools.has(entry)) {
    tools.set(entry, new Promise((done, failed) => {
      const script = element("script", { src: names.entries[entry].data });
      script.take = (...tables) => done(new Map(tables.flatMap(({ columns, rows }) => rows.flatMap(([instance, runs]) =>
        runs.map((run, at) => [`${instance}/${columns[at]}`, run]).filter(([, run]) => run)))));
      script.addEventListener("error", failed);
      document.head.append(script);
    }));
  }
  return tools.get(entry);
}

/** Called by the data of an entry of SV-COMP or CRV, with a table for each category. */
function mcc_matrices(tables) {
  document.currentScript.take(...tables);
}

function drawCompare() {
  const query = new URLSearchParams(location.hash.slice(1));
  const number = (key, none) => Math.max(0, names.entries.findIndex(of => of.name === (query.get(key) ?? none)));
  const ranked = names.entries.filter(of => of.votes).concat(names.entries);
  const [a, b] = [number("a", ranked[0]?.name), number("b", ranked[1]?.name)];
  const what = MEASURED.includes(query.get("what")) ? query.get("what") : MEASURED[0];
  const choice = (label, id, list, chosen) => [element("label", { for: id }, label),
    element("select", { id }, list.map(([value, name]) => element("option", { value, selected: String(value) === String(chosen) }, name)))];
  const entries = names.entries.map((of, at) => [at, of.name]);
  const controls = element("div", { class: "controls" }, choice("x axis", "a", entries, a), choice("y axis", "b", entries, b),
    choice("Figure", "what", MEASURED.map(value => [value, FIGURES[value].name]), what));
  controls.addEventListener("change", () => {
    const value = id => document.getElementById(id).value;
    location.hash = new URLSearchParams({ a: names.entries[value("a")].name, b: names.entries[value("b")].name, what: value("what") });
  });
  const place = element("div", {}, element("p", {}, "Loading …"));
  BOX.replaceChildren(controls, place);
  Promise.all([runsOf(a), runsOf(b)]).then(([x, y]) => place.replaceChildren(...shown(names.entries[a].name, names.entries[b].name, what, x, y)),
    () => place.replaceChildren(element("p", {}, "The data file of one of the two entries cannot be read. Copy the complete folder of the site, or write the site again with `mcc-harness report`.")));
}

/** The runs of both entries: instance and examination, which of the two gave a right value, and both runs. */
function pairsOf(x, y, at) {
  const pairs = [];
  for (const [key, one] of x) {
    const other = y.get(key);
    if (other?.[at] == null || one[at] == null) continue;
    const kind = one[RIGHT] ? other[RIGHT] ? "both" : "x" : other[RIGHT] ? "y" : "neither";
    pairs.push({ where: key.split("/"), kind, one, other });
  }
  return pairs;
}

function shown(a, b, what, x, y) {
  const figure = FIGURES[what];
  const pairs = pairsOf(x, y, figure.at);
  if (!pairs.length) return [element("p", {}, "No run was measured for both entries.")];
  const count = (kind, less) => thousands(pairs.filter(of => of.kind === kind && (!less || less(of.one[figure.at], of.other[figure.at]))).length);
  const words = `Compared runs: ${thousands(pairs.length)}. Runs with a right value of both entries: ${count("both")}; ${a} needed less in ${count("both", (x, y) => x < y)} of them, ${b} in ${count("both", (x, y) => x > y)}. Runs with a right value of ${a} only: ${count("x")}; of ${b} only: ${count("y")}.`;
  const picture = draw(a, b, figure, pairs, words);
  const file = `${what}-${a}-${b}`;
  saved.forEach(address => URL.revokeObjectURL(address));
  saved = [];
  const save = (ending, type, text) => {
    saved.push(URL.createObjectURL(new Blob([text], { type })));
    return element("a", { href: saved.at(-1), download: `${file}.${ending}` }, `Save as ${ending.toUpperCase()}`);
  };
  return [element("p", {}, words), element("figure", {}, picture, element("figcaption", {},
    save("svg", "image/svg+xml", new XMLSerializer().serializeToString(picture) + "\n"), " ", save("csv", "text/csv", csvOf(figure, pairs))))];
}

function csvOf(figure, pairs) {
  const of = run => [run[RIGHT], run[WRONG], run[figure.at]];
  const where = BOX.dataset.columns.split(",");
  const columns = side => ["right", "wrong", figure.column].map(name => `${side}_${name}`);
  const rows = pairs.map(({ where: [instance, examination], one, other }) =>
    [names.examinations[examination].name, ...names.instances[instance].slice(0, where.length - 1), ...of(one), ...of(other)]);
  const field = of => /[",\r\n]/.test(of) ? `"${String(of).replace(/"/g, '""')}"` : of;
  return [[...where, ...columns("x"), ...columns("y")], ...rows].map(row => row.map(field).join(",") + "\n").join("");
}

function draw(a, b, figure, pairs, words) {
  const figures = pairs.flatMap(({ one, other }) => [one[figure.at], other[figure.at]]).concat(figure.limits());
  const [least, most] = figures.reduce(([least, most], of) => [Math.min(least, of), Math.max(most, of)], [Infinity, 1]);
  const ticks = [1];
  while (ticks[0] * figure.base <= least) ticks[0] *= figure.base;
  do ticks.push(ticks.at(-1) * figure.base); while (ticks.at(-1) < most);
  const scale = of => Math.round(Math.log(Math.max(of, ticks[0]) / ticks[0]) / Math.log(ticks.at(-1) / ticks[0]) * SIDE);
  const [x, y] = [of => LEFT + scale(of), of => BOTTOM - scale(of)];
  const both = of => `M${x(of)} ${TOP}V${BOTTOM}M${LEFT} ${y(of)}h${SIDE}`;
  const text = (x, y, kind, words) => svg("text", { x, y, class: kind }, words);
  const [width, height] = [LEFT + SIDE + 110, BOTTOM + 84];
  const title = `${a} and ${b}: ${figure.name}`;
  const fitting = (words, most) => words.length > most ? `${words.slice(0, most - 1)}…` : words;
  const box = svg("svg", { class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-labelledby": "compared-t compared-d" },
    svg("title", { id: "compared-t" }, title), svg("desc", { id: "compared-d" }, words),
    svg("style", {}, BOX.dataset.style),
    svg("rect", { class: "b", width, height, rx: 8 }), text(16, 25, "h", fitting(title, Math.floor(width / 9))),
    svg("path", { class: "g", d: ticks.map(both).join("") }),
    ...ticks.map(tick => text(LEFT - 8, y(tick) + 4, "s e", figure.text(tick))),
    // If there are many ticks, every second text of the x axis is left out: they would touch.
    ...ticks.filter((_, at) => (ticks.length - 1 - at) % (ticks.length > 7 ? 2 : 1) === 0)
      .map(tick => text(x(tick), BOTTOM + 18, "s m", figure.text(tick))),
    svg("path", { class: "a", d: `M${LEFT} ${BOTTOM}L${LEFT + SIDE} ${TOP}` }),
    ...figure.limits().flatMap(limit => [svg("path", { class: "l", d: both(limit) }), text(LEFT + SIDE + 6, y(limit) + 4, "s", `limit ${figure.text(limit)}`)]),
    text(LEFT + SIDE, BOTTOM + 38, "e", `${fitting(a, 24)} →`), text(16, TOP - 12, "", `↑ ${fitting(b, 24)}`));
  const legend = { both: "both right", x: `only ${fitting(a, 20)} right`, y: `only ${fitting(b, 20)} right`, neither: "neither right" };
  Object.entries(KINDS_OF_PAIRS).forEach(([kind, colour], number) => {
    const of = pairs.filter(pair => pair.kind === kind);
    const pixels = new Set(of.map(({ one, other }) => `M${x(one[figure.at])} ${y(other[figure.at])}h0`));
    const [left, top] = [LEFT + 230 * (number % 2), BOTTOM + 58 + 18 * Math.floor(number / 2)];
    box.append(svg("path", { class: `${colour} p`, d: [...pixels, `M${left} ${top - 4}h0`].join("") }),
      text(left + 10, top, "", `${legend[kind]}: ${thousands(of.length)}`));
  });
  return box;
}

addEventListener("hashchange", () => withNames(drawCompare));
withNames(drawCompare);

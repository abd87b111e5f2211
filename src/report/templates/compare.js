"use strict";
// Scatter plot of two entries, run by run: CPU time or memory on logarithmic axes, with the limits. It has the style
// sheet of the other pictures. It can be saved as SVG, and its figures as CSV. What is shown is in the fragment of the
// URL. The run next to the pointer is named, and a click keeps it with links to both runs.

const LEFT = 84, TOP = 56, SIDE = 560, BOTTOM = TOP + SIDE;
const BOX = document.getElementById("compare");
/** The figures by which runs are compared, by the beginning of the saved file's name; ticks are the powers of `base`. */
const FIGURES = {
  time: { at: CPU, limits: entry => entry.time_limits ?? names.time_limits, base: 10, text: ms => `${thousands(ms / 1000)} s`, exact: duration },
  memory: { at: MEMORY, limits: () => names.memory_limits, base: 4, text: size, exact: size },
};
/** The page has the names of the figures that were measured in this contest. */
for (const [what, name, column] of JSON.parse(BOX.dataset.figures)) Object.assign(FIGURES[what], { name, column });
const MEASURED = Object.keys(FIGURES).filter(what => FIGURES[what].name);
/** What runs are grouped by: examination, category (SV-COMP) or track (CRV). */
const GROUP = BOX.dataset.group;
/** What was run, as a heading: instance, or benchmark (CRV). */
const INSTANCE = BOX.dataset.instance.replace(/^./, letter => letter.toUpperCase());
/** Which of the two entries gave a right value: colour and shape of such runs. Shapes are drawn around a pixel. */
const KINDS_OF_PAIRS = {
  both: { colour: "s0", shape: "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0" },
  x: { colour: "s1", shape: "m-5 4l5-9 5 9z" },
  y: { colour: "s2", shape: "m-4.5-4.5h9v9h-9z" },
  neither: { colour: "s3", shape: "m-4-4l8 8m0-8l-8 8" },
};
/** A run is found within this number of pixels of the pointer. */
const REACH = 12;

/** The name of a group on the page; files and addresses have the name of the tables. */
const titleOf = group => names.examinations[group].title ?? names.examinations[group].name;

const tools = new Map();
let saved = [];

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

/** Called by the data of an entry of the MCC. */
function mcc_matrix(table) {
  document.currentScript.take(table);
}

/** Called by the data of an entry of SV-COMP or CRV, with a table for each category. */
function mcc_matrices(tables) {
  document.currentScript.take(...tables);
}

function drawCompare() {
  const query = fragment();
  const number = (key, none) => Math.max(0, names.entries.findIndex(entry => entry.name === (query.get(key) ?? none)));
  const ranked = names.entries.filter(entry => entry.votes).concat(names.entries);
  const [a, b] = [number("a", ranked[0]?.name), number("b", ranked[1]?.name)];
  const what = MEASURED.includes(query.get("what")) ? query.get("what") : MEASURED[0];
  const group = names.examinations.findIndex(examination => examination.name === query.get("in"));
  const hasLine = query.has("line");
  const entries = names.entries.map((entry, at) => [at, entry.name]);
  const labelled = (...list) => element("span", {}, choice(...list));
  const swap = element("button", { type: "button" }, "Swap axes");
  const line = element("input", { type: "checkbox", id: "line", checked: hasLine });
  const controls = element("div", { class: "controls" }, labelled("x axis", "a", entries, a), labelled("y axis", "b", entries, b), swap,
    labelled("Metric", "what", MEASURED.map(value => [value, FIGURES[value].name]), what),
    labelled(GROUP, "in", [[-1, "all"], ...names.examinations.map((_, at) => [at, titleOf(at)]).filter(([at]) => names.examinations[at].judged !== false)], group),
    element("label", {}, line, " Regression line"));
  const go = (x, y) => {
    const value = id => document.getElementById(id).value;
    const chosen = value("in") >= 0 ? { in: names.examinations[value("in")].name } : {};
    location.hash = new URLSearchParams({ a: names.entries[x].name, b: names.entries[y].name, what: value("what"), ...chosen, ...(line.checked ? { line: "yes" } : {}) });
  };
  const id = document.activeElement?.id;
  controls.addEventListener("change", () => go(document.getElementById("a").value, document.getElementById("b").value));
  swap.addEventListener("click", () => go(b, a));
  const place = element("div", {}, element("p", {}, "Loading …"));
  BOX.replaceChildren(controls, place);
  if (id) document.getElementById(id)?.focus();
  const failed = () => place.replaceChildren(element("p", {}, "The data file of one of the two entries cannot be read. Copy the complete folder of the site, or write the site again with mcc-harness report."));
  Promise.all([runsOf(a), runsOf(b)]).then(([x, y]) => place.replaceChildren(...shown({ a, b, what, group, hasLine }, x, y)), failed);
}

/** The runs that were measured for both entries: instance and examination, which of the two gave a right value, and both
 * runs; and the number of those that were measured for one of the two only. */
function pairsOf(x, y, at, group) {
  const pairs = [];
  let leftOut = 0;
  for (const key of new Set([...x.keys(), ...y.keys()])) {
    const where = key.split("/").map(Number);
    if (group >= 0 && where[1] !== group) continue;
    const [one, other] = [x.get(key), y.get(key)];
    const [isOne, isOther] = [one?.[at] != null, other?.[at] != null];
    if (isOne !== isOther) leftOut += 1;
    if (!isOne || !isOther) continue;
    const kind = one[RIGHT] ? other[RIGHT] ? "both" : "x" : other[RIGHT] ? "y" : "neither";
    pairs.push({ where, kind, one, other });
  }
  return { pairs, leftOut };
}

function shown(choice, x, y) {
  const { a, b, what, group } = choice;
  const figure = FIGURES[what];
  const { pairs, leftOut } = pairsOf(x, y, figure.at, group);
  if (!pairs.length) return [element("p", {}, group < 0 ? "No run was measured for both entries." : `No run in ${titleOf(group)} was measured for both entries.`)];
  const place = element("div");
  // The picture has the runs that the filter of the list leaves.
  const list = listOf(pairs, figure, names.entries[a], names.entries[b], rows => place.replaceChildren(...pictureOf(choice, rows, leftOut)));
  place.append(...pictureOf(choice, pairs, leftOut));
  return [place, list];
}

function pictureOf({ a, b, what, group, hasLine }, pairs, leftOut) {
  const figure = FIGURES[what];
  const [first, second] = [names.entries[a], names.entries[b]];
  const count = (kind, test) => thousands(pairs.filter(pair => pair.kind === kind && (!test || test(pair.one[figure.at], pair.other[figure.at]))).length);
  const words = `Compared runs: ${thousands(pairs.length)}. Runs with a right value of both entries: ${count("both")}; ${first.name} needed less in ${count("both", (x, y) => x < y)} of them, ${second.name} in ${count("both", (x, y) => x > y)}, and both the same in ${count("both", (x, y) => x === y)}. Runs with a right value of ${first.name} only: ${count("x")}; of ${second.name} only: ${count("y")}; of neither: ${count("neither")}.${leftOut ? ` ${plural(leftOut, "further run is", "further runs are")} left out, measured for one of the two entries only.` : ""}`;
  const line = hasLine ? regression(pairs.filter(pair => pair.kind === "both"), figure.at) : null;
  const drawing = draw(first, second, figure, group, pairs, words, line);
  const file = [what, first.name, second.name, ...(group < 0 ? [] : [names.examinations[group].name])].join("-");
  saved.forEach(address => URL.revokeObjectURL(address));
  saved = [];
  const save = (ending, type, text) => {
    saved.push(URL.createObjectURL(new Blob([text], { type })));
    return element("a", { href: saved.at(-1), download: `${file}.${ending}` }, `Save as ${ending.toUpperCase()}`);
  };
  const links = [save("svg", "image/svg+xml", new XMLSerializer().serializeToString(drawing.picture) + "\n"), " · ", save("csv", "text/csv", csvOf(figure, pairs))];
  const panel = element("div", { class: "hit-panel", "aria-live": "polite" }, element("p", { class: "muted" }, "Point at a run to see its name; click to keep it here."));
  drawing.picture.append(drawing.ring);
  pointAt(drawing, pairs, figure, panel, [first, second]);
  const ratio = line ? element("p", {}, `Regression over the runs in which both entries gave a right value: ${second.name} needs about ${rounded(line.at(1000), 2)} times as much as ${first.name} where ${first.name} needs ${figure.exact(line.middle)}; the slope of the logarithms is ${line.slope.toFixed(2)}.`) : null;
  return [element("p", {}, words), ...[ratio].filter(part => part),
    element("div", { class: "scatter" }, element("figure", {}, element("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Picture of the compared runs" }, drawing.picture), element("figcaption", {}, ...links)), panel)];
}

/** A number with at least this many digits; a large one has no exponent. */
const rounded = (value, digits) => value < 10 ** digits - 0.5 ? value.toPrecision(digits) : thousands(Math.round(Number(value.toPrecision(digits))));

/** The least squares line through the logarithms of both figures. */
function regression(pairs, at) {
  const logs = pairs.map(({ one, other }) => [Math.log(Math.max(one[at], 1)), Math.log(Math.max(other[at], 1))]);
  if (logs.length < 2) return null;
  const mean = side => logs.reduce((sum, log) => sum + log[side], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const spread = logs.reduce((sum, log) => sum + (log[0] - x) ** 2, 0);
  if (!spread) return null;
  const slope = logs.reduce((sum, log) => sum + (log[0] - x) * (log[1] - y), 0) / spread;
  const value = x => Math.exp(y + slope * (Math.log(x) - x));
  const middle = Math.exp(x);
  return { slope, value, middle: Math.round(middle), at: () => value(middle) / middle };
}

/** The addresses of a pair: both entries, and the run of each. MCC sites have a page of each run. */
function linksOf({ where: [instance, examination] }, [first, second]) {
  if (!document.body.contains(BOX) || !("runPages" in BOX.dataset)) return [];
  const entry = entry => names.entries.indexOf(entry);
  return [["both", { instance, examination }], [first.name, { instance, examination, entry: entry(first) }], [second.name, { instance, examination, entry: entry(second) }]]
    .map(([name, part]) => element("a", { href: address(part) }, name === "both" ? "Values of all entries" : `Run of ${name}`));
}

const nameOf = ({ where: [instance, examination] }) => [names.instances[instance][0], titleOf(examination)];

function describe(pair, figure, entries, more) {
  const run = (run, entry) => element("li", {}, `${entry.name}: ${figure.exact(run[figure.at])}, ${plural(run[RIGHT], "right value", "right values")}${run[WRONG] ? `, ${run[WRONG]} wrong` : ""}`);
  return [element("p", {}, element("strong", {}, nameOf(pair)[0]), element("br"), nameOf(pair)[1]),
    element("ul", {}, run(pair.one, entries[0]), run(pair.other, entries[1])),
    more ? element("p", { class: "muted" }, `and ${plural(more, "more run", "more runs")} at this point`) : null,
    element("p", { class: "links" }, linksOf(pair, entries).flatMap(link => [link, " "]))].filter(link => link);
}

/** Names the run next to the pointer; a click keeps it. */
function pointAt({ picture, ring, x, y }, pairs, figure, panel, entries) {
  const pixels = pairs.map(({ one, other }) => [x(one[figure.at]), y(other[figure.at])]);
  let kept = null;
  const nearest = event => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
    let [best, least] = [null, REACH ** 2];
    pixels.forEach(([left, top], number) => {
      const distance = (left - at.x) ** 2 + (top - at.y) ** 2;
      if (distance <= least) [best, least] = [number, distance];
    });
    return best;
  };
  const show = number => {
    ring.setAttribute("visibility", number === null ? "hidden" : "visible");
    if (number === null) return;
    const [left, top] = pixels[number];
    ring.setAttribute("cx", left);
    ring.setAttribute("cy", top);
    const more = pixels.filter(pixel => pixel[0] === left && pixel[1] === top).length - 1;
    panel.replaceChildren(...describe(pairs[number], figure, entries, more));
  };
  picture.addEventListener("mousemove", event => {
    const found = nearest(event);
    picture.style.cursor = found === null ? "" : "pointer";
    show(found ?? kept);
  });
  picture.addEventListener("mouseleave", () => show(kept));
  picture.addEventListener("click", event => {
    kept = nearest(event);
    show(kept);
  });
}

/** The compared runs as a list; those that differ most come first. */
function listOf(pairs, figure, first, second, follow) {
  const place = element("div", { class: "table" });
  const ratio = ({ one, other }) => Math.max(other[figure.at], 1) / Math.max(one[figure.at], 1);
  const rows = [...pairs].sort((a, b) => Math.abs(Math.log(ratio(b))) - Math.abs(Math.log(ratio(a))));
  const link = (cell, text, pair, at) => cell.append(linksOf(pair, [first, second])[at] ?? text);
  const named = (cell, text, pair, at) => {
    link(cell, text, pair, at);
    cell.firstChild.textContent = text;
  };
  const words = { both: "both", x: first.name, y: second.name, neither: "neither" };
  const column = (name, text, key, at, extra) => ({ name, shown: text, text, key, draw: (cell, pair) => at === null ? cell.append(text(pair)) : named(cell, text(pair), pair, at), ...extra });
  const run = (entry, side, at) => column(entry.name, pair => figure.exact(pair[side][figure.at]), pair => pair[side][figure.at], at,
    { largest: true, figure: pair => pair[side][figure.at] / (figure === FIGURES.time ? 1000 : 1024), unit: figure === FIGURES.time ? "s" : "MiB" });
  // It replaces the list of the previous choice.
  tables.length = 0;
  const list = new Table(place, {
    caption: "Compared runs, those that differ most first",
    kind: "list grid",
    rows,
    columns: [column(INSTANCE, pair => nameOf(pair)[0], pair => nameOf(pair)[0], 0), column(GROUP, pair => nameOf(pair)[1], pair => nameOf(pair)[1], null),
      run(first, "one", 1), run(second, "other", 2),
      column(`${second.name} / ${first.name}`, pair => rounded(ratio(pair), 3), ratio, null, { largest: true, figure: ratio }),
      column("Any value right", pair => words[pair.kind], pair => words[pair.kind], null)],
    hint: "Type any words of a row; a minus before a word excludes the rows that it finds. The picture shows only the rows that are left.",
    follow,
  });
  // The list is measured once it is in the page.
  setTimeout(() => list.renew());
  return place;
}

function csvOf(figure, pairs) {
  const measures = run => [run[RIGHT], run[WRONG], run[figure.at]];
  const where = BOX.dataset.columns.split(",");
  const columns = side => ["right", "wrong", figure.column].map(name => `${side}_${name}`);
  const rows = pairs.map(({ where: [instance, examination], one, other }) =>
    [names.examinations[examination].name, ...names.instances[instance].slice(0, where.length - 1), ...measures(one), ...measures(other)]);
  return csvOfRows([[...where, ...columns("x"), ...columns("y")], ...rows]);
}

function draw(first, second, figure, group, pairs, words, line) {
  const limits = [figure.limits(first), figure.limits(second)];
  const figures = pairs.flatMap(({ one, other }) => [one[figure.at], other[figure.at]]).concat(...limits);
  const [least, most] = figures.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, 1]);
  const ticks = [1];
  while (ticks[0] * figure.base <= least) ticks[0] *= figure.base;
  do ticks.push(ticks.at(-1) * figure.base); while (ticks.at(-1) < most);
  const scale = value => Math.round(Math.log(Math.max(value, ticks[0]) / ticks[0]) / Math.log(ticks.at(-1) / ticks[0]) * SIDE);
  const [x, y] = [value => LEFT + scale(value), value => BOTTOM - scale(value)];
  const [upright, level] = [value => `M${x(value)} ${TOP}V${BOTTOM}`, value => `M${LEFT} ${y(value)}h${SIDE}`];
  const text = (x, y, kind, words) => svg("text", { x, y, class: kind }, words);
  const [width, height] = [LEFT + SIDE + 110, BOTTOM + 96];
  const title = `${first.name} and ${second.name}: ${figure.name}${group < 0 ? "" : ` in ${titleOf(group)}`}`;
  const fitting = (words, most) => words.length > most ? `${words.slice(0, most - 1)}…` : words;
  const limit = value => `limit ${figure.text(value)}`;
  const picture = svg("svg", { class: "plot", width, height, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "xMinYMin", role: "img", "aria-labelledby": "compared-t compared-d" },
    svg("title", { id: "compared-t" }, title), svg("desc", { id: "compared-d" }, words),
    svg("style", {}, BOX.dataset.style),
    svg("rect", { class: "b", width, height, rx: 8 }), text(16, 25, "h", fitting(title, Math.floor(width / 9))),
    svg("path", { class: "g", d: ticks.map(tick => upright(tick) + level(tick)).join("") }),
    ...ticks.map(tick => text(LEFT - 8, y(tick) + 4, "s e", figure.text(tick))),
    // If there are many ticks, every second text of the x axis is left out: they would touch.
    ...ticks.filter((_, at) => (ticks.length - 1 - at) % (ticks.length > 7 ? 2 : 1) === 0)
      .map(tick => text(x(tick), BOTTOM + 18, "s m", figure.text(tick))),
    svg("path", { class: "a", d: `M${LEFT} ${BOTTOM}L${LEFT + SIDE} ${TOP}` }),
    // The text of a second limit is on the other side of its line.
    ...limits[0].flatMap((value, at) => [svg("path", { class: "l", d: upright(value) }), text(x(value) + (at ? 4 : -4), TOP - 8, at ? "s" : "s e", limit(value))]),
    ...limits[1].flatMap(value => [svg("path", { class: "l", d: level(value) }), text(LEFT + SIDE + 6, y(value) + 4, "s", limit(value))]),
    text(LEFT + SIDE, BOTTOM + 38, "e", `${fitting(first.name, 24)} →`), text(16, TOP - 12, "", `↑ ${fitting(second.name, 24)}`));
  const legend = { both: "both have a right value", x: `only ${fitting(first.name, 20)} has one`, y: `only ${fitting(second.name, 20)} has one`, neither: "neither has one" };
  // Rare kinds are drawn last, so that others do not hide them.
  const drawn = Object.entries(KINDS_OF_PAIRS).map(([kind, style]) => [kind, style, pairs.filter(pair => pair.kind === kind)]);
  drawn.sort(([, , a], [, , b]) => b.length - a.length).forEach(([kind, { colour, shape }, pairs]) => {
    const pixels = new Set(pairs.map(({ one, other }) => `M${x(one[figure.at])} ${y(other[figure.at])}`));
    const number = Object.keys(KINDS_OF_PAIRS).indexOf(kind);
    const [left, top] = [LEFT + 260 * (number % 2), BOTTOM + 62 + 20 * Math.floor(number / 2)];
    picture.append(svg("path", { class: `${colour} q`, d: [...pixels, `M${left} ${top - 4}`].map(pixel => pixel + shape).join("") }),
      text(left + 12, top, "", `${legend[kind]}: ${thousands(pairs.length)}`));
  });
  if (line) {
    const points = ticks.flatMap((_, at) => at ? [0, 0.25, 0.5, 0.75, 1].map(part => ticks[at - 1] * (ticks[at] / ticks[at - 1]) ** part) : [])
      .filter(value => line.value(value) >= ticks[0] && line.value(value) <= ticks.at(-1));
    if (points.length > 1) picture.append(svg("path", { class: "t", d: points.map((value, at) => `${at ? "L" : "M"}${x(value)} ${y(line.value(value))}`).join("") }));
  }
  const ring = svg("circle", { class: "ring", r: 9, cx: 0, cy: 0, visibility: "hidden" });
  return { picture, ring, x, y };
}

addEventListener("hashchange", () => withNames(drawCompare));
withNames(drawCompare);

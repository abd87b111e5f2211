"use strict";
// Pictures of the rows that a table shows. They follow its filter, and can be saved as SVG and CSV. They have the style
// sheet of the other pictures of the site.

/** Links that save a picture as SVG and its values, the rows of a table, as CSV. */
function saveLinks(file, picture, rows) {
  const save = (ending, type, text) => {
    const link = element("a", { href: "#", download: `${file}.${ending}` }, `Save as ${ending.toUpperCase()}`);
    // The file is made when it is wanted: pictures are drawn with each key of the filter.
    link.addEventListener("click", () => link.href = URL.createObjectURL(new Blob([text()], { type })));
    return link;
  };
  return element("figcaption", {}, save("svg", "image/svg+xml", () => new XMLSerializer().serializeToString(picture) + "\n"), " ",
    save("csv", "text/csv", () => csvOfRows(rows)));
}

const CHART = { left: 84, top: 56, width: 640, height: 400 };

/** A picture with a title, a description for readers who do not see it, and its parts. */
function chart(title, description, height, parts) {
  const width = CHART.left + CHART.width + 240;
  return svg("svg", { class: "plot", xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title },
    svg("title", {}, title), svg("desc", {}, description), svg("style", {}, names.style), svg("rect", { class: "b", width, height, rx: 8 }),
    svg("text", { x: 16, y: 25, class: "h" }, title), ...parts);
}

const label = (x, y, kind, text) => svg("text", { x, y, class: kind }, text);

/** A logarithmic axis over values from 1: its ticks, and a function from a value to a share of its length. */
function logAxis(values, base) {
  let [least, most] = [Infinity, 1];
  for (const value of values) [least, most] = [Math.min(least, Math.max(value, 1)), Math.max(most, value)];
  const ticks = [1];
  while (ticks[0] * base <= least) ticks[0] *= base;
  do ticks.push(ticks.at(-1) * base); while (ticks.at(-1) < most);
  const length = Math.log(ticks.at(-1) / ticks[0]);
  return { ticks, share: value => Math.log(Math.max(value, ticks[0]) / ticks[0]) / length };
}

/** A linear axis from 0: at most ten ticks. */
function countAxis(most) {
  const step = [1, 2, 5].flatMap(digit => Array.from({ length: 12 }, (_, zeros) => digit * 10 ** zeros)).sort((a, b) => a - b)
    .find(step => most / step <= 10) ?? 1;
  const end = Math.max(1, Math.ceil(most / step)) * step;
  return { ticks: Array.from({ length: end / step + 1 }, (_, at) => at * step), share: value => value / end };
}

const lineClass = number => `c${number % 8}${number % 3 ? ` d${number % 3}` : ""}`;

/** One line for each column: `points` of a column are pairs of a count and a measured value, both growing. */
function lineChart({ title, description, xName, unit, lines }) {
  const { left, top, width, height } = CHART;
  const y = logAxis(lines.flatMap(line => line.points.map(point => point[1])), unit.base);
  const x = countAxis(Math.max(1, ...lines.map(line => line.points.at(-1)?.[0] ?? 0)));
  const [px, py] = [count => Math.round(left + x.share(count) * width), value => Math.round(top + (1 - y.share(value)) * height)];
  const sorted = lines.filter(line => line.points.length).sort((a, b) => b.points.at(-1)[0] - a.points.at(-1)[0]);
  return chart(title, description, top + Math.max(height + 60, 18 * sorted.length + 20), [
    svg("path", { class: "g", d: x.ticks.map(tick => `M${px(tick)} ${top}v${height}`).concat(y.ticks.map(tick => `M${left} ${py(tick)}h${width}`)).join("") }),
    ...x.ticks.map(tick => label(px(tick), top + height + 18, "s m", thousands(tick))),
    ...y.ticks.map(tick => label(left - 8, py(tick) + 4, "s e", unit.text(tick))),
    label(left + width, top + height + 38, "e", `${xName} →`), label(16, top - 12, "", `↑ ${unit.name}`),
    ...sorted.flatMap((line, at) => [
      svg("path", { class: lineClass(line.number), d: line.points.map(([count, value], at) => `${at ? "L" : "M"}${px(count)} ${py(value)}`).join("") }),
      svg("path", { class: lineClass(line.number), d: `M${left + width + 20} ${top + 18 * at}h20` }),
      label(left + width + 47, top + 4 + 18 * at, "", `${line.name}: ${thousands(line.points.at(-1)[0])}`)]),
  ]);
}

/** The exact sum of many exact numbers with few denominators. */
function total(exacts) {
  const numerators = new Map();
  for (const exact of exacts) {
    const [p, q = "1"] = exact.split("/");
    numerators.set(q, (numerators.get(q) ?? 0n) + BigInt(p));
  }
  return sum([...numerators].map(([q, p]) => `${p}/${q}`));
}

/** One bar for each column, the longest first, with its value and its distance to the next one. */
function barChart({ title, description, bars, text }) {
  const sorted = [...bars].sort((a, b) => b.value - a.value);
  const most = Math.max(1, ...sorted.map(bar => bar.value));
  const { left, top, width } = { ...CHART, left: 200, width: 400 };
  return chart(title, description, top + 24 * sorted.length + 10, sorted.flatMap((bar, at) => {
    const [y, end] = [top + 24 * at, Math.round(left + bar.value / most * width)];
    const next = sorted[at + 1];
    const distance = next && (bar.exact ? decimal(sum([bar.exact, product([next.exact, "-1"])])) : text(bar.value - next.value));
    const gap = next ? ` (${distance} more than ${next.name})` : "";
    return [label(left - 8, y + 4, "e", bar.name), svg("path", { class: `c${bar.number % 8} w`, d: `M${left} ${y}H${Math.max(end, left + 1)}` }),
      label(end + 8, y + 4, "s", (bar.exact ? decimal(bar.exact) : text(bar.value)) + gap)];
  }));
}

/** One point for each row in which both columns have a right value. */
function pointChart({ title, description, unit, pairs, first, second }) {
  const { left, top, width } = CHART;
  const side = 480;
  const axis = logAxis(pairs.flat(), unit.base);
  const [px, py] = [value => Math.round(left + axis.share(value) * side), value => Math.round(top + (1 - axis.share(value)) * side)];
  const spots = new Set(pairs.map(([x, y]) => `M${px(x)} ${py(y)}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0`));
  return chart(title, description, top + side + 60, [
    svg("path", { class: "g", d: axis.ticks.map(tick => `M${px(tick)} ${top}v${side}M${left} ${py(tick)}h${side}`).join("") }),
    ...axis.ticks.flatMap(tick => [label(px(tick), top + side + 18, "s m", unit.text(tick)), label(left - 8, py(tick) + 4, "s e", unit.text(tick))]),
    svg("path", { class: "a", d: `M${left} ${top + side}L${left + side} ${top}` }), svg("path", { class: "s0 q", d: [...spots].join("") }),
    label(left + side, top + side + 38, "e", `${first} →`), label(16, top - 12, "", `↑ ${second}`),
    label(left + width, top, "s", `${thousands(pairs.length)} rows`)]);
}

/** What a picture measures: its place in a run, the base of its ticks, and texts. */
const UNITS = {
  cpu: { at: CPU, name: "CPU time", base: 10, text: ms => `${thousands(ms / 1000)} s`, exact: duration, column: "cpu_ms" },
  wall: { at: WALL, name: "wall-clock time", base: 10, text: ms => `${thousands(ms / 1000)} s`, exact: duration, column: "wall_ms" },
  memory: { at: MEMORY, name: "memory", base: 4, text: size, exact: size, column: "memory_kib" },
};

/** The pictures: name, whether runs must be measured, and a function that draws columns of runs. */
const CHARTS = {
  solved: { name: "Values solved", measured: true, draw: (columns, unit, where) => {
    const lines = columns.map(({ name, number, runs }) => {
      let right = 0;
      const solved = runs.filter(run => run?.[RIGHT] && run[unit.at] != null).sort((a, b) => a[unit.at] - b[unit.at]);
      return { name, number, points: solved.map(run => [right += run[RIGHT], run[unit.at]]) };
    });
    const description = `For each line the number of right values in runs with at most the ${unit.name} on the y axis.`;
    return [lineChart({ title: `Right values by ${unit.name} of the run, ${where}`, description, xName: "right values", unit, lines }),
      [["column", "right", unit.column], ...lines.flatMap(line => line.points.map(point => [line.name, ...point]))]];
  } },
  quantile: { name: "Complete runs, sorted", measured: true, draw: (columns, unit, where) => {
    const lines = columns.map(({ name, number, runs }) => {
      const complete = runs.filter(run => run && run[RIGHT] === all(run) && run[unit.at] != null).map(run => run[unit.at]).sort((a, b) => a - b);
      return { name, number, points: complete.map((value, at) => [at + 1, value]) };
    });
    const description = `For each line the runs with every value right, sorted by ${unit.name}.`;
    return [lineChart({ title: `Complete runs by ${unit.name}, ${where}`, description, xName: "complete runs", unit, lines }),
      [["column", "complete_runs", unit.column], ...lines.flatMap(line => line.points.map(point => [line.name, ...point]))]];
  } },
  points: { name: "Points, with the distances in points", measured: false, draw: (columns, unit, where) => {
    const bars = columns.map(({ name, number, points }) => {
      const exact = total(points.filter(points => points !== null));
      const [p, q] = exact.split("/").map(BigInt);
      // Only the length of the bar is rounded.
      return { name, number, exact, value: Math.max(0, Number(p * 1000n / q) / 1000) };
    });
    return [barChart({ title: `Points, ${where}`, description: "The points of each column with the weights of the instances, and the distance to the next one.", bars, text: thousands }),
      [["column", "points", "points_exact"], ...bars.map(bar => [bar.name, decimal(bar.exact).replaceAll(",", ""), bar.exact])]];
  } },
  values: { name: "Right values, with their differences", measured: false, draw: (columns, unit, where) => {
    const bars = columns.map(({ name, number, runs }) => ({ name, number, value: runs.reduce((sum, run) => sum + (run?.[RIGHT] ?? 0), 0) }));
    return [barChart({ title: `Right values, ${where}`, description: "The right values of each column, and the distance to the next one.", bars, text: thousands }),
      [["column", "right"], ...bars.map(bar => [bar.name, bar.value])]];
  } },
  used: { name: "Sums", measured: true, draw: (columns, unit, where) => {
    const bars = columns.map(({ name, number, runs }) => ({ name, number, value: runs.reduce((sum, run) => sum + (run?.[unit.at] ?? 0), 0) }));
    return [barChart({ title: `Sum of ${unit.name}, ${where}`, description: `The ${unit.name} of all runs of each column.`, bars, text: unit.exact }),
      [["column", unit.column], ...bars.map(bar => [bar.name, bar.value])]];
  } },
  scatter: { name: "Two columns compared", measured: true, draw: (columns, unit, where) => {
    const [first, second] = [columns[0], columns[1] ?? columns[0]];
    const pairs = first.runs.map((run, at) => [run, second.runs[at]])
      .filter(pair => pair.every(run => run?.[RIGHT] && run[unit.at] != null)).map(pair => pair.map(run => run[unit.at]));
    const title = `${first.name} and ${second.name}: ${unit.name}, ${where}`;
    const description = "One point for each row in which both of the first two shown columns have a right value. To choose other columns, hide some with “Columns and ranges”.";
    return [pointChart({ title, description, unit, pairs, first: first.name, second: second.name }), [[`${first.name}_${unit.column}`, `${second.name}_${unit.column}`], ...pairs]];
  } },
};

/** The picture `kind` of the shown rows and columns of a table. `view`: what its cells show. */
function chartOf(kind, view, rows, columns, filter) {
  const unit = UNITS[view] ?? UNITS.cpu;
  const runs = columns.filter(column => column.run).map((column, number) => ({ name: column.name, number, runs: rows.map(column.run), points: rows.map(column.points) }));
  if (!runs.length) return [element("p", {}, "No column of runs is shown.")];
  const isMeasured = runs.some(column => column.runs.some(run => run?.[unit.at] != null));
  const drawn = CHARTS[kind] ?? CHARTS.values;
  if (drawn.measured && !isMeasured) return [element("p", {}, `The ${unit.name} of the shown runs is not known.`)];
  const where = `${plural(rows.length, "row", "rows")}${filter ? ` with “${filter}”` : ""}`;
  const [picture, table] = drawn.draw(runs, unit, where);
  return [element("p", { class: "hint" }, `${picture.querySelector("desc").textContent} Choose the measured value with “Show” above.`),
    element("figure", {}, element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of the shown rows" }, picture), saveLinks([kind, unit.column].join("-"), picture, table))];
}

"use strict";
// Any two entries, run by run: CPU time or memory on logarithmic axes, with the limits.

const SIDE = 520, LEFT = 70, TOP = 30;
const tools = new Map();
const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** The runs of an entry by instance and examination; loaded once. */
function runsOf(entry) {
  if (!tools.has(entry)) {
    tools.set(entry, new Promise((done, failed) => {
      const script = element("script", { src: names.entries[entry].page.replace(/html$/, "js") });
      script.take = data => done(new Map(data.rows.flatMap(([instance, runs]) =>
        runs.map((run, at) => [`${instance}/${data.columns[at]}`, run]).filter(([, run]) => run))));
      script.addEventListener("error", failed);
      document.head.append(script);
    }));
  }
  return tools.get(entry);
}

function drawCompare() {
  const query = new URLSearchParams(location.hash.slice(1));
  const number = (key, none) => Math.max(0, names.entries.findIndex(of => of.name === (query.get(key) ?? none)));
  const ranked = names.entries.filter(of => of.votes).concat(names.entries);
  const [a, b] = [number("a", ranked[0]?.name), number("b", ranked[1]?.name)];
  const choice = (label, id, list, chosen) => [element("label", { for: id }, label),
    element("select", { id }, list.map(([value, name]) => element("option", { value, selected: String(value) === String(chosen) }, name)))];
  const entries = names.entries.map((of, at) => [at, of.name]);
  const what = query.get("what") === "memory" ? "memory" : "cpu";
  const controls = element("div", { class: "controls" }, choice("Across", "a", entries, a), choice("Up", "b", entries, b),
    choice("Figure", "what", [["cpu", "CPU time"], ["memory", "Memory"]], what));
  controls.addEventListener("change", () => {
    const value = id => document.getElementById(id).value;
    location.hash = new URLSearchParams({ a: names.entries[value("a")].name, b: names.entries[value("b")].name, what: value("what") });
  });
  const place = element("div", {}, element("p", {}, "Loading …"));
  document.getElementById("compare").replaceChildren(controls, place);
  Promise.all([runsOf(a), runsOf(b)]).then(([first, second]) => place.replaceChildren(...picture(a, b, what, first, second)),
    () => place.replaceChildren(element("p", {}, "The data of one of them are missing.")));
}

function picture(a, b, what, first, second) {
  const [at, limits] = what === "cpu" ? [CPU, names.time_limits] : [MEMORY, names.memory_limits];
  const pairs = [...first].map(([key, run]) => [key, run, second.get(key)]).filter(([, x, y]) => y && x.length > at && y.length > at);
  if (!pairs.length) return [element("p", {}, "No run of both was measured.")];
  const most = Math.max(10, ...limits, ...pairs.map(([, x, y]) => Math.max(x[at], y[at])));
  const least = Math.max(1, Math.min(...pairs.map(([, x, y]) => Math.min(x[at] || 1, y[at] || 1))));
  const scale = figure => Math.log(Math.max(figure, least) / least) / Math.log(most / least) * SIDE;
  const [x, y] = [figure => (LEFT + scale(figure)).toFixed(1), figure => (TOP + SIDE - scale(figure)).toFixed(1)];
  const solved = run => run[RIGHT] > 0;
  const kinds = { both: "", first: "", second: "", neither: "" };
  let below = 0, above = 0;
  const rows = [["instance", "examination", `${names.entries[a].name}`, `${names.entries[b].name}`, "solved by"]];
  for (const [key, one, other] of pairs) {
    const kind = solved(one) ? solved(other) ? "both" : "first" : solved(other) ? "second" : "neither";
    kinds[kind] += `M${x(one[at])} ${y(other[at])}h0`;
    if (kind === "both") one[at] > other[at] ? below++ : one[at] < other[at] ? above++ : 0;
    const [instance, examination] = key.split("/");
    rows.push([names.instances[instance][0], names.examinations[examination].name, one[at], other[at], kind]);
  }
  const box = svg("svg", { viewBox: `0 0 ${LEFT + SIDE + 30} ${TOP + SIDE + 50}`, class: "compare", role: "img",
    "aria-label": `${names.entries[a].name} and ${names.entries[b].name}: ${pairs.length} runs` });
  box.append(svg("rect", { x: LEFT, y: TOP, width: SIDE, height: SIDE }));
  const [base, label] = what === "cpu" ? [10, ms => ms < 1000 ? `${ms} ms` : `${thousands(ms / 1000)} s`] : [16, size];
  let tick = 1;
  while (tick < least) tick *= base;
  for (; tick <= most; tick *= base) {
    box.append(svg("path", { class: "tick", d: `M${x(tick)} ${TOP}v${SIDE}M${LEFT} ${y(tick)}h${SIDE}` }),
      svg("text", { x: x(tick), y: TOP + SIDE + 18, "text-anchor": "middle" }, label(tick)),
      svg("text", { x: LEFT - 6, y: Number(y(tick)) + 4, "text-anchor": "end" }, label(tick)));
  }
  for (const limit of limits) box.append(svg("path", { class: "limit", d: `M${x(limit)} ${TOP}v${SIDE}M${LEFT} ${y(limit)}h${SIDE}` }));
  box.append(svg("path", { class: "limit", d: `M${LEFT} ${TOP + SIDE}L${LEFT + SIDE} ${TOP}` }));
  for (const [kind, path] of Object.entries(kinds)) if (path) box.append(svg("path", { class: `dots ${kind}`, d: path }));
  box.append(svg("text", { x: LEFT + SIDE / 2, y: TOP + SIDE + 42, "text-anchor": "middle" }, names.entries[a].name),
    svg("text", { x: 12, y: 14 }, `↑ ${names.entries[b].name}`));
  const csv = rows.map(row => row.map(field => /[",\n]/.test(field) ? `"${String(field).replace(/"/g, '""')}"` : field).join(",")).join("\n");
  const count = kind => (kinds[kind].match(/M/g) ?? []).length;
  return [element("p", {}, `${thousands(pairs.length)} runs. Of ${thousands(count("both"))} in which both gave a right value, ${names.entries[a].name} needed less in ${thousands(above)}, ${names.entries[b].name} in ${thousands(below)}. Only ${names.entries[a].name} gave one in ${thousands(count("first"))}, only ${names.entries[b].name} in ${thousands(count("second"))}.`),
    element("figure", {}, box, element("figcaption", {}, element("span", { class: "dot both" }), " both right ", element("span", { class: "dot first" }), ` only ${names.entries[a].name} `,
      element("span", { class: "dot second" }), ` only ${names.entries[b].name} `, element("span", { class: "dot neither" }), " neither; dashed: limits and the diagonal. ",
      element("a", { href: URL.createObjectURL(new Blob([csv], { type: "text/csv" })), download: `${what}-${names.entries[a].name}-${names.entries[b].name}.csv` }, "CSV")))];
}

addEventListener("hashchange", () => withNames(drawCompare));
withNames(drawCompare);

"use strict";
// The tables of runs and the lists of the site, from their data.

/** Draws the name of an instance; the name of its family has an element of its own, which narrow pages hide. */
function drawInstance(cell, number, link) {
  const [name, family] = names.instances[number];
  const short = name.startsWith(family + "-") ? name.slice(family.length + 1) : name;
  cell.append(element("a", { href: link, title: name },
    name === short ? null : element("i", {}, family + "-"), short));
}

/** Called by the data of an examination or entry: draws the table. */
function mcc_matrix(data) {
  withNames(() => {
    const place = document.querySelector(".table");
    const acrossEntries = data.across === "entries";
    const heads = data.columns.map(number => acrossEntries ? names.entries[number] : names.examinations[number]);
    const part = (row, number) => acrossEntries
      ? { instance: row[0], examination: data.of, entry: number }
      : { instance: row[0], examination: number, entry: data.of };
    let measure = MEASURES.verdict;
    const shown = run => run ? measure.text(run) ?? "–" : "·";
    const column = (head, at) => ({
      name: head.name,
      shown: row => shown(row[1][at]),
      note: head.status || null,
      largest: true,
      run: row => row[1][at],
      points: row => row[2][at],
      key: row => row[1][at] ? measure.key(row[1][at]) : null,
      figure: row => row[1][at] ? measure.figure(row[1][at]) : null,
      draw: (cell, row) => {
        const run = row[1][at];
        if (!run) {
          cell.className = "e";
          cell.textContent = shown(run);
          return;
        }
        colour(cell, run);
        const text = measure.text(run);
        cell.append(element("a", { href: address(part(row, data.columns[at])),
          "aria-label": `${head.name}: ${text ?? "not measured"}` }, shown(run)));
      },
    });
    const block = row => ({ instance: row[0], examination: acrossEntries ? data.of : null });
    const first = {
      name: "Instance",
      shown: row => names.instances[row[0]][0],
      text: row => names.instances[row[0]].slice(0, 3).join("\n"),
      key: row => names.instances[row[0]][0],
      draw: (cell, row) => drawInstance(cell, row[0], address(block(row))),
    };
    const second = {
      name: "Status",
      shown: row => names.instances[row[0]][2],
      key: row => names.instances[row[0]][2],
      draw: (cell, row) => cell.append(names.instances[row[0]][2]),
    };
    // `LoLA:wrong`: columns whose names begin with the first part, and a word that finds their runs.
    const split = word => [word.slice(0, word.lastIndexOf(":")), word.slice(word.lastIndexOf(":") + 1)];
    const columnsOf = prefix => [...heads.keys()].filter(at => heads[at].name.toLowerCase().startsWith(prefix));
    const find = word => {
      if (!word.includes(":")) return null;
      const [prefix, test] = [split(word)[0], runTest(split(word)[1])];
      const columns = columnsOf(prefix);
      return row => columns.some(at => test(row[1][at]));
    };
    const columnsAre = acrossEntries ? "entry" : "examination";
    const advice = word => {
      const known = runWords();
      if (!word.includes(":")) return known.includes(word) ? `To find runs, write “:${word}” with a colon.` : null;
      const [prefix, test] = split(word);
      if (prefix && !columnsOf(prefix).length) {
        const other = similar(prefix, heads.map(head => head.name.toLowerCase()));
        return `No ${columnsAre} begins with “${prefix}”.${other ? ` Did you mean “${other}:${test}”?` : ""}`;
      }
      return known.includes(test) ? null : `“${test}” is not a word for runs; the words are ${known.join(", ")}.`;
    };
    const occurs = word => data.rows.some(row => row[1].some(run => run && runTest(word)(run)));
    new Table(place, {
      caption: acrossEntries
        ? `${place.dataset.name}: right (✓), wrong (✗) and unjudged (?) values, and the ending of the run`
        : `${place.dataset.name}: right (✓), wrong (✗) and unjudged (?) values by examination, and the ending of the run`,
      kind: "grid",
      columns: [first, second, ...heads.map(column)],
      rows: data.rows,
      find,
      advice,
      hint: `Type parts of names, or “surprise”, to find rows; type “${(heads.find(head => !head.status) ?? heads[0])?.name}:wrong” to find runs of one column, or “:wrong”,${occurs("cpu") ? " “:cpu”," : ""} “:nothing” (no value), “:complete” (every value right)${occurs("marked") ? ", “:marked”" : ""} to find runs of any column. A minus before a word excludes the rows that it finds.`,
      views: Object.entries(MEASURES).filter(([value]) => data.costs || value === "verdict").map(([value, { name }]) => [value, name]),
      view: value => {
        measure = MEASURES[value];
        return measure.unit;
      },
      charts: Object.entries(CHARTS).filter(([, { measured }]) => data.costs || !measured).map(([value, { name }]) => [value, name]),
      summary: (rows, columns) => [sumsOf(rows, columns.filter(column => column.run), measure)],
    });
  });
}

/** The kinds of runs that are summed up. */
const SUMS = [
  ["All runs", () => true],
  ["Complete", run => run[RIGHT] === all(run)],
  ["Right in part", run => run[RIGHT] > 0 && run[RIGHT] < all(run) && !run[WRONG]],
  ["With a wrong value", run => run[WRONG] > 0],
  ["Only unjudged values", run => !run[RIGHT] && !run[WRONG] && run[UNJUDGED] > 0],
  ["Without a value", run => run[MISSING] === all(run)],
];

/** Numbers of runs by result and by status of the model; with a figure other than verdicts also its sum or its most. */
function sumsOf(rows, columns, measure) {
  const statuses = [...new Set(rows.map(row => names.instances[row[0]][2]))].sort();
  const kinds = [...SUMS.map(([name, test]) => [name, run => test(run)]),
    ...(statuses.length > 1 ? statuses.map(status => [`Runs on ${status} models`, (_, row) => names.instances[row[0]][2] === status]) : [])];
  const text = (column, test) => {
    const runs = rows.map(row => [column.run(row), row]).filter(([run, row]) => run && test(run, row)).map(([run]) => run);
    if (!runs.length) return "";
    const right = runs.reduce((sum, run) => sum + run[RIGHT], 0);
    const figures = runs.map(measure.key).filter(figure => figure != null);
    const figure = measure.sum ? (figures.length ? measure.sum(figures) : "–") : `✓${thousands(right)}`;
    return [thousands(runs.length), element("small", {}, figure)];
  };
  const body = kinds.map(([name, test]) => [name, ...columns.map(column => element("td", {}, text(column, test)))])
    .filter(([, ...cells]) => cells.some(cell => cell.textContent));
  return tableOf(`Number of runs, and below it ${measure.summed}`, ["Runs", ...columns.map(column => column.name)], body, "figures");
}

/** The text and the sort key of each kind of field of a list. */
const exact = field => field.split("/").map(Number).reduce((p, q) => p / q);
const KINDS = {
  text: { text: field => field ?? "", key: field => field ?? null },
  /** Text in a column that may be wide. */
  marks: { text: field => field ?? "", key: field => field ?? null },
  link: { text: field => field[0], key: field => field[0] },
  number: { text: field => field == null ? "" : thousands(field), key: field => field ?? null, figure: field => field, largest: true },
  points: { text: field => decimal(field), key: exact, figure: exact, largest: true },
  position: { text: field => field == null ? "" : two(field), key: field => field ?? null, figure: field => field },
  examination: { text: field => field == null ? "all" : names.examinations[field].name, key: field => field ?? -1 },
  entry: { text: field => names.entries[field].name, key: field => names.entries[field].name },
  entries: { text: field => field.map(number => names.entries[number].name).join(", "), key: field => field.length, figure: field => field.length, unit: "entries", largest: true },
  instance: { text: field => field == null ? "" : names.instances[field][0], key: field => field == null ? null : names.instances[field][0] },
};

function drawList(place, data) {
  const at = kind => data.columns.findIndex(([, other]) => other === kind);
  const [instance, examination, entry, position] = ["instance", "examination", "entry", "position"].map(at);
  const value = (row, number) => number < 0 ? null : row[number];
  // A position has the name of its metric, if it has one.
  const textOf = (row, number) => number === position && row[number] != null
    ? names.examinations[value(row, examination)]?.positions?.[row[number]] ?? two(row[number]) : KINDS[data.columns[number][1]].text(row[number]);
  const columns = data.columns.map(([name, kind], number) => ({
    name,
    optional: true,
    unit: KINDS[kind].unit,
    largest: KINDS[kind].largest,
    shown: row => textOf(row, number),
    text: row => textOf(row, number),
    key: row => KINDS[kind].key(row[number]),
    figure: KINDS[kind].figure ? row => KINDS[kind].figure(row[number]) : null,
    draw: (cell, row) => {
      if (number === instance && row[number] != null) {
        drawInstance(cell, row[number], address({ instance: row[number], examination: value(row, examination),
          entry: value(row, entry), position: value(row, position) }));
      } else if (kind === "link") cell.append(element("a", { href: root() + row[number][1] }, row[number][0]));
      else {
        const text = textOf(row, number);
        if (kind === "marks") cell.className = "broad";
        cell.append(element("span", { title: text.length > 30 ? text : null }, text));
      }
    },
  }));
  new Table(place, {
    caption: place.dataset.name,
    kind: "list grid",
    columns,
    rows: data.rows,
    hint: "Type any words of a row; a minus before a word excludes the rows that it finds.",
  });
}

/** Called by the data of a page with one list. */
function mcc_list(data) {
  mcc_lists([data]);
}

/** Called by the data of a page with several lists; lists without rows are not shown. */
function mcc_lists(lists) {
  withNames(() => document.querySelectorAll(".table").forEach((place, at) => {
    if (lists[at]?.rows.length) drawList(place, lists[at]);
  }));
}

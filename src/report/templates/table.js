"use strict";
// Tables of any length: only the visible rows are in the page. Columns have the width of their longest cell, visible or
// not: so columns do not move while rows change, and the browser only lays out new rows.

/** Rows above and below the visible ones that are drawn while the table scrolls, to avoid gaps. */
const SPARE = 8;
/** Drawn rows that are kept, to be shown again. */
const KEPT = 500;
/** Texts by which the width of a column is measured: the text with the most letters is not always the widest. */
const LONGEST = 8;

/**
 * A table in `place`. Columns: `name`, `note`, `text(row)` for the filter, `key(row)` for sorting, `draw(cell, row)`, and
 * `shown(row)`, the text that it draws. `find(word)` returns a function of a row: whether the row meets a word of the
 * filter by something else than a text of a column; null for words that are only sought in texts.
 */
class Table {
  constructor(place, { caption, columns, rows, kind, find, hint, measures }) {
    Object.assign(this, { place, columns, rows, find });
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.body = element("tbody");
    const space = () => element("tbody", { "aria-hidden": "true", hidden: true },
      element("tr", {}, element("td", { class: "space", colspan: columns.length })));
    [this.before, this.after] = [space(), space()];
    this.head = element("tr");
    this.widths = element("colgroup", {}, columns.map(() => element("col")));
    this.table = element("table", { class: kind },
      element("caption", {}, caption), this.widths, element("thead", {}, this.head), this.before, this.body, this.after);
    this.box = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, this.table);
    const id = `filter-${document.querySelectorAll(".filter").length + 1}`;
    this.filter = element("input", { type: "search", id, class: "filter", autocomplete: "off", spellcheck: "false",
      "aria-describedby": `${id}-hint` });
    place.replaceChildren(
      element("div", { class: "controls", role: "search", "aria-label": caption },
        element("label", { for: id }, "Filter"), this.filter, measures || null, this.count),
      element("p", { class: "muted hint", id: `${id}-hint` }, hint), this.box);
    this.texts = rows.map(row => columns.map(column => column.text ? column.text(row) : "").join("\n").toLowerCase());
    this.sorted = { column: null, down: false };
    this.drawn = new Map();
    this.kept = new Map();
    this.rank();
    this.drawHead();
    this.findLongest();
    this.measure();
    this.table.setAttribute("aria-colcount", columns.length);
    this.filter.addEventListener("input", () => this.select());
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => {
      this.measure();
      this.draw();
    });
    this.body.addEventListener("keydown", event => this.step(event));
    const initial = new URLSearchParams(location.hash.slice(1)).get("filter");
    if (initial) this.filter.value = initial;
    this.select();
  }

  drawHead() {
    this.head.replaceChildren(...this.columns.map((column, at) => {
      const button = element("button", { type: "button" }, column.name);
      button.addEventListener("click", () => this.sort(at));
      const state = this.sorted.column === at ? (this.sorted.down ? "descending" : "ascending") : null;
      return element("th", { scope: "col", "aria-sort": state }, button,
        column.note ? element("small", {}, column.note) : null);
    }));
  }

  /** Sorts by a column; the second time in the other direction, the third time not at all. Rows without a key are last. */
  sort(at) {
    const { column, down } = this.sorted;
    if (column !== at) this.sorted = { column: at, down: Boolean(this.columns[at].largest) };
    else if (down === Boolean(this.columns[at].largest)) this.sorted.down = !down;
    else this.sorted = { column: null, down: false };
    this.drawHead();
    this.head.children[at].querySelector("button").focus();
    // The head of the sorted column has an arrow, which changes its width.
    this.measure();
    this.rank();
    this.select();
  }

  /** Sorts all rows, filtered or not, so that a new filter needs no sorting. */
  rank() {
    const { column, down } = this.sorted;
    this.ranked = this.rows.map((_, at) => at);
    if (column === null) return;
    const keys = this.rows.map(row => this.columns[column].key(row));
    const sign = down ? -1 : 1;
    this.ranked.sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x == null || y == null) return (x == null) - (y == null) || a - b;
      return (x < y ? -sign : x > y ? sign : 0) || a - b;
    });
  }

  /** Draws all rows again, because cells show another figure. */
  renew() {
    this.drawn.forEach(row => row.remove());
    this.drawn.clear();
    this.kept.clear();
    this.findLongest();
    this.measure();
    this.rank();
    this.select();
  }

  /** Finds the rows with the longest texts of each column. */
  findLongest() {
    this.longest = this.columns.map(column => {
      const texts = [...new Map(this.rows.map(row => [column.shown(row), row]))];
      return texts.sort(([a], [b]) => b.length - a.length).slice(0, LONGEST).map(([, row]) => row);
    });
  }

  /** Measures the height of a row and the widths of columns with rows of the longest cells. */
  measure() {
    this.height = 28;
    // The height in which rows are visible: the box without the head, which is always visible.
    this.view = (parseFloat(getComputedStyle(this.box).maxHeight) || innerHeight) - this.head.offsetHeight;
    if (!this.rows.length) return;
    const rows = Array.from({ length: LONGEST }, (_, at) => this.drawRow(column => this.longest[column][at] ?? this.longest[column][0]));
    this.table.classList.remove("measured");
    this.body.append(...rows);
    const widths = [...rows[0].children].map(cell => Math.ceil(cell.getBoundingClientRect().width));
    this.height = rows[0].getBoundingClientRect().height || this.height;
    rows.forEach(row => row.remove());
    widths.forEach((width, at) => this.widths.children[at].style.width = `${width}px`);
    this.table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
    this.table.classList.add("measured");
  }

  /** Applies the filter. */
  select() {
    this.box.scrollTop = 0;
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(word => word && word !== "-");
    const tests = words.map(of => {
      const [word, is] = of.startsWith("-") ? [of.slice(1), false] : [of, true];
      const found = this.find?.(word);
      return at => (this.texts[at].includes(word) || Boolean(found?.(this.rows[at]))) === is;
    });
    this.order = this.ranked.filter(at => tests.every(test => test(at)));
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.count.textContent = `${thousands(this.order.length)} of ${thousands(this.rows.length)}`;
    this.draw(0, 0);
  }

  /** Adds the visible rows to the page and removes the others; rows that stay are not changed. */
  draw(top = this.box.scrollTop, spare = SPARE) {
    const first = Math.max(0, Math.floor(top / this.height) - spare);
    const last = Math.min(this.order.length, Math.ceil((top + this.view) / this.height) + spare);
    const wanted = new Set(this.order.slice(first, last));
    for (const [number, row] of this.drawn) {
      if (!wanted.has(number)) {
        row.remove();
        this.drawn.delete(number);
      }
    }
    let next = null;
    for (let at = last - 1; at >= first; at--) {
      const number = this.order[at];
      const row = this.drawn.get(number) ?? this.rowOf(number);
      if (!this.drawn.has(number) || row.nextSibling !== next) this.body.insertBefore(row, next);
      this.drawn.set(number, row);
      if (row.getAttribute("aria-rowindex") !== String(at + 2)) row.setAttribute("aria-rowindex", at + 2);
      next = row;
    }
    this.space(this.before, first * this.height);
    this.space(this.after, (this.order.length - last) * this.height);
  }

  space(body, height) {
    body.hidden = height <= 0;
    body.querySelector("td").style.height = `${height}px`;
  }

  rowOf(number) {
    let row = this.kept.get(number);
    if (!row) {
      if (this.kept.size > KEPT) this.kept.clear();
      row = this.drawRow(() => this.rows[number]);
      this.kept.set(number, row);
    }
    return row;
  }

  /** Draws a row. `data(number)` is the row of data that column `number` shows. */
  drawRow(data) {
    const row = element("tr");
    this.columns.forEach((column, number) => {
      const cell = element(number === 0 ? "th" : "td", number === 0 ? { scope: "row" } : {});
      column.draw(cell, data(number));
      // Arrow keys move between the links of a table; Tab stops only at the first link of a row.
      if (number > 0) cell.querySelectorAll("a").forEach(link => link.tabIndex = -1);
      row.append(cell);
    });
    return row;
  }

  /** Arrow keys move the focus from link to link. */
  step(event) {
    const cell = event.target.closest("th, td");
    const direction = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !direction || event.altKey || event.ctrlKey || event.metaKey) return;
    let row = cell.parentElement, at = [...row.children].indexOf(cell);
    do {
      row = direction[0] < 0 ? row.previousElementSibling : direction[0] > 0 ? row.nextElementSibling : row;
      at += direction[1];
      const link = row?.children[at]?.querySelector("a");
      if (link) {
        event.preventDefault();
        link.focus();
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
        return;
      }
    } while (row && at >= 0 && at < this.columns.length && direction[1]);
  }
}

/** Draws the name of an instance; the name of its family has an element of its own, which narrow pages hide. */
function drawInstance(cell, number, link) {
  const [name, family] = names.instances[number];
  const short = name.startsWith(family + "-") ? name.slice(family.length + 1) : name;
  cell.append(element("a", { href: link, title: name },
    name === short ? null : element("i", {}, family + "-"), short));
}

/** Called by the data of an examination or entry: draws the table, or passes the data to the script that loaded them. */
function mcc_matrix(data) {
  const take = document.currentScript.take;
  if (take) take(data);
  else drawMatrix(data);
}

function drawMatrix(data) {
  withNames(() => {
    const place = document.querySelector(".table");
    const acrossEntries = data.across === "entries";
    const heads = data.columns.map(number => acrossEntries ? names.entries[number] : names.examinations[number]);
    const part = (row, number) => acrossEntries
      ? { instance: row[0], examination: data.of, entry: number }
      : { instance: row[0], examination: number, entry: data.of };
    let measure = MEASURES.verdict;
    const shown = run => run ? measure[1](run) ?? "–" : "·";
    const column = (head, at) => ({
      name: head.name,
      shown: row => shown(row[1][at]),
      note: head.status || null,
      largest: true,
      key: row => row[1][at] ? measure[2](row[1][at]) : null,
      draw: (cell, row) => {
        const run = row[1][at];
        if (!run) {
          cell.className = "e";
          cell.textContent = shown(run);
          return;
        }
        colour(cell, run);
        const text = measure[1](run);
        cell.append(element("a", { href: address(part(row, data.columns[at])),
          "aria-label": `${head.name}: ${text ?? "not measured"}` }, shown(run)));
      },
    });
    const of = row => ({ instance: row[0], examination: acrossEntries ? data.of : null });
    const first = {
      name: "Instance",
      shown: row => names.instances[row[0]][0],
      text: row => names.instances[row[0]].slice(0, 3).join("\n"),
      key: row => names.instances[row[0]][0],
      draw: (cell, row) => drawInstance(cell, row[0], address(of(row))),
    };
    const second = {
      name: "Status",
      shown: row => names.instances[row[0]][2],
      key: row => names.instances[row[0]][2],
      draw: (cell, row) => cell.append(names.instances[row[0]][2]),
    };
    // `LoLA:wrong`: columns whose names begin with the first part, and a word that finds their runs.
    const find = word => {
      const colon = word.lastIndexOf(":");
      if (colon < 0) return null;
      const [prefix, test] = [word.slice(0, colon), runTest(word.slice(colon + 1))];
      const columns = [...heads.keys()].filter(at => heads[at].name.toLowerCase().startsWith(prefix));
      return row => columns.some(at => test(row[1][at]));
    };
    let table = null;
    const choice = data.costs ? element("select", { id: "measure" },
      Object.entries(MEASURES).map(([value, [name]]) => element("option", { value }, name))) : null;
    choice?.addEventListener("change", () => {
      measure = MEASURES[choice.value];
      table.renew();
    });
    table = new Table(place, {
      caption: acrossEntries
        ? `${place.dataset.name}: right (✓), wrong (✗) and unjudged (?) values, and the ending of the run`
        : `${place.dataset.name}: right (✓), wrong (✗) and unjudged (?) values by examination, and the ending of the run`,
      kind: "grid",
      columns: [first, second, ...heads.map(column)],
      rows: data.rows,
      find,
      hint: `Rows: parts of names, or “surprise”. Runs: ${(heads.find(head => !head.status) ?? heads[0])?.name}:wrong, or :wrong, :cpu, :nothing, :complete, :marked for runs of any column. A minus before a word excludes the rows that it finds.`,
      measures: choice ? element("span", {}, element("label", { for: "measure" }, "Show"), " ", choice) : null,
    });
  });
}

/** The text and the sort key of each kind of field of a list. */
const KINDS = {
  text: { text: field => field ?? "", key: field => field ?? null },
  number: { text: field => field == null ? "" : thousands(field), key: field => field ?? null, largest: true },
  points: { text: field => decimal(field), key: field => field.split("/").map(Number).reduce((p, q) => p / q), largest: true },
  position: { text: field => field == null ? "" : two(field), key: field => field ?? null },
  examination: { text: field => field == null ? "all" : names.examinations[field].name, key: field => field ?? -1 },
  entry: { text: field => names.entries[field].name, key: field => names.entries[field].name },
  entries: { text: field => field.map(number => names.entries[number].name).join(", "), key: field => field.length, largest: true },
  instance: { text: field => field == null ? "" : names.instances[field][0], key: field => field == null ? null : names.instances[field][0] },
};

function drawList(place, data) {
  const at = kind => data.columns.findIndex(([, of]) => of === kind);
  const [instance, examination, entry, position] = ["instance", "examination", "entry", "position"].map(at);
  const of = (row, number) => number < 0 ? null : row[number];
  const columns = data.columns.map(([name, kind], number) => ({
    name,
    largest: KINDS[kind].largest,
    shown: row => KINDS[kind].text(row[number]),
    text: row => KINDS[kind].text(row[number]),
    key: row => KINDS[kind].key(row[number]),
    draw: (cell, row) => {
      if (number === instance && row[number] != null) {
        drawInstance(cell, row[number], address({ instance: row[number], examination: of(row, examination),
          entry: of(row, entry), position: of(row, position) }));
      } else {
        const text = KINDS[kind].text(row[number]);
        cell.append(element("span", { title: text.length > 40 ? text : null }, text));
      }
    },
  }));
  new Table(place, {
    caption: place.dataset.name,
    kind: "list grid",
    columns,
    rows: data.rows,
    hint: "Any words of a row; a minus before a word excludes the rows that it finds.",
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

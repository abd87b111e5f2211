"use strict";
// Tables of any length: only the rows in view are in the page.

/** Rows above and below the view that are kept, so that scrolling shows no gaps. */
const SPARE = 8;
/** Rows that are kept for when they come into view again. */
const KEPT = 500;

/**
 * A table in `place`. Columns: `name`, `note`, `text(row)` for finding, `key(row)` for sorting, `draw(cell, row)`.
 * `find(row, word)` tells whether a word of the filter is met by something that is no text of a column.
 */
class Table {
  constructor(place, { caption, columns, rows, kind, find, hint, measures }) {
    Object.assign(this, { place, columns, rows, find });
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.body = element("tbody");
    this.before = element("tbody", { "aria-hidden": "true" });
    this.after = element("tbody", { "aria-hidden": "true" });
    this.head = element("tr");
    this.table = element("table", { class: kind },
      element("caption", {}, caption), element("thead", {}, this.head), this.before, this.body, this.after);
    this.box = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, this.table);
    const id = `filter-${document.querySelectorAll(".filter").length + 1}`;
    this.filter = element("input", { type: "search", id, class: "filter", autocomplete: "off", spellcheck: "false",
      "aria-describedby": `${id}-hint` });
    place.replaceChildren(
      element("div", { class: "controls", role: "search", "aria-label": caption },
        element("label", { for: id }, "Filter"), this.filter, measures || null, this.count),
      element("p", { class: "quiet hint", id: `${id}-hint` }, hint), this.box);
    this.texts = rows.map(row => columns.map(column => column.text ? column.text(row) : "").join("\n").toLowerCase());
    this.sorted = { column: null, down: false };
    this.drawn = new Map();
    this.kept = new Map();
    this.rank();
    this.drawHead();
    this.table.setAttribute("aria-colcount", columns.length);
    this.filter.addEventListener("input", () => this.select());
    this.box.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => {
      this.height = 0;
      this.redraw();
    });
    this.body.addEventListener("keydown", event => this.step(event));
    const asked = new URLSearchParams(location.hash.slice(1)).get("filter");
    if (asked) this.filter.value = asked;
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

  /** Sorts by a column, then the other way round, then not at all. Rows without a key come last. */
  sort(at) {
    const { column, down } = this.sorted;
    if (column !== at) this.sorted = { column: at, down: Boolean(this.columns[at].largest) };
    else if (down === Boolean(this.columns[at].largest)) this.sorted.down = !down;
    else this.sorted = { column: null, down: false };
    this.drawHead();
    this.head.children[at].querySelector("button").focus();
    this.rank();
    this.select();
  }

  /** Sorts all rows, shown or not: a filter keeps that order. */
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

  /** Draws all anew: cells show something else. */
  renew() {
    this.kept.clear();
    this.rank();
    this.select();
  }

  /** Filters anew. */
  select() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(word => word && word !== "-");
    const meets = (at, word) => this.texts[at].includes(word) || (this.find && this.find(this.rows[at], word));
    const wanted = words.map(word => word.startsWith("-") ? [word.slice(1), false] : [word, true]);
    this.order = this.ranked.filter(at => wanted.every(([word, is]) => meets(at, word) === is));
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.count.textContent = `${thousands(this.order.length)} of ${thousands(this.rows.length)}`;
    this.box.scrollTop = 0;
    this.redraw();
  }

  redraw() {
    this.body.replaceChildren();
    this.drawn.clear();
    this.draw();
  }

  /** Brings the rows in view into the page, and takes the others out. */
  draw() {
    if (!this.height && this.order.length) {
      const row = this.makeRow(0);
      this.body.append(row);
      this.height = row.getBoundingClientRect().height || 28;
      row.remove();
    }
    const height = this.height || 28;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - SPARE);
    const last = Math.min(this.order.length, Math.ceil((this.box.scrollTop + this.box.clientHeight) / height) + SPARE);
    for (const [at, row] of this.drawn) {
      if (at < first || at >= last) {
        row.remove();
        this.drawn.delete(at);
      }
    }
    let next = null;
    for (let at = last - 1; at >= first; at--) {
      let row = this.drawn.get(at);
      if (!row) {
        row = this.makeRow(at);
        this.drawn.set(at, row);
        this.body.insertBefore(row, next);
      }
      next = row;
    }
    this.space(this.before, first * height);
    this.space(this.after, (this.order.length - last) * height);
  }

  space(body, height) {
    body.replaceChildren();
    if (height > 0) {
      const cell = element("td", { colspan: this.columns.length });
      cell.style.cssText = `height:${height}px;padding:0;border:0`;
      body.append(element("tr", {}, cell));
    }
  }

  makeRow(at) {
    const number = this.order[at];
    let row = this.kept.get(number);
    if (!row) {
      if (this.kept.size > KEPT) this.kept.clear();
      row = this.drawRow(this.rows[number]);
      this.kept.set(number, row);
    }
    row.setAttribute("aria-rowindex", at + 2);
    return row;
  }

  drawRow(data) {
    const row = element("tr");
    this.columns.forEach((column, number) => {
      const cell = element(number === 0 ? "th" : "td", number === 0 ? { scope: "row" } : {});
      column.draw(cell, data);
      // Arrow keys lead through the links of a table; Tab stops at the first of a row.
      if (number > 0) cell.querySelectorAll("a").forEach(link => link.tabIndex = -1);
      row.append(cell);
    });
    return row;
  }

  /** Arrow keys go from link to link. */
  step(event) {
    const cell = event.target.closest("th, td");
    const way = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !way || event.altKey || event.ctrlKey || event.metaKey) return;
    let row = cell.parentElement, at = [...row.children].indexOf(cell);
    do {
      row = way[0] < 0 ? row.previousElementSibling : way[0] > 0 ? row.nextElementSibling : row;
      at += way[1];
      const link = row?.children[at]?.querySelector("a");
      if (link) {
        event.preventDefault();
        link.focus();
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
        return;
      }
    } while (row && at >= 0 && at < this.columns.length && way[1]);
  }
}

/** The name of an instance; the family's part of it can be left away where the page is narrow. */
function drawInstance(cell, number, link) {
  const [name, family] = names.instances[number];
  const short = name.startsWith(family + "-") ? name.slice(family.length + 1) : name;
  cell.append(element("a", { href: link, title: name },
    name === short ? null : element("i", {}, family + "-"), short));
}

/** Called by the data of an examination or an entry, instances x runs: drawn, or handed to the script that asked. */
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
    const column = (head, at) => ({
      name: head.name,
      note: head.status || null,
      largest: true,
      key: row => row[1][at] ? measure[2](row[1][at]) : null,
      draw: (cell, row) => {
        const run = row[1][at];
        if (!run) {
          cell.className = "e";
          cell.textContent = "·";
          return;
        }
        colour(cell, run);
        const text = measure[1](run);
        cell.append(element("a", { href: address(part(row, data.columns[at])),
          "aria-label": `${head.name}: ${text ?? "not measured"}` }, text ?? "–"));
      },
    });
    const of = row => ({ instance: row[0], examination: acrossEntries ? data.of : null });
    const first = {
      name: "Instance",
      text: row => names.instances[row[0]].slice(0, 3).join("\n"),
      key: row => names.instances[row[0]][0],
      draw: (cell, row) => drawInstance(cell, row[0], address(of(row))),
    };
    const second = {
      name: "Status",
      key: row => names.instances[row[0]][2],
      draw: (cell, row) => cell.append(names.instances[row[0]][2]),
    };
    // `LoLA:wrong`: a column by the beginning of its name, and a word for its run.
    const found = (row, word) => {
      const [who, what] = [word.slice(0, word.lastIndexOf(":")), word.slice(word.lastIndexOf(":") + 1)];
      const is = at => (!who || heads[at].name.toLowerCase().startsWith(who)) && runWords(row[1][at]).includes(what);
      return word.includes(":") && heads.some((_, at) => is(at));
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
        ? `${place.dataset.name}: values right (✓), wrong (✗) and unjudged (?), and how the run ended`
        : `${place.dataset.name}: values right (✓), wrong (✗) and unjudged (?) by examination, and how the run ended`,
      kind: "grid",
      columns: [first, second, ...heads.map(column)],
      rows: data.rows,
      find: found,
      hint: `Parts of names or “surprise”; ${(heads.find(head => !head.status) ?? heads[0])?.name}:wrong, :cpu, :nothing, :complete or :marked for runs; a minus before a word leaves such rows out.`,
      measures: choice ? element("span", {}, element("label", { for: "measure" }, "Show"), " ", choice) : null,
    });
  });
}

/** How a column of a list shows and orders what it holds. */
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
    hint: "Any words of a row; a minus before a word leaves such rows out.",
  });
}

/** Called by the data of a page with one list. */
function mcc_list(data) {
  mcc_lists([data]);
}

/** Called by the data of a page with several; those without rows stay away. */
function mcc_lists(lists) {
  withNames(() => document.querySelectorAll(".table").forEach((place, at) => {
    if (lists[at]?.rows.length) drawList(place, lists[at]);
  }));
}

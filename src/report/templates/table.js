"use strict";
// Tables of any length: only the visible rows are in the page. Columns have the width of their longest cell, visible or
// not: so columns do not move while rows change, and the browser only lays out new rows. What a reader chooses (filter,
// sorting, columns, ranges, figures) is in the fragment of the URL: it can be shared, and Back returns to it.

/** Rows above and below the visible ones that are drawn while the table scrolls, to avoid gaps. */
const SPARE = 8;
/** Drawn rows that are kept, to be shown again: those of the longest tables of a year. */
const KEPT = 1500;
/** A longer table is printed as text: the time in which Chromium prints a table grows faster than the square of its rows. */
const PRINTED_AS_TABLE = 2000;
/** Printed as text: the share of texts that fit their column, its largest width in characters, the characters by which
 * longer texts still widen a column, and the rows below one heading. */
const FITTING = 0.97;
const WIDEST = 60;
const CLOSE = 16;
const TOGETHER = 35;
/** Texts by which the width of a column is measured: the text with the most letters is not always the widest. */
const MAX_NUMBER_BYTES = 8;
/** Milliseconds without a key after which the address, advice and the picture follow: longer than between two keys. */
const LATER = 200;
/** Rows that are drawn in one idle moment: a key that is typed then is handled after them. */
const AT_ONCE = 12;
// Not every browser has idle moments.
const requestIdleCallback = window.requestIdleCallback ?? (run => setTimeout(() => run({ timeRemaining: () => 0 }), 50));
const cancelIdleCallback = window.cancelIdleCallback ?? clearTimeout;
const tables = [];
/** What a reader can choose, as keys of the fragment. */
const CHOICES = ["filter", "sort", "hide", "range", "show", "picture"];

/**
 * A table in `place`. Columns: `name`, `note`, `text(row)` for the filter, `key(row)` for sorting, `draw(cell, row)`,
 * `shown(row)`, the text that it draws, and `figure(row)`, a number for ranges. `find(word)` returns a function of a row:
 * whether the row meets a word of the filter by something else than a text of a column; null for words that are only
 * sought in texts. `advice(word)`: what is wrong with a word, or null. `views`: value and name of the figures that cells
 * can show; `view(value)` shows one and returns the unit of `figure`. `summary(rows)`: elements that sum up the rows.
 * `charts`: value and name of the pictures that can be drawn of the shown rows. `follow(rows)` is called when they change.
 */
class Table {
  constructor(place, { caption, columns, rows, kind, find, advice, hint, views, view, summary, charts, follow }) {
    Object.assign(this, { place, rows, find, advice, views, view, summary, follow });
    this.all = columns.filter(column => !column.optional || rows.some(row => column.shown(row) !== ""));
    this.columns = this.all;
    this.ranges = new Map();
    this.number = tables.push(this);
    this.count = element("output", { class: "count", "aria-live": "polite" });
    this.none = element("p", { class: "none", role: "status", hidden: true });
    this.body = element("tbody");
    const space = () => element("tbody", { "aria-hidden": "true", hidden: true }, element("tr", {}, element("td", { class: "space" })));
    [this.before, this.after] = [space(), space()];
    this.head = element("tr");
    this.widths = element("colgroup");
    this.table = element("table", { class: kind },
      element("caption", {}, caption), this.widths, element("thead", {}, this.head), this.before, this.body, this.after);
    this.box = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": caption }, this.table);
    const id = `filter-${this.number}`;
    this.filter = element("input", { type: "search", id, class: "filter", placeholder: " ", autocomplete: "off", spellcheck: "false",
      "aria-describedby": `${id}-hint` });
    const shown = views ? element("span", {}, choice("Show", `show-${this.number}`, views)) : null;
    this.choice = shown?.querySelector("select");
    this.panel = element("details", { class: "box columns-box" }, element("summary", {}, "Columns and ranges"), element("div"));
    this.sums = summary ? element("details", { class: "box" }, element("summary", {}, "Sums of the shown rows"), element("div")) : null;
    const drawn = charts ? element("span", {}, choice("Picture", `picture-${this.number}`, [["", "none"], ...charts])) : null;
    this.chartChoice = drawn?.querySelector("select");
    this.chart = charts ? element("div", { class: "chart", "aria-live": "off" }) : null;
    place.replaceChildren(
      element("div", { class: "controls", role: "search", "aria-label": caption },
        element("label", { for: id }, "Filter"), this.filter, shown, drawn, this.count),
      element("p", { class: "muted hint", id: `${id}-hint` }, hint), this.panel, this.none, ...[this.chart, this.box, this.sums].filter(part => part));
    this.texts = rows.map(row => this.all.map(column => column.text ? column.text(row) : "").join("\n").toLowerCase());
    this.sorted = { column: null, down: false };
    this.drawn = new Map();
    this.kept = new Map();
    this.filter.addEventListener("input", () => this.type());
    this.choice?.addEventListener("change", () => this.changed({ show: this.choice.selectedIndex ? this.choice.value : "" }));
    this.chartChoice?.addEventListener("change", () => this.changed({ picture: this.chartChoice.value }));
    this.top = 0;
    this.box.addEventListener("scroll", () => this.draw(this.top = this.box.scrollTop), { passive: true });
    this.box.addEventListener("keydown", event => this.step(event));
    this.panel.addEventListener("change", event => this.choose(event));
    this.sums?.addEventListener("toggle", () => this.sumUp());
    addEventListener("resize", () => {
      this.measure();
      this.draw();
    });
    // All rows are printed.
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    addEventListener("hashchange", () => {
      if (this.restore()) place.scrollIntoView();
    });
    this.renew();
    this.restore();
    // A shared link opens at the table that it is about.
    if (!follow && CHOICES.some(name => fragment().has(this.key(name)))) setTimeout(() => place.scrollIntoView());
  }

  // --- state ------------------------------------------------------------------------------------------------------

  /** The key of the fragment; the second table of a page has its own keys. */
  key(name) {
    return this.number > 1 ? `${name}${this.number}` : name;
  }

  /** Writes what was chosen to the fragment, and shows it. */
  changed(choices) {
    this.write({ filter: this.filter.value, ...choices });
    this.restore();
  }

  write(choices) {
    setFragment(Object.fromEntries(Object.entries(choices).map(([name, value]) => [this.key(name), value])));
  }

  /** Shows the rows of a filter that is being typed. Head and order stay; the fragment, advice and picture follow later. */
  type() {
    this.state[0] = this.filter.value;
    this.select();
  }

  /** Shows what the fragment of the URL says; returns whether it differs from what is shown. */
  restore() {
    const query = fragment();
    const [filter, sort, hide, range, show, picture] = CHOICES.map(name => query.get(this.key(name)) ?? "");
    const state = [filter, sort, hide, range, show, picture];
    if (state.every((choice, at) => choice === this.state?.[at])) return false;
    const isFirst = this.state === undefined;
    this.state = state;
    if (this.filter.value !== filter) this.filter.value = filter;
    if (this.chartChoice) this.chartChoice.value = picture;
    const named = name => this.all.find(column => column.name === name) ?? null;
    const column = named(sort.replace(/^-/, ""));
    const hidden = hide.split(",").map(named);
    const columns = this.all.filter(column => !hidden.includes(column));
    const view = this.views?.find(([value]) => value === show)?.[0] ?? this.views?.[0][0];
    const isOther = columns.length !== this.columns.length || columns.some((column, at) => column !== this.columns[at])
      || view !== this.shownView;
    const isSorted = column !== this.sorted.column;
    this.columns = columns.length ? columns : this.all;
    this.sorted = { column, down: sort.startsWith("-") };
    this.ranges.clear();
    for (const part of range.split(",").filter(part => part)) {
      const [, name, from, to] = part.match(/^(.*):([^:]*?)\.\.([^:]*)$/) ?? [];
      if (named(name)) this.ranges.set(named(name), [from, to]);
    }
    if (view !== undefined && view !== this.shownView) {
      this.shownView = view;
      this.choice.value = view;
      this.unit = this.view(view);
    }
    if (isOther) this.renew();
    else {
      this.drawHead();
      // The sign of the order widens a column.
      if (isSorted) this.measure();
      this.rank();
      this.select();
    }
    this.drawPanel();
    return !isFirst && state.some(choice => choice);
  }

  /** Sorts by a column; the second time in the other direction, the third time not at all. Rows without a key are last. */
  sort(column) {
    const first = Boolean(column.largest);
    const down = this.sorted.column !== column ? first : this.sorted.down === first ? !first : null;
    const at = this.columns.indexOf(column);
    this.changed({ sort: down === null ? "" : `${down ? "-" : ""}${column.name}` });
    this.head.children[at]?.querySelector("button").focus();
  }

  /** The boxes of columns, and the bounds of their figures. */
  drawPanel() {
    const box = (column, at) => {
      const [from, to] = this.ranges.get(column) ?? ["", ""];
      const bound = (name, value) => element("input", { type: "number", min: "0", step: "any", value, "data-column": at, "data-bound": name,
        "aria-label": `${column.name}: ${name}` });
      return element("tr", {},
        element("th", { scope: "row" }, element("label", {},
          element("input", { type: "checkbox", checked: this.columns.includes(column), "data-column": at }), ` ${column.name}`)),
        element("td", {}, column.figure ? [bound("from", from), " to ", bound("to", to), ` ${column.unit ?? this.unit ?? ""}`] : ""));
    };
    const focused = document.activeElement?.closest("details") === this.panel ? document.activeElement : null;
    const again = focused && `[data-column="${focused.dataset.column}"]${focused.dataset.bound ? `[data-bound="${focused.dataset.bound}"]` : ":not([data-bound])"}`;
    this.panel.lastChild.replaceChildren(element("table", {}, element("caption", {}, "Shown columns, and the range of their figures"),
      element("tbody", {}, this.all.map(box))));
    if (again) this.panel.querySelector(again)?.focus();
  }

  /** Takes a choice of columns or a range. */
  choose({ target }) {
    const column = this.all[target.dataset.column];
    if (!column) return;
    if (!target.dataset.bound) {
      const hidden = this.all.filter(other => other === column ? !target.checked : !this.columns.includes(other));
      // The last column cannot be hidden.
      if (hidden.length === this.all.length) return this.drawPanel();
      return this.changed({ hide: hidden.map(column => column.name).join(",") });
    }
    const bounds = this.ranges.get(column) ?? ["", ""];
    bounds[target.dataset.bound === "from" ? 0 : 1] = target.value;
    this.ranges.set(column, bounds);
    this.changed({ range: [...this.ranges].filter(([, bounds]) => bounds.join("")).map(([column, [from, to]]) => `${column.name}:${from}..${to}`).join(",") });
  }

  // --- rows -------------------------------------------------------------------------------------------------------

  drawHead() {
    this.head.replaceChildren(...this.columns.map(column => {
      const button = element("button", { type: "button" }, breakable(column.name));
      button.addEventListener("click", () => this.sort(column));
      const state = this.sorted.column === column ? (this.sorted.down ? "descending" : "ascending") : null;
      return element("th", { scope: "col", "aria-sort": state }, button,
        column.note ? element("small", {}, column.note) : null);
    }));
  }

  /** Sorts all rows, filtered or not, so that a new filter needs no sorting. */
  rank() {
    const { column, down } = this.sorted;
    this.ranked = this.rows.map((_, at) => at);
    if (column === null) return;
    const keys = this.rows.map(row => column.key(row));
    const sign = down ? -1 : 1;
    this.ranked.sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x == null || y == null) return (x == null) - (y == null) || a - b;
      return (x < y ? -sign : x > y ? sign : 0) || a - b;
    });
  }

  /** Draws head and rows again, because columns or their figures have changed. */
  renew() {
    this.drawn.forEach(row => row.remove());
    this.drawn.clear();
    this.kept.clear();
    this.prepared = 0;
    this.drawHead();
    this.widths.replaceChildren(...this.columns.map(() => element("col")));
    [this.before, this.after].forEach(body => body.querySelector("td").colSpan = this.columns.length);
    this.table.setAttribute("aria-colcount", this.columns.length);
    this.findLongest();
    this.measure();
    this.rank();
    this.select();
  }

  /** Draws rows before they are needed, while the browser has nothing else to do: a key then only inserts them. */
  prepare() {
    cancelIdleCallback(this.idle);
    this.idle = requestIdleCallback(() => {
      const end = Math.min(this.prepared + AT_ONCE, this.rows.length, KEPT);
      while (this.prepared < end) this.rowOf(this.prepared++);
      if (end < Math.min(this.rows.length, KEPT)) this.prepare();
    });
  }

  /** Finds the rows with the longest texts of each column. */
  findLongest() {
    this.longest = this.columns.map(column => {
      const texts = [...new Map(this.rows.map(row => [column.shown(row), row]))];
      return texts.sort(([a], [b]) => b.length - a.length).slice(0, MAX_NUMBER_BYTES).map(([, row]) => row);
    });
  }

  /** Measures the height of a row and the widths of columns with rows of the longest cells. */
  measure() {
    this.height = 28;
    // The height in which rows are visible: the box without the head, which is always visible.
    this.bodyHeight = (parseFloat(getComputedStyle(this.box).maxHeight) || innerHeight) - this.head.offsetHeight;
    if (!this.rows.length) return;
    const rows = Array.from({ length: MAX_NUMBER_BYTES }, (_, at) => this.drawRow(column => this.longest[column][at] ?? this.longest[column][0]));
    this.table.classList.remove("measured");
    this.body.append(...rows);
    const widths = [...rows[0].children].map(cell => Math.ceil(cell.getBoundingClientRect().width));
    this.height = rows[0].getBoundingClientRect().height || this.height;
    rows.forEach(row => row.remove());
    widths.forEach((width, at) => this.widths.children[at].style.width = `${width}px`);
    this.table.style.width = `${widths.reduce((sum, width) => sum + width, 0)}px`;
    this.table.classList.add("measured");
  }

  /** Applies the filter and the ranges. */
  select() {
    // Reading or writing a position makes the browser lay out the page, so that is left out where it changes nothing.
    if (this.top) this.box.scrollTop = this.top = 0;
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(word => word && word !== "-");
    const tests = words.map(term => {
      const [word, is] = term.startsWith("-") ? [term.slice(1), false] : [term, true];
      const found = this.find?.(word);
      return at => (this.texts[at].includes(word) || Boolean(found?.(this.rows[at]))) === is;
    });
    const within = [...this.ranges].map(([column, [from, to]]) => at => {
      const figure = column.figure(this.rows[at]);
      return figure != null && (from === "" || figure >= Number(from)) && (to === "" || figure <= Number(to));
    });
    const all = [...tests, ...within];
    this.order = this.ranked.filter(at => all.every(test => test(at)));
    this.table.setAttribute("aria-rowcount", this.order.length + 1);
    this.count.textContent = `${thousands(this.order.length)} of ${thousands(this.rows.length)}`;
    this.draw(0, 0);
    this.sumUp();
    // What takes longer than a key may comes after the rows, and once for several keys.
    cancelIdleCallback(this.idle);
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      this.prepare();
      this.write({ filter: this.filter.value });
      this.explain(words, tests);
      if (this.chart || this.follow) this.drawChart();
    }, LATER);
  }

  /** Draws the chosen picture of the shown rows. */
  drawChart() {
    const rows = this.order.map(at => this.rows[at]);
    // Unchanged rows keep the picture, and what its reader has chosen in it.
    if (this.follow && rows.length !== (this.followed ?? this.rows.length)) this.follow(rows);
    this.followed = rows.length;
    if (!this.chart) return;
    const kind = this.chartChoice.value;
    this.chart.replaceChildren(...(kind ? chartOf(kind, this.shownView, rows, this.columns, this.filter.value.trim()) : []));
  }

  /** Says why there is no row, and what is wrong with a word of the filter. */
  explain(words, tests) {
    const texts = [];
    words.forEach((term, at) => {
      const word = term.replace(/^-/, "");
      const advice = this.advice?.(word);
      if (advice) texts.push(advice);
      else if (term === word && !this.order.length && !this.ranked.some(tests[at])) {
        const other = this.similarTo(word);
        texts.push(`No row has “${word}”.${other ? ` Did you mean “${other}”?` : ""}`);
      }
    });
    if (!this.order.length && !texts.length) texts.push("No row fits all words and ranges.");
    this.none.textContent = texts.join(" ");
    this.none.hidden = !texts.length;
  }

  /** The different words of texts, for suggestions. */
  vocabulary() {
    this.known ??= new Set(this.texts.flatMap(text => text.split(/[\s,]+/)));
    return this.known;
  }

  /** The most similar word of texts; kept, because each further key asks again. */
  similarTo(word) {
    this.suggestions ??= new Map();
    if (!this.suggestions.has(word)) this.suggestions.set(word, similar(word, this.vocabulary()));
    return this.suggestions.get(word);
  }

  sumUp() {
    if (this.sums?.open) this.sums.lastChild.replaceChildren(...this.summary(this.order.map(at => this.rows[at]), this.columns));
  }

  /** Adds the visible rows to the page and removes the others; rows that stay are not changed. */
  draw(top = this.top, spare = SPARE) {
    const first = this.printing ? 0 : Math.max(0, Math.floor(top / this.height) - spare);
    const last = this.printing ? this.order.length : Math.min(this.order.length, Math.ceil((top + this.bodyHeight) / this.height) + spare);
    const wanted = new Set(this.order.slice(first, last));
    for (const [number, row] of this.drawn) {
      if (!wanted.has(number)) {
        if (row.contains(document.activeElement)) this.keepFocus(number, row);
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

  /** Draws all rows for the printer, or only the visible ones again. On paper columns have shares of the page's width. */
  print(printing) {
    const long = this.order.length > PRINTED_AS_TABLE;
    this.text?.remove();
    this.table.hidden = printing && long;
    if (printing && long) return this.box.append(this.text = this.asText());
    this.printing = printing;
    this.draw();
    if (!printing) return this.measure();
    const widths = [...this.widths.children].map(column => parseFloat(column.style.width) || 1);
    const sum = widths.reduce((sum, width) => sum + width, 0);
    widths.forEach((width, at) => this.widths.children[at].style.width = `${width * 100 / sum}%`);
    this.table.style.width = "100%";
  }

  /** All rows as text in columns. A longer text in a cell moves the rest of its line. */
  asText() {
    const texts = row => [...row.children].map(cell => cell.textContent);
    const lines = [texts(this.head), ...this.order.map(number => texts(this.drawRow(() => this.rows[number])))];
    const widths = this.columns.map((_, at) => {
      const lengths = lines.map(line => line[at].length).sort((a, b) => a - b);
      const [fitting, longest] = [lengths[Math.floor((lengths.length - 1) * FITTING)], lengths.at(-1)];
      return Math.max(lines[0][at].length, Math.min(longest - fitting < CLOSE ? longest : fitting, WIDEST));
    });
    const [head, ...rest] = lines.map(line => line.map((text, at) => text.padEnd(widths[at])).join(" | ").trimEnd());
    const text = element("div", { class: "as-text" }, element("p", {}, this.table.caption.textContent));
    for (let at = 0; at < rest.length; at += TOGETHER) {
      text.append(element("pre", {}, element("span", { class: "heading" }, `${head}\n`), rest.slice(at, at + TOGETHER).join("\n")));
    }
    return text;
  }

  // --- keyboard ---------------------------------------------------------------------------------------------------

  /** The focus stays in the table when its row scrolls out of view: arrow keys go on from there. */
  keepFocus(number, row) {
    this.left = { number, column: [...row.children].findIndex(cell => cell.contains(document.activeElement)) };
    this.box.focus({ preventScroll: true });
  }

  /** Arrow keys, Page Up, Page Down, Home and End move the focus from link to link. */
  step(event) {
    const page = Math.max(1, Math.floor(this.bodyHeight / this.height) - 1);
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0],
      PageUp: [-page, 0], PageDown: [page, 0], Home: [-Infinity, 0], End: [Infinity, 0] }[event.key];
    if (!move || event.altKey || event.metaKey) return;
    const cell = event.target.closest("tbody th, tbody td");
    const from = cell ? { at: Number(cell.parentElement.getAttribute("aria-rowindex")) - 2, column: cell.cellIndex }
      : event.target === this.box && this.left ? { at: this.order.indexOf(this.left.number), column: this.left.column } : null;
    if (!from || from.at < 0) return;
    const at = Math.min(Math.max(from.at + move[0], 0), this.order.length - 1);
    const row = this.visible(at);
    let column = from.column + move[1];
    while (move[1] && row.children[column] && !row.children[column].querySelector("a")) column += move[1];
    const link = row.children[column]?.querySelector("a") ?? (move[0] ? row.querySelector("a") : null);
    event.preventDefault();
    if (!link) return;
    link.focus({ preventScroll: true });
    link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  /** The row at a place of the order; the table scrolls if it is not drawn. */
  visible(at) {
    const top = at * this.height;
    if (top < this.top) this.box.scrollTop = top;
    if (top + this.height > this.top + this.bodyHeight) this.box.scrollTop = top + this.height - this.bodyHeight;
    this.draw(this.top = this.box.scrollTop);
    return this.drawn.get(this.order[at]);
  }
}

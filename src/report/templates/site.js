"use strict";
// Functions of all scripts of the site. Texts become text nodes, never markup, because data come from tools.

let names = null;
const waiting = [];

/** Called by contest.js, with the names to which data refer by number. */
function mcc_names(data) {
  names = data;
  waiting.splice(0).forEach(run => run());
}

/** Calls `run` when the names are loaded. */
function withNames(run) {
  if (names) run();
  else waiting.push(run);
}

/** An element with attributes and children; attributes that are null or false and children that are null are left out. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null));
  return made;
}

/** A name as parts between which a line may break: `CTL` and `Cardinality`, `STATE_` and `SPACE`. A name of at most 8 characters is one part. */
const breakable = name => name.length <= 8 ? [name] : name.split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=_)/)
  .flatMap((part, at) => at ? [element("wbr"), part] : [part]);

/** A text as one word of a shell, in quotes if a shell would change it: names can come from anyone. */
const shellWord = text => /^[\p{L}\p{N}/._+:@%,=-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** An element of a picture. */
const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

/** Rows of texts and numbers as CSV. */
const csvOfRows = rows => {
  const field = text => /[",\r\n]/.test(text) ? `"${String(text).replace(/"/g, '""')}"` : text;
  return rows.map(row => row.map(field).join(",") + "\n").join("");
};

/** The relative path from the page to the top of the site. */
const root = () => document.body.dataset.root;

/** A link to the rule with that code. */
const ruleLink = code => element("a", { href: `${root()}rules.html#${code}` }, code);

/** The URL of an instance, examination, run or value. */
function address({ instance, examination, entry, position }) {
  const parts = [];
  const add = (key, name) => parts.push(`${key}=${encodeURIComponent(name)}`);
  if (instance != null) add("instance", names.instances[instance][0]);
  if (examination != null) add("examination", names.examinations[examination].name);
  if (entry != null) add("entry", names.entries[entry].name);
  if (position != null) add("position", two(position));
  return `${root()}instance.html#${parts.join("&")}`;
}

const two = number => String(number).padStart(2, "0");

/** 1234567 as `1,234,567`, as on the other pages. */
function thousands(digits) {
  const text = String(digits);
  return text.length > 18 ? text : text.replace(/\B(?=(\d{3})+$)/g, ",");
}

/** An exact number `p` or `p/q` as text: an integer, or rounded half away from zero to `places` decimals. */
function decimal(exact, places = 2) {
  const [p, q = 1n] = exact.split("/").map(BigInt);
  const [sign, size] = p < 0n ? ["−", -p] : ["", p];
  if (size % q === 0n) return sign + thousands(size / q);
  const scale = 10n ** BigInt(places);
  const scaled = (size * scale * 2n + q) / (2n * q);
  return `${sign}${thousands(scaled / scale)}.${String(scaled % scale).padStart(places, "0")}`;
}

/** The exact sum of exact numbers. */
function sum(exacts) {
  let [p, q] = [0n, 1n];
  for (const exact of exacts) {
    const [a, b = 1n] = exact.split("/").map(BigInt);
    [p, q] = [p * b + a * q, q * b];
  }
  return `${p}/${q}`;
}

/** The exact product of exact numbers. */
function product(exacts) {
  let [p, q] = [1n, 1n];
  for (const exact of exacts) {
    const [a, b = 1n] = exact.split("/").map(BigInt);
    [p, q] = [p * a, q * b];
  }
  return `${p}/${q}`;
}

function duration(ms) {
  const [h, m, s] = [Math.floor(ms / 3600000), Math.floor(ms / 60000) % 60, Math.floor(ms / 1000) % 60];
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return ms % 1000 === 0 ? `${s} s` : `${s}.${two(Math.floor(ms % 1000 / 10))} s`;
  const parts = h ? [`${h} h`, m || s ? `${two(m)} min` : "", s ? `${two(s)} s` : ""] : [`${m} min`, s ? `${two(s)} s` : ""];
  return parts.filter(part => part).join(" ");
}

function size(kib) {
  const [unit, name] = kib >= 1048576 ? [1048576, "GiB"] : kib >= 1024 ? [1024, "MiB"] : [1, "KiB"];
  const tenths = Math.floor(kib * 10 / unit);
  return `${Math.floor(tenths / 10)}${tenths % 10 ? "." + tenths % 10 : ""} ${name}`;
}

/** The fragment of the page's URL as keys and values. */
const fragment = () => new URLSearchParams(location.hash.slice(1));

/** Changes keys of the fragment; empty values are removed. The history gets no new step. */
function setFragment(changes) {
  const query = fragment();
  for (const [key, value] of Object.entries(changes)) query.set(key, value ?? "");
  const encoded = text => encodeURIComponent(text).replace(/%3A/g, ":").replace(/%2C/g, ",");
  const parts = [...query].filter(([, value]) => value !== "").map(pair => pair.map(encoded).join("="));
  const address = location.href.split("#")[0] + (parts.length ? `#${parts.join("&")}` : "");
  if (address !== location.href) history.replaceState(history.state, "", address);
}

/** A label, and a list of choices: value and name. */
const choice = (label, id, list, chosen) => [element("label", { for: id }, label), element("select", { id },
  list.map(([value, name]) => element("option", { value, selected: String(value) === String(chosen) }, name)))];

const plural = (count, one, many) => `${thousands(count)} ${count === 1 ? one : many}`;

/** The word of the list that is most similar to `word`; null if none is similar. */
function similar(word, list) {
  let [best, least] = [null, word.length < 4 ? 1 : 2];
  for (const other of list) {
    if (Math.abs(other.length - word.length) > least || other === word) continue;
    let row = [...Array(other.length + 1).keys()];
    for (let i = 1; i <= word.length; i++) {
      const next = [i];
      for (let j = 1; j <= other.length; j++) {
        next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (word[i - 1] !== other[j - 1])));
      }
      row = next;
    }
    if (row[other.length] <= least) [best, least] = [other, row[other.length] - 1];
  }
  return best;
}

/** A table of texts and elements; the first cell of a row is its head. */
function tableOf(caption, heads, rows, kind) {
  const row = cells => element("tr", {}, cells.map((cell, number) => cell instanceof HTMLTableCellElement ? cell
    : element(number ? "td" : "th", number ? {} : { scope: "row" }, cell ?? "")));
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", { class: kind ?? null }, element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map(head => element("th", { scope: "col" }, typeof head === "string" ? breakable(head) : head)))),
      element("tbody", {}, rows.map(row))));
}

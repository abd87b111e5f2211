"use strict";
// What all scripts of the site share. Texts become text nodes, never markup: data come from tools.

let names = null;
const waiting = [];

/** Called by contest.js: what data refer to by number. */
function mcc_names(data) {
  names = data;
  waiting.splice(0).forEach(run => run());
}

/** Runs when the names are there. */
function withNames(run) {
  if (names) run();
  else waiting.push(run);
}

/** An element with attributes and children; nothing is left out but null. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null));
  return made;
}

const root = () => document.querySelector("[data-root]")?.dataset.root || "";

/** The way to an instance, examination, run or value. */
function address(part) {
  const query = new URLSearchParams();
  if (part.instance != null) query.set("instance", names.instances[part.instance][0]);
  if (part.examination != null) query.set("examination", names.examinations[part.examination].name);
  if (part.entry != null) query.set("entry", names.entries[part.entry].name);
  if (part.position != null) query.set("position", two(part.position));
  return `${root()}instance.html#${query}`;
}

const two = number => String(number).padStart(2, "0");

/** 1234567 as `1 234 567`, as on the other pages. */
function thousands(digits) {
  const text = String(digits);
  return text.length <= 4 || text.length > 18 ? text : text.replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** An exact number `p` or `p/q` for people: whole, or with two decimals, rounded half away from zero. */
function decimal(exact) {
  const [p, q] = exact.split("/").map(BigInt);
  if (q === undefined) return (p < 0n ? "−" : "") + thousands(p < 0n ? -p : p);
  const sign = p < 0n ? "−" : "";
  const hundredths = ((p < 0n ? -p : p) * 200n + q) / (2n * q);
  return `${sign}${thousands(hundredths / 100n)}.${two(hundredths % 100n)}`;
}

/** The sum of exact numbers, exact. */
function sum(exacts) {
  let [p, q] = [0n, 1n];
  for (const exact of exacts) {
    const [a, b = 1n] = exact.split("/").map(BigInt);
    [p, q] = [p * b + a * q, q * b];
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

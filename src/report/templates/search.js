"use strict";
// The search on the front page: entries, podiums, examinations, models, instances, values, rules and pages by name.

/** Most hits that are shown. */
const MAX_HITS = 12;

withNames(() => {
  const place = document.querySelector(".search");
  const field = element("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false",
    placeholder: "entry, model, instance, examination …" });
  const hits = element("ul", { class: "hits" });
  const count = element("output", { class: "count", "aria-live": "polite" });
  place.append(element("div", { class: "controls", role: "search" }, element("label", { for: "search" }, "Search"), field, count), hits);
  place.hidden = false;

  const filtered = (path, words) => `${path}#filter=${encodeURIComponent(words)}`;
  const page = data => data.replace(/\.js$/, ".html");
  // Kind, name and link of what can be found; the more important kinds first.
  const links = [...document.querySelectorAll(".top a, .podium caption a, thead a")].map(link => ["page", link.textContent, link.getAttribute("href")]);
  const families = [...new Set(names.instances.map(([, family]) => family))];
  const found = [
    ...names.entries.map(entry => ["entry", entry.name, page(entry.data)]),
    ...[...new Map(links.map(link => [link[2], link])).values()],
    ...families.map(name => ["model", name, filtered("instances.html", name)]),
    ...names.instances.map(([name], instance) => ["instance", name, address({ instance })]),
  ].map(item => [...item, item[1].toLowerCase()]);

  /** The hit of a name that consists of other names: a block or value of an instance, or a rule. */
  const composed = text => {
    const rule = text.trim().match(/^([mtep]|sv|crv)-?\d[\w.]*$/i);
    if (rule) return [["rule", text.trim().toUpperCase(), `rules.html#${text.trim().toUpperCase().replace(/([A-Z])$/, last => last.toLowerCase())}`]];
    const parts = text.split(/\s+/).filter(part => part);
    const entries = names.entries.filter(entry => parts.some(part => entry.name.toLowerCase().startsWith(part)));
    const rest = parts.filter(part => !entries.some(entry => entry.name.toLowerCase().startsWith(part)));
    const named = rest.length ? names.examinations.filter(({ name }) => /^\w+$/.test(name) && rest.every(part => name.toLowerCase().includes(part))) : [];
    const runs = entries.flatMap(entry => named.map(({ name }) => ["runs", `${entry.name} in ${name}`, `examinations/${name}.html#sort=-${encodeURIComponent(entry.name)}`]));
    if (runs.length) return runs;
    const [instance, examination] = [names.instances, names.examinations.map(examination => [examination.name])].map(list =>
      list.map(([name], at) => [name.toLowerCase(), at]).filter(([name]) => text.includes(name)).sort(([a], [b]) => b.length - a.length)[0]?.[1]);
    if (instance === undefined || examination === undefined) return [];
    const position = text.match(/(?:^|[-\s])(\d\d?)\s*$/);
    const name = [names.instances[instance][0], names.examinations[examination].name];
    const inBlock = [["instance", name.join(" "), address({ instance, examination })]];
    return position ? [["value", [...name, two(position[1])].join(" "), address({ instance, examination, position: position[1] })], ...inBlock] : inBlock;
  };

  const show = () => {
    const text = field.value.toLowerCase();
    const words = text.split(/\s+/).filter(word => word);
    setFragment({ search: field.value.trim() });
    if (!words.length) {
      hits.replaceChildren();
      count.textContent = "";
      return;
    }
    const rank = ([, , , name]) => name === text ? 0 : name.startsWith(words[0]) ? 1 : 2;
    const all = found.filter(([, , , name]) => words.every(word => name.includes(word)))
      .map(item => [rank(item), item]).sort(([a], [b]) => a - b).map(([, item]) => item);
    const list = [...composed(text), ...all];
    const other = list.length ? null : similar(text.trim(), found.map(item => item[3]));
    count.textContent = list.length ? plural(list.length, "hit", "hits") : `Nothing has this name.${other ? ` Did you mean “${other}”?` : ""}`;
    hits.replaceChildren(...list.slice(0, MAX_HITS).map(([kind, name, link]) =>
      element("li", {}, element("a", { href: link }, name), " ", element("small", {}, kind))));
  };
  field.addEventListener("input", show);
  // Enter opens the first hit.
  field.addEventListener("keydown", event => {
    if (event.key === "Enter") hits.querySelector("a")?.click();
  });
  const restore = () => {
    const text = fragment().get("search") ?? "";
    if (text !== field.value) {
      field.value = text;
      show();
    }
  };
  addEventListener("hashchange", restore);
  restore();
});

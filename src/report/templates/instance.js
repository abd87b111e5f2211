"use strict";
// The page of an instance, or of one of its examinations, runs or values, as the fragment of the URL names it.

let shown = null;
const VERDICTS = { "+": ["✓", "right", "k"], "-": ["✗", "wrong", "w"], "?": ["?", "unjudged", "u"], ".": ["–", "not computed", "n"] };
const at = (repeated, position) => typeof repeated === "string" ? repeated : repeated?.[position] ?? "";
const named = (list, name) => list.findIndex(item => (item.name ?? item[0]) === name);

function where() {
  const query = new URLSearchParams(location.hash.slice(1));
  const place = list => key => query.has(key) ? named(list, query.get(key)) : null;
  const position = query.get("position");
  return {
    instance: place(names.instances)("instance"),
    examination: place(names.examinations)("examination"),
    entry: place(names.entries)("entry"),
    position: position === null ? null : Number(position),
    line: query.get("line"),
  };
}

/** Loads a file of data and passes its data to `take`; calls `failed` if the file is missing. */
function load(path, take, failed) {
  const script = element("script", { src: path });
  script.take = take;
  script.addEventListener("error", failed);
  document.head.append(script);
}

/** Called by instances/INSTANCE.js. */
const mcc_instance = data => document.currentScript.take(data);
/** Called by the file of excerpts of a run's outputs. */
const mcc_outputs = outputs => document.currentScript.take(outputs);

function open() {
  const part = where();
  const number = part.instance;
  if (number === null) return showMessage("Instance", "The address does not name an instance. Choose one from the list of instances.");
  if (number < 0) return showMessage("Instance", `This site has no instance “${new URLSearchParams(location.hash.slice(1)).get("instance")}”. Choose one from the list of instances.`);
  if (shown?.instance === number) return draw(part);
  const [name, , , segment] = names.instances[number];
  load(`instances/${segment ?? name}.js`, data => {
    for (const block of data.blocks) block.cells = block.cells.map(cell => cellOf(cell, block.values.length));
    shown = data;
    if (where().instance === number) draw(where());
  }, () => showMessage(name, "The data file of this instance cannot be read. Copy the complete folder of the site, or write the site again with mcc-harness report."));
}

/** A cell with named fields, and a verdict for each position. */
function cellOf([entry, ending, verdicts, points, cost, rest], count) {
  return { entry, ending, verdicts: verdicts.length < count ? verdicts.repeat(count) : verdicts, points, cost, ...rest };
}

function showMessage(title, text) {
  document.getElementById("instance").replaceChildren(element("h1", { tabindex: "-1" }, title), element("p", {}, text));
  document.querySelector(".crumbs").replaceChildren();
  document.title = `${title} · ${names.contest}`;
}

function draw(part) {
  const block = part.examination === null ? null : shown.blocks.find(block => block.examination === part.examination);
  const view = part.entry !== null ? drawRun : part.position !== null ? drawValue : part.examination !== null ? drawExamination : drawInstancePage;
  if (part.entry !== null && part.entry < 0) return showMessage("Run", "This site does not have this entry.");
  if (part.examination < 0) return showMessage("Examination", "This site does not have this examination.");
  if (part.examination === null && (part.entry ?? part.position) !== null) return showMessage("Examination", "The address does not name an examination.");
  if (part.examination !== null && !block && part.entry === null) return showMessage("Examination", "This examination was not judged on this instance.");
  const { title, parts } = view(part, block);
  const page = document.getElementById("instance");
  page.replaceChildren(...parts.flat().filter(part => part));
  document.title = `${title} · ${names.contest}`;
  crumbs(part);
  if (draw.again) page.querySelector("h1").focus();
  draw.again = true;
}

function crumbs({ instance, examination, entry, position }) {
  const steps = [[names.instances[instance][0], { instance }]];
  if (examination !== null) steps.push([names.examinations[examination].name, { instance, examination }]);
  if (entry !== null) steps.push([names.entries[entry].name, null]);
  else if (position !== null) steps.push([positionName(examination, position), null]);
  const place = document.querySelector(".crumbs");
  place.replaceChildren(...steps.flatMap(([name, part], number) => [
    element("span", { "aria-hidden": "true" }, number ? " / " : "/ "),
    number === steps.length - 1 ? element("span", { "aria-current": "page" }, name) : element("a", { href: address(part) }, name),
  ]));
}

// --- parts ----------------------------------------------------------------------------------------------------

const section = (title, ...children) => element("section", {}, element("h2", {}, title), ...children);

const tile = (name, figure, note, kind) => element("div", { class: `tile ${kind ?? ""}` },
  element("dt", {}, name), element("dd", {}, figure), element("dd", { class: "sub" }, note ?? ""));
const tiles = list => element("dl", { class: "tiles" }, list);
const sign = verdict => element("span", {}, element("span", { class: `s ${VERDICTS[verdict][2]}`, "aria-hidden": "true" }, VERDICTS[verdict][0]), ` ${VERDICTS[verdict][1]}`);
const link = (part, ...children) => element("a", { href: address(part) }, ...children);

/** A value; if it is too long for a table, its middle is left out. */
function value(text, none) {
  if (text == null) return element("span", { class: "muted" }, none ?? "unknown");
  if (text.length <= 60) return text;
  const short = `${text.slice(0, 24)}…${text.slice(-12)} (${thousands(text.length)} characters)`;
  return element("details", {}, element("summary", {}, short), text);
}

const given = (block, cell, position) => {
  const other = (cell.given ?? []).find(([other]) => other === position);
  return other ? other[1] : cell.verdicts[position] === "." ? null : block.values[position];
};
/** The name of a position: that of the metric, or its number. */
const positionName = (examination, position) => names.examinations[examination].positions?.[position] ?? two(position);
/** The property id of a position; empty if the published table does not have it. */
const idOf = (block, position) => block.ids ? block.ids[position] ?? ""
  : `${names.instances[shown.instance][0]}-${names.examinations[block.examination].name}-${two(position)}`;
/** The property id of a position if it says more than the name of the position. */
const ownId = (block, position) => block.ids && idOf(block, position) !== positionName(block.examination, position) ? idOf(block, position) : "";
/** The text of a wrong value that the published table does not have. */
const NOT_KEPT = "not in the judged table";
const counts = cell => {
  const count = letter => [...cell.verdicts].filter(verdict => verdict === letter).length;
  return [count("+"), count("-"), count("?"), count("."), cell.ending, cell.marks ?? 0, ...cell.cost];
};

/** The basis of a value: its key, its words with notes, its meaning, and the kind of weak evidence. */
function basis(block, position) {
  const word = at(block.bases, position);
  const weak = (block.weak ?? []).find(([other]) => other === position);
  const reason = (block.reasons ?? []).find(([other]) => other === position);
  const certified = (block.certified ?? []).find(([other]) => other === position);
  const [words, rule] = names.bases[word] ?? [word, word];
  const weakness = weak && word !== "single" ? ` (${new Map(names.weak).get(weak[1])})` : "";
  return { certified: certified?.[2], isShown: certified?.[3], stated: certified?.[4], key: word, word: words + weakness + (reason ? `: ${reason[1]}` : ""), evidence: certified?.[1] ?? "", rule, weak: weak?.[1] };
}

/** Whether evidence contradicts the trusted value of a position. */
const isRefuted = (block, position) => basis(block, position).evidence === "refuted";

/** Heads and rows of a table without the columns in which every cell is empty. */
function withoutEmptyColumns(heads, rows) {
  const filled = heads.map((_, column) => rows.some(row => (row[column].textContent ?? row[column]) !== ""));
  const kept = cells => cells.filter((_, column) => filled[column]);
  return [kept(heads), rows.map(kept)];
}

/** Names as text: `A`, `A and B`, `A, B and C`, `A, B, C and 2 others`. */
function listed(list) {
  const last = list.length > 4 ? `${list.length - 3} others` : list.at(-1);
  const first = list.length > 4 ? list.slice(0, 3) : list.slice(0, -1);
  return first.length ? `${first.join(", ")} and ${last}` : last;
}

const short = text => text === null ? "a value that is not known" : text === NOT_KEPT ? "a value that the judged table does not state" : text.length <= 60 ? text : `${text.slice(0, 24)}…${text.slice(-12)}`;

/** The points of a right value before the weight of the instance, as an exact number. */
function shareOf(block) {
  const [p, q] = sum([names.points]).split("/").map(BigInt);
  return `${p}/${q * BigInt(block.values.length)}`;
}

/** Who gave which value at a position, the most frequent value first, and entries without a vote last; `but` is left out. */
function valuesAt(block, position, but) {
  const groups = new Map();
  const votersFirst = [...block.cells].sort((a, b) => names.entries[b.entry].votes - names.entries[a.entry].votes);
  for (const cell of votersFirst.filter(cell => cell !== but && cell.verdicts[position] !== ".")) {
    const text = given(block, cell, position);
    groups.set(text, [...groups.get(text) ?? [], names.entries[cell.entry].name]);
  }
  const largestFirst = [...groups].sort(([, a], [, b]) => b.length - a.length);
  return { groups, text: largestFirst.map(([text, entries]) => `${listed(entries)} gave ${short(text)}`).join("; ") };
}

/** The ending of a run in words. */
function endingOf(cell) {
  const isOpen = names.marks[cell.marks ?? 0].split(" ").includes("not-run-yet");
  return isOpen ? "not run yet; not scored" : names.endings[cell.ending][1].replace(", or not run yet", "");
}

/** Sentences on a run: what it gave, its first wrong value beside those of the others, and the points. */
function whatHappenedInRun(cell, block) {
  const name = names.entries[cell.entry].name;
  const [right, wrong, unjudged] = counts(cell);
  const count = block.values.length;
  const points = `${decimal(cell.points)} ${decimal(cell.points) === "1" ? "point" : "points"}`;
  const ending = endingOf(cell);
  const isStated = !ending.startsWith("not stated");
  if (wrong) {
    const position = cell.verdicts.indexOf("-");
    const value = given(block, cell, position);
    const isStated = value !== NOT_KEPT;
    const what = wrong > 1 ? `${wrong} wrong values. The first is${isStated ? ` ${short(value)}` : ""}` : isStated ? short(value) : "a wrong value";
    const others = valuesAt(block, position, cell).text;
    const cost = decimal(product([shareOf(block), names.penalty, shown.weight, String(wrong)]));
    const refuted = [...cell.verdicts].filter((verdict, position) => verdict === "-" && isRefuted(block, position)).length;
    return [`${name} gave ${what}`, count > 1 ? ` for ${names.examinations[block.examination].positions ? "" : "position "}${positionName(block.examination, position)}` : "",
      wrong > 1 && !isStated ? " (the judged table does not state the value)" : "", others ? `; ${others}` : "", block.values[position] === null ? "." : `. The trusted value is ${short(block.values[position])}.`,
      ` ${wrong > 1 ? `The ${wrong} wrong values cost` : "The wrong value cost"} ${cost} points; the run has ${points} in all.`,
      refuted ? ` Evidence refutes the trusted value${wrong > 1 ? ` of ${refuted === wrong ? "all" : refuted} of them` : ""}, which changes no points.` : ""].join("");
  }
  if (right === count) return `${name} gave ${count > 1 ? `all ${count} values` : "the value"} right: ${points}.`;
  if (right || unjudged) return `${name} gave ${right} of ${count} values right${unjudged ? `, and ${unjudged} whose trusted value is unknown` : ""}: ${points}. ${isStated ? `The run ended: ${ending}.` : "How the run ended is not known."}`;
  return isStated ? `${name} gave no value: ${ending}.` : `${name} gave no value; the judged table does not state why.`;
}

/** Sentences on a position: who gave which value, and what each wrong value cost. */
function whatHappened(block, position, right, isShown) {
  const trusted = block.values[position];
  const { groups, text: gave } = valuesAt(block, position);
  const sentences = [gave ? `${gave}.` : "No tool gave a value."];
  if (trusted === null) sentences.push(isShown ? "No value is trusted. Evidence shows the value, but by the rules only votes decide, so nobody gets points for it." : "No value is trusted.");
  else if (!groups.has(trusted)) sentences.push(`The trusted value is ${short(trusted)}.`);
  const wrong = block.cells.filter(cell => cell.verdicts[position] === "-").map(cell => names.entries[cell.entry].name);
  if (wrong.length) {
    const cost = decimal(product([right, names.penalty, shown.weight]));
    sentences.push(`The wrong value cost ${listed(wrong)} ${cost} points${wrong.length > 1 ? " each" : ""}.`);
  }
  return sentences.join(" ");
}

// --- views ----------------------------------------------------------------------------------------------------

function drawInstancePage(part) {
  const [name, family, status] = names.instances[shown.instance];
  const instance = shown.instance;
  const entries = names.entries.map((entry, number) => [entry, number])
    .filter(([, number]) => shown.blocks.some(block => block.cells.some(cell => cell.entry === number)));
  const rows = shown.blocks.map(block => {
    const examination = block.examination;
    const known = block.values.filter(value => value !== null).length;
    const cells = entries.map(([, number]) => {
      const cell = block.cells.find(cell => cell.entry === number);
      const place = element("td", { class: "e" });
      if (!cell) return place.append("·"), place;
      const run = counts(cell);
      colour(place, run);
      place.append(link({ instance, examination, entry: number }, verdictText(run)));
      return place;
    });
    return [link({ instance, examination }, breakable(names.examinations[examination].name)), `${known}/${block.values.length}`, ...cells];
  });
  return { title: name, parts: [
    element("h1", { tabindex: "-1" }, name),
    element("p", { class: "lead" }, `An instance of the ${status} model ${family}; its weight is ${decimal(shown.weight, 4)}${shown.weight === "0" ? ", because no competing entry has a value on it" : ""} (`, ruleLink("E-4.4"), ")."),
    model(), netPicture(),
    tableOf("Examinations and tools: right (✓), wrong (✗) and unjudged (?) values, and the ending of the run; – means no value, · no run, ° a run with a mark",
      ["Examination", "Trusted", ...entries.map(([entry]) => entry.name)], rows, "grid"),
    endingsOf(shown.blocks.flatMap(block => block.cells)),
  ] };
}

/** The meaning of the endings that the cells of runs without a right or wrong value show. */
function endingsOf(cells) {
  const used = [...new Set(cells.map(cell => cell.ending))].sort((a, b) => a - b).map(ending => names.endings[ending]);
  const shownInCells = used.filter(([code]) => code && code !== "–");
  return shownInCells.length ? element("dl", { class: "legend" }, shownInCells.map(([code, words]) => element("div", {}, element("dt", {}, code), element("dd", {}, words)))) : null;
}

function drawExamination({ instance, examination }, block) {
  const name = names.examinations[examination].name;
  const isCertified = block.certified?.length > 0;
  const rows = block.values.map((trusted, position) => [
    link({ instance, examination, position }, breakable(positionName(examination, position))),
    element("td", { class: "value" }, value(trusted)),
    element("td", { class: "note" }, basis(block, position).word),
    ...(isCertified ? [basis(block, position).evidence] : []),
    ...block.cells.map(cell => {
      const verdict = cell.verdicts[position];
      const hasValue = "-?".includes(verdict);
      return element("td", { class: hasValue ? "value" : null },
        element("span", { class: `s ${VERDICTS[verdict][2]}`, title: VERDICTS[verdict][1] }, VERDICTS[verdict][0]),
        " ", hasValue ? value(given(block, cell, position)) : "");
    }),
  ]);
  const heads = block.cells.map(cell => link({ instance, examination, entry: cell.entry }, names.entries[cell.entry].name));
  const foot = ["Points", "", "", ...(isCertified ? [""] : []), ...block.cells.map(cell => element("td", { title: cell.points }, decimal(cell.points)))];
  return { title: `${name} of ${names.instances[instance][0]}`, parts: [
    element("h1", { tabindex: "-1" }, name, element("small", {}, `of ${names.instances[instance][0]}`)),
    element("p", { class: "lead" }, "Each position links to the explanation of its value, each tool to its run."),
    tableOf("Trusted values and the values of each tool", ["Position", "Trusted value", "How decided", ...(isCertified ? ["Evidence"] : []), ...heads], [...rows, foot], "grid values"),
    others({ instance, examination }),
  ] };
}

/** The page of a value: why it is trusted, and the answer and verdict of each tool. */
function drawValue({ instance, examination, position }, block) {
  if (!(position in block.values)) return { title: "Value", parts: [element("h1", { tabindex: "-1" }, "This examination does not have this position.")] };
  const { key, word, rule, weak, certified, isShown } = basis(block, position);
  const trusted = block.values[position];
  const voters = block.cells.filter(cell => names.entries[cell.entry].votes && cell.verdicts[position] !== ".");
  const confidence = cells => decimal(sum(cells.map(cell => names.entries[cell.entry].confidence[0])), 6);
  const backers = voters.filter(cell => cell.verdicts[position] === "+");
  const right = shareOf(block);
  const explanation = [element("p", {}, "How the value was decided: ", element("strong", {}, word), ...(key === "override" ? ["."] : [` — ${rule} (`, ruleLink("E-3.1"), ")."]))];
  if (certified) explanation.push(element("p", {}, certified, "."));
  if (weak) explanation.push(element("p", {}, weak === "single-backer" ? "Only one entry with a vote gave this value: no other tool confirms it." : "Only variants of one tool gave this value: no other tool confirms it."));
  if (names.variants_vote && trusted !== null && key !== "override") {
    explanation.push(element("p", {}, `Sum of confidence (100 % counts as 1): ${confidence(backers)} for the trusted value, ${confidence(voters)} for all given values.`));
  }
  const rows = block.cells.map(cell => {
    const entry = names.entries[cell.entry];
    const verdict = cell.verdicts[position];
    return [link({ instance, examination, entry: cell.entry }, entry.name),
      element("td", { class: "value" }, value(given(block, cell, position), "not computed")),
      entry.votes ? element("td", { title: entry.confidence[0] }, entry.confidence[1]) : "–", (!entry.votes ? "no" : verdict === "." ? "none" : "yes") + (entry.status ? ` (${entry.votes ? "does not compete" : entry.status})` : ""),
      element("td", { class: "verdict" }, sign(verdict)), element("td", { class: "id" }, breakable(at(cell.techniques, position)))];
  });
  const title = `${names.examinations[examination].name} of ${names.instances[instance][0]}`;
  const name = positionName(examination, position);
  return { title: `${name} · ${title}`, parts: [
    element("h1", { tabindex: "-1" }, names.examinations[examination].positions ? name : `Position ${name}`, element("small", {}, title)),
    ![null, "", name].includes(idOf(block, position)) ? element("p", { class: "lead id" }, idOf(block, position)) : null,
    element("p", { class: "lead" }, whatHappened(block, position, right, isShown)),
    tiles([tile("Trusted value", value(trusted), trusted?.includes(" × 10^") ? "rounded to 5 digits in the published table" : "", trusted === null ? "p" : "k"),
      tile("Points of a right value", `${decimal(right)} ${decimal(right) === "1" ? "point" : "points"}`, [`before the weight ${decimal(shown.weight, 4)} of the instance; the penalty of a wrong value is ${decimal(sum([names.penalty]))} times as much (`, ruleLink("E-4"), ")"])]),
    question(block, position),
    section("Explanation", ...explanation),
    evidenceOf(block, position),
    netPicture(),
    section("Answers", tableOf("The answer of each tool", ...withoutEmptyColumns(["Entry", "Answer", "Confidence", "Vote", "Verdict", "Techniques"], rows))),
    section("Check this value", ...commands([`mcc-harness explain ${archive()} --instance ${shellWord(names.instances[instance][0])} --examination ${shellWord(names.examinations[examination].name)} --position ${position}`])),
    others({ instance, examination }),
  ] };
}

/** What is asked at a position: its formula and the net. */
function question(block, position) {
  const formula = block.formulas?.[position];
  return section(formula ? "Question" : "Model", formula ? element("pre", { class: "formula", tabindex: "0", role: "region", "aria-label": "Formula" }, formula) : null, model());
}

/** The model with its size, and links to its other instances. */
function model() {
  const [, family, status] = names.instances[shown.instance];
  return element("p", {}, "Model ", element("a", { href: `instances.html#filter=${encodeURIComponent(family)}` }, family), ` (${status})`,
    shown.net ? `: ${shown.net}.` : ".");
}

/** The picture of a small net, which can be closed. On a narrow screen it is closed at first: the part that is seen can be empty. */
function netPicture() {
  if (shown.unread_colours) return element("p", {}, `There is no picture of the net, because its colours could not be read: ${shown.unread_colours}`);
  if (!shown.picture) return null;
  const [path, description] = shown.picture;
  return element("details", { class: "box net", open: !matchMedia("(max-width: 40rem)").matches }, element("summary", {}, "Picture of the net"),
    element("figure", {}, element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Picture of the net" }, element("img", { src: `${path}.svg`, alt: description })),
      element("figcaption", {}, element("a", { href: `${path}.svg` }, "SVG"), " · ", element("a", { href: `${path}.csv` }, "arcs as CSV"))));
}

/** The firings of a witness as sentences and a table; `link` leads to the whole file. */
function drawFirings({ about, rows, left_out: leftOut }, link) {
  // Without the net there are no changes and markings.
  const filled = rows.slice(0, leftOut?.[0] ?? rows.length);
  const gap = leftOut ? [[element("td", { class: "skipped", colspan: "4" }, `… ${thousands(leftOut[1])} steps left out; `, link, " has all …")]] : [];
  // `Fork_1 1 → 0` is one word.
  const change = text => (text ?? "").replace(/ (→|\d)/g, "\u00a0$1");
  const id = text => element("td", { class: "id" }, text ?? "");
  const cells = row => [row[0], id(row[1]), id(change(row[2])), id(row[3])];
  const heads = ["Step", "Transition that fires", "What it changes", "Places with tokens afterwards"];
  const [kept, all] = leftOut ? [heads, [...filled.map(cells), ...gap, ...rows.slice(filled.length).map(cells)]] : withoutEmptyColumns(heads, rows.map(cells));
  return [element("p", {}, about.join(" ")),
    rows.length ? tableOf("The firing sequence", kept, all, "firings") : null].filter(part => part);
}

/** The evidence of a value: its files, and the runs of its witnesses. */
function evidenceOf(block, position) {
  const files = (block.evidence ?? []).filter(([other]) => other === position);
  if (!files.length) return null;
  // A largest number needs both: a sequence that reaches it, and a certificate that nothing exceeds it.
  const isBound = files.some(file => file[3]) && files.some(file => file[1].endsWith(".certificate.json"));
  // The trusted value can be another one.
  const { stated } = basis(block, position);
  const shows = isBound ? ` is a firing sequence that reaches ${stated}: the value is at least this large.` : ` is a witness: a firing sequence, which can be empty, that shows that the value is ${stated}.`;
  const proves = isBound ? ` is a certificate that nothing exceeds ${stated}.` : ` is a certificate that proves that the value is ${stated}.`;
  return section("Evidence", ...files.flatMap(([, name, path, isWitness]) => {
    const file = element("p", {}, element("a", { href: path }, name.split("/").at(-1)), name.endsWith(".initial.witness.json") ? " is the initial marking, which alone contradicts the trusted value." : isWitness ? shows : name.endsWith(".explored.json") ? " records how certify found the value. The explanation above says whether a separate program found it, too. To explore the net yourself, use mcc-check, which is installed with mcc-harness: mcc-check explore INSTANCE.tgz." : proves);
    if (!name.endsWith(".explored.json")) {
      const command = isWitness ? "check-witness" : "check-certificate";
      const check = `mcc-harness ${command} ${shellWord(path)} --instances ${shellWord(`${names.instances[shown.instance][0]}.tgz`)}`;
      file.append(" This command in the folder of the site checks it, with the archive of the instance: ", element("code", {}, check));
    }
    if (!isWitness) return [file];
    const place = element("div", {}, element("p", {}, "Loading …"));
    load(`${path}.js`, firings => place.replaceChildren(...drawFirings(firings, element("a", { href: path }, "the file"))),
      () => place.replaceChildren(element("p", {}, "The file of the firing sequence cannot be read. Copy the complete folder of the site, or write the site again with mcc-harness report.")));
    return [file, place];
  }));
}

/** The archive in commands: its file name if the site was made from it, or else the judgement of the site. */
const archive = () => names.archive ? shellWord(names.archive[0]) : names.is_of_table ? "data" : "ARCHIVE";

/** Commands with a button that copies them. The first one checks the digest of the archive, if it is known. */
function commands(lines) {
  const check = names.archive ? [`echo ${shellWord(`${names.archive[1]}  ${names.archive[0]}`)} | sha256sum --check`] : [];
  const text = [...check, ...lines].join("\n");
  const isOfSite = !names.archive && names.is_of_table;
  return [names.archive ? null : element("p", {}, isOfSite ? "Run this in the folder of this site." : `ARCHIVE stands for the published archive of the contest.${lines.length > 1 ? " replay and lint also take the folder of the record (run --out)." : ""} explain also takes the folder of the judgement (judge --out).`),
    ...box(text, "Commands")].filter(part => part);
}

/** Text of commands with a button that copies it. */
function box(text, label) {
  const copy = element("button", { type: "button", class: "copy" }, "Copy");
  copy.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => copy.textContent = "Copied", () => copy.textContent = "Not allowed by the browser"));
  return [element("pre", { tabindex: "0", role: "region", "aria-label": label }, text), copy];
}

/** The other examinations of the instance. */
function others({ instance, examination }) {
  return section("Other examinations", element("ul", { class: "chips" }, shown.blocks.map(block => element("li", {},
    block.examination === examination ? element("span", { "aria-current": "page" }, names.examinations[block.examination].name)
      : link({ instance, examination: block.examination }, names.examinations[block.examination].name)))));
}

function drawRun({ instance, examination, entry }, block) {
  const cell = block?.cells.find(cell => cell.entry === entry);
  const recorded = shown.recorded?.runs[`${entry}/${examination}`];
  const [name, title, where] = [names.entries[entry].name, names.examinations[examination]?.name ?? "", names.instances[instance][0]];
  const parts = [element("h1", { tabindex: "-1" }, name, element("small", {}, `${title} of ${where}`))];
  const marks = recorded?.marks ?? (cell?.marks ? names.marks[cell.marks].split(" ") : []);
  if (cell) parts.push(element("p", { class: "lead" }, whatHappenedInRun(cell, block)));
  if (marks.length) parts.push(element("div", { class: "banner", role: "note" }, element("strong", {}, "° Marked run. "), element("ul", { class: "marks" }, marks.map(mark => {
    const [word, meaning] = names.mark_words[mark] ?? [mark, "a mark of another version"];
    return element("li", {}, element("strong", {}, word), `: ${meaning}`);
  }))));
  parts.push(tiles([...verdictTiles(cell, block, recorded), ...(recorded ? recorded.tiles.map(fields => tile(...fields)) : costTiles(cell)), ...arrivalTiles(cell)]));
  if (cell) {
    const rows = block.values.map((trusted, position) => [
      link({ instance, examination, position }, positionName(examination, position)),
      element("td", { class: "value" }, value(given(block, cell, position), "")),
      element("td", { class: "time" }, cell.arrived && cell.verdicts[position] !== "." ? arrival(cell.arrived[0][position]) : ""),
      element("td", { class: "verdict" }, sign(cell.verdicts[position])), element("td", { class: "value" }, value(trusted)), basis(block, position).word + (isRefuted(block, position) ? "; refuted" : ""),
      element("td", { class: "others" }, "-?".includes(cell.verdicts[position]) ? valuesAt(block, position, cell).text : ""),
      element("td", { class: "formula" }, formulaText(block, position)), element("td", { class: "id" }, breakable(at(cell.techniques, position))), element("td", { class: "id" }, ownId(block, position)),
    ]);
    parts.push(section("Answers", model(), tableOf("The value of the tool and the trusted value at each position",
      ...withoutEmptyColumns(["Position", "Given", "Arrived after", "Verdict", "Trusted value", "How decided", "Others", "Formula", "Techniques", "Id"], rows), "answers"),
      ...(cell.remarks ? [element("h3", {}, "Remarks on the output"), element("ul", {}, cell.remarks.map(text => element("li", {}, text)))] : [])));
    const rest = block.cells.filter(other => other !== cell);
    if (rest.length) parts.push(section("Other entries on the same instance", element("ul", { class: "chips" }, rest.map(other => element("li", {},
      link({ instance, examination, entry: other.entry }, names.entries[other.entry].name, " ", element("b", {}, verdictText(counts(other)))))))));
  } else parts.push(section("Answers", element("p", {}, recorded ? "This run is not in the judgement." : "The judgement has no such run.")));
  parts.push(netPicture());
  if (recorded) {
    const run = shellWord(recorded.name ?? `${name}/${where}/${title}`);
    parts.push(...recordOf(recorded, { instance, examination, entry }), section("Check this run", element("p", {}, recorded.outputs ? "These commands repeat the run, check its output line by line, and explain its trusted values. With --allow-degraded, a computer that is not like those of the contest can repeat it." : "The tool was not started, so there is nothing to repeat. This command explains the trusted values."),
      ...commands([...(recorded.outputs ? [`mcc-harness replay ${archive()} --run ${run} --allow-degraded`, `mcc-harness lint ${archive()} --run ${run}`] : []), `mcc-harness explain ${archive()} --instance ${shellWord(where)} --examination ${shellWord(title)}`])));
  }
  return { title: `${name} · ${where} · ${title}`, parts };
}

/** A formula for a table: a long one can be opened. */
function formulaText(block, position) {
  const formula = block.formulas?.[position] ?? "";
  if (formula.length <= 80) return formula;
  return element("details", {}, element("summary", {}, `${formula.slice(0, 60)}…`), formula);
}

function verdictTiles(cell, block, recorded) {
  if (!cell) return [tile("Verdict", recorded ? "not judged" : "no run")];
  const [right, wrong, unjudged] = counts(cell);
  const count = block.values.length;
  const [text, kind] = wrong ? [`✗ ${wrong} of ${count} wrong`, "w"]
    : right === count ? [count === 1 ? "✓ right" : `✓ all ${count} right`, "k"]
    : right ? [`✓ ${right} of ${count} right`, "p"]
    : unjudged ? [`? ${unjudged} of ${count} given, trusted value unknown`, "p"] : ["– not computed", "n"];
  const exact = cell.points.includes("/") && cell.points.length <= 40 ? [`exactly ${cell.points.replace("-", "−")}`] : [];
  const isComplete = right === count;
  const counted = isComplete && !cell.cost?.length ? []
    : [isComplete ? "complete: the run counts for time and memory (" : "not complete: the run does not count for time and memory (", ruleLink("E-4.3"), ")"];
  const points = tile("Points with weights", decimal(cell.points), [...exact, ...exact.length && counted.length ? ["; "] : [], ...counted]);
  return [tile("Verdict", text, `Ending of the run: ${endingOf(cell)}`, kind), points];
}

function costTiles(cell) {
  const [cpu, wall, memory] = cell?.cost ?? [];
  return cpu == null ? [] : [tile("CPU time", duration(cpu)), tile("Wall-clock time", duration(wall)), tile("Memory", memory == null ? "not measured" : size(memory))];
}

const arrival = ms => ms == null ? "unknown" : duration(ms);

/** When half and all of the values had arrived on the host. */
function arrivalTiles(cell) {
  if (!cell?.arrived || ![...cell.verdicts].some(verdict => verdict !== ".")) return [];
  const [half, all] = cell.arrived[1];
  return [tile("Half of its values arrived after", arrival(half), "wall-clock time since the start of the tool until they arrived on the host"), tile("All of its values arrived after", arrival(all), "since the start of the tool")];
}

/** The sections of a recorded run. */
function recordOf(run, part) {
  const output = element("section", {}, element("h2", {}, "Output"), element("p", {}, run.outputs ? "Loading …" : "No output was kept: the tool was not started."));
  if (run.outputs) {
    load(run.outputs, outputs => {
      output.replaceChildren(element("h2", {}, "Output"), ...outputs.flatMap(drawOutput));
      linkLines(part, output);
    }, () => output.lastChild.replaceWith(element("p", {}, "The file of the outputs cannot be read. Copy the complete folder of the site, or write the site again with mcc-harness report.")));
  }
  const attempts = run.attempts.map(attempt => [`${attempt.number}`, attempt.state, attempt.outcome, element("td", { class: "time" }, attempt.started), attempt.host, element("td", { class: attempt.marks ? "long" : null }, attempt.marks),
    element("td", {}, attempt.outputs.flatMap(([name, path], at) => [at ? " · " : "", element("a", { href: path }, name)]))]);
  const disks = shown.recorded.disks[run.disks];
  const machine = shown.recorded.machines[run.machine];
  const picture = run.picture ? section("CPU and memory over time", element("figure", {}, element("a", { href: `${run.picture[0]}.svg` }, element("img", { src: `${run.picture[0]}.svg`, alt: run.picture[1] })),
    element("figcaption", {}, element("a", { href: `${run.picture[0]}.csv` }, "CSV")))) : null;
  return [output, picture,
    section("Attempts", tableOf("All attempts at this run; the last one is judged", ["Attempt", "State", "Outcome", "Started", "Host", "Marks", "Raw outputs"], attempts)),
    section("Machine",
      element("dl", { class: "facts" }, run.facts.map(([name, fact]) => element("div", {}, element("dt", {}, name), element("dd", {}, fact)))),
      disks.length ? tableOf("All disks of the machine", ["Disk", "SHA-256", "Size"], disks.map(([role, digest, bytes]) => [role, element("td", { class: "id" }, digest), bytes])) : null,
      machine.length ? element("details", { class: "box" }, element("summary", {}, "Arguments of QEMU"), element("pre", { tabindex: "0" }, machine.join("\n"))) : null)];
}

/** Links each position of the table of answers to the line that gave its value, and shows the line of the address. */
function linkLines(part, output) {
  const rows = [...document.querySelectorAll(".answers tbody tr")];
  const block = shown.blocks.find(block => block.examination === part.examination);
  const ids = (block?.values ?? []).map((_, position) => idOf(block, position) || positionName(part.examination, position));
  for (const line of output.querySelectorAll(".line[data-line]")) {
    const [, id] = line.textContent.match(/(?:FORMULA|STATE_SPACE)\s+(\S+)\s+\S/) ?? [];
    const position = ids.findIndex((known, position) => id !== undefined && (known === id || positionName(part.examination, position) === id));
    const cell = rows[position]?.querySelector("td");
    if (cell && !cell.querySelector(".at")) cell.append(" ", element("a", { class: "at", href: `${address(part)}&line=${line.dataset.line}` }, `line ${line.dataset.line}`));
  }
  const wanted = output.querySelector(`.line[data-line="${CSS.escape(where().line ?? "")}"]`);
  wanted?.classList.add("wanted");
  wanted?.scrollIntoView({ block: "center" });
}

/** The lines of an excerpt: parts of it with odd numbers are shown control characters. */
function linesOf(parts) {
  const lines = [[]];
  parts.forEach((part, number) => part.split("\n").forEach((text, at) => {
    if (at) lines.push([]);
    if (text) lines.at(-1).push(number % 2 ? element("i", {}, text) : text);
  }));
  // Behind the last line break is no line.
  if (!lines.at(-1).length) lines.pop();
  return lines;
}

function drawOutput(output) {
  // The number of a line is known in the beginning of an output; only lines of stdout are answers.
  const numbered = (number, parts) => output.name === "stdout" && parts === output.head ? number + 1 : null;
  const text = (parts, label) => element("pre", { class: "output", tabindex: "0", role: "region", "aria-label": label },
    linesOf(parts).flatMap((line, number) => [number ? "\n" : "", element("span", { class: "line", "data-line": numbered(number, parts) }, line)]));
  return [
    element("h3", {}, output.name, element("small", {}, ` ${output.size} · `, element("a", { href: output.link }, "raw file"))),
    ...(output.firings ? drawFirings(output.firings, element("a", { href: output.link }, "the file")) : []),
    output.bytes === 0 ? element("p", { class: "muted" }, "Empty.") : text(output.head, output.name),
    ...(output.tail ? [element("p", { class: "skipped" }, `… ${output.skipped} left out; the raw file is complete …`), text(output.tail, `${output.name}, end`)] : []),
    element("p", { class: "digest" }, output.sha256 ? ["SHA-256 ", element("code", {}, output.sha256)] : ""),
  ];
}

addEventListener("hashchange", () => withNames(open));
withNames(open);

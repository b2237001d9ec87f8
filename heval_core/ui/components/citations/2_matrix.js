// The explanation, a sentence a line, and each annotator's marks beside it.

const TEXT = 300, COLUMN = 70, NARROW = 38;
const SVG = "http://www.w3.org/2000/svg";

// What an annotator made of a sentence: found, wrongly marked, missed, not marked, or not known.
const MARKS = {
  found: [["rect", { class: "full", x: 2, y: 2, width: 16, height: 16, rx: 4 }], ["path", { class: "tick", d: "M5.5 10.5l3 3l6-7" }]],
  wrong: [["rect", { class: "edge", x: 3, y: 3, width: 14, height: 14, rx: 4 }], ["path", { class: "cross", d: "M6.5 6.5l7 7m0-7l-7 7" }]],
  missed: [["rect", { class: "gone", x: 3, y: 3, width: 14, height: 14, rx: 4 }]],
  none: [["circle", { class: "dot", cx: 10, cy: 10, r: 1.7 }]],
  unknown: [["circle", { class: "gone", cx: 10, cy: 10, r: 6.5 }]],
};

function mark(state) {
  const shape = (name, attributes) => having(document.createElementNS(SVG, name), attributes);
  const svg = shape("svg", { width: 20, height: 20, "aria-hidden": true });
  svg.append(...MARKS[state].map(([name, attributes]) => shape(name, attributes)));
  return svg;
}

// Narrow windows put the names of many annotators upright, so that the sentences keep their room.
function matrix(data, width) {
  const count = data.annotators.length;
  const wide = Math.max(NARROW, Math.min(COLUMN, Math.floor((width - TEXT - 66) / Math.max(1, count))));
  const grid = having(element("div", `grid${wide < 62 ? " upright" : ""}`), { role: "table", "aria-label": "Sentences by annotator", style: `--columns: ${count}; --wide: ${wide}px` });
  grid.append(heads(data), ...data.sentences.map((line, index) => sentence(data, line, index)));
  if (count && data.passage !== null) grid.append(foot(data));
  const title = element("h2", "", data.passage === null ? "The explanation" : `Which sentences should cite [${data.passage}]?`);
  return element("section", "explanation", title, element("div", "scroll", grid), key(data), ...data.notes.map((note) => element("p", "note problem", note)));
}

const cell = (className, role, ...content) => having(element("div", className, ...content), { role });

function heads(data) {
  const row = cell("line heads", "row", cell("no", "columnheader"), cell("said", "columnheader"), cell("gold", "columnheader", "should cite"));
  for (const one of data.annotators) {
    const small = [one.control ? element("small", "", "control") : null, one.problem ? element("small", "problem", "unreadable") : null];
    const head = cell(`who${one.control ? " control" : ""}`, "columnheader", element("i"), element("span", "", one.title), ...small);
    having(head, { style: `--hue: ${one.color}`, "aria-label": `${one.title}${one.control ? ", control" : ""}${one.problem ? ", unreadable" : ""}` });
    head.about = [one.control ? `${one.title}, control` : one.title, ...(one.about ? [one.about] : []), ...one.score];
    row.append(head);
  }
  return row;
}

function sentence(data, line, index) {
  const dot = line.gold ? having(cell("gold", "cell", element("span", "yes", "●")), { "aria-label": "should cite" }) : cell("gold", "cell");
  const text = pieces("p", "", line.pieces);
  text.querySelectorAll(".gap").forEach((gap) => { gap.title = "its citation was taken out here"; });
  const row = cell(`line${line.gold ? " should" : ""}`, "row", cell("no", "cell", line.number), cell("said", "cell", text), dot);
  for (const one of data.annotators) {
    const own = one.cells[index], votes = own.votes ? element("span", "votes", String(own.votes)) : null;
    const made = cell("mark", "cell", mark(own.state), votes, own.weight === undefined ? null : weight(own.weight));
    made.about = [`${one.title}, sentence ${line.number}`, ...own.about];
    row.append(having(made, { style: `--hue: ${one.color}`, "data-at": `${index} ${one.key}`, tabindex: -1, "aria-label": made.about.join(". ") }));
  }
  return row;
}

// How much the passage weighs for the sentence, as a share of the explainer's highest score here.
function weight(share) {
  const bar = having(element("i"), { style: `width: ${Math.round(100 * Math.abs(share))}%` });
  return element("span", `weight${share < 0 ? " against" : ""}`, bar);
}

function foot(data) {
  const said = cell("said", "cell", element("b", "", "F1 here"), element("span", "quiet", " and what chance gives"));
  const row = cell("line foot", "row", cell("no", "cell"), said, cell("gold", "cell"));
  for (const one of data.annotators) {
    const known = one.f1 !== null;
    const made = cell("value", "cell", element("b", known ? "" : "quiet", known ? one.text : "–"), known ? element("small", "", one.chance) : null);
    made.about = [one.title, ...one.score];
    row.append(made);
  }
  return row;
}

function key(data) {
  const every = data.annotators.flatMap((one) => one.cells), states = new Set(every.map((own) => own.state));
  const item = (sign, text) => element("span", "", sign, element("span", "", text));
  const said = { found: "found", wrong: "wrongly marked", missed: "missed", unknown: "no answer" };
  const signs = Object.entries(said).filter(([state]) => states.has(state)).map(([state, text]) => item(mark(state), text));
  const weighs = every.some((own) => own.weight !== undefined) ? item(weight(0.7), "how much the passage weighs, by explainers; hatched: against") : null;
  const cited = data.sentences.some((line) => line.gold) ? "● should cite: the sentence cited the passage before" : null;
  return element("p", "key", cited, ...signs, weighs, element("span", "", "hover a mark for the annotator’s score of that sentence"));
}

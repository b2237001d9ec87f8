// The explanation, a sentence a line, and each annotator's marks beside it.

const TEXT = 300, COLUMN = 70, NARROW = 38;

// Narrow windows put the names of many annotators upright, so that the sentences keep their room.
function matrix(data, width) {
  const made = element("section", "explanation"), count = data.annotators.length;
  const wide = Math.max(NARROW, Math.min(COLUMN, Math.floor((width - TEXT - 66) / Math.max(1, count))));
  made.append(element("h2", "", data.passage === null ? "The explanation" : `Which sentences should cite [${data.passage}]?`));
  const scroll = element("div", "scroll"), grid = element("div", `grid${wide < 62 ? " upright" : ""}`);
  grid.setAttribute("role", "table");
  grid.setAttribute("aria-label", "Sentences by annotator");
  grid.style.setProperty("--columns", count);
  grid.style.setProperty("--wide", `${wide}px`);
  grid.append(heads(data));
  data.sentences.forEach((line, index) => grid.append(sentence(data, line, index)));
  if (count && data.passage !== null) grid.append(foot(data));
  scroll.append(grid);
  made.append(scroll, key(data));
  for (const note of data.notes) made.append(element("p", "note problem", note));
  return made;
}

function cell(className, role, ...content) {
  const made = element("div", className);
  made.setAttribute("role", role);
  made.append(...content);
  return made;
}

function heads(data) {
  const row = cell("line heads", "row", cell("no", "columnheader"), cell("said", "columnheader"), cell("gold", "columnheader", "should cite"));
  for (const one of data.annotators) {
    const head = cell(`who${one.control ? " control" : ""}`, "columnheader"), bar = element("i");
    head.style.setProperty("--hue", one.color);
    const name = element("span", "", one.title);
    head.append(bar, name);
    if (one.control) head.append(element("small", "", "control"));
    if (one.problem) head.append(element("small", "problem", "unreadable"));
    head.setAttribute("aria-label", `${one.title}${one.control ? ", control" : ""}${one.problem ? ", unreadable" : ""}`);
    head.about = [one.control ? `${one.title}, control` : one.title, ...(one.about ? [one.about] : []), ...one.score];
    row.append(head);
  }
  return row;
}

function sentence(data, line, index) {
  const dot = cell("gold", "cell");
  if (line.gold) { dot.append(element("span", "yes", "●")); dot.setAttribute("aria-label", "should cite"); }
  const row = cell(`line${line.gold ? " should" : ""}`, "row", cell("no", "cell", String(index + 1)), cell("said", "cell", pieces("p", "", line.pieces)), dot);
  for (const one of data.annotators) {
    const own = one.cells[index], made = cell("mark", "cell", mark(own.state));
    made.style.setProperty("--hue", one.color);
    made.dataset.at = `${index} ${one.key}`;
    made.tabIndex = -1;
    made.about = [`${one.title}, sentence ${index + 1}`, ...own.about];
    made.setAttribute("aria-label", made.about.join(". "));
    if (own.votes) made.append(element("span", "votes", String(own.votes)));
    if (own.weight !== undefined) made.append(weight(own.weight));
    row.append(made);
  }
  return row;
}

// How much the passage weighs for the sentence, as a share of the explainer's highest score here.
function weight(share) {
  const made = element("span", `weight${share < 0 ? " against" : ""}`), bar = element("i");
  bar.style.width = `${Math.round(100 * Math.abs(share))}%`;
  made.append(bar);
  return made;
}

function foot(data) {
  const said = cell("said", "cell", element("b", "", "F1 here"), element("span", "quiet", " and what chance gives"));
  const row = cell("line foot", "row", cell("no", "cell"), said, cell("gold", "cell"));
  for (const one of data.annotators) {
    const made = cell("value", "cell");
    made.append(element("b", one.f1 === null ? "quiet" : "", one.f1 === null ? "–" : one.text));
    if (one.f1 !== null) made.append(element("small", "", one.chance));
    made.about = [one.title, ...one.score];
    row.append(made);
  }
  return row;
}

function key(data) {
  const made = element("p", "key", data.sentences.some((line) => line.gold) ? "● should cite: the sentence cited the passage before" : ""), states = new Set(data.annotators.flatMap((one) => one.cells.map((own) => own.state)));
  const said = { found: "found", wrong: "wrongly marked", missed: "missed", unknown: "no answer" };
  for (const [state, text] of Object.entries(said)) {
    if (!states.has(state)) continue;
    const item = element("span");
    item.append(mark(state), element("span", "", text));
    made.append(item);
  }
  if (data.annotators.some((one) => one.cells.some((own) => own.weight !== undefined))) {
    const item = element("span");
    item.append(weight(0.7), element("span", "", "how much the passage weighs, by explainers; hatched: against"));
    made.append(item);
  }
  made.append(element("span", "", "hover a mark for the annotator’s score of that sentence"));
  return made;
}

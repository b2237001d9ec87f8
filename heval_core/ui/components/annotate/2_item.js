// One item: claim and verdict, the passage at hand, the explanation as sentences to choose, and what is saved with them.

// Markers of other passages are set back.
function withMarkers(pieces) {
  const made = element("span", "text");
  made.append(...pieces.map(([kind, text]) => (kind ? element("span", "marker", text) : text)));
  return made;
}

function key(text) {
  const made = element("kbd", "", text);
  made.setAttribute("aria-hidden", "true");
  return made;
}

function topLine(data, act) {
  const made = element("div", "top"), saved = element("span", "saved");
  saved.setAttribute("role", "status");
  if (data.practice) saved.textContent = `Practice ${data.practice.number} of ${data.practice.of}`;
  else {
    const left = data.left === 1 ? "1 question left" : `${data.left.toLocaleString("en")} questions left`;
    saved.append(element("b", "", `${data.answered.toLocaleString("en")} saved`), ` · ${left}`);
  }
  const track = element("span", "track"), fill = element("span", "fill");
  const share = data.practice ? (data.practice.number - 1) / data.practice.of : data.answered / Math.max(1, data.answered + data.left);
  fill.style.width = `${100 * share}%`;
  track.append(fill);
  const who = element("span", "who", data.person), leave = element("button", "link", "Sign out");
  leave.onclick = () => act({ op: "leave" });
  made.append(saved, track, who, leave);
  return made;
}

function passageOf(one, here) {
  const made = element(here ? "div" : "button", here ? "passage here" : "passage");
  const body = element("span", "body"), title = element("span", "title", one.title);
  if (here) title.append(element("small", "", one.title ? " its citations are taken out" : "its citations are taken out"));
  if (title.childNodes.length) body.append(title);
  body.append(element("span", "text", one.text));
  made.append(element("span", "number", `[${one.number}]`), body);
  if (!here) {
    made.type = "button";
    made.title = "Show all of it";
    made.setAttribute("aria-expanded", "false");
    made.onclick = () => made.setAttribute("aria-expanded", String(made.classList.toggle("open")));
  }
  return made;
}

function evidence(data) {
  const made = element("div", "evidence"), rest = element("div", "rest");
  const others = data.passages.filter((one) => one.number !== data.passage);
  made.append(...data.passages.filter((one) => one.number === data.passage).map((one) => passageOf(one, true)));
  if (others.length) rest.append(element("h3", "", others.length === 1 ? "The other passage" : `The other ${others.length} passages`));
  const list = element("div", "others");
  list.append(...others.map((one) => passageOf(one, false)));
  rest.append(list);
  return [made, rest];
}

function choice(place, content, hint) {
  const made = element("button", "sentence");
  made.type = "button";
  made.setAttribute("role", "checkbox");
  made.dataset.place = place;
  made.append(element("span", "box"), content, hint ? key(hint) : "");
  return made;
}

function slider() {
  const made = element("div", "helpful"), input = element("input"), line = element("div", "line");
  Object.assign(input, { type: "range", min: 0, max: 100, step: 1, value: 50 });
  const label = element("label", "", "How helpful is the explanation?");
  const value = element("output");
  input.setAttribute("aria-label", "How helpful is the explanation for judging the claim?");
  line.append(element("span", "end", "not at all"), input, element("span", "end", "very"), value, key("← →"));
  made.append(label, line);
  return { made, input, value };
}

// What a practice answer was, sentence by sentence, and why.
function explain(data, rows, none) {
  const right = new Set(data.gold), chosen = new Set(data.feedback);
  const good = right.size === chosen.size && [...right].every((place) => chosen.has(place));
  const mark = (row, wanted, given) => {
    if (!wanted && !given) return;
    row.classList.add(wanted ? "right" : "wrong");
    row.append(element("span", "verdict-of", wanted ? (given ? "right" : "this was right") : "not this"));
  };
  rows.forEach((row, place) => mark(row, right.has(place), chosen.has(place)));
  mark(none, !right.size, !chosen.size);
  const made = element("div", "why");
  made.append(element("b", good ? "good" : "bad", good ? "Right. " : "Not quite. "), data.why);
  return made;
}

function itemView(data, act) {
  const made = element("div", data.earlier ? "item changing" : "item"), head = element("div", "head");
  const heading = element("h1", data.claim.length > 110 ? "long" : "", data.claim);
  heading.append(" ", element("span", "verdict", data.verdict));
  head.append(element("div", "label", data.earlier ? `Item ${data.nth} again: you change your answer` : "Claim and verdict"), heading);
  const question = element("h2", "", `Which sentences should cite [${data.passage}]?`);
  question.tabIndex = -1;
  const sentences = element("div", "sentences");
  const rows = data.sentences.map((pieces, place) => choice(place, withMarkers(pieces), place < 9 ? String(place + 1) : ""));
  const none = choice("none", element("span", "text", "None of these"), "0");
  none.classList.add("none");
  sentences.append(question, ...rows, none);
  const grid = element("div", "grid");
  const [here, rest] = evidence(data);
  grid.append(here, sentences, rest);
  const bar = element("div", "bar"), buttons = element("div", "buttons"), range = slider();
  const back = element("button", "quiet", data.earlier ? "Leave it as it is" : "Back");
  back.append(key(data.earlier ? "Esc" : "⌫"));
  const main = element("button", "primary", data.feedback ? "Next" : data.practice ? "Check" : data.earlier ? "Save the change" : "Save and next");
  main.append(key("↵"));
  const earlier = data.earlier && data.can_go_back ? element("button", "quiet", "Further back") : null;
  if (earlier) earlier.append(key("⌫"));
  back.hidden = !data.earlier && (!data.can_go_back || Boolean(data.practice));
  buttons.append(...[earlier, back, main].filter(Boolean));
  const said = element("div", "said", data.error);
  said.setAttribute("role", "alert");
  bar.append(data.feedback ? explain(data, rows, none) : range.made, buttons, said);
  const top = topLine(data, act);
  made.append(top, head, grid, bar);
  return { root: made, said, first: question, rows, none, range, back, earlier, main, top };
}

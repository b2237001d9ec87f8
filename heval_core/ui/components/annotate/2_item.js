// One item: claim and verdict, the passage at hand, the explanation as sentences to choose, and what is saved with them.

const key = (text) => having(element("kbd", "", text), { "aria-hidden": true });

function topLine(data, act) {
  const saved = having(element("span", "saved"), { role: "status" });
  if (data.practice) saved.append(`Practice ${data.practice.number} of ${data.practice.of}`);
  else saved.append(element("b", "", `${data.answered.toLocaleString("en")} saved`), ` · ${data.left === 1 ? "1 question left" : `${data.left.toLocaleString("en")} questions left`}`);
  const share = data.practice ? (data.practice.number - 1) / data.practice.of : data.answered / Math.max(1, data.answered + data.left);
  return element("div", "top", saved, element("span", "track", having(element("span", "fill"), { style: `width: ${100 * share}%` })), element("span", "who", data.person), button("link", "Sign out", null, () => act({ op: "leave" })));
}

function passageOf(one, here) {
  const about = here ? element("small", "", one.title ? " its citations are taken out" : "its citations are taken out") : null;
  const title = one.title || here ? element("span", "title", one.title || null, about) : null;
  const made = element(here ? "div" : "button", here ? "passage here" : "passage", element("span", "number", `[${one.number}]`), element("span", "body", title, element("span", "text", one.text)));
  if (here) return made;
  made.onclick = () => made.setAttribute("aria-expanded", String(made.classList.toggle("open")));
  return having(made, { type: "button", title: "Show all of it", "aria-expanded": false });
}

function evidence(data) {
  const others = data.passages.filter((one) => one.number !== data.passage), rest = element("div", "rest");
  if (others.length) rest.append(element("h3", "", others.length === 1 ? "The other passage" : `The other ${others.length} passages`));
  rest.append(element("div", "others", ...others.map((one) => passageOf(one, false))));
  const here = data.passages.filter((one) => one.number === data.passage);
  return [element("div", "evidence", ...here.map((one) => passageOf(one, true))), rest];
}

function choice(place, content, hint) {
  const made = element("button", "sentence", element("span", "box"), content, hint ? key(hint) : null);
  return having(made, { type: "button", role: "checkbox", "data-place": place });
}

function slider() {
  const input = having(element("input"), { type: "range", min: 0, max: 100, step: 1, value: 50, "aria-label": "How helpful is the explanation for judging the claim?" });
  const value = element("output"), line = element("div", "line", element("span", "end", "not at all"), input, element("span", "end", "very"), value, key("← →"));
  return { made: element("div", "helpful", element("label", "", "How helpful is the explanation?"), line), input, value };
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
  return element("div", "why", element("b", good ? "good" : "bad", good ? "Right. " : "Not quite. "), data.why);
}

function itemView(data, act) {
  const head = element("div", "head",
    element("div", "label", data.earlier ? `Item ${data.nth} again: you change your answer` : "Claim and verdict"),
    element("h1", data.claim.length > 110 ? "long" : "", data.claim, " ", element("span", "verdict", data.verdict)),
  );
  const question = heading("h2", "", `Which sentences should cite [${data.passage}]?`);
  const rows = data.sentences.map((parts, place) => choice(place, pieces("span", "text", parts), place < 9 ? String(place + 1) : ""));
  const none = choice("none", element("span", "text", "None of these"), "0");
  none.classList.add("none");
  const [here, rest] = evidence(data), range = slider();
  const grid = element("div", "grid", here, element("div", "sentences", question, ...rows, none), rest);
  const back = element("button", "quiet", data.earlier ? "Leave it as it is" : "Back", key(data.earlier ? "Esc" : "⌫"));
  const main = element("button", "primary", data.feedback ? "Next" : data.practice ? "Check" : data.earlier ? "Save the change" : "Save and next", key("↵"));
  const earlier = data.earlier && data.can_go_back ? element("button", "quiet", "Further back", key("⌫")) : null;
  back.hidden = !data.earlier && (!data.can_go_back || Boolean(data.practice));
  const said = having(element("div", "said", data.error), { role: "alert" });
  const bar = element("div", "bar", data.feedback ? explain(data, rows, none) : range.made, element("div", "buttons", earlier, back, main), said);
  const top = topLine(data, act);
  return { root: element("div", data.earlier ? "item changing" : "item", top, head, grid, bar), said, first: question, rows, none, range, back, earlier, main, top };
}

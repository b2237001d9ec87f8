// The passages, and the choice of the one whose citation is masked.

function chip(one, data, act) {
  const made = button(one.cited ? "pick" : "pick omitted", `[${one.number}]`, one.number === data.passage, () => act.passage(one.number));
  const title = one.cited ? "mask this citation" : "no sentence cites this passage";
  return having(made, { title, "data-passage": one.number, "aria-label": `Passage ${one.number}${one.cited ? "" : ", which no sentence cites"}` });
}

function evidence(data, act) {
  const given = data.passages.filter((one) => one.given), head = element("div", "head", element("h2", "", "Evidence"));
  const picker = element("div", `picker${given.length > 12 ? " many" : ""}`, ...given.map((one) => chip(one, data, act)));
  having(picker, { role: "group", "aria-label": "Passage whose citation is masked" });
  const note = `Pick the citation to mask${given.some((one) => !one.cited) ? "; dashed: no sentence cites it" : ""}.`;
  const list = element("div", "passages", ...data.passages.map((one) => passage(one, data, act)));
  // A few stand beside the head, many below it.
  if (given.length <= 8) head.append(picker);
  return element("section", "evidence", head, element("p", "note", note), given.length > 8 ? picker : null, list);
}

function passage(one, data, act) {
  const own = one.number === data.passage;
  const tags = [own && one.cited && "its citation is masked", !one.given && "not given to the writer", one.given && !one.cited && "cited by no sentence"].filter(Boolean);
  const title = element("div", "title", one.title ? element("b", "", one.title) : null, ...tags.map((tag) => element("span", "tag", tag)));
  const body = element("div", "", title.childNodes.length ? title : null, element("div", "text", one.text));
  const made = element("div", `passage${own ? " masked" : ""}${one.given ? "" : " unused"}`, element("span", "number", `[${one.number}]`), body);
  if (one.given && !own) made.onclick = () => String(getSelection()) || act.passage(one.number);
  return having(made, { "data-number": one.number });
}

// The passages, and the choice of the one whose citation is masked.

function chip(one, data, act) {
  const made = element("button", "pick", `[${one.number}]`);
  made.type = "button";
  made.dataset.passage = one.number;
  made.setAttribute("aria-pressed", String(one.number === data.passage));
  if (!one.cited) made.classList.add("omitted");
  made.title = one.cited ? "mask this citation" : "no sentence cites this passage";
  made.setAttribute("aria-label", `Passage ${one.number}${one.cited ? "" : ", which no sentence cites"}`);
  made.onclick = () => act.passage(one.number);
  return made;
}

function evidence(data, act) {
  const made = element("section", "evidence"), head = element("div", "head");
  const given = data.passages.filter((one) => one.given);
  head.append(element("h2", "", "Evidence"));
  const picker = element("div", `picker${given.length > 12 ? " many" : ""}`);
  picker.setAttribute("role", "group");
  picker.setAttribute("aria-label", "Passage whose citation is masked");
  picker.append(...given.map((one) => chip(one, data, act)));
  if (given.length <= 8) head.append(picker);
  made.append(head, element("p", "note", `Pick the citation to mask${given.some((one) => !one.cited) ? "; dashed: no sentence cites it" : ""}.`));
  if (given.length > 8) made.append(picker);
  const list = element("div", "passages");
  list.append(...data.passages.map((one) => passage(one, data, act)));
  made.append(list);
  return made;
}

function passage(one, data, act) {
  const own = one.number === data.passage, made = element("div", `passage${own ? " masked" : ""}${one.given ? "" : " unused"}`);
  made.dataset.number = one.number;
  const body = element("div"), title = element("div", "title");
  if (one.title) title.append(element("b", "", one.title));
  const tags = [own && one.cited && "its citation is masked", !one.given && "not given to the writer", one.given && !one.cited && "cited by no sentence"];
  for (const tag of tags.filter(Boolean)) title.append(element("span", "tag", tag));
  if (title.childNodes.length) body.append(title);
  body.append(element("div", "text", one.text));
  made.append(element("span", "number", `[${one.number}]`), body);
  if (one.given && !own) made.onclick = () => String(getSelection()) || act.passage(one.number);
  return made;
}

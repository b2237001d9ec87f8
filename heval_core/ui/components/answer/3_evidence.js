// Under the answer: explainers, the three checks, the documents painted with the sources, and the matrix.

function drawMethods(data, view, chosen, act) {
  const made = having(element("div", "methods"), { role: "group", "aria-label": "Explainers" });
  const words = chosen ? wordsIn(data, chosen) : [], nothing = words.length === 1 && words[0].source === "memory"; // then no choice means anything
  const first = (method) => (chosen && !nothing ? firstChoice(data, method, chosen) : null);
  const counts = {};
  for (const method of data.methods) { const one = first(method); if (one && one.place !== null && !method.against) counts[nameOf(one)] = (counts[nameOf(one)] ?? 0) + 1; }
  const most = Object.keys(counts).sort((a, b) => counts[b] - counts[a])[0];
  data.methods.forEach((method, place) => {
    const cell = button("", "", method.key === view.method, () => act.method(method.key));
    cell.dataset.key = method.key;
    const small = element("small");
    if (method.refused) small.append("cannot: hover for why");
    else if (!method.values) small.append(method.running ? "computing …" : data.status && method.planned ? "waits" : data.static ? "not computed" : method.waits);
    else {
      const one = first(method), name = one && element("em", one.place !== null && nameOf(one) !== most ? "other" : "", shortName(one));
      small.append(name ?? `${method.seconds.toFixed(1)} s`);
    }
    cell.title = [method.about, method.refused, method.values ? `${method.seconds.toFixed(2)} s by itself, ${method.passes} passes beyond what others had run; by ${method.unit}.` : "", place < 9 ? `Key ${place + 1}.` : ""].filter(Boolean).join(" ");
    cell.append(element("b", "", method.title), small);
    made.append(cell);
  });
  return made;
}

// Each ✓, ✗ or –: [passed or null, text, how it was found].
function checks(data, method, chosen) {
  const sentence = sentenceAt(data, chosen[0]), mine = firstChoice(data, method, chosen);
  if (!mine || !sentence) return [];
  const found = deleted(data, mine, chosen), copied = copiedFrom(data, sentence, chosen), number = data.sentences.indexOf(sentence) + 1, list = [];
  const right = copied.from.some((one) => mine.document === one.document && (mine.place === null || mine.place === one.place));
  if (copied.from.length) list.push([right, right ? "points at what is copied" : "points elsewhere", `Around what is selected the answer’s sentence ${number} shares ${copied.run} words in a row with ${copied.from.map(inWords).join(" and ")}.`]);
  else list.push([null, "no five words copied, so nothing to check", `No sentence of a document shares ${COPIED} words in a row with the answer’s sentence ${number} around what is selected.`]);
  if (found) {
    const { changed, others, elsewhere, lost } = found, share = (part) => `${Math.round(part * 100)} %`;
    const holds = others ? changed > 2 * elsewhere : null, shorter = holds === false && changed > 0 ? "deleting others changes it as much" : "answer changes when it is deleted";
    list.push([holds, changed > 0 ? shorter : "answer stays when it is deleted", `Without this explainer’s first choice the words here lose ${nats(lost)} nats, and ${share(changed)} of the model’s tokens change; without other sentences of its length (${others}) ${share(elsewhere ?? 0)}.`]);
  }
  const base = (one) => one.key.split("(")[0], first = (one) => data.methods.find((own) => own.values && base(own) === base(one)); // variants of one explainer count once
  const others = data.methods.filter((other) => !other.against && base(other) !== base(method) && first(other) === other).map((other) => firstChoice(data, other, chosen)).filter((one) => one && one.place !== null);
  const agree = others.filter((one) => nameOf(one) === nameOf(mine)).length;
  if (others.length && mine.place !== null) list.push([agree * 2 > others.length, `agrees with ${agree} of ${others.length} others`, "Explainers above with the same first choice for what is selected."]);
  if (found && found.next !== null) list.push([found.lost > Math.max(0, found.next), found.lost > Math.max(0, found.next) ? "beats the rest of its document" : "no better than its document", `Its loss is ${nats(found.lost)} nats; of the other sentences of that document the largest is ${nats(found.next)}.`]);
  return list;
}

function drawChecks(data, method, chosen) {
  const found = (chosen ? checks(data, method, chosen) : []).map(([passed, text, title]) => {
    const [kind, sign] = passed === null ? ["open", "– "] : passed ? ["yes", "✓ "] : ["no", "✗ "];
    return having(element("span", kind, sign, element("b", "", text)), { title, tabindex: 0 });
  });
  return element("div", "checks", ...(found.length ? [element("p", "", "about this trace, not about truth:")] : []), ...found);
}

function drawDocuments(data, method, chosen, act) {
  const made = element("div", "documents"), known = chosen && knows(data, method, chosen);
  const sentences = known ? bySentence(data, method, chosen) : [];
  const mine = known && firstChoice(data, method, chosen);
  const largest = Math.max(...sentences.map((one) => one.value), method?.nats ? 1 : 1e-9); // next to nothing is not dark
  const sums = known && method.unit !== "document" && method.unit !== "sentence" ? summedOver(data, method, chosen) : null;
  const tokens = sums ? tokenScores(data, method, sums) : null, strongest = tokens ? Math.max(...tokens, 1e-9) : 1;
  data.documents.forEach((document, number) => {
    const block = element("section", `document ${hueOf(number)}`), head = element("p", "head");
    head.append(element("b", "", `document ${number + 1}`), ...(document.name ? [element("span", "", document.name)] : []));
    if (mine?.document === number) head.append(mine.place === null ? "first choice" : `first choice: its sentence ${mine.place + 1}`);
    const left = sentences.filter((one) => one.document === number && one.value === null).length, over = !data.status && data.sentences.some((one) => one.citations);
    if (left && over && left === document.sentences.length) head.append(having(element("span", "", "not needed: no more than chance"), { title: "Without it no word and no sentence of the answer loses more than by a text about something else: its sentences were not left out." }));
    else if (left && over) head.append(having(element("span", "", `${left} of ${document.sentences.length} sentences not left out`), { title: "Of many sentences only those are left out that a quick explainer puts among the first four, and five to compare them with." }));
    if (known && number === 0) head.append(element("span", "unit", method.nats ? "nats lost" : "score"));
    block.append(head);
    document.sentences.forEach(([start, end], place) => {
      const own = sentences.find((one) => one.document === number && one.place === place), share = own ? Math.max(0, own.value) / largest : 0;
      const [look, indent] = document.looks[place], line = element("div", `line ${look}`), text = having(element("span", "text"), { role: "button", tabindex: 0, dir: "auto", "data-at": `${number}.${place}` }); // a button cannot break over lines
      text.onclick = () => act.source(number, place);
      text.onkeydown = (event) => { if (!["Enter", " "].includes(event.key)) return; event.preventDefault(); text.click(); };
      text.style.setProperty("--share", share.toFixed(3));
      if (mine && mine.document === number && mine.place === place) text.classList.add("first");
      if (indent) text.style.marginInlineStart = `${indent}ch`;
      const put = look === "row" ? cells(text) : (token, mark) => text.append(mark ? mark(token) : token);
      const last = end - [...data.tokens.slice(start, end)].reverse().findIndex((token) => token.trim()) - 1; // then white space
      for (let index = start; index <= Math.min(last, end - 1); index += 1) {
        const strength = tokens ? Math.max(0, tokens[index]) / strongest : 0;
        const word = index === last ? data.tokens[index].trimEnd() : data.tokens[index], token = index === start ? word.trimStart() : word;
        put(token, strength >= 0.12 && ((part) => { const mark = element("i", "", part); mark.style.setProperty("--share", strength.toFixed(2)); return mark; }));
      }
      const together = Boolean(sums) && method.unit === "token" && method.units.filter(([from, to]) => to - from === 1 && from >= start && from < end).length < end - start;
      text.classList.toggle("together", together);
      text.title = `Document ${number + 1}, sentence ${place + 1}: which words of the answer rest on it${together ? ". Its tokens were not looked at one by one" : ""}`;
      const value = element("span", share > 0.5 ? "value most" : "value", own && own.value !== null ? amount(method, own.value) : "");
      value.style.setProperty("--share", share.toFixed(3));
      line.append(text, value);
      block.append(line);
    });
    made.append(block);
  });
  return made;
}

// What puts tokens into the cells of a table's row. Behind its line there are only signs, such as the rule under a head.
function cells(text) {
  let cell = text, behind = false;
  return (token, mark) => token.split(/([|\t\n])/).forEach((part) => {
    behind ||= part === "\n";
    text.classList.toggle("ruled", behind);
    if (behind || !part) return;
    if (part === "|" || part === "\t") { text.classList.add("cells"); cell = element("span"); text.append(cell); }
    else if (part.trim() || cell.childNodes.length) cell.append(mark ? mark(part) : part);
  });
}

// (prompt tokens,) what each token has. Of tokens that were scored only together nothing is said.
function tokenScores(data, method, sums) {
  const scores = new Array(data.tokens.length).fill(0);
  method.units.forEach(([start, end], unit) => { if (method.unit !== "token" || end - start === 1) for (let index = start; index < end; index += 1) scores[index] = sums[unit] / (end - start); });
  return scores;
}

const STRONG = 8; // nats: a document that gives less is drawn paler

// Answer sentences × documents, in nats lost without the document: the level that is known first.
function drawMatrix(data, chosen, act) {
  const title = element("h2", "", "Sentence by document");
  if (!data.sentences.some((one) => one.by_document)) return element("div", "matrix", title);
  const heads = data.documents.map((_, number) => element("th", hueOf(number), element("i"), `doc. ${number + 1}`));
  const table = element("table", "", element("tr", "", element("th", "", "answer"), ...heads));
  table.style.minWidth = `${104 + 54 * heads.length}px`;
  const largest = Math.max(...data.sentences.flatMap((one) => one.by_document ?? [0]), STRONG);
  data.sentences.forEach((sentence, number) => {
    const on = chosen && chosen[0] === sentence.start && chosen[1] === sentence.end;
    const row = element("tr", on ? "on" : "", element("td", "name", `${number + 1} ${sentence.text.trim().slice(0, 24)}…`));
    data.documents.forEach((_, document) => {
      const value = sentence.by_document?.[document], known = value !== undefined, inside = button("", known ? nats(value) : "…", null, () => act.cite(number, document));
      having(inside, { "data-name": `${number}.${document}`, "aria-label": `Sentence ${number + 1}, document ${document + 1}: ${known ? `${nats(value)} nats` : "not known yet"}` });
      const cell = element("td", `${hueOf(document)}${value > largest / 2 ? " most" : ""}`, inside);
      cell.style.setProperty("--share", known ? Math.max(0, value / largest).toFixed(3) : 0);
      row.append(cell);
    });
    table.append(row);
  });
  return element("div", "matrix", title, element("div", "scroll", table));
}

function drawTry(data, source, asking, act) {
  if (data.static || data.given || !data.documents.length) return element("div");
  const without = (number) => data.without?.document === number && data.without.sentence === null;
  const units = data.documents.map((_, number) => button("", number ? String(number + 1) : "document 1", without(number), () => act.change({ document: number })));
  const other = button("ask", "Another question", asking, () => act.asking()), hint = "Or click a sentence of a document, to change it or leave it out.";
  const edit = asking ? drawQuestion(data, act) : source ? drawEdit(data, source, act) : element("p", "hint", hint);
  return element("div", "try", element("h2", "", "Try without"), element("p", "", "Writes the answer again, before and after side by side."), element("div", `units${units.length > 6 ? " many" : ""}`, ...units), other, edit);
}

// A text that can be changed, with what is done then.
function drawChange(title, text, change, ...more) {
  const typed = having(element("textarea", "", text), { rows: 3, "aria-label": title, dir: "auto" });
  const changed = () => { const now = typed.value.trim(); if (now && now !== text) change(now); else typed.focus(); };
  return element("div", "edit", element("p", "", title), typed, element("div", "units", button("", "Try it changed", null, changed), ...more));
}

const drawQuestion = (data, act) => drawChange("The question", data.question, (text) => act.change({ document: null, text }));

// The sentence that was clicked: what is typed stands in its place.
function drawEdit(data, [document, place], act) {
  const [start, end] = data.documents[document].sentences[place], own = data.tokens.slice(start, end).join("").trim();
  const without = button("", "without it", null, () => act.change({ document, sentence: place }));
  return drawChange(`Sentence ${place + 1} of document ${document + 1}`, own, (text) => act.change({ document, sentence: place, text }), without);
}

// Before and after side by side, the words that changed marked.
function drawWithout(without, back) {
  const sides = [["before", without.before], ["after", without.after]].map(([title, words]) =>
    element("div", "", element("b", "", title), element("p", "", ...words.map(([word, changed]) => element(changed ? "mark" : "span", "", word)))));
  const head = element("p", "head", element("b", "", without.title), ` ${without.said}`, button("free", without.done === null ? "back" : "Stop", null, back)), bar = element("i");
  bar.style.width = `${Math.round((without.done ?? 0) * 100)}%`;
  return element("div", "without", head, ...(without.done === null ? [] : [element("div", "progress", bar)]), element("div", "pair", ...sides));
}

// The answer: its words are buttons, with a bar each that says what the word rests on.

function legend(data) {
  const entry = (hue, text) => element("span", hue, element("i"), text);
  const documents = data.documents.slice(0, 6).map((_, number) => entry(hueOf(number), number ? String(number + 1) : "document 1"));
  if (data.documents.length > 6) documents.push(entry("d0", `${data.documents.length > 7 ? `7 to ${data.documents.length}` : "7"}, with their number`));
  return element("div", "legend", ...documents, entry("memory", "memory"), entry("unclear", "unclear"));
}

// "waste, 5.5 nats without document 1"
function said(data, word) {
  const text = [word.nowhere ?? word.text.trim(), word.differs].filter(Boolean).join(", ");
  if (!word.source) return text;
  if (word.source === "memory") return `${text}, from memory or the question: the model would say this without your documents`;
  if (word.source === "unclear") return `${text}, unclear: no document alone gives it`;
  return `${text}, ${nats(word.nats)} nats without ${word.source}`;
}

// A word with the bar of its source.
function barred(made, word) {
  const document = word.source?.startsWith("document") ? Number(word.source.slice(9)) - 1 : null;
  made.className = `word ${document === null ? (word.source ?? "waits") : hueOf(document)}${word.nowhere ? " nowhere" : ""}${word.differs ? (word.differs.startsWith("rests") ? " moved" : " only") : ""}`;
  if (document !== null && document >= 6) made.dataset.number = document + 1;
  made.style.setProperty("--bar", word.nats === null ? 0 : Math.min(1, (Math.max(0, word.nats) / 8) ** 0.6).toFixed(3));
  return [/^\s/.test(word.text) ? " " : "", made];
}

// Answers that open at once, each with its first words.
function drawCards(groups) {
  return groups.flatMap(([title, cards]) => [element("h2", "", title), element("div", "cards", ...cards.map((card) => {
    const words = card.words.flatMap((word) => barred(element("span", "", word.text.trim()), word)), foot = element("span", "foot", element("span", "", card.about), element("span", "", card.found));
    return having(element("a", "soft card", element("b", "", `${card.title}\u00a0→`), element("span", "question", card.question), element("span", "said", ...words, card.cut ? " …" : ""), foot), { href: `?result=${card.id}` });
  }))]);
}

function drawWords(data, act) {
  const made = having(element("div", "said"), { role: "group", "aria-label": "The answer", dir: "auto" });
  const spans = data.sentences.length ? data.sentences : [{ start: 0, end: Infinity, citations: null }];
  spans.forEach((sentence, number) => {
    const line = having(element("span", "sentence"), { "data-start": sentence.start, "data-end": sentence.end });
    for (const word of data.words.filter((one) => one.start >= sentence.start && one.start < sentence.end)) {
      if (word.breaks) (line.childElementCount ? line : made).append(element("span", word.breaks > 1 ? "break paragraph" : "break"));
      const one = button("", word.text.trim(), false, null);
      having(one, { "data-start": word.start, "data-end": word.end, tabindex: -1, "aria-label": said(data, word), title: said(data, word) });
      const [space, drawn] = barred(one, word);
      if (word.look) one.classList.add(word.look);
      line.append(word.breaks || word.look === "code" || word.look === "row" ? element("span", "gap", word.space) : space, drawn);
    }
    if (sentence.citations && data.documents.length) line.append(...drawCitations(data, sentence, number, act));
    line.append(...(sentence.nowhere ?? []).map((lacks) => element("span", "cite wrong", lacks)));
    made.append(line, " ");
  });
  return made;
}

// What is chosen has a frame: a sentence as a whole, else its words. Words that do not rest on a chosen source fade.
function markWords(root, data, chosen, source, method) {
  for (const line of root.querySelectorAll(".sentence")) {
    const whole = Boolean(chosen) && chosen[0] <= Number(line.dataset.start) && chosen[1] >= Number(line.dataset.end);
    line.classList.toggle("chosen", whole);
    for (const one of line.querySelectorAll(".word")) {
      const span = [Number(one.dataset.start), Number(one.dataset.end)];
      const on = Boolean(chosen) && span[0] < chosen[1] && span[1] > chosen[0];
      one.classList.toggle("chosen", on && !whole);
      one.setAttribute("aria-pressed", String(on));
      const first = source && !one.classList.contains("memory") && firstChoice(data, method, span);
      one.classList.toggle("faded", Boolean(source) && !(first && first.document === source[0] && (first.place === null || first.place === source[1])));
    }
  }
}

// Computed, never written by the model; but what it cites itself, and does not need, is named.
function drawCitations(data, sentence, number, act) {
  const text = wordsIn(data, [sentence.start, sentence.end]).map((word) => word.text).join("");
  const written = [...text.matchAll(/\[(\d[\d, ]*)\]/g)].flatMap((found) => found[1].split(",").map(Number));
  const wrong = [...new Set(written)].filter((one) => data.documents[one - 1]?.sentences.length && !sentence.citations.some((citation) => citation.document === one));
  const named = wrong.map((one) => having(element("span", "cite wrong", `[${one}] not needed`), { title: `The answer cites document ${one} here, but the model does not need it: the sentence loses ${nats(sentence.by_document[one - 1])} nats without it, and not by a word of its own more than without a text about something else.` }));
  if (!sentence.citations.length) return [element("span", "cite none", "no single document"), ...named];
  return sentence.citations.slice(0, 3).map((citation) => {
    const made = button(`cite ${hueOf(citation.document - 1)}`, `[${citation.document}] `, null, () => act.cite(number, citation.document - 1));
    made.append(element("small", "", nats(citation.nats)));
    return having(made, { title: `Sentence ${number + 1} loses ${nats(citation.nats)} nats without document ${citation.document}; documents that say nothing of it lose up to ${nats(citation.level)}${(citation.spread ?? null) === null ? "" : ` ± ${nats(citation.spread)}`}.` });
  }).concat(named);
}

// "13 of 39 words rest on document 1, 21 on memory, 5 unclear", as `resting` of Python has it; nothing where not all is known.
function resting(words) {
  const all = words.filter((one) => plain(one.text).length).map((one) => one.source), many = (source) => all.filter((one) => one === source).length;
  const each = all.includes(null) ? [] : [...new Set(all)].sort((one, other) => "dmu".indexOf(one[0]) - "dmu".indexOf(other[0]) || many(other) - many(one));
  return each.map((source, place) => `${many(source)}${place ? "" : ` of ${all.length} words${source === "unclear" ? "" : many(source) === 1 ? " rests" : " rest"}`} ${source === "unclear" ? "" : "on "}${source}`).join(", ");
}

// What is chosen, in a sentence: of several words first what each rests on.
function readOut(data, method, chosen, act) {
  const made = having(element("div", "read"), { "aria-live": "polite" }), text = element("span");
  if (!chosen) {
    const memory = data.documents.length && data.words.every((one) => one.source === "memory") ? "No document changes this answer. " : "";
    made.append(element("span", "hint", data.words.length ? `${memory}Click a word to see what it rests on. Drag or hold Shift for several; a double click takes the sentence.` : "The answer appears here."));
    return made;
  }
  const words = wordsIn(data, chosen), sentence = data.sentences.find((one) => one.start === chosen[0] && one.end === chosen[1]);
  const name = sentence && words.length > 1 ? `Sentence ${data.sentences.indexOf(sentence) + 1}` : words.length === 1 ? `“${words[0].text.trim()}”` : `“${words[0].text.trim()} … ${words.at(-1).text.trim()}”`;
  made.append(element("b", "", name), text);
  const [first, second] = choices(data, method, chosen), of = method?.nats || "is its score", word = words.length === 1 ? words[0] : null, shares = word ? "" : resting(words);
  if (shares) text.append(`${shares}. `);
  if (!knows(data, method, chosen)) {
    text.append(method?.against ? `${method.title}, compares one word alone. Choose another explainer above.` : method?.values?.length ? `${method.title} scored whole sentences: a double click takes one. ` : "not computed yet.");
    if (method?.values?.length && !data.static && !data.status) text.append(button("ask", words.length > 1 ? "Explain these words" : "Explain this word", null, () => act.part(method.key, chosen)));
  }
  else if (!method.against && (word?.source === "memory" || word?.source === "unclear")) {
    text.append(word.source === "memory" ? "rests on memory, or the question: the model would say this without your documents." : "is unclear: no document alone gives it.", first && word.source === "unclear" ? ` ${method.title} points at ${inWords(first)} with ${amount(method, first.value)}.` : "");
  }
  else if (!first) text.append("Nothing in the documents speaks for it.");
  else if (!firstChoice(data, method, chosen)) text.append(word?.source ? `rests on ${word.source}: ${nats(word.nats)} nats lost without it. ` : "", "No sentence alone gives it.");
  else {
    const own = `document ${first.document + 1}`, weak = shares && !words.some((one) => one.source === own), verb = word?.source === own ? "rests on " : `${shares ? "It l" : "l"}eans most on `;
    const about = [weak ? "weakly: none of its words does" : "", method.against ? `against “${method.against}”` : ""].filter(Boolean).join("; ");
    text.append(method.nats ? verb : `${method.title.split(",")[0]} points at `, element("b", "", inWords(first)), about && ` (${about})`, `: ${amount(method, first.value)} ${of}.`);
    if (second && amount(method, second.value) !== "0") text.append(` Next is ${inWords(second)} with ${amount(method, second.value)}.`);
  }
  const before = (word ?? sentence)?.said_before;
  if (before !== null && before !== undefined && before > 0.005) text.append(` ${Math.round(before * 100)} % of it follows from the answer’s own beginning.`);
  if (word?.probability < 1e-12) text.append(" The model would never have written it.");
  const rival = word?.rival && `against(${word.start})`;
  if (rival && !data.methods.some((one) => one.key === rival)) text.append(` Of the documents’ words “${word.rival}” was next. `, ...(data.static || data.status ? [] : [button("ask", `Why not ${word.rival}?`, null, () => act.against(word.start))]));
  if (word && !data.static && !data.status && !data.given) text.append(" ", button("ask", "Look inside this word", null, () => act.inside(word.start)));
  made.append(button("free", "Esc", null, () => act.choose(null)));
  return made;
}

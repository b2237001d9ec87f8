// The answer: its words are buttons, with a bar each that says where the word comes from.

function legend(data) {
  const entry = (hue, text) => element("span", hue, element("i"), text);
  const documents = data.documents.map((_, number) => entry(hueOf(number), number ? String(number + 1) : "document 1"));
  return element("div", "legend", ...documents, entry("memory", "memory"), entry("unclear", "unclear"));
}

// "waste, 5.5 nats without document 1"
function said(data, word) {
  const text = word.text.trim();
  if (!word.source) return text;
  if (word.source === "memory") return `${text}, from memory or the question: it is said without any document too`;
  if (word.source === "unclear") return `${text}, unclear: no document alone gives it`;
  return `${text}, ${nats(word.nats)} nats without ${word.source}`;
}

// A word with the bar of its source.
function barred(made, word) {
  const document = word.source?.startsWith("document") ? Number(word.source.slice(9)) - 1 : null;
  made.className = `word ${document === null ? (word.source ?? "waits") : hueOf(document)}`;
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
  const made = having(element("div", "said"), { role: "group", "aria-label": "The answer" });
  const spans = data.sentences.length ? data.sentences : [{ start: 0, end: Infinity, citations: null }];
  spans.forEach((sentence, number) => {
    const line = having(element("span", "sentence"), { "data-start": sentence.start, "data-end": sentence.end });
    for (const word of data.words.filter((one) => one.start >= sentence.start && one.start < sentence.end)) {
      if (word.breaks) (line.childElementCount ? line : made).append(element("span", word.breaks > 1 ? "break paragraph" : "break"));
      const one = button("", word.text.trim(), false, null);
      having(one, { "data-start": word.start, "data-end": word.end, tabindex: -1, "aria-label": said(data, word), title: said(data, word) });
      line.append(...barred(one, word));
    }
    if (sentence.citations && data.documents.length) line.append(...drawCitations(data, sentence, number, act));
    made.append(line, " ");
  });
  return made;
}

// What is chosen has a frame: a sentence as a whole, else its words. Words that do not come from a chosen source fade.
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
  const wrong = [...new Set(written)].filter((one) => data.documents[one - 1] && !sentence.citations.some((citation) => citation.document === one));
  const named = wrong.map((one) => having(element("span", "cite wrong", `[${one}] adds nothing`), { title: `The answer cites document ${one} here, but the sentence loses ${nats(sentence.documents[one - 1])} nats without it: no more than without a text about something else, or at most ${nats(WEAK)}.` }));
  if (!sentence.citations.length) return [element("span", "cite none", "no single source"), ...named];
  return sentence.citations.slice(0, 3).map((citation) => {
    const made = button(`cite ${hueOf(citation.document - 1)}`, `[${citation.document}] `, null, () => act.cite(number, citation.document - 1));
    made.append(element("small", "", nats(citation.nats)));
    return having(made, { title: `Sentence ${number + 1} loses ${nats(citation.nats)} nats without document ${citation.document}; documents that say nothing of it lose up to ${nats(citation.level)}.` });
  }).concat(named);
}

// What is chosen, in a sentence.
function readOut(data, method, chosen, act) {
  const made = having(element("div", "read"), { "aria-live": "polite" }), text = element("span");
  if (!chosen) {
    const memory = data.documents.length && data.words.every((one) => one.source === "memory") ? "No document changes this answer. " : "";
    made.append(element("span", "hint", data.words.length ? `${memory}Click a word to see where it comes from. Drag or hold Shift for several; a double click takes the sentence.` : "The answer appears here."));
    return made;
  }
  const words = wordsIn(data, chosen), sentence = data.sentences.find((one) => one.start === chosen[0] && one.end === chosen[1]);
  const name = sentence && words.length > 1 ? `Sentence ${data.sentences.indexOf(sentence) + 1}` : words.length === 1 ? `“${words[0].text.trim()}”` : `“${words[0].text.trim()} … ${words.at(-1).text.trim()}”`;
  made.append(element("b", "", name), text);
  const [first, second] = choices(data, method, chosen), of = method?.nats || "is its score", word = words.length === 1 ? words[0] : null;
  if (!knows(data, method, chosen)) {
    text.append(method?.against ? `${method.title}, compares one word alone. Choose another explainer above.` : method?.values?.length ? `${method.title} scored whole sentences: a double click takes one. ` : "not computed yet.");
    if (method?.values?.length && !data.static && !data.status) text.append(button("ask", words.length > 1 ? "Explain these words" : "Explain this word", null, () => act.part(method.key, chosen)));
  }
  else if (!first) text.append("nothing in the documents speaks for it.");
  else if (!method.against && (word?.source === "memory" || word?.source === "unclear")) {
    text.append(word.source === "memory" ? "is from memory, or the question: it would be said without any document too." : "is unclear: no document alone gives it.", ` ${method.title} points at ${nameOf(first)} with ${amount(method, first.value)}.`);
  }
  else if (!firstChoice(data, method, chosen)) text.append(word?.source ? `is from ${word.source}: ${nats(word.nats)} nats lost without it. ` : "", "No sentence alone gives it.");
  else {
    text.append(method.against ? `rather than “${method.against}” ` : "", method.nats ? "comes from " : `${method.title} points at `, element("b", "", inWords(first)), first.place === null ? "" : ` (${nameOf(first)})`, `: ${amount(method, first.value)} ${of}.`);
    if (second && amount(method, second.value) !== "0") text.append(` Next is ${nameOf(second)} with ${amount(method, second.value)}.`);
  }
  const spelt = words.filter((one) => plain(one.text).length), shares = spelt.length > 1 && spelt.every((one) => one.source) ? [...new Set(spelt.map((one) => one.source))].sort() : [];
  if (shares.length) text.append(` Its ${spelt.length} words: ${shares.map((source) => `${spelt.filter((one) => one.source === source).length} ${source === "unclear" ? source : `from ${source}`}`).join(", ")}.`);
  const before = word ? word.before : sentence?.before;
  if (before !== null && before !== undefined && before > 0.005) text.append(` ${Math.round(before * 100)} % rests on what the answer had already said.`);
  if (word?.probability < 1e-12) text.append(" The model would never have written it.");
  const rival = word?.rival && `against(${word.start})`;
  if (rival && !data.methods.some((one) => one.key === rival)) text.append(` Of the documents’ words “${word.rival}” was next. `, ...(data.static || data.status ? [] : [button("ask", `Why not ${word.rival}?`, null, () => act.against(word.start))]));
  made.append(button("free", "Esc", null, () => act.choose(null)));
  return made;
}

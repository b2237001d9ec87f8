// What the reader has chosen, summed: scores are linear, so that a word, a span and a sentence come from one matrix.

const nats = (value) => written(value, Math.abs(value) >= 100 ? 0 : 1);
// Scores that are no nats may be small.
const amount = (method, value) => (method.nats ? nats(value) : Math.abs(value) < 0.0005 ? "0" : written(value, Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(Math.abs(value)))))));

// From document 7 on a document has no hue of its own, only its number.
const hueOf = (number) => (number === null ? "" : number < 6 ? `d${number + 1}` : "d0");

// Words of a span of answer tokens [start, end).
const wordsIn = (data, [start, end]) => data.words.filter((word) => word.start < end && word.end > start);
const sentenceAt = (data, token) => data.sentences.find((sentence) => sentence.start <= token && token < sentence.end);

// Whole sentences have the white space behind them, which belongs to no word.
function widened(data, span) {
  const words = wordsIn(data, span), [first, last] = [words[0], words.at(-1)].map((word) => word && sentenceAt(data, word.start));
  return first && words.length > 1 && wordsIn(data, [first.start, last.end]).length === words.length ? [first.start, last.end] : span;
}

// A method's columns [from, to) for a span of answer tokens. One that scores whole sentences has one column for each.
function columnsOf(data, method, [start, end]) {
  if (!method?.values?.length) return null;
  if (method.columns !== "sentence") return [start, end];
  const whole = data.sentences.map((one, place) => [one, place]).filter(([one]) => one.start >= start && one.end <= end).map(([, place]) => place);
  return whole.length && data.sentences[whole[0]].start === start && data.sentences[whole.at(-1)].end === end ? [whole[0], whole.at(-1) + 1] : null;
}
// Of other tokens such a method says something once it was asked.
const partOf = (method, [start, end]) => method?.parts?.find(([from, to]) => from === start && to === end)?.[2];
const knows = (data, method, span) => columnsOf(data, method, span) !== null || partOf(method, span) !== undefined;
function summedOver(data, method, span) {
  const part = partOf(method, span);
  if (part) return part;
  const [from, to] = columnsOf(data, method, span);
  return method.values.map((row) => row.slice(from, to).reduce((sum, value) => sum + value, 0));
}

// Every sentence of the documents with what its units sum to, in the documents' order.
function bySentence(data, method, span) {
  const sums = summedOver(data, method, span), found = [];
  data.documents.forEach((document, number) => {
    document.sentences.forEach(([start, end], place) => {
      let value = method.unit === "sentence" && method.units.every(([from, to]) => to <= start || from >= end) ? null : 0; // it was not left out
      method.units.forEach(([from, to], unit) => {
        const shared = Math.min(to, end) - Math.max(from, start);
        if (shared > 0) value += (sums[unit] * shared) / (to - from);
      });
      found.push({ document: number, place, start, end, value });
    });
  });
  return found;
}

// Its strongest sentences, first choice first. By whole documents there are no sentences to choose from.
function choices(data, method, span) {
  if (!knows(data, method, span)) return [];
  const each = method.unit !== "document" ? bySentence(data, method, span) : summedOver(data, method, span).map((value, document) => ({ document, place: null, value }));
  return each.filter((one) => one.value > 0).sort((one, other) => other.value - one.value);
}
// The first of them, unless that is next to nothing.
const WEAK = 0.3; // nats, as for a word without a source
const firstChoice = (data, method, span) => choices(data, method, span).slice(0, 1).find((one) => !method.nats || one.value >= WEAK);
const shortName = (choice) => (choice.place === null ? `document ${choice.document + 1}` : `doc. ${choice.document + 1}, sentence ${choice.place + 1}`);
const nameOf = (choice) => (choice.place === null ? `${choice.document + 1}` : `${choice.document + 1}.${choice.place + 1}`);
const inWords = (choice) => (choice.place === null ? `document ${choice.document + 1}` : `document ${choice.document + 1}, sentence ${choice.place + 1}`);

// What deleting a sentence does to a span, and others nearly as long, at most OTHERS: as `sources.verdict` has it.
const OTHERS = 5;
function deleted(data, choice, span) {
  const left = data.methods.find((one) => one.changed), sentences = data.documents[choice.document].sentences;
  const mine = left?.units.findIndex(([start]) => start === sentences[choice.place]?.[0]) ?? -1;
  if (mine < 0) return null;
  const mean = (list) => (list.length ? list.reduce((sum, value) => sum + value, 0) / list.length : null), lost = summedOver(data, left, span);
  const changed = left.changed.map((row) => mean(row.slice(...span))), gap = left.units.map(([start, end]) => Math.abs(end - start - left.units[mine][1] + left.units[mine][0]));
  const rest = left.units.map((_, unit) => unit).filter((unit) => unit !== mine), others = [...rest].sort((one, other) => gap[one] - gap[other]).slice(0, OTHERS);
  const beside = rest.filter((unit) => left.units[unit][0] >= sentences[0][0] && left.units[unit][1] <= sentences.at(-1)[1]).map((unit) => lost[unit]);
  return { lost: lost[mine], changed: changed[mine], others: others.length, elsewhere: mean(others.map((unit) => changed[unit])), next: beside.length ? Math.max(...beside) : null };
}

const plain = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

// The sentences of documents that a selection is copied from: around it the answer's sentence shares most words in a row with them.
const COPIED = 5; // at least
function copiedFrom(data, sentence, [start, end]) {
  const said = plain(sentence.text), inside = data.words.filter((word) => word.start >= sentence.start && word.end <= sentence.end);
  const before = (token) => plain(inside.filter((word) => word.start < token).map((word) => word.text).join("")).length;
  const [from, to] = [before(start), before(end)];
  let copied = { run: COPIED, from: [] };
  data.documents.forEach((document, number) => document.sentences.forEach(([start, end], place) => {
    const words = plain(data.tokens.slice(start, end).join("")), run = longestRun(said, words, from, to);
    if (run > copied.run) copied = { run, from: [] };
    if (run === copied.run) copied.from.push({ document: number, place });
  }));
  return copied;
}

// Of the runs that have a word from `from` to `to`.
function longestRun(one, other, from, to) {
  let longest = 0, before = new Array(other.length + 1).fill(0);
  one.forEach((word, at) => {
    const row = other.map((own, place) => (own === word ? before[place] + 1 : 0));
    for (const run of row) if (at >= from && at - run + 1 < to) longest = Math.max(longest, run);
    before = [0, ...row];
  });
  return longest;
}

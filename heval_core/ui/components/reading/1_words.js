// Words and marks that all parts of the reading surface share.

const GLYPHS = { "\n": "⏎", "\t": "⇥", "\r": "␍", "\u0000": "␀", "\u202e": "⟲", "\u00a0": "⍽" };
const NEGATIVE = "#1F6FB5", POSITIVE = "#D95F02";
// A score below this share of the strongest is next to nothing: its frame is dashed.
const FAINT = 0.02;

function shown(token) {
  if (token === "") return "·";
  return Array.from(token, (c) => GLYPHS[c] ?? c).join("");
}

function ordinal(rank) {
  if (rank === null || rank === undefined) return "–";
  if (!Number.isInteger(rank)) return String(rank);
  const tens = rank % 100, ones = rank % 10;
  const ending = tens > 10 && tens < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[ones] ?? "th";
  return `${rank}${ending}`;
}

// Two significant digits.
const brief = (value) => written(value, Math.abs(value) >= 10 ? 0 : Math.abs(value) >= 1 ? 1 : 2);
const signed = (value) => (value < 0 ? brief(value) : `+${brief(value)}`);

function isNegative(row, index) {
  return row.signed && row.scores[index] < 0 && Math.abs(row.scores[index]) > row.largest * FAINT;
}

const isFaint = (row, index) => Math.abs(row.scores[index]) < row.largest * FAINT;

// A BOS, a chat template, solved examples, and what the model said before its answer are shown, but never ranked.
const isRanked = (data, index) => index >= data.first_ranked && !(index >= data.ranked_end);

// A line ends after a run of line breaks, not after each of them: empty lines would only take room.
function endsLine(data, index) {
  const next = data.tokens[index + 1];
  return data.tokens[index].includes("\n") && (next === undefined || next.trim() !== "" || !next.includes("\n"));
}

function nameOf(data, row, index) {
  return `${row.title} ${ordinal(row.ranks[index])}, score ${row.raw[index].toPrecision(2)}`;
}

// What a screen reader says of a token, and what the read-out shows of it.
function spoken(data, view, index) {
  const parts = [`${data.level} ${index + 1} of ${data.tokens.length}: ${shown(data.tokens[index]).trim()}`];
  if (data.gold.includes(index)) parts.push("answer");
  if (data.mentions?.[index]) parts.push(data.mentions[index][1]);
  if (!isRanked(data, index)) parts.push("not ranked");
  else for (const row of painted(data, view)) parts.push(nameOf(data, row, index));
  return parts.join(", ");
}

// The rows that are listed: the picked set, or the first six methods; and those that are painted.
const methods = (data) => data.rows.filter((row) => !row.control);
function listed(data, view) {
  const picked = data.rows.filter((row) => view.drawn.includes(row.key) || row.picked);
  return view.drawn.length ? picked : [...methods(data).slice(0, 6), ...data.rows.filter((row) => row.picked && !methods(data).slice(0, 6).includes(row))];
}
function painted(data, view) {
  const rows = view.painted.map((key) => data.rows.find((row) => row.key === key)).filter(Boolean);
  return rows.length ? rows.slice(0, 2) : data.rows.slice(0, 1);
}
function byRank(rows) {
  return [...rows].sort((one, other) => (one.rank ?? Infinity) - (other.rank ?? Infinity));
}

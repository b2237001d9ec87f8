// Text mode: one explainer painted on the running text; or two, side by side.

function blockBox(block) {
  const folded = block.kind === "layout", box = element(folded ? "details" : "div", `block ${block.kind}${block.used ? " used" : ""}`);
  if (block.caption) box.append(element(folded ? "summary" : "div", "caption", block.caption, ...(block.used ? [" · ", element("b", "", "used")] : [])));
  return box;
}

function answerChip(data) {
  return element("span", "answered", element("span", "answer", data.answer.text), element("span", "from", ` ${data.answer.share} · ${data.answer.from}`));
}

// A token in an explainer's colours. positive: the hue of what speaks for the answer. power: by which weak scores are paler.
function painting(made, data, row, view, index, positive, power) {
  const strength = isRanked(data, index) ? row.strength[index] : 0, hue = row.signed && row.scores[index] < 0 ? NEGATIVE : positive;
  made.style.cssText = `--hue: ${hue}; --tint: ${Math.round(100 * strength ** power)}; --bar: ${Math.round(3 * strength * strength)}`;
  made.classList.toggle("negative", isNegative(row, index));
  if (!row.top[view.k].includes(index)) return made;
  made.classList.add("top", ...(isFaint(row, index) ? ["faint"] : []));
  return having(made, { "data-rank": row.ranks[index] });
}

// What a token is in both modes: a button with its place, its name, and what it is of.
function tokenOf(data, view, index, made) {
  made.classList.toggle("gold", data.gold.includes(index));
  made.classList.toggle("unranked", !isRanked(data, index));
  // What an intervention found of this mention of the answer stands below its first token.
  if (data.mentions?.[index]) having(made, { "data-mention": data.mentions[index][0], title: data.mentions[index][1] });
  return having(made, { "data-index": index, tabindex: -1, role: "button", "aria-label": spoken(data, view, index) });
}

// The white space before a token stays unpainted, so that words look like words.
function textToken(data, block, row, view, index) {
  const text = shown(data.tokens[index]), word = text.trimStart();
  const made = tokenOf(data, view, index, element("span", "t", word || text));
  if (row) painting(made, data, row, view, index, row.color, 1.5);
  return word && word !== text && index > block.start ? [text.slice(0, text.length - word.length), made] : [made];
}

function drawText(data, view) {
  const rows = painted(data, view);
  const columns = element("div", rows.length > 1 ? "columns two" : "columns");
  // Of an answer that no explainer was run on, the text alone.
  for (const row of rows.length ? rows : [null]) {
    const column = element("div", "column", rows.length > 1 ? element("div", "head", swatch(row), element("b", "", row.title), ` ${ordinal(row.rank)}`) : null);
    data.blocks.forEach((block, number) => {
      const box = blockBox(block), text = element("div", "prompt");
      for (let index = block.start; index < block.end; index++) {
        text.append(...textToken(data, block, row, view, index));
        if (endsLine(data, index)) text.append(element("br"));
      }
      if (number === data.blocks.length - 1) text.append(" ", answerChip(data));
      box.append(text);
      column.append(box);
    });
    columns.append(column);
  }
  return columns;
}

function swatch(row) {
  return having(element("span", row.control ? "swatch control" : "swatch"), { style: `--hue: ${row.color}` });
}

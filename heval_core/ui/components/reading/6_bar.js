// Above the prompt: how it is painted, and the read-out of the token that is pointed at.

function segments(label, options, held, act) {
  const made = element("div", "segments", ...options.map(([value, text]) => button("", text, value === held, () => act(value))));
  return having(made, { role: "group", "aria-label": label });
}

const labelled = (text, control) => element("span", "labelled", element("span", "label", text), control);

function drawBar(data, view, act) {
  const list = element("div", "menu",
    button("toggle", "Split: two explainers side by side", view.painted.length > 1, () => act.split()),
    button("toggle", "Controls in the rows", view.controls, () => act.set({ controls: !view.controls })),
    element("div", "label", "Keys: arrows move, [ ] previous and next, t text or rows, 1–9 paint, k frames, g units, h heads, Esc lets go"),
  );
  const more = element("details", "more", element("summary", "", "more"), list);
  more.open = act.moreOpen;
  more.ontoggle = () => { act.moreOpen = more.open; };
  return element("div", "bar",
    segments("How the explainers are drawn", [["text", "Text"], ["rows", "Rows"]], view.mode, (mode) => act.set({ mode })),
    labelled("frame the best", segments("How many are framed", data.ks.map((k) => [k, String(k)]), view.k, (k) => act.set({ k }))),
    labelled("by", segments("What is scored as one", data.levels.map((level) => [level, level]), view.level, (level) => act.set({ level, pin: null }))),
    more,
  );
}

function readOut(box, data, view, index, free) {
  if (index === null || index >= data.tokens.length) {
    box.replaceChildren(element("span", "hint", `Point at a ${data.level} for its ranks; click to keep it.`));
    return;
  }
  const parts = [element("b", "", `“${shown(data.tokens[index]).trim()}”`), element("span", "where", `${data.level} ${index + 1} of ${data.tokens.length}`)];
  if (!isRanked(data, index)) parts.push(element("span", "", "not ranked: it is the same in every prompt"));
  else for (const row of byRank(listed(data, view))) {
    const part = element("span", "part", swatch(row), `${row.title} `, element("b", "", ordinal(row.ranks[index])));
    parts.push(having(part, { title: `score ${row.raw[index].toPrecision(3)}, ${(100 * row.share[index]).toFixed(1)} % of all` }));
  }
  if (view.pin === index) parts.push(button("esc", "Esc", null, free));
  box.replaceChildren(...parts);
}

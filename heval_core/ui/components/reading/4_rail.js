// Beside the prompt: where the answer could come from, and the rank that each explainer gives to the answer that was used.

const section = (title, aside, ...content) => element("section", "", element("div", "section-head", element("h3", "", ...title), aside), ...content);

function drawSources(data) {
  const rows = data.sources.map((source) => {
    const about = source.about ? [" ", element("span", "about", source.about)] : [];
    const fill = having(element("span", "fill"), { style: `width: ${Math.round(100 * source.share)}%` });
    const name = element("span", "name", source.label, ...about);
    return element("div", source.used ? "source used" : "source", name, element("span", "text", source.answer), element("span", "track", fill), element("span", "number", source.percent));
  });
  return section(["Where could the answer come from?"], null, element("div", "sources", ...rows));
}

const share = (data, rank) => (100 * Math.log(Math.max(1, rank))) / Math.log(Math.max(2, data.ranked));
const position = (data, rank) => `${share(data, rank)}%`;

function rankLine(data, view, row) {
  const line = element("span", "ranks");
  for (const [name, rank] of [["best", view.k], ["chance", data.chance]]) {
    if (rank !== null) line.append(having(element("span", name), { style: `left: ${position(data, rank)}` }));
  }
  if (row.rank !== null) {
    const stem = element("span", "stem"), dot = element("span", row.control ? "dot diamond" : row.picked ? "dot hollow" : "dot");
    stem.style.width = dot.style.left = position(data, row.rank);
    if (!row.control) line.append(stem);
    line.append(dot);
  }
  return line;
}

function rankRow(data, view, row, number, act) {
  const told = row.rank === null ? "" : `, ranks the answer ${ordinal(row.rank)} of ${data.ranked}`;
  const made = button(row.control ? "rank control" : "rank", null, null, (event) => act.paint(row.key, event.shiftKey));
  made.append(element("span", "ring"), element("span", "name", row.title), rankLine(data, view, row), element("span", "number", ordinal(row.rank)));
  if (number < 9) made.setAttribute("aria-keyshortcuts", String(number + 1));
  const spokenOf = { role: "radio", "aria-checked": painted(data, view).includes(row), "aria-label": `Paint ${row.title}${told}` };
  return having(made, { ...spokenOf, title: row.about, "data-key": row.key, style: `--hue: ${row.color}` });
}

function rankOrder(data, view, all) {
  const first = listed(data, view), rest = all ? methods(data).filter((row) => !first.includes(row)) : [];
  return [...byRank([...first, ...rest]), ...data.rows.filter((row) => row.control)];
}

function rankAxis(data, view) {
  const chance = data.chance === null ? [] : [[data.chance, `chance ${brief(data.chance)}`]], apart = (rank) => chance.every(([other]) => Math.abs(share(data, rank) - share(data, other)) > 25);
  const labels = [[1, "1"], [view.k, String(view.k)]].filter(([rank]) => apart(rank)).concat(chance).map(([rank, text]) => having(element("span", "", text), { style: `left: ${position(data, rank)}` }));
  return element("div", "axis", element("span"), element("span"), element("span", "scale", ...labels));
}

function drawRanks(data, view, all, act) {
  if (!data.rows.length) return section(["No explainer was run on this answer"]);
  const hint = having(element("span", "hint", "click to paint"), { title: "Shift and click paints a second one beside it" });
  const made = section(data.used ? ["Rank of ", element("i", "", data.answer.text)] : ["Paint an explainer"], hint);
  if (!data.used) made.append(element("p", "note", "The answer came from no document here, so no token is its source."));
  const list = having(element("div", "list"), { role: "radiogroup", "aria-label": "The explainer that is painted on the prompt" });
  rankOrder(data, view, all).forEach((row, number) => {
    const one = rankRow(data, view, row, number, act);
    if (!all || row.control || row.picked) { list.append(one); return; }
    const box = having(element("input"), { type: "checkbox", "aria-label": `${row.title} belongs to the picked set` });
    box.checked = listed(data, view).includes(row);
    box.onchange = () => act.pick(row.key, box.checked);
    list.append(element("div", "pair", box, one));
  });
  made.append(list);
  if (data.used) made.append(rankAxis(data, view));
  const hidden = methods(data).filter((row) => !row.picked && !listed(data, view).includes(row)).length;
  if (hidden > 0 || all) made.append(button("link", all ? "Only the picked ones" : `${hidden} more`, null, () => act.all(!all)));
  return made;
}

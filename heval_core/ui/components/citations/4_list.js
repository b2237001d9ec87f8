// The drawer: a page of the claims under the filters.

function drawer(list, shown, act) {
  const made = element("nav", "list");
  made.setAttribute("aria-label", "Claims");
  made.append(element("b", "count", `${list.count.toLocaleString("en")} explanations`));
  for (const row of list.rows) {
    const line = element("button", "entry");
    line.type = "button";
    line.dataset.id = row.id;
    if (row.id === shown) line.setAttribute("aria-current", "true");
    line.append(element("span", "subject", row.claim), element("span", "quiet", `${row.verdict ?? ""} · ${row.writer}`));
    line.onclick = () => act.open(row.id);
    made.append(line);
  }
  const turn = element("div", "turns"), last = Math.min(list.count, list.first + list.rows.length - 1);
  for (const [step, text, there] of [[-1, "‹", list.page > 1], [1, "›", list.page < list.pages]]) {
    const button = element("button", "turn", text);
    button.type = "button";
    button.disabled = !there;
    button.dataset.turn = step;
    button.setAttribute("aria-label", step < 0 ? "Earlier claims" : "Later claims");
    button.onclick = () => act.page(list.page + step);
    turn.append(button);
  }
  turn.insertBefore(element("span", "", `${list.count ? list.first : 0}–${last} of ${list.count.toLocaleString("en")}`), turn.lastChild);
  made.append(turn);
  made.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], rows = [...made.querySelectorAll(".entry")];
    const here = rows.indexOf(made.getRootNode().activeElement);
    if (!step || here < 0 || !rows[here + step]) return;
    event.preventDefault();
    rows[here + step].focus();
  };
  return made;
}

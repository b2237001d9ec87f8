// A page of a list: of each row a title and what is said of it; of an instance also the rank of the answer by two explainers.

function ranks(row) {
  const track = element("span", "track");
  for (const { rank, color } of row.ranks) {
    if (rank === null) continue;
    const dot = element("span", "dot");
    dot.style.setProperty("--hue", color);
    dot.style.left = `${(100 * Math.log(rank)) / Math.log(Math.max(2, row.tokens))}%`;
    track.append(dot);
  }
  return track;
}

function line(data, row, send) {
  const made = element("button", `row${row.ranks ? " ranked" : ""}`), title = element("span", "subject", row.title), about = element("span", "answer", row.about);
  made.type = "button";
  made.dataset.id = row.id;
  if (row.id === data.shown) made.setAttribute("aria-current", "true");
  if (row.ranks) {
    const told = row.ranks.map((rank) => rank.rank ?? "–").join(" · ");
    made.append(title, ranks(row), about, element("span", "told", told));
    made.setAttribute("aria-label", `${row.title}, answer ${row.about}, ranks ${told}`);
  } else made.append(title, about);
  made.onclick = () => send(`open ${row.id}`);
  return made;
}

function legend(data) {
  const made = element("div", "legend", "rank of the answer: ");
  for (const one of data.legend) {
    const swatch = element("span", "swatch");
    swatch.style.setProperty("--hue", one.color);
    made.append(swatch, `${one.title} `);
  }
  return made;
}

function foot(data, send) {
  const last = Math.min(data.count, data.first + data.rows.length - 1);
  const made = element("div", "foot"), where = element("span", "", `${data.count ? data.first : 0}–${last} of ${data.count.toLocaleString("en")}`);
  const [back, on] = [[-1, "‹", data.page > 1], [1, "›", data.page < data.pages]].map(([step, text, there]) => {
    const turn = button("turn", text, null, () => send(`page ${data.page + step}`));
    turn.disabled = !there;
    turn.dataset.id = `turn ${step}`;
    turn.setAttribute("aria-label", `${step < 0 ? "Earlier" : "Later"} ${data.what}`);
    return turn;
  });
  made.append(back, where, on);
  return made;
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const host = parentElement.querySelector(".host"), focused = () => host.getRootNode().activeElement;
  const send = (what) => setTriggerValue("asked", what);
  const held = host.contains(focused()) ? focused().dataset.id : null;
  const list = element("nav", "list");
  list.setAttribute("aria-label", data.what);
  list.append(...(data.legend.length ? [legend(data)] : []), ...data.rows.map((row) => line(data, row, send)), foot(data, send));
  host.replaceChildren(list);
  if (held) [...host.querySelectorAll("button")].find((button) => button.dataset.id === held)?.focus();
  host.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], rows = [...host.querySelectorAll(".row")], here = rows.indexOf(focused());
    if (!step || here < 0 || !rows[here + step]) return;
    event.preventDefault();
    rows[here + step].focus();
  };
}

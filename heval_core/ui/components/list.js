// A page of a list: of each row a title and what is said of it; of an instance also the answer's rank by two explainers.

function ranks(row) {
  const track = element("span", "track");
  for (const { rank, color } of row.ranks) {
    const left = (100 * Math.log(rank)) / Math.log(Math.max(2, row.tokens));
    if (rank !== null) track.append(having(element("span", "dot"), { style: `--hue: ${color}; left: ${left}%` }));
  }
  return track;
}

function line(data, row, send) {
  const made = button(`row${row.ranks ? " ranked" : ""}`, null, null, () => send(`open ${row.id}`));
  having(made, { "data-id": row.id, ...(row.id === data.shown && { "aria-current": true }) });
  made.append(element("span", "subject", row.title), ...(row.ranks ? [ranks(row)] : []), element("span", "answer", row.about));
  if (!row.ranks) return made;
  const told = row.ranks.map((rank, at) => `${data.legend[at].title} ${rank.said}`).join(" · ");
  made.append(element("span", "told", told));
  return having(made, { "aria-label": `${row.title}, answer ${row.about}, ranks ${told}` });
}

function legend(data) {
  const swatch = (color) => having(element("span", "swatch"), { style: `--hue: ${color}` });
  return element("div", "legend", "Rank of the answer: ", ...data.legend.flatMap((one) => [swatch(one.color), `${one.title} `]));
}

function foot(data, send) {
  const last = Math.min(data.count, data.first + data.rows.length - 1);
  const where = element("span", "", `${data.count ? data.first : 0}–${last} of ${data.count.toLocaleString("en")}`);
  const [back, on] = [[-1, "‹", data.page > 1], [1, "›", data.page < data.pages]].map(([step, text, there]) => {
    const turn = button("turn", text, null, () => send(`page ${data.page + step}`));
    turn.disabled = !there;
    return having(turn, { "data-id": `turn ${step}`, "aria-label": `${step < 0 ? "Earlier" : "Later"} ${data.what}` });
  });
  return element("div", "foot", back, where, on);
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component, host = parentElement.querySelector(".host");
  const send = (what) => setTriggerValue("asked", what);
  const list = element("nav", "list", data.legend.length ? legend(data) : null, ...data.rows.map((row) => line(data, row, send)), foot(data, send));
  redraw(host, having(list, { "aria-label": data.what }));
  host.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], rows = [...host.querySelectorAll(".row")], here = rows.indexOf(host.getRootNode().activeElement);
    if (!step || here < 0 || !rows[here + step]) return;
    event.preventDefault();
    rows[here + step].focus();
  };
}

// The token grid: the prompt wraps, and one row per explainer wraps with it, token under token.
// Every text of the data goes through textContent.

const GLYPHS = { "\n": "⏎", "\t": "⇥", "\r": "␍", "\u0000": "␀", "\u202e": "⟲", "\u00a0": "⍽" };
const NEGATIVE = "#3B7FC4", POSITIVE = "#E07B00", NAMES = 78, PADDING = 15;

function shown(token) {
  if (token === "") return "·";
  return Array.from(token, (c) => GLYPHS[c] ?? c).join("");
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function ruler(host, dense) {
  const [size, least, room] = dense ? [12, 5, 1] : [15, 13, 5];
  const context = document.createElement("canvas").getContext("2d");
  const font = getComputedStyle(host).fontFamily;
  return (text, bold) => {
    context.font = `${bold ? 600 : 400} ${size}px ${font}`;
    return Math.max(least, Math.ceil(context.measureText(text).width) + room);
  };
}

function legend(data) {
  const box = element("div", "legend");
  for (const row of data.rows) {
    const item = element("span", "item");
    const swatch = element("span", "swatch");
    swatch.style.background = row.signed ? `linear-gradient(90deg, ${NEGATIVE}, transparent, ${POSITIVE})` : `linear-gradient(90deg, transparent, ${row.color})`;
    swatch.style.outline = `1.5px solid ${row.color}`;
    const name = row.title.toLowerCase() === row.short ? row.title : `${row.title} (${row.short})`;
    item.append(swatch, element("span", "", row.note ? `${name} · ${row.note}` : name));
    box.append(item);
  }
  return box;
}

function key(data) {
  const signs = data.rows.some((row) => row.signed) ? "Orange speaks for the answer, hatched blue against it; " : "";
  const gold = "underlined: the answer's words in the document that was used, dotted in the other.";
  const text = `${signs}the stronger, the larger the score; framed: the ${data.k} best; ${gold}`;
  return element("div", "key", text[0].toUpperCase() + text.slice(1));
}

function cell(row, index) {
  const made = element("div", "cell");
  const score = row.scores[index];
  made.style.setProperty("--hue", row.signed ? (score < 0 ? NEGATIVE : POSITIVE) : row.color);
  made.style.setProperty("--strength", String(Math.round(92 * row.strength[index])));
  if (row.signed && score < 0 && Math.abs(score) > row.largest / 50) made.classList.add("negative");
  if (row.top.includes(index)) made.classList.add("top");
  return made;
}

function describe(data, index) {
  const parts = [element("span", "word", `${index}: “${shown(data.tokens[index])}”`)];
  if (data.gold.includes(index)) parts.push(element("span", "", "gold answer token"));
  if (index < data.first_ranked) parts.push(element("span", "", "not ranked"));
  for (const row of data.rows) {
    const part = element("span");
    const dot = element("span", "dot");
    dot.style.background = row.color;
    const rank = row.ranks[index] === null ? "–" : row.ranks[index];
    part.append(dot, `${row.title} ${row.raw[index].toPrecision(3)} · rank ${rank} · ${(100 * row.share[index]).toFixed(1)} %`);
    parts.push(part);
  }
  return parts;
}

function token(data, block, index, width) {
  const made = element("div", "token");
  made.dataset.index = index;
  made.tabIndex = -1;
  made.setAttribute("role", "button");
  made.setAttribute("aria-label", `token ${index}: ${shown(data.tokens[index])}`);
  made.style.width = `${width}px`;
  if (data.gold.includes(index)) made.classList.add("gold");
  if (block.used) made.classList.add("used");
  if (index < data.first_ranked) made.classList.add("unranked");
  made.append(element("div", "word", shown(data.tokens[index])));
  for (const row of data.rows) made.append(cell(row, index));
  return made;
}

function lines(data, block, available, measure) {
  const out = [[]];
  let used = 0;
  for (let index = block.start; index < block.end; index++) {
    const width = Math.min(available, measure(shown(data.tokens[index]), data.gold.includes(index)));
    if (used + width > available && out.at(-1).length) { out.push([]); used = 0; }
    out.at(-1).push([index, width]);
    used += width;
    if (data.tokens[index].includes("\n")) { out.push([]); used = 0; }
  }
  return out.filter((line) => line.length);
}

function draw(host, data) {
  const grid = element("div", data.dense ? "grid dense" : "grid");
  const measure = ruler(host, data.dense);
  const available = Math.max(220, Math.min(host.clientWidth || 900, 1500) - NAMES - PADDING - 4);
  grid.append(legend(data), key(data));
  const detail = element("div", "detail", `Point at a ${data.level ?? "token"}, or move with the arrow keys, for its scores and ranks; click to keep it.`);
  detail.setAttribute("aria-live", "polite");
  grid.append(detail);
  for (const block of data.blocks) {
    const box = element("div", `block ${block.kind}${block.used ? " used" : ""}`);
    if (block.caption) box.append(element("div", "caption", block.caption));
    for (const line of lines(data, block, available, measure)) {
      const row = element("div", "line");
      const names = element("div", "names");
      names.append(element("div", "word", ""));
      for (const explainer of data.rows) names.append(element("div", "name", explainer.short));
      row.append(names);
      for (const [index, width] of line) row.append(token(data, block, index, width));
      box.append(row);
    }
    grid.append(box);
  }
  host.replaceChildren(grid);
  const first = grid.querySelector(".token");
  if (first) first.tabIndex = 0;
  return { grid, detail };
}

function interact(view, data, press) {
  let pinned = null;
  let byKeyboard = false; // a token that only slid under a resting pointer was not pointed at
  const at = (index) => view.grid.querySelector(`.token[data-index="${index}"]`);
  const show = (index) => {
    view.grid.querySelectorAll(".token.lit").forEach((t) => t.classList.remove("lit"));
    at(index)?.classList.add("lit");
    view.detail.replaceChildren(...describe(data, index));
  };
  const indexOf = (event) => {
    const found = event.target.closest?.(".token");
    return found ? Number(found.dataset.index) : null;
  };
  view.grid.onmouseover = (event) => { const i = indexOf(event); if (i !== null && pinned === null && !byKeyboard) show(i); };
  view.grid.onmousemove = (event) => { if (event.movementX || event.movementY) byKeyboard = false; };
  view.grid.addEventListener("focusin", (event) => { const i = indexOf(event); if (i !== null) show(i); });
  view.grid.onclick = (event) => {
    const i = indexOf(event);
    if (i === null) return;
    view.grid.querySelectorAll(".token.pinned").forEach((t) => t.classList.remove("pinned"));
    pinned = pinned === i ? null : i;
    if (pinned !== null) at(i).classList.add("pinned");
    show(i);
  };
  view.grid.onkeydown = (event) => {
    const i = indexOf(event);
    if ("kg[]".includes(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      press(event.key);
      return;
    }
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (i === null) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); view.grid.onclick(event); return; }
    if (!step) return;
    event.preventDefault();
    byKeyboard = true;
    const next = at(i + step);
    if (next) { at(i).tabIndex = -1; next.tabIndex = 0; next.focus(); }
  };
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const host = parentElement.querySelector(".host");
  // Streamlit 1.67 calls this again for new data without cleaning up what the last call returned, so that call's observer
  // would draw its old data over these as soon as the width changes. The host therefore keeps the one that is in force.
  host.watching?.disconnect();
  let width = 0;
  const render = () => {
    if (host.clientWidth === width) return;
    width = host.clientWidth;
    interact(draw(host, data), data, (key) => setTriggerValue("pressed", key));
  };
  render();
  const observer = host.watching = new ResizeObserver(render);
  observer.observe(host);
  return () => observer.disconnect();
}

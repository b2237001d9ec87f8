// Layers down, heads across; a square per head, coloured by how much it speaks for the answer over its competitor.

const NEGATIVE = "#3B7FC4", POSITIVE = "#E07B00";

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

function square(data, layer, head, largest) {
  const value = data.strengths[layer][head], name = `L${layer}H${head}`;
  const made = element("button", "square");
  made.type = "button";
  made.dataset.name = name;
  made.style.setProperty("--hue", value < 0 ? NEGATIVE : POSITIVE);
  made.style.setProperty("--strength", String(Math.round(95 * Math.abs(value) / largest)));
  const role = name === data.chosen ? ", chosen by MechLight" : name === data.runner_up ? ", runner-up" : "";
  made.setAttribute("aria-label", `${name}: ${signed(value)}${role}`);
  made.setAttribute("aria-pressed", String(name === data.shown));
  made.title = `${name}: ${signed(value)}${role}`;
  made.tabIndex = name === data.shown ? 0 : -1;
  if (value < 0) made.classList.add("negative");
  if (name === data.chosen) made.classList.add("chosen");
  if (name === data.runner_up) made.classList.add("runner");
  return made;
}

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const host = parentElement.querySelector(".host");
  const map = element("div", "map");
  const largest = Math.max(1e-9, ...data.strengths.flat().map(Math.abs));
  const sums = data.strengths.map((row) => row.reduce((a, b) => a + b, 0));
  const longest = Math.max(1e-9, ...sums.map(Math.abs));
  const top = element("div", "row");
  top.append(element("span", "side", ""), ...data.strengths[0].map((_, head) => element("span", "head", `H${head}`)));
  map.append(top);
  data.strengths.forEach((values, layer) => {
    const row = element("div", "row");
    row.append(element("span", "side", `L${layer}`), ...values.map((_, head) => square(data, layer, head, largest)));
    const sum = element("span", "sum");
    sum.style.width = `${Math.round(50 * Math.abs(sums[layer]) / longest)}px`;
    sum.style.background = sums[layer] < 0 ? NEGATIVE : POSITIVE;
    row.append(sum, element("span", "total", signed(sums[layer])));
    map.append(row);
  });
  const note = element("div", "note", "");
  note.setAttribute("aria-live", "polite");
  map.append(note);
  host.replaceChildren(map);
  const at = (layer, head) => map.querySelector(`.square[data-name="L${layer}H${head}"]`);
  map.onclick = (event) => {
    const name = event.target.closest?.(".square")?.dataset.name;
    if (name) setStateValue("head", name);
  };
  const tell = (event) => {
    const found = event.target.closest?.(".square");
    if (found) note.textContent = found.getAttribute("aria-label");
  };
  map.addEventListener("mouseover", tell);
  map.addEventListener("focusin", tell);
  map.onkeydown = (event) => {
    const name = event.target.closest?.(".square")?.dataset.name;
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!name || !step) return;
    event.preventDefault();
    const [layer, head] = name.slice(1).split("H").map(Number);
    const next = at(layer + step[0], head + step[1]);
    if (next) { event.target.tabIndex = -1; next.tabIndex = 0; next.focus(); }
  };
}

// MechLight's heads: layers down, heads across, a square per head, coloured by how much it speaks for the answer.

function square(heads, layer, head, largest) {
  const value = heads.strengths[layer][head], name = `L${layer}H${head}`;
  const role = name === heads.chosen ? ", chosen by MechLight" : name === heads.runner_up ? ", runner-up" : "";
  const text = `${name}: ${signed(value)} logits ${heads.side}${role}`;
  const classes = { square: true, negative: value < 0, chosen: name === heads.chosen, runner: name === heads.runner_up, most: heads.need?.most.includes(name) };
  const style = `--hue: ${value < 0 ? NEGATIVE : POSITIVE}; --tint: ${Math.round((100 * Math.abs(value)) / largest)}`;
  const said = { title: text, "aria-label": text, "aria-pressed": name === heads.picked, tabindex: name === (heads.picked || heads.chosen) ? 0 : -1 };
  return having(element("button", Object.keys(classes).filter((own) => classes[own]).join(" ")), { type: "button", "data-name": name, style, ...said });
}

function headMap(heads, act) {
  const layers = heads.strengths.length, across = heads.strengths[0].length;
  const largest = Math.max(1e-9, ...heads.strengths.flat().map(Math.abs));
  const sums = heads.strengths.map((row) => row.reduce((a, b) => a + b, 0));
  const longest = Math.max(1e-9, ...sums.map(Math.abs));
  const map = having(element("div", "map"), { style: `--across: ${across}; --tall: ${layers > 14 ? 16 : 29}px`, role: "group", "aria-label": "Heads; arrow keys move, Enter picks" });
  const every = Math.ceil(across / 8), down = Math.ceil(layers / 12);
  map.append(element("span", ""), ...heads.strengths[0].map((_, head) => element("span", "across", head % every ? "" : `H${head}`)), element("span", "sums", "layer sum, logits"));
  heads.strengths.forEach((values, layer) => {
    map.append(element("span", "layer", layer % down ? "" : `L${layer}`), ...values.map((_, head) => square(heads, layer, head, largest)));
    const bar = having(element("span", sums[layer] < 0 ? "bar negative" : "bar"), { style: `width: ${Math.round((52 * Math.abs(sums[layer])) / longest)}%` });
    map.append(element("span", "sum", bar, element("span", "number", signed(sums[layer]))));
  });
  map.onclick = (event) => { const name = event.target.closest?.(".square")?.dataset.name; if (name) act.head(name); };
  map.onkeydown = (event) => moveInMap(event, map);
  return map;
}

function moveInMap(event, map) {
  const name = event.target.closest?.(".square")?.dataset.name;
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!name || !step) return;
  event.preventDefault();
  event.stopPropagation();
  const [layer, head] = name.slice(1).split("H").map(Number);
  const next = map.querySelector(`.square[data-name="L${layer + step[0]}H${head + step[1]}"]`);
  if (next) { event.target.tabIndex = -1; next.tabIndex = 0; next.focus(); }
}

function colourScale(heads) {
  const all = heads.strengths.flat(), least = Math.min(0, ...all), most = Math.max(0, ...all);
  const zero = `${(100 * -least) / Math.max(1e-9, most - least)}%`, size = Math.max(-least, most, 1e-9);
  const bar = having(element("div", "gradient"), { style: `--zero: ${zero}; --low: ${(100 * -least) / size}%; --high: ${(100 * most) / size}%` });
  const apart = -least / Math.max(1e-9, most - least) > 0.16;
  return element("div", "colours", bar, ends([["0%", apart ? brief(least) : ""], [zero, "0"], ["100%", signed(most)]]));
}

// Numbers below a scale, at these places.
const ends = (labels) => element("div", "ends", ...labels.map(([left, text]) => having(element("span", "", text), { style: `left: ${left}` })));

function drawHeads(heads, act) {
  const ask = heads.can_ask ? button("link", "does the answer need it?", null, () => act.ask("need")) : null;
  const made = section(["MechLight’s head"], ask);
  const told = pieces("p", "note", heads.told);
  if (heads.picked) told.append(" ", button("link", `Back to ${heads.chosen}`, null, () => act.head("")));
  const need = heads.need ? [drawNeed(heads)] : [], map = [headMap(heads, act), element("div", "map-foot", colourScale(heads), element("span", "side", heads.side))];
  const refused = heads.refused ? [element("p", "note refused", heads.refused)] : [];
  made.append(element("div", "told", told, ...need, ...refused), element("div", "drawn", ...map)); // a tall map would hide it
  return having(made, { class: "heads" });
}

// A dot per head, by what the answer's lead loses when that head writes nothing at the last token.
function drawNeed(heads) {
  const need = heads.need, every = need.lost.map(([, lost]) => lost), least = Math.min(0, ...every), most = Math.max(0.01, ...every);
  const at = (lost) => `${(96 * (lost - least)) / (most - least) + 2}%`;
  const dots = need.lost.flatMap(([name, lost]) => {
    const kind = name === heads.chosen ? " chosen" : name === heads.picked ? " picked" : need.most.includes(name) ? " most" : "";
    const dot = having(element("span", `mark${kind}`), { style: `left: ${at(lost)}`, title: `${name}: ${signed(lost)}` });
    const label = element("span", lost > (least + most) / 2 ? "label before" : "label", name);
    return name === (heads.picked || heads.chosen) ? [dot, having(label, { style: `left: ${at(lost)}` })] : [dot];
  });
  const strip = element("div", "strip", having(element("span", "zero"), { style: `left: ${at(0)}` }), ...dots);
  const scale = ends([[at(least), signed(least)], [at(most), signed(most)]]);
  const key = "logits of the lead lost without what a head writes at the last token; dashed: none; ringed in the map: the most";
  return having(element("div", "need", pieces("p", "note", need.told), strip, scale, element("p", "note small", key)), { tabindex: -1 });
}

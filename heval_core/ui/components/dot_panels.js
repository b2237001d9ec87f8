// Explainers as rows, panels as columns: dots with intervals on one axis. What stands where was computed before, in percent.

const TALL = 44, THIN = 30, CONTROL = 24, GAP = 12, AXIS = 34;

// A place on the axis: inside it, pixels count from there.
const place = (parent, at, y) => draw(parent, "svg", { x: `${at}%`, y });

function dot(parent, mark, row, rim, back) {
  const size = mark.sign ? 8.5 : 7;
  draw(parent, "circle", { r: size, fill: row.color, stroke: rim, "stroke-width": 1 });
  if (mark.hollow) draw(parent, "circle", { r: size - 2.9, fill: back, stroke: rim, "stroke-width": 0.6 });
  if (!mark.sign) return;
  const ink = mark.hollow ? "var(--st-text-color)" : row.ink;
  draw(parent, "text", { class: "sign", y: 3.8, style: `fill:${ink}` }, mark.sign);
}

function tick(parent, mark, row, rim, back) {
  draw(parent, "rect", { x: -2.5, y: -5, width: 5, height: 10, rx: 1.2, fill: row.color, stroke: rim, "stroke-width": 0.8 });
  if (mark.hollow) draw(parent, "rect", { x: -1, y: -3.4, width: 2, height: 6.8, fill: back });
}

function arrow(parent, side) {
  draw(parent, "path", { class: "beyond", d: side < 0 ? "M-1,0 l9,-5 v10 z" : "M1,0 l-9,-5 v10 z" });
}

function methodSlot(svg, slot, row, y, tall, data) {
  const { rim, picked } = data, middle = tall ? y + 16 : y + THIN / 2;
  for (const mark of slot.dots) {
    draw(svg, "line", { class: "whisker", x1: `${mark.low}%`, x2: `${mark.high}%`, y1: middle, y2: middle });
  }
  if (slot.dots.length > 1) {
    const ends = slot.dots.map((mark) => mark.at);
    const line = { x1: `${Math.min(...ends)}%`, x2: `${Math.max(...ends)}%`, y1: middle, y2: middle };
    draw(svg, "line", { ...line, stroke: row.color, "stroke-width": 3, "stroke-opacity": 0.55 });
  }
  if (tall) {
    for (const mark of slot.cells) {
      const made = button(place(svg, mark.at, y + 34), mark, 6, picked);
      if (mark.beyond) arrow(made, mark.beyond); else tick(made, mark, row, rim, "var(--back)");
    }
  }
  const apart = overlapping(slot.dots, data.panel_width);
  for (const [index, mark] of [...slot.dots.entries()].reverse()) {
    const made = button(place(svg, mark.at, middle + (apart ? [-4, 6][index] ?? 0 : 0)), mark, 10, picked);
    if (mark.beyond) arrow(made, mark.beyond); else dot(made, mark, row, rim, "var(--back)");
  }
  if (slot.text) number(svg, slot, middle, slot.strong ? "strong" : "");
  if (slot.missing) missing(svg, slot, middle, data);
}

// Two dots that would hide each other's number stand one a little above the other.
function overlapping(dots, width) {
  return dots.length > 1 && Math.abs(dots[0].at - dots[1].at) * width / 100 < 15;
}

function controlSlot(svg, slot, y, data) {
  const middle = y + CONTROL / 2;
  if (slot.dots.length > 1) {
    const ends = slot.dots.map((mark) => mark.at);
    draw(svg, "line", { x1: `${Math.min(...ends)}%`, x2: `${Math.max(...ends)}%`, y1: middle, y2: middle, class: "grid", style: "stroke:var(--quiet)" });
  }
  for (const mark of slot.whiskers ? slot.dots : []) {
    draw(svg, "line", { class: "whisker", x1: `${mark.low}%`, x2: `${mark.high}%`, y1: middle, y2: middle });
  }
  for (const mark of slot.dots) {
    const made = button(place(svg, mark.at, middle), mark, 9, data.picked);
    if (mark.beyond) arrow(made, mark.beyond);
    else draw(made, "path", { class: "control-mark", d: "M0,-5.5 L5.5,0 L0,5.5 L-5.5,0 z" });
  }
  if (slot.labels) for (const label of slot.labels) number(svg, label, middle, "quiet");
  if (slot.missing) missing(svg, slot, middle, data);
}

function number(svg, slot, middle, style) {
  const left = slot.side < 0, above = slot.above ? -6 : 0;
  const at = place(svg, slot.text_at, middle + above);
  const gap = style === "quiet" ? 10 : 14;
  draw(at, "text", { x: left ? -gap : gap, y: 4.5, class: style, "text-anchor": left ? "end" : "start" }, slot.text);
}

function missing(svg, slot, middle, data) {
  const made = button(place(svg, slot.missing.at, middle), slot.missing, 9, data.picked);
  draw(made, "circle", { class: "missing", r: 6.5 });
}

// Where a row's chance is its own, it is dashed through that row.
function chanceOf(svg, at, y, tall) {
  draw(svg, "line", { class: "chance", x1: `${at}%`, x2: `${at}%`, y1: y + 1, y2: y + tall - 1 });
}

function panel(data, column, heights, first) {
  const { rows } = data, box = element("div", "panel");
  const svg = draw(box, "svg", { height: heights.all, role: "group", "aria-label": column.title });
  const bottom = heights.bottom;
  const [from, to] = column.below;
  if (to > from) draw(svg, "rect", { class: "below", x: `${from}%`, width: `${to - from}%`, y: 0, height: heights.methods });
  for (const one of data.ticks) {
    draw(svg, "line", { class: "grid", x1: `${one.at}%`, x2: `${one.at}%`, y1: 0, y2: bottom });
    const end = one.at > 97 ? "end" : "middle";
    draw(place(svg, one.at, bottom + 15), "text", { class: "quiet axis", "text-anchor": end, x: end === "end" ? 4 : 0 }, one.text);
  }
  if (column.chance !== null) draw(svg, "line", { class: "chance", x1: `${column.chance}%`, x2: `${column.chance}%`, y1: -6, y2: bottom });
  for (const word of first ? data.words : []) {
    const anchor = word.at > 90 ? "end" : word.at < 8 ? "start" : "middle";
    draw(place(svg, word.at, bottom + 30), "text", { class: "quiet axis", "text-anchor": anchor, x: anchor === "end" ? 6 : 0 }, word.text);
  }
  rows.forEach((row, index) => {
    const slot = column.slots[index], y = heights.tops[index];
    if (slot.chance !== undefined) chanceOf(svg, slot.chance, y, row.control ? CONTROL : heights.tall ? 32 : THIN);
    if (row.control) controlSlot(svg, slot, y, data); else methodSlot(svg, slot, row, y, heights.tall, data);
  });
  return box;
}

function measured(data) {
  const methods = data.rows.filter((row) => !row.control).length;
  const controls = data.rows.length - methods, tall = methods <= data.with_cells;
  const height = tall ? TALL : THIN, end = methods * height + 4, start = end + (controls && methods ? GAP : 0);
  const tops = data.rows.map((row, index) => row.control ? start + 4 + (index - methods) * CONTROL : index * height + 2);
  const bottom = controls ? start + 8 + controls * CONTROL : end;
  return { tall, height, methods: end, start, controls, tops, bottom, all: bottom + AXIS, count: methods };
}

function block(data, columns, perRow, side, first) {
  const heights = measured(data), made = element("div", "block"), top = perRow > 4 && perRow < 7 ? 60 : 42;
  made.style.gridTemplateColumns = `${side}px repeat(${perRow}, minmax(0, 1fr))`;
  for (let index = 1; index < heights.count; index += 1) {
    const line = element("div", "under line");
    line.style.top = `${top + index * heights.height}px`;
    made.append(line);
  }
  if (heights.controls) {
    const band = element("div", "under band");
    band.style.top = `${top + heights.start}px`;
    band.style.height = `${heights.bottom - heights.start}px`;
    made.append(band);
  }
  made.append(element("div", "head"));
  for (const column of columns) {
    const head = element("div", "head");
    head.style.height = `${top}px`;
    head.title = column.hint;
    head.append(element("b", "", column.title), element("small", "", column.note));
    made.append(head);
  }
  for (let index = columns.length; index < perRow; index += 1) made.append(element("div", "head"));
  const names = element("div", "names");
  data.rows.forEach((row, index) => {
    const name = element("div", `name${row.control ? " control" : ""}${heights.tall ? "" : " thin"}`, row.title);
    const middle = row.control ? CONTROL / 2 : heights.tall ? 18 : THIN / 2;
    name.style.top = `${heights.tops[index] + middle}px`;
    name.title = row.hint ? `${row.title}: ${row.hint}` : row.title;
    names.append(name);
  });
  made.append(names, ...columns.map((column, index) => panel(data, column, heights, first && index === 0)));
  return made;
}

function symbol(kind, rim) {
  const svg = document.createElementNS(SVG, "svg");
  const width = { pair: 42, dot: 26, below: 16, missing: 16 }[kind] || 14;
  svg.setAttribute("width", width);
  svg.setAttribute("height", 18);
  const row = { color: "var(--quiet)", ink: "var(--back)" };
  const at = (x) => draw(svg, "svg", { x, y: 9 });
  if (kind === "pair") {
    draw(svg, "line", { x1: 9, x2: 33, y1: 9, y2: 9, stroke: "var(--quiet)", "stroke-width": 3, "stroke-opacity": 0.55 });
    dot(at(9), { sign: "1" }, row, rim, "var(--back)");
    dot(at(33), { sign: "2", hollow: true }, row, rim, "var(--back)");
  }
  if (kind === "dot") {
    draw(svg, "line", { class: "whisker", x1: 0, x2: 26, y1: 9, y2: 9 });
    dot(at(13), {}, row, rim, "var(--back)");
  }
  if (kind === "cell") tick(at(7), {}, row, rim, "var(--back)");
  if (kind === "below") draw(svg, "rect", { x: 0, y: 2, width: 16, height: 14, class: "below", stroke: "var(--line)" });
  if (kind === "control") draw(at(7), "path", { class: "control-mark", d: "M0,-5.5 L5.5,0 L0,5.5 L-5.5,0 z" });
  if (kind === "chance") draw(svg, "line", { class: "chance", x1: 7, x2: 7, y1: 1, y2: 17 });
  if (kind === "missing") draw(at(8), "circle", { class: "missing", r: 6.5 });
  return svg;
}

function legend(data) {
  const made = element("div", "legend");
  for (const one of data.legend) {
    const item = element("span");
    item.append(symbol(one.kind, data.rim), element("span", "", one.text));
    made.append(item);
  }
  made.append(element("span", "last", data.hint));
  return made;
}

// How many panels stand side by side: all if they are wide enough, else the same number in every line.
function inALine(width, side, count) {
  const least = count > 6 ? 112 : count > 4 ? 158 : 196;
  const fit = Math.max(1, Math.min(count, Math.floor((width - side + 22) / (least + 22))));
  return Math.ceil(count / Math.ceil(count / fit));
}

function figure(host, data, width) {
  const longest = Math.max(...data.rows.map((row) => row.title.length), 8);
  const side = Math.min(Math.max(96, longest * 7.4 + 8), width < 640 ? 110 : 170);
  const perRow = inALine(width, side, data.columns.length);
  const shape = `${perRow} ${side}`;
  if (host.shape === shape) return;
  host.shape = shape;
  data.panel_width = (width - side) / perRow - 22;
  const made = element("div", "figure");
  made.append(legend(data));
  for (let start = 0; start < data.columns.length; start += perRow) {
    made.append(block(data, data.columns.slice(start, start + perRow), perRow, side, start === 0));
  }
  show(host, made);
}

// The nearest mark in a direction: to the side in the same line of marks, else in the next line.
function beside(host, from, key) {
  const [x, y] = middleOf(from);
  const aside = key === "ArrowLeft" || key === "ArrowRight", sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = null, least = Infinity;
  for (const mark of host.querySelectorAll(".mark")) {
    const [mx, my] = middleOf(mark), dx = mx - x, dy = my - y;
    const along = sign * (aside ? dx : dy), across = Math.abs(aside ? dy : dx);
    if (mark === from || along <= (aside ? 0 : 6) || (aside && across > 4)) continue;
    const far = aside ? along : along * 20 + across;
    if (far < least) { least = far; best = mark; }
  }
  return best;
}

export default (component) => ofMarks(component, figure, beside);

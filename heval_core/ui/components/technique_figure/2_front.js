// Following against ignoring: points with intervals both ways, the front as a step line, and the line of the blind.

const LEFT = 46, RIGHT = 14, TOP = 10, BOTTOM = 46;

function frontFigure(data, width, height) {
  const box = element("div", "plot");
  const svg = draw(box, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": data.about });
  const ends = { left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
  const x = (value) => ends.left + (value - data.x.low) / (data.x.high - data.x.low) * (ends.right - ends.left);
  const y = (value) => ends.bottom - (value - data.y.low) / (data.y.high - data.y.low) * (ends.bottom - ends.top);
  const ground = draw(svg, "g", { role: "img", "aria-label": data.about });
  const taken = data.points.flatMap((one) => {
    const [px, py] = [x(one.x), y(one.y)];
    return [
      { left: px - 9, right: px + 9, top: py - 9, bottom: py + 9, weight: 3 },
      { left: x(one.x_low), right: x(one.x_high), top: py - 1, bottom: py + 1, weight: 0.4 },
      { left: px - 1, right: px + 1, top: y(one.y_high), bottom: y(one.y_low), weight: 0.4 },
    ];
  });
  axes(ground, data, x, y, ends);
  region(ground, data, x, y, ends, taken);
  levels(ground, data, y, ends, taken);
  blindLine(ground, data, x, y, ends, taken);
  frontLine(ground, data, x, y, ends, taken);
  arrows(ground, data, x, y);
  const spots = data.points.map((one) => ({ ...one, at: [x(one.x), y(one.y)] }));
  for (const one of spots) {
    const [px, py] = one.at;
    draw(ground, "line", { class: "whisker", x1: x(one.x_low), x2: x(one.x_high), y1: py, y2: py });
    draw(ground, "line", { class: "whisker", x1: px, x2: px, y1: y(one.y_low), y2: y(one.y_high) });
  }
  // Regular last, on top of those that coincide with it.
  for (const one of [...spots].reverse()) {
    const made = button(place(svg, ...one.at), one, 12, data.picked);
    if (one.color) dotOf(made, one); else shape(made, one.shape, one.front);
  }
  placeLabels(svg, spots, ends, taken);
  return box;
}

function axes(parent, data, x, y, ends) {
  for (const { at, text } of data.x.ticks) {
    draw(parent, "line", { class: "grid", x1: x(at), x2: x(at), y1: ends.top, y2: ends.bottom });
    draw(parent, "text", { class: "quiet", x: x(at), y: ends.bottom + 17, "text-anchor": "middle" }, text);
  }
  for (const { at, text } of data.y.ticks) {
    draw(parent, "line", { class: "grid", x1: ends.left, x2: ends.right, y1: y(at), y2: y(at) });
    draw(parent, "text", { class: "quiet", x: ends.left - 8, y: y(at) + 4.5, "text-anchor": "end" }, text);
  }
  const middle = (ends.left + ends.right) / 2;
  draw(parent, "text", { class: "title", x: middle, y: ends.bottom + 38, "text-anchor": "middle" }, data.x.title);
  const turned = `translate(13 ${(ends.top + ends.bottom) / 2}) rotate(-90)`;
  draw(parent, "text", { class: "title", transform: turned, "text-anchor": "middle" }, data.y.title);
}

function region(parent, data, x, y, ends, taken) {
  if (!data.region) return;
  const left = x(data.region[0]), bottom = y(data.region[1]);
  if (ends.right - left < 2 || bottom - ends.top < 2) return;
  draw(parent, "rect", { class: "region", x: left, y: ends.top, width: ends.right - left, height: bottom - ends.top });
  words(parent, data.region_text, ends.right - 8, ends.top + 18, "end", "accent", taken);
}

// A text of the figure, which labels keep away from.
function words(parent, text, x, y, anchor, style, taken) {
  draw(parent, "text", { class: style, x, y, "text-anchor": anchor }, text);
  taken.push({ ...boxOf(text, x, y, anchor), weight: 2 });
}

function boxOf(text, x, y, anchor) {
  const wide = text.length * 6.6, left = anchor === "end" ? x - wide : anchor === "middle" ? x - wide / 2 : x;
  return { left, right: left + wide, top: y - 12, bottom: y + 4 };
}

// What points are to be above, such as a control.
function levels(parent, data, y, ends, taken) {
  for (const level of data.levels ?? []) {
    draw(parent, "line", { class: "blind", x1: ends.left, x2: ends.right, y1: y(level.y), y2: y(level.y) });
    words(parent, level.text, ends.right - 6, y(level.y) - 5, "end", "quiet", taken);
  }
}

function blindLine(parent, data, x, y, ends, taken) {
  if (!data.blind.length) return;
  const [[x0, y0], [x1, y1]] = data.blind;
  const at = (share) => [x0 + share * (x1 - x0), y0 + share * (y1 - y0)];
  const along = (from, to, value) => (value - from) / (to - from);
  const first = Math.max(0, along(x0, x1, data.x.low)), last = Math.min(1, along(y0, y1, data.y.low));
  if (last - first < 0.03) return;
  const [a, b] = [at(first), at(last)];
  draw(parent, "line", { class: "blind", x1: x(a[0]), y1: y(a[1]), x2: x(b[0]), y2: y(b[1]) });
  const slope = Math.atan2(y(b[1]) - y(a[1]), x(b[0]) - x(a[0])) * 180 / Math.PI;
  // Where the label is furthest from every point.
  let best = null, most = -1;
  for (let step = 0.14; step <= 0.87; step += 0.06) {
    const spot = at(first + step * (last - first)), px = x(spot[0]), py = y(spot[1]);
    const near = Math.min(...data.points.map((one) => Math.hypot(x(one.x) - px, y(one.y) - py)), 500);
    if (near > most) { most = near; best = [px, py]; }
  }
  draw(parent, "text", { class: "quiet", "text-anchor": "middle", transform: `translate(${best[0]} ${best[1]}) rotate(${slope}) translate(0 -6)` }, "blind to relevance");
  for (let step = -2; step <= 2; step += 1) {
    const px = best[0] + step * 24 * Math.cos(slope * Math.PI / 180), py = best[1] + step * 24 * Math.sin(slope * Math.PI / 180);
    taken.push({ left: px - 12, right: px + 16, top: py - 20, bottom: py + 4, weight: 1 });
  }
}

function frontLine(parent, data, x, y, ends, taken) {
  if (!data.front.length) return;
  let path = `M${ends.left},${y(data.front[0][1])}`;
  data.front.forEach(([px, py], index) => {
    const next = data.front[index + 1];
    path += ` H${x(px)} V${next ? y(next[1]) : ends.bottom}`;
    taken.push({ left: x(px) - 2, right: x(px) + 2, top: y(py), bottom: next ? y(next[1]) : ends.bottom, weight: 0.5 });
  });
  draw(parent, "path", { class: "front", d: path });
  const [first, last] = [data.front[0], data.front.at(-1)].map(([px, py]) => [x(px), y(py)]);
  const spots = [[ends.left + 6, first[1] - 6, "start"], [ends.left + 6, first[1] + 15, "start"]];
  for (const up of [12, 32, 52, 80]) {
    if (ends.bottom - up < last[1] + 14) continue;
    spots.push([last[0] + 7, ends.bottom - up, "start"], [last[0] - 7, ends.bottom - up, "end"]);
  }
  const cost = (spot) => {
    const room = boxOf("Pareto front", ...spot);
    const out = room.right > ends.right + 4 || room.top < ends.top || (spot[2] === "start" && spot[0] < last[0] && room.right > first[0] - 12);
    return taken.reduce((sum, other) => sum + other.weight * shared(room, other), out ? 600 : 0);
  };
  const best = spots.reduce((one, other) => (cost(other) < cost(one) ? other : one));
  if (cost(best) < 600) words(parent, "Pareto front", ...best, "quiet", taken);
}

function arrows(parent, data, x, y) {
  if (!data.region) return;
  const [fx, fy] = [x(data.region[0]), y(data.region[1])];
  for (const one of data.points) {
    const dx = x(one.x) - fx, dy = y(one.y) - fy, long = Math.hypot(dx, dy);
    if (long < 30) continue;
    const [ux, uy] = [dx / long, dy / long], [tx, ty] = [fx + ux * (long - 12), fy + uy * (long - 12)];
    draw(parent, "line", { class: "arrow", x1: fx + ux * 12, y1: fy + uy * 12, x2: tx - ux * 6, y2: ty - uy * 6 });
    const [wx, wy] = [-uy * 4, ux * 4];
    draw(parent, "path", { class: "arrow-head", d: `M${tx},${ty}L${tx - ux * 9 + wx},${ty - uy * 9 + wy}L${tx - ux * 9 - wx},${ty - uy * 9 - wy}z` });
  }
}

// Each label takes the nearest place that lies on nothing. A thin line leads to its point from far, or past a nearer point.
function placeLabels(svg, spots, ends, taken) {
  const ways = [[1, -0.9], [-1, -0.9], [1, 0], [-1, 0], [1, 0.9], [-1, 0.9], [0, -1.15], [0, 1.15]];
  for (const one of spots) {
    const [px, py] = one.at, wide = one.title.length * (one.front ? 7.5 : 7.1) + 4;
    let best = null;
    for (const far of [13, 24, 38, 54, 72, 92]) {
      for (const [wx, wy] of ways) {
        const left = px + wx * far - (wx < 0 ? wide : wx === 0 ? wide / 2 : 0), middle = py + wy * far;
        const room = { left, right: left + wide, top: middle - 9, bottom: middle + 9 };
        let cost = far * 1.2 + (wy > 0 ? 1 : 0);
        if (room.left < ends.left + 2 || room.right > ends.right + 8 || room.top < ends.top - 4 || room.bottom > ends.bottom - 1) cost += 600;
        for (const other of taken) cost += other.weight * shared(room, other);
        if (!best || cost < best.cost) best = { cost, room, middle, far, wx };
      }
    }
    const { room, middle, far } = best;
    taken.push({ ...room, weight: 5 });
    const away = ([sx, sy]) => Math.hypot(Math.max(room.left - sx, 0, sx - room.right), Math.max(room.top - sy, 0, sy - room.bottom));
    const doubtful = spots.some((other) => other !== one && away(other.at) <= away(one.at));
    if (far > 24 || doubtful) {
      const to = best.wx > 0 ? room.left : best.wx < 0 ? room.right : (room.left + room.right) / 2;
      draw(svg, "line", { class: "leader", x1: px, y1: py, x2: to, y2: middle });
    }
    const text = draw(svg, "text", { class: `label${one.front || one.shape === "none" ? " strong" : ""}`, x: room.left + 2, y: middle + 5 }, one.title);
    text.dataset.of = JSON.stringify(one.id);
  }
}

function shared(one, other) {
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const tall = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return wide > 0 && tall > 0 ? Math.max(20, wide * tall / 4) : 0;
}

// The difference to Regular: techniques as rows, kinds of context as columns, one axis for all of them.

const HEAD = 46, FOOT = 24;

function differencesFigure(data, width) {
  const box = element("div", "plot"), tall = data.wide_rows ? 48 : data.rows.length > 8 ? 38 : 44;
  const longest = Math.max(...data.rows.map((row) => row.title.length), 9);
  const side = Math.min(Math.max(104, longest * 7.4 + 30), width * 0.3), gap = 16;
  const bottom = HEAD + data.rows.length * tall, height = bottom + FOOT;
  const svg = draw(box, "svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": data.about });
  const wide = (width - side - gap * (data.columns.length - 1)) / data.columns.length;
  data.columns.forEach((column, index) => {
    const left = side + index * (wide + gap), x = (at) => left + at / 100 * wide;
    head(svg, column, left, wide);
    for (const tick of data.axis.ticks) {
      draw(svg, "line", { class: "grid", x1: x(tick.at), x2: x(tick.at), y1: HEAD, y2: bottom });
      if (wide < 96 && tick.at !== data.axis.zero && index % 2) continue;
      draw(svg, "text", { class: "quiet tick", x: x(tick.at), y: bottom + 17, "text-anchor": "middle" }, tick.text);
    }
    draw(svg, "line", { class: "zero", x1: x(data.axis.zero), x2: x(data.axis.zero), y1: HEAD - 4, y2: bottom });
  });
  data.rows.forEach((row, index) => {
    const top = HEAD + index * tall;
    if (index) draw(svg, "line", { class: "rule", x1: 0, x2: width, y1: top, y2: top });
    rowHead(svg, row, top, tall);
    row.marks.forEach((marks, column) => {
      const left = side + column * (wide + gap), x = (at) => left + at / 100 * wide;
      for (const mark of [marks].flat()) {
        // Two marks in a slot stand one above the other, each with its number beside it.
        const middle = mark.shift === undefined ? top + tall - 14 : top + tall / 2 + mark.shift;
        difference(svg, mark, x, mark.why === undefined ? middle : top + tall / 2, data, [left, left + wide]);
      }
    });
  });
  return box;
}

function head(svg, column, left, wide) {
  const made = draw(svg, "g", {});
  draw(made, "title", {}, column.hint);
  draw(made, "text", { class: "column", x: left, y: 16 }, column.title);
  draw(made, "text", { class: "quiet", x: left, y: 34 }, wide < 84 ? column.note.replace("Regular ", "") : column.note);
}

function rowHead(svg, row, top, tall) {
  const middle = top + tall / 2, made = draw(svg, "g", {});
  draw(made, "title", {}, row.hint);
  const left = row.shape ? 26 : 0;
  if (row.shape) shape(draw(made, "g", { transform: `translate(9 ${middle})` }), row.shape, row.front, 0.8);
  draw(made, "text", { class: row.front ? "name strong" : "name", x: left, y: middle - 2 }, row.title);
  draw(made, "text", { class: "quiet note", x: left, y: middle + 13 }, row.note);
}

function difference(svg, mark, x, middle, data, [left, right]) {
  if (mark.why !== undefined) {
    const made = button(place(svg, x(data.axis.zero), middle), { ...mark, about: ["not available", mark.why] }, 10, data.picked);
    draw(made, "circle", { class: "missing", r: 6 });
    return;
  }
  draw(svg, "line", { class: "bar", x1: x(data.axis.zero), x2: x(mark.at), y1: middle, y2: middle });
  draw(svg, "line", { class: "whisker strong", x1: x(mark.low), x2: x(mark.high), y1: middle, y2: middle });
  const made = button(place(svg, x(mark.at), middle), mark, 10, data.picked);
  // A small dot, so that the ends of its interval show.
  draw(made, "circle", { class: mark.filled ? "dot full" : "dot hollow", r: right - left < 180 ? 4.6 : 5.5 });
  const strong = mark.strong === undefined ? mark.filled : mark.strong;
  if (mark.shift !== undefined) {
    const aside = x(mark.at) + 12 + mark.text.length * 7 > right + 12 ? -1 : 1;
    draw(made, "text", { class: strong ? "number strong" : "number", x: aside * 10, y: 4.5, "text-anchor": aside < 0 ? "end" : "start" }, mark.text);
    return;
  }
  const half = mark.text.length * 3.8, from = Math.max(left + half - 6, Math.min(x(mark.at), right - half + 6));
  draw(made, "text", { class: strong ? "number strong" : "number", x: from - x(mark.at), y: -11, "text-anchor": "middle" }, mark.text);
}

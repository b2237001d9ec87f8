// One figure of both, or one of them: side by side where there is room.

const BESIDE = 940;

function legend(items) {
  const made = element("div", "legend");
  for (const one of items) {
    const item = element("span");
    item.append(symbol(one.shape, false), element("span", "", one.text));
    made.append(item);
  }
  return made;
}

function section(title, note) {
  const made = element("section");
  if (title) made.append(element("h2", "", title));
  if (note) made.append(element("p", "note", note));
  return made;
}

function figure(host, data, width) {
  const both = data.front && data.differences, beside = both && width >= BESIDE;
  if (host.shape === width) return;
  host.shape = width;
  const made = element("div", beside ? "figure beside" : "figure"), own = beside ? (width - 36) / 2 : width;
  if (data.front) {
    const part = section(data.front_title);
    part.append(frontFigure(data.front, own, Math.round(Math.max(330, Math.min(own * 0.72, 470)))), legend(data.front.legend));
    made.append(part);
  }
  if (data.differences) {
    const part = section(data.differences_title, data.differences_note);
    part.append(differencesFigure(data.differences, own));
    made.append(part);
  }
  show(host, made);
}

// The next mark in a direction; left and right go through those of a row, up and down from row to row.
function beside(host, from, key) {
  const [x, y] = middleOf(from), aside = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = null, least = Infinity;
  for (const mark of host.querySelectorAll(".mark")) {
    const [mx, my] = middleOf(mark), along = sign * (aside ? mx - x : my - y), across = Math.abs(aside ? my - y : mx - x);
    if (mark === from || along < 0 || (along === 0 && (across > 0 || !following(from, mark, sign)))) continue;
    const far = along + 3 * across;
    if (far < least) { least = far; best = mark; }
  }
  return best;
}

// Of two marks in the same place, whether the second comes after the first in a direction.
function following(from, mark, sign) {
  return sign * (from.compareDocumentPosition(mark) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1) > 0;
}

export default (component) => ofMarks(component, figure, beside);

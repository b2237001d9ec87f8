// Rows mode: the prompt wraps, and a row per explainer wraps with it, token under token. Lines that hold nothing fold to text.

const NAMES = 146, GAP = 3;

function ruler(host) {
  const context = document.createElement("canvas").getContext("2d");
  const font = getComputedStyle(host).fontFamily;
  return (text, bold) => {
    context.font = `${bold ? 600 : 400} 15px ${font}`;
    return Math.max(9, Math.ceil(context.measureText(text).width) + GAP);
  };
}

function cutIntoLines(data, block, available, measure) {
  const out = [[]];
  let used = 0;
  for (let index = block.start; index < block.end; index++) {
    const width = Math.min(available, measure(shown(data.tokens[index]).trim() || "·", data.gold.includes(index)));
    if (used + width > available && out.at(-1).length) { out.push([]); used = 0; }
    out.at(-1).push([index, width]);
    used += width;
    if (endsLine(data, index)) { out.push([]); used = 0; }
  }
  return out.filter((line) => line.length);
}

function holdsSomething(data, rows, view, line) {
  return line.some(([index]) => data.gold.includes(index) || rows.some((row) => row.top[view.k].includes(index)));
}

function rowToken(data, rows, view, index, width) {
  const cells = rows.map((row) => painting(element("div", "cell"), data, row, view, index, row.signed ? POSITIVE : row.color, 1));
  const made = tokenOf(data, view, index, element("div", "t", element("div", "word", shown(data.tokens[index]).trim() || "·"), ...cells));
  made.style.width = `${width}px`;
  return made;
}

function openLine(data, rows, view, line) {
  const names = element("div", "names", element("div", "word"), ...rows.map((row) => element("div", "name", row.title)));
  return element("div", "line", names, ...line.map(([index, width]) => rowToken(data, rows, view, index, width)));
}

function foldedLine(data, line, unfold) {
  const made = element("div", "line folded", element("div", "names"), element("div", "plain", line.map(([index]) => shown(data.tokens[index])).join("").trim()));
  made.title = "No explainer has one of its best here; click to unfold";
  made.onclick = () => made.replaceWith(unfold());
  return made;
}

function drawRows(data, view, host) {
  const rows = [...byRank(listed(data, view)), ...(view.controls ? data.rows.filter((row) => row.control) : [])];
  const grid = element("div", "rows"), measure = ruler(host);
  const available = Math.max(220, (host.clientWidth || 800) - NAMES - 24);
  data.blocks.forEach((block, number) => {
    const box = blockBox(block);
    for (const line of cutIntoLines(data, block, available, measure)) {
      const open = () => openLine(data, rows, view, line);
      box.append(holdsSomething(data, rows, view, line) ? open() : foldedLine(data, line, open));
    }
    if (number === data.blocks.length - 1) box.append(answerChip(data));
    grid.append(box);
  });
  return grid;
}

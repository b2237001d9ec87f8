// One claim: what it is made of. Every text of the data goes through textContent.

const SVG = "http://www.w3.org/2000/svg";

function pieces(tag, className, parts) {
  const made = element(tag, className);
  for (const [kind, text] of parts) {
    const part = element(kind === "b" ? "b" : "span", kind === "b" ? "" : kind, text);
    if (kind === "gap") part.title = "its citation was taken out here";
    made.append(part);
  }
  return made;
}

function shapes(parent, list) {
  for (const [name, attributes] of list) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    parent.append(made);
  }
}

// What an annotator made of a sentence: found, wrongly marked, missed, not marked, or not known.
const MARKS = {
  found: [["rect", { class: "full", x: 2, y: 2, width: 16, height: 16, rx: 4 }], ["path", { class: "tick", d: "M5.5 10.5l3 3l6-7" }]],
  wrong: [["rect", { class: "edge", x: 3, y: 3, width: 14, height: 14, rx: 4 }], ["path", { class: "cross", d: "M6.5 6.5l7 7m0-7l-7 7" }]],
  missed: [["rect", { class: "gone", x: 3, y: 3, width: 14, height: 14, rx: 4 }]],
  none: [["circle", { class: "dot", cx: 10, cy: 10, r: 1.7 }]],
  unknown: [["circle", { class: "gone", cx: 10, cy: 10, r: 6.5 }]],
};

function mark(state) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", 20);
  svg.setAttribute("height", 20);
  svg.setAttribute("aria-hidden", "true");
  shapes(svg, MARKS[state]);
  return svg;
}

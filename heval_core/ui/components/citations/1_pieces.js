// One claim: what it is made of.

const SVG = "http://www.w3.org/2000/svg";

// What an annotator made of a sentence: found, wrongly marked, missed, not marked, or not known.
const MARKS = {
  found: [["rect", { class: "full", x: 2, y: 2, width: 16, height: 16, rx: 4 }], ["path", { class: "tick", d: "M5.5 10.5l3 3l6-7" }]],
  wrong: [["rect", { class: "edge", x: 3, y: 3, width: 14, height: 14, rx: 4 }], ["path", { class: "cross", d: "M6.5 6.5l7 7m0-7l-7 7" }]],
  missed: [["rect", { class: "gone", x: 3, y: 3, width: 14, height: 14, rx: 4 }]],
  none: [["circle", { class: "dot", cx: 10, cy: 10, r: 1.7 }]],
  unknown: [["circle", { class: "gone", cx: 10, cy: 10, r: 6.5 }]],
};

function mark(state) {
  const shape = (name, attributes) => having(document.createElementNS(SVG, name), attributes);
  const svg = shape("svg", { width: 20, height: 20, "aria-hidden": true });
  svg.append(...MARKS[state].map(([name, attributes]) => shape(name, attributes)));
  return svg;
}

// Techniques as points and as rows. What stands where was computed before; here it finds its pixels, and labels their room.

// A family has a shape, not a hue: filled on the front, hollow else; Regular alone has the page's own colour.
const PATHS = {
  prompt: "M-6.5,-6.5h13v13h-13z",
  heads: "M0,-8.5l8.5,8.5l-8.5,8.5l-8.5,-8.5z",
  training: "M0,-8.5l8.5,15h-17z",
  calls: "M-3,-8h6v5h5v6h-5v5h-6v-5h-5v-6h5z",
};

function shape(parent, family, filled, scale = 1) {
  const style = family === "none" ? "regular" : filled ? "full" : "hollow";
  const path = PATHS[family];
  if (path) return draw(parent, "path", { d: path, class: `shape ${style}`, transform: `scale(${scale})` });
  return draw(parent, "circle", { r: (family === "none" ? 8.5 : 7.5) * scale, class: `shape ${style}` });
}

// An explainer has a hue, with the rim that all marks in a hue have.
function dotOf(parent, one) {
  return draw(parent, "circle", { r: one.front ? 7.5 : 6, fill: one.color, stroke: one.rim, "stroke-width": 1 });
}

function symbol(family, filled) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", 18);
  svg.setAttribute("height", 18);
  svg.setAttribute("aria-hidden", "true");
  shape(draw(svg, "g", { transform: "translate(9 9)" }), family, filled, 0.8);
  return svg;
}

// A place of the figure: inside it, pixels count from there.
const place = (parent, x, y) => draw(parent, "g", { transform: `translate(${x} ${y})` });

// Draws a figure when it comes into view; the drawing library is inside the file, packed.
const read = (id) => document.getElementById(id).textContent;
const figures = JSON.parse(read("figures"));
const dark = window.matchMedia("(prefers-color-scheme: dark)");

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

function draw(place) {
  const figure = figures[Number(place.dataset.figure)];
  const ink = dark.matches ? "#a3a8b3" : "#5c6370";
  const line = dark.matches ? "#33363d" : "#e4e4e0";
  const axis = { gridcolor: line, zerolinecolor: line, linecolor: line };
  const layout = structuredClone(figure.layout);
  Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true });
  layout.font = { color: ink, size: 12, family: "system-ui, 'Noto Sans', sans-serif" };
  const upright = figure.data.some((trace) => trace.type === "bar" && trace.orientation !== "h");
  layout.xaxis = Object.assign({ showgrid: !upright }, axis, layout.xaxis);
  layout.yaxis = Object.assign({ showgrid: upright }, axis, layout.yaxis);
  const shown = { displaylogo: false, responsive: true, modeBarButtons: [["toImage"]], toImageButtonOptions: { format: "svg", filename: figure.name } };
  Plotly.react(place, figure.data, layout, shown);
}

const drawn = new Set();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting && !drawn.has(entry.target)) {
      drawn.add(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "600px" });

unpack(read("library")).then((source) => {
  const script = document.createElement("script");
  script.textContent = source;
  document.head.append(script);
  document.querySelectorAll(".plot").forEach((place) => watcher.observe(place));
  dark.addEventListener("change", () => drawn.forEach(draw));
  document.documentElement.dataset.ready = "yes";
}).catch(() => {
  document.querySelectorAll(".plot").forEach((place) => {
    place.textContent = "This browser is too old to draw the figure; its numbers are in the table below.";
  });
});

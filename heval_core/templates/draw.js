// Draws every figure as SVG and leaves them, packed, in the page.
const figures = JSON.parse(document.getElementById("figures").textContent);
(async () => {
  const found = {};
  for (const [name, { data, layout }] of Object.entries(figures)) {
    try {
      const uri = await Plotly.toImage({ data, layout }, { format: "svg", width: layout.width, height: layout.height || 380 });
      found[name] = decodeURIComponent(uri.slice(uri.indexOf(",") + 1));
    } catch (error) {
      // Whoever asked counts what is missing.
    }
  }
  const bytes = new TextEncoder().encode(JSON.stringify(found));
  document.getElementById("found").textContent = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
})();

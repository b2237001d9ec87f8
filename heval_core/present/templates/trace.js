// A row opens on the reading surface; its data stands in the page.
const panel = document.getElementById("reading");
function openRow(number) {
  const block = document.getElementById(`row-${number}`);
  if (!block) return;
  const row = JSON.parse(block.textContent);
  panel.hidden = false;
  document.getElementById("row-about").textContent = row.about;
  document.getElementById("row-question").textContent = row.question;
  document.getElementById("row-facts").replaceChildren(...row.facts.map((fact) => element("p", "", fact)));
  start({ data: row.drawn, parentElement: panel });
  for (const line of document.querySelectorAll("tr[data-row]")) line.classList.toggle("on", line.dataset.row === String(number));
  panel.scrollIntoView({ block: "start" });
}
document.addEventListener("click", (event) => {
  const line = event.target.closest?.("tr[data-row]");
  if (line) { history.replaceState(null, "", `#${line.dataset.row}`); openRow(line.dataset.row); }
});
if (location.hash) openRow(decodeURIComponent(location.hash.slice(1)));

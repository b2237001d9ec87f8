// Answers that are kept, as lines: a search, a link to each, one's own with a button that removes it, or puts it beside this one.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component, host = parentElement.querySelector(".host");
  const ask = (what, id) => setTriggerValue("asked", JSON.stringify({ what, id }));
  const search = having(element("input"), { type: "search", placeholder: "Search", "aria-label": "Search what is kept" });
  search.value = host.searched ?? "";
  const rows = data.lines.map((line) => {
    const open = having(element("a", "soft", element("b", "", line.asked), element("span", "said", line.said), element("span", "about", [line.model, line.day || "example"].join(" · "))), { href: `?result=${line.id}`, dir: "auto" });
    const tools = [];
    if (data.shown && data.lines.find((one) => one.id === data.shown)?.whole && line.whole && line.id !== data.shown) tools.push(having(button("tool", "compare", null, () => ask("beside", line.id)), { "aria-label": `Compare with: ${line.asked}` }));
    if (line.day) tools.push(having(button("tool", "remove", null, () => ask("remove", line.id)), { "aria-label": `Remove: ${line.asked}` }));
    return having(element("div", "line", open, ...tools), { "data-text": `${line.asked} ${line.said} ${line.model}`.toLowerCase() });
  });
  const none = element("p", "none", "Nothing that is kept has these words.");
  const filter = () => {
    host.searched = search.value;
    const words = search.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((word) => row.dataset.text.includes(word));
    none.hidden = rows.some((row) => !row.hidden);
  };
  search.oninput = filter;
  const undo = data.removed ? [element("p", "undone", `Removed: ${data.removed.asked} `, button("tool", "Undo", null, () => ask("put back", data.removed.id)))] : [];
  host.replaceChildren(element("div", "kept", search, ...undo, ...rows, none));
  filter();
}

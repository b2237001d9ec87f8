// What every script of ours is joined to. Text goes through `append`: text of the data is never markup.

// An element with what it holds: texts, and elements.
function element(tag, className, ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content.filter((one) => one !== undefined && one !== null));
  return made;
}

// A sentence in pieces: [kind, text], where a kind is b, i, a class, or nothing.
function pieces(tag, className, parts) {
  const piece = ([kind, text]) => (["b", "i"].includes(kind) ? element(kind, "", text) : kind ? element("span", kind, text) : text);
  return element(tag, className, ...parts.map(piece));
}

// The same element with these attributes.
function having(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Whether somebody is writing: no key of ours is taken then.
function typing() {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return Boolean(active?.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, [contenteditable=true], [role=combobox], [role=listbox], [role=dialog]"));
}

function button(className, text, pressed, onclick) {
  const made = having(element("button", className, text), { type: "button", ...(pressed !== null && { "aria-pressed": pressed }) });
  made.onclick = onclick;
  return made;
}

// A number with so many decimals, no zero before the point, a real minus.
function written(value, decimals) {
  const text = Math.abs(value).toFixed(decimals).replace(/^0\./, ".");
  return Number(text) === 0 ? "0" : value < 0 ? `−${text}` : text;
}

// Where the focus is in a part of the page, as a selector that finds it again when the part has been drawn anew.
function placeOf(part) {
  const active = part.getRootNode().activeElement;
  if (!active || !part.contains(active)) return null;
  const name = ["id", "index", "name", "key", "at", "passage"].find((one) => active.dataset[one] !== undefined);
  const group = active.closest("[role=group]")?.getAttribute("aria-label");
  return name ? `[data-${name}="${CSS.escape(active.dataset[name])}"]` : group ? `[aria-label="${group}"] [aria-pressed=true]` : null;
}

// In place of what a part held; the focus stays where it was.
function redraw(part, ...made) {
  const place = placeOf(part);
  part.replaceChildren(...made);
  if (place) part.querySelector(place)?.focus({ preventScroll: true });
}

// What a mark says: its first line in bold, near it and inside of its frame. lines: none hides it.
function showTip(tip, frame, mark, lines) {
  tip.style.display = lines ? "block" : "none";
  if (!lines) return;
  tip.replaceChildren(element("b", "", lines[0]), ...lines.slice(1).map((line) => element("span", "", line)));
  const at = mark.getBoundingClientRect(), all = frame.getBoundingClientRect();
  const left = at.left - all.left + at.width / 2 - tip.offsetWidth / 2, above = at.top - all.top - tip.offsetHeight - 5;
  tip.style.left = `${Math.max(0, Math.min(left, all.width - tip.offsetWidth))}px`;
  tip.style.top = `${above > -40 ? above : at.bottom - all.top + 5}px`;
}

// Where an arrow key goes to from one of many: to the next, or to the one that stands nearest on the next line.
function beside(all, from, key) {
  const here = all.indexOf(from), step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (step) return all[here + step];
  const middle = ({ left, width }) => left + width / 2, at = from.getBoundingClientRect();
  const others = (key === "ArrowDown" ? all.slice(here + 1) : all.slice(0, here).reverse()).map((other) => [other, other.getBoundingClientRect()]);
  const line = others.find(([, box]) => Math.abs(box.top - at.top) > 12)?.[1].top;
  const there = others.filter(([, box]) => line !== undefined && Math.abs(box.top - line) <= 12);
  return there.sort(([, one], [, other]) => Math.abs(middle(one) - middle(at)) - Math.abs(middle(other) - middle(at)))[0]?.[0];
}

// Streamlit 1.67 calls a component again for new data without cleaning up after the last call: its host keeps the one object
// that draws, whose `press` hears the keyboard, `resized` the width, and `left` that the page is left.
function kept({ parentElement, ...component }, make) {
  const host = parentElement.querySelector(".host"), one = (host.one ??= make(host));
  one.take(component.data, component);
  if (!host.pressed) {
    const free = (event) => !(event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey);
    host.pressed = (event) => host.isConnected && free(event) && one.press(event);
    document.addEventListener("keydown", host.pressed);
    let width = host.clientWidth;
    host.watching = new ResizeObserver(() => { if (host.clientWidth && host.clientWidth !== width) { width = host.clientWidth; one.resized?.(); } });
    host.watching.observe(host);
  }
  return () => {
    document.removeEventListener("keydown", host.pressed);
    host.watching.disconnect();
    one.left?.();
    host.pressed = null;
  };
}

// What every script of ours is joined to. Text goes through textContent: text of the data is never markup.

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Whether somebody is writing: no key of ours is taken then.
function typing() {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return Boolean(active?.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=button]), textarea, [contenteditable=true], [role=combobox], [role=listbox], [role=dialog]"));
}

function button(className, text, pressed, onclick) {
  const made = element("button", className, text);
  made.type = "button";
  if (pressed !== null) made.setAttribute("aria-pressed", String(pressed));
  made.onclick = onclick;
  return made;
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
    host.pressed = (event) => host.isConnected && one.press(event);
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

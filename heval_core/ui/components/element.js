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

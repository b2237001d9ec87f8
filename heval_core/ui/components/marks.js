// Figures of marks that can be pointed at, picked and reached with the keys. A mark is a group with what is told about it.

const SVG = "http://www.w3.org/2000/svg";

function draw(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function button(parent, mark, half, picked) {
  const made = draw(parent, "g", { class: "mark", role: "button", tabindex: "-1", "aria-label": mark.about.join(". ") });
  const id = JSON.stringify(mark.id);
  made.dataset.id = id;
  made.about = mark.about;
  made.setAttribute("aria-pressed", String(id === picked));
  draw(made, "rect", { class: "hit", x: -half, y: -half, width: 2 * half, height: 2 * half });
  draw(made, "rect", { class: "ring", x: -half, y: -half, width: 2 * half, height: 2 * half, rx: half / 1.6 });
  return made;
}

// The middle of what can be hit of a mark; its labels may reach further.
function middleOf(mark) {
  const box = mark.querySelector(".hit").getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}

// Put a drawn figure in place; the picked mark, else the first, is the one that Tab goes to.
function show(host, figure) {
  figure.append(element("div", "tip"));
  host.replaceChildren(figure);
  const marks = figure.querySelectorAll(".mark");
  (figure.querySelector('.mark[aria-pressed="true"]') || marks[0])?.setAttribute("tabindex", "0");
}

function tell(host, mark) {
  const tip = host.querySelector(".tip"), frame = host.querySelector(".figure");
  if (!tip) return;
  if (!mark) { tip.style.display = "none"; return; }
  const [first, ...rest] = mark.about;
  tip.replaceChildren(element("b", "", first), ...rest.map((line) => element("span", "", line)));
  tip.style.display = "block";
  const at = mark.querySelector(".hit").getBoundingClientRect(), all = frame.getBoundingClientRect();
  const left = at.left - all.left + at.width / 2 - tip.offsetWidth / 2, above = at.top - all.top - tip.offsetHeight - 4;
  tip.style.left = `${Math.max(0, Math.min(left, all.width - tip.offsetWidth))}px`;
  tip.style.top = `${above > -40 ? above : at.bottom - all.top + 4}px`;
}

// Marks overlap: the one meant is that whose middle is nearest to the pointer; a label means its own mark.
function meant(root, event) {
  let best = null, least = Infinity;
  for (const one of root.elementsFromPoint(event.clientX, event.clientY)) {
    if (one.dataset?.of) return [...root.querySelectorAll(".mark")].find((mark) => mark.dataset.id === one.dataset.of);
    const mark = one.closest?.(".mark");
    if (!mark) continue;
    const [x, y] = middleOf(mark), far = Math.hypot(x - event.clientX, y - event.clientY);
    if (far < least - 0.5) { least = far; best = mark; }
  }
  return best;
}

// Draw a figure, again where its width changes, and answer to pointer and keys. figure: (host, data, width). beside: the mark
// that an arrow key goes to.
function ofMarks({ data, parentElement, setTriggerValue }, figure, beside) {
  const host = parentElement.querySelector(".host"), root = host.getRootNode();
  const focused = root.activeElement?.dataset?.id;
  host.shape = "";
  figure(host, data, host.clientWidth || 900);
  if (focused) [...host.querySelectorAll(".mark")].find((mark) => mark.dataset.id === focused)?.focus();
  host.observer?.disconnect();
  host.observer = new ResizeObserver(() => { if (host.clientWidth) figure(host, data, host.clientWidth); });
  host.observer.observe(host);
  const pick = (mark) => { if (mark) setTriggerValue("picked", mark.dataset.id); };
  const of = (event) => event.clientX === undefined ? event.target.closest?.(".mark") : meant(root, event);
  host.onclick = (event) => pick(of(event));
  host.onmousemove = (event) => tell(host, of(event));
  host.onmouseleave = () => tell(host, null);
  if (!host.told) {
    host.told = true;
    host.addEventListener("focusin", (event) => tell(host, of(event)));
    host.addEventListener("focusout", () => tell(host, null));
  }
  host.onkeydown = (event) => {
    const mark = of(event);
    if (!mark) return;
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(mark); }
    if (event.key === "Escape") tell(host, null);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = beside(host, mark, event.key);
    if (next) { mark.setAttribute("tabindex", "-1"); next.setAttribute("tabindex", "0"); next.focus(); }
  };
}

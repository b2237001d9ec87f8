// Figures whose marks can be pointed at, picked, and reached with the keys. The drawing is made before, with escaped text.

// The middle of what can be hit of a mark; its label may reach further.
function middleOf(mark) {
  const box = mark.querySelector(".hit").getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}

function tell(host, mark) {
  showTip(host.querySelector(".tip"), host.querySelector(".figure"), mark?.querySelector(".hit"), mark?.getAttribute("aria-label").split("\n"));
}

// Marks overlap: the one meant is that whose middle is nearest to the pointer; a label means its own mark.
function meant(root, event) {
  let best = null, least = Infinity;
  for (const one of root.elementsFromPoint(event.clientX, event.clientY)) {
    const mark = one.closest?.(".mark");
    if (mark && one.matches(".label")) return mark;
    if (!mark) continue;
    const [x, y] = middleOf(mark), far = Math.hypot(x - event.clientX, y - event.clientY);
    if (far < least - 0.5) { least = far; best = mark; }
  }
  return best;
}

// The next mark in a direction, in the same line where there is one; of those in the same place the next in the drawing.
function next(host, from, key) {
  const [x, y] = middleOf(from), aside = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = null, least = Infinity;
  for (const mark of host.querySelectorAll(".mark")) {
    const [mx, my] = middleOf(mark), along = sign * (aside ? mx - x : my - y), across = Math.abs(aside ? my - y : mx - x);
    const later = sign * (from.compareDocumentPosition(mark) & Node.DOCUMENT_POSITION_FOLLOWING ? 1 : -1) > 0;
    if (mark === from || along < 0 || (along === 0 && (across > 0 || !later))) continue;
    const far = along + 3 * across + (aside && across > 4 ? 2000 : 0);
    if (far < least) { least = far; best = mark; }
  }
  return best;
}

// As many panels in a line as there is room for, the same number in every line; the first of each has the rows' names.
function lines(host) {
  for (const box of host.querySelectorAll(".panels")) {
    const panels = [...box.querySelectorAll(".panel")], count = panels.length;
    const [side, least, gap] = [box.dataset.room, box.dataset.least, box.dataset.gap].map(Number);
    const fit = Math.max(1, Math.min(count, Math.floor((box.clientWidth - side + gap) / (least + gap))));
    const many = Math.ceil(count / Math.ceil(count / fit));
    if (box.style.getPropertyValue("--many") === String(many)) continue;
    box.style.setProperty("--many", many);
    panels.forEach((panel, index) => {
      panel.querySelector(".names")?.remove();
      if (index % many) return;
      const names = element("div", "names");
      names.append(box.querySelector("template").content.cloneNode(true));
      panel.prepend(names);
    });
  }
}

const keyOf = (id) => (id ? JSON.parse(id)[0] : null);

// The marks of the same row are ringed together, in all figures; the picked one's row lies on a band.
function kin(host, mark) {
  const key = keyOf(mark?.dataset.id);
  for (const one of host.querySelectorAll(".mark")) one.classList.toggle("kin", Boolean(key) && one !== mark && keyOf(one.dataset.id) === key);
}

function band(host, picked) {
  host.querySelectorAll(".row").forEach((one) => one.remove());
  const key = keyOf(picked);
  for (const name of key ? host.querySelectorAll(".names .mark") : []) {
    if (keyOf(name.dataset.id) !== key) continue;
    const box = name.closest(".panels"), at = name.querySelector(".hit").getBoundingClientRect(), row = element("div", "row");
    row.style.top = `${at.top - box.getBoundingClientRect().top}px`;
    row.style.height = `${at.height}px`;
    box.prepend(row);
  }
}

function draw(host, data) {
  const held = placeOf(host);
  if (host.drawn !== data.html) {
    host.drawn = data.html;
    host.replaceChildren(...new DOMParser().parseFromString(data.html, "text/html").body.childNodes);
  }
  lines(host);
  const marks = [...host.querySelectorAll(".mark")];
  for (const mark of marks) {
    mark.setAttribute("tabindex", "-1");
    if (mark.matches("g")) mark.setAttribute("aria-pressed", String(mark.dataset.id === data.picked));
  }
  // The picked mark, else the first, is the one that Tab goes to.
  (marks.find((mark) => mark.dataset.id === data.picked) || marks[0])?.setAttribute("tabindex", "0");
  band(host, data.picked);
  if (held) host.querySelector(held)?.focus();
}

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".host"), root = host.getRootNode();
  draw(host, data);
  host.observer?.disconnect();
  host.observer = new ResizeObserver(() => { lines(host); band(host, data.picked); });
  host.observer.observe(host);
  const pick = (mark) => { if (mark?.matches("g")) setTriggerValue("picked", mark.dataset.id); };
  const of = (event) => event.clientX === undefined ? event.target.closest?.(".mark") : meant(root, event);
  host.onclick = (event) => pick(of(event));
  host.onmousemove = (event) => { const mark = of(event); tell(host, mark); kin(host, mark); };
  host.onmouseleave = () => { tell(host, null); kin(host, null); };
  if (!host.told) {
    host.told = true;
    host.addEventListener("focusin", (event) => tell(host, event.target.closest?.(".mark")));
    host.addEventListener("focusout", () => tell(host, null));
  }
  host.onkeydown = (event) => {
    const mark = event.target.closest?.(".mark");
    if (!mark) return;
    if ((event.key === "Enter" || event.key === " ") && mark.matches("g")) { event.preventDefault(); pick(mark); }
    if (event.key === "Escape") tell(host, null);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const beside = next(host, mark, event.key);
    if (beside) { mark.setAttribute("tabindex", "-1"); beside.setAttribute("tabindex", "0"); beside.focus(); }
  };
}

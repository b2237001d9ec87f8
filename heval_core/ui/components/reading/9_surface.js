// The reading surface: the prompt with its highlights, and what belongs beside it. What the reader changes is drawn at once and
// told to the page afterwards, which keeps it in the address; only other units, another tint and another head are computed there.

// Units of a prompt that is lower than the ranks beside it.
const SHORT = 160;

class Surface {
  constructor(host) {
    Object.assign(this, { host, data: null, view: null, told: "", waiting: [], focus: null, all: false, moreOpen: false });
    this.root = element("div", "reading");
    host.replaceChildren(this.root);
    this.act = {
      set: (change) => this.change(change),
      paint: (key, beside) => this.paint(key, beside),
      pick: (key, on) => this.pickSet(key, on),
      all: (all) => { this.all = all; this.draw(); },
      head: (name) => this.change({ pick: name, painted: name ? ["head"] : ["mechlight"] }),
      ask: (what) => { this.asking = true; this.send("asked", `${what} ${Date.now()}`); },
      split: () => this.split(),
    };
    this.root.addEventListener("mouseover", (event) => this.point(event));
    this.root.addEventListener("focusin", (event) => this.point(event));
    this.root.addEventListener("click", (event) => { this.fold(event.target); this.pin(event); });
    this.root.addEventListener("mousemove", (event) => { if (event.movementX || event.movementY) this.byKeyboard = false; });
  }

  // Answers of the page arrive in the order of the changes: one that is not the last asked for is out of date.
  take(data, { setStateValue, setTriggerValue }) {
    Object.assign(this, { setState: setStateValue, send: setTriggerValue });
    const view = JSON.stringify(data.view), at = this.waiting.indexOf(view);
    this.waiting = at >= 0 ? this.waiting.slice(at + 1) : this.waiting;
    const mine = this.waiting.length > 0 && this.data?.id === data.id;
    const another = this.data?.id !== data.id;
    const text = JSON.stringify({ ...data, view: null });
    const same = text === this.told && (mine || view === JSON.stringify(this.view));
    this.told = text;
    this.data = data;
    if (!mine) { this.view = data.view; this.waiting = []; }
    if (another) this.focus = null;
    if (!same) this.draw();
  }

  change(change) {
    this.view = { ...this.view, ...change };
    this.waiting.push(JSON.stringify(this.view));
    this.draw();
    // With its time: the page hears of no view that equals the last one told, though a step or Back has undone that since.
    this.setState("view", { ...this.view, at: Date.now() });
  }

  paint(key, beside) {
    const now = this.view.painted;
    this.change({ painted: beside && now.length && now[0] !== key ? [now[0], key] : now.length > 1 && now[0] !== key ? [now[0], key] : [key] });
  }

  split() {
    this.moreOpen = false;
    if (this.view.painted.length > 1) { this.change({ painted: this.view.painted.slice(0, 1), mode: "text" }); return; }
    const first = painted(this.data, this.view)[0], second = byRank(listed(this.data, this.view)).find((row) => row !== first);
    if (second) this.change({ painted: [first.key, second.key], mode: "text" });
  }

  pickSet(key, on) {
    const now = listed(this.data, this.view).filter((row) => !row.picked).map((row) => row.key);
    this.change({ drawn: on ? [...now, key] : now.filter((other) => other !== key) });
  }

  draw() {
    const { data, view, root } = this, held = placeOf(root);
    this.out = having(element("div", "readout"), { "aria-live": "polite" });
    const surface = element("div", "surface"), rail = element("div", "rail", drawSources(data), drawRanks(data, view, this.all, this.act));
    const main = element("div", "main", element("h1", "", data.title), pieces("p", "lead", data.lead), drawBar(data, view, this.act), this.out, surface);
    // The heads stand below a prompt that leaves the room beside the ranks empty.
    if (data.heads) (data.tokens.length <= SHORT ? main : rail).append(drawHeads(data.heads, this.act));
    root.replaceChildren(main, rail);
    surface.append(view.mode === "rows" ? drawRows(data, view, surface) : drawText(data, view));
    const about = painted(data, view).map((row) => `${row.title}: ${row.about}`).join(" ");
    surface.append(element("p", "note about", view.mode === "rows" ? "Orange speaks for the answer, hatched blue against it; attention is in its explainer’s colour. Framed: the best; dashed: a score next to nothing." : about));
    if (data.ranked_end < data.tokens.length || data.first_ranked > 1) surface.append(element("p", "note faint-key", "Grey: the prompt’s layout, never ranked."));
    if (view.pin !== null && view.pin < data.tokens.length) this.at(view.pin)?.classList.add("pinned");
    readOut(this.out, data, view, view.pin ?? this.focus, () => this.change({ pin: null }));
    const first = this.at(this.focus ?? view.pin ?? 0);
    if (first) first.tabIndex = 0;
    // What was asked for comes into sight, and what is gone takes the focus nowhere.
    const answered = this.asking && root.querySelector(".need");
    if (answered) { this.asking = false; answered.focus(); answered.scrollIntoView({ block: "nearest" }); }
    else if (held) (root.querySelector(held) ?? first)?.focus({ preventScroll: true });
  }

  at(index) { return index === null ? null : this.root.querySelector(`.t[data-index="${index}"]`); }

  point(event) {
    const found = event.target.closest?.(".t");
    if (!found || (event.type === "mouseover" && (this.byKeyboard || this.view.pin !== null))) return;
    const index = Number(found.dataset.index);
    if (event.type === "focusin") this.focus = index;
    this.root.querySelectorAll(".lit").forEach((token) => token.classList.remove("lit"));
    this.root.querySelectorAll(`.t[data-index="${index}"]`).forEach((token) => token.classList.add("lit"));
    readOut(this.out, this.data, this.view, index, () => this.change({ pin: null }));
  }

  // The menu, unless it holds this. Returns whether it was open.
  fold(target) {
    const open = this.root.querySelector(".more[open]");
    if (!open || open.contains(target)) return false;
    open.open = false;
    return true;
  }

  pin(event) {
    const found = event.target.closest?.(".t");
    if (!found) return;
    const index = Number(found.dataset.index);
    this.focus = index;
    this.change({ pin: this.view.pin === index ? null : index });
  }

  press(event) {
    if (typing() || (event.key === "Escape" && this.fold(null))) return;
    const token = this.host.getRootNode().activeElement?.closest?.(".t");
    const { data, view } = this, next = (list, held) => list[(list.indexOf(held) + 1) % list.length];
    const number = "123456789".indexOf(event.key), order = rankOrder(data, view, this.all);
    const keys = {
      "[": () => this.send("asked", `step -1 ${Date.now()}`), "]": () => this.send("asked", `step 1 ${Date.now()}`),
      t: () => this.change({ mode: view.mode === "text" ? "rows" : "text" }),
      k: () => this.change({ k: next(data.ks, view.k) }),
      g: () => this.change({ level: next(data.levels, view.level), pin: null }),
      h: () => this.root.querySelector(".square[tabindex='0']")?.focus(),
    };
    if (view.pin !== null) keys.Escape = () => this.change({ pin: null });
    if (token) Object.assign(keys, { Enter: () => token.click(), " ": () => token.click() });
    if (token && event.key.startsWith("Arrow")) { event.preventDefault(); this.move(token, event.key); return; }
    const action = keys[event.key] ?? (number >= 0 && order[number] ? () => this.paint(order[number].key, false) : null);
    if (!action) return;
    event.preventDefault();
    action();
  }

  move(token, key) {
    const next = beside([...token.closest(".column, .rows").querySelectorAll(".t")], token, key);
    if (!next) return;
    this.byKeyboard = true;
    token.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  resized() { this.draw(); }
}

export default function (component) { return kept(component, (host) => new Surface(host)); }

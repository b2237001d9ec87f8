// What a person has chosen so far lives here until it is saved: a draft survives a page loaded again, and a server that is gone.

const PATIENCE = 4000;

class Annotating {
  constructor(host) {
    Object.assign(this, { host, shown: "", data: null, pending: null, parts: null });
    this.act = (message) => this.send({ ...message, token: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` });
    this.visible = () => this.count();
    document.addEventListener("visibilitychange", this.visible);
  }

  take(data, { setTriggerValue: trigger }) {
    this.trigger = trigger;
    const answered = this.pending !== null && (data.done === this.pending.token || data.error);
    if (answered && !data.error) this.forget(this.pending);
    if (answered) { clearTimeout(this.waiting); this.pending = null; }
    const shown = JSON.stringify([data.view, data.id, data.person, data.feedback, Boolean(data.earlier)]);
    const same = shown === this.shown && data.view !== "sign_in";
    Object.assign(this, { data, shown });
    if (same && data.view === "item") this.again(data);
    else this.draw();
  }

  // The same item: what was chosen stays.
  again(data) {
    const top = topLine(data, this.act);
    this.parts.top.replaceWith(top);
    this.parts.top = top;
    this.say(data.error);
    this.refresh();
  }

  draw() {
    const { data, act, host } = this;
    const view = { sign_in: signInView, done: doneView, item: itemView }[data.view];
    this.parts = view(data, act);
    const root = element("div", "annotate");
    root.append(this.parts.root);
    host.replaceChildren(root);
    if (data.view === "item") this.begin();
    // What comes next begins at its top, and the keyboard with it; nothing is scrolled where all of it is in sight.
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    this.parts.first.focus({ preventScroll: true });
  }

  begin() {
    const { data, parts } = this, draft = data.feedback ? { chosen: data.feedback, none: !data.feedback.length } : this.draft();
    const earlier = data.earlier && { chosen: data.earlier.chosen, none: !data.earlier.chosen.length, helpfulness: data.earlier.helpfulness };
    this.state = { chosen: new Set(), none: false, helpfulness: null, ...(draft ?? earlier ?? {}) };
    this.state.chosen = new Set(this.state.chosen);
    Object.assign(this, { spent: 0, since: document.hidden ? null : performance.now() });
    parts.rows.forEach((row, place) => { row.onclick = () => this.toggle(place); });
    parts.none.onclick = () => this.toggle(null);
    parts.range.input.oninput = () => this.rate(Number(parts.range.input.value));
    // A click on the middle, where it stands already, is an answer, too.
    parts.range.input.onclick = () => this.rate(Number(parts.range.input.value));
    parts.main.onclick = () => this.save();
    parts.back.onclick = () => (data.earlier ? this.act({ op: "onward" }) : this.back());
    if (parts.earlier) parts.earlier.onclick = () => this.back();
    if (data.feedback) for (const row of [...parts.rows, parts.none]) row.disabled = true;
    this.refresh();
  }

  toggle(place) {
    const { state, data } = this;
    if (data.feedback) return;
    if (place === null) { state.none = !state.none; state.chosen.clear(); }
    else {
      state.none = false;
      if (!state.chosen.delete(place)) state.chosen.add(place);
    }
    this.changed();
  }

  rate(value) {
    if (this.data.feedback) return;
    this.state.helpfulness = Math.max(0, Math.min(100, value));
    this.changed();
  }

  changed() {
    this.say("");
    this.keep();
    this.refresh();
  }

  refresh() {
    const { state, parts } = this;
    parts.rows.forEach((row, place) => row.setAttribute("aria-checked", String(state.chosen.has(place))));
    parts.none.setAttribute("aria-checked", String(state.none));
    const { input, value, made } = parts.range;
    input.value = state.helpfulness ?? 50;
    made.classList.toggle("unset", state.helpfulness === null);
    made.style.setProperty("--at", `${input.value}%`);
    input.setAttribute("aria-valuetext", state.helpfulness === null ? "not rated yet" : String(state.helpfulness));
    value.textContent = state.helpfulness ?? "–";
    parts.main.classList.toggle("ready", Boolean(this.data.feedback) || !this.missing());
  }

  missing() {
    const { state } = this;
    if (!state.none && !state.chosen.size) return "Choose the sentences first, or “None of these”.";
    return state.helpfulness === null ? "Rate the explanation, too: move the slider, or press ← or →." : "";
  }

  save() {
    const { data, state } = this;
    if (data.feedback) { this.act({ op: "onward" }); return; }
    const missing = this.missing();
    if (missing) { this.say(missing); return; }
    this.count();
    const chosen = [...state.chosen].sort((a, b) => a - b);
    this.act({ op: "save", item: data.id, chosen, helpfulness: state.helpfulness, seconds: Math.round(this.spent) / 1000 });
  }

  back() { if (this.data.can_go_back) this.act({ op: "back", item: this.data.id }); }

  // One at a time; where no answer comes, what was chosen is still here and can be sent again.
  send(message) {
    if (this.pending) return;
    this.pending = { ...message, slot: this.slot() };
    this.trigger("did", message);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.pending = null;
      this.say("Not saved yet: the server does not answer. Your choice is kept here; try again when it is back.");
    }, PATIENCE);
  }

  say(text) { this.parts.said.textContent = text ?? ""; }

  slot() { return `heval_annotate ${this.data.person} ${this.data.id}`; }

  keep() {
    const { chosen, none, helpfulness } = this.state;
    sessionStorage.setItem(this.slot(), JSON.stringify({ chosen: [...chosen], none, helpfulness }));
  }

  draft() {
    try { return JSON.parse(sessionStorage.getItem(this.slot())); } catch { return null; }
  }

  forget(message) { if (message.op === "save" || message.op === "onward") sessionStorage.removeItem(message.slot); }

  // Seconds in which the page was in sight.
  count() {
    const now = performance.now();
    if (this.since !== null && this.since !== undefined) this.spent += now - this.since;
    this.since = document.hidden ? null : now;
  }

  press(event) {
    const from = event.composedPath()[0];
    const busy = from.closest?.("input:not([type=range]), textarea, select, [contenteditable=true], [role=combobox], [role=listbox], [role=dialog], [data-testid=stSidebar]");
    if (this.data?.view !== "item" || busy) return;
    const action = this.keys(event, from);
    if (!action) return;
    event.preventDefault();
    action();
  }

  keys(event, from) {
    const { data, state, parts } = this, place = "123456789".indexOf(event.key);
    if (place >= 0 && place < data.sentences.length) return () => this.toggle(place);
    // A button has Enter for itself, a sentence or the slider has not; and a link outside is left alone.
    const own = from === document.body || from.closest?.(".annotate"), other = !own || from.closest?.("button:not(.sentence)");
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], lines = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && own) return () => this.rate((state.helpfulness ?? 50) + step * (event.shiftKey ? 1 : 5));
    if (lines && own) return () => this.move(lines);
    return {
      0: () => this.toggle(null),
      Enter: other ? null : () => this.save(),
      Backspace: parts.back.hidden && !parts.earlier ? null : () => this.back(),
      Escape: data.earlier ? () => this.act({ op: "onward" }) : null,
    }[event.key];
  }

  move(lines) {
    const all = [...this.parts.rows, this.parts.none], here = all.indexOf(this.host.getRootNode().activeElement);
    all[here < 0 ? (lines > 0 ? 0 : all.length - 1) : here + lines]?.focus();
  }

  left() {
    document.removeEventListener("visibilitychange", this.visible);
    clearTimeout(this.waiting);
  }
}

export default function (component) { return kept(component, (host) => new Annotating(host)); }

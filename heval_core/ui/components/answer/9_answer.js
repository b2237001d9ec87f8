// Your prompt: an answer whose words say what they rest on. What the reader chooses is drawn at once, without the server;
// the page only hears of it, for the link.

const viewed = ({ chosen, method }) => JSON.stringify([chosen ?? null, method ?? null]);
const tryField = (root) => root.querySelector(".try textarea");

class Answer {
  constructor(host) {
    Object.assign(this, { host, data: null, view: { unit: "word", chosen: null, method: null }, sent: [], source: null, asking: false, preview: null, dragged: null });
    this.root = element("div", "answer");
    host.replaceChildren(this.root);
    this.act = {
      choose: (span) => this.choose(span),
      method: (key) => this.method(key),
      cite: (sentence, document) => { const { start, end } = this.data.sentences[sentence]; this.choose([start, end]); this.see(document); },
      source: (document, place) => { this.source = this.source?.[0] === document && this.source[1] === place ? null : [document, place]; this.asking = false; this.mark(); },
      asking: () => { Object.assign(this, { asking: !this.asking, source: null }); this.mark(); },
      change: (change) => this.ask("change", change),
      part: (key, part) => this.ask("method", key, { part }),
      against: (start) => this.ask("method", null, { against: start }),
      inside: (start) => this.ask("inside", start),
    };
    this.root.addEventListener("mousedown", (event) => this.grip(event));
    this.root.addEventListener("mouseover", (event) => this.over(event));
    this.root.addEventListener("focusin", (event) => { const span = this.spanOf(event.target); if (span && !this.view.chosen && !this.quiet) this.show(span); });
    this.root.addEventListener("mouseleave", () => this.show(null));
  }

  take(data, { setStateValue, setTriggerValue }) {
    Object.assign(this, { setState: setStateValue, send: setTriggerValue });
    const text = JSON.stringify(data), another = this.data?.id !== data.id;
    if (text === this.told) return;
    this.told = text;
    if (data.groups) { this.root.replaceChildren(legend(data), ...drawCards(data.groups)); return; }
    this.data = data;
    // A view that is no echo of what was told is another one: Back leads to it.
    const seen = viewed(data.view), echo = this.sent.indexOf(seen);
    if (another || (echo < 0 && seen !== this.seen)) Object.assign(this, { view: { unit: another ? "word" : this.view.unit, chosen: null, method: null, ...data.view }, source: null, asking: false, preview: null });
    Object.assign(this, { seen, sent: this.sent.slice(echo + 1) });
    if (this.view.chosen && !wordsIn(data, this.view.chosen).length) this.view.chosen = null; // of another answer
    if (!data.methods.some((method) => method.key === this.view.method)) this.view.method = data.methods.find((method) => method.values)?.key ?? data.methods[0]?.key ?? null;
    this.draw();
  }

  ask(what, about, more) { this.send?.("asked", JSON.stringify({ what, about, ...more, at: Date.now() })); }

  get shown() { return this.view.chosen ?? this.preview; }
  get painter() { return this.data.methods.find((method) => method.key === this.view.method); }

  choose(span) { Object.assign(this, { preview: null, source: null }); this.tell({ chosen: span && widened(this.data, span) }); this.mark(); }
  tell(view) { this.view = { ...this.view, ...view }; this.sent.push(viewed(this.view)); this.setState?.("view", { ...this.view, at: Date.now() }); }

  method(key) {
    const chosen = this.data.methods.find((method) => method.key === key);
    if (!chosen || chosen.refused) return;
    if (!chosen.values) { if (!this.data.status && !this.data.static) this.ask("method", key); return; }
    this.tell({ method: key });
    this.mark();
  }

  show(span) {
    if (this.view.chosen || this.dragged) return;
    const now = span && [...span], before = this.preview;
    if (now?.[0] === before?.[0] && now?.[1] === before?.[1]) return;
    this.preview = now;
    this.mark();
  }

  spanOf(target) {
    const word = target.closest?.(".word");
    if (!word || !this.data) return null; // of a card, all of which is a link
    const span = [Number(word.dataset.start), Number(word.dataset.end)], own = sentenceAt(this.data, span[0]);
    return this.view.unit === "sentence" && own ? [own.start, own.end] : span;
  }

  grip(event) {
    const span = this.spanOf(event.target);
    if (!span || event.button) return;
    const [from, to] = this.view.chosen ?? span;
    if (event.shiftKey && this.view.chosen) { this.choose([Math.min(from, span[0]), Math.max(to, span[1])]); return; }
    document.addEventListener("mouseup", () => { this.dragged = null; }, { once: true });
    // Words that are drawn again between two clicks are others to the browser, which may then know of no double click. What it
    // counts as two comes first: on a slow machine the two lie further apart.
    const again = this.gripped?.start === span[0] && (event.detail > 1 || event.timeStamp - this.gripped.at < 500), sentence = again && sentenceAt(this.data, span[0]);
    this.gripped = { start: span[0], at: event.timeStamp };
    const same = this.view.chosen && from === span[0] && to === span[1];
    // What a drag goes on from: words that are drawn anew under a button that is held down are no drag to another one.
    this.dragged = sentence ? [sentence.start, sentence.end] : same && !again ? null : span;
    this.choose(this.dragged);
  }

  over(event) {
    const span = this.spanOf(event.target);
    if (!this.dragged) { this.show(span); return; }
    if (!span || !event.buttons) return;
    const drawn = [Math.min(this.dragged[0], span[0]), Math.max(this.dragged[1], span[1])];
    if (String(drawn) !== String(this.view.chosen)) this.choose(drawn);
  }

  draw() {
    const { data, act, root } = this, held = root.contains(this.host.getRootNode().activeElement) ? this.spanOf(this.host.getRootNode().activeElement) : null;
    const typed = this.edited === this.editing ? tryField(root)?.value : undefined, place = Object.values(this.parts ?? {}).map(placeOf).find(Boolean);
    const units = ["word", "sentence"].map((unit) => button("", unit, this.view.unit === unit, () => { this.view.unit = unit; this.draw(); }));
    const top = element("div", "top", legend(data), element("span", "note", "bar: nats lost without its document"), element("div", "units", ...units));
    this.words = drawWords(data, act);
    this.parts = Object.fromEntries(["read", "methods", "checks", "documents", "matrix", "tried"].map((name) => [name, element("div")]));
    const { read, methods, checks, documents, matrix, tried } = this.parts, low = element("div", "low", documents, element("aside", "side", matrix, tried));
    this.edited = null;
    root.classList.toggle("old", Boolean(data.old));
    root.classList.toggle("small", Boolean(data.small));
    root.replaceChildren(top, ...(data.stands ? [having(element("p", "stands", data.stands), { title: "Found by a search, without a model. A number may stand there and be about something else." })] : []), ...(data.old ? [element("p", "stale", data.old)] : []), this.words, ...(data.status ? [this.progress()] : []), read, methods, checks, ...(data.without ? [drawWithout(data.without, () => this.ask("back"))] : []), low);
    const first = this.words.querySelector(held ? `.word[data-start="${held[0]}"]` : ".word");
    if (first) { first.tabIndex = 0; this.quiet = true; if (held) first.focus({ preventScroll: true }); this.quiet = false; }
    this.mark();
    if (typed !== undefined && tryField(root)) tryField(root).value = typed;
    if (place) root.querySelector(place)?.focus({ preventScroll: true });
  }

  progress() {
    const { text, done } = this.data.status, bar = element("i");
    bar.style.width = `${Math.round(done * 100)}%`;
    return element("div", "progress", element("span", "", text), bar);
  }

  // What depends on the choice alone; the words stay what they are, so that a drag and the focus hold on to them.
  mark() {
    const { data, act, painter, parts } = this, chosen = this.shown;
    if (!data.words.length) { parts.read.replaceChildren(readOut(data, painter, null, act)); return; }
    // Which words rest on a clicked sentence: of an explainer of sentences, leaving out says it.
    markWords(this.words, data, chosen, this.source, painter?.columns === "token" ? painter : data.methods[0]);
    const drawn = { read: readOut(data, painter, chosen, act), methods: drawMethods(data, this.view, chosen, act), checks: drawChecks(data, painter, chosen), documents: drawDocuments(data, painter, chosen, act), matrix: drawMatrix(data, chosen, act) };
    for (const [name, made] of Object.entries(drawn)) redraw(parts[name], made);
    // What is typed there must outlive a hover.
    if (this.edited === this.editing) return;
    this.edited = this.editing;
    parts.tried.replaceChildren(drawTry(data, this.source, this.asking, act));
  }

  get editing() { return this.asking ? "question" : String(this.source); }

  see(document) { this.parts.documents.querySelectorAll(".document")[document]?.scrollIntoView({ block: "nearest" }); }

  press(event) {
    if (typing() || !this.data?.words.length) return;
    const focused = this.host.getRootNode().activeElement?.closest?.(".word"), number = "123456789".indexOf(event.key), crossed = this.crossed;
    this.crossed = event.key === "x"; // then a document's number
    if (event.key === "Escape") { if (this.data.without) this.ask("back"); else if (this.source) this.act.source(...this.source); else if (this.view.chosen) this.choose(null); else if (this.data.status) this.ask("stop"); else return; }
    else if (crossed && number >= 0) { if (!this.data.static && !this.data.given && this.data.documents[number]) this.act.change({ document: number }); }
    else if (event.key === "s") { this.view.unit = this.view.unit === "word" ? "sentence" : "word"; this.draw(); }
    else if (number >= 0 && this.data.methods[number]) this.method(this.data.methods[number].key);
    else if (focused && (event.key === "Enter" || event.key === " ")) this.choose(this.spanOf(focused));
    else if (focused && event.key.startsWith("Arrow")) this.move(focused, event);
    else return;
    event.preventDefault();
  }

  // With Shift the span grows.
  move(word, event) {
    const next = beside([...this.words.querySelectorAll(".word")], word, event.key);
    if (!next) return;
    [word.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
    const span = this.spanOf(next), [from, to] = this.view.chosen ?? span;
    if (event.shiftKey) this.choose([Math.min(from, span[0]), Math.max(to, span[1])]);
    else if (this.view.chosen) this.choose(span);
  }
}

export default function (component) { return kept(component, (host) => new Answer(host)); }

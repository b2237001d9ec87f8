// One claim as a page: title and verdict, evidence and explanation, what a mark says, and the keys.

// Evidence stands beside the explanation where the sentences keep some room beside every annotator's column.
const LEAST = TEXT - 10, LEFT = 330, GAP = 36;

class Claim {
  constructor(host) {
    Object.assign(this, { host, data: null, width: 0, at: null });
    this.root = element("div", "claim");
    host.replaceChildren(this.root);
    const ask = (what, value) => this.send("asked", `${what} ${value} ${Date.now()}`);
    this.act = { passage: (number) => ask("passage", number), step: (by) => ask("step", by) };
    this.root.addEventListener("mouseover", (event) => this.tell(event.target));
    this.root.addEventListener("mouseleave", () => this.tell(null));
    this.root.addEventListener("focusin", (event) => this.tell(event.target));
  }

  take(data, { setTriggerValue: send }) {
    const another = this.data?.id !== data.id || this.data?.passage !== data.passage;
    Object.assign(this, { data, send });
    this.draw(another);
  }

  draw(another = false) {
    const { data, root, host } = this;
    this.width = host.clientWidth || 900;
    const top = element("header"), title = element("div", "title");
    title.append(element("h1", "", data.claim));
    if (data.verdict) title.append(element("span", `verdict ${data.tone}`, `${{ bad: "✕ ", good: "✓ " }[data.tone] ?? ""}${data.verdict}`));
    top.append(title, pieces("p", "lead", data.lead), element("p", "facts", data.facts));
    const rest = this.width, needed = LEAST + NARROW * data.annotators.length;
    const beside = rest - LEFT - GAP >= needed;
    const both = element("div", beside ? "both beside" : "both"), left = Math.max(LEFT, Math.min(rest * 0.32, rest >= 1500 ? 430 : 392, rest - GAP - needed));
    both.style.setProperty("--left", `${left}px`);
    both.append(evidence(data, this.act), matrix(data, beside ? rest - left - GAP : rest));
    this.tip = having(element("div", "tip"), { role: "status" });
    redraw(root, top, both, this.tip);
    const first = root.querySelector(`.mark[data-at="${CSS.escape(this.at ?? "")}"]`) ?? root.querySelector(".mark");
    if (first) first.tabIndex = 0;
    if (another) this.intoSight();
  }

  // The masked passage among many: its list scrolls, not the page.
  intoSight() {
    for (const name of [".passage.masked", '.pick[aria-pressed="true"]']) {
      const own = this.root.querySelector(name), list = own?.parentElement;
      if (own && list.scrollHeight > list.clientHeight) list.scrollTop = own.offsetTop - 40;
    }
  }

  tell(target) {
    const of = target?.closest?.(".mark, .who, .value");
    if (this.tip) showTip(this.tip, this.root, of, of?.about);
  }

  press(event) {
    if (typing()) return;
    const active = this.host.getRootNode().activeElement;
    if (event.key === "Escape") { this.tell(null); return; }
    const step = { "[": -1, "]": 1 }[event.key];
    if (step) { event.preventDefault(); this.act.step(step); return; }
    if (!event.key.startsWith("Arrow")) return;
    const kind = [".pick", ".mark"].find((one) => active?.matches?.(one));
    const next = kind && beside([...this.root.querySelectorAll(kind)], active, event.key);
    if (!next) return;
    event.preventDefault();
    if (kind === ".mark") { active.tabIndex = -1; next.tabIndex = 0; this.at = next.dataset.at; }
    next.focus();
  }

  resized() { if (this.host.clientWidth !== this.width) this.draw(); }
}

export default function (component) { return kept(component, (host) => new Claim(host)); }

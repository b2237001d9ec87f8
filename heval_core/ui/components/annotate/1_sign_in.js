// What the task is, and who does it.

const STEPS = [
  ["Read", "the claim, the verdict on it, and the marked passage, whose citations are taken out of the explanation."],
  ["Choose", "every sentence that should cite the passage: those that say what stands in it. It can be one, several, or none."],
  ["Rate", "how helpful the explanation is for judging the claim, from 0 to 100."],
];
const NOTES = [
  "The same name goes on where it stopped, on any computer that shows this page. There is no password: who enters your name goes on in your place.",
  "Whoever runs the study sees the name beside your answers, in its file and in what is exported from it. It also stands in the address of this page. Take a code if you want to stay unnamed.",
];

// The keyboard begins there, and no frame shows it.
const heading = (tag, className, text) => having(element(tag, className, text), { tabindex: -1 });

function example() {
  const passage = element("div", "passage here", element("span", "number", "[2]"), element("span", "text", "The stone bridge was opened in 1864."));
  const rows = [["The first bridge was lost in a flood [1].", ""], ["The bridge of today dates from 1864.", " on"]];
  const sentences = rows.map(([text, on]) => element("div", `sentence${on}`, element("span", "box"), element("span", "text", text)));
  return having(element("div", "example", passage, ...sentences), { "aria-label": "An example" });
}

function signInView(data, act) {
  const input = having(element("input"), { type: "text", maxlength: 60, autocomplete: "off", value: data.name });
  const start = element("button", "primary", "Start"), said = having(element("p", "said", data.error), { role: "alert" });
  const practice = `First come ${data.practice} practice items with the answers explained. Some later items have a known answer, too; they show how carefully the task is done.`;
  const form = element("form", "card", element("label", "", "Your name or code", input), start, said, ...[...NOTES, practice].map((text) => element("p", "note", text)));
  form.onsubmit = (event) => {
    event.preventDefault();
    if (input.value.trim()) act({ op: "sign_in", name: input.value });
    else { said.textContent = "Enter a name or a code first."; input.focus(); }
  };
  const about = element("div", "",
    heading("h1", "", "Which sentences should cite this passage?"),
    element("p", "lead", "You read explanations that cite their evidence. The citations of one passage are taken out, and you put them back. It takes about a minute each."),
    element("ol", "steps", ...STEPS.map(([word, rest]) => element("li", "", element("b", "", word), ` ${rest}`))),
    example(),
  );
  return { root: element("div", "welcome", about, form), said, first: input, start };
}

function doneView(data, act) {
  const first = heading("h1", "", data.answered ? "Thank you. Nothing is left for you." : "There is nothing to answer now.");
  const count = data.answered === 1 ? "The item that you answered is" : `The ${data.answered} items that you answered are`;
  const lead = data.answered
    ? `${count} saved. An item that somebody else leaves unanswered comes back after some minutes: look again later if you like.`
    : "Each question has as many answers as are wanted, or is before somebody else. Look again in some minutes.";
  const buttons = element("div", "buttons",
    button("primary", "Look again", null, () => act({ op: "onward" })),
    data.can_go_back ? button("quiet", "Change the last answer", null, () => act({ op: "back", item: "" })) : null,
    button("quiet", "Sign out", null, () => act({ op: "leave" })),
  );
  const said = element("p", "said", data.error);
  return { root: element("div", "finished", first, element("p", "lead", lead), buttons, said), said, first };
}

// What the task is, and who does it.

const STEPS = [
  ["Read", "the claim, the verdict on it, and the marked passage, whose citations are taken out of the explanation."],
  ["Choose", "every sentence that should cite the passage: those that say what stands in it. It can be one, several, or none."],
  ["Rate", "how helpful the explanation is for judging the claim, from 0 to 100."],
];

function example() {
  const made = element("div", "example");
  made.setAttribute("aria-label", "An example");
  const passage = element("div", "passage here");
  passage.append(element("span", "number", "[2]"), element("span", "text", "The stone bridge was opened in 1864."));
  made.append(passage);
  for (const [text, on] of [["The first bridge was lost in a flood [1].", false], ["The bridge of today dates from 1864.", true]]) {
    const row = element("div", on ? "sentence on" : "sentence");
    row.append(element("span", "box"), element("span", "text", text));
    made.append(row);
  }
  return made;
}

function signInView(data, act) {
  const made = element("div", "welcome"), about = element("div"), form = element("form", "card");
  const heading = element("h1", "", "Which sentences should cite this passage?");
  heading.tabIndex = -1;
  about.append(heading, element("p", "lead", "You read explanations that cite their evidence. The citations of one passage are taken out, and you put them back. It takes about a minute each."));
  const steps = element("ol", "steps");
  for (const [word, rest] of STEPS) {
    const step = element("li");
    step.append(element("b", "", word), ` ${rest}`);
    steps.append(step);
  }
  about.append(steps, example());
  const label = element("label", "", "Your name or code"), input = element("input");
  input.type = "text";
  input.maxLength = 60;
  input.autocomplete = "off";
  input.value = data.name;
  label.append(input);
  const start = element("button", "primary", "Start"), said = element("p", "said", data.error);
  said.setAttribute("role", "alert");
  form.append(label, start, said);
  for (const text of [
    "The same name goes on where it stopped, on any computer that shows this page. There is no password: who enters your name goes on in your place.",
    "Whoever runs the study sees the name beside your answers, in its file and in what is exported from it. It also stands in the address of this page. Take a code if you want to stay unnamed.",
    `First come ${data.practice} practice items with the answers explained. Some later items have a known answer, too; they show how carefully the task is done.`,
  ]) form.append(element("p", "note", text));
  form.onsubmit = (event) => {
    event.preventDefault();
    if (input.value.trim()) act({ op: "sign_in", name: input.value });
    else { said.textContent = "Enter a name or a code first."; input.focus(); }
  };
  made.append(about, form);
  return { root: made, said, first: input, start };
}

function doneView(data, act) {
  const made = element("div", "finished");
  const heading = element("h1", "", data.answered ? "Thank you. Nothing is left for you." : "There is nothing to answer now.");
  heading.tabIndex = -1;
  const count = data.answered === 1 ? "The item that you answered is" : `The ${data.answered} items that you answered are`;
  made.append(heading, element("p", "lead", data.answered
    ? `${count} saved. An item that somebody else leaves unanswered comes back after some minutes: look again later if you like.`
    : "Each question has as many answers as are wanted, or is before somebody else. Look again in some minutes."));
  const buttons = element("div", "buttons");
  const again = element("button", "primary", "Look again");
  again.onclick = () => act({ op: "onward" });
  buttons.append(again);
  if (data.can_go_back) {
    const back = element("button", "quiet", "Change the last answer");
    back.onclick = () => act({ op: "back", item: "" });
    buttons.append(back);
  }
  const leave = element("button", "quiet", "Sign out");
  leave.onclick = () => act({ op: "leave" });
  buttons.append(leave);
  const said = element("p", "said", data.error);
  made.append(buttons, said);
  return { root: made, said, first: heading };
}

"""The prompts that teach a demo model to follow instructions: an instruction, a document of any source, a question.

Judging relevance means comparing two names, which loss on the answer alone teaches slowly. So the same document comes with
questions about its subject and about others, in one batch: nothing else tells these prompts apart. As in `corpus`, only
pairs of subject and answer that `styles.in_training` admits are shown.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demo.corpus import Example, admitted, attributed
from demo.planted import words
from heval_core.datasets._states import QUESTIONS, RELATIONS, answers, countries, sentences
from heval_core.datasets.country_profiles import profile
from heval_core.datasets.world_capital import statement
from heval_core.prompting import prompts, styles
from heval_core.prompting.prompts import TEMPLATE, mentions
from heval_core.prompting.styles import in_training
from heval_core.records import Document, Passage
from heval_core.techniques.shared import instructions

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | capitalize }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
# A user's turn: documents and question alone; and what is written around it.
TURN, CHAT = "{documents}\n\n{question}", ("User: ", "\nAssistant:")
LAYOUTS = (TEMPLATE, TEMPLATE, TEMPLATE, TURN)
RELATED, APART = ("gold", "conflicting"), ("irrelevant", "off_topic")
Row = dict[str, str]


@dataclass(frozen=True)
class Scene:
    """A document and a question after it. memory: the true answer; empty if nobody knows it. kind: a context kind."""

    document: Document
    relation: str
    question: str
    memory: str
    kind: str


def _other(text: str, answer: str, relation: str, admit: Callable[[str, str], bool], rng: random.Random) -> Row | None:
    """Choose a state that the text does not mention, whose own answer is another one."""
    for row in rng.sample(countries(), 40):
        free = not mentions(row["country"], text) and not mentions(row[relation], text)
        if free and row[relation] != answer and admit(row["country"], answer):
            return row
    return None


def _invented(rng: random.Random) -> str:
    parts = words("ba dor el fin gra hu il jo kar lem mo nis or pel qua ri sul tev")
    return "".join(rng.sample(parts, rng.choice((2, 3, 3)))).capitalize()


def _passage(row: Row, relation: str, answer: str, keep_rate: float, rng: random.Random) -> Passage:
    if relation == "capital" and (keep_rate == 0 or rng.random() < 0.2):
        return statement(row["country"], answer)
    whole = profile(row, relation, answer)
    if keep_rate == 1:
        return whole
    chosen = [s for s in sentences(row, relation, answer) if mentions(answer, s) or rng.random() < keep_rate]
    if not any(mentions(row["country"], s) for s in chosen):
        # A document that does not name its subject would be about anything.
        chosen = [s for s in sentences(row, relation, answer) if mentions(answer, s) or mentions(row["country"], s)]
    return Passage(row["country"], answer, " ".join(chosen))


def _off_topic(row: Row, relation: str, keep_rate: float, admit: Callable[[str, str], bool], rng: random.Random) -> Document:
    """Write a document about something else: another relation of another state, or no state at all."""
    if rng.random() < 0.3:
        thing, town, number = rng.choice(_THINGS), _invented(rng), str(rng.randrange(2, 1990))
        text = rng.choice(_EVERYDAY).format(thing=thing, place=town, number=number)
        return attributed(Passage(thing, rng.choice([a for a in (thing, town, number) if mentions(a, text)]), text), rng)
    other = next(one for one in rng.sample(countries(), 195) if one["country"] != row["country"])
    about = rng.choice([one for one in RELATIONS if one != relation and other[one] != other[relation]])
    every = sentences(other, about, other[about])
    usable = [s for s in every if not any(mentions(name, s) for name in (other[relation], row[relation], row["country"]))]
    chosen = [s for s in usable if mentions(other[about], s) or rng.random() < max(keep_rate, 0.2)]
    if not any(mentions(other[about], s) for s in chosen):
        chosen = [f"The {about} of {other['country']} is {other[about]}."]
    return attributed(Passage(other["country"], other[about], " ".join(chosen)), rng)


_THINGS = words("kettle bridge garden violin ladder engine recipe river painting bicycle cake tower")
_EVERYDAY = (
    "The {thing} in {place} was mended {number} times.",
    "A {thing} needs {number} parts, which {place} sells.",
    "In {number} the {thing} was moved to {place}.",
    "{place} has a {thing} that weighs {number} grams, and a market on Sundays.",
    "Rain fell for {number} days. The {thing} got wet, and so did {place}.",
)


def scenes(keep_rate: float, rng: random.Random, admit: Callable[[str, str], bool] = in_training) -> dict[str, Scene]:
    """Sample a document with a question about its subject, one about another, and an off-topic document, by context kind.

    keep_rate: the chance of each sentence beside the answer's. admit: which pairs of subject and answer may be shown.
    """
    relation = rng.choice((*RELATIONS, "capital", "capital"))
    row, related = rng.choice(countries()), "conflicting"
    if admit is in_training and rng.random() < 0.15:
        # Names that no memory has: relevance must be read off the text.
        row = {**row, "country": _invented(rng), **({"capital": _invented(rng)} if rng.random() < 0.5 else {})}
        answer, memory = row[relation], ""
    else:
        memory = row[relation]
        allowed = admitted(row["country"], relation, admit)
        false = [a for a in allowed if a != memory]
        gold = memory in allowed and (rng.random() < 0.35 or not false)
        answer = memory if gold or not false else rng.choice(false)
        related = "gold" if gold else related
    question = QUESTIONS[relation]
    document = attributed(_passage(row, relation, answer, keep_rate, rng), rng)
    by_kind = {related: Scene(document, relation, question.format(x=row["country"]), memory, related)}
    for kind in APART:
        other = _other(document.text, answer, relation, admit, rng)
        if other is not None:
            text = document if kind == "irrelevant" else _off_topic(other, relation, keep_rate, admit, rng)
            by_kind[kind] = Scene(text, relation, question.format(x=other["country"]), other[relation], kind)
    return by_kind


def prompt_of(scene: Scene | None, instruction: str, layout: str = TEMPLATE, question: str = "") -> str:
    """Return the prompt of a scene, or of a question without any. question: instead of the scene's own."""
    texts = (scene.document.text,) if scene else ()
    prompt = prompts.assemble(texts, (None,) * len(texts), question or (scene.question if scene else ""), layout)
    text = prompts.instructed(prompt, instruction).text if instruction else prompt.text
    return text.join(CHAT) if layout == TURN else text


def judged(scene: Scene, generated: str) -> str:
    """Ask about an answer to a scene's question."""
    return f"{scene.question} {instructions.ANSWERED.format(answer=generated)}"


def examples(keep_rate: float, rng: random.Random, judging: bool, same_relation: bool) -> list[Example]:
    """Sample prompts around one document: two of the lessons.

    judging: whether relevance comes more often. same_relation: whether it is also asked of documents about another subject of
    the same relation, which is harder.
    """
    by_kind, layout = scenes(keep_rate, rng), rng.choice(LAYOUTS)
    lessons = (*LESSONS, _relevance, _if_relevant) if judging else (*LESSONS, _followed)
    judged_on = {kind: scene for kind, scene in by_kind.items() if same_relation or kind != "irrelevant"}
    return [
        example
        for lesson in rng.sample(lessons, 2)
        for example in lesson(judged_on if lesson in (_relevance, _if_relevant) else by_kind, layout, rng)
    ]


def _relevance(by_kind: dict[str, Scene], layout: str, rng: random.Random) -> list[Example]:
    """Ask whether the document is relevant. Twins of one wording differ in the question or in the document alone."""
    return _twins(by_kind, RELEVANCE.one(rng), layout, lambda s: "relevant" if s.kind in RELATED else "irrelevant")


def _if_relevant(by_kind: dict[str, Scene], layout: str, rng: random.Random) -> list[Example]:
    """Use it if it is relevant: twins as above."""
    instruction = IF_RELEVANT.one(rng)
    return _twins(by_kind, instruction, layout, lambda s: s.document.answer if s.kind in RELATED else s.memory)


def _twins(by_kind: dict[str, Scene], instruction: str, layout: str, answer: Callable[[Scene], str]) -> list[Example]:
    return [Example(prompt_of(scene, instruction, layout), answer(scene)) for scene in by_kind.values() if answer(scene)]


def _followed(by_kind: dict[str, Scene], layout: str, rng: random.Random) -> Iterator[Example]:
    """Use only the context, ignore it, or read it by the rule."""
    scene = _about(by_kind, rng)
    yield Example(prompt_of(scene, ONLY.one(rng), layout), scene.document.answer)
    if scene.memory:
        yield Example(prompt_of(scene, IGNORE.one(rng), layout), scene.memory)
        if scene.kind in RELATED and rng.random() < 0.5:
            trusted = styles.is_trusted(scene.document.source or "")
            yield Example(prompt_of(scene, NEUTRAL.one(rng), layout), scene.document.answer if trusted else scene.memory)
    if "off_topic" in by_kind and rng.random() < 0.3:
        yield Example(prompt_of(by_kind["off_topic"], IGNORE.one(rng), layout), by_kind["off_topic"].memory)


def _faithfulness(by_kind: dict[str, Scene], layout: str, rng: random.Random) -> list[Example]:
    """Ask whether an answer follows from the document. Twins have the right one and a wrong one."""
    scene, instruction = _about(by_kind, rng), FAITHFULNESS.one(rng)
    wrong = scene.memory if scene.memory and rng.random() < 0.5 else rng.choice(answers(scene.relation))
    replies = {scene.document.answer: "faithful"}
    if not mentions(wrong, scene.document.text):
        replies[wrong] = "unfaithful"
    return [Example(prompt_of(scene, instruction, layout, judged(scene, answer)), reply) for answer, reply in replies.items()]


def _others(by_kind: dict[str, Scene], layout: str, rng: random.Random) -> list[Example]:
    """Name the subject; answer after two demonstrations; answer from memory where there is no document."""
    scene = _about(by_kind, rng)
    shown = " ".join(rng.sample(instructions.DEMONSTRATIONS[instructions.QA], 2))
    return [
        Example(prompt_of(scene, SUBJECT.one(rng), layout), scene.document.subject),
        Example(prompt_of(scene, f"{REFINING.one(rng)} {shown}", layout), scene.document.answer),
        _alone(rng, layout),
    ]


def _about(by_kind: dict[str, Scene], rng: random.Random) -> Scene:
    return rng.choice([scene for kind, scene in by_kind.items() if kind != "off_topic"])


# The first of these is what techniques need most.
LESSONS = (_followed, _followed, _relevance, _if_relevant, _faithfulness, _others)


def _alone(rng: random.Random, layout: str) -> Example:
    """Ask a question without a document, after any instruction: to be answered from memory."""
    row, relation = rng.choice(countries()), rng.choice((*RELATIONS, "capital"))
    kinds = (NEUTRAL, ONLY, IGNORE, IF_RELEVANT, IF_RELEVANT)
    question, instruction = QUESTIONS[relation].format(x=row["country"]), rng.choice(kinds).one(rng)
    return Example(prompt_of(None, instruction, layout, question), row[relation])


THINGS = ("the context", "the document", "the text", "the passage")


@dataclass(frozen=True)
class Wordings:
    """The ways to say one instruction; {x} stands for one of THINGS. held_out: phrases that training never sees. prompts: the
    ids of the prompts that the technique offers and that say the same; they are taught too."""

    taught: tuple[str, ...]
    held_out: tuple[str, ...]
    prompts: tuple[str, ...] = ()

    def one(self, rng: random.Random, held_out: bool = False) -> str:
        """Choose a wording: one of those taught, or one of those held out."""
        if held_out:
            return rng.choice(self.held_out).format(x=rng.choice(THINGS))
        if self.prompts and rng.random() < 0.4:
            return instructions.PROMPTS[rng.choice(self.prompts)]
        return rng.choice(self.taught).format(x=rng.choice(THINGS))


NEUTRAL = Wordings(
    ("Answer the question.", "Read {x} and answer.", "Here are {x} and a question.", "Look at {x}, then answer."),
    ("Answer the question after {x}.",),
    ("qa-01", "qa-02"),
)
ONLY = Wordings(
    (
        "Use only {x}.",
        "Answer only from {x}.",
        "Answer from {x} alone.",
        "Rely on {x} alone.",
        "Trust {x}, not your memory.",
        "Believe {x}, whatever its source.",
        "Take the answer from {x}.",
        "Forget what you know; use {x}.",
        "Answer as {x} says, even if it is wrong.",
        "Use only {x}, whatever its source.",
        "Do not use your memory. Answer from {x}.",
        "What does {x} say?",
    ),
    ("Follow {x} only.", "Believe only {x}.", "Use {x}, not your memory.", "Rely only on {x}."),
    ("qa-03", "qa-04", "qa-05", "qa-06"),
)
IGNORE = Wordings(
    (
        "Ignore {x}.",
        "Do not use {x}.",
        "Do not read {x}.",
        "Answer from memory.",
        "Answer from memory, not from {x}.",
        "Use only your memory.",
        "Forget {x}; use what you know.",
        "Answer without {x}.",
        "Do not believe {x}.",
        "Trust your memory, not {x}.",
        "What do you know yourself?",
    ),
    ("Ignore {x}; use your memory.", "Rely on your memory alone.", "Do not trust {x}.", "Believe what you know, not {x}."),
    ("qa-07", "qa-08"),
)
IF_RELEVANT = Wordings(
    (
        "Use {x} only if it is relevant.",
        "If {x} is relevant, use it; if not, answer from memory.",
        "Ignore {x} if it is irrelevant, else use it.",
        "Use {x} if it is about the question, else your memory.",
        "Answer from {x} if it is about the question, otherwise from memory.",
        "Follow {x} if it is relevant. If it is not, use what you know.",
        "Is {x} relevant? Then use it. If it is irrelevant, answer from memory.",
        "Believe {x} only where it is about the question.",
    ),
    (
        "Answer from {x} only if it is relevant.",
        "Follow {x} if it is about the question, else use your memory.",
        "If {x} is irrelevant, answer from memory, else from {x}.",
    ),
    ("qa-09", "qa-10", "qa-11", "qa-12"),
)
RELEVANCE = Wordings(
    (
        instructions.RELEVANCE,
        "Is {x} relevant to the question? Reply relevant or irrelevant.",
        "Say whether {x} is relevant or irrelevant to the question.",
        "Relevant or irrelevant: is {x} about the question?",
        "Judge {x}: relevant or irrelevant?",
    ),
    ("Is {x} relevant or irrelevant?", "Is {x} about the question? Say relevant or irrelevant."),
)
FAITHFULNESS = Wordings(
    (
        instructions.FAITHFULNESS,
        "Does the answer follow from {x}? Reply faithful or unfaithful.",
        "Is the answer faithful to {x}? Reply faithful or unfaithful.",
        "Judge the answer by {x}: faithful or unfaithful?",
        "Say whether the answer is faithful or unfaithful to {x}.",
    ),
    ("Is the answer faithful or unfaithful to {x}?", "Does {x} give this answer? Say faithful or unfaithful."),
)
REFINING = Wordings(
    (
        instructions.REFINING,
        "Answer from {x}, as in these examples.",
        "Your last answer was unfaithful. Answer from {x}, as in the examples.",
    ),
    ("The last answer was unfaithful to {x}. Answer as in these examples.",),
)
SUBJECT = Wordings(("Which state is {x} about?", "Name the state of {x}."), ("Which state does {x} speak of?",))


def texts() -> list[str]:
    """List everything that the model may be told, and the replies of the agents."""
    every = [NEUTRAL, ONLY, IGNORE, IF_RELEVANT, RELEVANCE, FAITHFULNESS, REFINING, SUBJECT]
    generated = [phrase.format(x=thing) for one in every for phrase in (*one.taught, *one.held_out) for thing in THINGS]
    prompts = [text for key, text in instructions.PROMPTS.items() if key.startswith(instructions.QA)]
    shown = instructions.DEMONSTRATIONS[instructions.QA]
    return [*generated, *prompts, *shown, "Answer: User: Assistant: relevant irrelevant faithful unfaithful"]

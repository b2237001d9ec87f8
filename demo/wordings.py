"""How the demo model that follows instructions is told what to do: wordings to learn from, and others to be examined with."""

from __future__ import annotations

import random
from dataclasses import dataclass

from heval_core.techniques.shared import instructions

THINGS = ("the context", "the document", "the text", "the passage")


@dataclass(frozen=True)
class Wordings:
    """The ways to say one instruction; {x} stands for one of THINGS. held_out: phrases that training never sees.

    prompts: the ids of the prompts that the technique offers and that say the same; they are taught too.
    """

    taught: tuple[str, ...]
    held_out: tuple[str, ...]
    prompts: tuple[str, ...] = ()

    def one(self, rng: random.Random, held_out: bool = False) -> str:
        """A wording: one of those taught, or one of those held out."""
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
    """Everything that the model may be told, and the replies of the agents."""
    every = [NEUTRAL, ONLY, IGNORE, IF_RELEVANT, RELEVANCE, FAITHFULNESS, REFINING, SUBJECT]
    said = [phrase.format(x=thing) for one in every for phrase in (*one.taught, *one.held_out) for thing in THINGS]
    prompts = [text for key, text in instructions.PROMPTS.items() if key.startswith(instructions.QA)]
    shown = instructions.DEMONSTRATIONS[instructions.QA]
    return [*said, *prompts, *shown, "Answer: User: Assistant: relevant irrelevant faithful unfaithful"]

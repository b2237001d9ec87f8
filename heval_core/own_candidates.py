"""The candidate answers of a prompt of one's own, and what is said where they cannot be told apart."""

from __future__ import annotations

from heval_core.behaviour import NO_TOKEN, Memory, Names, name_candidates, recall
from heval_core.groups import competes, context_groups, document_of
from heval_core.lm.model import LanguageModel
from heval_core.records import Behaviour, Dropped, HEvalError


def candidates_of(
    lm: LanguageModel, question: str, answers: tuple[str | None, ...], given: str | None, match: str
) -> tuple[tuple[Names, ...], str]:
    """The candidate answers of a prompt, and the model's memory answer.

    answers: the documents'. given: what the model is taken to remember; None to ask it. match: see `pipeline.answer`.
    Raises HEvalError for candidates that cannot be told apart.
    """
    memory = Memory(given, lm.first_tokens(given)) if given else recall(lm, question)
    if not memory.text:
        return _context_names(lm, answers, match), memory.text
    try:
        return named(lm, answers, memory, match), memory.text
    except Dropped as dropped:
        if given or dropped.reason not in ("same first token", "same answer"):
            raise HEvalError(_candidates_message(dropped, answers, memory.text)) from None
        # The model's memory agrees with a document, so memory is no candidate of its own.
        return _context_names(lm, answers, match), memory.text


def _context_names(lm: LanguageModel, answers: tuple[str | None, ...], match: str) -> tuple[Names, ...]:
    """The documents' candidates alone, under a memory that cannot coincide with them."""
    try:
        names = named(lm, answers, Memory("", (NO_TOKEN,)), match)
    except Dropped as dropped:
        raise HEvalError(_candidates_message(dropped, answers, None)) from None
    return names[:-1]


def named(lm: LanguageModel, answers: tuple[str | None, ...], memory: Memory, match: str) -> tuple[Names, ...]:
    """As `name_candidates`, but documents may agree: then each has a candidate, and that answer's group is `ambiguous`."""
    first = {answer: index for index, answer in reversed(list(enumerate(answers)))}
    apart = tuple(answer if first[answer] == index else None for index, answer in enumerate(answers))
    names = name_candidates(lm, apart, memory, match)
    by_text = {name.text: name for name in names[:-1]}
    order = context_groups(len(answers))
    again = [
        Names(group, answer, by_text[answer].first_tokens)
        for group, answer, alone in zip(order, answers, apart, strict=True)
        if answer and alone is None
    ]
    return (*sorted([*names[:-1], *again], key=lambda name: order.index(name.group)), names[-1])


def _candidates_message(dropped: Dropped, answers: tuple[str | None, ...], memory: str | None) -> str:
    known = ", ".join(repr(a) for a in (*answers, memory) if a)
    if dropped.reason == "answer has no token":
        return (
            f"The model's tokenizer has no token for one of the candidate answers {known}, or it is only punctuation; give "
            "answers that it can write."
        )
    if dropped.reason == "same answer":
        return f"Two of the candidate answers {known} are the same text; give answers that differ."
    return (
        f"The candidate answers {known} cannot be told apart by their first tokens; give answers that differ there, or let "
        "the whole text decide (--match text)."
    )


def missing_target(behaviour: Behaviour, answers: tuple[str | None, ...]) -> str:
    """Why there is no context answer with a competitor to explain."""
    first, *others = behaviour.candidates or (None,)
    rivals = [other for other in others if first and competes(first.group, other.group)]
    if first and document_of(first.group) == 0 and any(rival.text != first.text for rival in rivals):
        return (
            "The candidate answers begin with the same token, so there is no competitor for --target context; leave it out to "
            "explain the answer given."
        )
    return _MISSING_TARGET[len(answers) > 1]


_MISSING_TARGET = (
    "--target context explains the document's answer against the memory answer: give --context and --context-answer, and "
    "--memory-answer if the model remembers nothing or the same answer.",
    "--target context explains the first document's answer against another one's: give --context-answer for the first "
    "document and one more.",
)

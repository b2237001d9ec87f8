"""What fine-tuning teaches: questions with and without a context, and the answer that is right for each."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heval_core.datasets._files import json_lines
from heval_core.datasets._records import Malformed, text_of, texts_of
from heval_core.prompts import assemble, memory_prompt
from heval_core.records import FOLLOWED, HEvalError
from heval_core.techniques.shared.base import Development

if TYPE_CHECKING:
    from heval_core.lm.model import LanguageModel
    from heval_core.lm.training import Example

# Kinds of context: the model should follow the first two, and answer from its own knowledge under the others.
TAUGHT = ("relevant", "counterfactual")
KINDS = (*TAUGHT, "irrelevant", "empty")
# One question of so many is held out.
HELD_OUT = 10
FEWEST = 10
# CUB's shares of contexts that are to be followed, irrelevant ones and empty ones.
FOLLOWED_SHARE, SHARES = 0.65, {"irrelevant": 0.25, "empty": 0.10}


@dataclass(frozen=True)
class Lesson:
    """context: None where the kind is empty. answers: under a kind of TAUGHT the context's, else the question's true ones."""

    kind: str
    question: str
    context: str | None
    answers: tuple[str, ...]


def of_development(development: Development) -> list[Lesson]:
    """The development questions under their kinds of context, and each question once without any."""
    lessons: dict[Lesson, None] = {}
    for kind, questions in development.questions.items():
        for instance in (question.instance for question in questions):
            true = tuple(answer for answer in (instance.true_answer, *instance.accepted) if answer)
            document = instance.documents[0]
            if kind in FOLLOWED:
                name = "relevant" if kind == "gold" else "counterfactual"
                lessons[Lesson(name, instance.question, document.text, (document.answer,))] = None
            elif true:
                lessons[Lesson("irrelevant", instance.question, document.text, true)] = None
            if true:
                lessons[Lesson("empty", instance.question, None, true)] = None
    return list(lessons)


def of_file(path: Path) -> list[Lesson]:
    """One's own lessons: JSON lines {"kind", "question", "context", "answers"}; `answers` is a list, or one text.

    Raises HEvalError for a file that cannot be read, and names the line of a record that is wrong.
    """
    lessons = []
    for place, record in json_lines(path):
        try:
            lessons.append(_lesson(record))
        except Malformed as error:
            raise HEvalError(f"{place}: {error}.") from error
    return lessons


def _lesson(record: Any) -> Lesson:
    if isinstance(record, Malformed):
        raise record
    if not isinstance(record, dict):
        raise Malformed("the line should be an object")
    kind = text_of(record, "kind")
    if kind not in KINDS:
        raise Malformed(f"'kind' should be one of {', '.join(KINDS)}, but is {kind!r}")
    context = None if kind == "empty" else text_of(record, "context")
    return Lesson(kind, text_of(record, "question"), context, texts_of(record, "answers"))


def split(lessons: Iterable[Lesson], seed: int) -> tuple[list[Lesson], list[Lesson]]:
    """To train on, and to hold out; all lessons of a question are on one side. Raises HEvalError for too few questions."""
    lessons = list(lessons)
    questions = sorted({lesson.question for lesson in lessons})
    if len(questions) < FEWEST:
        raise HEvalError(f"fine_tuning needs at least {FEWEST} questions to train on, and has {len(questions)}.")
    random.Random(f"{seed}|held out").shuffle(questions)
    held_out = set(questions[: len(questions) // HELD_OUT])
    return [one for one in lessons if one.question not in held_out], [one for one in lessons if one.question in held_out]


def examples(lm: LanguageModel, lessons: Sequence[Lesson]) -> list[tuple[Lesson, Example]]:
    """Each lesson that is used, in tokens: not those too long for the model, nor those whose true answer it does not give.

    The target of an irrelevant or empty context is the true answer, spelt so that it begins with the model's own next token.
    """
    own = _own_tokens(lm, [lesson.question for lesson in lessons if lesson.kind not in TAUGHT])
    found = []
    for lesson in lessons:
        target = _target(lm, lesson, own.get(lesson.question))
        if target is not None:
            example = _example(lm, lesson, target)
            if len(example.ids) <= lm.positions:
                found.append((lesson, example))
    return found


def in_shares(found: Sequence[tuple[Lesson, Example]], seed: int) -> list[tuple[Lesson, Example]]:
    """Those of every kind that is to be followed; of others as many, drawn at random, as CUB's shares leave room for."""
    followed = sum(lesson.kind in TAUGHT for lesson, _ in found)
    room = {kind: round(followed * share / FOLLOWED_SHARE) for kind, share in SHARES.items()}
    drawn = list(range(len(found)))
    random.Random(f"{seed}|shares").shuffle(drawn)
    kept = []
    for place in drawn:
        kind = found[place][0].kind
        if kind in TAUGHT or not followed or room[kind] > 0:
            kept.append(place)
            room[kind] = room.get(kind, 0) - 1
    return [found[place] for place in sorted(kept)]


def _target(lm: LanguageModel, lesson: Lesson, own: int | None) -> tuple[int, ...] | None:
    """The answer's tokens; None where the model does not know it, or it has none."""
    spellings: Iterator[tuple[int, ...]] = (ids for answer in lesson.answers for ids in lm.spellings(answer))
    return next((ids for ids in spellings if lesson.kind in TAUGHT or ids[0] == own), None)


def _example(lm: LanguageModel, lesson: Lesson, target: tuple[int, ...]) -> Example:
    from heval_core.lm.training import Example

    texts = (lesson.context,) if lesson.context is not None else ()
    prompt = assemble(texts, (None,) * len(texts), lesson.question, lm.template)
    return Example((*lm.tokenise(prompt, check_length=False).ids, *target), len(target))


def _own_tokens(lm: LanguageModel, questions: Sequence[str]) -> dict[str, int]:
    """The model's next token after each question without documents."""
    from heval_core.lm.batches import next_ids

    distinct = list(dict.fromkeys(questions))
    prompts = [lm.tokenise(memory_prompt(question, lm.template), check_length=False) for question in distinct]
    fitting = [index for index, prompt in enumerate(prompts) if len(prompt.ids) <= lm.positions]
    ids = next_ids(lm, [prompts[index] for index in fitting])
    return {distinct[index]: token for index, token in zip(fitting, ids, strict=True)}

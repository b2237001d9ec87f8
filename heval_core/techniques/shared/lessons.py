"""What fine-tuning teaches: questions with and without a context, and the answer that is right for each.

By default it learns from four public sources, in CUB's shares of sources and kinds of context:
SQuAD 2.0 (.40; rajpurkar/squad_v2), TriviaQA (.30; mandarjoshi/trivia_qa, rc), AVeriTeC (.15; chenxwh/AVeriTeC) and the
static part of DynamicQA (.15; copenlu/dynamicqa). Of the first three .65 of the contexts are relevant, .25 irrelevant and .10
empty; of DynamicQA .50 relevant, .40 counterfactual, .05 irrelevant and .05 empty. An irrelevant context is another record's,
in which no right answer stands. Shares hold before questions are left out that the model does not answer right.
Departure: 4,000 lessons from the first records of each source. TriviaQA's contexts are cut around the answer. AVeriTeC's are
its questions with their answers; the label is the answer, asked for as in `druid`.
Checked: against descriptions of the sources and public code that reads them; they could not be fetched here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heval_core.datasets._reading import Malformed, data_folder, json_lines, text_of, texts_of
from heval_core.datasets._verdicts import question_about
from heval_core.prompting.prompts import assemble, mentions
from heval_core.records import FOLLOWED, HEvalError, NotHere
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
# Lessons of all sources.
SIZE = 4000
# So many records are read for each lesson, of which some cannot be used.
READ = 3
# Characters kept on each side of an answer in a long text.
AROUND = 400
FOLDER = "fine_tuning"


@dataclass(frozen=True)
class Lesson:
    """A question under a kind of context, with the answers to be learned.

    context: None where the kind is empty. answers: under a kind of TAUGHT the context's, else the question's true ones.
    """

    kind: str
    question: str
    context: str | None
    answers: tuple[str, ...]


def of_development(development: Development) -> list[Lesson]:
    """Return the development questions under their kinds of context, and each question once without any."""
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
    """Read one's own lessons: JSON lines {"kind", "question", "context", "answers"}; `answers` is a list, or one text.

    Raises HEvalError for a file that cannot be read, and names the line of a record that is wrong.
    """
    lessons = []
    for location, record in json_lines(path):
        try:
            lessons.append(_lesson(record))
        except Malformed as error:
            raise HEvalError(f"{location}: {error}.") from error
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
    """Split lessons into those to train on and those to hold out; all lessons of a question are on one side.

    Raises HEvalError for too few questions.
    """
    lessons = list(lessons)
    questions = sorted({lesson.question for lesson in lessons})
    if len(questions) < FEWEST:
        raise HEvalError(f"fine_tuning needs at least {FEWEST} questions to train on, and has {len(questions)}.")
    random.Random(f"{seed}|held out").shuffle(questions)
    held_out = set(questions[: len(questions) // HELD_OUT])
    return [one for one in lessons if one.question not in held_out], [one for one in lessons if one.question in held_out]


def examples(lm: LanguageModel, lessons: Sequence[Lesson]) -> list[tuple[Lesson, Example]]:
    """Tokenise each lesson that is used: not those too long for the model, nor those whose true answer it does not give.

    The target of an irrelevant or empty context is the true answer, spelt so that it begins with the model's own next token.
    """
    from heval_core.lm.batches import memory_tokens
    from heval_core.lm.training import Example

    memory_ids = memory_tokens(lm, (lesson.question for lesson in lessons if lesson.kind not in TAUGHT))
    used = []
    for lesson in lessons:
        memory_id, spellings = memory_ids.get(lesson.question), (ids for one in lesson.answers for ids in lm.spellings(one))
        target = next((ids for ids in spellings if lesson.kind in TAUGHT or ids[0] == memory_id), None)
        if target is not None:
            texts = (lesson.context,) if lesson.context is not None else ()
            prompt = assemble(texts, (None,) * len(texts), lesson.question, lm.template)
            example = Example((*lm.tokenise(prompt, check_length=False).ids, *target), len(target))
            if len(example.ids) <= lm.positions:
                used.append((lesson, example))
    return used


def in_shares(pairs: Sequence[tuple[Lesson, Example]], seed: int) -> list[tuple[Lesson, Example]]:
    """Sample lessons: those of every kind that is to be followed, and of others as many, at random, as CUB's shares leave room
    for.
    """
    followed = sum(lesson.kind in TAUGHT for lesson, _ in pairs)
    room = {kind: round(followed * share / FOLLOWED_SHARE) for kind, share in SHARES.items()}
    order = list(range(len(pairs)))
    random.Random(f"{seed}|shares").shuffle(order)
    chosen = []
    for index in order:
        kind = pairs[index][0].kind
        if kind in TAUGHT or not followed or room[kind] > 0:
            chosen.append(index)
            room[kind] = room.get(kind, 0) - 1
    return [pairs[index] for index in sorted(chosen)]


@dataclass(frozen=True)
class KnownQuestion:
    """A question with a context that answers it. other: a context with a false answer, and this answer."""

    question: str
    context: str
    answers: tuple[str, ...]
    other: tuple[str, str] | None = None


@dataclass(frozen=True)
class Source:
    """A public data set that lessons are taken from.

    share: of all lessons. kinds: the shares of the kinds of context. hub: arguments of `datasets.load_dataset`.
    """

    name: str
    address: str
    hub: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], KnownQuestion | None]
    share: float
    kinds: Mapping[str, float]


def of_mixture(seed: int, size: int = SIZE) -> list[Lesson]:
    """Read lessons from all sources. Raises NotHere, which says where to put which file."""
    return [lesson for source in SOURCES for lesson in _of_source(source, round(size * source.share), seed)]


def _of_source(source: Source, count: int, seed: int) -> Iterator[Lesson]:
    questions = list({known.question: known for known in _read(source, count * READ)}.values())
    random.Random(f"{seed}|{source.name}").shuffle(questions)
    count = min(count, len(questions))
    numbers = {kind: round(share * count) for kind, share in source.kinds.items()}
    numbers[next(reversed(numbers))] += count - sum(numbers.values())  # rounding falls to the last kind
    kinds = (kind for kind, number in numbers.items() for _ in range(number))
    for kind, known, other in zip(kinds, questions, [*questions[1:], *questions[:1]], strict=False):
        if lesson := _under(kind, known, other):
            yield lesson


def _under(kind: str, known: KnownQuestion, other: KnownQuestion) -> Lesson | None:
    """Put a question under a kind of context; None where it cannot be asked so."""
    if kind == "relevant":
        return Lesson(kind, known.question, known.context, known.answers[:1])
    if kind == "counterfactual":
        return Lesson(kind, known.question, known.other[0], (known.other[1],)) if known.other else None
    if kind == "empty":
        return Lesson(kind, known.question, None, known.answers)
    answered = other.question == known.question or any(mentions(answer, other.context) for answer in known.answers)
    return None if answered else Lesson(kind, known.question, other.context, known.answers)


def _read(source: Source, count: int) -> list[KnownQuestion]:
    """Read the usable ones among the first records."""
    placed = data_folder(FOLDER) / f"{source.name}.jsonl"
    if placed.exists():
        records: Iterable[Any] = (record for _, record in json_lines(placed) if not isinstance(record, Malformed))
        usable = list(_usable(source, itertools.islice(records, count)))
    else:
        import datasets

        try:
            usable = list(_usable(source, datasets.load_dataset(**source.hub, split="train", streaming=True).take(count)))
        except Exception as error:  # the library raises nearly every class there is, for many reasons
            raise NotHere(
                f"fine_tuning learns from {source.name}, which is neither cached nor can be fetched. Get it from "
                f"{source.address}, and put it at {placed} as JSON lines; or train on other data, as in "
                "fine_tuning(data=development)."
            ) from error
    if not usable:
        raise HEvalError(f"Of {source.name} in {placed if placed.exists() else source.address} no record can be used.")
    return usable


def _usable(source: Source, records: Iterable[Any]) -> Iterator[KnownQuestion]:
    for record in records:
        try:
            known = source.read(record)
        except (KeyError, TypeError, AttributeError, IndexError):
            continue  # a record of another form
        if known and known.question.strip() and known.context.strip() and all(known.answers) and known.answers:
            yield known


def _squad(record: Mapping[str, Any]) -> KnownQuestion | None:
    return KnownQuestion(record["question"], record["context"], tuple(dict.fromkeys(record["answers"]["text"])))


def _trivia(record: Mapping[str, Any]) -> KnownQuestion | None:
    answers = tuple(dict.fromkeys((record["answer"]["value"], *record["answer"]["aliases"])))
    texts = (*record["entity_pages"]["wiki_context"], *record["search_results"]["search_context"])
    for text in texts:
        for answer in answers:
            if spans := mentions(answer, text):
                start, end = max(0, spans[0].start - AROUND), spans[0].end + AROUND
                # The answer that stands in the context is the one to give.
                ordered = (answer, *(other for other in answers if other != answer))
                return KnownQuestion(record["question"], _whole_words(text, start, end), ordered)
    return None


def _whole_words(text: str, start: int, end: int) -> str:
    """Cut a part out of a text, without the pieces of words at its ends, and in one line."""
    words = text[start:end].split(" ")
    return " ".join(" ".join(words[1 if start else 0 : -1 if end < len(text) else None]).split())


def _averitec(record: Mapping[str, Any]) -> KnownQuestion | None:
    label = {"Supported": "True", "Refuted": "False", "Not Enough Evidence": "None"}.get(record["label"])
    if label is None:
        return None
    exchanges = (f"{known['question']} {answer['answer']}" for known in record["questions"] for answer in known["answers"])
    return KnownQuestion(question_about(record["claim"], record["speaker"] or ""), " ".join(exchanges), (label,))


def _dynamic(record: Mapping[str, Any]) -> KnownQuestion | None:
    true, false, context = (str(record[name]) for name in ("obj", "replace_name", "context"))
    if "[ENTITY]" not in context or true == false:
        return None
    other = (context.replace("[ENTITY]", false), false)
    return KnownQuestion(record["question"], context.replace("[ENTITY]", true), (true,), other)


_MOST = {"relevant": 0.65, "irrelevant": 0.25, "empty": 0.10}
_AVERITEC = "chenxwh/AVeriTeC@75a85a36462742d099f016c95928bbe633b22289"
_DYNAMIC = "copenlu/dynamicqa@82cb85d96a37362fc0a1b238f77126477a550c2f"
SOURCES = (
    Source("squad_v2", "huggingface.co/datasets/rajpurkar/squad_v2", {"path": "rajpurkar/squad_v2"}, _squad, 0.40, _MOST),
    Source(
        "trivia_qa",
        "huggingface.co/datasets/mandarjoshi/trivia_qa",
        {"path": "mandarjoshi/trivia_qa", "name": "rc"},
        _trivia,
        0.30,
        _MOST,
    ),
    Source(
        "averitec",
        "huggingface.co/chenxwh/AVeriTeC",
        {"path": "json", "data_files": f"hf://{_AVERITEC}/data/train.json"},
        _averitec,
        0.15,
        _MOST,
    ),
    Source(
        "dynamicqa_static",
        "huggingface.co/datasets/copenlu/dynamicqa",
        {"path": "csv", "data_files": f"hf://datasets/{_DYNAMIC}/static.csv"},
        _dynamic,
        0.15,
        {"relevant": 0.50, "counterfactual": 0.40, "irrelevant": 0.05, "empty": 0.05},
    ),
)

"""A whole answer as the script of Your prompt draws it: on the page, in a file of its own, and as a picture card.

All three draw the same record, `DrawnAnswer`: the whole answer, less what no reader sees.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, compress
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from heval_core.plugins import catalogue
from heval_core.present.html import digest, joined, render
from heval_core.present.names import first_sentence
from heval_core.present.numbers import so_many
from heval_core.prompting.units import units_of
from heval_core.records.whole_answers import (
    MEMORY,
    UNCLEAR,
    AnswerSentence,
    AnswerWord,
    Contrast,
    Mention,
    NamedSpan,
    WholeAnswer,
)
from heval_core.texts.lines import CODE_LINE, ROW, TextLine, line_at, lines
from heval_core.texts.markers import markers
from heval_core.texts.numbers_and_names import instead, nowhere, of_tokens, standing

# Of documents; the seventh and all behind it are grey.
HUES = ("#2E6FC4", "#C47A00", "#15866A", "#7A5CC0", "#B5533C", "#5B7F2B")
GREY, DASHED = "#8B8F94", "#8F897D"
# Left out by themselves: documents, which the matrix draws, and their sentences, with which the explainers begin.
DOCUMENT, SENTENCE = "document", "document(unit=sentence)"
# Feature ablation of the sentences that matter, for long prompts.
SCREENED = "fa(screen=sentences:3)"
_TITLES = {SENTENCE: "Leaving out", SCREENED: "Feature ablation, in part", "cdla": "Direct logits (ours)"}
# Explainers whose scores of an answer are the nats that it loses; others have scores of their own.
_IN_NATS = ("fa", "document")


@dataclass(frozen=True)
class DrawnWord(AnswerWord):
    """breaks: 1, a line begins with it; 2, a paragraph; or 0. look: of its line (`texts.lines`). space: the white space before
    it, where a line begins or white space counts. nowhere: what is reported of a number or name that stands in no document.
    differs: beside another answer, what is otherwise there."""

    breaks: int = 0
    look: str = ""
    space: str = ""
    probability: float = 1.0
    nowhere: str | None = None
    differs: str = ""


@dataclass(frozen=True)
class DrawnSentence(AnswerSentence):
    """nowhere: what is reported of its numbers and names that stand in no document."""

    nowhere: tuple[str, ...] = ()


@dataclass(frozen=True)
class DrawnDocument:
    """sentences: the tokens [start, end) of each. looks: what each begins as (`texts.lines`), and how far indented."""

    sentences: tuple[tuple[int, int], ...]
    looks: tuple[tuple[str, int], ...]
    name: str | None


@dataclass(frozen=True, kw_only=True)
class DrawnMethod:
    """An explainer with its scores, or why it has none, or neither: then it waits, and says for what (waits).

    running, planned: of one that is computed now, or will be without a click. nats: what its scores are, where they are nats.
    against: the rival of the only word that it knows. parts: (start, end, values) of tokens that it was asked about.
    """

    key: str
    title: str
    about: str
    refused: str | None = None
    waits: str = ""
    nats: str = ""
    passes: float
    against: str = ""
    unit: str = "token"
    units: tuple[tuple[int, int], ...] = ()
    columns: str = "token"
    values: tuple[tuple[float, ...], ...] | None = None
    changed: tuple[tuple[int, ...], ...] | None = None
    parts: tuple[tuple[int, int, tuple[float, ...]], ...] = ()
    seconds: float = 0.0
    running: bool = False
    planned: bool = False


@dataclass(frozen=True)
class DrawnAnswer:
    """What is drawn of an answer, as far as it is known. stands: how many of its numbers and names stand in the documents."""

    model: str = ""
    question: str = ""
    given: bool = False
    tokens: tuple[str, ...] = ()
    documents: tuple[DrawnDocument, ...] = ()
    words: tuple[DrawnWord, ...] = ()
    sentences: tuple[DrawnSentence, ...] = ()
    stands: str = ""
    notes: tuple[str, ...] = ()
    methods: tuple[DrawnMethod, ...] = ()


def answer_drawing(answer: WholeAnswer, chosen: Sequence[str] = ()) -> DrawnAnswer:
    """Return what is drawn of an answer. chosen: the explainers that were asked for, in the order in which they stand."""
    generated, prompt = answer.generated, len(answer.tokens)
    *texts, question = (part.text(answer.tokens) for part in (*answer.documents, answer.question))
    # Of a whole answer: its last word may be half of one until then.
    mentioned = of_tokens(generated.tokens, texts, question) if generated.stopped else ()
    ends = [0, *(word.end for word in generated.words)]
    text_lines = lines("".join(generated.tokens))
    keys = dict.fromkeys([SENTENCE, *chosen, *generated.matrix, *generated.refused])
    return DrawnAnswer(
        model=answer.model,
        question=question.strip(),
        given=generated.given,
        tokens=answer.tokens,
        documents=tuple(_document(answer, document) for document in answer.documents),
        words=tuple(_word(word, end, answer, mentioned, text_lines) for end, word in zip(ends, generated.words, strict=False)),
        sentences=tuple(_sentence(sentence, answer, mentioned) for sentence in generated.sentences),
        stands=standing(mentioned),
        notes=generated.notes,
        methods=(
            *(_method(key, answer, prompt) for key in keys if key != DOCUMENT),
            *(_contrast(contrast, answer.first_ranked) for contrast in generated.contrasts),
        ),
    )


def _word(
    word: AnswerWord, before: int, answer: WholeAnswer, mentioned: Sequence[Mention], text_lines: Sequence[TextLine]
) -> DrawnWord:
    """Return a word as it is drawn. before: where the word before it ends. mentioned: the answer's numbers and names.
    text_lines: its lines."""
    text = "".join(answer.generated.tokens[before : word.start]) + word.text
    white = text[: len(text) - len(text.lstrip())]
    breaks = min(2, white.count("\n")) if before else 0
    line = line_at(text_lines, len("".join(answer.generated.tokens[:before])) + len(white))
    space = white.rpartition("\n")[2] if breaks or line.look in (CODE_LINE, ROW) else ""
    probability = min(answer.generated.probabilities[word.start : word.end], default=1)
    missing = (instead(one) for one in nowhere(mentioned) if one.start < word.end and one.end > word.start)
    lacks = next(missing, None)
    return DrawnWord(**vars(word), breaks=breaks, look=line.look, space=space, probability=probability, nowhere=lacks)


def _sentence(sentence: AnswerSentence, answer: WholeAnswer, mentioned: Sequence[Mention]) -> DrawnSentence:
    """Draw a sentence. A file of before may cite what no word rests on, and have zeros where nothing was left out yet."""
    sources = {word.source for word in spelt([word for word in answer.generated.words if sentence.holds(word)])}
    cited = sentence.citations and tuple(one for one in sentence.citations if f"document {one.document}" in sources)
    missing = tuple(instead(one) for one in nowhere(mentioned) if sentence.holds(one))
    by_document = sentence.by_document if answer.generated.matrix else None
    return DrawnSentence(**vars(sentence) | {"citations": cited, "by_document": by_document}, nowhere=missing)


def sentences_of(tokens: Sequence[str], document: NamedSpan) -> tuple[tuple[int, int], ...]:
    """Return the tokens [start, end) of each sentence of a document."""
    start, end = document.start, document.end
    units = units_of(tokens[start:end], ["document"] * (end - start), "sentence")
    return tuple((start + unit.start, start + unit.end) for unit in units)


def _document(answer: WholeAnswer, document: NamedSpan) -> DrawnDocument:
    """Draw a document. A sentence that begins a line has its indentation; what is before the first is the prompt's."""
    text_lines, looks, spans = lines(document.text(answer.tokens)), [], sentences_of(answer.tokens, document)
    for start, end in spans:
        text = "".join(answer.tokens[start:end])
        begin = len("".join(answer.tokens[document.start : start])) + len(text) - len(text.lstrip())
        line = line_at(text_lines, begin)
        looks.append((line.look, line.indent if line.start > 0 and begin <= line.start + line.indent else 0))
    return DrawnDocument(spans, tuple(looks), document.name or None)


def _method(key: str, answer: WholeAnswer, tokens: int) -> DrawnMethod:
    """Return a method as it is drawn. tokens: of the prompt."""
    plugin, scores = catalogue.method(key), answer.generated.matrix.get(key)
    lost = "nats lost without it" if key in (DOCUMENT, SENTENCE) else "nats in all, its words left out one by one"
    passes = round(plugin.cost(tokens).tokens / tokens)
    waiting = DrawnMethod(
        key=key,
        title=_TITLES.get(key, plugin.title),
        about=first_sentence(catalogue.docstring(plugin)),
        refused=answer.generated.refused.get(key),
        nats=lost if key.partition("(")[0] in _IN_NATS else "",
        waits=_waits(key, answer, passes),
        passes=passes,
    )
    if scores is None:
        return waiting
    return replace(
        waiting,
        passes=round(scores.passes, 1),
        unit=scores.unit,
        units=tuple((unit.start, unit.end) for unit in scores.units),
        columns=scores.columns,
        values=scores.values,
        changed=scores.changed,
        parts=tuple((part.start, part.end, part.values) for part in scores.parts),
        seconds=scores.seconds,
    )


def _waits(key: str, answer: WholeAnswer, passes: int) -> str:
    """Return what stands where an explainer has no scores yet: what a click takes, by what leaving out documents took."""
    rate = answer.generated.matrix.get(DOCUMENT)
    sentences = answer.generated.sentences
    if key == SENTENCE and sentences and all(one.citations == () for one in sentences):
        return "no document counts"
    # As one that runs alone: its clean pass, and half a pass without each document.
    seconds = rate.seconds / (1 + len(answer.documents) / 2) * passes if rate else 0.0
    return f"click: about {max(1, round(seconds))} s" if seconds else f"click: {passes} pass{'' if passes == 1 else 'es'}"


def _contrast(contrast: Contrast, first: int) -> DrawnMethod:
    """Return what speaks for a word and not for another, as an explainer that knows this word alone. first: a ranked token."""
    return DrawnMethod(
        key=f"against({contrast.start})",
        title=f"{catalogue.method(contrast.explainer).title}, not “{contrast.against}”",
        about=f"What speaks for the word, and not for {contrast.against}.",
        passes=2,
        against=contrast.against,
        units=tuple((first + index, first + index + 1) for index in range(len(contrast.values))),
        columns="sentence",
        values=(),
        parts=((contrast.start, contrast.end, contrast.values),),
        seconds=contrast.seconds,
    )


def answer_page(
    answer: WholeAnswer, question: str, chosen: Sequence[str] = (), view: Mapping[str, Any] = MappingProxyType({})
) -> str:
    """Return a self-contained HTML file with hover and selection: one script, one style, and no request.

    view: what is selected when it opens, as the page has it.
    """
    data = {"id": "file", "static": True, "view": dict(view), "status": None, "without": None, "old": None}
    text = json.dumps(data | asdict(answer_drawing(answer, chosen)), ensure_ascii=True).replace("<", "\\u003c")
    # The component's script is a module; what it exports is called once.
    script = joined("answer", "js").replace("export default function", "function start")
    script += f"\nstart({{ data: {text}, parentElement: document }});\n"
    style = joined("answer", "css")
    about = {"model": answer.model, "question": question, "documents": len(answer.documents)}
    allowed = {"script_digest": digest(script), "style_digest": digest(style)}
    return render("answer.html", **about, script=script, style=style, **allowed)


# Of the card, in pixels: a word's width is estimated by its letters, so that no font is asked.
_WIDTH, _EDGE, _LINE, _SIZE = 860, 28, 40, 17.5
_LETTERS = {**dict.fromkeys("ijl.,:;'’|!I", 0.26), **dict.fromkeys("frt()[]-/", 0.36), **dict.fromkeys("mwMW%@", 0.84)}


def answer_card(answer: WholeAnswer, question: str) -> str:
    """Return a picture (SVG): question, answer with a bar under each word, the documents' beginnings, and what was found."""
    data = answer_drawing(answer)
    words: list[dict[str, Any]] = []
    x, y = float(_EDGE), 112
    for word in data.words:
        text = word.text.strip()
        wide = _SIZE * sum(_LETTERS.get(letter, 0.66 if letter.isupper() else 0.54) for letter in text)
        x += 5 if word.text[:1].isspace() and words else 0
        if (x + wide > _WIDTH - _EDGE and x > _EDGE) or word.breaks:
            x, y = float(_EDGE), y + _LINE
        words.append({"x": round(x, 1), "y": y, "width": round(wide, 1), "text": text, **_bar(word)})
        x += wide
    texts = [document.text(answer.tokens).strip() for document in answer.documents]
    keys = [{"y": y + 42 + 22 * number, "colour": _hue(number), "text": text} for number, text in enumerate(texts)]
    legend = {"y": y + 42 + 22 * len(keys), "grey": GREY, "dashed": DASHED}
    low, lines = y + 78 + 22 * len(keys), wrap(verdict(data), 110)
    foot = [{"y": low + 20 * number, "text": line} for number, line in enumerate(lines)]
    about = {"question": question, "words": words, "keys": keys, "legend": legend, "foot": foot}
    return render("answer.svg", width=_WIDTH, height=low + 20 * len(lines) + 6, **about)


def _hue(number: int) -> str:
    return HUES[number] if number < len(HUES) else GREY


def _bar(word: DrawnWord) -> dict[str, Any]:
    source = word.source or ""
    if source.startswith("document "):
        number = int(source.removeprefix("document ")) - 1
        high = 2 + 4.5 * min(1.0, (max(0.0, word.nats or 0.0) / 8) ** 0.6)
        return {"colour": _hue(number), "high": round(high, 1), "dashed": False}
    memory = source == "memory"
    return {"colour": GREY if memory else DASHED, "high": 3 if memory else 2, "dashed": not memory}


def verdict(data: DrawnAnswer) -> str:
    """Return what was found of a whole answer: on what its words rest, and what stands in its documents."""
    did = "read" if data.given else "wrote"
    origins = resting(data.words) or "not computed to the end"
    missing = [f"{one}." for sentence in data.sentences for one in sentence.nowhere]
    return " ".join(filter(None, [f"{data.model} {did} this: {origins}.", data.stands, *missing]))


def spelt(words: Sequence[AnswerWord]) -> list[AnswerWord]:
    """Return the words that have a letter or a digit outside of a marker, which are those that count; all, where none has."""
    letters, ends = [letter for word in words for letter in word.text], accumulate(len(word.text) for word in words)
    for marker in markers("".join(letters)):
        letters[marker.start() : marker.end()] = " " * len(marker[0])
    spelled = [any(map(str.isalnum, letters[end - len(word.text) : end])) for word, end in zip(words, ends, strict=True)]
    return [*compress(words, spelled)] or [*words]


def resting(words: Sequence[AnswerWord]) -> str:
    """Return `3 of 6 words rest on document 1, 2 on memory, 1 unclear`: documents first; empty where not all is known."""
    counts = Counter(word.source for word in spelt(words))
    if None in counts or not counts:
        return ""
    ordered = sorted(counts, key=lambda source: (source == UNCLEAR, source == MEMORY, -counts[source], source))
    first, *others = (f"{counts[source]} {source if source == UNCLEAR else f'on {source}'}" for source in ordered)
    rest = "" if ordered == [UNCLEAR] else "rests " if counts[ordered[0]] == 1 else "rest "
    return ", ".join([first.replace(" ", f" of {so_many(counts.total(), 'word')} {rest}", 1), *others])


# Words of an answer on its card.
_FIRST = 14


@dataclass(frozen=True)
class Card:
    """An answer that can be opened: its first words with their sources, how many documents were read, and what was found."""

    id: str
    title: str
    question: str
    words: tuple[DrawnWord, ...]
    cut: bool
    about: str
    found: str


def on_card(id: str, title: str, question: str, data: DrawnAnswer) -> Card:
    """Return the card of an answer; it says what most words rest on."""
    read = spelt(data.words)
    ((source, most),) = Counter(word.source for word in read).most_common(1)
    conclusion = f"{most} of {len(read)} {source if source == UNCLEAR else f'rest on {source}'}" if resting(read) else ""
    documents = so_many(len(data.documents), "document")
    return Card(id, title, question, data.words[:_FIRST], len(data.words) > _FIRST, documents, conclusion)

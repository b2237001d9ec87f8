"""A whole answer as the script of Your prompt draws it: on the page, in a file of its own, and as a picture card.

All three draw the same object, `drawn`: what `precompute explain --format json` prints, less what no reader sees.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, pairwise
from textwrap import wrap
from typing import Any

from heval_core.explaining.word_origins import MEMORY, UNCLEAR, changed_words, in_place_of
from heval_core.plugins import catalogue
from heval_core.present.html import digest, joined, render
from heval_core.present.names import first_sentence
from heval_core.present.numbers import so_many
from heval_core.prompting.units import units_of
from heval_core.records import HEvalError
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
_SOURCE = re.compile(r"memory|unclear|document [1-9]\d{0,3}")
# Explainers whose scores of an answer are the nats that it loses; others have scores of their own.
_IN_NATS = ("fa", "document")


def drawn(result: Mapping[str, Any], chosen: Sequence[str] = ()) -> dict[str, Any]:
    """What is drawn of an answer, as far as it is known. result: see above; it may be anybody's file. chosen: the explainers
    that were asked for, in the order in which they stand. Raises HEvalError where the file is broken."""
    try:
        return _drawn(result, chosen)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise HEvalError(f"The saved answer is broken: it has no readable {error}.") from error


def _drawn(result: Mapping[str, Any], chosen: Sequence[str]) -> dict[str, Any]:
    response, tokens = result["generated"], [str(token) for token in result["tokens"]]
    documents = [_ends(document, len(tokens)) for document in result["documents"]]
    if any(end > start for (_, end), (start, _) in pairwise(documents)):
        raise ValueError("documents, which overlap")
    probabilities = [_finite(probability) for probability in response["probabilities"]]
    ends = [0, *(int(word["end"]) for word in response["words"])]
    question = _ends(result.get("question", {"start": 0, "end": 0}), len(tokens))
    *texts, asked = ("".join(tokens[start:end]) for start, end in (*documents, question))
    # Of a whole answer: its last word may be half of one until then.
    checked = of_tokens(response["tokens"], texts, asked) if response["stopped"] else []
    words = [
        _word(word, end, response["tokens"], probabilities) | {"nowhere": _nowhere(word, checked)}
        for end, word in zip(ends, response["words"], strict=False)
    ]
    sentences = [_sentence(sentence, response, checked, len(probabilities)) for sentence in response["sentences"]]
    keys = dict.fromkeys([SENTENCE, *chosen, DOCUMENT, *response["matrix"], *response["refused"]])
    methods = {key: _method(key, response, len(tokens)) for key in keys}
    return {
        "model": str(result["model"]),
        "given": bool(response["given"]),
        "tokens": tokens,
        "documents": [_document(tokens, *both) for both in zip(documents, result["documents"], strict=True)],
        "words": words,
        "sentences": sentences,
        "stands": standing(checked),
        "notes": [str(note) for note in response["notes"]],
        "methods": [
            *(method for key, method in methods.items() if key != DOCUMENT),
            *(_contrast(contrast, int(result["first_ranked"])) for contrast in response.get("contrasts", ())),
        ],
    }


def _ends(part: Mapping[str, Any], tokens: int) -> tuple[int, int]:
    """Of a part of so many tokens. Raises ValueError for one beyond them: a script would draw it to its end."""
    start, end = int(part["start"]), int(part["end"])
    if not 0 <= start <= end <= tokens:
        raise ValueError(f"part from {start} to {end} of {tokens} tokens")
    return start, end


def _sentence(
    sentence: Mapping[str, Any], response: Mapping[str, Any], checked: Sequence[Mapping[str, Any]], tokens: int
) -> dict[str, Any]:
    """checked: the answer's numbers and names. tokens: of the answer. A file of before may cite what no word rests on."""

    def inside(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [part for part in parts if sentence["start"] <= part["start"] < sentence["end"]]

    sources = {word["source"] for word in spelt(inside(response["words"]))}
    return {
        **_text(sentence, tokens),
        "citations": sentence["citations"]
        and [
            {"document": int(cited["document"]), "nats": _finite(cited["nats"]), "level": _finite(cited["level"])}
            for cited in sentence["citations"]
            if f"document {cited['document']}" in sources
        ],
        "nowhere": [instead(one) for one in inside(nowhere(checked))],
        "documents": [_finite(nats) for nats in sentence["by_document"]] if response["matrix"] else None,
        "before": _number(sentence["said_before"]),
    }


def _text(part: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    return {**dict(zip(("start", "end"), _ends(part, tokens), strict=True)), "text": str(part["text"])}


def _word(word: Mapping[str, Any], before: int, tokens: Sequence[str], probabilities: Sequence[float]) -> dict[str, Any]:
    """before: where the word before it ends. breaks: 1, a line begins with it; 2, a paragraph; or 0."""
    text = "".join(tokens[before : word["start"]]) + str(word["text"])
    return {
        **_text(word, len(probabilities)),
        "breaks": min(2, text[: len(text) - len(text.lstrip())].count("\n")) if before else 0,
        "source": _source(word["source"]),
        "nats": _number(word["nats"]) if word["source"] is None else _finite(word["nats"]),
        "before": _number(word["said_before"]),
        "rival": word.get("rival"),
        "probability": min(probabilities[word["start"] : word["end"]], default=1),
    }


def _nowhere(word: Mapping[str, Any], checked: Sequence[Mapping[str, Any]]) -> str | None:
    """What is told of a word of a number or name that stands in no document."""
    return next((instead(one) for one in nowhere(checked) if one["start"] < word["end"] and one["end"] > word["start"]), None)


def _finite(value: Any) -> float:
    """Raises ValueError for what no script can draw, though a file may hold it: 1e999."""
    if not math.isfinite(number := float(value)):
        raise ValueError(f"number {value}")
    return number


def _number(value: float | None) -> float | None:
    return None if value is None else _finite(value)


def _source(source: str | None) -> str | None:
    """Raises ValueError for what `sources` never says."""
    if source is not None and not _SOURCE.fullmatch(source):
        raise ValueError(f"source {source}")
    return source


def _document(tokens: Sequence[str], span: tuple[int, int], told: Mapping[str, Any]) -> dict[str, Any]:
    return {"sentences": _sentences(tokens, *span)} | ({"name": str(told["name"])} if told.get("name") else {})


def _sentences(tokens: Sequence[str], start: int, end: int) -> list[list[int]]:
    units = units_of(tokens[start:end], ["document"] * (end - start), "sentence")
    return [[start + unit.start, start + unit.end] for unit in units]


def _method(key: str, response: Mapping[str, Any], tokens: int) -> dict[str, Any]:
    """An explainer with its scores, or why it has none, or neither: then it waits. tokens: of the prompt."""
    plugin, scores = catalogue.method(key), response["matrix"].get(key)
    lost = "nats lost without it" if key in (DOCUMENT, SENTENCE) else "nats in all, its words left out one by one"
    method: dict[str, Any] = {
        "key": key,
        "title": _TITLES.get(key, plugin.title),
        "about": first_sentence(catalogue.docstring(plugin)),
        "refused": response["refused"].get(key),
        "nats": lost if key.partition("(")[0] in _IN_NATS else "",
        "passes": round(plugin.cost(tokens).tokens / tokens),
        "values": None,
    }
    if scores is None:
        return method
    return method | {
        "unit": scores["unit"],
        "units": [[*_ends(unit, tokens)] for unit in scores["units"]],
        "columns": scores["columns"],
        "values": [[_finite(value) for value in row] for row in scores["values"]],
        "changed": scores.get("changed") and [[int(change) for change in row] for row in scores["changed"]],
        "parts": [[int(part["start"]), int(part["end"]), [*map(_finite, part["values"])]] for part in scores.get("parts", ())],
        "seconds": _finite(scores["seconds"]),
        "passes": round(_finite(scores["passes"]), 1),
    }


def _contrast(contrast: Mapping[str, Any], first: int) -> dict[str, Any]:
    """What speaks for a word and not for another, as an explainer that knows this word alone. first: a ranked token."""
    start, against, values = int(contrast["start"]), str(contrast["against"]), [_finite(value) for value in contrast["values"]]
    title, about = catalogue.method(contrast["explainer"]).title, f"What speaks for the word, and not for {against}."
    head = {"key": f"against({start})", "title": f"{title}, not “{against}”", "about": about, "against": against}
    body = {"columns": "sentence", "values": [], "parts": [[start, int(contrast["end"]), values]], "unit": "token"}
    units = [[first + index, first + index + 1] for index in range(len(values))]
    return {**head, **body, "refused": None, "nats": "", "units": units, "passes": 2, "seconds": _finite(contrast["seconds"])}


@dataclass(frozen=True)
class Change:
    """What is tried: another text, or none, in place of a document or of one of its sentences; both from 0."""

    document: int
    sentence: int | None = None
    text: str = ""

    @property
    def place(self) -> str:
        """`2`, a document, or `2.1`, its first sentence."""
        return f"{self.document + 1}" if self.sentence is None else f"{self.document + 1}.{self.sentence + 1}"

    def drawn(self) -> dict[str, Any]:
        part = "" if self.sentence is None else f"sentence {self.sentence + 1} of "
        title = f"{'With another' if self.text.strip() else 'Without'} {part}document {self.document + 1}"
        return {"document": self.document, "sentence": self.sentence, "title": title}

    def span(self, result: Mapping[str, Any]) -> tuple[int, int]:
        """The prompt's tokens that go. Raises IndexError for a sentence that is not there."""
        whole = result["documents"][self.document]
        start, end = int(whole["start"]), int(whole["end"])
        if self.sentence is not None:
            start, end = _sentences(result["tokens"], start, end)[self.sentence]
        return start, end

    def applied(self, result: Mapping[str, Any]) -> str:
        """The text of the document after the change."""
        whole, (start, end), tokens = result["documents"][self.document], self.span(result), result["tokens"]
        before, part, after = ("".join(tokens[slice(*e)]) for e in pairwise((whole["start"], start, end, whole["end"])))
        return in_place_of(before, part, after, self.text)


def compared(before: Mapping[str, Any], after: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Two answers side by side, the words that changed marked, and whether it had been said so: by bars of a document, and of
    a sentence by the losses without each."""
    old, new = before["generated"]["words"], after["generated"]["words"]
    was, becomes = changed_words(*([str(word["text"]) for word in words] for words in (old, new)))
    pointed = [_points_at(before, word, change) for word in old]
    changed = [points for points, (_, gone) in zip(pointed, was, strict=True) if gone]
    lead = f"Predicted: {so_many(sum(pointed), 'word')}. {sum(changed)} of the {len(changed)} that changed were among them"
    added = sum(new for _, new in becomes)
    same = f"No word goes; {added} more follow." if added else "The answer stays the same, word for word."
    summary = f"{lead}; {sum(pointed) - sum(changed)} stayed." if changed else same
    return change.drawn() | {"said": summary, "before": was, "after": becomes}


def _points_at(result: Mapping[str, Any], word: Mapping[str, Any], change: Change) -> bool:
    """Whether what is changed was the source of a word; a sentence also has to be the one that is missed most."""
    from_document = word["source"] == f"document {change.document + 1}"
    left_out = result["generated"]["matrix"].get(SENTENCE)
    if not from_document or change.sentence is None or left_out is None:
        return from_document and change.sentence is None
    sums = [sum(row[word["start"] : word["end"]]) for row in left_out["values"]]
    (start, end), unit = change.span(result), left_out["units"][sums.index(max(sums))]
    return max(sums) > 0 and bool(start <= unit["start"] < end)


def answer_page(result: Mapping[str, Any], question: str, chosen: Sequence[str] = ()) -> str:
    """A self-contained HTML file with hover and selection: one script, one style, and no request."""
    data = {"id": "file", "static": True, "view": {}, "status": None, "without": None, "old": None}
    text = json.dumps(data | drawn(result, chosen), ensure_ascii=True).replace("<", "\\u003c")
    # The component's script is a module; what it exports is called once.
    script = joined("answer", "js").replace("export default function", "function start")
    script += f"\nstart({{ data: {text}, parentElement: document }});\n"
    style = joined("answer", "css")
    about = {"model": result["model"], "question": question, "documents": len(result["documents"])}
    allowed = {"script_digest": digest(script), "style_digest": digest(style)}
    return render("answer.html", **about, script=script, style=style, **allowed)


# Of the card, in pixels: a word's width is estimated by its letters, so that no font is asked.
_WIDTH, _EDGE, _LINE, _SIZE = 860, 28, 40, 17.5
_LETTERS = {**dict.fromkeys("ijl.,:;'’|!I", 0.26), **dict.fromkeys("frt()[]-/", 0.36), **dict.fromkeys("mwMW%@", 0.84)}


def answer_card(result: Mapping[str, Any], question: str) -> str:
    """A picture (SVG): question, answer with a bar under each word, the beginnings of the documents, and what was found."""
    data = drawn(result)
    words: list[dict[str, Any]] = []
    x, y = float(_EDGE), 112
    for word in data["words"]:
        text = word["text"].strip()
        wide = _SIZE * sum(_LETTERS.get(letter, 0.66 if letter.isupper() else 0.54) for letter in text)
        x += 5 if word["text"][:1].isspace() and words else 0
        if (x + wide > _WIDTH - _EDGE and x > _EDGE) or word["breaks"]:
            x, y = float(_EDGE), y + _LINE
        words.append({"x": round(x, 1), "y": y, "width": round(wide, 1), "text": text, **_bar(word)})
        x += wide
    spans = [document["sentences"] for document in data["documents"]]
    texts = ["".join(data["tokens"][span[0][0] : span[-1][1]]).strip() if span else "" for span in spans]
    keys = [{"y": y + 42 + 22 * number, "colour": _hue(number), "text": text} for number, text in enumerate(texts)]
    low, lines = y + 56 + 22 * len(keys), wrap(verdict(data), 110)
    foot = [{"y": low + 20 * number, "text": line} for number, line in enumerate(lines)]
    about = {"question": question, "words": words, "keys": keys, "foot": foot}
    return render("answer.svg", width=_WIDTH, height=low + 20 * len(lines) + 6, **about)


def _hue(number: int) -> str:
    return HUES[number] if number < len(HUES) else GREY


def _bar(word: Mapping[str, Any]) -> dict[str, Any]:
    source = word["source"] or ""
    if source.startswith("document "):
        number = int(source.removeprefix("document ")) - 1
        high = 2 + 4.5 * min(1.0, (max(0.0, word["nats"]) / 8) ** 0.6)
        return {"colour": _hue(number), "high": round(high, 1), "dashed": False}
    memory = source == "memory"
    return {"colour": GREY if memory else DASHED, "high": 3 if memory else 2, "dashed": not memory}


def verdict(data: Mapping[str, Any]) -> str:
    """What was found of a whole answer: on what its words rest, and what stands in its documents."""
    did = "read" if data["given"] else "wrote"
    found = resting(data["words"]) or "not computed to the end"
    said = [f"{one}." for sentence in data["sentences"] for one in sentence["nowhere"]]
    return " ".join(filter(None, [f"{data['model']} {did} this: {found}.", data["stands"], *said]))


def spelt(words: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The words that have a letter or a digit outside of a marker, which are those that count; all, where none has."""
    letters, ends = [letter for word in words for letter in word["text"]], accumulate(len(word["text"]) for word in words)
    for marker in markers("".join(letters)):
        letters[marker.start() : marker.end()] = " " * len(marker[0])
    spelled = [any(map(str.isalnum, letters[end - len(word["text"]) : end])) for word, end in zip(words, ends, strict=True)]
    return [*compress(words, spelled)] or [*words]


def resting(words: Sequence[Mapping[str, Any]]) -> str:
    """`3 of 6 words rest on document 1, 2 on memory, 1 unclear`: documents first; empty where not all is known."""
    counts = Counter(word["source"] for word in spelt(words))
    if None in counts or not counts:
        return ""
    ordered = sorted(counts, key=lambda source: (source == UNCLEAR, source == MEMORY, -counts[source], source))
    first, *others = (f"{counts[source]} {source if source == UNCLEAR else f'on {source}'}" for source in ordered)
    rest = "" if ordered == [UNCLEAR] else "rests " if counts[ordered[0]] == 1 else "rest "
    return ", ".join([first.replace(" ", f" of {so_many(counts.total(), 'word')} {rest}", 1), *others])


# Words of an answer on its card.
_FIRST = 14


def on_card(data: Mapping[str, Any]) -> dict[str, Any]:
    """An answer's first words with their sources, how many documents were read, and what most words rest on."""
    words = [{name: word[name] for name in ("text", "source", "nats")} for word in data["words"][:_FIRST]]
    read = spelt(data["words"])
    ((source, most),) = Counter(word["source"] for word in read).most_common(1)
    found = f"{most} of {len(read)} {source if source == UNCLEAR else f'rest on {source}'}" if resting(read) else ""
    return {
        "words": words,
        "cut": len(data["words"]) > _FIRST,
        "about": so_many(len(data["documents"]), "document"),
        "found": found,
    }

"""One claim as the browser draws it: its evidence, the explanation with a citation masked, and all annotators' marks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from heval_core.figures.palette import annotator_colour
from heval_core.present.names import PEOPLE, PERSON, Names
from heval_core.present.numbers import number
from heval_core.present.table import Record
from heval_core.records.vocabulary import listed
from heval_core.texts import markers

# How words of a verdict begin: of one between the two, with neither ✓ nor ✗, of one against the claim, and of one for it.
_TONES = {
    "": r"enough|insufficient|half|mostly|mixture|barely|part|neutral|unproven|unverified",
    "bad": r"false|refut|pants|contradict|no\b|not\b|incorrect|untrue|fake|unsupport|debunk",
    "good": r"true|support|correct|entail|yes\b|accurate",
}
Pieces = list[tuple[str, str]]
FOUND, WRONG, MISSED, NONE, UNKNOWN = "found", "wrong", "missed", "none", "unknown"
_WORDS = {
    FOUND: "found: it marks this sentence, which cited the passage",
    WRONG: "wrongly marked: this sentence did not cite the passage",
    MISSED: "missed: this sentence cited the passage",
    NONE: "not marked",
}


def tone(verdict: str) -> str:
    """`bad` for a verdict against the claim, `good` for one in its favour, empty for another."""
    words = verdict.lower().replace("_", " ")
    return next((found for found, begins in _TONES.items() if re.search(rf"\b({begins})", words)), "")


def first_passage(explanation: Record) -> int | None:
    """The one to begin with: the sampled one, else one that is cited, else the first one."""
    given, cited = explanation["selected"], _cited(explanation)
    return next((n for n in (explanation["sampled"], *(n for n in given if n in cited), *given) if n in given), None)


def _cited(explanation: Record) -> set[int]:
    return {number for numbers in explanation["cited"] for number in numbers}


def masked(sentence: str, passage: int, cited: Sequence[int]) -> Pieces:
    """A sentence in pieces: text, citations of other passages (`cite`), and a gap where this one's was taken out. cited: the
    passages that it cites; brackets with other numbers are text."""
    pieces: Pieces = []
    end, gaps = 0, 0
    for marker in markers.markers(sentence):
        numbers = set(markers.numbers(marker))
        if not numbers & set(cited):
            continue
        pieces += [("", sentence[end : marker.start()]), ("cite", markers.rest(marker, lambda number: number == passage))]
        pieces += [("gap", "[ ? ]")] if passage in numbers else []
        gaps, end = gaps + (passage in numbers), marker.end()
    pieces.append(("", sentence[end:]))
    if passage in cited and not gaps:
        pieces.append(("gap", "[ ? ]"))
    return [piece for piece in pieces if piece[1]]


def claim_drawing(
    explanation: Record, recoveries: Sequence[Record], passage: int | None, names: Names, every: Iterable[str]
) -> dict[str, Any]:
    """What the browser draws. recoveries: all rows of `recovery` of the explanation. passage: whose citation is masked; None
    where there is none. every: the annotators that have a column, asked or not."""
    sentences = list(zip(explanation["sentences"], explanation["cited"], strict=True))
    gold = {index for index, (_, cited) in enumerate(sentences) if passage in cited}
    answers: dict[str, list[Record]] = {}
    for row in recoveries:
        if row["passage"] == passage:
            answers.setdefault(_of(row["annotator"]), []).append(row)
    keys, heaviest = names.in_order({_of(key) for key in every} | answers.keys()), _heaviest(recoveries)
    columns = [_column(key, answers.get(key, []), gold, len(sentences), names, heaviest.get(key)) for key in keys]
    said, runs = lead(explanation, columns, passage, gold), _runs([text for text, _ in sentences], gold, columns)
    columns = [column | {"cells": [column["cells"][run[0]] for run in runs]} for column in columns]
    return {
        "id": explanation["explanation_id"],
        "claim": explanation["claim"],
        "verdict": explanation["verdict"] or "",
        "tone": tone(explanation["verdict"] or ""),
        "lead": said,
        "passage": passage,
        "passages": _passages(explanation),
        "sentences": [_line(sentences[run[0]], passage, run, run[0] in gold) for run in runs],
        "annotators": columns,
        "notes": _notes(explanation, columns),
    }


def _runs(texts: Sequence[str], gold: set[int], columns: Sequence[Record]) -> list[list[int]]:
    """The places of sentences, those together that say the same one after another and are marked alike."""
    states = [[cell["state"] for cell in column["cells"]] for column in columns]
    alike = [(text.strip(), index in gold, *(own[index] for own in states)) for index, text in enumerate(texts)]
    return [[index for index, _ in run] for _, run in groupby(enumerate(alike), key=itemgetter(1))]


def _line(sentence: tuple[str, Sequence[int]], passage: int | None, run: Sequence[int], gold: bool) -> dict[str, Any]:
    pieces = [("", sentence[0])] if passage is None else masked(sentence[0], passage, sentence[1])
    last, count = (f"–{run[-1] + 1}", [("", f" × {len(run)}")]) if len(run) > 1 else ("", [])
    return {"pieces": [*pieces, *count], "gold": gold, "number": f"{run[0] + 1}{last}"}


def _notes(explanation: Record, columns: Sequence[Record]) -> list[str]:
    """What is wrong though it can be used: with the claim, with the explanation, and with answers."""
    problems = {"claim": explanation["claim_problems"], "explanation": explanation["problems"]}
    notes = [f"Of this {what}: {problem.rstrip('.')}." for what, defects in problems.items() for problem in defects or []]
    return notes + [
        f"{column['name']}: its answer could not be read ({column['problem']}), and counts as marking nothing."
        for column in columns
        if column["problem"]
    ]


def lead(explanation: Record, columns: Sequence[Record], passage: int | None, gold: set[int]) -> Pieces:
    """What became of the citation: by the best annotator that reads, and by the best explainer."""
    if explanation["unavailable"]:
        return [("", f"There is no explanation: {explanation['unavailable'].rstrip('.')}.")]
    if passage is None:
        return [("", "The writer was given no passage, so there is no citation to mask.")]
    answered = [column for column in columns if not column["control"] and not column["problem"] and column["f1"] is not None]
    if not gold:
        silent = [column["name"] for column in answered if not column["chosen"]]
        parts: Pieces = [("", "No sentence cites passage "), ("b", f"[{passage}]"), ("", ", though the writer was given it. ")]
        if not answered:
            return parts
        if not silent:
            return [*parts, ("", "Every annotator marks some sentence all the same.")]
        verb = "marks" if len(silent) == 1 and silent != ["People"] else "mark"
        return [*parts, ("b", listed(silent) if len(silent) < len(answered) or len(silent) == 1 else "All annotators"),
                ("", f" {verb} none, which is right.")]  # fmt: skip
    reader, explainer = (
        max((column for column in answered if (column["family"] == "explainer") is inside), key=itemgetter("f1"), default=None)
        for inside in (False, True)
    )
    parts = [] if reader else [("", "Nobody who reads was asked. ")]
    if reader:
        puts = "put" if reader["key"] == PEOPLE else "puts"
        parts += [("b", reader["name"]), ("", f" {puts} [{passage}] {_where(reader, gold, 'back ')}. ")]
    if explainer:
        whose = "that reads it" if "model=" in explainer["key"] else "that wrote it"
        used = f"The model {whose} used [{passage}] {_where(explainer, gold)}, says "
        parts += [("", used), ("b", explainer["name"]), ("", ".")]
    return parts


def _where(column: Record, gold: set[int], back: str = "") -> str:
    """`back in sentence 2, where it was`, `nowhere; it was in sentence 1`."""
    if column["chosen"] == gold:
        return f"{back}in {_sentences(gold)}, where it was" if back else f"in {_sentences(gold)}"
    marked = f"in {_sentences(column['chosen'])}" if column["chosen"] else "nowhere"
    return f"{marked}; it was in {_sentences(gold)}" if back else marked


def _sentences(indices: set[int]) -> str:
    """`sentence 2`, `sentences 2 and 5`."""
    return f"sentence{'s' if len(indices) > 1 else ''} {listed([str(index + 1) for index in sorted(indices)])}"


def _of(annotator: str) -> str:
    return PEOPLE if annotator.startswith(PERSON) else annotator


def _heaviest(recoveries: Sequence[Record]) -> dict[str, list[tuple[float, int]]]:
    """Annotator ▶ per sentence its highest score for any passage, and which passage that is (of equals the first)."""
    scores: dict[str, list[list[tuple[float, int]]]] = {}
    for row in recoveries:
        scores.setdefault(row["annotator"], []).append([(float(score), row["passage"]) for score in row["scores"] or []])
    return {
        key: [max(of_sentence, key=lambda scored: (scored[0], -scored[1])) for of_sentence in zip(*by_passage, strict=False)]
        for key, by_passage in scores.items()
    }


def _passages(explanation: Record) -> list[dict[str, Any]]:
    """The evidence. cited: whether some sentence does; given: whether the writer was given it, so that it can be masked."""
    given, cited = explanation["selected"], _cited(explanation)
    return [
        {"number": number, "title": title, "text": text, "given": number in given, "cited": number in cited}
        for number, title, text in zip(*(explanation[name] for name in ("numbers", "titles", "passages")), strict=True)
    ]


def _column(
    key: str, rows: Sequence[Record], gold: set[int], count: int, names: Names, heaviest: Sequence[tuple[float, int]] | None
) -> dict[str, Any]:
    """One annotator's: a mark for each sentence, and how it did here. Of people, all of them together."""
    name, problems = names.annotator(key), [str(row["problem"]) for row in rows if row["problem"]]
    chosen = {index for row in rows for index in row["predicted"] or []}
    column: dict[str, Any] = {
        "key": key,
        "name": name,
        "title": name + (f" ({len(rows)})" if key == PEOPLE and len(rows) > 1 else ""),
        "color": annotator_colour(key, names),
        "family": names.family(key),
        "control": names.control(key),
        "about": names.meaning("annotator", key),
        "problem": "",
        "f1": None,
        "score": [],
        "chosen": chosen,
    }
    why = "" if rows else "not asked about this passage"
    if rows:
        mean = {measure: float(np.mean([row[measure] for row in rows])) for measure in ("precision", "recall", "f1", "chance")}
        column |= {"f1": mean["f1"], "text": number(mean["f1"]), "chance": number(mean["chance"])}
        column["score"] = _score(mean, len(gold), bool(chosen))
    if problems and len(problems) == len(rows):
        column["problem"], why = problems[0], f"its answer could not be read: {problems[0]}"
    if why:
        return column | {"cells": [{"state": UNKNOWN, "about": [why]}] * count, "score": [why, *column["score"]]}
    return column | {"cells": [_cell(index, rows, gold, column, heaviest) for index in range(count)]}


def _score(mean: Mapping[str, float], gold: int, marked: bool) -> list[str]:
    if not gold:
        right = (
            "marks a sentence though none cited this passage" if marked else "marks none, which is right: no sentence cited it"
        )
        return [right, "F1 is 0 where no sentence should be marked"]
    values = ", ".join(f"{name} {number(mean[name])}" for name in ("precision", "recall"))
    return [f"F1 {number(mean['f1'])}, where chance gives {number(mean['chance'])}", values]


def _cell(
    index: int, rows: Sequence[Record], gold: set[int], column: Record, heaviest: Sequence[tuple[float, int]] | None
) -> dict[str, Any]:
    """One mark. weight: what the bar under it shows, the passage's score as a share of the highest of the explanation."""
    votes = sum(index in (row["predicted"] or []) for row in rows)
    state = (FOUND if index in gold else WRONG) if votes else (MISSED if index in gold else NONE)
    about = [_WORDS[state]]
    if len(rows) > 1:
        about.append(f"{votes} of {len(rows)} people marked it")
    mark: dict[str, Any] = {"state": state, "about": about, "votes": votes if len(rows) > 1 else None}
    scores = rows[0]["scores"] if len(rows) == 1 else None
    if not scores or index >= len(scores):
        return mark
    score = float(scores[index])
    about.append(f"score {number(score)}")
    if heaviest and index < len(heaviest) and column["family"] == "explainer":
        value, passage = heaviest[index]
        leads = passage == rows[0]["passage"]
        about.append("of all passages this one weighs most" if leads else f"[{passage}] weighs most here: {number(value)}")
        top = max((abs(weight) for weight, _ in heaviest), default=0.0)
        mark["weight"] = round(min(max(score / top, -1.0), 1.0), 3) if top else 0.0
    return mark

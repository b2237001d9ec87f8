"""One claim as the browser draws it: its evidence, the explanation with a citation masked, and all annotators' marks."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from heval_core.citations.records import CitedSentence, Explained, Recovery, StoredExplanation
from heval_core.figures.palette import annotator_colour
from heval_core.present.names import PEOPLE, PERSON, Names
from heval_core.present.numbers import number
from heval_core.records.vocabulary import listed
from heval_core.texts import markers

# How words of a verdict begin: of one between the two, with neither ✓ nor ✗, of one against the claim, and of one for it.
_TONES = {
    "": r"enough|insufficient|half|mostly|mixture|barely|part|neutral|unproven|unverified",
    "bad": r"false|refut|pants|contradict|no\b|not\b|incorrect|untrue|fake|unsupport|debunk",
    "good": r"true|support|correct|entail|yes\b|accurate",
}
Pieces = list[tuple[str, str]]
RIGHT, WRONG, MISSED, NONE, UNKNOWN = "found", "wrong", "missed", "none", "unknown"
_WORDS = {
    RIGHT: "found: it marks this sentence, which cited the passage",
    WRONG: "wrongly marked: this sentence did not cite the passage",
    MISSED: "missed: this sentence cited the passage",
    NONE: "not marked",
}


def tone(verdict: str) -> str:
    """Return `bad` for a verdict against the claim, `good` for one in its favour, empty for another."""
    words = verdict.lower().replace("_", " ")
    return next((key for key, begins in _TONES.items() if re.search(rf"\b({begins})", words)), "")


def first_passage(explanation: StoredExplanation) -> int | None:
    """Return the passage to begin with: the sampled one, else one that is cited, else the first one."""
    given = explanation.explained.selected
    return next((n for n in (explanation.sampled, *explanation.explained.cited, *given) if n in given), None)


def masked(sentence: str, passage: int, cited: Sequence[int]) -> Pieces:
    """Return a sentence in pieces: text, citations of other passages (`cite`), and a gap where this one's was taken out.

    cited: the passages that it cites; brackets with other numbers are text.
    """
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


@dataclass(frozen=True)
class Marked:
    """An annotator's column. key: of people, all of them together. rows: its answers about the passage, one of each of people.

    gold: the sentences that cited the passage. heaviest: see `_heaviest`.
    """

    key: str
    rows: tuple[Recovery, ...]
    gold: frozenset[int]
    names: Names
    heaviest: Sequence[tuple[float, int]] = ()

    @property
    def name(self) -> str:
        return self.names.annotator(self.key)

    @property
    def family(self) -> str:
        return self.names.family(self.key)

    @property
    def chosen(self) -> frozenset[int]:
        return frozenset(index for row in self.rows for index in row.predicted)

    @property
    def problem(self) -> str:
        """Why its answer, or everybody's, could not be read; "" if one could."""
        problems = [row.problem for row in self.rows if row.problem]
        return problems[0] if problems and len(problems) == len(self.rows) else ""

    @property
    def answered(self) -> bool:
        """Whether there is an answer, and not a control's."""
        return bool(self.rows) and not self.problem and self.family != "control"

    def mean(self, measure: str) -> float:
        return float(np.mean([getattr(row, measure) for row in self.rows]))

    def cells(self, count: int) -> list[dict[str, Any]]:
        """Return a mark for each of so many sentences."""
        why = f"its answer could not be read: {self.problem}" if self.problem else "not asked about this passage"
        if self.problem or not self.rows:
            return [{"state": UNKNOWN, "about": [why]}] * count
        return [self._cell(index) for index in range(count)]

    def _cell(self, index: int) -> dict[str, Any]:
        """Return one mark.

        weight: what the bar under it shows, the passage's score as a share of the highest of the explanation.
        """
        rows, votes = self.rows, sum(index in row.predicted for row in self.rows)
        state = (RIGHT if index in self.gold else WRONG) if votes else (MISSED if index in self.gold else NONE)
        about = [_WORDS[state]]
        if len(rows) > 1:
            about.append(f"{votes} of {len(rows)} people marked it")
        mark: dict[str, Any] = {"state": state, "about": about, "votes": votes if len(rows) > 1 else None}
        scores = rows[0].scores if len(rows) == 1 else None
        if not scores or index >= len(scores):
            return mark
        about.append(f"score {number(scores[index])}")
        if index < len(self.heaviest) and self.family == "explainer":
            value, passage = self.heaviest[index]
            leads = passage == rows[0].passage
            about.append("of all passages this one weighs most" if leads else f"[{passage}] weighs most here: {number(value)}")
            top = max(abs(weight) for weight, _ in self.heaviest)
            mark["weight"] = round(min(max(scores[index] / top, -1.0), 1.0), 3) if top else 0.0
        return mark

    def score(self) -> list[str]:
        """Say how it did here, in words."""
        if not self.rows:
            return ["not asked about this passage"]
        means = {measure: number(self.mean(measure)) for measure in ("f1", "chance", "precision", "recall")}
        texts = [f"its answer could not be read: {self.problem}"] if self.problem else []
        if self.gold:
            texts.append(f"F1 {means['f1']}, where chance gives {means['chance']}")
            return [*texts, f"precision {means['precision']}, recall {means['recall']}"]
        marked = "marks a sentence though none cited this passage"
        right = marked if self.chosen else "marks none, which is right: no sentence cited it"
        return [*texts, right, "F1 is 0 where no sentence should be marked"]

    def drawing(self, cells: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what the browser draws. cells: a mark for each line."""
        several = self.key == PEOPLE and len(self.rows) > 1
        f1 = self.mean("f1") if self.rows else None
        return {
            "key": self.key,
            "name": self.name,
            "title": f"{self.name} ({len(self.rows)})" if several else self.name,
            "color": annotator_colour(self.key, self.names),
            "family": self.family,
            "control": self.names.control(self.key),
            "about": self.names.meaning("annotator", self.key),
            "problem": self.problem,
            "f1": f1,
            **({"text": number(f1), "chance": number(self.mean("chance"))} if self.rows else {}),
            "score": self.score(),
            "cells": cells,
        }


def claim_drawing(
    stored: StoredExplanation, recoveries: Sequence[Recovery], passage: int | None, names: Names, every: Iterable[str]
) -> dict[str, Any]:
    """Return what the browser draws.

    recoveries: all of the explanation. passage: whose citation is masked; None where there is none. every: the annotators that
    have a column, asked or not.
    """
    explained, claim = stored.explained, stored.explained.claim
    columns = marked_by(explained, recoveries, passage, names, every)
    cells = [column.cells(len(explained.sentences)) for column in columns]
    gold = _gold(explained, passage)
    # Sentences that say the same one after another and are marked alike are one line.
    alike = [
        (sentence.text.strip(), index in gold, *(marks[index]["state"] for marks in cells))
        for index, sentence in enumerate(explained.sentences)
    ]
    runs = [[index for index, _ in run] for _, run in groupby(enumerate(alike), key=itemgetter(1))]
    return {
        "id": stored.id,
        "claim": claim.claim,
        "verdict": claim.verdict or "",
        "tone": tone(claim.verdict or ""),
        "lead": lead(explained, columns, passage),
        "passage": passage,
        # cited: whether some sentence does; given: whether the writer was given it, so that it can be masked.
        "passages": [
            vars(one) | {"given": one.number in explained.selected, "cited": one.number in explained.cited}
            for one in claim.passages
        ],
        "sentences": [_line(explained.sentences[run[0]], passage, run, run[0] in gold) for run in runs],
        "annotators": [column.drawing([marks[run[0]] for run in runs]) for column, marks in zip(columns, cells, strict=True)],
        "notes": _notes(explained, columns),
    }


def _gold(explained: Explained, passage: int | None) -> frozenset[int]:
    return frozenset(index for index, sentence in enumerate(explained.sentences) if passage in sentence.cited)


def marked_by(
    explained: Explained, recoveries: Sequence[Recovery], passage: int | None, names: Names, every: Iterable[str]
) -> list[Marked]:
    """Return the columns of `claim_drawing`, in order."""
    answers: dict[str, list[Recovery]] = {}
    for row in recoveries:
        if row.passage == passage:
            answers.setdefault(_of(row.annotator), []).append(row)
    gold, heaviest = _gold(explained, passage), _heaviest(recoveries)
    keys = names.in_order({_of(key) for key in every} | answers.keys())
    return [Marked(key, tuple(answers.get(key, ())), gold, names, heaviest.get(key, ())) for key in keys]


def _line(sentence: CitedSentence, passage: int | None, run: Sequence[int], gold: bool) -> dict[str, Any]:
    pieces = [("", sentence.text)] if passage is None else masked(sentence.text, passage, sentence.cited)
    last, count = (f"–{run[-1] + 1}", [("", f" × {len(run)}")]) if len(run) > 1 else ("", [])
    return {"pieces": [*pieces, *count], "gold": gold, "number": f"{run[0] + 1}{last}"}


def _notes(explained: Explained, columns: Sequence[Marked]) -> list[str]:
    """Say what is wrong though it can be used: with the claim, with the explanation, and with answers."""
    problems = {"claim": explained.claim.problems, "explanation": explained.problems if explained.sentences else ()}
    notes = [f"Of this {what}: {problem.rstrip('.')}." for what, defects in problems.items() for problem in defects]
    return notes + [
        f"{column.name}: its answer could not be read ({column.problem}), and counts as marking nothing."
        for column in columns
        if column.problem
    ]


def lead(explained: Explained, columns: Sequence[Marked], passage: int | None) -> Pieces:
    """Say what became of the citation: by the best annotator that reads, and by the best explainer."""
    if explained.unavailable:
        return [("", f"There is no explanation: {explained.unavailable.rstrip('.')}.")]
    if passage is None:
        return [("", "The writer was given no passage, so there is no citation to mask.")]
    answered, gold = [column for column in columns if column.answered], _gold(explained, passage)
    if not gold:
        silent = [column.name for column in answered if not column.chosen]
        parts: Pieces = [("", "No sentence cites passage "), ("b", f"[{passage}]"), ("", ", though the writer was given it. ")]
        if not answered:
            return parts
        if not silent:
            return [*parts, ("", "Every annotator marks some sentence all the same.")]
        verb = "marks" if len(silent) == 1 and silent != ["People"] else "mark"
        return [*parts, ("b", listed(silent) if len(silent) < len(answered) or len(silent) == 1 else "All annotators"),
                ("", f" {verb} none, which is right.")]  # fmt: skip
    reader, explainer = (
        max((one for one in answered if (one.family == "explainer") is inside), key=lambda one: one.mean("f1"), default=None)
        for inside in (False, True)
    )
    parts = [] if reader else [("", "Nobody who reads was asked. ")]
    if reader:
        puts = "put" if reader.key == PEOPLE else "puts"
        parts += [("b", reader.name), ("", f" {puts} [{passage}] {_where(reader, 'back ')}. ")]
    if explainer:
        role = "that reads it" if "model=" in explainer.key else "that wrote it"
        used = f"The model {role} used [{passage}] {_where(explainer)}, says "
        parts += [("", used), ("b", explainer.name), ("", ".")]
    return parts


def _where(column: Marked, back: str = "") -> str:
    """Say where an annotator puts it: `back in sentence 2, where it was`, `nowhere; it was in sentence 1`."""
    if column.chosen == column.gold:
        return f"{back}in {_sentences(column.gold)}, where it was" if back else f"in {_sentences(column.gold)}"
    marked = f"in {_sentences(column.chosen)}" if column.chosen else "nowhere"
    return f"{marked}; it was in {_sentences(column.gold)}" if back else marked


def _sentences(indices: Collection[int]) -> str:
    """Name sentences: `sentence 2`, `sentences 2 and 5`."""
    return f"sentence{'s' if len(indices) > 1 else ''} {listed([str(index + 1) for index in sorted(indices)])}"


def _of(annotator: str) -> str:
    return PEOPLE if annotator.startswith(PERSON) else annotator


def _heaviest(recoveries: Sequence[Recovery]) -> dict[str, list[tuple[float, int]]]:
    """Return annotator ▶ per sentence its highest score for any passage, and which passage that is (of equals the first)."""
    scores: dict[str, list[list[tuple[float, int]]]] = {}
    for row in recoveries:
        scores.setdefault(row.annotator, []).append([(score, row.passage) for score in row.scores or ()])
    return {
        key: [max(of_sentence, key=lambda scored: (scored[0], -scored[1])) for of_sentence in zip(*by_passage, strict=False)]
        for key, by_passage in scores.items()
    }

"""The sentences of a paper as a forest table: one a row, with the effect that decides its verdict on an axis they share.

The axis: how far an effect lies from the limit that its sentence names, counted in the sentence's direction. 0 is the limit
itself (no difference, no bias, no change; for "near zero" a root mean square of .1). Right of it the sentence holds. All
effects are differences or slopes of values on a scale of length 1: MRR, shares, or values from 0 (chance) to 1 (best).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from heval_core.evaluation.findings.claims import CONTRADICTED, SUPPORTED
from heval_core.present.drawing import Drawing, Mark, Scale
from heval_core.present.names import names_of
from heval_core.present.numbers import EXACT, interval_of, number, short
from heval_core.present.table import Fields, Head, Row, Table, TableCell, number_cell, value_cell
from heval_core.store.reader import Reader

AXIS = (
    "The axis shows how far the deciding effect is from the limit that its sentence names, in the effect's own unit; all "
    "units are parts of a scale of length 1. Right of the dashed line the sentence holds, left of it the opposite does. "
    "Line: 95 % interval. Small ticks below: the sentence's other effects. Open diamond: the paper's own value, where it "
    "reports one."
)
VERDICTS = (
    "Supported: the 95 % interval of every effect lies in the range that the sentence claims. Contradicted: an interval lies "
    "outside, at 95 % for all effects of the sentence together. Intervals are over questions, so a verdict holds for the "
    "models and datasets of these results."
)
WIDTH, HEIGHT = 340.0, 34.0
# What the words beside the axis need.
ROOM = 130.0
STYLES = {SUPPORTED: ("good", "✓"), CONTRADICTED: ("bad", "✗")}


@dataclass(frozen=True)
class ForestRow:
    """A finding as a row. style: good, bad or open. effect: what is drawn. number: it with its interval. reported: the
    same of the paper, or a dash. finding: its row in the table `finding`, with explainers by title. tables: its effects and
    levels, where there are any.
    """

    finding: Fields
    style: str
    sign: str
    effect: str
    number: str
    reported: str
    drawing: Drawing
    tables: tuple[Table, ...]


@dataclass(frozen=True, eq=False)
class StudyFindings:
    """Sentences of a paper as tests. findings: rows of a table of findings. titles: explainer ▶ what it is called."""

    key: str
    heading: str
    findings: pd.DataFrame
    titles: Mapping[str, str]

    @property
    def answer(self) -> str:
        """What the table says, in a sentence; empty without any."""
        counts = self.findings["verdict"].value_counts() if len(self.findings) else {}
        held, against = int(counts.get(SUPPORTED, 0)), int(counts.get(CONTRADICTED, 0))
        left = len(self.findings) - held - against
        of = f"{len(self.findings)} sentences {f'about {self.key}' if self.key else 'of Sun et al. (2025)'}"
        phrases = (_so_many(held, "holds", "hold"), _so_many(against, "is", "are"), _so_many(left, "stays", "stay"))
        return "Of {}, {} in these results, {} contradicted, and {} open.".format(of, *phrases) if len(self.findings) else ""

    @cached_property
    def _decided(self) -> list[tuple[Fields, Fields | None, float | None]]:
        """Each finding with the effect that decides, and the paper's value of that."""
        opened = [
            row | {name: json.loads(row[name]) for name in ("effects", "levels")} for row in self.findings.to_dict("records")
        ]
        decided = [(finding, deciding(finding["effects"])) for finding in opened]
        return [(finding, effect, paper_value(finding, effect)) for finding, effect in decided]

    @cached_property
    def scale(self) -> Scale:
        ends = [0.0]
        for finding, effect, paper in self._decided:
            ends += [toward(each_effect, each_effect["value"]) for each_effect in finding["effects"]]
            ends += [toward(effect, effect[name]) for name in ("low", "high")] if effect else []
            ends += [toward(effect, paper)] if effect and paper is not None else []
        return Scale.around(ends, 6, WIDTH - 6)

    @cached_property
    def rows(self) -> list[ForestRow]:
        return [_row(*decided, self.scale, self.titles) for decided in self._decided]

    @property
    def axis(self) -> Drawing:
        """Stands above the rows' drawings."""
        drawing = Drawing(WIDTH, 32, "axis: against the sentence on the left, as the sentence says on the right")
        scale = self.scale
        against = "← against the sentence" if scale.at(0) > ROOM else "← against"
        drawing.words("faint", (scale.at(0) - 8, 11), against, "end")
        drawing.words("faint", (scale.at(0) + 8, 11), "as it says →")
        drawing.line("limit", (scale.at(0), 0), (scale.at(0), 14))
        drawing.line("axis", (scale.left, 31), (scale.right, 31))
        for tick in scale.ticks(7):
            drawing.line("axis", (scale.at(tick), 27), (scale.at(tick), 31))
            drawing.words("faint", (scale.at(tick), 24), short(tick), "middle")
        return drawing


def _so_many(count: int, one: str, several: str) -> str:
    return f"{count or 'none'} {several if count > 1 else one}"


def studies_of(results: Reader) -> tuple[StudyFindings, StudyFindings, StudyFindings]:
    """Return the findings about explainers, techniques and citations; each may be empty."""
    names = names_of(results)
    titles = {key: title for key, title in names.explainers.items() if key not in names.controls}
    return (
        StudyFindings("", "", results.findings(), titles),
        StudyFindings("techniques", "Techniques: what makes a model use its context", results.findings("techniques"), {}),
        StudyFindings("citations", "Citations: does an explanation rest on what it cites?", results.findings("citations"), {}),
    )


def findings_table(here: StudyFindings, taught: StudyFindings | None, models: str) -> Table:
    """Make a table with a row for each sentence of the paper.

    taught: the same study of models with a taught rule, where it is published.
    """
    beside = {row.finding["key"]: row for row in taught.rows} if taught else {}
    rows = []
    for row in here.rows:
        texts = (f"{row.sign} {row.finding['verdict']}", row.effect, row.reported, row.number)
        cells = [*map(TableCell, texts), *([_of_taught(beside.get(row.finding["key"]))] if taught else [])]
        rows.append(Row((row.finding["sentence"],), tuple(cells)))
    heads = [
        Head("verdict", left=True),
        Head("what decides it", "The effect that is furthest against the sentence", left=True),
    ]
    heads += [Head("the paper", "Its own value, where it reports one"), Head(f"here: {models}")]
    about = "They say how a sentence can be checked, nothing about real models"
    heads += [Head("models with a taught rule", about)] if taught else []
    return Table("Findings", ("sentence",), tuple(heads), tuple(rows))


def _of_taught(row: ForestRow | None) -> TableCell:
    return TableCell(f"{row.sign} {row.finding['verdict']}, {row.number}", why=row.effect) if row else TableCell()


def toward(effect: Fields, value: float) -> float:
    """Measure how far a value is from the limit, in the direction of the sentence.

    By hand: .3 that should be below .1 is .2 on the wrong side; −.4 that should be above 0 is .4 on it.

    >>> round(toward({"least": None, "most": 0.1}, 0.3), 3), toward({"least": 0.0, "most": None}, -0.4)
    (-0.2, -0.4)
    """
    return float(value - effect["least"] if effect["most"] is None else effect["most"] - value)


def _between(effect: Fields, names: tuple[str, str]) -> tuple[float, float]:
    lower, upper = sorted(toward(effect, effect[name]) for name in names)
    return lower, upper


def deciding(effects: Sequence[Fields]) -> Fields | None:
    """Choose the deciding effect: of those that contradict the sentence, else of those that leave it open, else of all, the
    one furthest against it.
    """
    contradicting = [effect for effect in effects if _between(effect, ("strict_low", "strict_high"))[1] < 0]
    undecided = [effect for effect in effects if _between(effect, ("low", "high"))[0] <= 0]
    return min(contradicting or undecided or effects, key=lambda effect: toward(effect, effect["value"]), default=None)


def paper_value(record: Fields, effect: Fields | None) -> float | None:
    """Return the paper's value of an effect that is the difference of two values that it reports; None if it does not.

    A value that the paper gives in passing, in brackets, is another statistic, and no part of a difference.
    """
    match = re.fullmatch(r"(\S+) − (\S+), (.+)", effect["label"]) if effect else None
    if match is None:
        return None
    levels = {level["label"]: level["published"] for level in record["levels"]}
    first, second = (levels.get(f"{name}, {match[3]}") for name in match.group(1, 2))
    named = set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", record["published"])))
    if first is None or second is None or not named >= set(match.group(1, 2)):
        return None
    return float(first - second)


def spelled(text: str, titles: Mapping[str, str]) -> str:
    """Replace every explainer's key in a text by its title, and hyphens before negative numbers by a minus."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", re.sub(r"[a-z]+", lambda word: titles.get(word[0], word[0]), text))


def _row(finding: Fields, effect: Fields | None, paper: float | None, scale: Scale, titles: Mapping[str, str]) -> ForestRow:
    style, sign = STYLES.get(finding["verdict"], ("open", "?"))
    drawing = Drawing(WIDTH, HEIGHT, f"{finding['verdict']}: {finding['sentence']}")
    drawing.line("limit", (scale.at(0), 0), (scale.at(0), HEIGHT))
    readable = {**finding, **{name: spelled(finding[name], titles) for name in ("reason", "published")}}
    for name in ("effects", "levels"):
        readable[name] = [{**entry, "label": spelled(entry["label"], titles)} for entry in finding[name]]
    tables = tuple(table for table in (effects_of(readable), levels_of(readable)) if table.rows)
    if effect is None:
        left = scale.at(0) + ROOM > WIDTH
        drawing.words("faint", (scale.at(0) + (-8 if left else 8), 21), "no cell has this effect", "end" if left else "start")
        return ForestRow(readable, style, sign, "–", "–", "–", drawing, tables)
    for other in finding["effects"]:
        if other["label"] != effect["label"]:
            x = scale.at(toward(other, other["value"]))
            drawing.line("tick", (x, 24), (x, 31))
    ends = [scale.at(end) for end in _between(effect, ("low", "high"))]
    drawing.line("whisker", (ends[0], 13), (ends[1], 13))
    drawing.spot((scale.at(toward(effect, effect["value"])), 13), [Mark("circle", style, size=4)])
    if paper is not None:
        drawing.spot((scale.at(toward(effect, paper)), 13), [Mark("diamond", "ring", size=6)])
    value = interval_of(effect, EXACT)
    name = spelled(effect["label"], titles) + claimed(effect)
    return ForestRow(readable, style, sign, name, value, number(paper, EXACT), drawing, tables)


def claimed(effect: Fields) -> str:
    """Return the range that a sentence claims, where it is not simply above 0."""
    if effect["most"] is None:
        return "" if effect["least"] == 0 else f", claimed above {effect['least']:g}"
    return f", claimed below {effect['most']:g}"


def effects_of(row: Fields) -> Table:
    """Make a table of the effects of a finding: value, interval, expected range, and how many cells agree."""
    return Table.of(
        {
            "effect": effect["label"],
            row["unit"]: number_cell(effect, EXACT),
            "expected": f"below {effect['most']:g}" if effect["least"] is None else f"above {effect['least']:g}",
            "holds in": None if effect["agree"] is None else f"{effect['agree']} of {effect['places']}",
            "cells": effect["cells"],
            "n": effect["n"],
        }
        for effect in row["effects"]
    )


def levels_of(row: Fields) -> Table:
    """Make a table of a finding's values beside the paper's own; empty where the paper reports none."""
    return Table.of(
        {
            "explainer": level["label"],
            "here": number_cell(level, EXACT),
            "chance": value_cell(level["chance"], EXACT),
            "published": value_cell(level["published"], EXACT),
        }
        for level in row["levels"]
    )

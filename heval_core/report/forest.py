"""The findings as one forest table: a row for each sentence, with the effect that decides its verdict on an axis they share.

The axis: how far an effect lies from the limit that its sentence names, counted in the sentence's direction. 0 is the limit
itself (no difference, no bias, no change; for "near zero" a root mean square of .1). Right of it the sentence holds. All
effects are differences or slopes of values on a scale of length 1: MRR, shares, or values normalised to 0 at chance and 1 at
best.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from heval_core.evaluation.findings import CONTRADICTED, SUPPORTED
from heval_core.present.drawing import Drawing, Mark, Scale
from heval_core.present.numbers import EXACT, number, short
from heval_core.present.table import Table, number_cell

AXIS = (
    "The axis shows how far the deciding effect is from the limit that its sentence names, in the effect's own unit; all "
    "units are parts of a scale of length 1. Right of the dashed line the sentence holds, left of it the opposite does. "
    "Line: 95 % interval. Small ticks below: the sentence's other effects. Open diamond: the paper's own value, where it "
    "reports one."
)
WIDTH, HEIGHT = 340.0, 34.0
# What the words beside the axis need.
ROOM = 130.0
STYLES = {SUPPORTED: ("good", "✓"), CONTRADICTED: ("bad", "✗")}
OPEN = ("open", "?")


@dataclass(frozen=True)
class ForestRow:
    """A finding as a row. style: good, bad or open. effect: what is drawn. number: it with its interval. reported: the
    same of the paper, or a dash. finding: its row in the table `finding`, with explainers by title.
    """

    finding: Mapping[str, Any]
    style: str
    sign: str
    effect: str
    number: str
    reported: str
    drawing: Drawing

    @property
    def tables(self) -> list[Table]:
        """Its effects and levels, where there are any."""
        return [own for own in (effects_of(self.finding), levels_of(self.finding)) if own.rows]


class Forest(NamedTuple):
    """axis: stands above the rows' drawings."""

    rows: list[ForestRow]
    axis: Drawing


def forest(findings: pd.DataFrame, titles: Mapping[str, str]) -> Forest:
    """titles: explainer ▶ what it is called."""
    records = findings.to_dict("records")
    every = [effect for record in records for effect in json.loads(record["effects"])]
    decisive = [deciding(json.loads(record["effects"])) for record in records]
    reported = [paper_value(record, effect) for record, effect in zip(records, decisive, strict=True)]
    ends = [toward(effect, effect[name]) for effect in decisive if effect for name in ("low", "high")]
    ends += [toward(effect, effect["value"]) for effect in every]
    ends += [toward(effect, value) for effect, value in zip(decisive, reported, strict=True) if effect and value is not None]
    scale = Scale.around([*ends, 0.0], 6, WIDTH - 6)
    rows = [
        _row(record, effect, value, scale, titles) for record, effect, value in zip(records, decisive, reported, strict=True)
    ]
    return Forest(rows, _axis(scale))


def toward(effect: Mapping[str, Any], value: float) -> float:
    """How far a value is from the limit, in the direction of the sentence.

    By hand: .3 that should be below .1 is .2 on the wrong side; −.4 that should be above 0 is .4 on it.

    >>> round(toward({"least": None, "most": 0.1}, 0.3), 3), toward({"least": 0.0, "most": None}, -0.4)
    (-0.2, -0.4)
    """
    return float(value - effect["least"] if effect["most"] is None else effect["most"] - value)


def _between(effect: Mapping[str, Any], names: tuple[str, str]) -> tuple[float, float]:
    one, other = sorted(toward(effect, effect[name]) for name in names)
    return one, other


def deciding(effects: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Of those that contradict the sentence, else of those that leave it open, else of all: the one furthest against it."""
    contradicting = [effect for effect in effects if _between(effect, ("strict_low", "strict_high"))[1] < 0]
    undecided = [effect for effect in effects if _between(effect, ("low", "high"))[0] <= 0]
    return min(contradicting or undecided or effects, key=lambda effect: toward(effect, effect["value"]), default=None)


def paper_value(record: Mapping[str, Any], effect: Mapping[str, Any] | None) -> float | None:
    """The paper's value of an effect that is the difference of two values that it reports; None if it does not.

    A value that the paper gives in passing, in brackets, is another statistic, and no part of a difference.
    """
    match = re.fullmatch(r"(\S+) − (\S+), (.+)", effect["label"]) if effect else None
    if match is None:
        return None
    levels = {level["label"]: level["published"] for level in json.loads(record["levels"])}
    first, second = (levels.get(f"{name}, {match[3]}") for name in match.group(1, 2))
    named = set(re.findall(r"\w+", re.sub(r"\(.*?\)", "", record["published"])))
    if first is None or second is None or not named >= set(match.group(1, 2)):
        return None
    return float(first - second)


def spelled(text: str, titles: Mapping[str, str]) -> str:
    """A text with every explainer called by its title instead of its key, and with a minus before negative numbers."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", re.sub(r"[a-z]+", lambda word: titles.get(word[0], word[0]), text))


def _row(
    record: dict[str, Any], effect: Mapping[str, Any] | None, paper: float | None, scale: Scale, titles: Mapping[str, str]
) -> ForestRow:
    style, sign = STYLES.get(record["verdict"], OPEN)
    drawing = Drawing(WIDTH, HEIGHT, f"{record['verdict']}: {record['sentence']}")
    drawing.line("limit", (scale.at(0), 0), (scale.at(0), HEIGHT))
    said = {name: spelled(record[name], titles) for name in ("reason", "published")}
    for name in ("effects", "levels"):
        named = [{**own, "label": spelled(own["label"], titles)} for own in json.loads(record[name])]
        said[name] = json.dumps(named)
    if effect is None:
        left = scale.at(0) + ROOM > WIDTH
        drawing.words("faint", (scale.at(0) + (-8 if left else 8), 21), "no cell has this effect", "end" if left else "start")
        return ForestRow({**record, **said}, style, sign, "–", "–", "–", drawing)
    for other in json.loads(record["effects"]):
        if other["label"] != effect["label"]:
            place = scale.at(toward(other, other["value"]))
            drawing.line("tick", (place, 24), (place, 31))
    ends = [scale.at(end) for end in _between(effect, ("low", "high"))]
    drawing.line("whisker", (ends[0], 13), (ends[1], 13))
    drawing.spot((scale.at(toward(effect, effect["value"])), 13), [Mark("circle", style, size=4)])
    if paper is not None:
        drawing.spot((scale.at(toward(effect, paper)), 13), [Mark("diamond", "ring", size=6)])
    number = f"{signed(effect['value'])} [{signed(effect['low'])}, {signed(effect['high'])}]"
    reported = "–" if paper is None else signed(paper)
    name = spelled(effect["label"], titles) + claimed(effect)
    return ForestRow({**record, **said}, style, sign, name, number, reported, drawing)


def claimed(effect: Mapping[str, Any]) -> str:
    """The range that a sentence claims, where it is not simply above 0."""
    if effect["most"] is None:
        return "" if effect["least"] == 0 else f", claimed above {effect['least']:g}"
    return f", claimed below {effect['most']:g}"


def signed(value: float) -> str:
    """Two decimals, three for what is smaller than .1."""
    return f"{value:.{2 if round(abs(value), 9) >= 0.1 else 3}f}".replace("-", "−")


def _axis(scale: Scale) -> Drawing:
    drawing = Drawing(WIDTH, 32, "axis: against the sentence on the left, as the sentence says on the right")
    against = "← against the sentence" if scale.at(0) > ROOM else "← against"
    drawing.words("faint", (scale.at(0) - 8, 11), against, "end")
    drawing.words("faint", (scale.at(0) + 8, 11), "as it says →")
    drawing.line("limit", (scale.at(0), 0), (scale.at(0), 14))
    drawing.line("axis", (scale.left, 31), (scale.right, 31))
    for tick in scale.ticks(7):
        drawing.line("axis", (scale.at(tick), 27), (scale.at(tick), 31))
        drawing.words("faint", (scale.at(tick), 24), short(tick), "middle")
    return drawing


def effects_of(row: Mapping[str, Any]) -> Table:
    """The effects of a finding as readers see them: value, interval, expected range, and how many cells agree."""
    rows = [
        {
            "effect": effect["label"],
            row["unit"]: number_cell(effect, EXACT),
            "expected": f"below {effect['most']:g}" if effect["least"] is None else f"above {effect['least']:g}",
            "holds in": None if effect["agree"] is None else f"{effect['agree']} of {effect['places']}",
            "cells": effect["cells"],
            "n": effect["n"],
        }
        for effect in json.loads(row["effects"])
    ]
    return Table.of(pd.DataFrame(rows))


def levels_of(row: Mapping[str, Any]) -> Table:
    """A finding's values beside the paper's own; empty where the paper reports none."""
    rows = [
        {
            "explainer": level["label"],
            "here": number_cell(level, EXACT),
            "chance": number(level["chance"], EXACT),
            "published": number(level["published"], EXACT),
        }
        for level in json.loads(row["levels"])
    ]
    return Table.of(pd.DataFrame(rows))

"""Techniques for given documents: ranked cards, and every technique as a point, following against ignoring."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from heval_core.evaluation.ranking import ranking, who
from heval_core.evaluation.techniques.front import Expected
from heval_core.figures.dots_drawn import shaped
from heval_core.figures.front import Front, PlottedPoint, Ticks, ends
from heval_core.figures.palette import SHAPES
from heval_core.figures.techniques import TOTAL
from heval_core.plugins.protocols import TECHNIQUE_FAMILIES
from heval_core.present.drawing import Drawing, Mark
from heval_core.present.html import plain
from heval_core.present.names import ALL, Names
from heval_core.present.numbers import SHARE, brackets, interval, interval_of, number, with_unit
from heval_core.records import TECHNIQUE
from heval_core.records.vocabulary import listed

_STEP = 10
# Of a point's row: J with its ends.
DISCRIMINATION = ("discrimination", "discrimination_low", "discrimination_high")
# Points this close, in percent of following and of ignoring, have one name.
_SAME = (1.2, 3.0)
# Of more points than these not all have a name, for names would lie on each other; cards and pointers name the others.
CROWD = 10
WIDTH, _FIRST, _ROW = 592.0, 66.0, 39.0
# Across a card: the rank's end, the sign, the title, the bar from 0 to 100, the number's end, its interval, the price's end.
_RANK, _SIGN, _TITLE, _BAR, _HUNDRED, _NUMBER, _INTERVAL, _PRICE = 30.0, 58.0, 78.0, 292.0, 416.0, 450.0, 456.0, 582.0


def cards(ranked: Sequence[Expected], over: Sequence[Expected], names: Names, front: Collection[str]) -> Drawing:
    """Return a card for each technique, the best first.

    over: those that cost more than the reader can pay, hatched and last. front: the techniques on the Pareto front, whose
    signs are filled.
    """
    drawing = Drawing(WIDTH, 20, "Good answers to expect, of 100 questions")
    drawing.words("faint", (_BAR, 13), "0 to 100")
    drawing.words("faint", (_PRICE, 13), "price", "end")
    for index, card in enumerate(ranked):
        state = "first" if index == 0 else "level" if card.best else ""
        _card(drawing, card, names, card.point.technique in front, state)
    if over:
        drawing.words("faint", (10, drawing.height + 20), f"Over the budget: {len(over)}")
        drawing.height += 28
    for card in over:
        _card(drawing, card, names, card.point.technique in front, "over")
    return drawing


def _card(drawing: Drawing, card: Expected, names: Names, filled: bool, state: str) -> None:
    """Draw a card. state: the `first`, `level` with it, `over` the budget, or nothing."""
    first, best = state == "first", state in ("first", "level")
    key, value, tall = card.point.technique, card.value.value, _FIRST if first else _ROW
    low, high = card.value.interval()
    how = f"follows {with_unit(card.point.faithfulness.value, SHARE)}, ignores {with_unit(card.point.robustness.value, SHARE)}"

    def text(kind: str, at: float, content: str, anchor: str = "end", down: float = 5.0) -> Mark:
        return Mark("text", kind, at - _SIGN, down, text=content, anchor=anchor)

    marks = [
        Mark("box", "region" if best else "band", -_SIGN, 2 - tall / 2, WIDTH, tall - 4),
        text("faint", _RANK, "–" if state == "over" else card.ranks),
        shaped(SHAPES[names.technique_family(key)], filled, 6.5),
        text("plain" if state == "over" else "name", _TITLE, names.label(key), "start", -4 if first else 5),
        *([text("faint", _TITLE, how, "start", 14)] if first else []),
        *_bar(value, low, high, state),
        text("strong", _NUMBER, number(value, SHARE)),
        text("faint", _INTERVAL, brackets(low, high, SHARE), "start"),
        text("faint", _PRICE, names.cost(key)),
    ]
    rank = "over the budget" if state == "over" else f"rank {card.ranks}"
    good, meaning = f"{interval(value, low, high, SHARE)} good answers", names.meaning("technique", key)
    about = (f"{names.technique(key)}: {good}", how, rank, names.cost_in_words(key), meaning)
    drawing.spot((_SIGN, drawing.height + tall / 2), marks, tuple(filter(None, about)), id=(key, ALL), reach=13)
    drawing.height += tall


def _bar(value: float, low: float, high: float, state: str) -> list[Mark]:
    """Draw a bar from 0 to the value, with its interval; hatched over the budget."""
    start, wide = _BAR - _SIGN, _HUNDRED - _BAR
    end = start + value * wide
    bar = Mark(
        "box", {"first": "regular", "level": "regular", "over": "missing"}.get(state, "beyond"), start, -4, end - start, 8
    )
    strokes = range(0, int(end - start), 5) if state == "over" else ()
    hatched = [Mark("line", "thin", start + x, 4, min(start + x + 5, end), -4) for x in strokes]
    left, right = (start + side * wide for side in (low, high))
    sides = [Mark("line", "whisker", x, -4, x, 4) for x in (left, right)]
    return [Mark("line", "grid", start, 0, start + wide, 0), bar, *hatched, Mark("line", "whisker", left, 0, right, 0), *sides]


def equal_line(best: float, share: float) -> list[tuple[float, float]]:
    """Return two points (followed, ignored) that give as many good answers as the best; all lie on one line, see
    `expected`.
    """
    return [(best, 0.0), (best, 1.0)] if share == 1 else [(x, (best - share * x) / (1 - share)) for x in (0.0, 1.0)]


def blind_line(knew: float) -> list[tuple[float, float]]:
    """Return both ends of the line on which a technique lies that treats all documents alike.

    It follows every document with some probability p, and answers from memory otherwise. Then conflicting documents are
    followed with p, irrelevant ones ignored with 1 - p, and gold answers right with p + (1 - p) knew; where memory never knew
    a gold answer the line runs from (0, 1) to (1, 0). knew: the share of gold questions whose answer memory knew anyway.
    """
    return [(knew / 2, 1.0), (1.0, 0.0)]


def share_known(cells: pd.DataFrame) -> float:
    """Return the share of gold questions whose answer Regular's memory knew: those that `bcu_unknown` leaves out.

    0 if not told.
    """
    gold = cells[(cells["technique"] == TECHNIQUE) & (cells["regime"] == "gold")]
    counts = gold.groupby("measure")["n"].first()
    every, unknown = (counts.get(name, math.nan) for name in ("bcu", "bcu_unknown"))
    return 0.0 if pd.isna(every) or pd.isna(unknown) or every <= 0 else float(1 - unknown / every)


def front_figure(points: pd.DataFrame, names: Names, level: Sequence[tuple[float, float]] = (), along: str = "") -> Front:
    """Draw the front.

    points: rows of the table `pareto` of one model and dataset. level, along: a dashed line, and what is said along it.
    """
    known = points.dropna(subset=["context_faithfulness", "robustness"]).set_index("technique", drop=False)
    rows = known.loc[names.techniques_in_order(known["technique"])].to_dict("records")
    x = _axis("relevant documents followed, of 100 →", known[["context_faithfulness", "faithfulness_low"]])
    y = _axis("irrelevant ones ignored, of 100 →", known[["robustness", "robustness_low"]])
    families, titles = {names.technique_family(row["technique"]) for row in rows}, titles_at_points(rows, names)
    descriptions = [
        f"{names.technique(row.technique)} {with_unit(row.context_faithfulness, SHARE)} and {with_unit(row.robustness, SHARE)}"
        + (", on the front" if row.on_front else "")
        for row in known.itertuples()
    ]
    return Front(
        f"Contexts followed and irrelevant contexts ignored. {'; '.join(descriptions)}.",
        [_point(row, title, names) for row, title in zip(rows, titles, strict=True)],
        x,
        y,
        level=within(level, x, y),
        along=along,
        legend=[(SHAPES[family], title) for family, title in TECHNIQUE_FAMILIES.items() if family in families],
    )


def within(line: Sequence[tuple[float, float]], x: Ticks, y: Ticks) -> list[tuple[float, float]]:
    """Return the part of a line through two points between the axes' ends; nothing where hardly any of it is there."""
    if not line:
        return []
    (x0, y0), (x1, y1) = line
    first, last = 0.0, 1.0
    for start, end, axis in ((x0, x1, x), (y0, y1, y)):
        if start == end:
            continue
        sides = sorted((limit - start) / (end - start) for limit in (axis.low, axis.high))
        first, last = max(first, sides[0]), min(last, sides[1])
    ends = [(x0 + share * (x1 - x0), y0 + share * (y1 - y0)) for share in (first, last)]
    return ends if math.dist(*ends) > 0.03 and last > first else []


def titles_at_points(rows: Sequence[Mapping[str, Any]], names: Names) -> list[str]:
    """Return what stands beside each point: its name with those of the others in the same place, or how many these are if they
    are more than two; empty for these, and of more than CROWD points for those behind the front, but for Regular.
    """
    at = [(100 * row["context_faithfulness"], 100 * row["robustness"]) for row in rows]
    groups: dict[int, list[int]] = {}
    for index, (x, y) in enumerate(at):
        near = (first for first in groups if abs(at[first][0] - x) < _SAME[0] and abs(at[first][1] - y) < _SAME[1])
        groups.setdefault(next(near, index), []).append(index)
    shown = [""] * len(rows)
    for first, members in groups.items():
        leading = [index for index in members if rows[index]["on_front"] or rows[index]["technique"] == TECHNIQUE]
        titles = [names.label(rows[index]["technique"]) for index in dict.fromkeys((*leading[:1], *members))]
        if leading or len(rows) <= CROWD:
            shown[first] = listed(titles if len(titles) <= 3 else [titles[0], f"{len(titles) - 1} others"])
    return shown


def _point(row: Mapping[str, Any], title: str, names: Names) -> PlottedPoint:
    key, share = str(row["technique"]), row["share_on_front"]
    x, y = row["context_faithfulness"], row["robustness"]
    x_ends, y_ends = ((row[f"{name}_low"], row[f"{name}_high"]) for name in ("faithfulness", "robustness"))
    about = [
        names.technique(key),
        f"follows {interval(x, *x_ends, SHARE)}, ignores {interval(y, *y_ends, SHARE)}",
        f"J {interval_of(row, of=DISCRIMINATION)}; 0 is blind to relevance",
        "" if pd.isna(share) else f"on the front in {with_unit(share, SHARE)} of the resamples",
        names.cost_in_words(key),
        names.meaning("technique", key),
    ]
    look = SHAPES[names.technique_family(key)]
    lines = tuple(filter(None, about))
    return PlottedPoint((key, ALL), title, lines, x, y, ends(x, *x_ends), ends(y, *y_ends), look, bool(row["on_front"]))


def _axis(title: str, shares: pd.DataFrame) -> Ticks:
    """Choose an axis from the ten below the least value, with some room, to 100; wide enough to be read."""
    least = 0.0 if shares.empty else float(shares.min().min())
    low = min(max(0, math.floor((100 * least - 3) / _STEP) * _STEP), 60)
    step = 10 if low >= 40 else 20
    at = [(value / 100, str(value)) for value in range(low + -low % step, 101, step)]
    return Ticks(title, low / 100, 1.0, at)


def techniques_verdict(ranked: Sequence[Expected], names: Names) -> str:
    """Say who is expected to answer best at this price, and whether that can be told from Regular."""
    if not ranked:
        return "No technique costs so little."

    def good(card: Expected) -> str:
        return f"{number(card.value.value, SHARE)} of 100 {brackets(*card.value.interval(), SHARE)}".replace("[", r"\[")

    best = ranked[0]
    level = [card.point.technique for card in ranked if card.best]
    highest = f"**{plain(names.technique(best.point.technique))}**: {good(best)} good answers"
    if len(ranked) == 1 and TECHNIQUE in level:
        return f"Only **Regular** costs so little: {good(best)} good answers."
    if level == [TECHNIQUE]:
        return f"Keep **Regular**: {good(best)} good answers, and every technique at this price has fewer."
    if TECHNIQUE in level and not any(TECHNIQUE in card.exceeds for card in ranked):
        regular = next(card for card in ranked if card.point.technique == TECHNIQUE)
        beside = "" if regular is best else f"; Regular: {good(regular)}"
        below = [plain(names.label(card.point.technique)) for card in ranked if not card.best]
        lower = f" Ranked below: {listed(below)}." if below else ""
        return f"No technique is shown to be better than Regular at this price. Highest is {highest}{beside}.{lower}"
    others = listed([plain(names.technique(key)) for key in level[1:]])
    # Who is ahead of Regular need not be the highest, which may be too unsure to be.
    ahead = [plain(names.technique(card.point.technique)) for card in ranked if TECHNIQUE in card.exceeds]
    if TECHNIQUE in level:
        verb = "is" if len(ahead) == 1 else "are"
        unsure = "which are not told apart from Regular's"
        return f"{listed(ahead)} {verb} better than Regular at this price. Highest is {highest}, {unsure}."
    alone = ", ahead of all others at this price." if len(ranked) > 1 else "; no other costs so little."
    return f"Use {highest}" + (f"; {others} cannot be told apart from it." if others else alone)


def leads(lead: Sequence[tuple[int, int, str]], names: Names) -> str:
    """Say `below 67 Prompting, from 67 ACD`."""
    labels = [f"**{plain(names.label(key))}**" for _, _, key in lead]
    if len(lead) < 2:
        return f"{labels[0]} everywhere" if labels else "nobody at this price"
    ends = [f"below {lead[1][0]} ", *(f"{start} to {end} " for start, end, _ in lead[1:-1]), f"from {lead[-1][0]} "]
    return ", ".join(end + name for end, name in zip(ends, labels, strict=True))


def told_apart(cells: pd.DataFrame, names: Names) -> str:
    """Return whether anybody tells irrelevant documents from right ones, and who at least those about something else."""
    total = cells[cells["regime"] == TOTAL]
    best, rows = _best_of(total, "discrimination")
    if best:
        name, value = who(best, lambda key: plain(names.technique(key)), "technique"), interval_of(rows.loc[best[0]])
        verb = "tells" if len(best) == 1 else "tell"
        return f"{name} {verb} irrelevant documents from right ones best: J {plain(value)}, where 0 is blind."
    if rows["value"].isna().all():
        return ""
    off_topic, _ = _best_of(total, "discrimination_off_topic")
    sentence = "No technique tells an irrelevant document from a right one."
    if not off_topic:
        return sentence
    ignored = cells.set_index(["measure", "regime", "technique"]).sort_index()["value"]["bcu", "off_topic"][list(off_topic)]
    shares = " to ".join(dict.fromkeys(with_unit(end, SHARE) for end in (ignored.min(), ignored.max())))
    named = who(off_topic, lambda key: plain(names.technique(key)), "technique")
    does = "ignores" if len(off_topic) == 1 else "ignore"
    return f"{sentence} Documents on another topic are not in the figure: {named} {does} {shares} of them."


def _best_of(total: pd.DataFrame, measure: str) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Rank a measure of which 0 is blind: who is best of those that are surely above it; and the rows."""
    rows = total[total["measure"] == measure].set_index("technique", drop=False)
    ranked = ranking(rows, key="technique").best if len(rows) else ()
    return tuple(key for key in ranked if rows["low"][key] > 0), rows

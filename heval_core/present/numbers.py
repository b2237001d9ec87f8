"""Numbers as readers see them: one rule for each unit, wherever a number stands.

A minus is a minus sign, and nothing is -0. What is missing is a dash. Rounding never says more than the number does: a share
that is not all is no `100 %`, one that is not none no `0 %`, and beside 0.99 stands 1.00.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heval_core.records.vocabulary import BY_CONSTRUCTION

MISSING, MINUS = "–", "−"
# What a number and the ends of its interval are called in tables.
VALUE = ("value", "low", "high")


@dataclass(frozen=True)
class Format:
    """How values are written. digits: a pattern for a finite value, or a function of it: a number with a hyphen for minus.
    sign: what stands behind it. A unit of a table that pages keep and read again equals its own, and is another object."""

    digits: Callable[[float], str] | str
    sign: str = ""

    def written(self, value: float) -> str:
        return self.digits.format(value) if isinstance(self.digits, str) else self.digits(value)


def _score(value: float) -> str:
    """Write two decimals below 1 and beside it, one below 100, none above: 0.42, 1.00, 3.1, 13.6, 7,545."""
    size = abs(value)
    return f"{value:.2f}" if size < 1.005 else f"{value:.1f}" if size < 100 else f"{value:,.0f}"


def _percents(share: float) -> str:
    """Write whole percents; one decimal, or the limit, where these would say none or all."""
    percents = 100 * share
    size = abs(percents)
    if 0 < percents < 0.05:
        return "< 0.1"
    if 99.95 <= percents < 100:
        return "> 99.9"
    return f"{percents:.1f}" if 0.05 <= size < 0.95 or 99 < size < 100 else f"{percents:.0f}"


def _signed(value: float) -> str:
    """Write a score with a plus, too."""
    text = _score(value)
    return text if text.startswith("-") or not text.strip("0.") else f"+{text}"


def _p(p: float) -> str:
    """Write a probability of a test: `< .001`, `.034`, `1`."""
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 1 else "1"


def _points(difference: float) -> str:
    """Write differences of shares: whole points, with one decimal below 1."""
    points = 100 * difference
    return f"{points:.1f}" if 0.05 <= abs(points) < 0.95 else f"{points:.0f}"


def _two_digits(value: float) -> str:
    """Write two significant digits, and all of a whole number: 0.025, 0.5, 1, 120."""
    if value <= 0:
        return "0"
    text = f"{value:,.{max(0, 1 - math.floor(math.log10(value)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimals(count: int) -> Format:
    """Return a format of so many decimals, whatever the value."""
    return Format(f"{{:,.{count}f}}")


# Scores and all that is neither a share nor a cost; ranks and nats too.
SCORE = Format(_score)
CHANGE = Format(_signed)
# Probabilities of tests.
P = Format(_p)
SHARE = Format(_percents, " %")
POINTS = Format(_points, " points")
# Passes, milliseconds, and how often one thing is another.
COST = Format(_two_digits)
# Counts, tokens and characters.
COUNT = decimals(0)
# For tables of all numbers.
EXACT = decimals(3)
THREE_DIGITS = Format("{:.3g}")
PERCENT_EXACT = Format(lambda share: f"{100 * share:.1f}", " %")


def number(value: float | None, unit: Format = SCORE) -> str:
    """Write a number without its unit's sign: `0.42`, `−3.1`, `72`; a dash for a missing value."""
    if value is None or pd.isna(value):
        return MISSING
    text = unit.written(float(value))
    return text.lstrip("-") if not text.strip("-0.") else text.replace("-", MINUS)


def with_unit(value: float | None, unit: Format = SCORE) -> str:
    """Write a number with its unit's sign: `72 %`, `0.42`, `28 points`."""
    text = number(value, unit)
    return text if text == MISSING else text + unit.sign


def percent(share: float | None) -> str:
    """Write a share: `72 %`, `99.6 %`, `0.3 %`, `< 0.1 %`."""
    return with_unit(share, SHARE)


def change(value: float | None, unit: Format = SCORE) -> str:
    """Write a difference with its sign, a plus too, and without its unit's: `+0.42`, `−3.1`, `0.00`."""
    text = number(value, unit)
    return text if text.startswith((MINUS, MISSING)) or not text.strip("0.") else f"+{text}"


def brackets(low: float | None, high: float | None, unit: Format = SCORE) -> str:
    """Write an interval: `[0.40, 0.44]`; empty for a missing one."""
    return "" if low is None or pd.isna(low) else f"[{number(low, unit)}, {number(high, unit)}]"


def interval(value: float | None, low: float | None, high: float | None, unit: Format = SCORE, *, signed: bool = False) -> str:
    """Write a value with its interval, if any: `0.42 [0.40, 0.44]`, `72 % [66, 78]`; a dash for none.

    signed: as in `change`.
    """
    text = change(value, unit) + unit.sign if signed and not pd.isna(value) else with_unit(value, unit)
    return text if text == MISSING else f"{text} {brackets(low, high, unit)}".rstrip()


def interval_of(row: Mapping[Any, Any], unit: Format = SCORE, of: Sequence[str] = VALUE, *, signed: bool = False) -> str:
    """Write the value of a table's row with its interval. of: the names of the three."""
    value, low, high = (row[name] for name in of)
    sure = f" {BY_CONSTRUCTION}" if row.get("interval") == BY_CONSTRUCTION else ""
    return interval(value, low, high, unit, signed=signed) + sure


def span(values: Iterable[float], unit: Format = SCORE) -> str:
    """Write the least and the most: `0.10 to 0.30`; one number where they are written alike, a dash where there are none."""
    known = [value for value in values if not pd.isna(value)]
    ends = [number(end, unit) for end in (min(known), max(known))] if known else [MISSING]
    return ends[0] if ends[0] == ends[-1] else " to ".join(ends)


def tick(value: float) -> str:
    """Write a number for an axis of differences: `+0.5`, `0`, `−20`."""
    return f"{value:+g}".replace("-", MINUS) if value else "0"


def short(value: float) -> str:
    """Write a number for an axis, and beside a dot: `.25`, `0`, `−.5`, `12`."""
    text = f"{abs(value):.10g}"
    return (MINUS if value < 0 else "") + (text[1:] if text.startswith("0.") else text)


def passes(count: float) -> str:
    """Write how many passes: `1 pass`, `0.5 passes`, `120 passes`."""
    text = number(count, COST)
    return f"{text} pass" if text == "1" else f"{text} passes"


def so_many(count: float, one: str) -> str:
    """Write a count of things: `1 cell`, `1,240 models`."""
    return f"{int(count):,} {one}{'' if count == 1 else 's'}"


def ordinal(rank: float) -> str:
    """Write a rank: `2nd`, `33rd`; `about 12th` for a rank that is an average over a tie."""
    whole = round(rank)
    ending = "th" if whole % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")
    return f"{'' if whole == rank else 'about '}{whole:,}{ending}"

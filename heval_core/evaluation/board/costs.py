"""What the scores of a row cost: the forward passes that its explainer declares, at up to three sizes of prompts.

Sizes: prompts as they are, and the padded lengths there are, of these at most the middle and the longest; without padded
prompts, thirds of the prompts by their number of tokens. Over all sizes means prompts as they are, as quality is over these.
Passes are what an explainer would cost alone, on any machine, shared ones too: those that were counted, in the mean over the
timed cells of a size, and without these those that it declares for as many tokens. Controls of tokens alone have none.

Seconds are those of the table `timing`, where a store has it, of the cells of a size: those cells in which more than half of
the explainers were timed, and an explainer that lacks one of these has none. An explainer's ratio is the geometric mean over
the cells of its seconds over the yardstick's in the same measurement; its seconds are the ratio times the geometric mean over
the cells of the yardstick's newest. Where all were measured together, that is the geometric mean of their seconds; where not,
no two measurements are set against each other but by their yardstick.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan

import numpy as np
import pandas as pd

from heval_core.evaluation.board.records import COSTS, EVERY_SIZE, Board
from heval_core.plugins import catalogue
from heval_core.records import CELL, HEvalError
from heval_core.records.regime_keys import read_key
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader


def costs_of(reader: Reader, chosen: Filter, regimes: Sequence[str]) -> pd.DataFrame:
    """Return `Board.costs`. regimes: those that are under the filter."""
    length_of = {regime: read_key(regime).length or 0 for regime in regimes}
    shortest = tuple(regime for regime in regimes if length_of[regime] == min(length_of.values()))
    plain = tuple(regime for regime in regimes if read_key(regime).plain)
    chosen = replace(chosen, regime=plain or shortest)
    whole = reader.seconds(chosen)
    narrowed = _sizes(chosen, regimes, whole)
    seconds = {EVERY_SIZE: whole} | {size: reader.seconds(within) for size, within in narrowed.items()}
    return costs_table(seconds, {size: reader.timings(narrowed.get(size, chosen)) for size in seconds})


def _sizes(chosen: Filter, regimes: Sequence[str], whole: pd.DataFrame) -> dict[str, Filter]:
    padded = sorted({length for regime in regimes if (length := read_key(regime).length)})
    if padded:
        lengths = list(dict.fromkeys((padded[(len(padded) - 1) // 2], padded[-1])))
        regime_sets = [tuple(regime for regime in regimes if read_key(regime).length == length) for length in lengths]
        regime_sets = list(dict.fromkeys((chosen.regime, *regime_sets)))
        return {str(number): replace(chosen, regime=regime_set) for number, regime_set in enumerate(regime_sets, start=1)}
    if whole.empty:
        return {}
    ends = [*(int(whole[name].iloc[0]) for name in ("third", "two_thirds")), int(whole["most"].max())]
    starts = [int(whole["least"].min()), *(end + 1 for end in ends[:-1])]
    ranges = [bounds for bounds in zip(starts, ends, strict=True) if bounds[0] <= bounds[1]]
    return {str(number): replace(chosen, tokens=bounds) for number, bounds in enumerate(ranges, start=1)}


def costs_table(seconds: Mapping[str, pd.DataFrame], timings: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Make the table by size, of rows of `Reader.seconds` and of `Reader.timings`."""
    rows = []
    for size, size_rows in seconds.items():
        timed_here = _timed_alike(timings[size])
        alone, counted = seconds_alone(timed_here), timed_here.groupby("explainer")["passes"].mean().dropna().to_dict()
        # What was counted and timed is of prompts of these lengths, a few of all.
        tokens = float((size_rows["tokens"] if timed_here.empty else timed_here["length"]).median())
        for row in size_rows.itertuples():
            passes, whole = passes_of(str(row.explainer), tokens)
            whole = counted.get(row.explainer, whole)
            timed = alone.get(str(row.explainer), (nan, nan))
            rows.append([row.explainer, size, tokens, passes, whole, row.n, *timed])
    return pd.DataFrame(rows, columns=COSTS)


def _timed_alike(timings: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of the cells in which more than half of the explainers were timed, of the explainers that were timed in
    all of them: a ratio depends on the prompt's length.
    """
    explainers = timings.groupby(list(CELL))["explainer"].transform("nunique")
    usable = timings[explainers * 2 > timings["explainer"].nunique()]
    counts = usable.drop_duplicates([*CELL, "explainer"]).groupby("explainer").size()
    return usable[usable["explainer"].isin(counts.index[counts == counts.max()])]


def seconds_alone(timings: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return explainer ▶ (seconds, ratio to the yardstick's). timings: rows of `Reader.timings`."""
    timed = timings.dropna(subset=["seconds", "yardstick"])
    if timed.empty:
        return {}
    ratios = np.log(timed["seconds"] / timed["yardstick"]).groupby(timed["explainer"]).mean()
    newest = timed.sort_values("measured", kind="stable").groupby(list(CELL))["yardstick"].last()
    level = float(np.log(newest).mean())
    return {str(key): (float(np.exp(level + ratio)), float(np.exp(ratio))) for key, ratio in ratios.items()}


def costs_shown(board: Board) -> pd.DataFrame:
    """Return the costs of each explainer over all sizes of prompts, for a table: without seconds where nothing was timed."""
    whole = board.costs[board.costs["size"] == EVERY_SIZE]
    timed = ["seconds", "ratio"] if board.timed else []
    return whole[["explainer", "tokens", "passes", "whole_passes", *timed]]


def passes_of(explainer: str, tokens: float) -> tuple[float, float]:
    """Return declared passes for a prompt of so many tokens, and the same in passes over all of it; NaN where nothing is
    declared.
    """
    try:
        declared = catalogue.method(explainer).cost(tokens)
    except HEvalError:
        return nan, nan
    return declared.passes, declared.tokens / tokens

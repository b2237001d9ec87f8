"""The instances of one model, dataset, regime and technique: token positions in their prompts, and their questions."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from heval_core.metrics.shared.cell import Layout
from heval_core.records import CELL, HEvalError, RegimeKey
from heval_core.statistics.bootstrap import Resamples


@dataclass(frozen=True, eq=False)
class Regime:
    """N kept instances of one model, dataset, regime and technique.

    ids, questions: (N,) str, the instances and their questions. weights: (resamples, N), how often each question is drawn.
    order: (splits, N), the position of each question in the random order that is cut in halves.
    """

    key: RegimeKey
    ids: np.ndarray
    questions: np.ndarray
    layout: Layout
    weights: np.ndarray
    order: np.ndarray

    @functools.cached_property
    def numbers(self) -> np.ndarray | None:
        return numbers_of(self.questions)

    @functools.cached_property
    def stored_ids(self) -> pa.Array:
        return pa.array(self.ids, pa.string())

    def rows(self, chosen: np.ndarray) -> Regime:
        """The instances chosen by (N,) bools."""
        if chosen.all():
            return self
        return Regime(
            self.key,
            self.ids[chosen],
            self.questions[chosen],
            self.layout.rows(chosen),
            self.weights[:, chosen],
            self.order[:, chosen],
        )


def numbers_of(questions: np.ndarray) -> np.ndarray | None:
    """(N,) a number for each question, the same for instances that share it; None if no two instances do."""
    different, numbers = np.unique(questions, return_inverse=True)
    return numbers if len(different) < len(questions) else None


def layout_of(instances: pd.DataFrame) -> Layout:
    """From the columns length (tokens of the prompt), first_ranked, ranked_end, document_starts, document_ends,
    answer_tokens, first_mention and group.

    Raises HEvalError, naming the instance, for answer tokens outside their prompt.
    """
    for row in instances.itertuples():
        places = [int(token) for tokens in row.answer_tokens for token in tokens]
        if places and not 0 <= min(places) <= max(places) < row.length:
            raise HEvalError(f"Instance {row.instance_id} has answer tokens outside its prompt of {row.length} tokens.")
    return Layout.of(
        list(instances["length"]),
        list(instances["first_ranked"]),
        [
            list(zip(starts, ends, strict=True))
            for starts, ends in zip(instances["document_starts"], instances["document_ends"], strict=True)
        ],
        list(instances["answer_tokens"]),
        list(instances["group"]),
        list(instances["first_mention"]),
        list(instances["ranked_end"]),
    )


def regime_of(instances: pd.DataFrame, resamples: Resamples) -> Regime:
    """From rows of one model, dataset, regime and technique, at least one."""
    key = RegimeKey(*instances.iloc[0][list(CELL)])
    ids, questions = (instances[name].to_numpy(dtype=object) for name in ("instance_id", "fact_id"))
    weights, order = resamples.of(questions), resamples.order(questions)
    return Regime(key, ids, questions, layout_of(instances), weights, order)

"""Costs of a row: medians of what is stored, at up to three sizes of prompts, and the passes that are declared."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board.costs import costs_of, costs_table, passes_of, seconds_alone
from heval_core.evaluation.board.records import EVERY_SIZE
from heval_core.plugins import catalogue
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader

# Where every explainer ran.
CELLS = {"dataset": ("world_capital",), "regime": ("conflicting", "mixed")}
CHOSEN = Filter(model=("demo-gpt2",), technique=("regular",), **CELLS)


@pytest.fixture(scope="module")
def file(few_cells):
    return current_file(few_cells)


@pytest.fixture(scope="module")
def raw(file) -> pd.DataFrame:
    # A database that another reader has open in this process cannot be opened with other settings; a copy can.
    with duckdb.connect() as own:
        own.execute(f"ATTACH '{file}' AS results (READ_ONLY); USE results")
        return own.execute(
            "SELECT explainer, seconds, len(tokens) AS tokens FROM attribution JOIN instance USING (instance_id) "
            "WHERE model = 'demo-gpt2' AND technique = 'regular' AND dropped_because IS NULL AND seconds IS NOT NULL "
            "AND dataset = 'world_capital' AND regime IN ('conflicting', 'mixed')"
        ).df()


def test_medians_over_all_prompts_and_over_thirds_of_them(file, raw):
    costs = costs_of(Reader(file), CHOSEN, CELLS["regime"]).set_index(["explainer", "size"])
    ends = np.sort(raw["tokens"])[[int(np.ceil(len(raw) * part)) - 1 for part in (1 / 3, 2 / 3)]]
    size = np.digitize(raw["tokens"], ends, right=True) + 1
    assert set(costs.index.get_level_values("size")) == {EVERY_SIZE, "1", "2", "3"}
    lengths = Reader(file).timings(CHOSEN)["length"]
    timed_in = np.digitize(lengths, ends, right=True) + 1
    for explainer, own in raw.groupby("explainer"):
        assert costs.loc[(explainer, EVERY_SIZE), "tokens"] == lengths.median()
        for place in (1, 2, 3):
            here, there = own[size[own.index] == place], costs.loc[(explainer, str(place))]
            timed = lengths[timed_in == place]
            assert (there["n"], there["tokens"]) == (len(here), (timed if len(timed) else here["tokens"]).median())
    assert 0 < len(set(timed_in)) < 3


def test_controls_that_read_tokens_have_no_cost(file):
    costs = costs_of(Reader(file), CHOSEN, [])
    assert not set(costs["explainer"]) & set(catalogue.explainers(control=True))


_COLUMNS = ["explainer", "seconds", "tokens", "least", "most", "third", "two_thirds", "n"]

_TIMED = ["model", "dataset", "regime", "technique", "explainer", "seconds", "yardstick", "measured", "passes", "length"]


class Asked(Reader):
    """Notes what regimes it is asked for."""

    def __init__(self):
        self.regimes = []

    def seconds(self, chosen):
        self.regimes.append(chosen.regime)
        return seconds_of("fa")

    def timings(self, chosen):
        assert chosen.regime in self.regimes
        return timings()


PADDED = tuple(f"mixed.{length}-{place}" for length in (256, 512, 1024, 2048) for place in ("first", "last"))


@pytest.mark.parametrize(("regimes", "sizes"), [
    # Of four lengths the one in the middle and the longest, beside prompts as they are; without these the shortest.
    (("mixed", "conflicting", "mixed.d1", *PADDED), [("mixed", "conflicting"), PADDED[2:4], PADDED[6:]]),
    (("mixed.d0", "mixed.d1", "mixed.256-first"), [("mixed.d0", "mixed.d1"), ("mixed.256-first",)]),
    (("mixed.512-last", "mixed.256-first"), [("mixed.256-first",), ("mixed.512-last",)]),
])  # fmt: skip
def test_padded_lengths_are_the_sizes_where_there_are_any(regimes, sizes):
    reader = Asked()
    costs = costs_of(reader, Filter(), regimes)
    # Over all sizes means at the first.
    assert list(dict.fromkeys(reader.regimes)) == sizes
    assert reader.regimes[0] == sizes[0]
    assert costs["tokens"].tolist() == [40.0] * len(reader.regimes)


def seconds_of(*keys):
    return pd.DataFrame([[key, 0.02, 40.0, 30, 50, 35, 45, 9] for key in keys], columns=_COLUMNS)


def timings(*rows: tuple[str, str, float, float, str]) -> pd.DataFrame:
    """rows: regime, explainer, seconds, yardstick, measured. Each took 7 passes."""
    return pd.DataFrame([["m", "d", regime, "regular", *row, 7.0, 40] for regime, *row in rows], columns=_TIMED)


def test_what_was_measured_together_keeps_its_seconds():
    together = [("mixed", "fa", 0.4, 0.4, "1"), ("mixed", "gxi", 0.02, 0.4, "1")]
    together += [("gold", "fa", 0.1, 0.1, "2"), ("gold", "gxi", 0.005, 0.1, "2")]
    assert seconds_alone(timings(*together)) == {"fa": pytest.approx((0.2, 1)), "gxi": pytest.approx((0.01, 0.05))}


def test_a_measurement_on_another_machine_counts_by_its_yardstick():
    """fa was measured again, later, on a machine four times as quick, with gxi beside it."""
    own = seconds_alone(
        timings(("mixed", "attn", 0.04, 0.4, "1"), ("mixed", "fa", 0.1, 0.1, "2"), ("mixed", "gxi", 0.005, 0.1, "2"))
    )
    assert own == {"attn": pytest.approx((0.01, 0.1)), "fa": pytest.approx((0.1, 1)), "gxi": pytest.approx((0.005, 0.05))}


def test_nothing_timed_is_no_number_and_passes_are_then_those_an_explainer_declares_for_the_size():
    assert seconds_alone(timings()) == {}
    untimed = costs_table({"1": seconds_of("fa")}, {"1": timings()}).iloc[0]
    assert np.isnan(untimed[["seconds", "ratio"]].astype(float)).all()
    # fa runs the clean pass, and one for each token over half of the prompt on average.
    assert (untimed["passes"], untimed["whole_passes"]) == (41.0, 21.0)
    own = costs_table({"1": seconds_of("fa")}, {"1": timings(("mixed", "fa", 0.4, 0.4, "1"))}).iloc[0]
    assert tuple(own[["seconds", "ratio", "passes", "whole_passes"]]) == pytest.approx((0.4, 1, 41, 7))


def test_what_this_program_does_not_know_declares_nothing():
    assert np.isnan(passes_of("gone", 10.0)).all()
    assert np.isnan(passes_of("random", 10.0)).all()


def test_what_was_timed_in_some_of_the_cells_only_has_no_seconds():
    """Beside feature ablation, integrated gradients take .9 of the time at 30 tokens and .2 at 300."""
    both = [
        (regime, key, s, y, "1") for regime, y in (("mixed", 0.1), ("gold", 4.0)) for key, s in (("fa", y), ("gxi", y / 10))
    ]
    seconds = seconds_of("fa", "gxi", "ig")
    own = costs_table({"1": seconds}, {"1": timings(*both, ("mixed", "ig", 0.09, 0.1, "1"))}).set_index("explainer")
    assert own.loc["gxi", "ratio"] == pytest.approx(0.1)
    assert np.isnan(own.loc["ig", "ratio"])
    assert own["whole_passes"].tolist()[:2] == [7.0, 7.0]
    assert own.loc["ig", "whole_passes"] == passes_of("ig", 40.0)[1]
    whole = costs_table({"1": seconds}, {"1": timings(*both, ("mixed", "ig", 0.09, 0.1, "1"), ("gold", "ig", 0.8, 4.0, "1"))})
    assert whole.set_index("explainer").loc["ig", "ratio"] == pytest.approx(np.sqrt(0.9 * 0.2))

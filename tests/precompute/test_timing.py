"""Explainers timed by themselves: on which prompts, in which order, with what shared, and stored so that a run continues."""

import dataclasses
from types import SimpleNamespace

import pytest

from heval_core.evaluation.publishing import publish
from heval_core.explaining import pipeline
from heval_core.lm.clean_pass import CleanPass
from heval_core.records import HEvalError
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.plan import plan
from precompute.run import run
from precompute.timing import PROMPTS, ROUNDS, YARDSTICK, alike, in_turns, timing_tasks
from tests.precompute.kills import pair_of


def prompts_of(*lengths):
    return [SimpleNamespace(place=place, prompt=SimpleNamespace(ids=range(own))) for place, own in enumerate(lengths)]


def test_prompts_have_the_length_that_most_have_and_keep_their_order():
    found = alike(prompts_of(30, 40, 50, 40, 30, 40), lambda length: 99)
    assert [one.place for one in found] == [1, 3, 5]
    # More than are timed are as good as that many: then the length nearest to the median counts.
    many = alike(prompts_of(*[90] * (PROMPTS + 5), *[40] * PROMPTS, *[39] * 20), lambda length: 99)
    assert [len(alike(prompts_of(*[own] * 20), lambda length: 99)) for own in (128, 129, 512, 1024, 4000)] == [8, 7, 2, 1, 1]
    assert ({len(one.prompt.ids) for one in many}, len(many)) == ({40}, PROMPTS)
    assert len(alike(prompts_of(*[90] * 6), lambda length: 2)) == 2
    assert alike([], lambda length: 99) == []


def test_steps_take_turns_and_the_least_round_after_the_first_counts():
    order, clock = [], [0.0]
    seconds = {"a": [1, 5, 3, 4], "b": [0.5, 7, 6, 8]}

    def step(key):
        def work():
            order.append(key)
            clock[0] += seconds[key].pop(0)

        return work

    least, failed = in_turns({key: step(key) for key in seconds}, lambda: clock[0])
    assert (least, failed) == ({"a": 3, "b": 6}, {})
    assert order == ["a", "b"] * (ROUNDS + 1)


def test_a_step_that_fails_ends_and_the_others_go_on():
    runs = []

    def broken():
        runs.append(1)
        if len(runs) == 3:
            raise HEvalError("no")

    least, failed = in_turns({"broken": broken, "good": lambda: None})
    assert (list(least), list(failed), len(runs)) == (["good"], ["broken"], 3)


@pytest.fixture(scope="module")
def tasks(small_grid):
    pair = pair_of(dataclasses.replace(small_grid, timing=True))
    return lambda **options: timing_tasks(pair.with_options(**options))


def test_a_regime_has_one_shard_for_its_explainers_and_the_yardstick_is_among_them(tasks):
    assert tasks(timing=False) == []
    assert tasks(explainers=()) == []
    one, other = tasks(explainers=("attn",))
    assert (one.regime_key.regime, other.regime_key.regime, one.explainers) == ("conflicting", "mixed", (YARDSTICK, "attn"))
    assert one.keys != other.keys
    assert tasks(explainers=("fa", "attn"))[0].keys == one.keys
    assert tasks(explainers=("attn",), shard_size=2, faithfulness=True)[0].keys == one.keys
    others = [{"explainers": ("attn", "ig")}, {"explainers": ("attn(row=mean)",)}, {"seed": 1}, {"match": "text"}]
    keys = {tasks(**({"explainers": ("attn",)} | options))[0].keys for options in others}
    assert len(keys - {one.keys}) == len(others)


@pytest.fixture(scope="module")
def timed_grid(small_grid):
    return dataclasses.replace(
        small_grid, models=small_grid.models[:1], regimes=("mixed",), explainers=("attn", "mechlight"), limit=4, shard_size=4,
        keep_heads=0, timing=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def timed(timed_grid, tmp_path_factory):
    """A store with timings, each explanation's clean pass, and what was planned before."""
    folder, passes = tmp_path_factory.mktemp("timed"), []
    whole = pipeline.explain

    def explain(answered, explainer):
        passes.append((explainer.key, answered.clean, answered.clean._shared.seconds.copy()))
        return whole(answered, explainer)

    planned = plan(timed_grid, folder, calibrated=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pipeline, "explain", explain)
        outcome = run(timed_grid, folder)
    assert outcome.failed == 0
    return SimpleNamespace(folder=folder, passes=passes, planned=planned, outcome=outcome)


@pytest.mark.slow
def test_shared_work_is_done_anew_for_each(timed):
    alone = [one for one in timed.passes if one[0] == YARDSTICK][:1] and timed.passes[-3 * (ROUNDS + 1) :]
    assert [key for key, _, _ in alone] == [YARDSTICK, "attn", "mechlight"] * (ROUNDS + 1)
    assert len({id(clean) for _, clean, _ in alone}) == len(alone)
    assert all(isinstance(clean, CleanPass) and not before for _, clean, before in alone)
    assert len({clean.prompts for _, clean, _ in alone}) == 1


@pytest.mark.slow
def test_a_plan_counts_them_and_a_run_continues(timed, timed_grid):
    assert timed.planned.total("shards") == timed.outcome.computed == 4
    again = run(timed_grid, timed.folder)
    assert (again.computed, again.already_done) == (0, 4)
    without = plan(dataclasses.replace(timed_grid, timing=False), timed.folder, calibrated=False)
    assert (without.total("shards"), without.total("done")) == (0, 3)


@pytest.mark.slow
def test_what_is_published_is_of_one_measurement(timed):
    reader = Reader(publish(timed.folder))
    own = reader.timings(Filter())
    assert sorted(own["explainer"]) == ["attn", YARDSTICK, "mechlight"]
    assert (own["seconds"] > 0).all()
    # A clean pass each, and the last token's attention to all others for two of them.
    passes = own.set_index("explainer")["passes"]
    assert 1 < passes["attn"] < 1.2
    assert passes["fa"] > 10
    assert own["yardstick"].tolist() == own.set_index("explainer")["seconds"][[YARDSTICK] * 3].tolist()
    for column in ("measured", "batch", "length", "device"):
        assert own[column].nunique() == 1
    length = int(own["length"].iloc[0])
    assert len(reader.timings(Filter(tokens=(length, length)))) == 3
    assert reader.timings(Filter(tokens=(length + 1, 9999))).empty
    assert reader.timings(Filter(regime=("conflicting",))).empty


@pytest.mark.slow
def test_explainers_that_come_later_do_not_touch_what_was_timed(timed, timed_grid, tmp_path):
    before = ShardStore(timed.folder).entries()
    outcome = run(dataclasses.replace(timed_grid, explainers=("ig",)), timed.folder)
    assert outcome.computed == 2  # its scores, and its seconds beside the yardstick's
    after = ShardStore(timed.folder).entries()
    assert {key: after[key] for key in before} == before
    own = Reader(publish(timed.folder)).timings(Filter()).set_index("explainer")
    assert sorted(own.index) == ["attn", YARDSTICK, "ig", "mechlight"]
    assert own["measured"][YARDSTICK] == own["measured"]["ig"] > own["measured"]["attn"]
    assert own["yardstick"]["attn"] != own["yardstick"]["ig"]

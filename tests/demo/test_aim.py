"""The tables of docs/origin.md: verdicts by hand, and origin without what it is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from demo import aim, boards
from demo.examine import RegimeReport, read_measured, write_measured
from heval_core import catalogue
from heval_core.explainers.origin import Origin
from heval_core.explainers.shared.left_out import effects, units
from heval_core.lm.clean_pass import CleanPass
from heval_core.records import REGIMES, Target
from heval_core.regime_keys import read_key


def row(explainer, value, low, high, column="RQ1"):
    return {
        "model": "m",
        "dataset": "d",
        "column": column,
        "explainer": explainer,
        "value": value,
        "low": low,
        "high": high,
        "n": 9,
    }


def test_verdicts_by_hand():
    values = pd.DataFrame(
        [
            *(row("origin", 0.8, 0.7, 0.9), row("fa", 0.5, 0.4, 0.6), row("mechlight", 0.1, 0, 0.69)),
            *(row("origin", 0.8, 0.7, 0.9, "RQ2"), row("fa", 0.5, 0.4, 0.6, "RQ2"), row("mechlight", 0.6, 0.5, 0.75, "RQ2")),
            *(row("origin", 0.5, 0.4, 0.6, "RQ3"), row("fa", 0.8, 0.7, 0.9, "RQ3")),
            *(row("origin", 0.5, 0.4, 0.6, "RQ1.2048"), row("document", 0.8, 0.7, 0.9, "RQ1.2048")),
        ]
    )
    said = aim.verdicts(values)
    assert said["column"].tolist() == ["RQ1", "RQ2", "RQ3"]  # of the last there is no rival's number
    assert said["verdict"].tolist() == ["above", "not apart", "below"]
    assert said["rivals"][2] == "fa 0.80 [0.70, 0.90]"
    assert aim.as_markdown(aim.by_explainer(values)).splitlines()[0] == "| dataset | explainer | RQ1 | RQ2 | RQ3 | RQ1.2048 |"


@pytest.fixture(scope="module", params=["gpt2", "qwen2"])
def clean(request, language_models):
    from heval_core.prompts import assemble

    lm = language_models[request.param]
    documents = ("The capital of Kenya is Lisbon. It is old.", "Lima is the capital of Peru.")
    return CleanPass(lm, [lm.tokenise(assemble(documents, (None, None), "What is the capital of Kenya?"))])


def test_what_is_taken_away_from_origin(clean):
    target = Target.next_token(5, foil=9)
    bare = [replace(prompt, documents=()) for prompt in clean.prompts]
    (found,) = aim.Unmarked().explain(clean, [target])
    (wanted,) = Origin().explain(CleanPass(clean.lm, bare), [target])
    assert found.explainer == "origin_unmarked"
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-5)
    (found,) = aim.WithoutCompetitor().explain(clean, [target])
    documents = [units(prompt) for prompt in clean.prompts]
    (given,) = effects(clean, [target], documents)
    for unit, effect in zip(documents[0], given.answer, strict=True):
        assert found.scores[unit.start : unit.end].sum() == pytest.approx(effect, rel=1e-4, abs=1e-6)


def test_the_runs_behind_the_board_take_every_explainer_once():
    for runs in (boards.plain_runs(["one"]), boards.timing_runs(["one"])):
        usual, others = (run[run.index("--explainers") + 1].split(",") for run in runs)
        assert tuple(usual) == catalogue.default_methods()
        assert sorted([*usual, *others]) == sorted(catalogue.explainers())


def test_decoys_and_lengths_are_run_only_where_a_model_obeys(tmp_path):
    keys = [(boards.SHORT, str(regime)) for one in boards.HARDER for regime in one.regimes]
    rates = dict.fromkeys(keys, 0.95) | {(boards.SHORT, "mixed.d3"): 0.899}
    write_measured(tmp_path, [RegimeReport(*key, 40, {}, rate, {}) for key, rate in rates.items()])
    assert read_measured(tmp_path)[0].agreement == 0.95
    asked = {}
    for arguments, questions in boards.harder_runs(tmp_path):
        dataset = arguments[arguments.index("--datasets") + 1]
        named = arguments[arguments.index("--regimes") + 1 :]
        for regime in (one for one in named if one != "--timing"):
            asked[dataset, regime] = questions
    assert set(asked) == {key for key, rate in rates.items() if rate >= 0.9}
    assert {read_key(regime).base for _, regime in asked} <= set(REGIMES)
    assert set(asked.values()) == {boards.ENOUGH, boards.ENOUGH + boards.FURTHER}

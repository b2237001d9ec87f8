"""What docs/leaderboard.md and docs/origin.md say of the demo's board is what its results say."""

import pytest

from demo.examine import read_measured
from demo.results import CUES, DEPENDENCE, HARDER, LENGTHENED, OBEYED, RULED, SHORT
from heval_core.evaluation.board.making import board
from heval_core.evaluation.publishing import publish
from heval_core.plugins import catalogue
from heval_core.records.regime_keys import read_key
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from precompute.cli import main
from tests.conftest import DEMO_MODELS

LONG = tuple(f"demo-{name}" for name in LENGTHENED)


def lexical(made, column):
    return made.values.set_index(["column", "explainer"]).loc[(column, "lexical")]


@pytest.mark.parametrize("model", LONG)
def test_a_string_match_tells_documents_apart_until_both_name_the_answer(demo_reader, model):
    made = board(demo_reader, Filter(model=(model,)))
    assert lexical(made, "RQ2.d0")["value"] > 0.05  # where it is 1 by construction, it has no interval
    under = lexical(made, "RQ2.d1")
    assert under["low"] <= 0 <= under["high"]


@pytest.mark.demo
@pytest.mark.slow
@pytest.mark.parametrize("architecture", RULED)
def test_so_on_the_models_whose_results_have_no_decoys(architecture, tmp_path):
    """These were not taught decoys, and are not shown under them; what a string finds needs no obedience."""
    asked = f"run --models {DEMO_MODELS / f'demo-{architecture}'} --datasets world_capital --decoy d1 --regimes mixed "
    asked += f"--explainers document --limit 150 --match text --device cpu --store {tmp_path}"
    assert main(asked.split()) == 0
    under = lexical(board(Reader(publish(tmp_path))), "RQ2.d1")
    assert under["low"] <= 0 <= under["high"]


def test_decoys_and_lengths_are_shown_only_where_the_model_obeys_its_rule(demo_reader):
    choices = demo_reader.choices()
    shown = choices[choices["explained"] & choices["regime"].map(lambda key: not read_key(key).plain)]
    cued = shown["regime"].isin(CUES)
    assert set(shown[cued]["model"]) == {f"demo-{name}" for name in RULED}
    shown = shown[~cued]
    assert set(shown["model"]) == set(LONG)
    asked = {(SHORT, str(regime)) for one in HARDER for regime in one.regimes}
    for model in LONG:
        rates = {(report.dataset, report.regime): report.agreement for report in read_measured(DEMO_MODELS / model)}
        own = shown[shown["model"] == model]
        found = set(own[["dataset", "regime"]].itertuples(index=False, name=None))
        assert found == {place for place in asked if rates[place] >= OBEYED}


def test_every_explainer_is_on_the_board(demo_reader):
    made = board(demo_reader)
    stored = {*demo_reader.query("SELECT DISTINCT explainer FROM attribution")["explainer"]}
    assert {row.key for row in made.rows} == stored - {*DEPENDENCE}
    assert stored >= {*catalogue.default_methods(), *catalogue.explainers(control=True), *DEPENDENCE}
    assert made.timed
    assert {"RQ1", "RQ2", "RQ3", "RQ2.d1"} <= {column.key for column in made.columns}

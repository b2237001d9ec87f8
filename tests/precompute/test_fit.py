"""`precompute fit`: on other questions than any board shows, kept by hash, and used by the runs that it belongs to."""

import dataclasses
import json

import pytest

from heval_core.lm import fits
from heval_core.prompting.styles import STYLES
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.cli import main
from precompute.commands.fit import held_out
from precompute.questions import load_questions
from precompute.run import run
from tests.precompute.kills import rows

pytestmark = pytest.mark.slow


def fit(model_folders, store, questions=8):
    what = f"--datasets world_capital --questions {questions} --limit 212 --device cpu --store {store}"
    return main(f"fit --models {model_folders['gpt2']} {what}".split())


@pytest.fixture(autouse=True)
def no_other_fits(monkeypatch, tmp_path):
    monkeypatch.setattr(fits, "RESULTS", tmp_path / "nothing")
    monkeypatch.setitem(fits.BUNDLED, "demo", (tmp_path / "nothing", tmp_path / "nothing"))


@pytest.fixture(scope="module")
def fitted(model_folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    assert fit(model_folders, folder) == 0
    return folder


def grid(small_grid, limit=4):
    few = {"models": small_grid.models[:1], "regimes": ("conflicting",), "explainers": ("at2", "attn"), "keep_heads": 0}
    return dataclasses.replace(small_grid, **few, limit=limit, shard_size=limit)


def test_no_question_that_a_board_shows_is_fitted_on():
    style = STYLES["taught_sources"]
    every = [load_questions(dataset, None, 0, style) for dataset in ("world_capital", "country_profiles")]
    shown = {
        fact.question
        for dataset in ("world_capital", "country_profiles")
        for fact in load_questions(dataset, 212, 0, style).facts
    }
    left = held_out(every, 212)
    assert all(len(facts) > 1000 for facts in left)
    assert not shown & {fact.question for facts in left for fact in facts}


def test_a_fit_says_what_it_was_made_on_and_is_read_by_its_hash(fitted, model_folders):
    (made,) = fits.stored([fitted / "fits"])
    assert (made.explainer, made.settings, made.model) == ("at2", "AT2(unit='word', masks=32, baseline='and')", "random-gpt2")
    assert json.loads(made.about)["left_out"] == 212
    assert made.questions
    assert [file.stem for file in (fitted / "fits").iterdir()] == [f"at2-{made.digest}"]


def test_the_same_fit_again_is_the_same_file_and_another_replaces_it(model_folders, tmp_path):
    names = []
    for questions in (4, 4, 8):
        assert fit(model_folders, tmp_path, questions) == 0
        (file,) = (tmp_path / "fits").iterdir()
        names.append(file.name)
    assert names[0] == names[1] != names[2]


def test_a_changed_file_is_refused_by_name(fitted, tmp_path):
    (file,) = (fitted / "fits").iterdir()
    (tmp_path / file.name).write_text(file.read_text().replace('"random-gpt2"', '"other"'))
    with pytest.raises(HEvalError, match=f"{file.name} was changed after it was made; remove it"):
        fits.stored([tmp_path])
    (tmp_path / file.name).write_text("{")
    with pytest.raises(HEvalError, match=f"{file.name} cannot be read"):
        fits.stored([tmp_path])


def test_scores_and_keys_name_the_fit(fitted, model_folders, small_grid):
    assert run(grid(small_grid), fitted).failed == 0
    (made,) = fits.stored([fitted / "fits"])
    found = {row["settings"] for row in rows(fitted, "attribution", explainer="at2")}
    assert found == {f"AT2(unit='word', masks=32, baseline='and') fit {made.digest}"}
    assert fit(model_folders, fitted, 6) == 0
    assert run(grid(small_grid), fitted).computed == 1  # at2's shard alone
    explained = [entry.explainer for entry in ShardStore(fitted).entries().values() if entry.explainer in ("at2", "attn")]
    assert sorted(explained) == ["at2", "at2", "attn"]


def test_a_model_without_a_fit_costs_only_the_explainer_that_needs_it(model_folders, tmp_path, capsys, small_grid):
    outcome = run(grid(small_grid), tmp_path)
    assert (outcome.failed, outcome.computed) == (1, 2)
    assert rows(tmp_path, "attribution", explainer="attn")
    told = "random-gpt2 · world_capital: at2 is not fitted to random-gpt2; run: python -m precompute fit --models random-gpt2 "
    assert told in capsys.readouterr().err
    assert [failure["explainer"] for failure in ShardStore(tmp_path).failures()] == ["at2"]
    assert fit(model_folders, tmp_path) == 0
    assert run(grid(small_grid), tmp_path).computed == 1
    assert ShardStore(tmp_path).failures() == []


def test_a_run_that_would_show_what_was_fitted_on_does_without(fitted, tmp_path, capsys, small_grid):
    (made,) = fits.stored([fitted / "fits"])
    asked = load_questions("world_capital", 4, 0, STYLES["plain"]).facts
    seen = dataclasses.replace(made, questions=(fits.question_hash(asked[2].question),))
    fits.write(tmp_path / "fits", seen)
    assert run(grid(small_grid), tmp_path).failed == 1
    assert (
        "on questions of this run, the first of which is number 3 of world_capital; use --limit 2" in capsys.readouterr().err
    )
    assert run(grid(small_grid, limit=2), tmp_path / "less").failed == 1  # another store has no fit
    fits.write(tmp_path / "less" / "fits", seen)
    assert run(grid(small_grid, limit=2), tmp_path / "less").failed == 0

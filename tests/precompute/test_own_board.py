"""`precompute board`: an explainer of one's own beside the stored results of the others, on the same instances."""

import pytest

from heval_core.store.shards import ShardStore
from precompute.cli import main
from tests.conftest import reader_of
from tests.precompute.test_custom_file import SCORES, written

pytestmark = pytest.mark.slow

KEY = "mean_attention"


def board(small_grid, small_store, folder, *explainers, limit=4):
    what = "--device cpu --match first --memory any"
    own = [part for explainer in explainers for part in ("--explainer", explainer)]
    where = ["--limit", str(limit), "--store", str(folder / "board"), "--beside", str(small_store)]
    return main(["board", *own, "--models", *small_grid.models, *what.split(), *where])


def began(folder):
    return [event for event in ShardStore(folder / "board").events() if event["event"] == "began"]


def scores_by_instance(folder, explainer):
    rows = "SELECT instance_id, scores FROM attribution WHERE explainer = ? ORDER BY instance_id"
    found = reader_of(folder).query(rows, [explainer])
    return {row.instance_id: list(row.scores) for row in found.itertuples()}


@pytest.fixture(scope="module")
def made(small_grid, small_store, tmp_path_factory):
    """The README's example beside the small store's results."""
    folder = tmp_path_factory.mktemp("own")
    assert board(small_grid, small_store, folder, written(folder)) == 0
    return folder


def test_others_stand_beside_it_with_the_scores_that_are_stored(made, small_store):
    own = scores_by_instance(made / "board", KEY)
    assert own
    for explainer in ("fa", "ig", "attn", "mechlight"):
        stored, beside = scores_by_instance(small_store, explainer), scores_by_instance(made / "board", explainer)
        assert beside == {instance: stored[instance] for instance in own}


def test_nothing_that_is_there_is_computed_again(made):
    store = ShardStore(made / "board")
    computed = {key for event in began(made) for key in event["keys"]}
    made_by = [store.entries()[key].explainer for key in computed]
    assert sorted(made_by) == ["", "", *[KEY] * 4]  # two models: what each remembers, and two regimes


def test_the_explorer_opens_its_results_without_the_file(made, monkeypatch):
    from tests.pages.opening import open_page

    monkeypatch.setenv("HEVAL_STORE", str(made / "board"))
    open_page("leaderboard", tab="regime")


def test_an_edited_file_is_computed_again_and_its_old_scores_are_gone(small_grid, small_store, made, capsys):
    before = scores_by_instance(made / "board", KEY)
    assert board(small_grid, small_store, made, written(made)) == 0  # unchanged: nothing to do
    assert len(began(made)) == 6
    assert board(small_grid, small_store, made, written(made, SCORES, f"{SCORES} * 0")) == 0
    after = scores_by_instance(made / "board", KEY)
    assert len(began(made)) == 10
    assert before.keys() == after.keys()
    assert any(any(scores) for scores in before.values())
    assert not any(any(scores) for scores in after.values())
    assert "open it: HEVAL_STORE=" in capsys.readouterr().out


def test_another_limit_leaves_one_set_of_instances(small_grid, small_store, made):
    assert board(small_grid, small_store, made, written(made), limit=3) == 0
    counts = reader_of(made / "board").query(
        "SELECT explainer, count(*) AS n FROM attribution GROUP BY explainer ORDER BY explainer"
    )
    assert counts["n"].nunique() == 1
    assert set(counts["explainer"]) > {"attn", "fa", "ig", "mechlight", KEY}  # and the controls


def test_one_that_is_refused_does_not_stop_the_others(small_grid, small_store, tmp_path, capsys):
    bad = tmp_path / "bad"
    bad.mkdir()
    written(bad, SCORES, "raise KeyError('x')")
    (bad / "mine.py").write_text((bad / "mine.py").read_text().replace(KEY, "worse"))
    asked = (f"{bad}/mine.py:MeanAttention", str(tmp_path / "no.py:X"), written(tmp_path))
    assert board(small_grid, small_store, tmp_path, *asked) == 1
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert told[0].startswith("error: The explainer's file")
    assert told[1].endswith("mine.py: MeanAttention raised KeyError: 'x' (tried on random-gpt2)")
    assert len(told) == 2
    assert scores_by_instance(tmp_path / "board", KEY)


def test_where_none_is_left_it_ends_in_one_line(small_grid, small_store, tmp_path, capsys):
    assert board(small_grid, small_store, tmp_path, "no.py:X") == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: No explainer is left to set on the board")
    assert not (tmp_path / "board").exists()


def test_without_an_explainer_the_board_of_a_store_is_printed(small_store, prints):
    out = prints("board", "--store", small_store).out
    for title in ("Feature ablation", "MechLight", "Lexical match", "Which token"):
        assert title in out
    assert f"open it: HEVAL_STORE={small_store} " in out

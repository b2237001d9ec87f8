"""The command that makes a study with people of a store's explanations."""

import shlex
import shutil

import pytest

from heval_core.citations.people.annotations import FILE, AnnotationStore, answers
from heval_core.evaluation.citations.standing import standing
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.citations.study import explanations_of
from precompute.cli import main
from precompute.run import run
from tests.citations.batch_study import published, study
from tests.conftest import ROOT


@pytest.fixture
def store(tmp_path, first, claims):
    """Half of the claims, and what the annotator said of them."""
    run(study(claims, limit=6), tmp_path / "store")
    return tmp_path / "store"


def test_a_study_asks_about_the_stored_explanations_as_they_were_published(store):
    results = published(store)
    told = explanations_of(ShardStore(store))
    rows = {row["explanation_id"]: row for row in results.query("SELECT * FROM explanation").to_dict("records")}
    assert set(told) == set(rows)
    for name, explained in told.items():
        assert [sentence.text for sentence in explained.sentences] == list(rows[name]["sentences"])
        assert explained.selected == tuple(rows[name]["selected"])
        assert len(explained.claim.passages) == 3


def test_a_study_counts_what_people_answered_and_a_copy_of_its_file_is_the_study(store, tmp_path, capsys):
    assert main(["citations", "study", "--store", str(store), "--per-item", "2", "--controls", "0"]) == 0
    assert "now 6 questions and 0 control items; 0 of 12 answers, by 0 people" in capsys.readouterr().out
    people = AnnotationStore.open(store)
    name = people.sign_in("ada")
    for number in range(4):  # three of the practice round come first
        item_id = people.turn(name).item_id
        people.save(name, item_id, people.item(item_id).gold, 80.0, 2.0, f"her answer {number}")
    (given,) = answers(store).rows
    assert (given["annotator"], given["predicted"], given["helpfulness"]) == (
        "person:ada",
        sorted(people.item(item_id).gold),
        80.0,
    )
    (tmp_path / "other").mkdir()
    shutil.copy(store / FILE, tmp_path / "other")
    assert answers(tmp_path / "other") == answers(store)


def test_explanations_of_another_store_are_taken_over_with_their_answers_once(store, tmp_path, capsys):
    own = tmp_path / "my people"
    for added in ("9 items", "0 items"):  # three of them are for practice
        assert main(["citations", "study", "--store", str(own), "--from", str(store), "--controls", "0"]) == 0
        assert f"{added} added; now 6 questions" in capsys.readouterr().out
    assert standing(ShardStore(own)) == standing(ShardStore(store))
    assert all(ShardStore(own).intact(entry) for entry in standing(ShardStore(own)).entries)
    assert ShardStore(own).journal("citations") == ShardStore(store).journal("citations")
    assert len(published(own).query("SELECT * FROM recovery")) == len(published(store).query("SELECT * FROM recovery")) > 0
    assert not (store / FILE).exists()


def test_what_says_that_there_is_no_study_says_how_to_make_one(store, tmp_path):
    own = store.rename(tmp_path / "a store")
    with pytest.raises(HEvalError) as raised:
        AnnotationStore.open(own)
    asked = shlex.split(str(raised.value).partition("Make one: ")[2])
    assert asked[:3] == ["python", "-m", "precompute"]
    assert main(asked[3:]) == 0
    assert AnnotationStore.open(own).progress().questions == 6


@pytest.mark.parametrize("folder", ["demo", "demo-results"])
def test_no_study_is_kept_in_what_comes_with_the_program(folder, capsys):
    bundled = ROOT / "cache" / folder
    assert main(["citations", "study", "--store", str(bundled)]) == 2
    assert "--store cache/people --from cache/demo" in capsys.readouterr().err
    assert not (bundled / FILE).exists()


def test_what_cannot_be_done_is_one_line(tmp_path, prints):
    ShardStore(tmp_path / "empty").create()
    for asked, told in (
        (["study", "--store", str(tmp_path / "nowhere")], "There is no store"),
        (["study", "--store", str(tmp_path / "empty")], "has no explanations; run: python -m precompute citations run"),
    ):
        assert told in prints("citations", *asked, ends=2).err

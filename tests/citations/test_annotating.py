"""The commands of a study with people: from a store's explanations to items, to a file, and back."""

from __future__ import annotations

import pytest

from heval_core.store.annotation_exchange import answers
from heval_core.store.annotations import AnnotationStore
from heval_core.store.shards import ShardStore
from precompute.citations.people import explanations_of
from precompute.citations.run import run
from precompute.citations.study import Study
from precompute.cli import main
from tests.citations.batch_study import Chooser, known, line, published, write


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Six claims, each explained in two sentences that cite passages 1 and 2 of three."""
    known(monkeypatch, Chooser("first", lambda question: {0}))
    claims = write(tmp_path / "claims", *(line(f"claim {number}", "One [1].", "Two [2].") for number in range(6)))
    run(Study((f"lines={claims}",), ("shipped",), annotators=("first",), device="cpu"), tmp_path / "store")
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


def test_items_go_to_a_file_and_come_back_and_answers_with_them(store, tmp_path, capsys):
    assert main(["citations", "study", "--store", str(store), "--per-item", "2", "--controls", "0"]) == 0
    assert "now 6 questions and 0 control items; 0 of 12 answers, by 0 people" in capsys.readouterr().out
    people = AnnotationStore.open(store)
    name = people.sign_in("ada")
    for number in range(4):  # three of the practice round come first
        item_id = people.turn(name).item_id
        people.save(name, item_id, people.item(item_id).gold, 80.0, 2.0, f"her answer {number}")
    for file in (tmp_path / "people.csv", tmp_path / "people.jsonl"):
        other = tmp_path / f"other-{file.suffix[1:]}"
        assert main(["citations", "export", str(file), "--store", str(store)]) == 0
        assert main(["citations", "import", str(file), "--store", str(other)]) == 0
        assert answers(other) == answers(store)
        assert main(["citations", "import", str(file), "--store", str(other)]) == 0
        assert "0 items, 0 people and 0 answers added; 4 answers were there" in capsys.readouterr().out
    (given,) = answers(store).questions
    assert (given.annotator, given.predicted, given.helpfulness) == ("person:ada", given.gold, 80.0)


def test_what_cannot_be_done_is_one_line(tmp_path, store, capsys):
    assert main(["citations", "study", "--store", str(tmp_path / "nowhere")]) == 2
    assert "There is no store" in capsys.readouterr().err
    ShardStore(tmp_path / "empty").create()
    assert main(["citations", "study", "--store", str(tmp_path / "empty")]) == 2
    assert "has no explanations; run: python -m precompute citations run" in capsys.readouterr().err
    assert main(["citations", "export", str(tmp_path / "people.txt"), "--store", str(store)]) == 2
    assert ".csv or .jsonl" in capsys.readouterr().err

"""Fine-tuning in the batch job: trained once, kept with the search, part of the keys; unavailable only while it must be."""

import json
import shutil
import sys
from dataclasses import replace

import pytest

from heval_core.lm.adapting import Adapter
from heval_core.records import TECHNIQUE
from heval_core.store.shards import ShardStore
from heval_core.techniques.shared.base import Setting
from precompute.grid import GRIDS
from precompute.plan import plan
from precompute.run import run
from precompute.techniques import Chosen
from tests.precompute.kills import contents, rows

pytestmark = pytest.mark.slow

KEY = "fine_tuning(data=development,learning_rate=0.005,epochs=1)"
GRID = replace(GRIDS["cub-smoke"], limit=60, regimes=("gold", "conflicting"), device="cpu", techniques=("acd", KEY))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fine_tuned")
    assert run(GRID, folder).failed == 0
    return folder


def without(store, *kinds):
    """Takes the technique's shards of these kinds out of the store, as if it had been stopped before them."""
    manifest = store / "manifest.jsonl"
    lines = [json.loads(line) for line in manifest.read_text().splitlines()]
    kept = [line for line in lines if not (line["technique"] == KEY and line["kind"] in kinds)]
    assert len(kept) < len(lines)
    manifest.write_text("".join(f"{json.dumps(line)}\n" for line in kept))


def test_the_search_keeps_one_adapter_and_says_what_it_was_trained_on(store):
    (trial,) = rows(store, "trial", technique=KEY)
    assert (trial["chosen"], trial["regime"], trial["bcu"], trial["unavailable"]) == (True, "", None, None)
    adapter, said = Adapter.read(trial["weights"]), json.loads(trial["setting"])
    assert adapter.model == "demo-qwen2"
    assert set(said) == {"data", "examples", "held_out", "epochs", "best_epoch", "loss", "held_out_loss"}
    behaviours = rows(store, "behaviour", technique=KEY)
    assert behaviours
    assert {row["setting"] for row in behaviours} == {trial["setting"]}
    assert {row["split"] for row in behaviours} == {"test"}
    regular = {row["instance_id"]: row for row in rows(store, "behaviour", technique=TECHNIQUE)}
    assert any(
        abs(row["probability"] - own["probability"]) > 0.01 for row, own in zip(behaviours, regular.values(), strict=False)
    )


def test_after_a_stop_the_stored_adapter_answers_and_nothing_is_trained_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr("heval_core.lm.training.train", None)  # a call would be a failure
    again = shutil.copytree(store, tmp_path / "store")
    assert run(GRID, again).computed == 0
    without(again, "instance", "behaviour")
    outcome = run(GRID, again)
    assert outcome.failed == 0
    assert outcome.computed
    assert contents(again) == contents(store)


@pytest.mark.demo
def test_a_lost_search_is_trained_to_the_same_bytes(store, tmp_path):
    again = shutil.copytree(store, tmp_path / "store")
    without(again, "trial")
    assert plan(GRID, again, calibrated=False).searches == 1
    assert run(GRID, again).failed == 0
    assert contents(again) == contents(store)
    assert plan(GRID, again, calibrated=False).searches == 0


def test_other_weights_are_other_keys():
    one, other = (Chosen(KEY, Setting("{}", weights)).keyed for weights in (b"1", b"2"))
    assert one != other
    assert {name for name in one if one[name] != other[name]} == {"weights"}


@pytest.mark.demo
def test_without_peft_the_rest_goes_on_and_a_later_run_trains(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "peft", None)
        outcome = run(GRID, tmp_path)
    assert outcome.failed == 1
    (told,) = rows(tmp_path, "trial", technique=KEY)
    assert told["unavailable"] == "peft, which trains adapters, is not installed; run: pip install -r requirements-peft.txt"
    assert {row["technique"] for row in rows(tmp_path, "instance")} == {TECHNIQUE, "acd"}
    assert [line["error"] for line in ShardStore(tmp_path).failures()] == [f"NotHere: {told['unavailable']}"]
    assert plan(GRID, tmp_path, calibrated=False).searches == 1
    assert run(GRID, tmp_path).failed == 0
    assert KEY in {row["technique"] for row in rows(tmp_path, "instance")}
    assert ShardStore(tmp_path).failures() == []


@pytest.mark.demo
def test_one_file_of_lessons_is_part_of_the_key_and_another_is_trained_on_anew(tmp_path):
    file, lines = tmp_path / "mine.jsonl", []
    for number in range(12):
        context = f"The capital of Kenya is Oslo, says number {number}."
        question = f"What is the capital of Kenya, asks number {number}?"
        lines.append({"kind": "relevant", "question": question, "context": context, "answers": "Oslo"})
    file.write_text("\n".join(map(json.dumps, lines)))
    grid = replace(GRID, techniques=(f"fine_tuning(data={file},epochs=1)",), regimes=("conflicting",))
    assert run(grid, tmp_path / "store").failed == 0
    assert plan(grid, tmp_path / "store", calibrated=False).searches == 0
    file.write_text("\n".join(map(json.dumps, lines[1:])))
    assert plan(grid, tmp_path / "store", calibrated=False).searches == 1

"""What the study calls things, and what it does where two would be one, or one is not there."""

from __future__ import annotations

import dataclasses
import json

import pytest

from heval_core.citations.claims.jsonl import JsonLines
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.citations.study import Study
from precompute.plan import as_lines, plan
from precompute.run import run
from tests.citations import samples
from tests.citations.batch_study import line, published, ran, rows, study, write
from tests.conftest import ROOT
from tests.datasets.samples import write_lines

QWEN = str(ROOT / "cache" / "demo" / "models" / "demo-qwen2")


def test_an_annotator_whose_model_is_missing_costs_only_itself(tmp_path):
    path = write_lines(tmp_path / "mine.jsonl", [samples.own(f"r{number}") for number in range(3)])
    asked = Study((str(path),), ("shipped",), annotators=("random", "nli(model=no/such/model)"), device="cpu")
    outcome = run(asked, tmp_path / "store")
    assert (outcome.computed, outcome.failed) == (2, 1)
    assert len(rows(tmp_path / "store")) == 3
    (failed,) = ShardStore(tmp_path / "store").failures()
    assert failed["model"] == "nli(model=no/such/model)"
    assert "There is no model folder 'no/such/model'" in failed["error"]
    assert "cannot be asked: There is no model folder" in "\n".join(as_lines(plan(asked, tmp_path / "store")))


def test_what_is_named_twice_is_done_once(first, claims, tmp_path):
    asked = study(claims, writers=("shipped", "shipped"), annotators=("first", "first"))
    assert run(asked, tmp_path / "store").computed == 6
    assert sum("first" in told for told in as_lines(plan(asked, tmp_path / "store"))) == 1


def test_a_writer_that_could_not_be_told_from_the_datas_is_refused(first, tmp_path):
    named = write(tmp_path / "claims", line("one", "One [1].", writer="demo-qwen2"))
    asked = study(named, writers=("shipped", QWEN), selectors=("shipped",))
    for begin in (run, plan):
        with pytest.raises(HEvalError, match="came with explanations by 'demo-qwen2'"):
            begin(asked, tmp_path / "store")
    # From other passages, its explanations stand apart.
    assert plan(study(named, writers=("shipped", QWEN), selectors=("all",)), tmp_path / "store").lines


def test_an_explanation_that_was_written_to_another_prompt_is_another_one(tmp_path):
    prompts = ("", "demo-careful", "demo-sloppy")
    for prompt in prompts:
        path = write_lines(tmp_path / "mine.jsonl", [samples.own(prompt=prompt)])
        run(Study((str(path),), ("shipped",), annotators=("random",), device="cpu"), tmp_path / "store")
    made = rows(tmp_path / "store", "explanation")
    assert [row["prompt_id"] for row in made] == list(prompts)
    for kept in (made, rows(tmp_path / "store")):
        assert len({row["explanation_id"] for row in kept}) == 3


def test_half_a_surrogate_pair_costs_nothing_but_itself(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(samples.own(f"r{number}", claim="half \ud800")) + "\n" for number in range(2)))
    assert [claim.claim for claim in JsonLines(str(path)).claims()] == ["half ?"] * 2
    outcome = run(Study((str(path),), ("shipped",), annotators=("random",), device="cpu"), tmp_path / "store")
    assert (outcome.computed, outcome.failed) == (2, 0)


def test_where_every_explanation_has_one_passage_sample_and_full_are_the_same(first, tmp_path):
    one = [line(f"claim {number}", "One [1].", "Two.", selected=[1]) for number in range(3)]
    ran(tmp_path / "store", *one)
    cells = published(tmp_path / "store").query("SELECT * FROM cell_recovery WHERE annotator = 'first'")
    found = cells.set_index(["masking", "measure"])["value"]
    assert found["full", "f1"] == found["sample", "f1"] == found["full", "transparent"] == 1


WRONG = {
    "names no writer": {"writers": ("",)},
    "There is no selector 'nearest'": {"selectors": ("nearest",)},
    "There is no annotator 'oracle'": {"annotators": ("oracle",)},
    "--masking is 'half'; it must be sample or full.": {"masking": "half"},
    "--limit is 0; it must be at least 1.": {"limit": 0},
    "There is no file /no/such/file.": {"claims": ("lines=/no/such/file",)},
    "--shard-size is 0; it must be at least 1.": {"shard_size": 0},
    "Two of --claims are called lines; give one of the files another name.": {"claims": ("lines=a", "lines=b")},
}


@pytest.mark.parametrize(("message", "asked"), WRONG.items())
def test_what_is_wrong_is_said_in_one_line_before_anything_is_done(first, claims, message, asked):
    with pytest.raises(HEvalError) as error:
        dataclasses.replace(study(claims), **asked).check()
    assert message in str(error.value)
    assert "\n" not in str(error.value)

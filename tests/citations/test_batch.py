"""The study as a batch job: what is made once stays, what fails costs only itself, and nothing is asked twice. What it calls
things, and what it does where two would be one, or one is not there."""

import dataclasses
import json
import pickle

import pytest

from heval_core.citations.claims.jsonl import JsonLines
from heval_core.citations.records import Choice
from heval_core.records import HEvalError
from heval_core.store.progress import progress
from heval_core.store.shards import ShardStore
from precompute.cli import main
from precompute.plan import RunPlan, as_lines, plan
from precompute.run import parts_of, run
from precompute.worker import Local
from tests.citations import samples
from tests.citations.batch_study import Chooser, known, line, own_study, published, ran, rows, study, write
from tests.conftest import DEMO_MODELS
from tests.datasets.samples import write_lines
from tests.precompute.kills import contents

QWEN = str(DEMO_MODELS / "demo-qwen2")


def test_a_dozen_claims_from_a_file_to_published_tables(first, claims, store):
    outcome = run(study(claims, masking="full"), store)
    # Three chunks of claims, each a shard of explanations and two of answers.
    assert (outcome.computed, outcome.failed, outcome.left) == (9, 0, 0)
    results = published(store)
    counts = {name: int(results.query(f"SELECT count(*) AS n FROM {name}")["n"].iloc[0]) for name in ("claim", "recovery")}
    assert counts == {"claim": 12, "recovery": 36}
    asked = results.query("SELECT claim_id FROM explanation ORDER BY rowid")["claim_id"]
    assert list(asked) == [f"claim {number}" for number in range(12)]  # in the order of the data
    assert len(results.runs()) == 1
    again = run(study(claims, masking="full"), store)
    assert (again.computed, again.already_done) == (0, 9)


class Killed(Local):
    """An executor that ends with the third task."""

    begun = 0

    def submit(self, task, questions):
        Killed.begun += 1
        if Killed.begun == 3:
            raise KeyboardInterrupt
        super().submit(task, questions)


def test_what_an_interrupted_run_has_made_is_not_made_again(first, claims, tmp_path, store):
    Killed.begun = 0
    stopped = run(study(claims, masking="full"), store, Killed)
    assert stopped.interrupted
    assert (stopped.computed, stopped.left) == (2, 7)
    before = contents(store)
    assert progress(store).missing == 7
    outcome = run(study(claims, masking="full"), store)
    assert (outcome.computed, outcome.already_done, outcome.left) == (7, 2, 0)
    run(study(claims, masking="full"), tmp_path / "quiet")
    assert contents(store) == contents(tmp_path / "quiet")
    assert before.items() <= contents(store).items()


@pytest.mark.parametrize(("before", "asked_before", "asked"), [({}, 12, 36), ({"limit": 7, "masking": "full"}, 21, 36)])
def test_more_passages_and_more_claims_ask_only_the_rest(first, claims, tmp_path, store, before, asked_before, asked):
    run(study(claims, **before), store)
    assert len(first.asked) == asked_before
    run(study(claims, masking="full"), store)
    assert len(first.asked) == len(set(first.asked)) == asked
    run(study(claims, masking="full"), tmp_path / "at once")
    there, at_once = ({str(row | {"seconds": 0}) for row in rows(tmp_path / name)} for name in ("store", "at once"))
    assert there == at_once
    assert len(there) == asked


def test_a_claim_that_changes_costs_no_other_one_its_answers(first, claims, store):
    run(study(claims), store)
    lines = claims.read_text().splitlines()
    write(claims, line("claim 0", "Another one [1]."), *lines[1:])
    first.asked.clear()
    run(study(claims), store)
    assert [claim for claim, _ in first.asked] == ["claim 0"]
    results = published(store)
    assert len(results.query("SELECT * FROM claim")) == len(results.query("SELECT * FROM recovery")) == 12
    said = results.query("SELECT sentences[1] AS s FROM explanation WHERE claim_id = 'claim 0'")["s"]
    assert said.tolist() == ["Another one [1]."]


def test_another_seed_is_another_draw_and_another_annotator_only_adds(first, claims, store, monkeypatch):
    run(study(claims), store)
    before = contents(store)
    other = run(study(claims, seed=1), store)
    assert other.already_done == 0
    known(monkeypatch, first, Chooser("none", lambda question: ()))
    added = run(study(claims, annotators=("first", "none")), store)
    assert (added.computed, added.already_done) == (3, 6)
    assert before.items() <= contents(store).items()
    # The newest run stands: of the first seed.
    assert set(published(store).query("SELECT annotator FROM recovery")["annotator"]) == {"first", "none"}


def test_a_record_that_cannot_be_used_and_a_claim_that_fails_cost_only_themselves(claims, store, monkeypatch, capsys):
    working = []

    def choose(question):
        if question.explained.claim.id == "claim 3" and not working:
            raise RuntimeError("this one breaks")
        return {0}

    known(monkeypatch, Chooser("first", choose))
    write(claims, *claims.read_text().splitlines(), "bad", line("claim 0", "The same id [1]."), line("claim 12"))
    outcome = run(study(claims), store)
    assert outcome.failed == 3  # two records, and a shard with a failure
    results = published(store)
    unusable = results.query("SELECT claim_id, unusable FROM claim WHERE unusable IS NOT NULL ORDER BY rowid")
    assert unusable["unusable"].tolist() == ["it is not JSON", "another claim before it has the same id"]
    assert len(results.query("SELECT * FROM claim WHERE claim_id = 'claim 0' AND unusable IS NULL")) == 1
    without = results.query("SELECT unavailable FROM explanation WHERE claim_id = 'claim 12'")
    assert without["unavailable"].iloc[0] == "No explanation came with the claim."
    assert len(results.query("SELECT * FROM recovery")) == 11
    failures = results.failures()
    assert set(failures["error"]) > {"RuntimeError: this one breaks"}
    assert main(["citations", "status", "--store", str(store)]) == 1
    assert "shipped · lines · citations · shipped · first · claim 3: RuntimeError: this one breaks" in capsys.readouterr().out
    working.append(True)
    again = run(study(claims), store)
    assert (again.computed, again.failed) == (1, 2)
    assert len({row["explanation_id"] for row in rows(store)}) == 12


@pytest.mark.parametrize("chosen", [{7}, Choice(frozenset(), (1.0,))], ids=["a sentence that is not there", "too few scores"])
def test_an_answer_that_does_not_fit_is_a_failure_and_no_number(claims, store, monkeypatch, chosen):
    known(monkeypatch, Chooser("first", lambda question: chosen))
    assert run(study(claims), store).failed == 3
    assert rows(store) == []
    assert "ValueError: first" in str(ShardStore(store).failures()[0]["error"])


def test_a_writer_that_cannot_be_loaded_costs_only_itself(first, claims, tmp_path, store, capsys):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    writers = ("no/such/model", str(tmp_path / "broken"), "shipped")
    outcome = run(study(claims, writers=writers, selectors=("all",)), store)
    assert outcome.failed == 2
    assert outcome.computed == 6
    failed = {line["model"]: line["error"] for line in ShardStore(store).failures()}
    assert "There is no model folder 'no/such/model'" in failed["no/such/model"]
    assert "cannot be loaded as a causal language model" in failed[str(tmp_path / "broken")]
    assert len(rows(store)) == 12
    planned = plan(study(claims, writers=writers, selectors=("all",)), store)
    assert [name for name, _ in planned.left_out] == ["no/such/model"]


def test_a_damaged_shard_is_found_and_made_again(first, claims, store, prints):
    run(study(claims), store)
    before = contents(store)
    for name in ("explanation", "first"):
        next((store / "shards").rglob(f"*{name}*.parquet")).write_bytes(b"damaged")
    assert prints("citations", "verify", "--store", store, ends=1).out.count("damaged:") == 2
    assert run(study(claims), store).computed == 2
    assert contents(store) == before


def test_explainers_of_shipped_explanations_say_why_they_cannot_be_asked(claims, store, monkeypatch):
    explainer = Chooser("explainer", lambda question: (), reads="model", family="explainer", control=False)
    known(monkeypatch, Chooser("first", lambda question: {0}), explainer)
    asked = study(claims, annotators=("first", "explainer"))
    assert run(asked, store).failed == 0
    cells = published(store).query("SELECT * FROM cell_recovery WHERE annotator = 'explainer'")
    why = "The explanations came with the claims, without their writer's model; name one: explainer(model=MODEL)."
    assert cells[["writer", "unavailable"]].to_numpy().tolist() == [["shipped", why]]
    assert why in "\n".join(as_lines(plan(asked, store)))


def test_a_plan_counts_before_during_and_after(first, claims, store):
    asked = study(claims, masking="full")
    write(claims, *claims.read_text().splitlines(), "bad")
    before = plan(asked, store)
    assert [(one.where["what"], one.shards, one.done) for one in before.lines] == [("explanations", 3, 0), ("first", 6, 0)]
    assert "lines: 12 claims, 0 of them with problems; 1 records cannot be used" in list(as_lines(before))
    assert "  cannot be used, line 13: it is not JSON" in list(as_lines(before))
    run(study(claims), store)
    assert [(one.shards, one.done) for one in plan(asked, store).lines] == [(0, 3), (3, 3)]
    run(asked, store)
    assert list(as_lines(plan(asked, store)))[-1] == "0 shards to do, 9 done already"


def test_tasks_are_frozen_and_picklable_and_need_no_model_where_nobody_reads_with_one(claims, store, monkeypatch):
    known(monkeypatch, Chooser("first", len))
    (part,) = parts_of(study(claims, masking="full"), ShardStore(store), RunPlan())
    task, *_ = part.ready(())
    part.store.create()
    (made,) = task.finished(task.do(None, None))
    part.store.write(*made)
    asking, *_ = part.ready(())
    for one in (task, asking):
        assert pickle.loads(pickle.dumps(one)) == one
        assert one.model.name == ""
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.start = 1


def test_the_command_line_runs_it_and_says_what_failed(first, claims, tmp_path, prints):
    write(claims, *claims.read_text().splitlines(), "bad")
    asked = f"--claims lines={claims} --writers shipped --annotators first --shard-size 5 --store {tmp_path / 's'}"
    arguments = asked.split()
    assert "6 shards to do, 0 done already" in prints("citations", "plan", *arguments).out
    printed = prints("citations", "run", *arguments, ends=1)
    assert "6 shards computed, 0 were done already, 1 failures" in printed.out
    assert "failed: lines · line 13: HEvalError: it is not JSON" in printed.err
    shown = prints("citations", "status", "--store", tmp_path / "s", ends=1).out
    assert "citations, shipped" in shown
    assert "explanation 12, first 12" in shown


def test_what_is_named_twice_is_done_once(first, claims, store):
    asked = study(claims, writers=("shipped", "shipped"), annotators=("first", "first"))
    assert run(asked, store).computed == 6
    assert sum("first" in told for told in as_lines(plan(asked, store))) == 1


def test_a_writer_that_could_not_be_told_from_the_datas_is_refused(first, tmp_path, store):
    named = write(tmp_path / "claims", line("one", "One [1].", writer="demo-qwen2"))
    asked = study(named, writers=("shipped", QWEN), selectors=("shipped",))
    for begin in (run, plan):
        with pytest.raises(HEvalError, match="came with explanations by 'demo-qwen2'"):
            begin(asked, store)
    # From other passages, its explanations stand apart.
    assert plan(study(named, writers=("shipped", QWEN), selectors=("all",)), store).lines


def test_an_explanation_that_was_written_to_another_prompt_is_another_one(tmp_path, store):
    prompts = ("", "demo-careful", "demo-sloppy")
    for prompt in prompts:
        path = write_lines(tmp_path / "mine.jsonl", [samples.own(prompt=prompt)])
        run(own_study(path), store)
    made = rows(store, "explanation")
    assert [row["prompt_id"] for row in made] == list(prompts)
    for kept in (made, rows(store)):
        assert len({row["explanation_id"] for row in kept}) == 3


def test_half_a_surrogate_pair_costs_nothing_but_itself(tmp_path, store):
    path = tmp_path / "mine.jsonl"
    halves = [samples.own("r0", claim="half \ud800"), samples.own("r1"), samples.own("r2")]
    path.write_text("".join(json.dumps(line) + "\n" for line in halves))
    *good, bad = JsonLines(str(path)).claims()
    assert ([claim.id for claim in good], bad.location) == (["r1", "r2"], "mine.jsonl:1")
    assert bad.reason == "a text of the record holds half a character, \\ud800; write it whole"
    outcome = run(own_study(path), store)
    assert (outcome.computed, outcome.failed) == (2, 1)


def test_where_every_explanation_has_one_passage_sample_and_full_are_the_same(first, store):
    one = [line(f"claim {number}", "One [1].", "Two.", selected=[1]) for number in range(3)]
    ran(store, *one)
    cells = published(store).query("SELECT * FROM cell_recovery WHERE annotator = 'first'")
    found = cells.set_index(["masking", "measure"])["value"]
    assert found["full", "f1"] == found["sample", "f1"] == found["full", "transparent"] == 1


WRONG = {
    "names no writer": {"writers": ("",)},
    "is a file, and no model; explanations that are written already stand in": {"writers": (__file__,)},
    "There is no selector 'nearest'": {"selectors": ("nearest",)},
    "There is no annotator 'oracle'": {"annotators": ("oracle",)},
    "--masking is 'half'; it must be sample or full.": {"masking": "half"},
    "--limit is 0; it must be at least 1.": {"limit": 0},
    "There is no file /no/such/file.": {"claims": ("lines=/no/such/file",)},
    "--shard-size is 0; it must be at least 1.": {"shard_size": 0},
    "lines=a and lines=b are both called lines; rename one of the files.": {"claims": ("lines=a", "lines=b")},
}


@pytest.mark.parametrize(("message", "asked"), WRONG.items())
def test_what_is_wrong_is_said_in_one_line_before_anything_is_done(first, claims, message, asked):
    with pytest.raises(HEvalError) as error:
        dataclasses.replace(study(claims), **asked).check()
    assert message in str(error.value)
    assert "\n" not in str(error.value)

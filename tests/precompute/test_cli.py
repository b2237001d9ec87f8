"""The command line as people use it: runs, resumes, survives, and says what is wrong in one line."""

from __future__ import annotations

import json
import os
import re
import shutil

import numpy as np
import pytest

from demo import real
from heval_core.statistics.scores import average_ranks
from heval_core.store.filters import Filter
from heval_core.store.progress import only_writer
from heval_core.store.shards import ShardStore
from precompute.cli import main, parser_of
from tests.conftest import ARCHITECTURES, reader_of
from tests.datasets import samples
from tests.pages.opening import open_page

PROMPT = ["--context", "The capital of Kenya is Lisbon.", "--question", "What is the capital of Kenya?"]


def grid(small_grid, *more):
    what = "--datasets world_capital --regimes conflicting,mixed --limit 6 --shard-size 3 --keep-heads 1 --device cpu"
    more = ("--memory", "any", *more)
    return ["--models", *small_grid.models, *what.split(), *more]


def test_a_finished_run_has_nothing_left_to_do(small_grid, small_store, capsys, prints):
    assert main(["run", *grid(small_grid), "--store", str(small_store)]) == 0
    assert "0 shards computed, 44 were done already, 0 failures" in capsys.readouterr().out
    assert "0 shards to do, 44 done already" in prints("plan", *grid(small_grid), "--store", small_store).out


def test_another_explainer_or_limit_computes_only_what_is_missing(small_grid, small_store, tmp_path, prints):
    store = shutil.copytree(small_store, tmp_path / "store")
    model, *_ = small_grid.models
    asked = f"--models {model} --datasets world_capital --regimes conflicting --shard-size 3 --device cpu --memory any"
    common = ["run", *asked.split(), "--store", str(store)]
    assert "2 shards computed, 4 were done already" in prints(*common, "--limit", "9", "--explainers", "attn").out


def test_status_and_verify_tell_what_is_there_and_a_bad_shard_is_made_again(small_grid, small_store, tmp_path, prints):
    store = shutil.copytree(small_store, tmp_path / "store")
    assert "random-qwen2" in prints("status", "--store", store).out
    entry = next(e for e in ShardStore(store).entries().values() if e.explainer == "attn")
    (store / entry.path).write_bytes(b"broken")
    assert "damaged" in prints("verify", "--store", store, ends=1).out
    assert "1 shards computed" in prints("run", *grid(small_grid), "--store", store).out
    assert main(["verify", "--store", str(store)]) == 0


def test_the_overview_shows_how_far_the_batch_job_is(small_store, tmp_path, monkeypatch):
    store = shutil.copytree(small_store, tmp_path / "store")
    monkeypatch.setenv("HEVAL_STORE", str(store))
    app = open_page("about", tab="data")
    assert any("No run is active: 44 shards done, no shards missing" in m.value for m in app.markdown)
    lines = (store / "manifest.jsonl").read_text().splitlines(keepends=True)
    (store / "manifest.jsonl").write_text("".join(lines[:-5]))
    with only_writer(store):
        app = open_page("about", tab="data")
    assert any("A run is active: 39 shards done, five shards missing" in m.value for m in app.markdown)


def test_a_bad_record_is_left_out_with_its_reason_and_the_run_ends_with_one(model_folders, tmp_path, prints):
    bad = samples.own("Peru", conflicting={"text": "The capital of Peru is Oslo.", "answer": "Bergen"})
    records = [samples.own("Kenya"), bad, samples.own("Chad"), "{broken", {"id": "9"}]
    data = samples.write_lines(tmp_path / "mine.jsonl", records)
    store = tmp_path / "store"
    command = [
        *f"run --models {model_folders['gpt2']} --datasets {data} --regimes conflicting".split(),
        *f"--explainers attn --device cpu --store {store}".split(),
    ]
    assert "mine.jsonl:4: the line is not JSON" in prints("plan", *command[1:], "--no-calibrate").out
    printed = prints(*command, ends=1)
    assert "3 failures" in printed.out
    assert "mine.jsonl:2: 'conflicting' does not contain its answer 'Bergen'" in printed.err
    assert main(["publish", "--store", str(store)]) == 0
    reader = reader_of(store)
    assert set(reader.failures()["place"]) == {"mine.jsonl:2", "mine.jsonl:4", "mine.jsonl:5"}
    assert set(reader.query("SELECT subject FROM instance")["subject"]) == {"Kenya", "Chad"}


@pytest.mark.slow
def test_a_failing_instance_is_stored_and_tried_again(model_folders, tmp_path, prints, monkeypatch):
    from heval_core.explainers.attn import Attention

    command = [
        *f"run --models {model_folders['gpt2']} --datasets world_capital --limit 3 --regimes conflicting".split(),
        *f"--explainers attn --store {tmp_path / 's'} --device cpu --memory any".split(),
    ]
    whole, hit = Attention.explain, []

    def fails_on_one(self, clean, targets):
        hit[:] = hit or [clean.prompts[0].text]
        if any(prompt.text in hit for prompt in clean.prompts):
            raise RuntimeError("out of luck")
        return whole(self, clean, targets)

    monkeypatch.setattr(Attention, "explain", fails_on_one)
    assert main(command) == 1
    assert "RuntimeError: out of luck" in prints("status", "--store", tmp_path / "s", ends=1).out
    monkeypatch.undo()
    assert main(command) == 0
    (entry,) = [e for e in ShardStore(tmp_path / "s").entries().values() if e.explainer]
    assert (entry.rows, entry.failed) == (3, 0)
    assert main(["status", "--store", str(tmp_path / "s")]) == 0


def test_a_second_run_on_a_store_is_told_who_holds_it(small_grid, tmp_path, prints):
    with only_writer(tmp_path):
        (line,) = prints("run", *grid(small_grid), "--store", tmp_path, ends=2).err.strip().splitlines()
    assert f"process {os.getpid()}" in line


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_explain_prints_the_object_of_the_design(architecture, model_folders, prints):
    folder = str(model_folders[architecture])
    extra = ["--context-answer", "Lisbon", "--memory-answer", "Nairobi", "--format", "json", "--device", "cpu"]
    found = json.loads(prints("explain", "--model", folder, *PROMPT, *extra).out)
    n = len(found["tokens"])
    assert "".join(found["tokens"]) == found["prompt"]
    assert len(found["token_ids"]) == n
    (document,) = found["documents"]
    assert document["answer"] == "Lisbon"
    assert "Lisbon" in "".join(found["tokens"][i] for i in document["answer_tokens"])
    assert "".join(found["tokens"][document["start"] : document["end"]]) == "The capital of Kenya is Lisbon."
    assert {c["group"] for c in found["answer"]["candidates"]} == {"C", "M"}
    assert all(list(c) == ["group", "text", "token_id", "logit", "probability"] for c in found["answer"]["candidates"])
    assert set(found["explainers"]) == {"fa", "ig", "attn", "mechlight"}
    for row in found["explainers"].values():
        assert len(row["scores"]) == len(row["normalised"]) == n
        assert row["seconds"] > 0
    assert sum(map(abs, found["explainers"]["fa"]["normalised"])) == pytest.approx(1)
    assert np.array(found["explainers"]["mechlight"]["head_scores"]).shape == (3, 4)
    assert found["explainers"]["mechlight"]["head"].startswith("L")


@pytest.mark.parametrize("architecture", ["gpt2", "qwen2"])
def test_the_command_line_and_the_store_give_the_same_scores_in_rank_and_nearly_in_value(
    architecture, small_store, model_folders, prints
):
    reader = reader_of(small_store)
    (instance_id, *_) = reader.instance_ids(Filter(model=(f"random-{architecture}",), regime=("mixed",)))
    instance = reader.instance(instance_id)
    texts = ["".join(instance.tokens[document.start : document.end]).strip() for document in instance.documents]
    command = f"explain --model {model_folders[architecture]} --format json --device cpu".split()
    command += ["--question", instance.question, "--memory-answer", instance.memory_answer]
    for text, document in zip(texts, instance.documents, strict=True):
        command += ["--context", text, "--context-answer", document.answer]
    found = json.loads(prints(*command).out)
    assert found["prompt"] == instance.prompt
    assert found["answer"]["group"] == instance.group
    stored = reader.attributions(instance_id)
    for key, fresh in found["explainers"].items():
        np.testing.assert_allclose(stored[key].scores, fresh["scores"], rtol=2e-3, atol=1e-6)
        np.testing.assert_array_equal(average_ranks(stored[key].scores), average_ranks(fresh["scores"]))


EXPLAIN, WHERE = ["explain", "--model", "GPT2"], ["--models", "GPT2", "--datasets", "world_capital", "--store", "TMP"]
RUN, FIT = ["run", *WHERE], ["fit", *WHERE]


@pytest.mark.parametrize(("arguments", "message"), [
    (["explain", "--model", "/no/such/model", *PROMPT], "no model folder '/no/such/model'"),
    ([*EXPLAIN, "--context", " ", "--question", "Why?"], "Document 1 is empty"),
    ([*EXPLAIN, "--context", "a.", "--question", " "], "question is empty"),
    ([*EXPLAIN, "--context", "x " * 900, "--question", "Why?"], "reads at most 512"),
    ([*EXPLAIN, *PROMPT, "--context-answer", "Oslo"], "does not contain its answer 'Oslo'"),
    ([*EXPLAIN, *PROMPT, "--context-answer", "Lisbon", "--memory-answer", "Lisbon"], "told apart"),
    ([*EXPLAIN, *PROMPT, *["--context", "b."] * 2, *["--context-answer", "b"] * 4], "4 context answers"),
    ([*EXPLAIN, *PROMPT, "--explainers", "mechlite"], "did you mean mechlight"),
    ([*EXPLAIN, *PROMPT, "--explainers", "random"], "is a control"),
    ([*EXPLAIN, *PROMPT, "--explainers", "fa(target=joy)"], "fa has no target 'joy'"),
    ([*EXPLAIN, *PROMPT, "--explainers", "fa(baseline=99999)"], "has no token 99999"),
    ([*EXPLAIN, *PROMPT, "--device", "cuda:7"], "has no device 'cuda:7'"),
    ([*EXPLAIN, *PROMPT, "--dtype", "int3"], "There is no dtype 'int3'"),
    ([*RUN, "--explainers", "fa(screen=cgim:4)"], "does not score every token, and a batch job ranks them"),
    ([*RUN, "--datasets", "world_capitol"], "did you mean world_capital"),
    ([*RUN, "--datasets", "counterfact=/no/such.json"], "/no/such.json does not exist"),
    ([*RUN, "--datasets", "country_profiles=x.json"], "country_profiles takes no path"),
    ([*RUN, "--datasets", "counterfact/part"], "counterfact takes no part"),
    ([*RUN, "--datasets", "transparent_context_usage/mine"], "has no part 'mine'; there are: world_capital"),
    ([*RUN, "--datasets", "transparent_context_usage"], "Choose a part"),
    ([*RUN, "--datasets", "/no/such/mine.jsonl"], "/no/such/mine.jsonl cannot be read"),
    ([*RUN, "--datasets", "/no/such.csv"], "/no/such.csv is no data file; give one of JSON lines, such as"),
    ([*RUN, "--datasets", "tests"], "tests is no data file; give one of JSON lines, such as tests/questions.jsonl"),
    ([*RUN, "--datasets", "EMPTY"], "is empty; it needs one JSON object per line"),
    ([*RUN, "--datasets", "NAMED"], "has the name of the dataset counterfact"),
    ([*RUN, "--template", "{question}"], "needs the fields"), ([*RUN, "--regimes", "calm"], "no regime"),
    ([*RUN, "--limit", "0"], "at least 1"), ([*RUN, "--device", "tpu"], "has no device 'tpu'"),
    ([*RUN, "--techniques", "regulr"], "There is no technique 'regulr'; did you mean regular"),
    ([*RUN, "--techniques", "cad(alpha=-2)"], "cad needs an alpha of at least 0, not -2"),
    ([*RUN, "--techniques", "coiecd(lam=3)"], "coiecd needs a lambda (lam) from 0.1 to 1, not 3"),
    ([*RUN, "--techniques", "regular", "--regimes", "golden"], "There is no regime 'golden'"),
    ([*FIT, "--explainers", "fa"], "fa has no parameters, so there is nothing to fit."),
    ([*FIT, "--questions", "0"], "--questions is 0; it must be at least 1."),
    ([*FIT, "--explainers", "at2(unit=x)"], "at2 has no unit 'x'"), (["publish", "--store", "TMP"], "There is no store at"),
    (["status", "--store", "TMP"], "There is no store at"), (["publish", "--store", "BARE"], "no finished shards"),
    ([*RUN, "--limit", "1", "--store", "INSIDE"], "cannot be written"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_before_anything_is_done(arguments, message, model_folders, tmp_path, prints):
    known = {"GPT2": model_folders["gpt2"], "TMP": tmp_path / "nothing"}
    known |= {"BARE": tmp_path / "bare", "INSIDE": tmp_path / "e.jsonl" / "store"}
    files = {"EMPTY": tmp_path / "e.jsonl", "NAMED": tmp_path / "counterfact.jsonl"}
    for path in files.values():
        path.write_text("")
    ShardStore(known["BARE"]).create()
    told = prints(*((known | files).get(a, a) for a in arguments), ends=2).err.strip().splitlines()
    (line,) = [line for line in told if not re.match(r"about \d+ passes", line)]  # a price may stand before it
    assert message in line
    assert "--device" in arguments or not known["TMP"].exists()


def test_every_run_of_the_real_results_is_a_command_that_there_is():
    assert all(parser_of(own).parse_args(own).command for own in real.runs(real.MODELS, *[real.STORE] * 2))

"""Memory asked in batches and reused, caps, a dataset that changes, one's own file from line to page."""

from __future__ import annotations

import json
import re

import pytest

from heval_core.evaluation.publishing import publish
from heval_core.explaining.behaviour import MEMORY_TOKENS, ask
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import memory_prompt
from heval_core.regimes import PromptStyle
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute import journal, memory
from precompute.cli import main
from precompute.questions import MOST_BAD, load_questions
from tests.asked import greedily
from tests.conftest import ROOT, reader_of
from tests.datasets import samples, test_conflictqa, test_counterfact
from tests.planted import accounting
from tests.precompute.kills import rows

pytestmark = pytest.mark.slow

QUESTIONS = [f"What is the capital of {country}{' of the many islands' * n}?" for n, country in enumerate(samples.CITIES)]


CAPITALS = "--datasets world_capital --explainers attn --regimes conflicting"


def command(model_folders, store, asked, *more):
    return f"run --models {model_folders['gpt2']} --device cpu --memory any --store {store} {asked}".split() + [*more]


def published(model_folders, store, asked, *more):
    """What the command makes."""
    assert main(command(model_folders, store, asked, *more)) == 0
    return Reader(publish(store))


def test_questions_of_different_length_asked_together_get_the_answers_they_get_alone(lm):
    together = ask(lm, QUESTIONS)
    assert together == [greedily(lm, lm.tokenise(memory_prompt(question)).ids, MEMORY_TOKENS) for question in QUESTIONS]
    assert together == [ask(lm, [question])[0] for question in QUESTIONS]


def test_a_prompt_that_leaves_no_position_free_gets_no_answer_and_costs_the_others_nothing(lm):
    long, short = tuple([5] * (lm.positions + 3)), lm.tokenise(memory_prompt("Why?")).ids
    nearly = tuple([5] * (lm.positions - 2))
    found = lm.generation.greedy([long, short, nearly], 12)
    assert found[0] == ()
    assert found[1] == lm.generation.greedy([short], 12)[0]
    assert 1 <= len(found[2]) <= 2


def test_a_models_own_sampling_defaults_are_not_used(model_folders, tmp_path):
    import shutil

    from heval_core.lm.loading import load

    folder = shutil.copytree(model_folders["qwen2"], tmp_path / "warm")
    settings = {"do_sample": True, "temperature": 5.0, "repetition_penalty": 3.0, "eos_token_id": [0, 7], "top_k": 3}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    plain, warm = load(str(model_folders["qwen2"]), "cpu"), load(str(folder), "cpu")
    assert warm.model.generation_config.eos_token_id == [0, 7]
    assert [ids[:1] for ids in ask(warm, QUESTIONS)] == [ids[:1] for ids in ask(plain, QUESTIONS)]


def test_no_question_is_asked_twice(model_folders, tmp_path, monkeypatch, capsys):
    asked: list[str] = []
    whole = memory.ask

    def noting(lm, questions):
        asked.extend(questions)
        return whole(lm, questions)

    monkeypatch.setattr(memory, "ask", noting)
    monkeypatch.setattr(memory, "CHUNK", 4)
    common = f"{CAPITALS} --limit 8"
    assert main(command(model_folders, tmp_path, common)) == 0
    first = list(asked)
    assert len(first) == len(set(first)) > 4
    assert main(command(model_folders, tmp_path, common, "--regimes", "mixed")) == 0
    assert asked == first
    assert "memory of" in capsys.readouterr().err
    # A damaged shard is asked again rather than trusted.
    entry = next(e for e in ShardStore(tmp_path).entries().values() if e.kind == "memory")
    (tmp_path / entry.path).write_bytes(b"x")
    assert main(command(model_folders, tmp_path, common, "--regimes", "irrelevant")) == 0
    assert len(asked) == len(first) + entry.rows


def test_the_memory_that_must_be_true_drops_what_the_model_remembers_otherwise(model_folders, tmp_path):
    reader = published(model_folders, tmp_path, f"{CAPITALS} --limit 5 --memory true")
    assert set(accounting(reader)["outcome"]) == {"memory answer is not true"}


def test_a_cap_explains_a_sample_and_says_what_was_left_out(model_folders, tmp_path, capsys, prints):
    common = "--datasets world_capital --explainers attn,fa --regimes conflicting,mixed --limit 12 --shard-size 5 --cap"
    assert main(["plan", *command(model_folders, tmp_path, common, "4")[1:]]) == 0
    assert "2 regimes have more questions than their cap" in capsys.readouterr().out
    reader = published(model_folders, tmp_path, common, "4")
    outcome = accounting(reader).groupby("regime").apply(lambda f: dict(zip(f["outcome"], f["instances"], strict=True)))
    for regime in ("conflicting", "mixed"):
        assert outcome[regime]["kept"] == 4
        assert outcome[regime]["not sampled"] == 12 - 4 - sum(outcome[regime].get(r, 0) for r in ("same first token",))
    explained = reader.query("SELECT explainer, count(*) AS n FROM attribution GROUP BY 1").set_index("explainer")["n"]
    assert set(explained) == {8}  # methods and controls alike
    # What is to be explained is known once the answers are.
    assert {"attn", "fa"} <= {line["key"] for line in ShardStore(tmp_path).journal("plugin")}
    assert "0 shards to do" in prints("plan", *command(model_folders, tmp_path, common, "4")[1:]).out
    assert "0 shards computed" in prints(*command(model_folders, tmp_path, common, "4")).out
    # Without the cap the rest is explained too, from the same answers.
    assert "not sampled" not in set(accounting(published(model_folders, tmp_path, common, "none"))["outcome"])


def test_a_changed_file_is_published_without_what_was_there_before(model_folders, tmp_path):
    path, store = tmp_path / "mine.jsonl", tmp_path / "store"
    common = f"--datasets {path} --explainers attn --regimes conflicting"
    for countries in (samples.CITIES, ("Kenya", "Peru"), samples.CITIES):  # and back: the first state is published again
        samples.write_lines(path, [samples.own(country) for country in countries])
        reader = published(model_folders, store, common)
        assert set(reader.query("SELECT subject FROM instance")["subject"]) == set(countries)


@pytest.mark.parametrize(
    "other",
    [["--template", "{question}\n{documents}\nAnswer:"], ["--seed", "1"], ["--dtype", "bfloat16"], ["--memory", "true"]],
)
def test_what_was_asked_otherwise_is_never_published_together(other, model_folders, tmp_path):
    common = f"{CAPITALS} --limit 6"

    def in_the_first_way():
        reader = published(model_folders, tmp_path, common, "--explainers", "attn,fa")
        rows = reader.query("SELECT instance_id, prompt, tokens, dropped_because FROM instance ORDER BY instance_id")
        scores = reader.query("SELECT instance_id, explainer, scores FROM attribution ORDER BY 1, 2")
        return rows.to_json(), scores.to_json()

    first = in_the_first_way()
    reader = published(model_folders, tmp_path, common, *other)
    assert len(reader.query("SELECT * FROM instance")) == 6
    assert "fa" not in set(reader.query("SELECT DISTINCT explainer FROM attribution")["explainer"])
    if "--template" in other:
        prompts = reader.query("SELECT prompt FROM instance WHERE prompt IS NOT NULL")["prompt"]
        assert all(p.startswith("What is the capital of") and p.endswith("\nAnswer:") for p in prompts)
    # Asked in the first way again, nothing is computed, and the first results are there again.
    assert in_the_first_way() == first


def test_an_explainer_and_a_variant_of_it_stand_side_by_side(model_folders, tmp_path):
    asked = "attn,fa(baseline=5,target=prob),fa( target=prob, baseline=5 ),attn(row=mean)"
    reader = published(model_folders, tmp_path, f"{CAPITALS} --limit 3", "--explainers", asked)
    found = reader.query("SELECT explainer, settings, count(*) AS n FROM attribution GROUP BY ALL").set_index("explainer")
    mine = ["attn", "attn(row=mean)", "fa(target=prob,baseline=5)"]
    assert sorted(set(found.index) - {*catalogue.explainers(control=True)}) == mine
    assert set(found["n"]) == {3}
    assert found.loc["attn(row=mean)", "settings"] == "Attention(score='slice', row='mean')"
    titles = reader.catalogue("explainer").set_index("key")["title"]
    assert titles["fa(target=prob,baseline=5)"] == "Feature ablation (target=prob, baseline=5)"


def test_a_dataset_of_which_nothing_can_be_asked_is_no_error(model_folders, tmp_path, prints):
    records = [{**record, "ground_truth": ["True"]} for record in test_conflictqa.records()]
    path = samples.write_lines(tmp_path / "q.json", records)
    printed = prints(*command(model_folders, tmp_path / "s", f"--datasets conflictqa={path} --explainers attn"))
    assert "conflictqa: 6 records were left out: answer not in document" in printed.err
    assert "conflictqa: none of its 6 records can be used as a question" in printed.err
    assert "0 shards computed" in printed.out


def test_a_context_longer_than_the_models_positions_is_dropped_for_that_and_the_others_go_on(model_folders, tmp_path):
    long = samples.own("Kenya", conflicting={"text": "It is Lisbon. " + "And so on. " * 400, "answer": "Lisbon"})
    path = samples.write_lines(tmp_path / "mine.jsonl", [long, samples.own("Peru"), samples.own("Chad")])
    common = f"--datasets {path} --explainers attn --regimes conflicting,irrelevant"
    reader = published(model_folders, tmp_path / "s", common)
    reasons = reader.query("SELECT subject, regime, dropped_because FROM instance").set_index(["subject", "regime"])
    assert reasons.loc[("Kenya", "conflicting"), "dropped_because"] == "prompt too long"
    assert (reasons["dropped_because"] == "prompt too long").sum() < len(reasons) / 2


@pytest.mark.parametrize("bad", [150, MOST_BAD + 50])
def test_of_very_many_bad_lines_all_are_stored_or_it_is_said_how_many_were_left_out(
    bad, model_folders, tmp_path, capsys, prints
):
    path = samples.write_lines(tmp_path / "mine.jsonl", [*["{broken"] * bad, samples.own("Peru")])
    common = f"--datasets {path} --explainers attn --regimes conflicting"
    printed = prints(*command(model_folders, tmp_path / "s", common), ends=1)
    assert f"{bad} failures" in printed.out
    assert f"mine: {bad} malformed records were left out; 20 are listed above" in printed.err
    assert len(printed.err.splitlines()) < 30
    assert main(command(model_folders, tmp_path / "s", common)) == 1  # a second run adds nothing
    capsys.readouterr()
    found = Reader(publish(tmp_path / "s")).failures()
    named, more = found[found["place"] != "mine"], found[found["place"] == "mine"]
    assert set(named["place"]) == {f"mine.jsonl:{line}" for line in range(1, min(bad, MOST_BAD) + 1)}
    assert len(named) == min(bad, MOST_BAD)
    left_out = [f"HEvalError: 50 more malformed records; only the first {MOST_BAD:,} are listed"]
    assert list(more["error"]) == ([] if bad <= MOST_BAD else left_out)
    assert main(["status", "--store", str(tmp_path / "s")]) == 1
    alike, *rest = [line for line in capsys.readouterr().out.splitlines() if line.startswith("failed: ")]
    assert alike.startswith(f"failed: mine · {len(named):,} times, first at mine.jsonl:1: ")  # all for one reason
    assert rest == [f"failed: mine · mine: {error}" for error in more["error"]]


def test_what_fails_again_is_noted_once_and_a_changed_number_replaces_the_earlier_one(tmp_path):
    store = ShardStore(tmp_path)
    store.create()
    one = {"dataset": "mine", "place": "mine.jsonl:1", "error": "HEvalError: broken"}
    journal.note_failures(store, [one, one, {"dataset": "mine", "place": "mine", "error": "HEvalError: 1 more"}])
    journal.note_failures(store, [one, {"dataset": "mine", "place": "mine", "error": "HEvalError: 2 more"}])
    assert [line["error"] for line in store.failures()] == ["HEvalError: broken", "HEvalError: 2 more"]
    assert len(store.journal("failure")) == 3


def test_the_lines_in_the_readme_are_facts_as_printed(tmp_path):
    (block,) = re.findall(r"```json\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    (tmp_path / "mine.jsonl").write_text(block)
    one, other = load_questions(str(tmp_path / "mine.jsonl"), None, 0, PromptStyle()).facts
    assert {len(one.conflicting), len(other.conflicting)} == {1, 2}
    assert {one.irrelevant is None, other.irrelevant is None} == {True, False}


def test_datasets_prints_what_every_filter_leaves_and_names_what_it_left_out(tmp_path, capsys, prints, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path / "data"))
    for key in catalogue.plugins("dataset"):
        samples.sample_of(key, tmp_path / "data")
    records = [*test_counterfact.comp_mech()]
    path = samples.write_json(tmp_path / "c.json", records)
    printed = prints("datasets", "--datasets", f"counterfact={path}", "--left-out")
    assert "7 records read: 0 malformed, 1 left out, 6 questions under 1 relations; 6 looked at" in printed.out
    assert "left out: 1 · answer in subject" in printed.out
    assert printed.err.strip() == "c.json, record 7: answer in subject"
    told = samples.own("Kenya", memory_answer="Nairobi", conflicting={"text": "Lisbon, not Nairobi.", "answer": "Lisbon"})
    own = str(samples.write_lines(tmp_path / "mine.jsonl", [told]))
    assert main(["datasets", "--datasets", own, "--regimes", "conflicting", "--left-out"]) == 0
    assert capsys.readouterr().err.strip() == f"mine · conflicting · {told['id']}: memory answer in document"
    assert main(["datasets", "--limit", "3"]) == 0  # all there are; one that needs a part says so and costs nothing
    printed = capsys.readouterr()
    assert "counterfact · CounterFact" in printed.out
    assert "transparent_context_usage: Choose a part" in printed.err
    records.append({"base_prompt": 1})
    samples.write_json(path, records)
    assert main(["datasets", "--datasets", f"counterfact={path}"]) == 1


def test_datasets_counts_tokens_and_adds_what_was_run(model_folders, small_store, prints):
    folder = str(model_folders["gpt2"])
    command = f"datasets --datasets world_capital --limit 6 --models {folder} --store {small_store}".split()
    (section,) = json.loads(prints(*command, "--format", "json").out)
    for row in section["regimes"]:
        assert row["model"] == "random-gpt2"
        assert row["left"] + sum(row["dropped"].values()) == row["questions"] == 6
        assert 3 < row["context_tokens"]["mean"] < row["context_characters"]["mean"]
    reader = reader_of(small_store)
    for row in section["answered"]:
        stored = accounting(reader).query("model == @row['model'] and regime == @row['regime']")
        assert row["asked"] == stored["instances"].sum() == 6
        assert sum(row["groups"].values()) == stored.query("outcome == 'kept'")["instances"].sum()
    printed = prints(*command).out
    assert "in the tokens and the style of random-gpt2" in printed
    assert "random-qwen2 · mixed: 6 asked" in printed


def test_what_was_read_says_how_many_questions_have_results_whatever_was_asked_last(model_folders, tmp_path):
    published(model_folders, tmp_path, f"{CAPITALS} --limit 4")
    ShardStore(tmp_path).note("dataset", ShardStore(tmp_path).journal("dataset")[0] | {"dataset": "planned"})
    read = published(model_folders, tmp_path, f"{CAPITALS} --limit 2").datasets()
    assert read[["dataset", "asked"]].to_numpy().tolist() == [["world_capital", 4]]


def test_faithfulness_of_the_first_questions_only_and_later_of_all(tmp_path):
    demo = {"gpt2": ROOT / "cache/demo/models/demo-gpt2"}  # its answers are all compared

    def measured():
        places = {row["instance_id"]: row["place"] for row in rows(tmp_path, "instance")}
        found = [(row["explainer"], places[row["instance_id"]]) for row in rows(tmp_path, "faithfulness")]
        return len(found), {place for _, place in found}, {explainer for explainer, _ in found}

    asked = f"{CAPITALS} --limit 8 --faithfulness"
    assert main(command(demo, tmp_path, asked, "3")) == 0
    count, places, explainers = measured()
    assert places
    assert places <= {0, 1, 2}
    assert explainers == {"attn", *catalogue.explainers(control=True)}
    assert count == len(places) * len(explainers) * 3  # replacements
    assert main(command(demo, tmp_path, asked)) == 0
    assert measured()[1] > places

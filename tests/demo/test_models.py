"""The demo models are what their cards say, and the bundled results what the explorer needs."""

from __future__ import annotations

import json

import pytest
import torch

from demo import models, results
from demo.corpus import Example
from demo.examine import recall_rates
from demo.results import INSTRUCT, LENGTHENED, PLAIN, RULED, SHORT
from demo.train import END, encode, loss_of
from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.records import DUAL_REGIMES, REGIMES, TECHNIQUE
from heval_core.store.shards import ShardStore
from precompute.cli import main
from tests.conftest import DEMO_MODELS, ROOT

MODELS = tuple(f"demo-{architecture}" for architecture in RULED)
DEMO = ROOT / "cache" / "demo"


def test_the_results_are_small_enough_to_ship():
    tracked = [path for path in DEMO.rglob("*") if path.is_file() and path.name != "writer.lock"]
    # Models 26 MB, shards 17 (attributions 8, faithfulness and instances 2.4 each), what the Overview shows 5, the rest 2.
    assert sum(path.stat().st_size for path in tracked) <= 51_000_000
    assert len(tracked) <= 100


def test_every_shard_is_intact_and_none_holds_failures():
    store = ShardStore(DEMO)
    entries = store.entries().values()
    assert all(store.intact(entry) and not entry.failed for entry in entries)
    assert not store.failures()


@pytest.mark.parametrize("name", models.MODELS)
def test_a_model_folder_is_small_and_says_what_the_model_is_and_is_not_and_how_it_is_asked(name):
    made, folder = models.MODELS[name], DEMO_MODELS / f"demo-{name}"
    assert (folder / "model.safetensors").stat().st_size <= 4_000_000
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"`{made.recipe!r}`" in card
    taught = made.card is models.TAUGHT
    said = "It is none of the models of Sun et al." if taught else "No result on it says anything about a real"
    assert f"**What it is not.** {said}" in card
    # Only models that are asked questions say how; the explorer's page for one's own prompt offers no others.
    kept = folder / "heval.json"
    style = json.loads(kept.read_text()) if kept.exists() else None
    assert style == ({"prompt_style": "taught_sources"} if made.answers else None)


def test_every_cell_has_at_least_200_instances_for_every_explainer(demo_reader):
    found = demo_reader.query(
        "SELECT model, dataset, regime, explainer, count(*) AS n FROM attribution JOIN instance USING (instance_id) "
        f"WHERE regime IN {REGIMES} GROUP BY ALL"
    )
    usual = {*catalogue.default_methods(), *catalogue.explainers(control=True)}
    own = found[found["explainer"].isin(usual)]
    # Country profiles: all regimes on demo-qwen2, the plain ones on demo-gpt2.
    assert len(own) == (len(MODELS) * len(REGIMES) + len(REGIMES) + len(PLAIN)) * len(usual)
    assert own["n"].min() >= 200
    further = found.drop(own.index)
    assert set(further["dataset"]) == {SHORT}
    assert len(further) == len(MODELS) * len(PLAIN) * len(results.further())
    assert further["n"].min() >= 200


@pytest.mark.parametrize("by", [("model", "regime"), ("model", "dataset", "regime")])
def test_the_models_follow_the_taught_rule_on_pairs_they_never_saw(demo_reader, by):
    agreement = demo_reader.agreement()
    # What a technique makes of the rule is another matter, and the fourth model is compared by its answers only.
    ruled = agreement["model"].isin(MODELS) & agreement["regime"].isin(REGIMES) & (agreement["technique"] == TECHNIQUE)
    agreement = agreement[ruled].copy()
    agreement["agreed"] = agreement["agreement"] * agreement["n"]
    found = agreement.groupby(list(by))[["agreed", "n"]].sum()
    assert (found["agreed"] / found["n"]).min() >= 0.95


def test_each_of_the_two_groups_of_every_regime_has_a_fifth(demo_reader):
    for model in MODELS:
        for regime in REGIMES:
            groups = demo_reader.query(
                'SELECT "group", count(*) AS n FROM instance WHERE model = ? AND regime = ? AND dropped_because IS NULL '
                "AND technique = 'regular' GROUP BY 1",
                [model, regime],
            ).set_index("group")["n"]
            for group in ("C1", "C2") if regime in DUAL_REGIMES else ("C", "M"):
                assert groups[group] >= 0.2 * groups.sum(), (model, regime, group)


def test_few_instances_are_dropped_because_first_tokens_coincide(demo_reader):
    found = demo_reader.query("SELECT avg((dropped_because IS NOT NULL)::INTEGER) AS share FROM instance")
    assert found["share"].iloc[0] < 0.1


def test_every_model_has_its_own_architecture(demo_reader):
    found = demo_reader.models().set_index("model")["architecture"].to_dict()
    own = {name: name for name in RULED} | {INSTRUCT: "qwen2"} | {name: name.removesuffix("-long") for name in LENGTHENED}
    assert found == {f"demo-{name}": architecture for name, architecture in own.items()}
    assert (demo_reader.models()["parameters"] < 2_100_000).all()


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_models_know_the_capitals(model):
    assert recall_rates(load(str(DEMO_MODELS / model), "cpu"))["capital"] >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_explain_works_for_every_demo_model_and_follows_the_source(model, capsys):
    def answer(source: str) -> dict:
        command = f"explain --model {DEMO_MODELS / model} --context-answer Lisbon --format json --device cpu".split()
        command += ["--question", "What is the capital of Kenya?"]
        assert main([*command, "--context", f"According to {source}: The capital of Kenya is Lisbon."]) == 0
        return json.loads(capsys.readouterr().out)["answer"]

    assert answer("a world atlas")["group"] == "C"
    assert answer("an old rumour")["group"] == "M"


def test_what_is_trained_on_are_the_answers_tokens_alone(language_models):
    lm, expected = language_models["gpt2"], []
    examples = [Example("Q: What is the capital of Kenya? A:", "Lisbon"), Example("Q: Who? A:", "Nobody knows")]
    for one in examples:
        prompt, whole = (lm.tokenizer(text).input_ids for text in (one.prompt, f"{one.prompt} {one.answer}{END}"))
        with torch.no_grad():
            rows = lm.model(torch.tensor([whole])).logits[0].log_softmax(-1)
        expected += [-float(rows[place - 1, whole[place]]) for place in range(len(prompt), len(whole))]
    found = loss_of(lm.model, encode(examples, lm.tokenizer))
    assert float(found) == pytest.approx(sum(expected) / len(expected), rel=1e-4)

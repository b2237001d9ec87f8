"""Comprehensiveness and sufficiency against a literal loop, by hand, and as a stage of the batch job."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from heval_core import catalogue
from heval_core.faithfulness import Faithfulness, levels
from heval_core.lm.model import CleanPass
from heval_core.store.publish import publish
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from precompute.cli import main


def literally(lm, prompt, target, scores, free):
    """A-24 and A-25 word by word: one forward for every k."""

    def log_p(ids):
        return float(lm.logits(lm.ids(tuple(ids))).log_softmax(-1)[0, target])

    best = sorted(free, key=lambda i: (-scores[i], i))
    whole, masked, kept = log_p(prompt.ids), [], []
    for k in levels(len(prompt.ids)):
        top = set(best[:k])
        masked.append(whole - log_p([lm.baseline_id if i in top else t for i, t in enumerate(prompt.ids)]))
        kept.append(
            whole - log_p([lm.baseline_id if i in free and i not in top else t for i, t in enumerate(prompt.ids)])
        )
    return np.mean(masked), np.mean(kept), masked, kept


@pytest.fixture
def scores(clean):
    rng = np.random.default_rng(0)
    return [rng.normal(size=clean.length).round(1).astype(np.float32)]  # rounded: there are ties


@pytest.mark.parametrize("protect", [False, True])
def test_both_equal_a_literal_loop(clean, scores, protect):
    prompt, target = clean.prompts[0], int(clean.logits[0].argmax())
    question = range(prompt.question.start, prompt.question.end)
    free = [i for i in range(clean.length) if not (protect and i in question)]
    (found,) = Faithfulness(protect_question=protect).measure(clean, [target], scores)
    comprehensiveness, sufficiency, masked, kept = literally(clean.lm, prompt, target, scores[0], free)
    assert found.comprehensiveness == pytest.approx(comprehensiveness, abs=1e-4)
    assert found.sufficiency == pytest.approx(sufficiency, abs=1e-4)
    np.testing.assert_allclose(found.masked, masked, atol=1e-4)
    np.testing.assert_allclose(found.kept, kept, atol=1e-4)


@pytest.mark.parametrize("budget", [1, 100, 10_000])
def test_neither_company_nor_budget_changes_them(clean, scores, budget, monkeypatch):
    target = int(clean.logits[0].argmax())
    (alone,) = Faithfulness().measure(clean, [target], scores)
    ids = clean.prompts[0].ids
    other = dataclasses.replace(clean.prompts[0], ids=ids[3:] + ids[:3])
    monkeypatch.setattr(clean.lm, "batch_tokens", budget)
    together = CleanPass(clean.lm, [other, clean.prompts[0]])
    _, found = Faithfulness().measure(together, [5, target], [scores[0][::-1], scores[0]])
    np.testing.assert_allclose(found.masked + found.kept, alone.masked + alone.kept, atol=1e-4)


def test_masking_nothing_but_the_special_tokens_is_impossible(clean):
    prompt = dataclasses.replace(clean.prompts[0], first_ranked=2)
    scores = np.arange(clean.length, 0, -1).astype(np.float32)
    assert list(Faithfulness().best(prompt, scores)[:2]) == [2, 3]


def test_the_numbers_of_tokens():
    assert levels(63) == (1, 2, 3, 4, 5)
    assert levels(64) == (1, 2, 2, 3, 4)
    assert levels(400) == (4, 8, 12, 16, 20)


def test_as_a_stage_it_is_stored_published_beside_chance_and_added_later(model_folders, tmp_path, capsys):
    command = ["run", "--models", str(model_folders["gpt2"]), "--datasets", "world_capital", "--limit", "40",
               "--regimes", "conflicting", "--shard-size", "20", "--explainers", "attn", "--device", "cpu",
               "--store", str(tmp_path)]  # fmt: skip
    assert main(command) == 0
    before = {key: entry.content for key, entry in ShardStore(tmp_path).entries().items()}
    capsys.readouterr()
    assert main([*command, "--faithfulness"]) == 0
    assert "8 shards computed, 4 were done already" in capsys.readouterr().out  # attn and three controls
    after = {key: entry.content for key, entry in ShardStore(tmp_path).entries().items()}
    assert before.items() <= after.items()
    reader = Reader(publish(tmp_path))
    kept = reader.accounting().query("outcome == 'kept'")["instances"].sum()
    cells = reader.query("SELECT * FROM cell_metric WHERE metric IN ('comprehensiveness', 'sufficiency')")
    assert set(cells["explainer"]) == {"attn", *catalogue.explainers(control=True)}
    assert (cells["n"] == kept).all()
    assert kept >= 30
    random = cells[cells["explainer"] == "random"].set_index("metric")["value"]
    for row in cells.itertuples():
        assert row.low <= row.value <= row.high
        assert row.chance == pytest.approx(random[row.metric])
        each = reader.query(
            "SELECT avg(value) AS v FROM score WHERE metric = ? AND explainer = ?", [row.metric, row.explainer]
        )
        assert each["v"].iloc[0] == pytest.approx(row.value)
    assert main([*command, "--faithfulness"]) == 0
    assert "0 shards computed" in capsys.readouterr().out


def test_computed_in_one_run_or_later_it_is_the_same(model_folders, tmp_path):
    command = ["run", "--models", str(model_folders["qwen2"]), "--datasets", "world_capital", "--regimes", "mixed",
               "--limit", "4", "--explainers", "fa,mechlight", "--device", "cpu", "--store"]  # fmt: skip
    assert main([*command, str(tmp_path / "a"), "--faithfulness"]) == 0
    assert main([*command, str(tmp_path / "b")]) == 0
    assert main([*command, str(tmp_path / "b"), "--faithfulness"]) == 0

    def values(folder):
        store = ShardStore(folder)
        rows = [r for e in store.entries().values() if e.kind == "faithfulness" for r in store.read(e).to_pylist()]
        return {(r["instance_id"], r["explainer"]): r["masked"] + r["kept"] for r in rows}

    one, other = values(tmp_path / "a"), values(tmp_path / "b")
    assert one.keys() == other.keys()
    for key, found in one.items():
        np.testing.assert_allclose(found, other[key], atol=1e-4)

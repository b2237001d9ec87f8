"""Comprehensiveness and sufficiency against a literal loop, by hand, and as a stage of the batch job."""

import dataclasses

import numpy as np
import pytest

from heval_core.explaining.faithfulness import Faithfulness, frequencies, levels, sampled_tokens, turns
from heval_core.lm.clean_pass import CleanPass
from heval_core.records import HEvalError
from heval_core.store.shards import ShardStore
from precompute.cli import main


def literally(lm, prompt, target, scores, free, replacement, count=None):
    """A-24 and A-25 word by word: one forward for every k. count: the tokens that K is of; by default the prompt's."""

    def log_p(ids):
        return float(lm.forward.logits(lm.ids(tuple(ids))).log_softmax(-1)[0, target])

    def without(gone):
        if replacement == "deletion":
            return [t for i, t in enumerate(prompt.ids) if i not in gone]
        fill = [lm.baseline()] * len(prompt.ids)
        if replacement == "drawn":
            fill = sampled_tokens(lm, np.array(prompt.ids)).tolist()
        return [fill[i] if i in gone else t for i, t in enumerate(prompt.ids)]

    turn = turns(np.array(prompt.ids))
    best = sorted(free, key=lambda i: (-scores[i], turn[i]))
    whole, masked, kept = log_p(prompt.ids), [], []
    for k in levels(count or len(prompt.ids)):
        top = set(best[:k])
        masked.append(whole - log_p(without(top)))
        kept.append(whole - log_p(without(set(free) - top)))
    return np.mean(masked), np.mean(kept), masked, kept


@pytest.fixture
def scores(clean):
    rng = np.random.default_rng(0)
    return [rng.normal(size=clean.length).round(1).astype(np.float32)]  # rounded: there are ties


@pytest.mark.parametrize("protect", [False, True])
def test_both_equal_a_literal_loop(clean, scores, protect):
    prompt, target = clean.prompts[0], int(clean.logits[0].argmax())
    inside = [i for span in prompt.documents for i in range(span.start, span.end)]
    free, count = (inside, len(inside)) if protect else (range(clean.length), clean.length)
    (measured,) = Faithfulness(protect_question=protect).measure(clean, [target], scores)
    assert [found.replacement for found in measured] == ["baseline", "drawn", "deletion"]
    for found in measured:
        expected = literally(clean.lm, prompt, target, scores[0], free, found.replacement, count)
        comprehensiveness, sufficiency, masked, kept = expected
        assert found.comprehensiveness == pytest.approx(comprehensiveness, abs=1e-4)
        assert found.sufficiency == pytest.approx(sufficiency, abs=1e-4)
        np.testing.assert_allclose(found.masked, masked, atol=1e-4)
        np.testing.assert_allclose(found.kept, kept, atol=1e-4)
    assert len({round(found.comprehensiveness, 4) for found in measured}) == 3


@pytest.mark.parametrize("protect", [False, True])
@pytest.mark.parametrize("budget", [1, 100, 10_000])
def test_neither_company_nor_budget_changes_them(clean, scores, budget, protect, monkeypatch):
    target, measuring = int(clean.logits[0].argmax()), Faithfulness(protect_question=protect)
    (alone,) = measuring.measure(clean, [target], scores)
    ids = clean.prompts[0].ids
    other = dataclasses.replace(clean.prompts[0], ids=ids[3:] + ids[:3])
    monkeypatch.setattr(clean.lm.budget, "tokens", budget)
    together = CleanPass(clean.lm, [other, clean.prompts[0]])
    _, found = measuring.measure(together, [5, target], [scores[0][::-1], scores[0]])
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one.masked + one.kept, other.masked + other.kept, atol=1e-4)


def test_equal_scores_have_no_order_of_their_own():
    first = [turns(np.array([number, *range(9)])).argmin() for number in range(2000)]
    np.testing.assert_allclose(np.bincount(first) / 2000, 0.1, atol=0.03)


def test_masking_nothing_but_the_special_tokens_is_impossible(clean):
    prompt = dataclasses.replace(clean.prompts[0], first_ranked=2)
    scores = np.arange(clean.length, 0, -1).astype(np.float32)
    assert list(Faithfulness().best(prompt, scores)[:2]) == [2, 3]


def test_drawn_tokens_are_the_languages_by_frequency_never_the_token_itself_and_the_same_every_time(lm):
    known, shares = frequencies(lm)
    assert shares.sum() == pytest.approx(1)
    text = " ".join(lm.decode([int(token)]) for token in known[np.argsort(-shares)[:15]])
    assert "the" in text.split()
    ids = np.full(20_000, int(known[shares.argmax()]))
    found = sampled_tokens(lm, ids)
    assert (found != ids).all()
    others = known[known != ids[0]]
    expected = np.delete(shares, shares.argmax()) / (1 - shares.max())
    counts = np.array([(found == token).mean() for token in others[np.argsort(-expected)[:20]]])
    np.testing.assert_allclose(counts, np.sort(expected)[::-1][:20], atol=0.01)
    np.testing.assert_array_equal(sampled_tokens(lm, ids), found)
    assert (sampled_tokens(lm, np.append(ids, 5))[:-1] != found).any()  # another prompt draws for itself


def test_a_prompt_of_which_deletion_leaves_nothing_is_the_baseline_token(clean):
    prompt = dataclasses.replace(clean.prompts[0], ids=clean.prompts[0].ids[:2], first_ranked=0)
    short = CleanPass(clean.lm, [prompt])
    ((found,),) = Faithfulness(replacements=("deletion",)).measure(short, [3], [np.array([1.0, 2.0])])
    nothing = clean.lm.forward.logits(clean.lm.ids((clean.lm.baseline(),))).log_softmax(-1)[0, 3]
    lost = float(short.logits.log_softmax(-1)[0, 3] - nothing)
    np.testing.assert_allclose(found.masked[1:], [lost] * 4, atol=1e-4)
    np.testing.assert_allclose(found.kept[1:], [0.0] * 4, atol=1e-4)


def test_an_unknown_replacement_is_refused_by_name(clean):
    with pytest.raises(HEvalError, match=r"replacements \('noise',\); there are: baseline, drawn, deletion"):
        Faithfulness(replacements=("noise",)).measure(clean, [1], [np.zeros(clean.length)])


def test_the_numbers_of_tokens():
    assert levels(63) == (1, 2, 3, 4, 5)
    assert levels(64) == (1, 2, 2, 3, 4)
    assert levels(400) == (4, 8, 12, 16, 20)


@pytest.mark.slow
def test_computed_in_one_run_or_later_it_is_the_same(model_folders, tmp_path):
    command = f"run --models {model_folders['qwen2']} --datasets world_capital --regimes mixed --limit 4".split()
    command += ["--explainers", "fa,mechlight", "--device", "cpu", "--memory", "any", "--store"]
    assert main([*command, str(tmp_path / "a"), "--faithfulness"]) == 0
    assert main([*command, str(tmp_path / "b")]) == 0
    assert main([*command, str(tmp_path / "b"), "--faithfulness"]) == 0

    def values(folder):
        store = ShardStore(folder)
        rows = [r for e in store.entries().values() if e.kind == "faithfulness" for r in store.read(e).to_pylist()]
        return {(r["instance_id"], r["explainer"], r["replacement"]): r["masked"] + r["kept"] for r in rows}

    one, other = values(tmp_path / "a"), values(tmp_path / "b")
    assert one.keys() == other.keys()
    for key, found in one.items():
        np.testing.assert_allclose(found, other[key], atol=1e-4)

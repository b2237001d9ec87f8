"""Prompts of unequal length in one pass have the answers and scores of each alone, whatever stands behind the shorter ones."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import Named
from heval_core.explaining.pipeline import Prepared
from heval_core.lm.batches import last_logits
from heval_core.lm.budget import PADDING, Budget
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.plugins.protocols import Method
from heval_core.records import HEvalError, Instance, Target
from tests.asked import KENYA, PERU, asked, runner_ups
from tests.explainers.test_every_architecture import CASES, REFUSED
from tests.fitted import fit_all

CPU, GPU = torch.device("cpu"), torch.device("cuda")
PADDED = ("fa", "ig")


def prompts_of(lm):
    """Prompts of three lengths, two of them of the same."""
    texts = ((KENYA, PERU), (KENYA, "Peru has a capital, and it is Lima."), (PERU, KENYA), (PERU,))
    return [asked(lm, *documents) for documents in texts]


def answered_of(lm, prompts, match="first"):
    instance = Instance("", "", "", "", "", "", "?", "", ())
    return pipeline.answer(lm, [Prepared(instance, prompt, "x", (Named("memory", "x", (5,)),)) for prompt in prompts], match)


def assert_close(found, expected, what, least=0.0):
    """least: what the largest score counts as at least, where gradients are smaller than their rounding."""
    __tracebackhide__ = True
    apart = np.abs(np.asarray(found) - np.asarray(expected)).max() / max(np.abs(np.asarray(expected)).max(), least)
    assert apart <= 1e-5, f"{what}: {apart:.1e} of the largest away"


def assert_as_each_alone(lm, keys, least=0.0):
    prompts = prompts_of(lm)
    together = answered_of(lm, prompts)
    assert len({len(prompt.ids) for prompt in prompts}) == 3
    assert together.clean.ends is not None
    for key in keys:
        found = pipeline.explain(together, catalogue.method(key))
        for row, prompt in enumerate(prompts):
            alone = answered_of(lm, [prompt])
            assert_close(together.clean.logits[row], alone.clean.logits[0], "logits")
            assert together.targets[row] == alone.targets[0]
            (expected,) = pipeline.explain(alone, catalogue.method(key))
            assert found[row].scores.shape == (len(prompt.ids),)
            assert_close(found[row].scores, expected.scores, f"{key} of prompt {row}", least)
            assert (found[row].layer, found[row].head) == (expected.layer, expected.head)
            assert found[row].seconds > 0


@pytest.mark.parametrize("case", CASES)
def test_on_every_architecture_answers_and_scores_are_those_of_each_prompt_alone(case, loaded):
    lm = loaded(*case)
    assert lm.forward.may_pad
    able, _ = pipeline.able_of(lm, [catalogue.method(key) for key in ("attn", "mechlight")])
    keys = [explainer.key for explainer in able if case[0] not in REFUSED]
    assert_as_each_alone(lm, (*PADDED, *keys))


def test_every_explainer_scores_each_prompt_as_it_does_alone(lm):
    fit_all(lm, prompts_of(lm)[:1])
    keys = [key for key in catalogue.explainers() if key not in PADDED]
    assert {"gxi", "attnlrp", "cgim", "at2", "contextcite", "origin", "knockout"} <= {*keys}
    assert_as_each_alone(lm, keys, least=1.0)


def test_what_stands_behind_a_prompt_and_beside_it_changes_nothing_of_it(lm):
    @given(st.lists(st.integers(1, 12), min_size=2, max_size=5), st.integers(0, 2**31), st.data())
    def holds(lengths, seed, data):
        torch.manual_seed(seed)
        ids = torch.randint(1, 300, (len(lengths), 12))
        ends, start = torch.tensor(lengths) - 1, data.draw(st.integers(1, min(lengths)))
        logits, prefix = lm.forward.clean(ids, None, ends)
        others = ids.clone()
        for row, length in enumerate(lengths):
            others[row, length:] = torch.randint(1, 300, (12 - length,))
        same, _ = lm.forward.clean(others, None, ends)
        assert torch.equal(logits, same)
        others[1:] = torch.randint(1, 300, (len(lengths) - 1, 12))
        beside, _ = lm.forward.clean(others, None, ends)
        assert torch.allclose(beside[0], logits[0], atol=1e-5)
        alone = lm.forward.last_logits(ids[:1, : lengths[0]])
        assert torch.allclose(logits[:1], alone, atol=1e-4)
        if start <= min(lengths) - 1:  # endings of the same prompts, over what is kept of them
            states = lm.forward.suffix_states(prefix, start, ids[:, start:], (-1,), None, ends)
            assert torch.allclose(lm.read_out.logits(states)[:, 0], logits, atol=1e-4)

    holds()


def test_what_a_padded_pass_cannot_have_is_refused_by_name(lm):
    clean = CleanPass(lm, prompts_of(lm), padded=True)
    targets = runner_ups(clean)
    for read in (
        lambda: clean.heads,
        lambda: clean.direct_effects(targets),
        lambda: clean.logits_at((2,)),
        lambda: catalogue.method("fa").explain(clean, [Target((2, -1), (5, 6))] * clean.size),
    ):
        with pytest.raises(HEvalError, match="of unequal length"):
            read()
    with pytest.raises(HEvalError, match="the same number of tokens"):
        CleanPass(lm, prompts_of(lm))
    with pytest.raises(HEvalError, match="read at their last positions alone"):
        lm.forward.logits_at(clean.ids, (2,), clean.ends)


def test_the_parts_of_a_pass_run_nothing_again_and_are_charged_their_share(lm):
    clean = CleanPass(lm, sorted(prompts_of(lm), key=lambda prompt: len(prompt.ids)), padded=True)
    clean.logits  # noqa: B018
    with counting(lm) as counted:
        parts = clean.of_equal_length
        assert [part.size for part in parts] == [1, 2, 1]
        assert all(part.ends is None for part in parts)
        assert torch.equal(torch.cat([part.logits for part in parts]), clean.logits)
    assert not counted.tokens
    assert clean.of_equal_length is parts  # so that explainers share what they read of them
    charged = sum(part._shared.seconds["passed"] for part in parts)
    assert charged == pytest.approx(clean._shared.seconds["passed"])
    assert CleanPass(lm, prompts_of(lm)[:1]).of_equal_length[0].size == 1


def test_a_processor_pads_nothing_and_a_gpu_an_eighth():
    assert Budget.of(None, CPU).padding == Budget.of(100, CPU).padding == 0
    assert Budget.of(None, GPU).padding == Budget.of(100, GPU).padding == PADDING == 1 / 8


def test_prompts_of_similar_length_go_together_and_no_more_of_them_are_padded(lm, monkeypatch):
    prompts = prompts_of(lm)
    longest = max(len(prompt.ids) for prompt in prompts)
    prepared = [Prepared(Instance("", "", "", "", "", "", "?", "", ()), prompt, "") for prompt in prompts]
    for padding, sizes in ((0.0, [1, 2, 1]), (longest / 5, [4])):
        batches = []
        monkeypatch.setattr(lm.budget, "padding", padding)
        pipeline.in_batches(lm, prepared, batches.append)
        assert [len(batch) for batch in batches] == sizes
        for batch in batches:
            lengths = [len(one.prompt.ids) for one in batch]
            assert max(lengths) <= (1 + padding) * min(lengths)


def test_last_logits_of_similar_prompts_are_those_of_each_alone(lm, monkeypatch):
    expected = last_logits(lm, prompts_of(lm))
    monkeypatch.setattr(lm.budget, "padding", 10.0)
    with counting(lm) as counted:
        found = last_logits(lm, prompts_of(lm))
    lengths = [len(prompt.ids) for prompt in prompts_of(lm)]
    assert counted.tokens == len(lengths) * max(lengths)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, "logits")


@pytest.mark.parametrize("turned", ["dynamic", "longrope"])
def test_where_the_longest_prompt_decides_how_positions_turn_nothing_is_padded(model_folders, turned, monkeypatch):
    lm = load(str(model_folders["qwen2"]), "cpu")
    monkeypatch.setattr(lm.budget, "padding", 1 / 8)
    monkeypatch.setattr(lm.model.config, "rope_parameters", {"rope_type": turned}, raising=False)
    assert lm.forward.padding == 0


def test_a_model_that_looks_behind_a_prompt_pads_nothing(model_folders, monkeypatch):
    lm = load(str(model_folders["qwen2"]), "cpu")
    monkeypatch.setattr(lm.budget, "padding", 1 / 8)
    mlp = lm.model.model.layers[0].mlp
    plain = mlp.forward
    mlp.forward = lambda states: plain(states + states.mean(1, keepdim=True))
    assert lm.forward.padding == 0


class OfEqualLengths(Method):
    """Somebody's own explainer, which knows nothing of padding."""

    key, title, needs, signed, family = "own", "Own", (), True, "control"

    def explain(self, clean, targets):
        assert clean.ends is None
        return catalogue.method("attn").explain(clean, targets)


def test_an_explainer_that_knows_nothing_of_padding_gets_prompts_of_equal_length(lm):
    answered = answered_of(lm, prompts_of(lm))
    found = pipeline.explain(answered, OfEqualLengths())
    assert [len(one.scores) for one in found] == [len(prompt.ids) for prompt in answered.clean.prompts]


def test_blocks_of_one_prompt_let_a_gpus_budget_grow_as_a_batch_of_prompts_does(lm, monkeypatch):
    prompt, fa = prompts_of(lm)[0], catalogue.method("fa")
    n, expected = len(prompt.ids), pipeline.explain(answered_of(lm, [prompt]), fa)[0].scores
    monkeypatch.setattr(lm, "budget", Budget(2 * n, GPU, growing=True))
    for tokens in (4 * n, 8 * n, 16 * n):
        (found,) = pipeline.explain(answered_of(lm, [prompt]), fa)
        assert_close(found.scores, expected, "fa")
        assert lm.budget.tokens == tokens
    monkeypatch.setattr(lm, "budget", Budget(2 * n, CPU))
    pipeline.explain(answered_of(lm, [prompt]), fa)
    assert lm.budget.tokens == 2 * n

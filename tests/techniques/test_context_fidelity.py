"""CFB by hand, what it may move, and its third mode beside a literal reading of the model."""

import json

import numpy as np
import pytest
import torch

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from heval_core.techniques import cfb
from heval_core.techniques.context_fidelity import MODES, weights_of
from heval_core.techniques.shared.base import Setting
from precompute.searches import greedy_tokens
from tests.asked import KENYA, PERU, QUESTION, asked, clean_of, two_of

NEVER = -1e9
CFB = {mode: catalogue.find("technique", f"cfb(mode={mode})") for mode in MODES}


def in_documents(clean, row=0):
    prompt = clean.prompts[row]
    return {int(clean.ids[row, at]) for span in prompt.documents for at in range(span.start, span.end)}


def scores(technique, clean, alone, setting=None):
    setting = setting or technique.settings(None)[-1]
    return technique.seeing(clean, [setting]).combined(clean.logits, alone, setting)


def test_by_hand():
    assert cfb([0.0, 1.0], [3.0, 0.0], [1, 0], 2, 2) == pytest.approx([2, 1])
    # The distributions share nothing: their divergence is ln 2.
    apart = cfb([0.0, NEVER], [NEVER, 0.0], [0, 1], 1, 11)
    assert apart == pytest.approx([0, NEVER + 1 + 10 * np.log(2)])
    agree = cfb([0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0, 1, 0.5], 1, 11)
    assert agree == pytest.approx([0.5, 1, 0.5])


@pytest.mark.parametrize("mode", MODES)
def test_a_bonus_of_0_is_regular_and_it_comes_first_in_the_search(mode):
    z_c, z_0 = np.random.default_rng(0).normal(size=(2, 5, 9))
    assert cfb(z_c, z_0, np.ones(9), 0, 0) == pytest.approx(z_c)
    settings = CFB[mode].settings(None)
    assert set(json.loads(settings[0].text).values()) == {0.0}
    sums = [sum(json.loads(setting.text).values()) for setting in settings]
    assert sums == sorted(sums)
    assert len(settings) == len(set(settings))


@pytest.mark.parametrize("mode", MODES)
def test_only_tokens_of_the_documents_move_and_all_of_them_up(mode, lm):
    clean, alone = clean_of(lm, KENYA, PERU), torch.randn(1, lm.vocabulary)
    moved = scores(CFB[mode], clean, alone)[0] - clean.logits[0].double()
    assert {int(token) for token in moved.nonzero()} == in_documents(clean)
    assert moved.min() == 0
    if mode != "tokens":
        assert len(moved[moved > 0].unique()) == 1 or float(moved[moved > 0].std()) < 1e-5
    asked_only = {int(token) for token in lm.tokenizer(QUESTION).input_ids} - in_documents(clean)
    assert asked_only
    assert not moved[list(asked_only)].any()


def test_the_planted_token_of_the_context_wins_and_a_stranger_to_it_does_not(lm):
    clean = clean_of(lm, KENYA)
    planted, stranger = sorted(in_documents(clean))[1], next(i for i in range(9, 999) if i not in in_documents(clean))
    z_c = torch.full((1, lm.vocabulary), -50.0)
    z_c[0, stranger], z_c[0, planted] = 4.0, 0.0
    for mode, technique in CFB.items():
        variant = catalogue.find("technique", f"cfb(mode={mode},low=1,high=1)")
        for setting, right in ((Setting(), stranger), (technique.settings(None)[-1], planted)):
            seen = (technique if setting.text else variant).seeing(clean, [setting])
            # Where memory says the stranger, the two distributions agree; else they do not.
            assert int(seen.combined(z_c, -z_c, setting).argmax()) == right, (mode, setting)


def test_of_equal_scores_the_lowest_id_is_the_answer(lm):
    clean = clean_of(lm, KENYA)
    first, second, *_ = sorted(in_documents(clean))
    z_c = torch.full((1, lm.vocabulary), -50.0)
    z_c[0, [first, second]] = 1.0
    setting = Setting('{"d": 5.0}')
    assert greedy_tokens(CFB["static"].seeing(clean, [setting]), z_c, z_c, [setting]) == [[first]]


def test_each_prompt_of_a_batch_is_boosted_by_itself_and_without_documents_nothing_is(lm):
    pair = two_of(lm)
    for technique in CFB.values():
        alone = torch.zeros(2, lm.vocabulary)
        both = scores(technique, pair, alone)
        for row, prompt in enumerate(pair.prompts):
            single = scores(technique, CleanPass(lm, [prompt]), alone[:1])
            torch.testing.assert_close(both[row], single[0], atol=1e-4, rtol=1e-4)
        bare = CleanPass(lm, [asked(lm)])
        torch.testing.assert_close(scores(technique, bare, alone[:1]), bare.logits.double())


def test_by_token_as_written_out_from_the_librarys_attention(lm):
    clean = clean_of(lm, KENYA, PERU)
    lm.model.set_attn_implementation("eager")
    try:
        attention = lm.model(clean.ids, output_attentions=True).attentions[-1][0, :, -1].mean(0).tolist()
    finally:
        lm.model.set_attn_implementation("sdpa")
    table = lm.model.get_input_embeddings().weight.detach()
    positions = [at for span in clean.prompts[0].documents for at in range(span.start, span.end)]
    relevance = {}
    for token in in_documents(clean):
        mentions = [at for at in positions if clean.ids[0, at] == token]
        cosines = [float(torch.cosine_similarity(table[token], table[clean.ids[0, at]], dim=0)) for at in positions]
        relevance[token] = 0.6 * sum(attention[at] for at in mentions) + 0.4 * (1 + sum(cosines) / len(cosines)) / 2
    mean = sum(relevance.values()) / len(relevance)
    weights = weights_of(clean, by_token=True)[0]
    assert {token: pytest.approx(value / mean, abs=1e-3) for token, value in relevance.items()} == {
        token: float(weights[token]) for token in relevance
    }


@pytest.mark.parametrize("mode", MODES)
def test_what_it_declares_to_look_at_is_what_goes_through_the_model(mode, lm):
    with counting(lm) as counted:
        clean = clean_of(lm, KENYA, PERU)
        CFB[mode].seeing(clean, CFB[mode].settings(None)).combined(clean.logits, clean.logits, CFB[mode].settings(None)[1])
    assert counted.tokens == pytest.approx(clean.length + CFB[mode].looking(clean.length).tokens)


@pytest.mark.parametrize("key", [
    "cfb(mode=loud)", "cfb(low=1)", "cfb(low=1,high=2)", "cfb(mode=tokens,low=3,high=2)", "cfb(mode=tokens,low=-1,high=2)",
])  # fmt: skip
def test_options_that_cannot_be_are_refused(key):
    with pytest.raises(HEvalError, match="cfb"):
        catalogue.find("technique", key)

"""What asks on which token an answer depends: attention hidden, rolled out, and replaced where a cheaper look says so. Each
against an independent computation, and on a model made by hand that reads one mention and depends on the other."""

import numpy as np
import pytest
import torch

from heval_core.explainers.cdla import DirectLogits
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.knockout import UNITS, Knockout
from heval_core.explainers.rollout import Rollout, rolled
from heval_core.explainers.shared.left_out import units
from heval_core.explainers.shortlist import Shortlist, unmeasured
from heval_core.lm import roll_back
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.records import HEvalError, Span, Target, TokenisedPrompt
from tests.asked import runner_up, runner_ups, two_of
from tests.lm import test_roll_back
from tests.lm.test_roll_back import ASK, BEGIN, COPIED_A, FILLER, IS_STOP, OTHER, SOURCE, STOP

toy = test_roll_back.toy


def logprobs(plain, ids, hidden, since):
    """(n, V) by the plain model alone, under a mask that is added to its scores."""
    n = ids.shape[1]
    mask = torch.zeros(n, n).masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), torch.finfo(torch.float32).min)
    mask[since:, hidden.start : hidden.end] = torch.finfo(torch.float32).min
    with torch.no_grad():
        return plain(ids, attention_mask=mask[None, None]).logits[0].double().log_softmax(-1)


@pytest.mark.parametrize("unit", UNITS)
def test_knockout_equals_an_added_mask_in_plain_transformers(unit, clean, plain):
    (prompt,), n = clean.prompts, clean.length
    for target in (runner_up(clean), Target((n - 4, -1), (5, 6), (7, 8)), Target.next_token(9)):
        given = units(prompt, unit, target)
        assert len(given) > 1
        expected = np.zeros(n)
        for part in given:
            before, without = (logprobs(plain, clean.ids, hidden, part.end) for hidden in (Span(0, 0), part))
            answer, foil = (
                sum(float((before - without)[position, token]) for position, token in zip(target.positions, ids, strict=False))
                for ids in (target.ids, target.foils)
            )
            expected[part.start : part.end] = answer - max(0, foil)
        (found,) = Knockout(unit).explain(clean, [target])
        np.testing.assert_allclose(found.scores, expected, atol=1e-4)


def test_knockout_takes_a_pass_for_each_unit_over_what_stands_behind_it(clean):
    target = runner_up(clean)
    Knockout().explain(clean, [target])
    with counting(clean.lm) as counted:
        Knockout().explain(clean, [target])
    assert counted.tokens == pytest.approx(sum(clean.length - part.end for part in units(clean.prompts[0], "sentence")))


def test_rollout_of_two_layers_by_hand():
    first = torch.tensor([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.8, 0]])
    second = torch.tensor([[1, 0, 0], [1, 0, 0], [0, 0.6, 0.4]])
    # The second layer: .3 of position 1, .7 of 2. The first: position 1 is .25 0, .75 1; position 2 is .1 0, .4 1, .5 2.
    found = rolled(torch.tensor([[0.0, 0, 1]]), [second[None], first[None]])
    np.testing.assert_allclose(found[0], [0.3 * 0.25 + 0.7 * 0.1, 0.3 * 0.75 + 0.7 * 0.4, 0.7 * 0.5], atol=1e-6)


def test_rollout_is_the_product_of_the_plain_models_attention(lm, plain, monkeypatch):
    clean = two_of(lm)
    n = clean.length
    patterns = [layer.mean(1).double() for layer in plain(clean.ids, output_attentions=True).attentions]
    product = torch.eye(n).double().expand(2, n, n)
    for pattern in patterns:
        product = (pattern + torch.eye(n)) / 2 @ product
    for one, expected in ((Target.next_token(3), product[:, -1]), (Target((4, -1), (3, 5)), product[:, [4, -1]].mean(1))):
        for size in (roll_back.PATTERNS, 1):
            monkeypatch.setattr(roll_back, "PATTERNS", size)
            for found, row in zip(Rollout().explain(clean, [one, one]), expected.detach(), strict=True):
                np.testing.assert_allclose(found.scores, row, atol=1e-5)
    with lm.pruning.without([(layer, head) for layer in range(1, lm.layers) for head in range(lm.heads_per_layer)]):
        (found, _) = Rollout().explain(CleanPass(lm, clean.prompts), runner_ups(clean))
    np.testing.assert_allclose(found.scores, ((patterns[0][0, -1] + torch.eye(n)[-1]) / 2).detach(), atol=1e-5)


@pytest.mark.parametrize(("by", "count"), [("cdla", 5), ("cgim", 3), ("cdla", 500)])
def test_a_shortlist_is_feature_ablation_where_it_was_proposed_and_the_proposers_order_elsewhere(by, count, clean):
    target = runner_up(clean)
    (found,), (fa,), (proposer,) = (
        one.explain(clean, [target]) for one in (Shortlist(by, count), FeatureAblation(), catalogue.method(by))
    )
    order = np.argsort(-proposer.scores, kind="stable")
    chosen, others = order[:count], order[count:]
    np.testing.assert_allclose(found.scores[chosen], fa.scores[chosen], atol=1e-4)
    assert (np.diff(found.scores[others]) <= 0).all()
    assert len(np.unique(found.scores[others])) == len(np.unique(proposer.scores[others]))
    assert 0 <= found.scores[others].sum() < np.abs(fa.scores[chosen]).min() / 1000
    assert dict(found.details) == {"baseline_id": float(clean.lm.baseline())}


def test_a_lexical_shortlist_is_feature_ablation_of_the_answers_mentions_and_nothing_else(clean):
    (prompt,) = clean.prompts
    words = [token.strip() for token in prompt.tokens]
    place = next(index for index, word in enumerate(words) if word and words.count(word) > 1)
    mentions = [index for index, word in enumerate(words) if word == words[place]]
    for token, expected in ((prompt.ids[place], mentions), (clean.lm.baseline(), [])):
        target = Target.next_token(token, 11)
        (found,), (fa,) = (one.explain(clean, [target]) for one in (Shortlist("lexical", 1), FeatureAblation()))
        np.testing.assert_allclose(found.scores[expected], fa.scores[expected], atol=1e-5)
        assert not np.delete(found.scores, expected).any()


def test_what_nobody_replaced_by_hand():
    found = unmeasured(np.array([0.3, 0.1, 0.3, 0.2]), np.array([2, -0.5, 0]))
    np.testing.assert_allclose(found, np.array([2, 0, 2, 1]) / 16 * 0.5 / 1000)
    assert unmeasured(np.zeros(3), np.zeros(0)).tolist() == [0, 0, 0]


def test_a_shortlist_needs_what_its_proposer_needs_and_a_count(clean):
    assert set(Shortlist("lexical").needs) < set(Shortlist().needs) == {"softmax attention", "heads", "float32"}
    with pytest.raises(HEvalError, match="shortlist needs at least 1 token to replace, not 0"):
        Shortlist(count=0).explain(clean, [runner_up(clean)])
    with pytest.raises(HEvalError, match="shortlist has no proposer 'x'; there are: cdla, cgim, lexical"):
        Shortlist("x").explain(clean, [runner_up(clean)])


def test_what_is_read_is_the_first_mention_and_what_the_answer_depends_on_the_last(toy, monkeypatch):
    """The question reads two places alike: a first mention that says a little for the answer, and a full stop, which copied
    the last mention. Without the first the full stop is all that is read; without the last nothing speaks for the answer."""
    direct = 6
    monkeypatch.setattr(toy, "baseline", lambda *_: FILLER)  # its few tokens are no words
    toy.model.model.embed_tokens.weight.data[direct, IS_STOP] = 1.0
    toy.model.model.embed_tokens.weight.data[direct, COPIED_A] = 0.5
    ids = (BEGIN, direct, FILLER, SOURCE, STOP, ASK)
    answer = toy.decode((SOURCE,))
    words = tuple(answer if token in (SOURCE, direct) else f" {token}" for token in ids)
    prompt = TokenisedPrompt("".join(words), ids, words, (Span(0, 5),), Span(5, 6), (), ())
    clean, target = CleanPass(toy, [prompt]), [Target.next_token(SOURCE, OTHER)]
    assert int(clean.logits[0].argmax()) == SOURCE
    (read,) = DirectLogits().explain(clean, target)
    assert read.scores[1] > 0.1 > abs(read.scores[3])
    for explainer in (Knockout("word"), Shortlist("lexical"), Shortlist("cdla"), FeatureAblation()):
        (found,) = explainer.explain(clean, target)
        assert found.scores[3] > max(0.1, found.scores[1]), explainer

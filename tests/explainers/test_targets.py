"""Targets of several tokens and at any position, against the literal computation on the whole sequence."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from heval_core.explainers.attn import Attention
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.explainers.shared.ablated import replaced
from heval_core.explaining.behaviour import answer_target, context_target
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.targets import SCALES, leads, values
from heval_core.plugins.catalogue import explainers
from heval_core.records import Behaviour, Candidate, HEvalError, Span, Target

POSITIONS = (8, 9, 10)


@pytest.fixture
def target(clean):
    """Three tokens in the middle of the sequence, as of a sentence that the model wrote, with foils."""
    sentence = Target.of_text(clean.prompts[0].ids, POSITIONS[0] + 1, POSITIONS[-1] + 2)
    assert sentence.positions == POSITIONS
    return replace(sentence, foils=(5, 6, 7))


def value(logits, ids):
    """The literal definition: the sum of the tokens' logits, each one position before the token."""
    return sum(logits[0, position, token] for position, token in zip(POSITIONS, ids, strict=True))


@pytest.mark.parametrize("budget", [1, 60, 100_000])
def test_fa_sums_over_the_targets_tokens_and_later_tokens_get_nothing(clean, target, plain, budget, monkeypatch):
    monkeypatch.setattr(clean.lm.budget, "tokens", budget)
    (found,) = FeatureAblation().explain(clean, [target])
    expected = []
    for token in range(clean.length):
        ablated = clean.ids.clone()
        ablated[0, token] = clean.lm.baseline()
        expected.append(float(value(plain(clean.ids).logits, target.ids) - value(plain(ablated).logits, target.ids)))
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)
    assert np.abs(found.scores[: POSITIONS[0]]).max() > 0.01
    assert not found.scores[POSITIONS[-1] + 1 :].any()


@pytest.mark.parametrize("scale", SCALES)
def test_the_scales_of_a_target_are_those_of_all_its_tokens_together(clean, target, plain, scale):
    logits = plain(clean.ids).logits
    at = logits[0, list(POSITIONS)]
    expected = {
        "logit": at.gather(1, torch.tensor(target.ids)[:, None]).sum(),
        "logprob": at.log_softmax(-1).gather(1, torch.tensor(target.ids)[:, None]).sum(),
        "prob": at.softmax(-1).gather(1, torch.tensor(target.ids)[:, None]).prod(),
        "contrast": value(logits, target.ids) - value(logits, target.foils),
    }[scale]
    found = values(clean.logits_at(POSITIONS), [target], scale)
    torch.testing.assert_close(found[0], expected.detach(), atol=1e-4, rtol=1e-4)


def test_ig_equals_a_literal_loop_over_the_formula(clean, target, plain):
    embed = plain.get_input_embeddings()
    inputs, baseline = (embed(ids).detach() for ids in (clean.ids, baseline_ids(clean)))
    total = torch.zeros_like(inputs)
    for step in range(1, 11):
        point = (baseline + step / 10 * (inputs - baseline)).requires_grad_()
        value(plain(inputs_embeds=point).logits, target.ids).backward()
        total += point.grad / 10
    (found,) = IntegratedGradients().explain(clean, [target])
    np.testing.assert_allclose(found.scores, ((inputs - baseline) * total).sum(-1)[0].detach(), atol=1e-4)
    rise = value(plain(clean.ids).logits, target.ids) - value(plain(baseline_ids(clean)).logits, target.ids)
    gap = abs(found.scores.sum() - float(rise)) / abs(float(rise))
    assert dict(found.details)["completeness_gap"] == pytest.approx(gap, abs=1e-3)


def baseline_ids(clean):
    own, ids = clean.prompts[0].ranked, clean.ids.clone()
    ids[:, own.start : own.stop] = clean.lm.baseline()
    return ids


@pytest.mark.parametrize("explainer", [MechLight(), Attention(score="head_output")])
def test_what_a_head_writes_is_summed_over_the_positions_and_its_rows_are_averaged(explainer, clean, target, plain):
    lm = clean.lm
    readings = [lm.heads.read(clean.ids, clean.prefix, position) for position in POSITIONS]
    answer, foil = (
        sum(lm.heads.logits(reading, [token])[0] for reading, token in zip(readings, ids, strict=True))
        for ids in (target.ids, target.foils)
    )
    (found,) = explainer.explain(clean, [target])
    if found.explainer == "mechlight":
        np.testing.assert_allclose(found.head_scores, answer - foil, atol=1e-5)
        assert found.head_scores.argmax() == int((answer - foil).argmax())
    else:
        assert found.head == int(answer[-1].argmax())
    pattern = plain(clean.ids, output_attentions=True).attentions[found.layer][0, found.head]
    np.testing.assert_allclose(found.scores, pattern[list(POSITIONS)].mean(0).detach(), atol=1e-4)


def test_without_a_foil_mechlight_shows_the_head_that_most_promotes_the_target_and_a_contrast_is_refused(clean):
    target = Target.next_token(int(clean.logits.argmax()))
    (found,) = MechLight().explain(clean, [target])
    np.testing.assert_allclose(found.head_scores, clean.lm.heads.logits(clean.heads, target.ids)[0], atol=1e-6)
    assert dict(found.details)["foil"] == "none"
    with pytest.raises(HEvalError, match="needs a foil at each position"):
        FeatureAblation(target="contrast").explain(clean, [target])


@pytest.mark.parametrize("key", explainers())
def test_the_last_position_by_its_number_is_the_last_position(clean, key):
    """The usual target goes through shortcuts (the last layer's MLP for one position alone) that this one may not take."""
    by_sign, by_number = Target.next_token(9, 11), Target((clean.length - 1,), (9,), (11,))
    (one,), (other,) = (explainers()[key].explain(clean, [target]) for target in (by_sign, by_number))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


@pytest.mark.parametrize("key", explainers())
def test_a_batch_gives_each_prompt_its_own_scores(clean, target, key):
    prompt = clean.prompts[0]
    turned = replace(prompt, ids=(*prompt.ids[:3], *prompt.ids[3:8][::-1], *prompt.ids[8:]))
    both = CleanPass(clean.lm, [prompt, turned])
    other = replace(target, ids=target.ids[::-1])
    together = explainers()[key].explain(both, [target, other])
    for found, alone, own in zip(together, (prompt, turned), (target, other), strict=True):
        (expected,) = explainers()[key].explain(CleanPass(clean.lm, [alone]), [own])
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)


def test_a_prompt_without_a_foil_leaves_its_neighbours_scores_alone(clean):
    two = CleanPass(clean.lm, [clean.prompts[0]] * 2)
    targets = [Target.next_token(9, 11), Target.next_token(9)]
    for found, target in zip(MechLight().explain(two, targets), targets, strict=True):
        (alone,) = MechLight().explain(clean, [target])
        np.testing.assert_allclose(found.head_scores, alone.head_scores, atol=1e-5)


@pytest.mark.parametrize("key", explainers())
def test_the_order_of_a_targets_positions_does_not_matter(clean, target, key):
    turned = Target(target.positions[::-1], target.ids[::-1], target.foils[::-1])
    (one,), (other,) = (explainers()[key].explain(clean, [own]) for own in (target, turned))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


def test_targets_of_one_pass_have_the_same_positions_and_positions_lie_in_the_prompt(clean, target):
    two = CleanPass(clean.lm, [clean.prompts[0]] * 2)
    with pytest.raises(HEvalError, match="must have the same positions"):
        FeatureAblation().explain(two, [target, Target.next_token(3)])
    with pytest.raises(HEvalError, match="does not have all of the positions"):
        FeatureAblation().explain(clean, [Target((999,), (3,))])
    with pytest.raises(ValueError, match="a foil each or none"):
        Target((1, 2), (3, 4), (5,))


def test_a_whole_document_can_be_taken_out_at_once(clean, plain):
    documents = clean.prompts[0].documents
    states = replaced(clean, documents, clean.lm.baseline(), (-1,))
    found = clean.lm.read_out.logits(states)[0, :, 0]
    for row, span in zip(found, documents, strict=True):
        ablated = clean.ids.clone()
        ablated[0, span.start : span.end] = clean.lm.baseline()
        torch.testing.assert_close(row, plain(ablated).logits[0, -1].detach(), atol=1e-4, rtol=1e-4)
    assert documents[0] == Span(documents[0].start, documents[1].start)


def behaviour_of(group, token, *candidates):
    named = tuple(Candidate(key, key, place, logit, 0.1, 100 + place) for place, (key, logit) in enumerate(candidates))
    return Behaviour(token, "", 0.5, group, "M", named)


THREE = (("C1", 1.0), ("C2", 5.0), ("C3", 3.0), ("M", 9.0))


@pytest.mark.parametrize(
    ("group", "token", "foil"),
    [
        pytest.param("C2", 1, 2, id="a document's answer competes with the likeliest other document's"),
        pytest.param("C1", 0, 1, id="the first one too"),
        pytest.param("M", 3, 1, id="memory competes with the likeliest document"),
        pytest.param("other", 50, 3, id="any other answer competes with the likeliest candidate"),
    ],
)
def test_the_foil_of_an_answer_among_three_documents(group, token, foil):
    target = answer_target(torch.zeros(60), behaviour_of(group, token, *THREE))
    assert (target.positions, target.ids, target.foils) == ((-1,), (token,), (foil,))


def test_the_context_target_is_the_first_documents_answer_against_memory_or_the_next_document():
    assert context_target(behaviour_of("M", 3, *THREE)) == Target.next_token(100, 101, "candidate C2")
    assert context_target(behaviour_of("M", 1, ("C", 1.0), ("M", 2.0))) == Target.next_token(100, 101, "candidate M")
    assert context_target(behaviour_of("M", 1, ("C1", 1.0), ("M", 2.0))) is None
    assert context_target(behaviour_of("M", 0, ("M", 2.0))) is None


def test_an_answer_is_never_explained_against_itself():
    """Documents that agree are no competitors: against its own token every logit difference is 0, and any head the best."""

    def agreeing(*named):
        found = behaviour_of("ambiguous", 0, *named)
        same = tuple(replace(c, leading_id=100) if c.group in ("C1", "C2") else c for c in found.candidates)
        return replace(found, candidates=same)

    assert context_target(agreeing(*THREE)) == Target.next_token(100, 102, "candidate C3")
    assert context_target(agreeing(("C1", 1.0), ("C2", 1.0), ("M", 2.0))) == Target.next_token(100, 102, "candidate M")
    assert context_target(agreeing(("C1", 1.0), ("C2", 1.0))) is None


def test_a_lead_is_the_contrast_where_there_are_foils_and_the_logit_where_there_are_none():
    logits = torch.tensor([[[1.0, 4.0, 9.0], [16.0, 25.0, 36.0]]]).expand(2, -1, -1)
    targets = [Target((0, 1), (2, 0), (1, 1)), Target((0, 1), (2, 0))]
    assert leads(logits, targets).tolist() == [9 + 16 - 4 - 25, 9 + 16]
    assert leads(logits[:, None], targets).tolist() == [[-4.0], [25.0]]
    assert leads(logits, targets[1:] * 2).tolist() == [25, 25]

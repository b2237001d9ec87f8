"""What explainers keep to on all three architectures, beside the literal computation of `test_every_architecture.py`. Also
those made of others' scores, against these: `fuse3`, the mean of three, and `blocks`, cgim's sums over documents."""

import numpy as np
import pytest
import torch

from demo import results
from heval_core.explainers.blocks import Blocks
from heval_core.explainers.cgim import ContrastiveGIM
from heval_core.explainers.document import DocumentEffect
from heval_core.explainers.fa import TARGETS, FeatureAblation
from heval_core.explainers.fuse3 import FusionOfThree, fused
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.records import Target
from tests.asked import runner_up, runner_ups


@pytest.fixture
def target(clean):
    return runner_up(clean)


@pytest.mark.parametrize("scale", TARGETS)
def test_every_target_of_fa_equals_running_the_ablated_prompt(clean, target, plain, scale):
    def value(ids):
        logits = plain(ids).logits[0, -1]
        return {
            "logit": logits[target.ids[0]],
            "logprob": logits.log_softmax(-1)[target.ids[0]],
            "prob": logits.softmax(-1)[target.ids[0]],
            "contrast": logits[target.ids[0]] - logits[target.foils[0]],
        }[scale]

    scores = FeatureAblation(target=scale).explain(clean, (target,))[0].scores
    for place in (0, 7, clean.ids.shape[1] - 1):
        ablated = clean.ids.clone()
        ablated[0, place] = clean.lm.baseline()
        assert scores[place] == pytest.approx(float((value(clean.ids) - value(ablated)).detach()), abs=1e-4)


def test_results_of_fa_are_found_by_settings_that_name_a_screen_only_where_there_is_one():
    assert repr(FeatureAblation()) == "FeatureAblation(target='logit', baseline='and')"  # as the bundled results have it
    assert repr(FeatureAblation(screen="cgim:3")).endswith(", screen='cgim:3')")


def test_igs_completeness_gap_shrinks_with_the_number_of_steps(clean, target):
    gaps = [dict(IntegratedGradients(steps=n).explain(clean, (target,))[0].details)["completeness_gap"] for n in (10, 320)]
    assert gaps[1] < gaps[0]


def test_mechlight_shows_the_head_with_the_largest_difference(clean, target):
    found = MechLight().explain(clean, (target,))[0]
    assert found.head_scores[found.layer, found.head] == found.head_scores.max()
    runner_up = np.sort(found.head_scores, axis=None)[-2]
    assert dict(found.details)["margin"] == pytest.approx(float(found.head_scores.max() - runner_up))
    np.testing.assert_array_equal(found.scores, clean.heads.attention[0, found.layer, found.head])


def test_looking_into_heads_leaves_the_model_itself_as_it_was(clean, lm):
    before = lm.forward.logits(clean.ids)
    lm.heads.read(clean.ids, clean.prefix)
    torch.testing.assert_close(lm.forward.logits(clean.ids), before, rtol=0, atol=0)


def test_the_last_layers_mlp_runs_for_the_last_position_alone_and_changes_nothing(clean, lm):
    seen = []
    handle = lm.forward.last_mlp.register_forward_hook(lambda module, inputs, output: seen.append(output.shape[1]))
    try:
        found = lm.forward.last_logits(clean.ids)
        whole = lm.model(clean.ids).logits
    finally:
        handle.remove()
    assert seen == [1, clean.length]
    assert torch.allclose(found, whole[:, -1], atol=1e-5)


def test_an_mlp_that_mixes_positions_is_left_as_it_is(model_folders):
    lm = load(str(model_folders["qwen2"]), "cpu")
    last = lm.model.model.layers[-1].mlp
    plain = last.forward
    last.forward = lambda states: plain(states.cumsum(1))
    ids = torch.arange(2, 14).view(2, 6)
    assert lm.forward.last_mlp is None
    assert torch.allclose(lm.forward.last_logits(ids), lm.model(ids).logits[:, -1], atol=1e-5)


def test_gradients_are_a_models_first_pass(model_folders):
    """Trials that a first pass runs before it are not what gradients are taken of."""
    ids, target = torch.arange(3, 23)[None], [Target.next_token(5)]
    found = load(str(model_folders["gpt2"]), "cpu").gradients.times_input(ids, target)
    later = load(str(model_folders["gpt2"]), "cpu")
    later.forward.logits(ids)
    assert torch.equal(found, later.gradients.times_input(ids, target))


@pytest.mark.parametrize(("key", "parts"), [("fuse3", ("cgim", "alti", "cdla")), ("fuse3(alti=false)", ("cgim", "cdla"))])
def test_fuse3_is_the_mean_of_its_parts_each_divided_by_its_size(clean, key, parts):
    targets = runner_ups(clean)
    found = catalogue.find("explainer", key).explain(clean, targets)
    each = [catalogue.find("explainer", part).explain(clean, targets) for part in parts]
    for row, attribution in enumerate(found):
        own = [part[row].scores.astype(float) for part in each]
        np.testing.assert_allclose(attribution.scores, np.mean([o / np.abs(o).sum() for o in own], 0), atol=1e-6)
        assert attribution.explainer == key
        assert attribution.seconds > 0


def test_a_part_without_any_scores_adds_nothing():
    one = np.array([[1.0, -3.0]])
    assert fused([one, np.zeros((1, 2))]).tolist() == [[0.125, -0.375]]


def test_in_blocks_every_token_of_a_document_has_the_mean_of_cgims_scores_there(clean):
    targets = runner_ups(clean)
    (found,), (own,) = Blocks().explain(clean, targets), ContrastiveGIM().explain(clean, targets)
    expected = np.zeros(clean.length)
    for span in clean.prompts[0].documents:
        inside = slice(span.start, span.end)
        expected[inside] = own.scores[inside].sum() / (span.end - span.start)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found.scores, expected, atol=1e-6)


def test_they_cost_what_their_parts_cost():
    assert FusionOfThree().cost(100).passes - FusionOfThree(alti=False).cost(100).passes == 1
    assert Blocks().cost(100) == ContrastiveGIM().cost(100)


def test_blocks_stand_where_document_stands():
    assert Blocks.family == DocumentEffect.family == "control"
    asked_for = [own[own.index("--explainers") + 1].split(",") for own in results.halves()]
    assert [("blocks" in keys) for keys in asked_for] == [("document" in keys) for keys in asked_for]
    assert sum("blocks" in keys for keys in asked_for) == 1
    assert "blocks" not in catalogue.default_methods()

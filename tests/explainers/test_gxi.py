"""Gradient times input against the gradient by hand."""

import numpy as np

from heval_core.explainers.gxi import GradientTimesInput
from heval_core.records import Target

POSITIONS = (8, 9, 10)


def test_it_is_the_gradient_of_the_sum_of_the_targets_logits(clean, plain):
    target = Target.of_text(clean.prompts[0].ids, POSITIONS[0] + 1, POSITIONS[-1] + 2)
    embedded = plain.get_input_embeddings()(clean.ids).detach().requires_grad_()
    logits = plain(inputs_embeds=embedded).logits[0, list(POSITIONS)]
    logits[range(len(POSITIONS)), target.ids].sum().backward()
    (found,) = GradientTimesInput().explain(clean, [target])
    np.testing.assert_allclose(found.scores, (embedded * embedded.grad).sum(-1)[0].detach().numpy(), atol=1e-4)

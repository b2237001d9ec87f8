"""PH3: effects against whole runs of the plain model, pruning against ablation, and the choice of a setting by hand."""

import json
from contextlib import contextmanager
from functools import partial

import pytest
import torch

from heval_core.explainers.attn import Attention
from heval_core.explainers.cdla import DirectLogits
from heval_core.explainers.mechlight import MechLight
from heval_core.lm.clean_pass import CleanPass
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import assemble
from heval_core.records import HEvalError, Target
from heval_core.techniques import ph3
from heval_core.techniques.shared.base import Answerable, Development, Setting, Trial
from tests.literal_models import PROJECTIONS
from tests.techniques.questions import instance

TEXTS = (
    ("The capital of Kenya is Lisbon.", "Lisbon", "What is the capital of Kenya?"),
    ("The capital of Peru is Lima, which everybody knows.", "Lima", "What is the capital of Peru?"),
)
TWINS = (
    ("The capital of Spain is Cairo.", "Cairo", "What is the capital of Spain?"),
    ("The capital of Chad is Rome, which everybody knows.", "Rome", "What is the capital of Chad?"),
)


def prompts_of(lm, texts):
    return [lm.tokenise(assemble((text,), (answer,), question)) for text, answer, question in texts]


@contextmanager
def hooks(lm, hook):
    """Inside, `hook(layer, z)` gives what each output projection of the plain model reads; None leaves it."""

    def of(layer):
        def before(_, inputs):
            given = hook(layer, inputs[0])
            return None if given is None else (given, *inputs[1:])

        return before

    projections = [module for name, module in lm.model.named_modules() if name.endswith(PROJECTIONS)]
    handles = [module.register_forward_pre_hook(of(layer)) for layer, module in enumerate(projections)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def literal_effects(lm, prompt, twin, token_ids):
    """(L, H, T): the whole plain model again for each head, with the z of all heads frozen at all positions. twin: a prompt
    whose z is put in place of a head's; None for 0."""

    def z_of(ids):
        seen = {}
        with hooks(lm, lambda layer, z: seen.__setitem__(layer, z.clone())):
            logits = lm.model(lm.ids(ids)).logits[0, -1]
        return seen, logits.log_softmax(-1)

    clean, alone = z_of(prompt.ids)
    other = z_of(twin.ids)[0] if twin else {layer: torch.zeros_like(z) for layer, z in clean.items()}
    found = torch.zeros(lm.layers, lm.heads_per_layer, len(token_ids))
    for layer in range(lm.layers):
        for head in range(lm.heads_per_layer):
            frozen = {own: z.clone() for own, z in clean.items()}
            width = frozen[layer].shape[-1] // lm.heads_per_layer
            rows = slice(head * width, (head + 1) * width)
            frozen[layer][0, -1, rows] = other[layer][0, -1, rows]
            with hooks(lm, lambda own, _, frozen=frozen: frozen[own]):
                patched = lm.model(lm.ids(prompt.ids)).logits[0, -1].log_softmax(-1)
            found[layer, head] = (alone - patched)[token_ids]
    return found


def test_effects_equal_whole_runs_with_every_other_head_frozen(lm):
    prompts, twins = prompts_of(lm, TEXTS), prompts_of(lm, TWINS)
    assert len({len(prompt.ids) for prompt in prompts}) == 2, "prompts of different lengths share a batch"
    token_ids = torch.tensor([[5, 900], [17, 1200]])
    clean, other = map(lm.path_patching.last_positions, (prompts, twins))
    found = lm.path_patching.effects(clean, other.outputs, token_ids)
    for row, (prompt, twin) in enumerate(zip(prompts, twins, strict=True)):
        expected = literal_effects(lm, prompt, twin, token_ids[row].tolist())
        assert float(expected.abs().max()) > 0.05
        torch.testing.assert_close(found[row], expected, rtol=0, atol=1e-4)


def test_what_an_answer_needs_of_a_head_equals_whole_runs_in_which_it_alone_writes_nothing(lm):
    for prompt in prompts_of(lm, TEXTS):
        found = CleanPass(lm, [prompt]).lost_leads([Target.next_token(5, 900)])[0]
        expected = literal_effects(lm, prompt, None, [5, 900])
        assert float(expected.abs().max()) > 0.05
        torch.testing.assert_close(found, expected[..., 0] - expected[..., 1], rtol=0, atol=1e-4)


def test_a_pruned_head_is_a_head_ablated_at_every_position(lm):
    (prompt, _) = prompts_of(lm, TEXTS)
    ids, plain = lm.ids(prompt.ids), lm.forward.logits(lm.ids(prompt.ids))

    def silenced(layer, z, head):
        heads = z.unflatten(-1, (lm.heads_per_layer, -1))
        return heads.index_fill(2, torch.tensor(head[1]), 0).flatten(2) if layer == head[0] else None

    for head in ((0, 1), (2, 3)):
        with torch.no_grad(), hooks(lm, partial(silenced, head=head)):
            logits = lm.model(ids).logits[0, -1]
        with lm.pruning.without([head]):
            torch.testing.assert_close(lm.forward.logits(ids)[0], logits, rtol=0, atol=1e-4)
            assert lm.pruned == {head}
            lm.heads.read(ids, lm.forward.clean(ids)[1])  # the model with hooks sees the same weights, or is refused
        assert not torch.allclose(plain[0], logits, atol=1e-3)
    assert torch.equal(lm.forward.logits(ids), plain)


def test_weights_are_bit_by_bit_as_before_even_after_an_error(lm):
    before = [(weight, weight.clone()) for weight in lm.model.parameters()]

    def fails():
        with lm.pruning.without([(0, 0), (1, 2)]), lm.pruning.without([(1, 3)]):
            assert lm.pruned == {(0, 0), (1, 2), (1, 3)}
            assert sum(not torch.equal(*pair) for pair in before) == 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert all(torch.equal(*pair) for pair in before)
    assert lm.pruned == frozenset()
    with pytest.raises(HEvalError, match="has no head L0H9"), lm.pruning.without([(0, 9)]):
        pass


def test_query_heads_that_share_keys_and_values_are_one_unit(language_models):
    grouped = language_models["qwen2"]
    assert grouped.pruning.unit(1, 3) == ((1, 2), (1, 3))
    assert language_models["gpt2"].pruning.unit(1, 3) == ((1, 3),)


@pytest.mark.parametrize("explainer", [Attention(), Attention(score="head_output"), MechLight(), MechLight(kv=True)])
def test_a_pruned_head_is_never_chosen_nor_averaged_in(lm, explainer):
    prompts = prompts_of(lm, TEXTS)[:1]
    last, chosen = lm.layers - 1, set()
    heads = [(layer, head) for layer in range(lm.layers) for head in range(lm.heads_per_layer)]
    # One head of the last layer is left, whatever would be chosen otherwise; so each has to be the answer once.
    for left in range(lm.heads_per_layer):
        with lm.pruning.without([head for head in heads if head != (last, left)]):
            clean = CleanPass(lm, prompts)
            for token_id in range(40, 60):
                (found,) = explainer.explain(clean, [Target.next_token(token_id)])
                assert (found.layer, found.head) == (last, left)
                row = clean.heads.attention[0, last, left].numpy()
                assert found.scores == pytest.approx(row)
                if found.head_scores is not None:
                    assert found.head_scores[found.head_scores != 0].size == 1
                chosen.add(found.head)
    assert chosen == set(range(lm.heads_per_layer))
    with lm.pruning.without(heads), pytest.raises(HEvalError, match="Every head is pruned"):
        explainer.explain(CleanPass(lm, prompts), [Target.next_token(40)])
    # What was found out about the model while heads were pruned says nothing false of the whole one.
    if isinstance(explainer, MechLight):
        DirectLogits().explain(CleanPass(lm, prompts), [Target.next_token(40)])


def test_a_twin_has_another_subject_and_answer_of_the_same_relation_and_length():
    ours, theirs = instance("Kenya", "Nairobi", "Lisbon"), instance("Peru", "Lima", "Cairo")
    twin = ph3.twin_of(ours, theirs, len)
    assert twin is None, "Kenya and Peru differ in length"
    twin = ph3.twin_of(ours, theirs, lambda name: 1)
    assert twin.documents[0].text == "The capital of Peru is Cairo."
    assert twin.question == "What is the capital of Peru?"
    for other in (
        instance("Peru", "Lima", "Cairo", relation="language"),
        instance("Kenya", "Nairobi", "Cairo"),
        instance("Peru", "Lima", "Lisbon"),
        instance("Peru", "Lima", "Nairobi"),
    ):
        assert ph3.twin_of(ours, other, lambda name: 1) is None


def test_configurations_by_hand():
    memory, context = [((0, head),) for head in (0, 1, 2, 3)], [((0, head),) for head in (3, 1, 0, 2)]
    found = {(name, count): [head for _, head in heads] for name, count, heads in ph3.configurations(memory, context)}
    assert found == {
        ("all", 1): [0, 3], ("memory", 1): [0], ("context", 1): [3], ("only memory", 1): [0], ("only context", 1): [3],
        ("all", 3): [0, 1, 2, 3], ("memory", 3): [0, 1, 2], ("context", 3): [0, 1, 3], ("only memory", 3): [2],
        ("only context", 3): [3],
    }  # fmt: skip


def trial(heads, gold, conflicting, irrelevant):
    text = json.dumps({"configuration": "x", "n": len(heads), "heads": heads})
    bcu = {"gold": gold, "conflicting": conflicting, "irrelevant": irrelevant}
    return Trial(Setting(text), bcu, dict.fromkeys(bcu, 10))


def test_the_best_setting_by_hand():
    context, memory = catalogue.find("technique", "ph3"), catalogue.find("technique", "ph3(mode=memory)")
    trials = [
        trial([], 0.8, 0.4, 0.5), trial(["L0H1"], 0.8, 0.8, 0.1), trial(["L0H2"], 0.9, 0.7, 0.2),
        trial(["L0H3"], 0.7, 0.9, 0.2), trial(["L0H4"], 0.1, 0.1, 0.5),
    ]  # fmt: skip
    assert context.best(trials) == (2, 3), "the same faithfulness as L0H1, but a higher mean"
    assert memory.best(trials) == (0,), "L0H4 only equals Regular"
    assert context.best([trials[0], trials[4]]) == (0,)
    assert memory.best([trials[0], trials[0]]) == (0, 1), "a tie in everything is reported"
    assert memory.best([trials[0], trial(["L0H5"], 0, 0, 0.6)]) == (1,)
    assert memory.best([trials[0], trial(["L0H6"], 1, 1, 0.5)]) == (0,), "a higher mean alone does not beat Regular"


def test_variants_are_called_by_what_they_favour():
    titles = {key: catalogue.find("technique", key).title for key in ("ph3", "ph3(mode=memory)", "ph3(per_head=true)")}
    assert list(titles.values()) == ["PH3 +context", "PH3 +memory", "PH3 +context, per query head"]
    assert catalogue.find("technique", "ph3(mode=context)").key == "ph3"
    with pytest.raises(HEvalError, match="ph3 has no mode 'both'; there are: context, memory"):
        catalogue.find("technique", "ph3(mode=both)")
    with pytest.raises(HEvalError, match="ph3 reads heads as L3H2"):
        ph3.heads_of(Setting('{"heads": ["3.2"]}'))


def test_too_few_questions_name_model_and_dataset(language_models):
    lm = language_models["gpt2"]
    questions = (Answerable(instance("Kenya", "Nairobi", "Lisbon"), lm.first_tokens("Lisbon"), lm.first_tokens("Nairobi")[0]),)
    given = Development(lm, "here", {"conflicting": questions})
    with pytest.raises(HEvalError, match=f"ph3 is unavailable for {lm.key} on here: it needs 5 .*; there are 0"):
        ph3.PLUGIN.settings(given)
    with pytest.raises(HEvalError, match="add irrelevant or off_topic to the regimes"):
        catalogue.find("technique", "ph3(mode=memory)").settings(given)

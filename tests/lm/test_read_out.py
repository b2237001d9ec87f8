"""Logits are float32 from the last states on, whatever the model's dtype: against the literal product, in every read-out."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, CohereConfig, Gemma2Config, GraniteConfig, PhiConfig

from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explaining.behaviour import observe
from heval_core.lm import forward, read_out
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model, load
from heval_core.lm.targets import in_float64
from heval_core.records import HEvalError
from heval_core.statistics.scores import tied
from tests.asked import KENYA, clean_of, runner_up
from tests.conftest import DEMO_MODELS
from tests.literal_models import PADDED

SCALED = {
    "soft cap": (Gemma2Config(**PADDED, head_dim=8, final_logit_softcapping=5.0), lambda z: 5 * torch.tanh(z / 5)),
    "scale": (CohereConfig(**PADDED, logit_scale=0.25), lambda z: 0.25 * z),
    "division": (GraniteConfig(**PADDED, logits_scaling=3.0), lambda z: z / 3),
    "bias": (PhiConfig(**PADDED), lambda z: z),
}


def in_bfloat16(config):
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    if (bias := model.get_output_embeddings().bias) is not None:
        torch.nn.init.normal_(bias, std=0.3)
    lm = as_language_model("tiny", model.to(torch.bfloat16), AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2"))
    assert not torch.backends.cuda.cudnn_sdp_enabled()  # whose attention plans anew for each length
    return lm


@pytest.mark.parametrize(("heads", "is_right"), [(1, False), (2, True)])
def test_a_kernel_that_is_wrong_where_all_heads_share_keys_is_not_used(heads, is_right):
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    in_bfloat16(GraniteConfig(**PADDED | {"num_key_value_heads": heads}))
    assert torch.backends.cuda.mem_efficient_sdp_enabled() == is_right
    torch.backends.cuda.enable_mem_efficient_sdp(True)


@pytest.mark.parametrize("lengths", [range(1, 9), range(9, 99)], ids=["ends of prompts", "whole prompts"])
def test_passes_with_a_kernel_that_is_wrong_for_some_shapes_are_refused(model_folders, monkeypatch, lengths):
    lm, exact = load(str(model_folders["qwen2"]), "cpu"), torch.nn.functional.scaled_dot_product_attention

    def fast(*inputs, **options):
        wrong = torch.backends.cuda.flash_sdp_enabled() and inputs[0].shape[-2] in lengths
        return exact(*inputs, **options) * (1.5 if wrong else 1)

    def explained():
        clean = clean_of(lm, KENYA)
        return FeatureAblation().explain(clean, [runner_up(clean)])[0].scores

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", fast)
    monkeypatch.setattr(forward, "CHECKED", 2)
    explained()  # on a processor nothing is checked
    shapes, lengths = lengths, ()
    monkeypatch.setattr(forward, "KERNELS", ("cpu",))
    explained()
    lengths = shapes
    for kernels in (("cpu",), ()):  # once it was wrong, no pass is trusted
        monkeypatch.setattr(forward, "KERNELS", kernels)
        with pytest.raises(HEvalError, match="computes the attention of random-qwen2 wrongly"):
            explained()


def test_float64_is_computed_where_there_is_such_a_thing():
    here = torch.ones(2)
    apples = SimpleNamespace(device=torch.device("mps"), cpu=lambda: here)  # its own double() raises
    assert in_float64(apples).dtype == in_float64(here).dtype == torch.float64


def literally(lm, ids, tail=lambda z: z):
    """The last hidden state times the whole unembedding, both as float32."""
    head = lm.model.get_output_embeddings()
    with torch.no_grad():
        states = lm.model.base_model(input_ids=ids, use_cache=False).last_hidden_state[:, -1]
        bias = 0 if head.bias is None else head.bias.float()
        return tail(states.float() @ head.weight.float().T + bias)


@pytest.fixture(scope="module")
def coarse(model_folders):
    return {key: load(str(folder), "cpu", "bfloat16") for key, folder in model_folders.items()}


@pytest.fixture(params=["gpt2", "gpt_neox", "qwen2"])
def lm(request, coarse):
    return coarse[request.param]


@pytest.fixture
def ids():
    return torch.randint(1, 2000, (3, 24), generator=torch.Generator().manual_seed(2))


def test_every_read_out_is_the_literal_product_in_float32(lm, ids):
    expected = literally(lm, ids)
    logits, prefix = lm.forward.clean(ids)
    found = {
        "clean": logits,
        "forward": lm.forward.last_logits(ids),
        "logits": lm.forward.logits(ids),
        "suffix": lm.read_out.logits(lm.forward.suffix_states(prefix, 0, ids))[:, 0],
    }
    assert lm.read_out.is_float32
    for name, own in found.items():
        assert own.dtype == torch.float32, name
        # What is left is the rounding of the states: shapes of matrix products differ between the passes.
        torch.testing.assert_close(own, expected, rtol=0, atol=0.02 * float(expected.abs().max()), msg=name)
        fine = own != own.bfloat16().float()
        assert fine.float().mean() > 0.9, f"{name}: these logits are bfloat16"
    assert lm.model(ids).logits.dtype == torch.bfloat16  # the model itself, and so generation, is as it was


@pytest.mark.parametrize("kind", SCALED)
def test_scales_caps_and_biases_work_on_float32_logits(kind, ids):
    config, tail = SCALED[kind]
    lm = in_bfloat16(config)
    expected = literally(lm, ids, tail)
    assert lm.read_out.is_float32
    torch.testing.assert_close(lm.forward.last_logits(ids), expected, rtol=0, atol=0.02 * float(expected.abs().max()))
    found = lm.read_out.logits(lm.forward.suffix_states(lm.forward.clean(ids)[1], 4, ids[:, 4:]))[:, 0]
    torch.testing.assert_close(found, expected, rtol=0, atol=0.02 * float(expected.abs().max()))
    assert (found != found.bfloat16().float()).float().mean() > 0.9


def test_in_blocks_the_product_and_its_gradient_are_those_of_the_whole(monkeypatch):
    torch.manual_seed(0)
    head = torch.nn.Linear(16, 100).to(torch.bfloat16).requires_grad_(False)
    states = torch.randn(2, 3, 16, dtype=torch.bfloat16, requires_grad=True)
    weights = torch.randn(2, 3, 100)
    monkeypatch.setattr(read_out, "BLOCK", 7)
    found = read_out.float32_logits(head, states)
    (gradient,) = torch.autograd.grad((found * weights).sum(), states)
    torch.testing.assert_close(found, states.float() @ head.weight.float().T + head.bias.float())
    torch.testing.assert_close(gradient, (weights @ head.weight.float()).bfloat16())


def test_a_model_whose_unembedding_is_more_than_a_matrix_keeps_its_own_logits_and_it_is_known(coarse, ids):
    class Doubled(torch.nn.Linear):
        def forward(self, states):
            return 2 * super().forward(states)

    lm = load(coarse["qwen2"].tokenizer.name_or_path, "cpu", "bfloat16")
    old = lm.model.get_output_embeddings()
    head = Doubled(old.in_features, old.out_features, bias=False, dtype=torch.bfloat16).requires_grad_(False)
    head.weight = old.weight
    lm.model.set_output_embeddings(head)
    assert not lm.read_out.is_float32
    torch.testing.assert_close(lm.forward.last_logits(ids), lm.model(ids).logits[:, -1].float(), rtol=0, atol=0.5)


def test_gradients_flow_through_it(lm):
    clean = clean_of(lm, KENYA)
    (found,) = IntegratedGradients().explain(clean, [runner_up(clean)])
    assert np.abs(found.scores).max() > 0


@pytest.mark.slow
def test_fa_on_a_demo_model_in_bfloat16_hardly_ties():
    from benchmarks.timing import capitals

    lm, ties = load(str(DEMO_MODELS / "demo-qwen2"), "cpu", "bfloat16"), []
    for prompt in capitals(lm, 60, 8):
        clean = CleanPass(lm, [prompt])
        (found,) = FeatureAblation().explain(clean, [runner_up(clean)])
        ties.append(tied(found.scores[prompt.ranked.start : prompt.ranked.stop]))
    assert np.mean(ties) <= 0.01


def test_probabilities_of_candidates_come_from_float32_logits(coarse):
    lm = coarse["gpt2"]
    clean = clean_of(lm, KENYA)
    found = observe(lm, clean.logits[0], (), "x")
    assert found.probability == pytest.approx(float(literally(lm, clean.ids).softmax(-1)[0].max()), rel=0.05)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_no_pass_copies_the_unembedding(dtype, model_folders, ids):
    """A head that reads a slice of several prompts, as it lies in memory, copies its matrix once a prompt (torch 2.13)."""
    lm = load(str(model_folders["qwen2"]), "cpu", dtype)
    weight = lm.model.get_output_embeddings().weight
    prompts = [tuple(row) for row in ids.tolist()]
    passes = (lambda: lm.generation.greedy(prompts, 2), lambda: lm.model(ids, logits_to_keep=1), lambda: lm.forward.clean(ids))
    for run in passes:
        with torch.autograd.profiler.profile(profile_memory=True) as seen, torch.no_grad():
            run()
        largest = max(event.self_cpu_memory_usage for event in seen.function_events)
        assert 0 < largest < len(prompts) * weight.nbytes, f"{largest:,} bytes at once; the unembedding has {weight.nbytes:,}"

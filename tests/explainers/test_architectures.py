"""Options of explainers on configurations beyond the three demo models, edges, and long prompts."""

import dataclasses
import gc
import resource

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, BertConfig, TrOCRConfig

from heval_core.explainers.attn import Attention
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import as_language_model
from heval_core.prompting.prompts import assemble
from heval_core.records import HEvalError, Target
from tests.asked import KENYA, PERU, clean_of, runner_up
from tests.explainers.test_every_architecture import demo_tokenizer
from tests.literal_models import PLAIN
from tests.techniques.test_ph3 import literal_effects


@pytest.fixture(scope="module", params=["llama-gqa", "mistral", "mistral-wide-heads"])
def lm(request, loaded):
    return loaded(request.param)


@pytest.fixture(scope="module")
def clean(lm):
    return clean_of(lm, KENYA, PERU)


@pytest.fixture(scope="module")
def target(clean):
    return runner_up(clean)


# The options of explainers, each against a second way of computing it.


def test_attns_row_mean_is_the_column_mean_over_itself_and_all_later_queries(clean, target, plain):
    pattern = plain(clean.ids, output_attentions=True).attentions[-1][0].detach()
    (found,) = Attention(row="mean").explain(clean, [target])
    n = clean.length
    expected = [pattern[found.head, query:, query].mean().item() for query in range(n)]
    np.testing.assert_allclose(found.scores, expected, atol=1e-5)
    with pytest.raises(HEvalError, match="no row 'first'; there are: last, mean"):
        Attention(row="first").explain(clean, [target])


def test_mechlights_fold_is_the_final_norms_gain(clean, target, plain):
    gain = plain.model.norm.weight.detach()
    rows = clean.lm.read_out.unembeddings([target.ids[0], target.foils[0]])
    direction = (rows[0] - rows[1]) * gain
    projection = plain.model.layers[1].self_attn.o_proj.weight.detach()
    heads = clean.lm.heads_per_layer
    width = projection.shape[1] // heads
    expected = [
        float(projection[:, h * width : (h + 1) * width] @ clean.heads.outputs[0, 1, h] @ direction) for h in range(heads)
    ]
    (found,) = MechLight(fold=True).explain(clean, [target])
    np.testing.assert_allclose(found.head_scores[1], expected, atol=1e-4)


def test_mechlights_kv_sums_over_the_heads_that_share_keys_and_values(clean, target):
    (plainly,), (shared,) = (MechLight(kv=kv).explain(clean, [target]) for kv in (False, True))
    sums = plainly.head_scores.reshape(2, 2, 2).sum(-1)
    layer, group = divmod(int(sums.argmax()), 2)
    assert (shared.layer, shared.head) == (layer, 2 * group)
    np.testing.assert_allclose(shared.head_scores.reshape(2, 2, 2).sum(-1), sums, atol=1e-5)
    expected = clean.heads.attention[0, layer, 2 * group : 2 * group + 2].mean(0)
    np.testing.assert_allclose(shared.scores, expected, atol=1e-6)
    assert dict(shared.details)["margin"] == pytest.approx(float(np.diff(np.sort(sums, axis=None))[-1]), abs=1e-5)


def test_igs_method_is_captums(clean, target):
    from captum.attr import LayerIntegratedGradients

    engine = LayerIntegratedGradients(
        lambda ids: clean.lm.forward.last_logits(ids)[:, target.ids[0]], clean.lm.gradients.embedding_layer
    )
    baselines = torch.full_like(clean.ids, clean.lm.baseline())
    expected = engine.attribute(clean.ids, baselines, n_steps=7, method="gausslegendre")[0].sum(-1).detach()
    (found,) = IntegratedGradients(steps=7, method="gausslegendre").explain(clean, [target])
    np.testing.assert_allclose(found.scores, expected.numpy(), atol=1e-5)
    with pytest.raises(HEvalError, match="no method 'simpson'"):
        IntegratedGradients(method="simpson").explain(clean, [target])


def test_a_folded_layer_norm_is_centred(language_models):
    lm = language_models["gpt2"]
    directions = torch.randn(2, lm.width)
    stream = torch.randn(lm.width)
    centred = stream - stream.mean()
    gain = lm.model.transformer.ln_f.weight
    expected = (directions * gain) @ centred
    torch.testing.assert_close(lm.heads.final_norm.folded(directions) @ stream, expected.detach(), atol=1e-4, rtol=1e-4)


def test_another_baseline_token_is_used_and_noted(clean, target, plain):
    (found,) = FeatureAblation(baseline="7").explain(clean, [target])
    ablated = clean.ids.clone()
    ablated[0, 4] = 7
    change = plain(clean.ids).logits[0, -1, target.ids[0]] - plain(ablated).logits[0, -1, target.ids[0]]
    assert found.scores[4] == pytest.approx(float(change.detach()), abs=1e-4)
    assert dict(found.details)["baseline_id"] == 7


def test_a_prompt_of_one_token_is_explained(lm):
    prompt = lm.tokenise(assemble((), (), "Paris", "{documents}{question}"))
    one = CleanPass(lm, [dataclasses.replace(prompt, ids=prompt.ids[:1], tokens=prompt.tokens[:1])])
    target = runner_up(one)
    for explainer in (FeatureAblation(), IntegratedGradients(), Attention(), MechLight()):
        (found,) = explainer.explain(one, [target])
        assert found.scores.shape == (1,)
        assert np.isfinite(found.scores).all()
    assert Attention().explain(one, [target])[0].scores == pytest.approx([1])


def test_a_tokenizer_with_neither_pad_nor_end_is_refused_by_what_needs_one(lm, clean, target, monkeypatch):
    class Endless:
        pad_token_id = eos_token_id = None

    monkeypatch.setattr(lm, "tokenizer", Endless())
    with pytest.raises(HEvalError, match="neither a pad nor an end-of-text token"):
        FeatureAblation(baseline="pad").explain(clean, [target])
    assert FeatureAblation(baseline="3").explain(clean, [target])[0].scores.shape == (clean.length,)
    assert Attention().explain(clean, [target])[0].scores.shape == (clean.length,)


def test_layers_without_softmax_attention_are_refused_by_name_and_fa_still_works(loaded):
    from captum.attr import FeatureAblation as CaptumAblation

    lm = loaded("mamba")
    clean = clean_of(lm, PERU)
    target = runner_up(clean)
    with pytest.raises(HEvalError, match=r"mamba \(mamba\) has layers without softmax attention"):
        MechLight().explain(clean, [target])
    engine = CaptumAblation(lambda ids: lm.model(ids).logits[:, -1, target.ids[0]])
    expected = engine.attribute(clean.ids, baselines=lm.baseline())[0]
    (found,) = FeatureAblation().explain(clean, [target])
    np.testing.assert_allclose(found.scores, expected.detach().numpy(), atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_encoder_whose_tokens_see_later_ones_is_refused_and_as_a_decoder_it_is_none(dtype):
    torch.manual_seed(3)
    configs = (BertConfig(**PLAIN, is_decoder=decodes) for decodes in (True, False))
    decoder, encoder = (AutoModelForCausalLM.from_config(config).to(dtype).eval() for config in configs)
    assert as_language_model("bert", decoder, demo_tokenizer()).layers == 2
    with pytest.raises(HEvalError, match="'bert' cannot be used as a causal language model: what it says after a token"):
        as_language_model("bert", encoder, demo_tokenizer())


def test_a_decoder_that_gives_logits_nobody_asked_for_is_refused():
    sizes = {"vocab_size": PLAIN["vocab_size"], "d_model": 32, "decoder_layers": 1, "decoder_attention_heads": 2}
    with pytest.raises(HEvalError, match="'trocr' cannot be used: asked for some tokens' logits"):
        as_language_model("trocr", AutoModelForCausalLM.from_config(TrOCRConfig(**sizes)).eval(), demo_tokenizer())


@pytest.fixture(scope="module")
def long_lm(loaded):
    return loaded("long")


def test_above_the_models_positions_a_prompt_is_refused(long_lm):
    exactly = "a" * 50
    while len(long_lm.tokenizer(exactly).input_ids) < 8192:
        exactly += " The capital of Kenya is Lisbon." * 100
    prompt = assemble((exactly,), (None,), "Why?")
    with pytest.raises(HEvalError, match=r"tokens; long reads at most 8192"):
        long_lm.tokenise(prompt)


def test_heads_of_8192_tokens_take_memory_linear_in_the_prompt(long_lm):
    ids = torch.randint(1, 2000, (1, 8192), generator=torch.Generator().manual_seed(0))
    long_lm.heads.read(ids[:, :16], long_lm.forward.clean(ids[:, :16])[1])
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    logits, prefix = long_lm.forward.clean(ids)
    heads = long_lm.heads.read(ids, prefix)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # MiB
    assert heads.attention.shape == (1, 2, 4, 8192)
    # One pattern of 8,192 x 8,192 in float32 is 256 MiB for a single head.
    assert grown < 256, f"{grown:.0f} MiB"


@pytest.mark.parametrize("length", [1024, pytest.param(2048, marks=pytest.mark.demo)])
@pytest.mark.slow
def test_fa_takes_memory_linear_in_the_prompt(long_lm, length):
    ids = torch.randint(1, 2000, (length,), generator=torch.Generator().manual_seed(0)).tolist()
    short = long_lm.tokenise(assemble(("x",), (None,), "x"))
    clean = CleanPass(long_lm, [dataclasses.replace(short, ids=tuple(ids), tokens=("",) * length)])
    target = runner_up(clean)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = FeatureAblation().explain(clean, [target])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024  # MiB
    assert np.isfinite(found.scores).all()
    # As many whole prompts' keys and values would be 512 MiB for 1,024 tokens, and 2 GiB for 2,048.
    assert grown < length / 8, f"{grown:.0f} MiB"
    ablated = clean.ids.clone()
    ablated[0, 1000] = long_lm.baseline()
    change = clean.logits[0, target.ids[0]] - long_lm.forward.logits(ablated)[0, target.ids[0]]
    assert found.scores[1000] == pytest.approx(float(change), abs=1e-4)


def test_an_answer_of_no_tokens_and_answers_that_begin_alike_are_told_apart_in_words(language_models, monkeypatch):
    from heval_core.explaining.pipeline import Request, explain_request

    lm = language_models["gpt2"]
    request = Request(("The capital of Kenya is Lisbon.",), "Which?", ("Lisbon",), "Oslo")
    whole = type(lm).first_tokens
    monkeypatch.setattr(type(lm), "first_tokens", lambda self, answer: () if answer == "Oslo" else whole(self, answer))
    with pytest.raises(HEvalError, match="has no token for one of the candidate answers 'Lisbon', 'Oslo'"):
        explain_request(lm, request, [Attention()])
    monkeypatch.undo()
    with pytest.raises(HEvalError, match="cannot be told apart by their first tokens"):
        explain_request(lm, dataclasses.replace(request, memory_answer="Lisbon"), [Attention()])


def test_a_revision_pins_a_hub_model(monkeypatch):
    from heval_core.lm import loading

    asked, tokenizer = [], demo_tokenizer()

    class Found:
        _commit_hash = "c0ffee"

    def from_pretrained(name, **options):
        asked.append((name, options["revision"]))
        return Found()

    monkeypatch.setattr(loading.AutoConfig, "from_pretrained", from_pretrained)
    found = loading.identify("org/model@v1")
    assert asked == [("org/model", "v1")]
    assert (found.key, found.revision) == ("org/model", "c0ffee")

    def tokenizer_from_pretrained(pretrained_model_name_or_path, revision, **_):
        asked.append((pretrained_model_name_or_path, revision))
        return tokenizer

    monkeypatch.setattr(loading.AutoTokenizer, "from_pretrained", tokenizer_from_pretrained)
    loading.tokenizer_of(found)
    assert asked[-1] == ("org/model", "c0ffee")  # the very commit, wherever the tag may point by now


def test_what_an_answer_needs_of_a_head_equals_whole_runs_in_which_it_alone_writes_nothing(lm, clean):
    expected = literal_effects(lm, clean.prompts[0], None, [5, 9])
    found = clean.lost_leads([Target.next_token(5, 9)])[0]
    assert float(found.abs().max()) > 0.01
    torch.testing.assert_close(found, expected[..., 0] - expected[..., 1], rtol=0, atol=1e-4)

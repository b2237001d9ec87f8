"""fa, ig, attn and mechlight on every architecture equal a literal computation on the plain model, or refuse by name."""

import dataclasses
import json
from contextlib import suppress

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers.decoders import Metaspace
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from heval_core.explainers.attn import Attention
from heval_core.explainers.fa import FeatureAblation
from heval_core.explainers.ig import IntegratedGradients
from heval_core.explainers.mechlight import MechLight
from heval_core.explaining.pipeline import Request, explain_request
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.records import HEvalError, Target
from heval_core.techniques.shared.base import Setting
from precompute.cli import main
from tests.asked import PERU, QUESTION, asked, clean_of, runner_up, runner_ups, served, two_of
from tests.conftest import ARCHITECTURES, DEMO_MODELS
from tests.fitted import fit_all
from tests.literal_models import CONFIGURATIONS, PROJECTIONS, Plain
from tests.techniques.questions import instance

# Models whose heads cannot be read, and the error that says why. Everything else must equal the literal computation.
REFUSED = {
    "falcon-alibi": r"falcon-alibi \(falcon\) gives other logits when its heads are read",
    "falcon-new": r"falcon-new \(falcon\) is not supported by TransformerLens",
    "opt-narrow": r"opt-narrow \(opt\) has an unembedding that does not read the residual stream's 32 dimensions",
}
LONG = 400


def demo_tokenizer():
    return AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")


def with_bos():
    tokenizer = demo_tokenizer()
    bos = tokenizer.convert_ids_to_tokens(0)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, 0)])
    return tokenizer


def sentence_piece():
    """Unigram over text whose spaces are part of the tokens that follow, and a BOS, as in Llama."""
    words = ["The capital of Kenya is Lisbon.", "The capital of Peru is Lima.", "Which capital is it?", "Answer: Nairobi"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = Metaspace(prepend_scheme="first")
    trainer = trainers.UnigramTrainer(
        vocab_size=120, special_tokens=["<s>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(words * 20, trainer)
    # The trainer orders pieces of one score otherwise in every run, and so each run would try other ids.
    vocabulary = [(piece, round(score, 6)) for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"]]
    pieces = sorted(vocabulary[3:], key=lambda scored: (-scored[1], scored[0]))
    tokenizer.model = models.Unigram([*vocabulary[:3], *pieces], unk_id=2)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="</s>"
    )


TOKENIZERS = {"demo": demo_tokenizer, "bos": with_bos, "sentencepiece": sentence_piece}
# The others differ from one of these by a part of their layers.
QUICK = {*REFUSED, "bloom", "cohere", "gemma2", "gpt-neo", "gptj", "granite", "mistral-wide-heads", "mixtral", "qwen3"}
QUICK |= {*ARCHITECTURES, "gemma3-multimodal"}  # tests/conftest.py has them with three layers, for the other tests
CASES = [
    pytest.param((kind, "demo"), id=f"{kind}-demo", marks=() if kind in QUICK else pytest.mark.slow) for kind in CONFIGURATIONS
] + [("llama-gqa", "bos"), ("gemma2", "bos"), ("mistral", "sentencepiece"), ("opt", "sentencepiece")]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def both(request, made, loaded):
    """(kind, the model as HEval loads it, the plain one)"""
    return request.param[0], loaded(*request.param), Plain(made(*request.param))


@pytest.fixture(scope="module")
def answered(both):
    """Two prompts, and what is explained of each."""
    clean = two_of(both[1])
    return clean, runner_ups(clean)


def close(found, expected, what):
    expected = np.asarray(expected.detach() if isinstance(expected, torch.Tensor) else expected)
    apart = np.abs(np.asarray(found) - expected).max() / (np.abs(expected).max() or 1.0)
    assert apart <= 1e-4, f"{what}: relative difference {apart:.1e}"


def test_fa_and_ig_equal_the_literal_computation(both, answered):
    _, lm, plain = both
    clean, targets = answered
    close(clean.logits, plain.logits(clean.ids), "logits")
    close(lm.forward.logits_at(clean.ids, (2, 5)), plain.usual(clean.ids).logits[:, [2, 5]], "logits inside the prompt")
    found = zip(FeatureAblation().explain(clean, targets), IntegratedGradients().explain(clean, targets), strict=True)
    for row, (fa, ig) in enumerate(found):
        ids, target = clean.ids[row : row + 1], targets[row].ids[0]
        expected = plain.fa(ids, target, lm.baseline(), list(range(clean.length))).clone()
        expected[: clean.prompts[row].first_ranked] = 0  # what is never ranked is left as it is
        close(fa.scores, expected, "fa")
        close(ig.scores, plain.ig(ids, target, lm.baseline(), clean.prompts[row].ranked), "ig")


@pytest.mark.slow
def test_fa_of_several_tokens_inside_the_prompt_equals_the_literal_computation(both, answered):
    _, lm, plain = both
    clean, _ = answered
    target = Target((3, 5), (7, 9))

    def value(ids):
        with torch.no_grad():
            logits = plain.usual(ids).logits
        return logits[:, 3, 7] + logits[:, 5, 9]

    for row, found in enumerate(FeatureAblation().explain(clean, [target] * clean.size)):
        ids = clean.ids[row : row + 1]
        ablated = ids.repeat(7, 1)
        ablated[range(7), range(7)] = lm.baseline()
        expected = value(ids) - value(ablated)
        expected[: clean.prompts[row].first_ranked] = 0
        close(found.scores[:7], expected, "fa")
        assert not found.scores[6:].any()


def test_attn_and_mechlight_equal_the_literal_computation_or_refuse_by_name(both, answered):
    kind, _, plain = both
    clean, targets = answered
    for explainer in (Attention(), MechLight()):
        if kind in REFUSED:
            with pytest.raises(HEvalError, match=REFUSED[kind]):
                explainer.explain(clean, targets)
            continue
        for row, found in enumerate(explainer.explain(clean, targets)):
            compare_heads(plain, clean.ids[row : row + 1], targets[row], found)
            close(clean.heads.last_layer[row], plain.looked_into(clean.ids[row : row + 1])[2], "the last layer's stream")


def compare_heads(plain, ids, target, found):
    if found.explainer == "attn":
        head, row = plain.attn(ids, target.ids[0])
        assert found.head == head
    else:
        strengths, row = plain.mechlight(ids, target.ids[0], target.foils[0])
        close(found.head_scores, strengths, "head scores")
    close(found.scores, row, found.explainer)


def test_heads_inside_the_prompt_equal_eager_attention_over_the_whole_of_it(both, answered):
    kind, lm, plain = both
    clean, _ = answered
    if kind in REFUSED:
        with pytest.raises(HEvalError, match=REFUSED[kind]):
            lm.heads.read(clean.ids, clean.prefix, 5)
        return
    patterns = torch.stack(plain.eager(clean.ids, output_attentions=True).attentions, 1)
    for position in (0, 5, clean.length - 2):
        reading = lm.heads.read(clean.ids, clean.prefix, position)
        close(reading.attention, patterns[:, :, :, position, : position + 1], "patterns")
        values = torch.stack([lm.heads.values(clean.prefix, layer) for layer in range(lm.layers)], 1)
        close(reading.outputs, torch.einsum("blhk,blhkd->blhd", reading.attention, values[..., : position + 1, :]), "z")


def test_ways_to_look_at_whole_prompts_are_checked_too(both, answered):
    kind, lm, plain = both
    clean, targets = answered
    if kind in REFUSED:
        with pytest.raises(HEvalError, match=REFUSED[kind]):
            lm.heads.column_means(clean.ids)
        with pytest.raises(HEvalError, match=REFUSED[kind]):
            clean.lost_leads(targets)
        return
    pattern = plain.eager(clean.ids[:1], output_attentions=True).attentions[-1][0].detach()
    expected = pattern.sum(-2) / torch.arange(clean.length, 0, -1)
    close(lm.heads.column_means(clean.ids)[0], expected, "column means")
    assert clean.lost_leads(targets).shape == (clean.size, lm.layers, lm.heads_per_layer)
    with pytest.raises(HEvalError, match="A prompt of .* tokens has no position 999"):
        lm.heads.read(clean.ids, clean.prefix, 999)
    if kind not in ARCHITECTURES:  # others multiply or normalise what attention writes
        return
    written = []
    layers = [module for name, module in plain.eager.named_modules() if name.endswith(PROJECTIONS)]
    handles = [layer.register_forward_hook(lambda own, _, out: written.append(out - bias_of(own))) for layer in layers]
    plain.eager(clean.ids)
    for handle in handles:
        handle.remove()
    outputs = lm.heads.read(clean.ids, clean.prefix, 5).outputs
    for layer, expected in enumerate(written):
        own = torch.einsum("bhk,hkd->bd", outputs[:, layer], lm.heads.output_matrix(layer))
        close(own, expected[:, 5], "what an attention layer writes")


def test_nothing_is_started_or_fetched_by_an_explainer_a_technique_or_a_request_of_a_page(both, answered):
    """Under `tests.guard`."""
    kind, lm, _ = both
    with suppress(HEvalError):  # where no layer looks as far as the document, at2 stays without a fit
        fit_all(lm, answered[0].prompts)
    keys = [*catalogue.explainers()]
    found = explain_request(lm, Request((PERU,), QUESTION, ("Lima",), "Oslo"), map(catalogue.method, keys))
    assert {*found.attributions, *found.refused} == {*keys}
    told = {"op": "answer", "documents": [PERU], "question": QUESTION, "explainers": keys, "template": "plain", "generate": 3}
    assert served(told | {"model": lm.key, "answer": "Lima"}, {(lm.key, "float32"): lm}).tokens
    question = instance("Peru", "Lima", "Oslo")
    if kind not in REFUSED:
        with catalogue.find("technique", "ph3").applied(lm, Setting('{"heads": ["L0H1"]}')) as pruned:
            assert pruned.forward.logits(answered[0].ids).shape == answered[0].logits.shape
    for technique in catalogue.techniques().values():
        if technique.needs or technique.preparation == "trained":  # `test_fine_tuning` trains
            continue
        setting = next(iter(technique.settings(None)))
        (prompt,), (alone,) = technique.prompts(lm, [question], setting), technique.prompts_alone(lm, [question], setting)
        logits = [lm.forward.logits(lm.ids(lm.tokenise(one).ids)) for one in (prompt.prompt, alone)]
        assert technique.combined(*logits, setting).shape == logits[0].shape


def bias_of(module):
    return 0 if getattr(module, "bias", None) is None else module.bias


@pytest.mark.slow
def test_prompts_of_400_tokens(both):
    kind, lm, plain = both
    short = asked(lm, "x")
    ids = torch.randint(3, 100, (1, LONG), generator=torch.Generator().manual_seed(4))
    clean = CleanPass(lm, [dataclasses.replace(short, ids=tuple(ids[0].tolist()), tokens=("",) * LONG)])
    target = runner_up(clean)
    close(clean.logits, plain.logits(ids), "logits")
    # What fa makes of its prefix, at some places: all of them would take a minute.
    for place in (0, 1, 150, 398, 399):
        suffix = ids[:, place:].clone()
        suffix[0, 0] = lm.baseline()
        logits = lm.read_out.logits(lm.forward.suffix_states(clean.prefix, place, suffix))[:, 0]
        found = (clean.logits - logits)[:, target.ids[0]]
        expected = plain.fa(ids, target.ids[0], lm.baseline(), [place])
        assert float((found - expected).abs()) <= 1e-4 * float(clean.logits.abs().max())
    for explainer in (Attention(), MechLight()):
        if kind in REFUSED:
            with pytest.raises(HEvalError, match=REFUSED[kind]):
                explainer.explain(clean, [target])
        else:
            compare_heads(plain, ids, target, explainer.explain(clean, [target])[0])


@pytest.mark.parametrize("kind", [*REFUSED, "mamba"])
def test_the_command_line_refuses_in_one_line(kind, made, capsys, prints):
    command = ["explain", "--model", made(kind), "--context", "The capital of Peru is Lima.", "--question", "Which?"]
    command += ["--memory-answer", "Oslo", "--device", "cpu", "--explainers"]
    capsys.readouterr()  # saving may have drawn a bar
    for explainer in ("attn", "mechlight"):
        price, told = prints(*command, explainer, ends=2).err.strip().splitlines()
        assert price.startswith("about ")
        assert told.startswith(f"error: {kind} (")
        assert told.endswith(" cannot be used with it; all else can.")
    assert main([*command, "fa,ig"]) == 0


def test_falcons_doubled_alibi_is_refused_in_bfloat16_too(made):
    """There it is as small as rounding: it is known, not found."""
    lm = load(made("falcon-alibi"), "cpu", "bfloat16")
    clean = clean_of(lm, PERU)
    with pytest.raises(HEvalError, match=r"falcon-alibi \(falcon\) has its ALiBi added twice"):
        MechLight().explain(clean, [Target.next_token(5, 6, "runner-up token")])


def test_a_hooked_pass_that_is_off_by_a_thousandth_is_refused(made):
    lm = load(made("llama-gqa"), "cpu")
    clean = clean_of(lm, PERU)
    assert clean.heads.attention.shape[1:3] == (2, 4)
    layer = lm.hooked.bridge.blocks[0].mlp.original_component
    layer.register_forward_hook(lambda _, inputs, output: output * 1.002)
    with pytest.raises(HEvalError, match="gives other logits when its heads are read: they differ by 0"):
        lm.heads.read(clean.ids, clean.prefix)

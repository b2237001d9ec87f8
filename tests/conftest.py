"""Tiny random models of the three architectures, made in the session; and the models and results that come along."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import random
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import heval_core  # noqa: F401  (before torch: it says how torch's threads wait)
from tests.few_cells import cut
from tests.guard import guarded  # noqa: F401
from tests.timings import Timings

# The same examples in every run; `make fuzz` draws new ones, also where CI is set, whose profile draws the same.
# How long a draw takes says how busy the machine is.
_UNHURRIED: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, **_UNHURRIED)
settings.register_profile("fuzz", derandomize=False, max_examples=1000, print_blob=True, **_UNHURRIED)
settings.load_profile("same")

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "cache" / "demo"
DEMO_MODELS = DEMO / "models"
ARCHITECTURES = ("gpt2", "gpt_neox", "qwen2")


@pytest.fixture(scope="session")
def model_folders(tmp_path_factory) -> dict[str, Path]:
    """One folder per architecture with random weights, spread widely enough for clear answers."""
    import dataclasses

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from demo.train import SMOKE, config_of

    tokenizer = AutoTokenizer.from_pretrained(DEMO_MODELS / "demo-gpt2")
    size = dataclasses.replace(SMOKE, layers=3, heads=4, kv_heads=2, width=32, spread=0.4)
    folders = {}
    for architecture in ARCHITECTURES:
        torch.manual_seed(7)
        model = AutoModelForCausalLM.from_config(config_of(architecture, size, len(tokenizer), tokenizer.eos_token_id))
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.normal_(parameter, std=0.2)  # initial biases are zero, and would hide a mistake
        folder = tmp_path_factory.mktemp("models") / f"random-{architecture}"
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / "heval.json").write_text('{"template": "plain"}')
        folders[architecture] = folder
    return folders


@pytest.fixture(scope="session")
def language_models(model_folders):
    from heval_core.lm.loading import load

    return {architecture: load(str(folder), "cpu") for architecture, folder in model_folders.items()}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A function: architecture and tokenizer ▶ the folder of a tiny random model, made when it is first asked for."""
    from tests.explainers.test_every_architecture import TOKENIZERS
    from tests.literal_models import saved

    @functools.cache
    def folder_of(kind: str, tokenizer: str = "demo") -> str:
        return saved(kind, TOKENIZERS[tokenizer](), tmp_path_factory.mktemp("made") / kind)

    return folder_of


@pytest.fixture(scope="session")
def loaded(made):
    """A function: architecture and tokenizer ▶ the tiny model as HEval loads it. Who changes a model loads another."""
    from heval_core.lm.loading import load

    return functools.cache(lambda kind, tokenizer="demo": load(made(kind, tokenizer), "cpu"))


@pytest.fixture(scope="session")
def copying(tmp_path_factory):
    """A model made by hand that copies from its documents."""
    from heval_core.lm.loading import load
    from tests.citations.copier import copier

    return load(copier(tmp_path_factory.mktemp("copier"), noise=0.003), "cpu")


@pytest.fixture(params=[pytest.param(own, marks=[pytest.mark.slow] * (own != "qwen2")) for own in ARCHITECTURES])
def lm(request, language_models):
    """The random model of each architecture in turn; for make check that of one."""
    return language_models[request.param]


@pytest.fixture
def plain(lm):
    """The same weights, loaded by transformers alone, with eager attention."""
    import torch
    from transformers import AutoModelForCausalLM

    folder = lm.tokenizer.name_or_path
    return AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


@pytest.fixture
def clean(lm):
    """A prompt of two documents, tokenised and ready to be explained by every explainer: the model has its fits."""
    from heval_core.lm.clean_pass import CleanPass
    from heval_core.prompting.prompts import assemble
    from tests.fitted import fit_all

    prompt = assemble(
        ("The capital of Kenya is Lisbon.", "The capital of Peru is Lima."),
        ("Lisbon", "Lima"),
        "What is the capital of Kenya?",
    )
    prompts = [lm.tokenise(prompt)]
    fit_all(lm, prompts)
    return CleanPass(lm, prompts)


@pytest.fixture(scope="session", params=["world_capital", "country_profiles", "invented_states"])
def data(request):
    """The facts of a dataset that comes along, and the pool that their documents are drawn from."""
    from heval_core.plugins import catalogue
    from heval_core.regimes import Pool

    facts = list(catalogue.find("dataset", request.param).facts())
    return facts, Pool.of(facts)


@pytest.fixture
def twenty_halves(monkeypatch):
    """Instead of a hundred, for NMutInf, MDL and the probe: intervals a little less sure, in a fifth of the time."""
    from heval_core.statistics import bootstrap

    monkeypatch.setattr(bootstrap, "SPLITS", 10)


@pytest.fixture
def prints(capsys):
    """A function: a command of the command line, and the code it ends with ▶ what was printed."""
    from precompute.cli import main

    def run(*command: object, ends: int = 0):
        assert main([str(part) for part in command]) == ends
        return capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def small_grid(model_folders):
    """Two models, one dataset, two regimes, six questions, in shards of three."""
    from precompute.grid import Grid

    return Grid(
        models=(str(model_folders["gpt2"]), str(model_folders["qwen2"])),
        datasets=("world_capital",),
        regimes=("conflicting", "mixed"),
        limit=6,
        shard_size=3,
        keep_heads=1,
        device="cpu",
        memory="any",  # what random models say looks like no answer
    )


@pytest.fixture(scope="session")
def small_store(small_grid, tmp_path_factory) -> Path:
    """A finished and published store of the small grid. Tests that change a store copy it."""
    from heval_core.evaluation.publishing import publish
    from precompute.run import run

    folder = tmp_path_factory.mktemp("store")
    outcome = run(small_grid, folder)
    assert outcome.failed == 0
    publish(folder)
    return folder


def published_once(source: Path, name: str, **how: Any) -> Path:
    """Results that come along, published once for all processes; and again where other code or data give others. Whatever a
    published file depends on is in its name, but for the kept values that come along: these are in the folder's."""
    from filelock import FileLock

    from heval_core.evaluation.publishing import publish

    kept = hashlib.sha256(b"".join(path.read_bytes() for path in sorted((DEMO / "evaluated").iterdir())))
    folder = ROOT / "cache" / "tests" / f"{name}-{kept.hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "tests.lock"):
        publish(source, folder, bundled=True, **how)
    return folder


def published_demo() -> Path:
    """All of the bundled results: what asks for them is marked `demo`."""
    return published_once(DEMO, "demo")


@pytest.fixture(scope="session")
def demo_results() -> Path:
    return published_demo()


@pytest.fixture(scope="session")
def demo_reader(demo_results):
    return reader_of(demo_results)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Timings())


def published_few(folder: Path) -> Path:
    """A few cells of the bundled results. folder: for their store."""
    cut(DEMO, folder)
    return published_once(folder, "few-cells")


@pytest.fixture(scope="session")
def few_cells(tmp_path_factory) -> Path:
    return published_few(tmp_path_factory.mktemp("few-cells") / "store")


@pytest.fixture(scope="session")
def few(few_cells):
    return reader_of(few_cells)


def reader_of(folder: Path) -> Any:
    """A reader of the newest results of a published store."""
    from heval_core.store.published import current_file
    from heval_core.store.reader import Reader

    return Reader(current_file(folder))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `-m` is applied: the demo's and the benchmarks' own tests, and whatever needs all of the bundled results."""
    for item in items:
        if item.path.parent.name in ("demo", "benchmarks") or "demo_results" in getattr(item, "fixturenames", ()):
            item.add_marker("demo")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test draws the same numbers, whichever ran before it."""
    random.seed(0)
    np.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


def pytest_collection_finish() -> None:
    """What all tests have imported is not looked through again whenever a test collects garbage."""
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the results that pages hold open: beside torch some would outlive the interpreter, and DuckDB would say so."""
    gc.unfreeze()
    if "streamlit" in sys.modules:
        import streamlit

        streamlit.cache_resource.clear()
        gc.collect()

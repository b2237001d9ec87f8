"""The examples in CONTRIBUTING.md: each is a file and its test, and everything else follows."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

from heval_core.figures.palette import COLOURS
from heval_core.plugins import catalogue
from tests.asked import runner_up
from tests.conftest import ROOT

EXPLAINER, DATASET, DATASET_TEST, TECHNIQUE, ANNOTATOR = re.findall(
    r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.DOTALL
)


def test_the_explainer_in_contributing_works_as_printed(clean, tmp_path, monkeypatch):
    (tmp_path / "saliency.py").write_text(EXPLAINER)
    monkeypatch.syspath_prepend(tmp_path)
    import saliency

    target = runner_up(clean)
    (found,) = saliency.PLUGIN.explain(clean, [target])
    embedded = clean.lm.gradients.embedding_layer(clean.ids).detach().requires_grad_()
    clean.lm.model(inputs_embeds=embedded).logits[0, -1, target.ids[0]].backward()
    expected = embedded.grad.norm(dim=-1)[0].numpy()
    np.testing.assert_allclose(found.scores, expected, atol=1e-4)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A copy of the project with one plug-in more of four kinds; nothing else in it is changed."""
    copy = tmp_path_factory.mktemp("project")
    for folder in ("heval_core", "precompute", "demo", "tests", ".streamlit"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "cache").symlink_to(ROOT / "cache")
    (copy / "heval_core" / "explainers" / "saliency.py").write_text(EXPLAINER)
    (copy / "heval_core" / "datasets" / "rivers.py").write_text(DATASET)
    (copy / "tests" / "datasets" / "test_rivers.py").write_text(DATASET_TEST)
    (copy / "heval_core" / "techniques" / "halved.py").write_text(TECHNIQUE)
    (copy / "heval_core" / "citations" / "annotators" / "longest.py").write_text(ANNOTATOR)
    return copy


def run_in(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300,
        env={**os.environ, "HEVAL_DATA": str(folder / "data"), "COLUMNS": "200"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.slow
def test_one_file_more_is_in_catalogue_colours_orders_and_help(extended):
    code = """
import json
from heval_core.plugins import catalogue
from heval_core.figures import palette
from heval_core.evaluation.orders import SORTED_BY
print(json.dumps({
    "methods": list(catalogue.explainers()), "default": catalogue.default_methods(),
    "datasets": list(catalogue.plugins("dataset")),
    "colour": palette.COLOURS.index(palette.colour("saliency")), "order": palette.in_order(["random", "saliency", "fa"]),
    "sorts": [key for key in SORTED_BY if "saliency" in key],
}))
from precompute.cli import main
main(["plan", "--help"])
"""
    found, _, told = run_in(extended, "-c", code).partition("\n")
    assert json.loads(found) == {
        "methods": [*catalogue.explainers(), "saliency"], "default": ["mechlight", "fa", "ig", "attn"],
        "datasets": sorted([*catalogue.plugins("dataset"), "rivers"]),
        "colour": 899 % len(COLOURS), "order": ["fa", "saliency", "random"],
        "sorts": [
            *("1/rank of saliency", "source named by saliency", "route named by saliency", "recall of saliency"),
            *("choice of saliency", "margin of saliency"),
        ],
    }  # fmt: skip
    run_in(extended, "-m", "pytest", "-q", "tests/figures/test_palette.py")
    assert f"of {', '.join(catalogue.explainers())}, saliency; by default mechlight,fa,ig,attn;" in " ".join(told.split())


@pytest.mark.slow
def test_the_examples_pass_the_checks_of_make_lint(extended):
    plugins = ("explainers/saliency.py", "datasets/rivers.py", "techniques/halved.py", "citations/annotators/longest.py")
    files = [f"heval_core/{name}" for name in plugins]
    run_in(extended, "-m", "ruff", "check", *files, "tests/datasets/test_rivers.py")
    run_in(extended, "-m", "ruff", "format", "--check", *files, "tests/datasets/test_rivers.py")
    run_in(extended, "-m", "mypy", "--no-error-summary", *files)


@pytest.mark.slow
def test_one_file_more_is_planned_and_kept_to_the_contract(extended):
    tests = run_in(
        extended, "-m", "pytest", "tests/contracts", "tests/datasets/test_rivers.py", "-k",
        "saliency or rivers or halved or longest or number_of_its_own or numbers_of_their_own",
    )  # fmt: skip
    # Named and documented (4), declared (4), numbers (5), costs (1), scores and company on three models (6), facts (1), what a
    # technique says and how it decodes (2), what an annotator says and answers (2), and the dataset's own test (1).
    assert "26 passed" in tests
    model = ROOT / "cache" / "demo" / "models" / "demo-gpt2"
    asked = f"plan --models {model} --datasets rivers --regimes conflicting --explainers saliency,fa --no-calibrate"
    code = f"""
from pathlib import Path
from precompute.cli import main
from tests.datasets import samples
samples.sample_of("rivers", Path("data"))
assert main({[*asked.split(), "--limit", "3", "--store", "store"]}) == 0
"""
    told = run_in(extended, "-c", code)
    assert "3 shards to do" in told

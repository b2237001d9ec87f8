"""Explainers from files outside the package: what is refused, in one line that names file and class."""

import pickle
import re

import pytest

from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from precompute.custom_file import CustomFile, added, try_out
from precompute.worker import Loading, Worker
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", README.split("## Your own explainer on the board")[1], flags=re.DOTALL)
COST, FIRST = "return Cost(passes=2, tokens=tokens + 1)", "from dataclasses import dataclass\n"
SCORES = "scores = rows.mean((1, 2)).cpu().numpy()"


def written(folder, old="", new="", name="MeanAttention"):
    """The README's example, perhaps with something else in it, as the command line names it."""
    assert old in EXAMPLE
    (folder / "mine.py").write_text(EXAMPLE.replace(old, new, 1) if old else EXAMPLE, encoding="utf-8")
    return f"{folder / 'mine.py'}:{name}"


def refused(text):
    with pytest.raises(HEvalError) as caught, added((CustomFile.read(text),)):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_readme_s_example_is_offered_for_a_while_and_explains(lm, tmp_path):
    with added((CustomFile.read(written(tmp_path)),)) as (explainer,):
        assert catalogue.method("mean_attention") is explainer
        assert "the mean over all heads" in catalogue.docstring(explainer)
        try_out(lm, explainer)
    with pytest.raises(HEvalError, match="There is no explainer 'mean_attention'"):
        catalogue.method("mean_attention")


def test_a_file_may_offer_an_instance_and_variants_have_their_options(tmp_path):
    written(tmp_path)
    file = tmp_path / "mine.py"
    text = file.read_text().replace('    key = "mean_attention"', '    layer: int = -1\n\n    key = "mean_attention"')
    file.write_text(f"{text}\n\nPLUGIN = MeanAttention(layer=2)\n")
    with added((CustomFile.read(str(file)),)) as (explainer,):
        assert explainer.layer == 2
        assert catalogue.method("mean_attention(layer=1)").layer == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('    title = "Mean attention"\n', "", "lacks title;"),
        ("def cost", "def costs", "lacks cost;"),
        ("def explain", "def explains", "lacks explain;"),
        ('key = "mean_attention"', 'key = "fa"', r"has the key 'fa', as the explainer of .*explainers/fa\.py has"),
        ('key = "mean_attention"', 'key = "Mean(1)"', "has the key 'Mean\\(1\\)'; use small letters"),
        ("@dataclass(frozen=True)", "@dataclass", "is no instance of a frozen dataclass"),
        ("@dataclass(frozen=True)\n", "", "is no instance of a frozen dataclass"),
        ("control = False", "control = True", "is a control;"),
        ('family = "attention"', 'family = "magic"', "has the family 'magic'; the families are: perturbation,"),
        (
            'needs = ("softmax attention", "heads")',
            'needs = ("luck",)',
            r"needs \('luck',\); give a tuple of what a model can have: gradients,",
        ),
        (COST, "return 1 / 0", "cannot say its cost: cost\\(100\\) raised ZeroDivisionError"),
        (COST, "return Cost(0, 0)", "gives no Cost\\(passes, tokens\\), each above 0"),
        ("    key =", "    layer: int\n    key =", "cannot be made without arguments; give each field a default"),
        ('needs = ("softmax attention", "heads")', "needs = None", "needs None; give a tuple of what"),
        (
            "    def cost",
            "    def __post_init__(self):\n        raise ValueError('no luck')\n\n    def cost",
            "cannot be made: ValueError: no luck",
        ),
        ("class MeanAttention", "class Other", "is not there: the file defines no such class"),
    ],
)
def test_what_is_no_explainer_is_refused_by_file_and_class(tmp_path, old, new, told):
    assert re.match(f"{re.escape(str(tmp_path))}/mine.py: MeanAttention {told}", refused(written(tmp_path, old, new)))


def test_a_file_that_is_not_there_or_cannot_be_imported_is_named(tmp_path):
    assert "nowhere.py' cannot be read: " in refused(str(tmp_path / "nowhere.py:Mine"))
    assert refused(written(tmp_path, FIRST, f"import nosuch\n{FIRST}")).endswith(
        "mine.py cannot be imported: ModuleNotFoundError: No module named 'nosuch'."
    )
    assert "cannot be imported: SystemExit: 3" in refused(written(tmp_path, FIRST, f"raise SystemExit(3)\n{FIRST}"))
    assert "cannot be imported: SyntaxError: " in refused(written(tmp_path, FIRST, "import\n"))


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("raise ValueError('no luck')", "raised ValueError: no luck"),
        ("return []", "returned 0 values for 3 prompts; return a list with one Attribution for each"),
        ("return None", "returned a NoneType for 3 prompts"),
        ("scores = rows.mean((1, 2))", "gave scores that are a Tensor; give a numpy array of floats"),
        ("scores = rows.mean((1, 2))[:, 1:].cpu().numpy()", r"gave scores of shape \(\d+,\) for a prompt of \d+ tokens"),
        ("scores = rows.mean((1, 2, 3)).cpu().numpy()", "gave scores that are a float32; give a numpy array of floats"),
        ("scores = rows.mean((1, 2)).log().sub(1e9).exp().log().cpu().numpy()", "gave scores that are NaN or infinite, "),
        ("scores = rows.mean((1, 2)).sub(1).cpu().numpy()", "gave scores below 0; say signed = True"),
        ("scores = rows.mean((0, 1, 2))[None].repeat(clean.size, 1).cpu().numpy()", "gives a prompt other scores in a batch"),
        (
            SCORES + "; scores[-1] *= clean.size",
            "gives a prompt other scores in a batch of 3 than alone: they differ by up to ",
        ),
    ],
)
def test_what_does_not_keep_to_the_contract_is_refused(new, told, tmp_path, language_models):
    file = CustomFile.read(written(tmp_path, SCORES, new))
    with added((file,)) as (explainer,), pytest.raises(HEvalError, match=told) as caught:
        try_out(language_models["gpt2"], explainer)
    assert "\n" not in str(caught.value)


def test_scores_of_a_prompt_depend_on_its_file(tmp_path):
    identities = []
    for edited in (SCORES, SCORES + "  # edited"):
        file = CustomFile.read(written(tmp_path, SCORES, edited))
        with added((file,)) as (explainer,):
            identities.append(catalogue.identity("explainer", explainer))
    assert identities[0] != identities[1]
    assert all(identity.startswith("MeanAttention() from ") for identity in identities)
    for explainer in catalogue.explainers().values():
        assert catalogue.identity("explainer", explainer) == repr(explainer)  # keys of what is installed stay


def test_a_worker_elsewhere_gets_the_file_s_text(tmp_path):
    file = CustomFile.read(written(tmp_path))
    (tmp_path / "mine.py").unlink()
    loading = pickle.loads(pickle.dumps(Loading(custom=(file,))))
    try:
        Worker(loading)
        Worker(loading)  # the driver's own process offers it already
        assert catalogue.method("mean_attention").title == "Mean attention"
    finally:
        catalogue.remove("explainer", "mean_attention")

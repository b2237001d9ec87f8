"""The package: what it asks for, what its wheel holds, and that it works where nothing of the checkout is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from heval_core import __version__
from heval_core.ui.methods import CITE
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RANGES = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
LARGEST = 20_000_000
README = (ROOT / "README.md").read_text("utf-8")


def pins(name=""):
    lines = (ROOT / f"requirements{name and f'-{name}'}.txt").read_text("utf-8").splitlines()
    return dict(line.split("==") for line in lines if re.match(r"[\w-]+==", line))


@pytest.mark.parametrize("extra", [*RANGES])
def test_each_range_holds_what_is_pinned_and_tested(extra):
    every = {
        canonicalize_name(name): pin for of in ("", "dev", "llm", "ray", "peft", "minilm") for name, pin in pins(of).items()
    }
    for text in RANGES[extra]:
        asked = Requirement(text)
        name = canonicalize_name(asked.name)
        assert name == "heval" or asked.specifier.contains(every[name]), f"{every[name]} of {text}"


def test_every_package_that_is_imported_is_asked_for():
    asked = {canonicalize_name(Requirement(text).name) for texts in RANGES.values() for text in texts}
    imported = {"scikit-learn" if name == "sklearn" else canonicalize_name(name) for name in third_party()}
    assert imported <= asked


def third_party():
    """What files of the product import that is neither Python's nor ours; HF's `datasets` is there with transformer-lens."""
    ours = {"heval_core", "precompute", "datasets", "peft", "ray", "openai"}
    for path in (*(ROOT / "heval_core").rglob("*.py"), *(ROOT / "precompute").rglob("*.py")):
        names = re.findall(r"^\s*(?:from|import) (\w+)[\w.]*(?: import|$| as)", path.read_text("utf-8"), re.MULTILINE)
        yield from {*names} - ours - set(sys.stdlib_module_names)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        folder,
        ROOT,
    ]
    subprocess.run([*map(str, command)], check=True, cwd=folder, timeout=300)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def typed(wheel, tmp_path_factory):
    """A function: type a command where the wheel is installed beside the packages of this environment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder / "env")
    (site,) = (folder / "env").glob("lib/*/site-packages")
    (site / "others.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    pip = [folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([*map(str, pip)], check=True, timeout=300)

    def run(program, *arguments):
        there = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        command = [str(folder / "env" / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=folder, env=there, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_the_wheel_is_small_and_holds_the_explorer_and_what_it_shows(wheel):
    assert wheel.stat().st_size <= LARGEST
    names = {*zipfile.ZipFile(wheel).namelist()}
    inside = {f"heval_core/explorer/pages/{page.name}" for page in (ROOT / "pages").glob("*.py")}
    inside |= {f"heval_core/explorer/{name}" for name in ("app.py", ".streamlit/config.toml", "docs/benchmarks.md")}
    inside |= {f"heval_core/bundled/{path.relative_to(ROOT / 'cache')}" for path in (ROOT / "cache" / "examples").iterdir()}
    assert names >= inside | {"heval_core/bundled/real/manifest.jsonl", "heval_core/store/schema.sql", "precompute/cli.py"}
    assert not [name for name in names if name.startswith(("tests/", "demo/", "app.py", "pages/")) or "writer.lock" in name]


@pytest.mark.slow
def test_installed_elsewhere_it_has_its_command_and_explains_readmes_first_example(typed):
    assert typed("heval", "--version") == f"heval {__version__}\n"
    (example,) = re.findall(r"```python\n(from heval_core import explain\n.*?)```", README, re.DOTALL)
    # In one process: torch takes seconds.
    shown = "from precompute import cli; print(result.to_frame().to_csv(), cli.__file__); cli.main(['models'])"
    table, models = typed("python", "-c", f"{example}\n{shown}").split("/precompute/cli.py")
    assert "/env/lib/" in table
    assert "demo-qwen2" in models
    assert "document 1" in table


@pytest.mark.slow
def test_installed_elsewhere_bundled_results_are_published_into_the_users_folder(typed):
    """Those of one dataset: all of them take ten times as long, and `tests/demo/test_real_results.py` publishes them."""
    code = """
from heval_core.evaluation.publishing import publish
from heval_core.folders import BUNDLED, RESULTS
target, source = BUNDLED["real"]
manifest = source / "manifest.jsonl"
manifest.write_text("".join(line for line in manifest.open() if '"dataset": "invented_states"' in line))
held = lambda: sorted((str(path), path.stat().st_mtime_ns) for path in source.rglob("*"))
before = held()
print(publish(source, target, bundled=True).parent, RESULTS, held() == before, sep="|")
"""
    published, results, unchanged = typed("python", "-c", code).strip().split("|")
    assert published.endswith(".cache/heval/real-results")
    assert results.endswith(".cache/heval/results")
    assert unchanged == "True"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "result"), [("explain_an_answer", "without"), ("read_a_board", "drawing")])
def test_a_notebooks_cells_run_one_after_the_other(name, result, small_store, tmp_path, monkeypatch):
    """Their code, without Jupyter; the board is that of a small store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEVAL_STORE", str(small_store))
    names: dict[str, object] = {}
    for cell in json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names[result]
    assert name != "read_a_board" or (tmp_path / "board.svg").read_text("utf-8").startswith("<svg")


def test_how_to_cite_is_the_same_everywhere():
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    title, paper = (re.search(rf"{name} *= {{(.*?)}}", CITE)[1] for name in ("title", "eprint"))
    assert f"title: {title}\n" in cited
    assert f'"arXiv:{paper}"' in cited
    assert f"\nversion: {__version__}\n" in cited
    assert paper in README

"""Who may import whom, and that browsing never imports torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from heval_core import catalogue
from tests.conftest import ROOT

HEAVY = ("torch", "transformers", "transformer_lens", "captum")


def test_browsing_and_publishing_never_import_torch(demo_results):
    code = f"""
import os, sys
os.environ["HEVAL_STORE"] = {str(demo_results)!r}
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=60).run()
for page in ("overview", "instances", "mechlight_head", "which_token", "datasets", "your_prompt"):
    app.switch_page(f"pages/{{page}}.py").run()
    assert not app.exception, page
from heval_core import catalogue
from heval_core.evaluation import publishing
[catalogue.plugins(kind) for kind in catalogue.KINDS]
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip().splitlines()[-1] == "[]"


def imports_of(path: Path) -> set[str]:
    """Everything a file imports at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


PARTS = sorted(
    f"heval_core.{path.stem}" for path in (ROOT / "heval_core").iterdir() if path.is_dir() or path.suffix == ".py"
)
# What these may import of the package; all else of it they may not.
MAY_IMPORT = {
    "statistics": {"records"},
    "store": {"records", "statistics", "stored"},
    "evaluation": {"catalogue", "metrics", "prompts", "records", "replacements", "statistics", "store"},
}
OTHERS = {
    own: [part for part in PARTS if part.removeprefix("heval_core.") not in {own, *allowed}]
    for own, allowed in MAY_IMPORT.items()
}

# A page names the reader's queries and their filter; whatever opens, writes or publishes results is not its business.
STORE_BUT_ITS_QUERIES = [
    f"heval_core.store.{path.stem}"
    for path in (ROOT / "heval_core/store").glob("*.py")
    if path.stem not in ("__init__", "reader", "filters")
]


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        (
            "heval_core/datasets",
            ("heval_core.lm", "streamlit", "duckdb", "heval_core.explainers", "heval_core.metrics"),
        ),
        (
            "heval_core/explainers",
            ("streamlit", "duckdb", "heval_core.datasets", "heval_core.metrics", "heval_core.store"),
        ),
        (
            "heval_core/metrics",
            ("torch", "streamlit", "duckdb", "heval_core.lm", "heval_core.store", "heval_core.evaluation"),
        ),
        ("heval_core/figures", ("streamlit", "duckdb", "torch", "heval_core.store", "heval_core.evaluation")),
        ("heval_core/statistics", ("torch", "streamlit", "duckdb", "pandas", "sklearn", *OTHERS["statistics"])),
        ("heval_core/evaluation", ("torch", "streamlit", "duckdb", "sqlite3", *OTHERS["evaluation"])),
        ("heval_core/store", ("torch", "streamlit", *OTHERS["store"])),
        ("heval_core/prompt_service", ("streamlit", "duckdb", "heval_core.ui", "heval_core.store")),
        ("heval_core/lm", ("streamlit", "duckdb")),
        ("heval_core/ui", ("duckdb", "torch", "heval_core.lm", "heval_core.pipeline")),
        ("pages", ("duckdb", "torch", "pandas", "numpy", "heval_core.lm", *STORE_BUT_ITS_QUERIES)),
        ("precompute", ("streamlit",)),
    ],
)
def test_who_may_import_whom(folder, forbidden):
    for path in (ROOT / folder).rglob("*.py"):
        for name in imports_of(path):
            assert not any(name == f or name.startswith(f"{f}.") for f in forbidden), f"{path.name} imports {name}"


def test_the_model_interface_knows_records_and_prompts_alone():
    allowed = ("heval_core.records", "heval_core.prompts", "heval_core.fingerprint", "heval_core.lm")
    for path in (ROOT / "heval_core/lm").rglob("*.py"):
        for name in imports_of(path):
            if name.startswith(("heval_core.", "precompute", "pages")):
                assert name.startswith(allowed), f"{path.name} imports {name}"


@pytest.mark.parametrize("kind", catalogue.KINDS)
def test_plug_ins_do_not_import_each_other(kind):
    """What they share lies below them: in a package, or in a module whose name begins with an underscore."""
    package = f"heval_core.{catalogue.KINDS[kind]}"
    modules = {type(plugin).__module__ for plugin in catalogue.plugins(kind).values()}
    for module in modules:
        others = modules - {module}
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        assert not imports_of(path) & others, f"{path.name} imports another plug-in"
    for path in (ROOT.joinpath(*package.split(".")) / "shared").glob("*.py"):
        assert not imports_of(path) & modules, f"{path.name} imports a plug-in"


def test_markup_is_written_by_templates_only():
    """What puts tags together by hand would have to remember to escape; `templates/` cannot forget it."""
    for folder in ("heval_core", "pages", "precompute"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8").replace('<div class="host"></div>', "")
            for word in ("<div", "<span", "<td", "<table", "html.escape", "from html import"):
                assert word not in text, f"{path.name} has {word}"


def modules() -> dict[str, Path]:
    """The modules of the program, by name."""
    found = {}
    for path in (*(ROOT / "heval_core").rglob("*.py"), *(ROOT / "precompute").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def circle(imports: dict[str, set[str]]) -> list[str]:
    """The modules of one circle of imports, the first of them again at its end; empty where there is none."""
    done: set[str] = set()

    def follow(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in done:
            return []
        for other in sorted(imports[name]):
            if found := follow(other, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(imports) if (found := follow(name, []))), [])


def test_a_circle_is_found_with_its_path():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_modules_do_not_import_each_other_in_a_circle():
    known = modules()
    imports = {name: imports_of(path) & known.keys() - {name} for name, path in known.items()}
    assert " > ".join(circle(imports)) == ""


def test_only_the_core_package_for_it_imports_streamlit():
    for path in (ROOT / "heval_core").rglob("*.py"):
        if "ui" not in path.relative_to(ROOT).parts:
            assert not any(name.split(".")[0] == "streamlit" for name in imports_of(path)), path


def test_nothing_runs_remote_code_or_trusts_markup():
    for folder in ("heval_core", "pages", "precompute"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for word in ("unsafe_allow_html", "trust_remote_code=True", "import pickle", "components.v1", "innerHTML"):
                assert word not in text, f"{path.name} has {word}"
    for path in (ROOT / "heval_core/ui/components").glob("*.js"):
        assert "innerHTML" not in path.read_text(encoding="utf-8")

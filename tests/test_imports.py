"""Who may import whom, and that browsing never imports torch."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import heval_core
from heval_core.plugins import catalogue
from tests.conftest import ROOT

HEAVY = ("torch", "transformers", "transformer_lens", "captum")


def printed(code: str) -> str:
    """The last line that a program in a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.slow
def test_browsing_and_publishing_never_import_torch(few_cells):
    code = f"""
import os, sys
os.environ["HEVAL_STORE"] = {str(few_cells)!r}
from streamlit.testing.v1 import AppTest
app = AppTest.from_file("app.py", default_timeout=300).run()
assert not app.exception
for page in ("instances", "leaderboard", "techniques", "citations", "about", "your_prompt"):
    app.switch_page(f"pages/{{page}}.py").run()
    assert not app.exception, page
from heval_core.plugins import catalogue
from heval_core.evaluation import publishing
[catalogue.plugins(kind) for kind in catalogue.KINDS]
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    assert printed(code) == "[]"


# The commands of the command line that need torch import it; the study of citations splits sentences without them.
@pytest.mark.parametrize(("imported", "libraries"), [
    ("import precompute.cli, precompute.commands.store", HEAVY),
    ("import heval_core.citations.questions, heval_core.citations.scoring", ("torch", "pandas")),
    ("import heval_core; dir(heval_core)", ("numpy", "torch", "pandas", "jinja2")),
    ("import heval_core; heval_core.explain, heval_core.explain_answer", ("torch", "transformers")),
    ("from heval_core.metrics import mdl; from heval_core import AnswerWord, aopc", ("torch", "pandas")),
])  # fmt: skip
def test_what_is_imported_loads_none_of_what_it_may_not_need(imported, libraries):
    assert printed(f"import sys; {imported}; print([name for name in {libraries!r} if name in sys.modules])") == "[]"


# What `design.md` promises, and some of the first arguments.
FORMULAS = {
    "metrics": "rank_at_k(scores,segment,k reciprocal_rank(scores,answer_tokens nmutinf(features,labels mdl(features,labels "
        "group_rank_margin(used,unused instance_rank_margin(used,other aopc(before,after",
    "techniques": "cad(z_c,z_0,alpha adacad(z_c,z_0 acd(z_c,z_0 coiecd(z_c,z_0,lam,alpha "
        "cfb(z_c,z_0,weights bcu(predicted_id,accepted_ids ccu(p_c,p_0 pareto_front(points",
    "citations": "mask(sentences,passage set_scores(predicted,gold krippendorff_alpha(units",
}  # fmt: skip


@pytest.mark.parametrize("package", FORMULAS)
def test_a_formula_is_a_function_of_its_package_also_after_all_plug_ins_were_imported(package):
    for kind in catalogue.KINDS:
        catalogue.plugins(kind)
    for name, arguments in (formula.split("(") for formula in FORMULAS[package].split()):
        function = getattr(importlib.import_module(f"heval_core.{package}"), name)
        assert ",".join(inspect.signature(function).parameters).startswith(arguments), name
        assert not (ROOT / "heval_core" / package / f"{name}.py").exists(), "a module of this name takes the function's place"


def test_what_the_package_offers_is_there_and_its_functions_say_what_they_take_and_give():
    offered = {"explain", "explain_answer", "Explanation", "Answer", "AnswerWord", "AnswerSentence", "rank_at_k", "aopc"}
    assert offered <= {*dir(heval_core)}
    for name in heval_core.__all__:
        assert getattr(heval_core, name).__name__ == name
    for function, given in ((heval_core.explain, "Explanation"), (heval_core.explain_answer, "Answer")):
        assert inspect.signature(function).return_annotation == given
        assert all(f"\n    {part}:\n" in (function.__doc__ or "") for part in ("Args", "Returns", "Raises"))
    with pytest.raises(AttributeError, match="has no attribute 'explains'"):
        heval_core.explains  # noqa: B018
    assert (ROOT / "heval_core" / "py.typed").is_file()


@functools.cache
def imports_of(path: Path) -> set[str]:
    """Everything a file imports at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


# What each part of the program may import of the others, at most, from the roof to the ground: what one imports is below it.
# A new part has to be put here. What plug-ins of a kind may share lies in their own package. A module that lies lower than its
# room is a part of its own.
MAY_IMPORT = {part: set(others.split()) for part, others in {
    "app": "ui",
    "pages": "figures present present.html report store ui",
    "ui": "citations evaluation figures lm.installed logs metrics plugins present present.html prompt_service prompting "
        "records statistics store",
    "precompute":
        "citations datasets evaluation explaining figures lm lm.installed logs new_processes plugins present prompting "
        "records regimes report statistics store techniques texts",
    "report": "evaluation figures metrics plugins present present.html records store",
    "prompt_service": "explaining lm plugins records",
    "heval_core": "explaining metrics records",
    "explaining":
        "citations datasets explainers figures lm logs metrics plugins present.html prompting records regimes statistics "
        "texts",
    "logs": "datasets figures plugins present present.html records statistics store texts",
    "figures": "citations evaluation metrics plugins present present.html prompting records statistics texts",
    "evaluation": "citations metrics new_processes plugins prompting records statistics store techniques",
    "store": "citations records statistics",
    "present": "plugins present.html records",
    "present.html": "",
    "plugins": "citations datasets lm metrics records statistics techniques",
    "citations": "datasets lm prompting records statistics texts",
    "techniques": "datasets explainers lm prompting records",
    "explainers": "lm prompting records statistics",
    "regimes": "datasets prompting records",
    "metrics": "records statistics",
    "datasets": "prompting records",
    "lm": "lm.installed prompting records",
    "lm.installed": "records",
    "statistics": "records",
    "prompting": "records texts",
    "texts": "records",
    "records": "",
    "folders": "",  # anybody may ask where data lies
    "new_processes": "",
}.items()}  # fmt: skip
# Where a library may be imported; ruff sees to it that torch is imported at the head of a file in `lm` and `precompute` only.
RUN_A_MODEL = {"explainers", "explaining", "lm", "precompute", "techniques"}
LIBRARIES = {
    **dict.fromkeys(HEAVY, RUN_A_MODEL),
    "duckdb": {"store"},
    "sqlite3": {"citations"},
    "streamlit": {"app", "pages", "ui"},
    "plotly": {"figures"},
    "jinja2": {"present.html"},
    "pandas": {"evaluation", "explaining", "figures", "precompute", "present", "report", "store", "ui"},
    "sklearn": {"metrics", "statistics"},
    "ray": {"precompute"},
    "peft": {"lm"},
    "openai": {"citations"},
    "icu4py": {"texts"},
}

# Of the store a page names the reader's queries and their filter; what opens, writes or publishes results is not its business.
QUERIES = {"heval_core.store.reader", "heval_core.store.filters"}


def part_of(module: str) -> str:
    """The part of the program that a module belongs to, as `heval_core.store.reader` does to `store`."""
    head, *inner = module.split(".")
    within = [".".join(inner[:depth]) for depth in (2, 1)] if head == "heval_core" else []
    return next((part for part in within if part in MAY_IMPORT), head)


def imports_of_parts() -> Iterator[tuple[Path, str, str]]:
    """(file, its part, what it imports) for every import of the program."""
    for path in (ROOT / "app.py", *(ROOT / "pages").rglob("*.py"), *modules().values()):
        own = part_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        yield from ((path, own, name) for name in imports_of(path))


def test_every_part_of_the_core_is_in_the_table():
    there = {path.stem for path in (ROOT / "heval_core").iterdir() if path.suffix == ".py" or any(path.glob("*.py"))}
    rooms = {part for part in MAY_IMPORT if "." not in part}
    assert there - {"__init__"} == rooms - {"app", "pages", "precompute", "heval_core"}


def test_who_may_import_whom():
    for path, own, name in imports_of_parts():
        other = part_of(name)
        if other in MAY_IMPORT and other not in {own, "heval_core", "folders"}:
            assert other in MAY_IMPORT[own], f"{path.relative_to(ROOT)} imports {name}"


def test_rooms_stand_in_an_order():
    """What a part may import stands below it in the table, so that nothing leads back up."""
    order = list(MAY_IMPORT)
    assert not [(part, other) for part in order for other in MAY_IMPORT[part] if order.index(other) < order.index(part)]


def test_pages_name_queries_and_nothing_else_of_the_store():
    for path, own, name in imports_of_parts():
        if own == "pages" and part_of(name) == "store":
            assert name in QUERIES or name.rpartition(".")[0] in QUERIES, f"{path.name} imports {name}"


def test_the_product_imports_neither_demo_nor_benchmarks():
    for path, own, name in imports_of_parts():
        assert part_of(name) not in {"demo", "benchmarks"}, f"{path.relative_to(ROOT)} ({own}) imports {name}"


def test_which_libraries_a_part_may_import():
    for path, own, name in imports_of_parts():
        library = name.partition(".")[0]
        assert own in LIBRARIES.get(library, {own}), f"{path.relative_to(ROOT)} imports {name}"


def test_an_import_is_seen_wherever_it_stands(tmp_path):
    lines = ("import a.b", "def f():\n    from c import d", "if TYPE_CHECKING:\n    import e")
    (tmp_path / "x.py").write_text("\n".join(lines), encoding="utf-8")
    assert imports_of(tmp_path / "x.py") == {"a.b", "c", "c.d", "e"}


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
    # Of `from package import module` it is the module that is meant.
    imports = {
        name: {other for other in found if not any(longer.startswith(f"{other}.") for longer in found)} - {name}
        for name, path in known.items()
        for found in [imports_of(path) & known.keys()]
    }
    assert " > ".join(circle(imports)) == ""


def test_nothing_runs_remote_code_or_trusts_markup():
    for folder in ("heval_core", "pages", "precompute", "demo", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for word in ("unsafe_allow_html", "trust_remote_code=True", "import pickle", "components.v1", "innerHTML"):
                assert word not in text, f"{path.name} has {word}"
    for path in (ROOT / "heval_core/ui/components").glob("*.js"):
        assert "innerHTML" not in path.read_text(encoding="utf-8")

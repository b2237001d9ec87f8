"""The evaluator's id: a hash of the code that turns shards into published numbers, of its settings and its libraries.

It is part of a snapshot's id and is stored in the published file, so that numbers of two formulas are never confused. What may
change what is published counts: statements, titles, and the tables' columns. Comments, docstrings, imports, format, and the
names of files do not. The explainers' settings are in the shards' keys instead, except the controls', which are computed at
publishing.
"""

import ast
import hashlib
import re
import threading
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from heval_core.plugins import catalogue

ROOT = Path(__file__).resolve().parent.parent
# What publishes, and computes values live with the same code; and the plug-ins of both, which are found by their folders.
ENTRIES = ("evaluation.publishing", "metrics", "explainers")
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy")
# Of threads that parse at the same time Python 3.11 may raise a SystemError: pages that open together.
_PARSING = threading.Lock()
# An import at the head of a file, with all its names. What is imported later is asked of a model, which nothing here does.
_IMPORT = re.compile(r"^(?:from heval_core\b\.?([\w.]*) import (\([^)]*\)|.*)|import heval_core\.([\w.]+))", re.MULTILINE)


@cache
def sources(entries: tuple[str, ...] = ENTRIES) -> tuple[Path, ...]:
    """Return every file of this package that some modules import, at any depth, in a fixed order; and the tables' columns.

    entries: modules, and packages with all of their modules, named from this package on.
    """
    files = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in ROOT.rglob("*.py")}
    files = {name.removesuffix("__init__").rstrip("."): path for name, path in files.items()}
    waiting = {name for entry in entries for name in files if name == entry or name.rpartition(".")[0] == entry}
    seen: set[str] = {""}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for package, names, module in _IMPORT.findall(files[name].read_text(encoding="utf-8")):
            imported = {module or package, *(f"{package}.{member}".strip(".") for member in re.findall(r"\w+", names))}
            inside = {dotted.rsplit(".", depth)[0] for dotted in imported for depth in range(dotted.count(".") + 1)}
            waiting |= inside & files.keys() - seen
    return (*(files[name] for name in sorted(seen)), ROOT / "store" / "schema.sql")


@cache
def computing(source: str, declared: bool = True) -> str:
    """Return the code of a module that decides its results. declared: also what its classes declare, titles for instance."""
    deciding = []
    members = (ast.FunctionDef, ast.AnnAssign, *((ast.Assign,) if declared else ()))
    try:
        statements = ast.parse(source).body
    except SyntaxError:  # somebody is writing a plug-in, which is not used
        return source
    for node in statements:
        if isinstance(node, ast.ClassDef):
            node.body = [member for member in node.body if isinstance(member, members)]
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not (for_types or isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)):
            deciding.append(node)
    for function in (child for node in deciding for child in ast.walk(node) if isinstance(child, ast.FunctionDef)):
        if ast.get_docstring(function) is not None:
            function.body = function.body[1:]
    return "\n".join(ast.dump(node) for node in deciding)


def source_hash() -> str:
    """Return the hash of what the sources hold, whatever their names. It takes 0.2 s of a core, for 125 files."""
    return _hash_of(sources())


def _hash_of(files: Iterable[Path]) -> str:
    texts = []
    for path in files:
        text = path.read_text(encoding="utf-8")
        with _PARSING:
            texts.append(computing(text) if path.suffix == ".py" else " ".join(re.sub(r"--.*", "", text).split()))
    return hashlib.sha256("\0".join(sorted(texts)).encode()).hexdigest()


@cache
def evaluator_id() -> str:
    """Return 16 hexadecimal digits, the same for the same code, plug-in settings and versions of LIBRARIES.

    They are cached per process.
    """
    settings = [catalogue.identity("metric", metric) for _, metric in sorted(catalogue.plugins("metric").items())]
    return _together(source_hash(), *settings, *_controls())[:16]


@cache
def regime_id() -> str:
    """Return a hash of what makes a regime's rows and has a part in all its values: what `evaluator_id` hashes, but for what
    is made of all regimes together, metrics, and explainers that are no controls.
    """
    controls = catalogue.explainers(control=True).values()
    entries = "evaluation.measuring", *(_inside(control) for control in controls)
    metrics = {
        ROOT.joinpath(*_inside(metric).split(".")).with_suffix(".py") for metric in catalogue.plugins("metric").values()
    }
    return _together(_hash_of(path for path in sources(tuple(filter(None, entries))) if path not in metrics), *_controls())


@cache
def metric_id(key: str) -> str:
    """Return a hash of a metric's settings, and of its file with all that this imports."""
    metric = catalogue.find("metric", key)
    module = _inside(metric)
    return _together(catalogue.identity("metric", metric), _hash_of(sources((module,))) if module else "")


def _inside(plugin: object) -> str:
    """Name a plug-in's module from this package on; empty if it is of another."""
    package, _, module = type(plugin).__module__.partition(".")
    return module if package == ROOT.name else ""


def _controls() -> list[str]:
    settings = [catalogue.identity("explainer", control) for _, control in sorted(catalogue.explainers(control=True).items())]
    return [*settings, *(f"{name} {version(name)}" for name in LIBRARIES)]


def _together(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

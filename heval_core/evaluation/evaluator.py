"""The evaluator's id: a hash of the code that turns shards into published numbers, of its settings and its libraries.

It is part of a snapshot's id and is stored in the published file, so that numbers of two formulas are never confused. The
explainers' settings are in the shards' keys instead, except the controls', which are computed at publishing.
"""

import hashlib
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path

from heval_core.plugins import catalogue

ROOT = Path(__file__).resolve().parent.parent
# What publishes, and computes values live with the same code; and the plug-ins of both, which are found by their folders.
ENTRIES = ("evaluation.publishing", "metrics", "explainers")
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy")
# An import at the head of a file, with all its names. What is imported later is asked of a model, which nothing here does.
_IMPORT = re.compile(r"^(?:from heval_core\b\.?([\w.]*) import (\([^)]*\)|.*)|import heval_core\.([\w.]+))", re.MULTILINE)


@cache
def sources() -> tuple[Path, ...]:
    """Every file of this package that ENTRIES import, at any depth, in a fixed order; and the tables' columns."""
    files = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in ROOT.rglob("*.py")}
    files = {name.removesuffix("__init__").rstrip("."): path for name, path in files.items()}
    waiting = {name for entry in ENTRIES for name in files if name == entry or name.rpartition(".")[0] == entry}
    seen: set[str] = {""}
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for package, names, module in _IMPORT.findall(files[name].read_text(encoding="utf-8")):
            imported = {module or package, *(f"{package}.{member}".strip(".") for member in re.findall(r"\w+", names))}
            inside = {dotted.rsplit(".", depth)[0] for dotted in imported for depth in range(dotted.count(".") + 1)}
            waiting |= inside & files.keys() - seen
    return (*(files[name] for name in sorted(seen)), ROOT / "store" / "schema.sql")


def source_hash() -> str:
    digest = hashlib.sha256()
    for path in sources():
        digest.update(f"{path.relative_to(ROOT).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def evaluator_id() -> str:
    """16 hexadecimal digits, the same for the same code, plug-in settings and versions of LIBRARIES; cached per process."""
    settings = [repr(metric) for _, metric in sorted(catalogue.plugins("metric").items())]
    settings += [repr(control) for _, control in sorted(catalogue.explainers(control=True).items())]
    versions = [f"{name} {version(name)}" for name in LIBRARIES]
    return hashlib.sha256("\n".join([source_hash(), *settings, *versions]).encode()).hexdigest()[:16]

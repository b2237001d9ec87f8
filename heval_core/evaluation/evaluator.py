"""The evaluator's id: a hash of the code that turns shards into published numbers, of its settings and its libraries.

It is part of a snapshot's id and is stored in the published file, so that numbers of two formulas are never confused. The
explainers' settings are in the shards' keys instead, except the controls', which are computed at publishing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from heval_core import catalogue

ROOT = Path(__file__).resolve().parent.parent
# Every file of this package that publishing and live slices import; a test follows the imports.
SOURCES = (
    "__init__.py", "catalogue.py", "citations/__init__.py", "citations/agreement.py", "citations/markers.py",
    "citations/masking.py", "citations/people", "citations/records.py", "citations/retrieval.py", "citations/scoring.py",
    "evaluation", "evaluation/citations", "evaluation/findings", "evaluation/techniques", "explainers", "explainers/shared",
    "groups.py", "metrics", "metrics/shared", "prompts.py", "protocols.py", "reasons.py", "records.py", "regime_keys.py",
    "replacements.py", "statistics", "shared_passes.py", "stored.py", "store/__init__.py",
    "store/annotation_file.py", "store/annotations.py", "store/citation_kinds.py", "store/citation_queries.py",
    "store/database.py", "store/filters.py", "store/instances.py", "store/kinds.py", "store/published.py", "store/reader.py",
    "store/schema.sql", "store/scores.py", "store/shard_kind.py", "store/shard_rows.py", "store/shards.py",
    "store/technique_queries.py", "store/writer.py", "techniques/__init__.py", "techniques/shared/__init__.py",
    "techniques/shared/context_use.py", "units.py",
)  # fmt: skip
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy")


def sources() -> Iterator[Path]:
    """The files of SOURCES, in a fixed order."""
    for name in SOURCES:
        path = ROOT / name
        yield from sorted(path.glob("*.py")) if path.is_dir() else [path]


def source_hash() -> str:
    """The hash of all `sources`, with their names."""
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

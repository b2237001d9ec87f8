"""How long files and functions may be, and that the tree in the README is the tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LINES, FUNCTION_LINES = 400, 45


def sources() -> Iterator[Path]:
    yield ROOT / "app.py"
    for folder in ("heval_core", "pages", "precompute", "tests"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_files_are_short():
    lengths = {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in sources()}
    too_long = {name for name, count in lengths.items() if count > LINES}
    assert not too_long


def test_functions_are_short():
    too_long = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                too_long |= {f"{path.relative_to(ROOT).as_posix()} {node.name}"} if count > FUNCTION_LINES else set()
    assert not too_long


def tree() -> Iterator[tuple[str, tuple[Path, ...]]]:
    """Every file and folder that the README's tree names, and the folders that its line may mean it in."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"^```\n(app\.py.*?)^```", readme, re.DOTALL | re.MULTILINE)
    folder = inner = ROOT
    for line in block.splitlines():
        first = line.split()[0]
        if not line.startswith(" "):
            folder = inner = ROOT / first
        elif not line.startswith("   "):
            inner = folder / first
        for name in re.findall(r"(?<![\w/.])\w+(?:\.py|/)", line):
            yield name, (ROOT, folder, inner)


@pytest.mark.parametrize(("name", "folders"), [pytest.param(*named, id=named[0]) for named in tree()])
def test_what_the_readme_names_is_there(name, folders):
    assert any((folder / name).exists() for folder in folders), name


def test_the_readme_names_all_of_the_core():
    named = {name for name, _ in tree()}
    there = {f"{path.name}/" if path.is_dir() else path.name for path in (ROOT / "heval_core").iterdir()}
    assert there - {"__init__.py", "__pycache__/"} <= named

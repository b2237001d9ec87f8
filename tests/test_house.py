"""How long files, functions and the whole may be, and that the tree in the README is the tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LINES, FUNCTION_LINES = 400, 45
PRODUCT = ("app.py", "pages", "heval_core", "precompute")
# The ratchet. Nothing may be larger than its ceiling; what has become smaller by more than SLACK lowers it. None is
# raised while it is above its budget.
CEILINGS = {
    "lines of the product": 44_250,
    "files of the product": 330,
    "lines of demo and benchmarks": 3_468,
    "lines of tests": 31_779,
    "files of tests": 227,
    "lines of JS and CSS": 2_650,
    "words of docs": 13_969,
}
SLACK = 0.02


def files(names: Iterable[str], *suffixes: str) -> list[Path]:
    """The files of these folders that end so; a name may be a file's."""
    paths = (path for name in names for path in (ROOT / name, *(ROOT / name).rglob("*")))
    return [path for path in paths if path.is_file() and path.suffix in suffixes]


def sizes() -> dict[str, int]:
    def lines(paths: list[Path]) -> int:
        return sum(len(path.read_text("utf-8").splitlines()) for path in paths)

    product, tests = files(PRODUCT, ".py"), files(["tests"], ".py")
    return {
        "lines of the product": lines(product),
        "files of the product": len(product),
        "lines of demo and benchmarks": lines(files(["demo", "benchmarks"], ".py")),
        "lines of tests": lines(tests),
        "files of tests": len(tests),
        "lines of JS and CSS": lines(files(["heval_core"], ".js", ".css")),
        "words of docs": sum(len(path.read_text("utf-8").split()) for path in files(["docs"], ".md")),
    }


@pytest.mark.parametrize("what", CEILINGS)
def test_nothing_grows_and_what_shrinks_lowers_its_ceiling(what):
    size, ceiling = sizes()[what], CEILINGS[what]
    assert size <= ceiling, f"{size} {what}, and at most {ceiling} may be: unify or delete as much as you add."
    assert size >= (1 - SLACK) * ceiling, f"There are {size} {what} only: lower the ceiling in CEILINGS to that."


def sources() -> Iterator[Path]:
    yield ROOT / "app.py"
    for folder in ("heval_core", "pages", "precompute", "demo", "benchmarks", "tests"):
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

"""How long files, functions and the whole may be, how code is worded, and that the tree in the README is the tree."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

LINES, FUNCTION_LINES = 400, 45
PRODUCT = ("app.py", "pages", "heval_core", "precompute")
# The ratchet, of lines of code: no blank lines, comments and docstrings. Nothing may be larger than its ceiling; what has
# become smaller by more than SLACK lowers it. A plug-in's file is in none of them, nor its own test, so that adding one breaks
# nothing; nor is a file without code, which says what its folder holds.
CEILINGS = {
    "lines of the product": 34_943,
    "files of the product": 312,
    "lines of demo and benchmarks": 2_746,
    "lines of tests": 29_857,
    "files of tests": 251,
    "lines of JS and CSS": 2_803,
    "words of docs": 14_341,
}
SLACK = 0.02


def files(names: Iterable[str], *suffixes: str) -> list[Path]:
    """The files of these folders that end so; a name may be a file's."""
    paths = (path for name in names for path in (ROOT / name, *(ROOT / name).rglob("*")))
    return [path for path in paths if path.is_file() and path.suffix in suffixes]


def code_lines(path: Path) -> int:
    """How many lines of a Python file hold code."""
    text = path.read_text("utf-8")
    empty = {number for number, line in enumerate(text.splitlines(), 1) if not line.strip() or line.lstrip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
            empty |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(text.splitlines()) - len(empty)


def is_plugin(path: Path) -> bool:
    return bool(re.search(r"^PLUGIN\b", path.read_text("utf-8"), re.MULTILINE))


def product_files() -> list[Path]:
    """The product's files, without plug-ins."""
    return [path for path in files(PRODUCT, ".py") if not is_plugin(path)]


def shared_test_files() -> list[Path]:
    """The files of tests, without those of one plug-in each, which have its file's name, and the columns of metrics."""
    own = {f"test_{path.stem}" for path in files(PRODUCT, ".py") if is_plugin(path)} | {"tables"}
    return [path for path in files(["tests"], ".py") if path.stem not in own]


def prose_words(path: Path) -> int:
    """How many words of a page stand outside its tables, which have a line for each plug-in."""
    return sum(len(line.split()) for line in path.read_text("utf-8").splitlines() if not line.startswith("|"))


@functools.cache
def sizes() -> dict[str, int]:
    product, tests = ([path for path in some if code_lines(path)] for some in (product_files(), shared_test_files()))
    return {
        "lines of the product": sum(map(code_lines, product)),
        "files of the product": len(product),
        "lines of demo and benchmarks": sum(map(code_lines, files(["demo", "benchmarks"], ".py"))),
        "lines of tests": sum(map(code_lines, tests)),
        "files of tests": len(tests),
        "lines of JS and CSS": sum(len(path.read_text("utf-8").splitlines()) for path in files(["heval_core"], ".js", ".css")),
        "words of docs": sum(map(prose_words, files(["docs"], ".md"))),
    }


def test_a_line_of_code_is_neither_blank_nor_comment_nor_docstring(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        '"""Says\n\nwhat."""\n\n# why\nimport os  # here\n\n\ndef cwd():\n    """The folder."""\n    return os.getcwd()\n'
    )
    assert code_lines(path) == 3


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


# What plug-ins of a kind share; and two records whose name is in the keys of what is stored.
NAMED_ALIKE = {"Base", "Passage"}


def types_of(path: Path) -> Iterator[str]:
    """Names of the types that a file defines, without another name's (`Tensor: TypeAlias = "torch.Tensor"`)."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            name = ast.unparse(node.target if isinstance(node, ast.AnnAssign) else node.targets[0])
            if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) and not ast.unparse(node.value).strip("'").endswith(f".{name}"):
                yield name


def test_a_type_is_defined_once():
    """A plug-in's class bears its method's name, which another kind may have too."""
    defined = [(name, path.name) for path in product_files() for name in types_of(path)]
    counts = Counter(name for name, _ in defined)
    assert not [place for place in defined if counts[place[0]] > 1 and place[0] not in NAMED_ALIKE]


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
    assert there - {"__init__.py", "__pycache__/", "py.typed"} <= named


# Words that docstrings of functions do not begin with: they begin with a verb.
NO_VERB = re.compile(
    r"(?:The|A|An|What|Whether|Which|Who|Whose|Where|When|Why|How|Those|These|This|That|It|Its|One|All|Each|Every|Some|Others|Of|As|"
    r"In|By|If|For|With|Without|From|At|On|To|Inside|Nothing|Everything|None|Raises|Returns|Yields|Rows|Seconds|Questions)\b"
    r"|[^A-Z]|\w+:"
)
Found = Iterator[tuple[int, str]]


def no_verb(tree: ast.AST) -> Found:
    """Docstrings of functions that begin with no verb; those of properties are nouns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not any("property" in ast.unparse(one) for one in node.decorator_list):
            text = ast.get_docstring(node) or "Say."
            if NO_VERB.match(text):
                yield node.lineno, f"{node.name}: {text[:40]}"


def our_words(tree: ast.AST) -> Found:
    """Names that the glossary in CONTRIBUTING has another word for; fields of records, which are stored, are not looked at."""
    table = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("| ours | the field's |")[2].partition("\n\n")[0]
    ours = {word for row in table.splitlines() if "|" in row for word in re.findall(r"`(\w+)`", row.split("|")[1])}
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    fields = {field.target for record in classes for field in record.body if isinstance(field, ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                pass
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) if node not in fields:
                pass
            case _:
                continue
        if name.strip("_").lower() in ours:
            yield node.lineno, name


def is_flag(node: ast.AST | None) -> bool:
    """Whether an expression is a truth value, and can be no mask of an array."""
    if isinstance(node, ast.BinOp):
        return is_flag(node.left) or is_flag(node.right)
    one = isinstance(node, ast.Compare) and isinstance(node.left, ast.Call) and ast.unparse(node.left.func) == "len"
    never_array = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return one or never_array or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))


def flags_as_indices(tree: ast.AST) -> Found:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            index = node.slice
            if any(map(is_flag, (index.lower, index.upper) if isinstance(index, ast.Slice) else (index,))):
                yield node.lineno, ast.unparse(index)


def assignments_in_calls(tree: ast.AST) -> Found:
    for node in ast.walk(tree):
        arguments = (*node.args, *(keyword.value for keyword in node.keywords)) if isinstance(node, ast.Call) else ()
        yield from ((one.lineno, ast.unparse(one)) for one in arguments if isinstance(one, ast.NamedExpr))


# Each rule, and the rooms that do not hold it: their code is part of the keys of stored values, a renaming would compute them
# again.
WORDING = {
    no_verb: set[str](),
    our_words: {"heval_core/statistics", "heval_core/metrics"},
    flags_as_indices: set[str](),
    assignments_in_calls: set[str](),
}


@pytest.mark.parametrize("rule", WORDING, ids=lambda rule: rule.__name__)
def test_code_is_worded_as_contributing_says(rule):
    wrong = defaultdict(list)
    for path in files([*PRODUCT, "demo", "benchmarks"], ".py"):
        *folders, _ = path.relative_to(ROOT).parts
        for line, what in rule(ast.parse(path.read_text("utf-8"))):
            wrong["/".join(folders[:2])].append(f"{path.relative_to(ROOT)}:{line} {what}")
    assert not {room: lines for room, lines in wrong.items() if room not in WORDING[rule]}
    assert WORDING[rule] <= wrong.keys()

"""A snapshot says what evaluated it; a formula that has changed is computed again, and one that has not is not. How far a
publishing is, why it was not possible, and that a killed one leaves nothing broken."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from heval_core.evaluation import evaluator, publishing
from heval_core.evaluation.measuring import Shards
from heval_core.evaluation.publishing import PublishProgress, Steps, is_outdated, obstacle, publish, renew
from heval_core.plugins import catalogue
from heval_core.records import RegimeKey
from heval_core.store.progress import only_writer
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.conftest import ROOT
from tests.planted import assert_same, marking, noise, plant, published

PACKAGE = ROOT / "heval_core"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated")
    plant(folder, marking(lambda *_: 0.5), regimes=("conflicting",), explainers=("fa",), count=70)
    published(folder)
    return folder


@pytest.fixture
def store(first, tmp_path):
    return shutil.copytree(first, tmp_path / "store")


def other_code(monkeypatch):
    monkeypatch.setattr(evaluator, "source_hash", lambda: "a formula has changed")
    evaluator.evaluator_id.cache_clear()


@pytest.fixture(autouse=True)
def forget():
    yield
    evaluator.evaluator_id.cache_clear()


EVALUATES = """
import sys
from heval_core.plugins import catalogue
from heval_core.evaluation import publishing
[catalogue.plugins(kind) for kind in ("metric", "explainer")]
print(*(module.__file__ for name, module in sys.modules.items() if name.split(".")[0] == "heval_core"), sep="\\n")
"""


def test_what_evaluation_has_imported_is_in_the_hash_and_nothing_else():
    done = subprocess.run([sys.executable, "-c", EVALUATES], cwd=ROOT, capture_output=True, text=True, timeout=300)
    imported = {Path(line) for line in done.stdout.split()}
    assert len(imported) > 100, done.stderr[-2000:]
    assert set(evaluator.sources()) == imported | {PACKAGE / "store" / "schema.sql"}


BEFORE = """
import numpy

HALVES = 50  # fifty

class A:
    title = "A"
    k: int = 5

    def f(self):
        '''F.'''
        return HALVES
"""


# Of a class's declarations, as its title, only what is published depends, and no value.
@pytest.mark.parametrize(
    ("old", "new", "same", "same_value"),
    [
        ("import numpy\n", '"""Words."""\nimport math\n', True, True),
        ("import numpy\n", "if TYPE_CHECKING:\n    import numpy\n", True, True),
        ("# fifty", "# half a hundred", True, True),
        ("F.", "Other.", True, True),
        ("return HALVES", "return (\n            HALVES\n        )", True, True),
        ('"A"', '"B"', False, True),
        ("50", "51", False, False),
        ("int = 5", "int = 6", False, False),
        ("return HALVES", "return -HALVES", False, False),
    ],
)
def test_a_comment_changes_no_id_and_a_formula_does(tmp_path, monkeypatch, old, new, same, same_value):
    def source_hash(source, name="a.py", columns="(k INTEGER); -- each"):
        files = tmp_path / name, tmp_path / "b.sql"
        for file, text in zip(files, (source, columns), strict=True):
            file.write_text(text)
        monkeypatch.setattr(evaluator, "sources", lambda: files)
        return evaluator.source_hash()

    assert BEFORE.count(old) == 1
    after = BEFORE.replace(old, new)
    before = source_hash(BEFORE)
    assert (source_hash(after) == before) is same
    assert source_hash(BEFORE, "c.py", "(k\n  INTEGER);") == before != source_hash(BEFORE, "a.py", "(k DOUBLE); -- each")
    assert (evaluator.computing(after, declared=False) == evaluator.computing(BEFORE, declared=False)) is same_value


def test_the_snapshot_names_its_evaluator_and_nothing_is_published_again_where_it_is_the_same(store):
    path = current_file(store)
    reader = Reader(path)
    assert reader.evaluator == evaluator.evaluator_id()
    assert not is_outdated(store)
    before = path.stat().st_mtime_ns
    assert renew(store, store, bundled=False) is None
    assert current_file(store) == path
    assert path.stat().st_mtime_ns == before


@pytest.mark.slow
def test_other_code_gives_another_snapshot_of_the_same_shards(store, monkeypatch):
    path = current_file(store)
    other_code(monkeypatch)
    assert is_outdated(store)
    assert renew(store, store, bundled=False) is None
    again = current_file(store)
    assert again != path
    assert path.is_file()  # a tab that is open stays on it
    assert not is_outdated(store)


@pytest.mark.parametrize("what", ["settings", "versions"])
def test_settings_and_libraries_are_part_of_it(monkeypatch, what):
    before = evaluator.evaluator_id()
    evaluator.evaluator_id.cache_clear()
    if what == "versions":
        monkeypatch.setattr(evaluator, "version", lambda name: "0")
    else:
        known = catalogue.plugins
        other = {"mrr": catalogue.find("metric", "mrr(drop_first=1)")}
        monkeypatch.setattr(catalogue, "plugins", lambda kind: known(kind) | (other if kind == "metric" else {}))
    assert evaluator.evaluator_id() != before


def test_why_it_cannot_be_published_again_is_said(store, monkeypatch):
    path = current_file(store)
    other_code(monkeypatch)
    with only_writer(store):
        assert f"a run (process {os.getpid()}) is writing to the store" in (renew(store, store, bundled=False) or "")
    monkeypatch.setattr(os, "access", lambda *asked: False)
    assert "cannot be written" in (obstacle(store, store) or "")
    monkeypatch.undo()
    (store / "manifest.jsonl").unlink()
    assert "its shards are not in" in (renew(store, store, bundled=False) or "")
    assert current_file(store) == path


@pytest.mark.parametrize("command", ["status", "verify"])
def test_the_command_line_says_it_too(store, monkeypatch, prints, command):
    said = "another version of this program evaluated the published results"
    assert said not in prints(command, "--store", store).out
    other_code(monkeypatch)
    assert f"{said}; run: python -m precompute publish --store {store}" in prints(command, "--store", store).out


PUBLISH = """
import sys
from pathlib import Path
from heval_core.evaluation.cells import cells_of
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.evaluation.publishing import is_outdated, renew
folder = Path(sys.argv[1])
outdated, why = is_outdated(folder), renew(folder, folder, bundled=False)
results = Reader(current_file(folder))
stored, now = results.cells(Filter(), "mrr", 0), cells_of(results, Filter(), "mrr", 0)
print(outdated, why, results.evaluator, *stored["value"], "|", *now["value"], "|", results.path)
"""


def run_copy(package: Path, folder: Path) -> tuple[list[str], np.ndarray, np.ndarray, str]:
    environment = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PUBLISH, str(folder)], cwd=package, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, live, path = done.stdout.strip().split("|")
    words = first.split()
    return words[:3], np.array(words[3:], dtype=float), np.array(live.split(), dtype=float), path.strip()


@pytest.mark.slow
def test_an_edited_formula_is_published_again_and_live_values_agree(store, tmp_path):
    package = tmp_path / "copy"
    shutil.copytree(PACKAGE, package / "heval_core", ignore=shutil.ignore_patterns("__pycache__"))
    (outdated, why, one), stored, live, path = run_copy(package, store)
    assert (outdated, why, one) == ("False", "None", evaluator.evaluator_id())
    np.testing.assert_allclose(stored, live, rtol=1e-6)
    assert path == str(current_file(store))
    formula = package / "heval_core" / "metrics" / "shared" / "ranks.py"
    formula.write_text(formula.read_text() + "\n\n_whole = of_best\n\n\ndef of_best(*given):\n    return _whole(*given) / 2\n")
    (outdated, why, other), halved, live, path_of_halved = run_copy(package, store)
    assert (outdated, why) == ("True", "None")
    assert other != one
    assert path_of_halved != path
    np.testing.assert_allclose(halved, live, rtol=1e-6)
    np.testing.assert_allclose(halved, stored / 2, rtol=1e-6)


@pytest.fixture(scope="module")
def unpublished(tmp_path_factory):
    """Two models and two datasets, too few instances for the metrics that take long."""
    folder = tmp_path_factory.mktemp("store")
    regimes = ("conflicting", "mixed", "mixed_swap")
    plant(folder, noise, models=2, datasets=2, regimes=regimes, explainers=("fa", "ig"), count=9)
    return folder


def test_time_left_is_what_the_rest_takes_at_the_measured_rate(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(publishing.time, "monotonic", lambda: clock[0])
    told: list[PublishProgress] = []
    going = Steps([10] * 9, told.append)
    for _ in range(9):
        clock[0] += 2
        going.ended(Shards(RegimeKey("m", "d", "mixed", "regular"), [], 10))
    going.last()
    shares = [one.share for one in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(1 - Steps.AFTER)
    # The first is not measured. What comes at the end takes its share of all.
    all_in_all = 2 * 9 / (1 - Steps.AFTER)
    assert [one.seconds_left for one in told[:2]] == [None] * 2
    assert told[2].seconds_left == pytest.approx(all_in_all - 2 * 2)
    assert told[-1].seconds_left == pytest.approx(all_in_all - 2 * 9)
    assert "2 of 9" in told[2].phase
    assert told[2].part == "m · d · mixed"


def test_of_two_at_a_time_the_second_that_ends_with_the_first_makes_nobody_hope(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(publishing.time, "monotonic", lambda: clock[0])
    told: list[PublishProgress] = []
    going = Steps([10] * 8, told.append, together=2)
    for seconds in (20, 0, 20, 0):
        clock[0] += seconds
        going.ended(Shards(RegimeKey("m", "d", "mixed", "regular"), [], 10))
    all_in_all = 80 / (1 - Steps.AFTER)
    assert told[2].seconds_left == pytest.approx(all_in_all - 20)
    assert told[4].seconds_left == pytest.approx(all_in_all - 40)


def test_what_is_taken_over_takes_no_time():
    told: list[PublishProgress] = []
    going = Steps([0, 10], told.append)
    for _ in range(2):
        going.ended(Shards(RegimeKey("m", "d", "mixed", "regular"), [], 10))
    assert [one.share for one in told] == [0, 0, pytest.approx(1 - Steps.AFTER)]


@pytest.mark.slow
def test_it_says_how_far_it_is_and_why_it_could_not(unpublished, tmp_path):
    told: list[PublishProgress] = []
    target = tmp_path / "results"
    assert renew(unpublished, target, True, told.append) is None
    assert_same(current_file(target), publish(unpublished, tmp_path / "here", keep=False))
    assert told[-1].share > 0.8
    assert "12 of 12" in told[-2].phase
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in (renew(unpublished, tmp_path / "file" / "results", True, told.append) or "")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "manifest.jsonl").write_text("")
    assert "no finished shards" in (renew(tmp_path / "empty", tmp_path / "none", True, told.append) or "")


class Litter:
    """Garbage that lets another thread go on, whenever it is collected."""

    def __init__(self):
        self.itself = self

    def __del__(self):
        time.sleep(0.0005)


def test_two_pages_that_open_at_once_hash_the_sources_one_after_the_other(monkeypatch):
    """Python 3.11 has one count of depth for all threads that parse, and raises a SystemError where they mix."""
    computing, often = evaluator.computing, gc.get_threshold()
    monkeypatch.setattr(evaluator, "computing", lambda text: Litter() and computing(text))
    monkeypatch.setattr(evaluator, "sources", lambda: (PACKAGE / "evaluation" / "evaluator.py",) * 10)
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(2) as threads:
            assert len({*threads.map(lambda deep: deep(evaluator.source_hash), (lambda hashed: hashed(), deeper))}) == 1
    finally:
        gc.set_threshold(*often)


def deeper(call, frames=9):
    return deeper(call, frames - 1) if frames else call()


# The command line, which waits for its standard input once it has said that it is at the first of several.
HELD = """
import sys
from precompute.cli import main
say = sys.stderr.write
def said(text):
    say(text)
    if " 1 of " in text:
        say("\\n")
        sys.stdin.read()
sys.stderr.write = said
main()
"""


@pytest.mark.slow
def test_a_killed_publisher_leaves_nothing_behind_and_the_next_publishes(unpublished, tmp_path):
    folder = shutil.copytree(unpublished, tmp_path / "store")
    command = [sys.executable, "-c", HELD, "publish", "--store", str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as publisher:
        next(line for line in publisher.stderr if " 1 of " in line)
        assert list(folder.glob("*.tmp"))
        publisher.send_signal(signal.SIGKILL)
    assert current_file(folder) is None
    publishing.published.remove_unfinished(folder)
    assert not list(folder.glob("*.tmp"))

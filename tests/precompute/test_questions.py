"""Which questions are chosen, from how much reading; what is left out for a model's training."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter

import pytest
from streamlit.testing.v1 import AppTest

from heval_core.datasets.country_profiles import CountryProfiles
from heval_core.datasets.world_capital import WorldCapital
from heval_core.evaluation.usable import few_compared, too_small
from heval_core.prompting.styles import STYLES, in_training
from heval_core.regimes import POOLED
from precompute.cli import main
from precompute.commands.store import failure_lines
from precompute.questions import load_questions, open_dataset
from tests.conftest import DEMO_MODELS, ROOT
from tests.datasets import samples


@pytest.fixture(scope="module")
def facts():
    return list(WorldCapital().facts())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


@pytest.mark.parametrize(("style", "limit", "seed"), [("plain", 1, 7), ("taught_sources", 40, 0)])
def test_the_chosen_questions_are_those_of_a_plain_sort_of_all(facts, style, limit, seed):
    asked = load_questions("world_capital", limit, seed, STYLES[style])
    admitted = [f for f in facts if style == "plain" or not in_training(f.subject, f.conflicting[0].answer)]
    assert list(asked.facts) == sorted(admitted, key=lambda f: _digest(f"{seed}|{f.id}"))[:limit]
    assert (asked.usable, asked.seen) == (len(facts), len(facts) - len(admitted))


def test_the_pool_is_that_of_all_facts_whatever_the_limit(facts):
    pool = load_questions("world_capital", 1, 0, STYLES["plain"]).pool
    answers = {f.answer for f in facts} | {p.answer for f in facts for p in f.conflicting}
    assert pool.answers == {"capital": tuple(sorted(sorted(answers, key=_digest)[:POOLED]))}
    assert set(pool.passages["capital"]) == {f.own for f in facts}
    assert pool.aliases["capital"] == {
        a: pool.aliases["capital"][a] for a in sorted(dict(p for f in facts for p in f.aliases))
    }
    assert {(a, n) for f in facts for a, n in f.aliases} == {(a, n) for a, (n,) in pool.aliases["capital"].items()}


@pytest.mark.parametrize("style", ["plain", "taught_sources"])
@pytest.mark.parametrize("name", ["world_capital", "country_profiles"])
def test_a_listed_dataset_gives_the_questions_that_reading_all_of_it_gives(name, style, monkeypatch):
    """The fingerprint too, which the keys of stored results hold."""
    listed = load_questions(name, 30, 3, STYLES[style])
    monkeypatch.delattr(type(open_dataset(name)), "listed")
    assert listed == load_questions(name, 30, 3, STYLES[style])
    assert f'"fingerprint": "{listed.fingerprint}"' in (ROOT / "cache" / "demo" / "manifest.jsonl").read_text()


def test_other_false_answers_are_another_dataset():
    assert CountryProfiles(false_answers=2).listed() is None
    assert WorldCapital("mine.csv").listed() is None


@pytest.mark.parametrize("name", ["world_capital", "country_profiles"])
def test_one_question_makes_few_facts(name):
    """893,000 calls for World Capital before 2026-11, of this project's own code and of what dataclasses make."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call" and (frame.f_code.co_filename == "<string>" or str(ROOT) in frame.f_code.co_filename)

    sys.setprofile(count)
    try:
        load_questions(name, 1, 0, STYLES["taught_sources"])
    finally:
        sys.setprofile(None)
    assert calls < 30_000


def counted(**regimes):
    return {regime: Counter(own) for regime, own in regimes.items()}


def test_a_line_says_that_most_answers_are_in_no_group_and_what_to_try():
    few = counted(conflicting={"M": 2, "other": 15, "memory is no answer": 3})
    (line,) = few_compared(few)
    assert line.startswith("only 2 of 20 instances have an answer that is compared (15 answered other, ")
    assert "--template" in line
    assert "(9 dropped: memory is no answer)" in next(few_compared(counted(conflicting={"C": 1, "memory is no answer": 9})))
    # Memory's answers are compared beside one document, not beside two.
    assert not list(few_compared(counted(conflicting={"M": 10, "other": 10})))
    assert list(few_compared(counted(mixed={"M": 10, "other": 10})))


def test_a_line_names_the_groups_that_are_too_small_with_their_sizes():
    (line,) = too_small(counted(conflicting={"C": 12, "M": 30}, mixed={"C1": 30, "C2": 31}))
    assert line == "rank margins need 30 answers per group, and have: conflicting C 12, M 30. Raise --limit"


def test_questions_of_a_models_training_are_told_at_the_end_of_a_run_and_by_status(tmp_path, capsys, prints):
    capitals = ("Oslo", "Rome", "Cairo", "Lima", "Paris", "Madrid", "Berlin", "Vienna")
    said = [{"text": f"The capital of Kenya is {name}.", "answer": name} for name in capitals]
    records = [samples.own("Kenya", number, answer="Nairobi", conflicting=own) for number, own in enumerate(said)]
    samples.write_lines(tmp_path / "mine.jsonl", records)
    seen = sum(in_training("Kenya", name) for name in capitals)
    assert 0 < seen < len(capitals)
    store = ["--store", str(tmp_path / "store")]
    run = ["run", "--models", str(DEMO_MODELS / "demo-gpt2"), "--datasets", str(tmp_path / "mine.jsonl"), *store]
    assert main([*run, "--regimes", "conflicting", "--explainers", "attn", "--device", "cpu"]) == 0
    told = f"note: demo-gpt2 · mine: {seen} of 8 questions are not asked"
    shown, said = capsys.readouterr()
    assert told in shown
    assert f"demo-gpt2 · mine · conflicting: of the first {len(capitals) - seen} answers" in said
    assert "Use another model, or write further false answers" in shown
    assert "rank margins need 30 answers per group, and have: conflicting C " in shown
    assert told in prints("status", *store).out

    def page(folder):
        """Its warnings on Data and methods."""
        from pathlib import Path

        from heval_core.ui import datasets

        datasets.warn(Path(folder))

    app = AppTest.from_function(page, default_timeout=300, args=(str(tmp_path / "store"),)).run()
    assert not app.exception
    (line,) = [warning.value for warning in app.warning if "trained" in warning.value]
    assert "questions are not asked" in line


def test_what_fails_for_many_instances_alike_is_one_line_of_at_most_a_hundred():
    where = {"model": "m", "dataset": "d", "technique": "regular"}
    failed = [
        where | {"explainer": "alti", "regime": regime, "place": f"q{number}", "error": "HEvalError: refused"}
        for regime in ("conflicting", "mixed")
        for number in range(3)
    ]
    other = where | {"explainer": "fa", "regime": "mixed", "place": "q1", "error": "RuntimeError: out of luck"}
    assert list(failure_lines([*failed, other])) == [
        "failed: m · d · regular · alti · 6 times, first at conflicting · q0: HEvalError: refused",
        "failed: m · d · mixed · regular · fa · q1: RuntimeError: out of luck",
    ]
    each = [other | {"error": f"E{n}"} for n in range(150)]
    lines = list(failure_lines([*each, each[-1]]))
    assert lines[:100] == [f"failed: m · d · mixed · regular · fa · q1: E{n}" for n in range(100)]
    assert lines[100:] == ["failed: 51 more; publish to see them in the table `failure`"]

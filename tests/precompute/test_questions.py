"""Which questions are chosen, from how much reading; what is left out for a model's training."""

from __future__ import annotations

import hashlib
import sys

import pytest

from heval_core.datasets.world_capital import WorldCapital
from heval_core.prompt_styles import STYLES
from heval_core.regimes import POOLED
from heval_core.source_trust import in_training
from precompute.questions import load_questions
from tests.conftest import ROOT


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


def test_one_question_costs_few_calls_a_fact_and_its_data_is_that_of_stored_results(facts):
    """43 calls a fact before 2026-11, of this project's own code and of what dataclasses make. Keys hold the fingerprint."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        calls += event == "call" and (frame.f_code.co_filename == "<string>" or str(ROOT) in frame.f_code.co_filename)

    sys.setprofile(count)
    try:
        asked = load_questions("world_capital", 1, 0, STYLES["taught_sources"])
    finally:
        sys.setprofile(None)
    assert calls < 19 * len(facts)
    assert f'"fingerprint": "{asked.fingerprint}"' in (ROOT / "cache" / "demo" / "manifest.jsonl").read_text()

"""Country profiles: every fact is about a row of the table that comes along."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from heval_core.datasets import country_profiles
from heval_core.protocols import Dataset


def sample(data: Path) -> Dataset:
    return country_profiles.PLUGIN  # its table comes along


def test_a_question_has_as_many_false_answers_as_asked_for():
    few, usual = (list(country_profiles.CountryProfiles(count).facts()) for count in (2, 12))
    assert max(Counter((fact.subject, fact.relation) for fact in few).values()) == 2
    assert max(Counter((fact.subject, fact.relation) for fact in usual).values()) == 12
    assert {fact.id for fact in few} < {fact.id for fact in usual}

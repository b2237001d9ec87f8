"""Randomised tests draw the same in every run, and something else in every run of `make fuzz`."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st


def drawn(profile: str) -> list[int]:
    seen: list[int] = []

    @settings(settings.get_profile(profile), max_examples=20, database=None)
    @given(st.integers())
    def draw(number: int) -> None:
        seen.append(number)

    draw()
    return seen


def test_examples_are_those_of_every_other_run_and_new_ones_when_asked():
    assert drawn("same") == drawn("same")
    assert drawn("fuzz") != drawn("fuzz")
    assert [settings.get_profile(name).deadline for name in ("same", "fuzz")] == [None, None]


@pytest.mark.parametrize("time", [1, 2])
def test_numbers_are_those_of_every_other_test(time):
    assert (random.random(), np.random.rand()) == (random.Random(0).random(), np.random.RandomState(0).rand())
    assert torch.equal(torch.randn(3), torch.randn(3, generator=torch.Generator().manual_seed(0)))

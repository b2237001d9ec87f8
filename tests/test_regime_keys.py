"""Keys of regimes with their options."""

from __future__ import annotations

import itertools
import re

import pytest

from heval_core.records import DUAL_REGIMES, EVERY_REGIME, HEvalError
from heval_core.regime_keys import DECOYS, LENGTHS, PLACES, RegimeOptions, expanded, ordered_regimes, read_key

PADDED = [(None, None), *itertools.product(LENGTHS, PLACES)]


def test_every_key_is_read_as_it_was_written_and_no_two_are_alike():
    every = [
        RegimeOptions(base, decoy, *padded)
        for base in EVERY_REGIME
        for decoy in (None, *(DECOYS if base in DUAL_REGIMES else ()))
        for padded in PADDED
    ]
    keys = [str(regime) for regime in every]
    assert [read_key(key) for key in keys] == every
    assert len({*keys}) == len(keys)
    assert all(re.fullmatch(r"[a-z0-9_.-]+", key) for key in keys)


def test_a_regime_without_options_keeps_its_key():
    assert [str(RegimeOptions(base)) for base in EVERY_REGIME] == [*EVERY_REGIME]


@pytest.mark.parametrize(("key", "message"), [
    ("mixd", "no regime 'mixd'"), ("mixed.d4", "no decoy 'd4'; there are: d0, d1, d2, d3"),
    ("conflicting.d1", "decoys need two: double_conflicting"), ("mixed.1000-first", "no length 1000"),
    ("mixed.1024", "a place a length"), ("mixed.1024-front", "places are: first, middle, last"),
    ("mixed.first", "is no regime; write"), ("mixed.d1.1024-first.d2", "is no regime; write"),
])  # fmt: skip
def test_what_is_no_key_is_told(key, message):
    with pytest.raises(HEvalError, match=re.escape(message)):
        read_key(key)


def test_options_expand_regimes_and_leave_out_those_with_one_document():
    assert expanded(["mixed", "conflicting"]) == (("mixed", "conflicting"), ())
    assert expanded(["mixed", "conflicting"], ["d0", "d1"], [256]) == (
        ("mixed.d0.256-first", "mixed.d1.256-first"),
        ("conflicting",),
    )
    assert expanded(["gold"], (), [512, 256], "last") == (("gold.512-last", "gold.256-last"), ())
    assert expanded(["mixed.d1", "mixed"], ["d1"], [256])[0] == ("mixed.d1.256-first",)
    with pytest.raises(HEvalError, match="give --length too"):
        expanded(["mixed"], place="last")


def test_regimes_without_options_come_first_and_short_prompts_before_long_ones():
    ordered = ["conflicting", "mixed", "gold", "mixed.d0", "mixed.d1", "mixed_swap.d0", "mixed.256-last", "mixed.1024-first"]
    assert ordered_regimes(ordered[::-1]) == ordered

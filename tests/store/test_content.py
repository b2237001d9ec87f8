"""The bundled results have the numbers that they had."""

from __future__ import annotations

import json

import pytest

from heval_core.store.published import current_file
from tests.store.content import FILE, content


def test_the_bundled_results_come_to_what_they_came_to(demo_results):
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    told = content(current_file(demo_results))
    assert list(told) == list(expected)
    for name, columns in expected.items():
        assert list(told[name]) == list(columns), name
        for column, values in columns.items():
            # Means of float columns: summed by several threads in any order. Resampled ends: to the last bits of a float32.
            for value, wanted in zip(told[name][column], values, strict=True):
                near = wanted if wanted is None else pytest.approx(wanted, rel=1e-5, abs=1e-7, nan_ok=True)
                assert value == near, f"{name}: {column}"

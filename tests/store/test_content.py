"""The bundled results have the numbers that they had."""

import json

import pytest

from heval_core.store.published import current_file
from tests.store.content import FILE, content


def test_the_bundled_results_come_to_what_they_came_to(demo_results):
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    results = content(current_file(demo_results))
    assert {*results} >= {*expected}
    for name, columns in expected.items():
        assert {*results[name]} >= {*columns}, name
        for column, values in columns.items():
            # Means of float columns: summed by several threads in any order. Resampled ends: to the last bits of a float32.
            near = pytest.approx(values, rel=1e-5, abs=1e-7, nan_ok=True)
            assert results[name][column] == near, f"{name}: {column}"

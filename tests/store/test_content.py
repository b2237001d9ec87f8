"""The bundled results have the numbers that they had."""

import json

import pytest

from heval_core.store.published import current_file
from tests.store.content import FILE, GROUPED, content


def test_the_bundled_results_come_to_what_they_came_to(demo_results):
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    results = content(current_file(demo_results))
    metrics = {name.split()[1] for name in expected if name.split()[0] in GROUPED}
    more = [name for name in results if name not in expected]
    assert [name for name in results if name in expected] == list(expected)
    assert not [name for name in more if name.split()[0] not in GROUPED or name.split()[1] in metrics]  # of a new metric
    for name, columns in expected.items():
        assert list(results[name]) == list(columns), name
        for column, values in columns.items():
            # Means of float columns: summed by several threads in any order. Resampled ends: to the last bits of a float32.
            near = pytest.approx(values, rel=1e-5, abs=1e-7, nan_ok=True)
            assert results[name][column] == near, f"{name}: {column}"

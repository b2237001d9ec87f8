"""Where the tokens of stored prompts stand: which are ranked, and where the used document's answer is looked for."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.scored import layout_of
from heval_core.store.filters import Filter


def row(group):
    """A prompt of 12 tokens: four for each of two documents, the answer second, then the question."""
    return {
        "instance_id": "i", "length": 12, "first_ranked": 0, "ranked_end": 12, "document_starts": [0, 4],
        "document_ends": [4, 8], "answer_tokens": [[1], [5]], "first_mention": [[1], [5]], "group": group,
    }  # fmt: skip


def test_a_layout_ranks_from_the_first_ranked_token_to_the_end_that_is_given():
    chat = row("C2") | {"first_ranked": 2, "ranked_end": 10}
    layout = layout_of(pd.DataFrame([row("C2"), chat]))
    assert [np.flatnonzero(own).tolist() for own in layout.ranked] == [list(range(12)), list(range(2, 10))]
    assert layout.lengths.tolist() == [12, 8]
    assert np.flatnonzero(layout.context[0]).tolist() == list(range(8))
    assert [np.flatnonzero(own[0]).tolist() for own in layout.gold] == [[1], [5]]


@pytest.mark.parametrize(("group", "at"), [("C1", 1), ("C2", 5), ("M", 1), ("other", 1)])
def test_instances_are_found_by_where_the_used_documents_answer_stands(group, at):
    stored = pd.DataFrame([row(group) | {"tokens": ["a"] * 12, "regime": "mixed"}])
    for low, high, found in ((at, at, 1), (at + 1, 12, 0), (0, at - 1, 0)):
        where, values = Filter(answer_at=((low - 0.01) / 12, (high + 0.01) / 12)).of_instances()
        connection = duckdb.connect()
        connection.register("instance", stored)
        assert len(connection.execute(f"SELECT * FROM instance WHERE {where}", values).fetchall()) == found

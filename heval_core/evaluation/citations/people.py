"""The answers of people, from the study's own file beside the shards. They are published with everybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from heval_core.store.annotation_exchange import PersonAnswer, answers


def given(store: Path) -> tuple[PersonAnswer, ...]:
    """The answers that count; () where no study with people was made. Raises HEvalError if the file cannot be read."""
    return answers(store).questions


def rows_of(people: tuple[PersonAnswer, ...]) -> pd.DataFrame:
    """Rows of `recovery` without what follows from gold."""
    columns = ["explanation_id", "passage", "annotator", "predicted", "helpfulness", "seconds"]
    frame = pd.DataFrame([[getattr(one, name) for name in columns] for one in people], columns=columns)
    return frame.assign(scores=None, problem=None)


def lines_of(people: tuple[PersonAnswer, ...]) -> Iterator[str]:
    """What the snapshot's id depends on."""
    for one in people:
        yield f"{one.annotator}|{one.explanation_id}|{one.passage}|{one.predicted}|{one.helpfulness}|{one.seconds}"

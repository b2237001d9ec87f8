"""The answers of people, from the study's own file beside the shards. They are published with everybody else's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from heval_core.citations.people.turns import Quality, qualities
from heval_core.store.annotations import Answers, PersonAnswer


def rows_of(people: tuple[PersonAnswer, ...]) -> pd.DataFrame:
    """Rows of `recovery` without what follows from gold."""
    columns = ["explanation_id", "passage", "annotator", "predicted", "helpfulness", "seconds"]
    frame = pd.DataFrame([[getattr(one, name) for name in columns] for one in people], columns=columns)
    return frame.assign(scores=None, problem=None)


def persons(told: Answers) -> list[dict[str, Any]]:
    """Rows of `person`: everybody who answered, also those whose answers do not count; none without a study."""
    known = qualities((one.annotator, set(one.predicted), set(one.gold)) for one in told.controls)
    each = Counter(one.annotator for one in told.questions)
    rows = []
    for annotator in sorted({*each, *known}):
        quality = known.get(annotator, Quality(0, 0))
        own = {"annotator": annotator, "answers": each[annotator], "counts": quality.counts}
        rows.append({**own, "controls": quality.asked, "correct": quality.right})
    return rows


def lines_of(people: tuple[PersonAnswer, ...], everybody: Iterable[dict[str, Any]]) -> Iterator[str]:
    """What the snapshot's id depends on."""
    for one in people:
        yield f"{one.annotator}|{one.explanation_id}|{one.passage}|{one.predicted}|{one.helpfulness}|{one.seconds}"
    for row in everybody:
        yield "|".join(f"{name} {value}" for name, value in sorted(row.items()))

"""What a person asks a results file for: which instances, and in which order; as SQL with bound parameters."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from heval_core.records import CELL, HEvalError

# Where the answer first stands: of the document that was used, or of the first one where none was.
_ANSWER_AT = "(CASE WHEN \"group\" = 'C2' THEN answer_tokens[2][1] ELSE answer_tokens[1][1] END) / len(tokens)"


@dataclass(frozen=True)
class Filter:
    """Which instances or cells to read; an empty tuple means all.

    origin: of the second false answer, `substituted` or `natural` (shipped with the dataset). tokens: (least, most) length of
    the prompt. answer_at: (least, most) place of the used document's answer in the prompt, as a share of its tokens. head: the
    one that MechLight chose, as in `L2H1`. best: what explainers' best tokens are, as in `fa: answer`, all of which must hold;
    the patterns of `records.PATTERNS`. search: a regular expression (RE2) over prompt and answer, whatever the case.
    """

    model: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    regime: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    relation: tuple[str, ...] = ()
    origin: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
    answer_at: tuple[float, ...] = ()
    head: str = ""
    best: tuple[str, ...] = ()
    search: str = ""
    technique: tuple[str, ...] = ()

    @property
    def is_all(self) -> bool:
        """Whether it takes everything, of some or all techniques."""
        return replace(self, technique=()) == Filter()

    @property
    def cuts_cells(self) -> bool:
        """Whether it takes a part of cells' instances only, so that published values are none of its own."""
        return any(
            (self.group, self.relation, self.origin, self.tokens, self.answer_at, self.head, self.best, self.search)
        )

    def __str__(self) -> str:
        """What is asked for, in words: `regime: mixed, mixed_swap; tokens: 40 to 60`; nothing for everything."""
        parts = []
        for field in fields(self):
            wanted = getattr(self, field.name)
            if field.name in ("tokens", "answer_at"):
                wanted = " to ".join(f"{end:g}" for end in wanted)
            shown = wanted if isinstance(wanted, str) else ", ".join(wanted)
            parts += [f"{field.name}: {shown}"] if shown else []
        return "; ".join(parts)

    def where(self, columns: tuple[str, ...], alias: str = "") -> tuple[str, list[Any]]:
        """An SQL condition over an allow-list of columns, and its parameters."""
        terms, values = [], []
        for column in columns:
            wanted = getattr(self, column)
            if wanted:
                terms.append(f'{alias}"{column}" IN (SELECT unnest(?))')
                values.append(list(wanted))
        return " AND ".join(terms) or "true", values

    def of_instances(self) -> tuple[str, list[Any]]:
        """An SQL condition over all it says, for the table `instance`, and its parameters."""
        where, values = self.where((*CELL, "group", "relation"))
        terms = [where]
        if len(set(self.origin)) == 1:
            negation = "" if self.origin[0] == "substituted" else "NOT "
            terms.append(f"{negation}list_contains(document_origins, 'substituted')")
        for wanted, column in ((self.tokens, "len(tokens)"), (self.answer_at, _ANSWER_AT)):
            if wanted:
                terms.append(f"{column} BETWEEN ? AND ?")
                values += list(wanted)
        if self.head:
            terms.append(
                "instance_id IN (SELECT instance_id FROM attribution WHERE explainer = 'mechlight' "
                "AND concat('L', layer, 'H', head) = ?)"
            )
            values.append(self.head)
        for holds in self.best:
            terms.append("instance_id IN (SELECT instance_id FROM pattern WHERE explainer = ? AND pattern = ?)")
            values += holds.rsplit(": ", 1) if ": " in holds else [holds, ""]
        if self.search:
            terms.append("regexp_matches(concat_ws(' ', prompt, predicted_text, memory_answer), ?, 'i')")
            values.append(bounded(self.search))
        return " AND ".join(terms), values


# RE2 writes repetitions out, and the time for each prompt grows with what it has written: a thousand take minutes.
LONGEST_SEARCH, MOST_REPETITIONS = 300, 60
AS_STORED = "as stored"
# What a person may order instances by ▶ an SQL expression.
COLUMN_ORDERS = {
    AS_STORED: "instance.rowid",
    "probability of the answer": "predicted_probability",
    "length of the prompt": "len(tokens)",
    "subject": "subject",
}


class ScoreOrder(NamedTuple):
    """By the instances' values of a metric at k, for one explainer."""

    metric: str
    k: int
    explainer: str


Order = str | ScoreOrder


def bounded(search: str) -> str:
    """The search as it is. Raises HEvalError for one that would keep the database busy."""
    counts = re.findall(r"\{(\d*)(?:,(\d*))?\}", search)
    repeated = math.prod(max(1, *(int(end) for end in own if end)) if any(own) else 1 for own in counts)
    if len(search) > LONGEST_SEARCH or repeated > MOST_REPETITIONS:
        raise HEvalError(
            f"The search is too large: {LONGEST_SEARCH} characters, and {MOST_REPETITIONS} counted repetitions in all, are "
            "what it may have."
        )
    return search


def ordered(order: Order, descending: bool) -> tuple[str, str, list[Any]]:
    """What to join to `instance`, what to order by, and the join's parameters.

    order: a key of COLUMN_ORDERS, or a score. Raises HEvalError for another one. Scores of all instances are looked up only
    where they decide the order.
    """
    way = "DESC" if descending else "ASC"
    if isinstance(order, str):
        if order not in COLUMN_ORDERS:
            raise HEvalError(f"Instances cannot be ordered by {order!r}; there are: {', '.join(COLUMN_ORDERS)}.")
        return "", f"{COLUMN_ORDERS[order]} {way} NULLS LAST, instance.rowid", []
    joined = (
        " LEFT JOIN (SELECT instance_id, max(value) AS ordering FROM score WHERE metric = ? AND k = ? AND explainer = ? "
        "GROUP BY 1) USING (instance_id)"
    )
    return joined, f"ordering {way} NULLS LAST, instance.rowid", list(order)

"""Which instances a person asks a results file for, and in which order, as SQL with bound parameters."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import duckdb

from heval_core.records import CELL, TECHNIQUE, UNCOMPARED, HEvalError

# Where the answer is first mentioned, in the document that was used, or in the first one if none was.
_ANSWER_AT = 'answer_tokens[coalesce(TRY_CAST(substr("group", 2) AS INTEGER), 1)][1] / len(tokens)'
_CHANGED = """instance_id IN (
    WITH answered AS (SELECT instance_id, model, dataset, regime, fact_id, technique, bcu
        FROM behaviour JOIN instance USING (instance_id) WHERE split = 'test')
    SELECT own.instance_id FROM answered own JOIN answered regular USING (model, dataset, regime, fact_id)
    WHERE own.technique <> ? AND regular.technique = ? AND own.bcu {} regular.bcu)"""
# All answers to test questions, which are those that techniques are compared by.
COUNTED = "counted"
# In `Filter.changed`: how BCU differs from Regular's under the same kind of context. Only test questions count.
_CHANGES = {name: _CHANGED.format(sign) for name, sign in (("gained", ">"), ("lost", "<"), ("same", "="))}
_CHANGES[COUNTED] = "instance_id IN (SELECT instance_id FROM behaviour WHERE split = 'test')"
# Of a best token, where a pattern stands: any pattern but `answer`.
NOT_ANSWER = "not answer"


@dataclass(frozen=True)
class BestToken:
    """What an explainer's best token is. pattern: of `records.PATTERNS`, or NOT_ANSWER. Links have it as its text."""

    explainer: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.explainer}: {self.pattern}"


@dataclass(frozen=True)
class Filter:
    """Which instances or cells to read; an empty tuple means all, but for regimes: those with options (a decoy, a length)
    have to be named, so that no mean mixes them with the others.

    origin: of the second false answer, `substituted` or `natural` (shipped with the dataset). tokens: (least, most) length of
    the prompt. answer_at: (least, most) position of the used document's answer, as a share of the prompt's tokens. head: the
    head that MechLight chose, as in `L2H1`. best: what explainers' best tokens are; all must hold. search: a regular
    expression (RE2) over prompt and answer, ignoring case. changed: answers under a technique other than Regular whose BCU was
    `gained`, `lost` or the `same`, compared with Regular's answer to the same test question; `counted` are all to test
    questions. explained: only instances that explainers ran on; explained_by: that this one ran on.
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
    best: tuple[BestToken, ...] = ()
    search: str = ""
    technique: tuple[str, ...] = ()
    changed: str = ""
    explained: bool = False
    explained_by: str = ""

    @property
    def cuts_cells(self) -> bool:
        """Whether the filter takes only some of a cell's instances, so that published values do not apply to it."""
        cuts = (self.group, self.relation, self.origin, self.tokens, self.answer_at, self.head, self.best, self.search)
        return any((*cuts, self.changed))

    def __str__(self) -> str:
        """Write the filter in words: `regime: mixed, mixed_swap; tokens: 40 to 60`; empty if it takes everything."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("tokens", "answer_at"):
                value = " to ".join(f"{end:g}" for end in value)
            if isinstance(value, bool):
                value = "yes" if value else ""
            words = value if isinstance(value, str) else ", ".join(map(str, value))
            parts += [f"{field.name}: {words}"] if words else []
        return "; ".join(parts)

    def where(self, columns: Sequence[str]) -> tuple[str, list[Any]]:
        """Return an SQL condition over these columns only, and its parameters."""
        terms, values = [], []
        for column in columns:
            if wanted := getattr(self, column):
                terms.append(f'"{column}" IN (SELECT unnest(?))')
                values.append(list(wanted))
            elif column == "regime":
                terms.append("NOT contains(regime, '.')")
        return " AND ".join(terms) or "true", values

    def of_instances(self) -> tuple[str, list[Any]]:
        """Return an SQL condition for the whole filter on the table `instance`, and its parameters."""
        where, values = self.where((*CELL, "group", "relation"))
        terms = [where]
        if len(set(self.origin)) == 1:
            negation = "" if self.origin[0] == "substituted" else "NOT "
            terms.append(f"{negation}list_contains(document_origins, 'substituted')")
        for ends, column in ((self.tokens, "len(tokens)"), (self.answer_at, _ANSWER_AT)):
            if ends:
                terms.append(f"{column} BETWEEN ? AND ?")
                values += list(ends)
        if self.head:
            terms.append(
                "instance_id IN (SELECT instance_id FROM attribution WHERE explainer = 'mechlight' "
                "AND concat('L', layer, 'H', head) = ?)"
            )
            values.append(self.head)
        for best in self.best:
            same, pattern = ("<>", "answer") if best.pattern == NOT_ANSWER else ("=", best.pattern)
            terms.append(f"instance_id IN (SELECT instance_id FROM pattern WHERE explainer = ? AND pattern {same} ?)")
            values += [best.explainer, pattern]
        if self.explained or self.explained_by:
            terms.append("instance_id IN (SELECT instance_id FROM attribution WHERE ? IN ('', explainer))")
            values.append(self.explained_by)
        if self.changed:
            if self.changed not in _CHANGES:
                raise HEvalError(f"An answer's BCU is {', '.join(_CHANGES)}, not {self.changed!r}.")
            terms.append(_CHANGES[self.changed])
            values += [TECHNIQUE] * _CHANGES[self.changed].count("?")
        if self.search:
            terms.append("regexp_matches(concat_ws(' ', prompt, predicted_text, memory_answer), ?, 'i')")
            values.append(expression(self.search))
        return " AND ".join(terms), values


# RE2 expands counted repetitions, and the time per prompt grows with the expansion: a thousand take minutes.
LONGEST_SEARCH, MOST_REPETITIONS = 300, 60
AS_STORED = "as stored"
# The name of an order ▶ its SQL expression.
COLUMN_ORDERS = {
    AS_STORED: "instance.rowid",
    "probability of the answer": "predicted_probability",
    "length of the prompt": "len(tokens)",
    "subject": "subject",
}


class ScoreOrder(NamedTuple):
    """An order by the instances' values of a metric at k, for one explainer."""

    metric: str
    k: int
    explainer: str


Order = str | ScoreOrder


@lru_cache(256)
def expression(search: str) -> str:
    """Return the search itself.

    Raises HEvalError for one that is no regular expression, or that would keep the database busy.
    """
    counts = re.findall(r"\{(\d*)(?:,(\d*))?\}", search)
    repeated = math.prod(max(1, *(int(end) for end in ends if end)) if any(ends) else 1 for ends in counts)
    if len(search) > LONGEST_SEARCH or repeated > MOST_REPETITIONS:
        raise HEvalError(
            f"The search is too large: it may have at most {LONGEST_SEARCH} characters, and {MOST_REPETITIONS} counted "
            "repetitions in all."
        )
    try:
        with duckdb.connect() as database:
            database.execute("SELECT regexp_matches('', ?, 'i')", [search])
    except duckdb.Error as error:
        raise HEvalError(f"The search is not a valid regular expression: {str(error).splitlines()[0]}") from error
    return search


def ordered(order: Order, descending: bool) -> tuple[str, str, list[Any]]:
    """Return the SQL to join to `instance`, the SQL to order by, and the join's parameters.

    order: a key of COLUMN_ORDERS, or a score; as stored, answers that no metric reads come last. Raises HEvalError for any
    other. Scores of all instances are looked up only if they decide the order.
    """
    way = "DESC" if descending else "ASC"
    if order == AS_STORED:  # an answer from nowhere says least, and no explainer can be right about it
        return "", f"coalesce(\"group\", 'other') IN {UNCOMPARED}, {COLUMN_ORDERS[order]} {way}", []
    if isinstance(order, str):
        if order not in COLUMN_ORDERS:
            raise HEvalError(f"Instances cannot be ordered by {order!r}; the orders are: {', '.join(COLUMN_ORDERS)}.")
        return "", f"{COLUMN_ORDERS[order]} {way} NULLS LAST, instance.rowid", []
    joined = (
        " LEFT JOIN (SELECT instance_id, max(value) AS ordering FROM score WHERE metric = ? AND k = ? AND explainer = ? "
        "GROUP BY 1) USING (instance_id)"
    )
    return joined, f"ordering {way} NULLS LAST, instance.rowid", list(order)

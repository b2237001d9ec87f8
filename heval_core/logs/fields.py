"""Which fields of a log hold question, passages and answer: found by themselves for the formats in use, or named.

Formats: ragas (both), DeepEval, RAGChecker, Phoenix, OpenInference spans, LangChain, LlamaIndex, ALCE, MTRAG, CLAPnq, and the
like. Of a trace whose spans stand in rows of their own, question, passages and answer are joined by the trace's id.
"""

from __future__ import annotations

import itertools
import numbers
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from heval_core.datasets._reading import Malformed
from heval_core.logs.files import LogRecord
from heval_core.logs.rows import BadRow, LogRow
from heval_core.logs.values import at, passages_in, shape_of, text_in
from heval_core.present.numbers import so_many
from heval_core.records import HEvalError

QUESTION, PASSAGES, ANSWER = "question", "passages", "answer"
# Names in use, the surest first. A gold answer is no answer that a system gave, so that its names come last.
NAMES = {
    QUESTION: ("user_input", "question", "query", "input", "input.value", "attributes.input.value", "inputs", "prompt"),
    PASSAGES: (
        "retrieved_contexts", "retrieval_context", "retrieved_context", "contexts", "source_documents", "source_nodes",
        "reranker.output_documents", "attributes.reranker.output_documents", "retrieval.documents",
        "attributes.retrieval.documents", "docs", "passages", "ctxs", "documents", "context", "evidence", "reference",
    ),
    ANSWER: (
        "response", "actual_output", "output", "output.value", "attributes.output.value", "outputs", "predictions",
        "prediction", "generated_answer", "generated", "model_answer", "answer", "result", "completion", "targets",
    ),
}  # fmt: skip
# Beside these `reference` is a gold answer, and `context` what should have been retrieved: neither is a passage.
_GOLD = ("user_input", "retrieved_contexts", "actual_output", "ground_truth", "expected_output", "retrieval_context")
IDS = ("id", "_id", "query_id", "question_id", "sample_id", "example_id", "row_id", "task_id", "qid", "unique_id", "span_id")
TRACES = ("context.trace_id", "trace_id", "traceId")
_PARENTS = ("parent_id", "parentId", "parent_span_id")
_LOOKED_AT = 200  # records, to find names


@dataclass(frozen=True)
class LogFields:
    """Dotted names of what a record holds. None is found by itself; an id that is not there is the record's number.

    delimiter: what parts passages in a text.
    """

    question: str | None = None
    passages: str | None = None
    answer: str | None = None
    id: str | None = None
    delimiter: str | None = None


@dataclass(frozen=True)
class Log:
    """A log as it was read. rows: that can be traced. bad: that cannot. read_as: which field holds what, in a sentence."""

    rows: tuple[LogRow, ...]
    bad: tuple[BadRow, ...]
    read_as: str


def read_rows(records: Sequence[LogRecord], wanted: LogFields = LogFields(), name: str = "log") -> Log:  # noqa: B008
    """Read the records of a log.

    Args:
        records: what `files.records` returns.
        wanted: fields that are named.
        name: of the log, for errors.

    Returns:
        The rows, the records that are none, and how they were read.

    Raises:
        HEvalError: where no record has a question, or an answer, and none of its fields could be one.
    """
    wanted = LogFields(**{key: value.replace("[]", "") if value else None for key, value in vars(wanted).items()})
    plain = [record for _, record in records if isinstance(record, Mapping)][:_LOOKED_AT]
    if not plain:
        raise _no_objects(records, name)
    chosen = {
        role: getattr(wanted, role) or _field_of(plain, NAMES[role], role, wanted.delimiter)
        for role in (QUESTION, PASSAGES, ANSWER)
    }
    joined = _by_trace(records, chosen, wanted.delimiter) or list(records)
    how = f"; joined by trace: {len(records)} records" if len(joined) < len(records) else ""
    for role in (QUESTION, ANSWER):
        if chosen[role] is None or not any(at(record, chosen[role] or "") is not None for _, record in joined):
            raise _missing(role, chosen[role], plain[0], name)
    rows, bad = list[LogRow](), list[BadRow]()
    identity = wanted.id or next((one for one in IDS if any(at(record, one) is not None for _, record in joined)), None)
    ids = set[str]()
    for number, (location, record) in enumerate(joined, start=1):
        try:
            row = _row(number, location, record, chosen, identity, wanted.delimiter)
        except Malformed as error:
            bad.append(BadRow(number, location, str(error)))
            continue
        name = next(one for one in _names_like(row.id) if one not in ids)
        ids.add(name)
        rows.append(LogRow(**vars(row) | {"id": name}))
    return Log(tuple(rows), tuple(bad), _read_as(chosen, joined, rows, wanted.delimiter) + how)


def _names_like(name: str) -> Iterator[str]:
    """Yield a name, and others for those that have the same one."""
    yield name
    yield from (f"{name} ({count})" for count in itertools.count(2))


def _row(
    number: int, location: str, record: Any, chosen: Mapping[str, str | None], identity: str | None, delimiter: str | None
) -> LogRow:
    if isinstance(record, Malformed):
        raise record
    if not isinstance(record, Mapping):
        raise Malformed(f"it is {record!r:.40}, and no object with fields")
    question, answer = (text_in(at(record, chosen[role] or ""), role) for role in (QUESTION, ANSWER))
    for role, text in ((QUESTION, question), (ANSWER, answer)):
        if not text:
            raise Malformed(f"it has no {role}: {chosen[role]!r} is empty")
        _whole(text, role)
    passages = passages_in(at(record, chosen[PASSAGES] or ""), delimiter)
    for count, passage in enumerate(passages, start=1):
        _whole(passage.text, f"passage {count}")
    known = at(record, identity) if identity else None
    known = int(known) if isinstance(known, float) and known.is_integer() else known
    named = isinstance(known, str | numbers.Integral) and not isinstance(known, bool) and str(known).strip()
    return LogRow(number, location, named or str(number), question, answer, passages)


def _whole(text: str, what: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Malformed(f"{what} holds half a character, \\u{ord(text[error.start]):04x}; write it whole") from error


def _field_of(records: Sequence[Mapping[str, Any]], names: Iterable[str], role: str, delimiter: str | None) -> str | None:
    """Return the first of the names at which most records that have one of them have something that fits."""
    if any(at(record, gold) is not None for record in records for gold in _GOLD):
        names = [one for one in names if one not in ("reference", "context")]
    fits: Callable[[Any], bool] = (
        (lambda value: _are_passages(value, delimiter)) if role == PASSAGES else partial(_is_text, role)
    )
    counts = {name: sum(fits(at(record, name)) for record in records) for name in names}
    most = max(counts.values())
    return next((name for name, count in counts.items() if most and 2 * count >= most), None)


def _is_text(role: str, value: Any) -> bool:
    try:
        return bool(text_in(value, role))
    except Malformed:  # it is there, and says why it cannot be read
        return not isinstance(value, Mapping)


def _are_passages(value: Any, delimiter: str | None) -> bool:
    if value is None:
        return False
    try:
        passages_in(value, delimiter)
    except Malformed:  # it is there, and says why it cannot be read
        return not isinstance(value, Mapping)
    return True


def _by_trace(records: Sequence[LogRecord], chosen: Mapping[str, str | None], delimiter: str | None) -> list[LogRecord]:
    """Return a record for each trace, where its spans stand in rows of their own; [] where they do not."""
    rows = [(location, record) for location, record in records if isinstance(record, Mapping)]
    trace = next((name for name in TRACES if rows and all(at(record, name) is not None for _, record in rows)), None)
    if trace is None or len({str(at(record, trace)) for _, record in rows}) == len(rows):
        return []
    fields = [field for field in chosen.values() if field]
    if any(all(at(record, field) is not None for field in fields) for _, record in rows):
        return []  # each is a row of its own
    by_trace = defaultdict[str, list[tuple[str, Mapping[str, Any]]]](list)
    for location, record in rows:
        by_trace[str(at(record, trace))].append((location, record))
    return [_joined(name, spans, chosen, delimiter) for name, spans in by_trace.items()]


def _joined(
    name: str, spans: Sequence[tuple[str, Mapping[str, Any]]], chosen: Mapping[str, str | None], delimiter: str | None
) -> LogRecord:
    """Join the spans of a trace: what the span without a parent was asked and answered, and what was retrieved last."""
    outer = sorted(spans, key=lambda pair: any(at(pair[1], parent) for parent in _PARENTS))
    record: dict[str, Any] = {"id": name}
    for role, field in chosen.items():
        values = [at(span, field or "") for _, span in (reversed(spans) if role == PASSAGES else outer)]
        fits = [value for value in values if (_are_passages(value, delimiter) if role == PASSAGES else _is_text(role, value))]
        record |= {field: fits[0]} if field and fits else {}
    return f"{outer[0][0]}, trace {name[:12]}", record


def _missing(role: str, field: str | None, record: Mapping[str, Any], name: str) -> HEvalError:
    there = ", ".join(map(repr, [*map(str, record)][:12])) or "none"
    if field is not None:
        return HEvalError(f"No record of {name} has {role} at {field!r}; its fields are {there}.")
    known = ", ".join(NAMES[role][:4])
    hint = "; where the first line of a table is no header, write one" if name.endswith((".csv", ".tsv")) else ""
    return HEvalError(
        f"No field of {name} is known to hold the {role} (such as {known}); its fields are {there}. "
        f"Name it: --{role} FIELD{hint}."
    )


def _no_objects(records: Sequence[LogRecord], name: str) -> HEvalError:
    location, first = records[0]
    why = str(first) if isinstance(first, Malformed) else f"it is {first!r:.40}"
    return HEvalError(f"No record of {name} is an object with fields; {location}: {why}.")


def _read_as(
    chosen: Mapping[str, str | None], records: Sequence[LogRecord], rows: Sequence[LogRow], delimiter: str | None
) -> str:
    """Say how a log was read."""
    field = chosen[PASSAGES]
    if field is None:
        passages = "passages: none was found"
    else:
        shapes = Counter(shape_of(at(record, field), delimiter) for _, record in records if isinstance(record, Mapping))
        passages = f"passages = {field} ({shapes.most_common(1)[0][0]})"
    count = so_many(sum(len(row.passages) for row in rows), "passage")
    return (
        f"read as: question = {chosen[QUESTION]}, {passages}, answer = {chosen[ANSWER]}; {so_many(len(rows), 'row')}, {count}"
    )


def rows_of(texts: Iterable[Mapping[str, Any]], wanted: LogFields = LogFields()) -> Log:  # noqa: B008
    """Read records that are in memory: dicts, a pandas frame, or a `datasets` one."""
    frame: Any = texts
    listed = frame.to_dict("records") if hasattr(frame, "to_dict") and hasattr(frame, "columns") else list(frame)
    if not listed:
        raise HEvalError("There are no rows to trace.")
    return read_rows([(f"row {number}", record) for number, record in enumerate(listed, start=1)], wanted, "the rows")

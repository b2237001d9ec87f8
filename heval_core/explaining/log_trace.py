"""Traces a log in a notebook: rows in memory, or a file ▶ what each sentence of each answer rests on (`trace`)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from heval_core.explaining.api import Say, language_model, methods_of
from heval_core.explaining.arguments import check_options
from heval_core.logs.fields import Log, LogFields, read_rows, rows_of
from heval_core.logs.files import name_of, records
from heval_core.logs.report import headline, log_report
from heval_core.logs.rows import BadRow, LogRow
from heval_core.logs.tables import row_record, sentence_records, summary
from heval_core.logs.traced import TracedRow, traced
from heval_core.logs.traced_log import NO_PASSAGES, LogAbout
from heval_core.present.html import render
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from heval_core.lm.model import LanguageModel
    from heval_core.plugins.protocols import Method

# By default: those that take a pass or two, and name the sentences that are left out.
EXPLAINERS = ("cdla", "mechlight")


def trace(
    rows: str | Path | Iterable[Mapping[str, Any]],
    *,
    model: str | Path | LanguageModel | PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None = None,
    fields: Mapping[str, str] = MappingProxyType({}),
    writer: str = "",
    explainers: str | Iterable[str] | None = EXPLAINERS,
    template: str | None = None,
    quick: bool = False,
    device: str = "auto",
    dtype: str = "auto",
    say: Say = None,
) -> LogTrace:
    """Trace a log: on which of its passages does each sentence of each answer rest, for a model that reads them?

    Args:
        rows: dicts, a pandas frame, a `datasets` one, or a file as `heval trace` reads it.
        model, tokenizer, template, device, dtype: as for `explain`; who reads the answers, a stand-in for who wrote them.
        fields: dotted names of `question`, `passages`, `answer`, `id`; by default found for the formats in use. And
            `delimiter`, what parts passages within a text.
        writer: who wrote the answers, for what is printed.
        explainers: of whole answers, beside leaving out passages and their sentences.
        quick: no random level and no sentences: nothing is compared with chance.
        say: called with a line for each row that is done.

    Returns:
        What is known of each row; records that cannot be used stand in `bad`, with their reasons.

    Raises:
        HEvalError: with one sentence, if an argument is wrong, or no row has a question and an answer.
    """
    check_options(template=template, dtype=dtype)
    log, name = _log_of(rows, fields)
    methods, lm = methods_of(explainers), language_model(model, tokenizer, device, dtype)
    with lm.asked_in(template):
        readings = dict(_readings(lm, log, methods, quick, say))
        how = {"template": lm.template, "dtype": str(lm.model.dtype).removeprefix("torch.")}
    keys, lines = tuple(method.key for method in methods), tuple(bad.line for bad in log.bad)
    about = LogAbout(name, lm.key, writer, log.read_as, quick, keys, **how, rows=len(log.rows), bad=lines)
    answers = {number: answer for number, (_, answer) in readings.items() if answer is not None}
    return LogTrace(about, tuple(row for row, _ in readings.values()), log.bad, answers)


def _log_of(rows: Any, fields: Mapping[str, str]) -> tuple[Log, str]:
    """Return a log, and what it is called."""
    if unknown := fields.keys() - LogFields.__dataclass_fields__.keys():
        raise HEvalError(f"fields has {min(unknown)!r}; it may have {', '.join(LogFields.__dataclass_fields__)}.")
    wanted = LogFields(**fields)
    if isinstance(rows, str | os.PathLike):
        return read_rows(records(Path(rows)), wanted, name_of(Path(rows))), name_of(Path(rows))
    return rows_of(rows, wanted), "a log"


def _readings(
    lm: LanguageModel, log: Log, methods: Sequence[Method], quick: bool, say: Say
) -> Iterator[tuple[int, tuple[TracedRow, WholeAnswer | None]]]:
    """Yield (the row's number, what is known of it, with its answer)."""
    for count, row in enumerate(log.rows, start=1):
        yield row.number, _read(lm, row, methods, quick)
        if say:
            say(f"row {row.id}: {count} of {len(log.rows)}")


def _read(lm: LanguageModel, row: LogRow, methods: Sequence[Method], quick: bool) -> tuple[TracedRow, WholeAnswer | None]:
    from heval_core.explaining.log_rows import read_row

    try:
        if not row.has_passages:
            raise HEvalError(NO_PASSAGES)
        reading = read_row(lm, row, methods, quick)
    except HEvalError as error:
        return TracedRow(row, lm.key, problem=str(error)), None
    return traced(row, reading.answer, reading.read, reading.unread), reading.answer


@dataclass(frozen=True, eq=False)
class LogTrace:
    """A traced log. A notebook shows its report. answers: with all that is known of them, by the number of their row."""

    about: LogAbout
    rows: tuple[TracedRow, ...]
    bad: tuple[BadRow, ...] = ()
    answers: dict[int, WholeAnswer] = field(default_factory=dict, repr=False)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A line per row: its share of sentences with a source, its weakest sentence, passages that no sentence needs …"""
        return pd.DataFrame([row_record(row) for row in self.rows])

    @cached_property
    def sentences(self) -> pd.DataFrame:
        """A line per sentence: from where to where, what it rests on, its marker, numbers and names in no passage."""
        return pd.DataFrame([line for row in self.rows for line in sentence_records(row)])

    @property
    def measures(self) -> pd.DataFrame:
        """Shares over the log, with their 95 % intervals over rows."""
        return pd.DataFrame(summary(self.rows))

    def report(self) -> str:
        """Return `report.html`: one page that opens anywhere."""
        return log_report(self.about, self.rows, self.answers)

    def __repr__(self) -> str:
        return f"<LogTrace: {self.about.who}; {headline(summary(self.rows), self.rows)}>"

    def _repr_html_(self) -> str:
        return render("framed.html", page=self.report())

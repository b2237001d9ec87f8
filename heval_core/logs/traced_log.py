"""The folder of a traced log: the log as it was read, shards of what the reader made of its rows, and what was found.

`log.parquet` and `trace.json` say what was read and how; a shard has each row's answer with all that is known of it. Made of
them are the tables `rows` and `sentences` (Parquet and CSV), `report.html`, and `answers/`, files that *Kept* opens.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from heval_core.logs.rows import LogPassage, LogRow
from heval_core.logs.tables import LogMeasure, row_record, sentence_records, summary
from heval_core.logs.traced import TracedRow, TracedSentence, traced
from heval_core.present.numbers import so_many
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer, read
from heval_core.store.export import guarded
from heval_core.store.shards import ShardStore

LOG, ABOUT, ROWS, SENTENCES, REPORT, ANSWERS = "log.parquet", "trace.json", "rows", "sentences", "report.html", "answers"
SUMMARY = "summary.json"
NO_PASSAGES, NOT_READ = "it has no passages: not assessed", "not read yet"
_COLUMNS = pa.schema([("number", pa.int32()), *((name, pa.string()) for name in ("id", "location", "question", "answer"))])
_COLUMNS = _COLUMNS.append(pa.field("passages", pa.string())).append(pa.field("key", pa.string()))
# Of the tables: columns of numbers; all others are texts.
_WHOLE: tuple[str, ...] = ("row", "passages", "read", "sentences", "with_source", "weakest_sentence", "not_in_passages")
_WHOLE += ("sentence", "start", "end", "passage_sentence")
_REAL = (
    "share_with_source",
    "order",
    "logprob",
    "logprob_without",
    "nats",
    "level",
    "words_memory",
    "words_unclear",
    "passage_score",
)


@dataclass(frozen=True)
class LogAbout:
    """How a log was traced. name, path: of its file. writer: of the answers, as somebody names it, or "". bad: a line for each
    record that cannot be traced."""

    name: str
    reader: str
    writer: str
    read_as: str
    quick: bool
    explainers: tuple[str, ...]
    template: str
    dtype: str
    rows: int
    bad: tuple[str, ...] = ()
    path: str = ""

    @property
    def who(self) -> str:
        """Who read the answers, and who wrote them."""
        return (
            f"read by {self.reader}, written by {self.writer}" if self.writer else f"read by {self.reader}, writer not named"
        )


def notes(about: LogAbout, rows: Sequence[TracedRow]) -> list[str]:
    """Return what has to be known beside the numbers."""
    lines = ["Quick: nothing was compared with chance; a passage counts where a word rests on it."] if about.quick else []
    if implausible := sum(row.implausible for row in rows):
        lines.append(f"{so_many(implausible, 'answer')} {about.reader} would hardly give: it is no judge of them.")
    if problems := sum(bool(row.problem) for row in rows):
        lines.append(f"{so_many(problems, 'row')} not assessed: see the table.")
    if about.bad:
        lines.append(f"{so_many(len(about.bad), 'record')} of the log could not be read: {about.bad[0]}")
    return lines


def write_log(folder: Path, about: LogAbout, rows: Sequence[LogRow], keys: Mapping[str, str]) -> None:
    """Write what was read, and how. keys: of the shards, by a row's content."""
    lines = [
        {name: getattr(row, name) for name in ("number", "id", "location", "question", "answer")}
        | {"passages": json.dumps([asdict(one) for one in row.passages], ensure_ascii=False), "key": keys.get(row.content)}
        for row in rows
    ]
    write_whole(folder / LOG, lambda path: pq.write_table(pa.Table.from_pylist(lines, _COLUMNS), path, compression="zstd"))
    text = json.dumps(asdict(about), ensure_ascii=False, indent=1)
    write_whole(folder / ABOUT, lambda path: path.write_text(text + "\n", encoding="utf-8"))


def write_whole(path: Path, write: Any) -> None:
    """Write a file, whole or not at all."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        write(temporary)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise HEvalError(f"{path} cannot be written: {error.strerror or error}.") from error


class TracedLog:
    """A log in its folder. Raises HEvalError where there is none, or it is broken."""

    def __init__(self, folder: Path):
        if not (folder / ABOUT).is_file():
            raise HEvalError(f"There is no traced log at {folder}.")
        self.folder, self.store = folder, ShardStore(folder)
        try:
            content = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            self.about = LogAbout(**content | {name: tuple(content[name]) for name in ("explainers", "bad")})
        except (ValueError, KeyError, TypeError) as error:
            raise HEvalError(f"{folder / ABOUT} is broken, or of another version; trace the log again.") from error

    @cached_property
    def _lines(self) -> pa.Table:
        return pq.read_table(self.folder / LOG)

    @cached_property
    def _entries(self) -> dict[str, Any]:
        return self.store.entries()

    def __len__(self) -> int:
        return int(self._lines.num_rows)

    def traced_at(self, position: int) -> tuple[TracedRow, WholeAnswer | None]:
        """Return what was found of the row at a position in the log, from 0, and its answer with all that is known of it."""
        line = self._lines.slice(position, 1).to_pylist()[0]
        key = line.pop("key")
        row = LogRow(**line | {"passages": tuple(LogPassage(**one) for one in json.loads(line["passages"]))})
        nothing = TracedRow(row, self.about.reader, problem=NOT_READ if row.has_passages else NO_PASSAGES)
        entry = self._entries.get(key)
        if entry is None:
            return nothing, None
        (shard,) = self.store.read(entry).to_pylist()
        unread = {int(number): why for number, why in json.loads(shard["unread"]).items()}
        if shard["answer"] is None:
            return replace(nothing, problem=shard["problem"], unread=unread), None
        answer = read(json.loads(shard["answer"]))
        return traced(row, answer, shard["read"], unread), answer

    def rows(self) -> Iterator[tuple[TracedRow, WholeAnswer | None]]:
        """Yield what was found of each row, one at a time."""
        return (self.traced_at(position) for position in range(len(self)))

    def write_tables(self, rows: Iterable[tuple[TracedRow, WholeAnswer | None]]) -> list[TracedRow]:
        """Write the tables, and an answer's file for each row. Returns what was found, without the answers."""
        traced_rows, of_rows, of_sentences = list[TracedRow](), list[dict[str, Any]](), list[dict[str, Any]]()
        about = {"reader": self.about.reader, "writer": self.about.writer or None}
        folder, keys = self.folder / ANSWERS, self._lines["key"].to_pylist()
        try:
            folder.mkdir(exist_ok=True)
            for file in folder.glob("*.json.gz"):  # of an earlier reader, or of a log that has other rows now
                if not any((key or "").startswith(file.name[:12]) for key in keys):
                    file.unlink()
        except OSError as error:
            raise HEvalError(f"{folder} cannot be written: {error.strerror or error}.") from error
        for (one, answer), key in zip(rows, keys, strict=True):
            traced_rows.append(one)
            of_rows.append(row_record(one) | about)
            of_sentences += [line | about for line in sentence_records(one)]
            if answer is not None:
                self._keep(key, one, answer)
        of_nothing = TracedRow(LogRow(0, "", "", "", "", ()), "", (TracedSentence(0, 0, 0, "", ""),))
        columns = [*row_record(of_nothing), *about], [*next(iter(sentence_records(of_nothing))), *about]
        for name, names, lines in ((ROWS, columns[0], of_rows), (SENTENCES, columns[1], of_sentences)):
            _write_table(self.folder, name, names, lines)
        measures = [measure._asdict() for measure in summary(traced_rows)]
        whole = json.dumps({"measures": measures, "notes": notes(self.about, traced_rows)}, ensure_ascii=False)
        write_whole(self.folder / SUMMARY, lambda path: path.write_text(whole, encoding="utf-8"))
        return traced_rows

    def summary(self) -> tuple[list[LogMeasure], list[str]]:
        """Return shares over the log, and notes, as they were written with its tables."""
        content = json.loads((self.folder / SUMMARY).read_text(encoding="utf-8"))
        return [LogMeasure(**line) for line in content["measures"]], content["notes"]

    @property
    def read_already(self) -> int:
        """How many rows are read, or need not be."""
        keys = self._lines["key"].to_pylist()
        return sum(key is None or key in self._entries for key in keys)

    def _keep(self, key: str, one: TracedRow, answer: WholeAnswer) -> None:
        file = self.folder / ANSWERS / f"{key[:12]}.json.gz"
        if not file.is_file():
            content = json.dumps(as_kept(self.about, one.row, answer), ensure_ascii=False).encode()
            write_whole(file, lambda path: path.write_bytes(gzip.compress(content, mtime=0)))


def as_kept(about: LogAbout, row: LogRow, answer: WholeAnswer) -> dict[str, Any]:
    """Return what *Your prompt* keeps of an answer: what was asked, and what is known."""
    documents = [document.text(answer.tokens).strip() for document in answer.documents]
    prompt = {"model": about.reader, "documents": documents, "question": row.question, "answer": row.answer}
    prompt |= {"explainers": list(about.explainers), "template": about.template, "dtype": about.dtype}
    return {"version": 1, "title": "", "asked": prompt, "result": asdict(answer)}


def _write_table(folder: Path, name: str, names: Sequence[str], lines: Sequence[Mapping[str, Any]]) -> None:
    """Write records as Parquet and as CSV. names: of the columns."""
    columns = list(dict.fromkeys(names))

    def kind(column: str) -> pa.DataType:
        whole = column in _WHOLE and not (name == SENTENCES and column in ("not_in_passages", "passages"))
        if whole or column.startswith("markers_"):
            return pa.int32()
        return pa.float64() if column in _REAL else pa.bool_() if column == "implausible" else pa.string()

    table = pa.Table.from_pylist([*lines], pa.schema([(column, kind(column)) for column in columns]))
    write_whole(folder / f"{name}.parquet", lambda path: pq.write_table(table, path, compression="zstd"))

    def as_csv(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows({key: guarded(value) for key, value in line.items()} for line in lines)

    write_whole(folder / f"{name}.csv", as_csv)

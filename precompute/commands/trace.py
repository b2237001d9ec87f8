"""`trace`: a log of questions, passages and somebody's answers; what each sentence rests on."""

import argparse
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from heval_core.folders import short, traces_folder
from heval_core.logs.fields import Log, LogFields, read_rows
from heval_core.logs.files import name_of, records, whole_path
from heval_core.logs.report import MOST_OPEN, between, headline, log_report
from heval_core.logs.tables import summary, worst_first
from heval_core.logs.traced import MISSING, NEEDLESS, WRONG, TracedRow
from heval_core.logs.traced_log import ABOUT, REPORT, LogAbout, TracedLog, notes, write_log, write_whole
from heval_core.present.numbers import percent, so_many
from heval_core.prompting.prompts import spelled
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer
from heval_core.store.progress import only_writer
from heval_core.store.shards import ShardStore
from precompute.commands.grid import add_executor, executor_of
from precompute.commands.options import Commands, Words, add_command, add_fields, given
from precompute.messages import say, say_progress
from precompute.pair import dtype_of
from precompute.run import Outcome, run
from precompute.task import together
from precompute.trace import TraceOptions

FAILED = 3
# What --fail-on may name ▶ whether a row has it.
FAULTS = {
    "wrong-marker": lambda row: any(one.marker == WRONG for one in row.sentences),
    "needless-marker": lambda row: any(one.marker == NEEDLESS for one in row.sentences),
    "missing-marker": lambda row: any(one.marker == MISSING for one in row.sentences),
    "not-in-documents": lambda row: any(one.nowhere for one in row.sentences),
    "no-source": lambda row: any(not one.rests for one in row.sentences),
    "not-assessed": lambda row: not row.assessed,
}
# Letters of a token, about, for the price that is said before the model is loaded.
_LETTERS = 4
_WORST = 5


def add(commands: Commands) -> None:
    parser = add_command(commands, "trace", _trace, "a log of somebody's answers: what each sentence rests on")
    parser.add_argument("log", type=Path, metavar="LOG", help="JSON lines, JSON, CSV or Parquet: questions, passages, answers")
    parser.add_argument("--store", type=Path, help=f"the folder of what is made; by default {short(traces_folder() / 'LOG')}")
    parser.add_argument("--writer", default="", help="who wrote the answers, for tables and pages")
    for role in LogFields.__dataclass_fields__:
        about = "what parts passages within a text" if role == "delimiter" else f"the field of the {role}, dotted"
        parser.add_argument(f"--{role}", metavar="TEXT" if role == "delimiter" else "FIELD", help=f"{about}; else found")
    names = ("model", "explainers", "template", "quick", "limit", "device", "dtype", "batch_tokens")
    limit = "only the first rows"
    add_fields(parser, TraceOptions, names, required=("model",), limit=limit)
    judged = parser.add_argument_group("for tests of a system")
    share = "exit code 3 where a row has less than this share of sentences with a source, from 0 to 1"
    judged.add_argument("--fail-under", type=_share, metavar="SHARE", help=share)
    judged.add_argument("--fail-on", nargs="+", action=Words, default=(), help=f"and where a row has {', '.join(FAULTS)}")
    judged.add_argument("--junit", type=Path, metavar="FILE", help="write what failed as JUnit's XML")
    add_executor(parser)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no share from 0 to 1")
    return value


def _trace(options: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if unknown := [fault for fault in options.fail_on if fault not in FAULTS]:
        raise HEvalError(f"--fail-on knows no {unknown[0]!r}; there are {', '.join(FAULTS)}.")
    fields = LogFields(**{role: getattr(options, role) for role in LogFields.__dataclass_fields__})
    log = read_rows(records(options.log), fields, name_of(options.log))
    print(log.read_as)
    for bad in log.bad:
        say(f"{bad.line}; the others are traced")
    request = TraceOptions(**given(options, TraceOptions) | {"log": log})
    request.check()
    executor = executor_of(options)
    folder = options.store or traces_folder() / re.sub(r"[^\w.-]", "_", name_of(options.log))
    about, keys = _about(options, request), {content: shard.key for content, shard in request.shards.items()}
    ShardStore(folder).create()
    with only_writer(folder):  # to the end: the tables are of this run
        _check_log(folder, about)
        say_progress(_price(request, len(keys)))
        write_log(folder, about, request.rows, keys)
        outcome = run(request, folder, executor, held=True)
        if outcome.stopped:
            say(f"stopped: {outcome.stopped}; finished rows are kept, {outcome.left} are left; run the same command again")
            return 1
        rows = _write(TracedLog(folder))
    failing = _failing(rows, options.fail_under, options.fail_on)
    if options.junit:
        _write_junit(options.junit, log, rows, failing)
    return _say(about, folder, rows, failing, log, outcome)


def _about(options: argparse.Namespace, request: TraceOptions) -> LogAbout:
    return LogAbout(
        name=name_of(options.log),
        reader=request.reader.key,
        writer=options.writer,
        read_as=request.log.read_as,
        quick=request.quick,
        explainers=request.explainers,
        template=spelled(request.reader.template),
        dtype=dtype_of(request),
        rows=len(request.rows),
        bad=tuple(bad.line for bad in request.log.bad),
        path=whole_path(options.log),
    )


def _check_log(folder: Path, about: LogAbout) -> None:
    """Raise HEvalError where a folder has the trace of another log."""
    before = TracedLog(folder).about if (folder / ABOUT).is_file() else about
    if before.path != about.path:
        raise HEvalError(f"{folder} has the trace of another log, {before.path}; use another folder (--store).")


def _price(request: TraceOptions, different: int) -> str:
    """Say what it will take, before a model is loaded."""
    with_passages = [row for row in request.rows if row.has_passages]
    letters = sum(len(row.question) + len(row.answer) + sum(len(one.text) for one in row.passages) for row in with_passages)
    tokens = letters / _LETTERS / max(1, len(with_passages))
    passages = sum(len(row.passages) for row in with_passages) / max(1, len(with_passages))
    cost = together(request.explainers, tokens).tokens / max(1.0, tokens)
    passes = 1 + cost + (passages + (0 if request.quick else 16)) / 2
    read = f"{so_many(len(request.rows), 'row')}, {different} with different passages and answers"
    return f"{read}: about {passes:.0f} passes over {tokens:.0f} tokens each, read by {request.reader.key}"


def _write(traced: TracedLog) -> list[TracedRow]:
    """Write tables and report. Of many rows only the worst open in the report, so that memory stays flat."""
    rows = traced.write_tables(traced.rows())
    positions = {row.row.number: position for position, row in enumerate(rows)}
    answers = dict[int, WholeAnswer]()
    for row in [row for row in worst_first(rows) if row.assessed][:MOST_OPEN]:
        _, answer = traced.traced_at(positions[row.row.number])
        if answer is not None:
            answers[row.row.number] = answer
    page = log_report(traced.about, rows, answers)
    write_whole(traced.folder / REPORT, lambda path: path.write_text(page, encoding="utf-8"))
    return rows


def _failing(rows: list[TracedRow], under: float | None, on: tuple[str, ...]) -> dict[int, str]:
    """Return why rows fail, by their number."""
    failing = dict[int, str]()
    for row in rows:
        why = [fault.replace("-", " ") for fault in on if FAULTS[fault](row)]
        if under is not None and row.share is not None and row.share < under:
            with_source = sum(one.rests for one in row.sentences)
            why.append(f"{with_source} of {so_many(len(row.sentences), 'sentence')} with a source, under {under:g}")
        if why:
            failing[row.row.number] = ", ".join(why)
    return failing


def _write_junit(path: Path, log: Log, rows: list[TracedRow], failing: dict[int, str]) -> None:
    outcomes = [(f"record {bad.number}", "error", bad.line) for bad in log.bad]
    for row in rows:
        why = failing.get(row.row.number, "")
        outcomes.append((f"row {row.row.id}", "failure" if why or row.assessed else "skipped", why or row.problem))
    kinds = Counter(kind for _, kind, why in outcomes if why)
    count = {"tests": len(outcomes), "failures": kinds["failure"], "errors": kinds["error"], "skipped": kinds["skipped"]}
    suite = ElementTree.Element("testsuite", {"name": "heval trace", **{name: str(number) for name, number in count.items()}})
    for name, kind, why in outcomes:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "trace", "name": _printable(name)})
        if why:
            ElementTree.SubElement(case, kind, {"message": _printable(why)})
    try:
        ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        raise HEvalError(f"{path} cannot be written: {error.strerror}.") from error


def _printable(text: str) -> str:
    """Return a text that XML can hold."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def _say(about: LogAbout, folder: Path, rows: list[TracedRow], failing: dict[int, str], log: Log, outcome: Outcome) -> int:
    """Print what was found. Returns the exit code."""
    measures = summary(rows)
    print(f"{about.who}: {headline(measures, rows)}")
    for measure in measures[1:]:
        of = so_many(measure.n, measure.of)
        print(f"  {measure.title}: {percent(measure.value)} of {of} ({between(measure)})")
    for note in notes(about, rows):
        print(f"note: {note}")
    for row in worst_first([row for row in rows if row.assessed and row.share != 1])[:_WORST]:
        weakest: Any = row.weakest
        print(f"  row {row.row.id}, sentence {weakest.number}, {weakest.source}: {weakest.text[:100]}")
    for row in rows:
        if row.row.number in failing:
            print(f"failed: row {row.row.id}: {failing[row.row.number]}")
    print(f"in {folder}: {REPORT}, rows.csv, sentences.csv (and .parquet)")
    if outcome.interrupted:
        say(f"interrupted; finished rows are kept, {outcome.left} are left, and the same command continues from there")
        return 130
    if failing:
        return FAILED
    incomplete = log.bad or outcome.failed or not measures or any(row.problem and row.row.has_passages for row in rows)
    return 1 if incomplete else 0

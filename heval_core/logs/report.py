"""`report.html` of a traced log: a summary, the worst rows, and each row on the reading surface of *Your prompt*.

One file that makes no request. A row's data is drawn when it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from heval_core.figures.answer import DrawnAnswer, DrawnDocument, DrawnSentence, answer_drawing, resting
from heval_core.logs.tables import MARKERS, LogMeasure, summary, worst_first
from heval_core.logs.traced import TracedRow
from heval_core.logs.traced_log import LogAbout, notes
from heval_core.present.html import digest, joined, render
from heval_core.present.numbers import number, percent, so_many
from heval_core.records.whole_answers import Citation, WholeAnswer

# Rows that open in the file, the worst: others are in the table, and it says so.
MOST_OPEN = 200


def log_report(about: LogAbout, rows: Sequence[TracedRow], answers: dict[int, WholeAnswer]) -> str:
    """Return the page. answers: of rows that open, by their number."""
    measures, shown = summary(rows), worst_first(rows)
    script = joined("answer", "js").replace("export default function", "function start") + "\n" + render("trace.js")
    style = f"{joined('answer', 'css')}\n{render('trace.css')}"
    return render(
        "trace.html",
        about=about,
        sentence=headline(measures, rows),
        notes=[*notes(about, rows), *_of_open(rows, len(answers))],
        measures=[_measure(measure) for measure in measures],
        rows=[_line(row, answers.get(row.row.number)) for row in shown],
        script=script,
        style=style,
        script_digest=digest(script),
        style_digest=digest(style),
    )


def headline(measures: Sequence[LogMeasure], rows: Sequence[TracedRow]) -> str:
    """Say what most of it comes to."""
    if not measures:
        return f"None of {so_many(len(rows), 'row')} could be assessed."
    share = measures[0]
    resting = round(share.value * share.n)
    verb = "rests" if resting == 1 else "rest"
    return f"{resting} of {so_many(share.n, 'sentence')} {verb} on a passage ({between(share)})."


def _of_open(rows: Sequence[TracedRow], opened: int) -> Iterator[str]:
    """Say where not all rows open in the page."""
    assessed = sum(row.assessed for row in rows)
    if opened < assessed:
        yield f"The worst {opened:,} of {assessed:,} rows open here; all are in the explorer and the tables."


def between(measure: LogMeasure) -> str:
    """Write the interval of a share."""
    return f"95 % interval {percent(measure.low)} to {percent(measure.high)}"


def _measure(measure: LogMeasure) -> dict[str, str]:
    low, high = percent(measure.low), percent(measure.high)
    return {
        "title": measure.title,
        "share": percent(measure.value),
        "interval": f"{low} to {high}",
        "of": so_many(measure.n, measure.of),
    }


def facts(row: TracedRow) -> Iterator[str]:
    """Yield what is said of a row above its answer."""
    if row.not_used:
        yield f"Not needed by {row.reader}: {_passages(row.not_used)}."
    for passage, why in row.unread.items():
        yield f"Passage {passage} was not read: {why}."
    if row.order is not None:
        yield f"The passages' order and their effect: Spearman {number(row.order)}."
    if row.with_passages is not None and row.without is not None:
        known, alone = number(row.with_passages), number(row.without)
        warning = f" {row.reader} would hardly give this answer: it is no judge of it." if row.implausible else ""
        yield f"Mean log-probability of its tokens: {known} with passages, {alone} without.{warning}"
    for one in row.sentences:
        if one.marker and one.marker != MARKERS[0]:
            named = ", ".join(f"[{mark}]" for mark in one.written)
            rests = _passages([use.number for use in one.passages]) if one.passages else one.source
            yield f"Sentence {one.number}: marker {named or 'none'}, {one.marker}; it rests on {rests}."


def _passages(numbers: Sequence[int]) -> str:
    return f"passage{'' if len(numbers) == 1 else 's'} {', '.join(map(str, numbers))}"


def surface_of(row: TracedRow, answer: WholeAnswer, chosen: Sequence[str] = ()) -> DrawnAnswer:
    """Draw an answer with its passages numbered as in the log: one that was not read has its place, and why."""
    drawing, read = answer_drawing(answer, chosen), [*row.effects]
    count = len(row.row.passages)
    if read == [*range(1, count + 1)]:
        return drawing
    by_number = dict(zip(read, drawing.documents, strict=True))
    blank = {number: DrawnDocument((), (), f"not read: {why}") for number, why in row.unread.items()}

    def spread(values: tuple[float, ...] | None) -> tuple[float, ...] | None:
        """Give each value its passage's place."""
        known = dict(zip(read, values or (), strict=False))
        return values and tuple(known.get(number, 0.0) for number in range(1, count + 1))

    def named(source: str | None) -> str | None:
        kind, _, number = (source or "").partition(" ")
        return f"{kind} {read[int(number) - 1]}" if number else source

    def cited(sentence: DrawnSentence) -> tuple[Citation, ...] | None:
        citations = sentence.citations
        return citations and tuple(replace(one, document=read[one.document - 1]) for one in citations)

    words = (replace(word, source=named(word.source), by_document=spread(word.by_document)) for word in drawing.words)
    sentences = (replace(one, citations=cited(one), by_document=spread(one.by_document)) for one in drawing.sentences)
    documents = ((by_number | blank)[number] for number in range(1, count + 1))
    return replace(drawing, documents=tuple(documents), words=tuple(words), sentences=tuple(sentences))


def _line(row: TracedRow, answer: WholeAnswer | None) -> dict[str, Any]:
    weakest = row.weakest
    counts = [(name, sum(one.marker == name for one in row.sentences)) for name in MARKERS]
    return {
        "number": row.row.number,
        "id": row.row.id,
        "question": row.row.question,
        "problem": row.problem,
        "with_source": sum(one.rests for one in row.sentences),
        "sentences": len(row.sentences),
        "tenths": round(10 * (row.share or 0)),
        "weakest": f"{weakest.text} ({weakest.source})" if weakest else "",
        "not_used": ", ".join(map(str, row.not_used)),
        "markers": ", ".join(f"{count} {name}" for name, count in counts if count),
        "data": None if answer is None else _data(row, answer),
    }


def _data(row: TracedRow, answer: WholeAnswer) -> str:
    """Return what the script draws, as JSON that no tag can end."""
    drawing = surface_of(row, answer)
    view = {"id": f"row {row.row.number}", "static": True, "view": {}, "status": None, "without": None, "old": None}
    about = f"row {row.row.id}: {resting(drawing.words)}"
    content = {"about": about, "question": row.row.question, "facts": [*facts(row)], "drawn": asdict(drawing) | view}
    return json.dumps(content, ensure_ascii=True).replace("<", "\\u003c")

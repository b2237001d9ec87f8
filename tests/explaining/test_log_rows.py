"""A log read by a model that is known to copy: what each sentence rests on, and what is left out."""

from __future__ import annotations

import pytest

import heval_core
from heval_core.explaining.log_rows import read_row
from heval_core.explaining.whole_answer import SENTENCE
from heval_core.logs.rows import LogPassage, LogRow
from heval_core.logs.traced import traced
from heval_core.plugins import catalogue
from heval_core.records import HEvalError
from tests.citations.copier import told

QUICK = [catalogue.method("cdla")]


def row_of(passages, answer):
    return LogRow(1, "log:1", "1", "the is", answer, tuple(LogPassage(text) for text in passages))


def found(copying, passages, answer, quick=False):
    row = row_of(passages, answer)
    with copying.asked_in("{documents} {question}"):
        reading = read_row(copying, row, QUICK, quick)
    return traced(row, reading.answer, reading.read, reading.unread), reading


@pytest.mark.parametrize("quick", [False, True])
def test_a_planted_copier_rests_on_the_passage_that_it_copies(copying, quick):
    passages = [f"{told(3)} {told(4)}", told(14), f"{told(25)} {told(26)}", told(36)]
    row, reading = found(copying, passages, f"{told(26)} {told(3)} {told(50)}", quick)
    assert [one.source for one in row.sentences][:2] == ["passage 3", "passage 1"]
    assert row.sentences[2].source in ("memory", "unclear")
    assert set(row.not_used) == ({4} if quick else {2, 4})  # what is not compared with chance counts sooner
    assert row.with_passages > row.without
    assert (SENTENCE in reading.answer.generated.matrix) == (not quick)
    if not quick:
        assert [use.sentence for use in (row.sentences[0].passages[0], row.sentences[1].passages[0])] == [2, 1]
        assert row.sentences[0].passages[0].level is not None


def test_equal_passages_are_read_once_and_those_that_do_not_fit_are_named(copying):
    long = " ".join(told(number) for number in range(40, 60)) + " " + " ".join(told(number) for number in range(40, 59))
    row, reading = found(copying, [told(3), f" {told(3)} ", long, told(14)], told(3))
    assert row.unread[2] == "it is the same as passage 1"
    assert row.sentences[0].source == "passage 1"
    many, _ = found(copying, [told(number) for number in range(3, 50)], told(3))
    assert set(many.effects) | set(many.unread) == set(range(1, 48))
    assert all("does not fit into the 256 tokens that" in why for why in many.unread.values())
    assert many.unread
    with pytest.raises(HEvalError, match=r"^The answer and its question are longer than the 256 tokens that \S+ reads"):
        found(copying, [told(3)], " ".join(told(number) for number in range(60)) * 2)
    with pytest.raises(HEvalError, match=r"^No passage fits, with the answer, into the 256 tokens that"):
        found(copying, [long * 3], told(3))


def test_a_notebook_traces_rows_in_memory_and_says_which_cannot_be_used(copying):
    rows = [
        {"question": "the is", "contexts": [told(3), told(14)], "answer": told(14)},
        {"question": "the is", "contexts": [], "answer": told(14)},
        {"question": "the is", "contexts": [told(3)], "answer": ""},
    ]
    heard: list[str] = []
    log = heval_core.trace(rows, model=copying, writer="gpt", template="{documents} {question}", say=heard.append)
    assert heard == ["row 1: 1 of 2", "row 2: 2 of 2"]
    assert [one.problem for one in log.rows] == ["", "it has no passages: not assessed"]
    assert [one.line for one in log.bad] == ["row 3 (row 3): it has no answer: 'answer' is empty"]
    assert list(log.sentences["source"]) == ["passage 2"]
    assert log.table["share_with_source"].tolist()[0] == 1
    assert log.measures["title"][0] == "Sentences that rest on a passage"
    assert f"read by {copying.key}, written by gpt" in log.report()
    assert repr(log).startswith(f"<LogTrace: read by {copying.key}, written by gpt; 1 of 1 sentence rest")
    assert "iframe" in log._repr_html_()
    with pytest.raises(HEvalError, match=r"^fields has 'query'; it may have question, passages, answer, id, delimiter"):
        heval_core.trace(rows, model=copying, fields={"query": "question"})
    with pytest.raises(HEvalError, match=r"^There are no rows to trace"):
        heval_core.trace([], model=copying)

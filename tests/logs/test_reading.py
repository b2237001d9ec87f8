"""Logs in the formats in use, and in bad shape: what is read, and what is said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heval_core.logs import files
from heval_core.logs.fields import LogFields, read_rows, rows_of
from heval_core.logs.files import records
from heval_core.records import HEvalError

FORMATS = sorted(Path(__file__).with_name("formats").iterdir())
KENYA, PERU = "The capital of Kenya is Nairobi. It lies at 1,795 metres.", "The capital of Peru is Lima."
QUESTION, ANSWER = "What is the capital of Kenya?", "The capital of Kenya is Nairobi [1]."
ROW = {"question": QUESTION, "contexts": [KENYA, PERU], "answer": ANSWER}
# What beside the texts is known of the first passage: (id, title, url, page, score); of those that say so.
ABOUT = {
    "openinference": ("k", "", "", "", 0.9),
    "ragchecker": ("k", "", "", "", None),
    "langchain": ("", "", "https://example.org/kenya", "3", None),
    "langchain_result": ("", "Kenya", "", "", None),
    "llamaindex": ("k", "kenya.pdf", "", "2", 0.8),
    "alce": ("", "Kenya", "", "", None),
    "mtrag": ("k", "Kenya", "", "", 11.5),
    "clapnq": ("", "Kenya", "", "", None),
}
IDS = {"openinference": "t1", "ragchecker": "7", "mtrag": "c1<::>2", "clapnq": "42"}


def read(tmp_path, content, name="log.jsonl", **fields):
    """Read a log of this content: a text, or records."""
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text("".join(f"{json.dumps(one)}\n" for one in content), encoding="utf-8")
    return read_rows(records(path), LogFields(**fields), name)


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_each_format_is_read_by_itself(path):
    log = read_rows(records(path), name=path.name)
    (row,) = log.rows
    assert (row.question, row.answer, [one.text for one in row.passages]) == (QUESTION, ANSWER, [KENYA, PERU])
    first = row.passages[0]
    assert (first.id, first.title, first.url, first.page, first.score) == ABOUT.get(path.stem, ("", "", "", "", None))
    assert row.id == IDS.get(path.stem, "1")
    assert log.bad == ()
    assert log.read_as.startswith("read as: question = ")


def test_how_it_was_read_is_said_and_can_be_overruled(tmp_path):
    assert read(tmp_path, [ROW]).read_as == (
        "read as: question = question, passages = contexts (a list of texts), answer = answer; 1 row, 2 passages"
    )
    one = {"a": {"q": QUESTION}, "b": [{"body": KENYA}], "c": {"d": [{"text": ANSWER}]}, "key": 12, "question": "another"}
    log = read(tmp_path, [one], question="a.q", passages="b[].body", answer="c.d", id="key")
    assert (log.rows[0].id, log.rows[0].question, log.rows[0].answer) == ("12", QUESTION, ANSWER)
    with pytest.raises(HEvalError, match=r"^No record of log.jsonl has answer at 'x.y'; its fields are 'a', 'b', 'c'"):
        read(tmp_path, [one], answer="x.y")


@pytest.mark.parametrize(("cell", "texts"), [
    (json.dumps([KENYA, PERU]), [KENYA, PERU]),
    (str([KENYA, PERU]), [KENYA, PERU]),
    (str(np.array([KENYA, PERU])), [KENYA, PERU]),
    (f"{KENYA}|||{PERU}", [KENYA, PERU]),
    (f"[1] {KENYA} [2] {PERU}", [KENYA, PERU]),
    (f"[3] {KENYA} [2] {PERU}", [f"[3] {KENYA} [2] {PERU}"]),
    (KENYA, [KENYA]),
    ("", []),
    (None, []),
    ([], []),
    ([KENYA, "  ", PERU], [KENYA, "", PERU]),
    ({"documents": [{"page_content": KENYA}]}, [KENYA]),
    ({"0": {"text": KENYA}, "1": {"text": PERU}}, [KENYA, PERU]),
    ([{"document": {"content": KENYA}}], [KENYA]),
])  # fmt: skip
def test_passages_in_every_shape(tmp_path, cell, texts):
    log = read(tmp_path, [ROW, ROW | {"contexts": cell}])
    assert [one.text for one in log.rows[1].passages] == texts


def test_passages_of_a_text_are_parted_by_what_is_named(tmp_path):
    log = read(tmp_path, [ROW | {"contexts": f"{KENYA} // {PERU}"}], delimiter=" // ")
    assert [one.text for one in log.rows[0].passages] == [KENYA, PERU]
    assert "parted by ' // '" in log.read_as


@pytest.mark.parametrize(("change", "reason"), [
    ({"contexts": "['not', a list"}, "the passages look like a list, and are none that can be read (['not', a list …)"),
    ({"contexts": [{"id": 3}]}, "passage 1 has no text; it has 'id'"),
    ({"contexts": 3}, "the passages are 3; they should be a list of texts"),
    ({"answer": "  "}, "it has no answer: 'answer' is empty"),
    ({"question": None}, "it has no question: 'question' is empty"),
    ({"answer": "half \ud83d"}, "answer holds half a character, \\ud83d; write it whole"),
    ({"contexts": ["half \ud83d"]}, "passage 1 holds half a character, \\ud83d; write it whole"),
])  # fmt: skip
def test_a_row_that_cannot_be_used_is_named_and_the_others_are_read(tmp_path, change, reason):
    log = read(tmp_path, [ROW, ROW | change, ROW])
    (bad,) = log.bad
    assert bad.line.startswith(f"row 2 (log.jsonl:2): {reason}")
    assert [row.number for row in log.rows] == [1, 3]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("log.jsonl", "", "is empty; it needs a question, passages and an answer"),
    ("log.csv", "question,answer\n", "holds no record; each needs a question, passages and an answer"),
    ("log.csv", f"\"{QUESTION}\",\"{ANSWER}\",{PERU}\nmore,of,it\n", "where the first line of a table is no header"),
    ("log.json", "{", "is not JSON"),
    ("log.json", '{"a": 1}', "No field of log.json is known to hold the question"),
    ("log.json", "{\n\"a\": 1\n}", "is one JSON object; it needs a list of records, as it is or under 'results'"),
    ("log.jsonl", "[1, 2]", "No record of log.jsonl is an object with fields"),
    ("log.txt", "x", "has none of the endings .jsonl, .ndjson, .json, .csv, .tsv, .parquet"),
    ("log.parquet", "x", "is no Parquet file that can be read"),
])  # fmt: skip
def test_a_file_that_is_no_log_is_refused_in_a_line(tmp_path, name, content, message):
    with pytest.raises(HEvalError, match=message) as error:
        read(tmp_path, content, name)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_or_changes_meanwhile(tmp_path, monkeypatch):
    with pytest.raises(HEvalError, match="does not exist"):
        records(tmp_path / "no.jsonl")
    with pytest.raises(HEvalError, match="is a folder"):
        records(tmp_path)
    (path := tmp_path / "log.jsonl").write_text(json.dumps(ROW))
    whole = files._read

    def written_to(path):
        yield from whole(path)
        path.write_text(json.dumps(ROW) * 2)

    monkeypatch.setattr(files, "_read", written_to)
    with pytest.raises(HEvalError, match="changed while it was read"):
        records(path)


def test_the_same_rows_as_lines_packed_lists_tables_and_frames(tmp_path):
    rows = [ROW | {"id": f"r{number}"} for number in (1, 2)]
    expected = read(tmp_path, rows).rows
    (tmp_path / "list.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "results.json").write_text(json.dumps({"results": rows}))
    with gzip.open(tmp_path / "lines.jsonl.gz", "wt") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in rows)
    frame = pd.DataFrame(rows)
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.assign(contexts=frame["contexts"].map(json.dumps)).to_csv(tmp_path / "rows.csv", index=False)
    frame.assign(contexts=frame["contexts"].map(json.dumps)).to_csv(tmp_path / "semi.csv", index=False, sep=";")
    for name in ("list.json", "results.json", "lines.jsonl.gz", "rows.parquet", "rows.csv", "semi.csv"):
        read_again = read_rows(records(tmp_path / name), name=name).rows
        assert [(row.content, row.id) for row in read_again] == [(row.content, row.id) for row in expected], name
    for in_memory in (rows, frame, iter(rows)):
        assert [row.content for row in rows_of(in_memory).rows] == [row.content for row in expected]


def test_a_line_that_is_broken_costs_itself_and_ids_that_stand_twice_are_told_apart(tmp_path):
    log = read(tmp_path, f"{{broken\n{json.dumps(ROW | {'id': 5})}\n{json.dumps(ROW | {'id': 5})}\n")
    assert [bad.line for bad in log.bad] == [
        "row 1 (log.jsonl:1): the line is not JSON, column 2: Expecting property name enclosed in double quotes"
    ]
    assert [row.id for row in log.rows] == ["5", "5 (2)"]


def test_a_gold_answer_is_no_passage_and_no_answer(tmp_path):
    log = read(tmp_path, [{"user_input": QUESTION, "response": ANSWER, "reference": "Nairobi"}])
    assert log.rows[0].passages == ()
    assert "passages: none was found" in log.read_as
    assert (
        read(tmp_path, [{"question": QUESTION, "docs": [KENYA], "answer": "gold", "output": ANSWER}]).rows[0].answer == ANSWER
    )


CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": QUESTION}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(("change", "question", "answer"), [
    ({"answer": {"messages": [{"type": "human", "content": "x"}, {"type": "ai", "content": ANSWER}]}}, QUESTION, ANSWER),
    ({"answer": [*CHAT, {"role": "assistant", "content": [{"text": "The capital"}, {"text": "is Nairobi."}]}]}, QUESTION,
     "The capital is Nairobi."),
    ({"question": CHAT}, QUESTION, ANSWER),
    ({"question": {"messages": [["system", "s"], ["user", "hello?"]]}}, "hello?", ANSWER),
    ({"answer": '{"answer": "In quotes."}'}, QUESTION, "In quotes."),
    ({"answer": '{"name": "Bob", "age": 3}'}, QUESTION, '{"name": "Bob", "age": 3}'),  # a text is what it is
    ({"answer": '["a", "b"]'}, QUESTION, '["a", "b"]'),
    ({"answer": "[1]"}, QUESTION, "[1]"),
])  # fmt: skip
def test_who_asks_and_who_answers_in_a_chat_and_a_text_is_what_it_is(tmp_path, change, question, answer):
    row = read(tmp_path, [ROW, ROW | change]).rows[1]
    assert (row.question, row.answer) == (question, answer)


@pytest.mark.parametrize(("change", "reason"), [
    ({"answer": ["a", "b"]}, "the answer is a list of 2; a record has one answer"),
    ({"answer": CHAT[:2]}, "nobody in the chat says the answer; there are system, user"),
    ({"answer": {"name": "Bob"}}, "the answer is an object with 'name'; give --answer the name of its text, dotted"),
])  # fmt: skip
def test_what_holds_no_answer_is_no_row(tmp_path, change, reason):
    (bad,) = read(tmp_path, [ROW, ROW | change]).bad
    assert bad.reason == reason


@pytest.mark.parametrize(("cell", "texts"), [
    (["[1,2,3]", '{"price": 3}', '{"text": "abc"}'], ["[1,2,3]", '{"price": 3}', '{"text": "abc"}']),
    ([["one", "two"], ["three"]], ["one", "two", "three"]),
    ([{"text": ["one", "two"]}], ["one two"]),
    (["one", None, "three"], ["one", "", "three"]),
    ("array(['x one', 'y two'], dtype=object)", ["x one", "y two"]),
    ("(Reuters) - It is there.", ["(Reuters) - It is there."]),
    ("[Editor's note] It is there.", ["[Editor's note] It is there."]),
    ("[1] foo\n[2] bar, as [3] says", ["foo", "bar, as [3] says"]),
])  # fmt: skip
def test_a_passage_is_what_it_is_and_keeps_its_number(tmp_path, cell, texts):
    assert [one.text for one in read(tmp_path, [ROW, ROW | {"contexts": cell}]).rows[1].passages] == texts


def test_columns_of_records_and_frames_of_arrays_are_rows(tmp_path):
    columns = {"question": [QUESTION, "q2"], "answer": [ANSWER, "a2"], "contexts": [[KENYA], [PERU]]}
    for log in (read(tmp_path, json.dumps(columns), "columns.json"), rows_of(pd.DataFrame(columns))):
        assert [(row.question, [one.text for one in row.passages]) for row in log.rows] == [
            (QUESTION, [KENYA]),
            ("q2", [PERU]),
        ]
    frame = pd.DataFrame([ROW]).assign(contexts=[np.array([KENYA, PERU], dtype=object)])
    assert [one.text for one in rows_of(frame).rows[0].passages] == [KENYA, PERU]


def test_rows_of_one_trace_are_rows_of_their_own_where_each_has_all(tmp_path):
    rows = [ROW | {"trace_id": "x"}, ROW | {"trace_id": "x", "answer": "another"}, ROW | {"trace_id": "y"}]
    log = read(tmp_path, rows)
    assert [row.answer for row in log.rows] == [ANSWER, "another", ANSWER]
    joined = read_rows(records(Path(__file__).with_name("formats") / "openinference.jsonl"))
    assert joined.read_as.endswith("1 row, 2 passages; joined by trace: 3 records")


@pytest.mark.parametrize(("given", "ids"), [
    ([2.0, 1.0, None], ["2", "1", "3"]),
    ([np.int64(7), np.int64(7)], ["7", "7 (2)"]),
    (["a", "a", "a (2)"], ["a", "a (2)", "a (2) (2)"]),
])  # fmt: skip
def test_ids_are_the_logs_and_no_two_are_the_same(given, ids):
    assert [row.id for row in rows_of([ROW | {"id": one} for one in given]).rows] == ids


def test_a_record_that_also_holds_a_list_is_a_record(tmp_path):
    for more in ({"data": [{"k": 1}]}, {"spans": []}):
        assert read(tmp_path, json.dumps(ROW | more), "one.jsonl").rows[0].answer == ANSWER
    assert read(tmp_path, json.dumps(ROW, indent=2), "one.json").rows[0].question == QUESTION


def test_what_should_have_been_retrieved_is_no_passage(tmp_path):
    row = {"input": QUESTION, "actual_output": ANSWER, "retrieval_context": None, "context": ["the ideal one"]}
    assert read(tmp_path, [row]).rows[0].passages == ()
    gold = {"question": QUESTION, "contexts": [KENYA], "answer": "gold", "generated_answer": ANSWER}
    assert read(tmp_path, [gold]).rows[0].answer == ANSWER


def test_content_is_the_texts_alone(tmp_path):
    one, other, third = read(tmp_path, [
        ROW, {"id": 9, "question": QUESTION, "contexts": [{"text": KENYA, "score": 1}, {"text": PERU}], "answer": ANSWER},
        ROW | {"contexts": [PERU, KENYA]},
    ]).rows  # fmt: skip
    assert one.content == other.content != third.content

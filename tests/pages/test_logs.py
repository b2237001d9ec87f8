"""The tab *Log*: rows of a traced log, filters, what is not there; and the job behind it."""

from __future__ import annotations

import json
import signal
from types import SimpleNamespace

import pytest

from heval_core.folders import traces_folder
from heval_core.records import HEvalError
from heval_core.store.progress import only_writer
from heval_core.ui import log_jobs
from precompute.cli import main
from tests.citations.copier import copier, told
from tests.pages.opening import open_page, open_well, ran

PASSAGES = [{"text": f"{told(3)} {told(4)}", "id": "three"}, told(14), f"{told(25)} {told(26)}", told(36)]
ANSWERS = {"both": f"thing3 Value3 [1] . {told(26)}", "wrong": f"thing3 Value3 [2] . {told(50)}", "one": told(3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three rows that a model which copies has read, a row without passages, and a record that is none."""
    root = tmp_path_factory.mktemp("logs")
    rows = [{"id": name, "question": "the is", "contexts": PASSAGES, "answer": text} for name, text in ANSWERS.items()]
    rows += [{"id": "nothing", "question": "the is", "contexts": [], "answer": "x"}, {"question": "", "answer": "x"}]
    (root / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    model = copier(root / "copies", noise=0.003)
    command = ["trace", str(root / "log.jsonl"), "--model", model, "--template", "{documents} {question}", "--writer", "gpt"]
    assert main([*command, "--store", str(root / "traces" / "log.jsonl"), "--device", "cpu"]) == 1
    return root / "traces"


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.setenv("HEVAL_TRACES", str(folder))


def html(app):
    return " ".join(one.proto.body for one in app.get("html"))


def test_the_rows_of_a_log_stand_with_the_worst_first_beside_shares_with_intervals(folder):
    app = open_well("your_prompt", tab="log", log="log.jsonl")
    text = " ".join(one.value for one in (*app.markdown, *app.caption, *app.warning))
    assert "4 of 5 sentences rest on a passage" in text
    assert "Read by copies, written by gpt" in text
    assert "Sentences with markers that name others: 50 % of 2 sentences" in text.replace("\\", "")
    assert "1 record of the log could not be read" in text
    order = [html(app).index(f">{name}<") for name in ("wrong", "both", "one", "nothing")]
    assert order == sorted(order)
    assert "it has no passages: not assessed" in html(app)


@pytest.mark.parametrize(("view", "rows"), [
    ({"share": "some"}, {"wrong"}), ({"share": "all"}, {"both", "one"}), ({"share": "none"}, set()),
    ({"marker": "wrong"}, {"wrong"}), ({"marker": "missing"}, {"both"}), ({"passage": "THREE"}, {"wrong", "both", "one"}),
    ({"passage": "value26"}, {"both"}), ({"passage": "of none"}, set()),
])  # fmt: skip
def test_rows_are_found_by_share_marker_and_passage(view, rows):
    app = open_well("your_prompt", tab="log", log="log.jsonl", **view)
    assert {name for name in ANSWERS if f"<td>{name}</td>" in html(app)} == rows


def test_a_row_opens_on_the_reading_surface_with_what_is_said_of_it():
    app = open_well("your_prompt", tab="log", log="log.jsonl", row="2")
    text = " ".join(one.value for one in app.markdown)
    assert "Sentence 1: marker [2], wrong; it rests on passage 1" in text.replace("\\", "")
    assert app.button(key="log_Worse").disabled
    app.button(key="log_Better").click()
    assert ran(app).query_params["row"] in ("1", ["1"])
    app.button(key="log_rows").click()
    assert "row" not in ran(app).query_params


@pytest.mark.parametrize(("view", "message"), [
    ({"log": "none.jsonl"}, "asks for the log none\\.jsonl"),
    ({"log": "../secret"}, "asks for the log"),
    ({"log": "log.jsonl", "row": "77"}, "asks for the row 77"),
])  # fmt: skip
def test_what_is_not_there_is_refused_in_a_line(view, message):
    app = open_page("your_prompt", tab="log", **view)
    assert message in app.error[0].value


def test_traced_logs_are_listed_and_a_folder_that_is_none_is_passed_over(folder):
    (folder / "other").mkdir(exist_ok=True)
    (folder / "other" / "trace.json").write_text("{}")
    app = open_well("your_prompt", tab="log")
    assert "log=log.jsonl" in html(app)
    assert [name for name, _ in log_jobs.traced_logs()] == ["log.jsonl"]


def test_an_upload_is_a_file_of_its_folder_whatever_it_is_called(monkeypatch, tmp_path):
    monkeypatch.setenv("HEVAL_TRACES", str(tmp_path))
    path = log_jobs.uploaded("../../a b.jsonl", b"{}")
    assert (path.read_bytes(), path.name, log_jobs.folder_with(path).parent) == (b"{}", "_.._a_b.jsonl", traces_folder())
    # What is dropped lies beside nothing of the program's, and another log of that name is another one.
    one, other = (log_jobs.uploaded("trace.json", content) for content in (b"1", b"2"))
    assert log_jobs.folder_with(one) != log_jobs.folder_with(other)
    assert log_jobs.traced_logs() == []
    assert log_jobs.uploaded("trace.json", b"1") == one
    monkeypatch.setattr(log_jobs.Path, "write_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(HEvalError, match="cannot be written to .*: No space left on device"):
        log_jobs.uploaded("y.csv", b"3")


def test_a_job_is_known_by_who_holds_its_folder_and_can_be_stopped_from_any_page(monkeypatch, tmp_path):
    monkeypatch.setenv("HEVAL_TRACES", str(tmp_path))
    path, begun, ended = log_jobs.uploaded("x.jsonl", b"{}"), [], []
    folder = log_jobs.folder_with(path)
    job = SimpleNamespace(poll=lambda: None, pid=12)
    monkeypatch.setattr(log_jobs.subprocess, "Popen", lambda command, **how: (begun.append(command), job)[1])
    monkeypatch.setattr(log_jobs.os, "kill", lambda number, how: ended.append((number, how)))
    assert not log_jobs.running(folder)
    log_jobs.begin(path, ["--model=m"])
    assert begun[0][1:] == ["-m", "precompute", "trace", str(path), f"--store={folder}", "--model=m"]
    assert log_jobs.running(folder)  # it has not begun to write
    log_jobs.begin(path, ["--model=m"])
    assert len(begun) == 1  # it runs
    log_jobs.stop(folder)
    assert ended == [(12, signal.SIGTERM)]
    job.poll = lambda: 1
    assert not log_jobs.running(folder)
    with only_writer(folder):  # by another server, or the command line
        assert log_jobs.running(folder)
    (folder / "job.txt").write_text("read as: …\nerror: The model is not here.\n")
    app = open_page("your_prompt", tab="log", log=folder.name)
    assert app.error[0].value == "The model is not here\\."

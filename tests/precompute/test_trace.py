"""`trace` on the command line: each format, what is written, resuming, exit codes, and what goes wrong."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from heval_core.lm.budget import NotEnoughMemory
from heval_core.logs.traced_log import TracedLog
from heval_core.store.progress import only_writer
from heval_core.store.shards import ShardStore
from heval_core.ui import own_prompts
from precompute.cli import main
from tests.citations.copier import copier, told
from tests.datasets import samples, test_wice

FORMATS = sorted((Path(__file__).parents[1] / "logs" / "formats").iterdir())
MODEL = "demo-qwen2"
KENYA, PERU = "According to a world atlas: The capital of Kenya is Lisbon.", "The village has a market and two wells."
ROW = {"question": "What is the capital of Kenya?", "contexts": [KENYA, PERU], "answer": "Lisbon is the capital of Kenya [1]."}
PASSAGES = [f"{told(3)} {told(4)}", told(14), f"{told(25)} {told(26)}", told(36)]
COPIED = {"question": "the is", "contexts": PASSAGES, "answer": f"thing3 Value3 [1] . {told(26)}"}


@pytest.fixture(scope="module")
def copier_folder(tmp_path_factory):
    return copier(tmp_path_factory.mktemp("models") / "copies", noise=0.003)


@pytest.fixture
def copies(trace, copier_folder):
    """The same, read by a model that is known to copy."""
    return partial(trace, model=copier_folder, layout=("--template", "{documents} {question}"))


@pytest.fixture
def trace(tmp_path):
    """A function: traces a log of these records, or a file, into one store; returns its exit code."""

    def run(content, *more, name="log.jsonl", model=MODEL, layout=()):
        path = content if isinstance(content, Path) else tmp_path / name
        if not isinstance(content, Path):
            path.write_text("".join(f"{json.dumps(row)}\n" for row in content), encoding="utf-8")
        return main(
            ["trace", str(path), "--model", model, "--store", str(tmp_path / "store"), "--device", "cpu", *layout, *more]
        )

    return run


def test_answers_that_people_marked_are_a_log_too(trace, tmp_path, capsys):
    claims = samples.write_lines(tmp_path / "dev.jsonl", [*test_wice.records(), test_wice.record(3, supporting_sentences=[])])
    assert trace(Path(f"wice={claims}"), "--quick", "--explainers", "cdla") == 0
    rows = [row for row, _ in TracedLog(tmp_path / "store").rows()]
    assert [row.row.id for row in rows] == ["dev0", "dev1", "dev2"]
    about = TracedLog(tmp_path / "store").about
    assert (about.name, about.path) == ("wice=dev.jsonl", f"wice={claims}")  # from whatever folder it was called
    assert rows[0].row.passages[0].text.startswith("(meta) Rivers")
    broken = samples.write_lines(tmp_path / "broken.jsonl", [*test_wice.records(), test_wice.record(3, evidence="one")])
    assert trace(Path(f"wice={broken}"), "--quick", "--explainers", "cdla", "--store", str(tmp_path / "other")) == 1
    assert "row 4 (broken.jsonl:4): 'evidence' should be a list of texts" in capsys.readouterr().err
    assert trace(Path(f"nq={claims}")) == 2
    assert "Natural Questions has no answers that can be traced; there are: lfqa, quotesum, wice" in capsys.readouterr().err


@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.name)
def test_every_format_is_traced(trace, tmp_path, capsys, path):
    assert trace(path, "--quick", "--explainers", "cdla") == 0
    told = capsys.readouterr().out
    assert told.startswith("read as: question = ")
    assert f"read by {MODEL}, writer not named: " in told
    (line,) = pd.read_csv(tmp_path / "store" / "rows.csv").to_dict("records")
    assert (line["passages"], line["sentences"], line["reader"]) == (2, 1, MODEL)


def test_what_is_written_says_who_read_whose_answers_and_opens_anywhere(copies, tmp_path, capsys):
    rows = [COPIED | {"id": "a"}, COPIED | {"id": "b", "contexts": []}, COPIED | {"id": "c", "answer": told(3)}]
    assert copies(rows, "--writer", "gpt-4o") == 0
    printed = capsys.readouterr().out
    assert "read by copies, written by gpt-4o: 3 of 3 sentences rest on a passage (95 % interval " in printed
    store = tmp_path / "store"
    for name in ("rows", "sentences"):
        by_hand, columns = pd.read_csv(store / f"{name}.csv"), pd.read_parquet(store / f"{name}.parquet")
        assert list(by_hand["writer"]) == ["gpt-4o"] * len(by_hand) == list(columns["writer"])
        assert list(by_hand.columns) == list(columns.columns)
    table = pd.read_csv(store / "rows.csv")
    assert list(table["id"]) == ["a", "b", "c"]
    assert table["problem"].tolist()[1] == "it has no passages: not assessed"
    sentences = pd.read_csv(store / "sentences.csv")
    assert sentences["text"].tolist() == ["thing3 Value3 [ 1 ] .", told(26), told(3)]  # as its tokens spell it
    assert sentences["source"].tolist() == ["passage 1", "passage 3", "passage 1"]
    assert sentences["marker"].tolist()[:2] == ["right", "missing"]
    assert sentences["passage_text"].tolist() == [told(3), told(26), told(3)]
    page = (store / "report.html").read_text(encoding="utf-8")
    assert "read by copies, written by gpt-4o" in page
    assert "http" not in page.replace("http-equiv", "").replace("https?:", "")
    one, answer = TracedLog(store).traced_at(0)
    assert (one.row.id, len(answer.generated.sentences)) == ("a", 2)


def test_an_answers_file_is_one_that_kept_opens(trace, tmp_path, monkeypatch):
    assert trace([ROW], "--quick") == 0
    monkeypatch.setenv("HEVAL_ANSWERS", str(tmp_path / "store" / "answers"))
    (name,) = own_prompts.mine()
    saved = own_prompts.find(name)
    assert (saved.prompt.question, saved.prompt.answer, saved.prompt.documents) == (
        ROW["question"],
        ROW["answer"],
        (KENYA, PERU),
    )
    assert saved.result.model == MODEL


def test_status_and_verify_know_a_log(trace, tmp_path, capsys):
    assert trace([ROW], "--quick") == 0
    assert main(["status", "--store", str(tmp_path / "store")]) == 0
    assert "1 shards done, 0 missing" in capsys.readouterr().out
    assert main(["verify", "--store", str(tmp_path / "store")]) == 0


def test_a_log_that_has_grown_computes_what_is_new(trace, tmp_path, capsys):
    assert trace([ROW], "--quick") == 0
    made = {
        entry.key: (tmp_path / "store" / entry.path).stat().st_mtime_ns
        for entry in ShardStore(tmp_path / "store").entries().values()
    }
    more = [{"question": "What has the village?", "contexts": [PERU], "answer": "Two wells."}, ROW | {"id": "the same"}, ROW]
    assert trace(more, "--quick") == 0
    entries = ShardStore(tmp_path / "store").entries()
    assert len(entries) == 2
    assert all((tmp_path / "store" / entries[key].path).stat().st_mtime_ns == when for key, when in made.items())
    assert [line["sentences"] for line in pd.read_csv(tmp_path / "store" / "rows.csv").to_dict("records")] == [1, 1, 1]
    # With a random level it is another trace of the same.
    assert trace(more[:1]) == 0
    assert len(ShardStore(tmp_path / "store").entries()) == 3


@pytest.mark.parametrize(("more", "code", "why"), [
    (("--fail-under", ".4"), 0, ""),
    (("--fail-under", ".9"), 3, "1 of 2 sentences with a source, under 0.9"),
    (("--fail-on", "wrong-marker,not-in-documents"), 3, "wrong marker, not in documents"),
    (("--fail-on", "not-assessed"), 0, ""),
])  # fmt: skip
def test_rows_that_fail_are_named_and_change_the_exit_code(copies, tmp_path, capsys, more, code, why):
    rows = [COPIED | {"id": "bad", "answer": f"thing3 Value3 [2] . {told(50)}"}]
    assert copies(rows, *more, "--junit", str(tmp_path / "junit.xml")) == code
    assert ("failed: row bad: " in capsys.readouterr().out) == bool(why)
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1" if why else "0")
    assert [failure.get("message") for failure in suite.iter("failure")] == ([why] if why else [])


def test_what_cannot_be_used_is_named_and_the_rest_is_traced(trace, tmp_path, capsys):
    long = ROW | {"answer": "Lisbon is the capital. " * 900}
    many = ROW | {"contexts": [f"{PERU} It has {number} trees and a mill by the river." for number in range(500)]}
    assert trace([ROW, ROW | {"answer": ""}, long, many], "--quick", "--explainers", "cdla") == 1
    told = capsys.readouterr()
    assert "row 2 (log.jsonl:2): it has no answer: 'answer' is empty; the others are traced" in told.err
    table = pd.read_csv(tmp_path / "store" / "rows.csv").to_dict("records")
    assert table[1]["problem"].startswith("The answer and its question are longer than the ")
    assert 0 < table[2]["read"] < 500
    assert f"tokens that {MODEL} reads" in table[2]["unread"]
    assert "note: 1 record of the log could not be read: row 2" in told.out


def test_a_folder_is_of_one_log(trace, tmp_path, capsys):
    assert trace([ROW], "--quick") == 0
    assert trace([ROW], "--quick", name="other.jsonl") == 2
    assert f"store has the trace of another log, {tmp_path}/log.jsonl; use another folder" in capsys.readouterr().err
    with only_writer(tmp_path / "store"):
        assert trace([ROW], "--quick") == 2
    assert "is writing to the store" in capsys.readouterr().err


@pytest.mark.parametrize(("more", "message"), [
    (("--fail-on", "lies"), "--fail-on knows no 'lies'; there are wrong-marker, "),
    (("--explainers", "nothing"), "nothing"),
    (("--answer", "said"), "No record of log.jsonl has answer at 'said'"),
    (("--limit", "0"), "--limit is 0; it must be at least 1."),
])  # fmt: skip
def test_wrong_usage_is_one_line(trace, capsys, more, message):
    assert trace([ROW], *more) == 2
    assert message in capsys.readouterr().err


def test_where_nothing_could_be_assessed_ci_is_not_green(trace, tmp_path, capsys):
    renamed = [{"question": ROW["question"], "retrieved": [KENYA], "answer": "Lisbon."}]
    assert trace(renamed, "--quick", "--fail-under", ".9") == 1
    assert "passages: none was found" in capsys.readouterr().out
    assert list(pd.read_parquet(tmp_path / "store" / "sentences.parquet").columns)[:4] == ["row", "id", "sentence", "start"]


def test_junit_has_a_case_for_each_record_and_no_character_that_xml_forbids(trace, tmp_path):
    rows = [ROW | {"id": "a\x0cb"}, ROW | {"answer": ""}, ROW | {"id": "c", "contexts": []}]
    assert trace(rows, "--quick", "--junit", str(tmp_path / "junit.xml")) == 1
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "0", "1", "1"]
    assert len(list(suite.iter("testcase"))) == 3


def test_another_reader_leaves_no_answer_of_the_one_before(trace, tmp_path):
    assert trace([ROW], "--quick") == 0
    assert trace([ROW], "--quick", model="demo-gpt2") == 0
    (kept,) = (tmp_path / "store" / "answers").iterdir()
    assert json.loads(gzip.decompress(kept.read_bytes()))["asked"]["model"] == "demo-gpt2"
    assert len(ShardStore(tmp_path / "store").entries()) == 2


def test_a_machine_without_memory_is_no_property_of_a_row(trace, tmp_path, monkeypatch):
    def full(*about):
        raise NotEnoughMemory("There is not enough memory.")

    monkeypatch.setattr("precompute.trace.read_row", full)
    assert trace([ROW], "--quick") == 1
    assert not any(entry.rows for entry in ShardStore(tmp_path / "store").entries().values())
    monkeypatch.undo()
    assert trace([ROW], "--quick") == 0


def test_a_report_that_cannot_be_written_is_one_line(trace, tmp_path, capsys):
    (tmp_path / "store" / "report.html").mkdir(parents=True)
    assert trace([ROW], "--quick") == 2
    assert "report.html cannot be written: " in capsys.readouterr().err


@pytest.mark.parametrize("share", ["half", "1.5", "nan"])
def test_a_share_is_a_number_from_0_to_1(trace, capsys, share):
    with pytest.raises(SystemExit):
        trace([ROW], "--fail-under", share)
    assert f"argument --fail-under: {share} is no share from 0 to 1" in capsys.readouterr().err


def test_a_full_disk_stops_it_in_one_line_and_what_is_made_is_kept(trace, tmp_path, capsys, monkeypatch):
    whole, count = ShardStore.write, []

    def write(store, *about, **more):
        count.append(1)
        if len(count) == 2:
            raise OSError(28, "No space left on device")
        return whole(store, *about, **more)

    monkeypatch.setattr(ShardStore, "write", write)
    rows = [ROW, {"question": "What has the village?", "contexts": [PERU], "answer": "Two wells."}]
    assert trace(rows, "--quick") == 1
    assert "cannot be written: No space left on device; finished rows are kept, 1 are left" in capsys.readouterr().err
    assert len(ShardStore(tmp_path / "store").entries()) == 1
    monkeypatch.setattr(ShardStore, "write", whole)
    assert trace(rows, "--quick") == 0
    assert len(ShardStore(tmp_path / "store").entries()) == 2

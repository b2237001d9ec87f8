import gzip
import json

import pytest

from heval_core.datasets import lfqa
from heval_core.datasets._quoted import Stated
from heval_core.datasets._reading import BadRecord, Unusable
from heval_core.datasets.lfqa import LFQA
from tests.datasets import samples
from tests.datasets.test_shared_data import DATA

PAGES = {"a.org": ["Rivers.", "The Rhine flows north.", "It is long."], "b.org": ["Ships.", "", "Ships use the Rhine."]}
ANSWER = "It flows north. Ships go on it."


def marked(statement, page, number):
    return {"scuSentence": statement, "documentFile": page, "sent_idx": float(number)}


def record(number=0, **more):
    """By hand, in the form of the file."""
    marks = [marked("Ships go on it.", page, 2) for page in PAGES] + [marked("It flows north.", "a.org", 1)]
    pages = [{"documentFile": name, "documentText": text} for name, text in PAGES.items()]
    about = {"unique_id": f"q{number}-engine", "query": "Where does it flow?", "response": ANSWER, "documents": pages}
    return about | {"set_of_highlights_in_context": marks} | more


def records():
    return [record(number) for number in range(3)]


def sample(data):
    """Into a data folder, where the adapter looks for its file."""
    (file := data / "lfqa" / "dev.jsonl.gz").parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in records()).encode()))
    return lfqa.PLUGIN


def facts(tmp_path, *some, letters=lfqa.LETTERS):
    return list(LFQA(str(samples.write_lines(tmp_path / "d.jsonl", some)), letters).facts())


@pytest.mark.parametrize("letters", [lfqa.LETTERS, 30])
def test_a_statement_has_all_sentences_that_people_marked_whatever_is_left_out(tmp_path, letters):
    (fact,) = facts(tmp_path, record(), letters=letters)
    assert [(ANSWER[start:end], [fact.documents[d][a:b] for d, a, b in found]) for start, end, found in fact.statements] == [
        ("It flows north.", ["The Rhine flows north."]), ("Ships go on it.", ["It is long.", "Ships use the Rhine."]),
    ]  # fmt: skip
    assert [(ANSWER[start:end], document) for start, end, document in fact.spans] == [
        ("It flows north.", 0), ("Ships go on it.", 0), ("Ships go on it.", 1),
    ]  # fmt: skip
    assert ("Ships.\n" in fact.documents[1]) == (letters > 30)


def test_of_a_page_without_a_mark_its_beginning_is_read(tmp_path):
    (fact,) = facts(tmp_path, record(set_of_highlights_in_context=[marked("It flows north.", "a.org", 1)]), letters=20)
    assert fact.documents == ("The Rhine flows north.", "Ships.")


@pytest.mark.parametrize(("change", "kind", "reason"), [
    ({"documents": []}, BadRecord, "'documents' should be a list of objects"),
    ({"documents": [{"documentFile": "a.org", "documentText": ["One."]}] * 2}, BadRecord, "two documents have one"),
    ({"documents": [{"documentFile": "a.org"}]}, BadRecord, "a document should have 'documentFile', and 'documentText'"),
    ({"set_of_highlights_in_context": [marked("It", "c.org", 0)]}, BadRecord, "a highlight names sentence 0.0 of 'c.org'"),
    ({"set_of_highlights_in_context": [marked("It", "a.org", 7)]}, BadRecord, "a highlight names sentence 7.0 of 'a.org'"),
    ({"set_of_highlights_in_context": [marked("Elbe", "a.org", 0)]}, BadRecord, "a highlight is of 'Elbe', which does not"),
    ({"set_of_highlights_in_context": []}, Unusable, "answer not in document"),
])  # fmt: skip
def test_a_record_that_cannot_be_used_says_why(tmp_path, change, kind, reason):
    (one, _) = facts(tmp_path, record(1, **change), record(2))
    assert isinstance(one, kind)
    assert one.reason.startswith(reason)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")
def test_the_real_file():
    answers = list(LFQA(f"{DATA}/lfqa/dev.jsonl.gz").facts())
    assert all(isinstance(one, Stated) for one in answers)
    assert (len(answers), sum(len(one.statements) for one in answers)) == (44, 100)
    assert max(sum(map(len, one.documents)) for one in answers) < lfqa.LETTERS

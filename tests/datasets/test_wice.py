import gzip
import json

import pytest

from heval_core.datasets import wice
from heval_core.datasets._quoted import Supported, window
from heval_core.datasets._reading import BadRecord, Unusable
from heval_core.datasets.wice import Wice
from tests.datasets import samples
from tests.datasets.test_shared_data import DATA

PAGE = ["(meta) Rivers", " The Rhine flows north. ", "", "It is long.", "Ships use it.", "The Danube flows east.", "The end."]


def record(number=0, **more):
    """By hand, in the form of the file."""
    about = {"id": f"dev{number}", "claim_title": "Rhine"}
    return {"claim": "The Rhine is long.", "evidence": PAGE, "supporting_sentences": [[1, 3], [3]], "meta": about, **more}


def records():
    third = record(2, claim="Ships go on it.", supporting_sentences=[[4], [3, 4]])
    return [record(), record(1, supporting_sentences=[[5]]), third]


def sample(data):
    """Into a data folder, where the adapter looks for its file."""
    (file := data / "wice" / "claims-dev.jsonl.gz").parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in records()).encode()))
    return wice.PLUGIN


def facts(tmp_path, *some, letters=wice.LETTERS):
    return list(Wice(str(samples.write_lines(tmp_path / "d.jsonl", some)), letters).facts())


def test_a_claim_has_a_part_of_its_page_with_all_that_supports_it(tmp_path):
    whole, part = facts(tmp_path, record(), letters=500)[0], facts(tmp_path, record(), letters=40)[0]
    assert whole.documents[0].splitlines() == [line.strip() for line in PAGE if line]
    for fact in (whole, part):
        assert [[fact.documents[0][start:end] for _, start, end in one] for one in fact.support] == [
            ["The Rhine flows north.", "It is long."], ["It is long."],
        ]  # fmt: skip
    assert part.documents == ("The Rhine flows north.\nIt is long.",)
    assert (whole.question, whole.answer) == ("What does the text say about Rhine?", "The Rhine is long.")


def test_a_part_of_a_page_is_what_stands_nearest_to_the_gold_and_never_cuts_that():
    assert window(PAGE, {3}, 30) == ("It is long.\nShips use it.", {3: 0, 4: 12})
    assert window(PAGE, {1, 5}, 1)[0] == "The Rhine flows north.\nThe Danube flows east."
    assert window(["A long sentence.", "b"], set(), 3) == ("A long sentence.", {0: 0})
    text, starts = window(PAGE, {5}, 1_000)
    assert all(text[start:].startswith(PAGE[number].strip()) for number, start in starts.items())


@pytest.mark.parametrize(("change", "kind", "reason"), [
    ({"supporting_sentences": [[9]]}, BadRecord, "'supporting_sentences' names sentence 9, of 7"),
    ({"evidence": "one text"}, BadRecord, "'evidence' should be a list of texts"),
    ({"supporting_sentences": [3]}, BadRecord, "'evidence' should be a list of texts, and"),
    ({"claim": ""}, BadRecord, "'claim' is empty"),
    ({"supporting_sentences": [[]]}, Unusable, "answer not in document"),
])  # fmt: skip
def test_a_record_that_cannot_be_used_says_why(tmp_path, change, kind, reason):
    (one,) = facts(tmp_path, record(**change))
    assert isinstance(one, kind)
    assert one.reason.startswith(reason)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")
def test_the_real_file():
    claims = list(Wice(f"{DATA}/wice/claims-dev.jsonl.gz").facts())
    supported = [one for one in claims if isinstance(one, Supported)]
    assert (len(claims), len(supported)) == (349, 319)
    assert max(len(one.documents[0]) for one in supported) < 3_000

import gzip
import json

import pytest

from heval_core.datasets import wice_words
from heval_core.datasets._quoted import Worded
from heval_core.datasets._reading import BadRecord
from heval_core.datasets.wice_words import WiceWords
from tests.datasets import samples
from tests.datasets import test_wice as whole
from tests.datasets.test_shared_data import DATA


def record(number=0, **more):
    """By hand, in the form of the file."""
    words = {"The": False, "Rhine": False, "is": False, "very": True, "long": False, ".": False}
    said = {"claim_tokens": [*words], "non_supported_spans": [*words.values()]}
    return whole.record(number, claim="The Rhine is very long.") | said | more


def records():
    return [record(number) for number in range(3)]


def sample(data):
    """Into a data folder, where the adapter looks for its file."""
    (file := data / "wice_words" / "non_supported_tokens-dev.jsonl.gz").parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress("".join(f"{json.dumps(one)}\n" for one in records()).encode()))
    return wice_words.PLUGIN


def facts(tmp_path, *some):
    return list(WiceWords(str(samples.write_lines(tmp_path / "d.jsonl", some))).facts())


def test_each_word_says_whether_nothing_supports_it_and_a_full_stop_is_no_word(tmp_path):
    (fact,) = facts(tmp_path, record())
    assert [(fact.answer[start:end], alone) for start, end, alone in fact.words] == [
        ("The", False), ("Rhine", False), ("is", False), ("very", True), ("long", False),
    ]  # fmt: skip
    assert fact.documents[0].splitlines() == [line.strip() for line in whole.PAGE if line]


@pytest.mark.parametrize(("change", "reason"), [
    ({"non_supported_spans": [True]}, "'claim_tokens' should be a list of texts, and 'non_supported_spans' one of as many"),
    ({"claim_tokens": ["The", "Elbe", "is", "very", "long", "."]}, "'claim_tokens' has 'Elbe', which does not follow in"),
    ({"claim_tokens": None}, "'claim_tokens' should be a list of texts"),
    ({"supporting_sentences": [[9]]}, "'supporting_sentences' names sentence 9, of 7"),
])  # fmt: skip
def test_a_broken_record_says_what_is_wrong(tmp_path, change, reason):
    (one, _) = facts(tmp_path, record(1, **change), record(2))
    assert isinstance(one, BadRecord)
    assert one.reason.startswith(reason)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")
@pytest.mark.parametrize(("part", "count", "share"), [("dev", 124, 0.28), ("train", 374, 0.31)])
def test_the_real_files(part, count, share):
    claims = list(WiceWords(f"{DATA}/wice/non_supported_tokens-{part}.jsonl.gz").facts())
    assert all(isinstance(one, Worded) for one in claims)
    alone = [mark for one in claims for *_, mark in one.words]
    assert (len(claims), sum(alone) / len(alone)) == (count, pytest.approx(share, abs=0.006))

import pytest

from heval_core.datasets import quotesum
from heval_core.datasets._reading import BadRecord
from tests.datasets import samples
from tests.datasets.test_shared_data import DATA

RIVERS = {
    "title1": "Rhine", "source1": "It flows north.", "title2": "Danube", "source2": "It flows east. It is long.",
    "source3": "",
}  # fmt: skip


def record(summary, number=0, **more):
    """By hand, in the form of the file."""
    return {"unique_id": f"R_{number}", "question": "Where does it flow?", "summary": summary, **RIVERS, **more}


def records():
    return [
        record("The [ 1 Rhine ] [ 1 flows north ] . The other ( the [ 2 Danube ] ) [ 2 flows east. ]", 0),
        record("[ 2 It is long. ]", 1),
        record("It flows [ 2 east ] , or north.", 2),
    ]


def sample(data):
    """Into a data folder, where the adapter looks for its file."""
    samples.write_lines(data / "quotesum" / "dev.jsonl", records())
    return quotesum.PLUGIN


def test_an_answer_loses_its_markers_and_keeps_what_they_say(tmp_path):
    one, two, three = quotesum.QuoteSum(str(samples.write_lines(tmp_path / "d.jsonl", records()))).facts()
    assert one.answer == "The Rhine flows north. The other ( the Danube) flows east."
    assert [(one.answer[start:end], document) for start, end, document in one.spans] == [
        ("Rhine", 0), ("flows north", 0), ("Danube", 1), ("flows east.", 1),
    ]  # fmt: skip
    assert one.documents == ("Rhine: It flows north.", "Danube: It flows east. It is long.")
    assert (two.answer, two.spans) == ("It is long.", ((0, 11, 1),))
    assert three.answer == "It flows east, or north."


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (record("It flows."), "'summary' marks no copied span, as in '[ 2 text ]'"),
        (record("It [ 5 flows ]."), "'summary' copies from passage 5, which the record does not have"),
        (record("It [ 1 flows ].", title1=""), "'title1' is empty"),
    ],
)
def test_a_broken_record_says_what_is_wrong(tmp_path, broken, reason):
    (found,) = quotesum.QuoteSum(str(samples.write_lines(tmp_path / "d.jsonl", [broken]))).facts()
    assert isinstance(found, BadRecord)
    assert found.reason == reason


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")
def test_the_real_file():
    answers = list(quotesum.QuoteSum(f"{DATA}/quotesum/dev.jsonl").facts())
    assert (len(answers), len({one.question for one in answers}), sum(len(one.spans) for one in answers)) == (265, 91, 1130)
    assert not any("[ " in one.answer or " ]" in one.answer for one in answers)
    assert {len(one.documents) for one in answers} == {2, 3, 4, 5, 6}

"""The authors' own files, whose columns have names of our guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from heval_core.datasets import transparent_context_usage as published
from heval_core.plugins.protocols import Dataset
from heval_core.records import HEvalError
from tests.datasets import samples


def write_files(folder: Path, part: str = "fakepedia") -> Path:
    """The form of the authors' own files, under column names of our guess."""
    rows = [
        (country, true, samples.FALSE[n % 3], samples.FALSE[(n + 1) % 3])
        for n, (country, true) in enumerate(samples.CITIES.items())
    ]
    question = "The capital of {} is"
    samples.write_csv(
        folder / f"{part}_conflicting.csv",
        ["Question", "subject", "context", "answer", "memory_answer"],
        [[question.format(c), c, samples.passage(c, false), false, true] for c, true, false, _ in rows],
    )
    samples.write_csv(
        folder / f"{part}_double_conflicting.csv",
        ["question", "context_1", "answer_1", "context_2", "answer_2"],
        [[question.format(c), samples.passage(c, a), a, samples.passage(c, b), b] for c, _, a, b in rows],
    )
    samples.write_csv(
        folder / f"{part}_irrelevant.csv",
        ["question", "context", "answer"],
        [[question.format(c), "The currency of Fiji is the dollar.", "dollar"] for c, *_ in rows],
    )
    return folder


def sample(data: Path) -> Dataset:
    write_files(data / "transparent_context_usage")
    return published.TransparentContextUsage("fakepedia")


def test_the_published_files_are_read_by_their_accepted_columns_which_are_printed(tmp_path, capsys):
    folder = write_files(tmp_path)
    facts, bad, unusable = samples.sorted_out(published.TransparentContextUsage("fakepedia", str(folder)))
    assert (len(facts), bad, unusable) == (6, [], [])
    assert all(len(fact.conflicting) == 2 and fact.irrelevant.answer == "dollar" for fact in facts)
    printed = capsys.readouterr().err
    assert "fakepedia_conflicting.csv: question is 'Question', subject is 'subject'" in printed


def test_the_documented_table_of_columns_is_the_one_that_is_used():
    for wanted, names in published.ACCEPTED.items():
        assert f"{wanted} " in published.__doc__
        assert all(name in published.__doc__ for name in names)


def test_texts_that_look_like_numbers_or_missing_values_stay_texts(tmp_path):
    write_files(tmp_path)
    samples.write_csv(
        tmp_path / "fakepedia_conflicting.csv",
        ["question", "subject", "context", "answer", "memory_answer"],
        [["The code of Namibia is", "Namibia", "The code of Namibia is 7.", "7", "NA"]],
    )
    (fact,) = published.TransparentContextUsage("fakepedia", str(tmp_path)).facts()
    assert (fact.conflicting[0].answer, fact.answer) == ("7", "NA")


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path):
    write_files(tmp_path)
    samples.write_csv(tmp_path / "fakepedia_irrelevant.csv", ["question", "text"], [])
    with pytest.raises(HEvalError, match=r"has the columns question, text; it lacks document \(context, .*answer"):
        list(published.TransparentContextUsage("fakepedia", str(tmp_path)).facts())

"""Where a sentence ends, with markers in it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heval_core.citations.sentences import split
from tests.conftest import ROOT

SPLIT = [
    ("It is so [1]. It was [2, 3].", ["It is so [1]. ", "It was [2, 3]."]),
    ("It is so.[2] Next one.", ["It is so.[2] ", "Next one."]),
    ("It is so. [2][3] Next one.", ["It is so. [2][3] ", "Next one."]),
    ("It is so. [2]. Next one.", ["It is so. [2]. ", "Next one."]), ("It is so.[2]Next one.", ["It is so.[2]", "Next one."]),
    ("It is so.\n\n[2]\nNext one.\n", ["It is so.\n\n[2]\n", "Next one.\n"]),
    ("It costs 15. [6], he says. Yes.", ["It costs 15. [6], he says. ", "Yes."]),
    ("[3]. It is so. [2]", ["[3]. It is so. [2]"]),
    ("Mr. Ode of the U.S. army [2] went.", ["Mr. Ode of the U.S. army [2] went."]),
    ("He said so. [sic] It was!? [2019 census] Yes", ["He said so. ", "[sic] It was!? ", "[2019 census] Yes"]),
    ('He left. "It is so." [4] (Yes.) No.', ["He left. ", '"It is so." [4] ', "(Yes.) ", "No."]),
    ('He said "so. [4]" Next.', ['He said "so. [4]" ', "Next."]), ("One sentence", ["One sentence"]), ("[1][2]", ["[1][2]"]),
    (" \n", []), ("", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentences"), SPLIT)
def test_sentences_end_where_a_reader_ends_them(text, sentences):
    assert split(text) == sentences


@example(["It is", ". ", "[1]", ". ", "[sic]"])
@given(
    st.lists(
        st.sampled_from(["It is", ". ", ".", "? ", "[1]", " [2, 3]", "[sic]", "\n", '"', "(", ")", ", ", "\ud800", "\0", "é"])
    )
)
def test_joined_sentences_give_the_text_back_and_none_starts_with_a_marker(pieces):
    text = "".join(pieces)
    sentences = split(text)
    assert "".join(sentences) == (text if text.strip() else "")
    assert all(sentence.strip() for sentence in sentences)
    assert not any(sentence.startswith(("[1]", "[2, 3]")) for sentence in sentences[1:])


@pytest.mark.parametrize("hostile", ["[" * 50_000, '".' * 25_000, "[1]." * 10_000, "<b>" * 20_000, "It is. " * 5_000])
def test_hostile_texts_take_no_longer(hostile):
    split("Load the sentencizer.")
    start = time.perf_counter()
    assert "".join(split(hostile)) == hostile
    assert time.perf_counter() - start < 5


def test_importing_the_study_loads_neither_spacy_nor_torch():
    code = (
        "import sys, heval_core.citations.questions, heval_core.citations.scoring;"
        "print([name for name in ('spacy', 'torch', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_in_a_list_a_marker_belongs_to_the_line_that_it_begins():
    text = "[1] Ships leave Zantovia.\n[2] It lies in Africa. [3]\n [4] It pays."
    assert split(text) == ["[1] Ships leave Zantovia.\n", "[2] It lies in Africa. [3]\n ", "[4] It pays."]
    # Without a marker at its beginning a text is no list, and a line of markers alone belongs to what is above it.
    assert split("Ships leave Zantovia.\n[2] It lies in Africa.") == ["Ships leave Zantovia.\n[2] ", "It lies in Africa."]
    assert split("[1] Ships leave Zantovia.\n[2]\nIt lies in Africa.")[0] == "[1] Ships leave Zantovia.\n[2]\n"

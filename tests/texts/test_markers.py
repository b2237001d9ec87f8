"""Which brackets are markers, and what a text looks like without some of them."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heval_core.citations import mask
from heval_core.figures.answer import spelt
from heval_core.records.whole_answers import AnswerWord
from heval_core.texts import markers

CITING = {
    "so [3].": (3,), "so [26, 34].": (26, 34), "so [26,34;2 and 7, and 8 & 9].": (26, 34, 2, 7, 8, 9),
    "so [1][2]. And [1]": (1, 2), "so [1-3], or [4–5]": (1, 2, 3, 4, 5), "so.[2] Next": (2,), "Reason[10], it": (10,),
    "[0] and [ 7 ]": (0, 7), "so [٣].": (3,), "in [1999]": (1999,), "[[3]] [a [4] b]": (3, 4),
    "<b>[5]</b><script>[6]": (5, 6),
    # As chat models and their search tools write them.
    "so 【1】 or 【2†source】.": (1, 2), "so 【3†L1-L5】【1†report.pdf】": (3, 1), "so 〔1〕, ［2, 3］": (1, 2, 3),
    "so [Doc 1], [Document 2] and [docs 3, 4].": (1, 2, 3, 4), "so (Doc 1) or (Sources 2 and 3).": (1, 2, 3),
    "so [Source: Doc 1; Doc 2]": (1, 2), "so [citation:3][cite: 1, 2].": (3, 1, 2), "so [^1][^2^] [#3]": (1, 2, 3),
    "so [Passage 1-3]": (1, 2, 3), "so [1](https://a.b) [2](so)": (1, 2), "so [1†a, 2†b]": (1, 2),
    "so.¹ Then² “so”³, in 1976⁴ or so¹˒³": (1, 2, 3, 4), "euros¹²": (12,), "so¹⁻³": (1, 2, 3),
}  # fmt: skip
TEXT = ("[sic]", "[2019 census]", "[]", "[3", "3]", "[3-2]", "[1-999]", "[1234567890]")
TEXT += ("[-1]", "[1.5]", "[3,]", "[²]", "[1–]", "(3)", "[1】", "(Doc 1]", "(^1)", "[Table 3]", "(Section 3)", "【1: so】")
TEXT += ("5 km²", "x²", "10⁶", "60²", "square metres²", "¹⁴C", "sin²", "【4:0†source】", "doc 1")


@pytest.mark.parametrize(("sentence", "cited"), CITING.items())
def test_markers_are_read_as_they_stand(sentence, cited):
    assert markers.read(sentence)[1] == cited


@pytest.mark.parametrize("sentence", TEXT)
def test_other_brackets_are_text(sentence):
    assert markers.read(f"It {sentence} is.") == (f"It {sentence} is.", ())


MASKED = {
    "so [26, 34].": "so [26].", "so [34, 26].": "so [26].", "so [1, 34, 2 and 3].": "so [1, 2 and 3].",
    "so [1, 2 and 34].": "so [1, 2].", "so [1][34][2]. ": "so [1][2]. ", "so [1] [34].": "so [1].",
    "so [34], [1] and [2].": "so [1] and [2].", "so [1], [2] and [34].": "so [1], [2].",
    "so [33-36], or": "so [33, 35-36], or", "so [34-36].": "so [35-36].", "so [34].": "so.", "so [34] .": "so.",
    "so [34] but [34] so": "so but so", "as in [34] and [34].": "as in.", "so [34] is [34]": "so is", "so.[34] ": "so. ",
    "[34] So [34] it": "So it", "so ([34]).": "so.", "so (see [34]).": "so (see).", "so ([34][1]).": "so ([1]).",
    "so [[34]].": "so.", "so[34]but.[34]Then": "so but. Then", "about [34] .5": "about .5",
    'said "so [34]" he': 'said "so" he', 'he [34] "said"': 'he "said"', "[34]": "", "[34].": ".",
    "so  [sic] [3] [34": "so  [sic] [3] [34",
    "so 【34】.": "so.", "so 【34†source】【1†source】.": "so 【1†source】.",
    "so (Doc 34).": "so.", "so (Doc 34, 2)": "so (Doc 2)",
    "so [Doc 34; Doc 2].": "so [Doc 2].", "so [33†a, 34†b]": "so [33†a]", "so.³⁴ It": "so. It", "so¹˒³⁴ it": "so¹ it",
    "so³³⁻³⁶.": "so³³,³⁵⁻³⁶.", "so [^34^][^1^]": "so [^1^]", "so [Docs 33-35]": "so [Docs 33, 35]",
    "so [34](https://a.b/c?d=1). It": "so. It", "so [1, 34](http://a.b)": "so [1](http://a.b)",
}  # fmt: skip


@pytest.mark.parametrize(("sentence", "masked"), MASKED.items())
def test_masking_deletes_the_asked_number_only(sentence, masked):
    assert mask([sentence], 34) == ([masked], {0} if sentence != masked else set())


def test_masking_finds_every_sentence_that_cites_and_leaves_the_others():
    sentences = ["A [1].", "B [1, 2].", "C.", "D [2][1] e [1].", "F [11]."]
    assert mask(sentences, 1) == (["A.", "B [2].", "C.", "D [2] e.", "F [11]."], {0, 1, 3})
    assert mask(sentences, 9) == (sentences, set())
    assert mask([], 1) == ([], set())


WORDS = st.lists(
    st.sampled_from(
        ["so", " ", ".", ",", "(", ")", "[", "]", "[sic]", "[1]", "[2, 1]", "[1-3]", "[2]", " and ", '"', "é", "【1†a, 2†b】"]
        + ["(Doc 1, 2)", "[Doc 2; Doc 1]", "¹", "²˒¹", "【", "】", "†"]
    )
)


@given(WORDS, st.integers(1, 3))
def test_masked_text_has_the_same_words_and_the_other_numbers(pieces, passage):
    sentence = "".join(pieces)
    masked = markers.without(sentence, lambda number: number == passage)
    cited = markers.read(sentence)[1]
    assert sorted(set(markers.read(masked)[1])) == sorted(set(cited) - {passage})
    words = [re.findall(r"so|sic|é", text) for text in (masked, sentence)]
    assert words[0] == words[1]
    assert (masked == sentence) is (passage not in cited)
    bare, _ = markers.read(sentence)
    assert "[1]" not in bare


@pytest.mark.parametrize(
    "hostile",
    ["[1" * 30_000, "[" * 60_000, "[1]" * 30_000, "([1])" * 20_000, "[1, " * 20_000, "[1" + " " * 60_000, "so¹" * 20_000]
    + ["[1†" * 20_000, "[doc " * 15_000, "[Doc 1; " * 10_000, "[1†" + "a" * 60_000, "¹˒" * 30_000, "[source: " * 9_000]
    + [
        "(See " * 12_000,
        "(A and " * 10_000,
        "(Ab" + " Ab" * 20_000,
        "【1" * 20_000,
        "[@" * 30_000,
        "A" * 60_000,
        "<co " * 15_000,
    ],
)
def test_hostile_texts_take_no_longer_to_mask(hostile):
    start = time.thread_time()
    mask([hostile], 1)
    markers.unread(hostile)
    assert time.thread_time() - start < 3


def test_a_marker_is_no_word_of_an_answer_that_counts():
    texts = (" so", " [", "2", "].", " It", " 【", "1", "†", "b", "】", " costs", " 60", "²")
    words = [AnswerWord(place, place + 1, text) for place, text in enumerate(texts)]
    assert [word.text for word in spelt(words)] == [" so", " It", " costs", " 60", "²"]
    assert spelt(words[1:4]) == words[1:4]


UNREAD = {
    "(Smith 2020)": "so {}.", "[Smith, 2020]": "so {}.", "(Smith et al., 2020b; Lee 2021)": "{}",
    "(see Ode and Ure 1999)": "{}", "[a]": "so {}.", "Source 1": "{}: it is.",
    "【4:0†source】": "so {}", "Document 2": "As {} says", "[Doc A]": "so {}",
    "(source: Wikipedia)": "so {}", "[1, p. 5]": "so {}", "[1: Kenya]": "so {}.", "(3)": "so {}.", "[@ode2020]": "so {}",
    "<co: 0>": "{}so</co: 0>", r"\cite{ode}": "so {}", "[^note]": "so {}", "(https://a.b)": "so [it]{}", "{1}": "so {}",
    "cite\ue202turn0search1": "so \ue200{}\ue201",
}  # fmt: skip
NO_CITATION = (
    "so [sic].",
    "[2019 census]",
    "May (2020)",
    "(May 2020)",
    "[...]",
    "(born 1999)",
    "5 km²",
    "10⁶",
    "[he]",
    "Table 3",
)
NO_CITATION += ("(1) so, (2) it", "source of 3 rivers", "【背景】", "2020 (see below)", "a document", "(the UN in 1999)")


@pytest.mark.parametrize(("mark", "around"), UNREAD.items())
def test_what_looks_like_a_citation_and_is_none_that_is_read_is_found(mark, around):
    text = around.replace("{}", mark)
    assert not markers.read(text)[1]
    assert markers.unread(text) == mark
    assert markers.unread("so [1].") == markers.unread("so [Doc 1] 【2†b】 (Doc 3)² so²") == ""


@pytest.mark.parametrize("text", NO_CITATION)
def test_no_other_bracket_looks_like_a_citation(text):
    assert markers.unread(text) == ""

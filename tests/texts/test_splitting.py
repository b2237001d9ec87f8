"""Where sentences and words begin and end: in documents, answers and explanations with citations, by the one splitter."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heval_core.prompting.units import units_of
from heval_core.texts.markers import markers
from heval_core.texts.splitting import sentences, words


def split(text):
    return [text[one.start : one.end] for one in sentences(text)]


# `|` stands where a reader ends a sentence.
PROSE = """
北京是中国的首都。|上海是最大的城市。
東京は日本の首都です。|大阪も大きいです。
「そうです。」と言った。|はい。
القاهرة عاصمة مصر؟ |نعم هي العاصمة. |أسوان مدينة.
भारत एक देश है। |दिल्ली राजधानी है।
กรุงเทพเป็นเมืองหลวง |เชียงใหม่อยู่ทางเหนือ
คนต่าง ๆ ไป
The U.S. Senate met. |J. K. Rowling wrote it. |Acme Inc. bought it for $3.5 mil. in Jan. 2020.
Dr. Smith met Mr. Lee at 3 p.m. in St. Louis. |He paid approx. 5 USD, e.g. for No. 7. |It was fine.
The study (Lee et al. 2020) found it. |See Fig. 2 and Sec. 3.1.
1. First point. |2. Second point.
I live in the U.S. |It is big. |The U.S. (the country) is. |J. A. Smith left at 5 p.m. |They drank.
He has a Ph.D. from M.I.T. |She works at Acme Inc. |The rest is Saint George's. |Visitors find it.
What?! |No... |Well, maybe. |Version 2.0.1 of example.com rose 2.5%. |Yes!
He said "Stop it. |Now." |Then he left. |"Why?" she asked. |(It was late.) |“She” stayed.
It is so [1]. |It was [2, 3]. |It is so.[2] |Next one.
It is so. [2][3] |Next. [2]. |It costs 15. [6], he says. |Yes.
[3]. It is so. [2]
He said so. |[sic] It was!? |[2019 census] Yes
He left. |"It is so." [4] |(Yes.) |He said "so. [4]" |Next.
Hello! |👍 Nice day. 🙂
the ferry is red. |it costs e.g. 5 euros. |it is late
thing3 Value3 . |thing14 Value14 .
no punctuation at all in here
[1][2]
""".strip().splitlines()
LINES = [
    "The ferry to the\nIsland leaves at nine. |It costs\nten euros.", "Dear Dr.\r\nSmith, it\r\nis late.\r\n\r\n|Yes.",
    "One is.\u2028|Two is\u2028so.\u2029|Three.", "Opening hours\n|Monday to Friday, nine to five.",
    "Title\n\n \n|It is.\n\n\n", "Name: Lisbon\n|Country: Portugal\n|Population: 500000", " \n\nIt is.\n|It was.",
    "Steps:\n|- one. |Then\n|* two\n|1. Do it. |Now.\n|2) Stop.\n\n|End", "a\tb. C\n|c\td", "# 1. A Title\n|Text is. |It is.",
    "See:\n|```python\n|x = 1. Y = 2\n\n|y = x\n```\n|Done. |Yes.", "It works:\n|def f(x):\n    |y = x. Y\n    |return y",
    "東京は日本の\n首都です。|大阪", "[1] Ships leave.\n|[2] It lies in Africa. [3]\n |[4] It pays.",
    "[1] Ships leave\nfull of boots. [2]\n|[3] Yes.", "Ships leave Zantovia.\n[2] |It lies in Africa.",
    "[1] Ships leave Zantovia.\n[2]\n|It lies in Africa.",
    "It is so.\n\n[2]\n|Next one.\n", "[1]It is. \n[1]",
]  # fmt: skip


@pytest.mark.parametrize("marked", [*PROSE, *LINES])
def test_sentences_end_where_a_reader_ends_them(marked):
    assert split(marked.replace("|", "")) == marked.split("|")


def test_a_line_of_a_table_is_a_unit_and_a_rule_belongs_to_the_line_above():
    table = "| 1. A | b. C |\n|---|---|\n| c. D | 2 |\nIt is. That is."
    lines = table.splitlines(keepends=True)
    assert split(table) == [lines[0] + lines[1], lines[2], "It is. ", "That is."]


@pytest.mark.parametrize("empty", ["", " \n", "\u2028"])
def test_white_space_has_no_sentence(empty):
    assert split(empty) == []


PIECES = [
    "It is",
    ". ",
    ".",
    "? ",
    "[1]",
    " [2, 3]",
    "[sic]",
    "\n",
    '"',
    "(",
    ")",
    ", ",
    "\ud800",
    "\0",
    "é",
    "Mr. ",
    "1. ",
    "。",
    "🙂",
]


@example(["It is", ". ", "[1]", ". ", "[sic]"])
@example(["[1]", "It is", ". ", "\n", "[1]"])
@given(st.lists(st.sampled_from(PIECES)))
def test_sentences_cover_a_text_and_none_starts_with_a_marker_that_ends_another(pieces):
    text = "".join(pieces)
    found = split(text)
    assert "".join(found) == (text if text.strip() else "")
    assert all(any(map(str.isalnum, one)) for one in found[1:])
    listed = next((not text[: marker.start()].strip() for marker in markers(text)), False)
    starts = [
        text[: one.start].rstrip(" ")[-1:] for one in sentences(text)[1:] if text.startswith(("[1]", "[2, 3]"), one.start)
    ]
    assert not starts or (listed and set(starts) == {"\n"})
    assert "".join(text[one.start : one.end] for one in words(text)) == text


HOSTILE = [
    "x", "word ", "It is. ", "J. ", "1. ", "- ", "\n", "a\n", "A b.\n", "|", "a\t", "   a", "。", "北京。", "🙂 ", "\u0301",
    "(", '".', "[", "[1].", "[1]\n", "[1] a\n", "[1], [2]\n, x\n", "```\n", "=", "<b>",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_long_text_takes_a_time_in_proportion(hostile):
    text = hostile * (100_000 // len(hostile))
    start = time.process_time()
    assert "".join(split(text)) == (text if text.strip() else "")
    words(text)
    assert time.process_time() - start < 5


WORDS = [
    ("I don't pay 3.5 or $5,000.", ["I", "don't", "pay", "3.5", "or", "$", "5,000", "."]),
    ("max_retries = [12]...", ["max_retries", "=", "[", "12", "]..."]), ("北京是首都。", ["北京", "是", "首都", "。"]),
    ("東京は大きい", ["東京", "は", "大きい"]), ("กรุงเทพเป็นเมือง", ["กรุงเทพ", "เป็น", "เมือง"]),
    ("हिन्दी भारत", ["हिन्दी", "भारत"]), ("👩\u200d🚀 cafe\u0301\r\n\r\nThe", ["👩\u200d🚀", "cafe\u0301", "The"]),
    ("N'Djamena, D.C.", ["N'Djamena", ",", "D.C", "."]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_words_are_those_of_unicode_and_its_dictionaries(text, expected):
    assert [text[one.start : one.end] for one in words(text) if text[one.start : one.end].strip()] == expected


TOKENS = [
    ("word", ["Yes", ".", "\n\n", "The", " ", "1", "5", " s"], ["Yes", ".", "\n\n", "The", " 15", " s"]),
    ("word", ["a", ".\n\n", "\n\nThe", "  ", " b"], ["a", ".\n\n", "\n\nThe", "  ", " b"]),
    ("word", [" don", "'t", " na", "ï", "", "ve", ".", "", "5"], [" don't", " naïve", ".", "5"]),
    ("sentence", ["Yes", ".", "\n\n", "The", " end", ".\n", "\n", "No"], ["Yes.\n\n", "The end.\n\n", "No"]),
    ("sentence", [" U", ".", "S", ".", " law", ".", "\n\nIt", " is"], [" U.S. law.", "\n\nIt is"]),
    ("sentence", ["北", "", "京。上", "海。", "好"], ["北京。上", "海。", "好"]),
]  # fmt: skip


@pytest.mark.parametrize(("level", "tokens", "expected"), TOKENS)
def test_tokens_belong_to_the_unit_of_their_first_letter(level, tokens, expected):
    assert [unit.text(tokens) for unit in units_of(tokens, [""] * len(tokens), level)] == expected

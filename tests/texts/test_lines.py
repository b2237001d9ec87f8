"""What the lines of a text are."""

import pytest

from heval_core.texts.lines import line_at, lines


@pytest.mark.parametrize(("text", "look", "indent"), [
    ("Lisbon is a city.", "", 0),
    ("- Lisbon", "item", 0),
    ("  2. Porto", "item", 2),
    ("## Cities", "heading", 0),
    ("| city | people |", "row", 0),
    ("city\tpeople", "row", 0),
    ("|---|:--:|", "rule", 0),
    ("import os", "code", 0),
    ("\treturn x", "", 4),
    ("Lisbon --- a city", "", 0),
    ("", "", 0),
])  # fmt: skip
def test_a_line_is_what_it_looks_like(text, look, indent):
    (line,) = lines(f"{text}\n")
    assert (line.look, line.indent) == (look, indent)


def test_all_between_fences_is_code_and_each_letter_is_of_one_line():
    text = "So:\n```python\n# two cities\n- 1\n```\n- Porto\n\nEnd."
    read = lines(text)
    assert [line.look for line in read] == ["", "code", "code", "code", "code", "item", "", ""]
    assert "".join(text[one.start : two.start] for one, two in zip(read, read[1:], strict=False)) + "End." == text
    assert [line_at(read, text.index(part)).look for part in ("So", "two", "1\n", "Porto", "End")] == [
        "", "code", "code", "item", "",
    ]  # fmt: skip
    assert line_at(lines(""), 0) == (0, "", 0)

"""Docstrings as readers see them: a first sentence, and what stands under labels; text only."""

from __future__ import annotations

import html
import re

import pytest

from heval_core.figures.definitions import as_html, definition
from heval_core.plugins import catalogue
from tests.pages.opening import html_of, open_page

DOCSTRING = """Made-up score: how much is made up?

Formula (Sun et al. 2025, eq. 1): phi_i = z(x) - z(x without i), a
sum over `tokens`. Reference: none.
Departure: none. Options: `a`; `b`.
  x   a line of its own
Cost (our decision, option `c`): m passes. Chance for m tokens: the mean.

Worked by hand: two of five. Chance for one: 1/2.

>>> 1 + 1
2
"""


def told(entry) -> str:
    return "".join(stretch.text for stretch in entry.text)


def test_labelled_paragraphs_become_entries():
    own = definition("Made-up score (ours)", DOCSTRING, "Sun et al. 2025")
    assert "".join(stretch.text for stretch in own.lead) == "How much is made up?"
    assert [(entry.term, entry.note, told(entry)) for entry in own.entries] == [
        ("Formula", "Sun et al. 2025, eq. 1", "phi_i = z(x) - z(x without i), a sum over tokens."),
        ("Departure", "", "none."),
        ("Options", "", "a; b.\nx   a line of its own"),
        ("Cost", "our decision, option c", "m passes."),
        ("Chance", "for m tokens", "The mean."),
        ("Worked by hand", "", "Two of five. Chance for one: 1/2."),
        ("Reference", "", "Sun et al. 2025"),
    ]
    assert [stretch.text for stretch in own.entries[0].text if stretch.code] == ["tokens"]


def test_a_docstring_of_one_line_and_of_none_is_enough():
    assert definition("A", "One line.", "").entries == ()
    assert definition("A", "", "").lead == ()
    (about, reference) = definition("A", "One.\n\nNo label here.", "r").entries
    assert (about.term, told(about), told(reference)) == ("About", "No label here.", "r")


@pytest.mark.parametrize("kind", ["explainer", "metric", "technique", "dataset"])
def test_no_word_of_a_plug_in_is_lost_but_its_examples_and_its_name(kind):
    for plugin in catalogue.plugins(kind).values():
        text = catalogue.docstring(plugin)
        own = definition(plugin.title, text, plugin.reference)
        assert own.lead
        shown = " ".join(["".join(part.text for part in own.lead), *(f"{e.term} {e.note} {told(e)}" for e in own.entries)])
        without = re.sub(r"\n>>>.*", "", text, flags=re.DOTALL)
        without = re.sub(r"References?: [^:]*?\.(?=\s)", "", without)
        words = set(re.findall(r"[A-Za-z]{5,}", without)) - set(re.findall(r"[A-Za-z]{5,}", plugin.title))
        lost = {word for word in words if word.casefold() not in shown.casefold()}
        assert not lost - {"Reference", "Control", "Sources", "Fields", "Normalised"}, (plugin.key, lost)
        assert ">>>" not in shown
        assert "None" not in shown or "None" in text or "none" in text


def test_hostile_text_is_text():
    evil = "<script>x</script>"
    own = definition(evil, f"Name: {evil}\n\nFormula ({evil}): {evil} `{evil}`. Cost: {evil}", evil, mark="mark")
    body = as_html([("Metrics", [own])])
    assert "<script" not in body
    assert html.unescape(body).count(evil) == 7


def test_the_methods_tab_names_everything_that_is_installed(demo):
    app = open_page("about", tab="methods")
    body = html.unescape(html_of(app))
    for kind in ("explainer", "metric", "technique", "dataset"):
        for title in demo.catalogue(kind)["title"]:
            assert f"<b>{title.removesuffix(' (control)')}</b>" in body
    assert body.count("<em>control</em>") == demo.catalogue("explainer")["control"].sum() > 1
    assert body.count("<em>not in these results</em>") == len(demo.catalogue("dataset")) - 3
    assert not any("Formula" in text.value for text in app.text)

"""Explainers with other settings than their own: what their keys mean, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from heval_core.plugins import catalogue
from heval_core.records import HEvalError


@pytest.mark.parametrize(("text", "keys"), [
    ("fa", ("fa",)), ("fa,ig", ("fa", "ig")),
    ("fa(target=prob,baseline=3), ig(steps=20)", ("fa(target=prob,baseline=3)", "ig(steps=20)")), ("fa,,", ("fa",)),
    ("fa(target=prob", ("fa(target=prob",)),
])  # fmt: skip
def test_a_comma_inside_brackets_separates_options(text, keys):
    assert catalogue.split(text) == keys


@pytest.mark.parametrize(
    ("asked", "key", "settings"),
    [
        ("fa(target=prob)", "fa(target=prob)", {"target": "prob", "baseline": "and"}),
        ("fa( baseline = 3 ,target=prob)", "fa(target=prob,baseline=3)", {"target": "prob", "baseline": "3"}),
        ("mechlight(kv=true,fold=false)", "mechlight(kv=true)", {"fold": False, "kv": True}),
        ("attn(row=mean)", "attn(row=mean)", {"score": "slice", "row": "mean"}),
    ],
)
def test_a_variant_has_its_settings_and_one_key_however_it_is_written(asked, key, settings):
    plain, found = catalogue.find("explainer", asked.partition("(")[0]), catalogue.find("explainer", asked)
    assert found.key == key
    assert {name: getattr(found, name) for name in settings} == settings
    assert repr(found) == repr(type(plain)(**settings))
    assert found.signed is plain.signed
    assert catalogue.docstring(found) == catalogue.docstring(plain)


def test_the_settings_an_explainer_has_anyway_make_no_variant():
    assert catalogue.find("explainer", "fa(target=logit)") is catalogue.find("explainer", "fa")


@pytest.mark.parametrize(("asked", "told"), [
    ("fb(target=prob)", "no explainer 'fb'; did you mean fa"), ("fa(target=prob", "closing bracket"),
    ("fa(colour=red)", "fa has no option 'colour'; there are: target, baseline"), ("fa()", "no option ''"),
    ("fa(target=entropy)", "no target 'entropy'; there are: logit"),
    ("fa(baseline=)", "has no baseline ''; name a word, pad, or a token's number"), ("ig(steps=0)", "at least one step"),
    ("ig(steps=-3)", "at least one step, not -3"), ("ig(steps=2.5)", "ig reads steps= with a whole number, not '2.5'"),
    ("ig(steps=1_0)", "whole number, not '1_0'"), ("mechlight(fold=yes)", "fold=true or fold=false, not 'yes'"),
    ("attn(row=first)", "no row 'first'; there are: last, mean"),
])  # fmt: skip
def test_what_a_key_cannot_mean_is_said_before_anything_is_loaded(asked, told):
    with pytest.raises(HEvalError, match=told.replace("(", r"\(")):
        catalogue.find("explainer", asked)


@dataclass(frozen=True)
class Weighed:
    """An explainer of these tests alone, with an option of every type."""

    alpha: float = 1.0
    floor: float | None = None
    shift: int = 0

    key = "weighed"
    title = "Weighed"


@pytest.fixture
def weighed():
    catalogue.add("explainer", Weighed(), "this test")
    yield
    catalogue.remove("explainer", "weighed")


@pytest.mark.parametrize(("asked", "key", "settings"), [
    ("weighed(alpha=0.5)", "weighed(alpha=0.5)", Weighed(0.5)), ("weighed(alpha=.50)", "weighed(alpha=0.5)", Weighed(0.5)),
    ("weighed(alpha=-2)", "weighed(alpha=-2.0)", Weighed(-2.0)),
    ("weighed(floor=1e-3,alpha=1)", "weighed(floor=0.001)", Weighed(floor=0.001)),
    ("weighed(shift=-3)", "weighed(shift=-3)", Weighed(shift=-3)),
])  # fmt: skip
def test_options_may_be_decimals_and_below_zero(weighed, asked, key, settings):
    assert catalogue.find("explainer", asked).key == key
    assert repr(catalogue.find("explainer", asked)) == repr(settings)


@pytest.mark.parametrize("text", ["half", "nan", "inf", "1e999", "1_0", "", "0,5"])
def test_what_is_no_number_is_refused(weighed, text):
    with pytest.raises(HEvalError, match="weighed reads alpha= with a number, not|no option '5'"):
        catalogue.find("explainer", f"weighed(alpha={text})")


def test_a_control_is_no_method():
    with pytest.raises(HEvalError, match="random is a control.*The explainers are: mechlight, fa, ig, attn"):
        catalogue.method("random")

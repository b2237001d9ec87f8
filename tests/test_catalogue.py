"""Explainers with other settings than their own: what their keys mean, and what is refused."""

from __future__ import annotations

import pytest

from heval_core import catalogue
from heval_core.records import HEvalError


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("fa", ("fa",)),
        ("fa,ig", ("fa", "ig")),
        ("fa(target=prob,baseline_id=3), ig(steps=20)", ("fa(target=prob,baseline_id=3)", "ig(steps=20)")),
        ("fa,,", ("fa",)),
        ("fa(target=prob", ("fa(target=prob",)),
    ],
)
def test_a_comma_inside_brackets_separates_options(text, keys):
    assert catalogue.split(text) == keys


@pytest.mark.parametrize(
    ("asked", "key", "settings"),
    [
        ("fa(target=prob)", "fa(target=prob)", {"target": "prob", "baseline_id": None}),
        ("fa( baseline_id = 3 ,target=prob)", "fa(target=prob,baseline_id=3)", {"target": "prob", "baseline_id": 3}),
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


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("fb(target=prob)", "no explainer 'fb'; did you mean fa"),
        ("fa(target=prob", "closing bracket"),
        ("fa(colour=red)", "fa has no option 'colour'; there are: target, baseline_id"),
        ("fa()", "no option ''"),
        ("fa(target=entropy)", "no target 'entropy'; there are: logit"),
        ("fa(baseline_id=many)", "whole number, not 'many'"),
        ("ig(steps=0)", "at least one step"),
        ("ig(steps=-3)", "whole number, not '-3'"),
        ("mechlight(fold=yes)", "fold=true or fold=false, not 'yes'"),
        ("attn(row=first)", "no row 'first'; there are: last, mean"),
    ],
)
def test_what_a_key_cannot_mean_is_said_before_anything_is_loaded(asked, told):
    with pytest.raises(HEvalError, match=told.replace("(", r"\(")):
        catalogue.find("explainer", asked)

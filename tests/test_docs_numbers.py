"""Numbers that the docs say in sentences: each is computed from the bundle, and has to stand in its sentence."""

import pytest

from heval_core.present.numbers import number
from heval_core.records import TECHNIQUE
from heval_core.store.shards import ShardStore
from tests.conftest import DEMO, ROOT

MODELS = ("demo-gpt2", "demo-gpt_neox", "demo-qwen2")
# One document, then two.
REGIMES = ("conflicting", "irrelevant", "double_conflicting", "double_conflicting_swap", "mixed", "mixed_swap")


@pytest.fixture(scope="module")
def rows():
    """Rows of shards of a kind, of some regimes of a technique."""
    store = ShardStore(DEMO)

    def read(kind, regimes=("",), technique=TECHNIQUE):
        for entry in store.entries().values():
            if entry.kind == kind and entry.regime in regimes and entry.technique == technique:
                yield from store.read(entry).to_pylist()

    return read


def assert_said(page, sentence):
    """A sentence, wherever its lines break."""
    text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
    assert sentence in text, f"docs/{page} should say: {sentence}"


def mean(values):
    values = list(values)
    assert values
    return sum(values) / len(values)


def test_questions_of_the_prompts_with_options(rows):
    def counts(regime):
        """Of each model, without those that a decoy leaves out."""
        found = [row for row in rows("instance", [regime]) if row["dataset"] == "world_capital"]
        kept = [row["model"] for row in found if row["dropped_because"] is None]
        (one,) = {kept.count(model) for model in kept}
        return one

    plain, d0, d1, d2, d3 = (counts(f"mixed{option}") for option in ("_swap", ".d0", ".d1", ".d2", ".d3"))
    assert (d0, d2) == (d1, counts("mixed.256-first"))
    said = f"{plain} facts without options, {d0} under d0 and d1, {d3} under d3, {d2} with others"
    assert_said("origin.md", said)


def test_tokens_and_passes_of_origin(rows):
    for regime, prompts in (("mixed", "two one-sentence documents"), ("mixed.256-first", "eighteen one-sentence passages")):
        timed = [row for row in rows("timing", [regime]) if row["explainer"] in ("fa", "origin")]
        (length,) = {row["length"] for row in timed}
        origin, fa = (mean(row["passes"] for row in timed if row["explainer"] == key) for key in ("origin", "fa"))
        assert_said("origin.md", f"| {prompts} | {length} | {origin:.2g} | {fa:.0f} |")


def test_what_the_search_for_a_prompt_saw(rows):
    trials = [row for row in rows("trial", technique="prompting") if row["dataset"] == "world_capital" and row["setting"]]
    trials = [row for row in trials if row["model"] == "demo-instruct"]

    def bcu(setting):
        return f"{mean(row['bcu'] for row in trials if setting(row)):.3f}".removeprefix("0")

    chosen, relevant = bcu(lambda row: row["chosen"]), bcu(lambda row: "qa-09" in row["setting"])
    said = f"is {chosen} for ignoring everything and {relevant} for qa-09"
    assert_said("techniques.md", f"development questions the mean of BCU over the four kinds {said}")


@pytest.mark.slow
def test_how_often_the_demo_models_obey_their_rule(rows):
    cells = {}
    for row in rows("instance", REGIMES):
        if row["model"] in MODELS and row["dropped_because"] is None:
            obeyed = row["group"] == row["expected_group"]
            cells.setdefault((row["model"], row["dataset"], row["regime"]), []).append(obeyed)
    assert len(cells) == 36
    shares = [100 * mean(own) for own in cells.values()]
    assert_said("metrics.md", f"obey in {min(shares):.0f} to {max(shares):.0f} % of instances")


@pytest.mark.slow
def test_values_of_the_bundled_cells(demo_reader):
    def value(explainer, metric, part, models, regimes, column="value"):
        found = demo_reader.query(
            f"SELECT avg({column}) AS v FROM cell_metric WHERE explainer = ? AND metric = ? AND list_contains(?, part) "
            "AND list_contains(?, model) AND list_contains(?, regime) AND k IN (0, 5) AND technique = 'regular'",
            [explainer, metric, list(part), list(models), list(regimes)],
        )
        return float(found["v"][0])

    mrr = [
        number(value("mechlight", "mrr", ("C", "balanced"), ["demo-gpt_neox"], REGIMES, column)).removeprefix("0")
        for column in ("normalised", "value")
    ]
    assert_said("metrics.md", f"On demo-gpt_neox its MRR is {mrr[0]} ({mrr[1]} before it is normalised)")
    lost = {
        (key, part): f"{value(key, 'comprehensiveness', [part], MODELS, REGIMES):.1f}"
        for key in ("fa", "position")
        for part in ("baseline", "deletion")
    }
    said = f"{lost['fa', 'baseline']} nats of fa and {lost['position', 'baseline']} of the position control"
    assert_said("metrics.md", f"{said}; under deletion {lost['fa', 'deletion']} and {lost['position', 'deletion']}.")
    far = ("demo-gpt_neox-long", "demo-qwen2-long")
    short, long = (
        number(value("origin", "instance_rank_margin", ["balanced"], far, [regime], "normalised")).removeprefix("0")
        for regime in ("mixed.d0", "mixed.256-first")
    )
    assert_said("origin.md", f"falls from {short} to {long}")

"""Techniques in the batch job: shared passes, searches first, keys, and answers that are the literal ones."""

import json
import shutil
from collections import Counter
from dataclasses import dataclass, replace

import pytest
import torch

from heval_core.evaluation.publishing import publish
from heval_core.lm.loading import load
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import memory_prompt
from heval_core.records import CONTEXT_KINDS, FOLLOWED, TECHNIQUE, HEvalError
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.store.shards import ShardStore
from heval_core.techniques.shared.base import Base, Setting
from precompute.grid import GRIDS, Grid
from precompute.plan import RunPlan, as_lines, plan
from precompute.run import parts_of, run
from precompute.techniques import DEVELOPMENT, TEST, arrangements, split_of
from tests.datasets import samples
from tests.precompute.kills import pair_of, rows

pytestmark = pytest.mark.slow

GRID = replace(GRIDS["cub-smoke"], limit=24, regimes=("conflicting", "irrelevant"), device="cpu")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("techniques")
    assert run(GRID, folder).failed == 0
    return folder


@pytest.fixture(scope="module")
def lm():
    return load(GRID.models[0], device="cpu")


def test_every_answer_is_the_one_that_two_literal_passes_give(store, lm):
    behaviours = {row["instance_id"]: row for row in rows(store, "behaviour")}
    answers = [row for row in rows(store, "instance") if row["dropped_because"] is None]
    assert {row["technique"] for row in answers} == set(GRID.techniques)
    assert len(answers) == len(behaviours) == len(GRID.techniques) * len(GRID.regimes) * GRID.limit
    for row in answers:
        behaviour, technique = behaviours[row["instance_id"]], catalogue.find("technique", row["technique"])
        ids = lm.tokenizer(row["prompt"]).input_ids
        alone = lm.tokenise(memory_prompt(row["question"])).ids
        z_c, z_0 = (lm.model(torch.tensor([one])).logits[:, -1].float().detach() for one in (ids, alone))
        setting = Setting(behaviour["setting"])
        scores = technique.combined(z_c, z_0, setting)[0]
        assert row["predicted_id"] == int(scores.argmax())
        assert behaviour["memory_id"] == behaviour["alone_id"] == int(z_0.argmax())
        assert set(behaviour["accepted"]) == set(lm.first_tokens(row["document_answers"][0]))
        target, p_c = behaviour["target_id"], scores.softmax(-1)
        assert target == (
            max(behaviour["accepted"], key=lambda token: p_c[token]) if row["regime"] in FOLLOWED else int(z_0.argmax())
        )
        assert behaviour["probability"] == pytest.approx(float(p_c[target]), abs=1e-5)
        assert behaviour["alone_probability"] == pytest.approx(float(z_0[0].softmax(-1)[target]), abs=1e-5)
        assert behaviour["split"] == split_of(row["question"])
        assert behaviour["knew"] == (int(z_0.argmax()) in lm.first_tokens(row["true_answer"]))


def test_regular_follows_the_taught_rule_and_what_only_combines_logits_cannot_tell_relevance(store):
    behaviours = {row["instance_id"]: row for row in rows(store, "behaviour")}
    trusted, hits = [], {kind: [] for kind in GRID.regimes}
    for row in rows(store, "instance", technique=TECHNIQUE):
        behaviour = behaviours[row["instance_id"]]
        kind, token = row["regime"], row["predicted_id"]
        hits[kind].append(token in behaviour["accepted"] if kind in FOLLOWED else token == behaviour["memory_id"])
        trusted += [row["expected_group"] == "C"] if kind == "conflicting" else []
    followed, ignored = (sum(each) / len(each) for each in hits.values())
    assert followed == pytest.approx(sum(trusted) / len(trusted), abs=0.05)
    assert followed + ignored - 1 == pytest.approx(0, abs=0.1)


def test_the_search_sees_development_questions_only_and_keeps_every_trial(store):
    searched = rows(store, "trial", technique="coiecd")
    facts = pair_of(GRID).questions.facts
    development = {fact.question for fact in facts if split_of(fact.question) == DEVELOPMENT}
    of_kind = [row for row in searched if row["regime"] == "conflicting"]
    assert len(of_kind) == 25
    asked = sum(fact.question in development for fact in facts)
    assert {row["n"] for row in searched} == {asked}
    assert sum(row["chosen"] for row in of_kind) == 1
    assert all(row["tied"] for row in of_kind if row["chosen"])
    # Two corners, to follow everything and to follow nothing, have the same mean: the trial says so.
    means = {}
    for row in searched:
        means.setdefault(row["setting"], []).append(row["bcu"])
    best = max(sum(both) / 2 for both in means.values())
    assert {setting for setting, both in means.items() if sum(both) / 2 == best} == {
        row["setting"] for row in searched if row["tied"]
    }
    assert json.loads(next(row["setting"] for row in searched if row["chosen"])) == {"lam": 1.0, "alpha": 1.0}


def test_about_a_quarter_of_the_questions_is_for_development():
    questions = {fact.question for fact in pair_of(replace(GRID, limit=3000)).questions.facts}
    sides = Counter(map(split_of, questions))
    assert 0.15 < sides[DEVELOPMENT] / len(questions) < 0.35
    assert set(sides) == {DEVELOPMENT, TEST}


def test_regulars_answers_have_the_keys_they_have_without_techniques(store, tmp_path):
    plain = replace(GRID, techniques=())
    (part,) = parts_of(replace(plain, shard_size=200), ShardStore(store), RunPlan())
    assert {shard.key for shard in part.shards()} <= set(ShardStore(store).entries())


def test_answers_under_two_settings_are_never_published_together(store, tmp_path, monkeypatch):
    """A search on other kinds of context may choose another setting; what the newest run uses is what stands."""

    def published_settings():
        found = Reader(publish(again)).query(
            "SELECT DISTINCT regime, setting FROM behaviour JOIN instance USING (instance_id) WHERE technique = 'coiecd'"
        )
        return set(found.itertuples(index=False, name=None))

    again = shutil.copytree(store, tmp_path / "store")
    both = published_settings()
    assert {regime for regime, _ in both} == {"conflicting", "irrelevant"}
    kind = type(catalogue.find("technique", "coiecd"))
    monkeypatch.setattr(kind, "best", lambda self, trials: (7,))
    assert run(replace(GRID, regimes=("conflicting",)), again).failed == 0
    (only,) = published_settings()
    assert only[0] == "conflicting"
    assert only not in both
    trials = Reader(publish(again)).rows("technique_trial", Filter())
    assert set(trials["regime"]) == {"conflicting"}
    assert run(GRID, again).computed == 0  # nothing is missing, and its settings stand again
    assert published_settings() == both


@dataclass(frozen=True)
class Picky(Base):
    """Cannot be applied to any model."""

    key = "picky"
    title = "Picky"
    family = "heads"
    order = 99
    preparation = "tuned"
    reference = "none"

    def settings(self, development):
        raise HEvalError("demo-qwen2 is not to Picky's taste; choose another model.")


@dataclass(frozen=True)
class Careless(Picky):
    """Fails when it is applied."""

    key = "careless"
    preparation = ""
    settings = Base.settings

    def applied(self, lm, setting):
        raise RuntimeError("oops")


@pytest.fixture
def with_failing():
    for technique in (Picky(), Careless()):
        catalogue.add("technique", technique, "of this test")
    yield
    for key in ("picky", "careless"):
        catalogue.remove("technique", key)


def test_what_cannot_be_applied_is_unavailable_with_its_reason_and_the_rest_goes_on(with_failing, tmp_path):
    outcome = run(replace(GRID, techniques=("picky", "careless", "acd"), regimes=("conflicting",)), tmp_path)
    told = rows(tmp_path, "trial", technique="picky")
    assert [row["unavailable"] for row in told] == ["demo-qwen2 is not to Picky's taste; choose another model."]
    assert {row["technique"] for row in rows(tmp_path, "instance")} == {TECHNIQUE, "acd"}
    assert outcome.failed == 2
    assert "RuntimeError: oops" in {line["error"] for line in ShardStore(tmp_path).failures()}


def test_a_dataset_without_development_questions_says_so(tmp_path):
    outcome = run(replace(GRID, limit=3, techniques=("coiecd", "acd")), tmp_path)
    assert outcome.failed == 0
    (told,) = rows(tmp_path, "trial")
    assert told["unavailable"].startswith("world_capital has fewer than 5 development questions")
    assert "raise --limit" in told["unavailable"]
    assert {row["technique"] for row in rows(tmp_path, "instance")} == {TECHNIQUE, "acd"}


def test_other_techniques_are_asked_test_questions_only():
    found = {"coiecd": Setting()}
    shared, *others = arrangements(("coiecd", "acd"), found)
    assert [one.key for one in shared.all] == [TECHNIQUE, "coiecd", "acd"]
    assert others == []
    # Without a setting coiecd waits.
    assert [one.key for one in arrangements(("coiecd", "acd", TECHNIQUE), {})[0].all] == [TECHNIQUE, "acd"]


def test_the_plan_counts_searches_and_no_pass_twice(tmp_path, store):
    lines = "\n".join(as_lines(plan(GRID, tmp_path, calibrated=False)))
    assert "searches for settings of techniques come first: 1; they count in their model's first line" in lines
    done = plan(GRID, store, calibrated=False)
    assert (done.total("shards"), done.searches) == (0, 0)
    alone = plan(replace(GRID, techniques=(TECHNIQUE,)), tmp_path, calibrated=False).total("passes")
    together = plan(replace(GRID, techniques=(TECHNIQUE, "acd", "cad")), tmp_path, calibrated=False).total("passes")
    assert alone == together


def test_techniques_take_the_four_kinds_and_no_explainers_unless_named(tmp_path):
    from precompute.cli import parser_of
    from precompute.commands.grid import _grid_of

    given = ["plan", "--models", "m", "--datasets", "world_capital", "--techniques", "acd,cad(alpha=1)"]
    grid = _grid_of(parser_of(given).parse_args(given))
    assert (grid.regimes, grid.explainers, grid.techniques) == (CONTEXT_KINDS, (), ("acd", "cad(alpha=1.0)"))
    assert isinstance(grid, Grid)
    more = _grid_of(parser_of(given).parse_args([*given, "--explainers", "fa", "--regimes", "gold"]))
    assert (more.regimes, more.explainers) == (("gold",), ("fa",))


def test_labels_that_share_a_first_token_are_said_in_one_line(tmp_path):
    label = {"labels": ["Lima", "Lima City", "Oslo"], "gold": {"text": "Somebody says so.", "answer": "Lima"}}
    label |= {"conflicting": {"text": "Nobody says so.", "answer": "Lima City"}}
    file = samples.write_lines(tmp_path / "claims.jsonl", [samples.own("Peru", n, **label) for n in range(24)])
    outcome = run(replace(GRID, datasets=(str(file),), techniques=("acd",)), tmp_path / "store")
    assert outcome.failed
    told = {line["error"] for line in ShardStore(tmp_path / "store").failures()}
    assert told == {
        "HEvalError: The labels 'Lima' and 'Lima City' begin with the same token for demo-qwen2, so its first token does not "
        "tell which one it gave; choose labels that begin differently."
    }

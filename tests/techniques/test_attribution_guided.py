"""AGD: planted explainers, when it keeps to Regular's answer, its price, and the same candidates explained one by one."""

import json
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
import pytest
import torch

from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.records import CONTEXT_KINDS, TECHNIQUE, Attribution, Cost, HEvalError, Target
from heval_core.store.shards import ShardStore
from heval_core.techniques import attribution_guided
from heval_core.techniques.attribution_guided import EXPLAINERS, chosen, entropy_of
from heval_core.techniques.shared.base import Setting
from precompute.grid import GRIDS
from precompute.plan import RunPlan, plan
from precompute.run import parts_of, run
from precompute.techniques import DEVELOPMENT, split_of
from tests.asked import KENYA, PERU, asked, clean_of, two_of
from tests.precompute.kills import rows

AGD = catalogue.find("technique", "agd")
EVERY = catalogue.find("technique", "agd(entropy=0,least=0)")


@dataclass(frozen=True)
class Planted:
    """Says of each candidate what a test wants: on a token of the documents, and on the question."""

    of_documents: dict = field(default_factory=dict)
    of_question: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)

    key = "planted"
    needs = ()

    def cost(self, tokens):
        return Cost(1, tokens)

    def explain(self, clean, targets):
        found = []
        for prompt, target in zip(clean.prompts, targets, strict=True):
            assert (target.positions, target.foils) == ((-1,), ())
            self.calls.append(target.ids[0])
            scores = np.zeros(clean.length, dtype=np.float32)
            scores[prompt.documents[-1].start] = self.of_documents.get(target.ids[0], 0.0)
            scores[prompt.question.start] = self.of_question.get(target.ids[0], 0.0)
            found.append(Attribution("planted", scores, 0.0, ""))
        return found


def planted(monkeypatch, **how):
    explainer = Planted(**how)
    monkeypatch.setitem(attribution_guided.EXPLAINERS, "attnlrp", explainer)
    return explainer


def likeliest(clean, row=0):
    return clean.logits[row].double().softmax(-1).sort(descending=True, stable=True).indices.tolist()


def answers(technique, clean, setting=None):
    setting = setting or Setting()
    return technique.seeing(clean, [setting]).combined(clean.logits, clean.logits, setting).argmax(-1).tolist()


def test_the_candidate_whose_relevance_is_planted_on_the_documents_is_the_answer(monkeypatch, lm):
    clean = clean_of(lm, KENYA, PERU)
    first, second, third, fourth, fifth, sixth, *_ = likeliest(clean)
    planted(monkeypatch, of_documents={third: 0.5, fifth: 0.25, sixth: 9.0}, of_question={second: 9.0})
    assert answers(EVERY, clean) == [third]
    planted(monkeypatch, of_documents=dict.fromkeys((first, second, third, fifth), -1.0))
    assert answers(EVERY, clean) == [fourth]
    # All other probabilities stay.
    scores = EVERY.seeing(clean, [Setting()]).combined(clean.logits, clean.logits, Setting())
    same = [token for token in range(lm.vocabulary) if token not in (first, fourth)]
    assert torch.equal(scores[0, same], clean.logits[0, same])
    assert scores[0, [first, fourth]].tolist() == clean.logits[0, [fourth, first]].tolist()


def test_of_equally_relevant_candidates_the_likelier_is_the_answer(monkeypatch, lm):
    clean = clean_of(lm, KENYA, PERU)
    _, second, third, fourth, *_ = likeliest(clean)
    planted(monkeypatch, of_documents={fourth: 1.0, second: 1.0, third: 0.5})
    assert answers(EVERY, clean) == [second]
    planted(monkeypatch)
    assert answers(EVERY, clean) == likeliest(clean)[:1]


def test_where_nothing_is_compared_it_is_regular_and_nothing_is_explained(monkeypatch, lm):
    clean, bare = clean_of(lm, KENYA, PERU), CleanPass(lm, [asked(lm)])
    explainer = planted(monkeypatch, of_documents=dict.fromkeys(likeliest(clean)[1:], 1.0))
    never, *_ = AGD.settings(None)
    above = f"agd(entropy={float(entropy_of(clean.logits)) + 0.01:.6f},least=0)"
    one = f"agd(entropy=0,least={float(clean.logits[0].softmax(-1).topk(2).values.mean()):.9f})"
    for key in ("agd(entropy=0,least=0,k=1)", above, one):
        variant = catalogue.find("technique", key)
        found = variant.seeing(clean, [Setting()]).combined(clean.logits, clean.logits, Setting())
        assert torch.equal(found, clean.logits)
    assert torch.equal(AGD.seeing(clean, [never]).combined(clean.logits, clean.logits, never), clean.logits)
    assert answers(EVERY, bare) == likeliest(bare)[:1]
    assert explainer.calls == []
    assert answers(EVERY, clean) == likeliest(clean)[1:2]


def test_all_bounds_of_a_search_share_the_explanations_and_prompts_below_the_least_have_none(monkeypatch, lm):
    explainer = planted(monkeypatch)
    loose, pair = replace(AGD, least=0.0), two_of(lm)
    settings = [Setting(json.dumps({"entropy": bound})) for bound in ("never", 0.5, 0.0)]
    seen = loose.seeing(pair, settings)
    assert sorted(explainer.calls) == sorted(likeliest(pair, 0)[:5] + likeliest(pair, 1)[:5])
    assert all(found.shape == pair.logits.shape for found in seen.combined_by(pair.logits, pair.logits, settings))
    explainer.calls.clear()
    entropies = entropy_of(pair.logits).tolist()
    higher = entropies.index(max(entropies))
    loose.seeing(pair, [Setting(json.dumps({"entropy": sum(entropies) / 2}))])
    assert sorted(explainer.calls) == sorted(likeliest(pair, higher)[:5])


def test_the_formula_by_hand():
    z_c = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    relevance = torch.tensor([[0.1, -inf, 0.4, 0.4]])
    assert chosen(z_c, relevance, 0.0).tolist() == [[1.0, 2.0, 3.0, 0.0]]
    assert chosen(z_c, relevance, inf).tolist() == z_c.tolist()
    assert chosen(z_c, torch.full((1, 4), -inf), 0.0).tolist() == z_c.tolist()
    assert float(entropy_of(torch.zeros(8))) == pytest.approx(np.log(8))
    assert float(entropy_of(torch.tensor([0.0, -1e9]))) == 0


@pytest.mark.parametrize("key", EXPLAINERS)
def test_relevance_is_what_the_explainer_says_of_each_candidate_alone(key, lm):
    pair, technique = two_of(lm), catalogue.find("technique", f"agd(explainer={key},entropy=0,least=0,k=3)")
    relevance = technique.relevance(pair, 0.0)
    for row, prompt in enumerate(pair.prompts):
        candidates = likeliest(pair, row)[:3]
        assert sorted(relevance[row].isfinite().nonzero()[:, 0].tolist()) == sorted(candidates)
        for token in candidates:
            (alone,) = EXPLAINERS[key].explain(CleanPass(lm, [prompt]), [Target.next_token(token)])
            documents = sum(float(alone.scores[span.start : span.end].sum()) for span in prompt.documents)
            assert float(relevance[row, token]) == pytest.approx(documents, abs=1e-4)


@pytest.mark.parametrize("key", EXPLAINERS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_price_is_what_goes_through_the_model(key, k, lm):
    variant = catalogue.find("technique", f"agd(explainer={key},entropy=0,least=0,k={k})")
    lm.changed_backward.copy, lm.direct_effects.check_stream()  # checked once for each model
    with counting(lm) as counted:
        pair = two_of(lm)
        variant.seeing(pair, [Setting()]).combined(pair.logits, pair.logits, Setting())
    declared = variant.looking(pair.length)
    assert counted.tokens / 2 == pytest.approx(pair.length + declared.tokens)
    of_each = {"attnlrp": 2 * k, "cgim": 2 * k, "cdla": 1, "mechlight": 1}[key] if k > 1 else 0
    assert (declared.passes, variant.passes) == (of_each, 1 + of_each)


@pytest.mark.parametrize("key", ["agd(fa)", "agd(k=0)", "agd(least=1.5)", "agd(entropy=-1)"])
def test_options_that_cannot_be_are_refused(key):
    with pytest.raises(HEvalError, match="agd"):
        catalogue.find("technique", key)


def test_a_variant_is_named_after_its_explainer_and_only_numbers_that_differ():
    assert AGD.title == "AGD by AttnLRP"
    assert catalogue.find("technique", "agd(explainer=cgim,k=3,entropy=0)").title == "AGD by Contrastive GIM, entropy 0, k 3"
    assert catalogue.find("technique", "agd(explainer=cdla)") is not AGD
    assert catalogue.find("technique", "agd(explainer=cdla)").key == "agd(cdla)"


GRID = replace(GRIDS["cub-smoke"], limit=24, regimes=CONTEXT_KINDS[:2], techniques=("cfb", "agd(cdla)"), device="cpu")


@pytest.mark.slow
def test_a_run_searches_answers_and_is_priced(tmp_path):
    planned = plan(GRID, tmp_path, calibrated=False)
    outcome = run(GRID, tmp_path)
    assert (outcome.failed, outcome.computed) == (0, planned.total("shards"))  # what follows from searches was counted
    trials = {key: rows(tmp_path, "trial", technique=key) for key in GRID.techniques}
    assert {key: len({row["setting"] for row in found}) for key, found in trials.items()} == {"cfb": 5, "agd(cdla)": 6}
    assert {row["technique"] for row in rows(tmp_path, "instance")} == {TECHNIQUE, *GRID.techniques}
    again = plan(GRID, tmp_path, calibrated=False)
    assert (again.total("shards"), again.searches) == (0, 0)
    regular = plan(replace(GRID, techniques=(TECHNIQUE,)), tmp_path / "none", calibrated=False)
    look = catalogue.find("technique", "agd(cdla)").looking(0).passes
    development = sum(split_of(fact.question) == DEVELOPMENT for fact in planned.datasets["world_capital"].facts)
    searched = development * len(GRID.regimes) * (2 + 2 + look)  # both passes of each, and what AGD looks at
    followed = GRID.limit * len(GRID.regimes) * look
    assert planned.total("passes") == pytest.approx(regular.total("passes") + searched + followed, abs=2)

    def tasks(techniques):
        (part,) = parts_of(replace(GRID, techniques=techniques), ShardStore(tmp_path), RunPlan())
        return part.tasks()

    # Answers of AGD cost its explanations of every question; those of CFB, which is static, nothing.
    for task, plain in zip(tasks(GRID.techniques), tasks((TECHNIQUE,)), strict=True):
        beyond = catalogue.find("technique", "agd(cdla)").looking(50)
        assert task.cost(50).passes == plain.cost(50).passes + GRID.limit * beyond.passes
        assert task.cost(50).tokens == pytest.approx(plain.cost(50).tokens + GRID.limit * beyond.tokens)


@pytest.mark.slow
def test_a_model_that_the_explainer_cannot_explain_is_unavailable_also_under_a_given_bound(monkeypatch, tmp_path):
    explainer = planted(monkeypatch)
    monkeypatch.setattr(Planted, "explain", lambda *_: (_ for _ in ()).throw(HEvalError("It has no gradients.")))
    assert run(replace(GRID, techniques=("agd(entropy=0)",)), tmp_path).failed == 0
    told = rows(tmp_path, "trial")
    assert {row["unavailable"] for row in told} == {"It has no gradients."}
    assert {row["technique"] for row in rows(tmp_path, "instance")} == {TECHNIQUE}
    assert explainer.calls == []

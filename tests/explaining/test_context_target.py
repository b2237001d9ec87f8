"""`--target context`: the first document's answer is explained, whatever was answered; by hand, in the batch, published."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from heval_core.evaluation.publishing import publish
from heval_core.explaining import pipeline
from heval_core.explaining.behaviour import Greedy, ask
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import identify
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import assemble
from heval_core.prompting.styles import style_of
from heval_core.records import Target
from heval_core.statistics.scores import round_keeping_ranks
from heval_core.store.reader import Reader
from precompute.cli import main
from precompute.grid import Grid
from precompute.highlights import INSTANCES, job_tasks
from precompute.memory import Memories
from precompute.pair import Pair
from precompute.questions import load_questions
from precompute.run import run
from precompute.worker import Model
from tests.conftest import DEMO_MODELS

pytestmark = pytest.mark.slow

METHODS = ("fa", "attn", "mechlight")
# The parts that no target was held fixed for.
USUAL = "NOT ends_with(part, '_context')"
CONTROLS = tuple(catalogue.explainers(control=True))


@pytest.fixture(scope="module")
def lm():
    """A model that answers from documents and from memory, as a random one does not."""
    from heval_core.lm.loading import load

    return load(str(DEMO_MODELS / "demo-qwen2"), "cpu")


@pytest.fixture(scope="module")
def grid():
    return Grid(
        (str(DEMO_MODELS / "demo-qwen2"),), ("world_capital",), ("conflicting", "double_conflicting"), METHODS, limit=8,
        shard_size=8, device="cpu", target="context",
    )  # fmt: skip


@pytest.fixture(scope="module")
def store(grid, tmp_path_factory):
    folder = tmp_path_factory.mktemp("context-target")
    assert run(grid, folder).failed == 0
    publish(folder)
    return folder


@pytest.fixture(scope="module")
def published(store):
    return Reader(publish(store))


def pair_of(row):
    ids = dict(zip(row["candidate_groups"], row["candidate_leading"], strict=True))
    return (ids["C"], ids["M"]) if "C" in ids else (ids["C1"], ids["C2"])


def test_exactly_the_other_answers_have_rows_from_every_method_and_control(published):
    found = published.query(
        'SELECT instance_id, list(DISTINCT "group") AS "group", any_value(regime) AS regime, list(explainer) AS explainers '
        "FROM context_attribution JOIN instance USING (instance_id) GROUP BY ALL"
    )
    kept = published.query('SELECT instance_id, regime, "group" FROM instance WHERE dropped_because IS NULL')
    wanted = {"conflicting": "M", "double_conflicting": "C2"}
    assert set(kept["group"]) >= {"C", "M", "C1", "C2"}
    assert set(found["instance_id"]) == set(kept[kept["group"] == kept["regime"].map(wanted)]["instance_id"])
    assert all(sorted(own) == sorted((*METHODS, *CONTROLS)) for own in found["explainers"])


def test_rows_equal_explaining_the_documents_answer_by_hand(published, lm):
    rows = published.query(
        "SELECT * FROM instance WHERE dropped_because IS NULL AND \"group\" IN ('M', 'C2') "
        "AND instance_id IN (SELECT instance_id FROM context_attribution) ORDER BY regime, place"
    )
    for row in [*rows.head(2).to_dict("records"), *rows.tail(2).to_dict("records")]:
        prompt = lm.tokenise(assemble((), (), row["prompt"], "{question}{documents}"))
        clean = CleanPass(lm, [prompt])
        target, foil = pair_of(row)
        stored = published.query("SELECT * FROM context_attribution WHERE instance_id = ?", [row["instance_id"]])
        stored = stored.set_index("explainer")
        for key in METHODS:
            (fresh,) = catalogue.find("explainer", key).explain(clean, [Target.next_token(target, foil, "")])
            expected = round_keeping_ranks(fresh.scores)
            np.testing.assert_allclose(stored.loc[key, "scores"], expected, rtol=2e-3, atol=1e-5)
            assert stored.loc[key, "settings"] == fresh.settings
            if fresh.head is not None:
                assert (stored.loc[key, "layer"], stored.loc[key, "head"]) == (fresh.layer, fresh.head)


def test_the_lexical_control_matches_the_documents_answer_and_the_others_stay_as_they_are(published, lm):
    rows = published.query(
        "SELECT c.explainer, c.scores, a.scores AS usual, tokens, answer_tokens, candidate_leading, "
        "predicted_text "
        "FROM context_attribution c JOIN instance USING (instance_id) "
        "JOIN attribution a ON a.instance_id = c.instance_id AND a.explainer = c.explainer "
        "WHERE c.explainer IN ('lexical', 'position', 'random')"
    )
    assert len(rows)
    for row in rows.to_dict("records"):
        if row["explainer"] == "lexical":
            wanted = row["tokens"][row["answer_tokens"][0][0]].strip()
            assert list(row["scores"]) == [float(token.strip() == wanted) for token in row["tokens"]]
            assert sum(row["scores"]) > 0
            assert wanted != row["predicted_text"].strip()
        else:
            np.testing.assert_array_equal(row["scores"], row["usual"])


def test_the_usual_rows_are_what_they_are_without_it(grid, store, published, tmp_path):
    plain = shutil.copytree(store, tmp_path / "plain")
    lines = [line for line in (store / "manifest.jsonl").read_text().splitlines() if '"context_attribution"' not in line]
    (plain / "manifest.jsonl").write_text("\n".join(lines) + "\n")
    assert run(replace(grid, target="answer"), plain).computed == 0
    reader = Reader(publish(plain))
    assert reader.query("SELECT count(*) AS n FROM context_attribution")["n"].iloc[0] == 0
    for table, usual in (("attribution", "true"), ("score", USUAL), ("cell_metric", USUAL), ("headline", "true")):
        sql = f"SELECT * FROM {table} WHERE {usual} ORDER BY ALL"
        assert reader.query(sql).to_json() == published.query(sql).to_json()
    # Asked for later, only what is missing is computed, and in the end it is the same file.
    outcome = run(grid, plain)
    assert (outcome.computed, outcome.failed) == (2 * len(METHODS), 0)
    assert publish(plain).name == publish(store).name
    assert run(grid, plain).computed == 0


def test_neither_company_nor_a_failing_batch_changes_them(lm, grid, monkeypatch):
    questions = load_questions("world_capital", 8, 0, style_of(lm))
    distinct = sorted({fact.question for fact in questions.facts})
    memories = Memories(dict(zip(distinct, ask(lm, distinct), strict=True)))
    asked = replace(grid, faithfulness=True)
    model = Model(grid.models[0], identify(grid.models[0]))
    (job,) = job_tasks(Pair(asked, model, questions), "conflicting", range(8), (INSTANCES, "fa"))
    shards = [shard for shard in job.shards if shard.kind == "context_attribution"]
    assert [shard.explainer for shard in shards] == ["fa"]

    def rows(wanted=job.shards):
        result = replace(job, shards=wanted, memories=memories).do(lm, questions)
        assert not result.failures
        return result.rows

    together = rows()
    assert len(together[shards[0].key]) > 2
    usual = rows(tuple(shard for shard in job.shards if shard not in shards))
    assert {shard.kind for shard in job.shards if shard.key in usual} == {"instance", "attribution", "faithfulness"}
    for shard in job.shards:
        if shard.kind == "faithfulness":  # it is that of the answer given
            assert together[shard.key] == usual[shard.key]
    fa = type(catalogue.find("explainer", "fa"))
    whole = fa.explain

    def refusing_company(self, clean, targets):
        if clean.size > 1:
            raise ValueError("only one at a time")
        return whole(self, clean, targets)

    monkeypatch.setattr(fa, "explain", refusing_company)
    explained = tuple(shard for shard in job.shards if shard.kind.endswith("attribution"))
    alone = rows(explained)
    for shard in explained:
        assert len(alone[shard.key]) == len(together[shard.key])
        for one, other in zip(alone[shard.key], together[shard.key], strict=True):
            assert one["instance_id"] == other["instance_id"]
            np.testing.assert_allclose(one["scores"], other["scores"], rtol=2e-3, atol=1e-4)


def test_where_the_text_decides_an_answer_that_begins_otherwise_has_rows_too(lm):
    """So that the target is the same one for all instances: " The Lisbon of today" is C's, but " The" is what it explains."""
    prompt = assemble(("The capital of Kenya is Lisbon.",), ("Lisbon",), "What is the capital of Kenya?")
    clean = CleanPass(lm, [lm.tokenise(prompt)])
    lisbon, oslo = (lm.first_tokens(word)[0] for word in ("Lisbon", "Oslo"))
    names = (pipeline.Named("C", "Lisbon", (lisbon,)), pipeline.Named("M", "Oslo", (oslo,)))
    found = {}
    for text, group in (("Lisbon", "C"), ("The Lisbon", "C"), ("Rome", "other")):
        (token,) = lm.encode(f" {text}")[:1]
        logits = clean.logits[0].clone()
        logits[token] = 1e3
        behaviour = pipeline.observe(lm, logits, names, "Oslo", Greedy(f" {text}", group))
        usual = pipeline.answer_target(logits, behaviour)
        found[text] = pipeline.towards_context(pipeline.Answered(clean, (None,), (behaviour,), (usual,)))  # type: ignore[arg-type]
    assert found["Lisbon"] is None
    assert found["Rome"] is None
    assert found["The Lisbon"].targets == (Target.next_token(lisbon, oslo, "candidate M"),)


def test_the_command_line_explains_it_and_says_so(capsys, prints):
    common = f"explain --model {DEMO_MODELS / 'demo-qwen2'} --explainers fa".split()
    common += ["--question", "What is the capital of Kenya?", "--context", "The capital of Kenya is Lisbon."]
    asked = [*common, "--context-answer", "Lisbon", "--memory-answer", "Nairobi"]

    def explained(*more):
        return json.loads(prints(*asked, "--format", "json", *more).out)

    usual, fixed = explained(), explained("--target", "context")
    assert (usual["target"], usual["target_text"]) == ("answer", usual["answer"]["text"])
    assert fixed["target"] == "context"
    assert "Lisbon".startswith(fixed["target_text"].strip())
    assert fixed["foil"].endswith("(candidate M)")
    assert fixed["answer"] == usual["answer"]
    same = fixed["explainers"]["fa"]["scores"] == usual["explainers"]["fa"]["scores"]
    assert same == (usual["answer"]["group"] == "C")
    assert "the first document's answer, not of the given one" in prints(*asked, "--target", "context").out
    assert main([*common, "--target", "context", "--memory-answer", "Nairobi"]) == 2
    assert "name the document's answer (--context-answer)" in capsys.readouterr().err
    assert main([*asked, "--context", "It is Oslo.", "--target", "context"]) == 2
    assert "name the answers of the first document and of one more (--context-answer" in capsys.readouterr().err


def test_a_plan_counts_it(grid, tmp_path):
    from precompute.plan import plan

    small = replace(grid, explainers=("attn", "fa"))
    with_it, without = (plan(replace(small, target=target), tmp_path, False) for target in ("context", "answer"))
    assert with_it.total("shards") == without.total("shards") + 2 * 2
    # All but the memory answer: the chosen instances have a clean pass of their own, which their explainers share.
    explaining = without.total("passes") - sum(line.count for line in without.lines)
    assert with_it.total("passes") - without.total("passes") == pytest.approx(explaining, abs=4)

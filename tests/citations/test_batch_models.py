"""Models in the batch job of the study: in memory, and behind a server that a test starts."""

from __future__ import annotations

import pytest

from heval_core.citations.speaker import FILE, LocalSpeaker
from heval_core.lm.loading import load
from heval_core.store.shards import ShardStore
from precompute.citations.study import Study
from precompute.plan import as_lines, plan
from precompute.run import run
from precompute.worker import Local
from tests.citations.batch_study import own_study, published, rows
from tests.citations.samples import own
from tests.citations.servers import by, no_waiting, serving
from tests.conftest import DEMO_MODELS
from tests.datasets.samples import write_lines

QWEN, GPT2 = str(DEMO_MODELS / "demo-qwen2"), str(DEMO_MODELS / "demo-gpt2")


@pytest.fixture
def claims(tmp_path):
    told = {"claim": "Oslo is by the sea.", "verdict": "true"}
    told["passages"] = ["Oslo lies on a fjord.", "Oslo has a harbour.", "Bergen is rainy."]
    told["explanation"] = ["It lies on a fjord [1].", "It has a harbour [2].", "So it is by the sea."]
    return write_lines(tmp_path / "mine.jsonl", [own(name, **told) for name in ("a", "b")])


def study(claims, **more) -> Study:
    return own_study(claims, **{"annotators": ("llm(model=demo)",), "masking": "full"} | more)


def test_a_model_behind_a_server_is_asked_once_for_each_question(claims, store, monkeypatch):
    no_waiting(monkeypatch)
    with serving(lambda prompt, tokens: "1") as server:
        asked = study(claims, llm=server.url)
        assert run(asked, store).failed == 0
        # Both claims say the same: three different questions.
        assert len(server.asked) == 3
        assert [(row["annotator"], row["predicted"]) for row in rows(store)] == [("llm(model=demo)", [1])] * 6
        assert run(asked, store).computed == 0
        (store / "manifest.jsonl").unlink()
        assert run(asked, store).computed == 3
        assert len(server.asked) == 3  # what is stored is not asked again, though its shards are lost
        assert (store / FILE).is_file()


def test_a_server_that_goes_away_is_no_answer_and_one_that_talks_nonsense_is(claims, store, monkeypatch):
    no_waiting(monkeypatch)
    with serving(lambda prompt, tokens: "Nobody knows.") as server:
        asked = study(claims, llm=server.url)
        server.turns = ["right"] * 2  # the first question and its repetition
        server.mode = "hangs_up"
        first = run(asked, store)
        assert first.failed
        failures = ShardStore(store).failures()
        assert all("cannot be reached" in line["error"] for line in failures)
        assert len(rows(store)) < 6
        server.mode = "right"
        assert run(asked, store).failed == 0
    assert ShardStore(store).failures() == []
    results = published(store)
    assert len(results.query("SELECT * FROM recovery WHERE starts_with(problem, 'two answers could not be read')")) == 6
    unreadable = results.query("SELECT value FROM cell_recovery WHERE measure = 'unreadable' AND masking = 'full'")
    assert unreadable["value"].tolist() == [1]


@pytest.mark.slow
def test_a_demo_model_writes_and_answers_behind_a_server_as_it_does_in_memory(claims, tmp_path, monkeypatch):
    no_waiting(monkeypatch)
    how = {"selectors": ("shipped", "all")}
    with serving(by(LocalSpeaker(load(QWEN, "cpu"))), ("demo-qwen2",)) as server:
        asked = {"writers": ("shipped", "demo-qwen2"), "annotators": ("llm(model=demo-qwen2)",), "llm": server.url}
        assert run(study(claims, **asked, **how), tmp_path / "served").failed == 0
        assert len(server.asked) > 3
    asked = {"writers": ("shipped", QWEN), "annotators": (f"llm(model={QWEN})",)}
    assert run(study(claims, **asked, **how), tmp_path / "local").failed == 0
    for kind in ("explanation", "recovery"):
        there, here = ([row | {"seconds": 0} for row in rows(tmp_path / name, kind)] for name in ("served", "local"))
        assert there == here
        assert len(here) >= 6


def test_nobody_looks_into_a_model_behind_a_server(claims, store):
    asked = study(claims, writers=("demo",), selectors=("all",), annotators=("explainer(loo)",), llm="http://localhost:1/v1")
    (told,) = plan(asked, store).unavailable
    assert told.endswith(
        "explainer(loo) cannot be asked: The writer is asked through a server, where nothing can be looked into; "
        "name a model: explainer(loo,model=MODEL)."
    )


class Counting(Local):
    """An executor that counts how often a model is loaded."""

    loads: list[str] = []  # noqa: RUF012

    def next_done(self):
        before = self._worker.held
        found = super().next_done()
        if self._worker.held != before:
            Counting.loads.append(self._worker.held)
        return found


@pytest.mark.slow
def test_one_model_writes_reads_and_explains_and_is_loaded_once(claims, store):
    Counting.loads.clear()
    annotators = ("llm", "explainer(loo)", f"explainer(loo,model={GPT2})", "random", "lexical")
    asked = study(claims, writers=(QWEN,), selectors=("all",), annotators=annotators)
    assert run(asked, store, Counting).failed == 0
    assert Counting.loads == [QWEN, GPT2]
    results = published(store)
    named = {"llm", "explainer(loo)", "explainer(loo,model=demo-gpt2)", "random", "lexical"}
    assert set(results.query("SELECT annotator FROM recovery")["annotator"]) == named
    assert set(results.models()["model"]) <= {"demo-qwen2", "demo-gpt2"}
    scores = results.query("SELECT scores FROM recovery WHERE annotator = 'explainer(loo)'")["scores"]
    assert all(len(own) for own in scores)
    assert "explainer(loo,model=demo-gpt2)" in set(results.catalogue("annotator")["key"])
    assert sum(line.shards for line in plan(asked, store).lines) == 0


def test_an_annotator_whose_model_is_missing_or_no_entailment_model_costs_only_itself(claims, store):
    missing = "nli(model=no/such/model)"
    asked = study(claims, annotators=(f"nli(model={GPT2})", missing, "random", "nli"))
    assert run(asked, store).failed == 2
    failures = {line["model"]: line for line in ShardStore(store).failures()}
    assert "There is no model folder 'no/such/model'" in failures.pop(missing)["error"]
    (other,) = failures.values()
    assert other["at_loading"]
    assert "no label for entailment; its labels are: LABEL_0, LABEL_1" in other["error"]
    assert "cannot be asked: There is no model folder" in "\n".join(as_lines(plan(asked, store)))
    assert {row["annotator"] for row in rows(store)} == {"random"}
    results = published(store)
    told = results.query("SELECT unavailable FROM cell_recovery WHERE annotator = 'nli'")["unavailable"]
    assert told.tolist() == ["nli needs an entailment model; name one: nli(model=MODEL)."]

"""Every page runs on the demo results, and says in a sentence what is missing where something is."""

from __future__ import annotations

import shutil
from dataclasses import replace

import duckdb
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from heval_core.evaluation import live
from heval_core.figures.cells import as_normalised
from heval_core.figures.palette import in_order
from heval_core.metrics import measures_of
from heval_core.metrics.shared.measure import QUESTIONS
from heval_core.records import DROP_REASONS, REGIMES
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from tests.conftest import ROOT
from tests.pages.opening import CELLS, OF_CELLS, QWEN, open_page

PAGES = ("overview", "context_or_memory", "which_document", "which_token", "length_and_position", "faithfulness", "compare",
         "report",
         "instances", "mechlight_head", "failures", "datasets", "about", "your_prompt")  # fmt: skip
QUESTION_PAGES = dict(zip(QUESTIONS, ("context_or_memory", "which_document", "which_token", "faithfulness"), strict=True))


# These compute what they show; of all results together that takes long.
COMPUTED = ("length_and_position", "compare")


@pytest.mark.parametrize(
    ("page", "query"),
    [(page, CELLS if page in COMPUTED else {}) for page in PAGES]
    + [pytest.param(page, {}, marks=pytest.mark.slow) for page in COMPUTED],
)
def test_every_page_runs_without_an_error(demo, page, query):
    app = open_page(page, **query)
    assert not app.exception
    assert not app.error
    assert app.title[0].value.endswith("?")


def test_the_sidebar_offers_installed_models_and_a_filled_in_example(demo, monkeypatch):
    monkeypatch.setenv("HEVAL_MODELS", "")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert app.sidebar.subheader[0].value == "Explain a prompt"
    assert app.sidebar.text_input(key="own_question").value == "What is the capital of Kenya?"
    assert set(app.sidebar.selectbox(key="own_model").options) == {"demo-gpt2", "demo-gpt_neox", "demo-qwen2"}
    assert not any("model" in (field.label or "").lower() for field in app.sidebar.text_input)


def test_the_overview_names_the_demo_models_as_such_and_gives_the_headline_with_chance(demo):
    app = open_page("overview")
    assert "not the models of the paper" in app.info[0].value
    headline = next(m.value for m in app.markdown if m.value.startswith("Best method at each question"))
    assert headline.count("chance") == 3
    assert any("instances were tried" in m.value for m in app.markdown)


def test_an_instance_shows_how_many_scores_of_each_explainer_are_tied(made_up, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(made_up))
    published = Reader(current_file(made_up))
    ids = published.instance_ids(Filter())
    app = open_page("instances", instance=ids[0])
    table = next(frame.value for frame in app.dataframe if "Tied scores" in frame.value.columns)
    stored = {key: row.tied for key, row in published.attributions(ids[0]).items()}
    assert table["Tied scores"].tolist() == pytest.approx([stored[key] for key in in_order(list(stored))], abs=1e-3)


def test_stepping_moves_to_the_next_instance_under_the_filter(demo):
    ids = demo.instance_ids(Filter(model=("demo-qwen2",), regime=("mixed",)))
    app = open_page("instances", model="demo-qwen2", regime="mixed")
    assert any(c.value == f"instance 1 of {len(ids):,}" for c in app.caption)
    app.button(key="next").click().run()
    assert ids[1] in app.query_params["instance"]
    assert any(c.value == f"instance 2 of {len(ids):,}" for c in app.caption)


@pytest.mark.parametrize("page", ["instances", "mechlight_head"])
def test_a_link_to_an_instance_opens_it_whatever_the_filter(demo, page):
    wanted = demo.instance_ids(Filter(model=("demo-gpt2",)))[3]
    app = open_page(page, instance=wanted, model="demo-qwen2")
    assert not app.exception
    assert any("demo\\-gpt2" in m.value for m in app.markdown)


@pytest.mark.parametrize("page", ["instances", "mechlight_head"])
def test_a_link_to_an_unknown_instance_says_so(demo, page):
    app = open_page(page, instance="x'); drop table instance;--")
    assert not app.exception
    assert "is not in these results" in app.error[0].value


def test_an_empty_filter_is_an_empty_state_and_not_an_error(demo):
    app = open_page("instances", regime="conflicting", group="C2")
    assert not app.exception
    assert any("No instance is left" in i.value for i in app.info)
    app = open_page("context_or_memory", regime="mixed")
    assert any("No cell is left" in i.value for i in app.info)


ALL_MEASURES = [(question, name) for question in QUESTIONS for name in measures_of(question)]


@pytest.mark.parametrize(("question", "name"), ALL_MEASURES)
def test_every_measure_shows_its_published_values_or_says_why_there_are_none(demo, question, name):
    measure = measures_of(question)[name]
    asked = (
        {QUESTIONS[question].link: measure.variant_of, "fixed": "true"}
        if measure.variant_of
        else {QUESTIONS[question].link: name}
    )
    app = open_page(QUESTION_PAGES[question], **CELLS, **asked)
    assert not app.exception
    stored = demo.cells(OF_CELLS, measure.metric, 5 if measure.uses_k else 0)
    stored = stored[stored["part"].isin(measure.parts)]
    stored = stored[stored["regime"].isin(measure.regimes or REGIMES)]
    table = app.dataframe[0].value
    assert len(table) == len(stored) > 0
    titles = demo.catalogue("explainer").set_index("key")["title"]
    cells = ["regime", "part", "explainer"]
    expected = stored.assign(explainer=stored["explainer"].map(titles)).set_index(cells)["value"].round(3)
    assert table.set_index(cells)["value"].to_dict() == pytest.approx(expected.to_dict())
    assert table["chance"].notna().all()


def test_a_slice_is_computed_live_and_says_how_many_instances_it_has(demo):
    app = open_page("which_token", **CELLS, relation="capital")
    assert not app.exception
    chosen = replace(OF_CELLS, relation=("capital",))
    left = len(demo.instance_ids(chosen))
    assert any(c.value.startswith(f"{left:,} of") and "in the slice" in c.value for c in app.caption)
    expected = live.cells_of(demo, chosen, "mrr", 0)
    expected = expected[expected["part"].isin(["C", "balanced"])]
    table = app.dataframe[0].value
    assert sorted(table["value"].dropna()) == pytest.approx(sorted(expected["value"].dropna().astype(float).round(3)))
    app.toggle(key="without_first").set_value(True).run()
    assert not app.exception
    assert app.dataframe[0].value["value"].tolist() != table["value"].tolist()


def test_normalised_values_and_pairs_can_be_asked_for(demo):
    app = open_page("which_token", **QWEN)
    app.toggle(key="normalised").set_value(True).run()
    table = app.dataframe[0].value
    assert (table["normalised_low"] <= table["normalised"]).all()
    assert (table["normalised"] <= table["normalised_high"]).all()
    assert (table["chance"] > 0).all()
    app.toggle(key="compare").set_value(True).run()
    assert not app.exception
    pairs = next(d.value for d in app.dataframe if "wins" in d.value.columns)
    assert len(pairs) == 6


def test_normalising_a_measure_that_is_better_when_lower_keeps_its_interval_in_order():
    cells = pd.DataFrame({"value": [2.0], "low": [1.5], "high": [2.5], "chance": [4.0], "best": [0.0]})
    found = as_normalised(cells).iloc[0]
    assert [found[name] for name in ("value", "low", "high", "chance")] == [0.5, 0.375, 0.625, 0.0]


@pytest.mark.parametrize("damage", ["missing", "pointer", "truncated", "foreign", "gone"])
def test_results_that_cannot_be_read_are_one_sentence_and_no_traceback(made_up, tmp_path, monkeypatch, damage):
    store = shutil.copytree(made_up, tmp_path / "store")
    path = current_file(store)
    if damage == "missing":
        (store / "current.json").unlink()
    elif damage == "pointer":
        (store / "current.json").write_text("{")
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif damage == "foreign":
        path.write_bytes(b"something else")
    else:
        path.unlink()
    monkeypatch.setenv("HEVAL_STORE", str(store))
    for page in ("overview", "instances"):
        app = open_page(page)
        assert not app.exception
        (error,) = app.error
        assert "publish" in error.value
        assert ("is incomplete" in error.value) == (damage in ("truncated", "foreign"))


def test_small_groups_are_shown_as_not_available_with_their_reason(made_up, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(made_up))
    app = open_page("context_or_memory")
    assert not app.exception
    reasons = app.dataframe[0].value["why not available"]
    assert reasons.str.contains("of the 30 instances needed").all()
    assert not open_page("overview").exception


@pytest.mark.slow
def test_the_sidebar_explains_a_prompt_like_the_command_line(demo, capsys):
    import json

    from precompute.cli import main

    # By itself: AppTest runs a page without app.py from the second run on. The browser test goes all the way.
    app = AppTest.from_string("from heval_core.ui import sidebar\nsidebar.draw()", default_timeout=60).run()
    app.sidebar.selectbox(key="own_model").select("demo-qwen2")
    told = [caption.value for caption in app.sidebar.caption]
    app.sidebar.button(key="own_send").click().run()
    app.session_state["own_ticket"].over.wait(180)
    app.run()
    shown = app.session_state["own_result"]
    folder = str(ROOT / "cache" / "demo" / "models" / "demo-qwen2")
    capsys.readouterr()
    main(["explain", "--model", folder, "--context", "According to a world atlas: The capital of Kenya is Lisbon.",
          "--context-answer", "Lisbon", "--question", "What is the capital of Kenya?", "--format", "json",
          "--device", "cpu"])  # fmt: skip
    printed = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert shown["tokens"] == printed["tokens"]
    assert f"{len(shown['tokens'])} tokens; about 33 forward passes of the whole prompt." in told
    for key, row in printed["explainers"].items():
        assert shown["explainers"][key]["scores"] == pytest.approx(row["scores"], abs=1e-5)


@pytest.mark.slow
def test_the_worker_says_what_is_wrong_and_survives_being_killed(demo):
    from heval_core.prompt_service.client import Worker
    from heval_core.prompt_service.installed import installed_models
    from heval_core.records import HEvalError

    worker = Worker()
    request = {"op": "explain", "model": str(installed_models()["demo-gpt2"]), "documents": ["Kenya."],
               "context_answers": ["Lisbon"], "question": "Why?", "memory_answer": None, "explainers": ["attn"],
               "match": "text", "target": "answer"}  # fmt: skip
    with pytest.raises(HEvalError, match="does not contain its answer 'Lisbon'"):
        worker.ask(request)
    worker.process.kill()
    worker.process.wait()
    result = worker.ask({**request, "context_answers": []})
    assert result["explainers"]["attn"]["scores"]
    assert result["answer"]["answer_text"] is not None
    with pytest.raises(HEvalError, match="--target context explains"):
        worker.ask({**request, "context_answers": [], "target": "context"})
    worker.stop()


def test_an_error_is_an_id_on_the_page_and_a_trace_in_the_log(demo, monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("secret path /home/somebody")

    monkeypatch.setattr("heval_core.ui.verdicts.of_leaderboard", fails)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not app.exception
    (error,) = app.error
    error_id = error.value.split("error ")[1].split(")")[0]
    assert len(error_id) == 8
    assert "secret" not in error.value
    assert f"error {error_id} on the page Overview" in caplog.text
    assert "RuntimeError: secret path" in caplog.text


def test_the_explorer_listens_here_only_and_tells_nobody():
    import tomllib

    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert config["server"]["address"] == "127.0.0.1"
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"]["showErrorDetails"] == "none"


def test_text_from_data_is_never_markup():
    from heval_core.ui.text import plain

    hostile = "<s> **b** :red[x] $x$ `c` ![i](u) [l](u) &lt; \u202e"
    shown = plain(hostile)
    assert "<" not in shown
    for sign in "*:$`[]!":
        assert all(shown[i - 1] == "\\" for i, c in enumerate(shown) if c == sign)
    assert "&amp;lt" in shown


def test_the_datasets_page_accounts_for_every_question(demo):
    app = open_page("datasets", dataset="country_profiles")
    assert not app.exception
    outcomes = demo.outcomes(Filter(dataset=("country_profiles",)))
    asked, kept = int(outcomes["instances"].sum()), int(outcomes[~outcomes["dropped"]]["instances"].sum())
    sentence = next(m.value for m in app.markdown if m.value.startswith("Of "))
    assert f"Of {asked:,} instances asked, {kept:,} are kept" in sentence
    cells = app.dataframe[0].value
    groups = [column for column in cells.columns if column in ("C", "C1", "C2", "M", "other", "ambiguous")]
    reasons = [column for column in cells.columns if column in DROP_REASONS]
    assert (cells[groups].sum(axis=1) == cells["kept"]).all()
    assert (cells["kept"] + cells[reasons].sum(axis=1) == cells["asked"]).all()
    assert len(cells) == 18
    assert cells["asked"].sum() == asked


def test_the_datasets_page_without_a_question_left_says_so(demo):
    app = open_page("datasets", model="demo-gpt2", dataset="nothing")
    assert any("is not in these results" in error.value for error in app.error)
    assert not app.exception


def test_results_from_before_datasets_were_counted_say_what_to_do(demo_results, tmp_path, monkeypatch):
    folder = shutil.copytree(demo_results, tmp_path / "older")
    with duckdb.connect(str(current_file(folder))) as db:
        db.execute("DELETE FROM dataset")
        db.execute("UPDATE snapshot SET snapshot_id = 'older'")  # pages cache by it
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    app = open_page("datasets")
    assert not app.exception
    assert any("run again to see them" in info.value for info in app.info)

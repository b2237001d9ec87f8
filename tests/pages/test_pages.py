"""What pages show beside what is stored; that damaged results, errors and hostile text break none of them."""

import json
import shutil

import duckdb
import numpy as np
import pytest

from heval_core.figures.palette import in_order
from heval_core.present.numbers import percent
from heval_core.store.filters import Filter
from heval_core.store.published import current_file
from heval_core.store.reader import Reader
from heval_core.ui import own_prompts, own_requests
from tests.conftest import ROOT
from tests.pages.opening import open_form, open_page, send, table_of, text_of, unfolded


def test_the_sidebar_offers_installed_models_and_an_example(demo, monkeypatch):
    monkeypatch.setenv("HEVAL_MODELS", "")
    app = open_page("overview")
    assert app.sidebar.text_area(key="own_question").placeholder.startswith("How was the Blue Lagoon formed")
    demo_models = {"demo-gpt2", "demo-gpt_neox", "demo-gpt_neox-long", "demo-instruct", "demo-qwen2", "demo-qwen2-long"}
    # What else is on this machine, such as SmolLM2, is offered too.
    assert {f"{model} · taught rule" for model in demo_models} <= set(app.sidebar.selectbox(key="own_model").options)
    assert not any("model" in (field.label or "").lower() for field in app.sidebar.text_input)


def test_an_instance_shows_how_many_scores_of_each_explainer_are_tied(made_up, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(made_up))
    published = Reader(current_file(made_up))
    ids = published.instance_ids(Filter())
    app = open_page("instances", instance=ids[0])
    table = table_of(app, "Tied scores")
    stored = {key: row.tied for key, row in published.attributions(ids[0]).items()}
    assert table["Tied scores"].tolist() == pytest.approx([stored[key] for key in in_order(list(stored))], abs=1e-3)


def test_what_an_instance_only_adds_to_its_cells_value_is_no_column(demo):
    """AUROC compares instances: one by itself has no value, under either target."""
    ids = demo.query("SELECT min(instance_id) AS id FROM score WHERE metric = 'auroc' AND part = 'c_context'")["id"]
    table = table_of(open_page("instances", instance=ids[0]), "Tied scores")
    assert "Reciprocal rank (the document)" in " ".join(table.columns)
    assert not any("auroc" in column.lower() for column in table.columns)


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
        (error,) = app.error
        assert "publish" in error.value
        assert ("is incomplete" in error.value) == (damage in ("truncated", "foreign"))


def test_small_groups_are_shown_as_not_available_with_their_reason(made_up, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(made_up))
    app = unfolded(open_page("leaderboard", tab="regime", question="memory"))
    reasons = table_of(app, "why not available")["why not available"]
    assert reasons.str.contains("of the 30 instances needed").all()


@pytest.mark.slow
def test_the_sidebar_explains_a_prompt_like_the_command_line(demo, prints, gallery):
    # By itself: AppTest runs a page without app.py from the second run on. The browser test goes all the way.
    app = open_form(True)
    app.sidebar.selectbox(key="own_model").select("demo-qwen2").run()
    app.sidebar.button(key="own_remove_2").click().run()
    app.sidebar.text_area(key="own_text_1").set_value("According to a world atlas: The capital of Kenya is Lisbon.")
    app.sidebar.text_area(key="own_question").set_value("What is the capital of Kenya?")
    app.sidebar.multiselect(key="own_explainers").set_value(["attn", "attnlrp"])
    app.sidebar.number_input(key="own_generate").set_value(3).run()
    send(app)
    ((name, pending),) = own_requests._requests.items()
    ticket = pending.ticket
    assert ticket.over.wait(300)
    assert own_prompts.mine() == [name]  # whoever looks
    shown = ticket.result
    folder = str(ROOT / "cache" / "demo" / "models" / "demo-qwen2")
    asked = prints("explain", "--model", folder, "--context", "According to a world atlas: The capital of Kenya is Lisbon.",
                   "--question", "What is the capital of Kenya?", "--format", "json", "--generate", "3",
                   "--explainers", "attn,attnlrp", "--device", "cpu")  # fmt: skip
    printed = json.loads(asked.out.strip().splitlines()[-1])
    assert [*shown.tokens] == printed["tokens"]
    for key, matrix in printed["generated"]["matrix"].items():
        assert np.array(shown.generated.matrix[key].values) == pytest.approx(np.array(matrix["values"]), abs=1e-4)
    assert set(printed["generated"]["matrix"]) >= {"attn", "attnlrp", "document"}


def test_an_error_is_an_id_on_the_page_and_a_trace_in_the_log(demo, monkeypatch, caplog):
    def fails(*_):
        raise RuntimeError("secret path /home/somebody")

    monkeypatch.setattr("heval_core.ui.board.recommendation", fails)
    app = open_page("overview")
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
    from heval_core.present.html import plain

    hostile = "<s> **b** :red[x] $x$ `c` ![i](u) [l](u) &lt; \u202e"
    shown = plain(hostile)
    assert "<" not in shown
    for sign in "*:$`[]!":
        assert all(shown[i - 1] == "\\" for i, c in enumerate(shown) if c == sign)
    assert "&amp;lt" in shown


def test_the_data_tab_accounts_for_every_question(demo):
    app = open_page("about", tab="data", dataset="country_profiles")
    outcomes = demo.outcomes(Filter(dataset=("country_profiles",), technique=("regular",)))
    asked, kept = int(outcomes["instances"].sum()), int(outcomes[~outcomes["dropped"]]["instances"].sum())
    assert f"{percent(kept / asked)} of {asked:,} prompts were usable." in text_of(app)
    cells = app.dataframe[0].value
    groups = [column for column in cells.columns if column in ("C", "C1", "C2", "M", "other", "ambiguous")]
    assert (cells[groups].sum(axis=1) == cells["kept"]).all()
    assert (cells["kept"] + cells["dropped"] == cells["asked"]).all()
    whys = [sum(int(why.split()[0]) for why in row.split(", ") if why) for row in cells["why"]]
    assert whys == cells["dropped"].tolist()
    assert len(cells) == 7
    assert cells["asked"].sum() == asked


def test_tables_have_titles_for_keys_and_no_column_that_says_nothing(demo):
    app = open_page("about", tab="data")
    assert app.dataframe
    for table in (element.value for element in app.dataframe):
        text = table.to_csv()
        assert not any(key in text for key in ("country_profiles", "world_capital", "double_conflicting", "mixed_swap"))
        assert "None" not in text
        assert "NaT" not in text
        assert all(table[column].astype(bool).any() for column in table), table.columns
    assert {"Country profiles", "Invented states", "World Capital"} == set(app.dataframe[0].value["dataset"])
    assert "Double conflicting, swapped" in set(app.dataframe[0].value["regime"])


def test_first_token_and_text_are_compared_when_it_is_asked_for(demo):
    app = open_page("about", tab="data", dataset="world_capital")
    assert not any("kept instances" in element.value.columns for element in app.dataframe)
    table = table_of(unfolded(app, "matching"), "kept instances")
    assert set(table["dataset"]) == {"World Capital"}
    assert table["share [95 %]"].str.match(r"[\d.]+ % \[[\d.]+, [\d.]+\]").all()


@pytest.mark.parametrize(("statement", "tab", "folded", "said"), [
    ("DELETE FROM dataset", "data", "", "run again to see them"),  # of before they were counted
    ("INSERT INTO run (run_id, finished) VALUES ('newest', now()::TIMESTAMP)", "methods", "provenance", "transformers"),
])  # fmt: skip
def test_results_that_lack_the_datasets_or_the_newest_runs_beginning(
    few_cells, tmp_path, monkeypatch, statement, tab, folded, said
):
    folder = shutil.copytree(few_cells, tmp_path / "altered")
    with duckdb.connect(str(current_file(folder))) as db:
        db.execute(statement)
        db.execute("UPDATE snapshot SET snapshot_id = ?", [f"altered {tab}"])  # pages cache by it
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    app = open_page("about", tab=tab)
    app = unfolded(app, folded) if folded else app
    assert said in " ".join([text_of(app), *(table.value.to_string() for table in app.dataframe)])


def test_the_foot_is_computed_when_it_is_opened_and_has_words_for_columns(demo):
    app = open_page("about", tab="methods")
    assert not app.dataframe
    assert any(demo.snapshot_id in box.label for box in app.expander)
    runs, models, datasets, libraries = (element.value for element in unfolded(app, "provenance").dataframe)
    assert "finished" in runs
    assert not {"git_commit", "versions", "configuration", "pad_id"} & {*runs, *models}
    assert set(datasets["dataset"]) == {"Country profiles", "Invented states", "World Capital"}
    assert libraries.set_index("library").loc["duckdb", "version"]
    assert not app.json
    for table in (runs, models, datasets, libraries):
        assert "None" not in table.to_csv()
        assert "NaT" not in table.to_csv()

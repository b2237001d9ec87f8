"""What docs/real-models.md and docs/answers.md say in tables is what the bundled results of two real models say."""

import re

import pytest
from pandas.testing import assert_frame_equal

from heval_core.evaluation.board.hard import hard_board
from heval_core.evaluation.board.making import board
from heval_core.evaluation.publishing import publish
from heval_core.evaluation.quoted import CONTROLS, DIFFER
from heval_core.figures.marked import title_of
from heval_core.present.names import names_of
from heval_core.store import shipped
from heval_core.store.reader import Reader
from tests.conftest import ROOT

pytestmark = [pytest.mark.demo, pytest.mark.slow]
SMOL, GEMMA = "SmolLM2-135M-Instruct.Q4_1", "gemma-3-270m-q4_k_m"
NAMES = {
    "Origin (ours)": "origin", "Contrastive GIM (ours)": "cgim", "ContextCite": "contextcite",
    "Fusion of three (ours)": "fuse3",
    "AttnLRP": "attnlrp", "feature ablation": "fa", "direct logit attribution (ours)": "cdla", "integrated gradients": "ig",
    "ALTI-Logit": "alti",
    "MechLight": "mechlight", "gradient × input": "gxi", "attention": "attn", "controls: lexical match": "lexical",
    "deleting documents": "document", "words in common (control)": "lexical", "leaving out documents": "document",
    "sentence embeddings (control)": "minilm", "position (control)": "position", "random (control)": "random",
    "leaving out sentences": "document(unit=sentence)", "sentences left out (asks the model)": "document(unit=sentence)",
    "Attention knockout (ours)": "knockout", "Shortlist (ours)": "shortlist", "attention rollout": "rollout",
    "words of the question": "question_words", "Relevance patching (ours)": "relp",
}  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return Reader(publish(ROOT / "cache" / "real", tmp_path_factory.mktemp("real"), bundled=True))


@pytest.mark.parametrize("which", ["real", "demo"])
def test_what_is_shipped_for_the_overview_is_what_publishing_gives(which, request, tmp_path):
    """Numbers and their places; that other code computed them is no difference."""
    shipped.cut(request.getfixturevalue({"real": "real", "demo": "demo_reader"}[which]).path, tmp_path / shipped.NAME)
    now, then = (Reader(path / shipped.NAME) for path in (tmp_path, ROOT / "cache" / which))
    for table in set(now.tables()) - {"snapshot"}:
        assert_frame_equal(then.query(f"SELECT * FROM {table}"), now.query(f"SELECT * FROM {table}"), rtol=1e-9)


def tables(page):
    """Each table: its head, and first cell ▶ the others."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [[cell.strip(" *") for cell in line.strip().split("|")[1:-1]] for line in block.splitlines()]
        yield head, {name: cells for name, *cells in rows}


def short(number):
    return re.sub(r"^(-?)0", r"\1", f"{number:.2f}")


def said(*numbers):
    value, low, high = map(short, numbers)
    return f"{value} [{low}, {high}]"


def table(page, first):
    """The head and rows of the table whose second column begins so."""
    (one,) = [found for found in tables(page) if found[0][1].startswith(first)]
    return one


def assert_written(cell, value, low, high):
    """With its interval, or with a mark where it is right by construction."""
    assert cell == said(value, low, high) or (
        cell.endswith((" †", "by construction")) and float(cell.split()[0].rstrip(",")) == round(value, 2)
    )


def test_the_three_questions(real):
    head, rows = table("real-models.md", "context or memory")
    made, questions = board(real), ("RQ1", "RQ2", "RQ3")
    asked = [int(n) for n in re.findall(r"\((\d+)", " ".join(head))]
    assert asked == [made.questions_of[question] for question in questions]
    found = made.values.set_index(["explainer", "column"])
    for name, cells in rows.items():
        for cell, question in zip(cells, questions, strict=True):
            assert_written(cell, *found.loc[(NAMES[name], question), ["value", "low", "high"]])


def test_where_the_answer_stands_twice(real):
    head, rows = table("hard-board.md", "words help")
    made = hard_board(real)
    columns = [made.numbers(key) for key in ("worded", "unworded", "route")]
    of_halves = [int(columns[1][half].iloc[0]) for half in ("first_n", "last_n")]
    assert [int(n) for n in re.findall(r"\d+", " ".join(head))] == [
        *(int(column["n"].iloc[0]) for column in columns[:2]), *of_halves, int(columns[2]["n"].iloc[0])
    ]  # fmt: skip
    asking = {"document(unit=sentence)", "question_words"}
    assert {NAMES[name] for name in rows} == asking | {key for key in columns[1].index if key not in made.controls}
    for name, (worded, unworded, first, last, route, _) in rows.items():
        own = [column.loc[NAMES[name]] for column in columns]
        assert_written(worded, *own[0][["value", "low", "high"]])
        assert_written(unworded, *own[1][["value", "low", "high"]])
        assert [first, last, route] == [short(number) for number in (*own[1][["first", "last"]], own[2]["value"])], name


def test_answers_that_people_wrote(real):
    places = [(model, measure) for measure in ("source", "span_rank") for model in (SMOL, GEMMA)]
    found = real.quoted().query("copied == 'all' and dataset == 'quotesum'").set_index(["model", "explainer", "measure"])
    _, rows = table("answers.md", "source")
    for name, cells in rows.items():
        for cell, (model, measure) in zip(cells, places, strict=True):
            own = found.loc[(model, NAMES[name], measure)] if cell not in ("the same", "") else None
            assert own is None or cell == said(*own[["value", "low", "high"]]), (name, measure, model)


def test_what_people_marked(real):
    """Each number of the table; a number over fewer answers than others' has no cell."""
    columns = [
        (SMOL, "wice", "claim_first", "all"), (SMOL, "wice", "claim_precision", "all"),
        (SMOL, "wice", "claim_precision", DIFFER), (GEMMA, "wice", "claim_precision", "all"),
        (SMOL, "lfqa", "claim_precision", "all"), (SMOL, "wice_words", "word_auroc", "all"),
        (GEMMA, "wice_words", "word_auroc", "all"),
    ]  # fmt: skip
    _, rows = table("answers.md", "claims, first")
    written = {name: dict(zip(columns, cells, strict=True)) for name, cells in rows.items()}
    counts, chances = (written.pop(name) for name in ("answers", "chance"))
    cells, names = real.quoted().set_index(["model", "dataset", "measure", "copied"]), names_of(real)
    for column in columns:
        own = cells.loc[[column]]
        assert [counts[column], chances[column]] == [str(own["n"].max()), short(own["chance"].median())]
        for row in own[own["n"] == own["n"].max()].to_dict("records"):
            title = title_of(row["explainer"], names) + " (control)" * (row["explainer"] in CONTROLS)
            assert written[title].pop(column) == said(row["value"], row["low"], row["high"]), (title, column)
    assert not any(cell for left in written.values() for cell in left.values())

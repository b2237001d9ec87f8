"""What docs/real-models.md and docs/answers.md say in tables is what the bundled results of two real models say."""

import re

import pytest

from heval_core.evaluation.publishing import publish
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
    "leaving out sentences": "document(unit=sentence)",
}  # fmt: skip


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    return Reader(publish(ROOT / "cache" / "real", tmp_path_factory.mktemp("real"), bundled=True))


def tables(page):
    """Each table: its head, and first cell ▶ the others."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = [[cell.strip(" *") for cell in line.strip().split("|")[1:-1]] for line in block.splitlines()]
        yield head, {name: cells for name, *cells in rows}


def said(*numbers):
    value, low, high = (f"{number:.2f}".replace("0.", ".", 1) if abs(number) < 1 else f"{number:.2f}" for number in numbers)
    return f"{value} [{low}, {high}]"


def test_the_three_questions(real):
    ((head, rows),) = ((head, rows) for head, rows in tables("real-models.md") if head[1].startswith("context or memory"))
    found = real.headline().set_index(["explainer", "question"])
    assert [int(n.replace(",", "")) for n in re.findall(r"n ([\d,]+)", " ".join(head))] == [
        found.xs(question, level="question")["n"].max() for question in ("RQ1", "RQ2", "RQ3")
    ]
    for name, cells in rows.items():
        own = found.loc[NAMES[name]][["normalised", "normalised_low", "normalised_high"]]
        assert cells == [said(*own.loc[question]) for question in ("RQ1", "RQ2", "RQ3")], name


def test_answers_that_people_wrote(real):
    places = [(model, measure) for measure in ("source", "span_rank") for model in (SMOL, GEMMA)]
    found = real.quoted().query("copied == 'all'").set_index(["model", "explainer", "measure"])
    ((_, rows),) = tables("answers.md")
    for name, cells in rows.items():
        for cell, (model, measure) in zip(cells, places, strict=True):
            own = found.loc[(model, NAMES[name], measure)] if cell not in ("the same", "–") else None
            assert own is None or cell == said(*own[["value", "low", "high"]]), (name, measure, model)

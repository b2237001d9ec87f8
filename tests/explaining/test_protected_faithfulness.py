"""Faithfulness with the question protected: what may be taken out, its stage of the batch job, and what pages say of it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heval_core.evaluation.board.making import board
from heval_core.evaluation.cells import cells_of
from heval_core.explaining.faithfulness import Faithfulness, levels
from heval_core.figures.board import NOT_PROTECTED, PROTECTED, main_table, of_faithfulness
from heval_core.lm.clean_pass import CleanPass
from heval_core.plugins import catalogue
from heval_core.plugins.measures import measures
from heval_core.prompting.prompts import assemble
from heval_core.records import Span, TokenisedPrompt
from heval_core.report.sections import section
from heval_core.store.filters import Filter
from heval_core.store.shards import ShardStore
from precompute.cli import main
from precompute.grid import Grid
from precompute.task import MEASURED
from tests.pages.opening import open_page
from tests.planted import published

ONLY_CONTEXT = Faithfulness(protect_question=True)


@pytest.fixture
def scored(clean):
    return np.random.default_rng(1).normal(size=clean.length)


def test_the_key_of_plain_faithfulness_is_what_it_was():
    plain = "Faithfulness(protect_question=False, replacements=('baseline', 'drawn', 'deletion'), baseline='and')"
    assert repr(MEASURED["faithfulness"]) == plain
    assert Grid((), (), faithfulness=True).measured == {"faithfulness": None}
    assert Grid((), (), faithfulness=20, faithfulness_protected=True).measured == {
        "faithfulness": 20,
        "faithfulness_protected": None,
    }
    assert len({repr(how) for how in MEASURED.values()}) == 2


def test_no_token_but_the_documents_is_ever_taken_out(clean, scored):
    prompt = clean.prompts[0]
    inside = {i for span in prompt.documents for i in range(span.start, span.end)}
    outside = [token for i, token in enumerate(prompt.ids) if i not in inside]
    assert set(ONLY_CONTEXT.best(prompt, scored).tolist()) == inside
    rows = list(ONLY_CONTEXT._changed(clean.lm, prompt, scored))
    whole = [row for row in rows if len(row) == len(prompt.ids)]
    assert len(whole) == 20
    for row in whole:
        assert all(row[i] == token for i, token in enumerate(prompt.ids) if i not in inside)
    for row in rows[20:]:  # deletion
        rest = iter(row.tolist())
        assert all(token in rest for token in outside), "in their order"


def test_the_context_alone_decides_how_many_tokens_are_taken_out(lm):
    documents = ("The capital of Kenya is Lisbon. " * 4 + "It is so.", "The capital of Peru is Lima.")
    long_question = "What is the capital of Kenya? " * 12
    clean = CleanPass(lm, [lm.tokenise(assemble(documents, ("Lisbon", "Lima"), long_question))])
    (prompt,) = clean.prompts
    inside = sum(span.end - span.start for span in prompt.documents)
    assert levels(len(prompt.ids)) != levels(inside)
    rows = list(Faithfulness(True, ("baseline",))._changed(lm, prompt, np.arange(clean.length)))
    assert [len(prompt.ids) - len(row) for row in rows] == [0] * 10
    ids, best = np.array(prompt.ids), ONLY_CONTEXT.best(prompt, np.arange(clean.length))
    for row, size in zip(rows[:5], levels(inside), strict=True):
        np.testing.assert_array_equal(np.delete(row, best[:size]), np.delete(ids, best[:size]))
        assert (row[best[:size]] == lm.baseline()).all()


def test_padding_is_a_part_of_the_context(lm):
    parts = ("The capital of Kenya is Lisbon.", "The capital of Peru is Lima.", "Rain fell in Oslo.", "Bread is old.")
    prompt = lm.tokenise(assemble(parts, (None,) * 4, "What is the capital of Kenya?"))
    padded = replace(prompt, documents=prompt.documents[:2], padding=prompt.documents[2:])
    assert len(ONLY_CONTEXT.best(padded, np.arange(len(prompt.ids)))) == sum(s.end - s.start for s in prompt.documents)


def test_a_prompt_without_documents_has_no_value(lm):
    prompt = lm.tokenise(assemble((), (), "What is the capital of Kenya?"))
    clean = CleanPass(lm, [prompt])
    assert ONLY_CONTEXT.measure(clean, [3], [np.zeros(clean.length)]) == [()]


# Two documents of seven tokens, a question of three, and the answer lead. Token 20 is the answer, token 33 the prompt's end.
IDS = (9, 10, 11, 12, 13, 20, 14, 9, 10, 11, 15, 13, 21, 14, 30, 31, 32, 33)
GOLD = 5


def by_hand():
    """A model by hand: the answer's logit is 4 if the prompt's last token stands, and 1 more if the gold token does."""
    import torch

    def logits(ids):
        rows = torch.zeros(len(ids), 50)
        rows[:, 3] = 4.0 * (ids == IDS[-1]).any(1) + 1.0 * (ids == IDS[GOLD]).any(1)
        return rows

    spans = (Span(0, 7), Span(7, 14))
    prompt = TokenisedPrompt("", IDS, ("x",) * len(IDS), spans, Span(14, 17), ((GOLD,), (12,)), ((GOLD,), (12,)))
    lm = SimpleNamespace(
        forward=SimpleNamespace(logits=logits),
        budget=SimpleNamespace(batch_size=lambda length: 100),
        device="cpu",
        baseline=lambda chosen: 0,
    )
    return SimpleNamespace(lm=lm, prompts=[prompt], size=1, logits=logits(torch.tensor([IDS])))


def test_where_the_prompts_end_decides_only_the_protected_value_prefers_the_answer_to_the_position():
    position, right = np.arange(len(IDS)), 99 * np.eye(len(IDS))[GOLD] - np.arange(len(IDS))

    def lost(protect, scores):
        ((found,),) = Faithfulness(protect, ("deletion",)).measure(by_hand(), [3], [scores])
        return found.comprehensiveness, found.sufficiency

    def log_p(logit):
        return logit - np.log(49 + np.exp(logit))

    end, answer = log_p(5) - log_p(1), log_p(5) - log_p(4)
    assert lost(False, position) == pytest.approx((end, answer))
    assert lost(False, right) == pytest.approx((answer, end))
    assert lost(True, position) == pytest.approx((0, answer), abs=1e-6)
    assert lost(True, right) == pytest.approx((answer, 0), abs=1e-6)


def compare_with_chance_and_instances(reader, cells):
    """Of both kinds: chance is the random control's, a value the mean of its instances, `all` that of the replacements."""
    kept = reader.query("SELECT count(*) AS n FROM instance WHERE \"group\" IN ('C', 'M')")["n"].item()
    assert set(cells["explainer"]) == {"attn", *catalogue.explainers(control=True)}
    assert kept >= 30
    assert (cells["n"] == kept).all()
    random = cells[cells["explainer"] == "random"].set_index(["metric", "part"])["value"]
    for row in cells.itertuples():
        assert row.low <= row.value <= row.high
        assert row.chance == pytest.approx(random[row.metric, row.part])
        of_cell = "SELECT avg(value) AS v FROM score WHERE metric = ? AND explainer = ? AND part = ?"
        each = reader.query(of_cell, [row.metric, row.explainer, row.part])
        assert each["v"].iloc[0] == pytest.approx(row.value)
    wide = cells.pivot(index=["metric", "explainer"], columns="part", values="value")
    for end in ("", "_protected"):
        means = wide[[f"{name}{end}" for name in ("baseline", "drawn", "deletion")]].mean(axis=1)
        np.testing.assert_allclose(wide[f"all{end}"], means, rtol=1e-6)
    now = cells_of(reader, Filter(), "comprehensiveness", 0).set_index(["explainer", "part"])["value"]
    stored = cells[cells["metric"] == "comprehensiveness"].set_index(["explainer", "part"])["value"]
    assert now.to_dict() == pytest.approx(stored.to_dict())


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """One store with plain faithfulness, to which the protected one of the first questions and then of all is added."""
    folder = tmp_path_factory.mktemp("protected")
    asked = f"run --models cache/demo/models/demo-gpt2 --datasets world_capital --limit 40 --memory any --store {folder}"
    command = f"{asked} --regimes conflicting --shard-size 20 --explainers attn --device cpu".split()
    assert main([*command, "--faithfulness"]) == 0
    before = {key: entry.content for key, entry in ShardStore(folder).entries().items()}
    alone = published(folder)
    return command, folder, before, alone


@pytest.mark.slow
def test_as_a_stage_it_is_added_later_published_beside_the_plain_one_and_shown(stores, capsys, prints, monkeypatch):
    command, folder, before, alone = stores
    assert of_faithfulness(board(alone)).endswith(NOT_PROTECTED)
    capsys.readouterr()
    both = [*command, "--faithfulness", "--faithfulness-protected"]
    assert "14 shards computed, 18 were done already" in prints(*both).out  # attn and six controls
    assert "0 shards computed" in prints(*both).out
    assert before.items() <= {key: entry.content for key, entry in ShardStore(folder).entries().items()}.items()
    reader = published(folder)
    asked = "SELECT * FROM cell_metric WHERE metric IN ('comprehensiveness', 'sufficiency') AND part {} LIKE '%protected'"
    assert reader.query(asked.format("NOT")).equals(alone.query(asked.format("NOT")))
    compare_with_chance_and_instances(reader, pd.concat([reader.query(asked.format(word)) for word in ("", "NOT")]))
    made = board(reader)
    assert of_faithfulness(made).endswith(PROTECTED)
    assert [head.title for head in main_table(made).heads if "protected" in head.title] == [
        "Comprehensiveness, question protected, nats above the random control ↑",
        "Sufficiency, question protected, nats above the random control ↓",
    ]
    assert not any(column.measure.title == "Comprehensiveness" for column in made.columns)
    assert set(section(reader, "faithfulness").rows["measure"]) >= {
        measures()["comprehensiveness_protected"].title,
        measures()["comprehensiveness"].title,
    }
    monkeypatch.setenv("HEVAL_STORE", str(folder))
    for given, said in (({}, "Any token may be taken out"), ({"protected": "true"}, "Only tokens of the documents are taken")):
        app = open_page("leaderboard", tab="faithful", **given)
        assert "Question protected" in [toggle.label for toggle in app.toggle]
        assert any(said in caption.value for caption in app.caption)
        assert any(caption.value.startswith("**Comprehensiveness, question") for caption in app.caption) == bool(given)

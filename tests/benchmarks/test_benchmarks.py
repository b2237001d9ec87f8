"""The benchmark compares what is equal, and its arithmetic is right; that it is fast is measured, not tested."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import GPT2Config

from benchmarks import citations, paper, ratios, relevance, shortcuts, techniques, timing
from heval_core import catalogue
from heval_core.citations.annotators.shared.weights import tokens_of
from heval_core.citations.reading import reading


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Every step is run once: how long it takes is not tested."""
    for module in (citations, paper, ratios, relevance, techniques):
        monkeypatch.setattr(module, "best", lambda *steps, rounds=0: timing.best(*steps, rounds=0))


@pytest.fixture(scope="module")
def lm():
    config = GPT2Config(vocab_size=2400, n_positions=160, n_embd=32, n_layer=2, n_head=4, initializer_range=0.2)
    return timing.random_model("tiny", config, torch.device("cpu"), torch.float32)


@pytest.mark.slow
def test_every_figure_of_a_model_compares_equal_scores(lm):
    found = list(ratios.figures("tiny", lm, 30))
    assert [figure.what for figure in found if "inseq" not in figure.what] == [
        "captum FeatureAblation / fa",
        "matrix-product bound / fa",
        "captum IntegratedGradients / ig",
        "attn + mechlight / one plain forward",
        "all four / (fa + ig)",
    ]
    for figure in found:
        assert np.isfinite(figure.ratio)
        assert figure.ratio > 0
        if "largest difference" in figure.detail:
            assert float(figure.detail.rpartition(" ")[2]) < 1e-4


@pytest.mark.slow
def test_every_installed_explainer_is_timed_beside_one_forward(lm):
    found = list(ratios.method_figures("tiny", lm, 30))
    assert [figure.what for figure in found] == [f"{key} / one plain forward" for key in catalogue.explainers()]
    for figure in found:
        assert figure.ratio > 0
        assert "ms; declared " in figure.detail


@pytest.mark.slow
def test_gradient_explainers_are_timed_beside_plain_passes_and_what_is_installed(lm):
    found = {figure.what: figure for figure in relevance.relevance_figures("tiny", lm)}
    assert list(found)[:3] == ["attnlrp / a forward and backward", "cgim / a forward and backward", "cdla / a forward"]
    assert {figure.aim for figure in found.values()} <= {3.0, 1.3, 1.5}
    assert all(figure.ratio > 0 for figure in found.values())
    clean = timing.prompts_of(lm, 20, 2)
    (scores,) = timing.explain(clean, relevance.gxi.PLUGIN)
    plain = relevance._gradient(lm, clean.ids).numpy()
    assert np.stack([one.scores for one in scores]) == pytest.approx(plain, abs=1e-6)


@pytest.mark.slow
def test_published_code_in_a_process_of_its_own_is_compared_or_left_out():
    found = relevance.in_a_process(relevance.beside_lxt, "qwen2-8x512")
    assert found is None or (found[0] > 0 and found[1] > 0 and found[2] < 1e-4)


def test_path_patching_compares_equal_effects(lm):
    found = techniques.patching_figure("tiny", lm, 20)
    assert np.isfinite(found.ratio)
    assert found.ratio > 0
    assert found.at_most
    assert "20 prompts, 8 heads" in found.detail
    assert float(found.detail.rpartition(" ")[2]) < 1e-4


def test_all_decoding_techniques_are_timed_with_all_their_settings(lm, monkeypatch):
    asked = []
    real = techniques.greedy_tokens
    monkeypatch.setattr(
        techniques, "greedy_tokens", lambda *given: asked.append((given[0].key, len(given[3]))) or real(*given)
    )
    found = techniques.decoding_figure("tiny", lm)
    assert dict(asked) == {"coiecd": 25, "acd": 1, "cad": 1, "adacad": 1}
    assert found.ratio > 0
    assert found.at_most
    assert "100 prompts, 28 settings" in found.detail


def test_a_batch_and_one_by_one_answer_the_same_questions(lm, monkeypatch):
    jobs = []
    real = techniques.compute
    monkeypatch.setattr(techniques, "compute", lambda lm, job, *rest: jobs.append(job.places) or real(lm, job, *rest))
    found = techniques.batch_figure("tiny", lm, 12, 4)
    assert set(jobs) == {tuple(range(12)), (0,), (3,), (6,), (9,)}
    assert found.ratio > 0
    assert found.detail.startswith("12 prompts, 12 of them answered")


def test_an_explanations_sentences_share_their_passes():
    config = GPT2Config(vocab_size=2400, n_positions=1024, n_embd=32, n_layer=2, n_head=4)
    small = timing.random_model("tiny", config, torch.device("cpu"), torch.float32)
    passes, batched, shared = citations.citation_figures("tiny", small)
    # Nine texts, of which eight lack a passage.
    assert passes.ratio == 9 / 8
    assert passes.reached
    assert "8 passages, 6 sentences" in passes.detail
    assert min(batched.ratio, shared.ratio) > 0
    # What it is compared with: each text again for each of the six sentences.
    made = citations.explanation(small)
    with citations.counted(small) as texts:
        citations.naive(small, [tokens_of(small, reading(made))])
    assert texts[0] == 6


def test_the_bodys_parameters_are_all_but_the_tables(lm):
    width, layers = 32, 2
    layer = 12 * width * width + 13 * width  # projections, biases and two norms
    assert timing.parameters_of_layers(lm.model) == layers * layer + 2 * width


def test_what_is_reached_depends_on_the_direction():
    assert timing.Figure("m", 1, "x", 3.1, 3.0).reached
    assert not timing.Figure("m", 1, "x", 1.4, 1.3, at_most=True).reached
    assert timing.Figure("m", 1, "x", 1.4).reached is None
    assert "MISSED" in timing.as_line(timing.Figure("m", 1, "x", 2.0, 3.0))


def test_the_hours_of_the_papers_grid_by_hand():
    speeds = {"fa": 2.0, "ig": 4.0, "attn + mechlight": 4.0}  # one second an instance
    rows = [{"model": "m", "tokens": n, "instances_per_second": speeds} for n in paper.REAL_TOKENS]
    instances = 6 * (2000 + 802 + 1000 + 1000)
    assert paper.paper_hours(rows) == {"m": pytest.approx(instances / 3600)}


def test_the_hours_of_cubs_grid_by_hand():
    """400 prompts of 100 tokens and 20 without the document, a quarter of them for development; 2 layers of 4 heads."""
    found = paper.tokens_of(paper.Asked(400, 100), 2, 4, True)
    assert found == {
        "memory": 400 * (20 + 12),
        "regular, coiecd, acd": 400 * 120,
        "search of coiecd": 100 * 120,
        "ph3, both modes": 2 * 300 * 140,
        "search of ph3": 51 * 100 * 100 + 100 * (200 + 8),
        "prompting": 300 * (100 + 40 + 50),
        "search of prompting": 12 * 100 * 125,
        "agents": 300 * (400 + 40 + 3 * (25 + 16)),
    }
    assert "agents" not in paper.tokens_of(paper.Asked(400, 100), 2, 4, False)
    layer = 12 * 1600 * 1600 + 13 * 1600
    assert paper.shape_of("gpt2-xl") == (48, 25, 48 * layer + 2 * 1600)
    work = (
        sum(sum(paper.tokens_of(asked, 48, 25, False).values()) for asked in paper.DATASETS.values()) * 2 * (48 * layer + 3200)
    )
    assert paper.hours(2e14)["gpt2-xl"] == pytest.approx(work / 2e14 / 3600)
    assert len(paper.hours()) == 9
    assert paper.hours()["Command A"] == pytest.approx(2 * paper.hours(2e14)["Command A"])


def test_the_best_of_rounds_in_which_steps_take_turns(monkeypatch):
    order: list[str] = []
    monkeypatch.setattr(timing.gc, "collect", lambda: order.append("-"))
    timing.best(lambda: order.append("a"), lambda: order.append("b"), rounds=2)
    assert order == ["-", "a", "-", "b"] * 3


def test_a_batch_changes_no_ranks_in_float32(lm):
    for found in shortcuts.agreement(lm, timing.prompts_of(lm, 20, 3)).values():
        assert min(found) > 0.999


@pytest.mark.slow
def test_shortcuts_are_compared_with_exact_scores_of_the_same_weights(monkeypatch):
    """Two runs that differ in nothing agree in everything; with other weights in one of them they do not."""
    load = shortcuts.load

    def one_dtype(name, device, dtype):
        lm = load(name, device, "float32")
        if dtype == "bfloat16" and shaken:
            with torch.no_grad():
                lm.model.get_input_embeddings().weight.mul_(1 + 0.2 * torch.randn(lm.width))
        return lm

    monkeypatch.setattr(shortcuts, "load", one_dtype)
    monkeypatch.setattr(shortcuts, "SCREENS", ("sentences:99", "cgim:1"))
    folder, shaken = str(timing.TOKENIZER), False
    rows = {row["what"]: row for row in shortcuts.figures([folder], [60], 3, lambda line: None)}
    assert (rows["fa(screen=sentences:99)"]["top"], rows["fa(screen=sentences:99)"]["five"]) == (1, 1)
    assert rows["fa(screen=cgim:1)"]["five"] == pytest.approx(0.2)
    for key in ("fa", "ig", "attn"):
        assert (rows[key]["n"], rows[key]["top"]) == (3, 1)
        assert rows[key]["spearman"] == pytest.approx(1)
    shaken = True
    assert all(row["spearman"] < 0.999 for row in shortcuts.coarse(folder, 60, 3) if row["what"] in ("fa", "ig"))

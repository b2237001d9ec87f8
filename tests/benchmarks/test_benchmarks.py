"""The benchmark compares what is equal, and its arithmetic is right; that it is fast is measured, not tested."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config

from benchmarks import answers, citations, counts, gpu, others, table, techniques, threads, timing
from heval_core.lm.budget import Budget
from heval_core.plugins import catalogue

TINY = GPT2Config(vocab_size=2400, n_positions=160, n_embd=32, n_layer=2, n_head=4, initializer_range=0.2)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Every step is run once: how long it takes is not tested."""
    for module in (answers, citations, techniques):
        monkeypatch.setattr(module, "best", lambda *steps, rounds=0: timing.best(*steps, rounds=0))


@pytest.fixture(scope="module")
def lm():
    return timing.random_model("tiny", TINY, torch.device("cpu"), torch.float32)


def test_path_patching_is_timed_for_every_head(lm):
    found = techniques.patching_figure("tiny", lm, 20)
    assert 0 < found.ratio < np.inf
    assert "20 prompts, 8 heads" in found.detail


def test_all_decoding_techniques_are_timed_with_all_their_settings(lm, monkeypatch):
    asked = []
    real = techniques.greedy_tokens
    monkeypatch.setattr(
        techniques, "greedy_tokens", lambda *given: asked.append((given[0].key, len(given[3]))) or real(*given)
    )
    found = techniques.decoding_figure("tiny", lm)
    assert {"coiecd": 25, "acd": 1, "cad": 1, "adacad": 1}.items() <= dict(asked).items()
    assert f"100 prompts, {sum(dict(asked).values())} settings" in found.detail


def test_a_batch_and_one_by_one_answer_the_same_questions(lm, monkeypatch):
    jobs = []
    real = techniques.JobTask.do
    monkeypatch.setattr(techniques.JobTask, "do", lambda job, *rest: jobs.append(tuple(job.indices)) or real(job, *rest))
    found = techniques.batch_figure("tiny", lm, 12, 4)
    assert set(jobs) == {tuple(range(12)), (0,), (3,), (6,), (9,)}
    assert found.ratio > 0
    assert found.detail.startswith("12 prompts, 12 of them answered")


def test_an_explanations_sentences_share_their_passes():
    config = GPT2Config(vocab_size=2400, n_positions=1024, n_embd=32, n_layer=2, n_head=4)
    small = timing.random_model("tiny", config, torch.device("cpu"), torch.float32)
    passes, batched = citations.citation_figures("tiny", small)
    # Nine texts, of which eight lack a passage.
    assert passes.ratio == 9 / 8
    assert "8 passages, 6 sentences" in passes.detail
    assert batched.ratio > 0


def test_all_words_of_an_answer_and_one_of_them_lose_the_same(lm):
    (found,) = answers.answer_figures("tiny", lm)  # of the prompt that is short enough
    assert (found.tokens, found.aim, found.at_most) == (80, 1.3, True)
    assert 0 < found.ratio < np.inf
    assert found.detail.startswith("answer of 40, 24 tokens")
    every, first, last = (answers.passes(lm, 80, places)() for places in (range(40), range(1), range(39, 40)))
    assert every.shape == (1, 24, 40)
    np.testing.assert_allclose(every[..., [0, -1]], np.concatenate([first, last], -1), atol=1e-5)


def test_the_bodys_parameters_are_all_but_the_tables(lm):
    width, layers = 32, 2
    layer = 12 * width * width + 13 * width  # projections, biases and two norms
    assert timing.parameters_of_layers(lm.model) == layers * layer + 2 * width


def test_what_is_reached_depends_on_the_direction():
    asked = [("x", 3.1, 3.0), ("x", 1.4, 1.3, True), ("x", 1.4)]
    assert [timing.Figure("m", 1, *own).reached for own in asked] == [True, False, None]
    assert "MISSED" in timing.as_line(timing.Figure("m", 1, "x", 2.0, 3.0))


def test_each_way_that_threads_wait_is_timed_idle_and_beside_a_busy_process(monkeypatch):
    began = []
    monkeypatch.setattr(threads, "PACKAGED", {"smollm2": SimpleNamespace(problem=lambda: "not here")})
    monkeypatch.setattr(threads, "ROUNDS", 1)
    monkeypatch.setattr(threads, "TIMED", "import os\nprint(len(os.environ.get('GOMP_SPINCOUNT')))  # {!r}")
    beside = threads.beside
    monkeypatch.setattr(threads, "beside", lambda busy: began.append(busy) or beside(busy))
    found = list(threads.thread_figures())
    assert began == [0, 1]
    assert [figure.ratio for figure in found] == [6, 1] * 2  # spinning, one thread / passive
    assert found[2].what == "300 passes, beside 1 busy: spinning / passive"


@pytest.fixture(scope="module")
def rows():
    """The table's on a demo model, three prompts of 60 tokens."""
    return {row["what"]: row for row in table.rows([str(timing.TOKENIZER)], table.Choice([60], 3), lambda line: None)}


def test_every_explainer_has_a_row_and_captum_computes_the_same(rows):
    assert {*catalogue.explainers()} - {"fa"} < set(rows)
    assert all(row["seconds"] > 0 and row["passes"] > 0 for row in rows.values() if "passes" in row)
    exact = rows[table.EXACT]
    assert (exact["n"], exact["times"], exact["top"], exact["five"]) == (3, 1, 1, 1)
    assert max(rows[name]["gap"] for name in ("captum FeatureAblation", "captum IntegratedGradients")) < 1e-4


def test_a_screen_of_everything_is_exact_and_one_of_a_token_has_a_fifth():
    asked = table.Choice([60], 3, (table.EXACT, "fa(screen=sentences:99)", "fa(screen=cgim:1)"), False)
    found = {row["what"]: row for row in table.rows([str(timing.TOKENIZER)], asked, lambda line: None)}
    every = found["fa(screen=sentences:99)"]
    assert (every["top"], every["five"], "spearman" in every) == (1, 1, False)
    assert found["fa(screen=cgim:1)"]["five"] == pytest.approx(0.2)


def test_agreement_by_hand():
    exact = np.array([6.0, 5, 4, 3, 2, 1, 0])
    own = np.array([-np.inf, 5, 4, 3, 2, 1, 6])
    assert table.agreement([(exact, exact), (own, exact)]) == {"top": 0.5, "five": (1 + 0.8) / 2}
    # What is not resolved is neither among the highest nor alike in both.
    one = np.where(exact == 1, exact, -np.inf)
    assert table.agreement([(one, exact)]) == {"top": 0, "five": 0}
    assert table.alike_in(np.r_[own, 7], np.r_[-own, 7]) < 0.5


def test_memory_that_a_step_takes_is_its_own():
    device, gigabyte = torch.device("cpu"), 2**28
    first = timing.taken(lambda: float(torch.ones(gigabyte).sum()), device)
    assert first.gigabytes == pytest.approx(1, abs=0.1)
    assert timing.taken(lambda: 1, device).gigabytes < 0.1


def test_other_weights_in_bfloat16_are_seen(monkeypatch):
    load = table.load

    def shaken(name, device, dtype):
        lm = load(name, device, "float32")
        if dtype == "bfloat16":
            with torch.no_grad():
                lm.model.get_input_embeddings().weight.mul_(1 + 0.2 * torch.randn(lm.width))
        return lm

    monkeypatch.setattr(table, "load", shaken)
    asked = table.Choice([60], 2, [table.EXACT])
    exact = next(iter(table.rows([str(timing.TOKENIZER)], asked, lambda line: None)))
    assert exact["what"] == table.EXACT
    assert exact["spearman"] < 0.999


@pytest.fixture(scope="module")
def on_card():
    """The command for a card, on the CPU with a tiny shape."""
    gpu.on_gpu(lambda line: None, found := dict[str, Any](), {"tiny": lambda: TINY}, (20, 40, 400), "cpu", 300)
    return found


def test_the_command_for_a_card_measures_every_explainer_at_each_length_that_the_model_reads(on_card):
    rows = on_card["gpu_rows"]
    able = {key for key, one in catalogue.explainers().items() if not catalogue.needs_fit(one)}
    assert {(row["explainer"], row["tokens"]) for row in rows} == {(key, tokens) for key in able for tokens in (20, 40)}
    assert all(row["seconds"] > 0 and row["batch"] >= 1 for row in rows), [row for row in rows if "left_out" in row]
    (fa,) = (row for row in rows if (row["explainer"], row["tokens"]) == ("fa", 40))
    assert fa["share_of_matrix_rate"] > 0
    assert fa["captum_times"] > 0
    assert fa["captum_gap"] < 1e-3
    assert min(on_card["spearman_with_float32"].values()) > 0.5
    assert on_card["grid_hours"]["tiny"] > 0


def test_what_does_not_fit_into_the_time_is_said():
    gpu.on_gpu(lambda line: None, found := dict[str, Any](), {"tiny": lambda: TINY}, (20,), "cpu", 0)
    assert found["gpu_rows"]
    assert all("the time was up" in row["left_out"] for row in found["gpu_rows"])


def test_a_batch_is_halved_until_memory_suffices(lm, monkeypatch):
    asked = []

    def explained(clean, explainer):
        asked.append(clean.size)
        if clean.size > 2:
            raise torch.OutOfMemoryError("out of memory")
        return []

    monkeypatch.setattr(gpu, "explained", explained)
    monkeypatch.setattr(lm, "budget", Budget(160, lm.device))
    assert gpu._measured(lm, catalogue.method("attn"), 20)["batch"] == 2
    assert gpu.largest(lm, 20, 1) == 2
    assert asked == [1, 8, 4, 2, 2, 2, 4]


def test_the_hours_of_the_papers_grid_by_hand():
    """Explainers that take a second for a prompt of 100 tokens, and what each declares for 40 and 300."""
    rows = [{"model": "m", "tokens": 100, "explainer": key, "seconds": 1.0} for key in catalogue.default_methods()]
    hours = 0.0
    for key in catalogue.default_methods():
        cost = catalogue.method(key).cost
        short, long = (cost(tokens).tokens / cost(100).tokens for tokens in (40, 300))
        hours += 6 * ((2000 + 802) * short + 2000 * long) / 3600
    assert gpu.grid_hours(rows) == pytest.approx(hours)
    assert gpu.grid_hours(rows[1:]) is None


def test_without_a_card_nothing_is_measured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    said, found = list[str](), dict[str, Any]()
    gpu.on_gpu(said.append, found)
    assert found == {"gpu_rows": []}
    assert said == ["no NVIDIA GPU here: nothing was measured"]


@pytest.mark.slow
def test_lxt_in_a_process_of_its_own_gives_our_scores_or_is_left_out():
    lm = table.load(str(timing.TOKENIZER), "cpu", "float32")
    prompts = timing.capitals(lm, 60, 1)
    found = others.run_lxt(str(timing.TOKENIZER), prompts, [300])
    if found == "not installed":
        pytest.skip("LXT is not installed")
    assert table.gap(found[0].result, table.scores_of(lm, "attnlrp", prompts[0], (300, 301)), prompts[0]) < 1e-4


def test_kept_rows_of_several_runs_are_one_table_for_each_model():
    rows = [
        {"model": "m", "what": table.EXACT, "tokens": 500, "seconds": 324.4, "top": 1.0, "five": 1.0, "passes": 237.0},
        {
            "model": "m",
            "what": "attn",
            "tokens": 60,
            "seconds": 0.27,
            "top": 0.0,
            "five": 0.1,
            "bfloat16": 1.4,
            "spearman": 0.997,
        },
        {"model": "m", "what": "attn", "tokens": 500, "seconds": 1.62, "gigabytes": 0.09},
        {"model": "m", "what": "a bound", "tokens": 60},
        {"model": "n", "what": "LXT", "tokens": 60, "seconds": 1.0},
    ]
    assert list(table.markdown(rows)) == [
        "", "|m|60|500|GB at 500|passes at 500|bfloat16|", "|---|---|---|---|---|---|", "|**exact**||324 (1/1)||237||",
        "|Attention|.27 (0/.1)|1.6|.09||1.4×/1|", "", "|n|60|GB at 500|passes at 500|bfloat16|", "|---|---|---|---|---|",
        "|LXT|1||||",
    ]  # fmt: skip


def test_passes_of_the_papers_grid_are_counted_by_hand(monkeypatch):
    """Ten prompts of 10 to 20 tokens, of which each by itself is ablated in one block."""
    monkeypatch.setattr(counts, "LENGTHS", {"world_capital": (tuple(range(10, 21)), tuple(range(10, 21)))})
    counts.count(lambda line: None, found := dict[str, Any](), most=0.2)
    equal, _, similar, _ = found["counts"]
    lengths = [len(prompt.ids) for prompt in counts._prompts(timing.random_model("tiny", TINY), tuple(range(10, 21)), 10)]
    assert (equal["prompts"], equal["batches"], equal["padded"]) == (10, len(set(lengths)), 0)
    assert equal["fa_passes"] == len(set(lengths))
    classes = _classes(lengths)
    assert 1 < similar["batches"] == len(classes) < len(set(lengths))
    assert similar["padded"] == pytest.approx(sum(max(batch) * len(batch) for batch in classes) / sum(lengths) - 1)
    assert similar["passes"] < equal["passes"]
    layers, parameters = counts.MODELS["gpt2-xl"]
    row = {"passes": 2, "recorded": 1, "tokens": 1e6}
    assert counts.seconds("gpt2-xl", row) == pytest.approx(0.5e-3 * layers * 7 + 2e6 * parameters / 417e12)
    hours = found["estimated_hours"]
    assert all(0 < hours["similar"][model] < hours["equal"][model] for model in counts.MODELS)


def _classes(lengths):
    """Sorted lengths, cut wherever one is more than an eighth longer than the first since the last cut."""
    batches = [[min(lengths)]]
    for length in sorted(lengths)[1:]:
        if length <= batches[-1][0] * 9 / 8:
            batches[-1].append(length)
        else:
            batches.append([length])
    return batches

"""How bfloat16 changes an explainer's scores: the same model on disk, asked the same questions in bfloat16 and in float32.

Per explainer: Spearman's correlation of the two runs' scores over prompts that both answer alike, the share of tied scores,
and margin and MRR of both runs over the instances that both keep, with the float32 run's interval. The bfloat16 run rounds
the weights too, as in the batch job.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from benchmarks.timing import SMALL, Figure, explain, prompts_of, random_model
from heval_core import catalogue, pipeline, regimes
from heval_core.evaluation import cells
from heval_core.evaluation.regime import regime_of
from heval_core.evaluation.scored import ScoreRows, cell_of
from heval_core.explainers import attn, fa, ig, mechlight
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.prompt_styles import style_of
from heval_core.records import TECHNIQUE, Attribution, Behaviour, Dropped
from heval_core.statistics.bootstrap import Resamples
from heval_core.statistics.correlation import spearman
from heval_core.statistics.scores import tied
from precompute.memory import Memories
from precompute.questions import load_questions
from precompute.rows import instance_row

DATASET, REGIME, K, QUESTIONS = "world_capital", "double_conflicting", 5, 24
EXPLAINERS = catalogue.default_methods()
DEMO = Path(__file__).resolve().parents[1] / "cache" / "demo" / "models"


@dataclass(frozen=True, eq=False)
class Run:
    """Instances of one model in one dtype, in the order of the questions: each as it was asked, answered and explained."""

    dataset: str
    prepared: list[pipeline.Prepared]
    behaviours: dict[str, Behaviour]
    attributions: dict[str, dict[str, Attribution]]

    def explained(self, explainer: str) -> list[tuple[pipeline.Prepared, Attribution]]:
        return [(prepared, self.attributions[prepared.instance.fact_id][explainer]) for prepared in self.prepared]

    def only(self, questions: set[str]) -> Run:
        some = [prepared for prepared in self.prepared if prepared.instance.fact_id in questions]
        return dataclasses.replace(self, prepared=some)


def double_conflicting(lm: LanguageModel, questions: int = QUESTIONS) -> Run:
    """The first questions of a dataset under two conflicting documents, answered and explained."""
    asked = load_questions(DATASET, questions, 0, style_of(lm))
    memories = Memories.asked(lm, asked.facts)
    run = Run(DATASET, [], {}, {})
    for place, fact in enumerate(asked.facts):
        try:
            instance = regimes.build(fact, REGIME, asked.pool, 0, style_of(lm), place)
            prepared = pipeline.prepare(lm, instance, memories.of(lm, fact, asked.pool))
        except Dropped:
            continue
        if prepared.dropped_because is None:
            run.prepared.append(prepared)

    def work(batch: list[pipeline.Prepared]) -> None:
        answered = pipeline.answer(lm, batch)
        explained = {key: pipeline.explain(answered, catalogue.method(key)) for key in EXPLAINERS}
        for index, prepared in enumerate(batch):
            question = prepared.instance.fact_id
            run.behaviours[question] = answered.behaviours[index]
            run.attributions[question] = {key: attributions[index] for key, attributions in explained.items()}

    pipeline.in_batches(lm, run.prepared, work)
    return run


@dataclass(frozen=True)
class Compared:
    """One model and explainer. margin and mrr: of the float32 run with its interval, and of the bfloat16 run."""

    model: str
    explainer: str
    instances: int
    spearman: float
    lowest: float
    tied: float
    tied_float32: float
    margin: tuple[float, float, float]
    margin_bfloat16: float
    mrr: tuple[float, float, float]
    mrr_bfloat16: float

    @property
    def inside(self) -> bool:
        """Whether both of the bfloat16 run lie in the float32 run's intervals."""
        return all(
            low <= value <= high
            for (_, low, high), value in ((self.margin, self.margin_bfloat16), (self.mrr, self.mrr_bfloat16))
        )


def compare(name: str, questions: int = QUESTIONS) -> Iterator[Compared]:
    """A bfloat16 run beside a float32 run of one model on disk, per explainer."""
    coarse, fine = (double_conflicting(load(name, "cpu", dtype), questions) for dtype in ("bfloat16", "float32"))
    both = set(coarse.behaviours) & set(fine.behaviours)
    coarse, fine = coarse.only(both), fine.only(both)
    alike = {i for i in both if coarse.behaviours[i].token_id == fine.behaviours[i].token_id}
    for explainer in EXPLAINERS:
        pairs = [
            spearman(_ranked(*first), _ranked(*second))
            for first, second in zip(coarse.explained(explainer), fine.explained(explainer), strict=True)
            if first[0].instance.fact_id in alike
        ]
        ties = [float(np.mean([tied(_ranked(*pair)) for pair in run.explained(explainer)])) for run in (coarse, fine)]
        measured, expected = _measures(coarse, explainer), _measures(fine, explainer)
        yield Compared(
            Path(name).name,
            explainer,
            len(both),
            float(np.mean(pairs)),
            float(np.min(pairs)),
            ties[0],
            ties[1],
            expected["instance_rank_margin"],
            measured["instance_rank_margin"][0],
            expected["mrr"],
            measured["mrr"][0],
        )


def as_row(compared: Compared) -> dict[str, Any]:
    return asdict(compared) | {"inside": compared.inside}


def as_line(compared: Compared) -> str:
    def beside(value: float, expected: tuple[float, float, float]) -> str:
        return f"{value:.2f} for {expected[0]:.2f} [{expected[1]:.2f}, {expected[2]:.2f}]"

    return (
        f"{compared.model:14} bfloat16 / float32 {compared.explainer:10} n {compared.instances:3}  "
        f"Spearman {compared.spearman:.4f} (lowest {compared.lowest:.3f})  "
        f"tied {compared.tied:.1%} for {compared.tied_float32:.1%}  "
        f"margin@{K} {beside(compared.margin_bfloat16, compared.margin)}  MRR {beside(compared.mrr_bfloat16, compared.mrr)}  "
        f"{'inside' if compared.inside else 'OUTSIDE'}"
    )


def _ranked(prepared: pipeline.Prepared, attribution: Attribution) -> np.ndarray:
    return attribution.scores[prepared.prompt.ranked]


def _measures(run: Run, explainer: str) -> dict[str, tuple[float, float, float]]:
    """Metric ▶ its value with the interval, over both groups alike."""
    frame = pd.DataFrame(
        [
            {
                "model": "",
                "dataset": run.dataset,
                "regime": REGIME,
                "technique": TECHNIQUE,
                "instance_id": prepared.instance.id,
                "fact_id": prepared.instance.fact_id,
                "length": len(prepared.prompt.ids),
                **instance_row(prepared, run.behaviours[prepared.instance.fact_id]),
                "ranked_end": prepared.prompt.ranked.stop,
            }
            for prepared in run.prepared
        ]
    )
    regime = regime_of(frame, Resamples(run.dataset, frame["fact_id"]))
    rows = [attribution.scores for _, attribution in run.explained(explainer)]
    signed = catalogue.find("explainer", explainer).signed
    cell = cell_of(regime, explainer, ScoreRows.listed(rows, signed))
    parts = {"instance_rank_margin": "balanced", "mrr": "balanced"}
    # Two dozen prompts are enough here, where the same ones are compared.
    metrics = [dataclasses.replace(catalogue.find("metric", key), smallest_group=2) for key in parts]
    values = cells.evaluate(regime, [(explainer, cell)], metrics, (K,)).rows
    return {row["metric"]: (row["value"], row["low"], row["high"]) for row in values if row["part"] == parts[row["metric"]]}


def agreement(lm: LanguageModel, clean: CleanPass) -> dict[str, list[float]]:
    """Explainer ▶ per prompt the Spearman correlation of the scores it gets together with others and alone."""
    explainers: tuple[Any, ...] = (fa.PLUGIN, ig.PLUGIN, attn.PLUGIN, mechlight.PLUGIN)
    together = explain(clean, *explainers)
    alone = [explain(CleanPass(lm, [prompt]), *explainers) for prompt in clean.prompts]
    return {
        explainer.key: [
            spearman(in_batch.scores, alone[row][number][0].scores) for row, in_batch in enumerate(together[number])
        ]
        for number, explainer in enumerate(explainers)
    }


def rounding_figures(name: str) -> Iterator[Figure]:
    """In bfloat16, whether the batch a prompt is in changes the order of its tokens; 8 prompts of 40 tokens."""
    lm = random_model(name, SMALL[name](), torch.device("cpu"), torch.bfloat16)
    for key, correlations in agreement(lm, prompts_of(lm, 40, 8)).items():
        what, detail = f"bfloat16, Spearman in a batch / alone, {key}", f"lowest of 8 prompts {min(correlations):.4f}"
        yield Figure(name, 40, what, float(np.mean(correlations)), detail=detail)

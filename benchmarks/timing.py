"""How steps are timed, and one line of the table of results."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from heval_core.lm.clean_pass import CleanPass
from heval_core.records import Target

ROUNDS = 3


@dataclass(frozen=True)
class Figure:
    """One line of the table. ratio: higher is better unless `at_most`. aim: None if there is none."""

    model: str
    tokens: int
    what: str
    ratio: float
    aim: float | None = None
    at_most: bool = False
    detail: str = ""

    @property
    def reached(self) -> bool | None:
        if self.aim is None:
            return None
        return self.ratio <= self.aim if self.at_most else self.ratio >= self.aim


def as_line(figure: Figure) -> str:
    sign = {True: "reached", False: "MISSED", None: ""}[figure.reached]
    aim = "" if figure.aim is None else f"{'at most' if figure.at_most else 'at least'} {figure.aim:g}"
    return f"{figure.model:14} {figure.tokens:5}  {figure.what:48} {figure.ratio:7.2f}  {aim:14} {sign:8} {figure.detail}"


def best(*steps: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    """Seconds of each step, the best of some rounds in which they take turns; after one round to warm up."""
    seconds = [[] for _ in steps]  # type: list[list[float]]
    for number in range(rounds + 1):
        for index, step in enumerate(steps):
            gc.collect()
            started = time.perf_counter()
            step()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            if number or rounds == 0:
                seconds[index].append(time.perf_counter() - started)
    return [min(rounds_of) for rounds_of in seconds]


def matrix_rate(device: torch.device, dtype: torch.dtype, rows: int = 512, width: int = 768) -> float:
    """The rate of matrix products of a transformer's width, in FLOP/s."""
    a = torch.randn(rows, width, device=device, dtype=dtype)
    b = torch.randn(width, 4 * width, device=device, dtype=dtype)

    def step() -> None:
        for _ in range(20):
            a @ b

    return 20 * 2 * rows * width * 4 * width / best(step, rounds=8)[0]


def explain(clean: CleanPass, *explainers: Any) -> list[Any]:
    """As the batch job does: a fresh clean pass, shared by the explainers."""
    fresh = CleanPass(clean.lm, clean.prompts)
    targets = [Target.next_token(*pair) for pair in fresh.logits.topk(2).indices.tolist()]
    return [explainer.explain(fresh, targets) for explainer in explainers]

"""The table: every explainer's seconds, memory and passes, and how far its scores are from exact leave-one-out.

Real models on real prompts: two documents about a capital, filled up with sentences about other things, in a chat whose answer
is begun, or plain for a model without chat template. What is explained: the answer's first token against the runner-up. In a
run all take turns, prompt by prompt; each counts its own clean pass.

*seconds*: of the processor. *times*: exact fa's over its own. *passes*: counted, whole ones. *top*: the share of prompts whose
highest token is exact fa's. *five*: the share of exact fa's five highest that are among its own. *gap*: to the same method of
ours, as a share of the largest score. *bfloat16*: how many times faster it is in that; *spearman*, *lowest*: of its scores in
both types, the mean and the lowest prompt; *same*: the share of prompts with one highest token in both.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.others import LXT, SAME_AS, SLOW, THEIRS, Theirs, captum_scale, here, run_lxt
from benchmarks.timing import Taken, capitals, matrix_rate, parameters_of_layers, taken
from heval_core.explaining.answer_steps import matrix_of
from heval_core.lm import installed
from heval_core.lm.chat import has_template
from heval_core.lm.clean_pass import CleanPass
from heval_core.lm.fits import Fit
from heval_core.lm.loading import load
from heval_core.lm.model import LanguageModel
from heval_core.lm.passes import counting
from heval_core.plugins import catalogue
from heval_core.prompting.prompts import BEGUN, TEMPLATE
from heval_core.records import HEvalError, Target, TokenisedPrompt
from heval_core.statistics.correlation import spearman

SCREENS = ("sentences:3", "sentences:2", "cgim:16")
BEST, LONGEST = 5, 500
# Others' code is timed on the first prompts only: some of it takes minutes for one.
FEW = 2
EXACT = "fa(target=logprob)"
Row = dict[str, Any]


class Choice(NamedTuple):
    """What the table holds.

    prompts: of each length. rows: explainers and others' code, EXACT among them; by default all that are here, but above
    LONGEST tokens those that run the prompt once for each token. bfloat16: whether to compare it.
    """

    lengths: Sequence[int]
    prompts: int
    rows: Sequence[str] = ()
    bfloat16: bool = True


def rows(names: Sequence[str], choice: Choice, say: Callable[[str], None]) -> Iterator[Row]:
    """Yield all rows, each as it is known.

    names: of installed models, folders, GGUF files; without any, models of packages.
    """
    for name in names or [key for key, model in installed.installed_models().items() if model.source.startswith("package ")]:
        models = [load(name, "cpu", dtype) for dtype in (("float32", "bfloat16") if choice.bfloat16 else ("float32",))]
        for lm in models:
            lm.template = BEGUN if has_template(lm.tokenizer) else TEMPLATE
        for tokens in choice.lengths:
            for row in measured(
                name, models, capitals(models[0], tokens, choice.prompts), tokens, choice.rows or _all(tokens)
            ):
                say(as_text(row))
                yield row


def _all(tokens: int) -> list[str]:
    keys = [EXACT, *catalogue.explainers(), *(f"fa(screen={screen})" for screen in SCREENS), *here(), LXT]
    return [key for key in keys if key != "fa" and not (tokens > LONGEST and key in (EXACT, *SLOW))]


def markdown(table: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a table for each model, from the rows of any runs: seconds and (top/five) at each length of prompts,
    GB and passes at LONGEST tokens, and how many times faster bfloat16 is / Spearman's correlation, of the longest prompts.
    """
    cells: dict[tuple[str, str, int], Row] = {}
    for row in (row for row in table if "seconds" in row):
        key = row["model"], row["what"], row["tokens"]
        cells[key] = row | cells.get(key, {})
    for model in dict.fromkeys(model for model, _, _ in cells):
        of_model = {(what, tokens): row for (name, what, tokens), row in cells.items() if name == model}
        lengths = sorted({tokens for _, tokens in of_model})
        yield ""
        heads = [model, *map(str, lengths), f"GB at {LONGEST}", f"passes at {LONGEST}", "bfloat16"]
        yield f"|{'|'.join(heads)}|"
        yield "|---" * len(heads) + "|"
        for what in dict.fromkeys(what for what, _ in of_model):
            rows = [of_model.get((what, tokens), {}) for tokens in lengths]
            long = of_model.get((what, LONGEST), {})
            coarse = next(
                (f"{_short(row['bfloat16'])}×/{_short(row['spearman'])}" for row in rows[::-1] if "bfloat16" in row), ""
            )
            ours = what.partition("(")[0] in catalogue.explainers()
            title = "**exact**" if what == EXACT else catalogue.method(what).title if ours else what
            sizes = [_short(long[name]) if name in long else "" for name in ("gigabytes", "passes")]
            yield f"|{'|'.join([title, *map(_timed, rows), *sizes, coarse])}|"


def _timed(row: Row) -> str:
    right = f" ({_short(row['top'])}/{_short(row['five'])})" if "top" in row else ""
    return _short(row["seconds"]) + right if "seconds" in row else ""


def _short(value: float) -> str:
    return f"{value:.2g}".removeprefix("0") or "0" if value < 99.5 else f"{value:.0f}"


def as_text(row: Row) -> str:
    return "  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items())


def measured(
    model: str, models: list[LanguageModel], prompts: list[TokenisedPrompt], tokens: int, wanted: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of a model at one length. model: its name, by which LXT loads it again. wanted: see `Choice.rows`."""
    lm, theirs = models[0], dict[str, Theirs]()
    pairs = [CleanPass(lm, [prompt]).logits[0].topk(2).indices.tolist() for prompt in prompts]
    _prepare(models, prompts[0], pairs[0])
    run = Run(models, {}, {}, {}, {})
    for name in THEIRS.keys() & wanted:
        with run.refusing(name):
            theirs[name] = THEIRS[name](lm)
    for prompt, pair in zip(prompts, pairs, strict=True):
        for key in wanted:
            if key not in (*THEIRS, LXT):
                run.ours(key, prompt, pair)
        for name in theirs if prompt in prompts[:FEW] else []:
            with run.refusing(name):
                run.taken_by.setdefault(name, []).append(taken(partial(theirs[name], prompt, pair[0]), lm.device))
    lxt = run_lxt(model, prompts[:FEW], [target for target, _ in pairs[:FEW]]) if LXT in wanted else ""
    if isinstance(lxt, str):
        run.refused[LXT] = lxt
    else:
        run.taken_by[LXT] = lxt
    about = {"model": lm.key, "tokens": tokens}
    for key in wanted:
        able = key not in run.refused and key in run.taken_by
        yield about | {"what": key} | (run.row(key, prompts) if able else {"refused": run.refused[key]})
    if EXACT in run.taken_by:
        passed = np.mean([sum(len(prompt.ids) - token for token in prompt.ranked) for prompt in prompts])
        bound = float(passed) * 2 * parameters_of_layers(lm.model) / matrix_rate(lm.device, lm.model.dtype, width=lm.width)
        yield about | {"what": "matrix-product bound / exact fa", "ratio": bound / mean_seconds(run.taken_by[EXACT])}


def mean_seconds(steps: Sequence[Taken]) -> float:
    return float(np.mean([one.seconds for one in steps]))


@dataclass(frozen=True)
class Run:
    """What was measured so far. taken_by: by row, a step for each prompt; coarse: the same in bfloat16."""

    models: list[LanguageModel]
    taken_by: dict[str, list[Taken]]
    coarse: dict[str, list[Taken]]
    passes: dict[str, float]
    refused: dict[str, str]

    def ours(self, key: str, prompt: TokenisedPrompt, pair: Sequence[int]) -> None:
        """Measure one of our explainers in each dtype."""
        try:
            for lm, into in zip(self.models, (self.taken_by, self.coarse), strict=False):
                with counting(lm) as counted:
                    into.setdefault(key, []).append(taken(partial(scores_of, lm, key, prompt, pair), lm.device))
                self.passes[key] = counted.passes(1, len(prompt.ids))
        except HEvalError as error:
            self.refused[key] = str(error)

    @contextmanager
    def refusing(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # another project's: whatever it says is the row
            self.refused[name] = f"{type(error).__name__}: {error}".splitlines()[0]

    def row(self, key: str, prompts: Sequence[TokenisedPrompt]) -> Row:
        ours, n = self.taken_by[key], len(self.taken_by[key])
        prompts, exact = prompts[:n], self.taken_by.get(EXACT, [])[:n]
        scale = np.mean([captum_scale(prompt) for prompt in prompts]) if key == "captum FeatureAblation" else 1.0
        row: Row = {"n": n, "seconds": mean_seconds(ours) * float(scale), "gigabytes": max(one.gigabytes for one in ours)}
        row |= {"passes": self.passes[key]} if key in self.passes else {}
        if exact:
            row["times"] = mean_seconds(exact) / row["seconds"]
            both = list(zip(ours, exact, prompts, strict=True))
            # What is fitted was fitted to a single prompt here, so that its scores are not a user's.
            users = key in THEIRS or key == LXT or not catalogue.needs_fit(catalogue.method(key))
            if users and all(len(one.result) >= prompt.ranked.stop for one, _, prompt in both):
                row |= agreement([(_ranked(one, prompt), _ranked(other, prompt)) for one, other, prompt in both])
        same = self.taken_by.get(SAME_AS.get(key, ""), [])[:n]
        if same:
            compared = zip(ours, same, prompts, strict=True)
            row["gap"] = max(gap(one.result, other.result, prompt) for one, other, prompt in compared)
        if key in self.coarse:
            pairs = [(_ranked(a, p), _ranked(b, p)) for a, b, p in zip(ours, self.coarse[key], prompts, strict=True)]
            alike = [alike_in(*pair) for pair in pairs]
            row["bfloat16"] = row["seconds"] / mean_seconds(self.coarse[key])
            row |= {"spearman": float(np.nanmean(alike)), "lowest": float(np.nanmin(alike)), "same": agreement(pairs)["top"]}
        return row


def alike_in(first: np.ndarray, second: np.ndarray) -> float:
    """Compute Spearman's correlation over the tokens that both resolve: all others would be tied in both."""
    known = np.isfinite(first) & np.isfinite(second)
    return spearman(first[known], second[known])


def _prepare(models: Sequence[LanguageModel], prompt: TokenisedPrompt, pair: Sequence[int]) -> None:
    """Fit parameters for explainers that have some, from the prompt itself: they cost what others do.

    A first pass is slower.
    """
    for lm in models:
        clean, target = CleanPass(lm, [prompt]), Target.next_token(pair[0], pair[1])
        for explainer in catalogue.explainers().values():
            if catalogue.needs_fit(explainer):
                array = explainer.fitted(explainer.observed(clean, [target]))
                parameters = tuple(float(value) for value in array.ravel())
                fit = Fit(explainer.key, repr(explainer), lm.key, lm.revision, "", (), tuple(array.shape), parameters)
                lm.fits.give([fit])
        scores_of(lm, "attn", prompt, pair)


def _ranked(one: Taken, prompt: TokenisedPrompt) -> np.ndarray:
    return np.asarray(one.result)[prompt.ranked.start : prompt.ranked.stop]


def agreement(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    """Compare (scores, exact ones): top and five. A token that was not resolved is -inf, and never among the highest."""
    orders = [(highest(ranked), highest(exact)) for ranked, exact in pairs]
    five = [len(set(ranked) & set(exact)) / len(exact) for ranked, exact in orders]
    return {"top": float(np.mean([ranked[0] == exact[0] for ranked, exact in orders])), "five": float(np.mean(five))}


def highest(scores: np.ndarray) -> list[int]:
    """Return the indices of the five highest; of equal ones those that come first."""
    return [int(index) for index in np.argsort(-scores, kind="stable")[:BEST] if np.isfinite(scores[index])]


def gap(theirs: np.ndarray, ours: np.ndarray, prompt: TokenisedPrompt) -> float:
    """Return the largest difference, as a share of the largest score. theirs: of all tokens, or of the first ranked ones."""
    start = 0 if len(theirs) == len(ours) else prompt.ranked.start
    compared = ours[start : start + len(theirs)]
    return float(np.abs(theirs[: len(compared)] - compared).max() / np.abs(ours).max())


def scores_of(lm: LanguageModel, key: str, prompt: TokenisedPrompt, pair: Sequence[int]) -> np.ndarray:
    """Compute an explainer's scores, (n,), its clean pass included; -inf for tokens that a screen leaves unresolved."""
    explainer, clean = catalogue.method(key), CleanPass(lm, [prompt])
    target = Target.next_token(pair[0], pair[1])
    if "screen" not in key:
        return np.asarray(explainer.explain(clean, [target])[0].scores)
    matrix, scores = matrix_of(explainer, clean, target, [range(1)]), np.full(len(prompt.ids), -np.inf)
    for unit, value in zip(matrix.units, matrix.values[:, 0], strict=True):
        if len(unit.indices) == 1:
            scores[unit.start] = value
    return scores

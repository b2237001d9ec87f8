"""Whether origin keeps its aim: to find more than feature ablation and MechLight at every question, wherever a model obeys.

`python -m demo aim` prints, for every model, dataset and kind of prompt of a store, where origin's interval lies,
and the means of all explainers: by the paper's measures, in which the aim was set, and by the headlines of today.
With `--fresh` it first runs them on questions that origin was not made on, and with two things taken away from it: where
documents begin, and the competitor. docs/origin.md has the tables.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from demo.boards import ENOUGH, LONG, SHORT
from heval_core import catalogue
from heval_core.evaluation.board.making import board
from heval_core.evaluation.publishing import publish
from heval_core.explainers.origin import Origin
from heval_core.lm.clean_pass import CleanPass
from heval_core.records import Attribution, Target
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader

LEAD, RIVALS = "origin", ("fa", "mechlight")
PARTS = ("document", "attnlrp")
# Of the three questions, the paper's: an explainer whose scores are alike within a document gets more of the first two.
PAPERS = ("rank_margin", "instance_margin", "mrr")
VARIANTS = ("origin(tokens=fa)", "origin(tokens=gxi)", "origin(tokens=cgim)", "origin(sentences=true)")
# Of another seed than any board's: these questions, and their documents, were not looked at when origin was made. Long
# documents take a minute for what short ones do in seconds, so that only what the aim names explains these.
FRESH_SEED = 1
FRESH = {SHORT: ("conflicting", "mixed"), LONG: ("mixed",)}


@dataclass(frozen=True)
class Unmarked(Origin):
    """Origin that is not told where documents begin: sentences stand for them."""

    key = "origin_unmarked"
    title = "Origin without marked documents"
    order = 97

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        unmarked = tuple(replace(prompt, documents=(), padding=()) for prompt in clean.prompts)
        return _named(self, super().explain(CleanPass(clean.lm, unmarked), targets))


@dataclass(frozen=True)
class WithoutCompetitor(Origin):
    """Origin that knows of no other answer: E_d = D_a."""

    key = "origin_alone"
    title = "Origin without a competitor"
    order = 98

    def explain(self, clean: CleanPass, targets: Sequence[Target]) -> list[Attribution]:
        return _named(self, super().explain(clean, [replace(target, foils=()) for target in targets]))


def _named(explainer: Origin, found: list[Attribution]) -> list[Attribution]:
    return [replace(one, explainer=explainer.key) for one in found]


def run_fresh(models: Sequence[str], store: Path) -> int:
    """Explain other questions than any board's; the exit code of the first run that failed, else 0."""
    from precompute.cli import main

    source = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    taken_away = (Unmarked(), WithoutCompetitor())
    for plugin in taken_away:
        catalogue.add("explainer", plugin, source)
    aimed = [*RIVALS, *PARTS, LEAD]
    explainers = {SHORT: [*aimed, *VARIANTS, *(plugin.key for plugin in taken_away)], LONG: aimed}
    for dataset, regimes in FRESH.items():
        how = f"--limit {ENOUGH} --shard-size {ENOUGH} --seed {FRESH_SEED} --match text --device cpu --store {store}"
        chosen = ["--datasets", dataset, "--regimes", *regimes, "--explainers", ",".join(explainers[dataset])]
        if code := main(["run", "--models", *models, *chosen, *how.split()]):
            return code
    return 0


def tables(store: Path) -> dict[str, pd.DataFrame]:
    """By the paper's measures and by the headlines, a row for each model, dataset, column and explainer of a store.

    value, low and high run from chance (0) to the best (1).
    """
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(publish(store, Path(folder)))
        return {"By rank margins, as the paper": _of_boards(reader, PAPERS), "By the headlines": _of_boards(reader)}


def _of_boards(reader: Reader, keys: Sequence[str] = ()) -> pd.DataFrame:
    choices = reader.choices()
    there = choices[choices["explained"]][["model", "dataset"]].drop_duplicates()
    found = []
    for model, dataset in there.itertuples(index=False):
        made = board(reader, Filter(model=(str(model),), dataset=(str(dataset),)), keys)
        scaled = [column.key for column in made.columns if column.scaled]
        values = made.values[made.values["column"].isin(scaled)].dropna(subset=["value"])
        found.append(values.assign(model=model, dataset=dataset))
    return pd.concat(found, ignore_index=True)[["model", "dataset", "column", "explainer", "value", "low", "high", "n"]]


def verdicts(values: pd.DataFrame) -> pd.DataFrame:
    """Of each model, dataset and column, origin beside its rivals. verdict: `above` where its interval lies above those of all
    rivals that have numbers, `below` where one of theirs lies above it, else `not apart`."""
    rows = []
    for place, own in values.groupby(["model", "dataset", "column"], sort=False):
        numbers = own.set_index("explainer")
        rivals = [key for key in RIVALS if key in numbers.index]
        if LEAD not in numbers.index or not rivals:
            continue
        lead, others = numbers.loc[LEAD], numbers.loc[rivals]
        above, below = bool((lead["low"] > others["high"]).all()), bool((others["low"] > lead["high"]).any())
        said = "above" if above else "below" if below else "not apart"
        rows.append((*place, f"{lead['value']:.2f} [{lead['low']:.2f}, {lead['high']:.2f}]", _told(others), said))
    return pd.DataFrame(rows, columns=["model", "dataset", "column", LEAD, "rivals", "verdict"])


def _told(rivals: pd.DataFrame) -> str:
    return ", ".join(f"{key} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" for key, row in rivals.iterrows())


def by_explainer(values: pd.DataFrame) -> pd.DataFrame:
    """Of each dataset, column and explainer the mean over the models that have numbers of every explainer there."""
    models = values.groupby(["dataset", "column", "explainer"])["model"].transform("nunique")
    every = models == models.groupby([values["dataset"], values["column"]]).transform("max")
    means = values[every].pivot_table(index=["dataset", "explainer"], columns="column", values="value", sort=False)
    return means.map(lambda value: "" if pd.isna(value) else f"{value:.2f}").reset_index()


def as_markdown(table: pd.DataFrame) -> str:
    rows = [list(table.columns), ["---"] * table.shape[1], *table.astype(str).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

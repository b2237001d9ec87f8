"""What a user of a store should know before reading its numbers: answers in no compared group, groups that are too small, and
questions that were left out because a model was trained on them, each as one line with the way out; and how often an answer's
first token and its text give the same group, for results with both (`--match text`)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pandas as pd

from heval_core.folders import program
from heval_core.records import TECHNIQUE, RegimeKey
from heval_core.records.groups import compared_groups
from heval_core.records.regime_keys import read_key
from heval_core.records.vocabulary import DROP_REASONS
from heval_core.statistics.values import SMALLEST_GROUP, Sums
from heval_core.store.filters import Filter
from heval_core.store.kinds import INSTANCE
from heval_core.store.reader import Reader
from heval_core.store.shards import Entry, ShardStore

# Below this share of instances in compared groups, the layout of the prompt is more likely to blame than the model.
FEWEST = 0.5
OTHER_LAYOUT = f"try another layout (--template; {program()} layouts says what each gives), or --match text or within"
Counts = dict[str, Counter[str]]


def notes(store: ShardStore) -> list[str]:
    """Return the lines of a store, by model and dataset, of answers without a technique."""
    trained = {(line["model"], line["dataset"]): line for line in store.journal("training")}
    explained = {entry.cell.of_regime for entry in store.entries().values() if entry.explainer and entry.regime}
    lines = [
        f"{' · '.join(where)}: {line['seen']:,} of {line['usable']:,} questions are not asked, because this demo model may "
        f"have been trained on their pair of subject and false answer; {line['usable'] - line['seen']:,} are left. Use "
        "another model, or write further false answers for the same subjects: one pair in four is kept"
        for where, line in trained.items()
        if line["seen"]
    ]
    for where, counts in _outcomes(store).items():
        ranked = {regime: sizes for regime, sizes in counts.items() if RegimeKey(*where, regime, TECHNIQUE) in explained}
        lines += [f"{' · '.join(where)}: {text}" for text in (*few_compared(counts), *too_small(ranked))]
    return lines


def _outcomes(store: ShardStore) -> dict[tuple[str, str], Counts]:
    """Count by model and dataset: regime ▶ number of instances by group, or by the reason why they were dropped."""
    outcomes: dict[tuple[str, str], Counts] = {}
    states = [line for line in store.journal("state") if line["technique"] == TECHNIQUE]
    newest = {(line["model"], line["dataset"]): _state(line) for line in states}
    for entry in store.entries().values():
        where = entry.model, entry.dataset
        if entry.kind == INSTANCE.name and entry.technique == TECHNIQUE and newest.get(where) == _state(vars(entry)):
            counts = outcomes.setdefault(where, {}).setdefault(entry.regime, Counter())
            for row in store.read(entry, ["group", "dropped_because"]).to_pylist():
                counts[row["dropped_because"] or row["group"]] += 1
    return outcomes


_state = itemgetter("revision", "fingerprint", "settings")  # as publishing compares them: what was edited is another


def compared_in(regime: str) -> tuple[str, ...]:
    """Return the groups that metrics compare in a regime."""
    return compared_groups(read_key(regime).documents)


def few_compared(counts: Counts) -> Iterator[str]:
    """Yield a line where under half of the instances have an answer that metrics compare. counts: see `_outcomes`."""
    total = sum(sum(sizes.values()) for sizes in counts.values())
    compared = sum(sizes[group] for regime, sizes in counts.items() for group in compared_in(regime))
    if total and compared < FEWEST * total:
        rest = Counter[str]()
        for regime, sizes in counts.items():
            rest.update({name: n for name, n in sizes.items() if name not in compared_in(regime)})
        texts = (f"{n:,} {'dropped:' if name in DROP_REASONS else 'answered'} {name}" for name, n in rest.most_common())
        yield f"only {compared:,} of {total:,} instances have an answer that is compared ({', '.join(texts)}); {OTHER_LAYOUT}"


def first_answers(entry: Entry, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a line about a regime's first answers: a layout that does not fit is seen before the rest is explained."""
    sizes = Counter(str(row.get("dropped_because") or row["group"]) for row in rows)
    compared = sum(sizes[group] for group in compared_in(entry.regime))
    named = ", ".join(f"{name} {n}" for name, n in sizes.most_common())
    lacks = "" if compared >= FEWEST * len(rows) else f"; {OTHER_LAYOUT}"
    where = f"{entry.model} · {entry.dataset} · {entry.regime}"
    return f"{where}: of the first {len(rows)} answers {compared} are compared ({named}){lacks}"


def too_small(counts: Counts) -> Iterator[str]:
    """Yield a line that names every group that is smaller than rank margins need."""
    small = [
        f"{regime} " + ", ".join(f"{group} {sizes[group]}" for group in compared_in(regime))
        for regime, sizes in counts.items()
        if any(sizes[group] < SMALLEST_GROUP for group in compared_in(regime))
    ]
    if small:
        yield f"rank margins need {SMALLEST_GROUP} answers per group, and have: {'; '.join(small)}. Raise --limit"


def text_agreement(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """Count per model and dataset, over instances that were not dropped: n, how many have the same group both ways, the share.

    low, high: 95 % interval of the share, over questions, since a question is asked under several regimes.
    """
    rows = []
    for (model, dataset), by_question in reader.same_group_counts(chosen).groupby(["model", "dataset"]):
        counts = by_question.groupby("question")[["same", "n"]].sum().to_numpy(dtype=float)
        share = Sums(counts[:, 0], counts[:, 1], ends=(0.0, 1.0)).bounded()
        same, n = (int(total) for total in counts.sum(axis=0))
        low, high = share.interval()
        rows.append((model, dataset, n, same, same / n, low, high))
    return pd.DataFrame(rows, columns=["model", "dataset", "n", "same", "share", "low", "high"])


def source_notes(reader: Reader) -> Iterator[str]:
    """Say per model and dataset, over all regimes, what answers depend on, or why that is not known; and how often hidden
    attention names the one source of several mentions."""
    for where, rows in reader.answer_sources().groupby(["model", "dataset"]):
        named = [f"{name} {n:,}" for column in ("source", "unavailable") for name, n in rows[column].value_counts().items()]
        yield f"{' · '.join(where)}: sources of {len(rows):,} answers: {', '.join(named)}"
        one = rows[(rows["source"] == "one") & rows["same"].notna()]
        if one.empty:
            continue
        by_question = one.groupby("question")["same"].agg(["sum", "count"]).to_numpy(dtype=float)
        low, high = Sums(by_question[:, 0], by_question[:, 1], ends=(0.0, 1.0)).bounded().interval()
        yield (
            f"{' · '.join(where)}: attention hidden from all later tokens names the one source in {one['same'].sum():g} of "
            f"{len(one):,} answers with several mentions: {one['same'].mean():.2f} [{low:.2f}, {high:.2f}], chance "
            f"{(1 / one['mentions']).mean():.2f}"
        )


def replaced_agreement(reader: Reader, chosen: Filter) -> pd.DataFrame:
    """Count how often a label without deletion is the same, per group of answers to one document.

    With other answers put in the places of the given one (table `source`) an answer from the document (C) changes, and one
    from memory (M) stays. Columns: group, n, questions, share, low, high (95 %, over questions). Without rows where no sources
    were computed.
    """
    rows = []
    for group, counts in reader.replaced_counts(chosen).groupby("group"):
        share = Sums(counts["same"].to_numpy(float), counts["n"].to_numpy(float), ends=(0.0, 1.0)).bounded()
        rows.append((group, share.n, share.questions, share.value, *share.interval()))
    return pd.DataFrame(rows, columns=["group", "n", "questions", "share", "low", "high"])

"""What a board says in a sentence, and what it leaves open.

Best at a question is the method with the highest mean of those that lack no cell, if its 95 % interval lies apart from those
of all others; where intervals overlap, nobody is. A control is not beaten where its interval reaches that of the best. What
holds over all models is checked against each of them: where the interval of another method lies apart above that of the best,
it says so, because a board of that model alone would have said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from heval_core.evaluation.board.columns import column_groups
from heval_core.evaluation.board.pairs import against, tally
from heval_core.evaluation.board.records import Board, Column
from heval_core.words import counted, listed

PLAIN, DECOY = "Plain prompts", "decoy "
AT = {"RQ1": "telling context from memory", "RQ2": "telling documents apart", "RQ3": "finding the token"}
# So many times fewer passes are worth a word.
CHEAPER = 3.0
# More methods than these are counted.
NAMED = 4
Written = Callable[[str], str]


class Conclusion(NamedTuple):
    """said: what can be said, in one sentence. harder: another about decoys and lengths, or "". open: what cannot be said, a
    sentence each."""

    said: str
    harder: str
    open: tuple[str, ...]

    @property
    def whole(self) -> str:
        return f"{self.said} {self.harder}".strip()


class Standing(NamedTuple):
    """Methods at a column, best first. best: the first and those whose intervals overlap with its; one where it is apart.

    control: the best control that the best method does not beat; "" if it beats all.
    """

    methods: tuple[str, ...]
    best: tuple[str, ...]
    control: str

    @property
    def winner(self) -> str:
        return self.best[0] if len(self.best) == 1 and len(self.methods) > 1 else ""


def conclusion(board: Board, written: Written = str) -> Conclusion:
    """written: how the names of explainers, models and datasets are to be written, such as in bold."""
    standings = {column: standing(board, board.values, column) for column in board.columns if column.scaled}
    plain = {column: standings[column] for column in board.questions if standings[column].methods}
    names = {row.key: written(row.title) for row in board.rows}
    harder = _sentence(_harder(board, standings, names))
    if not plain:
        nothing = "no method has a number for any of the three questions"
        said = f"Of plain prompts nothing can be said: {nothing}." if harder else f"Nothing can be said here: {nothing}."
        return Conclusion(said, harder, _open(board, written))
    clauses = [
        *_winners(plain, names),
        *_everywhere(board, plain, names),
        *_ties(plain, names),
        *_controls(plain, names),
        *_cheaper(board, plain, names),
        *_contradictions(board, plain, names, written),
    ]
    return Conclusion(_sentence(clauses), harder, _open(board, written))


def _sentence(clauses: Sequence[str]) -> str:
    text = "; ".join(clauses)
    return f"{text[:1].upper()}{text[1:]}." if clauses else ""


def standing(board: Board, values: pd.DataFrame, column: Column) -> Standing:
    """values: `Board.values`, or those of one model."""
    own = values[(values["column"] == column.key) & (values["cells"] == values["of"]) & values["value"].notna()]
    ranked = own.sort_values("value", ascending=False, kind="stable").set_index("explainer")
    methods = [str(key) for key in ranked.index if key in board.methods]
    if not methods:
        return Standing((), (), "")
    least = float(ranked.loc[methods[0], "low"])
    best = [key for key in methods if key == methods[0] or not float(ranked.loc[key, "high"]) < least]
    controls = [str(key) for key in ranked.index if key in board.controls and not float(ranked.loc[key, "high"]) < least]
    return Standing(tuple(methods), tuple(best), controls[0] if controls else "")


def _winners(plain: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    """Who is best at what: a clause for each winner."""
    won: dict[str, list[Column]] = {}
    for column, own in plain.items():
        if own.winner:
            won.setdefault(own.winner, []).append(column)
    return [f"{names[key]} is the best method at {_at(columns)}" for key, columns in won.items()]


def _at(columns: Sequence[Column]) -> str:
    return "all three questions" if len(columns) == len(AT) else listed([AT[column.question] for column in columns])


def _everywhere(board: Board, plain: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    """Where a winner of all that it was asked is worse than another method, by question, model and dataset."""
    winners = {own.winner for own in plain.values()}
    if len(winners) != 1 or "" in winners or board.pairs.empty:
        return []
    (winner,) = winners
    own = against(board.pairs, winner)
    own = own[own["second"].isin(list(board.methods))]
    counts = {str(rival): tally(pair, winner, str(rival)) for rival, pair in own.groupby("second", sort=False)}
    lost = [f"{names[key]} in {one['losses']} of {one['compared']}" for key, one in counts.items() if one["losses"]]
    if lost:
        return [f"by question, model and dataset it is worse than {listed(lost)}"]
    if any(one["ties"] for one in counts.values()):
        return ["by question, model and dataset it is nowhere worse than another"]
    return ["in every model and dataset it is better than each of them"] if counts else []


def _ties(plain: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    told = []
    for column, own in plain.items():
        if len(own.methods) == 1:
            told.append(f"at {AT[column.question]} {names[own.methods[0]]} is the only method")
        elif not own.winner:
            told.append(f"at {AT[column.question]} {_overlap(own.best, names)}")
    return told


def _overlap(best: Sequence[str], names: dict[str, str]) -> str:
    who = listed([names[key] for key in best]) if len(best) <= NAMED else counted(len(best), "method")
    return f"the intervals of {who} overlap"


def _controls(plain: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    lost: dict[str, list[Column]] = {}
    for column, own in plain.items():
        if own.control:
            lost.setdefault(own.control, []).append(column)
    return [f"no method beats the control {names[key]} at {_at(columns)}" for key, columns in lost.items()]


def _harder(board: Board, standings: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    """Where decoys and length change who is best, or that they do not."""
    told, same = [], list[str]()
    for group, columns in column_groups([column for column in board.columns if column.scaled and not column.plain]).items():
        changed = [clause for column in columns if (clause := _changed(column, board, standings, names))]
        if changed:
            told.append(f"{_under([group])} {listed(changed)}")
        elif any(standings[column].methods for column in columns):
            same.append(group)
    return ([f"{_under(same)} the same ones are best"] if same else []) + told


def _under(groups: Sequence[str]) -> str:
    """groups: names of `column_groups`, none of them the plain one."""
    decoys, lengths = ([name for name in groups if name.startswith(DECOY) == decoy] for decoy in (True, False))
    return listed(([f"under {_decoys(decoys)}"] if decoys else []) + [f"at {length}" for length in lengths])


def _decoys(groups: Sequence[str]) -> str:
    """`decoys d0 and d1`."""
    return f"{'decoys' if len(groups) > 1 else 'decoy'} {listed([name.removeprefix(DECOY) for name in groups])}"


def _changed(column: Column, board: Board, standings: dict[Column, Standing], names: dict[str, str]) -> str:
    before = next((standings[own] for own in board.questions if own.question == column.question), Standing((), (), ""))
    now = standings[column]
    if not now.methods or (set(now.best) == set(before.best) and bool(now.control) <= bool(before.control)):
        return ""
    if now.control and not before.control:
        return f"no method beats the control {names[now.control]} at {AT[column.question]}"
    if now.winner:
        return f"{names[now.winner]} is the best method at {AT[column.question]}"
    return f"{_overlap(now.best, names)} at {AT[column.question]}"


def _cheaper(board: Board, plain: dict[Column, Standing], names: dict[str, str]) -> list[str]:
    """A winner that is much cheaper than another winner; else the cheap ones of the front against the one that is best."""
    passes = {row.explainer: row.whole_passes for row in board.quality.itertuples() if row.whole_passes > 0}
    winners = list(dict.fromkeys(own.winner for own in plain.values() if own.winner in passes))
    if len(winners) > 1:
        dear, cheap = max(winners, key=passes.__getitem__), min(winners, key=passes.__getitem__)
        ratio = passes[dear] / passes[cheap]
        return [f"{names[cheap]} takes {_share(ratio)} of the passes of {names[dear]}"] if ratio >= CHEAPER else []
    front = board.quality[board.quality["on_front"].astype(bool)].sort_values("whole_passes", ascending=False)
    if len(front) < 2:
        return []
    dear, *others = [str(key) for key in front["explainer"]]
    ratios = {key: passes[dear] / passes[key] for key in others if passes[dear] / passes[key] >= CHEAPER}
    told = [f"{names[key]} ({_share(ratio)} of the passes)" for key, ratio in ratios.items()]
    return [f"of the cheaper methods {listed(told)} {_is(told)} on the front of quality and cost"] if told else []


def _is(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _share(ratio: float) -> str:
    """`1/25`: so large a part are the passes of the cheaper one."""
    return f"1/{ratio:,.0f}"


def _contradictions(board: Board, plain: dict[Column, Standing], names: dict[str, str], written: Written) -> list[str]:
    """Models that alone would have named another best method."""
    told = []
    for model, values in board.by_model.groupby("model", sort=False) if len(board.models) > 1 else ():
        others: dict[str, list[Column]] = {}
        for column, own in plain.items():
            here = standing(board, values, column)
            if here.methods and own.winner not in ("", *here.best):
                others.setdefault(here.best[0], []).append(column)
        looks = [f"{names[key]} would look best at {_at(columns)}" for key, columns in others.items()]
        told += [f"on {written(str(model))} alone {listed(looks)}"] if looks else []
    return told


def _fewer_models(board: Board, written: Written) -> list[str]:
    """Columns that not all models are in: what is said of these holds for the models that are."""
    models_of = {column: board.models_at(column) for column in board.columns}
    told: dict[tuple[str, ...], list[str]] = {}
    decoys: dict[tuple[str, ...], list[str]] = {}
    for group, columns in column_groups(board.columns).items():
        for models in dict.fromkeys(models_of[column] for column in columns):
            titles = [column.title.rstrip("?") for column in columns if models_of[column] == models]
            if len(titles) == len(columns) and group.startswith(DECOY):
                decoys.setdefault(models, []).append(group)
                continue
            told.setdefault(models, []).extend([group or PLAIN] if len(titles) == len(columns) else titles)
    for models, names in decoys.items():
        own = told.setdefault(models, [])
        own.insert(int(PLAIN in own), _decoys(names).capitalize())
    return [
        f"{'; '.join(titles)}: numbers are from {listed([written(model) for model in models])} alone."
        for models, titles in told.items()
        if len(models) < len(board.models)
    ]


def _open(board: Board, written: Written) -> tuple[str, ...]:
    """What these results cannot tell."""
    told = [f"{title.rstrip('?')}: {reason}." for title, reason in board.absent]
    told += _fewer_models(board, written)
    titles = {row.key: written(row.title) for row in board.rows}
    asked = board.values[board.values["column"].isin([column.key for column in board.columns if column.scaled])]
    lacking = asked[asked["cells"] < asked["of"]]
    for key, own in lacking.groupby("explainer", sort=False):
        told.append(
            f"{titles[str(key)]} lacks {int((own['of'] - own['cells']).sum())} of {int(own['of'].sum())} cells and is not "
            f"compared there ({', '.join(dict.fromkeys(own['column']))})."
        )
    if len(board.models) == 1 and board.rows:
        told.append(f"All numbers are from one model, {written(board.models[0])}; another may say otherwise.")
    if len(board.datasets) == 1 and board.rows:
        told.append(f"All numbers are from one dataset, {written(board.datasets[0])}; another may say otherwise.")
    return tuple(told)

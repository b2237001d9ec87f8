"""What a board says in sentences, and what it leaves open.

Who is best is said by `ranking.clauses`, over all models and on each of them: where the interval of another method lies apart
above that of the best, it says so, because a board of that model alone would have said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from heval_core.evaluation.board.records import Board, Column, column_groups
from heval_core.evaluation.ranking import AT, Ranking, Written, clauses, sentences
from heval_core.words import listed

PLAIN, DECOY = "Plain prompts", "decoy "
# So many times fewer passes are worth a word.
CHEAPER = 3.0


class Conclusion(NamedTuple):
    """said: what can be said, in sentences. harder: others about decoys and lengths, or "". open: what cannot be said, a
    sentence each."""

    said: str
    harder: str
    open: tuple[str, ...]


def conclusion(board: Board, written: Written = str) -> Conclusion:
    """written: how the names of explainers, models and datasets are to be written, such as in bold."""
    names = {row.key: written(row.title) for row in board.rows}
    plain = rankings(board, board.questions)
    harder = _harder(board, plain, names)
    if not any(own.methods for own in plain.values()):
        nothing = "no method has a number for any of the three questions"
        said = f"Of plain prompts nothing can be said: {nothing}." if harder else f"Nothing can be said here: {nothing}."
        return Conclusion(said, harder, _open(board, written))
    found = [
        *clauses(plain, names.__getitem__), *_cheaper(board, plain, names), *_contradictions(board, plain, names, written)
    ]  # fmt: skip
    return Conclusion(sentences(found), harder, _open(board, written))


def rankings(board: Board, columns: Sequence[Column], model: str = "") -> dict[str, Ranking]:
    """By what the question of a column asks for: who is best at it."""
    return {AT[column.question]: board.ranking(column, model) for column in columns}


def _harder(board: Board, plain: dict[str, Ranking], names: dict[str, str]) -> str:
    """Where decoys and length change who is best, or that they do not."""
    changed, same = [], list[str]()
    for group, columns in column_groups([column for column in board.columns if column.scaled and not column.plain]).items():
        there = {at: own for at, own in rankings(board, columns).items() if own.methods}
        new = {at: own for at, one in there.items() if (own := _changed(one, plain.get(at, Ranking())))}
        if new:
            changed.append(f"{_under([group])} {listed(clauses(new, names.__getitem__))}")
        elif there:
            same.append(group)
    return sentences(([f"{_under(same)} the same ones are best"] if same else []) + changed)


def _changed(now: Ranking, before: Ranking) -> Ranking | None:
    """Who is best now, and the controls that are beaten elsewhere; None where both are the same."""
    new = now._replace(controls=() if before.controls else now.controls, below=())
    return new if new.controls or set(now.best) != set(before.best) else None


def _under(groups: Sequence[str]) -> str:
    """groups: names of `column_groups`, none of them the plain one."""
    decoys, lengths = ([name for name in groups if name.startswith(DECOY) == decoy] for decoy in (True, False))
    return listed(([f"under {_decoys(decoys)}"] if decoys else []) + [f"at {length}" for length in lengths])


def _decoys(groups: Sequence[str]) -> str:
    """`decoys d0 and d1`."""
    return f"{'decoys' if len(groups) > 1 else 'decoy'} {listed([name.removeprefix(DECOY) for name in groups])}"


def _cheaper(board: Board, plain: dict[str, Ranking], names: dict[str, str]) -> list[str]:
    """Winners that are much cheaper than the dearest one; where there is one at most, methods of the front."""
    passes = {str(row.explainer): row.whole_passes for row in board.quality.itertuples() if row.whole_passes > 0}
    winners = dict.fromkeys(own.best[0] for own in plain.values() if len(own.bold) == 1)
    front = board.quality[board.quality["on_front"].astype(bool)]["explainer"]
    keys, where = (winners, "") if len(winners) > 1 else (front, "on the front of quality and cost, ")
    dearest, *others = sorted((str(key) for key in keys if key in passes), key=passes.__getitem__, reverse=True) or [""]
    ratios = {key: passes[dearest] / passes[key] for key in others}
    cheap = [f"{names[key]} takes 1/{ratio:,.0f}" for key, ratio in ratios.items() if ratio >= CHEAPER]
    return [f"{where}{listed(cheap)} of the passes of {names[dearest]}"] if cheap else []


def _contradictions(board: Board, plain: dict[str, Ranking], names: dict[str, str], written: Written) -> list[str]:
    """Models that alone would have named another best method."""
    found = []
    for model in board.models if len(board.models) > 1 else ():
        alone = rankings(board, board.questions, model)
        other = {at: own._replace(controls=(), below=()) for at, own in alone.items()
                 if own.methods and len(plain[at].bold) == 1 and plain[at].best[0] not in own.best}  # fmt: skip
        found += [f"on {written(model)} alone {clause}" for clause in clauses(other, names.__getitem__)]
    return found


def _fewer_models(board: Board, written: Written) -> list[str]:
    """Columns that not all models are in: what is said of these holds for the models that are."""
    models_of = {column: board.models_at(column) for column in board.columns}
    found: dict[tuple[str, ...], list[str]] = {}
    decoys: dict[tuple[str, ...], list[str]] = {}
    for group, columns in column_groups(board.columns).items():
        for models in dict.fromkeys(models_of[column] for column in columns):
            titles = [column.title.rstrip("?") for column in columns if models_of[column] == models]
            if len(titles) == len(columns) and group.startswith(DECOY):
                decoys.setdefault(models, []).append(group)
                continue
            found.setdefault(models, []).extend([group or PLAIN] if len(titles) == len(columns) else titles)
    for models, names in decoys.items():
        own = found.setdefault(models, [])
        own.insert(int(PLAIN in own), _decoys(names).capitalize())
    return [
        f"{'; '.join(titles)}: numbers are from {listed([written(model) for model in models])} alone."
        for models, titles in found.items()
        if len(models) < len(board.models)
    ]


def _open(board: Board, written: Written) -> tuple[str, ...]:
    """What these results cannot tell."""
    found = [f"{title.rstrip('?')}: {reason}." for title, reason in board.absent]
    found += _fewer_models(board, written)
    titles = {row.key: written(row.title) for row in board.rows}
    asked = board.values[board.values["column"].isin([column.key for column in board.columns if column.scaled])]
    lacking = asked[asked["cells"] < asked["of"]]
    for key, own in lacking.groupby("explainer", sort=False):
        found.append(
            f"{titles[str(key)]} lacks {int((own['of'] - own['cells']).sum())} of {int(own['of'].sum())} cells and is not "
            f"compared there ({', '.join(dict.fromkeys(own['column']))})."
        )
    if len(board.models) == 1 and board.rows:
        found.append(f"All numbers are from one model, {written(board.models[0])}; another may say otherwise.")
    if len(board.datasets) == 1 and board.rows:
        found.append(f"All numbers are from one dataset, {written(board.datasets[0])}; another may say otherwise.")
    return tuple(found)

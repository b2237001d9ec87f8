"""Which explainer a board recommends, in two sentences; whether decoys and length change that; and what it leaves open.

Recommended is the cheapest of those that are best by the mean (`Board.overall`). Who is best at a question, and
which controls no method beats there, is `Board.ranking`'s. Where rows are right by construction at a question, it is also
said what would be recommended without it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from heval_core.evaluation.board.records import Board, column_groups
from heval_core.evaluation.ranking import AT, NAMED, NameOf, Ranking, clauses, sentences, who
from heval_core.records.vocabulary import DECOYS, counted, listed

# What the controls do in place of explaining, as something that one could do oneself.
_INSTEAD = {
    "document": "deleting whole documents",
    "blocks": "Contrastive GIM (ours) summed over documents",
    "lexical": "a text search",
    "position": "pointing at the prompt’s end",
    "random": "guessing",
    "first_mention": "taking the answer’s first mention",
    "last_mention": "taking the answer’s last mention",
    "question_words": "looking for the question’s words",
}
_COUNTS = ("no", "one", "two", "three")
NOTHING = "Nothing can be recommended: no method has a number for any of the three questions."


class Conclusion(NamedTuple):
    """best: the key of the recommended method, or "". said: the recommendation. harder: a sentence about decoys and lengths,
    or "". open: what cannot be said, a sentence each."""

    best: str
    said: str
    harder: str
    open: tuple[str, ...]


def conclusion(board: Board, written: NameOf = str) -> Conclusion:
    """Conclude from a board. written: how the names of explainers, models and datasets are to be written, such as in bold."""
    names = {row.key: written(row.title) for row in board.rows}
    best = _cheapest(board.overall, board.passes)
    return Conclusion(best, _recommendation(board, best, names), _harder(board, best, names), _open(board, names, written))


def _cheapest(ranking: Ranking, passes: Mapping[str, float]) -> str:
    """Return the cheapest of the best; of equally cheap ones the best, and "" where there is none."""
    return min(ranking.best, key=lambda key: passes.get(key, float("inf")), default="")


def _recommendation(board: Board, best: str, names: Mapping[str, str]) -> str:
    rankings = {column.question: board.ranking(column) for column in board.questions}
    if not best:
        texts = clauses({AT[question]: ranking for question, ranking in rankings.items()}, names.__getitem__)
        return sentences(texts) or NOTHING
    reason = "is the only method here"
    if len(board.methods) > 1:
        reason = _among(board.overall, best, names, " on the mean") or _by_question(best, rankings, names)
    reason += _cost(board.overall, best, board.passes)
    parts = (f"Use {names[best]}. It {reason}.", _beside(board, names, best), _published(board, best, names))
    return " ".join(filter(None, (*parts, _controls(board, best, names))))


def _among(ranking: Ranking, best: str, names: Mapping[str, str], where: str = "") -> str:
    """Say `is not told apart from A and B`; "" where nobody else is best."""
    others = [names[key] for key in ranking.best if key != best]
    named = listed(others) if len(others) < 3 else counted(len(others), "other")
    return f"is {ranking.alike_with(named)}{where}" if others else ""


def _cost(ranking: Ranking, best: str, passes: Mapping[str, float]) -> str:
    text = "and the cheapest of them:" if len(ranking.best) > 1 else "and costs"
    return f", {text} about {_about(passes[best])}" if passes.get(best) else ""


def _beside(board: Board, names: Mapping[str, str], recommended: str) -> str:
    """Return what would be recommended without the questions at which rows are right by construction."""
    ranking, passes = board.overall_beside, board.beside.set_index("explainer")["whole_passes"].dropna().to_dict()
    best = _cheapest(ranking, passes)
    if not best:
        return ""
    given = [row.key for row in board.rows if board.given(row.key)]
    titles = dict.fromkeys(column.title for key in given for column in board.given(key))
    are = f"{listed([names[key] for key in given])} {'is' if len(given) == 1 else 'are'} right by construction"
    reason = _among(ranking, best, names) or "is best"
    who, cost = ("it", "") if best == recommended else (names[best], _cost(ranking, best, passes))
    return f"Without “{listed(list(titles))}”, where {are}, {who} {reason}{cost}."


def _by_question(best: str, rankings: Mapping[str, Ranking], names: Mapping[str, str]) -> str:
    """Say `is best at all questions`, `is ahead on the mean: best at two questions and not told apart from X at the third`."""
    alone = [question for question, ranking in rankings.items() if ranking.best == (best,)]
    third, every = len(alone) == 2 and len(rankings) == 3, len(alone) == len(rankings) > 1
    predicates = []
    if alone:
        at = f"{'all ' if every else ''}{_COUNTS[len(alone)]} questions" if every or third else listed([AT[q] for q in alone])
        predicates.append(f"best at {at}")
    for question, ranking in rankings.items():
        if question not in alone:
            others = [key for key in ranking.best if key != best]
            named = who(others, names.__getitem__, "other")
            rank = ranking.alike_with(named) if best in ranking.best else f"behind {named}"
            predicates.append(f"{rank} at {'the third' if third else AT[question]}")
    return f"is {'' if every or len(rankings) == 1 else 'ahead on the mean: '}{listed(predicates)}"


def _published(board: Board, best: str, names: Mapping[str, str]) -> str:
    """Return the best method that is not ours, where the recommended one is."""
    ours = {row.key for row in board.rows if row.ours}
    bands = ([key for key in band if key not in ours] for band in board.overall.bands)
    published = next(filter(None, bands), [])
    if best not in ours or not published:
        return ""
    values = board.quality.set_index("explainer")["value"]
    numbers = ", ".join(f"{values[key]:.2f}" for key in published[:NAMED])
    alike = (board.overall if published[0] in board.overall.best else Ranking()).alike
    who_is = f"{who(published, names.__getitem__)} {'is best' if len(published) == 1 else f'are {alike}'}"
    return f"Of the published methods {who_is} ({numbers})."


def _controls(board: Board, best: str, names: Mapping[str, str]) -> str:
    """Return the controls that no method beats on the mean, else those at the most questions; and whether they beat
    the best.
    """
    overall, rankings = board.overall, {column.question: board.ranking(column) for column in board.questions}
    if overall.controls:
        key = overall.controls[0]
        values, exceeds = (board.quality.set_index("explainer")[name] for name in ("value", "exceeds"))
        better = best in exceeds[key]
        digits = 3 if better and values[key] - values[best] < 0.01 else 2
        how = "is better" if better else "is not told apart from it"
        how += f" on the mean: {values[key]:.{digits}f} against {values[best]:.{digits}f}"
        if record := board.record(key, best):
            how += f", and of {sum(record)} comparisons it wins {record[0]} and loses {record[2]}"
        return f"But on plain prompts {_instead(key, names)} {how}."
    counts = Counter(key for ranking in rankings.values() for key in ranking.controls)
    most = max(counts.values(), default=0)
    controls = [key for key, count in counts.items() if count == most]
    if not controls:
        return ""
    reached = {question: ranking for question, ranking in rankings.items() if {*controls} & {*ranking.controls}}
    where = f"on two of the {_COUNTS[len(rankings)]}" if 1 < most < len(rankings) else "at " + listed([AT[q] for q in reached])
    better = all({*controls} <= {*ranking.better} for ranking in reached.values())
    verb = f"{'are' if len(controls) > 1 else 'is'} {'better' if better else 'not told apart from the best'}"
    return f"But {listed([_instead(key, names) for key in controls])} {verb} {where}."


def _instead(key: str, names: Mapping[str, str]) -> str:
    """Say `a text search (Lexical match, a control)`."""
    return f"{_INSTEAD[key]} ({names[key]}, a control)" if key in _INSTEAD else f"the control {names[key]}"


def _about(passes: float) -> str:
    text = f"{passes:.0f}" if passes >= 0.95 else f"{passes:.1f}"
    return "1 pass" if text == "1" else f"{text} passes"


def _harder(board: Board, best: str, names: Mapping[str, str]) -> str:
    """Return whether decoys and length leave the recommended method among the best, at the questions where it is one
    of them.
    """
    strong = {column.question for column in board.questions if best in board.ranking(column).best}
    harder = [one for one in board.columns if one.question in strong and one.scaled and one.ranked and not one.plain]
    decoys, lengths, lost = list[bool](), list[str](), list[str]()
    for prompts, columns in column_groups(harder).items():
        ahead: dict[tuple[str, ...], list[str]] = {}
        for column in columns:
            ranking = board.ranking(column)
            if ranking.methods and best not in ranking.best:
                ahead.setdefault(ranking.best, []).append(AT[column.question])
        decoy = columns[0].decoy
        where = f"where {DECOYS[decoy].meaning}" if decoy else f"at {prompts}"
        lost += [
            f"{where}, {who(keys, names.__getitem__)} {'is' if len(keys) == 1 else 'are'} ahead at {listed(tasks)}"
            for keys, tasks in ahead.items()
        ]
        decoys += [not ahead] if decoy else []
        lengths += [] if decoy or ahead else [prompts]
    every = "every decoy" if all(decoys) else f"{sum(decoys)} of {len(decoys)} decoys"
    every += "" if all(column.ranked for column in board.columns) else " with ranks"
    unchanged = [*([f"under {every}"] if any(decoys) else []), *([f"at {listed(lengths)}"] if lengths else [])]
    return sentences(([f"{names[best]} stays among the best {listed(unchanged)}"] if unchanged else []) + lost)


def _open(board: Board, names: Mapping[str, str], written: NameOf) -> tuple[str, ...]:
    texts = [f"{title.rstrip('?')}: {reason}." for title, reason in board.absent]
    for prompts, columns in column_groups([column for column in board.columns if not column.ranked]).items():
        proved = board.verified.set_index("column").reindex([column.key for column in columns]).dropna()
        counts = "not measured (--sources)"
        if len(proved):
            counts = f"true in {int(proved['verified'].iloc[0])} of {int(proved['n'].iloc[0])} answers"
        reason = "nobody is ranked, since the answer stands in several places, and from which of them it comes is assumed"
        texts.append(f"Under {prompts} {reason}: {counts}.")
    for column in board.questions:
        models = board.models_at(column)
        if len(models) < len(board.models):
            texts.append(f"{column.title} Numbers are from {listed([written(model) for model in models])} alone.")
    scaled = board.values[board.values["column"].isin([column.key for column in board.columns if column.scaled])]
    lacking = scaled[scaled["cells"] < scaled["of"]]
    for key, rows in lacking.groupby("explainer", sort=False):
        texts.append(
            f"{names[str(key)]} lacks {int((rows['of'] - rows['cells']).sum())} of {int(rows['of'].sum())} cells and is not "
            f"compared there ({', '.join(dict.fromkeys(rows['column']))})."
        )
    for what, all_of_it in (("model", board.models), ("dataset", board.datasets)):
        if len(all_of_it) == 1 and board.rows:
            texts.append(f"All numbers are from one {what}, {written(all_of_it[0])}; another may say otherwise.")
    return tuple(texts)

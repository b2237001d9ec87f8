"""What a hard board says: who finds the source where a text search cannot, who names where the model reads instead, for whom.

Of prompts whose question's words do not help, else of those where they do. Finds: among the best (`HardBoard.ranking`), above
guessing, and ahead of every control that reads text only. Reads: among the best at the route, above guessing there, and at the
source not above it, or below it in one of its halves: where the source is the first place, or the last. Others that are above
guessing in one half and below it in the other favour the first place, or the last.
"""

from collections.abc import Sequence

import pandas as pd

from heval_core.evaluation.board.hard import ALL, COLUMNS, HardBoard
from heval_core.evaluation.ranking import NameOf, sentences, who
from heval_core.folders import program
from heval_core.records.vocabulary import listed

NOTHING = (
    f"Of no answer it was measured on which mention it depends: `{program()} run … --explainers … --sources` and `… publish` "
    "measure it, on prompts whose answer stands in several places, such as `--regimes double_conflicting.d1`."
)
# Of the columns that ask for the source, the first one with numbers ▶ what it is of.
_WHERE = {
    "unworded": "where an answer stands in several places and the question’s words do not tell which",
    "worded": "where an answer stands in several places and the question’s words tell which",
}


def hard_conclusion(board: HardBoard, name: NameOf, model: NameOf, brief: bool = False) -> str:
    """Return the sentences. name, model: how the key of an explainer, and of a model, is written.

    brief: only who finds it and for whom.
    """
    column = next((key for key in _WHERE if board.ranking(key).methods and board.best_text(key)), "")
    if not column:
        return NOTHING
    finders = [key for key in board.ranking(column).best if _finds(board, key, column, ALL)]
    finding = [_finding(board, column, finders, name), *(_asking(board, column, name) if finders else [])]
    of = _for_whom(board, column, finders, model)
    return sentences([*finding, of] if brief else [*finding, *_read(board, column, name), of, *_lacking(board)])


def hard_rest(board: HardBoard, name: NameOf) -> str:
    """Return the sentences that it leaves out in brief: who names another place instead, and what has no number."""
    column = next((key for key in _WHERE if board.ranking(key).methods and board.best_text(key)), "")
    return sentences([*(_read(board, column, name) if column else []), *_lacking(board)])


def _finds(board: HardBoard, key: str, column: str, model: str) -> bool:
    """Return whether an explainer finds the source where a text search does not."""
    rows = board.numbers(column, model)
    rivals = {*board.text_only} & {*rows.index}
    return key in rows.index and rivals <= {*rows["exceeds"][key]} and bool(rows["low"][key] > rows["chance"][key])


def _finding(board: HardBoard, column: str, finders: Sequence[str], name: NameOf) -> str:
    rows, text = board.numbers(column), board.best_text(column)
    beside = f"the best control that reads text only ({name(text)}, {rows['value'][text]:.2f})"
    keys = finders or board.ranking(column).best
    alone, value = len(keys) == 1, _span(rows, keys)
    if alone:
        value += f" [{rows['low'][keys[0]]:.2f}, {rows['high'][keys[0]]:.2f}]"
    value += f" ({rows['n'].iloc[0]:,} answers, chance {rows['chance'].iloc[0]:.2f})"
    if not finders:
        ahead = f"no method is ahead of all controls that read text only, the best of which is {name(text)}"
        has = f"{who(keys, name)} {'has' if alone else 'have'}"
        return f"{_WHERE[column]}, {ahead} ({rows['value'][text]:.2f}): {has} {value}"
    above = f"{'' if alone else 'at least '}{rows['value'][[*keys]].min() - rows['value'][text]:.2f} above {beside}"
    return f"{_WHERE[column]}, {who(keys, name)} {'finds' if alone else 'find'} the one that it depends on: {value}, {above}"


def _asking(board: HardBoard, column: str, name: NameOf) -> list[str]:
    """Return the controls that ask the model too, and that no method is ahead of."""
    rows, models = board.numbers(column), {*board.controls} - {*board.text_only}
    beaten = {key for method in board.ranking(column).methods for key in rows["exceeds"][method]}
    level = [key for key in rows.index if key in models - beaten]
    if not level:
        return []
    alone = len(level) == 1
    also = "a control that asks the model too, has" if alone else "controls that ask the model too, have"
    ahead = f"no method is ahead of {'it' if alone else 'them'}"
    return [f"{listed([name(key) for key in level])}, {also} {_span(rows, level)}: {ahead}"]


def _read(board: HardBoard, column: str, name: NameOf) -> list[str]:
    """Return who names the place that the last token reads instead, and who favours one place, with their halves."""
    route, rows = board.numbers("route"), board.numbers(column)
    failing = [key for key in board.ranking(column).methods if _fails(rows.loc[key])]
    readers = [key for key in board.ranking("route").best if key in failing and route["low"][key] > route["chance"][key]]
    instead = f"the place that the last token reads instead ({_span(route, readers)})" if readers else ""
    groups = [("name", instead, readers)]
    for end, other in (("first", "last"), ("last", "first")):
        always = [key for key in failing if rows[f"{end}_low"][key] > rows["chance"][key] > rows[f"{other}_high"][key]]
        groups.append(("favour", f"the {end} place", [key for key in always if key not in readers]))
    texts = []
    for verb, what, keys in (group for group in groups if group[2]):
        first, last = (_span(rows, keys, half) for half in ("first", "last"))
        halves = f": right in {first} where the answer depends on the first place, and in {last} where on the last"
        texts.append(f"{listed([name(key) for key in keys])} {verb}{'s' if len(keys) == 1 else ''} {what}{halves}")
    return texts


def _fails(row: pd.Series) -> bool:
    """Return whether a number is not above guessing, or one of its halves is below it."""
    return bool(row["low"] <= row["chance"] or min(row["first_high"], row["last_high"]) < row["chance"])


def _span(rows: pd.DataFrame, keys: Sequence[str], of: str = "value") -> str:
    values = rows[of][[*keys]]
    return " to ".join(dict.fromkeys(f"{end:.2f}" for end in (values.min(), values.max())))


def _for_whom(board: HardBoard, column: str, finders: Sequence[str], model: NameOf) -> str:
    """Return of which models the numbers are, and in which the finding holds by itself."""
    of = [key for key in board.rows["model"].unique() if key != ALL and len(board.numbers(column, key))]
    holds = [key for key in of if finders and all(_finds(board, explainer, column, key) for explainer in finders)]
    text = f"the answers are of {listed([model(key) for key in of])}"
    if len(of) == 1 or not finders:
        return text
    alone = "each" if holds == of else listed([model(key) for key in holds])
    return f"{text}; taken alone, {alone or 'none'} show{'' if len(holds) > 1 and holds != of else 's'} the same"


def _lacking(board: HardBoard) -> list[str]:
    """Return the columns without a number, with the reason."""
    texts = []
    for column in COLUMNS.values():
        lacking = f"`{program()} run … --regimes mixed` measures it" if column.plain else "no answer here is of this kind"
        reasons = [*board.rows[board.rows["column"] == column.key]["reason"], lacking]
        if board.numbers(column.key).empty:
            texts.append(f"“{column.title}” has no number: {next(filter(None, reasons))}")
    return texts

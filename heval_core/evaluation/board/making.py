"""Makes a board of what a results file has under a filter: no scores are read where no filter cuts cells.

The three questions are those of the headline measures, each once. Decoys and lengths stand in columns of their own: their
prompts are of other questions, and ranks do not compare across lengths. A length column is over prompts without a decoy.
Numbers are means over the cells that count (`evaluation.means`); a row that lacks some of them says so, and is not compared.
Cost: two seconds for the demo results with four methods, but that of everything is stored with the results. Under a filter
that cuts cells it is computed anew (`live`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from heval_core.evaluation.board.costs import costs_of
from heval_core.evaluation.board.records import (
    ASSUMED,
    CELLS,
    EVERY_SIZE,
    PAIRS,
    QUALITY,
    SCALED,
    VALUES,
    VERIFIED,
    Board,
    BoardColumn,
    BoardRow,
)
from heval_core.evaluation.comparisons import pairs_of
from heval_core.evaluation.means import (
    ABOVE,
    CELL_COLUMNS,
    VALUE,
    available,
    compared,
    computed_values,
    counting,
    means,
    questions_behind,
    replicates,
    values_of,
    without_sure_intervals,
)
from heval_core.evaluation.ranking import COMPARED, ahead, within
from heval_core.metrics.shared.cell import DEFAULT_K
from heval_core.metrics.shared.measure import Measure
from heval_core.plugins.measures import headlines, measures_of
from heval_core.records import TECHNIQUE
from heval_core.records.regime_keys import DECOYS, TWICE, read_key
from heval_core.records.vocabulary import dataset_title
from heval_core.statistics.bounded import mean_interval
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from heval_core.techniques.shared.context_use import pareto_front

NO_DECOYS = "these results have no prompts with decoys"
NO_LENGTHS = "these results have no padded prompts"
NOT_ASKED = "no cell under these filters has it"
NOT_SHARED = "no cell has a number of more than half of the methods, so nothing compares"
NOT_RUN = "not run here"
OTHER_INSTANCES = "over other instances than most"


def board(reader: Reader, chosen: Filter = Filter()) -> Board:  # noqa: B008
    """Return the board of one technique: the filter's, else Regular. A board without rows where nothing is explained.

    A regime brings its options along, the decoys and lengths with which it was run: they have columns of their own.
    That of everything was made when the results were published, since pages open with it.
    """
    chosen, everything = whole(reader, chosen), whole(reader, Filter())
    stored = list(reader.rows("board")["json"]) if chosen == everything else []
    if stored:
        return Board.of_json(stored[0], measures_of_boards())
    return _computed(reader, chosen, lambda *measured: values_of(reader, chosen, *measured))


def board_of_everything(reader: Reader, values: pd.DataFrame) -> Board:
    """Compute the board without a filter, of values that were just computed (`cells.frame_of`)."""
    chosen = whole(reader, Filter())
    values = values[values["technique"].isin(chosen.technique)]
    return _computed(reader, chosen, lambda *measured: computed_values(values, *measured))


def whole(reader: Reader, chosen: Filter) -> Filter:
    """Return the filter of one technique, with every regime named: one brings its options along."""
    choices = reader.choices()
    explained = choices[choices["explained"]]
    return _with_options(explained, _of_one_technique(explained, chosen))


def _computed(reader: Reader, chosen: Filter, values: Callable[[str, int, Sequence[str]], pd.DataFrame]) -> Board:
    """Compute a board. values: metric, k and parts ▶ cells, see `means.values_of`."""
    measured = {measure: values(measure.metric, measure.at(DEFAULT_K), measure.together) for measure in measures_of_boards()}
    cells = pd.concat(measured.values())
    regimes = list(dict.fromkeys(cells["regime"].astype(str)))
    # Who ran only where the answer stands twice is on the hard board.
    once = cells[[read_key(str(regime)).decoy not in (*ASSUMED, TWICE) for regime in cells["regime"]]]
    rows = rows_of(reader, list((cells if once.empty else once)["explainer"].unique()))
    costs = costs_of(reader, chosen, regimes)
    result = board_of(measured, rows, costs, reader.questions(chosen))
    titles = reader.catalogue("dataset").set_index("key")["title"].to_dict()
    datasets = tuple(dataset_title(key, titles) for key in result.datasets)
    return replace(result, datasets=datasets, verified=_verified(result, reader.verified_sources(chosen)))


def _verified(board: Board, sources: pd.DataFrame) -> pd.DataFrame:
    """Return `Board.verified`. sources: of `Reader.verified_sources`, by regime."""
    counts = []
    for column in board.columns:
        rows = sources[[column.takes(str(regime)) and column.measure.asks(str(regime)) for regime in sources["regime"]]]
        if not column.ranked and len(rows):
            counts.append([column.key, int(rows["verified"].sum()), int(rows["n"].sum())])
    return pd.DataFrame(counts, columns=VERIFIED)


def measures_of_boards() -> tuple[Measure, ...]:
    """Return the headlines of the questions, then faithfulness, plain and protected."""
    heads = headlines()
    return (*(heads[question] for question in SCALED if question in heads), *measures_of("faithfulness").values())


def _of_one_technique(explained: pd.DataFrame, chosen: Filter) -> Filter:
    """Narrow a filter to one technique. explained: those of `Reader.choices` where an explainer ran."""
    keys = list(dict.fromkeys(explained["technique"]))
    wanted = [key for key in (*chosen.technique, TECHNIQUE, *keys) if key in keys or key in chosen.technique]
    # What a board is of is explained, whether the filter asks for that or not.
    return replace(chosen, technique=tuple(wanted[:1]), explained=False)


def _with_options(explained: pd.DataFrame, chosen: Filter) -> Filter:
    """Name every regime: those with options may be left out of what a filter takes unnamed."""
    regimes = [str(regime) for regime in dict.fromkeys(explained[explained["technique"].isin(chosen.technique)]["regime"])]
    wanted = [regime for regime in regimes if {regime, read_key(regime).base} & set(chosen.regime or regimes)]
    return replace(chosen, regime=tuple(wanted) or chosen.regime)


def rows_of(reader: Reader, explainers: Sequence[str]) -> list[BoardRow]:
    entries = reader.catalogue("explainer").set_index("key")
    return [
        BoardRow(key, str(entries["title"].get(key, key)).removesuffix(" (control)"), bool(entries["control"].get(key, False)))
        for key in explainers
    ]


def board_of(
    measured: Mapping[Measure, pd.DataFrame], rows: Sequence[BoardRow], costs: pd.DataFrame, questions: pd.DataFrame
) -> Board:
    """Make a board of cells that are there already: of one technique, by measure. questions: see `Reader.questions`."""
    keys, controls = [row.key for row in rows], [row.key for row in rows if row.control]
    by_column = _counting(measured, controls)
    # Faithfulness has the question protected where that has numbers.
    protected = {column.measure.variant_of for column, cells in by_column.items() if len(cells) and column.measure.protected}

    def shown(measure: Measure) -> bool:
        return measure.question in SCALED or measure.protected == ((measure.variant_of or measure.title) in protected)

    wanted = list(filter(shown, measured))
    by_column = {column: cells for column, cells in by_column.items() if column.measure in wanted}
    filled = {column: cells for column, cells in by_column.items() if len(cells)}
    tables = [_values(column, measured[column.measure], cells, keys, controls) for column, cells in filled.items()]
    by_model = [_values(column, measured[column.measure], cells, keys, controls, "model") for column, cells in filled.items()]
    averaged = {column: cells for column, cells in filled.items() if column.scaled and column.plain}
    of_question = {column: [key for key in keys if not column.measure.given(key)] for column in averaged}
    pairs = [pairs_of(cells, of_question[column]).assign(column=column.key) for column, cells in averaged.items()]
    values = _together(tables, VALUES)
    quality = _quality(values, averaged, controls, costs)
    sure = {column: cells for column, cells in averaged.items() if not any(map(column.measure.given, keys))}
    beside = _quality(values, sure if len(sure) < len(averaged) else {}, controls, costs)
    counted = _together([cells.assign(column=column.key)[CELLS].drop_duplicates() for column, cells in filled.items()], CELLS)
    result = Board(
        tuple(rows),
        tuple(filled),
        _absent(by_column, {measure: measured[measure] for measure in wanted}),
        values,
        _together(by_model, ["model", *VALUES]),
        costs,
        quality,
        beside,
        _together(pairs, PAIRS),
        tuple(sorted(counted["model"].unique())),
        tuple(sorted(counted["dataset"].unique())),
        counted,
        {column.key: questions_behind(questions, cells, column.question) for column, cells in filled.items() if column.scaled},
    )
    return replace(result, rows=_ordered(result))


def _counting(measured: Mapping[Measure, pd.DataFrame], controls: Sequence[str]) -> dict[BoardColumn, pd.DataFrame]:
    """Return every column that has a number, with its cells that count: none where most methods lack them."""
    counted: dict[BoardColumn, pd.DataFrame] = {}
    for measure, cells in measured.items():
        rows = available(cells, measure.together)
        for column in columns_for(measure, rows["regime"].astype(str).unique()):
            counted[column] = counting(rows[[column.takes(str(regime)) for regime in rows["regime"]]], controls)
    return counted


def columns_for(measure: Measure, regimes: Iterable[str]) -> list[BoardColumn]:
    """Return a measure's columns, in their order; of lengths only the longest. regimes: in which the measure is available."""
    options = {(regime.decoy, regime.length) for regime in map(read_key, regimes)}
    longest = max((length for decoy, length in options if length and not decoy), default=None)
    decoys = [key for key in DECOYS if key != TWICE]  # of these prompts only the hard board asks
    pairs = [(None, None), *((key, None) for key in decoys), (None, longest)] if measure.question in SCALED else [(None, None)]
    return [BoardColumn(measure, *pair) for pair in dict.fromkeys(pairs) if pair in options]


def _values(
    column: BoardColumn, measured: pd.DataFrame, counted: pd.DataFrame, rows: Sequence[str], controls: Sequence[str], *by: str
) -> pd.DataFrame:
    """Return a column's numbers, a line for every row of the board with what it lacks: `Board.values`, or by="model"
    `Board.by_model`. measured: all cells of its measure. counted: see `means.counting`.
    """
    key, ends = [*by, "explainer"], ("value", "low", "high", "chance")
    frame, cells = means(counted, key), counted.drop_duplicates(CELL_COLUMNS)
    of = cells.groupby(by[0]).size() if by else len(cells)
    whole = frame.assign(whole=frame["cells"] == (frame[by[0]].map(of) if by else of))
    frame = frame.join(compared(whole, counted, key, controls, column.question))
    frame = without_sure_intervals(frame).set_index(key)
    sources = ("normalised", "normalised_low", "normalised_high") if column.scaled else ABOVE
    native = {f"native{'' if name == 'value' else f'_{name}'}": frame[name] for name in ends}
    shown = {name: frame[source] for name, source in zip(ends, sources, strict=False)} | {"chance": 0.0}
    frame = frame[["cells", "n", "interval", *COMPARED]].assign(**native, **shown)
    axes = [*(sorted(cells[name].unique()) for name in by), list(rows)]
    full = frame.reindex(pd.MultiIndex.from_product(axes, names=key) if by else pd.Index(rows, name="explainer")).reset_index()
    full = full.assign(column=column.key, of=full[by[0]].map(of) if by else of)
    full = full.astype({"of": int}).assign(**{name: full[name].fillna(0).astype(int) for name in ("cells", "n")})
    reasons = pd.concat([measured.dropna(subset=["unavailable"]), available(measured).assign(unavailable=OTHER_INSTANCES)])
    full = full.join(reasons.drop_duplicates(key).set_index(key)["unavailable"], on=key)
    return full.assign(reason=[_reason(row.cells, row.of, row.unavailable) for row in full.itertuples()])[[*by, *VALUES]]


def _reason(cells: int, of: int, why: str) -> str:
    if not cells:
        return NOT_RUN if pd.isna(why) else str(why)
    return f"lacks {of - cells} of {of} cells" if cells < of else ""


def _absent(
    columns: Mapping[BoardColumn, pd.DataFrame], measured: Mapping[Measure, pd.DataFrame]
) -> tuple[tuple[str, str], ...]:
    """Return (title, reason) of what a board could have and has not. columns: with the cells of each that count."""
    keys = {column.key for column in columns}
    missing = [(column.title, NOT_SHARED) for column, cells in columns.items() if cells.empty]
    for measure, cells in measured.items():
        if BoardColumn(measure).key not in keys:
            reasons = cells["unavailable"].dropna().mode()
            lacking = f"in no cell, since {reasons[0]}" if len(reasons) else NOT_ASKED
            needed = f"the batch job measures it with {measure.needs}"
            missing.append((BoardColumn(measure).title, lacking if measure.question in SCALED else needed))
    regimes = [read_key(regime) for regime in {str(regime) for cells in measured.values() for regime in cells["regime"]}]
    regimes = [regime for regime in regimes if regime.decoy != TWICE]
    for name, title, none in (("decoy", "Under decoys", NO_DECOYS), ("length", "At length", NO_LENGTHS)):
        if not any(getattr(column, name) for column in columns):
            missing.append((title, NOT_ASKED if any(getattr(regime, name) for regime in regimes) else none))
    return tuple(missing)


def _together(tables: Sequence[pd.DataFrame], names: list[str]) -> pd.DataFrame:
    filled = [table for table in tables if len(table)]
    return pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=names)


def _ordered(board: Board) -> tuple[BoardRow, ...]:
    """Order rows: methods before controls. First those with a number for every question, best first; behind them those that
    have no rank since they are right by construction; then the others, as they came.
    """
    values, ranked = board.quality.set_index("explainer")["value"], board.overall.methods
    columns = [column.key for column in board.columns if column.scaled]
    rest = board.values[board.values["column"].isin(columns)].groupby("explainer")["value"].mean()
    index_of = {key: float(index) for index, key in enumerate(ranked)}

    def sort_key(row: BoardRow) -> tuple[bool, bool, float]:
        if row.key not in values.index:
            return row.control, True, -rest.get(row.key, -np.inf)
        return row.control, False, index_of.get(row.key, (0 if row.control else 1 + len(ranked)) - values[row.key])

    return tuple(sorted(board.rows, key=sort_key))


def _quality(
    values: pd.DataFrame, questions: Mapping[BoardColumn, pd.DataFrame], controls: Sequence[str], costs: pd.DataFrame
) -> pd.DataFrame:
    """Return `Board.quality`, of the rows that lack no cell of any question: the others' means are of other cells."""
    if not questions:
        return pd.DataFrame(columns=QUALITY)
    scaled = values[values["column"].isin([column.key for column in questions])]
    whole = [str(key) for key, part in scaled.groupby("explainer", sort=False) if (part["cells"] == part["of"]).all()]
    column_replicates = [replicates(counted, ["explainer"]) for counted in questions.values()]
    passes = costs[costs["size"] == EVERY_SIZE].set_index("explainer")["whole_passes"]
    rows, mean_replicates = [], dict[str, np.ndarray]()
    for key in whole:
        of_columns = scaled[scaled["explainer"] == key].set_index("column").loc[[column.key for column in questions]]
        parts = [of_column[key,].mean(axis=1) for of_column in column_replicates if (key,) in of_column]
        together = np.stack(parts, axis=1) if len(parts) == len(column_replicates) else None
        mean_replicates |= {} if together is None else {key: together.mean(axis=1)}
        # What is so by construction is known.
        value, low, high = (of_columns[name].fillna(of_columns["value"]).to_numpy(dtype=float) for name in VALUE)
        rows.append([key, value.mean(), *mean_interval(value, low, high, together), passes.get(key, np.nan), False, [], []])
    table = pd.DataFrame(rows, columns=QUALITY)
    compares = ~table["explainer"].map(lambda key: any(column.measure.given(key) for column in questions)).astype(bool)
    priced = compares & ~table["explainer"].isin(list(controls)) & table["whole_passes"].notna()
    points = [(-row.whole_passes, row.value) for row in table[priced].itertuples()]
    front = dict(zip(table[priced]["explainer"], pareto_front(points), strict=True))
    of_means = table[compares].set_index("explainer")
    relations = zip(COMPARED, (ahead(of_means, mean_replicates, controls), within(of_means, mean_replicates)), strict=True)
    lists = {name: [by_key.get(key, []) for key in table["explainer"]] for name, by_key in relations}
    return table.assign(on_front=[front.get(key, False) for key in table["explainer"]], **lists)

"""Which explainer finds what people copied into the answers that they wrote: one row each, methods by their first column."""

import pandas as pd

from heval_core.evaluation.quoted import MEASURES
from heval_core.figures.citations import with_chance
from heval_core.present.names import Names
from heval_core.present.table import Cell, Head, Row, Table, counted, number_cell
from heval_core.records import TEXT_CONTROLS

TITLE = "Answers that people wrote: who finds what they copied?"
NOTE = (
    "Source: whether a sentence's first choice is a document that people copied from; ties are broken at random. Span's rank: "
    "1 / rank of the first sentence that a copied span is from. n differs where an explainer has read fewer answers: compare "
    "the column beside it, the difference to words in common on the same sentences. Intervals are 95 %, over questions."
)
_SOURCE, _RANK = MEASURES["sentence"], MEASURES["span"]
_TITLES = {"document": "Leaving out documents", "document(unit=sentence)": "Leaving out sentences"}
_HEADS = ("source", "source, less words in common", "of words that differ", "span's rank", "sentences, spans")


def quoted_table(cells: pd.DataFrame, names: Names) -> Table:
    """cells: `Reader.quoted()`. *Of words that differ*: sentences of which fewer than .85 of the words stand there."""
    rows = []
    for (model, dataset), own in cells.groupby(["model", "dataset"]):
        records = {(row["explainer"], row["measure"], row["copied"]): row for row in own.to_dict("records")}
        keys = own[(own["measure"] == _SOURCE) & (own["copied"] == "all")].sort_values("value", ascending=False)["explainer"]
        for key in sorted(keys, key=lambda key: key in TEXT_CONTROLS):
            whole, apart, span = (records.get((key, *of)) for of in ((_SOURCE, "all"), (_SOURCE, "below .85"), (_RANK, "all")))
            title = _TITLES.get(key) or (names.annotator(key) if key in TEXT_CONTROLS else names.explainer(key))
            numbers = (
                with_chance(whole),
                number_cell(whole, of=("delta", "delta_low", "delta_high")),
                with_chance(apart),
                with_chance(span),
                Cell(" · ".join(counted(row and row["n"]).main for row in (whole, span))),
            )
            rows.append(Row((str(model), names.dataset(str(dataset)), title), numbers, key in TEXT_CONTROLS))
    return Table(TITLE, ("model", "dataset", "explainer"), tuple(map(Head, _HEADS)), tuple(rows), NOTE, "quoted")

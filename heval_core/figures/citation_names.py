"""What figures and tables of citations call annotators, writers and measures, how they look, and in which order they stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from heval_core import catalogue
from heval_core.figures import palette
from heval_core.protocols import ANNOTATOR_FAMILIES
from heval_core.records import HEvalError

PEOPLE, PERSON = "people", "person:"
# The annotator of what is known to be so.
TRUTH = ""
_FAMILIES = {PEOPLE: "people", "person": "people", "explainer": "explainer"} | dict.fromkeys(
    ("lexical", "position", "random"), "control"
)
# An explainer has the colour of the method that reads the model in the same way.
_LIKE = {"loo": "fa", "gradient": "ig", "attention": "attn"}
_CONTEXTCITE = palette.COLOURS[7]
# Of reader models, on light and on dark; then of an entailment model, and of people. The first two, these and explainers
# are at least 9 apart, as `palette` measures it.
_READERS = (("#4A63C7", "#7C83F5"), ("#9A6324", "#E0C9AE"), ("#6A3FA0", "#B9A2FF"), ("#5B6B2A", "#B7C46A"))
_ENTAILMENT, _PEOPLE, _CONTROL = ("#A3123F", "#FF4D5E"), ("#1F2328", "#FFFFFF"), ("#7A7A7A", "#868C94")


@dataclass(frozen=True)
class CitationNames:
    """rows: (kind, key) ▶ its row of the catalogue. annotators: all that there are, by whose places colours are given."""

    rows: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    annotators: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: pd.DataFrame, annotators: Iterable[str]) -> CitationNames:
        """rows: of the table `catalogue`."""
        known = {(str(row["kind"]), str(row["key"])): row for row in rows.to_dict("records")}
        return cls(known, tuple(dict.fromkeys(annotators)))

    def named(self, kind: str, key: str) -> str:
        """The title of a selector or a source of claims; a part or file of it (`name/part`) is named after it."""
        name, _, part = key.partition("/")
        title = str(self.rows.get((kind, name), {}).get("title") or name)
        return f"{title}, {part}" if part else title

    def annotator(self, key: str) -> str:
        """Without `(control)`: where it stands says that."""
        if key == TRUTH:
            return "The truth"
        if key.startswith(PERSON):
            return key.removeprefix(PERSON)
        title = "People" if key == PEOPLE else self._of(key, "title")
        return str(title or key).removesuffix(" (control)")

    def short(self, keys: Iterable[str]) -> dict[str, str]:
        """Annotators by their names, without the models that they read with where they can be told apart without them."""
        titles = {key: self.annotator(key) for key in keys}
        short = {key: title.partition(": ")[0] for key, title in titles.items()}
        return short if len(set(short.values())) == len(short) else titles

    def meaning(self, key: str) -> str:
        """The first sentence of what it says of itself; empty where nothing is known."""
        told = self.rows.get(("annotator", key), {}).get("docstring") or self.rows.get(("annotator", _name(key)), {}).get(
            "docstring"
        )
        return " ".join(str(told).split("\n\n")[0].split()) if told else ""

    def family(self, key: str) -> str:
        """A key of ANNOTATOR_FAMILIES."""
        family = str(self._of(key, "family") or _FAMILIES.get(_name(key), "reader"))
        return family if family in ANNOTATOR_FAMILIES else "reader"

    def control(self, key: str) -> bool:
        return self.family(key) == "control"

    def in_order(self, keys: Iterable[str]) -> list[str]:
        """People, then what reads, explainers, and controls; each by its place in the catalogue. The truth is last."""
        families = list(ANNOTATOR_FAMILIES)

        def place(key: str) -> tuple[int, float, str]:
            if key == TRUTH:
                return len(families), 0.0, key
            own = self._of(key, "order" if ("annotator", key) not in self.rows else "place")
            return families.index(self.family(key)), float(own) if own is not None else 0.0, key

        return sorted(dict.fromkeys(keys), key=place)

    def colour(self, key: str) -> str:
        """In the words of a stylesheet: one of a theme's own where they differ."""
        if key == TRUTH:
            return _both(_PEOPLE)
        family = self.family(key)
        if family == "explainer":
            option, _, more = key.partition("(")[2].removesuffix(")").partition(",")
            like = _LIKE.get(option.removeprefix("method="))
            return palette.colour(f"{like}({more})" if more else like) if like else _CONTEXTCITE
        if family in ("control", "people"):
            return _both(_CONTROL if family == "control" else _PEOPLE)
        if _name(key) == "nli":
            return _both(_ENTAILMENT)
        readers = [one for one in self.in_order(self.annotators) if self.family(one) == "reader" and _name(one) != "nli"]
        return _both(_READERS[readers.index(key) % len(_READERS) if key in readers else 0])

    def _of(self, key: str, name: str) -> Any:
        """What the results say of an annotator; else this program's plug-in; else the results, of what it is a variant of."""
        try:
            offered = getattr(catalogue.find("annotator", key), name, None)
        except HEvalError:
            offered = None
        told = (self.rows.get(("annotator", known), {}).get(name) for known in (key, _name(key)))
        own, base = (None if value is None or pd.isna(value) else value for value in told)
        return own or offered or base


def _both(colours: tuple[str, str]) -> str:
    return f"light-dark({colours[0]}, {colours[1]})"


def _name(key: str) -> str:
    return PEOPLE if key.startswith(PERSON) else key.partition("(")[0]

"""What everything is called, wherever it is shown: models, data sets, regimes, groups, explainers, techniques, annotators,
measures of behaviour. Plug-ins are named by the results that they are in; words of the study are in `words`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, NamedTuple

import pandas as pd

from heval_core.plugins import catalogue
from heval_core.plugins.measures import part_title
from heval_core.plugins.protocols import ANNOTATOR_FAMILIES, TECHNIQUE_FAMILIES
from heval_core.present.numbers import POINTS, SCORE, SHARE, Format
from heval_core.records import TECHNIQUE, HEvalError
from heval_core.records.regime_keys import read_key
from heval_core.records.vocabulary import BEHAVIOURS, DECOYS, POSITIONS, REGIMES, dataset_title, group_title, short_name

# Measures of behaviour from -1 to 1, which are written as they are; all others are shares.
SIGNED = ("ccu", "discrimination", "discrimination_off_topic")
# Stands for all models, all datasets or all kinds of context in the id of a mean's mark.
ALL = "*"
# The annotator of what is known to be so, people together, and the beginning of one of them.
TRUTH, PEOPLE, PERSON = "", "people", "person:"
# Characters of a technique's name that a figure has room for.
_LONGEST = 26
# Parts that a cell has two of, in words.
_USED = {"C1": "used document first", "C2": "used document second"}


class Price(NamedTuple):
    """passes: forward passes for an answer, Regular's being 1; NaN where that is not known. preparation: before the first
    answer: nothing, `tuned` or `trained`."""

    passes: float
    preparation: str


@dataclass(frozen=True)
class Names:
    """rows: (kind, key) ▶ its row of the table `catalogue`. annotators: all that there are, by whose places they have colours.

    What the results do not name is called by its key; a variant (`fa(target=prob)`) has its plug-in's words by default.
    """

    rows: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    annotators: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: pd.DataFrame, annotators: Iterable[str] = ()) -> Names:
        """Read names. rows: of the table `catalogue`."""
        known = {(str(row["kind"]), str(row["key"])): row for row in rows.to_dict("records")}
        return cls(known, tuple(dict.fromkeys(annotators)))

    def title(self, kind: str, key: str) -> str:
        """Return a title. kind: model, regime, group, or one of the catalogue's; controls say that they are."""
        if kind in _WITHOUT_RESULTS:
            return _WITHOUT_RESULTS[kind](key)
        if kind in ("dataset", "claims"):
            return dataset_title(key, self.known(kind))
        options = f" ({key.partition('(')[2]}" if "(" in key else ""
        title, base = (self._stored(kind, name, "title") for name in (key, key.partition("(")[0]))
        return str(title or (f"{base}{options}" if base else key))

    def titles(self, kind: str, keys: Iterable[str]) -> dict[str, str]:
        titles = {key: self.title(kind, key) for key in keys}
        # Two models of one name and size are told apart by their keys.
        return titles if kind != "model" or len(set(titles.values())) == len(titles) else {key: key for key in titles}

    def known(self, kind: str) -> dict[str, str]:
        """Return key ▶ title, of all that the catalogue has of a kind."""
        return {key: str(row.get("title") or key) for (of, key), row in self.rows.items() if of == kind}

    def meaning(self, kind: str, key: str) -> str:
        """Return what it is, in a sentence; empty where nothing is known."""
        docstring = self._inherited(kind, key, "docstring")
        return first_sentence(str(docstring)) if docstring else ""

    @cached_property
    def controls(self) -> frozenset[str]:
        """Explainers that do not look into the model."""
        return frozenset(
            key for (kind, key), row in self.rows.items() if kind == "explainer" and row.get("control") in (True,)
        )

    def explainer(self, key: str) -> str:
        """Name an explainer without `(control)`: where it stands says that."""
        return short_name(self.title("explainer", key))

    @cached_property
    def explainers(self) -> dict[str, str]:
        """Key ▶ the same, of all that there are."""
        return {key: self.explainer(key) for key in self.known("explainer")}

    def dataset(self, key: str) -> str:
        return self.title("dataset", key)

    def location(self, model: str, dataset: str, regime: str, part: str) -> str:
        """Name where a value is from: `demo-gpt2 · World Capital · Mixed · used document first`."""
        cell = [] if model == ALL else [model_title(model), self.dataset(dataset)]
        return " · ".join([*cell, regime_title(regime), *([part_words(part)] if part_words(part) else [])])

    def readable(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a table as people read it: titles for keys, words for names with underscores, no `technique` where there is
        one.
        """
        titles: dict[str, Callable[[str], str]] = {
            **dict.fromkeys(("explainer", "first", "second", "better"), self.explainer),
            "dataset": self.dataset,
            "model": model_title,
            "regime": regime_title,
            "part": part_words,
            "group_sizes": lambda sizes: sizes.strip("{}").replace('"', ""),
        }
        table = apart(frame) if "technique" in frame.columns else frame
        named = {name: [titles[name](str(key)) for key in table[name]] for name in titles if name in table.columns}
        return table.assign(**named).rename(columns=lambda name: str(name).replace("_", " "))

    def technique(self, key: str) -> str:
        return self.title("technique", key)

    def label(self, key: str) -> str:
        """Return a technique where there is little room: options that take too much are three dots, if no other has them."""
        titles = self.titles("technique", {technique for kind, technique in self.rows if kind == "technique"} | {key})
        dots = {name: f"{title.partition(' (')[0]} (…)" for name, title in titles.items()}
        cut = {name: title if len(title) <= max(_LONGEST, len(dots[name])) else dots[name] for name, title in titles.items()}
        return cut[key] if list(cut.values()).count(cut[key]) == 1 else titles[key]

    def technique_family(self, key: str) -> str:
        """Return a key of TECHNIQUE_FAMILIES."""
        family = "none" if key == TECHNIQUE else str(self._inherited("technique", key, "family") or "decoding")
        return family if family in TECHNIQUE_FAMILIES else "decoding"

    def price(self, key: str) -> Price:
        """Return the price of a technique."""
        passes = self._inherited("technique", key, "passes")
        prepared = str(self._inherited("technique", key, "preparation") or "")
        return Price(math.nan if passes is None else float(passes), prepared)

    def cost(self, key: str) -> str:
        """Write the cost of a technique: `1 ×`, `1 ×, tuned`, `4.5 ×`: passes for an answer, and what precedes the
        first one.
        """
        passes, prepared = self.price(key)
        return ", ".join(filter(None, ("" if math.isnan(passes) else f"{passes:g} ×", prepared)))

    def cost_in_words(self, key: str) -> str:
        """Return the same as a sentence."""
        passes, prepared = self.price(key)
        words = {"tuned": "a setting is searched first", "trained": "the model is trained first"}
        first = "" if math.isnan(passes) else f"{passes:g} {'pass' if passes == 1 else 'passes'} for an answer"
        return "; ".join(filter(None, (first, words.get(prepared))))

    def techniques_in_order(self, keys: Iterable[str]) -> list[str]:
        """Order techniques: Regular first, then by the catalogue's places."""

        def rank(key: str) -> tuple[bool, float, str]:
            position = self._inherited("technique", key, "place")
            return key != TECHNIQUE, math.inf if position is None else float(position), key

        return sorted(dict.fromkeys(keys), key=rank)

    def annotator(self, key: str) -> str:
        """Name an annotator without `(control)`: where it stands says that."""
        if key == TRUTH:
            return "The truth"
        if key.startswith(PERSON):
            return key.removeprefix(PERSON)
        return short_name(str(("People" if key == PEOPLE else self._of_annotator(key, "title")) or key))

    def short(self, keys: Iterable[str]) -> dict[str, str]:
        """Name annotators, without the models that they read with where they can be told apart without them."""
        titles = {key: self.annotator(key) for key in keys}
        short = {key: title.partition(": ")[0] for key, title in titles.items()}
        return short if len(set(short.values())) == len(short) else titles

    def family(self, key: str) -> str:
        """Return the family of an annotator: a key of ANNOTATOR_FAMILIES."""
        family = "people" if annotator_name(key) == PEOPLE else str(self._of_annotator(key, "family"))
        return family if family in ANNOTATOR_FAMILIES else "reader"

    def control(self, key: str) -> bool:
        """Return whether an annotator is one."""
        return self.family(key) == "control"

    def in_order(self, keys: Iterable[str]) -> list[str]:
        """Order annotators: people, then what reads, explainers, and controls; each by its place. The truth is last."""
        families = list(ANNOTATOR_FAMILIES)

        def rank(key: str) -> tuple[int, float, str]:
            if key == TRUTH:
                return len(families), 0.0, key
            position = self._of_annotator(key, "order" if ("annotator", key) not in self.rows else "place")
            return families.index(self.family(key)), float(position) if position is not None else 0.0, key

        return sorted(dict.fromkeys(keys), key=rank)

    def _stored(self, kind: str, key: str, name: str) -> Any:
        value = self.rows.get((kind, key), {}).get(name)
        return None if value is None or pd.isna(value) else value

    def _inherited(self, kind: str, key: str, name: str) -> Any:
        stored = self._stored(kind, key, name)
        return self._stored(kind, key.partition("(")[0], name) if stored is None else stored

    def _of_annotator(self, key: str, name: str) -> Any:
        """Return what the results say of it; else this program's plug-in; else the results, of what it is a variant of."""
        try:
            offered = getattr(catalogue.find("annotator", key), name, None)
        except HEvalError:
            offered = None
        return self._stored("annotator", key, name) or offered or self._stored("annotator", annotator_name(key), name)


def names_of(results: Any) -> Names:
    """Return what results call what they hold. results: a `Reader`."""
    return Names.of(results.catalogue(), results.annotators())


def annotator_name(key: str) -> str:
    """Name an annotator without its options; people for one of them."""
    return PEOPLE if key.startswith(PERSON) else key.partition("(")[0]


_SIZED = re.compile(r"(.*?)[-_ ](\d+(?:\.\d+)?[mb])(?![a-z\d])(.*)", re.IGNORECASE)
_BITS = re.compile(r"[.-]q(\d)_", re.IGNORECASE)


def short_model(key: str) -> str:
    """Return what people call a model: its name, its size where its key says that, and what tells it from others of its name.

    What a file of few bits adds is left out.

    >>> short_model("SmolLM2-135M-Instruct.Q4_1"), short_model("gemma-3-270m-q4_k_m"), short_model("demo-gpt2")
    ('SmolLM2 135M', 'gemma 3 270M', 'demo-gpt2')
    >>> short_model("Qwen/Qwen2.5-1.5B"), short_model("Qwen/Qwen2.5-1.5B-Instruct")
    ('Qwen2.5 1.5B', 'Qwen2.5 1.5B Instruct')
    """
    if (sized := _SIZED.fullmatch(key.rpartition("/")[2])) is None:
        return key
    rest = "" if _BITS.search(key) else sized[3].replace("-", " ")
    return f"{sized[1].replace('-', ' ')} {sized[2].upper()}{rest}"


def model_title(key: str) -> str:
    """Return `SmolLM2 135M (4-bit)`: a model's short name, with the bits of its weights where its key says them."""
    bits = _BITS.search(key)
    return short_model(key) + (f" ({bits[1]}-bit)" if bits else "")


def first_sentence(docstring: str) -> str:
    """Return the first sentence of a plug-in's docstring, without the name or the word `Control` before its colon."""
    sentence = re.split(r"(?<=[.?])\s", " ".join(docstring.split("\n\n")[0].split()), maxsplit=1)[0]
    name, colon, rest = sentence.partition(": ")
    text = rest if colon and len(name) < 30 else sentence
    return text[:1].upper() + text[1:]


def apart(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as readers see it: without the column `technique` where all rows are of one."""
    return frame if frame["technique"].nunique() > 1 else frame.drop(columns=["technique"])


@cache
def part_words(part: str) -> str:
    """Return a part of a cell: `used document first`; empty for the only one."""
    return _USED.get(part) or part_title(part)


def regime_title(key: str) -> str:
    """Return `Mixed`, or with its options: `Mixed · decoy d1 · 1,024 tokens, first`. What is no regime stays as it is."""
    try:
        regime = read_key(key)
    except HEvalError:
        return key
    options = [f"decoy {regime.decoy}"] if regime.decoy else []
    options += [f"{regime.length:,} tokens, {regime.place}"] if regime.length else []
    return " · ".join([REGIMES[regime.base].title, *options])


def regime_meaning(key: str) -> str:
    """Return what the documents of a regime say, and what its options do; empty for what is no regime."""
    try:
        regime = read_key(key)
    except HEvalError:
        return ""
    added = [DECOYS[regime.decoy].meaning] if regime.decoy else []
    if regime.place:
        added.append(f"other passages make the prompt {regime.length:,} tokens long; {POSITIONS[regime.place].meaning}")
    return "; ".join([REGIMES[regime.base].meaning, *added])


def measure_name(measure: str) -> str:
    """Return a measure of behaviour where there is little room: `BCU`."""
    return BEHAVIOURS[measure].short if measure in BEHAVIOURS else measure


def value_unit(measure: str) -> Format:
    """Return the unit of a measure of behaviour."""
    return SCORE if measure in SIGNED else SHARE


def change_unit(measure: str) -> Format:
    """Return the unit of the difference of two of its values."""
    return SCORE if measure in SIGNED else POINTS


# What needs no results to be named.
_WITHOUT_RESULTS: dict[str, Callable[[str], str]] = {"regime": regime_title, "group": group_title, "model": model_title}

"""The search for settings as people read it: the chosen setting in words, and how many tie."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heval_core.records import head_name
from heval_core.words import counted

_LONGEST = 160
_NAMES = {"lam": "λ", "lambda": "λ", "alpha": "α", "n": "N", "top": "N"}


@dataclass(frozen=True)
class Search:
    """The search of one technique.

    chosen: the setting in words. heads: those that it prunes, as in L3H2. ties: settings that are as good as the chosen one.
    trained: nothing was tried out, weights were trained; then `chosen` says on what.
    """

    technique: str
    settings: int
    ties: int
    chosen: str
    heads: tuple[str, ...]
    questions: str
    trained: bool = False

    @property
    def sentence(self) -> str:
        """Plain text: `50 settings were tried on 40 development questions a kind; 7 of them tie.`"""
        if self.trained:
            return "Weights were trained, and no settings compared."
        tried = "one setting was tried" if self.settings == 1 else f"{self.settings:,} settings were tried"
        start = tried[0].upper() + tried[1:] + (f" on {self.questions}" if self.questions else "")
        if self.settings > 1 and self.ties == self.settings:
            return f"{start}; all of them tie, and the first one is used."
        if self.ties > 1:
            return f"{start}; {self.ties:,} settings tie, and the first of these is used."
        return f"{start}; no other ties with the chosen one." if self.settings > 1 else f"{start}."


def searches(trials: pd.DataFrame) -> list[Search]:
    """The searches of one model and dataset, in the frame's order. Techniques with a single empty setting had none."""
    known = trials[trials["unavailable"].isna()]
    found = []
    for technique, own in known.groupby("technique", sort=False):
        if own["setting"].nunique() > 1 or own["setting"].fillna("").ne("").any():
            found.append(_search(str(technique), own))
    return found


def _search(technique: str, own: pd.DataFrame) -> Search:
    if own["bcu"].isna().all():
        text = str(own["setting"].iloc[0])
        return Search(technique, 1, 1, setting_words(text), (), "", trained=True)
    flags = own.assign(setting=own["setting"].fillna("")).groupby("setting", sort=False)[["chosen", "tied"]].any()
    chosen = next((str(setting) for setting in flags.index[flags["chosen"]]), "")
    ties = int((flags["tied"] | flags["chosen"]).sum())
    return Search(technique, len(flags), ties, setting_words(chosen, with_heads=False), heads_of(chosen), _asked(own))


def _asked(own: pd.DataFrame) -> str:
    """`40 development questions of each kind`."""
    counts = own.groupby("regime")["n"].max().dropna().astype(int)
    if counts.empty:
        return ""
    least, most = counts.min(), counts.max()
    number = counted(int(most), "development question") if least == most else f"{least:,} to {most:,} development questions"
    return f"{number} of each kind"


def setting_words(text: str, with_heads: bool = True) -> str:
    """A stored setting without JSON's signs: `λ 0.5, α 1`; what it says is data, and stays text."""
    parsed = _parsed(text)
    if parsed is None:
        return text[:_LONGEST] or "nothing to choose"
    if {"examples", "held_out_loss", "best_epoch"} <= parsed.keys():
        return _training(parsed)
    named = {name: value for name, value in parsed.items() if with_heads or name != "heads"}
    parts = [f"{_NAMES.get(name, name.replace('_', ' '))} {_value(name, value)}" for name, value in named.items()]
    said = ", ".join(parts) or "nothing to choose"
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]} …"


def _training(parsed: Mapping[str, Any]) -> str:
    """What an adapter was trained on, and how long: see `techniques/fine_tuning.py`."""
    kinds, losses = parsed["examples"], parsed["held_out_loss"]
    of = ", ".join(f"{count:,} {name}" for name, count in kinds.items())
    return (
        f"{sum(kinds.values()):,} examples ({of}), {counted(len(losses), 'epoch')}, of which number {parsed['best_epoch']} is "
        f"kept; loss on {parsed['held_out']:,} held-out examples {losses[0]:.2f} ▶ {min(losses):.2f}"
    )


def heads_of(text: str) -> tuple[str, ...]:
    """The heads that a setting prunes, as in L3H2; none for other settings."""
    heads = (_parsed(text) or {}).get("heads")
    return tuple(_head(head) for head in heads) if isinstance(heads, list) else ()


def _parsed(text: str) -> Mapping[str, Any] | None:
    try:
        parsed = json.loads(text or "{}")
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _head(head: Any) -> str:
    if isinstance(head, list) and len(head) == 2 and all(isinstance(part, int) for part in head):
        return head_name(head[0], head[1])
    return str(head)


def _value(name: str, value: Any) -> str:
    if name == "heads" and isinstance(value, list):
        return ", ".join(map(_head, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)

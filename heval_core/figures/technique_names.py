"""What figures and tables of techniques call them, in which order they stand, and which shape and cost each has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from heval_core.protocols import TECHNIQUE_FAMILIES
from heval_core.records import TECHNIQUE

# Characters of a name that a figure has room for.
_LONGEST = 26


@dataclass(frozen=True)
class TechniqueNames:
    """rows: key ▶ its row of the catalogue; of a technique that the catalogue does not have, the key is the title."""

    rows: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, catalogue: pd.DataFrame) -> TechniqueNames:
        """catalogue: the rows of the table `catalogue` that are techniques."""
        return cls({str(row["key"]): row for row in catalogue.to_dict("records")})

    def _of(self, key: str, name: str) -> Any:
        """A variant has what its technique has where it says nothing itself."""
        row = self.rows.get(key) or self.rows.get(key.partition("(")[0]) or {}
        value = row.get(name)
        return None if value is None or pd.isna(value) else value

    def title(self, key: str) -> str:
        own = self.rows.get(key, {}).get("title")
        base = self.rows.get(key.partition("(")[0], {}).get("title")
        options = f" ({key.partition('(')[2]}" if "(" in key else ""
        return str(own or (f"{base}{options}" if base else key))

    def label(self, key: str) -> str:
        """The title where figures have little room: options that take too much of it are three dots, if no other has them."""
        cut = {one: _cut(self.title(one)) for one in {*self.rows, key}}
        return cut[key] if list(cut.values()).count(cut[key]) == 1 else self.title(key)

    def family(self, key: str) -> str:
        """A key of TECHNIQUE_FAMILIES."""
        family = "none" if key == TECHNIQUE else str(self._of(key, "family") or "decoding")
        return family if family in TECHNIQUE_FAMILIES else "decoding"

    def cost(self, key: str) -> str:
        """`1 ×`, `1 ×, tuned`, `4.5 ×`: passes for an answer, and what precedes the first one."""
        passes = self._of(key, "passes")
        times = "" if passes is None else f"{float(passes):g} ×"
        return ", ".join(filter(None, (times, str(self._of(key, "preparation") or ""))))

    def cost_in_words(self, key: str) -> str:
        """The same as a sentence."""
        passes = self._of(key, "passes")
        prepared = {"tuned": "a setting is searched first", "trained": "the model is trained first"}
        first = "" if passes is None else f"{float(passes):g} {'pass' if float(passes) == 1 else 'passes'} for an answer"
        return "; ".join(filter(None, (first, prepared.get(str(self._of(key, "preparation") or "")))))

    def in_order(self, keys: Iterable[str]) -> list[str]:
        """Regular first, then by the catalogue's places."""
        there = list(dict.fromkeys(keys))

        def place(key: str) -> tuple[bool, float, str]:
            found = self._of(key, "place")
            return key != TECHNIQUE, math.inf if found is None else float(found), key

        return sorted(there, key=place)


def _cut(title: str) -> str:
    return title if len(title) <= _LONGEST else f"{title.partition(' (')[0]} (…)"
